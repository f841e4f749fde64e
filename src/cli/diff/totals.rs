//! Counts of differences.

use std::cmp::{Ordering, Reverse};
use std::collections::BTreeMap;
use std::fmt;
use std::ops::AddAssign;

use serde::Serialize;

use super::sides::Pair;
use super::source::Compared;
use crate::backend::ptx::machine_instructions;
use crate::check::CheckOptions;
use crate::diagnostic::{counted, counted_each};
use crate::diff::{Change, ChangeKind, Comparison, Figures, Side, Subject};

/// What differs, over all texts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct Totals {
    /// Pairs of texts.
    pub(super) texts: usize,
    /// Pairs of texts that differ.
    pub(super) different: usize,
    /// Texts that only one side has.
    pub(super) only_old: usize,
    pub(super) only_new: usize,
    /// Functions, by kind of change.
    pub(super) changed: usize,
    pub(super) renamed: usize,
    pub(super) added: usize,
    pub(super) removed: usize,
    /// Statements, also those of added and removed functions.
    pub(super) statements_added: usize,
    pub(super) statements_removed: usize,
}

impl Totals {
    /// The totals of one pair of texts, before any difference is counted.
    pub(super) fn of_pair() -> Totals {
        Totals { texts: 1, ..Totals::default() }
    }

    /// Counts a difference of the pair.
    pub(super) fn count(&mut self, change: &Change) {
        self.different = 1;
        let (added, removed) = change.counts();
        self.statements_added += added;
        self.statements_removed += removed;
        if change.subject == Subject::Function {
            *match change.kind {
                ChangeKind::Added => &mut self.added,
                ChangeKind::Removed => &mut self.removed,
                ChangeKind::Changed => &mut self.changed,
                ChangeKind::Renamed => &mut self.renamed,
            } += 1;
        }
    }

    /// The counts of a text that only one side has. For a pair, all counts are 0.
    pub(super) fn alone(pair: Pair) -> Totals {
        match pair {
            Pair::Old(_) => Totals { only_old: 1, ..Totals::default() },
            Pair::New(_) => Totals { only_new: 1, ..Totals::default() },
            Pair::Both(..) => Totals::default(),
        }
    }

    pub(super) fn differs(&self) -> bool {
        self.different + self.only_old + self.only_new > 0
    }
}

impl AddAssign<&Totals> for Totals {
    fn add_assign(&mut self, other: &Totals) {
        self.texts += other.texts;
        self.different += other.different;
        self.only_old += other.only_old;
        self.only_new += other.only_new;
        self.changed += other.changed;
        self.renamed += other.renamed;
        self.added += other.added;
        self.removed += other.removed;
        self.statements_added += other.statements_added;
        self.statements_removed += other.statements_removed;
    }
}

impl fmt::Display for Totals {
    /// `3 of 12 texts differ, 1 only on the new side; 5 functions changed, 1 added: ...`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.texts != 1 || self.only_old + self.only_new > 0 {
            write!(f, "{} of {} differ", self.different, counted(self.texts, "text"))?;
            if self.only_old > 0 {
                write!(f, ", {} only on the old side", self.only_old)?;
            }
            if self.only_new > 0 {
                write!(f, ", {} only on the new side", self.only_new)?;
            }
            f.write_str("; ")?;
        }
        let functions = [
            (self.changed, "changed"),
            (self.renamed, "renamed"),
            (self.added, "added"),
            (self.removed, "removed"),
        ];
        let parts = counted_each("function", &functions);
        f.write_str(if parts.is_empty() { "no function changed" } else { &parts })?;
        let added = counted(self.statements_added, "statement");
        write!(f, ": {added} added, {} removed", self.statements_removed)
    }
}

/// A figure before and after.
type BeforeAfter = (usize, usize);

/// Counts of both texts.
#[derive(Default)]
pub(super) struct Statistics {
    opcodes: BTreeMap<String, BeforeAfter>,
    registers: BTreeMap<u8, BeforeAfter>,
    functions: BeforeAfter,
    video: BeforeAfter,
    cost: Cost,
}

/// Machine instructions for the video instructions of both sides.
#[derive(Default)]
struct Cost {
    /// The sums over the texts whose targets were measured, and the number of these texts.
    sums: BeforeAfter,
    measured: BeforeAfter,
    /// Pairs of texts of which only one was measured, or neither.
    half: usize,
    none: usize,
}

impl Cost {
    fn of(old: Option<usize>, new: Option<usize>) -> Cost {
        let count = |side: Option<usize>| usize::from(side.is_some());
        Cost {
            sums: (old.unwrap_or(0), new.unwrap_or(0)),
            measured: (count(old), count(new)),
            half: usize::from(old.is_some() != new.is_some()),
            none: usize::from(old.is_none() && new.is_none()),
        }
    }

    /// A row of [`Statistics::rows`]. A figure that was not measured is `-`.
    fn row(&self) -> [String; 4] {
        let name = match self.half + self.none {
            0 => "machine instructions for video instructions",
            _ => "machine instructions for video instructions, where measured",
        };
        let [before, after, change, name] = row(name.into(), self.sums);
        let known = |is_known: bool, figure| if is_known { figure } else { "-".to_string() };
        let (is_before_known, is_after_known) = (self.measured.0 > 0, self.measured.1 > 0);
        // A difference is meaningless if the two sums are over different texts.
        let is_change_known = is_before_known && is_after_known && self.half == 0;
        [
            known(is_before_known, before),
            known(is_after_known, after),
            known(is_change_known, change),
            name,
        ]
    }
}

/// Adds two counts of both sides.
fn add(sum: &mut BeforeAfter, more: BeforeAfter) {
    sum.0 += more.0;
    sum.1 += more.1;
}

/// A row: before, after, difference, name.
fn row(name: String, (before, after): BeforeAfter) -> [String; 4] {
    let sign = match after.cmp(&before) {
        Ordering::Less => "-",
        Ordering::Equal => "",
        Ordering::Greater => "+",
    };
    let change = format!("{sign}{}", after.abs_diff(before));
    [before.to_string(), after.to_string(), change, name]
}

impl Statistics {
    pub(super) fn of(comparison: &Comparison<'_>, compared: &Compared<'_>) -> Statistics {
        let mut all = Statistics::default();
        all.add(&comparison.figures(Side::Old), |pair| &mut pair.0);
        all.add(&comparison.figures(Side::New), |pair| &mut pair.1);
        let [old, new] = [&compared.old, &compared.new].map(|source| video(source.text));
        all.video = (old.0, new.0);
        all.cost = Cost::of(old.1, new.1);
        all
    }

    fn add(&mut self, figures: &Figures<'_>, side: fn(&mut BeforeAfter) -> &mut usize) {
        for (opcode, count) in &figures.opcodes {
            *side(self.opcodes.entry((*opcode).to_string()).or_default()) += count;
        }
        for (bits, count) in &figures.registers {
            *side(self.registers.entry(*bits).or_default()) += count;
        }
        *side(&mut self.functions) += figures.functions;
    }

    /// The rows of the table: before, after, difference, name. Opcodes whose counts are equal
    /// are left out.
    pub(super) fn rows(&self) -> Vec<[String; 4]> {
        let mut rows = vec![["before", "after", "change", "of"].map(String::from)];
        rows.push(row("functions".into(), self.functions));
        let total = self.opcodes.values().fold((0, 0), |sum, it| (sum.0 + it.0, sum.1 + it.1));
        rows.push(row("instructions".into(), total));
        for (bits, counts) in &self.registers {
            let name = match bits {
                0 => "registers of vectors".into(),
                1 => "predicates".into(),
                _ => format!("registers of {bits} bits"),
            };
            rows.push(row(name, *counts));
        }
        if self.video != (0, 0) {
            rows.push(row("video instructions".into(), self.video));
            rows.push(self.cost.row());
        }
        let mut opcodes: Vec<_> =
            self.opcodes.iter().filter(|(_, (before, after))| before != after).collect();
        opcodes.sort_by_key(|(name, (before, after))| {
            (Reverse(before.abs_diff(*after)), (*name).clone())
        });
        rows.extend(opcodes.into_iter().map(|(name, counts)| row(name.clone(), *counts)));
        rows
    }
}

impl AddAssign for Statistics {
    fn add_assign(&mut self, other: Statistics) {
        for (opcode, counts) in other.opcodes {
            add(self.opcodes.entry(opcode).or_default(), counts);
        }
        for (bits, counts) in other.registers {
            add(self.registers.entry(bits).or_default(), counts);
        }
        add(&mut self.functions, other.functions);
        add(&mut self.video, other.video);
        add(&mut self.cost.sums, other.cost.sums);
        add(&mut self.cost.measured, other.cost.measured);
        self.cost.half += other.cost.half;
        self.cost.none += other.cost.none;
    }
}

/// The number of video instructions, and the number of machine instructions that ptxas makes of
/// them. The latter is `None` if some instruction was not measured on the text's target.
fn video(source: &str) -> (usize, Option<usize>) {
    let (module, _) = crate::analysis::read_module(source, &CheckOptions::errors_only());
    let count = module.instructions().count();
    let measured = machine_instructions(&module);
    let cost = measured.iter().map(|(before, _)| *before as usize).sum();
    (count, (measured.len() == count).then_some(cost))
}
