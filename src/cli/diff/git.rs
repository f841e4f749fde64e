//! `vptx diff --git`: a diff driver of git.

use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};

use super::source::{Compared, Source};
use super::{Arguments, human, look};
use crate::cli::Output;
use crate::cli::error::{CommandError, Trouble};
use crate::diff::{Comparison, Side};
use crate::report::visible_path;
use crate::source::decoded;
use crate::workspace::bug::guarded;
use crate::workspace::files;
use crate::workspace::input::Input;

/// Prints the differences of a file. Git calls the driver with the path of the file, then with the
/// file, hash and mode of each version, then perhaps with a new path and a header. `/dev/null`
/// stands for a version that does not exist. If there is only a path, the file has merge conflicts.
///
/// A text that is no PTX gets a plain diff: if the driver fails, git stops all work.
pub(super) fn run(arguments: &Arguments, out: &mut Output) -> Result<u8, Trouble> {
    let (path, old, new) = match &arguments.paths[..] {
        [path] => {
            out.stream.write_all(format!("* Unmerged path {}\n", visible_path(path)).as_bytes())?;
            return Ok(0);
        }
        [path, old, _, _, new, _, _] | [path, old, _, _, new, _, _, _, _] => (path, old, new),
        _ => {
            let why = "--git is for git alone, which gives a diff driver 7 or 9 arguments";
            return Err(why.into());
        }
    };
    let new_path = arguments.paths.get(7).unwrap_or(path);
    let name = |side: &str, path: &Path, file: &Path| match file {
        file if file == Path::new("/dev/null") => file.to_path_buf(),
        // Not `join`: git has `/` on all systems, and an absolute path would replace the side.
        _ => {
            let mut name = OsString::from(side);
            name.push("/");
            name.push(path.strip_prefix("/").unwrap_or(path));
            PathBuf::from(name)
        }
    };
    let names = [name("a", path, old), name("b", new_path, new)];
    let labels = names.each_ref().map(|name| visible_path(name));
    let read = |file: &Path| Input::File(file.into()).bytes();
    let (old, new) = (read(old)?, read(new)?);
    let (old_text, new_text) = (decoded(&old), decoded(&new));
    let look = look(arguments, out.style);
    let compare = || match Comparison::new(&old_text, &new_text, arguments.options()) {
        Ok(comparison) => {
            let compared = Compared {
                old: Source::new(&labels[0], &old_text),
                new: Source::new(&labels[1], &new_text),
            };
            let mut text = human::heading(&compared, look);
            let heading = text.len();
            text.extend(comparison.changes().map(|it| human::change(&compared, &it, look)));
            if text.len() == heading {
                text += &human::note("no difference but names and layout", look);
            }
            Ok(text)
        }
        Err(error) => {
            let broken = match error.side() {
                Side::Old => &labels[0],
                Side::New => &labels[1],
            };
            Err(CommandError::Syntax(broken.clone()))
        }
    };
    match guarded(&visible_path(path), compare).flatten() {
        Ok(text) => out.stream.write_all(text.as_bytes())?,
        Err(why) => {
            let note = format!("{why}: compared as plain text");
            out.stream.write_all(human::note(&note, look).as_bytes())?;
            let diff =
                files::diff_of(names.each_ref().map(PathBuf::as_path), &old, &new, out.diff_look());
            out.stream.write_all(&diff)?;
        }
    }
    Ok(0)
}
