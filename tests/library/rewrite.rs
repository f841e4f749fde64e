//! Rewritten instructions compute the same as the originals.

use std::fmt::Write as _;
use std::fs;

use crate::support::forms::{rows, texts};
use crate::support::random::Random;
use crate::support::{EDGES, ptx_files};
use vptx::backend::ptx::{
    Arg, Change, FreshRegisters, Gate, Opcode, Outcome, RewriteError, RewriteOptions, candidates,
    rewrite,
};
use vptx::isa::{Feature, PtxVersion, Target, Type};
use vptx::source::decode;
use vptx::video::Semantics;
use vptx::{Instruction, Module, parse};

#[test]
fn candidates_equal_programs() {
    let mut random = Random(5);
    let (mut count, mut bad, mut none) = (0, 0, 0);
    for (form, mnemonic) in rows() {
        for text in texts(form, mnemonic) {
            if !random.one_in(40) {
                continue;
            }
            let instruction: Instruction = text.parse().expect(&text);
            for semantics in Semantics::ALL {
                let program = instruction.lower(semantics);
                let all = candidates(&instruction, semantics, Gate::ANY);
                if all.is_empty() {
                    none += 1;
                    if none < 30 {
                        println!("none: {text} {semantics}");
                    }
                }
                for (strategy, sequence) in all {
                    count += 1;
                    for _ in 0..60 {
                        let mut pick = || {
                            if random.one_in(3) {
                                random.next() as u32
                            } else {
                                *random.pick(&EDGES)
                            }
                        };
                        let [a, b, c] = [pick(), pick(), pick()];
                        if sequence.eval(a, b, c) != program.eval(a, b, c) {
                            bad += 1;
                            if bad < 30 {
                                println!(
                                    "{text} {semantics} {strategy}: {a:x} {b:x} {c:x}: {:x} {:x}",
                                    sequence.eval(a, b, c),
                                    program.eval(a, b, c)
                                );
                            }
                            break;
                        }
                    }
                }
            }
        }
    }
    println!("{count} candidates, {bad} wrong, {none} without");
    assert_eq!(bad + none, 0);
}

fn all() -> RewriteOptions {
    RewriteOptions::default().with_all(true)
}

/// Every fixture in three versions: unchanged, with CRLF, and with a byte that is not UTF-8.
fn fixtures() -> Vec<String> {
    let files = ptx_files("").into_iter();
    let bytes = files.map(|path| fs::read(path).expect("it can be read"));
    let three = bytes.flat_map(|bytes| {
        let own = decode(bytes.clone());
        let crlf = own.replace("\r\n", "\n").replace('\n', "\r\n");
        [own, crlf, decode([b"// caf\xe9\n", bytes.as_slice()].concat())]
    });
    // Texts with syntax errors are left out, because they are not rewritten.
    let is_sound = |source: &String| {
        let (module, _) = parse(source);
        let new = rewrite(&module, &all().with_target(Some(Target::sm(90))));
        !matches!(new, Err(RewriteError::Syntax(_)))
    };
    three.filter(is_sound).collect()
}

/// A few instructions of every form.
fn sample() -> Vec<Instruction> {
    let mut random = Random(7);
    let texts = rows().flat_map(|(form, mnemonic)| texts(form, mnemonic));
    texts.filter(|_| random.one_in(400)).map(|text| text.parse().expect("legal")).collect()
}

/// A module with the instructions in one kernel.
fn module_of(instructions: &[Instruction], version: PtxVersion, target: Target) -> String {
    let mut text = format!(
        ".version {version}\n.target {target}\n.entry k()\n{{\n    .reg .b32 a, b, c, d;\n"
    );
    for instruction in instructions {
        writeln!(text, "    {instruction}").expect("a string");
    }
    text + "}\n"
}

/// The length of the comments at the start of a text, with the white space after them.
fn comments(text: &str) -> usize {
    for (start, end) in [("//", "\n"), ("/*", "*/")] {
        if text.starts_with(start) {
            let rest = &text[text.find(end).expect("an end") + end.len()..];
            let rest = rest.trim_start();
            return text.len() - rest.len() + comments(rest);
        }
    }
    0
}

/// The length of the statement or block at the start of a text.
fn replaced(text: &str) -> usize {
    let block = text.starts_with('{');
    let mut depth = 0;
    let end = text.bytes().position(|byte| {
        depth += i32::from(byte == b'{') - i32::from(byte == b'}');
        depth == 0 && byte == if block { b'}' } else { b';' }
    });
    end.expect("an end") + 1
}

/// The replacement of each instruction that was rewritten. The rest of the result must be the
/// source, byte for byte.
fn replacements(module: &Module<'_>, options: &RewriteOptions) -> Vec<String> {
    let (source, result) = (module.source(), rewrite(module, options).expect("a target"));
    let text = result.text();
    let (mut rest, mut at, mut found) = (text.as_str(), 0, Vec::new());
    let mut changes = result.changes.iter().filter(|it| it.outcome.is_rewritten()).peekable();
    for edit in result.edits() {
        let before = &source[at..edit.span.start as usize];
        rest = rest.strip_prefix(before).expect("what stands before is as it was");
        at = edit.span.end as usize;
        if edit.span.is_empty() {
            // These lines are inserted before a loop.
            assert!(edit.replacement.trim_start().starts_with(".reg .b32 "), "{edit:?}");
            rest = rest.strip_prefix(edit.replacement.as_str()).expect("it");
            continue;
        }
        let change = changes.next_if(|change| change.span == edit.span);
        if change.is_some_and(|change| change.outcome == Outcome::Absorbed) {
            // An absorbed instruction leaves only its comments.
            let new = edit.replacement.as_str();
            assert_eq!(comments(new), new.len(), "{new}");
            rest = rest.strip_prefix(new).expect("it");
            continue;
        }
        // The comments from inside the instruction precede its replacement.
        rest = &rest[comments(rest)..];
        let (new, after) = rest.split_at(replaced(rest));
        rest = after;
        match change {
            Some(_) => found.push(new.to_owned()),
            // The change is a product that became a mask of flags.
            None => assert!(edit.span.text(source).starts_with("mul.lo")),
        }
    }
    assert_eq!(changes.next(), None, "an edit for each");
    assert_eq!(rest, &source[at..]);
    found
}

#[test]
fn modules_without_video_instructions_stay() {
    let mut count = 0;
    for source in fixtures() {
        let (module, _) = parse(&source);
        if module.statements().is_empty() {
            let options = all().with_comments(true).with_target(Some(Target::sm(90)));
            let result = rewrite(&module, &options).expect("a target");
            assert_eq!(result.text(), source);
            assert!(result.changes.is_empty());
            count += 1;
        }
    }
    assert!(count > 50, "{count}");
}

#[test]
fn nothing_else_changes() {
    let mut count = 0;
    for source in fixtures() {
        let (module, _) = parse(&source);
        let crlf = source.find('\n').is_some_and(|at| source[..at].ends_with('\r'));
        let target = module.target().is_none().then_some(Target::sm(90));
        for new in replacements(&module, &all().with_target(target)) {
            let ends = if crlf { new.matches('\n').count() } else { 0 };
            assert_eq!(new.matches('\r').count(), ends, "{new}");
            assert_eq!(new.starts_with('{'), new.contains(".reg"), "{new}");
            assert!(parse(&new).0.statements().is_empty(), "{new}");
            count += 1;
        }
    }
    assert!(count > 1000, "{count}");
}

#[test]
fn names_are_fresh() {
    let source = "
.version 8.0
.target sm_80
.entry k()
{
\t.reg .b32 %vptx_r0, %vptx1_q, a, b;
\tvabsdiff2.u32.s32.s32 %vptx_r0, a.h01, b, a;
}
";
    let (module, findings) = parse(source);
    assert_eq!(module.instructions().count(), 1, "{findings:?}");
    let new = replacements(&module, &all()).remove(0);
    let declared: Vec<&str> = new
        .lines()
        .filter_map(|line| line.trim().strip_prefix(".reg "))
        .map(|rest| rest.split([' ', '<']).nth(1).expect("a name"))
        .collect();
    assert!(!declared.is_empty());
    for name in declared {
        assert!(name.starts_with("%vptx") && !source.contains(name), "{name}");
        assert!(!name.starts_with("%vptx_") && !name.starts_with("%vptx1_"), "{name}");
    }
    // The block has the indentation of the statement.
    assert!(new.lines().skip(1).all(|line| line == "\t}" || line.starts_with("\t\t")), "{new}");
}

#[test]
fn originals_as_comments() {
    let instructions = sample();
    let source = module_of(&instructions, PtxVersion::new(8, 8), Target::sm(90));
    let (module, _) = parse(&source);
    let with = rewrite(&module, &all().with_comments(true)).expect("a target");
    let without = rewrite(&module, &all()).expect("a target");
    let without = without.text();
    assert!(!without.contains("/*"));
    let mut rest = with.text();
    for change in &with.changes {
        assert!(matches!(change.outcome, Outcome::Rewritten(_)));
        let comment = format!(" /* {} */", change.instruction);
        assert!(rest.contains(&comment), "{comment}");
        rest = rest.replacen(&comment, "", 1);
    }
    assert_eq!(rest, without);
}

#[test]
fn guard_at_the_last_statement() {
    for instruction in sample() {
        for guard in ["", "@p ", "@!%p1 "] {
            let guarded: Instruction = format!("{guard}{instruction}").parse().expect("legal");
            let mut registers = FreshRegisters::new("%t").expect("a prefix");
            let text = guarded.to_ptx(Target::sm(80), Semantics::Ptxas13, &mut registers);
            let text = text.expect("there is always one");
            let (first, last) = text.rsplit_once('\n').unwrap_or(("", &text));
            assert!(!first.contains('@'), "{text}");
            let last = last.strip_prefix(guard).expect("the guard");
            assert!(!last.contains('@'), "{text}");
            let operands = last.split_once(' ').expect("operands").1;
            assert!(operands.starts_with("d,") || operands.starts_with("{_, d}"), "{text}");
        }
    }
}

/// ptxas 13.5 combines the shift and the subtraction: it needs two machine instructions instead of
/// three. With the guard it needs five (`sm_90`).
#[test]
fn what_a_guard_makes_longer_stays() {
    let text = ".version 8.8\n.target sm_90\n.func f()\n{\n.reg .b32 a, b, d;\n.reg .pred p;\n\
                @p vsub.u32.u32.u32 d, a.h1, b.h1;\nvsub.u32.u32.u32 d, a.h1, b.h1;\n\
                @!p vsub.u32.u32.u32 d, a.h1, b.h1;\n@p vmax.u32.u32.u32 d, a.h1, b.h1;\n}\n";
    let (module, _) = parse(text);
    let rewritten = rewrite(&module, &RewriteOptions::default()).expect("it has a target");
    let is_changed = |change: &Change<'_>| matches!(change.outcome, Outcome::Rewritten(_));
    let changed: Vec<bool> = rewritten.changes.iter().map(is_changed).collect();
    assert_eq!(changed, [false, true, false, true]);
    let costs = rewritten.changes.iter().map(|it| it.cost.map(|it| (it.ptxas, it.rewritten)));
    assert_eq!(costs.take(3).collect::<Vec<_>>(), [Some((3, 5)), Some((3, 2)), Some((3, 5))]);
}

#[test]
fn bare_statements_need_a_target() {
    let (module, _) = parse("vadd4.u32.u32.u32 d, a, b, c;\n");
    assert_eq!(rewrite(&module, &all()), Err(RewriteError::NoTarget));
    assert!(rewrite(&module, &all().with_target(Some(Target::sm(75)))).is_ok());
}

/// For a part of an opcode, the first target and version that have the instruction.
const SINCE: [(&str, u16, PtxVersion); 6] = [
    ("shf.", 32, PtxVersion::new(3, 1)),
    ("lop3.", 50, PtxVersion::new(4, 3)),
    ("dp4a.", 61, PtxVersion::new(5, 0)),
    ("dp2a.", 61, PtxVersion::new(5, 0)),
    ("cvt.pack.", 72, PtxVersion::new(6, 5)),
    ("16x2 ", 90, PtxVersion::new(8, 0)),
];

#[test]
fn text_uses_what_the_module_may() {
    let instructions = sample();
    let gates = [(30, 30), (35, 42), (52, 50), (61, 50), (75, 64), (75, 65), (90, 78), (90, 80)];
    for (target, version) in gates {
        let (target, version) = (Target::sm(target), PtxVersion::new(version / 10, version % 10));
        let source = module_of(&instructions, version, target);
        let (module, _) = parse(&source);
        assert_eq!(module.instructions().count(), instructions.len());
        // `--target` may be newer than the module's target. The text may still use only the
        // instructions of its own target and version.
        for options in [all(), all().with_target(Some(Target::sm(120)))] {
            let result = rewrite(&module, &options).expect("a target");
            let text = result.text();
            for (word, least, since) in SINCE {
                let has = target.number >= least && version >= since;
                assert!(has || !text.contains(word), "{word} on {target}, {version}");
            }
            for change in &result.changes {
                match &change.outcome {
                    Outcome::Rewritten(sequence) => {
                        let (least, since) = sequence.requirement();
                        assert!(least.number <= target.number && since <= version);
                    }
                    outcome => {
                        assert_eq!(outcome, &Outcome::Unavailable);
                        assert!(target.number < 50, "{} on {target}", change.instruction);
                        assert!(text.contains(&change.instruction.to_string()));
                    }
                }
            }
        }
        // The allowed instructions follow from the module's target and version.
        let gate = Gate::new(target, Some(version));
        let sequences = instructions.iter().flat_map(|it| candidates(it, Semantics::Ptxas13, gate));
        let opcodes = sequences.flat_map(|(_, sequence)| {
            let opcodes = sequence.lines().iter().map(|line| format!("{} ", line.opcode));
            opcodes.collect::<Vec<_>>()
        });
        let opcodes: Vec<String> = opcodes.collect();
        for (word, least, since) in SINCE {
            let has = target.number >= least && version >= since;
            assert_eq!(opcodes.iter().any(|opcode| opcode.contains(word)), has, "{word} {gate:?}");
        }
    }
}

/// ptxas 13.5 accepts `min.u8x4` only for these targets, and only from `.version 9.2` on.
#[test]
fn bytes_are_for_one_family() {
    let written = |version: &str, own: &str, target: Option<&str>| {
        let text = format!(
            ".version {version}\n.target {own}\n.func f()\n{{\n.reg .b32 a, b, c, d;\n\
             vmin4.u32.u32.u32 d, a, b, c;\n}}\n"
        );
        let (module, _) = parse(&text);
        let target = target.map(|it| it.parse().expect("a target"));
        let options = RewriteOptions::default().with_target(target);
        rewrite(&module, &options).expect("a target").text()
    };
    for own in ["sm_120f", "sm_120a", "sm_121f", "sm_121a"] {
        let text = written("9.2", own, None);
        assert!(text.contains("\nmin.u8x4 d, a, b;\n"), "{text}");
        let older = written("9.1", own, None);
        assert!(!older.contains("8x4") && !older.contains("vmin4"), "{older}");
    }
    for own in ["sm_120", "sm_121", "sm_100f", "sm_103a", "sm_110f", "sm_90a"] {
        let text = written("9.3", own, None);
        assert!(!text.contains("8x4") && !text.contains("vmin4"), "{text}");
    }
    // A text for any target of the family must not use these instructions.
    assert!(!written("9.3", "sm_120", Some("sm_120f")).contains("8x4"));
    assert!(!written("9.3", "sm_121", Some("sm_120f")).contains("8x4"));
    assert!(written("9.3", "sm_121a", Some("sm_120f")).contains("8x4"));
}

/// ptxas 13.5 takes 7 machine instructions for `add.u16x2` on `sm_110`, and 8 for `min.u16x2`.
#[test]
fn new_code_has_no_emulated_instruction() {
    let written = |own: &str, target: Option<&str>| {
        let text = format!(
            ".version 9.0\n.target {own}\n.func f()\n{{\n.reg .b32 a, b, c, d;\n\
             vadd2.u32.u32.u32 d, a, b, c;\nvmin2.s32.s32.s32 d, a, b, c;\n}}\n"
        );
        let target = target.map(|it| it.parse().expect("a target"));
        let options = RewriteOptions::default().with_target(target).with_all(true);
        rewrite(&parse(&text).0, &options).expect("a target").text()
    };
    for (own, target, has_halves) in [
        ("sm_100", None, true),
        ("sm_110", None, false),
        ("sm_110f", None, false),
        ("sm_101a", None, false),
        ("sm_90", Some("sm_100"), true),
        ("sm_90", Some("sm_110"), false),
    ] {
        let text = written(own, target);
        assert_eq!(text.contains("16x2"), has_halves, "{own} {target:?}\n{text}");
        assert!(!text.contains("\nv"), "{text}");
    }
}

#[test]
fn requirement_is_that_of_the_newest_line() {
    let requirements = |text: &str| -> Vec<(Target, PtxVersion)> {
        let instruction: Instruction = text.parse().expect("legal");
        let all = candidates(&instruction, Semantics::Manual, Gate::ANY);
        all.iter().map(|(_, sequence)| sequence.requirement()).collect()
    };
    // One sequence uses `add.u16x2`, another uses sums of words.
    let halves = requirements("vadd2.u32.u32.u32 d, a, b, c;");
    assert!(halves.contains(&(Target::sm(90), PtxVersion::new(8, 0))), "{halves:?}");
    assert!(halves.iter().any(|(target, _)| target.number < 90), "{halves:?}");
    // Every sequence is a single `min`.
    for (target, version) in requirements("vmin.s32.s32.s32 d, a, b;") {
        assert_eq!((target, version), (Target::sm(20), PtxVersion::new(2, 0)));
    }
    for instruction in sample() {
        for (_, sequence) in candidates(&instruction, Semantics::Ptxas12, Gate::ANY) {
            let needs = || sequence.lines().iter().map(|line| line.opcode.needs());
            let oldest = |feature| Target::all().find(|target| target.has(feature));
            let (target, version) = sequence.requirement();
            assert_eq!(Some(target), needs().filter_map(oldest).max_by_key(|it| it.number));
            assert_eq!(Some(version), needs().filter_map(Feature::since).max());
        }
    }
}

/// Also where the sum is clamped.
#[test]
fn a_product_and_a_sum_are_one_instruction() {
    let instruction: Instruction = "vmad.u32.u32.u32.sat d, a.h0, b.h0, c;".parse().expect("legal");
    let all = candidates(&instruction, Semantics::Manual, Gate::ANY);
    let mut lines = all.iter().flat_map(|(_, sequence)| sequence.lines());
    assert!(lines.any(|line| line.opcode == Opcode::Mad), "{all:?}");
}

/// `c` minus a product of unsigned numbers never exceeds the largest number.
#[test]
fn a_limit_that_no_value_exceeds_is_left_out() {
    let instruction: Instruction = "vmad.s32.u32.u32.sat d, -a.h0, b, c;".parse().expect("legal");
    let all = candidates(&instruction, Semantics::Manual, Gate::ANY);
    let has = |opcode| {
        let mut lines = all.iter().flat_map(|(_, sequence)| sequence.lines());
        lines.any(|line| line.opcode == opcode)
    };
    assert_eq!([Opcode::MaxWide(Type::S32), Opcode::MinWide(Type::S32)].map(has), [true, false]);
}

/// `prmt` ignores further digits, so a text with such digits would mislead.
#[test]
fn selectors_of_bytes_have_four_digits() {
    let mut count = 0;
    for instruction in sample() {
        for (strategy, sequence) in candidates(&instruction, Semantics::CURRENT, Gate::ANY) {
            for line in sequence.lines().iter().filter(|line| line.opcode == Opcode::Permute) {
                let has_four = matches!(line.args()[2], Arg::Constant(0..=0xffff));
                assert!(has_four, "{instruction} {strategy}: {line:?}");
                count += 1;
            }
        }
    }
    assert!(count > 1000, "{count}");
}

/// GPUs before `sm_70` execute scalar instructions. These stay, also where results depend on the
/// release of ptxas.
#[test]
fn what_the_gpu_executes_stays() {
    let is_rewritten = |target: &str| {
        let text = format!(
            ".version 6.0\n.target {target}\n.func f()\n{{\n.reg .b32 a, b, c, d;\n\
             vadd.u32.u32.u32 d.h1, a, b, c;\n}}\n"
        );
        let (module, _) = parse(&text);
        let options = RewriteOptions::default().with_semantics(Semantics::Ptxas12);
        rewrite(&module, &options).expect("a target").text() != text
    };
    let found = ["sm_52", "sm_61", "sm_62", "sm_70"].map(is_rewritten);
    assert_eq!(found, [false, false, false, true]);
}

/// Inputs for which results were wrong. The solver found them; random inputs rarely do.
#[test]
fn words_that_were_wrong() {
    for (text, semantics, [a, b, c]) in [
        ("vsub.s32.s32.u32.sat d.b2, a, b, c;", Semantics::Ptxas13, [0x8000_0058, 0x7fff_ffe0, 0]),
        ("vsub.u32.s32.u32.sat d.h1, a, b, c;", Semantics::Ptxas13, [0x8000_c0bb, 0x7fff_e152, 0]),
        (
            "vmad.s32.u32.u32.sat.shr7 d, a, -b, c;",
            Semantics::Manual,
            [0x8000_7fff, 0xffff_fffe, 2],
        ),
        (
            "vmad.u32.u32.u32.sat d, a, b, -c;",
            Semantics::Manual,
            [0xffff_ffff, 0xffff_ffff, 0x8000_0000],
        ),
        ("vshl.s32.s32.u32.clamp.min d, a.b3, b, 1;", Semantics::Ptxas13, [0xfe00_0000, 0, 0]),
        ("vshl.s32.s32.u32.wrap.max d, a, b, 0x1234;", Semantics::Ptxas13, [0xffff_edcb, 0, 0]),
        (
            "vshl.u32.s32.u32.clamp.min d, a, 1, c;",
            Semantics::Manual,
            [0xddb9_f171, 0, 0xb7db_6cf2],
        ),
    ] {
        let instruction: Instruction = text.parse().expect("legal");
        let expected = instruction.lower(semantics).eval(a, b, c);
        let all = candidates(&instruction, semantics, Gate::ANY);
        assert!(!all.is_empty(), "{text}");
        for (strategy, sequence) in all {
            assert_eq!(sequence.eval(a, b, c), expected, "{text} {semantics} {strategy}");
        }
    }
}

#[test]
fn registers_are_those_of_the_most_particular_declaration() {
    use vptx::isa::WordRegisters::{Integer, Packed, Untyped};

    let cases = [
        ("vadd.s32.s32.s32 b, b, b;", Untyped),
        ("vadd.s32.s32.s32 b, b, 1;", Untyped),
        ("vadd.s32.s32.s32 u, b, b;", Integer),
        ("vadd.s32.s32.s32 b, b, s.b0;", Integer),
        ("vadd.s32.s32.s32.add b, u, b, h;", Packed),
        ("vadd2.s32.s32.s32 b, b, h, u;", Packed),
        // The types of a guard and of a third source without effect do not count.
        ("@p vadd.s32.s32.s32 b, b, b, h;", Untyped),
        ("vadd.s32.s32.s32 b, u, b, h;", Integer),
    ];
    let head =
        ".version 8.0\n.target sm_90\n.func f()\n{\n.reg .b32 b;\n.reg .u32 u;\n.reg .s32 s;\n";
    for (text, expected) in cases {
        let source = format!("{head}.reg .f16x2 h;\n.reg .pred p;\n{text}\n}}\n");
        let (module, _) = parse(&source);
        let found: Vec<_> = module.statements().iter().map(|it| it.declared.registers()).collect();
        assert_eq!(found, [expected], "{text}");
    }
}

/// ptxas accepts no integer instruction on `.f16x2` registers, and no `add.s16x2` on `.u32`
/// registers, so these are copied.
#[test]
fn registers_of_other_types_are_copied() {
    for (ty, instruction, is_copied) in [
        ("f16x2", "vavrg4.u32.u32.u32 h, h, h, h;", true),
        ("f16x2", "vadd.u32.u32.u32.sat h, h.b1, h.b2;", true),
        ("u32", "vadd2.u32.u32.u32 h, h, h, h;", true),
        ("u32", "vadd.u32.u32.u32.sat h, h.b1, h.b2;", false),
    ] {
        let text = format!(
            ".version 8.0\n.target sm_90\n.func f()\n{{\n.reg .{ty} h;\n{instruction}\n}}\n"
        );
        let (module, _) = vptx::parse(&text);
        let options = vptx::RewriteOptions::default().with_all(true);
        let done = vptx::rewrite(&module, &options).expect("a target").text();
        let has_h = |line: &&str| {
            line.split(|c: char| !c.is_ascii_alphanumeric() && !"._%".contains(c))
                .any(|it| it == "h")
        };
        let mut uses: Vec<&str> =
            done.lines().filter(has_h).filter_map(|it| it.split_whitespace().next()).collect();
        uses.dedup();
        assert_eq!(uses == [".reg", "mov.b32"], is_copied, "{done}");
    }
}

#[test]
fn comments_inside_of_what_is_rewritten_stay() {
    let text = "\
.version 8.0
.target sm_90
.func f(.reg .b32 d, .reg .b32 a, .reg .b32 b)
{
    vadd4.u32.u32.u32 // vptx: ignore-file[V501] sums are small
        d, a /* first */, b, d; // after
    ret;
}
";
    let (module, _) = vptx::parse(text);
    let options = vptx::RewriteOptions::default().with_all(true);
    let done = vptx::rewrite(&module, &options).expect("a target").text();
    let head = "    // vptx: ignore-file[V501] sums are small\n    /* first */ {";
    assert!(done.contains(head), "{done}");
    assert!(done.contains("} // after\n"), "{done}");
    assert_eq!(vptx::parse(&done).1.len(), 1, "nothing to suppress: {done}");
}

/// With any accepted prefix, fresh registers are valid identifiers.
#[test]
fn prefixes_are_checked() {
    for bad in ["0 bad;", "%t ", "a.b", "é", "%%", "a;", "0"] {
        assert_eq!(FreshRegisters::new(bad), None, "{bad}");
    }
    for good in ["%t", "%", "tmp_", "$"] {
        assert!(FreshRegisters::new(good).is_some(), "{good}");
    }
}
