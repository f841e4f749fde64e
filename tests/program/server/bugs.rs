//! A panic ends only the work on the message that caused it.
#![cfg(debug_assertions)]

use serde_json::{Value, json};

use super::MODULE;
use super::client::{Client, uri};
use crate::support::program::Folder;

const BUG: &str = "please report it: a test asked for it, at src/workspace/bug.rs:";

#[test]
fn findings_of_other_texts_are_sent() {
    let folder = Folder::new("server-bug-findings");
    let (bad, good) = (uri(&folder, "a.ptx"), uri(&folder, "b.ptx"));
    let mut client = Client::with_bug(&folder.0, &json!({}), &bad);
    client.open(&bad, "ptx", MODULE);
    let message = client.wait("window/showMessage")["message"].as_str().unwrap().to_string();
    let start = format!("a bug in vptx ended the work on `{bad}`; {BUG}");
    assert!(message.starts_with(&start), "{message}");
    assert!(!client.findings(&good, "ptx", MODULE).is_empty());
    assert_eq!(client.end(), 0);
}

#[test]
fn a_request_is_answered_with_an_error() {
    let folder = Folder::new("server-bug-request");
    let text = uri(&folder, "a.ptx");
    let mut client = Client::with_bug(&folder.0, &json!({}), "textDocument/hover");
    assert!(!client.findings(&text, "ptx", MODULE).is_empty());
    let place =
        json!({ "textDocument": { "uri": text }, "position": { "line": 6, "character": 23 } });
    for _ in 0..2 {
        let answer = client.response("textDocument/hover", &place);
        assert_eq!(answer.get("result"), None);
        // The code of `InternalError` in JSON-RPC.
        assert_eq!(answer["error"]["code"], -32603);
        let message = answer["error"]["message"].as_str().unwrap();
        assert!(message.contains(BUG), "{message}");
    }
    assert_ne!(client.ask("textDocument/documentHighlight", &place), Value::Null);
    assert_eq!(client.end(), 0);
}

#[test]
fn a_notification_is_told_to_the_user() {
    let folder = Folder::new("server-bug-notification");
    let text = uri(&folder, "a.ptx");
    let mut client = Client::with_bug(&folder.0, &json!({}), "textDocument/didSave");
    client.tell("textDocument/didSave", &json!({ "textDocument": { "uri": text } }));
    let message = client.wait("window/showMessage")["message"].as_str().unwrap().to_string();
    assert!(message.contains(BUG), "{message}");
    assert!(!client.findings(&text, "ptx", MODULE).is_empty());
    assert_eq!(client.end(), 0);
}
