//! The normal form: one text for all modules that mean the same.

use std::fs;
use std::path::PathBuf;

use crate::support::ptx_files;
use crate::support::random::Random;
use crate::support::variant::{PIECES, Variant};
use vptx::analysis::check;
use vptx::check::CheckOptions;
use vptx::diagnostic::{Code, RuleSet, Severity};
use vptx::print::{FormatOptions, NormalOptions, format, normalize};
use vptx::source::decode;

fn normal(source: &str) -> String {
    normalize(source, &NormalOptions::default())
        .unwrap_or_else(|error| panic!("{:?}\n{source}", error.diagnostics()))
}

/// Statements with one constant in two spellings. For both, ptxas 12.9 and 13.5 make the same code
/// or the same bytes of a variable.
pub(crate) const SAME_FLOATS: [(&str, &str); 24] = [
    ("mov.f32 f, 1.0;", "mov.f32 f, 0f3F800000;"),
    ("mov.f32 f, 0d3ff0000000000000;", "mov.f32 f, 0f3F800000;"),
    ("mov.f32 f, -1.0;", "mov.f32 f, 0fbf800000;"),
    ("mov.f32 f, - /* sign */ 0d3FF0000000000000;", "mov.f32 f, 0fBF800000;"),
    ("mov.f32 f, -0.0;", "mov.f32 f, 0f80000000;"),
    ("mov.f32 f, 1e-1;", "mov.f32 f, 0f3DCCCCCD;"),
    ("add.f32 f, f, .5;", "add.f32 f, f, 0f3F000000;"),
    ("setp.lt.f32 q, f, 1E+10;", "setp.lt.f32 q, f, 0f501502F9;"),
    ("st.global.v2.f32 [p], {f, 0.1};", "st.global.v2.f32 [p], {f, 0f3DCCCCCD};"),
    // The type of the source decides, not the type of the result.
    ("cvt.f64.f32 d, 0.1;", "cvt.f64.f32 d, 0f3DCCCCCD;"),
    ("cvt.rn.f16x2.f32 b, f, 0.1;", "cvt.rn.f16x2.f32 b, f, 0f3DCCCCCD;"),
    ("slct.f32.s32 f, f, 0.1, b;", "slct.f32.s32 f, f, 0f3DCCCCCD, b;"),
    ("slct.f64.f32 d, d, d, 0.1;", "slct.f64.f32 d, d, d, 0f3DCCCCCD;"),
    ("slct.f64.f32 d, 0.1, d, f;", "slct.f64.f32 d, 0d3FB999999999999A, d, f;"),
    ("@q slct.ftz.f32.f32 f, 0.1, f, f;", "@q slct.ftz.f32.f32 f, 0f3DCCCCCD, f, f;"),
    ("set.eq.u32.f32 b, f, 0.1;", "set.eq.u32.f32 b, f, 0f3DCCCCCD;"),
    ("set.eq.f32.b64 f, p, 0.1;", "set.eq.f32.b64 f, p, 0d3FB999999999999A;"),
    ("red.global.add.f32 [p], 0.1;", "red.global.add.f32 [p], 0f3DCCCCCD;"),
    ("red.global.add.v2.f32 [p], {0.1, f};", "red.global.add.v2.f32 [p], {0d3FB999999999999A, f};"),
    (
        "st.async.shared::cluster.mbarrier::complete_tx::bytes.f32 [b], 0.1, [b];",
        "st.async.shared::cluster.mbarrier::complete_tx::bytes.f32 [b], 0d3FB999999999999A, [b];",
    ),
    // Modifiers may follow the type.
    ("add.f32.ftz f, f, 0.1;", "add.f32.ftz f, f, 0f3DCCCCCD;"),
    ("setp.f32.eq q, f, 0.1;", "setp.f32.eq q, f, 0f3DCCCCCD;"),
    ("mov.f64 d, -0.1;", "mov.f64 d, 0dBFB999999999999A;"),
    (
        ".global .f32 v[2] = {-0.1, 1.0}; ret;",
        ".global .f32 v[2] = {0fBDCCCCCD, 0d3FF0000000000000}; ret;",
    ),
];

/// Statements with two different constants, for which ptxas makes different code.
pub(crate) const OTHER_FLOATS: [(&str, &str); 12] = [
    ("mov.f32 f, 1.0;", "mov.f32 f, -1.0;"),
    ("mov.f32 f, 0.1;", "mov.f32 f, 0f3DCCCCCC;"),
    ("mov.f32 f, 0.0;", "mov.f32 f, -0.0;"),
    ("mov.f64 d, 0.1;", "mov.f64 d, 0d3FB99999A0000000;"),
    // `0f…` is the low half of an `.f64`.
    ("mov.f64 d, 1.0;", "mov.f64 d, 0f3F800000;"),
    ("cvt.rn.f32.f64 f, 0.1;", "cvt.rn.f32.f64 f, 0f3DCCCCCD;"),
    ("slct.f64.f32 d, 0.1, d, f;", "slct.f64.f32 d, 0d3FB99999A0000000, d, f;"),
    ("slct.b64.f32 p, p, 0.1, f;", "slct.b64.f32 p, p, 0f3DCCCCCD, f;"),
    ("set.eq.f32.b64 f, p, 0.1;", "set.eq.f32.b64 f, p, 0d3FB99999A0000000;"),
    // ptxas takes the low half of the `.f64` in these.
    ("red.global.add.v2.f32 [p], {0.1, f};", "red.global.add.v2.f32 [p], {0f3DCCCCCD, f};"),
    ("red.global.v2.f32.add [p], {1.0, f};", "red.global.v2.f32.add [p], {0f3F800000, f};"),
    (
        "st.async.shared::cluster.mbarrier::complete_tx::bytes.f32 [b], 0.1, [b];",
        "st.async.shared::cluster.mbarrier::complete_tx::bytes.f32 [b], 0f3DCCCCCD, [b];",
    ),
];

/// A module with some statements.
pub(crate) fn with_floats(body: &str) -> String {
    format!(
        ".version 8.0\n.target sm_80\n.visible .entry k(.param .u64 p)\n{{\n\
         .reg .f32 f; .reg .f64 d; .reg .b32 b; .reg .b64 p; .reg .pred q;\n{body}\n}}\n"
    )
}

#[test]
fn floats_have_one_spelling() {
    for (one, two) in SAME_FLOATS {
        let form = normal(&with_floats(one));
        assert_eq!(form, normal(&with_floats(two)), "{one} {two}");
        assert_eq!(form, normal(&form), "{one}");
    }
    for (one, two) in OTHER_FLOATS {
        assert_ne!(normal(&with_floats(one)), normal(&with_floats(two)), "{one} {two}");
    }
    // In these, which need sm_90 or sm_100, ptxas 13.5 takes the low half of the `.f64`, too.
    for (one, two) in [
        ("set.eq.bf16.f32 h, f, 0.1;", "set.eq.bf16.f32 h, f, 0f3DCCCCCD;"),
        (
            "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {f,f,f,f}, {b,b}, {b}, {1.0,f,f,f};",
            "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {f,f,f,f}, {b,b}, {b}, \
             {0f3F800000,f,f,f};",
        ),
        (
            "tld4.r.2d.v4.f32.f32 {f,f,f,f}, [t,{f,f}], {0.1,b};",
            "tld4.r.2d.v4.f32.f32 {f,f,f,f}, [t,{f,f}], {0f3DCCCCCD,b};",
        ),
        // ptxas refuses the first of these.
        ("cvt.rna.tf32.f32 b, 0.1;", "cvt.rna.tf32.f32 b, 0f3DCCCCCD;"),
        (
            "st.global.v8.f32 [p], {0.1,f,f,f,f,f,f,f};",
            "st.global.v8.f32 [p], {0f3DCCCCCD,f,f,f,f,f,f,f};",
        ),
    ] {
        assert_ne!(normal(&with_floats(one)), normal(&with_floats(two)), "{one} {two}");
    }
    // The type of a `mov` does not apply to the next statement. A comment that is kept stays as it
    // is.
    let mixed = with_floats("mov.f32 f, 1.0; call g, (b, 1.0, 2); mov.f32 f, - /* a */ 1.0;");
    let form = normal(&mixed);
    assert!(form.contains(", 0d3FF0000000000000, 2)"), "{form}");
    let mut options = NormalOptions::default();
    options.keep_comments = true;
    let form = normalize(&mixed, &options).expect("it is PTX");
    assert!(form.contains("/* a */"), "{form}");
    assert_eq!(normalize("ret;//", &options).expect("it is PTX"), "ret; //\n");
}

/// To ptxas, textures, samplers and surfaces belong to the module, also as parameters.
#[test]
fn parameters_that_the_module_knows_keep_their_names() {
    let form = normal(
        ".version 8.0\n.target sm_75, texmode_independent\n.address_size 64\n\
         .entry k(.param .texref a, .param .u64 b)\n{\n.reg .b32 r;\ntxq.width.b32 r, [a];\n}\n\
         .entry l(.param .samplerref param_1, .param .surfref d, .param .u64 e)\n{\nret;\n}\n",
    );
    let k = "(.param .texref a, .param .u64 param_1_)";
    let l = "(.param .samplerref param_1, .param .surfref d, .param .u64 param_1_)";
    assert!(form.contains(k) && form.contains(l) && form.contains("[a]"), "{form}");
}

/// A name without a declaration stays, and no variable gets this name.
#[test]
fn unknown_names_stay() {
    let form = normal(
        ".version 8.0\n.target sm_90\n.global .u32 x;\n\
         .func f(.param .b32 p)\n{\n.reg .u32 r;\nld.param.u32 r, [p];\nld.u32 r, [x];\n}\n\
         .func g()\n{\n.reg .u32 r;\nld.u32 r, [p];\nld.u32 r, [global_1];\n}\n",
    );
    assert!(form.contains("[p]") && form.contains("[global_1]"), "{form}");
    assert!(form.contains("(.param .b32 param_1)"), "{form}");
    assert!(!form.contains(".global .u32 global_1;"), "{form}");
}

/// For ptxas, a pragma belongs to the last label before it, used or not.
#[test]
fn the_label_of_a_pragma_stays() {
    let with = |labels: &str| with_floats(&format!("{labels} @q bra L; M: ret;"));
    let plain = normal(&with("L: .pragma \"nounroll\"; add.f32 f, f, f;"));
    for same in [
        "L: .pragma \"nounroll\"; Q: add.f32 f, f, f;",
        "Q: L: .pragma \"nounroll\"; add.f32 f, f, f;",
    ] {
        assert_eq!(normal(&with(same)), plain, "{same}");
    }
    for other in [
        "L: Q: .pragma \"nounroll\"; add.f32 f, f, f;",
        "L: { Q: } .pragma \"nounroll\"; add.f32 f, f, f;",
        "L: { Q: .pragma \"nounroll\"; } add.f32 f, f, f;",
    ] {
        let form = normal(&with(other));
        assert_ne!(form, plain, "{other}");
        assert_eq!(form.matches(':').count(), 2, "{form}");
        assert_eq!(normal(&form), form, "{other}");
    }
}

/// No label of a function belongs to a pragma of the module.
#[test]
fn pragmas_of_modules_have_no_label() {
    let with = |label: &str| format!("{}.pragma \"nounroll\";\n", with_floats(label));
    assert_eq!(normal(&with("Q: ret;")), normal(&with("ret;")));
}

/// The form would have to write all names out.
#[test]
fn enumerated_labels_have_no_normal_form() {
    for list in [".branchtargets A, L<2>;", ".calltargets f<1>;"] {
        let text = with_floats(&format!("A: L0: L1: T: {list} ret;"));
        let error = normalize(&text, &NormalOptions::default()).expect_err("a list with `<`");
        assert!(error.to_string().contains("enumerates"), "{error}");
        let rules = CheckOptions::default().with_rules(RuleSet::ALL);
        let found = check(&text, &rules);
        assert!(found.iter().all(|it| it.severity != Severity::Error), "{found:?}");
        assert!(found.iter().all(|it| it.code != Code::UnusedLabel), "{found:?}");
        assert!(vptx::diff(&text, &text.replace("ret;", "exit;")).is_err());
    }
}

/// Modules of compilers that are small enough for many variants.
fn modules() -> Vec<(PathBuf, String)> {
    let folders = ["ptx/nvcc", "ptx/clang", "ptx/triton"];
    let files = folders.into_iter().flat_map(ptx_files);
    let read = files.map(|path| {
        let text = fs::read_to_string(&path).unwrap();
        (path, text)
    });
    // Modules with sections are left out, because debug data names labels of functions.
    read.filter(|(_, text)| text.len() < 40_000 && !text.contains(".section")).collect()
}

fn variants_agree(count: usize) {
    let modules = modules();
    assert!(modules.len() > 8, "{}", modules.len());
    let expected: Vec<String> = modules.iter().map(|(_, text)| normal(text)).collect();
    for seed in 0..count {
        let at = seed % modules.len();
        let variant = Variant::of(&modules[at].1, seed as u64);
        let found = normal(&variant);
        if found != expected[at] {
            let lines = found.lines().zip(expected[at].lines());
            let first = lines.enumerate().find(|(_, (one, other))| one != other);
            panic!("{}, seed {seed}: {first:?}", modules[at].0.display());
        }
    }
}

#[test]
fn variants_have_one_normal_form() {
    variants_agree(200);
}

/// Takes minutes: `cargo test --test library -- --ignored normal`
#[test]
#[ignore = "takes minutes"]
fn ten_thousand_variants_have_one_normal_form() {
    variants_agree(10_000);
}

#[test]
fn the_normal_form_is_its_own() {
    for path in ["ptx", "format", "directives"].into_iter().flat_map(ptx_files) {
        let text = decode(fs::read(&path).unwrap());
        let path = path.display();
        for keep in 0..8 {
            let mut options = NormalOptions::default();
            options.keep_names = keep & 1 > 0;
            options.keep_comments = keep & 2 > 0;
            options.keep_debug = keep & 4 > 0;
            let Ok(once) = normalize(&text, &options) else { continue };
            let twice = normalize(&once, &options).unwrap();
            assert!(once == twice, "{path}: {options:?}");
            assert_eq!(format(&once, &FormatOptions::default()).unwrap(), once, "{path}");
        }
    }
}

#[test]
fn numbers_after_a_kept_loc_have_one_spelling() {
    let text = ".version 8.5\n.target sm_90\n.file 1 \"a.cu\"\n.func f() {\n.reg .b32 a;\n\
                .loc 1 0x2 3\nmov.b32 a, 0x10;\n}";
    let mut options = NormalOptions::default();
    options.keep_debug = true;
    let form = normalize(text, &options).unwrap();
    assert!(form.contains(".loc 1 0x2 3\n    mov.b32 %r1, 16;\n"), "{form}");
}

/// The new spelling of a number does not make one token of two. ptxas reads `4.e5` as a float, but
/// objects to the `.e5` of `0x4.e5`.
#[test]
fn numbers_stay_apart_from_what_follows() {
    let form = normal(".version 8.0\n.target sm_80\n.func f() { .reg .b32 a; mov.b32 a, 0x4.e5; }");
    assert!(form.contains("mov.b32 %r1, 4 .e5;\n"), "{form}");
}

#[test]
fn unused_labels_of_kept_sections_go() {
    let text = ".version 8.5\n.target sm_90\n.section .debug_info\n{\nL:\n.b8 1\n.b32 M\nM:\n\
                .b8 2\nK:\n}\n";
    let mut options = NormalOptions::default();
    options.keep_debug = true;
    let form = normalize(text, &options).unwrap();
    let colons: Vec<&str> = form.lines().filter(|line| line.ends_with(':')).collect();
    assert_eq!(colons, ["M:"], "{form}");
}

/// Lists of targets and prototypes need a name, even if nothing names them.
#[test]
fn lists_and_prototypes_keep_their_labels() {
    for list in [".branchtargets A, A;", ".calltargets g;", ".callprototype _ ();"] {
        let text = format!(".func g(); .visible .func f() {{ list: {list} A: bra A; }}");
        let form = normal(&text);
        let (directive, _) = list.split_once(' ').expect("a blank");
        assert!(form.contains(&format!(": {directive}")), "{form}");
    }
}

/// Both texts of each pair have the same normal form.
#[test]
fn the_same_said_otherwise() {
    let body = |text: &str| {
        format!(".version 8.5\n.target sm_90\n.entry k(.param .u64 p) {{\n{text}\n}}\n")
    };
    let pairs = [
        // Declarations that are split, merged, unused, or moved to an inner block.
        (
            ".reg .b32 a, b; mov.b32 a, 1; mov.b32 b, a;",
            ".reg .b32 %r<9>; .reg .b32 x; mov.b32 %r3, 1; mov.b32 %r08, %r3;",
        ),
        ("{ .reg .b32 a; mov.b32 a, 1; }", ".reg .b32 a; { mov.b32 a, 1; }"),
        // The inner register is not the outer register.
        (
            ".reg .b32 a; mov.b32 a, 1; { .reg .b32 a; mov.b32 a, 2; }",
            ".reg .b32 a, b; mov.b32 a, 1; { mov.b32 b, 2; }",
        ),
        // Labels, used and unused.
        ("L: bra L; M: ret;", "$x: bra $x; ret;"),
        ("bra L; { L: ret; } L: ret;", "bra M; { ret; } M: ret;"),
        // Constants in several spellings.
        (
            ".reg .b32 a; mov.b32 a, 0x10; mov.b32 a, 020; mov.b32 a, 16U;",
            ".reg .b32 a; mov.b32 a, 16; mov.b32 a, 0b10000; mov.b32 a, 16;",
        ),
        (
            ".reg .f32 a; mov.f32 a, 0f3f800000; mov.f32 a, 1.5;",
            ".reg .f32 a; mov.f32 a, 0F3F800000; mov.f32 a, 0d3ff8000000000000;",
        ),
        // Video instructions.
        (
            ".reg .b32 a; vadd4.u32.u32.u32.sat a.b3210, a.b3210, a.b7654, a;",
            ".reg .b32 a; vadd4.sat.u32.u32.u32 a, a, a, a;",
        ),
        (
            ".reg .b32 a; add // c\n.s32 a, a, 1; add .s32 /* c */ .sat a, a, 1;",
            ".reg .b32 a; add.s32 a, a, 1; add.s32.sat a, a, 1;",
        ),
        // Debug data, comments and layout.
        (".loc 1 2 3\n ret; // x", "ret\n;"),
        (".reg .pred %p; @ ! %p bra L; L: ret;", ".reg .pred q; @!q bra  L;\nL:\nret;"),
    ];
    for (one, other) in pairs {
        assert_eq!(normal(&body(one)), normal(&body(other)), "{one}");
    }
    let different = [
        ("bra L; L: M: ret;", "bra M; L: ret; M: ret;"),
        (".reg .b32 a, b; mov.b32 a, b;", ".reg .b32 a; mov.b32 a, a;"),
        (".reg .b32 a; mov.b32 a, 1;", ".reg .u32 a; mov.b32 a, 1;"),
        (".pragma \"a\";", ".pragma \"b\";"),
    ];
    for (one, other) in different {
        assert_ne!(normal(&body(one)), normal(&body(other)), "{one}");
    }
    // `debug` asks for debug data, which the normal form has not.
    let debug = body("ret;").replace("sm_90", "sm_90, debug");
    assert_eq!(normal(&debug), normal(&body("ret;")));
}

/// ptxas 11.8, 12.9 and 13.5 export these names: in the object, their symbols are not local.
#[test]
fn all_exported_names_stay() {
    for declaration in [
        ".visible .global .u32 own;",
        ".visible.global.u32 own;",
        ".weak/**/.const\n.u32 own;",
        ".common\t.global .u32 own;",
        ".extern.shared .b8 own[];",
        ".visible .global .u32 own_too = 1, own;",
        ".global .texref own;",
        ".global.samplerref own = { addr_mode_0 = clamp_to_edge };",
        ".global .surfref own;",
    ] {
        let form =
            normal(&format!(".version 7.8\n.target sm_75, texmode_independent\n{declaration}\n"));
        let names = form.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
        assert_eq!(names.filter(|name| *name == "own").count(), 1, "{form}");
    }
    let form = normal(".version 7.8\n.target sm_75\n.global .u32 own = 1, own_too;\n");
    assert!(!form.contains("own"), "{form}");
}

/// Exported names stay, and no new name equals an exported one.
#[test]
fn exported_names_stay() {
    let text = "\
.version 8.5
.target sm_90
.global .u32 inner;
.visible .global .u32 global_1;
.extern .shared .b8 %r1[];
.weak .func param_1(.param .b32 x);
.visible .entry k(.param .u64 y) {
    .reg .b32 a;
    ld.global.u32 a, [inner];
    ld.global.u32 a, [global_1];
    ld.shared.u32 a, [%r1];
    mov.u32 a, %tid.x;
}
";
    let expected = "\
.version 8.5
.target sm_90
.global .u32 global_1_;
.visible .global .u32 global_1;
.extern .shared .b8 %r1[];
.weak .func param_1(.param .b32 param_1_);
.visible .entry k(.param .u64 param_1_)
{
    .reg .b32 %r_<2>;
    ld.global.u32 %r_1, [global_1_];
    ld.global.u32 %r_1, [global_1];
    ld.shared.u32 %r_1, [%r1];
    mov.u32 %r_1, %tid.x;
}
";
    assert_eq!(normal(text), expected);
    let register = ".func f() {\n.reg .b32 a, \u{1d};\nret;\n}";
    for text in [".func f() { ret;", "// a\0b\nret;", "ret; /*", "ret; \"", register] {
        let error = normalize(text, &NormalOptions::default()).unwrap_err();
        assert_eq!(Err(error), format(text, &FormatOptions::default()), "{text}");
    }
}

/// Any text has an error, or a normal form whose normal form is itself.
#[test]
fn any_text_has_its_normal_form_or_none() {
    let mut numbers = Random(7);
    let mut count = 0;
    for _ in 0..100_000 {
        let length = numbers.below(14);
        let text: String = (0..length).map(|_| PIECES[numbers.below(PIECES.len())]).collect();
        let mut options = NormalOptions::default();
        options.keep_names = numbers.one_in(3);
        options.keep_comments = numbers.one_in(3);
        options.keep_debug = numbers.one_in(3);
        if let Ok(form) = normalize(&text, &options) {
            assert!(format(&text, &FormatOptions::default()).is_ok(), "{text}");
            assert_eq!(format(&form, &FormatOptions::default()).as_ref(), Ok(&form), "{text}");
            assert_eq!(normalize(&form, &options).as_ref(), Ok(&form), "{text}");
            count += usize::from(!form.is_empty());
        }
    }
    assert!(count > 1000, "{count}");
}

/// A wrong guard hides no end of its statement.
#[test]
fn statements_with_wrong_guards_have_their_end() {
    for statement in ["@5 ret;", "@ret;", "@%p;"] {
        let text = format!(".func f()\n{{\n{statement}\n}}\n");
        assert_eq!(normal(&text).matches(';').count(), 1, "{statement}");
    }
}

/// ptxas 13.5 accepts only the first declaration, whose alignment has no effect on a register.
#[test]
fn odd_declarations_of_registers_stay() {
    for (declaration, kept) in [
        (".reg .align 8 .b32 x;", ".reg .align 8 .b32 %v1;"),
        (".reg .b32 x = 7;", ".reg .b32 %v1 = 7;"),
        (".reg .b32 x = 7, y;", ".reg .b32 %v1 = 7, %v2;"),
        (".reg .b32 x[3];", ".reg .b32 %v1[3];"),
        (".reg .b32 .u32 x;", ".reg .b32 .u32 %v1;"),
    ] {
        let text = normal(&format!(
            ".version 8.0\n.target sm_80\n.entry k()\n{{\n.reg .b32 r;\n{declaration}\n\
             add.u32 r, r, x;\nret;\n}}\n"
        ));
        assert_eq!(normal(&text), text);
        assert!(text.contains(&format!("    {kept}\n")), "{declaration}\n{text}");
        assert!(text.contains("add.u32 %r1, %r1, %v1;"), "{declaration}\n{text}");
    }
}
