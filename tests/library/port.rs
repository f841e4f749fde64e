//! `asm` statements that become calls, and others that stay. `tests/live/port.rs` compiles the
//! calls.

use crate::support::corpus;
use vptx::backend::c::Header;
use vptx::port::{Ported, port};
use vptx::{Instruction, Semantics};

fn ported(source: &str) -> (Ported, Header) {
    let mut header = Header::new(Semantics::Manual);
    (port(source, "video.h", &mut header), header)
}

/// The expression that replaces an `asm` statement.
fn text(statement: &str) -> String {
    let source = format!("#include \"video.h\"\nvoid f()\n{{\n    {statement};\n}}\n");
    let (ported, _) = ported(&source);
    assert_eq!(ported.replaced, 1, "{statement}: {:?}", ported.left);
    let text = ported.text(&source);
    let inside = text.strip_prefix("#include \"video.h\"\nvoid f()\n{\n    ").expect("the start");
    inside.strip_suffix(";\n}\n").expect("the end").to_string()
}

/// The reason why a statement is not ported.
fn reason(statement: &str) -> String {
    let (ported, _) = ported(statement);
    assert_eq!((ported.replaced, ported.left.len()), (0, 1), "{statement}");
    ported.left[0].reason.clone()
}

#[test]
fn what_would_lose_its_meaning_stays() {
    let files = corpus("port/refused");
    assert!(files.len() > 15);
    for (name, source) in files {
        let (ported, header) = ported(&source);
        assert_eq!((ported.edits.len(), ported.replaced), (0, 0), "{name}");
        assert_eq!(ported.text(&source), source, "{name}");
        assert_eq!(header.to_string(), Header::new(Semantics::Manual).to_string(), "{name}");
        let first = source.lines().next().expect("a line");
        let Some(expected) = first.strip_prefix("// left: ") else {
            assert!(first.starts_with("// left nothing"), "{name}");
            assert_eq!(ported.left, [], "{name}");
            continue;
        };
        let [left] = ported.left.as_slice() else { panic!("{name}: {:?}", ported.left) };
        let (_, marked) = expected.split_once('«').expect("a mark");
        let (marked, reason) = marked.split_once('»').expect("the end of the mark");
        let (_, reason) = reason.split_once(": ").expect("a reason");
        assert_eq!(left.reason, reason, "{name}");
        let found = left.span.text(&source);
        let is_marked = match marked {
            _ if expected.contains("in a string") => true,
            statement if statement.ends_with(';') => found == statement,
            start => found.starts_with(start),
        };
        assert!(is_marked, "{name}: {found}");
        assert_eq!(left.has_video, name != "plain_ptx.cu", "{name}");
    }
}

#[test]
fn a_second_run_finds_nothing() {
    let files = corpus("port/ported");
    assert!(files.len() >= 40, "{}", files.len());
    for (name, source) in files {
        let (first, _) = ported(&source);
        assert!(first.replaced > 0, "{name}");
        assert_eq!(first.left, [], "{name}");
        let text = first.text(&source);
        assert_eq!(text.matches("#include \"video.h\"").count(), 1, "{name}");
        let (second, _) = ported(&text);
        assert_eq!((second.edits, second.left), (vec![], vec![]), "{name}");
        // Only `asm` statements change, and one `#include` is added.
        let asm = source.matches("asm").count();
        let kept = text.matches("asm").count();
        assert!(kept < asm, "{name}");
        for line in source.lines().filter(|line| line.contains("// test ")) {
            assert!(text.contains(line), "{name}: {line}");
        }
    }
}

#[test]
fn one_instruction_is_an_assignment() {
    let call = |from: &str, to: &str| assert_eq!(text(from), to, "{from}");
    call(
        r#"asm("vmin.s32.s32.s32 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b))"#,
        "d = (__typeof__(d))vmin_s32_s32_s32((vptx_u32)(a), (vptx_u32)(b))",
    );
    // Named, in-out and tied operands, and constants.
    call(
        r#"__asm__ __volatile__("vadd.s32.s32.s32 %[d], %[a].b1, -5;" : [d] "=&r"(*p) : [a] "0"(p->x[i + 1]))"#,
        "*p = (__typeof__(*p))vadd_s32_s32_s32_a_b1_b_m5((vptx_u32)(p->x[i + 1]))",
    );
    call(
        r#"asm("vmad.s32.s32.s32 %0, %1, %2, %0;" : "+r"(v.x) : "r"(a), "n"(N))"#,
        "v.x = (__typeof__(v.x))vmad_s32_s32_s32((vptx_u32)(a), (vptx_u32)(N), (vptx_u32)(v.x))",
    );
    // Comments and expressions stay.
    call(
        "asm(\"vadd.u32.u32.u32 %0, %1, %1.h0; // twice */ %0\\n\" // sum\n : \"=r\"(d) : \"r\"(a /* b */))",
        "/* sum */ /* twice * / %0 */ do {\n        const vptx_u32 vptx_r_1 = (vptx_u32)(a /* b */);\n        \
         const vptx_u32 vptx_r_0 = vadd_u32_u32_u32_b_h0(vptx_r_1, vptx_r_1);\n        \
         d = (__typeof__(d))vptx_r_0;\n    } while (0)",
    );
    call(
        r#"asm("/* a\tb\n c */ vadd.u32.u32.u32 %0, %1, 1;" : "=r"(d) : "r"(a))"#,
        "/* a b\n c */ d = (__typeof__(d))vadd_u32_u32_u32_b_1((vptx_u32)(a))",
    );
    call(
        "asm(\"vadd.u32.u32.u32 %0, %1, 1;\" : \"=r\"(d) : \"r\"(a // first\n + b) : \"cc\")",
        "d = (__typeof__(d))vadd_u32_u32_u32_b_1((vptx_u32)(a /* first */\n + b))",
    );
}

#[test]
fn effects_happen_once_and_in_order() {
    assert_eq!(
        text(r#"asm("vadd.u32.u32.u32 %0, %2, %1;" : "=r"(*p++) : "r"(f(x)), "r"(i++))"#),
        "do {\n        __typeof__(*p++) *const vptx_r_0_at = &(*p++);\n        \
         const vptx_u32 vptx_r_1 = (vptx_u32)(f(x));\n        \
         const vptx_u32 vptx_r_2 = (vptx_u32)(i++);\n        \
         const vptx_u32 vptx_r_0 = vadd_u32_u32_u32(vptx_r_2, vptx_r_1);\n        \
         *vptx_r_0_at = (__typeof__(*vptx_r_0_at))vptx_r_0;\n    } while (0)"
    );
    // An operand is evaluated even if no result depends on it.
    let third = r#"asm("vadd4.u32.u32.u32 %0, %1, %1, %2;" : "=r"(d) : "r"(a), "r"(f(x)))"#;
    assert!(text(third).contains("(void)(f(x));"), "{}", text(third));
    // A cast has no effects, and its operand stands where it is used. Other names with `<…>` may be
    // those of functions.
    let cast = |code: &str| {
        text(&format!(r#"asm("vadd.u32.u32.u32 %0, %1, 1;" : "=r"(d) : "r"({code}))"#))
    };
    assert!(!cast("static_cast<int>(x)").contains("vptx_r_1"), "{}", cast("static_cast<int>(x)"));
    assert!(cast("staticcast<int>(x)").contains("vptx_r_1"), "{}", cast("staticcast<int>(x)"));
    // The address of an output is taken before the other operands are evaluated.
    let moved = r#"asm("vadd.u32.u32.u32 %0, %2, 1; vadd.u32.u32.u32 %1, %2, 2;" : "=&r"(i), "=r"(v[i]) : "r"(a))"#;
    assert!(text(moved).contains("__typeof__(v[i]) *const vptx_r_1_at = &(v[i]);"));
    assert!(text(moved).contains("\n        i = (__typeof__(i))vptx_r_0;\n"));
    // So is that of a member, unless no operand can change where it is: bit-fields have no address.
    let members = |constraints: &str| {
        text(&format!(
            r#"asm("vadd.u32.u32.u32 %0, %2, 1; vadd.u32.u32.u32 %1, %2, 2;" : {constraints})"#
        ))
    };
    let two = members(r#""=&r"(s.low), "=r"(p->high) : "r"(a)"#);
    assert!(!two.contains("&("), "{two}");
    assert!(two.contains("\n        p->high = (__typeof__(p->high))vptx_r_1;\n"), "{two}");
    let after = members(r#""=&r"(s.low), "=r"(p->high) : "r"(f())"#);
    assert!(after.contains("&(p->high);") && !after.contains("&(s.low)"), "{after}");
    // The pointer to the place of `x` is no register `x_at`.
    let named = r#"asm("{ .reg .b32 x_at; vadd.u32.u32.u32 x_at, %[a], 1; vadd.u32.u32.u32 %[x], x_at, 1; }" : [x] "=r"(*o++) : [a] "r"(a))"#;
    assert!(text(named).contains("const vptx_u32 vptx_r_x_at_ = "), "{}", text(named));
    // A new name must differ from the names in the statement.
    let taken = r#"asm("vadd.u32.u32.u32 %0, %1, 1;" : "=r"(d) : "r"(vptx_r_1++))"#;
    assert!(text(taken).contains("vptx_r_1_ = (vptx_u32)(vptx_r_1++);"), "{}", text(taken));
}

#[test]
fn registers_of_blocks_are_locals() {
    let nested = r#"asm("{ .reg .u32 t, %r<4>; vadd.u32.u32.u32 t, %1, 1; vadd.u32.u32.u32 %%r03, t, 1; { .reg .s32 t; vadd.u32.u32.u32 t, %%r3, 1; vadd.u32.u32.u32 %0, t, t; } }" : "=r"(d) : "r"(a))"#;
    let text = text(nested);
    for line in [
        "const vptx_u32 vptx_r_t = vadd_u32_u32_u32_b_1(vptx_r_1);",
        "const vptx_u32 vptx_r_r03 = vadd_u32_u32_u32_b_1(vptx_r_t);",
        "const vptx_u32 vptx_r_t_ = vadd_u32_u32_u32_b_1(vptx_r_r03);",
        "const vptx_u32 vptx_r_0 = vadd_u32_u32_u32(vptx_r_t_, vptx_r_t_);",
    ] {
        assert!(text.contains(line), "{text}");
    }
    // A register is unknown after the block that declares it.
    let gone = r#"asm("{ .reg .u32 t; vadd.u32.u32.u32 t, %1, 1; } vadd.u32.u32.u32 %0, t, 1;" : "=r"(d) : "r"(a))"#;
    assert_eq!(reason(gone), "the `asm` does not declare `t`");
    assert_eq!(
        reason(r#"asm("{ .reg .u32 t; }" : : "r"(a))"#),
        "the `asm` has no video instruction"
    );
    let unwritten = r#"asm("{ .reg .u32 t; vadd.u32.u32.u32 %0, t, 1; }" : "=r"(d))"#;
    assert_eq!(reason(unwritten), "`t` is read before it is written");
}

#[test]
fn macros_stay_on_their_lines() {
    let source = "#define ADD(d, a) \\\n    asm(\"vadd.u32.u32.u32 %0, %1, 1;\" \\\n        : \
                  \"=r\"(d) : \"r\"(a))\n#define TWICE(d, a) asm(\"vadd.u32.u32.u32 %0, %1, %1;\" : \
                  \"=r\"(d) : \"r\"(a))\n";
    let (ported, header) = ported(source);
    assert_eq!(
        ported.text(source),
        "#include \"video.h\"\n\n#define ADD(d, a) \\\n    \
         do { __typeof__(d) *const vptx_r_0_at = &(d); \
         const vptx_u32 vptx_r_1 = (vptx_u32)(a); \
         const vptx_u32 vptx_r_0 = vadd_u32_u32_u32_b_1(vptx_r_1); \
         *vptx_r_0_at = (__typeof__(*vptx_r_0_at))vptx_r_0; } while (0)\n\
         #define TWICE(d, a) do { __typeof__(d) *const vptx_r_0_at = &(d); \
         const vptx_u32 vptx_r_1 = (vptx_u32)(a); \
         const vptx_u32 vptx_r_0 = vadd_u32_u32_u32(vptx_r_1, vptx_r_1); \
         *vptx_r_0_at = (__typeof__(*vptx_r_0_at))vptx_r_0; } while (0)\n"
    );
    assert_eq!(header.to_string().matches("\n#define VPTX_HAS_").count(), 2);
}

/// A macro without parameters counts as its text.
#[test]
fn macros_in_operands_count_as_their_text() {
    let one = |place: &str, value: &str| {
        let source = format!(
            "#define POP *p++\n#define EITHER c ? x : y\n#define PLACE EITHER\nvoid f() {{\n\
             asm(\"vadd.u32.u32.u32 %0, %1, 1;\" : \"=r\"({place}) : \"r\"({value}));\n}}\n"
        );
        let (ported, _) = ported(&source);
        let text = ported.text(&source);
        text[text.find("void f() {\n").unwrap() + 11..text.len() - 4].to_string()
    };
    let call = "vadd_u32_u32_u32_b_1((vptx_u32)(a))";
    assert_eq!(one("PLACE", "a"), format!("(PLACE) = (__typeof__((PLACE))){call}"));
    assert!(one("d", "POP").contains("const vptx_u32 vptx_r_1 = (vptx_u32)(POP);"));
    assert!(one("POP", "a").contains("__typeof__(POP) *const vptx_r_0_at = &(POP);"));
}

/// The call would mean what the source declares, and not the function of the header.
#[test]
fn functions_must_not_have_a_name_of_the_source() {
    let asm = r#"void f() { asm("vadd.u32.u32.u32 %0, %1, %1;" : "=r"(d) : "r"(a)); }"#;
    for own in [
        "static __device__ unsigned vadd_u32_u32_u32(unsigned a, unsigned b);",
        "struct V { unsigned vadd_u32_u32_u32\n(int); };",
        "unsigned vadd_u32_u32_u32;",
        "unsigned /* sum */ vadd_u32_u32_u32(unsigned, unsigned);",
        "#define vadd_u32_u32_u32(a, b) 0",
        "unsigned __attribute__((noinline)) vadd_u32_u32_u32(unsigned a, unsigned b) { return a; }",
        "struct V { Id<unsigned> vadd_u32_u32_u32(int (*a)(int)) const { return a(1); } };",
        "struct V { const unsigned &vadd_u32_u32_u32(int) { return a; } };",
        "using lib::vadd_u32_u32_u32;",
        "Fn one, vadd_u32_u32_u32;",
        "unsigned one, vadd_u32_u32_u32[3];",
        "unsigned *vadd_u32_u32_u32;",
    ] {
        let (ported, header) = ported(&format!("{own}\n{asm}\n"));
        let [left] = ported.left.as_slice() else { panic!("{own}: {ported:?}") };
        let reason = "the source declares `vadd_u32_u32_u32`, the name of the function to call";
        assert_eq!((&*left.reason, ported.replaced), (reason, 0), "{own}");
        assert!(!header.to_string().contains("vadd_u32_u32_u32("), "{own}");
    }
    for other in [
        "int g() { return vadd_u32_u32_u32(a, b); }",
        "int g() { if (a > vadd_u32_u32_u32(a, b)) { d = &(a)[vadd_u32_u32_u32(a, b)]; } }",
        "int g() { h(a, vadd_u32_u32_u32(a, b)); lib::vadd_u32_u32_u32(a, b); }",
        "int g() { q = c ? x : vadd_u32_u32_u32; p = &vadd_u32_u32_u32; return *vadd_u32_u32_u32; }",
        "int g() { d = (int)vadd_u32_u32_u32((vptx_u32)(a), (vptx_u32)(b)); }",
        "int g() { if (a) b; else vadd_u32_u32_u32(a, b); }",
        "#define SUM vadd_u32_u32_u32(a, b)",
        "int vadd_u32_u32_u32vadd_u32_u32_u32;",
        "// as the function vadd_u32_u32_u32(a, b)",
        "char *s = \"unsigned vadd_u32_u32_u32\";",
        "unsigned vadd_u32_u32_u32_b_1(unsigned), my_vadd_u32_u32_u32;",
    ] {
        assert_eq!(ported(&format!("{other}\n{asm}\n")).0.replaced, 1, "{other}");
    }
}

#[test]
fn comments_of_operands_stay() {
    let call = "vmin_u32_u32_u32((vptx_u32)(a), (vptx_u32)(b))";
    let with = |rest: &str| text(&format!("asm(\"vmin.u32.u32.u32 %0, %1, %2;\" : {rest})"));
    let d = "d = (__typeof__(d))";
    let plain = "\"=r\"(d) : \"r\"(a), \"r\"(b)";
    assert_eq!(with(&format!("{plain}, \"r\"(c /* one */)")), format!("/* one */ {d}{call}"));
    assert_eq!(with(&format!("{plain}, \"0\"(0 // two\n)")), format!("/* two */ {d}{call}"));
    assert_eq!(with(&format!("{plain} : /* three */ ")), format!("/* three */ {d}{call}"));
    assert_eq!(with(&format!("{plain} : /* a, b */ \"cc\"")), format!("/* a, b */ {d}{call}"));
    let with_words = "\"r\"(a /* no break here */), \"r\"(sizeof(\"break\"))";
    text(&format!("asm(\"vmin.u32.u32.u32 %0, %1, %2;\" : \"=r\"(d) : {with_words})"));
    let left = "\"=r\"(d) : \"r\"(({ if (!n) break; n; })), \"r\"(b)";
    assert_eq!(
        reason(&format!("asm(\"vmin.u32.u32.u32 %0, %1, %2;\" : {left})")),
        "the operand may leave a loop"
    );
}

/// A source without another `#include` gets one behind `#pragma once`.
#[test]
fn the_first_include_stands_behind_pragma_once() {
    let asm = "#define N 2\nvoid f() { asm(\"vmin.s32.s32.s32 %0, %0, %0;\" : \"+r\"(d)); }\n";
    let (ported, _) = ported(&format!("#pragma once\n{asm}"));
    let text = ported.text(&format!("#pragma once\n{asm}"));
    assert!(text.starts_with("#pragma once\n#include \"video.h\"\n#define N 2\n"), "{text}");
}

#[test]
fn functions_follow_the_semantics() {
    let source = r#"asm("vadd.u32.u32.u32.sat %0, %1, %1.h0;" : "=r"(d) : "r"(a))"#;
    let instruction: Instruction = "vadd.u32.u32.u32.sat d, a, b.h0;".parse().unwrap();
    for semantics in Semantics::ALL {
        let mut header = Header::new(semantics);
        let text = port(source, "v.h", &mut header).text(source);
        let name = Header::new(semantics).add(&instruction);
        assert!(text.contains(&format!("{name}(")), "{text}");
    }
}

#[test]
fn lines_end_as_those_before_them() {
    let asm = "asm(\"{ .reg .u32 t; vadd.u32.u32.u32 t, %1, 1; vadd.u32.u32.u32 %0, t, %1; }\" : \
               \"=r\"(d) : \"r\"(a));";
    for newline in ["\n", "\r\n"] {
        let source =
            format!("#include \"video.h\"{newline}{newline}void f() {{{newline}  {asm} }}");
        let (ported, _) = ported(&source);
        let text = ported.text(&source);
        assert!(text.matches('\n').count() > 6, "{text}");
        assert_eq!(text.matches('\n').count(), text.matches(newline).count(), "{text:?}");
        assert_eq!(text.contains('\r'), newline == "\r\n");
    }
}

/// Sources that are cut off at any point do no harm, and statements that are not ported stay
/// unchanged.
#[test]
fn every_truncation_is_read() {
    for (_, source) in corpus("port/ported").into_iter().chain(corpus("port/refused")) {
        for end in (0..source.len()).filter(|&end| source.is_char_boundary(end)) {
            let cut = &source[..end];
            let (ported, _) = ported(cut);
            let text = ported.text(cut);
            assert_eq!(text == cut, ported.edits.is_empty());
            for left in &ported.left {
                assert!(left.span.end as usize <= end);
            }
        }
    }
}

#[test]
fn statements_may_be_long() {
    let body = "vadd.u32.u32.u32 %0, %0, 1; ".repeat(256);
    let source = format!("void f() {{ asm(\"{body}\" : \"+r\"(d)); }}");
    assert_eq!(ported(&source).0.replaced, 1);
    let longer = format!("asm(\"{body}{body}\" : \"+r\"(d))");
    assert_eq!(reason(&longer), "the `asm` has more than 256 operands or instructions");
    // The time is linear in the size of the source.
    let inputs = vec!["\"r\"(a)"; 40_000].join(", ");
    let huge = format!("asm(\"{}\" : \"+r\"(d) : {inputs})", "vadd %0, %0, 1; ".repeat(40_000));
    assert_eq!(ported(&huge).0.left.len(), 1);
}
