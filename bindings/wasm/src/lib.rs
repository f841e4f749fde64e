//! vptx for JavaScript. Functions take texts as strings, and return what the program prints: JSON
//! if the program has JSON for it, and otherwise its text. They throw an `Error` with the program's
//! message if something is wrong.
//!
//! Places in JSON are byte offsets in UTF-8, as everywhere in vptx; the places of the language
//! server are in the encoding that its client chooses.

use std::path::Path;
use std::str::FromStr;

use serde_json::json;
use vptx::backend::ptx::RewriteOptions;
use vptx::backend::{c, llvm};
use vptx::diagnostic::Docs;
use vptx::evaluation::{Evaluation, Record, Registers, words};
use vptx::explain::{self, Single};
use vptx::isa::Target;
use vptx::report::{self, FileReport, write_json};
use vptx::source::LineIndex;
use vptx::{CheckOptions, FormatOptions, Instruction, NormalOptions, Semantics, syntax};
use wasm_bindgen::JsError;
use wasm_bindgen::prelude::wasm_bindgen;

type Result<T> = std::result::Result<T, JsError>;

fn wrong(error: impl ToString) -> JsError {
    JsError::new(&error.to_string())
}

fn named<T: FromStr<Err: ToString>>(text: &str) -> Result<T> {
    text.parse().map_err(|error: T::Err| wrong(error))
}

/// An instruction; its final `;` may be missing.
fn instruction(text: &str) -> Result<Instruction> {
    let end = if text.trim_end().ends_with(';') { "" } else { ";" };
    named(&format!("{text}{end}"))
}

fn written(write: impl FnOnce(&mut Vec<u8>) -> std::io::Result<()>) -> Result<String> {
    let mut text = Vec::new();
    write(&mut text).map_err(wrong)?;
    String::from_utf8(text).map_err(wrong)
}

/// Hands in the measured costs, the text of `src/backend/ptx/costs.txt`. Before that, no costs are
/// known, and no rewriting depends on costs. Throws an error if the text cannot be that
/// one.
#[wasm_bindgen(js_name = loadCosts)]
pub fn load_costs(text: String) -> Result<()> {
    #[cfg(target_family = "wasm")]
    let is_table = vptx::backend::ptx::load_costs(text);
    #[cfg(not(target_family = "wasm"))]
    let is_table = !text.is_empty();
    if is_table { Ok(()) } else { Err(wrong("this is not the text of costs.txt")) }
}

/// The language server: `vptx server` without its streams.
#[wasm_bindgen]
#[derive(Default)]
pub struct Server(vptx::server::Server);

#[wasm_bindgen]
impl Server {
    /// A server that waits for `initialize`.
    #[wasm_bindgen(constructor)]
    pub fn new() -> Server {
        Server::default()
    }

    /// Takes a message of the client as JSON, and returns the messages for the client, which
    /// include findings of texts that changed.
    pub fn handle(&mut self, message: &str) -> Result<Vec<String>> {
        let mut messages = self.0.handle(serde_json::from_str(message).map_err(wrong)?);
        messages.extend(self.0.news());
        messages.iter().map(|it| serde_json::to_string(it).map_err(wrong)).collect()
    }
}

/// Findings, as `vptx check --format json` prints them for a file with a name.
#[wasm_bindgen]
pub fn check(text: &str, language: &str, name: &str) -> Result<String> {
    let options = CheckOptions::default().with_language(named(language)?);
    let diagnostics = &*vptx::check(text, &options);
    let file = FileReport { path: Path::new(name), source: text, diagnostics };
    written(|out| write_json(out, &file, &LineIndex::new(text), &Docs::default()))
}

/// A PTX text as `vptx fmt` writes it.
#[wasm_bindgen]
pub fn format(text: &str) -> Result<String> {
    vptx::format(text, &FormatOptions::default()).map_err(wrong)
}

/// A PTX text in its normal form: `vptx fmt --normalize`.
#[wasm_bindgen]
pub fn normalize(text: &str) -> Result<String> {
    vptx::normalize(text, &NormalOptions::default()).map_err(wrong)
}

/// A PTX text with ordinary PTX in place of video instructions, where that is cheaper. Without a
/// target, the `.target` of the text counts. A text with syntax errors is refused.
#[wasm_bindgen]
pub fn rewrite(text: &str, semantics: &str, target: Option<String>) -> Result<String> {
    let target = target.as_deref().map(named::<Target>).transpose()?;
    let options = RewriteOptions::default().with_target(target).with_semantics(named(semantics)?);
    let (module, _) = vptx::parse(text);
    Ok(vptx::rewrite(&module, &options).map_err(wrong)?.text())
}

/// The tree of a PTX text, as `vptx tree` prints it.
#[wasm_bindgen]
pub fn tree(text: &str) -> Result<String> {
    written(|out| report::tree::human(out, &syntax::parse(text), None))
}

/// The tree of a PTX text: `vptx tree --format json`.
#[wasm_bindgen(js_name = treeJson)]
pub fn tree_json(text: &str) -> Result<String> {
    written(|out| report::tree::json(out, &syntax::parse(text), None))
}

/// A CUDA source with calls in place of `asm`, and the header that the calls need.
#[wasm_bindgen]
pub fn port(text: &str, semantics: &str) -> Result<String> {
    let mut header = c::Header::new(named(semantics)?);
    let ported = vptx::port::port(text, "vptx_video.h", &mut header);
    Ok(json!({ "text": ported.text(text), "header": header.to_string() }).to_string())
}

/// The page about a code, a mnemonic, a modifier, a target or an instruction, in Markdown.
#[wasm_bindgen]
pub fn explain(subject: &str, target: &str) -> Result<String> {
    explain::page(subject, named(target)?).map_err(wrong)
}

/// The names of the registers that an instruction reads as `a`, `b` and `c`, as JSON; null for a
/// source that is not a register, or that nothing depends on.
#[wasm_bindgen]
pub fn sources(text: &str) -> Result<String> {
    let instruction = instruction(text)?;
    Ok(json!(Registers::of(&instruction).sources).to_string())
}

fn evaluated(text: &str, values: &[String]) -> Result<(Instruction, [u32; 3])> {
    let instruction = instruction(text)?;
    let programs = Semantics::ALL.map(|it| instruction.lower(it));
    let words = words(&Registers::of(&instruction), &programs, values);
    Ok((instruction, words.map_err(|troubles| wrong(troubles.join("; ")))?))
}

/// What an instruction computes from values such as `a=0x1`: `vptx eval --semantics all --format
/// json`.
#[wasm_bindgen]
pub fn evaluate(text: &str, values: Vec<String>) -> Result<String> {
    let (instruction, [a, b, c]) = evaluated(text, &values)?;
    let results = Semantics::ALL.map(|it| instruction.lower(it).eval(a, b, c));
    let results = Semantics::ALL.iter().zip(results);
    written(|out| Record::of_results(None, &instruction.to_string(), results).write(out))
}

/// The steps of an instruction on values: `vptx eval --trace`.
#[wasm_bindgen]
pub fn trace(text: &str, values: Vec<String>, semantics: &str) -> Result<String> {
    let (instruction, words) = evaluated(text, &values)?;
    let semantics = &[named(semantics)?];
    let instruction = &instruction;
    let evaluation = Evaluation { instruction, semantics, words, trace: true, unicode: true };
    written(|out| evaluation.write(out))
}

/// A picture of the lanes of an instruction, as SVG, with their values if inputs are given.
#[wasm_bindgen]
pub fn lanes(text: &str, values: Option<Vec<String>>, semantics: &str) -> Result<String> {
    let (instruction, words) = match values {
        None => (instruction(text)?, None),
        Some(values) => {
            let (instruction, words) = evaluated(text, &values)?;
            (instruction, Some(words))
        }
    };
    Ok(explain::svg(&instruction, words, &[named(semantics)?]))
}

/// What an instruction computes, as a program: `vptx lower --emit ir`.
#[wasm_bindgen]
pub fn program(text: &str, semantics: &str) -> Result<String> {
    let instruction = instruction(text)?;
    let program = instruction.lower(named(semantics)?);
    Ok(format!("// {instruction}\n{program}"))
}

/// A C function for an instruction: `vptx lower --emit c`.
#[wasm_bindgen(js_name = cFunction)]
pub fn c_function(text: &str, semantics: &str) -> Result<String> {
    let mut header = c::Header::new(named(semantics)?);
    header.add(&instruction(text)?);
    Ok(header.to_string())
}

/// An LLVM function for an instruction: `vptx lower --emit llvm`.
#[wasm_bindgen(js_name = llvmFunction)]
pub fn llvm_function(text: &str, semantics: &str, architecture: &str) -> Result<String> {
    let mut module = llvm::Module::new(named(semantics)?, named(architecture)?);
    module.add(&instruction(text)?);
    Ok(module.to_string())
}

/// An instruction as ordinary PTX: `vptx rewrite --target TARGET INSTRUCTION`.
#[wasm_bindgen]
pub fn ordinary(text: &str, semantics: &str, target: &str) -> Result<String> {
    let (instruction, semantics, target) = (instruction(text)?, named(semantics)?, named(target)?);
    let single = Single::new(&instruction, semantics, target).ok_or_else(|| {
        wrong(format!("there is no ordinary PTX for `{instruction}` on {target}"))
    })?;
    Ok(single.text(&instruction, semantics))
}

/// The measured costs of an instruction on all targets, as JSON: the machine instructions of
/// `ptxas` for it, and those of the best ordinary PTX.
#[wasm_bindgen]
pub fn costs(text: &str) -> Result<String> {
    let instruction = instruction(text)?;
    let own = |target: &Target| {
        let cost = instruction.cost(*target)?;
        let target = target.to_string();
        Some(json!({ "target": target, "ptxas": cost.ptxas, "rewritten": cost.rewritten }))
    };
    Ok(json!(Target::measured().iter().filter_map(own).collect::<Vec<_>>()).to_string())
}
