//! The C library of vptx: functions for C, without logic of their own.
//!
//! The comments become those of `include/vptx.h`. Pointers are `Option`s of references: NULL is
//! `None`. The caller promises what the top of the header says.

mod border;
mod emit;
mod error;
mod extract;
mod findings;
mod instruction;
mod module;
mod options;
#[cfg(test)]
mod tests;
mod tree;
mod types;

use std::borrow::Cow;
use std::ffi::c_char;
use std::mem::MaybeUninit;

use library::ir::Input;

use border::{free, give, items, items_mut, list, required, run};
pub use emit::{Function, Functions, Text};
pub use error::Error;
use error::Failure;
pub use extract::{Image, Images};
pub use findings::{Edit, Finding, Findings, Fix, Fixed, Label};
pub use instruction::Instruction;
pub use module::{Modifier, Module, Operand, Part, Role, Statement};
pub use options::Options;
pub use tree::{Tree, TreeError, TreeNode};
pub use types::{
    Applicability, Dialect, Language, Position, RewriteFlag, Semantics, Severity, Span, Status, Str,
};
use types::{applicability, semantics};

/// The version of the binary interface that the header describes. A program that was compiled with
/// the header runs with every library that has the same number.
pub const ABI_VERSION: u32 = 1;

/// The version of the binary interface of the library: compare it with `VPTX_ABI_VERSION`.
#[unsafe(no_mangle)]
pub extern "C" fn vptx_abi_version() -> u32 {
    ABI_VERSION
}

/// The version of the library, such as `0.1.0`.
#[unsafe(no_mangle)]
pub extern "C" fn vptx_version() -> Str {
    env!("CARGO_PKG_VERSION").into()
}

/// The message of an error.
#[unsafe(no_mangle)]
pub extern "C" fn vptx_error_message(error: Option<&Error>) -> Str {
    error.map(|error| error.message.as_str()).into()
}

/// The findings about an illegal instruction; NULL for other errors.
#[unsafe(no_mangle)]
pub extern "C" fn vptx_error_findings(error: Option<&Error>) -> Option<&Findings> {
    error?.findings.as_deref()
}

/// Frees an error.
#[unsafe(no_mangle)]
pub extern "C" fn vptx_error_free(error: Option<Box<Error>>) {
    free(error);
}

/// Checks a text. Finds what `vptx check` finds, in the order of the text. `options` may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vptx_check(
    text: Str,
    options: Option<&Options>,
    out: Option<&mut MaybeUninit<Option<Box<Findings>>>>,
    error: Option<&mut MaybeUninit<Option<Box<Error>>>>,
) -> Status {
    give(out, error, || {
        // SAFETY: the header asks for it.
        let (text, options) = unsafe { (options::text(text)?, options::options(options)?) };
        Ok(Findings::new(&text, library::check(&text, &options)))
    })
}

/// All findings.
#[unsafe(no_mangle)]
pub extern "C" fn vptx_findings_list(
    findings: Option<&Findings>,
    out: Option<&mut MaybeUninit<*const Finding>>,
    count: Option<&mut MaybeUninit<usize>>,
) -> Status {
    list(findings, out, count, Findings::list)
}

/// Frees findings.
#[unsafe(no_mangle)]
pub extern "C" fn vptx_findings_free(findings: Option<Box<Findings>>) {
    free(findings);
}

/// Makes the fixes of all findings that `vptx_check` finds, in rounds until nothing is left to
/// fix. `applicability` is VPTX_APPLICABILITY_SAFE, or VPTX_APPLICABILITY_UNSAFE for all fixes.
/// The text must be UTF-8.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vptx_fix_all(
    text: Str,
    options: Option<&Options>,
    applicability: u32,
    out: Option<&mut MaybeUninit<Option<Box<Fixed>>>>,
    error: Option<&mut MaybeUninit<Option<Box<Error>>>>,
) -> Status {
    give(out, error, || {
        // SAFETY: the header asks for it.
        let (text, options) = unsafe { (options::exact_text(text)?, options::options(options)?) };
        let most = self::applicability(applicability)?;
        Ok(library::fix(&text, &options, most).into())
    })
}

/// The text with the fixes.
#[unsafe(no_mangle)]
pub extern "C" fn vptx_fixed_text(fixed: Option<&Fixed>) -> Str {
    fixed.map(|fixed| fixed.text.as_str()).into()
}

/// The number of findings that were fixed; 0 for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn vptx_fixed_count(fixed: Option<&Fixed>) -> usize {
    fixed.map_or(0, |fixed| fixed.count)
}

/// The findings that are left, with places in the new text.
#[unsafe(no_mangle)]
pub extern "C" fn vptx_fixed_findings(fixed: Option<&Fixed>) -> Option<&Findings> {
    fixed.map(|fixed| &fixed.left)
}

/// Frees a fixed text.
#[unsafe(no_mangle)]
pub extern "C" fn vptx_fixed_free(fixed: Option<Box<Fixed>>) {
    free(fixed);
}

/// Reads a text of PTX: a whole module, or bare statements. Errors in the text become findings.
/// `options` may be NULL; their language must be PTX.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vptx_parse(
    text: Str,
    options: Option<&Options>,
    out: Option<&mut MaybeUninit<Option<Box<Module>>>>,
    error: Option<&mut MaybeUninit<Option<Box<Error>>>>,
) -> Status {
    give(out, error, || {
        // SAFETY: the header asks for it.
        let (text, options) = unsafe { (options::text(text)?, options::options(options)?) };
        Module::parse(text.into_owned(), &options)
    })
}

/// All statements that are, or were meant to be, video instructions, in the order of the text.
#[unsafe(no_mangle)]
pub extern "C" fn vptx_module_statements(
    module: Option<&Module>,
    out: Option<&mut MaybeUninit<*const Statement>>,
    count: Option<&mut MaybeUninit<usize>>,
) -> Status {
    list(module, out, count, Module::statements)
}

/// The findings about the text.
#[unsafe(no_mangle)]
pub extern "C" fn vptx_module_findings(module: Option<&Module>) -> Option<&Findings> {
    module.map(|module| &module.findings)
}

/// The module's `.target`, such as `sm_90`. Without data if there is
/// none.
#[unsafe(no_mangle)]
pub extern "C" fn vptx_module_target(module: Option<&Module>) -> Str {
    module.and_then(|module| module.target.as_deref()).into()
}

/// The module's `.version`, such as `8.0`. Without data if there is
/// none.
#[unsafe(no_mangle)]
pub extern "C" fn vptx_module_version(module: Option<&Module>) -> Str {
    module.and_then(|module| module.version.as_deref()).into()
}

/// Frees a module with its statements and instructions.
#[unsafe(no_mangle)]
pub extern "C" fn vptx_module_free(module: Option<Box<Module>>) {
    free(module);
}

/// Reads any text into a tree that has every byte of it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vptx_tree_parse(
    text: Str,
    out: Option<&mut MaybeUninit<Option<Box<Tree>>>>,
    error: Option<&mut MaybeUninit<Option<Box<Error>>>>,
) -> Status {
    give(out, error, || {
        // SAFETY: the header asks for it.
        Ok(Tree::parse(unsafe { options::text(text) }?.into_owned()))
    })
}

/// All nodes and leaves, in the order of the text: a node stands before the nodes and leaves inside
/// it. The first node is the module.
#[unsafe(no_mangle)]
pub extern "C" fn vptx_tree_nodes(
    tree: Option<&Tree>,
    out: Option<&mut MaybeUninit<*const TreeNode>>,
    count: Option<&mut MaybeUninit<usize>>,
) -> Status {
    list(tree, out, count, Tree::nodes)
}

/// The places where the text is no PTX.
#[unsafe(no_mangle)]
pub extern "C" fn vptx_tree_errors(
    tree: Option<&Tree>,
    out: Option<&mut MaybeUninit<*const TreeError>>,
    count: Option<&mut MaybeUninit<usize>>,
) -> Status {
    list(tree, out, count, Tree::errors)
}

/// Frees a tree.
#[unsafe(no_mangle)]
pub extern "C" fn vptx_tree_free(tree: Option<Box<Tree>>) {
    free(tree);
}

/// Reads one video instruction. Its `;` may be missing. Every name is taken for a register.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vptx_instruction_parse(
    text: Str,
    out: Option<&mut MaybeUninit<Option<Box<Instruction>>>>,
    error: Option<&mut MaybeUninit<Option<Box<Error>>>>,
) -> Status {
    give(out, error, || {
        // SAFETY: the header asks for it.
        Instruction::parse(&unsafe { options::text(text) }?)
    })
}

/// The instruction as the manual spells it, with `;`.
#[unsafe(no_mangle)]
pub extern "C" fn vptx_instruction_text(
    instruction: Option<&Instruction>,
    out: Option<&mut MaybeUninit<Str>>,
) -> Status {
    run(None, || {
        let text = required(instruction, "instruction")?.text();
        required(out, "out")?.write(text.into());
        Ok(())
    })
}

/// Frees an instruction that `vptx_instruction_parse` made. An instruction of a module is freed
/// with the module.
#[unsafe(no_mangle)]
pub extern "C" fn vptx_instruction_free(instruction: Option<Box<Instruction>>) {
    free(instruction);
}

/// The new value of `d` for the words of the sources. `semantics` is a `vptx_semantics`. Words that
/// the instruction does not read do not matter.
#[unsafe(no_mangle)]
pub extern "C" fn vptx_eval(
    instruction: Option<&Instruction>,
    semantics: u32,
    a: u32,
    b: u32,
    c: u32,
    out: Option<&mut MaybeUninit<u32>>,
    error: Option<&mut MaybeUninit<Option<Box<Error>>>>,
) -> Status {
    run(error, || {
        let instruction = required(instruction, "instruction")?;
        let out = required(out, "out")?;
        out.write(instruction.eval(self::semantics(semantics)?, [a, b, c]));
        Ok(())
    })
}

/// The new values of `d` for columns of words. `out` has room for `out_count` words; a source has
/// as many words, or one word that is repeated. A source that the instruction does not read may be
/// NULL. A source may overlap `out`; the function copies it then.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vptx_eval_batch(
    instruction: Option<&Instruction>,
    semantics: u32,
    a: *const u32,
    a_count: usize,
    b: *const u32,
    b_count: usize,
    c: *const u32,
    c_count: usize,
    out: *mut u32,
    out_count: usize,
    error: Option<&mut MaybeUninit<Option<Box<Error>>>>,
) -> Status {
    run(error, || {
        let instruction = required(instruction, "instruction")?;
        let semantics = self::semantics(semantics)?;
        let end = out.wrapping_add(out_count).cast_const();
        let column = |array: *const u32, count: usize, input: Input| {
            let is_left_out = array.is_null() && !instruction.reads(semantics, input);
            let (count, name) = (if is_left_out { 0 } else { count }, input.text());
            // SAFETY: the header asks for it. A slice that overlaps `out` is dropped here, after it
            // is copied.
            let words = unsafe { items(array, count, name) }?;
            let is_apart = words.as_ptr_range().end <= out.cast_const() || end <= words.as_ptr();
            Ok(if is_apart { Cow::Borrowed(words) } else { Cow::Owned(words.to_vec()) })
        };
        let columns = [
            column(a, a_count, Input::A)?,
            column(b, b_count, Input::B)?,
            column(c, c_count, Input::C)?,
        ];
        // SAFETY: the header asks for it, and no borrowed column overlaps it.
        let out = unsafe { items_mut(out, out_count, "out") }?;
        instruction.eval_batch(semantics, &columns, out)
    })
}

/// Replaces video instructions by ordinary PTX where ptxas needs fewer machine instructions for
/// that. If `target` has no data, the `.target` of the text counts. `flags` is a sum of
/// `vptx_rewrite_flag`s. Statements with errors stay as they are. The text must be UTF-8.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vptx_rewrite(
    text: Str,
    target: Str,
    semantics: u32,
    flags: u32,
    out: Option<&mut MaybeUninit<Option<Box<Text>>>>,
    error: Option<&mut MaybeUninit<Option<Box<Error>>>>,
) -> Status {
    give(out, error, || {
        // SAFETY: the header asks for it.
        let (text, target) = unsafe { (options::exact_text(text)?, options::target(target)?) };
        emit::rewrite(&text, target, self::semantics(semantics)?, flags)
    })
}

/// Ordinary PTX for one instruction: the cheapest on the target, with the declarations of its
/// registers. The status is VPTX_STATUS_UNAVAILABLE if `target` has no data.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vptx_to_ptx(
    instruction: Option<&Instruction>,
    target: Str,
    semantics: u32,
    out: Option<&mut MaybeUninit<Option<Box<Text>>>>,
    error: Option<&mut MaybeUninit<Option<Box<Error>>>>,
) -> Status {
    give(out, error, || {
        let instruction = required(instruction, "instruction")?;
        // SAFETY: the header asks for it.
        let target = unsafe { options::target(target) }?;
        let target =
            target.ok_or_else(|| Failure::new(Status::Unavailable, "no target is named"))?;
        emit::to_ptx(instruction, target, self::semantics(semantics)?)
    })
}

/// C functions that compute what `count` instructions compute, as `vptx lower --emit c` writes them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vptx_emit_c(
    instructions: *const Option<&Instruction>,
    count: usize,
    semantics: u32,
    out: Option<&mut MaybeUninit<Option<Box<Functions>>>>,
    error: Option<&mut MaybeUninit<Option<Box<Error>>>>,
) -> Status {
    give(out, error, || {
        // SAFETY: the header asks for it.
        let instructions = unsafe { items(instructions, count, "instructions") }?;
        let all: Result<Vec<&Instruction>, _> =
            instructions.iter().map(|it| required(*it, "an instruction")).collect();
        Ok(Functions::new(&all?, self::semantics(semantics)?))
    })
}

/// The functions in the order of the instructions. Equal instructions have the same function.
#[unsafe(no_mangle)]
pub extern "C" fn vptx_functions_list(
    functions: Option<&Functions>,
    out: Option<&mut MaybeUninit<*const Function>>,
    count: Option<&mut MaybeUninit<usize>>,
) -> Status {
    list(functions, out, count, Functions::list)
}

/// The header that defines the functions.
#[unsafe(no_mangle)]
pub extern "C" fn vptx_functions_header(functions: Option<&Functions>) -> Str {
    functions.map(|functions| functions.header.as_str()).into()
}

/// Frees functions.
#[unsafe(no_mangle)]
pub extern "C" fn vptx_functions_free(functions: Option<Box<Functions>>) {
    free(functions);
}

/// The string of a text.
#[unsafe(no_mangle)]
pub extern "C" fn vptx_text_string(text: Option<&Text>) -> Str {
    text.map(|text| text.0.as_str()).into()
}

/// Frees a text.
#[unsafe(no_mangle)]
pub extern "C" fn vptx_text_free(text: Option<Box<Text>>) {
    free(text);
}

/// The PTX texts in `size` bytes: of a library, a program, an object, a fat binary, a wheel or
/// another archive. For each text that cannot be read, the images have an error message.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vptx_extract(
    bytes: *const c_char,
    size: usize,
    out: Option<&mut MaybeUninit<Option<Box<Images>>>>,
    error: Option<&mut MaybeUninit<Option<Box<Error>>>>,
) -> Status {
    give(out, error, || {
        // SAFETY: the header asks for it.
        let bytes = unsafe { items(bytes.cast::<u8>(), size, "bytes") }?;
        Ok(Images::find(bytes))
    })
}

/// All PTX texts.
#[unsafe(no_mangle)]
pub extern "C" fn vptx_images_list(
    images: Option<&Images>,
    out: Option<&mut MaybeUninit<*const Image>>,
    count: Option<&mut MaybeUninit<usize>>,
) -> Status {
    list(images, out, count, Images::images)
}

/// The messages about texts that cannot be read.
#[unsafe(no_mangle)]
pub extern "C" fn vptx_images_errors(
    images: Option<&Images>,
    out: Option<&mut MaybeUninit<*const Str>>,
    count: Option<&mut MaybeUninit<usize>>,
) -> Status {
    list(images, out, count, Images::errors)
}

/// Frees images.
#[unsafe(no_mangle)]
pub extern "C" fn vptx_images_free(images: Option<Box<Images>>) {
    free(images);
}
