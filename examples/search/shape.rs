//! Operations in which some arguments are constants or sources.

use vptx::backend::ptx::Opcode;
use vptx::ir::{Op, Program};
use vptx::isa::{Compare, Type};

use crate::operation::Operation;
use crate::pool::Pool;
use crate::values::{Id, Values};

/// An argument of a shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Slot {
    First,
    Second,
    /// A constant or a source.
    Known(Id),
}

/// An operation on one or two values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(crate) operation: Operation,
    pub(crate) slots: [Slot; 3],
}

impl Shape {
    pub(crate) fn args(&self, first: Id, second: Id) -> [Id; 3] {
        self.slots.map(|slot| match slot {
            Slot::First => first,
            Slot::Second => second,
            Slot::Known(id) => id,
        })
    }

    /// Whether both values may change places.
    pub(crate) fn is_symmetric(&self) -> bool {
        self.operation.is_symmetric() && self.slots[..2] == [Slot::First, Slot::Second]
    }
}

/// The shapes that are tried for an instruction.
#[derive(Debug, Default)]
pub(crate) struct Shapes {
    /// Shapes of one value.
    pub(crate) single: Vec<Shape>,
    /// Shapes of two values.
    pub(crate) double: Vec<Shape>,
    /// Comparisons of one value with a constant.
    pub(crate) tests: Vec<Shape>,
    /// Comparisons of two values.
    pub(crate) comparisons: Vec<Shape>,
}

const TYPES: [Type; 2] = [Type::U32, Type::S32];

/// The comparisons that are tried. The others are their opposites.
const COMPARES: [Compare; 3] = [Compare::Lt, Compare::Le, Compare::Eq];

/// Bitwise functions of two words and a mask `z`: `!(x ^ y) & z`, `x & !y & z`, `(x | y) & z`, `x`
/// or `y` selected by `z`, and `x ^ (y & z)`.
const LANE_TABLES: [u8; 5] = [0x82, 0x20, 0xa8, 0xe4, 0x78];

impl Shapes {
    pub(crate) fn new(
        program: &Program,
        pool: &Pool,
        sources: &[Id],
        values: &mut Values,
    ) -> Shapes {
        let mut shapes = Shapes::default();
        shapes.add_single(pool, values);
        shapes.add_double(program, pool, sources, values);
        shapes.add_comparisons(pool, values);
        let shifts = |op: &Op| match *op {
            Op::Shl(_, by) | Op::Shr(_, by) => {
                !matches!(program.steps()[by.index()].op, Op::Constant(_))
            }
            _ => false,
        };
        if program.steps().iter().any(|step| shifts(&step.op)) {
            shapes.add_shifts(values);
        }
        let extracts = program.steps().iter().filter(|step| matches!(step.op, Op::Extract { .. }));
        // A scalar instruction has one part of `a`, one of `b`, and perhaps a truncated sum, so
        // more parts mean a SIMD instruction.
        if extracts.count() > 3 {
            shapes.add_lanes(pool, sources, values);
        }
        shapes
    }

    fn single(&mut self, operation: Operation, [x, y, z]: [Slot; 3]) {
        self.single.push(Shape { operation, slots: [x, y, z] });
    }

    fn add_single(&mut self, pool: &Pool, values: &mut Values) {
        let zero = Slot::Known(values.constant(0));
        let one = |opcode| Operation::One(opcode);
        let mut known = |list: &[u32]| -> Vec<Slot> {
            list.iter().map(|word| Slot::Known(values.constant(*word))).collect()
        };
        for by in known(&pool.shifts) {
            for opcode in [Opcode::Shl, Opcode::Shr(Type::U32), Opcode::Shr(Type::S32)] {
                self.single(one(opcode), [Slot::First, by, zero]);
            }
        }
        for selector in known(&pool.selectors) {
            self.single(one(Opcode::Permute), [Slot::First, zero, selector]);
        }
        for mask in known(&pool.masks) {
            for opcode in [Opcode::And, Opcode::Or, Opcode::Xor] {
                self.single(one(opcode), [Slot::First, mask, zero]);
            }
        }
        for summand in known(&pool.summands) {
            self.single(one(Opcode::Add), [Slot::First, summand, zero]);
            self.single(one(Opcode::Sub), [summand, Slot::First, zero]);
        }
        for limit in known(&pool.limits) {
            for ty in TYPES {
                self.single(one(Opcode::Min(ty)), [Slot::First, limit, zero]);
                self.single(one(Opcode::Max(ty)), [Slot::First, limit, zero]);
            }
        }
        for factor in known(&pool.factors) {
            self.single(one(Opcode::Mul), [Slot::First, factor, zero]);
        }
        self.single(one(Opcode::Abs), [Slot::First, zero, zero]);
    }

    fn add_double(&mut self, program: &Program, pool: &Pool, sources: &[Id], values: &mut Values) {
        let has = |is: fn(&Op) -> bool| program.steps().iter().any(|step| is(&step.op));
        let zero = values.constant(0);
        let mut add = |operation, third: Id| {
            let slots = [Slot::First, Slot::Second, Slot::Known(third)];
            self.double.push(Shape { operation, slots });
        };
        for opcode in [Opcode::Add, Opcode::Sub, Opcode::And, Opcode::Or, Opcode::Xor] {
            add(Operation::One(opcode), zero);
        }
        for ty in TYPES {
            add(Operation::One(Opcode::Min(ty)), zero);
            add(Operation::One(Opcode::Max(ty)), zero);
        }
        for &third in sources {
            add(Operation::Two(Opcode::Add, Opcode::Add), third);
            add(Operation::Two(Opcode::Sub, Opcode::Add), third);
            add(Operation::Two(Opcode::Sub, Opcode::Sub), third);
        }
        if has(|op| matches!(op, Op::AbsDiff(..))) {
            for third in sources.iter().copied().chain([zero]) {
                for ty in TYPES {
                    add(Operation::One(Opcode::Sad(ty)), third);
                }
            }
        }
        if has(|op| matches!(op, Op::Mul(..))) {
            add(Operation::One(Opcode::Mul), zero);
            for &third in sources {
                add(Operation::One(Opcode::Mad), third);
            }
        }
        for &summand in &pool.summands {
            let summand = values.constant(summand);
            add(Operation::Two(Opcode::Add, Opcode::Add), summand);
            add(Operation::Two(Opcode::Sub, Opcode::Add), summand);
        }
        for &mask in &pool.masks {
            // `prmt` covers selections of bits. These shapes add without carries.
            let mask = values.constant(mask);
            add(Operation::Two(Opcode::Xor, Opcode::And), mask);
            add(Operation::Two(Opcode::And, Opcode::And), mask);
        }
        for &selector in &pool.joins {
            add(Operation::One(Opcode::Permute), values.constant(selector));
        }
        for &by in &pool.shifts {
            let by = Slot::Known(values.constant(by));
            for shift in [Opcode::Shl, Opcode::Shr(Type::U32), Opcode::Shr(Type::S32)] {
                let operation = Operation::Two(shift, Opcode::Add);
                self.double.push(Shape { operation, slots: [Slot::First, by, Slot::Second] });
            }
            let slots = [Slot::First, Slot::Second, by];
            let operation = Operation::One(Opcode::FunnelRightWrap);
            self.double.push(Shape { operation, slots });
        }
        for &factor in &pool.factors {
            let factor = Slot::Known(values.constant(factor));
            let operation = Operation::One(Opcode::Mad);
            self.double.push(Shape { operation, slots: [Slot::First, factor, Slot::Second] });
        }
    }

    /// Adds shifts of values by values.
    fn add_shifts(&mut self, values: &mut Values) {
        let zero = Slot::Known(values.constant(0));
        let (x, y) = (Slot::First, Slot::Second);
        for opcode in [Opcode::Shl, Opcode::Shr(Type::U32), Opcode::Shr(Type::S32)] {
            self.double.push(Shape { operation: Operation::One(opcode), slots: [x, y, zero] });
        }
        let wraps = [
            (Opcode::FunnelLeftWrap, [zero, x, y]),
            (Opcode::FunnelLeftWrap, [x, zero, y]),
            (Opcode::FunnelLeft, [x, zero, y]),
            (Opcode::FunnelRightWrap, [x, zero, y]),
            (Opcode::FunnelRightWrap, [zero, x, y]),
        ];
        for (opcode, slots) in wraps {
            self.double.push(Shape { operation: Operation::One(opcode), slots });
        }
    }

    /// Adds operations on lanes.
    fn add_lanes(&mut self, pool: &Pool, sources: &[Id], values: &mut Values) {
        let zero = Slot::Known(values.constant(0));
        let (x, y) = (Slot::First, Slot::Second);
        let mut add = |operation, slots| self.double.push(Shape { operation, slots });
        add(Operation::One(Opcode::Add2), [x, y, zero]);
        add(Operation::Sub2, [x, y, zero]);
        for &mask in &pool.masks {
            let mask = Slot::Known(values.constant(mask));
            for table in LANE_TABLES {
                add(Operation::One(Opcode::Lop3(table)), [x, y, mask]);
            }
        }
        for ty in TYPES {
            for opcode in [Opcode::Min2(ty), Opcode::Max2(ty), Opcode::AbsDiff4(ty)] {
                add(Operation::One(opcode), [x, y, zero]);
            }
            for &third in sources {
                let opcode = Opcode::SumAbsDiff4(ty);
                add(Operation::One(opcode), [x, y, Slot::Known(third)]);
            }
            for &weight in &pool.weights {
                let weight = Slot::Known(values.constant(weight));
                for other in TYPES {
                    for opcode in [
                        Opcode::Dot4(ty, other),
                        Opcode::Dot2(ty, other),
                        Opcode::Dot2High(ty, other),
                    ] {
                        add(Operation::One(opcode), [x, weight, y]);
                    }
                }
            }
        }
    }

    fn add_comparisons(&mut self, pool: &Pool, values: &mut Values) {
        let zero = Slot::Known(values.constant(0));
        for ty in TYPES {
            for compare in COMPARES {
                let operation = Operation::One(Opcode::Set(compare, ty));
                let slots = [Slot::First, Slot::Second, zero];
                self.comparisons.push(Shape { operation, slots });
                for &limit in &pool.limits {
                    let limit = Slot::Known(values.constant(limit));
                    self.tests.push(Shape { operation, slots: [Slot::First, limit, zero] });
                }
            }
        }
    }
}
