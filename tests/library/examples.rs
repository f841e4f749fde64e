//! The programs in `examples/` that read and edit trees.

#[path = "../../examples/count_blocks.rs"]
#[allow(dead_code)]
mod count_blocks;
#[path = "../../examples/emulate.rs"]
#[allow(dead_code)]
mod emulate;
#[path = "../../examples/own_lint.rs"]
#[allow(dead_code)]
mod own_lint;

use vptx::check::Language;
use vptx::flow::Flow;
use vptx::names::Names;
use vptx::syntax::parse;

#[test]
fn the_emulator_agrees_with_a_calculation_by_hand() {
    let source = include_str!("../../examples/emulate.ptx");
    let tree = parse(source);
    assert_eq!(tree.errors(), []);
    let names = Names::of(&tree);
    let flow = Flow::of(&tree.functions().next().expect("one"), &names).expect("a body");
    let shapes: Vec<_> = flow.blocks().iter().map(|it| it.instructions.clone()).collect();
    assert_eq!(shapes, [0..2, 2..7, 7..11]);

    let words = [("a", 0x0102_0304), ("b", 0x0403_0201)];
    let words = words.map(|(name, word)| (name.to_string(), word)).into();
    let thread = emulate::Thread::run(&flow, words).expect("it runs");
    // Rounds with a = 01020304, 02030405, 03040506 and b = 04030201:
    // 3+1+1+3 = 8, 2+0+2+4 = 8, 1+1+3+5 = 10; (8+8+10) << 2 is 104, and the end adds 1.
    assert_eq!(thread.words["sum"], 105);
    assert_eq!((thread.words["a"], thread.words["%i"]), (0x0405_0607, 3));

    let unknown = parse(".func f() { cos.approx.f32 x, y; }");
    let names = Names::of(&unknown);
    let flow = Flow::of(&unknown.functions().next().expect("one"), &names).expect("a body");
    let error = emulate::Thread::run(&flow, [].into()).err().expect("it stops");
    assert_eq!(error.to_string(), "unknown: cos.approx.f32 x, y;");
}

#[test]
fn blocks_count() {
    let source = "\
.version 8.0
.target sm_90
.entry k(.param .u32 n)
{
    .reg .pred %p;
    .reg .b32 %r<3>;
    ld.param.u32 %r1, [n]; // first
    setp.eq.u32 %p, %r1, 0;
    @%p bra END;
    // more
    { sub.u32 %r1, %r1, 1; }
LOOP:
OTHER:
    @!%p bra LOOP;
END: ret;
}
.func f() { ret; }
";
    let counted = count_blocks::count_blocks(source).expect("edits that fit");
    let expected = "\
.version 8.0
.target sm_90
.entry k(.param .u32 n, .param .u64 $vptx_0)
{
    .reg .pred %p;
    .reg .b32 %r<3>;
    .reg .b64 %vptx_1;
    ld.param.u64 %vptx_1, [$vptx_0];
    red.add.u64 [%vptx_1+0], 1;
    ld.param.u32 %r1, [n]; // first
    setp.eq.u32 %p, %r1, 0;
    @%p bra END;
    // more
    { red.add.u64 [%vptx_1+8], 1; sub.u32 %r1, %r1, 1; }
LOOP:
OTHER:
    red.add.u64 [%vptx_1+16], 1;
    @!%p bra LOOP;
END: red.add.u64 [%vptx_1+24], 1; ret;
}
.func f() { ret; }
";
    assert_eq!(counted.text, expected);
    let [(name, blocks)] = &counted.kernels[..] else { panic!("one kernel") };
    assert_eq!(name, "k");
    let blocks: Vec<_> = blocks.iter().map(|it| it.text(source)).collect();
    assert_eq!(
        blocks,
        ["ld.param.u32 %r1, [n];", "sub.u32 %r1, %r1, 1;", "@!%p bra LOOP;", "ret;"]
    );
}

#[test]
fn an_own_lint_reads_ptx_and_cuda() {
    let own = |source: &str, language| {
        let found = own_lint::lint(source, language).into_iter();
        let own: Vec<_> = found.filter(|it| it.code.text() == "HOUSE1").collect();
        let fixed = own.iter().rev().fold(source.to_string(), |text, it| it.fixes[0].apply(&text));
        let places: Vec<_> = own.iter().map(|it| it.span.start as usize).collect();
        (places, fixed)
    };
    let ptx = "\
vadd4.u32.u32.u32 d, a, b, c;
vadd4.u32.u32.u32.sat d, a, b, c;
// vptx: ignore[HOUSE1]
vsub4.s32.s32.s32 d, a, b, c;
vadd4.u32.u32.u32.add d, a, b, c;
vsub4.u32.u32.u32 d, a, b, c;
";
    let (places, fixed) = own(ptx, Language::Ptx);
    assert_eq!(places, [0, ptx.rfind("vsub4").expect("it")]);
    let first = ptx.replacen("vadd4.u32.u32.u32 ", "vadd4.u32.u32.u32.sat ", 1);
    assert_eq!(fixed, first.replace("vsub4.u32.u32.u32 ", "vsub4.u32.u32.u32.sat "));

    let cuda = r#"
void f(unsigned &d, unsigned a) {
    asm("vadd4.u32.u32.u32 %0, %1,"
        " %1, %1;" : "=r"(d) : "r"(a));
    asm("vsub4.u32.u32.u32 %0, %1, %1, %1;" : "=r"(d) : "r"(a)); // vptx: ignore[HOUSE1]
}
"#;
    let (places, fixed) = own(cuda, Language::Cuda);
    assert_eq!(places, [cuda.find("vadd4").expect("it")]);
    assert_eq!(fixed, cuda.replace("vadd4.u32.u32.u32 ", "vadd4.u32.u32.u32.sat "));
}
