"""Paths that the tests need."""

import os
import sysconfig
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]

#: Whether the module was built without optimisation, which makes measurements useless.
IS_QUICK = os.environ.get("VPTX_QUICK") == "1"


@pytest.fixture(scope="session")
def program() -> Path:
    """The program of the same wheel."""
    return Path(sysconfig.get_path("scripts")) / ("vptx" + (sysconfig.get_config_var("EXE") or ""))
