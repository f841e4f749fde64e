//! PTX inside binaries and archives.

use std::fs::File;
use std::io::{self, BufReader, Cursor, Read, Seek};
use std::path::{Path, PathBuf};

use pyo3::create_exception;
use pyo3::exceptions::{PyOSError, PyTypeError, PyValueError};
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
    compression: String,
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

    #[new]
    fn new(
        name: String,
        members: Vec<String>,
        target: String,
        version: (u16, u16),
        compression: String,
        offset: u64,
        text: String,
    ) -> Image {
        Image { name, members, target, version, compression, offset, text }
    }

    fn __getnewargs__(&self) -> (&str, &[String], &str, (u16, u16), &str, u64, &str) {
        let Image { name, members, target, version, compression, offset, text } = self;
        (name, members, target, *version, compression, *offset, text)
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
    let Found { images, errors, failed } = if let Ok(bytes) = source.cast::<PyBytes>() {
        // The bytes are borrowed: the object is immutable, and the caller keeps it alive.
        let bytes = bytes.as_bytes();
        py.detach(|| walk(&mut Cursor::new(bytes)))
    } else if let Ok(path) = source.extract::<PathBuf>() {
        let found = py.detach(|| opened(&path).map(|file| walk(&mut BufReader::new(file))));
        found.map_err(|error| os_error(error, source))?
    } else {
        let found = source.get_type();
        let text = format!("expected a path (str or PathLike) or bytes, got {found}");
        return Err(PyTypeError::new_err(text));
    };
    if let Some(error) = failed {
        return Err(os_error(error, source));
    }
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

/// A file that can be read. A folder can be opened, but not read.
fn opened(path: &Path) -> io::Result<File> {
    let mut file = File::open(path)?;
    file.by_ref().take(1).read_to_end(&mut Vec::new())?;
    file.rewind()?;
    Ok(file)
}

/// An error of the system, with the name of the file.
fn os_error(error: io::Error, path: &Bound<'_, PyAny>) -> PyErr {
    // The numbers of Windows are others than those of Python.
    let Some(number) = error.raw_os_error().filter(|_| cfg!(unix)) else { return error.into() };
    let said = path.py().import("os").and_then(|os| os.call_method1("strerror", (number,)));
    match said {
        Ok(said) => PyOSError::new_err((number, said.unbind(), path.clone().unbind())),
        Err(error) => error,
    }
}

/// What is in a file.
struct Found {
    images: Vec<Image>,
    /// Messages about texts that cannot be read.
    errors: Vec<String>,
    /// The system could not read the file.
    failed: Option<io::Error>,
}

fn walk(file: &mut (impl Read + Seek)) -> Found {
    let mut found = Found { images: Vec::new(), errors: Vec::new(), failed: None };
    library::walk(file, Limits::default(), &mut |member: &Member, image| match image {
        Ok(image) => found.images.push(Image {
            name: image.name(),
            members: member.names().to_vec(),
            target: image.target.to_string(),
            version: image.version,
            compression: image.compression.text().to_string(),
            offset: image.offset,
            text: image.text().into_owned(),
        }),
        Err(library::ExtractError::Io(error)) if error.raw_os_error().is_some() => {
            found.failed = Some(error);
        }
        Err(error) if member.names().is_empty() => found.errors.push(error.to_string()),
        Err(error) => found.errors.push(format!("{member}: {error}")),
    });
    found
}
