//! Parses the values of source registers.

use std::collections::BTreeMap;

use thiserror::Error;

use crate::ir::{Input, Program};
use crate::video::{Instruction, Register};

/// The registers of an instruction.
pub struct Registers {
    /// The destination.
    pub d: String,
    /// The sources in their places. `None` for a constant, or if there is no source.
    pub sources: [Option<String>; 3],
}

impl Registers {
    /// The registers of an instruction.
    pub fn of(instruction: &Instruction) -> Registers {
        let name = |register: &Register| register.name().to_string();
        let sources = instruction.sources().map(|source| source.map(name));
        Registers { d: name(instruction.destination()), sources }
    }

    /// The names of the sources, each once, in order.
    fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for name in self.sources.iter().flatten() {
            if !names.contains(&name.as_str()) {
                names.push(name);
            }
        }
        names
    }
}

/// The reason why a text is not a 32-bit word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub(crate) enum WordError {
    #[error("is not a number: write it in decimal, as 0x… or as 0b…")]
    NoNumber,
    #[error("does not fit 32 bits, which hold -2147483648 to 4294967295")]
    TooLarge,
}

/// Parses a 32-bit word.
pub(crate) fn word(text: &str) -> Result<u32, WordError> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let (radix, digits) = match digits.get(..2) {
        Some("0x" | "0X") => (16, &digits[2..]),
        Some("0b" | "0B") => (2, &digits[2..]),
        _ => (10, digits),
    };
    // Rejects a sign, `_` and an empty text.
    if !digits.starts_with(|first: char| first.is_digit(radix))
        || !digits.chars().all(|digit| digit == '_' || digit.is_digit(radix))
    {
        return Err(WordError::NoNumber);
    }
    let value = if digits.contains('_') {
        i64::from_str_radix(&digits.replace('_', ""), radix)
    } else {
        i64::from_str_radix(digits, radix)
    };
    // Too many digits are the only error left.
    let value = value.map_err(|_| WordError::TooLarge)?;
    let value = if negative { -value } else { value };
    u32::try_from(value)
        .or_else(|_| i32::try_from(value).map(i32::cast_unsigned))
        .map_err(|_| WordError::TooLarge)
}

/// The words for the places `a`, `b`, `c`, or all errors in the given values. Places
/// that no program reads get 0.
///
/// # Errors
/// A sentence for each thing that is wrong.
pub fn words(
    registers: &Registers,
    programs: &[Program],
    given: &[String],
) -> Result<[u32; 3], Vec<String>> {
    let names = registers.names();
    let mut troubles = Vec::new();
    let mut values: BTreeMap<&str, u32> = BTreeMap::new();
    let (mut unknown, mut repeated) = (Vec::new(), Vec::new());
    let mut bad: Vec<&str> = Vec::new();
    for argument in given {
        let parts = argument.split_once('=').filter(|(name, _)| !name.is_empty());
        let Some((name, text)) = parts else {
            troubles.push(format!("`{argument}` is not an input: write NAME=VALUE"));
            continue;
        };
        if !names.contains(&name) {
            unknown.push(name);
        } else if values.contains_key(name) || bad.contains(&name) {
            repeated.push(name);
        } else {
            match word(text) {
                Ok(value) => drop(values.insert(name, value)),
                Err(error) => {
                    bad.push(name);
                    troubles.push(format!("`{text}` for {name} {error}"));
                }
            }
        }
    }
    if !unknown.is_empty() {
        let sources = match names.as_slice() {
            [] => "the sources are constants".into(),
            [one] => format!("the source is {one}"),
            _ => format!("the sources are {}", names.join(", ")),
        };
        let d = if unknown.contains(&registers.d.as_str()) {
            format!("; the old value of {} is not used", registers.d)
        } else {
            String::new()
        };
        troubles.push(format!("{}: {}; {sources}{d}", inputs("unknown", &unknown), list(&unknown)));
    }
    if !repeated.is_empty() {
        troubles.push(format!("{}: {}", inputs("repeated", &repeated), list(&repeated)));
    }
    let read = |input| programs.iter().any(|program| program.reads(input));
    let mut missing: Vec<&str> = Vec::new();
    let mut words = [0; 3];
    for ((word, name), input) in words.iter_mut().zip(&registers.sources).zip(Input::ALL) {
        let Some(name) = name.as_deref() else { continue };
        match values.get(name) {
            Some(&value) => *word = value,
            None if !read(input) || bad.contains(&name) || missing.contains(&name) => {}
            None => missing.push(name),
        }
    }
    if !missing.is_empty() {
        let add: Vec<String> = missing.iter().map(|name| format!("{name}=…")).collect();
        let what = inputs("missing", &missing);
        troubles.push(format!("{what}: {}; add {}", list(&missing), add.join(" ")));
    }
    if troubles.is_empty() { Ok(words) } else { Err(troubles) }
}

fn inputs(what: &str, names: &[&str]) -> String {
    format!("{what} input{}", if names.len() == 1 { "" } else { "s" })
}

fn list(names: &[&str]) -> String {
    names.join(", ")
}
