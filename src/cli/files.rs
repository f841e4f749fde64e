//! Writing files, and showing what would be written.

use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

use clap::builder::styling::{AnsiColor, Style};
use similar::{ChangeTag, TextDiff};

use crate::diagnostic::Edit;

/// After this long a diff need not be the shortest one.
const DIFF_TIME: Duration = Duration::from_secs(5);

/// The bytes with edits made, which are in order and do not overlap.
pub(super) fn edited(bytes: &[u8], edits: &[Edit]) -> Vec<u8> {
    let mut edited = Vec::with_capacity(bytes.len());
    let mut at = 0;
    for edit in edits {
        let span = edit.span.range();
        edited.extend_from_slice(&bytes[at..span.start]);
        edited.extend_from_slice(edit.replacement.as_bytes());
        at = span.end;
    }
    edited.extend_from_slice(&bytes[at..]);
    edited
}

/// Puts new contents, whose parts these are, in the place of a file's, all or
/// nothing; one that is not there is made.
pub(super) fn replace(path: &Path, contents: &[impl AsRef<[u8]>]) -> io::Result<()> {
    let permissions = match fs::metadata(path) {
        Ok(data) => Some(data.permissions()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    if permissions.as_ref().is_some_and(fs::Permissions::readonly) {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, "the file is read-only"));
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    if permissions.is_none() {
        use std::os::unix::fs::PermissionsExt;
        // As any program makes files; the mask of the process applies.
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    let mut file = builder.prefix(".vptx-").tempfile_in(folder)?;
    for part in contents {
        file.write_all(part.as_ref())?;
    }
    if let Some(permissions) = permissions {
        file.as_file().set_permissions(permissions)?;
    }
    file.as_file().sync_all()?;
    file.persist(path).map(drop).map_err(|error| error.error)
}

/// A unified diff.
pub(super) fn diff(name: &str, old: &[u8], new: &[u8], color: bool) -> Vec<u8> {
    let paint = |style: Style, text: &str| {
        if color { format!("{style}{text}{style:#}") } else { text.to_string() }
    };
    let bold = Style::new().bold();
    let mut text = paint(bold, &format!("--- {name}")) + "\n";
    text += &(paint(bold, &format!("+++ {name}")) + "\n");
    let (old, new) = (String::from_utf8_lossy(old), String::from_utf8_lossy(new));
    let diff = TextDiff::configure().timeout(DIFF_TIME).diff_lines(&*old, &*new);
    for hunk in diff.unified_diff().context_radius(3).iter_hunks() {
        text += &(paint(AnsiColor::Cyan.on_default(), &hunk.header().to_string()) + "\n");
        for change in hunk.iter_changes() {
            let style = match change.tag() {
                ChangeTag::Equal => Style::new(),
                ChangeTag::Delete => AnsiColor::Red.on_default(),
                ChangeTag::Insert => AnsiColor::Green.on_default(),
            };
            let line = change.value();
            let (line, end) = line.strip_suffix('\n').map_or((line, false), |line| (line, true));
            text += &(paint(style, &format!("{}{line}", change.tag())) + "\n");
            if !end {
                text += "\\ No newline at end of file\n";
            }
        }
    }
    text.into_bytes()
}
