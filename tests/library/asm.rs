//! The PTX in the `asm` statements of CUDA, `OpenCL` and C++. Its findings and their positions are
//! compared with expectations written beside the statements of `fixtures/asm`, and with the
//! findings on the same instructions as plain PTX.
//!
//! `VPTX_SAMPLES` multiplies the number of random statements, and `VPTX_ASM_SEED` selects them.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::ops::Range;

use crate::support::random::Random;
use crate::support::{corpus, rules_on_statements, samples, setting};
use vptx::Code;
use vptx::analysis::{check, check_counted};
use vptx::check::{CheckOptions, Dialect, Language};
use vptx::diagnostic::{Applicability, Diagnostic, Severity};
use vptx::isa::Mnemonic;
use vptx::source::Span;

fn options() -> CheckOptions {
    CheckOptions::default().with_language(Language::Cuda).with_rules(rules_on_statements())
}

fn check_ptx(text: &str) -> Vec<Diagnostic> {
    check(text, &CheckOptions::default().with_rules(rules_on_statements()))
}

fn check_cuda(source: &str) -> Vec<Diagnostic> {
    check(source, &options())
}

// The corpus.

/// A finding as the corpus writes it: `V105 vset.u32.u32«.u32».lt`.
pub(crate) struct Expected {
    pub(crate) code: String,
    before: String,
    span: String,
    after: String,
}

impl Expected {
    pub(crate) fn read(text: &str) -> Expected {
        let (code, place) = text.split_once(' ').expect("a code and a place");
        let place = place.replace('⏎', "\n");
        let (before, rest) = place.split_once('«').expect("the span starts with «");
        let (span, after) = rest.split_once('»').expect("the span ends with »");
        Expected {
            code: code.into(),
            before: before.into(),
            span: span.into(),
            after: after.into(),
        }
    }

    /// The range of the finding in a part of a text. The expected text must occur exactly once in
    /// the part.
    pub(crate) fn place(&self, source: &str, region: &Range<usize>) -> Range<usize> {
        let whole = format!("{}{}{}", self.before, self.span, self.after);
        let mut found = source[region.clone()].match_indices(&whole);
        let at = found.next().unwrap_or_else(|| panic!("{whole:?} does not occur")).0;
        assert!(found.next().is_none(), "{whole:?} occurs more than once");
        let start = region.start + at + self.before.len();
        start..start + self.span.len()
    }
}

/// The findings expected in a part of a file.
pub(crate) struct Case {
    pub(crate) line: usize,
    pub(crate) region: Range<usize>,
    pub(crate) expected: Vec<Expected>,
}

/// The cases of a file. Each reaches from its lines `// expect:` or `# expect:` to the next such
/// lines.
pub(crate) fn cases(source: &str) -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    let (mut at, mut inside) = (0, false);
    for (number, line) in source.split_inclusive('\n').enumerate() {
        let line_text = line.trim().trim_start_matches(['/', '#']);
        if let Some(text) = line_text.strip_prefix(" expect: ") {
            if !inside {
                if let Some(last) = cases.last_mut() {
                    last.region.end = at;
                }
                cases.push(Case { line: number + 1, region: 0..0, expected: Vec::new() });
            }
            let case = cases.last_mut().expect("there is one");
            if text != "nothing" {
                case.expected.push(Expected::read(text));
            }
            case.region = at + line.len()..source.len();
            inside = true;
        } else {
            inside = false;
        }
        at += line.len();
    }
    cases
}

/// Compares the findings of a source with those that its cases expect. Returns the number of
/// cases, and the differences.
pub(crate) fn compared(name: &str, source: &str, findings: &[Diagnostic]) -> (usize, String) {
    let mut wrong = String::new();
    let cases = cases(source);
    let first = cases.first().map_or(source.len(), |case| case.region.start);
    let early = findings.iter().filter(|found| (found.span.start as usize) < first);
    assert_eq!(early.count(), 0, "{name}: a finding before the first case");
    for case in &cases {
        let inside = |found: &&Diagnostic| case.region.contains(&(found.span.start as usize));
        let found: Vec<(String, Range<usize>)> = findings
            .iter()
            .filter(inside)
            .map(|found| (found.code.text().to_owned(), found.span.range()))
            .collect();
        let expected: Vec<(String, Range<usize>)> = case
            .expected
            .iter()
            .map(|expected| (expected.code.clone(), expected.place(source, &case.region)))
            .collect();
        if found != expected {
            let _ = writeln!(wrong, "{name}:{}", case.line);
            for (title, list) in [("expected", expected), ("found", found)] {
                for (code, span) in list {
                    let text = &source[span.clone()];
                    let _ = writeln!(wrong, "  {title} {code} {text:?} at {span:?}");
                }
            }
        }
    }
    (cases.len(), wrong)
}

#[test]
fn the_corpus_has_the_findings_written_in_it() {
    let (mut count, mut wrong) = (0, String::new());
    for (name, source) in corpus("asm") {
        let (cases, differences) = compared(&name, &source, &check_cuda(&source));
        count += cases;
        wrong.push_str(&differences);
    }
    assert!(wrong.is_empty(), "{wrong}");
    assert!(count >= 220, "only {count} cases were read");
}

// Random instructions.

/// A part of an instruction's text: fixed text, or an operand that may become an operand of the
/// `asm`.
#[derive(Clone)]
pub(crate) enum Item {
    Text(String),
    Operand(usize),
}

/// Names of operands in plain PTX; the first is the usual destination.
pub(crate) const WORDS: [&str; 6] = ["d", "a", "bb", "c", "sum0", "x_y"];

#[derive(Clone)]
pub(crate) struct Value {
    sign: &'static str,
    pub(crate) items: Vec<Item>,
    selector: String,
}

impl Value {
    fn text(text: &str) -> Value {
        Value { sign: "", items: vec![Item::Text(text.into())], selector: String::new() }
    }

    fn operand(number: usize) -> Value {
        Value { sign: "", items: vec![Item::Operand(number)], selector: String::new() }
    }
}

pub(crate) struct Draft {
    guard: &'static str,
    mnemonic: String,
    modifiers: Vec<String>,
    pub(crate) operands: Vec<Value>,
    comma: &'static str,
    end: &'static str,
}

const TYPES: [&str; 2] = [".u32", ".s32"];
const COMPARISONS: [&str; 6] = [".eq", ".ne", ".lt", ".le", ".gt", ".ge"];
const SECONDARY: [&str; 3] = [".add", ".min", ".max"];
const PARTS: [&str; 6] = [".b0", ".b1", ".b2", ".b3", ".h0", ".h1"];

/// Lane selectors or a mask for 2 or 4 lanes.
fn lanes(random: &mut Random, width: usize, mask: bool) -> String {
    if mask {
        let digits: String = (0..width).rev().filter(|_| random.percent(60)).fold(
            String::new(),
            |mut digits, lane| {
                let _ = write!(digits, "{lane}");
                digits
            },
        );
        if digits.is_empty() {
            return String::new();
        }
        return format!(".{}{digits}", if width == 2 { 'h' } else { 'b' });
    }
    let mut selector = String::from(if width == 2 { ".h" } else { ".b" });
    for _ in 0..width {
        let _ = write!(selector, "{}", random.below(2 * width));
    }
    selector
}

fn source(random: &mut Random, lane_count: usize) -> Value {
    let mut value = match random.below(20) {
        0 => Value::operand(0),
        1 => Value::text("%r5"),
        2 => Value::text("t0"),
        3..=6 if lane_count == 0 => {
            return Value::text(random.one_of(&[
                "5", "0x1234", "255", "0", "-7", "(1+2)", "7 % 3", "1 << 4", "0U", "~0xff",
            ]));
        }
        _ => Value::operand(1 + random.below(WORDS.len() - 1)),
    };
    if random.percent(35) {
        value.selector = match lane_count {
            0 => random.one_of(&PARTS).into(),
            width => lanes(random, width, false),
        };
    }
    value
}

/// A random legal instruction, which can still be changed.
pub(crate) fn draft(random: &mut Random) -> Draft {
    let mut types: Vec<String> = (0..3).map(|_| random.one_of(&TYPES).to_owned()).collect();
    let mut modifiers = Vec::new();
    let mut destination = Value::operand(0);
    match random.below(30) {
        0 => destination = Value::text("t1"),
        1 => destination = Value::text("%r7"),
        _ => {}
    }
    let width = random.one_of(&[0, 0, 2, 4]);
    let family = random.below(if width == 0 { 6 } else { 4 });
    let mut third = width != 0;
    let mnemonic;
    if width == 0 {
        let mut merge = true;
        match family {
            0 => {
                mnemonic = "vmad";
                merge = false;
                third = true;
                if random.percent(20) {
                    modifiers.push(".po".to_owned());
                }
                if random.percent(25) {
                    modifiers.push(".sat".to_owned());
                }
                if random.percent(30) {
                    modifiers.push(random.one_of(&[".shr7", ".shr15"]).to_owned());
                }
            }
            1 => {
                mnemonic = "vset";
                types.pop();
                modifiers.push(random.one_of(&COMPARISONS).to_owned());
            }
            2 => {
                mnemonic = random.one_of(&["vshl", "vshr"]);
                types[2] = String::from(".u32");
                if random.percent(25) {
                    modifiers.push(".sat".to_owned());
                }
                modifiers.push(random.one_of(&[".clamp", ".wrap"]).to_owned());
            }
            _ => {
                mnemonic = random.one_of(&["vadd", "vsub", "vabsdiff", "vmin", "vmax"]);
                if random.percent(25) {
                    modifiers.push(".sat".to_owned());
                }
            }
        }
        if merge {
            match random.below(4) {
                0 => {
                    modifiers.push(random.one_of(&SECONDARY).to_owned());
                    third = true;
                }
                1 => {
                    destination.selector = random.one_of(&PARTS).into();
                    third = true;
                }
                _ => {}
            }
        }
    } else {
        if family == 0 {
            mnemonic = "vset";
            types.pop();
            modifiers.push(random.one_of(&COMPARISONS).to_owned());
        } else {
            mnemonic = random.one_of(&["vadd", "vsub", "vavrg", "vabsdiff", "vmin", "vmax"]);
        }
        match random.below(4) {
            0 if family != 0 => modifiers.push(".sat".to_owned()),
            1 => modifiers.push(".add".to_owned()),
            _ => {}
        }
        if random.percent(30) {
            destination.selector = lanes(random, width, true);
        }
    }
    types.append(&mut modifiers);
    let mut operands = vec![destination, source(random, width), source(random, width)];
    if third {
        let mut c = source(random, width);
        c.selector.clear();
        operands.push(c);
    }
    let suffix = if width == 0 { String::new() } else { width.to_string() };
    Draft {
        guard: random.one_of(&["", "", "", "", "", "", "", "@p ", "@!%p1 "]),
        mnemonic: format!("{mnemonic}{suffix}"),
        modifiers: types,
        operands,
        comma: ",",
        end: ";",
    }
}

const FOREIGN: &[&str] = &[
    ".u8", ".s16", ".b32", ".f32", ".u64", ".sat", ".po", ".shr7", ".shr8", ".clamp", ".wrap",
    ".eq", ".lo", ".ltu", ".add", ".min", ".max", ".cc", ".SAT", ".U32", ".foo", ".wide", ".u32",
    ".s32", ".b0", ".sa", ".ad",
];

const ODD_SELECTORS: &[&str] = &[
    ".b4", ".h2", ".B0", ".x", ".b01", ".b12", ".h10", ".h01", ".h33", ".b3210", ".b0123",
    ".b1024", ".b8210", ".b0", ".h1", ".b22", ".u32", ".b0.b1", ".hi",
];

const ODD_OPERANDS: &[&str] = &[
    "1.0",
    "0f3F800000",
    "08",
    "0x1ffffffff",
    "255u",
    "5/0",
    "64 % 0",
    "%tid.x",
    "%laneid",
    "_",
    "\"text\"",
    "(1+2",
    "a b",
    "a!",
    "$",
    "−1",
    "1 +",
    "p|q",
    "!p",
];

/// Declarations of registers; some do not fit the instruction.
pub(crate) const DECLARATIONS: &[&str] = &[
    ".reg .f32 t0; ",
    ".reg .b64 t0, %r5;\n",
    ".reg .b16 t1, %r7;\n\t",
    ".reg .u32 t0, p, %p1; ",
    ".reg .pred p, %p<2>; .reg .b32 %r<8>;\n",
    ".reg .pred t0, t1;",
];

const MISSPELT: &[&str] = &[
    "varvg2", "varvg4", "vavrg", "vadd8", "vmad2", "vshl4", "vabsdif", "VADD", "vmni", "vadd3",
    "Vset", "vmax_4", "vsubb",
];

/// Adds a mistake to the instruction.
pub(crate) fn spoil(random: &mut Random, draft: &mut Draft) {
    let count = draft.modifiers.len();
    let at = random.below(count.max(1));
    let operand = random.below(draft.operands.len().max(1));
    match random.below(24) {
        0 if count > 1 => draft.modifiers.swap(at, (at + 1) % count),
        1 => random.shuffle(&mut draft.modifiers),
        2 | 3 if count > 0 => {
            draft.modifiers.remove(at);
        }
        4 if count > 0 => {
            let copy = draft.modifiers[at].clone();
            draft.modifiers.push(copy);
        }
        5 => draft.modifiers.insert(at, random.one_of(&TYPES).into()),
        6 => draft.modifiers.insert(at, random.one_of(FOREIGN).into()),
        7 if count > 0 => draft.modifiers[at] = random.one_of(FOREIGN).into(),
        8 => draft.modifiers.extend([".sat".to_owned(), ".sat".to_owned()]),
        9 if count > 0 => draft.modifiers[at].insert(1, ' '),
        10 if !draft.operands.is_empty() => {
            draft.operands.remove(operand);
        }
        11 => draft.operands.push(Value::operand(random.below(WORDS.len()))),
        12 | 13 if !draft.operands.is_empty() => {
            draft.operands[operand].selector = random.one_of(ODD_SELECTORS).into();
        }
        14 if !draft.operands.is_empty() => draft.operands[operand].selector.clear(),
        15 if !draft.operands.is_empty() => {
            draft.operands[operand].sign = random.one_of(&["-", "-", "- ", "--", "+"]);
        }
        16 if !draft.operands.is_empty() => {
            draft.operands[operand] = Value::text(random.one_of(ODD_OPERANDS));
        }
        17 if !draft.operands.is_empty() => {
            draft.operands[operand].items = vec![Item::Text("0x1234".into())];
        }
        18 if !draft.operands.is_empty() => {
            let (open, close) =
                random.one_of(&[("[", "]"), ("{", "}"), ("[", "+4]"), ("{t0, ", "}")]);
            let value = &mut draft.operands[operand];
            value.items.insert(0, Item::Text(open.into()));
            value.items.push(Item::Text(close.into()));
        }
        19 => draft.mnemonic = random.one_of(MISSPELT).into(),
        20 => {
            draft.mnemonic =
                random.one_of(&["vadd", "vmad", "vset", "vshl", "vmin2", "vset4", "vavrg4"]).into();
        }
        21 => draft.comma = random.one_of(&[",,", " ", ", ,"]),
        22 => draft.end = random.one_of(&["", ",;", ".b0;"]),
        23 => draft.guard = random.one_of(&["@5 ", "@ ", "@p.b0 ", "!p ", "@!!p "]),
        _ => draft.operands.clear(),
    }
}

/// Text that can stand between two tokens of PTX.
const GAPS: &[&str] = &[
    " ",
    "  ",
    "\t",
    "\n",
    "\n\t",
    "\r\n",
    "/**/",
    " /* c */ ",
    " // line\n",
    "/* \"q\" */",
    " /* it's; */ ",
    " /* 100%, %0 */ ",
    "// \"; }\n\t",
];

impl Draft {
    /// The text of the instruction, with a few gaps.
    pub(crate) fn items(&self, random: &mut Random) -> Vec<Item> {
        let often = random.one_of(&[0, 0, 5, 30]);
        let mut gap = |usual: &str| {
            Item::Text(if random.percent(often) { random.one_of(GAPS) } else { usual }.into())
        };
        let text = |text: &str| Item::Text(text.into());
        let mut items = vec![text(self.guard), text(&self.mnemonic)];
        for modifier in &self.modifiers {
            items.extend([gap(""), text(modifier)]);
        }
        for (at, operand) in self.operands.iter().enumerate() {
            if at > 0 {
                items.extend([gap(""), text(self.comma)]);
            }
            items.extend([gap(" "), text(operand.sign)]);
            items.extend(operand.items.iter().cloned());
            items.extend([gap(""), text(&operand.selector)]);
        }
        items.extend([gap(""), text(self.end)]);
        items
    }

    /// Whether the instruction lacks the signs that distinguish PTX from other assembler code. One
    /// such sign is two types in a row of modifiers. Another is a line that has a video mnemonic
    /// and an operand of the `asm`, ends with `;`, and has no `%%`.
    pub(crate) fn is_doubtful(&self, plain: &str) -> bool {
        let whole = self.modifiers.iter().take_while(|modifier| !modifier.contains(' '));
        let types = whole.filter(|modifier| TYPES.contains(&modifier.as_str())).count();
        let mut items = self.operands.iter().flat_map(|operand| &operand.items);
        let operands = items.any(|item| matches!(item, Item::Operand(_)));
        let ours = Mnemonic::ALL.iter().any(|mnemonic| mnemonic.text() == self.mnemonic);
        let plainly = ours && operands && plain.ends_with(';') && !plain.contains(['%', '\n']);
        types < 2 && !plainly
    }
}

// The same instruction in an `asm` statement.

/// An operand of the `asm`: its number, and its name if it has one.
#[derive(Clone, Default)]
struct Slot {
    number: usize,
    name: Option<String>,
}

/// The decoded text of the `asm`, and for each position in the plain text the position in the
/// decoded text.
struct Template {
    chars: Vec<char>,
    /// For a part of the plain text that starts at an offset, its start in `chars`.
    starts: BTreeMap<usize, usize>,
    /// For a part of the plain text that ends at an offset, its end in `chars`.
    ends: BTreeMap<usize, usize>,
}

/// Writes plain PTX as the text of an `asm` with operands: `%` is doubled. `%=` stays, since it is
/// already such text.
pub(crate) fn percents(text: &str) -> Vec<char> {
    let mut chars = Vec::new();
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        chars.push(c);
        if c == '%' && rest.peek() != Some(&'=') {
            chars.push('%');
        }
    }
    chars
}

impl Template {
    fn new(random: &mut Random, before: &str, items: &[Item], after: &str, slots: &[Slot]) -> Self {
        let mut template =
            Template { chars: percents(before), starts: BTreeMap::new(), ends: BTreeMap::new() };
        let mut at = 0;
        for item in items {
            match item {
                Item::Text(text) => {
                    for c in text.chars() {
                        template.put(at, c.len_utf8(), &percents(&c.to_string()));
                        at += c.len_utf8();
                    }
                }
                Item::Operand(number) => {
                    let slot = &slots[*number];
                    let written = match &slot.name {
                        Some(name) if random.percent(70) => format!("%[{name}]"),
                        _ => format!("%{}", slot.number),
                    };
                    let length = WORDS[*number].len();
                    template.put(at, length, &written.chars().collect::<Vec<_>>());
                    at += length;
                }
            }
        }
        template.chars.extend(percents(after));
        template
    }

    fn put(&mut self, at: usize, length: usize, chars: &[char]) {
        self.starts.insert(at, self.chars.len());
        self.chars.extend(chars);
        self.ends.insert(at + length, self.chars.len());
    }
}

/// How literals are written: the chances, in percent, of escapes, cuts and so on.
pub(crate) struct Style {
    escape: usize,
    cut: usize,
    splice: usize,
    pub(crate) raw: usize,
    prefixes: &'static [&'static str],
    pub(crate) in_macro: bool,
}

impl Style {
    pub(crate) fn new(random: &mut Random) -> Style {
        Style {
            escape: random.one_of(&[0, 0, 2, 10, 60]),
            cut: random.one_of(&[0, 0, 1, 5, 30]),
            splice: random.one_of(&[0, 0, 0, 2, 10]),
            raw: random.one_of(&[0, 0, 20, 80]),
            prefixes: random.one_of(&[&[""], &[""], &[""], &["", "u8"], &["L"], &["u"], &["U"]]),
            in_macro: random.percent(20),
        }
    }

    /// White space and comments between two tokens of C.
    fn trivia(&self, random: &mut Random) -> &'static str {
        loop {
            let trivia = random.one_of(&[
                "",
                "",
                " ",
                " ",
                "\n",
                "\n        ",
                "\t",
                "\\\n",
                " \\\n  ",
                "\\\r\n",
                "\r\n",
                "/* \"c\" */",
                "/* it's */",
                " // asm(\"\n",
                "// it's\n",
                "// on \\\n and on\n",
                "/* vadd4 %0;\n */",
            ]);
            // A macro cannot contain a `//` comment.
            if !(self.in_macro && trivia.contains("//")) {
                return if self.in_macro { continued(trivia) } else { trivia };
            }
        }
    }
}

/// The same white space or comment for a macro: a backslash continues each line.
fn continued(trivia: &'static str) -> &'static str {
    match trivia {
        "\n" => " \\\n",
        "\n        " => " \\\n        ",
        "\r\n" => " \\\r\n",
        "/* vadd4 %0;\n */" => "/* vadd4 %0; \\\n */",
        other => other,
    }
}

/// A literal that is being written.
enum Piece {
    Plain,
    Raw(&'static str),
}

/// Writes the decoded text as string literals. Returns the range of each character.
pub(crate) fn write_literals(
    random: &mut Random,
    style: &Style,
    chars: &[char],
    out: &mut String,
) -> Vec<Range<usize>> {
    let mut places = Vec::new();
    let mut piece = open(random, style, out);
    // Accepts the digits that would become a part of the escape before them.
    let mut taken: fn(char) -> bool = |_| false;
    for &c in chars {
        let ends_raw = matches!(piece, Piece::Raw(delimiter)
            if c == '"' && out.ends_with(&format!("){delimiter}")));
        let not_raw = matches!(piece, Piece::Raw(_)) && style.in_macro && c == '\n';
        let mut cut = random.percent(style.cut) || ends_raw || not_raw;
        while cut {
            close(&piece, out);
            let trivia = style.trivia(random);
            out.push_str(trivia);
            let at = out.len();
            piece = open(random, style, out);
            // A prefix directly after a literal would be read as a suffix of that literal.
            if !out[at..].starts_with('"') && matches!(trivia, "" | "\\\n" | "\\\r\n") {
                out.insert(at, ' ');
            }
            taken = |_| false;
            cut = matches!(piece, Piece::Raw(_)) && style.in_macro && c == '\n';
        }
        if matches!(piece, Piece::Raw(_)) {
            let start = out.len();
            out.push(c);
            places.push(start..out.len());
            continue;
        }
        if random.percent(style.splice) {
            out.push_str(random.one_of(&["\\\n", "\\\r\n"]));
        }
        let start = out.len();
        let must = matches!(c, '"' | '\\' | '\n' | '\r') || taken(c);
        taken = |_| false;
        if c.is_ascii() && (must || random.percent(style.escape)) {
            taken = escape(random, style, c, out);
        } else {
            out.push(c);
        }
        places.push(start..out.len());
    }
    close(&piece, out);
    places
}

fn open(random: &mut Random, style: &Style, out: &mut String) -> Piece {
    out.push_str(random.one_of(style.prefixes));
    if random.percent(style.raw) {
        let delimiter = random.one_of(&["", "", "x", "ptx", "--", "sixteen_letters_"]);
        let _ = write!(out, "R\"{delimiter}(");
        Piece::Raw(delimiter)
    } else {
        out.push('"');
        Piece::Plain
    }
}

fn close(piece: &Piece, out: &mut String) {
    match piece {
        Piece::Plain => out.push('"'),
        Piece::Raw(delimiter) => {
            let _ = write!(out, "){delimiter}\"");
        }
    }
}

/// Writes a character as an escape. Returns a test for characters that would become a part of the
/// escape.
fn escape(random: &mut Random, style: &Style, c: char, out: &mut String) -> fn(char) -> bool {
    let code = c as u32;
    let simple = match c {
        '\n' => Some("\\n"),
        '\t' => Some("\\t"),
        '\r' => Some("\\r"),
        '"' => Some("\\\""),
        '\\' => Some("\\\\"),
        '\'' => Some("\\'"),
        '?' => Some("\\?"),
        _ => None,
    };
    let (text, taken): (String, fn(char) -> bool) = match (simple, random.below(6)) {
        (Some(simple), 0..=2) => (simple.into(), |_| false),
        (_, 0 | 3) => (format!("\\{code:03o}"), |_| false),
        // An octal escape has at most three digits.
        (_, 1) if code < 64 => (format!("\\{code:o}"), |next| next.is_digit(8)),
        (_, 4) => (format!("\\x{code:06X}"), |next| next.is_ascii_hexdigit()),
        _ => (format!("\\x{code:x}"), |next| next.is_ascii_hexdigit()),
    };
    if random.percent(style.splice) {
        let at = 1 + random.below(text.len() - 1);
        let _ = write!(out, "{}\\\n{}", &text[..at], &text[at..]);
    } else {
        out.push_str(&text);
    }
    taken
}

const KEYWORDS: &[&str] = &[
    "asm",
    "asm",
    "asm volatile",
    "asm volatile",
    "asm\tvolatile",
    "__asm__",
    "__asm__ __volatile__",
    "__asm__ volatile",
    "__asm",
    "__asm volatile",
    "asm __volatile__",
    "asm /* ( */ volatile",
];

/// Expressions for operands: first those that can be read and written, then those that can only be
/// read.
const EXPRESSIONS: &[&str] = &[
    "d",
    "p->x",
    "v[i]",
    "(x)",
    "s.m",
    "q[')']",
    "*(&x)",
    "x /* : \" */",
    "at(\"):\")",
    "*std::begin(x)",
    "t.template get<0>()",
    "(c ? b : a)",
    "f(a, b)",
    "1'000 + z",
    "[&](int x) { return x; }(1)",
    "'\"'",
    "sizeof \"\\\"\"",
];
const WRITABLE: usize = 9;

/// Statements before the instruction that do not affect it.
pub(crate) const BEFORE: &[&str] = &[
    "",
    "",
    "",
    "{ ",
    "mov.u32 %r9, 0;\n\t",
    "// first\n",
    "/* \"all\" of it; */ ",
    "L%=: ",
    "setp.ne.u32 q, %r9, 0;\n@q bra L%=;\n",
    "vadd4.u32.u32.u32 %r1, %r2, %r3, %r4;\n\t",
    "ld.global.u32 %r1, [%rd1+4]; cvt.u32.u64 %r2, %rd1;",
    ".pragma \"nounroll\";\n",
    "vmov.u32 %r1, 7; ",
    "{ .reg .u32 t0, t1; ",
    ".reg .pred p;\n",
    "bar.sync 0; { .reg .pred %p1; ",
];
/// The number of statements in [`BEFORE`] that declare nothing.
pub(crate) const UNDECLARED: usize = 13;
pub(crate) const AFTER: &[&str] = &[
    "",
    "",
    "",
    " }",
    "\n\tmov.u32 %r9, 0;",
    "\n}\n",
    " // last",
    "/* \" */",
    "\nL%=: ret;\n\t",
    "\nvadd4.u32.u32.u32 %r1, %r2, %r3, %r4;",
    " st.shared.v2.u32 [%r1], {%r2, %r3};",
    "\n",
];

/// Other lines of a source.
const AROUND: &[&str] = &[
    "#include <cuda_runtime.h>",
    "#include <a\"b>",
    "#if 0\nasm(\"vadd4.u32 %0;\" : \"=r\"(d)); don't \"\n#if X\n#endif\n#endif",
    "#if 0\nasm(\"vadd4.u32 %0;\" : \"=r\"(d));\n#else\nint x;\n#endif",
    "#ifdef A\n#error don't\n#endif",
    "// asm(\"vadd4.u32 %0;\" : \"=r\"(d)); \"",
    "/* asm(\"vadd4.u32 %0;\" : \"=r\"(d)); ' */",
    "const char *s = \"asm(\\\"vadd4.u32 %0;\\\");\", q = '\"';",
    "const char *s = R\"x(asm(\"vadd4.u32 %0;\") )\" )x\";",
    "int n = 1'000'000, m = 0xab'c, asm_x = '\\'';",
    "template <typename T> struct S { T operator()(T a) const { return a; } };",
    "auto f = [] __device__(int a) { return a > 1 ? ':' : ')'; };",
    "asm volatile(\"bar.sync 0;\");",
    "asm(\"add.u32 %0, %1, %9;\" : \"=r\"(d) : \"l\"(a));",
    "asm(\"vadd\" #op \".u32 %0;\" : \"=r\"(d));",
    "asm(\"vadd4\" TYPES \" %0;\" : \"=r\"(d));",
    "asm(\"vaddps %ymm0, %ymm1, %ymm2\");",
    "#define F(x) asm(\"vadd\" #x \" %0;\" : \"=r\"(x))",
    "#pragma unroll 4",
    "struct asm_s { int asm_; }; // it's\n",
    "void g() { my_asm(\"vadd4.u32 %0;\"); }",
    "}",
    "extern \"C\" {",
    "// on \\\nasm(\"vadd4.u32 %0;\")",
];

/// For offsets in a plain text, the positions in a source of the parts that start or end there.
pub(crate) struct Places {
    pub(crate) starts: BTreeMap<usize, usize>,
    pub(crate) ends: BTreeMap<usize, usize>,
}

impl Places {
    /// The range in the source for a span of the plain text. An empty span may correspond to the
    /// end of the text before it or to the start of the text after it.
    fn spans(&self, span: Span) -> Vec<Range<usize>> {
        let range = span.range();
        let start = self.starts.get(&range.start).copied();
        let end_of = |at: usize| self.ends.get(&at).copied();
        if range.is_empty() {
            return [end_of(range.start), start].into_iter().flatten().map(|at| at..at).collect();
        }
        let place = start.zip(end_of(range.end));
        let (start, end) = place.unwrap_or_else(|| panic!("{range:?} has no place"));
        std::iter::once(start..end).collect()
    }

    /// Whether a finding in the source equals one in the plain text.
    fn same(&self, plain: &Diagnostic, found: &Diagnostic) -> bool {
        let here = |plain: Span, found: Span| self.spans(plain).contains(&found.range());
        plain.code == found.code
            && plain.severity == found.severity
            && here(plain.span, found.span)
            && plain.labels.len() == found.labels.len()
            && plain.labels.iter().zip(&found.labels).all(|(p, f)| here(p.span, f.span))
    }

    /// Pairs each finding of a plain text with the same finding of a source. The source must have
    /// no other findings. Empty if the source is doubtful and has no findings.
    pub(crate) fn pairs(
        &self,
        (plain, expected): (&str, Vec<Diagnostic>),
        (source, mut found): (&str, Vec<Diagnostic>),
        is_doubtful: bool,
    ) -> Vec<(Diagnostic, Diagnostic)> {
        // Bare statements need no declarations, so the plain text has no such findings.
        found.retain(|it| it.code != Code::UndeclaredRegister);
        if is_doubtful && found.is_empty() {
            return Vec::new();
        }
        let mut pairs = Vec::new();
        for finding in expected {
            let Some(at) = found.iter().position(|other| self.same(&finding, other)) else {
                panic!(
                    "not found in the source: {finding:#?}\nthere is {found:#?}\n{plain}\nas\n\
                     {source}\n{source:?}"
                );
            };
            pairs.push((finding, found.remove(at)));
        }
        assert!(
            found.is_empty(),
            "found in the source only: {found:#?}\n{plain}\nas\n{source}\n{source:?}"
        );
        pairs
    }
}

/// A plain instruction, and the same instruction in a source.
struct Pair {
    plain: String,
    source: String,
    /// The range in the source of each character of the `asm` text.
    places: Vec<Range<usize>>,
    template: Template,
    /// The offset in the source where the literals start.
    open: usize,
    /// The texts in the `asm` before and after the instruction.
    before: &'static str,
    after: &'static str,
    slots: Vec<Slot>,
    /// Whether the text may be for another assembler, so that a check may also find nothing.
    doubtful: bool,
}

impl Pair {
    fn new(random: &mut Random) -> Pair {
        let mut draft = draft(random);
        for _ in 0..random.one_of(&[0, 0, 0, 1, 1, 1, 2]) {
            spoil(random, &mut draft);
        }
        let mut items = draft.items(random);
        let declared = random.percent(8);
        if declared {
            items.insert(0, Item::Text(random.one_of(DECLARATIONS).into()));
        }
        let plain: String = items
            .iter()
            .map(|item| match item {
                Item::Text(text) => text,
                Item::Operand(number) => WORDS[*number],
            })
            .collect();
        // Further text would become a part of an unfinished statement, or of a statement after
        // braces.
        let alone = !plain.trim_end().ends_with(';');
        let befores = if declared { &BEFORE[..UNDECLARED] } else { BEFORE };
        let before = random.one_of(befores);
        let after = if alone { "" } else { random.one_of(AFTER) };

        let mut written = vec![false; WORDS.len()];
        if let Some(destination) = draft.operands.first() {
            for item in &destination.items {
                if let Item::Operand(number) = item {
                    written[*number] = true;
                }
            }
        }
        let (slots, lists) = operand_lists(random, &written);
        let template = Template::new(random, before, &items, after, &slots);

        let style = Style::new(random);
        let mut source = String::new();
        for _ in 0..random.below(3) {
            let _ = writeln!(source, "{}", random.one_of(AROUND));
        }
        if style.in_macro {
            source.push_str("#define ADD(d, a) ");
            source.push_str(random.one_of(&["", "do { ", "\\\n    ", "static int x = '\"'; "]));
        } else {
            source.push_str(random.one_of(&["", "    ", "if (x) ", "{ ", "x: ", "f(1, ':');"]));
        }
        source.push_str(random.one_of(KEYWORDS));
        source.push_str(style.trivia(random));
        source.push('(');
        source.push_str(style.trivia(random));
        let open = source.len();
        let places = write_literals(random, &style, &template.chars, &mut source);
        for token in lists {
            source.push_str(style.trivia(random));
            source.push_str(&token);
        }
        source.push_str(style.trivia(random));
        source.push_str(random.one_of(&[");", ") ;", ")"]));
        for _ in 0..random.below(3) {
            let _ = write!(source, "\n{}", random.one_of(AROUND));
        }
        let doubtful = draft.is_doubtful(&plain);
        Pair { plain, source, places, template, open, before, after, slots, doubtful }
    }

    /// Pairs each finding of the plain text with the same finding of the source. Empty if the
    /// source may be for another assembler and has no findings.
    fn findings(&self) -> Vec<(Diagnostic, Diagnostic)> {
        let mut plain = check_ptx(&self.plain);
        // After a line break inside a statement, the rest of it may not count as a video
        // instruction.
        plain.retain(|finding| {
            finding.code != Code::MissingSemicolon || finding.statement.is_some()
        });
        let start = |(&at, &number): (&usize, &usize)| (at, self.places[number].start);
        let end = |(&at, &number): (&usize, &usize)| (at, self.places[number - 1].end);
        let places = Places {
            starts: self.template.starts.iter().map(start).collect(),
            ends: self.template.ends.iter().map(end).collect(),
        };
        let found = check_cuda(&self.source);
        places.pairs((&self.plain, plain), (&self.source, found), self.doubtful)
    }

    /// The instruction that the `asm` of a source contains, with plain names of operands.
    fn plain_again(&self, source: &str) -> String {
        let text = decode(&source[self.open..]);
        let mut plain = String::new();
        let mut rest = text.as_str();
        while let Some(at) = rest.find('%') {
            plain.push_str(&rest[..at]);
            rest = &rest[at + 1..];
            if let Some(tail) = rest.strip_prefix('[') {
                let (name, tail) = tail.split_once(']').expect("a name ends");
                let is_it = |slot: &Slot| slot.name.as_deref() == Some(name);
                plain.push_str(WORDS[self.slots.iter().position(is_it).expect("a known name")]);
                rest = tail;
            } else if rest.starts_with(|c: char| c.is_ascii_digit()) {
                let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
                let number = rest[..end].parse::<usize>().expect("a number");
                let is_it = |slot: &Slot| slot.number == number;
                plain.push_str(WORDS[self.slots.iter().position(is_it).expect("a known number")]);
                rest = &rest[end..];
            } else {
                plain.push('%');
                rest = rest.strip_prefix('%').unwrap_or(rest);
            }
        }
        plain.push_str(rest);
        let inner = plain.strip_prefix(self.before).and_then(|text| text.strip_suffix(self.after));
        inner.unwrap_or_else(|| panic!("{plain:?}\n{source}")).to_owned()
    }
}

/// The operands of an `asm`: the number and name of each operand of the instruction, and the tokens
/// of the operand lists. A written operand is an output that is also read.
fn operand_lists(random: &mut Random, written: &[bool]) -> (Vec<Slot>, Vec<String>) {
    let mut outputs: Vec<Option<usize>> = Vec::new();
    let mut inputs: Vec<Option<usize>> = Vec::new();
    for (number, &is_written) in written.iter().enumerate() {
        let list = if is_written || random.percent(15) { &mut outputs } else { &mut inputs };
        list.push(Some(number));
    }
    if random.percent(40) {
        outputs.extend(vec![None; random.below(4)]);
        inputs.extend(vec![None; random.below(8)]);
    }
    random.shuffle(&mut outputs);
    random.shuffle(&mut inputs);
    let mut slots = vec![Slot::default(); written.len()];
    let mut tokens = Vec::new();
    let mut number = 0;
    for (list, is_output) in [(outputs, true), (inputs, false)] {
        tokens.push(":".to_owned());
        for (at, ours) in list.into_iter().enumerate() {
            if at > 0 {
                tokens.push(",".into());
            }
            let name = random
                .percent(40)
                .then(|| format!("{}{number}", random.one_of(&["in_", "d", "_", "asm", "x_Y"])));
            if let Some(name) = &name {
                tokens.push(format!("[{name}]"));
            }
            let constraint = if is_output {
                random.one_of(&["\"+r\"", "\"+r\"", "\"+&r\"", "\"+\" \"r\""])
            } else {
                "\"r\""
            };
            tokens.push(constraint.into());
            let many = if is_output { WRITABLE } else { EXPRESSIONS.len() };
            tokens.push(format!("({})", random.one_of(&EXPRESSIONS[..many])));
            if let Some(ours) = ours {
                slots[ours] = Slot { number, name };
            }
            number += 1;
        }
    }
    if random.percent(20) {
        tokens.extend([":".to_owned(), "\"memory\"".to_owned()]);
    }
    (slots, tokens)
}

/// The text of adjacent literals at the start of a source.
fn decode(source: &str) -> String {
    let mut text = String::new();
    let mut at = 0;
    loop {
        at = skip_trivia(source, at);
        let rest = &source[at..];
        let quote = rest.find('"').unwrap_or(rest.len());
        match &rest[..quote] {
            "" | "u8" | "L" | "u" | "U" if quote < rest.len() => {
                at = plain_literal(source, at + quote + 1, &mut text);
            }
            "R" | "u8R" | "LR" | "uR" | "UR" => {
                let (delimiter, body) = rest[quote + 1..].split_once('(').expect("a raw literal");
                let end = body.find(&format!("){delimiter}\"")).expect("it ends");
                text.push_str(&body[..end]);
                at += quote + 1 + delimiter.len() + 1 + end + 1 + delimiter.len() + 1;
            }
            _ => return text,
        }
    }
}

/// Skips white space, comments and continued lines.
fn skip_trivia(source: &str, mut at: usize) -> usize {
    loop {
        let rest = &source[at..];
        at += if rest.starts_with(char::is_whitespace) {
            1
        } else if rest.starts_with("\\\n") {
            2
        } else if rest.starts_with("\\\r\n") {
            3
        } else if rest.starts_with("/*") {
            rest.find("*/").expect("a comment ends") + 2
        } else if rest.starts_with("//") {
            let ends =
                |&(at, _): &(usize, &str)| !rest[..at].trim_end_matches('\r').ends_with('\\');
            rest.match_indices('\n').find(ends).expect("a line ends").0
        } else {
            return at;
        };
    }
}

/// Decodes a literal from the character after its quote, and returns the literal's end.
fn plain_literal(source: &str, mut at: usize, text: &mut String) -> usize {
    let mut chars = Vec::new();
    loop {
        let rest = &source[at..];
        let splice = ["\\\n", "\\\r\n"].into_iter().find(|&splice| rest.starts_with(splice));
        if let Some(splice) = splice {
            at += splice.len();
            continue;
        }
        let c = rest.chars().next().expect("a literal ends");
        at += c.len_utf8();
        let escaped = chars.last() == Some(&'\\')
            && chars.iter().rev().take_while(|&&c| c == '\\').count() % 2 == 1;
        if c == '"' && !escaped {
            break;
        }
        chars.push(c);
    }
    let mut chars = chars.into_iter().peekable();
    while let Some(c) = chars.next() {
        if c != '\\' {
            text.push(c);
            continue;
        }
        let first = chars.next().expect("an escape goes on");
        let (radix, most) = match first {
            'n' => ('\n'.into(), 0),
            't' => ('\t'.into(), 0),
            'r' => ('\r'.into(), 0),
            'x' => (16, usize::MAX),
            '0'..='7' => (8, 2),
            other => (other.into(), 0),
        };
        if most == 0 {
            text.push(char::from_u32(radix).expect("a character"));
            continue;
        }
        let mut value = first.to_digit(8).unwrap_or(0);
        for _ in 0..most {
            let Some(digit) = chars.peek().and_then(|c| c.to_digit(radix)) else { break };
            value = value * radix + digit;
            chars.next();
        }
        text.push(char::from_u32(value).expect("a character"));
    }
    at
}

/// Runs random cases and reports which one failed.
pub(crate) fn each_case(count: u64, mut hold: impl FnMut(&mut Random)) {
    struct Told(u64, u64);
    impl Drop for Told {
        fn drop(&mut self) {
            if std::thread::panicking() {
                eprintln!("VPTX_ASM_SEED={} case {}", self.0, self.1);
            }
        }
    }
    let seed = setting("VPTX_ASM_SEED", 1);
    for case in 0..count {
        let _told = Told(seed, case);
        hold(&mut Random::of_case(seed, case));
    }
}

#[test]
fn random_statements_have_the_findings_of_plain_ptx() {
    for text in BEFORE.iter().chain(AFTER) {
        let found: Vec<Code> = check_ptx(text)
            .iter()
            .map(|found| found.code)
            .filter(|code| !code.text().starts_with("V0"))
            .collect();
        assert_eq!(found, [], "{text:?} is to say nothing");
    }
    let count = samples(10_000);
    let (mut clean, mut doubtful, mut codes) = (0, 0, BTreeMap::new());
    each_case(count, |random| {
        let pair = Pair::new(random);
        assert_eq!(pair.plain_again(&pair.source), pair.plain, "{}", pair.source);
        let findings = pair.findings();
        clean += u64::from(findings.is_empty());
        doubtful += u64::from(pair.doubtful);
        for (plain, _) in findings {
            *codes.entry(plain.code.text()).or_insert(0) += 1;
        }
    });
    println!("{count} statements, {clean} without a finding, {doubtful} doubtful, {codes:?}");
    assert!(clean > count / 10 && clean < count, "{clean} of {count}");
    assert!(doubtful < count / 20, "{doubtful} of {count}");
    assert!(codes.len() > 40, "{codes:?}");
}

/// Codes and severities, sorted. Undeclared registers are left out, because bare statements declare
/// none.
pub(crate) fn kinds(findings: &[Diagnostic]) -> Vec<(&'static str, Severity)> {
    let counted = findings.iter().filter(|it| it.code != Code::UndeclaredRegister);
    let mut kinds: Vec<_> = counted.map(|found| (found.code.text(), found.severity)).collect();
    kinds.sort_unstable();
    kinds
}

#[test]
fn fixes_do_what_they_do_in_plain_ptx() {
    let count = samples(3000);
    let mut tried = 0;
    each_case(count, |random| {
        let pair = Pair::new(random);
        let findings = pair.findings();
        let before = kinds(&check_cuda(&pair.source));
        let instructions = check_counted(&pair.source, &options()).0;
        for (plain, found) in &findings {
            for fix in &found.fixes {
                tried += 1;
                let fixed = fix.apply(&pair.source);
                let text = pair.plain_again(&fixed);
                let told =
                    || format!("{:?}\n{}\n{text}\n{}\n{fixed}", fix, pair.plain, pair.source);
                let same = plain.fixes.iter().any(|other| {
                    other.applicability == fix.applicability && other.apply(&pair.plain) == text
                });
                assert!(same, "no such fix of {plain:#?}\n{}", told());
                let (after_count, after) = check_counted(&fixed, &options());
                let after = kinds(&after);
                assert_eq!(after, kinds(&check_ptx(&text)), "{}", told());
                let plain_before = check_counted(&pair.plain, &CheckOptions::default()).0;
                let plain_after = check_counted(&text, &CheckOptions::default()).0;
                assert_eq!(
                    after_count + plain_before,
                    instructions + plain_after,
                    "the statement is lost\n{}",
                    told()
                );
                if fix.applicability == Applicability::Safe {
                    let mut rest = before.clone();
                    for kind in &after {
                        let at = rest.iter().position(|other| other == kind);
                        rest.remove(at.unwrap_or_else(|| panic!("{kind:?} is new\n{}", told())));
                    }
                }
            }
        }
    });
    println!("{tried} fixes in {count} statements");
    assert!(tried > count / 20, "{tried} of {count}");
}

// Arbitrary texts.

/// Checks what must hold for any text.
fn hold(source: &str) {
    for dialect in [Dialect::Documented, Dialect::Ptxas] {
        let inside = |span: Span| source.get(span.range()).is_some();
        let mut last = 0;
        for found in check(source, &options().with_dialect(dialect)) {
            assert!(inside(found.span) && found.span.start >= last, "{found:?}\n{source:?}");
            last = found.span.start;
            assert!(found.labels.iter().all(|label| inside(label.span)), "{found:?}\n{source:?}");
            for fix in &found.fixes {
                let mut end = 0;
                for edit in &fix.edits {
                    let ordered = inside(edit.span) && edit.span.start >= end;
                    assert!(ordered, "{found:?}\n{source:?}");
                    end = edit.span.end;
                }
                assert_ne!(fix.apply(source), source, "{found:?}\n{source:?}");
            }
        }
    }
}

const SOUP: &[&str] = &[
    "asm",
    "asm(",
    "asm volatile(",
    "__asm__",
    "__asm {",
    "asm goto(\"",
    "(",
    ")",
    "\"",
    "\"",
    "'",
    "R\"(",
    ")\"",
    "R\"x(",
    ")x\"",
    "R\"",
    "u8\"",
    "L'",
    "\\",
    "\\\n",
    "\\\r\n",
    "\n",
    "\r\n",
    "//",
    "/*",
    "*/",
    "#",
    "\n#if 0\n",
    "\n#else\n",
    "\n#endif\n",
    "\n#define F(a) ",
    "\n#elif",
    "##",
    "%",
    "%%",
    "%[",
    "]",
    "[a]",
    "%0",
    "%1",
    "%10",
    "%99999999999999999999",
    "%[a]",
    "%=",
    "\\x",
    "\\x41",
    "\\xffffffffff",
    "\\777",
    "\\0",
    "\\u12",
    "\\u2212",
    "\\U0010FFFF",
    "\\N{DIGIT ONE}",
    ":",
    "::",
    ":::",
    ",",
    "\"=r\"(d)",
    "\"+r\"(d)",
    "\"r\"(a)",
    "\"n\"(1)",
    "\"h\"",
    "\"0\"(a)",
    "\"C\"(x)",
    "\"\"",
    "vadd4.u32.u32.u32 ",
    "vadd4.u32",
    "vset.u32.u32.lt %0, %1, %2;",
    "vadd.u32.u32.u32.sat %0, %1, %2;",
    "varvg4",
    " %0, %1, %2, %3;",
    ".sat",
    ".add",
    ";",
    "{",
    "}",
    "@p ",
    "@%0 ",
    "1'0",
    "0x1p3",
    "é",
    "−",
    "\u{feff}",
    "\u{0}",
    "\u{7f}",
    "\u{b}",
    "// vptx: ignore[V501]\n",
    "/* vptx: ignore */",
    "// vptx: ignore-file[V4\n",
    "d",
    " ",
    "\t",
];

#[test]
fn any_mixture_is_read() {
    each_case(samples(10_000), |random| {
        let mut source = String::new();
        // Half of the texts start like a statement.
        if random.percent(50) {
            source.push_str(random.one_of(&["asm(\"", "asm volatile(R\"(", "asm(\"vadd4.u32 "]));
        }
        for _ in 0..=random.below(24) {
            source.push_str(random.one_of(SOUP));
        }
        if random.percent(30) {
            source.push_str("\" : \"=r\"(d) : \"r\"(a), \"r\"(b), \"r\"(c));");
        }
        hold(&source);
    });
}

#[test]
fn the_corpus_can_end_anywhere() {
    for (start, (_, source)) in corpus("asm").into_iter().enumerate() {
        // Cuts each source only at every seventh position, because the sources are similar.
        for (end, _) in source.char_indices().skip(start % 7).step_by(7) {
            hold(&source[..end]);
        }
    }
}

/// Advice on an operand depends on the operand's direction, and suggests nothing that `asm` cannot
/// express.
#[test]
fn advice_fits_the_operand() {
    let help = |text: &str, operands: &str| -> Vec<String> {
        let found = check_cuda(&format!("asm(\"{text}\" {operands});"));
        found.iter().filter_map(|found| found.help.clone()).collect()
    };
    let add = "vadd.u32.u32.u32 %0, %1, 1;";
    for (output, wanted, then) in [
        ("=h", "=r", "narrow it afterwards"),
        ("+h", "+r", "narrow it afterwards"),
        ("=&l", "=&r", "widen it afterwards"),
        ("=f", "=r", "`__uint_as_float` takes them"),
    ] {
        let operands = format!(": \"{output}\"(d) : \"r\"(a)");
        let found = help(add, &operands);
        assert_eq!(found.len(), 1, "{found:?}");
        let variable = format!("a 32-bit variable, as `\"{wanted}\"`");
        assert!(found[0].contains(&variable) && found[0].ends_with(then), "{found:?}");
    }
    for (input, advice) in [
        ("h", "pass a 32-bit value as `\"r\"`: `.h0` or `.b0` on it takes its low part"),
        ("l", "pass a 32-bit value as `\"r\"`, such as one half of it"),
        ("f", "pass its bits as `\"r\"`, as `__float_as_uint` gives them"),
    ] {
        assert_eq!(help(add, &format!(": \"=r\"(d) : \"{input}\"(a)")), [advice]);
    }
    // An operand is a word or an address. A predicate must be declared and set in the text.
    let guarded = help("@%2 vadd.u32.u32.u32 %0, %1, 1;", ": \"=r\"(d) : \"r\"(a), \"r\"(b)");
    let set = "an operand is never a predicate; set one in the text: `.reg .pred p; setp.ne.u32 p, \
               %2, 0;`";
    assert_eq!(guarded, [set]);
    let own = help("{ .reg .u32 p; @p vadd.u32.u32.u32 %0, %1, 1; }", ": \"=r\"(d) : \"r\"(a)");
    assert_eq!(own, ["declare it as `.reg .pred`, or set one with `setp`"]);
    let followed =
        format!("{{ {} @p vadd.u32.u32.u32 %0, %1, 1; }}", ".reg .pred p; setp.ne.u32 p, %2, 0;");
    assert_eq!(check_cuda(&format!("asm(\"{followed}\" : \"=r\"(d) : \"r\"(a), \"r\"(b));")), []);
    // A name that is mistyped.
    let mistyped = "{ .reg .u32 sum; vadd.u32.u32.u32 smu, %1, 1; }";
    assert_eq!(help(mistyped, ": \"=r\"(d) : \"r\"(a)"), ["did you mean `sum`?"]);
}

/// If a constraint is the number of another operand, the operand has the type of that other
/// operand.
#[test]
fn operands_in_one_place_have_one_type() {
    let wide = |own: &str, place: usize| {
        format!(
            "asm(\"vadd.u32.u32.u32 %0, %2, %3;\" : \"=r\"(d), \"={own}\"(e) : \"{place}\"(e), \"r\"(y));"
        )
    };
    for (source, expected) in [
        (wide("l", 1), vec![("V215", "%2".to_owned())]),
        (wide("l", 0), vec![]),
        (wide("r", 1), vec![]),
    ] {
        let found = check_cuda(&source);
        let found: Vec<_> =
            found.iter().map(|it| (it.code.text(), it.span.text(&source).to_owned())).collect();
        assert_eq!(found, expected, "{source}");
    }
}
