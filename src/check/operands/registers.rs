//! Names of registers.

use super::super::instruction::Checked;
use super::constant_of_lanes;
use crate::diagnostic::{Applicability, Code, Diagnostic, Edit};
use crate::isa::{Family, Form, Mnemonic, RegisterType, Sources, WordType, is_special_register};
use crate::source::{Span, nearest};
use crate::syntax::{OperandClass, RawOperand, Shape, SymbolKind};
use crate::video::{OperandName, Register};

/// Whether an operand is read or written: the advice depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::check) enum OperandUse {
    Destination,
    Source,
}

/// An operand that must be a 32-bit register.
pub(super) fn word_register(
    checked: &mut Checked<'_, '_>,
    form: &Form,
    operand: &RawOperand,
    place: OperandUse,
) -> Option<Register> {
    let written = place == OperandUse::Destination;
    if let Some(diagnostic) = wrong_shape(operand, written) {
        if matches!(operand.shape, Shape::Pair { discards: true }) && written {
            checked.documented_only(diagnostic);
        } else {
            checked.push(diagnostic);
            return None;
        }
    }
    let text = operand.value.text(checked.source);
    if let Some(symbol) = checked.context.resolve(text) {
        if let Some(RegisterType::Word(ty)) = symbol.kind.register_type() {
            checked.declared = Some(ty);
            return register(checked, operand);
        }
        if let (SymbolKind::Operand(OperandClass::Constant(_)), false) = (symbol.kind, written) {
            return unknown_constant(checked, form, operand);
        }
        checked.push(
            wrong_symbol(operand.value, text, symbol.kind, place)
                .related(symbol.span, "declared here"),
        );
        return None;
    }
    let wrong = if is_special_register(text) && !checked.context.names_registers {
        special_register(checked, operand, written)
    } else if checked.context.is_module {
        undeclared(checked, operand)
    } else {
        return register(checked, operand);
    };
    checked.push(wrong);
    None
}

/// Reports a `.f16x2` register where ptxas takes none: behind a minus, and in comparisons as the
/// destination and as the third source. Elsewhere it counts as untyped bits.
pub(in crate::check) fn not_of_halves(
    checked: &mut Checked<'_, '_>,
    mnemonic: Mnemonic,
    operand: &RawOperand,
    name: OperandName,
) {
    let compares = matches!(mnemonic.family(), Family::Set | Family::SimdSet(_));
    let is_compared = matches!(name, OperandName::A | OperandName::B);
    let is_refused = operand.minus.is_some() || compares && !is_compared;
    if !is_refused || checked.declared != Some(WordType::F16x2) {
        return;
    }
    let text = operand.value.text(checked.source);
    if let Some(symbol) = checked.context.resolve(text) {
        let written = name == OperandName::D;
        let place = if written { OperandUse::Destination } else { OperandUse::Source };
        let wrong = wrong_symbol(operand.value, text, symbol.kind, place);
        checked.push(wrong.related(symbol.span, "declared here"));
    }
}

/// The finding for an operand that is not a register name.
pub(super) fn wrong_shape(operand: &RawOperand, written: bool) -> Option<Diagnostic> {
    let kind = |message: &str, help: &str| {
        Diagnostic::new(Code::OperandKind, operand.span, message)
            .label("expected a register")
            .help(help)
    };
    Some(match operand.shape {
        Shape::Name => return None,
        Shape::Discard => kind("`_` cannot be an operand here", "name every source"),
        Shape::Not => kind(
            "`!` inverts predicates only",
            "for the complement of an integer use `not.b32` first",
        ),
        Shape::Pair { discards: true } if written => {
            let end = Span::new(operand.value.end, operand.span.end);
            kind("video instructions have no predicate output", "ptxas accepts `|_`")
                .remove(Applicability::Safe, end)
        }
        Shape::Pair { .. } => {
            kind("video instructions have no predicate output", "write the destination alone")
        }
        Shape::Address if written => kind(
            "video instructions do not write to memory",
            "write to a register and store it afterwards: `st`",
        ),
        Shape::Address => kind(
            "video instructions do not read memory",
            "load the value into a register first: `ld`",
        ),
        Shape::Vector => kind(
            "video instructions take no vectors",
            if written {
                "their lanes are parts of one 32-bit register; unpack with `mov.b32 {lo, hi}, d`"
            } else {
                "their lanes are parts of one 32-bit register; pack with `mov.b32 r, {lo, hi}`"
            },
        ),
        Shape::Text => kind("a string cannot be an operand here", "write a register"),
        Shape::Constant(_) => kind("expected a register", "constants cannot stand here"),
    })
}

/// The finding for a special register.
pub(super) fn special_register(
    checked: &Checked<'_, '_>,
    operand: &RawOperand,
    written: bool,
) -> Diagnostic {
    let text = operand.value.text(checked.source);
    let whole = operand.value.to(operand.selector.unwrap_or(operand.value));
    let name = whole.text(checked.source);
    let help = if written {
        "special registers are read-only".to_string()
    } else if matches!(text, "%clock64" | "%globaltimer" | "%gridid" | "%current_graph_exec")
        || text.ends_with("_64")
    {
        format!("copy its low half first: `mov.u64 t, {name}; cvt.u32.u64 r, t;`")
    } else {
        format!("copy it first: `mov.u32 r, {name};`")
    };
    let message = format!("the special register `{name}` cannot be an operand here");
    Diagnostic::new(Code::SpecialRegister, whole, message)
        .label("expected an ordinary register")
        .help(help)
}

/// With how many declared registers an undeclared name is compared, the last ones first.
const COMPARED: usize = 256;

/// The finding for a name that the module does not declare here.
pub(super) fn undeclared(checked: &Checked<'_, '_>, operand: &RawOperand) -> Diagnostic {
    let text = operand.value.text(checked.source);
    let message = format!("`{text}` is not declared here");
    let diagnostic = Diagnostic::new(Code::UndeclaredRegister, operand.value, message);
    let Some((span, count)) = checked.context.outside_range(text) else {
        let diagnostic = diagnostic.label("no register of this name in scope");
        let declared = checked.context.registers().rev().take(COMPARED);
        if let Some(near) = nearest(text, declared) {
            return diagnostic.help(format!("did you mean `{near}`?"));
        }
        let diagnostic = diagnostic.help(
            "declare registers before they are used, as in `.reg .b32 r;`; a declaration holds to \
             the end of its `{ }`",
        );
        return match checked.context.outermost() {
            Some(open) => diagnostic.fix(
                Applicability::Unsafe,
                "declare it where the function starts",
                vec![declaration(checked.source, open + 1, text)],
            ),
            None => diagnostic,
        };
    };
    let base = text.trim_end_matches(|c: char| c.is_ascii_digit());
    let declared = match count {
        0 => "declares none".to_string(),
        1 => format!("declares only `{base}0`"),
        _ => format!("declares `{base}0` to `{base}{}`", count - 1),
    };
    diagnostic
        .label("outside the declared range")
        .related(span, declared)
        .help(format!("raise the number in `{base}<{count}>`"))
}

/// The most bytes of white space that a new declaration copies from the next line.
const INDENT: usize = 64;

/// Declares a register where a body starts, with the line break and indentation of the next line.
fn declaration(source: &str, at: u32, name: &str) -> Edit {
    let rest = &source[at as usize..];
    let gap = rest.bytes().take(INDENT).take_while(u8::is_ascii_whitespace).count();
    let gap = &rest[..gap];
    let line = gap.rfind('\n').map_or(" ", |last| {
        let start = last - usize::from(gap[..last].ends_with('\r'));
        &gap[start..]
    });
    Edit::insert(at, format!("{line}.reg .b32 {name};"))
}

/// Checks a source that the compiler replaces by a number in an `asm` statement. The number may
/// have any value, so a register stands for it.
pub(super) fn unknown_constant(
    checked: &mut Checked<'_, '_>,
    form: &Form,
    operand: &RawOperand,
) -> Option<Register> {
    let text = operand.value.text(checked.source);
    if form.sources != Sources::Scalar {
        let help = format!("pass `{text}` as `\"r\"`: the compiler moves it to a register");
        checked.push(constant_of_lanes(operand, help));
        return None;
    }
    if let Some(selector) = operand.selector {
        checked.push(
            Diagnostic::new(Code::SelectorOnConstant, selector, "a constant takes no selector")
                .label("not allowed here")
                .help(format!("pass the value of the part, or `{text}` as `\"r\"`")),
        );
        return None;
    }
    // A minus on a number is part of the number. On a register it is a negation.
    if operand.minus.is_some() {
        return None;
    }
    register(checked, operand)
}

/// Reports a declared name that is not a 32-bit register.
pub(super) fn wrong_symbol(
    span: Span,
    text: &str,
    kind: SymbolKind<'_>,
    place: OperandUse,
) -> Diagnostic {
    let written = place == OperandUse::Destination;
    match kind {
        SymbolKind::Register(".pred") => {
            Diagnostic::new(Code::RegisterType, span, format!("`{text}` is a predicate"))
                .label("expected a 32-bit register")
                .help(if written {
                    "turn the result into a predicate afterwards: `setp.ne.u32 p, d, 0;`"
                } else {
                    "turn the predicate into a number first: `selp.u32 r, 1, 0, p;`"
                })
        }
        SymbolKind::Register(ty) => {
            let help = match (ty, written) {
                (".f32", false) => {
                    "move its bits first (`mov.b32`), or convert its value (`cvt.rzi.s32.f32`)"
                }
                (".f32", true) => {
                    "move the bits afterwards (`mov.b32`), or convert the value (`cvt.rn.f32.s32`)"
                }
                (".f16x2", false) => "move its bits to a `.b32` register first: `mov.b32`",
                (".f16x2", true) => "move the bits afterwards: `mov.b32`",
                (".b64" | ".u64" | ".s64", false) => "take its low half first: `cvt.u32.u64`",
                (".b64" | ".u64" | ".s64", true) => "widen the result afterwards: `cvt.u64.u32`",
                (".b16" | ".u16" | ".s16", false) => "widen it first: `cvt.u32.u16`",
                (".b16" | ".u16" | ".s16", true) => "narrow the result afterwards: `cvt.u16.u32`",
                (_, false) => "convert it first: `cvt`",
                (_, true) => "convert the result afterwards: `cvt`",
            };
            Diagnostic::new(Code::RegisterType, span, format!("`{text}` is a `{ty}` register"))
                .label("expected `.b32`, `.u32` or `.s32`")
                .help(help)
        }
        SymbolKind::Vector => {
            Diagnostic::new(Code::RegisterType, span, format!("`{text}` is a vector register"))
                .label("expected a 32-bit register")
                .help("use `mov.b32` to reach one of its elements")
        }
        SymbolKind::Variable(space) => Diagnostic::new(
            Code::OperandKind,
            span,
            format!("`{text}` is a `{space}` variable, not a register"),
        )
        .label("expected a register")
        .help(if written {
            format!("store the result afterwards: `st{space}.u32`")
        } else {
            format!("load its value first: `ld{space}.u32`")
        }),
        SymbolKind::Function => {
            Diagnostic::new(Code::OperandKind, span, format!("`{text}` is a function"))
                .label("expected a register")
        }
        SymbolKind::Operand(class) => wrong_operand(span, text, class, place),
        SymbolKind::Label => {
            Diagnostic::new(Code::OperandKind, span, format!("`{text}` is a label"))
                .label("expected a register")
        }
    }
}

/// The finding for an operand of inline assembly with the wrong constraint.
pub(super) fn wrong_operand(
    span: Span,
    text: &str,
    class: OperandClass<'_>,
    place: OperandUse,
) -> Diagnostic {
    // Operands of Rust's `asm!` have words in place of constraints.
    let is_word = |constraint: &str| constraint == "const" || constraint.ends_with(')');
    let shown = |constraint: &str| {
        let quote = if is_word(constraint) { "" } else { "\"" };
        format!("`{quote}{constraint}{quote}`")
    };
    match class {
        OperandClass::Constant(constraint) => Diagnostic::new(
            Code::ConstantNotAllowed,
            span,
            format!("`{text}` is a constant ({}), and this is the destination", shown(constraint)),
        )
        .label("a constant cannot be written to"),
        OperandClass::Register(ty, constraint) => {
            let written = place == OperandUse::Destination;
            let class = constraint.trim_start_matches(['=', '+', '&', '%']);
            let wanted = match &constraint[..constraint.len() - class.len()] {
                _ if is_word(constraint) => "`reg32`".to_string(),
                "" if written => "`\"=r\"`".to_string(),
                kind => format!("`\"{kind}r\"`"),
            };
            let help = match (ty, written) {
                (".b16", false) => format!(
                    "pass a 32-bit value as {wanted}: `.h0` or `.b0` on it takes its low part"
                ),
                (".b64", false) => {
                    format!("pass a 32-bit value as {wanted}, such as one half of it")
                }
                (_, false) => format!("pass its bits as {wanted}, as `__float_as_uint` gives them"),
                (".b16", true) => {
                    format!("write a 32-bit variable, as {wanted}, and narrow it afterwards")
                }
                (".b64", true) => {
                    format!("write a 32-bit variable, as {wanted}, and widen it afterwards")
                }
                (_, true) => format!(
                    "write the bits to a 32-bit variable, as {wanted}; `__uint_as_float` takes them"
                ),
            };
            let message = format!("`{text}` is a `{ty}` register ({})", shown(constraint));
            Diagnostic::new(Code::RegisterType, span, message)
                .label(format!("expected 32 bits: {wanted}"))
                .help(help)
        }
    }
}

pub(super) fn register(checked: &mut Checked<'_, '_>, operand: &RawOperand) -> Option<Register> {
    let text = operand.value.text(checked.source);
    let register = Register::new(text);
    if register.is_none() {
        let message = format!("`{text}` is not a register");
        checked.push(
            Diagnostic::new(Code::OperandKind, operand.value, message).label("expected a register"),
        );
    }
    register
}

pub(super) fn is_special(checked: &Checked<'_, '_>, name: &str) -> bool {
    is_special_register(name)
        && !checked.context.names_registers
        && checked.context.resolve(name).is_none()
}
