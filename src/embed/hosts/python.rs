//! Python: Triton, Pallas, the dialects of MLIR, llvmlite.

use super::{Call, Declared, Lexer, Literals, NAMED, StringForm, Syntax};
use crate::embed::scan::Form;

pub(super) const PYTHON: Syntax = Syntax {
    calls: &CALLS,
    comment: b"#",
    nested_comment: None,
    sigil: None,
    has_macros: false,
    declaring: &[],
    quote,
    longest_prefix: 8,
    form,
    has_triple_quotes: true,
    has_long_strings: false,
    line_string: None,
    is_computed: |_, _| false,
    literals: Literals::Adjacent,
    has_constants: true,
    computes,
    joins: b"+",
    has_parts_of_cuda: true,
};

const CALLS: [Call; 6] = [
    // Triton, Gluon, Helion, and PyTorch, where the text is passed by name.
    Call {
        name: "inline_asm_elementwise",
        open: b'(',
        text: (0, &["asm", "asm_str"]),
        operands: Declared::Constraints(1, &["constraints"]),
    },
    // Pallas.
    Call {
        name: "elementwise_inline_asm",
        open: b'(',
        text: (0, &["asm"]),
        operands: Declared::Constraints(NAMED, &["constraints"]),
    },
    // The LLVM dialect of MLIR, as in CuTe.
    Call {
        name: "inline_asm",
        open: b'(',
        text: (2, &["asm_string"]),
        operands: Declared::Constraints(3, &["constraints"]),
    },
    // The NVVM dialect of MLIR, as in CuTe, and cuTile.
    Call { name: "inline_ptx", open: b'(', text: (0, &["ptx_code"]), operands: Declared::Lists },
    Call { name: "inline_ptx_hl", open: b'(', text: (0, &["ptx_code"]), operands: Declared::Lists },
    // llvmlite, as in Numba.
    Call {
        name: "InlineAsm",
        open: b'(',
        text: (1, &["asm"]),
        operands: Declared::Constraints(2, &["constraint"]),
    },
];

fn quote(lexer: &mut Lexer<'_>, floor: usize) -> Option<usize> {
    let at = lexer.pos;
    if !matches!(lexer.bytes[at], b'"' | b'\'') {
        return None;
    }
    let prefix = lexer.word_before(floor, at, 8);
    let is_prefix = prefix.len() <= 2 && prefix.iter().all(|byte| b"rRbBuUfFtT".contains(byte));
    Some(if is_prefix { at - prefix.len() } else { at })
}

fn form(prefix: &[u8]) -> StringForm {
    let has = |letters: &[u8]| prefix.iter().any(|byte| letters.contains(byte));
    let form = if has(b"rR") { Form::Raw } else { Form::Python { is_bytes: has(b"bB") } };
    StringForm { form, is_computed: has(b"fFtT"), has_escapes: true }
}

/// Whether a `%` or a method follows the string and makes another text of it.
fn computes(_: &[u8], after: &[u8]) -> bool {
    let keeps = |rest: &[u8]| {
        let names: [&[u8]; 4] = [b"encode", b"strip", b"lstrip", b"rstrip"];
        names.iter().any(|name| rest.strip_prefix(*name).is_some_and(|rest| rest.starts_with(b"(")))
    };
    let method = after.strip_prefix(b".").map(<[u8]>::trim_ascii_start);
    after.starts_with(b"%") || method.is_some_and(|rest| !keeps(rest))
}
