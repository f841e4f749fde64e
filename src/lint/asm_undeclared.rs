//! V216: undeclared registers in an `asm` that declares other registers.
//!
//! Another `asm` of the function may declare a name, so the name counts as declared if any `.reg`
//! of the source may declare it. A name with a `%`, such as `%r1`, may be a register of the
//! compiler.

use std::cell::OnceCell;

use super::asm::AsmSubject;
use crate::diagnostic::{Code, Diagnostic};
use crate::hash::Map;
use crate::source::{Span, nearest};
use crate::syntax::Shape;
use crate::syntax::lexer::is_word;

/// With how many declared registers an undeclared name is compared, the last ones first.
const COMPARED: usize = 256;

pub(super) fn find(subject: &AsmSubject<'_, '_>, found: &mut Vec<Diagnostic>) {
    let Some(raw) = subject.raw else { return };
    let asm = subject.asm();
    if !subject.declares_registers {
        return;
    }
    for operand in raw.operands.iter().filter(|it| matches!(it.shape, Shape::Name)) {
        let name = operand.value.text(&asm.text);
        // V701 reports `$0`.
        let is_number = name.starts_with('$') && name[1..].parse::<u32>().is_ok();
        if is_number
            || name.starts_with('%')
            || subject.is_known(name, operand.value)
            || (subject.may_declare)(name, asm.span)
        {
            continue;
        }
        let place = subject.place(operand.value);
        let message = format!("`{}` is not declared here", subject.spelled(name));
        let diagnostic = Diagnostic::new(Code::UndeclaredRegister, place, message)
            .label("no register of this name in scope");
        let declared = subject.context.registers().rev();
        let declared = declared.filter(|it| subject.operands.get(it).is_none()).take(COMPARED);
        found.push(
            diagnostic.help(match nearest(name, declared) {
                Some(near) => format!("did you mean `{}`?", subject.spelled(near)),
                None => {
                    "declare it, as in `.reg .b32 r;`; a declaration holds to the end of its `{ }`"
                        .to_string()
                }
            }),
        );
    }
}

/// The words that may be registers of a source: all words after a `.reg`.
pub(crate) struct DeclaredWords<'t> {
    source: &'t str,
    /// The first and the last place of each word.
    places: OnceCell<Map<&'t str, (u32, u32)>>,
}

impl<'t> DeclaredWords<'t> {
    /// The words of a source that includes the text of its headers.
    pub(crate) fn new(source: &'t str) -> DeclaredWords<'t> {
        DeclaredWords { source, places: OnceCell::new() }
    }

    /// Whether something outside of an `asm` may declare a name, alone or in a range.
    pub(crate) fn may_declare(&self, name: &str, asm: Span) -> bool {
        let places = self.places.get_or_init(|| places(self.source));
        [name, name.trim_end_matches(|c: char| c.is_ascii_digit())].iter().any(|word| {
            places.get(word).is_some_and(|&(first, last)| first < asm.start || last >= asm.end)
        })
    }
}

fn places(source: &str) -> Map<&str, (u32, u32)> {
    let mut places: Map<&str, (u32, u32)> = Map::default();
    let mut starts = memchr::memmem::find_iter(source.as_bytes(), ".reg").peekable();
    while let Some(start) = starts.next() {
        let end = starts.peek().copied().unwrap_or(source.len());
        let list = &source[start..end];
        let list = &list[..list.find(';').unwrap_or(list.len())];
        let place = start as u32;
        // The letter after a backslash is part of an escape.
        let escaped = list.split('\\').skip(1).filter_map(|it| it.get(1..));
        let plain = list.split('\\').take(1);
        let words = plain
            .chain(escaped)
            .flat_map(|it| it.split(|c: char| !u8::try_from(c).is_ok_and(is_word)));
        for word in words {
            places.entry(word).and_modify(|it| it.1 = place).or_insert((place, place));
        }
    }
    places
}
