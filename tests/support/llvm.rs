//! Functions of textual LLVM modules: reads them, computes their results, and writes them as
//! SMT-LIB 2 text.
//!
//! All of this follows LLVM's language reference, for the instructions listed here. The functions
//! panic at any other instruction, at a wrong type, and at a value that is used before its
//! definition.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::smt::{constant, holds, resized};
use vptx::ir::Input;
use vptx::isa::Compare;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Type {
    lanes: usize,
    bits: u32,
}

const WORD: Type = Type { lanes: 1, bits: 32 };

/// The opcodes that take two values of a type, and give one value of that type.
const BINARY: [&str; 8] = ["add", "sub", "mul", "and", "or", "shl", "lshr", "ashr"];

/// The intrinsics that take two values of a type, and give one value of that type.
const CALLS: [&str; 8] =
    ["uadd.sat", "sadd.sat", "usub.sat", "ssub.sat", "umin", "umax", "smin", "smax"];

#[derive(Clone, Debug)]
enum Operand {
    /// The number of a parameter, or of a line; lines are numbered after the parameters.
    Value(usize),
    /// The value of each lane.
    Constant(Vec<u128>),
}

/// One instruction.
#[derive(Clone, Debug)]
struct Line {
    /// The opcode; for a comparison its condition; for a call the name of the intrinsic.
    opcode: String,
    /// The type of the operands.
    from: Type,
    to: Type,
    operands: Vec<Operand>,
}

#[derive(Clone, Debug)]
pub(crate) struct Function {
    parameters: Vec<Input>,
    lines: Vec<Line>,
    result: Operand,
}

/// The functions of a module by name.
pub(crate) fn read(text: &str) -> BTreeMap<String, Function> {
    let mut functions = BTreeMap::new();
    let (mut declared, mut called) = (BTreeSet::new(), BTreeSet::new());
    let mut has_attributes = false;
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if let Some(signature) = line.strip_prefix("declare ") {
            assert!(declared.insert(signature.to_string()), "{line}");
        } else if line.starts_with("define ") {
            let body = lines.by_ref().take_while(|line| *line != "}");
            let (name, function) = Reader::function(line, body, &mut called);
            assert!(functions.insert(name, function).is_none(), "{line}");
        } else if line.starts_with("attributes #0 = { ") {
            has_attributes = true;
        } else {
            assert!(line.is_empty() || line.starts_with(';'), "{line}");
        }
    }
    assert_eq!(declared, called, "intrinsics that are declared, and those that are called");
    assert!(has_attributes || functions.is_empty());
    functions
}

/// A line that is read from the start.
struct Reader<'t> {
    rest: &'t str,
    /// The values with their types so far.
    names: Vec<(String, Type)>,
}

impl<'t> Reader<'t> {
    fn function(
        head: &'t str,
        mut body: impl Iterator<Item = &'t str>,
        called: &mut BTreeSet<String>,
    ) -> (String, Function) {
        let mut reader = Reader { rest: head, names: Vec::new() };
        reader.eat("define weak_odr i32 @");
        let name = reader.word();
        reader.eat("(");
        let mut parameters = Vec::new();
        while !reader.has(")") {
            if !parameters.is_empty() {
                reader.eat(", ");
            }
            reader.eat("i32 %");
            let parameter = reader.word();
            let input = Input::ALL.into_iter().find(|input| input.text() == parameter);
            parameters.push(input.expect("an input"));
            reader.names.push((parameter, WORD));
        }
        reader.eat(" #0 {");
        let mut lines = Vec::new();
        while let Some(text) = body.next() {
            reader.end();
            reader.rest = text;
            if reader.has("  ret i32 ") {
                let result = reader.operand(WORD);
                reader.end();
                assert_eq!(body.next(), None, "after the return");
                return (name, Function { parameters, lines, result });
            }
            reader.eat("  %");
            let value = reader.word();
            assert!(reader.names.iter().all(|(other, _)| *other != value), "{text}");
            reader.eat(" = ");
            let line = reader.line(called);
            reader.names.push((value, line.to));
            lines.push(line);
        }
        panic!("{name} does not return")
    }

    fn line(&mut self, called: &mut BTreeSet<String>) -> Line {
        let opcode = self.word();
        self.eat(" ");
        match opcode.as_str() {
            "icmp" => {
                let condition = self.word();
                self.eat(" ");
                let (from, operands) = self.pair();
                Line { opcode: condition, from, to: Type { bits: 1, ..from }, operands }
            }
            "trunc" | "zext" | "sext" | "bitcast" => {
                let from = self.ty();
                self.eat(" ");
                let operands = vec![self.operand(from)];
                self.eat(" to ");
                let to = self.ty();
                assert!(match opcode.as_str() {
                    "trunc" => from.lanes == to.lanes && to.bits < from.bits,
                    "bitcast" => {
                        from.lanes as u32 * from.bits == to.lanes as u32 * to.bits && from != to
                    }
                    _ => from.lanes == to.lanes && to.bits > from.bits,
                });
                Line { opcode, from, to, operands }
            }
            "call" => self.call(called),
            _ => {
                assert!(BINARY.contains(&opcode.as_str()), "{opcode}");
                let (from, operands) = self.pair();
                Line { opcode, from, to: from, operands }
            }
        }
    }

    fn call(&mut self, called: &mut BTreeSet<String>) -> Line {
        let to = self.ty();
        self.eat(" @llvm.");
        let (full, rest) = self.rest.split_once('(').expect("arguments");
        let (name, suffix) = full.rsplit_once('.').expect("a suffix");
        self.rest = rest;
        let from = self.ty();
        self.eat(" ");
        let mut operands = vec![self.operand(from)];
        let has_second = self.has(", ");
        let (expected, second) = match name {
            "vector.reduce.add" => (Type { lanes: 1, ..from }, None),
            "abs" => {
                // With `false`, the least value stays as it is and does not become poison.
                self.eat("i1 false");
                (from, Some("i1".to_string()))
            }
            _ => {
                assert!(CALLS.contains(&name), "{name}");
                assert_eq!(self.ty(), from);
                self.eat(" ");
                operands.push(self.operand(from));
                (from, Some(shown(from)))
            }
        };
        self.eat(")");
        assert_eq!((to, has_second), (expected, second.is_some()), "{full}");
        let lanes = if from.lanes > 1 { format!("v{}", from.lanes) } else { String::new() };
        assert_eq!(suffix, format!("{lanes}i{}", from.bits));
        let types = [Some(shown(from)), second].into_iter().flatten().collect::<Vec<_>>();
        called.insert(format!("{} @llvm.{full}({})", shown(to), types.join(", ")));
        Line { opcode: name.to_string(), from, to, operands }
    }

    /// A type, and two values of it.
    fn pair(&mut self) -> (Type, Vec<Operand>) {
        let ty = self.ty();
        self.eat(" ");
        let first = self.operand(ty);
        self.eat(", ");
        (ty, vec![first, self.operand(ty)])
    }

    fn ty(&mut self) -> Type {
        let lanes = if self.has("<") {
            let lanes = usize::try_from(self.number()).expect("a count");
            self.eat(" x ");
            lanes
        } else {
            1
        };
        self.eat("i");
        let bits = u32::try_from(self.number()).expect("a width");
        if lanes > 1 {
            self.eat(">");
        }
        Type { lanes, bits }
    }

    fn operand(&mut self, ty: Type) -> Operand {
        if self.has("%") {
            let name = self.word();
            let at = self.names.iter().position(|(other, _)| *other == name);
            let at = at.unwrap_or_else(|| panic!("%{name} is not defined"));
            assert_eq!(self.names[at].1, ty, "%{name}");
            return Operand::Value(at);
        }
        let masked = |value: i128| value.cast_unsigned() & (u128::MAX >> (128 - ty.bits));
        if ty.lanes == 1 {
            return Operand::Constant(vec![masked(self.number())]);
        }
        let mut lanes = Vec::new();
        self.eat("<");
        while !self.has(">") {
            if !lanes.is_empty() {
                self.eat(", ");
            }
            self.eat(&format!("i{} ", ty.bits));
            lanes.push(masked(self.number()));
        }
        assert_eq!(lanes.len(), ty.lanes);
        Operand::Constant(lanes)
    }

    fn number(&mut self) -> i128 {
        let digits =
            self.rest.trim_start_matches('-').trim_start_matches(|c: char| c.is_ascii_digit());
        let (number, rest) = self.rest.split_at(self.rest.len() - digits.len());
        self.rest = rest;
        number.parse().unwrap_or_else(|_| panic!("{number:?} before {rest:?}"))
    }

    fn word(&mut self) -> String {
        let end = self.rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        let (word, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        assert!(!word.is_empty(), "{rest:?}");
        self.rest = rest;
        word.to_string()
    }

    fn has(&mut self, text: &str) -> bool {
        let rest = self.rest.strip_prefix(text);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn eat(&mut self, text: &str) {
        assert!(self.has(text), "expected {text:?}, found {:?}", self.rest);
    }

    fn end(&self) {
        assert_eq!(self.rest, "");
    }
}

fn shown(ty: Type) -> String {
    match ty.lanes {
        1 => format!("i{}", ty.bits),
        lanes => format!("<{lanes} x i{}>", ty.bits),
    }
}

/// The comparison that a condition names, and whether the condition is signed.
fn compare(condition: &str) -> Option<(Compare, bool)> {
    let is_signed = condition.starts_with('s');
    let compare = match condition.trim_start_matches(['s', 'u']) {
        "eq" => Compare::Eq,
        "ne" => Compare::Ne,
        "lt" => Compare::Lt,
        "le" => Compare::Le,
        "gt" => Compare::Gt,
        "ge" => Compare::Ge,
        _ => return None,
    };
    Some((compare, is_signed))
}

/// The signed number whose low bits these are.
fn as_signed(bits: u128, width: u32) -> i128 {
    let unused = 128 - width;
    (bits << unused).cast_signed() >> unused
}

impl Function {
    pub(crate) fn parameters(&self) -> &[Input] {
        &self.parameters
    }

    /// The result for the words `a`, `b` and `c`. Panics if it is poison.
    pub(crate) fn eval(&self, words: [u32; 3]) -> u32 {
        let word = |input: &Input| vec![u128::from(words[*input as usize])];
        let mut values: Vec<Vec<u128>> = self.parameters.iter().map(word).collect();
        let get = |values: &[Vec<u128>], operand: &Operand| match operand {
            Operand::Value(at) => values[*at].clone(),
            Operand::Constant(lanes) => lanes.clone(),
        };
        for line in &self.lines {
            let operands: Vec<_> = line.operands.iter().map(|it| get(&values, it)).collect();
            let result = match line.opcode.as_str() {
                "bitcast" => {
                    let whole =
                        operands[0].iter().rev().fold(0, |all, lane| all << line.from.bits | lane);
                    let mask = u128::MAX >> (128 - line.to.bits);
                    (0..line.to.lanes as u32)
                        .map(|at| whole >> (at * line.to.bits) & mask)
                        .collect()
                }
                "vector.reduce.add" => {
                    let mask = u128::MAX >> (128 - line.to.bits);
                    vec![operands[0].iter().sum::<u128>() & mask]
                }
                _ => (0..line.to.lanes)
                    .map(|at| {
                        let y = operands.get(1).map_or(0, |lanes| lanes[at]);
                        lane(line, operands[0][at], y)
                    })
                    .collect(),
            };
            values.push(result);
        }
        get(&values, &self.result)[0] as u32
    }

    /// Whether the function multiplies in 64 bits.
    pub(crate) fn has_wide_product(&self) -> bool {
        self.lines.iter().any(|line| line.opcode == "mul" && line.from.bits == 64)
    }

    /// Defines every value for words `a`, `b` and `c`. Returns two terms: the result, and whether
    /// the result is poison. Products of 64 bits are written with `mul`.
    pub(crate) fn define(&self, text: &mut String) -> (String, String) {
        let word = |input: &Input| vec![input.text().to_string()];
        let mut values: Vec<Vec<String>> = self.parameters.iter().map(word).collect();
        let get = |values: &[Vec<String>], operand: &Operand, bits| match operand {
            Operand::Value(at) => values[*at].clone(),
            Operand::Constant(lanes) => {
                lanes.iter().map(|lane| constant(lane.cast_signed(), bits)).collect()
            }
        };
        let mut poison = "(or false".to_string();
        for (number, line) in self.lines.iter().enumerate() {
            let bits = line.from.bits;
            let operands: Vec<_> = line.operands.iter().map(|it| get(&values, it, bits)).collect();
            let terms: Vec<String> = match line.opcode.as_str() {
                "bitcast" => {
                    let lanes: Vec<_> = operands[0].iter().rev().cloned().collect();
                    let whole = match &lanes[..] {
                        [only] => only.clone(),
                        lanes => format!("(concat {})", lanes.join(" ")),
                    };
                    let part = |at: u32| {
                        let low = at * line.to.bits;
                        format!("((_ extract {} {low}) {whole})", low + line.to.bits - 1)
                    };
                    (0..line.to.lanes as u32).map(part).collect()
                }
                "vector.reduce.add" => vec![format!("(bvadd {})", operands[0].join(" "))],
                _ => (0..line.to.lanes)
                    .map(|at| {
                        let y = operands.get(1).map_or("", |lanes| lanes[at].as_str());
                        if ["shl", "lshr", "ashr"].contains(&line.opcode.as_str()) {
                            let _ = write!(poison, " (bvuge {y} {})", constant(bits.into(), bits));
                        }
                        lane_term(line, &operands[0][at], y)
                    })
                    .collect(),
            };
            let names: Vec<String> = (0..terms.len()).map(|at| format!("l{number}_{at}")).collect();
            for (name, term) in names.iter().zip(terms) {
                let _ = writeln!(text, "(define-fun {name} () (_ BitVec {}) {term})", line.to.bits);
            }
            values.push(names);
        }
        (get(&values, &self.result, 32)[0].clone(), poison + ")")
    }
}

/// The result of one lane.
fn lane(line: &Line, x: u128, y: u128) -> u128 {
    let bits = line.from.bits;
    let mask = |bits: u32| u128::MAX >> (128 - bits);
    let (signed_x, signed_y) = (as_signed(x, bits), as_signed(y, bits));
    let (least, most) = (as_signed(1 << (bits - 1), bits), as_signed(mask(bits) >> 1, bits));
    let opcode = line.opcode.as_str();
    let shift = || u32::try_from(y).ok().filter(|by| *by < bits).expect("no poison");
    let result = match opcode {
        "add" => x.wrapping_add(y),
        "sub" => x.wrapping_sub(y),
        "mul" => x.wrapping_mul(y),
        "and" => x & y,
        "or" => x | y,
        "shl" => x << shift(),
        "lshr" => x >> shift(),
        "ashr" => (signed_x >> shift()).cast_unsigned(),
        "zext" | "trunc" => x,
        "sext" => signed_x.cast_unsigned(),
        "abs" => signed_x.wrapping_abs().cast_unsigned(),
        "umin" => x.min(y),
        "umax" => x.max(y),
        "smin" => signed_x.min(signed_y).cast_unsigned(),
        "smax" => signed_x.max(signed_y).cast_unsigned(),
        "uadd.sat" => x.saturating_add(y).min(mask(bits)),
        "usub.sat" => x.saturating_sub(y),
        "sadd.sat" => signed_x.saturating_add(signed_y).clamp(least, most).cast_unsigned(),
        "ssub.sat" => signed_x.saturating_sub(signed_y).clamp(least, most).cast_unsigned(),
        _ => {
            let (compare, is_signed) = compare(opcode).unwrap_or_else(|| panic!("{opcode}"));
            let order = if is_signed { signed_x.cmp(&signed_y) } else { x.cmp(&y) };
            u128::from(match compare {
                Compare::Eq => order.is_eq(),
                Compare::Ne => order.is_ne(),
                Compare::Lt => order.is_lt(),
                Compare::Le => order.is_le(),
                Compare::Gt => order.is_gt(),
                Compare::Ge => order.is_ge(),
            })
        }
    };
    result & mask(line.to.bits)
}

/// The term of one lane.
fn lane_term(line: &Line, x: &str, y: &str) -> String {
    let bits = line.from.bits;
    let least = constant(1 << (bits - 1), bits);
    let most = constant((1_i128 << (bits - 1)) - 1, bits);
    let pick = |compare, is_signed| format!("(ite {} {x} {y})", holds(compare, is_signed, x, y));
    // The result is exact with one more bit. If it leaves the range, the sign of the left operand
    // says at which end.
    let signed_sat = |opcode: &str| {
        let [x, y] = [x, y].map(|term| resized(term, bits, true, bits + 1));
        let exact = format!("({opcode} {x} {y})");
        let [low, high] = [&least, &most].map(|term| resized(term, bits, true, bits + 1));
        let cut = resized(&exact, bits + 1, true, bits);
        format!("(ite (bvslt {exact} {low}) {least} (ite (bvsgt {exact} {high}) {most} {cut}))")
    };
    match line.opcode.as_str() {
        "add" => format!("(bvadd {x} {y})"),
        "sub" => format!("(bvsub {x} {y})"),
        "mul" if bits == 64 => format!("(mul {x} {y})"),
        "mul" => format!("(bvmul {x} {y})"),
        "and" => format!("(bvand {x} {y})"),
        "or" => format!("(bvor {x} {y})"),
        "shl" => format!("(bvshl {x} {y})"),
        "lshr" => format!("(bvlshr {x} {y})"),
        "ashr" => format!("(bvashr {x} {y})"),
        "zext" | "trunc" => resized(x, bits, false, line.to.bits),
        "sext" => resized(x, bits, true, line.to.bits),
        "abs" => format!("(ite (bvslt {x} {}) (bvneg {x}) {x})", constant(0, bits)),
        "umin" => pick(Compare::Lt, false),
        "umax" => pick(Compare::Gt, false),
        "smin" => pick(Compare::Lt, true),
        "smax" => pick(Compare::Gt, true),
        "uadd.sat" => {
            let sum = format!("(bvadd {x} {y})");
            format!("(ite (bvult {sum} {x}) {} {sum})", constant(-1, bits))
        }
        "usub.sat" => format!("(ite (bvult {x} {y}) {} (bvsub {x} {y}))", constant(0, bits)),
        "sadd.sat" => signed_sat("bvadd"),
        "ssub.sat" => signed_sat("bvsub"),
        condition => {
            let (compare, is_signed) = compare(condition).unwrap_or_else(|| panic!("{condition}"));
            format!("(ite {} #b1 #b0)", holds(compare, is_signed, x, y))
        }
    }
}
