//! Selectors and masks.

use super::super::instruction::Checked;
use super::registers::is_special;
use crate::diagnostic::{Applicability, Code, Diagnostic};
use crate::isa::{Destination, LaneWidth, Mask, Part, Sources};
use crate::source::Span;
use crate::syntax::{RawOperand, Shape};
use crate::video;

/// Whether a selector on the operand deserves a finding of its own. On a special
/// register the selector is part of the name: `%tid.x`.
pub(super) fn takes_selector(checked: &Checked<'_, '_>, operand: &RawOperand) -> bool {
    matches!(operand.shape, Shape::Name) && !is_special(checked, operand.value.text(checked.source))
}

pub(super) fn mask(checked: &mut Checked<'_, '_>, width: LaneWidth, selector: Span) {
    let text = selector.text(checked.source);
    if Mask::from_text(width, text).is_some() {
        return;
    }
    let what = if width == LaneWidth::Halves { "half-words" } else { "bytes" };
    let digits = text[1..]
        .strip_prefix(width.letter())
        .filter(|digits| !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit()));
    let message = format!("`{text}` is not a mask of {what}");
    let Some(digits) = digits else {
        let code = if known_selector(text) { Code::WrongSelector } else { Code::UnknownSelector };
        let diagnostic = Diagnostic::new(code, selector, message).label("expected a mask");
        checked.push(diagnostic.help(masks(width)));
        return;
    };
    let exists = digits.bytes().all(|digit| usize::from(digit - b'0') < width.lanes());
    let label = if exists {
        "each lane at most once, highest first".to_string()
    } else {
        format!("lanes are 0 to {}", width.lanes() - 1)
    };
    let mut diagnostic =
        Diagnostic::new(Code::InvalidMask, selector, message).label(label).help(masks(width));
    // The mask of the same lanes, each once and in order.
    let bits = digits
        .bytes()
        .map(|digit| u32::from(digit - b'0'))
        .filter(|&lane| (lane as usize) < width.lanes())
        .fold(0, |bits, lane| bits | 1 << lane);
    if let (Some(meant), true) = (Mask::new(width, bits), exists) {
        diagnostic = diagnostic
            .help(format!("the mask of these lanes is `{meant}`"))
            .offer(selector, &meant.to_string());
    } else if digits.len() == width.lanes() {
        diagnostic = diagnostic.help(
            "a mask says which lanes of the destination are written; lane selectors belong on sources",
        );
    }
    checked.push(diagnostic);
}

pub(super) fn masks(width: LaneWidth) -> String {
    if width == LaneWidth::Halves {
        "masks are `.h0`, `.h1` and `.h10`".into()
    } else {
        "a mask has each of 3, 2, 1, 0 at most once, highest first, as in `.b310`".into()
    }
}

/// Whether the text is a selector or mask of some video instruction.
pub(super) fn known_selector(text: &str) -> bool {
    Part::from_text(text).is_some()
        || Sources::Lanes(LaneWidth::Halves).accepts(text)
        || Sources::Lanes(LaneWidth::Bytes).accepts(text)
        || Destination::Mask(LaneWidth::Bytes).accepts(text)
}

/// Reports a selector that this kind of source (or scalar destination) does not have.
pub(super) fn wrong_selector(checked: &mut Checked<'_, '_>, selector: Span, sources: Sources) {
    let text = selector.text(checked.source);
    let (code, message) = if known_selector(text) {
        let kind = match sources {
            Sources::Scalar => "a scalar instruction",
            Sources::Lanes(LaneWidth::Halves) => "a two-way SIMD instruction",
            Sources::Lanes(LaneWidth::Bytes) => "a four-way SIMD instruction",
        };
        (Code::WrongSelector, format!("`{text}` is not a selector of {kind}"))
    } else {
        (Code::UnknownSelector, format!("`{text}` is not a selector"))
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
        diagnostic = diagnostic
            .help("without a selector, the whole word is used")
            .remove(Applicability::Unsafe, selector);
    }
    if let Some(meant) = fix {
        diagnostic = diagnostic.offer(selector, &meant);
    }
    checked.push(diagnostic);
}

/// The likely meaning of a wrong selector.
pub(super) fn meant_selector(text: &str, sources: Sources) -> Option<String> {
    let lower = text.to_ascii_lowercase();
    let valid = |text: &str| sources.accepts(text);
    if valid(&lower) {
        return Some(lower);
    }
    let part = lower.len() == 3;
    match (sources, lower.as_str()) {
        // Here the lanes were counted from one.
        (Sources::Scalar, ".b4") => Some(".b3".into()),
        (Sources::Scalar, ".h2") => Some(".h1".into()),
        // Here a selector of the other width takes the same lanes.
        (Sources::Lanes(LaneWidth::Halves), ".b3210") => Some(".h10".into()),
        (Sources::Lanes(LaneWidth::Halves), ".b7654") => Some(".h32".into()),
        (Sources::Lanes(LaneWidth::Bytes), ".h10") => Some(".b3210".into()),
        (Sources::Lanes(LaneWidth::Bytes), ".h32") => Some(".b7654".into()),
        // Here one digit stands for all lanes.
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
