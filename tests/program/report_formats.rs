//! The formats for other programs: SARIF, GitHub annotations, `JUnit`.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::fixtures::{BAD, GOOD, ODD};
use crate::support::program::{Folder, ROOT, Run, vptx, vptx_in};
use crate::support::{fixture, ptx_files};
use serde_json::Value;
use vptx::analysis::check;
use vptx::check::CheckOptions;
use vptx::diagnostic::{Applicability, Fix};

/// A module with a note that is reported only with `--costs`.
const COSTLY: &str = ".version 8.0\n.target sm_90\n.func f(.reg .b32 d, .reg .b32 e) {\n\
    vavrg4.u32.u32.u32 d, e, d, d;\n}\n";

/// A run that reports every kind of finding.
const ALL: [&str; 3] = ["check", "--costs", "fixtures/diagnostics"];

fn parse(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// Runs the program with a `--format`.
fn formatted(arguments: &[&str], format: &str, stdin: &str) -> Run {
    let run = vptx(&[arguments, &["--format", format]].concat(), stdin);
    assert_eq!(run.stderr, "", "{arguments:?}");
    run
}

/// The JSON Lines of a run.
fn records(arguments: &[&str], stdin: &str) -> Vec<Value> {
    formatted(arguments, "json", stdin).stdout.lines().map(parse).collect()
}

/// The one run of a SARIF document.
fn sarif(arguments: &[&str], stdin: &str) -> Value {
    let document = parse(&formatted(arguments, "sarif", stdin).stdout);
    assert_eq!(document["version"], "2.1.0");
    let [run] = document["runs"].as_array().expect("runs").as_slice() else {
        panic!("one run: {document}");
    };
    run.clone()
}

fn results(run: &Value) -> &[Value] {
    run["results"].as_array().expect("results")
}

fn rules(run: &Value) -> &[Value] {
    run["tool"]["driver"]["rules"].as_array().expect("rules")
}

/// A list that may be absent; then empty.
fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value.get(key).map_or(&[], |list| list.as_array().expect("a list"))
}

/// The text that a consumer shows for a message without arguments.
fn shown(message: &Value) -> String {
    let text = message["text"].as_str().expect("text");
    text.replace("{{", "{").replace("}}", "}").replace("\\](", "](")
}

/// The offset of a line and column, both counted from 1, columns in characters.
fn offset(text: &str, line: &Value, column: &Value) -> usize {
    let [line, column] = [line, column].map(|value| value.as_u64().expect("a number") as usize);
    let before: usize = text.split_inclusive('\n').take(line - 1).map(str::len).sum();
    let characters = text[before..].chars().take(column - 1);
    before + characters.map(char::len_utf8).sum::<usize>()
}

/// The range of bytes of a region. The region gives it by lines and columns and by bytes, which
/// must agree.
fn range(text: &str, region: &Value) -> std::ops::Range<usize> {
    let start = offset(text, &region["startLine"], &region["startColumn"]);
    let end = offset(text, &region["endLine"], &region["endColumn"]);
    assert_eq!(region["byteOffset"], start, "{region}");
    assert_eq!(region["byteLength"], end - start, "{region}");
    start..end
}

/// The text after a fix, which is applied by lines and columns as an editor does.
fn fixed(text: &str, fix: &Value) -> String {
    let mut text = text.to_string();
    let changes = fix["artifactChanges"].as_array().expect("changes");
    assert_eq!(changes.len(), 1);
    // Replacements are applied from the end of the text, so that earlier positions stay valid.
    for replacement in changes[0]["replacements"].as_array().expect("replacements").iter().rev() {
        let range = range(&text, &replacement["deletedRegion"]);
        let inserted = replacement["insertedContent"]["text"].as_str().expect("text");
        text.replace_range(range, inserted);
    }
    text
}

#[test]
fn sarif_says_what_json_says() {
    let run = sarif(&ALL, "");
    assert_eq!(run["columnKind"], "unicodeCodePoints");
    let records = records(&ALL, "");
    assert_eq!(results(&run).len(), records.len());
    for (result, record) in results(&run).iter().zip(&records) {
        let rule = &rules(&run)[result["ruleIndex"].as_u64().expect("an index") as usize];
        assert_eq!(rule["id"], result["ruleId"]);
        assert_eq!(result["ruleId"], record["code"]);
        assert_eq!(result["level"], record["severity"]);
        let mut message = record["message"].as_str().expect("a message").to_string();
        if let Some(help) = record["help"].as_str() {
            message = format!("{message}\n\n{help}");
        }
        assert_eq!(shown(&result["message"]), message);

        let location = &result["locations"][0];
        let place = &location["physicalLocation"];
        assert_eq!(place["artifactLocation"]["uri"], record["path"]);
        let region = &place["region"];
        assert_eq!(region["startLine"], record["start"]["line"]);
        assert_eq!(region["startColumn"], record["start"]["column"]);
        assert_eq!(region["endLine"], record["end"]["line"]);
        assert_eq!(region["endColumn"], record["end"]["column"]);
        assert_eq!(region["byteOffset"], record["span"]["start"]);
        let text = fs::read_to_string(Path::new(ROOT).join(record["path"].as_str().expect("path")));
        // One fixture is not text.
        if let Ok(text) = &text {
            range(text, region);
        }

        // In JSON, the label of the finding itself, if any, is the first label.
        let own = location.get("message").is_some();
        let labels = record["labels"].as_array().expect("labels");
        let related = list(result, "relatedLocations");
        assert_eq!(usize::from(own) + related.len(), labels.len());
        let messages = own.then_some(location).into_iter().chain(related);
        for (location, label) in messages.zip(labels) {
            assert_eq!(shown(&location["message"]), label["text"].as_str().expect("text"));
            let region = &location["physicalLocation"]["region"];
            assert_eq!(region["byteOffset"], label["start"]);
            if let Ok(text) = &text {
                range(text, region);
            }
        }
        let ids: BTreeSet<_> = related.iter().map(|location| location["id"].as_u64()).collect();
        assert_eq!(ids.len(), related.len());
    }
}

#[test]
fn sarif_fixes_do_what_fixes_do() {
    let (mut safe, mut unsure) = (0, 0);
    for path in ptx_files("diagnostics") {
        let Ok(text) = fs::read_to_string(&path) else {
            continue;
        };
        let run = sarif(&["check", path.to_str().expect("UTF-8")], "");
        let diagnostics = check(&text, &CheckOptions::default());
        assert_eq!(results(&run).len(), diagnostics.len());
        for (result, diagnostic) in results(&run).iter().zip(&diagnostics) {
            let fixes: Vec<&Fix> = diagnostic
                .fixes
                .iter()
                .filter(|fix| fix.applicability != Applicability::DisplayOnly)
                .collect();
            assert_eq!(list(result, "fixes").len(), fixes.len());
            for (told, fix) in list(result, "fixes").iter().zip(fixes) {
                assert_eq!(shown(&told["description"]), fix.title);
                assert_eq!(fixed(&text, told), fix.apply(&text));
                match told["properties"]["applicability"].as_str() {
                    Some("safe") => safe += 1,
                    Some("unsafe") => unsure += 1,
                    other => panic!("{other:?}"),
                }
            }
        }
    }
    assert!(safe > 0 && unsure > 0, "{safe} {unsure}");
}

#[test]
fn sarif_rules_are_those_that_occur_and_explained() {
    let run = sarif(&ALL, "");
    let told: Vec<&str> = rules(&run).iter().map(|rule| rule["id"].as_str().expect("id")).collect();
    let mut occur: Vec<&str> = Vec::new();
    for result in results(&run) {
        let id = result["ruleId"].as_str().expect("id");
        if !occur.contains(&id) {
            occur.push(id);
        }
    }
    assert_eq!(told, occur);
    assert!(told.len() > 50);
    for rule in rules(&run) {
        let code = vptx::Code::find(rule["id"].as_str().expect("id")).expect("a code");
        assert_eq!(rule["name"], code.name());
        assert_eq!(rule["shortDescription"]["text"], code.title());
        assert_eq!(rule["defaultConfiguration"]["level"], code.severity().to_string());
        assert_eq!(rule["help"]["markdown"], code.explanation().trim_end());
        assert_eq!(rule["help"]["text"], rule["help"]["markdown"]);
        let summary = rule["fullDescription"]["text"].as_str().expect("a summary");
        assert!(!summary.is_empty() && !summary.contains(['#', '\n']), "{summary}");
        // GitHub limits the length of this field.
        assert!(summary.len() < 1024);
    }
    let one = sarif(&["check", "-"], BAD);
    assert_eq!(rules(&one).len(), 1);
}

#[test]
fn sarif_without_findings_is_a_whole_document() {
    let run = sarif(&["check", "-"], GOOD);
    assert_eq!((results(&run).len(), rules(&run).len()), (0, 0));
    assert_eq!(run["tool"]["driver"]["name"], "vptx");
    assert_eq!(run["tool"]["driver"]["version"], env!("CARGO_PKG_VERSION"));
    // An address, or none.
    let address = run["tool"]["driver"].get("informationUri");
    assert!(address.is_none_or(|it| it.as_str().unwrap().starts_with("https://")), "{run}");
    // No file could be read; the message about it is not part of the results.
    let run = vptx(&["check", "--format", "sarif", "no-such-file.ptx"], "");
    assert_eq!(run.status, 2);
    assert_eq!(parse(&run.stdout)["runs"][0]["results"], Value::Array(Vec::new()));
}

#[test]
fn sarif_uris_are_those_of_the_files() {
    let folder = Folder::new("sarif-uris");
    let names = ["a/plain.ptx", "b c%d,e:f#g?.ptx", "é→.ptx"];
    for name in names {
        folder.write(name, BAD);
    }
    let uris = |folder: &Folder, arguments: &[&str], stdin: &str| -> Vec<String> {
        let arguments = [arguments, &["--format", "sarif"]].concat();
        let run = vptx_in(&folder.0, &[&["check"], &*arguments].concat(), stdin.as_bytes());
        results(&parse(&run.stdout)["runs"][0])
            .iter()
            .map(|result| {
                let place = &result["locations"][0]["physicalLocation"];
                place["artifactLocation"]["uri"].as_str().expect("a URI").to_string()
            })
            .collect()
    };
    assert_eq!(
        uris(&folder, &[], ""),
        ["a/plain.ptx", "b%20c%25d%2Ce%3Af%23g%3F.ptx", "%C3%A9%E2%86%92.ptx"]
    );
    assert_eq!(uris(&folder, &["-"], BAD), ["stdin"]);
    let absolute = folder.0.join("a/plain.ptx");
    let absolute = absolute.to_str().expect("UTF-8");
    assert_eq!(uris(&folder, &[absolute], ""), [format!("file://{absolute}")]);
}

#[test]
fn sarif_fingerprints_stay_when_lines_move() {
    let fingerprints = |text: &str| -> Vec<String> {
        results(&sarif(&["check", "-"], text))
            .iter()
            .map(|result| {
                result["partialFingerprints"]["vptx/v1"].as_str().expect("one").to_string()
            })
            .collect()
    };
    let text = format!("{BAD}{ODD}{BAD}");
    let before = fingerprints(&text);
    // Equal lines have different fingerprints, since the fingerprints also count equal lines.
    assert!(before.len() >= 3);
    assert_eq!(before.iter().collect::<BTreeSet<_>>().len(), before.len());
    assert_eq!(fingerprints(&format!("// new\n\n{GOOD}{text}")), before);
    assert_eq!(fingerprints(&text.replace("vadd", "\t  vadd")), before);
    assert_ne!(fingerprints(&text.replace(" a,", " e,")), before);
    // One line has two findings of one rule.
    let twice = fingerprints("vadd.u32.u32.u32 d, [a], [b];");
    assert_eq!(twice.len(), 2);
    assert_ne!(twice[0], twice[1]);
}

#[test]
fn sarif_messages_hold_no_placeholders() {
    let run = sarif(&["check", "-"], "vadd.u32.u32.u32 d, {a, b}, b;\n{");
    let texts = run["results"].to_string();
    assert!(texts.contains("pack with `mov.b32 r, {{lo, hi}}`"), "{texts}");
    assert!(texts.contains("this `{{` is never closed"), "{texts}");
}

/// The path where `cargo xtask sarif-schema` puts the schema.
fn schema() -> PathBuf {
    let folder = std::env::var_os("VPTX_CUDA_DIR");
    let folder = folder.map_or_else(|| Path::new(ROOT).join(".cuda"), PathBuf::from);
    folder.join("sarif-schema-2.1.0.json")
}

#[test]
#[ignore = "needs the schema: cargo xtask sarif-schema"]
fn sarif_follows_its_schema() {
    let schema = fs::read_to_string(schema()).expect("cargo xtask sarif-schema was run");
    // This pattern for languages is not a valid regular expression. Later versions of the schema by
    // OASIS have the pattern that replaces it here.
    let broken = "^[a-zA-Z]{2}|^[a-zA-Z]{2}-[a-zA-Z]{2}]?$";
    let schema = schema.replace(broken, "^[a-zA-Z]{2}(-[a-zA-Z]{2})?$");
    let validator = jsonschema::options()
        .should_validate_formats(true)
        .build(&parse(&schema))
        .expect("a valid schema");
    let validate = |arguments: &[&str], stdin: &str, folder: &Path| {
        let arguments = [arguments, &["--format", "sarif"]].concat();
        let document = parse(&vptx_in(folder, &arguments, stdin.as_bytes()).stdout);
        if let Some(error) = validator.iter_errors(&document).next() {
            panic!("{arguments:?}: {}: {error}", error.instance_path());
        }
        results(&document["runs"][0]).len()
    };
    let root = Path::new(ROOT);
    // The schema rejects a wrong report.
    assert!(!validator.is_valid(&parse(r#"{"version":"2.1.0","runs":[{"results":[]}]}"#)));

    assert!(validate(&ALL, "", root) > 100);
    for entry in fs::read_dir(fixture("diagnostics")).expect("the folder is there") {
        let path = entry.expect("it can be read").path();
        let path = path.to_str().expect("UTF-8");
        validate(&["check", "--costs", path], "", root);
        // Not all files are text.
        if let Ok(text) = fs::read_to_string(path) {
            validate(&["check", "--costs", "-"], &text, root);
        }
    }
    assert_eq!(validate(&["check", "-"], GOOD, root), 0);
    assert_eq!(validate(&["check", "no-such-file.ptx"], "", root), 0);

    let folder = Folder::new("sarif-schema");
    folder.write("b c%d,e:f#g?é.ptx", BAD);
    folder.write("good.ptx", GOOD);
    assert_eq!(validate(&["check"], "", &folder.0), 1);
    let absolute = folder.0.to_str().expect("UTF-8");
    assert_eq!(validate(&["check", absolute], "", &folder.0), 1);
}

#[test]
fn github_annotations() {
    let folder = Folder::new("github");
    folder.write("bad.ptx", BAD);
    folder.write("costly.ptx", COSTLY);
    folder.write("good.ptx", GOOD);
    folder.write("odd.ptx", ODD);
    folder.write("over lines.ptx", "vadd.u32.u32.u32 d, {a,\nb}, b;\n");
    let run = vptx_in(&folder.0, &["check", "--costs", "--format", "github"], b"");
    insta::assert_snapshot!(run.transcript(), @"
    status: 1
    -- stdout --
    ::error file=bad.ptx,line=1,endLine=1,col=5,endColumn=13,title=V104 missing-type::`vadd` needs 3 types, found 2%0Athe syntax is `vadd.dtype.atype.btype{.sat}  d, a{.asel}, b{.bsel};`
    ::notice file=costly.ptx,line=4,endLine=4,col=1,endColumn=31,title=V601 emulated-instruction::`vavrg4` is emulated: ptxas 13.5 emits 31 machine instructions on sm_90, and ordinary PTX needs 3%0Aan equivalent:%0A{%0A    .reg .b32 %25vptx_r<3>;%0A    lop3.b32 %25vptx_r0, e, d, 0x1010101, 0x14;%0A    lop3.b32 %25vptx_r1, e, d, 0x1010101, 0xe8;%0A    shr.u32 %25vptx_r2, %25vptx_r0, 1;%0A    add.s32 d, %25vptx_r1, %25vptx_r2;%0A}
    ::warning file=odd.ptx,line=1,endLine=1,col=5,endColumn=21,title=V401 modifier-order::the modifiers are not in the documented order%0Awrite `.s32.s32.s32.sat`
    ::error file=over lines.ptx,line=1,endLine=2,title=V214 operand-kind::video instructions take no vectors%0Atheir lanes are parts of one 32-bit register; pack with `mov.b32 r, {lo, hi}`
    -- stderr --
    ");
    // Without findings, no line is printed.
    assert_eq!(vptx(&["check", "--format", "github", "-"], GOOD).stdout, "");
}

/// A property or the data of a workflow command, as GitHub's runner reads it.
fn unescaped(text: &str) -> String {
    let text = text.replace("%3A", ":").replace("%2C", ",");
    text.replace("%0D", "\r").replace("%0A", "\n").replace("%25", "%")
}

#[test]
fn github_annotations_say_what_json_says() {
    let text = formatted(&ALL, "github", "").stdout;
    let records = records(&ALL, "");
    assert_eq!(text.lines().count(), records.len());
    for (line, record) in text.lines().zip(&records) {
        let line = line.strip_prefix("::").expect("a command");
        let (command, message) = line.split_once("::").expect("a message");
        let (level, properties) = command.split_once(' ').expect("properties");
        let severity = if level == "notice" { "note" } else { level };
        assert_eq!(record["severity"], severity);
        let mut expected = record["message"].as_str().expect("a message").to_string();
        if let Some(help) = record["help"].as_str() {
            expected = format!("{expected}\n{help}");
        }
        assert_eq!(unescaped(message), expected);
        let property = |name: &str| {
            properties
                .split(',')
                .find_map(|property| property.strip_prefix(name)?.strip_prefix('='))
                .map(unescaped)
        };
        let (start, end) = (&record["start"], &record["end"]);
        assert_eq!(property("file").as_deref(), record["path"].as_str());
        assert_eq!(property("line"), Some(start["line"].to_string()));
        assert_eq!(property("endLine"), Some(end["line"].to_string()));
        let within_a_line = start["line"] == end["line"];
        assert_eq!(property("col"), within_a_line.then(|| start["column"].to_string()));
        assert_eq!(property("endColumn"), within_a_line.then(|| end["column"].to_string()));
        let title = property("title").expect("a title");
        assert!(title.starts_with(record["code"].as_str().expect("a code")), "{title}");
    }
}

#[test]
fn github_escapes_are_those_of_its_runner() {
    let folder = Folder::new("github-escapes");
    let name = "a,b:c%d %0A::e\r\nf.ptx";
    folder.write(name, "vadd.u32.u32.u32 d, %r, 5%;");
    let run = vptx_in(&folder.0, &["check", "--format", "github", name], b"");
    assert!(!run.stdout.is_empty());
    for line in run.stdout.lines() {
        let rest = line.strip_prefix("::error file=").expect(line);
        let (file, _) = rest.split_once(',').expect("another property");
        assert_eq!(file, "a%2Cb%3Ac%25d %250A%3A%3Ae%0D%0Af.ptx");
        assert_eq!(unescaped(file), name);
        let (_, message) = rest.split_once("::").expect("a message");
        assert!(message.replace("%25", "").replace("%0A", "").find('%').is_none(), "{message}");
    }
}

#[test]
fn junit_report() {
    let folder = Folder::new("junit");
    folder.write("a & b.ptx", "vadd.u32.u32 d, a, b;\nvadd.u32.u32.u32 d, \"<&\", b;\n");
    folder.write("costly.ptx", COSTLY);
    folder.write("good.ptx", GOOD);
    folder.write("odd.ptx", ODD);
    let run = vptx_in(&folder.0, &["check", "--costs", "--format", "junit"], b"");
    insta::assert_snapshot!(run.transcript(), @r#"
    status: 1
    -- stdout --
    <?xml version="1.0" encoding="UTF-8"?>
    <testsuites name="vptx">
    <testsuite name="a &amp; b.ptx" tests="2" failures="2" errors="0" skipped="0">
      <testcase name="V104 missing-type 1:5" classname="a &amp; b.ptx">
        <failure type="error" message="`vadd` needs 3 types, found 2">a &amp; b.ptx:1:5: error[V104]: `vadd` needs 3 types, found 2
    the syntax is `vadd.dtype.atype.btype{.sat}  d, a{.asel}, b{.bsel};`</failure>
      </testcase>
      <testcase name="V214 operand-kind 2:21" classname="a &amp; b.ptx">
        <failure type="error" message="a string cannot be an operand here">a &amp; b.ptx:2:21: error[V214]: a string cannot be an operand here
    write a register</failure>
      </testcase>
    </testsuite>
    <testsuite name="costly.ptx" tests="1" failures="0" errors="0" skipped="0">
      <testcase name="V601 emulated-instruction 4:1" classname="costly.ptx">
        <system-out>costly.ptx:4:1: note[V601]: `vavrg4` is emulated: ptxas 13.5 emits 31 machine instructions on sm_90, and ordinary PTX needs 3
    an equivalent:
    {
        .reg .b32 %vptx_r&lt;3&gt;;
        lop3.b32 %vptx_r0, e, d, 0x1010101, 0x14;
        lop3.b32 %vptx_r1, e, d, 0x1010101, 0xe8;
        shr.u32 %vptx_r2, %vptx_r0, 1;
        add.s32 d, %vptx_r1, %vptx_r2;
    }</system-out>
      </testcase>
    </testsuite>
    <testsuite name="good.ptx" tests="1" failures="0" errors="0" skipped="0">
      <testcase name="no findings" classname="good.ptx"/>
    </testsuite>
    <testsuite name="odd.ptx" tests="1" failures="0" errors="0" skipped="0">
      <testcase name="V401 modifier-order 1:5" classname="odd.ptx">
        <system-out>odd.ptx:1:5: warning[V401]: the modifiers are not in the documented order
    write `.s32.s32.s32.sat`</system-out>
      </testcase>
    </testsuite>
    </testsuites>
    -- stderr --
    "#);
    let run = vptx(&["check", "--format", "junit", "no-such-file.ptx"], "");
    assert_eq!(run.status, 2);
    insta::assert_snapshot!(run.stdout, @r#"
    <?xml version="1.0" encoding="UTF-8"?>
    <testsuites name="vptx">
    </testsuites>
    "#);
}

/// The suites of a report, read by an independent XML parser.
fn suites<'a>(document: &'a roxmltree::Document) -> Vec<roxmltree::Node<'a, 'a>> {
    let root = document.root_element();
    assert!(root.has_tag_name("testsuites"));
    root.children().filter(roxmltree::Node::is_element).collect()
}

#[test]
fn junit_says_what_json_says() {
    let text = formatted(&ALL, "junit", "").stdout;
    let document = roxmltree::Document::parse(&text).expect("XML");
    let mut records = records(&ALL, "").into_iter();
    for suite in suites(&document) {
        assert!(suite.has_tag_name("testsuite"));
        let cases: Vec<_> = suite.children().filter(roxmltree::Node::is_element).collect();
        let mut failures = 0;
        for case in &cases {
            let record = records.next().expect("a record");
            assert_eq!(suite.attribute("name"), record["path"].as_str());
            assert_eq!(case.attribute("classname"), record["path"].as_str());
            let inner = case.first_element_child().expect("a result");
            let severity = record["severity"].as_str().expect("a severity");
            // Only errors fail the run.
            if severity == "error" {
                failures += 1;
                assert!(inner.has_tag_name("failure"));
                assert_eq!(inner.attribute("type"), Some(severity));
                assert_eq!(inner.attribute("message"), record["message"].as_str());
            } else {
                assert!(inner.has_tag_name("system-out"));
            }
            let (code, start) = (record["code"].as_str().expect("a code"), &record["start"]);
            let mut body = format!(
                "{}:{}:{}: {severity}[{code}]: {}",
                record["path"].as_str().expect("a path"),
                start["line"],
                start["column"],
                record["message"].as_str().expect("a message"),
            );
            if let Some(help) = record["help"].as_str() {
                body = format!("{body}\n{help}");
            }
            assert_eq!(inner.text(), Some(&*body));
        }
        assert_eq!(suite.attribute("tests"), Some(&*cases.len().to_string()));
        assert_eq!(suite.attribute("failures"), Some(&*failures.to_string()));
    }
    assert_eq!(records.next(), None);
}

#[test]
fn junit_is_xml_whatever_a_file_is_called() {
    let folder = Folder::new("junit-names");
    let names = ["\x01\x1b[2J.ptx", "a<b>&\"c'].ptx", "é→\u{fffe}.ptx"];
    for (name, text) in names.iter().zip([BAD, BAD, GOOD]) {
        folder.write(name, text);
    }
    let arguments = [&["check", "--format", "junit"], &names[..]].concat();
    let run = vptx_in(&folder.0, &arguments, b"");
    let document = roxmltree::Document::parse(&run.stdout).expect("XML");
    let told: Vec<_> = suites(&document).iter().map(|suite| suite.attribute("name")).collect();
    let escaped = ["\\u{1}\\u{1b}[2J.ptx", names[1], "é→\\u{fffe}.ptx"].map(Some);
    assert_eq!(told, escaped);
    let legal = |c: char| !(c.is_control() && c != '\n') && c != '\u{fffe}';
    assert!(run.stdout.chars().all(legal));
}

#[test]
fn hooks_start_commands_that_exist() {
    let hooks = fs::read_to_string(Path::new(ROOT).join(".pre-commit-hooks.yaml")).expect("hooks");
    let entries: Vec<&str> =
        hooks.lines().filter_map(|line| line.trim().strip_prefix("entry: vptx ")).collect();
    assert_eq!(entries, ["check", "fmt"]);
    // The book shows a configuration with the same hooks.
    let guide = fs::read_to_string(Path::new(ROOT).join("docs/start/ci.md")).expect("a page");
    for line in hooks.lines().filter(|line| line.contains("files: ") || line.contains("id: ")) {
        assert!(guide.lines().any(|it| it.trim() == line.trim()), "{line}");
    }
    for entry in entries {
        assert!(hooks.contains(&format!("- id: vptx-{entry}\n")));
        for text in [&hooks, &guide] {
            let (_, hook) = text.split_once(&format!("id: vptx-{entry}\n")).expect("a hook");
            let arguments = hook.split("- id:").next().expect("the hook");
            assert!(arguments.contains("args: [--]"), "{arguments}");
        }
        // The name of a file may start with a minus sign.
        let folder = Folder::new(&format!("hook-{entry}"));
        folder.write("-x.ptx", "vadd.u32.u32.u32 d, a, b;\n");
        let run = vptx_in(&folder.0, &[entry, "--", "-x.ptx"], b"");
        assert_eq!(run.status, 0, "{}", run.stderr);
        let run = vptx(&[entry, "--help"], "");
        assert_eq!(run.status, 0);
        // The hook calls the command with the names of the changed files.
        assert!(run.stdout.contains("FILES"), "{}", run.stdout);
    }
}
