//! The video instruction at a place of a text, in PTX or in an `asm` statement.

use crate::analysis::parse_with;
use crate::check::{CheckOptions, Language};
use crate::embed::{self, Asm};
use crate::isa::Target;
use crate::module::{OperandSpans, StatementSpans, VideoStatement};
use crate::source::Span;
use crate::video::Instruction;

/// The video instructions of a module.
#[derive(Debug)]
pub(super) struct Statements {
    pub(super) list: Vec<VideoStatement>,
    pub(super) target: Option<Target>,
}

impl Statements {
    pub(super) fn read(source: &str) -> Statements {
        let (module, _) = parse_with(source, &CheckOptions::errors_only());
        let target = module.target();
        Statements { list: module.into_statements(), target }
    }

    /// The statement at an offset.
    fn at(&self, offset: u32) -> Option<&VideoStatement> {
        let next = self.list.partition_point(|it| it.span.end < offset);
        self.list[next..]
            .iter()
            .find(|it| it.span.start <= offset)
            .filter(|it| it.span.end >= offset)
    }
}

/// A legal video instruction, with the places of its parts in the text that has it.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) statement: VideoStatement,
    pub(super) instruction: Instruction,
    pub(super) spans: StatementSpans,
    /// The register or constant of each operand, as PTX spells it.
    pub(super) values: Vec<String>,
    pub(super) target: Option<Target>,
}

impl Found {
    /// A legal instruction of `text`, whose places `map` finds in the source.
    fn new(
        statement: &VideoStatement,
        text: &str,
        target: Option<Target>,
        map: impl Fn(Span) -> Span,
    ) -> Option<Found> {
        let instruction = statement.instruction.clone()?;
        let mut spans = statement.spans(text)?;
        let value = |operand: &OperandSpans| operand.value.text(text).to_string();
        let values = spans.operands.iter().map(value).collect();
        spans.mnemonic = map(spans.mnemonic);
        spans.guard = spans.guard.map(&map);
        for (_, span) in &mut spans.modifiers {
            *span = map(*span);
        }
        for operand in &mut spans.operands {
            operand.whole = map(operand.whole);
            operand.value = map(operand.value);
            operand.selector = operand.selector.map(&map);
        }
        let statement = VideoStatement { span: map(statement.span), ..statement.clone() };
        Some(Found { statement, instruction, spans, values, target })
    }
}

/// The instruction at an offset of PTX.
pub(super) fn in_module(source: &str, statements: &Statements, offset: u32) -> Option<Found> {
    Found::new(statements.at(offset)?, source, statements.target, |span| span)
}

/// The `asm` statement at an offset of a source.
pub(super) fn asm_at(source: &str, offset: u32) -> Option<Asm<'_>> {
    let mut all = embed::statements(source).into_iter();
    all.find(|asm| asm.span.start <= offset && offset <= asm.span.end)
}

/// The instruction at an offset of a source, in an `asm` statement. Its spans are those of
/// the source.
pub(super) fn in_asm(asm: &Asm<'_>, offset: u32) -> Option<Found> {
    let own = Statements::read(&asm.text);
    let holds = |statement: &&VideoStatement| {
        let span = asm.source_span(statement.span);
        span.start <= offset && offset <= span.end
    };
    let statement = own.list.iter().find(holds)?;
    Found::new(statement, &asm.text, None, |span| asm.source_span(span))
}

/// The legal instructions that end in a part of a text.
pub(super) fn within(
    source: &str,
    statements: &Statements,
    options: &CheckOptions,
    part: Span,
) -> Vec<Found> {
    let is_inside = |span: Span| part.start <= span.end && span.end <= part.end;
    match options.language {
        Language::Ptx => {
            let inside = statements.list.iter().filter(|it| is_inside(it.span));
            inside.filter_map(|it| Found::new(it, source, statements.target, |it| it)).collect()
        }
        Language::Cuda => {
            let mut found = Vec::new();
            for asm in embed::statements(source) {
                if asm.span.start <= part.end && part.start <= asm.span.end {
                    let map = |span: Span| asm.source_span(span);
                    let own = Statements::read(&asm.text).list;
                    let inside = own.iter().filter(|it| is_inside(map(it.span)));
                    found.extend(inside.filter_map(|it| Found::new(it, &asm.text, None, map)));
                }
            }
            found
        }
    }
}

/// The target for costs: that of the options, else that of the text, else `sm_90`.
pub(super) fn target(options: &CheckOptions, own: Option<Target>) -> Target {
    let listed = options.targets.iter().copied().max_by_key(|target| target.number);
    options.target.or(listed).or(own).unwrap_or(Target::sm(90))
}

/// The instruction at an offset of a text.
pub(super) fn at(
    source: &str,
    statements: &Statements,
    options: &CheckOptions,
    offset: u32,
) -> Option<Found> {
    match options.language {
        Language::Ptx => in_module(source, statements, offset),
        Language::Cuda => in_asm(&asm_at(source, offset)?, offset),
    }
}
