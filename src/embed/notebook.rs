//! The code cells of a Jupyter notebook, which is JSON.
//!
//! The cells in the notebook's language make one text. A cell of CUDA, which starts with a command
//! such as `%%cu` or `%%writefile kernel.cu`, makes a text of its own. What comes after a mistake
//! in the JSON is not read.

use super::scan::{Form, Literal};
use super::{Host, Layer, Quoting};

/// Cell commands that Python follows.
const PYTHON: [&str; 5] = ["%%time", "%%timeit", "%%capture", "%%prun", "%%memit"];
/// Cell commands that CUDA follows.
const CUDA: [&str; 4] = ["%%cu", "%%cuda", "%%cuda_run", "%%cuda_group_save"];
/// Endings of the names of CUDA files that `%%writefile` writes.
const FILES: [&str; 4] = [".cu", ".cuh", ".cpp", ".h"];

/// The text of cells.
pub(crate) struct Cells {
    pub(crate) host: Host,
    pub(crate) layer: Layer,
}

impl Cells {
    fn new(source: &str, host: Host, literals: Vec<Literal>) -> Option<Cells> {
        let layer = Layer::new(Quoting::Json, source, literals);
        (!layer.text().is_empty()).then_some(Cells { host, layer })
    }
}

/// The cells of a notebook, and the place of a mistake in its JSON, which ends the reading.
pub(crate) fn cells(source: &str) -> (Vec<Cells>, Option<u32>) {
    let pos = crate::source::mark_len(source.as_bytes());
    let mut reader = Reader { source, pos };
    let mut found = CodeCells { main: Vec::new(), others: Vec::new(), host: Host::Python };
    let done = reader.members(|reader, key| match key {
        "cells" => reader.elements(|reader| {
            let cell = reader.cell()?;
            found.add(source, cell);
            Some(())
        }),
        "metadata" => reader.members(|reader, key| match key {
            "kernelspec" | "language_info" => reader.members(|reader, key| match key {
                "language" | "name" => {
                    reader.text(|it| match it.body.text(source).to_ascii_lowercase().as_str() {
                        "julia" => found.host = Host::Julia,
                        "rust" => found.host = Host::Rust,
                        "mojo" => found.host = Host::Mojo,
                        _ => {}
                    })
                }
                _ => reader.skip(),
            }),
            _ => reader.skip(),
        }),
        _ => reader.skip(),
    });
    let mistake = done.is_none().then_some(reader.pos.min(source.len()) as u32);
    let CodeCells { main, mut others, host } = found;
    others.extend(Cells::new(source, host, main));
    (others, mistake)
}

struct CodeCells {
    main: Vec<Literal>,
    others: Vec<Cells>,
    host: Host,
}

impl CodeCells {
    /// Adds the lines of a code cell.
    fn add(&mut self, source: &str, mut lines: Vec<Literal>) {
        let Some(first) = lines.first_mut() else { return };
        let line = first.body.text(source);
        let line = &line[..line.find("\\n").unwrap_or(line.len())];
        let command = line.split_ascii_whitespace().next().unwrap_or_default();
        let writes =
            command == "%%writefile" && FILES.iter().any(|it| line.trim_end().ends_with(it));
        if writes || CUDA.contains(&command) {
            self.others.extend(Cells::new(source, Host::C, lines));
        } else if !command.starts_with("%%") || PYTHON.contains(&command) {
            // A line break stands between cells.
            first.joined_by_line = !self.main.is_empty();
            self.main.append(&mut lines);
        }
    }
}

/// The strings in a piece of a list; `None` if the piece has other elements.
pub(super) fn literals(source: &str) -> Option<Vec<Literal>> {
    let mut reader = Reader { source, pos: 0 };
    let mut all = Vec::new();
    loop {
        all.push(reader.string()?);
        reader.blanks();
        if reader.pos == source.len() {
            return Some(all);
        }
        reader.eat(b',')?;
        reader.blanks();
    }
}

/// A place in JSON. Each method ends after what it reads.
struct Reader<'s> {
    source: &'s str,
    pos: usize,
}

impl Reader<'_> {
    fn peek(&self) -> Option<u8> {
        self.source.as_bytes().get(self.pos).copied()
    }

    fn blanks(&mut self) {
        while self.peek().is_some_and(|byte| byte.is_ascii_whitespace()) {
            self.pos += 1;
        }
    }

    fn eat(&mut self, byte: u8) -> Option<()> {
        (self.peek() == Some(byte)).then(|| self.pos += 1)
    }

    fn string(&mut self) -> Option<Literal> {
        let start = self.pos;
        self.eat(b'"')?;
        loop {
            let rest = &self.source.as_bytes()[self.pos..];
            let n = memchr::memchr2(b'"', b'\\', rest)?;
            let is_end = rest[n] == b'"';
            self.pos += n + 1 + usize::from(!is_end);
            if is_end {
                break;
            }
            self.peek()?;
        }
        Some(Literal::new(start, start + 1..self.pos - 1, self.pos, Form::Json))
    }

    /// Passes a string to a function. Skips any other value.
    fn text(&mut self, take: impl FnOnce(Literal)) -> Option<()> {
        if self.peek() != Some(b'"') {
            return self.skip();
        }
        self.string().map(take)
    }

    /// Skips a value.
    fn skip(&mut self) -> Option<()> {
        let (mut depth, start) = (0_usize, self.pos);
        loop {
            let Some(byte) = self.peek() else {
                return (depth == 0 && self.pos > start).then_some(());
            };
            match byte {
                b'"' => _ = self.string()?,
                b'{' | b'[' => {
                    depth += 1;
                    self.pos += 1;
                }
                b'}' | b']' | b',' if depth == 0 => return Some(()),
                b'}' | b']' => {
                    depth -= 1;
                    self.pos += 1;
                }
                byte if byte.is_ascii_alphanumeric() || byte.is_ascii_whitespace() => self.pos += 1,
                b',' | b':' | b'-' | b'+' | b'.' => self.pos += 1,
                // Such as a mark of git at two versions of a line.
                _ => return None,
            }
        }
    }

    /// Reads each element of a list with a function. Skips any other value.
    fn elements(&mut self, mut each: impl FnMut(&mut Self) -> Option<()>) -> Option<()> {
        self.list(b'[', b']', |reader| each(reader))
    }

    /// Reads each value of an object with a function. Skips any other value.
    fn members(&mut self, mut each: impl FnMut(&mut Self, &str) -> Option<()>) -> Option<()> {
        self.list(b'{', b'}', |reader| {
            let key = reader.string()?.body.text(reader.source);
            reader.blanks();
            reader.eat(b':')?;
            reader.blanks();
            each(reader, key)
        })
    }

    fn list(
        &mut self,
        open: u8,
        close: u8,
        mut each: impl FnMut(&mut Self) -> Option<()>,
    ) -> Option<()> {
        self.blanks();
        if self.eat(open).is_none() {
            return self.skip();
        }
        loop {
            self.blanks();
            if self.eat(close).is_some() {
                return Some(());
            }
            each(self)?;
            self.blanks();
            if self.peek()? != close {
                self.eat(b',')?;
            }
        }
    }

    /// The lines of a cell; none if it has no code.
    fn cell(&mut self) -> Option<Vec<Literal>> {
        let (mut lines, mut is_code) = (Vec::new(), false);
        let source = self.source;
        self.members(|reader, key| match key {
            "cell_type" => reader.text(|it| is_code = it.body.text(source) == "code"),
            "source" if reader.peek() == Some(b'"') => reader.text(|it| lines.push(it)),
            "source" => reader.elements(|reader| reader.text(|it| lines.push(it))),
            _ => reader.skip(),
        })?;
        Some(if is_code { lines } else { Vec::new() })
    }
}
