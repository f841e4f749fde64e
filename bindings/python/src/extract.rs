//! PTX inside binaries and archives.

use std::fs::File;
use std::io::{BufReader, Cursor};
use std::path::PathBuf;

use pyo3::create_exception;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use vptx::extract::{self as library, Limits, Member};

create_exception!(
    vptx,
    ExtractError,
    PyValueError,
    "A PTX text of a file cannot be read. `images` has the others, `errors` all messages."
);

/// A PTX text of a binary.
#[pyclass(frozen, eq, hash, get_all, module = "vptx")]
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Image {
    /// A name for the text, such as `3.sm_90.ptx`.
    name: String,
    /// The names of the archive members that it is in, from the outermost on.
    members: Vec<String>,
    /// The target, such as `sm_90`.
    target: String,
    /// Major and minor version of PTX.
    version: (u16, u16),
    /// `none`, `lz4` or `zstd`.
    compression: &'static str,
    /// The offset in the file at which its entry starts, in bytes.
    offset: u64,
    /// The text. Each byte that is not UTF-8 is replaced by U+007F.
    text: String,
}

#[pymethods]
impl Image {
    fn __repr__(&self) -> String {
        let place: String = self.members.iter().map(|member| format!("{member}!")).collect();
        format!("<Image {place}{}, {} bytes>", self.name, self.text.len())
    }

    fn __str__(&self) -> &str {
        &self.text
    }
}

/// The PTX texts in a file or in bytes: a library, a program, an object, a fat binary, a wheel
/// or another archive.
///
/// Raises `ExtractError` if a text cannot be read, after all others have been read; with
/// `strict=False` such texts are left out. Raises `OSError` if the file cannot be read.
#[pyfunction]
#[pyo3(signature = (source, *, strict = true))]
pub(crate) fn extract(source: &Bound<'_, PyAny>, strict: bool) -> PyResult<Vec<Image>> {
    let py = source.py();
    let (images, errors) = if let Ok(bytes) = source.cast::<PyBytes>() {
        // The bytes are borrowed: the object is immutable, and the caller keeps it alive.
        let bytes = bytes.as_bytes();
        py.detach(|| walk(&mut Cursor::new(bytes)))
    } else if let Ok(path) = source.extract::<PathBuf>() {
        py.detach(|| File::open(path).map(|file| walk(&mut BufReader::new(file))))?
    } else {
        let found = source.get_type();
        let text = format!("expected a path (str or PathLike) or bytes, got {found}");
        return Err(PyTypeError::new_err(text));
    };
    match errors.first() {
        Some(first) if strict => {
            let more = errors.len() - 1;
            let more = if more > 0 { format!(" ({more} more)") } else { String::new() };
            let error = ExtractError::new_err(format!("{first}{more}"));
            error.value(py).setattr("images", images)?;
            error.value(py).setattr("errors", errors)?;
            Err(error)
        }
        _ => Ok(images),
    }
}

fn walk(file: &mut (impl std::io::Read + std::io::Seek)) -> (Vec<Image>, Vec<String>) {
    let (mut images, mut errors) = (Vec::new(), Vec::new());
    library::walk(file, Limits::default(), &mut |member: &Member, image| match image {
        Ok(image) => images.push(Image {
            name: image.name(),
            members: member.names().to_vec(),
            target: image.target.to_string(),
            version: image.version,
            compression: image.compression.text(),
            offset: image.offset,
            text: image.text().into_owned(),
        }),
        Err(error) if member.names().is_empty() => errors.push(error.to_string()),
        Err(error) => errors.push(format!("{member}: {error}")),
    });
    (images, errors)
}
