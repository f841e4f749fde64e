//! `vptx lower`
// Doc comments of arguments are help texts, not Markdown.
#![allow(clippy::doc_markdown)]

pub(super) mod ptx;

use std::io::{self, Write};
use std::path::Path;

use clap::{Args, ValueEnum};

use self::ptx::Trouble;
use super::eval::{self, SemanticsName};
use super::input::{Bytes, Input};
use super::kind::{Kind, OnlyPtx};
use super::{FAILED, FOUND, Output, errors_only, trouble, unknown_target};
use crate::ast::Instruction;
use crate::check::parse_with;
use crate::ir::Program;
use crate::isa::Target;
use crate::report::{visible, visible_path};
use crate::source::{LineIndex, Position, decoded};

#[derive(Debug, Args)]
#[command(after_help = "\
--emit ir prints the program of every video instruction of a file; a comment
says where it stands.
  vptx lower 'vmin.s32.s32.s32.add d, a.b0, b.h1, c;' --emit ir

--emit ptx prints the file with ordinary PTX in the place of the video
instructions for which ptxas 13.5 needs more machine instructions on the target
than for the PTX written here; all else stays, byte for byte. What was done,
and where the three semantics differ, is told on standard error. Of a single
instruction, the statements are printed whether or not they are fewer.
  vptx lower --emit ptx --target sm_90 kernel.ptx > kernel.fast.ptx
  vptx lower --emit ptx --target sm_90 'vavrg4.u32.u32.u32 d, a, b, c;'

Exit status: 0 all lowered, 1 an instruction is wrong or cannot be written for
the target, 2 could not run.")]
pub(super) struct Arguments {
    /// A PTX file, - for standard input, or one instruction
    #[arg(value_name = "FILE|-|INSTRUCTION", default_value = "-")]
    subject: String,

    /// Take the text for PTX, whatever its name
    #[arg(long, value_enum)]
    language: Option<OnlyPtx>,

    /// What instructions are turned into
    #[arg(long, value_enum, value_name = "WHAT")]
    emit: Emit,

    /// What the instructions are taken to mean [default: manual for ir, ptxas-13
    /// for ptx: what the program does today]
    #[arg(long, value_enum)]
    semantics: Option<SemanticsName>,

    /// The target to write PTX for, such as sm_90 [default: the module's own]
    #[arg(long, value_name = "TARGET")]
    target: Option<Target>,

    /// Rewrite what does not become cheaper, too
    #[arg(long)]
    all: bool,

    /// Write each original as a comment
    #[arg(long)]
    comments: bool,

    /// Tell nothing of what was rewritten
    #[arg(long, short)]
    pub(super) quiet: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Emit {
    /// Programs over exact integers, a step a line, by the manual's stages
    Ir,
    /// Ordinary PTX
    Ptx,
}

pub(super) fn run(arguments: &Arguments, out: &mut Output) -> io::Result<u8> {
    let subject = arguments.subject.as_str();
    let path = Path::new(subject);
    if arguments.emit == Emit::Ir
        && (arguments.target.is_some() || arguments.all || arguments.comments)
    {
        trouble("--target, --all and --comments belong to --emit ptx");
        return Ok(FAILED);
    }
    if arguments.emit == Emit::Ptx && arguments.semantics == Some(SemanticsName::All) {
        trouble("--emit ptx takes one semantics: manual, ptxas-12 or ptxas-13");
        return Ok(FAILED);
    }
    if let Some(message) = arguments.target.and_then(unknown_target) {
        trouble(&message);
    }
    let input = match subject {
        "-" => Input::Stdin,
        _ if path.exists() => Input::File(path.into()),
        _ if subject.contains(|c: char| c.is_whitespace() || c == ';') => {
            return match eval::instruction(subject, out)? {
                Ok(instruction) => single(&instruction, arguments, out),
                Err(status) => Ok(status),
            };
        }
        _ => {
            let shown = visible(subject);
            trouble(&format!("there is no file `{shown}`, and it is no instruction either"));
            return Ok(FAILED);
        }
    };
    let text = Text::of(&input, arguments.language);
    let done = text.map_err(Trouble::Input).and_then(|text| match arguments.emit {
        Emit::Ir => {
            let bytes = text.bytes(&input)?;
            let semantics = arguments.semantics.unwrap_or_default();
            file(input.shown(), &decoded(&bytes), semantics, out).map_err(Trouble::Output)
        }
        Emit::Ptx => ptx::file(&input, text, arguments, out),
    });
    match done {
        Ok(status) => Ok(status),
        Err(Trouble::Output(error)) => Err(error),
        Err(Trouble::Input(message)) => {
            trouble(&message);
            Ok(FAILED)
        }
    }
}

/// A text that is PTX.
enum Text {
    /// By its name, or an option.
    Unread,
    /// By what stands in it.
    Read(Bytes),
}

impl Text {
    /// # Errors
    /// A sentence that says why it is none.
    fn of(input: &Input, language: Option<OnlyPtx>) -> Result<Text, String> {
        let kind = Kind::told(language.map(Into::into), input.path(), [&[], &[]]);
        if kind == Kind::Ptx {
            return Ok(Text::Unread);
        }
        let bytes = input.bytes()?;
        kind.must_be_ptx(&input.name(), &bytes)?;
        Ok(Text::Read(bytes))
    }

    fn bytes(self, input: &Input) -> Result<Bytes, String> {
        match self {
            Text::Unread => input.bytes(),
            Text::Read(bytes) => Ok(bytes),
        }
    }
}

fn single(instruction: &Instruction, arguments: &Arguments, out: &mut Output) -> io::Result<u8> {
    match arguments.emit {
        Emit::Ir => {
            let text = programs(instruction, arguments.semantics.unwrap_or_default());
            write!(out.stream, "// {instruction}\n{text}")?;
            Ok(0)
        }
        Emit::Ptx => ptx::single(instruction, arguments, out),
    }
}

fn file(path: &Path, source: &str, semantics: SemanticsName, out: &mut Output) -> io::Result<u8> {
    let (module, diagnostics) = parse_with(source, &errors_only());
    // A name with a line break would end the comment.
    let shown = visible_path(path);
    let index = LineIndex::new(source);
    let mut text = Vec::new();
    for (at, (span, instruction)) in module.instructions().enumerate() {
        let gap = if at == 0 { "" } else { "\n" };
        let Position { line, column } = index.position(source, span.start);
        writeln!(text, "{gap}// {shown}:{line}:{column}: {instruction}")?;
        text.extend(programs(instruction, semantics).bytes());
    }
    if module.statements().is_empty() {
        writeln!(text, "// {shown}: no video instructions")?;
    }
    let found = !diagnostics.is_empty();
    if found {
        eval::report(out, path, source, &diagnostics)?;
    }
    out.stream.write_all(&text)?;
    Ok(if found { FOUND } else { 0 })
}

/// The programs of an instruction; several semantics get headings, and one
/// where their programs are equal.
fn programs(instruction: &Instruction, semantics: SemanticsName) -> String {
    if let [only] = semantics.list() {
        return instruction.lower(*only).to_string();
    }
    let mut groups: Vec<(Vec<&str>, Program)> = Vec::new();
    for semantics in semantics.list() {
        let program = instruction.lower(*semantics);
        match groups.iter_mut().find(|(_, other)| *other == program) {
            Some((names, _)) => names.push(semantics.text()),
            None => groups.push((vec![semantics.text()], program)),
        }
    }
    let texts: Vec<String> = groups
        .iter()
        .map(|(names, program)| format!("// {}\n{program}", names.join(", ")))
        .collect();
    texts.join("\n")
}
