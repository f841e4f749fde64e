//! Checks texts with more findings than memory should hold. A pass through the text hands
//! findings over in order, and does not keep them.
//!
//! The findings of a statement lie inside it, so all earlier findings are final when a statement
//! starts. Three kinds of findings are detected only after their place: on unclosed braces, of the
//! rules on whole modules, and on comments for vptx that suppress nothing. Separate passes look for
//! these first.

use std::iter::Peekable;
use std::vec::IntoIter;

use super::{Checker, Preview, Structure, Suppressions, Take, check_counted, embedded, sort};
use crate::check::{CheckOptions, Language, is_wanted, problem_diagnostic};
use crate::diagnostic::{Code, Diagnostic};
use crate::embed::{Host, may_have_ptx};
use crate::lint::KnownFacts;
use crate::source::Span;
use crate::syntax::{Context, Handler, Problem, ProblemKind, WantedStatement, read};

/// About how many findings are handed over at once.
const BATCH: usize = 2048;

/// Like [`check_counted`](super::check_counted), but hands the findings over, some at a time.
/// Returns the number of statements.
pub(crate) fn check_in_order(source: &str, options: &CheckOptions, take: Take<'_>) -> usize {
    let preview = Preview::of(source);
    if options.language.host().is_some_and(|host| host != Host::C && !may_have_ptx(source))
        && !preview.is_marked
    {
        return 0;
    }
    if let Some(diagnostic) = preview.unreadable {
        let mut found = vec![diagnostic];
        found.retain(|found| options.rules.contains(found.code));
        take(found);
        return 0;
    }
    if options.language == Language::Notebook {
        let (count, found) = check_counted(source, options);
        take(found);
        return count;
    }
    if !preview.is_marked {
        return all_in_order(source, options, take);
    }
    let mut suppressions = Suppressions::of(source, options);
    all_in_order(source, options, &mut |found| {
        for found in &found {
            suppressions.cover(found);
        }
    });
    let mut complaints = suppressions.complaints(source, options);
    complaints.retain(|found| options.rules.contains(found.code));
    sort(&mut complaints);
    let mut complaints = complaints.into_iter().peekable();
    let mut last = None;
    let count = all_in_order(source, options, &mut |mut found| {
        last = found.last().map(key).or(last);
        found.retain(|found| !suppressions.cover(found));
        while let Some(complaint) = complaints.next_if(|it| Some(key(it)) <= last) {
            found.push(complaint);
        }
        sort(&mut found);
        take(found);
    });
    take(complaints.collect());
    count
}

/// The key that findings are sorted by.
fn key(found: &Diagnostic) -> (Span, Code) {
    (found.span, found.code)
}

/// Hands over all findings that are asked for, before comments suppress any.
fn all_in_order(source: &str, options: &CheckOptions, take: Take<'_>) -> usize {
    let mut count = 0;
    let mut take = |mut found: Vec<Diagnostic>| {
        found.retain(|found| options.rules.contains(found.code));
        take(found);
    };
    if let Some(host) = options.language.host() {
        let mut found = Vec::new();
        embedded::visit(source, host, options, || count += 1, &mut |mut of_one| {
            found.append(&mut of_one);
            if found.len() >= BATCH {
                take(std::mem::take(&mut found));
            }
        });
        take(found);
        return count;
    }
    let mut braces = Braces(Vec::new());
    read(source, &mut braces);
    let mut late: Vec<Diagnostic> =
        braces.0.into_iter().map(|brace| problem_diagnostic(source, brace)).collect();
    late.extend(Structure::of(source, options));
    sort(&mut late);
    let sink = &mut |_| count += 1;
    let checker = Checker::new(source, options, KnownFacts::default(), sink);
    let mut stream = Stream { checker, late: late.into_iter().peekable(), take: &mut take };
    read(source, &mut stream);
    stream.checker.end();
    stream.hand_over(u32::MAX);
    count
}

/// The unclosed braces of a text.
struct Braces(Vec<Problem>);

impl<'s> Handler<'s> for Braces {
    const INITIAL: u8 = b'v';

    // The ends of statements depend on which statements are wanted.
    fn wants(&self, opcode: &str) -> bool {
        is_wanted(opcode)
    }

    fn statement(&mut self, _: WantedStatement<'_>, _: &Context<'s>) {}

    fn problem(&mut self, problem: Problem) {
        if is_late(problem.kind) {
            self.0.push(problem);
        }
    }
}

/// Whether a problem is detected after its place.
fn is_late(kind: ProblemKind) -> bool {
    matches!(kind, ProblemKind::UnclosedBrace { .. })
}

struct Stream<'s, 'o, 'k> {
    checker: Checker<'s, 'o>,
    /// The findings that are detected after their place.
    late: Peekable<IntoIter<Diagnostic>>,
    take: Take<'k>,
}

impl Stream<'_, '_, '_> {
    /// Hands over findings if a batch is full. All later findings must start at this offset or
    /// after it, or be about statements that wait.
    fn make_room(&mut self, start: u32) {
        if self.checker.diagnostics.len() >= BATCH {
            let waiting = self.checker.waiting.as_ref().and_then(|waiting| waiting.start());
            self.hand_over(waiting.map_or(start, |waiting| waiting.min(start)));
        }
    }

    /// Hands over the findings that start before an offset.
    fn hand_over(&mut self, end: u32) {
        let found = &mut self.checker.diagnostics;
        loop {
            for _ in 0..BATCH {
                let Some(late) = self.late.next_if(|late| late.span.start < end) else {
                    break;
                };
                found.push(late);
            }
            let until = self.late.peek().map_or(end, |late| late.span.start.min(end));
            sort(found);
            let rest = found.split_off(found.partition_point(|found| found.span.start < until));
            (self.take)(std::mem::replace(found, rest));
            if until == end {
                return;
            }
        }
    }
}

impl<'s> Handler<'s> for Stream<'s, '_, '_> {
    const INITIAL: u8 = b'v';

    fn wants(&self, opcode: &str) -> bool {
        self.checker.wants(opcode)
    }

    fn statement(&mut self, statement: WantedStatement<'_>, context: &Context<'s>) {
        self.make_room(statement.tokens[0].span().start);
        self.checker.statement(statement, context);
    }

    fn problem(&mut self, problem: Problem) {
        match problem.kind {
            kind if is_late(kind) => return,
            // These problems stand between statements.
            ProblemKind::StrayBrace | ProblemKind::NoLineMarker => {
                self.make_room(problem.span.start);
            }
            _ => {}
        }
        self.checker.problem(problem);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::check_counted;
    use crate::check::Language;
    use crate::diagnostic::{Code, RuleSet};
    use crate::isa::Target;
    use crate::testing::Numbers;

    const PIECES: &[&str] = &[
        "{\n",
        "}\n",
        "} ",
        ".func f()\n{\n",
        ".entry k(.param .u64 p)\n{\n",
        ".reg .b32 %r<4>;\n",
        "vadd.s32.s32.s32 %r1, %r2, %r3;\n",
        "vadd.s32.s32 %r1, %r2, %r3;\n",
        "vadd.s32.s32.s32 %r1, %r2",
        "vadd.s32.s32.s32.sat %r1.b7, %r2.q, %r9, ;\n",
        "vset4.u32.u32.lt a, b, c, d; ",
        "vset4.u32.u32.u32\n.lt a,\nb, \"",
        "add.s32 %r1, %r2, %r3;\n",
        "L1:\n",
        "/*",
        "*/",
        "\"",
        "#x\n",
        ".version 8.0\n.target sm_20\n",
        "\u{feff}",
        "$ ",
        "// vptx: ignore[V501]\n",
        "/* vptx: ignore */",
        "// vptx: ignore-file[V104, V2]\n",
        "// vptx: x\n",
        "\0",
    ];

    const SOURCE: &[&str] = &[
        "asm(\"vadd.s32.s32 %0, %1, %2;\" : \"=r\"(d) : \"r\"(a), \"r\"(b));\n",
        "asm(\"vad4.u32.u32.u32 %0, %1, %9, %0;\" : \"=r\"(d) : \"r\"(a));",
        "asm(\"vadd.sat.s32.s32.s32 %0, %1, 1; vset4.u32.u32 %1;\" : \"+h\"(d) : \"r\"(a));",
        "// vptx: ignore[V701]\n",
        "// vptx: ignore[V1, V501]\n",
        "int x;\n",
        "asm(TEXT : \"=r\"(d)); // vptx: ignore[V704]\n",
        "asm(TEXT : \"=r\"(d));\n",
        "/*",
        "*/",
    ];

    #[test]
    fn findings_are_those_of_the_whole_text_and_in_order() {
        let options = [
            CheckOptions::default(),
            CheckOptions::default().with_rules(RuleSet::ERRORS),
            CheckOptions::default().with_rules(RuleSet::DEFAULT.with(Code::UnreadAsm)),
            CheckOptions::default()
                .with_rules(RuleSet::NONE.with(Code::UnclosedBrace).with(Code::UnusedSuppression)),
        ];
        let mut numbers = Numbers(5);
        let mut all = 0;
        for at in 0..5000 {
            let (pieces, language) = match at % 4 {
                0 => (SOURCE, Language::Cuda),
                _ => (PIECES, Language::Ptx),
            };
            let count = 1 + numbers.below(25);
            let mut text: String = (0..count).map(|_| numbers.pick(pieces)).collect();
            if at % 2000 < 2 {
                // Several batches are handed over.
                text = text.repeat(3 * BATCH / count);
            }
            let options = options[numbers.below(options.len())].clone().with_language(language);
            let mut found = Vec::new();
            let count = check_in_order(&text, &options, &mut |mut some| {
                found.append(&mut some);
            });
            all += found.len();
            assert_eq!((count, found), check_counted(&text, &options), "{text:?}");
        }
        assert!(all > 12_000, "{all}");
    }

    /// Two of these in a row become one sequence.
    const CHAIN: [&str; 2] = [
        "vadd.u32.u32.u32.sat d.h0, a.h0, b.h0, d;\n",
        "vadd.u32.u32.u32.sat d.h1, a.h1, b.h1, d;\n",
    ];

    /// Several of these in a row become one sequence.
    const GROUP: [&str; 3] = [
        "vadd4.s32.s32.s32.sat a, b, c, d;\n",
        "vsub4.s32.s32.s32.sat b, a, d, c;\n",
        "vmax4.s32.s32.s32 d, a, b, c;\n",
    ];

    /// Statements wait for those that follow, while other findings are handed over.
    #[test]
    fn findings_on_regions_are_in_order() {
        let costs = RuleSet::NONE
            .with(Code::MissingType)
            .with(Code::EmulatedInstruction)
            .with(Code::UnfusedInstructions);
        let others = [PIECES[7], "}", "// vptx: ignore[V602]\n", "ret;\n"];
        let mut numbers = Numbers(7);
        let (mut regions, mut groups) = (0, 0);
        for at in 0..900 {
            let count = 2 + numbers.below(25);
            let members: &[&str] = if at % 2 == 0 { &CHAIN } else { &GROUP };
            let pieces = [members, &others].concat();
            let mut text: String = (0..count).map(|_| numbers.pick(&pieces)).collect();
            let mut rules = costs;
            if at % 300 == 0 {
                // Several batches are handed over. The costs of each statement would take long.
                text = text.repeat(3 * BATCH / count);
                rules = RuleSet::NONE.with(Code::MissingType).with(Code::UnfusedInstructions);
            }
            let options =
                CheckOptions::default().with_target(Some(Target::sm(90))).with_rules(rules);
            let mut found = Vec::new();
            let count = check_in_order(&text, &options, &mut |mut some| found.append(&mut some));
            regions += found.iter().filter(|it| it.code == Code::UnfusedInstructions).count();
            groups += found.iter().filter(|it| it.message.contains("one sequence on")).count();
            assert_eq!((count, found), check_counted(&text, &options), "{text:?}");
        }
        assert!(regions > 100 && groups > 30, "{regions} {groups}");
    }

    /// The finding on a group stands at its third member, before the finding on this member's
    /// modifiers. That holds wherever in the group a batch ends.
    #[test]
    fn groups_hold_back_what_stands_after_them() {
        let group = "vadd4.sat.s32.s32.s32 r1, a, b, c;\nvsub4.sat.s32.s32.s32 r2, c, e, c;\n\
                     vadd4.sat.s32.s32.s32 r3, r1, r2, c;\nmov.b32 r7, r1;\n\
                     vadd4.sat.s32.s32.s32 d, r3, r0, r3;\nL:\n";
        let options = CheckOptions::default()
            .with_target(Some(Target::sm(90)))
            .with_rules(RuleSet::NONE.with(Code::ModifierOrder).with(Code::UnfusedInstructions));
        for before in 0..5 {
            let single = "vadd.sat.s32.s32.s32 a, b, c;\nret;\n".repeat(before);
            let text = single + &group.repeat(BATCH);
            let mut found = Vec::new();
            let count = check_in_order(&text, &options, &mut |mut some| found.append(&mut some));
            assert_eq!(found.len(), before + 5 * BATCH);
            assert_eq!((count, found), check_counted(&text, &options), "{before}");
        }
    }

    #[test]
    fn findings_on_whole_modules_are_in_order() {
        let body = "vadd.s32.s32.s32 a, b, b;\nvadd.s32.s32 a, b, b;\n";
        let options = CheckOptions::default();
        // The longer text has several batches of findings. Each batch has findings of all rules.
        for times in [1, BATCH + 9] {
            let body = body.repeat(times);
            let text =
                format!(".version 8.0\n.target sm_90\n.func f()\n{{\n.reg .b32 a, b;\n{body}}}\n");
            let mut found = Vec::new();
            let count = check_in_order(&text, &options, &mut |mut some| found.append(&mut some));
            let unread = found.iter().filter(|it| it.code == Code::UnreadResult).count();
            assert_eq!(unread, times);
            assert!((count, found) == check_counted(&text, &options), "{times}");
        }
    }

    #[test]
    fn few_are_handed_over_at_once() {
        let texts = [
            ("vadd.s32.s32 %r1, %r2, %r3;\n", Language::Ptx),
            ("vadd.s32.s32 %r1, %r2, %r3; // vptx: ignore[V401]\n", Language::Ptx),
            ("}", Language::Ptx),
            (".func f() {\n", Language::Ptx),
            (&CHAIN.concat(), Language::Ptx),
            (SOURCE[0], Language::Cuda),
        ];
        for (piece, language) in texts {
            let text = piece.repeat(5 * BATCH);
            let options = CheckOptions::default()
                .with_language(language)
                .with_target(Some(Target::sm(90)))
                .with_rules(RuleSet::DEFAULT.with(Code::UnfusedInstructions));
            let (mut most, mut all) = (0, 0);
            check_in_order(&text, &options, &mut |some| {
                most = most.max(some.len());
                all += some.len();
            });
            assert!(all >= 5 * BATCH && most <= 3 * BATCH, "{piece}: {most} of {all}");
        }
    }

    #[test]
    fn texts_with_too_many_are_told() {
        use crate::analysis::{check_up_to, visit_by};

        for (piece, language) in
            [("vadd.s32.s32 a, b, c;\n", Language::Ptx), (SOURCE[0], Language::Cuda)]
        {
            let options = CheckOptions::default().with_language(language);
            let text = piece.repeat(20);
            let found = |room, text: &str| check_up_to(text, &options, room);
            assert_eq!(found(20, &text), Some(check_counted(&text, &options)));
            assert_eq!(found(19, &text), None);
        }
        // After one finding too many, no statement is read.
        let text = "vadd.s32.s32 a, b, c;\n".repeat(20);
        let mut read = 0;
        let found = visit_by(false, &text, None, &CheckOptions::default(), 5, &mut |_| read += 1);
        assert_eq!((found.is_none(), read), (true, 6));
    }
}
