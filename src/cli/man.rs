//! `vptx man`
// Doc comments of arguments are help texts, not Markdown.
#![allow(clippy::doc_markdown)]

use std::fs;
use std::io::{self, Write};
use std::iter;
use std::path::{Path, PathBuf};

use clap::{Args, Command};
use clap_mangen::Man;

use super::Output;
use super::error::Trouble;
use crate::workspace::error::FileError;
use crate::workspace::files::put;

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The command to print the page of, such as check [default: vptx itself]
    #[arg(value_name = "COMMAND")]
    command: Option<String>,

    /// Write the pages of vptx and of all commands into this directory
    #[arg(long, value_name = "DIR", conflicts_with = "command")]
    out: Option<PathBuf>,
}

pub(super) fn run(
    arguments: &Arguments,
    program: Command,
    out: &mut Output,
) -> Result<u8, Trouble> {
    // `vptx help` needs no page.
    let mut program = program.disable_help_subcommand(true);
    // Gives each command its full name, such as vptx-check.
    program.build();
    if let Some(folder) = &arguments.out {
        write_all(&program, folder)
            .map_err(|error| FileError::new("write pages to", folder, &error))?;
        return Ok(0);
    }
    let command = if let Some(name) = &arguments.command {
        let Some(command) = program.find_subcommand(name) else {
            return Err(format!("there is no command `{name}`: `vptx help` lists all").into());
        };
        command
    } else {
        &program
    };
    let mut text = Vec::new();
    page(command).render(&mut text)?;
    out.stream.write_all(&text)?;
    Ok(0)
}

fn page(command: &Command) -> Man {
    let command = command.clone().mut_args(|argument| {
        // Without this, the page would not mention the aliases.
        let aliases = argument.get_visible_aliases().unwrap_or_default();
        let Some(help) = argument.get_help().filter(|_| !aliases.is_empty()) else {
            return argument;
        };
        let help = format!("{help} [aliases: --{}]", aliases.join(", --"));
        argument.help(help)
    });
    // By default, the page would give the name of the command as its source, not that of the
    // program.
    Man::new(command).source(concat!("vptx ", env!("CARGO_PKG_VERSION")))
}

fn write_all(program: &Command, folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    for command in iter::once(program).chain(program.get_subcommands()) {
        let page = page(command);
        let mut text = Vec::new();
        page.render(&mut text)?;
        put(&folder.join(page.get_filename()), &[text])?;
    }
    Ok(())
}
