//! Running a program on columns of inputs.
//!
//! The first call makes a plan: a few kernels, each one loop that does what
//! several steps say. Inputs go through several kernels in chunks, so that what
//! is in between stays in the cache nearest the core. The few programs that
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
use kernel::BLOCK;
use plan::Plan;

/// A column, of a whole number of blocks.
type Words = [u32];

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
        let whole = d.len() - d.len() % BLOCK;
        let (d, d_rest) = d.split_at_mut(whole);
        plan.run([&a[..whole], &b[..whole], &c[..whole]], d);
        if !d_rest.is_empty() {
            let [a, b, c] = [a, b, c].map(|column| padded(&column[whole..]));
            let mut d = [0; BLOCK];
            plan.run([&a, &b, &c], &mut d);
            d_rest.copy_from_slice(&d[..d_rest.len()]);
        }
    }
}

fn padded(rest: &[u32]) -> [u32; BLOCK] {
    let mut words = [0; BLOCK];
    words[..rest.len()].copy_from_slice(rest);
    words
}
