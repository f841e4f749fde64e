//! `vptx eval`
// Doc comments of arguments are help texts, not Markdown.
#![allow(clippy::doc_markdown)]

mod batch;
mod lines;

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::slice;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};

use self::batch::Batch;
use super::error::Trouble;
use super::{FAILED, FOUND, Output, trouble};
use crate::analysis::read_module;
use crate::check::CheckOptions;
use crate::diagnostic::Docs;
use crate::evaluation::{Evaluation, Record, Registers, words};
use crate::explain;
use crate::ir::Program;
use crate::report::{FileReport, Format, Reporter, Style, TextFacts, visible};
use crate::syntax::{TokenKind, statement_tokens};
use crate::video::{Instruction, Semantics};

#[derive(Debug, Args)]
#[command(after_help = "\
Name each input like its register in the instruction. Values are 32-bit words:
decimal (-2147483648 to 4294967295), 0x… or 0b…; _ may separate digits.
  vptx eval 'vadd4.u32.u32.u32.sat d, a, b, c;' a=0xff01f010 b=0x01ff2010

--batch reads lines INSTRUCTION<TAB>a<TAB>b<TAB>c, or lines a<TAB>b<TAB>c if the
instruction is an argument. The values belong to the first, second and third
source, whatever their names; a value that is not read may be - or missing. Line
n of the output answers line n of the input, so `paste` can join the two:
  0xffffff20                  the new d (three between tabs for --semantics all)
  error: V104 … (line 2)      the error in the line; the first word is the code
                              of a finding, or malformed
  (nothing)                   for a blank line, or one that starts with #
A line of more than 64 KiB, or with a fourth value, is malformed. The text is
UTF-8, or UTF-16 with a byte order mark.

--format svg draws the instruction with its values: the parts of its sources,
what each lane reads and computes, and the result. With --semantics all, those
that differ are drawn one below the other:
  vptx eval 'vmin4.s32.u32.s32 d, a.b7531, b, c;' a=1 b=2 --format svg > d.svg

--format json prints one object a line, with the fields line (null without
--batch), instruction, results (for each semantics, d as hex, unsigned and
signed; null for an error) and error (null, or code and message). Blank lines
and comments give no object. docs/eval.schema.json is the schema.

Exit status: 0 all computed, 1 an instruction or line is wrong, 2 could not
run.")]
pub(super) struct Arguments {
    /// One instruction; its final ; may be missing
    #[arg(value_name = "INSTRUCTION", required_unless_present = "batch")]
    instruction: Option<String>,

    /// Values of its source registers, such as a=0x01020304 or %r1=-5
    #[arg(value_name = "NAME=VALUE")]
    values: Vec<String>,

    /// The semantics to compute with
    #[arg(long, value_enum, default_value_t)]
    semantics: SemanticsName,

    /// Show the value of every step
    #[arg(long)]
    trace: bool,

    /// Evaluate the lines of a file, or of standard input for -
    #[arg(long, value_name = "FILE|-", conflicts_with_all = ["values", "trace"])]
    batch: Option<PathBuf>,

    /// How results are printed
    #[arg(long, visible_alias = "output-format", value_enum, default_value_t)]
    format: EvalFormat,
}

/// A format of results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum EvalFormat {
    /// Text for people; with --batch, one line for each result
    #[default]
    Text,
    /// JSON Lines: one object for each result
    Json,
    /// A picture of the lanes with all values
    Svg,
}

/// A choice of semantics on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SemanticsName {
    One(Semantics),
    All,
}

impl SemanticsName {
    const EACH: [SemanticsName; Semantics::ALL.len() + 1] = {
        let mut names = [SemanticsName::All; Semantics::ALL.len() + 1];
        let mut at = 0;
        while at < Semantics::ALL.len() {
            names[at] = SemanticsName::One(Semantics::ALL[at]);
            at += 1;
        }
        names
    };

    pub(super) fn list(&self) -> &[Semantics] {
        match self {
            SemanticsName::One(semantics) => slice::from_ref(semantics),
            SemanticsName::All => &Semantics::ALL,
        }
    }
}

impl Default for SemanticsName {
    fn default() -> SemanticsName {
        SemanticsName::One(Semantics::default())
    }
}

impl ValueEnum for SemanticsName {
    fn value_variants<'a>() -> &'a [SemanticsName] {
        &SemanticsName::EACH
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(match self {
            SemanticsName::One(semantics) => possible(*semantics),
            SemanticsName::All => PossibleValue::new("all").help("All three"),
        })
    }
}

fn possible(semantics: Semantics) -> PossibleValue {
    PossibleValue::new(semantics.text()).help(semantics.title())
}

/// Reads the name of one semantics.
pub(super) fn one_semantics() -> impl TypedValueParser<Value = Semantics> {
    PossibleValuesParser::new(Semantics::ALL.map(possible))
        .try_map(|name| name.parse::<Semantics>())
}

pub(super) fn run(arguments: &Arguments, out: &mut Output) -> Result<u8, Trouble> {
    let misused = match arguments.format {
        EvalFormat::Json if arguments.trace => {
            Some("--trace cannot be combined with --format json")
        }
        EvalFormat::Svg if arguments.trace => Some("--trace cannot be combined with --format svg"),
        EvalFormat::Svg if arguments.batch.is_some() => {
            Some("--batch cannot be combined with --format svg")
        }
        _ => None,
    };
    if let Some(message) = misused {
        return Err(message.into());
    }
    let semantics = arguments.semantics.list();
    let json = arguments.format == EvalFormat::Json;
    let fixed = match &arguments.instruction {
        None => None,
        Some(text) if json => match batch::parse(text) {
            Ok(instruction) => Some(instruction),
            Err(failure) => {
                Record::of_failure(None, Some(text), &failure).write(&mut out.stream)?;
                return Ok(FOUND);
            }
        },
        Some(text) => Some(instruction(text, out)?),
    };
    Ok(match (&arguments.batch, fixed) {
        (Some(path), fixed) => Batch::new(semantics, json, fixed.as_ref()).run(path, out)?,
        (None, Some(instruction)) => single(&instruction, arguments, out)?,
        // The parser rejects such arguments.
        (None, None) => FAILED,
    })
}

/// The one instruction that an argument must contain. If the argument is wrong, the
/// findings are printed.
pub(super) fn instruction(text: &str, out: &mut Output) -> Result<Instruction, Trouble> {
    // The `;` is added at the end of the code, so that findings can point at it.
    let mut source = text.to_string();
    match statement_tokens(text).last() {
        Some(last) if !last.is(b';') && last.kind() != TokenKind::UnclosedComment => {
            source.insert(last.span().end as usize, ';');
        }
        _ => {}
    }
    let (module, diagnostics) = read_module(&source, &CheckOptions::errors_only());
    if !diagnostics.is_empty() {
        let path = Path::new("<instruction>");
        let file = FileReport { path, source: &source, diagnostics: &diagnostics };
        out.stream.write_all(&human(&out.style, &file)?)?;
        return Err(Trouble::Printed(FOUND));
    }
    let only = source.parse::<Instruction>();
    let message = match (module.statements(), only) {
        ([_], Ok(instruction)) => return Ok(instruction),
        ([], _) if text.trim().is_empty() => "the instruction is empty".to_string(),
        ([], _) => format!("`{}` is not a video instruction", visible(text.trim())),
        _ => "expected one instruction, found more".to_string(),
    };
    trouble(&message);
    Err(Trouble::Printed(FOUND))
}

/// Findings for people.
pub(super) fn human(style: &Style, file: &FileReport<'_>) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    let facts = TextFacts::new(file.source);
    Reporter::new(Format::Human, *style, Docs::default()).file(&mut text, file, &facts)?;
    Ok(text)
}

fn single(instruction: &Instruction, arguments: &Arguments, out: &mut Output) -> io::Result<u8> {
    let list = arguments.semantics.list();
    let programs: Vec<Program> = list.iter().map(|&it| instruction.lower(it)).collect();
    let registers = Registers::of(instruction);
    let [a, b, c] = match words(&registers, &programs, &arguments.values) {
        Ok(words) => words,
        Err(troubles) => {
            for message in troubles {
                trouble(&message);
            }
            return Ok(FAILED);
        }
    };
    if arguments.format == EvalFormat::Svg {
        let picture = explain::svg(instruction, Some([a, b, c]), list);
        out.stream.write_all(picture.as_bytes())?;
        return Ok(0);
    }
    if arguments.format == EvalFormat::Json {
        let text = instruction.to_string();
        let results = list.iter().zip(programs.iter().map(|program| program.eval(a, b, c)));
        let record = Record::of_results(None, &text, results);
        record.write(&mut out.stream)?;
        return Ok(0);
    }
    // The stream is line-buffered, so the text goes out in one piece.
    let mut text = Vec::new();
    let evaluation = Evaluation {
        instruction,
        semantics: list,
        words: [a, b, c],
        trace: arguments.trace,
        unicode: out.style.unicode,
    };
    evaluation.write(&mut text)?;
    out.stream.write_all(&text)?;
    Ok(0)
}
