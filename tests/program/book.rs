//! Checks the pages of the book, the README and ARCHITECTURE.md: their commands and outputs, their
//! links and their length.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::process::Command;

use crate::support::program::{ROOT, vptx};

/// The most words of prose on a page.
const WORDS: usize = 900;

/// A page: its path from the root, and its text.
struct Page {
    path: PathBuf,
    text: String,
}

impl Page {
    fn read(path: PathBuf) -> Page {
        let text = fs::read_to_string(Path::new(ROOT).join(&path)).expect("a page");
        Page { path, text }
    }

    fn is_of_the_book(&self) -> bool {
        self.path.starts_with("docs")
    }

    /// The lines outside of fenced blocks.
    fn lines(&self) -> impl Iterator<Item = &str> {
        let mut is_fenced = false;
        self.text.lines().filter(move |line| {
            let is_fence = line.trim_start().starts_with("```");
            is_fenced ^= is_fence;
            !is_fenced && !is_fence
        })
    }

    /// The fenced blocks of a language.
    fn blocks(&self, language: &str) -> Vec<&str> {
        let start = format!("```{language}\n");
        let blocks = self.text.split(&*start).skip(1);
        blocks.map(|block| block.split("```").next().expect("a block")).collect()
    }

    /// The targets of links and pictures: a path and an anchor, one of which may be empty.
    fn links(&self) -> Vec<(&str, &str)> {
        let ends = self.lines().flat_map(|line| line.split("](").skip(1));
        let targets = ends.filter_map(|rest| Some(rest.split_once(')')?.0));
        let inner = targets.filter(|target| !target.contains("://"));
        inner.map(|target| target.split_once('#').unwrap_or((target, ""))).collect()
    }

    /// The anchors of the page's headings, as mdBook and GitHub make them.
    fn anchors(&self) -> BTreeSet<String> {
        let headings = self.lines().filter(|line| line.starts_with('#'));
        let anchor = |line: &str| {
            let kept = |it: &char| it.is_alphanumeric() || " -_".contains(*it);
            let heading = line.trim_start_matches('#').trim().to_lowercase();
            heading.chars().filter(kept).map(|it| if it == ' ' { '-' } else { it }).collect()
        };
        headings.map(anchor).collect()
    }

    /// The number of words of prose: without code, tables and addresses.
    fn words(&self) -> usize {
        let prose = self.lines().filter(|line| !line.starts_with('|'));
        prose.map(|line| line.split_whitespace().count()).sum()
    }
}

/// All pages of the book, and two other pages that link to the book.
fn pages() -> Vec<Page> {
    fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(Path::new(ROOT).join(folder)).expect("a folder") {
            let path = folder.join(entry.expect("an entry").file_name());
            if Path::new(ROOT).join(&path).is_dir() {
                walk(&path, found);
            } else if path.extension().is_some_and(|it| it == "md") {
                found.push(path);
            }
        }
    }
    let mut found = vec!["README.md".into(), "ARCHITECTURE.md".into()];
    walk(Path::new("docs"), &mut found);
    found.sort_unstable();
    found.into_iter().map(Page::read).collect()
}

/// A path without `..`.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => assert!(plain.pop(), "{}", path.display()),
            part => plain.push(part),
        }
    }
    plain
}

/// Runs a console line. `vptx` in the line is the program that this build made.
fn run(line: &str) -> String {
    let program = Path::new(env!("CARGO_BIN_EXE_vptx"));
    let folder = program.parent().expect("a folder");
    // On a fresh machine, this command first builds the same program.
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

#[test]
fn pages_show_what_happens() {
    let mut count = 0;
    for page in pages() {
        for block in page.blocks("console") {
            for part in block.split("$ ").skip(1) {
                let (line, shown) = part.split_once('\n').expect("a command");
                assert_eq!(
                    run(line).trim_end(),
                    shown.trim_end(),
                    "{}: $ {line}",
                    page.path.display()
                );
                count += 1;
            }
        }
    }
    assert!(count >= 20, "{count}");
}

/// Every option that a page names beside a command is in the help of that command.
#[test]
fn commands_have_the_options_that_pages_name() {
    let mut helps: BTreeMap<String, String> = BTreeMap::new();
    let mut count = 0;
    for page in pages() {
        let blocks = [page.blocks("sh"), page.blocks("console"), page.blocks("yaml")].concat();
        let in_blocks = blocks.iter().flat_map(|block| block.lines());
        let in_text = page.lines().flat_map(|line| line.split('`').skip(1).step_by(2));
        for line in in_blocks.chain(in_text) {
            let line = line.split(" #").next().expect("a line");
            for call in line.split("vptx ").skip(1) {
                let mut words = call.split([' ', '\'', '`', ')']);
                let command = words.next().expect("a command");
                if command == "COMMAND" {
                    continue;
                }
                // Options after `--` are options of ptxas.
                let words = words.take_while(|word| !["--", "|", "&&", ";"].contains(word));
                for option in words.filter(|word| word.starts_with("--")) {
                    let option = option.split('=').next().expect("an option");
                    let help = helps
                        .entry(command.to_string())
                        .or_insert_with(|| vptx(&[command, "--help"], "").stdout);
                    let known =
                        help.split_whitespace().any(|word| word.trim_matches(',') == option);
                    assert!(known, "{}: vptx {command} {option}", page.path.display());
                    count += 1;
                }
            }
        }
    }
    assert!(count > 60, "{count}");
}

#[test]
fn links_lead_to_pages_and_headings() {
    let pages = pages();
    let anchors: BTreeMap<&Path, BTreeSet<String>> =
        pages.iter().map(|page| (page.path.as_path(), page.anchors())).collect();
    let mut count = 0;
    for page in &pages {
        for (target, anchor) in page.links() {
            let folder = page.path.parent().expect("a folder");
            let path =
                if target.is_empty() { page.path.clone() } else { plain(&folder.join(target)) };
            let place = format!("{}: {target}#{anchor}", page.path.display());
            assert!(Path::new(ROOT).join(&path).exists(), "{place}");
            // The published book contains only files in `docs`, so its pages must not link to
            // others.
            assert!(!page.is_of_the_book() || path.starts_with("docs"), "{place}");
            assert!(anchor.is_empty() || anchors[&*path].contains(anchor), "{place}");
            count += 1;
        }
    }
    assert!(count > 100, "{count}");
}

#[test]
fn the_summary_has_each_page_once() {
    let pages = pages();
    let is_summary = |page: &&Page| page.path.ends_with("SUMMARY.md");
    let summary = pages.iter().find(is_summary).expect("the summary");
    let mut listed: Vec<PathBuf> =
        summary.links().iter().map(|(target, _)| Path::new("docs").join(target)).collect();
    listed.sort_unstable();
    let book = pages.iter().filter(|page| page.is_of_the_book() && !is_summary(page));
    let book: Vec<PathBuf> = book.map(|page| page.path.clone()).collect();
    assert_eq!(listed, book);
}

#[test]
fn pages_are_short() {
    for page in pages() {
        let words = page.words();
        // ARCHITECTURE.md is not a page of the book.
        let most = if page.path.ends_with("ARCHITECTURE.md") { 2000 } else { WORDS };
        assert!(words <= most, "{} has {words} words of prose", page.path.display());
    }
    let readme = Page::read("README.md".into());
    assert!(readme.text.lines().count() <= 140);
}

/// The page has a row for each deviation, and no other rows.
#[test]
fn the_page_of_deviations_has_all() {
    let page = Page::read("docs/deviations.md".into());
    let rows = page.lines().filter_map(|line| line.strip_prefix("| C"));
    let rows: Vec<String> = rows.map(|row| format!("| C{row}")).collect();
    let all = vptx::video::Deviation::ALL.iter();
    let all: Vec<String> = all.map(|it| format!("| {it} | {} |", it.title())).collect();
    assert_eq!(rows, all);
}

#[test]
fn the_page_of_commands_has_their_exit_statuses() {
    let page = Page::read("docs/commands.md".into());
    let table = page.lines().skip_while(|line| *line != "## Exit status");
    let rows = table.filter_map(|line| line.strip_prefix("| `")?.strip_suffix(" |"));
    let mut commands = Vec::new();
    for row in rows {
        let (command, meanings) = row.split_once("` |").expect("a command");
        let help = vptx(&[command, "--help"], "").stdout;
        let help: Vec<&str> = help.split_whitespace().collect();
        let help = help.join(" ");
        let (_, said) = help.split_once("Exit status: ").expect("statuses");
        for (status, meaning) in meanings.split('|').map(str::trim).enumerate() {
            let is_said = said.contains(&format!("{status} {meaning}"));
            assert_eq!(is_said, !meaning.is_empty(), "{command}, {status}: {said}");
        }
        commands.push(command.to_owned());
    }
    assert_eq!(commands.len(), 13);
}
