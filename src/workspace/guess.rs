//! Guesses the language of an unnamed text from its contents.

use crate::check::{Language, is_module, is_wanted};
use crate::embed::{Piece, pieces};
use crate::isa::Mnemonic;
use crate::source::decoded;
use crate::syntax::lexer::word_end;

/// The language of a text. The text is PTX if one of its statements is plainly PTX, or
/// if it is empty. Otherwise it is CUDA if it has words that only C-like languages
/// have, and none of another language.
pub(crate) fn language(text: &[u8]) -> Option<Language> {
    // Binary data counts as PTX, so that it is reported as binary data.
    if is_module(text) || memchr::memchr(0, text).is_some() {
        return Some(Language::Ptx);
    }
    let source = decoded(text);
    let mut seen = Seen::default();
    let mut starts = true;
    for piece in pieces(&source) {
        match piece {
            Piece::Code(code) => starts = seen.code(code.as_bytes(), starts),
            Piece::Comment => {}
            Piece::Literal => {
                seen.something = true;
                starts = false;
            }
        }
        if seen.ptx {
            break;
        }
    }
    match seen {
        // Text that looks like PTX may be in a Python string.
        Seen { ptx: true, .. } if has_long_strings(&source) => None,
        Seen { ptx: true, .. } | Seen { something: false, .. } => Some(Language::Ptx),
        Seen { words: Words::OfC, .. } => Some(Language::Cuda),
        _ => None,
    }
}

fn has_long_strings(source: &str) -> bool {
    source.contains("\"\"\"") || source.contains("'''")
}

/// The languages around PTX whose words were seen. Words of other languages than C count more,
/// because Zig has words of C, too.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Words {
    #[default]
    None,
    OfC,
    /// `fn name(` of Rust or Zig.
    OfOthers,
}

/// The signs of a language that were seen in a text.
#[derive(Default)]
struct Seen {
    /// A statement of PTX.
    ptx: bool,
    words: Words,
    /// Anything but white space, braces and semicolons.
    something: bool,
}

impl Seen {
    fn note(&mut self, are_seen: bool, words: Words) {
        if are_seen {
            self.words = self.words.max(words);
        }
    }

    /// Examines code without comments and literals, up to a statement of PTX. `starts` says whether
    /// a statement may start at the beginning of the code. The result says whether a statement may
    /// start after the end of the code.
    fn code(&mut self, code: &[u8], mut starts: bool) -> bool {
        let mut at = 0;
        while let Some(&byte) = code.get(at) {
            let next = match byte {
                b'\n' | b';' | b'{' | b'}' => {
                    starts = true;
                    at += 1;
                    continue;
                }
                byte if byte.is_ascii_whitespace() => {
                    at += 1;
                    continue;
                }
                // A guard predicate. The instruction follows it.
                b'@' if starts => {
                    let name =
                        at + 1 + code[at + 1..].iter().take_while(|b| b"!%".contains(b)).count();
                    self.something = true;
                    at = word_end(code, name);
                    continue;
                }
                b'#' if starts => {
                    self.note(is_preprocessor(&code[at + 1..]), Words::OfC);
                    at + 1
                }
                b'.' if starts && is_directive(&code[at + 1..]) => {
                    self.ptx = true;
                    return starts;
                }
                byte if is_name(byte) => {
                    let end = name_end(code, at);
                    let (word, rest) = (&code[at..end], &code[end..]);
                    if starts && is_instruction(word, rest) {
                        self.ptx = true;
                        return starts;
                    }
                    self.note(is_source(word, rest, starts), Words::OfC);
                    self.note(word == b"fn" && names_function(rest), Words::OfOthers);
                    end
                }
                _ => at + 1,
            };
            self.something = true;
            // A statement may follow a label.
            starts = starts && byte != b'#' && code.get(next) == Some(&b':');
            at = next + usize::from(starts);
        }
        starts
    }
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'%') || byte >= 0x80
}

fn name_end(code: &[u8], at: usize) -> usize {
    at + code[at..].iter().take_while(|&&byte| is_name(byte)).count()
}

/// The first byte that is not white space.
fn next(rest: &[u8]) -> Option<u8> {
    rest.iter().copied().find(|byte| !byte.is_ascii_whitespace())
}

/// Types of PTX instructions that other languages do not use as words.
const TYPES: [&[u8]; 14] = [
    b"b8", b"b16", b"b32", b"b64", b"u8", b"u16", b"u32", b"u64", b"s8", b"s16", b"s32", b"s64",
    b"f32", b"f64",
];

/// Whether a word is the opcode of an instruction. The word is one if it has a mnemonic or types of
/// PTX, or is one of a few opcodes that are rare in other languages.
fn is_instruction(word: &[u8], mut rest: &[u8]) -> bool {
    let (mut modifiers, mut types) = (0, 0);
    while let Some(modifier) = rest.strip_prefix(b".") {
        let end = word_end(modifier, 0);
        modifiers += usize::from(end > 0);
        types += usize::from(TYPES.contains(&&modifier[..end]));
        rest = &modifier[end..];
        if end == 0 {
            break;
        }
    }
    // Before these, the word belongs to a call, an assignment or a declaration.
    if matches!(next(rest), Some(b'(' | b'=' | b')' | b':')) {
        return false;
    }
    let word = std::str::from_utf8(word).unwrap_or_default();
    // Only the first 200 bytes are examined, because a line may have many words.
    let near = &rest[..rest.len().min(200)];
    let line = near.split(|&byte| byte == b'\n').next().unwrap_or_default();
    let line_ends = line.contains(&b';');
    match word {
        _ if Mnemonic::from_text(word).is_some() => true,
        _ if modifiers > 0 && (types > 0 || is_wanted(word)) => true,
        "ret" | "brkpt" => next(rest) == Some(b';'),
        "bra" => line_ends,
        _ if is_wanted(word) => line_ends && line.contains(&b','),
        _ => modifiers > 0 && line_ends && OPCODES.contains(&word),
    }
}

/// Opcodes of instructions that need no type.
const OPCODES: [&str; 20] = [
    "bar",
    "barrier",
    "bra",
    "brx",
    "call",
    "cp",
    "discard",
    "fence",
    "griddepcontrol",
    "ld",
    "mbarrier",
    "membar",
    "mov",
    "prefetch",
    "ret",
    "setmaxnreg",
    "st",
    "tcgen05",
    "vote",
    "wgmma",
];

/// Whether a directive of PTX starts after a dot.
fn is_directive(rest: &[u8]) -> bool {
    let end = word_end(rest, 0);
    let (word, rest) = rest.split_at(end);
    let next = next(rest);
    match word {
        b"version" | b"address_size" => next.is_some_and(|byte| byte.is_ascii_digit()),
        b"target" => rest.trim_ascii_start().starts_with(b"sm_"),
        b"entry" | b"func" => next.is_some_and(|byte| byte == b'(' || is_name(byte)),
        b"visible" | b"extern" | b"weak" | b"common" | b"reg" | b"param" | b"shared" | b"const"
        | b"local" | b"global" => next == Some(b'.'),
        _ => false,
    }
}

/// Whether the text after a `#` is a directive of the C preprocessor. In other
/// languages, `#` starts a comment.
fn is_preprocessor(rest: &[u8]) -> bool {
    let end = word_end(rest, 0);
    let (word, rest) = rest.split_at(end);
    match word {
        b"include" => matches!(next(rest), None | Some(b'<')),
        b"define" | b"ifdef" | b"ifndef" | b"undef" | b"pragma" => {
            rest.first().is_some_and(|&byte| byte == b' ' || byte == b'\t')
        }
        _ => false,
    }
}

/// Whether the word can stand in this place only in C-like languages.
fn is_source(word: &[u8], rest: &[u8], starts: bool) -> bool {
    match word {
        b"asm" | b"__asm" | b"__asm__" => {
            let rest = rest.trim_ascii_start();
            rest.starts_with(b"(")
                || rest.starts_with(b"volatile")
                || rest.starts_with(b"__volatile")
        }
        b"__global__" | b"__device__" | b"__host__" | b"__constant__" | b"__shared__"
        | b"__forceinline__" | b"__inline__" | b"__kernel" => true,
        b"void" | b"unsigned" | b"char" | b"int" | b"float" | b"double" | b"typedef"
        | b"template" | b"namespace" | b"extern" | b"uint32_t" | b"int32_t" => {
            // The code ends where a literal follows, as in `extern "C"`.
            starts && rest.first().is_none_or(|&byte| b" \t\n\r*<".contains(&byte))
        }
        _ => false,
    }
}

/// Whether a name and its parameters follow.
fn names_function(rest: &[u8]) -> bool {
    let name = rest.trim_ascii_start();
    let end = name_end(name, 0);
    end > 0 && matches!(next(&name[end..]), Some(b'(' | b'<'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_start_with_a_version() {
        let module = [
            ".version 8.0\n.target sm_90",
            "\u{feff}.version 8.0",
            "// a\n/* b */\n\t.version\t1.4",
            "# 1 \"a.cu\"\n.version /* of */ 8.0",
        ];
        for text in module {
            assert!(is_module(text.as_bytes()), "{text}");
        }
        let other = [
            "",
            ".version",
            ".version \"01.01\"",
            ".version8",
            ".versions 8",
            "// .version 8.0",
            ".target sm_90\n.version 8.0",
            "x = 1\n.version 8.0",
            "/* .version 8.0",
        ];
        for text in other {
            assert!(!is_module(text.as_bytes()), "{text}");
        }
    }

    fn all_are(expected: Option<Language>, texts: &[&str]) {
        for text in texts {
            assert_eq!(language(text.as_bytes()), expected, "{text:?}");
        }
    }

    #[test]
    fn statements_are_ptx_with_errors_too() {
        all_are(
            Some(Language::Ptx),
            &[
                "",
                " \n// nothing\n{ ; }",
                "\0",
                "vadd.u32.u32.u32 d, a, b;",
                "vadd.u32.u32.u32 d, a, b",
                "vadd d, a, b;",
                "vad.u32 d, a, b;",
                "vad d, a, b;",
                "VADD.u32.u32.u32 d, a, b;",
                "vadd",
                "\"x\"\nvadd4.q d;",
                "@!%p1 vmin2.s32.s32.s32 d, a, b, c;",
                "L1: vset.u32.u32.lt d, a, b;",
                "{vadd.sat.u32.u32.u32 d,a,b;\n\n ret ;}",
                "/* a */ add.u32 d, a, b;",
                "adx.cc.u32 d, a, b;",
                "{ret;}",
                "bra $L1;",
                "bar.sync 0;",
                ".reg .b32 d;",
                ".visible .entry f()",
                ".func (.reg .b32 r) f()",
                ".func f(.param .u64 p)",
                ".target sm_90",
                "#define N 4\n.version 8.0",
                "#include \"a.h\"\nvadd.u32.u32.u32 d, a, b;",
                // An unclosed comment is reported as an error.
                "/* a",
            ],
        );
    }

    #[test]
    fn sources_are_seen() {
        all_are(
            Some(Language::Cuda),
            &[
                "asm(\"vadd.u32.u32 %0, %1, %2;\" : \"=r\"(d) : \"r\"(a), \"r\"(b));",
                "if (x) asm volatile (\"ret;\");",
                "  __asm__ __volatile__(\n\"vadd.u32.u32.u32 %0, %1, %2;\"\n);",
                "#include <cuda.h>\n",
                "#include \"a.h\"\n",
                "#define X 1\n",
                "#define\tX\t1\n",
                "__global__ void f() {}",
                "static __device__ int f(int a)\n{\n\treturn a;\n}",
                "extern \"C\" void f();",
                "unsigned d;",
                "unsigned fn(int), x = fn(1);",
                "template <typename T>\nT f();",
                // Text that looks like PTX is part of a literal.
                "asm(R\"(\nvadd.u32.u32.u32 %0, %1, %2;\n)\");",
                "void f()\n{\n\tasm(\"\\\nvadd.u32.u32.u32 a, b, c;\\\n\");\n}",
                "/*\nvadd.u32.u32.u32 a, b, c;\n*/\nvoid f();",
                "struct A a = {\n.target = 5,\n.func = f,\n.reg = 1 };\nint x;",
                "void f() {\n\tst.x = 1;\n\tmax.f32 = 2;\n\tset.add(x);\n\tvadd(a, b);\n}",
            ],
        );
    }

    #[test]
    fn other_texts_are_neither() {
        all_are(
            None,
            &[
                "def f(): x = 1;",
                "import os\n@property\ndef f(self):\n    return os.path.join(a, b)\n",
                "# include this\n# define that\nx = 1\n",
                "set -euo pipefail\nexit 0\nld.so --help\n",
                // No statement starts behind a string.
                "echo \"adds\" vadd\n",
                "SELECT a, b FROM t WHERE a.u32 = 5;\nexit;",
                "set.add(1)\nst.write(2)\nmatch.group (0);\nmin.value = 3;",
                "fn main() {\n    let x = 1;\n    asm!(\"vadd.u32.u32.u32 {}, {}, {};\");\n}",
                "fn f(a: u32) u32 {\n    return asm volatile (\"vadd.u32.u32.u32 %[d], %[a], 1;\");\n}",
                "pub extern \"C\" fn k<T>(a: u32) { asm!(\"vadd.u32.u32.u32 {}, {}, 1;\") }",
                "define void @f() {\n  %1 = call i32 asm \"vadd.u32.u32.u32 $0, $1, $2;\"\n}",
                "code = '''\nvadd.u32.u32.u32 d, a, b;\n'''",
                "code = \"\"\"\n.version 8.0\n\"\"\"",
                "\t.file\t\"a.c\"\n\t.text\n\t.globl\tmain\nmain:\n\tmovl\t$0, %eax\n\tret\n",
                "\"a string\"",
                "{ \"a\": [1, 2] }",
                "Hello, world.",
                "vad is short;",
                // The `;` stands in another line.
                "bra sizes\nare here;",
            ],
        );
    }
}
