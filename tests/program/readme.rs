//! Every command and output of the README.

use std::path::Path;
use std::process::Command;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// Runs a console line of the README with this build of the program.
fn run(line: &str) -> String {
    let program = Path::new(env!("CARGO_BIN_EXE_vptx"));
    let folder = program.parent().expect("a folder");
    // The line for a fresh machine builds the same program first.
    let line = line.replace("cargo run --release --locked --", "vptx");
    let path = std::env::var("PATH").unwrap_or_default();
    let output = Command::new("sh")
        .args(["-c", &line])
        .current_dir(ROOT)
        .env("PATH", format!("{}:{path}", folder.display()))
        .env("COLUMNS", "80")
        .output()
        .expect("a shell");
    assert!(output.stderr.is_empty(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

#[test]
fn console_blocks_show_what_happens() {
    let readme = std::fs::read_to_string(Path::new(ROOT).join("README.md")).expect("README.md");
    let mut count = 0;
    for block in readme.split("```console\n").skip(1) {
        let block = block.split("```").next().expect("a block");
        for part in block.split("$ ").skip(1) {
            let (line, shown) = part.split_once('\n').expect("a command");
            assert_eq!(run(line).trim_end(), shown.trim_end(), "$ {line}");
            count += 1;
        }
    }
    assert!(count >= 3);
}
