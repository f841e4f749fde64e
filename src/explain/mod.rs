//! Pages for people: codes, mnemonics, modifiers, deviations of ptxas, whole instructions.
//!
//! ```
//! let target = vptx::isa::Target::sm(90);
//! let page = vptx::explain::page("vavrg4", target)?;
//! assert!(page.starts_with("# vavrg4: "));
//! let error = vptx::explain::page("vavrq4", target).unwrap_err();
//! assert_eq!(error.to_string(), "`vavrq4` is not known; did you mean `vavrg4`?");
//! # Ok::<(), vptx::explain::ExplainError>(())
//! ```

mod instruction;
mod lanes;
mod single;
mod targets;
mod words;

use std::fmt::{self, Write};

use thiserror::Error;

use crate::analysis::ParseInstructionError;
use crate::diagnostic::Code;
use crate::isa::{Destination, LaneWidth, Mnemonic, Modifier, Role, Target};
use crate::source::nearest;
use crate::video;
use crate::video::{Deviation, Instruction, Semantics};

pub(crate) use instruction::page as instruction;
pub(crate) use instruction::{formula, role_text};
pub use lanes::svg;
pub(crate) use lanes::{document, escaped, parts};
#[doc(hidden)]
pub use single::Single;
pub(crate) use targets::page as target;
#[doc(hidden)]
pub use targets::tables as targets;
pub(crate) use words::page as word;

/// The reason why there is no page.
#[derive(Clone, Debug, Error)]
#[non_exhaustive]
pub enum ExplainError {
    /// An unknown word, and a known one that looks like it.
    #[error("`{word}` is not known; did you mean `{meant}`?")]
    Misspelled {
        /// The word.
        word: String,
        /// A known word that looks like it.
        meant: &'static str,
    },
    /// An unknown word.
    #[error("`{0}` is not known: `vptx explain` lists all codes and instructions")]
    Unknown(String),
    /// An instruction that is not legal.
    #[error("{error}")]
    Instruction {
        /// The instruction's text, with operands added if none were given.
        text: String,
        /// What is wrong in that text.
        error: ParseInstructionError,
    },
}

/// The page about what `vptx explain` takes: a code such as `V112`, its name or a group such as
/// `V1`, a mnemonic such as `vadd4`, a modifier or selector such as `.sat` and `.h10`, a deviation
/// of ptxas such as `C3`, a target such as `sm_90`, or a whole instruction. Costs are for `target`.
///
/// # Errors
/// If there is no page for it.
pub fn page(subject: &str, target: Target) -> Result<String, ExplainError> {
    match Subject::find(subject.trim(), target)? {
        Subject::Page(page) => Ok(page),
        Subject::Instruction(text) => match text.parse() {
            Ok(it) => Ok(instruction(&it, target, true)),
            Err(error) => Err(ExplainError::Instruction { text, error }),
        },
    }
}

/// What a text asks for.
pub(crate) enum Subject {
    /// A page.
    Page(String),
    /// The page of this instruction, which may be illegal.
    Instruction(String),
}

impl Subject {
    pub(crate) fn find(subject: &str, target: Target) -> Result<Subject, ExplainError> {
        if let Some(code) = Code::find(subject) {
            return Ok(Subject::Page(code.page()));
        }
        let group: Vec<Code> = Code::ALL.iter().copied().filter(|it| is_in(*it, subject)).collect();
        if !group.is_empty() {
            return Ok(Subject::Page(codes(&group)));
        }
        if let Some(mnemonic) = Mnemonic::from_text(&subject.to_ascii_lowercase()) {
            return Ok(Subject::Page(self::mnemonic(mnemonic, target)));
        }
        if let Some(deviation) = Deviation::find(subject) {
            return Ok(Subject::Page(deviation.page()));
        }
        if let Some(page) = targets::page(subject) {
            return Ok(Subject::Page(page));
        }
        let page = word(subject);
        if !page.is_empty() {
            return Ok(Subject::Page(page));
        }
        if let Some(text) = instruction::meant(subject) {
            return Ok(Subject::Instruction(text));
        }
        let names = Code::ALL.iter().flat_map(|code| [code.name(), code.text()]);
        let names = names.chain(Mnemonic::ALL.iter().map(|mnemonic| mnemonic.text()));
        let names = names.chain(Modifier::ALL.iter().map(|modifier| modifier.text()));
        let word = subject.to_string();
        Err(match nearest(subject, names) {
            Some(meant) => ExplainError::Misspelled { word, meant },
            None => ExplainError::Unknown(word),
        })
    }
}

/// Whether a code is in a group such as `V1` or `V50`.
fn is_in(code: Code, group: &str) -> bool {
    let start = code.text().get(..group.len());
    group.len() > 1 && start.is_some_and(|start| start.eq_ignore_ascii_case(group))
}

/// A line for each code.
pub(crate) fn codes(codes: &[Code]) -> String {
    let width = codes.iter().map(|code| code.name().len()).max().unwrap_or(0);
    let line = |code: &Code| {
        let (severity, name, title) = (code.severity().to_string(), code.name(), code.title());
        format!("{code}  {severity:7}  {name:width$}  {title}\n")
    };
    codes.iter().map(line).collect()
}

/// The page of a mnemonic, with the cost of its example on a target.
pub(crate) fn mnemonic(mnemonic: Mnemonic, target: Target) -> String {
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = write_mnemonic(&mut text, mnemonic, target);
    text
}

fn write_mnemonic(stream: &mut String, mnemonic: Mnemonic, target: Target) -> fmt::Result {
    let forms = video::forms(mnemonic);
    let first = &forms[0];
    writeln!(stream, "# {mnemonic}: {}\n", video::summary(mnemonic))?;
    writeln!(stream, "## Syntax\n")?;
    for form in forms {
        writeln!(stream, "    {}  // {}", video::syntax(mnemonic, form), form.title)?;
    }
    writeln!(stream)?;
    for role in Role::ALL {
        let slot = forms.iter().find_map(|form| form.slot(role));
        if let Some(slot) = slot.filter(|slot| slot.choices.len() > 1) {
            let choices: Vec<&str> = slot.choices.iter().map(|choice| choice.text()).collect();
            writeln!(stream, "    {}: {}", role.name(), choices.join(" "))?;
        }
    }
    writeln!(stream, "    selectors: {}", video::selector_choices(first.sources).replace('`', ""))?;
    let mask = match first.destination {
        Destination::Mask(LaneWidth::Halves) => ".h0 .h1 .h10, all lanes if left out",
        Destination::Mask(LaneWidth::Bytes) => {
            ".b and one to four of the digits 3210 in this order, all lanes if left out"
        }
        Destination::Word | Destination::Part => "",
    };
    if !mask.is_empty() {
        writeln!(stream, "    mask: {mask}")?;
    }
    writeln!(stream, "\n## Meaning\n")?;
    writeln!(stream, "{}", video::prose(mnemonic.family()))?;
    let deviations = video::deviations(mnemonic.family());
    writeln!(stream, "## Under ptxas\n")?;
    if let Some(first) = deviations.first() {
        writeln!(
            stream,
            "Some forms give results other than the manual's; see `vptx explain {first}` and so on:\n"
        )?;
        for deviation in deviations {
            writeln!(stream, "    {deviation}  {}", deviation.title())?;
        }
        writeln!(stream)?;
    } else {
        writeln!(stream, "The code of ptxas computes what the manual says.\n")?;
    }
    let example = video::example(mnemonic);
    let [a, b, c] = example.inputs;
    writeln!(stream, "## Example\n")?;
    writeln!(stream, "    {}", example.text)?;
    writeln!(stream, "    a = 0x{a:08x}, b = 0x{b:08x}, c = 0x{c:08x}")?;
    writeln!(stream, "    d = 0x{:08x}\n", example.result)?;
    writeln!(stream, "## As ordinary PTX\n")?;
    if let Ok(instruction) = example.text.parse::<Instruction>()
        && let Some(single) = Single::new(&instruction, Semantics::CURRENT, target)
    {
        if let Some(costs) = &single.costs {
            let what =
                if single.is_better_kept { "Keep the example as it is" } else { "The example" };
            writeln!(stream, "{what}: {costs}.\n")?;
        }
        for line in &single.lines {
            writeln!(stream, "    {line}")?;
        }
        targets::costs(stream, &instruction)?;
        writeln!(stream)?;
    }
    let needs = first.requirement;
    writeln!(
        stream,
        "Since PTX {} on {}. PTX ISA manual, section {}.",
        needs.version, needs.target, first.section
    )?;
    Ok(())
}
