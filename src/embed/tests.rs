use super::*;

/// The texts of all statements.
fn texts(source: &str) -> Vec<String> {
    statements(source).into_iter().map(|asm| asm.text).collect()
}

/// The only statement.
fn only(source: &str) -> Asm<'_> {
    let mut all = statements(source);
    assert_eq!(all.len(), 1, "{source}");
    all.remove(0)
}

#[test]
fn statements_are_found_as_compilers_find_them() {
    let found = [
        r#"asm("x");"#,
        r#"__asm("x");"#,
        r#"__asm__("x");"#,
        r#"asm volatile("x");"#,
        r#"__asm__ __volatile__ ( "x" );"#,
        r#"asm inline __volatile goto volatile("x" : : : : l);"#,
        r#"asm/**/volatile// (
           ("x");"#,
        "asm \\\n volatile \\\r\n (\\\n\"x\"\\\r\n);",
        r#"asm("" /* "y" */ "x" // "z"
           "");"#,
        r#"asm(u8"x");"#,
        r#"asm(R"(x)");"#,
        r#"asm(u8R"~(x)~");"#,
        r#"asm("x" :: "r"(')'), "r"(f(")", (1'000), [&] { /* ) */ return R"(()"; })) : M(a) "b");"#,
        r#"asm("x" : "=r"(d) : N(a) : X);asm("x" : "=r"(d) : : X(1, #a));"#,
        r#"#define F(d) asm("x" : "=r"(d))"#,
        "#define F(d) \\\n asm(\"x\" \\\n : \\\r\n \"=r\"(d))",
        "  #  if 0\nasm(\"a\");\n#else\nasm(\"x\");\n#endif",
        "#if 0 // no\nasm(\"a\");\n# ifdef B\n#else\n asm(\"b\")\n#endif\n#elif C\nasm(\"x\");\n#endif",
        "#if 0\n /* \n#endif\n */ it's \"\n#endif\nasm(\"x\");",
        "#if 1\nasm(\"x\");\n#endif",
        "#if 00\nasm(\"x\");\n#endif",
        r#"f("asm(\"a\")", '"', 'a', '\'', u8'"', L'"'); asm("x");"#,
        r#"int a = 1'000'000, b = 0xA'B'C; asm("x"); char c = '"';"#,
        r#"int a = 0xA'B; asm("x"); char c = '"';"#,
        r#"auto s = R"(asm("a"))"; auto t = LR"q(asm("a")")q"; asm("x");"#,
        r#"auto s = FOUR"(asm("a"))"; asm("x");"#,
        "#error don't\nasm(\"x\");",
        // The directive without a word ends with its line.
        "#\nasm(\"x\");",
        "// asm(\"a\") \\\n asm(\"a\")\nasm(\"x\"); /* asm(\"a\") */",
        r#"int x asm("x");"#,
        r#"asm(asm("x");"#,
        r#"asm("a" asm("x"))"#,
        r#"asm("a" : "r"(asm("x")))"#,
        r#"asm("a" : "r"(
           asm("x");"#,
        r#"é("asm") asm("x")"#,
    ];
    for source in found {
        assert_eq!(texts(source), ["x"], "{source}");
    }
    let none = [
        "",
        "asm",
        "asm(",
        "asm()",
        "asm(\"",
        "asm(\"x",
        "asm(\"x\"",
        "asm(\"x\"\n",
        "asm(\"x\" :",
        "asm(\"x\" : \"r\"",
        "asm(\"x\" : \"r\"(",
        "asm(\"x\" : : :",
        "asm(R\"(x)",
        "asm(\"x\ny\")",
        r#"plasm("x")"#,
        r#"asm_("x")"#,
        r#"_asm("x")"#,
        r#"asm__("x")"#,
        r#"éasm("x")"#,
        r#".asm("x")"#,
        r#"asm { "x" }"#,
        r#"asm virtual("x")"#,
        r#"asm("x" M)"#,
        r#"asm(M "x")"#,
        r#"asm("x" #a)"#,
        r#"asm("x" "y"_z)"#,
        r#"asm("x"R"(y)")"#,
        r#"asm(("x"))"#,
        r#"asm(M("x"))"#,
        "asm(\n#if A\n\"x\"\n#endif\n)",
        "asm(\"x\" :: \"r\"(a)\n#if A\n, \"r\"(b)\n#endif\n)",
        "asm(\"x\" :: \"r\"(a\n#if A\n+ 1\n#endif\n))",
        r#"asm("x" : OUT)"#,
        r#"asm("x" : "=r"(a), OUT)"#,
        r#"asm("x" : "=r"(a),)"#,
        r#"asm("x" : "=" R(a))"#,
        r#"asm("x" : ("=r")(a))"#,
        r#"asm("x" : [] "=r"(a))"#,
        r#"asm("x" : [a "=r"(a))"#,
        r#"asm("x" : "=r" a)"#,
        r#"asm("x" : "=r"(a) ; )"#,
        r#"asm("x%1" : "=r"(a) : "C"(text))"#,
        "#if 0\nasm(\"x\");\n",
        "#if 0\n#if 1\n#endif\nasm(\"x\");\n#endif\n",
        "#if \\\n 0\nasm(\"x\");\n#endif\n",
    ];
    for source in none {
        assert!(texts(source).is_empty(), "{source}");
        // No case hides the next statement, except a raw string that covers the rest.
        let next = texts(&format!("{source}\n#endif\nasm(\"x\");"));
        let expected: &[&str] = if source.starts_with("asm(R") { &[] } else { &["x"] };
        assert_eq!(next, expected, "{source}");
    }
}

#[test]
fn what_is_left_out_is_listed() {
    use SkipReason::{Directive, Disabled, Macro, Malformed, Pasted};
    let cases: &[(&str, &[SkipReason])] = &[
        ("asm(\"a\" : \"=r\"(d) : : \"memory\"); asm volatile(\"b\");", &[]),
        ("asm(X);", &[Macro]),
        ("asm volatile(X : \"=r\"(d));", &[Macro]),
        ("__asm__ goto (\"a\" X \"b\");", &[Macro]),
        ("asm(\"a\" : OUT(d));", &[Macro]),
        ("asm(\"a\" : \"=r\" X (d));", &[Macro]),
        ("asm(\"a\" : \"=r\"(d) MORE);", &[Macro]),
        ("#define A(x) asm(\"a\" #x)\n", &[Macro]),
        ("asm(\"a\"\n#if A\n\"b\"\n#endif\n);", &[Directive]),
        ("asm(\"a\" : \"=r\"(\n#if A\nd\n#endif\n));", &[Directive]),
        ("#if 0\nasm(\"a\"); asm volatile (X);\n#else\nasm(\"a\");\n#endif", &[Disabled, Disabled]),
        (
            "#if 0\n#if A\nasm(\"a\");\n#endif\nasm(\"a\");\n#endif\nasm(X);",
            &[Disabled, Disabled, Macro],
        ),
        ("#if 0\n// asm(X)\n\"asm(X)\"\n#endif\n", &[]),
        ("asm(\"a\" : : \"C\"(s));", &[Pasted]),
        ("asm(\"f %0.b%1;\" : : \"r\"(a), \"n\"(2));", &[Pasted]),
        ("asm(\"f t%[n], %0;\" : : \"r\"(a), [n] \"n\"(2));", &[Pasted]),
        ("asm(\"f %1f, %0;\" : : \"r\"(a), \"n\"(2));", &[Pasted]),
        ("asm(\"f %0, %1 - 1;\" : : \"r\"(a), \"n\"(2));", &[Pasted]),
        ("asm(\"f %0, 1 <<%1;\" : : \"r\"(a), \"n\"(2));", &[Pasted]),
        ("asm(\"f [%0+%1], -%1, {%1, %1}, !%1, %1.b0;\" : : \"l\"(a), \"n\"(2));", &[]),
        ("asm(\"f %0, 32 - %1;\" : : \"r\"(a), \"n\"(2));", &[Pasted]),
        ("asm(\"f %0, %1 / 2;\" : : \"r\"(a), \"n\"(2));", &[Pasted]),
        ("asm(\"f %0, %1 %% 2;\" : : \"r\"(a), \"n\"(2));", &[Pasted]),
        ("asm(\"f %0, 1?2:%1;\" : : \"r\"(a), \"n\"(2));", &[Pasted]),
        ("asm(\".reg .b32 q<%1>; f q1, %0;\" : : \"r\"(a), \"n\"(2));", &[Pasted]),
        ("asm(\"f t%0, %0+1;\" : : \"r\"(a));", &[]),
        // Comments are no code.
        ("asm(\"f %0, %1; /* %1 */ // a << %1, imm%1\" : : \"r\"(a), \"n\"(2));", &[]),
        ("asm(\"f [%0 /* ] */ + %1]; // [\\n f %1\" : : \"l\"(a), \"n\"(2));", &[]),
        ("asm(\"a\" : \"=r\"(d);", &[Malformed]),
        ("asm(\"a", &[Malformed]),
        ("asm();", &[Malformed]),
        ("asm(\"a\" : asm(X));", &[Macro, Macro]),
        // No statements.
        ("#define asm(x)\n# define __asm__()\n", &[]),
        ("int asm = 1; __asm { mov a, b } // asm(X)\n\"asm(X)\" plasm(X) asm X", &[]),
    ];
    for (source, expected) in cases {
        let found: Vec<SkipReason> = skipped(source).iter().map(|it| it.reason).collect();
        assert_eq!(found, *expected, "{source}");
        for it in skipped(source) {
            assert!(it.span.text(source).trim_start_matches('_').starts_with("asm"), "{source}");
        }
    }
}

/// Comments may stand around a directive, and white space behind the backslash that joins lines.
#[test]
fn directives_are_those_of_compilers() {
    for source in [
        "#define F(d) asm(\"x\" : \"=r\"(d))",
        "#define F(d) /* one\ntwo */ asm(\"x\" : \"=r\"(d))",
        "#define F(d) g(\"/*\", '\"') /* one\n*/ /* two\n*/ asm(\"x\" : \"=r\"(d))",
        "/* one */ #define F(d) asm(\"x\" : \"=r\"(d))",
        "int a;\n/* one\ntwo */ /* three */\t# define F(d) asm(\"x\" : \"=r\"(d))",
        "\u{feff}#define F(d) asm(\"x\" : \"=r\"(d))",
        "\u{feff} /* one */ #define F(d) asm(\"x\" : \"=r\"(d))",
        "#define F(d) \\ \t\r\n asm(\"x\" : \"=r\"(d))",
        "#define F(d) // one \\ \n\n#define G(d) asm(\"x\" : \"=r\"(d))",
    ] {
        assert!(only(source).is_in_directive(), "{source}");
    }
    for source in [
        "int a; /* one\n*/ #define F\nasm(\"x\" : \"=r\"(d))",
        "#define F \"/*\"\nasm(\"x\" : \"=r\"(d)) /* */",
        "#define F don't\nasm(\"x\" : \"=r\"(d))",
        "#define F \\ n\nasm(\"x\" : \"=r\"(d))",
        "int a; /* */ #define F asm(\"x\" : \"=r\"(d))",
    ] {
        assert!(!only(source).is_in_directive(), "{source}");
    }
    for zero in ["#if 0 // no\n", "/* no */ #if 0 /* a\nb */\n", "#if \\ \n 0\n"] {
        assert!(texts(&format!("{zero}asm(\"x\");\n#endif")).is_empty(), "{zero}");
    }
}

/// Only a directive defines `asm`.
#[test]
fn the_word_define_may_end_the_line_before() {
    for before in ["// see the define\n", "#ifdef user_define\n", "define ", "#undefine\t"] {
        assert_eq!(texts(&format!("{before}asm(\"a\");")), ["a"], "{before}");
    }
    for before in ["#define ", "# \tdefine\t "] {
        assert_eq!(texts(&format!("{before}asm(\"a\");")), [""; 0], "{before}");
    }
}

/// A check expands macros, and lists a use that it cannot expand only if it may have a statement.
#[test]
fn macros_without_statements_are_not_listed() {
    let listed = |used: &str| {
        let source = format!("#define F(x) x\n#define G(x) asm(x)\nasm(X);\n{used}");
        let start = source.len() - used.len();
        unread(&source, Host::C, None).iter().filter(|it| it.span.start as usize >= start).count()
    };
    assert_eq!(listed("f(F(\"a\""), 0);
    assert_eq!(listed("f(G(\"a\""), 1);
}

/// Text that is neither read nor listed is not a statement.
#[test]
fn each_keyword_of_a_statement_is_read_or_listed() {
    let mut random = Random(0x5be0_cd19_137e_2179);
    let pieces = [
        "asm(\"a\");",
        "asm(X);",
        "asm volatile(\"a\" : \"=r\"(d));",
        "asm(\"a\" : : \"C\"(s));",
        "\n#if 0\n",
        "\n#else\n",
        "\n#endif\n",
        "\n#ifdef A\n",
        "f(x);",
        "asm(\"a\" Y);",
    ];
    for _ in 0..2_000 {
        let count = 1 + random.below(12);
        let chosen: Vec<&str> = (0..count).map(|_| random.pick(&pieces)).collect();
        let expected = chosen.iter().filter(|piece| piece.contains("asm")).count();
        let source = chosen.concat();
        assert_eq!(statements(&source).len() + skipped(&source).len(), expected, "{source}");
    }
}

#[test]
fn pieces_make_up_the_source() {
    use Piece::{Code, Comment, Literal};
    let of = |source| pieces(source).collect::<Vec<_>>();
    assert_eq!(of(""), []);
    assert_eq!(of("a / b"), [Code("a / b")]);
    assert_eq!(of("// a"), [Comment]);
    assert_eq!(
        of("a/* \" */\"//\"'\\''b // c\nd"),
        [Code("a"), Comment, Literal, Literal, Code("b "), Comment, Code("\nd")]
    );
    assert_eq!(of("R\"x(\")y\")x\" 1'000'000;"), [Code("R"), Literal, Code(" 1'000'000;")]);
    assert_eq!(of("\"open\na"), [Literal, Code("\na")]);
}

#[test]
fn literals_are_decoded() {
    let cases = [
        (r#""\n\t\r\\\"\'\?\a\b\f\v\e""#, "\n\t\r\\\"'?\x07\x08\x0c\x0b\x1b"),
        (r#""\0\18\101\1011\x41g\x0041\u00e9\U0001F600""#, "\0\x018AA1AgAé😀"),
        (r#""\q\é\x\ug\u12\U0000""#, "qéxugu12U0000"),
        (r#""\xff\xc3\xa9\377\777\x123\ud800""#, "\x7fé\x7f\x7f\x7f\x7f"),
        ("\"a\\\nb\\\r\nc\"", "abc"),
        // Lines are joined before escapes are read.
        ("\"\\\\\nn\\x4\\\n1\"", "\nA"),
        ("\"a\\\\\\\nn\"", "a\\n"),
        ("R\"(\\n\"\\\n)\"", "\\n\"\\\n"),
        ("R\"x()\")x\" L\"b\" u8\"c\" u\"d\" U\"e\"", ")\"bcde"),
    ];
    for (literals, text) in cases {
        let source = format!("asm({literals})");
        assert_eq!(only(&source).text, text, "{literals}");
    }
}

/// A string with values inside is more than a literal.
#[test]
fn strings_with_values_are_no_literals() {
    let count = |source: &str| Quoting::Of(Host::Julia).literals(source).map(|all| all.len());
    assert_eq!([r#""a b""#, r#""a $b""#].map(count), [Some(1), None]);
}

#[test]
fn percents_are_read_as_nvcc_does() {
    let none = "";
    let one = r#": "=r"(d)"#;
    let named = r#": [d] "=r"(d) : [tid] "r"(a)"#;
    let bare = r#"::: "memory""#;
    // The template, the rest of the statement, the text, and the spelling of the text.
    let cases = [
        ("%0 %%r1 %= %[x]", none, "%0 %%r1 %= %[x]", "%0 %%r1 %= %[x]"),
        ("%r1 %laneid 10 % 3 %{", bare, "%r1 %laneid 10 % 3 %{", "%r1 %laneid 10 % 3 %{"),
        ("%%r%= /* %= */", bare, "%r7654321 /* 7654321 */", "%%r%= /* %= */"),
        ("%0 %[x]", bare, "%0 %x", "%0 %[x]"),
        ("%0 %00 %%r1 %laneid", one, "%0 %0 %r1 %laneid", "%0 %0 %%r1 %laneid"),
        ("%r1 %c0 %x[d]", one, "%r1 %c0 %x[d]", "%r1 %c0 %x[d]"),
        ("a%;b%{c% d%_e%é%$f", one, "abcdef", "abcdef"),
        ("%1 %42949672960 %[d]", one, "%1 %42949672960 %d", "%1 %42949672960 %[d]"),
        ("%0a L%=: %%%%", one, "%0a L7654321: %%", "%0a L%=: %%%%"),
        ("%[d].b0 %0", named, "%d.b0 %d", "%[d].b0 %[d]"),
        ("%0 %1", named, "%0 %1", "%0 %1"),
        ("%[tid] %%tid.x", named, "%tid$ %tid.x", "%[tid] %%tid.x"),
        ("%[tid] %[tid$]", named, "%tid$ %tid$$", "%[tid] %[tid$]"),
        ("%[d] %%d %%d$", named, "%d$$ %d %d$", "%[d] %%d %%d$"),
        ("%0 %%0 %tid", named, "%0$ %0 %tid", "%0 %%0 %tid"),
        ("%[e] %%e", named, "%e$ %e", "%[e] %%e"),
        ("%[d]x", named, "%dx", "%[d]x"),
        ("%\" \"0", one, "%0", "%0"),
        ("%[ %[] %[a %", one, "%[ %[] %[a %", "%[ %[] %[a %"),
    ];
    for (template, rest, text, spelled) in cases {
        let source = format!("asm(\"{template}\" {rest});");
        let asm = only(&source);
        assert_eq!(asm.text, text, "{source}");
        assert_eq!(asm.spelled(text), spelled, "{source}");
    }
    assert_eq!(only(r#"asm("%%r1" :);"#).spelled("%r2"), "%%r2");
    assert_eq!(only(r#"asm("%r1" :);"#).spelled("%r2"), "%r2");
    assert_eq!(only(r#"asm("%%r1");"#).spelled("%r2"), "%r2");
    assert_eq!(only(r#"asm("" : "=r"(d));"#).spelled("%0 %1"), "%0 %%1");
}

#[test]
fn operands_are_listed() {
    let source = r#"asm volatile("%[x] %[y] %9 %0" : "=&" "r"(a), [x]"+r"(b[f(1, 2)]) : [ z
        ] u8"n"(3), "0"(a));"#;
    let asm = only(source);
    let listed: Vec<_> = asm
        .operands
        .iter()
        .map(|operand| {
            let span = operand.span.text(source);
            (operand.name, &*operand.constraint, span, operand.output, &*operand.placeholder)
        })
        .collect();
    assert_eq!(
        listed,
        [
            (None, "=&r", "\"=&\" \"r\"", true, "%0"),
            (Some("x"), "+r", "\"+r\"", true, "%x"),
            (Some("z"), "n", "u8\"n\"", false, "%2"),
            (None, "0", "\"0\"", false, "%3"),
        ]
    );
    let unknown: Vec<_> =
        asm.unknown_operands().map(|(name, span)| (name, span.text(&asm.text))).collect();
    assert_eq!(unknown, [("%[y]", "%y"), ("%9", "%9")]);
    assert_eq!(asm.span.text(source), &source[..source.len() - 1]);
    assert!(asm.extended);
    // nvcc needs no comma between operands.
    let asm = only(r#"asm("" : "=r"(a) : "r"(b) [c]"r"(c), "r"(d) "r"(e));"#);
    assert_eq!(asm.operands.len(), 5);
}

#[test]
fn spans_lead_back() {
    let source = "asm(\"va\" /* */ \"dd\\n%%\"\n R\"(r1)\" \"%[dd]\\\n\" : [dd] \"r\"(a))";
    let asm = only(source);
    assert_eq!(asm.text, "vadd\n%r1%dd");
    let back = |start, end| asm.source_span(Span::new(start, end)).text(source);
    assert_eq!(back(0, 2), "va");
    assert_eq!(back(1, 3), "a\" /* */ \"d");
    assert_eq!(back(4, 5), "\\n");
    assert_eq!(back(5, 6), "%%");
    assert_eq!(back(5, 8), "%%\"\n R\"(r1");
    assert_eq!(back(8, 11), "%[dd]");
    assert_eq!(back(9, 10), "%[dd]");
    let point = |at| asm.source_span(Span::at(at)).start as usize;
    assert!(source[point(0)..].starts_with("va"));
    assert!(source[point(2)..].starts_with("\" /*"));
    assert!(source[point(5)..].starts_with("%%"));
    assert!(source[point(11)..].starts_with("\\\n\""));
    let empty = only("asm(\"\")");
    assert_eq!(empty.source_span(Span::at(0)), Span::at(5));
}

/// The source after an edit, if there is one.
fn edited(source: &str, find: &str, replacement: &str) -> Option<String> {
    let asm = only(source);
    let at = asm.text.find(find).unwrap();
    let span = Span::new(at as u32, (at + find.len()) as u32);
    let (range, new) = asm.source_edit(source, span, replacement)?;
    Some(format!("{}{new}{}", &source[..range.start as usize], &source[range.end as usize..]))
}

#[test]
fn edits_are_written_as_the_source_writes() {
    let cases = [
        (r#"asm("a b")"#, "a", "%c\"\\", Some(r#"asm("%c\"\\ b")"#)),
        (r#"asm("a b" ::)"#, "a", "%c", Some(r#"asm("%c b" ::)"#)),
        (r#"asm("a %%b" ::)"#, "a", "%c", Some(r#"asm("%%c %%b" ::)"#)),
        (
            r#"asm("a %[d]" : [d] "=r"(d))"#,
            "a",
            "%c %d",
            Some(r#"asm("%%c %[d] %[d]" : [d] "=r"(d))"#),
        ),
        (r#"asm("a %tid.x" : "=r"(d))"#, "a", "%tid.x", Some(r#"asm("%tid.x %tid.x" : "=r"(d))"#)),
        // Across literals.
        (r#"asm("va" "dd")"#, "vadd", "vsub", Some(r#"asm("vsub")"#)),
        ("asm(\"va\"\t \"\"\"dd\")", "vadd", "vsub", Some(r#"asm("vsub")"#)),
        ("asm(\"va\"\n\"dd\")", "vadd", "vsub", None),
        ("asm(\"va\" /**/ \"dd\")", "vadd", "vsub", None),
        ("asm(\"va\" u8\"dd\")", "vadd", "vsub", None),
        ("asm(\"va\" R\"(dd)\")", "vadd", "vsub", None),
        ("asm(\"va\" \"dd\")", "dd", "xx", Some("asm(\"va\" \"xx\")")),
        // Half of something.
        (r#"asm("%[dd]" : [dd] "=r"(d))"#, "dd", "x", None),
        (r#"asm("é")"#, "", "x", Some(r#"asm("xé")"#)),
        // Edits whose text would run together with its neighbours.
        (r#"asm("%0a" : "=r"(d))"#, "a", "1", None),
        (r#"asm("%0 a" : "=r"(d))"#, " a", "1", None),
        (r#"asm("\x4g" : "=r"(d))"#, "g", "1", None),
        (r#"asm("\x20g" : "=r"(d))"#, "g", "1", None),
        (r#"asm("\1g" : "=r"(d))"#, "g", "9", Some(r#"asm("\19" : "=r"(d))"#)),
        (r#"asm("%tid" : "=r"(d))"#, "tid", "0", Some(r#"asm("%0" : "=r"(d))"#)),
        (r#"asm("a % b" ::)"#, " b", "% b", None),
        // The edited literal has other quotes than the last one.
        (r#"asm("a b" R"(c)")"#, "a", "x", Some(r#"asm("x b" R"(c)")"#)),
        (r#"asm(R"x(a x" b)x")"#, "a ", ")", None),
        // The text ends with an operand, or with an escape.
        (r#"asm("a %0" : "=r"(d))"#, "%0", "%0;", Some(r#"asm("a %0;" : "=r"(d))"#)),
        (r#"asm("a\n" ::)"#, "a\n", "b;", Some(r#"asm("b;" ::)"#)),
        // Lines.
        ("asm(R\"(a\nb)\")", "a", "c\n\"\\", Some("asm(R\"(c\n\"\\\nb)\")")),
        ("#define X asm(R\"(a)\")", "a", "b\nc", None),
        ("  \tasm(\"a;\")", "a;", "b;\nc;", Some("  \tasm(\"b;\\n\"\n  \t    \"c;\")")),
        ("\r\n asm(\"a; d\")", "a;", "b;\n", Some("\r\n asm(\"b;\\n\"\r\n     \" d\")")),
        ("asm(\"a;\\\n b\")", "b", "b\nc", Some("asm(\"a;\\\n b\\nc\")")),
        ("#define X \\\n asm(\"a\")", "a", "b\n\tc", Some("#define X \\\n asm(\"b\\n\\tc\")")),
        (r#"asm("a1")"#, "a", "\x01\r", Some(r#"asm("\001\r1")"#)),
    ];
    for (source, find, replacement, expected) in cases {
        assert_eq!(edited(source, find, replacement).as_deref(), expected, "{source}");
    }
    assert_eq!(only("asm(\"\")").source_edit("asm(\"\")", Span::at(0), "x"), None);
    // In Python, only strings that end with their line are split.
    for (quote, split) in [("\"", true), ("'", true), ("\"\"\"", false), ("'''", false)] {
        let call = |text: &str| format!("f(inline_asm_elementwise({quote}{text}{quote}, '=r'))");
        let source = call("a;");
        let asm = &statements_in(&source, Host::Python)[0];
        let (range, new) = asm.source_edit(&source, Span::new(0, 2), "b;\nc;").unwrap();
        let lines =
            if split { format!("b;\\n{quote}\n{:25}{quote}c;", "") } else { "b;\nc;".into() };
        let text = [&source[..range.start as usize], &new, &source[range.end as usize..]].concat();
        assert_eq!(text, call(&lines));
    }
}

/// Marsaglia's xorshift.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 33) as usize % limit
    }

    fn pick<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len())]
    }

    fn join(&mut self, of: &[&str], most: usize) -> String {
        (0..self.below(most + 1)).map(|_| self.pick(of)).collect()
    }
}

const PLAIN: [&str; 24] = [
    "a", "vadd", " ", ";", "0", "7", "[d]", "[e]", "x", "%", "%%", "%0", "%1", "%[d]", "%[e]",
    "%r1", "%%tid", "t%=", "$", ".b0", "é", "tid", ")", "%{",
];
const ESCAPED: [&str; 10] =
    ["\\n", "\\t", "\\\"", "\\\\", "\\x2", "\\45", "\\u00e9", "\\xc3", "\\q", "\\\n"];
const BETWEEN: [&str; 7] = ["", " ", "\t", "\n  ", "/* \" */", "// \"\n", "\\\n"];

/// A statement in some surroundings, and whether it is in a macro.
fn random_source(random: &mut Random) -> String {
    let mut source = String::from(random.pick(&["", "\n\t", "#define X ", "f('\"'); "]));
    source.push_str(random.pick(&["asm(", "asm volatile ("]));
    for _ in 0..=random.below(3) {
        if random.below(4) == 0 {
            let body = random.join(&PLAIN, 8);
            source.extend([" R\"x(", &body, ")x\""]);
        } else {
            source.push('"');
            for _ in 0..random.below(8) {
                let of: &[&str] = if random.below(3) == 0 { &ESCAPED } else { &PLAIN };
                source += random.pick(of);
            }
            source.push('"');
        }
        source += random.pick(&BETWEEN);
    }
    let operands =
        ["", ":", ": \"=r\"(d)", ": [d] \"=r\"(d) : [tid] \"r\"(a), \"n\"(2)", "::: \"memory\""];
    source += random.pick(&operands);
    source += ");\n";
    source
}

#[test]
fn every_byte_leads_back_to_its_literal() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for _ in 0..5000 {
        let source = random_source(&mut random);
        let asm = only(&source);
        let mut end = 0;
        for (at, &byte) in asm.text.as_bytes().iter().enumerate() {
            let span = asm.source_span(Span::new(at as u32, at as u32 + 1));
            let inside = |place: u32| {
                asm.literals.iter().position(|l| l.body.start <= place && place <= l.body.end)
            };
            let literal = inside(span.start).unwrap_or_else(|| panic!("{source}"));
            assert!(inside(span.end) >= Some(literal), "{source}");
            assert!(
                asm.map.parts(at as u32) == (span.start >= end || span.len() == 1) || byte >= 0x80,
                "{source}"
            );
            let first = source.as_bytes()[span.start as usize];
            let made = matches!(first, b'\\' | b'%');
            assert!(made || first == byte, "{source} {at}");
            end = span.end;
        }
        let bytes = asm.text.len() as u32;
        let all = asm.source_span(Span::new(0, bytes));
        assert!(asm.span.start < all.start && all.end < asm.span.end);
        for (spelling, span) in asm.unknown_operands() {
            assert_eq!(asm.spelled(span.text(&asm.text)), spelling, "{source}");
        }
    }
}

#[test]
fn edited_sources_say_the_edited_text() {
    let words =
        ["%0", "%d", "%r1", "%tid", "x", "1", " ", "\n", "\\", "\"", ";", "%", ")x", "é", "\t"];
    let mut random = Random(0x2545_f491_4f6c_dd1d);
    let (mut written, mut renamed, mut refused) = (0, 0, 0);
    for _ in 0..20_000 {
        let source = random_source(&mut random);
        let asm = only(&source);
        let len = asm.text.len();
        let start = random.below(len + 1);
        let span = Span::new(start as u32, (start + random.below(len - start + 1).min(6)) as u32);
        let replacement = random.join(&words, 5);
        let Some((range, new)) = asm.source_edit(&source, span, &replacement) else {
            refused += 1;
            continue;
        };
        let mut expected = asm.text.clone();
        expected.replace_range(span.range(), &replacement);
        let mut changed = source.clone();
        changed.replace_range(range.range(), &new);
        let again = only(&changed);
        assert_eq!(again.extended, asm.extended);
        let names = |asm: &Asm<'_>| -> Vec<String> {
            let unknown = asm.unknown.iter().map(|unknown| unknown.placeholder.clone());
            asm.operands.iter().map(|operand| operand.placeholder.clone()).chain(unknown).collect()
        };
        if names(&again) == names(&asm) {
            assert_eq!(again.text, expected, "{source}\n{changed}\n{span:?} {replacement:?}");
            written += 1;
        } else {
            renamed += 1;
        }
    }
    assert!(written > 5000 && renamed < written / 5, "{written} {renamed} {refused}");
}

#[test]
fn whole_words_can_always_be_replaced() {
    let words = ["vadd.u32", "%%r1", "%0", "%[d]", "\\\"", "%%tid.x", "é", ".b0", "7", "\\\n;"];
    let blanks = [" ", "\\n", "\\t", ";\\n\"\n \"", "\" \""];
    let new = ["x", "%r7", "%0", "%d", "{a;\n\tb;}", "\"", "\\", "%tid.x", ".b1", "9"];
    let mut random = Random(0x5851_f42d_4c95_7f2d);
    for _ in 0..3000 {
        let start = random.pick(&["", "#define X ", "\t\n  "]);
        let mut body = String::new();
        for _ in 0..=random.below(8) {
            body.extend([random.pick(&words), " ", random.pick(&blanks)]);
        }
        let source = format!("{start}asm(\" {body} \" : [d] \"=r\"(d) : \"r\"(a));\n");
        let asm = only(&source);
        let mut at = 0;
        for word in asm.text.split_ascii_whitespace() {
            at += asm.text[at..].find(word).unwrap();
            let span = Span::new(at as u32, (at + word.len()) as u32);
            let edit = asm.source_edit(&source, span, random.pick(&new));
            assert!(edit.is_some(), "{source} {word}");
            at += word.len();
        }
    }
}

#[test]
fn nothing_upsets_the_scanner() {
    let fragments = [
        "asm",
        "asm(",
        "asm volatile(",
        "\"",
        "'",
        "R\"x(",
        ")x\"",
        "(",
        ")",
        ":",
        "::",
        ",",
        "[",
        "]",
        "%",
        "%0",
        "%[",
        "\\",
        "\\\n",
        "\r\n",
        "\n",
        "/*",
        "*/",
        "//",
        "#",
        "#if 0\n",
        "#else\n",
        "#endif\n",
        "#define ",
        "\"=r\"(",
        "\"r\"",
        "é",
        "1'0",
        "u8",
        "L",
        "\\x",
        "\\u12",
        "\\7",
        " ",
        "asm(\"%[a]%1\":[a]\"=r\"(a))",
        "asm(\"x\"",
        "\u{0}",
        "C",
    ];
    let mut random = Random(0x0123_4567_89ab_cdef);
    let mut found = 0;
    for _ in 0..20_000 {
        let source = random.join(&fragments, 24);
        for asm in statements(&source) {
            found += 1;
            let len = asm.text.len() as u32;
            for start in 0..=len {
                for end in start..=len {
                    let range = asm.source_span(Span::new(start, end));
                    assert!(asm.span.start < range.start && range.end < asm.span.end);
                    asm.source_edit(&source, Span::new(start, end), "%0\n\"");
                }
            }
            asm.spelled(&source);
        }
    }
    assert!(found > 500, "{found}");
}

#[test]
fn work_is_linear() {
    let many = [
        "asm(",
        "asm(\"",
        "asm(\"a\"",
        "asm(\"a\":",
        "asm(\"a\":\"r\"(",
        "asm(R\"x(",
        "R\"x(",
        "asm(\"a\\\n",
        "asm(/*",
        "asm(//",
        "asm(//\\\n",
        "asm volatile ",
        "asm('",
        "1'a",
        "'",
        "#",
        " #\n",
        "#if 0\n",
        "\\\n",
        "asm(\"%[\" ",
        "asm(\"x\":[",
        "(",
        "asm(\"\":::(",
        "/*/",
        "#define \\\n",
        "asm",
        "_asm",
        "asm(\"a\" \"b\"",
        "asm(\"%0\"::\"r\"(0));",
        "\"\\",
        "x'",
        "asm(\"\":\"r\"(a),",
    ];
    for piece in many {
        let source = piece.repeat((1 << 20) / piece.len());
        statements(&source);
        statements(&format!("asm(\"{source}"));
        statements(&format!("asm(\"x\" : \"=r\"(d) : \"r\"({source}"));
        let template = piece.replace(['"', '\\', '\n'], "%1");
        let template = template.repeat((1 << 19) / template.len());
        assert!(statements(&format!("asm(\"{template}\" : \"=r\"(d))")).len() < 2);
    }
    let numbered: String =
        (0..100_000).flat_map(|n| [format!("%{n} %[n{n}]"), "\\n".into()]).collect();
    let operands: String =
        (0..50_000).flat_map(|n| [format!("[n{n}] \"r\"({n})"), ", ".into()]).collect();
    let source = format!("asm(\"{numbered}\" :: {operands} \"r\"(0))");
    let asm = only(&source);
    assert_eq!(asm.operands.len(), 50_001);
    assert_eq!(asm.unknown_operands().count(), 100_000 - 1);
    assert_eq!(asm.spelled(&asm.text).len(), numbered.len() - 100_000 + 3 * 50_000);
}

/// A search by the first letter of an opcode misses no statement.
#[test]
fn statements_with_a_letter_are_those_with_such_opcodes() {
    let mut random = Random(0x1f83_d9ab_fb41_bd6b);
    let (mut kept, mut left_out) = (0, 0);
    for _ in 0..20_000 {
        let source = random_source(&mut random);
        let text = only(&source).text;
        let bytes = text.as_bytes();
        let opcode = (0..bytes.len()).any(|at| {
            let inside = |byte: &u8| byte.is_ascii_alphanumeric() || b"_$.%".contains(byte);
            bytes[at] == b'v' && !bytes[..at].last().is_some_and(inside)
        });
        let found = statements_with(&source, None, Host::C, Some(b'v')).len();
        assert!(found == 1 || !opcode, "{source}");
        kept += found;
        left_out += 1 - found;
    }
    assert!(kept > 1000 && left_out > 1000, "{kept} {left_out}");
    let source = "asm(\"\\tvadd2 a;\"); asm(\"mov.u32 %v, %vx;\");";
    assert_eq!(statements_with(source, None, Host::C, Some(b'v')).len(), 1);
}
