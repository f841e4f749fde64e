//! Fuzz targets, with fixtures as their first inputs.

use std::fs;
use std::path::{Path, PathBuf};

use crate::Task;
use crate::work::{Failure, Options, Outcome, files, root, run, succeeds, words};

pub const TASKS: &[Task] = &[Task {
    name: "fuzz",
    arguments: "[--seconds N] [--cores N] [TARGET]...",
    about: "Run fuzz targets, with fixtures as their first inputs",
    details: "\
Runs the targets (all of fuzz/fuzz_targets) one after the other, each for N seconds (1800) on
N cores (2). Each starts from the inputs in fuzz/corpus, and from what this command adds there:
fixtures, statements with recorded results, and pairs of texts, as the target takes them. Stops
at the first failure; the input is then in fuzz/artifacts. Needs cargo-fuzz and a nightly Rust.",
    run: fuzz,
}];

/// Longer texts would make every run slow.
const LONGEST: u64 = 6000;

fn fuzz(arguments: &[String]) -> Outcome {
    let (mut seconds, mut cores, mut chosen) = (1800u32, 2u32, Vec::new());
    let mut options = Options::new(arguments);
    while let Some(option) = options.next() {
        match option {
            "--seconds" => seconds = options.value()?,
            "--cores" => cores = options.value()?,
            name if !name.starts_with('-') => chosen.push(name.to_owned()),
            _ => return Err(Failure::Usage),
        }
    }
    let folder = root().join("fuzz");
    let targets = targets()?;
    if let Some(name) = chosen.iter().find(|name| !targets.contains(name)) {
        return Err(Failure::Message(format!(
            "no target {name}; there are {}",
            targets.join(", ")
        )));
    }
    if !succeeds(&mut words("cargo +nightly fuzz --version")) {
        return Err(Failure::Missing("cargo-fuzz or a nightly Rust is missing".into()));
    }
    for target in if chosen.is_empty() { &targets } else { &chosen } {
        let corpus = folder.join("corpus").join(target);
        fs::create_dir_all(&corpus)?;
        for (number, input) in inputs(target)?.iter().enumerate() {
            fs::write(corpus.join(format!("fixture-{number}")), input)?;
        }
        println!("{target}");
        let mut command = words("cargo +nightly fuzz run");
        command.args([target, "--"]);
        command.arg(format!("-max_total_time={seconds}")).arg(format!("-fork={cores}"));
        if target == "command" {
            // Commands print.
            command.arg("-close_fd_mask=3");
        }
        run(&mut command)?;
    }
    Ok(())
}

fn targets() -> Outcome<Vec<String>> {
    let files = files(&root().join("fuzz/fuzz_targets"), |_| true)?;
    let stems = files.iter().filter_map(|path| path.file_stem());
    Ok(stems.map(|stem| stem.to_string_lossy().into_owned()).collect())
}

/// The first inputs of a target.
fn inputs(target: &str) -> Outcome<Vec<Vec<u8>>> {
    Ok(match target {
        "cuda" | "port" => texts(&["asm", "cuda", "macros", "port", "sources"])?,
        "extract" => texts(&["fatbin"])?,
        "evaluate" => {
            let lines = recorded()?;
            lines.chunks(4).step_by(20).map(|some| some.join("\n").into_bytes()).collect()
        }
        "explain" => {
            let lines = recorded()?.into_iter().step_by(80);
            lines.map(|line| line.split('\t').next().unwrap_or_default().into()).collect()
        }
        // The first byte chooses the command.
        "command" => {
            let texts = ptx()?;
            let pairs = (0..=u8::MAX).cycle().zip(texts.iter().zip(texts.iter().skip(1)));
            pairs.map(|(byte, (one, two))| [&[byte], &**one, b"----", two].concat()).collect()
        }
        "diff" => {
            let texts = ptx()?;
            texts.windows(2).map(|pair| [&*pair[0], b"----", &pair[1]].concat()).collect()
        }
        // It makes messages of any bytes.
        "server" => Vec::new(),
        _ => ptx()?,
    })
}

fn ptx() -> Outcome<Vec<Vec<u8>>> {
    texts(&["diagnostics", "directives", "format", "kernels", "ptx", "regions"])
}

/// The files of some folders of the fixtures, without long ones.
fn texts(folders: &[&str]) -> Outcome<Vec<Vec<u8>>> {
    let mut all = Vec::new();
    for folder in folders {
        collect(&root().join("fixtures").join(folder), &mut all)?;
    }
    all.sort();
    all.iter().map(|path| Ok(fs::read(path)?)).collect()
}

fn collect(folder: &Path, all: &mut Vec<PathBuf>) -> Outcome {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let metadata = entry.metadata()?;
        if metadata.is_dir() {
            collect(&entry.path(), all)?;
        } else if metadata.len() <= LONGEST {
            all.push(entry.path());
        }
    }
    Ok(())
}

/// Instructions and three words, as `eval --batch` takes them.
fn recorded() -> Outcome<Vec<String>> {
    let text = fs::read_to_string(root().join("fixtures/oracle/vectors.tsv"))?;
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    Ok(lines.map(|line| line.split('\t').take(4).collect::<Vec<_>>().join("\t")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_have_inputs() {
        for target in targets().ok().expect("a folder") {
            let inputs = inputs(&target).ok().expect("fixtures");
            assert!(inputs.len() >= 10 || target == "server", "{target}: {}", inputs.len());
        }
    }
}
