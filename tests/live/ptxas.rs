//! Compares fresh instructions with the real ptxas. The `ptxas` dialect has an error
//! exactly where ptxas rejects an instruction. The `documented` dialect accepts nothing
//! that ptxas rejects.
//!
//! `cargo xtask ptxas-agree` runs it.

use std::collections::{BTreeMap, HashSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::support::generate::Generator;
use crate::support::{ORACLE_HEAD, errors, oracle_module, setting};
use vptx::analysis::parse_with;
use vptx::check::{CheckOptions, Dialect};
use vptx::diagnostic::{Code, Diagnostic, Severity};
use vptx::isa::Mnemonic;
use vptx::syntax::statement_tokens;

const DEFAULT_SEED: u64 = 0x5eed_2026;

const VERSIONS: [&str; 3] = ["11.8", "12.9", "13.5"];

/// The number of instructions that share a module.
const GROUP: usize = 64;

/// A limit far above the time that any module takes.
const PATIENCE: Duration = Duration::from_secs(30);

/// The verdict of ptxas on a module.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Verdict {
    Accepted,
    /// ptxas rejected the module; its first error.
    Rejected(String),
    /// No verdict: a signal ended ptxas, or ptxas did not end in time.
    Crashed(String),
}

/// One assembler.
struct Ptxas {
    /// A number in [`VERSIONS`].
    version: usize,
    path: PathBuf,
    architecture: &'static str,
}

impl Ptxas {
    fn new(folder: &Path, version: usize, scratch: &Scratch) -> Ptxas {
        let name = VERSIONS[version];
        let path = folder.join("bin").join(format!("ptxas-{name}"));
        assert!(path.is_file(), "{} is missing: run scripts/cuda-tools", path.display());
        let module = oracle_module("vadd.u32.u32.u32 d, a, b;");
        // For virtual targets, ptxas only parses, which takes less time.
        let real = std::env::var_os("VPTX_LIVE_REAL").is_some();
        let targets = if real { ["sm_90", "sm_75"] } else { ["compute_90", "compute_75"] };
        for architecture in targets {
            let ptxas = Ptxas { version, path: path.clone(), architecture };
            if ptxas.ask(&module, &scratch.file("probe")) == Verdict::Accepted {
                return ptxas;
            }
        }
        panic!("ptxas {name} accepts nothing");
    }

    fn ask(&self, module: &str, file: &Path) -> Verdict {
        match self.run(module, file) {
            Ok(None) => Verdict::Accepted,
            Ok(Some(said)) => Verdict::Rejected(first_error(&said)),
            Err(how) => Verdict::Crashed(how),
        }
    }

    /// What ptxas says if it rejects a module; an error if it gives no verdict.
    fn run(&self, module: &str, file: &Path) -> Result<Option<String>, String> {
        std::fs::write(file, module).expect("the scratch folder is writable");
        let child = Command::new(&self.path)
            .args(["-arch", self.architecture])
            .arg(file)
            .args(["-o", "/dev/null"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("ptxas starts");
        wait(child)
    }
}

fn wait(mut child: Child) -> Result<Option<String>, String> {
    let start = Instant::now();
    loop {
        if child.try_wait().expect("the child is ours").is_some() {
            break;
        }
        if start.elapsed() > PATIENCE {
            let _ = child.kill();
            let _ = child.wait();
            return Err(format!("still running after {PATIENCE:?}"));
        }
        std::thread::sleep(Duration::from_micros(300));
    }
    let output = child.wait_with_output().expect("the child has ended");
    match output.status.code() {
        Some(0) => Ok(None),
        Some(_) => Ok(Some(String::from_utf8_lossy(&output.stderr).into_owned())),
        None => Err(output.status.to_string()),
    }
}

/// An error: the line of the module, if it is told, and the message without what precedes it, as
/// in `ptxas FILE, line 7; error   : MESSAGE`.
fn error_of(line: &str) -> Option<(Option<usize>, &str)> {
    let (head, message) = line.split_once(" : ")?;
    let head = head.trim_end();
    let head = head.strip_suffix("error").or(head.strip_suffix("fatal"))?;
    let number = head.rsplit_once(", line ").and_then(|(_, number)| number.strip_suffix("; "));
    Some((number.and_then(|it| it.parse().ok()), message))
}

fn first_error(text: &str) -> String {
    let error = text.lines().find_map(error_of);
    error.map_or_else(|| text.trim().to_string(), |(_, message)| message.to_string())
}

/// A folder for modules, in memory if possible. Removed when dropped.
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    pub(crate) fn new() -> Scratch {
        // Tests run at the same time, each with its own folder.
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let memory = PathBuf::from("/dev/shm");
        let parent = if memory.is_dir() { memory } else { std::env::temp_dir() };
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let folder = parent.join(format!("vptx-live-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder for temporary files");
        Scratch(folder)
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.0.join(format!("{name}.ptx"))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Does something for each number below `count`, on two threads. Each has a file for its modules.
pub(crate) fn each_case(count: usize, work: impl Fn(usize, &Path) + Sync) {
    let (scratch, next) = (Scratch::new(), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for thread in 0..2 {
            let (file, next, work) = (scratch.file(&thread.to_string()), &next, &work);
            scope.spawn(move || {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= count {
                        return;
                    }
                    work(number, &file);
                }
            });
        }
    });
}

/// An instruction and the findings of vptx on it.
struct Case {
    instruction: String,
    /// The findings in the `ptxas` dialect, of every severity.
    findings: Vec<Diagnostic>,
    /// Whether the `documented` dialect has an error.
    undocumented: bool,
    /// The verdicts of the versions that were asked.
    verdicts: [Option<Verdict>; VERSIONS.len()],
}

impl Case {
    /// Returns `None` if vptx does not judge the whole text, since it reports nothing about other
    /// instructions.
    fn new(instruction: String) -> Option<Case> {
        let module = oracle_module(&instruction);
        let options = CheckOptions::default().with_dialect(Dialect::Ptxas);
        let (read, findings) = parse_with(&module, &options).expect("PTX");
        let spans: Vec<_> = read.statements().iter().map(|statement| statement.span).collect();
        if !covers(&module, &spans) {
            return None;
        }
        let undocumented = !errors(&module, Dialect::Documented).is_empty();
        Some(Case { instruction, findings, undocumented, verdicts: [None, None, None] })
    }

    fn module(&self) -> String {
        oracle_module(&self.instruction)
    }

    fn errors(&self) -> impl Iterator<Item = &Diagnostic> {
        self.findings.iter().filter(|finding| finding.severity == Severity::Error)
    }

    fn accepted(&self) -> bool {
        self.errors().next().is_none()
    }

    /// The text that a finding is about.
    fn text(&self, finding: &Diagnostic) -> String {
        finding.span.text(&self.module()).to_string()
    }

    /// Whether the instruction can share a module with others. A comment or string might extend
    /// beyond the instruction and hide its neighbours, so such an instruction stays alone. One
    /// with an error must also be on one line, and be no block.
    fn sociable(&self) -> bool {
        let of_errors: &[char] = if self.accepted() { &[] } else { &['{', '}', '\n', '\r'] };
        !self.instruction.contains(['"', '/', '#', ':']) && !self.instruction.contains(of_errors)
    }

    /// Whether each version that was asked rejects the instruction; `None` if one gives no verdict.
    fn rejected(&self) -> Option<[Option<bool>; VERSIONS.len()]> {
        let mut rejected = [None; VERSIONS.len()];
        for (rejected, verdict) in rejected.iter_mut().zip(&self.verdicts) {
            *rejected = match verdict {
                None => None,
                Some(Verdict::Accepted) => Some(false),
                Some(Verdict::Rejected(_)) => Some(true),
                // ptxas crashes if a constant is divided by zero or a quotient is too large.
                Some(Verdict::Crashed(how)) if how.contains("SIGFPE") => Some(true),
                Some(Verdict::Crashed(_)) => return None,
            };
        }
        Some(rejected)
    }

    fn agrees(&self) -> bool {
        self.rejected().is_some_and(|rejected| {
            rejected
                .into_iter()
                .flatten()
                .all(|rejected| rejected != self.accepted() && (!rejected || self.undocumented))
        })
    }

    /// A key that is equal for disagreements of the same kind.
    fn kind(&self) -> String {
        let mut kind = String::new();
        for verdict in self.verdicts.iter().flatten() {
            let verdict = format!("{verdict:?}");
            // The key leaves out the names in a message. Of a syntax error, it keeps the place.
            let every = if verdict.contains("syntax error") { 1 } else { 2 };
            kind.extend(verdict.split('\'').step_by(every));
        }
        for error in self.errors() {
            kind.push_str(error.code.text());
            if error.code == Code::UnexpectedToken {
                kind.push_str(&error.message);
            }
        }
        kind
    }

    fn report(&self) -> String {
        let mut report = format!("{:?}\n", self.instruction);
        let asked = VERSIONS.iter().zip(&self.verdicts);
        for (version, verdict) in asked.filter_map(|(name, it)| Some((name, it.as_ref()?))) {
            let _ = writeln!(report, "    ptxas {version}: {verdict:?}");
        }
        if self.findings.is_empty() {
            report.push_str("    vptx: accepted\n");
        }
        for finding in &self.findings {
            let _ = writeln!(
                report,
                "    vptx: {} {} at {:?}: {}",
                finding.severity,
                finding.code,
                self.text(finding),
                finding.message
            );
        }
        if !self.undocumented {
            report.push_str("    vptx, documented: accepted\n");
        }
        report
    }
}

/// Whether the statements cover the whole instruction; a label before it is allowed.
fn covers(module: &str, spans: &[vptx::source::Span]) -> bool {
    let end = module.len() - "\n}\n".len();
    let mut at = ORACLE_HEAD.len();
    for span in spans {
        let before = &module[at.min(span.start as usize)..span.start as usize];
        if !is_label_or_nothing(before) {
            return false;
        }
        at = span.end as usize;
    }
    !spans.is_empty() && is_label_or_nothing(&module[at.min(end)..end])
}

fn is_label_or_nothing(text: &str) -> bool {
    let tokens = statement_tokens(text);
    match tokens.as_slice() {
        [] => true,
        // The label must be `L`: another name may be in use.
        [name, colon] => name.span().text(text) == "L" && colon.is(b':'),
        _ => false,
    }
}

/// The reason for a difference between ptxas and vptx, if neither should be changed.
fn accident(case: &Case) -> Option<&'static str> {
    let rejected = case.rejected()?;
    let is = |wanted: [bool; 3]| {
        rejected.iter().zip(wanted).all(|(it, wanted)| it.is_none_or(|it| it == wanted))
    };
    let only = |test: &dyn Fn(&Diagnostic) -> bool| !case.accepted() && case.errors().all(test);
    // The lexer of 12.9 and later knows this name as a type.
    if case.accepted()
        && is([false, true, true])
        && case.findings.iter().any(|finding| finding.code == Code::SelectorReadAsType)
    {
        return Some("the selector `.b1024` reads as a type");
    }
    // ptxas accepts any symbol without a type as a scalar source.
    if is([false; 3])
        && only(&|error| {
            error.code == Code::OperandKind && case.text(error).trim_start_matches('-') == "k"
        })
    {
        return Some("the name of a function passes for a register");
    }
    // ptxas reads the fourth operand of scalar forms like an address, such as `c+4`.
    if is([false; 3])
        && only(&|error| error.code == Code::UnexpectedToken && case.text(error) == "+")
    {
        return Some("a constant added to the fourth operand");
    }
    // ptxas accepts a backslash before an opcode.
    if is([false; 3])
        && only(&|error| error.code == Code::InvalidCharacter && case.text(error) == "\\")
    {
        return Some("a backslash before the opcode");
    }
    // Before 13, ptxas has a second name for comparisons of unsigned numbers in SIMD instructions.
    if is([false, false, true])
        && only(&|error| {
            error.code == Code::ForeignComparison
                && matches!(case.text(error).as_str(), ".lo" | ".ls" | ".hi" | ".hs")
        })
    {
        return Some("an unsigned comparison in `vset2` or `vset4`, which ptxas 13 rejects");
    }
    // Modifiers of other instructions. ptxas examines them only on those instructions: seven
    // modifiers in all three versions, one only in 11.8, the rest since 12.9.
    let ignored = if is([false, true, true]) {
        &[".oob"]
    } else if is([false, false, false]) || is([true, false, false]) {
        crate::support::generate::IGNORED_MODIFIERS
    } else {
        &[]
    };
    if only(&|error| ignored.contains(&case.text(error).as_str())) {
        return Some("a modifier of another instruction is ignored");
    }
    None
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// Groups of cases that share a module, accepted ones and rejected ones apart. A case that must
/// stand alone gets a module for itself.
fn tasks(cases: &[Case]) -> Vec<Vec<usize>> {
    let (together, alone): (Vec<usize>, Vec<usize>) =
        (0..cases.len()).partition(|&at| cases[at].sociable());
    let (accepted, rejected): (Vec<usize>, Vec<usize>) =
        together.into_iter().partition(|&at| cases[at].accepted());
    let groups = accepted.chunks(GROUP).chain(rejected.chunks(GROUP)).map(<[usize]>::to_vec);
    groups.chain(alone.into_iter().map(|at| vec![at])).collect()
}

/// The verdicts of one task. If ptxas accepts a group, it accepts each part. If it reports an error
/// in the line of a case, it rejects that case; the others are asked once more, since a syntax
/// error hides all others. A case that breaks what follows it, or all of them, is asked alone.
fn ask(
    ptxas: &Ptxas,
    cases: &[Case],
    task: &[usize],
    file: &Path,
    alone: &AtomicUsize,
) -> Vec<(usize, Verdict)> {
    let (mut verdicts, mut single, mut left) = (Vec::new(), Vec::new(), task.to_vec());
    while left.len() > 1 {
        let mut module = String::from(ORACLE_HEAD);
        for &at in &left {
            let _ = writeln!(module, "{{\n{}\n}}", cases[at].instruction);
        }
        module.push_str("}\n");
        let Ok(said) = ptxas.run(&module, file) else { break };
        let Some(said) = said else {
            verdicts.extend(left.drain(..).map(|at| (at, Verdict::Accepted)));
            break;
        };
        // The first error of each line. A case is the second of three lines.
        let mut errors = BTreeMap::new();
        for (line, message) in said.lines().filter_map(error_of) {
            if let Some(line) = line.and_then(|it| it.checked_sub(ORACLE_HEAD.lines().count() + 1))
            {
                errors.entry(line).or_insert(message);
            }
        }
        let before = left.len();
        let mut number = 0;
        left.retain(|&at| {
            let line = number * 3;
            number += 1;
            if let Some(message) = errors.get(&(line + 1)) {
                verdicts.push((at, Verdict::Rejected((*message).into())));
            } else if errors.contains_key(&line) || errors.contains_key(&(line + 2)) {
                single.push(at);
            } else {
                return true;
            }
            false
        });
        if left.len() == before {
            break;
        }
    }
    single.append(&mut left);
    alone.fetch_add(single.len(), Ordering::Relaxed);
    verdicts.extend(single.iter().map(|&at| (at, ptxas.ask(&cases[at].module(), file))));
    verdicts
}

/// Asks all assemblers about all cases. Returns how many verdicts are of a case alone.
fn ask_all(assemblers: &[Ptxas], cases: &mut [Case], scratch: &Scratch) -> usize {
    let tasks = tasks(cases);
    let next = AtomicUsize::new(0);
    let (answers, alone) = (Mutex::new(Vec::new()), AtomicUsize::new(0));
    let threads = std::thread::available_parallelism().map_or(2, |count| count.get().min(3));
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let (cases, tasks, next) = (&*cases, &tasks, &next);
            let (answers, alone) = (&answers, &alone);
            scope.spawn(move || {
                let file = scratch.file(&thread.to_string());
                while let Some(task) = tasks.get(next.fetch_add(1, Ordering::Relaxed)) {
                    for ptxas in assemblers {
                        let verdicts = ask(ptxas, cases, task, &file, alone);
                        let mut answers = answers.lock().expect("no thread panics here");
                        answers
                            .extend(verdicts.into_iter().map(|(at, it)| (at, ptxas.version, it)));
                    }
                }
            });
        }
    });
    for (at, version, verdict) in answers.into_inner().expect("no thread panics here") {
        cases[at].verdicts[version] = Some(verdict);
    }
    alone.into_inner()
}

#[test]
#[ignore = "needs ptxas: cargo xtask ptxas-agree"]
fn ptxas_agrees() {
    let start = Instant::now();
    let count = setting("VPTX_LIVE_COUNT", 2000) as usize;
    let seed = setting("VPTX_LIVE_SEED", DEFAULT_SEED);
    println!("{count} instructions, seed {seed}");
    let folder = variable("VPTX_CUDA_DIR")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join(".cuda"), PathBuf::from);
    let scratch = Scratch::new();
    let only = variable("VPTX_LIVE_ONLY");
    let is_asked = |it: &usize| only.as_ref().is_none_or(|only| only == VERSIONS[*it]);
    let versions = (0..VERSIONS.len()).filter(is_asked);
    let assemblers: Vec<Ptxas> = versions.map(|it| Ptxas::new(&folder, it, &scratch)).collect();
    assert!(!assemblers.is_empty(), "there is no ptxas {only:?}");

    let mut generator = Generator::new(seed);
    let mut made = HashSet::new();
    let mut cases = Vec::new();
    let mut unjudged = 0;
    while cases.len() < count {
        let instruction = generator.next();
        if made.insert(instruction.clone()) {
            match Case::new(instruction) {
                Some(case) => cases.push(case),
                None => unjudged += 1,
            }
        }
    }
    drop(made);
    let parts = cases.chunks_mut(10_000);
    let alone: usize = parts.map(|part| ask_all(&assemblers, part, &scratch)).sum();

    let passed = cases.iter().filter(|case| case.accepted()).count();
    println!("vptx accepts {passed}, rejects {}", count - passed);
    println!("{unjudged} more were made that are no video instruction to vptx");
    let all = count * assemblers.len();
    println!("{} of {all} verdicts are of modules with several instructions", all - alone);
    for (version, name) in VERSIONS.iter().enumerate() {
        let (mut accepted, mut rejected, mut crashed) = (0, 0, 0);
        for verdict in cases.iter().filter_map(|case| case.verdicts[version].as_ref()) {
            match verdict {
                Verdict::Accepted => accepted += 1,
                Verdict::Rejected(_) => rejected += 1,
                Verdict::Crashed(_) => crashed += 1,
            }
        }
        println!("ptxas {name} accepts {accepted}, rejects {rejected}, crashes {crashed}");
    }
    let mut accidents: BTreeMap<&str, usize> = BTreeMap::new();
    let mut disagreements: BTreeMap<String, Vec<&Case>> = BTreeMap::new();
    for case in cases.iter().filter(|case| !case.agrees()) {
        match accident(case) {
            Some(why) => *accidents.entry(why).or_default() += 1,
            None => disagreements.entry(case.kind()).or_default().push(case),
        }
    }
    for (why, count) in &accidents {
        println!("accident: {why}: {count}");
    }
    println!("{:.0} seconds", start.elapsed().as_secs_f64());
    let total: usize = disagreements.values().map(Vec::len).sum();
    // The shortest case of a kind is shown, since it is the clearest.
    for alike in disagreements.values_mut() {
        alike.sort_by_key(|case| case.instruction.len());
        println!("\n{} alike: {}", alike.len(), alike[0].report());
        for case in alike.iter().skip(1).take(2) {
            println!("    also {:?}", case.instruction);
        }
    }
    assert!(total == 0, "{total} disagreements of {} kinds", disagreements.len());
}

#[test]
fn generator_is_deterministic() {
    let texts = |seed| {
        let mut generator = Generator::new(seed);
        std::iter::repeat_with(move || generator.next()).take(300).collect::<Vec<_>>()
    };
    assert_eq!(texts(1), texts(1));
    assert_ne!(texts(1), texts(2));
}

#[test]
fn generator_covers_what_matters() {
    let mut generator = Generator::new(DEFAULT_SEED);
    let cases: Vec<Case> =
        std::iter::repeat_with(|| generator.next()).take(4000).filter_map(Case::new).collect();
    assert!(cases.len() > 3500, "{} of 4000 are judged", cases.len());
    for mnemonic in Mnemonic::ALL {
        for accepted in [true, false] {
            let found = cases.iter().any(|case| {
                let opcode = case.instruction.split('.').next().unwrap_or_default();
                opcode.ends_with(mnemonic.text()) && case.accepted() == accepted
            });
            assert!(found, "no {mnemonic} that is accepted: {accepted}");
        }
    }
    let accepted = cases.iter().filter(|case| case.accepted()).count();
    let percent = 100 * accepted / cases.len();
    assert!((35..65).contains(&percent), "vptx accepts {percent} %");
}
