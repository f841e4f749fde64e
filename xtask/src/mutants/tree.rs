//! A copy of the repository. Each drawn place in it asks whether its mutant is active.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::places::Place;
use crate::work::{Failure, Outcome, output, root, words};

/// A mutant: a place in a file.
#[derive(Clone)]
pub struct Mutant {
    /// The path of the file, such as `src/diff/value.rs`.
    pub file: String,
    /// The number of the line, counted from 1.
    pub line: usize,
    pub place: Place,
}

pub struct Tree {
    pub folder: PathBuf,
    target: PathBuf,
}

/// The function that tells whether a mutant is active. If `VPTX_MUTANTS_REACHED` names a file, the
/// function writes there which mutants it was asked for.
const SWITCH: &str = r#"
pub(crate) fn mutant(id: usize) -> bool {
    use std::io::Write as _;
    use std::sync::LazyLock;
    use std::sync::atomic::{AtomicBool, Ordering};
    static ON: LazyLock<usize> = LazyLock::new(|| {
        let value = std::env::var("VPTX_MUTANT").ok();
        value.and_then(|value| value.parse().ok()).unwrap_or(usize::MAX)
    });
    static REACHED: LazyLock<Option<std::path::PathBuf>> =
        LazyLock::new(|| std::env::var_os("VPTX_MUTANTS_REACHED").map(Into::into));
    static SEEN: [AtomicBool; COUNT] = [const { AtomicBool::new(false) }; COUNT];
    if let Some(path) = &*REACHED
        && !SEEN[id].swap(true, Ordering::Relaxed)
        && let Ok(mut file) = std::fs::OpenOptions::new().append(true).create(true).open(path)
    {
        let _ = file.write_all(format!("{id}\n").as_bytes());
    }
    *ON == id
}
"#;

/// A source after the changes.
struct Moved {
    text: String,
    /// For each mutant, its number, the range of its place with the inserted text, and the range of
    /// the function around it.
    mutants: Vec<(usize, Range<usize>, Range<usize>)>,
}

impl Tree {
    /// Copies all files that git tracks or would add. Unchanged files keep their times.
    pub fn new(folder: &Path) -> Outcome<Tree> {
        let listed = output(&mut words(
            "git ls-files -z --cached --others --exclude-standard --deduplicate",
        ))?;
        let mut keep = BTreeSet::new();
        for name in listed.split('\0').filter(|name| !name.is_empty()) {
            let (from, to) = (root().join(name), folder.join("tree").join(name));
            let Ok(bytes) = fs::read(&from) else { continue };
            keep.insert(to.clone());
            if fs::read(&to).is_ok_and(|old| old == bytes) {
                continue;
            }
            if let Some(parent) = to.parent() {
                fs::create_dir_all(parent)?;
            }
            fs::copy(&from, &to)?;
        }
        remove_others(&folder.join("tree"), &keep)?;
        Ok(Tree { target: folder.join("target"), folder: folder.join("tree") })
    }

    fn cargo(&self, line: &str) -> Command {
        let mut cargo = words(line);
        cargo
            .current_dir(&self.folder)
            .env("CARGO_TARGET_DIR", &self.target)
            .env("CARGO_PROFILE_DEV_DEBUG", "0")
            .env("CARGO_INCREMENTAL", "0");
        cargo
    }

    /// Writes the sources of all mutants. They contain only the mutants in `on`.
    fn write(&self, mutants: &[Mutant], on: &[usize]) -> Outcome<BTreeMap<String, Moved>> {
        let mut files = BTreeMap::from([("src/lib.rs", Vec::new())]);
        for (id, mutant) in mutants.iter().enumerate() {
            let ids = files.entry(&mutant.file).or_default();
            if on.contains(&id) {
                ids.push(id);
            }
        }
        let mut all = BTreeMap::new();
        for (file, ids) in files {
            let moved = apply(&fs::read_to_string(root().join(file))?, mutants, &ids);
            let text = if file == "src/lib.rs" {
                // The switch goes on the first line, so that other lines keep their numbers.
                let switch = SWITCH.replace("COUNT", &mutants.len().to_string());
                format!("#![allow(warnings)] {}{switch}", moved.text)
            } else {
                moved.text.clone()
            };
            fs::write(self.folder.join(file), text)?;
            all.insert(file.to_owned(), moved);
        }
        Ok(all)
    }

    /// Builds the tests with all mutants that compile. Returns the numbers of these mutants and the
    /// test programs. Afterwards the sources are restored, because tests read them.
    pub fn build(&self, mutants: &[Mutant]) -> Outcome<(Vec<usize>, Vec<PathBuf>)> {
        let mut on: Vec<usize> = (0..mutants.len()).collect();
        loop {
            let moved = self.write(mutants, &on)?;
            let check =
                "cargo check --quiet --locked --lib --features batch --message-format=short";
            let found = self.cargo(check).output()?;
            let errors = String::from_utf8_lossy(&found.stderr).into_owned();
            if found.status.success() {
                break;
            }
            let wrong = blamed(&errors, &moved);
            if wrong.is_empty() {
                return Err(Failure::Message(format!("no mutant explains this:\n{errors}")));
            }
            println!("{} mutants do not compile", wrong.len());
            on.retain(|id| !wrong.contains(id));
        }
        // The tests of plans are those of the C library, which is another workspace.
        let builds = [
            "cargo test --no-run --locked --lib --test library --test program --test live \
             --features batch",
            "cargo test --no-run --locked --profile quick --manifest-path bindings/c/Cargo.toml \
             --test plans",
        ];
        let outputs = builds.map(|build| self.cargo(build).output());
        let changed = mutants.iter().map(|mutant| mutant.file.as_str());
        for file in changed.chain(["src/lib.rs"]) {
            fs::copy(root().join(file), self.folder.join(file))?;
        }
        let mut programs = Vec::new();
        for output in outputs {
            let output = output?;
            let log = String::from_utf8_lossy(&output.stderr);
            if !output.status.success() {
                return Err(Failure::Message(format!("the tests do not build:\n{log}")));
            }
            programs.extend(log.lines().filter_map(|line| {
                let path = line.trim().strip_prefix("Executable ")?.rsplit_once('(')?.1;
                Some(self.folder.join(path.strip_suffix(')')?))
            }));
        }
        Ok((on, programs))
    }
}

fn remove_others(folder: &Path, keep: &BTreeSet<PathBuf>) -> Outcome {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            remove_others(&path, keep)?;
        } else if !keep.contains(&path) {
            fs::remove_file(path)?;
        }
    }
    Ok(())
}

/// The text with some mutants inserted.
fn apply(text: &str, mutants: &[Mutant], ids: &[usize]) -> Moved {
    // If one place contains another, the inserted texts are nested, too. An empty place comes
    // first.
    let mut ids = ids.to_vec();
    ids.sort_by_key(|&id| {
        let Range { start, end } = mutants[id].place.range;
        (start, start != end, std::cmp::Reverse(end), id)
    });
    let mut moved = Moved { text: String::new(), mutants: Vec::new() };
    // The places whose end is still to come: index in `moved.mutants`, end, text to insert there.
    let mut open: Vec<(usize, usize, &str)> = Vec::new();
    // Pairs of an old offset and the new offset to which its byte moved.
    let mut steps = vec![(0, 0)];
    let mut done = 0;
    let mut copy = |moved: &mut Moved, end: usize| {
        moved.text += &text[done..end];
        done = end;
        steps.push((end, moved.text.len()));
    };
    let mut next = ids.into_iter().peekable();
    loop {
        let start = next.peek().map(|&id| mutants[id].place.range.start);
        if let Some(&(index, end, after)) = open.last()
            && start.is_none_or(|start| end <= start)
        {
            copy(&mut moved, end);
            moved.text += after;
            moved.mutants[index].1.end = moved.text.len();
            open.pop();
        } else if let Some(id) = next.next() {
            let place = &mutants[id].place;
            copy(&mut moved, place.range.start);
            let start = moved.text.len();
            let (before, after) = place.around(id);
            moved.text += &before;
            open.push((moved.mutants.len(), place.range.end, after));
            moved.mutants.push((id, start..start, place.function.clone()));
        } else {
            break;
        }
    }
    copy(&mut moved, text.len());
    // The first step at an offset is before the text that is inserted there, the last step is after
    // it.
    for (_, _, function) in &mut moved.mutants {
        let at = |old: usize| {
            let (from, to) =
                steps[steps.partition_point(|&(from, _)| from < old).saturating_sub(1)];
            to + old.saturating_sub(from)
        };
        *function = at(function.start)..at(function.end);
    }
    moved
}

/// The mutants to which the compiler's errors refer.
fn blamed(errors: &str, files: &BTreeMap<String, Moved>) -> BTreeSet<usize> {
    let mut wrong = BTreeSet::new();
    for line in errors.lines() {
        let mut parts = line.splitn(4, ':');
        let (Some(file), Some(row), Some(column), Some(message)) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            continue;
        };
        let (Some(moved), Ok(row), Ok(column)) =
            (files.get(file), row.parse::<usize>(), column.parse::<usize>())
        else {
            continue;
        };
        if !message.trim_start().starts_with("error") {
            continue;
        }
        let before: usize = moved.text.split_inclusive('\n').take(row - 1).map(str::len).sum();
        let line = moved.text[before..].lines().next().unwrap_or_default();
        let at = before + line.chars().take(column - 1).map(char::len_utf8).sum::<usize>();
        let inside = |range: &Range<usize>| range.start <= at && at < range.end;
        let own = moved.mutants.iter().filter(|(_, range, _)| inside(range));
        if let Some((id, ..)) = own.min_by_key(|(_, range, _)| range.len()) {
            wrong.insert(*id);
        } else {
            let near = moved.mutants.iter().filter(|(.., function)| inside(function));
            wrong.extend(near.map(|(id, ..)| *id));
        }
    }
    wrong
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mutants::places::places;

    fn mutants(text: &str) -> Vec<Mutant> {
        let (places, _) = places(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        places.into_iter().map(|place| Mutant { file: "a.rs".into(), line: 1, place }).collect()
    }

    fn applied(text: &str, ids: &[usize]) -> String {
        apply(text, &mutants(text), ids).text
    }

    #[test]
    fn each_mutant_is_one_choice_and_the_source_is_the_other() {
        let text = "fn f(a: u8) -> bool { a < 2 }";
        let one = |id| applied(text, &[id]);
        assert_eq!(one(0), "fn f(a: u8) -> bool { if crate::mutant(0) { return true; } a < 2 }");
        assert_eq!(
            one(2),
            "fn f(a: u8) -> bool { (if crate::mutant(2) { a <= 2 } else { a < 2 }) }"
        );
        assert_eq!(one(4), "fn f(a: u8) -> bool { a < (if crate::mutant(4) { 3 } else { 2 }) }");
    }

    #[test]
    fn places_at_and_in_each_other_nest() {
        let text = "fn f(a: u8) -> bool { a < 2 }";
        assert_eq!(
            applied(text, &[4, 3, 0, 2]),
            "fn f(a: u8) -> bool { if crate::mutant(0) { return true; } \
             (if crate::mutant(2) { a <= 2 } else { \
             (if crate::mutant(3) { a >= 2 } else { \
             a < (if crate::mutant(4) { 3 } else { 2 }) }) }) }"
        );
    }

    #[test]
    fn an_error_is_that_of_the_innermost_mutant_or_of_all_in_the_function() {
        let text = "fn f(a: u8) -> u8 {\n    g(a + 1);\n    a\n}\nfn g(a: u8) {\n    h(a - 1)\n}\n";
        let mutants = mutants(text);
        let all: Vec<usize> = (0..mutants.len()).collect();
        let moved = apply(text, &mutants, &all);
        let position = |what: &str| {
            let before = &moved.text[..moved.text.find(what).unwrap()];
            let line = before.matches('\n').count() + 1;
            let column = before.len() - before.rfind('\n').map_or(0, |at| at + 1) + 1;
            format!("a.rs:{line}:{column}: error[E0308]: mismatched types: no\n")
        };
        let blame = |what: &str| {
            let files = BTreeMap::from([("a.rs".to_owned(), apply(text, &mutants, &all))]);
            let wrong = blamed(&position(what), &files);
            wrong.into_iter().map(|id| mutants[id].place.what.as_str()).collect::<Vec<_>>()
        };
        assert_eq!(blame("a * 1"), ["`a + 1` becomes `a * 1`"]);
        let of_f = mutants.iter().filter(|mutant| mutant.place.range.start < 40).count();
        assert_eq!(blame("a\n}").len(), of_f);
        assert!(blame("fn g").is_empty());
    }

    #[test]
    fn nothing_is_changed_where_no_function_can_choose() {
        for text in [
            "const A: u8 = 1 + 2;",
            "const fn f() -> u8 { 1 + 2 }",
            "fn f(a: [u8; 2]) -> impl Sized { [a; 3]; let [1, 2] = a else { unreachable!() }; }",
            "#[cfg(test)] mod tests { fn f() -> u8 { 1 + 2 } }",
            "enum E { A = 1 }",
        ] {
            let found = mutants(text);
            let what: Vec<_> = found.iter().map(|mutant| &mutant.place.what).collect();
            assert!(what.is_empty(), "{text}: {what:?}");
        }
    }
}
