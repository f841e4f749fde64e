//! GPU targets: the table of targets, and questions about a target.

use std::fmt;
use std::str::FromStr;
use std::sync::LazyLock;

use thiserror::Error;

use super::PtxVersion;

/// A GPU target, as in `.target sm_90a`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Target {
    /// The number, such as 90 for `sm_90a`.
    pub number: u16,
    /// The suffix `a` (architecture-specific features) or `f` (family-specific features).
    pub suffix: Option<char>,
}

macro_rules! features {
    ($($(#[$doc:meta])* $name:ident $(($major:literal, $minor:literal))? $text:literal,)*) => {
        /// A feature that a target may have: instructions of PTX, or a way to execute them.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[doc(hidden)]
        #[non_exhaustive]
        pub enum Feature {
            $($(#[$doc])* $name,)*
        }

        impl Feature {
            /// Every feature.
            pub const ALL: &'static [Feature] = &[$(Feature::$name,)*];

            /// The lowest `.version` that has the instructions. `None` for features that are not
            /// instructions of PTX.
            pub const fn since(self) -> Option<PtxVersion> {
                let version: &[PtxVersion] = match self {
                    $(Feature::$name => &[$(PtxVersion::new($major, $minor))?],)*
                };
                version.first().copied()
            }

            /// The feature in few words.
            pub const fn text(self) -> &'static str {
                match self { $(Feature::$name => $text,)* }
            }
        }
    };
}

features! {
    /// Scalar video instructions, and the ordinary instructions that came with them.
    Video (2, 0) "scalar video instructions",
    /// SIMD video instructions.
    SimdVideo (3, 0) "SIMD video instructions",
    /// `shf`.
    FunnelShift (3, 1) "`shf`",
    /// `lop3`.
    Lop3 (4, 3) "`lop3`",
    /// `add`, `sub` of `.f16x2`.
    FloatHalves (4, 2) "sums of `.f16x2`",
    /// `dp4a`, `dp2a`.
    Dot (5, 0) "`dp4a`, `dp2a`",
    /// `cvt.pack`.
    Pack (6, 5) "`cvt.pack`",
    /// `min`, `max` of `.f16x2`.
    FloatExtrema (7, 0) "`min`, `max` of `.f16x2`",
    /// `add`, `min`, `max` of `.u16x2`, `.s16x2`.
    Halves (8, 0) "`add`, `min`, `max` of `.u16x2`",
    /// `add.sat` of `.u16x2`, `.s16x2`.
    SaturatingHalves (9, 2) "`add.sat` of `.u16x2`",
    /// `add`, `sub`, `min`, `max` of `.u8x4`, `.s8x4`, also with `.sat` and `.relu`.
    Bytes (9, 2) "`add`, `sub`, `min`, `max` of `.u8x4`",
    /// Sums of `.f16x2` are as fast as sums of words on every GPU.
    FastFloatHalves "fast sums of `.f16x2`",
    /// `cvt.pack` to halves is as fast as a sum.
    FastPack "fast `cvt.pack`",
    /// A dot product takes its constants from registers only.
    DotOfRegisters "dot products with constants in registers only",
    /// One machine instruction computes a minimum or maximum of a sum, or of another minimum or
    /// maximum of the same kind.
    FusedExtrema "a minimum of a sum in one machine instruction",
    /// The same for floating point.
    FusedFloatExtrema "a minimum of a sum of `.f16x2` in one machine instruction",
    /// `add.sat.s32` is one machine instruction.
    SaturatingWords "`add.sat.s32` in one machine instruction",
    /// A `min` or `max` of 64 bits is one machine instruction.
    WideExtrema "`min`, `max` of 64 bits in one machine instruction",
    /// Instructions on `.u16x2` and `.s16x2` take 7 machine instructions or more.
    EmulatedHalves "`add`, `min`, `max` of `.u16x2` in 7 or more machine instructions",
    /// `sad` takes several machine instructions.
    EmulatedSad "`sad` in three machine instructions",
    /// ptxas may join two constants of a basic block, and move one of them into a register.
    JoinedConstants "constants of a basic block joined by ptxas",
    /// Scalar video instructions are machine instructions.
    NativeScalars "scalar video instructions in hardware",
    /// ptxas 13 makes the machine code. Costs of other targets come from ptxas 12.9.
    Ptxas13 "machine code by ptxas 13",
}

/// A set of features.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Features(u32);

impl Features {
    const NONE: Features = Features(0);
    pub(crate) const ALL: Features = Features(u32::MAX);

    const fn and(self, added: &[Feature]) -> Features {
        let (mut bits, mut at) = (self.0, 0);
        while at < added.len() {
            bits |= 1 << added[at] as u32;
            at += 1;
        }
        Features(bits)
    }

    const fn without(self, removed: &[Feature]) -> Features {
        Features(self.0 & !Features::NONE.and(removed).0)
    }

    /// The features that a target has.
    pub(crate) fn of(target: Target) -> Features {
        let (row, suffix) = target.row();
        if suffix.is_some() { Features(row.features.0 | row.of_family.0) } else { row.features }
    }

    pub(crate) const fn has(self, feature: Feature) -> bool {
        self.0 >> feature as u32 & 1 == 1
    }

    /// The set without instructions on halves, if ptxas emulates them.
    pub(crate) const fn without_emulated_halves(self) -> Features {
        if self.has(Feature::EmulatedHalves) { self.without(&[Feature::Halves]) } else { self }
    }

    /// The features that are in both sets.
    #[must_use]
    pub(crate) const fn common(self, other: Features) -> Features {
        Features(self.0 & other.0)
    }

    /// Whether this set has all features of the other set that are instructions of PTX.
    pub(crate) fn has_text_of(self, others: Features) -> bool {
        let mut all = Feature::ALL.iter().filter(|it| it.since().is_some());
        all.all(|feature| self.has(*feature) || !others.has(*feature))
    }
}

/// A row of the table: all targets with one number.
struct Row {
    number: u16,
    /// The kinds of the target, each with its suffix and its lowest PTX version. The plain kind
    /// comes first.
    kinds: [Option<(Option<char>, PtxVersion)>; 3],
    /// The features of every kind.
    features: Features,
    /// The further features of kinds with a suffix.
    of_family: Features,
    /// The measured targets whose costs stand for the plain kind, and for the other kinds.
    costs: [Option<Target>; 2],
}

/// The row of a target that is not measured and has no suffixes.
const fn sm(number: u16, (major, minor): (u8, u8), features: Features) -> Row {
    Row {
        number,
        kinds: [Some((None, PtxVersion::new(major, minor))), None, None],
        features,
        of_family: Features::NONE,
        costs: [None, None],
    }
}

impl Row {
    /// The row with a kind that has the suffix `f`.
    const fn f(mut self, (major, minor): (u8, u8)) -> Row {
        self.kinds[1] = Some((Some('f'), PtxVersion::new(major, minor)));
        self
    }

    /// The row with a kind that has the suffix `a`.
    const fn a(mut self, (major, minor): (u8, u8)) -> Row {
        self.kinds[2] = Some((Some('a'), PtxVersion::new(major, minor)));
        self
    }

    /// The row with the measured target whose costs stand for all its kinds.
    const fn costs_as(mut self, number: u16) -> Row {
        self.costs = [Some(Target::sm(number)); 2];
        self
    }

    /// The row with further features of kinds with a suffix, and with the measured target whose
    /// costs stand for these kinds.
    const fn in_family(mut self, features: Features, costs: Target) -> Row {
        self.of_family = features;
        self.costs[1] = Some(costs);
        self
    }

    /// The kinds of the target, the plain one first, each with its lowest PTX version.
    fn kinds(&self) -> impl Iterator<Item = (Target, PtxVersion)> {
        let number = self.number;
        let kinds = self.kinds.iter().flatten();
        kinds.map(move |&(suffix, since)| (Target { number, suffix }, since))
    }
}

/// The words of `.target` other than architectures. The manual's section is "`.target`".
pub(crate) const TARGET_OPTIONS: [&str; 4] =
    ["debug", "map_f64_to_f32", "texmode_independent", "texmode_unified"];

const NONE: Features = Features::NONE;
const FERMI: Features = NONE.and(&[Feature::Video, Feature::NativeScalars]);
const KEPLER: Features = FERMI.and(&[Feature::SimdVideo]);
const SHIFTING: Features = KEPLER.and(&[Feature::FunnelShift]);
const MAXWELL: Features = SHIFTING.and(&[Feature::Lop3]);
const TEGRA: Features = MAXWELL.and(&[Feature::FloatHalves]);
const PASCAL: Features = TEGRA.and(&[Feature::Dot]);
const VOLTA: Features = PASCAL.without(&[Feature::NativeScalars]);
const XAVIER: Features = VOLTA.and(&[Feature::Pack]);
const TURING: Features = XAVIER.and(&[Feature::FastFloatHalves, Feature::Ptxas13]);
const AMPERE: Features = TURING.and(&[Feature::FloatExtrema]);
const NEWER: Features =
    AMPERE.and(&[Feature::Halves, Feature::DotOfRegisters, Feature::FusedExtrema]);
const HOPPER: Features = NEWER.and(&[Feature::FastPack]);
const BLACKWELL: Features = NEWER.and(&[Feature::FusedFloatExtrema]);
/// Jetson Thor: `sm_101`, which became `sm_110`.
const THOR: Features = NEWER.without(&[Feature::FusedExtrema]).and(&[Feature::EmulatedHalves]);
const SM_120: Features = NEWER.without(&[Feature::FusedExtrema]).and(&[
    Feature::SaturatingWords,
    Feature::WideExtrema,
    Feature::EmulatedSad,
    Feature::JoinedConstants,
]);
/// The measured target with instructions on bytes.
const SM_120F: Target = Target { number: 120, suffix: Some('f') };
const BYTES: Features = NONE.and(&[Feature::SaturatingHalves, Feature::Bytes]);

/// The targets that ptxas 13.5 accepts in a module, by number: the lowest version of each kind, its
/// features, and the target whose costs stand for it. ptxas 11.8 and 12.9 agree on the versions of
/// the targets that they know, except for `sm_90a`, which 11.8 takes together with PTX 7.8.
static TARGETS: &[Row] = &[
    sm(10, (1, 0), NONE),
    sm(11, (1, 0), NONE),
    sm(12, (1, 2), NONE),
    sm(13, (1, 2), NONE),
    sm(20, (2, 0), FERMI),
    sm(21, (2, 0), FERMI),
    sm(30, (3, 0), KEPLER),
    sm(32, (4, 0), SHIFTING),
    sm(35, (3, 1), SHIFTING),
    sm(37, (4, 1), SHIFTING),
    sm(50, (4, 0), MAXWELL).costs_as(52),
    sm(52, (4, 1), MAXWELL).costs_as(52),
    sm(53, (4, 2), TEGRA).costs_as(52),
    sm(60, (5, 0), TEGRA).costs_as(52),
    sm(61, (5, 0), PASCAL).costs_as(61),
    sm(62, (5, 0), PASCAL),
    sm(70, (5, 1), VOLTA).costs_as(70),
    sm(72, (6, 1), XAVIER),
    sm(75, (6, 3), TURING).costs_as(75),
    sm(80, (7, 0), AMPERE).costs_as(80),
    sm(82, (6, 2), AMPERE).costs_as(80),
    sm(86, (7, 1), AMPERE).costs_as(80),
    sm(87, (7, 4), AMPERE).costs_as(80),
    sm(88, (9, 0), AMPERE).costs_as(80),
    sm(89, (7, 8), AMPERE).costs_as(80),
    sm(90, (7, 8), HOPPER).a((8, 0)).costs_as(90),
    sm(100, (8, 6), BLACKWELL).a((8, 6)).f((8, 8)).costs_as(100),
    sm(101, (8, 6), THOR).a((8, 6)).f((8, 8)).costs_as(80),
    sm(103, (8, 8), BLACKWELL).a((8, 8)).f((8, 8)).costs_as(100),
    sm(107, (9, 4), SM_120).a((9, 4)).f((9, 4)).costs_as(120).in_family(BYTES, Target::sm(120)),
    sm(110, (9, 0), THOR).a((9, 0)).f((9, 0)).costs_as(80),
    sm(120, (8, 7), SM_120).a((8, 7)).f((8, 8)).costs_as(120).in_family(BYTES, SM_120F),
    sm(121, (8, 8), SM_120).a((8, 8)).f((8, 8)).costs_as(120).in_family(BYTES, SM_120F),
];

/// The measured targets, whose costs stand for themselves, and the number of these targets.
static MEASURED: LazyLock<([Target; 16], usize)> = LazyLock::new(|| {
    let mut targets = [Target::NEWEST; 16];
    let measured = Target::all().filter(|target| target.costs() == Some(*target));
    let count = targets.iter_mut().zip(measured).map(|(place, target)| *place = target).count();
    (targets, count)
});

impl Target {
    /// The plain target `sm_number`.
    pub const fn sm(number: u16) -> Target {
        Target { number, suffix: None }
    }

    /// The targets that ptxas 13.5 knows in a module, by number, old ones included. The plain
    /// target comes before others of the same number.
    pub fn all() -> impl Iterator<Item = Target> {
        TARGETS.iter().flat_map(Row::kinds).map(|(target, _)| target)
    }

    /// The targets whose costs are measured, in the order of [`Target::all`].
    pub fn measured() -> &'static [Target] {
        &MEASURED.0[..MEASURED.1]
    }

    /// The measured target whose costs stand for the costs of this target. An unknown target has
    /// the costs of the known target below it.
    pub fn costs(self) -> Option<Target> {
        let (row, suffix) = self.row();
        row.costs[usize::from(suffix.is_some())]
    }

    /// The ptxas whose machine instructions the costs of some targets count.
    pub(crate) fn assembler(targets: &[Target]) -> &'static str {
        let is_new = |target: &&Target| target.has(Feature::Ptxas13);
        match targets.iter().filter(is_new).count() {
            0 => "ptxas 12.9",
            count if count == targets.len() => "ptxas 13.5",
            _ => "ptxas",
        }
    }

    /// Whether the target has a feature. An unknown target has the features of the known target
    /// below it.
    #[doc(hidden)]
    pub fn has(self, feature: Feature) -> bool {
        Features::of(self).has(feature)
    }

    /// The kind of this target whose costs hold for a text with `.target own`: the plainest kind
    /// that has all instructions that the text may use. This target itself, if the costs are the
    /// same. ptxas assembles text for `sm_120f` on `sm_121`, too, and text for `sm_120` on
    /// `sm_120f`.
    #[must_use]
    pub(crate) fn for_text(self, own: Target) -> Target {
        let kinds = self.row().0.kinds().map(|(kind, _)| Target { number: self.number, ..kind });
        let mut kinds = kinds.filter(|kind| Features::of(*kind).has_text_of(Features::of(own)));
        kinds.next().filter(|kind| kind.costs() != self.costs()).unwrap_or(self)
    }

    /// For this plain target, the kind with the suffix `f`, if its costs differ.
    pub(crate) fn family(self) -> Option<Target> {
        let family = Target { suffix: Some('f'), ..self };
        let is_other = self.suffix.is_none() && family.is_known() && family.costs() != self.costs();
        is_other.then_some(family)
    }

    /// The row of the known target with the nearest number that is not higher. The suffix, if the
    /// target is known.
    fn row(self) -> (&'static Row, Option<char>) {
        let below = TARGETS.iter().rev().find(|row| row.number <= self.number);
        (below.unwrap_or(&TARGETS[0]), self.suffix.filter(|_| self.is_known()))
    }

    /// Whether ptxas 13.5 knows the target in a module, old ones included.
    pub fn is_known(self) -> bool {
        self.known_since().is_some()
    }

    /// The lowest PTX version that ptxas takes together with the target in a module. `None` if
    /// ptxas 13.5 does not know the target.
    pub(crate) fn known_since(self) -> Option<PtxVersion> {
        let row = TARGETS.iter().find(|row| row.number == self.number)?;
        row.kinds().find(|(target, _)| *target == self).map(|(_, since)| since)
    }

    /// This target if it is known. Otherwise the known target with the nearest number, without
    /// a suffix.
    #[must_use]
    pub fn nearest_known(self) -> Target {
        let near = TARGETS.iter().map(|row| row.number);
        let near = near.min_by_key(|number| number.abs_diff(self.number));
        if self.is_known() { self } else { Target::sm(near.unwrap_or(self.number)) }
    }

    /// The lowest PTX version that code for the target can have. For an unknown target, the lowest
    /// version of the known target below it.
    pub fn since(self) -> PtxVersion {
        let plain = Target::sm(self.row().0.number);
        let since = self.known_since().or(plain.known_since());
        since.unwrap_or(PtxVersion::new(1, 0))
    }

    /// The newest known target.
    pub const NEWEST: Target = Target::sm(TARGETS[TARGETS.len() - 1].number);
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sm_{}", self.number)?;
        self.suffix.map_or(Ok(()), |suffix| write!(f, "{suffix}"))
    }
}

/// The error for a text that is not a target.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{0}` is no target; a target looks like `sm_90`")]
pub struct InvalidTarget(String);

impl FromStr for Target {
    type Err = InvalidTarget;

    /// Reads `sm_90`, `sm_90a`, `sm_100f`, and `compute_90` alike.
    ///
    /// # Errors
    /// If the text has none of these shapes.
    fn from_str(text: &str) -> Result<Target, InvalidTarget> {
        let error = || InvalidTarget(text.into());
        let rest =
            text.strip_prefix("sm_").or_else(|| text.strip_prefix("compute_")).ok_or_else(error)?;
        let (digits, suffix) = match rest.strip_suffix(['a', 'f']) {
            Some(digits) => (digits, rest.chars().next_back()),
            None => (rest, None),
        };
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(error());
        }
        let number = digits.parse().map_err(|_| error())?;
        Ok(Target { number, suffix })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_targets_and_those_near_them() {
        let known = |text: &str| text.parse::<Target>().unwrap().is_known();
        for text in ["sm_10", "sm_82", "sm_90a", "sm_101f", "sm_107", "sm_121a", "compute_75"] {
            assert!(known(text), "{text}");
        }
        let near = [
            ("sm_0", "sm_10"),
            ("sm_22", "sm_21"),
            ("sm_73", "sm_72"),
            ("sm_75a", "sm_75"),
            ("sm_85", "sm_86"),
            ("sm_90f", "sm_90"),
        ];
        for (text, nearest) in near {
            assert!(!known(text), "{text}");
            let target: Target = text.parse().unwrap();
            assert_eq!(target.nearest_known().to_string(), nearest, "{text}");
        }
        for (number, suffix) in (0..200).flat_map(|n| [(n, None), (n, Some('a')), (n, Some('f'))]) {
            let target = Target { number, suffix };
            assert!(target.nearest_known().is_known(), "{target}");
            assert_eq!(target.nearest_known() == target, target.is_known(), "{target}");
        }
        assert_eq!(Target::sm(u16::MAX).nearest_known(), Target::NEWEST);
    }

    /// The file has the answer of each ptxas for each pair.
    #[test]
    fn targets_and_versions_go_together_as_in_ptxas() {
        let recorded = include_str!("../../fixtures/oracle/target-versions.tsv");
        let mut pairs = 0;
        for line in recorded.lines().filter(|line| !line.starts_with('#')) {
            let [target, newest, since] = line.split('\t').collect::<Vec<_>>()[..] else {
                panic!("{line}");
            };
            let target: Target = target.parse().unwrap();
            let since: Option<PtxVersion> = since.parse().ok();
            pairs += 1;
            // Older versions of ptxas know fewer targets.
            if since.is_some() || newest == "9.5" {
                assert_eq!(target.known_since(), since, "{line}");
            }
        }
        assert!(pairs > Target::all().count());
    }

    /// The file has the answers of ptxas for each pair of target and instruction.
    #[test]
    fn targets_have_what_ptxas_takes() {
        let feature = |instruction: &str| match instruction {
            "vadd.u32.u32.u32" => Feature::Video,
            "vmin2.u32.u32.u32" => Feature::SimdVideo,
            "shf.l.wrap.b32" => Feature::FunnelShift,
            "lop3.b32" => Feature::Lop3,
            "add.f16x2" => Feature::FloatHalves,
            "dp4a.u32.u32" | "dp2a.lo.u32.u32" => Feature::Dot,
            "cvt.pack.sat.s16.s32" => Feature::Pack,
            "min.f16x2" => Feature::FloatExtrema,
            "add.u16x2" | "min.s16x2" | "min.relu.s16x2" => Feature::Halves,
            "add.sat.u16x2" => Feature::SaturatingHalves,
            "add.u8x4" | "sub.sat.s8x4" | "min.u8x4" | "max.relu.s8x4" => Feature::Bytes,
            other => panic!("{other}"),
        };
        let recorded = include_str!("../../fixtures/oracle/target-features.tsv");
        let mut rows = recorded.lines().filter(|line| !line.starts_with('#'));
        let head = rows.next().expect("a head").split('\t').skip(1);
        let features: Vec<Feature> = head.map(feature).collect();
        let with_text = Feature::ALL.iter().filter(|feature| feature.since().is_some());
        assert!(with_text.into_iter().all(|feature| features.contains(feature)));
        let mut targets = Target::all();
        for row in rows {
            let mut cells = row.split('\t');
            let target: Target = cells.next().expect("a target").parse().unwrap();
            assert_eq!(targets.next(), Some(target));
            for (feature, cell) in features.iter().zip(cells) {
                let since = target.known_since().max(feature.since());
                let since = since.filter(|_| target.has(*feature));
                assert_eq!(since, cell.parse().ok(), "{target} {feature:?}");
            }
        }
        assert_eq!(targets.next(), None);
    }

    #[test]
    fn the_text_decides_on_the_kind() {
        let target = |text: &str| text.parse::<Target>().unwrap();
        // All kinds of these targets have the same costs.
        for (given, own) in [("sm_90a", "sm_90"), ("sm_100f", "sm_90"), ("sm_120", "sm_90")] {
            assert_eq!(target(given).for_text(target(own)), target(given));
        }
        assert!(target("sm_107a").has(Feature::Bytes) && !target("sm_107").has(Feature::Bytes));
        // An unknown target has the features of the known target below it.
        assert!(target("sm_93").has(Feature::Halves));
        assert!(target("sm_125").has(Feature::SaturatingWords));
        assert!(!target("sm_125a").has(Feature::Bytes));
    }

    #[test]
    fn targets_keep_their_suffix() {
        let parse = |text: &str| text.parse::<Target>();
        assert_eq!(parse("sm_100f").unwrap(), Target { number: 100, suffix: Some('f') });
        assert_eq!(parse("sm_90a").unwrap().to_string(), "sm_90a");
        assert_eq!(parse("compute_75").unwrap(), Target::sm(75));
        for bad in ["sm_", "sm_a", "sm_90b", "90", "sm_+9", "sm_99999999", "sm_9aa"] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }
}
