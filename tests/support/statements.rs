//! Declarations and directives, each with what ptxas 13.5 says of it.

/// A declaration or directive of `fixtures/oracle/syntax.tsv`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Recorded {
    pub(crate) verdict: Verdict,
    /// Whether it stands in a function.
    pub(crate) is_local: bool,
    pub(crate) text: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// ptxas takes it.
    Legal,
    /// A syntax error for ptxas, and an error of the tree.
    Syntax,
    /// A syntax error for ptxas that the tree passes over: a word that a later version may know, a
    /// repeated directive, or a sum in a section.
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
        Recorded { verdict, is_local: cell() == "function", text: cell() }
    })
}

/// A module for `sm_90` around a statement.
pub(crate) fn module(is_local: bool, statement: &str) -> String {
    let start = ".version 9.0\n.target sm_90\n.address_size 64\n.file 1 \"a.cu\"\n.global .u32 q;\n\
                 .func f1() { ret; }\n.func f2() { ret; }\n";
    let rest = if is_local {
        format!(".entry k() {{\nL1:\nL2:\n{statement}\nret; }}\n")
    } else {
        format!("{statement}\n.entry k() {{ ret; }}\n")
    };
    format!("{start}{rest}")
}
