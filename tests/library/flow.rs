//! Control flow and data flow. Tests make kernels, run them, and compare with simple analyses.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;

use vptx::flow::{Access, Flow};
use vptx::names::{Meaning, Names, SymbolKind, Use};
use vptx::source::{Span, decode};
use vptx::syntax::{self, Tree};

use crate::support::random::Random;
use crate::support::{effects, ptx_files, samples};

const REGISTERS: usize = 5;

/// An instruction of a random kernel. Registers are numbers.
#[derive(Clone, Copy, Debug)]
enum Op {
    Set(usize, u32),
    Add(usize, usize, usize),
    /// Sets the predicate by comparing a register with a number.
    Test(usize, u32),
    Jump(usize),
    Leave,
    /// Jumps by a table of two targets.
    Switch(usize, usize, usize),
}

#[derive(Clone, Copy, Debug)]
struct Step {
    op: Op,
    is_guarded: bool,
}

/// The number of a register, or [`PREDICATE`].
type Value = usize;
const PREDICATE: Value = REGISTERS;

impl Step {
    fn reads(self) -> Vec<Value> {
        let mut reads = match self.op {
            Op::Add(_, a, b) => vec![a, b],
            Op::Test(a, _) | Op::Switch(a, ..) => vec![a],
            Op::Set(..) | Op::Jump(_) | Op::Leave => Vec::new(),
        };
        reads.extend(self.is_guarded.then_some(PREDICATE));
        reads
    }

    fn writes(self) -> Option<Value> {
        match self.op {
            Op::Set(to, _) | Op::Add(to, ..) => Some(to),
            Op::Test(..) => Some(PREDICATE),
            _ => None,
        }
    }

    /// The steps that may follow. The number of all steps stands for the end.
    fn next(self, at: usize, count: usize) -> Vec<usize> {
        let mut next = match self.op {
            Op::Jump(to) => vec![to],
            Op::Switch(_, one, other) => vec![one, other],
            Op::Leave => Vec::new(),
            _ => return [at + 1].into_iter().filter(|at| *at < count).collect(),
        };
        if self.is_guarded && at + 1 < count {
            next.push(at + 1);
        }
        next.retain(|at| *at < count);
        next
    }
}

fn kernel(rng: &mut Random) -> Vec<Step> {
    let mut below = |end: usize| (rng.next() >> 8) as usize % end;
    let count = 2 + below(14);
    let mut steps = Vec::new();
    for _ in 0..count {
        let op = match below(12) {
            0..=2 => Op::Set(below(REGISTERS), below(4) as u32),
            3..=5 => Op::Add(below(REGISTERS), below(REGISTERS), below(REGISTERS)),
            6 | 7 => Op::Test(below(REGISTERS), below(4) as u32),
            8 | 9 => Op::Jump(below(count + 1)),
            10 => Op::Switch(below(REGISTERS), below(count), below(count)),
            _ => Op::Leave,
        };
        steps.push(Step { op, is_guarded: below(3) == 0 });
    }
    steps
}

fn text(steps: &[Step]) -> String {
    let mut text = String::from(".entry k()\n{\n.reg .b32 %r<9>; .reg .pred %p;\n");
    for (at, Step { op, is_guarded }) in steps.iter().enumerate() {
        writeln!(text, "L{at}:").unwrap();
        if let Op::Switch(_, one, other) = op {
            // The label of a table is not a place to which a branch can go.
            writeln!(text, "T{at}: .branchtargets L{one}, L{other};").unwrap();
        }
        if *is_guarded {
            text.push_str("@%p ");
        }
        match op {
            Op::Set(to, value) => writeln!(text, "mov.u32 %r{to}, {value};"),
            Op::Add(to, a, b) => writeln!(text, "add.u32 %r{to}, %r{a}, %r0{b};"),
            Op::Test(a, value) => writeln!(text, "setp.eq.u32 %p, %r{a}, {value};"),
            Op::Jump(to) => writeln!(text, "bra L{to};"),
            Op::Leave => writeln!(text, "exit;"),
            Op::Switch(by, ..) => writeln!(text, "brx.idx %r{by}, T{at};"),
        }
        .unwrap();
    }
    writeln!(text, "L{}:\n}}", steps.len()).unwrap();
    text
}

/// For each step and each value, the set of definitions that reach the step. The loop repeats until
/// nothing changes. `None` is the start of the function.
fn reaching(steps: &[Step]) -> Vec<Vec<BTreeSet<Option<usize>>>> {
    let mut found = vec![vec![BTreeSet::new(); REGISTERS + 1]; steps.len()];
    found[0] = vec![BTreeSet::from([None]); REGISTERS + 1];
    let mut is_new = true;
    while is_new {
        is_new = false;
        for (at, step) in steps.iter().enumerate() {
            let mut after = found[at].clone();
            if after[0].is_empty() {
                continue;
            }
            if let Some(value) = step.writes() {
                if !step.is_guarded {
                    after[value].clear();
                }
                after[value].insert(Some(at));
            }
            for next in step.next(at, steps.len()) {
                for (old, new) in found[next].iter_mut().zip(&after) {
                    let before = old.len();
                    old.extend(new);
                    is_new |= old.len() > before;
                }
            }
        }
    }
    found
}

/// A step that was run, and the values that it read.
#[derive(Debug, PartialEq)]
struct Ran {
    at: usize,
    /// Whether the step was executed: its guard, if any, held.
    is_on: bool,
    read: Vec<(Value, u32)>,
}

/// Runs at most 200 steps and returns them. After each step, `after` may change the values,
/// including the predicate.
fn run(
    steps: &[Step],
    mut values: [u32; REGISTERS + 1],
    mut after: impl FnMut(usize, &mut [u32; REGISTERS + 1]),
) -> Vec<Ran> {
    let (mut ran, mut at) = (Vec::new(), 0);
    while at < steps.len() && ran.len() < 200 {
        let Step { op, is_guarded } = steps[at];
        let here = at;
        let is_on = !is_guarded || values[PREDICATE] != 0;
        let reads = if is_on { steps[at].reads() } else { vec![PREDICATE] };
        let read = reads.into_iter().map(|value| (value, values[value])).collect();
        ran.push(Ran { at, is_on, read });
        at += 1;
        match op {
            _ if !is_on => {}
            Op::Set(to, value) => values[to] = value,
            Op::Add(to, a, b) => values[to] = values[a].wrapping_add(values[b]),
            Op::Test(a, value) => values[PREDICATE] = u32::from(values[a] == value),
            Op::Jump(to) => at = to,
            Op::Leave => break,
            Op::Switch(by, one, other) => match values[by] {
                0 => at = one,
                1 => at = other,
                // The index is outside of the table, which is undefined, so the run stops before
                // the step.
                _ => {
                    ran.pop();
                    break;
                }
            },
        }
        after(here, &mut values);
    }
    ran
}

/// The meaning of each register and of the predicate; `None` if the text does not use it.
fn meanings(tree: &Tree<'_>, names: &Names) -> [Option<Meaning>; REGISTERS + 1] {
    std::array::from_fn(|value| {
        names.uses().iter().filter(|it| !it.declares()).find_map(|it| {
            let name = it.span().text(tree.source());
            let own = match value {
                PREDICATE => name == "%p",
                _ => name.strip_prefix("%r").and_then(|it| it.parse().ok()) == Some(value),
            };
            it.meaning().filter(|_| own)
        })
    })
}

fn agrees(steps: &[Step], values: [u32; REGISTERS + 1], rng: &mut Random) {
    let text = text(steps);
    let tree = syntax::parse(&text);
    assert_eq!(tree.errors(), []);
    let names = Names::of(&tree);
    let flow = Flow::of(&tree.functions().next().unwrap(), &names).unwrap();
    assert_eq!(flow.statements().len(), steps.len());
    assert_eq!((flow.len(), flow.is_empty()), (steps.len(), steps.is_empty()));
    assert!(!flow.is_opaque(), "{text}");
    let meanings = meanings(&tree, &names);

    let reaching = reaching(steps);
    for (at, step) in steps.iter().enumerate() {
        let is_reachable = !reaching[at][0].is_empty();
        assert_eq!(flow.is_reachable(flow.block_of(at)), is_reachable, "{at}\n{text}");
        let found = flow.accesses(at);
        let is_of =
            |value: &Value, it: &vptx::flow::NameAccess| Some(it.meaning) == meanings[*value];
        for value in step.reads() {
            assert!(
                found.iter().any(|it| is_of(&value, it) && it.access == Access::Read),
                "{text}"
            );
        }
        if let Some(value) = step.writes() {
            let write = found.iter().find(|it| is_of(&value, it) && it.access == Access::Write);
            assert_eq!(write.map(|it| it.is_partial), Some(step.is_guarded), "{text}");
        }
        if !is_reachable {
            continue;
        }
        for (value, expected) in reaching[at].iter().enumerate() {
            let Some(meaning) = meanings[value] else { continue };
            let found = flow.definitions_reaching(at, meaning);
            let instructions: Vec<usize> = expected.iter().flatten().copied().collect();
            assert_eq!(found.instructions, instructions, "{at} {value}\n{text}");
            assert_eq!(found.may_be_undefined, expected.contains(&None), "{at} {value}\n{text}");
        }
        // The readers of a definition are the uses that it reaches.
        let Some(value) = step.writes() else { continue };
        let reads = |other: &usize| {
            steps[*other].reads().contains(&value) && reaching[*other][value].contains(&Some(at))
        };
        let expected: Vec<usize> = (0..steps.len()).filter(reads).collect();
        let meaning = meanings[value].unwrap();
        assert_eq!(flow.readers_of(at, meaning), expected, "{at}\n{text}");
        if !step.is_guarded {
            assert_eq!(flow.is_live_after(at, meaning), !expected.is_empty(), "{at}\n{text}");
        }
    }

    // A run follows only edges of the graph, and reads only definitions that reach the step.
    let ran = run(steps, values, |_, _| {});
    let mut writers = [None; REGISTERS + 1];
    for Ran { at, is_on, read } in &ran {
        for (value, _) in read {
            let found = flow.definitions_reaching(*at, meanings[*value].unwrap());
            let is_found = match writers[*value] {
                Some(writer) => found.instructions.contains(&writer),
                None => found.may_be_undefined,
            };
            assert!(is_found, "{at} {value}\n{text}");
        }
        if let Some(value) = steps[*at].writes().filter(|_| *is_on) {
            writers[value] = Some(*at);
        }
    }
    // Random values in registers that are not live do not change the run.
    let with_garbage = run(steps, values, |at, values| {
        for (value, meaning) in meanings.iter().enumerate() {
            if meaning.is_none_or(|it| !flow.is_live_after(at, it)) {
                values[value] = rng.next() as u32 % 3;
            }
        }
    });
    assert_eq!(with_garbage, ran, "{text}");
    let ran: Vec<usize> = ran.iter().map(|it| it.at).collect();
    for pair in ran.windows(2) {
        let [from, to] = [pair[0], pair[1]].map(|at| flow.block_of(at));
        let is_next = pair[1] == pair[0] + 1 && from == to;
        assert!(is_next || flow.blocks()[from].successors.contains(&to), "{pair:?}\n{text}");
    }
    let blocks: Vec<usize> = ran.iter().map(|at| flow.block_of(*at)).collect();
    for (at, block) in blocks.iter().enumerate() {
        for other in 0..flow.blocks().len() {
            if flow.dominators().dominates(other, *block) {
                assert!(blocks[..=at].contains(&other), "{other} {block}\n{text}");
            }
        }
    }
}

#[test]
fn made_kernels_have_the_flow_that_they_were_made_with() {
    let mut rng = Random(47);
    for _ in 0..samples(4_000) {
        let steps = kernel(&mut rng);
        let values = std::array::from_fn(|_| rng.next() as u32 % 3);
        agrees(&steps, values, &mut rng);
    }
}

/// The basic blocks that some path from the first block reaches without block `without`.
fn reached_without(flow: &Flow<'_>, without: Option<usize>) -> BTreeSet<usize> {
    let (mut seen, mut open) = (BTreeSet::new(), vec![0]);
    while let Some(at) = open.pop() {
        if Some(at) != without && seen.insert(at) {
            open.extend(&flow.blocks()[at].successors);
        }
    }
    seen
}

#[test]
fn dominators_and_loops_are_those_of_their_definition() {
    let mut rng = Random(48);
    let mut nested = 0;
    for _ in 0..3_000 {
        let text = text(&kernel(&mut rng));
        let tree = syntax::parse(&text);
        let names = Names::of(&tree);
        let flow = Flow::of(&tree.functions().next().unwrap(), &names).unwrap();
        let all = reached_without(&flow, None);
        let count = flow.blocks().len();
        let dominates = |one: usize, other: usize| {
            all.contains(&other)
                && all.contains(&one)
                && !reached_without(&flow, Some(one)).contains(&other)
        };
        for block in 0..count {
            for other in 0..count {
                let found = flow.dominators().dominates(other, block);
                assert_eq!(found, dominates(other, block), "{other} {block}\n{text}");
            }
            let strict: Vec<usize> =
                (0..count).filter(|it| *it != block && dominates(*it, block)).collect();
            let closest =
                strict.iter().find(|it| strict.iter().all(|other| dominates(*other, **it)));
            assert_eq!(flow.dominators().immediate(block).as_ref(), closest, "{block}\n{text}");
        }
        // A loop consists of its header and of the blocks from which a path leads to a back edge of
        // the header, without passing the header.
        let mut expected: Vec<(usize, BTreeSet<usize>)> = Vec::new();
        for header in 0..count {
            let before = flow.blocks()[header].predecessors.iter();
            let mut open: Vec<usize> =
                before.copied().filter(|it| dominates(header, *it)).collect();
            if open.is_empty() {
                continue;
            }
            let mut blocks = BTreeSet::from([header]);
            while let Some(at) = open.pop() {
                if all.contains(&at) && blocks.insert(at) {
                    open.extend(&flow.blocks()[at].predecessors);
                }
            }
            expected.push((header, blocks));
        }
        let loops = flow.loops();
        let mut found: Vec<(usize, BTreeSet<usize>)> =
            loops.iter().map(|it| (it.header, it.blocks.iter().copied().collect())).collect();
        for at in (0..loops.len()).rev() {
            if let Some(parent) = loops[at].parent {
                assert!(parent < at, "{text}");
                nested += 1;
                let inner = found[at].1.clone();
                found[parent].1.extend(inner);
            }
        }
        found.sort();
        assert_eq!(found, expected, "{text}");
    }
    assert!(nested > 100, "{nested}");
}

/// Describes how the only instruction of a text uses names.
fn used(instruction: &str) -> String {
    let text = format!(
        ".global .u32 v; .func f(.param .u32 x) {{ .param .b32 q; .reg .b32 a, b, c, d, e; \
         .reg .b64 p; .reg .pred t, u; .reg .v4 .b32 w; here: {instruction} }}"
    );
    let tree = syntax::parse(&text);
    assert_eq!(tree.errors(), [], "{text}");
    let names = Names::of(&tree);
    let flow = Flow::of(&tree.functions().next().unwrap(), &names).unwrap();
    let shown = flow.accesses(0).iter().map(|it| {
        let access = match it.access {
            Access::Read => "",
            Access::Write => "=",
            Access::ReadWrite => "+",
        };
        let partial = if it.is_partial { "?" } else { "" };
        format!("{access}{partial}{}", it.span.text(&text))
    });
    shown.collect::<Vec<_>>().join(" ")
}

/// The expected effects of each instruction follow the manual.
#[test]
fn instructions_read_and_write_what_the_manual_says() {
    for (instruction, expected) in [
        ("add.u32 a, b, c;", "=a b c"),
        ("@t add.u32 a, b, 1;", "t =?a b"),
        ("setp.lt.and.u32 t|u, a, b, t;", "=t =u a b t"),
        ("shfl.sync.bfly.b32 a|t, b, 1, 31, -1;", "=a =t b"),
        ("mov.b64 {a, b}, p;", "=a =b p"),
        ("mov.b64 {_, b}, p;", "=b p"),
        ("mov.u64 p, v+4;", "=p v"),
        ("ld.global.v2.u32 {a, b}, [p+8];", "=a =b p"),
        ("st.global.v2.u32 [p+8], {a, b};", "p a b"),
        ("st.param.b32 [q], a;", "q a"),
        ("ld.param.u32 a, [x];", "=a x"),
        ("atom.global.add.u32 a, [p], b;", "=a p b"),
        ("atom.global.cas.b32 _, [p], a, b;", "p a b"),
        ("red.global.add.u32 [v], a;", "v a"),
        ("call (a), f, (b, c);", "=a f b c"),
        ("call f, (a);", "f a"),
        ("call.uni f;", "f"),
        ("bra here;", "here"),
        ("bar.sync a, b;", "a b"),
        ("barrier.red.popc.sync.u32 a, b, c, t;", "=a b c t"),
        ("prefetch.global.L1 [p];", "p"),
        ("nanosleep.u32 a;", "a"),
        ("vmin.s32.s32.s32.add a, b.b0, c.h1, d;", "=a b c d"),
        ("vset2.s32.s32.eq a.h0, b, c, d;", "=a b c d"),
        (
            "mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {a, b}, {c}, {d}, {a, b};",
            "=a =b c d a b",
        ),
        (
            "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {a, b}, p, p, t, 1, 1, 0, 0;",
            "+a +b p p t",
        ),
        ("wmma.store.d.sync.aligned.row.m16n16k16.s32 [p], {a, b}, c;", "p a b c"),
        ("tcgen05.ld.sync.aligned.32x32b.x2.b32 {a, b}, [c];", "=a =b c"),
        ("tcgen05.ld.red.sync.aligned.32x32b.x2.u32.min {a, b}, c, [d];", "=a =b =c d"),
        ("tcgen05.st.sync.aligned.32x32b.x2.b32 [c], {a, b};", "c a b"),
        ("tcgen05.dealloc.cta_group::1.sync.aligned.b32 a, 32;", "a"),
        ("mbarrier.arrive.shared.b64 p, [v];", "=p v"),
        ("mbarrier.init.shared.b64 [v], a;", "v a"),
        (
            "cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes [v], [p, {a}], [v];",
            "v p a v",
        ),
        ("frobnicate.x a, [b], {c, d};", "+a +b +c +d"),
        ("mov.u32 a, %tid.x;", "=a"),
        // An element of a vector register is a part of it; a lane of a word is not.
        ("mov.b32 w.x, w.y;", "=?w w"),
        ("mov.b64 {w.r, a}, p;", "=?w =a p"),
        ("ld.global.v4.b32 w, [p];", "=w p"),
        ("vadd.u32.u32.u32 a.b0, b.h1, c, d;", "=a b c d"),
    ] {
        assert_eq!(used(instruction), expected, "{instruction}");
    }
}

#[test]
fn only_a_function_without_instructions_is_empty() {
    for (body, is_empty) in [("", true), (".reg .b32 r;", true), ("ret;", false)] {
        let text = format!(".func f() {{ {body} }}");
        let tree = syntax::parse(&text);
        let names = Names::of(&tree);
        let flow = Flow::of(&tree.functions().next().unwrap(), &names).unwrap();
        assert_eq!(flow.is_empty(), is_empty, "{body}");
    }
}

#[test]
fn what_a_branch_hides_makes_a_function_opaque() {
    for (body, is_opaque) in [
        ("a: bra a;", false),
        ("bra b;", true),
        ("a: brx.idx r, t;", true),
        ("t: .branchtargets a; a: brx.idx r, t;", false),
        ("t: .branchtargets a, b; a: brx.idx r, t;", true),
    ] {
        let text = format!(".func f() {{ .reg .b32 r; {body} c: ret; }}");
        let tree = syntax::parse(&text);
        let names = Names::of(&tree);
        let flow = Flow::of(&tree.functions().next().unwrap(), &names).unwrap();
        assert_eq!(flow.is_opaque(), is_opaque, "{body}");
        // A branch whose targets are unknown may go to any label.
        let last = flow.block_of(flow.statements().len() - 1);
        assert_eq!(flow.is_reachable(last), is_opaque, "{body}");
    }
}

/// The name of a list or a prototype looks like a label, but nothing can branch to it.
#[test]
fn names_of_lists_and_prototypes_start_no_blocks() {
    for list in [".branchtargets a", ".calltargets g", ".callprototype _ ()"] {
        let text = format!(
            ".func g(); .func f() {{ .reg .b32 r; a: add.u32 r, r, 1; t: {list};
                add.u32 r, r, 1; brx.idx r, unknown; end: {list}; }}"
        );
        let tree = syntax::parse(&text);
        let names = Names::of(&tree);
        let flow = Flow::of(&tree.functions().nth(1).unwrap(), &names).unwrap();
        let blocks: Vec<_> = flow.blocks().iter().map(|it| it.instructions.clone()).collect();
        assert_eq!(blocks, [0..3, 3..3], "{list}");
        assert_eq!(flow.blocks()[1].successors, [0], "{list}");
    }
}

#[test]
fn blocks_tell_where_the_function_may_end() {
    for (jump, may_end, may_return) in [
        ("ret", true, true),
        ("@p ret", true, true),
        ("bra L", false, false),
        ("@p bra L", false, false),
        ("exit", true, false),
        ("@p exit", true, false),
        ("@p trap", true, false),
        ("call never", true, false),
        ("@p call never", true, false),
        ("call h", false, false),
    ] {
        let text = format!(
            ".func h(); .func never() .noreturn;
            .func f(.reg .pred p, .reg .b32 a) {{ {jump}; L: add.u32 a, a, 1; }}"
        );
        let tree = syntax::parse(&text);
        let names = Names::of(&tree);
        let flow = Flow::of(&tree.functions().nth(2).unwrap(), &names).unwrap();
        let [first, last] = flow.blocks() else { panic!("{text}") };
        assert_eq!((first.may_end, first.may_return), (may_end, may_return), "{text}");
        assert!(last.may_end && last.may_return, "{text}");
    }
}

/// A definition under a guard reaches a later instruction directly, and by way of a loop.
#[test]
fn a_definition_on_two_ways_counts_once() {
    let text = ".func f() { .reg .b32 a, b; .reg .pred t; \
                l: @t mov.b32 a, 1; mov.b32 b, a; bra l; }";
    let tree = syntax::parse(text);
    let names = Names::of(&tree);
    let flow = Flow::of(&tree.functions().next().unwrap(), &names).unwrap();
    let a = flow.accesses(1)[1].meaning;
    let found = flow.definitions_reaching(1, a);
    assert_eq!((found.instructions, found.may_be_undefined), (vec![0], true));
}

#[test]
fn many_branches_over_one_table_take_linear_memory() {
    let count = 20_000;
    let labels: Vec<String> = (0..count).map(|at| format!("L{at}")).collect();
    let mut text = format!(".func f() {{ .reg .b32 r; T: .branchtargets {};\n", labels.join(", "));
    for label in &labels {
        writeln!(text, "{label}: brx.idx r, T;").unwrap();
    }
    text.push('}');
    let tree = syntax::parse(&text);
    let names = Names::of(&tree);
    let flow = Flow::of(&tree.functions().next().unwrap(), &names).unwrap();
    assert!(flow.is_opaque());
    let edges: usize = flow.blocks().iter().map(|it| it.successors.len()).sum();
    assert!(edges < 70 * count, "{edges}");
    assert!((0..count).all(|block| flow.is_reachable(block)));
}

#[test]
fn registers_of_blocks_and_ranges_are_told_apart() {
    let text = ".func f() { .reg .b32 %r<4>, a; mov.b32 a, 1; { .reg .b32 a; mov.b32 a, 2; \
                mov.b32 %r01, a; } mov.b32 %r2, a; mov.b32 %r3, %r1; }";
    let tree = syntax::parse(text);
    let names = Names::of(&tree);
    let flow = Flow::of(&tree.functions().next().unwrap(), &names).unwrap();
    let readers = |at: usize| flow.readers_of(at, flow.accesses(at)[0].meaning);
    assert_eq!([0, 1, 2, 3].map(readers), [vec![3], vec![2], vec![4], vec![]]);
    assert!(
        Flow::of(&syntax::parse(".extern .func f;").functions().next().unwrap(), &names).is_none()
    );
    let kinds = flow.accesses(0).iter().map(|it| names.symbol(it.meaning.symbol()).kind);
    assert_eq!(kinds.collect::<Vec<_>>(), [SymbolKind::Register]);
}

/// The sets of live registers are those that the questions about single registers give.
#[test]
fn live_registers_of_blocks_are_live_after_their_last_instructions() {
    let mut rng = Random(51);
    let mut live = 0;
    for number in 0..samples(1_000) {
        let mut text = text(&kernel(&mut rng));
        if number % 2 == 0 {
            text = text.replacen(
                ".entry k()\n{\n",
                ".func (.reg .b32 d) f()\n{\nmov.b32 d, %r1;\n",
                1,
            );
        }
        let tree = syntax::parse(&text);
        let names = Names::of(&tree);
        let flow = Flow::of(&tree.functions().next().unwrap(), &names).unwrap();
        let all: BTreeSet<usize> =
            names.uses().iter().filter_map(Use::meaning).map(Meaning::index).collect();
        for (block, registers) in flow.blocks().iter().zip(flow.live_out(&names)) {
            let Some(last) = block.instructions.clone().last() else { continue };
            let found: BTreeSet<usize> = registers.iter().map(|it| it.index()).collect();
            assert_eq!(found.len(), registers.len(), "{text}");
            for it in names.uses().iter().filter_map(Use::meaning) {
                let kind = names.symbol(it.symbol()).kind;
                let is_register = kind == SymbolKind::Register || kind == SymbolKind::Parameter;
                let expected = is_register && flow.is_live_after(last, it);
                assert_eq!(found.contains(&it.index()), expected, "{last} {it:?}\n{text}");
            }
            assert!(found.is_subset(&all), "{text}");
            live += found.len();
        }
    }
    assert!(live > 1_000, "{live}");
}

/// Results count even if the body does not name them, and memory does not count.
#[test]
fn only_registers_are_live() {
    for (text, expected) in [
        (".func (.reg .b32 d) f() { ret; }", &[&["d"][..]][..]),
        (".func (.param .b32 d) f() { ret; }", &[&[]]),
        (
            ".entry k(.param .u64 p) { .reg .pred q; .reg .b64 a; @q bra L; ld.param.u64 a, [p]; \
             L: st.global.b64 [a], a; }",
            &[&["a"], &["a"], &[]],
        ),
    ] {
        let tree = syntax::parse(text);
        let names = Names::of(&tree);
        let flow = Flow::of(&tree.functions().next().unwrap(), &names).unwrap();
        let name = |it: &Meaning| names.symbol(it.symbol()).name.text(text);
        let live = flow.live_out(&names);
        let found: Vec<Vec<&str>> = live.iter().map(|it| it.iter().map(name).collect()).collect();
        assert_eq!(found, expected, "{text}");
    }
}

/// ptxas 11.8 takes registers outside of functions in PTX 1.4, and then reads and writes them in
/// every function that is called.
#[test]
fn calls_share_the_registers_of_a_module() {
    let text = ".reg .b32 %g<3>;
        .func leaf() { .reg .b32 r; mov.b32 r, %g1; add.s32 %g1, r, r; ret; }
        .entry k() { .reg .b32 r; mov.b32 %g1, 1; call leaf; mov.b32 r, %g1; mov.b32 %g1, 2;
            @p call leaf; mov.b32 %g1, 3; exit; }";
    let tree = syntax::parse(text);
    let names = Names::of(&tree);
    let [leaf, kernel] = [0, 1]
        .map(|number| Flow::of(&tree.functions().nth(number).unwrap(), &names).expect("a body"));
    let shared = leaf.accesses(1).iter().find(|it| it.access.writes()).unwrap().meaning;
    assert_eq!(leaf.readers_of(1, shared), [leaf.len()], "the caller");
    assert!(leaf.live_out(&names)[0].contains(&shared));
    assert_eq!(kernel.readers_of(0, shared), [1, 2]);
    assert_eq!(kernel.definitions_reaching(2, shared).instructions, [0, 1]);
    assert_eq!(kernel.readers_of(3, shared), [4]);
    assert!(kernel.readers_of(5, shared).is_empty(), "nothing runs after `exit`");
    let local = kernel.accesses(2).iter().find(|it| it.access.writes()).unwrap().meaning;
    assert!(kernel.readers_of(2, local).is_empty());
    // So many calls and registers that their accesses would fill the memory.
    let writes = (0..2000).map(|at| format!("mov.b32 %g{at}, 1;"));
    let body: String = writes.chain((0..2000).map(|_| "call leaf;".into())).collect();
    let text = format!(".reg .b32 %g<2000>; .func leaf(); .func f() {{ {body} }}");
    let tree = syntax::parse(&text);
    let function = tree.functions().nth(1).expect("a function");
    assert!(Flow::of(&function, &Names::of(&tree)).is_none());
}

/// The caller reads the result at every place where the function may return: after the last
/// instruction, at a `ret`, and at a `ret` with a guard. After `exit` and `trap` no caller runs.
#[test]
fn the_caller_reads_results_at_every_return() {
    for (rest, readers) in [
        ("", &[1][..]),
        ("ret;", &[2]),
        ("@p ret; mov.b32 d, 2;", &[3]),
        ("@p bra L; mov.b32 d, 2; L: @p ret; mov.b32 d, 3;", &[5]),
        ("mov.b32 d, 2; @p ret;", &[]),
        ("L: @p bra L;", &[2]),
        ("L: bra L;", &[]),
        ("L: T: .branchtargets L; @p brx.idx a, T;", &[2]),
        ("@p bra L; L: mov.b32 d, 2;", &[]),
        ("exit;", &[]),
        ("trap;", &[]),
        ("@p exit;", &[2]),
        ("@p exit; mov.b32 d, 2;", &[]),
        ("@p bra L; exit; L: ret;", &[4]),
        (".func g() .noreturn; call g;", &[]),
        (".func g() .noreturn; @p call g;", &[2]),
    ] {
        let text =
            format!(".func (.reg .b32 d) f(.reg .pred p, .reg .b32 a) {{ mov.b32 d, a; {rest} }}");
        let tree = syntax::parse(&text);
        let names = Names::of(&tree);
        let flow = Flow::of(&tree.functions().next().unwrap(), &names).unwrap();
        let result = flow.accesses(0)[0].meaning;
        assert_eq!(flow.readers_of(0, result), readers, "{text}");
        assert_eq!(flow.is_live_after(0, result), !readers.is_empty(), "{text}");
    }
}

/// The effects on registers that the library finds for a row, in the notation of `effects.tsv`.
fn used_in(row: &effects::Row) -> String {
    let registers = effects::registers(&row.text);
    let body = effects::declarations(&registers) + &row.text;
    let text = effects::module(&row.target, [effects::kernel(0, &body)]);
    let tree = syntax::parse(&text);
    if !tree.errors().is_empty() {
        return format!("{:?}", tree.errors());
    }
    let names = Names::of(&tree);
    let kernel = tree.functions().last().expect("a kernel");
    let flow = Flow::of(&kernel, &names).expect("a body");
    assert!(!flow.is_opaque() || row.text.contains(".calltargets"), "{}", row.text);
    let all = || (0..flow.statements().len()).flat_map(|at| flow.accesses(at));
    let show = |register: &&str| {
        let mut own = all().filter(|it| it.span.text(&text) == *register).peekable();
        assert!(own.peek().is_some(), "{}: {register}", row.text);
        let (mut reads, mut writes) = (false, false);
        for it in own {
            reads |= it.access.reads() || it.is_partial;
            writes |= it.access.writes();
        }
        let sign = match (reads, writes) {
            (true, true) => "+",
            (true, false) => "",
            _ => "=",
        };
        format!("{sign}{register}")
    };
    registers.iter().map(show).collect::<Vec<_>>().join(" ")
}

#[test]
fn instructions_read_and_write_what_ptxas_shows() {
    let rows = effects::rows();
    assert!(rows.len() > 700);
    let mut wrong = Vec::new();
    for row in &rows {
        // The library says that an instruction reads all its registers. ptxas shows that some have
        // no effect, such as the fourth coordinate of three; `-` marks these.
        let (expected, found) = (row.effects.replace('-', ""), used_in(row));
        if found != expected {
            wrong.push(format!("{}\n    {expected}\n    {found}", row.text));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The number of functions with a body, and how many of these are opaque. In each function, the
/// accesses must be the uses that `Names` finds, and all opcodes must be known.
fn flows_of(text: &str, path: &str) -> [usize; 2] {
    let tree = syntax::parse(text);
    let names = Names::of(&tree);
    let mut counts = [0, 0];
    for function in tree.functions() {
        let Some(flow) = Flow::of(&function, &names) else { continue };
        counts[0] += 1;
        counts[1] += usize::from(flow.is_opaque());
        for (at, statement) in flow.statements().iter().enumerate() {
            let [start, end] = [statement.span().start, statement.span().end]
                .map(|bound| names.uses().partition_point(|it| it.span().start < bound));
            let inside = names.uses()[start..end].iter().filter(|it| it.meaning().is_some());
            let known = inside.map(Use::span);
            let found: Vec<Span> = flow.accesses(at).iter().map(|it| it.span).collect();
            assert_eq!(found, known.collect::<Vec<_>>(), "{path}: {}", statement.span().text(text));
            let both = flow.accesses(at).iter().find(|it| it.access == Access::ReadWrite);
            let opcode = flow.instruction(at).opcode().text(text);
            assert!(both.is_none() || opcode.starts_with("wgmma."), "{path}: {opcode}");
        }
    }
    counts
}

#[test]
fn real_modules_have_known_opcodes_and_branches() {
    let mut functions = 0;
    for path in ["ptx", "kernels", "regions", "readme"].into_iter().flat_map(ptx_files) {
        let text = decode(fs::read(&path).expect("it can be read"));
        let [count, opaque] = flows_of(&text, &path.display().to_string());
        functions += count;
        assert_eq!(opaque, 0, "{}", path.display());
    }
    assert!(functions > 300, "{functions}");
}
