//! Checks rewritten instructions with the real ptxas: it must assemble them, and it must fold their
//! opcodes to the results of `Opcode::eval`.
//!
//! `cargo xtask rewrite-check` runs it.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::costs::tool;
use crate::support::forms::{MASKS2, MASKS4, PARTS, rows, texts};
use crate::support::random::Random;
use crate::support::{EDGES, ptx_files};
use vptx::backend::ptx::{Class, FreshRegisters, Gate, Opcode, Outcome, candidates};
use vptx::ir::Program;
use vptx::isa::{Feature, Mnemonic, Target};
use vptx::video::Semantics;
use vptx::{Instruction, RewriteOptions, rewrite};

#[path = "../../examples/count_blocks.rs"]
#[allow(dead_code)]
mod count_blocks;

const VERSIONS: [&str; 2] = ["12.9", "13.5"];

/// The number of kernels in a module.
const GROUP: usize = 125;

/// A folder for one test, removed when dropped.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Scratch {
        let folder = env::temp_dir().join(format!("vptx-rewrite-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder for temporary files");
        Scratch(folder)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Assembles a module. Fails with ptxas' first error.
fn assemble(version: &str, flags: &[&str], module: &str, file: &Path) -> Result<(), String> {
    fs::write(file, module).expect("the scratch folder is writable");
    let run = Command::new(tool(&format!("ptxas-{version}")))
        .args(flags)
        .arg(file)
        .arg("-o")
        .arg(file.with_extension("cubin"))
        .output()
        .expect("ptxas starts");
    if run.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&run.stderr);
    let error = said.lines().find(|line| line.contains("error") || line.contains("fatal"));
    Err(error.map_or_else(|| format!("{}: {}", run.status, said.trim()), str::to_owned))
}

/// Writes a module of some kernels, given by their numbers.
type Writer = Box<dyn Fn(&[usize]) -> String + Sync>;

/// Kernels for one target.
struct Batch {
    target: Target,
    count: usize,
    module: Writer,
}

impl Batch {
    /// The kernels that ptxas rejects, each with its message.
    fn refused(&self, version: &str, file: &Path, among: &[usize]) -> Vec<(usize, String)> {
        let arch = self.target.to_string();
        let verdict = assemble(version, &["-arch", &arch], &(self.module)(among), file);
        match (verdict, among) {
            (Ok(()), _) => Vec::new(),
            (Err(message), &[one]) => vec![(one, message)],
            // A crash has no line number, so the kernels are halved to find the cause.
            (Err(_), _) => {
                let (left, right) = among.split_at(among.len() / 2);
                let mut found = self.refused(version, file, left);
                // A few messages are enough to see the problem.
                if found.len() < 3 {
                    found.extend(self.refused(version, file, right));
                }
                found
            }
        }
    }
}

/// Runs each ptxas on each batch. Returns its errors, each with a description of the kernel.
fn refusals(
    name: &str,
    batches: &[Batch],
    describe: impl Fn(usize, usize) -> String,
) -> Vec<String> {
    let scratch = Scratch::new(name);
    let jobs = (0..batches.len()).flat_map(|at| VERSIONS.map(|version| (at, version)));
    // ptxas 12.9 knows no instructions on bytes, and ptxas 13.5 knows no old targets.
    let is_known = |(at, version): &(usize, &str)| match *version {
        "13.5" => batches[*at].target.has(Feature::Ptxas13),
        _ => batches[*at].target.suffix.is_none(),
    };
    let jobs: Vec<(usize, &str)> = jobs.filter(is_known).collect();
    let next = AtomicUsize::new(0);
    let found = Mutex::new(BTreeSet::new());
    std::thread::scope(|scope| {
        for thread in 0..2 {
            let (jobs, next, found) = (&jobs, &next, &found);
            let file = scratch.0.join(format!("{thread}.ptx"));
            scope.spawn(move || {
                while let Some(&(at, version)) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let all: Vec<usize> = (0..batches[at].count).collect();
                    for (kernel, message) in batches[at].refused(version, &file, &all) {
                        found.lock().expect("no panic").insert((at, kernel, version, message));
                    }
                }
            });
        }
    });
    let mut kernels: BTreeMap<(usize, usize), Vec<String>> = BTreeMap::new();
    for (at, kernel, version, message) in found.into_inner().expect("no panic") {
        let message = message.split_once("; ").map_or(message.as_str(), |(_, said)| said);
        kernels.entry((at, kernel)).or_default().push(format!("ptxas {version}: {message}"));
    }
    let text = |((at, kernel), messages): (_, Vec<String>)| {
        format!("{}\n{}", describe(at, kernel), messages.join("\n"))
    };
    kernels.into_iter().map(text).collect()
}

fn head(target: Target) -> String {
    // PTX has had instructions on bytes only since 9.2.
    let version = if target.suffix.is_some() { "9.2" } else { "8.8" };
    format!(".version {version}\n.target {target}\n.address_size 64\n")
}

/// Random instructions, spread evenly over the mnemonics and over the texts of each mnemonic.
fn sample(count: usize, seed: u64) -> Vec<String> {
    let mut all: BTreeMap<Mnemonic, Vec<String>> = BTreeMap::new();
    for (form, mnemonic) in rows() {
        all.entry(mnemonic).or_default().extend(texts(form, mnemonic));
    }
    let mut random = Random(seed);
    let mut taken = Vec::new();
    // Mnemonics with few forms come first, so that the other mnemonics get the rest of the count.
    let mut all: Vec<Vec<String>> = all.into_values().collect();
    all.sort_by_key(Vec::len);
    let mnemonics = all.len();
    for (at, texts) in all.into_iter().enumerate() {
        let share = ((count - taken.len()) / (mnemonics - at)).min(texts.len());
        // The texts are divided into parts, and each part gives one instruction: neighbours have
        // similar heads and destinations.
        for part in 0..share {
            let (from, to) = (part * texts.len() / share, (part + 1) * texts.len() / share);
            taken.push(texts[from + random.below(to - from)].clone());
        }
    }
    taken
}

/// A case: an instruction, with the semantics and the target to use.
#[derive(Clone)]
struct Case {
    text: String,
    instruction: Instruction,
    semantics: Semantics,
    target: Target,
}

impl Case {
    /// Cases take the semantics and the targets in turn, with different periods.
    fn new(number: usize, text: String) -> Case {
        let instruction = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
        let semantics = Semantics::ALL[number % 3];
        let target = Target::measured()[number % Target::measured().len()];
        Case { text, instruction, semantics, target }
    }
}

impl std::fmt::Display for Case {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "`{}` as {} means it, for {}", self.text, self.semantics, self.target)
    }
}

/// Adds to `wrong` the candidates whose results differ from the program's. Returns the number of
/// all candidates.
fn wrong(case: &Case, random: &mut Random, wrong: &mut Vec<String>) -> usize {
    let gate = Gate::new(case.target, None);
    let program: Program = case.instruction.lower(case.semantics);
    let all = candidates(&case.instruction, case.semantics, gate);
    if all.is_empty() {
        wrong.push(format!("{case}: no candidates"));
    }
    let [a, b, c] = case.instruction.sources();
    let inputs: Vec<[u32; 3]> = (0..64)
        .map(|turn| {
            let mut pick = || if turn < 32 { *random.pick(&EDGES) } else { random.next() as u32 };
            let mut words = [pick(), pick(), pick()];
            // Operands that are the same register get the same word.
            if a.is_some() && a == b {
                words[1] = words[0];
            }
            if c.is_some() && (c == a || c == b) {
                words[2] = words[usize::from(c != a)];
            }
            words
        })
        .collect();
    let expected: Vec<u32> = inputs.iter().map(|&[a, b, c]| program.eval(a, b, c)).collect();
    for (strategy, sequence) in &all {
        let found = inputs.iter().map(|&[a, b, c]| sequence.eval(a, b, c));
        let pairs = inputs.iter().zip(found.zip(&expected));
        if let Some((words, (found, expected))) = pairs.into_iter().find(|(_, (f, e))| f != *e) {
            let text = sequence
                .to_ptx(&case.instruction, &mut FreshRegisters::new("%v_").expect("a prefix"));
            wrong.push(format!(
                "{case}: {strategy}: {words:x?}: {found:x}, not {expected:x}\n{}",
                text.join("\n")
            ));
        }
    }
    all.len()
}

fn report(what: &str, complaints: &[String]) {
    for complaint in complaints.iter().take(20) {
        println!("{complaint}\n");
    }
    assert!(complaints.is_empty(), "{what}: {} complaints", complaints.len());
}

/// A kernel with the statements of `to_ptx` that reads `a`, `b`, `c` and stores or
/// tests `d`.
fn kernel(number: usize, case: &Case, use_of_d: &str) -> Result<String, String> {
    let mut registers = FreshRegisters::new("%v_").expect("a prefix");
    let statements = case.instruction.to_ptx(case.target, case.semantics, &mut registers);
    let statements = statements.map_err(|error| error.to_string())?;
    Ok(format!(
        ".visible .entry k{number}(.param .u64 p)\n{{\n.reg .b64 %q;\n.reg .b32 a, b, c, d;\n\
         .reg .pred z;\nld.param.u64 %q, [p];\nld.global.u32 a, [%q];\nld.global.u32 b, [%q+4];\n\
         ld.global.u32 c, [%q+8];\n{{\n{}\n{statements}\n}}\n{use_of_d}\nret;\n}}\n",
        registers.declarations().join("\n"),
    ))
}

/// The complaints of ptxas about the kernels of some cases.
fn kernel_refusals(name: &str, cases: &[Case], use_of_d: &str) -> Vec<String> {
    let mut complaints = Vec::new();
    let mut groups: Vec<Vec<(&Case, String)>> = Vec::new();
    for &target in Target::measured() {
        let mut own = Vec::new();
        for (number, case) in cases.iter().enumerate().filter(|(_, case)| case.target == target) {
            match kernel(number, case, use_of_d) {
                Ok(text) => own.push((case, text)),
                Err(error) => complaints.push(format!("{case}: {error}")),
            }
        }
        groups.extend(own.chunks(GROUP).map(<[_]>::to_vec));
    }
    let batch = |group: &'_ Vec<(&Case, String)>| {
        let target = group[0].0.target;
        let kernels: Vec<String> = group.iter().map(|(_, text)| text.clone()).collect();
        let count = kernels.len();
        let module = move |some: &[usize]| {
            some.iter().fold(head(target), |module, &at| module + &kernels[at])
        };
        Batch { target, count, module: Box::new(module) }
    };
    let batches: Vec<Batch> = groups.iter().map(batch).collect();
    complaints.extend(refusals(name, &batches, |at, kernel| {
        let (case, text) = &groups[at][kernel];
        let block = text.split("\n{\n").nth(2).and_then(|rest| rest.split("\n}").next());
        format!("{case}\n{}", block.unwrap_or_default())
    }));
    complaints
}

const STORE: &str = "st.global.u32 [%q+12], d;";

/// ptxas 12.9 and 13.5 crash if the result of a `lop3` is used only in such a test for zero.
const TEST: &str = "setp.eq.u32 z, d, 0;\n@z bra E;\nst.global.u32 [%q+12], 7;\nE:";

#[test]
#[ignore = "needs ptxas: cargo xtask rewrite-check runs it"]
fn sequences_assemble_and_compute() {
    let texts = sample(5000, 1);
    for part in PARTS.iter().chain(&MASKS2).chain(&MASKS4) {
        assert!(texts.iter().any(|text| text.contains(&format!(" d{part},"))), "no d{part}");
    }
    for word in [".sat", ".add ", ".po", ".shr7", ".shr15", " -a", " -b", " -c", ".wrap"] {
        assert!(texts.iter().any(|text| text.contains(word)), "no {word}");
    }
    let cases: Vec<Case> =
        texts.into_iter().enumerate().map(|(number, text)| Case::new(number, text)).collect();
    let (mut random, mut complaints, mut count) = (Random(2), Vec::new(), 0);
    for case in &cases {
        count += wrong(case, &mut random, &mut complaints);
    }
    println!("{} instructions, {count} candidates, 64 inputs each", cases.len());
    complaints.extend(kernel_refusals("sequences", &cases, STORE));
    report("sequences", &complaints);
}

#[test]
#[ignore = "needs ptxas: cargo xtask rewrite-check runs it"]
fn results_may_be_tested_for_zero() {
    let cases: Vec<Case> = sample(1000, 3)
        .into_iter()
        .enumerate()
        .map(|(number, text)| Case::new(number, text))
        .collect();
    report("tests for zero", &kernel_refusals("zero", &cases, TEST));
}

/// Rewrites a text whose version is the lowest for its target. ptxas must still accept it for that
/// target.
#[test]
#[ignore = "needs ptxas: cargo xtask rewrite-check runs it"]
fn old_texts_stay_as_old() {
    let scratch = Scratch::new("old-texts");
    let file = scratch.0.join("module.ptx");
    let mut random = Random(4);
    let (mut complaints, mut taken) = (Vec::new(), Vec::new());
    for target in Target::all().filter(|target| target.costs().is_some()) {
        let version = if target.has(Feature::Ptxas13) { "13.5" } else { "12.9" };
        let (since, arch) = (target.since(), target.to_string());
        let head = format!(".version {since}\n.target {target}\n.address_size 64\n");
        // ptxas supports neither sm_82 nor sm_101.
        if assemble(version, &["-arch", &arch], &head, &file).is_err() {
            continue;
        }
        let mut text = head;
        // ptxas takes most of its time for the entries.
        for (at, some) in sample(400, random.next()).chunks(10).enumerate() {
            let _ = write!(
                text,
                ".visible .entry k{at}(.param .u64 q)\n{{\n.reg .b64 p;\n.reg .b32 a, b, c, d;\n\
                 ld.param.u64 p, [q];\n"
            );
            for own in some {
                let _ = write!(
                    text,
                    "ld.global.u32 a, [p];\nld.global.u32 b, [p+4];\nld.global.u32 c, [p+8];\n\
                     {own}\nst.global.u32 [p], d;\n"
                );
            }
            text.push_str("ret;\n}\n");
        }
        let (module, _) = vptx::parse(&text);
        for all in [false, true] {
            let options = RewriteOptions::default().with_all(all);
            let rewritten = rewrite(&module, &options).expect("a target");
            let count = rewritten.changes.iter().filter(|it| it.outcome.is_rewritten()).count();
            assert!(count > 50, "{target} {all}: {count}");
            if let Err(error) = assemble(version, &["-arch", &arch], &rewritten.text(), &file) {
                complaints.push(format!("{target}, PTX {since}, all = {all}: {error}"));
            }
        }
        taken.push(target);
    }
    assert!([50, 52, 53, 60, 61, 70, 75].iter().all(|it| taken.contains(&Target::sm(*it))));
    report("old texts", &complaints);
}

/// Constants for scalar operands.
const CONSTANTS: [&str; 8] = ["0", "1", "-1", "5", "255", "0x80000000", "0x7fffffff", "40"];

/// The registers of the kernels in [`overlap_module`].
const CLASSES: [(&str, char); 4] = [(".u32", 'u'), (".s32", 's'), (".b32", 'b'), (".f16x2", 'h')];

/// The instruction with other operands: registers that overlap in one of eight ways,
/// constants in scalar places, and a guard.
fn dressed(text: &str, number: usize, random: &mut Random) -> String {
    let (opcode, operands) = text.trim_end_matches(';').split_once(' ').expect("operands");
    // The operands that are the same register: numbers of d, a, b, c.
    let same: &[usize] =
        [&[][..], &[0, 1], &[0, 2], &[0, 3], &[1, 2], &[0, 1, 2, 3], &[1, 3], &[2, 3]][number % 8];
    let mut register = |place: usize| {
        // Comparisons take pairs of halves as `a` and `b` only; a minus takes none.
        let is_compared = matches!(place, 1 | 2) && !same.contains(&3);
        let takes_none = operands.contains('-') || opcode.starts_with("vset") && !is_compared;
        let most = if takes_none { 3 } else { CLASSES.len() };
        format!("%{}{place}", random.pick(&CLASSES[..most]).1)
    };
    let mut names = [register(0), register(1), register(2), register(3)];
    for &place in same {
        let first = names[same[0]].clone();
        names[place] = first;
    }
    let scalar = !opcode.split('.').next().expect("a mnemonic").ends_with(['2', '4']);
    let operands: Vec<String> = operands
        .split(", ")
        .enumerate()
        .map(|(place, operand)| {
            let (minus, operand) =
                operand.strip_prefix('-').map_or(("", operand), |rest| ("-", rest));
            if scalar && place > 0 && random.one_in(4) {
                return (*random.pick(&CONSTANTS)).to_owned();
            }
            format!("{minus}{}{}", names[place], &operand[1..])
        })
        .collect();
    let guard = ["", "@%p ", "@!%p "][number / 8 % 3];
    format!("{guard}{opcode} {};", operands.join(", "))
}

/// A module in which each kernel has one video instruction between two lines that mark its place.
fn overlap_module(target: Target, cases: &[Case], some: &[usize]) -> String {
    let mut module = head(target);
    for &at in some {
        let _ = write!(module, ".visible .entry k{at}(.param .u64 p)\n{{\n.reg .b64 %q;\n");
        for (ty, letter) in CLASSES {
            let is_new = ty == ".f16x2" && !target.has(Feature::FloatHalves);
            let ty = if is_new { ".b32" } else { ty };
            let _ = writeln!(module, ".reg {ty} %{letter}<4>;");
        }
        module.push_str(".reg .pred %p;\nld.param.u64 %q, [p];\n");
        let registers = (0..16).map(|at| format!("%{}{}", CLASSES[at / 4].1, at % 4));
        let registers: Vec<String> = registers.collect();
        for (place, register) in registers.iter().enumerate() {
            let _ = writeln!(module, "ld.global.b32 {register}, [%q+{}];", 4 * place);
        }
        let _ = write!(
            module,
            "setp.ne.b32 %p, %b3, 0;\n// begin {at}\n    {}\n// end {at}\n",
            cases[at].text
        );
        for (place, register) in registers.iter().enumerate() {
            let _ = writeln!(module, "st.global.b32 [%q+{}], {register};", 64 + 4 * place);
        }
        module.push_str("ret;\n}\n");
    }
    module
}

/// The rewritten module.
fn overlap_rewritten(cases: &[Case], module: &str) -> Result<String, String> {
    let (read, findings) = vptx::parse(module);
    let options = RewriteOptions::default().with_all(true).with_semantics(cases[0].semantics);
    let rewritten = rewrite(&read, &options).map_err(|error| error.to_string())?;
    for change in &rewritten.changes {
        if !matches!(change.outcome, Outcome::Rewritten(_)) {
            return Err(format!("{}: {:?}", change.instruction, change.outcome));
        }
    }
    let expected = module.matches("// begin").count();
    if rewritten.changes.len() != expected {
        return Err(format!("{} of {expected} are read: {findings:?}", rewritten.changes.len()));
    }
    Ok(rewritten.text())
}

/// The error in the text that replaced an instruction: only its last statement may name `d` as its
/// destination, and only that one may have a guard.
fn breach(instruction: &Instruction, block: &str) -> Option<String> {
    let d = instruction.destination().name();
    let guard = instruction.guard.as_ref().map(|guard| {
        format!("@{}{} ", if guard.negated { "!" } else { "" }, guard.predicate.name())
    });
    let lines = block.lines().map(str::trim);
    let statements: Vec<&str> =
        lines.filter(|line| !matches!(*line, "{" | "}") && !line.starts_with(".reg ")).collect();
    for (at, statement) in statements.iter().enumerate() {
        let last = at + 1 == statements.len();
        let (own_guard, rest) = match statement.split_once(' ') {
            Some((guard, rest)) if guard.starts_with('@') => (Some(format!("{guard} ")), rest),
            _ => (None, *statement),
        };
        let operands = rest.split_once(' ').map_or("", |(_, operands)| operands);
        let operands = operands.trim_start_matches(['{', '_', ',', ' ']);
        let destination = operands.split([',', '}']).next().unwrap_or_default();
        let fine = if last {
            destination == d && own_guard == guard
        } else {
            destination.starts_with("%vptx_") && own_guard.is_none()
        };
        if !fine || !rest.ends_with(';') {
            return Some(format!("{instruction}: `{statement}` in\n{block}"));
        }
    }
    statements.is_empty().then(|| format!("{instruction}: nothing"))
}

#[test]
#[ignore = "needs ptxas: cargo xtask rewrite-check runs it"]
fn overlaps_guards_and_constants() {
    let mut random = Random(4);
    let mut complaints = Vec::new();
    let mut groups: BTreeMap<(String, &str), Vec<Case>> = BTreeMap::new();
    let mut count = 0;
    // The order is random, so that each kind of overlap meets many heads.
    let mut texts = sample(1500, 5);
    for at in (1..texts.len()).rev() {
        texts.swap(at, random.below(at + 1));
    }
    for (number, text) in texts.into_iter().enumerate() {
        let case = Case::new(number, dressed(&text, number / 15 + number, &mut random));
        count += wrong(&case, &mut random, &mut complaints);
        groups.entry((case.target.to_string(), case.semantics.text())).or_default().push(case);
    }
    let mut blocks = 0;
    for cases in groups.values() {
        let target = cases[0].target;
        let all: Vec<usize> = (0..cases.len()).collect();
        let module = overlap_module(target, cases, &all);
        match overlap_rewritten(cases, &module) {
            Ok(text) => {
                for (at, case) in cases.iter().enumerate() {
                    let (begin, end) = (format!("// begin {at}\n"), format!("// end {at}\n"));
                    let block = text.split(&begin).nth(1).and_then(|rest| rest.split(&end).next());
                    let block = block.expect("the comments are still there");
                    complaints.extend(breach(&case.instruction, block));
                    blocks += usize::from(block.contains('{'));
                }
            }
            Err(error) => complaints.push(error),
        }
    }
    println!("1500 instructions, {count} candidates, {blocks} blocks of several statements");
    let groups: Vec<Vec<Case>> = groups.into_values().collect();
    let batch = |cases: &'_ Vec<Case>| {
        let (target, cases) = (cases[0].target, cases.clone());
        let count = cases.len();
        let module = move |some: &[usize]| {
            let module = overlap_module(target, &cases, some);
            overlap_rewritten(&cases, &module).unwrap_or(module)
        };
        Batch { target, count, module: Box::new(module) }
    };
    let batches: Vec<Batch> = groups.iter().map(batch).collect();
    complaints.extend(refusals("overlaps", &batches, |at, kernel| {
        let module = (batches[at].module)(&[kernel]);
        let block = module.split("// begin").nth(1).and_then(|rest| rest.split("// end").next());
        format!("{}\n{}", groups[at][kernel], block.unwrap_or_default())
    }));
    report("overlaps", &complaints);
}

/// The flags to assemble a module for its first target, as in `scripts/fmt-same-code`.
fn flags(text: &str) -> Vec<String> {
    let line = text
        .split_once(".target")
        .map_or("", |(_, rest)| rest.split(['\n', '\r', '.']).next().unwrap_or_default());
    let arch = line.trim().split([',', ' ', '\t']).next().unwrap_or_default();
    let number: u16 =
        arch.chars().filter(char::is_ascii_digit).collect::<String>().parse().unwrap_or(90);
    // The oldest target that ptxas 13.5 supports.
    let arch = if number < 75 { "sm_75" } else { arch };
    let mut flags = vec!["-arch".to_owned(), arch.to_owned()];
    if line.contains("debug") {
        flags.push("-g".into());
    }
    flags
}

#[test]
#[ignore = "needs ptxas: cargo xtask rewrite-check runs it"]
fn real_modules_assemble() {
    let scratch = Scratch::new("modules");
    let file = scratch.0.join("module.ptx");
    let (mut taken, mut video) = (0, 0);
    let mut rewritten = [0; 2];
    let mut complaints = Vec::new();
    for path in ptx_files("") {
        let text = vptx::source::decode(fs::read(&path).expect("it can be read"));
        let flags = flags(&text);
        let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
        if assemble("13.5", &flags, &text, &file).is_err() {
            continue;
        }
        taken += 1;
        let (module, _) = vptx::parse(&text);
        video += usize::from(module.instructions().next().is_some());
        for (all, count) in [false, true].into_iter().zip(&mut rewritten) {
            let options = RewriteOptions::default().with_all(all);
            // ptxas requires a `.target` in a module with video instructions.
            let result = rewrite(&module, &options).expect("a module that ptxas takes");
            let changes = result.changes.iter();
            let own = changes.filter(|change| change.outcome.is_rewritten());
            let own = own.count();
            *count += own;
            if own == 0 {
                assert_eq!(result.text(), text, "{}", path.display());
            } else if let Err(error) = assemble("13.5", &flags, &result.text(), &file) {
                complaints.push(format!("{}, all = {all}: {error}", path.display()));
            }
        }
    }
    let [some, all] = rewritten;
    println!("{taken} modules, {video} with video instructions: {some} rewritten, {all} with all");
    assert!(video > 0 && all > 0);
    report("modules", &complaints);
}

/// A kernel that stores something unless an opcode gives the expected result for constants. If
/// ptxas folds the opcode, its code has no store, or a store without a condition.
fn folding_kernel(number: usize, opcode: Opcode, args: [u64; 3]) -> String {
    let mut text = format!(
        ".visible .entry k{number}(.param .u64 p)\n{{\n.reg .b64 %q;\n.reg .b32 r, t;\n\
         .reg .b64 wr;\n.reg .b16 hr;\n.reg .pred m;\nld.param.u64 %q, [p];\n"
    );
    let mut names = Vec::new();
    for (at, (class, value)) in opcode.arguments().iter().zip(args).enumerate() {
        let name = format!("x{at}");
        let _ = match class {
            Class::Word => write!(text, ".reg .b32 {name};\nmov.b32 {name}, 0x{value:x};\n"),
            Class::Wide => write!(text, ".reg .b64 {name};\nmov.b64 {name}, 0x{value:x};\n"),
            Class::Half => write!(text, ".reg .b16 {name};\nmov.b16 {name}, 0x{value:x};\n"),
            Class::Predicate => {
                write!(text, ".reg .pred {name};\nmov.b32 t, {value};\nsetp.ne.u32 {name}, t, 0;\n")
            }
        };
        names.push(name);
    }
    let expected = opcode.eval(args);
    let (result, check) = match opcode.class() {
        Class::Word => ("r", format!("setp.eq.u32 m, r, 0x{expected:x};\n")),
        Class::Wide => ("wr", format!("setp.eq.u64 m, wr, 0x{expected:x};\n")),
        Class::Half => ("hr", format!("setp.eq.u16 m, hr, 0x{expected:x};\n")),
        Class::Predicate => ("m", String::new()),
    };
    let operands = opcode.operands().chars().map(|letter| match letter {
        'd' => result.to_owned(),
        'x' => names[0].clone(),
        'y' => names[1].clone(),
        'z' | 's' => names[2].clone(),
        't' => match opcode {
            Opcode::Lop3(table) => format!("0x{table:02x}"),
            _ => panic!("{opcode} has no table"),
        },
        other => other.to_string(),
    });
    let operands: String = operands.collect();
    let holds = opcode.class() != Class::Predicate || expected == 1;
    // ptxas crashes on a test of a `lop3` unless the result of the `lop3` is stored.
    let stored = if opcode.class() == Class::Word { "r" } else { "7" };
    let not = if holds { "!" } else { "" };
    let _ = write!(
        text,
        "{opcode} {operands};\n{check}@{not}m st.volatile.global.u32 [%q], {stored};\n\
         ret;\n}}\n"
    );
    text
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Folded {
    Confirmed,
    Contradicted,
    No,
}

/// Whether ptxas 13.5 folded the opcode of each kernel, and confirmed the result.
fn fold(target: Target, kernels: &[String], file: &Path) -> Vec<Folded> {
    let module = head(target) + &kernels.concat();
    let verdict = assemble("13.5", &["-arch", &target.to_string()], &module, file);
    assert_eq!(verdict, Ok(()), "{target}");
    let listing = Command::new(tool("nvdisasm"))
        .arg("-c")
        .arg(file.with_extension("cubin"))
        .output()
        .expect("nvdisasm starts");
    assert!(listing.status.success());
    let listing = String::from_utf8(listing.stdout).expect("ASCII");
    let mut found = vec![None; kernels.len()];
    for section in listing.split("\n.text.k").skip(1) {
        let (number, code) = section.split_once(':').expect("a label");
        let instructions = || {
            let code = code.split("\n//---").next().unwrap_or_default();
            code.lines().filter_map(|line| line.split_once("*/").map(|(_, rest)| rest.trim()))
        };
        let stores = instructions().any(|text| text.contains("ST.") || text.contains("STG."));
        let depends = instructions().any(|text| text.starts_with('@'));
        found[number.parse::<usize>().expect("a number")] = Some(match (stores, depends) {
            (false, _) => Folded::Confirmed,
            (true, false) => Folded::Contradicted,
            (true, true) => Folded::No,
        });
    }
    found.into_iter().map(|found| found.expect("a section for each kernel")).collect()
}

/// Opcodes that ptxas may leave unfolded. It folds opcodes on lanes and bytes never, or only where
/// nothing but a store reads the result. It does not fold `sub.sat` of 0.
fn stays(opcode: Opcode, args: [u64; 3]) -> bool {
    let is_older = matches!(opcode.needs(), Feature::Video | Feature::FunnelShift);
    !is_older || opcode == Opcode::Permute || opcode == Opcode::SubSat && args[1] == 0
}

#[test]
#[ignore = "needs ptxas: cargo xtask rewrite-check runs it"]
fn ptxas_folds_opcodes_alike() {
    let scratch = Scratch::new("fold");
    let file = scratch.0.join("fold.ptx");
    let mut random = Random(6);
    let mut pairs: Vec<(Opcode, [u64; 3])> = Vec::new();
    for opcode in Opcode::all() {
        let classes = opcode.arguments();
        for turn in 0..12 {
            let mut args = [0; 3];
            for (arg, class) in args.iter_mut().zip(classes) {
                let mut word = || {
                    let edge = *random.pick(&EDGES);
                    u64::from(if random.one_in(4) { random.next() as u32 } else { edge })
                };
                *arg = match class {
                    Class::Word => word(),
                    Class::Wide => word() << 32 | word(),
                    Class::Half => word() & 0xffff,
                    Class::Predicate => word() & 1,
                };
            }
            // Operands may be equal, and amounts may be near the limits of shifts.
            if turn < 2 && classes.len() > 1 && classes[0] == classes[1] {
                args[1] = args[0];
            } else if let (2..10, Some((Class::Word, [_, ..]))) = (turn, classes.split_last()) {
                args[classes.len() - 1] = [0, 1, 31, 32, 33, 40, 63, 64][turn - 2];
            }
            pairs.push((opcode, args));
        }
    }
    let mut found = vec![Folded::No; pairs.len()];
    let measured = Target::measured();
    let first = measured.iter().find(|target| target.has(Feature::Ptxas13)).expect("some");
    for target in [*first, measured[measured.len() - 1]] {
        // Only the second target has the newest instructions on lanes.
        let some: Vec<usize> = (0..pairs.len())
            .filter(|&at| target.has(pairs[at].0.needs()) && found[at] == Folded::No)
            .collect();
        let texts = some.iter().enumerate();
        let texts: Vec<String> =
            texts.map(|(number, &at)| folding_kernel(number, pairs[at].0, pairs[at].1)).collect();
        for (&at, folded) in some.iter().zip(fold(target, &texts, &file)) {
            found[at] = folded;
        }
    }
    let with = |wanted| pairs.iter().zip(&found).filter(move |(_, found)| **found == wanted);
    let unfolded: BTreeSet<String> =
        with(Folded::No).map(|((opcode, _), _)| opcode.to_string()).collect();
    println!(
        "{} of {} pairs are folded alike; not folded: {}",
        with(Folded::Confirmed).count(),
        pairs.len(),
        unfolded.into_iter().collect::<Vec<_>>().join(" ")
    );
    let text = |((opcode, args), _): (&(Opcode, [u64; 3]), _)| format!("{opcode} {args:x?}");
    report("contradictions", &with(Folded::Contradicted).map(text).collect::<Vec<_>>());
    let missed = with(Folded::No).filter(|((opcode, args), _)| !stays(*opcode, *args));
    report("not folded", &missed.map(text).collect::<Vec<_>>());
}

/// ptxas still accepts modules after `count_blocks` adds counters of basic blocks.
#[test]
#[ignore = "needs ptxas"]
fn kernels_that_count_assemble() {
    let scratch = Scratch::new("count");
    let file = scratch.0.join("count.ptx");
    let (mut modules, mut counters) = (0, 0);
    for path in ["ptx", "kernels", "regions"].into_iter().flat_map(ptx_files) {
        let source = fs::read_to_string(&path).expect("a text");
        let tree = vptx::syntax::parse(&source);
        let target = tree.statements().find_map(|statement| match statement.kind() {
            vptx::syntax::StatementKind::Directive(it) => it.target(),
            _ => None,
        });
        let arch = target.map_or("sm_90".into(), |it| it.to_string());
        let flags = ["-arch", &*arch];
        if assemble("13.5", &flags, &source, &file).is_err() {
            continue;
        }
        let counted = count_blocks::count_blocks(&source).expect("edits that fit");
        let result = assemble("13.5", &flags, &counted.text, &file);
        assert_eq!(result, Ok(()), "{}\n{}", path.display(), counted.text);
        modules += 1;
        counters += counted.kernels.iter().map(|(_, blocks)| blocks.len()).sum::<usize>();
    }
    println!("{modules} modules, {counters} blocks that count");
    assert!(modules > 20 && counters > 200, "{modules} modules, {counters} blocks");
}
