//! Calls of compiled functions, with the expected results: the programs' results and recorded
//! results.

use std::fmt::Write as _;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::support::forms::{heads, rows, texts};
use crate::support::random::Random;
use crate::support::reference::{manual, settled};
use crate::support::{EDGES, fixture_text, samples, setting};
use vptx::isa::Sources;
use vptx::{Instruction, Semantics};

/// C source that reads rows (the number of a function and three words) and writes the function's
/// results. The source that declares the functions must precede it.
pub(crate) fn driver(calls: &[String]) -> String {
    let mut text = "\n#include <stdio.h>\n".to_string();
    for (number, call) in calls.iter().enumerate() {
        let _ = writeln!(
            text,
            "static uint32_t f{number}(uint32_t a, uint32_t b, uint32_t c)\n\
             {{ (void)a, (void)b, (void)c; return {call}; }}"
        );
    }
    text + &program((0..calls.len()).map(|number| format!("f{number}")))
}

/// The end of a C program that reads rows (the number of a function and three words) and writes the
/// function's results.
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

/// The results of a compiled program.
pub(crate) fn run(program: &Path, rows: &[[u32; 4]]) -> Vec<u32> {
    let mut child =
        Command::new(program).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let given: Vec<u8> = rows.as_flattened().iter().flat_map(|word| word.to_ne_bytes()).collect();
    let mut stdin = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || stdin.write_all(&given));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    assert!(output.status.success(), "{}", program.display());
    let words = output.stdout.chunks_exact(4);
    words.map(|word| u32::from_ne_bytes(word.try_into().unwrap())).collect()
}

/// An instruction for each row of the table and each combination of modifiers, where SIMD
/// instructions have no selectors; and a sample of SIMD instructions with selectors.
pub(crate) fn instructions(lanes: usize, random: &mut Random) -> Vec<Instruction> {
    let mut all = Vec::new();
    let mut simd = Vec::new();
    for (form, mnemonic) in rows() {
        let texts = texts(form, mnemonic);
        if form.sources == Sources::Scalar {
            let step = texts.len() / heads(form, mnemonic).len();
            let some = texts.chunks(step.max(1)).map(|chunk| random.pick(chunk).clone());
            all.extend(some);
        } else {
            all.extend(heads(form, mnemonic).iter().map(|head| format!("{head} d, a, b, c;")));
            simd.extend(texts);
        }
    }
    all.extend((0..lanes).map(|_| random.pick(&simd).clone()));
    all.iter().map(|text| text.parse().unwrap()).collect()
}

/// Calls of functions (the number of the function and three words) and their results.
pub(crate) struct Rows {
    pub(crate) given: Vec<[u32; 4]>,
    pub(crate) expected: Vec<u32>,
    recorded_from: usize,
    /// The number of results that the pseudocode of the manual gives, too.
    of_manual: usize,
}

impl Rows {
    /// Calls on edge and random words, and recorded calls. Variables with a prefix set the number
    /// of sampled SIMD instructions (`_LANES`), the step through the recorded results (`_STEP`),
    /// and the seed (`_SEED`); `VPTX_SAMPLES` multiplies the calls. `function` gives the number of
    /// the function for an instruction and a semantics; `None` omits the call.
    ///
    /// Batches must give the same results, and so must the pseudocode of the manual if the
    /// semantics agree with it.
    pub(crate) fn new(
        prefix: &str,
        mut function: impl FnMut(&Instruction, usize) -> Option<usize>,
    ) -> Rows {
        let variable = |name: &str, usual| setting(&format!("{prefix}_{name}"), usual);
        let mut random = Random(variable("SEED", 1));
        let (mut given, mut expected, mut of_manual) = (Vec::new(), Vec::new(), 0);
        for instruction in instructions(variable("LANES", 300) as usize, &mut random) {
            for (at, semantics) in Semantics::ALL.into_iter().enumerate() {
                let Some(own) = function(&instruction, at) else { continue };
                let program = instruction.lower(semantics);
                let is_manual = semantics == Semantics::Manual || settled(&instruction);
                let mut columns = [(); 3].map(|()| Vec::new());
                let from = expected.len();
                for round in 0..samples(24) as usize {
                    let mut word = |odds| {
                        if random.one_in(odds) {
                            random.next() as u32
                        } else {
                            *random.pick(&EDGES)
                        }
                    };
                    let [a, b, c] = [(); 3].map(|()| word(1 + round % 3));
                    let d = program.eval(a, b, c);
                    if is_manual {
                        let by_manual = manual(&instruction, a, b, c);
                        assert_eq!(d, by_manual, "{instruction} {a:#x} {b:#x} {c:#x}");
                        of_manual += 1;
                    }
                    columns.iter_mut().zip([a, b, c]).for_each(|(column, it)| column.push(it));
                    given.push([own as u32, a, b, c]);
                    expected.push(d);
                }
                let [a, b, c] = &columns;
                let mut batch = vec![0; a.len()];
                program.eval_batch(a, b, c, &mut batch);
                assert_eq!(batch, expected[from..], "{instruction}");
            }
        }
        let recorded_from = given.len();
        let recorded = fixture_text("oracle/vectors.tsv");
        let recorded = recorded.lines().filter(|it| !it.starts_with('#'));
        for line in recorded.step_by(variable("STEP", 20) as usize) {
            let fields: Vec<&str> = line.split('\t').collect();
            let words = fields[1..].iter().map(|it| u32::from_str_radix(&it[2..], 16).unwrap());
            let words: Vec<u32> = words.collect();
            let instruction: Instruction = fields[0].parse().unwrap();
            for semantics in 0..Semantics::ALL.len() {
                let Some(own) = function(&instruction, semantics) else { continue };
                given.push([own as u32, words[0], words[1], words[2]]);
                expected.push(words[3 + semantics]);
            }
        }
        assert!(recorded_from > 1000, "{recorded_from}");
        Rows { given, expected, recorded_from, of_manual }
    }

    /// The number of recorded results.
    pub(crate) fn recorded(&self) -> usize {
        self.given.len() - self.recorded_from
    }

    /// A text that counts functions and results. Panics if a result is wrong.
    pub(crate) fn compare(&self, found: &[u32], calls: &[String]) -> String {
        assert_eq!(found.len(), self.expected.len());
        if let Some(at) = (0..found.len()).find(|&at| found[at] != self.expected[at]) {
            let (row, right) = (self.given[at], self.expected[at]);
            panic!("{} {row:x?}: {:x}, not {right:x}", calls[row[0] as usize], found[at]);
        }
        format!(
            "{} functions, {} results, of which {} are recorded; the pseudocode gives {}, too",
            calls.len(),
            found.len(),
            self.recorded(),
            self.of_manual
        )
    }
}
