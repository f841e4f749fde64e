//! Pictures of lanes. What they show is read from the SVG and compared with the text of the
//! instruction, the manual's pseudocode and the interpreter.
#![cfg(feature = "explain")]

use std::collections::BTreeSet;

use crate::support::forms::{rows, texts};
use crate::support::number as float;
use crate::support::random::Random;
use crate::support::reference::manual;
use vptx::{Instruction, Semantics, explain};

/// An attribute of an SVG element that is on one line.
fn attribute<'l>(line: &'l str, name: &str) -> Option<&'l str> {
    let (_, rest) = line.split_once(&format!(" {name}=\""))?;
    Some(rest.split_once('"')?.0)
}

fn number(line: &str, name: &str) -> f64 {
    attribute(line, name).and_then(|it| it.parse().ok()).unwrap_or_else(|| panic!("{line}"))
}

/// The characters that a text element shows.
fn shown(line: &str) -> String {
    let text = line.split_once('>').and_then(|(_, rest)| rest.split_once('<')).expect(line).0;
    [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&amp;", "&")]
        .iter()
        .fold(text.to_string(), |text, (from, to)| text.replace(from, to))
}

/// The bits of a word that a name such as `a.b3` selects.
fn part(name: &str, word: u32) -> u32 {
    match name.split_once('.') {
        None => word,
        Some((_, selector)) => {
            let (kind, number) = selector.split_at(1);
            let number: u32 = number.parse().expect(name);
            if kind == "b" { word >> (8 * number) & 0xff } else { word >> (16 * number) & 0xffff }
        }
    }
}

/// The start and end of each arrow from a source, computed from the instruction's text alone.
fn arrows(text: &str) -> BTreeSet<(String, String)> {
    let (head, operands) = text.trim_end_matches(';').split_once(' ').expect(text);
    let operands: Vec<&str> = operands.split(", ").map(|it| it.trim_start_matches('-')).collect();
    let mnemonic = head.split('.').next().expect(text);
    let lanes = match mnemonic.chars().last() {
        Some('4') => 4,
        Some('2') => 2,
        _ => {
            let count = if mnemonic == "vmad" { 3 } else { 2 };
            let sources = operands[1..=count].iter().filter(|it| it.starts_with(['a', 'b', 'c']));
            return sources.map(|it| ((*it).to_string(), "result".to_string())).collect();
        }
    };
    let digits = |operand: &str| -> Option<Vec<usize>> {
        let (_, selector) = operand.split_once('.')?;
        let digits = selector[1..].chars().map(|it| it.to_digit(10).expect(text) as usize);
        Some(digits.collect())
    };
    let all = |first: usize| (first..first + lanes).rev().collect();
    let mask: Vec<usize> = digits(operands[0]).unwrap_or_else(|| all(0));
    let sources = [1, 2].map(|at| digits(operands[at]).unwrap_or_else(|| all((at - 1) * lanes)));
    let kind = if lanes == 4 { 'b' } else { 'h' };
    let mut arrows = BTreeSet::new();
    for lane in mask {
        for source in &sources {
            let from = source[lanes - 1 - lane];
            let word = if from < lanes { 'a' } else { 'b' };
            arrows.insert((format!("{word}.{kind}{}", from % lanes), format!("lane {lane}")));
        }
    }
    arrows
}

/// The rectangle that a text element takes: left, top, right, bottom. Letters are monospaced, 12
/// pixels high.
fn room(line: &str) -> [f64; 4] {
    let (x, y) = (number(line, "x"), number(line, "y"));
    let half = float(shown(line).chars().count()) * 7.25 / 2.0;
    [x - half, y - 10.0, x + half, y + 3.0]
}

fn assert_texts_are_apart(picture: &str) {
    let size = ["width", "height"].map(|name| number(picture.lines().next().unwrap(), name));
    let texts: Vec<(&str, [f64; 4])> =
        picture.lines().filter(|it| it.starts_with("<text")).map(|it| (it, room(it))).collect();
    for (at, (line, [left, top, right, bottom])) in texts.iter().enumerate() {
        assert!(*left >= 0.0 && *right <= size[0] && *bottom <= size[1], "{line} in {picture}");
        for (other, [their_left, their_top, their_right, their_bottom]) in &texts[at + 1..] {
            let beside = right <= their_left || their_right <= left;
            let below = bottom <= their_top || their_bottom <= top;
            assert!(beside || below, "{line}\n{other}\nin {picture}");
        }
    }
}

fn assert_boxes_are_inside(picture: &str) {
    let width = number(picture.lines().next().unwrap(), "width");
    for line in picture.lines().filter(|it| it.starts_with("<rect")) {
        let left = number(line, "x");
        assert!(left >= 0.0 && left + number(line, "width") <= width, "{line} in {picture}");
    }
}

/// Arrows go where the selectors say, boxes show the interpreter's values, and no texts overlap.
#[test]
fn pictures_show_what_is_computed() {
    let forms: Vec<_> = rows().collect();
    let mut random = Random(0x1a2e);
    for _ in 0..2000 {
        let (form, mnemonic) = forms[random.below(forms.len())];
        let all = texts(form, mnemonic);
        let text = random.pick(&all);
        let instruction: Instruction = text.parse().expect(text);
        let words = [(); 3].map(|()| random.next() as u32);
        let [a, b, c] = words;
        let program = instruction.lower(Semantics::Manual);
        let steps = program.trace(a, b, c);
        let d = manual(&instruction, a, b, c);
        let picture = explain::svg(&instruction, Some(words), &[Semantics::Manual]);

        let paths = picture.lines().filter(|it| it.starts_with("<path"));
        let ends =
            paths.map(|it| ["data-from", "data-to"].map(|name| attribute(it, name).unwrap()));
        let ends: Vec<[&str; 2]> = ends.collect();
        let from_sources = ends.iter().filter(|[_, to]| *to == "result" || to.starts_with("lane"));
        let from_sources = from_sources.filter(|[from, _]| from.starts_with(['a', 'b', 'c']));
        let found: BTreeSet<_> =
            from_sources.map(|[from, to]| (from.to_string(), to.to_string())).collect();
        assert_eq!(found, arrows(text), "{text}\n{picture}");

        let mut results = 0;
        for line in picture.lines().filter(|it| it.starts_with("<rect")) {
            let name = attribute(line, "data-box").expect("a name");
            let value: i128 = attribute(line, "data-value").expect("a value").parse().unwrap();
            let word = match name.split('.').next().unwrap() {
                "a" => a,
                "b" => b,
                "c" => c,
                "d" => {
                    results += 1;
                    d
                }
                _ => {
                    assert!(steps.contains(&value), "{text}: {line}");
                    continue;
                }
            };
            assert_eq!(value, part(name, word).into(), "{text}: {line}");
        }
        assert!(results > 0, "{picture}");
        // The parts that are kept from `c` do not move.
        for [from, to] in &ends {
            if from.starts_with('c') && to.starts_with('d') {
                assert_eq!(from[1..], to[1..], "{text}");
            }
        }
        assert_boxes_are_inside(&picture);
        assert_texts_are_apart(&picture);
        assert_texts_are_apart(&explain::svg(&instruction, Some(words), &Semantics::ALL));
        assert_texts_are_apart(&explain::svg(&instruction, None, &Semantics::ALL));
    }
}

/// Each part of a source is labelled with its selector, and a word that is read whole with its width.
#[test]
fn parts_of_sources_have_labels() {
    let instruction: Instruction = "vadd.u32.u32.u32 d, a.h1, b;".parse().unwrap();
    for words in [None, Some([1, 2, 3])] {
        let picture = explain::svg(&instruction, words, &[Semantics::Manual]);
        let lines: Vec<&str> = picture.lines().collect();
        let labels = lines.windows(2).filter_map(|pair| {
            let name = attribute(pair[0], "data-box")?;
            name.starts_with(['a', 'b']).then(|| (name, shown(pair[1])))
        });
        let labels: Vec<(&str, String)> = labels.collect();
        let expected = [("a.h0", "h0"), ("a.h1", "h1"), ("b", "32 bits")];
        assert_eq!(labels, expected.map(|(name, label)| (name, label.to_string())), "{picture}");
    }
}

/// Names of any length do not make texts overlap, and special characters are escaped.
#[test]
fn names_are_text() {
    let long = "%a_very_long_name_of_a_register_that_somebody_made";
    let text = format!("vadd4.u32.u32.u32 {long}.b0, {long}1, {long}2, {long}3;");
    let instruction: Instruction = text.parse().unwrap();
    let picture = explain::svg(&instruction, Some([1, 2, 3]), &Semantics::ALL);
    assert_texts_are_apart(&picture);
    // All semantics agree, so the picture has one drawing.
    assert_eq!(picture.matches("data-box=\"lane 0, compute\"").count(), 1);
    let shift: Instruction = "vshl.u32.u32.u32.clamp d, a, b;".parse().unwrap();
    let picture = explain::svg(&shift, None, &[Semantics::Manual]);
    assert!(picture.contains("a &lt;&lt; min(b, 32)"), "{picture}");
}

/// A label that is wider than its box is cut. A character is at most 8 pixels wide.
#[test]
fn labels_fit_their_boxes() {
    let long = "%a_very_long_name_of_a_register_that_somebody_made";
    let text = format!("vadd4.u32.u32.u32 {long}.b0, {long}1, {long}2, {long}3;");
    let instruction: Instruction = text.parse().unwrap();
    let picture = explain::svg(&instruction, None, &[Semantics::Manual]);
    let lines: Vec<&str> = picture.lines().collect();
    let mut cut = 0;
    for pair in lines.windows(2).filter(|pair| pair[0].starts_with("<rect")) {
        let label = shown(pair[1]);
        assert!(float(label.chars().count()) * 8.0 <= number(pair[0], "width"), "{pair:?}");
        cut += usize::from(label.ends_with('…'));
    }
    // The part that `d` gets, and the parts of `c` that stay.
    assert!(cut >= 4, "{cut} in {picture}");
}

/// The sum of lanes is below the lanes, and as wide as they are together: in the middle, as the
/// sources above are wider.
#[test]
fn the_last_operation_is_in_the_middle() {
    let instruction: Instruction = "vset2.u32.u32.lt.add d, a, b, c;".parse().unwrap();
    let picture = explain::svg(&instruction, None, &[Semantics::Manual]);
    let boxes = picture.lines().filter(|it| it.starts_with("<rect"));
    let boxes: Vec<_> = boxes.map(|it| (number(it, "x"), number(it, "width"))).collect();
    let (left, width) = boxes.into_iter().max_by(|x, y| x.1.total_cmp(&y.1)).expect("a box");
    let whole = number(picture.lines().next().unwrap(), "width");
    assert!((2.0 * left + width - whole).abs() < 1.0, "{left} {width} {whole}");
}

/// An operation on the result of another one has it in parentheses, also if that one has some.
#[test]
fn operations_inside_of_others_have_parentheses() {
    for (text, expected) in [
        ("vmad.u32.u32.u32.shr7 d, a, b, c;", "((a * b) + c) >> 7"),
        ("vmad.u32.u32.u32.shr15 d, a.h0, b.b1, -c;", "((a.h0 * b.b1) - c) >> 15"),
        ("vmad.s32.s32.s32.shr7 d, -a.h0, b.h1, c;", "(c - (a.h0 * b.h1)) >> 7"),
        ("vavrg2.u32.u32.u32 d, a, b, c;", "(a.h0 + b.h0 + 1) >> 1"),
        ("vadd.u32.u32.u32.min d, a, b, c;", "min(result, c)"),
        ("vsub.s32.s32.s32.max d, a.h1, b, c;", "max(result, c)"),
        ("vset2.u32.u32.lt.add d, a, b, c;", "c + lane 0 + lane 1"),
    ] {
        let instruction: Instruction = text.parse().expect(text);
        let picture = explain::svg(&instruction, None, &[Semantics::Manual]);
        let lines: Vec<_> = picture.lines().filter(|it| it.contains("<text")).map(shown).collect();
        assert!(lines.iter().any(|it| it == expected), "{text}: {lines:?}");
    }
}
