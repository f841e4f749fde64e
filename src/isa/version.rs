use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// A PTX ISA version, as in `.version 8.5`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PtxVersion {
    /// The number before the dot.
    pub major: u8,
    /// The number after the dot.
    pub minor: u8,
}

impl PtxVersion {
    /// The version `major.minor`.
    pub const fn new(major: u8, minor: u8) -> PtxVersion {
        PtxVersion { major, minor }
    }

    /// The newest version that ptxas 13.5 knows.
    pub const NEWEST: PtxVersion = {
        let (major, minor) = LAST_MINORS[LAST_MINORS.len() - 1];
        PtxVersion { major, minor }
    };

    /// Whether the version exists, as far as ptxas 13.5 knows.
    pub fn is_known(self) -> bool {
        LAST_MINORS.iter().any(|&(major, last)| self.major == major && self.minor <= last)
    }

    /// The newest known version that is not above this one, or the oldest one if all are above.
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
#[error("`{0}` is no PTX version; a version looks like `8.5`")]
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
        // A known version is nearest to itself.
        for version in (0..=12).flat_map(|major| (0..=12).map(move |m| PtxVersion::new(major, m))) {
            assert!(version.nearest_known().is_known(), "{version}");
            assert_eq!(version.nearest_known() == version, version.is_known(), "{version}");
        }
        assert_eq!(PtxVersion::new(255, 255).nearest_known(), PtxVersion::NEWEST);
    }
}
