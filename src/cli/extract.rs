//! `vptx extract`
// Doc comments of arguments are help texts, not Markdown.
#![allow(clippy::doc_markdown)]

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use serde::Serialize;

use super::table::Align::{Left, Right};
use super::{FAILED, FOUND, Output, errors, json_line, table, trouble};
use crate::diagnostic::counted;
use crate::extract::{Counts, ExtractError, Image, Limits, Member, walk};
use crate::report::{visible, visible_path};
use crate::workspace::binary::{TextFiles, open_input, path_of};
use crate::workspace::bug::{Bug, guarded};
use crate::workspace::error::reason;
use crate::workspace::input::Input;

#[derive(Debug, Args)]
#[command(after_help = "\
Fat binaries are found in libraries, programs, objects (ELF, PE, Mach-O, .a,
.fatbin) by their first bytes, also inside zip files (wheels, .conda), .tar,
.tar.gz and .tar.zst. PTX packed with LZ4 or Zstandard is unpacked. PTX that is
not packed is found, too: as a member of an archive or as a string in a program.
The listing that cuobjdump -ptx prints is read, too.

The text of a single image is printed. If there are several, list them, choose
one by its name, or write all:
  vptx extract libx.so --list
  vptx extract libx.so --image 3.sm_90.ptx > kernel.ptx
  vptx extract torch.whl -o ptx

libx.3.sm_90.ptx is the third PTX text of libx.so. Texts from an archive go into
folders named as those in the archive.

Exit status: 0 done, 1 no PTX found, 2 something could not be read or written.")]
pub(super) struct Arguments {
    /// Binaries and archives, or - for standard input
    #[arg(value_name = "BINARIES|ARCHIVES|-", required = true)]
    subjects: Vec<PathBuf>,

    /// List the PTX texts
    #[arg(long, conflicts_with_all = ["output", "image"])]
    list: bool,

    /// How --list prints
    #[arg(long, value_enum, default_value_t, requires = "list")]
    format: ListFormat,

    /// Write all texts into this directory
    #[arg(long, short, value_name = "DIR", conflicts_with = "image")]
    output: Option<PathBuf>,

    /// Print the text with this name; --list shows the names
    #[arg(long, value_name = "NAME")]
    image: Option<String>,

    /// The largest size of a text, in bytes; larger texts are reported and skipped
    #[arg(long, value_name = "BYTES", default_value_t = Limits::default().image)]
    max_image: u64,

    /// Print no summary
    #[arg(long, short)]
    pub(super) quiet: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum ListFormat {
    /// A table
    #[default]
    Human,
    /// One object a line: path, arch, ptx, compression, offset, bytes, replaces
    Json,
}

/// A line of `--list --format json`.
#[derive(Serialize)]
struct Record<'r> {
    path: &'r str,
    arch: String,
    ptx: String,
    compression: &'r str,
    offset: u64,
    bytes: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    replaces: Option<u32>,
}

/// The work on all subjects.
struct Run<'r> {
    arguments: &'r Arguments,
    out: &'r mut Output,
    counts: Counts,
    failed: bool,
    /// The first text, as long as it is the only one.
    only: Option<Vec<u8>>,
    texts: u64,
    /// Texts that could not be written.
    unwritten: u64,
    /// Texts that were asked for by name.
    chosen: u64,
    /// The files for texts, if texts are written to files.
    files: Option<TextFiles<'r>>,
    /// The lines of the table.
    rows: Vec<[String; 6]>,
}

pub(super) fn run(arguments: &Arguments, out: &mut Output) -> io::Result<u8> {
    let mut run = Run {
        arguments,
        out,
        counts: Counts::default(),
        failed: false,
        only: None,
        texts: 0,
        unwritten: 0,
        chosen: 0,
        files: arguments.output.as_deref().map(TextFiles::new),
        rows: Vec::new(),
    };
    for subject in &arguments.subjects {
        match guarded(&visible_path(subject), || run.subject(subject)) {
            Ok(done) => done?,
            Err(bug @ Bug { .. }) => {
                run.failed = true;
                trouble(&bug);
            }
        }
    }
    run.finish()
}

impl Run<'_> {
    fn subject(&mut self, subject: &Path) -> io::Result<()> {
        let name = visible_path(subject);
        let input = match subject.as_os_str() {
            name if name == "-" => Input::Stdin,
            _ => Input::File(subject.into()),
        };
        let mut file = match open_input(&input) {
            Ok(file) => file,
            Err(error) => {
                self.failed = true;
                trouble(&format!("cannot read `{name}`: {}", reason(&error)));
                return Ok(());
            }
        };
        let limits = Limits::default().with_image(self.arguments.max_image);
        let mut done = Ok(());
        let counts = walk(&mut file, limits, &mut |member, image| {
            if done.is_ok() {
                done = match image {
                    Ok(image) => self.image(subject, member, image),
                    Err(error) => {
                        self.error(subject, member, &error);
                        Ok(())
                    }
                };
            }
        });
        self.counts += counts;
        done
    }

    fn error(&mut self, subject: &Path, member: &Member, error: &ExtractError) {
        self.failed = true;
        trouble(&format!("`{}`: {error}", path_of(subject, member, None)));
    }

    fn image(&mut self, subject: &Path, member: &Member, image: Image) -> io::Result<()> {
        let path = path_of(subject, member, Some(&image));
        self.texts += 1;
        if let Some(files) = &mut self.files {
            if let Err(message) = files.put(subject, member, &image, &[&image.bytes][..]) {
                self.failed = true;
                self.unwritten += 1;
                trouble(&message);
            }
            return Ok(());
        }
        if self.arguments.list {
            return self.list(&path, &image);
        }
        match &self.arguments.image {
            Some(name) if *name == path || path.ends_with(&format!("!{name}")) => {
                self.chosen += 1;
                if self.chosen == 1 {
                    self.only = Some(image.bytes);
                }
            }
            Some(_) => {}
            None => self.only = (self.texts == 1).then_some(image.bytes),
        }
        Ok(())
    }

    fn list(&mut self, path: &str, image: &Image) -> io::Result<()> {
        let (arch, replaces) = (image.target.to_string(), image.replaces);
        let ptx = format!("{}.{}", image.version.0, image.version.1);
        let (compression, offset, bytes) =
            (image.compression.text(), image.offset, image.bytes.len());
        if self.arguments.format == ListFormat::Json {
            let record = Record { path, arch, ptx, compression, offset, bytes, replaces };
            return json_line(&record, &mut self.out.stream);
        }
        let offset = format!("0x{offset:x}");
        let name = match replaces {
            Some(number) => format!("{path} (for nvJitLink in place of {number})"),
            None => path.into(),
        };
        self.rows.push([arch, ptx, compression.into(), bytes.to_string(), offset, name]);
        Ok(())
    }

    fn finish(mut self) -> io::Result<u8> {
        self.table()?;
        let arguments = self.arguments;
        if self.texts == 0 {
            if !arguments.quiet || !self.failed {
                trouble(&format!("no PTX found{}", passed(self.counts)));
            }
            return Ok(if self.failed { FAILED } else { FOUND });
        }
        let prints = !arguments.list && arguments.output.is_none();
        match (&arguments.image, self.only.take()) {
            _ if !prints => {}
            (Some(name), _) if self.chosen != 1 => {
                let name = visible(name);
                let texts = self.texts;
                trouble(&match self.chosen {
                    0 => format!(
                        "none of {texts} PTX texts is named `{name}`: --list shows the names"
                    ),
                    count => format!("{count} PTX texts are named `{name}`: give the whole path"),
                });
                return Ok(FAILED);
            }
            (_, Some(text)) => {
                self.out.stream.write_all(&text)?;
                self.out.stream.flush()?;
            }
            (_, None) => {
                trouble(&format!(
                    "there are {} PTX texts: list them with --list, choose one with --image, or \
                     write all with -o DIR",
                    self.texts
                ));
                return Ok(FAILED);
            }
        }
        if !arguments.quiet && !prints {
            let done = counted((self.texts - self.unwritten) as usize, "PTX text");
            writeln!(errors(), "{done}{}", passed(self.counts))?;
        }
        Ok(if self.failed { FAILED } else { 0 })
    }

    /// Prints the table, if there is one.
    fn table(&mut self) -> io::Result<()> {
        if self.rows.is_empty() {
            return Ok(());
        }
        let head = ["arch", "ptx", "packed", "bytes", "offset", "name"].map(String::from);
        self.rows.insert(0, head);
        let align = [Left, Left, Left, Right, Right, Left];
        table::print(&self.rows, align, &mut self.out.stream)
    }
}

/// ` in 3 fat binaries; 12 images of machine code skipped`
fn passed(counts: Counts) -> String {
    let containers = match counts.containers {
        0 => String::new(),
        1 => " in 1 fat binary".into(),
        count => format!(" in {count} fat binaries"),
    };
    match counts.cubin {
        0 => containers,
        1 => format!("{containers}; 1 image of machine code skipped"),
        count => format!("{containers}; {count} images of machine code skipped"),
    }
}
