//! Reads opcodes of ordinary PTX.

use super::sequence::Opcode;
use crate::isa::{Compare, Modifier, Type};

impl Opcode {
    /// The opcode with this text, modifiers included: `add.u32` is [`Opcode::Add`], as is
    /// `add.s32`. The table of `lop3` is 0 here: it is an operand. `None` for other
    /// instructions, and for those that do not have one result.
    pub(crate) fn from_text(text: &str) -> Option<Opcode> {
        let (name, modifiers) = text.split_once('.')?;
        let parts: Vec<&str> = modifiers.split('.').collect();
        Some(match (name, &parts[..]) {
            ("mov", ["b32" | "u32" | "s32"]) => Opcode::Move,
            ("add", ["u32" | "s32"]) => Opcode::Add,
            ("sub", ["u32" | "s32"]) => Opcode::Sub,
            ("mul", ["lo", "u32" | "s32"]) => Opcode::Mul,
            ("mad", ["lo", "u32" | "s32"]) => Opcode::Mad,
            ("add", ["sat", "s32"]) => Opcode::AddSat,
            ("sub", ["sat", "s32"]) => Opcode::SubSat,
            ("abs", ["s32"]) => Opcode::Abs,
            ("and", ["b32"]) => Opcode::And,
            ("or", ["b32"]) => Opcode::Or,
            ("xor", ["b32"]) => Opcode::Xor,
            ("not", ["b32"]) => Opcode::Not,
            ("lop3", ["b32"]) => Opcode::Lop3(0),
            ("shl", ["b32"]) => Opcode::Shl,
            ("shr", ["b32"]) => Opcode::Shr(Type::U32),
            ("shr", [ty]) if word(ty).is_some() => Opcode::Shr(word(ty)?),
            ("shf", ["l", "wrap", "b32"]) => Opcode::FunnelLeftWrap,
            ("shf", ["l", "clamp", "b32"]) => Opcode::FunnelLeft,
            ("shf", ["r", "wrap", "b32"]) => Opcode::FunnelRightWrap,
            ("min", [ty]) if word(ty).is_some() => Opcode::Min(word(ty)?),
            ("max", [ty]) if word(ty).is_some() => Opcode::Max(word(ty)?),
            ("sad", [ty]) => Opcode::Sad(word(ty)?),
            ("prmt", ["b32"]) => Opcode::Permute,
            ("selp", ["b32" | "u32" | "s32"]) => Opcode::Select,
            ("dp4a", [x, y]) => Opcode::Dot4(word(x)?, word(y)?),
            ("dp2a", ["lo", x, y]) => Opcode::Dot2(word(x)?, word(y)?),
            ("dp2a", ["hi", x, y]) => Opcode::Dot2High(word(x)?, word(y)?),
            ("cvt", ["pack", "sat", "u16", "s32"]) => Opcode::Pack2(Type::U32),
            ("cvt", ["pack", "sat", "s16", "s32"]) => Opcode::Pack2(Type::S32),
            ("cvt", ["pack", "sat", "u8", "s32", "b32"]) => Opcode::Pack4(Type::U32),
            ("cvt", ["pack", "sat", "s8", "s32", "b32"]) => Opcode::Pack4(Type::S32),
            ("add", ["u16x2" | "s16x2"]) => Opcode::Add2,
            ("min", ["u16x2"]) => Opcode::Min2(Type::U32),
            ("min", ["s16x2"]) => Opcode::Min2(Type::S32),
            ("max", ["u16x2"]) => Opcode::Max2(Type::U32),
            ("max", ["s16x2"]) => Opcode::Max2(Type::S32),
            ("min", ["relu", "s16x2"]) => Opcode::MinRelu2,
            ("max", ["relu", "s16x2"]) => Opcode::MaxRelu2,
            ("add", ["sat", "u16x2"]) => Opcode::AddSat2(Type::U32),
            ("add", ["sat", "s16x2"]) => Opcode::AddSat2(Type::S32),
            ("add", ["u8x4" | "s8x4"]) => Opcode::Add4,
            ("sub", ["u8x4" | "s8x4"]) => Opcode::Sub4,
            ("add", ["sat", ty @ ("u8x4" | "s8x4")]) => Opcode::AddSat4(bytes(ty)),
            ("sub", ["sat", ty @ ("u8x4" | "s8x4")]) => Opcode::SubSat4(bytes(ty)),
            ("min", [ty @ ("u8x4" | "s8x4")]) => Opcode::Min4(bytes(ty)),
            ("max", [ty @ ("u8x4" | "s8x4")]) => Opcode::Max4(bytes(ty)),
            ("min", ["relu", "s8x4"]) => Opcode::MinRelu4,
            ("max", ["relu", "s8x4"]) => Opcode::MaxRelu4,
            ("add", ["f16x2"]) => Opcode::AddFloat2,
            ("sub", ["f16x2"]) => Opcode::SubFloat2,
            ("add", ["sat", "f16x2"]) => Opcode::AddSatFloat2,
            ("sub", ["sat", "f16x2"]) => Opcode::SubSatFloat2,
            ("min", ["f16x2"]) => Opcode::MinFloat2,
            ("max", ["f16x2"]) => Opcode::MaxFloat2,
            ("popc", ["b32"]) => Opcode::Count,
            ("cvt", ["u32" | "s32", "u64" | "s64"]) => Opcode::Low,
            ("cvt", ["u64" | "s64", "u32"]) => Opcode::Extend(Type::U32),
            ("cvt", ["u64" | "s64", "s32"]) => Opcode::Extend(Type::S32),
            ("add", ["u64" | "s64"]) => Opcode::AddWide,
            ("sub", ["u64" | "s64"]) => Opcode::SubWide,
            ("mul", ["lo", "u64" | "s64"]) => Opcode::MulWide,
            ("mul", ["wide", ty]) => Opcode::Product(word(ty)?),
            ("shl", ["b64"]) => Opcode::ShlWide,
            ("shr", ["b64"]) => Opcode::ShrWide(Type::U32),
            ("shr", [ty]) => Opcode::ShrWide(wide(ty)?),
            ("min", [ty]) => Opcode::MinWide(wide(ty)?),
            ("max", [ty]) => Opcode::MaxWide(wide(ty)?),
            ("setp", [relation, ty]) => match (compare(relation, ty)?, wide(ty)) {
                (relation, Some(ty)) => Opcode::SetWide(relation, ty),
                (relation, None) => Opcode::Set(relation, compared(ty)?),
            },
            ("setp", [relation, "and", ty]) => {
                Opcode::SetAnd(compare(relation, ty)?, compared(ty)?)
            }
            ("setp", [relation, "or", ty]) => Opcode::SetOr(compare(relation, ty)?, compared(ty)?),
            _ => return None,
        })
    }
}

fn word(ty: &str) -> Option<Type> {
    match ty {
        "u32" => Some(Type::U32),
        "s32" => Some(Type::S32),
        _ => None,
    }
}

/// The signedness of four bytes.
fn bytes(ty: &str) -> Type {
    if ty.starts_with('s') { Type::S32 } else { Type::U32 }
}

/// The signedness of a 64-bit type.
fn wide(ty: &str) -> Option<Type> {
    match ty {
        "u64" => Some(Type::U32),
        "s64" => Some(Type::S32),
        _ => None,
    }
}

fn compared(ty: &str) -> Option<Type> {
    if ty == "b32" { Some(Type::U32) } else { word(ty) }
}

/// `lt`; also `lo`, which is its name for unsigned types.
fn compare(relation: &str, ty: &str) -> Option<Compare> {
    let is_unsigned = ty.starts_with('u');
    let relation = match relation {
        "lo" if is_unsigned => "lt",
        "ls" if is_unsigned => "le",
        "hi" if is_unsigned => "gt",
        "hs" if is_unsigned => "ge",
        other => other,
    };
    Modifier::from_text(&format!(".{relation}")).and_then(Compare::from_modifier)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The texts of opcodes read back as themselves.
    #[test]
    fn opcodes_are_read_as_they_are_written() {
        let types = [Type::U32, Type::S32];
        let mut all = vec![
            Opcode::Move,
            Opcode::Add,
            Opcode::Sub,
            Opcode::Mul,
            Opcode::Mad,
            Opcode::AddSat,
            Opcode::SubSat,
            Opcode::Abs,
            Opcode::And,
            Opcode::Or,
            Opcode::Xor,
            Opcode::Not,
            Opcode::Lop3(0),
            Opcode::Shl,
            Opcode::FunnelLeftWrap,
            Opcode::FunnelLeft,
            Opcode::FunnelRightWrap,
            Opcode::Permute,
            Opcode::Select,
            Opcode::Add2,
            Opcode::MinRelu2,
            Opcode::MaxRelu2,
            Opcode::Add4,
            Opcode::Sub4,
            Opcode::MinRelu4,
            Opcode::MaxRelu4,
            Opcode::AddFloat2,
            Opcode::SubFloat2,
            Opcode::AddSatFloat2,
            Opcode::SubSatFloat2,
            Opcode::MinFloat2,
            Opcode::MaxFloat2,
            Opcode::Count,
            Opcode::Low,
            Opcode::AddWide,
            Opcode::SubWide,
            Opcode::MulWide,
            Opcode::ShlWide,
        ];
        for ty in types {
            all.extend([
                Opcode::Shr(ty),
                Opcode::Min(ty),
                Opcode::Max(ty),
                Opcode::Sad(ty),
                Opcode::Pack2(ty),
                Opcode::Pack4(ty),
                Opcode::Min2(ty),
                Opcode::Max2(ty),
                Opcode::AddSat2(ty),
                Opcode::AddSat4(ty),
                Opcode::SubSat4(ty),
                Opcode::Min4(ty),
                Opcode::Max4(ty),
                Opcode::Extend(ty),
                Opcode::Product(ty),
                Opcode::ShrWide(ty),
                Opcode::MinWide(ty),
                Opcode::MaxWide(ty),
            ]);
            all.extend(types.map(|other| Opcode::Dot4(ty, other)));
            all.extend(types.map(|other| Opcode::Dot2(ty, other)));
            all.extend(types.map(|other| Opcode::Dot2High(ty, other)));
            for compare in Modifier::ALL.iter().filter_map(|it| Compare::from_modifier(*it)) {
                all.extend([
                    Opcode::Set(compare, ty),
                    Opcode::SetAnd(compare, ty),
                    Opcode::SetOr(compare, ty),
                    Opcode::SetWide(compare, ty),
                ]);
            }
        }
        for opcode in all {
            assert_eq!(Opcode::from_text(&opcode.to_string()), Some(opcode), "{opcode}");
        }
        for other in ["add.f32", "mov", "mov.b64", "setp.lt.f32", "setp.lo.s32", "ld.global.u32"] {
            assert_eq!(Opcode::from_text(other), None, "{other}");
        }
        assert_eq!(Opcode::from_text("setp.lo.u32"), Some(Opcode::Set(Compare::Lt, Type::U32)));
    }
}
