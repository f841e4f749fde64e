//! The text of a function's body.

use std::collections::BTreeSet;
use std::fmt;
use std::fmt::Write;

/// Integers of `bits` bits, or vectors of such integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Type {
    /// 1 for an integer.
    pub(super) lanes: u8,
    pub(super) bits: u8,
}

/// A word.
pub(super) const I32: Type = Type { lanes: 1, bits: 32 };

impl Type {
    /// The type's name in the name of an intrinsic, such as `v4i8`.
    fn suffix(self) -> String {
        match self.lanes {
            1 => format!("i{}", self.bits),
            lanes => format!("v{lanes}i{}", self.bits),
        }
    }

    /// The constant whose lanes have the low bits of these values.
    pub(super) fn constant(self, values: impl IntoIterator<Item = i128>) -> String {
        let unused = 128 - u32::from(self.bits);
        let mut texts = values.into_iter().map(|value| (value << unused >> unused).to_string());
        if self.lanes == 1 {
            return texts.next().unwrap_or_default();
        }
        let lanes: Vec<String> = texts.map(|text| format!("i{} {text}", self.bits)).collect();
        format!("<{}>", lanes.join(", "))
    }

    /// The constant whose lanes all have this value.
    pub(super) fn splat(self, value: i128) -> String {
        self.constant(std::iter::repeat_n(value, self.lanes.into()))
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.lanes {
            1 => write!(f, "i{}", self.bits),
            lanes => write!(f, "<{lanes} x i{}>", self.bits),
        }
    }
}

/// The body of a function, and the intrinsics that it calls.
#[derive(Debug, Default)]
pub(super) struct Body {
    pub(super) text: String,
    pub(super) declarations: BTreeSet<String>,
    /// Whether an instruction extends integers of more than one bit.
    pub(super) is_widened: bool,
    count: usize,
}

impl Body {
    /// Adds an instruction; returns the name of its value.
    pub(super) fn push(&mut self, instruction: impl fmt::Display) -> String {
        let name = format!("%v{}", self.count);
        self.count += 1;
        // Writing to a string never fails.
        let _ = writeln!(self.text, "  {name} = {instruction}");
        name
    }

    /// An instruction on two values of a type.
    pub(super) fn binary(&mut self, opcode: &str, ty: Type, x: &str, y: &str) -> String {
        self.push(format_args!("{opcode} {ty} {x}, {y}"))
    }

    /// A call of an intrinsic on two values of a type.
    pub(super) fn call(&mut self, name: &str, ty: Type, x: &str, y: &str) -> String {
        let name = format!("@llvm.{name}.{}", ty.suffix());
        self.declarations.insert(format!("{ty} {name}({ty}, {ty})"));
        self.push(format_args!("call {ty} {name}({ty} {x}, {ty} {y})"))
    }

    /// The absolute value. The least value of the type stays as it is.
    pub(super) fn abs(&mut self, ty: Type, x: &str) -> String {
        let name = format!("@llvm.abs.{}", ty.suffix());
        self.declarations.insert(format!("{ty} {name}({ty}, i1)"));
        self.push(format_args!("call {ty} {name}({ty} {x}, i1 false)"))
    }

    /// The sum of lanes.
    pub(super) fn sum(&mut self, ty: Type, x: &str) -> String {
        let name = format!("@llvm.vector.reduce.add.{}", ty.suffix());
        self.declarations.insert(format!("i{} {name}({ty})", ty.bits));
        self.push(format_args!("call i{} {name}({ty} {x})", ty.bits))
    }

    /// The low bits of a value.
    pub(super) fn cut(&mut self, x: &str, from: Type, bits: u8) -> String {
        debug_assert!(bits <= from.bits);
        self.convert(x, from, bits, false)
    }

    /// A value in another number of bits.
    pub(super) fn convert(&mut self, x: &str, from: Type, bits: u8, signed: bool) -> String {
        let to = Type { bits, ..from };
        let opcode = match bits {
            _ if bits == from.bits => return x.to_string(),
            _ if bits < from.bits => "trunc",
            _ if signed => "sext",
            _ => "zext",
        };
        // Conditions have one bit.
        self.is_widened |= bits > from.bits && from.bits > 1;
        self.push(format_args!("{opcode} {from} {x} to {to}"))
    }
}
