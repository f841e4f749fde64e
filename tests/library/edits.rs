//! Edits of a text through its tree.

use std::fs;

use vptx::diagnostic::apply;
use vptx::names::Names;
use vptx::source::{Span, decode};
use vptx::syntax::{
    EditedPart, Edits, EditsError, Function, Instruction, OperandKind, PieceKind, Statement,
    StatementKind, TokenKind, Tree, parse,
};

use crate::module::{Recipe, Style};
use crate::support::random::Random;
use crate::support::{ptx_files, samples};

const MODULE: &str = "\
.version 8.3
.target sm_90
.visible .entry k(
    .param .u64 a,
    .param .u32 n // count
)
{ // body
    .reg .pred %p<3>;
    .reg .b32 %r<10>;

    // the load
    ld.param.u32 %r1, [n]; // into r1
    @!%p1 vadd.u32.u32.u32.sat %r1.b0, %r2, {%r3, _}, %r1;
L:
    add.s32 %r1, %r1, 1; /* one */ sub.s32 %r2, %r2, 2;
    ret;
}
";

/// The first statement whose text starts with `start`.
fn at<'t>(tree: &'t Tree<'t>, start: &str) -> Statement<'t> {
    let found = tree.all_statements().find(|it| it.text().starts_with(start));
    found.unwrap_or_else(|| panic!("no statement starts with {start}"))
}

fn instruction<'t>(tree: &'t Tree<'t>, start: &str) -> Instruction<'t> {
    match at(tree, start).kind() {
        StatementKind::Instruction(it) => it,
        other => panic!("no instruction: {other:?}"),
    }
}

fn function<'t>(tree: &'t Tree<'t>) -> Function<'t> {
    tree.functions().next().expect("a function")
}

/// Makes edits, which must all be accepted.
fn edited(
    source: &str,
    edit: impl for<'t> FnOnce(&'t Tree<'t>, &mut Edits<'t>) -> Result<(), EditsError>,
) -> String {
    let tree = parse(source);
    let mut edits = Edits::new(&tree);
    edit(&tree, &mut edits).expect("edits that fit");
    let edited = edits.finish().expect("edits that fit together");
    assert_eq!(apply(source, edited.edits()).as_deref(), Ok(edited.text()));
    assert_eq!(apply(edited.text(), edited.inverse()).as_deref(), Ok(source));
    edited.into_text()
}

/// The module with one part of its text replaced.
fn with(old: &str, new: &str) -> String {
    assert_eq!(MODULE.matches(old).count(), 1, "{old}");
    MODULE.replace(old, new)
}

#[test]
fn statements_are_replaced() {
    let replace = |start: &'static str, text: &'static str| {
        edited(MODULE, move |tree, edits| edits.replace(at(tree, start), text))
    };
    assert_eq!(
        replace("ld.param", " mov.u32 %r1, 5;\nmov.u32 %r2, %r1;\n"),
        with("ld.param.u32 %r1, [n];", "mov.u32 %r1, 5;\n    mov.u32 %r2, %r1;"),
    );
    // A `{}` block that is inserted keeps its inner indentation.
    assert_eq!(
        replace("ret", "{ // two\n    trap;\n\n    ret;\n}"),
        with("    ret;\n", "    { // two\n        trap;\n\n        ret;\n    }\n"),
    );
    assert_eq!(replace("L:", "M:"), with("L:", "M:"));
    assert_eq!(replace(".version", ".version 8.4"), with("8.3", "8.4"));
    // The rest of the line does not become a part of the inserted comment.
    assert_eq!(
        replace("add", "neg.s32 %r1, %r1; // c"),
        with("add.s32 %r1, %r1, 1; /* one */", "neg.s32 %r1, %r1; // c\n     /* one */"),
    );
}

#[test]
fn statements_are_removed_and_comments_stay() {
    let remove =
        |start: &'static str| edited(MODULE, move |tree, edits| edits.remove(at(tree, start)));
    assert_eq!(remove("ret"), with("    ret;\n", ""));
    assert_eq!(remove("L:"), with("L:\n", ""));
    assert_eq!(remove("ld.param"), with("ld.param.u32 %r1, [n]; // into", "// into"));
    assert_eq!(remove("add"), with("add.s32 %r1, %r1, 1; /* one */", "/* one */"));
    assert_eq!(remove("sub"), with(" sub.s32 %r2, %r2, 2;", ""));
    assert_eq!(remove(".visible"), ".version 8.3\n.target sm_90\n");
    // Removes all statements of a line.
    let both = edited("{ a; b; c; }\n", |tree, edits| {
        edits.remove(at(tree, "a"))?;
        edits.remove(at(tree, "b"))?;
        edits.remove(at(tree, "c"))
    });
    assert_eq!(both, "{ }\n");
    // The last line of the text has no line break. After a removal, words stay separate.
    let last = edited("ret;\n  trap;", |tree, edits| edits.remove(at(tree, "trap")));
    assert_eq!(last, "ret;\n");
    let apart = edited(".loc 1 2 3{a;}ret;", |tree, edits| edits.remove(at(tree, "{")));
    assert_eq!(apart, ".loc 1 2 3 ret;");
}

#[test]
fn statements_are_inserted() {
    let before = |start: &'static str, text: &'static str| {
        edited(MODULE, move |tree, edits| edits.insert_before(at(tree, start), text))
    };
    let after = |start: &'static str, text: &'static str| {
        edited(MODULE, move |tree, edits| edits.insert_after(at(tree, start), text))
    };
    assert_eq!(before("ret", "trap;"), with("    ret;", "    trap;\n    ret;"));
    assert_eq!(before("ld.param", "trap;"), with("    // the load", "    trap;\n    // the load"));
    assert_eq!(before("sub", "trap;"), with("/* one */ sub", "/* one */ trap; sub"));
    assert_eq!(before("sub", "trap; // c"), with("/* one */ sub", "/* one */ trap; // c\n    sub"));
    assert_eq!(
        before(".version", "// by me\n.file 1 \"a\""),
        format!("// by me\n.file 1 \"a\"\n{MODULE}")
    );
    assert_eq!(after("ld.param", "a;\nb;"), with("// into r1\n", "// into r1\n    a;\n    b;\n"));
    assert_eq!(after("add", "trap;"), with("/* one */ sub", "/* one */ trap; sub"));
    assert_eq!(after("L:", "trap;"), with("L:\n", "L:\n    trap;\n"));
    assert_eq!(after(".visible", ".func f;"), format!("{MODULE}.func f;\n"));
    // The first line may be indented, too.
    let first = edited("\ta;\n", |tree, edits| edits.insert_before(at(tree, "a"), "b;"));
    assert_eq!(first, "\tb;\n\ta;\n");
    // A comment above a blank line does not belong to the statement below.
    let apart = edited("// all\n\na;\n", |tree, edits| edits.insert_before(at(tree, "a"), "b;"));
    assert_eq!(apart, "// all\n\nb;\na;\n");
    // Texts at one place have the order of the calls.
    let many = edited("a;\nb;\n", |tree, edits| {
        edits.insert_before(at(tree, "b"), "x;")?;
        edits.insert_after(at(tree, "a"), "v;")?;
        edits.insert_before(at(tree, "b"), "y;")?;
        edits.insert_after(at(tree, "a"), "w;")
    });
    assert_eq!(many, "a;\nv;\nw;\nx;\ny;\nb;\n");
    let tight = edited("a;b;", |tree, edits| {
        edits.insert_before(at(tree, "b"), "x;")?;
        edits.insert_after(at(tree, "a"), "v;")
    });
    assert_eq!(tight, "a; v;x; b;");
    // Inserted text gets the line breaks of the module; a line break in a string stays.
    let breaks = edited("a;\r\n\tb;\r\n", |tree, edits| {
        edits.insert_before(at(tree, "b"), "x;\n.pragma \"1\n2\"; /* 3\n4 */")
    });
    assert_eq!(breaks, "a;\r\n\tx;\r\n\t.pragma \"1\n2\"; /* 3\r\n4 */\r\n\tb;\r\n");
}

/// A change of an instruction.
#[derive(Clone, Copy)]
enum Change {
    Operand(usize, &'static str),
    /// Replaces an element of an operand that is a vector.
    Element(usize, usize, &'static str),
    Insert(usize, &'static str),
    Modifier(usize, &'static str),
    Remove(usize),
    Guard(Option<&'static str>),
}

impl Change {
    fn make<'t>(self, it: &Instruction<'t>, edits: &mut Edits<'t>) -> Result<(), EditsError> {
        let operand = |at| it.operands().nth(at).expect("an operand");
        match self {
            Change::Operand(at, text) => edits.replace_operand(&operand(at), text),
            Change::Element(at, element, text) => {
                let OperandKind::Vector(mut elements) = operand(at).kind() else {
                    panic!("no vector")
                };
                edits.replace_operand(&elements.nth(element).expect("an element"), text)
            }
            Change::Insert(at, text) => edits.insert_modifier(it, at, text),
            Change::Modifier(at, text) => edits.replace_modifier(it, at, text),
            Change::Remove(at) => edits.remove_modifier(it, at),
            Change::Guard(Some(text)) => edits.set_guard(it, text),
            Change::Guard(None) => edits.remove_guard(it),
        }
    }
}

#[test]
fn parts_of_instructions_are_changed() {
    use Change::{Element, Guard, Insert, Modifier, Operand, Remove};
    let cases: &[(&str, &[Change], &str)] = &[
        (
            "@!%p vadd.u32.sat %r1.b0, %r2, {%r3, _}, %r1;",
            &[Operand(0, "%r7"), Operand(3, "-%r8.h1"), Element(2, 1, "0x10")],
            "@!%p vadd.u32.sat %r7, %r2, {%r3, 0x10}, -%r8.h1;",
        ),
        (
            "vadd.u32.s32.sat a, b, c;",
            &[Insert(3, ".add"), Remove(2), Modifier(0, ".u16"), Insert(0, ".x"), Insert(0, ".y")],
            "vadd.x.y.u16.s32.add a, b, c;",
        ),
        ("add .s32 .sat a;", &[Remove(1)], "add .s32 a;"),
        ("add // c\n .sat a;", &[Remove(0)], "add // c\n a;"),
        ("tcgen.x;", &[Insert(1, ".32x32b")], "tcgen.x.32x32b;"),
        ("@!%p ret;", &[Guard(Some("@%q"))], "@%q ret;"),
        ("@!%p ret;", &[Guard(None)], "ret;"),
        ("/* c */ ret;", &[Guard(Some("@!%q"))], "/* c */ @!%q ret;"),
        ("add.s32[a];", &[Operand(0, "b")], "add.s32 b;"),
        ("call (a), f, (b, c);", &[Operand(2, "(d)"), Operand(0, "(e)")], "call (e), f, (d);"),
        ("call (a), f, (b, c);", &[Guard(Some("@p")), Operand(1, "g")], "@p call (a), g, (b, c);"),
        // An operand that was missing is added.
        ("add a,, c;", &[Operand(1, "b")], "add a,b, c;"),
    ];
    for (source, changes, expected) in cases {
        let changed = edited(source, |tree, edits| {
            let StatementKind::Instruction(it) = tree.statements().next().expect("one").kind()
            else {
                panic!("no instruction: {source}")
            };
            changes.iter().try_for_each(|change| change.make(&it, edits))
        });
        assert_eq!(changed, *expected);
    }
}

#[test]
fn names_registers_labels_and_parameters_are_new() {
    let renamed = edited(MODULE, |tree, edits| {
        let places = tree.tokens().iter().map(|token| token.span());
        edits.rename(places.filter(|it| it.text(MODULE) == "n"), "count")?;
        edits.rename([at(tree, "L:").tokens()[0].span()], "M")
    });
    assert_eq!(
        renamed,
        MODULE.replace(".u32 n", ".u32 count").replace("[n]", "[count]").replace("L:", "M:")
    );

    // Each type gets one declaration. It stands before all statements that are inserted after the
    // other declarations.
    let fresh = edited(MODULE, |tree, edits| {
        let k = function(tree);
        let [label, other] = [edits.fresh_label(), edits.fresh_label()];
        edits.insert_after(at(tree, "sub"), &format!("{label}:\n{other}:"))?;
        assert_eq!(edits.fresh_register(&k, ".b32")?, "%vptx_2");
        assert_eq!(edits.fresh_register(&k, ".pred")?, "%vptx_3");
        assert_eq!(edits.fresh_register(&k, ".b32")?, "%vptx_4");
        edits.add_parameter(&k, ".param .u64 counts")?;
        edits.add_parameter(&k, ".param .align 8 .b8 more[16]")
    });
    let expected =
        with("%r<10>;\n", "%r<10>;\n    .reg .b32 %vptx_2, %vptx_4;\n    .reg .pred %vptx_3;\n");
    let parameters = "n,\n    .param .u64 counts,\n    .param .align 8 .b8 more[16] // count";
    let expected = expected.replace("n // count", parameters);
    assert_eq!(expected.matches("%r2, 2;\n").count(), 1);
    assert_eq!(fresh, expected.replace("%r2, 2;\n", "%r2, 2;\n    $vptx_0:\n    $vptx_1:\n"));

    let cases = [
        // Fresh names must differ from the names that the text has.
        (
            ".func f { .reg .b32 %vptx_r<3>; $vptx_9: ret; }",
            ".func f(.reg .b32 x) { .reg .b32 %vptx_r<3>; .reg .b64 %vptx_1_0; $vptx_9: $vptx_1_1: ret; }",
        ),
        (
            ".entry f() { // c\n  ret;\n}",
            ".entry f(.reg .b32 x) { // c\n  .reg .b64 %vptx_0;\n  $vptx_1: ret;\n}",
        ),
        (
            ".entry f(.param .b32 a)\n\t{\n\tret; }",
            ".entry f(.param .b32 a, .reg .b32 x)\n\t{\n\t.reg .b64 %vptx_0;\n\t$vptx_1: ret; }",
        ),
    ];
    for (source, expected) in cases {
        let fresh = edited(source, |tree, edits| {
            edits.fresh_register(&function(tree), ".b64")?;
            edits.add_parameter(&function(tree), ".reg .b32 x")?;
            let ret = at(tree, "ret");
            let label = edits.fresh_label();
            edits.replace(ret, &format!("{label}: ret;"))
        });
        assert_eq!(fresh, expected);
    }
    let empty = edited(".func f\n{\n}\n", |tree, edits| {
        edits.fresh_register(&function(tree), ".v4 .f32").map(drop)
    });
    assert_eq!(empty, ".func f\n{\n    .reg .v4 .f32 %vptx_0;\n}\n");
    // A fresh register is declared before statements that are inserted between declarations.
    let early = edited("{ }\n.func f { .reg .b32 a; .reg .b32 b; }", |tree, edits| {
        let name = edits.fresh_register(&function(tree), ".b32")?;
        edits.insert_before(at(tree, ".reg .b32 b"), &format!("mov.b32 {name}, 0;"))
    });
    assert_eq!(
        early,
        "{ }\n.func f { .reg .b32 a; .reg .b32 %vptx_0; mov.b32 %vptx_0, 0; .reg .b32 b; }"
    );
}

/// A register with a number belongs to the range that has the name before the number.
#[test]
fn names_that_are_taken_are_refused() {
    let tree =
        parse(".func f() { .reg .b32 %r<3>, %x1, %x2y, %plain, %q<2>; mov.b32 %r1, %plain; }");
    let names = Names::of(&tree);
    let symbol = |name: &str| {
        let found = names.symbols().find(|(_, it)| it.name.text(tree.source()) == name);
        found.expect("a symbol").0
    };
    let renamed = |old: &str, new: &str| {
        let mut edits = Edits::new(&tree);
        edits
            .rename_symbol(&names, symbol(old), new)
            .map(|()| edits.finish().expect("edits").text().to_owned())
    };
    let taken = |name: &str| Err(EditsError::Taken(name.into()));
    for name in ["%x", "%plain", "%q", "%r"] {
        assert_eq!(renamed("%r", name), taken(name));
    }
    for name in ["%plain", "%x1", "%r2", "%q", "%q1"] {
        assert_eq!(renamed("%plain", name), taken(name));
    }
    for (old, new) in [("%r", "%p"), ("%plain", "%x"), ("%plain", "%x3")] {
        let text = renamed(old, new).expect(new);
        assert_eq!(text.matches(new).count(), tree.source().matches(new).count() + 2, "{text}");
    }
}

/// Edits made before count like the text itself.
#[test]
fn names_of_earlier_edits_are_taken() {
    let text = ".func f(.reg .b32 c) { .reg .b32 a, %r<2>; { .reg .b32 b; add.u32 a, a, b; } }";
    let tree = parse(text);
    let (names, f) = (Names::of(&tree), tree.functions().next().expect("a function"));
    let symbol = |name: &str| {
        names.symbols().find(|(_, it)| it.name.text(text) == name).expect("a symbol").0
    };
    let taken = |name: &str| EditsError::Taken(name.into());
    let add = tree.all_statements().find(|it| it.text().starts_with("add")).expect("an add");

    let mut edits = Edits::new(&tree);
    edits.rename_symbol(&names, symbol("a"), "t").expect("a new name");
    assert_eq!(edits.rename_symbol(&names, symbol("b"), "t"), Err(taken("t")));
    assert_eq!(edits.insert_before(add, ".reg .b32 t;"), Err(taken("t")));
    assert_eq!(edits.insert_before(add, "{ t: ret; }"), Err(taken("t")));
    assert_eq!(edits.add_parameter(&f, ".reg .b32 t"), Err(taken("t")));
    // Inserted text may use the new name.
    edits.insert_before(add, "mov.b32 t, 0;").expect("a statement");
    edits.rename_symbol(&names, symbol("%r"), "%q").expect("a new name");
    assert_eq!(edits.insert_before(add, ".reg .b32 %q1;"), Err(taken("%q1")));
    assert!(edits.finish().is_ok());

    let mut edits = Edits::new(&tree);
    edits.rename_symbol(&names, symbol("a"), "%vptx_0").expect("a new name");
    let fresh = edits.fresh_register(&f, ".b32").expect("a register");
    assert_eq!(fresh, "%vptx_1");
    assert_eq!(edits.rename_symbol(&names, symbol("b"), &fresh), Err(taken(&fresh)));
    edits.insert_before(add, ".reg .b32 %s<3>, u; L:").expect("declarations");
    for name in ["u", "%s2", "L"] {
        assert_eq!(edits.rename_symbol(&names, symbol("b"), name), Err(taken(name)));
    }
    assert_eq!(edits.rename_symbol(&names, symbol("%r"), "%s"), Err(taken("%s")));
    assert_eq!(edits.insert_before(add, ".func u(.reg .b32 v) { ret; }"), Ok(()));
    assert_eq!(edits.rename_symbol(&names, symbol("b"), "v"), Err(taken("v")));
    // Blocks may declare a name again.
    edits.insert_after(add, "{ .reg .b32 u; }").expect("a block");

    // A refused edit brings no names.
    let mut edits = Edits::new(&tree);
    edits.remove(add).expect("a statement");
    assert!(edits.insert_before(add, ".reg .b32 t;").is_err());
    edits.rename_symbol(&names, symbol("c"), "t").expect("a new name");
    let mut edits = Edits::new(&tree);
    edits.rename_symbol(&names, symbol("a"), "%t2").expect("a new name");
    assert_eq!(edits.insert_before(add, ".reg .b32 %t<3>;"), Err(taken("%t")));

    let mut edits = Edits::new(&tree);
    edits.add_parameter(&f, ".reg .b32 d").expect("a parameter");
    for name in ["c", "d"] {
        assert_eq!(edits.add_parameter(&f, &format!(".reg .b32 {name}")), Err(taken(name)));
    }
}

/// The numbers of the registers go behind the name of their range.
#[test]
fn a_range_takes_only_names_that_numbers_can_follow() {
    let tree = parse(".func f() { .reg .b32 %r<3>; mov.b32 %r1, %r2; }");
    let names = Names::of(&tree);
    let (range, _) = names.symbols().find(|(_, it)| it.count.is_some()).expect("a range");
    // `%new2` with 1 behind it would be register 21 of `%new`, `%envreg1` is a special register.
    for name in ["", "1", "a b", "a.b", " a", "é", "%new2", "%envreg"] {
        let unfit = EditsError::Unfit { wanted: EditedPart::Name, text: name.into() };
        assert_eq!(Edits::new(&tree).rename_symbol(&names, range, name), Err(unfit), "{name:?}");
    }
}

#[test]
fn edits_that_contradict_others_are_refused() {
    let tree = parse(MODULE);
    let k = function(&tree);
    let video = instruction(&tree, "@!%p1");
    let [add, sub, label] = ["add", "sub", "L:"].map(|start| at(&tree, start));
    let conflict = |span| Err(EditsError::Conflict { span });
    let mut edits = Edits::new(&tree);

    edits.remove(add).expect("the first");
    assert_eq!(edits.remove(add), conflict(add.span()));
    assert_eq!(edits.replace(add, "trap;"), conflict(add.span()));
    assert_eq!(edits.insert_before(add, "trap;"), conflict(add.span()));
    assert_eq!(edits.insert_after(add, "trap;"), conflict(add.span()));
    let it = instruction(&tree, "add");
    assert_eq!(edits.set_guard(&it, "@p"), conflict(add.span()));
    assert_eq!(edits.insert_modifier(&it, 0, ".x"), conflict(add.span()));
    assert_eq!(edits.remove_modifier(&it, 0), conflict(add.span()));
    let operand = it.operands().next().expect("one");
    assert_eq!(edits.replace_operand(&operand, "x"), conflict(add.span()));
    assert_eq!(edits.rename([operand.span()], "x"), conflict(add.span()));
    let body = k.body().expect("a body");
    assert_eq!(edits.remove(body), conflict(add.span()));

    edits.insert_after(sub, "trap;").expect("the first");
    assert_eq!(edits.remove(sub), conflict(sub.span()));
    edits.insert_before(sub, "trap;").expect("beside it");
    edits.rename([label.tokens()[0].span()], "M").expect("the first");
    assert_eq!(edits.replace(label, "N:"), conflict(label.tokens()[0].span()));
    edits.replace_operand(&video.operands().nth(2).expect("a vector"), "{a, b}").expect("a vector");
    let OperandKind::Vector(elements) = video.operands().nth(2).expect("a vector").kind() else {
        panic!("no vector")
    };
    let vector = video.operands().nth(2).expect("a vector").span();
    for element in elements {
        assert_eq!(edits.replace_operand(&element, "c"), conflict(vector));
    }
    edits.set_guard(&video, "@p").expect("the first");
    assert_eq!(edits.remove_guard(&video), conflict(video.guard().expect("one").span));
    edits.add_parameter(&k, ".param .b32 x").expect("a parameter");
    assert!(matches!(edits.remove(k.statement()), Err(EditsError::Conflict { .. })));
    assert_eq!(edits.remove(at(&tree, ".version")), Ok(()));

    // Refused edits changed nothing.
    let expected = with(
        "    add.s32 %r1, %r1, 1; /* one */ sub.s32 %r2, %r2, 2;",
        "    /* one */ trap; sub.s32 %r2, %r2, 2;\n    trap;",
    );
    let expected = expected
        .replace("L:", "M:")
        .replace("{%r3, _}", "{a, b}")
        .replace("@!%p1", "@p")
        .replace("n // count", "n,\n    .param .b32 x // count")
        .replace(".version 8.3\n", "");
    assert_eq!(edits.finish().map(vptx::syntax::Edited::into_text), Ok(expected));

    let mut edits = Edits::new(&tree);
    edits.fresh_register(&k, ".b32").expect("a register");
    assert_eq!(edits.replace(body, "{ ret; }"), conflict(body.span()));
    let mut edits = Edits::new(&tree);
    edits.replace(body, "{ ret; }").expect("a body");
    assert_eq!(edits.fresh_register(&k, ".b32"), Err(EditsError::Conflict { span: body.span() }));
}

#[test]
fn text_that_is_something_else_is_refused() {
    let tree = parse(MODULE);
    let k = function(&tree);
    let add = at(&tree, "add");
    let it = instruction(&tree, "add");
    let operand = it.operands().next().expect("one");
    let mut edits = Edits::new(&tree);
    let unfit = |wanted, text: &str| Err(EditsError::Unfit { wanted, text: text.into() });
    for text in [
        "",
        " // c",
        ".target",
        "add",
        "add.s32 a, b",
        "}",
        "ret; }",
        "{",
        "a,b;",
        "/*",
        "\"",
        "1;",
        "add a, +;",
    ] {
        let text = text.trim();
        assert_eq!(edits.replace(add, text), unfit(EditedPart::Statement, text));
        assert_eq!(edits.insert_before(add, text), unfit(EditedPart::Statement, text));
        assert_eq!(edits.insert_after(add, text), unfit(EditedPart::Statement, text));
    }
    for text in ["", "a, b", "a;", "+", "a b", " a", "a // c", "a; ret", "(a)", "{", "/*", ".x"] {
        assert_eq!(edits.replace_operand(&operand, text), unfit(EditedPart::Operand, text));
    }
    for text in ["", "sat", ".", ".sat .x", ".sat.x", ".sat a", " .sat", ".sat;", ".sat //"] {
        assert_eq!(edits.insert_modifier(&it, 0, text), unfit(EditedPart::Modifier, text));
        assert_eq!(edits.replace_modifier(&it, 0, text), unfit(EditedPart::Modifier, text));
    }
    for text in ["", "@", "%p", "!%p", "@!!p", "@1", "@p x", "@p //", "ret; @p", "@p ret; @p"] {
        assert_eq!(edits.set_guard(&it, text), unfit(EditedPart::Guard, text));
    }
    for text in ["", "1", "a b", "a.b", "_", "%tid", "%", "a/**/", " a", "é"] {
        assert_eq!(edits.rename([operand.span()], text), unfit(EditedPart::Name, text));
    }
    for text in ["", "b32", ".b32 x,", ".b32 x; .reg .b32", ".b32 //", ".v2", "."] {
        assert_eq!(
            edits.fresh_register(&k, text),
            Err(EditsError::Unfit { wanted: EditedPart::Type, text: text.into() })
        );
    }
    for text in [
        "",
        "x",
        ".param .b32",
        ".b32 x",
        ".param .b32 x, .param .b32 y",
        ".param .b32 x) (",
        ".param .b32 x //",
    ] {
        assert_eq!(edits.add_parameter(&k, text), unfit(EditedPart::Parameter, text));
    }
    // Names that the text has, including the registers of its ranges, are taken.
    for name in ["L", "k", "%r", "%r7", "%r07", "%p123"] {
        assert_eq!(edits.rename([operand.span()], name), Err(EditsError::Taken(name.into())));
    }
    for span in [add.span(), Span::at(0), Span::new(0, 3)] {
        let missing = EditsError::Missing(EditedPart::Name);
        assert_eq!(edits.rename([span], "%r"), Err(EditsError::Taken("%r".into())));
        assert_eq!(edits.rename([operand.span(), span], "new"), Err(missing));
    }
    let missing = |part| Err(EditsError::Missing(part));
    assert_eq!(edits.insert_modifier(&it, 2, ".x"), missing(EditedPart::Modifier));
    assert_eq!(edits.replace_modifier(&it, 1, ".x"), missing(EditedPart::Modifier));
    assert_eq!(edits.remove_modifier(&it, 1), missing(EditedPart::Modifier));
    assert_eq!(edits.remove_guard(&it), missing(EditedPart::Guard));

    let other = parse(MODULE);
    let foreign = instruction(&other, "add");
    assert_eq!(edits.remove_guard(&foreign), Err(EditsError::OtherTree));
    assert_eq!(edits.remove(at(&other, "add")), Err(EditsError::OtherTree));
    assert_eq!(edits.replace(at(&other, "add"), "ret;"), Err(EditsError::OtherTree));
    assert_eq!(edits.set_guard(&foreign, "@p"), Err(EditsError::OtherTree));
    let operand = foreign.operands().next().expect("one");
    assert_eq!(edits.replace_operand(&operand, "x"), Err(EditsError::OtherTree));
    assert_eq!(edits.fresh_register(&function(&other), ".b32"), Err(EditsError::OtherTree));
    // All these edits were refused, so the text is unchanged.
    assert_eq!(edits.finish().map(vptx::syntax::Edited::into_text).as_deref(), Ok(MODULE));
    let declared = parse(".func f;");
    let mut edits = Edits::new(&declared);
    let missing = Err(EditsError::Missing(EditedPart::Body));
    assert_eq!(edits.fresh_register(&function(&declared), ".b32"), missing);
}

#[test]
fn edits_that_change_other_statements_are_refused() {
    type Edit = for<'t> fn(&'t Tree<'t>, &mut Edits<'t>) -> Result<(), EditsError>;
    let cases: &[(&str, Edit, &str)] = &[
        // A function inside another function, and a function without its body.
        (MODULE, |tree, edits| edits.insert_before(at(tree, "ret"), ".func f { }"), "{"),
        (MODULE, |tree, edits| edits.remove(function(tree).body().expect("one")), ""),
        // Text that would become a part of the directive before it.
        (
            ".func f\n.file 1 \"a\"",
            |tree, edits| edits.insert_after(at(tree, ".func"), ".noreturn;"),
            ".func",
        ),
    ];
    for (source, edit, disturbed) in cases {
        let tree = parse(source);
        let mut edits = Edits::new(&tree);
        edit(&tree, &mut edits).expect("each by itself fits");
        match edits.finish() {
            Err(EditsError::Disturbs { span }) => {
                let at = &source[span.start as usize..];
                assert!(at.starts_with(disturbed), "{disturbed}: {at}");
            }
            other => panic!("{disturbed}: {other:?}"),
        }
    }
}

#[test]
fn positions_move_both_ways() {
    let source = "aa; bb; cc; dd;";
    let tree = parse(source);
    let mut edits = Edits::new(&tree);
    edits.replace(at(&tree, "bb"), "bbbb;").expect("one edit");
    edits.insert_before(at(&tree, "cc"), "x;").expect("one edit");
    edits.remove(at(&tree, "dd")).expect("one edit");
    let edited = edits.finish().expect("edits that fit");
    assert_eq!(edited.text(), "aa; bbbb; x; cc;");
    for (old, new) in [
        ((0, 3), (0, 3)),
        ((4, 7), (4, 9)),
        // A part of a replaced text corresponds to the whole replacement.
        ((5, 6), (4, 9)),
        ((3, 5), (3, 9)),
        ((8, 11), (13, 16)),
        ((8, 8), (13, 13)),
        ((7, 9), (9, 14)),
        ((12, 15), (16, 16)),
        ((0, 15), (0, 16)),
        ((15, 15), (16, 16)),
    ] {
        let [old, new] = [old, new].map(|(start, end)| Span::new(start, end));
        assert_eq!(edited.to_new(old), new, "{old:?}");
    }
    for (new, old) in [
        ((0, 3), (0, 3)),
        ((4, 9), (4, 7)),
        ((6, 7), (4, 7)),
        // Inserted text corresponds to an empty place in the old text.
        ((10, 12), (8, 8)),
        ((11, 11), (8, 8)),
        ((13, 16), (8, 11)),
        ((0, 16), (0, 11)),
        ((16, 16), (15, 15)),
    ] {
        let [old, new] = [old, new].map(|(start, end)| Span::new(start, end));
        assert_eq!(edited.to_old(new), old, "{new:?}");
    }
}

/// The comments of a text, in order.
fn comments(tree: &Tree<'_>) -> Vec<Span> {
    let pieces = (0..=tree.tokens().len()).flat_map(|token| tree.trivia(token));
    pieces.filter(|it| it.kind == PieceKind::Comment).map(|it| it.span).collect()
}

/// A short random module in the style of some compiler, in one of several layouts.
fn random_module(rng: &mut Random) -> String {
    let (_, style) = Style::ALL[(rng.next() % 6) as usize];
    let recipe = Recipe { seed: rng.next() | 1, ..Recipe::new(style, 3_000, 300) };
    laid_out(recipe.make(), rng)
}

/// Another layout of a text: other line breaks, or all on one line, or no line break at the end.
fn laid_out(text: String, rng: &mut Random) -> String {
    let other = match rng.next() % 8 {
        0 => text.replace('\n', "\r\n"),
        1 if !text.contains("//") => text.replace('\n', " "),
        2 => text.trim_end().into(),
        3 => text.replace(";\n", "; /* c */ ").replace(";\t", ";"),
        4 => text.replace(";\n", "; // c\n// d\n"),
        _ => return text,
    };
    // In the new layout, a comment may have absorbed some text.
    if parse(&other).errors().is_empty() { other } else { text }
}

const OPERANDS: [&str; 8] =
    ["%r1", "0x7f", "[%rd1+8]", "{%r1, %r2}", "-%r3.h1", "%p1|%p2", "x+4", "_"];
const INSERTED: [&str; 6] = [
    "trap; // new",
    "/* new */ add.s32 %r1, %r2, 3;\nsub.s32 %r1, %r1, 1;",
    "N: ret;",
    ".loc 1 2 3",
    "{\n    // new\n    ret;\n}",
    "mov.u32 %r1, 1;",
];

/// The changes that random edits made.
#[derive(Default)]
struct Changed {
    /// Removed statements, operands and guards, with the comments inside them.
    gone: Vec<Span>,
    /// Changed parts of statements.
    parts: Vec<Span>,
    refused: u64,
}

/// Makes one random edit.
fn edit<'t>(tree: &'t Tree<'t>, edits: &mut Edits<'t>, rng: &mut Random, changed: &mut Changed) {
    let statements: Vec<_> = tree.all_statements().collect();
    let statement = statements[(rng.next() % statements.len() as u64) as usize];
    let mut any = |texts: &[&'static str]| texts[(rng.next() % texts.len() as u64) as usize];
    let text = any(&INSERTED);
    let is_body = matches!(statement.kind(), StatementKind::Block(_))
        && statement.parent().is_some_and(|it| matches!(it.kind(), StatementKind::Function(_)));
    let (whole, span) = (statement.span(), statement.span());
    let (result, gone, part) =
        match (any(&["-", "=", "<", ">", "part", "part", "fresh"]), statement.kind()) {
            ("-", _) if !is_body => (edits.remove(statement), Some(whole), None),
            ("=", _) if !is_body => (edits.replace(statement, text), Some(whole), None),
            ("<", _) if !is_body => (edits.insert_before(statement, text), None, None),
            (">", _) if !is_body => (edits.insert_after(statement, text), None, None),
            ("fresh", _) => {
                let Some(function) = statement.function() else { return };
                match any(&["register", "parameter", "label"]) {
                    "register" => {
                        let ty = any(&[".b32", ".pred", ".v2 .f32"]);
                        (edits.fresh_register(&function, ty).map(drop), None, None)
                    }
                    // A header without a name is an error.
                    "parameter" if function.name().is_some() => {
                        let name = edits.fresh_label();
                        let text = format!(".param .u64 {name}");
                        (
                            edits.add_parameter(&function, &text),
                            None,
                            Some(
                                function.head()[0].span().to(function
                                    .head()
                                    .last()
                                    .expect("one")
                                    .span()),
                            ),
                        )
                    }
                    _ if is_body => return,
                    _ => {
                        let text = format!("{}:", edits.fresh_label());
                        (edits.insert_before(statement, &text), None, None)
                    }
                }
            }
            (_, StatementKind::Instruction(it)) => {
                let count = it.modifiers().len();
                let at = count / 2;
                let mut gone = None;
                let result = match any(&["operand", "rename", "+", "=", "-", "guard", "unguard"]) {
                    "operand" => match it.operands().last() {
                        Some(operand) => {
                            gone = Some(operand.span());
                            edits.replace_operand(&operand, any(&OPERANDS))
                        }
                        None => return,
                    },
                    "+" => edits.insert_modifier(&it, at, any(&[".sat", ".x1"])),
                    "=" if count > 0 => edits.replace_modifier(&it, at, any(&[".u8", ".s16"])),
                    "-" if count > 0 => edits.remove_modifier(&it, at),
                    "unguard" if it.guard().is_some() => {
                        gone = it.guard().map(|guard| guard.span);
                        edits.remove_guard(&it)
                    }
                    "rename" => {
                        let words = it.tokens()[1..].iter().rev();
                        let mut words = words.filter(|it| it.kind() == TokenKind::Ident);
                        let Some(word) = words.next() else { return };
                        let word = word.span().text(tree.source());
                        let all = tree.tokens().iter().map(|token| token.span());
                        let all: Vec<_> = all.filter(|it| it.text(tree.source()) == word).collect();
                        let name = edits.fresh_label();
                        let result = edits.rename(all.iter().copied(), &name);
                        if result.is_ok() {
                            changed.parts.extend(all);
                        }
                        result
                    }
                    _ => {
                        gone = it.guard().map(|guard| guard.span);
                        edits.set_guard(&it, any(&["@%p1", "@!%p2"]))
                    }
                };
                (result, gone, Some(span))
            }
            _ => return,
        };
    match result {
        Ok(()) => {
            changed.gone.extend(gone);
            changed.parts.extend(part);
        }
        Err(EditsError::Conflict { .. }) => changed.refused += 1,
        Err(other) => panic!("{other}: {}", statement.text()),
    }
}

/// Makes random edits of a text without errors, and checks what must hold for each result. Returns
/// the numbers of accepted and refused edits.
fn random_edits(source: &str, count: u64, rng: &mut Random) -> (u64, u64) {
    let tree = parse(source);
    assert_eq!(tree.errors(), [], "{source}");
    let mut edits = Edits::new(&tree);
    let mut changed = Changed::default();
    for _ in 0..count {
        edit(&tree, &mut edits, rng, &mut changed);
    }
    let edited = edits.finish().unwrap_or_else(|error| panic!("{error:?}\n{source}"));
    let new = parse(edited.text());
    assert_eq!(new.errors(), [], "{}", edited.text());
    assert_eq!(apply(source, edited.edits()).as_deref(), Ok(edited.text()));
    assert_eq!(apply(edited.text(), edited.inverse()).as_deref(), Ok(source));

    let is_gone = |span: Span| {
        changed.gone.iter().any(|gone| gone.start <= span.start && span.end <= gone.end)
    };
    // All comments stay in order, except comments inside removed parts.
    let kept = comments(&tree).into_iter().filter(|it| !is_gone(*it));
    let kept: Vec<_> = kept.map(|it| it.text(source).to_string()).collect();
    let found = comments(&new).into_iter().map(|it| it.text(edited.text()).to_string());
    let found: Vec<_> = found.filter(|it| !it.contains("new")).collect();
    let kept: Vec<_> = kept.into_iter().filter(|it| !it.contains("new")).collect();
    assert_eq!(found, kept, "{source}\n{}", edited.text());

    // The map of positions gives the right places of statements that no edit touched.
    for statement in tree.all_statements() {
        let span = statement.span();
        let holds = |part: &Span| span.start < part.end && part.start < span.end;
        let is_leaf = statement.children().next().is_none();
        if is_leaf && !is_gone(span) && !changed.parts.iter().any(holds) {
            let moved = edited.to_new(span);
            assert_eq!(moved.text(edited.text()), statement.text());
            assert_eq!(edited.to_old(moved), span);
        }
    }
    (count - changed.refused, changed.refused)
}

fn random_rounds(wanted: u64) {
    let mut rng = Random(46);
    let fixtures = ["ptx", "kernels", "regions", "format"].into_iter().flat_map(ptx_files);
    let texts = fixtures.map(|path| decode(fs::read(path).expect("a file")));
    let texts: Vec<_> =
        texts.filter(|text| text.len() < 20_000 && parse(text).errors().is_empty()).collect();
    let (mut taken, mut refused) = (0, 0);
    while taken < wanted {
        let text = if rng.next().is_multiple_of(3) {
            laid_out(texts[(rng.next() % texts.len() as u64) as usize].clone(), &mut rng)
        } else {
            random_module(&mut rng)
        };
        let count = 1 + rng.next() % 60;
        let (more, other) = random_edits(&text, count, &mut rng);
        taken += more;
        refused += other;
    }
    println!("{taken} edits, and {refused} refused");
    assert!(refused * 2 < taken, "{refused} of {taken}");
}

#[test]
fn random_edits_keep_all_else() {
    random_rounds(samples(2_000));
}

#[test]
#[ignore = "long"]
fn many_random_edits_keep_all_else() {
    random_rounds(100_000);
}

#[test]
fn edits_of_texts_with_errors_bring_no_others() {
    let mut rng = Random(4);
    let texts: Vec<_> = ptx_files("diagnostics")
        .into_iter()
        .map(|path| decode(fs::read(path).expect("a file")))
        .filter(|text| !parse(text).errors().is_empty())
        .collect();
    assert!(texts.len() > 5, "{}", texts.len());
    let mut disturbed = 0;
    for _ in 0..samples(500) {
        let source = &texts[(rng.next() % texts.len() as u64) as usize];
        let tree = parse(source);
        let mut edits = Edits::new(&tree);
        edit(&tree, &mut edits, &mut rng, &mut Changed::default());
        match edits.finish() {
            Ok(edited) => {
                let count = parse(edited.text()).errors().len();
                assert!(count <= tree.errors().len(), "{source}\n{}", edited.text());
                assert_eq!(apply(edited.text(), edited.inverse()).as_deref(), Ok(&**source));
            }
            Err(EditsError::Disturbs { .. }) => disturbed += 1,
            Err(other) => panic!("{other}"),
        }
    }
    assert!(disturbed * 10 < samples(500), "{disturbed}");
}

/// The list has no `)`, so the parameter goes before its last word, which is an error already.
#[test]
fn an_edit_brings_no_second_error_to_the_place_of_another() {
    let source = ".entry k(\n.param, %f1,%f2\n{\nret;\n}";
    let tree = parse(source);
    let mut edits = Edits::new(&tree);
    let function = tree.functions().next().expect("one");
    edits.add_parameter(&function, ".param .b32 n").expect("a parameter");
    let result = edits.finish();
    assert!(matches!(result, Err(EditsError::Disturbs { .. })), "{result:?}");
}
