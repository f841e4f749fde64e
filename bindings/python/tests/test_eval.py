"""Values: against recorded results, numpy's own broadcasting, and plain Python."""

import array
import ctypes
import mmap
import pickle
import subprocess
import sys
from collections import defaultdict

import numpy as np
import pytest
from conftest import ROOT

import vptx

SEMANTICS = ["manual", "ptxas-12", "ptxas-13"]
SAD = vptx.Instruction("vabsdiff4.u32.u32.u32.add d, a, b, c;")


def sad(a, b, c):
    """The manual's words about `SAD`, in plain Python."""
    lanes = range(0, 32, 8)
    return (c + sum(abs((a >> at & 255) - (b >> at & 255)) for at in lanes)) & 0xFFFFFFFF


def words(*shape, seed=1):
    return np.random.default_rng(seed).integers(0, 1 << 32, shape, dtype=np.uint32)


def expected(a, b, c):
    return np.vectorize(sad, otypes=[np.uint32])(
        *(np.asarray(x, dtype=np.uint32).astype(object) for x in (a, b, c))
    )


def recorded():
    groups = defaultdict(list)
    for line in (ROOT / "fixtures/oracle/vectors.tsv").read_text().splitlines():
        if not line.startswith("#"):
            text, *values = line.split("\t")
            groups[text].append([int(value, 16) for value in values])
    return groups


def test_recorded_results():
    groups = recorded()
    count = 0
    for text, rows in groups.items():
        instruction = vptx.Instruction(text)
        a, b, c, *results = np.array(rows, dtype=np.uint32).T
        for semantics, result in zip(SEMANTICS, results):
            found = instruction.eval_batch(a, b, c, semantics=semantics)
            assert found.dtype == np.uint32
            np.testing.assert_array_equal(found, result, f"{text} {semantics}")
            one = [int(word) for word in (a[0], b[0], c[0])]
            assert instruction.eval(*one, semantics=semantics) == result[0]
            count += len(rows)
    assert count > 30_000


SHAPES = [
    ((5,), (5,), (5,)),
    ((3, 1), (4,), ()),
    ((2, 3, 4), (3, 1), (1, 1, 4)),
    ((1,), (1,), (7, 1)),
    ((0,), (1,), ()),
    ((3, 0), (0,), (3, 1)),
    ((), (), ()),
]


@pytest.mark.parametrize("shapes", SHAPES)
def test_broadcasting(shapes):
    a, b, c = (words(*shape, seed=seed) for seed, shape in enumerate(shapes))
    found = SAD.eval_batch(a, b, c)
    assert found.shape == np.broadcast_shapes(*shapes)
    if found.size:
        np.testing.assert_array_equal(found, expected(a, b, c))
    assert isinstance(found, np.ndarray if found.shape else np.uint32)


VIEWS = {
    "every third": lambda: words(30)[::3],
    "backwards": lambda: words(10)[::-1],
    "a column": lambda: words(10, 4)[:, 2],
    "transposed": lambda: words(5, 10).T,
    "Fortran order": lambda: np.asfortranarray(words(10, 5)),
    "unaligned": lambda: np.frombuffer(b"x" + words(10).tobytes(), np.uint8)[1:].view(np.uint32),
    "a field": lambda: words(30).view([("x", "u1"), ("w", "<u4"), ("y", "V7")])["w"],
    "repeated": lambda: np.broadcast_to(words(10)[:, None], (10, 5)),
    "read-only": lambda: np.frombuffer(words(10).tobytes(), np.uint32),
}


@pytest.mark.parametrize("name", VIEWS)
def test_any_memory_layout(name):
    a = VIEWS[name]()
    b, c = words(*a.shape, seed=5), 7
    wanted = expected(a, b, c)
    np.testing.assert_array_equal(SAD.eval_batch(a, b, c), wanted)
    np.testing.assert_array_equal(SAD.eval_batch(b, a, c), wanted)
    if a.flags.writeable:
        assert SAD.eval_batch(a.copy(), b, c, out=a) is a
        np.testing.assert_array_equal(a, wanted)


def test_large_columns_on_several_threads():
    a, b = words(1_500_001), words(1_500_001, seed=2)
    lanes = [x.view(np.uint8).reshape(-1, 4).astype(np.int16) for x in (a, b)]
    wanted = np.abs(lanes[0] - lanes[1]).sum(axis=1, dtype=np.uint32) + np.uint32(9)
    np.testing.assert_array_equal(SAD.eval_batch(a, b, 9), wanted)
    np.testing.assert_array_equal(SAD.eval_batch(a[::-1], b[::-1], 9), wanted[::-1])
    out = np.zeros((1_500_001, 2), np.uint32)
    SAD.eval_batch(a, b, 9, out=out[:, 1])
    np.testing.assert_array_equal(out[:, 1], wanted)
    assert not out[:, 0].any()
    SAD.eval_batch(a, b, 9, out=a)
    np.testing.assert_array_equal(a, wanted)


def test_out_that_overlaps_a_source():
    for size in (100, 300_000):
        memory, b = words(size + 1), words(size, seed=2)
        before = memory.copy()
        SAD.eval_batch(memory[:-1], b, memory[1:], out=memory[1:])
        np.testing.assert_array_equal(memory[1:], SAD.eval_batch(before[:-1], b, before[1:]))
        memory[:] = before
        SAD.eval_batch(memory[:-1], b, 0, out=memory[:-1][::-1])
        np.testing.assert_array_equal(memory[:-1][::-1], SAD.eval_batch(before[:-1], b, 0))


def test_out_with_more_dimensions():
    out = np.zeros((3, 4), np.uint32)
    assert SAD.eval_batch(words(4), 1, 2, out=out) is out
    np.testing.assert_array_equal(out, np.broadcast_to(expected(words(4), 1, 2), (3, 4)))


class OnlyDlpack:
    """An array that offers DLPack only, as an array of another library would."""

    def __init__(self, inner, version=1):
        self.inner, self.version = inner, version

    def __dlpack_device__(self):
        return self.inner.__dlpack_device__()

    def __dlpack__(self, **options):
        if self.version == 0 and options:
            raise TypeError("unexpected keyword argument")
        return self.inner.__dlpack__(**options)


def test_dlpack():
    a, b = words(6, 4), words(4, seed=2)
    wanted = expected(a, b, 1)
    for version in (0, 1):
        found = SAD.eval_batch(OnlyDlpack(a, version), OnlyDlpack(b, version), 1)
        assert isinstance(found, memoryview)
        np.testing.assert_array_equal(np.asarray(found), wanted)
    np.testing.assert_array_equal(
        SAD.eval_batch(OnlyDlpack(a[:, ::-1]), b[::-1], 1), wanted[:, ::-1]
    )
    old = OnlyDlpack(np.zeros((6, 4), np.uint32), version=0)
    with pytest.raises(ValueError, match="out: its memory cannot be written"):
        SAD.eval_batch(1, b, 1, out=old)
    if np.lib.NumpyVersion(np.__version__) < "2.1.0":
        pytest.skip("numpy exports only the old DLPack, which does not tell what may be written")
    out = OnlyDlpack(np.zeros((6, 4), np.uint32))
    assert SAD.eval_batch(a, b, 1, out=out) is out
    np.testing.assert_array_equal(out.inner, wanted)
    a.flags.writeable = False
    np.testing.assert_array_equal(SAD.eval_batch(OnlyDlpack(a), b, 1), wanted)
    with pytest.raises(ValueError, match="out: its memory cannot be written"):
        SAD.eval_batch(1, b, 1, out=OnlyDlpack(a))


def test_a_tensor_without_an_address_is_refused():
    class Null(OnlyDlpack):
        def __dlpack__(self, **_):
            capsule = self.inner.__dlpack__()
            pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
            pointer_of.restype = ctypes.c_void_p
            pointer_of.argtypes = ctypes.py_object, ctypes.c_char_p
            tensor = pointer_of(capsule, b"dltensor")
            # The address is the first member.
            ctypes.c_void_p.from_address(tensor).value = None
            return capsule

    with pytest.raises(ValueError, match="a: it has words, but no address"):
        SAD.eval_batch(Null(words(3)), 1, 2)
    assert SAD.eval_batch(Null(words(0)), 1, 2).tolist() == []


def test_array_interfaces():
    class Other:
        def __init__(self, inner, **changes):
            self.inner = inner
            self.__array_interface__ = {**inner.__array_interface__, **changes}

    a = words(4)
    wanted = expected(a, 1, 2)
    found = SAD.eval_batch(Other(a), 1, 2)
    assert isinstance(found, memoryview) and found.tolist() == wanted.tolist()
    assert SAD.eval_batch(Other(a, strides=(8,), shape=(2,)), 1, 2).tolist() == [*wanted[::2]]
    with pytest.raises(ValueError, match="a: its array interface is not valid"):
        SAD.eval_batch(Other(a, strides=(4, 4)), 1, 2)
    with pytest.raises(TypeError, match="a: masked arrays are not supported"):
        SAD.eval_batch(Other(a, mask=a), 1, 2)
    with pytest.raises(TypeError, match="a: masked arrays are not supported"):
        SAD.eval_batch(np.ma.array(a, mask=a > 5), 1, 2)
    with pytest.raises(TypeError, match="a: expected uint32 words"):
        SAD.eval_batch(Other(a, data=None), 1, 2)
    with pytest.raises(ValueError, match="a: it has words, but no address"):
        SAD.eval_batch(Other(a, data=(0, True)), 1, 2)
    assert SAD.eval_batch(Other(a, data=(0, True), shape=(0,)), 1, 2).tolist() == []


def test_other_errors_of_arguments_pass():
    class Stopped:
        def __index__(self):
            raise KeyboardInterrupt

    class StoppedTensor(OnlyDlpack):
        def __dlpack__(self, **_):
            raise KeyboardInterrupt

    for call in (SAD.eval, SAD.eval_batch):
        with pytest.raises(KeyboardInterrupt):
            call(Stopped(), 1, 2)
    with pytest.raises(KeyboardInterrupt):
        SAD.eval_batch(StoppedTensor(words(2)), 1, 2)


def test_memory_of_a_gpu_is_refused():
    class Gpu(OnlyDlpack):
        def __dlpack_device__(self):
            return (2, 0)

    with pytest.raises(ValueError, match="a: expected memory of the CPU, got .* type 2"):
        SAD.eval_batch(Gpu(words(3)), 1, 2)


def test_buffers_without_numpy():
    given = [1, 0x01020304, 0xFFFFFFFF]
    packed = array.array("I", given)
    wanted = [sad(word, 5, 6) for word in given]
    raw = mmap.mmap(-1, 12)
    raw[:] = packed.tobytes()
    sources = [
        packed,
        memoryview(packed),
        memoryview(packed.tobytes()).cast("I"),
        memoryview(bytearray(packed.tobytes())).cast("I"),
        memoryview(raw).cast("I"),
        (ctypes.c_uint32 * 3)(*given),
    ]
    for source in sources:
        found = SAD.eval_batch(source, 5, 6)
        assert isinstance(found, memoryview) and found.format == "I"
        assert found.tolist() == wanted, source
    backwards = memoryview(packed)[::-1]
    assert SAD.eval_batch(backwards, 5, 6).tolist() == wanted[::-1]
    square = memoryview(array.array("I", range(6))).cast("B").cast("I", (2, 3))
    assert SAD.eval_batch(square, packed, 0).shape == (2, 3)
    out = array.array("I", [0] * 3)
    assert SAD.eval_batch(packed, 5, 6, out=out) is out
    assert out.tolist() == wanted
    assert SAD.eval_batch(array.array("I"), 1, 2).tolist() == []
    # The buffer is released when the call ends, so the array can be resized again.
    out.append(4)
    with pytest.raises(ValueError, match="out: its memory cannot be written"):
        SAD.eval_batch(given[0], 5, 6, out=memoryview(bytes(4)).cast("I"))
    with pytest.raises(ValueError, match="out: its memory cannot be written"):
        SAD.eval_batch(1, 5, 6, out=memoryview(out)[::-1])


def test_without_numpy_installed():
    code = """
import sys
sys.modules["numpy"] = None
import array, vptx
instruction = vptx.Instruction("vadd4.u32.u32.u32 d, a, b, c;")
found = instruction.eval_batch(array.array("I", [1, 2, 3]), 0x01010101, 0)
assert found.tolist() == [0x01010102, 0x01010103, 0x01010104]
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_ints():
    assert SAD.eval_batch(1, 2, 3) == 4
    assert SAD.eval(-1, 0, 0) == 4 * 255
    assert SAD.eval(np.uint32(1), np.int64(2), True) == 2
    assert SAD.eval_batch(np.uint32(1), np.int8(2), True) == 2
    assert SAD.eval_batch(words(2), np.uint32(2), np.uint32(3)).tolist() == [
        sad(int(word), 2, 3) for word in words(2)
    ]
    with pytest.raises(ValueError, match="b: -2147483649 does not fit 32 bits"):
        SAD.eval_batch(1, np.int64(-(1 << 31) - 1), 0)
    with pytest.raises(ValueError, match="4294967296 does not fit 32 bits"):
        SAD.eval(1 << 32, 0, 0)
    with pytest.raises(ValueError, match="does not fit 32 bits"):
        SAD.eval(-(1 << 200), 0, 0)
    with pytest.raises(ValueError, match="the number does not fit 32 bits"):
        SAD.eval(10**5000, 1, 1)
    with pytest.raises(TypeError, match="expected an int of 32 bits, got .*float"):
        SAD.eval(1.0, 0, 0)


def test_words_that_are_not_read():
    plain = vptx.Instruction("vadd4.u32.u32.u32 d, a, b, c;")
    assert plain.eval(1, 2) == 3
    assert vptx.Instruction("vadd.u32.u32.u32 d, 5, b;").eval(b=7) == 12
    np.testing.assert_array_equal(plain.eval_batch(words(4), 0), words(4))
    # The shape of a column counts even if its words are not read.
    assert plain.eval_batch(1, 2, words(3)).shape == (3,)
    with pytest.raises(TypeError, match="the instruction reads c, which is not given"):
        SAD.eval(1, 2)
    with pytest.raises(TypeError, match="the instruction reads a, which is not given"):
        SAD.eval_batch(b=words(2), c=1)


WRONG = [
    ([1, 2], TypeError, "a: expected uint32 words: .*; got <class 'list'>"),
    ("12", TypeError, "a: expected uint32 words: .*; got <class 'str'>"),
    (b"1234", TypeError, "a: expected uint32 words in native byte order, got the format `B`"),
    (np.zeros(3), TypeError, "a: expected uint32 words in native byte order, got float64"),
    (np.zeros(3, np.int32), TypeError, "got int32"),
    (np.zeros(3, np.uint64), TypeError, "got uint64"),
    (np.zeros(3, ">u4"), TypeError, "got >u4"),
    (np.zeros(3, object), TypeError, "got object"),
    (array.array("i", [1]), TypeError, "got the format `i`"),
    (OnlyDlpack(np.zeros(3, np.int32)), TypeError, r"code 0, 32 bits, 1 lanes"),
    (None, TypeError, "reads a, which is not given"),
]


@pytest.mark.parametrize("value, error, message", WRONG, ids=lambda value: type(value).__name__)
def test_wrong_types(value, error, message):
    with pytest.raises(error, match=message):
        SAD.eval_batch(value, 1, 2)


def test_wrong_shapes():
    with pytest.raises(ValueError, match=r"do not broadcast: a \(2, 3\), b \(4,\)"):
        SAD.eval_batch(words(2, 3), words(4), 1)
    with pytest.raises(ValueError, match=r"out has the shape \(3,\), .* broadcast to \(4,\)"):
        SAD.eval_batch(words(4), 1, 2, out=words(3))
    with pytest.raises(ValueError, match=r"out has the shape \(1,\), .* broadcast to \(4,\)"):
        SAD.eval_batch(words(4), 1, 2, out=words(1))
    shared = np.lib.stride_tricks.as_strided(words(4), (4, 3), (4, 0))
    with pytest.raises(ValueError, match="out: some of its words share memory"):
        SAD.eval_batch(1, 2, 3, out=shared)
    with pytest.raises(ValueError, match="manual"):
        SAD.eval(1, 2, 3, semantics="ptxas")


def test_programs_and_traces():
    instruction = vptx.Instruction("vadd4.s32.s32.s32.sat d.b10, a, b.b4444, c;")
    program = instruction.lower("ptxas-13")
    assert vptx.Program(str(program)) == program
    assert pickle.loads(pickle.dumps(program)) == program
    np.testing.assert_array_equal(
        program.eval_batch(words(9), words(9, seed=2), 5),
        instruction.eval_batch(words(9), words(9, seed=2), 5, semantics="ptxas-13"),
    )
    trace = instruction.trace(0x000080FF, 0x00000080, 0xABCD0000)
    assert [lane.name for lane in trace.lanes] == ["d.b3", "d.b2", "d.b1", "d.b0"]
    assert [lane.is_written for lane in trace.lanes] == [False, False, True, True]
    # -128 + -128 and -1 + -128, both clamped to -128.
    assert [lane.value for lane in trace.lanes] == [-85, -51, -128, -128]
    assert trace.result == 0xABCD8080 == instruction.eval(0x80FF, 0x80, 0xABCD0000)
    assert trace.steps[-1].value == trace.result
    assert {step.stage for step in trace.steps} == {"extract", "compute", "saturate", "merge"}


def test_pictures():
    instruction = vptx.Instruction("vset.u32.s32.le d.h1, a, b.b2, c;")
    # ptxas 12 writes something else than the manual says.
    assert instruction._repr_svg_() == instruction.svg()
    assert instruction.svg().count('data-box="d.h1"') == 2
    picture = instruction.svg(3, 0x7FFF00, 5, semantics="ptxas-12")
    assert 'data-box="d.h1" data-value="0"' in picture
    assert picture.count('data-box="d.h1"') == 1
    with pytest.raises(TypeError):
        instruction.svg(3)


def test_the_sources_keep_their_references():
    a = words(10)
    out = np.zeros(10, np.uint32)
    before = sys.getrefcount(a), sys.getrefcount(out)
    for _ in range(100):
        SAD.eval_batch(a, a, 1, out=out)
        with pytest.raises(TypeError):
            SAD.eval_batch(a, np.zeros(10), 1, out=out)
    assert (sys.getrefcount(a), sys.getrefcount(out)) == before
