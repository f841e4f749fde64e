//! Properties that hold for every form of the table: each text is read, printed, and read again as
//! the same value.

use std::collections::HashSet;

use crate::support::forms::{LANE_SAMPLES, rows, texts, without_defaults};
use vptx::diagnostic::{Code, Severity};
use vptx::isa::{Family, LaneWidth, Mnemonic, Part, PtxVersion, Role, Scale, Type, WordType};
use vptx::video::{
    MadMode, MultiplyAdd, MultiplyAddParts, Operand, OperandName, Operation, Register, Source, Tail,
};
use vptx::{CheckOptions, Diagnostic, Dialect, Instruction, parse_with};

/// Findings about the spelling of instructions. Other tests examine findings about results.
fn check(text: &str, options: &CheckOptions) -> Vec<Diagnostic> {
    let mut found = vptx::check(text, options);
    found.retain(|diagnostic| !diagnostic.code.text().starts_with("V5"));
    found
}

fn read(text: &str) -> Instruction {
    text.parse().unwrap_or_else(|error: vptx::ParseInstructionError| {
        panic!("{text}: {:?}", error.diagnostics())
    })
}

fn options(dialect: Dialect) -> CheckOptions {
    CheckOptions::default().with_dialect(dialect)
}

/// Whether a finding counts. `.b1024` is legal and canonical, but has a note, because newer
/// versions of ptxas misread it.
fn notable(diagnostic: &Diagnostic, source: &str) -> bool {
    !(diagnostic.code == Code::SelectorReadAsType && diagnostic.span.text(source) == ".b1024")
}

/// Checks the properties for all texts of some families. Returns the number of texts for each
/// mnemonic.
fn hold(families: &[Family]) -> Vec<(Mnemonic, usize)> {
    let mut counts: Vec<(Mnemonic, usize)> = Vec::new();
    for (form, mnemonic) in rows().filter(|(_, mnemonic)| families.contains(&mnemonic.family())) {
        let texts = texts(form, mnemonic);
        match counts.iter_mut().find(|(known, _)| *known == mnemonic) {
            Some((_, count)) => *count += texts.len(),
            None => counts.push((mnemonic, texts.len())),
        }

        let list = texts.join("\n");
        for dialect in [Dialect::Documented, Dialect::Ptxas] {
            let mut found = check(&list, &options(dialect));
            found.retain(|diagnostic| notable(diagnostic, &list));
            assert!(found.is_empty(), "{dialect:?}: {:?}", &found[..found.len().min(3)]);
        }
        let (module, _) = parse_with(&list, &options(Dialect::Documented)).expect("PTX");
        assert_eq!(module.instructions().count(), texts.len());

        for (text, (span, listed)) in texts.iter().zip(module.instructions()) {
            assert_eq!(span.text(&list), text);
            let instruction = read(text);
            assert_eq!(&instruction, listed, "{text}");
            assert_eq!(instruction.mnemonic(), mnemonic, "{text}");
            let row = instruction.form();
            assert_eq!((row.section, row.title), (form.section, form.title), "{text}");
            // The texts have the modifiers in the order of the table and no aliases, so printing
            // can only remove explicit defaults.
            let printed = instruction.to_string();
            let plain = without_defaults(text);
            assert_eq!(printed, plain);
            if printed != *text {
                let again = read(&printed);
                assert_eq!(again, instruction, "{text}");
                assert_eq!(again.to_string(), printed, "{text}");
            }
        }
    }
    counts
}

/// The number of texts: 8 type combinations, with and without `.sat`, 7 × 7 source selectors, and
/// 10 tails: none, three secondary operations, six destination selectors.
#[test]
fn scalar_arithmetic_and_shifts() {
    let arithmetic = hold(&[Family::Arithmetic]);
    assert_eq!(arithmetic.len(), 5);
    assert!(arithmetic.iter().all(|&(_, count)| count == 8 * 2 * 49 * 10), "{arithmetic:?}");
    assert_eq!(arithmetic.iter().map(|(_, count)| count).sum::<usize>(), 39_200);
    // In a shift, the amount has one type instead of two, but there are two modes.
    let shifts = hold(&[Family::Shift]);
    assert_eq!(shifts, [(Mnemonic::Vshl, 7840), (Mnemonic::Vshr, 7840)]);
}

/// The numbers of texts. `vmad`: `.sat`, three scales, and five ways to negate or add: none, `-a`,
/// `-b`, `-c`, `.po`. `vset`: 4 type combinations, 6 comparisons, 10 tails.
#[test]
fn scalar_multiply_add_and_set() {
    assert_eq!(hold(&[Family::MultiplyAdd]), [(Mnemonic::Vmad, 8 * 2 * 3 * 5 * 49)]);
    assert_eq!(hold(&[Family::Set]), [(Mnemonic::Vset, 4 * 6 * 10 * 49)]);
}

/// The number of texts: nothing, `.sat` or `.add`; nothing or one of 3 masks; nothing or one of 16
/// selectors on each source.
#[test]
fn two_way_arithmetic() {
    let counts = hold(&[Family::SimdArithmetic(LaneWidth::Halves)]);
    assert_eq!(counts.len(), 6);
    assert!(counts.iter().all(|&(_, count)| count == 8 * 3 * 4 * 17 * 17), "{counts:?}");
}

#[test]
fn two_way_set() {
    assert_eq!(
        hold(&[Family::SimdSet(LaneWidth::Halves)]),
        [(Mnemonic::Vset2, 4 * 6 * 2 * 4 * 17 * 17)]
    );
}

#[test]
fn four_way_forms() {
    let counts = hold(&[Family::SimdArithmetic(LaneWidth::Bytes)]);
    assert_eq!(counts.len(), 6);
    let each = 8 * 3 * 16 * LANE_SAMPLES;
    assert!(counts.iter().all(|&(_, count)| count == each), "{counts:?}");
    assert_eq!(
        hold(&[Family::SimdSet(LaneWidth::Bytes)]),
        [(Mnemonic::Vset4, 4 * 6 * 2 * 16 * LANE_SAMPLES)]
    );
}

/// The samples include every selector and every mask.
#[test]
fn four_way_samples_name_every_selector() {
    let mut seen = HashSet::new();
    for (form, mnemonic) in rows().filter(|(_, mnemonic)| mnemonic.text().ends_with('4')) {
        for text in texts(form, mnemonic) {
            let operands = text.split_once(' ').expect("operands").1;
            seen.extend(operands.split(", ").map(str::to_owned));
        }
    }
    for (operand, count) in [("d", 16), ("a", 4097), ("b", 4097), ("c;", 1)] {
        let texts = seen.iter().filter(|text| text.starts_with(operand)).count();
        // The samples of `b` are random, so a few may be missing.
        assert!(texts <= count && texts + 8 >= count, "{operand}: {texts}");
    }
    assert_eq!(seen.iter().filter(|text| text.starts_with('a')).count(), 4097);
}

/// Every value has one canonical text, and different texts have different values.
#[test]
fn equality_is_spelling_without_defaults() {
    for family in [Family::Set, Family::MultiplyAdd, Family::SimdSet(LaneWidth::Halves)] {
        let (mut texts_seen, mut values) = (HashSet::new(), HashSet::new());
        for (form, mnemonic) in rows().filter(|(_, mnemonic)| mnemonic.family() == family) {
            for text in texts(form, mnemonic) {
                values.insert(read(&text));
                texts_seen.insert(without_defaults(&text));
            }
        }
        assert_eq!(values.len(), texts_seen.len(), "{family:?}");
    }
}

#[test]
fn explicit_defaults_are_left_out() {
    for (written, plain) in [
        ("vadd2.u32.u32.u32 d.h10, a, b, c;", "vadd2.u32.u32.u32 d, a, b, c;"),
        ("vadd2.u32.u32.u32 d, a.h10, b, c;", "vadd2.u32.u32.u32 d, a, b, c;"),
        ("vadd2.u32.u32.u32 d, a, b.h32, c;", "vadd2.u32.u32.u32 d, a, b, c;"),
        ("vset2.s32.u32.le.add d.h10, a.h10, b.h32, c;", "vset2.s32.u32.le.add d, a, b, c;"),
        ("vadd4.u32.u32.u32 d.b3210, a, b, c;", "vadd4.u32.u32.u32 d, a, b, c;"),
        ("vmin4.u32.s32.u32.sat d, a.b3210, b.b7654, c;", "vmin4.u32.s32.u32.sat d, a, b, c;"),
        ("vset4.s32.s32.ne d.b3210, a.b3210, b.b7654, c;", "vset4.s32.s32.ne d, a, b, c;"),
        // The selector is the default of the other source, so it stays.
        ("vadd2.u32.u32.u32 d, a.h32, b.h10, c;", "vadd2.u32.u32.u32 d, a.h32, b.h10, c;"),
        ("vadd4.u32.u32.u32 d, a.b7654, b.b3210, c;", "vadd4.u32.u32.u32 d, a.b7654, b.b3210, c;"),
    ] {
        assert_eq!(read(written), read(plain));
        assert_eq!(read(written).to_string(), plain);
    }
    assert_ne!(read("vadd2.u32.u32.u32 d.h1, a, b, c;"), read("vadd2.u32.u32.u32 d, a, b, c;"));
    assert_ne!(read("vset4.u32.u32.eq d, a.b7654, b, c;"), read("vset4.u32.u32.eq d, a, b, c;"));
}

/// If both factors have a minus sign, the value is the same as without the signs. This holds in
/// every form of `vmad`, also with `-c`.
#[test]
fn cancelled_negations_vanish() {
    let mut count = 0;
    for (form, mnemonic) in rows().filter(|(_, mnemonic)| *mnemonic == Mnemonic::Vmad) {
        for text in texts(form, mnemonic) {
            if text.contains(", -a") || text.contains(", -b") || text.contains(".po") {
                continue;
            }
            let negated = text.replace(", a", ", -a").replace(", b", ", -b");
            assert_eq!(read(&negated), read(&text), "{negated}");
            for (dialect, codes) in
                [(Dialect::Documented, &[Code::CancelledNegation][..]), (Dialect::Ptxas, &[])]
            {
                let found = check(&negated, &options(dialect));
                let found: Vec<Code> = found.iter().map(|diagnostic| diagnostic.code).collect();
                assert_eq!(found, codes, "{negated}");
            }
            count += 1;
        }
    }
    assert_eq!(count, 8 * 2 * 3 * 2 * 49);
}

#[test]
fn layout_and_comments_do_not_matter() {
    let plain = "@!%p0 vmad.s32.u32.s32.sat.shr7 %r1, -a.b3, 5+3, $c;";
    let value = read(plain);
    for text in [
        "@!%p0 vmad.s32.u32.s32.sat.shr7 %r1,-a.b3,5+3,$c",
        "\t@ !\n%p0\r\nvmad .s32 .u32\n.s32\t.sat .shr7\n%r1 , - a .b3 , 5 + 3 , $c ;",
        "/* x */@/**/!/* ; */%p0 // guard\nvmad.s32/* a */.u32.s32.sat.shr7%r1,-a.b3,5/**/+3,$c;",
        "@!%p0 vmad.s32.u32.s32.sat.shr7 %r1, -a.b3,\u{c}5\n+\n3, $c\n;\n// end",
    ] {
        let found = read(text);
        assert_eq!(found.to_string(), read(&found.to_string()).to_string(), "{text}");
        assert_eq!(found.guard, value.guard, "{text}");
        assert_eq!(found.to_string().replace(' ', ""), plain.replace(' ', ""), "{text}");
        // In a module, a statement needs its `;`.
        let ptxas = check(text, &options(Dialect::Ptxas));
        assert_eq!(ptxas.is_empty(), !text.ends_with('c'), "{text}");
    }
}

#[test]
fn guards_read_and_print() {
    for (guard, negated, name) in [
        ("@p", false, "p"),
        ("@!p", true, "p"),
        ("@%p1", false, "%p1"),
        ("@!%p1", true, "%p1"),
        ("@$L", false, "$L"),
        ("@!_q", true, "_q"),
    ] {
        let text = format!("{guard} vset.u32.s32.ge d, a, b;");
        let instruction = read(&text);
        let read_guard = instruction.guard.as_ref().expect("there is a guard");
        assert_eq!((read_guard.negated, read_guard.predicate.name()), (negated, name));
        assert_eq!(instruction.to_string(), text);
        assert_eq!(Instruction::new(instruction.operation.clone()), read(&text[guard.len()..]));
    }
    assert_eq!(read("vset.u32.s32.ge d, a, b").guard, None);
}

/// Constant expressions and their low 32 bits. The values follow from the manual's rules. Where the
/// rules are not precise (`%`, shift counts, literals beyond 64 bits, the type of `?:`), the values
/// were measured on ptxas 11.8, 12.9 and 13.5.
const CONSTANTS: &[(&str, u32)] = &[
    // Only the type of the left side decides whether `>>` copies the sign.
    ("-8 >> 40U", 0xffff_ffff),
    ("-8 >> 40", 0xffff_ffff),
    ("0xfffffffffffffff8 >> 40", 0x00ff_ffff),
    // Spellings of integers.
    ("0", 0),
    ("00", 0),
    ("5", 5),
    ("017", 15),
    ("0777U", 511),
    ("0x1F", 31),
    ("0X1f", 31),
    ("0x1FU", 31),
    ("0b101", 5),
    ("0B11", 3),
    ("0b1U", 1),
    ("4294967295", 0xffff_ffff),
    ("0xFFFFFFFFU", 0xffff_ffff),
    ("2147483648", 0x8000_0000),
    ("WARP_SZ", 32),
    // Unary operators and casts.
    ("-5", 0xffff_fffb),
    ("+5", 5),
    ("-2147483648", 0x8000_0000),
    ("--5", 5),
    ("- - 5", 5),
    ("-+-5", 5),
    ("~5", 0xffff_fffa),
    ("~0", 0xffff_ffff),
    ("!0", 1),
    ("!5", 0),
    ("!-5", 0),
    ("~!5", 0xffff_ffff),
    ("-WARP_SZ", 0xffff_ffe0),
    ("~WARP_SZ", 0xffff_ffdf),
    ("(.s64)-5", 0xffff_fffb),
    ("(.u64)5", 5),
    ("(.s64)5U", 5),
    ("( .s64 ) WARP_SZ", 32),
    ("-(.s64)-5", 5),
    // Precedence and association.
    ("1<<4", 16),
    ("2+3*4", 14),
    ("(2+3)*4", 20),
    ("7-2-1", 4),
    ("64/4/2", 8),
    ("1<<2+1", 8),
    ("1|2^3&4", 3),
    ("1||0&&0", 1),
    ("1<2==1", 1),
    ("1==1==1", 1),
    ("3>2>1", 0),
    ("3-+2", 1),
    ("3*-2", 0xffff_fffa),
    ("1+1?2:3", 2),
    ("1?2:3", 2),
    ("0?2:3", 3),
    ("1?2:3+4", 2),
    ("(1?2:3)+4", 6),
    ("1?2:0?3:4", 2),
    ("0?2:0?3:4", 4),
    ("((((7))))", 7),
    // Each binary operator.
    ("5&3", 1),
    ("5|3", 7),
    ("5^3", 6),
    ("1<=1", 1),
    ("2>=3", 0),
    ("1!=2", 1),
    ("2==3", 0),
    ("0||0", 0),
    ("2||0", 1),
    ("2&&4", 1),
    ("0&&1", 0),
    ("-7/2", 0xffff_fffd),
    ("-7/-2", 3),
    ("7/-2", 0xffff_fffd),
    ("5 % 3", 2),
    ("-5 % 3", 2),
    ("7 % -3", 7),
    // Operations on signed and unsigned values.
    ("-1<0", 1),
    ("-1<0U", 0),
    ("-1>0U", 1),
    ("-1==-1U", 1),
    ("6/-2", 0xffff_fffd),
    ("6U/-2", 0),
    ("-1>>60", 0xffff_ffff),
    ("-1U>>60", 15),
    ("1-2U>>60", 15),
    ("(.u64)-1>>60", 15),
    ("-(.u64)1>>60", 15),
    ("(.s64)0xffffffffffffffff>>60", 0xffff_ffff),
    ("0xffffffffffffffff>>60", 15),
    ("0x8000000000000000>>63", 1),
    ("9223372036854775808>>63", 1),
    ("-9223372036854775808>>63", 1),
    ("0x7fffffffffffffff>>62", 1),
    ("(1<<63)>>63", 0xffff_ffff),
    ("0x7fffffffffffffff+1>>63", 0xffff_ffff),
    ("(4>>1U)/-1", 0xffff_fffe),
    ("(2U<<1)/-1", 0),
    ("(!0U-2)>>60", 0xffff_ffff),
    ("((1U<2U)-2)>>60", 0xffff_ffff),
    ("((1U==1U)-2)>>60", 0xffff_ffff),
    ("((1U&&1U)-2)>>60", 0xffff_ffff),
    ("(5 % 3-3)>>60", 15),
    ("(-1&-1)>>60", 0xffff_ffff),
    ("(6|0)/-2", 0xffff_fffd),
    ("(1?-1:2U)>>60", 0xffff_ffff),
    ("(1?2U:3)/-1", 0),
    ("(0?2U:3)/-1", 0xffff_fffd),
    // A complement is unsigned, whatever the type of its operand.
    ("~0>>60", 15),
    ("~0U>>60", 15),
    ("(.s64)(~0)>>60", 0xffff_ffff),
    ("(~-7)/-2", 0),
    ("~0<0", 0),
    // Shift counts are taken modulo 64.
    ("5<<64", 5),
    ("1<<65", 2),
    ("1>>-1", 0),
    ("-1>>-1", 0xffff_ffff),
    // The first literal has 64 bits, all of them set. The second overflows by less than one digit,
    // and ptxas accepts it.
    ("18446744073709551615", 0xffff_ffff),
    ("36893488147419103231", 0xffff_ffff),
];

/// Constants of more than 32 bits: legal, with a warning. Only the low bits count.
const WIDE: &[(&str, u32)] = &[
    ("4294967296", 0),
    ("-4294967297", 0xffff_ffff),
    ("0x123456789", 0x2345_6789),
    ("-2147483649", 0x7fff_ffff),
    ("1<<-1", 0),
];

fn immediates(instruction: &Instruction) -> Vec<(u32, String)> {
    let mut found = Vec::new();
    let mut source = |source: &Source| {
        if let Source::Immediate(immediate) = source {
            found.push((immediate.value(), immediate.text().to_owned()));
        }
    };
    let third = match &instruction.operation {
        Operation::Arithmetic(it) => {
            source(&it.operands.a);
            source(&it.operands.b);
            match &it.operands.tail {
                Tail::Word => None,
                Tail::Secondary { c, .. } | Tail::Merge { c, .. } => Some(c.clone()),
            }
        }
        Operation::MultiplyAdd(it) => {
            source(&it.parts().a);
            source(&it.parts().b);
            Some(it.parts().c)
        }
        other => panic!("{other:?}"),
    };
    if let Some(Operand::Immediate(immediate)) = third {
        found.push((immediate.value(), immediate.text().to_owned()));
    }
    found
}

#[test]
fn constants_have_their_values() {
    let mut wrong = Vec::new();
    for (list, codes) in [(CONSTANTS, &[][..]), (WIDE, &[Code::ConstantCut])] {
        for (text, value) in list {
            let text = format!("vadd.u32.u32.u32 d, {text}, b;");
            let found = check(&text, &options(Dialect::Documented));
            let found: Vec<Code> = found.iter().map(|diagnostic| diagnostic.code).collect();
            let got = text.parse::<Instruction>().map(|read| immediates(&read)[0].0);
            // Bits 32 to 63 are all set, but the constant is unsigned. A warning is neither
            // required nor forbidden.
            let doubtful = text.contains('~') || text.contains("3231") || text.contains("1615");
            if got.as_ref().ok() != Some(value) || found != codes && !doubtful {
                wrong.push(format!("{text} is {value:#x}: {got:x?} {found:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// No video instruction accepts a floating-point value. The comparison of decimal values gives an
/// integer, which is accepted. Hexadecimal values (`0f…`, `0d…`) must stand alone: ptxas reports a
/// syntax error at the operator.
#[test]
fn floating_point_is_no_constant_here() {
    let bare = |constant: &str| {
        !check(&format!("vadd.u32.u32.u32 d, a, {constant};"), &options(Dialect::Ptxas)).is_empty()
    };
    for constant in [
        "1.5",
        "1.0+2.0",
        "-1.5",
        "0f3F800000",
        "1f3F800000",
        "0d3FF0000000000000",
        "1<2.0",
        "(.s64)1.5",
        "!1.5",
        "1.5?1:2",
        "1?1.5:2.5",
        "0f3F800000<0f40000000",
        "(.u32)5",
        "3.0%2.0",
    ] {
        assert!(bare(constant), "{constant}");
    }
    for (constant, value) in [
        ("1.5<2.5", 1),
        ("0d3FF0000000000000==1.0", 1),
        ("0d3FF0000000000001==1.0", 0),
        ("1.0==1.0", 1),
        ("1.0>=1.0", 1),
        ("1.0<=1.0", 1),
        ("1.0>1.0", 0),
        ("1.0<1.0", 0),
        ("1.0!=1.0", 0),
        ("1.5>=2.5", 0),
        ("2.5<=1.5", 0),
        ("(1.5<2.5)+1", 2),
        ("-(1.5<2.5)", u32::MAX),
    ] {
        assert!(!bare(constant), "{constant}");
        let read = read(&format!("vadd.u32.u32.u32 d, a, {constant};"));
        assert_eq!(immediates(&read)[0].0, value, "{constant}");
    }
}

/// A printed constant has the same value wherever a constant may stand. Printing it a second time
/// changes nothing.
#[test]
fn constants_survive_printing() {
    let texts: Vec<&str> = CONSTANTS.iter().chain(WIDE).map(|(text, _)| *text).collect();
    for (at, one) in texts.iter().enumerate() {
        let other = texts[(at + 7) % texts.len()];
        for text in [
            format!("vadd.u32.u32.u32 d, {one}, {other};"),
            format!("vmin.s32.s32.s32.sat.max d, a.b0, {one}, {other};"),
            format!("@p vabsdiff.u32.u32.u32 d.h1, {other}, b, {one};"),
            format!("vmad.u32.u32.u32.po d, {one}, {one}, {other};"),
            format!("vmad.s32.s32.s32 d, {one}, -b, {other};"),
            // Spread out, with comments between the tokens.
            format!("vsub.u32.u32.u32 d, /* ; */ {}, b;", one.replace('?', " /*?*/ ?\n")),
            format!("vsub.u32.u32.u32 d, {}, b;", one.replace('+', "//\n+\n")),
        ] {
            let first = read(&text);
            let printed = first.to_string();
            let second = read(&printed);
            assert_eq!(second, first, "{text}\n{printed}");
            assert_eq!(second.to_string(), printed, "{text}");
            let values = |instruction: &Instruction| -> Vec<u32> {
                immediates(instruction).iter().map(|(value, _)| *value).collect()
            };
            assert_eq!(values(&second), values(&first));
            assert!(!printed.contains(['\n', '*']) || one.contains('*') || other.contains('*'));
        }
    }
}

/// Spaces are around binary operators, and none are behind a sign.
#[test]
fn constant_expressions_are_spaced() {
    for (written, printed) in [("7-2", "7 - 2"), ("3-+2", "3 - +2"), ("(1+2)*-3", "(1 + 2) * -3")] {
        let instruction = read(&format!("vadd.u32.u32.u32 d, a, {written};"));
        assert_eq!(instruction.to_string(), format!("vadd.u32.u32.u32 d, a, {printed};"));
    }
}

/// A constant that is made from a number is printed as that number.
#[test]
fn constants_from_numbers() {
    for value in [0, 1, 7, 8, 255, 0x8000_0000, u32::MAX] {
        let text = format!("vadd.u32.u32.u32 d, a, {};", vptx::video::Immediate::new(value));
        assert_eq!(immediates(&read(&text)), [(value, value.to_string())]);
    }
}

fn register(name: &str) -> Register {
    Register::new(name).expect("it is a name")
}

fn mad(mode: MadMode, a: Source, b: Source, c: Operand) -> Option<MultiplyAdd> {
    MultiplyAdd::new(MultiplyAddParts {
        dtype: Type::S32,
        atype: Type::U32,
        btype: Type::S32,
        mode,
        saturate: true,
        scale: Some(Scale::Shr15),
        d: register("d"),
        a,
        b,
        c,
    })
}

/// A minus sign before a constant is a part of the constant. A mode that negates a constant could
/// therefore not be read back from its text.
#[test]
fn multiply_add_negates_registers_only() {
    let constant = || vptx::video::Immediate::new(5);
    let word = |name: &str| Source::Register { register: register(name), part: Some(Part::B2) };
    let modes =
        [MadMode::Plain, MadMode::NegateA, MadMode::NegateB, MadMode::NegateC, MadMode::PlusOne];
    for mode in modes {
        for bits in 0..8 {
            let [in_a, in_b, in_c] = [1, 2, 4].map(|bit| bits & bit != 0);
            let a = if in_a { Source::Immediate(constant()) } else { word("a") };
            let b = if in_b { Source::Immediate(constant()) } else { word("b") };
            let c = if in_c {
                Operand::Immediate(constant())
            } else {
                Operand::Register(register("c"))
            };
            let made = mad(mode, a.clone(), b.clone(), c.clone());
            let refused = match mode {
                MadMode::NegateA => in_a,
                MadMode::NegateB => in_b,
                MadMode::NegateC => in_c,
                MadMode::Plain | MadMode::PlusOne => false,
            };
            assert_eq!(made.is_none(), refused, "{mode:?} {bits}");
            let Some(made) = made else { continue };
            let parts = made.parts();
            assert_eq!((&parts.a, &parts.b, &parts.c, parts.mode), (&a, &b, &c, mode));
            let instruction = Instruction::new(Operation::MultiplyAdd(made));
            assert_eq!(read(&instruction.to_string()), instruction);
            let plus_one = instruction.modifier(Role::PlusOne).is_some();
            assert_eq!(plus_one, mode == MadMode::PlusOne);
        }
    }
    let negative = read("vmad.s32.s32.s32 d, -5, b, c;");
    let Operation::MultiplyAdd(negative) = negative.operation else { panic!("it is a vmad") };
    assert_eq!(negative.parts().mode, MadMode::Plain);
}

#[test]
fn register_names() {
    for name in ["a", "%r1", "$x", "_x", "%%x", "a$b", "__", "%_", "_1", "%1", "warp_sz", "$1"] {
        match Register::new(name) {
            // `%` can start a name, but cannot be inside one.
            None => assert_eq!(name, "%%x"),
            Some(made) => {
                assert_eq!((made.name(), made.to_string().as_str()), (name, name));
                let text = format!("vadd.u32.u32.u32 {name}, {name}, {name};");
                assert_eq!(read(&text).to_string(), text);
            }
        }
    }
    // Short names and long names are stored differently.
    let names: Vec<String> = (1..50).map(|length| "r".repeat(length)).collect();
    for (at, name) in names.iter().enumerate() {
        let made = register(name);
        assert_eq!((made.name(), format!("{made:?}")), (&**name, format!("Register({name:?})")));
        let equal: Vec<usize> =
            (0..names.len()).filter(|&at| register(&names[at]) == made).collect();
        assert_eq!(equal, [at]);
        assert_eq!(std::collections::HashSet::from([made.clone(), made]).len(), 1);
    }
    for name in ["", "_", "%", "$", "1a", "a b", "a.b", "WARP_SZ", "é", "a\n", "-a", "a%"] {
        assert_eq!(Register::new(name), None, "{name:?}");
    }
}

/// The parser of instructions accepts exactly one instruction.
#[test]
fn instructions_stand_alone() {
    for text in [
        "",
        " ",
        ";",
        "// only a comment",
        "/* open",
        "ret;",
        "vadd.u32.u32.u32 d, a, b; vadd.u32.u32.u32 d, a, b;",
        "vadd.u32.u32.u32 d, a, b;;",
        "vadd.u32.u32.u32 d, a, b; ret;",
        "l: vadd.u32.u32.u32 d, a, b;",
        "{ vadd.u32.u32.u32 d, a, b; }",
        "vadd.u32.u32.u32 d, a, b; }",
        "vadd.u32.u32.u32 d, a, b; /* open",
        ".reg .b32 d; vadd.u32.u32.u32 d, a, b;",
        "vadd.u32.u32.u32 d, a, b\0;",
    ] {
        assert!(text.parse::<Instruction>().is_err(), "{text:?}");
    }
}

/// Whether all spans of a finding lie in the text and on borders of characters, and all its fixes
/// can be applied.
fn is_sound(text: &str, diagnostic: &Diagnostic) -> bool {
    let inside =
        |span: vptx::source::Span| span.start <= span.end && text.get(span.range()).is_some();
    let fits = |fix: &vptx::diagnostic::Fix| {
        let sorted = fix.edits.windows(2).all(|pair| pair[0].span.end <= pair[1].span.start);
        sorted && fix.edits.iter().all(|edit| inside(edit.span))
    };
    inside(diagnostic.span)
        && diagnostic.statement.is_none_or(inside)
        && diagnostic.labels.iter().all(|label| inside(label.span))
        && diagnostic.fixes.iter().all(fits)
}

/// Parses parts and variants of instructions alone and as a text. Every finding must lie in the
/// given text, and no finding may be about the missing `;`.
#[test]
fn findings_are_about_what_was_given() {
    let mut texts: Vec<String> =
        ["", "@p", "@!", "/*", "\"", "vadd", "vadd.", "vadd.u32.u32.u32 d, a, b,", "é", "-"]
            .map(String::from)
            .to_vec();
    let whole = [
        "@!p vmad.s32.u32.s32.po.sat.shr7 d, -a.b0, (1 + 2) * 3, c; // é",
        "vadd4.u32.u32.u32.sat d.b310, a.b7654, b /* é */ , c",
        "vset2.u32.s32.lt.add %r1.h0, %r2, [a+4], {b, c};",
        "vshl.u32.u32.u32.wrap d.h1, \"x\", 0x1F ? -1 : .5, c ;",
        "vsad4.u32.u32 x, y, z, %tid.x",
    ];
    for text in whole {
        texts.extend(text.char_indices().map(|(at, _)| text[..at].to_string()));
        texts.extend(text.char_indices().map(|(at, _)| text[at..].to_string()));
    }
    let pieces =
        ["", ",", ";", "(", "{", "/*", "\"", ".", "é", "@", "%", "-", " ", "\n", "0f", "99"];
    let mut seed = 7u64;
    let mut below = |limit: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as usize % limit
    };
    for _ in 0..4000 {
        let mut text = whole[below(whole.len())].to_string();
        for _ in 0..=below(3) {
            let places: Vec<usize> =
                text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
            let start = below(places.len());
            let end = (start + below(3)).min(places.len() - 1);
            text.replace_range(places[start]..places[end], pieces[below(pieces.len())]);
        }
        texts.push(text);
    }
    for text in &texts {
        let alone = text.parse::<Instruction>();
        let found = match &alone {
            Ok(_) => &[],
            Err(error) => error.diagnostics(),
        };
        for diagnostic in found {
            assert!(is_sound(text, diagnostic), "{text:?}: {diagnostic:?}");
            let said = format!("{} {}", diagnostic.message, diagnostic.label);
            let names = said.contains("found `;`") || said.contains("found ``");
            assert!(!names || text.contains(';'), "{text:?}: {said}");
        }
        for dialect in [Dialect::Documented, Dialect::Ptxas] {
            for diagnostic in vptx::check(text, &options(dialect)) {
                assert!(is_sound(text, &diagnostic), "{text:?}: {diagnostic:?}");
            }
        }
    }
}

/// An unfinished instruction is reported, and the text before its end is checked.
#[test]
fn instructions_that_break_off() {
    let codes = |text: &str| -> Vec<&str> {
        let error = text.parse::<Instruction>().expect_err(text);
        error.diagnostics().iter().map(|found| found.code.text()).collect()
    };
    assert_eq!(codes(""), ["V006"]);
    assert_eq!(codes("@p"), ["V006"]);
    assert_eq!(codes("vadd.u32.u32.u32 d, a, /*"), ["V001", "V006"]);
    assert_eq!(codes("vadd.u32.u32.u32 d, a, b /*"), ["V001"]);
    assert_eq!(codes("vadd.u32.u32.u32 d, a, \"b"), ["V002", "V006"]);
    assert_eq!(codes("vadd.u32.u32 d, a"), ["V104", "V201"]);
    assert!("vadd.u32.u32.u32 d, a, b // c".parse::<Instruction>().is_ok());
}

#[test]
fn public_types_cross_threads() {
    fn shared<T: Send + Sync + 'static>() {}
    shared::<Instruction>();
    shared::<vptx::ParseInstructionError>();
    shared::<vptx::Module<'static>>();
    shared::<vptx::VideoStatement>();
    shared::<vptx::Diagnostic>();
    shared::<vptx::Code>();
    shared::<vptx::CheckOptions>();
    shared::<vptx::Dialect>();
    shared::<vptx::diagnostic::Fix>();
    shared::<vptx::source::LineIndex>();
    shared::<vptx::isa::Form>();
    shared::<vptx::isa::Mnemonic>();
    shared::<vptx::isa::Lanes>();
    shared::<vptx::syntax::RawInstruction>();
    shared::<vptx::syntax::Token>();
    shared::<vptx::syntax::Context<'static>>();
}

#[test]
fn registers_with_the_names_of_special_ones_survive() {
    let source = "\
.version 8.0
.target sm_75
.entry k() {
    .reg .b32 %laneid, %r<4>;
    .reg .pred %pm0;
    @%pm0 vadd.u32.u32.u32 %laneid.b0, %laneid.h1, 5, %r1;
}";
    let (module, mut found) = vptx::parse(source);
    // Findings about results do not matter here.
    found.retain(|diagnostic| !diagnostic.code.text().starts_with("V5"));
    assert_eq!(found, []);
    let (_, instruction) = module.instructions().next().expect("an instruction");
    assert_eq!(&read(&instruction.to_string()), instruction);
    // `%laneid` that is not declared is the special register.
    let found = check("vadd.u32.u32.u32 d, a, %laneid;", &CheckOptions::default());
    assert_eq!(found[0].code, Code::SpecialRegister);
}

#[test]
fn any_name_of_a_register_reads_back() {
    let names = ["%clock", "%tid", "%r07", "a", "$x", "_y", "%p"];
    for d in names {
        for guard in names {
            let text = format!("@!{guard} vmin.s32.s32.s32 {d}.b1, {guard}.h0, {d}, {guard};");
            let instruction = read(&text);
            assert_eq!(instruction.to_string(), text);
            let registers: Vec<&str> = instruction.registers().map(AsRef::as_ref).collect();
            assert_eq!(registers, [d, guard, d, guard, guard]);
            let again = instruction
                .map_registers(|register| format!("{register}_").parse().expect("a register"));
            let expected: Vec<String> =
                [d, guard, d, guard, guard].iter().map(|name| format!("{name}_")).collect();
            assert_eq!(again.registers().map(ToString::to_string).collect::<Vec<_>>(), expected);
            assert_eq!(read(&again.to_string()), again);
        }
    }
    assert!("5".parse::<Register>().is_err() && "".parse::<Register>().is_err());
}

#[test]
fn registers_of_a_range_are_told_by_their_number() {
    let same = |one: &str, other: &str| register(one).names_same(&register(other));
    for (one, other) in [("%r7", "%r07"), ("%r0", "%r000"), ("%r10", "%r010"), ("a", "a")] {
        assert!(same(one, other) && same(other, one), "{one} {other}");
    }
    for (one, other) in [("%r7", "%r70"), ("%r1", "%r11"), ("%r", "%r0"), ("a7", "b7")] {
        assert!(!same(one, other) && !same(other, one), "{one} {other}");
    }
}

#[test]
fn parts_of_a_statement_have_their_places() {
    let source = ".version 8.0\n.target sm_90\n.func f(.reg .b32 %d, .reg .b32 %a)\n{\n\
                  .reg .pred %p;\n  @!%p vsub.s32.u32.s32.sat.add %d, -5, %a.h1, /* c */ %a;\n\
                  vset4.u32.s32.lt %d.b20, %a.b3210, %a, %a; vadd.u32 %d;\n}\n";
    let (module, _) = vptx::parse(source);
    let statements = module.into_statements();
    let [sub, set, wrong] = statements.as_slice() else { panic!("three statements") };
    let text = |span: vptx::source::Span| span.text(source);
    let spans = wrong.spans(source).expect("it parses");
    assert_eq!((text(spans.mnemonic), text(spans.operands[0].whole)), ("vadd", "%d"));
    assert_eq!(sub.function.map(text), Some("f"));
    let (bare, _) = vptx::parse("vadd.u32.u32.u32 d, a, b;");
    assert_eq!(bare.statements()[0].function, None);
    let spans = sub.spans(source).expect("it is legal");
    assert_eq!((spans.guard.map(text), text(spans.mnemonic)), (Some("%p"), "vsub"));
    let modifiers: Vec<_> = spans.modifiers.iter().map(|(role, at)| (*role, text(*at))).collect();
    let expected = [
        (Role::Dtype, ".s32"),
        (Role::Atype, ".u32"),
        (Role::Btype, ".s32"),
        (Role::Saturate, ".sat"),
        (Role::Secondary, ".add"),
    ];
    assert_eq!(modifiers, expected);
    let operands: Vec<_> =
        spans.operands.iter().map(|it| (text(it.value), it.selector.map(text))).collect();
    assert_eq!(operands, [("%d", None), ("-5", None), ("%a", Some(".h1")), ("%a", None)]);
    let spans = set.spans(source).expect("it is legal");
    assert_eq!(
        spans.modifiers.iter().map(|(role, _)| *role).collect::<Vec<_>>(),
        [Role::Atype, Role::Btype, Role::Compare,]
    );
    assert_eq!(text(spans.operands[0].whole), "%d.b20");
    assert_eq!(set.spans("another text"), None);
}

#[test]
fn parts_and_types_of_wrong_statements_are_known_as_far_as_they_parse() {
    let head = ".version 8.0\n.target sm_90\n.func f()\n{\n.reg .u32 u;\n.reg .b32 b;\n\
                .reg .pred p;\n";
    // The guard and the mnemonic, the modifiers with their roles, the operands, and their declared
    // types.
    let told = |statement: &str| {
        let source = format!("{head}{statement}\n}}\n");
        let (module, found) = vptx::parse(&source);
        assert!(found.iter().any(|it| it.severity == Severity::Error), "{statement}");
        let [only] = module.statements() else { panic!("one statement: {statement}") };
        assert_eq!(only.instruction, None, "{statement}");
        let text = |span: vptx::source::Span| span.text(&source).to_string();
        let names = [OperandName::D, OperandName::A, OperandName::B, OperandName::C];
        let types = names.map(|it| only.declared.get(it).map_or("-", WordType::text)).join(" ");
        let Some(spans) = only.spans(&source) else { return format!("nothing; {types}") };
        let guard = spans.guard.map_or(String::new(), |it| format!("@{} ", text(it)));
        let roles = spans.modifiers.iter().map(|&(role, at)| format!(" {role:?}={}", text(at)));
        let operands: Vec<String> = spans.operands.iter().map(|it| text(it.whole)).collect();
        let roles: String = roles.collect();
        let mnemonic = text(spans.mnemonic);
        format!("{guard}{mnemonic}{roles}; {}; {types}", operands.join(" "))
    };
    let types = "Dtype=.u32 Atype=.s32 Btype=.u32";
    for (statement, expected) in [
        // An operand or the `;` is missing.
        ("@p vadd.u32.s32.u32 u, b.b0;", format!("@p vadd {types}; u b.b0; .u32 .b32 - -")),
        ("vadd.u32.s32.u32 u, b, u", format!("vadd {types}; u b u; .u32 .b32 .u32 -")),
        ("vadd.u32.s32.u32;", format!("vadd {types}; ; - - - -")),
        // There are too many operands.
        (
            "vadd.u32.s32.u32 u, b, b, b, b;",
            format!("vadd {types}; u b b b b; .u32 .b32 .b32 .b32"),
        ),
        // A part of the text cannot be read.
        ("vadd.u32.s32.u32 u, b, ], b;", format!("vadd {types}; u b; .u32 .b32 - -")),
        ("vadd.u32.s32.u32 u, b, (1 +, b;", format!("vadd {types}; u b; .u32 .b32 - -")),
        ("vadd.u32.s32.u32 u b;", format!("vadd {types}; u; .u32 - - -")),
        ("@p! vadd.u32.s32.u32 u, b, b;", "nothing; - - - -".into()),
        // Operands that are not declared, or are not 32-bit words.
        ("vadd.u32.s32.u32 x, p, b;", format!("vadd {types}; x p b; - - .b32 -")),
        ("vadd.u32.s32.u32 u, [b], {b, b};", format!("vadd {types}; u [b] {{b, b}}; .u32 - - -")),
        // Modifiers of other instructions, wrong types, and too many types.
        (
            "vadd.u64.sta.s32.u32.u32.sat u, b, b;",
            "vadd Dtype=.u64 Atype=.s32 Btype=.u32 Saturate=.sat; u b b; .u32 .b32 .b32 -".into(),
        ),
        ("vset.u32.s32 u, b, b;", "vset Atype=.u32 Btype=.s32; u b b; .u32 .b32 .b32 -".into()),
        ("vadx.u32.s32.sat u, b, b;", "vadx Saturate=.sat; u b b; .u32 .b32 .b32 -".into()),
    ] {
        assert_eq!(told(statement), expected, "{statement}");
    }
}

#[test]
fn version_and_target_are_those_of_the_module() {
    let version = |major, minor| Some(PtxVersion::new(major, minor));
    let gates = |source: &str| {
        let (module, _) = vptx::parse(source);
        (module.version(), module.target().map(|target| target.to_string()))
    };
    let head = ".version 7.8\n.target sm_86, debug\n.address_size 64\n";
    let sm_86 = || Some("sm_86".to_string());
    assert_eq!(gates(head), (version(7, 8), sm_86()));
    let plain = format!("{head}.visible .entry k()\n{{\n.reg .b32 r;\nadd.u32 r, r, r;\n}}\n");
    assert_eq!(gates(&plain), (version(7, 8), sm_86()));
    // A mistake in an instruction does not hide the version and target.
    let wrong = plain.replace("add.u32", "vadd.u32");
    assert_eq!(gates(&wrong), (version(7, 8), sm_86()));
    // If a module has several targets, ptxas uses the last one.
    let twice = plain.replace(".address_size", ".target sm_50\n.address_size");
    assert_eq!(gates(&twice), (version(7, 8), Some("sm_50".into())));
    assert_eq!(gates("add.u32 r, r, r;"), (None, None));
}
