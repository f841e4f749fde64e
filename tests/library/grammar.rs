//! Compares `grammar/video.ebnf` with the checker and the table of forms, in both
//! directions.

use std::collections::BTreeSet;

use crate::support::ebnf::{Grammar, Samples};
use crate::support::forms::{LANE_SAMPLES, MASKS2, MASKS4, PARTS, rows, texts};
use crate::support::random::Random;
use crate::support::samples;
use vptx::isa::Modifier;
use vptx::syntax::{parse_instruction, statement_tokens};
use vptx::{CheckOptions, Code, Diagnostic, Dialect, parse_with};

const ROOT: &str = "statement";

fn grammar() -> Grammar {
    let text = include_str!("../../grammar/video.ebnf");
    Grammar::parse(text).unwrap_or_else(|error| panic!("video.ebnf: {error}"))
}

/// Warnings about syntax that the manual does not have.
const BEYOND_MANUAL: [Code; 4] =
    [Code::ModifierOrder, Code::RepeatedSaturate, Code::IgnoredThirdOperand, Code::IgnoredSelector];

/// The checker's verdict on a text.
struct Verdict {
    /// Whether the text is exactly one instruction that the manual allows.
    accepted: bool,
    /// The findings that speak against it.
    against: Vec<Code>,
}

fn verdict(text: &str) -> Verdict {
    let options = CheckOptions::default().with_dialect(Dialect::Documented);
    let (module, diagnostics) = parse_with(text, &options).expect("PTX");
    let bad = |diagnostic: &&Diagnostic| {
        diagnostic.severity == vptx::diagnostic::Severity::Error
            || BEYOND_MANUAL.contains(&diagnostic.code)
    };
    let against: Vec<Code> = diagnostics.iter().filter(bad).map(|found| found.code).collect();
    // With a second `;` or a label, the text is a legal list of statements, not a single
    // instruction.
    let whole = match module.statements() {
        [one] => {
            let (start, end) = (one.span.start as usize, one.span.end as usize);
            one.instruction.is_some() && blank(&text[..start]) && blank(&text[end..])
        }
        _ => false,
    };
    Verdict { accepted: whole && against.is_empty(), against }
}

/// Whether a text has only white space and comments.
fn blank(mut text: &str) -> bool {
    loop {
        text = text.trim_start_matches([' ', '\t', '\n', '\r', '\u{c}']);
        if text.is_empty() {
            return true;
        }
        let end = if text.starts_with("//") {
            text.find('\n').or(Some(text.len()))
        } else {
            text.strip_prefix("/*").and_then(|rest| rest.find("*/")).map(|at| at + 4)
        };
        let Some(end) = end else { return false };
        text = &text[end..];
    }
}

/// Findings that depend on the value or size of a constant, which the grammar cannot know: division
/// by zero, the one quotient that overflows, more than 64 bits, or too much nesting for the stack.
const VALUES: [Code; 3] =
    [Code::MalformedNumber, Code::NestedTooDeeply, Code::ConstantWithoutValue];

fn only(against: &[Code], allowed: &[Code]) -> bool {
    !against.is_empty() && against.iter().all(|code| allowed.contains(code))
}

fn report(wrong: &[String], count: usize) {
    let some = wrong[..wrong.len().min(25)].join("\n");
    assert!(wrong.is_empty(), "{} of {count}:\n{some}", wrong.len());
}

/// Samples for names, constants and four-way lanes. All other rules are enumerated in full.
const SAMPLES: Samples<'static> = &[
    ("guard", &["@p", "@!%p1"]),
    ("REGISTER", &["d"]),
    ("immediate", &["-5", "0x1FU"]),
    ("QUAD_LANES", &[".b3210", ".b7654", ".b0123"]),
];

/// The place of an instruction starts at its guard, and ends behind its `;`.
#[test]
fn places_of_instructions_are_whole() {
    for text in ["@!p vadd.u32.u32.u32 d, a, b.b0 ;", "ret ;", "vset.u32.u32.lt d, a, 1;"] {
        let source = format!(" {text} // no part");
        let raw = parse_instruction(&source, &statement_tokens(&source)).expect(text);
        assert_eq!(raw.span.text(&source), text);
    }
}

#[test]
fn one_statement_is_one_instruction() {
    for behind in [";", "ret;"] {
        let text = format!("vadd.u32.u32.u32 d, a, b;{behind}");
        let failure = parse_instruction(&text, &statement_tokens(&text)).unwrap_err();
        assert_eq!(failure.left, statement_tokens(behind).len(), "{text}");
    }
}

#[test]
fn enumerated_sentences_are_accepted() {
    let grammar = grammar();
    let sentences = grammar.enumerate(ROOT, SAMPLES).expect("the samples make it finite");
    // With a step that is prime, the sample is even over all alternatives.
    let steps = [1, 2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71];
    let steps = steps.into_iter().chain([97, 127, 163, 199, 241, 283, 331, 383]).rev();
    let (all, wanted) = (sentences.count(), samples(8_000));
    let step = { steps }.find(|&step| all / step as u64 >= wanted).unwrap_or(1);
    let mut wrong = Vec::new();
    let mut count = 0;
    for text in sentences.every(step) {
        count += 1;
        let Verdict { accepted, against } = verdict(&text);
        if !accepted {
            wrong.push(format!("{text}\t{against:?}"));
        }
    }
    report(&wrong, count);
    assert!(count as u64 >= wanted.min(all), "{count} of {all}");
}

#[test]
fn random_sentences_are_accepted() {
    let grammar = grammar();
    let mut random = Random(9);
    let (mut wrong, mut count, mut values) = (Vec::new(), 0, 0);
    let mut used = BTreeSet::new();
    for turn in 0..24_000 {
        let samples: Samples<'_> = match turn % 4 {
            // These turns take plain operands, so that all forms occur.
            0 => &[("immediate", &["7"]), ("REGISTER", &["%r1", "a", "$x"])],
            _ => &[],
        };
        let text = grammar.random(ROOT, samples, &mut random, 6 + turn % 30);
        let Verdict { accepted, against } = verdict(&text);
        count += 1;
        if !accepted && only(&against, &VALUES) {
            values += 1;
        } else if !accepted {
            wrong.push(format!("{text}\t{against:?}"));
        }
        if turn % 8 < 2 {
            let rules = grammar.recognise_rules(ROOT, &text);
            used.extend(rules.unwrap_or_else(|| panic!("{text}")));
        }
    }
    report(&wrong, count);
    assert!(values * 10 < count, "constants without value: {values} of {count}");
    let unused: Vec<&str> = grammar.rule_names().filter(|name| !used.contains(name)).collect();
    assert!(unused.is_empty(), "rules never used: {unused:?}");
}

/// Every form of the table has a derivation: 300,352 texts, where the selectors of four-way forms
/// are samples.
#[test]
fn forms_are_derivable() {
    let grammar = grammar();
    let mut count = 0;
    for (form, mnemonic) in rows() {
        for text in texts(form, mnemonic) {
            assert!(grammar.recognise(ROOT, &text), "{} {}: {text}", form.section, form.title);
            count += 1;
        }
    }
    let four_way = (6 * 8 * 3 + 4 * 6 * 2) * 16 * LANE_SAMPLES;
    assert_eq!(count, 78_400 + 221_952 + four_way);
}

/// The grammar's lists of selectors equal the lists of the table.
#[test]
fn selectors_are_the_same() {
    let grammar = grammar();
    let list = |rule: &str| -> BTreeSet<String> {
        grammar.enumerate(rule, &[]).expect("finite").iter().collect()
    };
    let set = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
    assert_eq!(list("scalar_selector"), set(&PARTS));
    assert_eq!(list("pair_mask"), set(&MASKS2));
    assert_eq!(list("quad_mask"), set(&MASKS4));
    assert_eq!((list("PAIR_LANES").len(), list("QUAD_LANES").len()), (16, 4096));
    let operations: usize =
        ["scalar_operation", "shift_operation", "pair_operation", "quad_operation"]
            .iter()
            .map(|rule| list(rule).len())
            .sum();
    assert_eq!(operations + ["vmad", "vset", "vset2", "vset4"].len(), 23);
    for rule in ["type", "saturate", "accumulate", "comparison", "shift_mode", "scale"] {
        for text in list(rule) {
            assert!(text.parse::<Modifier>().is_ok(), "{rule}: {text}");
        }
    }
}

// ------------------------------------------------------------------ mutants

/// Groups of similar tokens. A token that is replaced by another token of its group often stays
/// legal.
const POOLS: &[&[&str]] = &[
    &[".u32", ".s32"],
    &["a", "b", "%r1", "$x", "_y", "d"],
    &["5", "0", "0x1FU", "017", "0b1", "WARP_SZ", "4294967296"],
    &[".eq", ".ne", ".lt", ".le", ".gt", ".ge"],
    &[".b0", ".b1", ".b2", ".b3", ".h0", ".h1"],
    &[".h10", ".h32", ".h00", ".h33", ".h0", ".h1"],
    &[".b3210", ".b7654", ".b0", ".b1", ".b10", ".b321", ".b1024"],
    &[".add", ".min", ".max"],
    &[".clamp", ".wrap"],
    &[".shr7", ".shr15"],
    &["vadd", "vsub", "vabsdiff", "vmin", "vmax"],
    &["vshl", "vshr"],
    &["vadd2", "vavrg2", "vabsdiff2", "vmax2"],
    &["vadd4", "vavrg4", "vabsdiff4", "vmin4"],
    &["vset", "vset2", "vset4", "vmad"],
    &[
        "+", "-", "*", "/", "%", "<<", ">>", "<", "<=", ">", ">=", "==", "!=", "&", "^", "|", "&&",
        "||",
    ],
];

/// Tokens that usually do not fit. `#` is missing, because the module reader handles preprocessor
/// lines, but the grammar does not.
const ODDITIES: &[&str] = &[
    "_",
    ".",
    ":",
    "::",
    "?",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "!",
    "~",
    "@",
    ";",
    ",",
    "=",
    "\"",
    "\"x\"",
    "é",
    "\\",
    "'",
    "`",
    "08",
    "0x",
    "5u",
    "1.5",
    "0f3F800000",
    ".5",
    "99999999999999999999",
    ".f32",
    ".u16",
    ".b32",
    ".s64",
    "(.s64)",
    "(.u64)",
    "( .s32 )",
    ".sat",
    ".po",
    ".cc",
    ".lo",
    ".b00",
    ".b01",
    ".b12",
    ".b4",
    ".h2",
    ".h4",
    ".h01",
    ".b8210",
    ".b",
    ".x",
    ".SAT",
    "vadd3",
    "VADD",
    "varvg4",
    "add",
    "ret",
    "%laneid",
    "%tid",
    "%clock",
    "-5",
    "(5)",
    "-WARP_SZ",
    "1?2:3",
    "a|b",
    "!p",
    "--",
    "@p",
    "@!p",
    "%",
    "$",
    "/*",
    "*/",
    "//",
];

/// Splits a text into tokens by the character set of PTX alone.
fn tokens(text: &str) -> Vec<String> {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '$';
    let mut tokens: Vec<String> = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let tail = &rest[first.len_utf8()..];
        let words = tail.find(|c| !word(c)).unwrap_or(tail.len());
        let length = match first {
            ' ' | '\n' | '\t' => 0,
            '.' | '%' => 1 + words,
            _ if word(first) => 1 + words,
            '<' | '>' | '=' | '!' | '&' | '|' => {
                let pair = rest.get(..2).unwrap_or("");
                let double = ["<<", ">>", "<=", ">=", "==", "!=", "&&", "||"].contains(&pair);
                1 + usize::from(double)
            }
            _ => first.len_utf8(),
        };
        if length > 0 {
            tokens.push(rest[..length].to_owned());
        }
        rest = &rest[length.max(first.len_utf8())..];
    }
    tokens
}

/// A legal instruction to start from.
fn seedling(random: &mut Random, pool: &[Vec<String>], grammar: &Grammar) -> Vec<String> {
    if random.one_in(6) {
        let text = grammar.random(ROOT, &[("REGISTER", &["a", "d"])], random, 22);
        return tokens(&text);
    }
    let row = random.pick(pool);
    let text: &String = random.pick(row);
    let mut tokens = tokens(text);
    if random.one_in(5) {
        let negated = random.one_in(2);
        tokens.splice(0..0, ["@", "p"].map(str::to_owned));
        if negated {
            tokens.insert(1, "!".to_owned());
        }
    }
    // Replaces some sources by constants.
    let constants = ["5", "-5", "0x1F", "(2+3)*4", "1?2:3", "~0 % 7", "(.s64)WARP_SZ"];
    for token in tokens.iter_mut().skip(1) {
        if matches!(token.as_str(), "a" | "b" | "c") && random.one_in(12) {
            (*random.pick(&constants)).clone_into(token);
        }
    }
    // Splits the new constants into tokens.
    self::tokens(&tokens.join(" "))
}

fn any_token(random: &mut Random) -> String {
    let odd = random.one_in(2);
    let pool = if odd { ODDITIES } else { *random.pick(POOLS) };
    (*random.pick(pool)).to_owned()
}

/// Changes one token.
fn mutate(tokens: &mut Vec<String>, random: &mut Random) {
    if tokens.is_empty() {
        return;
    }
    let at = random.below(tokens.len());
    match random.below(12) {
        0 => {
            tokens.remove(at);
        }
        1 => {
            let token = tokens[at].clone();
            tokens.insert(at, token);
        }
        2 => {
            let other = random.below(tokens.len());
            tokens.swap(at, other);
        }
        3 if at + 1 < tokens.len() => tokens.swap(at, at + 1),
        4 => tokens.insert(at, any_token(random)),
        5 => tokens[at] = any_token(random),
        6 => {
            // Adds, removes or changes one letter.
            let mut token: Vec<char> = tokens[at].chars().collect();
            let place = random.below(token.len());
            match random.below(3) {
                0 => token[place] = *random.pick(&['0', '7', 'b', 'h', 'U', '$', '.', 'x']),
                1 => token.insert(place, *random.pick(&['0', '3', 'a', '_', '%', '.'])),
                _ if token.len() > 1 => {
                    token.remove(place);
                }
                _ => {}
            }
            tokens[at] = token.into_iter().collect();
        }
        7 => {
            // Replaces the token by a constant of several tokens.
            let constant =
                ["( 1 + 2 )", "- 5", "~ ! 0", "1 ? 2 : 3", "8 % 3", "( .u64 ) 5", "1 << 4"];
            if !tokens[at].starts_with('.') {
                tokens.splice(at..=at, random.pick(&constant).split(' ').map(str::to_owned));
            }
        }
        // Replaces the token by a similar one.
        _ => {
            let token = tokens[at].as_str();
            let mut kinds = POOLS.to_vec();
            kinds.retain(|pool| pool.contains(&token));
            if !kinds.is_empty() {
                let kind = *random.pick(&kinds);
                (*random.pick(kind)).clone_into(&mut tokens[at]);
            }
        }
    }
}

/// Joins tokens: usually with a space between them, sometimes with none, sometimes with
/// line breaks and comments.
fn spell(tokens: &[String], random: &mut Random) -> String {
    let gaps: &[&str] = match random.below(4) {
        0 => &[" ", "", "\n", "\t", " /* , */ ", "//;\n", "\r\n", "/**/"],
        1 => &[""],
        _ => &[" "],
    };
    let mut text = String::new();
    for (at, token) in tokens.iter().enumerate() {
        let before = at.checked_sub(1).map_or("", |before| tokens[before].as_str());
        // Words are kept separate, unless this text may fuse them.
        let fuse = before.ends_with(|c: char| c.is_ascii_alphanumeric())
            && token
                .starts_with(|c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '%'))
            && !random.one_in(50);
        let gap = *random.pick(gaps);
        text.push_str(if fuse && gap.is_empty() { " " } else { gap });
        text.push_str(token);
    }
    // The final line break ends a `//` comment.
    text + "\n"
}

/// Whether the grammar and the checker may disagree about a mutant. Only the reasons below count.
fn exempt(text: &str, derivable: bool, found: &Verdict) -> bool {
    // The grammar does not know the names that PTX predefines.
    let special = only(&found.against, &[Code::SpecialRegister]);
    // The grammar does not know the value of a constant.
    let valueless = only(&found.against, &VALUES);
    if derivable {
        return special || valueless;
    }
    // The manual has floating-point constants, whose comparison gives an integer. The grammar has
    // none.
    let words: Vec<String> = tokens(text);
    let float = words.iter().any(|word| {
        word == "0f3F800000"
            || word
                .strip_prefix('.')
                .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    });
    float && words.iter().any(|word| ["<", "<=", ">", ">=", "==", "!="].contains(&word.as_str()))
}

#[test]
fn mutants_get_the_same_verdict() {
    let grammar = grammar();
    let mut random = Random(2024);
    let pool: Vec<Vec<String>> = rows()
        .map(|(form, mnemonic)| texts(form, mnemonic).into_iter().step_by(7).collect())
        .collect();
    let (mut wrong, mut accepted, mut exempted) = (Vec::new(), 0, 0);
    let count = samples(30_000) as usize;
    for _ in 0..count {
        let mut tokens = seedling(&mut random, &pool, &grammar);
        for _ in 0..=random.below(3) {
            mutate(&mut tokens, &mut random);
        }
        let text = spell(&tokens, &mut random);
        let derivable = grammar.recognise(ROOT, &text);
        let found = verdict(&text);
        accepted += usize::from(found.accepted);
        if derivable != found.accepted {
            if exempt(&text, derivable, &found) {
                exempted += 1;
            } else {
                let grammar = if derivable { "derivable" } else { "not derivable" };
                wrong.push(format!("{text:?}\t{grammar}, {:?}", found.against));
            }
        }
    }
    report(&wrong, count);
    assert!(accepted * 10 >= count && accepted * 10 <= 9 * count, "{accepted} of {count}");
    assert!(exempted * 50 < count, "{exempted} exempt");
}

/// Where ptxas accepts more than the manual, the grammar rejects the text. The checker reports each
/// such case with a code that these tests count.
#[test]
fn what_only_ptxas_accepts_is_no_sentence() {
    let grammar = grammar();
    for text in [
        "vadd.sat.u32.u32.u32 d, a, b;",
        "vadd.u32.u32.u32.sat.sat d, a, b;",
        "vsub.s32.s32.s32.add.sat d, a, b, c;",
        "vset.lt.u32.u32 d, a, b;",
        "vadd.u32.u32.u32 d, a, b, c;",
        "vadd.u32.u32.u32 d, -a, -b;",
        "vmad.u32.u32.u32.po d, -a, -b, c;",
        "vmad.u32.u32.u32 d.b01, a, b, c;",
        "vadd.u32.u32.u32.add d, a, b, c.b12;",
    ] {
        assert!(!grammar.recognise(ROOT, text), "{text}");
        assert!(!verdict(text).accepted, "{text}");
        let ptxas = CheckOptions::default().with_dialect(Dialect::Ptxas);
        assert!(vptx::check(text, &ptxas).is_empty(), "{text}");
    }
}
