//! `vptx eval --batch`: one output line for each input line.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::path::Path;
use std::rc::Rc;

use super::lines::{LONGEST, Line, Lines};
use crate::cli::{FAILED, FOUND, Output, trouble};
use crate::evaluation::{Failure, Record, Registers, word};
use crate::ir::{Input, Program};
use crate::report::{visible, visible_path};
use crate::video::{Instruction, Semantics};
use crate::workspace::error::reason;

/// The largest number of texts whose programs are kept.
const KEPT: usize = 4096;
/// The largest length of a text that is kept, in bytes. A line may be much longer.
const SHORT: usize = 1024;

/// An instruction that is ready to be evaluated.
struct Prepared {
    /// One program for each semantics.
    programs: Vec<Program>,
    registers: Registers,
}

impl Prepared {
    fn new(instruction: &Instruction, semantics: &[Semantics]) -> Prepared {
        let programs = semantics.iter().map(|&it| instruction.lower(it)).collect();
        Prepared { programs, registers: Registers::of(instruction) }
    }

    fn reads(&self, place: usize) -> bool {
        self.programs.iter().any(|program| program.reads(Input::ALL[place]))
    }

    /// The name of a source, such as `a`. If its register has another name, both names are given.
    fn name(&self, place: usize) -> String {
        let letter = Input::ALL[place].text();
        match &self.registers.sources[place] {
            Some(name) if name != letter => format!("{letter} (`{name}`)"),
            _ => letter.into(),
        }
    }

    /// The words of the three sources. Sources in the same register have the same word.
    fn words(&self, given: [Option<u32>; 3]) -> Result<[u32; 3], Failure> {
        let mut words = [0; 3];
        for (place, word) in words.iter_mut().enumerate() {
            let own = &self.registers.sources[place];
            let is_same = |other: &usize| {
                *other == place || own.is_some() && self.registers.sources[*other] == *own
            };
            let mut found: Option<(usize, u32)> = None;
            for other in (0..3).filter(is_same) {
                match (found, given[other]) {
                    (Some((first, value)), Some(second)) if value != second => {
                        return Err(Failure::malformed(format!(
                            "{} and {} are the same register, but have two values",
                            self.name(first),
                            self.name(other)
                        )));
                    }
                    (None, Some(value)) => found = Some((other, value)),
                    _ => {}
                }
            }
            match found {
                Some((_, value)) => *word = value,
                None if self.reads(place) => {
                    let name = self.name(place);
                    return Err(Failure::malformed(format!("{name} is read but has no value")));
                }
                None => {}
            }
        }
        Ok(words)
    }
}

/// Parses the instruction of a line or an argument.
pub(super) fn parse(text: &str) -> Result<Instruction, Failure> {
    text.parse::<Instruction>().map_err(|error| {
        let message = error.to_string();
        match error.diagnostics().first() {
            Some(first) => Failure::new(first.code.text(), &message),
            None => Failure::malformed(message),
        }
    })
}

/// Evaluates lines.
pub(super) struct Batch<'b> {
    semantics: &'b [Semantics],
    json: bool,
    /// The instruction of all lines, if the lines have only values.
    fixed: Option<(String, Rc<Prepared>)>,
    known: HashMap<String, Result<Rc<Prepared>, Failure>>,
}

impl<'b> Batch<'b> {
    pub(super) fn new(
        semantics: &'b [Semantics],
        json: bool,
        fixed: Option<&Instruction>,
    ) -> Batch<'b> {
        let prepared = |it: &Instruction| (it.to_string(), Rc::new(Prepared::new(it, semantics)));
        Batch { semantics, json, fixed: fixed.map(prepared), known: HashMap::new() }
    }

    pub(super) fn run(mut self, path: &Path, out: &mut Output) -> io::Result<u8> {
        let (name, input): (String, Box<dyn Read>) = if path.as_os_str() == "-" {
            ("standard input".into(), Box::new(io::stdin().lock()))
        } else {
            let name = format!("`{}`", visible_path(path));
            match File::open(path) {
                Ok(file) => (name, Box::new(file)),
                Err(error) => return Ok(unreadable(&name, &error)),
            }
        };
        let mut writer = BufWriter::with_capacity(1 << 16, &mut out.stream);
        let mut lines = match Lines::new(input) {
            Ok(lines) => lines,
            Err(error) => return Ok(unreadable(&name, &error)),
        };
        let mut status = 0;
        let mut line = Vec::new();
        for number in 1.. {
            // A caller may wait for an answer before sending the next line.
            if lines.must_read() {
                writer.flush()?;
            }
            // The reader is gone, so no more answers are needed.
            if writer.get_ref().is_closed {
                break;
            }
            let answered = match lines.next(&mut line) {
                Ok(Line::End) => break,
                Ok(Line::TooLong) => self.fail(
                    number,
                    None,
                    &Failure::malformed(format!("more than {LONGEST} bytes")),
                    &mut writer,
                ),
                Ok(Line::Whole) => {
                    let mut text = line.as_slice();
                    if number == 1 {
                        text = text.strip_prefix("\u{feff}".as_bytes()).unwrap_or(text);
                    }
                    self.answer(number, text, &mut writer)
                }
                Err(error) => {
                    writer.flush()?;
                    return Ok(unreadable(&name, &error));
                }
            };
            status = status.max(answered?);
        }
        writer.flush()?;
        Ok(status)
    }

    /// Writes the answer to a line, and returns the exit status for it.
    fn answer(&mut self, number: u64, line: &[u8], out: &mut impl Write) -> io::Result<u8> {
        if matches!(line.trim_ascii_start(), [] | [b'#', ..]) {
            // JSON records have line numbers. Text answers are counted, so each line needs one.
            if !self.json {
                out.write_all(b"\n")?;
            }
            return Ok(0);
        }
        let text = match std::str::from_utf8(line) {
            Ok(text) if !text.contains('\0') => text,
            Ok(_) => {
                let why = "it has NUL bytes; is it UTF-16 without a byte order mark?";
                return self.fail(number, None, &Failure::malformed(why), out);
            }
            Err(_) => return self.fail(number, None, &Failure::malformed("not UTF-8"), out),
        };
        let (instruction, columns) = if self.fixed.is_some() {
            (None, text)
        } else {
            let (instruction, columns) = text.split_once('\t').unwrap_or((text, ""));
            (Some(instruction.trim()), columns)
        };
        match self.evaluate(instruction, columns) {
            Ok((prepared, [a, b, c])) => {
                let mut results = prepared.programs.iter().map(|program| program.eval(a, b, c));
                if self.json {
                    let fixed = self.fixed.as_ref().map(|(text, _)| text.as_str());
                    let text = instruction.or(fixed).unwrap_or_default();
                    let results = self.semantics.iter().zip(results);
                    Record::of_results(Some(number), text, results).write(out)?;
                } else {
                    if let Some(d) = results.next() {
                        write!(out, "{d:#010x}")?;
                    }
                    results.try_for_each(|d| write!(out, "\t{d:#010x}"))?;
                    out.write_all(b"\n")?;
                }
                Ok(0)
            }
            Err(failure) => self.fail(number, instruction, &failure, out),
        }
    }

    fn fail(
        &self,
        number: u64,
        instruction: Option<&str>,
        failure: &Failure,
        out: &mut impl Write,
    ) -> io::Result<u8> {
        if self.json {
            let fixed = self.fixed.as_ref().map(|(text, _)| text.as_str());
            Record::of_failure(Some(number), instruction.or(fixed), failure).write(out)?;
        } else {
            let Failure { code, message } = failure;
            // After a code that is not the code of a rule, `line:` follows.
            let line = if code.starts_with('V') { "" } else { " line:" };
            writeln!(out, "error: {code}{line} {} (line {number})", visible(message))?;
        }
        Ok(FOUND)
    }

    /// The instruction of a line, and the words of its sources.
    fn evaluate(
        &mut self,
        instruction: Option<&str>,
        columns: &str,
    ) -> Result<(Rc<Prepared>, [u32; 3]), Failure> {
        let prepared = match (instruction, &self.fixed) {
            (Some(text), _) => self.prepared(text)?,
            (None, Some((_, prepared))) => Rc::clone(prepared),
            (None, None) => return Err(Failure::malformed("no instruction")),
        };
        let mut columns = columns.split('\t').map(str::trim);
        let mut given = [None; 3];
        for (place, given) in given.iter_mut().enumerate() {
            *given = match columns.next() {
                None | Some("" | "-") => None,
                Some(text) => Some(word(text).map_err(|error| {
                    let name = prepared.name(place);
                    match separator(text) {
                        Some(other) => Failure::malformed(not_by(other)),
                        None => Failure::malformed(format!("`{text}` for {name} {error}")),
                    }
                })?),
            };
        }
        if let Some(surplus) = columns.find(|text| !text.is_empty()) {
            let message = format!("`{surplus}` is one value too many: only a, b and c have values");
            return Err(Failure::malformed(message));
        }
        let words = prepared.words(given)?;
        Ok((prepared, words))
    }

    /// The program of an instruction's text. It is built at first use and kept.
    fn prepared(&mut self, text: &str) -> Result<Rc<Prepared>, Failure> {
        if let Some(known) = self.known.get(text) {
            return known.clone();
        }
        if self.known.len() >= KEPT {
            self.known.clear();
        }
        let prepared = match values_after(text) {
            Some(other) => Err(Failure::malformed(not_by(other))),
            None => parse(text).map(|it| Rc::new(Prepared::new(&it, self.semantics))),
        };
        if text.len() <= SHORT {
            self.known.insert(text.into(), prepared.clone());
        }
        prepared
    }
}

fn unreadable(name: &str, error: &io::Error) -> u8 {
    trouble(&format!("cannot read {name}: {}", reason(error)));
    FAILED
}

fn not_by(separator: &str) -> String {
    format!("tabs must stand between columns, not {separator}")
}

/// The separator of values that follow the instruction in the same column. `None` if there are no
/// such values.
fn values_after(text: &str) -> Option<&'static str> {
    text.split_once(';').and_then(|(_, rest)| separator(rest))
}

/// The separator between the values in a text, or before the first value. `None` if the text is not
/// a list of values.
fn separator(text: &str) -> Option<&'static str> {
    let separates = |c: char| c.is_whitespace() || matches!(c, ',' | ';' | '"');
    let mut values = text.split(separates).filter(|value| !value.is_empty()).peekable();
    values.peek()?;
    if !text.contains(separates) || !values.all(|value| value == "-" || word(value).is_ok()) {
        return None;
    }
    Some(match () {
        () if text.contains(',') => "commas",
        () if text.contains(';') => "semicolons",
        () if text.contains('"') => "quotes",
        () => "blanks",
    })
}
