//! The front end of an emulator: runs the first function of a file, one thread of it. It knows a
//! few ordinary opcodes, and all video instructions by way of their meaning in vptx.
//!
//! ```sh
//! cargo run --example emulate -- examples/emulate.ptx a=0x01020304 b=0x04030201
//! ```

use std::collections::HashMap;
use std::error::Error;

use vptx::Semantics;
use vptx::syntax::{self, Function, Instruction, Operand, OperandKind, Statement, StatementKind};

/// A basic block: nothing jumps into it or out of it but at its ends.
pub(crate) struct Block<'t> {
    pub(crate) labels: Vec<&'t str>,
    pub(crate) instructions: Vec<Statement<'t>>,
}

/// The basic blocks of a function, in the order of the text.
pub(crate) fn blocks<'t>(function: &Function<'t>) -> Vec<Block<'t>> {
    let source = function.statement().tree().source();
    let empty = || Block { labels: Vec::new(), instructions: Vec::new() };
    let mut blocks = vec![empty()];
    let mut is_ended = false;
    for statement in function.statements() {
        let is_label = matches!(statement.kind(), StatementKind::Label(_));
        let last = blocks.last().expect("one is there");
        if is_ended || is_label && !last.instructions.is_empty() {
            blocks.push(empty());
            is_ended = false;
        }
        let block = blocks.last_mut().expect("one is there");
        match statement.kind() {
            StatementKind::Label(name) => block.labels.push(name.text(source)),
            StatementKind::Instruction(it) => {
                block.instructions.push(statement);
                is_ended = matches!(it.mnemonic().text(source), "bra" | "ret");
            }
            _ => {}
        }
    }
    blocks
}

/// The registers of a thread, by their names.
pub(crate) struct Thread<'t> {
    source: &'t str,
    pub(crate) words: HashMap<String, u32>,
    predicates: HashMap<String, bool>,
}

impl<'t> Thread<'t> {
    /// Runs a function. The words are in its registers from the start.
    pub(crate) fn run(
        function: &Function<'t>,
        words: HashMap<String, u32>,
    ) -> Result<Thread<'t>, Box<dyn Error>> {
        let source = function.statement().tree().source();
        let mut thread = Thread { source, words, predicates: HashMap::new() };
        let blocks = blocks(function);
        let mut next = 0;
        'blocks: while let Some(block) = blocks.get(next) {
            next += 1;
            for statement in &block.instructions {
                let StatementKind::Instruction(it) = statement.kind() else { continue };
                if !thread.executes(&it) {
                    continue;
                }
                match it.mnemonic().text(source) {
                    "ret" => break 'blocks,
                    "bra" => {
                        let target = it.operands().next().ok_or("bra needs a label")?;
                        let jumps = |block: &Block<'_>| block.labels.contains(&target.text());
                        next = blocks.iter().position(jumps).ok_or("an unknown label")?;
                    }
                    _ => thread.step(*statement, &it)?,
                }
            }
        }
        Ok(thread)
    }

    /// Whether the guard lets an instruction run.
    fn executes(&self, instruction: &Instruction<'_>) -> bool {
        instruction.guard().is_none_or(|guard| {
            let predicate = self.predicates.get(guard.name.text(self.source));
            predicate.copied().unwrap_or_default() != guard.negated
        })
    }

    fn step(
        &mut self,
        statement: Statement<'t>,
        instruction: &Instruction<'t>,
    ) -> Result<(), Box<dyn Error>> {
        if let Some(checked) = statement.video() {
            let video = checked.map_err(|errors| errors[0].to_string())?.instruction;
            let word = |name: Option<String>| name.map_or(0, |name| self.word(&name));
            let [a, b, c] = video.sources().map(|it| word(it.map(ToString::to_string)));
            let d = video.lower(Semantics::CURRENT).eval(a, b, c);
            self.words.insert(video.destination().to_string(), d);
            return Ok(());
        }
        let opcode = instruction.opcode().text(self.source);
        let operands: Vec<_> = instruction.operands().collect();
        let [d, sources @ ..] = &operands[..] else { return Err("no operands".into()) };
        let sources: Vec<u32> =
            sources.iter().map(|it| self.value(it)).collect::<Result<_, _>>()?;
        match (opcode, &sources[..]) {
            ("mov.u32" | "mov.b32", &[a]) => self.set(d, a),
            ("add.u32" | "add.s32", &[a, b]) => self.set(d, a.wrapping_add(b)),
            ("sub.u32" | "sub.s32", &[a, b]) => self.set(d, a.wrapping_sub(b)),
            ("setp.lt.u32", &[a, b]) => {
                self.predicates.insert(d.text().to_string(), a < b);
            }
            _ => return Err(format!("unknown: {}", statement.text()).into()),
        }
        Ok(())
    }

    fn word(&self, name: &str) -> u32 {
        self.words.get(name).copied().unwrap_or_default()
    }

    fn set(&mut self, operand: &Operand<'_>, word: u32) {
        self.words.insert(operand.text().to_string(), word);
    }

    fn value(&self, operand: &Operand<'_>) -> Result<u32, Box<dyn Error>> {
        match operand.kind() {
            OperandKind::Name(name) => Ok(self.word(name.text(self.source))),
            // A register holds the low half of a constant.
            OperandKind::Constant(Ok(it)) => Ok(it.bits().ok_or("no integer")? as u32),
            _ => Err(format!("unknown operand: {}", operand.text()).into()),
        }
    }
}

/// A number such as `12` or `0x1f`.
fn number(text: &str) -> Result<u32, std::num::ParseIntError> {
    match text.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16),
        None => text.parse(),
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or("usage: emulate FILE [REGISTER=WORD]...")?;
    let source = std::fs::read_to_string(&path)?;
    let mut words = HashMap::new();
    for argument in arguments {
        let (register, word) = argument.split_once('=').ok_or("write REGISTER=WORD")?;
        words.insert(register.to_string(), number(word)?);
    }
    let tree = syntax::parse(&source);
    if let Some(error) = tree.errors().first() {
        return Err(error.to_string().into());
    }
    let function = tree.functions().find(|it| it.body().is_some()).ok_or("no function")?;
    let thread = Thread::run(&function, words)?;
    let mut left: Vec<_> = thread.words.iter().collect();
    left.sort();
    for (register, word) in left {
        println!("{register} = {word:#010x}");
    }
    Ok(())
}
