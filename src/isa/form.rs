use super::{
    Compare, LaneWidth, Mask, Mnemonic, Modifier, Part, PtxVersion, Role, Scale, SecondaryOp,
    Selector, ShiftMode, Target, Type,
};

/// One line of the manual's syntax: a row of the table of forms.
///
/// The table ([`crate::video::FORMS`]) defines the instructions that vptx accepts. Checks,
/// messages such as "expected one of …", the order of printing and `explain` all read it.
#[derive(Debug)]
#[non_exhaustive]
pub struct Form {
    /// The mnemonics that share the line.
    pub mnemonics: &'static [Mnemonic],
    /// Modifiers in canonical order.
    pub slots: &'static [Slot],
    /// The selector or mask that may follow `d`.
    pub destination: Destination,
    /// The kinds of operands that `a` and `b` may be.
    pub sources: Sources,
    /// Whether the line has a third source `c`.
    pub third: bool,
    /// Which operands may be negated.
    pub negation: Negation,
    /// The lowest PTX version and target that have the instruction.
    pub requirement: Requirement,
    /// Section of the manual.
    pub section: &'static str,
    /// A noun phrase that distinguishes the form from others of the same mnemonics.
    pub title: &'static str,
}

/// One place for a modifier.
#[derive(Debug)]
pub struct Slot {
    /// The role of the modifier.
    pub role: Role,
    /// The modifiers that fit.
    pub choices: &'static [Modifier],
    /// Whether the modifier may be left out.
    pub optional: bool,
}

/// The selector or mask that a destination may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Destination {
    /// A whole register.
    Word,
    /// A byte or half-word selector, required.
    Part,
    /// A mask of lanes. Without it, all lanes are written.
    Mask(LaneWidth),
}

/// The kinds of operands that sources may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sources {
    /// Register with an optional byte or half-word selector, or an immediate.
    Scalar,
    /// Registers with an optional selector of lanes.
    Lanes(LaneWidth),
}

impl Destination {
    /// Whether the destination accepts this mask or selector, given with its dot.
    pub fn accepts(self, text: &str) -> bool {
        match self {
            Destination::Word => false,
            Destination::Part => Part::from_text(text).is_some(),
            Destination::Mask(width) => Mask::from_text(width, text).is_some(),
        }
    }
}

impl Sources {
    /// Whether a source accepts this selector, given with its dot.
    pub fn accepts(self, text: &str) -> bool {
        match self {
            Sources::Scalar => Part::from_text(text).is_some(),
            Sources::Lanes(width) => Selector::from_text(width, text).is_some(),
        }
    }
}

/// Which operands a form lets you negate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Negation {
    /// None.
    Forbidden,
    /// The product or `c`, but not both. A minus on `a` or on `b` negates the product; a minus on
    /// both cancels out.
    ProductOrThird,
}

/// The PTX version and the target that a form requires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Requirement {
    /// Lowest `.version`.
    pub version: PtxVersion,
    /// Lowest `.target`.
    pub target: Target,
}

impl Requirement {
    /// Scalar video instructions.
    pub const SCALAR: Requirement =
        Requirement { version: PtxVersion::new(2, 0), target: Target::sm(20) };
    /// SIMD video instructions.
    pub const SIMD: Requirement =
        Requirement { version: PtxVersion::new(3, 0), target: Target::sm(30) };
}

impl Slot {
    const fn new(role: Role, choices: &'static [Modifier], optional: bool) -> Slot {
        Slot { role, choices, optional }
    }

    /// Destination type.
    pub const DTYPE: Slot = Slot::new(Role::Dtype, Type::MODIFIERS, false);
    /// Type of `a`.
    pub const ATYPE: Slot = Slot::new(Role::Atype, Type::MODIFIERS, false);
    /// Type of `b`.
    pub const BTYPE: Slot = Slot::new(Role::Btype, Type::MODIFIERS, false);
    /// Type of a shift amount.
    pub const AMOUNT_TYPE: Slot = Slot::new(Role::Btype, &[Modifier::U32], false);
    /// `.sat`
    pub const SATURATE: Slot = Slot::new(Role::Saturate, &[Modifier::Sat], true);
    /// `.po`
    pub const PLUS_ONE: Slot = Slot::new(Role::PlusOne, &[Modifier::Po], false);
    /// `.clamp`, `.wrap`
    pub const MODE: Slot = Slot::new(Role::Mode, ShiftMode::MODIFIERS, false);
    /// `.eq` … `.ge`
    pub const COMPARE: Slot = Slot::new(Role::Compare, Compare::MODIFIERS, false);
    /// Right shift of a sum.
    pub const SCALE: Slot = Slot::new(Role::Scale, Scale::MODIFIERS, true);
    /// Scalar secondary operation.
    pub const SECONDARY: Slot = Slot::new(Role::Secondary, SecondaryOp::MODIFIERS, false);
    /// SIMD accumulation.
    pub const ACCUMULATE: Slot = Slot::new(Role::Secondary, &[Modifier::Add], false);
}

impl Form {
    /// The slot of a role, if the form has one.
    pub fn slot(&self, role: Role) -> Option<&Slot> {
        self.slots.iter().find(|slot| slot.role == role)
    }

    /// The type slots, in order.
    pub fn type_slots(&self) -> impl Iterator<Item = &Slot> {
        self.slots.iter().filter(|slot| slot.role.is_type())
    }
}
