//! `vptx survey`
// Doc comments of arguments are help texts, not Markdown.
#![allow(clippy::doc_markdown)]

mod package;
mod row;

use std::fmt::Display;
use std::io::{self, Write};
use std::path::PathBuf;

use clap::{Args, ValueEnum};

use self::package::Packages;
use self::row::{Place, Row, SurveyLine, Total, UnreadText};
use super::error::Trouble;
use super::progress::for_each_in_order;
use super::{FAILED, Output, json_line, trouble};
use crate::analysis::unreadable;
use crate::extract::{Image, Limits, Member, walk};
use crate::source::decoded;
use crate::workspace::binary::{self, Content, path_of};
use crate::workspace::bug::{Bug, guarded};
use crate::workspace::input::{FinderError, Input, PtxFinder};
use crate::workspace::walk::{WalkArguments, subjects};

#[derive(Debug, Args)]
#[command(after_help = "\
Directories are searched for PTX files, binaries and archives; add --no-ignore
for a virtual environment that git ignores:
  vptx survey libnppial.so.12
  vptx survey --no-ignore .venv
  vptx survey --format json mirror/ > survey.jsonl

The table has a row for each PTX text with video instructions:
  video    video instructions
  differ   those for which ptxas computes something else than the manual says
           on some inputs; `vptx explain C2` explains a difference
  before   machine instructions that ptxas 13.5 (12.9 before sm_75) emits for the
           video instructions on the text's target; - where that was not measured
  after    machine instructions for the PTX that `vptx rewrite` writes instead

--format json has a line for each text, and for each error; the last line is the
total. docs/survey.schema.json describes them.

Exit status: 0 done, 2 something could not be read.")]
pub(super) struct Arguments {
    /// PTX files, binaries, archives, directories to search for them, or - for standard
    /// input [default: the current directory]
    #[arg(value_name = "FILES|DIRS|-")]
    paths: Vec<PathBuf>,

    /// How the survey is printed
    #[arg(long, value_enum, default_value_t)]
    format: SurveyFormat,

    /// Also list texts without video instructions
    #[arg(long)]
    all: bool,

    /// The largest size of a text in a binary, in bytes; larger ones are reported and skipped
    #[arg(long, value_name = "BYTES", default_value_t = Limits::default().image)]
    max_image: u64,

    #[command(flatten)]
    walk: WalkArguments,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum SurveyFormat {
    /// A table
    #[default]
    Human,
    /// One object a line
    Json,
}

pub(super) fn run(arguments: &Arguments, out: &mut Output) -> Result<u8, Trouble> {
    Ok(Survey::new(arguments)?.run(out)?)
}

/// The inputs of a run, and what is known about all of them.
struct Survey<'a> {
    arguments: &'a Arguments,
    inputs: Vec<Input>,
    packages: Packages,
    failed: bool,
}

impl Survey<'_> {
    fn new(arguments: &Arguments) -> Result<Survey<'_>, FinderError> {
        let finder = PtxFinder::new(&arguments.walk)?;
        let mut failed = false;
        let inputs = finder.expand(&subjects(&arguments.paths, None), |message| {
            failed = true;
            trouble(&message);
        });
        Ok(Survey { arguments, inputs, packages: Packages::default(), failed })
    }

    fn run(self, out: &mut Output) -> io::Result<u8> {
        let is_json = self.arguments.format == SurveyFormat::Json;
        let (mut total, mut rows) = (Total::default(), Vec::new());
        let mut failed = self.failed;
        let work = |input: &Input| {
            guarded(&input.name(), || self.file(input)).unwrap_or_else(|bug: Bug| {
                let subject = Subject { input, packages: &self.packages };
                vec![subject.error(&Member::default(), &bug)]
            })
        };
        for_each_in_order("surveyed", &self.inputs, work, |found| {
            let is_unread = matches!(&found[..], [SurveyLine::Error(error)] if error.place.path == error.place.file);
            total.files += usize::from(!is_unread);
            for found in found {
                match &found {
                    SurveyLine::Image(row) => total.add(row),
                    SurveyLine::Error(error) => {
                        failed = true;
                        trouble(&error.sentence());
                    }
                }
                match found {
                    _ if is_json => json_line(&found, &mut out.stream)?,
                    SurveyLine::Image(row) if row.instructions > 0 || self.arguments.all => {
                        rows.push(row);
                    }
                    SurveyLine::Image(_) | SurveyLine::Error(_) => {}
                }
            }
            Ok(())
        })?;
        if is_json {
            json_line(&total, &mut out.stream)?;
        } else {
            row::table(&rows, &mut out.stream)?;
            write!(out.stream, "{total}")?;
        }
        Ok(if failed { FAILED } else { 0 })
    }

    /// The lines about the texts of a file, and about errors.
    fn file(&self, input: &Input) -> Vec<SurveyLine> {
        let subject = Subject { input, packages: &self.packages };
        match Content::open(input, self.arguments.max_image) {
            Ok(Content::Ptx(text)) => vec![subject.ptx(&decoded(&text))],
            Ok(Content::Binary(mut file)) => {
                let limits = Limits::default().with_image(self.arguments.max_image);
                let (mut found, mut known) = (Vec::new(), row::Known::default());
                walk(&mut file, limits, &mut |member, image| {
                    found.push(match image {
                        Ok(image) => subject.image(member, &image, &mut known),
                        Err(error) => subject.error(member, &error),
                    });
                });
                found
            }
            Err(error) => vec![subject.error(&Member::default(), &error)],
        }
    }
}

/// A file whose texts are surveyed.
struct Subject<'s> {
    input: &'s Input,
    packages: &'s Packages,
}

impl Subject<'_> {
    fn place(&self, member: &Member, image: Option<&Image>) -> Place {
        let name = binary::inner_name(member, None);
        let path = self.input.path();
        Place {
            path: path_of(self.input.shown(), member, image),
            file: self.input.name(),
            member: Some(name).filter(|name| !name.is_empty()),
            package: path.and_then(|path| self.packages.of(path, member.names())),
        }
    }

    fn ptx(&self, text: &str) -> SurveyLine {
        if let Some(found) = unreadable(text) {
            return self.error(&Member::default(), &found.message);
        }
        let place = self.place(&Member::default(), None);
        SurveyLine::Image(Row::new(place, text, &mut row::Known::default()))
    }

    fn image(&self, member: &Member, image: &Image, known: &mut row::Known) -> SurveyLine {
        let mut row = Row::new(self.place(member, Some(image)), &image.text(), known);
        row.image = (!image.is_file).then(|| image.name());
        row.arch = image.target.to_string();
        row.ptx = format!("{}.{}", image.version.0, image.version.1);
        SurveyLine::Image(row)
    }

    fn error(&self, member: &Member, error: &impl Display) -> SurveyLine {
        SurveyLine::Error(UnreadText {
            place: self.place(member, None),
            message: error.to_string(),
        })
    }
}
