//! Checks every command and output of the README and of the guide.

use std::path::Path;
use std::process::Command;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// Runs a console line of the README with this build of the program.
fn run(line: &str) -> String {
    let program = Path::new(env!("CARGO_BIN_EXE_vptx"));
    let folder = program.parent().expect("a folder");
    // The command for a fresh machine builds the same program first.
    let line = line.replace("cargo run --locked --", "vptx");
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

fn blocks_are_true(page: &str, least: usize) {
    let text = std::fs::read_to_string(Path::new(ROOT).join(page)).expect(page);
    let mut count = 0;
    for block in text.split("```console\n").skip(1) {
        let block = block.split("```").next().expect("a block");
        for part in block.split("$ ").skip(1) {
            let (line, shown) = part.split_once('\n').expect("a command");
            assert_eq!(run(line).trim_end(), shown.trim_end(), "{page}: $ {line}");
            count += 1;
        }
    }
    assert!(count >= least, "{page}");
}

#[test]
fn the_readme_shows_what_happens() {
    blocks_are_true("README.md", 3);
}

#[test]
fn the_guide_shows_what_happens() {
    blocks_are_true("docs/guide.md", 10);
}

#[test]
fn the_page_of_the_tree_shows_what_happens() {
    blocks_are_true("docs/tree.md", 1);
}

#[test]
fn links_lead_to_files() {
    let mut count = 0;
    for page in [
        "README.md",
        "ARCHITECTURE.md",
        "docs/guide.md",
        "docs/verification.md",
        "docs/editors.md",
        "docs/tree.md",
    ] {
        let page = Path::new(ROOT).join(page);
        let text = std::fs::read_to_string(&page).expect("a page");
        for rest in text.split("](").skip(1) {
            let target = rest.split([')', '#']).next().expect("a link");
            if !target.contains("://") {
                let path = page.parent().expect("a folder").join(target);
                assert!(path.exists(), "{}: {target}", page.display());
                count += 1;
            }
        }
    }
    assert!(count > 10, "{count}");
}
