//! Validated instructions.
//!
//! What has one of these types is legal PTX: each field holds only what its
//! place allows, and combinations the manual rules out (a destination selector
//! beside a secondary operation, SIMD `.sat` beside `.add`, two negations in
//! `vmad`…) have no representation. Printing one never fails and never panics,
//! and reading the printed text gives the same value.
//!
//! Equality is by meaning and spelling: an explicit default selector or mask is
//! the same as an omitted one, constants keep the way they were written.

mod anonymous;

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use crate::check::{self, CheckOptions};
use crate::diagnostic::Diagnostic;
use crate::isa::{
    Bytes, Compare, Destination, Family, Form, Halves, LaneWidth, Mask, Mnemonic, Modifier, Part,
    Role, Scale, SecondaryOp, Selector, ShiftMode, Type,
};
use crate::video;

/// A video instruction with its guard.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Instruction {
    /// `@p` or `@!p`: executed only where the predicate says so.
    pub guard: Option<Guard>,
    /// What it does.
    pub operation: Operation,
}

/// A guard predicate.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Guard {
    /// Execute where the predicate is false.
    pub negated: bool,
    /// The predicate register.
    pub predicate: Register,
}

/// The name of a register: an identifier other than `_` and `WARP_SZ`.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Register(Name);

/// A name, mostly without memory of its own.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Name {
    /// The length, and the bytes, of which the rest are 0.
    Short(u8, [u8; SHORT]),
    Long(Box<str>),
}

/// Makes a name as large as a `String`.
const SHORT: usize = 22;

impl Name {
    fn new(name: &str) -> Name {
        let mut bytes = [0; SHORT];
        match bytes.get_mut(..name.len()) {
            Some(start) => {
                start.copy_from_slice(name.as_bytes());
                Name::Short(name.len() as u8, bytes)
            }
            None => Name::Long(name.into()),
        }
    }

    fn text(&self) -> &str {
        match self {
            // It was made from text.
            Name::Short(len, bytes) => {
                std::str::from_utf8(&bytes[..usize::from(*len)]).unwrap_or_default()
            }
            Name::Long(name) => name,
        }
    }
}

impl Register {
    /// A register of this name; `None` unless it is a PTX identifier.
    pub fn new(name: &str) -> Option<Register> {
        let mut bytes = name.bytes();
        let first = bytes.next()?;
        let starts =
            first.is_ascii_alphabetic() || (matches!(first, b'_' | b'$' | b'%') && name.len() > 1);
        let goes_on = bytes.all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$'));
        (starts && goes_on && name != "WARP_SZ").then(|| Register(Name::new(name)))
    }

    /// The name.
    pub fn name(&self) -> &str {
        self.0.text()
    }
}

impl fmt::Debug for Register {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Register").field(&self.name()).finish()
    }
}

impl fmt::Display for Register {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A constant operand.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Immediate {
    value: u32,
    text: Box<str>,
}

impl Immediate {
    /// A constant, spelled in decimal.
    pub fn new(value: u32) -> Immediate {
        Immediate { value, text: value.to_string().into() }
    }

    pub(crate) fn spelled(value: u32, text: String) -> Immediate {
        Immediate { value, text: text.into() }
    }

    /// The low 32 bits of the constant, which is all that is used of it.
    pub fn value(&self) -> u32 {
        self.value
    }

    /// The constant expression as it was written, without comments.
    pub fn text(&self) -> &str {
        &self.text
    }
}

impl fmt::Display for Immediate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// A third source `c` of a scalar instruction: a whole word.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Operand {
    /// A register.
    Register(Register),
    /// A constant.
    Immediate(Immediate),
}

impl fmt::Display for Operand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Operand::Register(register) => register.fmt(f),
            Operand::Immediate(immediate) => immediate.fmt(f),
        }
    }
}

/// A source `a` or `b` of a scalar instruction.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// A register, whole or a part of it.
    Register {
        /// The register.
        register: Register,
        /// The byte or half-word taken; the whole word if `None`.
        part: Option<Part>,
    },
    /// A constant; it takes no selector.
    Immediate(Immediate),
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::Register { register, part: Some(part) } => write!(f, "{register}{part}"),
            Source::Register { register, part: None } => register.fmt(f),
            Source::Immediate(immediate) => immediate.fmt(f),
        }
    }
}

/// What a scalar instruction does with its result.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Tail {
    /// Writes the low 32 bits.
    Word,
    /// Combines it with `c`.
    Secondary {
        /// The operation.
        op: SecondaryOp,
        /// The third source.
        c: Operand,
    },
    /// Puts its low bits into a part of `d`; the rest comes from `c`.
    Merge {
        /// The part of `d`.
        part: Part,
        /// The third source.
        c: Operand,
    },
}

/// A validated operation, by family.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Operation {
    /// `vadd vsub vabsdiff vmin vmax`
    Arithmetic(Arithmetic),
    /// `vshl vshr`
    Shift(Shift),
    /// `vmad`
    MultiplyAdd(MultiplyAdd),
    /// `vset`
    Set(Set),
    /// `vadd2` and its kind
    Arithmetic2(SimdArithmetic<Halves>),
    /// `vset2`
    Set2(SimdSet<Halves>),
    /// `vadd4` and its kind
    Arithmetic4(SimdArithmetic<Bytes>),
    /// `vset4`
    Set4(SimdSet<Bytes>),
}

/// Primary operation of the scalar arithmetic family.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ArithmeticOp {
    /// `a + b`
    Add,
    /// `a - b`
    Sub,
    /// `|a - b|`
    AbsDiff,
    /// `min(a, b)`
    Min,
    /// `max(a, b)`
    Max,
}

/// Scalar arithmetic (9.7.18.1.1).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Arithmetic {
    /// Primary operation.
    pub op: ArithmeticOp,
    /// Destination type.
    pub dtype: Type,
    /// Type of `a`.
    pub atype: Type,
    /// Type of `b`.
    pub btype: Type,
    /// Clamp to the range of the destination.
    pub saturate: bool,
    /// Destination.
    pub d: Register,
    /// First source.
    pub a: Source,
    /// Second source.
    pub b: Source,
    /// What becomes of the result.
    pub tail: Tail,
}

/// Scalar shift (9.7.18.1.2).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Shift {
    /// `vshl` rather than `vshr`.
    pub left: bool,
    /// Destination type.
    pub dtype: Type,
    /// Type of `a`.
    pub atype: Type,
    /// Clamp to the range of the destination.
    pub saturate: bool,
    /// How amounts above 31 count.
    pub mode: ShiftMode,
    /// Destination.
    pub d: Register,
    /// The value shifted.
    pub a: Source,
    /// The amount, always unsigned.
    pub b: Source,
    /// What becomes of the result.
    pub tail: Tail,
}

/// What `vmad` negates or adds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MadMode {
    /// `a*b + c`
    Plain,
    /// `-(a*b) + c`, written `-a`
    NegateA,
    /// `-(a*b) + c`, written `-b`
    NegateB,
    /// `a*b - c`
    NegateC,
    /// `a*b + c + 1`
    PlusOne,
}

/// `vmad` (9.7.18.1.3). Negation applies to registers: a constant carries its
/// own sign, and `-5` as `a` is [`MadMode::Plain`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MultiplyAdd {
    dtype: Type,
    atype: Type,
    btype: Type,
    mode: MadMode,
    saturate: bool,
    scale: Option<Scale>,
    d: Register,
    a: Source,
    b: Source,
    c: Operand,
}

/// The parts of a [`MultiplyAdd`], to make one or take one apart.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MultiplyAddParts {
    /// Destination type; without effect.
    pub dtype: Type,
    /// Type of `a`.
    pub atype: Type,
    /// Type of `b`.
    pub btype: Type,
    /// What is negated or added.
    pub mode: MadMode,
    /// Clamp to 32 bits.
    pub saturate: bool,
    /// Shift the sum right.
    pub scale: Option<Scale>,
    /// Destination.
    pub d: Register,
    /// First factor.
    pub a: Source,
    /// Second factor.
    pub b: Source,
    /// Summand.
    pub c: Operand,
}

impl MultiplyAdd {
    /// A `vmad` of these parts; `None` when the mode negates a constant.
    pub fn new(parts: MultiplyAddParts) -> Option<MultiplyAdd> {
        let MultiplyAddParts { dtype, atype, btype, mode, saturate, scale, d, a, b, c } = parts;
        let constant = match mode {
            MadMode::NegateA => matches!(a, Source::Immediate(_)),
            MadMode::NegateB => matches!(b, Source::Immediate(_)),
            MadMode::NegateC => matches!(c, Operand::Immediate(_)),
            MadMode::Plain | MadMode::PlusOne => false,
        };
        let mad = MultiplyAdd { dtype, atype, btype, mode, saturate, scale, d, a, b, c };
        (!constant).then_some(mad)
    }

    /// Its parts.
    pub fn parts(&self) -> MultiplyAddParts {
        let MultiplyAdd { dtype, atype, btype, mode, saturate, scale, d, a, b, c } = self.clone();
        MultiplyAddParts { dtype, atype, btype, mode, saturate, scale, d, a, b, c }
    }
}

/// Scalar comparison (9.7.18.1.4).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Set {
    /// Type of `a`.
    pub atype: Type,
    /// Type of `b`.
    pub btype: Type,
    /// The comparison.
    pub compare: Compare,
    /// Destination.
    pub d: Register,
    /// First source.
    pub a: Source,
    /// Second source.
    pub b: Source,
    /// What becomes of the 0 or 1.
    pub tail: Tail,
}

/// Primary operation of the SIMD arithmetic families.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SimdOp {
    /// `a + b`
    Add,
    /// `a - b`
    Sub,
    /// Rounded average.
    Avrg,
    /// `|a - b|`
    AbsDiff,
    /// `min(a, b)`
    Min,
    /// `max(a, b)`
    Max,
}

/// Operands of a SIMD instruction: registers all.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SimdOperands<L> {
    /// Type of the lanes of `a`.
    pub atype: Type,
    /// Type of the lanes of `b`.
    pub btype: Type,
    /// Destination.
    pub d: Register,
    /// The lanes written, or summed.
    pub mask: Mask<L>,
    /// First source.
    pub a: Register,
    /// Which lanes of `{b, a}` the first operand takes.
    pub a_lanes: Selector<L>,
    /// Second source.
    pub b: Register,
    /// Which lanes of `{b, a}` the second operand takes.
    pub b_lanes: Selector<L>,
    /// Third source: other lanes, or the summand.
    pub c: Register,
}

/// What SIMD arithmetic does with its lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SimdTail {
    /// Writes the lanes of the mask, the others from `c`.
    Merge {
        /// Clamp each lane to the range of the destination type.
        saturate: bool,
    },
    /// `c` plus the sum of the exact lanes of the mask.
    Accumulate,
}

/// SIMD arithmetic (9.7.18.2.1 and 9.7.18.2.3).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SimdArithmetic<L> {
    /// Primary operation.
    pub op: SimdOp,
    /// Destination type.
    pub dtype: Type,
    /// The operands.
    pub operands: SimdOperands<L>,
    /// What becomes of the lanes.
    pub tail: SimdTail,
}

/// SIMD comparison (9.7.18.2.2 and 9.7.18.2.4).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SimdSet<L> {
    /// The comparison.
    pub compare: Compare,
    /// The operands.
    pub operands: SimdOperands<L>,
    /// Add the 0s and 1s of the mask to `c`, instead of merging them.
    pub accumulate: bool,
}

impl Instruction {
    /// An unguarded instruction.
    pub fn new(operation: Operation) -> Instruction {
        Instruction { guard: None, operation }
    }

    /// The mnemonic.
    pub fn mnemonic(&self) -> Mnemonic {
        use Mnemonic as M;
        match &self.operation {
            Operation::Arithmetic(it) => match it.op {
                ArithmeticOp::Add => M::Vadd,
                ArithmeticOp::Sub => M::Vsub,
                ArithmeticOp::AbsDiff => M::Vabsdiff,
                ArithmeticOp::Min => M::Vmin,
                ArithmeticOp::Max => M::Vmax,
            },
            Operation::Shift(it) if it.left => M::Vshl,
            Operation::Shift(_) => M::Vshr,
            Operation::MultiplyAdd(_) => M::Vmad,
            Operation::Set(_) => M::Vset,
            Operation::Arithmetic2(it) => match it.op {
                SimdOp::Add => M::Vadd2,
                SimdOp::Sub => M::Vsub2,
                SimdOp::Avrg => M::Vavrg2,
                SimdOp::AbsDiff => M::Vabsdiff2,
                SimdOp::Min => M::Vmin2,
                SimdOp::Max => M::Vmax2,
            },
            Operation::Set2(_) => M::Vset2,
            Operation::Arithmetic4(it) => match it.op {
                SimdOp::Add => M::Vadd4,
                SimdOp::Sub => M::Vsub4,
                SimdOp::Avrg => M::Vavrg4,
                SimdOp::AbsDiff => M::Vabsdiff4,
                SimdOp::Min => M::Vmin4,
                SimdOp::Max => M::Vmax4,
            },
            Operation::Set4(_) => M::Vset4,
        }
    }

    /// The modifier that fills a role, if one is written.
    pub fn modifier(&self, role: Role) -> Option<Modifier> {
        let saturated = |on: bool| on.then_some(Modifier::Sat);
        match (&self.operation, role) {
            (Operation::Arithmetic(it), Role::Dtype) => Some(it.dtype.modifier()),
            (Operation::Arithmetic(it), Role::Atype) => Some(it.atype.modifier()),
            (Operation::Arithmetic(it), Role::Btype) => Some(it.btype.modifier()),
            (Operation::Arithmetic(it), Role::Saturate) => saturated(it.saturate),
            (Operation::Arithmetic(it), Role::Secondary) => it.tail.secondary(),
            (Operation::Shift(it), Role::Dtype) => Some(it.dtype.modifier()),
            (Operation::Shift(it), Role::Atype) => Some(it.atype.modifier()),
            (Operation::Shift(_), Role::Btype) => Some(Modifier::U32),
            (Operation::Shift(it), Role::Saturate) => saturated(it.saturate),
            (Operation::Shift(it), Role::Mode) => Some(it.mode.modifier()),
            (Operation::Shift(it), Role::Secondary) => it.tail.secondary(),
            (Operation::MultiplyAdd(it), Role::Dtype) => Some(it.dtype.modifier()),
            (Operation::MultiplyAdd(it), Role::Atype) => Some(it.atype.modifier()),
            (Operation::MultiplyAdd(it), Role::Btype) => Some(it.btype.modifier()),
            (Operation::MultiplyAdd(it), Role::PlusOne) => {
                (it.mode == MadMode::PlusOne).then_some(Modifier::Po)
            }
            (Operation::MultiplyAdd(it), Role::Saturate) => saturated(it.saturate),
            (Operation::MultiplyAdd(it), Role::Scale) => it.scale.map(Scale::modifier),
            (Operation::Set(it), Role::Atype) => Some(it.atype.modifier()),
            (Operation::Set(it), Role::Btype) => Some(it.btype.modifier()),
            (Operation::Set(it), Role::Compare) => Some(it.compare.modifier()),
            (Operation::Set(it), Role::Secondary) => it.tail.secondary(),
            (Operation::Arithmetic2(it), role) => it.modifier(role),
            (Operation::Set2(it), role) => it.modifier(role),
            (Operation::Arithmetic4(it), role) => it.modifier(role),
            (Operation::Set4(it), role) => it.modifier(role),
            _ => None,
        }
    }

    /// The row of the table that the instruction is an instance of.
    pub fn form(&self) -> &'static Form {
        let part = self.tail().is_some_and(|tail| matches!(tail, Tail::Merge { .. }));
        let present = |role| self.modifier(role).is_some();
        let forms = video::forms(self.mnemonic());
        forms
            .iter()
            .find(|form| {
                let written = |role| form.slot(role).is_some() == present(role);
                written(Role::PlusOne)
                    && written(Role::Secondary)
                    && (form.destination == Destination::Part) == part
            })
            .unwrap_or(&forms[0])
    }

    /// The destination register.
    pub fn destination(&self) -> &Register {
        match &self.operation {
            Operation::Arithmetic(it) => &it.d,
            Operation::Shift(it) => &it.d,
            Operation::MultiplyAdd(it) => &it.d,
            Operation::Set(it) => &it.d,
            Operation::Arithmetic2(it) => &it.operands.d,
            Operation::Set2(it) => &it.operands.d,
            Operation::Arithmetic4(it) => &it.operands.d,
            Operation::Set4(it) => &it.operands.d,
        }
    }

    /// The registers in the places `a`, `b`, `c`; `None` where a constant stands
    /// or nothing.
    pub fn sources(&self) -> [Option<&Register>; 3] {
        match &self.operation {
            Operation::Arithmetic(it) => [it.a.register(), it.b.register(), it.tail.register()],
            Operation::Shift(it) => [it.a.register(), it.b.register(), it.tail.register()],
            Operation::Set(it) => [it.a.register(), it.b.register(), it.tail.register()],
            Operation::MultiplyAdd(it) => [it.a.register(), it.b.register(), it.c.register()],
            Operation::Arithmetic2(it) => it.operands.sources(),
            Operation::Set2(it) => it.operands.sources(),
            Operation::Arithmetic4(it) => it.operands.sources(),
            Operation::Set4(it) => it.operands.sources(),
        }
    }

    pub(crate) fn tail(&self) -> Option<&Tail> {
        match &self.operation {
            Operation::Arithmetic(it) => Some(&it.tail),
            Operation::Shift(it) => Some(&it.tail),
            Operation::Set(it) => Some(&it.tail),
            _ => None,
        }
    }
}

impl Source {
    /// The register, if it is one.
    pub fn register(&self) -> Option<&Register> {
        match self {
            Source::Register { register, .. } => Some(register),
            Source::Immediate(_) => None,
        }
    }
}

impl Operand {
    /// The register, if it is one.
    pub fn register(&self) -> Option<&Register> {
        match self {
            Operand::Register(register) => Some(register),
            Operand::Immediate(_) => None,
        }
    }
}

impl Tail {
    fn register(&self) -> Option<&Register> {
        match self {
            Tail::Word => None,
            Tail::Secondary { c, .. } | Tail::Merge { c, .. } => c.register(),
        }
    }

    fn secondary(&self) -> Option<Modifier> {
        match self {
            Tail::Secondary { op, .. } => Some(op.modifier()),
            Tail::Word | Tail::Merge { .. } => None,
        }
    }
}

impl<L> SimdArithmetic<L> {
    fn modifier(&self, role: Role) -> Option<Modifier> {
        match role {
            Role::Dtype => Some(self.dtype.modifier()),
            Role::Atype => Some(self.operands.atype.modifier()),
            Role::Btype => Some(self.operands.btype.modifier()),
            Role::Saturate => {
                (self.tail == SimdTail::Merge { saturate: true }).then_some(Modifier::Sat)
            }
            Role::Secondary => (self.tail == SimdTail::Accumulate).then_some(Modifier::Add),
            _ => None,
        }
    }
}

impl<L> SimdSet<L> {
    fn modifier(&self, role: Role) -> Option<Modifier> {
        match role {
            Role::Atype => Some(self.operands.atype.modifier()),
            Role::Btype => Some(self.operands.btype.modifier()),
            Role::Compare => Some(self.compare.modifier()),
            Role::Secondary => self.accumulate.then_some(Modifier::Add),
            _ => None,
        }
    }
}

impl fmt::Display for Instruction {
    /// The canonical text: modifiers in the manual's order, defaults left out,
    /// one space before the operands, `;` at the end.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(guard) = &self.guard {
            write!(f, "@{}{} ", if guard.negated { "!" } else { "" }, guard.predicate)?;
        }
        f.write_str(self.mnemonic().text())?;
        for slot in self.form().slots {
            if let Some(modifier) = self.modifier(slot.role) {
                f.write_str(modifier.text())?;
            }
        }
        match &self.operation {
            Operation::Arithmetic(it) => scalar(f, &it.d, &it.a, &it.b, &it.tail)?,
            Operation::Shift(it) => scalar(f, &it.d, &it.a, &it.b, &it.tail)?,
            Operation::Set(it) => scalar(f, &it.d, &it.a, &it.b, &it.tail)?,
            Operation::MultiplyAdd(it) => {
                let minus = |mode| if it.mode == mode { "-" } else { "" };
                write!(f, " {}, {}{}", it.d, minus(MadMode::NegateA), it.a)?;
                write!(f, ", {}{}", minus(MadMode::NegateB), it.b)?;
                write!(f, ", {}{}", minus(MadMode::NegateC), it.c)?;
            }
            Operation::Arithmetic2(it) => it.operands.write(f)?,
            Operation::Set2(it) => it.operands.write(f)?,
            Operation::Arithmetic4(it) => it.operands.write(f)?,
            Operation::Set4(it) => it.operands.write(f)?,
        }
        f.write_str(";")
    }
}

fn scalar(
    f: &mut fmt::Formatter<'_>,
    d: &Register,
    a: &Source,
    b: &Source,
    tail: &Tail,
) -> fmt::Result {
    match tail {
        Tail::Word => write!(f, " {d}, {a}, {b}"),
        Tail::Secondary { c, .. } => write!(f, " {d}, {a}, {b}, {c}"),
        Tail::Merge { part, c } => write!(f, " {d}{part}, {a}, {b}, {c}"),
    }
}

impl<L> SimdOperands<L> {
    fn sources(&self) -> [Option<&Register>; 3] {
        [Some(&self.a), Some(&self.b), Some(&self.c)]
    }
}

impl<L: LaneWidth> SimdOperands<L> {
    /// The lanes that are written or summed, each with what `a` and `b` select for
    /// it.
    pub(crate) fn written_lanes(&self) -> impl Iterator<Item = (usize, u8, u8)> {
        let lanes = (0..L::LANES).filter(|at| self.mask.bits() >> at & 1 == 1);
        lanes.map(|at| (at, self.a_lanes.lanes()[at], self.b_lanes.lanes()[at]))
    }

    fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, " {}", self.d)?;
        if self.mask != Mask::FULL {
            write!(f, "{}", self.mask)?;
        }
        write!(f, ", {}", self.a)?;
        if self.a_lanes != Selector::DEFAULT_A {
            write!(f, "{}", self.a_lanes)?;
        }
        write!(f, ", {}", self.b)?;
        if self.b_lanes != Selector::DEFAULT_B {
            write!(f, "{}", self.b_lanes)?;
        }
        write!(f, ", {}", self.c)
    }
}

/// Why a text is not one video instruction.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{}", .diagnostics.first().map_or("not a video instruction", |first| &first.message))]
pub struct ParseInstructionError {
    diagnostics: Vec<Diagnostic>,
}

impl ParseInstructionError {
    /// Every error found. Empty when the text holds no video instruction, or
    /// something beside it.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }
}

impl FromStr for Instruction {
    type Err = ParseInstructionError;

    /// Reads one instruction, in the `documented` dialect and without regard to
    /// targets or declarations: any name is that of a register, even one that
    /// special registers have. The closing `;` may be missing.
    ///
    /// # Errors
    /// The errors that checking the text gives.
    fn from_str(text: &str) -> Result<Instruction, ParseInstructionError> {
        check::single(text, &CheckOptions::default())
            .map_err(|diagnostics| ParseInstructionError { diagnostics })
    }
}

impl Operation {
    /// The family it belongs to.
    pub fn family(&self) -> Family {
        match self {
            Operation::Arithmetic(_) => Family::Arithmetic,
            Operation::Shift(_) => Family::Shift,
            Operation::MultiplyAdd(_) => Family::MultiplyAdd,
            Operation::Set(_) => Family::Set,
            Operation::Arithmetic2(_) => Family::Arithmetic2,
            Operation::Set2(_) => Family::Set2,
            Operation::Arithmetic4(_) => Family::Arithmetic4,
            Operation::Set4(_) => Family::Set4,
        }
    }
}
