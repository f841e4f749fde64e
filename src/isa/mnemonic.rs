use super::name::named;
use super::{InvalidName, LaneWidth};

/// The instruction families, one per subsection of the manual's chapter 9.7.18.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Family {
    /// Scalar `vadd vsub vabsdiff vmin vmax` (9.7.18.1.1).
    Arithmetic,
    /// Scalar `vshl vshr` (9.7.18.1.2).
    Shift,
    /// Scalar `vmad` (9.7.18.1.3).
    MultiplyAdd,
    /// Scalar `vset` (9.7.18.1.4).
    Set,
    /// SIMD arithmetic on two lanes of 16 bits (9.7.18.2.1) or four of 8 (9.7.18.2.3).
    SimdArithmetic(LaneWidth),
    /// SIMD comparison, `vset2` (9.7.18.2.2) or `vset4` (9.7.18.2.4).
    SimdSet(LaneWidth),
}

impl Family {
    /// All families, in the manual's order.
    pub const ALL: [Family; 8] = [
        Family::Arithmetic,
        Family::Shift,
        Family::MultiplyAdd,
        Family::Set,
        Family::SimdArithmetic(LaneWidth::Halves),
        Family::SimdSet(LaneWidth::Halves),
        Family::SimdArithmetic(LaneWidth::Bytes),
        Family::SimdSet(LaneWidth::Bytes),
    ];
}

macro_rules! mnemonics {
    ($($variant:ident $text:literal $family:ident $(($width:ident))?,)*) => {
        /// A video instruction's mnemonic.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum Mnemonic {
            $(#[doc = concat!("`", $text, "`")] $variant,)*
        }

        impl Mnemonic {
            /// All 23 mnemonics, in the manual's order.
            pub const ALL: &'static [Mnemonic] = &[$(Mnemonic::$variant,)*];

            /// The spelling in PTX.
            pub const fn text(self) -> &'static str {
                match self { $(Mnemonic::$variant => $text,)* }
            }

            /// The mnemonic with exactly this spelling, if there is one.
            pub(crate) fn from_text(text: &str) -> Option<Mnemonic> {
                match text { $($text => Some(Mnemonic::$variant),)* _ => None }
            }

            /// The family, which also determines the manual's section.
            pub const fn family(self) -> Family {
                match self {
                    $(Mnemonic::$variant => Family::$family $((LaneWidth::$width))?,)*
                }
            }
        }
    };
}

named!(Mnemonic, "the mnemonic of a video instruction");

mnemonics! {
    Vadd "vadd" Arithmetic,
    Vsub "vsub" Arithmetic,
    Vabsdiff "vabsdiff" Arithmetic,
    Vmin "vmin" Arithmetic,
    Vmax "vmax" Arithmetic,
    Vshl "vshl" Shift,
    Vshr "vshr" Shift,
    Vmad "vmad" MultiplyAdd,
    Vset "vset" Set,
    Vadd2 "vadd2" SimdArithmetic(Halves),
    Vsub2 "vsub2" SimdArithmetic(Halves),
    Vavrg2 "vavrg2" SimdArithmetic(Halves),
    Vabsdiff2 "vabsdiff2" SimdArithmetic(Halves),
    Vmin2 "vmin2" SimdArithmetic(Halves),
    Vmax2 "vmax2" SimdArithmetic(Halves),
    Vset2 "vset2" SimdSet(Halves),
    Vadd4 "vadd4" SimdArithmetic(Bytes),
    Vsub4 "vsub4" SimdArithmetic(Bytes),
    Vavrg4 "vavrg4" SimdArithmetic(Bytes),
    Vabsdiff4 "vabsdiff4" SimdArithmetic(Bytes),
    Vmin4 "vmin4" SimdArithmetic(Bytes),
    Vmax4 "vmax4" SimdArithmetic(Bytes),
    Vset4 "vset4" SimdSet(Bytes),
}
