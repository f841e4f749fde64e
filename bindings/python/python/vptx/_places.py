"""The places in a source that `.loc` names in PTX, and warnings that point there."""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass
from typing import Iterable, Iterator

from ._vptx import Finding

_FILE = re.compile(r'\s*\.file\s+(\d+)\s+"([^"]*)"')
_LOC = re.compile(r"\s*\.loc\s+(\d+)\s+(\d+)(?:\s+(\d+))?")


class FindingWarning(UserWarning):
    """A finding about the PTX of a kernel, or about the source of that PTX."""


@dataclass(frozen=True)
class Place:
    """A place in a source. Line and column count from 1; column 0 means the whole line."""

    path: str
    line: int
    column: int

    def __str__(self) -> str:
        column = f":{self.column}" if self.column else ""
        return f"{self.path}:{self.line}{column}"


def places(ptx: str, findings: Iterable[Finding]) -> list[Place | None]:
    """For each finding the place that the `.loc` before it names, if its function has one there.

    The findings are in the order of the text."""
    files: dict[str, str] = {}
    wanted = {it.start.line for it in findings}
    found: dict[int, re.Match[str] | None] = {}
    last = None
    for number, line in enumerate(ptx.split("\n") if wanted else [], 1):
        if number in wanted:
            found[number] = last
        if file := _FILE.match(line):
            files[file[1]] = file[2]
        elif loc := _LOC.match(line):
            last = loc
        elif line.startswith("}"):
            last = None

    def place(loc: re.Match[str] | None) -> Place | None:
        if loc is None or loc[1] not in files:
            return None
        return Place(files[loc[1]], int(loc[2]), int(loc[3] or 0))

    return [place(found.get(it.start.line)) for it in findings]


def lines(findings: Iterable[Finding], at: Iterable[Place | None]) -> Iterator[str]:
    """A line of text for each finding, with its place in the source if known; equal lines once."""
    seen = set()
    for finding, place in zip(findings, at):
        what = f"{finding.severity}[{finding.code}] {finding.message}"
        text = f"{place}: {what}" if place else str(finding)
        if text not in seen:
            seen.add(text)
            yield text


def warn(findings: Iterable[Finding], at: Iterable[Place | None]) -> None:
    """Issues a Python warning for each finding, at its place in the source if that is known."""
    for finding, place in zip(findings, at):
        (text,) = lines([finding], [place])
        if place is None:
            # The warning points to the caller of `compile`, or of the hook.
            warnings.warn(text, FindingWarning, stacklevel=3)
        else:
            warnings.warn_explicit(text, FindingWarning, place.path, place.line)
