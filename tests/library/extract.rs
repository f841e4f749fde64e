//! PTX in binaries and archives, which are made by hand for each special case of the formats.

use std::fs;
use std::io::{Cursor, Read};
use std::ops::Range;

use vptx::extract::{Compression, ExtractError, Image, Images, Limits, images, walk};

use crate::support::fatbin::{
    Entry, LZ4, OBFUSCATED, ZSTD, ar, cubin, fat_binary, gzip, joined, library, lz4, plain, tar,
    tar_of_long_name, tar_of_records, zip, zstd, zstd_frame,
};
use crate::support::random::Random;
use crate::support::samples;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

const TEXT: &str = ".version 8.5\n.target sm_90\n.func f() { vadd4.u32.u32.u32 a, b, c, d; }\n";

/// A longer text, different for each number.
fn text(number: usize) -> String {
    format!("// {number}\n{}", TEXT.repeat(1 + number))
}

fn sample() -> Vec<u8> {
    let first = fat_binary(&[cubin(75), plain(75, &text(1)), cubin(80), lz4(80, &text(2))]);
    let second = fat_binary(&[zstd(90, &text(3))]);
    library(&[first, second])
}

fn read(bytes: &[u8]) -> (Vec<Image>, Vec<ExtractError>) {
    let mut found = (Vec::new(), Vec::new());
    for image in images(bytes) {
        match image {
            Ok(image) => found.0.push(image),
            Err(error) => found.1.push(error),
        }
    }
    found
}

#[test]
fn texts_are_unpacked() {
    let bytes = sample();
    let mut all = Images::new(&bytes[..], Limits::default());
    let found: Vec<Image> = all.by_ref().collect::<Result<_, _>>().unwrap();
    let facts: Vec<_> =
        found.iter().map(|it| (it.number, it.target.number, it.compression)).collect();
    let expected =
        [(1, 75, Compression::None), (2, 80, Compression::Lz4), (3, 90, Compression::Zstd)];
    assert_eq!(facts, expected);
    for (image, number) in found.iter().zip(1..) {
        assert_eq!(image.text(), text(number));
        assert_eq!(image.version, (8, 5));
        assert_eq!(bytes[image.offset as usize], 1, "the entry's kind");
    }
    assert_eq!(found[2].name(), "3.sm_90.ptx");
    let counts = all.counts();
    assert_eq!((counts.containers, counts.ptx, counts.cubin, counts.other), (2, 3, 2, 0));
    assert_eq!(read(b"").0, []);
    assert_eq!(read(&b"\x50\xed\x55\xba".repeat(9)).0, []);
}

/// A reader that returns only a few bytes at a time.
struct Drops<'b>(&'b [u8], usize);

impl Read for Drops<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let length = self.1.min(buffer.len());
        self.0.read(&mut buffer[..length])
    }
}

#[test]
fn streams_are_read_in_pieces_of_any_size() {
    // The start of a fat binary also lies on the border of a piece that is read at once.
    for before in [0, (1 << 20) - 20, (1 << 20) - 2, 1 << 20, 3 << 20] {
        let bytes = [vec![b'x'; before], sample()].concat();
        for step in [1 << 16, usize::MAX] {
            let found: Vec<Image> =
                Images::new(Drops(&bytes, step), Limits::default()).map(Result::unwrap).collect();
            assert_eq!(found.len(), 3, "{before} {step}");
            assert_eq!(found[2].text(), text(3));
        }
    }
}

/// Fat binaries that nvcc 13.5 made, one for each compression mode.
const MODES: [(&str, Compression); 7] = [
    ("none", Compression::None),
    ("speed", Compression::Lz4),
    ("balance", Compression::Zstd),
    ("size", Compression::Zstd),
    ("concat-speed", Compression::Lz4),
    ("concat-size", Compression::Zstd),
    // Each entry has the name of its source and options of ptxas, as with `-lineinfo`.
    ("concat-named", Compression::Zstd),
];

fn fixture(name: &str) -> Vec<u8> {
    fs::read(format!("{ROOT}/fixtures/fatbin/{name}")).expect(name)
}

#[test]
fn every_packing_of_nvcc_is_read() {
    for (mode, compression) in MODES {
        let bytes = fixture(&format!("{mode}.fatbin"));
        let mut all = Images::new(&bytes[..], Limits::default());
        let found: Vec<Image> = all.by_ref().collect::<Result<_, _>>().unwrap();
        let names: Vec<String> = found.iter().map(Image::name).collect();
        assert_eq!(names, ["1.sm_75.ptx", "2.sm_90.ptx", "3.sm_100a.ptx"], "{mode}");
        for (image, name) in found.iter().zip(&names) {
            // cuobjdump 13.5.37 extracts the same texts.
            assert!(image.bytes == fixture(name), "{mode}: {name}");
            assert_eq!((image.compression, image.version), (compression, (9, 5)), "{mode}");
        }
        let counts = all.counts();
        assert_eq!((counts.containers, counts.ptx, counts.cubin, counts.other), (1, 3, 1, 0));
    }
}

#[test]
fn the_last_text_for_a_target_replaces_others() {
    let mut special = plain(90, &text(1));
    special.flags |= 0x10_0000;
    let one = fat_binary(&[plain(90, TEXT), special, plain(80, TEXT), lz4(90, TEXT)]);
    let two = fat_binary(&[plain(90, TEXT), zstd(90, TEXT), plain(90, TEXT)]);
    let (found, _) = read(&library(&[one, two]));
    let facts: Vec<_> = found.iter().map(|it| (it.name(), it.replaces)).collect();
    let expected = [
        ("1.sm_90.ptx", None),
        ("2.sm_90a.ptx", None),
        ("3.sm_80.ptx", None),
        ("4.sm_90.ptx", Some(1)),
        ("5.sm_90.ptx", None),
        ("6.sm_90.ptx", Some(5)),
        ("7.sm_90.ptx", Some(6)),
    ];
    assert_eq!(facts, expected.map(|(name, replaces)| (name.to_string(), replaces)));
}

#[test]
fn a_cut_file_gives_what_is_whole() {
    let fixtures = ["none", "speed", "size", "concat-speed", "concat-size", "concat-named"];
    let fixtures = fixtures.map(|mode| fixture(&format!("{mode}.fatbin")));
    for bytes in [&[sample()], &fixtures[..]].concat() {
        cut(&bytes);
    }
}

fn cut(bytes: &[u8]) {
    let (whole, errors) = read(bytes);
    assert!(errors.is_empty());
    let mut cut_off = 0;
    for length in 0..bytes.len() {
        let (found, errors) = read(&bytes[..length]);
        assert!(whole.starts_with(&found), "{length}");
        assert!(errors.len() <= 1, "{length}: {errors:?}");
        for error in errors {
            let ExtractError::Truncated { offset } = error else { panic!("{length}: {error}") };
            assert!((offset as usize) <= length, "{length}");
            cut_off += 1;
        }
    }
    assert!(cut_off > 500, "{cut_off}");
}

/// Changes single bytes of a fat binary; each time, the next fat binary must still be found.
fn hides_no_neighbour(head: &[u8], places: Range<usize>, random: &mut Random) {
    for at in places {
        for value in [0, 1, 0x7f, 0xff, random.next() as u8] {
            let mut bytes = head.to_vec();
            bytes[at] = value;
            let last = fat_binary(&[plain(90, &text(4))]);
            let (found, _) = read(&library(&[bytes, last]));
            assert_eq!(found.last().map(Image::text).as_deref(), Some(&*text(4)), "{at} {value}");
        }
    }
}

#[test]
fn a_fat_binary_in_machine_code_hides_no_text() {
    let code = |payload| Entry { kind: 2, arch: 90, flags: 0x11, payload, unpacked: 0 };
    let inner = fat_binary(&[plain(80, &text(2)), plain(80, &text(3))]);
    let middle = fat_binary(&[code([b"code", &inner[..], b"more"].concat()), plain(80, &text(4))]);
    let outer = fat_binary(&[
        plain(75, &text(1)),
        code([&middle[..], &inner].concat()),
        plain(75, &text(5)),
    ]);
    let (found, errors) = read(&library(&[outer, fat_binary(&[plain(75, TEXT)])]));
    assert_eq!(errors.len(), 0);
    let facts: Vec<_> = found.iter().map(|it| (it.name(), it.replaces)).collect();
    let expected = [
        ("1.sm_75.ptx", None),
        ("2.sm_80.ptx", None),
        ("3.sm_80.ptx", Some(2)),
        ("4.sm_80.ptx", None),
        ("5.sm_80.ptx", None),
        ("6.sm_80.ptx", Some(5)),
        ("7.sm_75.ptx", Some(1)),
        ("8.sm_75.ptx", None),
    ];
    assert_eq!(facts, expected.map(|(name, replaces)| (name.to_string(), replaces)));
    assert_eq!(found[6].text(), text(5));
    // The file ends inside of the machine code, behind the fat binary.
    let cut = fat_binary(&[code([&middle[..], &[0; 800]].concat())]);
    let (found, errors) = read(&cut[..cut.len() - 8]);
    assert_eq!(found.len(), 3);
    assert!(matches!(errors[..], [ExtractError::Truncated { offset: 16 }]), "{errors:?}");
}

/// The table of an entry with several texts has wrong values: there is no panic, and the next fat
/// binary is found.
#[test]
fn lying_tables_hide_no_neighbour() {
    let mut random = Random(7);
    for (mode, length) in [("size", 0x138_u32), ("named", 0x198)] {
        let head = fixture(&format!("concat-{mode}.fatbin"));
        let start = [&[0, 1, 1, 1], &length.to_le_bytes()[..]].concat();
        let joined = head.windows(8).position(|it| it == start).expect("an entry");
        hides_no_neighbour(&head, joined..joined + length as usize, &mut random);
    }
}

/// Fields have wrong values: there is no panic, memory stays small, and the next fat binary is
/// found.
#[test]
fn lying_fields_hide_no_neighbour() {
    let mut random = Random(5);
    let head = fat_binary(&[plain(75, &text(1)), lz4(80, &text(2)), zstd(86, &text(2))]);
    hides_no_neighbour(&head, 4..head.len(), &mut random);
    for _ in 0..samples(8000) {
        let mut bytes = sample();
        for _ in 0..=random.below(5) {
            let at = 1600 + random.below(bytes.len() - 1600);
            bytes[at] = random.next() as u8;
        }
        read(&bytes);
    }
}

#[test]
fn errors_are_about_one_text() {
    let broken = |flags, payload: &[u8], unpacked| Entry {
        kind: 1,
        arch: 80,
        flags,
        payload: payload.to_vec(),
        unpacked,
    };
    let wrong = [
        (broken(0x11 | LZ4, b"\xff\xff\xff\xff", 300), "cannot be unpacked"),
        (broken(0x11 | LZ4, b"\x10a", 200 << 20), "cannot be unpacked"),
        (broken(0x11 | LZ4, b"\x10a", 1 << 60), "bytes, the limit"),
        (broken(0x8011, b"no frame of it", 300), "cannot be unpacked"),
        (broken(0x11 | OBFUSCATED, b"????????", 0), "is obfuscated"),
        (broken(0x11 | OBFUSCATED | LZ4, b"\xff\xff\xff\xff", 300), "is obfuscated"),
    ];
    for (entry, message) in wrong {
        let (found, errors) = read(&fat_binary(&[plain(75, TEXT), entry, plain(90, TEXT)]));
        // The number of a text also counts the entries with errors before it.
        let names: Vec<String> = found.iter().map(Image::name).collect();
        assert_eq!(names, ["1.sm_75.ptx", "3.sm_90.ptx"], "{message}");
        assert_eq!(errors.len(), 1);
        assert!(errors[0].to_string().contains(message), "{}", errors[0]);
    }
}

#[test]
fn texts_are_bounded() {
    let long = TEXT.repeat(1000);
    for entry in [plain(75, &long), lz4(75, &long), zstd(75, &long)] {
        let bytes = fat_binary(&[entry, plain(90, TEXT)]);
        let limits = Limits::default().with_image(1000);
        let found: Vec<_> = Images::new(&bytes[..], limits).collect();
        assert!(matches!(found[0], Err(ExtractError::TooLarge { limit: 1000, .. })));
        assert_eq!(found[1].as_ref().unwrap().text(), TEXT);
        assert_eq!(found.len(), 2);
        // The limit is for the text, without the NUL and the bytes that follow it.
        let length = long.len() as u64;
        for (limit, fits) in [(length - 1, false), (length, true), (u64::MAX, true)] {
            let mut found = Images::new(&bytes[..], Limits::default().with_image(limit));
            assert_eq!(found.next().unwrap().is_ok(), fits, "{limit}");
        }
    }
    // Of several texts in one payload, none is cut.
    let joined = format!("{TEXT}\0{long}");
    for entry in [plain(75, &joined), lz4(75, &joined), zstd(75, &joined)] {
        let bytes = fat_binary(&[entry]);
        let mut found = Images::new(&bytes[..], Limits::default().with_image(1000));
        let first = found.next().unwrap();
        assert!(matches!(first, Err(ExtractError::TooLarge { limit: 1000, .. })), "{first:?}");
        assert!(found.next().is_none());
    }
}

/// The texts of a file, each with its member's name, and the errors.
fn walked(bytes: Vec<u8>) -> (Vec<String>, Vec<String>) {
    let mut found = (Vec::new(), Vec::new());
    let counts =
        walk(&mut Cursor::new(bytes), Limits::default(), &mut |member, image| match image {
            Ok(image) => {
                assert!(text(1) == image.text() || text(2) == image.text());
                found.0.push(format!("{member}!{}", image.name()));
            }
            Err(error) => found.1.push(format!("{member}: {error}")),
        });
    assert_eq!(counts.ptx, found.0.len() as u64, "{found:?} {counts:?}");
    found
}

#[test]
fn archives_are_read() {
    let one = library(&[fat_binary(&[plain(75, &text(1)), lz4(80, &text(2))])]);
    let two = fat_binary(&[zstd(90, &text(2))]);
    let members: [(&str, &[u8]); 3] = [("a/one.so", &one), ("read.me", b"text"), ("two", &two)];
    let names = ["a/one.so!1.sm_75.ptx", "a/one.so!2.sm_80.ptx", "two!1.sm_90.ptx"];
    let tarred = tar(&members);
    for archive in [zip(&members), tarred.clone(), gzip(&tarred), zstd_frame(&tarred)] {
        assert_eq!(walked(archive), (names.map(String::from).to_vec(), Vec::new()));
    }
    assert_eq!(walked(gzip(&two)).0, ["!1.sm_90.ptx"]);
    assert_eq!(walked(tar_of_records(&members)), (names.map(String::from).to_vec(), Vec::new()));
    // The header of the second file is invalid.
    let mut wrong = tar(&members[1..]);
    wrong[1024] ^= 1;
    let (_, errors) = walked(wrong);
    assert_eq!(errors.len(), 1, "{errors:?}");
    assert!(errors[0].contains("a member should start at byte 1024"), "{errors:?}");
    // A folder has no contents to read, whatever its header says.
    let mut header = tar::Header::new_ustar();
    header.set_size(two.len() as u64);
    header.set_entry_type(tar::EntryType::Directory);
    header.set_cksum();
    let mut folder = tar::Builder::new(Vec::new());
    folder.append(&header, &two[..]).unwrap();
    assert_eq!(walked(folder.into_inner().unwrap()), (Vec::new(), Vec::new()));
    // An archive like a .conda file, which also contains a wheel.
    let conda = zip(&[("pkg.tar.zst", &zstd_frame(&tarred)), ("x.whl", &zip(&members))]);
    let inside = |archive: &str| names.map(|name| format!("{archive}!{name}"));
    let (found, errors) = walked(conda);
    assert_eq!(found, [inside("pkg.tar.zst"), inside("x.whl")].concat());
    assert_eq!(errors, [""; 0]);
}

/// `gzip -dc` and `zstd -dc` read the same.
#[test]
fn packed_files_have_any_number_of_parts() {
    let texts = [text(1), text(2)];
    let both = tar(&[("a", texts[0].as_bytes()), ("b", texts[1].as_bytes())]);
    let (start, end) = both.split_at(50);
    let skipped = [&[0x5a, 0x2a, 0x4d, 0x18, 3, 0, 0, 0], &b"any"[..]].concat();
    let frames = [start, b"", end].map(zstd_frame);
    let members = [start, b"", end].map(gzip);
    let expected = ["a!1.sm_90.ptx", "b!1.sm_90.ptx"].map(String::from);
    for packed in [
        frames.concat(),
        frames.join(&skipped[..]),
        [&skipped, &skipped, &frames.concat()[..], &skipped].concat(),
        members.concat(),
        [members.concat(), vec![0; 20_000]].concat(),
        [members.join(&[0; 3][..])].concat(),
    ] {
        assert_eq!(walked(packed), (expected.to_vec(), Vec::new()));
    }
    for (packed, message) in [
        ([&frames.concat()[..], b"other"].concat(), "a frame is followed by other bytes"),
        ([&frames.concat()[..], &skipped[..9]].concat(), "it is cut off"),
        ([&members.concat()[..], b"other"].concat(), "a member is followed by other bytes"),
    ] {
        let (found, errors) = walked(packed);
        assert_eq!((found.len(), errors.len()), (2, 1), "{errors:?}");
        assert!(errors[0].to_lowercase().contains(message), "{errors:?}");
    }
    // What is wrong stands behind a text that goes up to the end.
    let one = text(1);
    for packed in [zstd_frame(one.as_bytes()), gzip(one.as_bytes())] {
        let (found, errors) = walked([&packed[..], b"other"].concat());
        assert_eq!((found.len(), errors.len()), (1, 1), "{errors:?}");
    }
}

/// The checksum stands behind the end of the archive, which its own reader does not reach.
#[test]
fn wrong_checksums_are_told() {
    let two = fat_binary(&[zstd(90, &text(2))]);
    let tarred = tar(&[("two", &two)]);
    let (mut zipped, mut framed) = (gzip(&tarred), zstd_frame(&tarred));
    let length = zipped.len();
    zipped[length - 8] ^= 1;
    *framed.last_mut().unwrap() ^= 1;
    for (archive, message) in [(zipped, "checksum"), (framed, "its checksum is wrong")] {
        for (bytes, name) in [(archive.clone(), ""), (zip(&[("x", &archive)]), "x")] {
            let (found, errors) = walked(bytes);
            assert_eq!((found.len(), errors.len()), (1, 1), "{errors:?}");
            assert!(errors[0].starts_with(&format!("{name}: ")), "{errors:?}");
            assert!(errors[0].contains(message), "{errors:?}");
        }
    }
}

#[test]
fn members_that_cannot_be_read_are_told() {
    let two = fat_binary(&[plain(90, &text(2))]);
    // GNU tar's header of a file with holes. Another block with places of holes follows it.
    let mut header = tar::Header::new_gnu();
    header.set_path("holes").unwrap();
    header.set_size(two.len() as u64);
    header.set_entry_type(tar::EntryType::GNUSparse);
    header.as_gnu_mut().unwrap().isextended = [1];
    header.set_cksum();
    let padded = [&two[..], &vec![0; two.len().wrapping_neg() % 512]].concat();
    let sparse = [header.as_bytes(), &[0; 512][..], &padded, &tar(&[("two", &two)])].concat();
    // The form of POSIX: records before the file.
    let records = |records: &[(&str, &[u8])]| {
        let mut archive = tar::Builder::new(Vec::new());
        archive.append_pax_extensions(records.iter().copied()).unwrap();
        let mut all = archive.into_inner().unwrap();
        all.truncate(all.len() - 1024);
        all
    };
    let named = [("GNU.sparse.major", &b"1"[..]), ("GNU.sparse.name", b"holes")];
    let plain = tar(&[("short", &two), ("two", &two)]);
    for archive in [
        sparse.clone(),
        [records(&[("size", b"4096")]), sparse].concat(),
        [records(&named), plain].concat(),
    ] {
        let (found, errors) = walked(archive);
        assert_eq!(found, ["two!1.sm_90.ptx"]);
        assert_eq!(errors, ["holes: it is a sparse file"]);
    }

    let (found, errors) = walked([b"!<thin>\n", &ar(&[("two", &two)])[8..]].concat());
    assert_eq!(found, [""; 0]);
    assert!(errors[0].contains("it is a thin archive"), "{errors:?}");
}

#[test]
fn archives_may_be_hostile() {
    let two = fat_binary(&[zstd(90, &text(2))]);
    let mut deep = two.clone();
    for _ in 0..9 {
        deep = zip(&[("in.zip", &deep), ("two", &two)]);
    }
    let (found, errors) = walked(deep.clone());
    assert_eq!(found.len(), 6);
    assert_eq!(errors.len(), 1);
    assert!(errors[0].ends_with("archives nest deeper than 6 levels"), "{}", errors[0]);
    // Compression counts as a level.
    assert_eq!(walked(gzip(&deep)).0.len(), 5);

    // One member grows a thousandfold when it is unpacked. If it is an archive, its other members
    // cannot be read, either; the limit is told once.
    let zeros = vec![0; 1 << 20];
    let mut file = tar(&[("zeros", &zeros)]);
    // The files of an archive, without its end.
    file.truncate(512 + zeros.len());
    for inner in [&zeros, &file] {
        let bomb = gzip(&gzip(inner).repeat(600));
        let (_, errors) = walked(zip(&[("bomb", &bomb), ("two", &two)]));
        assert_eq!(errors.len(), 1, "{errors:?}");
        assert!(errors[0].contains("times its size"), "{}", errors[0]);
    }

    // Archives with random damage cause no panic, and most of the other members are found.
    let members: [(&str, &[u8]); 2] = [("one", &two), ("two", &two)];
    let mut random = Random(9);
    for archive in [zip(&members), tar(&members), gzip(&tar(&members))] {
        for _ in 0..2_000 {
            let mut bytes = archive.clone();
            let at = random.below(bytes.len());
            bytes[at] = random.next() as u8;
            bytes.truncate(bytes.len() - random.below(2) * random.below(bytes.len()));
            let mut found = 0;
            walk(&mut Cursor::new(bytes), Limits::default(), &mut |_, image| {
                found += usize::from(image.is_ok());
            });
            assert!(found <= 2);
        }
    }
}

/// The number of bytes of all texts in a file, and the errors.
fn sums(bytes: Vec<u8>) -> (u64, Vec<String>) {
    let mut sums = (0, Vec::new());
    walk(&mut Cursor::new(bytes), Limits::default(), &mut |member, image| match image {
        Ok(image) => sums.0 += image.bytes.len() as u64,
        Err(error) => sums.1.push(format!("{member}: {error}")),
    });
    sums
}

/// The limit in SECURITY.md: 256 MB plus 200 times the size of the file.
fn most(length: usize) -> u64 {
    (256 << 20) + 200 * length as u64
}

#[test]
fn members_have_one_budget() {
    let zeros = vec![0; 100 << 20];
    let inner = zip(&[("zeros", &zeros)]);
    let two = zip(&[("a.zip", &inner), ("b.zip", &inner)]);
    assert_eq!(sums(two.clone()).1, [""; 0]);
    // Members of nested archives count together; the fourth member exceeds the limit.
    let four = zip(&[("x.zip", &two), ("y.zip", &two)]);
    let (_, errors) = sums(zip(&[("in.zip", &four), ("text", &fat_binary(&[plain(75, TEXT)]))]));
    assert_eq!(errors.len(), 1, "{errors:?}");
    assert!(errors[0].starts_with("in.zip!y.zip!a.zip!zeros: "), "{}", errors[0]);
    assert!(errors[0].ends_with("the rest is not read"), "{}", errors[0]);
}

#[test]
fn texts_of_a_joined_entry_are_bounded() {
    let bytes = joined(&[(0, 4), (4, 6), (2, 3)], b"onetwo+three");
    let texts: Vec<String> = read(&bytes).0.iter().map(|it| it.text().into_owned()).collect();
    assert_eq!(texts, ["onet", "wo+thr", "etw"]);
    // Each of the many texts covers the whole payload.
    let payload = vec![b'/'; 1 << 20];
    let bytes = joined(&vec![(0, 1 << 20); 800], &payload);
    let bound = most(bytes.len());
    let (sum, errors) = sums(bytes);
    assert!(sum <= bound && sum > bound - (3 << 20), "{sum} {bound}");
    assert_eq!(errors.len(), 1, "{errors:?}");
    assert!(errors[0].contains("200 times its size"), "{}", errors[0]);
}

/// The header of a Zstandard block: raw bytes (0), one byte repeated (1), or an invalid kind (3).
fn block(kind: u32, length: usize) -> [u8; 3] {
    let [first, second, third, _] = (kind << 1 | (length as u32) << 3).to_le_bytes();
    [first, second, third]
}

/// Fat binaries whose first block is raw and contains all later fat binaries. All texts then
/// continue with the same blocks, the last of which is invalid.
fn overlapping(count: usize, tail: &[u8]) -> Vec<u8> {
    const ONE: usize = 16 + 64 + 6 + 3;
    let tail = [tail, &block(3, 0)].concat();
    let mut all = Vec::new();
    for at in 0..count {
        let after = (count - at - 1) * ONE;
        let frame = [&[0x28, 0xb5, 0x2f, 0xfd, 0, 0x38][..], &block(0, after)].concat();
        let payload = vec![0; frame.len() + after + tail.len()];
        let unpacked = payload.len() as u64;
        let entry = Entry { kind: 1, arch: 90, flags: ZSTD, payload, unpacked };
        all.extend(&fat_binary(&[entry])[..80]);
        all.extend(frame);
    }
    // The length of a payload must be a multiple of eight.
    [all, tail, vec![0; 8]].concat()
}

#[test]
fn what_overlaps_is_unpacked_within_the_budget() {
    let many = [&block(1, 128 << 10)[..], b"/"].concat().repeat(1000);
    let (_, errors) = sums(overlapping(40, &many));
    // Each text unpacks 131 MB before its invalid end.
    assert!(errors.len() <= 4, "{}", errors.len());
    assert!(errors[0].contains("cannot be unpacked"), "{}", errors[0]);
    assert!(errors.last().unwrap().contains("times its size"), "{errors:?}");
}

#[test]
fn names_are_bounded() {
    let text = fat_binary(&[plain(75, &text(1))]);
    for length in [3, 600, 70_000, 20 << 20] {
        let name = "a/".repeat(length) + "x.so";
        let mut names = Vec::new();
        let archive = gzip(&tar_of_long_name(name.as_bytes(), &text));
        walk(&mut Cursor::new(archive), Limits::default(), &mut |member, image| {
            assert!(image.is_ok());
            names.push(member.names()[0].clone());
        });
        let [found] = &names[..] else { panic!("{length}: {names:?}") };
        if length == 3 {
            assert_eq!(*found, name);
        } else {
            assert!(found.len() < 520 && found.starts_with("a/a/"), "{found}");
            // The two ends have half of the 512 bytes each.
            let (start, end) = found.split_once('…').expect("it is cut");
            assert_eq!((start.len(), end.len()), (256, 256), "{found}");
        }
        assert!(length > 600 || found.ends_with("a/x.so"), "{found}");
    }
}

#[test]
fn members_of_one_name_are_all_read() {
    let (one, two) = (fat_binary(&[plain(75, &text(1))]), fat_binary(&[plain(80, &text(2))]));
    let mut archive = zip(&[("lib1.so", &one), ("lib2.so", &two)]);
    while let Some(at) = archive.windows(7).position(|name| name == b"lib2.so") {
        archive[at + 3] = b'1';
    }
    let members: [(&str, &[u8]); 2] = [("lib1.so", &one), ("lib1.so", &two)];
    for archive in [archive, tar(&members), ar(&members)] {
        let (found, errors) = walked(archive);
        assert_eq!(found, ["lib1.so!1.sm_75.ptx", "lib1#2.so!1.sm_80.ptx"]);
        assert_eq!(errors, [""; 0]);
    }
}

#[test]
fn members_of_ar_are_read() {
    let binary = fat_binary(&[plain(75, &text(1)), lz4(80, &text(2))]);
    let long = "a-name-of-many-bytes.o";
    let texts = [text(1), text(2)];
    let members: [(&str, &[u8]); 4] = [
        ("x.o", texts[0].as_bytes()),
        (long, &binary),
        ("odd.o", b"odd"),
        ("y.o", texts[1].as_bytes()),
    ];
    let (found, errors) = walked(ar(&members));
    let expected =
        ["x.o!1.sm_90.ptx", &format!("{long}!1.sm_75.ptx"), &format!("{long}!2.sm_80.ptx")];
    assert_eq!(found, [&expected.map(String::from)[..], &["y.o!1.sm_90.ptx".into()]].concat());
    assert_eq!(errors, [""; 0]);
    // In BSD's format, the name stands before the contents.
    let mut bsd = b"!<arch>\n".to_vec();
    let fields = format!("{:<48}{:<10}`\n", "#1/24", 24 + texts[0].len());
    bsd.extend(fields.as_bytes());
    bsd.extend(b"another long name.o\0\0\0\0\0");
    bsd.extend(texts[0].as_bytes());
    assert_eq!(walked(bsd).0, ["another long name.o!1.sm_90.ptx"]);
    // After an invalid header, uncompressed texts are still found.
    let mut wrong = ar(&members);
    let at = wrong.windows(6).position(|name| name == b"odd.o/").unwrap();
    wrong[at + 58] = b'x';
    let (mut found, mut errors) = (0, Vec::new());
    walk(&mut Cursor::new(wrong), Limits::default(), &mut |_, image| match image {
        Ok(_) => found += 1,
        Err(error) => errors.push(error.to_string()),
    });
    assert!(found >= 4, "{found}");
    assert_eq!(errors.len(), 1, "{errors:?}");
    assert!(errors[0].contains("a member should start at byte"), "{errors:?}");
}

/// The uncompressed texts that are found in a file.
fn plain_texts(bytes: &[u8]) -> Vec<String> {
    let (found, errors) = read(bytes);
    assert!(errors.is_empty(), "{errors:?}");
    for image in &found {
        let start = &bytes[image.offset as usize..];
        assert!(start.starts_with(&image.bytes));
        assert_eq!(image.compression, Compression::None);
    }
    found.iter().map(|image| image.text().into_owned()).collect()
}

#[test]
fn texts_are_found_as_they_are() {
    let one = "//\n// made by hand\n/* of two */\n\n".to_string() + TEXT;
    let whole = read(one.as_bytes()).0;
    let [image] = &whole[..] else { panic!("{whole:?}") };
    assert!(image.is_file && image.text() == one);
    assert_eq!(
        (image.target.number, image.version, image.name()),
        (90, (8, 5), "1.sm_90.ptx".into())
    );
    // A byte order mark may stand before it.
    let marked = format!("\u{feff}{one}");
    let whole = read(marked.as_bytes()).0;
    let [image] = &whole[..] else { panic!("{whole:?}") };
    assert!(image.is_file && image.bytes == marked.as_bytes());
    let options = ".version 7.0 // x\n.target debug, sm_80a , texmode_unified\n";
    assert_eq!(read(options.as_bytes()).0[0].target.to_string(), "sm_80a");
    // A text in data is a string. It ends with NUL, with another byte that PTX cannot contain, or,
    // in languages without NUL, with the last function of the module.
    let data = |before: &str, after: &str| {
        [b"\x7fELF\x01", before.as_bytes(), one.as_bytes(), after.as_bytes()].concat()
    };
    for (before, after) in [
        ("\0", "\0"),
        ("\0", "\u{1}more"),
        ("\0", ""),
        ("garbage", "\0"),
        ("an error occurred", "called `unwrap()` on {some} value"),
    ] {
        assert_eq!(plain_texts(&data(before, after)), [&*one], "{before:?} {after:?}");
    }
    let other = one.replace("sm_90", "sm_75");
    assert_eq!(plain_texts(&data("\0", &other)), [&*one, &other]);
    assert_eq!(plain_texts(&data("\0", &format!("\0{other}\0"))), [&*one, &other]);
    // After the last function, a module may have further declarations.
    let more = one.clone() + "@@DWARF .byte 1;\n.global .u32 x = {1};\n";
    assert_eq!(plain_texts(&[b"\x7fELF\0", more.as_bytes(), b"\0"].concat()), [&*more]);
    // Uncompressed texts and the texts of fat binaries share one numbering.
    let mixed =
        [&library(&[fat_binary(&[plain(75, TEXT)])]), &b"\0"[..], TEXT.as_bytes(), b"\0"].concat();
    let mixed = [mixed, fat_binary(&[lz4(80, TEXT)])].concat();
    let names: Vec<String> = read(&mixed).0.iter().map(Image::name).collect();
    assert_eq!(names, ["1.sm_75.ptx", "2.sm_90.ptx", "3.sm_80.ptx"]);
    // The text lies on the border of a piece that is read at once.
    for before in [(1 << 13) - 9, (1 << 20) - 40, (1 << 20) + (1 << 16), 5 << 20] {
        let bytes = [vec![0; before], one.clone().into_bytes(), vec![0; 9]].concat();
        assert_eq!(plain_texts(&bytes), [&*one], "{before}");
    }
}

#[test]
fn what_is_no_text_is_not_taken_for_one() {
    for other in [
        "const char *text = R\"(\n.version 8.0\n.target sm_90\n)\";",
        "// .version 8.0\n.target sm_90\n",
        "/* .version 8.0\n.target sm_90\n */",
        ".version 8.0\n",
        ".version \"8.0\"\n.target sm_90\n",
        ".version 8.0\n.text\n.target sm_90\n",
        ".version 8.0\n.target host\n",
        ".version %d.%d\n.target sm_90\n",
        ".version 8.0.1\n.target sm_90\n",
        ".versions 8.0\n.target sm_90\n",
        "x .version 8.0\n.target sm_90\n",
    ] {
        assert_eq!(plain_texts(other.as_bytes()), [""; 0], "{other}");
    }
    // LZ4 leaves the first words of a text uncompressed. They do not count as a text, and the text
    // after them is found.
    let packed = b"\0.version 6.0\n.target sm_60\n.address_size 64\n\n.entry \x8b\0";
    assert_eq!(plain_texts(packed), [""; 0]);
    assert_eq!(plain_texts(&[packed, TEXT.as_bytes(), b"\0"].concat()), [TEXT]);
    // A comment may have bytes that are not UTF-8.
    let latin = [b"\0", TEXT.as_bytes(), b"// caf\xe9\n\0"].concat();
    assert_eq!(plain_texts(&latin).len(), 1);
    // Before this `.version` is more than is searched at once.
    let far = "x".repeat(5 << 20) + "\n.version 8.0\n.target sm_90\n";
    assert_eq!(plain_texts(far.as_bytes()), [""; 0]);
    // Many places that look like the start of a text do not slow the search down.
    let flood = b"x".repeat(9).into_iter().chain(b".version 1.0 .target sm_90 ".repeat(200_000));
    assert_eq!(plain_texts(&flood.collect::<Vec<u8>>()), [""; 0]);
    let long = [b"\0", TEXT.repeat(30).as_bytes(), b"\0", TEXT.as_bytes(), b"\0"].concat();
    let mut images = Images::new(&long[..], Limits::default().with_image(100));
    let found: Vec<_> = images.by_ref().collect();
    let [first, last] = &found[..] else { panic!("{found:?}") };
    assert_eq!((images.counts().ptx, images.counts().failed), (1, 1));
    assert!(
        matches!(first, Err(ExtractError::TooLarge { offset: 1, limit: 100, .. })),
        "{first:?}"
    );
    assert_eq!(last.as_ref().unwrap().text(), TEXT);
}

/// A program that searches for fat binaries contains their first bytes as a constant.
#[test]
fn machine_code_is_no_fat_binary() {
    // mov rax, 0x0010_0001_ba55_ed50; mov r15, [r12 + 32]; movq [r12 + 120], 0; …
    let code = b"\x48\xb8\x50\xed\x55\xba\x01\0\x10\0\x4d\x8b\x7c\x24\x20\
        \x49\xc7\x44\x24\x78\0\0\0\0\x49\xc7\x84\x24\x90\0\0\0\0\0\0\0";
    let binary = fat_binary(&[plain(75, TEXT)]);
    for bytes in [code.to_vec(), [&code[..], &[0; 200]].concat()] {
        let mut all = Images::new(&bytes[..], Limits::default());
        assert_eq!(all.by_ref().count(), 0);
        assert_eq!(all.counts().containers, 0);
        let (found, errors) = read(&[bytes, binary.clone()].concat());
        assert_eq!((found.len(), errors.len()), (1, 0));
    }
    // A fat binary that ends within its first entry is reported as truncated.
    let (_, errors) = read(&binary[..60]);
    assert!(matches!(errors[..], [ExtractError::Truncated { offset: 16 }]), "{errors:?}");
}
