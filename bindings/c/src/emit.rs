//! Ordinary PTX and C in the place of video instructions.
#![forbid(unsafe_code)]

use library::backend::c::Header;
use library::backend::ptx::{FreshRegisters, RewriteError};
use library::diagnostic::RuleSet;
use library::ir::Input;
use library::isa::Target;
use library::{CheckOptions, RewriteOptions, Semantics};

use crate::border::Shared;
use crate::error::Failure;
use crate::instruction::Instruction;
use crate::types::{RewriteFlag, Status, Str};

/// A text that the caller owns.
pub struct Text(pub(crate) String);

/// A C function that computes an instruction.
#[repr(C)]
pub struct Function {
    /// Its name.
    pub name: Str,
    /// Whether it takes the word of `a`. The parameters of the function are the words that it
    /// takes, in the order `a`, `b`, `c`.
    pub takes_a: bool,
    /// Whether it takes the word of `b`.
    pub takes_b: bool,
    /// Whether it takes the word of `c`.
    pub takes_c: bool,
}

/// C functions and the header that defines them.
pub struct Functions {
    pub(crate) header: String,
    list: Shared<Vec<Function>>,
    // The list points at these.
    _names: Vec<String>,
}

impl Functions {
    /// A header with the functions of these instructions.
    pub(crate) fn new(instructions: &[&Instruction], semantics: Semantics) -> Functions {
        let mut header = Header::new(semantics);
        let names: Vec<String> = instructions.iter().map(|it| header.add(&it.inner)).collect();
        let function = |(name, instruction): (&String, &&Instruction)| {
            let taken = header.parameters(&instruction.inner);
            Function {
                name: name.as_str().into(),
                takes_a: taken.contains(&Input::A),
                takes_b: taken.contains(&Input::B),
                takes_c: taken.contains(&Input::C),
            }
        };
        let list = names.iter().zip(instructions).map(function).collect();
        Functions { header: header.to_string(), list: Shared(list), _names: names }
    }

    pub(crate) fn list(&self) -> &[Function] {
        &self.list.0
    }
}

pub(crate) fn rewrite(
    text: &str,
    target: Option<Target>,
    semantics: Semantics,
    flags: u32,
) -> Result<Text, Failure> {
    let (all, comments) = (RewriteFlag::All as u32, RewriteFlag::Comments as u32);
    if flags & !(all | comments) != 0 {
        return Err(Failure::invalid(format!("{flags:#x} has unknown flags")));
    }
    let options = RewriteOptions::default()
        .with_target(target)
        .with_semantics(semantics)
        .with_all(flags & all != 0)
        .with_comments(flags & comments != 0);
    let errors = CheckOptions::default().with_rules(RuleSet::ERRORS);
    let (module, _) = library::parse_with(text, &errors).expect("PTX");
    let failure = |error: RewriteError| {
        let message = error.to_string();
        match error {
            RewriteError::Syntax(found) => Failure::illegal(text, message, found),
            _ => Failure::new(Status::Unavailable, message),
        }
    };
    Ok(Text(library::rewrite(&module, &options).map_err(failure)?.text()))
}

pub(crate) fn to_ptx(
    instruction: &Instruction,
    target: Target,
    semantics: Semantics,
) -> Result<Text, Failure> {
    let mut registers = FreshRegisters::avoiding(instruction.text());
    let text = instruction
        .inner
        .to_ptx(target, semantics, &mut registers)
        .map_err(|error| Failure::new(Status::Unavailable, error.to_string()))?;
    let lines: Vec<String> = registers.declarations().into_iter().chain([text]).collect();
    Ok(Text(lines.join("\n")))
}
