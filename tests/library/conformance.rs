//! Test vectors are legal and complete, and they reveal wrong implementations.

use std::collections::{BTreeSet, HashMap, HashSet};

use crate::support::EDGES;
use crate::support::fixture_text;
use crate::support::forms::{heads, rows, without_defaults};
use crate::support::random::Random;
use vptx::Instruction;
use vptx::conformance::{Vector, Vectors};
use vptx::isa::Mnemonic;
use vptx::video::{self, Deviation, Semantics};

/// The mnemonic and the modifiers.
fn head(vector: &Vector) -> String {
    let text = vector.instruction.to_string();
    text.split(' ').next().expect("a mnemonic").to_string()
}

/// The line of the manual's syntax that the vector belongs to, without the values of modifiers.
fn line(vector: &Vector) -> (Mnemonic, *const vptx::isa::Form) {
    (vector.instruction.mnemonic(), std::ptr::from_ref(vector.instruction.form()))
}

#[test]
fn each_shape_comes_once_before_any_comes_twice() {
    let expected: BTreeSet<String> = rows()
        .flat_map(|(form, mnemonic)| {
            // The part in the destination is not a modifier. The text of the head is therefore the
            // same for a merge and for a whole word.
            let merge = form.destination == vptx::isa::Destination::Part;
            heads(form, mnemonic).into_iter().map(move |head| format!("{head} {merge}"))
        })
        .collect();
    for seed in [0, 1, u64::MAX] {
        let vectors = Vectors::new(&[], seed);
        assert_eq!(vectors.shapes(), expected.len());
        let found: Vec<String> = vectors
            .take(2 * expected.len())
            .map(|vector| {
                let merge = vector.instruction.form().destination == vptx::isa::Destination::Part;
                format!("{} {merge}", head(&vector))
            })
            .collect();
        for round in found.chunks(expected.len()) {
            assert_eq!(round.iter().cloned().collect::<BTreeSet<_>>(), expected);
        }
    }
}

#[test]
fn each_line_of_the_manual_comes_before_any_comes_twice() {
    let lines = rows().count();
    let found: HashSet<_> = Vectors::new(&[], 5).take(lines).map(|it| line(&it)).collect();
    assert_eq!(found.len(), lines);
}

#[test]
fn vectors_are_legal_and_true() {
    for seed in 1..4 {
        for vector in Vectors::new(&[], seed).take(4000) {
            let text = vector.instruction.to_string();
            let read: Instruction = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!(read, vector.instruction);
            assert_eq!(text, without_defaults(&text));
            let [a, b, c] = vector.inputs;
            let results = Semantics::ALL.map(|semantics| read.lower(semantics).eval(a, b, c));
            assert_eq!(results, vector.results, "{text}");
            let differs = results.iter().any(|result| *result != results[0]);
            assert_eq!(differs, !vector.deviations.is_empty(), "{text}");
        }
    }
}

/// Vectors have the results that were recorded from the code of ptxas and from the manual.
#[test]
fn recorded_results_are_those_of_vectors() {
    let mut count = 0;
    for row in fixture_text("oracle/vectors.tsv").lines().filter(|row| !row.starts_with('#')) {
        let fields: Vec<&str> = row.split('\t').collect();
        let words = fields[1..].iter().map(|word| u32::from_str_radix(&word[2..], 16).unwrap());
        let words: Vec<u32> = words.collect();
        let vector = Vector::new(fields[0].parse().unwrap(), [words[0], words[1], words[2]]);
        assert_eq!(vector.results, words[3..], "{row}");
        count += 1;
    }
    assert!(count > 35_000, "{count}");
}

#[test]
fn deviations_come_early() {
    for mnemonic in Mnemonic::ALL {
        let lines = rows().filter(|(_, other)| other == mnemonic).count();
        let all = video::deviations(mnemonic.family());
        let found: BTreeSet<Deviation> = Vectors::new(&[*mnemonic], 9)
            .take(lines + all.len())
            .flat_map(|vector| vector.deviations)
            .collect();
        let mut expected: BTreeSet<Deviation> = all.iter().copied().collect();
        match mnemonic {
            // C3 and C4 are about negative values, but a distance is never negative.
            Mnemonic::Vabsdiff => expected.retain(|it| !matches!(it.text(), "C3" | "C4")),
            // C2 is about values above a word, but a minimum or maximum never is.
            Mnemonic::Vmin | Mnemonic::Vmax => expected.retain(|it| it.text() != "C2"),
            _ => {}
        }
        assert_eq!(found, expected, "{mnemonic}");
    }
    let lines = rows().count();
    let found = Vectors::new(&[], 1).take(lines + Deviation::ALL.len());
    let found: BTreeSet<Deviation> = found.flat_map(|vector| vector.deviations).collect();
    assert_eq!(found.into_iter().collect::<Vec<_>>(), Deviation::ALL);
}

#[test]
fn seeds_and_mnemonics_decide_all() {
    let some = |seed| -> Vec<Vector> { Vectors::new(&[Mnemonic::Vset4], seed).take(300).collect() };
    assert_eq!(some(1), some(1));
    assert_ne!(some(1), some(2));
    let both = [Mnemonic::Vmad, Mnemonic::Vadd];
    let other = [Mnemonic::Vadd, Mnemonic::Vmad, Mnemonic::Vadd];
    assert!(Vectors::new(&both, 3).zip(Vectors::new(&other, 3)).take(300).all(|(x, y)| x == y));
}

/// Instructions that result if a modifier or operand is misread, each with the mistake.
fn misread(text: &str) -> Vec<(&'static str, String)> {
    let (head, operands) = text.split_once(' ').expect("operands");
    let (mnemonic, modifiers) = head.split_once('.').expect("types");
    let modifiers: Vec<&str> = modifiers.split('.').collect();
    let mut all = Vec::new();
    let mut with = |what, modifiers: &[&str]| {
        all.push((what, format!("{mnemonic}.{} {operands}", modifiers.join("."))));
    };
    for (at, modifier) in modifiers.iter().enumerate() {
        let mut changed = modifiers.clone();
        let others: &[&str] = match *modifier {
            "u32" => &["s32"],
            "s32" => &["u32"],
            "add" | "min" | "max" => &["add", "min", "max"],
            "clamp" => &["wrap"],
            "wrap" => &["clamp"],
            "eq" | "ne" | "lt" | "le" | "gt" | "ge" => &["eq", "ne", "lt", "le", "gt", "ge"],
            "shr7" | "shr15" => &["shr7", "shr15"],
            _ => &[],
        };
        for other in others {
            changed[at] = other;
            with("takes another modifier", &changed);
        }
        changed.remove(at);
        with("forgets a modifier", &changed);
    }
    for (from, to) in [("4.", "2."), ("4.", "."), ("2.", "."), ("2.", "4.")] {
        let start = format!("{mnemonic}.");
        if let Some(start) = start.strip_suffix(from) {
            all.push((
                "carries",
                text.replacen(&format!("{start}{from}"), &format!("{start}{to}"), 1),
            ));
        }
    }
    all.push(("forgets a minus", text.replace('-', "")));
    for (at, _) in text.match_indices([' ']) {
        let operand = &text[at + 1..];
        let end = operand.find([',', ';']).expect("an end");
        if let Some(dot) = operand[..end].find('.') {
            let (before, after) = (&text[..=at + dot], &operand[end..]);
            all.push(("forgets a selector", format!("{before}{after}")));
            for other in ["b0", "b1", "b2", "b3", "h0", "h1"] {
                all.push(("takes another part", format!("{before}.{other}{after}")));
            }
        }
    }
    all
}

/// Whether two instructions have different results for any of many inputs.
fn differ(one: &Instruction, other: &Instruction) -> bool {
    let mut random = Random(1);
    let programs = [one, other].map(|it| it.lower(Semantics::Manual));
    (0..20_000).any(|_| {
        let [a, b, c] = [(); 3]
            .map(|()| if random.one_in(2) { *random.pick(&EDGES) } else { random.next() as u32 });
        programs[0].eval(a, b, c) != programs[1].eval(a, b, c)
    })
}

/// For each shape of an instruction and each misreading that changes the meaning, some vector shows
/// the mistake.
#[test]
fn wrong_readings_are_noticed() {
    let mut noticed: HashMap<(String, &str, String), Option<[Instruction; 2]>> = HashMap::new();
    for vector in Vectors::new(&[], 1).take(10_000) {
        let text = vector.instruction.to_string();
        for (what, wrong) in misread(&text) {
            let key = (head(&vector), what, wrong.split(' ').next().expect("a head").to_string());
            if let Some(None) = noticed.get(&key) {
                continue;
            }
            let Ok(other) = wrong.parse::<Instruction>() else { continue };
            let [manual, misread] =
                [&vector.instruction, &other].map(|it| it.lower(Semantics::Manual));
            if manual == misread {
                continue;
            }
            let [a, b, c] = vector.inputs;
            let shows = manual.eval(a, b, c) != misread.eval(a, b, c);
            let open =
                noticed.entry(key).or_insert_with(|| Some([vector.instruction.clone(), other]));
            if shows {
                *open = None;
            }
        }
    }
    let count = noticed.len();
    let mut missed: Vec<_> = noticed
        .iter()
        .filter_map(|(key, open)| open.as_ref().map(|pair| (key, pair)))
        .filter(|(_, [one, other])| differ(one, other))
        .map(|(key, _)| key)
        .collect();
    missed.sort();
    println!("{count} wrong readings, {} missed", missed.len());
    assert!(count > 8000 && missed.len() * 100 < 3 * count, "{count}, missed: {missed:#?}");
}
