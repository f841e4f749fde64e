//! The PTX of inline assembly in Python, Mojo, Rust, Julia and Zig, and of CUDA sources inside
//! string literals. Its findings are compared with expectations written beside the calls of
//! `fixtures/sources`, and with the findings on the same instructions as plain PTX.
//!
//! `VPTX_SAMPLES` multiplies the number of random sources, and `VPTX_ASM_SEED` selects them.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::ops::Range;

use crate::asm::{
    AFTER, BEFORE, DECLARATIONS, Item, Places, Style, UNDECLARED, WORDS, compared, draft,
    each_case, kinds, percents, spoil, write_literals,
};
use crate::support::random::Random;
use crate::support::{corpus, rules_on_statements, samples};
use vptx::analysis::{add_ignores, check, check_counted, fix};
use vptx::backend::c::Header;
use vptx::check::{CheckOptions, Language};
use vptx::diagnostic::{Applicability, Code, Diagnostic};
use vptx::embed::{SkipReason, skipped_in, statements_in};
use vptx::port::port;
use vptx::source::Span;

fn options(language: Language) -> CheckOptions {
    CheckOptions::default().with_language(language).with_rules(rules_on_statements())
}

fn found(source: &str, language: Language) -> Vec<Diagnostic> {
    check(source, &options(language))
}

/// The code of each finding, and the text that it marks.
fn told(source: &str, language: Language) -> Vec<String> {
    let found = found(source, language);
    found.iter().map(|it| format!("{} {}", it.code, it.span.text(source))).collect()
}

fn skips(source: &str, language: Language) -> Vec<SkipReason> {
    let host = language.host().expect("a language around PTX");
    skipped_in(source, host).iter().map(|it| it.reason).collect()
}

fn language(name: &str) -> Language {
    match name.rsplit('.').next() {
        Some("py") => Language::Python,
        Some("mojo") => Language::Mojo,
        Some("rs") => Language::Rust,
        Some("jl") => Language::Julia,
        Some("zig") => Language::Zig,
        _ => Language::Cuda,
    }
}

#[test]
fn the_corpus_has_the_findings_written_in_it() {
    let (mut count, mut wrong) = (0, String::new());
    for (name, source) in corpus("sources") {
        let findings = found(&source, language(&name));
        let (cases, differences) = compared(&name, &source, &findings);
        count += cases;
        wrong.push_str(&differences);
    }
    assert!(wrong.is_empty(), "{wrong}");
    assert!(count >= 40, "only {count} cases were read");
}

// The same instruction in a source.

/// The language and function by which PTX is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Way {
    Triton,
    Pallas,
    Mlir,
    Llvmlite,
    Mojo,
    Rust,
    JuliaMacro,
    JuliaCall,
    Zig,
    PythonCuda,
    RustCuda,
    CudaCuda,
}

const WAYS: [Way; 12] = [
    Way::Triton,
    Way::Pallas,
    Way::Mlir,
    Way::Llvmlite,
    Way::Mojo,
    Way::Rust,
    Way::JuliaMacro,
    Way::JuliaCall,
    Way::Zig,
    Way::PythonCuda,
    Way::RustCuda,
    Way::CudaCuda,
];

impl Way {
    fn language(self) -> Language {
        match self {
            Way::Triton | Way::Pallas | Way::Mlir | Way::Llvmlite | Way::PythonCuda => {
                Language::Python
            }
            Way::Mojo => Language::Mojo,
            Way::Rust | Way::RustCuda => Language::Rust,
            Way::JuliaMacro | Way::JuliaCall => Language::Julia,
            Way::Zig => Language::Zig,
            Way::CudaCuda => Language::Cuda,
        }
    }

    fn is_cuda(self) -> bool {
        matches!(self, Way::PythonCuda | Way::RustCuda | Way::CudaCuda)
    }
}

/// A text that contains another text, and the range of each character of the other text.
#[derive(Default)]
struct Written {
    text: String,
    places: Vec<Range<usize>>,
}

impl Written {
    /// Maps the ranges to an outer text, given the range there of each character of this text.
    fn then(&self, outer: &[Range<usize>]) -> Vec<Range<usize>> {
        // For offsets in the text, the numbers of the characters.
        let numbers: BTreeMap<usize, usize> =
            self.text.char_indices().enumerate().map(|(number, (at, _))| (at, number)).collect();
        let place = |range: &Range<usize>| {
            let first = numbers[&range.start];
            let last = numbers.range(..range.end).next_back().expect("a character").1;
            outer[first].start..outer[*last].end
        };
        self.places.iter().map(place).collect()
    }
}

/// Writes a text as string literals of a language, in random spelling. The first `plain` characters
/// are not escaped.
fn literals(random: &mut Random, language: Language, text: &[char], plain: usize) -> Written {
    match language {
        Language::Python | Language::Mojo => python(random, text, plain),
        Language::Rust => rust(random, text, plain),
        Language::Julia => julia(random, text, plain),
        Language::Zig => zig(random, text, plain),
        Language::Cuda | Language::Ptx | Language::Notebook => {
            let mut text_out = Written { text: "R\"cuda(".into(), places: Vec::new() };
            verbatim(&mut text_out, text);
            text_out.text.push_str(")cuda\"");
            text_out
        }
    }
}

fn verbatim(out: &mut Written, text: &[char]) {
    for &c in text {
        let start = out.text.len();
        out.text.push(c);
        out.places.push(start..out.text.len());
    }
}

fn python(random: &mut Random, text: &[char], plain: usize) -> Written {
    let mut out = Written::default();
    let quote = random.one_of(&["\"", "'", "\"\"\"", "'''"]);
    let byte = quote.chars().next().expect("a quote");
    let triple = quote.len() == 3;
    let is_raw_text = !text.contains(&'\\')
        && !text.contains(&byte)
        && !text.contains(&'\r')
        && (triple || !text.contains(&'\n'));
    if is_raw_text && random.percent(25) {
        let _ = write!(out.text, "{}{quote}", random.one_of(&["r", "R", "rb", "Br"]));
        if out.text.contains(['b', 'B']) && !text.iter().all(char::is_ascii) {
            out.text = format!("r{quote}");
        }
        verbatim(&mut out, text);
        out.text.push_str(quote);
        return out;
    }
    let (escape, cut, splice) =
        (random.one_of(&[0, 0, 3, 50]), random.one_of(&[0, 0, 4]), random.one_of(&[0, 0, 4]));
    let _ = write!(out.text, "{}{quote}", random.one_of(&["", "", "u", "U"]));
    for (at, &c) in text.iter().enumerate() {
        let (escape, cut, splice) = if at < plain { (0, 0, 0) } else { (escape, cut, splice) };
        if random.percent(cut) {
            out.text.push_str(quote);
            out.text.push_str(random.one_of(&[
                "",
                " ",
                "\n    ",
                " # it's \"\n",
                "\\\n",
                "\\\r\n",
            ]));
            if out.text.ends_with(byte) {
                out.text.push(' ');
            }
            out.text.push_str(quote);
        }
        if random.percent(splice) {
            out.text.push_str(random.one_of(&["\\\n", "\\\r\n"]));
        }
        let start = out.text.len();
        match c {
            '\\' => out.text.push_str("\\\\"),
            '\n' if triple && random.percent(70) => out.text.push('\n'),
            '\n' => out.text.push_str("\\n"),
            '\r' => out.text.push_str("\\r"),
            '\t' if random.percent(50) => out.text.push_str("\\t"),
            _ if c == byte => out.text.extend(['\\', c]),
            _ if random.percent(escape) => {
                let code = c as u32;
                let _ = match random.below(4) {
                    0 if code < 256 => write!(out.text, "\\x{code:02x}"),
                    1 if code < 256 => write!(out.text, "\\{code:03o}"),
                    2 if code < 0x1_0000 => write!(out.text, "\\u{code:04X}"),
                    _ => write!(out.text, "\\U{code:08x}"),
                };
            }
            _ => out.text.push(c),
        }
        out.places.push(start..out.text.len());
    }
    out.text.push_str(quote);
    out
}

/// Writes a character, perhaps escaped as in Rust and Zig.
fn escaped(out: &mut String, random: &mut Random, c: char) {
    let code = c as u32;
    let _ = match random.below(2) {
        0 if code < 128 => write!(out, "\\x{code:02x}"),
        _ => write!(out, "\\u{{{code:x}}}"),
    };
}

fn rust(random: &mut Random, text: &[char], plain: usize) -> Written {
    let mut out = Written::default();
    let is_raw_text = !text.contains(&'"') && !text.contains(&'\r');
    if is_raw_text && random.percent(30) {
        let hashes = random.one_of(&["", "#", "###"]);
        let _ = write!(out.text, "r{hashes}\"");
        verbatim(&mut out, text);
        let _ = write!(out.text, "\"{hashes}");
        return out;
    }
    let (escape, splice) = (random.one_of(&[0, 0, 3, 50]), random.one_of(&[0, 0, 4]));
    out.text.push('"');
    for (at, &c) in text.iter().enumerate() {
        let (escape, splice) = if at < plain { (0, 0) } else { (escape, splice) };
        if random.percent(splice) && !c.is_whitespace() {
            out.text.push_str(random.one_of(&["\\\n", "\\\n    ", "\\\n\n\t"]));
        }
        let start = out.text.len();
        match c {
            '\\' | '"' => out.text.extend(['\\', c]),
            '\n' if random.percent(50) => out.text.push('\n'),
            '\n' => out.text.push_str("\\n"),
            '\r' => out.text.push_str("\\r"),
            _ if random.percent(escape) => escaped(&mut out.text, random, c),
            _ => out.text.push(c),
        }
        out.places.push(start..out.text.len());
    }
    out.text.push('"');
    out
}

fn julia(random: &mut Random, text: &[char], plain: usize) -> Written {
    let mut out = Written::default();
    let is_raw_text = !text.contains(&'"') && !text.contains(&'\\') && !text.contains(&'\r');
    let quote = random.one_of(&["\"", "\"\"\""]);
    if is_raw_text && random.percent(30) {
        let _ = write!(out.text, "raw{quote}");
        verbatim(&mut out, text);
        out.text.push_str(quote);
        return out;
    }
    let escape = random.one_of(&[0, 0, 3, 50]);
    out.text.push_str(quote);
    for (at, &c) in text.iter().enumerate() {
        let escape = if at < plain { 0 } else { escape };
        let start = out.text.len();
        match c {
            '\\' | '"' | '$' => out.text.extend(['\\', c]),
            '\n' if random.percent(50) => out.text.push('\n'),
            '\n' => out.text.push_str("\\n"),
            '\r' => out.text.push_str("\\r"),
            _ if random.percent(escape) && c as u32 > 31 => {
                let code = c as u32;
                let _ = match random.below(3) {
                    0 if code < 128 => write!(out.text, "\\x{code:02x}"),
                    1 if code < 0x1_0000 => write!(out.text, "\\u{code:04x}"),
                    _ => write!(out.text, "\\U{code:08x}"),
                };
            }
            _ => out.text.push(c),
        }
        out.places.push(start..out.text.len());
    }
    out.text.push_str(quote);
    out
}

fn zig(random: &mut Random, text: &[char], plain: usize) -> Written {
    let mut out = Written::default();
    if !text.contains(&'\r') && random.percent(50) {
        let blanks = random.one_of(&["", "    ", "  // \" \\\\\n\t"]);
        out.text.push_str("\\\\");
        for &c in text {
            let start = out.text.len();
            out.text.push(c);
            if c == '\n' {
                let _ = write!(out.text, "{blanks}\\\\");
            }
            out.places.push(start..out.text.len());
        }
        out.text.push('\n');
        return out;
    }
    let escape = random.one_of(&[0, 0, 3, 50]);
    out.text.push('"');
    for (at, &c) in text.iter().enumerate() {
        let escape = if at < plain { 0 } else { escape };
        let start = out.text.len();
        match c {
            '\\' | '"' => out.text.extend(['\\', c]),
            '\n' => out.text.push_str("\\n"),
            '\r' => out.text.push_str("\\r"),
            _ if random.percent(escape) => escaped(&mut out.text, random, c),
            _ => out.text.push(c),
        }
        out.places.push(start..out.text.len());
    }
    out.text.push('"');
    out
}

/// Writes a text as LLVM IR writes it between quotes.
fn llvm(random: &mut Random, text: &[char]) -> Written {
    let mut out = Written::default();
    let escape = random.one_of(&[0, 3, 50]);
    for &c in text {
        let start = out.text.len();
        if matches!(c, '"' | '\\') || c.is_control() || c.is_ascii() && random.percent(escape) {
            let _ = write!(out.text, "\\{:02X}", c as u32);
        } else {
            out.text.push(c);
        }
        out.places.push(start..out.text.len());
    }
    out
}

/// Other code of the language that may stand around a call.
fn around(random: &mut Random, language: Language) -> &'static str {
    match language {
        Language::Python | Language::Mojo => random.one_of(&[
            "",
            "# tl.inline_asm_elementwise(\"vadd4.u32 $0;\", \"=r\")\n",
            "\"\"\"asm(\"vadd4.u32 %0;\" : \"=r\"(d))\"\"\"\n",
            "x = 'it\\'s' # \"\n",
            "def inline_asm_elementwise(asm: str, constraints): pass\n",
            "s = f\"asm('vadd4.u32 {x}')\"\n",
            "d = {'a': [1, (2)], \"b\": r'\\\\'}\n",
        ]),
        Language::Rust => random.one_of(&[
            "",
            "// asm!(\"vadd4.u32 {};\", in(reg32) a);\n",
            "/* asm!( /* nested */ \" */\n",
            "fn f<'a>(x: &'a str) -> char { '\"' }\n",
            "let s = r#\"it's \"quoted\"\"#; let b = b'\\'';\n",
            "asm!(\"vadd.u32 {0}, {1}\", out(reg) a, in(reg) b);\n",
            "println!(\"{} asm!(\", 'a');\n",
        ]),
        Language::Julia => random.one_of(&[
            "",
            "# @asmcall(\"vadd4.u32\", \"=r\")\n",
            "#= @asmcall( #= nested =# \" =#\n",
            "y = x' * x'; c = '\"'; d = '\\''\n",
            "s = \"a $(f(\"b\")) c\"\n",
            "r = r\"[\\\"]\"\n",
        ]),
        Language::Zig => random.one_of(&[
            "",
            "// asm (\"vadd4.u32 %[d];\" : [d] \"=r\" (-> u32));\n",
            "const c = '\"'; const d = '\\'';\n",
            "const s =\n    \\\\ it's \"asm (\n    \\\\\n;\n",
            "asm volatile (\"vadd %[a], %[a]\" : : [a] \"{rax}\" (a));\n",
            "asm (\"vadd %%r1;\" ::: .{ .memory = true, .r1 = true });\n",
            "asm volatile (\"vadd %%r1;\" : : : \"memory\", \"r1\");\n",
        ]),
        Language::Cuda | Language::Ptx | Language::Notebook => random.one_of(&[
            "",
            "// R\"(asm(\"vadd4.u32 %0;\" : \"=r\"(d)))\"\n",
            "char c = '\"';\n",
            "const char *s = \"asm(\\\"vadd4.u32\\\")\";\n",
        ]),
    }
}

/// A plain instruction, and the same instruction in a source.
struct Pair {
    way: Way,
    plain: String,
    source: String,
    places: Places,
    doubtful: bool,
}

impl Pair {
    fn new(random: &mut Random) -> Pair {
        let way = random.one_of(&WAYS);
        let mut draft = draft(random);
        for _ in 0..random.one_of(&[0, 0, 0, 1, 1, 1, 2]) {
            spoil(random, &mut draft);
        }
        let mut items = draft.items(random);
        let declared = random.percent(8);
        if declared {
            items.insert(0, Item::Text(random.one_of(DECLARATIONS).into()));
        }
        let text = |item: &Item| match item {
            Item::Text(text) => text.clone(),
            Item::Operand(number) => WORDS[*number].to_owned(),
        };
        let plain: String = items.iter().map(text).collect();
        let alone = !plain.trim_end().ends_with(';');
        let befores = if declared { &BEFORE[..UNDECLARED] } else { BEFORE };
        let plain_text = |text: &&&'static str| !text.contains("%=");
        let befores: Vec<&'static str> = befores.iter().filter(plain_text).copied().collect();
        let afters: Vec<&'static str> = AFTER.iter().filter(plain_text).copied().collect();
        let before = random.one_of(&befores);
        let after = if alone { "" } else { random.one_of(&afters) };

        // Numbers the operands, outputs first.
        let is_written: Vec<bool> = (0..WORDS.len())
            .map(|number| {
                let destination = draft.operands.first();
                let is_it = |item: &Item| matches!(item, Item::Operand(it) if *it == number);
                destination.is_some_and(|value| value.items.iter().any(is_it))
            })
            .collect();
        let mut order: Vec<usize> = (0..WORDS.len()).collect();
        random.shuffle(&mut order);
        order.sort_by_key(|&number| !is_written[number]);
        let outputs = is_written.iter().filter(|&&it| it).count();
        let mut number_of = [0; 6];
        for (at, &number) in order.iter().enumerate() {
            number_of[number] = at;
        }
        // Operands with a name must follow operands without one.
        let named = if way == Way::Rust { random.below(WORDS.len() + 1) } else { WORDS.len() };

        // Writes the text of the template.
        let doubled = |text: &str, way: Way| -> Vec<char> {
            match way {
                _ if way.is_cuda() || way == Way::Zig => percents(text),
                Way::Rust => text.replace('{', "{{").replace('}', "}}").chars().collect(),
                _ => text.replace('$', "$$").chars().collect(),
            }
        };
        let mut template = doubled(before, way);
        let (mut starts, mut ends) = (BTreeMap::new(), BTreeMap::new());
        let (mut at, mut next) = (0, 0);
        for item in &items {
            let parts: Vec<(usize, Vec<char>)> = match item {
                Item::Text(text) => {
                    let part = |c: char| (c.len_utf8(), doubled(&c.to_string(), way));
                    text.chars().map(part).collect()
                }
                Item::Operand(number) => {
                    let own = number_of[*number];
                    let spelled = match way {
                        _ if way.is_cuda() => format!("%{own}"),
                        Way::Zig => format!("%[n{own}]"),
                        Way::Rust if own >= named => format!("{{n{own}}}"),
                        Way::Rust if own == next && random.percent(70) => {
                            next += 1;
                            random.one_of(&["{}", "{:e}"]).to_owned()
                        }
                        Way::Rust => format!("{{{own}}}"),
                        _ if random.percent(10) => format!("${{{own}:x}}"),
                        _ => format!("${own}"),
                    };
                    vec![(WORDS[*number].len(), spelled.chars().collect())]
                }
            };
            for (length, chars) in parts {
                starts.insert(at, template.len());
                template.extend(chars);
                at += length;
                ends.insert(at, template.len());
            }
        }
        template.extend(doubled(after, way));

        let language = way.language();
        let mut source = String::new();
        for _ in 0..random.below(3) {
            source.push_str(around(random, language));
        }
        let constraints = {
            let tied = (0..outputs).map(|at| at.to_string());
            let outs = (0..outputs).map(|_| random.one_of(&["=r", "=&r"]).to_owned());
            let outs: Vec<String> = outs.collect();
            let ins = (outputs..WORDS.len()).map(|_| "r".to_owned());
            let clobbers =
                random.one_of(&[&[][..], &["~{memory}"]]).iter().map(ToString::to_string);
            outs.into_iter().chain(ins).chain(tied).chain(clobbers).collect::<Vec<_>>().join(",")
        };
        let places = match way {
            Way::Rust => {
                source.push_str(random.one_of(&["asm!(", "core::arch::asm! {", "asm!(\n    "]));
                let close = if source.ends_with('{') { '}' } else { ')' };
                let written = literals(random, language, &template, 0);
                let places = placed(&written, &mut source);
                for (at, _) in order.iter().enumerate() {
                    let name = if at >= named { format!("n{at} = ") } else { String::new() };
                    let kind = if at < outputs { "inout(reg32)" } else { "in(reg32)" };
                    let _ = write!(
                        source,
                        ", {name}{kind} {}",
                        random.one_of(&["x", "f(1, \",\")", "v['a' as usize]"])
                    );
                }
                source.push_str(random.one_of(&["", ",", ", options(nostack)"]));
                source.push(close);
                places
            }
            Way::Zig => {
                source.push_str(random.one_of(&["x = asm (", "asm volatile (\n    ", "asm("]));
                let written = literals(random, language, &template, 0);
                let places = placed(&written, &mut source);
                let list = |range: Range<usize>, constraint: &str, value: &str| {
                    let operand = |at| format!("[n{at}] \"{constraint}\" ({value})");
                    range.map(operand).collect::<Vec<_>>().join(", ")
                };
                let _ = write!(
                    source,
                    "\n : {}\n : {}{})",
                    list(0..outputs, "+r", "x"),
                    list(outputs..WORDS.len(), "r", "f(1, \")\")"),
                    random.one_of(&["", ",", "\n : .{ .memory = true }", " : \"memory\""]),
                );
                places
            }
            Way::JuliaCall => {
                source.push_str("Base.llvmcall(");
                let mut ir = Written {
                    text: "%2 = call i32 asm sideeffect \"".into(),
                    ..Written::default()
                };
                let prelude = ir.text.len();
                let inner = llvm(random, &template);
                let places = placed(&inner, &mut ir.text);
                let _ = write!(ir.text, "\", \"{constraints}\"(i32 %0)\nret i32 %2");
                ir.places = places;
                let chars: Vec<char> = ir.text.chars().collect();
                let written = literals(random, language, &chars, prelude);
                let outer = placed(&written, &mut source);
                source.push_str(", UInt32, Tuple{UInt32}, x)");
                ir.then(&outer)
            }
            _ if way.is_cuda() => {
                let mut cuda = Written {
                    text: "extern \"C\" __global__ void f() { asm(".into(),
                    ..Written::default()
                };
                let prelude = cuda.text.len();
                let mut style = Style::new(random);
                style.in_macro = false;
                // A raw string cannot contain another raw string.
                if way == Way::CudaCuda {
                    style.raw = 0;
                }
                cuda.places = write_literals(random, &style, &template, &mut cuda.text);
                cuda.text.push_str(" : ");
                let list = |range: Range<usize>, constraint: &str| {
                    range
                        .map(|at| format!("\"{constraint}\"(v{at})"))
                        .collect::<Vec<_>>()
                        .join(", ")
                };
                let (outs, ins) = (list(0..outputs, "+r"), list(outputs..WORDS.len(), "r"));
                let _ = write!(cuda.text, "{outs} : {ins}); }}");
                let chars: Vec<char> = cuda.text.chars().collect();
                source.push_str(random.one_of(&["x = (", "f(a, "]));
                let written = literals(random, language, &chars, prelude);
                let outer = placed(&written, &mut source);
                source.push_str(random.one_of(&[")", ", b)"]));
                cuda.then(&outer)
            }
            _ => {
                let written = literals(random, language, &template, 0);
                let chars: Vec<char> = constraints.chars().collect();
                let list = literals(random, language, &chars, 0).text;
                let (open, between, close) = match way {
                    Way::Triton => random.one_of(&[
                        ("tl.inline_asm_elementwise(", ", ", ", [x, y], tl.int32, True, 1)"),
                        (
                            "z = inline_asm_elementwise(asm=",
                            ",\n constraints=(",
                            "), args=[f(x)], pack=4)",
                        ),
                        (
                            "tl.inline_asm_elementwise(\n    (",
                            "),\n    constraints = ",
                            ", dtype=(a, b))",
                        ),
                    ]),
                    Way::Pallas => {
                        ("plgpu.elementwise_inline_asm(", ", args=[x], constraints=", ", pack=1)")
                    }
                    Way::Mlir => {
                        ("llvm.inline_asm(T.i32(), [a, b], ", ", ", ", has_side_effects=True)")
                    }
                    Way::Llvmlite => ("ir.InlineAsm(fn, ", ", ", ", side_effect=True)"),
                    Way::Mojo => ("inlined_assembly[", ", UInt32, constraints=", "](x)"),
                    _ => random.one_of(&[
                        ("LLVM.Interop.@asmcall(", ", ", ", true, UInt32, Tuple{UInt32}, x)"),
                        ("@asmcall ", " ", " UInt32 Tuple{UInt32} x"),
                    ]),
                };
                source.push_str(open);
                let places = placed(&written, &mut source);
                source.extend([between, &list, close]);
                places
            }
        };
        source.push('\n');
        for _ in 0..random.below(3) {
            source.push_str(around(random, language));
        }
        // Text in braces may look like a placeholder, which a program that generates a source would
        // replace.
        let is_filled = |(at, _): (usize, &str)| {
            let inside = plain[at + 1..].split('}').next().unwrap_or_default();
            inside.chars().all(|c| c.is_ascii_alphanumeric() || " _.:!".contains(c))
        };
        let filled = way.is_cuda() && plain.match_indices('{').any(is_filled);
        let start = |(&at, &number): (&usize, &usize)| (at, places[number].start);
        let end = |(&at, &number): (&usize, &usize)| (at, places[number - 1].end);
        Pair {
            way,
            doubtful: filled || draft.is_doubtful(&plain),
            places: Places {
                starts: starts.iter().map(start).collect(),
                ends: ends.iter().map(end).collect(),
            },
            plain,
            source,
        }
    }

    /// Pairs each finding of the plain text with the same finding of the source.
    fn findings(&self) -> Vec<(Diagnostic, Diagnostic)> {
        let mut plain = check(&self.plain, &options(Language::Ptx));
        plain.retain(|finding| {
            !finding.code.text().starts_with("V0") || finding.statement.is_some()
        });
        let found = found(&self.source, self.way.language());
        self.places.pairs((&self.plain, plain), (&self.source, found), self.doubtful)
    }
}

/// Appends a text to a source. Returns the ranges in the source.
fn placed(written: &Written, source: &mut String) -> Vec<Range<usize>> {
    let by = source.len();
    source.push_str(&written.text);
    written.places.iter().map(|place| place.start + by..place.end + by).collect()
}

#[test]
fn random_sources_have_the_findings_of_plain_ptx() {
    let count = samples(3000);
    let (mut clean, mut doubtful, mut ways) = (0, 0, BTreeMap::new());
    each_case(count, |random| {
        let pair = Pair::new(random);
        let findings = pair.findings();
        clean += u64::from(findings.is_empty());
        doubtful += u64::from(pair.doubtful);
        *ways.entry(pair.way).or_insert(0) += u64::from(!findings.is_empty());
    });
    println!("{count} sources, {clean} without a finding, {doubtful} doubtful, {ways:?}");
    assert!(clean > count / 10 && clean < count / 2, "{clean} of {count}");
    assert!(doubtful < count / 20, "{doubtful} of {count}");
    assert!(WAYS.iter().all(|way| ways[way] > count / 50), "{ways:?}");
}

#[test]
fn fixes_do_what_they_do_in_plain_ptx() {
    let count = samples(1000);
    let mut made = BTreeMap::new();
    each_case(count, |random| {
        let pair = Pair::new(random);
        let (language, options) = (pair.way.language(), options(pair.way.language()));
        for (plain, here) in &pair.findings() {
            for fix in &here.fixes {
                *made.entry(pair.way).or_insert(0) += 1;
                let fixed = fix.apply(&pair.source);
                let after = kinds(&found(&fixed, language));
                let is_same = |other: &vptx::diagnostic::Fix| {
                    let text = other.apply(&pair.plain);
                    let mut expected = check(&text, &self::options(Language::Ptx));
                    expected
                        .retain(|it| !it.code.text().starts_with("V0") || it.statement.is_some());
                    other.applicability == fix.applicability && kinds(&expected) == after
                };
                let told = || format!("{fix:?}\n{}\n{}\n{fixed}", pair.plain, pair.source);
                assert!(plain.fixes.iter().any(is_same), "{after:?} {}", told());
                let count = |text: &str| check_counted(text, &options).0;
                assert!(count(&fixed) >= 1, "the statement is lost {}", told());
            }
        }
    });
    println!("fixes: {made:?}");
    assert!(WAYS.iter().all(|way| made.get(way).is_some_and(|&it| it > 5)), "{made:?}");
}

// Examples.

#[test]
fn statements_that_are_not_read_are_counted() {
    use SkipReason::{Computed, Directive, Disabled, Macro, Malformed, Pasted};
    let python = |source: &str| skips(source, Language::Python);
    let call =
        |text: &str| format!("tl.inline_asm_elementwise({text}, \"=r,r\", [x], t, True, 1)\n");
    for text in ["f\"vadd4 {t};\"", "\"vadd4 %s;\" % t", "\"vadd4\".format(t)", "\"a\" + t", "T"] {
        assert_eq!(python(&call(text)), [Computed], "{text}");
    }
    // A tuple with a text is no text, but a text in brackets is.
    assert_eq!(python(&call("(\"vadd4;\",)")), [Computed]);
    assert_eq!(python(&call("(\"vadd4;\")")), []);
    assert_eq!(python(&call("r'vadd4;'")), []);
    assert_eq!(python("def inline_asm_elementwise(asm: str, constraints: str): ...\n"), []);
    assert_eq!(python("from triton import inline_asm_elementwise\n"), []);
    assert_eq!(python("tl.inline_asm_elementwise(\"vadd4;\", "), [Malformed]);
    let cuda = "asm(\"vadd4.u32 %0;\" : \"=r\"(d));";
    for (before, after, expected) in [
        ("x = '''", "'''", vec![]),
        ("x = '''", "''' % d", vec![Computed]),
        ("x = '''", "'''.replace(a, b)", vec![Computed]),
        ("x = '''", "'''.strip()", vec![]),
        ("x = ('''", "'''\n).replace(a, b)", vec![Computed]),
        ("return ( ('''", "''' ) ) % d", vec![Computed]),
        ("x = ('''", "''')", vec![]),
        ("f('''", "''').replace(a, b)", vec![]),
        ("x = f'''", "'''", vec![Computed]),
        ("x = '''{t} ", "'''", vec![]),
        ("x = '''\n#if 0\n", "'''", vec![Disabled]),
        ("x = '''asm(OP);", "'''", vec![Macro]),
        ("'''", "'''", vec![]),
    ] {
        assert_eq!(python(&format!("{before}{cuda}{after}\n")), expected, "{before}{after}");
    }
    for filled in [
        "{ty}", "{}", "{0:x}", "%(ty)s", "%s", "${ty}", "${a + 1}", "$ty", "$t", "@ty@",
        "{{ ty }}", "<% ty %>",
    ] {
        let source = format!("x = '''asm(\"vadd4.{filled}.u32 %0;\" : \"=r\"(d));'''\n");
        assert_eq!((told(&source, Language::Python), python(&source)), (vec![], vec![Computed]));
    }
    // This is PTX, though not all of it is legal.
    for text in ["{ .reg .b32 t }", "@@ ret;"] {
        let source = format!("x = '''asm(\"{text} vadd4.u32 %0;\" : \"=r\"(d));'''\n");
        assert_eq!((told(&source, Language::Python).is_empty(), python(&source)), (false, vec![]));
    }
    let rust = "asm!(concat!(\"vadd4 {}\", \";\"), in(reg32) a);";
    assert_eq!(skips(rust, Language::Rust), [Computed]);
    let julia = "@asmcall(\"v$(op)4 \\$0;\", \"=r\", UInt32)";
    assert_eq!(skips(julia, Language::Julia), [Computed]);
    let llvm = |text: &str| format!("Base.llvmcall(\"\"\"{text}\"\"\", UInt32, Tuple{{}})");
    assert_eq!(skips(&llvm("call void asm \"v$(op)4;\", \"\"()"), Language::Julia), [Computed]);
    assert_eq!(skips(&llvm("ret $(T) 0"), Language::Julia), []);
    // `#[cfg(…)]` may take away a line or an operand.
    let rust = ["\"vadd4 {};\", #[cfg(a)] in(reg32) a", "#[cfg(a)] \"vadd4 {};\", in(reg32) a"];
    for arguments in rust {
        assert_eq!(skips(&format!("asm!({arguments});"), Language::Rust), [Directive]);
    }
    // Operands that a program fills in.
    let filled = "x = f'''asm(\"vadd4.u32 %0;\" : {outputs} : {inputs});'''\n";
    assert_eq!(python(filled), [Computed]);
    // A string that a macro makes of another one with line breaks.
    let made = "#define S(x) #x\nvoid f() { asm(S(R\"(\nvadd4 d;\n)\")); }";
    assert_eq!(skips(made, Language::Cuda), [Macro]);
    // In a raw string, only a backslash before a quote is an escape.
    let raw = |text: &str| format!("@asmcall(raw\"{text} vadd4 $0;\", \"=r\", UInt32)");
    assert_eq!(skips(&raw(r#"// \" x"#), Language::Julia), [Computed]);
    assert_eq!(skips(&raw(r"/* \ */"), Language::Julia), []);
    // The number that the compiler writes is not known, except where it is a part of a name.
    let unique = |text: &str| {
        skips(&format!("asm(\"vadd4 {text};\" : \"=r\"(d) : \"r\"(a));"), Language::Cuda)
    };
    assert_eq!(unique("%0, %1, %="), [Pasted]);
    assert_eq!(unique("%0, t%=, %1 /* %= */"), []);
    // A quote that is a character starts no string.
    let asm = "asm!(\"vadd4 {};\", in(reg32) a);";
    let characters = format!("let q = ['\"', '\\'', b'\"'];\n{asm}");
    assert!(!told(asm, Language::Rust).is_empty());
    assert_eq!(told(&characters, Language::Rust), told(asm, Language::Rust));
    let lifetime = format!("static S: &'static str = T;\n{asm}");
    assert_eq!(told(&lifetime, Language::Rust), told(asm, Language::Rust));
    // Comments nest, and neither of their marks starts within the other.
    for (before, is_comment) in
        [("/* /* */*/", false), ("/* /*/ */", true), ("/*/ */", false), ("/**/", false)]
    {
        let expected = if is_comment { vec![] } else { told(asm, Language::Rust) };
        assert_eq!(told(&format!("{before} {asm} /* */"), Language::Rust), expected, "{before}");
    }
    // A string without its end ends with the line.
    let wrong = call("'vadd4.u32 $0;'");
    let codes = |source: &str| -> Vec<Code> {
        found(source, Language::Python).iter().map(|it| it.code).collect()
    };
    assert!(!codes(&wrong).is_empty());
    assert_eq!(codes(&format!("s = \"no end\n{wrong}")), codes(&wrong));
    // A quote between digits starts no character, unlike one behind a prefix.
    for before in [
        "auto c = u8'a';",
        "auto c = L'\"';",
        "int n = 1'000'000;",
        "int n = 0xb'a;",
        "float f = 0x1.f'0p3;",
        "float f = .5'0;",
    ] {
        let asm = "asm(\"vadd4 %0;\" : \"=r\"(d));";
        assert!(!told(asm, Language::Cuda).is_empty());
        let found = told(&format!("{before} {asm}"), Language::Cuda);
        assert_eq!(found, told(asm, Language::Cuda), "{before}");
    }
}

/// Compares with an independent reading of constraints: numbers count only constraints that are
/// operands.
#[test]
fn operands_are_those_of_the_constraints() {
    let source = "tl.inline_asm_elementwise('$0 $$1 ${1:x} $3', '=&r, r,~{memory},l,0', a)";
    let host = Language::Python.host().expect("a host");
    let asm = &statements_in(source, host)[0];
    assert_eq!(asm.text, "$0 $1 $1$ $3");
    let list: Vec<_> = asm
        .operands
        .iter()
        .map(|it| {
            (it.constraint.as_str(), it.span.text(source), it.output, it.placeholder.as_str())
        })
        .collect();
    assert_eq!(
        list,
        [
            ("=&r", "=&r", true, "$0"),
            ("r", "r", false, "$1$"),
            ("l", "l", false, "$2"),
            ("0", "0", false, "$3"),
        ]
    );
    // A clobber that is a register belongs to another machine.
    for (clobber, count) in [("memory", 1), ("cc", 1), ("xmm0", 0)] {
        let source = format!("tl.inline_asm_elementwise('$0 $1', '=r,r,~{{{clobber}}}', a)");
        assert_eq!(statements_in(&source, host).len(), count, "{clobber}");
    }
    // An operand may stand at the start.
    let source = "tl.inline_asm_elementwise('${0:x} $1', '=r,r', a)";
    assert_eq!(statements_in(source, host)[0].text, "$0 $1");
    // What LLVM writes for a word without a number is no operand.
    let source = "tl.inline_asm_elementwise('$0 $1 ${:comment}', '=r,r', a)";
    assert_eq!(statements_in(source, host)[0].text, "$0 $1 ");
    let source = "tl.inline_asm_elementwise('vadd4.u32.u32.u32 $0, $1, $1, $1; \
                  vadd4.u32.u32.u32 $0, $0, $1, $1;', '=r,r', a)";
    let check = |source: &str| {
        let options = CheckOptions::default().with_language(Language::Python);
        check(source, &options).iter().map(|it| it.code).collect::<Vec<_>>()
    };
    assert_eq!(check(source), []);
    let read_first = source.replacen("$1, $1, $1", "$0, $1, $1", 1);
    assert_eq!(check(&read_first), [Code::AsmOutputRead]);
    let source = "asm!(\"{} {b} {{{0}}} {c}\", in(reg32) x, b = inout(reg64) y => z, const 7);";
    let asm = &statements_in(source, Language::Rust.host().expect("a host"))[0];
    assert_eq!(asm.text, "%0 %b {%0} %c");
    let list: Vec<_> =
        asm.operands.iter().map(|it| (it.name, &*it.constraint, it.output)).collect();
    assert_eq!(
        list,
        [(None, "in(reg32)", false), (Some("b"), "inout(reg64)", true), (None, "const", false),]
    );
    let places = asm.operands.iter().map(|it| it.span.text(source));
    assert_eq!(places.collect::<Vec<_>>(), ["in(reg32)", "inout(reg64)", "const"]);
    assert_eq!(asm.unknown_operands().map(|(name, _)| name).collect::<Vec<_>>(), ["{c}"]);
}

/// nvcc 13.5: "Asm operand modifier not supported". It takes `%rd1` and `%laneid`.
#[test]
fn registers_with_one_percent_beside_operands_are_found() {
    let source = |word: &str| {
        format!(
            "asm(\"{{.reg .b32 {word}; mov.b32 {word}, %%r2; vmin.s32.s32.s32 %0, {word}, %%r2;}}\" : \
             \"=r\"(d));"
        )
    };
    for word in ["%r1", "%p1", "%f23", "%R1", "%h01", "%s1", "%c0"] {
        let text = source(word);
        assert_eq!(told(&text, Language::Cuda), [format!("V701 {word}")]);
        // The fix writes all of them.
        let fixed = fix(&text, &options(Language::Cuda), Applicability::Unsafe);
        assert_eq!(fixed.text, source(&format!("%{word}")));
        let alone = format!("asm(\"vmin.s32.s32.s32 {word}, {word}, 1;\");");
        assert_eq!(told(&alone, Language::Cuda), [""; 0]);
    }
    // Each finding would have all edits: they are limited.
    let many = "vmin.s32.s32.s32 %r1, %r1, 1;".repeat(40);
    let many = format!("asm(\"{{.reg .b32 %r1; {many} mov.b32 %0, %r1;}}\" : \"=r\"(d));");
    let fixed = fix(&many, &options(Language::Cuda), Applicability::Unsafe);
    assert_eq!((fixed.left.len(), fixed.text), (80, many));
    // clang writes a constant for `%c2`.
    let constant = r#"asm("vadd.u32.u32.u32 %0, %1, %c2;" : "=r"(d) : "r"(a), "n"(5));"#;
    assert_eq!(told(constant, Language::Cuda), [""; 0]);
    // Zig reads `%%` and `%[` only.
    let zig = r#"asm ("{.reg .b32 %r1; mov.b32 %r1, 7; vmin.s32.s32.s32 %[d], %r1, 1;}" : [d] "=r" (-> u32))"#;
    assert_eq!(told(zig, Language::Zig), [""; 0]);
    for word in ["%rd1", "%x", "%r_1", "%%r1"] {
        assert_eq!(told(&source(word), Language::Cuda), [""; 0], "{word}");
    }
}

/// `$0` where `%0` is needed is found, and conversely; ptxas says "Unknown symbol".
#[test]
fn placeholders_of_another_language_are_found() {
    let cases = [
        (Language::Cuda, r#"asm("vmin.s32.s32.s32 %0, «%1», 0;" : "=r"(d) : "r"(a));"#, "$1"),
        // It is not reported as an undeclared register as well.
        (
            Language::Cuda,
            r#"asm("{.reg .b32 t; vmin.s32.s32.s32 t, «%1», 0; mov.b32 %0, t;}" : "=r"(d) : "r"(a));"#,
            "$1",
        ),
        (
            Language::Python,
            "tl.inline_asm_elementwise('vmin.s32.s32.s32 $0, «$1», 0;', '=r,r')",
            "%1",
        ),
        (Language::Julia, r#"@asmcall("vmin.s32.s32.s32 \$0, «\$1», 0;", "=r,r")"#, "%1"),
        (
            Language::Mojo,
            "inlined_assembly['vmin.s32.s32.s32 $0, «$1», 0;', constraints='=r,r'](x)",
            "%1",
        ),
        (
            Language::Rust,
            r#"asm!("vmin.s32.s32.s32 {0}, «{1}», 0;", out(reg32) d, in(reg32) a)"#,
            "%1",
        ),
        (
            Language::Zig,
            r#"asm ("vmin.s32.s32.s32 %[d], «%[a]», 0;" : [d] "=r" (-> u32) : [a] "r" (a))"#,
            "$1",
        ),
        (
            Language::Rust,
            r#"asm!("vmin.s32.s32.s32 {0}, «{1}», 0;", out(reg32) d, in(reg32) a)"#,
            "$1",
        ),
        (
            Language::Python,
            r#"x = '''asm("vmin.s32.s32.s32 %0, «%1», 0;" : "=r"(d) : "r"(a));'''"#,
            "$1",
        ),
    ];
    for (language, marked, wrong) in cases {
        let (before, rest) = marked.split_once('«').expect("a mark");
        let (right, after) = rest.split_once('»').expect("the end of the mark");
        let source = |word: &str| format!("{before}{word}{after}");
        assert_eq!(told(&source(right), language), [""; 0]);
        assert_eq!(told(&source(wrong), language), [format!("V701 {wrong}")]);
        let fixed = fix(&source(wrong), &options(language), Applicability::Unsafe);
        assert_eq!(fixed.text, source(right));
    }
}

#[test]
fn fixes_are_written_as_the_source_writes() {
    let cases = [
        (
            "x = tl.inline_asm_elementwise(\"vadd.sat.s32.s32.s32 $0, $1, $1;\", '=r,r', [x])\n",
            Language::Python,
            "x = tl.inline_asm_elementwise(\"vadd.s32.s32.s32.sat $0, $1, $1;\", '=r,r', [x])\n",
        ),
        (
            "f('asm(\"vadd.sat.s32.s32.s32 %0, %0, %0;\\\\n\" : \"+r\"(d));')\n",
            Language::Python,
            "f('asm(\"vadd.s32.s32.s32.sat %0, %0, %0;\\\\n\" : \"+r\"(d));')\n",
        ),
        (
            "asm(\"{.reg .s32 t0,t%=; vadd.sat.s32.s32.s32 t%=, t0, %1;}\" : \"=r\"(d) : \"r\"(a));",
            Language::Cuda,
            "asm(\"{.reg .s32 t0,t%=; vadd.s32.s32.s32.sat t%=, t0, %1;}\" : \"=r\"(d) : \"r\"(a));",
        ),
        (
            "unsafe { asm!(\"vadd.sat.s32.s32.s32 {}, {}, {0};\", out(reg32) d, in(reg32) a) }",
            Language::Rust,
            "unsafe { asm!(\"vadd.s32.s32.s32.sat {}, {}, {0};\", out(reg32) d, in(reg32) a) }",
        ),
        (
            "asm!(\"vadd.s32.s32.s32 {}, {}, {}, {0};\", out(reg32) d, in(reg32) a, in(reg32) b);",
            Language::Rust,
            "asm!(\"vadd.s32.s32.s32 {}, {}, {};\", out(reg32) d, in(reg32) a, in(reg32) b);",
        ),
        (
            "asm!(\n    \"vadd.sat.s32.s32.s32 {0}, {0},\",\n    \"{};\",\n    inout(reg32) d);",
            Language::Rust,
            "asm!(\n    \"vadd.s32.s32.s32.sat {0}, {0},\",\n    \"{};\",\n    inout(reg32) d);",
        ),
        (
            "asm!(\"vadd.sat.s32.s32.s32 {0},\",\"{0}, {0};\",inout(reg32) d);",
            Language::Rust,
            "asm!(\"vadd.s32.s32.s32.sat {0},\",\"{0}, {0};\",inout(reg32) d);",
        ),
        (
            "@asmcall(\"vadd.sat.s32.s32.s32 \\$0, \\$1, \\$1;\", \"=r,r\", Int32)",
            Language::Julia,
            "@asmcall(\"vadd.s32.s32.s32.sat \\$0, \\$1, \\$1;\", \"=r,r\", Int32)",
        ),
        (
            "tl.inline_asm_elementwise('vadd.sat.s32.s32.s32' + ' $0, $1, $1;', '=r,r', [x])\n",
            Language::Python,
            "tl.inline_asm_elementwise('vadd.s32.s32.s32.sat' + ' $0, $1, $1;', '=r,r', [x])\n",
        ),
    ];
    for (source, language, expected) in cases {
        let fixed = fix(source, &options(language), Applicability::Safe);
        assert_eq!(fixed.text, expected);
    }
}

/// A notebook of cells, each given by its kind and its lines.
fn notebook(cells: &[(&str, &str)]) -> String {
    let mut text = String::from("{\n \"cells\": [\n");
    for (at, (kind, lines)) in cells.iter().enumerate() {
        text.push_str(if at > 0 { ",\n" } else { "" });
        let _ = writeln!(text, "  {{\"cell_type\": \"{kind}\", \"metadata\": {{}}, \"source\": [");
        let lines: Vec<String> = lines.split_inclusive('\n').map(json).collect();
        text.push_str(&lines.join(",\n"));
        text.push_str("\n  ], \"outputs\": [{\"text\": [\"asm(\\\"vadd4.u32 %0;\\\")\"]}]}");
    }
    text + "\n ],\n \"metadata\": {\"language_info\": {\"name\": \"python\"}}, \"nbformat\": 4\n}\n"
}

fn json(text: &str) -> String {
    let escaped = text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    format!("    \"{escaped}\"")
}

#[test]
fn cells_of_notebooks_are_read() {
    let call =
        "y = tl.inline_asm_elementwise(\n    \"vadd4.u32.u32 $0, $1, $1, $1;\", \"=r,r\", [x])";
    let kernel = "src = r'''__global__ void f() {\n  asm(\"vmin.sat.s32.s32.s32 %0, %1, 0;\\n\"\n\
                  : \"=r\"(d) : \"r\"(a)); }'''";
    let source = notebook(&[
        ("markdown", call),
        ("code", "import triton.language as tl\n%matplotlib inline"),
        ("code", call),
        ("code", kernel),
        ("code", "%%bash\nasm(\"vadd4.u32 %0;\" : \"=r\"(d));"),
        ("code", "%%cu\nvoid f() { asm(\"vadd4.u32 %0, %0, %0, %0;\" : \"+r\"(d)); }"),
        ("code", "%%writefile k.cu \nvoid g() { asm(\"vsub4.u32 %0, %0, %0, %0;\" : \"+r\"(d)); }"),
        ("code", "%%writefile k.txt\nvoid g() { asm(\"vsub4.u32 %0;\" : \"+r\"(d)); }"),
        (
            "code",
            "# vptx: ignore[V104]\ntl.inline_asm_elementwise('vadd4.u32.u32 $0, $1, $1, $1;', '=r,r')",
        ),
    ]);
    let expected = ["V104 .u32.u32", "V401 .sat.s32.s32.s32", "V104 .u32", "V104 .u32"];
    assert_eq!(told(&source, Language::Notebook), expected);
    let spaced = source.replace("\": ", "\" :\t");
    assert_eq!(told(&spaced, Language::Notebook), expected);
    // The first finding is in the third cell, the others in the following cells.
    let places: Vec<usize> =
        found(&source, Language::Notebook).iter().map(|it| it.span.start as usize).collect();
    let cells: Vec<usize> = source.match_indices("cell_type").map(|it| it.0).collect();
    let number = |place: usize| cells.iter().filter(|&&start| start < place).count();
    assert_eq!(places.iter().map(|&it| number(it)).collect::<Vec<_>>(), [3, 4, 6, 7]);

    let fixed = fix(&source, &options(Language::Notebook), Applicability::Safe);
    assert_eq!(fixed.text, source.replace("vmin.sat.s32.s32.s32", "vmin.s32.s32.s32.sat"));
    assert_eq!(add_ignores(&source, &options(Language::Notebook)).text, source);
    // A cell has the escapes of JSON, and may be one string instead of a list of lines.
    let one = r#"{"cells":[{"source":"tl.inline_asm_elementwise('v\u0061dd4.u32.u32 $0, $1, $1, $1;','\u003dr,r')","cell_type":"code"}]}"#;
    assert_eq!(told(one, Language::Notebook), ["V104 .u32.u32"]);
    let julia = source.replace("\"python\"", "\"julia\"");
    // In Julia, the statement below the comment is not a call, so the comment suppresses nothing.
    assert_eq!(told(&julia, Language::Notebook), ["V104 .u32", "V104 .u32", "V801 V104"]);
    for (before, _) in source.char_indices().step_by(3) {
        hold(&source[..before], Language::Notebook);
    }
    // What is cut off, or no JSON, is not taken for a notebook without findings.
    let marked = format!("\u{feff}{one}");
    assert_eq!(told(&marked, Language::Notebook), ["V104 .u32.u32"]);
    let broken = one.replacen("{\"source", "<<<<<<< {\"source", 1);
    assert_eq!(told(&broken, Language::Notebook), ["V008 <"]);
    assert_eq!(told(&one[..one.len() - 1], Language::Notebook), ["V104 .u32.u32", "V008 "]);
    assert_eq!(told(&format!("[{one}]"), Language::Notebook), [""; 0]);
}

/// A source without PTX has no statements to check.
#[test]
fn sources_without_ptx_have_no_statements() {
    for language in [Language::Python, Language::Rust, Language::Julia, Language::Zig] {
        assert_eq!(check_counted("x = 1\n", &options(language)), (0, Vec::new()), "{language:?}");
    }
}

/// Text in UTF-16 is not taken for a source without PTX.
#[test]
fn sources_in_utf_16_are_found() {
    for language in [Language::Python, Language::Rust, Language::Zig, Language::Notebook] {
        let text: String = "x = 'vadd'\n".chars().flat_map(|it| [it, '\0']).collect();
        assert_eq!(told(&text, language), ["V008 \0"], "{language:?}");
        assert_eq!(told("x = '\0'", language), [""; 0], "{language:?}");
    }
    // Only Microsoft's tools read C in UTF-16, and most of that has no PTX.
    for (text, expected) in [
        ("#define ICON 101\n", &[][..]),
        ("void f() { asm(\"exit;\"); }\n", &["V008 \0"]),
        ("char *s = \".version 8.0\";\n", &["V008 \0"]),
    ] {
        let wide: String = text.chars().flat_map(|it| [it, '\0']).collect();
        assert_eq!(told(&wide, Language::Cuda), expected, "{text}");
    }
}

#[test]
fn comments_suppress_all_there_is() {
    for (name, source) in corpus("sources") {
        let language = language(&name);
        let done = add_ignores(&source, &options(language));
        assert_eq!(done.left, [], "{name}\n{}", done.text);
        let is_hash = match language {
            Language::Python => name != "modules.py",
            Language::Mojo | Language::Julia => true,
            _ => false,
        };
        let mark = if is_hash { "#" } else { "//" };
        assert!(done.text.contains(&format!("{mark} vptx: ignore[V")), "{name}\n{}", done.text);
    }
    // A comment for the whole of a CUDA source in a string is about that source.
    let inner = "const char *k = R\"(\n__global__ void k(unsigned d) {\n\
                 asm(\"vadd.u32.u32 %0, %0, %0;\" : \"+r\"(d)); }\n)\";\n";
    let outer = "void f(int d) { asm(\"vadd.u32 %0, %0, %0;\" : \"+r\"(d)); }\n";
    let mark = "// vptx: ignore-file[V104]\n";
    let marked = inner.replace("R\"(\n", &format!("R\"(\n{mark}"));
    let one = "V104 .u32.u32";
    for (source, expected) in [
        (format!("{inner}{outer}"), &[one, "V104 .u32"][..]),
        (format!("{marked}{outer}"), &["V104 .u32"]),
        (format!("{outer}{marked}{inner}"), &["V104 .u32", one]),
        (format!("{mark}{inner}{outer}"), &[]),
    ] {
        assert_eq!(told(&source, Language::Cuda), expected, "{source}");
    }
    // Literals that follow each other are one source.
    let halves = "const char *k = R\"(\n__kernel void k(unsigned d) {\n\
                  asm(\"vadd.u32.u32 %0, %0, %0;\" : \"+r\"(d));\n)\"\n  R\"(\n\
                  asm(\"vadd.u32.u32 %0, %0, %0;\" : \"+r\"(d)); }\n)\";\n";
    assert_eq!(told(halves, Language::Cuda), [one, one]);
    // No comment may stand after a backslash or inside a string.
    let source = "x = f(tl.inline_asm_elementwise('vadd.u32.u32 ' \\\n  '$0, $1, $1;', '=r,r'))\n";
    let done = add_ignores(source, &options(Language::Python));
    assert_eq!(done.text, format!("# vptx: ignore[V104]\n{source}"));
    let source = "# vptx: ignore[V104] nothing is here\nx = 1\n";
    assert_eq!(told(source, Language::Python), ["V801 V104"]);
    let source = "s = '# vptx: ignore[V104]'\n#= vptx: ignore[V501] =#\n";
    assert_eq!(told(&source[..source.find('\n').unwrap_or(0)], Language::Python), [""; 0]);
    assert_eq!(told("#= vptx: ignore[V501] =#\n", Language::Julia), ["V801 V501"]);
}

// Arbitrary texts.

/// Checks what must hold for any text.
fn hold(source: &str, language: Language) {
    let inside = |span: Span| source.get(span.range()).is_some();
    let mut last = 0;
    for found in found(source, language) {
        assert!(inside(found.span) && found.span.start >= last, "{found:?}\n{source:?}");
        last = found.span.start;
        assert!(found.labels.iter().all(|label| inside(label.span)), "{found:?}\n{source:?}");
        for fix in &found.fixes {
            assert!(fix.edits.iter().all(|edit| inside(edit.span)), "{found:?}\n{source:?}");
            assert_ne!(fix.apply(source), source, "{found:?}\n{source:?}");
        }
    }
    let host = language.host().expect("a language around PTX");
    assert!(skipped_in(source, host).iter().all(|it| inside(it.span)), "{source:?}");
}

const LANGUAGES: [Language; 7] = [
    Language::Python,
    Language::Mojo,
    Language::Rust,
    Language::Julia,
    Language::Zig,
    Language::Cuda,
    Language::Notebook,
];

const SOUP: &[&str] = &[
    "tl.inline_asm_elementwise(",
    "inlined_assembly[",
    "asm!(",
    "@asmcall(",
    "@asmcall ",
    "llvmcall(",
    "inline_ptx(",
    "inline_asm as x\n",
    "ptx_asm!(",
    "asm as x;",
    "x(",
    "x!(",
    "\nASM = ",
    "ASM",
    "class ASM:\n ",
    " + ",
    "{$w0}",
    "{$rw1}",
    "read_only_args=[",
    "(\"=r\", x)",
    "asm VOL (",
    "asm volatile (",
    "\n\\\\vadd4 %[d];\n",
    " : [d] \"=r\" (-> u32)",
    " : .{ .memory = true })",
    "\n#define VOL volatile\n",
    "\",\n\"",
    "\\ud83d\\ude00",
    "ir.InlineAsm(f, ",
    "asm(",
    "asm=",
    "constraints=",
    "\"",
    "'",
    "\"\"\"",
    "'''",
    "r\"",
    "f\"",
    "b'",
    "raw\"",
    "r#\"",
    "\"#",
    "R\"(",
    ")\"",
    "\\",
    "\\\n",
    "\n",
    "\r\n",
    "#",
    "#=",
    "=#",
    "//",
    "/*",
    "*/",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ",",
    "\"=r,r\"",
    "\"=r,~{m},0\"",
    "$",
    "$0",
    "$$",
    "${",
    "${1:x}",
    "$99999999999999999999",
    "%0",
    "%(a)s",
    "{0}",
    "{}",
    "{a}",
    "{{",
    "}}",
    "in(reg32) a",
    "a = out(reg32) b",
    "inout(",
    "const 1",
    "\\x",
    "\\x41",
    "\\u{6d}",
    "\\N{DIGIT ONE}",
    "\\777",
    "\\0A",
    "call i32 asm ",
    "sideeffect ",
    "vadd4.u32.u32.u32 ",
    "vadd.sat.s32.s32.s32 $0, $1, $1;",
    "vset.u32.u32.lt %0, %0, %0;",
    " $0, $1, $1, $1;",
    ";",
    "__global__ ",
    "\"=r\"(d)",
    ":",
    "é",
    "−",
    "\u{0}",
    "\u{7f}",
    " ",
    "'a'",
    "a'",
    "// vptx: ignore[V501]\n",
    "# vptx: ignore\n",
    "def ",
    "x = ",
    ".format(",
    "% x",
    "concat!(",
];

#[test]
fn any_mixture_is_read() {
    let count = samples(5000);
    each_case(count, |random| {
        let language = random.one_of(&LANGUAGES);
        let mut source = String::from(random.one_of(&[
            "",
            "tl.inline_asm_elementwise('''",
            "inlined_assembly[\"",
            "asm!(\"",
            "@asmcall(\"",
            "Base.llvmcall(\"\"\"call i32 asm \\\"",
            "x = R\"(__global__ asm(\"",
            "{\"cells\":[{\"cell_type\":\"code\",\"source\":[\"tl.inline_asm_elementwise('v",
            "cute.arch.inline_ptx('",
        ]));
        for _ in 0..=random.below(24) {
            source.push_str(random.one_of(SOUP));
        }
        hold(&source, language);
    });
}

/// Calls with templates of all kinds, for random changes.
const TEMPLATES: [(Language, &str); 9] = [
    (
        Language::Rust,
        "asm!(\"vmin2 {a b}; {} {1} {{t}} {a:x} {é}\", a = in(reg32) a, in(reg32) b);",
    ),
    (
        Language::Rust,
        "asm!(r#\"vadd4.u32.u32.u32 {}, {0}, {b}, {b};\"#, out(reg32) é, b = in(reg32) b)",
    ),
    (Language::Rust, "asm!(\"vadd4 {0}\\n\", \"{é}\", é = inout(reg32) d => e, const 7);"),
    (
        Language::Python,
        "tl.inline_asm_elementwise('vadd4 $0, ${1:x}, $$a, ${:uid};', '=r, r', [x])",
    ),
    (Language::Python, "f('asm(\"vadd4 %0, %[é], %%t, %=;\" : \"=r\"(d) : [é] \"r\"(a));')"),
    (
        Language::Mojo,
        "inlined_assembly[\"vadd4 $0, $1, $1, ${2:é};\", Int32, constraints=\"=r,r\"](x)",
    ),
    (Language::Julia, "@asmcall(\"vadd4 \\$0, \\$1, \\$\\{1:x};\", \"=r,r\", Int32)"),
    (
        Language::Julia,
        "Base.llvmcall(\"call i32 asm \\\"vadd4 \\$0, \\$1\\22;\\\", \\\"=r,r\\\"()\")",
    ),
    (
        Language::Cuda,
        "asm(\"vadd4 %0, %[é], %[a], %%r1%=;\\n\" : \"=r\"(d) : [é] \"r\"(a), [a] \"n\"(1));",
    ),
];

/// Characters that have a meaning in templates.
const MARKS: &[&str] = &[
    "{", "}", "{{", "}}", "$", "$$", "${", "%", "%[", "]", ":", " ", "#", "0", "9", "a", "é", "\\",
    "\"", "\n", ",", ";", "", "", "",
];

#[test]
fn spoiled_templates_are_read() {
    let count = samples(4000);
    each_case(count, |random| {
        let (language, source) = random.one_of(&TEMPLATES);
        let mut source = source.to_owned();
        for _ in 0..=random.below(6) {
            let places: Vec<usize> = source.char_indices().map(|(at, _)| at).collect();
            let at = random.below(places.len());
            let end = places.get(at + random.below(2)).map_or(source.len(), |&end| end);
            source.replace_range(places[at]..end, random.one_of(MARKS));
        }
        hold(&source, language);
        for asm in statements_in(&source, language.host().expect("a host")) {
            let inside = |span: Span| asm.span.start <= span.start && span.end <= asm.span.end;
            for (_, span) in asm.unknown_operands() {
                assert!(inside(asm.source_span(span)), "{source:?}");
            }
            asm.spelled(&source);
            for _ in 0..4 {
                let start = random.below(asm.text.len() + 1);
                let length = random.below(asm.text.len() - start + 1).min(9);
                let span = Span::new(start as u32, (start + length) as u32);
                assert!(inside(asm.source_span(span)), "{source:?}");
                if let Some((place, _)) = asm.source_edit(&source, span, random.one_of(MARKS)) {
                    assert!(inside(place), "{source:?}");
                }
            }
        }
        if language == Language::Cuda {
            let mut header = Header::new(vptx::Semantics::Manual);
            port(&source, "video.h", &mut header).text(&source);
        }
    });
}

#[test]
fn the_corpus_can_end_anywhere() {
    for (name, source) in corpus("sources") {
        let ends: Vec<usize> = source.char_indices().map(|(end, _)| end).collect();
        for end in ends.into_iter().step_by(7) {
            hold(&source[..end], language(&name));
        }
    }
}

/// With quadratic time, this test would take hours.
#[test]
fn work_is_linear() {
    let pieces =
        SOUP.iter().copied().chain(["((", "inline_asm_elementwise((", "asm!(\"\",", "f(\""]);
    for piece in pieces {
        let source = piece.repeat((256 << 10) / piece.len());
        for language in LANGUAGES {
            found(&format!("asm {source}"), language);
        }
        found(&format!("asm!(\"v\", {source}"), Language::Rust);
        for start in ["inline_asm_elementwise('''v ", "x = '''asm(\"v "] {
            found(&format!("{start}{source}"), Language::Python);
        }
    }
}

/// In Python, a backslash joins a line with the next, for both kinds of line breaks, and also at
/// the last line.
#[test]
fn joined_lines_are_one() {
    for line_break in ["\n", "\r\n"] {
        for end in ["", "\n"] {
            let source = format!(
                "y = f(x)\\{line_break}+ tl.inline_asm_elementwise\\{line_break}(\\{line_break}\
                 \"vadd.u32.u32 $0, $1, $1;\", \"=r,r\", [x], t, True, 1){end}"
            );
            let found = found(&source, Language::Python);
            let codes: Vec<_> = found.iter().map(|finding| finding.code).collect();
            assert_eq!(codes, [Code::MissingType], "{source}");
        }
    }
}

/// A statement of Python ends with its line, so a parenthesis in the next line is not a call of the
/// text.
#[test]
fn a_named_text_ends_with_its_line() {
    for next in ["(x, y) = 1, 2", "[x, y] = 1, 2", ""] {
        let source = format!(
            "TEXT = \"vadd.u32.u32 $0, $1, $1;\"\n{next}\n\
             tl.inline_asm_elementwise(TEXT, \"=r,r\", [x], t, True, 1)\n"
        );
        let found = found(&source, Language::Python);
        let codes: Vec<_> = found.iter().map(|finding| finding.code).collect();
        assert_eq!(codes, [Code::MissingType], "{source}");
    }
    // In the same line, the bracket is an index of the text.
    let source = "TEXT = \"vadd.u32.u32 $0, $1, $1;\"[x]\n\
                  tl.inline_asm_elementwise(TEXT, \"=r,r\", [x], t, True, 1)\n";
    assert_eq!(found(source, Language::Python), []);
}

/// The bytes of the text count for each call, not those before the text.
#[test]
fn many_calls_may_name_a_text_far_below() {
    let calls = "x = tl.inline_asm_elementwise(TEXT, \"=r,r\", [a], t, True, 1)\n".repeat(200);
    let source = format!("{calls}TEXT = \"vadd.u32.u32 $0, $1, $1;\"\n");
    assert_eq!(told(&source, Language::Python), ["V104 .u32.u32"]);
    assert_eq!(skips(&source, Language::Python), []);
}

/// A name that any code may bind again is no constant.
#[test]
fn a_name_that_is_bound_again_is_no_constant() {
    let call = "x = tl.inline_asm_elementwise(P, \"=r,r\", [a], t, True, 1)\n";
    let source = |more: &str| format!("P = \"vadd.u32.u32 $0, $1, $1;\"\n{more}\n{call}");
    for more in [
        "a; P = f()",
        "if c: P = f()",
        "g(lambda P: P)",
        "h = lambda a, *P: a",
        "[f(P) for P in ops]",
        "[f(P) for a, (b, P) in ops]",
        "g((P := h()))",
        "q = P = g()",
        "[q, *P] = g()",
        "(P) = g()",
        "case [P]: pass",
        "case Z() as P: pass",
        "class P: pass",
        "x = ';'; P = g(b == c)",
        "P: Final[str] = f()",
        "P: 'str' = f()",
        "x: int; P = f()",
        "g(lambda s='a', P=2: P)",
    ] {
        assert_eq!(told(&source(more), Language::Python), [""; 0], "{more}");
        assert_eq!(skips(&source(more), Language::Python), [SkipReason::Computed], "{more}");
    }
    for more in [
        "f(P=P)",
        "f(g(a), P=P)",
        "q = P == r",
        "q = (P, [P])",
        "s = 'P = 1; lambda P: 2'",
        "h = lambda a: P",
        "[f(P) for a in P]",
        "if P == 'a': q = 1",
        "q: str = P # P = 1",
        "d[P] = 1 if P != q else 2",
        "case = P",
        "match = f(P)",
        "match: str = f(P)",
        "assert P != 1, x",
        "k = lambda s=P: f(s)",
        "x = y \\é = 1",
    ] {
        assert_eq!(told(&source(more), Language::Python), ["V104 .u32.u32"], "{more}");
    }
    // A list of parameters follows the name.
    let mojo = "alias P = \"vadd.u32.u32 $0, $1, $1;\"\nfn g():\n    \
                inlined_assembly[P, Int, constraints=\"=r,r\"](x)\n";
    for before in ["", "x\n", "é é é\n", "fn f():\n    pass\n"] {
        for alias in ["alias kernel_size_of[n: Int] = 3\n", "alias kernel_of_long, b = f()\n"] {
            let source = format!("{before}{alias}{mojo}");
            assert_eq!(told(&source, Language::Mojo), ["V104 .u32.u32"], "{source}");
        }
    }
}

/// Only an assignment gives a name another text.
#[test]
fn a_name_that_is_read_stays_a_constant() {
    let told = |line: &str| {
        let source = format!(
            "TEXT = \"vadd.u32.u32 $0, $1, $1;\"\n{line}\n\
             tl.inline_asm_elementwise(TEXT, \"=r,r\", [x], t, True, 1)\n"
        );
        found(&source, Language::Python).iter().map(|it| it.code).collect::<Vec<_>>()
    };
    for line in ["TEXT", "TEXT == x", "TEXT.strip()", "TEXT[0]", "TEXT(x)", "TEXT: str"] {
        assert_eq!(told(line), [Code::MissingType], "{line}");
    }
    for line in ["TEXT = x", "TEXT += x", "TEXT, y = x", "TEXT: str = x"] {
        assert_eq!(told(line), [], "{line}");
    }
    // A statement that is one word ends with its line.
    for first in ["x\n", "pass # P\n", "def f():\n    pass\n\n"] {
        let source = format!(
            "{first}TEXT = \"vadd.u32.u32 $0, $1, $1;\"\n\
             tl.inline_asm_elementwise(TEXT, \"=r,r\", [x], t, True, 1)\n"
        );
        let codes: Vec<_> = found(&source, Language::Python).iter().map(|it| it.code).collect();
        assert_eq!(codes, [Code::MissingType], "{first}");
    }
}

/// Python's `%` may format a text far from its literal: each operand is `%%0` then. In CUDA, that
/// is a register.
#[test]
fn sources_with_two_percents_are_formatted_later() {
    let source = |operands: &str| {
        format!(
            "code = r\"\"\"\n__device__ int f(int a) {{ int d;\n\
             asm(\"vmin.s32.s32.s33 {operands};\" : \"=r\"(d) : \"r\"(a));\n\
             return d; }}\n\"\"\"\ncode = code % values\n"
        )
    };
    let read = |operands: &str| {
        let source = source(operands);
        (found(&source, Language::Python).len(), skips(&source, Language::Python))
    };
    assert_eq!(read("%%0, %%1, %%1"), (0, vec![SkipReason::Computed]));
    assert_eq!(read("%%[d], %%[a], 1"), (0, vec![SkipReason::Computed]));
    assert_eq!(read("%0, %1, %1").1, []);
    assert_eq!(read("%0, %1, %%1").1, []);
    assert_eq!(read("%0, %%laneid, %1").1, []);
    // `%%%1` is a percent sign and an operand.
    assert_eq!(read("%%0, %%%1, 1").1, []);
    assert!(!found(&source("%%0, %%1, %%1"), Language::Cuda).is_empty());
}

/// A text of a class is known by the name of the class or by `self`: another object may have
/// another text of this name.
#[test]
fn texts_of_classes_are_read_through_their_class() {
    use SkipReason::Computed;
    for (name, is_read) in [
        ("Kernel.TEXT", true),
        ("self.TEXT", true),
        ("other.TEXT", false),
        ("TEXT", false),
        ("Kernel.MODULE", false),
        ("MODULE", true),
    ] {
        let source = format!(
            "MODULE = \"vadd.u32.u32 $0, $1, $1;\"\n\
             class Kernel:\n    TEXT = \"vadd.u32.u32 $0, $1, $1;\"\n    def f(self, x):\n        \
             tl.inline_asm_elementwise({name}, \"=r,r\", [x], t, True, 1)\n"
        );
        let python = Language::Python;
        let (told, skipped) = if is_read { (1, vec![]) } else { (0, vec![Computed]) };
        assert_eq!(
            (found(&source, python).len(), skips(&source, python)),
            (told, skipped),
            "{name}"
        );
    }
}

/// Texts with `+` between them are one text, also in parentheses with blanks and line breaks.
#[test]
fn joined_texts_are_one() {
    for text in [
        "HEAD + '$0, $1, $1;'",
        "(HEAD + '$0, $1, $1;')",
        "( HEAD + '$0, $1, $1;' )",
        "(\n    HEAD\n    + '$0, $1, $1;'\n)",
        "(HEAD + ('$0, ' + '$1, $1;' # both\n))",
    ] {
        let source = format!(
            "HEAD = 'vadd.u32.u32 '\ntl.inline_asm_elementwise({text}, '=r,r', [x], t, True, 1)\n"
        );
        let codes: Vec<_> = found(&source, Language::Python).iter().map(|it| it.code).collect();
        assert_eq!(codes, [Code::MissingType], "{text}");
    }
}

/// `or` before a quote is an operator and no prefix, so no other string follows the text.
#[test]
fn an_operator_before_a_quote_is_no_prefix() {
    let source = "tl.inline_asm_elementwise(\"vadd.u32.u32 $0, $1, $1;\" or\"ret;\", '=r,r', \
                  [x], t, True, 1)\n";
    assert_eq!(told(source, Language::Python), [""; 0]);
    assert_eq!(skips(source, Language::Python), [SkipReason::Computed]);
}

/// A call that is cut off does not hide the next one.
#[test]
fn calls_after_an_open_bracket_are_read() {
    let next =
        "tl.inline_asm_elementwise(\"vadd.u32.u32 $0, $1, $1;\", \"=r,r\", [x], t, True, 1)\n";
    let source = format!("tl.inline_asm_elementwise(\"vadd4;\",\n{next}");
    assert_eq!(told(&source, Language::Python).len(), 1);
    assert_eq!(skips(&source, Language::Python), [SkipReason::Malformed]);
}

/// In Julia, only macros may be called without parentheses.
#[test]
fn functions_of_julia_have_parentheses() {
    let text = r#""call i32 asm \"vadd.u32.u32 \$0, \$1, \$1;\", \"=r,r\"(i32 %0)""#;
    for (source, count) in [
        (format!("Base.llvmcall({text}, UInt32, Tuple{{UInt32}}, x)"), 1),
        (format!("[llvmcall {text}]"), 0),
    ] {
        assert_eq!(told(&source, Language::Julia).len(), count, "{source}");
    }
}

/// A command of Julia holds no calls, and its quotes start no string.
#[test]
fn commands_of_julia_are_skipped() {
    let call = r#"@asmcall("vadd.u32.u32 \$0, \$1, \$1;", "=r,r", UInt32)"#;
    for command in ["cat k_1.cu", "echo \"", "echo '", call] {
        for source in [format!("run(`{command}`); {call}"), format!("{call}; c = `{command}`")] {
            assert_eq!(told(&source, Language::Julia), ["V104 .u32.u32"], "{source}");
        }
    }
}

/// The quote in a character, escaped or not, starts no string. What stands directly behind the
/// character is read.
#[test]
fn quotes_in_characters_start_no_string() {
    let rust = r#"asm!("vadd.u32.u32 {0}, {1}, {1};", out(reg32) d, in(reg32) a)"#;
    let julia = r#"@asmcall("vadd.u32.u32 \$0, \$1, \$1;", "=r,r", UInt32)"#;
    let zig = r#"asm ("vadd.u32.u32 %[d], %[a], %[a];" : [d] "=r" (-> u32) : [a] "r" (a))"#;
    for (language, call, comment) in
        [(Language::Rust, rust, "//"), (Language::Julia, julia, "#"), (Language::Zig, zig, "//")]
    {
        for character in [r#"'"'"#, r#"'\"'"#] {
            let source = format!("f(c, {character}); {call}");
            assert_eq!(told(&source, language), ["V104 .u32.u32"], "{source}");
            let source = format!("f(c, {character}{comment} {call}\n)");
            assert_eq!(told(&source, language), [""; 0], "{source}");
        }
    }
}

/// In brackets, lines of Python and Mojo may break around the `=` of an argument.
#[test]
fn names_of_arguments_have_lines_as_they_like() {
    for equals in ["=", " = ", "\n    =", "=\n    ", " # the text\n = # again\n"] {
        let source = format!(
            "tl.inline_asm_elementwise(\n    asm{equals}\"vadd.u32.u32 $0, $1, $1;\",\n    \
             constraints{equals}\"=r,r\", args=[x], dtype=t, is_pure=True, pack=1)\n"
        );
        assert_eq!(told(&source, Language::Python), ["V104 .u32.u32"], "{source}");
    }
}

/// Operands of a role are those of its list, and `None` is a list without operands.
#[test]
fn none_is_no_operand() {
    let told = |list: &str| {
        let source = format!(
            "cute.arch.inline_ptx(\"vmin.s32.s32.s32 {{$w0}}, {{$rw0}}, 0;\", \
             read_write_args={list}, write_only_types=[Int32])\n"
        );
        told(&source, Language::Python)
    };
    assert_eq!(told("[x]"), [""; 0]);
    for list in ["None", "[]"] {
        assert_eq!(told(list), ["V701 {$rw0}"], "{list}");
    }
}

/// The text itself shows that its operands have `$`. Then `%` starts the name of a register.
#[test]
fn operands_of_unknown_lists_are_those_of_the_text() {
    let source = "cute.arch.inline_ptx(\"mov.u32 {$w0}, %laneid; vmin.s32.s32 {$w0}, {$w0}, 0;\", \
                  *rest)\n";
    assert_eq!(told(source, Language::Python), ["V104 .s32.s32"]);
}

/// Other brackets are vectors of PTX.
#[test]
fn names_of_roles_have_a_number() {
    for (operand, codes) in [
        ("{$r0};", vec![]),
        ("{$r1};", vec!["V701"]),
        ("{$r};", vec!["V214"]),
        ("{$ré};", vec!["V214"]),
        ("{$r+0};", vec!["V214"]),
        ("{$r", vec!["V006"]),
    ] {
        let source = format!(
            "cute.arch.inline_ptx(\"vmin.s32.s32.s32 {{$w0}}, 0, {operand}\", \
             write_only_types=[Int32], read_only_args=[x])\n"
        );
        let found: Vec<_> =
            found(&source, Language::Python).iter().map(|it| it.code.text()).collect();
        assert_eq!(found, codes, "{operand}");
    }
}
