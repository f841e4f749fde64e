//! Writing files, and showing what would be written.

use std::fs;
use std::io::{self, Write};
use std::ops::Range;
use std::path::Path;
use std::time::{Duration, Instant};

use clap::builder::styling::{AnsiColor, Style};
use similar::algorithms::IdentifyDistinct;
use similar::{Algorithm, DiffTag};

use crate::diagnostic::Edit;
use crate::report::{visible_line, visible_path};

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

/// How a diff is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DiffLook {
    /// Byte for byte, so that `patch` can apply it.
    Exact,
    /// For people, with what could control a terminal escaped.
    Plain,
    /// As `Plain`, in colours.
    Colored,
}

/// A unified diff, whose lines end at `\n` only, as those of `patch` do.
pub(super) fn diff(path: &Path, old: &[u8], new: &[u8], look: DiffLook) -> Vec<u8> {
    let (old, new) = (lines(old), lines(new));
    let mut out = Vec::new();
    let mut put = |style: Style, line: &[u8]| {
        // Writing to memory never fails.
        let _ = match look {
            DiffLook::Exact => out.write_all(line),
            DiffLook::Plain => out.write_all(visible_line(line).as_bytes()),
            DiffLook::Colored => write!(out, "{style}{}{style:#}", visible_line(line)),
        };
        out.push(b'\n');
    };
    let bold = Style::new().bold();
    let name = patch_name(path);
    put(bold, &[&b"--- "[..], &name].concat());
    put(bold, &[&b"+++ "[..], &name].concat());
    let ids = IdentifyDistinct::<u32>::new(&old[..], 0..old.len(), &new[..], 0..new.len());
    let ops = similar::capture_diff_deadline(
        Algorithm::Myers,
        ids.old_lookup(),
        ids.old_range(),
        ids.new_lookup(),
        ids.new_range(),
        Some(Instant::now() + DIFF_TIME),
    );
    for group in similar::group_diff_ops(ops, 3) {
        let (Some(first), Some(last)) = (group.first(), group.last()) else { continue };
        let old_range = first.old_range().start..last.old_range().end;
        let new_range = first.new_range().start..last.new_range().end;
        let header = format!("@@ -{} +{} @@", patch_range(&old_range), patch_range(&new_range));
        put(AnsiColor::Cyan.on_default(), header.as_bytes());
        for op in &group {
            let (tag, old_range, new_range) = op.as_tag_tuple();
            let parts = if tag == DiffTag::Equal {
                [(b' ', Style::new(), &old[old_range]), (b' ', Style::new(), &[])]
            } else {
                let (red, green) = (AnsiColor::Red.on_default(), AnsiColor::Green.on_default());
                [(b'-', red, &old[old_range]), (b'+', green, &new[new_range])]
            };
            for (sign, style, lines) in parts {
                for line in lines {
                    let whole = line.strip_suffix(b"\n");
                    put(style, &[&[sign][..], whole.unwrap_or(line)].concat());
                    if whole.is_none() {
                        put(Style::new(), b"\\ No newline at end of file");
                    }
                }
            }
        }
    }
    out
}

/// The lines of a text, with their ends.
fn lines(text: &[u8]) -> Vec<&[u8]> {
    text.split_inclusive(|&byte| byte == b'\n').collect()
}

/// Lines of a hunk as its header tells them: none by the line before.
fn patch_range(range: &Range<usize>) -> String {
    match range.len() {
        0 => format!("{},0", range.start),
        1 => format!("{}", range.start + 1),
        count => format!("{},{count}", range.start + 1),
    }
}

/// A file's name as GNU `patch` and git read it: between quotes, with escapes of C,
/// where it could be misread or is not for showing.
fn patch_name(path: &Path) -> Vec<u8> {
    let bytes = path.as_os_str().as_encoded_bytes();
    let shown = visible_path(path);
    let outer = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_whitespace);
    let quoted = shown.as_bytes() != bytes
        || bytes.contains(&b'"')
        || bytes.contains(&b'\\')
        || outer(bytes.first())
        || outer(bytes.last());
    let mut name = Vec::with_capacity(bytes.len() + 2);
    if !quoted {
        name.extend_from_slice(bytes);
        if bytes.contains(&b' ') {
            // Else the name would end at the blank.
            name.push(b'\t');
        }
        return name;
    }
    name.push(b'"');
    for &byte in bytes {
        match byte {
            b'"' | b'\\' => name.extend([b'\\', byte]),
            b'\t' => name.extend(b"\\t"),
            b'\n' => name.extend(b"\\n"),
            b'\r' => name.extend(b"\\r"),
            b' '..=b'~' => name.push(byte),
            _ => name.extend(format!("\\{byte:03o}").bytes()),
        }
    }
    name.push(b'"');
    name
}
