//! Names and forms of the instruction set, as the author of a tool uses them.

use crate::support::forms::{heads, rows};
use vptx::isa::{Destination, Mask, Mnemonic, Modifier, Part, Selector, WordType};
use vptx::video::OperandName;

/// An instruction that is made from a row of the table and modifiers equals the instruction that is
/// parsed from the text.
#[test]
fn forms_are_instantiated_as_text_is_read() {
    let mut made = 0;
    for (form, mnemonic) in rows() {
        for head in heads(form, mnemonic) {
            let merged = if form.destination == Destination::Part { ".b0" } else { "" };
            let third = if form.third { ", c" } else { "" };
            let text = format!("{head} d{merged}, a, b{third};");
            let modifiers = || head.split('.').skip(1).map(|it| format!(".{it}").parse());
            let mut modifiers: Vec<Modifier> = modifiers().collect::<Result<_, _>>().unwrap();
            let instruction = form.instantiate(mnemonic, &modifiers);
            assert_eq!(instruction, text.parse().ok(), "{text}");
            modifiers.push(Modifier::U32);
            assert_eq!(form.instantiate(mnemonic, &modifiers), None, "{text}");
            modifiers.truncate(1);
            assert_eq!(form.instantiate(mnemonic, &modifiers), None, "{text}");
            made += usize::from(instruction.is_some());
        }
        let other = Mnemonic::ALL.iter().find(|other| !form.mnemonics.contains(other)).unwrap();
        assert_eq!(form.instantiate(*other, &[]), None);
    }
    assert!(made > 500, "{made}");
}

#[test]
fn names_read_back() {
    for mnemonic in Mnemonic::ALL {
        assert_eq!(mnemonic.text().parse(), Ok(*mnemonic));
    }
    for modifier in Modifier::ALL {
        assert_eq!(modifier.text().parse(), Ok(*modifier));
    }
    for part in Part::ALL {
        assert_eq!(part.text().parse(), Ok(part));
    }
    for text in [".b3210", ".b7654", ".h10", ".h32"] {
        assert_eq!(text.parse::<Selector>().unwrap().to_string(), text);
    }
    for text in [".b3210", ".b2", ".h10", ".h1"] {
        assert_eq!(text.parse::<Mask>().unwrap().to_string(), text);
    }
    assert_eq!("Vadd".parse::<Mnemonic>().unwrap_err().to_string(), MNEMONIC);
    assert!("sat".parse::<Modifier>().is_err() && ".b4".parse::<Part>().is_err());
    assert!(".b0123".parse::<Mask>().is_err() && ".b321".parse::<Selector>().is_err());
}

const MNEMONIC: &str = "`Vadd` is not the mnemonic of a video instruction";

#[test]
fn operands_know_their_declared_types() {
    let source = ".version 8.0\n.target sm_90\n.func f(.reg .u32 d)\n{\n.reg .b32 a;\n\
                  .reg .f16x2 h;\nvadd.s32.s32.s32.add d, a.b0, 7, h;\nvset.u32.u32.lt d, h, a;\n}\n";
    let (module, diagnostics) = vptx::parse(source);
    assert_eq!(diagnostics, []);
    let types: Vec<_> = module
        .statements()
        .iter()
        .map(|it| {
            [OperandName::D, OperandName::A, OperandName::B, OperandName::C]
                .map(|name| it.declared.get(name).map(WordType::text))
        })
        .collect();
    let of = |text| Some(text);
    assert_eq!(types[0], [of(".u32"), of(".b32"), None, of(".f16x2")]);
    assert_eq!(types[1], [of(".u32"), of(".f16x2"), of(".b32"), None]);
    let (bare, _) = vptx::parse("vadd.u32.u32.u32 d, a, b;");
    assert_eq!(bare.statements()[0].declared.get(OperandName::D), None);
}
