//! The differences between two modules.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;
use std::fs;
use std::ops::Range;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use crate::normal::{OTHER_FLOATS, SAME_FLOATS, with_floats};
use crate::support::forms::{rows, texts};
use crate::support::outline::{Function, Kind, Outline, Statement, edited};
use crate::support::random::Random;
use crate::support::variant::{
    PIECES, Variant, braced, flattened, plain_run, renamed, retyped, without_debug,
};

use crate::support::{EDGES, ptx_files, samples};
use vptx::backend::ptx::RewriteOptions;
use vptx::diff::{
    Change, ChangeKind, DiffError, DiffOptions, Equivalence, Line, LineKind, Part, Side, Subject,
    diff, diff_with,
};
use vptx::isa::Target;
use vptx::source::{Span, decode};
use vptx::syntax::{TokenKind, statement_tokens};
use vptx::{Code, Instruction, Semantics};

/// The names and texts of real modules.
fn modules() -> Vec<(String, String)> {
    let read = |path: std::path::PathBuf| {
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        (name, decode(fs::read(&path).expect("it can be read")))
    };
    let all: Vec<_> = ptx_files("ptx").into_iter().map(read).collect();
    assert!(all.len() > 30, "{}", all.len());
    all
}

/// The real modules below 100,000 bytes, for tests that compare many pairs.
fn middling_modules() -> Vec<(String, String)> {
    let mut all = modules();
    all.retain(|(_, text)| text.len() < 100_000);
    all
}

fn differences(old: &str, new: &str) -> Vec<Change> {
    let changes = diff(old, new)
        .unwrap_or_else(|error| panic!("{:?}: {:?}", error.side(), error.diagnostics()));
    check_form(&changes, old, new);
    changes
}

/// Checks what must hold for the differences of any two texts.
fn check_form(changes: &[Change], old: &str, new: &str) {
    for change in changes {
        let sides = (change.old.is_some(), change.new.is_some());
        let expected = match change.kind {
            ChangeKind::Added => (false, true),
            ChangeKind::Removed => (true, false),
            _ => (true, true),
        };
        assert_eq!(sides, expected, "{change:?}");
        assert_eq!(change.hunks.is_empty(), change.kind == ChangeKind::Renamed, "{change:?}");
        for (part, text) in [(&change.old, old), (&change.new, new)] {
            let Some(part) = part else { continue };
            let there = text.get(part.span.range()).expect("a place in the text");
            assert!(there.contains(&part.name), "{part:?}");
            assert_eq!(part.name.is_empty(), change.subject == Subject::Module, "{part:?}");
        }
        for hunk in &change.hunks {
            let differs = |line: &Line| line.kind != LineKind::Same;
            assert!(hunk.lines.iter().any(differs), "{hunk:?}");
            for line in &hunk.lines {
                let sides = (line.old.is_some(), line.new.is_some());
                let expected = match line.kind {
                    LineKind::Removed => (true, false),
                    LineKind::Added => (false, true),
                    _ => (true, true),
                };
                assert_eq!(sides, expected, "{line:?}");
                for (span, text) in [(line.old, old), (line.new, new)] {
                    let there = span.map(|span| text.get(span.range()).expect("a place"));
                    assert!(there.is_none_or(|there| !there.trim().is_empty()), "{line:?}");
                }
            }
            let mut next = 0;
            for found in &hunk.equivalences {
                assert!(found.first >= next && found.first <= found.last, "{hunk:?}");
                let lines = hunk.lines.get(found.first..=found.last).expect("lines of the hunk");
                assert!(lines.iter().any(differs), "{hunk:?}");
                next = found.last + 1;
            }
        }
    }
}

/// The differences in functions. Other tests examine differences outside of functions.
fn in_functions(old: &str, new: &str) -> Vec<Change> {
    let mut changes = differences(old, new);
    changes.retain(|change| change.subject == Subject::Function);
    changes
}

/// The differences, with all statements of the functions that changed.
fn whole(old: &str, new: &str) -> Vec<Change> {
    let options = DiffOptions::default().with_context(usize::MAX);
    let changes = diff_with(old, new, options).expect("no errors");
    check_form(&changes, old, new);
    changes
}

fn lines(changes: &[Change]) -> impl Iterator<Item = &Line> {
    changes.iter().flat_map(|change| &change.hunks).flat_map(|hunk| &hunk.lines)
}

fn of_kind(changes: &[Change], kind: LineKind) -> Vec<&Line> {
    lines(changes).filter(|line| line.kind == kind).collect()
}

/// The numbers of lines that were removed, added, moved away and moved here.
fn kinds(changes: &[Change]) -> [usize; 4] {
    [LineKind::Removed, LineKind::Added, LineKind::MovedAway, LineKind::MovedHere]
        .map(|kind| of_kind(changes, kind).len())
}

/// A text of the differences, for a message.
fn told(changes: &[Change]) -> String {
    let mut text = String::new();
    for change in changes {
        let names = [&change.old, &change.new].map(|part| part.as_ref().map(|it| &it.name));
        let _ = writeln!(text, "{:?} {:?} {names:?}", change.subject, change.kind);
        for hunk in &change.hunks {
            for line in hunk.lines.iter().filter(|line| line.kind != LineKind::Same) {
                let _ = writeln!(text, "  {:?} {}", line.kind, line.text);
            }
        }
    }
    text.chars().take(1500).collect()
}

/// The texts of the tokens of a statement.
fn words(text: &str) -> Vec<&str> {
    statement_tokens(text).iter().map(|token| token.span().text(text)).collect()
}

/// The tokens of a statement other than names.
fn fixed_words(text: &str) -> Vec<&str> {
    let fixed = |token: &&vptx::syntax::Token| token.kind() != TokenKind::Ident;
    statement_tokens(text).iter().filter(fixed).map(|token| token.span().text(text)).collect()
}

/// Collects faults, so that one fault does not hide the others.
#[derive(Default)]
struct Faults {
    found: Vec<String>,
    cases: usize,
}

impl Faults {
    fn check(&mut self, holds: bool, what: impl FnOnce() -> String) {
        self.cases += 1;
        if !holds {
            self.found.push(what());
        }
    }

    /// Fails if there are faults, or too few cases.
    fn end(self, floor: usize) {
        let Faults { found, cases } = self;
        println!("{cases} cases");
        let first: Vec<&String> = found.iter().take(12).collect();
        assert!(found.is_empty(), "{} of {cases}: {first:#?}", found.len());
        assert!(cases >= floor, "only {cases} cases");
    }
}

// ------------------------------------------------------------ no difference

/// Whether a compiler numbered all registers of a module, and no data of the module names labels.
fn is_numbered(name: &str, text: &str) -> bool {
    let by_hand = ["declarations", "scopes_calls", "old_style", "odd_comments", "one_line"];
    !text.contains(".section") && !by_hand.iter().any(|start| name.starts_with(start))
}

#[test]
fn variants_do_not_differ() {
    let mut faults = Faults::default();
    let (mut braces, mut blocks) = (0, 0);
    for (at, (name, text)) in modules().iter().enumerate() {
        let seed = at as u64;
        let (with_braces, count) = braced(text, seed);
        braces += count;
        let (flat, count) = flattened(text);
        blocks += count;
        let mut others = vec![
            ("itself", text.clone()),
            ("renamed", renamed(text, seed)),
            ("retyped", retyped(text, seed)),
            ("braced", with_braces),
            ("flattened", flat),
            ("without debug data", without_debug(text)),
        ];
        if is_numbered(name, text) {
            others.push(("laid out", Variant::of(text, seed)));
            let all = renamed(&retyped(&braced(text, seed).0, seed), seed);
            others.push(("all", Variant::of(&all, seed)));
        }
        for (what, other) in others {
            for (one, two) in [(text, &other), (&other, text)] {
                let changes = differences(one, two);
                faults.check(changes.is_empty(), || format!("{name} {what}: {}", told(&changes)));
            }
        }
    }
    assert!(braces > 500 && blocks > 200, "{braces} {blocks}");
    faults.end(450);
}

#[test]
fn the_normal_form_does_not_differ() {
    let mut faults = Faults::default();
    for (name, text) in modules() {
        let normal = vptx::normalize(&text, &vptx::NormalOptions::default()).expect("no errors");
        for (one, two) in [(&text, &normal), (&normal, &text)] {
            let changes = differences(one, two);
            faults.check(changes.is_empty(), || format!("{name}: {}", told(&changes)));
        }
    }
    faults.end(60);
}

fn kernel(body: &str) -> String {
    format!(".version 8.5\n.target sm_90\n.visible .entry k(.param .u64 p) {{\n{body}\n}}\n")
}

#[test]
fn the_same_said_otherwise() {
    let pairs = [
        // Declarations that are split, merged, unused, or moved to an inner block.
        (
            ".reg .b32 a, b; mov.b32 a, 1; mov.b32 b, a;",
            ".reg .b32 %r<9>; .reg .b32 x; mov.b32 %r3, 1; mov.b32 %r08, %r3;",
        ),
        ("{ .reg .b32 a; mov.b32 a, 1; }", ".reg .b32 a; { mov.b32 a, 1; }"),
        ("{ .reg .b32 a; mov.b32 a, 1; }", ".reg .b32 b; mov.b32 b, 1;"),
        (
            ".reg .b32 a; mov.b32 a, 1; { .reg .b32 a; mov.b32 a, 2; }",
            ".reg .b32 a, b; mov.b32 a, 1; mov.b32 b, 2;",
        ),
        (
            "{ .reg .b32 %r<9>; mov.b32 %r1, 1; } { .reg .b32 %r<9>; mov.b32 %r1, 1; }",
            ".reg .b32 %q<5>; mov.b32 %q3, 1; mov.b32 %q2, 1;",
        ),
        ("{ { { ret; } } }", "ret;"),
        // Two names are exchanged.
        (
            ".reg .b32 a, b; mov.b32 a, 1; mov.b32 b, 2; add.u32 a, a, b;",
            ".reg .b32 a, b; mov.b32 b, 1; mov.b32 a, 2; add.u32 b, b, a;",
        ),
        // Types of the same width.
        (
            ".reg .b32 a; .reg .b64 b; mov.b32 a, 1; mov.b64 b, 1;",
            ".reg .u32 a; .reg .s64 b; mov.b32 a, 1; mov.b64 b, 1;",
        ),
        (".reg .f32 a; mov.f32 a, 1.5;", ".reg .b32 a; mov.f32 a, 1.5;"),
        // Labels, used and unused.
        ("L: bra L; M: ret;", "$x: bra $x; ret;"),
        ("bra L; { L: ret; } L: ret;", "bra M; { ret; } M: ret;"),
        ("bra A; A: ret; B: bra B;", "bra B; B: ret; A: bra A;"),
        // Variables with other names.
        (
            ".reg .b32 a; .shared .b32 t[4]; ld.shared.b32 a, [t+4];",
            ".reg .b32 b; .shared .b32 u[4]; ld.shared.b32 b, [u+4];",
        ),
        // Constants in other spellings.
        (
            ".reg .b32 a; mov.b32 a, 0x10; mov.b32 a, 020; mov.b32 a, 16U;",
            ".reg .b32 a; mov.b32 a, 16; mov.b32 a, 0b10000; mov.b32 a, 16;",
        ),
        (
            ".reg .f32 a; mov.f32 a, 0f3f800000; mov.f32 a, 1.5;",
            ".reg .f32 a; mov.f32 a, 0F3F800000; mov.f32 a, 0d3ff8000000000000;",
        ),
        (
            ".reg .b64 a; .reg .b32 b; ld.u32 b, [a+0x10]; st.u32 [a+4], 0x20;",
            ".reg .b64 a; .reg .b32 b; ld.u32 b, [a+16]; st.u32 [a+0x4], 32;",
        ),
        // Constants of video instructions.
        (
            ".reg .b32 a; vadd.u32.u32.u32 a, a, 16; vshl.u32.u32.u32.wrap a, a, 3;",
            ".reg .b32 a; vadd.u32.u32.u32 a, a, 0x10; vshl.u32.u32.u32.wrap a, a, 03;",
        ),
        // Debug data, comments and layout.
        (".loc 1 2 3\n ret; // x", "ret\n;"),
        (
            ".reg .pred %p; @ ! %p bra L; L: ret;",
            ".reg .pred q; /* y */ @!q bra  L;\nL:\n\n\tret /* z */ ;",
        ),
    ];
    for (one, two) in pairs {
        for (one, two) in [(one, two), (two, one)] {
            let changes = differences(&kernel(one), &kernel(two));
            assert!(changes.is_empty(), "{one}\n{two}\n{}", told(&changes));
        }
    }
}

/// ptxas 12.9 and 13.5 accept both spellings: the `;` of a `.pragma` does not end the header of a
/// function, and blanks may stand before a modifier.
#[test]
fn a_statement_ends_where_ptxas_says() {
    let module = |pragma: &str, mov: &str| {
        format!(
            ".version 8.0\n.target sm_90\n.entry k(.param .u64 p)\n{pragma}\n{{\n\
             .reg .b32 a; {mov} a, 1 ; ret;\n}}\n"
        )
    };
    let old = module(".pragma \"nounroll\";", "mov.b32");
    let same = module("  .pragma /* x */ \"nounroll\" ;", "mov .b32");
    assert_eq!(differences(&old, &same), []);
    let changes = differences(&old, &module("", "mov.b32"));
    assert_eq!(summary(&changes), ["Changed k k"]);
    let header = of_kind(&changes, LineKind::Removed)[0];
    assert_eq!(
        (header.depth, &header.text[..]),
        (0, ".entry k(.param .u64 p) .pragma \"nounroll\";")
    );
    let changes = differences(&old, &module(".pragma \"nounroll\";", "mov.u32"));
    let lines: Vec<_> =
        changes[0].hunks[0].lines.iter().map(|it| (it.depth, &it.text[..])).collect();
    let header = header.text.as_str();
    assert_eq!(lines, [(0, header), (1, "mov.b32 a, 1;"), (1, "mov.u32 a, 1;"), (1, "ret;")]);
}

#[test]
fn floats_are_compared_by_value() {
    for (is_same, pairs) in [(true, &SAME_FLOATS[..]), (false, &OTHER_FLOATS)] {
        for (one, two) in pairs {
            for (one, two) in [(one, two), (two, one)] {
                let changes = differences(&with_floats(one), &with_floats(two));
                assert_eq!(changes.is_empty(), is_same, "{one} {two}: {}", told(&changes));
            }
        }
    }
}

#[test]
fn another_meaning_is_a_difference() {
    let pairs = [
        ("bra L; L: ret; M: bra M;", "bra M; L: ret; M: bra M;"),
        (".reg .b32 a, b; mov.b32 a, b;", ".reg .b32 a; mov.b32 a, a;"),
        (
            ".reg .b32 a, b; mov.b32 a, 1; mov.b32 b, 2; st.u32 [a], b;",
            ".reg .b32 a, b; mov.b32 a, 1; mov.b32 b, 2; st.u32 [b], a;",
        ),
        (".pragma \"a\";", ".pragma \"b\";"),
        (".reg .b32 a; mov.b32 a, 1;", ".reg .b32 a; mov.b32 a, 2;"),
        (".reg .b32 a; mov.b32 a, 1;", ".reg .b32 a; mov.u32 a, 1;"),
        (".reg .pred p; @p ret;", ".reg .pred p; @!p ret;"),
        (".reg .pred p; @p ret;", "ret;"),
        (".reg .b32 a; mov.u32 a, %tid.x;", ".reg .b32 a; mov.u32 a, %tid.y;"),
        (".reg .b32 a; mov.u32 a, %tid.x;", ".reg .b32 a; mov.u32 a, %ntid.x;"),
        (".reg .f32 a; mov.f32 a, 1.5;", ".reg .f32 a; mov.f32 a, 1.25;"),
        (".shared .b32 t[4];", ".shared .b32 t[5];"),
        // ptxas reads a depth to compare with, or an offset.
        (
            ".reg .b32 %f<9>; tex.1d.v4.f32.f32 {%f0,%f1,%f2,%f3}, [%f4, {%f5}], %f6;",
            ".reg .b32 %f<6>; .reg .s32 %f6; tex.1d.v4.f32.f32 {%f0,%f1,%f2,%f3}, [%f4, {%f5}], %f6;",
        ),
        (
            ".reg .b32 %f<9>; tld4.r.2d.v4.f32.f32 {%f0,%f1,%f2,%f3}, [%f4, {%f5,%f5}], %f6;",
            ".reg .b32 %f<6>; .reg .s32 %f6; tld4.r.2d.v4.f32.f32 {%f0,%f1,%f2,%f3}, \
             [%f4, {%f5,%f5}], %f6;",
        ),
        // ptxas extends an address in `.s32` by its sign.
        (
            ".reg .pred p; .reg .u32 a; isspacep.global p, a;",
            ".reg .pred p; .reg .s32 a; isspacep.global p, a;",
        ),
        // The pragma belongs to the label `Q`.
        ("L: Q: .pragma \"nounroll\"; bra L;", "L: .pragma \"nounroll\"; bra L;"),
        // The inner register is not the outer register.
        (
            ".reg .b32 a; mov.b32 a, 1; { .reg .b32 a; mov.b32 a, 2; } st.u32 [a], a;",
            ".reg .b32 a; mov.b32 a, 1; { mov.b32 a, 2; } st.u32 [a], a;",
        ),
        // `%r1` and `%r10` are two registers, even if `%r10` is not in the range.
        (
            ".reg .b32 %r<9>; mov.b32 %r1, 1; mov.b32 %r10, 1;",
            ".reg .b32 %r<99>; mov.b32 %r1, 1; mov.b32 %r1, 1;",
        ),
    ];
    for (one, two) in pairs {
        for (one, two) in [(one, two), (two, one)] {
            let changes = differences(&kernel(one), &kernel(two));
            assert_eq!(changes.len(), 1, "{one}\n{two}\n{}", told(&changes));
            assert_eq!(changes[0].kind, ChangeKind::Changed, "{one}\n{two}");
            assert!(kinds(&changes).iter().sum::<usize>() > 0, "{one}\n{two}");
        }
    }
    // A declaration exports the function that is defined later.
    let declared = |linkage: &str| {
        let own = format!("{linkage}.func f(.reg .b32 x);\n.func f(.reg .b32 x)\n{{\nret;\n}}\n");
        format!("{}{own}", kernel("ret;"))
    };
    assert_eq!(differences(&declared(""), &declared(".extern ")), []);
    for linkage in [".visible ", ".weak "] {
        assert_ne!(differences(&declared(""), &declared(linkage)), [], "{linkage}");
        assert_eq!(differences(&declared(linkage), &declared(linkage)), [], "{linkage}");
    }
}

// ------------------------------------------------- inserted, deleted, changed

/// The numbers of the functions with at least so many instructions.
fn large_functions(outline: &Outline<'_>, least: usize) -> Vec<usize> {
    let is_large = |at: &usize| outline.functions[*at].instructions().count() >= least;
    (0..outline.functions.len()).filter(is_large).collect()
}

fn pick<'a, T>(numbers: &mut Random, from: &'a [T]) -> &'a T {
    &from[numbers.below(from.len())]
}

/// Instructions that occur in no module. `#` stands for a number.
const FRESH: [&str; 5] = [
    "add.u32 %fresh#, %fresh#, 987654321;",
    "vadd4.u32.u32.u32.sat %fresh#, %fresh7, %fresh8, 987654322;",
    "@%freshp st.global.u32 [987654323], %fresh#;",
    "prmt.b32 %fresh#, %fresh#, %fresh8, 54323;",
    "madc.hi.cc.s32 %fresh1, %fresh2, %fresh3, %fresh#;",
];

/// A text with fresh instructions at random places in functions, and these instructions.
fn with_fresh(source: &str, numbers: &mut Random, count: usize) -> Option<(String, Vec<String>)> {
    let outline = Outline::of(source);
    let functions = large_functions(&outline, 1);
    if functions.is_empty() {
        return None;
    }
    let mut edits: Vec<(Range<usize>, String)> = Vec::new();
    let mut fresh = Vec::new();
    for _ in 0..count {
        let number = *pick(numbers, &functions);
        let function = &outline.functions[number];
        let open = function.body.start + 1;
        let declaration = " .reg .b32 %fresh<9>; .reg .pred %freshp;";
        if !edits.iter().any(|(place, _)| *place == (open..open)) {
            edits.push((open..open, declaration.to_owned()));
        }
        let instructions: Vec<&Statement> = function.instructions().collect();
        let place = pick(numbers, &instructions).span.start;
        let digit = 1 + numbers.below(6);
        let text = pick(numbers, &FRESH).replace('#', &digit.to_string());
        edits.push((place..place, format!("{text}\n")));
        fresh.push(text);
    }
    Some((edited(source, edits), fresh))
}

/// The module with other names and sometimes in another layout.
fn disguised(name: &str, text: &str, seed: u64) -> String {
    let other = renamed(text, seed);
    if seed.is_multiple_of(2) && is_numbered(name, text) {
        Variant::of(&other, seed)
    } else {
        other
    }
}

#[test]
fn inserted_instructions_are_added() {
    let mut faults = Faults::default();
    let mut numbers = Random(3);
    for (seed, (name, text)) in modules().iter().cycle().take(samples(60) as usize).enumerate() {
        let count = 1 + numbers.below(5);
        let Some((new, fresh)) = with_fresh(text, &mut numbers, count) else { continue };
        let new = disguised(name, &new, seed as u64);
        let changes = in_functions(text, &new);
        let mut found: Vec<Vec<&str>> =
            of_kind(&changes, LineKind::Added).iter().map(|line| opcode(&line.text)).collect();
        let mut expected: Vec<Vec<&str>> = fresh.iter().map(|text| opcode(text)).collect();
        found.sort();
        expected.sort();
        let counts = changes.iter().map(Change::counts);
        let sum = counts.fold((0, 0), |sum, it| (sum.0 + it.0, sum.1 + it.1));
        let all_changed = changes.iter().all(|it| it.kind == ChangeKind::Changed);
        let holds = kinds(&changes) == [0, count, 0, 0]
            && found == expected
            && sum == (count, 0)
            && all_changed;
        faults.check(holds, || format!("{name}, seed {seed}: {fresh:?} {}", told(&changes)));
    }
    faults.end(55);
}

/// The opcode with its modifiers, after the guard.
fn opcode(statement: &str) -> Vec<&str> {
    let words = words(statement);
    let start = match words[..] {
        ["@", "!", ..] => 3,
        ["@", ..] => 2,
        _ => 0,
    };
    let end = words.iter().skip(start + 1).position(|word| !word.starts_with('.'));
    words[start..end.map_or(words.len(), |end| start + 1 + end)].to_vec()
}

/// Whether a statement can be deleted without effect on others. A jump may be the only use of its
/// label.
fn is_plain(text: &str) -> bool {
    !["bra", "brx", "call"].contains(&opcode(text)[0])
}

/// The inserted instruction is a copy of another one, except that its result is a fresh register.
#[test]
fn an_inserted_instruction_changes_no_others_however_alike() {
    let mut faults = Faults::default();
    let mut numbers = Random(8);
    let modules = middling_modules();
    for (seed, (name, text)) in modules.iter().cycle().take(samples(170) as usize).enumerate() {
        let outline = Outline::of(text);
        let functions = large_functions(&outline, 12);
        if functions.is_empty() {
            continue;
        }
        let function = &outline.functions[*pick(&mut numbers, &functions)];
        let all: Vec<&Statement> = function.instructions().collect();
        let at = numbers.below(all.len());
        let model = all[at];
        let result = outline.opcode(model) + 1;
        let result = (result..model.tokens.end).find(|it| outline.is_ident(*it));
        let Some(result) = result.filter(|it| outline.text(*it).starts_with('%')) else { continue };
        let first = model.span.start;
        let place = outline.bytes(result);
        let alike = edited(
            &text[model.span.clone()],
            vec![(place.start - first..place.end - first, "%fresh1".to_owned())],
        );
        let to = all[(at + numbers.below(4)).min(all.len() - 1)];
        if function.block_of(to) != function.block_of(model) || !is_plain(&alike) {
            continue;
        }
        let open = function.body.start + 1;
        let mut new = edited(
            text,
            vec![
                (open..open, ".reg .b32 %fresh<9>;".to_owned()),
                (to.span.end..to.span.end, format!("\n\t{alike}")),
            ],
        );
        if seed % 3 > 0 {
            new = renamed(&new, seed as u64);
        }
        let changes = in_functions(text, &new);
        let back = in_functions(&new, text);
        let holds = kinds(&changes) == [0, 1, 0, 0] && kinds(&back) == [1, 0, 0, 0];
        faults.check(holds, || {
            format!("{name}, seed {seed} {:?}: {alike} {}", kinds(&changes), told(&changes))
        });
    }
    // If many statements are alike, another alignment may be as good.
    let Faults { found, cases } = faults;
    assert!(cases >= 100 && found.len() * 100 <= cases, "{} of {cases}: {found:#?}", found.len());
}

/// Deletes instructions that are unlike all others in their function. The comparison must find
/// exactly these, even if nothing writes their registers now.
#[test]
fn deleted_instructions_are_removed() {
    let mut faults = Faults::default();
    let mut numbers = Random(4);
    let modules = middling_modules();
    for (seed, (name, text)) in modules.iter().cycle().take(samples(80) as usize).enumerate() {
        let outline = Outline::of(text);
        let functions = large_functions(&outline, 12);
        if functions.is_empty() {
            continue;
        }
        let count = 1 + numbers.below(5);
        let mut deleted: Vec<Range<usize>> = Vec::new();
        for _ in 0..60 {
            let function = &outline.functions[*pick(&mut numbers, &functions)];
            let all: Vec<&Statement> = function.instructions().collect();
            let own = pick(&mut numbers, &all);
            let span = own.span.clone();
            let is_new = deleted.len() < count && !deleted.contains(&span);
            if is_new && is_plain(&text[span.clone()]) && likes(&outline, function, own) == 1 {
                deleted.push(span);
            }
        }
        if deleted.is_empty() {
            continue;
        }
        let edits = deleted.iter().map(|span| (span.clone(), String::new())).collect();
        let mut new = edited(text, edits);
        if seed % 3 > 0 {
            new = disguised(name, &new, seed as u64);
        }
        let changes = in_functions(text, &new);
        let removed = of_kind(&changes, LineKind::Removed);
        let is_found = |span: &Range<usize>| {
            removed.iter().any(|line| line.old.is_some_and(|it| it.range() == *span))
        };
        let holds = kinds(&changes) == [deleted.len(), 0, 0, 0] && deleted.iter().all(is_found);
        faults.check(holds, || {
            let texts: Vec<&str> = deleted.iter().map(|span| &text[span.clone()]).collect();
            format!("{name}, seed {seed}: {texts:?} {}", told(&changes))
        });
    }
    faults.end(60);
}

/// The opcode of a statement, and its other tokens without names.
fn shape<'s>(outline: &'s Outline<'_>, statement: &'s Statement) -> impl Iterator<Item = &'s str> {
    let opcode = outline.opcode(statement);
    let is_kept = move |at: &usize| *at == opcode || !outline.is_ident(*at);
    statement.tokens.clone().filter(is_kept).map(|at| outline.text(at))
}

/// The number of instructions of a function that equal a statement except for names.
fn likes(outline: &Outline<'_>, function: &Function, statement: &Statement) -> usize {
    let is_like = |it: &&Statement| shape(outline, it).eq(shape(outline, statement));
    function.instructions().filter(is_like).count()
}

/// The tokens that are integers in the instructions of a function.
fn integers(outline: &Outline<'_>, function: &Function) -> Vec<usize> {
    let is_integer = |at: &usize| {
        let text = outline.text(*at);
        outline.tokens[*at].kind() == TokenKind::Number
            && text.bytes().all(|it| it.is_ascii_digit())
    };
    let tokens = function.instructions().flat_map(|it| it.tokens.clone());
    tokens.filter(is_integer).collect()
}

/// The text with a changed constant, the old constant, and the range of the old statement.
fn with_constant(source: &str, numbers: &mut Random) -> Option<(String, String, Range<usize>)> {
    let outline = Outline::of(source);
    let functions = large_functions(&outline, 5);
    let function = &outline.functions[*functions.get(numbers.below(functions.len().max(1)))?];
    let found = integers(&outline, function);
    let token = *found.get(numbers.below(found.len().max(1)))?;
    let statement = function.instructions().find(|it| it.tokens.contains(&token))?;
    let new = edited(source, vec![(outline.bytes(token), FRESH_NUMBER.to_owned())]);
    Some((new, outline.text(token).to_owned(), statement.span.clone()))
}

/// Like [`with_constant`], but changes an opcode.
fn with_opcode(source: &str, numbers: &mut Random) -> Option<(String, String, Range<usize>)> {
    let outline = Outline::of(source);
    let functions = large_functions(&outline, 5);
    let function = &outline.functions[*functions.get(numbers.below(functions.len().max(1)))?];
    let all: Vec<&Statement> = function.instructions().collect();
    let statement = pick(numbers, &all);
    let token = outline.opcode(statement);
    let new = edited(source, vec![(outline.bytes(token), FRESH_OPCODE.to_owned())]);
    is_plain(&source[statement.span.clone()])
        .then(|| (new, outline.text(token).to_owned(), statement.span.clone()))
}

const FRESH_NUMBER: &str = "987654321";
const FRESH_OPCODE: &str = "fresh";

/// Whether two texts of a statement are equal. A register that no other statement has may have
/// different names in the two texts.
fn same_but_lonely(source: &str, old: &Range<usize>, one: &str, two: &str) -> bool {
    let own = words(&source[old.clone()]);
    let is_lonely = |name: &str| {
        let outline = Outline::of(source);
        let around = outline.functions.iter().find(|it| it.body.contains(&old.start));
        let function = around.expect("a function around");
        let uses = function.instructions().flat_map(|it| outline.texts(it.tokens.clone()));
        uses.filter(|word| *word == name).count() == own.iter().filter(|it| **it == name).count()
    };
    let (one, two) = (words(one), words(two));
    let pairs = one.iter().zip(&two).zip(&own);
    one.len() == two.len()
        && own.len() == one.len()
        && pairs.into_iter().all(|((one, two), own)| one == two || is_lonely(own))
}

/// In each turn, changes one word of one statement.
fn one_word_changes(
    fresh: &str,
    change: impl Fn(&str, &mut Random) -> Option<(String, String, Range<usize>)>,
) -> Faults {
    let mut faults = Faults::default();
    let mut numbers = Random(5);
    for (seed, (name, text)) in modules().iter().cycle().take(samples(60) as usize).enumerate() {
        let Some((new, word, old)) = change(text, &mut numbers) else { continue };
        let new = renamed(&new, seed as u64);
        let changes = in_functions(text, &new);
        let holds = kinds(&changes) == [1, 1, 0, 0] && {
            let removed = of_kind(&changes, LineKind::Removed)[0];
            let added = of_kind(&changes, LineKind::Added)[0];
            let place = added.new.expect("a place").text(&new);
            // The removed statement is written with the new names.
            let back = added.text.replace(fresh, &word);
            removed.old.is_some_and(|it| it.range() == old)
                && words(&added.text) == words(place)
                && place.contains(fresh)
                && same_but_lonely(text, &old, &removed.text, &back)
                && (removed.new, added.old) == (None, None)
        };
        faults.check(holds, || format!("{name}, seed {seed}: {} {}", &text[old], told(&changes)));
    }
    faults
}

#[test]
fn a_changed_constant_is_one_line_on_each_side() {
    one_word_changes(FRESH_NUMBER, with_constant).end(50);
}

#[test]
fn a_changed_opcode_is_one_line_on_each_side() {
    one_word_changes(FRESH_OPCODE, with_opcode).end(45);
}

// --------------------------------------------------------------------- moved

/// A run of statements that moves to another place in its function.
struct Move {
    /// The range of the run, and the offset to which it moves.
    from: Range<usize>,
    to: usize,
    /// The ranges of the statements of the run.
    statements: Vec<Range<usize>>,
}

fn find_move(outline: &Outline<'_>, numbers: &mut Random, clear: bool) -> Option<Move> {
    let functions = large_functions(outline, 30);
    let text = |it: &Statement| &outline.source[it.span.clone()];
    for _ in 0..600 {
        let function = &outline.functions[*functions.get(numbers.below(functions.len().max(1)))?];
        let all = &function.statements;
        let (length, start) = (4 + numbers.below(5), numbers.below(all.len()));
        let to = numbers.below(all.len());
        // In another `{}` block, a name may mean something else.
        if function.block_of(&all[start]) != function.block_of(&all[to]) {
            continue;
        }
        let distance = if to > start { to.saturating_sub(start + length) } else { start - to };
        // The run must be the smaller part; otherwise the statements between could as well have
        // moved.
        if distance <= 2 * length || plain_run(function, start, length) < length {
            continue;
        }
        let block = &all[start..start + length];
        let is_unique =
            |it: &Statement| all.iter().filter(|other| text(other) == text(it)).count() == 1;
        let is_straight = block.iter().all(|it| is_plain(text(it)) && is_unique(it));
        if is_straight && all[to].kind == Kind::Instruction {
            let statements = block.iter().map(|it| it.span.clone()).collect();
            let from = block[0].span.start..block[length - 1].span.end;
            let crossed = if to > start { &all[start + length..to] } else { &all[to..start] };
            let is_free = is_apart(outline, block, crossed) && is_apart(outline, crossed, block);
            let is_singular = || block.iter().all(|it| likes(outline, function, it) == 1);
            if !clear || is_free && is_singular() {
                return Some(Move { from, to: all[to].span.start, statements });
            }
        }
    }
    None
}

/// Whether the registers that some statements write do not occur in other statements.
fn is_apart(outline: &Outline<'_>, ones: &[Statement], others: &[Statement]) -> bool {
    let names = |tokens: Range<usize>| {
        let names = tokens.filter(|at| outline.is_ident(*at));
        names.map(|at| outline.text(at)).collect::<Vec<_>>()
    };
    let mut written = Vec::new();
    for one in ones.iter().filter(|it| it.kind == Kind::Instruction) {
        let start = outline.opcode(one) + 1;
        let mut depth = 0;
        let end = (start..one.tokens.end).find(|at| {
            let text = outline.text(*at);
            depth += i32::from(text == "{") - i32::from(text == "}");
            depth == 0 && text == ","
        });
        written.extend(names(start..end.unwrap_or(one.tokens.end)));
    }
    !others.iter().any(|it| names(it.tokens.clone()).iter().any(|name| written.contains(name)))
}

impl Move {
    /// The text after the move.
    fn apply(&self, source: &str) -> String {
        let block = format!("{}\n", &source[self.from.clone()]);
        edited(source, vec![(self.from.clone(), String::new()), (self.to..self.to, block)])
    }

    /// The ranges of the statements after the move.
    fn places(&self) -> Vec<Range<usize>> {
        let length = self.from.len();
        let start = if self.to > self.from.start { self.to - length } else { self.to };
        let shifted = |it: &Range<usize>| it.start - self.from.start + start;
        self.statements.iter().map(|it| shifted(it)..shifted(it) + it.len()).collect()
    }
}

/// A function of short chains of instructions. No two instructions have the same constant.
fn chains(numbers: &mut Random) -> String {
    let mut body = ".reg .b64 %rd<2>; .reg .b32 %r<90>;\nld.param.u64 %rd1, [p];\n\
                    ld.global.u32 %r0, [%rd1];\n"
        .to_owned();
    let mut last = 0;
    for number in 1..50 + numbers.below(40) {
        let constant = 3 * number + 1000;
        if last > 0 && numbers.one_in(4) {
            let _ = writeln!(body, "st.global.u32 [%rd1+{constant}], %r{last};");
            last = 0;
            continue;
        }
        let opcode = *pick(numbers, &["add.u32", "xor.b32", "mul.lo.u32", "shl.b32", "max.s32"]);
        let _ = writeln!(body, "{opcode} %r{number}, %r{last}, {constant};");
        last = number;
    }
    kernel(&(body + "ret;"))
}

/// Moves runs of statements. If `clear`, no other statement equals one of the run except for names,
/// and the run shares no register that is written with the statements that it passes. A compiler
/// could make such moves.
fn blocks_move(clear: bool, is_renamed: bool, turns: usize) -> Faults {
    let mut faults = Faults::default();
    let mut numbers = Random(6);
    let mut modules = middling_modules();
    modules.extend((0..25).map(|at| (format!("chains {at}"), chains(&mut numbers))));
    for (seed, (name, text)) in modules.iter().cycle().take(turns).enumerate() {
        let outline = Outline::of(text);
        let Some(found) = find_move(&outline, &mut numbers, clear) else { continue };
        let mut new = found.apply(text);
        if is_renamed {
            new = renamed(&new, seed as u64);
        }
        let changes = in_functions(text, &new);
        let (away, here) =
            (of_kind(&changes, LineKind::MovedAway), of_kind(&changes, LineKind::MovedHere));
        let count = found.statements.len();
        let ranges = |lines: &[&Line], place: fn(&Line) -> Option<Span>| -> Vec<Range<usize>> {
            lines.iter().filter_map(|line| place(line)).map(Span::range).collect()
        };
        let holds = kinds(&changes) == [0, 0, count, count]
            && ranges(&away, |line| line.old) == found.statements
            && ranges(&here, |line| line.old) == found.statements
            && ranges(&away, |line| line.new) == ranges(&here, |line| line.new)
            && (is_renamed || ranges(&here, |line| line.new) == found.places())
            && here.iter().zip(&away).all(|(here, away)| {
                let there = here.new.expect("a place").text(&new);
                here.text == away.text && words(there) == words(&here.text)
            });
        faults.check(holds, || {
            let block = &text[found.from.clone()];
            format!("{name}, seed {seed}: {block} {}", told(&changes))
        });
    }
    faults
}

/// The statement that moves is the first that changed.
#[test]
fn a_statement_like_no_other_moves_alone() {
    let function = |body: &str| format!(".func f(.reg .b32 a) {{ .reg .b32 x, y, z; {body} }}");
    let stays = "shl.b32 y, a, 3; xor.b32 z, a, y; sub.u32 y, y, z;";
    let old = function(&format!("popc.b32 x, a; {stays}"));
    let new = function(&format!("{stays} popc.b32 x, a;"));
    let changes = diff(&old, &new).expect("both are PTX");
    assert_eq!(kinds(&changes), [0, 0, 1, 1], "{}", told(&changes));
}

#[test]
fn a_moved_block_moves() {
    blocks_move(true, false, 100).end(40);
}

#[test]
fn a_moved_block_moves_whatever_the_names() {
    blocks_move(true, true, 100).end(40);
}

/// A run passes statements on which it depends, or statements like its own. Other descriptions of
/// such a difference may be as good.
#[test]
fn a_block_out_of_its_order_moves_mostly() {
    let faults = blocks_move(false, false, 100);
    let (found, cases) = (faults.found.len(), faults.cases);
    assert!(cases > 50 && found * 10 < cases, "{found} of {cases}");
}

// ------------------------------------------------------------- whole functions

/// The text after several changes: fresh, deleted and changed instructions, and a moved run.
fn jumbled(source: &str, numbers: &mut Random) -> String {
    let mut text = source.to_owned();
    if let Some((new, _, _)) = with_constant(&text, numbers) {
        text = new;
    }
    let found = find_move(&Outline::of(&text), numbers, false);
    if let Some(found) = found.filter(|_| numbers.one_in(2)) {
        text = found.apply(&text);
    }
    let count = numbers.below(6);
    if let Some((new, _)) = with_fresh(&text, numbers, count) {
        text = new;
    }
    let outline = Outline::of(&text);
    let mut deleted = Vec::new();
    for function in &outline.functions {
        let is_deleted = |it: &&Statement| it.kind == Kind::Instruction && numbers.one_in(40);
        let spans = function.statements.iter().filter(is_deleted);
        deleted.extend(spans.map(|it| (it.span.clone(), String::new())));
    }
    edited(&text, deleted)
}

/// The ranges of the lines of one side of a change, in order.
fn places(change: &Change, side: Side) -> Vec<(Range<usize>, &Line)> {
    let own = match side {
        Side::Old => [LineKind::Same, LineKind::Removed, LineKind::MovedAway],
        Side::New => [LineKind::Same, LineKind::Added, LineKind::MovedHere],
    };
    let lines = change.hunks.iter().flat_map(|hunk| &hunk.lines);
    let place = |line: &Line| match side {
        Side::Old => line.old,
        Side::New => line.new,
    };
    let lines = lines.filter(|line| own.contains(&line.kind));
    lines.map(|line| (place(line).expect("a place").range(), line)).collect()
}

/// The statements of a function that a change must show: all except declarations of registers that
/// are not vectors, debug data, and labels that nothing uses and no `.pragma` follows.
fn shown(outline: &Outline<'_>, function: &Function) -> Vec<Range<usize>> {
    let is_used = |label: &str| {
        let others = function
            .statements
            .iter()
            .filter(|it| matches!(it.kind, Kind::Instruction | Kind::Directive | Kind::Variable));
        others.into_iter().any(|it| outline.texts(it.tokens.clone()).contains(&label))
    };
    let is_of_pragma = |label: &Statement| {
        let after = function.statements.iter().filter(|it| it.span.start > label.span.start);
        let is_pragma = |it: &&Statement| outline.text(it.tokens.start) == ".pragma";
        let mut ends = after.filter(|it| it.kind == Kind::Label || is_pragma(it));
        ends.next().is_some_and(|it| is_pragma(&it))
    };
    let is_shown = |it: &&Statement| match it.kind {
        Kind::Registers => matches!(outline.text(it.tokens.start + 1), ".v2" | ".v4"),
        Kind::Debug => false,
        Kind::Label => {
            // A prototype or table belongs to its label.
            outline.text(it.tokens.end).ends_with("targets")
                || outline.text(it.tokens.end) == ".callprototype"
                || is_used(outline.text(it.tokens.start))
                || is_of_pragma(it)
        }
        _ => true,
    };
    let head = std::iter::once(function.head.clone());
    head.chain(function.statements.iter().filter(is_shown).map(|it| it.span.clone())).collect()
}

/// Checks one side of a changed function. Returns the first fault.
fn check_side(change: &Change, side: Side, text: &str, outline: &Outline<'_>) -> Option<String> {
    let part = if side == Side::Old { &change.old } else { &change.new };
    let part = part.as_ref().expect("it is changed, so there");
    let range = part.span.range();
    let is_own = |it: &&Function| outline.text(it.name) == part.name;
    let function = outline.functions.iter().find(is_own).expect("a function of that name");
    if range.start > function.head.start || range.end < function.head.end {
        return Some(format!("{range:?} is not the place of {}", part.name));
    }
    let places = places(change, side);
    let whole = function.head.start..function.body.end;
    let mut end = whole.start;
    for (place, line) in &places {
        if place.start < end || place.end > whole.end || place.start >= place.end {
            return Some(format!("{side:?} {place:?} after {end}: {}", line.text));
        }
        end = place.end;
        let there = &text[place.clone()];
        let is_same = if side == Side::New {
            words(there) == words(&line.text)
        } else {
            // The names may be the new ones, and a line that is on both sides has the new text.
            let own = line.text.replace('\'', "");
            let is_label = there.ends_with(':');
            line.kind == LineKind::Same
                || (is_label || opcode(there) == opcode(&own))
                    && fixed_words(there) == fixed_words(&own)
        };
        if !is_same || line.text.contains('\n') {
            return Some(format!("{side:?} {there:?} is {:?}", line.text));
        }
        let statement = function.statements.iter().find(|it| it.span == *place);
        // The body counts as a block, too.
        let depth = statement.map_or(0, |it| it.depth + 1);
        let is_deep = line.kind == LineKind::Same && side == Side::Old;
        if !is_deep && usize::from(line.depth) != depth {
            return Some(format!("{there:?} is {} deep, not {depth}", line.depth));
        }
    }
    let found: Vec<Range<usize>> = places.into_iter().map(|it| it.0).collect();
    let expected = shown(outline, function);
    // Two labels in different blocks may have one name, and only one of them may be used.
    let is_known = |place: &&Range<usize>| {
        let own = &text[(*place).clone()];
        let is_same = |it: &&Statement| it.kind == Kind::Label && text[it.span.clone()] == *own;
        function.statements.iter().filter(is_same).count() < 2
    };
    let missing = expected.iter().filter(|it| !found.contains(it)).find(is_known);
    let extra = found.iter().filter(|it| !expected.contains(it)).find(is_known);
    let told = |what: &str, place: Option<&Range<usize>>| {
        place.map(|it| format!("{side:?} {what} {:?}", &text[it.clone()]))
    };
    told("lacks", missing).or(told("has", extra))
}

#[test]
fn whole_functions_are_in_order_and_complete() {
    let mut faults = Faults::default();
    let mut numbers = Random(7);
    for (seed, (name, text)) in modules().iter().cycle().take(samples(40) as usize).enumerate() {
        let mut new = jumbled(text, &mut numbers);
        if seed % 3 > 0 {
            new = renamed(&new, seed as u64);
        }
        if seed % 5 == 0 {
            new = flattened(&new).0;
        }
        let (old_outline, new_outline) = (Outline::of(text), Outline::of(&new));
        for change in whole(text, &new) {
            if change.subject == Subject::Function && change.kind == ChangeKind::Changed {
                let sides = [(Side::Old, &**text, &old_outline), (Side::New, &new, &new_outline)];
                for (side, text, outline) in sides {
                    let fault = check_side(&change, side, text, outline);
                    faults.check(fault.is_none() && change.hunks.len() == 1, || {
                        format!("{name}, seed {seed}: {} {fault:?}", change.hunks.len())
                    });
                }
                // Both ends of a move have the same ranges.
                let moved = |kind| {
                    let lines = change.hunks[0].lines.iter().filter(move |it| it.kind == kind);
                    let mut found: Vec<_> = lines.map(|it| (it.old, it.new, &it.text)).collect();
                    found.sort_by_key(|it| it.0.map(|span| span.start));
                    found
                };
                let (away, here) = (moved(LineKind::MovedAway), moved(LineKind::MovedHere));
                faults.check(away == here, || format!("{name}, seed {seed}: {away:?} {here:?}"));
                let [removed, added, away, here] = kinds(std::slice::from_ref(&change));
                let counts = (added + here, removed + away);
                faults.check(change.counts() == counts, || {
                    format!("{name}, seed {seed}: {:?}, not {counts:?}", change.counts())
                });
            }
        }
    }
    faults.end(350);
}

// ------------------------------------------------------------------ symmetry

#[test]
fn the_other_way_round_is_the_reverse() {
    let mut faults = Faults::default();
    let mut numbers = Random(9);
    let modules = middling_modules();
    for (seed, (name, text)) in modules.iter().cycle().take(samples(60) as usize).enumerate() {
        let new = match seed % 3 {
            0 => with_fresh(text, &mut numbers, 1).map(|it| it.0),
            1 => with_constant(text, &mut numbers).map(|it| it.0),
            _ => Some(jumbled(text, &mut numbers)),
        };
        let Some(new) = new else { continue };
        let new = renamed(&new, seed as u64);
        let (there, back) = (in_functions(text, &new), in_functions(&new, text));
        let parts = |changes: &[Change], is_old: bool| -> Vec<String> {
            let part = |it: &Change| {
                let part = if is_old { &it.old } else { &it.new };
                part.as_ref().map_or(String::new(), |part| format!("{} {:?}", part.name, part.span))
            };
            let mut found: Vec<String> = changes.iter().map(part).collect();
            found.sort();
            found
        };
        let mut holds = there.len() == back.len()
            && parts(&there, true) == parts(&back, false)
            && parts(&there, false) == parts(&back, true);
        // A single difference has only one description.
        if seed % 3 < 2 {
            let [removed, added, away, here] = kinds(&there);
            let texts = |changes: &[Change], kind| -> Vec<Vec<String>> {
                let lines = of_kind(changes, kind);
                lines
                    .iter()
                    .map(|it| opcode(&it.text).iter().map(ToString::to_string).collect())
                    .collect()
            };
            holds &= added > 0
                && kinds(&back) == [added, removed, here, away]
                && texts(&there, LineKind::Removed) == texts(&back, LineKind::Added)
                && texts(&there, LineKind::Added) == texts(&back, LineKind::Removed);
        }
        faults.check(holds, || {
            format!("{name}, seed {seed}: {} and back {}", told(&there), told(&back))
        });
    }
    faults.end(55);
}

/// Two calls are alike, and the statements before the first call change.
#[test]
fn code_that_repeats_itself_stays_in_its_place() {
    let text = |source: &str, r: char| {
        let text = "\
.version 8.0
.target sm_90
.func (.param .b32 out) fib(.param .b32 n)
{
    .reg .b32 %r<9>;
    .reg .pred %p;
    ld.param.u32 %r8, [#];
    setp.lt.s32 %p, %r8, 2;
    @%p bra L;
    add.s32 %r4, %r8, -1;
    {
        .param .b32 param0;
        st.param.b32 [param0+0], %r4;
        .param .b32 retval0;
        call.uni (retval0), fib, (param0);
        ld.param.b32 %r5, [retval0+0];
    }
    add.s32 %r6, %r8, -2;
    {
        .param .b32 param0;
        st.param.b32 [param0+0], %r6;
        .param .b32 retval0;
        call.uni (retval0), fib, (param0);
        ld.param.b32 %r7, [retval0+0];
    }
    add.s32 %r8, %r7, %r5;
L:
    st.param.b32 [out+0], %r8;
    ret;
}
";
        text.replace('#', source).replace("%r", &format!("%{r}"))
    };
    let old = text("n", 'r');
    for (source, r) in [("n+4", 'r'), ("n", 'q'), ("n+4", 'q')] {
        let changes = differences(&old, &text(source, r));
        let count = usize::from(source != "n");
        assert_eq!(kinds(&changes), [count, count, 0, 0], "{}", told(&changes));
    }
}

/// Two instructions are repeated many times, and an instruction far above changes.
#[test]
fn rows_alike_stay_in_their_place() {
    let text = |r: &str, constant: &str| {
        let mut body = format!(
            ".reg .b32 %r<999>;
shfl.sync.bfly.b32 %r162, %r161, 1, 31, {constant};
max.f32 %r163, %r161, %r162;
max.f32 %r167, %r165, %r166;
sub.f32 %r168, %r372, %r163;
sub.f32 %r169, %r373, %r163;
sub.f32 %r170, %r374, %r167;
sub.f32 %r171, %r375, %r167;
sub.f32 %r172, %r376, %r163;
sub.f32 %r198, %r402, %r167;
sub.f32 %r199, %r403, %r167;
"
        );
        for at in 0..5 {
            let (source, product, power) = (168 + at, 200 + 2 * at, 201 + 2 * at);
            let _ = writeln!(body, "mul.f32 %r{product}, %r{source}, 0f3FB8AA3B;");
            let _ = writeln!(body, "ex2.approx.f32 %r{power}, %r{product};");
        }
        kernel(&body).replace("%r", r)
    };
    let old = text("%r", "-1");
    for r in ["%r", "%q"] {
        assert!(differences(&old, &text(r, "-1")).is_empty());
        let changes = differences(&old, &text(r, "-2"));
        assert_eq!(kinds(&changes), [1, 1, 0, 0], "{r} {}", told(&changes));
    }
}

/// Three statements move to the end, and the statement before them goes.
#[test]
fn a_block_moves_from_behind_a_statement_that_goes() {
    let text = |numbers: &[u32]| {
        let store = |number: &u32| format!("st.global.u32 [p+{}], {number};\n", 4 * number);
        kernel(&numbers.iter().map(store).collect::<String>())
    };
    let changes = differences(&text(&[9, 1, 2, 3, 4, 5, 6, 7]), &text(&[4, 5, 6, 7, 1, 2, 3]));
    assert_eq!(kinds(&changes), [1, 0, 3, 3], "{}", told(&changes));
}

/// Two equal blocks move to two places.
#[test]
fn each_of_two_equal_blocks_moves_to_a_place_of_its_own() {
    let text = |blocks: [std::ops::Range<u32>; 5]| {
        let store = |number| format!("st.global.u32 [p+{}], {number};\n", 4 * number);
        kernel(&blocks.into_iter().flatten().map(store).collect::<String>())
    };
    let old = text([1..4, 1..4, 10..20, 20..30, 30..40]);
    let changes = differences(&old, &text([10..20, 1..4, 20..30, 1..4, 30..40]));
    assert_eq!(kinds(&changes), [0, 0, 6, 6], "{}", told(&changes));
}

/// Copies that differ only in their variable: without one of them, the others stay the same.
#[test]
fn variables_tell_statements_apart() {
    let variables: Vec<String> = (1..6).map(|at| format!(".global .u32 g{at};")).collect();
    let variables = variables.join("\n");
    let text = |numbers: &[u32]| {
        let copy = |at| format!("ld.global.u32 %r{at}, [g{at}];\nst.global.u32 [p], %r{at};\n");
        let body: String = numbers.iter().map(copy).collect();
        let head = ".reg .b64 p;\n.reg .b32 %r<9>;";
        format!(".version 8.0\n.target sm_90\n{variables}.entry k() {{\n{head}\n{body}}}\n")
    };
    let changes = differences(&text(&[1, 2, 3, 4, 5]), &text(&[1, 2, 4, 5]));
    assert_eq!(kinds(&changes), [2, 0, 0, 0], "{}", told(&changes));
}

/// The same, with a variable more at the start, and another copy at the end.
#[test]
fn variables_tell_statements_apart_wherever_they_are_declared() {
    let declare = |at: u32| format!(".global .u32 g{at};\n");
    let variables: String = (1..6).map(declare).collect();
    let text = |more: &str, numbers: [u32; 4]| {
        let load = |at| format!("ld.global.u32 %r{at}, [g{at}];\n");
        let body = numbers.map(load).concat();
        let head = format!(".version 8.0\n.target sm_90\n{more}{variables}");
        format!("{head}.entry k() {{\n.reg .b32 %r<9>;\n{body}}}\n")
    };
    let (old, new) = (text("", [1, 2, 3, 4]), text(".global .u32 g;\n", [2, 3, 4, 5]));
    let changes = in_functions(&old, &new);
    assert_eq!(kinds(&changes), [1, 1, 0, 0], "{}", told(&changes));
}

/// Only the old statement uses a variable, and the variable has a new name.
#[test]
fn removed_statements_have_the_new_names_of_variables() {
    let text = |name: &str, offset: u32| {
        format!(
            ".version 8.0\n.target sm_90\n.global .u32 {name};\n.global .u32 other;\n\
             .visible .entry k() {{\n.reg .b32 %r<9>;\nld.global.u32 %r2, [{name}+{offset}];\n\
             st.global.u32 [other], %r2;\n}}\n"
        )
    };
    let changes = differences(&text("old_name", 0), &text("new_name", 4));
    let texts: Vec<_> = lines(&changes).filter(|it| it.kind != LineKind::Same).collect();
    let texts: Vec<&str> = texts.iter().map(|line| &*line.text).collect();
    let expected = ["ld.global.u32 %r2, [new_name+0];", "ld.global.u32 %r2, [new_name+4];"];
    assert_eq!(texts, expected);
}

/// A register may have the name of the mnemonic. Only the register gets a new name.
#[test]
fn removed_statements_have_their_mnemonics() {
    let text = |name: &str, more: u32| {
        kernel(&format!(
            ".reg .b32 {name};\nmov.u32 {name}, 7;\nadd.u32 {name}, {name}, {more};\n\
             st.global.u32 [{name}], {name};"
        ))
    };
    let changes = differences(&text("add", 1), &text("sum", 2));
    let texts: Vec<_> = lines(&changes).filter(|it| it.kind != LineKind::Same).collect();
    let texts: Vec<&str> = texts.iter().map(|line| &*line.text).collect();
    assert_eq!(texts, ["add.u32 sum, sum, 1;", "add.u32 sum, sum, 2;"]);
}

// ----------------------------------------------------------------- functions

fn function(name: &str, body: &str) -> String {
    format!(".visible .func {name}(.reg .b64 p, .reg .b32 a)\n{{\n{body}\n}}\n")
}

fn module(parts: &[&str]) -> String {
    format!(".version 8.0\n.target sm_90\n.address_size 64\n{}", parts.concat())
}

/// A body that is unlike the bodies for other seeds.
fn body(seed: u32) -> String {
    let opcodes = ["add.u32", "xor.b32", "mul.lo.u32", "max.s32", "shl.b32", "sub.u32", "min.u32"];
    let mut text = String::new();
    for line in 0..8 {
        let opcode = opcodes[(seed * 3 + line * (seed % 5 + 1)) as usize % opcodes.len()];
        let _ = writeln!(text, "{opcode} a, a, {};", seed * 100 + line);
    }
    text + "st.global.u32 [p], a;\nret;"
}

/// The changes as texts: kind, old name, new name.
fn summary(changes: &[Change]) -> Vec<String> {
    let name = |part: &Option<Part>| part.as_ref().map_or("-".to_owned(), |it| it.name.clone());
    let line = |it: &Change| format!("{:?} {} {}", it.kind, name(&it.old), name(&it.new));
    changes.iter().map(line).collect()
}

#[test]
fn functions_are_paired() {
    let [one, two, three] = [1, 2, 3].map(body);
    let f = |name, body: &str| function(name, body);
    let (a, b, c) = (f("a", &one), f("b", &two), f("c", &three));
    let old = module(&[&a, &b]);
    let check = |new: &[&str], expected: &[&str]| {
        let new = module(new);
        let changes = differences(&old, &new);
        assert_eq!(summary(&changes), expected, "{new}\n{}", told(&changes));
        for change in &changes {
            assert_eq!(change.subject, Subject::Function);
            for (part, text) in [(&change.old, &old), (&change.new, &new)] {
                let Some(part) = part else { continue };
                let there = part.span.text(text);
                let own = format!(" {}(", part.name);
                assert!(there.contains(&own) && there.matches(".func").count() == 1, "{there}");
            }
        }
        changes
    };
    check(&[&a, &b], &[]);
    // The functions are in another order.
    check(&[&b, &a], &[]);
    let added = check(&[&a, &c, &b], &["Added - c"]);
    assert_eq!(added[0].counts(), (11, 0));
    let removed = check(&[&b], &["Removed a -"]);
    assert_eq!(removed[0].counts(), (0, 11));
    // The function has a new name.
    let renamed = check(&[&f("d", &one), &b], &["Renamed a d"]);
    assert_eq!((renamed[0].hunks.len(), renamed[0].counts()), (0, (0, 0)));
    // Names count more than bodies, so these functions are not renamed.
    check(&[&f("a", &two), &f("b", &one)], &["Changed a a", "Changed b b"]);
    // The function has a new name and another difference. Its head may count as a difference, too.
    let likely = f("e", &one.replace(" 100;", " 987654321;"));
    let changed = check(&[&likely, &b], &["Changed a e"]);
    let [removed, added, away, here] = kinds(&changed);
    assert!(removed == added && (1..3).contains(&added) && away + here == 0, "{}", told(&changed));
    // The functions are unlike. A removed function is listed before the next function that stayed.
    check(&[&c, &b], &["Added - c", "Removed a -"]);
    check(&[&b, &c], &["Removed a -", "Added - c"]);
    check(&[&c, &f("b", &three)], &["Added - c", "Removed a -", "Changed b b"]);
    check(&[], &["Removed a -", "Removed b -"]);
    // The visibility and the parameters of a function.
    let weak = a.replace(".visible", ".weak");
    assert_eq!(kinds(&check(&[&weak, &b], &["Changed a a"])), [1, 1, 0, 0]);
    let more = a.replace(".reg .b32 a)", ".reg .b32 a, .reg .b32 b)");
    assert_eq!(kinds(&check(&[&more, &b], &["Changed a a"])), [1, 1, 0, 0]);
}

/// One function repeats a statement that the other has once: this does not make them alike.
#[test]
fn repeated_statements_do_not_make_functions_alike() {
    let others = ["xor.b32", "mul.lo.u32", "max.s32", "shl.b32", "sub.u32", "min.u32", "max.u32"];
    let one = "add.u32 a, a, 1;\n".repeat(8);
    let other = others.map(|opcode| format!("{opcode} a, a, 1;\n")).concat();
    let (old, new) = (function("f", &one), function("g", &format!("add.u32 a, a, 1;\n{other}")));
    let changes = differences(&module(&[&old]), &module(&[&new]));
    assert_eq!(summary(&changes), ["Added - g", "Removed f -"]);
}

#[test]
fn real_functions_in_another_order_do_not_differ() {
    let mut faults = Faults::default();
    for (name, text) in modules() {
        // All functions are declared first, so that their definitions can stand in any order.
        let outline = Outline::of(&text);
        // An alias must stand after its function.
        if outline.functions.len() < 2 || text.contains(".alias") {
            continue;
        }
        let heads: Vec<&str> = outline
            .functions
            .iter()
            .map(|it| &text[it.head.clone()])
            .filter(|head| head.contains(".func"))
            .flat_map(|head| [head, ";\n"])
            .collect();
        let heads = heads.concat();
        let first = outline.functions[0].head.start;
        let text = edited(&text, vec![(first..first, heads)]);
        let outline = Outline::of(&text);
        let places: Vec<Range<usize>> =
            outline.functions.iter().map(|it| it.head.start..it.body.end).collect();
        let texts = places.iter().rev().map(|it| text[it.clone()].to_owned());
        let turned = edited(&text, places.iter().cloned().zip(texts).collect());
        let changes = differences(&text, &turned);
        faults.check(changes.is_empty(), || format!("{name} turned: {}", told(&changes)));
        // Removes one function.
        let gone = places.len() / 2;
        let without = edited(&text, vec![(places[gone].clone(), String::new())]);
        let changes = in_functions(&text, &without);
        let own = outline.text(outline.functions[gone].name);
        let expected = format!("Removed {own} -");
        faults.check(summary(&changes) == [expected], || format!("{name}: {}", told(&changes)));
        // Renames the function, at its calls as well.
        let named = (0..outline.tokens.len())
            .filter(|it| outline.text(*it) == own)
            .map(|it| (outline.bytes(it), "fresh_name".to_owned()))
            .collect();
        let found = summary(&in_functions(&text, &edited(&text, named)));
        let expected = format!("{own} fresh_name");
        let is_paired = |it: &&String| it.ends_with(&expected);
        let pairs: Vec<&String> = found.iter().filter(is_paired).collect();
        // A function that calls itself differs at these calls, if a call counts as different by its
        // name.
        let holds = pairs.len() == 1
            && found.iter().all(|it| !it.starts_with("Added") && !it.starts_with("Removed"));
        faults.check(holds, || format!("{name}: {found:?}"));
    }
    faults.end(60);
}

#[test]
fn five_thousand_functions_get_new_names() {
    let text = |start: &str| {
        let functions: Vec<String> = (0..5000)
            .map(|at| function(&format!("{start}{at}"), &format!("add.u32 a, a, {at};")))
            .collect();
        module(&[&functions.concat()])
    };
    let start = Instant::now();
    let changes = differences(&text("one_"), &text("two_"));
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
    assert_eq!(changes.len(), 5000);
    for (at, change) in changes.iter().enumerate() {
        assert_eq!(change.kind, ChangeKind::Renamed);
        let names = [&change.old, &change.new].map(|part| &part.as_ref().unwrap().name);
        assert_eq!(names, [&format!("one_{at}"), &format!("two_{at}")]);
    }
}

// --------------------------------------------------------- outside of functions

/// Edits of a text, and the lines that differ after them.
type Case = (&'static [(&'static str, &'static str)], &'static [&'static str]);

#[test]
fn modules_differ_outside_of_functions() {
    let old = "\
.version 8.0
.target sm_90
.address_size 64
.global .u32 inner = 5;
.visible .global .u32 outer[2] = {1, 2};
.const .f32 pi = 3.0;
.extern .func (.param .b32 r) there(.param .b64 q);
.visible .entry k(.param .u64 p)
{
    .reg .b32 %r<2>;
    ld.global.u32 %r1, [inner];
    st.global.u32 [outer+4], %r1;
    ld.const.u32 %r1, [pi];
}
";
    // Each case replaces parts of the text and lists the lines that differ.
    let cases: &[Case] = &[
        (&[("8.0", "8.1")], &["-.version 8.0", "+.version 8.1"]),
        (&[("sm_90", "sm_80")], &["-.target sm_90", "+.target sm_80"]),
        (&[("_size 64", "_size 32")], &["-.address_size 64", "+.address_size 32"]),
        // What replaces a directive stands below it.
        (
            &[("8.0", "8.1"), ("sm_90", "sm_80")],
            &["-.version 8.0", "+.version 8.1", "-.target sm_90", "+.target sm_80"],
        ),
        (&[("= 5", "= 6")], &["-.global .u32 inner = 5;", "+.global .u32 inner = 6;"]),
        (
            &[("{1, 2}", "{1, 3}")],
            &[
                "-.visible .global .u32 outer[2] = {1, 2};",
                "+.visible .global .u32 outer[2] = {1, 3};",
            ],
        ),
        (&[(".const .f", ".global .u8 more;\n.const .f")], &["+.global .u8 more;"]),
        (&[(".extern", ".extern .global .u8 more;\n.extern")], &["+.extern .global .u8 more;"]),
        // The names of internal variables do not count, because no other module can use them.
        (&[("inner", "other")], &[]),
        (&[("pi", "tau")], &[]),
        (&[("inner =", "other =")], &["-ld", "+ld"]),
        (&[("= 5", "= 0x5"), ("{1, 2}", "{ 0x1, 0b10 }")], &[]),
        (&[(".b64 q", ".b64 other"), (".b32 r)", ".b32 result)")], &[]),
        (
            &[("outer", "other")],
            &[
                "-.visible .global .u32 outer[2] = {1, 2};",
                "+.visible .global .u32 other[2] = {1, 2};",
                "-st.global.u32 [outer+4], %r1;",
                "+st.global.u32 [other+4], %r1;",
            ],
        ),
    ];
    for (edits, expected) in cases {
        let new = edits.iter().fold(old.to_owned(), |text, (from, to)| {
            assert!(text.contains(from), "{from}");
            text.replace(from, to)
        });
        let changes = differences(old, &new);
        let signed = |line: &Line| match line.kind {
            LineKind::Removed => Some(format!("-{}", line.text)),
            LineKind::Added => Some(format!("+{}", line.text)),
            LineKind::Same => None,
            _ => panic!("{edits:?}: {}", told(&changes)),
        };
        let found: Vec<String> = lines(&changes).filter_map(signed).collect();
        let holds = found.len() == expected.len()
            && found.iter().zip(*expected).all(|(found, start)| found.starts_with(start));
        assert!(holds, "{edits:?}\n{}", told(&changes));
        let outside = changes.iter().filter(|it| it.subject == Subject::Module);
        for change in outside {
            assert_eq!(change.kind, ChangeKind::Changed);
            let names = [&change.old, &change.new].map(|it| it.as_ref().map(|it| &*it.name));
            assert_eq!(names, [Some(""), Some("")]);
        }
    }
}

/// Other modules or the host know these variables by name.
#[test]
fn variables_that_others_know_have_their_names() {
    let memory = [".global .u32 #;", ".const .b8 #[4];", ".shared .align 8 .b8 #[16];"];
    let linked = [".visible", ".weak", ".common", ".extern"];
    let linked = linked.iter().flat_map(|kind| memory.map(|it| format!("{kind} {it}")));
    let opaque = [".texref", ".samplerref", ".surfref"].map(|it| format!(".global {it} #;"));
    for declaration in linked.chain(opaque) {
        for uses in ["", "mov.u64 %r1, #;"] {
            let text = |name: &str| {
                let body = format!(".reg .b64 %r<9>; {uses} ret;");
                (kernel(&body) + &declaration + "\n").replace('#', name)
            };
            let changes = differences(&text("one"), &text("two"));
            let count = 1 + usize::from(!uses.is_empty());
            assert_eq!(kinds(&changes), [count, count, 0, 0], "{declaration} {}", told(&changes));
        }
    }
}

/// The launch of a kernel sets the size of this memory, and its name has no meaning.
#[test]
fn names_of_dynamic_shared_memory_make_no_difference() {
    let text = |name: &str, size: &str| {
        let body = format!(".reg .b32 %r<9>;\nmov.u32 %r1, {name};\nret;");
        format!("{}.extern .shared .align 16 .b8 {name}[{size}];\n", kernel(&body))
    };
    assert_eq!(differences(&text("one", ""), &text("two", "")), []);
    assert_eq!(kinds(&differences(&text("one", "4"), &text("two", "4"))), [2, 2, 0, 0]);
}

/// Compilers number internal variables in order. If one is added, each later variable gets the name
/// that its successor had.
#[test]
fn an_internal_variable_more_changes_no_others() {
    let text = |strings: &[&str]| {
        let (mut variables, mut uses) = (String::new(), String::new());
        for (at, string) in strings.iter().enumerate() {
            let name = if at == 0 { "$str".into() } else { format!("$str${at}") };
            let bytes: Vec<String> = string.bytes().map(|byte| byte.to_string()).collect();
            let bytes = bytes.join(", ");
            let _ = writeln!(variables, ".global .align 1 .b8 {name}[2] = {{{bytes}}};");
            let first = string.as_bytes()[0];
            let _ = writeln!(uses, "mov.u64 %r2, {name};\nst.global.u64 [%r1+{first}], %r2;");
        }
        let body = format!(".reg .b64 %r<9>;\nld.param.u64 %r1, [p];\n{uses}ret;");
        kernel(&body).replace(".visible", &format!("{variables}.visible"))
    };
    let old = text(&["ab", "cd", "ef"]);
    for (new, expected) in [
        (&["ab", "cd", "ef", "gh"][..], [0, 3, 0, 0]),
        (&["gh", "ab", "cd", "ef"], [0, 3, 0, 0]),
        (&["ab", "gh", "cd", "ef"], [0, 3, 0, 0]),
        (&["cd", "ef"], [3, 0, 0, 0]),
        (&["ab", "ef"], [3, 0, 0, 0]),
    ] {
        let changes = differences(&old, &text(new));
        assert_eq!(kinds(&changes), expected, "{new:?}\n{}", told(&changes));
    }
}

#[test]
fn internal_variables_swap_their_names() {
    let text = |one: &str, two: &str| {
        let head = ".version 8.0\n.target sm_90\n.address_size 64\n";
        let uses = format!("ld.global.u32 %r1, [{one}];\nld.const.u32 %r2, [{two}];");
        format!(
            "{head}.global .u32 {one} = 5;\n.const .f32 {two} = 3.0;\n\
             .visible .entry k() {{\n.reg .b32 %r<9>;\n{uses}\n}}\n"
        )
    };
    for (one, two) in [("b", "a"), ("b", "c"), ("c", "a")] {
        let changes = differences(&text("a", "b"), &text(one, two));
        assert!(changes.is_empty(), "{one} {two} {}", told(&changes));
    }
}

/// Their order makes no difference.
#[test]
fn internal_variables_that_are_declared_alike_keep_their_names() {
    let text = |variables: [&str; 2]| {
        let [one, two] = variables.map(|name| format!(".global .u32 {name};\n"));
        let body = ".reg .b32 %r<9>;\nld.global.u32 %r1, [x];\nst.global.u32 [x], %r1;\nret;";
        kernel(body).replace(".visible", &format!("{one}{two}.visible"))
    };
    assert_eq!(differences(&text(["x", "y"]), &text(["y", "x"])), []);
}

/// One declaration with several internal variables.
#[test]
fn variables_of_a_list_have_no_names_either() {
    let text = |one: &str, two: &str| {
        format!(
            ".version 8.0\n.target sm_90\n.const .s32 {one} = 7, {two} = 0x7f;\n\
             .visible .entry k() {{\n.reg .b32 %r<9>;\nld.const.u32 %r2, [{two}];\n}}\n"
        )
    };
    let changes = differences(&text("a", "b"), &text("c", "d"));
    assert!(changes.is_empty(), "{}", told(&changes));
    let changes = differences(&text("a", "b"), &text("b", "a"));
    assert!(changes.is_empty(), "{}", told(&changes));
}

// -------------------------------------------------------------- equivalences

/// A module with one function for each statement. The statement uses `a`, `b`, `c` and `d`.
fn module_of(statements: &[String]) -> String {
    let mut text = ".version 8.8\n.target sm_90\n".to_owned();
    for (at, statement) in statements.iter().enumerate() {
        let _ = writeln!(
            text,
            ".visible .entry f{at}()\n{{\n    .reg .b32 a, b, c, d;\n    .reg .pred p;\n    \
             {statement}\n    st.global.u32 [d], d;\n}}"
        );
    }
    text
}

/// `None` unless the comparison claims for all differing lines of a change that they compute the
/// same; otherwise whether this is proven or only tried. Each range that is claimed starts and ends
/// with a line that differs.
fn equivalence(change: &Change) -> Option<bool> {
    let mut proven = true;
    for hunk in &change.hunks {
        for it in &hunk.equivalences {
            let differs = |at: usize| hunk.lines[at].kind != LineKind::Same;
            assert!(differs(it.first) && differs(it.last), "{it:?} {:?}", hunk.lines);
        }
        for (at, line) in hunk.lines.iter().enumerate() {
            if line.kind != LineKind::Same {
                let around = |it: &&Equivalence| (it.first..=it.last).contains(&at);
                proven &= hunk.equivalences.iter().find(around)?.proven;
            }
        }
    }
    Some(proven)
}

/// The changes of the functions `f0`, `f1`, …; `None` for an unchanged function.
fn by_function(old: &str, new: &str, count: usize) -> Vec<Option<Change>> {
    let mut found: Vec<Option<Change>> = vec![None; count];
    for change in differences(old, new) {
        let name = &change.new.as_ref().expect("no function goes").name;
        let at: usize = name[1..].parse().expect("its number");
        found[at] = Some(change);
    }
    found
}

/// The words of three operands: edges of lanes, or random ones.
fn some_words(random: &mut Random) -> [u32; 3] {
    let mut word = || {
        if random.one_in(2) { random.next() as u32 } else { *random.pick(&EDGES) }
    };
    [word(), word(), word()]
}

/// Texts of every form with sampled parts and lanes.
fn sample(random: &mut Random, odds: usize) -> Vec<String> {
    let all = rows().flat_map(|(form, mnemonic)| texts(form, mnemonic));
    all.filter(|_| random.one_in(odds)).collect()
}

fn rewritten(text: &str, semantics: Semantics) -> String {
    let (module, _) = vptx::parse(text);
    let options = RewriteOptions::default().with_all(true).with_semantics(semantics);
    vptx::rewrite(&module, &options).expect("a target").text()
}

/// Statements whose results nothing reads are not said to compute the same.
#[test]
fn unread_results_are_not_claimed_to_be_equal() {
    for [one, two] in [
        ["mov.u32 a, 1;", "mov.u32 a, 2;"],
        ["vadd4.u32.u32.u32 a, b, b, b;", "vsub4.s32.s32.s32.sat a, b, b, b;"],
        ["setp.lt.s32 p, b, c;", "setp.lt.u32 p, b, c;"],
    ] {
        let changes = differences(&module_of(&[one.into()]), &module_of(&[two.into()]));
        assert_eq!(equivalence(&changes[0]), None, "{one} {two}");
    }
}

/// Other functions may read a register that is declared outside of functions.
#[test]
fn registers_of_modules_are_not_claimed_to_be_equal() {
    let with = |one: &str| {
        let own = format!("{one} add.u32 d, a, b;");
        format!(
            "{}.func g()\n{{\nst.u32 [R], R;\nret;\n}}\n",
            module_of(&[own]).replacen(".visible", ".reg .b32 R;\n.visible", 1)
        )
    };
    let changes = differences(&with("mov.b32 R, a;"), &with("mov.b32 R, b;"));
    assert_eq!(equivalence(&changes[0]), None, "{}", told(&changes));
    let changes = differences(&with("mov.b32 d, a;"), &with("mov.b32 d, b;"));
    assert!(!changes.is_empty());
}

/// Each video instruction is proven equal to its replacement.
#[test]
fn replacements_are_proven_equal() {
    let mut random = Random(11);
    let mut statements = sample(&mut random, 100);
    for (at, statement) in statements.iter_mut().enumerate() {
        if at % 5 == 0 {
            *statement = format!("{}{statement}", ["@p ", "@!p "][at % 2]);
        }
    }
    let old = module_of(&statements);
    let new = rewritten(&old, Semantics::CURRENT);
    let mut faults = Faults::default();
    let mut not_proven = Vec::new();
    for (statement, change) in statements.iter().zip(by_function(&old, &new, statements.len())) {
        let found = change.as_ref().and_then(equivalence);
        let replaced = change.as_ref().is_some_and(|it| {
            let [removed, added, away, here] = kinds(std::slice::from_ref(it));
            removed == 1 && added > 0 && away + here == 0
        });
        faults.check(replaced && found.is_some(), || format!("{statement}: {found:?}"));
        if found == Some(false) {
            not_proven.push((statement, change.expect("it is found")));
        }
    }
    println!("{} not proven", not_proven.len());
    // These instructions combine a lane with itself: the difference is 0, and the maximum is either
    // operand. Their replacement is a copy.
    assert!(not_proven.len() * 100 < statements.len(), "{}", not_proven.len());
    for (statement, change) in not_proven {
        let added: Vec<&str> = of_kind(std::slice::from_ref(&change), LineKind::Added)
            .iter()
            .map(|it| &*it.text)
            .collect();
        assert!(added.len() == 1 && added[0].contains("mov.b32"), "{statement}: {added:?}");
    }
    faults.end(3000);
}

/// Each target has other replacements, and all of them are proven equal.
#[test]
fn replacements_for_any_target_are_proven_equal() {
    let mut faults = Faults::default();
    let (mut proven, mut tried) = (0, 0);
    for (&target, seed) in Target::measured().iter().zip(20..) {
        let statements = sample(&mut Random(seed), 1000);
        let old = module_of(&statements);
        let (module, _) = vptx::parse(&old);
        let options = RewriteOptions::default().with_all(true).with_target(Some(target));
        let new = vptx::rewrite(&module, &options).expect("a target").text();
        for (statement, change) in statements.iter().zip(by_function(&old, &new, statements.len()))
        {
            let found = change.as_ref().and_then(equivalence);
            faults.check(change.is_none() || found.is_some(), || format!("{target}: {statement}"));
            proven += usize::from(found == Some(true));
            tried += usize::from(found == Some(false));
        }
    }
    println!("{proven} proven, {tried} not");
    assert!(tried * 100 < proven, "{proven} proven, {tried} not");
    faults.end(1000);
}

/// An instruction is not called equal to the replacement of another instruction whose results
/// differ.
#[test]
fn replacements_of_others_are_not_equal() {
    let mut random = Random(12);
    let statements = sample(&mut random, 100);
    let number = |text: &str| -> Instruction { text.parse().expect("legal") };
    // Another instruction that is near in the table of forms; its mnemonic may differ.
    let others: Vec<String> = (0..statements.len())
        .map(|at| statements[(at + 1 + random.below(3)).min(statements.len() - 1)].clone())
        .collect();
    let old = module_of(&statements);
    let new = rewritten(&module_of(&others), Semantics::CURRENT);
    let mut faults = Faults::default();
    let mut equal = 0;
    let changes = by_function(&old, &new, statements.len());
    for ((one, other), change) in statements.iter().zip(&others).zip(changes) {
        let programs = [one, other].map(|it| number(it).lower(Semantics::CURRENT));
        let differ = (0..200).any(|_| {
            let [a, b, c] = some_words(&mut random);
            programs[0].eval(a, b, c) != programs[1].eval(a, b, c)
        });
        let found = change.as_ref().and_then(equivalence);
        if differ {
            faults.check(change.is_some() && found.is_none(), || {
                format!("{one} {other}: {found:?} {}", told(change.as_slice()))
            });
        } else {
            equal += usize::from(found.is_some());
        }
    }
    println!("{equal} equal");
    faults.end(2500);
}

/// An instruction is not called equal to its replacement for another semantics if the results
/// differ.
#[test]
fn replacements_of_other_semantics_are_not_equal() {
    let mut random = Random(13);
    let statements = sample(&mut random, 200);
    let old = module_of(&statements);
    let mut faults = Faults::default();
    let mut equal = 0;
    for semantics in [Semantics::Manual, Semantics::Ptxas12] {
        let new = rewritten(&old, semantics);
        let changes = by_function(&old, &new, statements.len());
        for (statement, change) in statements.iter().zip(changes) {
            let instruction: Instruction = statement.parse().expect("legal");
            let [one, other] =
                [Semantics::CURRENT, semantics].map(|semantics| instruction.lower(semantics));
            let differ = (0..200).any(|_| {
                let [a, b, c] = some_words(&mut random);
                one.eval(a, b, c) != other.eval(a, b, c)
            });
            let found = change.as_ref().and_then(equivalence);
            if differ {
                faults.check(found.is_none(), || format!("{statement} {semantics}: {found:?}"));
            } else {
                equal += usize::from(found.is_some());
            }
        }
    }
    println!("{equal} equal");
    assert!(equal > 1500, "{equal}");
    faults.end(60);
}

/// Runs statements on 32-bit registers as the manual says. A register that was not written has a
/// value that depends on its name and the seed. `None` if the function does not know a statement.
fn run<'t>(statements: &[&'t str], seed: u64, words: &[u32]) -> Option<HashMap<&'t str, u32>> {
    let mut values: HashMap<&str, u32> = HashMap::new();
    for statement in statements {
        step(statement, &mut values, seed, words)?;
    }
    Some(values)
}

/// The value of a register before the first statement.
fn first_value(name: &str, seed: u64, words: &[u32]) -> u32 {
    let sum = name.bytes().fold(seed, |sum, byte| sum.wrapping_mul(131).wrapping_add(byte.into()));
    let mut random = Random(sum);
    let is_predicate = name.starts_with('q');
    match random.below(3) {
        _ if is_predicate => random.below(2) as u32,
        0 => random.next() as u32,
        1 => *random.pick(&EDGES),
        _ => *random.pick(words),
    }
}

/// The guard of a statement, its opcode and its operands.
fn parts(statement: &str) -> (Option<(&str, bool)>, &str, Vec<&str>) {
    let (guard, rest) = match statement.strip_prefix('@') {
        Some(rest) => {
            let (guard, rest) = rest.split_once(' ').expect("an instruction after the guard");
            (Some((guard.trim_start_matches('!'), !guard.starts_with('!'))), rest)
        }
        None => (None, statement),
    };
    let (opcode, operands) = rest.trim_end_matches(';').split_once(' ').unwrap_or((rest, ""));
    (guard, opcode, operands.split(',').map(str::trim).collect())
}

fn step<'t>(
    statement: &'t str,
    values: &mut HashMap<&'t str, u32>,
    seed: u64,
    words: &[u32],
) -> Option<()> {
    let (guard, opcode, operands) = parts(statement);
    let value = |text: &str| {
        let digits = text.strip_prefix("0x").map(|digits| u32::from_str_radix(digits, 16));
        let number = digits.unwrap_or_else(|| text.parse());
        let signed = || text.parse::<i32>().map(i32::cast_unsigned);
        let known = |_| values.get(text).copied().unwrap_or(first_value(text, seed, words));
        number.or_else(|_| signed()).unwrap_or_else(known)
    };
    if guard.is_some_and(|(name, wanted)| (value(name) != 0) != wanted) {
        return Some(());
    }
    let sources: Vec<u32> = operands[1..].iter().map(|it| value(it)).collect();
    let at = |number: usize| sources.get(number).copied().unwrap_or(0);
    let [a, b, c] = [at(0), at(1), at(2)];
    let [sa, sb] = [a.cast_signed(), b.cast_signed()];
    let result = match opcode {
        "mov.b32" => a,
        "add.u32" => a.wrapping_add(b),
        "sub.u32" => a.wrapping_sub(b),
        "mul.lo.u32" => a.wrapping_mul(b),
        "mad.lo.u32" => a.wrapping_mul(b).wrapping_add(c),
        "and.b32" => a & b,
        "or.b32" => a | b,
        "xor.b32" => a ^ b,
        "not.b32" => !a,
        "neg.s32" => a.wrapping_neg(),
        "shl.b32" => a.checked_shl(b).unwrap_or(0),
        "shr.u32" => a.checked_shr(b).unwrap_or(0),
        "shr.s32" => (sa >> b.min(31)).cast_unsigned(),
        "min.u32" => a.min(b),
        "max.u32" => a.max(b),
        "min.s32" => sa.min(sb).cast_unsigned(),
        "max.s32" => sa.max(sb).cast_unsigned(),
        "setp.lt.u32" => u32::from(a < b),
        "setp.le.u32" => u32::from(a <= b),
        "setp.gt.s32" => u32::from(sa > sb),
        "setp.ge.s32" => u32::from(sa >= sb),
        "setp.eq.u32" => u32::from(a == b),
        "setp.ne.u32" => u32::from(a != b),
        "selp.b32" => {
            if c != 0 {
                a
            } else {
                b
            }
        }
        _ if opcode.starts_with('v') => {
            // Only the number of operands matters, not their names.
            let names = ["d", "a", "b", "c"][..operands.len()].join(", ");
            let instruction: Instruction = format!("{opcode} {names};").parse().ok()?;
            instruction.lower(Semantics::CURRENT).eval(a, b, c)
        }
        _ => return None,
    };
    values.insert(operands[0], result);
    Some(())
}

/// The registers that statements read before they write them.
fn live<'t>(statements: &[&'t str]) -> HashSet<&'t str> {
    let (mut found, mut written) = (HashSet::new(), HashSet::new());
    for statement in statements {
        let (guard, opcode, operands) = parts(statement);
        let is_store = opcode.starts_with("st.");
        let reads = operands[usize::from(!is_store)..].iter().chain(guard.as_ref().map(|it| &it.0));
        found.extend(reads.filter(|it| !written.contains(*it)).copied());
        if guard.is_none() && !is_store {
            written.insert(operands[0]);
        }
    }
    found
}

const TWO_SOURCES: [&str; 16] = [
    "add.u32",
    "sub.u32",
    "mul.lo.u32",
    "and.b32",
    "or.b32",
    "xor.b32",
    "shl.b32",
    "shr.u32",
    "shr.s32",
    "min.u32",
    "max.u32",
    "min.s32",
    "max.s32",
    "vadd.s32.s32.s32.sat",
    "vmin.u32.u32.u32",
    "vsub.u32.u32.u32",
];
const COMPARISONS: [&str; 6] =
    ["setp.lt.u32", "setp.le.u32", "setp.gt.s32", "setp.ge.s32", "setp.eq.u32", "setp.ne.u32"];
const CONSTANTS: [&str; 10] = ["0", "1", "2", "4", "31", "255", "65535", "1000", "77777", "-1"];

/// A random instruction over the registers `x0` to `x5` and predicates `q0` and `q1`.
pub(crate) fn instruction(random: &mut Random) -> String {
    let register = |random: &mut Random| format!("x{}", random.below(6));
    let source = |random: &mut Random| {
        if random.one_in(3) {
            (*random.pick(&CONSTANTS)).to_owned()
        } else {
            format!("x{}", random.below(6))
        }
    };
    let (d, a, b, c) = (register(random), register(random), source(random), source(random));
    let q = random.below(2);
    let guard = match random.below(12) {
        0 => format!("@q{q} "),
        1 => format!("@!q{q} "),
        _ => String::new(),
    };
    match random.below(12) {
        0 => format!("{guard}mov.b32 {d}, {b};"),
        1 => format!("{guard}mad.lo.u32 {d}, {a}, {b}, {c};"),
        2 => format!("{guard}{} {d}, {a};", random.pick(&["not.b32", "neg.s32"])),
        3 => format!("{} q{q}, {a}, {b};", random.pick(&COMPARISONS)),
        4 => format!("selp.b32 {d}, {b}, {c}, q{q};"),
        5 => format!(
            "vabsdiff4.u32.u32.u32.add {d}, {a}, {}, {};",
            register(random),
            register(random)
        ),
        _ => format!("{guard}{} {d}, {a}, {b};", random.pick(&TWO_SOURCES)),
    }
}

/// Other statements with the same meaning, if the function knows any.
pub(crate) fn same_meaning(statement: &str, random: &mut Random) -> Option<String> {
    let (guard, opcode, operands) = parts(statement);
    let commutes = ["add", "mul", "and", "or.", "xor", "min", "max", "vadd", "vmin"];
    let [d, a, b] = operands[..] else { return None };
    if guard.is_some() {
        return None;
    }
    let is_number = |text: &str| text.parse::<i64>().is_ok();
    Some(match (opcode, b) {
        ("mul.lo.u32", "2") => format!("shl.b32 {d}, {a}, 1;"),
        ("mul.lo.u32", "4") => format!("shl.b32 {d}, {a}, 2;"),
        ("shl.b32", "1") => format!("add.u32 {d}, {a}, {a};"),
        ("add.u32", _) if is_number(b) => {
            let minus = b.parse::<i64>().expect("a number").wrapping_neg();
            format!("sub.u32 {d}, {a}, {minus};")
        }
        ("mov.b32", _) => format!("add.u32 {d}, {a}, 0;"),
        ("xor.b32", "-1") => format!("not.b32 {d}, {a};"),
        ("sub.u32", _) if random.one_in(2) => {
            format!("neg.s32 x9, {b}; add.u32 {d}, {a}, x9;")
        }
        ("mul.lo.u32", _) if random.one_in(2) => format!("mad.lo.u32 {d}, {b}, {a}, 0;"),
        _ if commutes.iter().any(|start| opcode.starts_with(start)) => {
            format!("{opcode} {d}, {b}, {a};")
        }
        _ => return None,
    })
}

/// The statements after one or two changes, some of which keep the meaning.
fn mutated(block: &[String], random: &mut Random) -> Vec<String> {
    let mut new = block.to_vec();
    for _ in 0..=random.below(2) {
        let at = random.below(new.len());
        let own = new[at].clone();
        match random.below(8) {
            0 if new.len() > 1 => drop(new.remove(at)),
            1 => new[at] = instruction(random),
            2 => new.insert(at, instruction(random)),
            3 => {
                // Changes a constant.
                let (_, _, operands) = parts(&own);
                let number = operands.iter().find_map(|it| it.parse::<i64>().ok());
                if let Some(number) = number {
                    let other = number + [1, -1, 100][random.below(3)];
                    new[at] = own.replacen(&format!(", {number}"), &format!(", {other}"), 1);
                }
            }
            _ => {
                if let Some(other) = same_meaning(&own, random) {
                    let parts = other.split_inclusive(';').map(|it| it.trim().to_owned());
                    new.splice(at..=at, parts);
                }
            }
        }
    }
    new
}

/// The counts from random programs.
#[derive(Default)]
struct Rounds {
    /// The equivalences that the comparison proved, then those that it only tried.
    proven: usize,
    tried: usize,
    wrongly_proven: Vec<String>,
    wrongly_tried: Vec<String>,
    /// Pairs of programs with different texts: the number with different results, the number with
    /// the same results, and how many of the second kind the comparison recognized.
    other: usize,
    same: usize,
    told: usize,
}

/// The first seed for which the two lists of statements leave different values in the registers.
fn differ(one: &[&str], two: &[&str], names: &HashSet<&str>, words: &[u32]) -> Option<u64> {
    let values = |block: &[&str], seed: u64| -> Vec<u32> {
        let values = run(block, seed, words).expect("known statements");
        let value = |name: &&str| {
            values.get(name).copied().unwrap_or_else(|| first_value(name, seed, words))
        };
        names.iter().map(value).collect()
    };
    (0..50).find(|seed| values(one, *seed) != values(two, *seed))
}

/// The lines that only one text has.
fn side(lines: &[Line], side: Side) -> Vec<&str> {
    let own = match side {
        Side::Old => [LineKind::Removed, LineKind::MovedAway],
        Side::New => [LineKind::Added, LineKind::MovedHere],
    };
    let is_own = |line: &&Line| line.kind == LineKind::Same || own.contains(&line.kind);
    lines.iter().filter(is_own).map(|line| &*line.text).collect()
}

/// The low 32 bits.
fn low_word(number: i64) -> u32 {
    number.cast_unsigned() as u32
}

/// The constants of statements, and the numbers just below and above them.
pub(crate) fn constants<'t>(statements: impl Iterator<Item = &'t str>) -> Vec<u32> {
    let operands = statements.flat_map(|it| parts(it).2);
    let numbers = operands.filter_map(|it| it.parse::<i64>().ok());
    numbers.flat_map(|it| [it - 1, it, it + 1]).map(low_word).chain([5]).collect()
}

fn random_programs(seed: u64, turns: usize) -> Rounds {
    let mut random = Random(seed);
    let mut rounds = Rounds::default();
    for turn in 0..turns {
        let length = 2 + random.below(6);
        let block: Vec<String> = (0..length).map(|_| instruction(&mut random)).collect();
        let new_block = mutated(&block, &mut random);
        let stored: Vec<String> =
            (0..6).filter(|_| random.one_in(2)).map(|at| format!("x{at}")).collect();
        let statements: Vec<String> =
            stored.iter().map(|name| format!("st.global.u32 [p], {name};")).collect();
        let text = |block: &[String]| {
            let head = ".reg .b64 p; .reg .b32 x<10>; .reg .pred q<2>;";
            kernel(&format!("{head}\n{}\n{}\nret;", block.join("\n"), statements.join("\n")))
        };
        let changes = whole(&text(&block), &text(&new_block));
        let [one, two]: [Vec<&str>; 2] =
            [&block, &new_block].map(|block| block.iter().map(String::as_str).collect());
        let words = constants(one.iter().chain(&two).copied());
        let names: HashSet<&str> = stored.iter().map(String::as_str).collect();
        let difference = differ(&one, &two, &names, &words);
        let Some(change) = changes.first() else {
            assert_eq!(difference, None, "{one:?} {two:?}");
            continue;
        };
        if difference.is_some() {
            rounds.other += 1;
        } else {
            rounds.same += 1;
            rounds.told += usize::from(equivalence(change).is_some());
        }
        let lines = &change.hunks[0].lines;
        for found in &change.hunks[0].equivalences {
            let (range, after) = (&lines[found.first..=found.last], &lines[found.last + 1..]);
            let [one, two] = [Side::Old, Side::New].map(|own| side(range, own));
            let words = constants(one.iter().chain(&two).copied());
            let mut names = live(&side(after, Side::Old));
            names.extend(live(&side(after, Side::New)));
            names.retain(|name| name.starts_with(['x', 'q']));
            let difference = differ(&one, &two, &names, &words);
            if found.proven {
                rounds.proven += 1;
            } else {
                rounds.tried += 1;
            }
            if let Some(seed) = difference {
                let told = format!("turn {turn}: {one:?} {two:?} {names:?}, seed {seed}");
                let list = if found.proven {
                    &mut rounds.wrongly_proven
                } else {
                    &mut rounds.wrongly_tried
                };
                list.push(told);
            }
        }
    }
    rounds
}

fn check_rounds(rounds: &Rounds, least: usize) {
    let Rounds { proven, tried, wrongly_proven, other, same, told, .. } = rounds;
    println!("{proven} proven, {tried} tried; {other} differ, {same} do not, {told} of them told");
    assert!(wrongly_proven.is_empty(), "{}: {wrongly_proven:#?}", wrongly_proven.len());
    assert!(*proven >= least && *tried >= least / 20 && *other >= least && *told >= least);
}

/// The random programs of the tests that are not ignored.
static FEW: LazyLock<Rounds> = LazyLock::new(|| random_programs(14, 2000));

#[test]
fn random_programs_are_equal_if_told_so() {
    check_rounds(&FEW, 200);
}

/// Takes half a minute: `cargo test --test library -- --ignored random_programs`
#[test]
#[ignore = "takes half a minute"]
fn many_random_programs_are_equal_if_told_so() {
    check_rounds(&random_programs(15, 200_000), 20_000);
}

/// An equivalence that is only tried is also tried with the constants of the statements.
#[test]
fn random_programs_are_tried_at_their_constants() {
    let wrong = &FEW.wrongly_tried;
    assert!(wrong.is_empty(), "{}: {wrong:#?}", wrong.len());
}

/// The comparison recognizes statements with the same meaning as the statement that they replace.
#[test]
fn the_same_meaning_is_told() {
    let mut random = Random(16);
    let mut faults = Faults::default();
    for _ in 0..3000 {
        let own = instruction(&mut random);
        let Some(other) = same_meaning(&own, &mut random) else { continue };
        let others: Vec<&str> = other.split_inclusive(';').map(str::trim).collect();
        let words = constants(others.iter().chain([&&*own]).copied());
        let result: HashSet<&str> = HashSet::from([parts(&own).2[0]]);
        assert_eq!(differ(&[&own], &others, &result, &words), None, "{own} {other}");
        // The loads give the registers different values; otherwise registers could be exchanged.
        let loads: Vec<String> =
            (0..6).map(|at| format!("ld.global.u32 x{at}, [p+{}];", 4 * at)).collect();
        let text = |block: &str| {
            let head = ".reg .b64 p; .reg .b32 x<10>; .reg .pred q<2>;";
            let (loads, result) = (loads.concat(), parts(&own).2[0]);
            kernel(&format!("{head}\n{loads}\n{block}\nst.global.u32 [p], {result};\nret;"))
        };
        let changes = differences(&text(&own), &text(&other));
        let found = changes.first().map(equivalence);
        // If both sources are one register, the texts are equal and there is no change.
        let holds = found.map_or(own == other, |it| it.is_some());
        faults.check(holds, || format!("{own} {other}: {found:?}"));
    }
    faults.end(800);
}

/// Statements of a kernel, statements that replace them, and the claim of the comparison: that they
/// compute the same, and whether it is proven.
#[test]
fn equivalences_by_hand() {
    let stores = "st.global.u32 [p+8], c; st.global.u32 [p+12], d;";
    let (yes, tried, no) = (Some(true), Some(false), None);
    let straight = [
        ("add.u32 c, a, b;", "add.u32 c, b, a;", yes),
        ("mul.lo.u32 c, a, 8;", "shl.b32 c, a, 3;", yes),
        ("mul.lo.u32 c, 8, a;", "shl.b32 c, a, 3;", yes),
        // A blank before a modifier is no part of the opcode.
        ("mul.lo.u32 c, a, 8;", "shl .b32 c, a, 3;", yes),
        ("mad.lo.u32 c, a, b, d;", "mul.lo.u32 c, a, b; add.u32 c, c, d;", yes),
        ("mad.lo.u32 c, a, b, b;", "add.u32 c, a, 1; mul.lo.u32 c, c, b;", tried),
        ("setp.lt.u32 q, a, b; selp.b32 c, a, b, q;", "min.u32 c, a, b;", tried),
        ("vadd.s32.s32.s32.sat c, a, b;", "add.sat.s32 c, a, b;", yes),
        // Unsigned saturation is another operation, which sm_120 has.
        ("add.sat.u32 c, a, b;", "add.sat.s32 c, a, b;", no),
        ("vadd.u32.u32.u32.sat c, a, b;", "add.sat.s32 c, a, b;", no),
        // ptxas takes any constant but 0 for true, of 64 bits in `selp`.
        ("selp.b32 c, a, b, 1;", "mov.b32 c, a;", tried),
        ("selp.b32 c, a, b, 0x100000000;", "mov.b32 c, b;", no),
        ("mov.pred q, 2; setp.lt.or.u32 q, a, b, !q; selp.b32 c, 1, 2, q;", "mov.b32 c, 1;", no),
        // Either side has a video instruction, and replacements that are not the usual ones.
        (
            "vabsdiff.u32.u32.u32 c, a, b; add.s16x2 d, a, b;",
            "max.u32 e, a, b; min.u32 f, a, b; sub.u32 c, e, f; vadd2.u32.u32.u32 d, a, b, b;",
            yes,
        ),
        ("@q add.u32 c, a, b;", "@q add.u32 c, b, a;", yes),
        // Without its condition a statement leaves the old value.
        ("@q mov.b32 c, a;", "selp.b32 c, a, c, q;", yes),
        ("@!q mov.b32 c, a;", "selp.b32 c, c, a, q;", yes),
        ("@!q mov.b32 c, a;", "selp.b32 c, a, c, q;", no),
        ("@q vadd.u32.u32.u32 c, a, b;", "add.u32 e, a, b; selp.b32 c, e, c, q;", yes),
        ("@!q vadd.u32.u32.u32 c, a, b;", "add.u32 e, a, b; selp.b32 c, c, e, q;", yes),
        // The largest power of two that is a signed word. The next one is negative.
        (
            "mul.wide.s32 w, a, 1073741824; cvt.u32.u64 c, w;",
            "cvt.s64.s32 w, a; shl.b64 w, w, 30; cvt.u32.u64 c, w;",
            yes,
        ),
        (
            "mul.wide.s32 w, a, 2147483648; shr.u64 w, w, 32; cvt.u32.u64 c, w;",
            "cvt.s64.s32 w, a; shl.b64 w, w, 31; shr.u64 w, w, 32; cvt.u32.u64 c, w;",
            no,
        ),
        // The first two blocks are equal only together, and the store ends what is compared.
        (
            "add.u32 e, a, 1; xor.b32 f, b, 7; add.u32 d, e, 2; st.global.u32 [p], f; \
             add.u32 c, d, b;",
            "add.u32 e, a, 2; xor.b32 f, b, 7; add.u32 d, e, 1; st.global.u32 [p], f; \
             add.u32 c, b, d;",
            tried,
        ),
        // The operands, constants, types or conditions differ.
        ("sub.u32 c, a, b;", "sub.u32 c, b, a;", no),
        ("add.u32 c, a, 5;", "add.u32 c, a, 6;", no),
        ("shr.u32 c, a, b;", "shr.s32 c, a, b;", no),
        ("mul.hi.u32 c, a, b;", "mul.hi.s32 c, a, b;", no),
        ("add.sat.s32 c, a, b;", "add.s32 c, a, b;", no),
        ("@q add.u32 c, a, b;", "add.u32 c, a, b;", no),
        ("@q add.u32 c, a, b;", "@!q add.u32 c, a, b;", no),
        ("mov.u32 c, %tid.x;", "mov.u32 c, %tid.y;", no),
        // `%clock` has a new value each time.
        ("mov.u32 c, %clock; mov.u32 d, %clock;", "mov.u32 c, %clock; mov.b32 d, c;", no),
        // The carry is a result, too.
        ("add.cc.u32 c, a, b; addc.u32 d, a, b;", "add.u32 c, a, b; addc.u32 d, a, b;", no),
        // `d` is stored later, so its value counts.
        ("add.u32 c, a, 1; add.u32 d, a, 2;", "add.u32 c, 1, a;", no),
        // Nothing reads `q` later, but `r` is read.
        ("setp.lt.u32 r, a, b; selp.b32 c, a, b, r;", "min.u32 c, a, b;", no),
    ];
    let loops = [
        // The start of the loop reads `e`.
        ("add.u32 e, a, 1;", "add.u32 e, 1, a;", yes),
        ("add.u32 e, a, 1;", "add.u32 e, a, 2;", no),
        ("add.u32 e, a, 1;", "add.u32 f, a, 1;", no),
        ("add.u32 e, a, 1;", "", no),
        // Nothing else reads `f`.
        ("add.u32 f, a, 1; add.u32 e, f, 1;", "add.u32 e, a, 2;", tried),
    ];
    let text = |inside: &str, is_loop: bool| {
        let head = ".reg .b64 p, w; .reg .b32 a, b, c, d, e, f; .reg .pred q, r;\n\
                    ld.param.u64 p, [p]; ld.global.u32 a, [p]; ld.global.u32 b, [p+4];";
        if is_loop {
            kernel(&format!(
                "{head}\nL: st.global.u32 [p], e;\n{inside}\nsetp.ne.u32 r, b, 1;\n@r bra L;\nret;"
            ))
        } else {
            kernel(&format!("{head}\n{inside}\n{stores}\n@r bra L;\nL: ret;"))
        }
    };
    let cases = straight.iter().map(|it| (false, it)).chain(loops.iter().map(|it| (true, it)));
    for (is_loop, &(old, new, expected)) in cases {
        let changes = differences(&text(old, is_loop), &text(new, is_loop));
        let [change] = &changes[..] else { panic!("{old} {new}: {}", told(&changes)) };
        // A proof is accepted where only a trial is expected.
        let found = equivalence(change);
        let holds = found == expected || (found, expected) == (yes, tried);
        assert!(holds, "{old} {new}: {found:?}");
    }
}

/// The results of each pair differ only at the pair's constants, or right beside them.
#[test]
fn other_bounds_are_not_equal() {
    let pairs = [
        ("setp.lt.u32 q, a, 4;", "setp.lt.u32 q, a, 3;"),
        ("setp.lt.u32 q, a, 1000;", "setp.lt.u32 q, a, 1100;"),
        ("setp.gt.s32 q, a, 77777777;", "setp.ge.s32 q, a, 77777777;"),
        ("setp.eq.u32 q, a, 12345;", "setp.eq.u32 q, a, 12346;"),
        ("setp.eq.u32 q, a, 12345;", "setp.eq.u32 q, 12346, a;"),
        ("setp.eq.u32 q, a, 0x10000;", "setp.ne.u32 q, a, a;"),
        ("sub.u32 e, a, 12345; setp.eq.u32 q, e, 1;", "setp.ne.u32 q, a, a;"),
        ("sub.u32 e, a, 12345; setp.eq.u32 q, e, -1;", "setp.ne.u32 q, a, a;"),
    ];
    for (one, two) in pairs {
        for (old, new) in [(one, two), (two, one)] {
            for after in ["selp.b32 a, 1, 0, q;", "@q bra L; add.u32 a, a, 1; L:"] {
                let text = |own: &str| {
                    let head = ".reg .b64 p; .reg .b32 a, e; .reg .pred q; ld.param.u64 p, [p];";
                    let loads = "ld.global.u32 a, [p];";
                    kernel(&format!("{head} {loads} {own} {after} st.global.u32 [p], a; ret;"))
                };
                let changes = differences(&text(old), &text(new));
                assert_eq!(changes.len(), 1);
                assert_eq!(equivalence(&changes[0]), None, "{old} {new} {after}");
            }
        }
    }
}

/// Registers from the head of a function are treated like other registers.
#[test]
fn parameters_in_registers_take_part() {
    for (head, body) in [
        (".func f(.reg .b32 d, .reg .b32 a)", ""),
        (".func (.reg .b32 d) f(.reg .b32 a)", ""),
        (".func f(.reg .b32 d)", ".reg .b32 a;"),
        (".func f()", ".reg .b32 a, d;"),
    ] {
        let text = |own: &str| {
            format!(".version 8.0\n.target sm_90\n.visible {head} {{ {body} {own} ret; }}\n")
        };
        let (one, two) = (text("vadd.u32.u32.u32 d, a, 16;"), text("add.u32 d, a, 16;"));
        let changes = differences(&one, &two);
        assert_eq!(changes.len(), 1);
        assert_eq!(equivalence(&changes[0]), Some(true), "{head}");
    }
}

/// Every word is below 2^32 + 1, but not every word is below 1.
#[test]
fn wide_constants_have_all_their_bits() {
    let text = |own: &str| {
        format!(
            ".version 8.0\n.target sm_90\n.visible .func f(.reg .b32 d, .reg .b32 a) {{\n\
             .reg .b64 w;\n{own}\nret;\n}}\n"
        )
    };
    for (limit, expected) in [("0x100000001", true), ("1", false)] {
        let old = text(&format!("cvt.u64.u32 w, a; min.u64 w, w, {limit}; cvt.u32.u64 d, w;"));
        let changes = differences(&old, &text("vadd.u32.u32.u32 d, a, 0;"));
        assert_eq!(changes.len(), 1);
        assert_eq!(equivalence(&changes[0]).is_some(), expected, "{limit}");
    }
}

// -------------------------------------------------------------------- errors

#[test]
fn errors_have_their_side() {
    let good = kernel("ret;");
    let bad = [
        ".func f() { ret;",
        "}",
        "/*",
        ".version 8.0\n.target sm_90\n.func f() { vadd d, a }\n",
        ".version 8.0\n.target sm_90\n.func f() { \"x }\n",
        "\0",
    ];
    for text in bad {
        let codes = |error: &DiffError| -> Vec<(Code, Span)> {
            error.diagnostics().iter().map(|it| (it.code, it.span)).collect()
        };
        let old = diff(text, &good).expect_err(text);
        let new = diff(&good, text).expect_err(text);
        assert_eq!((old.side(), new.side()), (Side::Old, Side::New), "{text}");
        assert!(!codes(&old).is_empty(), "{text}");
        assert_eq!(codes(&old), codes(&new), "{text}");
        let starts: Vec<u32> = codes(&old).iter().map(|it| it.1.start).collect();
        assert!(starts.is_sorted(), "{text}");
        for (_, span) in codes(&old) {
            assert!(text.get(span.range()).is_some(), "{text}");
        }
        let first = &new.diagnostics()[0];
        let place = format!("byte {}: {}", first.span.start, first.message);
        let told = [&old, &new].map(ToString::to_string);
        assert_eq!(told, ["old", "new"].map(|side| format!("{side} text, {place}")));
        diff(text, text).expect_err(text);
    }
    assert_eq!(diff("", ""), Ok(Vec::new()));
    assert_eq!(diff("// x", "\n"), Ok(Vec::new()));
    assert_eq!(summary(&differences("", &good)), ["Changed  ", "Added - k"]);
    assert_eq!(summary(&differences(&good, "")), ["Changed  ", "Removed k -"]);
}

/// The error about a missing name is at the start of the function.
#[test]
fn a_function_without_a_name_is_an_error() {
    let good = kernel("ret;");
    for directive in [".entry", ".func"] {
        let text = format!(".version 8.0\n.target sm_90\n{directive} (.param .b32 x) {{ ret; }}\n");
        let error = diff(&good, &text).expect_err("no name");
        let found: Vec<_> =
            error.diagnostics().iter().map(|it| (it.code, it.span.text(&text))).collect();
        assert_eq!(found, [(Code::MissingName, directive)], "{text}");
    }
}

/// Compares two arbitrary texts. Returns how many of them can be read.
fn holds_for_any(old: &str, new: &str) -> usize {
    let is_read = |text: &str| diff(text, "").is_ok();
    let sides = [is_read(old), is_read(new)];
    for context in [0, usize::MAX] {
        match diff_with(old, new, DiffOptions::default().with_context(context)) {
            Ok(changes) => {
                assert_eq!(sides, [true, true]);
                check_form(&changes, old, new);
            }
            Err(error) => {
                let bad = usize::from(error.side() == Side::New);
                assert!(!sides[bad] && !error.diagnostics().is_empty(), "{old}\n{new}");
            }
        }
    }
    sides.iter().filter(|it| **it).count()
}

#[test]
fn modules_that_break_off() {
    let mut numbers = Random(17);
    let mut cases = 0;
    for (_, text) in modules().iter().filter(|(_, text)| text.len() < 30_000) {
        for _ in 0..6 {
            let mut at = numbers.below(text.len());
            while !text.is_char_boundary(at) {
                at -= 1;
            }
            // Few random cuts are between functions, so some are moved there.
            if numbers.one_in(3) {
                at = text[..at].rfind("\n}").map_or(0, |at| at + 2);
            }
            holds_for_any(text, &text[..at]);
            holds_for_any(&text[at..], text);
            cases += 2;
        }
    }
    assert!(cases > 250, "{cases}");
}

#[test]
fn any_two_texts() {
    let mut numbers = Random(18);
    let mut read = [0; 3];
    for _ in 0..3000 {
        let mut text = || -> String {
            let length = numbers.below(12);
            (0..length).map(|_| PIECES[numbers.below(PIECES.len())]).collect()
        };
        let (old, new) = (text(), text());
        read[holds_for_any(&old, &new)] += 1;
    }
    assert!(read.iter().all(|it| *it > 60), "{read:?}");
}

/// Random texts, and whether each can be read.
fn any_texts(count: usize) -> Vec<(String, bool)> {
    let mut numbers = Random(20);
    let text = |_| {
        let length = numbers.below(12);
        let text: String = (0..length).map(|_| PIECES[numbers.below(PIECES.len())]).collect();
        let is_read = diff(&text, "").is_ok();
        (text, is_read)
    };
    (0..count).map(text).collect()
}

#[test]
fn any_text_that_is_read_equals_itself() {
    let mut faults = Faults::default();
    let twice = [
        ".extern .global .u32 f;\n.visible .global .u32 f = 2;\n",
        ".extern .func f();\n.func f() { ret; }\n",
        ".common .global .u32 f;\n.common .global .u32 f;\n",
        ".global .u32 f = 1;\n.global .u32 f = 2;\n",
        ".func f() { ret; }\n.func f() { trap; }\n",
        ".func f() { .reg .b32 a; .reg .b64 a; L: L: bra L; mov.b32 a, a; }\n",
    ];
    let mut texts: Vec<String> = twice.map(str::to_owned).to_vec();
    texts.extend(any_texts(4000).into_iter().filter(|it| it.1).map(|it| it.0));
    for text in texts {
        let changes = differences(&text, &text);
        faults.check(changes.is_empty(), || format!("{text:?} {}", told(&changes)));
    }
    faults.end(500);
}

/// The formatter and the comparison accept the same texts.
#[test]
fn what_the_formatter_refuses_is_an_error() {
    let mut faults = Faults::default();
    for (text, is_read) in any_texts(4000) {
        let normal = vptx::normalize(&text, &vptx::NormalOptions::default());
        faults.check(normal.is_ok() == is_read, || format!("{text:?} {is_read} {normal:?}"));
    }
    faults.end(4000);
}

/// Functions and declarations of several modules in random order. Some contain a piece of another
/// text.
#[test]
fn mixed_modules() {
    let mut numbers = Random(19);
    let mut pieces: Vec<String> = Vec::new();
    for (_, text) in modules().iter().filter(|(_, text)| text.len() < 40_000) {
        let outline = Outline::of(text);
        let functions = outline.functions.iter().map(|it| it.head.start..it.body.end);
        let spans = functions.chain(outline.globals.iter().map(|it| it.span.clone()));
        pieces.extend(spans.map(|it| text[it].to_owned()).filter(|it| it.len() < 6000));
    }
    let mut read = [0; 3];
    for _ in 0..300 {
        let mut text = || {
            let count = 1 + numbers.below(8);
            let mut mix: String =
                (0..count).map(|_| pick(&mut numbers, &pieces).clone() + "\n").collect();
            let at = numbers.below(mix.len());
            if numbers.one_in(3) && mix.is_char_boundary(at) {
                mix.insert_str(at, PIECES[numbers.below(PIECES.len())]);
            }
            mix
        };
        let (old, new) = (text(), text());
        read[holds_for_any(&old, &new)] += 1;
    }
    println!("{read:?}");
    assert!(read.iter().all(|it| *it > 3) && read[2] > 100, "{read:?}");
}
