//! The check of PTX inside binaries and archives: one text after the other, so that memory does not
//! grow with the number of texts.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;

use super::session::Session;
use crate::analysis::read_module;
use crate::check::CheckOptions;
use crate::cli::by_count;
use crate::diagnostic::counted;
use crate::extract::{Limits, walk};
use crate::report::visible_path;
use crate::source::decoded;
use crate::workspace::binary::{self, inner_name, path_of};
use crate::workspace::bug::guarded;
use crate::workspace::error::reason;

/// The PTX texts of binaries in a run.
#[derive(Default)]
pub(super) struct Binaries {
    files: usize,
    texts: usize,
    bytes: usize,
    /// How many video instructions have each mnemonic.
    mnemonics: BTreeMap<&'static str, usize>,
}

impl<E: Write> Session<'_, E> {
    /// Checks and reports each text of a binary.
    pub(super) fn binary(&mut self, path: &Path) -> io::Result<()> {
        let name = visible_path(path);
        if self.arguments.most().is_some() {
            let message = format!("`{name}` is a binary: fixes are made in text only");
            return self.trouble(&message);
        }
        let mut file = match binary::open(path) {
            Ok(Some(file)) => file,
            Ok(None) => return self.trouble(&format!("cannot read `{name}`: it changed")),
            Err(error) => {
                return self.trouble(&format!("cannot read `{name}`: {}", reason(&error)));
            }
        };
        self.binaries.files += 1;
        let troubles = self.troubles;
        let mut done = Ok(());
        walk(&mut file, Limits::default(), &mut |member, image| {
            if done.is_err() {
                return;
            }
            done = match image {
                Ok(image) => {
                    let inner = inner_name(member, Some(&image));
                    self.image(path, &inner, image.bytes)
                }
                Err(error) => self.trouble(&format!("`{}`: {error}", path_of(path, member, None))),
            };
        });
        // Texts that were not found again are gone.
        if self.troubles == troubles {
            self.paths.push(self.run.finder.whole(path));
        }
        done
    }

    fn image(&mut self, path: &Path, inner: &str, text: Vec<u8>) -> io::Result<()> {
        self.binaries.texts += 1;
        self.binaries.bytes += text.len();
        let mut mnemonics = BTreeMap::new();
        if self.arguments.summarizes() {
            mnemonics = mnemonics_of(&decoded(&text));
        }
        let work = || self.run.check_image(path, inner, text, self.arguments);
        match guarded(&format!("{}!{inner}", visible_path(path)), work).flatten() {
            Ok(checked) => {
                for (mnemonic, count) in mnemonics {
                    *self.binaries.mnemonics.entry(mnemonic).or_default() += count;
                }
                self.report(checked)
            }
            Err(message) => self.trouble(&message),
        }
    }
}

/// The number of video instructions of a text with each mnemonic.
fn mnemonics_of(text: &str) -> BTreeMap<&'static str, usize> {
    let (module, _) = read_module(text, &CheckOptions::errors_only());
    let mut counts = BTreeMap::new();
    for (_, instruction) in module.instructions() {
        *counts.entry(instruction.mnemonic().text()).or_default() += 1;
    }
    counts
}

impl Binaries {
    /// `10 PTX texts (2.5 MB) in 1 binary: vset4 276, vmin2 258`
    pub(super) fn summary(&self, out: &mut impl Write) -> io::Result<()> {
        if self.files == 0 {
            return Ok(());
        }
        let texts = counted(self.texts, "PTX text");
        let binaries = if self.files == 1 { "binary" } else { "binaries" };
        let tenths = (self.bytes + 50_000) / 100_000;
        let size = format!("{}.{} MB", tenths / 10, tenths % 10);
        write!(out, "{texts} ({size}) in {} {binaries}", self.files)?;
        if !self.mnemonics.is_empty() {
            write!(out, ": {}", by_count(&self.mnemonics))?;
        }
        writeln!(out)
    }
}
