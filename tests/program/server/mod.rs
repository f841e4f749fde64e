//! `vptx server` as an editor talks to it.

mod bugs;
mod client;
mod names;

use std::fs;

use serde_json::{Value, json};

use self::client::{Client, applied, uri};
use crate::support::program::{Folder, vptx_in};

const MODULE: &str = "\
.version 8.5
.target sm_90
.visible .entry f()
{
    .reg .b32 %r<9>;
    vadd.sat.s32.s32.s32 %r1, %r2, %r3.b1; // é😀 
    vadd4.u32.u32.u32 %r1, %r2, %r3, %r4;
    vmin.u32.u32.u33 %r1, %r2, %r9;
  ret;
}
";

const SOURCE: &str = "\
__device__ int f(int x, int y) {
  int d;
  asm(\"vadd.sat.s32.s32.s32 %0, %1, %2;\" : \"=r\"(d) : \"r\"(x + g(1)), \"r\"(y));
  return d;
}
";

/// The server reports the findings that `vptx check` reports on the saved file, in the same order.
#[test]
fn findings_are_those_of_check() {
    let folder = Folder::new("server-findings");
    let settings = "[check]\nextend-select = [\"V6\"]\ntarget = \"sm_80\"\n";
    fs::write(folder.0.join("vptx.toml"), settings).unwrap();
    let texts =
        [("a.ptx", "plaintext", MODULE), ("b.cu", "cuda-cpp", SOURCE), ("c.txt", "ptx", "")];
    let mut client = Client::usual(&folder.0);
    for (name, language, text) in texts {
        fs::write(folder.0.join(name), text).unwrap();
        let uri = uri(&folder, name);
        let found = client.findings(&uri, language, text);
        if text.is_empty() {
            assert!(found.is_empty());
            continue;
        }
        let run = vptx_in(&folder.0, &["check", "--format", "json", name], b"");
        let expected: Vec<Value> =
            run.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert!(expected.len() > 1, "{}", run.stdout);
        assert_eq!(found.len(), expected.len());
        for (found, expected) in found.iter().zip(&expected) {
            assert_eq!(found["code"], expected["code"]);
            let message = found["message"].as_str().unwrap();
            assert!(message.starts_with(expected["message"].as_str().unwrap()), "{message}");
            let severity = match expected["severity"].as_str().unwrap() {
                "error" => 1,
                "warning" => 2,
                _ => 3,
            };
            assert_eq!(found["severity"], severity);
            for (place, name) in [("start", "start"), ("end", "end")] {
                let (shown, told) = (&found["range"][place], &expected[name]);
                assert_eq!(shown["line"].as_u64(), told["line"].as_u64().map(|line| line - 1));
            }
        }
    }
    assert_eq!(client.end(), 0);
}

/// The server expands macros of headers in the folders that the settings name, and reads headers
/// again when a text is saved.
#[test]
fn headers_are_read() {
    let folder = Folder::new("server-headers");
    folder.write("vptx.toml", "[check]\ninclude = [\"inc\"]\n");
    let header = "#define ADD \"vadd.u32.u32 %0, %1, %2;\"\n";
    folder.write("inc/ops.h", header);
    let source = SOURCE.replace("__device__", "#include <ops.h>\n__device__");
    let source = source.replace("\"vadd.sat.s32.s32.s32 %0, %1, %2;\"", "ADD");
    folder.write("a.cu", &source);
    let uri = uri(&folder, "a.cu");
    let mut client = Client::usual(&folder.0);
    let found = client.findings(&uri, "cuda-cpp", &source);
    let run = vptx_in(&folder.0, &["check", "--format", "concise", "a.cu"], b"");
    assert_eq!(run.stdout.matches("V104").count(), 1, "{}", run.stdout);
    assert_eq!(found.iter().map(|it| it["code"].clone()).collect::<Vec<_>>(), ["V104"]);
    folder.write("inc/ops.h", header.replace("u32.u32", "u32.u32.u32"));
    client.tell("textDocument/didSave", &json!({ "textDocument": { "uri": uri } }));
    assert_eq!(client.published(&uri), [] as [Value; 0]);
    assert_eq!(client.end(), 0);
}

/// Findings are updated when settings change on disk. A client that pulls findings gets the new
/// ones.
#[test]
fn settings_are_read_again() {
    let folder = Folder::new("server-settings");
    let uri = uri(&folder, "a.ptx");
    let mut client = Client::usual(&folder.0);
    let codes = |found: &[Value]| -> Vec<String> {
        found.iter().map(|it| it["code"].as_str().unwrap().to_string()).collect()
    };
    let before = codes(&client.findings(&uri, "ptx", MODULE));
    assert!(before.contains(&"V401".to_string()), "{before:?}");
    fs::write(folder.0.join("vptx.toml"), "[check]\nignore = [\"V401\"]\n").unwrap();
    client.tell("workspace/didChangeWatchedFiles", &json!({ "changes": [] }));
    let after = codes(&client.published(&uri));
    assert_eq!(after, before.into_iter().filter(|code| code != "V401").collect::<Vec<_>>());
    fs::write(folder.0.join("vptx.toml"), "[check]\nignore = 1\n").unwrap();
    client.tell("textDocument/didSave", &json!({ "textDocument": { "uri": uri } }));
    let message = client.wait("window/showMessage")["message"].as_str().unwrap().to_string();
    assert!(message.contains("invalid type: integer `1`"), "{message}");
    assert!(codes(&client.published(&uri)).contains(&"V401".to_string()));
    // The defaults may be other than what the settings ask for, so the text is not formatted.
    let options = json!({ "tabSize": 4, "insertSpaces": true });
    let format = json!({ "textDocument": { "uri": uri }, "options": options });
    let refused = client.response("textDocument/formatting", &format);
    assert!(refused["error"]["message"].as_str().unwrap().contains("integer `1`"), "{refused}");
    // The same mistake is told again.
    for text in ["[check]\n", "[check]\nignore = 1\n"] {
        fs::write(folder.0.join("vptx.toml"), text).unwrap();
        client.tell("textDocument/didSave", &json!({ "textDocument": { "uri": uri } }));
    }
    let message = client.wait("window/showMessage")["message"].as_str().unwrap().to_string();
    assert!(message.contains("integer `1`"), "{message}");
    assert_eq!(client.end(), 0);
    fs::remove_file(folder.0.join("vptx.toml")).unwrap();

    let pulls = json!({
        "textDocument": { "diagnostic": {} },
        "workspace": { "diagnostics": { "refreshSupport": true } },
    });
    let mut client = Client::new(&folder.0, &pulls, &json!({ "select": ["V401"] }));
    client.open(&uri, "ptx", MODULE);
    let report = client.ask("textDocument/diagnostic", &json!({ "textDocument": { "uri": uri } }));
    assert_eq!(report["kind"], "full");
    assert_eq!(codes(report["items"].as_array().unwrap()), ["V401"]);
    // It is told to ask again, each time.
    for _ in 0..2 {
        client.tell("workspace/didChangeWatchedFiles", &json!({ "changes": [] }));
        client.wait("workspace/diagnostic/refresh");
    }
    assert_eq!(client.end(), 0);
    // `null` stands for no value.
    let options = json!({ "select": ["V401"], "target": null, "ignore": null, "hints": null });
    let mut client = Client::new(&folder.0, &pulls, &options);
    client.open(&uri, "ptx", MODULE);
    client.tell("workspace/didChangeConfiguration", &json!({ "settings": { "vptx": null } }));
    let report = client.ask("textDocument/diagnostic", &json!({ "textDocument": { "uri": uri } }));
    assert_eq!(codes(report["items"].as_array().unwrap()), ["V401"]);
    assert_eq!(client.end(), 0);
    let mut client = Client::new(&folder.0, &pulls, &json!({ "target": 1 }));
    let message = client.wait("window/showMessage")["message"].as_str().unwrap().to_string();
    assert!(message.contains("expected a target such as \"sm_90\", or a list"), "{message}");
    assert_eq!(client.end(), 0);
    let mut client = Client::new(&folder.0, &pulls, &json!({ "selct": 1 }));
    let message = client.wait("window/showMessage")["message"].as_str().unwrap().to_string();
    assert!(message.contains("unknown field `selct`"), "{message}");
    assert_eq!(client.end(), 0);
    // As `check` does, it says what it takes for a target that is not known.
    let mut client = Client::new(&folder.0, &pulls, &json!({ "target": "sm_91" }));
    client.open(&uri, "ptx", MODULE);
    let shown = client.wait("window/showMessage");
    let message = "target `sm_91` is not known; the nearest known target is `sm_90`";
    assert_eq!(shown, json!({ "type": 2, "message": message }));
    assert_eq!(client.end(), 0);
}

/// Findings on whole modules are updated with the text. Like other findings, they have fixes and
/// can be suppressed.
#[test]
fn findings_on_names_are_shown() {
    let folder = Folder::new("server-findings-on-names");
    let plain = ".version 8.5\n.target sm_90\n.entry k()\n{\nunused:\nbra nowhere;\n}\n";
    let video = plain.replace("bra", ".reg .b32 r;\nvadd.u32.u32.u32 r, 1, 2;\nbra");
    let codes = |found: &[Value]| -> Vec<String> {
        let one = |it: &Value| format!("{} {}", it["code"], it["range"]["start"]["line"]);
        found.iter().map(|it| one(it).replace('"', "")).collect()
    };
    let uri = uri(&folder, "a.ptx");
    let mut client = Client::usual(&folder.0);
    assert!(client.findings(&uri, "ptx", plain).is_empty());
    let mut version = 1;
    let mut change = |client: &mut Client, text: &str| {
        version += 1;
        let document = json!({ "uri": uri, "version": version });
        let change = json!({ "textDocument": document, "contentChanges": [{ "text": text }] });
        client.tell("textDocument/didChange", &change);
        codes(&client.published(&uri))
    };
    assert_eq!(change(&mut client, &video), ["V905 6", "V902 7"]);
    let actions = client.actions(&uri, 6, 18, &json!(["quickfix"]));
    let made = |title: &str| {
        let action = actions.iter().find(|it| it["title"] == title);
        let action = action.unwrap_or_else(|| panic!("{title}: {actions:?}"));
        applied(&video, &action["edit"]["changes"][&uri])
    };
    let removed = made("Remove the instruction");
    assert_eq!(removed, video.replace("vadd.u32.u32.u32 r, 1, 2;\n", ""));
    let ignored = made("Ignore V905 (unread-result) here");
    assert_eq!(change(&mut client, &ignored), ["V902 7"]);
    assert_eq!(change(&mut client, &video.replace("nowhere", "unused")), ["V905 6"]);
    assert_eq!(client.end(), 0);

    // A rule that the client selects by name applies to every module.
    let options = json!({ "extendSelect": ["V902", "V907"] });
    let mut client = Client::new(&folder.0, &json!({}), &options);
    assert_eq!(codes(&client.findings(&uri, "ptx", plain)), ["V907 4", "V902 5"]);
    let actions = client.actions(&uri, 4, 5, &json!(["quickfix"]));
    let action = actions.iter().find(|it| it["isPreferred"] == true).expect("a fix");
    let text = applied(plain, &action["edit"]["changes"][&uri]);
    assert_eq!(text, plain.replace("unused:\n", ""));
    assert_eq!(client.end(), 0);
}

#[test]
fn fixes_are_made() {
    let folder = Folder::new("server-fixes");
    let uri = uri(&folder, "a.ptx");
    let mut client = Client::usual(&folder.0);
    client.findings(&uri, "ptx", MODULE);
    let actions = client.actions(&uri, 5, 10, &Value::Null);
    let of_kind = |actions: &[Value], kind: &str| -> Vec<Value> {
        actions.iter().filter(|action| action["kind"] == kind).cloned().collect()
    };
    let made = |action: &Value| applied(MODULE, &action["edit"]["changes"][&uri]);
    let fixes = of_kind(&actions, "quickfix");
    assert_eq!(fixes[0]["title"], "Put the modifiers in the documented order");
    assert_eq!(fixes[0]["isPreferred"], true);
    assert_eq!(fixes[0]["diagnostics"][0]["code"], "V401");
    let ordered = MODULE.replace("vadd.sat.s32.s32.s32", "vadd.s32.s32.s32.sat");
    assert_eq!(made(&fixes[0]), ordered);
    assert_eq!(made(&of_kind(&actions, "source.fixAll.vptx")[0]), ordered);
    let others = vptx_in(&folder.0, &["check", "--format", "json", "-"], ordered.as_bytes());
    for title in ["here", "in this file"] {
        let title = format!("Ignore V401 (modifier-order) {title}");
        let action = fixes.iter().find(|action| action["title"] == title).expect(&title);
        let text = made(action);
        fs::write(folder.0.join("b.ptx"), &text).unwrap();
        let run = vptx_in(&folder.0, &["check", "--format", "json", "b.ptx"], b"");
        assert!(!run.stdout.contains("V401") && !run.stdout.contains("V80"), "{text}");
        assert_eq!(run.stdout.lines().count(), others.stdout.lines().count());
    }
    // An editor that asks on its own, for all kinds, gets what is at the cursor.
    let place = json!({ "line": 5, "character": 10 });
    let mut params = json!({
        "textDocument": { "uri": uri },
        "range": { "start": place, "end": place },
        "context": { "diagnostics": [], "triggerKind": 2 },
    });
    let automatic = client.ask("textDocument/codeAction", &params);
    let automatic = automatic.as_array().unwrap();
    assert_eq!(of_kind(automatic, "quickfix"), fixes);
    assert_eq!(of_kind(automatic, "source.fixAll.vptx"), [] as [Value; 0]);
    params["context"]["only"] = json!(["source.fixAll"]);
    assert_eq!(client.ask("textDocument/codeAction", &params).as_array().unwrap().len(), 1);
    let rewriting = client.actions(&uri, 6, 8, &json!(["refactor"]));
    assert_eq!(rewriting.len(), 1);
    let title = rewriting[0]["title"].as_str().unwrap();
    assert!(
        title.starts_with("Rewrite as ordinary PTX (") && title.ends_with(" on sm_90)"),
        "{title}"
    );
    let text = made(&rewriting[0]);
    assert!(!text.contains("vadd4") && text.contains("vadd.sat"), "{text}");
    assert_eq!(client.actions(&uri, 5, 10, &json!(["source.organizeImports"])), [Value::Null; 0]);

    // Between two instructions, the second one is meant.
    let (first, second) = ("vadd.s32.s32.s32.sat a, a, b;", "vsub.s32.s32.s32.sat b, a, b;");
    let head = ".version 8.5\n.target sm_90\n.func f(.reg .b32 a, .reg .b32 b)\n{\n";
    let text = format!("{head}{first}{second}\nret;\n}}\n");
    let uri = self::uri(&folder, "b.ptx");
    client.open(&uri, "ptx", &text);
    let actions = client.actions(&uri, 4, first.len() as u32, &json!(["refactor"]));
    let text = applied(&text, &actions[0]["edit"]["changes"][&uri]);
    assert!(text.contains(first) && !text.contains(second), "{text}");
    assert_eq!(client.end(), 0);
}

/// A finding can be ignored alone, however comments are written for others.
#[test]
fn one_finding_is_ignored() {
    let folder = Folder::new("server-ignore");
    let uri = uri(&folder, "a.ptx");
    let mut client = Client::usual(&folder.0);
    let add = "    vadd.sat.s32.s32.s32 a, a, b;";
    let head = ".version 8.5\n.target sm_90\n.func f(.reg .b32 a, .reg .b32 b)\n{\n";
    let text = format!("{head}{add} // one\n{add}\n    {{ {add} }} /* three */ ret;\n}}\n");
    let found = client.findings(&uri, "ptx", &text);
    assert_eq!(found.len(), 3);
    for line in 4..7 {
        let actions = client.actions(&uri, line, 15, &json!(["quickfix"]));
        let title = "Ignore V401 (modifier-order) here";
        let action = actions.iter().find(|it| it["title"] == title).expect("it can be ignored");
        let ignored = applied(&text, &action["edit"]["changes"][&uri]);
        let run = vptx_in(&folder.0, &["check", "--format", "json", "-"], ignored.as_bytes());
        assert_eq!(run.stdout.matches("V401").count(), 2, "{ignored}");
        assert!(!run.stdout.contains("V80"), "{ignored}");
    }
    // In a large selection, each comment would need checks of the whole text.
    let uri = self::uri(&folder, "b.ptx");
    client.findings(&uri, "ptx", &format!("{head}{}ret;\n}}\n", format!("{add}\n").repeat(20)));
    let titles = |client: &mut Client, lines: u32| -> Vec<String> {
        let end = json!({ "line": 3 + lines, "character": 99 });
        let params = json!({
            "textDocument": { "uri": uri },
            "range": { "start": { "line": 4, "character": 0 }, "end": end },
            "context": { "diagnostics": [], "only": ["quickfix"] },
        });
        let actions = client.ask("textDocument/codeAction", &params);
        actions.as_array().unwrap().iter().map(|it| it["title"].to_string()).collect()
    };
    let (few, many) = (titles(&mut client, 3), titles(&mut client, 20));
    let count = |titles: &[String], end: &str| titles.iter().filter(|it| it.ends_with(end)).count();
    assert_eq!((count(&few, " here\""), count(&many, " here\"")), (3, 0));
    // All are of one code.
    assert_eq!((count(&few, " file\""), count(&many, " file\"")), (1, 1));
    assert_eq!(client.end(), 0);
}

/// A comment in the file would be one more that suppresses nothing.
#[test]
fn findings_on_comments_are_not_ignored_in_a_file() {
    let folder = Folder::new("server-ignored-comments");
    let mut client = Client::usual(&folder.0);
    let uri = uri(&folder, "a.ptx");
    client.open(&uri, "ptx", "ret; // vptx: ignore[V501]\n");
    let actions = client.actions(&uri, 0, 22, &json!(["quickfix"]));
    let titles: Vec<&str> = actions.iter().filter_map(|it| it["title"].as_str()).collect();
    assert!(titles.contains(&"Remove it"), "{titles:?}");
    assert!(titles.iter().all(|title| !title.ends_with("in this file")), "{titles:?}");
    assert_eq!(client.end(), 0);
}

/// A byte order mark stays the first character of a file.
#[test]
fn a_comment_for_a_file_follows_its_byte_order_mark() {
    let folder = Folder::new("server-byte-order-mark");
    let uri = uri(&folder, "a.ptx");
    let mut client = Client::usual(&folder.0);
    let text = format!("\u{feff}{MODULE}");
    client.open(&uri, "ptx", &text);
    let actions = client.actions(&uri, 5, 10, &json!(["quickfix"]));
    let title = "Ignore V401 (modifier-order) in this file";
    let action = actions.iter().find(|it| it["title"] == title).expect("it can be ignored");
    let ignored = applied(&text, &action["edit"]["changes"][&uri]);
    assert_eq!(ignored, format!("\u{feff}// vptx: ignore-file[V401]\n{MODULE}"));
    assert_eq!(client.end(), 0);
}

/// Python has `#`, and reads the interpreter and the encoding in the first two lines. A notebook has
/// no place for such a comment.
#[test]
fn a_comment_for_a_file_is_one_of_its_language() {
    let folder = Folder::new("server-file-comment");
    let mut client = Client::usual(&folder.0);
    let title = "Ignore V401 (modifier-order) in this file";
    let call = "tl.inline_asm_elementwise('vadd.sat.s32.s32.s32 $0, $1, $2;', '=r,r,r', [a, b])";
    let head = "#!/usr/bin/env python3\n# -*- coding: utf-8 -*-\n";
    for (name, language, head, line) in [
        ("a.py", "python", head, "# vptx: ignore-file[V401]\n"),
        ("b.py", "python", "#!/usr/bin/env python3\n", "# vptx: ignore-file[V401]\n"),
        ("c.py", "python", "", "# vptx: ignore-file[V401]\n"),
        ("d.py", "python", "\n# coding: latin-1\n", "# vptx: ignore-file[V401]\n"),
    ] {
        let uri = uri(&folder, name);
        let text = format!("{head}{call}\n");
        client.open(&uri, language, &text);
        let at = head.matches('\n').count() as u32;
        let actions = client.actions(&uri, at, 33, &json!(["quickfix"]));
        let action = actions.iter().find(|it| it["title"] == title).expect("it can be ignored");
        let ignored = applied(&text, &action["edit"]["changes"][&uri]);
        assert_eq!(ignored, format!("{head}{line}{call}\n"));
    }
    // Other comments stay below.
    let text = format!("# one\n# two\n# three\n{call}\n");
    let uri = self::uri(&folder, "e.py");
    client.open(&uri, "python", &text);
    let actions = client.actions(&uri, 3, 33, &json!(["quickfix"]));
    let action = actions.iter().find(|it| it["title"] == title).expect("it can be ignored");
    let ignored = applied(&text, &action["edit"]["changes"][&uri]);
    assert_eq!(ignored, format!("# vptx: ignore-file[V401]\n{text}"));
    let notebook = json!({
        "cells": [{"cell_type": "code", "source": [call], "metadata": {}, "outputs": []}],
        "metadata": {}, "nbformat": 4, "nbformat_minor": 5
    });
    let text = notebook.to_string();
    let uri = self::uri(&folder, "a.ipynb");
    client.open(&uri, "json", &text);
    let at = text.find("sat").expect("it is there") as u32;
    let actions = client.actions(&uri, 0, at, &json!(["quickfix"]));
    assert!(!actions.is_empty() && actions.iter().all(|it| it["title"] != title), "{actions:?}");
    assert_eq!(client.end(), 0);
}

/// One fix replaces several instructions. It is offered at the last of them.
#[test]
fn regions_are_fixed_together() {
    let text = "\
.version 8.8
.target sm_90
.func f(.reg .b32 d, .reg .b32 a, .reg .b32 b)
{
    vmax.s32.s32.s32 d.b0, a.b0, b.b0, d;
    vmax.s32.s32.s32 d.b1, a.b1, b.b1, d;
    ret;
}
";
    let folder = Folder::new("server-regions");
    let uri = uri(&folder, "a.ptx");
    let mut client = Client::new(&folder.0, &json!({}), &json!({ "costs": true }));
    let found = client.findings(&uri, "ptx", text);
    assert_eq!((found.len(), &found[0]["code"]), (1, &json!("V602")));
    assert_eq!(found[0]["range"]["start"]["line"], 5);
    let actions = client.actions(&uri, 5, 10, &json!(["quickfix"]));
    assert_eq!(actions[0]["title"], "Write them as ordinary PTX");
    let fixed = applied(text, &actions[0]["edit"]["changes"][&uri]);
    fs::write(folder.0.join("a.ptx"), text).unwrap();
    let run = vptx_in(&folder.0, &["rewrite", "a.ptx"], b"");
    assert_eq!(fixed, run.stdout);
    assert_eq!(client.end(), 0);
}

#[test]
fn texts_are_formatted() {
    let folder = Folder::new("server-format");
    let mut client = Client::usual(&folder.0);
    let (module, wrong) = (MODULE.replace(".u33", ".u32"), uri(&folder, "b.ptx"));
    let right = uri(&folder, "a.ptx");
    client.open(&right, "ptx", &module);
    client.open(&wrong, "ptx", ".func f() {");
    let options = json!({ "tabSize": 4, "insertSpaces": true });
    let params = json!({ "textDocument": { "uri": right }, "options": options });
    let edits = client.ask("textDocument/formatting", &params);
    let run = vptx_in(&folder.0, &["fmt", "-"], module.as_bytes());
    assert_eq!(applied(&module, &edits), run.stdout);
    let range = json!({
        "start": { "line": 8, "character": 0 }, "end": { "line": 8, "character": 3 },
    });
    let params = json!({ "textDocument": { "uri": right }, "range": range, "options": options });
    let edits = client.ask("textDocument/rangeFormatting", &params);
    let edited = applied(&module, &edits);
    assert!(edited.contains("vadd.sat") && !edited.contains("\n  ret"), "{edited}");
    // A selection of whole lines ends at the start of the next line, which is not part of it.
    let lines = module.replace('\n', "\r\n");
    client.open(&right, "ptx", &lines);
    let formatted = lines.replace("\n  ret", "\n    ret");
    for (start, expected) in [(7, &lines), (8, &formatted)] {
        let range = json!({
            "start": { "line": start, "character": 0 },
            "end": { "line": start + 1, "character": 0 },
        });
        let params =
            json!({ "textDocument": { "uri": right }, "range": range, "options": options });
        let edits = client.ask("textDocument/rangeFormatting", &params);
        assert_eq!(applied(&lines, &edits), *expected, "{start}");
    }
    // Of an instruction on several lines, no part is left as it was.
    let (head, tail) =
        (".func f(.reg .b32 a, .reg .b32 b)\n{\n    .reg .b32 d;\n", "    ret;\n}\n");
    let module = format!(
        "{head}    vadd.sat // x\n        .u32.u32.u32 d, a, b; vmad.sat.shr15.s32\n    .s32.s32 d, a, b, \
         a;\n{tail}"
    );
    client.open(&right, "ptx", &module);
    let run = vptx_in(&folder.0, &["fmt", "-"], module.as_bytes());
    assert!(run.stdout.contains(".s32.s32.s32.sat.shr15 d"), "{}", run.stdout);
    for line in 3..6 {
        let range = json!({
            "start": { "line": line, "character": 0 }, "end": { "line": line, "character": 5 },
        });
        let params =
            json!({ "textDocument": { "uri": right }, "range": range, "options": options });
        let edits = client.ask("textDocument/rangeFormatting", &params);
        assert_eq!(applied(&module, &edits), run.stdout, "{line}");
    }
    let params = json!({ "textDocument": { "uri": wrong }, "options": options });
    assert_eq!(client.ask("textDocument/formatting", &params), Value::Null);
    assert_eq!(client.end(), 0);
}

/// Else the answer to a table of 1 MB would have 34 MB.
#[test]
fn formatting_a_long_line_takes_one_edit() {
    let folder = Folder::new("server-format-long");
    let mut client = Client::usual(&folder.0);
    let head = ".version 8.0\n.target sm_80\n.address_size 64\n";
    let row = |name: &str, count: usize| {
        format!(".global .b8 {name}[{count}] = {{{}}};\n", vec!["7"; count].join(","))
    };
    let text = format!("{head}{}{}", row("a", 12_000), row("b", 20));
    let uri = uri(&folder, "a.ptx");
    client.open(&uri, "ptx", &text);
    let options = json!({ "tabSize": 4, "insertSpaces": true });
    let params = json!({ "textDocument": { "uri": uri }, "options": options });
    let edits = client.ask("textDocument/formatting", &params);
    assert_eq!(edits.as_array().map(Vec::len), Some(2));
    let run = vptx_in(&folder.0, &["fmt", "-"], text.as_bytes());
    assert_eq!(applied(&text, &edits), run.stdout);
    // Only the edits of the second table.
    let range = json!({
        "start": { "line": 4, "character": 0 }, "end": { "line": 5, "character": 0 },
    });
    let params = json!({ "textDocument": { "uri": uri }, "range": range, "options": options });
    let edits = client.ask("textDocument/rangeFormatting", &params);
    let formatted = format!("{head}{}{}", row("a", 12_000), row("b", 20).replace(',', ", "));
    assert_eq!(applied(&text, &edits), formatted);
    assert_eq!(client.end(), 0);
}

#[test]
fn hovers_explain() {
    let folder = Folder::new("server-hover");
    let (module, source) = (uri(&folder, "a.ptx"), uri(&folder, "b.cu"));
    let mut client = Client::usual(&folder.0);
    let text = format!("{MODULE}// vptx: ignore-file[V510]\n");
    client.open(&module, "ptx", &text);
    client.open(&source, "cuda-cpp", SOURCE);
    let cases = [
        (&module, 6, 5, "**What it computes**\n"),
        (&module, 6, 5, "machine instructions for it on sm_90"),
        (&module, 5, 10, "clamps the exact result"),
        (&module, 5, 27, ".reg .b32 %r1;"),
        (&module, 5, 40, "byte"),
        (&module, 7, 6, "**vmin: "),
        (&module, 1, 10, "**sm_90: since PTX 7.8**"),
        (&module, 10, 22, "**V510 unread-source"),
        (&source, 2, 10, "**vadd.s32.s32.s32.sat %0, %1, %2;**"),
        (&source, 2, 32, "`%1`: input `\"r\"(x + g(1))`"),
    ];
    for (uri, line, character, expected) in cases {
        let shown = client.hover(uri, line, character);
        assert!(shown.contains(expected), "{line}:{character}: {shown}");
    }
    assert_eq!(client.hover(&module, 1, 2), "");
    // The costs of an instruction depend on the module's target.
    let bytes = uri(&folder, "c.ptx");
    let text = ".version 9.2\n.target sm_120a\n.func f(.reg .b32 d, .reg .b32 a, .reg .b32 b)\n\
                {\nvmin4.u32.u32.u32 d, a, b, d;\n}\n";
    client.open(&bytes, "ptx", text);
    let cases = [
        (1, 10, "**sm_120a: since PTX 8.7**"),
        (4, 3, "19 machine instructions for it on sm_120a"),
        (4, 3, "min.u8x4 d, a, b;"),
    ];
    for (line, character, expected) in cases {
        let shown = client.hover(&bytes, line, character);
        assert!(shown.contains(expected), "{line}:{character}: {shown}");
    }
    let place = json!({
        "textDocument": { "uri": source }, "position": { "line": 2, "character": 10 },
    });
    let params = json!({ "command": "vptx.showProgram", "arguments": [place] });
    let program = client.ask("workspace/executeCommand", &params);
    let lowered =
        vptx_in(&folder.0, &["lower", "--emit", "ir", "vadd.s32.s32.s32.sat %0, %1, %2;"], b"");
    // The printed program names operands, so it says which register each is.
    let expected = lowered.stdout.replacen('\n', "\n// a is %1, b is %2\n", 1);
    assert_eq!(program, expected.as_str());
    // The cursor may also stand directly after the `;`.
    let mut program = |character: u32| {
        let place = json!({
            "textDocument": { "uri": module }, "position": { "line": 6, "character": character },
        });
        let params = json!({ "command": "vptx.showProgram", "arguments": [place] });
        client.ask("workspace/executeCommand", &params)
    };
    let inside = program(8);
    assert!(inside.is_string(), "{inside}");
    assert_eq!(program(41), inside);
    assert_eq!(client.end(), 0);
}

/// The legal instructions in a part of a text, each in canonical spelling and with its range.
#[test]
fn instructions_of_a_part() {
    let folder = Folder::new("server-instructions");
    let (module, source) = (uri(&folder, "a.ptx"), uri(&folder, "b.cu"));
    let mut client = Client::usual(&folder.0);
    client.open(&module, "ptx", MODULE);
    client.open(&source, "cuda-cpp", SOURCE);
    let place = |line: u32, character: u32| json!({ "line": line, "character": character });
    let scalar = json!({
        "text": "vadd.s32.s32.s32.sat %r1, %r2, %r3.b1;",
        "range": { "start": place(5, 4), "end": place(5, 42) },
    });
    let simd = json!({
        "text": "vadd4.u32.u32.u32 %r1, %r2, %r3, %r4;",
        "range": { "start": place(6, 4), "end": place(6, 41) },
    });
    let inline = json!({
        "text": "vadd.s32.s32.s32.sat %0, %1, %2;",
        "range": { "start": place(2, 7), "end": place(2, 39) },
    });
    let cases = [
        (&module, [0, 9], json!([scalar, simd])),
        (&module, [6, 7], json!([simd])),
        (&module, [7, 8], json!([])),
        (&source, [0, 5], json!([inline])),
    ];
    for (uri, [start, end], expected) in cases {
        let range = json!({ "start": place(start, 0), "end": place(end, 0) });
        let part = json!({ "textDocument": { "uri": uri }, "range": range });
        let params = json!({ "command": "vptx.instructions", "arguments": [part] });
        assert_eq!(client.ask("workspace/executeCommand", &params), expected);
    }
    assert_eq!(client.end(), 0);
}

#[test]
fn completions_and_signatures_come_in_the_order_of_the_manual() {
    let folder = Folder::new("server-completion");
    let uri = uri(&folder, "a.ptx");
    let text = "    vset4.u32.;\n    vset.u32.s32.lt.add %r1, \n";
    let mut client = Client::usual(&folder.0);
    client.open(&uri, "ptx", text);
    let place = |line: u32, character: u32| {
        json!({
            "textDocument": { "uri": uri },
            "position": { "line": line, "character": character },
        })
    };
    let list = client.ask("textDocument/completion", &place(0, 14));
    let items = list["items"].as_array().unwrap();
    let labels: Vec<&str> = items.iter().map(|item| item["label"].as_str().unwrap()).collect();
    assert_eq!(labels, ["u32", "s32"]);
    assert!(items[0]["sortText"].as_str() < items[1]["sortText"].as_str());
    assert_eq!(items[0]["textEdit"]["range"]["start"]["character"], 14);
    assert_eq!(client.ask("textDocument/completion", &place(0, 2)), Value::Null);
    // The client asks again while the user types if there are more.
    for (count, is_part) in [(9, false), (500, true)] {
        let names: Vec<String> = (0..count).map(|number| format!("r{number}")).collect();
        let text = format!(".reg .b32 {};\nvadd.u32.u32.u32 r", names.join(", "));
        client.open(&uri, "ptx", &text);
        let list = client.ask("textDocument/completion", &place(1, 18));
        assert_eq!(list["isIncomplete"], is_part, "{count}");
        assert_eq!(list["items"].as_array().unwrap().len() == count, !is_part, "{count}");
    }
    client.open(&uri, "ptx", text);
    let help = client.ask("textDocument/signatureHelp", &place(1, 29));
    let active = &help["signatures"][help["activeSignature"].as_u64().unwrap() as usize];
    assert_eq!(active["label"], "vset.atype.btype.cmp.op2  d, a{.asel}, b{.bsel}, c;");
    assert_eq!(help["activeParameter"], 1);
    // `d` and `a{.asel}`
    assert_eq!(active["parameters"][0]["label"], json!([26, 27]));
    assert_eq!(active["parameters"][1]["label"], json!([29, 37]));
    // The selector of the destination, and a fourth operand, tell forms with the same modifiers
    // apart.
    let cases = [
        ("d, a, ", "vadd.dtype.atype.btype{.sat}  d, a{.asel}, b{.bsel};"),
        ("d.b1, a, ", "vadd.dtype.atype.btype{.sat}  d.dsel, a{.asel}, b{.bsel}, c;"),
        ("d, a, b, ", "vadd.dtype.atype.btype{.sat}  d.dsel, a{.asel}, b{.bsel}, c;"),
    ];
    for (operands, line) in cases {
        let text = format!("vadd.u32.u32.u32 {operands}");
        client.open(&uri, "ptx", &text);
        let help = client.ask("textDocument/signatureHelp", &place(0, text.len() as u32));
        let active = &help["signatures"][help["activeSignature"].as_u64().unwrap() as usize];
        assert_eq!(active["label"], line, "{text}");
    }
    assert_eq!(client.end(), 0);
}

#[test]
fn declarations_are_found_and_costs_shown() {
    let folder = Folder::new("server-definition");
    let (module, source) = (uri(&folder, "a.ptx"), uri(&folder, "b.cu"));
    let mut client = Client::new(&folder.0, &json!({}), &json!({ "hints": true }));
    let text = "\
.version 8.5
.target sm_90
.func f()
{
    .reg .b32 %r<9>, a;
    .reg .pred p;
    { .reg .b32 a; @p vadd4.u32.u32.u32 a, %r1, %r2, %r3; }
}
";
    client.open(&module, "ptx", text);
    client.open(&source, "cuda-cpp", SOURCE);
    let mut at = |word: &str, occurrence: usize| {
        let line = text.lines().nth(6).unwrap();
        let character = line.match_indices(word).nth(occurrence).unwrap().0;
        let place = json!({ "line": 6, "character": character + 1 });
        let params = json!({ "textDocument": { "uri": module }, "position": place });
        let found = client.ask("textDocument/definition", &params);
        let start = &found["range"]["start"];
        (start["line"].as_u64(), start["character"].as_u64())
    };
    assert_eq!(at("%r1", 0), (Some(4), Some(14)));
    assert_eq!(at("p vadd", 0), (Some(5), Some(15)));
    assert_eq!(at("a, %r1", 0), (Some(6), Some(16)), "the inner one");
    assert_eq!(at("vadd4", 0), (None, None));
    let range = json!({
        "start": { "line": 0, "character": 0 }, "end": { "line": 99, "character": 0 },
    });
    for (uri, line, label) in [(&module, 6, "5 → 4"), (&source, 2, "")] {
        let params = json!({ "textDocument": { "uri": uri }, "range": range });
        let hints = client.ask("textDocument/inlayHint", &params);
        assert_eq!(hints.as_array().unwrap().len(), 1, "{hints}");
        assert_eq!(hints[0]["position"]["line"], line);
        assert!(hints[0]["label"].as_str().unwrap().starts_with(label), "{hints}");
    }
    assert_eq!(client.end(), 0);
}

/// After edits, the findings are the same as if the resulting text had just been opened.
#[test]
fn edits_leave_the_findings_of_a_fresh_text() {
    let folder = Folder::new("server-edits");
    let uri = uri(&folder, "a.ptx");
    for (encoding, width) in [("utf-8", [2, 4]), ("utf-16", [1, 2]), ("utf-32", [1, 1])] {
        let capabilities = json!({ "general": { "positionEncodings": [encoding] } });
        let mut client = Client::new(&folder.0, &capabilities, &Value::Null);
        let mut text = MODULE.to_string();
        client.findings(&uri, "ptx", &text);
        let edits = [
            ("vadd4", "vadd4.é"),
            (".é", ""),
            ("😀", "x"),
            ("é", "\r\n"),
            ("%r9", "%r8"),
            (".u33", ".u32"),
            ("\n    vmin", ";vmin"),
        ];
        for (version, (old, new)) in (2..).zip(edits) {
            let at = text.find(old).expect(old);
            let place = |offset: usize| {
                let line = text[..offset].matches('\n').count();
                let before = &text[text[..offset].rfind('\n').map_or(0, |at| at + 1)..offset];
                let length = |c: char| match c.len_utf8() {
                    1 => 1,
                    2 => width[0],
                    _ => width[1],
                };
                let character: usize = before.chars().map(length).sum();
                json!({ "line": line, "character": character })
            };
            let range = json!({ "start": place(at), "end": place(at + old.len()) });
            let change = json!({
                "textDocument": { "uri": uri, "version": version },
                "contentChanges": [{ "range": range, "text": new }],
            });
            text.replace_range(at..at + old.len(), new);
            client.tell("textDocument/didChange", &change);
            let after = client.published(&uri);
            client.tell("textDocument/didClose", &json!({ "textDocument": { "uri": uri } }));
            assert!(client.published(&uri).is_empty());
            let fresh = client.findings(&uri, "ptx", &text);
            assert_eq!(after, fresh, "{encoding}: {old} {new}");
        }
        assert_eq!(client.end(), 0);
    }
}

#[test]
fn wrong_messages_are_refused() {
    let folder = Folder::new("server-wrong");
    let uri = uri(&folder, "a.ptx");
    let mut client = Client::silent(&folder.0);
    let code = |response: &Value| response["error"]["code"].as_i64();
    assert_eq!(code(&client.response("shutdown", &Value::Null)), Some(-32002));
    client.tell("textDocument/didOpen", &json!({}));
    client.ask("initialize", &json!({ "capabilities": {} }));
    assert_eq!(code(&client.response("initialize", &json!({}))), Some(-32600));
    assert_eq!(code(&client.response("no/such", &json!({}))), Some(-32601));
    assert_eq!(code(&client.response("textDocument/hover", &json!([1]))), Some(-32602));
    let unopened = json!({
        "textDocument": { "uri": uri }, "position": { "line": 0, "character": 0 },
    });
    assert_eq!(code(&client.response("textDocument/hover", &unopened)), Some(-32602));
    let before = client.findings(&uri, "ptx", MODULE);
    // Sends bytes that are not JSON, JSON that is not a message, and positions outside of the text.
    client.send_bytes(b"Content-Length: 5\r\n\r\n{\"id\"");
    client.send_bytes(b"Content-Type: x\r\ncontent-length: 2\r\n\r\n[]");
    let far = json!({ "line": 4_000_000_000_u32, "character": 4_000_000_000_u32 });
    let near = json!({ "line": 2, "character": 4_000_000_000_u32 });
    let change = json!({
        "textDocument": { "uri": uri, "version": -5 },
        "contentChanges": [
            { "range": { "start": far, "end": near }, "text": "// end" },
            { "range": { "start": far, "end": far }, "text": "\n" },
        ],
    });
    client.tell("textDocument/didChange", &change);
    assert_eq!(client.published(&uri), before);
    client.tell("textDocument/didChange", &json!({ "textDocument": 1 }));
    for expected in ["invalid message", "invalid message", "`textDocument/didChange`"] {
        let said = client.wait("window/logMessage")["message"].as_str().unwrap().to_string();
        assert!(said.contains(expected) && !said.contains("4 GiB"), "{said}");
    }
    assert_eq!(client.hover(&uri, u32::MAX, u32::MAX), "");
    assert_eq!(client.end(), 0);

    // The server ends if its input ends, or has no valid header.
    let no_header = "vptx: cannot read standard input: no header with a valid `Content-Length`";
    for (bytes, status, said) in [
        (&b""[..], 1, ""),
        (b"Content-Length: 100", 1, ""),
        (b"Content-Length: 100\r\n\r\n{", 1, ""),
        (b"\n", 2, no_header),
        (b"GET / HTTP/1.1\r\n\r\n", 2, no_header),
        (b"Accept: */*\r\n\r\n", 2, no_header),
        (b"Content-Length: -1\r\n\r\n", 2, no_header),
        (b"Content-Length: 99999999999999\r\n\r\n{", 2, no_header),
        (&b"x".repeat(100_000), 2, no_header),
    ] {
        let run = vptx_in(&folder.0, &["server"], bytes);
        assert_eq!((run.status, &*run.stdout), (status, ""), "{bytes:?}");
        assert!(run.stderr.starts_with(said) && run.stderr.is_empty() == said.is_empty());
    }
}

#[test]
fn requests_can_be_cancelled() {
    let folder = Folder::new("server-cancel");
    let uri = uri(&folder, "a.ptx");
    let mut client = Client::usual(&folder.0);
    let big = format!("{}{}", MODULE, "// a line of a large text\n".repeat(400_000));
    let place = json!({
        "textDocument": { "uri": uri }, "position": { "line": 6, "character": 6 },
    });
    let mut is_cancelled = |number: i32| {
        client.open(&uri, "ptx", &big);
        // The messages are sent at once, so that the server reads the cancellation while it opens
        // the text.
        let [one, two] = [70 + 2 * number, 71 + 2 * number];
        let mut batch = Vec::new();
        for message in [
            json!({ "jsonrpc": "2.0", "id": one, "method": "textDocument/hover", "params": place }),
            json!({ "jsonrpc": "2.0", "id": two, "method": "textDocument/hover", "params": place }),
            json!({ "jsonrpc": "2.0", "method": "$/cancelRequest", "params": { "id": two } }),
        ] {
            let text = message.to_string();
            batch.extend(format!("Content-Length: {}\r\n\r\n{text}", text.len()).bytes());
        }
        client.send_bytes(&batch);
        assert!(client.answer(one)["result"]["contents"]["value"].is_string());
        // The request gets one answer, whether or not the cancellation came in time.
        let answer = client.answer(two);
        let is_cancelled = answer["error"]["code"] == -32800;
        assert!(is_cancelled || answer["result"].is_object(), "{answer}");
        is_cancelled
    };
    assert!((0..20).any(&mut is_cancelled), "the cancellation always came late");
    assert_eq!(client.end(), 0);
}
