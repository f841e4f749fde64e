use std::fmt;

/// The instruction families, one per subsection of the manual's chapter 9.7.18.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Family {
    /// Scalar `vadd vsub vabsdiff vmin vmax` (9.7.18.1.1).
    Arithmetic,
    /// Scalar `vshl vshr` (9.7.18.1.2).
    Shift,
    /// Scalar `vmad` (9.7.18.1.3).
    MultiplyAdd,
    /// Scalar `vset` (9.7.18.1.4).
    Set,
    /// Two-way SIMD arithmetic on 16-bit lanes (9.7.18.2.1).
    Arithmetic2,
    /// Two-way SIMD comparison `vset2` (9.7.18.2.2).
    Set2,
    /// Four-way SIMD arithmetic on 8-bit lanes (9.7.18.2.3).
    Arithmetic4,
    /// Four-way SIMD comparison `vset4` (9.7.18.2.4).
    Set4,
}

macro_rules! mnemonics {
    ($($variant:ident $text:literal $family:ident,)*) => {
        /// A video instruction's mnemonic.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
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

            /// The mnemonic spelled exactly so, if there is one.
            pub fn from_text(text: &str) -> Option<Mnemonic> {
                match text { $($text => Some(Mnemonic::$variant),)* _ => None }
            }

            /// The family, and with it the manual's section.
            pub const fn family(self) -> Family {
                match self { $(Mnemonic::$variant => Family::$family,)* }
            }
        }
    };
}

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
    Vadd2 "vadd2" Arithmetic2,
    Vsub2 "vsub2" Arithmetic2,
    Vavrg2 "vavrg2" Arithmetic2,
    Vabsdiff2 "vabsdiff2" Arithmetic2,
    Vmin2 "vmin2" Arithmetic2,
    Vmax2 "vmax2" Arithmetic2,
    Vset2 "vset2" Set2,
    Vadd4 "vadd4" Arithmetic4,
    Vsub4 "vsub4" Arithmetic4,
    Vavrg4 "vavrg4" Arithmetic4,
    Vabsdiff4 "vabsdiff4" Arithmetic4,
    Vmin4 "vmin4" Arithmetic4,
    Vmax4 "vmax4" Arithmetic4,
    Vset4 "vset4" Set4,
}

impl fmt::Display for Mnemonic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}
