//! `vptx rewrite` of the PTX inside binaries and archives.

use std::fmt::Display;
use std::io::{self, Write};
use std::path::Path;

use super::super::{FAILED, Output, errors, trouble};
use super::{Arguments, NewText, Notice, Trouble, rewrite};
use crate::diagnostic::counted;
use crate::extract::{Image, Limits, Member, walk};
use crate::report::FileReport;
use crate::source::decoded;
use crate::workspace::binary::{TextFiles, open_input, path_of};
use crate::workspace::error::FileError;
use crate::workspace::input::Input;

/// The work on one binary.
struct Texts<'t, 'f> {
    subject: &'t Path,
    files: &'t mut TextFiles<'f>,
    arguments: &'t Arguments,
    out: &'t mut Output,
    status: u8,
    written: usize,
    rewritten: usize,
    /// The numbers of machine instructions for the rewritten instructions whose costs are known.
    before: usize,
    after: usize,
}

/// Rewrites all texts of a binary.
pub(super) fn file(
    input: &Input,
    files: &mut TextFiles<'_>,
    arguments: &Arguments,
    out: &mut Output,
) -> Result<u8, Trouble> {
    let subject = input.shown();
    let mut file =
        open_input(input).map_err(|error| FileError::new("read", input.shown(), &error))?;
    let mut texts = Texts {
        subject,
        files,
        arguments,
        out,
        status: 0,
        written: 0,
        rewritten: 0,
        before: 0,
        after: 0,
    };
    let mut done = Ok(());
    walk(&mut file, Limits::default(), &mut |member, image| {
        if done.is_ok() {
            done = match image {
                Ok(image) => texts.image(member, &image),
                Err(error) => {
                    let path = path_of(subject, member, None);
                    texts.fail(&format_args!("`{path}`: {error}"));
                    Ok(())
                }
            };
        }
    });
    done?;
    if !arguments.quiet {
        writeln!(errors(), "{}: {}", input.name(), texts.summary())?;
    }
    Ok(texts.status)
}

impl Texts<'_, '_> {
    fn fail(&mut self, message: &impl Display) {
        trouble(message);
        self.status = FAILED;
    }

    fn image(&mut self, member: &Member, image: &Image) -> io::Result<()> {
        let name = path_of(self.subject, member, Some(image));
        let source = decoded(&image.bytes);
        let (rewriting, diagnostics) = match rewrite(&source, &name, self.arguments) {
            Ok(rewriting) => rewriting,
            Err(message) => {
                self.fail(&message);
                return Ok(());
            }
        };
        let new = NewText { old: &image.bytes, rewriting: &rewriting };
        if let Err(message) = self.files.put(self.subject, member, image, &new) {
            self.fail(&message);
            return Ok(());
        }
        self.written += 1;
        self.rewritten += usize::from(rewriting.rewritten > 0);
        self.before += rewriting.before;
        self.after += rewriting.after;
        // Texts without video instructions get no summary: there are many of them.
        let quiet = self.arguments.quiet || rewriting.total == 0;
        let notice = Notice { name: &name, is_one_of_many: true, is_dry: false, quiet };
        let path = Path::new(&name);
        let found = FileReport { path, source: &source, diagnostics: &diagnostics };
        self.status = self.status.max(notice.tell(&rewriting, found, self.out)?);
        Ok(())
    }

    /// `3 PTX texts written, 1 of them rewritten: 30 → 12 machine instructions`
    fn summary(&self) -> String {
        let &Texts { written, rewritten, before, after, .. } = self;
        let texts = counted(written, "PTX text");
        let costs = match before {
            0 => String::new(),
            _ => format!(": {before} → {after} machine instructions"),
        };
        format!("{texts} written, {rewritten} of them rewritten{costs}")
    }
}
