//! A small interpreter of PTX, which runs one thread of a kernel. It knows the instructions that
//! occur in the kernels of `fixtures/kernels`, before and after rewriting. From the library it
//! takes only the meaning of video instructions.

mod ordinary;

use std::collections::HashMap;

use vptx::Instruction;
use vptx::ir::Program;
use vptx::video::Semantics;

use ordinary::Function;

/// The address of the first word of memory.
const BASE: u64 = 0x7_0000_1000;
/// A kernel that takes more steps is considered endless.
const MOST_STEPS: usize = 100_000;

/// The address of a word of memory.
pub(crate) fn address(word: usize) -> u64 {
    BASE + 4 * word as u64
}

/// A kernel that can be run.
pub(crate) struct Kernel {
    steps: Vec<Step>,
    registers: usize,
}

struct Step {
    /// The register of a predicate, and the value with which the step is executed.
    guard: Option<(usize, bool)>,
    action: Action,
}

enum Action {
    Compute {
        function: Function,
        to: usize,
        from: Vec<Operand>,
    },
    Video {
        program: Program,
        to: usize,
        from: [Operand; 3],
    },
    /// The operands' bits are concatenated and then split among the registers.
    Move {
        bits: usize,
        to: Vec<Option<usize>>,
        from: Vec<Operand>,
    },
    Parameter {
        to: usize,
        number: usize,
    },
    Load {
        to: Vec<Option<usize>>,
        from: Place,
    },
    Store {
        to: Place,
        from: Vec<Operand>,
    },
    Branch(usize),
    Return,
}

#[derive(Clone, Copy)]
enum Operand {
    Register(usize),
    Constant(u64),
}

struct Place {
    base: usize,
    offset: u64,
}

impl Kernel {
    /// Reads a kernel of a module. `semantics` tells the meaning of its video instructions.
    ///
    /// # Panics
    /// If the kernel has an instruction that the interpreter does not know.
    pub(crate) fn read(module: &str, name: &str, semantics: Semantics) -> Kernel {
        let text = without_comments(module);
        let (_, text) = text.split_once(&format!(".entry {name}(")).expect("the kernel is there");
        let (_, body) = text.split_once("\n{").expect("the kernel has a body");
        let mut reader = Reader::new(semantics);
        reader.body(body);
        for (step, label) in &reader.branches {
            reader.steps[*step].action = Action::Branch(reader.labels[label]);
        }
        Kernel { steps: reader.steps, registers: reader.registers }
    }

    /// Runs the kernel with the values of its parameters.
    ///
    /// # Panics
    /// If the kernel does not end, or accesses a word outside of `memory`.
    pub(crate) fn run(&self, parameters: &[u64], memory: &mut [u32]) {
        // Registers start with arbitrary values: code of nvcc reads some registers that nothing
        // writes, but no result depends on these values.
        let values = (1..=self.registers as u64).map(|at| at * 0x9e37_79b9).collect();
        let mut state = State { values, memory };
        let mut at = 0;
        for _ in 0..MOST_STEPS {
            let step = &self.steps[at];
            at += 1;
            if step.guard.is_some_and(|(it, wanted)| (state.values[it] != 0) != wanted) {
                continue;
            }
            match &step.action {
                Action::Branch(target) => at = *target,
                Action::Return => return,
                Action::Parameter { to, number } => state.values[*to] = parameters[*number],
                action => state.compute(action),
            }
        }
        panic!("the kernel does not end");
    }
}

struct State<'k> {
    /// The values of registers.
    values: Vec<u64>,
    memory: &'k mut [u32],
}

impl State<'_> {
    fn value(&self, operand: Operand) -> u64 {
        match operand {
            Operand::Register(number) => self.values[number],
            Operand::Constant(value) => value,
        }
    }

    /// The index of the word at an address.
    fn word(&self, place: &Place) -> usize {
        let address = self.values[place.base].wrapping_add(place.offset);
        let from_base = address.checked_sub(BASE).expect("the address is in memory");
        assert_eq!(from_base % 4, 0, "the address is that of a word");
        from_base as usize / 4
    }

    fn compute(&mut self, action: &Action) {
        match action {
            Action::Compute { function, to, from } => {
                let values: Vec<u64> = from.iter().map(|&it| self.value(it)).collect();
                self.values[*to] = function(&values);
            }
            Action::Video { program, to, from } => {
                let [a, b, c] = from.map(|it| self.value(it) as u32);
                self.values[*to] = program.eval(a, b, c).into();
            }
            Action::Move { bits, to, from } => {
                let [each, own] = [from.len(), to.len()].map(|count| bits / count);
                let whole = from.iter().enumerate().fold(0, |whole, (at, &it)| {
                    whole | low_bits(self.value(it), each) << (at * each)
                });
                for (at, to) in to.iter().enumerate() {
                    if let Some(to) = to {
                        self.values[*to] = low_bits(whole >> (at * own), own);
                    }
                }
            }
            Action::Load { to, from } => {
                let start = self.word(from);
                for (at, to) in to.iter().enumerate() {
                    let to = to.expect("a register is loaded");
                    self.values[to] = self.memory[start + at].into();
                }
            }
            Action::Store { to, from } => {
                let start = self.word(to);
                for (at, &from) in from.iter().enumerate() {
                    self.memory[start + at] = self.value(from) as u32;
                }
            }
            Action::Parameter { .. } | Action::Branch(_) | Action::Return => {}
        }
    }
}

fn low_bits(value: u64, bits: usize) -> u64 {
    value & u64::MAX >> (64 - bits)
}

/// A text without its `//` comments; nvcc writes no other comments.
fn without_comments(text: &str) -> String {
    let lines = text.lines().map(|line| line.split("//").next().unwrap_or_default().trim());
    lines.collect::<Vec<_>>().join("\n")
}

struct Reader {
    semantics: Semantics,
    steps: Vec<Step>,
    labels: HashMap<String, usize>,
    /// The numbers of the steps that are branches, and their labels.
    branches: Vec<(usize, String)>,
    /// The registers of each open block.
    scopes: Vec<HashMap<String, usize>>,
    registers: usize,
}

impl Reader {
    fn new(semantics: Semantics) -> Reader {
        Reader {
            semantics,
            steps: Vec::new(),
            labels: HashMap::new(),
            branches: Vec::new(),
            scopes: vec![HashMap::new()],
            registers: 0,
        }
    }

    /// Reads to the end of a kernel.
    fn body(&mut self, mut text: &str) {
        while !self.scopes.is_empty() {
            text = text.trim_start();
            if let Some(rest) = text.strip_prefix('{') {
                self.scopes.push(HashMap::new());
                text = rest;
            } else if let Some(rest) = text.strip_prefix('}') {
                self.scopes.pop();
                text = rest;
            } else if let Some((label, rest)) = label(text) {
                self.labels.insert(label.into(), self.steps.len());
                text = rest;
            } else {
                let (statement, rest) = text.split_once(';').expect("a statement ends");
                self.statement(statement.trim());
                text = rest;
            }
        }
    }

    fn statement(&mut self, text: &str) {
        if let Some(declaration) = text.strip_prefix(".reg ") {
            self.declare(declaration);
        } else if text.starts_with('.') {
            assert!(text.starts_with(".pragma"), "an unknown directive: {text}");
        } else {
            let (guard, text) = self.guard(text);
            let action = self.action(text);
            self.steps.push(Step { guard, action });
        }
    }

    /// Declares registers, as in `.b32 %r<4>` and `.s32 a, b`.
    fn declare(&mut self, declaration: &str) {
        let (_, names) = declaration.split_once(char::is_whitespace).expect("a type and names");
        let scope = self.scopes.last_mut().expect("a block is open");
        for name in names.split(',').map(str::trim) {
            let declared = match name.trim_end_matches('>').split_once('<') {
                Some((base, count)) => {
                    let count: usize = count.parse().expect("a number of registers");
                    (0..count).map(|number| format!("{base}{number}")).collect()
                }
                None => vec![name.to_owned()],
            };
            for name in declared {
                scope.insert(name, self.registers);
                self.registers += 1;
            }
        }
    }

    fn guard<'t>(&self, text: &'t str) -> (Option<(usize, bool)>, &'t str) {
        let Some(guarded) = text.strip_prefix('@') else { return (None, text) };
        let (predicate, rest) = guarded.split_once(char::is_whitespace).expect("an instruction");
        let name = predicate.trim_start_matches('!');
        (Some((self.register(name), name == predicate)), rest.trim_start())
    }

    fn action(&mut self, text: &str) -> Action {
        let (opcode, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        let operands = operands(rest);
        let parts: Vec<&str> = opcode.split('.').collect();
        match parts[..] {
            ["ret"] => Action::Return,
            ["bra", ..] => {
                self.branches.push((self.steps.len(), operands[0].into()));
                Action::Return
            }
            ["ld", "param", _] => {
                let (_, number) = operands[1].rsplit_once('_').expect("a parameter has a number");
                let number = number.trim_end_matches(']').parse().expect("a number");
                Action::Parameter { to: self.register(operands[0]), number }
            }
            ["ld", "global", .., ty] => {
                assert_eq!(width(ty), 32, "{text}");
                Action::Load { to: self.destinations(operands[0]), from: self.place(operands[1]) }
            }
            ["st", "global", .., ty] => {
                assert_eq!(width(ty), 32, "{text}");
                Action::Store { to: self.place(operands[0]), from: self.sources(operands[1]) }
            }
            ["mov", ty] => Action::Move {
                bits: width(ty),
                to: self.destinations(operands[0]),
                from: self.sources(operands[1]),
            },
            _ if opcode.starts_with('v') => self.video(&format!("{text};")),
            _ => Action::Compute {
                function: ordinary::function(&parts)
                    .unwrap_or_else(|| panic!("an unknown instruction: {text}")),
                to: self.register(operands[0]),
                from: operands[1..].iter().map(|it| self.source(it)).collect(),
            },
        }
    }

    fn video(&self, text: &str) -> Action {
        let instruction: Instruction = text.parse().expect("a legal instruction");
        let source = |it: Option<&vptx::video::Register>| {
            it.map_or(Operand::Constant(0), |it| self.source(it.name()))
        };
        Action::Video {
            program: instruction.lower(self.semantics),
            to: self.register(instruction.destination().name()),
            from: instruction.sources().map(source),
        }
    }

    fn register(&self, name: &str) -> usize {
        let found = self.scopes.iter().rev().find_map(|scope| scope.get(name));
        *found.unwrap_or_else(|| panic!("no register has the name {name}"))
    }

    fn source(&self, text: &str) -> Operand {
        match text {
            "%tid.x" | "%ctaid.x" => Operand::Constant(0),
            "%ntid.x" => Operand::Constant(1),
            _ if text.starts_with(|it: char| it.is_ascii_digit() || it == '-') => {
                Operand::Constant(constant(text))
            }
            _ => Operand::Register(self.register(text)),
        }
    }

    /// A register, or several in braces.
    fn destinations(&self, text: &str) -> Vec<Option<usize>> {
        elements(text).map(|name| (name != "_").then(|| self.register(name))).collect()
    }

    /// A source, or several in braces.
    fn sources(&self, text: &str) -> Vec<Operand> {
        elements(text).map(|it| self.source(it)).collect()
    }

    /// An address, as in `[%rd1+4]`.
    fn place(&self, text: &str) -> Place {
        let inner = text.trim_matches(['[', ']']);
        let (base, offset) = inner.split_once('+').unwrap_or((inner, "0"));
        Place { base: self.register(base), offset: constant(offset) }
    }
}

/// The label at the start of a text, and the text after the label.
fn label(text: &str) -> Option<(&str, &str)> {
    let is_other = |it: char| !it.is_alphanumeric() && it != '_' && it != '$';
    let end = text.find(is_other).filter(|&end| end > 0)?;
    Some((&text[..end], text[end..].strip_prefix(':')?))
}

/// The operands of an instruction; elements in braces stay together.
fn operands(text: &str) -> Vec<&str> {
    let mut is_inside = false;
    let parts = text.split(move |it: char| {
        is_inside = it == '{' || is_inside && it != '}';
        it == ',' && !is_inside
    });
    parts.map(str::trim).filter(|it| !it.is_empty()).collect()
}

fn elements(text: &str) -> impl Iterator<Item = &str> {
    text.trim_matches(['{', '}']).split(',').map(str::trim)
}

fn constant(text: &str) -> u64 {
    let value = match text.trim_end_matches('U').strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok().map(i64::cast_unsigned),
    };
    value.unwrap_or_else(|| panic!("no integer: {text}"))
}

/// The number of bits of a type such as `u32`.
fn width(ty: &str) -> usize {
    ty[1..].parse().unwrap_or_else(|_| panic!("an unknown type: {ty}"))
}
