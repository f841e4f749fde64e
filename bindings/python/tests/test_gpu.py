"""What needs a GPU: kernels that the hooks and recipes rewrite are launched, and compute what
`eval_batch` does. A machine without a GPU passes over all of it."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

cupy = pytest.importorskip("cupy")
if not cupy.cuda.is_available():
    pytest.skip("there is no GPU", allow_module_level=True)

import vptx  # noqa: E402

AVERAGE = vptx.Instruction("vavrg4.u32.u32.u32 d, a, b, c;")
# ptxas does not compute this instruction as the manual says.
DEVIANT = vptx.Instruction("vsub.s32.s32.s32.sat d.b2, a.b2, b.b2, c;")
SOURCE = """
extern "C" __global__ void both(unsigned *average, unsigned *deviant, const unsigned *a,
                                const unsigned *b) {
    unsigned at = blockIdx.x * blockDim.x + threadIdx.x;
    asm("vavrg4.u32.u32.u32 %0, %1, %2, %3;"
        : "=r"(average[at]) : "r"(a[at]), "r"(b[at]), "r"(0));
    asm("vsub.s32.s32.s32.sat %0.b2, %1.b2, %2.b2, %3;"
        : "=r"(deviant[at]) : "r"(a[at]), "r"(b[at]), "r"(a[at]));
}
"""
BLOCKS, THREADS = 64, 128


def columns():
    random = np.random.default_rng(3)
    return [random.integers(0, 1 << 32, BLOCKS * THREADS, np.uint32) for _ in range(2)]


def arch():
    return f"compute_{cupy.cuda.Device().compute_capability}"


def wanted(a, b, semantics):
    return [
        AVERAGE.eval_batch(a, b, 0, semantics=semantics),
        DEVIANT.eval_batch(a, b, a, semantics=semantics),
    ]


def launched(module, a, b):
    outputs = [cupy.zeros(a.size, cupy.uint32) for _ in range(2)]
    sources = [cupy.asarray(a), cupy.asarray(b)]
    module.get_function("both")((BLOCKS,), (THREADS,), (*outputs, *sources))
    return [cupy.asnumpy(output) for output in outputs]


def assert_equal(results, expected):
    for result, column in zip(results, expected):
        np.testing.assert_array_equal(result, column)


@pytest.mark.parametrize("semantics", ["ptxas-13", "ptxas-12", "manual"])
def test_cupy(semantics, tmp_path):
    nvrtc = pytest.importorskip("vptx.nvrtc")
    compiled = nvrtc.compile(
        SOURCE, options=[f"--gpu-architecture={arch()}"], semantics=semantics
    )
    assert (compiled.instructions, compiled.rewritten) == (2, 2)
    path = tmp_path / "both.ptx"
    path.write_text(compiled.ptx)
    a, b = columns()
    results = launched(cupy.RawModule(path=str(path)), a, b)
    assert_equal(results, wanted(a, b, semantics))


def test_cuda_core():
    core = pytest.importorskip("cuda.core")
    core = core if hasattr(core, "ObjectCode") else pytest.importorskip("cuda.core.experimental")
    nvrtc = pytest.importorskip("vptx.nvrtc")
    compiled = nvrtc.compile(SOURCE, options=[f"--gpu-architecture={arch()}"])
    device = core.Device()
    device.set_current()
    stream = device.create_stream()
    kernel = core.ObjectCode.from_ptx(compiled.ptx.encode()).get_kernel("both")
    a, b = columns()
    outputs = [cupy.zeros(a.size, cupy.uint32) for _ in range(2)]
    arrays = [*outputs, cupy.asarray(a), cupy.asarray(b)]
    cupy.cuda.Device().synchronize()
    shape = core.LaunchConfig(grid=BLOCKS, block=THREADS)
    core.launch(stream, shape, kernel, *(array.data.ptr for array in arrays))
    stream.sync()
    assert_equal([cupy.asnumpy(output) for output in outputs], wanted(a, b, "ptxas-13"))


TRITON = """
import sys
import torch, triton, triton.language as tl

@triton.jit
def average(a, b, out, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x, y = tl.load(a + at), tl.load(b + at)
    d = tl.inline_asm_elementwise(
        "vavrg4.u32.u32.u32 $0, $1, $2, $3;", "=r,r,r,r", [x, y, x * 0],
        dtype=tl.int32, is_pure=True, pack=1)
    tl.store(out + at, d)

def results(a, b):
    out = torch.zeros_like(a)
    average[(a.numel() // 128,)](a, b, out, BLOCK=128)
    return out

def words():
    return torch.randint(-2**31, 2**31, (8192,), dtype=torch.int64).to(torch.int32)

def check(result, a, b):
    import vptx
    a, b, result = (it.cpu().numpy().view("uint32") for it in (a, b, result))
    expected = vptx.Instruction("vavrg4.u32.u32.u32 d, a, b, c;").eval_batch(a, b, 0)
    assert (result == expected).all()

a, b = words().cuda(), words().cuda()
if sys.argv[1] == "hook":
    import vptx.triton
    with vptx.triton.install() as report:
        check(results(a, b), a, b)
    (kernel,) = report
    assert kernel.rewritten == kernel.instructions > 0, report
else:
    check(results(a, b), a, b)
"""


def run(command, **variables):
    done = subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, **variables}, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def wrapper(folder, program):
    """A link named ptxas to the program, its report, and a function for the modules in that."""
    folder.mkdir(parents=True)
    (folder / "ptxas").symlink_to(program)
    report = folder / "report.jsonl"

    def inputs():
        lines = map(json.loads, report.read_text().splitlines())
        return [own for line in lines for own in line["inputs"]]

    return folder / "ptxas", report, inputs


def test_triton_hook(tmp_path):
    pytest.importorskip("triton")
    pytest.importorskip("torch")
    script = tmp_path / "average.py"
    script.write_text(TRITON)
    run([sys.executable, str(script), "hook"], TRITON_CACHE_DIR=str(tmp_path / "cache"))


def test_triton_behind_the_wrapper(tmp_path, program):
    triton = pytest.importorskip("triton")
    pytest.importorskip("torch")
    own = Path(triton.__file__).parent / "backends" / "nvidia" / "bin" / "ptxas"
    link, report, inputs = wrapper(tmp_path / "bin", program)
    script = tmp_path / "average.py"
    script.write_text(TRITON)
    run(
        [sys.executable, str(script), "plain"],
        TRITON_CACHE_DIR=str(tmp_path / "cache"),
        TRITON_PTXAS_PATH=str(link),
        TRITON_PTXAS_BLACKWELL_PATH=str(link),
        VPTX_PTXAS=str(own),
        VPTX_REPORT=str(report),
    )
    assert any(own["rewritten"] for own in inputs()), inputs()


def test_nvcc_behind_the_wrapper(tmp_path, program):
    nvcc = shutil.which("nvcc")
    if nvcc is None:
        pytest.skip("there is no nvcc")
    cuda = Path(nvcc).resolve().parent.parent
    links = tmp_path / "cuda"
    link, report, inputs = wrapper(links / "bin", program)
    for folder, place in ((cuda, links), (cuda / "bin", links / "bin")):
        for entry in folder.iterdir():
            if not (place / entry.name).exists():
                (place / entry.name).symlink_to(entry)
    source, cubin = tmp_path / "both.cu", tmp_path / "both.cubin"
    source.write_text(SOURCE)
    run(
        [str(links / "bin" / "nvcc"), f"-arch={arch().replace('compute', 'sm')}", "-cubin",
         str(source), "-o", str(cubin)],
        VPTX_PTXAS=str(cuda / "bin" / "ptxas"),
        VPTX_REPORT=str(report),
    )
    assert [own["rewritten"] for own in inputs()] == [2]
    a, b = columns()
    assert_equal(launched(cupy.RawModule(path=str(cubin)), a, b), wanted(a, b, "ptxas-13"))


def test_numba():
    cuda = pytest.importorskip("numba.cuda")
    types = pytest.importorskip("numba").types
    core = pytest.importorskip("cuda.core")
    core = core if hasattr(core, "ObjectCode") else pytest.importorskip("cuda.core.experimental")

    def add(out, a, b):
        at = cuda.grid(1)
        out[at] = a[at] + b[at]

    column = types.CPointer(types.uint32)
    ptx, _ = cuda.compile_ptx(
        add, types.void(column, column, column), cc=cuda.get_current_device().compute_capability
    )
    assert vptx.check(ptx) == []
    text = vptx.rewrite(ptx).text
    name = text.split(".entry ")[1].split("(")[0].strip()
    device = core.Device()
    device.set_current()
    stream = device.create_stream()
    a, b = columns()
    arrays = [cupy.zeros(a.size, cupy.uint32), cupy.asarray(a), cupy.asarray(b)]
    cupy.cuda.Device().synchronize()
    kernel = core.ObjectCode.from_ptx(text.encode()).get_kernel(name)
    shape = core.LaunchConfig(grid=BLOCKS, block=THREADS)
    core.launch(stream, shape, kernel, *(array.data.ptr for array in arrays))
    stream.sync()
    np.testing.assert_array_equal(cupy.asnumpy(arrays[0]), a + b)


JAX = """
import jax, jax.numpy as jnp
assert jax.default_backend() == "gpu"
x = jnp.arange(100_000, dtype=jnp.float32)
print(float(jax.jit(lambda x: (jnp.sin(x) * 2 + x).sum())(x)))
"""


def test_xla(tmp_path, program):
    pytest.importorskip("jax")
    dump = tmp_path / "dump"
    run(
        [sys.executable, "-c", JAX],
        XLA_FLAGS=f"--xla_dump_to={dump} --xla_dump_emitter_re=ptx",
        XLA_PYTHON_CLIENT_PREALLOCATE="false",
    )
    assert list(dump.glob("*.ptx"))
    run([str(program), "check", str(dump)])
