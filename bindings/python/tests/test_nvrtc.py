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


@pytest.mark.parametrize("kind", ["", "a", "f"])
def test_bytes_in_hardware(kind):
    minima = SOURCE.replace("vavrg4", "vmin4")
    options = [f"--gpu-architecture=compute_120{kind}"]
    compiled = vptx.nvrtc.compile(minima, options=options)
    assert (compiled.instructions, compiled.rewritten) == (1, 1)
    assert ("min.u8x4" in compiled.ptx) == (kind != "")


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
    legal = "vavrg4.u32.u32.u32 %0, %1, %2, %3;"
    assert legal in SOURCE
    doubtful = SOURCE.replace(legal, "vsub.s32.s32.s32.sat %0.b2, %1.b2, %2.b0, %3;")
    with pytest.warns(vptx.nvrtc.FindingWarning, match=r"kernel.cu:4:\d+: warning\[V501\]"):
        found = vptx.nvrtc.compile(doubtful, options=OPTIONS, name="kernel.cu").findings
    assert found == vptx.check(doubtful, path="kernel.cu", language="cuda") != []
    with pytest.raises(vptx.PtxError) as raised:
        vptx.nvrtc.compile(doubtful, options=OPTIONS, name="kernel.cu", strict=True)
    assert raised.value.findings == found
    with pytest.raises(vptx.nvrtc.CompileError, match=r'broken.cu\(3\): error: .*"unknown"'):
        vptx.nvrtc.compile("\n\nint f() { return unknown; }", name="broken.cu")


def test_what_ptxas_refuses_is_not_silent():
    # NVRTC does not read the text of the `asm`; ptxas refuses the text.
    wrong = SOURCE.replace("vavrg4.u32.u32.u32", "vavrg4.u32.u32")
    with pytest.warns(vptx.nvrtc.FindingWarning, match=r"source.cu:4:\d+: error\[V104\]"):
        compiled = vptx.nvrtc.compile(wrong, options=OPTIONS)
    assert "vavrg4.u32.u32 " in compiled.ptx
    # A macro that only NVRTC knows makes the text.
    text = '"vavrg4.u32.u32 %0, %1, %2, %3;"'
    hidden = wrong.replace(text, "TEXT")
    assert hidden != wrong and vptx.check(hidden, language="cuda") == []
    defined = [*OPTIONS, f"--define-macro=TEXT={text}"]
    with pytest.warns(vptx.nvrtc.FindingWarning, match=r"source.cu.ptx:\d+:\d+: error\[V104\]"):
        compiled = vptx.nvrtc.compile(hidden, options=defined)
    assert [it.code for it in compiled.findings] == ["V104"]
    # With line information, the finding points into the source.
    with pytest.warns(vptx.nvrtc.FindingWarning, match=r"source.cu:4:\d+: error\[V104\]"):
        vptx.nvrtc.compile(hidden, options=[*defined, "--generate-line-info"])
    with pytest.raises(vptx.PtxError, match="V104"):
        vptx.nvrtc.compile(hidden, options=defined, strict=True)
