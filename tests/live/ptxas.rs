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

/// The number of accepted instructions that share a module.
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
    version: &'static str,
    path: PathBuf,
    architecture: &'static str,
}

impl Ptxas {
    fn new(folder: &Path, version: &'static str, scratch: &Scratch) -> Ptxas {
        let path = folder.join("bin").join(format!("ptxas-{version}"));
        assert!(path.is_file(), "{} is missing: run scripts/cuda-tools", path.display());
        let module = oracle_module("vadd.u32.u32.u32 d, a, b;");
        for architecture in ["compute_90", "compute_75"] {
            let ptxas = Ptxas { version, path: path.clone(), architecture };
            if ptxas.ask(&module, &scratch.file("probe")) == Verdict::Accepted {
                return ptxas;
            }
        }
        panic!("ptxas {version} accepts nothing");
    }

    fn ask(&self, module: &str, file: &Path) -> Verdict {
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

fn wait(mut child: Child) -> Verdict {
    let start = Instant::now();
    loop {
        if child.try_wait().expect("the child is ours").is_some() {
            break;
        }
        if start.elapsed() > PATIENCE {
            let _ = child.kill();
            let _ = child.wait();
            return Verdict::Crashed(format!("still running after {PATIENCE:?}"));
        }
        std::thread::sleep(Duration::from_micros(300));
    }
    let output = child.wait_with_output().expect("the child has ended");
    match output.status.code() {
        Some(0) => Verdict::Accepted,
        Some(_) => Verdict::Rejected(first_error(&String::from_utf8_lossy(&output.stderr))),
        None => Verdict::Crashed(output.status.to_string()),
    }
}

/// The message without what precedes it: `TEXT` of `ptxas FILE, line 7; error   : TEXT`.
fn first_error(text: &str) -> String {
    let message = |line: &str| {
        let (head, message) = line.split_once(" : ")?;
        let head = head.trim_end();
        (head.ends_with("error") || head.ends_with("fatal")).then(|| message.to_string())
    };
    text.lines().find_map(message).unwrap_or_else(|| text.trim().to_string())
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

/// An instruction and the findings of vptx on it.
struct Case {
    instruction: String,
    /// The findings in the `ptxas` dialect, of every severity.
    findings: Vec<Diagnostic>,
    /// Whether the `documented` dialect has an error.
    undocumented: bool,
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
    /// beyond the instruction and hide its neighbours, so such an instruction stays alone.
    fn sociable(&self) -> bool {
        self.accepted() && !self.instruction.contains(['"', '/', '#', ':'])
    }

    /// Whether a version of ptxas rejects the instruction, if there is a verdict.
    fn rejected(&self, version: usize) -> Option<bool> {
        match self.verdicts[version].as_ref().expect("asked") {
            Verdict::Accepted => Some(false),
            Verdict::Rejected(_) => Some(true),
            // ptxas crashes if a constant is divided by zero or a quotient is too large.
            Verdict::Crashed(how) if how.contains("SIGFPE") => Some(true),
            Verdict::Crashed(_) => None,
        }
    }

    fn agrees(&self) -> bool {
        (0..VERSIONS.len()).all(|version| {
            self.rejected(version).is_some_and(|rejected| {
                rejected != self.accepted() && (!rejected || self.undocumented)
            })
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
        for (version, verdict) in VERSIONS.iter().zip(self.verdicts.iter().flatten()) {
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
    let rejected: Vec<bool> =
        (0..VERSIONS.len()).map(|version| case.rejected(version)).collect::<Option<_>>()?;
    let only = |test: &dyn Fn(&Diagnostic) -> bool| !case.accepted() && case.errors().all(test);
    // The lexer of 12.9 and later knows this name as a type.
    if case.accepted()
        && rejected == [false, true, true]
        && case.findings.iter().any(|finding| finding.code == Code::SelectorReadAsType)
    {
        return Some("the selector `.b1024` reads as a type");
    }
    // ptxas accepts any symbol without a type as a scalar source.
    if rejected == [false; 3]
        && only(&|error| {
            error.code == Code::OperandKind && case.text(error).trim_start_matches('-') == "k"
        })
    {
        return Some("the name of a function passes for a register");
    }
    // ptxas reads the fourth operand of scalar forms like an address, such as `c+4`.
    if rejected == [false; 3]
        && only(&|error| error.code == Code::UnexpectedToken && case.text(error) == "+")
    {
        return Some("a constant added to the fourth operand");
    }
    // ptxas accepts a backslash before an opcode.
    if rejected == [false; 3]
        && only(&|error| error.code == Code::InvalidCharacter && case.text(error) == "\\")
    {
        return Some("a backslash before the opcode");
    }
    // Before 13, ptxas has a second name for comparisons of unsigned numbers in SIMD instructions.
    if rejected == [false, false, true]
        && only(&|error| {
            error.code == Code::ForeignComparison
                && matches!(case.text(error).as_str(), ".lo" | ".ls" | ".hi" | ".hs")
        })
    {
        return Some("an unsigned comparison in `vset2` or `vset4`, which ptxas 13 rejects");
    }
    // Modifiers of other instructions. ptxas examines them only on those instructions: seven
    // modifiers in all three versions, one only in 11.8, the rest since 12.9.
    let ignored = if rejected == [false, true, true] {
        &[".oob"]
    } else if rejected[1..] == [false, false] {
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

/// Groups of cases that share a module. A case that must stand alone gets a module for itself.
fn tasks(cases: &[Case]) -> Vec<Vec<usize>> {
    let (together, alone): (Vec<usize>, Vec<usize>) =
        (0..cases.len()).partition(|&at| cases[at].sociable());
    let groups = together.chunks(GROUP).map(<[usize]>::to_vec);
    groups.chain(alone.into_iter().map(|at| vec![at])).collect()
}

/// The verdicts of one task. If ptxas accepts a group, it accepts each part. Otherwise
/// each case is asked alone.
fn ask(ptxas: &Ptxas, cases: &[Case], task: &[usize], file: &Path) -> Vec<Verdict> {
    if task.len() > 1 {
        let mut module = String::from(ORACLE_HEAD);
        for &at in task {
            let _ = writeln!(module, "{{\n{}\n}}", cases[at].instruction);
        }
        module.push_str("}\n");
        if ptxas.ask(&module, file) == Verdict::Accepted {
            return vec![Verdict::Accepted; task.len()];
        }
    }
    task.iter().map(|&at| ptxas.ask(&cases[at].module(), file)).collect()
}

fn ask_all(assemblers: &[Ptxas], cases: &mut [Case], scratch: &Scratch) {
    let tasks = tasks(cases);
    let next = AtomicUsize::new(0);
    let answers = Mutex::new(Vec::new());
    let threads = std::thread::available_parallelism().map_or(2, |count| count.get().min(3));
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let (cases, tasks, next, answers) = (&*cases, &tasks, &next, &answers);
            scope.spawn(move || {
                let file = scratch.file(&thread.to_string());
                while let Some(task) = tasks.get(next.fetch_add(1, Ordering::Relaxed)) {
                    for (version, ptxas) in assemblers.iter().enumerate() {
                        let verdicts = ask(ptxas, cases, task, &file);
                        let mut answers = answers.lock().expect("no thread panics here");
                        for (&at, verdict) in task.iter().zip(verdicts) {
                            answers.push((at, version, verdict));
                        }
                    }
                }
            });
        }
    });
    for (at, version, verdict) in answers.into_inner().expect("no thread panics here") {
        cases[at].verdicts[version] = Some(verdict);
    }
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
    let assemblers = VERSIONS.map(|version| Ptxas::new(&folder, version, &scratch));

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
    for part in cases.chunks_mut(10_000) {
        ask_all(&assemblers, part, &scratch);
    }

    let passed = cases.iter().filter(|case| case.accepted()).count();
    println!("vptx accepts {passed}, rejects {}", count - passed);
    println!("{unjudged} more were made that are no video instruction to vptx");
    for (version, ptxas) in assemblers.iter().enumerate() {
        let (mut accepted, mut rejected, mut crashed) = (0, 0, 0);
        for case in &cases {
            match case.verdicts[version].as_ref().expect("asked") {
                Verdict::Accepted => accepted += 1,
                Verdict::Rejected(_) => rejected += 1,
                Verdict::Crashed(_) => crashed += 1,
            }
        }
        println!(
            "ptxas {} accepts {accepted}, rejects {rejected}, crashes {crashed}",
            ptxas.version
        );
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
