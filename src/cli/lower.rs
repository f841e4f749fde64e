//! `vptx lower`
// Doc comments of arguments are help texts, not Markdown.
#![allow(clippy::doc_markdown)]

use std::io::{self, Write};
use std::path::Path;

use clap::{Args, ValueEnum};

use super::eval::{self, SemanticsName};
use super::input::Input;
use super::{FAILED, FOUND, Output, trouble};
use crate::ast::Instruction;
use crate::check::parse;
use crate::diagnostic::Severity;
use crate::ir::Program;
use crate::source::{LineIndex, Position};

#[derive(Debug, Args)]
#[command(after_help = "\
Of a file, every video instruction is lowered; a comment says where it stands.
  vptx lower 'vmin.s32.s32.s32.add d, a.b0, b.h1, c;' --emit ir
Exit status: 0 all lowered, 1 an instruction is wrong, 2 could not run.")]
pub(super) struct Arguments {
    /// A PTX file, - for standard input, or one instruction
    #[arg(value_name = "FILE|-|INSTRUCTION", default_value = "-")]
    subject: String,

    /// What instructions are turned into
    #[arg(long, value_enum, value_name = "WHAT")]
    emit: Emit,

    /// What the instructions are taken to mean
    #[arg(long, value_enum, default_value_t)]
    semantics: SemanticsName,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Emit {
    /// Programs over exact integers, a step a line, by the manual's stages
    Ir,
}

pub(super) fn run(arguments: &Arguments, out: &mut Output) -> io::Result<u8> {
    let Emit::Ir = arguments.emit;
    let subject = arguments.subject.as_str();
    let path = Path::new(subject);
    let input = match subject {
        "-" => Input::Stdin,
        _ if path.exists() => Input::File(path.into()),
        _ if subject.contains(|c: char| c.is_whitespace() || c == ';') => {
            return match eval::instruction(subject, out)? {
                Ok(instruction) => {
                    let text = programs(&instruction, arguments.semantics);
                    write!(out.stream, "// {instruction}\n{text}")?;
                    Ok(0)
                }
                Err(status) => Ok(status),
            };
        }
        _ => {
            trouble(&format!("there is no file `{subject}`, and it is no instruction either"));
            return Ok(FAILED);
        }
    };
    match input.read() {
        Ok(source) => file(&input.name(), source, arguments.semantics, out),
        Err(message) => {
            trouble(&message);
            Ok(FAILED)
        }
    }
}

fn file(name: &str, source: String, semantics: SemanticsName, out: &mut Output) -> io::Result<u8> {
    let (module, mut diagnostics) = parse(&source);
    diagnostics.retain(|diagnostic| diagnostic.severity == Severity::Error);
    // A name with a line break would end the comment.
    let shown = name.replace(char::is_control, "?");
    let index = LineIndex::new(&source);
    let mut text = Vec::new();
    for (at, (span, instruction)) in module.instructions().enumerate() {
        let gap = if at == 0 { "" } else { "\n" };
        let Position { line, column } = index.position(&source, span.start);
        writeln!(text, "{gap}// {shown}:{line}:{column}: {instruction}")?;
        text.extend(programs(instruction, semantics).bytes());
    }
    if module.statements().is_empty() {
        writeln!(text, "// {shown}: no video instructions")?;
    }
    let found = !diagnostics.is_empty();
    if found {
        eval::report(out, name.into(), source, diagnostics)?;
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
