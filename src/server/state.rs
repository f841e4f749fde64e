//! The state of a server: open texts, settings, what the client can do.

use std::cell::OnceCell;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::fmt::Display;
use std::mem;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use gen_lsp_types::{
    DidChangeTextDocumentParams, DidOpenTextDocumentParams, DocumentDiagnosticParams,
    DocumentFormattingParams, DocumentRangeFormattingParams, DocumentSymbolParams,
    FoldingRangeParams, Location, PublishDiagnosticsParams, SemanticTokensParams,
    SemanticTokensRangeParams, TextDocumentIdentifier, Uri,
};
use lsp_server::{ErrorCode, Message, Notification, Request, RequestId, Response, ResponseError};
use percent_encoding::percent_decode_str;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::diagnostics;
use super::document::{Encoding, Text};
use super::options::Options;
use super::tokens;
use crate::analysis::check_counted;
use crate::check::{CheckOptions, Language};
use crate::diagnostic::{Diagnostic, Docs};
use crate::print::FormatOptions;
use crate::source::Span;
use crate::workspace::bug::{Bug, guarded};
use crate::workspace::docs::docs;
use crate::workspace::headers::HeaderFiles;
use crate::workspace::kind::FileKind;
use crate::workspace::settings::{FILE, Finder, Settings, SettingsError, unknown_names};

/// The largest number of findings that are sent for a text: no person reads more.
const MOST: usize = 10_000;

/// The error code of the protocol for a cancelled request.
const REQUEST_CANCELLED: i32 = -32800;

/// A language server that has no streams: it takes messages and gives answers.
#[derive(Default)]
pub struct Server {
    phase: Phase,
    encoding: Encoding,
    pub(super) client: Client,
    pub(super) options: Options,
    /// `None` before the client has sent its options.
    finder: Option<Result<Finder, SettingsError>>,
    headers: HeaderFiles,
    documents: HashMap<String, Document>,
    /// The texts whose findings are to be sent.
    unsent: BTreeSet<String>,
    /// Requests that wait and were cancelled.
    cancelled: HashSet<RequestId>,
    /// Warnings that the user has seen.
    warned: BTreeSet<String>,
    /// The errors that settings have, and those that they had before they were read again.
    failing: BTreeSet<String>,
    failed: BTreeSet<String>,
    /// Messages that go out together with the answer.
    beside: Vec<Message>,
    requests: i32,
}

/// The state of the conversation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Phase {
    #[default]
    New,
    Running,
    ShutDown,
    /// Ended by `exit`. The flag says whether `shutdown` came before.
    Ended(bool),
}

/// What a client can do.
#[derive(Clone, Copy, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is an ability of its own")]
pub(super) struct Client {
    /// It asks for findings instead of waiting for them.
    pulls: bool,
    /// It asks for findings again when the server tells it to.
    refreshes: bool,
    /// It watches files when the server asks it to.
    watches: bool,
    /// It inserts snippets: texts with placeholders.
    pub(super) snippets: bool,
}

/// An open text.
pub(super) struct Document {
    pub(super) uri: Uri,
    version: i32,
    language_id: String,
    path: Option<PathBuf>,
    pub(super) text: Text,
    /// The findings, computed once for a version, and only when asked for.
    found: OnceCell<Vec<Diagnostic>>,
}

impl Document {
    pub(super) fn location(&self, span: Span) -> Location {
        Location::new(self.uri.clone(), self.text.range(span))
    }
}

/// The settings for a text.
pub(super) struct InForce {
    pub(super) check: CheckOptions,
    pub(super) format: FormatOptions,
    docs: Option<Docs>,
}

pub(super) type Answer = Result<Value, ResponseError>;

pub(super) fn failure(code: ErrorCode, message: impl Into<String>) -> ResponseError {
    ResponseError { code: code as i32, message: message.into(), data: None }
}

/// Reads the parameters of a message.
pub(super) fn params<P: DeserializeOwned>(value: Value) -> Result<P, ResponseError> {
    serde_json::from_value(value)
        .map_err(|error| failure(ErrorCode::InvalidParams, error.to_string()))
}

pub(super) fn answer(result: impl Serialize) -> Answer {
    serde_json::to_value(result)
        .map_err(|error| failure(ErrorCode::InternalError, error.to_string()))
}

/// The types of messages of the protocol.
const ERROR: u8 = 1;
const WARNING: u8 = 2;

/// The message that shows a text to the user.
fn message_to_user(kind: u8, text: &impl Display) -> Message {
    let params = json!({ "type": kind, "message": text.to_string() });
    Message::Notification(Notification::new("window/showMessage".into(), params))
}

/// The name of a request, and the function that answers it.
type Question = (&'static str, fn(&Server, Value) -> Answer);

/// The requests that change nothing. They are in a table, not in a `match`: so the compiler keeps
/// their code apart, and a web page loads the code for a request only when the request comes.
static QUESTIONS: [Question; 18] = [
    ("textDocument/diagnostic", |it, value| answer(it.diagnostic(&params(value)?)?)),
    ("textDocument/codeAction", |it, value| answer(it.code_actions(&params(value)?)?)),
    ("textDocument/hover", |it, value| answer(it.hover(&params(value)?)?)),
    ("textDocument/definition", |it, value| answer(it.definition(&params(value)?)?)),
    ("textDocument/references", |it, value| it.references(&params(value)?)),
    ("textDocument/documentHighlight", |it, value| it.highlights(&params(value)?)),
    ("textDocument/prepareRename", |it, value| it.prepare_rename(&params(value)?)),
    ("textDocument/rename", |it, value| answer(it.rename(&params(value)?)?)),
    ("textDocument/documentSymbol", |it, value| {
        it.symbols(&params::<DocumentSymbolParams>(value)?.text_document)
    }),
    ("textDocument/foldingRange", |it, value| {
        it.folds(&params::<FoldingRangeParams>(value)?.text_document)
    }),
    ("textDocument/semanticTokens/full", |it, value| {
        it.tokens(&params::<SemanticTokensParams>(value)?.text_document, None)
    }),
    ("textDocument/semanticTokens/range", |it, value| {
        let SemanticTokensRangeParams { text_document, range, .. } = params(value)?;
        it.tokens(&text_document, Some(range))
    }),
    ("textDocument/inlayHint", |it, value| it.hints(&params(value)?)),
    ("textDocument/completion", |it, value| it.completion(&params(value)?)),
    ("textDocument/signatureHelp", |it, value| it.signature(&params(value)?)),
    ("textDocument/formatting", |it, value| {
        answer(it.formatting(&params::<DocumentFormattingParams>(value)?.text_document, None)?)
    }),
    ("textDocument/rangeFormatting", |it, value| {
        let DocumentRangeFormattingParams { text_document, range, .. } = params(value)?;
        answer(it.formatting(&text_document, Some((range.start, range.end)))?)
    }),
    ("workspace/executeCommand", |it, value| it.command(&value)),
];

impl Server {
    /// Takes a message; gives the answer and other messages for the client.
    pub fn handle(&mut self, message: Message) -> Vec<Message> {
        let answer = match message {
            Message::Request(request) => {
                let (id, method) = (request.id.clone(), request.method.clone());
                let answered = guarded(&method, || self.request(request));
                Some(answered.unwrap_or_else(|bug: Bug| Response {
                    id,
                    response_result: Err(failure(ErrorCode::InternalError, bug.to_string())),
                }))
            }
            Message::Notification(notification) => {
                let method = notification.method.clone();
                if let Err(bug @ Bug { .. }) = guarded(&method, || self.notification(notification))
                {
                    self.show(&bug);
                }
                None
            }
            // Answers of the client change nothing.
            Message::Response(_) => None,
        };
        let mut messages = mem::take(&mut self.beside);
        messages.extend(answer.map(Message::Response));
        messages
    }

    /// Looks at a waiting message, as it may cancel another waiting message.
    pub(super) fn foresee(&mut self, message: &Message) {
        if let Message::Notification(notification) = message
            && let Some(id) = cancelled(notification)
        {
            self.cancelled.insert(id);
        }
    }

    /// Whether there are findings to send.
    pub fn has_news(&self) -> bool {
        !self.unsent.is_empty()
    }

    /// The findings of texts that changed.
    pub fn news(&mut self) -> Vec<Message> {
        let unsent = mem::take(&mut self.unsent);
        let documents = unsent.iter().filter_map(|uri| Some((uri, self.documents.get(uri)?)));
        let published = documents.map(|(uri, document)| {
            guarded(uri, || self.publish(document))
                .unwrap_or_else(|bug: Bug| message_to_user(ERROR, &bug))
        });
        published.collect()
    }

    pub(super) fn is_shut_down(&self) -> bool {
        self.phase == Phase::ShutDown
    }

    /// `None` until the client sends `exit`. Then, whether `shutdown` came before.
    pub fn ended(&self) -> Option<bool> {
        match self.phase {
            Phase::Ended(in_order) => Some(in_order),
            _ => None,
        }
    }

    fn request(&mut self, request: Request) -> Response {
        let Request { id, method, params } = request;
        let response_result = match self.phase {
            _ if self.cancelled.remove(&id) => Err(ResponseError {
                code: REQUEST_CANCELLED,
                message: "the request was cancelled".into(),
                data: None,
            }),
            Phase::New if method != "initialize" => Err(failure(
                ErrorCode::ServerNotInitialized,
                "the first request must be `initialize`",
            )),
            Phase::ShutDown | Phase::Ended(_) => Err(failure(
                ErrorCode::InvalidRequest,
                "the server has shut down and takes no requests",
            )),
            Phase::New | Phase::Running => self.answer(&method, params),
        };
        Response { id, response_result }
    }

    fn answer(&mut self, method: &str, value: Value) -> Answer {
        match method {
            "initialize" => self.initialize(&value),
            "shutdown" => {
                self.phase = Phase::ShutDown;
                Ok(Value::Null)
            }
            _ => match QUESTIONS.iter().find(|(name, _)| *name == method) {
                Some((_, of)) => of(self, value),
                None => Err(failure(ErrorCode::MethodNotFound, format!("`{method}` is not known"))),
            },
        }
    }

    fn initialize(&mut self, value: &Value) -> Answer {
        if self.phase != Phase::New {
            return Err(failure(ErrorCode::InvalidRequest, "the server is already initialized"));
        }
        let can = |path: &str| value.pointer(&format!("/capabilities/{path}"));
        let offered = can("general/positionEncodings").and_then(Value::as_array);
        let offered: Vec<&str> = offered.into_iter().flatten().filter_map(Value::as_str).collect();
        self.encoding = Encoding::choose(&offered);
        let is_true = |path: &str| can(path).and_then(Value::as_bool) == Some(true);
        self.client = Client {
            pulls: can("textDocument/diagnostic").is_some_and(Value::is_object),
            refreshes: is_true("workspace/diagnostics/refreshSupport"),
            watches: is_true("workspace/didChangeWatchedFiles/dynamicRegistration"),
            snippets: is_true("textDocument/completion/completionItem/snippetSupport"),
        };
        let options = value.get("initializationOptions").cloned().unwrap_or_default();
        self.choose(options);
        self.phase = Phase::Running;
        let kinds = ["quickfix", "refactor.rewrite", "source.fixAll.vptx"];
        Ok(json!({
            "serverInfo": { "name": "vptx", "version": env!("CARGO_PKG_VERSION") },
            "capabilities": {
                "positionEncoding": self.encoding.kind(),
                "textDocumentSync": {
                    "openClose": true, "change": 2, "save": { "includeText": false },
                },
                "diagnosticProvider": {
                    "identifier": "vptx",
                    "interFileDependencies": false,
                    "workspaceDiagnostics": false,
                },
                "hoverProvider": true,
                "definitionProvider": true,
                "referencesProvider": true,
                "documentHighlightProvider": true,
                "renameProvider": { "prepareProvider": true },
                "documentSymbolProvider": true,
                "foldingRangeProvider": true,
                "semanticTokensProvider": {
                    "legend": { "tokenTypes": tokens::TYPES, "tokenModifiers": tokens::MODIFIERS },
                    "full": true,
                    "range": true,
                },
                "inlayHintProvider": true,
                "completionProvider": { "triggerCharacters": [".", "%"] },
                "signatureHelpProvider": { "triggerCharacters": [" ", ","] },
                "codeActionProvider": { "codeActionKinds": kinds },
                "documentFormattingProvider": true,
                "documentRangeFormattingProvider": true,
                "executeCommandProvider": { "commands": [
                    "vptx.showProgram", "vptx.explain", "vptx.evaluate", "vptx.instructions",
                ] },
                "workspace": {
                    "workspaceFolders": { "supported": true, "changeNotifications": true },
                },
            },
        }))
    }

    /// Takes the options of a client. If they have an error, shows it and keeps the options so far.
    fn choose(&mut self, options: Value) {
        match Options::read(options) {
            Ok(options) => self.options = options,
            Err(message) => self.show(&format!("the options for vptx: {message}")),
        }
        self.reload();
    }

    /// Reads settings and headers again, and drops findings made with the old ones.
    fn reload(&mut self) {
        self.headers = HeaderFiles::default();
        self.failed = mem::take(&mut self.failing);
        let finder = Finder::new(self.options.config.as_deref(), false);
        if let Err(error) = &finder {
            self.show_once(error);
        }
        self.finder = Some(finder);
        for document in self.documents.values_mut() {
            document.found.take();
        }
        for uri in self.documents.keys().cloned().collect::<Vec<_>>() {
            self.warn(&uri);
        }
        if self.client.pulls {
            if self.client.refreshes && self.phase == Phase::Running {
                self.ask("workspace/diagnostic/refresh", Value::Null);
            }
        } else {
            self.unsent.extend(self.documents.keys().cloned());
        }
    }

    /// Shows once why settings of a text cannot be read, and what is not known of the target or the
    /// version that the text is checked against.
    fn warn(&mut self, uri: &str) {
        let Some(document) = self.documents.get(uri) else { return };
        let (settings, in_force) = (self.settings(document), self.in_force(document));
        if let Err(error) = settings {
            self.show_once(&error);
        }
        for message in in_force.iter().flat_map(|in_force| unknown_names(&in_force.check)) {
            if self.warned.insert(message.clone()) {
                self.beside.push(message_to_user(WARNING, &message));
            }
        }
    }

    /// Shows an error of the settings, unless the settings had it before they were read again.
    fn show_once(&mut self, error: &impl Display) {
        let text = error.to_string();
        let is_known = self.failed.contains(&text);
        if self.failing.insert(text) && !is_known {
            self.show(error);
        }
    }

    /// Shows an error.
    fn show(&mut self, error: &impl Display) {
        self.beside.push(message_to_user(ERROR, error));
    }

    fn ask(&mut self, method: &str, params: Value) {
        self.requests += 1;
        let id = format!("vptx-{}", self.requests).into();
        self.beside.push(Message::Request(Request { id, method: method.into(), params }));
    }

    fn notification(&mut self, notification: Notification) {
        if let Some(id) = cancelled(&notification) {
            // The request to cancel was handled before.
            self.cancelled.remove(&id);
            return;
        }
        let Notification { method, params: value } = notification;
        if method == "exit" {
            self.phase = Phase::Ended(self.phase == Phase::ShutDown);
        }
        if self.phase != Phase::Running {
            return;
        }
        let done = match &*method {
            "initialized" => {
                self.watch();
                Ok(())
            }
            "textDocument/didOpen" => params(value).map(|params| self.open(params)),
            "textDocument/didChange" => params(value).and_then(|params| self.change(params)),
            "textDocument/didClose" => self.close(&value),
            "textDocument/didSave" | "workspace/didChangeWatchedFiles" => {
                self.reload();
                Ok(())
            }
            "workspace/didChangeConfiguration" => {
                let settings = value.pointer("/settings/vptx").filter(|it| !it.is_null());
                if let Some(settings) = settings {
                    self.choose(settings.clone());
                } else {
                    self.reload();
                }
                Ok(())
            }
            _ => Ok(()),
        };
        if let Err(error) = done {
            let params =
                json!({ "type": ERROR, "message": format!("`{method}`: {}", error.message) });
            let notification = Notification::new("window/logMessage".into(), params);
            self.beside.push(Message::Notification(notification));
        }
    }

    /// Asks the client to watch settings files.
    fn watch(&mut self) {
        if self.client.watches {
            let watchers = json!([{ "globPattern": format!("**/{FILE}") }]);
            let registration = json!({
                "id": "vptx-settings",
                "method": "workspace/didChangeWatchedFiles",
                "registerOptions": { "watchers": watchers },
            });
            self.ask("client/registerCapability", json!({ "registrations": [registration] }));
        }
    }

    fn open(&mut self, params: DidOpenTextDocumentParams) {
        let item = params.text_document;
        let language_id = serde_json::to_value(&item.language_id).unwrap_or_default();
        let document = Document {
            path: path_of(&item.uri),
            version: item.version,
            language_id: language_id.as_str().unwrap_or_default().to_ascii_lowercase(),
            text: Text::new(item.text, self.encoding),
            found: OnceCell::new(),
            uri: item.uri,
        };
        let uri = document.uri.as_ref().to_string();
        self.documents.insert(uri.clone(), document);
        self.warn(&uri);
        self.changed(uri);
    }

    fn change(&mut self, params: DidChangeTextDocumentParams) -> Result<(), ResponseError> {
        let identifier = params.text_document;
        let uri = identifier.text_document_identifier.uri.as_ref().to_string();
        let document = self.documents.get_mut(&uri).ok_or_else(|| unopened(&uri))?;
        let mut fits = true;
        for change in params.content_changes {
            fits &= document.text.change(change);
        }
        document.version = identifier.version;
        document.found.take();
        self.changed(uri);
        if fits {
            Ok(())
        } else {
            Err(failure(ErrorCode::InvalidParams, "the text is larger than 4 GiB"))
        }
    }

    fn close(&mut self, value: &Value) -> Result<(), ResponseError> {
        let uri = value.pointer("/textDocument/uri").and_then(Value::as_str).unwrap_or_default();
        let document = self.documents.remove(uri).ok_or_else(|| unopened(uri))?;
        self.unsent.remove(uri);
        if !self.client.pulls {
            let params = PublishDiagnosticsParams::new(document.uri, None, Vec::new());
            let notification = Notification::new("textDocument/publishDiagnostics".into(), params);
            self.beside.push(Message::Notification(notification));
        }
        Ok(())
    }

    fn changed(&mut self, uri: String) {
        if !self.client.pulls {
            self.unsent.insert(uri);
        }
    }

    pub(super) fn document(
        &self,
        identifier: &TextDocumentIdentifier,
    ) -> Result<&Document, ResponseError> {
        let uri = identifier.uri.as_ref();
        self.documents.get(uri).ok_or_else(|| unopened(uri))
    }

    /// The settings for a text, with its whole path.
    pub(super) fn settings(
        &self,
        document: &Document,
    ) -> Result<(Arc<Settings>, Option<PathBuf>), SettingsError> {
        match &self.finder {
            Some(Ok(finder)) => finder.of_text(document.path.as_deref()),
            Some(Err(error)) => Err(error.clone()),
            None => Ok((Arc::default(), document.path.clone())),
        }
    }

    /// What holds for a text: its settings, or the defaults if these cannot be read. `None` if its
    /// language is not read.
    pub(super) fn in_force(&self, document: &Document) -> Option<InForce> {
        let defaults = |_| (Arc::default(), document.path.clone());
        let (settings, path) = self.settings(document).unwrap_or_else(defaults);
        if path.as_deref().is_some_and(|path| settings.excludes(path)) {
            return None;
        }
        let name = document.path.as_deref().unwrap_or(Path::new(""));
        let kind = FileKind::of(name, [&settings.extensions, &[]]);
        let text = document.text.as_str();
        let named = match &*document.language_id {
            _ if kind != FileKind::Other => None,
            "cuda-cpp" | "cpp" | "c" | "opencl" | "hip" => Some(Language::Cuda),
            id => id.parse().ok(),
        };
        let language = named.or_else(|| kind.language("", text.as_bytes()).ok());
        let headers = self.headers.of(document.path.as_deref(), settings.include.clone());
        let check = settings.check(path.as_deref(), &self.options.choices);
        Some(InForce {
            check: check.with_language(language?).with_headers(headers),
            format: settings.format.clone(),
            docs: settings.docs.clone(),
        })
    }

    /// The findings of a text, in the order of the text.
    pub(super) fn found<'d>(&self, document: &'d Document) -> &'d [Diagnostic] {
        document.found.get_or_init(|| {
            let Some(InForce { check, .. }) = self.in_force(document) else {
                return Vec::new();
            };
            let text = document.text.as_str();
            let (_, mut found) = check_counted(text, &check);
            found.truncate(MOST);
            found
        })
    }

    fn shown(&self, document: &Document) -> Vec<gen_lsp_types::Diagnostic> {
        let docs = self.docs(document);
        let found = self.found(document).iter();
        found.map(|found| diagnostics::shown(found, document, &docs)).collect()
    }

    /// The documentation that the findings of a text link to.
    pub(super) fn docs(&self, document: &Document) -> Docs {
        let own = || docs(self.in_force(document).and_then(|it| it.docs)).unwrap_or_default();
        self.options.docs.clone().unwrap_or_else(own)
    }

    fn publish(&self, document: &Document) -> Message {
        let params = PublishDiagnosticsParams::new(
            document.uri.clone(),
            Some(document.version),
            self.shown(document),
        );
        let method = "textDocument/publishDiagnostics".into();
        Message::Notification(Notification::new(method, params))
    }

    fn diagnostic(&self, params: &DocumentDiagnosticParams) -> Result<Value, ResponseError> {
        let document = self.document(&params.text_document)?;
        Ok(json!({ "kind": "full", "items": self.shown(document) }))
    }
}

fn unopened(uri: &str) -> ResponseError {
    failure(ErrorCode::InvalidParams, format!("`{uri}` is not open"))
}

/// The request that a notification cancels.
fn cancelled(notification: &Notification) -> Option<RequestId> {
    if notification.method != "$/cancelRequest" {
        return None;
    }
    serde_json::from_value(notification.params.get("id")?.clone()).ok()
}

/// The file of a URI.
fn path_of(uri: &Uri) -> Option<PathBuf> {
    let rest = uri.as_ref().strip_prefix("file://")?;
    // The host, which is usually empty, is not part of the path.
    let path = &rest[rest.find('/')?..];
    let path = percent_decode_str(path).decode_utf8().ok()?;
    // On Windows, the path is like `/c:/a`.
    let is_drive = path.as_bytes().get(2) == Some(&b':');
    Some(PathBuf::from(if cfg!(windows) && is_drive { &path[1..] } else { &*path }))
}
