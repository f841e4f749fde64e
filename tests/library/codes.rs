//! Every code has a page and a fixture, whose findings have that code, and every fix is valid.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::support::{fixture, is_about_asm, is_about_results};
use vptx::analysis::{add_ignores, check};
use vptx::check::{CheckOptions, Dialect, Language};
use vptx::diagnostic::{Applicability, Code, Diagnostic, Fix, RuleSet, Severity};
use vptx::source::decode;
use vptx::video::Semantics;

const DIALECTS: [Dialect; 2] = [Dialect::Documented, Dialect::Ptxas];

/// For some codes, another code that the fixture also has: the checker reports one mistake twice.
const COMPANIONS: &[(Code, Code)] = &[
    (Code::ForeignComparison, Code::MissingComparison),
    (Code::VersionTooLow, Code::TargetAboveVersion),
];

/// The findings in a text that concern a code. Findings about results, costs, and data flow are
/// left out, unless the code is one of them.
fn findings(code: Code, text: &str, dialect: Dialect) -> Vec<Diagnostic> {
    let mut found = check(text, &options(code, dialect));
    let is_about_flow = |code| [Code::UnwrittenSource, Code::UnreadResult].contains(&code);
    found.retain(|diagnostic| {
        diagnostic.code == code || !is_about_results(diagnostic) && !is_about_flow(diagnostic.code)
    });
    found
}

/// Options with the default rules and the rule of the code.
fn options(code: Code, dialect: Dialect) -> CheckOptions {
    CheckOptions::default()
        .with_dialect(dialect)
        .with_language(if is_about_asm(code) { Language::Cuda } else { Language::Ptx })
        .with_rules(RuleSet::DEFAULT.with(code))
}

fn fixture_name(code: Code) -> String {
    format!("{code}.{}", if is_about_asm(code) { "cu" } else { "ptx" })
}

fn fixture_text(code: Code) -> String {
    let path = fixture("diagnostics").join(fixture_name(code));
    decode(std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display())))
}

/// The names of the files in a directory.
fn files(path: &Path) -> BTreeSet<String> {
    std::fs::read_dir(path)
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()))
        .map(|entry| entry.expect("a directory entry").file_name().into_string().expect("a name"))
        .collect()
}

/// The two fenced blocks of a page. Each is an info string and a text.
struct Page<'a> {
    example: (&'a str, String),
    fix: (&'a str, String),
}

/// A part of a page: its prose, and its fenced blocks. Each block is an info string and a text.
#[derive(Default)]
struct Section<'a> {
    heading: &'a str,
    prose: Vec<&'a str>,
    blocks: Vec<(&'a str, String)>,
    prose_after_block: bool,
}

fn sections(text: &str) -> Vec<Section<'_>> {
    let mut sections = vec![Section::default()];
    let mut fenced = false;
    for line in text.lines() {
        if line.starts_with('#') && !fenced {
            sections.push(Section { heading: line, ..Section::default() });
            continue;
        }
        let section = sections.last_mut().expect("never empty");
        if let Some(info) = line.strip_prefix("```") {
            if !fenced {
                section.blocks.push((info, String::new()));
            }
            fenced = !fenced;
        } else if fenced {
            let (_, block) = section.blocks.last_mut().expect("fenced");
            block.push_str(line);
            block.push('\n');
        } else if !line.is_empty() {
            section.prose.push(line);
            section.prose_after_block |= !section.blocks.is_empty();
        }
    }
    assert!(!fenced, "a block is not closed");
    sections
}

/// The page of a code; panics unless it has the shape of all pages.
fn page(code: Code) -> Page<'static> {
    let text = code.explanation();
    let wide: Vec<&str> = text.lines().filter(|line| line.chars().count() > 80).collect();
    assert!(wide.is_empty(), "{code}: over 80 columns: {wide:#?}");
    assert!(
        text.lines().all(|line| line.trim_end() == line),
        "{code}: white space at a line's end"
    );
    assert!(text.ends_with('\n') && !text.ends_with("\n\n"), "{code}: the end of the page");
    assert!(!text.contains("\n\n\n") && !text.contains('\r'), "{code}: line breaks");
    assert!((10..=40).contains(&text.lines().count()), "{code}: length");

    let mut sections = sections(text);
    let headings: Vec<&str> = sections.iter().map(|section| section.heading).collect();
    assert_eq!(headings, ["", "## Why it matters", "## Example", "## Fix"], "{code}");
    let shape: Vec<(bool, usize)> =
        sections.iter().map(|section| (!section.prose.is_empty(), section.blocks.len())).collect();
    assert_eq!(shape, [(true, 0), (true, 0), (false, 1), (true, 1)], "{code}: prose and blocks");
    assert!(!sections[3].prose_after_block, "{code}: prose after the last block");
    for (heading, section) in headings.iter().zip(&sections) {
        let ends = section.prose.last().is_none_or(|line| line.ends_with(['.', ')']));
        assert!(ends, "{code}: `{heading}` ends inside a sentence");
    }
    let [example, fix] = [2, 3].map(|at: usize| sections[at].blocks.remove(0));
    let infos = match code {
        Code::BinaryFile => ["text", "sh"],
        _ if is_about_asm(code) => ["cuda", "cuda"],
        _ => ["ptx", "ptx"],
    };
    assert_eq!([example.0, fix.0], infos, "{code}: info strings");
    Page { example, fix }
}

#[test]
fn rules_are_named_after_what_they_find() {
    for code in Code::ALL {
        let words = code.name().split('-').map(|word| word[..1].to_uppercase() + &word[1..]);
        assert_eq!(format!("{code:?}"), words.collect::<String>());
    }
}

#[test]
fn codes_and_names_are_found() {
    let mut names = BTreeSet::new();
    for &code in Code::ALL {
        assert_eq!(code.to_string(), code.text());
        assert_eq!(Code::find(code.text()), Some(code));
        assert_eq!(Code::find(&code.text().to_lowercase()), Some(code));
        assert_eq!(Code::find(code.name()), Some(code));

        let name = code.name();
        assert!(names.insert(name), "`{name}` twice");
        let kebab = name
            .split('-')
            .all(|word| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_lowercase()));
        assert!(kebab, "`{name}` is not kebab-case");
        assert!(!code.title().is_empty() && !code.title().ends_with('.'), "{code}: title");
    }
    assert!(Code::ALL.is_sorted_by(|left, right| left.text() < right.text()));
    for none in ["", "V", "V000", "V1011", " V101", "unknown", "Unknown instruction"] {
        assert_eq!(Code::find(none), None, "`{none}`");
    }
}

#[test]
fn pages_and_fixtures_are_those_of_the_codes() {
    let pages = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/diagnostic/pages");
    assert_eq!(files(&pages), Code::ALL.iter().map(|code| format!("{code}.md")).collect());
    assert_eq!(
        files(&fixture("diagnostics")),
        Code::ALL.iter().copied().map(fixture_name).collect()
    );
}

#[test]
fn examples_yield_their_code_and_fixes_are_clean() {
    for &code in Code::ALL {
        let Page { example, fix } = page(code);
        if code == Code::BinaryFile {
            continue;
        }
        let found: Vec<Code> = findings(code, &example.1, Dialect::Documented)
            .iter()
            .map(|diagnostic| diagnostic.code)
            .collect();
        let belongs = |&other: &Code| other == code || COMPANIONS.contains(&(code, other));
        assert!(found.contains(&code) && found.iter().all(belongs), "{code}: {found:?}");
        let left = findings(code, &fix.1, Dialect::Documented);
        assert!(left.is_empty(), "{code}: the fix is not clean: {left:#?}");
        let left = findings(code, &fix.1, Dialect::Ptxas);
        assert!(left.is_empty(), "{code}: ptxas does not take the fix: {left:#?}");
    }
}

#[test]
fn fixtures_yield_their_code() {
    for &code in Code::ALL {
        let text = fixture_text(code);
        let found: BTreeSet<Code> = findings(code, &text, Dialect::Documented)
            .iter()
            .map(|diagnostic| diagnostic.code)
            .collect();
        assert!(found.contains(&code), "{code} is not reported: {found:?}");
        let strangers: Vec<&Code> = found
            .iter()
            .filter(|&&other| other != code && !COMPANIONS.contains(&(code, other)))
            .collect();
        assert!(strangers.is_empty(), "{code}: also {strangers:?}");
    }
}

/// The `ptxas` dialect has no findings on text that ptxas accepts. Text that ptxas refuses has
/// findings in both dialects.
#[test]
fn fixtures_in_the_ptxas_dialect() {
    let lenient = [
        Code::ModifierOrder,
        Code::RepeatedSaturate,
        Code::IgnoredThirdOperand,
        Code::CancelledNegation,
        Code::IgnoredSelector,
        Code::ResultDiffers,
        Code::ResultDiffersInOldPtxas,
    ];
    for &code in Code::ALL {
        let text = fixture_text(code);
        let found = findings(code, &text, Dialect::Ptxas);
        let wrong: Vec<&Diagnostic> =
            found.iter().filter(|diagnostic| lenient.contains(&diagnostic.code)).collect();
        assert!(wrong.is_empty(), "{code}: {wrong:#?}");
        let silent = lenient.contains(&code);
        let reported = found.iter().any(|diagnostic| diagnostic.code == code);
        assert_eq!(reported, !silent, "{code}: {found:#?}");
        let errors = found.iter().any(|diagnostic| diagnostic.severity == Severity::Error);
        assert_eq!(errors, code.severity() == Severity::Error, "{code}: {found:#?}");
    }
}

/// The new position of an offset after the fix. An offset inside replaced text moves to the start
/// of the replacement.
fn moved(fix: &Fix, offset: u32) -> u32 {
    let mut place = offset;
    for edit in fix.edits.iter().filter(|edit| edit.span.start < offset) {
        if edit.span.end <= offset {
            place = place + edit.replacement.len() as u32 - edit.span.len();
        } else {
            place -= offset - edit.span.start;
        }
    }
    place
}

type Places = BTreeMap<(Code, u32), usize>;

fn places(diagnostics: &[Diagnostic], place: impl Fn(u32) -> u32) -> Places {
    let mut places = Places::new();
    for diagnostic in diagnostics {
        *places.entry((diagnostic.code, place(diagnostic.span.start))).or_default() += 1;
    }
    places
}

fn errors(diagnostics: &[Diagnostic]) -> usize {
    diagnostics.iter().filter(|diagnostic| diagnostic.severity == Severity::Error).count()
}

/// The faults of a fix.
fn broken(
    code: Code,
    text: &str,
    dialect: Dialect,
    before: &[Diagnostic],
    at: usize,
    fix: &Fix,
) -> Vec<String> {
    let mut broken = Vec::new();
    let mut end = 0;
    for edit in &fix.edits {
        let range = edit.span.range();
        if range.start < end || range.start > range.end || text.get(range.clone()).is_none() {
            return vec![format!("edit {range:?} is out of order or off the text")];
        }
        end = range.end;
    }
    let fixed = fix.apply(text);
    if fixed == text {
        broken.push("changes nothing".into());
    }
    let after = findings(code, &fixed, dialect);
    let mut allowed = places(before, |offset| moved(fix, offset));
    let left = places(&after, |offset| offset);

    // The fix may move several findings to one position. One of these findings must disappear.
    let own = (before[at].code, moved(fix, before[at].span.start));
    let count = allowed.get_mut(&own).expect("it was counted");
    *count -= 1;
    if left.get(&own).is_some_and(|left| left > count) {
        broken.push("the finding is still there".into());
    }
    if errors(&after) > errors(before) {
        broken.push(format!("{} errors became {}", errors(before), errors(&after)));
    }
    if fix.applicability == Applicability::Safe {
        let new: Vec<_> = left
            .iter()
            .filter(|(place, count)| allowed.get(*place).is_none_or(|allowed| *count > allowed))
            .collect();
        if !new.is_empty() {
            broken.push(format!("a safe fix brings {new:?}"));
        }
        broken.extend(changed(text, &fixed, code));
    }
    broken.into_iter().map(|problem| format!("{problem}\n{fixed}")).collect()
}

/// A description of a result that a safe fix changes, if there is one.
fn changed(text: &str, fixed: &str, code: Code) -> Option<String> {
    // These fixes write ordinary PTX, and other tests prove it.
    if is_about_asm(code) || [Code::EmulatedInstruction, Code::UnfusedInstructions].contains(&code)
    {
        return None;
    }
    let ((before, _), (after, _)) = (vptx::parse(text), vptx::parse(fixed));
    // Instructions with errors have no result, and some fixes remove errors.
    if before.statements().len() != after.statements().len() {
        return Some("statements come or go".into());
    }
    let word = |name: &str, round: u32| {
        let seed = name.bytes().fold(round.wrapping_mul(0x9e37_79b9) | 1, |hash, byte| {
            (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193).rotate_left(13)
        });
        // Results differ most often for words at the edges.
        match seed % 5 {
            0 => 0xffff_ffff,
            1 => 0x8000_0000,
            2 => 0x7fff_8000 ^ (seed >> 16),
            3 => seed % 3,
            _ => seed,
        }
    };
    for (old, new) in before.statements().iter().zip(after.statements()) {
        let (Some(old), Some(new)) = (&old.instruction, &new.instruction) else {
            continue;
        };
        if old.destination() != new.destination() || old.guard != new.guard {
            return Some(format!("`{old}` writes something else as `{new}`"));
        }
        for semantics in Semantics::ALL {
            let programs = [old, new].map(|it| (it.lower(semantics), it.sources()));
            for round in 0..500 {
                let [old_result, new_result] = programs.each_ref().map(|(program, sources)| {
                    let [a, b, c] = sources.map(|it| it.map_or(0, |it| word(it.name(), round)));
                    program.eval(a, b, c)
                });
                if old_result != new_result {
                    return Some(format!("`{old}` gives another result as `{new}` ({semantics})"));
                }
            }
        }
    }
    None
}

/// The table of rules names exactly the kinds of fixes that exist.
#[test]
fn fixes_are_of_the_kinds_that_the_table_says() {
    for &code in Code::ALL {
        let mut texts = vec![fixture_text(code)];
        texts.push(page(code).example.1);
        let mut kinds = BTreeSet::new();
        for text in &texts {
            for found in findings(code, text, Dialect::Documented) {
                if found.code == code {
                    kinds.extend(found.fixes.iter().map(|fix| format!("{:?}", fix.applicability)));
                }
            }
        }
        let table: BTreeSet<String> = code.fixes().iter().map(|it| format!("{it:?}")).collect();
        assert_eq!(kinds, table, "{code}");
    }
}

#[test]
fn every_fix_leaves_valid_code() {
    let mut texts = Vec::new();
    for &code in Code::ALL {
        texts.push((code, "fixture", fixture_text(code)));
        let (info, example) = page(code).example;
        if info != "text" {
            texts.push((code, "page", example));
        }
    }
    let mut problems = Vec::new();
    let mut fixes = 0;
    for (own, origin, text) in &texts {
        for dialect in DIALECTS {
            let before = findings(*own, text, dialect);
            for (at, diagnostic) in before.iter().enumerate() {
                for fix in &diagnostic.fixes {
                    fixes += 1;
                    let code = diagnostic.code;
                    for problem in broken(*own, text, dialect, &before, at, fix) {
                        let title = &fix.title;
                        let place = format!("{origin} {own} {dialect:?}");
                        problems.push(format!("{place} {code} {title}: {problem}"));
                    }
                }
            }
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    assert!(fixes > 100, "only {fixes} fixes were tried");
}

/// After the fix for emulated instructions, the text has no such findings.
#[test]
fn cost_fixes_are_valid() {
    for (code, fixes) in [
        // The result of `vadd.sat` differs between semantics.
        (Code::EmulatedInstruction, [2, 1]),
        // The result of a merge into `.h1` differs between semantics.
        (Code::UnfusedInstructions, [2, 1]),
    ] {
        let text = fixture_text(code);
        let found = |text: &str| findings(code, text, Dialect::Documented);
        let before = found(&text);
        let safe = |wanted| {
            let fixes = before.iter().flat_map(|diagnostic| &diagnostic.fixes);
            fixes.filter(|fix| (fix.applicability == Applicability::Safe) == wanted).count()
        };
        assert_eq!([safe(true), safe(false)], fixes, "{code}");
        for diagnostic in &before {
            let fixed = diagnostic.fixes[0].apply(&text);
            let after = found(&fixed);
            assert_eq!(after.len(), before.len() - 1, "{fixed}");
            assert!(after.iter().all(|left| left.code == code), "{fixed}");
        }
    }
}

/// The document equals the table of the rules.
#[test]
fn the_document_has_all_rules() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/rules.md");
    let text = std::fs::read_to_string(path).expect("the document");
    let start = text.find("| code |").expect("the table");
    assert_eq!(text[start..], vptx::diagnostic::table(), "`vptx explain --all` prints it");
}

/// The findings of every fixture can be suppressed.
#[test]
fn what_is_found_can_be_suppressed() {
    let mut written = 0;
    for &code in Code::ALL {
        let text = fixture_text(code);
        for rules in [RuleSet::DEFAULT, RuleSet::ALL] {
            let options = options(code, Dialect::Documented).with_rules(rules);
            let before = check(&text, &options);
            let done = add_ignores(&text, &options);
            let left = |of: &[vptx::Diagnostic]| -> Vec<Code> {
                // An error in the structure of a text gets no comment.
                let stays = |it: &&vptx::Diagnostic| {
                    it.statement.is_none() && !it.code.text().starts_with("V3")
                };
                of.iter().filter(stays).map(|it| it.code).collect()
            };
            let again = check(&done.text, &options);
            assert_eq!(left(&again).len(), again.len(), "{code}: {again:?}");
            assert_eq!(left(&before), left(&again), "{code}\n{}", done.text);
            written += before.len() - again.len();
            assert_eq!(done.codes.len(), before.len() - again.len(), "{code}");
            let twice = add_ignores(&done.text, &options);
            assert_eq!(twice.text, done.text, "{code}");
        }
    }
    assert!(written > 200, "{written}");
}

/// miette sees the same code, help, severity and label of a finding.
#[test]
fn findings_are_those_of_miette() {
    let text = "vadd.u32.u32 d, a, b;\nvinterleave2.u32.u32.u32 d, a, b;\n";
    let found = check(text, &CheckOptions::default());
    let told: Vec<_> = found
        .iter()
        .map(|finding| {
            let seen: &dyn miette::Diagnostic = finding;
            let text = |it: Option<Box<dyn std::fmt::Display + '_>>| it.map(|it| it.to_string());
            let labels = seen.labels().into_iter().flatten();
            let labels: Vec<_> = labels.map(|it| (it.offset(), it.len())).collect();
            (text(seen.code()), text(seen.help()), seen.severity(), labels[0])
        })
        .collect();
    let error = Some(miette::Severity::Error);
    let code = |code: &str| Some(code.to_owned());
    assert_eq!(told.len(), 2);
    assert_eq!((&told[0].0, told[0].2), (&code("V104"), error));
    let url = miette::Diagnostic::url(&found[0]).map(|url| url.to_string());
    assert!(url.as_ref().is_some_and(|url| url.ends_with("MissingType")), "{url:?}");
    // No mnemonic is similar to this name.
    let help = "`vptx explain` lists the video instructions".to_owned();
    assert_eq!(told[1], (code("V101"), Some(help), error, (22, 12)));
}
