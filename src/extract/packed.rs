//! Gzip and Zstandard files. Several of either kind may stand one after the other in one file.

use std::io::{self, BufRead, Read};

use flate2::bufread::GzDecoder;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

use super::members::pass;
use super::{ExtractError, head_of};

/// The unpacked bytes of all members of a gzip file (RFC 1952).
pub(super) struct Gzip<R> {
    /// The decoder of the current member; `None` after the last one.
    member: Option<GzDecoder<R>>,
    /// Why the bytes behind the last member are no member.
    wrong: Option<io::Error>,
}

impl<R: BufRead> Gzip<R> {
    pub(super) fn new(source: R) -> Gzip<R> {
        Gzip { member: Some(GzDecoder::new(source)), wrong: None }
    }

    /// To be asked when all members were read.
    ///
    /// # Errors
    /// If other bytes follow them.
    pub(super) fn finish(self) -> Result<(), ExtractError> {
        self.wrong.map_or(Ok(()), |error| Err(error.into()))
    }
}

impl<R: BufRead> Read for Gzip<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while let Some(member) = &mut self.member {
            let read = member.read(buffer)?;
            if read > 0 || buffer.is_empty() {
                return Ok(read);
            }
            let rest = self.member.take().map(GzDecoder::into_inner);
            match rest.map(next_member).transpose() {
                Ok(next) => self.member = next.flatten(),
                Err(error) => {
                    self.wrong = Some(error);
                    return Ok(0);
                }
            }
        }
        Ok(0)
    }
}

/// The member behind the end of another one. Zeros may fill up the last block of a tape.
fn next_member<R: BufRead>(mut rest: R) -> io::Result<Option<GzDecoder<R>>> {
    loop {
        let bytes = rest.fill_buf()?;
        match bytes.iter().take_while(|byte| **byte == 0).count() {
            0 if bytes.is_empty() => return Ok(None),
            0 if bytes[0] == 0x1f => return Ok(Some(GzDecoder::new(rest))),
            0 => return Err(io::Error::other("a member is followed by other bytes")),
            zeros => rest.consume(zeros),
        }
    }
}

/// Whether a file starts as a file of Zstandard does: with a frame, or with one that is skipped.
pub(crate) fn is_zstandard(head: &[u8]) -> bool {
    matches!(head, [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..])
}

/// The unpacked bytes of all frames of a Zstandard file (RFC 8878).
pub(super) struct Zstandard<R> {
    source: R,
    decoder: FrameDecoder,
    /// Whether the end of the current frame was not reached yet.
    is_inside: bool,
    /// Why the bytes behind the last frame are no frame.
    wrong: Option<io::Error>,
}

impl<R: Read> Zstandard<R> {
    /// # Errors
    /// If no frame starts here.
    pub(super) fn new(source: R) -> io::Result<Zstandard<R>> {
        let mut all =
            Zstandard { source, decoder: FrameDecoder::new(), is_inside: false, wrong: None };
        all.next_frame()?;
        Ok(all)
    }

    /// To be asked when all frames were read.
    ///
    /// # Errors
    /// If other bytes follow them.
    pub(super) fn finish(self) -> Result<(), ExtractError> {
        self.wrong.map_or(Ok(()), |error| Err(error.into()))
    }

    /// Goes to the next frame, or to the end.
    fn next_frame(&mut self) -> io::Result<()> {
        loop {
            let magic = head_of(&mut self.source, 4)?;
            if magic.is_empty() {
                return Ok(());
            }
            if !is_zstandard(&magic) {
                return Err(io::Error::other("a frame is followed by other bytes"));
            }
            match self.decoder.reset((&magic[..]).chain(&mut self.source)) {
                Ok(()) => {
                    self.is_inside = true;
                    return Ok(());
                }
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                })) => pass(&mut self.source, length.into())?,
                Err(error) => return Err(io::Error::other(error)),
            }
        }
    }
}

impl<R: Read> Read for Zstandard<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.is_inside && !buffer.is_empty() {
            while self.decoder.can_collect() == 0 && !self.decoder.is_finished() {
                let one = BlockDecodingStrategy::UptoBlocks(1);
                self.decoder.decode_blocks(&mut self.source, one).map_err(io::Error::other)?;
            }
            let read = self.decoder.read(buffer)?;
            if read > 0 {
                return Ok(read);
            }
            let stated = self.decoder.get_checksum_from_data();
            if stated.is_some() && stated != self.decoder.get_calculated_checksum() {
                return Err(io::Error::other("its checksum is wrong"));
            }
            self.is_inside = false;
            if let Err(error) = self.next_frame() {
                self.wrong = Some(error);
                return Ok(0);
            }
        }
        Ok(0)
    }
}
