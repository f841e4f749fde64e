"""Measures the module: `eval_batch` beside numpy and numba, threads, and short calls.

usage: python bench.py [WORDS [ROUNDS]]

For one form of each mnemonic: the time of numpy by hand and of numba's `@vectorize`, each
divided by that of `eval_batch`. numba and `eval_batch` write an array that is there already.
The forms use what the instructions are for: parts of words, saturation, sums of lanes. Where
numpy has the whole form as one operation, memory is the limit for both.
"""

import os
import re
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

import vptx

try:
    import numba
except ImportError:
    numba = None

I32, U32, I64 = np.int32, np.uint32, np.int64
LOW, HIGH = -(1 << 31), (1 << 31) - 1


def scalar(function):
    """numpy on signed words, with exact results."""
    return lambda a, b, c: function(a.view(I32).astype(I64), b.view(I32).astype(I64)).astype(U32)


def clipped(function):
    return scalar(lambda a, b: np.clip(function(a, b), LOW, HIGH))


def lanes(kind, wide, function):
    """numpy on lanes of a narrow type, computed in a wider one."""

    def run(a, b, c):
        lanes = function(a.view(kind).astype(wide), b.view(kind).astype(wide))
        return lanes.astype(kind).view(U32)

    return run


def narrow(kind, function):
    """numpy on lanes of a narrow type that need no wider one."""
    return lambda a, b, c: function(a.view(kind), b.view(kind)).astype(kind, copy=False).view(U32)


def summed(kind, function):
    """numpy on lanes whose results are added to `c`."""

    def run(a, b, c):
        lanes = function(a.view(kind), b.view(kind)).astype(kind, copy=False)
        count = 4 // np.dtype(kind).itemsize
        total = c.view(I32).copy()
        for at in range(count):
            total += lanes[at::count]
        return total.view(U32)

    return run


def limits(kind, function):
    info = np.iinfo(kind)
    return lambda a, b: np.clip(function(a, b), info.min, info.max)


def average(a, b):
    return (a + b + 1) >> 1


def numpy_shift_left(a, b, c):
    return np.where(b < 32, a << (b & U32(31)), U32(0))


def numpy_shift_right(a, b, c):
    return np.where(b < 32, a >> (b & U32(31)), U32(0))


def low_byte(word):
    return (word.view(I32) << 24) >> 24


def low_half(word):
    return (word.view(I32) << 16) >> 16


def high_half(word):
    return word.view(I32) >> 16


def numpy_product(a, b, c):
    wide = low_half(a).astype(I64) * high_half(b) + c.view(I32)
    return np.clip(wide >> 7, LOW, HIGH).astype(U32)


# numba: one function of three words for each form.


def numba_scalar(body, saturates=False):
    source = "def f(a, b, c):\n"
    source += "    a = np.int64(np.int32(a))\n    b = np.int64(np.int32(b))\n"
    source += f"    d = {body}\n"
    if saturates:
        source += f"    d = min(max(d, {LOW}), {HIGH})\n"
    return source + "    return np.uint32(d & 0xffffffff)\n"


def numba_lanes(bits, is_signed, body, saturates=False, sums=False):
    top = 1 << (bits - 1)
    low, high = (-top, top - 1) if is_signed else (0, 2 * top - 1)
    mask = 2 * top - 1
    source = "def f(a, b, c):\n    a = np.int64(a)\n    b = np.int64(b)\n    d = np.int64(0)\n"
    for at in range(0, 32, bits):
        for name in "ab":
            lane = f"(({name} >> {at}) & {mask})"
            source += (
                f"    x{name} = " + (f"(({lane} ^ {top}) - {top})" if is_signed else lane) + "\n"
            )
        source += "    x = " + re.sub(r"\b([ab])\b", r"x\1", body) + "\n"
        if saturates:
            source += f"    x = min(max(x, {low}), {high})\n"
        source += "    d += x\n" if sums else f"    d |= (x & {mask}) << {at}\n"
    return source + f"    return np.uint32({'d + c' if sums else 'd'})\n"


FORMS = [
    ("vadd.s32.s32.s32.sat d, a, b;", clipped(np.add), numba_scalar("a + b", True)),
    ("vsub.s32.s32.s32.sat d, a, b;", clipped(np.subtract), numba_scalar("a - b", True)),
    (
        "vabsdiff.s32.s32.s32.sat d, a, b;",
        clipped(lambda a, b: abs(a - b)),
        numba_scalar("max(a - b, b - a)", True),
    ),
    (
        "vmin.s32.s32.s32 d, a.b0, b.h1;",
        lambda a, b, c: np.minimum(low_byte(a), high_half(b)).view(U32),
        numba_scalar("min(np.int8(a), b >> 16)"),
    ),
    (
        "vmax.s32.s32.s32 d, a.b0, b.h1;",
        lambda a, b, c: np.maximum(low_byte(a), high_half(b)).view(U32),
        numba_scalar("max(np.int8(a), b >> 16)"),
    ),
    (
        "vshl.u32.u32.u32.clamp d, a, b;",
        numpy_shift_left,
        "def f(a, b, c):\n    return np.uint32(a << b) if b < 32 else np.uint32(0)\n",
    ),
    (
        "vshr.u32.u32.u32.clamp d, a, b;",
        numpy_shift_right,
        "def f(a, b, c):\n    return np.uint32(a >> b) if b < 32 else np.uint32(0)\n",
    ),
    (
        "vmad.s32.s32.s32.sat.shr7 d, a.h0, b.h1, c;",
        numpy_product,
        "def f(a, b, c):\n"
        "    d = np.int64(np.int16(a)) * np.int64(np.int32(b) >> 16) + np.int64(np.int32(c))\n"
        f"    return np.uint32(min(max(d >> 7, {LOW}), {HIGH}))\n",
    ),
    (
        "vset.s32.s32.lt d, a.b0, b.h1;",
        lambda a, b, c: (low_byte(a) < high_half(b)).astype(U32),
        "def f(a, b, c):\n    return np.uint32(np.int8(a) < np.int32(b) >> 16)\n",
    ),
]
for digit, bits, unsigned, signed_kind, wide in [
    (2, 16, np.uint16, np.int16, np.int32),
    (4, 8, np.uint8, np.int8, np.int16),
]:
    s, u = ".s32.s32.s32", ".u32.u32.u32"
    FORMS += [
        (
            f"vadd{digit}{s}.sat d, a, b, c;",
            lanes(signed_kind, wide, limits(signed_kind, np.add)),
            numba_lanes(bits, True, "a + b", True),
        ),
        (
            f"vsub{digit}{s}.sat d, a, b, c;",
            lanes(signed_kind, wide, limits(signed_kind, np.subtract)),
            numba_lanes(bits, True, "a - b", True),
        ),
        (
            f"vavrg{digit}{u} d, a, b, c;",
            lanes(unsigned, wide if bits == 8 else np.uint32, average),
            numba_lanes(bits, False, "(a + b + 1) >> 1"),
        ),
        (
            f"vabsdiff{digit}{u}.add d, a, b, c;",
            summed(unsigned, lambda a, b: np.maximum(a, b) - np.minimum(a, b)),
            numba_lanes(bits, False, "abs(a - b)", sums=True),
        ),
        (
            f"vmin{digit}{s}.add d, a, b, c;",
            summed(signed_kind, np.minimum),
            numba_lanes(bits, True, "min(a, b)", sums=True),
        ),
        (
            f"vmax{digit}{s}.add d, a, b, c;",
            summed(signed_kind, np.maximum),
            numba_lanes(bits, True, "max(a, b)", sums=True),
        ),
        (
            f"vset{digit}.u32.u32.lt.add d, a, b, c;",
            summed(unsigned, np.less),
            numba_lanes(bits, False, "1 if a < b else 0", sums=True),
        ),
    ]


def best(*functions, rounds=3):
    """The shortest time of each function. They run in turns, so that noise affects all alike."""
    seconds = [float("inf")] * len(functions)
    for _ in range(rounds):
        for at, function in enumerate(functions):
            start = time.perf_counter()
            function()
            seconds[at] = min(seconds[at], time.perf_counter() - start)
    return seconds


def compiled(source):
    names = {"np": np}
    exec(source, names)
    return numba.vectorize(["uint32(uint32, uint32, uint32)"])(names["f"])


def columns(count, rounds):
    random = np.random.default_rng(1)
    a, b, c = random.integers(0, 1 << 32, (3, count), dtype=U32)
    out = np.zeros(count, U32)
    print(f"{count} words, {os.cpu_count()} cores; ratios to eval_batch")
    print(f"{'form':44} {'ms':>7} {'GB/s':>6} {'numpy':>7} {'numba':>7}")
    for text, by_hand, source in FORMS:
        instruction = vptx.Instruction(text)
        # Amounts of shifts are mostly small.
        right = b & U32(63) if "sh" in text[:4] else b
        instruction.eval_batch(a, right, c, out=out)
        np.testing.assert_array_equal(by_hand(a[:1000], right[:1000], c[:1000]), out[:1000], text)
        runs = [lambda: instruction.eval_batch(a, right, c, out=out), lambda: by_hand(a, right, c)]
        if numba is not None:
            function = compiled(source)
            np.testing.assert_array_equal(
                function(a[:1000], right[:1000], c[:1000]), out[:1000], text
            )
            runs.append(lambda: function(a, right, c, out=out))
        own, other, *third = best(*runs, rounds=rounds)
        third = third[0] if third else float("nan")
        reads_c = "vmad" in text or ".add" in text
        moved = count * 4 * (4 if reads_c else 3)
        print(
            f"{text:44} {own * 1e3:7.1f} {moved / own / 1e9:6.1f} {other / own:7.2f} "
            f"{third / own:7.2f}",
            flush=True,
        )


def calls():
    line = "vadd4.u32.u32.u32 d, a, b, c;"
    for name, function in [
        ("check of one line", lambda: vptx.check(line)),
        ("check of one line with a finding", lambda: vptx.check("vadd.s32 d, a, b;")),
        ("Instruction of one line", lambda: vptx.Instruction(line)),
    ]:
        count = 2000
        (seconds,) = best(lambda: [function() for _ in range(count)], rounds=10)
        print(f"{name}: {seconds / count * 1e6:.2f} µs")


def threads():
    root = Path(__file__).resolve().parents[2]
    text = (root / "fixtures/ptx/nvcc/video_simd.sm_90.ptx").read_text() * 20
    with ThreadPoolExecutor(8) as pool:
        single, several = best(
            lambda: [vptx.check(text) for _ in range(32)],
            lambda: list(pool.map(vptx.check, [text] * 32)),
            rounds=5,
        )
    print(f"32 checks: 8 threads take 1/{single / several:.2f} of the time of one")


if __name__ == "__main__":
    calls()
    threads()
    given = [int(float(argument)) for argument in sys.argv[1:]]
    columns(given[0] if given else 100_000_000, given[1] if len(given) > 1 else 5)
