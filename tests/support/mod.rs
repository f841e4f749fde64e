//! Helpers that several test files share.
// Each test binary uses only some of the helpers.
#![allow(dead_code)]

pub(crate) mod classes;
pub(crate) mod ebnf;
pub(crate) mod effects;
#[cfg(feature = "extract")]
pub(crate) mod fatbin;
pub(crate) mod forms;
pub(crate) mod generate;
pub(crate) mod llvm;
pub(crate) mod opcodes;
pub(crate) mod outline;
#[cfg(feature = "cli")]
pub(crate) mod program;
pub(crate) mod random;
pub(crate) mod reference;
pub(crate) mod regions;
pub(crate) mod run_ptx;
pub(crate) mod smt;
pub(crate) mod statements;
pub(crate) mod variant;

use std::path::{Path, PathBuf};

use vptx::Code;
use vptx::analysis::check;
use vptx::check::{CheckOptions, Dialect};
use vptx::diagnostic::{Diagnostic, RuleSet, Severity};

/// Words at the edges of lanes and of shift amounts.
pub(crate) const EDGES: [u32; 24] = [
    0,
    1,
    2,
    31,
    32,
    33,
    0x7f,
    0x80,
    0xff,
    0x7fff,
    0x8000,
    0xffff,
    0x7fff_ffff,
    0x8000_0000,
    0x8000_0001,
    0xffff_fffe,
    0xffff_ffff,
    0x7f7f_7f7f,
    0x8080_8080,
    0x7fff_8000,
    0x8000_7fff,
    0x00ff_00ff,
    0xff00_ff00,
    0x2020_1f1f,
];

/// A number from a variable of the environment; without the variable, the usual number.
pub(crate) fn setting(name: &str, usual: u64) -> u64 {
    let text = std::env::var(name).unwrap_or_default();
    let number = || text.parse().unwrap_or_else(|_| panic!("{name} is no number: {text}"));
    if text.is_empty() { usual } else { number() }
}

/// The usual number of random cases, multiplied by `VPTX_SAMPLES`.
pub(crate) fn samples(usual: u64) -> u64 {
    usual * setting("VPTX_SAMPLES", 1)
}

/// Findings about the spelling of instructions. Other tests examine findings about results and
/// about the statements before an instruction.
pub(crate) fn check_spelling(text: &str, options: &CheckOptions) -> Vec<Diagnostic> {
    let mut found = check(text, options);
    found.retain(|it| !["V5", "V9"].iter().any(|prefix| it.code.text().starts_with(prefix)));
    found
}

/// The geometric mean.
pub(crate) fn geometric(ratios: &[f64]) -> f64 {
    (ratios.iter().map(|ratio| ratio.ln()).sum::<f64>() / number(ratios.len())).exp()
}

/// Converts a small count to `f64`.
pub(crate) fn number(count: usize) -> f64 {
    f64::from(u32::try_from(count).expect("a small one"))
}

/// A file below `fixtures/`.
pub(crate) fn fixture(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(path)
}

/// The text of a file below `fixtures/`.
pub(crate) fn fixture_text(path: &str) -> String {
    let path = fixture(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The names and texts of the files in a folder below `fixtures/`, in order.
pub(crate) fn corpus(folder: &str) -> Vec<(String, String)> {
    let mut files: Vec<(String, String)> = std::fs::read_dir(fixture(folder))
        .expect("the folder is there")
        .map(|entry| {
            let path = entry.expect("it can be read").path();
            let name = path.file_name().expect("it has a name").to_string_lossy().into_owned();
            (name, std::fs::read_to_string(&path).expect("it is text"))
        })
        .collect();
    files.sort();
    files
}

/// Every PTX file in a folder below `fixtures/`, in order.
pub(crate) fn ptx_files(folder: &str) -> Vec<PathBuf> {
    fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).expect("the folder is there") {
            let path = entry.expect("it can be read").path();
            if path.is_dir() {
                walk(&path, found);
            } else if path.extension().is_some_and(|extension| extension == "ptx") {
                found.push(path);
            }
        }
    }
    let mut found = Vec::new();
    walk(&fixture(folder), &mut found);
    found.sort();
    found
}

/// The module in which the verdicts of `fixtures/oracle/verdicts.tsv` were
/// recorded, with one instruction in its body.
pub(crate) fn oracle_module(instruction: &str) -> String {
    format!("{ORACLE_HEAD}{instruction}\n}}\n")
}

/// The text before the instruction in [`oracle_module`].
pub(crate) const ORACLE_HEAD: &str = "\
.version 7.0
.target sm_75
.address_size 64
.entry k() {
.reg .b32 d,a,b,c; .reg .u32 u; .reg .s32 s; .reg .f32 f; .reg .b64 w;
.reg .u64 uw; .reg .u16 h; .reg .pred q; .reg .b32 %r<10>;
";

/// The errors of a text in a dialect.
pub(crate) fn errors(text: &str, dialect: Dialect) -> Vec<Diagnostic> {
    let options = CheckOptions::default().with_dialect(dialect);
    let mut diagnostics = check(text, &options);
    diagnostics.retain(|diagnostic| diagnostic.severity == Severity::Error);
    diagnostics
}

/// The usual rules without the rules on names and flow: most tests examine statements that read
/// registers which nothing writes.
pub(crate) fn rules_on_statements() -> RuleSet {
    let [structure, output] = ["V9", "V705"].map(|it| it.parse().expect("a selector"));
    RuleSet::DEFAULT.choose(None, &[], &[structure, output])
}

/// Whether the finding is about the result or cost of an instruction, not about its
/// spelling. Most tests examine the spelling.
pub(crate) fn is_about_results(diagnostic: &Diagnostic) -> bool {
    ["V5", "V6"].iter().any(|start| diagnostic.code.text().starts_with(start))
}

/// Whether a code is about the `asm` of another language.
pub(crate) fn is_about_asm(code: Code) -> bool {
    code.text().starts_with("V7")
}
