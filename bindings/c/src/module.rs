//! Texts of PTX, and the video instructions in them.
#![forbid(unsafe_code)]

use std::ptr;
use std::sync::OnceLock;

use library::isa;
use library::source;
use library::{CheckOptions, OperandSpans, VideoStatement};

use crate::border::{Shared, array};
use crate::error::Failure;
use crate::findings::Findings;
use crate::instruction::Instruction;
use crate::types::{Span, Str};

/// A part of a text. `text.data` is NULL if there is no such part.
#[repr(C)]
pub struct Part {
    /// The part.
    pub text: Str,
    /// Its place in the text of the module.
    pub span: Span,
}

/// The role of a modifier.
#[repr(u32)]
pub enum Role {
    /// Type of the destination.
    Dtype = 0,
    /// Type of source `a`.
    Atype = 1,
    /// Type of source `b`.
    Btype = 2,
    /// Plus one mode of `vmad`.
    PlusOne = 3,
    /// Saturation to the range of the destination.
    Saturate = 4,
    /// Shift mode: clamp or wrap.
    Mode = 5,
    /// Comparison of `vset`.
    Compare = 6,
    /// Right shift of the result of `vmad`.
    Scale = 7,
    /// Secondary operation with `c`.
    Secondary = 8,
}

impl From<isa::Role> for Role {
    fn from(role: isa::Role) -> Role {
        match role {
            isa::Role::Dtype => Role::Dtype,
            isa::Role::Atype => Role::Atype,
            isa::Role::Btype => Role::Btype,
            isa::Role::PlusOne => Role::PlusOne,
            isa::Role::Saturate => Role::Saturate,
            isa::Role::Mode => Role::Mode,
            isa::Role::Compare => Role::Compare,
            isa::Role::Scale => Role::Scale,
            isa::Role::Secondary => Role::Secondary,
        }
    }
}

/// A modifier of an instruction.
#[repr(C)]
pub struct Modifier {
    /// The modifier with its dot.
    pub part: Part,
    /// Its role.
    pub role: Role,
}

/// An operand of an instruction.
#[repr(C)]
pub struct Operand {
    /// All of it, with minus and selector.
    pub whole: Part,
    /// The register or the constant.
    pub value: Part,
    /// The selector or mask with its dot, if it is written.
    pub selector: Part,
    /// Whether the value is a register.
    pub is_register: bool,
}

/// A statement that is, or was meant to be, a video instruction.
#[repr(C)]
pub struct Statement {
    /// From guard or mnemonic to `;`.
    pub whole: Part,
    /// The name of the function that it stands in, if there is one.
    pub function: Part,
    /// The instruction, which belongs to the module; NULL if the statement has errors. Then all
    /// members below are empty.
    pub instruction: *const Instruction,
    /// The predicate of the guard, without `@` and `!`, if there is one.
    pub guard: Part,
    /// Whether the guard has a `!`.
    pub guard_is_negated: bool,
    /// The mnemonic.
    pub mnemonic: Part,
    /// The modifiers in the order of the text.
    pub modifiers: *const Modifier,
    /// The number of modifiers.
    pub modifier_count: usize,
    /// The operands `d`, `a`, `b` and, if there is one, `c`.
    pub operands: *const Operand,
    /// The number of operands.
    pub operand_count: usize,
}

/// A text of PTX that was read.
pub struct Module {
    text: String,
    pub(crate) findings: Findings,
    pub(crate) target: Option<String>,
    pub(crate) version: Option<String>,
    read: Vec<(VideoStatement, Option<Instruction>)>,
    statements: OnceLock<Shared<Statements>>,
}

struct Statements {
    list: Vec<Statement>,
    // The statements point at these.
    _modifiers: Vec<Vec<Modifier>>,
    _operands: Vec<Vec<Operand>>,
}

impl Module {
    pub(crate) fn parse(text: String, options: &CheckOptions) -> Result<Module, Failure> {
        let refused = |_| Failure::invalid("the text of a module is PTX");
        let (module, found) = library::parse_with(&text, options).map_err(refused)?;
        let target = module.target().map(|target| target.to_string());
        let version = module.version().map(|version| version.to_string());
        let findings = Findings::new(&text, found);
        let read = module
            .into_statements()
            .into_iter()
            .map(|statement| {
                let instruction = statement.instruction.clone().map(Instruction::new);
                (statement, instruction)
            })
            .collect();
        Ok(Module { text, findings, target, version, read, statements: OnceLock::new() })
    }

    /// The statements with their parts, which are looked for at the first call.
    pub(crate) fn statements(&self) -> &[Statement] {
        let read = || {
            let (mut list, mut modifiers, mut operands) = (Vec::new(), Vec::new(), Vec::new());
            for (statement, instruction) in &self.read {
                let parts = parts(&self.text, statement, instruction.as_ref());
                list.push(parts.0);
                modifiers.push(parts.1);
                operands.push(parts.2);
            }
            Shared(Statements { list, _modifiers: modifiers, _operands: operands })
        };
        &self.statements.get_or_init(read).0.list
    }
}

fn part(text: &str, span: impl Into<Option<source::Span>>) -> Part {
    match span.into() {
        Some(span) => Part { text: span.text(text).into(), span: span.into() },
        None => Part { text: Str::NONE, span: Span::default() },
    }
}

/// A statement, and the lists that it points at.
fn parts(
    text: &str,
    statement: &VideoStatement,
    instruction: Option<&Instruction>,
) -> (Statement, Vec<Modifier>, Vec<Operand>) {
    let spans = instruction.and_then(|_| statement.spans(text));
    let spans = spans.as_ref();
    let modifier = |&(role, span): &(isa::Role, source::Span)| Modifier {
        part: part(text, span),
        role: role.into(),
    };
    let modifiers: Vec<Modifier> =
        spans.iter().flat_map(|it| &it.modifiers).map(modifier).collect();
    let inner = instruction.map(|it| &it.inner);
    let sources = inner.map(|it| it.sources().map(|register| register.is_some()));
    let [a, b, c] = sources.unwrap_or_default();
    let operand = |(it, is_register): (&OperandSpans, bool)| Operand {
        whole: part(text, it.whole),
        value: part(text, it.value),
        selector: part(text, it.selector),
        is_register,
    };
    let operands: Vec<Operand> =
        spans.iter().flat_map(|it| &it.operands).zip([true, a, b, c]).map(operand).collect();
    let guard = inner.and_then(|it| it.guard.as_ref());
    let statement = Statement {
        whole: part(text, statement.span),
        function: part(text, statement.function),
        instruction: instruction.map_or(ptr::null(), ptr::from_ref),
        guard: part(text, spans.and_then(|it| it.guard)),
        guard_is_negated: guard.is_some_and(|guard| guard.negated),
        mnemonic: part(text, spans.map(|it| it.mnemonic)),
        modifiers: array(&modifiers),
        modifier_count: modifiers.len(),
        operands: array(&operands),
        operand_count: operands.len(),
    };
    (statement, modifiers, operands)
}
