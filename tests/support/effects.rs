//! `fixtures/oracle/effects.tsv`: which registers an instruction reads and writes.

use super::fixture_text;

/// An instruction, perhaps with the labels and the prototype that it needs.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) target: String,
    pub(crate) text: String,
    /// The registers in the order of the text. Before each one stands `=` if it is written, `+` if
    /// it is also read, `-` if it is neither.
    pub(crate) effects: String,
}

pub(crate) fn rows() -> Vec<Row> {
    let text = fixture_text("oracle/effects.tsv");
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let row = |line: &str| {
        let [target, text, effects] = line.split('\t').collect::<Vec<_>>()[..] else {
            panic!("three columns: {line}");
        };
        Row { target: target.into(), text: text.into(), effects: effects.into() }
    };
    lines.map(row).collect()
}

/// The registers in a text, each once. They are a letter, which tells the type, and a number.
pub(crate) fn registers(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let is_part = |it: char| it.is_ascii_alphanumeric() || matches!(it, '_' | '%' | '.' | ':');
    // Words such as `r1.h0` and `A:`.
    let words = text.split(|it| !is_part(it)).map(|word| word.split(['.', ':']).next().unwrap());
    for word in words {
        let number = word.strip_prefix(['h', 'r', 'd', 'q', 'p']).unwrap_or_default();
        let is_number = !number.is_empty() && number.bytes().all(|it| it.is_ascii_digit());
        if is_number && !found.contains(&word) {
            found.push(word);
        }
    }
    found
}

/// The type of a register.
pub(crate) fn type_of(register: &str) -> &'static str {
    match &register[..1] {
        "h" => "b16",
        "r" => "b32",
        "d" => "b64",
        "q" => "b128",
        _ => "pred",
    }
}

/// A module with one line for each kernel. The first kernel is in line [`FIRST_LINE`].
pub(crate) fn module(target: &str, kernels: impl IntoIterator<Item = String>) -> String {
    let mut module = HEAD.replace("TARGET", target);
    module.extend(kernels.into_iter().map(|kernel| kernel + "\n"));
    module
}

/// A kernel in a line. `%in` points to other values in each thread.
pub(crate) fn kernel(number: usize, body: &str) -> String {
    format!(
        ".visible .entry k{number}(.param .b64 in, .param .b64 out) \
         {{ .reg .b64 %in, %out; .reg .b32 %own; .reg .pred %t; \
         ld.param.b64 %in, [in]; ld.param.b64 %out, [out]; mov.b32 %own, %tid.x; \
         mad.wide.u32 %in, %own, 32, %in; {body} ret; }}"
    )
}

/// The declarations of registers.
pub(crate) fn declarations(registers: &[&str]) -> String {
    let own = registers.iter().map(|it| format!(".reg .{} {it};", type_of(it)));
    own.collect::<Vec<_>>().join(" ") + " "
}

pub(crate) const FIRST_LINE: usize = 12;

const HEAD: &str = "\
.version 9.5
.target TARGET
.address_size 64
.global .b32 gl; .const .b32 co; .shared .align 16 .b8 sh[16];
.global .texref tx; .global .surfref su;
.func f1() { trap; ret; }
.func (.reg .b32 x) f2(.reg .b32 y, .reg .b32 z) { add.s32 x, y, z; ret; }
.func (.reg .b64 x) f3(.reg .b64 y) { not.b64 x, y; ret; }
.func f4(.reg .b32 y) { st.global.b32 [gl], y; ret; }
.func f5(.param .b32 y) { .reg .b32 z; ld.param.b32 z, [y]; st.global.b32 [gl], z; ret; }

";
