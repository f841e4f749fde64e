//! Columns of 32-bit words in memory that Python objects own.

use std::ffi::{CStr, c_void};

use pyo3::exceptions::{PyBufferError, PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyByteArray, PyBytes, PyCapsule, PyDict, PyInt, PyMemoryView, PyTuple};
use vptx::ir::{Input, Program};

use crate::arguments::Word;
use crate::batch::{self, Source, View};
use crate::instruction::missing;

/// Bytes in a word.
const WORD: usize = size_of::<u32>();

/// The words of an object; the column keeps the object alive.
struct Column<'py> {
    view: View,
    is_writable: bool,
    is_numpy: bool,
    /// The object that keeps the memory alive.
    _owner: Bound<'py, PyAny>,
}

/// An argument.
enum Argument<'py> {
    Absent,
    Word(u32),
    Column(Column<'py>),
}

/// Evaluates a program on columns.
pub(crate) fn eval<'py>(
    py: Python<'py>,
    program: &Program,
    given: [Option<Bound<'py, PyAny>>; 3],
    out: Option<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let mut arguments = [Argument::Absent, Argument::Absent, Argument::Absent];
    for ((argument, input), given) in arguments.iter_mut().zip(Input::ALL).zip(given) {
        match given {
            Some(object) => *argument = Argument::of(&object, input.text())?,
            None if program.reads(input) => return Err(missing(input)),
            None => {}
        }
    }
    let target = match &out {
        Some(object) => Some(Column::writable(object)?),
        None => None,
    };
    let shape = shape_of(&arguments, target.as_ref())?;
    let sources = [0, 1, 2].map(|at| match &arguments[at] {
        Argument::Absent => Source::Word(0),
        // Only the shape of this column matters; its words are not read.
        _ if !program.reads(Input::ALL[at]) => Source::Word(0),
        Argument::Word(word) => Source::Word(*word),
        Argument::Column(column) => Source::Column(column.view.broadcast(&shape)),
    });
    if let (Some(target), Some(out)) = (target, out) {
        target.view.must_not_share()?;
        py.detach(|| batch::eval(program, sources, &target.view));
        return Ok(out);
    }
    let is_numpy = arguments.iter().any(|it| matches!(it, Argument::Column(it) if it.is_numpy));
    if is_numpy {
        let (out, target) = new_array(py, &shape)?;
        py.detach(|| batch::eval(program, sources, &target.view));
        // Like a ufunc of numpy, this gives a scalar in place of an array without dimensions.
        return if shape.is_empty() { out.get_item(PyTuple::empty(py)) } else { Ok(out) };
    }
    if shape.is_empty() {
        let mut word = 0u32;
        let view = View::new(&raw mut word as usize, Vec::new(), Vec::new());
        batch::eval(program, sources, &view);
        return Ok(word.into_pyobject(py)?.into_any());
    }
    new_memoryview(py, &shape, |view| py.detach(|| batch::eval(program, sources, view)))
}

/// The shape of the result.
fn shape_of(arguments: &[Argument<'_>; 3], out: Option<&Column<'_>>) -> PyResult<Vec<usize>> {
    let columns = || {
        arguments.iter().zip(Input::ALL).filter_map(|(argument, input)| match argument {
            Argument::Column(column) => Some((input.text(), column)),
            Argument::Absent | Argument::Word(_) => None,
        })
    };
    let mut shape: Vec<usize> = Vec::new();
    for (_, column) in columns() {
        let own = &column.view.shape;
        let longer = own.len().saturating_sub(shape.len());
        shape.splice(0..0, std::iter::repeat_n(1, longer));
        let skipped = shape.len() - own.len();
        for (size, &own) in shape[skipped..].iter_mut().zip(own) {
            match (*size, own) {
                (1, _) => *size = own,
                (_, 1) => {}
                (size, own) if size == own => {}
                _ => return Err(no_common_shape(columns())),
            }
        }
    }
    let Some(out) = out else { return Ok(shape) };
    let wanted = &out.view.shape;
    let skipped = wanted.len().checked_sub(shape.len());
    let fits = skipped.is_some_and(|skipped| {
        shape.iter().zip(&wanted[skipped..]).all(|(&own, &wanted)| own == wanted || own == 1)
    });
    if !fits {
        let (shape, wanted) = (shown(&shape), shown(wanted));
        return Err(PyValueError::new_err(format!(
            "out has the shape {wanted}, but the sources broadcast to {shape}"
        )));
    }
    Ok(wanted.clone())
}

fn no_common_shape<'a, 'py: 'a>(
    columns: impl Iterator<Item = (&'static str, &'a Column<'py>)>,
) -> PyErr {
    let shapes = columns.map(|(name, column)| format!("{name} {}", shown(&column.view.shape)));
    let shapes = shapes.collect::<Vec<_>>().join(", ");
    PyValueError::new_err(format!("the shapes do not broadcast: {shapes}"))
}

/// A shape as Python writes it.
fn shown(shape: &[usize]) -> String {
    if let [one] = shape {
        return format!("({one},)");
    }
    let sizes: Vec<String> = shape.iter().map(usize::to_string).collect();
    format!("({})", sizes.join(", "))
}

/// A new numpy array.
fn new_array<'py>(py: Python<'py>, shape: &[usize]) -> PyResult<(Bound<'py, PyAny>, Column<'py>)> {
    static EMPTY: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    static UINT32: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let empty = EMPTY.import(py, "numpy", "empty")?;
    let dtype = UINT32.import(py, "numpy", "uint32")?;
    let array = empty.call1((PyTuple::new(py, shape)?, dtype))?;
    let column = Column::writable(&array)?;
    Ok((array, column))
}

/// A new memoryview of words. `fill` computes them.
fn new_memoryview<'py>(
    py: Python<'py>,
    shape: &[usize],
    fill: impl FnOnce(&View),
) -> PyResult<Bound<'py, PyAny>> {
    let bytes = batch::total(shape).and_then(|words| words.checked_mul(WORD));
    let bytes = bytes.ok_or_else(|| PyValueError::new_err("the result is too large"))?;
    let array = PyByteArray::new_with(py, bytes, |bytes| {
        fill(&View::contiguous(bytes.as_mut_ptr() as usize, shape.to_vec()));
        Ok(())
    })?;
    let view = PyMemoryView::from(&array)?;
    if bytes == 0 {
        // A view of no bytes cannot take a shape with a 0.
        return view.call_method1(intern!(py, "cast"), ("I",));
    }
    view.call_method1(intern!(py, "cast"), ("I", PyTuple::new(py, shape)?))
}

impl<'py> Argument<'py> {
    fn of(object: &Bound<'py, PyAny>, name: &str) -> PyResult<Argument<'py>> {
        let py = object.py();
        // A numpy scalar has an array interface, but does not keep the memory that the interface
        // names.
        let is_word = object.is_instance_of::<PyInt>()
            || (object.hasattr(intern!(py, "__index__"))?
                && !object.hasattr(intern!(py, "__dlpack__"))?);
        if is_word {
            let Word(word) = object.extract().map_err(|error| named(py, error, name))?;
            return Ok(Argument::Word(word));
        }
        let found = Column::of(object).map_err(|error| named(py, error, name))?;
        match found {
            Some(column) => Ok(Argument::Column(column)),
            None => Err(unsupported(object, name)),
        }
    }
}

/// Whether numpy, if it is loaded, knows an array as a masked one.
fn is_masked(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    let modules = object.py().import("sys")?.getattr("modules")?;
    let masked = modules.cast::<PyDict>()?.get_item("numpy.ma")?;
    // `None` keeps a module from being loaded.
    match masked.filter(|it| !it.is_none()) {
        Some(masked) => object.is_instance(&masked.getattr("MaskedArray")?),
        None => Ok(false),
    }
}

/// The error with the name of the argument. Errors of another kind are not about the argument.
fn named(py: Python<'_>, error: PyErr, name: &str) -> PyErr {
    let text = || format!("{name}: {}", error.value(py));
    let kind = error.get_type(py);
    let named = if kind.is(py.get_type::<PyTypeError>()) {
        PyTypeError::new_err(text())
    } else if kind.is(py.get_type::<PyValueError>()) {
        PyValueError::new_err(text())
    } else {
        return error;
    };
    named.set_cause(py, Some(error));
    named
}

fn unsupported(object: &Bound<'_, PyAny>, name: &str) -> PyErr {
    let found = object.get_type();
    PyTypeError::new_err(format!(
        "{name}: expected uint32 words: an int, a numpy array, or an object with DLPack or the \
         buffer protocol; got {found}"
    ))
}

impl<'py> Column<'py> {
    /// The words of an object. `None` if it offers none.
    fn of(object: &Bound<'py, PyAny>) -> PyResult<Option<Column<'py>>> {
        let column = Column::offered(object)?;
        if column.as_ref().is_some_and(|it| it.view.is_null()) {
            return Err(PyValueError::new_err("it has words, but no address"));
        }
        Ok(column)
    }

    fn offered(object: &Bound<'py, PyAny>) -> PyResult<Option<Column<'py>>> {
        let py = object.py();
        if let Some(interface) = object.getattr_opt(intern!(py, "__array_interface__"))?
            && let Some(column) = Column::of_array(object, &interface)?
        {
            return Ok(Some(column));
        }
        if let Some(export) = object.getattr_opt(intern!(py, "__dlpack__"))? {
            return Column::of_dlpack(object, &export).map(Some);
        }
        match PyMemoryView::from(object) {
            Ok(view) => Column::of_buffer(&view).map(Some),
            Err(_) => Ok(None),
        }
    }

    /// The words of an object, for writing.
    fn writable(object: &Bound<'py, PyAny>) -> PyResult<Column<'py>> {
        let py = object.py();
        let column = Column::of(object).map_err(|error| named(py, error, "out"))?;
        let column = column.ok_or_else(|| unsupported(object, "out"))?;
        if !column.is_writable {
            return Err(PyValueError::new_err("out: its memory cannot be written"));
        }
        Ok(column)
    }

    /// By `__array_interface__`, version 3. `None` if the interface names no address.
    fn of_array(
        object: &Bound<'py, PyAny>,
        interface: &Bound<'py, PyAny>,
    ) -> PyResult<Option<Column<'py>>> {
        let py = object.py();
        let interface = interface.cast::<PyDict>()?;
        let item = |name| interface.get_item(name).map(|item| item.filter(|it| !it.is_none()));
        let Some(Ok((address, is_readonly))) =
            item("data")?.map(|data| data.extract::<(usize, bool)>())
        else {
            return Ok(None);
        };
        let kind: String = match item("typestr")? {
            Some(kind) => kind.extract()?,
            None => return Ok(None),
        };
        let native = if cfg!(target_endian = "big") { ">u4" } else { "<u4" };
        if kind != native {
            let dtype = object.getattr_opt(intern!(py, "dtype"))?;
            let found = dtype.map_or(Ok(kind), |dtype| dtype.str().map(|it| it.to_string()))?;
            return Err(wrong_type(&found));
        }
        if item("mask")?.is_some() || is_masked(object)? {
            return Err(PyTypeError::new_err("masked arrays are not supported"));
        }
        let shape: Vec<usize> = match item("shape")? {
            Some(shape) => shape.extract()?,
            None => return Ok(None),
        };
        let view = match item("strides")? {
            Some(strides) => {
                let strides: Vec<isize> = strides.extract()?;
                if strides.len() != shape.len() {
                    return Err(PyValueError::new_err("its array interface is not valid"));
                }
                View::new(address, shape, strides)
            }
            None => View::contiguous(address, shape),
        };
        let numpy = PyOnceLock::import(&NDARRAY, py, "numpy", "ndarray");
        let is_numpy = numpy.is_ok_and(|ndarray| object.is_instance(ndarray).unwrap_or(false));
        let owner = object.clone();
        Ok(Some(Column { view, is_writable: !is_readonly, is_numpy, _owner: owner }))
    }

    /// By DLPack. The capsule is not consumed: it frees the tensor when it is dropped.
    fn of_dlpack(object: &Bound<'py, PyAny>, export: &Bound<'py, PyAny>) -> PyResult<Column<'py>> {
        let py = object.py();
        let device = object.call_method0(intern!(py, "__dlpack_device__"))?;
        let (device, _): (i32, i32) = device.extract()?;
        if ![dlpack::CPU, dlpack::CUDA_HOST].contains(&device) {
            return Err(PyValueError::new_err(format!(
                "expected memory of the CPU, got that of DLPack device type {device}; copy it to \
                 the CPU first"
            )));
        }
        let options = PyDict::new(py);
        options.set_item("max_version", (1, 0))?;
        let capsule = match export.call((), Some(&options)) {
            // An exporter for DLPack before version 1.
            Err(error) if error.is_instance_of::<PyTypeError>(py) => export.call0()?,
            other => other?,
        };
        let capsule = capsule.cast_into::<PyCapsule>()?;
        let (view, is_writable) = dlpack::view(&capsule)?;
        Ok(Column { view, is_writable, is_numpy: false, _owner: capsule.into_any() })
    }

    /// By the buffer protocol.
    fn of_buffer(buffer: &Bound<'py, PyMemoryView>) -> PyResult<Column<'py>> {
        let py = buffer.py();
        let get = |name| buffer.getattr(name);
        let format: String = get(intern!(py, "format"))?.extract()?;
        let item: usize = get(intern!(py, "itemsize"))?.extract()?;
        let native = ['@', '=', if cfg!(target_endian = "big") { '>' } else { '<' }];
        if !matches!(format.trim_start_matches(native), "I" | "L") || item != WORD {
            return Err(wrong_type(&format!("the format `{format}`")));
        }
        let shape: Vec<usize> = get(intern!(py, "shape"))?.extract()?;
        let is_writable = !get(intern!(py, "readonly"))?.extract::<bool>()?;
        let is_contiguous: bool = get(intern!(py, "c_contiguous"))?.extract()?;
        let bytes: usize = get(intern!(py, "nbytes"))?.extract()?;
        let column = |address, is_writable, owner| Column {
            view: View::contiguous(address, shape),
            is_writable,
            is_numpy: false,
            _owner: owner,
        };
        if bytes == 0 {
            return Ok(column(align_of::<u32>(), is_writable, buffer.clone().into_any()));
        }
        if is_writable && is_contiguous {
            static CHAR: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
            static ADDRESS: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
            // The stable interface has no buffers before Python 3.11, but ctypes has.
            let char = CHAR.import(py, "ctypes", "c_char")?;
            let owner = char.call_method1(intern!(py, "from_buffer"), (buffer,))?;
            let address = ADDRESS.import(py, "ctypes", "addressof")?.call1((&owner,))?;
            return Ok(column(address.extract()?, true, owner));
        }
        // A copy, for reading only: writes to it would be lost.
        let copy = buffer.call_method0(intern!(py, "tobytes"))?.cast_into::<PyBytes>()?;
        Ok(column(copy.as_bytes().as_ptr() as usize, false, copy.into_any()))
    }
}

static NDARRAY: PyOnceLock<Py<pyo3::types::PyType>> = PyOnceLock::new();

fn wrong_type(found: &str) -> PyErr {
    PyTypeError::new_err(format!("expected uint32 words in native byte order, got {found}"))
}

/// The structures of DLPack, versions 0 and 1.
mod dlpack {
    use super::{CStr, PyBufferError, PyResult, View, WORD, c_void, wrong_type};
    use pyo3::Bound;
    use pyo3::types::{PyCapsule, PyCapsuleMethods};

    pub(super) const CPU: i32 = 1;
    pub(super) const CUDA_HOST: i32 = 3;

    const UNSIGNED: u8 = 1;
    const READ_ONLY: u64 = 1;
    const COPIED: u64 = 2;

    const OLD: &CStr = c"dltensor";
    const NEW: &CStr = c"dltensor_versioned";

    #[repr(C)]
    struct Tensor {
        data: *mut c_void,
        device_type: i32,
        device_id: i32,
        dimensions: i32,
        kind: u8,
        bits: u8,
        lanes: u16,
        shape: *const i64,
        strides: *const i64,
        offset: u64,
    }

    #[repr(C)]
    struct Versioned {
        major: u32,
        minor: u32,
        context: *mut c_void,
        deleter: *mut c_void,
        flags: u64,
        tensor: Tensor,
    }

    /// The words of a tensor, and whether they may be written.
    pub(super) fn view(capsule: &Bound<'_, PyCapsule>) -> PyResult<(View, bool)> {
        if let Ok(pointer) = capsule.pointer_checked(Some(NEW)) {
            // SAFETY: a capsule of this name points to this structure while it lives. Its
            // beginning is the same in all versions.
            let (major, flags) = unsafe {
                let managed = pointer.cast::<Versioned>();
                ((*managed.as_ptr()).major, (*managed.as_ptr()).flags)
            };
            if major != 1 {
                let text = format!("expected DLPack version 1, got {major}");
                return Err(PyBufferError::new_err(text));
            }
            // SAFETY: as above; the other members are those of version 1.
            let tensor = unsafe { &(*pointer.cast::<Versioned>().as_ptr()).tensor };
            return Ok((words(tensor)?, flags & (READ_ONLY | COPIED) == 0));
        }
        let pointer = capsule.pointer_checked(Some(OLD))?;
        // SAFETY: a capsule of this name points to a structure that begins with a tensor.
        let tensor = unsafe { &*pointer.cast::<Tensor>().as_ptr() };
        // The old version does not say whether the words may be written.
        Ok((words(tensor)?, false))
    }

    fn words(tensor: &Tensor) -> PyResult<View> {
        let Tensor { kind, bits, lanes, .. } = *tensor;
        if (kind, bits, lanes) != (UNSIGNED, 32, 1) {
            let text = format!("the DLPack type (code {kind}, {bits} bits, {lanes} lanes)");
            return Err(wrong_type(&text));
        }
        let length = usize::try_from(tensor.dimensions).unwrap_or(0);
        let numbers = |pointer: *const i64| {
            // SAFETY: a tensor has as many sizes and strides as dimensions.
            (0..length).map(move |at| unsafe { *pointer.add(at) })
        };
        let shape: Vec<usize> =
            numbers(tensor.shape).map(|size| usize::try_from(size).unwrap_or(0)).collect();
        let offset = if tensor.data.is_null() { 0 } else { tensor.offset as usize };
        let address = tensor.data as usize + offset;
        if tensor.strides.is_null() {
            return Ok(View::contiguous(address, shape));
        }
        let strides = numbers(tensor.strides).map(|stride| stride as isize * WORD as isize);
        Ok(View::new(address, shape, strides.collect()))
    }
}
