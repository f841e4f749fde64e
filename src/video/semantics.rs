//! The meanings that an instruction can have.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use super::Deviation;
use super::deviation::Deviations;

words! {
    /// The meanings that an instruction can have.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    #[non_exhaustive]
    pub enum Semantics {
        /// The manual, as `vptx explain` reads it.
        #[default]
        Manual = "manual",
        /// The results of the code that ptxas 11.x, 12.x and 13.0 to 13.2 emit.
        Ptxas12 = "ptxas-12",
        /// The results of the code that ptxas emits from 13.3 on.
        Ptxas13 = "ptxas-13",
    }
    /// All of them.
    pub ALL
    /// The name on the command line.
    text
}

impl Semantics {
    /// The semantics of ptxas, the oldest first.
    pub const PTXAS: [Semantics; 2] = [Semantics::Ptxas12, Semantics::Ptxas13];

    /// The semantics of the newest ptxas.
    pub const CURRENT: Semantics = Semantics::Ptxas13;

    /// The semantics of a release of ptxas such as `12.9` or `13.5.37`; `None` if the text is no
    /// release. The compiler in a driver has the release of the driver's CUDA. Releases from 11.8
    /// to 13.5 are known; older and newer releases are taken for the nearest known one.
    pub fn of_ptxas(release: &str) -> Option<Semantics> {
        let mut numbers = release.split('.').map(|number| number.parse().ok());
        let release: (u32, u32) = (numbers.next()??, numbers.next().unwrap_or(Some(0))?);
        Some(if release < (13, 3) { Semantics::Ptxas12 } else { Semantics::Ptxas13 })
    }

    /// A title: the manual, or the releases of ptxas that give these results.
    pub const fn title(self) -> &'static str {
        match self {
            Semantics::Manual => "The manual",
            Semantics::Ptxas12 => "The code of ptxas 11.0 to 13.2",
            Semantics::Ptxas13 => "The code of ptxas 13.3 and later",
        }
    }
}

/// The error for a text that is no name of a semantics.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{0}` is no semantics: `manual`, `ptxas-12`, `ptxas-13`")]
pub struct UnknownSemantics(String);

impl FromStr for Semantics {
    type Err = UnknownSemantics;

    /// # Errors
    /// If the text is no name of a semantics.
    fn from_str(text: &str) -> Result<Semantics, UnknownSemantics> {
        Semantics::ALL
            .into_iter()
            .find(|semantics| semantics.text() == text)
            .ok_or_else(|| UnknownSemantics(text.into()))
    }
}

impl Semantics {
    /// The deviations of this semantics from the manual.
    pub(crate) const fn deviations(self) -> Deviations {
        match self {
            Semantics::Manual => Deviations::NONE,
            Semantics::Ptxas12 => Deviations::ALL,
            // ptxas 13.3 has no C1 any more.
            Semantics::Ptxas13 => Deviations::ALL.without(Deviation::C1),
        }
    }
}

impl fmt::Display for Semantics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}
