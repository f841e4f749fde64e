//! Any bytes as what a command reads: a file of settings, a baseline, lines of a batch, a text.
//! The first byte chooses which, the rest is split at a line of dashes into this file and a text
//! beside it. Run it with `-close_fd_mask=3`, as commands print.
#![no_main]

use std::fs;
use std::path::PathBuf;
use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;

const COMMANDS: &[&str] = &[
    "check --config FILE TEXT",
    "check --baseline FILE TEXT",
    "check --baseline FILE --update-baseline TEXT",
    "eval --batch FILE",
    "eval --semantics all --format json --batch FILE",
    "fmt --config FILE --check TEXT",
    "fmt --normalize --diff TEXT",
    "tree FILE",
    "tree --format json FILE",
    "lower --emit c FILE",
    "lower --emit llvm FILE",
    "rewrite --target sm_90 FILE",
    "extract FILE",
    "survey FILE",
    "diff --format json FILE TEXT",
    "check --fix --unsafe-fixes TEXT",
];

static FOLDER: LazyLock<PathBuf> = LazyLock::new(|| {
    let folder = std::env::temp_dir().join(format!("vptx-fuzz-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder for files");
    folder
});

fuzz_target!(|bytes: &[u8]| {
    let Some((&first, rest)) = bytes.split_first() else { return };
    let line = COMMANDS[usize::from(first) % COMMANDS.len()];
    let at = rest.windows(4).position(|it| it == b"----").unwrap_or(rest.len());
    let (file, text) = (FOLDER.join("vptx.toml"), FOLDER.join("a.ptx"));
    fs::write(&file, &rest[..at]).expect("a file");
    fs::write(&text, rest.get(at + 4..).unwrap_or_default()).expect("a file");
    let words = ["vptx"].into_iter().chain(line.split(' ')).map(|word| match word {
        "FILE" => file.clone().into_os_string(),
        "TEXT" => text.clone().into_os_string(),
        _ => word.into(),
    });
    // A bug that the program would report ends the run, as libFuzzer sees each panic.
    let _ = vptx::cli::run(words);
});
