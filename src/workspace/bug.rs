//! Panics. Each panic is a bug of vptx, and must not stop the work on other files.

use std::any::Any;
use std::collections::BTreeMap;
use std::env;
use std::panic::{self, AssertUnwindSafe};
use std::sync::{Mutex, PoisonError};

use thiserror::Error;

use crate::report::visible;

/// The source locations of the panics so far, by panic message. The thread that panics need not be
/// the thread that reports the panic.
static PLACES: Mutex<BTreeMap<String, String>> = Mutex::new(BTreeMap::new());

/// Keeps the places of panics from now on. Nothing is printed, except with `RUST_BACKTRACE`.
pub(crate) fn keep_places() {
    let usual = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        if let Some(place) = panic.location() {
            let mut places = PLACES.lock().unwrap_or_else(PoisonError::into_inner);
            places.insert(text(panic.payload()).into(), place.to_string());
        }
        if env::var_os("RUST_BACKTRACE").is_some() {
            usual(panic);
        }
    }));
}

/// A panic that ended the work on something.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("a bug in vptx ended the work on `{what}`; please report it: {message}{place}")]
pub(crate) struct Bug {
    what: String,
    message: String,
    /// The source location of the panic after a comma, or nothing if it is not known.
    place: String,
}

/// Does some work. After a panic, returns an error that asks for a report.
///
/// `what` names the subject of the work, such as a file, as shown to the reader. After a panic, the
/// changes of the work may be incomplete.
pub(crate) fn guarded<T, E: From<Bug>>(what: &str, work: impl FnOnce() -> T) -> Result<T, E> {
    let work = || {
        // Tests cause a panic here to see what happens.
        #[cfg(debug_assertions)]
        assert!(!env::var("VPTX_TEST_PANIC").is_ok_and(|it| it == what), "a test asked for it");
        work()
    };
    panic::catch_unwind(AssertUnwindSafe(work)).map_err(|panic| {
        let message = text(&*panic);
        let places = PLACES.lock().unwrap_or_else(PoisonError::into_inner);
        let place = places.get(message).map_or_else(String::new, |place| format!(", at {place}"));
        Bug { what: what.into(), message: visible(message).into_owned(), place }.into()
    })
}

/// The message of a panic.
fn text(payload: &(dyn Any + Send)) -> &str {
    let text = payload.downcast_ref::<&str>().copied();
    text.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message")
}
