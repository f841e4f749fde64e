//! A module that was read: its video instructions and the gates it sets.

use crate::isa::{Modifier, PtxVersion, Role, Target, WordRegisters, WordType};
use crate::source::Span;
use crate::syntax::{parse_instruction, statement_tokens};
use crate::video::{Instruction, OperandName};

/// A module, or a bare list of statements, that was read.
#[derive(Clone, Debug)]
pub struct Module<'s> {
    pub(crate) source: &'s str,
    pub(crate) version: Option<PtxVersion>,
    pub(crate) target: Option<Target>,
    pub(crate) statements: Vec<VideoStatement>,
}

/// A statement that is, or was meant to be, a video instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct VideoStatement {
    /// Where it stands, from guard or mnemonic to `;`.
    pub span: Span,
    /// The name of the function around it, in its header.
    pub function: Option<Span>,
    /// The instruction, unless it has errors.
    pub instruction: Option<Instruction>,
    /// The types that its registers are declared with.
    pub declared: DeclaredTypes,
}

/// The types that the registers of a statement are declared with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct DeclaredTypes {
    d: Option<WordType>,
    a: Option<WordType>,
    b: Option<WordType>,
    c: Option<WordType>,
}

impl DeclaredTypes {
    /// The type of one operand. `None` if it is a constant, is not there, or names a
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

    /// The strictest of them, which decides which instructions may replace this one.
    pub fn registers(&self) -> WordRegisters {
        let all = [self.d, self.a, self.b, self.c];
        all.into_iter().flatten().map(WordRegisters::from).max().unwrap_or_default()
    }
}

/// Where the parts of a legal video instruction stand.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StatementSpans {
    /// The guard predicate, without `@` and `!`.
    pub guard: Option<Span>,
    /// The mnemonic.
    pub mnemonic: Span,
    /// The modifiers in the order of the text, dots included.
    pub modifiers: Vec<(Role, Span)>,
    /// The operands `d`, `a`, `b` and `c`, if there is one.
    pub operands: Vec<OperandSpans>,
}

/// Where an operand stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct OperandSpans {
    /// All of it, minus and selector included.
    pub whole: Span,
    /// The register or the constant.
    pub value: Span,
    /// The selector or mask, its dot included.
    pub selector: Option<Span>,
}

impl VideoStatement {
    /// Where its parts stand, in the text that it was read from. `None` if it has errors,
    /// or the text is another one.
    pub fn spans(&self, source: &str) -> Option<StatementSpans> {
        let instruction = self.instruction.as_ref()?;
        let text = source.get(self.span.range())?;
        let raw = parse_instruction(text, &statement_tokens(text)).ok()?;
        let own = |span: Span| Span::new(span.start + self.span.start, span.end + self.span.start);
        let mut types = instruction.form().type_slots().map(|slot| slot.role);
        let role = |span: &Span| {
            let modifier = Modifier::from_text(span.text(text))?;
            let is_type = modifier.role().is_type();
            Some((if is_type { types.next()? } else { modifier.role() }, own(*span)))
        };
        Some(StatementSpans {
            guard: raw.guard.map(|guard| own(guard.name)),
            mnemonic: own(raw.mnemonic),
            modifiers: raw.modifiers.iter().map(role).collect::<Option<_>>()?,
            operands: raw
                .operands
                .iter()
                .map(|operand| OperandSpans {
                    whole: own(operand.span),
                    value: own(operand.value),
                    selector: operand.selector.map(own),
                })
                .collect(),
        })
    }
}

impl<'s> Module<'s> {
    /// The text it was read from.
    pub fn source(&self) -> &'s str {
        self.source
    }

    /// The `.version` in force at the last video instruction.
    pub fn version(&self) -> Option<PtxVersion> {
        self.version
    }

    /// The `.target` in force at the last video instruction.
    pub fn target(&self) -> Option<Target> {
        self.target
    }

    /// Every statement that is, or was meant to be, a video instruction.
    pub fn statements(&self) -> &[VideoStatement] {
        &self.statements
    }

    /// The same statements, without the text.
    pub fn into_statements(self) -> Vec<VideoStatement> {
        self.statements
    }

    /// The legal video instructions with their places, in order.
    pub fn instructions(&self) -> impl Iterator<Item = (Span, &Instruction)> {
        self.statements
            .iter()
            .filter_map(|statement| Some((statement.span, statement.instruction.as_ref()?)))
    }
}
