//! Ranges of the registers that scalar instructions read.
//!
//! A register that only video instructions and moves write holds results with a known range, in
//! loops, too. An instruction on these often has a shorter sequence: it need not saturate, or 32
//! bits are enough.

use memchr::memmem;

use super::super::region::{Chains, Results, joined, result_range};
use super::constants;
use crate::ir::Range;
use crate::module::VideoStatement;
use crate::source::Span;
use crate::video::{Instruction, Operation, Semantics, numbered};

/// The range of each source of an instruction, if it is known.
pub(super) type Ranges = [Option<Range>; 3];

/// More than any range tells about a source.
pub(super) const MOST: Ranges = [Some(Range::new(0, 1)); 3];

/// The ranges of registers in the last function that was asked for.
pub(super) struct Known<'s, 'm> {
    source: &'s str,
    function: Option<Span>,
    /// Its statements, if these are close to each other.
    statements: Option<&'m [VideoStatement]>,
    /// Their results, if they were needed.
    results: Option<Results<'m>>,
}

/// A function is read only if it has a video instruction in so many bytes, on average.
const NEAR: usize = 1024;

impl<'s, 'm> Known<'s, 'm> {
    pub(super) fn new(source: &'s str) -> Known<'s, 'm> {
        Known { source, function: None, statements: None, results: None }
    }

    /// Whether ranges are searched for in the function of a statement, by its place in a text.
    pub(super) fn is_near(&mut self, statements: &'m [VideoStatement], at: usize) -> bool {
        let Some(function) = statements[at].function else { return false };
        if self.function != Some(function) {
            let is_own = |statement: &&VideoStatement| statement.function == Some(function);
            let before = statements[..at].iter().rev().take_while(is_own).count();
            let after = statements[at..].iter().take_while(is_own).count();
            let own = &statements[at - before..at + after];
            let is_near = own.len() > 1 && self.ends_near(function, own);
            *self = Known {
                function: Some(function),
                statements: is_near.then_some(own),
                ..Known::new(self.source)
            };
        }
        self.statements.is_some()
    }

    /// Whether a function with these statements is not long. A brace that starts a line ends it.
    fn ends_near(&self, function: Span, statements: &[VideoStatement]) -> bool {
        let most = self.source.len().min(function.end as usize + NEAR * statements.len());
        let end = statements.last().map_or(function.end, |last| last.span.end);
        let rest = self.source.as_bytes().get(end as usize..most);
        rest.is_some_and(|rest| memmem::find(rest, b"\n}").is_some())
    }

    /// The ranges of the sources of an instruction, in the function that was asked for last.
    pub(super) fn find(
        &mut self,
        instruction: &Instruction,
        chains: &mut Chains<'_>,
    ) -> Option<Ranges> {
        let (function, statements) = (self.function?, self.statements?);
        let results = self.results.get_or_insert_with(|| results(statements, function, chains));
        let mut sources = instruction.sources();
        if matches!(instruction.operation, Operation::Shift(_)) {
            // ptxas knows more of what is shifted, and of the amount.
            (sources[0], sources[1]) = (None, None);
        }
        let ranges = sources.map(|it| chains.range(function, it?, results).and_then(rounded));
        ranges.iter().any(Option::is_some).then_some(ranges)
    }
}

/// A range of as many bits as another one needs. So there are few, and few sequences are looked for.
/// `None` if it tells nothing, or nothing new: ptxas knows constants itself, and makes predicates
/// of flags.
fn rounded(range: Range) -> Option<Range> {
    let above = |value: i128| 128 - value.leading_zeros();
    let max = if range.max < 0 { -1 } else { (1 << above(range.max)) - 1 };
    let min = if range.min < 0 { -(1 << above(-1 - range.min)) } else { 0 };
    let all = Range::new(min, max);
    let is_word = [true, false].iter().any(|signed| all.contains_range(Range::bits(32, *signed)));
    (range.max - range.min > 1 && !is_word).then_some(all)
}

/// So many times, ranges of results are found from the ranges of sources.
const ROUNDS: usize = 4;

/// The results of video instructions by the registers that they write.
fn results<'m>(
    statements: &'m [VideoStatement],
    function: Span,
    chains: &mut Chains<'_>,
) -> Results<'m> {
    let mut found: Vec<Option<Range>> = vec![None; statements.len()];
    let mut results = Results::default();
    for round in 0..ROUNDS {
        let mut is_new = false;
        for (statement, range) in statements.iter().zip(&mut found) {
            let instruction = statement.instruction.as_ref().filter(|it| it.simd().is_none());
            let Some(instruction) = instruction.filter(|_| range.is_none()) else { continue };
            let sources = instruction.sources();
            let sources = sources.map(|it| chains.range(function, it?, &results));
            if round == 0 || sources.iter().any(Option::is_some) {
                let program = on_constants(instruction, function, chains).lower(Semantics::CURRENT);
                *range = result_range(&program.within(sources));
                is_new |= range.is_some();
            }
        }
        if !is_new {
            break;
        }
        results = by_register(statements, &found);
    }
    results
}

fn on_constants(instruction: &Instruction, function: Span, chains: &mut Chains<'_>) -> Instruction {
    let mut known = instruction.clone();
    constants::replace(&mut known.operation, &mut |register| {
        chains.constant(Some(function), register)
    });
    known
}

fn by_register<'m>(statements: &'m [VideoStatement], found: &[Option<Range>]) -> Results<'m> {
    let mut results = Results::default();
    for (statement, range) in statements.iter().zip(found) {
        let Some(instruction) = &statement.instruction else { continue };
        let name = numbered(instruction.destination().name());
        let (count, known) = results.entry(name).or_insert((0, *range));
        *count += 1;
        *known = known.and_then(|known| joined(Some(known), (*range)?));
    }
    results
}
