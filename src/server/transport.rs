//! Messages on a stream: a header with a length, then JSON.

use std::io::{BufRead, Read};

use lsp_server::{Message, Notification};
use serde_json::json;

/// The largest length of a message, and of a line of its header, in bytes.
const LONGEST: u64 = 1 << 30;
const LONGEST_LINE: u64 = 4096;

/// Up to this length, memory is taken before the bytes are there.
const BELIEVED: u64 = 64 << 20;

/// A message, or the answer to something else.
pub(super) enum Incoming {
    Message(Message),
    Invalid(Message),
}

/// Reads a message; `None` at the end of the stream, or if there is no valid header. Memory
/// beyond [`BELIEVED`] grows with the bytes that arrive, not with the length in the header.
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
    let length = length.filter(|length| *length <= LONGEST)?;
    let mut text = Vec::with_capacity(length.min(BELIEVED) as usize);
    input.take(length).read_to_end(&mut text).ok()?;
    if (text.len() as u64) < length {
        return None;
    }
    Some(match serde_json::from_slice(&text) {
        Ok(message) => Incoming::Message(message),
        Err(error) => Incoming::Invalid(refusal(&error)),
    })
}

/// The answer to something that is no message: whether it was a request is not known.
fn refusal(error: &serde_json::Error) -> Message {
    let params = json!({ "type": 1, "message": format!("vptx: no valid message: {error}") });
    Message::Notification(Notification::new("window/logMessage".into(), params))
}
