//! Diagnostics for text that does not parse.

use crate::diagnostic::{Applicability, Code, Diagnostic, Edit, listed};
use crate::isa::{PtxVersion, Target};
use crate::source::{Span, UNDECODABLE, nearest};
use crate::syntax::declaration::DIRECTIVES;
use crate::syntax::lexer::trivia_end;
use crate::syntax::{
    ConstantError, ConstantErrorKind, Context, Expected, Failure, Problem, ProblemKind, Token,
    TokenKind, WantedStatement,
};

/// The finding for a problem in the structure of the module.
pub(crate) fn diagnostic(source: &str, problem: Problem) -> Diagnostic {
    let Problem { kind, span } = problem;
    match kind {
        ProblemKind::UnclosedComment => {
            Diagnostic::new(Code::UnclosedComment, span, "this comment has no end")
                .label("opened here")
                .help("close it with `*/`; comments do not nest")
        }
        ProblemKind::UnclosedString => {
            Diagnostic::new(Code::UnclosedString, span, "this string has no closing quote")
                .label("opened here")
                .help("PTX strings have no escapes: `\\` is an ordinary character")
        }
        ProblemKind::UnclosedBrace { found } => {
            let diagnostic = Diagnostic::new(Code::UnclosedBrace, span, "this `{` is never closed")
                .label("opened here")
                .help("add the missing `}`");
            if found.is_empty() {
                diagnostic
            } else {
                diagnostic.related(found, "another function starts here")
            }
        }
        ProblemKind::StrayBrace => {
            Diagnostic::new(Code::StrayBrace, span, "this `}` closes nothing")
                .label("no `{` is open")
                .help("remove it, or add the `{` it belongs to")
        }
        ProblemKind::MissingSemicolon => missing_semicolon(source, span),
        ProblemKind::UnknownDirective => {
            let word = span.text(source);
            let message = format!("no statement starts with `{word}`");
            let diagnostic =
                Diagnostic::new(Code::UnexpectedToken, span, message).label("unknown directive");
            match nearest(word, DIRECTIVES.iter().copied()) {
                Some(near) => diagnostic.help(format!("did you mean `{near}`?")).offer(span, near),
                None => diagnostic,
            }
        }
        ProblemKind::Unexpected => {
            let word = span.text(source);
            let message = format!("`{word}` cannot stand here");
            let target = word.parse().ok().map(Target::sm).filter(|target| target.is_known());
            Diagnostic::new(Code::UnexpectedToken, span, message)
                .label("not a part of this directive")
                .help(match target {
                    Some(target) => format!("the name of this target is `{target}`"),
                    None => "a module starts like `.version 8.0 .target sm_90 .address_size 64`"
                        .to_string(),
                })
        }
        ProblemKind::MissingName => {
            Diagnostic::new(Code::MissingName, span, "the function has no name")
                .label("expected a name after it")
                .help("a header is `.entry name (…)`, or `.func (…) name (…)` with results")
        }
        ProblemKind::NoLineMarker => {
            Diagnostic::new(Code::InvalidCharacter, span, "this `#` line is not a line marker")
                .label("not PTX")
                .help("run the C preprocessor first: it leaves only markers such as `# 1 \"file\"`")
        }
        ProblemKind::ByteOrderMark => {
            Diagnostic::new(Code::InvalidCharacter, span, "the file starts with a byte order mark")
                .label("ptxas rejects it")
                .help("save the file as UTF-8 without it, or as ASCII")
                .remove(Applicability::Safe, span)
        }
        ProblemKind::UnknownTarget => unknown_target(span.text(source), span),
        ProblemKind::UnknownVersion => unknown_version(span.text(source), span),
        ProblemKind::NewerTarget { since, version } => {
            let (name, old) = (span.text(source), version.text(source));
            let message = format!("PTX {old} does not have `{name}` yet");
            Diagnostic::new(Code::TargetAboveVersion, span, message)
                .label(format!("PTX has it since {since}"))
                .related(version, "set here")
                .help(format!("write `.version {since}` or higher"))
                .fix(
                    Applicability::Unsafe,
                    format!("write `.version {since}`"),
                    vec![Edit::replace(version, since.to_string())],
                )
        }
    }
}

/// A `.target` that ptxas 13.5 does not know.
fn unknown_target(name: &str, span: Span) -> Diagnostic {
    let target = name.parse::<Target>().ok();
    let nearest = match target {
        Some(target) if target.number > Target::NEWEST.number => None,
        Some(target) => Some(target.nearest_known().to_string()),
        None => {
            let digits = name.trim_start_matches(|c: char| !c.is_ascii_digit());
            let digits = digits.split(|c: char| !c.is_ascii_digit()).next();
            let number = digits.and_then(|digits| digits.parse().ok());
            number.map(|number| Target::sm(number).nearest_known().to_string())
        }
    };
    let diagnostic =
        Diagnostic::new(Code::UnknownTarget, span, format!("there is no target `{name}`"));
    unknown(diagnostic.label("unknown target"), span, nearest, &Target::NEWEST.to_string())
}

/// A `.version` that ptxas 13.5 does not know.
fn unknown_version(text: &str, span: Span) -> Diagnostic {
    let major = || text.parse().ok().map(|major| PtxVersion::new(major, 0));
    let version = text.parse::<PtxVersion>().ok().or_else(major);
    let nearest = version.filter(|version| *version < PtxVersion::NEWEST);
    let nearest = nearest.map(|version| version.nearest_known().to_string());
    let diagnostic =
        Diagnostic::new(Code::UnknownVersion, span, format!("there is no PTX version `{text}`"));
    unknown(diagnostic.label("unknown version"), span, nearest, &PtxVersion::NEWEST.to_string())
}

/// Names the nearest known value and offers it as a fix. If none is near, the help names the newest
/// known value: the unknown value may be newer still.
fn unknown(
    diagnostic: Diagnostic,
    span: Span,
    nearest: Option<String>,
    newest: &str,
) -> Diagnostic {
    let Some(nearest) = nearest else {
        return diagnostic.help(format!("the newest that vptx knows is `{newest}`"));
    };
    diagnostic.help(format!("the nearest is `{nearest}`")).offer(span, &nearest)
}

pub(crate) fn missing_semicolon(source: &str, span: Span) -> Diagnostic {
    let found = Diagnostic::new(Code::MissingSemicolon, span, "the statement ends without `;`")
        .label("expected `;`");
    // There is one already, which ends nothing inside a brace that is not closed.
    let (before, after) = source.split_at(span.start as usize);
    let next = trivia_end(after.as_bytes(), 0);
    if before.ends_with(';') || after[next..].starts_with(';') {
        return found;
    }
    found.fix(Applicability::Unsafe, "insert `;`", vec![Edit::insert(span.start, ";")])
}

/// The finding for a video instruction that does not parse.
pub(super) fn failure(
    source: &str,
    statement: &WantedStatement<'_>,
    failure: Failure,
    context: &Context<'_>,
) -> Diagnostic {
    if let Some(error) = failure.constant {
        return constant(source, error);
    }
    let tokens = statement.tokens;
    let at = tokens.len() - failure.left;
    // The span of a `;` that is not in the text is empty.
    let Some(token) = tokens.get(at).filter(|token| !token.span().is_empty()) else {
        let end = tokens.last().map_or(0, |last| last.span().end);
        if failure.expected.contains(Expected::SEMICOLON) {
            return missing_semicolon(source, Span::at(end));
        }
        if failure.expected.contains(Expected::BRACKET) {
            let open = tokens.iter().find(|token| token.is(b'[') || token.is(b'{'));
            let span = open.map_or(Span::at(end), |open| open.span());
            return Diagnostic::new(Code::UnexpectedToken, span, "this bracket is never closed")
                .label("opened here");
        }
        let message = "the instruction is incomplete";
        return Diagnostic::new(Code::UnexpectedToken, Span::at(end), message)
            .label(format!("expected {}", list(failure.expected)));
    };
    let text = token.span().text(source);
    if token.kind() == TokenKind::Unknown {
        return invalid_character(text, token.span());
    }
    let previous = at.checked_sub(1).map(|at| tokens[at]);
    let next = tokens.get(at + 1);
    let diagnostic =
        |message: String| Diagnostic::new(Code::UnexpectedToken, token.span(), message);
    if token.is(b'.') {
        let apart =
            next.is_some_and(|next| matches!(next.kind(), TokenKind::Ident | TokenKind::Number));
        return if apart {
            diagnostic("white space after the dot".into())
                .label("the dot and the word after it form one token")
                .help("write them together, as in `.u32` or `.b0`; white space may stand before the dot")
        } else {
            diagnostic("a dot without a word after it".into())
                .label("expected a modifier or selector")
        };
    }
    // In `10%3`, the lexer reads a register `%3`, as ptxas does. If `%3` is declared, the register
    // was meant.
    let divides = text.starts_with('%') && context.resolve(text).is_none();
    if divides && previous.is_some_and(|last| last.kind() == TokenKind::Number) {
        return diagnostic(format!("`{text}` reads as a register here"))
            .label("not an operator and a number")
            .help("put a space after `%`")
            .fix(
                Applicability::Unsafe,
                "separate the operator",
                vec![Edit::replace(token.span(), format!("% {}", &text[1..]))],
            );
    }
    if failure.expected.contains(Expected::CONSTANT) && token.kind() == TokenKind::Ident {
        return diagnostic(format!("`{text}` cannot be part of a constant expression"))
            .label("expected a constant")
            .help("registers stand alone, without parentheses or operators");
    }
    if failure.expected == Expected::NONE {
        return diagnostic("something follows the instruction".into())
            .label("expected nothing more");
    }
    let expected = list(failure.expected);
    let after_operand = failure.expected.contains(Expected::COMMA);
    if after_operand && token.kind() == TokenKind::Dot {
        return diagnostic("an operand takes one selector".into()).label("a second one");
    }
    let what = if text.len() <= 40 { format!("found `{text}`") } else { "found this".into() };
    let mut diagnostic = diagnostic(format!("expected {expected}, {what}")).label("unexpected");
    let previous = previous.map(Token::span);
    if after_operand && matches!(token.kind(), TokenKind::Ident | TokenKind::Number) {
        if let Some(previous) = previous {
            let edit = Edit::insert(previous.end, ",");
            diagnostic = diagnostic.fix(Applicability::Unsafe, "insert `,`", vec![edit]);
        }
    } else if failure.expected.contains(Expected::OPERAND) && (token.is(b';') || token.is(b',')) {
        let comma = if token.is(b',') { Some(token.span()) } else { previous };
        if let Some(comma) = comma.filter(|comma| comma.text(source) == ",") {
            let edit = Edit::remove(comma);
            diagnostic = diagnostic.fix(Applicability::Unsafe, "remove `,`", vec![edit]);
        }
    }
    diagnostic
}

fn invalid_character(text: &str, span: Span) -> Diagnostic {
    let first = text.chars().next().unwrap_or_default();
    let (what, meant) = match first {
        UNDECODABLE => ("a byte that is neither ASCII nor UTF-8".to_string(), None),
        '\u{a0}' | '\u{202f}' => {
            (format!("a no-break space (U+{:04X})", u32::from(first)), Some(" "))
        }
        '\u{2212}' | '\u{2010}'..='\u{2015}' => {
            (format!("the dash `{first}` (U+{:04X})", u32::from(first)), Some("-"))
        }
        '`' => ("a backquote".into(), None),
        _ if first.is_control() => {
            (format!("the control character U+{:04X}", u32::from(first)), None)
        }
        _ if !first.is_ascii() => (format!("`{first}` (U+{:04X})", u32::from(first)), None),
        _ => (format!("`{first}`"), None),
    };
    let diagnostic =
        Diagnostic::new(Code::InvalidCharacter, span, format!("{what} is not used in PTX")).label(
            if first.is_ascii() && first != UNDECODABLE {
                "no token starts with it"
            } else {
                "outside comments and strings, PTX is ASCII"
            },
        );
    match meant {
        Some(meant) => diagnostic.offer(span, meant),
        None => diagnostic,
    }
}

/// `a, b or c`
fn list(expected: Expected) -> String {
    either(&expected.names().collect::<Vec<_>>())
}

/// `a, b or c`
pub(super) fn either(items: &[impl AsRef<str>]) -> String {
    if items.is_empty() { "nothing".into() } else { listed(items, "or") }
}

/// The finding for a constant expression without a value.
pub(crate) fn constant(source: &str, error: ConstantError) -> Diagnostic {
    let text = error.span.text(source);
    let span = error.span;
    match error.kind {
        ConstantErrorKind::Malformed => malformed(text, span),
        ConstantErrorKind::TooLarge => {
            Diagnostic::new(Code::MalformedNumber, span, format!("`{text}` is too large"))
                .label("does not fit 64 bits")
                .help("constants have 64 bits; video instructions use the low 32")
        }
        ConstantErrorKind::DivisionByZero => Diagnostic::new(
            Code::ConstantWithoutValue,
            span,
            "division by zero in a constant expression",
        )
        .label("the right side is 0"),
        ConstantErrorKind::Overflow => {
            Diagnostic::new(Code::ConstantWithoutValue, span, "the quotient does not fit 64 bits")
                .label("the smallest integer divided by -1")
        }
        ConstantErrorKind::FloatingPoint => Diagnostic::new(
            Code::FloatingPointConstant,
            span,
            "floating-point value where a constant expression needs an integer",
        )
        .label("an operand here must be an integer"),
        ConstantErrorKind::TooDeep => {
            Diagnostic::new(Code::NestedTooDeeply, span, "the constant expression nests too deeply")
                .label("more than 200 levels")
                .help("compute the value beforehand and write the result")
        }
    }
}

/// A malformed literal, with a fix if its meaning is clear.
fn malformed(text: &str, span: Span) -> Diagnostic {
    if text.starts_with('0') && text.bytes().all(|byte| byte.is_ascii_digit()) {
        let message = format!("`{text}` is not an octal number");
        let diagnostic = Diagnostic::new(Code::MalformedNumber, span, message)
            .label("a leading 0 makes it octal")
            .help("octal digits are 0 to 7");
        return diagnostic.offer(span, text.trim_start_matches('0'));
    }
    let diagnostic =
        Diagnostic::new(Code::MalformedNumber, span, format!("`{text}` is not a number"))
            .label("malformed");
    if text.starts_with("0f") || text.starts_with("0d") {
        return diagnostic.help(
            "`0f` takes exactly 8 hexadecimal digits, `0d` exactly 16, and both are floating-point",
        );
    }
    let diagnostic = diagnostic.help(
        "integers are decimal, `0x…`, `0b…` or octal `0…`, \
         with an optional `U` (upper case) at the end",
    );
    // Suffixes and separators of other languages.
    let plain: String = text.chars().filter(|&c| c != '_').collect();
    let digits = plain.trim_end_matches(['u', 'U', 'l', 'L']);
    let number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let hexadecimal = |text: &str| {
        text.strip_prefix("0x").is_some_and(|digits| {
            !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
        })
    };
    if number(digits) && !digits.starts_with('0') || hexadecimal(digits) {
        let unsigned = plain[digits.len()..].contains(['u', 'U']);
        return diagnostic.offer(span, &format!("{digits}{}", if unsigned { "U" } else { "" }));
    }
    diagnostic
}
