//! The helpers between C and Rust: all `unsafe` is here and in the functions that C calls.

use std::any::Any;
use std::mem::MaybeUninit;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::{ptr, slice};

use crate::error::{Error, Failure};
use crate::types::{Status, Str};

/// A place for the result of a function.
pub(crate) type Out<'o, T> = Option<&'o mut MaybeUninit<T>>;

/// A place for a handle that the caller will own.
pub(crate) type OutHandle<'o, T> = Out<'o, Option<Box<T>>>;

/// Values with pointers into the handle that owns them.
pub(crate) struct Shared<T>(pub(crate) T);

// SAFETY: the pointers lead to memory of the same handle, or static memory. Nothing changes it
// until the handle is freed, which needs the only reference.
unsafe impl<T> Send for Shared<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for Shared<T> {}

/// Calls `work`, and turns its failure or panic into a status and an error.
pub(crate) fn run(
    error: OutHandle<'_, Error>,
    work: impl FnOnce() -> Result<(), Failure>,
) -> Status {
    // After a panic, half-made values are dropped, and nothing reads them.
    let result = catch_unwind(AssertUnwindSafe(work));
    let failure = match result {
        Ok(Ok(())) => None,
        Ok(Err(failure)) => Some(failure),
        Err(payload) => Some(Failure::new(Status::InternalError, said(&*payload))),
    };
    let status = failure.as_ref().map_or(Status::Ok, |failure| failure.status);
    if let Some(error) = error {
        error.write(failure.map(|failure| Box::new(Error::from(failure))));
    }
    status
}

/// The message of a panic.
fn said(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    format!("a bug of vptx: {}", text.unwrap_or("a panic"))
}

/// Like [`run`], and gives the caller a new handle, or NULL.
pub(crate) fn give<T>(
    out: OutHandle<'_, T>,
    error: OutHandle<'_, Error>,
    work: impl FnOnce() -> Result<T, Failure>,
) -> Status {
    run(error, || {
        let out = required(out, "out")?.write(None);
        *out = Some(Box::new(work()?));
        Ok(())
    })
}

/// Like [`run`], and gives the caller a list that belongs to a handle.
pub(crate) fn list<H, T>(
    handle: Option<&H>,
    out: Out<'_, *const T>,
    count: Out<'_, usize>,
    items: impl FnOnce(&H) -> &[T],
) -> Status {
    run(None, || {
        let (out, count) = (required(out, "list")?, required(count, "count")?);
        let (out, count) = (out.write(ptr::null()), count.write(0));
        let items = items(required(handle, "the handle")?);
        (*out, *count) = (array(items), items.len());
        Ok(())
    })
}

/// The pointer to items for C: NULL if there are none.
pub(crate) fn array<T>(items: &[T]) -> *const T {
    if items.is_empty() { ptr::null() } else { items.as_ptr() }
}

/// Frees a handle.
pub(crate) fn free<T>(handle: Option<Box<T>>) {
    let freed = catch_unwind(AssertUnwindSafe(|| drop(handle)));
    debug_assert!(freed.is_ok(), "handles have plain values");
}

/// A pointer that must not be NULL.
pub(crate) fn required<T>(pointer: Option<T>, name: &str) -> Result<T, Failure> {
    pointer.ok_or_else(|| Failure::new(Status::NullArgument, format!("{name} is NULL")))
}

/// The items of an array. The pointer may be NULL if the count is 0.
///
/// # Safety
/// An array that is not NULL has `count` items, which nothing changes during `'a`.
pub(crate) unsafe fn items<'a, T>(
    array: *const T,
    count: usize,
    name: &str,
) -> Result<&'a [T], Failure> {
    check(array, count, name)?;
    if array.is_null() {
        return Ok(&[]);
    }
    // SAFETY: the array is aligned and not too long; the caller promises the rest.
    Ok(unsafe { slice::from_raw_parts(array, count) })
}

/// Like [`items`], for an array that may be changed.
///
/// # Safety
/// An array that is not NULL has `count` items, which nothing else uses during `'a`.
pub(crate) unsafe fn items_mut<'a, T>(
    array: *mut T,
    count: usize,
    name: &str,
) -> Result<&'a mut [T], Failure> {
    check(array, count, name)?;
    if array.is_null() {
        return Ok(&mut []);
    }
    // SAFETY: the array is aligned and not too long; the caller promises the rest.
    Ok(unsafe { slice::from_raw_parts_mut(array, count) })
}

fn check<T>(array: *const T, count: usize, name: &str) -> Result<(), Failure> {
    if array.is_null() && count > 0 {
        return Err(Failure::new(Status::NullArgument, format!("{name} is NULL")));
    }
    if !array.is_aligned() {
        return Err(Failure::new(Status::InvalidArgument, format!("{name} is not aligned")));
    }
    if count > isize::MAX as usize / size_of::<T>() {
        return Err(Failure::new(Status::InvalidArgument, format!("{name} is too long")));
    }
    Ok(())
}

impl Str {
    /// # Safety
    /// The data, unless NULL, has `size` bytes, which nothing changes during `'a`.
    pub(crate) unsafe fn bytes<'a>(self, name: &str) -> Result<&'a [u8], Failure> {
        // SAFETY: the caller promises it.
        unsafe { items(self.data.cast(), self.size, name) }
    }
}
