//! The figures of one text, and of all texts.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Write};
use std::ops::AddAssign;

use serde::Serialize;

use super::super::table::Align::{Left, Right};
use super::super::{by_count, table};
use super::package::Package;
use crate::analysis::read_module;
use crate::backend::ptx::machine_instructions;
use crate::check::CheckOptions;
use crate::diagnostic::counted;
use crate::hash::Map;
use crate::report::visible;
use crate::video::{Agreement, Instruction, Operation, Semantics};

/// A line of the survey.
#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub(super) enum SurveyLine {
    Image(Row),
    Error(UnreadText),
}

/// Where a text or an error is.
#[derive(Serialize)]
pub(super) struct Place {
    /// `FILE!MEMBER!3.sm_90.ptx`.
    pub(super) path: String,
    pub(super) file: String,
    pub(super) member: Option<String>,
    pub(super) package: Option<Package>,
}

/// A PTX text.
#[derive(Serialize)]
pub(super) struct Row {
    #[serde(flatten)]
    place: Place,
    /// The name of the text in a binary: `3.sm_90.ptx`.
    pub(super) image: Option<String>,
    pub(super) arch: String,
    pub(super) ptx: String,
    pub(super) bytes: usize,
    #[serde(flatten)]
    pub(super) figures: Figures,
    /// Findings of severity error.
    errors: usize,
}

impl std::ops::Deref for Row {
    type Target = Figures;

    fn deref(&self) -> &Figures {
        &self.figures
    }
}

/// Something that could not be read.
#[derive(Serialize)]
pub(super) struct UnreadText {
    #[serde(flatten)]
    pub(super) place: Place,
    pub(super) message: String,
}

impl UnreadText {
    pub(super) fn sentence(&self) -> String {
        format!("cannot read `{}`: {}", self.place.path, visible(&self.message))
    }
}

type Counts = BTreeMap<&'static str, usize>;

/// Figures of video instructions.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct Figures {
    pub(super) instructions: usize,
    pub(super) mnemonics: Counts,
    /// Instructions for which ptxas computes something else than the manual on some inputs.
    differ: usize,
    /// The number of such instructions for each deviation. An instruction may have several
    /// deviations.
    deviations: Counts,
    /// The number of instructions whose cost on the target is known, and the numbers of machine
    /// instructions for them, now and as ordinary PTX.
    measured: usize,
    before: usize,
    after: usize,
}

impl AddAssign<&Figures> for Figures {
    fn add_assign(&mut self, other: &Figures) {
        self.instructions += other.instructions;
        self.differ += other.differ;
        self.measured += other.measured;
        self.before += other.before;
        self.after += other.after;
        for (sums, counts) in
            [(&mut self.mnemonics, &other.mnemonics), (&mut self.deviations, &other.deviations)]
        {
            for (name, count) in counts {
                *sums.entry(name).or_default() += count;
            }
        }
    }
}

/// The deviations of forms, found once for a file.
#[derive(Default)]
pub(super) struct Known {
    deviations: Map<Operation, Vec<&'static str>>,
}

impl Known {
    fn deviations(&mut self, instruction: &Instruction) -> &[&'static str] {
        let form = instruction.anonymous();
        self.deviations.entry(form).or_insert_with_key(|form| {
            let form = Instruction::new(form.clone());
            let mut causes = Vec::new();
            for semantics in Semantics::PTXAS {
                if let Agreement::Differs(witness) = form.agreement(semantics) {
                    causes.extend(witness.causes.iter().map(|cause| cause.text()));
                }
            }
            causes.sort_unstable();
            causes.dedup();
            causes
        })
    }
}

impl Row {
    /// Surveys a text. Target and version are those that the text itself names.
    pub(super) fn new(place: Place, source: &str, known: &mut Known) -> Row {
        let (module, errors) = read_module(source, &CheckOptions::errors_only());
        let mut figures = Figures::default();
        for (_, instruction) in module.instructions() {
            figures.instructions += 1;
            *figures.mnemonics.entry(instruction.mnemonic().text()).or_default() += 1;
            let causes = known.deviations(instruction);
            figures.differ += usize::from(!causes.is_empty());
            for cause in causes {
                *figures.deviations.entry(cause).or_default() += 1;
            }
        }
        for (before, after) in machine_instructions(&module) {
            figures.measured += 1;
            figures.before += before as usize;
            figures.after += after as usize;
        }
        let target = module.target().map(|target| target.to_string());
        let version = module.version().map(|version| version.to_string());
        Row {
            place,
            image: None,
            arch: target.unwrap_or_default(),
            ptx: version.unwrap_or_default(),
            bytes: source.len(),
            figures,
            errors: errors.len(),
        }
    }
}

/// The sums over all texts.
#[derive(Default, Serialize)]
#[serde(tag = "kind", rename = "total")]
pub(super) struct Total {
    pub(super) files: usize,
    images: usize,
    /// Texts with video instructions.
    images_with_video: usize,
    bytes: usize,
    #[serde(flatten)]
    figures: Figures,
    errors: usize,
}

impl Total {
    pub(super) fn add(&mut self, row: &Row) {
        self.images += 1;
        self.images_with_video += usize::from(row.instructions > 0);
        self.bytes += row.bytes;
        self.errors += row.errors;
        self.figures += &row.figures;
    }
}

impl fmt::Display for Total {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Figures { instructions, mnemonics, differ, deviations, measured, before, after } =
            &self.figures;
        // From here on, a number of kB would be rounded to 1000.0.
        let (unit, tenth) = if self.bytes < 999_950 { ("kB", 100) } else { ("MB", 100_000) };
        let tenths = (self.bytes + tenth / 2) / tenth;
        write!(
            f,
            "{} in {} of {} ({}.{} {unit}) in {}",
            counted(*instructions, "video instruction"),
            self.images_with_video,
            counted(self.images, "PTX text"),
            tenths / 10,
            tenths % 10,
            counted(self.files, "file"),
        )?;
        if *instructions == 0 {
            return writeln!(f);
        }
        writeln!(f, ": {}", by_count(mnemonics))?;
        if *differ > 0 {
            writeln!(f, "ptxas differs from the manual for {differ}: {}", by_count(deviations))?;
        }
        if *measured > 0 {
            let of = if measured < instructions {
                format!(" for the {measured} that were measured")
            } else {
                String::new()
            };
            writeln!(f, "{before} machine instructions{of}, {after} after rewriting")?;
        }
        Ok(())
    }
}

/// Prints a table of texts.
pub(super) fn table(rows: &[Row], out: &mut impl Write) -> io::Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    let head = ["video", "differ", "before", "after", "arch", "ptx", "name"].map(String::from);
    let lines: Vec<[String; 7]> = std::iter::once(head)
        .chain(rows.iter().map(|row| {
            let cost = |cost: usize| match row.measured {
                0 => "-".to_string(),
                _ => cost.to_string(),
            };
            [
                row.instructions.to_string(),
                row.differ.to_string(),
                cost(row.before),
                cost(row.after),
                row.arch.clone(),
                row.ptx.clone(),
                row.place.path.clone(),
            ]
        }))
        .collect();
    table::print(&lines, [Right, Right, Right, Right, Left, Left, Left], out)
}
