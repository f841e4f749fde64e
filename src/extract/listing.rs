//! The PTX texts in a listing of cuobjdump.
//!
//! ```text
//! Fatbin ptx code:
//! ================
//! arch = sm_52
//! code version = [7,8]
//!
//! .version 7.8
//! ```
//!
//! A text starts after the first empty line of its part, and ends where the next part starts.
//! cuobjdump 13.5 leaves out comments, and indents the headings of a concatenated entry by a tab.

use std::io::{BufRead, BufReader, Read};

use super::{Compression, Counts, ExtractError, Image, Limits};
use crate::isa::Target;
use crate::syntax::listing::{Heading, heading};

/// Bytes that are read at once; most lines are shorter.
const LINE: u64 = 64 << 10;

/// Calls `visit` with each text of a listing and each error, in order. Keeps one text at a time.
pub(super) fn texts(
    file: impl Read,
    limits: Limits,
    visit: &mut dyn FnMut(Result<Image, ExtractError>),
) -> Counts {
    let mut reader = BufReader::new(file);
    let mut listing = Listing { limits, counts: Counts::default(), part: Part::Other };
    let (mut line, mut offset, mut is_start) = (Vec::new(), 0, true);
    loop {
        line.clear();
        match reader.by_ref().take(LINE).read_until(b'\n', &mut line) {
            Ok(0) => break,
            Ok(length) => {
                listing.line(&line, is_start, offset, visit);
                offset += length as u64;
                is_start = line.ends_with(b"\n");
            }
            Err(error) => {
                visit(Err(error.into()));
                break;
            }
        }
    }
    listing.end(visit);
    listing.counts
}

struct Listing {
    limits: Limits,
    counts: Counts,
    part: Part,
}

/// The part of a listing that is read.
enum Part {
    /// Machine code, or nothing yet.
    Other,
    /// The lines about a text, which stand before it.
    Head(Image),
    Text(Image),
    /// The rest of a text that is too long: the offset and the length so far of the text.
    TooLong(u64, u64),
}

impl Listing {
    /// Reads a line, or a piece of a long one.
    fn line(
        &mut self,
        line: &[u8],
        is_start: bool,
        offset: u64,
        visit: &mut dyn FnMut(Result<Image, ExtractError>),
    ) {
        let text = line.trim_ascii();
        if is_start && let Some(heading) = heading(text) {
            self.end(visit);
            match heading {
                Heading::Ptx => {}
                Heading::Machine => return self.counts.cubin += 1,
                Heading::Other | Heading::Member => return,
            }
            self.part = Part::Head(Image {
                number: self.counts.ptx as u32 + self.counts.failed as u32 + 1,
                offset,
                target: Target::sm(0),
                version: (0, 0),
                compression: Compression::None,
                replaces: None,
                is_file: false,
                bytes: Vec::new(),
            });
            return;
        }
        match &mut self.part {
            Part::Head(image) if text.is_empty() => {
                self.part = Part::Text(image.clone());
            }
            Part::Head(image) => described(image, text),
            Part::Text(image) => {
                let length = (image.bytes.len() + line.len()) as u64;
                if length > self.limits.image {
                    self.part = Part::TooLong(image.offset, length);
                } else {
                    image.bytes.extend_from_slice(line);
                }
            }
            Part::TooLong(_, length) => *length += line.len() as u64,
            Part::Other => {}
        }
    }

    /// Ends a part.
    fn end(&mut self, visit: &mut dyn FnMut(Result<Image, ExtractError>)) {
        match std::mem::replace(&mut self.part, Part::Other) {
            Part::Text(image) => {
                self.counts.ptx += 1;
                visit(Ok(image));
            }
            Part::TooLong(offset, length) => {
                self.counts.failed += 1;
                let limit = self.limits.image;
                visit(Err(ExtractError::TooLarge { offset, length, limit }));
            }
            Part::Head(image) => {
                self.counts.failed += 1;
                visit(Err(ExtractError::Truncated { offset: image.offset }));
            }
            Part::Other => {}
        }
    }
}

/// Keeps the values of lines such as `arch = sm_52` and `code version = [7,8]`.
fn described(image: &mut Image, line: &[u8]) {
    let line = String::from_utf8_lossy(line);
    let Some((key, value)) = line.split_once(" = ") else { return };
    match key {
        "arch" => image.target = value.parse().unwrap_or(image.target),
        "code version" => {
            let numbers = value.trim_matches(['[', ']']).split_once(',');
            let numbers = numbers.and_then(|(major, minor)| {
                Some((major.trim().parse().ok()?, minor.trim().parse().ok()?))
            });
            image.version = numbers.unwrap_or(image.version);
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(listing: &str, limit: u64) -> (Vec<Result<Image, String>>, Counts) {
        let mut found = Vec::new();
        let limits = Limits::default().with_image(limit);
        let counts = texts(listing.as_bytes(), limits, &mut |it| {
            found.push(it.map_err(|error| error.to_string()));
        });
        (found, counts)
    }

    #[test]
    fn texts_lie_between_the_headings() {
        let listing = "\nFatbin elf code:\n====\narch = sm_52\n\nFatbin ptx code:\n=====\n\
                       arch = sm_90a\ncode version = [8,4]\nptxasOptions = \n\n//\n\n.version 8.4\n\
                       // Fatbin ptx code:\n\nFatbin ptx code:\r\n===\narch = x\n\n.version 1.0";
        let (found, counts) = read(listing, 1000);
        let [Ok(first), Ok(second)] = &found[..] else { panic!("{found:?}") };
        assert_eq!(first.name(), "1.sm_90a.ptx");
        assert_eq!(first.version, (8, 4));
        assert_eq!(first.text(), "//\n\n.version 8.4\n// Fatbin ptx code:\n\n");
        assert_eq!(&listing[first.offset as usize..][..16], "Fatbin ptx code:");
        assert_eq!((second.number, &*second.text()), (2, ".version 1.0"));
        // Nothing that can be read tells these.
        assert_eq!((second.target.number, second.version), (0, (0, 0)));
        assert_eq!((counts.ptx, counts.cubin, counts.failed), (2, 1, 0));
    }

    #[test]
    fn a_long_text_is_passed_over_and_an_open_one_reported() {
        let long =
            format!("Fatbin ptx code:\n==\n\n{}\nFatbin ptx code:\n\nx", "y".repeat(200_000));
        let (found, counts) = read(&long, 100_000);
        let [Err(error), Ok(_)] = &found[..] else { panic!("{found:?}") };
        assert!(error.contains("more than 100000 bytes"), "{error}");
        assert_eq!((counts.ptx, counts.failed), (1, 1));
        let (found, counts) = read("Fatbin ptx code:\n====\n", 100);
        assert!(matches!(&found[..], [Err(error)] if error.contains("cut off")), "{found:?}");
        assert_eq!((counts.ptx, counts.failed), (0, 1));
    }
}
