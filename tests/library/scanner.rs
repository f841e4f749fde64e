//! A reader that skips ordinary statements must give the same statements, positions and findings as
//! a reader of all statements.

use vptx::analysis::{check_counted, check_plainly};
use vptx::source::decode;
use vptx::syntax::{Context, Handler, Problem, TokenKind, WantedStatement, read, read_plainly};
use vptx::{CheckOptions, Dialect};

use crate::support::random::Random;
use crate::support::{ptx_files, samples};

/// Records all results of a reader as text.
struct Record<'s> {
    source: &'s str,
    told: Vec<String>,
}

impl<'s> Handler<'s> for Record<'s> {
    const INITIAL: u8 = b'v';

    fn wants(&self, opcode: &str) -> bool {
        opcode.starts_with(['v', 'V']) && opcode != "vote"
    }

    fn statement(&mut self, statement: WantedStatement<'_>, context: &Context<'s>) {
        let names = statement.tokens.iter().filter(|token| token.kind() == TokenKind::Ident);
        let symbols: Vec<_> =
            names.map(|token| context.resolve(token.span().text(self.source))).collect();
        let Context { version, target, is_module, .. } = context;
        let place = (context.depth(), context.innermost(), version, target, is_module);
        self.told.push(format!("{statement:?} {symbols:?} {place:?}"));
    }

    fn problem(&mut self, problem: Problem) {
        self.told.push(format!("{problem:?}"));
    }
}

fn agree(source: &str) {
    let [mut fast, mut plain] = [(), ()].map(|()| Record { source, told: Vec::new() });
    read(source, &mut fast);
    read_plainly(source, &mut plain);
    assert_eq!(fast.told, plain.told, "{source:?}");
    for dialect in [Dialect::Documented, Dialect::Ptxas] {
        let options = CheckOptions::default().with_dialect(dialect);
        assert_eq!(check_counted(source, &options), check_plainly(source, &options), "{source:?}");
    }
}

/// The committed modules, in order.
fn fixtures() -> Vec<String> {
    let paths = ptx_files("");
    assert!(paths.len() > 50);
    paths.iter().map(|path| decode(std::fs::read(path).expect("it can be read"))).collect()
}

#[test]
fn committed_modules_read_the_same() {
    for source in fixtures() {
        agree(&source);
    }
}

/// Pieces of statements, which are joined in any order.
const PIECES: &[&str] = &[
    "\n",
    "\n",
    "\n\t",
    "\n\t",
    ";\n\t",
    ";\n\t",
    ";\n",
    ";",
    " ",
    "\t",
    "\r\n",
    "\x0c",
    "{",
    "}",
    "{\n",
    "\n}\n",
    ",",
    ", ",
    ":",
    "::",
    "/",
    "//",
    "// x\n",
    "/*",
    "*/",
    "/* ; */",
    "\"",
    "\"a;b\"",
    "#",
    "# 1 \"f\"\n",
    "\n# 7 \"g\" 1\n",
    "\n#x\n",
    "@",
    "@%p1 ",
    "@!p ",
    "@@DWARF x\n",
    "%",
    "%r1",
    "%tid.x",
    "é",
    "\u{7f}",
    "|",
    "~",
    "(",
    ")",
    "[",
    "]",
    "<",
    ">",
    "=",
    "= {1, 2, {3}};\n",
    "+",
    "-",
    "!",
    ".",
    ".loc",
    ".loc 1 2 3\n",
    "\t.loc\t1 20 5\n",
    ".loc 1 2 3, function_name $L1, inlined_at 1 2 3\n",
    ".loc1 2\n",
    ".file 1 \"x\"\n",
    ".version 8.0\n",
    ".target sm_90\n",
    ".section .debug_info {\n",
    ".b8 1,2,3\n",
    ".reg .b32 %r<4>;\n",
    ".reg .pred p;\n",
    ".global .b8 t[4] = {",
    ".func f(.reg .b32 a)\n{\n",
    ".entry k()\n{\n",
    ".pragma \"x\";",
    "1",
    "20",
    "0x1F",
    "1.5",
    ".5",
    "a",
    "x",
    "v",
    "V",
    "vote.sync.all ",
    "vadd.s32.s32.s32 ",
    "VADD.u32 ",
    "vadd4 ",
    "vabsdif4.u32.u32.u32.add ",
    "v2",
    "vvv",
    "%v1",
    "add.s32 ",
    "mov.b64 {%r1, %r2}, %rd1;\n",
    "ld.shared::cta.u32 ",
    "bra $L1;\n",
    "$L1:\n",
    "L: ",
    "ret;\n",
    "r1, r2, r3;",
    "%r1, %r2, %r3, %r1;\n",
    "x.b0",
    "vx.h1",
    "WARP_SZ",
    "\u{feff}",
];

#[test]
fn heaps_of_pieces_read_the_same() {
    let mut random = Random(0x0dd5_eed5);
    for _ in 0..samples(25_000) {
        // The texts are up to a few groups of the scanner's blocks long.
        let most = if random.one_in(4) { *random.pick(&[120, 120, 120, 600]) } else { 12 };
        let count = 1 + random.below(most);
        let source: String = (0..count).map(|_| *random.pick(PIECES)).collect();
        agree(&source);
    }
}

#[test]
fn random_bytes_read_the_same() {
    let mut random = Random(0xb17e5);
    for round in 0..20_000 {
        let length = random.below(300);
        let bytes = (0..length).map(|_| match round % 3 {
            0 => random.below(256) as u8,
            1 => b"\n\t ;:{}v.%@/#\"*ab1,"[random.below(19)],
            _ => 0x20 + random.below(0x60) as u8,
        });
        agree(&decode(bytes.collect()));
    }
}

/// Tokens of real modules; some of them are moved, repeated or removed.
#[test]
fn shuffled_modules_read_the_same() {
    let mut random = Random(0x5ca9);
    for source in fixtures() {
        // Cuts where the kind of character changes.
        let kind = |byte: u8| match byte {
            b if b.is_ascii_alphanumeric() || b == b'_' || b == b'$' => 1,
            b' ' | b'\t' => 2,
            _ => 3,
        };
        let bytes = source.as_bytes();
        let mut cuts: Vec<usize> = (1..bytes.len())
            .filter(|&at| kind(bytes[at]) != kind(bytes[at - 1]) || kind(bytes[at]) == 3)
            .filter(|&at| source.is_char_boundary(at))
            .collect();
        cuts.insert(0, 0);
        cuts.push(bytes.len());
        let tokens: Vec<&str> = cuts.windows(2).map(|cut| &source[cut[0]..cut[1]]).collect();
        for _ in 0..12 {
            // Takes a part of the module, because a large module would take long.
            let start = random.below(tokens.len());
            let length = 1 + random.below(600);
            let mut stretch = tokens[start..(start + length).min(tokens.len())].to_vec();
            for _ in 0..random.below(8) {
                let (one, other) = (random.below(stretch.len()), random.below(stretch.len()));
                match random.below(3) {
                    0 => stretch.swap(one, other),
                    1 => stretch[one] = stretch[other],
                    _ => stretch[one] = "",
                }
            }
            agree(&stretch.concat());
        }
    }
}
