use std::fmt;
use std::str::FromStr;

use super::InvalidName;
use super::name::named;

words! {
    /// A byte or half-word of a 32-bit register (scalar selector, 9.7.18.1).
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum Part {
        /// Bits 0–7.
        B0 = ".b0",
        /// Bits 8–15.
        B1 = ".b1",
        /// Bits 16–23.
        B2 = ".b2",
        /// Bits 24–31.
        B3 = ".b3",
        /// Bits 0–15.
        H0 = ".h0",
        /// Bits 16–31.
        H1 = ".h1",
    }
    /// All six parts.
    pub ALL
    /// The spelling in PTX, with its dot.
    text
}

impl Part {
    /// The part with exactly this spelling, if there is one.
    pub(crate) fn from_text(text: &str) -> Option<Part> {
        Part::ALL.into_iter().find(|part| part.text() == text)
    }

    /// Width in bits: 8 or 16.
    pub const fn width(self) -> u32 {
        match self {
            Part::H0 | Part::H1 => 16,
            _ => 8,
        }
    }

    /// Position of the lowest bit.
    pub const fn shift(self) -> u32 {
        match self {
            Part::B0 | Part::H0 => 0,
            Part::B1 => 8,
            Part::B2 | Part::H1 => 16,
            Part::B3 => 24,
        }
    }
}

named!(Part, "a byte or half of a register");

/// The two lane layouts of the SIMD instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LaneWidth {
    /// Two 16-bit lanes (`vadd2` and the like).
    Halves,
    /// Four 8-bit lanes (`vadd4` and the like).
    Bytes,
}

impl LaneWidth {
    /// Lanes in a register.
    pub const fn lanes(self) -> usize {
        match self {
            LaneWidth::Halves => 2,
            LaneWidth::Bytes => 4,
        }
    }

    /// Bits in a lane.
    pub const fn bits(self) -> u32 {
        32 / self.lanes() as u32
    }

    /// The letter that starts selectors and masks.
    pub const fn letter(self) -> char {
        match self {
            LaneWidth::Halves => 'h',
            LaneWidth::Bytes => 'b',
        }
    }

    /// The number of lanes in the pair `{b, a}` that a selector may name.
    pub const fn choices(self) -> u8 {
        2 * self.lanes() as u8
    }

    /// The part of a register that holds a lane. `None` if there is no such lane.
    pub fn part(self, lane: usize) -> Option<Part> {
        let parts: &[Part] = match self {
            LaneWidth::Halves => &[Part::H0, Part::H1],
            LaneWidth::Bytes => &[Part::B0, Part::B1, Part::B2, Part::B3],
        };
        parts.get(lane).copied()
    }
}

/// A SIMD lane selector. For each lane of a source, it names a lane of the pair `{b, a}`. The lanes
/// of `a` have the low numbers, the lanes of `b` the high ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Selector {
    width: LaneWidth,
    // Lane 0 comes first here, and last in the text.
    lanes: [u8; 4],
}

impl Selector {
    /// The default selector of `a`: the lanes of `a`.
    pub const fn default_a(width: LaneWidth) -> Selector {
        Selector::identity(width, 0)
    }

    /// The default selector of `b`: the lanes of `b`.
    pub const fn default_b(width: LaneWidth) -> Selector {
        Selector::identity(width, width.lanes() as u8)
    }

    const fn identity(width: LaneWidth, first: u8) -> Selector {
        let mut lanes = [0; 4];
        let mut lane = 0;
        while lane < width.lanes() {
            lanes[lane] = first + lane as u8;
            lane += 1;
        }
        Selector { width, lanes }
    }

    /// A selector from the lanes that it takes, lane 0 first. `None` unless there are exactly
    /// [`LaneWidth::lanes`] of them, each below [`LaneWidth::choices`].
    pub fn new(width: LaneWidth, lanes: &[u8]) -> Option<Selector> {
        if lanes.len() != width.lanes() || lanes.iter().any(|&lane| lane >= width.choices()) {
            return None;
        }
        let mut array = [0; 4];
        array[..lanes.len()].copy_from_slice(lanes);
        Some(Selector { width, lanes: array })
    }

    /// The selector with this spelling (dot included), if the spelling fits the width.
    pub(crate) fn from_text(width: LaneWidth, text: &str) -> Option<Selector> {
        let digits = text.strip_prefix('.')?.strip_prefix(width.letter())?.as_bytes();
        if digits.len() != width.lanes() {
            return None;
        }
        let mut lanes = [0; 4];
        for (lane, digit) in lanes.iter_mut().zip(digits.iter().rev()) {
            *lane = digit.wrapping_sub(b'0');
        }
        Selector::new(width, &lanes[..width.lanes()])
    }

    /// The width of the selected lanes.
    pub const fn width(self) -> LaneWidth {
        self.width
    }

    /// The lanes taken, lane 0 first.
    pub fn lanes(&self) -> &[u8] {
        &self.lanes[..self.width.lanes()]
    }
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, ".{}", self.width.letter())?;
        self.lanes().iter().rev().try_for_each(|lane| write!(f, "{lane}"))
    }
}

/// A SIMD destination mask: the lanes that are written (or summed).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Mask {
    width: LaneWidth,
    bits: u8,
}

impl Mask {
    /// All lanes: the default mask.
    pub const fn full(width: LaneWidth) -> Mask {
        Mask { width, bits: (1 << width.lanes()) - 1 }
    }

    /// A mask from its bits, bit 0 for lane 0; `None` when empty or too wide.
    pub const fn new(width: LaneWidth, bits: u8) -> Option<Mask> {
        if bits == 0 || bits > Mask::full(width).bits {
            return None;
        }
        Some(Mask { width, bits })
    }

    /// The mask with this spelling (dot included). Its digits must strictly descend.
    pub(crate) fn from_text(width: LaneWidth, text: &str) -> Option<Mask> {
        let digits = text.strip_prefix('.')?.strip_prefix(width.letter())?.as_bytes();
        let mut bits = 0u8;
        for digit in digits {
            let lane = digit.checked_sub(b'0')?;
            // Digits descend: all lanes so far must lie above this one.
            if usize::from(lane) >= width.lanes() || bits & ((2 << lane) - 1) != 0 {
                return None;
            }
            bits |= 1 << lane;
        }
        Mask::new(width, bits)
    }

    /// The width of the masked lanes.
    pub const fn width(self) -> LaneWidth {
        self.width
    }

    /// One bit for each lane; bit 0 is lane 0.
    pub const fn bits(self) -> u8 {
        self.bits
    }

    /// Whether the mask has all lanes.
    pub const fn is_full(self) -> bool {
        self.bits == Mask::full(self.width).bits
    }

    /// The lanes in the mask, lane 0 first.
    pub fn lanes(self) -> impl Iterator<Item = usize> {
        (0..self.width.lanes()).filter(move |lane| self.bits >> lane & 1 == 1)
    }

    /// Every mask of a width, in the order of their bits.
    pub fn all(width: LaneWidth) -> impl Iterator<Item = Mask> {
        (1..=Mask::full(width).bits).filter_map(move |bits| Mask::new(width, bits))
    }
}

impl fmt::Display for Mask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, ".{}", self.width.letter())?;
        let mut lanes: Vec<usize> = self.lanes().collect();
        lanes.reverse();
        lanes.into_iter().try_for_each(|lane| write!(f, "{lane}"))
    }
}

/// Which lanes a SIMD instruction reads and writes: a mask and two selectors of one width.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Lanes {
    mask: Mask,
    a: Selector,
    b: Selector,
}

impl Lanes {
    /// The default lanes: a full mask, and each source's own lanes.
    pub const fn all(width: LaneWidth) -> Lanes {
        Lanes {
            mask: Mask::full(width),
            a: Selector::default_a(width),
            b: Selector::default_b(width),
        }
    }

    /// Lanes from a mask and two selectors. `None` unless all have the same width.
    pub fn new(mask: Mask, a: Selector, b: Selector) -> Option<Lanes> {
        (mask.width == a.width && mask.width == b.width).then_some(Lanes { mask, a, b })
    }

    /// The width of the mask and of both selectors.
    pub const fn width(self) -> LaneWidth {
        self.mask.width
    }

    /// The lanes written, or summed.
    pub const fn mask(self) -> Mask {
        self.mask
    }

    /// Which lanes of `{b, a}` the first operand takes.
    pub const fn a(self) -> Selector {
        self.a
    }

    /// Which lanes of `{b, a}` the second operand takes.
    pub const fn b(self) -> Selector {
        self.b
    }

    /// The lanes that are written or summed, each with the lanes that `a` and `b` select for
    /// it.
    pub fn written(self) -> impl Iterator<Item = (usize, u8, u8)> {
        self.mask.lanes().map(move |at| (at, self.a.lanes[at], self.b.lanes[at]))
    }
}

impl FromStr for Selector {
    type Err = InvalidName;

    /// # Errors
    /// If the text is not a selector of lanes, spelled as PTX spells it.
    fn from_str(text: &str) -> Result<Selector, InvalidName> {
        [LaneWidth::Halves, LaneWidth::Bytes]
            .into_iter()
            .find_map(|width| Selector::from_text(width, text))
            .ok_or_else(|| InvalidName::new(text, "a selector of lanes"))
    }
}

impl FromStr for Mask {
    type Err = InvalidName;

    /// # Errors
    /// If the text is not a mask of lanes, spelled as PTX spells it.
    fn from_str(text: &str) -> Result<Mask, InvalidName> {
        [LaneWidth::Halves, LaneWidth::Bytes]
            .into_iter()
            .find_map(|width| Mask::from_text(width, text))
            .ok_or_else(|| InvalidName::new(text, "a mask of lanes"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_are_the_manuals_lists() {
        let halves: Vec<String> = Mask::all(LaneWidth::Halves).map(|m| m.to_string()).collect();
        assert_eq!(halves, [".h0", ".h1", ".h10"]);
        let bytes: Vec<String> = Mask::all(LaneWidth::Bytes).map(|m| m.to_string()).collect();
        let manual = [
            ".b0", ".b1", ".b10", ".b2", ".b20", ".b21", ".b210", ".b3", ".b30", ".b31", ".b310",
            ".b32", ".b320", ".b321", ".b3210",
        ];
        assert_eq!(bytes, manual);
        for text in manual {
            assert_eq!(Mask::from_text(LaneWidth::Bytes, text).unwrap().to_string(), text);
        }
        for bad in [".b", ".b00", ".b01", ".b4", ".b43210", ".h0", "b0", ".b-"] {
            assert_eq!(Mask::from_text(LaneWidth::Bytes, bad), None, "{bad}");
        }
    }

    #[test]
    fn selectors_put_lane_zero_last() {
        let selector = Selector::from_text(LaneWidth::Bytes, ".b7210").unwrap();
        assert_eq!(selector.lanes(), [0, 1, 2, 7]);
        assert_eq!(Selector::default_a(LaneWidth::Bytes).to_string(), ".b3210");
        assert_eq!(Selector::default_b(LaneWidth::Bytes).to_string(), ".b7654");
        assert_eq!(Selector::default_a(LaneWidth::Halves).to_string(), ".h10");
        assert_eq!(Selector::default_b(LaneWidth::Halves).to_string(), ".h32");
        for bad in [".b321", ".b32100", ".b8210", ".h3210", ".b32_0"] {
            assert_eq!(Selector::from_text(LaneWidth::Bytes, bad), None, "{bad}");
        }
        assert_eq!(Selector::from_text(LaneWidth::Halves, ".h41"), None);
    }
}
