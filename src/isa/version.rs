use std::fmt;
use std::str::FromStr;

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
}

impl fmt::Display for PtxVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

impl FromStr for PtxVersion {
    type Err = String;

    /// # Errors
    /// A message, when the text is not two small numbers with a dot between.
    fn from_str(text: &str) -> Result<PtxVersion, String> {
        text.split_once('.')
            .and_then(|(major, minor)| Some((decimal(major)?, decimal(minor)?)))
            .map(|(major, minor)| PtxVersion { major, minor })
            .ok_or_else(|| format!("`{text}` is no PTX version; one looks like `8.5`"))
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
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sm_{}", self.number)?;
        self.suffix.map_or(Ok(()), |suffix| write!(f, "{suffix}"))
    }
}

impl FromStr for Target {
    type Err = String;

    /// Reads `sm_90`, `sm_90a`, `sm_100f`, and `compute_90` alike.
    ///
    /// # Errors
    /// A message, when the text has none of these shapes.
    fn from_str(text: &str) -> Result<Target, String> {
        let error = || format!("`{text}` is no target; one looks like `sm_90`");
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
