//! Matches the modifiers of an instruction with the slots of its forms.

use super::instruction::Checked;
use super::structure::either;
use super::suggest;
use crate::diagnostic::{Applicability, Code, Diagnostic, Edit, listed};
use crate::isa::{Destination, Mnemonic, Modifier, Role, Slot};
use crate::source::Span;
use crate::syntax::{RawInstruction, Shape, types};
use crate::video;

/// The modifiers by role.
#[derive(Debug, Default)]
pub(super) struct Modifiers {
    roles: [Option<(Modifier, Span)>; Role::COUNT],
    /// Whether any modifier was unknown: an unknown modifier may be the one that seems to be
    /// missing.
    unknown: bool,
}

impl Modifiers {
    pub(super) fn get(&self, role: Role) -> Option<Modifier> {
        self.roles[role as usize].map(|(modifier, _)| modifier)
    }

    pub(super) fn span(&self, role: Role) -> Option<Span> {
        self.roles[role as usize].map(|(_, span)| span)
    }
}

/// Comparisons of `set` and `setp` that video instructions lack, each with its
/// replacement for integers.
const FOREIGN_COMPARISONS: &[(&str, Option<&str>)] = &[
    (".lo", Some(".lt")),
    (".ls", Some(".le")),
    (".hi", Some(".gt")),
    (".hs", Some(".ge")),
    (".equ", Some(".eq")),
    (".neu", Some(".ne")),
    (".ltu", Some(".lt")),
    (".leu", Some(".le")),
    (".gtu", Some(".gt")),
    (".geu", Some(".ge")),
    (".num", None),
    (".nan", None),
];

/// Whether a word that is no modifier of a video instruction is a type of PTX.
fn is_foreign_type(text: &str) -> bool {
    types().chain([".bf16", ".bf16x2", ".tf32", ".u16x2", ".s16x2"]).any(|it| it == text)
}

/// The spellings that fit a slot.
fn choices(slot: &Slot) -> String {
    let texts: Vec<String> =
        slot.choices.iter().map(|choice| format!("`{}`", choice.text())).collect();
    either(&texts)
}

/// The slot of a role, from the first form of the mnemonic that has a slot for it.
fn slot(mnemonic: Mnemonic, role: Role) -> Option<&'static Slot> {
    video::forms(mnemonic).iter().find_map(|form| form.slot(role))
}

pub(super) fn read(
    checked: &mut Checked<'_, '_>,
    mnemonic: Mnemonic,
    raw: &RawInstruction,
) -> Modifiers {
    let mut modifiers = Modifiers::default();
    let mut types: Vec<(Option<Modifier>, Span)> = Vec::with_capacity(4);
    for &span in &raw.modifiers {
        let text = span.text(checked.source);
        match Modifier::from_text(text) {
            Some(modifier) if modifier.role().is_type() => {
                types.push((Some(modifier), span));
            }
            Some(modifier) if video::takes(mnemonic, modifier) => {
                place(checked, mnemonic, &mut modifiers, modifier, span);
            }
            Some(modifier) => {
                not_allowed(checked, mnemonic, modifier, span, raw);
            }
            None if is_foreign_type(text) => {
                types.push((None, span));
            }
            None => {
                match unknown(checked, mnemonic, &mut modifiers, raw, span) {
                    // A misspelt type is not a missing type.
                    Some(meant) if meant.role().is_type() => types.push((Some(meant), span)),
                    _ => {}
                }
            }
        }
    }
    assign_types(checked, mnemonic, &mut modifiers, &types, raw);
    require(checked, mnemonic, &mut modifiers, raw);
    modifiers
}

/// Puts a modifier into its slot.
fn place(
    checked: &mut Checked<'_, '_>,
    mnemonic: Mnemonic,
    modifiers: &mut Modifiers,
    modifier: Modifier,
    span: Span,
) {
    let role = modifier.role();
    let Some((first, first_span)) = modifiers.roles[role as usize] else {
        modifiers.roles[role as usize] = Some((modifier, span));
        return;
    };
    if role == Role::Saturate {
        // ptxas accepts any number of `.sat`.
        return;
    }
    let message = if first == modifier {
        format!("`{modifier}` is written twice")
    } else {
        format!("`{first}` and `{modifier}` exclude each other")
    };
    let mut diagnostic = Diagnostic::new(Code::ConflictingModifiers, span, message)
        .label(format!("a second {}", role.name()))
        .related(first_span, "the first one");
    if let Some(slot) = slot(mnemonic, role) {
        diagnostic = diagnostic.help(match slot.choices {
            [_] => "write it once".into(),
            _ => format!("write one of {}", choices(slot)),
        });
    }
    if first == modifier {
        diagnostic = diagnostic.remove(Applicability::Unsafe, span);
    }
    checked.push(diagnostic);
}

/// Reports a modifier that other video instructions take, but this one does not.
fn not_allowed(
    checked: &mut Checked<'_, '_>,
    mnemonic: Mnemonic,
    modifier: Modifier,
    span: Span,
    raw: &RawInstruction,
) {
    let simd = slot(mnemonic, Role::Secondary).is_some_and(|slot| slot.choices.len() == 1);
    if simd && modifier.role() == Role::Secondary {
        let message = format!("`{mnemonic}` has no secondary operation `{modifier}`");
        checked.push(
            Diagnostic::new(Code::SimdSecondaryOperation, span, message)
                .label("only `.add` is possible here")
                .help(format!(
                    "SIMD lanes are written to `d` or, with `.add`, added to `c`; {}",
                    secondary_advice(checked, mnemonic, modifier, raw)
                )),
        );
        return;
    }
    let takers: Vec<String> = Mnemonic::ALL
        .iter()
        .filter(|other| video::takes(**other, modifier))
        .map(|other| format!("`{other}`"))
        .collect();
    let why = match modifier.role() {
        Role::Saturate => format!("`{mnemonic}` gives 0 or 1, so there is nothing to clamp"),
        Role::Secondary => format!("`{mnemonic}` always adds `c`"),
        // Each other role belongs to at most three instructions.
        _ => format!("`{modifier}` belongs to {}", listed(&takers, "and")),
    };
    let message = format!("`{mnemonic}` does not take `{modifier}`");
    checked.push(
        Diagnostic::new(Code::ModifierNotAllowed, span, message)
            .label("not allowed here")
            .help(format!(
                "{why}; the syntax is `{}`",
                video::syntax(mnemonic, &video::forms(mnemonic)[0])
            ))
            .fix(Applicability::Unsafe, format!("remove `{modifier}`"), vec![Edit::remove(span)]),
    );
}

/// Advice on how to replace a SIMD `.min` or `.max`.
fn secondary_advice(
    checked: &Checked<'_, '_>,
    mnemonic: Mnemonic,
    modifier: Modifier,
    raw: &RawInstruction,
) -> String {
    let width = mnemonic.text().chars().next_back().unwrap_or_default();
    // The lanes of a comparison are unsigned; other lanes have the destination's type.
    let first = raw.modifiers.first().map(|span| span.text(checked.source));
    let ty = match first {
        Some(".s32") if slot(mnemonic, Role::Dtype).is_some() => ".s32",
        _ => ".u32",
    };
    let (d, c) = (example(checked.source, raw, 0, "d"), example(checked.source, raw, 3, "c"));
    let second = format!("v{}{width}{ty}{ty}{ty} {d}, {d}, {c}, {c};", &modifier.text()[1..]);
    let note = if mnemonic == Mnemonic::Vset4 && modifier == Modifier::Max {
        " (the manual's example `vset4.u32.u32.ne.max` is a mistake: no assembler accepts it)"
    } else {
        ""
    };
    format!("drop `{modifier}` and follow with `{second}`{note}")
}

/// The register of an operand in an example, if its name is short.
fn example<'s>(source: &'s str, raw: &RawInstruction, at: usize, default: &'s str) -> &'s str {
    match raw.operands.get(at).map(|it| (it.shape, it.value)) {
        Some((Shape::Name, value)) if value.len() <= 20 => value.text(source),
        _ => default,
    }
}

/// Reports a modifier that no video instruction has, and suggests the modifier that may have been
/// meant.
fn unknown(
    checked: &mut Checked<'_, '_>,
    mnemonic: Mnemonic,
    modifiers: &mut Modifiers,
    raw: &RawInstruction,
    span: Span,
) -> Option<Modifier> {
    let text = span.text(checked.source);
    let compares = slot(mnemonic, Role::Compare);
    let foreign = FOREIGN_COMPARISONS.iter().find(|(foreign, _)| *foreign == text);
    if let (Some(slot), Some((_, instead))) = (compares, foreign) {
        let message = format!("`{text}` is not a comparison of `{mnemonic}`");
        let mut diagnostic =
            Diagnostic::new(Code::ForeignComparison, span, message).label("not a video comparison");
        if let Some(instead) = instead {
            diagnostic = diagnostic
                .help(format!(
                    "write `{instead}`: signedness comes from the types, not from the comparison"
                ))
                .offer(span, instead);
        } else {
            diagnostic = diagnostic.help(format!("write {}", choices(slot)));
        }
        checked.push(diagnostic);
        // The replacement fills the slot, so that no missing comparison is reported.
        let modifier = instead.and_then(Modifier::from_text).unwrap_or(slot.choices[0]);
        if modifiers.get(Role::Compare).is_none() {
            modifiers.roles[Role::Compare as usize] = Some((modifier, span));
        }
        return None;
    }
    let message = format!("`{text}` is not a modifier of `{mnemonic}`");
    let mut diagnostic =
        Diagnostic::new(Code::UnknownModifier, span, message).label("unknown modifier");
    if let Some(help) = belongs_to_operand(checked.source, mnemonic, raw, span) {
        checked.push(diagnostic.help(help));
        return None;
    }
    modifiers.unknown = true;
    let near = suggest::modifiers(mnemonic, text);
    let meant = near.first().copied();
    if let Some(meant) = meant {
        let names: Vec<String> = near.iter().map(|near| format!("`{near}`")).collect();
        diagnostic = diagnostic.help(format!("did you mean {}?", either(&names)));
        // With several candidates, there is no single choice.
        if near.len() == 1 {
            diagnostic = diagnostic.offer(span, meant.text());
        }
        // The modifier that was meant fills its slot, so that it is not reported as
        // missing.
        let role = meant.role();
        if !role.is_type() && modifiers.get(role).is_none() {
            modifiers.roles[role as usize] = Some((meant, span));
        }
    } else if mnemonic == Mnemonic::Vmad && matches!(text, ".lo" | ".hi" | ".wide") {
        diagnostic = diagnostic.help("`vmad` always writes the low 32 bits of the exact sum");
    } else {
        let known: Vec<String> = Modifier::ALL
            .iter()
            .filter(|modifier| video::takes(mnemonic, **modifier))
            .map(|modifier| format!("`{modifier}`"))
            .collect();
        diagnostic = diagnostic.help(format!("`{mnemonic}` takes {}", listed(&known, "and")));
    }
    checked.push(diagnostic);
    meant
}

/// Advice to move a selector or mask from the mnemonic to its operand.
fn belongs_to_operand(
    source: &str,
    mnemonic: Mnemonic,
    raw: &RawInstruction,
    span: Span,
) -> Option<String> {
    let text = span.text(source);
    let form = &video::forms(mnemonic)[0];
    let is_mask =
        matches!(form.destination, Destination::Mask(_)) && form.destination.accepts(text);
    let is_selector = form.sources.accepts(text);
    if !is_mask && !is_selector {
        return None;
    }
    // Legal instructions have fewer modifiers.
    let modifiers = raw.modifiers.iter().take(8).map(|modifier| modifier.text(source));
    let opcode: String =
        modifiers.filter(|modifier| Modifier::from_text(modifier).is_some()).collect();
    let (d, a) = (example(source, raw, 0, "d"), example(source, raw, 1, "a"));
    let on_d = format!("`{mnemonic}{opcode} {d}{text}, …`");
    let on_a = format!("`{mnemonic}{opcode} {d}, {a}{text}, …`");
    Some(match (is_mask, is_selector) {
        (true, true) => {
            format!("a mask belongs on the destination: {on_d}; a selector on a source: {on_a}")
        }
        (true, false) => format!("a mask belongs on the destination: {on_d}"),
        _ => format!("a selector belongs on its operand: {on_a}"),
    })
}

/// Assigns the types, in the order written, to the type slots.
fn assign_types(
    checked: &mut Checked<'_, '_>,
    mnemonic: Mnemonic,
    modifiers: &mut Modifiers,
    types: &[(Option<Modifier>, Span)],
    raw: &RawInstruction,
) {
    let form = &video::forms(mnemonic)[0];
    let wanted = form.type_slots().count();
    let names = match wanted {
        2 => "types for a and b",
        _ => "types for d, a and b",
    };
    for (&(modifier, span), slot) in types.iter().zip(form.type_slots()) {
        let Some(modifier) = modifier else {
            wrong_type(checked, slot, span);
            continue;
        };
        if slot.choices.contains(&modifier) {
            modifiers.roles[slot.role as usize] = Some((modifier, span));
            continue;
        }
        modifiers.roles[slot.role as usize] = Some((slot.choices[0], span));
        checked.push(
            Diagnostic::new(Code::SignedShiftAmount, span, "a shift amount is always unsigned")
                .label(format!("expected {}", choices(slot)))
                .help("the third type belongs to the amount `b`")
                .offer(span, slot.choices[0].text()),
        );
    }
    let line = || video::syntax(mnemonic, form);
    if types.len() < wanted {
        let (span, count) = match (types.first(), types.last()) {
            (Some(first), Some(last)) => (first.1.to(last.1), types.len().to_string()),
            _ => (raw.mnemonic, "none".into()),
        };
        let message = format!("`{mnemonic}` needs {wanted} types, found {count}");
        checked.push(
            Diagnostic::new(Code::MissingType, span, message)
                .label(format!("expected {names}"))
                .help(format!("the syntax is `{}`", line())),
        );
    }
    if let [(_, first), .., (_, last)] | [(_, first @ last)] =
        types.get(wanted..).unwrap_or_default()
    {
        let why = if form.slot(Role::Dtype).is_none() {
            format!("`{mnemonic}` has no destination type: the result is 0 or 1")
        } else {
            format!("write {names}; `c` has no type")
        };
        let message = format!("`{mnemonic}` takes {wanted} types, found {}", types.len());
        checked.push(
            Diagnostic::new(Code::ExtraType, first.to(*last), message)
                .label("too many")
                .help(format!("{why}; the syntax is `{}`", line())),
        );
    }
}

fn wrong_type(checked: &mut Checked<'_, '_>, slot: &Slot, span: Span) {
    let text = span.text(checked.source);
    let (meant, help) = match text {
        ".u8" | ".u16" | ".u64" => (Some(Modifier::U32), SMALL),
        ".s8" | ".s16" | ".s64" => (Some(Modifier::S32), SMALL),
        ".b8" | ".b16" => (None, SMALL),
        ".b32" => (None, "say whether the value is unsigned or signed"),
        _ => (None, "video instructions work on 32-bit integers and parts of them"),
    };
    let meant = meant.filter(|meant| slot.choices.contains(meant));
    let message = format!("`{text}` is not a type of video instructions");
    let mut diagnostic = Diagnostic::new(Code::WrongType, span, message)
        .label(format!("the {}: expected {}", slot.role.name(), choices(slot)))
        .help(help);
    if let Some(meant) = meant {
        diagnostic = diagnostic.offer(span, meant.text());
    }
    checked.push(diagnostic);
}

const SMALL: &str = "the type says signed or unsigned only; selectors such as `.b0` or `.h1` on the \
                     operands choose bytes and half-words";

/// Reports the slots that every form of the mnemonic fills and this instruction does
/// not.
fn require(
    checked: &mut Checked<'_, '_>,
    mnemonic: Mnemonic,
    modifiers: &mut Modifiers,
    raw: &RawInstruction,
) {
    let forms = video::forms(mnemonic);
    let required = forms[0].slots.iter().filter(|slot| !slot.role.is_type()).filter(|slot| {
        forms.iter().all(|form| form.slot(slot.role).is_some_and(|slot| !slot.optional))
    });
    for slot in required {
        if modifiers.get(slot.role).is_some() || modifiers.unknown {
            continue;
        }
        let code = if slot.role == Role::Compare {
            Code::MissingComparison
        } else {
            Code::MissingShiftMode
        };
        // The documented place: after all modifiers that precede the slot in the form.
        let before = forms[0].slots.iter().take_while(|before| before.role != slot.role);
        let at = before
            .filter_map(|before| modifiers.span(before.role))
            .map(|span| span.end)
            .max()
            .unwrap_or(raw.mnemonic.end);
        let message = format!("`{mnemonic}` needs a {}", slot.role.name());
        let mut diagnostic =
            Diagnostic::new(code, Span::at(at), message).label(format!("add {}", choices(slot)));
        if code == Code::MissingShiftMode {
            diagnostic = diagnostic.help(
                "`.clamp` makes amounts above 32 count as 32, `.wrap` uses their low five bits",
            );
            for choice in slot.choices {
                diagnostic = diagnostic.fix(
                    Applicability::Unsafe,
                    format!("add `{choice}`"),
                    vec![Edit::insert(at, choice.text())],
                );
            }
        } else {
            let line = video::syntax(mnemonic, &forms[0]);
            diagnostic = diagnostic.help(format!("the syntax is `{line}`"));
        }
        checked.push(diagnostic);
    }
}
