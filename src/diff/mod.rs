//! The differences between two modules, names and layout aside.
//!
//! ```
//! use vptx::diff::{ChangeKind, LineKind, diff};
//!
//! let old = ".func f(.reg .b32 a) { .reg .b32 %r<9>; mov.b32 %r1, a; add.u32 %r2, %r1, 16; }";
//! let new = ".func f(.reg .b32 x) {\n .reg .b32 %t<9>; mov.b32 %t5, x; // moved up\n\
//!            add.u32 %t1, %t5, 0x11;\n}";
//! let changes = diff(old, new)?;
//! assert_eq!(changes.len(), 1);
//! assert_eq!(changes[0].kind, ChangeKind::Changed);
//! let lines = &changes[0].hunks[0].lines;
//! let texts: Vec<_> = lines.iter().map(|line| (line.kind, &*line.text)).collect();
//! assert_eq!(texts[2], (LineKind::Removed, "add.u32 %t1, %t5, 16;"));
//! assert_eq!(texts[3], (LineKind::Added, "add.u32 %t1, %t5, 0x11;"));
//! # Ok::<(), vptx::diff::DiffError>(())
//! ```

mod align;
mod figures;
mod hunks;
mod lines;
mod moves;
mod outline;
mod pairs;
mod text;
mod value;

use thiserror::Error;

use crate::diagnostic::Diagnostic;
use crate::source::Span;
use align::Sides;
pub(crate) use figures::Figures;
use outline::{Function, Outline, Rough, Shapes};
use pairs::Pairs;
pub(crate) use pairs::without_hashes;
use value::Rewritings;

/// Options for [`diff_with`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DiffOptions {
    /// The number of equal statements to give before and after each difference; 3 by default.
    pub context: usize,
    /// Whether types of instructions make no difference if only their width matters for the values,
    /// as in `ld.u32` and `ld.b32`, or `add.s32` and `add.u32`. The machine code of ptxas may still
    /// differ. Off by default.
    pub ignore_types: bool,
}

impl Default for DiffOptions {
    fn default() -> DiffOptions {
        DiffOptions { context: 3, ignore_types: false }
    }
}

impl DiffOptions {
    setters! { DiffOptions:
        /// These options with another value of `ignore_types`.
        with_ignore_types(ignore_types: bool) ignore_types;
        /// These options with another number of equal statements around differences.
        with_context(context: usize) context;
    }
}

/// One of the two texts that are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "lowercase"))]
pub enum Side {
    /// The first text.
    Old,
    /// The second text.
    New,
}

impl Side {
    fn name(self) -> &'static str {
        match self {
            Side::Old => "old text",
            Side::New => "new text",
        }
    }
}

/// The reason why two texts are not compared. As text, the side and the first syntax error.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{}, byte {}: {}", .side.name(), .diagnostics[0].span.start, .diagnostics[0].message)]
pub struct DiffError {
    side: Side,
    diagnostics: Vec<Diagnostic>,
}

impl DiffError {
    /// The text that has syntax errors.
    pub fn side(&self) -> Side {
        self.side
    }

    /// The syntax errors, in order; at least one.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }
}

/// A difference between two modules.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Change {
    /// The part of the modules that differs.
    pub subject: Subject,
    /// The kind of difference.
    pub kind: ChangeKind,
    /// The part in the old text; `None` if it was added.
    pub old: Option<Part>,
    /// The part in the new text; `None` if it was removed.
    pub new: Option<Part>,
    /// The statements that differ, with equal ones around them.
    pub hunks: Vec<Hunk>,
}

impl Change {
    /// The number of added statements, and the number of removed ones. A moved statement counts as
    /// both.
    pub fn counts(&self) -> (usize, usize) {
        let lines = || self.hunks.iter().flat_map(|hunk| &hunk.lines);
        let count = |kinds: [LineKind; 2]| lines().filter(|it| kinds.contains(&it.kind)).count();
        (
            count([LineKind::Added, LineKind::MovedHere]),
            count([LineKind::Removed, LineKind::MovedAway]),
        )
    }
}

/// The part of a module that differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "lowercase"))]
#[non_exhaustive]
pub enum Subject {
    /// Directives, variables and declarations outside of functions.
    Module,
    /// A function with a body.
    Function,
}

/// The kind of a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "lowercase"))]
#[non_exhaustive]
pub enum ChangeKind {
    /// Only the new text has the part.
    Added,
    /// Only the old text has the part.
    Removed,
    /// Both texts have the part, with different statements.
    Changed,
    /// Only the name of the function differs.
    Renamed,
}

/// A part of a module.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Part {
    /// The name of the function; empty for the module itself.
    pub name: String,
    /// The place of the part in its text, in bytes.
    pub span: Span,
}

/// Statements of a part, in order, with at least one that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Hunk {
    /// The statements, each one as a line.
    pub lines: Vec<Line>,
    /// The ranges of lines that differ, but compute the same.
    pub equivalences: Vec<Equivalence>,
}

/// A range of lines of a hunk whose old and new statements compute the same: behind them, all
/// registers that may still be read have the same values. The statements are plain integer and
/// video instructions without branches. Video instructions have the semantics
/// [`Semantics::CURRENT`](crate::Semantics::CURRENT).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Equivalence {
    /// The index of the first line.
    pub first: usize,
    /// The index of the last line.
    pub last: usize,
    /// Whether the equivalence is proven. Otherwise the results are equal for
    /// [`Equivalence::TRIED`] sets of values.
    pub proven: bool,
}

impl Equivalence {
    /// The number of sets of values that are tried if there is no proof. The values are random, or
    /// lie at edges where the results of video instructions change.
    pub const TRIED: usize = value::TRIED;
}

/// A statement of one of the texts, or of both.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Line {
    /// The texts that have the statement.
    pub kind: LineKind,
    /// The statement's place in the old text, in bytes. For a moved statement, the place it had.
    pub old: Option<Span>,
    /// The statement's place in the new text, in bytes. For a moved statement, the place it has.
    pub new: Option<Span>,
    /// The number of blocks around the statement: 1 for a statement directly in the body of its
    /// function, 0 for the header.
    pub depth: u8,
    /// The statement on one line. A name of the old text is replaced by its partner in the new
    /// text, if there is one. A name with `'` at its end has no partner; the new text has the same
    /// name for something else.
    pub text: String,
}

/// The texts that have a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "kebab-case"))]
#[non_exhaustive]
pub enum LineKind {
    /// Both.
    Same,
    /// Only the old text.
    Removed,
    /// Only the new text.
    Added,
    /// Only the old text has the statement here; the new text has it in another place.
    MovedAway,
    /// Only the new text has the statement here; the old text has it in another place.
    MovedHere,
}

/// Compares two modules.
///
/// White space, comments, debug data, the spelling of constants, the types and names of registers,
/// and the names of labels, parameters and internal variables make no difference. Functions are
/// paired by name; those without a partner, by likeness. The statements of a pair are aligned, so
/// that an inserted statement changes no others.
///
/// An empty list means that both texts say the same.
///
/// # Errors
/// The syntax errors of a text.
pub fn diff(old: &str, new: &str) -> Result<Vec<Change>, DiffError> {
    diff_with(old, new, DiffOptions::default())
}

/// Like [`diff`], with options.
///
/// # Errors
/// The same errors as [`diff`].
pub fn diff_with(old: &str, new: &str, options: DiffOptions) -> Result<Vec<Change>, DiffError> {
    Comparison::new(old, new, options).map(|comparison| comparison.changes().collect())
}

/// Two modules whose functions are paired.
pub(crate) struct Comparison<'s> {
    old: Outline<'s>,
    new: Outline<'s>,
    pairs: Pairs,
    rough: Rough,
    options: DiffOptions,
}

impl<'s> Comparison<'s> {
    /// Reads two texts, and pairs their functions.
    pub(crate) fn new(
        old: &'s str,
        new: &'s str,
        options: DiffOptions,
    ) -> Result<Comparison<'s>, DiffError> {
        let mut shapes = Shapes::default();
        let mut read = |source, side| {
            let outline = Outline::read(source, &mut shapes, options);
            outline.map_err(|diagnostics| DiffError { side, diagnostics })
        };
        // The old tree is dropped before the new one is read: two trees and the names of a text
        // would need more memory than all later work.
        let old = read(old, Side::Old)?.without_tree();
        let new = read(new, Side::New)?;
        let rough = shapes.into_rough();
        let pairs = Pairs::new(&old, &new, &rough);
        Ok(Comparison { old, new, pairs, rough, options })
    }

    /// The differences, computed one at a time: first outside of functions, then in functions, in
    /// the order of the new text. A removed function comes before the next function that stayed.
    pub(crate) fn changes(&self) -> impl Iterator<Item = Change> {
        let (old, new) = (&self.old, &self.new);
        let sides = Sides { old, new, globals: &self.pairs.globals, rough: &self.rough };
        let items = hunks::items(&sides);
        let mut rewritings = Rewritings::new();
        let change =
            move |(before, after): (Option<&Function>, Option<&Function>)| match (before, after) {
                (Some(before), Some(after)) => {
                    both(&sides, (before, after), self.options, &mut rewritings)
                }
                (Some(before), None) => Some(alone(&sides, before, ChangeKind::Removed)),
                (None, after) => after.map(|after| alone(&sides, after, ChangeKind::Added)),
            };
        items.into_iter().chain(self.functions().into_iter().filter_map(change))
    }

    /// The functions of both texts with their partners, in the order of their changes.
    fn functions(&self) -> Vec<(Option<&Function>, Option<&Function>)> {
        let (old, new) = (&self.old.functions, &self.new.functions);
        let mut is_removed = vec![true; old.len()];
        let mut partners = vec![None; new.len()];
        for &(before, after) in &self.pairs.functions {
            is_removed[before as usize] = false;
            partners[after as usize] = Some(before as usize);
        }
        let mut all = Vec::with_capacity(new.len());
        let mut removed = (0..old.len()).filter(|at| is_removed[*at]).peekable();
        for (function, partner) in new.iter().zip(partners) {
            if let Some(partner) = partner {
                while let Some(at) = removed.next_if(|at| *at < partner) {
                    all.push((Some(&old[at]), None));
                }
            }
            all.push((partner.map(|at| &old[at]), Some(function)));
        }
        all.extend(removed.map(|at| (Some(&old[at]), None)));
        all
    }

    /// Counts the parts of a text.
    pub(crate) fn figures(&self, side: Side) -> Figures<'_> {
        match side {
            Side::Old => Figures::of(&self.old),
            Side::New => Figures::of(&self.new),
        }
    }
}

fn part(outline: &Outline<'_>, function: &Function) -> Part {
    Part { name: outline.name_text(function.name).into(), span: outline.function_span(function) }
}

/// The change for a function that only one text has.
fn alone(sides: &Sides<'_, '_>, function: &Function, kind: ChangeKind) -> Change {
    let is_added = kind == ChangeKind::Added;
    Change {
        subject: Subject::Function,
        kind,
        old: (!is_added).then(|| part(sides.old, function)),
        new: is_added.then(|| part(sides.new, function)),
        hunks: vec![hunks::whole(sides, function, kind)],
    }
}

/// The change for a function that both texts have; `None` if it is equal in both.
fn both(
    sides: &Sides<'_, '_>,
    (before, after): (&Function, &Function),
    options: DiffOptions,
    rewritings: &mut Rewritings,
) -> Option<Change> {
    let hunks = hunks::function(sides, (before, after), options.context, rewritings);
    let names = [sides.old.name_text(before.name), sides.new.name_text(after.name)];
    let [old_name, new_name] = names.map(pairs::without_hashes);
    let is_renamed = old_name != new_name;
    let kind = match hunks.is_empty() {
        true if is_renamed => ChangeKind::Renamed,
        true => return None,
        false => ChangeKind::Changed,
    };
    let (old, new) = (Some(part(sides.old, before)), Some(part(sides.new, after)));
    Some(Change { subject: Subject::Function, kind, old, new, hunks })
}
