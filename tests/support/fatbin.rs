//! Fat binaries and archives, made by hand.

use std::io::{Cursor, Write};

/// An entry of a fat binary, before it is laid out.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) kind: u16,
    pub(crate) arch: u32,
    pub(crate) flags: u64,
    pub(crate) payload: Vec<u8>,
    /// The length of the text in a compressed payload.
    pub(crate) unpacked: u64,
}

pub(crate) const LZ4: u64 = 0x2000;
pub(crate) const ZSTD: u64 = 0x8000;
pub(crate) const OBFUSCATED: u64 = 0x1_0000;

/// PTX as it is.
pub(crate) fn plain(arch: u32, text: &str) -> Entry {
    let payload = [text.as_bytes(), b"\0"].concat();
    Entry { kind: 1, arch, flags: 0x11, payload, unpacked: 0 }
}

/// PTX packed as a block of LZ4.
pub(crate) fn lz4(arch: u32, text: &str) -> Entry {
    let text = [text.as_bytes(), b"\0"].concat();
    let payload = lz4_flex::block::compress(&text);
    Entry { kind: 1, arch, flags: 0x11 | LZ4, payload, unpacked: text.len() as u64 }
}

/// PTX packed as a frame of Zstandard.
pub(crate) fn zstd(arch: u32, text: &str) -> Entry {
    let text = [text.as_bytes(), b"\0"].concat();
    let level = ruzstd::encoding::CompressionLevel::Fastest;
    let payload = ruzstd::encoding::compress_to_vec(&text[..], level);
    Entry { kind: 1, arch, flags: 0x11 | ZSTD, payload, unpacked: text.len() as u64 }
}

/// Machine code.
pub(crate) fn cubin(arch: u32) -> Entry {
    Entry { kind: 2, arch, flags: 0x11, payload: vec![0x7f; 40], unpacked: 0 }
}

/// A fat binary of some entries, as nvcc 13.5 lays it out: payloads end at a multiple of
/// eight bytes.
pub(crate) fn fat_binary(entries: &[Entry]) -> Vec<u8> {
    let mut all = Vec::new();
    for entry in entries {
        let Entry { kind, arch, flags, payload, unpacked } = entry;
        let padded = payload.len().next_multiple_of(8);
        let packed = if *unpacked > 0 { payload.len() as u32 } else { 0 };
        all.extend(kind.to_le_bytes());
        all.extend([1, 1, 64, 0, 0, 0]);
        all.extend((padded as u64).to_le_bytes());
        all.extend(packed.to_le_bytes());
        all.extend([0; 4]);
        // Minor and major version.
        all.extend([5, 0, 8, 0]);
        all.extend(arch.to_le_bytes());
        all.extend([0; 8]);
        all.extend(flags.to_le_bytes());
        all.extend([0; 8]);
        all.extend(unpacked.to_le_bytes());
        all.extend(payload);
        all.extend(vec![0; padded - payload.len()]);
    }
    let head = [0x50, 0xed, 0x55, 0xba, 1, 0, 16, 0];
    [&head[..], &(all.len() as u64).to_le_bytes(), &all].concat()
}

/// Something like a library around fat binaries.
pub(crate) fn library(binaries: &[Vec<u8>]) -> Vec<u8> {
    let mut all = b"\x7fELF and so on, ".repeat(100);
    for binary in binaries {
        all.extend(binary);
        all.extend(b"code\0\0".repeat(33));
    }
    all
}

pub(crate) fn zip(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut archive = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in members {
        let options = zip::write::SimpleFileOptions::default()
            .compression_method(zip::CompressionMethod::Deflated);
        archive.start_file(*name, options).expect("a name");
        archive.write_all(bytes).expect("memory");
    }
    archive.finish().expect("memory").into_inner()
}

pub(crate) fn tar(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut archive = tar::Builder::new(Vec::new());
    for (name, bytes) in members {
        let mut header = tar::Header::new_ustar();
        header.set_size(bytes.len() as u64);
        // A hostile name would be refused where it is set.
        let place = &mut header.as_old_mut().name;
        place[..name.len()].copy_from_slice(name.as_bytes());
        header.set_cksum();
        archive.append(&header, *bytes).expect("memory");
    }
    archive.into_inner().expect("memory")
}

pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let level = flate2::Compression::fast();
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), level);
    encoder.write_all(bytes).expect("memory");
    encoder.finish().expect("memory")
}

pub(crate) fn zstd_frame(bytes: &[u8]) -> Vec<u8> {
    ruzstd::encoding::compress_to_vec(bytes, ruzstd::encoding::CompressionLevel::Fastest)
}
