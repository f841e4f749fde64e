//! One text on all cores.
//!
//! It is cut after functions, as far as they can be found without reading it.
//! All parts are read at once as if they were right: between statements, with no
//! scope open. Only if every part ends so, too, they were, by induction from the
//! first. Whatever is unusual leaves the text to be read in order, which is the
//! law.
//!
//! Parts of a text that is not kept, for `cli/large.rs`, are read by themselves:
//! of the others only what they say of version and target is known.

use std::cell::Cell;
use std::ops::Range;

use rayon::prelude::*;

use super::{CheckOptions, Checker, Preview, Run, Sink, is_wanted, sort};
use crate::diagnostic::{Diagnostic, Severity};
use crate::lint::Known;
use crate::module::Module;
use crate::syntax::{Context, Declarations, Gates, Handler, Problem, Statement, read_part};

/// Bytes that a part has at least.
const PART: usize = 1 << 20;

/// How a function ends, mostly: where a text is cut.
const END: &[u8] = b"\n}";

/// The number of statements of a readable text that are meant to be video
/// instructions, and the findings part by part; `None` where the text has to be
/// read in order. `Some(None)` if a part has more findings than there is room for.
pub(super) fn check(source: &str, options: &CheckOptions, room: usize) -> Option<Found> {
    // Asking for the threads starts them, which takes a while.
    if source.len() < 2 * PART {
        return None;
    }
    let threads = rayon::current_num_threads();
    if threads < 2 {
        return None;
    }
    // More parts than threads, as some take longer.
    let parts = cut(source, (source.len() / (4 * threads)).max(PART));
    check_parts(source, &parts, options, room)
}

/// The result of [`check`](super::check_counted), if there is room for it.
type Found = Option<(usize, Vec<Diagnostic>)>;

fn check_parts(
    source: &str,
    parts: &[Range<usize>],
    options: &CheckOptions,
    room: usize,
) -> Option<Found> {
    let surveyed: Vec<Survey<'_>> =
        parts.par_iter().map(|part| Survey::new(source, part)).collect::<Option<_>>()?;
    // Else it would be several modules.
    if surveyed.iter().skip(1).any(|part| part.declarations.is_module) {
        return None;
    }
    let found: Vec<Found> = (0..parts.len())
        .into_par_iter()
        .map(|at| {
            if !surveyed[at].has_video {
                return Some(Some((0, Vec::new())));
            }
            let before = surveyed[..at].iter().map(|part| &part.declarations);
            let context = Context::behind(before);
            let known = context.len();
            let mut count = 0;
            let sink = &mut |_| count += 1;
            let checker = Checker::new(source, options, Known::default(), sink);
            let mut checker = Sound { handler: checker.with_room(room), is_sound: true };
            let context =
                read_part(&source[..parts[at].end], parts[at].start, context, &mut checker);
            // The text that the survey skipped may have declared something.
            let mut declared = context.declarations(known);
            if at > 0 {
                (declared.version, declared.target, declared.is_module) = (None, None, false);
            }
            let sound = checker.is_sound && declared == surveyed[at].declarations;
            let Checker { diagnostics, is_full, .. } = checker.handler;
            if is_full {
                // Then the text is read in order, whatever else is found out here.
                return Some(None);
            }
            sound.then_some(Some((count, diagnostics)))
        })
        .collect::<Option<_>>()?;
    let all = found.into_iter().collect::<Option<Vec<_>>>();
    Some(all.map(|all| {
        let count = all.iter().map(|(count, _)| count).sum();
        (count, all.into_iter().flat_map(|(_, diagnostics)| diagnostics).collect())
    }))
}

/// Cuts a text after lines that start with `}`, into parts of about equal size.
fn cut(source: &str, size: usize) -> Vec<Range<usize>> {
    let mut parts = Vec::new();
    let mut start = 0;
    while start < source.len() {
        let rest = source.as_bytes().get(start + size..).unwrap_or_default();
        let found = memchr::memmem::find(rest, END);
        let end = found.map_or(source.len(), |found| start + size + found + END.len());
        parts.push(start..end);
        start = end;
    }
    parts
}

/// A part of a large text, to be read by itself.
pub(crate) struct Part<'p> {
    pub(crate) text: &'p str,
    pub(crate) is_first: bool,
    pub(crate) is_last: bool,
    /// The gates after the first part and, presumably, after all others.
    pub(crate) gates: Gates,
}

/// The gates after the first part of a text, as far as they are known without looking
/// at video instructions.
pub(crate) fn part_gates(text: &str) -> Option<Gates> {
    Survey::new(text, &(0..text.len())).map(|survey| survey.declarations.gates())
}

/// The number of statements of a part that are meant to be video instructions, if
/// nothing is found in it.
pub(crate) fn check_part(
    part: &Part<'_>,
    options: &CheckOptions,
    known: &mut Known,
) -> Option<usize> {
    let mut count = 0;
    let (diagnostics, ..) = visit_part(part, options, known, &mut |_| count += 1)?;
    is_clean(&diagnostics, options).then_some(count)
}

fn is_clean(diagnostics: &[Diagnostic], options: &CheckOptions) -> bool {
    !diagnostics.iter().any(|found| options.rules.contains(found.code))
}

/// A part as a module, if nothing is found in it and its video instructions are
/// under the gates of the others.
pub(crate) fn parse_part<'p>(
    part: &Part<'p>,
    options: &CheckOptions,
    known: &mut Known,
) -> Option<Module<'p>> {
    let mut statements = Vec::new();
    let sink = &mut |statement| statements.push(statement);
    let (diagnostics, version, target) = visit_part(part, options, known, sink)?;
    let alike = statements.is_empty() || (version, target) == part.gates.values();
    let module = Module { source: part.text, version, target, statements };
    (alike && is_clean(&diagnostics, options)).then_some(module)
}

/// The result of [`visit`](super::visit) for a part. `None` if it has errors or comments
/// for vptx, does not end between functions, or might give others where it stands.
pub(crate) fn visit_part(
    part: &Part<'_>,
    options: &CheckOptions,
    known: &mut Known,
    sink: Sink<'_>,
) -> Option<Run> {
    let &Part { text, is_first, gates, .. } = part;
    let Preview { unreadable, is_marked } = Preview::of(text);
    if unreadable.is_some() || is_marked {
        return None;
    }
    let start = if is_first { Context::default() } else { Context::behind_gates(gates) };
    let checker = Checker::new(text, options, std::mem::take(known), sink);
    let mut checker = Sound { handler: checker, is_sound: true };
    let context = read_part(text, 0, start, &mut checker);
    let Sound { handler, is_sound } = checker;
    let Checker { mut diagnostics, memo, outside, version, target, .. } = handler;
    *known = memo.into_known();
    let errors = diagnostics.iter().any(|found| found.severity == Severity::Error);
    // The checker may have seen directives where the survey saw none.
    let as_supposed = context.gates() == gates && (is_first || !context.is_module);
    sort(&mut diagnostics);
    let alone = is_sound && !errors && as_supposed && (is_first || !outside);
    alone.then_some((diagnostics, version, target))
}

/// Length of the parts at the start of a text that can be found without reading
/// on.
pub(crate) fn parts_end(text: &[u8]) -> Option<usize> {
    memchr::memmem::rfind(text, END).map(|at| at + END.len())
}

/// The contents of a part, without its video instructions.
struct Survey<'s> {
    declarations: Declarations<'s>,
    has_video: bool,
}

impl<'s> Survey<'s> {
    /// `None` if the part does not end between statements, or has problems.
    fn new(source: &'s str, part: &Range<usize>) -> Option<Survey<'s>> {
        // The first part may start with a byte order mark: a problem, too.
        if source.starts_with('\u{feff}') {
            return None;
        }
        let has_video = Cell::new(false);
        let mut surveyor = Sound { handler: Surveyor { has_video: &has_video }, is_sound: true };
        let context = read_part(&source[..part.end], part.start, Context::default(), &mut surveyor);
        let declarations = context.declarations(0);
        surveyor.is_sound.then_some(Survey { declarations, has_video: has_video.get() })
    }
}

/// Wants nothing, and notes what others would.
struct Surveyor<'a> {
    has_video: &'a Cell<bool>,
}

impl<'s> Handler<'s> for Surveyor<'_> {
    const INITIAL: u8 = b'v';

    fn wants(&self, opcode: &str) -> bool {
        if is_wanted(opcode) {
            self.has_video.set(true);
        }
        false
    }

    fn statement(&mut self, _: Statement<'_>, _: &Context<'s>) {}

    fn problem(&mut self, _: Problem) {}
}

/// Notes problems, among them that of a text that ends where it should not.
struct Sound<H> {
    handler: H,
    is_sound: bool,
}

impl<'s, H: Handler<'s>> Handler<'s> for Sound<H> {
    const INITIAL: u8 = H::INITIAL;

    fn wants(&self, opcode: &str) -> bool {
        self.handler.wants(opcode)
    }

    fn statement(&mut self, statement: Statement<'_>, context: &Context<'s>) {
        // One without `;` may have been cut off.
        let ends = statement.tokens.last().is_some_and(|last| last.is(b';'));
        self.is_sound &= ends;
        self.handler.statement(statement, context);
    }

    fn problem(&mut self, problem: Problem) {
        self.is_sound = false;
        self.handler.problem(problem);
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use super::*;
    use crate::analysis::check_counted;
    use crate::check::Dialect;
    use crate::diagnostic::{Code, RuleSet};
    use crate::isa::Target;
    use crate::testing::Numbers;

    /// Functions, globals between them that others use, and what is in doubt.
    fn module(functions: usize, odd: &str) -> String {
        let mut text = String::from(".version 8.0\n.target sm_90\n.address_size 64\n");
        for at in 0..functions {
            let _ = write!(
                text,
                ".global .b32 g{at};\n.visible .entry k{at}(.param .u64 p)\n{{\n\t.reg .b32 \t%r<{}>;\n\
                 $L{at}:\n\tadd.s32 \t%r1, %r2, %r3;\n\t{{\n\tmov.u32 %r1, g{at};\n\t}}\n\
                 \tvadd4.u32.u32.u32.sat \t%r1, %r2, %r{}, %r1;\n\tvadd.s32.s32.s32 %r0, g{}, %r1;\n\
                 \tret;\n}}\n{}",
                1 + at % 7,
                at % 5,
                at / 2,
                if at == functions / 2 { odd } else { "" }
            );
        }
        text
    }

    /// Checks in parts of some size; says whether that was possible.
    fn agrees(text: &str, size: usize) -> bool {
        let options = CheckOptions::default();
        let parts = cut(text, size);
        assert_eq!(parts.first().map_or(0, |part| part.start), 0);
        assert!(parts.windows(2).all(|pair| pair[0].end == pair[1].start));
        assert_eq!(parts.last().map_or(0, |part| part.end), text.len());
        let Some((count, mut diagnostics)) =
            check_parts(text, &parts, &options, usize::MAX).flatten()
        else {
            return false;
        };
        super::super::sort(&mut diagnostics);
        super::super::select(text, true, &options, &mut diagnostics);
        assert_eq!((count, diagnostics), check_counted(text, &options), "{text}");
        true
    }

    #[test]
    fn parts_find_what_the_whole_does() {
        for size in [1, 100, 1000, 100_000] {
            assert!(agrees(&module(20, ""), size));
            assert!(agrees(
                &module(20, "// a comment\n.func f();\n.global .b8 t[2] = {1, 2};\n"),
                size
            ));
        }
        assert!(agrees("", 10));
    }

    #[test]
    fn what_is_in_doubt_is_read_in_order() {
        let odd = [
            // A cut would fall into each of these.
            "/* a\n} */\n",
            ".section .debug { .b8 1\n}\n.b8 2\n}\n",
            ".entry f()\n{\n\tvadd.s32.s32.s32 %r1, %r2\n}\n",
            ".entry f()\n{\n\tadd.s32 %r1\n}\n",
            ".entry f()\n{\n{\n}\n}\n",
            "\n}\n",
            ".global .b8 t[2] = {1, 2\n};\n",
            ".file 1 \"a\n}\"\n",
            ".version 8.1\n",
            ".target sm_75\n",
        ];
        let mut in_order = 0;
        for odd in odd {
            for size in [1, 60, 100, 500] {
                in_order += usize::from(!agrees(&module(8, odd), size));
            }
        }
        // Some cuts do no harm.
        assert!(in_order > 20, "{in_order}");
    }

    const PIECES: &[&str] = &[
        "\n}\n",
        "\n}",
        "{\n",
        ".func f()\n{\n",
        ".entry k(.param .u64 p)\n{\n",
        ".reg .b32 %r<4>;\n",
        "vadd.s32.s32.s32 %r1, %r2, %r3;\n",
        "vadd.s32.s32.s32 %r1, %r2",
        "vset4.u32.u32.lt a, b, c, d;\n",
        ".func f()\n{\n.reg .b32 a;\nvadd.s32.s32.s32 a, a, a;\n}\n",
        "add.s32 %r1, %r2, %r3;\n",
        "L1:\n",
        "/*",
        "*/",
        "\"",
        "//",
        ".global .b8 t[2] = {\n1",
        "};\n",
        ".version 8.0\n.target sm_90\n",
        ".global .b32 g;\n",
        ".loc 1 2 3\n",
        ".section .x {\n",
        ";\n",
    ];

    #[test]
    fn made_heaps_are_never_read_otherwise() {
        let mut numbers = Numbers(7);
        let mut parallel = 0;
        for _ in 0..20_000 {
            let text = heap(&mut numbers);
            parallel += usize::from(agrees(&text, 1 + numbers.below(60)));
        }
        assert!(parallel > 500, "{parallel}");
    }

    fn heap(numbers: &mut Numbers) -> String {
        let count = 1 + numbers.below(25);
        (0..count).map(|_| numbers.pick(PIECES)).collect()
    }

    /// Text that may make a difference after it.
    const DOUBTS: &[&str] = &[
        ".version 8.0\n.target sm_90\n",
        ".target sm_20\n",
        ".reg .b32 a, b, c, d;\n",
        ".reg .b32 %r<8>;\n",
        "# 1 \"x\n",
        "# 1 \"x\n;\n.target sm_90\n\"\n",
        "# ; .target sm_20\n",
        ".func f()\n{\n.reg .b32 a;\nvadd.s32.s32.s32 a, a,\n",
        ".func f()\n{\n.reg .b32 a, %r<2>;\nvset.s32.u32.sat.lt a, a, %r3;\n}\n",
        ".func f()\n{\n.reg .b32 a, b;\nvadd4.u32.u32.u32 a.b0, a, b, b;\n}\n",
        "a;\n}\n",
        "\"\n",
    ];

    /// Checks part by part, each by itself; the number of statements if that was
    /// possible.
    fn count_alone(text: &str, size: usize, options: &CheckOptions) -> Option<usize> {
        let parts = cut(text, size);
        let gates = part_gates(&text[parts.first()?.clone()])?;
        let mut known = Known::default();
        let counts = parts.iter().map(|part| {
            let (is_first, is_last) = (part.start == 0, part.end == text.len());
            let part = Part { text: &text[part.clone()], is_first, is_last, gates };
            check_part(&part, options, &mut known)
        });
        counts.sum()
    }

    #[test]
    fn parts_alone_are_clean_only_where_the_whole_is() {
        let options = CheckOptions::default();
        let head = ".version 8.0\n.target sm_90\n";
        let function = |body: &str| format!(".func f()\n{{\n.reg .b32 a;\n{body}\n}}\n");
        let clean = function("vadd.s32.s32.s32 a, a, a;");
        for size in [1, 100, 1000] {
            let text = [head, &clean, &clean, ".global .b32 a;\n", &clean].concat();
            assert_eq!(count_alone(&text, size, &options), Some(3));
        }
        // A name of the module, a gate, a second module, findings, comments for vptx.
        let outside = [
            (".reg .b32 b;\n", function("vadd.s32.s32.s32 a, b, a;")),
            (".reg .b32 r<9>;\n", function(".reg .b32 r<2>;\nvadd.s32.s32.s32 a, r7, a;")),
            (".reg .b32 a;\n", "vadd.s32.s32.s32 a, a, a;\n".to_string()),
            (".reg .pred p;\n", function("@p vadd.s32.s32.s32 a, a, a;")),
            ("", function("vadd.s32.s32.s32 a, %tid, a;")),
            ("", format!("{head}{clean}")),
            ("", format!(".target sm_20\n{clean}")),
            ("", function("vadd.s32.s32.s32 a, a, c;")),
            ("", function("vadd.s32.s32.s32 a, a, a")),
            ("", function("// vptx: ignore\nvadd.s32.s32.s32 a, a, a;")),
        ];
        for (before, behind) in outside {
            let text = [head, before, &clean, &behind].concat();
            assert_eq!(count_alone(&text, 1, &options), None, "{text}");
        }
        // A survey takes what the marker quotes for a directive.
        let marker = "# 1 \"x\n;\n.target sm_20\nret \"\n";
        let quoting = function(&format!("vadd.s32.s32.s32 a, a,\n{marker}a;// \"\nret;"));
        assert_eq!(count_alone(&[head, &quoting, &clean].concat(), 1, &options), None);
        assert_eq!(count_alone(&[head, &clean, &quoting].concat(), 1, &options), Some(2));
        let old = format!(".version 1.4\n.target sm_13\n{}{clean}", function(""));
        assert_eq!(count_alone(&old, 1, &options), None);
    }

    #[test]
    fn made_heaps_are_clean_alone_only_where_the_whole_is() {
        let with = |rules| CheckOptions::default().with_rules(rules);
        let options = [
            CheckOptions::default(),
            CheckOptions::default().with_dialect(Dialect::Ptxas),
            CheckOptions::default().with_target(Some(Target::sm(20))),
            with(RuleSet::ERRORS),
            // As `--ignore V0,V2,V3` leaves it.
            with(RuleSet::NONE.with(Code::V401).with(Code::V501).with(Code::V505)),
        ];
        let mut numbers = Numbers(11);
        let mut clean = 0;
        for _ in 0..60_000 {
            let mut text = heap(&mut numbers);
            if numbers.below(2) > 0 {
                text = format!("{}{}{text}", numbers.pick(DOUBTS), numbers.pick(DOUBTS));
            }
            let size = 1 + numbers.below(60);
            let options = &options[numbers.below(options.len())];
            if let Some(count) = count_alone(&text, size, options) {
                assert_eq!((count, Vec::new()), check_counted(&text, options), "{text}");
                clean += usize::from(count > 0 && cut(&text, size).len() > 1);
            }
        }
        assert!(clean > 50, "{clean}");
    }
}
