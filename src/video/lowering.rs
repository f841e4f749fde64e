//! Lowers validated instructions to programs: the parts that all families share.

use super::Deviation;
use super::deviation::Deviations;
use super::operand::{Operand, Source};
use super::{Instruction, Semantics};
use crate::ir::{Builder, Input, Op, Program, Range, Stage, Value};
use crate::isa::{Part, SecondaryOp, Type};

impl Instruction {
    /// The program that computes the new value of `d` under one semantics. It leaves out the
    /// guard, which decides whether `d` is written at all. Its inputs are the operands `a`, `b`
    /// and `c`, whatever their names are. Constants are part of the program.
    pub fn lower(&self, semantics: Semantics) -> Program {
        self.lower_with(semantics.deviations())
    }

    /// The different programs under several semantics, each with the names of its semantics:
    /// `ptxas-12, ptxas-13`.
    pub(crate) fn meanings(&self, semantics: &[Semantics]) -> Vec<(String, Program)> {
        let mut meanings: Vec<(String, Program)> = Vec::new();
        for own in semantics {
            let program = self.lower(*own);
            match meanings.iter_mut().find(|(_, other)| *other == program) {
                Some((names, _)) => names.extend([", ", own.text()]),
                None => meanings.push((own.text().into(), program)),
            }
        }
        meanings
    }

    /// Whether the instruction means the same under this semantics and under the newest ptxas.
    pub(crate) fn is_current(&self, semantics: Semantics) -> bool {
        semantics == Semantics::CURRENT || self.lower(semantics) == self.lower(Semantics::CURRENT)
    }

    /// The semantics under which the instruction means something else than under this one.
    pub(crate) fn differs(&self, semantics: Semantics) -> Vec<Semantics> {
        let program = self.lower(semantics);
        Semantics::ALL.into_iter().filter(|other| self.lower(*other) != program).collect()
    }

    pub(super) fn lower_with(&self, deviations: Deviations) -> Program {
        let mut lowering = Lowering { builder: Builder::new(), deviations };
        let result = self.operation.body().lower(&mut lowering);
        lowering.builder.finish(result)
    }
}

/// A program in the making, with some deviations from the manual.
pub(super) struct Lowering {
    pub(super) builder: Builder,
    deviations: Deviations,
}

/// The range of a destination: signed or unsigned, whole or a part.
pub(super) fn destination_range(ty: Type, part: Option<Part>) -> Range {
    Range::bits(part.map_or(32, |part| part.width() as u8), ty == Type::S32)
}

impl Lowering {
    /// Whether to follow ptxas in this deviation.
    pub(super) fn has(&self, deviation: Deviation) -> bool {
        self.deviations.has(deviation)
    }

    /// A source, extracted and extended by its type.
    pub(super) fn source(&mut self, input: Input, source: &Source, ty: Type) -> Value {
        self.builder.stage(Stage::Extract);
        let signed = ty == Type::S32;
        match source {
            Source::Register { part, .. } => {
                let word = self.builder.input(input);
                let (low, width) = part.map_or((0, 32), |part| (part.shift(), part.width()));
                self.builder.extract(word, low as u8, width as u8, signed)
            }
            Source::Immediate(immediate) => {
                self.builder.constant(extend(immediate.value(), signed))
            }
        }
    }

    /// The third source, extended.
    pub(super) fn third(&mut self, c: &Operand, signed: bool) -> Value {
        match c {
            Operand::Register(_) => {
                let word = self.builder.input(Input::C);
                self.builder.extract(word, 0, 32, signed)
            }
            Operand::Immediate(immediate) => {
                self.builder.constant(extend(immediate.value(), signed))
            }
        }
    }

    /// The secondary operation of the manual: on exact values, `c` extended as
    /// signed or unsigned.
    pub(super) fn secondary(
        &mut self,
        op: SecondaryOp,
        result: Value,
        c: &Operand,
        signed: bool,
    ) -> Value {
        self.builder.stage(Stage::Secondary);
        let c = self.third(c, signed);
        match op {
            SecondaryOp::Add => self.builder.binary(Op::Add, result, c),
            SecondaryOp::Min => self.builder.min(result, c),
            SecondaryOp::Max => self.builder.max(result, c),
        }
    }

    /// Secondary `.min` and `.max` as ptxas computes them (C4): on 64-bit
    /// values, which compare as unsigned unless `signed`.
    pub(super) fn secondary64(
        &mut self,
        op: SecondaryOp,
        result: Value,
        c: &Operand,
        signed: bool,
    ) -> Value {
        self.builder.stage(Stage::Secondary);
        let result = self.builder.extract(result, 0, 64, signed);
        self.secondary(op, result, c, signed)
    }

    /// Merges the low bits of a result into a part of `c`.
    ///
    /// C1: ptxas before 13.3 puts the upper half of a result into `.h1`.
    pub(super) fn merge(&mut self, part: Part, result: Value, c: &Operand) -> Value {
        self.builder.stage(Stage::Merge);
        let base = self.third(c, false);
        let result = if part == Part::H1 && self.has(Deviation::C1) {
            self.builder.extract(result, 16, 16, false)
        } else {
            result
        };
        self.builder.insert(base, result, part.shift() as u8, part.width() as u8)
    }
}

/// A constant, extended by the type of its operand.
fn extend(word: u32, signed: bool) -> i128 {
    if signed { word.cast_signed().into() } else { word.into() }
}
