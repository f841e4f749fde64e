//! The answers to requests about a place or a part of an open text.

use std::io;
use std::ops::RangeInclusive;

use gen_lsp_types::{
    CodeAction, CodeActionKind, CodeActionParams, CodeActionTriggerKind, CompletionItemKind,
    Contents, DocumentHighlightKind, Hover, HoverParams, InlayHintParams, InsertTextFormat,
    Location, MarkupContent, MarkupKind, Position, Range, ReferenceParams, RenameParams,
    TextDocumentIdentifier, TextDocumentPositionParams, TextEdit, WorkspaceEdit,
};
use lsp_server::{ErrorCode, ResponseError};
use serde_json::{Value, json};
use thiserror::Error;

use super::actions::{self, Action, Purpose};
use super::completion::{self, OfferKind, Signature};
use super::place::{self, NameAt};
use super::state::{Answer, Document, InForce, Server, answer, failure, params};
use super::{diagnostics, hints, hover, outline, statements, tokens};
use crate::analysis::{ParseInstructionError, parse};
use crate::check::{CheckOptions, Language};
use crate::diagnostic::{Diagnostic, Docs, Edit};
use crate::evaluation::{self, Evaluation, Registers};
use crate::hash::Set;
use crate::print::{LineEnding, format_edits};
use crate::source::Span;
use crate::video::{Instruction, Semantics};

/// The largest text, in bytes, that gets all its semantic tokens at once. For larger texts, clients
/// can ask for the tokens of the lines that they show.
const LONGEST_TOKENS: usize = 1 << 20;

/// If formatting takes more edits, those within a line become one: an answer needs 3 kB for each.
const MOST_EDITS: usize = 10_000;

/// If a selection has more findings, no comments are offered for each: they need checks of the
/// whole text.
const MOST_IGNORED: usize = 8;

/// A place in an open text, with the settings in force.
struct Here<'d> {
    document: &'d Document,
    check: CheckOptions,
    offset: u32,
}

impl Server {
    pub(super) fn hover(&self, params: &HoverParams) -> Result<Option<Hover>, ResponseError> {
        let Some(here) = self.here(&params.text_document_position_params)? else {
            return Ok(None);
        };
        let text = &here.document.text;
        Ok(hover::at(text.as_str(), &here.check, here.offset).map(|hover| {
            let contents = MarkupContent::new(MarkupKind::Markdown, hover.markdown);
            let range = text.range(hover.span);
            Hover::new(Contents::MarkupContent(contents), Some(range))
        }))
    }

    /// A place in an open text; `None` if the language of the text is not read.
    fn here(&self, place: &TextDocumentPositionParams) -> Result<Option<Here<'_>>, ResponseError> {
        let document = self.document(&place.text_document)?;
        let offset = document.text.offset(place.position) as u32;
        let in_force = self.in_force(document);
        Ok(in_force.map(|InForce { check, .. }| Here { document, check, offset }))
    }

    /// The name at a place, with its document.
    fn name(
        &self,
        place: &TextDocumentPositionParams,
    ) -> Result<Option<(&Document, NameAt<'_>)>, ResponseError> {
        let Some(Here { document, check, offset }) = self.here(place)? else { return Ok(None) };
        Ok(place::at(document.text.as_str(), &check, offset).map(|found| (document, found)))
    }

    /// Where the name at a place is declared.
    pub(super) fn definition(
        &self,
        place: &TextDocumentPositionParams,
    ) -> Result<Option<Location>, ResponseError> {
        let Some((document, found)) = self.name(place)? else { return Ok(None) };
        Ok(found.declaration().map(|span| document.location(span)))
    }

    /// All places of a name in its text.
    pub(super) fn references(&self, params: &ReferenceParams) -> Result<Value, ResponseError> {
        let found = self.name(&params.text_document_position_params)?;
        let Some((document, found)) = found else { return Ok(Value::Null) };
        let declarations = params.context.include_declaration;
        let same = found.same().into_iter().filter(|it| declarations || !it.declares);
        let places: Vec<Location> = same.map(|it| document.location(it.span)).collect();
        answer(places)
    }

    pub(super) fn highlights(&self, place: &TextDocumentPositionParams) -> Answer {
        let Some((document, found)) = self.name(place)? else { return Ok(Value::Null) };
        let shown = found.same().into_iter().map(|it| {
            let kind = if it.declares {
                DocumentHighlightKind::Write
            } else {
                DocumentHighlightKind::Text
            };
            json!({ "range": document.text.range(it.span), "kind": kind })
        });
        Ok(Value::Array(shown.collect()))
    }

    /// The name that a renaming would change.
    pub(super) fn prepare_rename(&self, place: &TextDocumentPositionParams) -> Answer {
        let found = self.name(place)?.filter(|(_, found)| found.may_change());
        let Some((document, found)) = found else {
            let message = "only declared names of PTX can be changed";
            return Err(failure(ErrorCode::RequestFailed, message));
        };
        let range = document.text.range(found.span());
        let name = found.span().text(document.text.as_str());
        Ok(json!({ "range": range, "placeholder": name }))
    }

    pub(super) fn rename(&self, params: &RenameParams) -> Result<WorkspaceEdit, ResponseError> {
        let refused = |message: String| failure(ErrorCode::RequestFailed, message);
        let found = self.name(&params.text_document_position_params)?;
        let (document, found) = found.ok_or_else(|| refused("there is no name here".into()))?;
        let edits = found.rename(&params.new_name).map_err(|error| refused(error.to_string()))?;
        Ok(workspace_edit(document, &edits))
    }

    /// The functions, labels and variables of PTX. Other languages have servers of their own.
    pub(super) fn symbols(&self, identifier: &TextDocumentIdentifier) -> Answer {
        let document = self.ptx(identifier)?;
        let symbols = document.map(|it| outline::symbols(&it.text));
        Ok(symbols.map_or(Value::Null, Value::Array))
    }

    pub(super) fn folds(&self, identifier: &TextDocumentIdentifier) -> Answer {
        let document = self.ptx(identifier)?;
        let folds = document.map(|it| outline::folds(&it.text));
        Ok(folds.map_or(Value::Null, Value::Array))
    }

    /// An open text, if it is PTX.
    fn ptx(&self, identifier: &TextDocumentIdentifier) -> Result<Option<&Document>, ResponseError> {
        let document = self.document(identifier)?;
        let in_force = self.in_force(document);
        Ok(in_force.filter(|it| it.check.language == Language::Ptx).map(|_| document))
    }

    /// The semantic tokens of a text, or of a part of it.
    pub(super) fn tokens(
        &self,
        identifier: &TextDocumentIdentifier,
        range: Option<Range>,
    ) -> Answer {
        let document = self.document(identifier)?;
        let Some(InForce { check, .. }) = self.in_force(document) else { return Ok(Value::Null) };
        let text = &document.text;
        if range.is_none() && text.as_str().len() > LONGEST_TOKENS {
            return Ok(Value::Null);
        }
        let whole = Span::new(0, text.as_str().len() as u32);
        let part = range.map_or(whole, |range| text.span(range));
        answer(json!({ "data": tokens::within(text, check.language, part) }))
    }

    /// Hints on the lanes that selectors choose and on the machine instructions for each video
    /// instruction, as far as the options ask for them.
    pub(super) fn hints(&self, params: &InlayHintParams) -> Answer {
        let document = self.document(&params.text_document)?;
        let Some(InForce { check, .. }) = self.in_force(document) else { return Ok(json!([])) };
        let text = &document.text;
        let part = text.span(params.range);
        let mut found = Vec::new();
        for it in statements::within(text.as_str(), &check, part) {
            if self.options.lane_hints {
                found.extend(hints::lanes(&it));
            }
            if self.options.hints {
                found.extend(hints::cost(&it, statements::target(&check, it.target)));
            }
        }
        let shown = found.into_iter().map(|hint| {
            json!({
                "position": text.position(hint.at),
                "label": hint.label,
                "tooltip": hint.tooltip,
                "paddingLeft": true,
            })
        });
        Ok(Value::Array(shown.collect()))
    }

    /// The legal video instructions that end in a part of a text.
    fn instructions(&self, identifier: &TextDocumentIdentifier, part: Range) -> Answer {
        let document = self.document(identifier)?;
        let Some(InForce { check, .. }) = self.in_force(document) else { return Ok(json!([])) };
        let text = &document.text;
        let found = statements::within(text.as_str(), &check, text.span(part));
        let shown = found.into_iter().map(|it| {
            let range = text.range(it.statement.span);
            json!({ "text": it.instruction.to_string(), "range": range })
        });
        Ok(Value::Array(shown.collect()))
    }

    pub(super) fn completion(&self, place: &TextDocumentPositionParams) -> Answer {
        let Some(here) = self.here(place)? else { return Ok(Value::Null) };
        let text = &here.document.text;
        let snippets = self.client.snippets;
        let found = completion::at(text.as_str(), &here.check, here.offset, snippets);
        let Some(found) = found else {
            return Ok(Value::Null);
        };
        let range = answer(text.range(found.typed))?;
        let items = found.offers.iter().enumerate().map(|(number, offer)| {
            let kind = match offer.kind {
                OfferKind::Mnemonic => CompletionItemKind::Keyword,
                OfferKind::Modifier => CompletionItemKind::EnumMember,
                OfferKind::Register => CompletionItemKind::Variable,
                OfferKind::Selector => CompletionItemKind::Field,
                OfferKind::Form => CompletionItemKind::Snippet,
            };
            let mut item = json!({
                "label": offer.label,
                "kind": kind,
                "detail": offer.detail,
                // Clients then sort in the order of the manual, not in that of the alphabet.
                "sortText": format!("{number:04}"),
                "textEdit": { "range": range, "newText": offer.text },
            });
            if offer.kind == OfferKind::Form {
                item["insertTextFormat"] = json!(InsertTextFormat::Snippet);
                // Clients compare this text with the typed word.
                item["filterText"] = json!(offer.text.split('.').next());
            }
            item
        });
        let items: Vec<Value> = items.collect();
        Ok(json!({ "isIncomplete": found.is_part, "items": items }))
    }

    pub(super) fn signature(&self, place: &TextDocumentPositionParams) -> Answer {
        let Some(Here { document, check, offset }) = self.here(place)? else {
            return Ok(Value::Null);
        };
        let found = completion::signature(document.text.as_str(), &check, offset);
        let Some(Signature { lines, fits, operand }) = found else { return Ok(Value::Null) };
        let signatures = lines.iter().map(|(line, title)| {
            // Clients take operands as ranges of the line.
            let start = line.find("  ").map_or(line.len(), |at| at + 2);
            let operands = line[start..].trim_end_matches(';').split(", ").scan(start, |at, it| {
                let place = json!({ "label": [*at, *at + it.len()] });
                *at += it.len() + 2;
                Some(place)
            });
            let operands: Vec<Value> = operands.collect();
            json!({ "label": line, "documentation": title, "parameters": operands })
        });
        let signatures: Vec<Value> = signatures.collect();
        Ok(json!({
            "signatures": signatures, "activeSignature": fits, "activeParameter": operand,
        }))
    }

    pub(super) fn code_actions(
        &self,
        params: &CodeActionParams,
    ) -> Result<Vec<CodeAction>, ResponseError> {
        let document = self.document(&params.text_document)?;
        let Some(InForce { check, .. }) = self.in_force(document) else { return Ok(Vec::new()) };
        let text = document.text.as_str();
        let asked = document.text.span(params.range);
        let wanted = |kind: &CodeActionKind| {
            let kind = kind_text(kind);
            params.context.only.as_ref().is_none_or(|only| {
                let is_above = |asked: &CodeActionKind| {
                    let asked = kind_text(asked);
                    kind.strip_prefix(&*asked).is_some_and(|rest| {
                        rest.is_empty() || asked.is_empty() || rest.starts_with('.')
                    })
                };
                only.iter().any(is_above)
            })
        };
        let mut found = Vec::new();
        if wanted(&CodeActionKind::QuickFix) {
            let touches =
                |it: &&Diagnostic| it.span.start <= asked.end && asked.start <= it.span.end;
            let near: Vec<&Diagnostic> = self.found(document).iter().filter(touches).collect();
            let ignores = near.len() <= MOST_IGNORED;
            let mut codes = Set::default();
            found.extend(near.into_iter().flat_map(|it| {
                actions::of_finding(text, &check, it, ignores, codes.insert(it.code))
            }));
        }
        if wanted(&CodeActionKind::RefactorRewrite) && check.language == Language::Ptx {
            found.extend(actions::rewriting(text, &check, asked.start));
        }
        // All fixes take as long as many checks, and an editor asks for all kinds on its own
        // whenever the cursor moves.
        let is_automatic = params.context.trigger_kind == Some(CodeActionTriggerKind::Automatic);
        if wanted(&fix_all_kind()) && !(is_automatic && params.context.only.is_none()) {
            found.extend(actions::fix_all(text, &check));
        }
        let docs = self.docs(document);
        Ok(found.into_iter().map(|action| shown_action(document, action, &docs)).collect())
    }

    /// The edits that format a text, or only the lines of a range.
    pub(super) fn formatting(
        &self,
        identifier: &TextDocumentIdentifier,
        range: Option<(Position, Position)>,
    ) -> Result<Option<Vec<TextEdit>>, ResponseError> {
        let document = self.document(identifier)?;
        let in_force = self.in_force(document);
        let Some(InForce { check, format, .. }) = in_force else { return Ok(None) };
        if check.language != Language::Ptx {
            return Ok(None);
        }
        // The defaults may differ from what the settings ask for.
        if let Err(error) = self.settings(document) {
            return Err(failure(ErrorCode::RequestFailed, error.to_string()));
        }
        // A part of a text keeps the line endings of the text.
        let format =
            if range.is_some() { format.with_line_ending(LineEnding::Keep) } else { format };
        // A text with errors stays unchanged; the findings say why.
        let Ok(edits) = format_edits(document.text.as_str(), &format) else { return Ok(None) };
        let edits = joined(document.text.as_str(), edits);
        let mut edits = text_edits(document, &edits);
        if let Some((start, end)) = range {
            // Editors end a selection of whole lines at the start of the next line.
            let last = if end.character == 0 { end.line.saturating_sub(1) } else { end.line };
            // The white space before a statement belongs to the statement.
            let lines = whole_instructions(document, start.line..=last.max(start.line));
            edits.retain(|edit| lines.contains(&edit.range.end.line));
        }
        Ok(Some(edits))
    }

    /// Runs a command. Its result is a text, or a list of instructions.
    pub(super) fn command(&self, value: &Value) -> Answer {
        let argument = |at: usize| value.pointer(&format!("/arguments/{at}"));
        let wrong = |message: &str| failure(ErrorCode::InvalidParams, message);
        match value.get("command").and_then(Value::as_str) {
            Some("vptx.explain") => {
                let subject = argument(0).and_then(Value::as_str);
                let code = subject.and_then(crate::diagnostic::Code::find);
                let code = code.ok_or_else(|| wrong("vptx.explain needs a code such as V501"))?;
                answer(code.page())
            }
            Some("vptx.showProgram") => {
                let place = argument(0).cloned().unwrap_or_default();
                let place: TextDocumentPositionParams = params(place)?;
                let found = self.here(&place)?.and_then(|Here { document, check, offset }| {
                    statements::at(document.text.as_str(), &check, offset)
                });
                answer(found.map(|found| {
                    let program = found.instruction.lower(Semantics::Manual);
                    // The program has the names of operands, not of registers.
                    let operands = ["a", "b", "c"].iter().zip(&found.values[1..]);
                    let operands: Vec<String> =
                        operands.map(|(name, value)| format!("{name} is {value}")).collect();
                    format!("// {}\n// {}\n{program}", found.instruction, operands.join(", "))
                }))
            }
            Some("vptx.instructions") => {
                let place = argument(0).cloned().unwrap_or_default();
                let InlayHintParams { text_document, range, .. } = params(place)?;
                self.instructions(&text_document, range)
            }
            Some("vptx.evaluate") => {
                let text = argument(0).and_then(Value::as_str);
                let text = text.ok_or_else(|| wrong("vptx.evaluate needs an instruction"))?;
                let values = argument(1).cloned().unwrap_or_else(|| json!([]));
                answer(
                    evaluated(text, &params::<Vec<String>>(values)?)
                        .map_err(|it| wrong(&it.to_string()))?,
                )
            }
            _ => Err(wrong("no such command")),
        }
    }
}

fn shown_action(document: &Document, action: Action<'_>, docs: &Docs) -> CodeAction {
    let Action { title, purpose, found, edits } = action;
    let kind = match purpose {
        Purpose::Fix { .. } | Purpose::Ignore => CodeActionKind::QuickFix,
        Purpose::FixAll => fix_all_kind(),
        Purpose::Rewrite => CodeActionKind::RefactorRewrite,
    };
    CodeAction {
        title,
        kind: Some(kind),
        diagnostics: found.map(|it| vec![diagnostics::shown(it, document, docs)]),
        is_preferred: (purpose == Purpose::Fix { preferred: true }).then_some(true),
        edit: Some(workspace_edit(document, &edits)),
        ..CodeAction::default()
    }
}

fn workspace_edit(document: &Document, edits: &[Edit]) -> WorkspaceEdit {
    let changes = [(document.uri.clone(), text_edits(document, edits))];
    WorkspaceEdit { changes: Some(changes.into()), ..WorkspaceEdit::default() }
}

/// Lines, and those of the video instructions that reach into them. Formatting may move a modifier
/// to another line of its instruction, which takes two edits.
fn whole_instructions(document: &Document, lines: RangeInclusive<u32>) -> RangeInclusive<u32> {
    let (mut first, mut last) = lines.into_inner();
    let (module, _) = parse(document.text.as_str());
    let instructions = module.instructions().map(|(span, _)| document.text.range(span));
    let instructions: Vec<(u32, u32)> =
        instructions.map(|it| (it.start.line, it.end.line)).collect();
    for (start, end) in instructions.iter().rev() {
        if *start < first && first <= *end {
            first = *start;
        }
    }
    for (start, end) in &instructions {
        if *start <= last && last < *end {
            last = *end;
        }
    }
    first..=last
}

/// Joins the edits within each line, if they are many.
fn joined(source: &str, edits: Vec<Edit>) -> Vec<Edit> {
    if edits.len() <= MOST_EDITS {
        return edits;
    }
    let mut joined: Vec<Edit> = Vec::new();
    for edit in edits {
        let joins =
            |last: &&mut Edit| !Span::new(last.span.end, edit.span.end).text(source).contains('\n');
        match joined.last_mut().filter(joins) {
            Some(last) => {
                last.replacement += Span::new(last.span.end, edit.span.start).text(source);
                last.replacement += &edit.replacement;
                last.span.end = edit.span.end;
            }
            None => joined.push(edit),
        }
    }
    joined
}

fn text_edits(document: &Document, edits: &[Edit]) -> Vec<TextEdit> {
    let text = &document.text;
    edits
        .iter()
        .map(|edit| TextEdit::new(text.range(edit.span), edit.replacement.clone()))
        .collect()
}

/// Why an instruction is not evaluated.
#[derive(Debug, Error)]
enum NotEvaluated {
    #[error(transparent)]
    Instruction(#[from] ParseInstructionError),
    /// The error in each wrong input.
    #[error("{}", .0.join("; "))]
    Inputs(Vec<String>),
    #[error(transparent)]
    Write(#[from] io::Error),
}

/// A page that evaluates an instruction on inputs such as `a=0x01020304`, with each step.
fn evaluated(text: &str, values: &[String]) -> Result<String, NotEvaluated> {
    let end = if text.trim_end().ends_with(';') { "" } else { ";" };
    let instruction: Instruction = format!("{text}{end}").parse()?;
    let semantics = &[Semantics::Manual];
    let programs = [instruction.lower(Semantics::Manual)];
    let words = evaluation::words(&Registers::of(&instruction), &programs, values)
        .map_err(NotEvaluated::Inputs)?;
    let instruction = &instruction;
    let mut page = Vec::new();
    Evaluation { instruction, semantics, words, trace: true, unicode: true }.write(&mut page)?;
    Ok(String::from_utf8_lossy(&page).into_owned())
}

fn fix_all_kind() -> CodeActionKind {
    CodeActionKind::Custom("source.fixAll.vptx".into())
}

/// The text of a kind, such as `quickfix`.
fn kind_text(kind: &CodeActionKind) -> String {
    let value = serde_json::to_value(kind).unwrap_or_default();
    value.as_str().unwrap_or_default().to_string()
}
