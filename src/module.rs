//! A parsed module: its video instructions, its PTX version and its target.

use crate::diagnostic::Diagnostic;
use crate::isa::{Form, Mnemonic, Modifier, PtxVersion, Role, Target, WordRegisters, WordType};
use crate::source::Span;
use crate::syntax::{RawInstruction, RawOperand, parse_instruction, parse_start, statement_tokens};
use crate::video::{self, Instruction, OperandName};

/// A parsed module, or a parsed list of statements.
#[derive(Clone, Debug)]
pub struct Module<'s> {
    pub(crate) source: &'s str,
    pub(crate) version: Option<PtxVersion>,
    pub(crate) target: Option<Target>,
    pub(crate) statements: Vec<VideoStatement>,
    /// The syntax errors of the text.
    pub(crate) errors: Vec<Diagnostic>,
}

/// A statement that is, or was meant to be, a video instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct VideoStatement {
    /// The span from the guard or mnemonic to the `;`.
    pub span: Span,
    /// The name of the enclosing function, in its header.
    pub function: Option<Span>,
    /// Where the header of that function starts.
    pub(crate) header: Option<u32>,
    /// The instruction, unless it has errors.
    pub instruction: Option<Instruction>,
    /// The declared types of the registers. If the statement has errors, only the types of the
    /// operands before the first syntax error.
    pub declared: DeclaredTypes,
}

/// The declared types of a statement's registers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct DeclaredTypes {
    d: Option<WordType>,
    a: Option<WordType>,
    b: Option<WordType>,
    c: Option<WordType>,
}

impl DeclaredTypes {
    /// The type of one operand. `None` if the operand is a constant or absent, or names a
    /// register that the text does not declare.
    pub fn get(&self, operand: OperandName) -> Option<WordType> {
        match operand {
            OperandName::D => self.d,
            OperandName::A => self.a,
            OperandName::B => self.b,
            OperandName::C => self.c,
        }
    }

    pub(crate) fn set(&mut self, operand: OperandName, ty: Option<WordType>) {
        match operand {
            OperandName::D => self.d = ty,
            OperandName::A => self.a = ty,
            OperandName::B => self.b = ty,
            OperandName::C => self.c = ty,
        }
    }

    /// The strictest of these types, which decides which instructions may replace the statement.
    pub fn registers(&self) -> WordRegisters {
        let all = [self.d, self.a, self.b, self.c];
        all.into_iter().flatten().map(WordRegisters::from).max().unwrap_or_default()
    }
}

/// The places of the parts of a video instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StatementSpans {
    /// The guard predicate, without `@` and `!`.
    pub guard: Option<Span>,
    /// The mnemonic.
    pub mnemonic: Span,
    /// The modifiers that have a role, in the order of the text. Spans include the dot. Unknown
    /// modifiers and surplus types have no role.
    pub modifiers: Vec<(Role, Span)>,
    /// The operands `d`, `a`, `b` and, if there is one, `c`. If the statement has errors, there
    /// may be fewer or more.
    pub operands: Vec<OperandSpans>,
}

/// The places of the parts of an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct OperandSpans {
    /// The whole operand, with its minus and selector.
    pub whole: Span,
    /// The register or the constant.
    pub value: Span,
    /// The selector or mask, with its dot.
    pub selector: Option<Span>,
}

impl VideoStatement {
    /// The places of the statement's parts in `source`, the text that it was read from. If the
    /// statement has errors, the places of the parts before the first syntax error.
    ///
    /// `None` if not even a mnemonic parses, or if `source` has no such statement at the place.
    pub fn spans(&self, source: &str) -> Option<StatementSpans> {
        let text = source.get(self.span.range())?;
        let tokens = statement_tokens(text);
        let raw = match self.instruction {
            Some(_) => parse_instruction(text, &tokens).ok()?,
            None => parse_start(text, &tokens)?,
        };
        let mut spans = StatementSpans::new(text, &raw, self.instruction.as_ref());
        spans.map(|span| span.shifted(self.span.start));
        Some(spans)
    }
}

impl StatementSpans {
    pub(crate) fn new(
        source: &str,
        raw: &RawInstruction,
        instruction: Option<&Instruction>,
    ) -> StatementSpans {
        let spans = |operand: &RawOperand| OperandSpans {
            whole: operand.span,
            value: operand.value,
            selector: operand.selector,
        };
        StatementSpans {
            guard: raw.guard.map(|guard| guard.name),
            mnemonic: raw.mnemonic,
            modifiers: roles(source, raw, instruction).collect(),
            operands: raw.operands.iter().map(spans).collect(),
        }
    }

    /// Moves each place to where `map` has it.
    pub(crate) fn map(&mut self, map: impl Fn(Span) -> Span) {
        let own = |span: &mut Span| *span = map(*span);
        self.guard.iter_mut().for_each(own);
        own(&mut self.mnemonic);
        self.modifiers.iter_mut().for_each(|(_, span)| own(span));
        for operand in &mut self.operands {
            own(&mut operand.whole);
            own(&mut operand.value);
            operand.selector.iter_mut().for_each(own);
        }
    }
}

/// The modifiers that have a role, and their roles. The role of a type depends on its position.
fn roles<'a>(
    text: &'a str,
    raw: &'a RawInstruction,
    instruction: Option<&Instruction>,
) -> impl Iterator<Item = (Role, Span)> + use<'a> {
    let form = instruction.map(Instruction::form).or_else(|| {
        let mnemonic = Mnemonic::from_text(raw.mnemonic.text(text))?;
        video::forms(mnemonic).first()
    });
    let mut types = form.into_iter().flat_map(Form::type_slots).map(|slot| slot.role);
    raw.modifiers.iter().filter_map(move |&span| {
        let word = span.text(text);
        let role = match Modifier::from_text(word) {
            Some(modifier) if !modifier.role().is_type() => modifier.role(),
            // A type such as `.u64`, which no video instruction has, counts as one of their types.
            None if !is_type(word) => return None,
            _ => types.next()?,
        };
        Some((role, span))
    })
}

/// Whether a modifier is meant as a type, such as `.u64`.
pub(crate) fn is_type(modifier: &str) -> bool {
    let size = modifier.trim_start_matches(['.', 'u', 's', 'b', 'f']);
    modifier.len() - size.len() == 2 && matches!(size, "8" | "16" | "32" | "64")
}

impl<'s> Module<'s> {
    /// The text that the module was read from.
    pub fn source(&self) -> &'s str {
        self.source
    }

    /// The module's `.version`. If there are several, the last one counts.
    pub fn version(&self) -> Option<PtxVersion> {
        self.version
    }

    /// The module's `.target`. If there are several, the last one counts, as in ptxas.
    pub fn target(&self) -> Option<Target> {
        self.target
    }

    /// Every statement that is, or was meant to be, a video instruction.
    pub fn statements(&self) -> &[VideoStatement] {
        &self.statements
    }

    /// The same statements as [`Module::statements`], without the text.
    pub fn into_statements(self) -> Vec<VideoStatement> {
        self.statements
    }

    /// The legal video instructions with their spans, in the order of the text.
    pub fn instructions(&self) -> impl Iterator<Item = (Span, &Instruction)> {
        self.statements
            .iter()
            .filter_map(|statement| Some((statement.span, statement.instruction.as_ref()?)))
    }
}
