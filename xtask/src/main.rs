//! `cargo xtask NAME` runs commands for developers: checks against other programs, measurements,
//! and parts of a release.

mod compilers;
mod faults;
mod fuzz;
mod live;
mod mutants;
mod project;
mod work;

use std::fmt::Write as _;
use std::process::ExitCode;

use work::{Failure, Outcome};

/// A command.
struct Task {
    name: &'static str,
    /// The arguments, as the help shows them.
    arguments: &'static str,
    /// A description on one line.
    about: &'static str,
    /// Further text for `--help`.
    details: &'static str,
    run: fn(&[String]) -> Outcome,
}

/// All commands, in the order of the help.
fn tasks() -> impl Iterator<Item = &'static Task> {
    [live::TASKS, compilers::TASKS, project::TASKS, mutants::TASKS, fuzz::TASKS, faults::TASKS]
        .into_iter()
        .flatten()
}

fn overview() -> String {
    let mut text =
        "usage: cargo xtask NAME [ARGUMENT]...\n       cargo xtask NAME --help\n\n".to_owned();
    for task in tasks() {
        _ = writeln!(text, "  {:14} {}", task.name, task.about);
    }
    text + "\nExit status: 0, that of a command that failed, 2 for wrong arguments, or 3 where a tool \
            is missing.\n"
}

impl Task {
    fn usage(&self) -> String {
        format!("usage: cargo xtask {} {}", self.name, self.arguments).trim_end().to_owned()
    }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some((name, rest)) = arguments.split_first() else {
        eprint!("{}", overview());
        return ExitCode::from(2);
    };
    if name == "--help" || name == "-h" {
        print!("{}", overview());
        return ExitCode::SUCCESS;
    }
    let Some(task) = tasks().find(|task| task.name == name) else {
        eprintln!("xtask: there is no command {name}; cargo xtask --help lists all");
        return ExitCode::from(2);
    };
    if rest.iter().any(|argument| argument == "--help" || argument == "-h") {
        println!("{}.\n\n{}\n\n{}", task.about, task.usage(), task.details);
        return ExitCode::SUCCESS;
    }
    match (task.run)(rest) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure::Usage) => {
            eprintln!("{}", task.usage());
            ExitCode::from(2)
        }
        Err(Failure::Missing(what)) => {
            eprintln!("{name}: {what}");
            ExitCode::from(3)
        }
        Err(Failure::Message(what)) => {
            eprintln!("{name}: {what}");
            ExitCode::FAILURE
        }
        Err(Failure::Command { line, status }) => {
            eprintln!("{name}: failed: {line}");
            ExitCode::from(status)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_command_has_one_line_in_the_help_and_a_name_of_its_own() {
        let text = overview();
        for task in tasks() {
            assert_eq!(tasks().filter(|other| other.name == task.name).count(), 1, "{}", task.name);
            assert!(task.about.len() <= 80 && !task.about.contains('\n'), "{}", task.name);
            let line = format!("\n  {:14} {}\n", task.name, task.about);
            assert!(text.contains(&line), "{}", task.name);
        }
    }

    #[test]
    fn options_and_numbers_that_a_command_does_not_take_are_refused() {
        for task in tasks() {
            let refused = (task.run)(&["--no-such-option".into()]);
            assert!(matches!(refused, Err(Failure::Usage)), "{}", task.name);
        }
    }
}
