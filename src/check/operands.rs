//! The operands of an instruction against what its form allows.

use super::instruction::Checked;
use super::modifiers::Modifiers;
use super::structure;
use crate::diagnostic::{Applicability, Code, Diagnostic, Edit};
use crate::isa::{
    Destination, Form, LaneWidth, Mask, Mnemonic, Negation, Part, RegisterType, Role, Sources,
    WordRegisters, is_special_register,
};
use crate::source::Span;
use crate::syntax::{
    Constant, OperandClass, RawInstruction, RawOperand, Shape, SymbolKind, statement_tokens,
};
use crate::video;
use crate::video::{Immediate, Operand, OperandName, Register};

/// The operands of an instruction that has the right number of them.
pub(super) struct Operands<'r> {
    pub(super) d: &'r RawOperand,
    pub(super) a: &'r RawOperand,
    pub(super) b: &'r RawOperand,
    /// The third source, where the form has one.
    pub(super) c: Option<&'r RawOperand>,
    /// The form that modifiers and destination selector ask for.
    pub(super) form: &'static Form,
}

/// Finds the form and gives the operands their names; reports what is too
/// many, too few or excludes each other.
pub(super) fn assign<'r>(
    checked: &mut Checked<'_, '_>,
    mnemonic: Mnemonic,
    modifiers: &Modifiers,
    raw: &'r RawInstruction,
) -> Option<Operands<'r>> {
    let forms = video::forms(mnemonic);
    let part = raw.operands.first().and_then(|d| d.selector).filter(|selector| {
        forms.iter().any(|form| form.destination == Destination::Part)
            && Part::from_text(selector.text(checked.source)).is_some()
    });
    let wants = |form: &Form, role: Role| form.slot(role).is_some();
    let has = |role: Role| modifiers.get(role).is_some();
    let form = forms.iter().find(|form| {
        (form.destination == Destination::Part) == part.is_some()
            && [Role::PlusOne, Role::Secondary].iter().all(|&role| wants(form, role) == has(role))
            && (!has(Role::Saturate) || wants(form, Role::Saturate))
    });
    let Some(form) = form else {
        conflict(checked, mnemonic, modifiers, part);
        // The count of operands is right in any form with a third source.
        let form = forms.iter().find(|form| form.third).unwrap_or(&forms[0]);
        return named(checked, mnemonic, modifiers, part, form, raw);
    };
    named(checked, mnemonic, modifiers, part, form, raw)
}

/// Features that each exist, but not in one form.
fn conflict(
    checked: &mut Checked<'_, '_>,
    mnemonic: Mnemonic,
    modifiers: &Modifiers,
    part: Option<Span>,
) {
    let secondary = modifiers.span(Role::Secondary);
    if let (Some(part), Some(secondary)) = (part, secondary) {
        let text = secondary.text(checked.source);
        checked.push(
            Diagnostic::new(
                Code::V204,
                part,
                format!("a destination selector and `{text}` exclude each other"),
            )
            .label("merges the result into `c`")
            .related(secondary, "combines the result with `c`")
            .help("`c` can only be used once: keep the selector or the secondary operation"),
        );
    } else if let (Some(saturate), Some(secondary)) = (modifiers.span(Role::Saturate), secondary) {
        checked.push(
            Diagnostic::new(
                Code::V111,
                saturate,
                format!("`.sat` and `.add` exclude each other on `{mnemonic}`"),
            )
            .label("clamps the lanes")
            .related(secondary, "adds the lanes unclamped")
            .help(
                "to add clamped lanes, clamp in a first instruction and add in a second; \
                   `vmax` of a lane and itself is that lane",
            )
            .fix(Applicability::Unsafe, "remove `.sat`", vec![Edit::remove(saturate)]),
        );
    }
}

fn named<'r>(
    checked: &mut Checked<'_, '_>,
    mnemonic: Mnemonic,
    modifiers: &Modifiers,
    part: Option<Span>,
    form: &'static Form,
    raw: &'r RawInstruction,
) -> Option<Operands<'r>> {
    let line = || format!("the syntax is `{}`", video::syntax(mnemonic, form));
    let operands = &raw.operands;
    let count = operands.len();
    let [d, a, b, rest @ ..] = operands.as_slice() else {
        let names = ["d", "a", "b", "c"];
        let missing: Vec<&str> = names[count..if form.third { 4 } else { 3 }].to_vec();
        // Where they would stand; an instruction without any is at fault itself.
        let at = operands.last().map_or(raw.mnemonic, |last| Span::at(last.span.end));
        checked.push(
            Diagnostic::new(
                Code::V201,
                at,
                format!("`{mnemonic}` takes {} operands, found {count}", count + missing.len()),
            )
            .label(format!("missing: {}", missing.join(", ")))
            .help(line()),
        );
        return None;
    };
    if let [_, extra, ..] = rest {
        let last = &operands[count - 1];
        checked.push(
            Diagnostic::new(
                Code::V202,
                extra.span.to(last.span),
                format!(
                    "`{mnemonic}` takes {} operands, found {count}",
                    if form.third { 4 } else { 3 }
                ),
            )
            .label("too many")
            .help(line()),
        );
    }
    let mut c = rest.first();
    if form.third && c.is_none() {
        missing_third(checked, mnemonic, modifiers, part, form, [d, b]);
    }
    if let Some(third) = c.filter(|_| !form.third) {
        // Checked like a source that counts, as ptxas does; but it is no part of the
        // instruction.
        let registers = checked.names.registers;
        third_source(checked, form, third);
        checked.names.registers = registers;
        c = None;
    }
    Some(Operands { d, a, b, c, form })
}

/// Reports the third source that a form lacks.
fn missing_third(
    checked: &mut Checked<'_, '_>,
    mnemonic: Mnemonic,
    modifiers: &Modifiers,
    part: Option<Span>,
    form: &Form,
    [d, b]: [&RawOperand; 2],
) {
    let name = d.value.text(checked.source);
    let mut stand_in = None;
    let why = if let Some(secondary) = modifiers.get(Role::Secondary) {
        format!("`{secondary}` combines the result with it")
    } else if let Some(part) = part {
        stand_in = Some((name, "keep the other bits of the destination"));
        format!("the bits outside `{}` come from it", part.text(checked.source))
    } else if form.sources == Sources::Scalar {
        "it is added to the product".into()
    } else if d.selector.is_some() {
        stand_in = Some((name, "keep the other lanes of the destination"));
        "the lanes outside the mask come from it".into()
    } else {
        stand_in = Some((name, "name any register"));
        "it must be written even when all lanes are computed and it has no effect".into()
    };
    let end = b.span.end;
    let mut diagnostic = Diagnostic::new(
        Code::V203,
        Span::at(end),
        format!("`{mnemonic}` needs a third source `c` here"),
    )
    .label("missing: c")
    .help(format!("{why}; the syntax is `{}`", video::syntax(mnemonic, form)));
    if let Some((register, title)) = stand_in {
        diagnostic = diagnostic.fix(
            Applicability::Unsafe,
            format!("{title}: add `{register}`"),
            vec![Edit::insert(end, format!(", {register}"))],
        );
    }
    checked.push(diagnostic);
}

/// The destination: always a register.
pub(super) fn destination(
    checked: &mut Checked<'_, '_>,
    form: &Form,
    mnemonic: Mnemonic,
    d: &RawOperand,
) -> Option<Register> {
    if let Some(minus) = d.minus {
        checked.push(
            Diagnostic::new(Code::V212, minus, "a destination cannot be negated")
                .label("not allowed here")
                .fix(Applicability::Unsafe, "remove it", vec![Edit::remove(minus)]),
        );
    }
    let register = match d.shape {
        Shape::Constant(_) => {
            checked.push(
                Diagnostic::new(Code::V211, d.span, "the destination must be a register")
                    .label("a constant cannot be written to"),
            );
            None
        }
        Shape::Discard => {
            checked.push(
                Diagnostic::new(
                    Code::V214,
                    d.span,
                    "video instructions cannot discard their result",
                )
                .label("expected a register")
                .help("write to a register that is not used"),
            );
            None
        }
        _ => name(checked, form, d, Place::Destination),
    };
    let Some(selector) = d.selector.filter(|_| takes_selector(checked, d)) else {
        return register;
    };
    let text = selector.text(checked.source);
    match form.destination {
        Destination::Mask(width) => mask(checked, width, selector),
        Destination::Word | Destination::Part => {
            let parts =
                video::forms(mnemonic).iter().any(|form| form.destination == Destination::Part);
            if is_ignored(text) {
                // This is legal; a rule may report it.
            } else if !parts {
                checked.push(
                    Diagnostic::new(
                        Code::V207,
                        selector,
                        format!("`{mnemonic}` takes no selector on its destination"),
                    )
                    .label("not allowed here")
                    .help("it always writes the whole word")
                    .fix(
                        Applicability::Unsafe,
                        "remove it",
                        vec![Edit::remove(selector)],
                    ),
                );
            } else if Part::from_text(text).is_none() {
                wrong_selector(checked, selector, Sources::Scalar);
            }
        }
    }
    register
}

/// A source `a` or `b`.
pub(super) fn source(
    checked: &mut Checked<'_, '_>,
    form: &Form,
    operand: &RawOperand,
) -> Option<Operand> {
    let value = value(checked, form, operand)?;
    let Some(selector) = operand.selector else {
        return Some(value);
    };
    if let Operand::Immediate(_) = value {
        selector_on_constant(checked, operand, selector, &value);
        return None;
    }
    let text = selector.text(checked.source);
    if !form.sources.accepts(text) {
        wrong_selector(checked, selector, form.sources);
        return None;
    }
    Some(value)
}

fn selector_on_constant(
    checked: &mut Checked<'_, '_>,
    operand: &RawOperand,
    selector: Span,
    value: &Operand,
) {
    let mut diagnostic = Diagnostic::new(Code::V210, selector, "a constant takes no selector")
        .label("not allowed here")
        .help("write the value of the byte or half-word itself");
    let part = Part::from_text(selector.text(checked.source));
    if let (Some(part), Operand::Immediate(constant)) = (part, value) {
        let bits = constant.value() >> part.shift() & ((1 << part.width()) - 1);
        let title = format!("write `{bits:#x}`, the part's bits");
        let edit = Edit::replace(operand.value.to(selector), format!("{bits:#x}"));
        diagnostic = diagnostic.fix(Applicability::Unsafe, title, vec![edit]);
    }
    checked.push(diagnostic);
}

/// The third source `c`.
pub(super) fn third_source(
    checked: &mut Checked<'_, '_>,
    form: &Form,
    operand: &RawOperand,
) -> Option<Operand> {
    let value = value(checked, form, operand);
    if let (Some(value @ Operand::Immediate(_)), Some(selector)) = (&value, operand.selector) {
        selector_on_constant(checked, operand, selector, value);
        return None;
    }
    let Some(selector) = operand.selector.filter(|_| takes_selector(checked, operand)) else {
        return value;
    };
    let text = selector.text(checked.source);
    if form.sources == Sources::Scalar && is_ignored(text) {
        return value;
    }
    checked.push(
        Diagnostic::new(Code::V207, selector, "the third source takes no selector")
            .label("not allowed here")
            .help(
                "`c` is always a whole word; take the part out first, as with `bfe.u32 t, c, 8, 8`",
            )
            .fix(Applicability::Unsafe, "remove it", vec![Edit::remove(selector)]),
    );
    None
}

/// Whether a selector on the operand is worth a finding of its own. On a
/// special register it is part of the name: `%tid.x`.
fn takes_selector(checked: &Checked<'_, '_>, operand: &RawOperand) -> bool {
    matches!(operand.shape, Shape::Name) && !is_special(checked, operand.value.text(checked.source))
}

fn is_special(checked: &Checked<'_, '_>, name: &str) -> bool {
    is_special_register(name) && checked.context.resolve(name).is_none()
}

fn value(checked: &mut Checked<'_, '_>, form: &Form, operand: &RawOperand) -> Option<Operand> {
    match operand.shape {
        Shape::Constant(value) => {
            if form.sources != Sources::Scalar {
                checked.push(
                    Diagnostic::new(
                        Code::V211,
                        operand.span,
                        "SIMD video instructions take no constants",
                    )
                    .label("expected a register")
                    .help(format!(
                        "move it to a register first: `mov.b32 r, {};`",
                        operand.value.text(checked.source)
                    )),
                );
                return None;
            }
            constant(checked, operand, value).map(Operand::Immediate)
        }
        _ => name(checked, form, operand, Place::Source).map(Operand::Register),
    }
}

/// A constant operand; the reason why it has no value if it has none.
fn constant(
    checked: &mut Checked<'_, '_>,
    operand: &RawOperand,
    value: Result<Constant, crate::syntax::ConstantError>,
) -> Option<Immediate> {
    let bits = match value {
        Ok(Constant::Integer { bits, .. }) => bits,
        Ok(Constant::Float(value)) => {
            let mut diagnostic = Diagnostic::new(
                Code::V218,
                operand.value,
                "video instructions take no floating-point constants",
            )
            .label("expected an integer");
            let text = operand.value.text(checked.source);
            if let Some(bits) = text.strip_prefix("0f").or_else(|| text.strip_prefix("0F")) {
                diagnostic =
                    diagnostic.help("write the bits as an integer, if they are meant").fix(
                        Applicability::Unsafe,
                        format!("write `0x{bits}`"),
                        vec![Edit::replace(operand.value, format!("0x{bits}"))],
                    );
            } else if value.fract() == 0.0 && value.abs() < 2f64.powi(31) {
                diagnostic = diagnostic.help(format!("write `{value:.0}`")).fix(
                    Applicability::Unsafe,
                    format!("write `{value:.0}`"),
                    vec![Edit::replace(operand.value, format!("{value:.0}"))],
                );
            }
            checked.push(diagnostic);
            return None;
        }
        Err(error) => {
            checked.push(structure::constant(checked.source, error));
            return None;
        }
    };
    let low = bits as u32;
    Some(Immediate::spelled(low, spelling(operand.value.text(checked.source))))
}

/// A constant expression without comments, spaced so that it reads the same.
fn spelling(text: &str) -> String {
    let mut spelled = String::with_capacity(text.len());
    // Whether the next token follows without a space.
    let mut tight = true;
    let mut after_value = false;
    for token in statement_tokens(text) {
        let text = token.span.text(text);
        if !tight && text != ")" {
            spelled.push(' ');
        }
        spelled.push_str(text);
        let unary = !after_value && matches!(text, "+" | "-" | "~" | "!");
        tight = unary || text == "(";
        after_value =
            text == ")" || text.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '.');
    }
    spelled
}

/// Whether an operand is read or written, which decides what to do instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Destination,
    Source,
}

/// An operand that must be a 32-bit register.
fn name(
    checked: &mut Checked<'_, '_>,
    form: &Form,
    operand: &RawOperand,
    place: Place,
) -> Option<Register> {
    let written = place == Place::Destination;
    let kind = |message: &str, help: &str| {
        Diagnostic::new(Code::V214, operand.span, message).label("expected a register").help(help)
    };
    let wrong = match operand.shape {
        Shape::Name => None,
        Shape::Discard => Some(kind("`_` cannot be an operand here", "name every source")),
        Shape::Not => Some(kind(
            "`!` inverts predicates only",
            "for the complement of an integer use `not.b32` first",
        )),
        Shape::Pair { discards: true } if written => {
            let end = Span::new(operand.value.end, operand.span.end);
            checked.documented_only(
                kind("video instructions have no predicate output", "ptxas accepts `|_`").fix(
                    Applicability::Safe,
                    "remove it",
                    vec![Edit::remove(end)],
                ),
            );
            None
        }
        Shape::Pair { .. } => {
            Some(kind("video instructions have no predicate output", "write the destination alone"))
        }
        Shape::Address if written => Some(kind(
            "video instructions do not write to memory",
            "write to a register and store it afterwards: `st`",
        )),
        Shape::Address => Some(kind(
            "video instructions do not read memory",
            "load the value into a register first: `ld`",
        )),
        Shape::Vector => Some(kind(
            "video instructions take no vectors",
            if written {
                "their lanes are parts of one 32-bit register; unpack with `mov.b32 {lo, hi}, d`"
            } else {
                "their lanes are parts of one 32-bit register; pack with `mov.b32 r, {lo, hi}`"
            },
        )),
        Shape::Text => Some(kind("a string cannot be an operand here", "write a register")),
        Shape::Constant(_) => Some(kind("expected a register", "constants cannot stand here")),
    };
    if let Some(diagnostic) = wrong {
        checked.push(diagnostic);
        return None;
    }
    let text = operand.value.text(checked.source);
    if let Some(symbol) = checked.resolve(text) {
        if symbol.kind.register_type() == Some(RegisterType::Word) {
            if let SymbolKind::Register(ty) = symbol.kind {
                let registers = &mut checked.names.registers;
                *registers = (*registers).max(WordRegisters::from_text(ty));
            }
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
    if is_special_register(text) {
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
        checked.push(
            Diagnostic::new(
                Code::V219,
                whole,
                format!("the special register `{name}` cannot be an operand here"),
            )
            .label("expected an ordinary register")
            .help(help),
        );
        return None;
    }
    if checked.context.is_module {
        let diagnostic =
            Diagnostic::new(Code::V216, operand.value, format!("`{text}` is not declared here"));
        checked.push(match checked.context.outside_range(text) {
            Some((span, count)) => {
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
            None => diagnostic.label("no register of this name in scope").help(
                "declare registers before they are used, as in `.reg .b32 r;`; \
                 a declaration holds to the end of its `{ }`",
            ),
        });
        return None;
    }
    register(checked, operand)
}

/// A source that the compiler of an `asm` replaces by a number: any value, as a
/// register has.
fn unknown_constant(
    checked: &mut Checked<'_, '_>,
    form: &Form,
    operand: &RawOperand,
) -> Option<Register> {
    let text = operand.value.text(checked.source);
    if form.sources != Sources::Scalar {
        checked.push(
            Diagnostic::new(Code::V211, operand.span, "SIMD video instructions take no constants")
                .label("expected a register")
                .help(format!("pass `{text}` as `\"r\"`: the compiler moves it to a register")),
        );
        return None;
    }
    if let Some(selector) = operand.selector {
        checked.push(
            Diagnostic::new(Code::V210, selector, "a constant takes no selector")
                .label("not allowed here")
                .help(format!("pass the value of the part, or `{text}` as `\"r\"`")),
        );
        return None;
    }
    // The minus of a number is part of it; of a register it is another thing.
    if operand.minus.is_some() {
        return None;
    }
    register(checked, operand)
}

/// A declared name that is no 32-bit register.
fn wrong_symbol(span: Span, text: &str, kind: SymbolKind<'_>, place: Place) -> Diagnostic {
    let written = place == Place::Destination;
    match kind {
        SymbolKind::Register(".pred") => {
            Diagnostic::new(Code::V215, span, format!("`{text}` is a predicate"))
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
                (".b64" | ".u64" | ".s64", false) => "take its low half first: `cvt.u32.u64`",
                (".b64" | ".u64" | ".s64", true) => "widen the result afterwards: `cvt.u64.u32`",
                (".b16" | ".u16" | ".s16", false) => "widen it first: `cvt.u32.u16`",
                (".b16" | ".u16" | ".s16", true) => "narrow the result afterwards: `cvt.u16.u32`",
                (_, false) => "convert it first: `cvt`",
                (_, true) => "convert the result afterwards: `cvt`",
            };
            Diagnostic::new(Code::V215, span, format!("`{text}` is a `{ty}` register"))
                .label("expected `.b32`, `.u32` or `.s32`")
                .help(help)
        }
        SymbolKind::Vector => {
            Diagnostic::new(Code::V215, span, format!("`{text}` is a vector register"))
                .label("expected a 32-bit register")
                .help("use `mov.b32` to reach one of its elements")
        }
        SymbolKind::Variable(space) => Diagnostic::new(
            Code::V214,
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
            Diagnostic::new(Code::V214, span, format!("`{text}` is a function"))
                .label("expected a register")
        }
        SymbolKind::Operand(class) => wrong_operand(span, text, class),
        SymbolKind::Label => Diagnostic::new(Code::V214, span, format!("`{text}` is a label"))
            .label("expected a register"),
    }
}

/// An operand of inline assembly with the wrong constraint.
fn wrong_operand(span: Span, text: &str, class: OperandClass<'_>) -> Diagnostic {
    match class {
        OperandClass::Constant(constraint) => Diagnostic::new(
            Code::V211,
            span,
            format!("`{text}` is a constant (`\"{constraint}\"`), and this is the destination"),
        )
        .label("a constant cannot be written to"),
        OperandClass::Register(ty, constraint) => {
            let help = match ty {
                ".b16" => "pass a 32-bit value as `\"r\"`: `.h0` or `.b0` on it takes its low part",
                ".b64" => "pass a 32-bit value as `\"r\"`, such as one half of it",
                _ => "pass its bits as `\"r\"`, as `__float_as_uint` gives them",
            };
            Diagnostic::new(
                Code::V215,
                span,
                format!("`{text}` is a `{ty}` register (`\"{constraint}\"`)"),
            )
            .label("expected 32 bits: `\"r\"`")
            .help(help)
        }
    }
}

fn register(checked: &mut Checked<'_, '_>, operand: &RawOperand) -> Option<Register> {
    let text = operand.value.text(checked.source);
    let register = Register::new(text);
    if register.is_none() {
        checked.push(
            Diagnostic::new(Code::V214, operand.value, format!("`{text}` is not a register"))
                .label("expected a register"),
        );
    }
    register
}

/// Checks the minus signs on the sources.
pub(super) fn negation(
    checked: &mut Checked<'_, '_>,
    mnemonic: Mnemonic,
    modifiers: &Modifiers,
    operands: &Operands<'_>,
    raw: &RawInstruction,
) -> Option<OperandName> {
    let (a, b) = (operands.a.minus, operands.b.minus);
    // An ignored third source counts here, as it does for ptxas.
    let c = raw.operands.get(3).and_then(|c| c.minus);
    let remove = |spans: &[Span]| spans.iter().map(|&span| Edit::remove(span)).collect();
    let possible =
        video::forms(mnemonic).iter().any(|form| form.negation == Negation::ProductOrThird);
    if !possible || operands.form.negation == Negation::Forbidden {
        let spans: Vec<Span> = [a, b, c].into_iter().flatten().collect();
        let [first, others @ ..] = spans.as_slice() else {
            return None;
        };
        let (code, message, help) = match modifiers.span(Role::PlusOne) {
            Some(_) if possible => (
                Code::V114,
                "`.po` and negation exclude each other".to_string(),
                "`.po` computes `a*b + c + 1` of the operands as they are",
            ),
            _ => (
                Code::V212,
                format!("`{mnemonic}` cannot negate its operands"),
                if operands.form.sources == Sources::Scalar {
                    "only `vmad` can; subtract it from 0 first: `vsub.s32.s32.s32 t, 0, a;`"
                } else {
                    "only `vmad` can; subtract its lanes from a register of zeros first"
                },
            ),
        };
        let mut diagnostic = Diagnostic::new(code, *first, message).label("not allowed here");
        for other in others {
            diagnostic = diagnostic.related(*other, "and here");
        }
        if let (Some(plus_one), true) = (modifiers.span(Role::PlusOne), possible) {
            diagnostic = diagnostic.related(plus_one, "plus one mode");
        }
        let cancels = a.is_some() && b.is_some() && c.is_none();
        if cancels {
            checked.documented_only(
                diagnostic
                    .help(
                        "the manual has no minus here; ptxas accepts two that cancel: remove both",
                    )
                    .fix(Applicability::Safe, "remove both", remove(&spans)),
            );
        } else {
            checked.push(diagnostic.help(help));
        }
        return None;
    }
    match (a, b, c) {
        (Some(_), Some(_), c) => c.map(|_| OperandName::C),
        (Some(product), None, Some(c)) | (None, Some(product), Some(c)) => {
            checked.push(
                Diagnostic::new(Code::V213, c, "`vmad` can negate the product or `c`, not both")
                    .label("negates `c`")
                    .related(product, "negates the product")
                    .help("negate `c` first: `neg.s32 t, c;`, and add `t`"),
            );
            Some(OperandName::C)
        }
        (Some(_), None, None) => Some(OperandName::A),
        (None, Some(_), None) => Some(OperandName::B),
        (None, None, Some(_)) => Some(OperandName::C),
        (None, None, None) => None,
    }
}

fn mask(checked: &mut Checked<'_, '_>, width: LaneWidth, selector: Span) {
    let text = selector.text(checked.source);
    if Mask::from_text(width, text).is_some() {
        return;
    }
    let what = if width == LaneWidth::Halves { "half-words" } else { "bytes" };
    let digits = text[1..]
        .strip_prefix(width.letter())
        .filter(|digits| !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit()));
    let Some(digits) = digits else {
        let diagnostic = Diagnostic::new(
            if known_selector(text) { Code::V205 } else { Code::V206 },
            selector,
            format!("`{text}` is not a mask of {what}"),
        )
        .label("expected a mask")
        .help(masks(width));
        checked.push(diagnostic);
        return;
    };
    let exists = digits.bytes().all(|digit| usize::from(digit - b'0') < width.lanes());
    let label = if exists {
        "each lane at most once, highest first".to_string()
    } else {
        format!("lanes are 0 to {}", width.lanes() - 1)
    };
    let mut diagnostic =
        Diagnostic::new(Code::V209, selector, format!("`{text}` is not a mask of {what}"))
            .label(label)
            .help(masks(width));
    // The same lanes, each once and in order.
    let bits = digits
        .bytes()
        .map(|digit| u32::from(digit - b'0'))
        .filter(|&lane| (lane as usize) < width.lanes())
        .fold(0, |bits, lane| bits | 1 << lane);
    if let (Some(meant), true) = (Mask::new(width, bits), exists) {
        diagnostic = diagnostic.help(format!("the mask of these lanes is `{meant}`")).fix(
            Applicability::Unsafe,
            format!("write `{meant}`"),
            vec![Edit::replace(selector, meant.to_string())],
        );
    } else if digits.len() == width.lanes() {
        diagnostic = diagnostic.help(
            "a mask says which lanes of the destination are written; lane selectors belong on sources",
        );
    }
    checked.push(diagnostic);
}

fn masks(width: LaneWidth) -> String {
    if width == LaneWidth::Halves {
        "masks are `.h0`, `.h1` and `.h10`".into()
    } else {
        "a mask has each of 3, 2, 1, 0 at most once, highest first, as in `.b310`".into()
    }
}

/// Whether it is a selector or mask of some video instruction.
fn known_selector(text: &str) -> bool {
    Part::from_text(text).is_some()
        || Sources::Lanes(LaneWidth::Halves).accepts(text)
        || Sources::Lanes(LaneWidth::Bytes).accepts(text)
        || Destination::Mask(LaneWidth::Bytes).accepts(text)
}

/// A selector that is none of this kind of source (or scalar destination).
fn wrong_selector(checked: &mut Checked<'_, '_>, selector: Span, sources: Sources) {
    let text = selector.text(checked.source);
    let (code, message) = if known_selector(text) {
        let kind = match sources {
            Sources::Scalar => "a scalar instruction",
            Sources::Lanes(LaneWidth::Halves) => "a two-way SIMD instruction",
            Sources::Lanes(LaneWidth::Bytes) => "a four-way SIMD instruction",
        };
        (Code::V205, format!("`{text}` is not a selector of {kind}"))
    } else {
        (Code::V206, format!("`{text}` is not a selector"))
    };
    let mut help = format!("selectors here are {}", video::selector_choices(sources));
    let mut fix = None;
    if let Some(meant) = meant_selector(text, sources) {
        help = format!("did you mean `{meant}`? {help}");
        fix = Some(meant);
    }
    let mut diagnostic =
        Diagnostic::new(code, selector, message).label("wrong selector").help(help);
    if sources == Sources::Scalar && matches!(text, ".h10" | ".b3210") {
        diagnostic = diagnostic.help("without a selector, the whole word is used").fix(
            Applicability::Unsafe,
            "remove it",
            vec![Edit::remove(selector)],
        );
    }
    if let Some(meant) = fix {
        diagnostic = diagnostic.fix(
            Applicability::Unsafe,
            format!("write `{meant}`"),
            vec![Edit::replace(selector, meant)],
        );
    }
    checked.push(diagnostic);
}

/// The likely meaning of a wrong selector.
fn meant_selector(text: &str, sources: Sources) -> Option<String> {
    let lower = text.to_ascii_lowercase();
    let valid = |text: &str| sources.accepts(text);
    if valid(&lower) {
        return Some(lower);
    }
    let part = lower.len() == 3;
    match (sources, lower.as_str()) {
        // Counted from one.
        (Sources::Scalar, ".b4") => Some(".b3".into()),
        (Sources::Scalar, ".h2") => Some(".h1".into()),
        // The register's own lanes, in the other width.
        (Sources::Lanes(LaneWidth::Halves), ".b3210") => Some(".h10".into()),
        (Sources::Lanes(LaneWidth::Halves), ".b7654") => Some(".h32".into()),
        (Sources::Lanes(LaneWidth::Bytes), ".h10") => Some(".b3210".into()),
        (Sources::Lanes(LaneWidth::Bytes), ".h32") => Some(".b7654".into()),
        // One digit for all lanes.
        (Sources::Lanes(LaneWidth::Halves), text) if part => {
            Some(format!("{text}{}", &text[2..])).filter(|text| valid(text))
        }
        (Sources::Lanes(LaneWidth::Bytes), text) if part => {
            Some(format!("{text}{}", text[2..].repeat(3))).filter(|text| valid(text))
        }
        _ => None,
    }
}

/// Whether ptxas ignores a selector on `d` and `c` of scalar instructions.
pub(crate) fn is_ignored(text: &str) -> bool {
    matches!(text, ".b01" | ".b12" | ".b23")
}
