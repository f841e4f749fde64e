//! The totals and the summary of a check.

use std::collections::BTreeMap;
use std::io::{self, Write};

use super::Arguments;
use super::one::{CheckedFile, Missing};
use crate::analysis::choose_fix;
use crate::diagnostic::{Applicability, Code, Diagnostic, counted};
use crate::embed::SkipReason;
use crate::report::{self, Counts, Format};
use crate::workspace::settings::Denied;

/// The totals of a run.
#[derive(Default)]
pub(super) struct Totals {
    pub(super) counts: Counts,
    pub(super) codes: BTreeMap<Code, usize>,
    /// The number of findings of each code that have a safe fix.
    pub(super) fixable_by_code: BTreeMap<Code, usize>,
    pub(super) files: usize,
    pub(super) statements: usize,
    pub(super) fixed: usize,
    /// Whether some file could not be written.
    pub(super) is_unwritten: bool,
    /// The number of files whose changes were shown.
    pub(super) changed: usize,
    /// The sums of `CheckedFile::fixable`.
    pub(super) fixable_findings: [usize; 2],
    /// The number of files with too many findings to try their fixes.
    pub(super) untried: usize,
    /// The number of sources with video instructions, but without a known target.
    pub(super) targetless: usize,
    /// The number of sources with costs that are only shown, because no list has all targets.
    pub(super) unlisted: usize,
    /// The number of `asm` statements that were not read.
    pub(super) skipped: BTreeMap<SkipReason, usize>,
    /// Whether there are findings that make the run fail although they are not errors.
    pub(super) denied: bool,
}

impl Totals {
    pub(super) fn add(&mut self, checked: &CheckedFile) {
        self.files += 1;
        self.statements += checked.statements;
        self.fixed += checked.fixed;
        self.is_unwritten |= checked.trouble.is_some();
        self.untried += usize::from(checked.many.is_some());
        let has_some = checked.statements > 0 || checked.many.is_some();
        let has_costs = || checked.diagnostics.iter().any(|it| it.code.is_cost());
        match checked.missing {
            Some(Missing::Target) if has_some => self.targetless += 1,
            Some(Missing::List) if has_costs() => self.unlisted += 1,
            _ => {}
        }
        for skipped in &checked.skipped {
            *self.skipped.entry(skipped.reason).or_default() += 1;
        }
        for (sum, count) in self.fixable_findings.iter_mut().zip(checked.fixable) {
            *sum += count;
        }
    }

    /// Adds findings of a file. Findings that match `denied` make the run fail even if they are no
    /// errors.
    pub(super) fn add_findings(&mut self, denied: &[Denied], found: &[Diagnostic]) {
        self.counts.add(found);
        for diagnostic in found {
            self.denied |= denied.iter().any(|denied| denied.holds_for(diagnostic));
            *self.codes.entry(diagnostic.code).or_default() += 1;
            if choose_fix(&diagnostic.fixes, Applicability::Safe).is_some() {
                *self.fixable_by_code.entry(diagnostic.code).or_default() += 1;
            }
        }
    }

    /// Prints how often each rule was broken, the most frequent first. Then prints how many `asm`
    /// statements were not read, and to people also why.
    pub(super) fn statistics(&self, format: Format, out: &mut impl Write) -> io::Result<()> {
        let mut counts: Vec<(Code, usize)> =
            self.codes.iter().map(|(code, count)| (*code, *count)).collect();
        counts.sort_by_key(|(code, count)| (std::cmp::Reverse(*count), *code));
        let width = counts.first().map_or(0, |(_, count)| count.to_string().len());
        for (code, count) in counts {
            if format == Format::Json {
                let fixable = self.fixable_by_code.get(&code).copied().unwrap_or(0);
                report::write_count(out, code, count, fixable)?;
                continue;
            }
            writeln!(out, "{count:width$}  {code}  {}", code.name())?;
        }
        let skipped = self.skipped.values().sum();
        if format == Format::Json && skipped > 0 && !self.codes.contains_key(&Code::UnreadAsm) {
            report::write_count(out, Code::UnreadAsm, skipped, 0)?;
        }
        if format == Format::Human {
            for (reason, count) in &self.skipped {
                writeln!(out, "{count:width$}  not read  {}", reason.text())?;
            }
        }
        Ok(())
    }

    /// What the user may do for findings or fixes on costs, if the settings exclude some.
    pub(super) fn hint(&self, arguments: &Arguments) -> Option<&'static str> {
        if self.unlisted > 0 && arguments.most().is_some() {
            Some(
                "a source may be built for several targets; to fix costs, list all of them, such \
                 as --target sm_75,sm_90, or --target sm_90,sm_90 for one",
            )
        } else if arguments.costs
            && self.targetless > 0
            && !self.codes.keys().any(|code| code.is_cost())
        {
            Some("costs depend on the target; name one, such as --target sm_90")
        } else {
            None
        }
    }

    pub(super) fn summary(
        &self,
        arguments: &Arguments,
        baseline: bool,
        out: &mut impl Write,
    ) -> io::Result<()> {
        let statements = counted(self.statements, "video instruction");
        let place = format!("{statements} of {}", counted(self.files, "file"));
        let fixed = counted(self.fixed, "finding");
        if arguments.fix_only && !arguments.diff {
            let fixed = if self.fixed > 0 { fixed.as_str() } else { "nothing" };
            return writeln!(out, "{fixed} fixed in {place}");
        }
        let found = self.counts.summary();
        let found = match (&found, arguments.most()) {
            (Some(found), Some(_)) if self.fixed > 0 => format!("{found} left"),
            (None, Some(_)) if self.fixed > 0 => "nothing left".into(),
            (Some(found), _) => found.clone(),
            (None, _) if baseline => "nothing new found".into(),
            (None, _) => "nothing found".into(),
        };
        if self.fixed > 0 {
            let verb = match (arguments.diff, arguments.add_ignore) {
                (false, false) => "fixed",
                (true, false) => "would be fixed",
                (false, true) => "suppressed",
                (true, true) => "would be suppressed",
            };
            write!(out, "{fixed} {verb}, ")?;
        }
        writeln!(out, "{found} in {place}")?;
        let skipped: usize = self.skipped.values().sum();
        if skipped > 0 {
            let reasons =
                self.skipped.iter().map(|(reason, count)| format!("{count} {}", reason.text()));
            let reasons = reasons.collect::<Vec<_>>().join(", ");
            let is_asm = !self.skipped.contains_key(&SkipReason::Module);
            let noun = if is_asm { "asm statement" } else { "text" };
            writeln!(out, "{} not read: {reasons}", counted(skipped, noun))?;
        }
        if arguments.add_ignore {
            return match self.counts.summary() {
                // If a file could not be written, nothing is said about its findings.
                Some(_) if !self.is_unwritten => {
                    writeln!(out, "for the remaining findings, no comments were written")
                }
                _ => Ok(()),
            };
        }
        let [safe, unsafes] = match (arguments.diff, arguments.most()) {
            // A diff with unsafe fixes already shows all fixes that can be made.
            (true, Some(Applicability::Unsafe)) => [0, 0],
            (true, _) if self.fixable_findings != [0, 0] => {
                [0, self.fixed + self.fixable_findings[1]]
            }
            _ => self.fixable_findings,
        };
        match (safe, unsafes) {
            (0, 0) => Ok(()),
            (_, 0) => writeln!(out, "{safe} fixable with --fix"),
            (0, _) => writeln!(out, "{unsafes} fixable with --fix --unsafe-fixes"),
            _ => writeln!(out, "{safe} fixable with --fix, {unsafes} more with --unsafe-fixes"),
        }
    }
}
