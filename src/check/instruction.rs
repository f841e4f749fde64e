//! Checks one instruction: turns the raw tree into the validated AST.

use super::modifiers::{self, Modifiers};
use super::operands::{self, Operands};
use super::{CheckOptions, Dialect, semicolon_after, structure, suggest};
use crate::diagnostic::{Code, Diagnostic, Severity};
use crate::flow::opcodes;
use crate::isa::{Mnemonic, RegisterType, WordType};
use crate::module::DeclaredTypes;
use crate::source::Span;
use crate::syntax::{Context, RawOperand, Shape, WantedStatement, parse_instruction, parse_start};
use crate::video::{
    self, Guard, Instruction, Operand, OperandName, Operation, Parts, Register, Selected,
};

/// An instruction being checked.
pub(super) struct Checked<'a, 's> {
    pub(super) source: &'a str,
    pub(super) context: &'a Context<'s>,
    options: &'a CheckOptions,
    diagnostics: &'a mut Vec<Diagnostic>,
    errors: bool,
    /// The declared types of the operands that were read.
    types: DeclaredTypes,
    /// The declared type of the operand that was read last, if it is a register.
    pub(super) declared: Option<WordType>,
}

impl Checked<'_, '_> {
    /// Keeps the declared type of the operand that was read last.
    fn note_type(&mut self, operand: OperandName) {
        self.types.set(operand, self.declared.take());
    }

    pub(super) fn push(&mut self, diagnostic: Diagnostic) {
        self.errors |= diagnostic.severity == Severity::Error;
        self.diagnostics.push(diagnostic);
    }

    /// Adds a finding about syntax that ptxas accepts and the manual lacks or forbids.
    /// Does nothing in the `ptxas` dialect.
    pub(super) fn documented_only(&mut self, diagnostic: Diagnostic) {
        if self.options.dialect == Dialect::Documented {
            self.push(diagnostic);
        }
    }
}

/// Checks a statement. Returns the instruction if the statement has no errors, and in any case the
/// declared types of its registers.
pub(crate) fn check(
    source: &str,
    statement: &WantedStatement<'_>,
    context: &Context<'_>,
    options: &CheckOptions,
    diagnostics: &mut Vec<Diagnostic>,
) -> (Option<Instruction>, DeclaredTypes) {
    let types = DeclaredTypes::default();
    let mut checked =
        Checked { source, context, options, diagnostics, errors: false, types, declared: None };
    let instruction = read(&mut checked, statement);
    let is_legal = instruction.is_some();
    let types = if is_legal { checked.types } else { declared(source, statement, context) };
    (instruction, types)
}

/// The declared types of a statement's registers, as far as the statement parses.
fn declared(source: &str, statement: &WantedStatement<'_>, context: &Context<'_>) -> DeclaredTypes {
    let mut declared = DeclaredTypes::default();
    let start = match &statement.parsed {
        Ok(_) => None,
        Err(_) => parse_start(source, statement.tokens),
    };
    let raw = statement.parsed.as_ref().ok().or(start.as_ref());
    let names = [OperandName::D, OperandName::A, OperandName::B, OperandName::C];
    for (name, operand) in names.into_iter().zip(raw.map_or(&[][..], |raw| &raw.operands)) {
        let symbol = context.resolve(operand.value.text(source));
        let register = symbol.and_then(|symbol| symbol.kind.register_type());
        if let (Shape::Name | Shape::Pair { discards: true }, Some(RegisterType::Word(ty))) =
            (operand.shape, register)
        {
            declared.set(name, Some(ty));
        }
    }
    declared
}

fn read(checked: &mut Checked<'_, '_>, statement: &WantedStatement<'_>) -> Option<Instruction> {
    let Checked { source, context, .. } = *checked;
    let completed;
    let raw = match &statement.parsed {
        Ok(raw) => raw,
        Err(failure) => {
            let diagnostic = structure::failure(source, statement, *failure, context);
            let unended = diagnostic.code == Code::MissingSemicolon;
            checked.push(diagnostic);
            if !unended {
                return None;
            }
            // The rest is checked as if the `;` were there.
            let mut tokens = statement.tokens.to_vec();
            tokens.push(semicolon_after(&tokens));
            completed = parse_instruction(source, &tokens).ok()?;
            &completed
        }
    };
    let opcode = raw.mnemonic.text(source);
    let Some(mnemonic) = Mnemonic::from_text(opcode) else {
        unknown_instruction(checked, opcode, raw.mnemonic);
        return None;
    };
    let guard = raw.guard.map(|guard| self::guard(checked, guard));
    let modifiers = modifiers::read(checked, mnemonic, raw);
    gates(checked, mnemonic, raw.mnemonic);
    let operands = operands::assign(checked, mnemonic, &modifiers, raw)?;
    let values = CheckedOperands::read(checked, mnemonic, &operands);
    let negated = operands::negation(checked, mnemonic, &modifiers, &operands, raw);
    if checked.errors {
        return None;
    }
    let operation = build(checked, mnemonic, &modifiers, &operands, values?, negated)?;
    // A guard that is not a predicate is an error and has returned above.
    Some(Instruction { guard: guard.flatten(), operation })
}

fn unknown_instruction(checked: &mut Checked<'_, '_>, opcode: &str, span: Span) {
    let message = if opcodes().any(|it| it == opcode) {
        format!("`{opcode}` is not a video instruction")
    } else {
        format!("there is no instruction `{opcode}`")
    };
    let mut diagnostic =
        Diagnostic::new(Code::UnknownInstruction, span, message).label("unknown instruction");
    let lower = opcode.to_ascii_lowercase();
    let meant = Mnemonic::from_text(&lower);
    if let Some(advice) = suggest::advice(opcode).filter(|_| meant.is_none()) {
        checked.push(diagnostic.help(advice));
        return;
    }
    let near = meant.map_or_else(|| suggest::mnemonics(opcode), |meant| vec![meant]);
    diagnostic = match near.as_slice() {
        [] => diagnostic.help("`vptx explain` lists the video instructions"),
        [near] => {
            let help = if meant.is_some() {
                format!("instructions are written in lower case: `{near}`")
            } else {
                format!("did you mean `{near}`?")
            };
            diagnostic.help(help).offer(span, near.text())
        }
        // Several candidates are equally near: there is no fix to offer.
        _ => {
            let near: Vec<String> = near.iter().map(|near| format!("`{near}`")).collect();
            diagnostic.help(format!("did you mean {}?", structure::either(&near)))
        }
    };
    checked.push(diagnostic);
}

/// The only special register that is a predicate.
const SPECIAL_PREDICATE: &str = "%is_explicit_cluster";

fn guard(checked: &mut Checked<'_, '_>, guard: crate::syntax::Guard) -> Option<Guard> {
    let text = guard.name.text(checked.source);
    let symbol = checked.context.resolve(text);
    let register = symbol.and_then(|symbol| symbol.kind.register_type());
    let what = match (symbol, register) {
        (Some(_), Some(RegisterType::Predicate)) => None,
        (None, _) if !checked.context.is_module || text == SPECIAL_PREDICATE => None,
        (None, _) => Some("is not declared here"),
        (Some(_), _) => Some("is not a predicate"),
    };
    let predicate = Register::new(text);
    if let Some(what) = what.or(predicate.is_none().then_some("is not a register")) {
        // The declaration of an `asm` operand has a span after the end of the text.
        let is_operand =
            symbol.is_some_and(|symbol| symbol.span.start as usize >= checked.source.len());
        let help = if is_operand {
            format!(
                "an operand is never a predicate; set one in the text: `.reg .pred p; setp.ne.u32 \
                 p, {text}, 0;`"
            )
        } else {
            "declare it as `.reg .pred`, or set one with `setp`".into()
        };
        let message = format!("the guard `{text}` {what}");
        let mut diagnostic = Diagnostic::new(Code::GuardNotPredicate, guard.name, message)
            .label("expected a predicate register")
            .help(help);
        if let Some(symbol) = symbol {
            diagnostic = diagnostic.related(symbol.span, "declared here");
        }
        checked.push(diagnostic);
        return None;
    }
    Some(Guard { negated: guard.negated, predicate: predicate? })
}

/// Checks the `.target` and `.version` in force against what the instruction needs.
fn gates(checked: &mut Checked<'_, '_>, mnemonic: Mnemonic, span: Span) {
    let needs = video::forms(mnemonic)[0].requirement;
    let own = checked.context.target;
    let list = &checked.options.targets;
    let oldest = list.iter().copied().min_by_key(|target| target.number);
    let target = oldest
        .or(checked.options.target)
        .map(|target| (target, None))
        .or(own.map(|(t, at)| (t, Some(at))));
    if let Some((target, at)) = target.filter(|(target, _)| target.number < needs.target.number) {
        let old = list.iter().filter(|target| target.number < needs.target.number);
        let old: Vec<String> = old.map(ToString::to_string).collect();
        let message = format!("`{mnemonic}` needs `.target {}` or higher", needs.target);
        let diagnostic =
            Diagnostic::new(Code::TargetTooLow, span, message).label(match old.as_slice() {
                [] => format!("the target is {target}"),
                _ => format!("too old: {}", old.join(", ")),
            });
        checked.push(match at {
            Some(at) => diagnostic
                .related(at, "set here")
                .help("raise the target, or replace the instruction with ordinary ones"),
            None => diagnostic.help("the target was given as an option"),
        });
    }
    let own = checked.context.version;
    let version = checked
        .options
        .ptx_version
        .map(|version| (version, None))
        .or(own.map(|(v, at)| (v, Some(at))));
    if let Some((version, at)) = version.filter(|(version, _)| *version < needs.version) {
        let message = format!("`{mnemonic}` needs PTX `.version {}` or higher", needs.version);
        let diagnostic = Diagnostic::new(Code::VersionTooLow, span, message)
            .label(format!("the version is {version}"));
        checked.push(match at {
            Some(at) => diagnostic.related(at, "set here").help(format!(
                "write `.version {}` or higher at the start of the module",
                needs.version
            )),
            None => diagnostic.help("the version was given as an option"),
        });
    }
}

/// The operands, validated one by one.
struct CheckedOperands {
    d: Register,
    a: Operand,
    b: Operand,
    c: Option<Operand>,
}

impl CheckedOperands {
    /// Reads all operands, so that the errors of each are reported.
    fn read(
        checked: &mut Checked<'_, '_>,
        mnemonic: Mnemonic,
        operands: &Operands<'_>,
    ) -> Option<CheckedOperands> {
        let form = operands.form;
        // `assign` may have read an extra operand, which is no part of the instruction.
        checked.declared = None;
        let d = operands::destination(checked, form, mnemonic, operands.d);
        operands::not_of_halves(checked, mnemonic, operands.d, OperandName::D);
        checked.note_type(OperandName::D);
        let a = operands::source(checked, form, operands.a);
        operands::not_of_halves(checked, mnemonic, operands.a, OperandName::A);
        checked.note_type(OperandName::A);
        let b = operands::source(checked, form, operands.b);
        operands::not_of_halves(checked, mnemonic, operands.b, OperandName::B);
        checked.note_type(OperandName::B);
        let c = operands.c.map(|c| {
            let value = operands::third_source(checked, form, c);
            operands::not_of_halves(checked, mnemonic, c, OperandName::C);
            value
        });
        checked.note_type(OperandName::C);
        Some(CheckedOperands { d: d?, a: a?, b: b?, c: c.flatten() })
    }
}

/// Builds the operation from checked parts. `None` cannot happen, but the types require
/// it.
fn build(
    checked: &Checked<'_, '_>,
    mnemonic: Mnemonic,
    modifiers: &Modifiers,
    operands: &Operands<'_>,
    values: CheckedOperands,
    negated: Option<OperandName>,
) -> Option<Operation> {
    let selector = |raw: &RawOperand| raw.selector.map(|span| span.text(checked.source));
    Operation::build(&Parts {
        mnemonic,
        modifiers: &|role| modifiers.get(role),
        d: Selected { value: values.d, selector: selector(operands.d) },
        a: Selected { value: values.a, selector: selector(operands.a) },
        b: Selected { value: values.b, selector: selector(operands.b) },
        c: values.c,
        negated,
    })
}
