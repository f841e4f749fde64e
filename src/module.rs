//! A parsed module: its video instructions, its PTX version and its target.

use crate::diagnostic::Diagnostic;
use crate::isa::{Modifier, PtxVersion, Role, Target, WordRegisters, WordType};
use crate::source::Span;
use crate::syntax::{parse_instruction, statement_tokens};
use crate::video::{Instruction, OperandName};

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
    /// The instruction, unless it has errors.
    pub instruction: Option<Instruction>,
    /// The declared types of its registers.
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

    /// The strictest of them, which decides which instructions may replace this one.
    pub fn registers(&self) -> WordRegisters {
        let all = [self.d, self.a, self.b, self.c];
        all.into_iter().flatten().map(WordRegisters::from).max().unwrap_or_default()
    }
}

/// The places of the parts of a legal video instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StatementSpans {
    /// The guard predicate, without `@` and `!`.
    pub guard: Option<Span>,
    /// The mnemonic.
    pub mnemonic: Span,
    /// The modifiers in the order of the text, each with its role. Spans include the dot.
    pub modifiers: Vec<(Role, Span)>,
    /// The operands `d`, `a`, `b` and, if there is one, `c`.
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
    /// The places of the statement's parts in `source`, the text it was read from. `None` if
    /// the statement has errors, or if `source` has no such instruction there.
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
    /// The text that the module was read from.
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

    /// The legal video instructions with their spans, in the order of the text.
    pub fn instructions(&self) -> impl Iterator<Item = (Span, &Instruction)> {
        self.statements
            .iter()
            .filter_map(|statement| Some((statement.span, statement.instruction.as_ref()?)))
    }
}
