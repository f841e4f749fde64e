//! The order of the source's modules ("rooms"): no room imports a room above it.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// The rooms that ARCHITECTURE.md lists, from the lowest up.
fn listed() -> Vec<String> {
    let text = fs::read_to_string(Path::new(ROOT).join("ARCHITECTURE.md")).expect("the list");
    let rows = text.lines().filter_map(|line| line.strip_prefix("| `src/"));
    let rooms = rows.flat_map(|row| {
        let places = row.split('|').next().expect("a cell").replace('`', "");
        places.split(", src/").map(str::to_string).collect::<Vec<_>>()
    });
    rooms.map(|room| room.trim().trim_end_matches('/').trim_end_matches(".rs").into()).collect()
}

/// Every source file, with the name of its room.
fn files() -> Vec<(String, PathBuf)> {
    fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                walk(&path, found);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.push(path);
            }
        }
    }
    let source = Path::new(ROOT).join("src");
    let mut found = Vec::new();
    walk(&source, &mut found);
    let room = |path: PathBuf| {
        let inside = path.strip_prefix(&source).expect("a path inside");
        let first = inside.iter().next().and_then(|first| first.to_str()).expect("a name");
        (first.trim_end_matches(".rs").to_string(), path)
    };
    found.into_iter().map(room).collect()
}

/// The rooms that a text uses, outside of comments and unit tests.
fn named(text: &str) -> BTreeSet<String> {
    let code = text.split("\nmod tests {").next().unwrap_or_default();
    let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
    let uses = lines.flat_map(|line| line.split("crate::").skip(1));
    let is_other = |c: char| !c.is_alphanumeric() && c != '_';
    let words = uses.filter_map(|rest| rest.split(is_other).next());
    words.filter(|word| !word.is_empty()).map(str::to_string).collect()
}

#[test]
fn no_room_imports_one_above_it() {
    let rooms = listed();
    let floor = |room: &str| rooms.iter().position(|listed| listed == room);
    let mut seen = BTreeSet::new();
    for (room, path) in files() {
        // Files at the top level, and code for unit tests, may use every room.
        if ["lib", "main", "testing"].contains(&&*room) || path.ends_with("tests.rs") {
            continue;
        }
        let own = floor(&room).unwrap_or_else(|| panic!("ARCHITECTURE.md does not list `{room}`"));
        for other in named(&fs::read_to_string(&path).expect("a source file")) {
            let Some(other_floor) = floor(&other) else {
                panic!("{}: `crate::{other}` is no room", path.display());
            };
            assert!(other_floor <= own, "{}: `{room}` is below `{other}`", path.display());
        }
        seen.insert(room);
    }
    assert_eq!(seen, rooms.into_iter().collect(), "ARCHITECTURE.md lists what there is");
}

/// Only one lexer reads PTX. The tree, the reader of `check` and the formatter use it.
#[test]
fn no_other_room_reads_tokens() {
    let mut found = BTreeSet::new();
    for (room, path) in files() {
        let text = fs::read_to_string(&path).expect("a source file");
        // `embed` also has a lexer for other languages.
        if !matches!(&*room, "syntax" | "embed") && text.contains("Lexer::new") {
            let file = path.strip_prefix(Path::new(ROOT).join("src")).expect("a path inside");
            found.insert(file.display().to_string());
        }
    }
    assert_eq!(found, BTreeSet::new());
}

#[test]
fn imports_are_found() {
    let text = "use crate::source::Span;\n// crate::cli\nlet x = crate::isa::Target::sm(20);\n\
                #[cfg(test)]\nmod tests {\n    use crate::report::x;\n}\n";
    assert_eq!(named(text), ["isa", "source"].map(str::to_string).into());
}

#[test]
fn every_public_module_has_an_example() {
    let mut modules = 0;
    for (folder, file) in [("src", "src/lib.rs"), ("src/backend", "src/backend/mod.rs")] {
        let text = fs::read_to_string(Path::new(ROOT).join(file)).expect("a file");
        let lines: Vec<&str> = text.lines().collect();
        for (at, line) in lines.iter().enumerate() {
            let Some(name) = line.strip_prefix("pub mod ").and_then(|it| it.strip_suffix(';'))
            else {
                continue;
            };
            let attributes = lines[..at].iter().rev().take_while(|line| line.starts_with("#["));
            if attributes.into_iter().any(|line| *line == "#[doc(hidden)]") {
                continue;
            }
            modules += 1;
            let path = Path::new(ROOT).join(folder).join(name).join("mod.rs");
            let text = fs::read_to_string(&path).expect("a module");
            // A block in another language, or one that is not run, does not count as an example.
            assert!(text.lines().any(|line| line == "//! ```"), "{}", path.display());
        }
    }
    assert!(modules >= 20, "{modules}");
}
