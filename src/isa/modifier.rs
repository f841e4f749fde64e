use std::fmt;

use super::InvalidName;
use super::name::named;

macro_rules! modifiers {
    ($($variant:ident $text:literal $role:ident $effect:literal,)*) => {
        /// A modifier that some video instruction takes.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Modifier {
            $(#[doc = concat!("`", $text, "`. ", $effect)] $variant,)*
        }

        impl Modifier {
            /// Every modifier.
            pub const ALL: &'static [Modifier] = &[$(Modifier::$variant,)*];

            /// The spelling in PTX, with its dot.
            pub const fn text(self) -> &'static str {
                match self { $(Modifier::$variant => $text,)* }
            }

            /// The modifier with exactly this spelling (dot included), if there is one.
            pub(crate) fn from_text(text: &str) -> Option<Modifier> {
                match text { $($text => Some(Modifier::$variant),)* _ => None }
            }

            /// The role of the modifier. For types it returns [`Role::Dtype`], because their
            /// position decides which of the three type slots they fill.
            pub const fn role(self) -> Role {
                match self { $(Modifier::$variant => Role::$role,)* }
            }

            /// The effect, in lines of up to 80 characters.
            pub(crate) const fn effect(self) -> &'static str {
                match self { $(Modifier::$variant => $effect,)* }
            }
        }
    };
}

named!(Modifier, "a modifier of a video instruction");

modifiers! {
    U32 ".u32" Dtype
        "On a source: the byte, half-word or word that is selected is unsigned, and is
extended with zeros. On the destination: the result is clamped and compared as
an unsigned number.",
    S32 ".s32" Dtype
        "On a source: the byte, half-word or word that is selected is signed, and is
extended with its sign. On the destination: the result is clamped and compared
as a signed number.",
    Po ".po" PlusOne
        "Adds 1 to the sum. No operand may then have a minus.",
    Sat ".sat" Saturate
        "Clamps the exact result to the range of the destination: signed or unsigned as
the destination type says (in `vmad` as the sources say), and as wide as the
word, the selected part or the lane that is written.",
    Clamp ".clamp" Mode
        "Amounts above 32 count as 32, which shifts all bits out.",
    Wrap ".wrap" Mode
        "Only the low 5 bits of the amount are used: 33 shifts by 1.",
    Eq ".eq" Compare
        "Gives 1 where the sources are equal, else 0. Values are compared exactly.",
    Ne ".ne" Compare
        "Gives 1 where the sources differ, else 0. Values are compared exactly.",
    Lt ".lt" Compare
        "Gives 1 where `a` is less than `b`, else 0. Values are compared exactly.",
    Le ".le" Compare
        "Gives 1 where `a` is less than or equal to `b`, else 0. Values are compared
exactly.",
    Gt ".gt" Compare
        "Gives 1 where `a` is greater than `b`, else 0. Values are compared exactly.",
    Ge ".ge" Compare
        "Gives 1 where `a` is greater than or equal to `b`, else 0. Values are compared
exactly.",
    Shr7 ".shr7" Scale
        "Shifts the exact sum right by 7 bits, before `.sat` clamps it.",
    Shr15 ".shr15" Scale
        "Shifts the exact sum right by 15 bits, before `.sat` clamps it.",
    Add ".add" Secondary
        "Scalar: adds `c` to the result. SIMD: the result is `c` plus the sum of the
exact lanes that the mask names, and no lanes are written.",
    Min ".min" Secondary
        "Takes the smaller of the result and `c`.",
    Max ".max" Secondary
        "Takes the larger of the result and `c`.",
}

words! {
    /// The role of a modifier: the name of its slot.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum Role {
        /// Destination type: how the result is read when it is clamped or combined.
        Dtype = "destination type",
        /// Type of source `a`: sign- or zero-extension on extraction.
        Atype = "type of a",
        /// Type of source `b`.
        Btype = "type of b",
        /// Plus one mode of `vmad`.
        PlusOne = "plus one mode",
        /// Saturation to the range of the destination.
        Saturate = "saturation",
        /// Shift mode: clamp or wrap the amount.
        Mode = "shift mode",
        /// Comparison of `vset*`.
        Compare = "comparison",
        /// Right shift of `vmad`'s result.
        Scale = "scale",
        /// Secondary operation with `c`.
        Secondary = "secondary operation",
    }
    /// All roles.
    pub ALL
    /// The term the manual uses.
    name
}

impl Role {
    /// Number of roles, for tables indexed by `role as usize`.
    pub const COUNT: usize = Role::ALL.len();

    /// Whether the slot holds a type.
    pub const fn is_type(self) -> bool {
        matches!(self, Role::Dtype | Role::Atype | Role::Btype)
    }
}

/// Gives a closed set of modifiers its own type, so that an AST field cannot
/// hold a modifier of another role.
macro_rules! subset {
    ($(#[$meta:meta])* $name:ident { $($(#[$vmeta:meta])* $variant:ident,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name {
            $($(#[$vmeta])* $variant,)*
        }

        impl $name {
            /// The modifiers of all values.
            pub(super) const MODIFIERS: &'static [Modifier] = &[$(Modifier::$variant,)*];

            /// All values, in the manual's order.
            pub const ALL: &'static [$name] = &[$($name::$variant,)*];

            /// The modifier that spells the value.
            pub const fn modifier(self) -> Modifier {
                match self { $($name::$variant => Modifier::$variant,)* }
            }

            /// The value that a modifier spells, if it belongs to this set.
            pub const fn from_modifier(modifier: Modifier) -> Option<$name> {
                match modifier { $(Modifier::$variant => Some($name::$variant),)* _ => None }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.modifier().text())
            }
        }
    };
}

subset! {
    /// Type of a source or of the destination: 32-bit unsigned or signed.
    Type {
        /// Unsigned, zero-extended.
        U32,
        /// Two's complement, sign-extended.
        S32,
    }
}

subset! {
    /// Secondary operation of the scalar instructions.
    SecondaryOp {
        /// `result + c`
        Add,
        /// `min(result, c)`
        Min,
        /// `max(result, c)`
        Max,
    }
}

subset! {
    /// How a shift treats amounts above 31.
    ShiftMode {
        /// Amounts above 32 count as 32.
        Clamp,
        /// Only the low five bits count.
        Wrap,
    }
}

subset! {
    /// Comparison of `vset`, `vset2` and `vset4`; operands of mixed
    /// signedness compare by exact value.
    Compare {
        /// Equal.
        Eq,
        /// Not equal.
        Ne,
        /// Less.
        Lt,
        /// Less or equal.
        Le,
        /// Greater.
        Gt,
        /// Greater or equal.
        Ge,
    }
}

impl Compare {
    /// The operator of C for the comparison.
    pub const fn sign(self) -> &'static str {
        match self {
            Compare::Eq => "==",
            Compare::Ne => "!=",
            Compare::Lt => "<",
            Compare::Le => "<=",
            Compare::Gt => ">",
            Compare::Ge => ">=",
        }
    }

    /// Whether the comparison holds for two numbers.
    pub(crate) fn holds<T: Ord>(self, x: &T, y: &T) -> bool {
        match self {
            Compare::Eq => x == y,
            Compare::Ne => x != y,
            Compare::Lt => x < y,
            Compare::Le => x <= y,
            Compare::Gt => x > y,
            Compare::Ge => x >= y,
        }
    }
}

subset! {
    /// Right shift of `vmad`'s sum.
    Scale {
        /// By 7 bits.
        Shr7,
        /// By 15 bits.
        Shr15,
    }
}

impl Scale {
    /// The number of bits to shift by.
    pub const fn bits(self) -> u8 {
        match self {
            Scale::Shr7 => 7,
            Scale::Shr15 => 15,
        }
    }
}
