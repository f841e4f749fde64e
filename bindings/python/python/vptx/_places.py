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
    """The PTX of a kernel, or the source that it is made from, has findings."""


@dataclass(frozen=True)
class Place:
    """A place in a source. The line counts from 1; so does the column, or it is 0 for the line."""

    path: str
    line: int
    column: int

    def __str__(self) -> str:
        column = f":{self.column}" if self.column else ""
        return f"{self.path}:{self.line}{column}"


def places(ptx: str, findings: Iterable[Finding]) -> list[Place | None]:
    """The places that the `.loc` before each finding names, if there is one in its function.

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
    """A line for each finding, at its place in the source if that is known, each line once."""
    seen = set()
    for finding, place in zip(findings, at):
        what = f"{finding.severity}[{finding.code}] {finding.message}"
        text = f"{place}: {what}" if place else str(finding)
        if text not in seen:
            seen.add(text)
            yield text


def warn(findings: Iterable[Finding], at: Iterable[Place | None]) -> None:
    """Warns of each finding, in the source if its place there is known."""
    for finding, place in zip(findings, at):
        (text,) = lines([finding], [place])
        if place is None:
            # The caller of the function that has found it.
            warnings.warn(text, FindingWarning, stacklevel=3)
        else:
            warnings.warn_explicit(text, FindingWarning, place.path, place.line)
