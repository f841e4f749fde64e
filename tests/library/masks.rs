//! Products that turn flags into masks.

use vptx::backend::ptx::{RewriteOptions, rewrite};
use vptx::isa::Target;
use vptx::parse;

const SET: &str = "vset4.u32.u32.lt d, a, b, c;";
const PRODUCT: &str = "mul.lo.s32 e, d, 255;";

/// A text after its video instructions were rewritten.
fn rewritten(body: &str, options: &RewriteOptions) -> String {
    let text = format!(
        ".version 8.8\n.target sm_90\n.func f()\n{{\n.reg .b32 a, b, c, d, e, f, %r<9>;\n.reg .b64 q;\n\
         .reg .pred p;\n{body}\n}}\n"
    );
    let (module, findings) = parse(&text);
    assert!(findings.iter().all(crate::support::is_about_results), "{text}: {findings:?}");
    let rewritten = rewrite(&module, options).expect("a target");
    assert!(rewritten.edits().is_sorted_by_key(|edit| edit.span.start), "{text}");
    rewritten.text()
}

fn has_product(body: &str) -> bool {
    rewritten(body, &RewriteOptions::default()).contains("mul.lo")
}

#[test]
fn products_become_masks() {
    for body in [
        format!("{SET} {PRODUCT}"),
        format!("{SET}\n\tmul.lo.u32 \te, 0xff, d;"),
        format!("{SET} // the flags\n/* and */ {PRODUCT}"),
        // The flags may be read later, and the mask may overwrite them.
        format!("{SET} {PRODUCT} add.u32 d, d, e;"),
        format!("{SET} mul.lo.s32 d, d, 255;"),
        format!("{SET} mul.lo.s32 a, d, 255;"),
        format!("{SET} st.global.u32 [q], f; mov.b32 f, c; {PRODUCT}"),
        "vset2.u32.s32.ge d, a, b, c; mul.lo.s32 e, d, 65535;".to_owned(),
        "vset4.s32.s32.eq d, a, b, c; mul.lo.s32 e, d, 255;".to_owned(),
        "vset4.u32.u32.ne %r4, a, b, c; mul.lo.s32 e, %r4, 255;".to_owned(),
        // Four scalar instructions fill a word with flags.
        format!(
            "{}mul.lo.s32 e, d, 255;",
            [0, 1, 2, 3]
                .map(|at| format!("vset.u32.u32.ge d.b{at}, a.b{at}, b.b{at}, d;\n"))
                .concat()
        ),
    ] {
        assert!(!has_product(&body), "{body}");
        let single = RewriteOptions::default().with_regions(false);
        assert!(rewritten(&body, &single).contains("mul.lo"), "{body}");
    }
    let commented = RewriteOptions::default().with_comments(true);
    for product in [PRODUCT, "mul.lo.s32 e /* of */, d, // all\n255;"] {
        let text = rewritten(&format!("{SET}\n{product}"), &commented);
        assert!(text.contains(&format!("{{ /* {PRODUCT} */")), "{text}");
    }
    // The limit of the text that is searched may lie inside a character.
    for blanks in 480..500 {
        let comment = format!("//{}{}", " ".repeat(blanks), "é".repeat(9));
        assert!(!has_product(&format!("{SET} {PRODUCT} {comment}")), "{comment}");
    }
}

#[test]
fn other_products_stay() {
    for body in [
        format!("{SET} mul.lo.s32 e, d, 254;"),
        format!("{SET} mul.lo.s32 e, d, -255;"),
        format!("{SET} mul.lo.s32 e, d, (255 /* or 0xff */);"),
        format!("{SET} mul.lo.s32 e, f, 255;"),
        format!("{SET} @p {PRODUCT}"),
        format!("@p {SET} {PRODUCT}"),
        format!("{SET} L: {PRODUCT}"),
        format!("{SET} L: mov.b32 f, c; {PRODUCT}"),
        format!("{SET} @p bra L; {PRODUCT} L:"),
        format!("{SET} {{ {PRODUCT} }}"),
        // `%r04` and `%r4` may be declared separately, so they may be two registers.
        "vset4.u32.u32.ne %r04, a, b, c; mul.lo.s32 e, %r4, 255;".to_owned(),
        // A statement in between, or the comparison itself, writes a register that is needed, or
        // the product is too far away.
        format!("{SET} mov.b32 d, c; {PRODUCT}"),
        format!("{SET} add.u32 a, a, 1; {PRODUCT}"),
        format!("{SET} mov.b32 b, c; {PRODUCT}"),
        format!("{SET} vabsdiff4.u32.u32.u32 f, a, b, c; {PRODUCT}"),
        format!("{SET} {}{PRODUCT}", "mov.b32 f, c;\n".repeat(100)),
        "vset4.u32.u32.lt a, a, b, c; mul.lo.s32 e, a, 255;".to_owned(),
        // The first instruction does not write the flags that the product expects.
        "vset4.u32.u32.lt.add d, a, b, c; mul.lo.s32 e, d, 255;".to_owned(),
        "vset4.u32.u32.lt d.b210, a, b, c; mul.lo.s32 e, d, 255;".to_owned(),
        "vset2.u32.u32.lt d, a, b, c; mul.lo.s32 e, d, 255;".to_owned(),
        "vmin4.u32.u32.u32 d, a, b, c; mul.lo.s32 e, d, 255;".to_owned(),
    ] {
        assert!(has_product(&body), "{body}");
    }
}

/// The mask equals the product of the flags.
#[test]
fn masks_are_right_on_every_target() {
    use crate::support::EDGES;
    use crate::support::run_ptx::{Kernel, address};
    use vptx::video::Semantics;

    for &target in Target::measured() {
        for (width, factor) in [("2", 65535), ("4", 255)] {
            for types in ["u32.u32", "s32.s32", "u32.s32", "s32.u32"] {
                for compare in ["lt", "le", "gt", "ge", "eq", "ne"] {
                    let text = format!(
                        ".version 9.2\n.target {target}\n.address_size 64\n.entry k(\n\
                         .param .u64 k_param_0\n)\n{{\n.reg .b32 a, b, d, e;\n.reg .b64 p;\n\
                         ld.param.u64 p, [k_param_0];\nld.global.u32 a, [p];\n\
                         ld.global.u32 b, [p+4];\nvset{width}.{types}.{compare} d, a, b, a;\n\
                         mul.lo.s32 e, d, {factor};\nst.global.u32 [p], d;\n\
                         st.global.u32 [p+4], e;\nret;\n}}\n"
                    );
                    let (module, _) = parse(&text);
                    let new =
                        rewrite(&module, &RewriteOptions::default()).expect("a target").text();
                    let [before, after] =
                        [&text, &new].map(|text| Kernel::read(text, "k", Semantics::CURRENT));
                    for (x, y) in EDGES.iter().flat_map(|x| EDGES.map(|y| [*x, y])).map(Into::into)
                    {
                        let [left, right] = [&before, &after].map(|kernel| {
                            let mut memory = [x, y];
                            kernel.run(&[address(0)], &mut memory);
                            memory
                        });
                        assert_eq!(left, right, "{x:#x} {y:#x} {text}\n{new}");
                    }
                }
            }
        }
    }
}
