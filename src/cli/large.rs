//! Large files, read in parts, and kept only where they are written again.
//!
//! Mostly there is nothing to report. A part that comes into the processor's cache,
//! is found to be right, and makes room for the next one, takes 0.6 of the time that
//! passes over the whole text do; and all cores can take parts.

use std::fs::{self, File};
use std::io::{self, Read};
use std::mem;
use std::ops::Deref;
use std::sync::{Mutex, PoisonError};

use super::input::{Bytes, Input, large_memory};
use crate::check::{Part, part_gates, parts_end};
use crate::source::{MAX_LEN, utf8};

/// Files of at least this many bytes are large.
pub(super) const LARGE: u64 = 4 << 20;

/// Bytes to read at once: two of these, and what is made of them, fit the second
/// cache of a core.
const STEP: usize = 1 << 19;

/// Bytes that a part may have in any case.
const LONG: usize = 1 << 21;

/// A text that is cut behind functions.
pub(super) struct Parts<R, M = Passing> {
    file: R,
    memory: M,
    /// Bytes of the parts that were read.
    done: usize,
    /// How many these are.
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

/// Where parts are read to.
pub(super) trait Memory: Send {
    /// The bytes of a part, once it ends.
    type Part: Default + Deref<Target = [u8]>;

    /// Starts a part with what is read of it already.
    fn start(&mut self, part: &mut Self::Part);

    /// Reads at most [`STEP`] bytes more, and says how many; 0 is the end.
    fn read(&mut self, file: impl Read, part: &mut Self::Part) -> io::Result<usize>;

    /// What is read, of the part and behind it.
    fn bytes<'a>(&'a self, part: &'a Self::Part) -> &'a [u8];

    /// Ends the part behind so many bytes.
    fn end(&mut self, part: &mut Self::Part, len: usize);
}

/// Parts that make room for others.
#[derive(Default)]
pub(super) struct Passing {
    /// What is read already of the next part.
    rest: Vec<u8>,
}

impl Memory for Passing {
    type Part = Vec<u8>;

    fn start(&mut self, part: &mut Vec<u8>) {
        part.clear();
        part.reserve(2 * STEP);
        part.append(&mut self.rest);
    }

    fn read(&mut self, file: impl Read, part: &mut Vec<u8>) -> io::Result<usize> {
        file.take(STEP as u64).read_to_end(part)
    }

    fn bytes<'a>(&'a self, part: &'a Vec<u8>) -> &'a [u8] {
        part
    }

    fn end(&mut self, part: &mut Vec<u8>, len: usize) {
        self.rest.extend_from_slice(&part[len..]);
        part.truncate(len);
    }
}

/// Parts that are kept, one behind the other.
struct Kept<'m> {
    /// From the start of the next part.
    memory: &'m mut [u8],
    /// Bytes of that which are read already.
    filled: usize,
}

impl<'m> Memory for Kept<'m> {
    type Part = &'m [u8];

    fn start(&mut self, _: &mut &'m [u8]) {}

    fn read(&mut self, mut file: impl Read, _: &mut &'m [u8]) -> io::Result<usize> {
        let start = self.filled;
        let end = self.memory.len().min(start + STEP);
        if start == end {
            // The file has grown.
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        while self.filled < end {
            match file.read(&mut self.memory[self.filled..end]) {
                Ok(0) => break,
                Ok(read) => self.filled += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(self.filled - start)
    }

    fn bytes<'a>(&'a self, _: &'a &'m [u8]) -> &'a [u8] {
        &self.memory[..self.filled]
    }

    fn end(&mut self, part: &mut &'m [u8], len: usize) {
        let (first, rest) = mem::take(&mut self.memory).split_at_mut(len);
        (*part, self.memory) = (first, rest);
        self.filled -= len;
    }
}

/// A large file, if it can be opened, and its length.
fn open(input: &Input) -> Option<(File, usize)> {
    let Input::File(path) = input else {
        return None;
    };
    // A pipe must not be opened twice.
    let data = fs::metadata(path).ok()?;
    let large = data.len() >= LARGE && data.len() <= MAX_LEN as u64;
    let file = if data.is_file() && large { File::open(path).ok() } else { None };
    Some((file?, data.len() as usize))
}

/// As [`Parts::each`] with all cores, of a large file, whose bytes come back, too.
pub(super) fn each_kept<K: Default, T: Send>(
    input: &Input,
    work: impl Fn(&Part<'_>, &mut K) -> Option<T> + Sync,
) -> Option<(Bytes, Vec<T>)> {
    let (file, len) = open(input)?;
    let mut memory = large_memory(len)?;
    let parts = Parts::new(file, Kept { memory: &mut memory, filled: 0 });
    let with_len = |part: &Part<'_>, kept: &mut K| Some((part.text.len(), work(part, kept)?));
    let (lens, results): (Vec<usize>, _) = parts.each(true, with_len)?.into_iter().unzip();
    Some((Bytes::Large(memory, lens.iter().sum()), results))
}

impl Parts<File> {
    /// Those of a large file, if it can be opened.
    pub(super) fn open(input: &Input) -> Option<Parts<File>> {
        open(input).map(|(file, _)| Parts::new(file, Passing::default()))
    }
}

impl<R: Read + Send, M: Memory> Parts<R, M> {
    fn new(file: R, memory: M) -> Parts<R, M> {
        Parts { file, memory, done: 0, count: 0, state: State::More }
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
        let next = |bytes: &mut M::Part| {
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
            let mut bytes = M::Part::default();
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

    /// Reads the next part.
    fn next(&mut self, part: &mut M::Part) -> Option<Place> {
        if self.state != State::More {
            return None;
        }
        self.memory.start(part);
        self.state = match self.fill(part) {
            Ok(true) => State::More,
            Ok(false) => State::Done,
            Err(_) => State::Failed,
        };
        self.done += part.len();
        let at = self.count;
        self.count += 1;
        let place = Place { at, is_first: at == 0, is_last: self.state == State::Done };
        (self.state != State::Failed).then_some(place)
    }

    /// Reads up to the end of a part, or of the text. Says whether there is more;
    /// fails where a part outgrows all before it, and the text is better read as a
    /// whole.
    fn fill(&mut self, part: &mut M::Part) -> io::Result<bool> {
        let Parts { file, memory, done, .. } = self;
        let mut before = memory.bytes(part).len();
        while before < LONG.max(*done) {
            if memory.read(&mut *file, part)? == 0 {
                memory.end(part, before);
                return Ok(false);
            }
            let bytes = memory.bytes(part);
            let seen = before.saturating_sub(1);
            before = bytes.len();
            if let Some(end) = parts_end(&bytes[seen..]) {
                memory.end(part, seen + end);
                return Ok(true);
            }
        }
        Err(io::ErrorKind::FileTooLarge.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{CheckOptions, check_part};
    use crate::lint::Known;

    /// The parts of a text.
    fn parts(text: &str) -> Option<Vec<(String, Place)>> {
        let mut parts = Parts::new(text.as_bytes(), Passing::default());
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
            Parts::new(text.as_bytes(), Passing::default()).each(alone, clean)
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
        assert_eq!(Parts::new(text.as_bytes(), Passing::default()).each(true, but_last), None);
    }

    #[test]
    fn parts_are_kept_one_behind_the_other() {
        let folder = tempfile::tempdir().unwrap();
        let input = Input::File(folder.path().join("a.ptx"));
        let Input::File(path) = &input else { unreachable!() };
        let whole = |part: &Part<'_>, (): &mut ()| Some(part.text.to_string());
        let large = LARGE as usize;
        for length in [0, 100, large - 1, large, large + 1, 11 * STEP + 7] {
            let text = ".func f()\n{\n\tret;\n}\n".repeat(length / 20 + 1)[..length].to_string();
            fs::write(path, &text).unwrap();
            let kept = each_kept(&input, whole);
            assert_eq!(kept.is_some(), text.len() >= LARGE as usize, "{}", text.len());
            let Some((bytes, parts)) = kept else { continue };
            assert!(*bytes == *text.as_bytes() && parts.concat() == text);
            assert!(parts.len() > 1);
        }
        // Memory for what the file was before it grew.
        let text = ".func f()\n{\n\tret;\n}\n".repeat(STEP / 8);
        for room in [0, 1, 100, STEP, text.len() - 1, text.len(), text.len() + 1] {
            let mut memory = vec![0; room];
            let kept = Kept { memory: &mut memory, filled: 0 };
            let parts = Parts::new(text.as_bytes(), kept).each(false, whole);
            assert_eq!(
                parts.map(|parts| parts.concat() == text),
                (room > text.len()).then_some(true)
            );
        }
    }
}
