"""The tree of a module, and edits of it."""

import gc

import pytest
from conftest import ROOT

import vptx

MODULE = """\
.version 8.3
.target sm_90
.visible .entry k(.param .u64 a, .param .u32 n)
{
    .reg .b32 %r<9>;
    // the load
    ld.global.v2.b32 {%r1, _}, [%rd1+-8]; // behind é
L:  @!%p bra.uni L;
    ret;
}
"""


def test_statements_functions_operands():
    module = vptx.parse(MODULE)
    assert module.errors == []
    kinds = [statement.kind for statement in module.statements]
    assert kinds == ["directive", "directive", "function"]
    (kernel,) = module.functions
    assert (kernel.name, kernel.kind, kernel.linkage) == ("k", "kernel", ".visible")
    assert kernel.parameters == ["a", "n"]
    assert kernel.statement == module.statements[2]
    registers, load, label, branch, end = kernel.statements
    assert registers.kind, registers.text == ("declaration", ".reg .b32 %r<9>;")
    assert (registers.mnemonic, registers.guard, registers.operands) == (None, None, [])
    assert (load.mnemonic, load.modifiers) == ("ld", [".global", ".v2", ".b32"])
    assert load.comments == ["// the load", "// behind é"]
    assert MODULE.encode()[load.span.slice].decode() == load.text
    assert (label.kind, label.text) == ("label", "L:")
    assert (branch.guard, end.text) == ("@!%p", "ret;")
    vector, address = load.operands
    assert (vector.kind, [it.text for it in vector.elements]) == ("vector", ["%r1", "_"])
    assert [it.kind for it in vector.elements] == ["name", "discard"]
    assert (address.kind, address.elements[0].kind, address.value) == ("address", "sum", None)
    body = kernel.statement.children[0]
    assert (body.kind, body.children) == ("block", kernel.statements)


def test_errors():
    module = vptx.parse("add.s32 a,, b;\n}")
    assert [(it.span.start, it.span.end) for it in module.errors] == [(10, 10), (15, 16)]
    assert module.errors[1].message == "this `}` closes nothing"
    (error,) = vptx.parse("// é\n}").errors
    assert (error.start.line, error.start.column) == (2, 1)
    assert (error.span.start, error.chars.start) == (6, 5)
    constant = vptx.parse("x -1, 2.5;").statements[0].operands
    assert [it.value for it in constant] == [2**64 - 1, None]


def test_places_count_characters_too():
    text = MODULE.replace("k(", "k/* é𝄞 */(")
    module = vptx.parse(text)
    (kernel,) = module.functions
    for statement in kernel.statements:
        assert text[statement.chars.slice] == statement.text
        for operand in statement.operands:
            assert text[operand.chars.slice] == operand.text
    assert len(module.uses) > 5
    for use in module.uses:
        assert text[use.chars.slice] == use.text
        assert use.span.start == len(text[: use.chars.start].encode())
    for symbol in module.symbols:
        assert text[symbol.chars.slice] == symbol.name
    assert module.scopes[0].chars.slice == slice(0, len(text), 1)


def test_parts_of_a_module_are_keys():
    module, other = vptx.parse(MODULE), vptx.parse(MODULE)
    (kernel,), (same,) = module.functions, module.functions
    assert kernel == same and len({kernel, same, other.functions[0]}) == 2
    load, again = kernel.statements[1], same.statements[1]
    assert len({load, again, other.functions[0].statements[1]}) == 2
    assert load.operands[0] == again.operands[0] != load.operands[1]
    assert len({*load.operands, *again.operands}) == len(load.operands)
    for values in (lambda it: it.symbols, lambda it: it.scopes, lambda it: it.uses):
        assert len({*values(module), *values(module)}) == len(values(module))
        assert len({*values(module), *values(other)}) == 2 * len(values(module))


def test_a_part_outlives_its_module():
    statement = vptx.parse(MODULE).functions[0].statements[1]
    gc.collect()
    assert statement.operands[0].elements[0].text == "%r1"


def test_edits():
    module = vptx.parse(MODULE)
    (kernel,) = module.functions
    registers, load, label, branch, end = kernel.statements
    edits = module.edit()
    register = edits.fresh_register(kernel, ".b64")
    edits.insert_before(load, f"mov.u64 {register}, 0;")
    edits.replace_operand(load.operands[0].elements[1], "%r2")
    edits.replace_operand(load.operands[1], f"[{register}]")
    edits.remove_modifier(branch, 0)
    edits.set_guard(branch, None)
    edits.set_guard(end, "@%p")
    edits.insert_modifier(end, 0, ".uni")
    edits.insert_after(label, f"{edits.fresh_label()}:")
    edits.add_parameter(kernel, ".param .u64 counts")
    edited = edits.finish()
    expected = """\
.version 8.3
.target sm_90
.visible .entry k(.param .u64 a, .param .u32 n, .param .u64 counts)
{
    .reg .b32 %r<9>;
    .reg .b64 %vptx_0;
    mov.u64 %vptx_0, 0;
    // the load
    ld.global.v2.b32 {%r1, %r2}, [%vptx_0]; // behind é
L: $vptx_1:  bra L;
    @%p ret.uni;
}
"""
    assert edited.text == str(edited) == expected
    moved = edited.to_new(load.span)
    assert edited.text.encode()[moved.slice] == b"ld.global.v2.b32 {%r1, %r2}, [%vptx_0];"
    assert edited.to_old(moved) == load.span
    # More edits can follow.
    edits.remove(registers)
    assert "%r<9>" not in edits.finish().text


NAMES = """\
.global .b32 v;
.visible .entry k(.param .b32 n)
{
    .reg .b32 %r<9>; /* é */ .reg .b64 x;
    ld.global.b32 %r7, [v];
    { .reg .b32 v; mov.b32 v, %r07; mov.b32 %r1, %tid.x; }
    L: bra L;
}
"""


def test_names():
    module = vptx.parse(NAMES)
    assert [(it.kind, it.name) for it in module.symbols] == [
        ("variable", "v"),
        ("function", "k"),
        ("parameter", "n"),
        ("register", "%r"),
        ("register", "x"),
        ("register", "v"),
        ("label", "L"),
    ]
    outer, kernel, parameter, registers, wide, inner, label = module.symbols
    assert (outer.space, outer.type, outer.count) == (".global", ".b32", None)
    assert (registers.type, registers.count) == (".b32", 9)
    assert (kernel.is_exported, kernel.is_extern, outer.is_exported) == (True, False, False)
    data = NAMES.encode()
    assert data[parameter.declaration.slice] == b".param .b32 n"
    assert data[wide.span.slice] == b"x"
    whole, function, block = module.scopes
    assert (outer.scope, inner.scope, label.scope) == (whole, block, function)
    assert (block.parent, function.parent, whole.parent) == (function, whole, None)
    assert (block.function, function.function) == (None, kernel)
    assert data[block.span.slice].startswith(b"{ .reg .b32 v;")
    assert [it.declares for it in inner.uses] == [True, False]
    assert len(outer.uses) == 2 and outer.uses[1] in module.uses
    register = module.use_at(data.index(b"%r07"))
    assert (register.symbol, register.register) == (registers, 7)
    assert [it.text for it in register.same] == ["%r7", "%r07"]
    assert [it.text for it in registers.uses] == ["%r", "%r1", "%r7", "%r07"]
    special = module.use_at(data.index(b"%tid"))
    assert (special.symbol, special.register, special.same) == (None, None, [])
    assert module.use_at(data.index(b"mov")) is None
    (double,) = (it for it in vptx.parse(".global .b32 a; .global .b32 a;").symbols if it.is_double)
    assert double.span.start == 29


def test_renaming():
    module = vptx.parse(NAMES)
    outer, _, _, registers, *_, label = module.symbols
    edits = module.edit()
    edits.rename(registers, "%word")
    edits.rename(outer, "table")
    for symbol, name in [(label, "no name"), (vptx.parse(NAMES).symbols[0], "w")]:
        with pytest.raises(vptx.EditError):
            edits.rename(symbol, name)
    expected = NAMES.replace("%r", "%word").replace("b32 v;\n.v", "b32 table;\n.v")
    assert edits.finish().text == expected.replace("[v]", "[table]")


def test_refused_edits():
    module = vptx.parse(MODULE)
    load, label = module.functions[0].statements[1:3]
    edits = module.edit()
    edits.remove(load)
    refused = [
        lambda: edits.remove(load),
        lambda: edits.replace_operand(load.operands[0], "x"),
        lambda: edits.replace(label, "no statement"),
        lambda: edits.set_guard(label, "@p"),
        lambda: edits.remove_modifier(load, 9),
        lambda: edits.fresh_register(module.functions[0], "b32"),
        lambda: edits.remove(vptx.parse(MODULE).statements[0]),
    ]
    for edit in refused:
        with pytest.raises(vptx.EditError):
            edit()
    start = MODULE.index("    ld.")
    assert edits.finish().text == MODULE[:start] + MODULE[start:].replace(
        load.text + " ", "", 1
    )
    with pytest.raises(ValueError, match="ends before it starts"):
        edits.finish().to_new(vptx.Span(2, 1))


def test_every_fixture_has_a_tree():
    for path in sorted((ROOT / "fixtures/ptx").rglob("*.ptx"))[:20]:
        module = vptx.parse(path.read_bytes())
        assert module.errors == [], path
        assert module.edit().finish().text == module.text
