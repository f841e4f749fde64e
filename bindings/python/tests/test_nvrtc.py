"""NVRTC itself. `test_gpu.py` loads and runs such code."""

import pytest

pytest.importorskip("cuda.bindings.nvrtc")

import vptx  # noqa: E402
import vptx.nvrtc  # noqa: E402

OPTIONS = ["--gpu-architecture=compute_90"]
SOURCE = """
extern "C" __global__ void average(unsigned *p) {
    unsigned d;
    asm("vavrg4.u32.u32.u32 %0, %1, %2, %3;" : "=r"(d) : "r"(p[0]), "r"(p[1]), "r"(0));
    p[2] = d;
}
"""


def test_rewriting():
    compiled = vptx.nvrtc.compile(SOURCE, options=OPTIONS)
    assert ".entry average" in compiled.ptx
    assert (compiled.instructions, compiled.rewritten) == (1, 1)
    assert vptx.parse(compiled.ptx).instructions == []
    assert "lop3.b32" in compiled.ptx
    assert compiled.findings == []


def test_results_are_those_of_the_release():
    from cuda.bindings import nvrtc

    _, major, minor = nvrtc.nvrtcVersion()
    merge = SOURCE.replace("vavrg4.u32.u32.u32 %0,", "vadd.s32.s32.s32 %0.h1,")
    own = vptx.semantics_of_ptxas(f"{major}.{minor}")
    one, other, usual = [
        vptx.nvrtc.compile(merge, options=OPTIONS, semantics=semantics).ptx
        for semantics in ("ptxas-12", "ptxas-13", None)
    ]
    assert one != other
    assert usual == (one if own == "ptxas-12" else other)


def test_an_object_of_cuda_core():
    core = pytest.importorskip("cuda.core")
    compiled = vptx.nvrtc.compile(SOURCE, options=OPTIONS)
    module = core.ObjectCode.from_ptx(compiled.ptx.encode())
    assert module.code == compiled.ptx.encode()


def test_findings_and_errors():
    doubtful = SOURCE.replace("vavrg4.u32.u32.u32 %0,", "vsub4.u32.u32.u32.sat %0.b30,")
    doubtful = doubtful.replace("%1,", "%1.b0000,")
    found = vptx.nvrtc.compile(doubtful, options=OPTIONS, name="kernel.cu").findings
    assert found == vptx.check(doubtful, path="kernel.cu", language="cuda")
    with pytest.raises(vptx.nvrtc.CompileError, match=r'broken.cu\(3\): error: .*"unknown"'):
        vptx.nvrtc.compile("\n\nint f() { return unknown; }", name="broken.cu")
