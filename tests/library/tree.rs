//! The tree of a module. It contains every byte, and its parts have the meaning that they have in
//! PTX.

use std::fs;

use vptx::diagnostic::Severity;
use vptx::source::{Span, decode};
use vptx::syntax::{
    Constant, Directive, DirectiveKind, ErrorKind, FunctionKind, Leaf, LeafKind, Node, NodeKind,
    Operand, OperandKind, Statement, StatementKind, SymbolKind, Tree, Visitor, parse,
};

use crate::support::random::Random;
use crate::support::statements::{Verdict, module, recorded};
use crate::support::{ptx_files, samples};

/// Visits a tree, and checks that nodes nest and leaves follow each other.
struct Joined<'t> {
    source: &'t str,
    /// The end of the last leaf.
    end: u32,
    open: Vec<Span>,
    errors: usize,
    leaves: Vec<Leaf>,
}

impl<'t> Visitor<'t> for Joined<'_> {
    fn enter(&mut self, node: Node<'t>) {
        if let Some(around) = self.open.last() {
            assert!(around.start <= node.span.start && node.span.end <= around.end, "{node:?}");
        }
        // What is in front of the node came before.
        assert_eq!(node.span.start, self.end, "{node:?}");
        self.open.push(node.span);
        self.errors += usize::from(matches!(node.kind, NodeKind::Error | NodeKind::Malformed));
    }

    fn leaf(&mut self, leaf: Leaf) {
        assert_eq!(leaf.span.start, self.end, "{leaf:?}");
        assert!(!leaf.span.is_empty(), "{leaf:?}");
        let around = self.open.last().expect("a node around");
        assert!(around.start <= leaf.span.start && leaf.span.end <= around.end, "{leaf:?}");
        // A leaf must not split a character.
        let _ = leaf.span.text(self.source);
        self.end = leaf.span.end;
        self.leaves.push(leaf);
    }

    fn leave(&mut self, node: Node<'t>) {
        assert_eq!(self.open.pop(), Some(node.span));
    }
}

/// Visits the tree of a text and checks that it contains every byte.
fn lossless(source: &str) -> (Tree<'_>, usize, Vec<Leaf>) {
    let tree = parse(source);
    let mut joined = Joined { source, end: 0, open: Vec::new(), errors: 0, leaves: Vec::new() };
    tree.walk(&mut joined);
    assert_eq!((joined.end as usize, joined.open.len()), (source.len(), 0), "{source}");
    for error in tree.errors() {
        let Span { start, end } = error.span;
        assert!(start <= end && end as usize <= source.len(), "{error:?}");
    }
    // Error nodes exist only where errors are reported.
    let Joined { errors, leaves, .. } = joined;
    assert!(errors == 0 || !tree.errors().is_empty(), "{source}");
    (tree, errors, leaves)
}

/// A statement's own walk visits its tokens and what stands between them, and nothing around it.
#[test]
fn a_statement_is_visited_without_its_surroundings() {
    let source = "// before\n.func f() { /* before */ add.s32 a, /* inside */ b, 1; // after\n }";
    let tree = parse(source);
    let body = tree.functions().next().and_then(|it| it.body()).expect("a body");
    let add = body.descendants().next().expect("a statement");
    let end = add.span().start;
    let mut joined = Joined { source, end, open: Vec::new(), errors: 0, leaves: Vec::new() };
    add.walk(&mut joined);
    let visited: String = joined.leaves.iter().map(|leaf| leaf.span.text(source)).collect();
    assert_eq!(visited, "add.s32 a, /* inside */ b, 1;");
}

fn texts(folder: &str) -> Vec<(String, String)> {
    let read = |path: std::path::PathBuf| {
        let text = decode(fs::read(&path).expect("a file"));
        (path.display().to_string(), text)
    };
    ptx_files(folder).into_iter().map(read).collect()
}

#[test]
fn real_modules_have_no_error_and_nothing_unknown() {
    for folder in ["ptx", "kernels", "regions", "readme"] {
        for (name, text) in texts(folder) {
            let (tree, errors, _) = lossless(&text);
            assert_eq!((tree.errors(), errors), (&[][..], 0), "{name}");
            for statement in tree.all_statements() {
                let first = statement.tokens()[0].span().text(&text);
                let kind = statement.kind();
                // The first token of a statement shows its kind.
                let fits = match kind {
                    StatementKind::Directive(it) => {
                        assert_ne!(it.kind(), DirectiveKind::Unknown, "{name}: {first}");
                        first.starts_with('.') || first == "@"
                    }
                    StatementKind::Declaration(_) | StatementKind::Function(_) => {
                        first.starts_with('.')
                    }
                    StatementKind::Block(_) => first == "{",
                    StatementKind::Empty => first == ";",
                    StatementKind::Label(span) => span.text(&text) == first,
                    StatementKind::Instruction(it) => {
                        let is_word = first.starts_with(|c: char| c.is_ascii_lowercase());
                        let ends = it.semicolon().is_some();
                        ends && (is_word || first == "@" && it.guard().is_some())
                    }
                    _ => false,
                };
                assert!(fits, "{name}: {kind:?}");
            }
        }
    }
}

#[test]
fn every_text_has_a_tree_of_every_byte() {
    for folder in ["diagnostics", "format", "fatbin"] {
        for (_, text) in texts(folder) {
            lossless(&text);
        }
    }
    // These files are not PTX.
    for file in ["Cargo.toml", "README.md", "tests/library/tree.rs", "LICENSE-MIT"] {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
        lossless(&fs::read_to_string(path).expect("a file"));
    }
}

#[test]
fn every_truncation_has_a_tree_of_every_byte() {
    let all = ["ptx/hand", "format", "diagnostics"].into_iter().flat_map(texts);
    let short = all.filter(|(_, text)| text.len() < 4_000).take(20).collect::<Vec<_>>();
    assert_eq!(short.len(), 20);
    for (_, text) in short {
        for end in (0..text.len()).filter(|&end| text.is_char_boundary(end)) {
            lossless(&text[..end]);
        }
    }
}

#[test]
fn random_tokens_have_a_tree_of_every_byte() {
    const PARTS: &[&str] = &[
        " ",
        "\n",
        "\t",
        "// c\n",
        "/* c */",
        "/*",
        "\"",
        "\"s;{}\"",
        "# 1 \"f\"\n",
        "#x \"\n",
        "\u{feff}",
        "é",
        "\u{7f}",
        ";",
        ";\n",
        "{",
        "}",
        "(",
        ")",
        "[",
        "]",
        "<",
        ">",
        "+",
        "-",
        "!",
        "~",
        "?",
        ":",
        "|",
        "=",
        "@",
        "@@DWARF ",
        ",",
        ".",
        "_",
        "%",
        "%r1",
        "%p|%q",
        "add.s32 ",
        "vadd.u32.u32.u32 ",
        "call ",
        "ret",
        "L: ",
        "a",
        "0x1f",
        "1.5",
        "0f3F800000",
        ".b0",
        ".x",
        ".reg ",
        ".b32 ",
        ".entry ",
        ".func ",
        "k",
        ".param ",
        ".global ",
        ".u32 ",
        ".pragma ",
        ".loc 1 2 3",
        ".file 1 \"a\"",
        ".section .s ",
        ".version 8.0",
        ".target sm_90",
        ".maxntid 1, 2",
        ".branchtargets ",
        ".callprototype ",
        ".alias ",
        ".foo ",
        "generic(x)",
    ];
    let mut rng = Random(5);
    for _ in 0..samples(20_000) {
        let length = rng.next() % 30;
        let text: String =
            (0..length).map(|_| PARTS[(rng.next() % PARTS.len() as u64) as usize]).collect();
        lossless(&text);
    }
}

/// A line marker of the C preprocessor is no white space, and has its line break.
#[test]
fn line_markers_are_leaves() {
    let text = "# 1 \"a.cu\"\n.version 8.0\n\n# 2 \"b.h\"\n// c\n.target sm_90\n";
    let (_, _, leaves) = lossless(text);
    let markers = leaves.iter().filter(|leaf| leaf.kind == LeafKind::LineMarker);
    let markers: Vec<&str> = markers.map(|leaf| leaf.span.text(text)).collect();
    assert_eq!(markers, ["# 1 \"a.cu\"\n", "# 2 \"b.h\"\n"]);
}

/// Collects the tokens of a text with one blank between them, from the leaves alone.
struct Spaced<'t>(&'t str, String);

impl Visitor<'_> for Spaced<'_> {
    fn leaf(&mut self, leaf: Leaf) {
        let is_trivia = [LeafKind::WhiteSpace, LeafKind::Comment].contains(&leaf.kind);
        if !is_trivia {
            self.1.push(' ');
            self.1.push_str(leaf.span.text(self.0));
        }
    }
}

#[test]
fn a_module_written_from_its_nodes_reads_back() {
    for (name, text) in texts("ptx").into_iter().chain(texts("kernels")) {
        let tokens = |text: &str| {
            let (tree, _, leaves) = lossless(text);
            assert_eq!(tree.errors(), [], "{name}");
            let is_trivia = |kind| {
                matches!(kind, LeafKind::WhiteSpace | LeafKind::Comment | LeafKind::LineMarker)
            };
            leaves
                .into_iter()
                .filter(|leaf| !is_trivia(leaf.kind))
                .map(|leaf| (leaf.kind, leaf.span.text(text).to_string()))
                .collect::<Vec<_>>()
        };
        let mut spaced = Spaced(&text, String::new());
        parse(&text).walk(&mut spaced);
        assert_eq!(tokens(&spaced.1), tokens(&text), "{name}");
    }
}

const MODULE: &str = r#"// head
.version 8.3
.target sm_90, debug
.address_size 64
.file 1 "a.cu", 7, 8
.global .align 4 .u64 table[3] = {generic(k)+8, 1, 0xff(k)}, other; // two
.extern .func (.param .b32 out) f (.param .b32 in, .reg .u64 p)
.visible .entry k(
    .param .u64 .ptr .global .align 8 a,
    .param .align 4 .b8 b[12]
)
.maxntid 128, 1, 1
.pragma "nounroll; {";
{
    .reg .pred %p, q;
    .reg .b32 %r<10>;
    .loc 1 12 3, function_name $L + 4, inlined_at 1 2 9
    { // inner
        @!%p vadd.u32.u32.u32.sat %r1.b0, -%r2.h1, %r3, 0x10;
    }
    // before the load
    ld.global.v2.b32 {%r4, _}, [a+-8]; // behind it
    setp.lt.s32 %p|q, %r4, %tid.x;
    call (%r5), f, (%r4, %r6), proto;
    tex.2d.v4.f32.s32 {%r1, %r2, %r3, %r4}, [table, {%r1, %r2}];
    mov.u64 %r1, table+8;
L: brx.idx %r1, targets;
targets: .branchtargets L, L;
    ret;
}
"#;

fn of_kind<'t>(tree: &'t Tree<'t>, mnemonic: &str) -> vptx::syntax::Instruction<'t> {
    let found = tree.all_statements().find_map(|statement| match statement.kind() {
        StatementKind::Instruction(it) if it.mnemonic().text(tree.source()) == mnemonic => Some(it),
        _ => None,
    });
    found.expect(mnemonic)
}

#[test]
fn views_of_functions_and_declarations() {
    let (tree, _, _) = lossless(MODULE);
    assert_eq!(tree.errors(), []);
    let text = |span: Span| span.text(MODULE);
    let functions: Vec<_> = tree.functions().collect();
    let [f, k] = &functions[..] else { panic!("two functions: {functions:?}") };

    assert_eq!((f.kind(), f.linkage()), (FunctionKind::Device, Some(".extern")));
    assert_eq!(f.name().map(text), Some("f"));
    assert!(f.body().is_none());
    let shown = |parameter: vptx::syntax::Parameter<'_>| {
        let name = parameter.name().expect("a name");
        (
            text(name.name()).to_string(),
            format!("{:?}", name.kind()),
            parameter.ty().map(str::to_string),
        )
    };
    let expected = |name: &str, kind: SymbolKind<'_>, ty: &str| {
        (name.to_string(), format!("{kind:?}"), Some(ty.to_string()))
    };
    let results: Vec<_> = f.results().map(shown).collect();
    assert_eq!(results, [expected("out", SymbolKind::Variable(".param"), ".b32")]);
    let parameters: Vec<_> = f.parameters().map(shown).collect();
    assert_eq!(
        parameters,
        [
            expected("in", SymbolKind::Variable(".param"), ".b32"),
            expected("p", SymbolKind::Register(".u64"), ".u64"),
        ]
    );

    assert_eq!((k.kind(), k.linkage()), (FunctionKind::Kernel, Some(".visible")));
    let parameters: Vec<_> = k.parameters().map(shown).collect();
    assert_eq!(
        parameters,
        [
            expected("a", SymbolKind::Variable(".param"), ".u64"),
            expected("b", SymbolKind::Variable(".param"), ".b8"),
        ]
    );
    assert_eq!(k.results().count(), 0);
    let directives: Vec<_> = k.directives().map(|it| text(it[0].span())).collect();
    assert_eq!(directives, [".maxntid", ".pragma"]);
    assert_eq!(k.statements().count(), 14);

    let declarations: Vec<_> = tree
        .all_statements()
        .filter_map(|statement| match statement.kind() {
            StatementKind::Declaration(it) => Some(it),
            _ => None,
        })
        .collect();
    let [table, predicates, registers] = &declarations[..] else { panic!("{declarations:?}") };
    assert_eq!((table.space(), table.ty()), (Some(".global"), Some(".u64")));
    let names: Vec<_> = table.names().collect();
    assert_eq!(names.iter().map(|it| text(it.name())).collect::<Vec<_>>(), ["table", "other"]);
    assert_eq!(names[0].dimensions().len(), 3);
    let Some(OperandKind::Vector(values)) = names[0].value().map(|it| it.kind()) else {
        panic!("a list of values")
    };
    let values: Vec<_> = values.collect();
    assert!(matches!(values[0].kind(), OperandKind::Applied(word, _, Some(Ok(it)))
        if text(word) == "generic" && it.bits() == Some(8)));
    assert!(matches!(values[1].kind(), OperandKind::Constant(Ok(it)) if it.bits() == Some(1)));
    assert!(
        matches!(values[2].kind(), OperandKind::Applied(word, _, None) if text(word) == "0xff")
    );
    assert!(names[1].value().is_none());
    assert_eq!(predicates.space(), Some(".reg"));
    assert_eq!(predicates.names().count(), 2);
    assert_eq!(registers.names().next().and_then(|it| it.count()), Some(10));
}

#[test]
fn a_texture_and_whether_it_is_in_memory() {
    let source = ".func f() { tex.2d.v2.f16x2.f32 {a, _}|p, [t, {x, y}]; }";
    let (tree, _, _) = lossless(source);
    assert_eq!(tree.errors(), []);
    let texel = of_kind(&tree, "tex").operands().next().expect("one").kind();
    assert_eq!(texel.node_kind(), NodeKind::Pair);
    let OperandKind::VectorPair(elements, second) = texel else { panic!("{texel:?}") };
    let elements: Vec<_> = elements.map(|it| it.text()).collect();
    assert_eq!((&elements[..], second.text(source)), (&["a", "_"][..], "p"));
    for (wrong, stop) in [("{ tex.2d {a b}|p, [t]; }", "b"), ("{ tex.2d {a}|, [t]; }", "|")] {
        let errors = parse(wrong).errors().to_vec();
        assert_eq!(errors.len(), 1);
        assert_eq!(errors[0].span.text(wrong), stop, "{wrong}");
    }
}

#[test]
fn a_text_is_one_operand_of_a_directive() {
    let tree = parse(".pragma \"a, b\", \"c\";");
    assert_eq!(tree.errors(), []);
    let statement = tree.statements().next().expect("one");
    let StatementKind::Directive(pragma) = statement.kind() else { panic!("a directive") };
    let operands: Vec<_> = pragma.operands().collect();
    assert!(matches!(operands[0].kind(), OperandKind::Text(_)), "{operands:?}");
    assert_eq!(operands.iter().map(Operand::text).collect::<Vec<_>>(), ["\"a, b\"", "\"c\""]);
}

/// PTX ISA 9.0, 6.4.2: an array, with its index in brackets.
#[test]
fn an_element_of_an_array() {
    let source = ".func f() { st.global.u32 a[b+4], c; }";
    let (tree, _, _) = lossless(source);
    assert_eq!(tree.errors(), []);
    let to = of_kind(&tree, "st").operands().next().expect("two").kind();
    assert_eq!(to.node_kind(), NodeKind::Indexed);
    let OperandKind::Indexed(array, index) = to else { panic!("{to:?}") };
    assert_eq!(array.text(source), "a");
    assert_eq!(index.base().map(|it| it.text(source)), Some("b"));
    assert_eq!(index.offset().and_then(Result::ok).and_then(Constant::bits), Some(4));
}

/// cuSPARSELt 0.6.2 contains `r2p` and `p2r`, which no manual describes.
#[test]
fn a_vector_with_a_selector() {
    let source = ".func f() { r2p.b32 {p, q}.reverse, r.b0, 3; }";
    let (tree, _, _) = lossless(source);
    assert_eq!(tree.errors(), []);
    let vector = of_kind(&tree, "r2p").operands().next().expect("one");
    assert!(matches!(vector.kind(), OperandKind::Vector(_)), "{vector:?}");
    assert_eq!(vector.selector().map(|it| it.text(source)), Some(".reverse"));
}

#[test]
fn views_of_instructions() {
    let (tree, _, _) = lossless(MODULE);
    let text = |span: Span| span.text(MODULE);
    let video = of_kind(&tree, "vadd");
    let guard = video.guard().expect("a guard");
    assert!(guard.negated);
    assert_eq!((text(guard.name), text(guard.span)), ("%p", "@!%p"));
    assert_eq!(text(video.opcode()), "vadd.u32.u32.u32.sat");
    let modifiers: Vec<_> = video.modifiers().map(text).collect();
    assert_eq!(modifiers, [".u32", ".u32", ".u32", ".sat"]);
    let operands: Vec<_> = video.operands().collect();
    assert!(matches!(operands[0].kind(), OperandKind::Name(name) if text(name) == "%r1"));
    assert_eq!(operands[0].selector().map(text), Some(".b0"));
    assert_eq!(operands[1].sign().map(text), Some("-"));
    assert!(matches!(
        operands[3].kind(),
        OperandKind::Constant(Ok(Constant::Integer { bits: 16, signed: true }))
    ));

    let load: Vec<_> = of_kind(&tree, "ld").operands().collect();
    let OperandKind::Vector(elements) = load[0].kind() else { panic!("a vector") };
    let elements: Vec<_> = elements.map(|it| it.kind()).collect();
    assert!(matches!(elements[..], [OperandKind::Name(_), OperandKind::Discard]));
    let OperandKind::Address(address) = load[1].kind() else { panic!("an address") };
    assert_eq!(address.base().map(text), Some("a"));
    assert_eq!(
        address.offset().and_then(Result::ok).and_then(Constant::bits),
        Some(8u64.wrapping_neg())
    );

    let pair = of_kind(&tree, "setp").operands().next().expect("one").kind();
    assert!(matches!(pair, OperandKind::Pair(p, q) if (text(p), text(q)) == ("%p", "q")));
    let special = of_kind(&tree, "setp").operands().last().expect("one");
    assert_eq!((special.selector().map(text), special.text()), (Some(".x"), "%tid.x"));

    let call: Vec<_> = of_kind(&tree, "call").operands().map(|it| it.kind()).collect();
    assert!(matches!(
        call[..],
        [OperandKind::List(_), OperandKind::Name(_), OperandKind::List(_), OperandKind::Name(_)]
    ));
    let OperandKind::Address(texture) = of_kind(&tree, "tex").operands().last().unwrap().kind()
    else {
        panic!("an address")
    };
    assert_eq!(texture.elements().count(), 2);
    let OperandKind::Sum(sum) = of_kind(&tree, "mov").operands().last().unwrap().kind() else {
        panic!("a sum")
    };
    assert_eq!(sum.base().map(text), Some("table"));
}

/// A view shows its own text, and not the whole one.
#[test]
fn views_are_shown_shortly() {
    let text =
        ".pragma \"far\"; .func f(.reg .b32 p) { .reg .b32 a; mov.b32 a, p; } .file 1 \"x\";";
    let tree = parse(text);
    let function = tree.functions().next().expect("a function");
    let shown = |view: &dyn std::fmt::Debug| {
        let shown = format!("{view:?}");
        assert!(!shown.contains("far") && shown.len() < 500, "{shown}");
        shown
    };
    let mov = of_kind(&tree, "mov");
    assert!(shown(&mov).contains("\"mov.b32 a, p;\""));
    assert!(shown(&mov.operands()).contains("\"p\""));
    assert!(shown(&function.parameters().next()).contains("\".reg .b32 p\""));
    let kinds: Vec<String> =
        tree.all_statements().skip(1).map(|statement| shown(&statement.kind())).collect();
    assert!(kinds.iter().any(|it| it.contains("\".file 1 \\\"x\\\"\"")), "{kinds:?}");
    let mut edits = vptx::syntax::Edits::new(&tree);
    edits.fresh_register(&function, ".b32").expect("a register");
    assert!(shown(&edits).contains("%vptx_0"));
}

#[test]
fn views_of_directives() {
    let (tree, _, _) = lossless(MODULE);
    let directives: Vec<Directive<'_>> = tree
        .all_statements()
        .filter_map(|statement| match statement.kind() {
            StatementKind::Directive(it) => Some(it),
            _ => None,
        })
        .collect();
    let kinds: Vec<_> = directives.iter().map(Directive::kind).collect();
    assert_eq!(
        kinds,
        [
            DirectiveKind::Version,
            DirectiveKind::Target,
            DirectiveKind::AddressSize,
            DirectiveKind::File,
            DirectiveKind::Loc,
            DirectiveKind::BranchTargets,
        ]
    );
    assert_eq!(directives[0].version(), "8.3".parse().ok());
    assert_eq!(directives[1].target(), "sm_90".parse().ok());
    assert_eq!(directives[3].file(), Some((Some(1), "a.cu")));
    let place = directives[4].place().expect("a place");
    assert_eq!((place.file, place.line, place.column), (1, 12, 3));
    assert_eq!(directives[5].operands().count(), 2);
}

/// ptxas 12.9 and 13.5 accept this, wherever the lines break.
#[test]
fn a_prototype_has_lines_as_it_likes() {
    let words = ".callprototype ( .param .b32 _ ) _ ( .param .b32 _ , .param .b64 _ )";
    let text = format!(".func f() {{\nproto:\n{};\nret;\n}}\n", words.replace(' ', "\n"));
    let tree = parse(&text);
    assert_eq!(tree.errors(), []);
    let prototype = tree.all_statements().nth(3).unwrap();
    assert_eq!(prototype.text(), format!("{};", words.replace(' ', "\n")));
    // An unfinished prototype hides nothing after it.
    for cut in [".callprototype (.param .b32 _)", ".callprototype (.param .b32"] {
        let text = format!(".func f() {{\n{cut}\nmov.b32 a, b;\n.reg .b32 c;\n}}\n");
        let tree = parse(&text);
        let kinds: Vec<_> = tree.errors().iter().map(|it| it.kind).collect();
        assert_eq!(kinds, [ErrorKind::MissingSemicolon], "{text}");
        let last = tree.all_statements().last().unwrap();
        assert_eq!(last.text(), ".reg .b32 c;");
    }
    let text = ".func f() {\n.callprototype (.param .b32 _) _ (.param .b32 _)\n.reg .b32 c;\n}\n";
    assert_eq!(parse(text).all_statements().last().unwrap().text(), ".reg .b32 c;");
}

/// ptxas 13.5 accepts this: an element of a vector register is no opcode.
#[test]
fn an_operand_may_start_a_line() {
    let tree = parse(".func f() {\n.reg .v2 .u32 %v;\nnanosleep.u32\n%v.x;\n}\n");
    assert_eq!(tree.errors(), []);
    assert_eq!(tree.all_statements().last().unwrap().text(), "nanosleep.u32\n%v.x;");
}

#[test]
fn statements_have_numbers_and_heads() {
    let tree = parse(".visible .entry k(.param .u64 p)\n{\n{ }\n{ ret; }\n}\n.global .u32 v;");
    let heads = tree.all_statements().map(|statement| {
        assert_eq!(tree.statement(statement.index()), statement);
        let [first, .., last] = statement.head() else { return statement.head()[0].span() };
        first.span().to(last.span())
    });
    let heads: Vec<&str> = heads.map(|span| span.text(tree.source())).collect();
    let header = ".visible .entry k(.param .u64 p)";
    assert_eq!(heads, [header, "{", "{ }", "{", "ret;", ".global .u32 v;"]);
}

#[test]
fn comments_belong_to_their_statement() {
    let (tree, _, _) = lossless(MODULE);
    let comments = |statement: Statement<'_>| {
        statement.comments().map(|span| span.text(MODULE).to_string()).collect::<Vec<_>>()
    };
    let starting = |start: &str| {
        let offset = MODULE.find(start).expect(start) as u32;
        tree.statement_at(offset).expect("a statement")
    };
    assert_eq!(comments(starting(".version")), ["// head"]);
    assert_eq!(comments(starting(".global .align 4 .u64")), ["// two"]);
    assert_eq!(comments(starting("ld.global")), ["// before the load", "// behind it"]);
    assert_eq!(comments(starting("setp")), [""; 0]);
    assert_eq!(comments(starting("@!%p")), [""; 0]);
    assert_eq!(comments(starting("@!%p").parent().expect("a block")), ["// inner"]);
}

#[test]
fn statements_are_found_at_places() {
    let (tree, _, _) = lossless(MODULE);
    let at = |needle: &str| {
        let offset = MODULE.find(needle).expect(needle) as u32;
        tree.statement_at(offset).expect("a statement")
    };
    let video = at("%r2.h1");
    assert!(video.text().starts_with("@!%p vadd"), "{video:?}");
    let block = video.parent().expect("a block");
    assert!(matches!(block.kind(), StatementKind::Block(_)));
    let function = video.function().and_then(|it| it.name()).expect("a name");
    assert_eq!(function.text(MODULE), "k");
    // A position between two statements belongs to the block that contains both.
    let body = at("before the load");
    assert!(matches!(body.kind(), StatementKind::Block(_)), "{body:?}");
    assert_eq!(parse("").statement_at(0), None);
}

/// Texts with their errors: the kind of each error, and the text that it marks.
#[test]
fn errors_are_all_found_where_they_are() {
    fn found(text: &str) -> Vec<(String, String)> {
        let (tree, _, _) = lossless(text);
        let errors = tree.errors().iter();
        errors
            .map(|error| {
                let kind = match error.kind {
                    ErrorKind::Unexpected(_) => "Unexpected".to_string(),
                    kind => format!("{kind:?}"),
                };
                (kind, error.span.text(text).to_string())
            })
            .collect()
    }
    let cases: &[(&str, &[(&str, &str)])] = &[
        ("add.s32 a, b, c\nsub.s32 d, e, f;", &[("MissingSemicolon", "")]),
        ("add.s32 a, b, c\n@p ret;", &[("MissingSemicolon", "")]),
        ("{ ret }", &[("MissingSemicolon", "")]),
        (".pragma \"x\"\n.reg .b32 a 5;", &[("MissingSemicolon", ""), ("Unexpected", "5")]),
        (".new {a}\n.global .u32 x;", &[("MissingSemicolon", "")]),
        ("ret; }", &[("StrayBrace", "}")]),
        (".entry k() { { ret;", &[("UnclosedBrace", "{"), ("UnclosedBrace", "{")]),
        (".entry k() { ret;\n.entry l() { ret; }", &[("UnclosedBrace", "{")]),
        (".entry k() { ret 5 6;", &[("UnclosedBrace", "{"), ("Unexpected", "6")]),
        ("ret; /* x", &[("UnclosedComment", "/*")]),
        (".pragma \"x", &[("UnclosedString", "\"")]),
        ("\u{feff}ret;", &[("ByteOrderMark", "\u{feff}")]),
        ("#define X \"\nret;", &[("Unexpected", "#define X \"")]),
        ("add.s32 a,, b;", &[("Unexpected", "")]),
        ("add.s32 a b, c;", &[("Unexpected", "b")]),
        ("add.s32 a, [b;", &[("Unexpected", "")]),
        ("add.s32 a, [b);", &[("Unexpected", ")")]),
        ("ld.u32 a, [b+c];", &[("Unexpected", "c")]),
        ("@ 1 add a, b;", &[("Unexpected", "1")]),
        ("12 ret; ret;", &[("Unexpected", "12")]),
        (".global .u32 x = {1, {}, +};", &[("Unexpected", "+")]),
        (
            ".reg .b32 a, , %r<4>, 1, b 5;",
            &[("Unexpected", ""), ("Unexpected", "1"), ("Unexpected", "5")],
        ),
        (".global .u32 x[4 = 1;", &[("Unexpected", "=")]),
        (".global .u32 x[4 = 1, 2;", &[("Unexpected", "=")]),
        (".global .u32 x = ;", &[("Unexpected", "")]),
        (".func f(.param .u32 a b);", &[("Unexpected", "b")]),
        (".section .debug_a'b { .b8 1 }", &[("Unexpected", "'")]),
        // Braces nest, so the second `}` ends the section.
        (".section .debug_a { .b8 1 { .b8 2 } .b8 3 }", &[("Unexpected", "{")]),
        (".func f(.param .u32 a, );", &[("Unexpected", "")]),
        (".func (a) f(.param .u32);", &[("Unexpected", "a"), ("Unexpected", "")]),
        (".entry k(.param .%u32 a) { }", &[("Unexpected", ".")]),
        (".entry k(.param 5 a) { }", &[("Unexpected", "5")]),
    ];
    for (text, expected) in cases {
        let expected: Vec<_> =
            expected.iter().map(|(kind, at)| (kind.to_string(), at.to_string())).collect();
        assert_eq!(found(text), expected, "{text}");
    }
}

#[test]
fn a_token_of_more_than_256_mib_is_cut() {
    let length = (1 << 28) + 5;
    let text = format!(".pragma \"{}\";\nret;", "a".repeat(length));
    let (tree, _, _) = lossless(&text);
    let [error] = tree.errors() else { panic!("one error") };
    assert_eq!((error.kind, error.span.start), (ErrorKind::LongToken, 8));
    let last = tree.statements().last().unwrap();
    assert_eq!(last.text(), "ret;");
}

#[test]
fn a_body_may_declare_functions() {
    let text = ".entry k() { .extern .func (.reg .b32 r) f (.reg .b32 a); .reg .b32 x; ret; }";
    let (tree, _, _) = lossless(text);
    assert_eq!(tree.errors(), []);
    let [k] = &tree.functions().collect::<Vec<_>>()[..] else { panic!("one function at the top") };
    let kinds: Vec<_> = k.statements().map(Statement::kind).collect();
    let [StatementKind::Function(f), StatementKind::Declaration(_), _] = &kinds[..] else {
        panic!("{kinds:?}")
    };
    assert_eq!(f.name().map(|name| name.text(text)), Some("f"));
}

/// While a header is being typed, it may have a word too many.
#[test]
fn the_first_name_of_a_header_counts() {
    for rest in [", g(.reg .b32 a) { ret; }", ", g { ret; }", "| g;"] {
        let text = format!(".visible .func f{rest}");
        let tree = parse(&text);
        let names: Vec<_> = tree.functions().map(|it| it.name().map(|it| it.text(&text))).collect();
        assert_eq!(names, [Some("f")], "{text}");
    }
    // So do its first parameters.
    for rest in [", g", ""] {
        let text = format!(".func f(.reg .b32 a){rest}(.reg .b32 b, .reg .b32 c) {{ ret; }}");
        let tree = parse(&text);
        let function = tree.functions().next().expect("one");
        assert_eq!(function.parameters().count(), 1, "{text}");
    }
}

/// The arguments of `.attribute` stand before the name, where results stand.
#[test]
fn an_attribute_of_a_function_is_no_result() {
    let source = ".func .attribute(.unified(19, 95)) f(.reg .b32 a) { ret; }";
    let tree = parse(source);
    assert_eq!(tree.errors(), []);
    let function = tree.functions().next().expect("one");
    assert_eq!((function.results().count(), function.parameters().count()), (0, 1));
}

/// Checks that the tree has the same video instructions as the reader of `check`. Returns their
/// number; `None` if one of the two finds an error in the text's structure.
fn videos_are_those_of_check(text: &str) -> Option<usize> {
    let options = vptx::CheckOptions::default().with_dialect(vptx::Dialect::Ptxas);
    let tree = parse(text);
    let (module, findings) = vptx::parse_with(text, &options).expect("PTX");
    let is_structure =
        |it: &vptx::Diagnostic| it.statement.is_none() && it.severity == Severity::Error;
    if !tree.errors().is_empty() || findings.iter().any(is_structure) {
        return None;
    }
    let found: Vec<_> = tree.video_instructions().collect();
    assert_eq!(found.len(), module.statements().len(), "{text}");
    for ((statement, video), other) in found.iter().zip(module.statements()) {
        assert_eq!(statement.span(), other.span, "{text}");
        let function = statement.function().map(|it| it.name().expect("a name"));
        assert_eq!(function, other.function, "{text}");
        let instruction = video.as_ref().ok().map(|it| &it.instruction);
        assert_eq!(instruction, other.instruction.as_ref(), "{text}");
        match video {
            Ok(video) => {
                assert_eq!(Some(&video.spans), other.spans(text).as_ref());
                assert_eq!(video.declared, other.declared, "{text}");
            }
            Err(errors) => {
                let own = |it: &&vptx::Diagnostic| {
                    it.statement == Some(other.span) && it.severity == Severity::Error
                };
                let messages = |it: &vptx::Diagnostic| (it.code, it.span, it.message.clone());
                let mut expected: Vec<_> = findings.iter().filter(own).map(messages).collect();
                let mut errors: Vec<_> = errors.iter().map(messages).collect();
                expected.sort();
                errors.sort();
                assert_eq!(errors, expected, "{text}");
            }
        }
        // A statement that is read alone has the same instruction, unless a version or target
        // stands in a block.
        let is_version = |it: Statement<'_>| {
            matches!(it.kind(), StatementKind::Directive(it) if
                matches!(it.kind(), DirectiveKind::Version | DirectiveKind::Target))
        };
        if !tree.all_statements().any(|it| it.parent().is_some() && is_version(it)) {
            assert_eq!(statement.video().as_ref(), Some(video), "{text}");
        }
    }
    Some(found.len())
}

#[test]
fn video_instructions_are_those_of_check() {
    let mut count = 0;
    for (_, text) in texts("") {
        if text.len() > 200_000 {
            continue;
        }
        count += videos_are_those_of_check(&text).unwrap_or(0);
    }
    assert!(count > 1_000, "{count}");

    let parts = [
        ".version 8.0\n",
        ".version 7.0\n.target sm_52\n",
        ".target sm_90, debug\n",
        ".reg .b32 a, %r<4>;\n",
        ".reg .u64 a;\n",
        ".reg .pred %p;",
        ".reg .b32 %r<2>, b;\n",
        ".reg .v2 .b32 v;",
        ".func f(.reg .b32 a, .reg .u16 b) {\n",
        ".func (.reg .b32 b) g(.param .u32 a)\n{",
        ".entry k()\n{\n",
        ".extern .func h;\n",
        ".shared .b32 s;\n",
        "{\n",
        "}\n",
        "a: ",
        "@%p ",
        "vadd.u32.u32.u32 a, %r1, b;\n",
        "vadd4.u32.u32.u32 %r3, a, b, %r1;\n",
        "vmin.s32.s32.s32.add a, v, s, 7;\n",
        "vmin2.s32 a, b;\n",
        "vabsdif.u32.u32.u32 a, a, b;\n",
        "vdot.u32.s32 a, %r1, b;\n",
        "mov.b32 a, b;\n",
        ".loc 1 2 3\n",
    ];
    let mut rng = Random(46);
    let mut below = |end: usize| (rng.next() % end as u64) as usize;
    let (mut sound, mut count) = (0, 0);
    for _ in 0..20_000 {
        let length = 2 + below(16);
        let text: String = (0..length).map(|_| parts[below(parts.len())]).collect();
        // Closes all open braces at the end, so that more texts have no errors.
        let open = text.matches('{').count().saturating_sub(text.matches('}').count());
        if let Some(found) = videos_are_those_of_check(&(text + &"}".repeat(open))) {
            sound += 1;
            count += found;
        }
    }
    assert!(sound > 3_000 && count > 5_000, "{sound} {count}");
}

#[test]
fn deep_texts_need_little_stack() {
    let many = 200_000;
    let texts = [
        "{".repeat(many),
        format!("{}{}", "{".repeat(many), "}".repeat(many)),
        format!("add.s32 a, {}b;", "{".repeat(many)),
        format!("add.s32 a, {}b{};", "{".repeat(many), "}".repeat(many)),
        format!(".global .u32 x[1] = {}1{};", "{".repeat(many), "}".repeat(many)),
        format!("call {}b{};", "(".repeat(many), ")".repeat(many)),
        format!("ld.u32 a, [{}1];", "(".repeat(many)),
        format!(".section .s {}", "{".repeat(many)),
    ];
    for text in texts {
        let small = std::thread::Builder::new().stack_size(128 << 10);
        let read = small.spawn(move || {
            lossless(&text);
        });
        read.expect("a thread starts").join().expect("no overflow");
    }
}

/// `cargo xtask syntax-agree` asks ptxas.
#[test]
fn statements_have_the_errors_that_ptxas_has() {
    let mut counts = [0; 3];
    for row in recorded() {
        let text = module(row.place, row.text);
        let (tree, _, _) = lossless(&text);
        let is_sound = row.verdict != Verdict::Syntax;
        assert_eq!(tree.errors().is_empty(), is_sound, "{row:?}: {:?}", tree.errors());
        counts[row.verdict as usize] += 1;
    }
    assert!(counts[0] > 170 && counts[1] > 310 && counts[2] < 50, "{counts:?}");
}

/// ptxas 13.5 accepts the structure of the first texts, and has syntax errors in the others.
#[test]
fn what_ptxas_reads_has_no_error() {
    let module = |text: &str| format!(".version 8.5\n.target sm_90\n{text}");
    let body = |text: &str| module(&format!(".entry k() {{\n{text}\nret;\n}}\n"));
    let legal = [
        module(".section .debug_str { L: .b8 1, 2 .b32 L-L+4 }\n.func f() { ret; }\n"),
        body(".func g();"),
        body(".reg .b64 a;\n.reg .b32 b;\nmov.b64 a, 0;\nld\n.global\n.u32\nb,\n[a];"),
        body(".reg .b32 a;\nvadd.u32.u32.u32\na.b0,\na, a, a;"),
        body("p: .callprototype (\n.param .b32 r)\n_ (\n.param .b32 _\n)\n;"),
        module(".func g()"),
        module(
            ".func (.reg .b32 r) g(.param .align 8 .b8 a[16], .param .b8 b[], .param .u64 .ptr c);",
        ),
        module(".entry k(.param .u64 .ptr .global .align 4 a, .param .u64 %b) { ret; }"),
        module(".entry k(.param .texref t, .param .align WARP_SZ .b8 a[4]) { ret; }"),
    ];
    for text in legal {
        let (tree, _, _) = lossless(&text);
        assert_eq!(tree.errors(), [], "{text}");
    }
    let illegal = [
        module(".section .debug_str { .b8 1; }\n"),
        module(".section .debug_str { .b8 \"a\" }\n"),
        module(".section .debug_str { .b8 1 * 2 }\n"),
        ".version\n.target sm_90\n".to_string(),
        ".version 8.5\n.target sm_90,\n.func f() { ret; }\n".to_string(),
        body("mov.b32 a, 1 .reg .b32 a;"),
        module(".func g(.param .u64 a b);"),
        module(".func g(.param .u64);"),
        module(".func g(.param .u64 a, );"),
        module(".func g(.param . a);"),
        module(".func g(a);"),
    ];
    for text in illegal {
        let (tree, _, _) = lossless(&text);
        assert_eq!(tree.errors().len(), 1, "{text}: {:?}", tree.errors());
    }
}
