//! Changes places in the sources, and asks whether a test notices each change.

mod places;
mod tests;
mod tree;

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Instant;

use crate::Task;
use crate::work::{Failure, Options, Outcome, root, target};
use tests::Verdict;
use tree::{Mutant, Tree};

pub const TASKS: &[Task] = &[Task {
    name: "mutants",
    arguments: "[--seed N] [--count N] [--in PATH] [--again] [--least PERCENT]",
    about: "Change places of the sources, and see whether a test notices",
    details: "\
Draws COUNT places (100) of the functions below src/, spread over its folders by size, and changes
each: another operator, a literal one larger or smaller, a condition negated, a statement left
out, an arm that never applies, a value returned at once. One build contains all mutants; an
environment variable turns one of them on. Then it runs each test alone to see which mutants it
reaches, and for each mutant the tests that reach it, quickest first, until one fails. Prints the
mutants that survive, and writes them to target/mutants/survivors. The same seed draws the same
places.

--in takes only files whose path begins with this text, such as src/diff/. --again takes the
survivors of the last run that still exist in the sources. Mutants that do not compile are left
out. `const` functions, tables and patterns have no mutants, because they cannot ask which mutant
is on. Tests that compile functions of C and LLVM are left out without gcc and LLVM 14. Fails if
tests notice less than PERCENT.
Two cores take about ten minutes, and six seconds for each mutant.",
    run: mutants,
}];

fn mutants(arguments: &[String]) -> Outcome {
    let (mut seed, mut count, mut least) = (1, 100, 0);
    let (mut below, mut again) = ("src/".to_owned(), false);
    let mut options = Options::new(arguments);
    while let Some(option) = options.next() {
        match option {
            "--seed" => seed = options.value()?,
            "--count" => count = options.value()?,
            "--least" => least = options.value()?,
            "--in" => below = options.value()?,
            "--again" => again = true,
            _ => return Err(Failure::Usage),
        }
    }
    let start = Instant::now();
    let folder = target().join("mutants");
    let list = folder.join("survivors");
    let (all, constant) = all_mutants()?;
    let drawn = if again {
        let old = fs::read_to_string(&list)?;
        (0..all.len()).filter(|&id| old.lines().any(|line| line == all[id].line())).collect()
    } else {
        draw(&all, &below, count, seed)
    };
    println!("{} of {} places; {constant} functions are const", drawn.len(), all.len());
    // In the build, the number of a mutant is its index in this list.
    let all: Vec<Mutant> = drawn.iter().map(|&id| all[id].clone()).collect();
    let tree = Tree::new(&folder)?;
    let (on, programs) = tree.build(&all)?;
    println!("{} compile; built after {} s", on.len(), start.elapsed().as_secs());
    let scratch = folder.join("scratch");
    let suite = tests::Suite::measure(&tree.folder, &programs, &scratch)?;
    println!(
        "{} tests, after {} s; not taken, as they fail alone: {}",
        suite.tests.len(),
        start.elapsed().as_secs(),
        suite.broken.join(" ")
    );
    let survivors = Mutex::new(fs::File::create(&list)?);
    let verdicts = suite.run(&on, &scratch, |id, verdict| {
        if matches!(verdict, Verdict::Survived | Verdict::Unreached) {
            let line = all[id].line();
            println!("{line}");
            writeln!(survivors.lock().expect("no thread panics"), "{line}")?;
        }
        Ok(())
    })?;
    let _ = fs::remove_dir_all(&scratch);
    let mut counts: BTreeMap<Verdict, usize> = BTreeMap::new();
    let mut kinds: BTreeMap<&str, [usize; 2]> = BTreeMap::new();
    for (&id, verdict) in on.iter().zip(verdicts) {
        *counts.entry(verdict).or_default() += 1;
        let [noticed, all] = kinds.entry(all[id].place.kind()).or_default();
        *noticed += usize::from(matches!(verdict, Verdict::Killed | Verdict::Endless));
        *all += 1;
    }
    for (kind, [noticed, all]) in kinds {
        println!("{kind}: {noticed} of {all} noticed");
    }
    let of = |verdict| counts.get(&verdict).copied().unwrap_or(0);
    println!(
        "{} mutants: {} killed, {} without end, {} survive, {} reached by no test; {} s",
        on.len(),
        of(Verdict::Killed),
        of(Verdict::Endless),
        of(Verdict::Survived),
        of(Verdict::Unreached),
        start.elapsed().as_secs()
    );
    let noticed = of(Verdict::Killed) + of(Verdict::Endless);
    if noticed * 100 < least * on.len() {
        return Err(Failure::Message(format!("less than {least} % are noticed")));
    }
    Ok(())
}

impl Mutant {
    /// The mutant as a line in the list of survivors.
    fn line(&self) -> String {
        format!("{}:{}: {}", self.file, self.line, self.place.what)
    }
}

/// The mutants of all sources, and the number of functions without mutants because they are
/// `const`.
fn all_mutants() -> Outcome<(Vec<Mutant>, usize)> {
    let (mut all, mut constant) = (Vec::new(), 0);
    for file in sources(&root().join("src"))? {
        let text = fs::read_to_string(&file)?;
        let name = file.strip_prefix(root()).unwrap_or(&file).display().to_string();
        let (places, more) =
            places::places(&text).map_err(|error| Failure::Message(format!("{name}: {error}")))?;
        constant += more;
        all.extend(places.into_iter().map(|place| {
            let before = &text[..place.range.start];
            Mutant { file: name.clone(), line: before.matches('\n').count() + 1, place }
        }));
    }
    Ok((all, constant))
}

/// The source files, in the order of their names. `main.rs` is left out as another crate, and so
/// are test files.
fn sources(folder: &Path) -> Outcome<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut entries: Vec<PathBuf> =
        fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<std::io::Result<_>>()?;
    entries.sort();
    for path in entries {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() {
            if name != "tests" {
                found.extend(sources(&path)?);
            }
        } else if path.extension().is_some_and(|ending| ending == "rs")
            && !["main.rs", "testing.rs", "tests.rs"].contains(&name.as_str())
        {
            found.push(path);
        }
    }
    Ok(found)
}

/// Draws `count` of the mutants in files whose path begins with `below`. Each folder of `src/` gets
/// a number in proportion to its places, but at least one.
fn draw(all: &[Mutant], below: &str, count: usize, seed: u64) -> Vec<usize> {
    let mut rooms: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (id, mutant) in all.iter().enumerate().filter(|(_, it)| it.file.starts_with(below)) {
        rooms.entry(mutant.file.split('/').nth(1).unwrap_or_default()).or_default().push(id);
    }
    let total: usize = rooms.values().map(Vec::len).sum();
    let mut random = Random(seed);
    let mut drawn = Vec::new();
    for ids in rooms.values_mut() {
        let share = ((count * ids.len() + total / 2) / total.max(1)).clamp(1, ids.len());
        for index in 0..share {
            let other = index + random.below(ids.len() - index);
            ids.swap(index, other);
        }
        drawn.extend(&ids[..share]);
    }
    drawn.sort_unstable();
    drawn
}

/// The generator splitmix64.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut value = self.0;
        value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((value ^ (value >> 31)) % limit as u64).expect("below a usize")
    }
}
