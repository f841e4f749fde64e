//! The ways in which ptxas computes something else than the manual says.

use std::fmt;

use super::{Agreement, Instruction, Semantics, Witness};

macro_rules! deviations {
    ($($code:ident $title:literal $text:literal,)*) => {
        /// A way in which the code of ptxas differs from the manual.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum Deviation {
            $(#[doc = $title] $code,)*
        }

        impl Deviation {
            /// All of them.
            pub const ALL: &'static [Deviation] = &[$(Deviation::$code,)*];

            /// The number, such as `C3`.
            pub const fn text(self) -> &'static str {
                match self { $(Deviation::$code => stringify!($code),)* }
            }

            /// The deviation with this number, in upper or lower case.
            pub fn find(text: &str) -> Option<Deviation> {
                Deviation::ALL.iter().copied().find(|it| it.text().eq_ignore_ascii_case(text))
            }

            /// The difference, in one line.
            pub const fn title(self) -> &'static str {
                match self { $(Deviation::$code => $title,)* }
            }

            /// The manual's rule, the behaviour of ptxas, and code with the result of the
            /// manual. The last line is an instruction that shows the difference.
            pub const fn explanation(self) -> &'static str {
                match self { $(Deviation::$code => $text,)* }
            }
        }
    };
}

deviations! {
    C1 "A merge into `.h1` takes the upper half of the result" "\
The manual puts the low 16 bits of the result into `.h1` of the destination. The code
of ptxas 11.0 to 13.2, and that of the driver of CUDA 13.0, puts bits 16 to 31 of the
result there. All other parts receive what the manual says, and from 13.3 on, ptxas
follows the manual for `.h1` as well.

For the manual's result with every ptxas, merge into `.h0`, and swap the halves of `c`
before and those of `d` after. Write this in place of the example below:

    prmt.b32 t, c, 0, 0x1032;
    vadd.u32.u32.u32 t.h0, a, b, t;
    prmt.b32 d, t, 0, 0x1032;

An example, with inputs on which the results differ:

    vadd.u32.u32.u32 d.h1, a, b, c;",
    C2 "`.sat` to an unsigned word has no upper limit" "\
In `vadd`, `vsub`, `vabsdiff`, `vmin` and `vmax` with `.u32` destination and no
destination selector, the manual clamps to 0 … 0xffffffff. The code of ptxas turns
negative results into 0, and lets results above 0xffffffff wrap around.

To clamp, limit one summand to the room that the other leaves. Write this in place of
the example below:

    not.b32 t, b;
    min.u32 t, a, t;
    add.u32 d, t, b;

An example, with inputs on which the results differ:

    vadd.u32.u32.u32.sat d, a, b;",
    C3 "`.sat` to a part of the destination is an unsigned minimum" "\
In `vadd`, `vsub`, `vabsdiff`, `vmin` and `vmax` with destination selector, the
manual clamps to the signed or unsigned range of the part. The code of ptxas takes
the unsigned minimum of the result and the greatest value of that range: a
negative result becomes the greatest value (0x7f, 0xff, 0x7fff or 0xffff), never
the least or 0.

To clamp, limit the result in a word of its own, and merge it without `.sat`. Write
this in place of the example below:

    vsub.s32.s32.s32 t, a.b2, b.b2;
    min.s32 t, t, 127;
    vmax.s32.s32.s32 d.b2, t, -128, c;

An example, with inputs on which the results differ:

    vsub.s32.s32.s32.sat d.b2, a.b2, b.b2, c;",
    C4 "Secondary `.min` and `.max` compare 64-bit values" "\
The manual compares the exact result with `c`, both signed or unsigned as `.dtype`
says. The code of ptxas compares 64-bit values: for `.s32` signed ones, for `.u32`
unsigned ones, so that a negative result counts as larger than any `c`. Of a sum, a
difference or a saturated shift, it compares only the low 32 bits, sign-extended.

To compare exact values, widen the sources. Write this in place of the example below,
with 64-bit registers `v` and `w`:

    cvt.u64.u32 v, a;
    cvt.u64.u32 w, b;
    sub.s64 v, v, w;
    cvt.u64.u32 w, c;
    min.s64 v, v, w;
    cvt.u32.u64 d, v;

An example, with inputs on which the results differ:

    vsub.u32.u32.u32.min d, a, b, c;",
    C5 "Saturated shifts into a part clamp to the word" "\
In `vshl` and `vshr` with `.sat` and a destination selector, the manual clamps to
the range of the part. The code of ptxas clamps to the range of the whole word and
then cuts the part out of it. After a left shift without `.sat`, a secondary `.min`
or `.max` compares 64 bits of the shifted value, where the manual compares 34.

To clamp to the part, limit the shifted word, and merge it in a second instruction.
Write this in place of the example below:

    vshl.u32.u32.u32.sat.clamp t, a, b;
    vmin.u32.u32.u32 d.b0, t, 255, c;

An example, with inputs on which the results differ:

    vshl.u32.u32.u32.sat.clamp d.b0, a, b, c;",
    C6 "`vset` with `.min` or `.max` reads `c` by the first source's type" "\
The manual compares the result of `vset` with `c` as unsigned words. The code of ptxas
compares them as signed words when the type of `a` is `.s32`.

To compare them as unsigned words, use a second instruction. Write this in place of the
example below:

    vset.s32.s32.lt t, a, b;
    max.u32 d, t, c;

An example, with inputs on which the results differ:

    vset.s32.s32.lt.max d, a, b, c;",
    C7 "`vmad` multiplies words as signed" "\
The manual multiplies the extended sources exactly. The code of ptxas reads them as
signed 32-bit values and takes the 64-bit product: a whole `.u32` word of 0x80000000
or more counts as negative. The low 32 bits of the sum are the same, so results differ
only with `.shr7`, `.shr15` or `.sat`. Without a scale, `.sat` clamps a negative sum to
0. A scale first shifts it as 64 unsigned bits, so that `.sat` then finds a large value.

To multiply unsigned words, take all 64 bits of the product. Write this in place of the
example below, with a 64-bit register `w`:

    mul.wide.u32 w, a, b;
    shr.u64 w, w, 15;
    cvt.u32.u64 d, w;

An example, with inputs on which the results differ:

    vmad.u32.u32.u32.shr15 d, a, b, 0;",
    C8 "`vmad` always sign-extends `c`" "\
The manual extends `c` with its sign if the final result is signed, and with zeros if
it is unsigned: when both sources are `.u32` and nothing is negated. The code of ptxas
always extends `c` with its sign. As for C7, results differ only with `.shr7`,
`.shr15` or `.sat`.

To clamp an unsigned sum, limit the product to the room that `c` leaves. Write this in
place of the example below:

    vmad.u32.u32.u32 t, a.b0, b.b0, 0;
    not.b32 u, c;
    min.u32 t, t, u;
    add.u32 d, t, c;

An example, with inputs on which the results differ:

    vmad.u32.u32.u32.sat d, a.b0, b.b0, c;",
}

impl Deviation {
    /// The page of the deviation, in Markdown: its title, its explanation, and inputs that
    /// show it.
    ///
    /// ```
    /// let page = vptx::video::Deviation::C3.page();
    /// assert!(page.starts_with("# C3: "));
    /// assert!(page.contains("    a = 0x"));
    /// ```
    pub fn page(self) -> String {
        let (title, explanation) = (self.title(), self.explanation());
        let line = explanation.lines().last().unwrap_or_default().trim();
        let differs = line.parse::<Instruction>().map(|shown| shown.agreement(Semantics::Ptxas12));
        let example = match differs {
            Ok(Agreement::Differs(Witness { a, b, c, manual, ptxas, .. })) => format!(
                "    a = 0x{a:08x}, b = 0x{b:08x}, c = 0x{c:08x}\n    \
                 manual 0x{manual:08x}, ptxas 0x{ptxas:08x}\n"
            ),
            _ => String::new(),
        };
        format!("# {self}: {title}\n\n{explanation}\n{example}")
    }
}

impl fmt::Display for Deviation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

/// A set of deviations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Deviations(u16);

/// Each deviation has a bit.
const _: () = assert!(Deviation::ALL.len() <= u16::BITS as usize);

impl Deviations {
    pub(super) const NONE: Deviations = Deviations(0);

    pub(super) const ALL: Deviations =
        Deviations(u16::MAX >> (u16::BITS as usize - Deviation::ALL.len()));

    pub(crate) const fn only(deviation: Deviation) -> Deviations {
        Deviations(1 << deviation as u8)
    }

    pub(crate) const fn without(self, deviation: Deviation) -> Deviations {
        Deviations(self.0 & !(1 << deviation as u8))
    }

    pub(crate) const fn has(self, deviation: Deviation) -> bool {
        self.0 >> deviation as u8 & 1 == 1
    }
}
