//! The text form of programs: one line per step, under the name of its stage.
//!
//! ```text
//! extract:
//!   %0: 0..4294967295 = a
//!   %1: -128..127 = s8 %0[16]
//! compute:
//!   %2: -256..254 = add %1, %1
//! write:
//!   %3: 0..4294967295 = u32 %2[0]
//! ```
//!
//! `s8 %0[16]` takes 8 bits from bit 16 up and reads them as signed. `insert %2, %1[16], 8`
//! replaces 8 bits of `%2` from bit 16 up by the low 8 bits of `%1`. Ranges are part of the
//! text, and reading checks them. `//` starts a comment.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use super::{Input, Op, Program, Range, Stage, Step, Value, VerifyError};
use crate::isa::Compare;

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "%{}", self.0)
    }
}

fn compare_name(compare: Compare) -> &'static str {
    &compare.modifier().text()[1..]
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Op::Input(input) => f.write_str(input.text()),
            Op::Constant(value) => write!(f, "{value}"),
            Op::Extract { value, low, width, signed } => {
                write!(f, "{}{width} {value}[{low}]", if signed { 's' } else { 'u' })
            }
            Op::Add(x, y) => write!(f, "add {x}, {y}"),
            Op::Sub(x, y) => write!(f, "sub {x}, {y}"),
            Op::Mul(x, y) => write!(f, "mul {x}, {y}"),
            Op::AbsDiff(x, y) => write!(f, "absdiff {x}, {y}"),
            Op::Min(x, y) => write!(f, "min {x}, {y}"),
            Op::Max(x, y) => write!(f, "max {x}, {y}"),
            Op::Shl(x, y) => write!(f, "shl {x}, {y}"),
            Op::Shr(x, y) => write!(f, "shr {x}, {y}"),
            Op::Compare(compare, x, y) => write!(f, "{} {x}, {y}", compare_name(compare)),
            Op::Clamp(value, range) => write!(f, "clamp {value}, {range}"),
            Op::Insert { base, value, low, width } => {
                write!(f, "insert {base}, {value}[{low}], {width}")
            }
        }
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut stage = None;
        for (at, step) in self.steps.iter().enumerate() {
            if stage.replace(step.stage) != Some(step.stage) {
                writeln!(f, "{}:", step.stage.text())?;
            }
            writeln!(f, "  %{at}: {} = {}", step.range, step.op)?;
        }
        Ok(())
    }
}

/// Serializes the text form.
#[cfg(feature = "serde")]
impl serde::Serialize for Program {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// The reason why a text is not a program.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ParseProgramError {
    /// A line that cannot be read.
    #[error("line {line}: {message}")]
    Syntax {
        /// The number of the line, from 1.
        line: usize,
        /// The error message.
        message: String,
    },
    /// The steps are not a program.
    #[error(transparent)]
    Verify(#[from] VerifyError),
}

impl FromStr for Program {
    type Err = ParseProgramError;

    /// Reads what [`Display`](fmt::Display) writes, and verifies it.
    ///
    /// # Errors
    /// The first line that cannot be read, or the first broken invariant.
    fn from_str(text: &str) -> Result<Program, ParseProgramError> {
        let mut steps = Vec::new();
        let mut stage = None;
        for (at, line) in text.lines().enumerate() {
            let line = line.split("//").next().unwrap_or_default().trim();
            let syntax = |message: String| ParseProgramError::Syntax { line: at + 1, message };
            if line.is_empty() {
                continue;
            }
            if let Some(name) = line.strip_suffix(':') {
                let found = Stage::ALL.into_iter().find(|stage| stage.text() == name);
                stage = Some(found.ok_or_else(|| syntax(format!("`{name}` is not a stage")))?);
                continue;
            }
            let Some(stage) = stage else {
                return Err(syntax(
                    "a line that names a stage must come before the first step".into(),
                ));
            };
            let (value, range, op) = step(line).map_err(syntax)?;
            if value.index() != steps.len() {
                return Err(syntax(format!("expected %{}, found {value}", steps.len())));
            }
            steps.push(Step { op, range, stage });
        }
        Ok(Program::new(steps)?)
    }
}

type Parsed<T> = Result<T, String>;

/// `%2: -256..254 = add %1, %1`
fn step(line: &str) -> Parsed<(Value, Range, Op)> {
    let shape = || format!("expected `%n: min..max = operation`, found `{line}`");
    let (value, rest) = line.split_once(':').ok_or_else(shape)?;
    let (range, op) = rest.split_once('=').ok_or_else(shape)?;
    Ok((self::value(value)?, self::range(range)?, operation(op.trim())?))
}

fn value(text: &str) -> Parsed<Value> {
    let digits = text.trim().strip_prefix('%');
    let number = digits.and_then(|digits| digits.parse().ok());
    number.map(Value).ok_or_else(|| format!("`{}` is not a value such as `%3`", text.trim()))
}

fn number<T: FromStr>(text: &str) -> Parsed<T> {
    text.trim().parse().map_err(|_| format!("`{}` is not a number", text.trim()))
}

fn range(text: &str) -> Parsed<Range> {
    let (min, max) = text
        .split_once("..")
        .ok_or_else(|| format!("`{}` is not a range such as `0..255`", text.trim()))?;
    Ok(Range::new(number(min)?, number(max)?))
}

/// `%1[16]`
fn indexed(text: &str) -> Parsed<(Value, u8)> {
    let shape = || format!("expected `%n[bit]`, found `{}`", text.trim());
    let (base, bit) =
        text.trim().strip_suffix(']').and_then(|text| text.split_once('[')).ok_or_else(shape)?;
    Ok((value(base)?, number(bit)?))
}

fn operation(text: &str) -> Parsed<Op> {
    if let Some(input) = Input::ALL.into_iter().find(|input| input.text() == text) {
        return Ok(Op::Input(input));
    }
    let Some((name, arguments)) = text.split_once(' ') else {
        return number(text).map(Op::Constant);
    };
    let arguments: Vec<&str> = arguments.split(',').collect();
    if let (Some(width), [from]) = (name.strip_prefix(['s', 'u']), arguments.as_slice())
        && let Ok(width) = number(width)
    {
        let (value, low) = indexed(from)?;
        return Ok(Op::Extract { value, low, width, signed: name.starts_with('s') });
    }
    let pair = || match arguments.as_slice() {
        [x, y] => Ok((value(x)?, value(y)?)),
        _ => Err(format!("`{name}` takes two values")),
    };
    let binary = |op: fn(Value, Value) -> Op| pair().map(|(x, y)| op(x, y));
    match (name, arguments.as_slice()) {
        ("add", _) => binary(Op::Add),
        ("sub", _) => binary(Op::Sub),
        ("mul", _) => binary(Op::Mul),
        ("absdiff", _) => binary(Op::AbsDiff),
        ("min", _) => binary(Op::Min),
        ("max", _) => binary(Op::Max),
        ("shl", _) => binary(Op::Shl),
        ("shr", _) => binary(Op::Shr),
        ("clamp", [inner, to]) => Ok(Op::Clamp(value(inner)?, range(to)?)),
        ("insert", [base, part, width]) => {
            let (part, low) = indexed(part)?;
            Ok(Op::Insert { base: value(base)?, value: part, low, width: number(width)? })
        }
        _ => match Compare::ALL.iter().find(|compare| compare_name(**compare) == name) {
            Some(&compare) => pair().map(|(x, y)| Op::Compare(compare, x, y)),
            None => Err(format!("`{name}` is not an operation")),
        },
    }
}
