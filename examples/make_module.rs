//! Writes a random PTX module to standard output, for experiments and measurements.

#[path = "../benches/module/mod.rs"]
mod module;

use std::io::{self, Write};
use std::process::ExitCode;

use module::{Recipe, Style};

const USAGE: &str = "\
usage: make_module [--style STYLE] [--bytes N] [--video N] [--mix MIX] [--seed N]

Writes a PTX module to standard output; the same arguments make the same one.

  --style STYLE  nvcc, lineinfo (nvcc -lineinfo), debug (nvcc -G), clang (and
                 Triton), hand or data (tables of constants) [nvcc]
  --bytes N      about how long it is [1000000]
  --video N      how many of a thousand instructions are video instructions [0]
  --mix MIX      clean: `vptx check` finds nothing in these but values that nothing
                 writes or reads; doubtful: it does [clean]
  --seed N       another number, not 0, makes another module [1]
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.iter().any(|argument| argument == "-h" || argument == "--help") {
        print!("{USAGE}");
        return ExitCode::SUCCESS;
    }
    let recipe = match recipe(&arguments) {
        Ok(recipe) => recipe,
        Err(message) => {
            eprint!("make_module: {message}\n\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    match io::stdout().lock().write_all(recipe.make().as_bytes()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            eprintln!("make_module: cannot write: {error}");
            ExitCode::from(2)
        }
        _ => ExitCode::SUCCESS,
    }
}

fn recipe(arguments: &[String]) -> Result<Recipe, String> {
    let mut recipe = Recipe::new(Style::Nvcc, 1_000_000, 0);
    let mut arguments = arguments.iter();
    while let Some(name) = arguments.next() {
        if !matches!(name.as_str(), "--style" | "--bytes" | "--video" | "--mix" | "--seed") {
            return Err(format!("unknown argument: {name}"));
        }
        let value = arguments.next().ok_or_else(|| format!("{name} wants a value"))?;
        let number = |least: u64, most: u64| {
            value
                .parse()
                .ok()
                .filter(|number| (least..=most).contains(number))
                .ok_or_else(|| format!("{name} wants a number from {least} to {most}: {value}"))
        };
        match name.as_str() {
            "--style" => {
                let known = Style::ALL.iter().find(|(style, _)| style == value);
                recipe.style = known.ok_or_else(|| format!("unknown style: {value}"))?.1;
            }
            "--bytes" => recipe.bytes = number(0, 4 << 30)? as usize,
            "--video" => recipe.video_per_mille = number(0, 1000)?,
            "--mix" => {
                recipe.doubtful = match value.as_str() {
                    "clean" => false,
                    "doubtful" => true,
                    _ => return Err(format!("unknown mix: {value}")),
                }
            }
            _ => recipe.seed = number(1, u64::MAX)?,
        }
    }
    Ok(recipe)
}
