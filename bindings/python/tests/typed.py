"""Uses of the module that a type checker accepts or refuses. `test_types.py` runs mypy."""

import array

import numpy as np
from typing_extensions import assert_type

import vptx

found = vptx.check("x", path="a", language="ptx", target=["sm_90"], select="ALL")
assert_type(found, vptx.Findings)
assert_type([finding.start.line for finding in found], list[int])
instruction = vptx.Instruction("vadd.u32.u32.u32 d, a, b;")
instruction.eval_batch(np.zeros(3, np.uint32), array.array("I"), 4, out=memoryview(b""))
instruction.eval_batch(np.uint32(3), b"")
assert_type(instruction.eval(np.uint32(4), True), int)
assert_type(vptx.rewrite("", target="sm_90", semantics="ptxas-13").text, str)
assert_type(vptx.rewrite("", semantics=vptx.semantics_of_ptxas("12.9")).count, int)
vptx.check("", language="fortran")  # type: ignore[arg-type]
vptx.check(5)  # type: ignore[arg-type]
instruction.eval_batch([1, 2], 3)  # type: ignore[arg-type]
instruction.eval(1.0)  # type: ignore[arg-type]
instruction.eval(1, semantics="ptxas")  # type: ignore[arg-type]
module = vptx.parse("")
assert_type([it.mnemonic for it in module.statements], "list[str | None]")
edits = module.edit()
assert_type(edits.finish().to_new(vptx.Span(0, 0)), vptx.Span)
edits.remove(3)  # type: ignore[arg-type]
(symbol,) = module.symbols
assert_type(symbol.uses[0].symbol, "vptx.Symbol | None")
edits.rename(symbol, "x")
edits.rename("x", "y")  # type: ignore[arg-type]
