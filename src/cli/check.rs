//! `vptx check`
// Doc comments of arguments are help texts, not Markdown.
#![allow(clippy::doc_markdown)]

use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::atomic::Ordering;

use clap::{Args, ValueEnum};
use rayon::prelude::*;

use super::input::{self, Input};
use super::progress::with_progress;
use super::{FAILED, FOUND, Output, trouble};
use crate::check::{CheckOptions, Dialect, check_counted};
use crate::isa::{PtxVersion, Target};
use crate::report::{Counts, FileReport, Format, Reporter};

#[derive(Debug, Args)]
#[command(after_help = "\
Exit status: 0 nothing at error level, 1 findings, 2 could not run.
Without .version and .target in the text or on the command line nothing is
gated, and undeclared registers are not reported, so that bare statements can
be checked:  echo 'vadd.u32.u32.u32 d, a, b;' | vptx check -")]
pub(super) struct Arguments {
    /// PTX files, directories to walk for *.ptx, or - for standard input
    #[arg(value_name = "FILES|DIRS|-", default_value = ".")]
    paths: Vec<PathBuf>,

    /// Check against this target instead of the module's own, such as sm_90
    #[arg(long, value_name = "TARGET")]
    target: Option<Target>,

    /// Check against this PTX version instead of the module's own, such as 8.0
    #[arg(long, value_name = "VERSION")]
    ptx_version: Option<PtxVersion>,

    /// The rules that make an error
    #[arg(long, value_enum, default_value_t)]
    dialect: DialectName,

    /// How findings are printed
    #[arg(long, value_enum, default_value_t)]
    format: Format,

    /// Fail on these too, not only on errors
    #[arg(long, value_enum, value_name = "WHAT")]
    deny: Option<Deny>,

    /// Report, too, what ptxas emulates with more machine instructions than
    /// needed on the target (V6xx)
    #[arg(long)]
    costs: bool,

    /// Print findings only, no summary
    #[arg(long, short)]
    quiet: bool,
}

#[derive(Clone, Copy, Debug, Default, ValueEnum)]
enum DialectName {
    /// The manual; what ptxas accepts beyond it is reported
    #[default]
    Documented,
    /// What ptxas accepts
    Ptxas,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Deny {
    /// Warnings
    Warnings,
}

/// What became of one input.
enum Outcome {
    Checked { statements: usize, report: FileReport },
    Unreadable(String),
}

pub(super) fn run(arguments: &Arguments, out: &mut Output) -> io::Result<u8> {
    let options = CheckOptions::default()
        .with_dialect(match arguments.dialect {
            DialectName::Documented => Dialect::Documented,
            DialectName::Ptxas => Dialect::Ptxas,
        })
        .with_target(arguments.target)
        .with_ptx_version(arguments.ptx_version)
        .with_costs(arguments.costs);
    let mut troubles = 0usize;
    let inputs = input::expand(&arguments.paths, |message| {
        troubles += 1;
        trouble(&message);
    });
    let outcomes = with_progress("checked", inputs.len(), |done| {
        inputs
            .par_iter()
            .map(|input| {
                let outcome = check_input(input, &options);
                done.fetch_add(1, Ordering::Relaxed);
                outcome
            })
            .collect::<Vec<Outcome>>()
    });

    let mut reporter = Reporter::new(arguments.format, out.style);
    let mut counts = Counts::default();
    let (mut files, mut statements) = (0usize, 0usize);
    let mut text = Vec::new();
    for outcome in outcomes {
        match outcome {
            Outcome::Checked { statements: found, report } => {
                files += 1;
                statements += found;
                counts.add(&report.diagnostics);
                // The stream is line-buffered; a file goes out in one piece.
                text.clear();
                if report.diagnostics.is_empty() {
                    reporter.clean(&mut text, &report.path)?;
                } else {
                    reporter.file(&mut text, &report)?;
                }
                out.stream.write_all(&text)?;
            }
            Outcome::Unreadable(message) => {
                troubles += 1;
                // What was found so far comes first.
                out.stream.flush()?;
                trouble(&message);
            }
        }
    }
    text.clear();
    reporter.finish(&mut text)?;
    out.stream.write_all(&text)?;
    if arguments.format == Format::Human && !arguments.quiet && files > 0 {
        let plural = |count: usize| if count == 1 { "" } else { "s" };
        writeln!(
            out.stream,
            "{} in {statements} video instruction{} of {files} file{}",
            counts.summary().unwrap_or_else(|| "nothing found".into()),
            plural(statements),
            plural(files),
        )?;
    }
    let denied = arguments.deny == Some(Deny::Warnings) && counts.warnings > 0;
    Ok(match () {
        () if troubles > 0 => FAILED,
        () if counts.errors > 0 || denied => FOUND,
        () => 0,
    })
}

fn check_input(input: &Input, options: &CheckOptions) -> Outcome {
    match input.read() {
        Ok(source) => {
            let (statements, diagnostics) = check_counted(&source, options);
            // The text of a clean file is not needed again.
            let source = if diagnostics.is_empty() { String::new() } else { source };
            let report = FileReport { path: input.name(), source, diagnostics };
            Outcome::Checked { statements, report }
        }
        Err(message) => Outcome::Unreadable(message),
    }
}
