//! White space has no meaning: texts with the same tokens have the same layout, the same normal
//! form and the same findings.

use std::fs;

use crate::support::ptx_files;
use crate::support::random::Random;
use vptx::analysis::check;
use vptx::check::CheckOptions;
use vptx::print::{FormatOptions, NormalOptions, format, normalize};
use vptx::syntax::{Token, TokenKind, statement_tokens};

/// The words of a text, between which white space may stand.
pub(crate) fn words(text: &str) -> Vec<&str> {
    let tokens = statement_tokens(text);
    let mut words: Vec<&str> = Vec::with_capacity(tokens.len());
    let mut at = 0;
    while let Some(first) = tokens.get(at) {
        let dwarf = text[first.span().range().start..].starts_with("@@DWARF");
        let last = tokens[if dwarf { at + 2 } else { at }];
        words.push(first.span().to(last.span()).text(text));
        at += if dwarf { 3 } else { 1 };
    }
    words
}

/// Whether two words stay separate without white space between them. ptxas reads `4.b8` as `4.` and
/// `b8`.
fn may_meet(one: &str, other: &str) -> bool {
    if one.starts_with("@@") || other.starts_with("@@") {
        return false;
    }
    let both = format!("{one}{other}");
    let apart = statement_tokens(&both);
    let is_number = one.starts_with(|c: char| c.is_ascii_digit());
    let texts: Vec<&str> = apart.iter().map(|token| token.span().text(&both)).collect();
    texts == [one, other] && !(is_number && other.starts_with('.'))
}

/// The same words with random white space between them, or without any where possible.
pub(crate) fn respaced(words: &[&str], numbers: &mut Random, gaps: &[&str]) -> String {
    let mut text = String::new();
    // The share of words without white space between them differs from text to text.
    let odds = 1 + numbers.below(4);
    for pair in words.windows(2) {
        text += pair[0];
        if !numbers.one_in(odds) || !may_meet(pair[0], pair[1]) {
            text += gaps[numbers.below(gaps.len())];
        }
    }
    text + words.last().unwrap_or(&"")
}

const BLANKS: &[&str] = &[" ", "\n", "\t", "  ", "\r\n", " \n\t"];
pub(crate) const COMMENTS: &[&str] =
    &[" ", "\n", "/**/", "/* ; } \" { */", "// ;{}\n", " /*\n*/ ", "\n//\n"];

/// The findings, each with the number of the token where it starts.
fn findings(text: &str) -> Vec<(String, usize)> {
    let tokens = statement_tokens(text);
    let number = |at: u32| tokens.partition_point(|token: &Token| token.span().start < at);
    let found = check(text, &CheckOptions::default());
    let found =
        found.iter().map(|it| (format!("{} {}", it.code, it.message), number(it.span.start)));
    found.collect()
}

/// The number of tokens of each statement in a text, and the number of errors.
fn statements(text: &str) -> (Vec<usize>, usize) {
    let tree = vptx::syntax::parse(text);
    let counts = tree.all_statements().map(|statement| statement.tokens().len());
    (counts.collect(), tree.errors().len())
}

#[test]
fn texts_with_the_same_tokens_are_the_same() {
    let files = ["directives", "ptx/hand", "ptx/clang", "ptx/triton", "ptx/nvcc"]
        .into_iter()
        .flat_map(ptx_files);
    let texts = files.map(|path| (fs::read_to_string(&path).unwrap(), path));
    let small = texts.filter(|(text, _)| text.len() < 60_000);
    let layout = |text: &str| format(text, &FormatOptions::default());
    let mut numbers = Random(45);
    let mut count = 0;
    for (text, path) in small {
        let path = path.display();
        let words = words(&text);
        let plain = words.join(" ");
        let (laid_out, found) = (layout(&plain).unwrap(), findings(&plain));
        assert_eq!(layout(&laid_out).as_ref(), Ok(&laid_out), "{path}");
        let tokens = statement_tokens(&laid_out);
        let meet = |pair: &[Token]| {
            let [one, other] = pair else { return false };
            one.kind() == TokenKind::Number
                && !one.span().text(&laid_out).starts_with('.')
                && other.kind() == TokenKind::Dot
                && one.span().end == other.span().start
        };
        assert!(!tokens.windows(2).any(meet), "{path}: ptxas reads `4.b8` otherwise");
        for round in 0..12 {
            let mut options = NormalOptions::default();
            options.keep_names = round % 2 > 0;
            options.keep_debug = round % 3 > 0;
            let blanks = respaced(&words, &mut numbers, BLANKS);
            assert_eq!(findings(&blanks), found, "{path}\n{blanks}");
            assert_eq!(statements(&blanks), statements(&plain), "{path}\n{blanks}");
            same(&layout(&blanks).unwrap(), &laid_out, &format!("{path}\n{blanks}"));
            let comments = respaced(&words, &mut numbers, COMMENTS);
            let form = normalize(&plain, &options).unwrap();
            for variant in [&blanks, &comments] {
                let own = normalize(variant, &options).unwrap();
                same(&own, &form, &format!("{path}: {options:?}\n{variant}"));
            }
            count += 1;
        }
    }
    assert!(count > 300, "{count}");
}

fn same(one: &str, other: &str, name: &str) {
    let different = one.lines().zip(other.lines()).find(|(one, other)| one != other);
    assert!(one == other, "{different:?} in {name}");
}
