"""The targets of vptx, as docs/targets.md has them. A test compares that with the sources."""

import re

from modules.assembled import ROOT


def rows(first):
    """The rows of the table whose first column has this name, as lists of cells."""
    text = (ROOT / "docs" / "targets.md").read_text()
    table = re.search(rf"^\| {first} \|.*\n\|---.*\n((?:\|.*\n)+)", text, re.M)[1]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in table.splitlines()]


ALL = [target for target, *_ in rows("target")]


def having(feature):
    """The targets that have a feature, by its name in the table."""
    ranges, = (ranges for name, _, ranges in rows("feature") if name == feature)
    found = []
    for part in ranges.split(", "):
        first, _, last = part.partition(" to ")
        found += ALL[ALL.index(first):ALL.index(last or first) + 1]
    return found


# The targets whose costs are measured with ptxas 13.5.
MEASURED = [target for target, _, costs in rows("target")
            if costs == target and target in having("machine code by ptxas 13")]
