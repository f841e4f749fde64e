//! The front end of an emulator: it runs the first function of a file with one thread. It knows a
//! few ordinary opcodes, and computes all video instructions by their meaning in vptx.
//!
//! ```sh
//! cargo run --example emulate -- examples/emulate.ptx a=0x01020304 b=0x04030201
//! ```

use std::collections::HashMap;
use std::error::Error;

use vptx::Semantics;
use vptx::flow::Flow;
use vptx::names::Names;
use vptx::syntax::{self, Instruction, Operand, OperandKind, Statement};

/// The registers of a thread, by their names.
pub(crate) struct Thread<'t> {
    source: &'t str,
    pub(crate) words: HashMap<String, u32>,
    predicates: HashMap<String, bool>,
}

impl<'t> Thread<'t> {
    /// Runs a function. `words` are the initial values of registers.
    pub(crate) fn run(
        flow: &Flow<'t>,
        words: HashMap<String, u32>,
    ) -> Result<Thread<'t>, Box<dyn Error>> {
        let source = flow.function().statement().tree().source();
        let mut thread = Thread { source, words, predicates: HashMap::new() };
        let mut next = Some(0);
        while let Some(number) = next {
            let block = &flow.blocks()[number];
            next = block.successors.first().copied();
            for at in block.instructions.clone() {
                let instruction = flow.instruction(at);
                if !thread.executes(&instruction) {
                    continue;
                }
                match instruction.mnemonic().text(source) {
                    "ret" => next = None,
                    // The target of the branch is the last successor; the block that follows in the
                    // text is the first.
                    "bra" if !flow.is_opaque() => next = block.successors.last().copied(),
                    _ => thread.step(flow.statements()[at], &instruction)?,
                }
            }
        }
        Ok(thread)
    }

    /// Whether the guard lets an instruction execute.
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
            // A register takes the low half of a constant.
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
    let names = Names::of(&tree);
    let flow = tree.functions().find_map(|it| Flow::of(&it, &names)).ok_or("no function")?;
    let thread = Thread::run(&flow, words)?;
    let mut left: Vec<_> = thread.words.iter().collect();
    left.sort();
    for (register, word) in left {
        println!("{register} = {word:#010x}");
    }
    Ok(())
}
