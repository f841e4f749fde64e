//! Warnings where ptxas computes something else than the manual says.

use std::collections::HashMap;

use crate::ast::{Instruction, MadMode, MultiplyAdd, Operand, Operation, Register, Source, Tail};
use crate::diagnostic::Diagnostic;
use crate::ir::{Agreement, Semantics, Witness};
use crate::isa::{Part, SecondaryOp};
use crate::lint::Code;
use crate::source::Span;

/// Witnesses by form, so that a module's thousand like instructions are
/// compared once.
#[derive(Debug, Default)]
pub(super) struct Divergences {
    known: HashMap<Operation, Option<(Semantics, Witness)>>,
}

impl Divergences {
    /// The finding on an instruction, whose opcode and modifiers stand at
    /// `span`.
    pub(super) fn find(&mut self, instruction: &Instruction, span: Span) -> Option<Diagnostic> {
        let form = anonymous(instruction)?;
        let found = self.known.entry(form).or_insert_with_key(|form| {
            let form = Instruction::new(form.clone());
            // Today's assembler first.
            [Semantics::Ptxas13, Semantics::Ptxas12].into_iter().find_map(|semantics| {
                match form.agreement(semantics) {
                    Agreement::Differs(witness) => Some((semantics, witness)),
                    Agreement::Proven | Agreement::Unknown => None,
                }
            })
        });
        let (semantics, witness) = found.as_ref()?;
        Some(diagnostic(instruction, *semantics, witness, span))
    }
}

fn diagnostic(
    instruction: &Instruction,
    semantics: Semantics,
    witness: &Witness,
    span: Span,
) -> Diagnostic {
    let (code, who, column) = match semantics {
        Semantics::Ptxas12 => (Code::V502, "the code of ptxas 11 and 12", "ptxas 12"),
        _ => (Code::V501, "the code of ptxas", "ptxas 13"),
    };
    let program = instruction.lower(Semantics::Manual);
    let inputs = [("a", witness.a), ("b", witness.b), ("c", witness.c)];
    let inputs: Vec<String> = crate::ir::Input::ALL
        .into_iter()
        .zip(inputs)
        .filter(|(input, _)| program.reads(*input))
        .map(|(_, (name, value))| format!("{name}=0x{value:08x}"))
        .collect();
    let causes: Vec<&str> = witness.causes.iter().map(|cause| cause.text()).collect();
    let titles: Vec<String> =
        witness.causes.iter().map(|cause| format!("{cause}: {}", cause.title())).collect();
    Diagnostic::new(
        code,
        span,
        format!("{who} can give another result than the manual ({})", causes.join(", ")),
    )
    .label("results can differ")
    .help(format!(
        "{}\n→ manual 0x{:08x}, {column} 0x{:08x}\n{}",
        inputs.join(", "),
        witness.manual,
        witness.ptxas,
        titles.join("\n"),
    ))
}

/// The operation without the names of its registers (the same for the same), if it is of a kind in
/// which results can differ at all.
fn anonymous(instruction: &Instruction) -> Option<Operation> {
    let operation = &instruction.operation;
    let sources = instruction.sources();
    let named = |at: usize| {
        let first = (0..at).find(|&first| sources[first] == sources[at]).unwrap_or(at);
        ["a", "b", "c"][first]
    };
    let mut form = match operation {
        Operation::Arithmetic(it) if it.saturate || tail_differs(&it.tail) => operation.clone(),
        Operation::Shift(it) if it.saturate || tail_differs(&it.tail) => operation.clone(),
        Operation::Set(it) if tail_differs(&it.tail) => operation.clone(),
        Operation::MultiplyAdd(it) => {
            let mut parts = it.parts();
            if !parts.saturate && parts.scale.is_none() {
                return None;
            }
            parts.d = name("d")?;
            unname_source(&mut parts.a, named(0))?;
            unname_source(&mut parts.b, named(1))?;
            unname(&mut parts.c, named(2))?;
            // Either way of writing it negates the product.
            if parts.mode == MadMode::NegateB && matches!(parts.a, Source::Register { .. }) {
                parts.mode = MadMode::NegateA;
            }
            return MultiplyAdd::new(parts).map(Operation::MultiplyAdd);
        }
        _ => return None,
    };
    let (d, a, b, tail) = match &mut form {
        Operation::Arithmetic(it) => (&mut it.d, &mut it.a, &mut it.b, &mut it.tail),
        Operation::Shift(it) => (&mut it.d, &mut it.a, &mut it.b, &mut it.tail),
        Operation::Set(it) => (&mut it.d, &mut it.a, &mut it.b, &mut it.tail),
        _ => return None,
    };
    *d = name("d")?;
    unname_source(a, named(0))?;
    unname_source(b, named(1))?;
    match tail {
        Tail::Word => {}
        Tail::Secondary { c, .. } | Tail::Merge { c, .. } => unname(c, named(2))?,
    }
    Some(form)
}

fn tail_differs(tail: &Tail) -> bool {
    match tail {
        Tail::Word => false,
        Tail::Secondary { op, .. } => *op != SecondaryOp::Add,
        Tail::Merge { part, .. } => *part == Part::H1,
    }
}

fn name(text: &str) -> Option<Register> {
    Register::new(text)
}

fn unname_source(source: &mut Source, text: &str) -> Option<()> {
    if let Source::Register { register, .. } = source {
        *register = name(text)?;
    }
    Some(())
}

fn unname(operand: &mut Operand, text: &str) -> Option<()> {
    if let Operand::Register(register) = operand {
        *register = name(text)?;
    }
    Some(())
}
