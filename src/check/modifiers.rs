//! The modifiers of an instruction against the slots of its forms.

use super::instruction::Checked;
use super::structure::either;
use super::suggest;
use crate::diagnostic::{Applicability, Diagnostic, Edit};
use crate::isa::{Mnemonic, Modifier, Role, Slot};
use crate::lint::Code;
use crate::source::Span;
use crate::syntax::RawInstruction;
use crate::video;

/// What the modifiers say, by role.
#[derive(Debug, Default)]
pub(super) struct Modifiers {
    roles: [Option<(Modifier, Span)>; Role::COUNT],
    /// Whether any was wrong: then nothing is said about their order.
    faulty: bool,
    /// Every good modifier as written.
    written: Vec<(Modifier, Span)>,
}

impl Modifiers {
    pub(super) fn get(&self, role: Role) -> Option<Modifier> {
        self.roles[role as usize].map(|(modifier, _)| modifier)
    }

    pub(super) fn span(&self, role: Role) -> Option<Span> {
        self.roles[role as usize].map(|(_, span)| span)
    }
}

/// Comparisons of `set` and `setp` that video instructions lack, and the one
/// to write for integers.
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

/// PTX types that no video instruction has.
fn is_foreign_type(text: &str) -> bool {
    matches!(
        text,
        ".b8"
            | ".b16"
            | ".b32"
            | ".b64"
            | ".b128"
            | ".u8"
            | ".u16"
            | ".u64"
            | ".s8"
            | ".s16"
            | ".s64"
            | ".f16"
            | ".f16x2"
            | ".f32"
            | ".f64"
            | ".bf16"
            | ".bf16x2"
            | ".tf32"
            | ".pred"
            | ".u16x2"
            | ".s16x2"
    )
}

/// The spellings that fit a slot.
fn choices(slot: &Slot) -> String {
    let texts: Vec<String> =
        slot.choices.iter().map(|choice| format!("`{}`", choice.text())).collect();
    either(&texts)
}

/// The slot of a role in the first form of the mnemonic that has one.
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
                modifiers.written.push((modifier, span));
            }
            Some(modifier) if video::takes(mnemonic, modifier) => {
                place(checked, mnemonic, &mut modifiers, modifier, span);
            }
            Some(modifier) => {
                modifiers.faulty = true;
                not_allowed(checked, mnemonic, modifier, span);
            }
            None if is_foreign_type(text) => {
                types.push((None, span));
                modifiers.faulty = true;
            }
            None => {
                modifiers.faulty = true;
                unknown(checked, mnemonic, &mut modifiers, text, span);
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
    modifiers.written.push((modifier, span));
    let Some((first, first_span)) = modifiers.roles[role as usize] else {
        modifiers.roles[role as usize] = Some((modifier, span));
        return;
    };
    if role == Role::Saturate {
        // ptxas takes any number of them.
        checked.portability(
            Diagnostic::new(Code::V402, span, "`.sat` is written more than once")
                .label("no effect")
                .related(first_span, "already here")
                .help("write `.sat` once")
                .fix(Applicability::Safe, "remove it", vec![Edit::remove(span)]),
        );
        return;
    }
    modifiers.faulty = true;
    let message = if first == modifier {
        format!("`{modifier}` is written twice")
    } else {
        format!("`{first}` and `{modifier}` exclude each other")
    };
    let mut diagnostic = Diagnostic::new(Code::V110, span, message)
        .label(format!("a second {}", role.name()))
        .related(first_span, "the first one");
    if let Some(slot) = slot(mnemonic, role) {
        diagnostic = diagnostic.help(format!("write one of {}", choices(slot)));
    }
    if first == modifier {
        diagnostic = diagnostic.fix(Applicability::Unsafe, "remove it", vec![Edit::remove(span)]);
    }
    checked.push(diagnostic);
}

/// A modifier of video instructions that this one does not take.
fn not_allowed(checked: &mut Checked<'_, '_>, mnemonic: Mnemonic, modifier: Modifier, span: Span) {
    let simd = slot(mnemonic, Role::Secondary).is_some_and(|slot| slot.choices.len() == 1);
    if simd && modifier.role() == Role::Secondary {
        checked.push(
            Diagnostic::new(
                Code::V112,
                span,
                format!("`{mnemonic}` has no secondary operation `{modifier}`"),
            )
            .label("only `.add` is possible here")
            .help(format!(
                "SIMD video instructions either write their lanes to `d` or, with `.add`, \
                 add them to `c`{}",
                secondary_advice(mnemonic, modifier)
            )),
        );
        return;
    }
    let takers: Vec<String> = Mnemonic::ALL
        .iter()
        .filter(|other| video::takes(**other, modifier))
        .map(|other| format!("`{other}`"))
        .collect();
    let why = match (modifier.role(), mnemonic.family()) {
        (Role::Saturate, _) => "its result is 0 or 1, so there is nothing to clamp".to_string(),
        (Role::Secondary, _) => "it always adds `c`".to_string(),
        // Comparisons of a whole family of takers need no list of names.
        _ if takers.len() <= 3 => format!("it belongs to {}", list(&takers)),
        (role, _) => format!("it has no {}", role.name()),
    };
    checked.push(
        Diagnostic::new(Code::V103, span, format!("`{mnemonic}` does not take `{modifier}`"))
            .label("not allowed here")
            .help(format!(
                "{why}; the syntax is `{}`",
                video::syntax(mnemonic, &video::forms(mnemonic)[0])
            ))
            .fix(Applicability::Unsafe, format!("remove `{modifier}`"), vec![Edit::remove(span)]),
    );
}

/// What to do instead of a SIMD `.min` or `.max`.
fn secondary_advice(mnemonic: Mnemonic, modifier: Modifier) -> String {
    let width = mnemonic.text().chars().next_back().unwrap_or_default();
    let second = format!("v{}{width}", &modifier.text()[1..]);
    let example = if mnemonic == Mnemonic::Vset4 && modifier == Modifier::Max {
        " (the manual's example `vset4.u32.u32.ne.max` is a mistake: no assembler accepts it)"
    } else {
        ""
    };
    format!("; for that of the lanes and `c`, follow with `{second}.u32.u32.u32`{example}")
}

fn unknown(
    checked: &mut Checked<'_, '_>,
    mnemonic: Mnemonic,
    modifiers: &mut Modifiers,
    text: &str,
    span: Span,
) {
    let compares = slot(mnemonic, Role::Compare);
    let foreign = FOREIGN_COMPARISONS.iter().find(|(foreign, _)| *foreign == text);
    if let (Some(slot), Some((_, instead))) = (compares, foreign) {
        let mut diagnostic = Diagnostic::new(
            Code::V113,
            span,
            format!("`{text}` is not a comparison of `{mnemonic}`"),
        )
        .label("not a video comparison");
        if let Some(instead) = instead {
            diagnostic = diagnostic
                .help(format!(
                    "write `{instead}`: signedness comes from the types, not from the comparison"
                ))
                .fix(
                    Applicability::Unsafe,
                    format!("write `{instead}`"),
                    vec![Edit::replace(span, *instead)],
                );
            // Good enough to stand for the comparison that is there.
            let modifier = Modifier::from_text(instead);
            if let (Some(modifier), None) = (modifier, modifiers.get(Role::Compare)) {
                modifiers.roles[Role::Compare as usize] = Some((modifier, span));
            }
        } else {
            diagnostic = diagnostic.help(format!("write {}", choices(slot)));
        }
        checked.push(diagnostic);
        return;
    }
    let mut diagnostic =
        Diagnostic::new(Code::V102, span, format!("`{text}` is not a modifier of `{mnemonic}`"))
            .label("unknown modifier");
    if let Some(meant) = suggest::modifier(mnemonic, text) {
        diagnostic = diagnostic.help(format!("did you mean `{meant}`?")).fix(
            Applicability::Unsafe,
            format!("write `{meant}`"),
            vec![Edit::replace(span, meant.text())],
        );
        // Do not also complain that what was meant is missing.
        let role = meant.role();
        if !role.is_type() && modifiers.get(role).is_none() {
            modifiers.roles[role as usize] = Some((meant, span));
        }
    } else {
        let line = video::syntax(mnemonic, &video::forms(mnemonic)[0]);
        diagnostic = diagnostic.help(format!("the syntax is `{line}`"));
    }
    checked.push(diagnostic);
}

/// Gives the types, in the order written, to the type slots.
fn assign_types(
    checked: &mut Checked<'_, '_>,
    mnemonic: Mnemonic,
    modifiers: &mut Modifiers,
    types: &[(Option<Modifier>, Span)],
    raw: &RawInstruction,
) {
    let form = &video::forms(mnemonic)[0];
    let slots: Vec<&Slot> = form.type_slots().collect();
    let names = match slots.len() {
        2 => "the types of a and b",
        _ => "the types of d, a and b",
    };
    for (&(modifier, span), slot) in types.iter().zip(&slots) {
        let Some(modifier) = modifier else {
            let text = span.text(checked.source);
            checked.push(
                Diagnostic::new(
                    Code::V106,
                    span,
                    format!("`{text}` is not a type of video instructions"),
                )
                .label(format!("expected {}", choices(slot)))
                .help(format!(
                    "this is the {}; selectors such as `.b0` or `.h1` on the operands, not types, choose smaller parts",
                    slot.role.name()
                )),
            );
            continue;
        };
        if slot.choices.contains(&modifier) {
            modifiers.roles[slot.role as usize] = Some((modifier, span));
            continue;
        }
        modifiers.faulty = true;
        modifiers.roles[slot.role as usize] = Some((slot.choices[0], span));
        checked.push(
            Diagnostic::new(Code::V107, span, "a shift amount is always unsigned")
                .label(format!("expected {}", choices(slot)))
                .help("the third type belongs to the amount `b`")
                .fix(
                    Applicability::Unsafe,
                    format!("write `{}`", slot.choices[0]),
                    vec![Edit::replace(span, slot.choices[0].text())],
                ),
        );
    }
    let line = video::syntax(mnemonic, form);
    if types.len() < slots.len() {
        modifiers.faulty = true;
        let (span, count) = match (types.first(), types.last()) {
            (Some(first), Some(last)) => (first.1.to(last.1), types.len().to_string()),
            _ => (raw.mnemonic, "none".into()),
        };
        checked.push(
            Diagnostic::new(
                Code::V104,
                span,
                format!("`{mnemonic}` needs {} types, found {count}", slots.len()),
            )
            .label(format!("expected {names}"))
            .help(format!("the syntax is `{line}`")),
        );
    }
    if let [(_, first), .., (_, last)] | [(_, first @ last)] =
        types.get(slots.len()..).unwrap_or_default()
    {
        modifiers.faulty = true;
        let why = if form.slot(Role::Dtype).is_none() {
            format!("`{mnemonic}` has no destination type: the result is 0 or 1")
        } else {
            format!("the types are {names}")
        };
        checked.push(
            Diagnostic::new(
                Code::V105,
                first.to(*last),
                format!("`{mnemonic}` takes {} types, found {}", slots.len(), types.len()),
            )
            .label("too many")
            .help(format!("{why}; the syntax is `{line}`")),
        );
    }
}

/// Reports the slots that every form of the mnemonic fills and this
/// instruction does not.
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
        if modifiers.get(slot.role).is_some() {
            continue;
        }
        modifiers.faulty = true;
        let code = if slot.role == Role::Compare { Code::V108 } else { Code::V109 };
        let at = raw.modifiers.last().map_or(raw.mnemonic.end, |last| last.end);
        checked.push(
            Diagnostic::new(
                code,
                raw.mnemonic,
                format!("`{mnemonic}` needs a {}", slot.role.name()),
            )
            .label(format!("add {}", choices(slot)))
            .help(match code {
                Code::V109 => {
                    "`.clamp` makes amounts above 32 count as 32, `.wrap` uses their low five bits"
                        .to_string()
                }
                _ => format!("the syntax is `{}`", video::syntax(mnemonic, &forms[0])),
            })
            .related(Span::at(at), "after this"),
        );
    }
}

/// Warns of modifiers in another order than the form's, once everything else
/// is right.
pub(super) fn order(checked: &mut Checked<'_, '_>, modifiers: &Modifiers, slots: &[Slot]) {
    if modifiers.faulty {
        return;
    }
    let documented: Vec<Modifier> =
        slots.iter().filter_map(|slot| modifiers.get(slot.role)).collect();
    // A repeated `.sat` is another finding.
    let mut seen = false;
    let written: Vec<(Modifier, Span)> = modifiers
        .written
        .iter()
        .copied()
        .filter(|&(modifier, _)| modifier != Modifier::Sat || !std::mem::replace(&mut seen, true))
        .collect();
    let pairs = || written.iter().zip(&documented);
    if pairs().all(|((written, _), documented)| written == documented) {
        return;
    }
    let (Some((_, first)), Some((_, last))) = (written.first(), written.last()) else {
        return;
    };
    let text: String = documented.iter().map(|modifier| modifier.text()).collect();
    checked.portability(
        Diagnostic::new(
            Code::V401,
            first.to(*last),
            "the modifiers are not in the documented order",
        )
        .label("ptxas accepts it, the manual does not have it")
        .help(format!("write `{text}`"))
        .fix(
            Applicability::Safe,
            "put them in the documented order",
            // Token by token: comments between them stay.
            pairs()
                .filter(|((written, _), documented)| written != *documented)
                .map(|((_, span), documented)| Edit::replace(*span, documented.text()))
                .collect(),
        ),
    );
}

/// `a, b and c`
fn list(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [one] => one.clone(),
        [rest @ .., last] => format!("{} and {last}", rest.join(", ")),
    }
}
