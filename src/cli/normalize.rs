//! `vptx fmt --normalize`

use std::io::Write;
use std::path::Path;

use clap::ValueEnum;

use super::error::Trouble;
use super::eval::human;
use super::format::Arguments;
use super::{FOUND, Output, errors};
use crate::print::{NormalOptions, normalize};
use crate::report::{FileReport, visible_path};
use crate::source::decoded;
use crate::workspace::input::Input;
use crate::workspace::kind::FileKind;

/// A part of a text that the normal form keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Kept {
    /// Names of registers, labels, parameters and internal symbols
    Names,
    /// Comments
    Comments,
    /// .loc, .file and other debug information
    Loc,
}

/// Prints the normal form of a file or of standard input.
pub(super) fn run(arguments: &Arguments, out: &mut Output) -> Result<u8, Trouble> {
    arguments.walk.set_threads()?;
    let input = match &arguments.paths[..] {
        [] if arguments.stdin_filename.is_some() => Input::Stdin,
        [path] if path == Path::new("-") => Input::Stdin,
        [path] => Input::File(path.clone()),
        _ => {
            let why = "--normalize prints one text: name a file, or - for standard input";
            return Err(why.into());
        }
    };
    let shown = arguments.shown(&input);
    let named = input.path().or(arguments.stdin_filename.as_deref());
    let chosen = [&[][..], &arguments.extension];
    let kind = FileKind::told(arguments.language.map(Into::into), named, chosen);
    let bytes = input.bytes()?;
    kind.must_be_ptx(&visible_path(shown), &bytes)?;
    let source = &*decoded(&bytes);
    let keeps = |part| arguments.keep.contains(&part);
    let options = NormalOptions {
        keep_names: keeps(Kept::Names),
        keep_comments: keeps(Kept::Comments),
        keep_debug: keeps(Kept::Loc),
    };
    match normalize(source, &options) {
        Ok(text) => {
            out.stream.write_all(text.as_bytes())?;
            out.stream.flush()?;
            Ok(0)
        }
        Err(error) => {
            let report = FileReport { path: shown, source, diagnostics: error.diagnostics() };
            // Standard output is only for the text.
            errors().write_all(&human(&out.style, &report)?)?;
            Ok(FOUND)
        }
    }
}
