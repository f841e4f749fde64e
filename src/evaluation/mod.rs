//! One instruction on one set of inputs, for people: results, steps, and how ptxas differs.

mod record;
mod show;
mod values;

use std::io::{self, Write};

pub(crate) use record::Failure;
pub use record::Record;
pub(crate) use values::word;
pub use values::{Registers, words};

use crate::explain;
use crate::ir::Program;
use crate::video::{Instruction, Semantics};

/// An instruction with the words that its sources hold.
pub struct Evaluation<'i> {
    /// The instruction.
    pub instruction: &'i Instruction,
    /// The semantics to show.
    pub semantics: &'i [Semantics],
    /// The words of `a`, `b` and `c`.
    pub words: [u32; 3],
    /// Whether each step is shown.
    pub trace: bool,
    /// Whether characters outside of ASCII are used.
    pub unicode: bool,
}

/// Semantics that are shown as one.
struct SemanticsGroup {
    names: Vec<&'static str>,
    program: Program,
    d: u32,
}

impl Evaluation<'_> {
    /// Writes the page.
    ///
    /// # Errors
    /// An error in writing.
    pub fn write(&self, text: &mut impl Write) -> io::Result<()> {
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
