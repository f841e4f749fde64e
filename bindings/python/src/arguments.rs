//! Arguments that Python hands over.

use std::borrow::Cow;
use std::fmt::Display;
use std::path::PathBuf;
use std::str::FromStr;

use pyo3::exceptions::{PyOverflowError, PyTypeError, PyUnicodeDecodeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};
use vptx::check::Language;
use vptx::diagnostic::{RuleSelector, RuleSet};
use vptx::isa::{PtxVersion, Target};
use vptx::source::{MAX_LEN, decoded};
use vptx::{CheckOptions, Dialect};

/// A text of PTX or CUDA: a `str`, or `bytes` as a file has them.
pub(crate) struct Text(pub(crate) String);

impl<'py> FromPyObject<'_, 'py> for Text {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Text> {
        let text = if let Ok(text) = object.cast::<PyString>() {
            text.to_cow()?.into_owned()
        } else if let Ok(bytes) = object.cast::<PyBytes>() {
            decoded(bytes.as_bytes()).into_owned()
        } else {
            let found = object.get_type().name()?;
            return Err(PyTypeError::new_err(format!(
                "expected a text (str or bytes), got {found}"
            )));
        };
        if text.len() > MAX_LEN {
            return Err(PyValueError::new_err(format!("the text has more than {MAX_LEN} bytes")));
        }
        Ok(Text(text))
    }
}

/// A text of which a new one is made. Bytes that are not UTF-8 would not survive.
pub(crate) struct ExactText(pub(crate) String);

impl<'py> FromPyObject<'_, 'py> for ExactText {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<ExactText> {
        if let Ok(bytes) = object.cast::<PyBytes>()
            && let Err(error) = str::from_utf8(bytes.as_bytes())
        {
            let (py, bytes) = (object.py(), bytes.as_bytes());
            return Err(PyUnicodeDecodeError::new_utf8(py, bytes, error)?.into());
        }
        object.extract().map(|Text(text)| ExactText(text))
    }
}

/// A path as text, for findings.
pub(crate) struct Path(pub(crate) String);

impl<'py> FromPyObject<'_, 'py> for Path {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Path> {
        let path: PathBuf = object.extract()?;
        Ok(Path(path.to_string_lossy().into_owned()))
    }
}

/// A value that is given as a string, such as a target.
pub(crate) struct Named<T>(pub(crate) T);

impl<'py, T: FromStr<Err: Display>> FromPyObject<'_, 'py> for Named<T> {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Named<T>> {
        let text: Cow<'_, str> = object.extract()?;
        text.parse().map(Named).map_err(|error: T::Err| PyValueError::new_err(error.to_string()))
    }
}

/// Words: a list of strings, or one string with commas between the words.
fn words(object: Borrowed<'_, '_, PyAny>) -> PyResult<Vec<String>> {
    match object.cast::<PyString>() {
        Ok(text) => Ok(text.to_cow()?.split(',').map(|word| word.trim().to_string()).collect()),
        Err(_) => object.try_iter()?.map(|word| word?.extract()).collect(),
    }
}

fn parsed<T: FromStr<Err: Display>>(words: &[String]) -> PyResult<Vec<T>> {
    let invalid = |error: T::Err| PyValueError::new_err(error.to_string());
    words.iter().map(|word| word.parse().map_err(invalid)).collect()
}

/// Selectors of rules.
#[derive(Default)]
pub(crate) struct Rules(Vec<RuleSelector>);

impl<'py> FromPyObject<'_, 'py> for Rules {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Rules> {
        parsed(&words(object)?).map(Rules)
    }
}

/// Targets.
#[derive(Default)]
pub(crate) struct Targets(Vec<Target>);

impl<'py> FromPyObject<'_, 'py> for Targets {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Targets> {
        parsed(&words(object)?).map(Targets)
    }
}

/// The arguments of `check`, `fix` and `parse` that choose the language, targets and rules.
#[derive(Default)]
pub(crate) struct Choices {
    pub(crate) language: Option<Named<Language>>,
    pub(crate) target: Option<Targets>,
    pub(crate) ptx_version: Option<Named<PtxVersion>>,
    pub(crate) dialect: Option<Named<Dialect>>,
    pub(crate) select: Option<Rules>,
    pub(crate) extend_select: Option<Rules>,
    pub(crate) ignore: Option<Rules>,
}

impl Choices {
    /// The options for a text with this name, which tells its language if no argument does.
    pub(crate) fn options(self, path: Option<&str>, text: &str) -> CheckOptions {
        let by_name = || Language::of(std::path::Path::new(path?), text);
        let language = self.language.map(|it| it.0).or_else(by_name).unwrap_or_default();
        let select = self.select.map(|it| it.0);
        let extend = self.extend_select.unwrap_or_default().0;
        let ignore = self.ignore.unwrap_or_default().0;
        let rules = RuleSet::DEFAULT.choose(select.as_deref(), &extend, &ignore);
        let options = CheckOptions::default()
            .with_language(language)
            .with_dialect(self.dialect.map_or(Dialect::default(), |it| it.0))
            .with_ptx_version(self.ptx_version.map(|it| it.0))
            .with_rules(rules);
        match self.target.unwrap_or_default().0.as_slice() {
            [target] => options.with_target(Some(*target)),
            targets => options.with_targets(targets.to_vec()),
        }
    }
}

/// A word of 32 bits: an integer, or an object that converts to one.
#[derive(Clone, Copy)]
pub(crate) struct Word(pub(crate) u32);

impl<'py> FromPyObject<'_, 'py> for Word {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Word> {
        let value: i64 = object.extract().map_err(|error: PyErr| {
            if error.is_instance_of::<PyOverflowError>(object.py()) {
                too_large(&object)
            } else if error.get_type(object.py()).is(object.py().get_type::<PyTypeError>()) {
                let found = object.get_type();
                PyTypeError::new_err(format!("expected an int of 32 bits, got {found}"))
            } else {
                error
            }
        })?;
        u32::try_from(value)
            .or_else(|_| i32::try_from(value).map(i32::cast_unsigned))
            .map(Word)
            .map_err(|_| too_large(&object))
    }
}

fn too_large(value: &Bound<'_, PyAny>) -> PyErr {
    // Python refuses to write numbers of thousands of digits.
    let shown = value.str().ok().map(|it| it.to_string()).filter(|it| it.len() <= DIGITS);
    let shown = shown.as_deref().unwrap_or("the number");
    PyValueError::new_err(format!(
        "{shown} does not fit 32 bits, which hold -2147483648 to 4294967295"
    ))
}

/// The longest number that a message shows.
const DIGITS: usize = 40;
