"""The hook, with Triton's own compiler and the ptxas that it brings. `test_gpu.py` launches
kernels."""

import inspect
import shutil

import pytest

triton = pytest.importorskip("triton")

import triton.language as tl  # noqa: E402
from triton.backends.compiler import GPUTarget  # noqa: E402
from triton.compiler import ASTSource  # noqa: E402

import vptx  # noqa: E402
import vptx.triton  # noqa: E402


@triton.jit
def difference(a, b, out, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(a + at)
    y = tl.load(b + at)
    zero = x * 0
    d = tl.inline_asm_elementwise(
        "vavrg4.u32.u32.u32 $0, $1, $2, $3;",
        "=r,r,r,r",
        [x, y, zero],
        dtype=tl.int32,
        is_pure=True,
        pack=1,
    )
    tl.store(out + at, d)


@triton.jit
def doubtful(a, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x = tl.load(a + at)
    d = tl.inline_asm_elementwise(
        "vsub.s32.s32.s32.sat $0.b2, $1.b2, $1.b0, $1;",
        "=r,r",
        [x],
        dtype=tl.int32,
        is_pure=True,
        pack=1,
    )
    tl.store(out + at, d)


@triton.jit
def merged(a, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x = tl.load(a + at)
    d = tl.inline_asm_elementwise(
        "vadd.s32.s32.s32 $0.h1, $1.h0, $1.h1, $1;",
        "=r,r",
        [x],
        dtype=tl.int32,
        is_pure=True,
        pack=1,
    )
    tl.store(out + at, d)


@triton.jit
def minima(a, b, out, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(a + at)
    y = tl.load(b + at)
    d = tl.inline_asm_elementwise(
        "vmin4.u32.u32.u32 $0, $1, $2, $1;",
        "=r,r,r",
        [x, y],
        dtype=tl.int32,
        is_pure=True,
        pack=1,
    )
    tl.store(out + at, d)


def compiled(kernel, arch=90, block=128, **types):
    signature = {name: "*i32" for name in types.get("pointers", ())}
    signature["BLOCK"] = "constexpr"
    source = ASTSource(kernel, signature, {(len(signature) - 1,): block})
    return triton.compile(source, target=GPUTarget("cuda", arch, 32))


@pytest.fixture(autouse=True)
def empty_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "cache"))
    with triton.knobs.cache.scope():
        triton.knobs.cache.dir = str(tmp_path / "cache")
        yield


def mnemonics(kernel):
    return [it.mnemonic for it in vptx.parse(kernel.asm["ptx"]).instructions]


def test_rewriting():
    names = ("a", "b", "out")
    plain = compiled(difference, pointers=names)
    assert set(mnemonics(plain)) == {"vavrg4"}
    with vptx.triton.install() as report:
        rewritten = compiled(difference, pointers=names)
        again = compiled(difference, pointers=names)
    assert mnemonics(rewritten) == []
    assert "lop3.b32" in rewritten.asm["ptx"]
    assert again.asm["ptx"] == rewritten.asm["ptx"]
    assert rewritten.asm["cubin"] != plain.asm["cubin"]
    (kernel,) = report
    assert (kernel.name, kernel.findings) == ("difference", [])
    assert kernel.rewritten == kernel.instructions == len(mnemonics(plain)) > 0
    assert (
        str(report)
        == f"difference: {kernel.rewritten} of {kernel.rewritten} video instructions rewritten"
    )
    # The hook is removed, and the kernel that the cache returns is not rewritten.
    assert triton.knobs.runtime.add_stages_inspection_hook is None
    assert mnemonics(compiled(difference, pointers=names)) == mnemonics(plain)


def test_bytes_in_hardware():
    names = ("a", "b", "out")
    plain = compiled(minima, 120, pointers=names)
    assert ".target sm_120a" in plain.asm["ptx"]
    with vptx.triton.install():
        rewritten = compiled(minima, 120, pointers=names)
    assert rewritten.asm["ptx"].count("min.u8x4") == len(mnemonics(plain)) > 0
    assert mnemonics(rewritten) == []
    assert len(rewritten.asm["cubin"]) < len(plain.asm["cubin"])


@pytest.mark.parametrize("arch", [80, 90])
def test_results_stay_those_of_the_ptxas_for_the_target(arch):
    ptxas = triton.backends.nvidia.compiler.get_ptxas(arch)
    own = vptx.semantics_of_ptxas(ptxas.version)
    texts = {}
    for semantics in ("ptxas-12", "ptxas-13", None):
        with vptx.triton.install(semantics=semantics) as report:
            texts[semantics] = compiled(merged, arch, pointers=("a", "out")).asm["ptx"]
        assert report.kernels[0].rewritten > 0
    assert texts["ptxas-12"] != texts["ptxas-13"]
    assert texts[None] == texts[own]


def line_of_asm(kernel):
    """The line of the statement with the inline assembly, in this file."""
    lines, first = inspect.getsourcelines(kernel.fn)
    return first + next(at for at, line in enumerate(lines) if "inline_asm_elementwise" in line)


def test_findings():
    line = line_of_asm(doubtful)
    with vptx.triton.install(rewrite=False) as report:
        with pytest.warns(
            vptx.triton.FindingWarning,
            match=rf"test_triton.py:{line}:\d+: warning\[V501\]",
        ) as warned:
            kernel = compiled(doubtful, block=512, pointers=("a", "out"))
    # Python shows the line itself with the warning.
    own = [it for it in warned if it.category is vptx.triton.FindingWarning]
    assert {(it.filename, it.lineno) for it in own} == {(__file__, line)}
    assert {(it.path, it.line) for it in report.kernels[0].places} == {(__file__, line)}
    assert len(report.kernels[0].places) == len(report.kernels[0].findings)
    # A thread has several such instructions, and the message about the line is given once.
    assert str(report).count("V501") == 1 < len(report.kernels[0].findings)
    assert set(mnemonics(kernel)) == {"vsub"}
    assert {it.code for it in report.kernels[0].findings} == {"V501"}
    assert report.kernels[0].rewritten == 0 < report.kernels[0].instructions
    with vptx.triton.install(rewrite=False, strict=True):
        shutil.rmtree(triton.knobs.cache.dir)
        with pytest.raises(vptx.PtxError) as raised:
            compiled(doubtful, pointers=("a", "out"))
    assert {it.code for it in raised.value.findings} == {"V501"}


def test_findings_without_lines(monkeypatch):
    monkeypatch.setenv("TRITON_DISABLE_LINE_INFO", "1")
    with vptx.triton.install(rewrite=False) as report:
        with pytest.warns(
            vptx.triton.FindingWarning, match=r"doubtful.ptx:\d+:\d+: warning\[V501\]"
        ):
            compiled(doubtful, pointers=("a", "out"))
    assert set(report.kernels[0].places) == {None}


def test_other_hooks_are_called():
    seen = []

    def other(*arguments):
        seen.append(len(arguments))
        return None if arguments else ("other", "hash")

    triton.knobs.runtime.add_stages_inspection_hook = other
    try:
        with vptx.triton.install() as report:
            compiled(difference, pointers=("a", "b", "out"))
        assert len(report) == 1
        assert seen == [0, 5]
        assert triton.knobs.runtime.add_stages_inspection_hook is other
    finally:
        triton.knobs.runtime.add_stages_inspection_hook = None
