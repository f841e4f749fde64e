//! The operands that families share: registers, constants, parts of registers.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use crate::isa::{Mnemonic, Modifier, Part, Role, SecondaryOp, Type};

/// A guard predicate.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Guard {
    /// Whether the instruction executes if the predicate is false.
    pub negated: bool,
    /// The predicate register.
    pub predicate: Register,
}

/// The name of a register: an identifier other than `_` and `WARP_SZ`.
///
/// Equality compares names. `%r07` and `%r7` are one register if `%r<10>` declares them;
/// [`Register::names_same`] follows this rule. They are two registers if each has its own
/// declaration, as in `.reg .b32 %r07, %r7;` (ptxas 13.5).
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Register(Name);

/// A name. Most names are short and need no allocation.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Name {
    /// The length and the bytes. The bytes after the name are 0.
    Short(u8, [u8; SHORT]),
    Long(Box<str>),
}

/// The length that makes a name as large as a `String`.
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
            // The bytes come from a text.
            Name::Short(len, bytes) => {
                std::str::from_utf8(&bytes[..usize::from(*len)]).unwrap_or_default()
            }
            Name::Long(name) => name,
        }
    }
}

impl Register {
    pub(super) const D: Register = Register::letter(b'd');
    pub(super) const A: Register = Register::letter(b'a');
    pub(super) const B: Register = Register::letter(b'b');
    pub(super) const C: Register = Register::letter(b'c');

    const fn letter(letter: u8) -> Register {
        let mut bytes = [0; SHORT];
        bytes[0] = letter;
        Register(Name::Short(1, bytes))
    }

    /// A register of this name. `None` if the name is no PTX identifier, or is `_` or
    /// `WARP_SZ`.
    pub fn new(name: &str) -> Option<Register> {
        let mut bytes = name.bytes();
        let first = bytes.next()?;
        let starts =
            first.is_ascii_alphabetic() || (matches!(first, b'_' | b'$' | b'%') && name.len() > 1);
        let goes_on = bytes.all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$'));
        (starts && goes_on && name != "WARP_SZ").then(|| Register(Name::new(name)))
    }

    /// A register of a name that is known to be a PTX identifier.
    pub(crate) fn of_valid(name: &str) -> Register {
        debug_assert!(Register::new(name).is_some(), "{name}");
        Register(Name::new(name))
    }

    /// The name.
    pub fn name(&self) -> &str {
        self.0.text()
    }
}

impl Register {
    /// Whether both names are one register if a range such as `%r<10>` declares them: `%r07` is
    /// `%r7`.
    pub fn names_same(&self, other: &Register) -> bool {
        is_one_register(self.name(), other.name())
    }
}

/// Whether two names are one register if a range declares them.
pub(crate) fn is_one_register(one: &str, other: &str) -> bool {
    one == other || numbered(one) == numbered(other)
}

/// The base of a name and its number, if it has one, without leading zeros.
pub(crate) fn numbered(name: &str) -> (&str, &str) {
    let base = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let number = &name[base.len()..];
    let significant = number.trim_start_matches('0');
    // A number has at least one digit.
    (base, if significant.is_empty() && !number.is_empty() { "0" } else { significant })
}

impl AsRef<str> for Register {
    fn as_ref(&self) -> &str {
        self.name()
    }
}

/// A text that cannot name a register.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{0}` is no name of a register")]
pub struct InvalidRegister(String);

impl FromStr for Register {
    type Err = InvalidRegister;

    /// # Errors
    /// If the text is not the name of a register.
    fn from_str(text: &str) -> Result<Register, InvalidRegister> {
        Register::new(text).ok_or_else(|| InvalidRegister(text.into()))
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

    /// The low 32 bits of the constant; its other bits have no effect.
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

/// The third source `c` of a scalar instruction: a whole word.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Operand {
    /// A register.
    Register(Register),
    /// A constant.
    Immediate(Immediate),
}

impl Operand {
    /// The register, if it is one.
    pub fn register(&self) -> Option<&Register> {
        match self {
            Operand::Register(register) => Some(register),
            Operand::Immediate(_) => None,
        }
    }

    /// Gives the register another name.
    pub(super) fn rename(&mut self, rename: Rename<'_>) {
        if let Operand::Register(register) = self {
            *register = rename(OperandName::C, register);
        }
    }
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

impl Source {
    /// The register, if it is one.
    pub fn register(&self) -> Option<&Register> {
        match self {
            Source::Register { register, .. } => Some(register),
            Source::Immediate(_) => None,
        }
    }

    /// Gives the register another name.
    pub(super) fn rename(&mut self, name: OperandName, rename: Rename<'_>) {
        if let Source::Register { register, .. } = self {
            *register = rename(name, register);
        }
    }
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

/// The use that a scalar instruction makes of its result.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Tail {
    /// Writes the low 32 bits.
    Word,
    /// Combines the result with `c`.
    Secondary {
        /// The operation.
        op: SecondaryOp,
        /// The third source.
        c: Operand,
    },
    /// Merges the low bits of the result into a part of `d`. The rest comes from `c`.
    Merge {
        /// The part of `d`.
        part: Part,
        /// The third source.
        c: Operand,
    },
}

impl Tail {
    /// The register in the place of `c`.
    pub(super) fn register(&self) -> Option<&Register> {
        match self {
            Tail::Word => None,
            Tail::Secondary { c, .. } | Tail::Merge { c, .. } => c.register(),
        }
    }

    /// The modifier of its secondary operation.
    pub(super) fn secondary(&self) -> Option<Modifier> {
        match self {
            Tail::Secondary { op, .. } => Some(op.modifier()),
            Tail::Word | Tail::Merge { .. } => None,
        }
    }

    /// The part of `d` that is merged into.
    pub(super) fn part(&self) -> Option<Part> {
        match self {
            Tail::Merge { part, .. } => Some(*part),
            Tail::Word | Tail::Secondary { .. } => None,
        }
    }

    /// Gives the register `c` another name.
    pub(super) fn rename(&mut self, rename: Rename<'_>) {
        match self {
            Tail::Word => {}
            Tail::Secondary { c, .. } | Tail::Merge { c, .. } => c.rename(rename),
        }
    }
}

/// The name of an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OperandName {
    /// The destination.
    D,
    /// The first source.
    A,
    /// The second source.
    B,
    /// The third source.
    C,
}

/// Renames the register of an operand.
pub(super) type Rename<'r> = &'r mut dyn FnMut(OperandName, &Register) -> Register;

/// An operand and the selector or mask after it.
pub(crate) struct Selected<'s, T> {
    pub(crate) value: T,
    /// Selector or mask, with its dot.
    pub(crate) selector: Option<&'s str>,
}

/// The parts of an instruction, each of them checked. The family builds the operation.
pub(crate) struct Parts<'s> {
    pub(crate) mnemonic: Mnemonic,
    pub(crate) modifiers: &'s dyn Fn(Role) -> Option<Modifier>,
    pub(crate) d: Selected<'s, Register>,
    pub(crate) a: Selected<'s, Operand>,
    pub(crate) b: Selected<'s, Operand>,
    pub(crate) c: Option<Operand>,
    /// The operand that counts as negative.
    pub(crate) negated: Option<OperandName>,
}

impl Parts<'_> {
    /// The modifier of a role.
    pub(super) fn get(&self, role: Role) -> Option<Modifier> {
        (self.modifiers)(role)
    }

    /// The type that a role has.
    pub(super) fn ty(&self, role: Role) -> Option<Type> {
        self.get(role).and_then(Type::from_modifier)
    }

    /// Whether a role is filled.
    pub(super) fn has(&self, role: Role) -> bool {
        self.get(role).is_some()
    }

    /// The use that a scalar instruction makes of its result.
    pub(super) fn tail(&self) -> Option<Tail> {
        if let Some(op) = self.get(Role::Secondary).and_then(SecondaryOp::from_modifier) {
            return Some(Tail::Secondary { op, c: self.c.clone()? });
        }
        // ptxas ignores some other selectors.
        match self.d.selector.and_then(Part::from_text) {
            None => Some(Tail::Word),
            Some(part) => Some(Tail::Merge { part, c: self.c.clone()? }),
        }
    }
}

impl Selected<'_, Operand> {
    /// The operand as a source of a scalar instruction.
    pub(super) fn scalar(&self) -> Source {
        match &self.value {
            Operand::Register(register) => Source::Register {
                register: register.clone(),
                part: self.selector.and_then(Part::from_text),
            },
            Operand::Immediate(immediate) => Source::Immediate(immediate.clone()),
        }
    }
}
