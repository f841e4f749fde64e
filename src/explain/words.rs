//! Explains modifiers, selectors and masks.

use crate::isa::{Destination, Form, LaneWidth, Mask, Modifier, Part, Selector, Sources};
use crate::video::FORMS;

/// The page of a modifier, selector or mask, with or without its dot. Empty if the word
/// is not known.
pub(crate) fn page(word: &str) -> String {
    let mut word = word.to_ascii_lowercase();
    if !word.starts_with('.') {
        word.insert(0, '.');
    }
    let mut sections: Vec<String> = Vec::new();
    if let Some(modifier) = Modifier::from_text(&word) {
        let takes = |form: &Form| form.slots.iter().any(|slot| slot.choices.contains(&modifier));
        let text = format!("{}\n\n{}", modifier.effect(), places(takes));
        sections.push(format!("# {word}: {}\n\n{text}", kind(modifier)));
    }
    if let Some(part) = Part::from_text(&word) {
        sections.push(part_page(part));
    }
    let widths = [LaneWidth::Halves, LaneWidth::Bytes];
    sections.extend(widths.into_iter().filter_map(|width| selector_page(width, &word)));
    sections.extend(widths.into_iter().filter_map(|width| mask_page(width, &word)));
    sections.join("\n")
}

fn kind(modifier: Modifier) -> &'static str {
    if modifier.role().is_type() { "type" } else { modifier.role().name() }
}

/// The instructions whose forms satisfy a condition, by families.
fn places(has: impl Fn(&Form) -> bool) -> String {
    let mut text = String::from("Instructions that take it:\n\n");
    for forms in FORMS {
        let titles: Vec<&str> = forms.iter().filter(|it| has(it)).map(|form| form.title).collect();
        let names: Vec<&str> = forms[0].mnemonics.iter().map(|it| it.text()).collect();
        if titles.is_empty() {
            continue;
        }
        text.extend(["    ", &names.join(" ")]);
        if titles.len() < forms.len() {
            text.extend([" (", &titles.join(", "), ")"]);
        }
        text.push('\n');
    }
    text
}

fn part_page(part: Part) -> String {
    let (low, high) = (part.shift(), part.shift() + part.width() - 1);
    let what = if part.width() == 8 { "byte" } else { "half-word" };
    let sources = places(|form| form.sources == Sources::Scalar);
    let merges = places(|form| form.destination == Destination::Part);
    format!(
        "# {part}: selector of a {what}\n\n\
         On `a` or `b`: bits {low} to {high} are taken, and extended by the type of the\n\
         source.\n\n{sources}\n\
         On `d`: the low {width} bits of the result go there, and the other bits of `d`\n\
         come from `c`.\n\n{merges}",
        width = part.width(),
    )
}

fn selector_page(width: LaneWidth, word: &str) -> Option<String> {
    let selector = Selector::from_text(width, word)?;
    let defaults = [(Selector::default_a(width), "a"), (Selector::default_b(width), "b")];
    let default = defaults.into_iter().find(|(other, _)| *other == selector);
    let default = default.map_or_else(String::new, |(_, name)| {
        format!("This is the default selector of `{name}`.\n\n")
    });
    let lanes = selector.lanes().iter().enumerate().rev();
    let lanes: Vec<String> =
        lanes.map(|(at, &it)| format!("lane {at} is {}", lane_name(width, it, "a", "b"))).collect();
    let taken = places(|form| form.sources == Sources::Lanes(width));
    Some(format!(
        "# {word}: selector of lanes\n\n\
         On `a` or `b`: {}.\n\n{default}{taken}",
        lanes.join(", ")
    ))
}

/// The lane of the register pair that a digit names.
pub(crate) fn lane_name(width: LaneWidth, lane: u8, a: &str, b: &str) -> String {
    let (lane, lanes) = (usize::from(lane), width.lanes());
    format!("{}.{}{}", if lane < lanes { a } else { b }, width.letter(), lane % lanes)
}

fn mask_page(width: LaneWidth, word: &str) -> Option<String> {
    let mask = Mask::from_text(width, word)?;
    let taken = places(|form| form.destination == Destination::Mask(width));
    let text = if mask.is_full() {
        "On `d`: all lanes are written, or summed with `.add`. This is the default\n\
         mask."
            .to_string()
    } else {
        let mut lanes: Vec<String> = mask.lanes().map(|at| at.to_string()).collect();
        lanes.reverse();
        let s = if lanes.len() == 1 { "" } else { "s" };
        format!(
            "On `d`: lane{s} {}. Only these lanes are written, and the others\n\
             come from `c`; with `.add`, only these lanes are summed.",
            lanes.join(", ")
        )
    };
    Some(format!("# {word}: mask of lanes\n\n{text}\n\n{taken}"))
}
