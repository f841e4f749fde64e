//! The destination of the report of a check.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tempfile::{SpooledData, SpooledTempFile, spooled_tempfile};

use super::Arguments;
use crate::cli::Output;
use crate::cli::error::CommandError;
use crate::cli::outputs::put;
use crate::report::visible_path;
use crate::workspace::error::FileError;
use crate::workspace::input::Input;

/// The most bytes of a report that stay in memory. A temporary file takes longer reports.
const HELD: usize = 1 << 20;

/// The destination of a report.
pub(super) enum Outlet {
    /// Standard output.
    Stream,
    /// Standard error, because the report must not mix with the text on standard output.
    Errors,
    /// A file. It keeps its contents until the report is complete.
    File { path: PathBuf, report: SpooledTempFile },
}

impl Outlet {
    pub(super) fn new(arguments: &Arguments, inputs: &[Input]) -> Result<Outlet, CommandError> {
        match &arguments.output_file {
            Some(path) if is_read(inputs, path) => {
                Err(CommandError::ReportOverInput(visible_path(path)))
            }
            Some(path) => Ok(Outlet::File { path: path.clone(), report: spooled_tempfile(HELD) }),
            None if arguments.writes() && inputs.contains(&Input::Stdin) => Ok(Outlet::Errors),
            None => Ok(Outlet::Stream),
        }
    }

    pub(super) fn write(
        &mut self,
        text: &[u8],
        out: &mut Output,
        errors: &mut impl Write,
    ) -> io::Result<()> {
        match self {
            Outlet::Stream => out.stream.write_all(text),
            Outlet::Errors => errors.write_all(text),
            Outlet::File { report, .. } => report.write_all(text),
        }
    }

    /// Ends the report. A file is written now.
    pub(super) fn close(self) -> Result<(), FileError> {
        match self {
            Outlet::Stream | Outlet::Errors => Ok(()),
            Outlet::File { path, report } => write_report(&path, report),
        }
    }
}

/// Whether the file for the report is one of the inputs, whose text would be lost.
fn is_read(inputs: &[Input], file: &Path) -> bool {
    // A file that does not exist is not an input.
    let Ok(file) = fs::canonicalize(file) else { return false };
    let is_it = |path: &Path| fs::canonicalize(path).is_ok_and(|path| path == file);
    inputs.iter().filter_map(Input::path).any(is_it)
}

fn write_report(path: &Path, report: SpooledTempFile) -> Result<(), FileError> {
    match report.into_inner() {
        SpooledData::InMemory(report) => put(path, &[report.into_inner()]),
        SpooledData::OnDisk(report) => put(path, &report),
    }
}
