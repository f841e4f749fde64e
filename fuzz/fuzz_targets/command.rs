//! Any bytes as the input of a command: a file of settings, a baseline, the lines of a batch, or a
//! text. The first byte chooses the command. A line of dashes splits the rest into the command's
//! file and a text. Run it with `-close_fd_mask=3`, because commands print.
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
    // Any panic ends the run, even one that the program would report as a bug: libFuzzer sees it
    // first.
    let _ = vptx::cli::run(words);
});
