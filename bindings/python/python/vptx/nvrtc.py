"""Compiles CUDA sources with NVRTC, and rewrites the PTX before anything loads it.

NVRTC is that of the package `cuda-bindings`. It needs no GPU and no driver:

    compiled = vptx.nvrtc.compile(source, options=["--gpu-architecture=compute_90"])
    module = cuda.core.ObjectCode.from_ptx(compiled.ptx.encode())  # cuda.core
    cupy.RawModule(path="kernel.ptx")  # CuPy, after the PTX was written there
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Sequence

from cuda.bindings import nvrtc  # type: ignore[import-not-found, import-untyped, unused-ignore]

from . import Findings, PtxError, check, semantics_of_ptxas
from . import rewrite as rewrite_module
from ._places import FindingWarning, Place, lines, places, warn

if TYPE_CHECKING:
    from ._vptx import _Semantics

__all__ = ["CompileError", "Compiled", "FindingWarning", "compile"]


class CompileError(RuntimeError):
    """NVRTC did not compile a source; the message is its log."""


@dataclass(frozen=True)
class Compiled:
    """The PTX of a source."""

    ptx: str
    #: The messages of NVRTC.
    log: str
    #: Findings about the `asm` in the source. From the findings about NVRTC's PTX, which may also
    #: have `asm` of headers and templates, only those with codes that the source does not have.
    findings: Findings
    #: The number of legal video instructions in the PTX of NVRTC.
    instructions: int
    #: How many of these instructions were replaced by ordinary PTX.
    rewritten: int


def compile(
    source: str,
    *,
    options: Sequence[str] = (),
    name: str = "source.cu",
    semantics: _Semantics | None = None,
    strict: bool = False,
) -> Compiled:
    """Compiles a source to PTX, and replaces video instructions as `vptx.rewrite` does.

    NVRTC does not read the text of an `asm`, and ptxas may refuse it. Therefore the source and the
    PTX are checked, and findings are warnings; `strict` raises `PtxError` in place of them.

    Without `semantics`, results are those of the ptxas of NVRTC's release. A driver that compiles
    the PTX has the release of its own CUDA.

    `options` are those of NVRTC. Raises `CompileError` if it refuses the source.
    """
    findings = check(source, path=name, language="cuda")
    program = _result(nvrtc.nvrtcCreateProgram(source.encode(), name.encode(), 0, [], []))
    try:
        arguments = [option.encode() for option in options]
        (status,) = nvrtc.nvrtcCompileProgram(program, len(arguments), arguments)
        log = _text(program, nvrtc.nvrtcGetProgramLogSize, nvrtc.nvrtcGetProgramLog)
        if status != nvrtc.nvrtcResult.NVRTC_SUCCESS:
            raise CompileError(log or str(status))
        ptx = _text(program, nvrtc.nvrtcGetPTXSize, nvrtc.nvrtcGetPTX)
    finally:
        nvrtc.nvrtcDestroyProgram(program)
    codes = {it.code for it in findings}
    at: list[Place | None] = [None] * len(findings)
    made = Findings(it for it in check(ptx, path=f"{name}.ptx") if it.code not in codes)
    findings, at = Findings([*findings, *made]), at + places(ptx, made)
    if findings and strict:
        error = PtxError("\n".join(lines(findings, at)))
        error.findings = findings
        raise error
    warn(findings, at)
    result = rewrite_module(ptx, semantics=semantics or _semantics())
    return Compiled(result.text, log, findings, len(result.changes), result.count)


def _semantics() -> _Semantics:
    status, major, minor = nvrtc.nvrtcVersion()
    _result((status, None))
    return semantics_of_ptxas(f"{major}.{minor}")


def _text(program: Any, size: Any, get: Any) -> str:
    buffer = bytes(_result(size(program)))
    _result((*get(program, buffer), None))
    # The text ends with a NUL.
    return bytes(buffer[:-1]).decode(errors="replace")


def _result(answer: tuple[Any, Any]) -> Any:
    status, value = answer
    if status != nvrtc.nvrtcResult.NVRTC_SUCCESS:
        raise CompileError(str(status))
    return value
