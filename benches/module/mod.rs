//! Modules to measure on: made, seeded, in the layout nvcc writes.

use std::fmt::Write;

/// A small generator of numbers: xorshift64*.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self, below: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % below
    }
}

const PLAIN: &[&str] = &[
    "add.s32 \t%r{}, %r{}, %r{}",
    "mad.lo.s32 \t%r{}, %r{}, %r{}, 7",
    "ld.global.u32 \t%r{}, [%rd{}+{}]",
    "st.global.u32 \t[%rd{}], %r{}",
    "mul.wide.s32 \t%rd{}, %r{}, 4",
    "setp.ge.s32 \t%p1, %r{}, %r{}",
    "fma.rn.f32 \t%f{}, %f{}, %f{}, 0f3F800000",
    "cvta.to.global.u64 \t%rd{}, %rd{}",
    "shfl.sync.bfly.b32 \t%r{}|%p2, %r{}, 16, 31, -1",
    "mov.b64 \t{%r{}, %r{}}, %rd{}",
];

const VIDEO: &[&str] = &[
    "vadd4.u32.u32.u32.sat \t%r{}, %r{}, %r{}, %r{}",
    "vabsdiff.s32.u32.s32.add \t%r{}, %r{}.b0, %r{}.h1, %r{}",
    "vset2.s32.u32.lt \t%r{}.h1, %r{}.h10, %r{}.h32, %r{}",
    "vmad.s32.s32.u32.sat.shr7 \t%r{}, %r{}.b3, -%r{}, %r{}",
    "vshl.u32.u32.u32.clamp \t%r{}.h0, %r{}, %r{}, %r{}",
];

/// A module of about this many bytes, of whose instructions this many per
/// thousand are video instructions.
pub(crate) fn make(bytes: usize, video_per_mille: u64) -> String {
    let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15);
    let mut text = String::with_capacity(bytes + 4096);
    text.push_str(".version 8.0\n.target sm_90\n.address_size 64\n");
    let mut function = 0;
    while text.len() < bytes {
        let _ = write!(
            text,
            "\n\t// .globl\tkernel{function}\n.visible .entry kernel{function}(\n\
             \t.param .u64 kernel{function}_param_0\n)\n{{\n\t.reg .pred \t%p<8>;\n\
             \t.reg .b32 \t%r<200>;\n\t.reg .f32 \t%f<200>;\n\t.reg .b64 \t%rd<200>;\n\n"
        );
        for line in 0..400 {
            if line % 20 == 0 {
                let _ = writeln!(text, "\n$L__BB{function}_{line}:\n\t.loc\t1 {line} 5");
            }
            let pool = if numbers.next(1000) < video_per_mille { VIDEO } else { PLAIN };
            let shape = pool[numbers.next(pool.len() as u64) as usize];
            text.push('\t');
            let mut parts = shape.split("{}");
            text.push_str(parts.next().unwrap_or_default());
            for part in parts {
                let _ = write!(text, "{}", numbers.next(200));
                text.push_str(part);
            }
            text.push_str(";\n");
        }
        text.push_str("\tret;\n\n}\n");
        function += 1;
    }
    text
}
