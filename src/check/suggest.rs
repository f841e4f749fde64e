//! "Did you mean": the nearest allowed names, and the meaning of names from other
//! languages.

use crate::isa::{Mnemonic, Modifier};
use crate::source::distance;
use crate::video;

/// Whether an opcode was surely meant to belong to a video instruction. The opcode may include its
/// modifiers or end before its first dot. `vote` is the only other instruction that begins with
/// `v`.
pub(super) fn is_meant(opcode: &str) -> bool {
    if let Some((name, modifiers)) = opcode.split_once('.') {
        // No other instruction has several integer types.
        let types = modifiers.split('.').filter(|modifier| is_integer(modifier));
        return name.starts_with(['v', 'V']) && !is_vote(name) && types.take(2).count() == 2;
    }
    if opcode.starts_with("__") { intrinsic(opcode).is_some() } else { mnemonic(opcode).is_some() }
}

fn is_vote(opcode: &str) -> bool {
    matches!(opcode, "vote" | "VOTE")
}

fn is_integer(modifier: &str) -> bool {
    let width = modifier.strip_prefix(['u', 's', 'U', 'S']);
    matches!(width, Some("8" | "16" | "32" | "64"))
}

/// The video instruction nearest to an opcode.
fn mnemonic(opcode: &str) -> Option<Mnemonic> {
    mnemonics(opcode).first().copied()
}

/// The video instructions that an opcode may have been meant to be, all equally near.
pub(super) fn mnemonics(opcode: &str) -> Vec<Mnemonic> {
    // The longest mnemonic has nine characters.
    if opcode.len() > 12 {
        return Vec::new();
    }
    let lower = opcode.to_ascii_lowercase();
    let limit = if opcode.len() <= 4 { 1 } else { 2 };
    let names = Mnemonic::ALL.iter().map(|mnemonic| (mnemonic.text(), *mnemonic));
    nearest(&lower, names, limit)
}

/// The modifiers of this instruction that an unknown modifier may have been meant to be, all
/// equally near.
pub(super) fn modifiers(mnemonic: Mnemonic, text: &str) -> Vec<Modifier> {
    // Modifiers of other instructions are no typing mistakes.
    if text.len() > 8 || matches!(text, ".lo" | ".hi" | ".and" | ".cas" | ".inc" | ".neg") {
        return Vec::new();
    }
    let lower = text.to_ascii_lowercase();
    let names = Modifier::ALL
        .iter()
        .filter(|modifier| video::takes(mnemonic, **modifier))
        .map(|modifier| (modifier.text(), *modifier));
    nearest(&lower, names, if lower.len() <= 4 { 1 } else { 2 })
}

/// The candidates at the least distance, within the limit. Among equals, candidates
/// with the same stem come first, then candidates of the same width.
fn nearest<'a, T>(
    text: &str,
    candidates: impl Iterator<Item = (&'a str, T)>,
    limit: usize,
) -> Vec<T> {
    let (typed, number) = split_number(text);
    let mut least = (limit, true, true);
    let mut nearest = Vec::new();
    for (name, value) in candidates {
        let (family, width) = split_number(name);
        let Some(distance) = distance(text, name, least.0) else { continue };
        let key = (distance, typed != family, number != width);
        if key > least {
            continue;
        }
        if key < least {
            nearest.clear();
            least = key;
        }
        nearest.push(value);
    }
    nearest
}

/// Splits a name from the digits at its end.
fn split_number(text: &str) -> (&str, &str) {
    text.split_at(text.trim_end_matches(|c: char| c.is_ascii_digit()).len())
}

/// Advice for an opcode that other languages have, or that a reader would expect to exist.
pub(super) fn advice(opcode: &str) -> Option<String> {
    let opcode = opcode.to_ascii_lowercase();
    intrinsic(&opcode).or_else(|| expected(&opcode))
}

/// The SIMD intrinsics of CUDA and their instructions. The names lack underscores and
/// the number of lanes. `#` is that number, `z` a register that is 0.
const INTRINSICS: &[(&str, &str)] = &[
    ("vabs", "vabsdiff#.s32.s32.s32 d, a, z, z;"),
    ("vabsss", "vabsdiff#.s32.s32.s32.sat d, a, z, z;"),
    ("vneg", "vsub#.s32.s32.s32 d, z, a, z;"),
    ("vnegss", "vsub#.s32.s32.s32.sat d, z, a, z;"),
    ("vabsdiffs", "vabsdiff#.s32.s32.s32 d, a, b, z;"),
    ("vabsdiffu", "vabsdiff#.u32.u32.u32 d, a, b, z;"),
    ("vadd", "vadd#.u32.u32.u32 d, a, b, z;"),
    ("vaddss", "vadd#.s32.s32.s32.sat d, a, b, z;"),
    ("vaddus", "vadd#.u32.u32.u32.sat d, a, b, z;"),
    ("vsub", "vsub#.u32.u32.u32 d, a, b, z;"),
    ("vsubss", "vsub#.s32.s32.s32.sat d, a, b, z;"),
    ("vsubus", "vsub#.u32.u32.u32.sat d, a, b, z;"),
    ("vavgs", "vavrg#.s32.s32.s32 d, a, b, z;"),
    ("vavgu", "vavrg#.u32.u32.u32 d, a, b, z;"),
    ("vmaxs", "vmax#.s32.s32.s32 d, a, b, z;"),
    ("vmaxu", "vmax#.u32.u32.u32 d, a, b, z;"),
    ("vmins", "vmin#.s32.s32.s32 d, a, b, z;"),
    ("vminu", "vmin#.u32.u32.u32 d, a, b, z;"),
    ("vsads", "vabsdiff#.u32.s32.s32.add d, a, b, z;"),
    ("vsadu", "vabsdiff#.u32.u32.u32.add d, a, b, z;"),
    ("vseteq", "vset#.u32.u32.eq d, a, b, z;"),
    ("vsetne", "vset#.u32.u32.ne d, a, b, z;"),
    ("vsetges", "vset#.s32.s32.ge d, a, b, z;"),
    ("vsetgeu", "vset#.u32.u32.ge d, a, b, z;"),
    ("vsetgts", "vset#.s32.s32.gt d, a, b, z;"),
    ("vsetgtu", "vset#.u32.u32.gt d, a, b, z;"),
    ("vsetles", "vset#.s32.s32.le d, a, b, z;"),
    ("vsetleu", "vset#.u32.u32.le d, a, b, z;"),
    ("vsetlts", "vset#.s32.s32.lt d, a, b, z;"),
    ("vsetltu", "vset#.u32.u32.lt d, a, b, z;"),
];

/// Splits the name of an intrinsic, with or without underscores, into its stem and `2`
/// or `4`.
fn lanes(name: &str) -> Option<(&str, &str)> {
    let (stem, lanes) = split_number(name.strip_prefix("__").unwrap_or(name));
    matches!(lanes, "2" | "4").then_some((stem, lanes))
}

/// The instruction for a CUDA intrinsic.
fn intrinsic(name: &str) -> Option<String> {
    let (stem, lanes) = lanes(name)?;
    let find = |stem: &str| {
        let (_, text) = INTRINSICS.iter().find(|(intrinsic, _)| *intrinsic == stem)?;
        Some(text.replace('#', lanes))
    };
    // The intrinsic gives a mask of ones where `vset` gives 1.
    if let Some(comparison) = stem.strip_prefix("vcmp").filter(|rest| !rest.is_empty()) {
        let text = find(&format!("vset{comparison}"))?;
        let ones = if lanes == "2" { "0xffff" } else { "0xff" };
        return Some(format!(
            "`{text}` gives 1 in each lane that the CUDA intrinsic fills with ones; \
             `mul.lo.u32 d, d, {ones};` afterwards gives the same result"
        ));
    }
    let text = find(stem)?;
    let zero = if uses_zero(&text) { ", with `z` = 0" } else { "" };
    Some(format!("the instruction for this CUDA intrinsic is `{text}`{zero}"))
}

/// Whether the value of `z` counts. Otherwise any register may stand there.
fn uses_zero(text: &str) -> bool {
    !text.ends_with(" d, a, b, z;") || text.contains(".add")
}

/// Advice for a name that a reader would expect to exist.
fn expected(name: &str) -> Option<String> {
    let (stem, number) = split_number(name);
    let simd = matches!(number, "2" | "4");
    if !simd && !number.is_empty() {
        return None;
    }
    let tail = if simd { ", c;" } else { ";" };
    Some(match stem {
        "vsad" => format!(
            "for sums of absolute differences, write `vabsdiff{number}.u32.u32.u32.add d, a, b, c;`"
        ),
        "vcmp" => {
            format!("for comparisons, write `vset{number}.u32.u32.lt d, a, b{tail}` and the like")
        }
        "vavg" | "vavrg" if simd => {
            format!("for averages, write `vavrg{number}.u32.u32.u32 d, a, b, c;`")
        }
        "vavg" | "vavrg" => "averages are `vavrg2` and `vavrg4`; there is no scalar one".into(),
        "vneg" if simd => {
            format!("subtract from a register that is 0: `vsub{number}.s32.s32.s32 d, z, a, z;`")
        }
        "vneg" => "subtract from 0: `vsub.s32.s32.s32 d, 0, a;`".into(),
        "vabs" if simd => format!(
            "take the difference from a register that is 0: \
             `vabsdiff{number}.s32.s32.s32 d, a, z, z;`"
        ),
        "vabs" => "take the difference from 0: `vabsdiff.s32.s32.s32 d, a, 0;`".into(),
        "vmul" if simd => "no video instruction multiplies lanes".into(),
        "vmul" => "for a product, write `vmad.u32.u32.u32 d, a, b, 0;`".into(),
        "vmad" => "`vmad` is scalar: no video instruction multiplies lanes".into(),
        "vshl" | "vshr" => format!("`{stem}` is scalar: no video instruction shifts lanes"),
        "vclamp" => format!(
            "`.sat` clamps to the range of the result's type; other limits take \
             `vmax{number}` and `vmin{number}`"
        ),
        "vand" | "vor" | "vxor" | "vnot" => {
            format!("bitwise operations do not depend on lanes: write `{}.b32`", &stem[1..])
        }
        "vmov" => {
            "to copy, write `mov.b32`; to take a part of a register, `bfe` or `prmt.b32`".into()
        }
        "vsel" => "to compare, write `vset`; to choose, `selp` or `slct`".into(),
        "vsrl" | "vlsr" => "to fill with 0, write `vshr` with source type `.u32`".into(),
        "vsra" | "vasr" => "to fill with the sign, write `vshr` with source type `.s32`".into(),
        "vhaddu" if simd => {
            "no video instruction rounds unsigned averages down; `vavrg` rounds them up".into()
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_misses_find_their_instruction() {
        for (typed, meant) in [
            ("varvg2", Mnemonic::Vavrg2),
            ("varvg4", Mnemonic::Vavrg4),
            ("VADD", Mnemonic::Vadd),
            ("vmad2", Mnemonic::Vmad),
            ("vshl2", Mnemonic::Vshl),
            ("vabsdif4", Mnemonic::Vabsdiff4),
            ("vabdif4", Mnemonic::Vabsdiff4),
            // Two of five characters are wrong.
            ("vzzb4", Mnemonic::Vsub4),
        ] {
            assert_eq!(mnemonics(typed), [meant], "{typed}");
        }
        for other in ["vote", "volatile", "vector", "v", "variable_name", "vx"] {
            assert_eq!(mnemonics(other), [], "{other}");
        }
    }

    #[test]
    fn what_is_equally_near_comes_together() {
        use Mnemonic as M;
        assert_eq!(mnemonics("vsub8"), [M::Vsub, M::Vsub2, M::Vsub4]);
        assert_eq!(mnemonics("vmix4"), [M::Vmin4, M::Vmax4]);
        assert_eq!(mnemonics("vad"), [M::Vadd, M::Vmad]);
        assert_eq!(modifiers(M::Vadd, ".32"), [Modifier::U32, Modifier::S32]);
    }

    #[test]
    fn two_types_tell_a_video_instruction() {
        for meant in [
            "vclamp4.u32.u32",
            "vmul.s32.u32.s32.sat",
            "Vx.U8.u16",
            "vadd",
            "varvg4",
            "__vadd4",
            "__vcmpgtu2",
        ] {
            assert!(is_meant(meant), "{meant}");
        }
        for other in [
            "vote.ballot.b32",
            "vote.u32.u32",
            "vmul.u32",
            "vmul",
            "vcvt.f32.s32",
            "vlabel",
            "wadd.u32.u32",
            "__vprintf",
            "__v",
            "__vadd",
            "v.",
        ] {
            assert!(!is_meant(other), "{other}");
        }
    }

    /// Values that distinguish wrong instructions from right ones.
    fn words() -> Vec<u32> {
        let mut numbers = crate::testing::Numbers(5);
        let mut words = vec![0, u32::MAX, 0x8080_8080, 0x7f80_ff01, 0x8000_7fff, 0x8000_8000];
        let bytes = [0, 1, 0x7f, 0x80, 0xff, 0x55];
        words.extend((0..60).map(|_| u32::from_le_bytes([(); 4].map(|()| numbers.pick(&bytes)))));
        words
    }

    /// The result that CUDA documents for an intrinsic in a lane of `bits` bits. `a`
    /// and `b` are signed if the intrinsic is.
    fn of_lane(stem: &str, bits: u32, a: i64, b: i64) -> i64 {
        let (least, most) = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1);
        let greatest = (1 << bits) - 1;
        match stem {
            "vabs" => a.abs(),
            "vabsss" => a.abs().min(most),
            "vneg" => -a,
            "vnegss" => (-a).min(most),
            "vabsdiffs" | "vabsdiffu" | "vsads" | "vsadu" => (a - b).abs(),
            "vadd" => a + b,
            "vaddss" => (a + b).clamp(least, most),
            "vaddus" => (a + b).min(greatest),
            "vsub" => a - b,
            "vsubss" => (a - b).clamp(least, most),
            "vsubus" => (a - b).max(0),
            "vavgu" => (a + b + 1) >> 1,
            "vavgs" => (a + b + i64::from(a + b >= 0)) >> 1,
            "vmaxs" | "vmaxu" => a.max(b),
            "vmins" | "vminu" => a.min(b),
            "vseteq" => i64::from(a == b),
            "vsetne" => i64::from(a != b),
            "vsetges" | "vsetgeu" => i64::from(a >= b),
            "vsetgts" | "vsetgtu" => i64::from(a > b),
            "vsetles" | "vsetleu" => i64::from(a <= b),
            "vsetlts" | "vsetltu" => i64::from(a < b),
            _ => panic!("{stem}"),
        }
    }

    #[test]
    fn intrinsics_are_what_cuda_says() {
        use crate::video::{Instruction, Semantics};
        let words = words();
        for (stem, text) in INTRINSICS {
            for lanes in [2u32, 4] {
                let bits = 32 / lanes;
                let mask = (1i64 << bits) - 1;
                let signed = text.contains(".s32");
                let text = text.replace('#', &lanes.to_string());
                let instruction: Instruction = text.parse().unwrap_or_else(|_| panic!("{text}"));
                let sources = instruction.sources().map(|it| it.map(|it| it.name().to_string()));
                for semantics in Semantics::ALL {
                    let program = instruction.lower(semantics);
                    for (&a, &b) in words.iter().flat_map(|a| words.iter().map(move |b| (a, b))) {
                        let lane = |word: u32, at: u32| {
                            let value = i64::from(word >> (at * bits)) & mask;
                            let negative = signed && value >> (bits - 1) == 1;
                            if negative { value - mask - 1 } else { value }
                        };
                        let each =
                            (0..lanes).map(|at| of_lane(stem, bits, lane(a, at), lane(b, at)));
                        let expected = if stem.starts_with("vsad") {
                            each.sum::<i64>().cast_unsigned() as u32
                        } else {
                            let placed =
                                each.zip(0u32..).map(|(it, at)| (it & mask) << (at * bits));
                            placed.sum::<i64>().cast_unsigned() as u32
                        };
                        let value = |name: &Option<String>| match name.as_deref() {
                            Some("a") => a,
                            Some("b") => b,
                            _ => 0,
                        };
                        let [x, y, z] = sources.each_ref().map(value);
                        let result = program.eval(x, y, z);
                        assert_eq!(result, expected, "{text} {semantics} {a:#x} {b:#x}");
                    }
                }
            }
        }
    }

    #[test]
    fn advice_names_what_exists() {
        let stems =
            ["vsad", "vcmp", "vavg", "vavrg", "vneg", "vabs", "vmul", "vmad", "vshl", "vshr"];
        let more = ["vclamp", "vand", "vor", "vxor", "vnot", "vmov", "vsel", "vsrl", "vsra"];
        for stem in stems.iter().chain(&more) {
            for number in ["", "2", "4"] {
                let name = format!("{stem}{number}");
                if Mnemonic::from_text(&name).is_some() {
                    continue;
                }
                let advice = advice(&name).unwrap_or_else(|| panic!("{name}"));
                // All whole statements in advice are legal.
                for statement in advice.split('`').filter(|it| it.starts_with('v')) {
                    let is_name = Mnemonic::from_text(statement).is_some();
                    let legal = statement.parse::<crate::Instruction>().is_ok();
                    assert!(is_name || legal || statement == "vavrg", "{name}: {statement}");
                }
            }
        }
        for (name, part) in [
            ("__vsadu4", "`vabsdiff4.u32.u32.u32.add d, a, b, z;`, with `z` = 0"),
            ("vcmpgtu4", "`vset4.u32.u32.gt d, a, b, z;` gives 1 in"),
            ("__vmaxs2", "`vmax2.s32.s32.s32 d, a, b, z;`"),
            ("VSAD4", "`vabsdiff4.u32.u32.u32.add d, a, b, c;`"),
        ] {
            let advice = advice(name).unwrap_or_default();
            assert!(advice.contains(part), "{name}: {advice}");
        }
        // Without a sum, `z` may have any value.
        assert!(advice("__vmaxs2").is_some_and(|it| !it.contains("= 0")));
        assert!(advice("vhaddu2").is_some_and(|it| it.contains("`vavrg` rounds them up")));
        for none in ["vadd4x", "vsad8", "vhaddu", "__vfoo4", "vote", "add"] {
            assert_eq!(advice(none), None, "{none}");
        }
    }

    #[test]
    fn modifiers_come_from_the_instruction() {
        assert_eq!(modifiers(Mnemonic::Vmad, ".shr8"), [Modifier::Shr7]);
        assert_eq!(modifiers(Mnemonic::Vmad, ".shr16"), [Modifier::Shr15]);
        assert_eq!(modifiers(Mnemonic::Vadd, ".shr8"), []);
        assert_eq!(modifiers(Mnemonic::Vadd, ".SAT"), [Modifier::Sat]);
        assert_eq!(modifiers(Mnemonic::Vshl, ".clmap"), [Modifier::Clamp]);
    }
}
