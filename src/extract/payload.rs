//! Unpacking of a payload.

use std::io::Read;

use super::budget::Budget;
use super::fatbin::Entry;
use super::{Compression, ExtractError};

/// The largest ratio of a block of LZ4: a byte of a length stands for up to 255 bytes.
const LZ4_RATIO: u64 = 255;
/// How many bytes may follow a text: a NUL, and what fills up a word of 64 bits.
pub(super) const PADDING: u64 = 8;

/// Unpacks the payload of an entry. The result may have some bytes more than the text.
pub(super) fn unpack(
    payload: &[u8],
    entry: &Entry,
    offset: u64,
    limit: u64,
    budget: &Budget,
) -> Result<Vec<u8>, ExtractError> {
    let corrupt = |reason: String| ExtractError::Corrupt { offset, reason };
    let most = limit.saturating_add(PADDING);
    let too_large = |length| ExtractError::TooLarge { offset, length, limit };
    // Packed bytes count, too: entries may overlap, and a payload with errors takes time as well.
    budget.spend(payload.len() as u64)?;
    let all = match entry.compression() {
        Compression::None => payload.to_vec(),
        Compression::Lz4 => {
            let length = entry.unpacked;
            if length > most {
                return Err(too_large(length));
            }
            if length > LZ4_RATIO * (payload.len() as u64 + 16) {
                return Err(corrupt("its packed data are too short for the stated size".into()));
            }
            budget.spend(length)?;
            let mut text = vec![0; length as usize];
            let written = lz4_flex::block::decompress_into(payload, &mut text)
                .map_err(|error| corrupt(error.to_string()))?;
            text.truncate(written);
            text
        }
        Compression::Zstd => {
            let decoder = ruzstd::decoding::StreamingDecoder::new(payload)
                .map_err(|error| corrupt(error.to_string()))?;
            let mut text = Vec::new();
            let read =
                decoder.take(budget.left().min(most.saturating_add(1))).read_to_end(&mut text);
            budget.spend(text.len() as u64)?;
            read.map_err(|error| corrupt(error.to_string()))?;
            if text.len() as u64 > most {
                return Err(too_large(text.len() as u64));
            }
            text
        }
    };
    let length = text(&all).len() as u64;
    if length > limit { Err(too_large(length)) } else { Ok(all) }
}

/// The text of an unpacked payload: it ends at its first NUL.
pub(super) fn text(payload: &[u8]) -> &[u8] {
    &payload[..memchr::memchr(0, payload).unwrap_or(payload.len())]
}
