//! Messages on a stream: a header with a length, then JSON.

use std::io::{self, BufRead, Read};

use lsp_server::{Message, Notification, Request};
use serde::de::Error;
use serde_json::{Value, json};

/// The largest length of a message, in bytes.
const LONGEST: u64 = 1 << 30;
/// The largest length of a line of a header, in bytes.
const LONGEST_LINE: u64 = 4096;

/// A message, or the answer to input that is no message.
pub(super) enum Incoming {
    Message(Message),
    Invalid(Message),
}

/// Reads a message; `None` at the end of the stream, or if there is no valid header. Memory
/// grows with the bytes that arrive, not with the length in the header.
pub(super) fn read(input: &mut impl BufRead) -> Option<Incoming> {
    let mut length = None;
    loop {
        let mut line = Vec::new();
        input.take(LONGEST_LINE).read_until(b'\n', &mut line).ok()?;
        let line = line.strip_suffix(b"\n")?;
        let line = str::from_utf8(line.strip_suffix(b"\r").unwrap_or(line)).ok()?;
        if line.is_empty() {
            break;
        }
        let (name, value) = line.split_once(':')?;
        if name.eq_ignore_ascii_case("content-length") {
            length = Some(value.trim().parse::<u64>().ok()?);
        }
    }
    let mut content = input.take(length.filter(|length| *length <= LONGEST)?);
    // The message is parsed as it arrives, so that a large text is not in memory twice.
    let value = serde_json::from_reader(&mut content);
    // If the input is no message, its rest is skipped.
    let read = io::copy(&mut content, &mut io::sink());
    if read.is_err() || content.limit() > 0 {
        return None;
    }
    Some(match value.and_then(message) {
        Ok(message) => Incoming::Message(message),
        Err(error) => Incoming::Invalid(refusal(&error)),
    })
}

/// A value as a message. The text of a document is moved; deserializing a [`Message`] would copy
/// it.
fn message(value: Value) -> Result<Message, serde_json::Error> {
    let Value::Object(mut parts) = value else {
        return Err(serde_json::Error::custom("it is not a JSON object"));
    };
    if !parts.get("method").is_some_and(Value::is_string) {
        return serde_json::from_value(Value::Object(parts));
    }
    let method = serde_json::from_value(parts.remove("method").unwrap_or_default())?;
    let params = parts.remove("params").unwrap_or_default();
    Ok(match parts.remove("id") {
        Some(id) => Message::Request(Request { id: serde_json::from_value(id)?, method, params }),
        None => Message::Notification(Notification { method, params }),
    })
}

/// The answer to input that is no message. It is a notification, as the input may not be a request.
fn refusal(error: &serde_json::Error) -> Message {
    let params = json!({ "type": 1, "message": format!("vptx: invalid message: {error}") });
    Message::Notification(Notification::new("window/logMessage".into(), params))
}
