"""A list of findings that a notebook shows as a table."""

from __future__ import annotations

from ._vptx import Finding, _findings_table


class Findings(list[Finding]):
    """The findings about a text, in the order of the text."""

    def _repr_html_(self) -> str:
        return _findings_table(self)
