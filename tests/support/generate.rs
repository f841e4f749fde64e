//! Fresh video instructions: half of them are well-formed by the table of forms, the
//! other half are near misses.
//!
//! The instructions use the registers of the module in `oracle_module`. The text
//! depends only on the seed.

use std::fmt::Write as _;

use vptx::isa::{Destination, LaneWidth, Mask, Mnemonic, Negation, Part, Selector, Sources};
use vptx::video;

use super::random::Random;

/// Generates one statement after the other.
pub(crate) struct Generator {
    rng: Random,
}

/// An instruction that can still be changed.
struct Draft {
    /// `@`, `!` and the name, or some other tokens.
    guard: Vec<String>,
    mnemonic: String,
    /// Each modifier with its dot.
    modifiers: Vec<String>,
    operands: Vec<Value>,
}

#[derive(Clone)]
struct Value {
    sign: &'static str,
    text: String,
    selector: String,
}

/// A token with the white space before it.
struct Piece {
    gap: &'static str,
    text: String,
}

impl Piece {
    fn new(gap: &'static str, text: impl Into<String>) -> Piece {
        Piece { gap, text: text.into() }
    }
}

const WORDS: [&str; 16] = [
    "d", "a", "b", "c", "a", "b", "c", "u", "s", "%r0", "%r1", "%r3", "%r9", "%r5", "%r01", "%r007",
];

const ODD_OPERANDS: &[&str] = &[
    "f",
    "w",
    "uw",
    "h",
    "q",
    "%r10",
    "%r",
    "%r1x",
    "r1",
    "undeclared",
    "%undeclared",
    "$a",
    "%tid",
    "%tid.x",
    "%ntid.y",
    "%ctaid.z",
    "%laneid",
    "%clock",
    "%clock64",
    "%lanemask_lt",
    "%envreg3",
    "%pm0",
    "%smid",
    "%gridid",
    "_",
    "[a]",
    "[a+4]",
    "[w]",
    "{a}",
    "{a,b}",
    "{a,b,c,d}",
    "{ }",
    "d|q",
    "a|q",
    "d|_",
    "d | _",
    "_|q",
    "\"text\"",
    "\"\"",
    "L",
    "k",
    "!q",
    "!a",
    "(a)",
    "a+1",
    "c-1",
    "c + 0x7f",
    "%r1+(2*3)",
    "w+1",
    "k+4",
    "a+b",
    "(a+1)",
    "a:b",
    "a b",
    "a.x.y",
    "a.b0.b0",
    "WARP_SZ",
    "WARP_SZ.b0",
    "",
];

const ODD_SIGNS: &[&str] = &["-", "-", "-", "--", "- -", "+", "!", "~", "-!", "!!", "-+", "@", "*"];

const MALFORMED: &[&str] = &[
    "08",
    "09U",
    "0x",
    "0X",
    "0b",
    "0b2",
    "0xG",
    "12abc",
    "5u",
    "5UU",
    "5L",
    "1e",
    "1e+",
    "1e5",
    "1.5",
    "1.",
    ".5",
    "0f3F80000",
    "0f3F800000",
    "0F3F800000",
    "0f3F8000000",
    "0d3FF0000000000000",
    "0d3FF000000000000",
    "0x1FU",
    "0x1Fu",
    "0U",
    "00",
    "00U",
    "0_1",
    "1_000",
    "0x1.8p1",
    "1'000",
    "5.b0",
    "0.b0",
    "5.h1",
    "5 .b0",
    "(5).b0",
    "0b0101",
    "0B11",
    "0o17",
    "18446744073709551616",
    "0x10000000000000000",
    "99999999999999999999999",
];

/// Modifiers of PTX. Most have no meaning on a video instruction.
const MODIFIERS: &[&str] = &[
    ".u8",
    ".u16",
    ".u32",
    ".u64",
    ".s8",
    ".s16",
    ".s32",
    ".s64",
    ".b8",
    ".b16",
    ".b32",
    ".b64",
    ".b128",
    ".f16",
    ".f16x2",
    ".f32",
    ".f64",
    ".bf16",
    ".bf16x2",
    ".tf32",
    ".pred",
    ".u16x2",
    ".s16x2",
    ".u8x4",
    ".s8x4",
    ".e4m3x2",
    ".eq",
    ".ne",
    ".lt",
    ".le",
    ".gt",
    ".ge",
    ".lo",
    ".ls",
    ".hi",
    ".hs",
    ".equ",
    ".neu",
    ".ltu",
    ".leu",
    ".gtu",
    ".geu",
    ".num",
    ".nan",
    ".NaN",
    ".sat",
    ".sat",
    ".po",
    ".po",
    ".shr7",
    ".shr15",
    ".shr8",
    ".shr16",
    ".shr",
    ".clamp",
    ".wrap",
    ".l",
    ".r",
    ".shiftamt",
    ".add",
    ".min",
    ".max",
    ".sub",
    ".mul",
    ".and",
    ".or",
    ".xor",
    ".inc",
    ".dec",
    ".cas",
    ".exch",
    ".popc",
    ".abs",
    ".ftz",
    ".cc",
    ".x",
    ".y",
    ".z",
    ".w",
    ".wide",
    ".hi",
    ".rn",
    ".rz",
    ".rm",
    ".rp",
    ".rni",
    ".rzi",
    ".rna",
    ".relu",
    ".satfinite",
    ".approx",
    ".full",
    ".noftz",
    ".xorsign",
    ".oob",
    ".uni",
    ".volatile",
    ".relaxed",
    ".acquire",
    ".release",
    ".acq_rel",
    ".sc",
    ".weak",
    ".mmio",
    ".cta",
    ".gpu",
    ".sys",
    ".cluster",
    ".ca",
    ".cg",
    ".cs",
    ".cv",
    ".wb",
    ".wt",
    ".global",
    ".shared",
    ".shared::cta",
    ".local",
    ".const",
    ".param",
    ".nc",
    ".v2",
    ".v4",
    ".sync",
    ".aligned",
    ".to",
    ".up",
    ".down",
    ".bfly",
    ".idx",
    ".all",
    ".any",
    ".ballot",
    ".level",
    ".trap",
    ".zero",
    ".row",
    ".col",
    ".m16n8k16",
    ".f4e",
    ".b4e",
    ".rc8",
    ".ecl",
    ".1d",
    ".2d",
    ".b0",
    ".b1",
    ".h0",
    ".h1",
    ".h10",
    ".b3210",
    ".b01",
    ".reg",
    ".align",
    ".foo",
    ".U32",
    ".SAT",
    ".u32x",
    ".sa",
    ".32",
    ".0",
    "u32",
    ".",
    "..u32",
    "::u32",
    ".u32::x",
    ".%r1",
    ".$a",
    "._",
];

/// Modifiers that ptxas' lexer knows from other instructions and ignores on video
/// instructions.
pub(crate) const IGNORED_MODIFIERS: &[&str] = &[
    ".acc::f32",
    ".b2",
    ".b4x16_p64",
    ".b6x16_p32",
    ".b8x16",
    ".box_dim",
    ".element_stride",
    ".elemtype",
    ".fill_mode",
    ".finite",
    ".global_address",
    ".global_dim",
    ".global_stride",
    ".infinite",
    ".interleave_layout",
    ".normal",
    ".notanumber",
    ".number",
    ".rank",
    ".subnormal",
    ".swizzle_atomicity",
    ".swizzle_mode",
];

/// Names similar enough to be taken for video instructions, and a few that are not.
const MNEMONICS: &[&str] = &[
    "varvg2",
    "varvg4",
    "vavrg",
    "vmad2",
    "vmad4",
    "vshl2",
    "vshr4",
    "vadd8",
    "vadd3",
    "vsub1",
    "vset3",
    "VADD",
    "Vadd",
    "vadd2x",
    "vadd_",
    "vad",
    "vmins",
    "vabsdif",
    "vabsdiff8",
    "vsett",
    "vset24",
    "vsad4",
    "vmul",
    "vadd22",
    "v_add",
    "%vadd",
    "$vadd",
    "v",
    "add",
];

const GUARDS: &[&[&str]] = &[
    &["@", "a"],
    &["@", "%r3"],
    &["@", "%p1"],
    &["@", "w"],
    &["@", "undeclared"],
    &["@", "k"],
    &["@", "_"],
    &["@", "5"],
    &["@", "WARP_SZ"],
    &["@", "%tid"],
    &["@", "%tid", ".x"],
    &["@", "!"],
    &["@"],
    &["@", "@", "q"],
    &["@", "!", "!", "q"],
    &["@", "-", "q"],
    &["@", "(", "q", ")"],
    &["@", "{", "q", "}"],
    &["@", "q", ".b0"],
    &["@", "q", ","],
    &["@", "q", "@", "q"],
    &["!", "q"],
    &["q"],
    &["@", "\"q\""],
    &["@", "Q"],
    &["@", "!", "%q"],
    &["@", "q", "L", ":"],
    &["L", ":"],
    &["L", ":", "@", "q"],
];

const TRIVIA: &[&str] = &[
    " ",
    "  ",
    "\t",
    "\n",
    "\r\n",
    "\x0c",
    "\n\n\t ",
    "/**/",
    "/* x */",
    " /* ; */ ",
    "/* } */",
    "/* // */",
    "/* /* */",
    "/***/",
    "/*\n*/",
    "/* \" */",
    "// x\n",
    " // ; }\n",
    "// /*\n",
    "// \"\n",
    "\n# 1 \"f\"\n",
    "\n # 7 \"f.cu\" 3\n",
    "\n#line 3 \"f\"\n",
    "# 2 \"f\" 1 3\n",
];

const ODD_TRIVIA: &[&str] = &[
    "\x0b",
    "\r",
    "\x01",
    "\x1a",
    "\x7f",
    "\u{a0}",
    "\u{feff}",
    "\u{e9}",
    "#",
    "\n#\n",
    "\n# 1\n",
    "\n# 1 \"f\" 12\n",
    "\n# 1 f\n",
    "\n#pragma x\n",
    "\n# x\n",
    "\\\n",
    "\\",
    "`",
    "'",
    "$",
    "?",
    "\"",
    "/",
    "*/",
    "/*/",
    "//",
    "%",
    "::",
    ":",
    "=",
    "!",
    "&",
    "|",
    "^",
    "~",
    "<",
    ">",
    "(",
    ")",
    "[",
    "]",
    "{",
    "+",
    "-",
    "@",
    ".",
    ",",
    "1",
    "x",
    "_",
];

impl Generator {
    pub(crate) fn new(seed: u64) -> Generator {
        Generator { rng: Random(seed) }
    }

    /// The next statement; only a mutant may lack its `;`.
    pub(crate) fn next(&mut self) -> String {
        let mut draft = self.well_formed();
        if self.rng.percent(50) {
            let mut pieces = draft.pieces();
            if self.rng.percent(10) {
                self.spread(&mut pieces);
            }
            return text(&pieces);
        }
        let mutations = 1 + self.rng.below(3);
        let mut textual = 0;
        for _ in 0..mutations {
            match self.rng.below(100) {
                0..30 => self.mutate_modifiers(&mut draft),
                30..36 => self.mutate_mnemonic(&mut draft),
                36..52 => self.mutate_selector(&mut draft),
                52..60 => self.mutate_sign(&mut draft),
                60..68 => self.mutate_operand_list(&mut draft),
                68..80 => self.mutate_operand(&mut draft),
                80..84 => draft.guard = owned(self.rng.one_of(GUARDS)),
                _ => textual += 1,
            }
        }
        let mut pieces = draft.pieces();
        for _ in 0..textual {
            self.mutate_text(&mut pieces);
        }
        text(&pieces)
    }

    fn well_formed(&mut self) -> Draft {
        let mnemonic = self.rng.one_of(Mnemonic::ALL);
        let forms = video::forms(mnemonic);
        let form = &forms[self.rng.below(forms.len())];
        let mut modifiers = Vec::new();
        for slot in form.slots {
            if !slot.optional || self.rng.percent(50) {
                modifiers.push(self.rng.one_of(slot.choices).text().to_string());
            }
        }
        let guard = match self.rng.below(10) {
            0 => owned(&["@", "q"]),
            1 => owned(&["@", "!", "q"]),
            _ => Vec::new(),
        };
        let selector = match form.destination {
            Destination::Word => String::new(),
            Destination::Part => self.rng.one_of(&Part::ALL).text().to_string(),
            Destination::Mask(width) => self.mask(width),
        };
        let mut operands =
            vec![Value { sign: "", text: self.rng.one_of(&WORDS).to_string(), selector }];
        for _ in 0..2 {
            operands.push(self.source(form.sources));
        }
        // ptxas ignores a third source that the form does not have.
        if form.third || form.sources == Sources::Scalar && self.rng.percent(10) {
            let mut third = self.source(form.sources);
            third.selector.clear();
            operands.push(third);
        }
        if form.negation == Negation::ProductOrThird && self.rng.percent(40) {
            let negated = 1 + self.rng.below(3);
            operands[negated].sign = "-";
        }
        if self.rng.percent(4) {
            for operand in &mut operands[1..3] {
                operand.sign = "-";
            }
        }
        Draft { guard, mnemonic: mnemonic.text().into(), modifiers, operands }
    }

    fn mask(&mut self, width: LaneWidth) -> String {
        let masks: Vec<Mask> = Mask::all(width).collect();
        if self.rng.percent(40) { String::new() } else { self.rng.one_of(&masks).to_string() }
    }

    fn lanes(&mut self, width: LaneWidth) -> String {
        let lanes: Vec<u8> =
            (0..width.lanes()).map(|_| self.rng.below(width.choices().into()) as u8).collect();
        Selector::new(width, &lanes).expect("as many lanes as the width has").to_string()
    }

    fn source(&mut self, sources: Sources) -> Value {
        if sources == Sources::Scalar && self.rng.percent(25) {
            return Value { sign: "", text: self.immediate(), selector: String::new() };
        }
        let selector = match sources {
            _ if self.rng.percent(50) => String::new(),
            Sources::Scalar => self.rng.one_of(&Part::ALL).text().into(),
            Sources::Lanes(width) => self.lanes(width),
        };
        Value { sign: "", text: self.rng.one_of(&WORDS).into(), selector }
    }

    /// Usually an integer; sometimes a constant expression that has no value.
    fn immediate(&mut self) -> String {
        match self.rng.below(10) {
            0..3 => self.rng.below(256).to_string(),
            3 => format!("-{}", self.rng.below(256)),
            4..6 => self.integer(),
            6..8 => {
                let depth = 1 + self.rng.below(3);
                self.expression(depth)
            }
            // The value of the inner expression, if it has one, decides.
            8 => {
                let depth = 1 + self.rng.below(3);
                let inner = self.expression(depth);
                let bit = self.rng.below(64);
                match self.rng.below(3) {
                    0 => format!("1/(({inner})>>{bit}&1)"),
                    1 => format!("1%(({inner})<0)"),
                    _ => format!("1/((({inner})>>{bit}&1)==0)"),
                }
            }
            _ => {
                let (left, right) = (self.expression(1), self.expression(1));
                let operator = self.rng.one_of(&["<", "<=", ">", ">=", "==", "!=", "-", "^"]);
                format!("7/(({left}){operator}({right}))")
            }
        }
    }

    /// An integer literal in any spelling.
    fn integer(&mut self) -> String {
        if self.rng.percent(4) {
            return "WARP_SZ".into();
        }
        let near = u128::from(self.rng.next() % 9);
        let power = self.rng.one_of(&[8, 16, 31, 32, 32, 33, 60, 62, 63, 63, 64, 64, 65, 66, 67]);
        let value = match self.rng.below(10) {
            0..4 => near,
            4..8 => ((1u128 << power) + near) - 4,
            8 => u128::from(self.rng.next()),
            _ => u128::from(self.rng.next()) >> self.rng.below(64),
        };
        let mut digits = match self.rng.below(8) {
            0 => format!("0x{value:x}"),
            1 => format!("0X{value:X}"),
            2 => format!("0{value:o}"),
            3 => format!("0b{value:b}"),
            _ => value.to_string(),
        };
        if self.rng.percent(2) {
            digits = self.rng.one_of(MALFORMED).into();
        }
        if self.rng.percent(20) {
            digits.push('U');
        }
        digits
    }

    fn float(&mut self) -> String {
        self.rng
            .one_of(&[
                "1.5",
                "0.0",
                ".5",
                "2.",
                "1.e3",
                "1e3",
                "25e-1",
                "0f3FC00000",
                "0f00000000",
                "0f80000000",
                "0f7FC00000",
                "0f7F800000",
                "0d3FF8000000000000",
                "0d7FF8000000000000",
                "0F3fc00000",
                "0D3ff8000000000000",
                "1e400",
                "123456789.25",
            ])
            .into()
    }

    fn expression(&mut self, depth: usize) -> String {
        if depth == 0 {
            return if self.rng.percent(2) { self.float() } else { self.integer() };
        }
        let space = self.rng.one_of(&["", " ", "", " ", "\t"]);
        match self.rng.below(20) {
            0..3 => self.integer(),
            3..5 => format!("({})", self.expression(depth - 1)),
            5..8 => {
                let operator = self.rng.one_of(&["-", "-", "+", "~", "!"]);
                format!("{operator}{space}{}", self.expression(depth - 1))
            }
            8 => {
                let ty = self.rng.one_of(&[".s64", ".u64"]);
                format!("({space}{ty}{space}){space}{}", self.expression(depth - 1))
            }
            9 => {
                let condition = self.expression(depth - 1);
                let (yes, no) = (self.expression(depth - 1), self.expression(depth - 1));
                format!("{condition}{space}?{space}{yes}{space}:{space}{no}")
            }
            10 => {
                let (left, right) = (self.float(), self.float());
                let operator =
                    self.rng.one_of(&["<", "<=", ">", ">=", "==", "!=", "+", "-", "*", "/"]);
                let sign = self.rng.one_of(&["", "", "-", "+"]);
                let sum = format!("{sign}{left}{space}{operator}{space}{right}");
                // A comparison gives an integer, which the other operators need.
                if matches!(operator, "+" | "-" | "*" | "/") {
                    format!("({sum}{space}<{space}{})", self.float())
                } else {
                    format!("({sum})")
                }
            }
            _ => {
                let operator = self.rng.one_of(&[
                    "+", "-", "*", "/", "%", "<<", ">>", "<", "<=", ">", ">=", "==", "!=", "&",
                    "|", "^", "&&", "||",
                ]);
                let (mut left, mut right) =
                    (self.expression(depth - 1), self.expression(depth - 1));
                for side in [&mut left, &mut right] {
                    if self.rng.percent(40) {
                        *side = format!("({side})");
                    }
                }
                format!("{left}{space}{operator}{space}{right}")
            }
        }
    }

    fn foreign_modifier(&mut self) -> String {
        let list = if self.rng.percent(1) { IGNORED_MODIFIERS } else { MODIFIERS };
        self.rng.one_of(list).into()
    }

    fn mutate_modifiers(&mut self, draft: &mut Draft) {
        let modifiers = &mut draft.modifiers;
        if modifiers.is_empty() {
            let extra = self.foreign_modifier();
            draft.modifiers.push(extra);
            return;
        }
        let at = self.rng.below(modifiers.len());
        let other = self.rng.below(modifiers.len());
        match self.rng.below(10) {
            0..2 => modifiers.swap(at, other),
            2..4 => modifiers.insert(other, modifiers[at].clone()),
            4..6 => {
                modifiers.remove(at);
            }
            6..8 => {
                let extra = self.foreign_modifier();
                draft.modifiers.insert(at, extra);
            }
            8 => {
                let other = self.foreign_modifier();
                draft.modifiers[at] = other;
            }
            _ => {
                for at in (1..modifiers.len()).rev() {
                    modifiers.swap(at, self.rng.below(at + 1));
                }
            }
        }
    }

    fn mutate_mnemonic(&mut self, draft: &mut Draft) {
        draft.mnemonic = if self.rng.percent(60) {
            self.rng.one_of(Mnemonic::ALL).text().into()
        } else {
            self.rng.one_of(MNEMONICS).into()
        };
    }

    fn odd_selector(&mut self) -> String {
        match self.rng.below(12) {
            0 => self.rng.one_of(&Part::ALL).text().into(),
            1 => self.lanes(LaneWidth::Halves),
            2 => self.lanes(LaneWidth::Bytes),
            3 => self.mask(LaneWidth::Halves),
            4 => self.mask(LaneWidth::Bytes),
            5 => self
                .rng
                .one_of(&[
                    ".x", ".y", ".B0", ".H1", ".b", ".h", ".b1024", ".b32", ".b16", ".u32", ".b0x",
                    ".b00000", ".c0", ".0", "..b0", ".b-1", ".r0", ".xy", ".lo", ".hi", ".sat",
                ])
                .into(),
            6 => {
                format!(".b{}", self.rng.one_of(&["01", "12", "23", "10", "21", "32", "03", "30"]))
            }
            _ => {
                let mut selector = format!(".{}", self.rng.one_of(&["b", "h"]));
                let largest = self.rng.one_of(&[2, 4, 4, 8, 10]);
                for _ in 0..self.rng.below(6) {
                    let _ = write!(selector, "{}", self.rng.below(largest));
                }
                selector
            }
        }
    }

    fn mutate_selector(&mut self, draft: &mut Draft) {
        let selector = if self.rng.percent(20) { String::new() } else { self.odd_selector() };
        if let Some(operand) = self.operand(draft) {
            operand.selector = selector;
        }
    }

    fn mutate_sign(&mut self, draft: &mut Draft) {
        let sign = self.rng.one_of(ODD_SIGNS);
        if let Some(operand) = self.operand(draft) {
            operand.sign = sign;
        }
    }

    fn operand<'d>(&mut self, draft: &'d mut Draft) -> Option<&'d mut Value> {
        let count = draft.operands.len();
        if count == 0 { None } else { Some(&mut draft.operands[self.rng.below(count)]) }
    }

    fn mutate_operand_list(&mut self, draft: &mut Draft) {
        let operands = &mut draft.operands;
        let count = operands.len();
        if count == 0 || self.rng.percent(2) {
            operands.clear();
            return;
        }
        let (at, other) = (self.rng.below(count), self.rng.below(count));
        match self.rng.below(4) {
            0 => operands.swap(at, other),
            1 => operands.insert(other, operands[at].clone()),
            2 => {
                operands.remove(at);
            }
            _ => {
                let extra = self.source(Sources::Scalar);
                draft.operands.push(extra);
            }
        }
    }

    fn mutate_operand(&mut self, draft: &mut Draft) {
        let text = match self.rng.below(10) {
            0..6 => self.rng.one_of(ODD_OPERANDS).to_string(),
            6 => self.immediate(),
            7 => self.rng.one_of(MALFORMED).to_string(),
            8 => self.expression(3),
            _ => self.float(),
        };
        if text == "L" && draft.guard.is_empty() && self.rng.percent(70) {
            draft.guard = owned(&["L", ":"]);
        }
        let keep = self.rng.percent(30);
        if let Some(operand) = self.operand(draft) {
            operand.text = text;
            if !keep {
                operand.selector.clear();
            }
        }
    }

    /// Puts white space, comments and the like between tokens where they may stand.
    fn spread(&mut self, pieces: &mut [Piece]) {
        for _ in 0..=self.rng.below(3) {
            let at = self.rng.below(pieces.len());
            let after_dot = at > 0 && pieces[at - 1].text == ".";
            if !after_dot {
                pieces[at].gap = self.rng.one_of(TRIVIA);
            }
        }
    }

    fn mutate_text(&mut self, pieces: &mut Vec<Piece>) {
        if pieces.is_empty() {
            return;
        }
        let at = self.rng.below(pieces.len());
        match self.rng.below(20) {
            0..7 => pieces[at].gap = self.rng.one_of(TRIVIA),
            7..10 => pieces[at].gap = self.rng.one_of(ODD_TRIVIA),
            10..12 => {
                // Removes the space after the modifiers or after a comma.
                let spaces: Vec<usize> =
                    (0..pieces.len()).filter(|&at| pieces[at].gap == " ").collect();
                if !spaces.is_empty() {
                    pieces[self.rng.one_of(&spaces)].gap = "";
                }
            }
            12..14 => {
                let commas: Vec<usize> =
                    (0..pieces.len()).filter(|&at| pieces[at].text == ",").collect();
                if !commas.is_empty() {
                    let at = self.rng.one_of(&commas);
                    match self.rng.below(3) {
                        0 => pieces[at].text.push(','),
                        1 => pieces[at].text = " ".into(),
                        _ => pieces[at].text = self.rng.one_of(&[";", ".", ", ,", "", ":"]).into(),
                    }
                }
            }
            14 => {
                pieces.pop();
            }
            15 => {
                pieces.remove(at);
            }
            16 => {
                let copy = Piece::new(" ", pieces[at].text.clone());
                pieces.insert(at, copy);
            }
            17 => pieces[at].text = pieces[at].text.to_ascii_uppercase(),
            18 => {
                let other = self.rng.below(pieces.len());
                let text = std::mem::take(&mut pieces[at].text);
                pieces[at].text = std::mem::replace(&mut pieces[other].text, text);
            }
            _ => {
                // Changes any character of the token.
                let text = &mut pieces[at].text;
                let mut chars: Vec<char> = text.chars().collect();
                if !chars.is_empty() {
                    let at = self.rng.below(chars.len());
                    let c = self.rng.one_of(&['0', '1', '2', 'u', 's', '_', '.', ' ', '-', '%']);
                    match self.rng.below(3) {
                        0 => chars[at] = c,
                        1 => chars.insert(at, c),
                        _ => {
                            chars.remove(at);
                        }
                    }
                    *text = chars.into_iter().collect();
                }
            }
        }
    }
}

impl Draft {
    fn pieces(&mut self) -> Vec<Piece> {
        let mut pieces = Vec::new();
        for text in &self.guard {
            pieces.push(Piece::new("", text));
        }
        pieces.push(Piece::new(if self.guard.is_empty() { "" } else { " " }, &self.mnemonic));
        for modifier in &self.modifiers {
            dotted(&mut pieces, modifier);
        }
        for (at, operand) in self.operands.iter().enumerate() {
            if at > 0 {
                pieces.push(Piece::new("", ","));
            }
            let mut gap = " ";
            for sign in operand.sign.chars() {
                pieces.push(Piece::new(gap, sign));
                gap = "";
            }
            pieces.push(Piece::new(gap, &operand.text));
            dotted(&mut pieces, &operand.selector);
        }
        pieces.push(Piece::new("", ";"));
        pieces
    }
}

/// A dot and its word are two pieces, so that something may stand between them.
fn dotted(pieces: &mut Vec<Piece>, text: &str) {
    match text.strip_prefix('.') {
        Some(word) => {
            pieces.push(Piece::new("", "."));
            pieces.push(Piece::new("", word));
        }
        None if text.is_empty() => {}
        None => pieces.push(Piece::new("", text)),
    }
}

fn owned(texts: &[&str]) -> Vec<String> {
    texts.iter().map(ToString::to_string).collect()
}

fn text(pieces: &[Piece]) -> String {
    pieces.iter().flat_map(|piece| [piece.gap, &piece.text]).collect()
}
