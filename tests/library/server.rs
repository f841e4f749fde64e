//! The language server, message by message.

use lsp_server::{Message, Notification, Request, ResponseError};
use serde_json::{Value, json};
use vptx::server::Server;

use crate::support::random::Random;

type Answer = Result<Value, ResponseError>;

const URI: &str = "untitled:a";

fn tell(server: &mut Server, method: &str, params: Value) -> Vec<Message> {
    server.handle(Message::Notification(Notification { method: method.into(), params }))
}

fn ask(server: &mut Server, method: &str, params: Value) -> Answer {
    let request = Request { id: 1.into(), method: method.into(), params };
    match server.handle(Message::Request(request)).pop() {
        Some(Message::Response(response)) => response.response_result,
        other => panic!("{other:?}"),
    }
}

/// A server with one open text, whose client asks for findings.
fn opened(text: &str) -> Server {
    let mut server = Server::default();
    let capabilities = json!({ "textDocument": { "diagnostic": {} } });
    ask(&mut server, "initialize", json!({ "capabilities": capabilities })).unwrap();
    let item = json!({ "uri": URI, "languageId": "ptx", "version": 1, "text": text });
    tell(&mut server, "textDocument/didOpen", json!({ "textDocument": item }));
    server
}

/// A client that can watch files is asked to watch those with settings.
#[test]
fn settings_are_watched() {
    let asked = |can: bool| {
        let mut server = Server::default();
        let watching = json!({ "didChangeWatchedFiles": { "dynamicRegistration": can } });
        let params = json!({ "capabilities": { "workspace": watching } });
        ask(&mut server, "initialize", params).unwrap();
        tell(&mut server, "initialized", json!({}))
    };
    assert!(asked(false).is_empty());
    let messages = asked(true);
    let [Message::Request(request)] = messages.as_slice() else { panic!("{messages:?}") };
    assert_eq!(request.method, "client/registerCapability");
    let watched = "/registrations/0/registerOptions/watchers/0/globPattern";
    assert_eq!(request.params.pointer(watched), Some(&json!("**/vptx.toml")));
}

/// A fold hides lines. The line with the `}` of a block stays.
#[test]
fn folds_hide_lines() {
    for (text, folds) in [
        (".func f() { ret; }", vec![]),
        (".func f()\n{\n}", vec![]),
        (".func f() {\n// c\n}", vec![[0, 1]]),
        (".func f()\n{\nL:\nret;\n}", vec![[1, 3], [2, 3]]),
        (".section .debug_str {\n.b8 1\n}", vec![[0, 1]]),
        ("// a", vec![]),
        ("// a\n/* b */", vec![[0, 1]]),
    ] {
        let of_text = json!({ "textDocument": { "uri": URI } });
        let found = ask(&mut opened(text), "textDocument/foldingRange", of_text).unwrap();
        let lines =
            |fold: &Value| ["startLine", "endLine"].map(|name| fold[name].as_u64().unwrap());
        let found: Vec<[u64; 2]> = found.as_array().unwrap().iter().map(lines).collect();
        assert_eq!(found, folds, "{text}");
    }
}

/// A place as a client names it: the line, and the UTF-16 unit in the line.
fn position(text: &str, at: usize) -> Value {
    let before = &text[..at];
    let breaks = before.replace("\r\n", "\n");
    let line = breaks.matches(['\n', '\r']).count();
    let start = before.rfind(['\n', '\r']).map_or(0, |end| end + 1);
    json!({ "line": line, "character": before[start..].encode_utf16().count() })
}

/// A client cannot name a place between `\r` and `\n`.
fn is_nameable(text: &str, at: usize) -> bool {
    !(text[..at].ends_with('\r') && text[at..].starts_with('\n'))
}

/// What a client can see of a text after each change.
fn seen_at_once(server: &mut Server) -> [Answer; 2] {
    let of_text = json!({ "textDocument": { "uri": URI } });
    ["textDocument/diagnostic", "textDocument/semanticTokens/full"]
        .map(|method| ask(server, method, of_text.clone()))
}

/// What a client can see of a text.
fn seen(server: &mut Server, line: u32) -> [Answer; 9] {
    let document = json!({ "uri": URI });
    let place = json!({ "line": line, "character": 6 });
    let range = json!({ "start": place, "end": place });
    let of_text = json!({ "textDocument": document });
    let at_place = json!({ "textDocument": document, "position": place });
    [
        ("textDocument/diagnostic", of_text.clone()),
        ("textDocument/documentSymbol", of_text.clone()),
        ("textDocument/foldingRange", of_text.clone()),
        ("textDocument/semanticTokens/full", of_text),
        ("textDocument/hover", at_place.clone()),
        ("textDocument/completion", at_place.clone()),
        ("textDocument/documentHighlight", at_place),
        (
            "textDocument/codeAction",
            json!({ "textDocument": document, "range": range, "context": { "diagnostics": [] } }),
        ),
        (
            "textDocument/formatting",
            json!({
                "textDocument": document,
                "options": { "tabSize": 4, "insertSpaces": true },
            }),
        ),
    ]
    .map(|(method, params)| ask(server, method, params))
}

const PIECES: &[&str] = &[
    "\n",
    "\r\n",
    " ",
    ";",
    "}",
    "{",
    "/*",
    "é",
    "😀",
    ".sat",
    "%r1",
    "    vadd4.u32.u32.u32 %r1, %r2, %r3, %r4;\n",
    "vmin.sat.u32.u32.u32 %r1, %r2, %r3;",
    "// vptx: ignore[V401]\n",
    ".reg .b32 %r<9>;\n",
    ".func f()\n{\n",
];

/// After edits and undone edits, a server answers like one that has just opened the text.
#[test]
fn edits_leave_the_state_of_a_fresh_start() {
    let start = ".version 8.5\n.target sm_90\n.func f()\n{\n.reg .b32 %r<9>;\n}\n";
    let mut random = Random(11);
    let mut server = opened(start);
    let (mut text, mut undo) = (start.to_string(), Vec::new());
    for version in 2..10_002 {
        let undone = if random.below(3) == 0 { undo.pop() } else { None };
        let (span, new) = undone.unwrap_or_else(|| {
            let is_boundary = |at: &usize| text.is_char_boundary(*at);
            let places: Vec<usize> = (0..=text.len()).filter(is_boundary).collect();
            let at = random.below(places.len());
            // Edits of long texts remove more, so that the texts do not grow.
            let most = if text.len() > 2_000 { 600 } else { 9 };
            let end = (at + random.below(most)).min(places.len() - 1);
            (places[at]..places[end], random.one_of(PIECES).to_string())
        });
        if !is_nameable(&text, span.start) || !is_nameable(&text, span.end) {
            undo.clear();
            continue;
        }
        undo.push((span.start..span.start + new.len(), text[span.clone()].to_string()));
        undo.drain(..undo.len().saturating_sub(5));
        let [from, to] = [span.start, span.end].map(|at| position(&text, at));
        let change = json!({
            "textDocument": { "uri": URI, "version": version },
            "contentChanges": [{ "range": { "start": from, "end": to }, "text": new }],
        });
        text.replace_range(span, &new);
        tell(&mut server, "textDocument/didChange", change);
        let mut fresh = opened(&text);
        for (one, other) in seen_at_once(&mut server).into_iter().zip(seen_at_once(&mut fresh)) {
            assert_eq!(one.ok(), other.ok(), "{text}");
        }
        if version % 25 == 0 {
            let line = random.below(40) as u32;
            for (one, other) in seen(&mut server, line).into_iter().zip(seen(&mut fresh, line)) {
                assert_eq!(one.ok(), other.ok(), "{text}");
            }
        }
    }
}

/// In a large text, only the functions around a place are read for a hover.
#[test]
fn a_hover_in_a_large_text_is_that_in_a_small_one() {
    let function = |name: &str| {
        let body = ".reg .b32 %r<4>;\nvmin4.s32.s32.s32 %r1, %r2, %r3, %r1;\n{\nret;\n}\n";
        format!(".func {name}()\n{{\n{body}}}\n")
    };
    let hover = |text: &str, name: &str| {
        let at = text.find(&format!("{name}()")).expect("the function");
        let at = at + text[at..].find("vmin4").expect("the instruction");
        let place = json!({ "textDocument": { "uri": URI }, "position": position(text, at) });
        let found = ask(&mut opened(text), "textDocument/hover", place).unwrap();
        found["contents"]["value"].as_str().expect("a page").to_string()
    };
    let head = ".version 8.0\n.target sm_75\n";
    let small = format!("{head}{}{}{}", function("f"), function("g"), function("h"));
    let many = function("f").repeat((1 << 20) / function("f").len() + 1);
    let large = format!("{head}{}{}{many}{}", function("e"), function("g"), function("h"));
    let of_small = hover(&small, "g");
    assert!(of_small.contains("sm_75"), "{of_small}");
    for name in ["e", "g", "h"] {
        assert_eq!(hover(&large, name), of_small, "{name}");
    }
    // The last `.target` before a place is in force.
    let other = small.replace(".func h", ".target sm_90\n.func h");
    assert!(hover(&other, "h").contains("sm_90"));
}
