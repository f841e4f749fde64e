//! Ported sources compute the results of their instructions. `cargo xtask port-check` runs it.

use std::collections::HashMap;
use std::env;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use crate::c::results;
use crate::calls::program;
use crate::support::forms::{rows, texts};
use crate::support::random::Random;
use crate::support::{EDGES, fixture, setting};
use vptx::backend::c::Header;
use vptx::isa::Sources;
use vptx::port::port;
use vptx::{Instruction, Semantics};

/// Keywords of CUDA, for compilers that lack them. Some results do not depend on all operands, so
/// parameters may be unused.
const PLAIN: &str = "#pragma GCC diagnostic ignored \"-Wunused-parameter\"\n\
                     #pragma GCC diagnostic ignored \"-Wunused-function\"\n#include <stdint.h>\n#include <stdio.h>\n#define __device__\n\
                     #define __forceinline__ inline\n#define __inline__ inline\n";

/// The header of ported sources.
const HEADER: &str = "vptx_video.h";

/// The compilers for C or C++.
fn compilers(plus: bool) -> Vec<String> {
    let all = env::var("VPTX_C_COMPILERS").unwrap_or("g++ -std=c++14 -O1,gcc -std=c99 -O1".into());
    let is_plus = |it: &str| it.split(' ').next().is_some_and(|name| name.ends_with("++"));
    all.split(',').filter(|it| is_plus(it) == plus).map(str::to_string).collect()
}

/// A folder that is removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = env::temp_dir().join(format!("vptx-port-{name}-{}", std::process::id()));
        fs::create_dir(&path).unwrap();
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn eval(text: &str, words: [u32; 3]) -> u32 {
    let instruction: Instruction = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
    let [a, b, c] = words;
    instruction.lower(Semantics::CURRENT).eval(a, b, c)
}

/// The result of the last of some statements. The registers `a`, `b` and `c` have values before the
/// first.
fn interpreted(statements: &str, [a, b, c]: [u32; 3]) -> u32 {
    let mut registers =
        HashMap::from([("a", a), ("b", b), ("c", c)].map(|(n, v)| (n.to_string(), v)));
    let mut last = 0;
    for text in statements.split_inclusive(';').map(str::trim).filter(|it| !it.is_empty()) {
        let instruction: Instruction =
            text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
        let words = instruction.sources().map(|register| {
            register.and_then(|register| registers.get(register.name()).copied()).unwrap_or(0)
        });
        last = eval(text, words);
        registers.insert(instruction.destination().name().to_string(), last);
    }
    last
}

/// A random word; two thirds of them are edge values.
fn word(random: &mut Random) -> u32 {
    if random.one_in(3) { random.next() as u32 } else { *random.pick(&EDGES) }
}

/// Compiles a source and compares its results with the expected ones.
fn compare(folder: &Path, compiler: &str, source: &str, rows: &[[u32; 4]], expected: &[u32]) {
    let words: Vec<&str> = compiler.split_whitespace().collect();
    let found = results(folder, &words, source, rows);
    assert_eq!(found.len(), expected.len());
    for (at, (found, expected)) in found.iter().zip(expected).enumerate() {
        assert_eq!(found, expected, "{compiler}: {:x?}", rows[at]);
    }
}

#[test]
#[ignore = "needs C compilers"]
fn fixtures_compute_what_they_say() {
    let mut paths: Vec<PathBuf> =
        fs::read_dir(fixture("port/ported")).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    assert!(paths.len() >= 40);
    for plus in [true, false] {
        let folder = Folder::new(if plus { "cpp" } else { "c" });
        let mut header = Header::new(Semantics::CURRENT);
        let (mut source, mut names, mut tests) = (PLAIN.to_string(), Vec::new(), Vec::new());
        let mut files = 0;
        for path in paths.iter().filter(|path| path.extension().is_some_and(|it| it == "c") != plus)
        {
            let text = fs::read_to_string(path).unwrap();
            let name = path.file_name().unwrap().to_str().unwrap();
            let ported = port(&text, HEADER, &mut header);
            assert_eq!(ported.left, [], "{name}");
            fs::write(folder.0.join(name), ported.text(&text)).unwrap();
            let _ = writeln!(source, "#include \"{name}\"");
            files += 1;
            let before = tests.len();
            for line in text.lines().filter_map(|it| it.trim().strip_prefix("// test ")) {
                let (function, statements) = line.split_once(": ").unwrap();
                names.push(function.to_string());
                tests.push(statements.to_string());
            }
            assert!(tests.len() > before, "{name}");
        }
        fs::write(folder.0.join(HEADER), header.to_string()).unwrap();
        source += &program(names.into_iter());
        let mut random = Random(setting("VPTX_C_SEED", 1));
        let (mut rows, mut expected) = (Vec::new(), Vec::new());
        for (at, statements) in tests.iter().enumerate() {
            for _ in 0..200 {
                let words = [(); 3].map(|()| word(&mut random));
                rows.push([at as u32, words[0], words[1], words[2]]);
                expected.push(interpreted(statements, words));
            }
        }
        for compiler in compilers(plus) {
            compare(&folder.0, &compiler, &source, &rows, &expected);
            println!(
                "{compiler}: {files} files, {} functions, {} results",
                tests.len(),
                rows.len()
            );
        }
    }
}

// A random `asm` statement stands in a C function that has eight words of state: `x`, a signed `y`,
// `o[0]` to `o[2]`, and `q[0]` to `q[2]`. Its expressions also advance the index `j` and the
// pointer `p`, and change `s`.

/// The values with which a function computes.
#[derive(Clone)]
struct State {
    words: [u32; 3],
    places: [u32; 8],
    s: u32,
    j: usize,
    p: usize,
}

impl State {
    fn new([a, b, c]: [u32; 3]) -> State {
        State { words: [a, b, c], places: [b, c, a, a ^ b, b ^ c, a, b, c], s: c, j: 0, p: 0 }
    }

    fn result(&self) -> u32 {
        let places =
            self.places.iter().fold(7u32, |sum, it| sum.wrapping_mul(31).wrapping_add(*it));
        let rest = self.s.wrapping_add(self.j as u32 * 3).wrapping_add(self.p as u32 * 5);
        places.wrapping_mul(31).wrapping_add(rest)
    }
}

const BEFORE: &str = "    uint32_t w[9] = { a, b, c, a, b, c, a, b, c }, *p = w;\n    \
    uint32_t x = b, o[3] = { a, a ^ b, b ^ c }, q[3] = { a, b, c };\n    uint32_t s = c, j = 0;\n    int32_t y = (int32_t)c;\n    \
    (void)p, (void)x, (void)y;\n";
const AFTER: &str = "    uint32_t hash = 7;\n    for (int i = -2; i < 6; i++)\n        hash = hash * 31 + \
    (i == -2 ? x : i == -1 ? (uint32_t)y : i < 3 ? o[i] : q[i - 3]);\n    return (hash * 31\n        + s + j * 3 + (uint32_t)(p - w) * 5);\n";

/// The expression of an input and its value in a state. The expression may change the state.
fn input(kind: usize, state: &mut State) -> (&'static str, u32) {
    let [a, b, c] = state.words;
    match kind {
        0 => ("a", a),
        1 => ("(b)", b),
        2 => ("(int32_t)c", c),
        3 => ("w[1]", b),
        4 => {
            state.p += 1;
            ("*p++", state.words[(state.p - 1) % 3])
        }
        5 => {
            state.s = state.s.wrapping_mul(5).wrapping_add(1);
            ("next(&s)", state.s)
        }
        6 => ("a ^ c // sum\n", a ^ c),
        7 => {
            state.s = state.s.wrapping_add(3);
            ("s += 3", state.s)
        }
        8 => ("a < b ? a : c", if a < b { a } else { c }),
        _ => ("y", state.places[1]),
    }
}

/// The expression of an output and its place in a state. The expression may change the state.
fn output(kind: usize, state: &mut State) -> (&'static str, usize) {
    match kind {
        0 => ("x", 0),
        1 => ("y", 1),
        2 => ("o[1]", 3),
        3 => {
            state.j += 1;
            ("o[j++]", 2 + state.j - 1)
        }
        // Other operands may change these places.
        4 => ("q[s % 3]", 5 + state.s as usize % 3),
        _ => ("q[x % 3]", 5 + state.places[0] as usize % 3),
    }
}

/// The choices that make up a statement. They do not depend on the values of words.
struct Plan {
    outputs: Vec<(usize, &'static str)>,
    /// The kind of each input. A tied input has the number of its output, a constant has its value.
    inputs: Vec<PlannedInput>,
    steps: Vec<Step>,
    /// The C statement.
    text: String,
}

enum PlannedInput {
    Word(usize),
    Tied(usize, usize),
    Constant(u32),
}

/// An instruction over numbered variables: first the operands, then locals.
struct Step {
    text: String,
    destination: usize,
    sources: [Option<usize>; 3],
}

impl Plan {
    fn new(random: &mut Random, pool: &[(bool, String)]) -> Plan {
        let count = 1 + random.below(2);
        let mut kinds = vec![0, 1, 2, 3, 4 + random.below(2)];
        let outputs: Vec<(usize, &'static str)> = (0..count)
            .map(|_| {
                let kind = kinds.remove(random.below(kinds.len()));
                (kind, *random.pick(&["=r", "+r", "=&r", "+&r"]))
            })
            .collect();
        let mut inputs = Vec::new();
        let mut is_tied = false;
        for _ in 0..=random.below(3) {
            let first_writes = outputs[0].1.starts_with('=');
            inputs.push(match random.below(6) {
                0 if first_writes && !is_tied => {
                    is_tied = true;
                    PlannedInput::Tied(0, random.below(10))
                }
                1 => PlannedInput::Constant(*random.pick(&EDGES)),
                _ => PlannedInput::Word(random.below(10)),
            });
        }
        if !inputs.iter().any(|it| matches!(it, PlannedInput::Word(_))) {
            inputs.push(PlannedInput::Word(random.below(10)));
        }
        let mut plan = Plan { outputs, inputs, steps: Vec::new(), text: String::new() };
        plan.steps(random, pool);
        plan.write(random);
        plan
    }

    /// The number of variables that are operands; two local variables follow them.
    fn operands(&self) -> usize {
        self.outputs.len() + self.inputs.len()
    }

    /// The variable of an operand: a tied input uses the variable of its output.
    fn variable(&self, operand: usize) -> usize {
        match operand.checked_sub(self.outputs.len()).and_then(|at| self.inputs.get(at)) {
            Some(PlannedInput::Tied(output, _)) => *output,
            _ => operand,
        }
    }

    fn steps(&mut self, random: &mut Random, pool: &[(bool, String)]) {
        let all = self.operands() + 2;
        let mut has_value = vec![false; all];
        for operand in 0..self.operands() {
            let is_given =
                operand >= self.outputs.len() || self.outputs[operand].1.starts_with('+');
            has_value[self.variable(operand)] |= is_given;
        }
        let mut unwritten: Vec<usize> =
            (0..self.outputs.len()).filter(|it| !has_value[*it]).collect();
        let more = random.below(3);
        for at in 0..unwritten.len().max(1) + more {
            let destination = match () {
                () if at >= more && !unwritten.is_empty() => unwritten.remove(0),
                () if random.one_in(2) => self.operands() + random.below(2),
                () => random.below(self.outputs.len()),
            };
            let (is_scalar, text) = random.pick(pool);
            let (head, operands) = text.trim_end_matches(';').split_once(' ').unwrap();
            let mut sources = [None; 3];
            let mut pieces = Vec::new();
            for piece in operands.split(", ") {
                let letter =
                    piece.find(['a', 'b', 'c', 'd']).filter(|&at| !piece.contains('x') || at == 0);
                let Some(letter) = letter else {
                    pieces.push(piece.to_string());
                    continue;
                };
                let number = match &piece[letter..=letter] {
                    "d" => {
                        pieces.push(format!("@{destination}@{}", &piece[letter + 1..]));
                        continue;
                    }
                    "a" => 0,
                    "b" => 1,
                    _ => 2,
                };
                let takes_constant = *is_scalar && piece.len() == 1;
                let is_constant = |variable: usize| {
                    let input = variable.checked_sub(self.outputs.len());
                    let input = input.and_then(|at| self.inputs.get(at));
                    matches!(input, Some(PlannedInput::Constant(_)))
                };
                let fit = |it: &usize| has_value[*it] && (takes_constant || !is_constant(*it));
                let fitting: Vec<usize> = (0..all).filter(fit).collect();
                let chosen = *random.pick(&fitting);
                sources[number] = Some(chosen);
                let (sign, selector) = (&piece[..letter], &piece[letter + 1..]);
                pieces.push(format!("{sign}@{chosen}@{selector}"));
            }
            has_value[destination] = true;
            unwritten.retain(|it| *it != destination);
            let text = format!("{head} {};", pieces.join(", "));
            self.steps.push(Step { text, destination, sources });
        }
        // Gives a value to each output that no instruction has written.
        while let Some(output) = unwritten.pop() {
            let source = (0..all).find(|it| has_value[*it] && *it >= self.outputs.len()).unwrap();
            let text = format!("vadd.u32.u32.u32 @{output}@, @{source}@, 1;");
            self.steps.push(Step {
                text,
                destination: output,
                sources: [Some(source), None, None],
            });
        }
    }

    /// Writes the C statement.
    fn write(&mut self, random: &mut Random) {
        let is_named = random.one_in(3);
        let reference = |operand: usize| {
            if is_named { format!("%[n{operand}]") } else { format!("%{operand}") }
        };
        let count = self.operands();
        let mut ptx: Vec<String> = vec!["{ ".into(), ".reg .u32 t0; .reg .b32 t1; ".into()];
        for step in &self.steps {
            let mut text = step.text.clone();
            for variable in 0..count {
                text = text.replace(&format!("@{variable}@"), &reference(variable));
            }
            for local in 0..2 {
                text = text.replace(&format!("@{}@", count + local), &format!("t{local}"));
            }
            let end = *random.pick(&["\\n\\t", " ", "// note\\n", " /* note */ "]);
            ptx.push(text + end);
        }
        ptx.push("}".into());
        let between = *random.pick(&["\n        ", " ", " /* between */ ", " // between\n"]);
        let literals: Vec<String> = ptx.iter().map(|it| format!("\"{it}\"")).collect();
        let named = |at: usize| if is_named { format!("[n{at}] ") } else { String::new() };
        let mut state = State::new([0; 3]);
        let mut outputs = Vec::new();
        for (at, (kind, constraint)) in self.outputs.iter().enumerate() {
            let (text, _) = output(*kind, &mut state);
            outputs.push(format!("{}\"{constraint}\"({text})", named(at)));
        }
        let mut inputs = Vec::new();
        for (at, planned) in self.inputs.iter().enumerate() {
            let name = named(self.outputs.len() + at);
            inputs.push(match planned {
                PlannedInput::Word(kind) => {
                    format!("{name}\"r\"({})", input(*kind, &mut state).0)
                }
                PlannedInput::Tied(output, kind) => {
                    format!("{name}\"{output}\"({})", input(*kind, &mut state).0)
                }
                PlannedInput::Constant(value) => format!("{name}\"n\"({value}u)"),
            });
        }
        let keyword = *random.pick(&["__asm__", "__asm__ volatile", "__asm__ __volatile__"]);
        self.text = format!(
            "{keyword}({} : {} : {})",
            literals.join(between),
            outputs.join(", "),
            inputs.join(", ")
        );
    }

    /// The result of a function that contains the statement.
    fn result(&self, words: [u32; 3]) -> u32 {
        let mut state = State::new(words);
        let mut values = vec![0; self.operands() + 2];
        let mut places = Vec::new();
        for (at, (kind, _)) in self.outputs.iter().enumerate() {
            let (_, place) = output(*kind, &mut state);
            values[at] = state.places[place];
            places.push(place);
        }
        for (at, planned) in self.inputs.iter().enumerate() {
            let at = self.variable(self.outputs.len() + at);
            values[at] = match planned {
                PlannedInput::Word(kind) | PlannedInput::Tied(_, kind) => {
                    input(*kind, &mut state).1
                }
                PlannedInput::Constant(value) => *value,
            };
        }
        for step in &self.steps {
            let words = step.sources.map(|it| it.map_or(0, |it| values[it]));
            // `@3@` stands for a variable, whose name does not matter.
            let mut parts = step.text.split('@');
            let mut text = parts.next().unwrap_or_default().to_string();
            while let (Some(number), Some(rest)) = (parts.next(), parts.next()) {
                let _ = write!(text, "%v{number}{rest}");
            }
            values[step.destination] = eval(&text, words);
        }
        for (value, place) in values.iter().zip(places) {
            state.places[place] = *value;
        }
        state.result()
    }
}

#[test]
#[ignore = "needs C compilers"]
fn random_statements_compute_what_they_did() {
    let mut random = Random(setting("VPTX_C_SEED", 1));
    let count = setting("VPTX_PORT_STATEMENTS", 300) as usize;
    let mut pool = Vec::new();
    for (form, mnemonic) in rows() {
        let texts = texts(form, mnemonic);
        let is_scalar = form.sources == Sources::Scalar;
        let some = (0..12).map(|_| (is_scalar, random.pick(&texts).clone()));
        pool.extend(some.collect::<Vec<_>>());
    }
    let mut source = String::from(
        "#include <stdint.h>\n#include <stdio.h>\n\
         static uint32_t next(uint32_t *s) { return *s = *s * 5 + 1; }\n",
    );
    let plans: Vec<Plan> = (0..count).map(|_| Plan::new(&mut random, &pool)).collect();
    for (at, plan) in plans.iter().enumerate() {
        // Some statements are the body of an `if` without braces.
        let (before, after) =
            if at % 3 == 0 { ("if (a == a + 0) ", " else s = 0;") } else { ("", "") };
        let _ = writeln!(
            source,
            "static uint32_t f{at}(uint32_t a, uint32_t b, uint32_t c)\n{{\n{BEFORE}    \
             {before}{};{after}\n{AFTER}}}",
            plan.text
        );
    }
    let mut header = Header::new(Semantics::CURRENT);
    let ported = port(&source, HEADER, &mut header);
    assert_eq!(ported.left, []);
    assert_eq!(ported.replaced, count);
    let mut text = ported.text(&source);
    text += &program((0..count).map(|at| format!("f{at}")));
    let (mut rows, mut expected) = (Vec::new(), Vec::new());
    for (at, plan) in plans.iter().enumerate() {
        for _ in 0..12 {
            let words = [(); 3].map(|()| word(&mut random));
            rows.push([at as u32, words[0], words[1], words[2]]);
            expected.push(plan.result(words));
        }
    }
    let folder = Folder::new("random");
    fs::write(folder.0.join(HEADER), header.to_string()).unwrap();
    for compiler in [compilers(true), compilers(false)].concat() {
        compare(&folder.0, &compiler, &text, &rows, &expected);
        println!("{compiler}: {count} statements, {} results", rows.len());
    }
    // The test notices a wrong operand.
    let words = ["gcc", "-std=c99", "-O0"];
    let mutated = text.replacen("(vptx_u32)(a)", "(vptx_u32)(a + 1)", 40);
    assert_ne!(mutated, text);
    assert_ne!(results(&folder.0, &words, &mutated, &rows), expected);
}
