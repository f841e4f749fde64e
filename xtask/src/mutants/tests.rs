//! Finds out which tests reach which mutants, and which mutants a test notices.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::work::{Outcome, output};

/// Ignored tests that `.ci/run` runs, too, and that need only compilers of C and LLVM 14.
const COMPILED: [&str; 5] = [
    "c::functions_compute_what_programs_do",
    "llvm::functions_compute_what_programs_do",
    "macros::the_preprocessor_agrees",
    "port::fixtures_compute_what_they_say",
    "port::random_statements_compute_what_they_did",
];

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    Killed,
    /// A test did not end in time.
    Endless,
    Survived,
    Unreached,
}

pub struct Test {
    program: PathBuf,
    name: String,
    time: Duration,
}

pub struct Suite {
    /// All tests, the quickest first.
    pub tests: Vec<Test>,
    /// The names of tests that fail without a mutant, or fail when they run alone.
    pub broken: Vec<String>,
    /// For each mutant, the tests that reach it, in order.
    reach: BTreeMap<usize, Vec<usize>>,
    folder: PathBuf,
}

impl Suite {
    /// Runs each test of the programs alone.
    pub fn measure(folder: &Path, programs: &[PathBuf], scratch: &Path) -> Outcome<Suite> {
        let mut names = Vec::new();
        for program in programs {
            let mut list = Command::new(program);
            list.args(["--list", "--format", "terse"]).current_dir(folder);
            let ignored = output(list.arg("--ignored"))?;
            let mut list = Command::new(program);
            let all = output(list.args(["--list", "--format", "terse"]).current_dir(folder))?;
            let tests = all.lines().filter_map(|line| line.strip_suffix(": test"));
            let ignored: Vec<&str> =
                ignored.lines().filter_map(|line| line.strip_suffix(": test")).collect();
            let tests = tests.filter(|it| COMPILED.contains(it) || !ignored.contains(it));
            names.extend(tests.map(|name| (program.clone(), name.to_owned())));
        }
        let found = on_all_cores(names.len(), |index| {
            let (program, name) = &names[index];
            let own = scratch.join(format!("measure-{index}"));
            let reached = own.join("reached");
            let start = Instant::now();
            let set = [("VPTX_MUTANTS_REACHED", reached.as_os_str())];
            let passed = passes(folder, program, &[name], &own, 600, &set)? == Some(true);
            let ids = fs::read_to_string(&reached).unwrap_or_default();
            let _ = fs::remove_dir_all(&own);
            let ids: Vec<usize> = ids.lines().filter_map(|line| line.parse().ok()).collect();
            Ok((passed, start.elapsed(), ids))
        })?;
        let mut suite = Suite {
            tests: Vec::new(),
            broken: Vec::new(),
            reach: BTreeMap::new(),
            folder: folder.into(),
        };
        let mut rows: Vec<_> = names.into_iter().zip(found).collect();
        rows.sort_by_key(|(_, (_, time, _))| *time);
        for ((program, name), (passed, time, ids)) in rows {
            if !passed {
                suite.broken.push(name);
                continue;
            }
            for id in ids {
                let tests = suite.reach.entry(id).or_default();
                if tests.last() != Some(&suite.tests.len()) {
                    tests.push(suite.tests.len());
                }
            }
            suite.tests.push(Test { program, name, time });
        }
        Ok(suite)
    }

    /// Finds out whether a test notices each mutant. `tell` is called as soon as a verdict is
    /// known.
    pub fn run(
        &self,
        mutants: &[usize],
        scratch: &Path,
        tell: impl Fn(usize, Verdict) -> Outcome + Sync,
    ) -> Outcome<Vec<Verdict>> {
        on_all_cores(mutants.len(), |index| {
            let verdict = self.verdict(mutants[index], scratch)?;
            tell(mutants[index], verdict)?;
            Ok(verdict)
        })
    }

    fn verdict(&self, id: usize, scratch: &Path) -> Outcome<Verdict> {
        let Some(mut rest) = self.reach.get(&id).map(Vec::as_slice) else {
            return Ok(Verdict::Unreached);
        };
        let (own, number) = (scratch.join(format!("mutant-{id}")), id.to_string());
        // Runs few tests at first, since they kill most mutants.
        let mut limit = Duration::from_millis(500);
        let mut verdict = Verdict::Survived;
        while !rest.is_empty() && verdict == Verdict::Survived {
            let mut time = Duration::ZERO;
            let end = rest.iter().position(|&test| {
                time += self.tests[test].time;
                time > limit
            });
            let (now, later) = rest.split_at(end.unwrap_or(rest.len()).max(1));
            rest = later;
            limit *= 4;
            let mut programs: BTreeMap<&Path, Vec<&str>> = BTreeMap::new();
            for &test in now {
                let Test { program, name, .. } = &self.tests[test];
                programs.entry(program).or_default().push(name);
            }
            for (program, names) in programs {
                let most = 20 + time.as_secs() * 5;
                let set = [("VPTX_MUTANT", number.as_ref())];
                verdict = match passes(&self.folder, program, &names, &own, most, &set)? {
                    Some(true) => continue,
                    Some(false) => Verdict::Killed,
                    None => Verdict::Endless,
                };
                break;
            }
        }
        let _ = fs::remove_dir_all(&own);
        Ok(verdict)
    }
}

/// Whether some tests of a program pass; `None` if they do not end within `seconds`. The tests put
/// temporary files in `own`.
fn passes(
    folder: &Path,
    program: &Path,
    names: &[impl AsRef<str>],
    own: &Path,
    seconds: u64,
    variables: &[(&str, &std::ffi::OsStr)],
) -> Outcome<Option<bool>> {
    fs::create_dir_all(own)?;
    let mut command = Command::new("timeout");
    // Memory is limited, because a mutant may allocate without end.
    command
        .args(["--kill-after=1", &seconds.to_string(), "sh", "-c"])
        .args([r#"ulimit -v 16000000; exec "$0" "$@""#])
        .arg(program)
        .args(["--exact", "--include-ignored", "--test-threads=1"])
        .args(names.iter().map(AsRef::as_ref))
        .current_dir(folder)
        .env("TMPDIR", own)
        .env("INSTA_UPDATE", "no")
        .envs(variables.iter().copied())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let status = command.status()?;
    Ok(match status.code() {
        Some(0) => Some(true),
        Some(124 | 137) => None,
        _ => Some(false),
    })
}

/// Calls `work` with the numbers below `count`, on all cores. Returns the results in order.
fn on_all_cores<T: Send>(
    count: usize,
    work: impl Fn(usize) -> Outcome<T> + Sync,
) -> Outcome<Vec<T>> {
    let (next, results) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    if index >= count {
                        break;
                    }
                    let result = work(index);
                    results.lock().expect("no thread panics").push((index, result));
                }
            });
        }
    });
    let mut results = results.into_inner().expect("no thread panics");
    results.sort_by_key(|(index, _)| *index);
    results.into_iter().map(|(_, result)| result).collect()
}
