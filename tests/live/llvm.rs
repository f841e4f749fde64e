//! LLVM makes of the functions what the programs compute. `scripts/emit-llvm` runs it.

use std::collections::{HashMap, HashSet};
use std::env;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::calls::{Rows, driver, number, run};
use crate::support::forms::{Random, heads, rows, texts};
use vptx::backend::llvm::Module;
use vptx::ir::Input;
use vptx::isa::{Sources, Target};
use vptx::{Instruction, Semantics};

/// The functions of three semantics, with vectors and without.
struct Functions {
    modules: Vec<Module>,
    numbers: HashMap<String, usize>,
    calls: Vec<String>,
    prototypes: String,
}

impl Functions {
    fn new(module: fn(Semantics) -> Module) -> Functions {
        Functions {
            modules: Semantics::ALL.map(module).into(),
            numbers: HashMap::new(),
            calls: Vec::new(),
            prototypes: "#include <stdint.h>\n".into(),
        }
    }

    /// The number of the function of an instruction under a semantics.
    fn number(&mut self, instruction: &Instruction, semantics: usize) -> usize {
        let module = &mut self.modules[semantics];
        let name = module.add(instruction);
        if let Some(number) = self.numbers.get(&name) {
            return *number;
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
        self.calls.len() - 1
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

/// The results of rows from modules that are compiled by commands, one after the other.
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
    for (kind, module) in [("vectors", Module::new as fn(_) -> _), ("scalar", Module::scalar)] {
        let mut functions = Functions::new(module);
        let rows = Rows::new("VPTX_LLVM", |instruction, semantics| {
            functions.number(instruction, semantics)
        });
        let texts: Vec<String> = functions.modules.iter().map(Module::to_string).collect();
        let source = functions.prototypes.clone() + &driver(&functions.calls);
        for way in ways.split(';') {
            let found = results(&folder, way, &texts, &source, &rows.given);
            println!("{kind}: {way}: {}", rows.compare(&found, &functions.calls));
        }
        // A wrong function is noticed.
        let way = ways.split(';').next().unwrap();
        let mutated: Vec<String> =
            texts.iter().map(|text| text.replace("icmp slt", "icmp sle")).collect();
        assert_ne!(texts, mutated);
        assert_ne!(results(&folder, way, &mutated, &source, &rows.given), rows.expected);
    }
    fs::remove_dir_all(&folder).unwrap();
}

/// The forms whose functions are counted: each combination of modifiers of SIMD instructions,
/// without selectors and with some, and one of each combination for scalar ones.
fn counted(random: &mut Random) -> Vec<(String, String)> {
    let mut all = Vec::new();
    for (form, mnemonic) in rows() {
        let (starts, all_texts) = (heads(form, mnemonic), texts(form, mnemonic));
        let each = all_texts.len() / starts.len();
        for (head, own) in starts.iter().zip(all_texts.chunks(each)) {
            let tail = [".sat", ".add"].into_iter().find(|tail| head.contains(tail));
            let family = format!("{mnemonic}{}", tail.unwrap_or_default());
            let mut add = |text: String| all.push((text, family.clone()));
            if form.sources == Sources::Scalar {
                add(random.pick(own).clone());
                continue;
            }
            add(format!("{head} d, a, b, c;"));
            (0..4).for_each(|_| add(random.pick(own).clone()));
        }
    }
    all
}

/// Writes both kinds of modules into a folder, with a list of names, families, and machine
/// instructions of the PTX rewriter.
#[test]
#[ignore = "writes into a folder that VPTX_LLVM_FOLDER names"]
fn forms_to_count() {
    let folder = env::var("VPTX_LLVM_FOLDER").expect("a folder");
    let folder = Path::new(&folder);
    let (mut vectors, mut scalar) =
        (Module::new(Semantics::CURRENT), Module::scalar(Semantics::CURRENT));
    let (mut list, mut seen) = (String::new(), HashSet::new());
    for (text, family) in counted(&mut Random(number("VPTX_LLVM_SEED", 1))) {
        let instruction: Instruction = text.parse().unwrap();
        let name = vectors.add(&instruction);
        scalar.add(&instruction);
        let Some(cost) = instruction.cost(Target::sm(90)).filter(|_| seen.insert(name.clone()))
        else {
            continue;
        };
        let _ = writeln!(list, "{name}\t{family}\t{}", cost.rewritten);
    }
    assert!(seen.len() > 2000, "{}", seen.len());
    fs::write(folder.join("vectors.ll"), vectors.to_string()).unwrap();
    fs::write(folder.join("scalar.ll"), scalar.to_string()).unwrap();
    fs::write(folder.join("forms.tsv"), list).unwrap();
}
