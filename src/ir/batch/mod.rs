//! Evaluation of a program on columns of inputs.
//!
//! The first call makes a plan: a few kernels, each one loop that does the work of several
//! steps. A plan with several kernels processes inputs in chunks, so that intermediate columns
//! stay in the nearest cache. The few programs that need more than 64 bits, of `vshl` and
//! `vmad`, have no plan: the interpreter evaluates each row.

mod kernel;
mod lanes;
mod plan;
mod scalar;
mod vectors;

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::OnceLock;

use super::{Input, Program};
use kernel::GRAIN;
use plan::Plan;
use vectors::Wide;

/// A column. Its length is a multiple of [`GRAIN`].
type Column = [u32];

/// The plan of a program, made on first use. Comparisons ignore it, because the steps determine
/// it.
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
    /// The number of kernels in the program's plan, for tests. 0 without a plan.
    #[doc(hidden)]
    pub fn kernels(&self) -> usize {
        self.plan().map_or(0, Plan::kernels)
    }

    fn plan(&self) -> Option<&Plan> {
        self.plan.0.get_or_init(|| Plan::new(&self.steps)).as_ref()
    }

    /// Computes columns of equal length. Returns `false` if the program has no plan.
    pub(super) fn run_plan(&self, [a, b, c]: [&[u32]; 3], d: &mut [u32]) -> bool {
        let Some(plan) = self.plan() else { return false };
        // Wide vectors that are not aligned mostly straddle cache lines.
        let aligned = Wide::new().is_some() && d.len() >= LONG;
        let head = if aligned { d.as_ptr().align_offset(LINE) } else { 0 };
        let whole = (d.len() - head) / GRAIN * GRAIN;
        let parts = [0..head, head..head + whole, head + whole..d.len()];
        let [first, middle, last] = parts.map(|part| [a, b, c].map(|column| &column[part.clone()]));
        let (d_first, d) = d.split_at_mut(head);
        let (d_middle, d_last) = d.split_at_mut(whole);
        plan.run(middle, d_middle);
        for (columns, d) in [(first, d_first), (last, d_last)] {
            if !d.is_empty() {
                let [a, b, c] = columns.map(padded);
                let mut words = [0; GRAIN];
                plan.run([&a, &b, &c], &mut words);
                d.copy_from_slice(&words[..d.len()]);
            }
        }
        true
    }
}

/// The number of words from which on alignment pays.
const LONG: usize = 1024;

/// Bytes in a cache line.
const LINE: usize = 64;

fn padded(rest: &[u32]) -> [u32; GRAIN] {
    let mut words = [0; GRAIN];
    words[..rest.len()].copy_from_slice(rest);
    words
}
