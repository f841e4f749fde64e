//! `vptx lower`
// Doc comments of arguments are help texts, not Markdown.
#![allow(clippy::doc_markdown)]

use std::io::{self, Write};
use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::error::Trouble;
use super::eval::{self, SemanticsName, human};
use super::outputs::{self, Destination, New, Wanted, as_instruction, ptx_bytes, put, write_one};
use super::{FOUND, Output, errors};
use crate::analysis::read_module;
use crate::backend::llvm::Architecture;
use crate::backend::{c, llvm};
use crate::check::CheckOptions;
use crate::module::Module;
use crate::report::FileReport;
use crate::source::{LineIndex, Position, decoded};
use crate::video::{Instruction, Semantics};
use crate::workspace::input::Input;
use crate::workspace::kind::OnlyPtx;

#[derive(Debug, Args)]
#[command(after_help = "\
--emit ir prints a program for every video instruction of a file; a comment
gives its place.
  vptx lower 'vmin.s32.s32.s32.add d, a.b0, b.h1, c;' --emit ir

--emit c prints a header with a function for each different instruction, which
computes the new d from those of a, b and c that it depends on. --emit llvm
prints such functions as a module for LLVM 14 and newer, with vectors where they
need fewer machine instructions on the --target. Several files that are printed
give one header or module:
  vptx lower --emit c kernel.ptx > video.h
  vptx lower --emit llvm --target x86_64 a.ptx b.ptx > video.ll

With -o, several files are written into a directory under their own names with
the ending .ir, .h or .ll.

`vptx rewrite` prints PTX.

Exit status: 0 all lowered, 1 an instruction is wrong, 2 could not run.")]
pub(super) struct Arguments {
    /// PTX files, - for standard input, or one instruction
    #[arg(value_name = "FILES|-|INSTRUCTION", default_value = "-")]
    subjects: Vec<PathBuf>,

    /// Read the text as PTX, whatever its name
    #[arg(long, value_enum)]
    language: Option<OnlyPtx>,

    /// The form to turn instructions into
    #[arg(long, value_enum, value_name = "WHAT")]
    emit: Emit,

    /// The semantics to follow: ptxas-13 keeps the results of ptxas 13.3 and later,
    /// ptxas-12 those of earlier releases; all is for ir only [default: manual for ir,
    /// ptxas-13 for c and llvm]
    #[arg(long, value_enum)]
    semantics: Option<SemanticsName>,

    /// The target of LLVM: amdgcn, nvptx64, x86_64 or aarch64 [default: any]
    #[arg(long, value_name = "TARGET")]
    target: Option<Architecture>,

    /// Write to this file or into this directory, which is created for several inputs, or if
    /// it is written `DIR/`
    #[arg(long, short, value_name = "FILE|DIR")]
    output: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Emit {
    /// Programs over exact integers, one step a line, in the manual's stages
    Ir,
    /// A header for C99, C++11, CUDA, HIP and OpenCL C, with a function for each
    /// different instruction
    C,
    /// A module for LLVM 14 and newer, with a function for each different instruction
    Llvm,
}

impl Emit {
    /// The ending of files with this form.
    fn ending(self) -> &'static str {
        match self {
            Emit::Ir => "ir",
            Emit::C => "h",
            Emit::Llvm => "ll",
        }
    }
}

/// Functions in another language, one for each different instruction.
enum Functions {
    C(c::Header),
    Llvm(llvm::Module),
}

impl Functions {
    /// `None` if the form has no functions.
    fn new(arguments: &Arguments) -> Option<Functions> {
        let semantics = semantics(arguments);
        match arguments.emit {
            Emit::C => Some(Functions::C(c::Header::new(semantics))),
            Emit::Llvm => {
                let architecture = arguments.target.unwrap_or_default();
                Some(Functions::Llvm(llvm::Module::new(semantics, architecture)))
            }
            Emit::Ir => None,
        }
    }

    fn add(&mut self, instruction: &Instruction) {
        match self {
            Functions::C(header) => header.add(instruction),
            Functions::Llvm(module) => module.add(instruction),
        };
    }

    fn text(&self) -> String {
        match self {
            Functions::C(header) => header.to_string(),
            Functions::Llvm(module) => module.to_string(),
        }
    }
}

pub(super) fn run(arguments: &Arguments, out: &mut Output) -> Result<u8, Trouble> {
    if let Some(message) = misused(arguments) {
        return Err(message.into());
    }
    if let Some(text) = as_instruction(&arguments.subjects) {
        return single(&eval::instruction(text, out)?, arguments, out);
    }
    let wanted = Wanted {
        subjects: &arguments.subjects,
        language: arguments.language,
        output: arguments.output.as_deref(),
        new: New::Other(arguments.emit.ending()),
    };
    let planned = wanted.plan()?;
    // The functions of all files that go to standard output.
    let mut printed = Functions::new(arguments);
    let mut follows = false;
    let status = outputs::each(&planned, out, |input, destination, out| {
        let follows = std::mem::replace(&mut follows, true);
        listed(input, destination, follows, &mut printed, arguments, out)
    })?;
    if let Some(functions) = printed.filter(|_| planned.iter().any(|(_, it)| it.is_stdout())) {
        out.stream.write_all(functions.text().as_bytes())?;
    }
    Ok(status)
}

/// The error in a combination of options, if there is one.
fn misused(Arguments { emit, target, semantics, .. }: &Arguments) -> Option<String> {
    match emit {
        Emit::Ir | Emit::C if target.is_some() => Some("--target needs --emit llvm".into()),
        Emit::C | Emit::Llvm if *semantics == Some(SemanticsName::All) => {
            let what = if *emit == Emit::C { "c" } else { "llvm" };
            let names = Semantics::ALL.map(Semantics::text).join(", ");
            Some(format!("--emit {what} takes one semantics: {names}"))
        }
        Emit::Ir | Emit::C | Emit::Llvm => None,
    }
}

fn single(
    instruction: &Instruction,
    arguments: &Arguments,
    out: &mut Output,
) -> Result<u8, Trouble> {
    let text = if let Some(mut functions) = Functions::new(arguments) {
        functions.add(instruction);
        functions.text()
    } else {
        let text = programs(instruction, arguments.semantics.unwrap_or_default());
        format!("// {instruction}\n{text}")
    };
    write_one(text.as_bytes(), arguments.output.as_deref(), out)
}

/// The requested semantics, exactly one.
fn semantics(arguments: &Arguments) -> Semantics {
    match arguments.semantics {
        Some(SemanticsName::One(semantics)) => semantics,
        // `misused` has already refused several semantics.
        Some(SemanticsName::All) | None => Semantics::CURRENT,
    }
}

/// Writes the programs or functions of a file. Functions for standard output are only collected,
/// together with those of other files.
fn listed(
    input: &Input,
    destination: &Destination,
    follows: bool,
    printed: &mut Option<Functions>,
    arguments: &Arguments,
    out: &mut Output,
) -> Result<u8, Trouble> {
    let bytes = ptx_bytes(input, arguments.language)?;
    let source = decoded(&bytes);
    let (module, diagnostics) = read_module(&source, &CheckOptions::errors_only());
    let found = !diagnostics.is_empty();
    if found {
        // Standard output may have the text that is made.
        out.stream.flush()?;
        let file = FileReport { path: input.shown(), source: &source, diagnostics: &diagnostics };
        errors().write_all(&human(&out.style, &file)?)?;
    }
    let mut own = if destination.is_stdout() { None } else { Functions::new(arguments) };
    let text = match own.as_mut().or(printed.as_mut()) {
        Some(functions) => {
            module.instructions().for_each(|(_, instruction)| functions.add(instruction));
            own.map(|own| own.text().into_bytes())
        }
        None => Some(listing(&input.name(), &module, arguments.semantics.unwrap_or_default())?),
    };
    match (text, destination) {
        (Some(text), Destination::File(path)) => put(path, &[text])?,
        (Some(text), _) => {
            out.stream.write_all(if follows { b"\n" } else { b"" })?;
            out.stream.write_all(&text)?;
        }
        // These functions are printed later, together with those of other files.
        (None, _) => {}
    }
    Ok(if found { FOUND } else { 0 })
}

/// Lists the programs of a module. `shown` is the name of the module, on one line.
fn listing(shown: &str, module: &Module<'_>, semantics: SemanticsName) -> io::Result<Vec<u8>> {
    let source = module.source();
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
    Ok(text)
}

/// The programs of an instruction. Several semantics get headings; equal programs share
/// one.
fn programs(instruction: &Instruction, semantics: SemanticsName) -> String {
    if let [only] = semantics.list() {
        return instruction.lower(*only).to_string();
    }
    let meanings = instruction.meanings(semantics.list());
    let texts = meanings.iter().map(|(names, program)| format!("// {names}\n{program}"));
    texts.collect::<Vec<_>>().join("\n")
}
