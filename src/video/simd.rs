//! What the two-way and four-way SIMD families share: their lowering. ptxas
//! follows the manual here.

use crate::ast::{SimdArithmetic, SimdOp, SimdOperands, SimdSet, SimdTail};
use crate::ir::{Input, Lowering, Op, Range, Stage, Value};
use crate::isa::{Compare, LaneWidth, Mask, Selector, Type};

impl<L: LaneWidth> SimdArithmetic<L> {
    /// What the instruction computes.
    pub(crate) fn lower(&self, lowering: &mut Lowering) -> Value {
        let (a, b) = self.operands.lanes(lowering);
        lowering.builder.stage(Stage::Compute);
        let mut results: Vec<Value> =
            a.into_iter().zip(b).map(|(a, b)| self.compute(lowering, a, b)).collect();
        if self.tail == (SimdTail::Merge { saturate: true }) {
            lowering.builder.stage(Stage::Saturate);
            let range = Range::bits(L::BITS as u8, self.dtype == Type::S32);
            for result in &mut results {
                *result = lowering.builder.clamp(*result, range);
            }
        }
        self.operands.finish(lowering, &results, self.tail == SimdTail::Accumulate)
    }

    fn compute(&self, lowering: &mut Lowering, a: Value, b: Value) -> Value {
        let builder = &mut lowering.builder;
        match self.op {
            SimdOp::Add => builder.binary(Op::Add, a, b),
            SimdOp::Sub => builder.binary(Op::Sub, a, b),
            SimdOp::AbsDiff => builder.binary(Op::AbsDiff, a, b),
            SimdOp::Min => builder.min(a, b),
            SimdOp::Max => builder.max(a, b),
            SimdOp::Avrg => {
                // Sums of zero and more are rounded up, others down.
                let sum = builder.binary(Op::Add, a, b);
                let zero = builder.constant(0);
                let carry = builder.compare(Compare::Ge, sum, zero);
                let sum = builder.binary(Op::Add, sum, carry);
                let one = builder.constant(1);
                builder.binary(Op::Shr, sum, one)
            }
        }
    }
}

impl<L: LaneWidth> SimdSet<L> {
    /// What the instruction computes.
    pub(crate) fn lower(&self, lowering: &mut Lowering) -> Value {
        let (a, b) = self.operands.lanes(lowering);
        lowering.builder.stage(Stage::Compute);
        let results: Vec<Value> = a
            .into_iter()
            .zip(b)
            .map(|(a, b)| lowering.builder.compare(self.compare, a, b))
            .collect();
        self.operands.finish(lowering, &results, self.accumulate)
    }
}

impl<L: LaneWidth> SimdOperands<L> {
    /// The lanes of both operands, lane 0 first.
    fn lanes(&self, lowering: &mut Lowering) -> (Vec<Value>, Vec<Value>) {
        lowering.builder.stage(Stage::Extract);
        let mut take = |selector: &Selector<L>, ty: Type| {
            let lane = |&lane: &u8| {
                let own = usize::from(lane) < L::LANES;
                let word = lowering.builder.input(if own { Input::A } else { Input::B });
                let low = u32::from(lane) % L::LANES as u32 * L::BITS;
                lowering.builder.extract(word, low as u8, L::BITS as u8, ty == Type::S32)
            };
            selector.lanes().iter().map(lane).collect::<Vec<_>>()
        };
        (take(&self.a_lanes, self.atype), take(&self.b_lanes, self.btype))
    }

    /// Merges the lanes of the mask into `c`, or adds them to it.
    fn finish(&self, lowering: &mut Lowering, results: &[Value], accumulate: bool) -> Value {
        let builder = &mut lowering.builder;
        let masked = results.iter().enumerate().filter(|(at, _)| self.mask.bits() >> at & 1 == 1);
        if accumulate {
            builder.stage(Stage::Secondary);
            let c = builder.input(Input::C);
            return masked.fold(c, |sum, (_, &lane)| builder.binary(Op::Add, sum, lane));
        }
        builder.stage(Stage::Merge);
        // Under a full mask nothing of `c` is left.
        let base =
            if self.mask == Mask::FULL { builder.constant(0) } else { builder.input(Input::C) };
        masked.fold(base, |word, (at, &lane)| {
            builder.insert(word, lane, (at as u32 * L::BITS) as u8, L::BITS as u8)
        })
    }
}
