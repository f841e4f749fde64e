//! V904: sources of video instructions that some path to the instruction does not write.

use super::structure::FunctionSubject;
use crate::diagnostic::{Code, Diagnostic};
use crate::flow::{NameAccess, Written};
use crate::hash::Set;
use crate::ir::Input;
use crate::isa::{Part, Sources};
use crate::module::{StatementSpans, VideoStatement};
use crate::names::Meaning;
use crate::source::Span;
use crate::video::Semantics;

pub(super) fn find(subject: &FunctionSubject<'_, '_>, found: &mut Vec<Diagnostic>) {
    // If the targets of branches are unknown, some paths in the graph may not exist.
    if subject.flow.is_opaque() {
        return;
    }
    let reads: Vec<_> = subject.own_accesses().filter(|it| it.2.access.reads()).collect();
    let places: Vec<_> = reads.iter().map(|(number, _, it)| (*number, it.meaning)).collect();
    // Guarded writes count, as the reads usually have the same predicate.
    let Some(written) = subject.flow.are_written_before(&places, |_| true) else { return };
    let mut seen = Set::default();
    for ((number, statement, access), written) in reads.into_iter().zip(written) {
        let key = (number, access.meaning);
        if written == Written::Always || seen.contains(&key) {
            continue;
        }
        // A register may stand in several operands, of which only one matters.
        if let Some(finding) = finding(subject, number, statement, access, written) {
            seen.insert(key);
            found.push(finding);
        }
    }
}

/// The finding on a source, if the result depends on it.
fn finding(
    subject: &FunctionSubject<'_, '_>,
    number: usize,
    statement: &VideoStatement,
    access: &NameAccess,
    written: Written,
) -> Option<Diagnostic> {
    let source = subject.module.source();
    let instruction = statement.instruction.as_ref()?;
    let spans = statement.spans(source)?;
    let input = input_at(&spans, access);
    let modifiers = spans.modifiers;
    let matters = |input| {
        let mut all = Semantics::ALL.into_iter();
        all.any(|semantics| instruction.lower(semantics).reads(input))
    };
    if input.is_some_and(|input| !matters(input))
        || input == Some(Input::C) && all_is_merged(subject, number, access.meaning)
    {
        return None;
    }
    let name = access.span.text(source);
    let message = match written {
        Written::Never => format!("`{name}` is read, but nothing writes it before"),
        _ => format!("`{name}` is read, but not written on every path to here"),
    };
    let mut diagnostic = Diagnostic::new(Code::UnwrittenSource, access.span, message)
        .label("its value is arbitrary")
        .statement(statement.span);
    if written == Written::Sometimes {
        let flow = subject.flow;
        let writes = |at: &NameAccess| at.meaning == access.meaning && at.access.writes();
        let mut all = flow.instructions_with(access.meaning).flat_map(|at| flow.accesses(at));
        if let Some(place) = all.find(|at| writes(at)) {
            diagnostic = diagnostic.related(place.span, "written here");
        }
    }
    if input != Some(Input::C) {
        return Some(diagnostic);
    }
    let is_sum = modifiers.iter().any(|(_, modifier)| modifier.text(source) == ".add");
    Some(if is_sum {
        diagnostic.help(format!(
            "insert `mov.b32 {name}, 0;` before this instruction to start the sum at 0"
        ))
    } else if instruction.form().sources == Sources::Scalar {
        diagnostic
    } else {
        diagnostic.help(format!(
            "the lanes that the mask leaves out come from the third source: insert \
             `mov.b32 {name}, 0;` before this instruction to make them 0"
        ))
    })
}

/// The source operand that holds an access.
fn input_at(spans: &StatementSpans, access: &NameAccess) -> Option<Input> {
    let holds = |whole: Span| whole.start <= access.span.start && access.span.end <= whole.end;
    let operand = spans.operands.iter().skip(1).position(|operand| holds(operand.whole))?;
    Input::ALL.get(operand).copied()
}

/// How many merges are followed, each of which reads the result of the merge before.
const MERGES: usize = 16;

/// How many uses of a result, and how many basic blocks, are searched for the readers of the
/// result.
const USES: usize = 256;

/// Whether an instruction and later ones merge into a register until they have replaced all its
/// bits. Nothing else may read the results in between.
fn all_is_merged(subject: &FunctionSubject<'_, '_>, number: usize, register: Meaning) -> bool {
    let (mut at, mut register, mut merged) = (number, register, 0);
    for _ in 0..MERGES {
        let Some(merge) = Merge::of(subject, at, register) else { return false };
        merged |= merge.bits;
        if merged == u32::MAX {
            return true;
        }
        let Some(next) = subject.flow.only_reader(USES, at, merge.result) else { return false };
        (at, register) = (next, merge.result);
    }
    false
}

/// What an instruction without a guard merges into its third source, a register.
struct Merge {
    /// The bits that the instruction writes.
    bits: u32,
    result: Meaning,
}

impl Merge {
    /// `None` if the instruction does anything else with the register.
    fn of(subject: &FunctionSubject<'_, '_>, number: usize, register: Meaning) -> Option<Merge> {
        let place = subject.video.binary_search_by_key(&number, |(number, _)| *number).ok()?;
        let statement = subject.video[place].1;
        let instruction = statement.instruction.as_ref().filter(|it| it.guard.is_none())?;
        let spans = statement.spans(subject.module.source())?;
        let accesses = subject.flow.accesses(number);
        let mut reads = accesses.iter().filter(|it| it.access.reads() && it.meaning == register);
        if !reads.all(|it| input_at(&spans, it) == Some(Input::C)) {
            return None;
        }
        let parts = instruction.result_parts();
        let written = parts.iter().filter(|it| it.is_written).map(|it| it.part);
        let ones = |part: Part| (u32::MAX >> (32 - part.width())) << part.shift();
        let bits = written.map(ones).fold(0, |all, part| all | part);
        let result = accesses.iter().find(|it| it.access.writes())?.meaning;
        // A sum reads all of its third source.
        (bits != 0).then_some(Merge { bits, result })
    }
}
