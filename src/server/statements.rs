//! The video instruction at a place of a text, in PTX or in an `asm` statement.

use crate::analysis::parse_with;
use crate::check::{CheckOptions, Language, is_wanted};
use crate::embed::{self, Asm};
use crate::isa::Target;
use crate::module::{StatementSpans, VideoStatement};
use crate::source::Span;
use crate::syntax::{Context, Handler, Problem, Statement, read};
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

/// The instruction at an offset of PTX.
pub(super) fn in_module(source: &str, statements: &Statements, offset: u32) -> Option<Found> {
    let statement = statements.at(offset)?;
    let spans = statement.spans(source)?;
    Some(Found {
        instruction: statement.instruction.clone()?,
        values: values(&spans, source),
        spans,
        statement: statement.clone(),
        target: statements.target,
    })
}

fn values(spans: &StatementSpans, source: &str) -> Vec<String> {
    spans.operands.iter().map(|operand| operand.value.text(source).into()).collect()
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
    let place = |span: Span| asm.source_span(span);
    let holds = |statement: &&VideoStatement| {
        let span = place(statement.span);
        span.start <= offset && offset <= span.end
    };
    let statement = own.list.iter().find(holds)?;
    let mut spans = statement.spans(&asm.text)?;
    let values = values(&spans, &asm.text);
    spans.mnemonic = place(spans.mnemonic);
    spans.guard = spans.guard.map(place);
    for (_, span) in &mut spans.modifiers {
        *span = place(*span);
    }
    for operand in &mut spans.operands {
        operand.whole = place(operand.whole);
        operand.value = place(operand.value);
        operand.selector = operand.selector.map(place);
    }
    Some(Found {
        instruction: statement.instruction.clone()?,
        spans,
        values,
        statement: VideoStatement { span: place(statement.span), ..statement.clone() },
        target: None,
    })
}

/// The legal instructions in a part of a text, with the places where they end.
pub(super) fn within(
    source: &str,
    statements: &Statements,
    options: &CheckOptions,
    part: Span,
) -> Vec<(u32, Instruction)> {
    let is_inside = |end: u32| part.start <= end && end <= part.end;
    let legal = |list: &[VideoStatement], place: &dyn Fn(Span) -> Span| -> Vec<_> {
        let ends = list.iter().filter_map(|it| Some((place(it.span).end, it.instruction.clone()?)));
        ends.filter(|(end, _)| is_inside(*end)).collect()
    };
    match options.language {
        Language::Ptx => legal(&statements.list, &|span| span),
        Language::Cuda => embed::statements(source)
            .iter()
            .filter(|asm| asm.span.start <= part.end && part.start <= asm.span.end)
            .flat_map(|asm| legal(&Statements::read(&asm.text).list, &|span| asm.source_span(span)))
            .collect(),
    }
}

/// Where a name of a statement at an offset of PTX is declared.
pub(super) fn declaration(source: &str, offset: u32, name: &str) -> Option<Span> {
    let mut search = Declaration { at: offset, name, found: None };
    read(source, &mut search);
    search.found
}

struct Declaration<'n> {
    at: u32,
    name: &'n str,
    found: Option<Span>,
}

impl<'s> Handler<'s> for Declaration<'_> {
    const INITIAL: u8 = b'v';

    fn wants(&self, opcode: &str) -> bool {
        self.found.is_none() && is_wanted(opcode)
    }

    fn statement(&mut self, statement: Statement<'_>, context: &Context<'s>) {
        let [first, .., last] = statement.tokens else { return };
        if first.span.start <= self.at && self.at <= last.span.end {
            self.found = context.resolve(self.name).map(|symbol| symbol.span);
        }
    }

    fn problem(&mut self, _: Problem) {}
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
