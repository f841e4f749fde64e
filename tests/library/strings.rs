//! Whole PTX modules in strings of other languages.

use crate::support::rules_on_statements;
use vptx::Code;
use vptx::analysis::{check_counted, fix};
use vptx::check::{CheckOptions, Language};
use vptx::diagnostic::Applicability;

const WRONG: &str = "vadd.sat.s32.s32.s32 a, a, a;";
const RIGHT: &str = "vadd.s32.s32.s32.sat a, a, a;";

/// The lines of a module with a wrong statement.
const MODULE: [&str; 8] = [
    "// a module",
    ".version 8.0",
    ".target sm_80",
    ".visible .entry k()",
    "{",
    ".reg .b32 a;",
    WRONG,
    "ret; }",
];

fn options(language: Language) -> CheckOptions {
    CheckOptions::default().with_language(language).with_rules(rules_on_statements())
}

/// The lines of the module. Each is a literal that ends with a line break.
fn in_literals(separator: &str) -> String {
    MODULE.map(|line| format!("\"{line}\\n\"")).join(separator)
}

/// Sources of several languages that contain the module in a string literal.
fn sources() -> Vec<(Language, String)> {
    let (lines, escaped) = (MODULE.join("\n"), MODULE.join("\\n"));
    let c = Language::Cuda;
    vec![
        (c, format!("const char* text = R\"PTX(\n{lines}\n)PTX\";\nint main() {{}}\n")),
        (c, format!("auto text = u8R\"({lines})\";\n")),
        (c, format!("static const char text[] =\n{};\n", in_literals("\n    "))),
        (c, format!("load(\"{escaped}\");\n")),
        (c, format!("load(\"{}\");\n", MODULE.join("\\n\\\n"))),
        (c, format!("load({});\n", in_literals(" /* one more */ "))),
        (Language::Python, format!("ptx = \"\"\"\n{lines}\n\"\"\"\n")),
        (Language::Python, format!("load(r'''{lines}''')\n")),
        (Language::Python, format!("load(b\"\"\"{lines}\"\"\")\n")),
        (Language::Python, format!("ptx = (\n    {}\n)\n", in_literals("\n    "))),
        (Language::Python, format!("ptx = '{escaped}'.encode()\n")),
        (Language::Rust, format!("const PTX: &str = r#\"\n{lines}\n\"#;\n")),
        (Language::Rust, format!("const PTX: &str = \"{escaped}\";\n")),
        (Language::Rust, format!("const PTX: &str = \"{}\";\n", MODULE.join("\\n\\\n      "))),
        (Language::Julia, format!("ptx = \"\"\"\n{lines}\n\"\"\"\n")),
        (Language::Julia, format!("ptx = raw\"{lines}\"\n")),
    ]
}

#[test]
fn modules_in_strings_are_checked_and_fixed_where_they_stand() {
    for (language, source) in sources() {
        let (count, found) = check_counted(&source, &options(language));
        assert_eq!((count, found.len()), (1, 1), "{source}: {found:?}");
        let start = source.find(WRONG).expect("it is there");
        let statement = found[0].statement.expect("one of PTX");
        assert_eq!(statement.range(), start..start + WRONG.len(), "{source}");
        let place = found[0].span.range();
        assert!(place.start >= start && place.end <= start + WRONG.len(), "{source}: {place:?}");
        let fixed = fix(&source, &options(language), Applicability::Safe);
        assert_eq!(fixed.text, source.replace(WRONG, RIGHT));
        assert!(fixed.left.is_empty(), "{source}");
    }
}

/// A list of directives, as readers of PTX have it, is no module.
#[test]
fn a_module_has_a_version() {
    let lines = |version: &str| {
        let rest = &MODULE[2..].join("\n");
        format!("let text = r#\"{version} {rest}\"#;\n")
    };
    let count = |version| check_counted(&lines(version), &options(Language::Rust)).1.len();
    assert_eq!((count(".version 8.0"), count(".version")), (1, 0));
}

/// The findings are the same as on the module alone.
#[test]
fn the_whole_module_is_read() {
    let text =
        MODULE.join("\n").replace("sm_80", "sm_9999").replace(WRONG, "vadd.s32.s32.s32 a, b, a;");
    let source = format!("auto text = R\"({text})\";\n");
    let codes = |text: &str, language| -> Vec<_> {
        check_counted(text, &options(language)).1.iter().map(|it| it.code).collect()
    };
    let alone = codes(&text, Language::Ptx);
    // The unknown target, and the name that is not declared.
    assert_eq!(alone, [Code::UnknownTarget, Code::UndeclaredRegister]);
    assert_eq!(codes(&source, Language::Cuda), alone);
}

#[test]
fn comments_in_the_module_suppress_findings() {
    for (language, source) in sources() {
        let source = source.replace("// a module", "// vptx: ignore-file");
        let (count, found) = check_counted(&source, &options(language));
        assert_eq!((count, found.len()), (1, 0), "{source}: {found:?}");
    }
}

/// There is no fix that would have to replace an escape or parts of two literals.
#[test]
fn fixes_that_the_source_cannot_express_are_left_out() {
    for cut in ["vadd.sat.s32\"  \".s32.s32 a, a, a;", "vadd.sat.s\\x332.s32.s32 a, a, a;"] {
        let source = format!("load({});\n", in_literals("\n")).replace(WRONG, cut);
        let (count, found) = check_counted(&source, &options(Language::Cuda));
        assert_eq!((count, found.len()), (1, 1), "{source}: {found:?}");
        let fixed = fix(&source, &options(Language::Cuda), Applicability::Unsafe);
        let (_, left) = check_counted(&fixed.text, &options(Language::Cuda));
        assert!(fixed.text == source || left.is_empty(), "{}", fixed.text);
    }
}

/// None of these strings is a whole module, so findings on it would be false.
#[test]
fn texts_that_a_program_completes_are_not_judged() {
    let c = Language::Cuda;
    let filled = |place: &str| MODULE.join("\n").replace("sm_80", place);
    let half = MODULE[..6].join("\n");
    let lines = MODULE.join("\n");
    for (language, source) in [
        (c, format!("printf(R\"({})\", arch);", filled("sm_%d"))),
        (c, format!("printf(R\"({})\", arch);", filled("%s"))),
        (c, format!("fmt::format(R\"({})\", arch);", filled("{}"))),
        (c, format!("fmt::format(R\"({})\", name);", lines.replace("k()", "{name}()"))),
        (c, format!("auto ptx = R\"({})\";", filled("$arch"))),
        (c, format!("auto ptx = R\"({})\";", filled("@ARCH@"))),
        (Language::Python, format!("ptx = \"\"\"{}\"\"\"\n", filled("%(arch)s"))),
        (c, format!("auto ptx = R\"({half})\"; ptx += rest;")),
        (c, format!("auto ptx = std::string(R\"({lines})\") + more;")),
        (c, format!("out << R\"({lines})\" << more;")),
        (c, format!("auto ptx = {} MORE;", in_literals(" "))),
        (c, format!("auto ptx = R\"({lines})\" MORE;")),
        (c, format!("#if 0\nauto ptx = R\"({lines})\";\n#endif\n")),
        (c, format!("// R\"({})\"\n", MODULE.join(" "))),
        (Language::Python, format!("ptx = f\"\"\"{}\"\"\"\n", filled("{arch}"))),
        (Language::Python, format!("ptx = \"\"\"{}\"\"\" % arch\n", filled("%s"))),
        (Language::Python, format!("ptx = \"\"\"{}\"\"\"\nload(ptx % all)\n", filled("%(arch)s"))),
        (Language::Python, format!("ptx = \"\"\"{}\"\"\".format(arch)\n", filled("{0}"))),
        (Language::Python, format!("ptx = \"\"\"{lines}\"\"\" + more\n")),
        (Language::Python, format!("ptx = ({} + more)\n", in_literals("\n"))),
        (Language::Python, format!("\"\"\"{lines}\"\"\"\n")),
        (Language::Rust, format!("format!(r#\"{}\"#)", filled("{arch}"))),
        (Language::Rust, format!("concat!(r#\"{lines}\"#, MORE)")),
        (Language::Rust, format!("concat! ( r#\"{lines}\"#, MORE)")),
        (Language::Rust, format!("let ptx = r#\"{}\"#.replace(a, b);", filled("{arch}"))),
        (Language::Julia, format!("ptx = \"\"\"{}\"\"\"\n", filled("$arch"))),
        // Templates with words in place of numbers, and heads of a module.
        (c, format!("auto ptx = R\"({})\";", filled("TARGET"))),
        (c, format!("auto ptx = R\"({})\";", lines.replace("8.0", "VERSION"))),
        (c, "auto head = R\"(.version 8.0\n.target sm_80\n.visible .entry)\";".into()),
        (c, "auto head = R\"(.version 8.0\n.target sm_80\n.entry k(\n.param .u64 p)\";".into()),
        // These strings are not PTX.
        (Language::Python, "x = y.startswith(\".version\")\n".into()),
        (c, "auto style = \".version { color: red } .target {\";".into()),
    ] {
        let (count, found) = check_counted(&source, &options(language));
        assert_eq!((count, found.len()), (0, 0), "{source}: {found:?}");
    }
}

/// Registers and labels may look like placeholders, and the body of a kernel may look like an empty
/// placeholder.
#[test]
fn names_that_the_module_declares_are_no_places() {
    let text = "\n.version 8.0\n.target sm_80\n.entry e() {}\n.entry k()\n{\n\
                .reg .b32 %d, %f<3>, $x; .reg .pred %p;\n$L_1:\n@%p bra $L_1;\n{ ret; }\n\
                vadd.sat.s32.s32.s32 %d, $x, %f1;\nmov.b32 {%f1}, %d;\n}\n";
    let source = format!("auto text = R\"({text})\";\n");
    let (count, found) = check_counted(&source, &options(Language::Cuda));
    assert_eq!((count, found.len()), (1, 1), "{found:?}");
}
