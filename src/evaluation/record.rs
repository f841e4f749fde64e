//! Results and failures of evaluations as JSON Lines. The schema is
//! `docs/eval.schema.json`.

use std::collections::BTreeMap;
use std::io::{self, Write};

use serde::Serialize;

use crate::video::Semantics;

/// The reason why a line or an instruction has no result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Failure {
    /// The code of a finding, or `malformed`.
    pub(crate) code: &'static str,
    /// The message, on one line.
    pub(crate) message: String,
}

impl Failure {
    /// The failure of a malformed line.
    pub(crate) fn malformed(message: impl Into<String>) -> Failure {
        Failure::new("malformed", &message.into())
    }

    pub(crate) fn new(code: &'static str, message: &str) -> Failure {
        // Some line readers also end a line at these two characters.
        let breaks = |c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}');
        Failure { code, message: message.replace(breaks, " ") }
    }
}

/// What an instruction computes, or why that is not known.
#[derive(Serialize)]
pub struct Record<'a> {
    line: Option<u64>,
    instruction: Option<&'a str>,
    results: Option<BTreeMap<&'static str, Word>>,
    error: Option<&'a Failure>,
}

#[derive(Serialize)]
struct Word {
    hex: String,
    unsigned: u32,
    signed: i32,
}

impl<'a> Record<'a> {
    /// The results of an instruction, and the number of its line if it has one.
    pub fn of_results<'s>(
        line: Option<u64>,
        instruction: &'a str,
        results: impl Iterator<Item = (&'s Semantics, u32)>,
    ) -> Record<'a> {
        let word =
            |d: u32| Word { hex: format!("{d:#010x}"), unsigned: d, signed: d.cast_signed() };
        let results = results.map(|(semantics, d)| (semantics.text(), word(d))).collect();
        Record { line, instruction: Some(instruction), results: Some(results), error: None }
    }

    pub(crate) fn of_failure(
        line: Option<u64>,
        instruction: Option<&'a str>,
        error: &'a Failure,
    ) -> Record<'a> {
        Record { line, instruction, results: None, error: Some(error) }
    }

    /// Writes the record and the end of a line.
    ///
    /// # Errors
    /// An error in writing.
    pub fn write(&self, out: &mut impl Write) -> io::Result<()> {
        serde_json::to_writer(&mut *out, self).map_err(io::Error::from)?;
        out.write_all(b"\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_on_one_line() {
        let failure = Failure::malformed("a\nb\r\u{85}c\u{2028}d\u{2029}é");
        assert_eq!(failure.message, "a b  c d é");
    }
}
