//! This package builds the library with plans of batches anyway: their tests run here.

extern crate library as vptx;

#[path = "../../../tests/library/batch.rs"]
#[allow(clippy::cast_possible_truncation)]
mod batch;
#[path = "../../../tests/support/random.rs"]
#[allow(dead_code, clippy::cast_possible_truncation, reason = "other tests need the rest")]
mod random;

mod support {
    pub(crate) use super::random;
}
