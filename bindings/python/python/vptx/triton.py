"""Checks and rewrites the PTX of every kernel that Triton compiles.

    import vptx.triton

    with vptx.triton.install() as report:
        ...  # compile and run kernels
    print(report)

Triton keeps compiled kernels in a cache. A kernel from the cache is as it was when it was
compiled with the same arguments of `install`, and is not in the report again.
"""

from __future__ import annotations

import hashlib
import threading
from dataclasses import dataclass, field
from types import TracebackType
from typing import TYPE_CHECKING, Any, Callable, Iterator, Type

import triton  # type: ignore[import-not-found, import-untyped, unused-ignore]
from triton.backends.nvidia import (  # type: ignore[import-not-found, import-untyped, unused-ignore]
    compiler,
)

from . import Findings, PtxError, __version__, check, parse, semantics_of_ptxas
from . import rewrite as rewrite_module
from ._places import FindingWarning, Place, lines, places, warn

if TYPE_CHECKING:
    from ._vptx import _Semantics

__all__ = ["FindingWarning", "Kernel", "Place", "Report", "install"]


@dataclass(frozen=True)
class Kernel:
    """A kernel that was compiled."""

    name: str
    #: Findings about the PTX that Triton made.
    findings: Findings
    #: The number of legal video instructions in that PTX.
    instructions: int
    #: How many of these instructions were replaced by ordinary PTX.
    rewritten: int
    #: For each finding its place in the Python source, if the PTX has a `.loc` for it.
    places: list[Place | None] = field(default_factory=list)


class Report:
    """The kernels that were compiled since `install`."""

    def __init__(self, hook: Callable[..., Any], others: Callable[..., Any] | None) -> None:
        self._kernels: list[Kernel] = []
        self._lock = threading.Lock()
        self._hook, self._others = hook, others

    @property
    def kernels(self) -> list[Kernel]:
        with self._lock:
            return list(self._kernels)

    def __iter__(self) -> Iterator[Kernel]:
        return iter(self.kernels)

    def __len__(self) -> int:
        return len(self.kernels)

    def _add(self, kernel: Kernel) -> None:
        with self._lock:
            self._kernels.append(kernel)

    def remove(self) -> None:
        """Takes the hook away again."""
        if triton.knobs.runtime.add_stages_inspection_hook is self._hook:
            triton.knobs.runtime.add_stages_inspection_hook = self._others

    def __enter__(self) -> Report:
        return self

    def __exit__(
        self,
        kind: Type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.remove()

    def __str__(self) -> str:
        text = []
        for it in self:
            text.append(
                f"{it.name}: {it.rewritten} of {it.instructions} video instructions rewritten"
            )
            text += [f"  {line}" for line in lines(it.findings, it.places)]
        return "\n".join(text) or "no kernel was compiled"


def install(
    *,
    rewrite: bool = True,
    semantics: _Semantics | None = None,
    strict: bool = False,
) -> Report:
    """Installs a hook that reads the PTX of every kernel before ptxas does.

    It checks the PTX and warns of findings, at the line of Python that `.loc` names in the PTX;
    `strict` raises `PtxError` in place of the warnings.
    `rewrite` replaces video instructions by ordinary PTX as `vptx.rewrite` does. Without
    `semantics`, results stay those of the ptxas that Triton calls for the kernel's target.
    A hook that was installed before is called too.
    """
    others = triton.knobs.runtime.add_stages_inspection_hook
    key = f"vptx {__version__} rewrite={rewrite} semantics={semantics} strict={strict}"

    def read(ptx: str, name: str, arch: int) -> str:
        findings = check(ptx, path=f"{name}.ptx")
        at = places(ptx, findings)
        if findings and strict:
            error = PtxError("\n".join(lines(findings, at)))
            error.findings = findings
            raise error
        warn(findings, at)
        instructions, rewritten = len(parse(ptx).instructions), 0
        if rewrite and instructions:
            own = semantics or semantics_of_ptxas(compiler.get_ptxas(arch).version)
            result = rewrite_module(ptx, semantics=own)
            ptx, rewritten = result.text, result.count
        report._add(Kernel(name, findings, instructions, rewritten, at))
        return ptx

    # Triton calls the hook without arguments to get a part of the key of its cache.
    def hook(*arguments: Any) -> tuple[str, str] | None:
        if not arguments:
            text = key + (others()[0] if others is not None else "")
            return text, hashlib.sha256(text.encode()).hexdigest()
        if others is not None:
            others(*arguments)
        backend, stages = arguments[:2]
        make = stages.get("ptx")
        if make is not None:

            def make_and_read(source: Any, metadata: dict[str, Any]) -> str:
                ptx: str = make(source, metadata)
                return read(ptx, str(metadata.get("name", "kernel")), backend.target.arch)

            stages["ptx"] = make_and_read
        return None

    report = Report(hook, others)
    triton.knobs.runtime.add_stages_inspection_hook = hook
    return report
