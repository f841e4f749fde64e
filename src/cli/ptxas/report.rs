//! Reports on calls of ptxas, one JSON object a line. docs/ptxas.schema.json describes them.

use std::env;
use std::io::{self, Write};
use std::path::Path;

use serde::Serialize;

use super::super::trouble;
use crate::report::visible_path;
use crate::workspace::error::reason;
use crate::workspace::files::Access;

/// The environment variable that names the file for reports.
const VARIABLE: &str = "VPTX_REPORT";

/// A report on one call.
#[derive(Debug, Default, Serialize)]
pub(super) struct Report {
    /// The real ptxas.
    pub(super) ptxas: String,
    /// The target that ptxas was given.
    pub(super) arch: Option<String>,
    pub(super) semantics: &'static str,
    pub(super) inputs: Vec<InputReport>,
    /// Why all inputs stayed as they were.
    pub(super) fallback: Option<String>,
    pub(super) status: Option<i32>,
    pub(super) signal: Option<i32>,
}

/// One module of a call.
#[derive(Debug, Default, Serialize)]
pub(super) struct InputReport {
    pub(super) name: String,
    /// The target that costs were counted for.
    pub(super) target: Option<String>,
    /// The number of legal video instructions.
    pub(super) instructions: usize,
    pub(super) rewritten: usize,
    /// The number of rewritten instructions whose costs were measured, and these costs.
    pub(super) measured: usize,
    pub(super) before: usize,
    pub(super) after: usize,
    /// Why the module stayed as it was.
    pub(super) fallback: Option<String>,
}

impl InputReport {
    /// Forgets what was rewritten.
    pub(super) fn forget(&mut self) {
        (self.rewritten, self.measured, self.before, self.after) = (0, 0, 0, 0);
    }
}

/// Whether a report is wanted.
pub(super) fn is_wanted() -> bool {
    env::var_os(VARIABLE).is_some_and(|name| !name.is_empty())
}

impl Report {
    /// Appends the report as one whole line to the file that the environment names.
    pub(super) fn append(&self) {
        let Some(name) = env::var_os(VARIABLE).filter(|name| !name.is_empty()) else { return };
        let path = Path::new(&name);
        if let Err(error) = self.append_to(path) {
            let path = visible_path(path);
            trouble(&format!("cannot write the report `{path}`: {}", reason(&error)));
        }
    }

    fn append_to(&self, path: &Path) -> io::Result<()> {
        let mut line = serde_json::to_vec(self)?;
        line.push(b'\n');
        // This fails for a pipe that nobody reads.
        let file = Access::Regular.options().append(true).create(true).open(path)?;
        // On systems without locks, a single write usually still gives one whole line.
        let _ = file.lock();
        let data = file.metadata()?;
        let written = (&file).write_all(&line);
        if written.is_err() && data.is_file() {
            // If the disk is full, a part of the line may be there.
            let _ = file.set_len(data.len());
        }
        written
    }
}
