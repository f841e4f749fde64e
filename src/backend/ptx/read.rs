//! Reads opcodes of ordinary PTX, by the texts of the table.

use super::opcode::{Opcode, OpcodePart};
use crate::isa::Feature;

impl Opcode {
    /// The opcode with this text, modifiers included: `add.u32` is [`Opcode::Add`], as is
    /// `add.s32`. The table of `lop3` is 0 here: it is an operand. `None` for other
    /// instructions, for video instructions, and for those that take words apart or join them.
    pub(crate) fn from_text(text: &str) -> Option<Opcode> {
        let mut rows = Opcode::READINGS.iter();
        rows.find_map(|(forms, opcode)| {
            let places = forms.iter().find_map(|form| Places::of(form, text))?;
            let is_read =
                |it: &Opcode| it.needs() != Feature::SimdVideo && !it.operands().contains('{');
            opcode(&places).filter(is_read)
        })
    }
}

/// What a text has for the placeholders of a form, such as `{ty}`.
pub(super) struct Places<'t> {
    text: &'t str,
    /// The name of each placeholder, and its text. No form has more than two.
    found: [(&'static str, &'t str); 2],
}

impl<'t> Places<'t> {
    fn of(mut form: &'static str, text: &'t str) -> Option<Places<'t>> {
        let (mut places, mut rest) = (Places { text, found: [("", ""); 2] }, text);
        while let Some(letter) = form.chars().next() {
            if let Some((name, after)) = form.strip_prefix('{').and_then(|it| it.split_once('}')) {
                form = after;
                // A comparison has its dot; the sign of a type is a letter.
                let end =
                    rest.strip_prefix('.').map_or(Some(1), |word| Some(word.find('.')? + 1))?;
                let (found, more) = rest.split_at_checked(end)?;
                rest = more;
                let place = places.found.iter_mut().find(|it| it.0.is_empty() || it.0 == name)?;
                if place.0 == name && place.1 != found {
                    return None;
                }
                *place = (name, found);
                continue;
            }
            let own = rest.chars().next()?;
            let is_sign = |letter| matches!(letter, 'b' | 'u' | 's');
            // Saturation depends on the sign.
            let is_type =
                form[1..].starts_with(|next: char| next.is_ascii_digit()) && !text.contains(".sat");
            if letter != own && !(is_type && is_sign(letter) && is_sign(own)) {
                return None;
            }
            (form, rest) = (&form[1..], &rest[1..]);
        }
        rest.is_empty().then_some(places)
    }

    /// The part of an opcode with this name.
    pub(super) fn part<P: OpcodePart>(&self, name: &str) -> Option<P> {
        let found = self.found.iter().find(|it| it.0 == name);
        P::read(found.map_or("", |it| it.1), self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::{Compare, Type};

    /// The texts of opcodes read back as themselves.
    #[test]
    fn opcodes_are_read_as_they_are_written() {
        for opcode in Opcode::all() {
            let read = Opcode::from_text(&opcode.to_string());
            match opcode {
                // The table is an operand.
                Opcode::Lop3(_) => assert_eq!(read, Some(Opcode::Lop3(0))),
                // `mov` has other operands here.
                Opcode::LowHalf | Opcode::HighHalf | Opcode::JoinHalves => {
                    assert_eq!(read, Some(Opcode::Move));
                }
                Opcode::High | Opcode::AbsDiff4(_) | Opcode::SumAbsDiff4(_) => {
                    assert_eq!(read, None);
                }
                _ => assert_eq!(read, Some(opcode)),
            }
        }
        for other in ["add.sat.u32", "sub.sat.u32", "cvt.pack.sat.u8.u32.b32"] {
            assert_eq!(Opcode::from_text(other), None, "{other}");
        }
        for other in ["add.f32", "mov", "mov.b64", "setp.lt.f32", "ld.global.u32"] {
            assert_eq!(Opcode::from_text(other), None, "{other}");
        }
        for unsigned in [".lo", ".ls", ".hi", ".hs"] {
            assert_eq!(Opcode::from_text(&format!("setp{unsigned}.s32")), None, "{unsigned}");
        }
        let others = [
            ("mov.u32", Opcode::Move),
            ("add.u32", Opcode::Add),
            ("add.u16x2", Opcode::Add2),
            ("sub.s8x4", Opcode::Sub4),
            ("shr.b32", Opcode::Shr(Type::U32)),
            ("shr.b64", Opcode::ShrWide(Type::U32)),
            ("cvt.s32.u64", Opcode::Low),
            ("cvt.u64.s32", Opcode::Extend(Type::S32)),
            ("cvt.s64.u32", Opcode::Extend(Type::U32)),
            ("dp4a.u32.s32", Opcode::Dot4(Type::U32, Type::S32)),
            ("setp.lo.u32", Opcode::Set(Compare::Lt, Type::U32)),
            ("setp.hs.and.u32", Opcode::SetAnd(Compare::Ge, Type::U32)),
            ("setp.ne.b32", Opcode::Set(Compare::Ne, Type::U32)),
            ("setp.lt.s64", Opcode::SetWide(Compare::Lt, Type::S32)),
        ];
        let all = Opcode::all();
        for (text, opcode) in others {
            assert_eq!(Opcode::from_text(text), Some(opcode), "{text}");
            assert!(all.contains(&opcode), "{text}");
        }
    }
}
