//! PTX inside binaries: fat binaries in libraries, objects and programs, and PTX that is not
//! packed, also in wheels and other archives.
//!
//! [`images`] finds the PTX texts in some bytes; [`Images`] does so for a stream, and keeps one
//! text at a time. [`walk`] also looks into archives, and into listings that cuobjdump printed.
//!
//! ```
//! # fn fat_binary(text: &[u8]) -> Vec<u8> {
//! #     let mut entry = vec![0; 64];
//! #     entry[0..8].copy_from_slice(&[1, 0, 1, 1, 64, 0, 0, 0]);
//! #     entry[8..16].copy_from_slice(&(text.len() as u64).to_le_bytes());
//! #     entry[24..32].copy_from_slice(&[0, 0, 8, 0, 90, 0, 0, 0]);
//! #     entry.extend(text);
//! #     let mut all = vec![0x50, 0xed, 0x55, 0xba, 1, 0, 16, 0];
//! #     all.extend((entry.len() as u64).to_le_bytes());
//! #     all.extend(entry);
//! #     all
//! # }
//! let library = [b"\x7fELF code ", &fat_binary(b".version 8.0\n.target sm_90\n")[..]].concat();
//! let images: Vec<_> = vptx::extract::images(&library).collect::<Result<_, _>>()?;
//! assert_eq!(images[0].target.to_string(), "sm_90");
//! assert_eq!(images[0].text(), ".version 8.0\n.target sm_90\n");
//! # Ok::<(), vptx::extract::ExtractError>(())
//! ```
//!
//! # The container
//!
//! A fat binary starts with the bytes `50 ed 55 ba`, a version (16 bits, 1), the length of
//! this header (16 bits, 16) and the length of all entries (64 bits), in little-endian
//! order. The header of an entry has at least 64 bytes:
//!
//! | offset | bits | |
//! |---|---|---|
//! | 0 | 16 | kind: 1 PTX, 2 machine code, 0x100 several entries packed as one |
//! | 4 | 32 | length of this header |
//! | 8 | 64 | length of the payload after it, padded |
//! | 16 | 32 | length of a compressed payload without padding |
//! | 20 | 32 | offset in this header of two words: offset and length of the options of ptxas; 0 without |
//! | 24 | 16, 16 | minor and major version: of PTX, for PTX |
//! | 28 | 32 | architecture: 90 for `sm_90` |
//! | 32 | 32, 32 | offset and length of the name of the source; 0 without a name |
//! | 40 | 64 | flags: 0x2000 LZ4 block, 0x8000 zstd, 0x10000 obfuscated, 0x100000 `sm_90a`, 0x200000 `sm_100f` |
//! | 56 | 64 | length of the text that a compressed payload gives |
//!
//! An entry that packs several (`nvcc --concat`) has a table after these 64 bytes: the number of
//! entries (32 bits), the length of the table with these 8 bytes (32 bits), and the header of each,
//! with an offset in the unpacked payload at byte 4. The name and the options follow such a header,
//! each with a NUL, padded to 8 bytes. Their offsets count from the start of this header.
//!
//! If a fat binary has several texts for one target, nvJitLink 13.5 takes the last:
//! [`Image::replaces`]. The driver of CUDA 13.0 takes the last text for the target of its GPU, but
//! the first text for an older target.
//!
//! A fat binary must have the version 0x0101 at byte 2 of its first entry: in programs that read
//! fat binaries, the first bytes of a fat binary are also a part of the machine code.
//!
//! # Texts as they are
//!
//! Mojo and Rust keep PTX in the data of a program; GCC keeps it in an `ar` archive. A text starts
//! with comments, `.version 8.5` and `.target sm_90`, at the start of a file or after other data,
//! and ends before the first byte that no text has, or after the module.
//!
//! # Bounds
//!
//! A text ends at its first NUL. Lengths are not trusted: no more memory is taken than the
//! input can fill, and never more than [`Limits::image`]. Fat binaries are
//! found by their first bytes, wherever they are: section tables of ELF, PE and Mach-O may
//! be stripped or wrong, and a compressed member of an archive is read once, in order.

mod archive;
mod budget;
mod fatbin;
mod images;
mod listing;
mod members;
mod packed;
mod payload;
mod plain;
mod window;

use std::borrow::Cow;
use std::io::{self, Read};
use std::ops::AddAssign;

use thiserror::Error;

use crate::isa::Target;
use crate::source::decoded;

pub(crate) use archive::packed_by;
pub use archive::{Member, walk};
pub use images::Images;
pub(crate) use packed::is_zstandard;

/// A PTX text in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Image {
    /// Its number among the PTX texts of the file, from 1.
    pub number: u32,
    /// Where its entry starts in the file, in bytes. Outside of a fat binary, where the text itself
    /// starts. An entry may have several texts.
    pub offset: u64,
    /// The target, as the entry or the text has it.
    pub target: Target,
    /// Major and minor version of PTX, as the entry or the text has them.
    pub version: (u16, u16),
    /// How the text was packed.
    pub compression: Compression,
    /// The number of an earlier text for the same target in the same fat binary, in place
    /// of which nvJitLink takes this one.
    pub replaces: Option<u32>,
    /// Whether the file is this text and nothing else.
    pub is_file: bool,
    /// The text, without the NUL that ends it.
    pub bytes: Vec<u8>,
}

impl Image {
    /// The text; bytes that are not UTF-8 are U+007F, so that offsets stay.
    pub fn text(&self) -> Cow<'_, str> {
        decoded(&self.bytes)
    }

    /// A name for the text: `3.sm_90.ptx`.
    pub fn name(&self) -> String {
        format!("{}.{}.ptx", self.number, self.target)
    }
}

/// How an entry is packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "lowercase"))]
#[non_exhaustive]
pub enum Compression {
    /// Not at all.
    None,
    /// A block of LZ4.
    Lz4,
    /// A frame of Zstandard.
    Zstd,
}

impl Compression {
    /// Its name.
    pub const fn text(self) -> &'static str {
        match self {
            Compression::None => "none",
            Compression::Lz4 => "lz4",
            Compression::Zstd => "zstd",
        }
    }
}

/// How many entries of each kind were passed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counts {
    /// Fat binaries.
    pub containers: u64,
    /// PTX texts that were read.
    pub ptx: u64,
    /// Machine code.
    pub cubin: u64,
    /// Entries of other kinds.
    pub other: u64,
    /// PTX texts that could not be read.
    pub failed: u64,
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Counts) {
        let Counts { containers, ptx, cubin, other, failed } = other;
        self.containers += containers;
        self.ptx += ptx;
        self.cubin += cubin;
        self.other += other;
        self.failed += failed;
    }
}

/// Bounds for input that may be hostile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// The largest number of bytes of one text, packed or not.
    pub image: u64,
    /// How deep archives may nest.
    pub depth: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { image: 256 << 20, depth: 6 }
    }
}

impl Limits {
    /// With another bound for texts, in bytes.
    #[must_use]
    pub fn with_image(self, image: u64) -> Limits {
        Limits { image, ..self }
    }
}

/// Why a text, or the rest of a file, could not be read.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ExtractError {
    /// Reading failed.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The file ends inside of an entry.
    #[error("the entry at byte {offset} is cut off: the file ends")]
    Truncated {
        /// Where the entry starts.
        offset: u64,
    },
    /// No entry starts where one should.
    #[error("there is no valid entry at byte {offset} of a fat binary")]
    Malformed {
        /// The place.
        offset: u64,
    },
    /// The text is obfuscated.
    #[error("the PTX at byte {offset} is obfuscated")]
    Obfuscated {
        /// Where the entry starts.
        offset: u64,
    },
    /// The text is larger than allowed.
    #[error("the PTX at byte {offset} has more than {limit} bytes, the limit")]
    TooLarge {
        /// Where the entry starts.
        offset: u64,
        /// The length, as far as it is known.
        length: u64,
        /// The limit.
        limit: u64,
    },
    /// The payload cannot be unpacked.
    #[error("the PTX at byte {offset} cannot be unpacked: {reason}")]
    Corrupt {
        /// Where the entry starts.
        offset: u64,
        /// What the decoder says.
        reason: String,
    },
    /// Archives nest too deep.
    #[error("archives nest deeper than {limit} levels")]
    TooDeep {
        /// The limit.
        limit: usize,
    },
    /// An archive cannot be read.
    #[error("the archive cannot be read: {reason}")]
    Archive {
        /// What the reader of the archive says.
        reason: String,
    },
}

/// The PTX texts in some bytes: a library, a program, an object, a fat binary. Errors are
/// about one text each; the others are still read.
pub fn images(bytes: &[u8]) -> Images<&[u8]> {
    Images::new(bytes, Limits::default())
}

/// The next bytes, at most `most`.
fn head_of(reader: impl Read, most: u64) -> io::Result<Vec<u8>> {
    let mut head = Vec::with_capacity(most.min(512) as usize);
    reader.take(most).read_to_end(&mut head)?;
    Ok(head)
}
