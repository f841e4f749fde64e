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

/// Reads a message; `None` at the end of the stream. Fails if there is no valid header. Memory grows
/// with the bytes that arrive, not with the length in the header.
pub(super) fn read(input: &mut impl BufRead) -> io::Result<Option<Incoming>> {
    let Some(length) = length(input)? else { return Ok(None) };
    let mut content = input.take(length);
    // The message is parsed as it arrives, so that a large text is not in memory twice.
    let value = serde_json::from_reader(&mut content);
    // If the input is no message, its rest is skipped.
    io::copy(&mut content, &mut io::sink())?;
    if content.limit() > 0 {
        return Ok(None);
    }
    Ok(Some(match value.and_then(message) {
        Ok(message) => Incoming::Message(message),
        Err(error) => Incoming::Invalid(refusal(&error)),
    }))
}

/// The length of the next message, in bytes, from its header; `None` at the end of the stream.
fn length(input: &mut impl BufRead) -> io::Result<Option<u64>> {
    let invalid = || {
        let message = "no header with a valid `Content-Length`; editors start this command";
        io::Error::new(io::ErrorKind::InvalidData, message)
    };
    let mut length = None;
    loop {
        let mut line = Vec::new();
        input.take(LONGEST_LINE).read_until(b'\n', &mut line)?;
        let Some(rest) = line.strip_suffix(b"\n") else {
            return if line.len() as u64 == LONGEST_LINE { Err(invalid()) } else { Ok(None) };
        };
        let rest = rest.strip_suffix(b"\r").unwrap_or(rest);
        if rest.is_empty() {
            return length.filter(|length| *length <= LONGEST).map(Some).ok_or_else(invalid);
        }
        let field = str::from_utf8(rest).ok().and_then(|rest| rest.split_once(':'));
        let (name, value) = field.ok_or_else(invalid)?;
        if name.eq_ignore_ascii_case("content-length") {
            length = Some(value.trim().parse::<u64>().map_err(|_| invalid())?);
        }
    }
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
