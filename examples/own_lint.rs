//! An example of a custom lint: a company wants `.sat` on every `vadd4` and `vsub4`, in PTX and in
//! the `asm` of CUDA. Comments such as `// vptx: ignore[HOUSE1]` suppress its findings.
//!
//! ```sh
//! cargo run --example own_lint -- fixtures/ptx/nvcc/video_simd.sm_90.ptx
//! ```

use std::error::Error;
use std::path::Path;
use std::process::ExitCode;

use vptx::analysis::unsuppressed;
use vptx::check::{CheckedInstruction, Language};
use vptx::diagnostic::{Applicability, CustomRule, Edit, Severity};
use vptx::isa::{Mnemonic, Role};
use vptx::source::{LineIndex, Span};
use vptx::syntax::{self, Statement};
use vptx::{CheckOptions, Code, Diagnostic, embed};

static WRAPS: CustomRule =
    CustomRule::new("HOUSE1", "wrapping-sum", Severity::Warning, "A sum that wraps around");

/// A sum that wraps around: its statement and mnemonic, the message, and the offset where `.sat`
/// belongs.
struct Wrap {
    statement: Span,
    mnemonic: Span,
    message: String,
    end: u32,
}

fn wraps(statement: Statement<'_>, checked: &CheckedInstruction) -> Option<Wrap> {
    let instruction = &checked.instruction;
    let adds = matches!(instruction.mnemonic(), Mnemonic::Vadd4 | Mnemonic::Vsub4);
    let sums = instruction.modifier(Role::Secondary).is_some();
    if !adds || sums || instruction.modifier(Role::Saturate).is_some() {
        return None;
    }
    let (_, last) = checked.spans.modifiers.last()?;
    Some(Wrap {
        statement: statement.span(),
        mnemonic: checked.spans.mnemonic,
        message: format!("`{instruction}` wraps around"),
        end: last.end,
    })
}

/// The sums that wrap around in a PTX text.
fn wraps_in(text: &str) -> Vec<Wrap> {
    let tree = syntax::parse(text);
    let legal = tree.video_instructions();
    legal.filter_map(|(statement, checked)| wraps(statement, &checked.ok()?)).collect()
}

/// The finding about a sum. `place` maps its spans to the source; `saturate` is the fix, if any.
fn finding(wrap: &Wrap, place: impl Fn(Span) -> Span, saturate: Option<Edit>) -> Diagnostic {
    let found = Diagnostic::new(Code::Custom(&WRAPS), place(wrap.mnemonic), &*wrap.message)
        .label("wraps around")
        .statement(place(wrap.statement));
    match saturate {
        Some(edit) => found.fix(Applicability::Unsafe, "saturate", vec![edit]),
        None => found,
    }
}

/// The findings of vptx and of this lint in a source.
pub(crate) fn lint(source: &str, language: Language) -> Vec<Diagnostic> {
    let options = CheckOptions::default().with_language(language).with_custom_rules(vec![&WRAPS]);
    let own = if language == Language::Ptx {
        let in_text = |wrap: &Wrap| finding(wrap, |it| it, Some(Edit::insert(wrap.end, ".sat")));
        wraps_in(source).iter().map(in_text).collect()
    } else {
        let mut own = Vec::new();
        for asm in embed::statements(source) {
            for wrap in wraps_in(&asm.text) {
                let edit = asm.source_edit(source, Span::at(wrap.end), ".sat");
                let edit = edit.map(|(span, text)| Edit::replace(span, text));
                own.push(finding(&wrap, |it| asm.source_span(it), edit));
            }
        }
        own
    };
    let mut found = vptx::check(source, &options);
    // The company does not want the findings of this rule.
    found.retain(|found| found.code != Code::UnreadSource);
    found.extend(unsuppressed(source, &options, own));
    found.sort_by_key(|found| found.span);
    found
}

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("usage: own_lint FILE")?;
    let source = std::fs::read_to_string(&path)?;
    let language = Language::of(Path::new(&path), &source).unwrap_or_default();
    let found = lint(&source, language);
    let index = LineIndex::new(&source);
    for found in &found {
        let at = index.position(&source, found.span.start);
        println!("{path}:{}:{}: {} {found}", at.line, at.column, found.code);
    }
    Ok(if found.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
