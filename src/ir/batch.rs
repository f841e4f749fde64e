//! Running a program on columns of inputs.
//!
//! The first call makes a plan: a few kernels, each one loop that does what
//! several steps say. The inputs go through all kernels in chunks, so that
//! what is in between stays in the cache nearest the core. The few programs that
//! need more than 64 bits, of `vshl` and `vmad`, have no plan: each input goes
//! through the interpreter.

mod kernel;
mod lanes;
mod plan;
mod scalar;
#[cfg(test)]
mod tests;

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::OnceLock;

use super::{Input, Program};
use plan::Plan;

/// Inputs in a chunk.
const CHUNK: usize = 512;

/// A column of one chunk.
type Words = [u32; CHUNK];

/// The plan of a program, made when it is first needed. It follows from the
/// steps, so it has no part in comparisons.
#[derive(Default)]
pub(super) struct PlanOnce(OnceLock<Option<Plan>>);

impl Clone for PlanOnce {
    fn clone(&self) -> PlanOnce {
        PlanOnce::default()
    }
}

impl PartialEq for PlanOnce {
    fn eq(&self, _: &PlanOnce) -> bool {
        true
    }
}

impl Eq for PlanOnce {}

impl Hash for PlanOnce {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

impl fmt::Debug for PlanOnce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PlanOnce")
    }
}

impl Program {
    /// The new values of `d` for columns of source words.
    ///
    /// # Panics
    /// If the columns have different lengths.
    pub fn eval_batch(&self, a: &[u32], b: &[u32], c: &[u32], d: &mut [u32]) {
        assert!(
            a.len() == d.len() && b.len() == d.len() && c.len() == d.len(),
            "the columns must have the same length"
        );
        let Some(plan) = self.plan.0.get_or_init(|| Plan::new(&self.steps)) else {
            for (((d, &a), &b), &c) in d.iter_mut().zip(a).zip(b).zip(c) {
                *d = self.eval(a, b, c);
            }
            return;
        };
        let mut columns = plan.columns();
        let (a, a_rest) = a.as_chunks::<CHUNK>();
        let (b, b_rest) = b.as_chunks::<CHUNK>();
        let (c, c_rest) = c.as_chunks::<CHUNK>();
        let (d, d_rest) = d.as_chunks_mut::<CHUNK>();
        for (((a, b), c), d) in a.iter().zip(b).zip(c).zip(d) {
            plan.run([a, b, c], &mut columns, d);
        }
        if !d_rest.is_empty() {
            let [a, b, c] = [a_rest, b_rest, c_rest].map(padded);
            let mut d = [0; CHUNK];
            plan.run([&a, &b, &c], &mut columns, &mut d);
            d_rest.copy_from_slice(&d[..d_rest.len()]);
        }
    }
}

fn padded(rest: &[u32]) -> Words {
    let mut words = [0; CHUNK];
    words[..rest.len()].copy_from_slice(rest);
    words
}
