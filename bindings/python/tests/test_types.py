"""Checks the stubs against the module, and with example uses of it."""

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("mypy")


@pytest.mark.parametrize(
    "command",
    [
        ["mypy", "--strict", "-p", "vptx"],
        ["mypy", "--strict", str(Path(__file__).with_name("typed.py"))],
        ["mypy.stubtest", "vptx._vptx"],
    ],
    ids=["strict", "uses", "stubtest"],
)
def test_stubs(command, tmp_path):
    run = subprocess.run(
        [sys.executable, "-m", *command], capture_output=True, text=True, cwd=tmp_path
    )
    assert run.returncode == 0, run.stdout + run.stderr
