//! One function, from the program of an instruction.

use std::fmt::Write;

use super::HAS;
use crate::ir::{Input, Op, Program, Range, Step, Value};
use crate::isa::Compare;

/// A type of C that holds all values of a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Type {
    I32,
    U32,
    I64,
    U64,
    /// A structure.
    Wide,
}

impl Type {
    fn of(range: Range) -> Type {
        match () {
            () if Range::bits(32, true).contains_range(range) => Type::I32,
            () if Range::bits(32, false).contains_range(range) => Type::U32,
            () if Range::bits(64, true).contains_range(range) => Type::I64,
            () if Range::bits(64, false).contains_range(range) => Type::U64,
            () => Type::Wide,
        }
    }

    fn text(self) -> &'static str {
        match self {
            Type::I32 => "vptx_i32",
            Type::U32 => "vptx_u32",
            Type::I64 => "vptx_i64",
            Type::U64 => "vptx_u64",
            Type::Wide => "vptx_wide",
        }
    }

    fn bits(self) -> u8 {
        match self {
            Type::I32 | Type::U32 => 32,
            Type::I64 | Type::U64 => 64,
            Type::Wide => 128,
        }
    }
}

/// A function.
#[derive(Clone, Debug)]
pub(super) struct Function {
    pub(super) name: String,
    pub(super) text: String,
    /// Whether the function needs integers of more than 64 bits.
    pub(super) has_wide: bool,
}

/// The function of a program, with a comment above.
pub(super) fn of(name: &str, comment: &str, parameters: &[Input], program: &Program) -> Function {
    let inputs: Vec<String> =
        parameters.iter().map(|input| format!("vptx_u32 {}", input.text())).collect();
    let inputs = if inputs.is_empty() { "void".to_string() } else { inputs.join(", ") };
    let mut text = format!(
        "#ifndef {HAS}{name}\n#define {HAS}{name}\n/* {comment} */\n\
         VPTX_FUNCTION vptx_u32 {name}({inputs})\n{{\n"
    );
    let emitter = Emitter { program };
    let used = used(program);
    let (mut stage, mut has_wide) = (None, false);
    for (value, step) in program.iter() {
        let is_used = used[value.index()];
        // Writing to a string never fails.
        if let (Op::Input(input), false) = (step.op, is_used) {
            let _ = writeln!(text, "    (void){};", input.text());
        }
        if matches!(step.op, Op::Input(_) | Op::Constant(_)) || !is_used {
            continue;
        }
        if stage != Some(step.stage) {
            stage = Some(step.stage);
            let _ = writeln!(text, "    /* {} */", step.stage.text());
        }
        let own = Type::of(step.range);
        let (computed, expression) = emitter.expression(step);
        has_wide |= own == Type::Wide || computed == Type::Wide;
        let expression = match computed {
            _ if computed == own => expression,
            Type::Wide => format!("({}){expression}.low", own.text()),
            _ => format!("({})({expression})", own.text()),
        };
        let _ = writeln!(text, "    const {} v{} = {expression};", own.text(), value.index());
    }
    let result = emitter.cast(program.result(), Type::U32);
    let _ = write!(text, "    return {result};\n}}\n#endif\n");
    Function { name: name.to_string(), text, has_wide }
}

/// For each value, whether the expressions name it. A comparison or difference of a value with
/// itself does not name the value.
fn used(program: &Program) -> Vec<bool> {
    let mut used = vec![false; program.steps().len()];
    used[program.result().index()] = true;
    for (value, step) in program.iter().collect::<Vec<_>>().into_iter().rev() {
        let is_known = matches!(step.op, Op::Compare(_, x, y) | Op::AbsDiff(x, y) if x == y);
        if used[value.index()] && !is_known {
            step.op.operands().for_each(|operand| used[operand.index()] = true);
        }
    }
    used
}

struct Emitter<'p> {
    program: &'p Program,
}

impl Emitter<'_> {
    fn step(&self, value: Value) -> &Step {
        &self.program.steps()[value.index()]
    }

    fn range(&self, value: Value) -> Range {
        self.step(value).range
    }

    /// A value in a type.
    fn cast(&self, value: Value, ty: Type) -> String {
        let step = self.step(value);
        let (own, text) = match step.op {
            Op::Constant(constant) => return literal(constant, ty),
            Op::Input(input) => (Type::U32, input.text().to_string()),
            _ => (Type::of(step.range), format!("v{}", value.index())),
        };
        match (own, ty) {
            (own, ty) if own == ty => text,
            (Type::I32 | Type::I64, Type::Wide) => format!("vptx_wide_i64({text})"),
            (_, Type::Wide) => format!("vptx_wide_u64({text})"),
            (_, ty) => format!("({}){text}", ty.text()),
        }
    }

    /// The low bits of a value as an unsigned number, in a type of at least `least` bits.
    fn bits(&self, value: Value, least: u8) -> (Type, String) {
        let own = Type::of(self.range(value));
        let ty = if least <= 32 && own.bits() == 32 { Type::U32 } else { Type::U64 };
        let text = match (own, ty) {
            (Type::Wide, _) => format!("v{}.low", value.index()),
            // Sign-extends first.
            (Type::I32, Type::U64) => {
                format!("(vptx_u64){}", self.cast(value, Type::I64))
            }
            _ => self.cast(value, ty),
        };
        (ty, text)
    }

    /// The expression of a step, and the type of the expression.
    fn expression(&self, step: &Step) -> (Type, String) {
        // A type that holds these values, the result, and the range `more`.
        let common = |values: &[Value], more: Range| {
            let ranges = values.iter().map(|value| self.range(*value)).chain([more]);
            Type::of(ranges.fold(step.range, Range::joined))
        };
        let binary = |sign: &str, wide: &str, x: Value, y: Value| {
            let ty = common(&[x, y], step.range);
            let (left, right) = (self.cast(x, ty), self.cast(y, ty));
            let text = match ty {
                Type::Wide => format!("vptx_wide_{wide}({left}, {right})"),
                _ => format!("{left} {sign} {right}"),
            };
            (ty, text)
        };
        match step.op {
            // Compilers warn of comparisons of a value with itself.
            Op::Min(x, y) | Op::Max(x, y) if x == y => {
                let ty = Type::of(step.range);
                (ty, self.cast(x, ty))
            }
            Op::AbsDiff(x, y) if x == y => (Type::I32, "0".into()),
            Op::Compare(compare, x, y) if x == y => {
                let holds = matches!(compare, Compare::Eq | Compare::Le | Compare::Ge);
                (Type::I32, u8::from(holds).to_string())
            }
            Op::Input(input) => (Type::U32, input.text().into()),
            Op::Constant(constant) => {
                let ty = Type::of(step.range);
                (ty, literal(constant, ty))
            }
            Op::Extract { value, low, width, signed } => self.extract(value, low, width, signed),
            Op::Add(x, y) => binary("+", "add", x, y),
            Op::Sub(x, y) => binary("-", "sub", x, y),
            Op::Mul(x, y) => binary("*", "mul", x, y),
            Op::AbsDiff(x, y) | Op::Min(x, y) | Op::Max(x, y) => {
                let ty = common(&[x, y], step.range);
                let (x, y) = (self.cast(x, ty), self.cast(y, ty));
                let choice = match step.op {
                    Op::Min(..) => format!("{x} : {y}"),
                    Op::Max(..) => format!("{y} : {x}"),
                    _ => format!("{y} - {x} : {x} - {y}"),
                };
                (ty, format!("{} ? {choice}", less(ty, &x, &y)))
            }
            Op::Shl(x, y) => {
                let ty = common(&[x], Range::new(0, 1 << self.range(y).max));
                let (x, y) = (self.cast(x, ty), self.cast(y, Type::I32));
                // C does not define shifts to the left of negative values.
                (ty, format!("{x} * (({})1 << {y})", ty.text()))
            }
            Op::Shr(x, y) => {
                // The type must have more bits than the shift amount.
                let ty = common(&[x], Range::new(0, 1 << self.range(y).max));
                let is_negative = self.range(x).min < 0;
                let (x, y) = (self.cast(x, ty), self.cast(y, Type::I32));
                let text = match ty {
                    Type::Wide => format!("vptx_wide_shr({x}, {y})"),
                    // Shifts of negative values differ between compilers.
                    _ if is_negative => format!("{x} < 0 ? ~(~{x} >> {y}) : {x} >> {y}"),
                    _ => format!("{x} >> {y}"),
                };
                (ty, text)
            }
            Op::Compare(compare, x, y) => {
                let ty = common(&[x, y], step.range);
                let (x, y) = (self.cast(x, ty), self.cast(y, ty));
                let sign = compare.sign();
                (Type::I32, format!("{x} {sign} {y} ? 1 : 0"))
            }
            Op::Clamp(x, range) => self.clamp(x, range, Type::of(step.range)),
            Op::Insert { base, value, low, width } => {
                let mask = u32::MAX >> (32 - u32::from(width));
                let (ty, value) = self.bits(value, width);
                let value = if ty == Type::U32 { value } else { format!("(vptx_u32){value}") };
                let part = match (low, u32::MAX >> low) {
                    (0, _) => format!("({value} & {mask}u)"),
                    // Higher bits are shifted out.
                    (_, rest) if rest == mask => format!("({value} << {low})"),
                    _ => format!("(({value} & {mask}u) << {low})"),
                };
                let kept = !(mask << low);
                if self.step(base).op == Op::Constant(0) {
                    return (Type::U32, part);
                }
                let base = self.cast(base, Type::U32);
                (Type::U32, format!("({base} & {kept}u) | {part}"))
            }
        }
    }

    /// Compilers warn of comparisons that never hold, so only comparisons that can hold are
    /// written.
    fn clamp(&self, x: Value, range: Range, own: Type) -> (Type, String) {
        let given = self.range(x);
        let (has_below, has_above) = (given.min < range.min, given.max > range.max);
        let min = if has_below { range.min } else { given.min };
        let max = if has_above { range.max } else { given.max };
        let ty = Type::of(Range::new(given.min.min(min), given.max.max(max)));
        let x = self.cast(x, ty);
        // A structure has no cast to a number.
        let (result, inside) = match ty {
            Type::Wide => (own, format!("({}){x}.low", own.text())),
            _ => (ty, x.clone()),
        };
        let mut text = inside;
        if has_above {
            let holds = less(ty, &literal(max, ty), &x);
            text = format!("{holds} ? {} : {text}", literal(max, result));
        }
        if has_below {
            let holds = less(ty, &x, &literal(min, ty));
            text = format!("{holds} ? {} : {text}", literal(min, result));
        }
        (result, text)
    }

    fn extract(&self, value: Value, low: u8, width: u8, signed: bool) -> (Type, String) {
        let (ty, bits) = self.bits(value, low + width);
        let moved = if low == 0 { bits } else { format!("({bits} >> {low})") };
        let is_all = low == 0 && width == ty.bits();
        let max = Range::bits(width, false).max;
        let taken = if is_all { moved } else { format!("({moved} & {})", literal(max, ty)) };
        if !signed {
            return (ty, taken);
        }
        // Flips the sign bit, then subtracts its value.
        let sign = 1i128 << (width - 1);
        let flipped = format!("({taken} ^ {})", literal(sign, ty));
        match width {
            0..=31 => (Type::I32, format!("(vptx_i32){flipped} - {}", literal(sign, Type::I32))),
            32..=63 => (Type::I64, format!("(vptx_i64){flipped} - {}", literal(sign, Type::I64))),
            _ => {
                let negative = format!("-(vptx_i64)(~{taken}) - 1");
                (Type::I64, format!("({taken} >> 63) != 0 ? {negative} : (vptx_i64){taken}"))
            }
        }
    }
}

fn less(ty: Type, x: &str, y: &str) -> String {
    match ty {
        Type::Wide => format!("vptx_wide_less({x}, {y})"),
        _ => format!("{x} < {y}"),
    }
}

/// A constant as text, in a type that holds the constant.
fn literal(value: i128, ty: Type) -> String {
    match ty {
        Type::I32 if value == i128::from(i32::MIN) => "(-2147483647 - 1)".into(),
        Type::I32 if value < 0 => format!("({value})"),
        Type::I32 => value.to_string(),
        Type::U32 => format!("{value}u"),
        Type::I64 if value == i128::from(i64::MIN) => {
            format!("(-VPTX_I64({}) - 1)", i64::MAX)
        }
        Type::I64 if value < 0 => format!("(-VPTX_I64({}))", -value),
        Type::I64 => format!("VPTX_I64({value})"),
        Type::U64 => format!("VPTX_U64({value})"),
        Type::Wide => match Type::of(Range::new(value, value)) {
            own @ (Type::I32 | Type::I64) => format!("vptx_wide_i64({})", literal(value, own)),
            own => format!("vptx_wide_u64({})", literal(value, own)),
        },
    }
}
