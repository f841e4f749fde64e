//! Functions compiled by LLVM give the results of the programs. `cargo xtask emit-llvm` runs it.

use std::collections::{HashMap, HashSet};
use std::env;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::calls::{Rows, driver, run};
use crate::proof::{random_operands, table, z3};
use crate::support::forms::{heads, rows, texts};
use crate::support::llvm;
use crate::support::random::Random;
use crate::support::setting;
use crate::support::smt::{Answer, Solver, llvm_query};
use vptx::backend::llvm::{Architecture, Module};
use vptx::ir::Input;
use vptx::isa::{Sources, Target};
use vptx::{Instruction, Semantics};

/// The functions of three semantics.
struct Functions {
    architecture: Architecture,
    modules: Vec<Module>,
    numbers: HashMap<String, usize>,
    calls: Vec<String>,
    prototypes: String,
}

impl Functions {
    fn new(architecture: Architecture) -> Functions {
        Functions {
            architecture,
            modules: Semantics::ALL.map(|it| Module::new(it, architecture)).into(),
            numbers: HashMap::new(),
            calls: Vec::new(),
            prototypes: "#include <stdint.h>\n".into(),
        }
    }

    /// The number of the function for an instruction and a semantics. `None` if the architecture's
    /// function equals the function for [`Architecture::Any`].
    fn number(&mut self, instruction: &Instruction, semantics: usize) -> Option<usize> {
        let text_for = |architecture| {
            let mut module = Module::new(Semantics::ALL[semantics], architecture);
            module.add(instruction);
            module.to_string()
        };
        let is_any = self.architecture == Architecture::Any;
        if !is_any && text_for(self.architecture) == text_for(Architecture::Any) {
            return None;
        }
        let module = &mut self.modules[semantics];
        let name = module.add(instruction);
        if let Some(number) = self.numbers.get(&name) {
            return Some(*number);
        }
        let parameters: Vec<&str> =
            module.parameters(instruction).into_iter().map(Input::text).collect();
        let types = if parameters.is_empty() {
            "void".to_string()
        } else {
            vec!["uint32_t"; parameters.len()].join(", ")
        };
        let _ = writeln!(self.prototypes, "uint32_t {name}({types});");
        self.calls.push(format!("{name}({})", parameters.join(", ")));
        self.numbers.insert(name, self.calls.len() - 1);
        Some(self.calls.len() - 1)
    }
}

/// Runs a command that must succeed; `IN` and `OUT` in it stand for files.
fn must(command: &str, input: &Path, output: &Path) {
    let words = command.split_whitespace().map(|word| match word {
        "IN" => input.to_str().unwrap(),
        "OUT" => output.to_str().unwrap(),
        word => word,
    });
    let words: Vec<&str> = words.collect();
    let done = Command::new(words[0])
        .args(&words[1..])
        .output()
        .unwrap_or_else(|error| panic!("{command}: {error}"));
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{command}: {}", said.get(..3000).unwrap_or(&said));
}

/// Compiles each module by some commands, one after the other, and links the objects with a C
/// source. Returns the results for the rows.
fn results(
    folder: &Path,
    way: &str,
    texts: &[String],
    source: &str,
    rows: &[[u32; 4]],
) -> Vec<u32> {
    let driver = folder.join("driver.c");
    fs::write(&driver, source).unwrap();
    let mut link = Command::new("gcc");
    link.arg("-O1").arg(driver).arg("-o").arg(folder.join("test"));
    for (at, text) in texts.iter().enumerate() {
        let mut last = folder.join(format!("{at}.ll"));
        fs::write(&last, text).unwrap();
        for (step, command) in way.split('|').enumerate() {
            let next = folder.join(format!("{at}.{step}.o"));
            must(command, &last, &next);
            last = next;
        }
        link.arg(last);
    }
    let linked = link.output().expect("gcc");
    assert!(linked.status.success(), "{}", String::from_utf8_lossy(&linked.stderr));
    run(&folder.join("test"), rows)
}

#[test]
#[ignore = "needs LLVM"]
fn functions_compute_what_programs_do() {
    let usual = "llc-14 -O0 -relocation-model=pic -filetype=obj IN -o OUT";
    let ways = env::var("VPTX_LLVM_WAYS").unwrap_or(usual.into());
    let folder = env::temp_dir().join(format!("vptx-llvm-{}", std::process::id()));
    fs::create_dir(&folder).unwrap();
    let names = env::var("VPTX_LLVM_ARCHITECTURES");
    let is_left_out = |it: &Architecture| {
        names.as_ref().is_ok_and(|names| !names.split(',').any(|name| name == it.text()))
    };
    for architecture in Architecture::ALL.into_iter().filter(|it| !is_left_out(it)) {
        let mut functions = Functions::new(architecture);
        let rows = Rows::new("VPTX_LLVM", |instruction, semantics| {
            functions.number(instruction, semantics)
        });
        assert!(architecture != Architecture::Any || rows.recorded() > 100);
        let texts: Vec<String> = functions.modules.iter().map(Module::to_string).collect();
        let source = functions.prototypes.clone() + &driver(&functions.calls);
        for way in ways.split(';') {
            let found = results(&folder, way, &texts, &source, &rows.given);
            println!("{}: {way}: {}", architecture.text(), rows.compare(&found, &functions.calls));
        }
        // The test notices a wrong function.
        let way = ways.split(';').next().unwrap();
        let mutated: Vec<String> =
            texts.iter().map(|text| text.replace("= add ", "= sub ")).collect();
        assert_ne!(texts, mutated);
        assert_ne!(results(&folder, way, &mutated, &source, &rows.given), rows.expected);
    }
    fs::remove_dir_all(&folder).unwrap();
}

/// The forms whose functions are counted, each with the name of its family: each combination of
/// modifiers. A SIMD form is taken without selectors, with selectors, and with a mask and
/// selectors.
fn counted(random: &mut Random) -> Vec<(String, String)> {
    let mut all = Vec::new();
    for (form, mnemonic) in rows() {
        let (starts, own) = (heads(form, mnemonic), texts(form, mnemonic));
        let each = own.len() / starts.len();
        for (start, own) in starts.iter().zip(own.chunks(each)) {
            let tail = [".sat", ".add"].into_iter().find(|tail| start.contains(tail));
            let family = format!("{mnemonic}{}", tail.unwrap_or_default());
            let mut add = |kind: &str, text: String| all.push((text, format!("{family}{kind}")));
            if form.sources == Sources::Scalar {
                add("", random.pick(own).clone());
                continue;
            }
            add("", format!("{start} d, a, b, c;"));
            for _ in 0..3 {
                let (_, sources) = random.pick(own).split_once(", ").unwrap();
                add(" selected", format!("{start} d, {sources}"));
            }
            add(" selected", random.pick(own).clone());
        }
    }
    all
}

/// Writes a module for each architecture into a folder, and a list: the name of each function, its
/// family, and the number of machine instructions of the PTX rewriter.
#[test]
#[ignore = "writes into a folder that VPTX_LLVM_FOLDER names"]
fn forms_to_count() {
    let folder = env::var("VPTX_LLVM_FOLDER").expect("a folder");
    let folder = Path::new(&folder);
    let mut modules = Architecture::ALL.map(|it| Module::new(Semantics::CURRENT, it));
    let (mut list, mut seen) = (String::new(), HashSet::new());
    for (text, family) in counted(&mut Random(setting("VPTX_LLVM_SEED", 1))) {
        let instruction: Instruction = text.parse().unwrap();
        let names = modules.each_mut().map(|module| module.add(&instruction));
        let Some(cost) = instruction.cost(Target::sm(90)).filter(|_| seen.insert(names[0].clone()))
        else {
            continue;
        };
        let _ = writeln!(list, "{}\t{family}\t{}", names[0], cost.rewritten);
    }
    assert!(seen.len() > 2000, "{}", seen.len());
    for (architecture, module) in Architecture::ALL.into_iter().zip(modules) {
        let name = format!("{}.ll", architecture.text());
        fs::write(folder.join(name), module.to_string()).unwrap();
    }
    fs::write(folder.join("forms.tsv"), list).unwrap();
}

/// The limit for one query, in seconds. Most queries need a tenth of a second.
const PATIENCE: u64 = 15;

/// z3 looks for inputs for which a function and its program differ. The text of the function is
/// read as LLVM's language reference says. z3 may find no answer about reordered sums of bytes;
/// such functions are called with random inputs instead.
#[test]
#[ignore = "needs z3: cargo xtask emit-llvm --proofs"]
fn functions_are_programs() {
    let mut random = Random(setting("VPTX_LLVM_SEED", 1));
    let mut solver = Solver::new(&z3());
    let table = table();
    let count = setting("VPTX_LLVM_PROOFS", 300);
    let (mut proven, mut called, mut wrong) = (0, 0, 0);
    let mut seen = HashSet::new();
    while proven + called < count {
        let (form, _, starts) = random.pick(&table);
        // Functions of vectors need SIMD instructions on whole words.
        let operands = match form.sources {
            Sources::Lanes(_) if random.one_in(2) => "d, a, b, c;".to_string(),
            _ => random_operands(form, &mut random),
        };
        let text = format!("{} {operands}", random.pick(starts));
        let instruction: Instruction = text.parse().unwrap();
        let semantics = *random.pick(&Semantics::ALL);
        let architecture = *random.pick(&Architecture::ALL);
        let mut module = Module::new(semantics, architecture);
        let name = module.add(&instruction);
        let program = instruction.lower(semantics);
        let module = module.to_string();
        if !seen.insert(module.clone()) {
            continue;
        }
        let mut ask = |module: &str, seconds| {
            solver.ask(&llvm_query(&program, &llvm::read(module)[&name]), seconds)
        };
        match ask(&module, PATIENCE) {
            Answer::Proven => proven += 1,
            Answer::Unknown => {
                assert!(module.contains("@llvm.vector.reduce.add.v4i32"), "{text}");
                let function = &llvm::read(&module)[&name];
                for _ in 0..100_000 {
                    let words @ [a, b, c] = [(); 3].map(|()| random.next() as u32);
                    assert_eq!(function.eval(words), program.eval(a, b, c), "{text} {words:x?}");
                }
                called += 1;
            }
            Answer::Differs(words) => {
                panic!("{text} {semantics} {}: {words:x?}\n{module}", architecture.text())
            }
        }
        // The test notices a wrong function.
        let mutated = module.replace("= sub ", "= add ");
        if mutated != module && matches!(ask(&mutated, 2), Answer::Differs(_)) {
            wrong += 1;
        }
    }
    println!(
        "{proven} functions proven, {called} called with 100000 inputs; {wrong} wrong ones refuted"
    );
    assert!(called <= count / 25 && wrong > count / 20);
}
