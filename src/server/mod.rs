//! The language server: findings, fixes and explanations in editors, over standard input
//! and output (LSP 3.18).
//!
//! [`Server`] takes one message and gives its answers: it knows neither threads nor streams. `run`
//! reads messages in a thread of its own, so that a waiting request can be cancelled. It looks for
//! findings only when no message waits.

mod actions;
mod completion;
mod diagnostics;
mod document;
mod hints;
mod hover;
mod options;
mod outline;
mod place;
mod requests;
mod state;
mod statements;
mod tokens;
mod transport;

use std::collections::VecDeque;
use std::io::{self, BufReader};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use lsp_server::Message;
use thiserror::Error;

pub use self::state::Server;
use self::transport::Incoming;

/// The largest number of messages in the queue. If the queue is full, the client waits.
const WAITING: usize = 256;

/// How long findings wait after a change: while a user types, the editor asks for completion next.
const QUIET: Duration = Duration::from_millis(10);

/// Why the server ended early.
#[derive(Debug, Error)]
pub(crate) enum Failure {
    /// The input could not be read, or is not what a client sends.
    #[error("cannot read standard input: {0}")]
    Read(#[source] io::Error),
    #[error("cannot write: {0}")]
    Write(#[from] io::Error),
}

/// Serves a client on standard input and output until it sends `exit` or closes the input. Returns
/// whether the client sent `shutdown` first.
pub(crate) fn run() -> Result<bool, Failure> {
    let (sender, receiver) = mpsc::sync_channel(WAITING);
    thread::spawn(move || {
        let mut input = BufReader::new(io::stdin().lock());
        while let Some(incoming) = transport::read(&mut input).transpose() {
            let is_last = incoming.is_err();
            if sender.send(incoming).is_err() || is_last {
                return;
            }
        }
    });
    let mut server = Server::default();
    let mut waiting = VecDeque::new();
    let mut due = None;
    let mut output = io::stdout().lock();
    let mut send = |messages: Vec<Message>| {
        messages.into_iter().try_for_each(|message| message.write(&mut output))
    };
    while let Some(incoming) = next(&mut server, &mut waiting, &receiver, &mut due, &mut send)? {
        send(match incoming {
            Incoming::Message(message) => server.handle(message),
            Incoming::Invalid(answer) => vec![answer],
        })?;
        if let Some(in_order) = server.ended() {
            return Ok(in_order);
        }
    }
    Ok(server.is_shut_down())
}

/// The next message. While none waits, findings that are `due` are sent.
fn next(
    server: &mut Server,
    waiting: &mut VecDeque<io::Result<Incoming>>,
    receiver: &Receiver<io::Result<Incoming>>,
    due: &mut Option<Instant>,
    send: &mut impl FnMut(Vec<Message>) -> io::Result<()>,
) -> Result<Option<Incoming>, Failure> {
    loop {
        // A request may be cancelled by a message behind it in the queue, so all messages are
        // looked at first.
        while let Ok(incoming) = receiver.try_recv() {
            if let Ok(Incoming::Message(message)) = &incoming {
                server.foresee(message);
            }
            waiting.push_back(incoming);
            if waiting.len() >= WAITING {
                break;
            }
        }
        if let Some(incoming) = waiting.pop_front() {
            return incoming.map(Some).map_err(Failure::Read);
        }
        let incoming = if server.has_news() {
            let until = *due.get_or_insert_with(|| Instant::now() + QUIET);
            receiver.recv_timeout(until.saturating_duration_since(Instant::now()))
        } else {
            *due = None;
            receiver.recv().map_err(|_| RecvTimeoutError::Disconnected)
        };
        match incoming {
            Err(RecvTimeoutError::Timeout) => {
                *due = None;
                send(server.news())?;
            }
            Ok(incoming) => {
                if let Ok(Incoming::Message(message)) = &incoming {
                    server.foresee(message);
                }
                waiting.push_back(incoming);
            }
            Err(RecvTimeoutError::Disconnected) => {
                send(server.news())?;
                return Ok(None);
            }
        }
    }
}
