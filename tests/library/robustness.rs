//! Input that is not PTX, or that is very large. The library neither panics nor runs for very long.
//! What it promises about spans, fixes, order and dialects holds for any text.

use std::collections::HashSet;
use std::path::Path;

use crate::support::forms::{rows, texts};
use crate::support::random::Random;
use vptx::diagnostic::Severity;
use vptx::source::{LineIndex, Span, UNDECODABLE, decode};
use vptx::{CheckOptions, Code, Diagnostic, Dialect, Instruction, check, parse, parse_with};

fn run(text: &str, dialect: Dialect) -> Vec<Diagnostic> {
    check(text, &CheckOptions::default().with_dialect(dialect))
}

fn codes(text: &str) -> Vec<Code> {
    run(text, Dialect::Ptxas).iter().map(|found| found.code).collect()
}

fn inside(span: Span, text: &str) -> bool {
    span.start <= span.end
        && span.end as usize <= text.len()
        && text.is_char_boundary(span.start as usize)
        && text.is_char_boundary(span.end as usize)
}

/// Checks the properties that hold for any text. Returns the numbers of findings in the two
/// dialects.
fn hold(text: &str) -> (usize, usize) {
    let mut errors: Vec<HashSet<(Code, Span)>> = Vec::new();
    let mut found = Vec::new();
    for dialect in [Dialect::Documented, Dialect::Ptxas] {
        let options = CheckOptions::default().with_dialect(dialect);
        let (module, diagnostics) = parse_with(text, &options).expect("PTX");
        let mut last = 0;
        for diagnostic in &diagnostics {
            let span = diagnostic.span;
            assert!(inside(span, text), "{dialect:?} {diagnostic:?}\n{text:?}");
            assert!(span.start >= last, "{dialect:?}: {diagnostic:?} is out of order\n{text:?}");
            last = span.start;
            assert!(!diagnostic.message.is_empty() && !diagnostic.message.ends_with('.'));
            for label in &diagnostic.labels {
                assert!(inside(label.span, text), "{diagnostic:?}\n{text:?}");
            }
            for fix in &diagnostic.fixes {
                let mut end = 0;
                for edit in &fix.edits {
                    let ordered = edit.span.start >= end && inside(edit.span, text);
                    assert!(ordered, "{diagnostic:?}\n{text:?}");
                    end = edit.span.end;
                }
                assert_ne!(fix.apply(text), text, "{diagnostic:?}");
            }
        }
        let mut end = 0;
        for statement in module.statements() {
            let span = statement.span;
            assert!(inside(span, text) && span.start >= end, "{statement:?}\n{text:?}");
            end = span.end;
            let Some(instruction) = &statement.instruction else {
                let reason = diagnostics.iter().any(|found| found.severity == Severity::Error);
                assert!(reason, "nothing is said against {statement:?}\n{text:?}");
                continue;
            };
            let printed = instruction.to_string();
            let again = printed.parse::<Instruction>();
            assert_eq!(again.as_ref().ok(), Some(instruction), "{printed}\n{text:?}");
        }
        let serious = diagnostics.iter().filter(|found| found.severity == Severity::Error);
        errors.push(serious.map(|found| (found.code, found.span)).collect());
        found.push(diagnostics.len());
    }
    // The manual allows nothing that ptxas rejects.
    let missing: Vec<_> = errors[1].difference(&errors[0]).collect();
    assert!(missing.is_empty(), "only in dialect ptxas: {missing:?}\n{text:?}");
    (found[0], found[1])
}

#[test]
fn empty_and_blank() {
    for text in ["", " ", "\n", "\r\n\t\u{c}", ";", "//", "// \u{e9}", "/**/", "# 1 \"x\"\n"] {
        assert_eq!(hold(text), (0, 0), "{text:?}");
    }
    for text in
        ["/", "\"", "\\", ".", "@", "%", "_", "{", "}", "/*", "\u{e9}", "\u{1a}", "\u{feff}"]
    {
        hold(text);
    }
}

#[test]
fn binary_files() {
    for bytes in [
        &b"\0"[..],
        b"\x7fELF\x02\x01\x01\0\0vadd.u32.u32.u32 d, a;",
        b"vadd.u32.u32.u32 d, a, b;\0",
        b"\xff\xfe\0v\0a",
        b"// fine\n\0",
    ] {
        let text = decode(bytes.to_vec());
        let found = run(&text, Dialect::Documented);
        assert_eq!(found.len(), 1, "{bytes:?}");
        assert_eq!(found[0].code, Code::BinaryFile);
        let at = bytes.iter().position(|&byte| byte == 0).expect("there is one");
        assert_eq!(found[0].span.range(), at..at + 1);
        hold(&text);
        assert!(text.parse::<Instruction>().is_err());
    }
}

/// Bytes that are not UTF-8 keep their positions. They are errors only outside of comments.
#[test]
fn broken_utf8() {
    let good = b"// caf\xe9 \xf0\x9f\x92\n/* \xff\xc3\x28 */ vadd.u32.u32.u32 d, a, b; // \x80\n";
    let text = decode(good.to_vec());
    assert_eq!(text.len(), good.len());
    assert_eq!(hold(&text), (0, 0));
    for (bytes, at) in [
        (&b"vadd.u32.u32.u32 d, \xe9, b;"[..], 20),
        (b"vadd.u32.u32.u32 d, a\xc3, b;", 21),
        (b"vadd.u32.u32.u32\xff d, a, b;", 16),
        (b"vadd.u32.u32.u32 d, a, b.b0\x80;", 27),
    ] {
        let text = decode(bytes.to_vec());
        let found = run(&text, Dialect::Ptxas);
        assert_eq!(
            found.last().map(|found| (found.code, found.span.range())),
            Some((Code::InvalidCharacter, at..at + 1)),
            "{text:?}: {found:?}"
        );
        hold(&text);
    }
    let mut random = Random(5);
    for length in 0..300 {
        let bytes: Vec<u8> = (0..length).map(|_| (random.next() >> 24) as u8).collect();
        let text = decode(bytes.clone());
        assert_eq!(text.len(), bytes.len());
        for (at, c) in text.char_indices().filter(|(_, c)| *c != UNDECODABLE) {
            assert_eq!(&bytes[at..at + c.len_utf8()], c.to_string().as_bytes());
        }
    }
}

/// A character that PTX does not use is reported, and the instruction after it is still checked.
#[test]
fn stray_characters_hide_nothing() {
    let mut silent = Vec::new();
    for stray in ["\u{1a}", "\u{e9}", "`", "\\", "'", "\u{7f}"] {
        for text in [
            format!("{stray} vadd.u32.u32.u32 d, a;"),
            format!("ret; {stray}\nvadd.u32.u32.u32 d, a;"),
            format!("{{ {stray} }} vadd.u32.u32.u32 d, a;"),
            format!("vadd.u32.u32.u32 d, a; {stray}"),
        ] {
            if codes(&text).is_empty() {
                silent.push(text);
            }
        }
    }
    assert!(silent.is_empty(), "nothing found in {silent:?}");
}

/// Opening and closing characters without a partner, at every position.
#[test]
fn unterminated() {
    let base = "@p vadd.u32.u32.u32.add d, a.b0, (1+2), c; .reg .b32 x<5>; .file 1 \"x\", 1, 2 \
                .section .x { .b8 1 } .global .u32 y[2] = {1, 2}; l: { mov.u32 r, {a, b}; }";
    let openers = ["/*", "\"", "{", "(", "[", "//", "<", "}", ")", "]", "@", "'", "\\", "?"];
    for opener in openers {
        for (at, _) in base.char_indices() {
            hold(&format!("{}{opener}{}", &base[..at], &base[at..]));
            hold(&format!("{}{opener}", &base[..at]));
        }
    }
    for at in 0..base.len() {
        hold(&base[..at]);
        hold(&base[at..]);
    }
}

const MANY: usize = 100_000;

/// These tests count findings instead of measuring time: each cause must have one finding.
#[test]
fn deep_and_long_structure() {
    assert_eq!(codes(&"{".repeat(MANY)), [Code::UnclosedBrace]);
    assert_eq!(codes(&"}".repeat(MANY)), vec![Code::StrayBrace; MANY]);
    assert_eq!(codes(&"{}".repeat(MANY)), []);
    assert_eq!(codes(&format!("{}{}", "{".repeat(MANY), "}".repeat(MANY))), []);
    assert_eq!(codes(&";".repeat(MANY)), []);
    assert_eq!(codes(&"l:".repeat(MANY)), []);
    assert_eq!(codes(&"/**/".repeat(MANY)), []);
    assert_eq!(codes(&"/*".repeat(MANY)), [Code::UnclosedComment]);
    assert_eq!(codes(&"# 1 \"x\"\n".repeat(MANY)), []);
    assert_eq!(codes(&"vadd.u32.u32.u32 d, a;\n".repeat(MANY)), vec![Code::MissingOperand; MANY]);
    assert_eq!(
        codes(&"vadd.u32.u32.u32 d, a, b\n".repeat(MANY)),
        vec![Code::MissingSemicolon; MANY]
    );
    assert_eq!(codes(&"{ret".repeat(MANY)).len(), codes(&"{ret".repeat(10)).len());
    // Nested scopes, each of which hides the name of the outer scope.
    let hidden = "{ .reg .f32 r; ".repeat(20_000);
    let used = format!("{hidden} vadd.u32.u32.u32 r, r, r; {}", "}".repeat(20_000));
    assert_eq!(codes(&used), [Code::RegisterType; 3]);
    // One declaration of many names, and many declarations of one name each.
    let names: Vec<String> = (0..MANY).map(|n| format!("r{n}")).collect();
    let list = format!(".reg .b32 {}; vadd.u32.u32.u32 r0, r99999, r7;", names.join(", "));
    assert_eq!(codes(&list), []);
    assert_eq!(
        codes(&format!("{{.reg .b32 {};", names.join("; .reg .b32 "))),
        [Code::UnclosedBrace]
    );
}

#[test]
fn one_long_line() {
    let line = "vadd.u32.u32.u32 d, a, b; ".repeat(40_000);
    assert!(line.len() > 1_000_000);
    let (module, diagnostics) = parse_with(&line, &CheckOptions::default()).expect("PTX");
    assert_eq!((module.instructions().count(), diagnostics.len()), (40_000, 0));
    // The index of lines gives the right last column.
    let index = LineIndex::new(&line);
    let end = index.position(&line, line.len() as u32);
    assert_eq!((end.line as usize, end.column as usize), (1, line.len() + 1));

    assert_eq!(codes(&" ".repeat(1_000_000)), []);
    assert_eq!(codes(&format!("{}#", " ".repeat(1_000_000))), [Code::InvalidCharacter]);
    let spaced = format!("vadd.u32.u32.u32{}d, a, b;", " ".repeat(1_000_000));
    assert_eq!(codes(&spaced), []);
    let commented = format!("vadd.u32.u32.u32 d, /*{}*/ a, b;", "* ; ".repeat(250_000));
    assert_eq!(codes(&commented), []);
}

/// A statement ends before each of the directives, and seems to end at the end of the text.
#[test]
fn statements_that_seem_to_end_far_away_take_no_time() {
    for repeated in [".pragma x ", "x {.pragma ", "x {.pragma x "] {
        let text = format!("x {}{{ ;", repeated.repeat(MANY));
        assert!(codes(&text).contains(&Code::MissingSemicolon), "{repeated}");
        assert!(!vptx::syntax::parse(&text).errors().is_empty(), "{repeated}");
    }
}

/// What is closed does not count as depth.
#[test]
fn constants_may_have_any_number_of_terms() {
    for term in ["1", "+1", "!-0", "(1)", "(.u64)1", "-(.s64)-1", "(1?1:0)", "(0?0:+1)"] {
        let sum = vec![term; 1000].join("+");
        for condition in ["", "1?"] {
            let tail = if condition.is_empty() { "" } else { ":0" };
            let text = format!("vadd.u32.u32.u32 d, a, {condition}{sum}{tail};");
            assert_eq!(codes(&text), [], "{condition}{term}");
        }
    }
}

#[test]
fn deep_and_long_operands() {
    let with = |operand: &str| format!("vadd.u32.u32.u32 d, a, {operand}; vadd.u32.u32.u32 d, a;");
    for (operand, code) in [
        (format!("{}1{}", "(".repeat(MANY), ")".repeat(MANY)), Code::NestedTooDeeply),
        ("(".repeat(MANY), Code::NestedTooDeeply),
        (format!("{}1", "-".repeat(MANY)), Code::NestedTooDeeply),
        (format!("{}1", "!".repeat(MANY)), Code::NestedTooDeeply),
        (format!("{}1", "~ ".repeat(MANY)), Code::NestedTooDeeply),
        (format!("{}1", "(.s64)".repeat(MANY)), Code::NestedTooDeeply),
        (format!("{}1", "1?1:".repeat(MANY)), Code::NestedTooDeeply),
        (format!("{}a", "-".repeat(MANY)), Code::UnexpectedToken),
        ("-".repeat(MANY), Code::UnexpectedToken),
        (format!("1{}", ")".repeat(MANY)), Code::UnexpectedToken),
        ("[".repeat(MANY), Code::UnexpectedToken),
        (format!("{}a{}", "[".repeat(MANY), "]".repeat(MANY)), Code::OperandKind),
        ("1 ".repeat(MANY), Code::UnexpectedToken),
        ("a ".repeat(MANY), Code::UnexpectedToken),
        ("?".repeat(MANY), Code::UnexpectedToken),
        ("9".repeat(MANY), Code::MalformedNumber),
        (format!("0x{}", "f".repeat(MANY)), Code::MalformedNumber),
        (format!("0{}", "8".repeat(MANY)), Code::MalformedNumber),
        ("\u{e9}".repeat(MANY), Code::InvalidCharacter),
    ] {
        let text = with(&operand);
        let found = codes(&text);
        assert_eq!(found.first(), Some(&code), "{}…", &text[..60]);
        assert_eq!(found.last(), Some(&Code::MissingOperand), "{}…", &text[..60]);
        assert!(found.len() <= 3, "{}…: {}", &text[..60], found.len());
    }
    // A constant that is long but not nested is legal.
    let sum = vec!["1"; MANY].join("+");
    let instruction: Instruction =
        format!("vadd.u32.u32.u32 d, a, {sum};").parse().expect("a sum may be long");
    assert_eq!(instruction.to_string().parse().as_ref(), Ok(&instruction));
    assert_eq!(codes(&with(&format!("0{}", "0".repeat(MANY)))), [Code::MissingOperand]);
}

/// Constants with the greatest allowed nesting, on a thread with a small stack.
#[test]
fn deep_constants_need_little_stack() {
    let nested = |open: &str, close: &str, levels: usize| {
        format!("vadd.u32.u32.u32 d, a, {}1{};", open.repeat(levels), close.repeat(levels))
    };
    let shapes = [
        ("(", ")", 200),
        ("-~", "", 100),
        ("1 ? ", " : 1", 200),
        ("(.u64)", "", 200),
        ("(1 ? ", " : 1)", 100),
        ("1 || 1 && 1 | 1 ^ 1 & 1 == 1 < 1 << 1 + 1 * (", ")", 200),
    ];
    for (open, close, levels) in shapes {
        let text = nested(open, close, levels);
        let deeper = nested(open, close, levels + 1);
        let small = std::thread::Builder::new().stack_size(128 << 10);
        let read = small.spawn(move || {
            let (module, diagnostics) = parse(&text);
            assert_eq!(diagnostics, [], "{text}");
            let (_, instruction) = module.instructions().next().expect("one");
            assert_eq!(instruction.to_string().parse().as_ref(), Ok(instruction));
            assert_eq!(codes(&deeper), [Code::NestedTooDeeply], "{deeper}");
        });
        read.expect("a thread starts").join().expect("no overflow");
    }
}

#[test]
fn many_modifiers_operands_and_letters() {
    let many = 10_000;
    assert_eq!(codes(&format!("vadd{} d, a, b;", ".u32".repeat(many))), [Code::ExtraType]);
    assert_eq!(codes(&format!("vadd.u32.u32.u32{} d, a, b;", ".sat".repeat(many))), []);
    let sat = format!("vadd.u32.u32.u32{} d, a, b;", ".sat".repeat(many));
    let repeated = run(&sat, Dialect::Documented);
    let repeated = repeated.iter().find(|diagnostic| diagnostic.code == Code::RepeatedSaturate);
    assert_eq!(repeated.expect("it is found").fixes[0].edits.len(), many - 1);
    assert_eq!(
        codes(&format!("vadd.u32.u32.u32{} d, a, b;", ".foo".repeat(many))),
        vec![Code::UnknownModifier; many]
    );
    assert_eq!(
        codes(&format!("vset.u32.u32{} d, a, b;", ".eq".repeat(many))),
        vec![Code::ConflictingModifiers; many - 1]
    );
    let operands = vec!["a"; many].join(", ");
    assert_eq!(codes(&format!("vadd.u32.u32.u32.add {operands};")), [Code::ExtraOperand]);

    let name = "x".repeat(1_000_000);
    let text = format!("vadd.u32.u32.u32 {name}, {name}, {name};");
    assert_eq!(codes(&text), []);
    assert_eq!(codes(&format!("vadd.u32.u32.u32 d.{name}, a, b;")), [Code::UnknownSelector]);
    assert_eq!(codes(&format!("vadd.{name} d, a, b;")), [Code::MissingType, Code::UnknownModifier]);
    assert_eq!(codes(&format!("v{name}.u32 d, a, b;")), []);
    assert_eq!(codes(&format!("@{name} vadd.u32.u32.u32 d, a, b;")), []);
    assert_eq!(codes(&format!(".version 7.0 .target sm_75 {text}")), [Code::UndeclaredRegister; 3]);
    assert_eq!(codes(&format!(".reg .f32 {name}; {text}")), [Code::RegisterType; 3]);
    hold(&text);
}

#[test]
fn odd_numbers() {
    for number in [
        "0",
        "9",
        "0x",
        "0xg",
        "0b",
        "0b2",
        "0f",
        "0f3F800000",
        "0f3F80000",
        "0d3FF0000000000000",
        "0d",
        "1.",
        "1.e",
        "1.e+",
        "1e5",
        "1e999",
        ".5",
        ".5.5",
        "5.5.5",
        "1..2",
        "0x1.8p3",
        "1_000",
        "0U",
        "0UU",
        "U",
        "0xU",
        "00U",
        "08U",
        "1u",
        "1L",
        "18446744073709551616",
        "0777777777777777777777777",
        "nan",
        "inf",
        "-0.0",
        "1.5<2.5",
        "1.5+1",
        "1/0.0",
        "0.0/0.0",
        "(.s64)1.5",
        "1?1.5:2",
        "1.5?1:2",
    ] {
        for text in [
            format!("vadd.u32.u32.u32 d, a, {number};"),
            format!("vadd.u32.u32.u32 d, {number}.b0, a;"),
            format!("vadd.u32.u32.u32 {number}, a, b;"),
            format!(
                ".version {number} .target sm_{number} .reg .b32 r<{number}>; vadd.u32.u32.u32 r0, a, b;"
            ),
            format!(
                ".loc {number} {number} {number}, inlined_at {number} vadd.u32.u32.u32 d, a, b;"
            ),
        ] {
            hold(&text);
        }
    }
}

// ---------------------------------------------------------------- mini-fuzz

const VOCABULARY: &[&str] = &[
    "vadd",
    "vsub2",
    "vset4",
    "vmad",
    "vshl",
    "vabsdiff",
    "vavrg4",
    "varvg2",
    "VADD",
    "vote",
    "mov",
    "ret",
    "bra",
    "call",
    "d",
    "a",
    "b",
    "c",
    "%r1",
    "%p",
    "$x",
    "_",
    "%tid",
    ".x",
    "WARP_SZ",
    ".u32",
    ".s32",
    ".f32",
    ".b32",
    ".pred",
    ".v2",
    ".sat",
    ".po",
    ".add",
    ".min",
    ".eq",
    ".lo",
    ".clamp",
    ".shr7",
    ".b0",
    ".h1",
    ".h10",
    ".h32",
    ".b3210",
    ".b7654",
    ".b1024",
    ".b01",
    ".h33",
    ".b00",
    ",",
    ",",
    ",",
    ";",
    ";",
    ";",
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    "<",
    ">",
    "@",
    "!",
    ":",
    "::",
    "=",
    "|",
    "&",
    "+",
    "-",
    "*",
    "/",
    "%",
    "~",
    "^",
    "?",
    "<<",
    ">=",
    "==",
    "&&",
    "||",
    "0",
    "5",
    "-5",
    "0x1F",
    "08",
    "1.5",
    "0f3F800000",
    "0b101",
    "99999999999999999999",
    ".reg",
    ".reg .b32",
    ".reg .f32 a;",
    ".reg .b32 %r<9>;",
    ".reg .pred %p;",
    ".global",
    ".shared",
    ".param",
    ".entry k()",
    ".func (.reg .u32 o) f (.reg .u32 i)",
    ".visible",
    ".extern",
    ".version 8.0",
    ".version 1.4",
    ".target sm_90",
    ".target sm_13",
    ".loc 1 2 3",
    ".file 1 \"x\"",
    ".section .debug_info",
    ".pragma",
    "\"x\"",
    "\"",
    "/*",
    "*/",
    "//",
    "\n",
    "\n",
    " ",
    "#",
    "# 1\n",
    "\r\n",
    "\t",
    "\u{e9}",
    "\u{1a}",
    "\\",
    "'",
    "`",
    ".",
    "\u{feff}",
    "vadd.u32.u32.u32 d, a, b;",
    "vmad.s32.s32.s32 d, -a, -b, -c;",
    "vset2.u32.u32.lt d.h1, a.h01, b, c;",
];

fn word(random: &mut Random) -> &'static str {
    VOCABULARY[random.below(VOCABULARY.len())]
}

const PUNCTUATION: &[u8] = b" \n;,.{}()[]@%!-+/*\"#<>:?vads4b0x_$u32";

#[test]
fn random_bytes() {
    let mut random = Random(1);
    for turn in 0..4_000 {
        let length = random.below(300);
        // In half of the turns, all bytes; in the others, mostly bytes of PTX.
        let bytes: Vec<u8> = (0..length)
            .map(|_| {
                let byte = (random.next() >> 16) as u8;
                if turn % 2 == 0 {
                    byte.max(1)
                } else {
                    PUNCTUATION[byte as usize % PUNCTUATION.len()]
                }
            })
            .collect();
        hold(&decode(bytes));
    }
}

#[test]
fn token_soup() {
    let mut random = Random(2);
    let mut sum = 0;
    for _ in 0..9_000 {
        let mut text = String::new();
        for _ in 0..random.below(60) {
            text.push_str(word(&mut random));
            if !random.one_in(6) {
                text.push(' ');
            }
        }
        sum += hold(&text).0;
    }
    assert!(sum > 10_000, "{sum} findings");
}

/// Pieces of fixtures whose bytes are changed, removed, repeated, or mixed with other pieces.
#[test]
fn mutated_fixtures() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/ptx");
    let files = [
        "hand/video_families.ptx",
        "hand/declarations.ptx",
        "hand/scopes_calls.ptx",
        "hand/old_style.ptx",
        "hand/one_line.ptx",
        "hand/dense_crlf.ptx",
        "hand/odd_comments.ptx",
        "hand/recent_isa.ptx",
        "nvcc/video_scalar.sm_75.ptx",
        "nvcc/video_simd.sm_100f.lineinfo.ptx",
        "nvcc/calls.sm_75.jump.ptx",
        "triton/packed_sad.sm_90.ptx",
        "clang/clang_device.sm_75.g.ptx",
    ];
    let texts: Vec<Vec<u8>> =
        files.iter().map(|file| std::fs::read(folder.join(file)).expect(file)).collect();
    let mut random = Random(3);
    let mut instructions = 0;
    for _ in 0..6_000 {
        let mut bytes = piece(&texts, &mut random);
        for _ in 0..=random.below(6) {
            let at = random.below(bytes.len());
            let other = at + random.below((bytes.len() - at).min(60));
            match random.below(6) {
                0 => bytes[at] ^= 1 << random.below(8),
                1 => bytes[at] = (random.next() >> 16) as u8,
                2 => drop(bytes.drain(at..other)),
                3 => {
                    let copy = bytes[at..other].to_vec();
                    bytes.splice(at..at, copy);
                }
                4 => {
                    let token = word(&mut random).bytes();
                    bytes.splice(at..at, token);
                }
                _ => {
                    let more = piece(&texts, &mut random);
                    let more = &more[..more.len().min(200)];
                    bytes.splice(at..other, more.iter().copied());
                }
            }
            if bytes.is_empty() {
                bytes.push(b';');
            }
        }
        let text = decode(bytes);
        hold(&text);
        instructions +=
            parse_with(&text, &CheckOptions::default()).expect("PTX").0.instructions().count();
    }
    assert!(instructions > 3_000, "{instructions} instructions left");
}

/// Up to two kilobytes of a file, often from its start.
fn piece(texts: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    let text = random.pick(texts);
    let start = if random.one_in(3) { 0 } else { random.below(text.len()) };
    let length = 1 + random.below(2_000);
    text[start..text.len().min(start + length)].to_vec()
}

/// Legal instructions with one extra or misplaced token of the vocabulary.
#[test]
fn mutated_instructions() {
    let mut random = Random(4);
    let forms: Vec<String> =
        rows().flat_map(|(form, mnemonic)| texts(form, mnemonic).into_iter().step_by(97)).collect();
    let mut clean = 0;
    for _ in 0..8_000 {
        let mut text = random.pick(&forms).clone();
        let at = random.below(text.len() + 1);
        match random.below(3) {
            0 => text.insert_str(at, word(&mut random)),
            1 => text.truncate(at),
            _ => {
                let end = at + random.below((text.len() - at).min(8) + 1);
                text.replace_range(at..end, word(&mut random));
            }
        }
        let (documented, ptxas) = hold(&text);
        assert!(ptxas <= documented + 1, "{text}");
        clean += usize::from(documented == 0);
    }
    assert!(clean > 200, "{clean} without finding");
}
