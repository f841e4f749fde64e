//! `vptx tree`

use std::fs;

use serde_json::Value;

use super::fixtures::schema;
use crate::support::program::{Folder, vptx, vptx_in};
use crate::support::{fixture, ptx_files};

const MODULE: &str = "\
.version 8.0
.target sm_90
.entry k()
{
\t.reg .b32 %r<4>;
\t@%p add.s32 %r1, %r02, 7; // é
}
.func g;
";

#[test]
fn people_see_a_line_for_each_part() {
    let run = vptx(&["tree", "-", "--at", "6:20"], MODULE);
    insta::assert_snapshot!(run.transcript(), @r"
    status: 0
    -- stdout --
    instruction 59..84
      guard 59..62
        punctuation 59..60 @
        identifier 60..62 %p
      mnemonic 63..66 add
      modifier 66..70 .s32
      name 71..74
        identifier 71..74 %r1
      punctuation 74..75 ,
      name 76..80
        identifier 76..80 %r02
      punctuation 80..81 ,
      constant 82..83
        number 82..83 7
      punctuation 83..84 ;
    -- stderr --
    ");
}

/// Collects the texts of all leaves, and each name with the position of its declaration.
fn leaves(node: &Value, text: &mut String, declared: &mut Vec<(String, u64)>) {
    if let Some(leaf) = node["text"].as_str() {
        assert_eq!(node["start"].as_u64(), Some(text.len() as u64));
        text.push_str(leaf);
        assert_eq!(node["end"].as_u64(), Some(text.len() as u64));
        if let Some(start) = node["declaration"]["start"].as_u64() {
            declared.push((leaf.to_string(), start));
        }
    }
    for child in node["children"].as_array().into_iter().flatten() {
        leaves(child, text, declared);
    }
}

#[test]
fn json_has_every_byte_and_every_declaration() {
    let run = vptx(&["tree", "-", "--format", "json"], MODULE);
    assert_eq!((run.status, run.stderr.as_str()), (0, ""));
    let tree: Value = serde_json::from_str(&run.stdout).expect("JSON");
    let (mut text, mut declared) = (String::new(), Vec::new());
    leaves(&tree, &mut text, &mut declared);
    assert_eq!(text, MODULE);
    let register = MODULE.find("%r<").unwrap() as u64;
    let at = |name: &str| MODULE.find(name).unwrap() as u64;
    let expected = [
        ("k", at("k()")),
        ("%r", register),
        ("%r1", register),
        ("%r02", register),
        ("g", at("g;")),
    ];
    assert_eq!(declared, expected.map(|(name, start)| (name.to_string(), start)));
}

#[test]
fn json_follows_its_schema() {
    let validator = jsonschema::validator_for(&schema("tree.schema.json")).expect("a valid schema");
    let files = ["ptx/hand", "format", "diagnostics"].into_iter().flat_map(ptx_files);
    for file in files {
        let bytes = fs::read(&file).expect("a file");
        // A file that starts with binary bytes is read as PTX only with this option.
        let path = file.to_str().expect("UTF-8");
        let run = vptx(&["tree", path, "--language", "ptx", "--format", "json"], "");
        let tree: Value = serde_json::from_str(&run.stdout).expect(path);
        if let Err(error) = validator.validate(&tree) {
            panic!("{path}: {error}");
        }
        let has_errors = !tree["errors"].as_array().expect("a list").is_empty();
        assert_eq!(run.status, i32::from(has_errors), "{path}");
        let mut text = String::new();
        leaves(&tree, &mut text, &mut Vec::new());
        assert_eq!(text, vptx::source::decode(bytes), "{path}");
    }
}

#[test]
fn one_function_is_printed() {
    let run = vptx(&["tree", "-", "--function", "g"], MODULE);
    insta::assert_snapshot!(run.transcript(), @r"
    status: 0
    -- stdout --
    function 93..101
      keyword 93..98 .func
      identifier 99..100 g
      punctuation 100..101 ;
    -- stderr --
    ");
}

/// Graphviz 2.43 can draw the text.
#[test]
fn blocks_are_drawn_by_graphviz() {
    let module = ".func f;
.entry k(.param .u32 n)
{
    .reg .b32 %r<3>; .reg .pred %p;
    ld.param.u32 %r1, [n]; // a \"count\"
again:
    vsub.u32.u32.u32 %r1, %r1,
        1;
    .pragma \"nounroll\";
    setp.ne.u32 %p, %r1, 0;
    @%p bra again;
    brx.idx %r1, nowhere;
    trap;
}
.func g() { ret; }
";
    let run = vptx(&["tree", "--flow", "dot", "-"], module);
    insta::assert_snapshot!(run.transcript(), @r#"
    status: 0
    -- stdout --
    digraph {
      node [shape=box fontname=monospace];
      subgraph cluster_0 {
        label="k";
        f0_b0 [label="ld.param.u32 %r1, [n];\l"];
        f0_b1 [label="vsub.u32.u32.u32 %r1, %r1, 1;\lsetp.ne.u32 %p, %r1, 0;\l@%p bra again;\l"];
        f0_b2 [label="brx.idx %r1, nowhere;\l"];
        f0_b3 [label="trap;\l" style=dashed];
        f0_b4 [label="any label" style=dashed];
        f0_b0 -> f0_b1;
        f0_b1 -> f0_b2;
        f0_b1 -> f0_b1;
        f0_b2 -> f0_b4 [style=dashed];
        f0_b4 -> f0_b1 [style=dashed];
      }
      subgraph cluster_1 {
        label="g";
        f1_b0 [label="ret;\l"];
      }
    }
    -- stderr --
    "#);
    let one = vptx(&["tree", "--flow", "dot", "--function", "g", "-"], module);
    insta::assert_snapshot!(one.transcript(), @r#"
    status: 0
    -- stdout --
    digraph {
      node [shape=box fontname=monospace];
      subgraph cluster_0 {
        label="g";
        f0_b0 [label="ret;\l"];
      }
    }
    -- stderr --
    "#);
    let clash = vptx(&["tree", "--flow", "dot", "--format", "json", "-"], module);
    assert_eq!(clash.status, 2);
}

#[test]
fn the_last_line_may_lack_its_end() {
    let run = vptx(&["tree", "-", "--at", "2:7"], ".target sm_90\n.func g;");
    assert_eq!((run.status, run.stdout.lines().next()), (0, Some("function 14..22")));
}

#[test]
fn what_is_not_there_is_told() {
    let run = vptx(&["tree", "-", "--function", "kk"], MODULE);
    assert_eq!(run.status, 2);
    assert_eq!(run.stderr, "vptx: <stdin>: no function is named `kk`; did you mean `k`?\n");
    for place in ["99:1", "1:0", "x"] {
        let run = vptx(&["tree", "-", "--at", place], MODULE);
        assert_eq!((run.status, run.stdout.as_str()), (2, ""), "{place}");
    }
    let run = vptx(&["tree", "nowhere.ptx"], "");
    assert_eq!((run.status, run.stdout.as_str()), (2, ""));
    assert!(run.stderr.starts_with("vptx: cannot read `nowhere.ptx`"), "{}", run.stderr);
    // A source of another language is refused.
    let source = fixture("asm/syntax.cu");
    let run = vptx(&["tree", source.to_str().unwrap()], "");
    assert_eq!((run.status, run.stdout.as_str()), (2, ""));
}

#[test]
fn directives_of_a_function_are_parts_of_it() {
    let run = vptx(&["tree", "-"], ".entry k() .maxntid 4 { ret; }");
    let directive = "\n    function-directive 11..21\n      keyword 11..19 .maxntid\n      \
                     number 20..21 4\n    block ";
    assert!(run.stdout.contains(directive), "{}", run.stdout);
}

#[test]
fn errors_of_syntax_follow_the_tree() {
    let run = vptx(&["tree", "-"], "add.s32 a b;");
    insta::assert_snapshot!(run.transcript(), @r"
    status: 1
    -- stdout --
    module 0..12
      instruction 0..12
        mnemonic 0..3 add
        modifier 3..7 .s32
        malformed 8..11
          identifier 8..9 a
          identifier 10..11 b
        punctuation 11..12 ;
    error 10..11 expected `,`
    -- stderr --
    ");
}

#[test]
fn nothing_of_a_text_controls_the_terminal() {
    let folder = Folder::new("tree-controls");
    folder.write("x.ptx", "// \u{1b}[31m\u{202e}\n\u{1b} ret;\n");
    let run = vptx_in(&folder.0, &["tree", "x.ptx"], b"");
    assert!(!run.stdout.contains(['\u{1b}', '\u{202e}']), "{}", run.stdout);
    assert_eq!(run.status, 1);
}
