//! Reads an EBNF file and answers three questions about its language: is this
//! text a sentence (and by which rules), what are all sentences, and what is a
//! random one. `grammar/README.md` describes the notation.
//!
//! Recognition is exact: every rule yields *all* its ends at a position, and
//! remembers them, so no ordering of alternatives can hide a sentence.

use super::random::Random;
use std::collections::HashMap;

/// Sentences that stand for a rule whose language is infinite or very large.
pub(crate) type Samples<'s> = &'s [(&'s str, &'s [&'s str])];

/// A grammar, ready for use; see [`Grammar::parse`].
#[derive(Debug)]
pub(crate) struct Grammar {
    nodes: Vec<Node>,
    facts: Vec<Facts>,
    rules: Vec<Rule>,
    by_name: HashMap<String, usize>,
}

#[derive(Debug)]
struct Rule {
    name: String,
    token: bool,
    line: usize,
    body: usize,
    /// The nesting of rules in the shallowest derivation.
    height: u32,
}

#[derive(Debug)]
enum Node {
    Literal(String),
    Class(u128),
    Rule(usize),
    Seq(Vec<usize>),
    Alt(Vec<usize>),
    Opt(usize),
    Star(usize),
    Plus(usize),
    Except(usize, usize),
}

#[derive(Clone, Debug)]
struct Facts {
    /// Whether the node is inside a token, where nothing may stand between the parts.
    raw: bool,
    nullable: bool,
    /// The bytes that can come first.
    first: u128,
    height: u32,
}

// ---------------------------------------------------------------- the file

#[derive(Clone, Debug, PartialEq)]
enum Lexeme {
    Name(String),
    Literal(String),
    Class(u128),
    Define,
    Sign(u8),
}

fn lexemes(text: &str) -> Result<Vec<(usize, Lexeme)>, String> {
    if let Some(at) = text.bytes().position(|b| !b.is_ascii()) {
        let line = text[..at].matches('\n').count() + 1;
        return Err(format!("line {line}: only ASCII is supported"));
    }
    let mut out = Vec::new();
    let mut line = 1;
    let mut rest = text;
    while let Some(c) = rest.bytes().next() {
        let start = line;
        let mut take = 1;
        match c {
            b'\n' => line += 1,
            b' ' | b'\t' | b'\r' => {}
            b'/' if rest.starts_with("/*") => {
                let end =
                    rest[2..].find("*/").ok_or(format!("line {line}: comment without end"))?;
                take = end + 4;
                line += rest[..take].matches('\n').count();
            }
            b'"' | b'\'' => {
                let end = rest[1..]
                    .bytes()
                    .position(|b| b == c || b == b'\n')
                    .filter(|&end| rest.as_bytes()[end + 1] == c && end > 0)
                    .ok_or(format!("line {line}: empty or open literal"))?;
                out.push((start, Lexeme::Literal(rest[1..=end].to_owned())));
                take = end + 2;
            }
            b'[' => {
                let end = rest.find(']').ok_or(format!("line {line}: open character class"))?;
                let set = class(&rest.as_bytes()[1..end])
                    .ok_or(format!("line {line}: bad character class"))?;
                out.push((start, Lexeme::Class(set)));
                take = end + 1;
            }
            b':' if rest.starts_with("::=") => {
                out.push((start, Lexeme::Define));
                take = 3;
            }
            b'|' | b'(' | b')' | b'?' | b'*' | b'+' | b'-' => out.push((start, Lexeme::Sign(c))),
            b'a'..=b'z' | b'A'..=b'Z' => {
                take = rest
                    .bytes()
                    .position(|b| !(b.is_ascii_alphanumeric() || b == b'_'))
                    .unwrap_or(rest.len());
                out.push((start, Lexeme::Name(rest[..take].to_owned())));
            }
            _ => return Err(format!("line {line}: unexpected `{}`", char::from(c))),
        }
        rest = &rest[take..];
    }
    Ok(out)
}

/// A class of single characters and ranges, such as `[_a-z]`. There are no escapes and
/// no complement.
fn class(mut bytes: &[u8]) -> Option<u128> {
    let mut set = 0;
    while let Some(&low) = bytes.first() {
        let high = match bytes {
            [_, b'-', high, ..] => *high,
            _ => low,
        };
        if high < low || !low.is_ascii_graphic() || low == b'^' {
            return None;
        }
        bytes = &bytes[if high == low { 1 } else { 3 }..];
        (low..=high).for_each(|b| set |= 1 << b);
    }
    (set != 0).then_some(set)
}

struct Reader<'t> {
    lexemes: &'t [(usize, Lexeme)],
    at: usize,
    nodes: Vec<Node>,
    by_name: HashMap<String, usize>,
}

impl Reader<'_> {
    fn peek(&self, ahead: usize) -> Option<&Lexeme> {
        self.lexemes.get(self.at + ahead).map(|(_, lexeme)| lexeme)
    }

    fn line(&self) -> usize {
        let last = self.lexemes.len() - 1;
        self.lexemes[self.at.min(last)].0
    }

    fn add(&mut self, node: Node) -> usize {
        self.nodes.push(node);
        self.nodes.len() - 1
    }

    fn sign(&mut self, sign: u8) -> bool {
        let found = self.peek(0) == Some(&Lexeme::Sign(sign));
        self.at += usize::from(found);
        found
    }

    fn alternatives(&mut self) -> Result<usize, String> {
        let mut all = vec![self.sequence()?];
        while self.sign(b'|') {
            all.push(self.sequence()?);
        }
        Ok(match all[..] {
            [one] => one,
            _ => self.add(Node::Alt(all)),
        })
    }

    fn sequence(&mut self) -> Result<usize, String> {
        let mut all = Vec::new();
        while let Some(item) = self.item()? {
            all.push(item);
        }
        match all[..] {
            [] => Err(format!("line {}: something is missing", self.line())),
            [one] => Ok(one),
            _ => Ok(self.add(Node::Seq(all))),
        }
    }

    fn item(&mut self) -> Result<Option<usize>, String> {
        let Some(left) = self.repeated()? else {
            return Ok(None);
        };
        if !self.sign(b'-') {
            return Ok(Some(left));
        }
        let right = self.repeated()?.ok_or(format!("line {}: nothing after `-`", self.line()))?;
        Ok(Some(self.add(Node::Except(left, right))))
    }

    fn repeated(&mut self) -> Result<Option<usize>, String> {
        let Some(mut item) = self.primary()? else {
            return Ok(None);
        };
        loop {
            let node = if self.sign(b'?') {
                Node::Opt(item)
            } else if self.sign(b'*') {
                Node::Star(item)
            } else if self.sign(b'+') {
                Node::Plus(item)
            } else {
                return Ok(Some(item));
            };
            item = self.add(node);
        }
    }

    fn primary(&mut self) -> Result<Option<usize>, String> {
        let line = self.line();
        let node = match self.peek(0) {
            Some(Lexeme::Literal(text)) => Node::Literal(text.clone()),
            Some(Lexeme::Class(set)) => Node::Class(*set),
            Some(Lexeme::Name(name)) => {
                if self.peek(1) == Some(&Lexeme::Define) {
                    return Ok(None);
                }
                match self.by_name.get(name) {
                    Some(&rule) => Node::Rule(rule),
                    None => return Err(format!("line {line}: rule `{name}` is not defined")),
                }
            }
            Some(Lexeme::Sign(b'(')) => {
                self.at += 1;
                let inner = self.alternatives()?;
                if !self.sign(b')') {
                    return Err(format!("line {}: `)` is missing", self.line()));
                }
                return Ok(Some(inner));
            }
            _ => return Ok(None),
        };
        self.at += 1;
        Ok(Some(self.add(node)))
    }
}

impl Grammar {
    /// Reads an EBNF file. Its first rule is the root.
    ///
    /// # Errors
    ///
    /// On bad notation, and on rules that are undefined, defined twice, out of
    /// the root's reach, left-recursive or without any finite sentence.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let lexemes = lexemes(text)?;
        let mut rules = Vec::new();
        let mut by_name = HashMap::new();
        for (at, pair) in lexemes.windows(2).enumerate() {
            let [(line, Lexeme::Name(name)), (_, Lexeme::Define)] = pair else {
                continue;
            };
            let upper = name.bytes().any(|b| b.is_ascii_uppercase());
            if upper && name.bytes().any(|b| b.is_ascii_lowercase()) {
                return Err(format!("line {line}: `{name}` mixes upper and lower case"));
            }
            if by_name.insert(name.clone(), rules.len()).is_some() {
                return Err(format!("line {line}: rule `{name}` is defined twice"));
            }
            rules.push(Rule {
                name: name.clone(),
                token: upper,
                line: *line,
                body: at + 2,
                height: u32::MAX,
            });
        }
        if rules.first().map(|rule| rule.body) != Some(2) {
            return Err("the file does not begin with a rule".to_owned());
        }
        let mut reader = Reader { lexemes: &lexemes, at: 0, nodes: Vec::new(), by_name };
        let mut raw = Vec::new();
        for rule in &mut rules {
            if reader.at + 2 != rule.body {
                return Err(format!("line {}: rule or sign expected", reader.line()));
            }
            reader.at = rule.body;
            rule.body = reader.alternatives()?;
            raw.resize(reader.nodes.len(), rule.token);
        }
        if reader.at != lexemes.len() {
            return Err(format!("line {}: rule or sign expected", reader.line()));
        }
        let mut grammar =
            Self { nodes: reader.nodes, facts: Vec::new(), rules, by_name: reader.by_name };
        grammar.facts = raw
            .into_iter()
            .map(|raw| Facts { raw, nullable: false, first: 0, height: u32::MAX })
            .collect();
        grammar.layers()?;
        while grammar.improve_facts() {}
        grammar.soundness()?;
        Ok(grammar)
    }

    /// Names of all rules, in the order of the file.
    pub(crate) fn rule_names(&self) -> impl Iterator<Item = &str> + '_ {
        self.rules.iter().map(|rule| rule.name.as_str())
    }

    fn rule(&self, name: &str) -> Result<usize, String> {
        self.by_name.get(name).copied().ok_or_else(|| format!("no rule `{name}`"))
    }

    fn start(&self, name: &str) -> usize {
        self.rule(name).unwrap_or_else(|error| panic!("{error}"))
    }

    fn children(&self, node: usize) -> Vec<usize> {
        match &self.nodes[node] {
            Node::Literal(_) | Node::Class(_) | Node::Rule(_) => Vec::new(),
            Node::Seq(all) | Node::Alt(all) => all.clone(),
            Node::Opt(one) | Node::Star(one) | Node::Plus(one) => vec![*one],
            Node::Except(left, right) => vec![*left, *right],
        }
    }

    /// Checks that tokens consist of tokens only, and that classes and exceptions occur only in
    /// tokens.
    fn layers(&self) -> Result<(), String> {
        for rule in &self.rules {
            let mut todo = vec![rule.body];
            while let Some(node) = todo.pop() {
                todo.extend(self.children(node));
                let fault = match &self.nodes[node] {
                    Node::Rule(inner) if rule.token && !self.rules[*inner].token => {
                        format!("token built of phrase `{}`", self.rules[*inner].name)
                    }
                    Node::Class(_) if !rule.token => "character class outside a token".to_owned(),
                    Node::Except(..) if !rule.token => "exception outside a token".to_owned(),
                    _ => continue,
                };
                return Err(format!("line {}: rule `{}`: {fault}", rule.line, rule.name));
            }
        }
        Ok(())
    }

    /// Improves all facts by one step towards the least fixed point. Returns whether any changed.
    fn improve_facts(&mut self) -> bool {
        let mut changed = false;
        for node in 0..self.nodes.len() {
            let fact = |child: &usize| &self.facts[*child];
            let (nullable, first, height) = match &self.nodes[node] {
                Node::Literal(text) => (false, 1 << text.as_bytes()[0], 0),
                Node::Class(set) => (false, *set, 0),
                Node::Rule(rule) => {
                    let body = fact(&self.rules[*rule].body);
                    (body.nullable, body.first, body.height.saturating_add(1))
                }
                Node::Seq(all) => {
                    let mut first = 0;
                    for child in all {
                        first |= fact(child).first;
                        if !fact(child).nullable {
                            break;
                        }
                    }
                    let height = all.iter().map(|child| fact(child).height).max();
                    (all.iter().all(|child| fact(child).nullable), first, height.unwrap_or(0))
                }
                Node::Alt(all) => (
                    all.iter().any(|child| fact(child).nullable),
                    all.iter().fold(0, |set, child| set | fact(child).first),
                    all.iter().map(|child| fact(child).height).min().unwrap_or(0),
                ),
                Node::Opt(one) | Node::Star(one) => (true, fact(one).first, 0),
                Node::Plus(one) | Node::Except(one, _) => {
                    (fact(one).nullable, fact(one).first, fact(one).height)
                }
            };
            let fact = &mut self.facts[node];
            if (fact.nullable, fact.first, fact.height) != (nullable, first, height) {
                (fact.nullable, fact.first, fact.height) = (nullable, first, height);
                changed = true;
            }
        }
        for rule in 0..self.rules.len() {
            self.rules[rule].height = self.facts[self.rules[rule].body].height;
        }
        changed
    }

    fn soundness(&self) -> Result<(), String> {
        let mut reached = vec![false; self.rules.len()];
        let mut todo = vec![0];
        while let Some(rule) = todo.pop() {
            if !std::mem::replace(&mut reached[rule], true) {
                self.mentions(self.rules[rule].body, false, &mut todo);
            }
        }
        for (index, rule) in self.rules.iter().enumerate() {
            let fault = if !reached[index] {
                "is not used"
            } else if rule.height == u32::MAX {
                "has no finite sentence"
            } else if self.left_recursive(index) {
                "is left-recursive"
            } else {
                continue;
            };
            return Err(format!("line {}: rule `{}` {fault}", rule.line, rule.name));
        }
        Ok(())
    }

    /// The rules mentioned below a node, or only the rules that can come first there.
    fn mentions(&self, node: usize, leftmost: bool, out: &mut Vec<usize>) {
        if let Node::Rule(rule) = self.nodes[node] {
            out.push(rule);
        }
        for child in self.children(node) {
            self.mentions(child, leftmost, out);
            let sequence = matches!(self.nodes[node], Node::Seq(_));
            if leftmost && sequence && !self.facts[child].nullable {
                break;
            }
        }
    }

    fn left_recursive(&self, rule: usize) -> bool {
        let mut seen = vec![false; self.rules.len()];
        let mut todo = Vec::new();
        self.mentions(self.rules[rule].body, true, &mut todo);
        while let Some(next) = todo.pop() {
            if next == rule {
                return true;
            }
            if !std::mem::replace(&mut seen[next], true) {
                self.mentions(self.rules[next].body, true, &mut todo);
            }
        }
        false
    }
}

// ------------------------------------------------------------- recognition

/// Whether a byte continues a name or number, so that no token may end before it.
fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$'
}

/// Whether a byte is part of a word or is `%`, which begins a name. The operator `%` cannot touch a
/// word either.
fn binds(byte: u8) -> bool {
    is_word(byte) || byte == b'%'
}

/// Skips white space and comments, but not a comment without an end.
fn skip(text: &[u8], mut at: usize) -> usize {
    loop {
        match text.get(at) {
            Some(b' ' | b'\t' | b'\n' | b'\r' | b'\x0c') => at += 1,
            Some(b'/') => {
                let (from, end): (usize, &[u8]) = match text.get(at + 1) {
                    Some(b'/') => (at + 2, b"\n"),
                    Some(b'*') => (at + 2, b"*/"),
                    _ => return at,
                };
                let found = text[from..].windows(end.len()).position(|w| w == end);
                match found {
                    Some(length) => at = from + length + end.len(),
                    None => return at,
                }
            }
            _ => return at,
        }
    }
}

struct Run<'g, 't> {
    grammar: &'g Grammar,
    text: &'t [u8],
    /// For each rule and position, 1 + an index into `spans`, or 0 if unknown.
    memo: Vec<u32>,
    spans: Vec<(u32, u32)>,
    known: Vec<u32>,
    /// Sets of ends that are being built, the newest on top.
    stack: Vec<u32>,
}

impl<'g, 't> Run<'g, 't> {
    fn new(grammar: &'g Grammar, text: &'t str) -> Self {
        Run {
            grammar,
            text: text.as_bytes(),
            memo: vec![0; grammar.rules.len() * (text.len() + 1)],
            spans: Vec::with_capacity(64),
            known: Vec::with_capacity(64),
            stack: Vec::with_capacity(64),
        }
    }

    /// Sorts the set that begins at `base` and removes duplicates.
    fn settle(&mut self, base: usize) {
        if self.stack.len() > base + 1 {
            self.stack[base..].sort_unstable();
            let mut kept = base + 1;
            for i in base + 1..self.stack.len() {
                if self.stack[i] != self.stack[kept - 1] {
                    self.stack[kept] = self.stack[i];
                    kept += 1;
                }
            }
            self.stack.truncate(kept);
        }
    }

    fn push(&mut self, end: usize) {
        self.stack.push(u32::try_from(end).expect("sentence is short"));
    }

    fn whole_token(&self, end: usize) -> bool {
        let inside = end > 0 && binds(self.text[end - 1]);
        !(inside && self.text.get(end).is_some_and(|&b| is_word(b)))
    }

    /// Puts on the stack, ascending, every end of `node` when it starts at `at`.
    fn ends(&mut self, node: usize, at: usize) {
        let grammar = self.grammar;
        let facts = &grammar.facts[node];
        let begin = if facts.raw { at } else { skip(self.text, at) };
        if !facts.nullable {
            match self.text.get(begin) {
                Some(&b) if b.is_ascii() && facts.first >> b & 1 == 1 => {}
                _ => return,
            }
        }
        match &grammar.nodes[node] {
            Node::Literal(literal) => {
                let end = begin + literal.len();
                if self.text[begin..].starts_with(literal.as_bytes())
                    && (facts.raw || self.whole_token(end))
                {
                    self.push(end);
                }
            }
            // The first byte was examined already.
            Node::Class(_) => self.push(begin + 1),
            Node::Rule(rule) if !facts.raw && grammar.rules[*rule].token => {
                let base = self.stack.len();
                self.rule_ends(*rule, begin);
                let mut kept = base;
                for i in base..self.stack.len() {
                    if self.whole_token(self.stack[i] as usize) {
                        self.stack[kept] = self.stack[i];
                        kept += 1;
                    }
                }
                self.stack.truncate(kept);
            }
            Node::Rule(rule) => self.rule_ends(*rule, begin),
            Node::Seq(all) => {
                let base = self.stack.len();
                self.push(at);
                for &child in all {
                    let top = self.stack.len();
                    for i in base..top {
                        self.ends(child, self.stack[i] as usize);
                    }
                    self.stack.drain(base..top);
                    self.settle(base);
                    if self.stack.len() == base {
                        break;
                    }
                }
            }
            Node::Alt(all) => {
                let base = self.stack.len();
                for &child in all {
                    self.ends(child, at);
                }
                self.settle(base);
            }
            Node::Opt(one) => {
                let base = self.stack.len();
                self.push(at);
                self.ends(*one, at);
                self.settle(base);
            }
            Node::Star(one) => {
                let base = self.stack.len();
                self.push(at);
                self.repeat(*one, base);
            }
            Node::Plus(one) => {
                let base = self.stack.len();
                self.ends(*one, at);
                self.repeat(*one, base);
            }
            Node::Except(left, right) => {
                let base = self.stack.len();
                self.ends(*left, at);
                let top = self.stack.len();
                self.ends(*right, at);
                let mut kept = base;
                for i in base..top {
                    if !self.stack[top..].contains(&self.stack[i]) {
                        self.stack[kept] = self.stack[i];
                        kept += 1;
                    }
                }
                self.stack.truncate(kept);
            }
        }
    }

    /// Extends the set that begins at `base` by one more `node` until it no longer grows.
    fn repeat(&mut self, node: usize, base: usize) {
        let mut next = base;
        while next < self.stack.len() {
            let top = self.stack.len();
            self.ends(node, self.stack[next] as usize);
            let mut kept = top;
            for i in top..self.stack.len() {
                if !self.stack[base..kept].contains(&self.stack[i]) {
                    self.stack[kept] = self.stack[i];
                    kept += 1;
                }
            }
            self.stack.truncate(kept);
            next += 1;
        }
        self.settle(base);
    }

    fn rule_ends(&mut self, rule: usize, at: usize) {
        let slot = rule * (self.text.len() + 1) + at;
        if self.memo[slot] == 0 {
            let base = self.stack.len();
            self.ends(self.grammar.rules[rule].body, at);
            let from = self.known.len();
            self.known.extend_from_slice(&self.stack[base..]);
            self.spans.push((from as u32, self.known.len() as u32));
            self.memo[slot] = self.spans.len() as u32;
        } else {
            let (from, to) = self.spans[self.memo[slot] as usize - 1];
            self.stack.extend_from_slice(&self.known[from as usize..to as usize]);
        }
    }

    fn set(&mut self, node: usize, at: usize) -> Vec<usize> {
        let base = self.stack.len();
        self.ends(node, at);
        self.stack.drain(base..).map(|end| end as usize).collect::<Vec<_>>()
    }

    /// The start and end of a sentence of a rule that is the whole text, apart from white space and
    /// comments around it.
    fn sentence(&mut self, rule: usize) -> Option<(usize, usize)> {
        let begin = if self.grammar.rules[rule].token { skip(self.text, 0) } else { 0 };
        self.rule_ends(rule, begin);
        let end = self
            .stack
            .drain(..)
            .map(|end| end as usize)
            .find(|&end| skip(self.text, end) == self.text.len())?;
        Some((begin, end))
    }

    /// Marks the rules of one derivation of `text[at..end]`, which must exist.
    fn trace(&mut self, node: usize, at: usize, end: usize, used: &mut [bool]) {
        let grammar = self.grammar;
        match &grammar.nodes[node] {
            Node::Literal(_) | Node::Class(_) => {}
            Node::Rule(rule) => {
                let begin = if grammar.facts[node].raw { at } else { skip(self.text, at) };
                used[*rule] = true;
                self.trace(grammar.rules[*rule].body, begin, end, used);
            }
            Node::Seq(all) => {
                let splits = self.split(all, at, end).expect("sequence was recognised");
                let mut from = at;
                for (&child, &to) in all.iter().zip(&splits) {
                    self.trace(child, from, to, used);
                    from = to;
                }
            }
            Node::Alt(all) => {
                let found = all
                    .iter()
                    .find(|child| self.set(**child, at).contains(&end))
                    .expect("alternative was recognised");
                self.trace(*found, at, end, used);
            }
            Node::Opt(one) => {
                if at != end {
                    self.trace(*one, at, end, used);
                }
            }
            Node::Star(one) | Node::Plus(one) => {
                let steps = self.steps(*one, at, end, &mut vec![false; end + 1]);
                let mut from = at;
                for to in steps.expect("repetition was recognised") {
                    self.trace(*one, from, to, used);
                    from = to;
                }
            }
            Node::Except(left, _) => self.trace(*left, at, end, used),
        }
    }

    /// The ends of the members of a sequence, from first to last.
    fn split(&mut self, all: &[usize], at: usize, end: usize) -> Option<Vec<usize>> {
        let Some((&first, rest)) = all.split_first() else {
            return (at == end).then(Vec::new);
        };
        for to in self.set(first, at) {
            if let Some(mut tail) = self.split(rest, to, end) {
                tail.insert(0, to);
                return Some(tail);
            }
        }
        None
    }

    /// The ends of the repetitions of a node, from first to last.
    fn steps(
        &mut self,
        node: usize,
        at: usize,
        end: usize,
        seen: &mut [bool],
    ) -> Option<Vec<usize>> {
        if at == end {
            return Some(Vec::new());
        }
        for to in self.set(node, at) {
            if to <= at || to > end || std::mem::replace(&mut seen[to], true) {
                continue;
            }
            if let Some(mut tail) = self.steps(node, to, end, seen) {
                tail.insert(0, to);
                return Some(tail);
            }
        }
        None
    }
}

impl Grammar {
    /// Whether `text` is a sentence of rule `start`. White space and comments
    /// may stand before, after and between tokens.
    ///
    /// # Panics
    ///
    /// If there is no such rule.
    pub(crate) fn recognise(&self, start: &str, text: &str) -> bool {
        Run::new(self, text).sentence(self.start(start)).is_some()
    }

    /// The rules that take part in one derivation of `text`, in the order of
    /// the file; `None` if it is no sentence of rule `start`.
    ///
    /// # Panics
    ///
    /// If there is no such rule.
    pub(crate) fn recognise_rules(&self, start: &str, text: &str) -> Option<Vec<&str>> {
        let start = self.start(start);
        let mut run = Run::new(self, text);
        let (begin, end) = run.sentence(start)?;
        let mut used = vec![false; self.rules.len()];
        used[start] = true;
        run.trace(self.rules[start].body, begin, end, &mut used);
        let names = self.rule_names().zip(used);
        Some(names.filter(|(_, used)| *used).map(|(n, _)| n).collect())
    }
}

// -------------------------------------------------------------- generation

/// Appends a token, after a space if the token would otherwise fuse with the one before it.
fn append(out: &mut String, token: &str) {
    if let (Some(last), Some(first)) = (out.bytes().last(), token.bytes().next()) {
        let comment = last == b'/' && matches!(first, b'/' | b'*');
        if last == b',' || binds(last) && binds(first) || comment {
            out.push(' ');
        }
    }
    out.push_str(token);
}

/// A finite language whose sentences are numbered; made by [`Grammar::enumerate`]. An ambiguous
/// grammar repeats sentences.
#[derive(Debug)]
pub(crate) struct Sentences<'g> {
    grammar: &'g Grammar,
    start: usize,
    samples: Vec<Option<Vec<String>>>,
    /// The number of sentences by rule, then by node.
    of_rule: Vec<Option<u64>>,
    of_node: Vec<u64>,
}

impl Sentences<'_> {
    /// The number of sentences.
    pub(crate) fn count(&self) -> u64 {
        self.of_rule[self.start].unwrap_or(0)
    }

    /// Sentence number `index`, counted from 0.
    ///
    /// # Panics
    ///
    /// If `index` is not below [`Sentences::count`].
    pub(crate) fn get(&self, index: u64) -> String {
        assert!(index < self.count(), "there is no sentence {index}");
        let mut out = String::new();
        self.write_rule(self.start, index, &mut out);
        out
    }

    /// All sentences, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = String> + '_ {
        self.every(1)
    }

    /// Every `step`-th sentence. This is an even sample if `step` is prime.
    pub(crate) fn every(&self, step: usize) -> impl Iterator<Item = String> + '_ {
        (0..self.count()).step_by(step).map(|index| self.get(index))
    }

    fn write_rule(&self, rule: usize, index: u64, out: &mut String) {
        let body = self.grammar.rules[rule].body;
        if let Some(samples) = &self.samples[rule] {
            let sample = samples[usize::try_from(index).expect("index is small")].as_str();
            if self.grammar.facts[body].raw {
                out.push_str(sample);
            } else {
                append(out, sample);
            }
        } else {
            self.write(body, index, out);
        }
    }

    fn write(&self, node: usize, mut index: u64, out: &mut String) {
        let grammar = self.grammar;
        let raw = grammar.facts[node].raw;
        match &grammar.nodes[node] {
            Node::Literal(text) if raw => out.push_str(text),
            Node::Literal(text) => append(out, text),
            Node::Class(set) => out.push(nth_of(*set, index)),
            Node::Rule(rule) if !raw && grammar.rules[*rule].token => {
                let mut token = String::new();
                self.write_rule(*rule, index, &mut token);
                append(out, &token);
            }
            Node::Rule(rule) => self.write_rule(*rule, index, out),
            Node::Seq(all) => {
                // The last member varies fastest.
                let mut below: u64 = all.iter().map(|child| self.of_node[*child]).product();
                for child in all {
                    below /= self.of_node[*child];
                    self.write(*child, index / below, out);
                    index %= below;
                }
            }
            Node::Alt(all) => {
                for child in all {
                    match index.checked_sub(self.of_node[*child]) {
                        Some(rest) => index = rest,
                        None => return self.write(*child, index, out),
                    }
                }
            }
            Node::Opt(one) => {
                if index > 0 {
                    self.write(*one, index - 1, out);
                }
            }
            Node::Star(_) | Node::Plus(_) | Node::Except(..) => {
                unreachable!("not counted, so not written")
            }
        }
    }

    fn count_rule(&mut self, rule: usize, open: &mut Vec<bool>) -> Result<u64, String> {
        if let Some(count) = self.of_rule[rule] {
            return Ok(count);
        }
        let name = &self.grammar.rules[rule].name;
        let count = if let Some(samples) = &self.samples[rule] {
            samples.len() as u64
        } else if std::mem::replace(&mut open[rule], true) {
            return Err(format!("rule `{name}` is recursive and has no samples"));
        } else {
            self.count_node(self.grammar.rules[rule].body, open)
                .map_err(|error| error.replace("this rule", &format!("rule `{name}`")))?
        };
        if count == 0 {
            return Err(format!("rule `{name}` has an empty list of samples"));
        }
        self.of_rule[rule] = Some(count);
        Ok(count)
    }

    fn count_node(&mut self, node: usize, open: &mut Vec<bool>) -> Result<u64, String> {
        let grammar = self.grammar;
        let many = || "this rule has too many sentences".to_owned();
        let count = match &grammar.nodes[node] {
            Node::Literal(_) => 1,
            Node::Class(set) => u64::from(set.count_ones()),
            Node::Rule(rule) => self.count_rule(*rule, open)?,
            Node::Seq(all) => {
                let mut product: u64 = 1;
                for child in all {
                    let count = self.count_node(*child, open)?;
                    product = product.checked_mul(count).ok_or_else(many)?;
                }
                product
            }
            Node::Alt(all) => {
                let mut sum: u64 = 0;
                for child in all {
                    let count = self.count_node(*child, open)?;
                    sum = sum.checked_add(count).ok_or_else(many)?;
                }
                sum
            }
            Node::Opt(one) => self.count_node(*one, open)?.checked_add(1).ok_or_else(many)?,
            Node::Star(_) | Node::Plus(_) => {
                return Err("this rule repeats without bound and has no samples".to_owned());
            }
            Node::Except(..) => {
                return Err("this rule has an exception and no samples".to_owned());
            }
        };
        self.of_node[node] = count;
        Ok(count)
    }
}

fn nth_of(set: u128, index: u64) -> char {
    let index = usize::try_from(index).expect("index is small");
    (0u8..128).filter(|b| set >> b & 1 == 1).map(char::from).nth(index).expect("class was counted")
}

impl Grammar {
    fn resolve(&self, samples: Samples<'_>) -> Result<Vec<Option<Vec<String>>>, String> {
        let mut out = vec![None; self.rules.len()];
        for (name, list) in samples {
            let list = list.iter().map(|text| (*text).to_owned()).collect();
            out[self.rule(name)?] = Some(list);
        }
        Ok(out)
    }

    /// All sentences of rule `start`. A rule with samples has exactly these samples as sentences.
    ///
    /// # Errors
    ///
    /// If a name is unknown, or a rule without samples is recursive, repeats
    /// without bound or uses an exception.
    pub(crate) fn enumerate(
        &self,
        start: &str,
        samples: Samples<'_>,
    ) -> Result<Sentences<'_>, String> {
        let start = self.rule(start)?;
        let mut sentences = Sentences {
            grammar: self,
            start,
            samples: self.resolve(samples)?,
            of_rule: vec![None; self.rules.len()],
            of_node: vec![0; self.nodes.len()],
        };
        sentences.count_rule(start, &mut vec![false; self.rules.len()])?;
        Ok(sentences)
    }

    /// A random sentence of rule `start`. A rule with samples gives one of them. Beyond
    /// `max_depth` nested rules, or in a long sentence, the shortest derivations are
    /// taken.
    ///
    /// # Panics
    ///
    /// If a name is unknown or a list of samples is empty.
    pub(crate) fn random(
        &self,
        start: &str,
        samples: Samples<'_>,
        random: &mut Random,
        max_depth: u32,
    ) -> String {
        let mut writer = Writer {
            grammar: self,
            samples: self.resolve(samples).unwrap_or_else(|error| panic!("{error}")),
            random,
        };
        let mut out = String::new();
        writer.rule(self.start(start), max_depth, &mut out);
        out
    }
}

/// From this length on, a random sentence takes the shortest derivations. The limit on
/// depth alone does not keep nested repetitions short.
const LONG: usize = 120;

struct Writer<'g, 's> {
    grammar: &'g Grammar,
    samples: Vec<Option<Vec<String>>>,
    random: &'s mut Random,
}

impl Writer<'_, '_> {
    fn rule(&mut self, rule: usize, depth: u32, out: &mut String) {
        let body = self.grammar.rules[rule].body;
        let picked = self.samples[rule].as_ref().map(Vec::len);
        if let Some(length) = picked {
            let index = self.random.below(length);
            let sample = self.samples[rule].as_ref().map(|list| &list[index]);
            let sample = sample.expect("it was there");
            if self.grammar.facts[body].raw {
                out.push_str(sample);
            } else {
                append(out, sample);
            }
        } else {
            self.node(body, depth.saturating_sub(1), out);
        }
    }

    fn node(&mut self, node: usize, depth: u32, out: &mut String) {
        let grammar = self.grammar;
        let facts = &grammar.facts[node];
        let depth = if out.len() < LONG { depth } else { 0 };
        match &grammar.nodes[node] {
            Node::Literal(text) if facts.raw => out.push_str(text),
            Node::Literal(text) => append(out, text),
            Node::Class(set) => {
                let index = self.random.below(set.count_ones() as usize);
                out.push(nth_of(*set, index as u64));
            }
            Node::Rule(rule) if !facts.raw && grammar.rules[*rule].token => {
                let mut token = String::new();
                self.rule(*rule, depth, &mut token);
                append(out, &token);
            }
            Node::Rule(rule) => self.rule(*rule, depth, out),
            Node::Seq(all) => all.iter().for_each(|child| self.node(*child, depth, out)),
            Node::Alt(all) => {
                let limit = depth.max(facts.height);
                let fits = |child: &&usize| grammar.facts[**child].height <= limit;
                let fitting: Vec<usize> = all.iter().filter(fits).copied().collect();
                let child = fitting[self.random.below(fitting.len())];
                self.node(child, depth, out);
            }
            Node::Opt(one) => {
                if grammar.facts[*one].height <= depth && self.random.below(2) == 0 {
                    self.node(*one, depth, out);
                }
            }
            Node::Star(one) | Node::Plus(one) => {
                if matches!(grammar.nodes[node], Node::Plus(_)) {
                    self.node(*one, depth, out);
                }
                // Phrases nest, so they must repeat less often than letters.
                let odds = if facts.raw { 2 } else { 8 };
                while grammar.facts[*one].height <= depth && self.random.below(odds) == 0 {
                    self.node(*one, depth, out);
                }
            }
            Node::Except(left, right) => {
                for _ in 0..1000 {
                    let mut text = String::new();
                    self.node(*left, depth, &mut text);
                    if !Run::new(grammar, &text).set(*right, 0).contains(&text.len()) {
                        return out.push_str(&text);
                    }
                }
                panic!("an exception leaves next to nothing");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Grammar, Random, Samples};

    const TOY: &str = r#"
        /* sums and calls */
        root   ::= "set" flag* NAME "=" sum ";"
        flag   ::= ".a" | ".ab" | '.b' /* longer and shorter */
        sum    ::= value ( ( "+" | "%" ) value )*
        value  ::= NUMBER | NAME | "(" sum ")"
        NAME   ::= WORD - ( "set" | "end" )
        WORD   ::= [a-z%] [a-z0-9_]*
        NUMBER ::= [0-9]+ "U"?
    "#;

    const SAMPLES: Samples<'static> =
        &[("NAME", &["x", "%y"]), ("sum", &["1", "1 + 2"]), ("flag", &[".a", ".ab"])];

    fn toy() -> Grammar {
        Grammar::parse(TOY).expect("the toy grammar is fine")
    }

    fn error(text: &str) -> String {
        Grammar::parse(text).expect_err("the grammar has a fault")
    }

    #[test]
    fn tokens_stay_whole_and_apart() {
        let toy = toy();
        for yes in [
            "set x=1;",
            " set\tx = 1 ; ",
            "set/**/x=1;//end\n",
            "set x = 1 /* a // b\n */ ;",
            "set.a.ab.a.b x=1;",
            "set .a .b%y=1;",
            "set x=a%(b);",
            "set x=a% b;",
            "set x=((1)+(a))%(2U);",
            "set setx=ends;",
        ] {
            assert!(toy.recognise("root", yes), "{yes}");
        }
        for no in [
            "",
            "setx=1;",
            "set x=1",
            "set x=1;;",
            "set. a x=1;",
            "set.ax=1;",
            "set.abx=1;",
            "set.abc x=1;",
            "set x=1 2;",
            "set x=1U2;",
            "set x=a%b;",
            "set x=1 /* ;",
            "set x=1; // open",
            "set set=1;",
            "set x=end;",
            "set \u{e9}=1;",
        ] {
            assert!(!toy.recognise("root", no), "{no}");
        }
        assert!(toy.recognise("NAME", " x "));
        assert!(!toy.recognise("NAME", "end"));
        assert!(!toy.recognise("flag", ".abc"));
    }

    #[test]
    fn every_way_is_tried() {
        let greedy = Grammar::parse("s ::= 'a'* 'a' b? b\n b ::= 'b' | 'b' 'c'").expect("fine");
        for (text, expected) in [
            ("a b", true),
            ("a a a b c b", true),
            ("a b b c", true),
            ("a b c c", false),
            ("b", false),
            ("a", false),
        ] {
            assert_eq!(greedy.recognise("s", text), expected, "{text}");
        }
        let nested = Grammar::parse("s ::= '(' s ')' | '(' s ']' | 'x'").expect("fine");
        let deep = format!("{}x{}", "(".repeat(200), "]".repeat(200));
        assert!(nested.recognise("s", &deep));
        let empty = Grammar::parse("s ::= ( 'a'? 'b'? )* 'c'").expect("fine");
        assert!(empty.recognise("s", "b a a b c"));
        assert!(empty.recognise_rules("s", "b a a b c").is_some());
    }

    #[test]
    fn derivations_name_their_rules() {
        let toy = toy();
        let rules = |text| toy.recognise_rules("root", text);
        assert_eq!(
            rules("set.a x=1;"),
            Some(vec!["root", "flag", "sum", "value", "NAME", "WORD", "NUMBER"])
        );
        assert_eq!(rules("set x=y%(z);"), Some(vec!["root", "sum", "value", "NAME", "WORD"]));
        assert_eq!(rules("set x=;"), None);
        assert_eq!(toy.rule_names().count(), 7);
    }

    #[test]
    fn finite_languages_are_enumerated() {
        let plain = Grammar::parse("s ::= 'v' ( '.x' | '.y' )? N '%' N\n N ::= 'n' [0-2] 'U'?");
        let plain = plain.expect("fine");
        let all = plain.enumerate("s", &[]).expect("it is finite");
        assert_eq!(all.count(), 3 * 6 * 6);
        assert_eq!(all.get(0), "v n0 % n0");
        assert_eq!(all.get(107), "v.y n2U % n2U");
        let mut texts: Vec<String> = all.iter().collect();
        assert!(texts.iter().all(|text| plain.recognise("s", text)));
        assert!(all.every(5).eq(texts.iter().step_by(5).cloned()));
        texts.sort();
        texts.dedup();
        assert_eq!(texts.len(), 108);

        let toy = toy();
        assert!(toy.enumerate("root", SAMPLES).is_err(), "flag* is endless");
        assert!(toy.enumerate("sum", &[]).is_err());
        assert!(toy.enumerate("NAME", &[]).is_err());
        assert!(toy.enumerate("flag", &[("nil", &[])]).is_err());
        assert!(toy.enumerate("flag", &[("flag", &[])]).is_err());
        let flags = toy.enumerate("flag", &[]).expect("it is finite");
        assert_eq!(flags.iter().collect::<Vec<_>>(), [".a", ".ab", ".b"]);
        let values = toy.enumerate("value", &[("NUMBER", &["7"]), SAMPLES[0], SAMPLES[1]]);
        let values = values.expect("samples end the recursion");
        let texts: Vec<_> = values.iter().collect();
        assert_eq!(texts, ["7", "x", "%y", "(1)", "(1 + 2)"]);
    }

    #[test]
    fn random_sentences_are_sentences() {
        let toy = toy();
        let mut random = Random(1);
        let mut rules = std::collections::BTreeSet::new();
        for depth in [0, 6, 30] {
            for samples in [&[], SAMPLES] {
                for _ in 0..200 {
                    let text = toy.random("root", samples, &mut random, depth);
                    let used = toy.recognise_rules("root", &text);
                    rules.extend(used.unwrap_or_else(|| panic!("{text}")));
                }
            }
        }
        assert_eq!(rules.len(), 7);
        let text = |seed| toy.random("root", &[], &mut Random(seed), 9);
        assert_eq!(text(5), text(5));
    }

    #[test]
    fn faults_of_a_grammar_are_found() {
        assert!(error("").contains("begin with a rule"));
        assert!(error("a ::= b").contains("`b` is not defined"));
        assert!(error("a ::= 'x'\nb ::= 'y'").contains("line 2: rule `b` is not used"));
        assert!(error("a ::= 'x'\nb ::= c\nc ::= b 'x'").contains("`b` is not used"));
        assert!(error("a ::= 'x'\na ::= 'y'").contains("twice"));
        assert!(error("a ::= 'x' | a 'y'").contains("left-recursive"));
        assert!(error("a ::= b\nb ::= 'x'? a 'y' | 'z'").contains("left-recursive"));
        assert!(error("a ::= 'x' a").contains("no finite sentence"));
        assert!(error("a ::= ( 'x'").contains("`)` is missing"));
        assert!(error("a ::= 'x' )").contains("expected"));
        assert!(error("a ::= 'x' |").contains("missing"));
        assert!(error("a ::= 'x").contains("literal"));
        assert!(error("a ::= ''").contains("literal"));
        assert!(error("a ::= 'x' /* y").contains("without end"));
        assert!(error("a ::= [a-z]").contains("outside a token"));
        assert!(error("a ::= 'x' - 'y'").contains("outside a token"));
        assert!(error("A ::= b\nb ::= 'x'").contains("token built of phrase `b`"));
        assert!(error("A ::= [z-a]").contains("bad character class"));
        assert!(error("Ab ::= 'x'").contains("mixes"));
        assert!(error("a ::= \"\u{e9}\"").contains("ASCII"));
        assert!(error("a = 'x'").contains("unexpected"));
    }
}
