//! Opens and writes files, and shows diffs.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::ops::Range;
use std::path::Path;
use std::time::SystemTime;

use clap::builder::styling::{AnsiColor, Style};
use gix_imara_diff::{Algorithm, Diff, Interner, Token};

use super::error::reason;
use super::temporary::{Temporary, uninterrupted};
use crate::diagnostic::Edit;
use crate::report::{visible_line, visible_path};
use crate::source::MAX_LEN;

/// The number of equal lines that a diff shows before and after each difference.
const CONTEXT: u32 = 3;

/// Applies edits to bytes. The edits are in order and do not overlap.
pub(crate) fn edited(bytes: &[u8], edits: &[Edit]) -> Vec<u8> {
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

/// The identity of a file: names with equal identities lead to one file.
#[cfg(unix)]
#[derive(PartialEq, Eq, Hash)]
pub(crate) struct Identity(u64, u64);

#[cfg(unix)]
impl Identity {
    pub(crate) fn of(path: &Path) -> Option<Identity> {
        fs::metadata(path).ok().as_ref().map(Identity::from)
    }
}

#[cfg(unix)]
impl From<&Metadata> for Identity {
    fn from(data: &Metadata) -> Identity {
        use std::os::unix::fs::MetadataExt;
        Identity(data.dev(), data.ino())
    }
}

#[cfg(not(unix))]
#[derive(PartialEq, Eq, Hash)]
pub(crate) struct Identity(std::path::PathBuf);

#[cfg(not(unix))]
impl Identity {
    pub(crate) fn of(path: &Path) -> Option<Identity> {
        fs::canonicalize(path).ok().map(Identity)
    }
}

/// Identifies a file with its contents, to detect changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    is_regular: bool,
    len: u64,
    modified: Option<SystemTime>,
    /// Device, inode, and the time of the last change of any kind, in seconds and
    /// nanoseconds.
    #[cfg(unix)]
    identity: (u64, u64, i64, i64),
    #[cfg(not(unix))]
    identity: Option<SystemTime>,
}

impl Stamp {
    pub(crate) fn of(data: &Metadata) -> Stamp {
        #[cfg(unix)]
        let identity = {
            use std::os::unix::fs::MetadataExt;
            (data.dev(), data.ino(), data.ctime(), data.ctime_nsec())
        };
        #[cfg(not(unix))]
        let identity = data.created().ok();
        let modified = data.modified().ok();
        Stamp { is_regular: data.is_file(), len: data.len(), modified, identity }
    }

    /// Fails if a file has changed since it was read, or is not a regular file.
    fn holds(&self, path: &Path) -> io::Result<Metadata> {
        let gone = |error: io::Error| match error.kind() {
            io::ErrorKind::NotFound => io::Error::other("the file was removed after it was read"),
            _ => error,
        };
        let data = fs::symlink_metadata(path).map_err(gone)?;
        if !self.is_regular || !data.is_file() {
            return Err(io::Error::other("it is not a regular file"));
        }
        if *self != Stamp::of(&data) {
            return Err(io::Error::other("the file changed after it was read"));
        }
        Ok(data)
    }
}

/// Replaces the contents of a file that was read, all or nothing, unless the file has changed
/// since. The path must not be a link.
///
/// The file is checked one last time right before a new file takes its name. Three
/// changes by other programs can still be lost: a write between these two system calls,
/// a later write to the old file by a program that keeps it open, and a change of the
/// same length within the clock tick in which the file was read.
pub(crate) fn replace(
    path: &Path,
    contents: &(impl Contents + ?Sized),
    before: &Stamp,
) -> io::Result<()> {
    let data = before.holds(path)?;
    if data.permissions().readonly() {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, "the file is read-only"));
    }
    // A file that may not be written to should not be replaced either.
    let old = Access::Walked.options().write(true).open(path)?;
    let new = Temporary::beside(path, false)?;
    contents.write_to(new.file())?;
    let alike = !has_other_names(&data) && carry_over(&old, &data, new.file()).is_ok();
    new.file().sync_all()?;
    uninterrupted(|| {
        before.holds(path)?;
        if alike {
            return new.replace(path);
        }
        // A new file cannot have all names and attributes of the old one, so the old one is
        // overwritten. If that fails halfway, or the system stops, the new file still has the whole
        // text.
        overwrite(&old, contents).map_err(|error| {
            let kept = new.keep();
            let why = reason(&error);
            io::Error::other(format!("{why}; the new text is in `{}`", visible_path(&kept)))
        })
    })
}

/// Creates a file, which must not exist yet.
pub(crate) fn create(path: &Path, contents: &(impl Contents + ?Sized)) -> io::Result<()> {
    let new = Temporary::beside(path, true)?;
    // No old contents can be lost, so the file is not synced.
    contents.write_to(new.file())?;
    uninterrupted(|| new.name(path))
}

/// Puts contents at a path. If it is a link, its target is replaced. What cannot be replaced is
/// written to: a device, a pipe, and what standard output or standard error writes to, as with
/// `/dev/stdout`.
pub(crate) fn put_at(path: &Path, contents: &(impl Contents + ?Sized)) -> io::Result<()> {
    #[cfg(unix)]
    if let Some(file) = stream_of(path) {
        return contents.write_to(&file).map(drop);
    }
    let path = &fs::canonicalize(path).unwrap_or_else(|_| path.into());
    match fs::metadata(path) {
        Ok(data) if !data.is_file() && !data.is_dir() => {
            let file = File::options().write(true).open(path)?;
            contents.write_to(&file).map(drop)
        }
        Ok(_) | Err(_) => put(path, contents),
    }
}

/// Standard output or standard error, if it writes to the file at the path.
#[cfg(unix)]
fn stream_of(path: &Path) -> Option<File> {
    use std::os::fd::AsFd;
    let wanted = Identity::of(path)?;
    let (output, errors) = (io::stdout(), io::stderr());
    [output.as_fd(), errors.as_fd()].into_iter().find_map(|stream| {
        let file = File::from(stream.try_clone_to_owned().ok()?);
        (Identity::from(&file.metadata().ok()?) == wanted).then_some(file)
    })
}

/// Replaces the contents of a file, whatever they are, or creates the file.
pub(crate) fn put(path: &Path, contents: &(impl Contents + ?Sized)) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(data) => replace(path, contents, &Stamp::of(&data)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => create(path, contents),
        Err(error) => Err(error),
    }
}

/// The new contents of a file. They may be written more than once.
pub(crate) trait Contents {
    /// Writes all contents, and returns the number of bytes.
    fn write_to(&self, file: &File) -> io::Result<u64>;
}

/// Several parts, one after the other.
impl<T: AsRef<[u8]>> Contents for [T] {
    fn write_to(&self, mut file: &File) -> io::Result<u64> {
        self.iter().try_for_each(|part| file.write_all(part.as_ref()))?;
        Ok(self.iter().map(|part| part.as_ref().len() as u64).sum())
    }
}

impl<T: AsRef<[u8]>, const N: usize> Contents for [T; N] {
    fn write_to(&self, file: &File) -> io::Result<u64> {
        self[..].write_to(file)
    }
}

/// The whole contents of a file.
impl Contents for File {
    fn write_to(&self, mut file: &File) -> io::Result<u64> {
        let mut all = self;
        all.rewind()?;
        io::copy(&mut all, &mut file)
    }
}

/// Overwrites the contents of a file.
fn overwrite(file: &File, contents: &(impl Contents + ?Sized)) -> io::Result<()> {
    let length = contents.write_to(file)?;
    file.set_len(length)?;
    file.sync_all()
}

#[cfg(unix)]
fn has_other_names(data: &Metadata) -> bool {
    std::os::unix::fs::MetadataExt::nlink(data) > 1
}

#[cfg(not(unix))]
fn has_other_names(_: &Metadata) -> bool {
    false
}

/// Copies the owner, group, permissions and attributes of an old file to a new one.
#[cfg(unix)]
fn carry_over(old: &File, data: &Metadata, new: &File) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, fchown};

    let made = new.metadata()?;
    if (made.uid(), made.gid()) != (data.uid(), data.gid()) {
        fchown(new, Some(data.uid()), Some(data.gid()))?;
    }
    new.set_permissions(data.permissions())?;
    #[cfg(any(target_os = "linux", target_os = "android", target_os = "macos"))]
    attributes::carry_over(old, new)?;
    #[cfg(not(any(target_os = "linux", target_os = "android", target_os = "macos")))]
    let _ = old;
    Ok(())
}

#[cfg(not(unix))]
fn carry_over(_: &File, data: &Metadata, new: &File) -> io::Result<()> {
    new.set_permissions(data.permissions())
}

/// Extended attributes. On Linux these include access control lists.
#[cfg(any(target_os = "linux", target_os = "android", target_os = "macos"))]
mod attributes {
    use std::fs::File;
    use std::io;

    use rustix::fs::{
        XattrFlags, fgetxattr, fgetxattr_query, flistxattr, flistxattr_query, fremovexattr,
        fsetxattr,
    };
    use rustix::io::Errno;

    type Attribute = (Vec<u8>, Vec<u8>);

    /// Copies the attributes of an old file to a new one, and removes all others.
    pub(crate) fn carry_over(old: &File, new: &File) -> io::Result<()> {
        let (wanted, made) = (all(old)?, all(new)?);
        // A folder may give an access control list to new files.
        for (name, _) in &made {
            if !wanted.iter().any(|(wanted, _)| wanted == name) {
                fremovexattr(new, name.as_slice())?;
            }
        }
        for attribute in &wanted {
            if !made.contains(attribute) {
                let (name, value) = attribute;
                fsetxattr(new, name.as_slice(), value, XattrFlags::empty())?;
            }
        }
        Ok(())
    }

    fn all(file: &File) -> io::Result<Vec<Attribute>> {
        let len = match flistxattr_query(file) {
            // Not every file system supports attributes.
            Err(Errno::NOTSUP | Errno::NOSYS) => return Ok(Vec::new()),
            len => len?,
        };
        let mut names = vec![0; len];
        let len = flistxattr(file, &mut names[..])?;
        let names = names[..len].split(|byte| *byte == 0).filter(|name| !name.is_empty());
        let with_value = |name: &[u8]| {
            let mut value = vec![0; fgetxattr_query(file, name)?];
            let len = fgetxattr(file, name, &mut value[..])?;
            value.truncate(len);
            Ok((name.to_vec(), value))
        };
        names.map(with_value).collect()
    }
}

/// The kinds of files that may be opened for reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// A file of any kind, because the user named it. Reading a pipe waits for its writer.
    Named,
    /// A regular file, directly or by a link.
    Regular,
    /// A regular file that a search found. A link is refused.
    Walked,
}

impl Access {
    pub(crate) fn options(self) -> OpenOptions {
        #[cfg_attr(not(unix), allow(unused_mut, reason = "only Unix has flags"))]
        let mut options = OpenOptions::new();
        #[cfg(unix)]
        {
            use rustix::fs::OFlags;
            use std::os::unix::fs::OpenOptionsExt;
            let flags = match self {
                Access::Named => OFlags::empty(),
                Access::Regular => OFlags::NONBLOCK,
                Access::Walked => OFlags::NONBLOCK | OFlags::NOFOLLOW,
            };
            options.custom_flags(flags.bits().cast_signed());
        }
        options
    }

    /// Opens a file for reading, and returns its current metadata.
    pub(crate) fn open(self, path: &Path) -> io::Result<(File, Metadata)> {
        let file = self.options().read(true).open(path)?;
        let data = file.metadata()?;
        if self != Access::Named && !data.is_file() {
            // A folder has its own message.
            let kind =
                if data.is_dir() { io::ErrorKind::IsADirectory } else { io::ErrorKind::Other };
            return Err(io::Error::new(kind, "it is not a regular file"));
        }
        Ok((file, data))
    }
}

/// Reads everything if it fits in the limit. Memory use stays within the limit, too.
pub(crate) fn read_bounded(
    reader: impl Read,
    expected: u64,
    limit: usize,
) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    if expected > limit as u64 {
        return Ok(None);
    }
    bytes.try_reserve_exact(expected as usize)?;
    // One byte more shows whether the input is too long.
    reader.take(limit as u64 + 1).read_to_end(&mut bytes)?;
    Ok((bytes.len() <= limit).then_some(bytes))
}

/// The text of one of vptx's own files, such as settings, and a stamp to detect later changes.
pub(crate) fn read_text(path: &Path, access: Access) -> io::Result<(String, Stamp)> {
    let (file, data) = access.open(path)?;
    let Some(bytes) = read_bounded(file, data.len(), MAX_LEN)? else {
        return Err(io::Error::other("it is larger than the limit of 4 GiB"));
    };
    let not_text = |_| io::Error::new(io::ErrorKind::InvalidData, "it is not in UTF-8");
    Ok((String::from_utf8(bytes).map_err(not_text)?, Stamp::of(&data)))
}

/// How a diff is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DiffLook {
    /// Byte for byte, so that `patch` can apply it.
    Exact,
    /// For people, with characters escaped that could control a terminal.
    Plain,
    /// Like `Plain`, in colours.
    Colored,
}

/// A unified diff of a file that keeps its name.
pub(crate) fn diff(path: &Path, old: &[u8], new: &[u8], look: DiffLook) -> Vec<u8> {
    diff_of([path; 2], old, new, look)
}

/// A unified diff of two files. Its lines end only at `\n`, like those of `patch`.
pub(crate) fn diff_of<'d>(
    paths: [&Path; 2],
    old: &'d [u8],
    new: &'d [u8],
    look: DiffLook,
) -> Vec<u8> {
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
    for (sign, path) in ["--- ", "+++ "].into_iter().zip(paths) {
        put(bold, &[sign.as_bytes(), &patch_name(path)].concat());
    }
    let mut interner = Interner::new(old.len() + new.len());
    let mut tokens = |lines: &[&'d [u8]]| -> Vec<Token> {
        lines.iter().map(|line| interner.intern(*line)).collect()
    };
    let (old_tokens, new_tokens) = (tokens(&old), tokens(&new));
    let mut changes = Diff::default();
    changes.compute_with(Algorithm::Myers, &old_tokens, &new_tokens, interner.num_tokens());
    let hunks: Vec<gix_imara_diff::Hunk> = changes.hunks().collect();
    let plain = Style::new();
    let (red, green) = (AnsiColor::Red.on_default(), AnsiColor::Green.on_default());
    for group in hunks.chunk_by(|one, next| next.before.start - one.before.end <= 2 * CONTEXT) {
        let (Some(first), Some(last)) = (group.first(), group.last()) else { continue };
        // Both texts have the same number of lines before the first change, and after the last one.
        let before = CONTEXT.min(first.before.start);
        let after = CONTEXT.min(old.len() as u32 - last.before.end);
        let old_range = first.before.start - before..last.before.end + after;
        let new_range = first.after.start - before..last.after.end + after;
        let header = format!("@@ -{} +{} @@", patch_range(&old_range), patch_range(&new_range));
        put(AnsiColor::Cyan.on_default(), header.as_bytes());
        let mut put_all = |sign: u8, style: Style, lines: &[&[u8]]| {
            for line in lines {
                let whole = line.strip_suffix(b"\n");
                put(style, &[&[sign][..], whole.unwrap_or(line)].concat());
                if whole.is_none() {
                    put(plain, b"\\ No newline at end of file");
                }
            }
        };
        let range = |range: Range<u32>| range.start as usize..range.end as usize;
        let mut at = old_range.start;
        for hunk in group {
            put_all(b' ', plain, &old[range(at..hunk.before.start)]);
            put_all(b'-', red, &old[range(hunk.before.clone())]);
            put_all(b'+', green, &new[range(hunk.after.clone())]);
            at = hunk.before.end;
        }
        put_all(b' ', plain, &old[range(at..old_range.end)]);
    }
    out
}

/// The lines of a text, with their line ends.
fn lines(text: &[u8]) -> Vec<&[u8]> {
    text.split_inclusive(|&byte| byte == b'\n').collect()
}

/// The line range in a hunk header. An empty range is given as the number of the line before it.
fn patch_range(range: &Range<u32>) -> String {
    match range.len() {
        0 => format!("{},0", range.start),
        1 => format!("{}", range.start + 1),
        count => format!("{},{count}", range.start + 1),
    }
}

/// A file's name as GNU `patch` and git read it. A name that these tools could misread, or that has
/// hidden characters, is quoted with the escapes of C.
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
            // Without the tab, the name would end at the blank.
            name.push(b'\t');
        }
        return name;
    }
    name.push(b'"');
    for &byte in bytes {
        match byte {
            b'"' | b'\\' => name.extend([b'\\', byte]),
            b' '..=b'~' => name.push(byte),
            _ => name.extend(format!("\\{byte:03o}").bytes()),
        }
    }
    name.push(b'"');
    name
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    type Change = fn(&Path);

    fn stamped(path: &Path, text: &str) -> Stamp {
        fs::write(path, text).unwrap();
        Access::Named.open(path).map(|(_, data)| Stamp::of(&data)).unwrap()
    }

    fn only_file(folder: &Path) -> bool {
        fs::read_dir(folder).unwrap().count() == 1
    }

    #[test]
    fn reading_stops_at_the_limit() {
        for (len, read) in [(0, true), (9, true), (10, true), (11, false), (1 << 20, false)] {
            let text = vec![b'a'; len];
            for expected in [0, len.min(10) as u64] {
                let bytes = read_bounded(text.as_slice(), expected, 10).unwrap();
                assert_eq!(bytes, read.then(|| text.clone()), "{len}");
            }
        }
        // The input is endless.
        assert_eq!(read_bounded(io::repeat(b'a'), 0, 10).unwrap(), None);
        // Input with a declared length above the limit is not read at all.
        let mut untouched = &b"abc"[..];
        assert_eq!(read_bounded(&mut untouched, 11, 10).unwrap(), None);
        assert_eq!(untouched, b"abc");
    }

    #[test]
    fn what_changed_is_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.ptx");
        let changes: &[(&str, Change)] = &[
            ("longer", |path| fs::write(path, "old and more").unwrap()),
            ("as long, later", |path| {
                let file = File::options().write(true).open(path).unwrap();
                (&file).write_all(b"new").unwrap();
                file.set_modified(SystemTime::now() + Duration::from_secs(1)).unwrap();
            }),
            ("another file", |path| {
                let other = path.with_extension("other");
                let written = fs::metadata(path).unwrap().modified().unwrap();
                fs::write(&other, "new").unwrap();
                File::options().write(true).open(&other).unwrap().set_modified(written).unwrap();
                fs::rename(other, path).unwrap();
            }),
            ("gone", |path| fs::remove_file(path).unwrap()),
            ("a folder", |path| {
                fs::remove_file(path).unwrap();
                fs::create_dir(path).unwrap();
            }),
            #[cfg(unix)]
            ("a link to it", |path| {
                fs::remove_file(path).unwrap();
                std::os::unix::fs::symlink("/dev/null", path).unwrap();
            }),
        ];
        for (what, change) in changes {
            let stamp = stamped(&path, "old");
            change(&path);
            let left = fs::read(&path).ok();
            let error = replace(&path, &["text"], &stamp).unwrap_err().to_string();
            assert!(error.starts_with("the file ") || error.starts_with("it is "), "{error}");
            assert_eq!(fs::read(&path).ok(), left, "{what}");
            if *what == "a folder" {
                fs::remove_dir(&path).unwrap();
            }
            assert!(!path.exists() || only_file(folder.path()), "{what}");
        }
        fs::remove_file(&path).unwrap();
        let stamp = stamped(&path, "old");
        replace(&path, &["text", "!"], &stamp).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"text!");
        // The path now leads to another file, which does not fit the stamp.
        assert!(replace(&path, &["text"], &stamp).is_err());
        assert!(create(&path, &["text"]).is_err(), "it is there");
        assert_eq!(fs::read(&path).unwrap(), b"text!");
        assert!(only_file(folder.path()));
    }

    /// A program can set the modification time back, so the stamp has more than this time.
    #[cfg(unix)]
    #[test]
    fn a_time_that_is_set_back_shows() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.ptx");
        let stamp = stamped(&path, "old");
        let written = fs::metadata(&path).unwrap().modified().unwrap();
        std::thread::sleep(Duration::from_millis(50));
        let file = File::options().write(true).open(&path).unwrap();
        (&file).write_all(b"new").unwrap();
        file.set_modified(written).unwrap();
        assert!(replace(&path, &["text"], &stamp).is_err());
        assert_eq!(fs::read(&path).unwrap(), b"new");
    }

    /// An access control list: owner rw, user 1000 r, group r, mask r, others none.
    #[cfg(target_os = "linux")]
    fn list() -> Vec<u8> {
        const ALL: u32 = u32::MAX;
        let entries: [(u16, u16, u32); 5] =
            [(1, 6, ALL), (2, 4, 1000), (4, 4, ALL), (16, 4, ALL), (32, 0, ALL)];
        let mut list = 2u32.to_le_bytes().to_vec();
        for (tag, rights, id) in entries {
            list.extend(tag.to_le_bytes());
            list.extend(rights.to_le_bytes());
            list.extend(id.to_le_bytes());
        }
        list
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn attributes_and_lists_stay() {
        use rustix::fs::{XattrFlags, getxattr, listxattr, setxattr};

        const ACCESS: &str = "system.posix_acl_access";
        let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let path = folder.path().join("a.ptx");
        let set = |path: &Path, name: &str, value: &[u8]| {
            setxattr(path, name, value, XattrFlags::empty()).is_ok()
        };
        fs::write(&path, "old").unwrap();
        if !set(&path, "user.origin", b"elsewhere") || !set(&path, ACCESS, &list()) {
            eprintln!("this file system has no attributes or lists");
            return;
        }
        let stamp = Stamp::of(&fs::metadata(&path).unwrap());
        replace(&path, &["text"], &stamp).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"text");
        let mut value = [0; 100];
        let len = getxattr(&path, "user.origin", &mut value[..]).unwrap();
        assert_eq!(&value[..len], b"elsewhere");
        let len = getxattr(&path, ACCESS, &mut value[..]).unwrap();
        assert_eq!(value[..len], list());
        // The folder has a default list for new files, which must not apply to the replaced file.
        assert!(set(folder.path(), "system.posix_acl_default", &list()));
        fs::remove_file(&path).unwrap();
        let plain = folder.path().join("plain");
        fs::write(&plain, "old").unwrap();
        rustix::fs::removexattr(&plain, ACCESS).unwrap();
        let stamp = Stamp::of(&fs::metadata(&plain).unwrap());
        replace(&plain, &["text"], &stamp).unwrap();
        let len = listxattr(&plain, &mut value[..]).unwrap();
        assert!(!value[..len].windows(ACCESS.len()).any(|name| name == ACCESS.as_bytes()));
    }
}
