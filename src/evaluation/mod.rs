//! One instruction on one set of inputs, for people: results, steps, and how ptxas differs.

mod show;
mod values;

use std::io::{self, Write};

pub(crate) use values::{Registers, word, words};

use crate::explain;
use crate::ir::Program;
use crate::video::{Instruction, Semantics};

/// An instruction with the words that its sources hold.
pub(crate) struct Evaluation<'i> {
    pub(crate) instruction: &'i Instruction,
    pub(crate) semantics: &'i [Semantics],
    pub(crate) words: [u32; 3],
    /// Whether each step is shown.
    pub(crate) trace: bool,
    pub(crate) unicode: bool,
}

/// Semantics that are shown as one.
struct SemanticsGroup {
    names: Vec<&'static str>,
    program: Program,
    d: u32,
}

impl Evaluation<'_> {
    pub(crate) fn write(&self, text: &mut impl Write) -> io::Result<()> {
        let &Evaluation { instruction, semantics, words: [a, b, c], trace, unicode } = self;
        let registers = Registers::of(instruction);
        let mut groups: Vec<SemanticsGroup> = Vec::new();
        for &own in semantics {
            let program = instruction.lower(own);
            let d = program.eval(a, b, c);
            let same = groups
                .iter_mut()
                .find(|group| group.d == d && (!trace || group.program == program));
            match same {
                Some(group) => group.names.push(own.text()),
                None => groups.push(SemanticsGroup { names: vec![own.text()], program, d }),
            }
        }
        writeln!(text, "{instruction}")?;
        if let Some(guard) = &instruction.guard {
            let not = if guard.negated { "!" } else { "" };
            writeln!(text, "guard @{not}{} is assumed to be true", guard.predicate)?;
        }
        let parts = show::parts(instruction, &registers);
        for SemanticsGroup { names, program, d } in groups {
            writeln!(text, "\n{}:", names.join(", "))?;
            if trace {
                for line in explain::parts(instruction, &program, Some([a, b, c]), unicode) {
                    writeln!(text, "  {line}")?;
                }
                show::trace(text, &program, [a, b, c], unicode)?;
            }
            show::result(text, &registers.d, d, &parts)?;
        }
        if let [asked] = semantics {
            show::others(text, instruction, *asked, [a, b, c])
        } else {
            writeln!(text)?;
            show::agreement(text, instruction, &registers, [a, b, c], unicode)
        }
    }
}
