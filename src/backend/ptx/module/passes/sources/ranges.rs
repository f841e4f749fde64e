//! Ranges of the registers that scalar instructions read.
//!
//! A register that only video instructions and moves write holds results with a known range, in
//! loops, too. An instruction on such registers often has a shorter sequence: it need not saturate,
//! or 32 bits are enough.

use super::super::super::super::facts::{Facts, Results};
use super::super::super::super::region::result_range;
use super::constants::on_constants;
use crate::ir::Range;
use crate::module::VideoStatement;
use crate::source::Span;
use crate::syntax::lexer::has_semicolons_up_to;
use crate::video::{Operation, Semantics};

/// The range of each source of an instruction, if it is known.
pub(super) type Ranges = [Option<Range>; 3];

/// The ranges of registers in the last function that was asked for.
#[derive(Default)]
pub(in super::super) struct Known<'m> {
    header: Option<u32>,
    /// The statements of the function, if they are close to each other.
    statements: Option<&'m [VideoStatement]>,
    /// The ranges of the statements' results, if they were needed.
    results: Option<Results>,
}

/// The data flow of a function is read for ranges only if, on average, at least one of this many
/// statements is a video instruction.
const NEAR: usize = 24;

impl<'m> Known<'m> {
    /// Whether the data flow of a statement's function is worth reading. `at` is the statement's
    /// place.
    pub(in super::super) fn is_near(
        &mut self,
        source: &str,
        statements: &'m [VideoStatement],
        at: usize,
    ) -> bool {
        let (Some(header), Some(name)) = (statements[at].header, statements[at].function) else {
            return false;
        };
        if self.header != Some(header) {
            let is_own = |statement: &&VideoStatement| statement.header == Some(header);
            let before = statements[..at].iter().rev().take_while(is_own).count();
            let after = statements[at..].iter().take_while(is_own).count();
            let own = &statements[at - before..at + after];
            let part = Span::new(name.end, own[own.len() - 1].span.end);
            let is_near = has_semicolons_up_to(NEAR * own.len(), source, part);
            *self =
                Known { header: Some(header), statements: is_near.then_some(own), results: None };
        }
        self.statements.is_some()
    }

    /// The ranges of the sources of a statement in the function that was asked for last.
    pub(super) fn find(
        &mut self,
        statement: &VideoStatement,
        facts: &mut Facts<'_>,
    ) -> Option<Ranges> {
        let (instruction, statements) = (statement.instruction.as_ref()?, self.statements?);
        if self.results.is_none() {
            self.results = results(statements, facts);
        }
        let (results, site) = (self.results.as_ref()?, facts.at(statement)?);
        let mut sources = instruction.sources();
        if matches!(instruction.operation, Operation::Shift(_)) {
            // ptxas knows more about the shifted value and the amount.
            (sources[0], sources[1]) = (None, None);
        }
        let ranges = sources.map(|it| site.range(it?, results).and_then(rounded));
        ranges.iter().any(Option::is_some).then_some(ranges)
    }
}

/// The range of all numbers of as many bits as this range needs. Rounding keeps the number of
/// different ranges small, because a sequence is looked for in each. `None` for whole words; for
/// constants, which ptxas knows itself; and for flags, of which ptxas makes predicates.
fn rounded(range: Range) -> Option<Range> {
    let above = |value: i128| 128 - value.leading_zeros();
    let max = if range.max < 0 { -1 } else { (1 << above(range.max)) - 1 };
    let min = if range.min < 0 { -(1 << above(-1 - range.min)) } else { 0 };
    let all = Range::new(min, max);
    let is_word = [true, false].iter().any(|signed| all.contains_range(Range::bits(32, *signed)));
    (range.max - range.min > 1 && !is_word).then_some(all)
}

/// The ranges of results are found from the ranges of sources this many times.
const ROUNDS: usize = 4;

/// The ranges of the results of a function's statements.
fn results(statements: &[VideoStatement], facts: &mut Facts<'_>) -> Option<Results> {
    let mut results = facts.no_results(statements.first()?)?;
    let scalars = statements.iter().filter_map(|statement| {
        let instruction = statement.instruction.as_ref().filter(|it| it.simd().is_none())?;
        Some((statement, instruction))
    });
    let mut open: Vec<_> = scalars.collect();
    for round in 0..ROUNDS {
        let count = open.len();
        let mut found = Vec::new();
        open.retain(|(statement, instruction)| {
            let Some(site) = facts.at(statement) else { return false };
            let sources = instruction.sources().map(|it| site.range(it?, &results));
            if round > 0 && sources.iter().all(Option::is_none) {
                return true;
            }
            let known = on_constants(instruction, site);
            let program = known.as_ref().unwrap_or(instruction).lower(Semantics::CURRENT);
            let range = result_range(&program.within(sources));
            found.extend(range.map(|range| (*statement, range)));
            range.is_none()
        });
        for (statement, range) in found {
            if let Some(site) = facts.at(statement) {
                site.set_result(range, &mut results);
            }
        }
        if open.len() == count {
            break;
        }
    }
    Some(results)
}
