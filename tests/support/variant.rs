//! Other texts of the same module.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;
use std::ops::Range;

use super::random::Random;
use crate::support::outline::{Function, Kind, Outline, edited};
use vptx::syntax::{Token, TokenKind, statement_tokens};

/// Pieces of PTX text, which tests join at random.
pub(crate) const PIECES: &[&str] = &[
    "{",
    "}",
    "{\n",
    "}\n",
    ";",
    ":",
    "(",
    ")",
    ",",
    "[",
    "]",
    "=",
    "\n",
    " ",
    ".reg .b32 a, b;\n",
    ".reg .b32 %r<9>;",
    ".func f() {\n",
    ".entry g(.param .u32 p) {\n",
    ".section .s { .b8 1 }\n",
    "bra L;\n",
    "L: ",
    "a",
    "%r3",
    "@!p ",
    "mov.u32 a, %r3;\n",
    "/* x */",
    "// y\n",
    ".loc 1 2 3\n",
    ".global .u32 v = {a};\n",
    "call (a), f, (p);\n",
    "é",
    "<4>",
    ".version 8.5\n",
    "ret;\n",
    "}\n",
    ".target sm_90, debug\n",
    "0x10",
    "1.5",
    "vadd4.u32.u32.u32 a, b, a.b0123, a;\n",
    ".v4 ",
    "\"s\"",
];

/// Another text of the same module. It ignores scopes, so it takes only modules in which a compiler
/// numbered all registers of a function.
pub(crate) struct Variant<'s> {
    source: &'s str,
    numbers: Random,
    text: String,
    /// New names of the labels and registers of the current function.
    names: HashMap<String, String>,
    depth: usize,
}

impl<'s> Variant<'s> {
    pub(crate) fn of(source: &'s str, seed: u64) -> String {
        let numbers = Random(seed);
        let names = HashMap::new();
        let mut variant = Variant { source, numbers, text: String::new(), names, depth: 0 };
        variant.write(&statement_tokens(source));
        variant.text
    }

    fn text(&self, token: Token) -> &'s str {
        token.span().text(self.source)
    }

    fn write(&mut self, tokens: &[Token]) {
        let mut at = 0;
        let mut end = 0;
        let (mut is_data, mut in_section) = (false, false);
        while at < tokens.len() {
            let token = &tokens[at];
            let gap = token.span().start as usize > end;
            end = token.span().end as usize;
            let own = self.text(*token);
            if gap {
                self.gap(in_section || matches!(own, ".loc" | ".file"));
            }
            if own == ".section" {
                in_section = true;
            }
            let starts_body = own == "{" && self.depth == 0 && !is_data && !in_section;
            match own {
                "{" => self.depth += 1,
                "}" => self.depth -= 1,
                "=" => is_data = true,
                ";" => is_data = false,
                _ => {}
            }
            if own == "}" && self.depth == 0 {
                in_section = false;
            }
            if own == ".reg" && self.depth == 1 && self.ranged(tokens, &mut at) {
                end = tokens[at - 1].span().end as usize;
                continue;
            }
            let ends_statement = own == ";" && self.depth > 0 && !in_section;
            let text = match token.kind() {
                TokenKind::Ident => self.names.get(own).cloned().unwrap_or_else(|| own.into()),
                TokenKind::Number if self.depth > 0 && !in_section => self.number(own),
                _ => own.into(),
            };
            self.text.push_str(&text);
            if starts_body {
                self.enter(&tokens[at + 1..]);
            }
            if ends_statement && self.numbers.one_in(6) {
                let line = self.numbers.below(900);
                let _ = write!(self.text, "\n.loc 1 {line} 2\n");
            }
            at += 1;
        }
    }

    /// White space or a comment.
    fn gap(&mut self, keeps_line: bool) {
        let gaps = [" ", "\t", "\n", "  \n\n ", " /* x; { */ ", " // y }\n"];
        let gap = gaps[self.numbers.below(gaps.len())];
        self.text.push_str(if keeps_line { "\n" } else { gap });
    }

    /// The same number in another base.
    fn number(&mut self, text: &str) -> String {
        match text.parse::<u64>() {
            Ok(value) if !text.starts_with('0') && self.numbers.one_in(3) => match value % 3 {
                0 => format!("{value:#x}"),
                1 => format!("0{value:o}"),
                _ => format!("{value:#b}"),
            },
            _ => text.into(),
        }
    }

    /// Chooses new names for the labels of the body that starts with these tokens.
    fn enter(&mut self, tokens: &[Token]) {
        let mut labels = Vec::new();
        let mut depth = 1;
        for pair in tokens.windows(2) {
            match self.text(pair[0]) {
                "{" => depth += 1,
                "}" => depth -= 1,
                name if self.text(pair[1]) == ":" => labels.push(name),
                _ => {}
            }
            if depth == 0 {
                break;
            }
        }
        let first = self.numbers.below(9);
        let new =
            |(at, name): (usize, &&str)| (name.to_string(), format!("$other_{}", first + 3 * at));
        self.names = labels.iter().enumerate().map(new).collect();
    }

    /// Writes `.reg .b32 %r<9>;` in another way: with other numbers, or as single registers.
    fn ranged(&mut self, tokens: &[Token], at: &mut usize) -> bool {
        let [_, ty, name, less, count, more, end, ..] = &tokens[*at..] else { return false };
        let is_range = self.text(*less) == "<" && self.text(*more) == ">" && self.text(*end) == ";";
        if !is_range || ty.kind() != TokenKind::Dot {
            return false;
        }
        let count: usize = self.text(*count).parse().unwrap();
        let (ty, base) = (self.text(*ty), self.text(*name));
        let shift = self.numbers.below(3);
        let step = [1, 3, 7][self.numbers.below(3)];
        let prime = 100_003;
        let new = |number: usize| (number + shift) * step % prime;
        let prefix = format!("%new_{}x", base.trim_start_matches('%'));
        for number in 0..count {
            let name = format!("{prefix}{}", new(number));
            self.names.insert(format!("{base}{number}"), name);
        }
        if self.numbers.one_in(2) && count < 200 {
            for number in 0..count {
                let _ = write!(self.text, ".reg {ty} {prefix}{};", new(number));
            }
        } else {
            let most = (0..count).map(new).max().unwrap_or(0);
            let _ = write!(self.text, ".reg {ty} {prefix}<{}>;", most + 1);
        }
        *at += 7;
        true
    }
}

/// The text with new names for everything that other modules cannot name: registers, labels,
/// parameters and internal variables. Equal names get equal new names, so scopes stay as they are.
pub(crate) fn renamed(source: &str, seed: u64) -> String {
    let outline = Outline::of(source);
    let names = Names::of(&outline, Random(seed));
    let mut edits = Vec::new();
    let statements = outline.functions.iter().flat_map(Function::instructions);
    let opcodes: HashSet<usize> = statements.map(|it| outline.opcode(it)).collect();
    for at in 0..outline.tokens.len() {
        let text = outline.text(at);
        if !outline.is_ident(at) || opcodes.contains(&at) {
            continue;
        }
        if outline.text(at + 1) == "<" && names.ranges.contains_key(text) {
            // `%r<9>`
            let count: usize = outline.text(at + 2).parse().expect("a count");
            let last = names.numbered(text, count.max(1) - 1);
            let (_, last) = split(&last);
            edits.push((outline.bytes(at), names.ranges[text].0.clone()));
            edits.push((outline.bytes(at + 2), (last.unwrap() + 1).to_string()));
        } else if let Some(new) = names.renamed(text) {
            edits.push((outline.bytes(at), new));
        }
    }
    edited(source, edits)
}

/// A name without the digits at its end, and the value of the digits.
fn split(name: &str) -> (&str, Option<usize>) {
    let base = name.trim_end_matches(|letter: char| letter.is_ascii_digit());
    (base, name[base.len()..].parse().ok())
}

/// The new names of a text.
struct Names<'s> {
    singles: HashMap<&'s str, String>,
    /// The new start of the names of a range, the shift of their numbers, and the factor by which
    /// the numbers are then multiplied.
    ranges: HashMap<&'s str, (String, usize, usize)>,
}

impl<'s> Names<'s> {
    fn of(outline: &Outline<'s>, mut numbers: Random) -> Names<'s> {
        let mut found: Vec<(&'s str, bool)> = Vec::new();
        let mut kept: HashSet<&str> = HashSet::new();
        for function in &outline.functions {
            kept.insert(outline.text(function.name));
            let head = function.tokens.start
                ..function
                    .statements
                    .first()
                    .map_or(function.tokens.end - 1, |first| first.tokens.start);
            found.extend(in_parentheses(outline, head));
            for statement in &function.statements {
                match statement.kind {
                    Kind::Label => found.push((outline.text(statement.tokens.start), false)),
                    Kind::Registers | Kind::Variable => {
                        found.extend(declared(outline, statement.tokens.clone()));
                    }
                    _ => {}
                }
            }
        }
        for global in &outline.globals {
            let texts = outline.texts(global.tokens.clone());
            let first = texts[0];
            if texts.contains(&".func") || texts.contains(&".entry") {
                let name = outline.function_name(global.tokens.start, global.tokens.end);
                kept.insert(outline.text(name));
                found.extend(in_parentheses(outline, global.tokens.clone()));
            } else if matches!(first, ".extern" | ".visible" | ".weak" | ".common")
                // ptxas exports these.
                || [".texref", ".samplerref", ".surfref"].iter().any(|it| texts.contains(it))
            {
                kept.extend(declared(outline, global.tokens.clone()).iter().map(|it| it.0));
            } else if first == ".alias" {
                kept.extend(texts);
            } else if !matches!(first, ".section" | ".file" | ".target" | ".pragma") {
                found.extend(declared(outline, global.tokens.clone()));
            }
        }
        let mut names = Names { singles: HashMap::new(), ranges: HashMap::new() };
        let first = numbers.below(50);
        for (at, (name, is_range)) in found.iter().enumerate() {
            let number = (first + at * 7919) % 1_000_003;
            let sign = if name.starts_with('%') { "%" } else { "$" };
            if kept.contains(name) || *name == "_" {
                continue;
            }
            if *is_range {
                let step = [1, 3, 7][numbers.below(3)];
                let new = (format!("{sign}z{number}_"), numbers.below(3), step);
                names.ranges.entry(name).or_insert(new);
            } else {
                names.singles.entry(name).or_insert(format!("{sign}y{number}z"));
            }
        }
        names
    }

    fn numbered(&self, base: &str, number: usize) -> String {
        let (new, shift, step) = &self.ranges[base];
        format!("{new}{}", (number + shift) * step)
    }

    fn renamed(&self, name: &str) -> Option<String> {
        let (base, number) = split(name);
        match number {
            Some(number) if self.ranges.contains_key(base) => Some(self.numbered(base, number)),
            _ => self.singles.get(name).cloned(),
        }
    }
}

/// The names in parentheses, which are parameters, and whether they are ranges.
fn in_parentheses<'s>(outline: &Outline<'s>, tokens: Range<usize>) -> Vec<(&'s str, bool)> {
    let (mut depth, mut found) = (0, Vec::new());
    for at in tokens {
        match outline.text(at) {
            "(" => depth += 1,
            ")" => depth -= 1,
            name if depth > 0 && outline.is_ident(at) => {
                found.push((name, outline.text(at + 1) == "<"));
            }
            _ => {}
        }
    }
    found
}

/// The names that a declaration declares, and whether they are ranges.
fn declared<'s>(outline: &Outline<'s>, tokens: Range<usize>) -> Vec<(&'s str, bool)> {
    let (mut depth, mut is_value, mut found) = (0, false, Vec::new());
    for at in tokens {
        match outline.text(at) {
            "{" | "(" | "[" => depth += 1,
            "}" | ")" | "]" => depth -= 1,
            "=" => is_value = true,
            "," if depth == 0 => is_value = false,
            name if depth == 0 && !is_value && outline.is_ident(at) => {
                found.push((name, outline.text(at + 1) == "<"));
            }
            _ => {}
        }
    }
    found
}

/// The text in which registers have other types of the same class.
pub(crate) fn retyped(source: &str, seed: u64) -> String {
    let outline = Outline::of(source);
    let mut numbers = Random(seed);
    let mut edits = Vec::new();
    for function in &outline.functions {
        for statement in &function.statements {
            let ty = outline.text(statement.tokens.start + 1);
            let is_known = [".b", ".u", ".s", ".f"].iter().any(|start| ty.starts_with(start));
            let width = ty.get(2..).filter(|width| matches!(*width, "16" | "32" | "64"));
            if let (Kind::Registers, true, Some(width)) = (statement.kind, is_known, width) {
                let kind = if ty.starts_with(".f") {
                    ["b", "f"][numbers.below(2)]
                } else {
                    ["b", "u", "s"][numbers.below(3)]
                };
                let place = outline.bytes(statement.tokens.start + 1);
                edits.push((place, format!(".{kind}{width}")));
            }
        }
    }
    edited(source, edits)
}

/// The text with braces around some runs of instructions, and the number of these runs.
pub(crate) fn braced(source: &str, seed: u64) -> (String, usize) {
    let outline = Outline::of(source);
    let mut numbers = Random(seed);
    let (mut edits, mut count) = (Vec::new(), 0);
    for function in &outline.functions {
        let mut at = 0;
        while at < function.statements.len() {
            let length = 1 + numbers.below(6);
            let run = plain_run(function, at, length);
            if run > 0 && numbers.one_in(3) {
                let start = function.statements[at].span.start;
                let end = function.statements[at + run - 1].span.end;
                edits.push((start..start, "{ ".to_owned()));
                edits.push((end..end, " }".to_owned()));
                count += 1;
            }
            at += run.max(1);
        }
    }
    (edited(source, edits), count)
}

/// The number of instructions, up to a limit, that follow each other directly, from a statement on.
pub(crate) fn plain_run(function: &Function, start: usize, limit: usize) -> usize {
    let mut end = start;
    while let Some(next) = function.statements.get(end) {
        let follows = end == start || {
            let last = &function.statements[end - 1];
            last.tokens.end == next.tokens.start && last.depth == next.depth
        };
        if end - start == limit || !follows || next.kind != Kind::Instruction {
            break;
        }
        end += 1;
    }
    end - start
}

/// The text without blocks in functions, and the number of blocks that it had. The names that a
/// block declares become names of the function.
pub(crate) fn flattened(source: &str) -> (String, usize) {
    let outline = Outline::of(source);
    let (mut edits, mut count) = (Vec::new(), 0);
    for function in &outline.functions {
        // The names that each block declares, and whether they are ranges.
        let mut names: Vec<HashMap<&str, bool>> = vec![HashMap::new(); function.blocks.len()];
        for statement in &function.statements {
            let Some(block) = function.block_of(statement) else { continue };
            let first = statement.tokens.start;
            match statement.kind {
                Kind::Label => names[block].extend([(outline.text(first), false)]),
                Kind::Registers | Kind::Variable => {
                    names[block].extend(declared(&outline, statement.tokens.clone()));
                }
                _ => {}
            }
        }
        for statement in &function.statements {
            for token in statement.tokens.clone().filter(|token| outline.is_ident(*token)) {
                let name = outline.text(token);
                let (base, number) = split(name);
                let is_ranged = |block: usize| {
                    number.is_some()
                        && !names[block].contains_key(name)
                        && names[block].get(base) == Some(&true)
                };
                let mut around = (0..function.blocks.len())
                    .rev()
                    .filter(|block| function.blocks[*block].contains(&token));
                let owner = around.find(|it| names[*it].contains_key(name) || is_ranged(*it));
                let Some(owner) = owner else { continue };
                let new = match number {
                    Some(number) if is_ranged(owner) => {
                        format!("{base}_in{}_{number}", count + owner)
                    }
                    _ if names[owner][name] => format!("{name}_in{}_", count + owner),
                    _ => format!("{name}_in{}", count + owner),
                };
                edits.push((outline.bytes(token), new));
            }
        }
        for block in &function.blocks {
            edits.push((outline.bytes(block.start), String::new()));
            edits.push((outline.bytes(block.end - 1), String::new()));
        }
        count += function.blocks.len();
    }
    (edited(source, edits), count)
}

/// The text without debug information.
pub(crate) fn without_debug(source: &str) -> String {
    let outline = Outline::of(source);
    let mut edits = Vec::new();
    for function in &outline.functions {
        for statement in function.statements.iter().filter(|it| it.kind == Kind::Debug) {
            edits.push((statement.span.clone(), String::new()));
        }
    }
    for global in &outline.globals {
        match outline.text(global.tokens.start) {
            ".file" | ".loc" | ".section" => edits.push((global.span.clone(), String::new())),
            ".target" => {
                let words = outline.texts(global.tokens.clone());
                if let Some(at) = words.iter().position(|word| *word == "debug") {
                    let at = global.tokens.start + at;
                    let comma = outline.bytes(at - 1).start;
                    edits.push((comma..outline.bytes(at).end, String::new()));
                }
            }
            _ => {}
        }
    }
    edited(source, edits)
}
