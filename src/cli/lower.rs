//! `vptx lower`
// Doc comments of arguments are help texts, not Markdown.
#![allow(clippy::doc_markdown)]

mod binaries;
pub(super) mod ptx;

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf, is_separator};
use std::str::FromStr;

use clap::{Args, ValueEnum};

use self::ptx::Trouble;
use super::eval::{self, SemanticsName};
use super::{FAILED, FOUND, Output, trouble, unknown_target};
use crate::analysis::read_module;
use crate::backend::llvm::Architecture;
use crate::backend::{c, llvm};
use crate::check::CheckOptions;
use crate::ir::Program;
use crate::isa::{Mnemonic, Target};
use crate::module::Module;
use crate::report::visible_path;
use crate::source::{LineIndex, Position, decoded};
use crate::video::{Instruction, Semantics};
use crate::workspace::binary::{self, TextFiles};
use crate::workspace::bug::guarded;
use crate::workspace::files::{self, Contents};
use crate::workspace::input::{Bytes, Input, reason};
use crate::workspace::kind::{FileKind, OnlyPtx};

// Each is a flag of its own.
#[allow(clippy::struct_excessive_bools)]
#[derive(Debug, Args)]
#[command(after_help = "\
--emit ir prints a program for every video instruction of a file; a comment
gives its place.
  vptx lower 'vmin.s32.s32.s32.add d, a.b0, b.h1, c;' --emit ir

--emit ptx prints the file with ordinary PTX in place of video instructions. It
replaces those for which ptxas 13.5 needs more machine instructions on the
target than for the new PTX; all other bytes stay the same. Scalar instructions
in a row that fill a word part by part, or add to one sum, may become one SIMD
instruction's PTX. SIMD instructions in a row may become one block, or share a
comparison. A register that always holds a constant may become that constant.
--only single rewrites each for itself. A summary, and notes where the three
semantics differ or several instructions become one, go to standard error. For a
single instruction, the PTX is printed even if it does not save machine
instructions.
  vptx lower --emit ptx --target sm_90 kernel.ptx > kernel.fast.ptx
  vptx lower --emit ptx --target sm_90 'vavrg4.u32.u32.u32 d, a, b, c;'

--emit c prints a header with a function for each different instruction, which
computes the new d from those of a, b and c that it depends on. --emit llvm
prints such functions as a module for LLVM 14 and newer, with vectors where they make
fewer machine instructions on the --target. Several files that are printed give
one header or module:
  vptx lower --emit c kernel.ptx > video.h
  vptx lower --emit llvm --target x86_64 a.ptx b.ptx > video.ll

Of libraries, wheels and other archives, every PTX text is written into a
directory, under the names that `vptx extract` gives:
  vptx lower --emit ptx -o fast/ libx.so torch.whl

Several files are written into a directory under their own names (with the
ending .ir for --emit ir, .h for --emit c, .ll for --emit llvm), or each file is
replaced. A file is replaced in one step or not at all. --in-place does not
change a file that has errors.
  vptx lower --emit ptx -o fast/ a.ptx b.ptx

Exit status: 0 all lowered, 1 an instruction is wrong or has no ordinary PTX on
the target, or --diff has changes to show, 2 could not run.")]
pub(super) struct Arguments {
    /// PTX files, binaries and archives with PTX inside, - for standard input, or one
    /// instruction
    #[arg(value_name = "FILES|BINARIES|-|INSTRUCTION", default_value = "-")]
    subjects: Vec<PathBuf>,

    /// Read the text as PTX, whatever its name
    #[arg(long, value_enum)]
    language: Option<OnlyPtx>,

    /// The form to turn instructions into
    #[arg(long, value_enum, value_name = "WHAT")]
    emit: Emit,

    /// The semantics to follow; all is for ir only [default: manual for ir; ptxas-13 for
    /// ptx, c and llvm, which keeps the results that ptxas gives from 13.3 on; ptxas-12
    /// those before]
    #[arg(long, value_enum)]
    semantics: Option<SemanticsName>,

    /// The target to write for: such as sm_90 for PTX [default: the module's own];
    /// amdgcn, nvptx64, x86_64 or aarch64 for LLVM [default: any]
    #[arg(long, value_name = "TARGET")]
    target: Option<AnyTarget>,

    /// Also rewrite instructions that do not become cheaper
    #[arg(long)]
    all: bool,

    /// Rewrite less: each instruction for itself, and never several as one
    #[arg(long, value_enum)]
    only: Option<Only>,

    /// Keep each original instruction as a comment
    #[arg(long)]
    comments: bool,

    /// Write to this file, or into a directory: `DIR/`, or one for several inputs, is created
    #[arg(long, short, value_name = "FILE|DIR", conflicts_with = "in_place")]
    output: Option<PathBuf>,

    /// Replace each file with its PTX
    #[arg(long, short)]
    in_place: bool,

    /// Write nothing; print the changes of --emit ptx as a unified diff
    #[arg(long, conflicts_with_all = ["output", "in_place"])]
    diff: bool,

    /// Print no summary and no notes
    #[arg(long, short)]
    pub(super) quiet: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Emit {
    /// Programs over exact integers, one step a line, in the manual's stages
    Ir,
    /// Ordinary PTX
    Ptx,
    /// A header for C99, C++11, CUDA, HIP and OpenCL C, with a function for each
    /// different instruction
    C,
    /// A module for LLVM 14 and newer, with a function for each different instruction
    Llvm,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Only {
    /// Single instructions
    Single,
}

/// A target for one of the forms.
#[derive(Clone, Copy, Debug)]
enum AnyTarget {
    Ptx(Target),
    Llvm(Architecture),
}

impl FromStr for AnyTarget {
    type Err = String;

    fn from_str(text: &str) -> Result<AnyTarget, String> {
        let llvm = text.parse().map(AnyTarget::Llvm).ok();
        llvm.or_else(|| text.parse().map(AnyTarget::Ptx).ok())
            .ok_or_else(|| format!("`{text}` is no target; one looks like `sm_90` or `x86_64`"))
    }
}

impl Arguments {
    fn ptx_target(&self) -> Option<Target> {
        match self.target {
            Some(AnyTarget::Ptx(target)) => Some(target),
            Some(AnyTarget::Llvm(_)) | None => None,
        }
    }

    fn architecture(&self) -> Option<Architecture> {
        match self.target {
            Some(AnyTarget::Llvm(architecture)) => Some(architecture),
            Some(AnyTarget::Ptx(_)) | None => None,
        }
    }
}

/// The functions of different instructions in another language.
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
                let architecture = arguments.architecture().unwrap_or_default();
                Some(Functions::Llvm(llvm::Module::new(semantics, architecture)))
            }
            Emit::Ir | Emit::Ptx => None,
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

/// The destination of the text made from an input.
#[derive(Debug)]
enum Destination {
    Stdout,
    File(PathBuf),
    /// The file that was read.
    InPlace(PathBuf),
    /// A file for each text of a binary, in the directory.
    Texts,
}

impl Destination {
    fn is_stdout(&self) -> bool {
        matches!(self, Destination::Stdout)
    }
}

pub(super) fn run(arguments: &Arguments, out: &mut Output) -> io::Result<u8> {
    if let Some(message) = misused(arguments) {
        trouble(&message);
        return Ok(FAILED);
    }
    if let Some(message) = arguments.ptx_target().and_then(unknown_target) {
        trouble(&message);
        return Ok(FAILED);
    }
    if let Some(text) = as_instruction(&arguments.subjects) {
        return match eval::instruction(text, out)? {
            Ok(instruction) => single(&instruction, arguments, out),
            Err(status) => Ok(status),
        };
    }
    let planned = match plan(arguments) {
        Ok(planned) => planned,
        Err(message) => {
            trouble(&message);
            return Ok(FAILED);
        }
    };
    let mut status = 0;
    // Functions of all files that are printed.
    let mut printed = Functions::new(arguments);
    let mut files = TextFiles::new(arguments.output.as_deref().unwrap_or(Path::new(".")));
    for (at, (input, destination)) in planned.iter().enumerate() {
        let work = || match (arguments.emit, destination) {
            (_, Destination::Texts) => binaries::file(input, &mut files, arguments, out),
            (Emit::Ir | Emit::C | Emit::Llvm, _) => {
                listed(input, destination, at > 0, &mut printed, arguments, out)
            }
            (Emit::Ptx, _) => ptx::file(input, destination, arguments, out),
        };
        let done = guarded(&input.name(), work);
        status = status.max(match done.unwrap_or_else(|message| Err(Trouble::Input(message))) {
            Ok(status) => status,
            Err(Trouble::Output(error)) => return Err(error),
            Err(Trouble::Input(message)) => {
                out.stream.flush()?;
                trouble(&message);
                FAILED
            }
        });
    }
    if let Some(functions) = printed.filter(|_| planned.iter().any(|(_, it)| it.is_stdout())) {
        out.stream.write_all(functions.text().as_bytes())?;
    }
    Ok(status)
}

/// The error in a combination of options, if there is one.
fn misused(arguments: &Arguments) -> Option<String> {
    let Arguments { emit, all, only, comments, in_place, diff, .. } = arguments;
    let targets_ptx = arguments.ptx_target().is_some();
    let belongs_to_ptx = targets_ptx || *all || only.is_some() || *comments || *in_place || *diff;
    match emit {
        Emit::Ir | Emit::C | Emit::Llvm if belongs_to_ptx => {
            let options = "--all, --only, --comments, --in-place, --diff and targets of PTX";
            Some(format!("{options} need --emit ptx"))
        }
        Emit::Ir | Emit::C | Emit::Ptx if arguments.architecture().is_some() => {
            Some("targets of LLVM need --emit llvm".into())
        }
        Emit::Ptx | Emit::C | Emit::Llvm if arguments.semantics == Some(SemanticsName::All) => {
            let what = match emit {
                Emit::C => "c",
                Emit::Llvm => "llvm",
                Emit::Ir | Emit::Ptx => "ptx",
            };
            let names = Semantics::ALL.map(Semantics::text).join(", ");
            Some(format!("--emit {what} takes one semantics: {names}"))
        }
        Emit::Ir | Emit::Ptx | Emit::C | Emit::Llvm => None,
    }
}

/// The only subject, if it is not a file and looks like an instruction.
fn as_instruction(subjects: &[PathBuf]) -> Option<&str> {
    let [only] = subjects else { return None };
    let text = only.to_str().filter(|text| *text != "-" && !only.exists())?;
    text.contains(|c: char| c.is_whitespace() || c == ';').then_some(text)
}

/// The inputs with their destinations, or a message about an error in them.
fn plan(arguments: &Arguments) -> Result<Vec<(Input, Destination)>, String> {
    let subjects = &arguments.subjects;
    let mut planned: Vec<(Input, Destination)> = Vec::new();
    for subject in subjects {
        let input = if subject.as_os_str() == "-" {
            Input::Stdin
        } else if subject.exists() {
            Input::File(subject.clone())
        } else {
            return Err(no_file(subject));
        };
        if planned.iter().any(|(other, _)| *other == input) {
            return Err(format!("`{}` is named twice", input.name()));
        }
        let destination = destination(&input, arguments)?;
        if let Destination::File(path) = &destination {
            let is_same = |(_, other): &&(Input, Destination)| matches!(other, Destination::File(other) if other == path);
            if let Some((other, _)) = planned.iter().find(is_same) {
                let (one, two, path) = (other.name(), input.name(), visible_path(path));
                return Err(format!("`{one}` and `{two}` would both be written to `{path}`"));
            }
        }
        planned.push((input, destination));
    }
    let to_stdout = arguments.output.is_none() && !arguments.in_place;
    if arguments.emit == Emit::Ptx && to_stdout && !arguments.diff && planned.len() > 1 {
        return Err("several files cannot be printed as one module: write them into a directory \
                    with -o DIR, or replace them with --in-place"
            .into());
    }
    // The directory is created only after all checks have passed.
    let is_folder = |output: &&PathBuf| planned.len() > 1 || names_folder(output);
    if let Some(folder) = arguments.output.as_ref().filter(is_folder) {
        fs::create_dir_all(folder).map_err(|error| {
            format!("cannot create `{}`: {}", visible_path(folder), reason(&error))
        })?;
    }
    Ok(planned)
}

/// The destination of the texts of a binary, or a message that says what is needed.
fn destination_of_texts(input: &Input, arguments: &Arguments) -> Result<Destination, String> {
    let name = input.name();
    if arguments.emit != Emit::Ptx || arguments.in_place {
        return Err(format!(
            "`{name}` is a binary: write its PTX with `vptx extract -o DIR` first"
        ));
    }
    match &arguments.output {
        None => Err(format!("`{name}` is a binary: write its PTX into a directory with -o DIR")),
        Some(output) if output.exists() && !output.is_dir() => {
            let output = visible_path(output);
            Err(format!("`{output}` is a file: the PTX of binaries needs a directory"))
        }
        Some(_) => Ok(Destination::Texts),
    }
}

fn destination(input: &Input, arguments: &Arguments) -> Result<Destination, String> {
    if arguments.language.is_none() && binary::is_binary(input, [&[], &[]]) {
        return destination_of_texts(input, arguments);
    }
    if arguments.in_place {
        return match input {
            Input::Stdin => Err("standard input is not a file to replace: use -o".into()),
            Input::File(path) | Input::Walked(path) => {
                input.must_be_replaceable()?;
                Ok(Destination::InPlace(path.clone()))
            }
        };
    }
    let Some(output) = &arguments.output else { return Ok(Destination::Stdout) };
    let several = arguments.subjects.len() > 1;
    if several && output.exists() && !output.is_dir() {
        let output = visible_path(output);
        return Err(format!("`{output}` is a file: several inputs need a directory"));
    }
    if !several && !output.is_dir() && !names_folder(output) {
        return match input {
            Input::File(path) | Input::Walked(path) if is_same_file(path, output) => {
                Err(is_itself(path))
            }
            _ => Ok(Destination::File(output.clone())),
        };
    }
    let name = input.path().and_then(|path| Some((path, output.join(path.file_name()?))));
    let Some((path, mut name)) = name else {
        return Err(format!("`{}` has no file name to use in the directory", input.name()));
    };
    match arguments.emit {
        Emit::Ir => _ = name.set_extension("ir"),
        Emit::C => _ = name.set_extension("h"),
        Emit::Llvm => _ = name.set_extension("ll"),
        Emit::Ptx => {}
    }
    if is_same_file(path, &name) {
        return Err(is_itself(path));
    }
    Ok(Destination::File(name))
}

/// Whether a path can only be a directory, as it ends in a separator.
fn names_folder(path: &Path) -> bool {
    path.as_os_str().as_encoded_bytes().last().is_some_and(|&byte| is_separator(byte.into()))
}

fn is_same_file(one: &Path, other: &Path) -> bool {
    matches!((fs::canonicalize(one), fs::canonicalize(other)), (Ok(one), Ok(other)) if one == other)
}

fn is_itself(path: &Path) -> String {
    format!("`{}` is the input itself: use --in-place", visible_path(path))
}

/// The message for a file that does not exist. Often the user meant something else.
fn no_file(subject: &Path) -> String {
    let name = visible_path(subject);
    let word = name.split('.').next().unwrap_or_default();
    let about = match Mnemonic::from_text(&word.to_ascii_lowercase()) {
        Some(mnemonic) => format!("; `vptx explain {mnemonic}` explains {mnemonic}"),
        None => String::new(),
    };
    format!(
        "there is no file `{name}`; name PTX files, -, or one instruction in quotes, such as \
         'vmin.s32.s32.s32 d, a, b;'{about}"
    )
}

/// Puts contents into a file that is there or not.
fn put(path: &Path, contents: &impl Contents) -> Result<(), String> {
    // Where a link points to is what is replaced.
    let path = &fs::canonicalize(path).unwrap_or_else(|_| path.into());
    let written = match fs::metadata(path) {
        // A device or a pipe cannot be replaced.
        Ok(data) if !data.is_file() && !data.is_dir() => File::options()
            .write(true)
            .open(path)
            .and_then(|file| contents.write_to(&file).map(drop)),
        Ok(_) | Err(_) => files::put(path, contents),
    };
    written.map_err(|error| format!("cannot write `{}`: {}", path.display(), reason(&error)))
}

/// Puts contents in the place of those of a file that was read, unless it changed since.
fn put_in_place(path: &Path, contents: &impl Contents, before: &Bytes) -> Result<(), String> {
    let replaced = fs::canonicalize(path).and_then(|place| match before.stamp() {
        Some(stamp) => files::replace(&place, contents, stamp),
        None => Err(io::Error::other("it is not a regular file")),
    });
    replaced.map_err(|error| format!("cannot write `{}`: {}", visible_path(path), reason(&error)))
}

/// The bytes of an input that is PTX: by its name, an option, or what stands in it.
///
/// # Errors
/// A sentence that says why it is none.
pub(super) fn ptx_bytes(input: &Input, language: Option<OnlyPtx>) -> Result<Bytes, String> {
    let kind = FileKind::told(language.map(Into::into), input.path(), [&[], &[]]);
    let bytes = input.bytes()?;
    kind.must_be_ptx(&input.name(), &bytes)?;
    Ok(bytes)
}

fn single(instruction: &Instruction, arguments: &Arguments, out: &mut Output) -> io::Result<u8> {
    if arguments.in_place || arguments.diff {
        let way_out = if arguments.diff { "" } else { ": use -o" };
        trouble(&format!("an instruction is not a file to replace{way_out}"));
        return Ok(FAILED);
    }
    let text = match (Functions::new(arguments), arguments.emit) {
        (Some(mut functions), _) => {
            functions.add(instruction);
            functions.text().into_bytes()
        }
        (None, Emit::Ptx) => match ptx::single(instruction, arguments)? {
            Ok(text) => text,
            Err(status) => return Ok(status),
        },
        (None, _) => {
            let text = programs(instruction, arguments.semantics.unwrap_or_default());
            format!("// {instruction}\n{text}").into_bytes()
        }
    };
    match &arguments.output {
        None => out.stream.write_all(&text)?,
        Some(path) => {
            if let Err(message) = put(path, &[text]) {
                trouble(&message);
                return Ok(FAILED);
            }
        }
    }
    Ok(0)
}

/// The requested semantics, exactly one.
fn semantics(arguments: &Arguments) -> Semantics {
    match arguments.semantics {
        Some(SemanticsName::One(semantics)) => semantics,
        // Several are refused before.
        Some(SemanticsName::All) | None => Semantics::CURRENT,
    }
}

/// The programs of a file, or functions. Functions to print are added to those of other files.
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
        eval::report(out, input.shown(), &source, &diagnostics)?;
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
        // Printed with those of other files.
        (None, _) => {}
    }
    Ok(if found { FOUND } else { 0 })
}

/// Lists the programs of a module. Its name is on one line.
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
