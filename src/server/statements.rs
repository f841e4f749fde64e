//! The video instruction at a place of a text, in PTX or in an `asm` statement.

use crate::analysis::{parse_near, read_module};
use crate::check::CheckOptions;
use crate::embed::{self, Asm, Host};
use crate::isa::Target;
use crate::module::{Module, OperandSpans, StatementSpans, VideoStatement};
use crate::source::Span;
use crate::video::Instruction;

/// The video instructions around a place of PTX.
#[derive(Debug)]
pub(super) struct Near<'s> {
    /// The offset in the text where `module` starts.
    pub(super) start: u32,
    pub(super) module: Module<'s>,
}

impl<'s> Near<'s> {
    pub(super) fn read(source: &'s str, place: Span) -> Near<'s> {
        let (start, module) = parse_near(source, place, &CheckOptions::errors_only());
        Near { start, module }
    }

    fn found(&self, statement: &VideoStatement) -> Option<FoundInstruction> {
        let map = |span: Span| span.shifted(self.start);
        FoundInstruction::new(statement, self.module.source, self.module.target, map)
    }
}

/// A legal video instruction, with the places of its parts in the source.
#[derive(Debug)]
pub(super) struct FoundInstruction {
    pub(super) statement: VideoStatement,
    pub(super) instruction: Instruction,
    pub(super) spans: StatementSpans,
    /// The register or constant of each operand, as PTX spells it.
    pub(super) values: Vec<String>,
    pub(super) target: Option<Target>,
}

impl FoundInstruction {
    /// A legal instruction of `text`; `map` moves places in `text` to the source.
    fn new(
        statement: &VideoStatement,
        text: &str,
        target: Option<Target>,
        map: impl Fn(Span) -> Span,
    ) -> Option<FoundInstruction> {
        let instruction = statement.instruction.clone()?;
        let mut spans = statement.spans(text)?;
        let value = |operand: &OperandSpans| operand.value.text(text).to_string();
        let values = spans.operands.iter().map(value).collect();
        spans.map(&map);
        let statement = VideoStatement { span: map(statement.span), ..statement.clone() };
        Some(FoundInstruction { statement, instruction, spans, values, target })
    }
}

/// The instruction at an offset of PTX.
fn in_module(source: &str, offset: u32) -> Option<FoundInstruction> {
    let near = Near::read(source, Span::at(offset));
    let own = offset - near.start;
    let list = near.module.statements();
    let next = list.partition_point(|it| it.span.end < own);
    near.found(list.get(next).filter(|it| it.span.start <= own)?)
}

/// The `asm` statement at an offset of a source.
pub(super) fn asm_at(source: &str, host: Host, offset: u32) -> Option<Asm<'_>> {
    let mut all = embed::statements_in(source, host).into_iter();
    all.find(|asm| asm.span.touches(offset))
}

/// The video instructions of an `asm` statement.
pub(super) fn in_template(asm: &Asm<'_>) -> Vec<VideoStatement> {
    read_module(&asm.text, &CheckOptions::errors_only()).0.into_statements()
}

/// The instruction of an `asm` statement that stands at an offset of the source. Its spans are
/// places in the source.
pub(super) fn in_asm(asm: &Asm<'_>, offset: u32) -> Option<FoundInstruction> {
    let own = in_template(asm);
    let holds = |it: &&VideoStatement| asm.source_span(it.span).touches(offset);
    let statement = own.iter().find(holds)?;
    FoundInstruction::new(statement, &asm.text, None, |span| asm.source_span(span))
}

/// The legal instructions that end in a part of a text.
pub(super) fn within(source: &str, options: &CheckOptions, part: Span) -> Vec<FoundInstruction> {
    let is_inside = |span: Span| part.start <= span.end && span.end <= part.end;
    match options.language.host() {
        None => {
            let near = Near::read(source, part);
            let found = near.module.statements().iter().filter_map(|it| near.found(it));
            found.filter(|it| is_inside(it.statement.span)).collect()
        }
        Some(host) => {
            let mut found = Vec::new();
            for asm in embed::statements_in(source, host) {
                if asm.span.start <= part.end && part.start <= asm.span.end {
                    let map = |span: Span| asm.source_span(span);
                    let own = in_template(&asm);
                    let inside = own.iter().filter(|it| is_inside(map(it.span)));
                    found.extend(
                        inside.filter_map(|it| FoundInstruction::new(it, &asm.text, None, map)),
                    );
                }
            }
            found
        }
    }
}

/// The target for the costs of a text: the target of the options, else the text's own target, else
/// `sm_90`.
pub(super) fn target(options: &CheckOptions, own: Option<Target>) -> Target {
    let listed = options.targets.iter().copied().max_by_key(|target| target.number);
    let target = options.target.or(listed).or(own).unwrap_or(Target::sm(90));
    own.map_or(target, |own| target.for_text(own))
}

/// The instruction at an offset of a text.
pub(super) fn at(source: &str, options: &CheckOptions, offset: u32) -> Option<FoundInstruction> {
    match options.language.host() {
        None => in_module(source, offset),
        Some(host) => in_asm(&asm_at(source, host, offset)?, offset),
    }
}
