//! `vptx tree`
// Doc comments of arguments are help texts, not Markdown.
#![allow(clippy::doc_markdown)]

mod blocks;

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use clap::{Args, ValueEnum};
use thiserror::Error;

use super::error::Trouble;
use super::outputs::ptx_bytes;
use super::{FOUND, Output};
use crate::flow::Flow;
use crate::names::Names;
use crate::report::{tree, visible, visible_path};
use crate::source::{LineIndex, decoded, nearest};
use crate::syntax::{self, Function, Statement, StatementKind, Tree};
use crate::workspace::input::Input;
use crate::workspace::kind::OnlyPtx;

#[derive(Debug, Args)]
#[command(after_help = "\
Without --format, each node and each token has a line: its kind, the offset of
its first byte, the offset after its last byte, and the text of a token. White
space is left out.

With --format json the tree is one object. A node has `kind`, `start`, `end` and
`children`; a leaf has `text` in place of these, and all leaves in order are the
text. Instructions have `mnemonic`, `modifiers` and `operands`; a name has the
place of its `declaration`. docs/tree.schema.json describes it.

Exit status: 0 done, 1 the text has errors of syntax, 2 it could not be read, or
has no such function or place.")]
pub(super) struct Arguments {
    /// A file with PTX, or - for standard input
    #[arg(value_name = "FILE|-")]
    path: PathBuf,

    /// How the tree is printed
    #[arg(long, value_enum, default_value_t)]
    format: TreeFormat,

    /// Print the basic blocks of the functions and the branches between them
    #[arg(long, value_enum, value_name = "FORMAT", conflicts_with_all = ["format", "at"])]
    flow: Option<FlowFormat>,

    /// Print only the function of this name
    #[arg(long, value_name = "NAME", conflicts_with = "at")]
    function: Option<String>,

    /// Print only the innermost statement at a line and a column, from 1
    #[arg(long, value_name = "LINE:COLUMN")]
    at: Option<Place>,

    /// Read the file as PTX, whatever its name
    #[arg(long, value_enum)]
    language: Option<OnlyPtx>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum TreeFormat {
    /// A line for each node and token
    #[default]
    Human,
    /// One object, with every byte
    Json,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum FlowFormat {
    /// The language of Graphviz: `vptx tree --flow dot FILE | dot -Tsvg`
    Dot,
    /// A picture
    Svg,
}

/// A line and a column, both from 1.
#[derive(Clone, Copy, Debug)]
struct Place {
    line: usize,
    column: usize,
}

/// The error for a text that is not a line and a column.
#[derive(Debug, Error)]
#[error("write a line and a column from 1, such as `12:5`")]
struct InvalidPlace;

impl FromStr for Place {
    type Err = InvalidPlace;

    fn from_str(text: &str) -> Result<Place, InvalidPlace> {
        let number = |part: &str| part.parse().ok().filter(|number| *number > 0);
        let parts = text.split_once(':');
        let place = parts.and_then(|(line, column)| {
            Some(Place { line: number(line)?, column: number(column)? })
        });
        place.ok_or(InvalidPlace)
    }
}

impl Place {
    /// The offset of the place in a text. `None` if the text has no such place.
    fn offset(self, source: &str) -> Option<u32> {
        let index = LineIndex::new(source);
        let line = (self.line <= index.lines()).then(|| index.line_span(self.line - 1))?;
        let text = line.text(source);
        let columns = text.char_indices().map(|(at, _)| at).chain([text.len()]);
        columns.into_iter().nth(self.column - 1).map(|at| line.start + at as u32)
    }
}

pub(super) fn run(arguments: &Arguments, out: &mut Output) -> Result<u8, Trouble> {
    let is_stdin = arguments.path == Path::new("-");
    let input = if is_stdin { Input::Stdin } else { Input::File(arguments.path.clone()) };
    let bytes = ptx_bytes(&input, arguments.language)?;
    let source = &*decoded(&bytes);
    let parsed = syntax::parse(source);
    let part = part(arguments, &parsed)
        .map_err(|why| format!("{}: {why}", visible_path(input.shown())))?;
    let mut out = io::BufWriter::with_capacity(1 << 16, &mut out.stream);
    match (arguments.flow, arguments.format) {
        (Some(format), _) => flows(&parsed, part, format, &mut out)?,
        (None, TreeFormat::Human) => tree::human(&mut out, &parsed, part)?,
        (None, TreeFormat::Json) => tree::json(&mut out, &parsed, part)?,
    }
    out.flush()?;
    Ok(if parsed.errors().is_empty() { 0 } else { FOUND })
}

/// Why a text does not have the requested part.
#[derive(Debug, Error)]
enum NoPart {
    #[error("no function is named `{0}`")]
    Function(String),
    #[error("no function is named `{wanted}`; did you mean `{meant}`?")]
    OtherFunction { wanted: String, meant: String },
    #[error("no statement stands at {line}:{column}")]
    Statement { line: usize, column: usize },
}

/// The requested statement. `None` stands for the whole text.
fn part<'t>(arguments: &Arguments, tree: &'t Tree<'t>) -> Result<Option<Statement<'t>>, NoPart> {
    if let Some(wanted) = &arguments.function {
        let name = |function: Function<'t>| function.name().map(|it| it.text(tree.source()));
        let named = tree.functions().filter(|it| name(*it) == Some(wanted));
        // A definition is more useful than a declaration.
        let found = named.max_by_key(|function| function.body().is_some());
        return found.map(|function| Some(function.statement())).ok_or_else(|| {
            let shown = visible(wanted).into_owned();
            match nearest(wanted, tree.functions().filter_map(name)) {
                Some(meant) => {
                    NoPart::OtherFunction { wanted: shown, meant: visible(meant).into_owned() }
                }
                None => NoPart::Function(shown),
            }
        });
    }
    let Some(place) = arguments.at else { return Ok(None) };
    let Place { line, column } = place;
    let offset = place.offset(tree.source());
    let found = offset.and_then(|offset| tree.statement_at(offset));
    found.map(Some).ok_or(NoPart::Statement { line, column })
}

/// Prints the basic blocks of one function, or of all functions.
fn flows<'t>(
    tree: &'t Tree<'t>,
    part: Option<Statement<'t>>,
    format: FlowFormat,
    out: &mut impl Write,
) -> io::Result<()> {
    let names = Names::of(tree);
    let functions = match part.map(Statement::kind) {
        Some(StatementKind::Function(function)) => vec![function],
        _ => tree.functions().collect(),
    };
    let flows = functions.iter().filter_map(|function| Flow::of(function, &names));
    if format == FlowFormat::Svg {
        let picture = blocks::draw(&flows.collect::<Vec<_>>());
        return out.write_all(picture.as_bytes());
    }
    writeln!(out, "digraph {{\n  node [shape=box fontname=monospace];")?;
    for (number, flow) in flows.enumerate() {
        write!(out, "{}", flow.dot(number))?;
    }
    writeln!(out, "}}")
}
