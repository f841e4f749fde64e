// Texts to start from.

import type { State } from './link';

export interface Example extends Pick<State, 'text' | 'language'> {
    name: string;
    line?: number;
    tab?: State['tab'];
    values?: State['values'];
    target?: string;
}

const MODULE = `\
.version 8.5
.target sm_90
.address_size 64

// Sums the differences of four pixels each, as video encoders do.
.visible .entry sad(.param .u64 old, .param .u64 new, .param .u64 sums)
{
    .reg .b32 %r<8>;
    .reg .b64 %rd<5>;

    ld.param.u64 %rd0, [old];
    ld.param.u64 %rd1, [new];
    ld.param.u64 %rd2, [sums];
    mov.u32 %r0, %tid.x;
    mul.wide.u32 %rd3, %r0, 4;
    add.u64 %rd0, %rd0, %rd3;
    add.u64 %rd1, %rd1, %rd3;
    add.u64 %rd2, %rd2, %rd3;
    ld.global.u32 %r1, [%rd0];
    ld.global.u32 %r2, [%rd1];
    ld.global.u32 %r3, [%rd2];
    vabsdiff4.u32.u32.u32.add %r4, %r1, %r2, %r3;
    st.global.u32 [%rd2], %r4;
    ret;
}
`;

const MISTAKES = `\
.version 8.5
.target sm_90

.func mistakes(.reg .b32 d, .reg .b32 a, .reg .b32 b, .reg .b32 c)
{
    varvg4.u32.u32.u32 d, a, b, c;
    vadd4.sat.u32.u32.u32 d, a, b, c;
    vset2.u32.u32.lt.add d, a.h10, b.h98, c;
    vmin.s32.s32.s32 d, a.b0, b.h2;
    vavrg2.u32.u32.u32.add d, a.h10, b.h10, c;
    ret;
}
`;

const CUDA = `\
#include <cstdint>

// The larger of the bytes of two words, below a limit.
__device__ uint32_t limited(uint32_t a, uint32_t b, uint32_t limit) {
    uint32_t most, result;
    asm("vmax4.u32.u32.u32 %0, %1, %2, %3;" : "=r"(most) : "r"(a), "r"(b), "r"(0));
    asm("vmin4.u32.u32.u32 %0, %1, %2.b4444, %3;"
        : "=r"(result) : "r"(most), "r"(limit), "r"(0));
    return result;
}

// The type of the sum is missing.
__device__ int sum(int a, int b) {
    int result;
    asm("vadd.s32.s32.sat %0, %1.h0, %2.h1;" : "=r"(result) : "r"(a), "r"(b));
    return result;
}
`;

const PYTHON = `\
import triton
import triton.language as tl


@triton.jit
def average(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    y = tl.load(y_ptr + at, mask=at < n)
    both = tl.inline_asm_elementwise(
        asm="vavrg4.u32.u32.u32 $0, $1, $2, $2;",
        constraints="=r,r,r",
        args=[x, y],
        dtype=tl.int32,
        is_pure=True,
        pack=1,
    )
    tl.store(out_ptr + at, both, mask=at < n)
`;

export const EXAMPLES: Example[] = [
    {
        name: 'Add to every byte',
        language: 'ptx',
        text: `\
// Each byte of a, plus the lowest byte of b, but at most 255.
// The mask .b310 leaves byte 2 of c as it is.
vadd4.u32.u32.u32.sat d.b310, a, b.b4444, c;
`,
        line: 3,
        values: ['0x10f03008', '0x00000020', '0xaabbccdd'],
    },
    { name: 'Mistakes, with fixes', language: 'ptx', text: MISTAKES, line: 10 },
    {
        name: 'ptxas and the manual differ',
        language: 'ptx',
        text: `\
// .sat to a part of d: ptxas clamps as if it were unsigned.
vsub.s32.s32.s32.sat d.b2, a.b2, b.b2, c;
`,
        line: 2,
        values: ['0x00000000', '0x7f7f7f7f', '0x7f7f7f7f'],
    },
    { name: 'A kernel: differences of pixels', language: 'ptx', text: MODULE, line: 22 },
    {
        name: 'Cheaper PTX',
        language: 'ptx',
        text: `\
// ptxas needs 31 machine instructions on an H100. Ordinary PTX needs 3.
vavrg4.u32.u32.u32 d, a, b, c;
`,
        line: 2,
        tab: 'ptx',
    },
    {
        name: 'Hardware of sm_120f',
        language: 'ptx',
        text: `\
.version 9.2
.target sm_120f

.func smallest(.reg .b32 d, .reg .b32 a, .reg .b32 b)
{
    // One machine instruction on this GPU, once it is ordinary PTX.
    vmin4.s32.s32.s32 d, a, b, b;
    ret;
}
`,
        line: 7,
        tab: 'ptx',
        target: 'sm_120f',
    },
    { name: 'asm in CUDA', language: 'cuda', text: CUDA, line: 6, tab: 'c' },
    { name: 'asm in Triton', language: 'python', text: PYTHON, line: 11 },
];
