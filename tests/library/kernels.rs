//! Kernels compute the same before and after rewriting. They also compute the same as kernels that
//! use today's intrinsics.

use std::fmt::Write as _;
use std::{env, fs};

use crate::region::{adding, filling};
use crate::support::forms::{
    comparing, lane_steps, masking, on_constant, on_range, on_zero, subtracting,
};
use crate::support::random::Random;
use crate::support::run_ptx::{Kernel, address};
use crate::support::variant::renamed;

use crate::support::{EDGES, corpus, is_about_results, samples, setting};
use crate::white_space::{COMMENTS, respaced, words};
use vptx::backend::ptx::Outcome;
use vptx::isa::{Feature, Target};
use vptx::print::{NormalOptions, normalize};
use vptx::video::Semantics;
use vptx::{RewriteOptions, parse, rewrite};

/// The targets for which the kernels were compiled. A measured target uses the PTX for the highest
/// of these that is not above it.
const MADE_FOR: [Target; 3] = [Target::sm(75), Target::sm(90), Target::sm(100)];
const SEMANTICS: Semantics = Semantics::CURRENT;
/// The number of words in each of the three arrays of a kernel.
const WORDS: usize = 64;

/// Every kernel's name, target and text.
fn kernels() -> Vec<(String, Target, String)> {
    let files = corpus("kernels").into_iter().filter_map(|(file, text)| {
        let (name, made_for) = file.strip_suffix(".ptx")?.split_once('.')?;
        Some((name.to_owned(), made_for.parse().ok()?, text))
    });
    files.collect()
}

/// The measured targets that use the PTX for a target.
fn alike(target: Target) -> impl Iterator<Item = Target> {
    let made_for = |it: &Target| MADE_FOR.into_iter().rfind(|made_for| made_for <= it);
    let measured = Target::measured().iter().copied();
    measured.filter(move |it| made_for(it) == Some(target))
}

/// The words of the three arrays.
fn arrays(name: &str, random: &mut Random) -> Vec<u32> {
    let mut word = || match random.below(4) {
        0 => *random.pick(&EDGES),
        // Words of four equal bytes, because kernels search for equal bytes and compare them.
        1 => random.below(256) as u32 * 0x0101_0101,
        _ => random.next() as u32,
    };
    let mut words: Vec<u32> = (0..3 * WORDS).map(|_| word()).collect();
    if name == "slab" {
        // A ray of finite numbers, so that no result depends on the kind of a NaN.
        let mut number = || f32::from(random.below(2000) as u16) / 100.0 - 10.0;
        for at in 0..6 {
            words[2 * WORDS + at] = number().to_bits();
        }
        words[2 * WORDS + 6] = 0f32.to_bits();
        words[2 * WORDS + 7] = 1000f32.to_bits();
    }
    words
}

fn run(kernel: &Kernel, words: &[u32], steps: u64) -> Vec<u32> {
    let mut memory = words.to_vec();
    kernel.run(&[address(0), address(WORDS), address(2 * WORDS), steps], &mut memory);
    memory
}

/// Runs two kernels on several memories. The memories must be equal afterwards.
fn assert_same(name: &str, one: &Kernel, other: &Kernel, what: &str) {
    let mut random = Random(7);
    for steps in [8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 1, 0] {
        let words = arrays(name, &mut random);
        let result = run(one, &words, steps);
        assert_eq!(result, run(other, &words, steps), "{name}: {what}, {steps} steps");
        assert!(result != words || steps < 8, "{name} does nothing");
    }
}

#[test]
fn rewritten_kernels_compute_the_same() {
    let mut kinds = [0, 0];
    for (name, made_for, text) in kernels() {
        let before = Kernel::read(&text, "video", SEMANTICS);
        for target in alike(made_for) {
            let text = text.replace(&format!(".target {made_for}"), &format!(".target {target}"));
            let (module, findings) = parse(&text);
            assert!(findings.iter().all(is_about_results), "{name}: {findings:?}");
            for regions in [true, false] {
                let options = RewriteOptions::default().with_regions(regions);
                let rewritten = rewrite(&module, &options).expect("a target");
                assert_eq!(rewritten.changes[0].target, target);
                kinds[usize::from(rewritten.edits().is_empty())] += 1;
                let after = Kernel::read(&rewritten.text(), "video", SEMANTICS);
                assert_same(&name, &before, &after, &format!("{target}, regions: {regions}"));
            }
        }
    }
    let [changed, left] = kinds;
    // nvcc 13.5 made no kernels for older targets.
    let made = Target::measured().iter().filter(|target| target.has(Feature::Ptxas13)).count();
    assert_eq!(changed + left, 17 * made * 2);
    // The instructions of `sad` stay, because they are machine instructions before sm_120.
    assert!(left <= 8, "{left} of {changed} are left as they are");
}

#[test]
fn kernels_compute_what_their_intrinsics_do() {
    for (name, target, text) in kernels() {
        let [video, intrinsic] =
            ["video", "intrinsic"].map(|kernel| Kernel::read(&text, kernel, SEMANTICS));
        assert_same(&name, &video, &intrinsic, &target.to_string());
    }
}

/// Tests the interpreter with results that were computed by hand.
#[test]
fn ordinary_instructions_run() {
    let text = "
.visible .entry k(
	.param .u64 k_param_0,
	.param .u32 k_param_1
)
{
	.reg .pred %p<2>;
	.reg .b32 %r<9>;
	.reg .b64 %rd<2>;
	ld.param.u64 %rd1, [k_param_0];
	ld.param.u32 %r1, [k_param_1]; // the count
	mov.b32 %r2, 1;
$L__loop:
	mul.lo.s32 %r2, %r2, -3;
	add.s32 %r1, %r1, -1;
	setp.gt.s32 %p1, %r1, 0;
	@%p1 bra $L__loop;
	ld.global.v2.u32 {%r3, %r4}, [%rd1];
	prmt.b32 %r5, %r3, %r4, 0x47c0;
	shf.l.wrap.b32 %r6, %r3, %r4, 40;
	lop3.b32 %r7, %r3, %r4, %r2, 0xe8;
	{ .reg .b32 %r<1>; mov.b32 %r0, 5; dp4a.s32.s32 %r8, %r3, %r4, %r0; }
	st.global.v4.u32 [%rd1+8], {%r2, %r5, %r6, %r7};
	@!%p1 st.global.u32 [%rd1+24], %r8;
	@%p1 st.global.u32 [%rd1+24], %r2;
	ret;
}
";
    let kernel = Kernel::read(text, "k", SEMANTICS);
    let mut memory = [0x8001_7f02, 0x01ff_0380, 0, 0, 0, 0, 0];
    kernel.run(&[address(0), 3], &mut memory);
    let majority = 0x8001_7f02 & 0x01ff_0380 | 0xffff_ffe5 & (0x8001_7f02 | 0x01ff_0380);
    // Byte 0 (the lowest), the sign of byte 4, and bytes 7 and 4 of the pair.
    let permuted = 0x8001_ff02;
    // The sum of 0x80 * 0x01, 0x01 * 0xff, 0x7f * 0x03, 0x02 * 0x80 and 5, where the bytes are
    // signed.
    let dot = (-128 - 1 + 381 - 256 + 5_i32).cast_unsigned();
    assert_eq!(memory[2..], [0xffff_ffe5, permuted, 0xff03_8080, majority, dot]);
}

#[test]
#[should_panic(expected = "the kernel does not end")]
fn endless_kernels_stop() {
    let kernel = Kernel::read(".entry k(\n)\n{\nL: bra L;\n}\n", "k", SEMANTICS);
    kernel.run(&[], &mut []);
}

/// The start of a module of random kernels.
const HEAD: &str = ".version 8.8\n.target sm_75\n.address_size 64\n";

/// The registers of random kernels that have a value from the start. Video instructions write other
/// registers first.
const REGISTERS: [&str; 9] = ["a", "b", "c", "d", "e", "f", "r0", "r2", "r3"];

/// An ordinary statement that reads or writes registers, to stand among video instructions.
fn ordinary(random: &mut Random) -> String {
    let [x, y, z] = [(); 3].map(|()| *random.pick(&REGISTERS));
    let word = 4 * random.below(16);
    match random.below(6) {
        0 => format!("mov.b32 {x}, {y};\n"),
        1 => format!("add.u32 {x}, {y}, {z};\n"),
        2 => format!("ld.global.u32 {x}, [p+{word}];\n"),
        _ => format!("st.global.u32 [p+{word}], {x};\n"),
    }
}

/// Statements before a loop, after which `r26` or `r27` may be constant in the loop.
fn before_loop(random: &mut Random) -> String {
    let [x, y] = [(); 2].map(|()| *random.pick(&REGISTERS));
    match random.below(7) {
        0 => format!("add.u32 r26, {x}, {y};\n"),
        1 => "{ .reg .b32 r<1>; mov.b32 r27, a; }\n".into(),
        2 => format!("@q mov.b32 r27, {x};\n"),
        3 => format!("vadd4.u32.u32.u32.sat r26, {x}, {y}, {x};\n"),
        _ => String::new(),
    }
}

/// Copies some results before the next statement uses them, as compilers do before an `asm` that
/// changes its operand.
fn with_copies(random: &mut Random, statements: &str) -> String {
    let mut text = String::new();
    let mut before = None;
    for line in statements.lines() {
        let (rest, c) = line.rsplit_once(", ").expect(line);
        let d = rest.split(' ').nth(1).and_then(|it| it.split(['.', ',']).next()).expect(line);
        if before == Some(c.trim_end_matches(';')) && random.one_in(3) {
            let copy = *random.pick(&["r4", "r5", "r5", "c", "d"]);
            let _ = writeln!(text, "mov.b32 {copy}, {c}\n{rest}, {copy};");
        } else {
            let _ = writeln!(text, "{line}");
        }
        before = Some(d);
    }
    text
}

/// A kernel with groups and chains, and ordinary statements among them.
fn random_kernel(random: &mut Random) -> String {
    let mut body = String::from("setp.lt.u32 q, 5, 6;\n");
    for (at, register) in REGISTERS.iter().chain(&["r25", "r26", "r27"]).enumerate() {
        let _ = writeln!(body, "ld.global.u32 {register}, [p+{}];", 4 * at);
    }
    let odds = *random.pick(&[4, 8, 100]);
    for at in 0..=random.below(4) {
        body += &before_loop(random);
        // A branch skips some of the following statements.
        let branches = random.one_in(3);
        if branches {
            let [x, y] = [(); 2].map(|()| *random.pick(&REGISTERS));
            let _ = writeln!(body, "setp.lt.u32 s, {x}, {y};\n@s bra S{at};");
            for _ in 0..random.below(3) {
                body += &ordinary(random);
            }
        }
        let is_before = branches && random.one_in(2);
        if is_before {
            let _ = writeln!(body, "S{at}:");
        }
        let rounds = if random.one_in(2) { 1 + random.below(3) } else { 0 };
        if rounds > 0 {
            let _ = writeln!(body, "mov.u32 n{at}, {rounds};\nL{at}:");
        }
        let members = match random.below(10) {
            chain @ (0 | 1) => {
                let members = if chain == 0 { filling(random) } else { adding(random) };
                with_copies(random, &members)
            }
            2 => comparing(random, &REGISTERS),
            3 => on_constant(random, &format!("r1{at}")),
            6 => {
                let registers = [(); 2].map(|()| *random.pick(&REGISTERS));
                masking(random, registers)
            }
            7 => on_zero(random, &format!("r1{at}"), &["d", "e"]),
            5 => {
                let lanes = *random.pick(&["", "2"]);
                let same = *random.pick(&["b", "r26", "r27"]);
                let text = subtracting(random, lanes, &["d", "e", "r0", "f", "r12", "r13"]);
                text.replace(" b,", &format!(" {same},")).replace(" b;", &format!(" {same};"))
            }
            4 => on_range(random, [&format!("r1{at}"), &format!("r2{at}")]),
            _ => {
                let lanes = *random.pick(&["4", "4", "2"]);
                let own = ["a", "b", "c", "e", "r0"];
                let inputs = *random.pick(&[own, ["a", "r25", "r26", "r27", "r0"]]);
                lane_steps(random, lanes, &inputs).0
            }
        };
        for line in members.lines() {
            let _ = writeln!(body, "{line}");
            if random.one_in(odds) {
                body += &ordinary(random);
            }
        }
        if rounds > 0 {
            let _ = writeln!(body, "sub.u32 n{at}, n{at}, 1;\nsetp.ne.u32 q, n{at}, 0;");
            let _ = writeln!(body, "@q bra L{at};");
        }
        if branches && !is_before {
            let _ = writeln!(body, "S{at}:");
        }
    }
    for (at, register) in REGISTERS.iter().enumerate() {
        let _ = writeln!(body, "st.global.u32 [p+{}], {register};", 4 * (at + 26));
    }
    format!(
        "{HEAD}.entry k(\n.param .u64 k_param_0\n)\n{{\n\
         .reg .b32 a, b, c, d, e, f, r<30>, n<5>;\n.reg .pred q, s;\n.reg .b64 p;\nld.param.u64 p, [k_param_0];\n{body}ret;\n}}\n"
    )
}

/// Groups may also move past other statements. The test counts the instructions in chains and
/// groups.
#[test]
fn random_regions_compute_the_same() {
    let mut random = Random(21);
    let (mut fused, mut grouped, mut moved, mut kept) = (0, 0, 0, 0);
    for _ in 0..samples(3500) {
        let target = random.pick(Target::measured());
        let text = random_kernel(&mut random).replace("sm_75", &target.to_string());
        // PTX has had instructions on bytes only since 9.2.
        let version = *random.pick(&["8.8", "9.2"]);
        let text = text.replace(".version 8.8", &format!(".version {version}"));
        let (module, findings) = parse(&text);
        assert!(findings.iter().all(is_about_results), "{findings:?}\n{text}");
        let rewritten = rewrite(&module, &RewriteOptions::default()).expect("a target");
        for change in &rewritten.changes {
            match &change.outcome {
                Outcome::Fused(_) => fused += 1,
                Outcome::Grouped(group) => {
                    grouped += 1;
                    moved += u32::from(group.place + 1 < group.members);
                    kept += u32::from(group.before_loop().iter().any(Option::is_some));
                }
                _ => {}
            }
        }
        let new = rewritten.text();
        let [before, after] = [&text, &new].map(|text| Kernel::read(text, "k", SEMANTICS));
        for _ in 0..3 {
            let words = arrays("k", &mut random);
            let [left, right] = [&before, &after].map(|kernel| {
                let mut memory = words.clone();
                kernel.run(&[address(0)], &mut memory);
                memory
            });
            assert_eq!(left, right, "{text}\n{new}");
        }
    }
    println!(
        "{fused} chains, {grouped} groups, {moved} of them moved up, {kept} with lines before a loop"
    );
    assert!(fused > 100 && grouped > 40 && moved > 3 && kept > 5, "{grouped} {moved} {kept}");
}

/// White space, comments, `.loc` and names of registers do not influence rewriting.
#[test]
fn layout_decides_nothing() {
    let mut random = Random(33);
    let made = (0..samples(400)).map(|_| {
        let target = random.pick(Target::measured());
        random_kernel(&mut random).replace("sm_75", &target.to_string())
    });
    let mut changed = 0;
    for (seed, text) in (1..).zip(kernels().into_iter().map(|(_, _, text)| text).chain(made)) {
        let mut numbers = Random(seed);
        // A `.loc` can stand only in a body.
        let (mut other, mut is_body) = (String::new(), false);
        for line in text.lines() {
            other += line;
            other += "\n";
            is_body = (is_body || line.contains("ld.param")) && !line.starts_with('}');
            if is_body && line.ends_with(';') && numbers.one_in(3) {
                other += ".loc 1 7 3\n";
            }
        }
        let other = respaced(&words(&other), &mut numbers, COMMENTS);
        let other = if numbers.one_in(2) { renamed(&other, seed) } else { other };
        let rewritten = |text: &str| {
            let (module, findings) = parse(text);
            assert!(findings.iter().all(is_about_results), "{findings:?}\n{text}");
            let rewritten = rewrite(&module, &RewriteOptions::default()).expect("a target").text();
            normalize(&rewritten, &NormalOptions::default()).expect("PTX")
        };
        let [one, two] = [&text, &other].map(|text| rewritten(text));
        assert_eq!(one, two, "{text}\n{other}");
        changed += usize::from(text != other);
    }
    assert!(changed > 100, "{changed}");
}

/// Each thread of such a kernel uses a separate part of memory.
#[test]
#[ignore = "writes the kernels that scripts/gpu-check runs"]
fn random_kernels_for_a_gpu() {
    let file = env::var_os("VPTX_KERNELS_FILE").expect("VPTX_KERNELS_FILE");
    let mut random = Random(setting("VPTX_KERNELS_SEED", 21));
    let mut module = HEAD.to_owned();
    let own = format!("mov.u32 r29, %tid.x;\nmad.wide.u32 p, r29, {}, p;\n", 4 * 3 * WORDS);
    for number in 0..setting("VPTX_KERNELS", 2500) {
        let text = random_kernel(&mut random).replacen(HEAD, "", 1);
        let text = text.replacen(".entry k(", &format!(".visible .entry k{number}("), 1);
        let text = text.replace("k_param_0", &format!("k{number}_param_0"));
        let start = text.find("];\n").expect("a parameter is read") + 3;
        let (parameter, body) = text.split_at(start);
        module += &[parameter, &own, body].concat();
    }
    fs::write(file, module).expect("a file");
}
