use std::fmt;
use std::marker::PhantomData;

/// A byte or half-word of a 32-bit register (scalar selector, 9.7.18.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Part {
    /// Bits 0–7.
    B0,
    /// Bits 8–15.
    B1,
    /// Bits 16–23.
    B2,
    /// Bits 24–31.
    B3,
    /// Bits 0–15.
    H0,
    /// Bits 16–31.
    H1,
}

impl Part {
    /// All six parts.
    pub const ALL: [Part; 6] = [Part::B0, Part::B1, Part::B2, Part::B3, Part::H0, Part::H1];

    /// The spelling in PTX, with its dot.
    pub const fn text(self) -> &'static str {
        match self {
            Part::B0 => ".b0",
            Part::B1 => ".b1",
            Part::B2 => ".b2",
            Part::B3 => ".b3",
            Part::H0 => ".h0",
            Part::H1 => ".h1",
        }
    }

    /// The part spelled exactly so, if there is one.
    pub fn from_text(text: &str) -> Option<Part> {
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

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Halves {}
    impl Sealed for super::Bytes {}
}

/// The two lane layouts of the SIMD instructions.
pub trait LaneWidth:
    sealed::Sealed + Copy + fmt::Debug + PartialEq + Eq + std::hash::Hash + Send + Sync + 'static
{
    /// Lanes in a register.
    const LANES: usize;
    /// Bits in a lane.
    const BITS: u32;
    /// Letter that starts selectors and masks.
    const LETTER: char;
    /// Lanes of the pair `{b, a}` a selector may name.
    const CHOICES: u8;
}

/// Two 16-bit lanes (`vadd2` and the like).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Halves;

/// Four 8-bit lanes (`vadd4` and the like).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Bytes;

impl LaneWidth for Halves {
    const LANES: usize = 2;
    const BITS: u32 = 16;
    const LETTER: char = 'h';
    const CHOICES: u8 = 4;
}

impl LaneWidth for Bytes {
    const LANES: usize = 4;
    const BITS: u32 = 8;
    const LETTER: char = 'b';
    const CHOICES: u8 = 8;
}

/// A SIMD lane selector: for each lane of a source, which lane of the pair
/// `{b, a}` it takes. The lanes of `a` come first, then those of `b`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Selector<L> {
    // Lane 0 first, as the hardware counts; the text has it last.
    lanes: [u8; 4],
    width: PhantomData<L>,
}

impl<L: LaneWidth> Selector<L> {
    /// The selector that `a` has when none is written: `a`'s own lanes.
    pub const DEFAULT_A: Selector<L> = Selector::identity(0);

    /// The selector that `b` has when none is written: `b`'s own lanes.
    pub const DEFAULT_B: Selector<L> = Selector::identity(L::LANES as u8);

    const fn identity(first: u8) -> Selector<L> {
        let mut lanes = [0; 4];
        let mut lane = 0;
        while lane < L::LANES {
            lanes[lane] = first + lane as u8;
            lane += 1;
        }
        Selector { lanes, width: PhantomData }
    }

    /// A selector from the lanes it takes, lane 0 first; `None` unless there
    /// are exactly [`LaneWidth::LANES`] of them, each below
    /// [`LaneWidth::CHOICES`].
    pub fn new(lanes: &[u8]) -> Option<Selector<L>> {
        if lanes.len() != L::LANES || lanes.iter().any(|&lane| lane >= L::CHOICES) {
            return None;
        }
        let mut array = [0; 4];
        array[..lanes.len()].copy_from_slice(lanes);
        Some(Selector { lanes: array, width: PhantomData })
    }

    /// The selector spelled so (with its dot), if it is one of this width.
    pub fn from_text(text: &str) -> Option<Selector<L>> {
        let digits = text.strip_prefix('.')?.strip_prefix(L::LETTER)?.as_bytes();
        if digits.len() != L::LANES {
            return None;
        }
        let mut lanes = [0; 4];
        for (lane, digit) in lanes.iter_mut().zip(digits.iter().rev()) {
            *lane = digit.wrapping_sub(b'0');
        }
        Selector::new(&lanes[..L::LANES])
    }

    /// The lanes taken, lane 0 first.
    pub fn lanes(&self) -> &[u8] {
        &self.lanes[..L::LANES]
    }
}

impl<L: LaneWidth> fmt::Display for Selector<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, ".{}", L::LETTER)?;
        self.lanes().iter().rev().try_for_each(|lane| write!(f, "{lane}"))
    }
}

/// A SIMD destination mask: the lanes that are written (or summed).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Mask<L> {
    bits: u8,
    width: PhantomData<L>,
}

impl<L: LaneWidth> Mask<L> {
    /// All lanes: the mask when none is written.
    pub const FULL: Mask<L> = Mask { bits: (1 << L::LANES) - 1, width: PhantomData };

    /// A mask from its bits, bit 0 for lane 0; `None` when empty or too wide.
    pub const fn new(bits: u8) -> Option<Mask<L>> {
        if bits == 0 || bits > Self::FULL.bits {
            return None;
        }
        Some(Mask { bits, width: PhantomData })
    }

    /// The mask spelled so: digits strictly descending.
    pub fn from_text(text: &str) -> Option<Mask<L>> {
        let digits = text.strip_prefix('.')?.strip_prefix(L::LETTER)?.as_bytes();
        let mut bits = 0u8;
        for digit in digits {
            let lane = digit.checked_sub(b'0')?;
            // Descending, so every earlier lane lies above this one.
            if usize::from(lane) >= L::LANES || bits & ((2 << lane) - 1) != 0 {
                return None;
            }
            bits |= 1 << lane;
        }
        Mask::new(bits)
    }

    /// One bit a lane, bit 0 for lane 0.
    pub const fn bits(self) -> u8 {
        self.bits
    }

    /// Every mask of this width, by bits.
    pub fn all() -> impl Iterator<Item = Mask<L>> {
        (1..=Self::FULL.bits).filter_map(Mask::new)
    }
}

impl<L: LaneWidth> fmt::Display for Mask<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, ".{}", L::LETTER)?;
        (0..L::LANES)
            .rev()
            .filter(|lane| self.bits >> lane & 1 == 1)
            .try_for_each(|lane| write!(f, "{lane}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_are_the_manuals_lists() {
        let halves: Vec<String> = Mask::<Halves>::all().map(|m| m.to_string()).collect();
        assert_eq!(halves, [".h0", ".h1", ".h10"]);
        let bytes: Vec<String> = Mask::<Bytes>::all().map(|m| m.to_string()).collect();
        let manual = [
            ".b0", ".b1", ".b10", ".b2", ".b20", ".b21", ".b210", ".b3", ".b30", ".b31", ".b310",
            ".b32", ".b320", ".b321", ".b3210",
        ];
        assert_eq!(bytes, manual);
        for text in manual {
            assert_eq!(Mask::<Bytes>::from_text(text).unwrap().to_string(), text);
        }
        for bad in [".b", ".b00", ".b01", ".b4", ".b43210", ".h0", "b0", ".b-"] {
            assert_eq!(Mask::<Bytes>::from_text(bad), None, "{bad}");
        }
    }

    #[test]
    fn selectors_put_lane_zero_last() {
        let selector = Selector::<Bytes>::from_text(".b7210").unwrap();
        assert_eq!(selector.lanes(), [0, 1, 2, 7]);
        assert_eq!(Selector::<Bytes>::DEFAULT_A.to_string(), ".b3210");
        assert_eq!(Selector::<Bytes>::DEFAULT_B.to_string(), ".b7654");
        assert_eq!(Selector::<Halves>::DEFAULT_A.to_string(), ".h10");
        assert_eq!(Selector::<Halves>::DEFAULT_B.to_string(), ".h32");
        for bad in [".b321", ".b32100", ".b8210", ".h3210", ".b32_0"] {
            assert_eq!(Selector::<Bytes>::from_text(bad), None, "{bad}");
        }
        assert_eq!(Selector::<Halves>::from_text(".h41"), None);
    }
}
