//! `vptx eval`
// Doc comments of arguments are help texts, not Markdown.
#![allow(clippy::doc_markdown)]

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use super::input::reason;
use super::{FAILED, FOUND, Output, errors_only, trouble};
use crate::ast::{Instruction, Operation, Register, SimdTail, Tail};
use crate::check::parse_with;
use crate::diagnostic::Diagnostic;
use crate::ir::{Agreement, Deviation, Input, Program, Semantics, Witness};
use crate::isa::{LaneWidth, Mask, Type};
use crate::report::{FileReport, Format, Reporter, Style, visible, visible_path};
use crate::source::MAX_LEN;
use crate::syntax::{TokenKind, statement_tokens};

#[derive(Debug, Args)]
#[command(after_help = "\
Inputs are named as the registers in the instruction; values are 32-bit words:
decimal (-2147483648 to 4294967295), 0x… or 0b…, with _ between digits.
  vptx eval 'vadd4.u32.u32.u32.sat d, a, b, c;' a=0xff01f010 b=0x01ff2010
--batch reads lines INSTRUCTION<TAB>a<TAB>b<TAB>c with operands named d, a, b,
c; a value that is not read may be - or missing. Blank lines and lines that
start with # are skipped. A line comes out for each: the new d, or an error;
three values between tabs for --semantics all.
Exit status: 0 all computed, 1 an instruction or line is wrong, 2 could not
run.")]
pub(super) struct Arguments {
    /// One instruction; its closing ; may be missing
    #[arg(value_name = "INSTRUCTION", required_unless_present = "batch")]
    instruction: Option<String>,

    /// The values of its source registers, such as a=0x01020304 or %r1=-5
    #[arg(value_name = "NAME=VALUE")]
    values: Vec<String>,

    /// What the instruction is taken to mean
    #[arg(long, value_enum, default_value_t)]
    semantics: SemanticsName,

    /// Show the value of every step
    #[arg(long)]
    trace: bool,

    /// Evaluate the lines of a file, or of standard input for -
    #[arg(long, value_name = "FILE|-", conflicts_with_all = ["instruction", "values", "trace"])]
    batch: Option<PathBuf>,
}

/// A choice of semantics on the command line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum SemanticsName {
    /// The manual
    #[default]
    Manual,
    /// The code of ptxas 11.x and 12.x
    #[value(name = "ptxas-12")]
    Ptxas12,
    /// The code of ptxas 13.x
    #[value(name = "ptxas-13")]
    Ptxas13,
    /// Each of them
    All,
}

impl SemanticsName {
    pub(super) fn list(self) -> &'static [Semantics] {
        match self {
            SemanticsName::Manual => &[Semantics::Manual],
            SemanticsName::Ptxas12 => &[Semantics::Ptxas12],
            SemanticsName::Ptxas13 => &[Semantics::Ptxas13],
            SemanticsName::All => &Semantics::ALL,
        }
    }
}

pub(super) fn run(arguments: &Arguments, out: &mut Output) -> io::Result<u8> {
    if let Some(path) = &arguments.batch {
        return batch(path, arguments.semantics.list(), out);
    }
    let text = arguments.instruction.as_deref().unwrap_or_default();
    match instruction(text, out)? {
        Ok(instruction) => single(&instruction, arguments, out),
        Err(status) => Ok(status),
    }
}

/// The one instruction that an argument must be. What is wrong with it is
/// printed, and the exit status comes back.
pub(super) fn instruction(text: &str, out: &mut Output) -> io::Result<Result<Instruction, u8>> {
    // The `;` goes where it belongs, so that findings can point at it.
    let mut source = text.to_string();
    match statement_tokens(text).last() {
        Some(last) if !last.is(b';') && last.kind != TokenKind::UnclosedComment => {
            source.insert(last.span.end as usize, ';');
        }
        _ => {}
    }
    let (module, diagnostics) = parse_with(&source, &errors_only());
    if !diagnostics.is_empty() {
        report(out, Path::new("<instruction>"), &source, &diagnostics)?;
        return Ok(Err(FOUND));
    }
    let only = source.parse::<Instruction>();
    match (module.statements(), only) {
        ([_], Ok(instruction)) => return Ok(Ok(instruction)),
        ([], _) if text.trim().is_empty() => trouble("the instruction is empty"),
        ([], _) => trouble(&format!("`{}` is no video instruction", visible(text.trim()))),
        _ => trouble("one instruction is expected, and this is more"),
    }
    Ok(Err(FAILED))
}

/// Prints findings as `vptx check` does.
pub(super) fn report(
    out: &mut Output,
    path: &Path,
    source: &str,
    diagnostics: &[Diagnostic],
) -> io::Result<()> {
    let file = FileReport { path, source, diagnostics };
    out.stream.write_all(&human(&out.style, &file)?)
}

/// Findings for people.
pub(super) fn human(style: &Style, file: &FileReport<'_>) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    Reporter::new(Format::Human, *style).file(&mut text, file)?;
    Ok(text)
}

/// The registers of an instruction.
struct Registers {
    d: String,
    /// The sources in their places; `None` where a constant or nothing stands.
    sources: [Option<String>; 3],
}

impl Registers {
    fn of(instruction: &Instruction) -> Registers {
        let name = |register: &Register| register.name().to_string();
        let sources = instruction.sources().map(|source| source.map(name));
        Registers { d: name(instruction.destination()), sources }
    }

    /// The sources by name, each once, in their order.
    fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for name in self.sources.iter().flatten() {
            if !names.contains(&name.as_str()) {
                names.push(name);
            }
        }
        names
    }
}

/// A 32-bit word as people write it.
fn word(text: &str) -> Option<u32> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let (radix, digits) = match digits.get(..2) {
        Some("0x" | "0X") => (16, &digits[2..]),
        Some("0b" | "0B") => (2, &digits[2..]),
        _ => (10, digits),
    };
    // Neither a sign, nor `_`, nor nothing.
    if !digits.starts_with(|first: char| first.is_digit(radix)) || negative && radix != 10 {
        return None;
    }
    let value = if digits.contains('_') {
        i64::from_str_radix(&digits.replace('_', ""), radix)
    } else {
        i64::from_str_radix(digits, radix)
    };
    let value = if negative { -value.ok()? } else { value.ok()? };
    u32::try_from(value).or_else(|_| i32::try_from(value).map(i32::cast_unsigned)).ok()
}

/// The words for the places `a`, `b`, `c`, or all that is wrong with what was
/// given. Places that no program reads get 0.
fn words(
    registers: &Registers,
    programs: &[Program],
    given: &[String],
) -> Result<[u32; 3], Vec<String>> {
    let names = registers.names();
    let mut troubles = Vec::new();
    let mut values: BTreeMap<&str, u32> = BTreeMap::new();
    let (mut unknown, mut repeated) = (Vec::new(), Vec::new());
    let mut bad: Vec<&str> = Vec::new();
    for argument in given {
        let parts = argument.split_once('=').filter(|(name, _)| !name.is_empty());
        let Some((name, text)) = parts else {
            troubles.push(format!("`{argument}` is no input: write NAME=VALUE"));
            continue;
        };
        if !names.contains(&name) {
            unknown.push(name);
        } else if values.contains_key(name) || bad.contains(&name) {
            repeated.push(name);
        } else if let Some(value) = word(text) {
            values.insert(name, value);
        } else {
            bad.push(name);
            troubles.push(format!(
                "`{argument}` gives no 32-bit word: \
                 -2147483648 to 4294967295, 0x… or 0b… may stand there"
            ));
        }
    }
    if !unknown.is_empty() {
        let sources = match names.as_slice() {
            [] => "the sources are constants".into(),
            [one] => format!("the source is {one}"),
            _ => format!("the sources are {}", names.join(", ")),
        };
        let d = if unknown.contains(&registers.d.as_str()) {
            format!(", and the old value of {} does not matter", registers.d)
        } else {
            String::new()
        };
        troubles.push(format!("{}: {}; {sources}{d}", inputs("unknown", &unknown), list(&unknown)));
    }
    if !repeated.is_empty() {
        troubles.push(format!("{}: {}", inputs("repeated", &repeated), list(&repeated)));
    }
    let read = |input| programs.iter().any(|program| program.reads(input));
    let mut missing: Vec<&str> = Vec::new();
    let mut words = [0; 3];
    for ((word, name), input) in words.iter_mut().zip(&registers.sources).zip(Input::ALL) {
        let Some(name) = name.as_deref() else { continue };
        match values.get(name) {
            Some(&value) => *word = value,
            None if !read(input) || bad.contains(&name) || missing.contains(&name) => {}
            None => missing.push(name),
        }
    }
    if !missing.is_empty() {
        let add: Vec<String> = missing.iter().map(|name| format!("{name}=…")).collect();
        let what = inputs("missing", &missing);
        troubles.push(format!("{what}: {}; add {}", list(&missing), add.join(" ")));
    }
    if troubles.is_empty() { Ok(words) } else { Err(troubles) }
}

fn inputs(what: &str, names: &[&str]) -> String {
    format!("{what} input{}", if names.len() == 1 { "" } else { "s" })
}

fn list(names: &[&str]) -> String {
    names.join(", ")
}

/// Semantics that are shown as one.
struct Group {
    names: Vec<&'static str>,
    program: Program,
    d: u32,
}

fn single(instruction: &Instruction, arguments: &Arguments, out: &mut Output) -> io::Result<u8> {
    let list = arguments.semantics.list();
    let programs: Vec<Program> = list.iter().map(|&it| instruction.lower(it)).collect();
    let registers = Registers::of(instruction);
    let [a, b, c] = match words(&registers, &programs, &arguments.values) {
        Ok(words) => words,
        Err(troubles) => {
            for message in troubles {
                trouble(&message);
            }
            return Ok(FAILED);
        }
    };
    let mut groups: Vec<Group> = Vec::new();
    for (semantics, program) in list.iter().zip(programs) {
        let d = program.eval(a, b, c);
        let same = groups
            .iter_mut()
            .find(|group| group.d == d && (!arguments.trace || group.program == program));
        match same {
            Some(group) => group.names.push(semantics.text()),
            None => groups.push(Group { names: vec![semantics.text()], program, d }),
        }
    }

    // The stream is line-buffered.
    let mut text = Vec::new();
    writeln!(text, "{instruction}")?;
    if let Some(guard) = &instruction.guard {
        let not = if guard.negated { "!" } else { "" };
        writeln!(text, "guard @{not}{} is taken as true", guard.predicate)?;
    }
    let parts = parts(instruction, &registers);
    for Group { names, program, d } in groups {
        writeln!(text, "\n{}:", names.join(", "))?;
        if arguments.trace {
            trace(&mut text, &program, [a, b, c], out.style.unicode)?;
        }
        result(&mut text, &registers.d, d, &parts)?;
    }
    if let SemanticsName::All = arguments.semantics {
        writeln!(text)?;
        agreement(&mut text, instruction, &registers, [a, b, c], out.style.unicode)?;
    }
    out.stream.write_all(&text)?;
    Ok(0)
}

/// A part of `d` that has a value of its own.
struct Shown {
    label: String,
    low: u32,
    width: u32,
    signed: bool,
    /// The register that the part is copied from.
    from: Option<String>,
}

/// The lanes of `d` from the highest, or the part that is written.
fn parts(instruction: &Instruction, registers: &Registers) -> Vec<Shown> {
    let scalar = |tail: &Tail, signed: bool| match tail {
        Tail::Merge { part, .. } => vec![Shown {
            label: format!("{}{part}", registers.d),
            low: part.shift(),
            width: part.width(),
            signed,
            from: None,
        }],
        Tail::Word | Tail::Secondary { .. } => Vec::new(),
    };
    let signed = |dtype: Type| dtype == Type::S32;
    // A sum of lanes is a word.
    let merges = |tail: SimdTail| matches!(tail, SimdTail::Merge { .. });
    match &instruction.operation {
        Operation::Arithmetic(it) => scalar(&it.tail, signed(it.dtype)),
        Operation::Shift(it) => scalar(&it.tail, signed(it.dtype)),
        Operation::Set(it) => scalar(&it.tail, false),
        Operation::Arithmetic2(it) if merges(it.tail) => {
            lanes(it.operands.mask, signed(it.dtype), registers)
        }
        Operation::Arithmetic4(it) if merges(it.tail) => {
            lanes(it.operands.mask, signed(it.dtype), registers)
        }
        Operation::Set2(it) if !it.accumulate => lanes(it.operands.mask, false, registers),
        Operation::Set4(it) if !it.accumulate => lanes(it.operands.mask, false, registers),
        Operation::MultiplyAdd(_)
        | Operation::Arithmetic2(_)
        | Operation::Arithmetic4(_)
        | Operation::Set2(_)
        | Operation::Set4(_) => Vec::new(),
    }
}

fn lanes<L: LaneWidth>(mask: Mask<L>, signed: bool, registers: &Registers) -> Vec<Shown> {
    (0..L::LANES)
        .rev()
        .map(|lane| Shown {
            label: format!("{}.{}{lane}", registers.d, L::LETTER),
            low: lane as u32 * L::BITS,
            width: L::BITS,
            signed,
            from: registers.sources[2].clone().filter(|_| mask.bits() >> lane & 1 == 0),
        })
        .collect()
}

/// The new `d` as a whole and in parts.
fn result(text: &mut impl Write, name: &str, d: u32, parts: &[Shown]) -> io::Result<()> {
    let width = parts.iter().map(|part| part.label.len()).max().unwrap_or(name.len());
    let signed = d.cast_signed();
    writeln!(text, "  {name:width$}  {d:#010x}  unsigned {d}  signed {signed}")?;
    for Shown { label, low, width: bits, signed, from } in parts {
        let raw = d >> low & ((1 << bits) - 1);
        let sign = raw >> (bits - 1) & 1;
        let value = if *signed { i64::from(raw) - (i64::from(sign) << bits) } else { raw.into() };
        let hex = format!("0x{raw:0digits$x}", digits = *bits as usize / 4);
        write!(text, "  {label:width$}  {hex:>10}  ")?;
        match from {
            // As wide as any value of a lane.
            Some(from) => writeln!(text, "{value:<6}  from {from}")?,
            None => writeln!(text, "{value}")?,
        }
    }
    Ok(())
}

/// Every step by its stage, with its value.
fn trace(
    text: &mut impl Write,
    program: &Program,
    [a, b, c]: [u32; 3],
    unicode: bool,
) -> io::Result<()> {
    let steps = program.steps();
    let values = program.trace(a, b, c);
    let rows: Vec<(String, String, String)> = steps
        .iter()
        .zip(&values)
        .map(|(step, &value)| (step.op.to_string(), value.to_string(), hex(value, unicode)))
        .collect();
    let index = (steps.len().saturating_sub(1)).to_string().len() + 1;
    // A long operation may use the room that a short value leaves.
    let width = rows.iter().map(|(op, value, _)| op.len() + 2 + value.len()).max().unwrap_or(0);
    let mut stage = None;
    for (at, (step, (op, value, hex))) in steps.iter().zip(&rows).enumerate() {
        if stage.replace(step.stage) != Some(step.stage) {
            writeln!(text, "  {}:", step.stage.text())?;
        }
        let name = format!("%{at}");
        let room = width - op.len();
        writeln!(text, "    {name:index$}  {op}{value:>room$}  {hex}")?;
    }
    Ok(())
}

/// As many bytes as the value needs; a negative one goes on with `f` for ever.
fn hex(value: i128, unicode: bool) -> String {
    let bits = 128 - if value < 0 { (!value).leading_zeros() } else { value.leading_zeros() };
    if value < 0 {
        let bytes = (bits + 1).div_ceil(8);
        let shown = value & ((1i128 << (8 * bytes)) - 1);
        format!("0x{}{shown:x}", if unicode { "…" } else { "..." })
    } else {
        format!("0x{value:0digits$x}", digits = bits.max(1).div_ceil(8) as usize * 2)
    }
}

/// How the code of ptxas and the manual differ, on these inputs and others.
fn agreement(
    text: &mut impl Write,
    instruction: &Instruction,
    registers: &Registers,
    [a, b, c]: [u32; 3],
    unicode: bool,
) -> io::Result<()> {
    let expected = instruction.lower(Semantics::Manual).eval(a, b, c);
    // Versions of which the same is to be said are named together.
    let mut said: Vec<(Vec<&str>, bool, Agreement)> = Vec::new();
    for semantics in [Semantics::Ptxas12, Semantics::Ptxas13] {
        let differs = instruction.lower(semantics).eval(a, b, c) != expected;
        let agreement = instruction.agreement(semantics);
        match said.iter_mut().find(|(_, here, other)| *here == differs && *other == agreement) {
            Some((names, ..)) => names.push(semantics.text()),
            None => said.push((vec![semantics.text()], differs, agreement)),
        }
    }
    if let [(_, _, Agreement::Proven)] = said.as_slice() {
        return writeln!(text, "all semantics agree on every input");
    }
    let mut causes: Vec<Deviation> = [Semantics::Ptxas12, Semantics::Ptxas13]
        .into_iter()
        .flat_map(|semantics| instruction.causes(semantics, a, b, c))
        .collect();
    let here = !causes.is_empty();
    for (names, differs, agreement) in &said {
        let s = if names.len() == 1 { "s" } else { "" };
        let names = names.join(" and ");
        match agreement {
            _ if *differs => writeln!(text, "{names} differ{s} from the manual on these inputs")?,
            Agreement::Proven => writeln!(text, "{names} agree{s} with the manual on every input")?,
            Agreement::Unknown => writeln!(
                text,
                "{names} agree{s} with the manual on these inputs; none are known on which\n\
                 the results differ, and it is not proven that there are none"
            )?,
            Agreement::Differs(witness) => {
                write!(text, "{names} agree{s} with the manual on these inputs")?;
                example(text, witness, &names, registers, unicode)?;
            }
        }
        if let (Agreement::Differs(witness), false) = (agreement, here) {
            causes.extend(&witness.causes);
        }
    }
    causes.sort_unstable();
    causes.dedup();
    let Some(first) = causes.first() else { return Ok(()) };
    writeln!(text, "\n{}:", if here { "because" } else { "known deviations of this form" })?;
    for cause in &causes {
        writeln!(text, "  {cause}  {}", cause.title())?;
    }
    writeln!(text, "`vptx explain {first}` tells more")
}

/// Inputs on which some semantics differ from the manual, and what they are.
fn example(
    text: &mut impl Write,
    witness: &Witness,
    names: &str,
    registers: &Registers,
    unicode: bool,
) -> io::Result<()> {
    let words = [witness.a, witness.b, witness.c];
    let mut values: Vec<String> = registers
        .sources
        .iter()
        .zip(words)
        .filter_map(|(name, word)| Some(format!("{} = {word:#010x}", name.as_deref()?)))
        .collect();
    // The same register has the same word.
    values.dedup();
    writeln!(text, ", but not on others:")?;
    writeln!(
        text,
        "  {}\n  {} manual {:#010x}, {names} {:#010x}",
        values.join(", "),
        if unicode { "→" } else { "->" },
        witness.manual,
        witness.ptxas,
    )
}

/// Programs of an instruction text, or what is wrong with it.
type Prepared = Result<Vec<Program>, String>;

/// Texts whose programs are kept.
const KEPT: usize = 4096;

fn batch(path: &Path, semantics: &[Semantics], out: &mut Output) -> io::Result<u8> {
    let (name, reader): (String, Box<dyn io::Read>) = if path.as_os_str() == "-" {
        ("standard input".into(), Box::new(io::stdin().lock()))
    } else {
        let name = format!("`{}`", visible_path(path));
        match File::open(path) {
            Ok(file) => (name, Box::new(file)),
            Err(error) => {
                trouble(&format!("cannot read {name}: {}", reason(&error)));
                return Ok(FAILED);
            }
        }
    };
    let mut reader = BufReader::with_capacity(1 << 16, reader);
    let mut writer = BufWriter::with_capacity(1 << 16, &mut out.stream);
    let mut programs: HashMap<String, Prepared> = HashMap::new();
    let mut failed = false;
    let mut line = Vec::new();
    let mut first = true;
    loop {
        // Whoever waits for an answer before going on gets it.
        if reader.buffer().is_empty() {
            writer.flush()?;
        }
        // Who asks no more needs no more answers.
        if writer.get_ref().is_closed {
            break;
        }
        line.clear();
        match reader.by_ref().take(MAX_LEN as u64 + 1).read_until(b'\n', &mut line) {
            Ok(0) => break,
            Ok(read) if read > MAX_LEN => {
                writer.flush()?;
                trouble(&format!("a line of {name} is larger than 4 GiB, the most that is read"));
                return Ok(FAILED);
            }
            Ok(_) => {}
            Err(error) => {
                writer.flush()?;
                trouble(&format!("cannot read {name}: {}", reason(&error)));
                return Ok(FAILED);
            }
        }
        let mut text = line.as_slice();
        if std::mem::take(&mut first) {
            text = text.strip_prefix("\u{feff}".as_bytes()).unwrap_or(text);
        }
        if matches!(text.trim_ascii_start(), [] | [b'#', ..]) {
            continue;
        }
        match evaluate(text, semantics, &mut programs, &mut writer)? {
            Ok(()) => {}
            Err(message) => {
                failed = true;
                writeln!(writer, "error: {}", visible(&message))?;
            }
        }
    }
    writer.flush()?;
    Ok(if failed { FOUND } else { 0 })
}

/// Writes what a line gives, or returns what is wrong with it.
fn evaluate(
    line: &[u8],
    semantics: &[Semantics],
    cache: &mut HashMap<String, Prepared>,
    out: &mut impl Write,
) -> io::Result<Result<(), String>> {
    let malformed = |what: String| Ok(Err(format!("malformed line: {what}")));
    let Ok(line) = std::str::from_utf8(line) else {
        return malformed("not UTF-8".into());
    };
    let mut fields = line.split('\t');
    let text = fields.next().unwrap_or_default().trim();
    if !cache.contains_key(text) {
        if cache.len() >= KEPT {
            cache.clear();
        }
        cache.insert(text.into(), prepare(text, semantics));
    }
    let programs = match &cache[text] {
        Ok(programs) => programs,
        Err(message) => return Ok(Err(message.clone())),
    };
    let mut words = [0; 3];
    for (value, input) in words.iter_mut().zip(Input::ALL) {
        let name = input.text();
        match fields.next().map_or("-", str::trim) {
            "" | "-" if programs.iter().any(|program| program.reads(input)) => {
                return malformed(format!("{name} is read and has no value"));
            }
            "" | "-" => {}
            text => match word(text) {
                Some(word) => *value = word,
                None => return malformed(format!("`{text}` for {name} is no 32-bit word")),
            },
        }
    }
    let [a, b, c] = words;
    for (at, program) in programs.iter().enumerate() {
        let tab = if at == 0 { "" } else { "\t" };
        write!(out, "{tab}{:#010x}", program.eval(a, b, c))?;
    }
    writeln!(out)?;
    Ok(Ok(()))
}

fn prepare(text: &str, semantics: &[Semantics]) -> Prepared {
    let instruction = text.parse::<Instruction>().map_err(|error| {
        let code = error.diagnostics().first().map(|first| format!("{} ", first.code));
        format!("{}{error}", code.unwrap_or_default())
    })?;
    let registers = Registers::of(&instruction);
    let sources = registers.sources.iter().zip(Input::ALL);
    let wanted = sources
        .map(|(name, input)| (name.as_deref(), input.text()))
        .chain([(Some(registers.d.as_str()), "d")]);
    for (name, wanted) in wanted {
        if let Some(name) = name.filter(|name| *name != wanted) {
            return Err(format!("malformed line: operand `{name}` must be named {wanted}"));
        }
    }
    Ok(semantics.iter().map(|&it| instruction.lower(it)).collect())
}
