//! The parts of the library for authors of other tools: custom rules, and PTX in other languages.

use vptx::analysis::{parse_asm, unsuppressed};
use vptx::check::Language;
use vptx::diagnostic::{Applicability, CustomRule, Edit, Severity, apply};
use vptx::embed::{self, Host};
use vptx::source::Span;
use vptx::video::OperandName;
use vptx::{CheckOptions, Code, Diagnostic, Instruction, ParseError, check, parse_with};

static WRAPS: CustomRule =
    CustomRule::new("HOUSE1", "wrapping-sum", Severity::Warning, "A sum that wraps around");
static SLOW: CustomRule = CustomRule::new("house-slow", "slow", Severity::Note, "A slow one")
    .with_explanation("It is slow.\n");

fn house() -> CheckOptions {
    CheckOptions::default().with_custom_rules(vec![&WRAPS, &SLOW])
}

/// Parts of PTX print as they are spelled.
#[test]
fn types_print_as_they_are_spelled() {
    let text = ".version 8.0\n.target sm_90\n.func f(.reg .s32 a, .reg .u32 b, .reg .b32 c, \
                .reg .f16x2 d)\n{\nvmad.s32.s32.s32 c, a, b, d;\n}\n";
    let (module, _) = parse_with(text, &CheckOptions::default()).expect("PTX");
    let types = module.statements()[0].declared;
    let printed: Vec<String> = [OperandName::D, OperandName::A, OperandName::B, OperandName::C]
        .iter()
        .map(|it| types.get(*it).expect("it is declared").to_string())
        .collect();
    assert_eq!(printed, [".b32", ".s32", ".u32", ".f16x2"]);
}

#[test]
fn a_rule_of_ones_own_has_what_those_of_vptx_have() {
    let code = Code::Custom(&SLOW);
    assert_eq!((code.text(), code.name(), code.title()), ("house-slow", "slow", "A slow one"));
    assert_eq!((code.severity(), code.default(), code.fixes()), (Severity::Note, true, &[][..]));
    assert_eq!(code.page(), "# house-slow slow (note)\n\nA slow one.\n\nIt is slow.\n");
    assert_eq!((code.url(), Code::find("house-slow")), (None, None));
    assert!(!Code::ALL.contains(&code) && code != Code::Custom(&WRAPS));
    let edits = vec![Edit::insert(4, ".sat")];
    let found = Diagnostic::new(code, Span::new(0, 4), "this is slow")
        .label("slow")
        .help("do without")
        .related(Span::new(5, 6), "for this")
        .fix(Applicability::Unsafe, "saturate", edits.clone())
        .statement(Span::new(0, 9));
    assert_eq!((found.severity, found.label.as_str()), (Severity::Note, "slow"));
    assert_eq!(
        (found.help.as_deref(), found.labels[0].text.as_str()),
        (Some("do without"), "for this")
    );
    assert_eq!((&found.fixes[0].edits, found.statement), (&edits, Some(Span::new(0, 9))));
    assert_eq!(found.fixes[0].apply("vadd d, a"), "vadd.sat d, a");
}

#[test]
#[should_panic(expected = "belong to vptx")]
fn no_rule_takes_a_code_of_vptx() {
    let _ = CustomRule::new("v501", "mine", Severity::Note, "");
}

#[test]
#[should_panic(expected = "letters, digits")]
fn a_code_is_a_word_that_comments_can_have() {
    let _ = CustomRule::new("HOUSE 1", "mine", Severity::Note, "");
}

/// A statement has a comment and a finding of each custom rule. Returns the codes of the findings
/// that remain, and of vptx's findings on the comment.
fn left(comment: &str, options: &CheckOptions) -> String {
    let text = format!("vmin.u32.u32.u32 d, a, b; {comment}");
    let (module, found) = parse_with(&text, options).expect("PTX");
    let span = module.statements()[0].span;
    let own = [&WRAPS, &SLOW].map(|rule| Diagnostic::new(Code::Custom(rule), span, "so it is"));
    let own = unsuppressed(&text, options, own.to_vec());
    // `check` has the same findings as `parse_with`.
    assert_eq!(check(&text, options), found);
    let codes: Vec<&str> = own.iter().chain(&found).map(|it| it.code.text()).collect();
    codes.join(" ")
}

#[test]
fn comments_suppress_rules_of_ones_own() {
    for (comment, expected) in [
        ("", "HOUSE1 house-slow"),
        ("// vptx: ignore[HOUSE1] known", "house-slow"),
        ("// vptx: ignore[house1, HOUSE-SLOW]", ""),
        ("// vptx: ignore[wrapping-sum]", "house-slow"),
        ("// vptx: ignore[HOU]", "house-slow"),
        ("// vptx: ignore-file[slow]", "HOUSE1"),
        ("// vptx: ignore[ALL]", ""),
        // As usual, a code of vptx that suppresses nothing is reported.
        ("// vptx: ignore[HOUSE1, V501]", "house-slow V801"),
        // Unknown codes and malformed comments are reported.
        ("// vptx: ignore[HOUSE2]", "HOUSE1 house-slow V802"),
        ("// vptx: ignore HOUSE1", "house-slow V802"),
        ("// vptx: ignore because of house-slow", "HOUSE1 V802"),
    ] {
        assert_eq!(left(comment, &house()), expected, "{comment}");
    }
    // Without the custom rules, their codes are unknown.
    let plain = CheckOptions::default();
    assert_eq!(left("// vptx: ignore[HOUSE1]", &plain), "HOUSE1 house-slow V802");
}

#[test]
fn a_module_is_ptx() {
    let source = "asm(\"vadd.u32.u32.u32 %0, %1, %2;\" : \"=r\"(d) : \"r\"(a), \"r\"(b));";
    for language in [Language::Cuda, Language::Python, Language::Mojo, Language::Rust] {
        let options = CheckOptions::default().with_language(language);
        let Err(error) = parse_with(source, &options) else { panic!("{language:?}") };
        assert_eq!(error, ParseError::NotPtx(language));
        assert!(error.to_string().contains("vptx::embed"), "{error}");
    }
}

#[test]
fn statements_of_sources_are_read_changed_and_put_back() {
    // Each line of the template is a separate literal, and one line has an error.
    let source = "\
__device__ int f(int a, int b) {
    int d;
    asm(\"vmin2.s32.s32.s32 %0, %1, %[b], %1;\\n\\t\"
        \"vmax2.s32.s32 %0, %1, %[b], %1;\" : \"=r\"(d) : \"r\"(a), [b] \"r\"(b));
    return d;
}
";
    let options = CheckOptions::default().with_language(Language::Cuda);
    let statements = embed::statements_in(source, Host::C);
    let [asm] = statements.as_slice() else { panic!("{statements:?}") };
    let (module, found) = parse_asm(asm, source, &options);
    assert_eq!(module.source(), asm.text);
    assert_eq!(module.statements().len(), 2);
    // `check` has the same findings on the source.
    assert_eq!(found, check(source, &options));
    assert_eq!(found[0].code, Code::MissingType);
    let at = found[0].span;
    assert!(at.text(source) == ".s32.s32" && source[..at.range().start].ends_with("vmax2"));
    let (span, instruction) = module.instructions().next().expect("one is legal");
    assert_eq!(instruction.mnemonic().text(), "vmin2");
    let mut other: Instruction = instruction.clone();
    other = other.to_string().replace("vmin2", "vmax2").parse().expect("legal");
    let (place, text) =
        asm.source_edit(source, span, &other.to_string()).expect("it is in one literal");
    let changed = apply(source, &[Edit::replace(place, text)]).expect("one edit");
    // A placeholder of the PTX text becomes `%[b]` in the source again.
    let expected = source.replace("vmin2.s32.s32.s32", "vmax2.s32.s32.s32");
    assert_eq!(changed, expected);
}
