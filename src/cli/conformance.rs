//! `vptx conformance`
// Doc comments of arguments are help texts, not Markdown.
#![allow(clippy::doc_markdown)]

use std::collections::BTreeMap;
use std::io::{self, BufWriter, Write};
use std::iter;

use clap::{Args, ValueEnum};
use serde::Serialize;
use thiserror::Error;

use super::{Output, json_line};
use crate::conformance::{Vector, Vectors};
use crate::isa::Mnemonic;
use crate::source::nearest;
use crate::video::Semantics;

#[derive(Debug, Args)]
#[command(after_help = "\
Another implementation of the instructions can test itself against the vectors:
  vptx conformance > vectors.tsv
  vptx conformance --mnemonic vadd,vmad --count 500 --format json > vectors.jsonl
Each line of the manual's syntax comes once before any comes twice, and then each
combination of modifiers. Inputs are edge values first, chosen so that likely
mistakes change the result. The same options give the same vectors, everywhere.

--format tsv prints a line that starts with # and has the version and options, a
line with the names of the columns, and a line for each vector:
  instruction   with the registers d, a, b and c
  a, b, c       the input words, also where the instruction does not read them
  manual, ptxas-12, ptxas-13
                the new d under each semantics
  deviations    the deviations of ptxas that show, as C1,C3, or -;
                `vptx explain C3` explains one

--format json prints one object a line; docs/conformance.schema.json describes
them. docs/evaluating/vectors.md says how the results were confirmed.

Exit status: 0 done, 2 could not run.")]
pub(super) struct Arguments {
    /// The mnemonics to test, such as vadd,vmad [default: all]
    #[arg(long, value_name = "MNEMONIC", value_delimiter = ',', value_parser = mnemonic)]
    mnemonic: Vec<Mnemonic>,

    /// The number of vectors
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    count: u64,

    /// The seed for the choice of operands and inputs
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,

    /// How vectors are printed
    #[arg(long, visible_alias = "output-format", value_enum, default_value_t)]
    format: VectorFormat,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum VectorFormat {
    /// Columns with tabs between them
    #[default]
    Tsv,
    /// JSON Lines: one object a line
    Json,
}

/// A text that is no mnemonic.
#[derive(Clone, Debug, Error)]
enum NoMnemonic {
    #[error("did you mean `{0}`?")]
    Near(&'static str),
    #[error("there is no such video instruction")]
    Other,
}

/// Parses the name of a mnemonic.
fn mnemonic(text: &str) -> Result<Mnemonic, NoMnemonic> {
    text.parse().map_err(|_| {
        let names = Mnemonic::ALL.iter().map(|it| it.text());
        nearest(text, names).map_or(NoMnemonic::Other, NoMnemonic::Near)
    })
}

pub(super) fn run(arguments: &Arguments, out: &mut Output) -> io::Result<u8> {
    let mut chosen = arguments.mnemonic.clone();
    chosen.sort_unstable();
    chosen.dedup();
    let names = chosen.iter().map(|it| it.text()).collect();
    let head = Head {
        kind: "head",
        version: env!("CARGO_PKG_VERSION"),
        count: arguments.count,
        seed: arguments.seed,
        mnemonics: names,
    };
    let is_json = arguments.format == VectorFormat::Json;
    let mut writer = BufWriter::with_capacity(1 << 16, &mut out.stream);
    if is_json {
        json_line(&head, &mut writer)?;
    } else {
        head.tsv(&mut writer)?;
    }
    let mut vectors = Vectors::new(&chosen, arguments.seed);
    for _ in 0..arguments.count {
        // The reader is gone, so no more vectors are needed.
        let Some(vector) = vectors.next().filter(|_| !writer.get_ref().is_closed) else { break };
        if is_json {
            json_line(&Record::of(&vector), &mut writer)?;
        } else {
            tsv(&vector, &mut writer)?;
        }
    }
    writer.flush()?;
    Ok(0)
}

/// The options that the vectors depend on.
#[derive(Serialize)]
struct Head<'a> {
    kind: &'static str,
    version: &'static str,
    count: u64,
    seed: u64,
    mnemonics: Vec<&'a str>,
}

impl Head<'_> {
    fn tsv(&self, out: &mut impl Write) -> io::Result<()> {
        let Head { version, count, seed, .. } = self;
        write!(out, "# vptx {version} conformance --count {count} --seed {seed}")?;
        if !self.mnemonics.is_empty() {
            write!(out, " --mnemonic {}", self.mnemonics.join(","))?;
        }
        let semantics = Semantics::ALL.map(Semantics::text).join("\t");
        writeln!(out, "\ninstruction\ta\tb\tc\t{semantics}\tdeviations")
    }
}

/// A vector in JSON.
#[derive(Serialize)]
struct Record {
    kind: &'static str,
    instruction: String,
    a: u32,
    b: u32,
    c: u32,
    results: BTreeMap<&'static str, u32>,
    deviations: Vec<&'static str>,
}

impl Record {
    fn of(vector: &Vector) -> Record {
        let [a, b, c] = vector.inputs;
        let results = iter::zip(Semantics::ALL.map(Semantics::text), vector.results).collect();
        let deviations = vector.deviations.iter().map(|it| it.text()).collect();
        let instruction = vector.instruction.to_string();
        Record { kind: "vector", instruction, a, b, c, results, deviations }
    }
}

fn tsv(vector: &Vector, out: &mut impl Write) -> io::Result<()> {
    write!(out, "{}", vector.instruction)?;
    for word in vector.inputs.iter().chain(&vector.results) {
        write!(out, "\t{word:#010x}")?;
    }
    let deviations: Vec<&str> = vector.deviations.iter().map(|it| it.text()).collect();
    let deviations = if deviations.is_empty() { "-".into() } else { deviations.join(",") };
    writeln!(out, "\t{deviations}")
}
