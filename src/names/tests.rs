use super::*;
use crate::diagnostic::applied;
use crate::syntax::{parse, parse_around};
use crate::testing::Numbers;

fn read(source: &str) -> Names {
    Names::of(&parse(source))
}

/// The offset of a place that is written as `word#n`: the nth place of the word, from 0.
fn place(source: &str, written: &str) -> u32 {
    let (word, number) = written.split_once('#').expect("word#n");
    let is_part = |c: char| c.is_ascii_alphanumeric() || "_$%".contains(c);
    let whole = source.match_indices(word).filter(|(at, _)| {
        !source[..*at].ends_with(is_part) && !source[at + word.len()..].starts_with(is_part)
    });
    whole.map(|(at, _)| at as u32).nth(number.parse().unwrap()).expect(written)
}

/// Asserts that each place on the left is declared at the place on the right.
fn declared(source: &str, pairs: &[(&str, Option<&str>)]) {
    let names = read(source);
    for (use_, declaration) in pairs {
        let at = place(source, use_);
        let here = names.at(at).unwrap_or_else(|| panic!("{use_}: no name"));
        assert_eq!(here.span().start, at, "{use_}");
        let found = here.symbol().map(|number| names.symbol(number).name.start);
        assert_eq!(found, declaration.map(|written| place(source, written)), "{use_}");
        // The meaning is the same if the bodies of the other functions are not read.
        let near = Names::of(&parse_around(source, Span::at(at)));
        let here = near.at(at).expect(use_);
        let near = here.symbol().map(|number| near.symbol(number).name.start);
        assert_eq!(near, found, "{use_}");
    }
}

const SCOPES: &str = r"
.version 8.5
.target sm_90, debug
.global .align 4 .b8 table[8] = {1, 2, 3, 4};
.global .u64 pointer = generic(table)+4;
.extern .func (.param .b32 r) callee (.param .b32 x);
.visible .entry f(.param .u64 x, .param .u32 y)
.maxntid 128, 1, 1
{
    .reg .b32 a, %r<10>;
    .reg .pred %p<3>;
    ld.param.u32 a, [y];
    {
        mov.b32 a, %r7;
        .reg .b32 a, %r<5>;
        @!%p2 bra end;
        add.s32 a, %r3, %r07;
        { .param .b32 x;
          call.uni (x), callee, (x);
        }
    end:
        mov.b32 {a, _}, 7; // a
    }
    ld.global.v2.u32 {a, %r1}, [table+4];
    bra end;
end:
    mov.u32 a, %tid.x;
    ret;
}
.func g(.reg .b32 a) {
    bra end;
end: ret;
}
";

/// Each name means the declaration that ptxas 13.5 takes: `bra end` in the inner block jumps to the
/// label of that block, and `mov.b32 a, %r7` before an inner declaration of `a` writes the outer
/// one.
#[test]
fn names_resolve_as_in_ptxas() {
    declared(
        SCOPES,
        &[
            ("table#1", Some("table#0")),
            ("table#2", Some("table#0")),
            ("callee#1", Some("callee#0")),
            ("y#1", Some("y#0")),
            ("a#1", Some("a#0")),
            ("a#2", Some("a#0")),
            ("%r7#0", Some("%r#0")),
            ("end#0", Some("end#1")),
            ("a#4", Some("a#3")),
            ("%r3#0", Some("%r#1")),
            ("%r07#0", Some("%r#0")),
            ("%p2#0", Some("%p#0")),
            ("x#3", Some("x#2")),
            ("x#4", Some("x#2")),
            ("a#5", Some("a#3")),
            ("a#7", Some("a#0")),
            ("%r1#0", Some("%r#0")),
            ("end#2", Some("end#3")),
            ("%tid#0", None),
            ("end#4", Some("end#5")),
        ],
    );
}

#[test]
fn symbols_have_their_kinds_and_declarations() {
    let names = read(SCOPES);
    let shown = names.symbols.iter().map(|it| {
        let text = |span: Span| span.text(SCOPES);
        format!("{:?} {} | {}", it.kind, text(it.name), text(it.declaration).replace('\n', " "))
    });
    let shown: Vec<String> = shown.collect();
    let expected = [
        "Variable table | .global .align 4 .b8 table[8] = {1, 2, 3, 4};",
        "Variable pointer | .global .u64 pointer = generic(table)+4;",
        "Function callee | .extern .func (.param .b32 r) callee (.param .b32 x);",
        "Parameter r | .param .b32 r",
        "Parameter x | .param .b32 x",
        "Function f | .visible .entry f(.param .u64 x, .param .u32 y) .maxntid 128, 1, 1",
        "Parameter x | .param .u64 x",
        "Parameter y | .param .u32 y",
        "Register a | .reg .b32 a, %r<10>;",
        "Register %r | .reg .b32 a, %r<10>;",
        "Register %p | .reg .pred %p<3>;",
        "Register a | .reg .b32 a, %r<5>;",
        "Register %r | .reg .b32 a, %r<5>;",
        "Variable x | .param .b32 x;",
        "Label end | end",
        "Label end | end",
        "Function g | .func g(.reg .b32 a)",
        "Parameter a | .reg .b32 a",
        "Label end | end",
    ];
    assert_eq!(shown, expected);
    let bodies = names.symbols.iter().filter(|it| !it.body.is_empty());
    let bodies: Vec<&str> = bodies.map(|it| it.body.text(SCOPES)).collect();
    assert_eq!(bodies.len(), 2);
    assert!(bodies[0].starts_with("{\n    .reg") && bodies[0].ends_with("ret;\n}"));
    assert_eq!(bodies[1], "{\n    bra end;\nend: ret;\n}");
    assert!(!names.symbols.iter().any(|it| it.is_double));
}

/// Debug data names labels of functions and of other data; a function may be declared first.
#[test]
fn debug_data_and_earlier_declarations_name_the_same() {
    let source = r#"
.version 8.5
.target sm_90
.func g(.reg .b32 p);
.alias h, g;
.func g(.reg .b32 p)
{
$L__begin:
    .loc 1 3 4, function_name $L__name, inlined_at 1 2 3
    ret;
}
.file 1 "a.cu", 12, 34
.section .debug_info
{
.b8 2
.b64 $L__begin
.b32 .debug_line
.b64 g
}
.section .debug_str
{
$L__name:
.b8 95
}
"#;
    declared(
        source,
        &[
            ("g#0", Some("g#2")),
            ("g#1", Some("g#2")),
            ("g#3", Some("g#2")),
            ("$L__name#0", Some("$L__name#1")),
        ],
    );
    let names = read(source);
    let data = names.at(place(source, "$L__begin#1")).unwrap();
    assert_eq!(data.symbol(), names.at(place(source, "$L__begin#0")).unwrap().symbol());
    assert_eq!(names.uses_of(data.meaning.unwrap()).count(), 2);
    let g = names.symbols.iter().find(|it| it.name.text(source) == "g").unwrap();
    assert_eq!(g.body.text(source).lines().count(), 5);
}

/// A part that is read alone has the same names as in the whole text.
#[test]
fn names_of_a_part_are_those_of_the_whole() {
    const FUNCTIONS: [&str; 4] = [
        ".func g(.reg .b32 a) {\n.reg .b32 %r<9>; /* } */\nL: bra L; mov.u32 a, %r3;\n}\n",
        ".visible .func (.reg .b32 a) h() .noreturn { { L: // }\n} bra L; mov.u32 a, v; }\n",
        ".entry k(.param .u32 p)\n.pragma \"{\";\n{ // {\n call (p), g, (p); }\n",
        ".global .u32 v[2] = {1, a};\n.section .s { L: .b32 v }\n",
    ];
    let mut numbers = Numbers(11);
    let (mut parts, mut skipped) = (0, 0);
    for _ in 0..6000 {
        let count = numbers.below(20);
        let pieces = |at| if at == 4 { PIECES } else { &FUNCTIONS[..] };
        let source: String = (0..count).map(|at| numbers.pick(pieces(at))).collect();
        let whole = parse(&source);
        // An error may change how all the text behind it is read.
        if !whole.errors().is_empty() {
            continue;
        }
        let at = numbers.below(source.len() + 1) as u32;
        let part = Span::new(at, (source.len() as u32).min(at + numbers.below(9) as u32));
        let near = parse_around(&source, part);
        parts += 1;
        skipped += usize::from(near.tokens().len() < whole.tokens().len());
        let shown = |names: &Names| {
            let inside = names
                .uses
                .iter()
                .filter(|it| it.span().start <= part.end && part.start <= it.span().end);
            let symbol = |it: &Use| it.symbol().map(|symbol| names.symbol(symbol).name);
            let shown = inside.map(|it| (it.span(), symbol(it), it.declares()));
            shown.collect::<Vec<_>>()
        };
        let (mut expected, found) = (shown(&Names::of(&whole)), shown(&Names::of(&near)));
        for (_, symbol, _) in &mut expected {
            // Labels of the other functions are not read.
            let place =
                |name: &Span| near.tokens().binary_search_by_key(&name.start, |it| it.span().start);
            *symbol = symbol.filter(|name| place(name).is_ok());
        }
        assert_eq!(expected, found, "{source}\n{part:?}");
    }
    assert!(parts > 500 && skipped > 100, "{parts} {skipped}");
}

/// A text that is being typed: the statements around an open one are read as before.
#[test]
fn an_open_statement_ends_before_the_next_one() {
    let starts = [
        "add.s32 a, b",
        "add.s32 a, b, c.x",
        "@p",
        ".reg .b32 e",
        "ld.global.u32 a, [b]",
        "L:",
        "vadd4.",
        "call (a), g, (b)",
    ];
    for start in starts {
        let source = format!(
            ".func g(.reg .b32 c) {{\n.reg .b32 a, b;\n.reg .pred p;\n{start}\n\
             .reg .b32 d;\nmov.b32 d, a;\n}}\n.func h() {{ ret; }}\n"
        );
        let names = read(&source);
        let last = names.at(place(&source, "d#1")).unwrap();
        let symbol = names.symbol(last.symbol().expect(start));
        assert_eq!(symbol.declaration.text(&source), ".reg .b32 d;", "{start}");
        assert_eq!(names.scopes().len(), 3, "{start}");
    }
}

/// A label outside of functions belongs to the statements around it, so its place may matter.
#[test]
fn only_labels_outside_of_functions_are_doubtful() {
    assert!(read("here: ret;\n").is_doubtful);
    assert!(!read(".func f()\n{\nhere: ret;\n}\n").is_doubtful);
}

/// In a directive that PTX does not have, a `;` inside of braces may end a statement.
#[test]
fn only_braces_of_unknown_directives_are_doubtful() {
    assert!(read(".foo {1};\n").is_doubtful);
    assert!(!read(".foo 1;\n").is_doubtful);
    assert!(!read(".section .debug_str\n{\n.b8 0\n}\n").is_doubtful);
}

/// `%r<5>` declares `%r0` to `%r4`.
#[test]
fn a_range_declares_the_numbers_below_its_count() {
    for (name, is_double) in [("%r4", true), ("%r5", false)] {
        let names = read(&format!(".func f()\n{{\n.reg .b32 {name}, %r<5>;\n}}\n"));
        assert_eq!(names.symbols.iter().any(|it| it.is_double), is_double, "{name}");
    }
}

/// The text after renaming what stands at a place.
fn renamed(source: &str, written: &str, new: &str) -> Result<String, RenameError> {
    rename(source, place(source, written), new).map(|edits| applied(source, &edits))
}

#[test]
fn renaming_follows_scopes() {
    let inner = renamed(SCOPES, "a#4", "sum").unwrap();
    assert_eq!(inner.matches("sum").count(), 3);
    assert!(inner.contains("mov.b32 a, %r7;\n        .reg .b32 sum, %r<5>;"));
    assert!(inner.contains("add.s32 sum, %r3, %r07;") && inner.contains("mov.b32 {sum, _}"));
    let label = renamed(SCOPES, "end#0", "done").unwrap();
    assert!(label.contains("bra done;\n        add") && label.contains("done:\n        mov"));
    assert_eq!(label.matches("done").count(), 2);
    let range = renamed(SCOPES, "%r#0", "%q").unwrap();
    assert!(range.contains(".reg .b32 a, %q<10>;") && range.contains("add.s32 a, %r3, %q07;"));
    assert!(range.contains("mov.b32 a, %q7;") && range.contains("{a, %q1}"));
    // A register of a range gets a separate declaration.
    let one = renamed(SCOPES, "%r07#0", "total").unwrap();
    assert!(one.contains("    .reg .b32 a, %r<10>;\n    .reg .b32 total;\n    .reg .pred"));
    assert!(one.contains("mov.b32 a, total;") && one.contains("add.s32 a, %r3, total;"));
    assert!(one.contains("{a, %r1}"));
}

#[test]
fn names_that_mean_something_else_are_refused() {
    let taken = |written: &str, new: &str| {
        assert_eq!(renamed(SCOPES, written, new), Err(RenameError::Taken(new.into())), "{written}");
    };
    // The new name is declared already, or an inner block would capture it.
    taken("a#0", "%r3");
    taken("%r#0", "%p");
    taken("%r7#0", "a");
    taken("%r1#0", "%r4");
    taken("x#1", "y");
    taken("table#0", "a");
    taken("callee#0", "f");
    let invalid = ["", "_", "%", "1a", "a b", "a.b", "WARP_SZ", "%tid", "a;", "/*", "é"];
    for new in invalid {
        assert_eq!(renamed(SCOPES, "a#0", new), Err(RenameError::Invalid(new.into())));
    }
    assert_eq!(renamed(SCOPES, "%r#0", "%r1x9"), Err(RenameError::RangeName));
    assert_eq!(renamed(SCOPES, "%tid#0", "a"), Err(RenameError::NoName));
    assert_eq!(rename(SCOPES, 0, "a"), Err(RenameError::NoName));
}

const PIECES: &[&str] = &[
    "{",
    "}",
    "{",
    "}\n",
    ";",
    ":",
    "(",
    ")",
    ",",
    "[",
    "]",
    "=",
    "\n",
    " ",
    ".reg .b32 a;\n",
    ".reg .b32 %r<9>;",
    ".func f",
    ".entry g(.param .u32 p) {\n",
    ".section .s {",
    "bra L;\n",
    "L:\n",
    "a",
    "%r3",
    "@!p ",
    "mov.u32 a, %r3;\n",
    "/*",
    "*/",
    "//",
    "\"",
    "#",
    ".loc 1 2 3\n",
    ".global .u32 v = {a};\n",
    ".callprototype",
    "call (a), f, (p);\n",
    "é",
    "\u{feff}",
    "<4>",
];

/// For any text, the spans of names are in order and inside of it, and all indices are in bounds.
#[test]
fn any_text_is_read() {
    let mut numbers = Numbers(5);
    for _ in 0..3000 {
        let source: String = (0..numbers.below(40)).map(|_| numbers.pick(PIECES)).collect();
        let names = read(&source);
        assert!(names.uses.is_sorted_by_key(|it| it.span().start), "{source}");
        for it in &names.uses {
            assert!(!it.span().text(&source).is_empty());
            assert!(it.symbol().is_none_or(|symbol| symbol.index() < names.symbols.len()));
        }
        for symbol in &names.symbols {
            assert!(symbol.declaration.start <= symbol.name.start, "{source}");
            assert!(symbol.name.end <= symbol.declaration.end, "{source}");
            let _ = symbol.body.text(&source);
        }
        let offset = numbers.below(source.len() + 1) as u32;
        if let Ok(edits) = rename(&source, offset, "fresh") {
            // The edits apply, and write the new name.
            let after = applied(&source, &edits);
            assert!(edits.is_sorted_by_key(|it| it.span.start), "{source}");
            assert!(after.contains("fresh"), "{source}");
        }
    }
}

/// For deep nesting and many uses that wait for labels, the time is proportional to the text.
#[test]
fn hostile_nesting_is_read_in_time() {
    let depth = 60_000;
    let mut source = ".func f() {\n".to_string();
    source.push_str(&"{ .reg .b32 %r<1>; L: bra M; ".repeat(depth));
    source.push_str("mov.b32 x, %r9;");
    source.push_str(&"}".repeat(depth + 1));
    let started = std::time::Instant::now();
    let names = read(&source);
    assert_eq!(names.scopes().len(), depth + 2);
    assert!(started.elapsed().as_secs() < 20, "{:?}", started.elapsed());
}
