//! C compilers make of the functions what the programs compute. `scripts/emit-c` runs it.

use std::collections::HashMap;
use std::env;
use std::fmt::Write as _;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::support::forms::{Random, heads, rows, texts};
use crate::support::{EDGES, fixture_text};
use vptx::backend::c::Header;
use vptx::ir::{Input, Program};
use vptx::isa::Sources;
use vptx::{Instruction, Semantics};

/// Functions with the programs that they stand for.
#[derive(Default)]
struct Functions {
    headers: Vec<Header>,
    numbers: HashMap<String, usize>,
    calls: Vec<String>,
    programs: Vec<Program>,
}

impl Functions {
    fn new() -> Functions {
        let headers = Semantics::ALL.map(Header::new).into();
        Functions { headers, ..Functions::default() }
    }

    /// The number of the function of an instruction under a semantics.
    fn number(&mut self, instruction: &Instruction, semantics: usize) -> usize {
        let header = &mut self.headers[semantics];
        let name = header.add(instruction);
        if let Some(number) = self.numbers.get(&name) {
            return *number;
        }
        let parameters: Vec<&str> =
            header.parameters(instruction).into_iter().map(Input::text).collect();
        self.calls.push(format!("{name}({})", parameters.join(", ")));
        self.programs.push(instruction.lower(Semantics::ALL[semantics]));
        self.numbers.insert(name, self.programs.len() - 1);
        self.programs.len() - 1
    }

    /// A program that reads numbers of functions with words, and writes results.
    fn source(&self) -> String {
        let mut text: String = self.headers.iter().map(Header::to_string).collect();
        text += "\n#include <stdio.h>\n";
        for (number, call) in self.calls.iter().enumerate() {
            let _ = writeln!(
                text,
                "static uint32_t f{number}(uint32_t a, uint32_t b, uint32_t c)\n\
                 {{ (void)a, (void)b, (void)c; return {call}; }}"
            );
        }
        text + &program((0..self.calls.len()).map(|number| format!("f{number}")))
    }
}

/// The rest of a program that reads numbers of functions with words, and writes results.
pub(crate) fn program(functions: impl Iterator<Item = String>) -> String {
    let names: Vec<String> = functions.map(|name| format!("{name},\n")).collect();
    format!(
        "typedef uint32_t (*function)(uint32_t, uint32_t, uint32_t);\n\
         static const function all[] = {{\n{}{MAIN}",
        names.concat()
    )
}

const MAIN: &str = "};\nint main(void)\n{\n    uint32_t row[4];\n    \
                 while (fread(row, sizeof row, 1, stdin) == 1) {\n        \
                 const uint32_t d = all[row[0]](row[1], row[2], row[3]);\n        \
                 if (fwrite(&d, sizeof d, 1, stdout) != 1) return 1;\n    }\n    return 0;\n}\n";

/// The results of rows from a source that is compiled.
pub(crate) fn results(
    folder: &Path,
    compiler: &[&str],
    source: &str,
    rows: &[[u32; 4]],
) -> Vec<u32> {
    let language = if compiler[0].ends_with("++") { "test.cpp" } else { "test.c" };
    fs::write(folder.join(language), source).unwrap();
    let output = Command::new(compiler[0])
        .current_dir(folder)
        .args(&compiler[1..])
        .args(["-Wall", "-Wextra", "-Wconversion", "-Wsign-conversion", "-pedantic", "-Werror"])
        .args(["-fsanitize=undefined", "-fno-sanitize-recover=all", language, "-o", "test"])
        .output()
        .unwrap_or_else(|error| panic!("{compiler:?}: {error}"));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{compiler:?}: {}", said.get(..3000).unwrap_or(&said));
    let mut child = Command::new(folder.join("test"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let given: Vec<u8> = rows.as_flattened().iter().flat_map(|word| word.to_ne_bytes()).collect();
    let mut stdin = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || stdin.write_all(&given));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    assert!(output.status.success(), "{compiler:?}");
    let words = output.stdout.chunks_exact(4);
    words.map(|word| u32::from_ne_bytes(word.try_into().unwrap())).collect()
}

/// An instruction of each scalar row with each combination of modifiers, and a sample of SIMD
/// ones.
fn instructions(lanes: usize, random: &mut Random) -> Vec<Instruction> {
    let mut all = Vec::new();
    let mut simd = Vec::new();
    for (form, mnemonic) in rows() {
        let texts = texts(form, mnemonic);
        if form.sources == Sources::Scalar {
            let step = texts.len() / heads(form, mnemonic).len();
            let some = texts.chunks(step.max(1)).map(|chunk| random.pick(chunk).clone());
            all.extend(some);
        } else {
            simd.extend(texts);
        }
    }
    all.extend((0..lanes).map(|_| random.pick(&simd).clone()));
    all.iter().map(|text| text.parse().unwrap()).collect()
}

#[test]
#[ignore = "needs C compilers"]
fn functions_compute_what_programs_do() {
    let number = |name: &str, usual: u64| {
        env::var(name).map_or(usual, |text| text.parse().expect("a number"))
    };
    let mut random = Random(number("VPTX_C_SEED", 1));
    let compilers = env::var("VPTX_C_COMPILERS").unwrap_or("gcc -std=c99 -O1".into());
    let (mut functions, mut rows, mut expected) = (Functions::new(), Vec::new(), Vec::new());
    for instruction in instructions(number("VPTX_C_LANES", 300) as usize, &mut random) {
        for semantics in 0..Semantics::ALL.len() {
            let own = functions.number(&instruction, semantics);
            for round in 0..24 {
                let mut word = |odds| {
                    if random.one_in(odds) { random.next() as u32 } else { *random.pick(&EDGES) }
                };
                let [a, b, c] = [(); 3].map(|()| word(1 + round % 3));
                rows.push([own as u32, a, b, c]);
                expected.push(functions.programs[own].eval(a, b, c));
            }
        }
    }
    let recorded_from = rows.len();
    let recorded = fixture_text("oracle/vectors.tsv");
    let recorded = recorded.lines().filter(|it| !it.starts_with('#'));
    for line in recorded.step_by(number("VPTX_C_STEP", 20) as usize) {
        let fields: Vec<&str> = line.split('\t').collect();
        let words = fields[1..].iter().map(|it| u32::from_str_radix(&it[2..], 16).unwrap());
        let words: Vec<u32> = words.collect();
        let instruction: Instruction = fields[0].parse().unwrap();
        for semantics in 0..Semantics::ALL.len() {
            let own = functions.number(&instruction, semantics);
            rows.push([own as u32, words[0], words[1], words[2]]);
            expected.push(words[3 + semantics]);
        }
    }
    assert!(rows.len() > recorded_from + 100, "{}", rows.len());
    let folder = env::temp_dir().join(format!("vptx-c-{}", std::process::id()));
    fs::create_dir(&folder).unwrap();
    let source = functions.source();
    for compiler in compilers.split(',') {
        let words: Vec<&str> = compiler.split_whitespace().collect();
        let found = results(&folder, &words, &source, &rows);
        assert_eq!(found.len(), expected.len());
        let wrong = (0..rows.len()).find(|&at| found[at] != expected[at]);
        if let Some(at) = wrong {
            let call = &functions.calls[rows[at][0] as usize];
            panic!("{compiler}: {call} {:x?}: {:x}, not {:x}", rows[at], found[at], expected[at]);
        }
        println!(
            "{compiler}: {} functions, {} results, of which {} are recorded",
            functions.calls.len(),
            rows.len(),
            rows.len() - recorded_from
        );
    }
    // A wrong function is noticed.
    let words: Vec<&str> = compilers.split(',').next().unwrap().split_whitespace().collect();
    let mutated = source.replace("? 1 : 0", "? 0 : 1");
    assert_ne!(source, mutated);
    assert_ne!(results(&folder, &words, &mutated, &rows), expected);
    fs::remove_dir_all(&folder).unwrap();
}
