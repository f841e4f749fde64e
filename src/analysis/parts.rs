//! Reads large texts in parts.
//!
//! A text is cut after functions. Each part is read on its own, and knows only the version and
//! the target of the others. A part fits the processor's cache, so it takes less time than in a
//! pass over the whole text, and all cores can take parts.
//!
//! A part may mean something else inside the whole text. If that is possible, the text is read as a
//! whole instead.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use super::read_module;
use super::{CheckOptions, Checker, Preview, ReadResult, Sink, select, sort};
use crate::cores;
use crate::diagnostic::{Code, Diagnostic, Severity};
use crate::lint::KnownFacts;
use crate::module::Module;
use crate::source::Span;
use crate::syntax::listing::is_listing;
use crate::syntax::{Context, Gates, Handler, Problem, WantedStatement, read_part};

/// Texts of at least this many bytes are large.
pub(crate) const LARGE: usize = 4 << 20;

/// The least size of a part, in bytes. Such a part and its result fit the second-level cache of a
/// core.
const SIZE: usize = 1 << 19;

/// The usual end of a function, where a text is cut.
const END: &[u8] = b"\n}";

/// A part of a large text, to be read by itself.
pub(crate) struct TextPart<'p> {
    pub(crate) text: &'p str,
    /// The offset of the part in the whole text, in bytes.
    pub(crate) start: usize,
    pub(crate) place: PartPlace,
}

/// The place of a part among the others.
#[derive(Clone, Copy)]
pub(crate) struct PartPlace {
    pub(crate) is_first: bool,
    pub(crate) is_last: bool,
    /// The gates after the first part, and presumably after every other part.
    gates: Gates,
}

/// The number of parts that each core takes before results are handed over.
const BATCH: usize = 4;

/// Does a piece of work for each part of a text, with all cores if `in_parallel` is set. The
/// results go to `take`, in order and a few at a time. `K` is what a piece of work leaves for later
/// ones. `None` if the text is not large, the work cannot be done for a part, or `take` wants no
/// more: then nothing is known of the rest of the text.
pub(crate) fn each_part<'s, K: Default + Send, T: Send>(
    source: &'s str,
    in_parallel: bool,
    work: impl Fn(&TextPart<'s>, &mut K) -> Option<T> + Sync,
    take: impl FnMut(T) -> Option<()>,
) -> Option<()> {
    if source.len() < LARGE {
        return None;
    }
    each_part_of(SIZE, source, in_parallel, work, take)
}

/// Like [`each_part`]; collects the results.
pub(crate) fn in_parts<'s, K: Default + Send, T: Send>(
    source: &'s str,
    in_parallel: bool,
    work: impl Fn(&TextPart<'s>, &mut K) -> Option<T> + Sync,
) -> Option<Vec<T>> {
    let mut results = Vec::new();
    each_part(source, in_parallel, work, |result| {
        results.push(result);
        Some(())
    })?;
    Some(results)
}

/// Like [`each_part`], for texts of any length. Parts have at least `size` bytes.
fn each_part_of<'s, K: Default + Send, T: Send>(
    size: usize,
    source: &'s str,
    in_parallel: bool,
    work: impl Fn(&TextPart<'s>, &mut K) -> Option<T> + Sync,
    take: impl FnMut(T) -> Option<()>,
) -> Option<()> {
    let ranges = cut(source, size);
    let gates = first_gates(&source[ranges.first()?.clone()])?;
    let last = ranges.len() - 1;
    let part = |(at, range): (usize, Range<usize>)| {
        let place = PartPlace { is_first: at == 0, is_last: at == last, gates };
        TextPart { start: range.start, text: &source[range], place }
    };
    let parts = ranges.into_iter().enumerate().map(part).collect();
    each_of(parts, in_parallel, |part, kept| work(&part, kept), take)
}

/// Like [`each_part`], for parts that are already given.
pub(crate) fn each_of<P: Send, K: Default + Send, T: Send>(
    parts: Vec<P>,
    in_parallel: bool,
    work: impl Fn(P, &mut K) -> Option<T> + Sync,
    mut take: impl FnMut(T) -> Option<()>,
) -> Option<()> {
    let mut parts = parts.into_iter();
    if !in_parallel {
        let mut kept = K::default();
        return parts.try_for_each(|part| take(work(part, &mut kept)?));
    }
    // Facts that one core has found serve for the next batch, too.
    let pool = Mutex::new(Vec::new());
    let lock = || pool.lock().unwrap_or_else(PoisonError::into_inner);
    let work = |part| {
        let mut kept: K = lock().pop().unwrap_or_default();
        let result = work(part, &mut kept);
        lock().push(kept);
        result
    };
    while parts.len() > 0 {
        let some = parts.by_ref().take(BATCH * cores::count()).collect();
        cores::try_map(some, &work)?.into_iter().try_for_each(&mut take)?;
    }
    Some(())
}

/// Like [`in_parts`], for texts of any length. Parts have at least `size` bytes.
#[cfg(test)]
pub(crate) fn in_parts_of<'s, K: Default + Send, T: Send>(
    size: usize,
    source: &'s str,
    work: impl Fn(&TextPart<'s>, &mut K) -> Option<T> + Sync,
) -> Option<Vec<T>> {
    let mut results = Vec::new();
    each_part_of(size, source, false, work, |result| {
        results.push(result);
        Some(())
    })?;
    Some(results)
}

/// Cuts a text after lines that start with `}`.
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

/// The gates after the first part of a text, as far as they are known without reading video
/// instructions. `None` if the part does not end between statements, or has problems.
fn first_gates(text: &str) -> Option<Gates> {
    // A byte order mark is a problem, too.
    if text.starts_with('\u{feff}') || is_listing(text.as_bytes()) {
        return None;
    }
    let mut surveyor = Sound { handler: Surveyor, is_sound: true };
    let context = read_part(text, 0, Context::default(), &mut surveyor);
    surveyor.is_sound.then_some(context.gates())
}

/// The number of statements of a large text that are meant to be video instructions, and its
/// findings. `None` if it must be read as a whole: for example, if there are errors, or more
/// findings than there is room for.
pub(super) fn check(
    source: &str,
    options: &CheckOptions,
    in_parallel: bool,
    room: usize,
) -> Option<(usize, Vec<Diagnostic>)> {
    let kept = AtomicUsize::new(0);
    let parts = in_parts(source, in_parallel, |part, known| {
        let (count, found) = check_part(part, options, known, room)?;
        let before = kept.fetch_add(found.len(), Ordering::Relaxed);
        (before + found.len() <= room).then_some((count, found))
    });
    Some(joined(parts?))
}

fn joined(parts: Vec<(usize, Vec<Diagnostic>)>) -> (usize, Vec<Diagnostic>) {
    let count = parts.iter().map(|(count, _)| count).sum();
    (count, parts.into_iter().flat_map(|(_, found)| found).collect())
}

/// The number of statements of a part that are meant to be video instructions, and its
/// findings.
fn check_part(
    part: &TextPart<'_>,
    options: &CheckOptions,
    known: &mut KnownFacts,
    room: usize,
) -> Option<(usize, Vec<Diagnostic>)> {
    let mut count = 0;
    let (mut diagnostics, ..) =
        visit_part(part.text, part.place, options, known, room, &mut |_| count += 1)?;
    select(part.text, false, options, &mut diagnostics);
    // The fix of such a finding has names and line breaks that depend on the whole text.
    if diagnostics
        .iter()
        .any(|found| matches!(found.code, Code::EmulatedInstruction | Code::UnfusedInstructions))
    {
        return None;
    }
    for found in &mut diagnostics {
        found.shift(part.start as u32);
    }
    Some((count, diagnostics))
}

/// A part as a module. `None` if there are findings in it.
pub(crate) fn parse_part<'p>(
    part: &TextPart<'p>,
    options: &CheckOptions,
    known: &mut KnownFacts,
) -> Option<Module<'p>> {
    let mut statements = Vec::new();
    let sink = &mut |statement| statements.push(statement);
    let (diagnostics, version, target) =
        visit_part(part.text, part.place, options, known, usize::MAX, sink)?;
    let is_clean = !diagnostics.iter().any(|found| options.rules.contains(found.code));
    let module = Module { source: part.text, version, target, statements, errors: Vec::new() };
    is_clean.then_some(module)
}

/// The functions around a place of a text as a module, and the offset where they start. Functions
/// before and after them are assumed to have no errors.
pub(crate) fn parse_near<'s>(
    source: &'s str,
    place: Span,
    options: &CheckOptions,
) -> (u32, Module<'s>) {
    let whole = || (0, read_module(source, options).0);
    if source.len() < LARGE {
        return whole();
    }
    let parts = cut(source, SIZE);
    let touches =
        |part: &&Range<usize>| part.start <= place.end as usize && place.start as usize <= part.end;
    let mut near = parts.iter().filter(touches);
    let (Some(first), Some(gates)) = (near.next(), first_gates(&source[parts[0].clone()])) else {
        return whole();
    };
    let text = &source[first.start..near.next_back().unwrap_or(first).end];
    let start = if first.start == 0 { Context::default() } else { Context::after_gates(gates) };
    let mut statements = Vec::new();
    let sink = &mut |statement| statements.push(statement);
    let mut checker = Checker::new(text, options, KnownFacts::default(), sink);
    let (version, target) = read_part(text, 0, start, &mut checker).gates().values();
    (first.start as u32, Module { source: text, version, target, statements, errors: Vec::new() })
}

/// Like [`visit`](super::visit), for a part. `None` if the part has errors or comments for vptx,
/// does not end between functions, may have other findings inside the whole text, or has more
/// findings than there is room for.
pub(crate) fn visit_part(
    text: &str,
    place: PartPlace,
    options: &CheckOptions,
    known: &mut KnownFacts,
    room: usize,
    sink: Sink<'_>,
) -> Option<ReadResult> {
    let PartPlace { is_first, gates, .. } = place;
    let Preview { unreadable, is_marked } = Preview::of(text);
    if unreadable.is_some() || is_marked {
        return None;
    }
    let start = if is_first { Context::default() } else { Context::after_gates(gates) };
    let checker = Checker::new(text, options, std::mem::take(known), sink).with_room(room);
    let mut checker = Sound { handler: checker, is_sound: true };
    let context = read_part(text, 0, start, &mut checker);
    let Sound { mut handler, is_sound } = checker;
    handler.end();
    let Checker { mut diagnostics, memo, outside, is_full, .. } = handler;
    *known = memo.into_known();
    let errors = diagnostics.iter().any(|found| found.severity == Severity::Error);
    // The checker may have found directives that the survey did not. In the normal form, the
    // directives of the first part stand in another place, so only their values are compared.
    let found = context.gates();
    let as_supposed = if is_first {
        found.values() == gates.values()
    } else {
        found == gates && !context.is_module
    };
    sort(&mut diagnostics);
    let alone = is_sound && !is_full && !errors && as_supposed && (is_first || !outside);
    let (version, target) = gates.values();
    alone.then_some((diagnostics, version, target))
}

/// A handler that asks for no statement and notes no problem.
struct Surveyor;

impl<'s> Handler<'s> for Surveyor {
    const INITIAL: u8 = b'v';

    fn wants(&self, _: &str) -> bool {
        false
    }

    fn statement(&mut self, _: WantedStatement<'_>, _: &Context<'s>) {}

    fn problem(&mut self, _: Problem) {}
}

/// Notes whether the reader finds a problem, such as a text that ends too early.
struct Sound<H> {
    handler: H,
    is_sound: bool,
}

impl<'s, H: Handler<'s>> Handler<'s> for Sound<H> {
    const INITIAL: u8 = H::INITIAL;

    fn wants(&self, opcode: &str) -> bool {
        self.handler.wants(opcode)
    }

    fn statement(&mut self, statement: WantedStatement<'_>, context: &Context<'s>) {
        // A statement without `;` may have been cut off.
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

    /// Functions with findings, and something odd between them.
    fn module(functions: usize, odd: &str) -> String {
        let mut text = String::from(".version 8.0\n.target sm_90\n.address_size 64\n");
        for at in 0..functions {
            let _ = write!(
                text,
                ".global .b32 g{at};\n.visible .entry k{at}(.param .u64 p)\n{{\n\t.reg .b32 \t%r<{}>;\n\
                 $L{at}:\n\tadd.s32 \t%r1, %r2, %r3;\n\t{{\n\tmov.u32 %r1, g{at};\n\t}}\n\
                 \tvadd4.u32.u32.u32.sat \t%r1, %r2, %r{}, %r1;\n\tvadd.s32.sat.s32.s32 %r0, %r1, {at};\n\
                 \tret;\n}}\n{}",
                4 + at % 7,
                at % 4,
                if at == functions / 2 { odd } else { "" }
            );
        }
        text
    }

    /// Options without the rules on whole modules: these rules do not judge large texts.
    fn without_structure(options: &CheckOptions) -> CheckOptions {
        let structure = "V9".parse().expect("a selector");
        let rules = options.rules.choose(None, &[], &[structure]);
        options.clone().with_rules(rules)
    }

    /// Checks in parts of some size. Returns the number of statements if that is possible.
    fn count_in_parts(text: &str, size: usize, options: &CheckOptions) -> Option<usize> {
        let parts = cut(text, size);
        assert_eq!(parts.first().map_or(0, |part| part.start), 0);
        assert!(parts.windows(2).all(|pair| pair[0].end == pair[1].start));
        assert_eq!(parts.last().map_or(0, |part| part.end), text.len());
        let check = |part: &TextPart<'_>, known: &mut KnownFacts| {
            check_part(part, options, known, usize::MAX)
        };
        let found = joined(in_parts_of(size, text, check)?);
        assert_eq!(found, check_counted(text, &without_structure(options)), "{text}");
        Some(found.0)
    }

    /// One core or all cores read the parts, and give up if these have too many findings together.
    #[test]
    fn large_texts_are_read_in_parts() {
        // Each part has some of the 20 findings.
        let text = module(20, &format!("// {}\n", "a".repeat(LARGE)));
        let options = CheckOptions::default();
        for in_parallel in [false, true] {
            let found = |room| {
                let (count, found) = check(&text, &options, in_parallel, room)?;
                Some((count, found.len()))
            };
            assert_eq!(found(20), Some((40, 20)));
            assert_eq!(found(19), None);
        }
    }

    /// The first functions of a large text have no `.target`, if it comes only after them.
    #[test]
    fn nothing_stands_before_the_first_part_of_a_large_text() {
        let text = format!(
            ".func f()\n{{\n.reg .b32 a;\nvadd.s32.s32.s32 a, a, a;\n}}\n\
             .version 1.4\n.target sm_13\n// {}\n.func g()\n{{\nret;\n}}\n",
            "a".repeat(LARGE)
        );
        let (start, module) = parse_near(&text, Span::at(0), &CheckOptions::default());
        assert_eq!((start, module.target()), (0, Some(Target::sm(13))));
        // This target has no `vadd`.
        assert_eq!(module.instructions().count(), 1);
    }

    /// A statement may start directly behind a part.
    #[test]
    fn a_place_between_two_parts_touches_both() {
        let function = |name: &str, comment: &str| {
            format!(
                ".func {name}()\n{{\n.reg .b32 a;\nvadd.s32.s32.s32 a, a, a;\n// {comment}\n}}\n"
            )
        };
        let head = ".version 8.0\n.target sm_90\n";
        let text = [head, &function("f", &"a".repeat(LARGE)), &function("g", "")].concat();
        let place = Span::at(cut(&text, SIZE)[1].start as u32);
        let (_, module) = parse_near(&text, place, &CheckOptions::default());
        assert_eq!(module.instructions().count(), 2);
    }

    fn agrees(text: &str, size: usize) -> bool {
        count_in_parts(text, size, &CheckOptions::default()).is_some()
    }

    #[test]
    fn parts_have_the_findings_of_the_whole() {
        for size in [1, 100, 1000, 100_000] {
            assert!(agrees(&module(20, ""), size));
            assert!(agrees(
                &module(20, "// a comment\n.func f();\n.global .b8 t[2] = {1, 2};\n"),
                size
            ));
        }
        let options = without_structure(&CheckOptions::default());
        assert_eq!(check_counted(&module(20, ""), &options).1.len(), 20);
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
        // The mark is found only at the start of the whole text.
        assert!(!agrees(&format!("\u{feff}.file 1 \"a\";\n{}", module(8, "")), 100));
    }

    /// The names in the block of a fix depend on the whole text.
    #[test]
    fn regions_are_found_in_the_whole_text() {
        let chain = "vmin.u32.u32.u32 a.h0, b.h0, c.h0, a;\nvmin.u32.u32.u32 a.h1, b.h1, c.h1, a;";
        let text = |target: u16, odd: &str| {
            let function = |body: &str| format!(".func f()\n{{\n.reg .b32 a, b, c;\n{body}\n}}\n");
            let head = format!(".version 8.0\n.target sm_{target}\n");
            [head, function("ret;").repeat(3), function(odd), function("ret;").repeat(3)].concat()
        };
        let rules = RuleSet::NONE.with(Code::UnfusedInstructions);
        let options = CheckOptions::default().with_rules(rules);
        for size in [1, 100, 1000] {
            let count = |text: &str| count_in_parts(text, size, &options);
            // Nothing is known about the costs of old targets.
            assert_eq!(count(&text(50, chain)), Some(2));
            assert_eq!(count(&text(90, &chain.replace('\n', "ret;\n"))), Some(2));
            assert_eq!(count(&text(90, chain)), None);
            assert_eq!(check_counted(&text(90, chain), &options).1.len(), 1);
        }
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

    fn heap(numbers: &mut Numbers) -> String {
        let count = 1 + numbers.below(25);
        (0..count).map(|_| numbers.pick(PIECES)).collect()
    }

    /// Text that may change the meaning of the text after it.
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

    #[test]
    fn parts_stand_alone_only_where_that_makes_no_difference() {
        let options = CheckOptions::default();
        let head = ".version 8.0\n.target sm_90\n";
        let function = |body: &str| format!(".func f()\n{{\n.reg .b32 a;\n{body}\n}}\n");
        let clean = function("vadd.s32.s32.s32 a, a, a;");
        for size in [1, 100, 1000] {
            let text = [head, &clean, &clean, ".global .b32 a;\n", &clean].concat();
            assert_eq!(count_in_parts(&text, size, &options), Some(3));
        }
        // A name of the module, a gate, a second module, errors, comments for vptx.
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
            assert_eq!(count_in_parts(&text, 1, &options), None, "{text}");
        }
        // The survey mistakes the quoted text of the line marker for a directive.
        let marker = "# 1 \"x\n;\n.target sm_20\nret \"\n";
        let quoting = function(&format!("vadd.s32.s32.s32 a, a,\n{marker}a;// \"\nret;"));
        assert_eq!(count_in_parts(&[head, &quoting, &clean].concat(), 1, &options), None);
        assert_eq!(count_in_parts(&[head, &clean, &quoting].concat(), 1, &options), Some(2));
        let old = format!(".version 1.4\n.target sm_13\n{}{clean}", function(""));
        assert_eq!(count_in_parts(&old, 1, &options), None);
    }

    #[test]
    fn made_heaps_are_read_in_parts_as_the_whole_is() {
        let with = |rules| CheckOptions::default().with_rules(rules);
        let options = [
            CheckOptions::default(),
            CheckOptions::default().with_dialect(Dialect::Ptxas),
            CheckOptions::default().with_target(Some(Target::sm(20))),
            with(RuleSet::ERRORS),
            // The rules that `--ignore V0,V2,V3` leaves.
            with(
                RuleSet::NONE
                    .with(Code::ModifierOrder)
                    .with(Code::ResultDiffers)
                    .with(Code::ConstantComparison),
            ),
        ];
        let mut numbers = Numbers(11);
        let mut read = 0;
        for _ in 0..60_000 {
            let mut text = heap(&mut numbers);
            if numbers.below(2) > 0 {
                text = format!("{}{}{text}", numbers.pick(DOUBTS), numbers.pick(DOUBTS));
            }
            let size = 1 + numbers.below(60);
            let options = &options[numbers.below(options.len())];
            if let Some(count) = count_in_parts(&text, size, options) {
                read += usize::from(count > 0 && cut(&text, size).len() > 1);
            }
        }
        assert!(read > 50, "{read}");
    }
}
