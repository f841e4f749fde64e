//! Compares the tables of names, and the findings of the rules on names, with the real ptxas. In a
//! random module, one name is declared elsewhere, twice or not at all. ptxas and vptx must then
//! report the same names as unknown or as declared twice.
//!
//! `cargo xtask names-agree` runs it.

use std::collections::BTreeSet;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::costs::tool;
use crate::ptxas::each_case;
use crate::support::random::Random;
use crate::support::setting;
use vptx::analysis::check;
use vptx::names::Names;
use vptx::syntax::parse;
use vptx::{CheckOptions, Code};

const DEFAULT_SEED: u64 = 0x5eed_0046;

/// The same few names are used for everything, so that declarations hide each other.
const POOL: [&str; 14] =
    ["a", "b", "%r1", "%r2", "%r03", "%r3", "%r10", "x1", "x2", "x", "L", "M", "$L_1", "_a"];
const RANGES: [&str; 4] = ["%r", "x", "a", "L"];

#[derive(Clone, Debug, PartialEq)]
enum Kind {
    /// The start of the list of parameters; `Close` is its end.
    Open,
    Close,
    Parameter,
    Global,
    Local,
    Other,
}

/// A line of a module: the name that it declares, and the texts before and after the name.
#[derive(Clone, Debug)]
struct Line {
    kind: Kind,
    before: String,
    name: String,
    after: String,
}

fn line(kind: Kind, before: &str, name: &str, after: &str) -> Line {
    Line { kind, before: before.into(), name: name.into(), after: after.into() }
}

#[derive(Clone, Copy, PartialEq)]
enum Thing {
    Register,
    Range(u64),
    Parameter,
    Variable,
    Label,
}

struct Made {
    rng: Random,
    lines: Vec<Line>,
    /// The names of the open scopes.
    scopes: Vec<Vec<(String, Thing)>>,
}

impl Made {
    fn pick<'t>(&mut self, texts: &[&'t str]) -> &'t str {
        texts[self.below(texts.len())]
    }

    fn below(&mut self, count: usize) -> usize {
        (self.rng.next() % count as u64) as usize
    }

    fn other(&mut self, text: &str) {
        self.lines.push(line(Kind::Other, text, "", ""));
    }

    /// The kind of thing that a name means if this declaration declares it.
    fn means(own: &(String, Thing), name: &str) -> Option<Thing> {
        match own.1 {
            Thing::Range(count) => {
                let number = name.strip_prefix(&own.0)?;
                let is_number = number.bytes().all(|it| it.is_ascii_digit());
                // ptxas splits all digits off a name, so the start of a range must not end with
                // one.
                let is_whole = !own.0.ends_with(|c: char| c.is_ascii_digit());
                let number: u64 = number.parse().ok().filter(|_| is_number && is_whole)?;
                (number < count).then_some(Thing::Register)
            }
            thing => (own.0 == name).then_some(thing),
        }
    }

    fn found(&self, name: &str) -> Option<Thing> {
        let inside_out = self.scopes.iter().rev();
        inside_out.flat_map(|scope| scope.iter()).find_map(|own| Made::means(own, name))
    }

    /// A random name, unless the innermost scope has it.
    fn fresh(&mut self) -> Option<&'static str> {
        let name = self.pick(&POOL);
        let own = self.scopes.last().expect("a scope");
        own.iter().all(|own| Made::means(own, name).is_none()).then_some(name)
    }

    fn declare(&mut self, kind: Kind, before: &str, after: &str, thing: Thing) -> Option<()> {
        let name = self.fresh()?;
        self.lines.push(line(kind, before, name, after));
        self.scopes.last_mut().expect("a scope").push((name.into(), thing));
        Some(())
    }

    fn range(&mut self) -> Option<()> {
        let base = self.pick(&RANGES);
        let count = 1 + self.below(12) as u64;
        let own = self.scopes.last().expect("a scope");
        let range = (base.to_string(), Thing::Range(count));
        let is_free = own.iter().all(|(name, thing)| {
            !matches!(thing, Thing::Range(_)) && Made::means(&range, name).is_none()
                || matches!(thing, Thing::Range(_)) && name != base
        });
        if !is_free {
            return None;
        }
        self.lines.push(line(Kind::Local, ".reg .b32 ", base, &format!("<{count}>;")));
        self.scopes.last_mut().expect("a scope").push(range);
        Some(())
    }

    /// A name that means a thing of this kind here.
    fn named(&mut self, wanted: Thing) -> Option<&'static str> {
        let name = self.pick(&POOL);
        (self.found(name) == Some(wanted)).then_some(name)
    }

    fn statement(&mut self, depth: usize) -> Option<()> {
        match self.below(12) {
            0 | 1 => self.declare(Kind::Local, ".reg .b32 ", ";", Thing::Register)?,
            2 => self.range()?,
            3 => self.declare(Kind::Local, ".shared .b32 ", ";", Thing::Variable)?,
            4 if depth < 3 => self.block(depth + 1),
            5 => {
                let label = self.named(Thing::Label)?;
                self.other(&format!("bra {label};"));
            }
            6 => {
                let (register, parameter) =
                    (self.named(Thing::Register)?, self.named(Thing::Parameter)?);
                self.other(&format!("ld.param.b32 {register}, [{parameter}];"));
            }
            7 => {
                let (register, variable) =
                    (self.named(Thing::Register)?, self.named(Thing::Variable)?);
                self.other(&format!("ld.b32 {register}, [{variable}];"));
            }
            8 => {
                let register = self.named(Thing::Register)?;
                self.other(&format!("mov.b32 {register}, %tid.x;"));
            }
            _ => {
                let (d, a) = (self.named(Thing::Register)?, self.named(Thing::Register)?);
                self.other(&format!("add.s32 {d}, {a}, 1;"));
            }
        }
        Some(())
    }

    /// The statements of a block. Its labels are known from its start.
    fn block(&mut self, depth: usize) {
        if depth > 0 {
            self.other("{");
            self.scopes.push(Vec::new());
        }
        let labels: Vec<&str> = (0..self.below(3))
            .filter_map(|_| {
                let name = self.fresh()?;
                self.scopes.last_mut().expect("a scope").push((name.into(), Thing::Label));
                Some(name)
            })
            .collect();
        for label in labels {
            for _ in 0..self.below(4) {
                let _ = self.statement(depth);
            }
            self.lines.push(line(Kind::Local, "", label, ":"));
        }
        for _ in 0..2 + self.below(9) {
            let _ = self.statement(depth);
        }
        if depth > 0 {
            self.other("}");
            self.scopes.pop();
        }
    }

    fn function(&mut self, header: &str, parameter: &str, thing: Thing) {
        self.other(header);
        self.lines.push(line(Kind::Open, "(", "", ""));
        self.scopes.push(Vec::new());
        for _ in 0..self.below(4) {
            let _ = self.declare(Kind::Parameter, parameter, "", thing);
        }
        self.lines.push(line(Kind::Close, ")", "", ""));
        self.other("{");
        self.block(0);
        self.other("ret;\n}");
        self.scopes.pop();
    }

    fn module(rng: Random) -> Made {
        let mut made = Made { rng, lines: Vec::new(), scopes: vec![Vec::new()] };
        made.other(".version 8.0\n.target sm_80");
        for _ in 0..made.below(4) {
            let words =
                made.pick(&[".global .b32 ", ".visible .global .b32 ", ".weak .global .b32 "]);
            let _ = made.declare(Kind::Global, words, ";", Thing::Variable);
        }
        made.function(".func f", ".reg .b32 ", Thing::Register);
        made.function(".visible .entry k", ".param .b32 ", Thing::Parameter);
        made
    }

    /// Whether an operand has the name, or is a register of the range.
    fn is_used(&self, name: &str) -> bool {
        let is_of_name = |it: char| it.is_ascii_alphanumeric() || "%_$".contains(it);
        let others = self.lines.iter().filter(|it| it.kind == Kind::Other);
        let mut words = others.flat_map(|it| it.before.split(|it| !is_of_name(it)));
        words.any(|word| word == name || base(word) == name)
    }

    /// Declares one name elsewhere, twice or not at all.
    fn changed(&mut self) -> Option<()> {
        let change = self.below(3);
        // A name without uses is not missed.
        let is_wanted = |it: &Line| !it.name.is_empty() && (change != 0 || self.is_used(&it.name));
        let wanted: Vec<usize> =
            (0..self.lines.len()).filter(|&at| is_wanted(&self.lines[at])).collect();
        if wanted.is_empty() {
            return None;
        }
        let at = wanted[self.below(wanted.len())];
        let own = self.lines[at].clone();
        match change {
            0 => {
                self.lines.remove(at);
            }
            1 => {
                let new =
                    if own.after.starts_with('<') { self.pick(&RANGES) } else { self.pick(&POOL) };
                self.lines[at].name = new.into();
            }
            _ => {
                let to = match own.kind {
                    Kind::Local => {
                        let to = self.below(self.lines.len());
                        let before = self.lines[..to].iter().filter(|it| it.before == "{");
                        let is_inside = before.count() > 0
                            && self.lines[to..]
                                .iter()
                                .find(|it| {
                                    it.kind != Kind::Other || it.before.starts_with(".visible")
                                })
                                .is_none_or(|it| it.kind == Kind::Local);
                        if !is_inside {
                            return None;
                        }
                        to
                    }
                    _ => at,
                };
                self.lines.insert(to, own);
            }
        }
        Some(())
    }

    fn text(&self) -> String {
        let mut text = String::new();
        for (at, line) in self.lines.iter().enumerate() {
            text.push_str(&line.before);
            text.push_str(&line.name);
            text.push_str(&line.after);
            let next = self.lines.get(at + 1).map(|it| &it.kind);
            if line.kind == Kind::Parameter && next == Some(&Kind::Parameter) {
                text.push(',');
            }
            text.push('\n');
        }
        text
    }
}

/// The unknown names, and the names that are declared twice. If a range clashes with another name,
/// ptxas reports a register of the range, so names declared twice are compared without digits at
/// their end.
type Wrong = (BTreeSet<String>, BTreeSet<String>);

fn base(name: &str) -> String {
    name.trim_end_matches(|c: char| c.is_ascii_digit()).to_string()
}

fn own(source: &str) -> Wrong {
    let tree = parse(source);
    let names = Names::of(&tree);
    let unknown = names.uses().iter().filter(|it| it.meaning().is_none());
    let texts = unknown.map(|it| it.span().text(source).to_string());
    let double = names.symbols().filter(|(_, it)| it.is_double);
    let doubles = double.map(|(_, it)| base(it.name.text(source)));
    (texts.filter(|it| it != "%tid").collect(), doubles.collect())
}

/// The names that the rules report, and how many branches lead to what is no label.
fn found(source: &str) -> (Wrong, usize) {
    let options = CheckOptions::default().with_every_module(true);
    let (mut unknown, mut double) = (BTreeSet::new(), BTreeSet::new());
    let mut no_labels = 0;
    for finding in check(source, &options) {
        let name = finding.span.text(source);
        match finding.code {
            Code::UndefinedLabel if finding.message.ends_with("not a place in the code") => {
                no_labels += 1;
                true
            }
            Code::UndeclaredName | Code::UndefinedLabel => unknown.insert(name.to_string()),
            Code::SecondDeclaration => double.insert(base(name)),
            _ => panic!("{finding:?}\n{source}"),
        };
    }
    ((unknown, double), no_labels)
}

/// The same from the messages of ptxas; `None` if ptxas stopped before the end.
fn asked(messages: &str) -> Option<(Wrong, usize)> {
    let (mut unknown, mut double) = (BTreeSet::new(), BTreeSet::new());
    let no_labels = messages.matches("Label expected for argument").count();
    for line in messages.lines().filter(|line| !line.contains("aborted due to errors")) {
        let Some((start, rest)) = line.split_once('\'') else { continue };
        let name = rest.split('\'').next().unwrap_or_default();
        // ptxas reports `%r<10>` as `%r<`.
        let name = name.trim_end_matches('<').to_string();
        if start.contains("Unknown symbol") {
            unknown.insert(name);
        } else if start.contains("Duplicate definition") || start.contains("redefinition") {
            double.insert(base(&name));
        } else if line.contains("fatal") {
            return None;
        }
    }
    Some(((unknown, double), no_labels))
}

#[test]
#[ignore = "needs ptxas"]
fn names_agree_with_ptxas() {
    let ptxas = tool("ptxas-13.5");
    let count = setting("VPTX_LIVE_COUNT", 2000) as usize;
    let seed = setting("VPTX_LIVE_SEED", DEFAULT_SEED);
    let unfinished = AtomicUsize::new(0);
    let [unknown, double, wrong] = [const { AtomicUsize::new(0) }; 3];
    each_case(count, |number, file| {
        let mut made = Made::module(Random::of_case(seed, number as u64));
        // One module in ten stays unchanged.
        let is_plain = number % 10 == 0;
        while !is_plain && made.changed().is_none() {}
        let source = made.text();
        std::fs::write(file, &source).expect("the scratch folder is writable");
        let command =
            Command::new(&ptxas).arg("-arch=sm_80").arg(file).args(["-o", "/dev/null"]).output();
        let output = command.expect("ptxas starts");
        let messages = String::from_utf8_lossy(&output.stderr);
        let Some(expected) = asked(&messages) else {
            unfinished.fetch_add(1, Ordering::Relaxed);
            return;
        };
        assert!(!is_plain || expected.0 == Wrong::default(), "{source}\n{messages}");
        unknown.fetch_add(usize::from(!expected.0.0.is_empty()), Ordering::Relaxed);
        double.fetch_add(usize::from(!expected.0.1.is_empty()), Ordering::Relaxed);
        wrong.fetch_add(expected.1, Ordering::Relaxed);
        assert_eq!(own(&source), expected.0, "{source}\n{messages}");
        let found = found(&source);
        assert_eq!(found.0, expected.0, "{source}\n{messages}");
        // Of names that are declared twice, ptxas takes the first meaning.
        let is_double = !expected.0.1.is_empty();
        assert!(is_double || found.1 == expected.1, "{found:?}\n{source}\n{messages}");
    });
    let [unknown, double, wrong, unfinished] =
        [unknown, double, wrong, unfinished].map(|it| it.load(Ordering::Relaxed));
    println!(
        "{count} modules: {unknown} with unknown names, {double} with names declared twice, \
              {wrong} branches to no label, {unfinished} that ptxas did not read to their end"
    );
    // 300 modules have some 20, 90 and 7, so the bounds hold whatever the seed.
    assert!(unknown > count / 100 && double > count / 10 && unfinished < count / 12);
}
