//! An editor that talks to the server.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdout};

use serde_json::{Value, json};

#[cfg(debug_assertions)]
use crate::support::program::start_with;
use crate::support::program::{Folder, start};

/// An editor.
pub(super) struct Client {
    pub(super) child: Child,
    output: BufReader<ChildStdout>,
    pub(super) requests: i32,
    /// The numbers of the server's own requests.
    asked: Vec<Value>,
    /// Messages of the server other than answers.
    beside: Vec<Value>,
    /// The capabilities that the server reports.
    pub(super) capabilities: Value,
}

impl Client {
    /// Starts the server in a folder, and sends nothing.
    pub(super) fn silent(folder: &Path) -> Client {
        Client::of(start(folder, &["server"]))
    }

    fn of(mut child: Child) -> Client {
        let output = BufReader::new(child.stdout.take().unwrap());
        let (asked, beside) = (Vec::new(), Vec::new());
        Client { child, output, requests: 0, asked, beside, capabilities: Value::Null }
    }

    pub(super) fn new(folder: &Path, capabilities: &Value, options: &Value) -> Client {
        Client::silent(folder).initialized(capabilities, options)
    }

    /// A client whose server panics when it works on `what`.
    #[cfg(debug_assertions)]
    pub(super) fn with_bug(folder: &Path, capabilities: &Value, what: &str) -> Client {
        let child = start_with(folder, &["server"], &[("VPTX_TEST_PANIC", what)]);
        Client::of(child).initialized(capabilities, &Value::Null)
    }

    fn initialized(mut self, capabilities: &Value, options: &Value) -> Client {
        let client = &mut self;
        let params = json!({
            "processId": null,
            "rootUri": null,
            "capabilities": capabilities,
            "initializationOptions": options,
        });
        let answer = client.ask("initialize", &params);
        assert_eq!(answer["serverInfo"]["name"], "vptx");
        client.capabilities = answer["capabilities"].clone();
        client.tell("initialized", &json!({}));
        self
    }

    pub(super) fn usual(folder: &Path) -> Client {
        Client::new(folder, &json!({}), &Value::Null)
    }

    pub(super) fn send_bytes(&mut self, bytes: &[u8]) {
        // The write fails if the server has ended.
        let _ = self.child.stdin.as_mut().unwrap().write_all(bytes);
    }

    pub(super) fn send(&mut self, message: &Value) {
        let text = message.to_string();
        self.send_bytes(format!("Content-Length: {}\r\n\r\n{text}", text.len()).as_bytes());
    }

    pub(super) fn tell(&mut self, method: &str, params: &Value) {
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    pub(super) fn receive(&mut self) -> Option<Value> {
        let mut length = 0;
        loop {
            let mut line = String::new();
            if self.output.read_line(&mut line).unwrap() == 0 {
                return None;
            }
            if line.trim().is_empty() {
                break;
            }
            length = line.trim().strip_prefix("Content-Length: ").unwrap().parse().unwrap();
        }
        let mut text = vec![0; length];
        self.output.read_exact(&mut text).unwrap();
        let message: Value = serde_json::from_slice(&text).unwrap();
        if let (Some(id), Some(_)) = (message.get("id"), message.get("method")) {
            assert!(!self.asked.contains(id), "{message}");
            self.asked.push(id.clone());
        }
        Some(message)
    }

    /// Sends a request; returns the whole response.
    pub(super) fn response(&mut self, method: &str, params: &Value) -> Value {
        self.requests += 1;
        let id = self.requests;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        self.answer(id)
    }

    pub(super) fn answer(&mut self, id: i32) -> Value {
        loop {
            let message = self.receive().expect("an answer");
            if message["id"] == id && message.get("method").is_none() {
                return message;
            }
            self.beside.push(message);
        }
    }

    pub(super) fn ask(&mut self, method: &str, params: &Value) -> Value {
        let response = self.response(method, params);
        assert_eq!(response.get("error"), None, "{response}");
        response["result"].clone()
    }

    /// Waits for a request or notification with this method.
    pub(super) fn wait(&mut self, method: &str) -> Value {
        if let Some(at) = self.beside.iter().position(|message| message["method"] == method) {
            return self.beside.remove(at)["params"].clone();
        }
        loop {
            let message = self.receive().expect("a message");
            if message["method"] == method {
                return message["params"].clone();
            }
            self.beside.push(message);
        }
    }

    pub(super) fn open(&mut self, uri: &str, language: &str, text: &str) {
        let item = json!({ "uri": uri, "languageId": language, "version": 1, "text": text });
        self.tell("textDocument/didOpen", &json!({ "textDocument": item }));
    }

    /// Opens a text and returns its findings.
    pub(super) fn findings(&mut self, uri: &str, language: &str, text: &str) -> Vec<Value> {
        self.open(uri, language, text);
        self.published(uri)
    }

    pub(super) fn published(&mut self, uri: &str) -> Vec<Value> {
        let params = self.wait("textDocument/publishDiagnostics");
        assert_eq!(params["uri"], uri);
        params["diagnostics"].as_array().unwrap().clone()
    }

    pub(super) fn actions(
        &mut self,
        uri: &str,
        line: u32,
        character: u32,
        only: &Value,
    ) -> Vec<Value> {
        let place = json!({ "line": line, "character": character });
        let params = json!({
            "textDocument": { "uri": uri },
            "range": { "start": place, "end": place },
            "context": { "diagnostics": [], "only": only },
        });
        self.ask("textDocument/codeAction", &params).as_array().unwrap().clone()
    }

    pub(super) fn hover(&mut self, uri: &str, line: u32, character: u32) -> String {
        let place = json!({ "line": line, "character": character });
        let params = json!({ "textDocument": { "uri": uri }, "position": place });
        let hover = self.ask("textDocument/hover", &params);
        hover["contents"]["value"].as_str().unwrap_or_default().to_string()
    }

    /// Ends the conversation; returns the exit status.
    pub(super) fn end(mut self) -> i32 {
        self.ask("shutdown", &Value::Null);
        self.tell("exit", &Value::Null);
        self.child.wait().unwrap().code().unwrap()
    }
}

pub(super) fn uri(folder: &Folder, name: &str) -> String {
    format!("file://{}", folder.0.join(name).display())
}

/// Applies edits, whose columns are counted in UTF-16, to a text.
pub(super) fn applied(text: &str, edits: &Value) -> String {
    let offset = |place: &Value| {
        let mut lines = text.split_inclusive('\n');
        let line = place["line"].as_u64().unwrap() as usize;
        let before: usize = lines.by_ref().take(line).map(str::len).sum();
        let mut left = place["character"].as_u64().unwrap() as usize;
        let mut within = 0;
        for c in lines.next().unwrap_or_default().chars().take_while(|c| *c != '\n') {
            if left == 0 {
                break;
            }
            left -= c.len_utf16();
            within += c.len_utf8();
        }
        before + within
    };
    let mut edits: Vec<(usize, usize, &str)> = edits
        .as_array()
        .unwrap()
        .iter()
        .map(|edit| {
            let (start, end) = (&edit["range"]["start"], &edit["range"]["end"]);
            (offset(start), offset(end), edit["newText"].as_str().unwrap())
        })
        .collect();
    edits.sort_by_key(|edit| std::cmp::Reverse(edit.0));
    let mut text = text.to_string();
    for (start, end, new) in edits {
        text.replace_range(start..end, new);
    }
    text
}
