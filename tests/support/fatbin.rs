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

/// An entry whose texts lie in ranges of one payload, as `nvcc --concat` makes it.
pub(crate) fn joined(ranges: &[(u32, u64)], payload: &[u8]) -> Vec<u8> {
    let mut table = Vec::new();
    for (offset, length) in ranges {
        table.extend([1, 0, 1, 1]);
        table.extend(offset.to_le_bytes());
        table.extend(length.to_le_bytes());
        table.extend([0; 8]);
        table.extend([0, 0, 8, 0, 90, 0, 0, 0]);
        table.extend([0; 32]);
    }
    let mut entry = vec![0, 1, 1, 1];
    entry.extend((72 + table.len() as u32).to_le_bytes());
    entry.extend((payload.len() as u64).to_le_bytes());
    entry.extend([0; 8]);
    entry.extend([0, 0, 8, 0, 90, 0, 0, 0]);
    entry.extend([0; 32]);
    entry.extend((ranges.len() as u32).to_le_bytes());
    entry.extend((8 + table.len() as u32).to_le_bytes());
    entry.extend(table);
    entry.extend(payload);
    let head = [0x50, 0xed, 0x55, 0xba, 1, 0, 16, 0];
    [&head[..], &(entry.len() as u64).to_le_bytes(), &entry].concat()
}

/// Bytes like those of a library that contains fat binaries.
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
        // `set_path` would refuse a hostile name.
        let place = &mut header.as_old_mut().name;
        place[..name.len()].copy_from_slice(name.as_bytes());
        header.set_cksum();
        archive.append(&header, *bytes).expect("memory");
    }
    archive.into_inner().expect("memory")
}

/// An archive as GNU's `ar` writes it: a name of more than 15 bytes stands in a table.
pub(crate) fn ar(members: &[(&str, &[u8])]) -> Vec<u8> {
    let (mut table, mut rest) = (Vec::new(), Vec::new());
    let put = |all: &mut Vec<u8>, name: &str, bytes: &[u8]| {
        let fields = format!("{name:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n", 0, 0, 0, 644, bytes.len());
        all.extend(fields.as_bytes());
        all.extend(bytes);
        all.extend(vec![b'\n'; bytes.len() % 2]);
    };
    for (name, bytes) in members {
        let mut short = format!("{name}/");
        if short.len() > 16 {
            short = format!("/{}", table.len());
            table.extend(format!("{name}/\n").as_bytes());
        }
        put(&mut rest, &short, bytes);
    }
    let mut all = b"!<arch>\n".to_vec();
    put(&mut all, "//", &table);
    [all, rest].concat()
}

/// A tar archive of POSIX: records before a file give its name, and its size, which its own header
/// states as 0.
pub(crate) fn tar_of_records(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut archive = tar::Builder::new(Vec::new());
    for (name, bytes) in members {
        let size = bytes.len().to_string();
        let records = [("path", name.as_bytes()), ("size", size.as_bytes())];
        archive.append_pax_extensions(records).expect("memory");
        let mut header = tar::Header::new_ustar();
        header.set_path("short").expect("a name");
        header.set_cksum();
        archive.append(&header, *bytes).expect("memory");
    }
    archive.into_inner().expect("memory")
}

/// A tar archive with one file of a long name, in the form of GNU.
pub(crate) fn tar_of_long_name(name: &[u8], bytes: &[u8]) -> Vec<u8> {
    let mut archive = tar::Builder::new(Vec::new());
    for (kind, bytes) in [(tar::EntryType::GNULongName, name), (tar::EntryType::Regular, bytes)] {
        let mut header = tar::Header::new_gnu();
        header.set_path("short").expect("a name");
        header.set_size(bytes.len() as u64);
        header.set_entry_type(kind);
        header.set_cksum();
        archive.append(&header, bytes).expect("memory");
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
