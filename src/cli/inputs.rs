//! The files of a command that works on each file by itself, and may replace the file.

use std::fmt::Display;
use std::path::{Path, PathBuf};

use super::error::CommandError;
use super::progress::for_each;
use super::{FAILED, FOUND, trouble};
use crate::workspace::bug::guarded;
use crate::workspace::input::{self, Input};
use crate::workspace::settings::Finder;
use crate::workspace::walk::WalkArguments;

/// What the arguments say about files.
pub(super) struct Wanted<'a> {
    pub(super) walk: &'a WalkArguments,
    pub(super) config: Option<&'a Path>,
    pub(super) paths: Vec<PathBuf>,
    /// Whether the command leaves all files unchanged.
    pub(super) is_dry: bool,
}

/// The files of a run.
pub(super) struct Inputs {
    pub(super) finder: Finder,
    pub(super) all: Vec<Input>,
    /// The number of errors so far. Each was reported.
    troubles: usize,
}

impl Inputs {
    /// Sets the number of threads, and finds the files. `is_one` chooses the files inside folders.
    pub(super) fn find(
        wanted: &Wanted<'_>,
        is_one: impl Fn(&Finder, &Path) -> bool,
    ) -> Result<Inputs, CommandError> {
        wanted.walk.set_threads()?;
        let (finder, rules) = (Finder::new(wanted.config, false)?, wanted.walk.rules()?);
        let mut troubles = 0;
        let tell = |message: String| {
            troubles += 1;
            trouble(&message);
        };
        let is_one = |path: &Path| is_one(&finder, path);
        let mut all = input::expand(&wanted.paths, is_one, &finder, &rules, tell);
        if !wanted.is_dry {
            input::keep_one_name(&mut all);
        }
        Ok(Inputs { finder, all, troubles })
    }

    /// Works on each file. `name` gives the name for messages. A bug met in one file does not end
    /// the work on others.
    pub(super) fn each<T: Send>(
        &self,
        verb: &str,
        name: impl Fn(&Input) -> String + Sync,
        work: impl Fn(&Input) -> Result<T, CommandError> + Sync,
    ) -> Vec<Result<T, CommandError>> {
        for_each(verb, &self.all, |input| guarded(&name(input), || work(input)).flatten())
    }

    pub(super) fn trouble(&mut self, error: &impl Display) {
        self.troubles += 1;
        trouble(error);
    }

    /// The exit status.
    pub(super) fn status(&self, is_found: bool) -> u8 {
        match () {
            () if self.troubles > 0 => FAILED,
            () if is_found => FOUND,
            () => 0,
        }
    }
}
