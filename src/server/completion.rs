//! Completion: the mnemonics, modifiers, operands and selectors that may follow.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::statements::asm_at;
use crate::check::{CheckOptions, Language, is_wanted};
use crate::isa::{Destination, Form, LaneWidth, Mask, Mnemonic, Modifier, Part, Selector, Sources};
use crate::source::Span;
use crate::syntax::{
    Context, Handler, Piece, PieceKind, Problem, StatementKind, TokenKind, WantedStatement,
    parse_around, read,
};
use crate::video;

/// A text that the client may insert at a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Offer {
    /// The inserted text. The text of a whole form is a snippet with placeholders.
    pub(super) text: String,
    /// The text in the list.
    pub(super) label: String,
    /// A few words about the text.
    pub(super) detail: String,
    pub(super) kind: OfferKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OfferKind {
    Mnemonic,
    Modifier,
    Register,
    Selector,
    /// A whole instruction.
    Form,
}

impl Offer {
    /// An offer whose inserted text is the text in the list.
    fn plain(text: impl Into<String>, detail: impl Into<String>, kind: OfferKind) -> Offer {
        let text = text.into();
        Offer { label: text.clone(), text, detail: detail.into(), kind }
    }
}

/// The texts that may replace the typed part of a word, in the order of the manual.
#[derive(Debug)]
pub(super) struct Completion {
    pub(super) typed: Span,
    pub(super) offers: Vec<Offer>,
    /// Whether the list is cut off: the client asks again when more is typed.
    pub(super) is_part: bool,
}

/// The most selectors or registers that are offered at once.
const MOST: usize = 300;

/// A statement that is being typed, up to the cursor.
#[derive(Debug, PartialEq, Eq)]
struct Typed {
    /// Mnemonic and modifiers.
    opcode: String,
    /// The number of the operand at the cursor, and the typed part of it. `None` if the cursor is
    /// still in the opcode.
    operand: Option<(usize, String)>,
    /// Whether the destination has a selector or a mask.
    selects: bool,
    /// Whether the text needs `\$` for `$`.
    escapes_dollar: bool,
}

/// The offers at an offset. They include whole forms only if the client takes `snippets`.
pub(super) fn at(
    source: &str,
    options: &CheckOptions,
    offset: u32,
    snippets: bool,
) -> Option<Completion> {
    offers(source, options, offset, snippets).filter(|found| !found.offers.is_empty())
}

fn offers(source: &str, options: &CheckOptions, offset: u32, snippets: bool) -> Option<Completion> {
    let typed = typed(source, options.language, offset)?;
    let Some((number, word)) = &typed.operand else {
        let mut found = opcode(&typed.opcode, offset);
        if snippets && !typed.opcode.is_empty() {
            let mut forms: Vec<Offer> = forms(&typed.opcode, options.language).collect();
            if typed.escapes_dollar {
                // In a snippet, a backslash takes another one.
                for form in &mut forms {
                    form.text = form.text.replace("\\$", "\\\\\\$");
                }
            }
            found.offers.extend(forms);
        }
        return Some(found);
    };
    let (mnemonic, modifiers) = parts(&typed.opcode)?;
    let forms: Vec<&Form> =
        video::forms(mnemonic).iter().filter(|form| takes(form, &modifiers)).collect();
    let number = *number;
    if let Some((register, selector)) = word.rsplit_once('.')
        && !register.is_empty()
    {
        return Some(selectors(&forms, number, selector, offset));
    }
    let is_there = forms.iter().any(|form| number < if form.third { 4 } else { 3 });
    let mut found = is_there.then(|| registers(source, options, word, offset)).flatten()?;
    let is_escaped = source[..found.typed.start as usize].ends_with('\\');
    for offer in found.offers.iter_mut().filter(|_| typed.escapes_dollar && !is_escaped) {
        offer.text = offer.text.replace('$', "\\$");
    }
    Some(found)
}

/// The operands that an instruction takes.
#[derive(Debug)]
pub(super) struct Signature {
    /// The syntax lines of the manual, each with a phrase that distinguishes it from the others.
    pub(super) lines: Vec<(String, &'static str)>,
    /// The number of the line that fits the typed modifiers and operands.
    pub(super) fits: usize,
    /// The number of the operand at the cursor.
    pub(super) operand: usize,
}

/// The number of the operand `c`, which only some forms have.
const THIRD: usize = 3;

/// The operands that the instruction at an offset takes.
pub(super) fn signature(source: &str, options: &CheckOptions, offset: u32) -> Option<Signature> {
    let typed = typed(source, options.language, offset)?;
    let (mnemonic, modifiers) = parts(&typed.opcode)?;
    let (number, _) = typed.operand?;
    let forms = video::forms(mnemonic);
    let lines = forms.iter().map(|form| (video::syntax(mnemonic, form), form.title)).collect();
    let agreement = |form: &Form| {
        let selects = typed.selects == (form.destination == Destination::Part);
        (takes(form, &modifiers), form.third || number < THIRD, selects)
    };
    // The first one of those that agree best.
    let fits = (0..forms.len()).rev().max_by_key(|&form| agreement(&forms[form])).unwrap_or(0);
    Some(Signature { lines, fits, operand: number })
}

/// The instruction that is typed at an offset.
fn typed(source: &str, language: Language, offset: u32) -> Option<Typed> {
    let mut escapes_dollar = false;
    let text: Cow<'_, str> = match language.host() {
        None => source.get(..offset as usize)?.into(),
        Some(host) => {
            let written = asm_at(source, host, offset)?.written_before(source, offset)?;
            escapes_dollar = written.escapes_dollar;
            // Escapes become characters of the same length.
            let escapes = [("\\n", " \n"), ("\\t", " \t"), ("\\$", " $")];
            escapes.iter().fold(written.text, |text, (from, to)| text.replace(from, to)).into()
        }
    };
    let tree = parse_around(&text, Span::at(text.len() as u32));
    let is_comment = |piece: Piece| piece.kind == PieceKind::Comment;
    if tree.trivia(tree.tokens().len()).last().is_some_and(is_comment) {
        return None;
    }
    let StatementKind::Instruction(instruction) = tree.all_statements().next_back()?.kind() else {
        return None;
    };
    if instruction.semicolon().is_some() {
        return None;
    }
    let mut opcode = instruction.opcode();
    let behind = instruction.tokens().partition_point(|it| it.start() < opcode.end);
    let mut operands = instruction.tokens()[behind..].iter().peekable();
    // The next modifier may have only its dot so far. No operand starts with one.
    if let Some(dot) = operands.next_if(|it| it.is(b'.')) {
        opcode.end = dot.end();
    }
    let (mut number, mut word, mut selects) = (0, None, false);
    for token in operands {
        if token.is(b',') {
            (number, word) = (number + 1, None);
        } else {
            word.get_or_insert(token.start());
            selects |= number == 0 && token.kind() == TokenKind::Dot;
        }
    }
    let is_behind = text.len() > opcode.end as usize;
    let word = word.map_or("", |start| &text[start as usize..]);
    let operand = is_behind.then(|| (number, word.trim_start_matches('-').to_string()));
    // White space may stand before each dot.
    let opcode = opcode.text(&text).split_whitespace().collect::<String>().to_ascii_lowercase();
    Some(Typed { opcode, operand, selects, escapes_dollar })
}

/// The mnemonic and the modifiers of a word. `None` if any part of the word is neither.
fn parts(opcode: &str) -> Option<(Mnemonic, Vec<Modifier>)> {
    let mut words = opcode.split('.');
    let mnemonic = Mnemonic::from_text(words.next()?)?;
    let modifiers = words.map(|word| Modifier::from_text(&format!(".{word}")));
    Some((mnemonic, modifiers.collect::<Option<_>>()?))
}

/// The number of the slot after the given modifiers. `None` if they are not in the manual's order.
fn after(form: &Form, modifiers: &[Modifier]) -> Option<usize> {
    let mut next = 0;
    for modifier in modifiers {
        let skipped = form.slots[next..].iter().position(|slot| slot.choices.contains(modifier))?;
        if form.slots[next..next + skipped].iter().any(|slot| !slot.optional) {
            return None;
        }
        next += skipped + 1;
    }
    Some(next)
}

/// Whether a form needs no more than the given modifiers.
fn takes(form: &Form, modifiers: &[Modifier]) -> bool {
    after(form, modifiers).is_some_and(|next| form.slots[next..].iter().all(|slot| slot.optional))
}

fn opcode(typed: &str, offset: u32) -> Completion {
    let (before, word) = typed.rsplit_once('.').unwrap_or(("", typed));
    let span = Span::new(offset - word.len() as u32, offset);
    let offers = if typed.contains('.') { modifiers(before, word) } else { mnemonics(word) };
    Completion { typed: span, offers, is_part: false }
}

fn mnemonics(word: &str) -> Vec<Offer> {
    let starting =
        Mnemonic::ALL.iter().filter(|it| !word.is_empty() && it.text().starts_with(word));
    let offer = |it: &Mnemonic| Offer::plain(it.text(), video::summary(*it), OfferKind::Mnemonic);
    starting.map(offer).collect()
}

/// The forms whose mnemonic starts with a word, each as an instruction with placeholders.
fn forms(word: &str, language: Language) -> impl Iterator<Item = Offer> {
    let starting = Mnemonic::ALL.iter().filter(move |it| it.text().starts_with(word));
    starting.flat_map(move |mnemonic| {
        video::forms(*mnemonic).iter().map(move |form| Offer {
            text: snippet(*mnemonic, form, language),
            label: video::syntax(*mnemonic, form).replace("  ", " "),
            detail: form.title.into(),
            kind: OfferKind::Form,
        })
    })
}

/// An instruction with places such as `${1|u32,s32|}`, for each of which the client inserts one
/// choice.
fn snippet(mnemonic: Mnemonic, form: &Form, language: Language) -> String {
    let mut text = mnemonic.text().to_string();
    let mut number = 0;
    let mut place = |content: &str| {
        number += 1;
        format!("${{{number}{content}}}")
    };
    let choices = |texts: Vec<&str>| {
        let texts: Vec<&str> = texts.iter().map(|text| text.trim_start_matches('.')).collect();
        format!("|{}|", texts.join(","))
    };
    for slot in form.slots.iter().filter(|slot| !slot.optional) {
        let texts: Vec<&str> = slot.choices.iter().map(|choice| choice.text()).collect();
        match texts[..] {
            [only] => text.push_str(only),
            _ => text.extend([".", &place(&choices(texts))]),
        }
    }
    let operands = match language {
        Language::Ptx => ["d", "a", "b", "c"],
        Language::Cuda => ["%0", "%1", "%2", "%3"],
        Language::Zig => ["%[d]", "%[a]", "%[b]", "%[c]"],
        // A client reads a plain `$0` as the place of the cursor.
        Language::Python | Language::Mojo | Language::Julia | Language::Notebook => {
            ["\\$0", "\\$1", "\\$2", "\\$3"]
        }
        Language::Rust => ["{0\\}", "{1\\}", "{2\\}", "{3\\}"],
    };
    let count = if form.third { 4 } else { 3 };
    for (at, operand) in operands[..count].iter().enumerate() {
        text.push_str(if at == 0 { " " } else { ", " });
        text.push_str(&place(&format!(":{operand}")));
        if at == 0 && form.destination == Destination::Part {
            let parts = Part::ALL.iter().map(|part| part.text()).collect();
            text.extend([".", &place(&choices(parts))]);
        }
    }
    text + ";"
}

/// The modifiers that may come next.
fn modifiers(before: &str, word: &str) -> Vec<Offer> {
    let Some((mnemonic, given)) = parts(before) else { return Vec::new() };
    let mut offers: Vec<Offer> = Vec::new();
    for form in video::forms(mnemonic) {
        let Some(next) = after(form, &given) else { continue };
        let rest = &form.slots[next..];
        let needed = rest.iter().position(|slot| !slot.optional).map_or(rest.len(), |at| at + 1);
        for slot in &rest[..needed] {
            for choice in slot.choices {
                let text = choice.text().trim_start_matches('.');
                let is_new = !offers.iter().any(|offer| offer.text == text);
                if is_new && text.starts_with(word) {
                    offers.push(Offer::plain(text, slot.role.name(), OfferKind::Modifier));
                }
            }
        }
    }
    offers
}

/// The selectors or masks of an operand.
fn selectors(forms: &[&Form], operand: usize, word: &str, offset: u32) -> Completion {
    let mut all: Vec<String> = Vec::new();
    for form in forms {
        let texts: Vec<String> = match (operand, form.destination, form.sources) {
            (0, Destination::Part, _) | (1 | 2, _, Sources::Scalar) => {
                Part::ALL.iter().map(|part| part.text().to_string()).collect()
            }
            (0, Destination::Mask(width), _) => {
                Mask::all(width).map(|mask| mask.to_string()).collect()
            }
            (1 | 2, _, Sources::Lanes(width)) => lanes(width, word),
            _ => Vec::new(),
        };
        all.extend(texts);
    }
    let mut seen = BTreeSet::new();
    let texts = all.iter().map(|text| text.trim_start_matches('.'));
    let mut offers: Vec<Offer> = texts
        .filter(|text| text.starts_with(word) && !text.is_empty() && seen.insert(text.to_string()))
        .map(|text| {
            let detail = if operand == 0 { "mask" } else { "selector" };
            Offer::plain(text, detail, OfferKind::Selector)
        })
        .collect();
    let is_part = offers.len() > MOST;
    offers.truncate(MOST);
    let typed = Span::new(offset - word.len() as u32, offset);
    Completion { typed, offers, is_part }
}

/// The selectors of lanes that start with a word, the default ones first.
fn lanes(width: LaneWidth, word: &str) -> Vec<String> {
    let lanes = width.lanes();
    let letter = width.letter();
    let digits = word.strip_prefix(letter).unwrap_or_default();
    let choices = u64::from(width.choices());
    let is_lane = |digit: char| digit.to_digit(10).is_some_and(|it| u64::from(it) < choices);
    if !digits.chars().all(is_lane) {
        return Vec::new();
    }
    let given = digits.len().min(lanes);
    let count = choices.pow((lanes - given) as u32);
    let text = |number: u64| {
        let digit = |at: usize| {
            let power = choices.pow((lanes - given - 1 - at) as u32);
            char::from_digit((number / power % choices) as u32, 10).unwrap_or('0')
        };
        let rest: String = (0..lanes - given).map(digit).collect();
        format!(".{letter}{}{rest}", &digits[..given])
    };
    let usual = [Selector::default_a(width), Selector::default_b(width)];
    let usual = usual.iter().map(ToString::to_string);
    usual.chain((0..count.min(MOST as u64 + 1)).map(text)).collect()
}

/// The registers that the statement at an offset sees, or the operands of an `asm`.
fn registers(source: &str, options: &CheckOptions, word: &str, offset: u32) -> Option<Completion> {
    let offer = |text: String, detail: String| Offer::plain(text, detail, OfferKind::Register);
    let mut offers: Vec<Offer> = if let Some(host) = options.language.host() {
        let asm = asm_at(source, host, offset)?;
        let operands = asm.operands.iter();
        operands.map(|it| offer(asm.spelled(&it.placeholder), it.constraint.clone())).collect()
    } else {
        let text = format!("{} vadd ;", &source[..offset as usize]);
        let mut seen = Seen { at: offset, names: Vec::new() };
        read(&text, &mut seen);
        seen.names.into_iter().map(|(name, ty)| offer(name, ty)).collect()
    };
    offers.retain(|offer| offer.text.starts_with(word));
    let is_part = offers.len() > MOST;
    offers.truncate(MOST);
    // Editors may have closed a bracket that was typed.
    let rest = &source[offset as usize..];
    let is_closed = [('[', ']'), ('{', '}')].into_iter().any(|(open, close)| {
        word.contains(open)
            && rest.starts_with(close)
            && offers.iter().all(|offer| offer.text.ends_with(close))
    });
    let end = offset + u32::from(is_closed);
    let typed = Span::new(offset - word.len() as u32, end);
    Some(Completion { typed, offers, is_part })
}

/// Collects the registers that the statement at an offset sees.
struct Seen {
    at: u32,
    names: Vec<(String, String)>,
}

impl<'s> Handler<'s> for Seen {
    const INITIAL: u8 = b'v';

    fn wants(&self, opcode: &str) -> bool {
        is_wanted(opcode)
    }

    fn statement(&mut self, statement: WantedStatement<'_>, context: &Context<'s>) {
        if statement.tokens.last().is_some_and(|last| last.span().end >= self.at) {
            self.names = context.words(MOST + 1);
        }
    }

    fn problem(&mut self, _: Problem) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::video::Instruction;

    fn is_legal(text: &str) -> bool {
        text.parse::<Instruction>().is_ok()
    }

    fn offered(text: &str) -> Vec<String> {
        let found = at(text, &CheckOptions::default(), text.len() as u32, false);
        found.map_or_else(Vec::new, |it| it.offers.into_iter().map(|it| it.text).collect())
    }

    /// The legal instruction that an opcode makes with some operands.
    fn legal(opcode: &str) -> Option<String> {
        let operands = ["d, a, b, c", "d, a, b", "d.b0, a, b, c"];
        let texts = operands.map(|operands| format!("{opcode} {operands};"));
        texts.into_iter().find(|text| is_legal(text))
    }

    /// Follows all offered modifiers. Each complete opcode must be legal.
    fn follow(opcode: &str, legal_ones: &mut BTreeSet<String>) {
        let (mnemonic, modifiers) = parts(opcode).expect(opcode);
        if video::forms(mnemonic).iter().any(|form| takes(form, &modifiers)) {
            assert!(legal(opcode).is_some(), "{opcode}");
            legal_ones.insert(opcode.into());
        }
        let next = offered(&format!("  {opcode}."));
        for modifier in &next {
            follow(&format!("{opcode}.{modifier}"), legal_ones);
        }
    }

    #[test]
    fn modifiers_that_are_offered_are_those_of_the_table() {
        let mut found = BTreeSet::new();
        for mnemonic in Mnemonic::ALL {
            assert!(offered(&mnemonic.text()[..2]).contains(&mnemonic.text().to_string()));
            follow(mnemonic.text(), &mut found);
        }
        // Only those that start with the word are offered.
        assert_eq!(offered("vabsd"), ["vabsdiff", "vabsdiff2", "vabsdiff4"]);
        assert_eq!(offered("vadd4 .u32\n  .s"), ["s32"]);
        // The offers reach every form with every choice.
        let mut all = BTreeSet::new();
        for mnemonic in Mnemonic::ALL {
            for form in video::forms(*mnemonic) {
                let mut texts = vec![mnemonic.text().to_string()];
                for slot in form.slots {
                    let with = |text: &String| {
                        let text = text.clone();
                        slot.choices.iter().map(move |choice| format!("{text}{choice}"))
                    };
                    let longer: Vec<String> = texts.iter().flat_map(with).collect();
                    texts = if slot.optional { [texts, longer].concat() } else { longer };
                }
                all.extend(texts);
            }
        }
        assert_eq!(found, all);
        assert!(all.len() > 1000, "{}", all.len());
    }

    /// Comments are no part of an operand, and a statement may be long.
    #[test]
    fn the_typed_statement_is_the_one_of_the_tree() {
        let operand = |text: &str| {
            let signature = signature(text, &CheckOptions::default(), text.len() as u32);
            signature.map(|it| it.operand)
        };
        let opcode = "L: @!%p1 vadd.u32.u32.u32";
        assert_eq!(operand(&format!("{opcode} %r1, %r")), Some(1));
        assert_eq!(operand(&format!("{opcode} /* a, b; {{ */ %r1, // c, d;\n%r")), Some(1));
        assert_eq!(operand(&format!("{opcode} %r1,{}%r2, ", "\n".repeat(5_000))), Some(2));
        assert_eq!(operand(&format!("ret // ;\n; {opcode} ")), Some(0));
        assert_eq!(operand(&format!("{opcode} %r1, // ")), None);
        assert_eq!(operand(&format!("{opcode} %r1, %r2;")), None);
    }

    /// The texts that a snippet can become: one with the first choice at each place, and for each
    /// other choice one that differs only at its place.
    fn filled(snippet: &str) -> Vec<String> {
        let mut texts = vec![String::new()];
        let mut rest = snippet;
        while let Some((before, place)) = rest.split_once("${") {
            let (place, after) = place.split_once('}').unwrap();
            let content = place.trim_start_matches(|c: char| c.is_ascii_digit());
            let choices: Vec<&str> = match content.strip_prefix(':') {
                Some(default) => vec![default],
                None => content.trim_matches('|').split(',').collect(),
            };
            let first = texts[0].clone();
            for text in &mut texts {
                text.extend([before, choices[0]]);
            }
            texts.extend(choices[1..].iter().map(|choice| format!("{first}{before}{choice}")));
            rest = after;
        }
        texts.into_iter().map(|text| text + rest).collect()
    }

    #[test]
    fn whole_forms_that_are_offered_are_legal() {
        let mut count = 0;
        for mnemonic in Mnemonic::ALL {
            let all: Vec<Offer> = forms(mnemonic.text(), Language::Ptx).collect();
            let own = format!("{mnemonic}.");
            let own = all.iter().filter(|offer| offer.text.starts_with(&own));
            assert_eq!(own.clone().count(), video::forms(*mnemonic).len());
            for text in own.flat_map(|offer| filled(&offer.text)) {
                assert!(is_legal(&text), "{text}");
                count += 1;
            }
        }
        assert!(count > 100, "{count}");
        let form = &video::forms(Mnemonic::Vadd)[0];
        let text = snippet(Mnemonic::Vadd, form, Language::Cuda);
        assert_eq!(
            text,
            "vadd.${1|u32,s32|}.${2|u32,s32|}.${3|u32,s32|} ${4:%0}, ${5:%1}, ${6:%2};"
        );
    }

    #[test]
    fn selectors_that_are_offered_are_legal() {
        for mnemonic in Mnemonic::ALL {
            let text = video::example(*mnemonic).text;
            let opcode = text.split(' ').next().unwrap();
            let Some(whole) = legal(opcode) else { panic!("{opcode}") };
            let operands = whole[opcode.len()..].trim_end_matches(';').trim();
            let operands: Vec<&str> = operands.split(", ").collect();
            for number in 0..3 {
                let before = operands[..number].iter().map(|it| format!("{it}, "));
                let before = format!("{opcode} {}", before.collect::<String>());
                let own = operands[number].split('.').next().unwrap();
                for selector in offered(&format!("{before}{own}.")) {
                    let mut all: Vec<String> = operands.iter().map(ToString::to_string).collect();
                    all[number] = format!("{own}.{selector}");
                    let text = format!("{opcode} {};", all.join(", "));
                    // A merge into a part of `d` needs the third source.
                    let third = text.replace(';', ", c;");
                    assert!(is_legal(&text) || is_legal(&third), "{text}");
                }
            }
        }
        assert_eq!(offered("vadd4.u32.u32.u32 d, a.b76")[..2], ["b7654", "b7600"]);
        assert_eq!(offered("vmin2.u32.u32.u32 d.h").len(), 3);
    }

    /// The client asks again if a list is cut off.
    #[test]
    fn more_than_300_selectors_are_offered_in_part() {
        // Each lane selects one of eight bytes.
        for (word, count, is_part) in [("b3", MOST, true), ("b32", 64, false)] {
            let text = format!("vadd4.u32.u32.u32 d, a.{word}");
            let found = at(&text, &CheckOptions::default(), text.len() as u32, false);
            let found = found.expect("selectors");
            assert_eq!((found.offers.len(), found.is_part), (count, is_part), "{word}");
        }
    }

    #[test]
    fn more_than_300_registers_are_offered_in_part() {
        for (count, is_part) in [(MOST, false), (MOST + 1, true)] {
            let head = ".version 8.5\n.target sm_90\n.func f()\n{\n";
            let text = format!("{head}.reg .b32 %r<{count}>;\nvadd.u32.u32.u32 ");
            let found = at(&text, &CheckOptions::default(), text.len() as u32, false);
            let found = found.expect("registers");
            assert_eq!((found.offers.len(), found.is_part), (MOST, is_part), "{count}");
        }
    }

    #[test]
    fn registers_in_scope_are_offered() {
        let text = "\
.version 8.5
.target sm_90
.func f()
{
    .reg .b32 %r<3>, a;
    .reg .pred p;
    { .reg .u32 other; }
    @p vadd.u32.u32.u32 a, ";
        assert_eq!(offered(text), ["%r0", "%r1", "%r2", "a"]);
        assert_eq!(offered(&format!("{text}%r")), ["%r0", "%r1", "%r2"]);
        // The third source is the last operand.
        assert_eq!(offered(&format!("{text}a, a, ")), ["%r0", "%r1", "%r2", "a"]);
        assert_eq!(offered(&format!("{text}a, a, a, ")), [""; 0]);
        for nothing in [
            "",
            ".re",
            "add.",
            "// vadd.",
            "vadd.x.",
            "vadd.u32 d, ",
            "vadd4.u32.u32.u32 d, a.b9",
            "vadd4.u32.u32.u32 d, a.bé",
        ] {
            assert_eq!(offered(nothing), [""; 0], "{nothing}");
        }
    }

    /// The texts that result from each offer at the `¦`.
    fn completed(source: &str, language: Language) -> Vec<String> {
        let offset = source.find('¦').expect("a cursor");
        let source = source.replace('¦', "");
        let options = CheckOptions::default().with_language(language);
        let found = at(&source, &options, offset as u32, false);
        let Some(Completion { typed, offers, .. }) = found else { return Vec::new() };
        let typed = typed.range();
        let whole =
            |it: Offer| format!("{}{}{}", &source[..typed.start], it.text, &source[typed.end..]);
        offers.into_iter().map(whole).collect()
    }

    #[test]
    fn operands_are_offered_in_every_kind_of_string() {
        let triton = |text: &str| format!("tl.inline_asm_elementwise({text}, \"=r,r\", [x], t, 1)");
        let julia = |text: &str| format!("@asmcall({text}, \"=r,r\", UInt32, Tuple{{UInt32}}, a)");
        let c = |text: &str| format!("asm({text} : \"=r\"(x) : \"r\"(y));");
        let rust = |text: &str| format!("asm!(\"{text}\", out(reg32) x, in(reg32) y);");
        let zig = "asm volatile (\n  \\\\mov.b32 %[d], 0;\n  \\\\vadd.u32.u32.u32 %[d], %[x¦];\n  : \
                   [d] \"=r\" (-> u32) : [x] \"r\" (y));";
        for (language, source, typed, offers) in [
            (
                Language::Cuda,
                c(r#""mov.b32 %0, 0;\n\tvadd.s32.s32.s32 %0, ¦;""#),
                "",
                vec!["%0", "%1"],
            ),
            (Language::Cuda, c("R\"(vadd.u32.u32.u32 %0, ¦;)\""), "", vec!["%0", "%1"]),
            (Language::Cuda, c("\"vadd.u32.u32\" \".u32 %0, ¦;\""), "", vec!["%0", "%1"]),
            (Language::Cuda, c("\"vadd.u32.u32.u32 %0, %1, %1;\" /* vadd. ¦ */"), "", vec![]),
            (Language::Python, triton("'vadd.u32.u32.u32 $0, ¦;'"), "", vec!["$0", "$1"]),
            (Language::Python, triton("'''\nvadd.u32.u32.u32 ¦;\n'''"), "", vec!["$0", "$1"]),
            (Language::Julia, julia(r#""vadd.u32.u32.u32 \$0, ¦;""#), "", vec![r"\$0", r"\$1"]),
            (Language::Julia, julia(r#""vadd.u32.u32.u32 \$0, \$¦;""#), "$", vec!["$0", "$1"]),
            (Language::Julia, julia(r#"raw"vadd.u32.u32.u32 $0, ¦;""#), "", vec!["$0", "$1"]),
            // The editor has closed the bracket.
            (Language::Zig, zig.into(), "%[x]", vec!["%[x]"]),
            (Language::Rust, rust("{{ vadd.u32.u32.u32 {0}, {¦}; }}"), "{}", vec!["{0}", "{1}"]),
            // This brace ends a block.
            (Language::Rust, rust("{{ vadd.u32.u32.u32 {0}, ¦}}"), "", vec!["{0}", "{1}"]),
        ] {
            let open = typed.trim_end_matches([']', '}']);
            let closed = format!("{open}¦{}", &typed[open.len()..]);
            let expected: Vec<String> =
                offers.iter().map(|it| source.replace(&closed, it)).collect();
            assert_eq!(completed(&source, language), expected, "{source}");
        }
        // A snippet has escapes of its own.
        let source = julia("\"vabs\"");
        let options = CheckOptions::default().with_language(Language::Julia);
        let offset = source.find("\",").expect("a quote") as u32;
        let found = at(&source, &options, offset, true).expect("forms");
        let form = found.offers.iter().find(|it| it.kind == OfferKind::Form).expect("a form");
        assert!(form.text.contains(r":\\\$0}"), "{}", form.text);
    }
}
