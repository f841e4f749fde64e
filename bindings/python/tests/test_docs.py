"""The examples of the documentation."""

import doctest

import pytest
from conftest import ROOT

numpy = pytest.importorskip("numpy")


def test_examples():
    path = ROOT / "docs/library/python.md"
    # A closing fence would count as output, so each example ends with an empty line.
    failed, tried = doctest.testfile(str(path), module_relative=False, encoding="utf-8")
    assert failed == 0 and tried > 20
