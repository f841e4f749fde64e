//! The normal form: one text for modules that say the same.

use std::collections::HashMap;
use std::fmt::Write;
use std::fs;
use std::path::PathBuf;

use crate::support::ptx_files;
use vptx::print::{FormatOptions, NormalOptions, format, normalize};
use vptx::source::decode;
use vptx::syntax::{Token, TokenKind, statement_tokens};

fn normal(source: &str) -> String {
    normalize(source, &NormalOptions::default())
        .unwrap_or_else(|error| panic!("{:?}\n{source}", error.diagnostics()))
}

/// Numbers that look random.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 33) as usize % end
    }

    fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }
}

/// Another text of the same module. It knows nothing of scopes: it takes modules in which
/// a compiler numbered all registers of a function.
struct Variant<'s> {
    source: &'s str,
    numbers: Numbers,
    text: String,
    /// New names of the labels and registers of the function.
    names: HashMap<String, String>,
    depth: usize,
}

impl<'s> Variant<'s> {
    fn of(source: &'s str, seed: u64) -> String {
        let numbers = Numbers(seed);
        let names = HashMap::new();
        let mut variant = Variant { source, numbers, text: String::new(), names, depth: 0 };
        variant.write(&statement_tokens(source));
        variant.text
    }

    fn text(&self, token: &Token) -> &'s str {
        token.span.text(self.source)
    }

    fn write(&mut self, tokens: &[Token]) {
        let mut at = 0;
        let mut end = 0;
        let (mut is_data, mut in_section) = (false, false);
        while at < tokens.len() {
            let token = &tokens[at];
            let gap = token.span.start as usize > end;
            end = token.span.end as usize;
            let own = self.text(token);
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
                end = tokens[at - 1].span.end as usize;
                continue;
            }
            let ends_statement = own == ";" && self.depth > 0 && !in_section;
            let text = match token.kind {
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

    /// Chooses names for the labels of the body that starts here.
    fn enter(&mut self, tokens: &[Token]) {
        let mut labels = Vec::new();
        let mut depth = 1;
        for pair in tokens.windows(2) {
            match self.text(&pair[0]) {
                "{" => depth += 1,
                "}" => depth -= 1,
                name if self.text(&pair[1]) == ":" => labels.push(name),
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

    /// Writes `.reg .b32 %r<9>;` in another way: shuffled, shifted, or one by one.
    fn ranged(&mut self, tokens: &[Token], at: &mut usize) -> bool {
        let [_, ty, name, less, count, more, end, ..] = &tokens[*at..] else { return false };
        let is_range = self.text(less) == "<" && self.text(more) == ">" && self.text(end) == ";";
        if !is_range || ty.kind != TokenKind::Dot {
            return false;
        }
        let count: usize = self.text(count).parse().unwrap();
        let (ty, base) = (self.text(ty), self.text(name));
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

/// Modules of compilers, of a size that many variants of can be made.
fn modules() -> Vec<(PathBuf, String)> {
    let folders = ["ptx/nvcc", "ptx/clang", "ptx/triton"];
    let files = folders.into_iter().flat_map(ptx_files);
    let read = files.map(|path| {
        let text = fs::read_to_string(&path).unwrap();
        (path, text)
    });
    // Debug data names labels of functions.
    read.filter(|(_, text)| text.len() < 40_000 && !text.contains(".section")).collect()
}

fn variants_agree(count: usize) {
    let modules = modules();
    assert!(modules.len() > 8, "{}", modules.len());
    let expected: Vec<String> = modules.iter().map(|(_, text)| normal(text)).collect();
    for seed in 0..count {
        let at = seed % modules.len();
        let variant = Variant::of(&modules[at].1, seed as u64);
        let found = normal(&variant);
        if found != expected[at] {
            let lines = found.lines().zip(expected[at].lines());
            let first = lines.enumerate().find(|(_, (one, other))| one != other);
            panic!("{}, seed {seed}: {first:?}", modules[at].0.display());
        }
    }
}

#[test]
fn variants_have_one_normal_form() {
    variants_agree(200);
}

/// Minutes: `cargo test --test library -- --ignored normal`
#[test]
#[ignore = "takes minutes"]
fn ten_thousand_variants_have_one_normal_form() {
    variants_agree(10_000);
}

#[test]
fn the_normal_form_is_its_own() {
    for path in ["ptx", "format"].into_iter().flat_map(ptx_files) {
        let text = decode(fs::read(&path).unwrap());
        let path = path.display();
        for keep in 0..8 {
            let mut options = NormalOptions::default();
            options.keep_names = keep & 1 > 0;
            options.keep_comments = keep & 2 > 0;
            options.keep_debug = keep & 4 > 0;
            let Ok(once) = normalize(&text, &options) else { continue };
            let twice = normalize(&once, &options).unwrap();
            assert!(once == twice, "{path}: {options:?}");
            assert_eq!(format(&once, &FormatOptions::default()).unwrap(), once, "{path}");
        }
    }
}

/// Each pair has one normal form.
#[test]
fn the_same_said_otherwise() {
    let body = |text: &str| {
        format!(".version 8.5\n.target sm_90\n.entry k(.param .u64 p) {{\n{text}\n}}\n")
    };
    let pairs = [
        // Declarations that are split, merged, unused, or in an inner block.
        (
            ".reg .b32 a, b; mov.b32 a, 1; mov.b32 b, a;",
            ".reg .b32 %r<9>; .reg .b32 x; mov.b32 %r3, 1; mov.b32 %r08, %r3;",
        ),
        ("{ .reg .b32 a; mov.b32 a, 1; }", ".reg .b32 a; { mov.b32 a, 1; }"),
        // The inner register is another one.
        (
            ".reg .b32 a; mov.b32 a, 1; { .reg .b32 a; mov.b32 a, 2; }",
            ".reg .b32 a, b; mov.b32 a, 1; { mov.b32 b, 2; }",
        ),
        // Labels, used and unused.
        ("L: bra L; M: ret;", "$x: bra $x; ret;"),
        ("bra L; { L: ret; } L: ret;", "bra M; { ret; } M: ret;"),
        // Constants.
        (
            ".reg .b32 a; mov.b32 a, 0x10; mov.b32 a, 020; mov.b32 a, 16U;",
            ".reg .b32 a; mov.b32 a, 16; mov.b32 a, 0b10000; mov.b32 a, 16;",
        ),
        (
            ".reg .f32 a; mov.f32 a, 0f3f800000; mov.f32 a, 1.5;",
            ".reg .f32 a; mov.f32 a, 0F3F800000; mov.f32 a, 0d3ff8000000000000;",
        ),
        // Video instructions.
        (
            ".reg .b32 a; vadd4.u32.u32.u32.sat a.b3210, a.b3210, a.b7654, a;",
            ".reg .b32 a; vadd4.sat.u32.u32.u32 a, a, a, a;",
        ),
        // Debug data, comments, layout.
        (".loc 1 2 3\n ret; // x", "ret\n;"),
        (".reg .pred %p; @ ! %p bra L; L: ret;", ".reg .pred q; @!q bra  L;\nL:\nret;"),
    ];
    for (one, other) in pairs {
        assert_eq!(normal(&body(one)), normal(&body(other)), "{one}");
    }
    let different = [
        ("bra L; L: M: ret;", "bra M; L: ret; M: ret;"),
        (".reg .b32 a, b; mov.b32 a, b;", ".reg .b32 a; mov.b32 a, a;"),
        (".reg .b32 a; mov.b32 a, 1;", ".reg .u32 a; mov.b32 a, 1;"),
        (".pragma \"a\";", ".pragma \"b\";"),
    ];
    for (one, other) in different {
        assert_ne!(normal(&body(one)), normal(&body(other)), "{one}");
    }
}

/// Exported names stay; a new name is never one that stays.
#[test]
fn exported_names_stay() {
    let text = "\
.version 8.5
.target sm_90
.global .u32 inner;
.visible .global .u32 global_1;
.extern .shared .b8 %r1[];
.weak .func param_1(.param .b32 x);
.visible .entry k(.param .u64 y) {
    .reg .b32 a;
    ld.global.u32 a, [inner];
    ld.global.u32 a, [global_1];
    ld.shared.u32 a, [%r1];
    mov.u32 a, %tid.x;
}
";
    let expected = "\
.version 8.5
.target sm_90
.global .u32 global_1_;
.visible .global .u32 global_1;
.extern .shared .b8 %r1[];
.weak .func param_1(.param .b32 param_1_);
.visible .entry k(.param .u64 param_1_)
{
    .reg .b32 %r_<2>;
    ld.global.u32 %r_1, [global_1_];
    ld.global.u32 %r_1, [global_1];
    ld.shared.u32 %r_1, [%r1];
    mov.u32 %r_1, %tid.x;
}
";
    assert_eq!(normal(text), expected);
    let error = normalize(".func f() { ret;", &NormalOptions::default()).unwrap_err();
    assert!(!error.diagnostics().is_empty());
}

const PIECES: &[&str] = &[
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

/// Whatever the text: an error, or a text that is its own normal form.
#[test]
fn any_text_has_its_normal_form_or_none() {
    let mut numbers = Numbers(7);
    let mut count = 0;
    for _ in 0..20_000 {
        let length = numbers.below(14);
        let text: String = (0..length).map(|_| PIECES[numbers.below(PIECES.len())]).collect();
        let mut options = NormalOptions::default();
        options.keep_names = numbers.one_in(3);
        options.keep_comments = numbers.one_in(3);
        options.keep_debug = numbers.one_in(3);
        if let Ok(form) = normalize(&text, &options) {
            assert_eq!(format(&form, &FormatOptions::default()).as_ref(), Ok(&form), "{text}");
            assert_eq!(normalize(&form, &options).as_ref(), Ok(&form), "{text}");
            count += usize::from(!form.is_empty());
        }
    }
    assert!(count > 1000, "{count}");
}
