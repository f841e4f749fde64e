//! The pseudocode of the manual (9.7.18), written down literally with exact integers, one step on
//! each line. It uses nothing of the library but the tree.

use vptx::Instruction;
use vptx::isa::{Compare, Family, LaneWidth, Part, Role, Scale, SecondaryOp, ShiftMode, Type};
use vptx::video::{
    Arithmetic, ArithmeticOp, MadMode, MultiplyAdd, Operand, Operation, Set, Shift, SimdArithmetic,
    SimdOp, SimdOperands, SimdSet, SimdTail, Source, Tail,
};

/// The new value of `d`, by the manual.
pub(crate) fn manual(instruction: &Instruction, a: u32, b: u32, c: u32) -> u32 {
    match &instruction.operation {
        Operation::Arithmetic(it) => arithmetic(it, a, b, c),
        Operation::Shift(it) => shift(it, a, b, c),
        Operation::MultiplyAdd(it) => multiply_add(it, a, b, c),
        Operation::Set(it) => set(it, a, b, c),
        Operation::SimdArithmetic(it) => simd_arithmetic(it, a, b, c),
        Operation::SimdSet(it) => simd_set(it, a, b, c),
        other => panic!("no pseudocode for {other:?}"),
    }
}

/// The second step of a scalar instruction but `vmad`.
pub(crate) fn tail(instruction: &Instruction) -> Option<&Tail> {
    match &instruction.operation {
        Operation::Arithmetic(it) => Some(&it.operands.tail),
        Operation::Shift(it) => Some(&it.operands.tail),
        Operation::Set(it) => Some(&it.operands.tail),
        _ => None,
    }
}

/// Whether all semantics are known to agree on the form of an instruction. It then computes what
/// [`manual`] does.
pub(crate) fn settled(instruction: &Instruction) -> bool {
    let saturated = instruction.modifier(Role::Saturate).is_some();
    let scaled = instruction.modifier(Role::Scale).is_some();
    let tail_settled = match tail(instruction) {
        // SIMD forms and `vmad`
        None | Some(Tail::Word) => true,
        Some(Tail::Secondary { op, .. }) => *op == SecondaryOp::Add,
        Some(Tail::Merge { part, .. }) => *part != Part::H1,
    };
    let simd = !matches!(
        instruction.operation.family(),
        Family::Arithmetic | Family::Shift | Family::MultiplyAdd | Family::Set
    );
    simd || !saturated && !scaled && tail_settled
}

fn arithmetic(it: &Arithmetic, a: u32, b: u32, c: u32) -> u32 {
    let ta = part_select_sign_extend(&it.operands.a, a, it.atype);
    let tb = part_select_sign_extend(&it.operands.b, b, it.btype);
    let tmp = match it.op {
        ArithmeticOp::Add => ta + tb,
        ArithmeticOp::Sub => ta - tb,
        ArithmeticOp::AbsDiff => (ta - tb).abs(),
        ArithmeticOp::Min => ta.min(tb),
        ArithmeticOp::Max => ta.max(tb),
    };
    let tmp = opt_saturate(tmp, it.saturate, it.dtype, &it.operands.tail);
    opt_secondary_op_or_merge(tmp, it.dtype, &it.operands.tail, c)
}

fn shift(it: &Shift, a: u32, b: u32, c: u32) -> u32 {
    let ta = part_select_sign_extend(&it.operands.a, a, it.atype);
    let mut tb = part_select_sign_extend(&it.operands.b, b, Type::U32);
    if it.mode == ShiftMode::Clamp && tb > 32 {
        tb = 32;
    }
    if it.mode == ShiftMode::Wrap {
        tb &= 0x1f;
    }
    // The intermediate result is declared `.s34`.
    let tmp = if it.left { sign_extend(ta << tb, 34) } else { ta >> tb };
    let tmp = opt_saturate(tmp, it.saturate, it.dtype, &it.operands.tail);
    opt_secondary_op_or_merge(tmp, it.dtype, &it.operands.tail, c)
}

fn set(it: &Set, a: u32, b: u32, c: u32) -> u32 {
    let ta = part_select_sign_extend(&it.operands.a, a, it.atype);
    let tb = part_select_sign_extend(&it.operands.b, b, it.btype);
    let tmp = compare(ta, tb, it.compare);
    // "Destination d and operand c are also unsigned."
    opt_secondary_op_or_merge(tmp, Type::U32, &it.operands.tail, c)
}

fn multiply_add(it: &MultiplyAdd, a: u32, b: u32, c: u32) -> u32 {
    let it = it.parts();
    let ta = part_select_sign_extend(&it.a, a, it.atype);
    let tb = part_select_sign_extend(&it.b, b, it.btype);
    let mut c = third(&it.c, c);
    let product_negate = matches!(it.mode, MadMode::NegateA | MadMode::NegateB);
    let c_negate = it.mode == MadMode::NegateC;
    let signed_final = it.atype == Type::S32 || it.btype == Type::S32 || product_negate || c_negate;

    let mut tmp = ta * tb;
    let mut lsb = 0;
    if it.mode == MadMode::PlusOne {
        lsb = 1;
    } else if product_negate {
        tmp = !tmp;
        lsb = 1;
    } else if c_negate {
        c = !c;
        lsb = 1;
    }
    let c128 = if signed_final { sign_extend(i128::from(c), 32) } else { i128::from(c) };
    let tmp = tmp + c128 + lsb;
    let mut result = match it.scale {
        Some(Scale::Shr7) => tmp >> 7,
        Some(Scale::Shr15) => tmp >> 15,
        None => tmp,
    };
    if it.saturate {
        result = if signed_final { clamp_signed(result, 32) } else { clamp_unsigned(result, 32) };
    }
    low_word(result)
}

fn simd_arithmetic(it: &SimdArithmetic, a: u32, b: u32, c: u32) -> u32 {
    let va = extract_and_sign_ext(&it.operands, it.operands.lanes.a().lanes(), true, a, b);
    let vb = extract_and_sign_ext(&it.operands, it.operands.lanes.b().lanes(), false, a, b);
    let mut lanes = Vec::new();
    for (ta, tb) in va.into_iter().zip(vb) {
        let mut result = match it.op {
            SimdOp::Add => ta + tb,
            SimdOp::Sub => ta - tb,
            SimdOp::Avrg if ta + tb >= 0 => (ta + tb + 1) >> 1,
            SimdOp::Avrg => (ta + tb) >> 1,
            SimdOp::AbsDiff => (ta - tb).abs(),
            SimdOp::Min => ta.min(tb),
            SimdOp::Max => ta.max(tb),
        };
        if it.tail == (SimdTail::Merge { saturate: true }) {
            result = match it.dtype {
                Type::S32 => clamp_signed(result, bits(&it.operands)),
                Type::U32 => clamp_unsigned(result, bits(&it.operands)),
            };
        }
        lanes.push(result);
    }
    accumulate_or_merge(&it.operands, it.tail == SimdTail::Accumulate, &lanes, c)
}

fn simd_set(it: &SimdSet, a: u32, b: u32, c: u32) -> u32 {
    let va = extract_and_sign_ext(&it.operands, it.operands.lanes.a().lanes(), true, a, b);
    let vb = extract_and_sign_ext(&it.operands, it.operands.lanes.b().lanes(), false, a, b);
    let mut lanes = Vec::new();
    for (ta, tb) in va.into_iter().zip(vb) {
        lanes.push(compare(ta, tb, it.compare));
    }
    accumulate_or_merge(&it.operands, it.accumulate, &lanes, c)
}

/// The number of bits in a lane.
fn bits(operands: &SimdOperands) -> u32 {
    match operands.lanes.width() {
        LaneWidth::Halves => 16,
        LaneWidth::Bytes => 8,
    }
}

fn accumulate_or_merge(operands: &SimdOperands, add: bool, lanes: &[i128], c: u32) -> u32 {
    let (mask, bits) = (operands.lanes.mask().bits(), bits(operands));
    if add {
        let mut d = i128::from(c);
        for (i, lane) in lanes.iter().enumerate() {
            if mask >> i & 1 == 1 {
                d += lane;
            }
        }
        return low_word(d);
    }
    let mut d = 0;
    for (i, &lane) in lanes.iter().enumerate() {
        let position = bits * i as u32;
        let lane_of_c = i128::from(c >> position);
        let kept = if mask >> i & 1 == 1 { lane } else { lane_of_c };
        d |= low_word(kept & ((1 << bits) - 1)) << position;
    }
    d
}

/// The lanes of one operand, taken from the pair `{b, a}`.
fn extract_and_sign_ext(
    operands: &SimdOperands,
    selector: &[u8],
    first: bool,
    a: u32,
    b: u32,
) -> Vec<i128> {
    let ty = if first { operands.atype } else { operands.btype };
    let pair = u64::from(b) << 32 | u64::from(a);
    let bits = bits(operands);
    let lane = |&number: &u8| extend(i128::from(pair >> (bits * u32::from(number))), bits, ty);
    selector.iter().map(lane).collect()
}

fn part_select_sign_extend(source: &Source, word: u32, ty: Type) -> i128 {
    match source {
        Source::Immediate(constant) => extend(i128::from(constant.value()), 32, ty),
        Source::Register { part, .. } => {
            let word = i128::from(word);
            match part {
                None => extend(word, 32, ty),
                Some(Part::B0) => extend(word, 8, ty),
                Some(Part::B1) => extend(word >> 8, 8, ty),
                Some(Part::B2) => extend(word >> 16, 8, ty),
                Some(Part::B3) => extend(word >> 24, 8, ty),
                Some(Part::H0) => extend(word, 16, ty),
                Some(Part::H1) => extend(word >> 16, 16, ty),
            }
        }
    }
}

fn opt_saturate(tmp: i128, sat: bool, dtype: Type, tail: &Tail) -> i128 {
    if !sat {
        return tmp;
    }
    let bits = match tail {
        Tail::Merge { part: Part::B0 | Part::B1 | Part::B2 | Part::B3, .. } => 8,
        Tail::Merge { part: Part::H0 | Part::H1, .. } => 16,
        Tail::Word | Tail::Secondary { .. } => 32,
    };
    match dtype {
        Type::S32 => clamp_signed(tmp, bits),
        Type::U32 => clamp_unsigned(tmp, bits),
    }
}

fn opt_secondary_op_or_merge(tmp: i128, dtype: Type, tail: &Tail, c: u32) -> u32 {
    match tail {
        Tail::Word => low_word(tmp),
        Tail::Secondary { op, c: operand } => {
            let c = extend(i128::from(third(operand, c)), 32, dtype);
            low_word(match op {
                SecondaryOp::Add => tmp + c,
                SecondaryOp::Min => tmp.min(c),
                SecondaryOp::Max => tmp.max(c),
            })
        }
        Tail::Merge { part, c: operand } => {
            let c = third(operand, c);
            let tmp = low_word(tmp);
            match part {
                Part::H0 => (tmp & 0xffff) | (0xffff_0000 & c),
                Part::H1 => ((tmp & 0xffff) << 16) | (0x0000_ffff & c),
                Part::B0 => (tmp & 0xff) | (0xffff_ff00 & c),
                Part::B1 => ((tmp & 0xff) << 8) | (0xffff_00ff & c),
                Part::B2 => ((tmp & 0xff) << 16) | (0xff00_ffff & c),
                Part::B3 => ((tmp & 0xff) << 24) | (0x00ff_ffff & c),
            }
        }
    }
}

fn third(operand: &Operand, c: u32) -> u32 {
    match operand {
        Operand::Register(_) => c,
        Operand::Immediate(constant) => constant.value(),
    }
}

fn compare(x: i128, y: i128, how: Compare) -> i128 {
    i128::from(match how {
        Compare::Eq => x == y,
        Compare::Ne => x != y,
        Compare::Lt => x < y,
        Compare::Le => x <= y,
        Compare::Gt => x > y,
        Compare::Ge => x >= y,
    })
}

/// The low bits of a value, read as the type demands.
fn extend(value: i128, bits: u32, ty: Type) -> i128 {
    match ty {
        Type::U32 => value & ((1 << bits) - 1),
        Type::S32 => sign_extend(value, bits),
    }
}

fn sign_extend(value: i128, bits: u32) -> i128 {
    value << (128 - bits) >> (128 - bits)
}

fn clamp_signed(value: i128, bits: u32) -> i128 {
    value.clamp(-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
}

fn clamp_unsigned(value: i128, bits: u32) -> i128 {
    value.clamp(0, (1 << bits) - 1)
}

fn low_word(value: i128) -> u32 {
    u32::try_from(value & 0xffff_ffff).unwrap()
}
