//! Any messages to the language server, most of them nearly valid: nothing may panic, and each
//! request must get one answer.
#![no_main]

use libfuzzer_sys::fuzz_target;
use lsp_server::Message;
use serde_json::{Value, json};
use vptx::server::Server;

const METHODS: &[&str] = &[
    "textDocument/didChange",
    "textDocument/hover",
    "textDocument/codeAction",
    "textDocument/formatting",
    "textDocument/rangeFormatting",
    "textDocument/diagnostic",
    "textDocument/completion",
    "textDocument/signatureHelp",
    "textDocument/definition",
    "textDocument/references",
    "textDocument/documentHighlight",
    "textDocument/prepareRename",
    "textDocument/rename",
    "textDocument/documentSymbol",
    "textDocument/foldingRange",
    "textDocument/semanticTokens/full",
    "textDocument/semanticTokens/range",
    "textDocument/inlayHint",
    "workspace/executeCommand",
    "textDocument/didClose",
    "workspace/didChangeConfiguration",
];

/// Bytes that choose the messages.
struct Choices<'b>(&'b [u8]);

impl Choices<'_> {
    fn number(&mut self) -> usize {
        match self.0.split_first() {
            Some((first, rest)) => {
                self.0 = rest;
                usize::from(*first)
            }
            None => 0,
        }
    }

    fn place(&mut self) -> Value {
        json!({ "line": self.number() % 40, "character": self.number() })
    }

    fn text(&mut self) -> String {
        let length = self.number().min(self.0.len());
        let (text, rest) = self.0.split_at(length);
        self.0 = rest;
        String::from_utf8_lossy(text).into_owned()
    }
}

fn send(server: &mut Server, method: &str, params: Value, id: Option<i32>) {
    let message = match id {
        Some(id) => json!({ "id": id, "method": method, "params": params }),
        None => json!({ "method": method, "params": params }),
    };
    let message: Message = serde_json::from_value(message).expect("a message");
    let answers = server.handle(message);
    let answers = answers.iter().filter(|it| matches!(it, Message::Response(_))).count();
    assert_eq!(answers, usize::from(id.is_some()));
}

fuzz_target!(|bytes: &[u8]| {
    let mut choices = Choices(bytes);
    let server = &mut Server::default();
    send(
        server,
        "initialize",
        json!({
            "capabilities": {
                "textDocument": { "completion": { "completionItem": { "snippetSupport": true } } },
            },
            "initializationOptions": { "hints": true, "pages": "x:{code}" },
        }),
        Some(1),
    );
    let language = ["ptx", "cuda-cpp"][choices.number() % 2];
    let item = json!({
        "uri": "untitled:a", "languageId": language, "version": 1, "text": choices.text(),
    });
    send(server, "textDocument/didOpen", json!({ "textDocument": item }), None);
    while !choices.0.is_empty() {
        let method = METHODS[choices.number() % METHODS.len()];
        let (start, end) = (choices.place(), choices.place());
        let range = json!({ "start": start, "end": end });
        let document = json!({ "uri": "untitled:a", "version": 2 });
        let new_name = ["x", "%r3", "%r", "$L"][choices.number() % 4];
        let params = json!({
            "textDocument": document,
            "position": start,
            "range": range,
            "context": { "diagnostics": [], "includeDeclaration": true },
            "newName": new_name,
            "options": { "tabSize": 4, "insertSpaces": true },
            "contentChanges": [{ "range": range, "text": choices.text() }],
            "command": "vptx.showProgram",
            "arguments": [{ "textDocument": document, "position": start }],
        });
        let notifies = method.contains("/did");
        send(server, method, params, (!notifies).then_some(7));
    }
    if server.has_news() {
        server.news();
    }
});
