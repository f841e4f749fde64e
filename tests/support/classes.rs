//! Instructions of every class of forms whose costs are measured.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::iter;
use std::sync::LazyLock;

use super::forms::{PARTS, heads, rows};
use super::random::Random;
use vptx::Instruction;
use vptx::backend::ptx::{Gate, Strategy, class};
use vptx::isa::{Destination, Family, Form, LaneWidth, Mnemonic, Negation, Sources, Target};
use vptx::video::Semantics;

/// Instructions by class.
pub(crate) type Classes = BTreeMap<(String, usize), Vec<Instruction>>;

/// The instructions to measure.
pub(crate) fn measured_classes() -> &'static Classes {
    static CLASSES: LazyLock<Classes> = LazyLock::new(make_measured_classes);
    &CLASSES
}

fn make_measured_classes() -> Classes {
    let mut random = Random(2026);
    let mut classes = Classes::new();
    let mut add = |text: String, most: usize| {
        let instruction: Instruction = text.parse().expect(&text);
        let class = classes.entry(class(&instruction)).or_default();
        if class.len() < most && !class.contains(&instruction) {
            class.push(instruction);
        }
    };
    for (form, mnemonic) in rows() {
        for head in heads(form, mnemonic) {
            match form.sources {
                Sources::Scalar => scalars(form, mnemonic, &head, &mut random, &mut add),
                Sources::Lanes(LaneWidth::Halves) => simd(&head, 2, &mut random, &mut add),
                Sources::Lanes(LaneWidth::Bytes) => simd(&head, 4, &mut random, &mut add),
            }
        }
    }
    classes
}

/// Counts the statements of ordinary PTX that replace the measured instructions, by mnemonic and
/// target. Instructions that a target has in hardware add nothing. The recorded counts reveal
/// sequences whose length changed after their cost was measured.
pub(crate) fn statements(
    classes: &Classes,
    strategy: impl Fn(&(String, usize), &Instruction, usize) -> Option<Strategy>,
) -> String {
    let targets = Target::measured();
    let mut counts: BTreeMap<Mnemonic, Vec<usize>> = BTreeMap::new();
    for (class, instruction) in
        classes.iter().flat_map(|(class, all)| all.iter().map(move |it| (class, it)))
    {
        let own = counts.entry(instruction.mnemonic()).or_insert_with(|| vec![0; targets.len()]);
        for (column, &target) in targets.iter().enumerate() {
            let Some(strategy) = strategy(class, instruction, column) else { continue };
            let gate = Gate::new(target, None);
            let sequence = strategy.sequence(instruction, Semantics::Ptxas13, gate);
            own[column] += sequence.expect("it was measured").lines().len();
        }
    }
    let mut text = String::from("mnemonic");
    for target in targets {
        write!(text, "\t{target}").expect("a string");
    }
    for mnemonic in Mnemonic::ALL {
        write!(text, "\n{mnemonic}").expect("a string");
        for count in &counts[mnemonic] {
            write!(text, "\t{count}").expect("a string");
        }
    }
    text + "\n"
}

/// Instructions that combine the lanes of a register with lanes of the same register. Those with
/// selectors are measured for targets with instructions on bytes.
pub(crate) fn twice_classes() -> Classes {
    let mut random = Random(2027);
    let mut classes = Classes::new();
    let mut add = |text: String| {
        let instruction: Instruction = text.parse().expect(&text);
        let class = class(&instruction);
        if class.0.ends_with('=') {
            let own = classes.entry(class).or_default();
            if own.len() < 12 && !own.contains(&instruction) {
                own.push(instruction);
            }
        }
    };
    let simd = rows().filter(|(form, _)| form.sources != Sources::Scalar);
    for (head, form) in simd
        .flat_map(|(form, mnemonic)| heads(form, mnemonic).into_iter().map(move |it| (it, form)))
    {
        let (lanes, letter) =
            if form.sources == Sources::Lanes(LaneWidth::Halves) { (2, 'h') } else { (4, 'b') };
        let all = (1 << lanes) - 1;
        let destination = |mask: usize| {
            let own = (0..lanes).rev().filter(|at| mask >> at & 1 == 1);
            let digits: String = own.map(|at| char::from(b'0' + at as u8)).collect();
            format!("{head} d.{letter}{digits}")
        };
        for mask in 1..=all {
            add(format!("{}, a, a, c;", destination(mask)));
        }
        for turn in 0..28 * lanes {
            let mask = if turn % 3 == 0 { all } else { 1 + random.below(all) };
            let mut selectors = [String::new(), String::new()];
            for _ in 0..lanes {
                let own = random.below(lanes);
                let other = if random.one_in(3) { random.below(lanes) } else { own };
                for (selector, lane) in selectors.iter_mut().zip([own, other]) {
                    let lane = lane + if random.one_in(2) { lanes } else { 0 };
                    selector.push(char::from(b'0' + lane as u8));
                }
            }
            let [a, b] = &selectors;
            // ptxas reads this selector as a type.
            if a == "1024" || b == "1024" {
                continue;
            }
            let a = if turn < 8 { String::new() } else { format!(".{letter}{a}") };
            add(format!("{}, a{a}, a.{letter}{b}, c;", destination(mask)));
        }
    }
    classes
}

/// The empty selector, which means the whole word, and the selectors of all parts.
pub(crate) fn parts() -> impl Iterator<Item = &'static str> {
    iter::once("").chain(PARTS)
}

fn scalars(
    form: &Form,
    mnemonic: Mnemonic,
    head: &str,
    random: &mut Random,
    add: &mut impl FnMut(String, usize),
) {
    let c = if form.third { ", c" } else { "" };
    let ds: &[&str] = if form.destination == Destination::Part { &[".b2", ".h1"] } else { &[""] };
    let minus: &[[&str; 3]] = match (form.negation, mnemonic.family()) {
        (Negation::ProductOrThird, Family::MultiplyAdd) => {
            &[["", "", ""], ["-", "", ""], ["", "-", ""], ["", "", "-"]]
        }
        _ => &[["", "", ""]],
    };
    for d in ds {
        let mut places: Vec<(&str, &str)> =
            parts().flat_map(|a| parts().map(move |b| (a, b))).collect();
        places.sort_by_cached_key(|_| random.below(1000));
        for (a, b) in places {
            for [na, nb, nc] in minus {
                let c = c.replace('c', &format!("{nc}c"));
                add(format!("{head} d{d}, {na}a{a}, {nb}b{b}{c};"), 2);
            }
        }
    }
}

fn simd(head: &str, lanes: usize, random: &mut Random, add: &mut impl FnMut(String, usize)) {
    let letter = if lanes == 2 { 'h' } else { 'b' };
    let choices = 2 * lanes;
    for mask in 1..1u32 << lanes {
        let digits: String = (0..lanes)
            .rev()
            .filter(|at| mask >> at & 1 == 1)
            .map(|at| char::from(b'0' + at as u8))
            .collect();
        let d = if digits.len() == lanes { String::new() } else { format!(".{letter}{digits}") };
        add(format!("{head} d{d}, a, b, c;"), 6);
        let mut pick = || loop {
            let digits: String =
                (0..lanes).map(|_| char::from(b'0' + random.below(choices) as u8)).collect();
            // ptxas reads this selector as a type.
            if digits != "1024" {
                return format!(".{letter}{digits}");
            }
        };
        for _ in 0..5 {
            let (a, b) = (pick(), pick());
            add(format!("{head} d{d}, a{a}, b{b}, c;"), 4);
            add(format!("{head} d{d}, a, b{b}, c;"), 4);
            add(format!("{head} d{d}, a{a}, b, c;"), 4);
        }
        // Selectors that take the same lane for every lane.
        let same = |digit: usize| {
            format!(".{letter}{}", char::from(b'0' + digit as u8).to_string().repeat(lanes))
        };
        for (a, b) in [(0, lanes), (0, 0), (1, lanes), (lanes, 1)] {
            add(format!("{head} d{d}, a{}, b{}, c;", same(a), same(b)), 6);
        }
        let own: String = (0..lanes).rev().map(|at| char::from(b'0' + at as u8)).collect();
        add(format!("{head} d{d}, a, b.{letter}{own}, c;"), 4);
        for different in 0..lanes {
            for _ in 0..8 {
                let pairs: Vec<(usize, usize)> = (0..=different)
                    .map(|_| (random.below(choices), random.below(choices)))
                    .collect();
                let chosen: Vec<(usize, usize)> =
                    (0..lanes).map(|_| *random.pick(&pairs)).collect();
                let digits = |of: fn(&(usize, usize)) -> usize| -> String {
                    chosen.iter().map(|pair| char::from(b'0' + of(pair) as u8)).collect()
                };
                let (a, b) = (digits(|pair| pair.0), digits(|pair| pair.1));
                // ptxas reads this selector as a type.
                if a != "1024" && b != "1024" {
                    add(format!("{head} d{d}, a.{letter}{a}, b.{letter}{b}, c;"), 3);
                }
            }
        }
    }
}
