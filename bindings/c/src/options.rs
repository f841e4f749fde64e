//! Options of a check.

use std::borrow::Cow;
use std::fmt::Display;
use std::str::FromStr;

use library::CheckOptions;
use library::diagnostic::{RuleSelector, RuleSet};
use library::isa::Target;
use library::source::{MAX_LEN, decoded};

use crate::error::Failure;
use crate::types::{Str, dialect, language};

/// Options of a check. All members zero are the defaults. Strings may have no data.
#[repr(C)]
pub struct Options {
    /// A `vptx_language`.
    pub language: u32,
    /// A `vptx_dialect`.
    pub dialect: u32,
    /// Targets such as `sm_90`, with commas between them, in place of the `.target` of the text.
    pub target: Str,
    /// A version such as `8.0`, in place of the `.version` of the text.
    pub ptx_version: Str,
    /// The rules that are reported, with commas between them, in place of the default rules: codes,
    /// names, or the start of codes such as `V5`.
    pub select: Str,
    /// Rules that are reported in addition.
    pub extend_select: Str,
    /// Rules that are not reported.
    pub ignore: Str,
}

/// # Safety
/// The data of all strings, unless NULL, have as many bytes as their sizes say.
pub(crate) unsafe fn options(given: Option<&Options>) -> Result<CheckOptions, Failure> {
    let Some(given) = given else { return Ok(CheckOptions::default()) };
    // SAFETY: the caller promises that for all strings.
    let word = |text: Str, name: &str| unsafe { word(text, name) };
    let targets: Vec<Target> = parsed(word(given.target, "target")?)?;
    let version = word(given.ptx_version, "ptx_version")?;
    let version = if version.is_empty() { None } else { Some(one(version)?) };
    let select: Vec<RuleSelector> = parsed(word(given.select, "select")?)?;
    let select = (!select.is_empty()).then_some(select.as_slice());
    let extend: Vec<RuleSelector> = parsed(word(given.extend_select, "extend_select")?)?;
    let ignore: Vec<RuleSelector> = parsed(word(given.ignore, "ignore")?)?;
    let options = CheckOptions::default()
        .with_language(language(given.language)?)
        .with_dialect(dialect(given.dialect)?)
        .with_ptx_version(version)
        .with_rules(RuleSet::DEFAULT.choose(select, &extend, &ignore));
    Ok(match targets.as_slice() {
        [target] => options.with_target(Some(*target)),
        _ => options.with_targets(targets),
    })
}

/// # Safety
/// As that of [`Str::bytes`].
pub(crate) unsafe fn word<'a>(text: Str, name: &str) -> Result<&'a str, Failure> {
    // SAFETY: the caller promises it.
    let bytes = unsafe { text.bytes(name) }?;
    str::from_utf8(bytes).map_err(|error| Failure::invalid(format!("{name}: {error}")))
}

/// A target, or none if there is no text.
///
/// # Safety
/// As that of [`Str::bytes`].
pub(crate) unsafe fn target(text: Str) -> Result<Option<Target>, Failure> {
    // SAFETY: the caller promises it.
    let text = unsafe { word(text, "target") }?;
    if text.is_empty() { Ok(None) } else { one(text).map(Some) }
}

/// A text of PTX or another language. Bytes that are not UTF-8 become U+007F.
///
/// # Safety
/// As that of [`Str::bytes`].
pub(crate) unsafe fn text<'a>(text: Str) -> Result<Cow<'a, str>, Failure> {
    // SAFETY: the caller promises it.
    let bytes = unsafe { text.bytes("the text") }?;
    if bytes.len() > MAX_LEN {
        return Err(Failure::invalid(format!("the text has more than {MAX_LEN} bytes")));
    }
    Ok(decoded(bytes))
}

/// Like [`text`], for a text of which a new one is made: bytes that are not UTF-8 would not survive.
///
/// # Safety
/// As that of [`Str::bytes`].
pub(crate) unsafe fn exact_text<'a>(given: Str) -> Result<Cow<'a, str>, Failure> {
    // SAFETY: the caller promises it.
    let (bytes, text) = unsafe { (given.bytes("the text")?, text(given)?) };
    str::from_utf8(bytes).map_err(|error| Failure::invalid(format!("the text: {error}")))?;
    Ok(text)
}

fn one<T: FromStr<Err: Display>>(text: &str) -> Result<T, Failure> {
    text.trim().parse().map_err(Failure::invalid)
}

/// Values with commas between them; none if there is no text.
fn parsed<T: FromStr<Err: Display>>(text: &str) -> Result<Vec<T>, Failure> {
    if text.is_empty() { Ok(Vec::new()) } else { text.split(',').map(one).collect() }
}
