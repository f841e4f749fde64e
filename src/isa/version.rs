use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// A PTX ISA version, as in `.version 8.5`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PtxVersion {
    /// Before the dot.
    pub major: u8,
    /// After the dot.
    pub minor: u8,
}

impl PtxVersion {
    /// The version `major.minor`.
    pub const fn new(major: u8, minor: u8) -> PtxVersion {
        PtxVersion { major, minor }
    }

    /// The newest known version: that of ptxas 13.5.
    pub const NEWEST: PtxVersion = {
        let (major, minor) = LAST_MINORS[LAST_MINORS.len() - 1];
        PtxVersion { major, minor }
    };

    /// Whether the version exists, as far as ptxas 13.5 knows.
    pub fn is_known(self) -> bool {
        LAST_MINORS.iter().any(|&(major, last)| self.major == major && self.minor <= last)
    }

    /// The newest known version that is not above this one. The oldest one if all are above.
    #[must_use]
    pub fn nearest_known(self) -> PtxVersion {
        let mut all = LAST_MINORS.iter().rev().map(|&(major, last)| {
            let minor = if major == self.major { self.minor.min(last) } else { last };
            PtxVersion::new(major, minor)
        });
        all.find(|version| *version <= self).unwrap_or(PtxVersion::new(1, 0))
    }
}

/// The last minor version of each major version, as ptxas 13.5 has them. Minor versions start
/// at 0.
const LAST_MINORS: [(u8, u8); 9] =
    [(1, 5), (2, 3), (3, 2), (4, 3), (5, 1), (6, 5), (7, 8), (8, 8), (9, 5)];

impl fmt::Display for PtxVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// The error for a text that is not a PTX version.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{0}` is no PTX version; one looks like `8.5`")]
pub struct InvalidVersion(String);

impl FromStr for PtxVersion {
    type Err = InvalidVersion;

    /// # Errors
    /// If the text is not two numbers up to 255 with a dot between them.
    fn from_str(text: &str) -> Result<PtxVersion, InvalidVersion> {
        text.split_once('.')
            .and_then(|(major, minor)| Some((decimal(major)?, decimal(minor)?)))
            .map(|(major, minor)| PtxVersion { major, minor })
            .ok_or_else(|| InvalidVersion(text.into()))
    }
}

/// Digits only: `u8::from_str` also takes a `+`.
fn decimal(text: &str) -> Option<u8> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}

/// A GPU target, as in `.target sm_90a`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Target {
    /// The number: 90 for `sm_90a`.
    pub number: u16,
    /// `a` (architecture-specific) or `f` (family-specific) features.
    pub suffix: Option<char>,
}

impl Target {
    /// The plain target `sm_number`.
    pub const fn sm(number: u16) -> Target {
        Target { number, suffix: None }
    }

    /// Whether ptxas 13.5 knows the target in a module, old ones included.
    pub fn is_known(self) -> bool {
        self.known_since().is_some()
    }

    /// The lowest PTX version that ptxas takes together with the target in a module. `None` if
    /// ptxas 13.5 does not know the target.
    pub(crate) fn known_since(self) -> Option<PtxVersion> {
        let &(_, since, suffixes) = TARGETS.iter().find(|row| row.0 == self.number)?;
        let (major, minor) = match self.suffix {
            None => since,
            Some(own) => suffixes.iter().find(|(suffix, _)| *suffix == own)?.1,
        };
        Some(PtxVersion::new(major, minor))
    }

    /// This target if it is known. Otherwise the known target with the nearest number, without
    /// a suffix.
    #[must_use]
    pub fn nearest_known(self) -> Target {
        let near = TARGETS.iter().map(|&(number, ..)| number);
        let near = near.min_by_key(|number| number.abs_diff(self.number));
        if self.is_known() { self } else { Target::sm(near.unwrap_or(self.number)) }
    }

    /// The lowest PTX version that code for the target can have. That of the known target below
    /// it, if it is not known itself.
    pub fn since(self) -> PtxVersion {
        let below = TARGETS.iter().rev().find(|row| row.0 <= self.number).unwrap_or(&TARGETS[0]);
        let (major, minor) = below.1;
        self.known_since().unwrap_or(PtxVersion::new(major, minor))
    }

    /// The newest known target.
    pub const NEWEST: Target = Target::sm(TARGETS[TARGETS.len() - 1].0);
}

/// The number of a target, its lowest PTX version, and the suffixes that it may have, with
/// theirs.
type TargetRow = (u16, (u8, u8), &'static [(char, (u8, u8))]);

/// The targets that ptxas 13.5 accepts in a module, by number. ptxas 11.8 and 12.9 agree as far
/// as they know them, but for `sm_90a`, which 11.8 takes together with PTX 7.8.
#[rustfmt::skip]
const TARGETS: [TargetRow; 33] = [
    (10, (1, 0), &[]),
    (11, (1, 0), &[]),
    (12, (1, 2), &[]),
    (13, (1, 2), &[]),
    (20, (2, 0), &[]),
    (21, (2, 0), &[]),
    (30, (3, 0), &[]),
    (32, (4, 0), &[]),
    (35, (3, 1), &[]),
    (37, (4, 1), &[]),
    (50, (4, 0), &[]),
    (52, (4, 1), &[]),
    (53, (4, 2), &[]),
    (60, (5, 0), &[]),
    (61, (5, 0), &[]),
    (62, (5, 0), &[]),
    (70, (5, 1), &[]),
    (72, (6, 1), &[]),
    (75, (6, 3), &[]),
    (80, (7, 0), &[]),
    (82, (6, 2), &[]),
    (86, (7, 1), &[]),
    (87, (7, 4), &[]),
    (88, (9, 0), &[]),
    (89, (7, 8), &[]),
    (90, (7, 8), &[('a', (8, 0))]),
    (100, (8, 6), &[('a', (8, 6)), ('f', (8, 8))]),
    (101, (8, 6), &[('a', (8, 6)), ('f', (8, 8))]),
    (103, (8, 8), &[('a', (8, 8)), ('f', (8, 8))]),
    (107, (9, 4), &[('a', (9, 4)), ('f', (9, 4))]),
    (110, (9, 0), &[('a', (9, 0)), ('f', (9, 0))]),
    (120, (8, 7), &[('a', (8, 7)), ('f', (8, 8))]),
    (121, (8, 8), &[('a', (8, 8)), ('f', (8, 8))]),
];

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sm_{}", self.number)?;
        self.suffix.map_or(Ok(()), |suffix| write!(f, "{suffix}"))
    }
}

/// The error for a text that is not a target.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{0}` is no target; one looks like `sm_90`")]
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
    fn versions_order_by_number_not_text() {
        let parse = |text: &str| text.parse::<PtxVersion>();
        assert!(parse("10.0").unwrap() > parse("9.3").unwrap());
        for bad in ["", "8", "8.", ".5", "8.5.1", "+8.5", "8.500", "v8.5"] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn known_versions_and_those_near_them() {
        let known = |text: &str| text.parse::<PtxVersion>().unwrap().is_known();
        for text in ["1.0", "1.5", "2.3", "3.2", "4.3", "5.1", "6.5", "7.8", "8.8", "9.0", "9.5"] {
            assert!(known(text), "{text}");
        }
        let near = [
            ("0.9", "1.0"),
            ("1.6", "1.5"),
            ("2.10", "2.3"),
            ("5.2", "5.1"),
            ("9.6", "9.5"),
            ("9.50", "9.5"),
            ("10.0", "9.5"),
            ("99.0", "9.5"),
        ];
        for (text, nearest) in near {
            assert!(!known(text), "{text}");
            let version: PtxVersion = text.parse().unwrap();
            assert_eq!(version.nearest_known().to_string(), nearest, "{text}");
        }
        // A known version is its own nearest one.
        for version in (0..=12).flat_map(|major| (0..=12).map(move |m| PtxVersion::new(major, m))) {
            assert!(version.nearest_known().is_known(), "{version}");
            assert_eq!(version.nearest_known() == version, version.is_known(), "{version}");
        }
        assert_eq!(PtxVersion::new(255, 255).nearest_known(), PtxVersion::NEWEST);
    }

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
            ("sm_999", "sm_121"),
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

    /// What each ptxas said of each pair is in the file.
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
        let known: usize = TARGETS.iter().map(|(_, _, suffixes)| 1 + suffixes.len()).sum();
        assert!(pairs > known, "{pairs} {known}");
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
