//! Large files, read in parts and not kept.
//!
//! Mostly there is nothing to report. A part that comes into the processor's cache,
//! is found to be right, and makes room for the next one, takes 0.6 of the time that
//! passes over the whole text do; and all cores can take parts.

use std::fs::{self, File, Metadata};
use std::io::{self, Read, Seek};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use super::files::{Access, Stamp};
use super::input::Input;
use crate::analysis::{Part, part_gates, parts_end};
use crate::source::{MAX_LEN, utf8};

/// Files of at least this many bytes are large.
pub(super) const LARGE: u64 = 4 << 20;

/// Bytes to read at once: two of these, and what is made of them, fit the second
/// cache of a core.
const STEP: usize = 1 << 19;

/// Bytes that a part may have in any case.
const LONG: usize = 1 << 21;

/// A text that is cut after functions.
pub(super) struct Parts<R> {
    file: R,
    /// Bytes of the next part that are already read.
    rest: Vec<u8>,
    /// Bytes of the parts before that.
    done: usize,
    /// Parts before that.
    count: usize,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    More,
    Done,
    Failed,
}

/// Where a part stands in its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    at: usize,
    is_first: bool,
    is_last: bool,
}

/// A large file, if it can be opened.
fn open(input: &Input) -> Option<File> {
    let (path, access) = match input {
        Input::Stdin => return None,
        Input::File(path) => (path, Access::Regular),
        Input::Walked(path) => (path, Access::Walked),
    };
    let is_large =
        |data: &Metadata| data.is_file() && (LARGE..=MAX_LEN as u64).contains(&data.len());
    // A pipe must not be opened twice.
    fs::metadata(path).ok().filter(is_large)?;
    let (file, data) = access.open(path).ok()?;
    is_large(&data).then_some(file)
}

impl Parts<File> {
    /// The parts of a large file, if it can be opened.
    pub(super) fn open(input: &Input) -> Option<Parts<File>> {
        open(input).map(Parts::new)
    }

    /// A stamp to detect later changes of the file. It is taken before the file is read.
    pub(super) fn stamp(&self) -> io::Result<Stamp> {
        self.file.metadata().map(|data| Stamp::of(&data))
    }
}

/// A large file that is read once more when all is known of it. To keep it can take
/// several times as long as to read it: all of that memory is cleared first.
pub(super) struct Twice {
    file: File,
    /// Its length and when it was written, before it was read.
    stamp: (u64, Option<SystemTime>),
}

fn stamp(file: &File) -> io::Result<(u64, Option<SystemTime>)> {
    let data = file.metadata()?;
    Ok((data.len(), data.modified().ok()))
}

/// Something that is open.
#[cfg(unix)]
pub(super) use std::os::fd::AsFd as AsHandle;
#[cfg(windows)]
pub(super) use std::os::windows::io::AsHandle;

/// Whether a file stays as it is whatever is written to an output. It may be the file
/// itself, and the reader of a pipe may write to the file.
#[cfg(unix)]
fn is_apart(file: &File, out: &impl AsHandle) -> io::Result<bool> {
    use std::os::unix::fs::{FileTypeExt, MetadataExt};

    let (read, out) = (file.metadata()?, File::from(out.as_fd().try_clone_to_owned()?).metadata()?);
    let same = (read.dev(), read.ino()) == (out.dev(), out.ino());
    Ok(!same && (out.is_file() || out.file_type().is_char_device()))
}

#[cfg(windows)]
fn is_apart(_: &File, _: &impl AsHandle) -> io::Result<bool> {
    Ok(false)
}

impl Twice {
    /// Opens a large file, if that is possible and writing to the output does not
    /// change it.
    pub(super) fn open(input: &Input, out: &impl AsHandle) -> Option<Twice> {
        let file = open(input)?;
        let stamp = stamp(&file).ok()?;
        is_apart(&file, out).is_ok_and(|apart| apart).then_some(Twice { file, stamp })
    }

    pub(super) fn parts(&self) -> Parts<&File> {
        Parts::new(&self.file)
    }

    /// Goes back to the start.
    pub(super) fn rewind(&self) -> io::Result<()> {
        (&self.file).rewind()
    }

    /// Reads that many bytes, which are still those of before.
    pub(super) fn read(&self, len: usize, bytes: &mut Vec<u8>) -> io::Result<()> {
        bytes.clear();
        let read = (&self.file).take(len as u64).read_to_end(bytes)?;
        let same = read == len && stamp(&self.file)? == self.stamp;
        if same { Ok(()) } else { Err(io::Error::other("it changed while it was read")) }
    }
}

impl<R: Read + Send> Parts<R> {
    fn new(file: R) -> Parts<R> {
        Parts { file, rest: Vec::new(), done: 0, count: 0, state: State::More }
    }

    /// Does a piece of work for each part, with all cores if this text is `alone`;
    /// the results are in order. Work on one core shares what it keeps. `None` if the
    /// work cannot be done for a part, or one cannot be read: nothing is known of the
    /// text then.
    pub(super) fn each<K: Default, T: Send>(
        self,
        alone: bool,
        work: impl Fn(&Part<'_>, &mut K) -> Option<T> + Sync,
    ) -> Option<Vec<T>> {
        let parts = Mutex::new((self, None));
        let lock = || parts.lock().unwrap_or_else(PoisonError::into_inner);
        let next = |bytes: &mut Vec<u8>| {
            let (parts, gates) = &mut *lock();
            let place = parts.next(bytes)?;
            if place.is_first {
                *gates = utf8(bytes).and_then(part_gates);
            }
            Some((place, *gates))
        };
        let some = || {
            let mut results = Vec::new();
            let mut kept = K::default();
            let mut bytes = Vec::with_capacity(2 * STEP);
            while let Some((Place { at, is_first, is_last }, gates)) = next(&mut bytes) {
                let part = utf8(&bytes).zip(gates);
                let part = part.map(|(text, gates)| Part { text, is_first, is_last, gates });
                match part.and_then(|part| work(&part, &mut kept)) {
                    Some(result) => results.push((at, result)),
                    None => lock().0.state = State::Failed,
                }
            }
            results
        };
        let mut results = if alone {
            rayon::broadcast(|_| some()).into_iter().flatten().collect()
        } else {
            some()
        };
        results.sort_unstable_by_key(|(at, _)| *at);
        let done = lock().0.state == State::Done;
        done.then(|| results.into_iter().map(|(_, result)| result).collect())
    }

    /// Reads the next part into a buffer.
    fn next(&mut self, part: &mut Vec<u8>) -> Option<Place> {
        if self.state != State::More {
            return None;
        }
        part.clear();
        part.append(&mut self.rest);
        self.state = match self.fill(part) {
            Ok(true) => State::More,
            Ok(false) => State::Done,
            Err(_) => State::Failed,
        };
        let at = self.count;
        self.count += 1;
        let place = Place { at, is_first: at == 0, is_last: self.state == State::Done };
        (self.state != State::Failed).then_some(place)
    }

    /// Reads up to the end of a part, or of the text. Says whether there is more;
    /// fails where a part outgrows all before it, and the text is better read as a
    /// whole.
    fn fill(&mut self, part: &mut Vec<u8>) -> io::Result<bool> {
        while part.len() < self.done.max(LONG) {
            let before = part.len().saturating_sub(1);
            if self.file.by_ref().take(STEP as u64).read_to_end(part)? == 0 {
                return Ok(false);
            }
            if let Some(end) = parts_end(&part[before..]) {
                self.rest.extend_from_slice(&part[before + end..]);
                part.truncate(before + end);
                self.done += part.len();
                return Ok(true);
            }
        }
        Err(io::ErrorKind::FileTooLarge.into())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;
    use crate::analysis::check_part;
    use crate::check::CheckOptions;
    use crate::lint::Known;

    /// The parts of a text.
    fn parts(text: &str) -> Option<Vec<(String, Place)>> {
        let mut parts = Parts::new(text.as_bytes());
        let mut part = Vec::new();
        let read = std::iter::from_fn(|| {
            let place = parts.next(&mut part)?;
            Some((String::from_utf8(part.clone()).unwrap(), place))
        });
        let read = read.collect();
        (parts.state == State::Done).then_some(read)
    }

    #[test]
    fn parts_are_the_text_cut_behind_functions() {
        for lines in [1, 1000, STEP / 16 - 1, STEP / 16, STEP / 16 + 1, STEP / 10] {
            let text = format!("{}}}\n\n}} // end\n", "add.u32 a, b, c;\n".repeat(lines)).repeat(3);
            let parts = parts(&text).unwrap();
            let whole: String = parts.iter().map(|(part, _)| part.as_str()).collect();
            assert_eq!(whole, text);
            assert!(text.len() < 2 * STEP || parts.len() > 1);
            let last = parts.len() - 1;
            for (at, (part, place)) in parts.iter().enumerate() {
                assert_eq!(*place, Place { at, is_first: at == 0, is_last: at == last });
                assert!(at == last || part.ends_with("\n}"));
            }
        }
        assert_eq!(parts("").unwrap().len(), 1);
    }

    #[test]
    fn parts_that_outgrow_all_before_are_left_to_others() {
        let text = "ret;\n".repeat(LONG / 5 + STEP);
        assert_eq!(parts(&text), None);
        let text = "ret;\n}\n".repeat(LONG) + &text;
        assert!(parts(&text).is_some());
    }

    #[test]
    fn results_are_in_order_and_of_clean_texts() {
        let function = ".func f()\n{\n\tret;\n}\n";
        let text = function.repeat(6 * STEP / function.len());
        let read = |text: &str, alone| {
            let clean = |part: &Part<'_>, known: &mut Known| {
                check_part(part, &CheckOptions::default(), known)?;
                Some(part.text.to_string())
            };
            Parts::new(text.as_bytes()).each(alone, clean)
        };
        for alone in [false, true] {
            let parts = read(&text, alone).unwrap();
            assert!(parts.len() > 3);
            assert_eq!(parts.concat(), text);
            let odd = [
                "vadd.s32.s32.s32 a, b, c;",
                "// vptx: ignore\n",
                "/*",
                "}",
                "\0",
                ".version 8.0\n",
            ];
            for odd in odd {
                assert_eq!(read(&format!("{text}{odd}"), alone), None, "{odd}");
                assert_eq!(read(&format!("{text}{odd}\n{text}"), alone), None, "{odd}");
            }
        }
        assert!(read(&format!(".version 8.0\n{text}"), true).is_some());
        let but_last = |part: &Part<'_>, (): &mut ()| (!part.is_last).then_some(0);
        assert_eq!(Parts::new(text.as_bytes()).each(true, but_last), None);
    }

    #[test]
    fn what_changed_is_not_read_again() {
        let text = ".func f()\n{\n\tret;\n}\n".repeat(LARGE as usize / 10);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.ptx");
        fs::write(&path, &text).unwrap();
        let out = tempfile::tempfile().unwrap();
        let twice = Twice::open(&Input::File(path.clone()), &out).unwrap();
        let len = |part: &Part<'_>, (): &mut ()| Some(part.text.len());
        let lens = twice.parts().each(true, len).unwrap();
        let read_again = || {
            let (mut part, mut whole) = (Vec::new(), Vec::new());
            twice.rewind()?;
            for &len in &lens {
                twice.read(len, &mut part)?;
                whole.append(&mut part);
            }
            io::Result::Ok(whole)
        };
        assert!(read_again().unwrap() == text.as_bytes());
        let writer = File::options().append(true).open(&path).unwrap();
        let (written, longer) = (writer.metadata().unwrap().modified().unwrap(), text + "\n");
        writer.set_modified(written + std::time::Duration::from_millis(1)).unwrap();
        assert!(read_again().is_err());
        writer.set_modified(written).unwrap();
        assert!(read_again().is_ok());
        (&writer).write_all(b"\n").unwrap();
        writer.set_modified(written).unwrap();
        assert!(fs::read(&path).unwrap() == longer.as_bytes());
        assert!(read_again().is_err());
        writer.set_len(100).unwrap();
        assert!(read_again().is_err());
    }
}
