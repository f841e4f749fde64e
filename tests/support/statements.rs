//! Statements of all kinds, each with what ptxas 13.5 says of it.

/// A statement of `fixtures/oracle/syntax.tsv`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Recorded {
    pub(crate) verdict: Verdict,
    pub(crate) place: Place,
    pub(crate) text: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Module,
    Function,
    /// In a function that has registers, and in a module that has variables.
    Instruction,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// ptxas takes it.
    Legal,
    /// A syntax error for ptxas, and an error of the tree.
    Syntax,
    /// A syntax error for ptxas that the tree passes over: a word that a later version may know, a
    /// repeated directive, a sum in a section, a `_`, a malformed number, or what depends on the
    /// opcode.
    Passed,
}

pub(crate) fn recorded() -> impl Iterator<Item = Recorded> {
    let rows = include_str!("../../fixtures/oracle/syntax.tsv").lines().skip(1);
    rows.map(|row| {
        let mut cells = row.splitn(3, '\t');
        let mut cell = || cells.next().expect("three columns");
        let verdict = match cell() {
            "legal" => Verdict::Legal,
            "syntax" => Verdict::Syntax,
            "passed" => Verdict::Passed,
            other => panic!("{other} is no verdict"),
        };
        let place = match cell() {
            "module" => Place::Module,
            "function" => Place::Function,
            "instruction" => Place::Instruction,
            other => panic!("{other} is no place"),
        };
        Recorded { verdict, place, text: cell() }
    })
}

/// A module for `sm_90` around a statement.
pub(crate) fn module(place: Place, statement: &str) -> String {
    let start = ".version 9.0\n.target sm_90\n.address_size 64\n.file 1 \"a.cu\"\n.global .u32 q;\n\
                 .func f1() { ret; }\n.func f2() { ret; }\n";
    let variables = ".global .b32 g[4];\n.shared .b32 sh[4];\n.global .texref tx;\n\
                     .func (.reg .b32 x) f3(.reg .b32 y) { mov.b32 x, y; ret; }\n";
    let registers = ".reg .b16 h<9>; .reg .b32 r<9>; .reg .f32 f<9>; .reg .b64 d<9>; \
                     .reg .pred p<9>;";
    let rest = match place {
        Place::Module => format!("{statement}\n.entry k() {{ ret; }}\n"),
        Place::Function => format!(".entry k() {{\nL1:\nL2:\n{statement}\nret; }}\n"),
        Place::Instruction => {
            format!("{variables}.entry k() {{\nL1:\n{registers}\n{statement}\nret; }}\n")
        }
    };
    format!("{start}{rest}")
}
