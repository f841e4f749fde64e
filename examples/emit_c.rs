//! Writes a C function that computes the result of an instruction. It is made from the
//! instruction's program.
//!
//! ```sh
//! cargo run --example emit_c -- 'vadd4.u32.u32.u32.sat d, a, b, c;'
//! ```

use std::error::Error;

use vptx::ir::{Input, Op, Program};
use vptx::{Instruction, Semantics};

fn main() -> Result<(), Box<dyn Error>> {
    let text = std::env::args().nth(1).ok_or("usage: emit_c 'INSTRUCTION'")?;
    let instruction: Instruction = text.parse()?;
    println!("/* {instruction} */");
    print!("{}", function("video", &instruction.lower(Semantics::Manual)));
    Ok(())
}

/// A C function with a name. Values have up to 71 bits, so the function computes with 128 bits.
fn function(name: &str, program: &Program) -> String {
    let steps = program.iter();
    let lines = steps
        .map(|(value, step)| format!("    wide v{} = {};\n", value.index(), expression(&step.op)));
    format!(
        "unsigned {name}(unsigned a, unsigned b, unsigned c)\n{{\n    typedef __int128 wide;\n    \
         (void)a, (void)b, (void)c;\n{}    return (unsigned)v{};\n}}\n",
        lines.collect::<String>(),
        program.result().index(),
    )
}

fn expression(op: &Op) -> String {
    match *op {
        Op::Input(Input::A) => "a".into(),
        Op::Input(Input::B) => "b".into(),
        Op::Input(Input::C) => "c".into(),
        Op::Constant(value) => match i64::try_from(value) {
            Ok(value) => format!("(wide){value}LL"),
            Err(_) => format!("(wide){}LL * 4294967296 + {}", value >> 32, value & 0xffff_ffff),
        },
        Op::Extract { value, low, width, signed } => {
            let bits = format!("((v{} >> {low}) & (((wide)1 << {width}) - 1))", value.index());
            if signed {
                format!("({bits} ^ ((wide)1 << {0})) - ((wide)1 << {0})", width - 1)
            } else {
                bits
            }
        }
        Op::Add(x, y) => format!("v{} + v{}", x.index(), y.index()),
        Op::Sub(x, y) => format!("v{} - v{}", x.index(), y.index()),
        Op::Mul(x, y) => format!("v{} * v{}", x.index(), y.index()),
        Op::AbsDiff(x, y) => {
            format!("v{0} > v{1} ? v{0} - v{1} : v{1} - v{0}", x.index(), y.index())
        }
        Op::Min(x, y) => format!("v{0} < v{1} ? v{0} : v{1}", x.index(), y.index()),
        Op::Max(x, y) => format!("v{0} > v{1} ? v{0} : v{1}", x.index(), y.index()),
        // In C, a left shift of a negative value is undefined.
        Op::Shl(x, y) => format!("v{} * ((wide)1 << (int)v{})", x.index(), y.index()),
        Op::Shr(x, y) => format!("v{} >> (int)v{}", x.index(), y.index()),
        Op::Compare(compare, x, y) => {
            format!("v{} {} v{}", x.index(), compare.sign(), y.index())
        }
        Op::Clamp(x, range) => {
            let (min, max) =
                (expression(&Op::Constant(range.min)), expression(&Op::Constant(range.max)));
            format!("v{0} < {min} ? {min} : v{0} > {max} ? {max} : v{0}", x.index())
        }
        Op::Insert { base, value, low, width } => {
            let mask = format!("((((wide)1 << {width}) - 1) << {low})");
            let part = format!("((v{} & (((wide)1 << {width}) - 1)) << {low})", value.index());
            format!("(v{} & ~{mask}) | {part}", base.index())
        }
    }
}
