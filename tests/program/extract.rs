//! `vptx extract` as a user calls it.

use std::fs;
use std::process::Command;

use serde_json::Value;

use crate::support::fatbin::{
    Entry, ar, cubin, fat_binary, library, lz4, plain, tar, zip, zstd, zstd_frame,
};
use crate::support::program::{Folder, vptx_in};

const TEXT: &str = ".version 8.5\n.target sm_90\n.func f() { ret; }\n";

fn text(number: usize) -> String {
    TEXT.repeat(number)
}

/// A library with three PTX texts.
fn sample() -> Vec<u8> {
    let first = fat_binary(&[cubin(75), plain(75, &text(1)), lz4(80, &text(2))]);
    library(&[first, fat_binary(&[zstd(90, &text(3))])])
}

#[test]
fn texts_are_listed() {
    let folder = Folder::new("extract-list");
    fs::write(folder.0.join("libx.so.1"), sample()).unwrap();
    let run = vptx_in(&folder.0, &["extract", "--list", "libx.so.1"], b"");
    insta::assert_snapshot!(run.transcript(), @r"
    status: 0
    -- stdout --
    arch   ptx  packed  bytes  offset  name
    sm_75  8.5  none       46   0x6b8  libx.so.1!1.sm_75.ptx
    sm_80  8.5  lz4        92   0x728  libx.so.1!2.sm_80.ptx
    sm_90  8.5  zstd      138   0x87e  libx.so.1!3.sm_90.ptx
    -- stderr --
    3 PTX texts in 2 fat binaries; 1 image of machine code skipped
    ");
    let one = library(&[fat_binary(&[plain(75, &text(1))])]);
    let one = vptx_in(&folder.0, &["extract", "--list", "-"], &one);
    assert_eq!(one.stderr, "1 PTX text in 1 fat binary\n");
    let run = vptx_in(&folder.0, &["extract", "--list", "--format", "json", "libx.so.1"], b"");
    let lines: Vec<Value> =
        run.stdout.lines().map(|line| serde_json::from_str(line).expect(line)).collect();
    assert_eq!(lines.len(), 3);
    assert_eq!(lines[2]["path"], "libx.so.1!3.sm_90.ptx");
    assert_eq!(lines[2]["compression"], "zstd");
    assert_eq!(lines[2]["bytes"].as_u64(), Some(text(3).len() as u64));
    let from_stdin = vptx_in(&folder.0, &["extract", "--list", "-q", "-"], &sample());
    assert!(from_stdin.stdout.contains("<stdin>!1.sm_75.ptx"), "{}", from_stdin.stdout);
}

/// `lib/k.o` and `k.o` of two folders become two members `k.o` of one library.
#[test]
fn members_of_one_name_have_files_of_their_own() {
    let folder = Folder::new("extract-one-name");
    let [one, two] = [1, 2].map(|number| fat_binary(&[plain(90, &text(number))]));
    let plain = text(3);
    let members: [(&str, &[u8]); 4] =
        [("k.o", &one), ("k.o", &two), ("p", &one), ("p", plain.as_bytes())];
    fs::write(folder.0.join("libk.a"), ar(&members)).unwrap();
    let run = vptx_in(&folder.0, &["extract", "libk.a", "-o", "out", "-q"], b"");
    assert_eq!((run.status, &*run.stderr), (0, ""));
    let read = |name: &str| fs::read_to_string(folder.0.join("out/libk.a").join(name)).expect(name);
    assert_eq!(read("k.1.sm_90.ptx"), text(1));
    assert_eq!(read("k#2.1.sm_90.ptx"), text(2));
    assert_eq!(read("p#2.ptx"), text(3));
}

/// A text is longer than what is read at once.
#[test]
fn long_texts_are_whole() {
    let long = format!(".version 8.0\n.target sm_80\n{}", "// a line of a text\n".repeat(200_000));
    let library = [b"\x7fELF\0\0", long.as_bytes(), b"\0\0rest"].concat();
    let run = vptx_in(
        &Folder::new("extract-long-lines").0,
        &["extract", "--image", "1.sm_80.ptx", "-"],
        &library,
    );
    assert!(run.stdout == long, "{} bytes of {}: {}", run.stdout.len(), long.len(), run.stderr);
}

#[test]
fn encrypted_members_are_told() {
    let mut archive = zip(&[("a.so", &sample()), ("b.so", &sample())]);
    // The flags of the first member, in its own header and in the directory.
    for (signature, flags) in [(b"PK\x03\x04", 6), (b"PK\x01\x02", 8)] {
        let at = archive.windows(4).position(|it| it == signature).expect("a header");
        archive[at + flags] |= 1;
    }
    let folder = Folder::new("extract-encrypted");
    fs::write(folder.0.join("k.zip"), archive).unwrap();
    let run = vptx_in(&folder.0, &["extract", "--list", "k.zip"], b"");
    assert_eq!(run.status, 2);
    assert!(
        run.stderr.contains("k.zip!a.so") && run.stderr.contains("it is encrypted"),
        "{}",
        run.stderr
    );
    assert_eq!(run.stdout.matches("k.zip!b.so").count(), 3, "{}", run.stdout);
}

/// On a terminal, both outputs go to the same place.
#[test]
fn the_summary_follows_the_list() {
    let folder = Folder::new("extract-order");
    fs::write(folder.0.join("three.so"), sample()).unwrap();
    let both = fs::File::create(folder.0.join("both")).unwrap();
    let status = Command::new(env!("CARGO_BIN_EXE_vptx"))
        .args(["extract", "--list", "three.so"])
        .current_dir(&folder.0)
        .stdout(both.try_clone().unwrap())
        .stderr(both)
        .status();
    assert!(status.unwrap().success());
    let both = folder.read("both");
    let starts: Vec<&str> = both.lines().filter_map(|line| line.split(' ').next()).collect();
    assert_eq!(starts, ["arch", "sm_75", "sm_80", "sm_90", "3"], "{both}");
}

#[test]
fn one_text_is_printed() {
    let folder = Folder::new("extract-print");
    fs::write(folder.0.join("one.so"), library(&[fat_binary(&[lz4(80, &text(2))])])).unwrap();
    fs::write(folder.0.join("three.so"), sample()).unwrap();
    let run = |arguments: &[&str]| vptx_in(&folder.0, &[&["extract"], arguments].concat(), b"");
    let one = run(&["one.so"]);
    assert_eq!((one.status, one.stdout, one.stderr.as_str()), (0, text(2), ""));
    for name in ["2.sm_80.ptx", "three.so!2.sm_80.ptx"] {
        let chosen = run(&["three.so", "--image", name]);
        assert_eq!((chosen.status, chosen.stdout, chosen.stderr.as_str()), (0, text(2), ""));
    }
    let wrong = [
        (&["three.so"][..], "there are 3 PTX texts"),
        (&["three.so", "--image", "9.sm_80.ptx"], "none of 3 PTX texts is named `9.sm_80.ptx`"),
        (&["three.so", "three.so", "--image", "1.sm_75.ptx"], "2 PTX texts are named"),
        (&["none.so"], "cannot read `none.so`"),
        (&["."], "cannot read `.`"),
    ];
    for (arguments, message) in wrong {
        let run = run(arguments);
        assert_eq!((run.status, run.stdout.as_str()), (2, ""), "{arguments:?}");
        assert!(run.stderr.contains(message), "{}", run.stderr);
    }
    fs::write(folder.0.join("plain"), "no binary").unwrap();
    let none = run(&["plain"]);
    assert_eq!((none.status, none.stderr.as_str()), (1, "vptx: no PTX found\n"));
}

#[test]
fn texts_are_written_under_stable_names() {
    let folder = Folder::new("extract-write");
    fs::write(folder.0.join("libx.so.1"), sample()).unwrap();
    let members: [(&str, &[u8]); 1] = [("a/liby.so", &sample())];
    fs::write(folder.0.join("y.whl"), zip(&members)).unwrap();
    let run = vptx_in(&folder.0, &["extract", "libx.so.1", "y.whl", "-o", "out"], b"");
    assert_eq!((run.status, run.stdout.as_str()), (0, ""), "{}", run.stderr);
    let written = |name: &str| fs::read_to_string(folder.0.join("out").join(name)).unwrap();
    // cuobjdump 13.5 leaves out the last ending as well.
    assert_eq!(written("libx.so.1.sm_75.ptx"), text(1));
    assert_eq!(written("libx.so.3.sm_90.ptx"), text(3));
    assert_eq!(written("y.whl/a/liby.2.sm_80.ptx"), text(2));
    // The only dot is at the start: there is no ending.
    fs::write(folder.0.join(".hidden"), sample()).unwrap();
    let hidden = vptx_in(&folder.0, &["extract", ".hidden", "-o", "out", "-q"], b"");
    assert_eq!((hidden.status, hidden.stderr.as_str()), (0, ""));
    assert_eq!(written(".hidden.1.sm_75.ptx"), text(1));
    // Only the last ending of a binary is left out.
    fs::write(folder.0.join("k.ptx.so"), sample()).unwrap();
    let ending = vptx_in(&folder.0, &["extract", "k.ptx.so", "-o", "out", "-q"], b"");
    assert_eq!((ending.status, ending.stderr.as_str()), (0, ""));
    assert_eq!(written("k.ptx.1.sm_75.ptx"), text(1));
    let again = vptx_in(&folder.0, &["extract", "libx.so.1", "-o", "out", "-q"], b"");
    assert_eq!((again.status, again.stderr.as_str()), (0, ""));
    let same = vptx_in(&folder.0, &["extract", "libx.so.1", "libx.so.1", "-o", "two"], b"");
    assert_eq!(same.status, 2);
    assert!(same.stderr.contains("another text has the file name `two/libx.so.1.sm_75.ptx`"));
    // The summary counts only texts that were written.
    let said = "\n3 PTX texts in 4 fat binaries; 2 images of machine code skipped\n";
    assert!(same.stderr.ends_with(said), "{}", same.stderr);
}

#[test]
fn nothing_is_written_outside() {
    let folder = Folder::new("extract-outside");
    let binary = fat_binary(&[plain(75, &text(1))]);
    let names = ["../up", "/abs", "a/../../b", "..", "c\\..\\..\\d", "e\u{1b}[2Jf", "../../"];
    let members: Vec<(&str, &[u8])> = names.iter().map(|name| (*name, &binary[..])).collect();
    fs::create_dir(folder.0.join("in")).unwrap();
    fs::write(folder.0.join("in/x.tar"), tar(&members)).unwrap();
    let run = vptx_in(&folder.0.join("in"), &["extract", "x.tar", "-o", "out"], b"");
    assert!(!run.stderr.contains('\u{1b}'), "{}", run.stderr);
    let mut files: Vec<String> = Vec::new();
    let mut folders = vec![folder.0.clone()];
    while let Some(at) = folders.pop() {
        for entry in fs::read_dir(&at).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(&folder.0).unwrap();
                files.push(name.to_str().unwrap().to_string());
            }
        }
    }
    files.sort();
    let expected = [
        "in/out/x.1.sm_75.ptx",
        "in/out/x.tar/a/b.1.sm_75.ptx",
        "in/out/x.tar/abs.1.sm_75.ptx",
        "in/out/x.tar/c/d.1.sm_75.ptx",
        "in/out/x.tar/e_[2Jf.1.sm_75.ptx",
        "in/out/x.tar/up.1.sm_75.ptx",
        "in/x.tar",
    ];
    assert_eq!(files, expected);
}

/// A packed text has the name that it had before.
#[test]
fn packed_texts_keep_their_names() {
    let folder = Folder::new("extract-packed");
    fs::write(folder.0.join("k.ptx.zst"), zstd_frame(text(1).as_bytes())).unwrap();
    let run = vptx_in(&folder.0, &["extract", "k.ptx.zst", "-o", "out"], b"");
    assert_eq!((run.status, folder.read("out/k.ptx")), (0, text(1)));
}

#[test]
fn errors_name_file_and_member() {
    let folder = Folder::new("extract-errors");
    let broken = Entry { flags: 0x1_0011, ..plain(80, &text(1)) };
    let library = library(&[fat_binary(&[broken, plain(90, &text(2))])]);
    fs::write(folder.0.join("x.whl"), zip(&[("lib.so", &library)])).unwrap();
    let run = vptx_in(&folder.0, &["extract", "x.whl"], b"");
    assert_eq!((run.status, run.stdout), (2, text(2)));
    let offset = library.windows(4).position(|bytes| bytes == [0x50, 0xed, 0x55, 0xba]).unwrap();
    let expected = format!("vptx: `x.whl!lib.so`: the PTX at byte {} is obfuscated\n", offset + 16);
    assert_eq!(run.stderr, expected);
    let small = vptx_in(&folder.0, &["extract", "x.whl", "--max-image", "20"], b"");
    assert_eq!((small.status, small.stdout.as_str()), (2, ""));
    assert!(small.stderr.contains("has more than 20 bytes, the limit"), "{}", small.stderr);
}

const HEAD: &str =
    ".version 8.5\n.target sm_90\n.func f(.reg .b32 d, .reg .b32 a, .reg .b32 b)\n{\n";

/// A library with a clean text, one with a warning, and one with an error.
fn doubtful() -> Vec<u8> {
    let text = |line: &str| format!("{HEAD}{line}\n}}\n");
    let warning = text("vadd.sat.s32.s32.s32 d, a, b;");
    let error = text("vadd.s32.s32.s32 d, a, c;");
    let clean = text("vmin4.u32.u32.u32 d, a, b, d;\nvmin4.u32.u32.u32 d, a, b, a;");
    library(&[fat_binary(&[lz4(75, &clean), zstd(80, &warning), plain(90, &error)])])
}

#[test]
fn check_reads_binaries() {
    let folder = Folder::new("extract-check");
    fs::write(folder.0.join("libx.so.1"), doubtful()).unwrap();
    fs::create_dir(folder.0.join("env")).unwrap();
    let members: [(&str, &[u8]); 2] = [("a/liby.so", &doubtful()), ("METADATA", b"text")];
    fs::write(folder.0.join("env/y.whl"), zip(&members)).unwrap();
    let run = |arguments: &[&str]| vptx_in(&folder.0, &[&["check"], arguments].concat(), b"");
    let human = run(&["libx.so.1", "--format", "concise"]);
    insta::assert_snapshot!(human.transcript(), @r"
    status: 1
    -- stdout --
    libx.so.1!2.sm_80.ptx:5:5: warning[V401]: the modifiers are not in the documented order
    libx.so.1!3.sm_90.ptx:5:24: error[V216]: `c` is not declared here
    -- stderr --
    ");
    let human = run(&["libx.so.1"]);
    assert!(human.stdout.contains("[libx.so.1!2.sm_80.ptx:5:5]"), "{}", human.stdout);
    // No fixes are made in binaries, so none are counted.
    let summary = "\n1 error and 1 warning in 4 video instructions of 3 files\n\
                   3 PTX texts (0.0 MB) in 1 binary: vmin4 2, vadd 1\n";
    assert!(human.stdout.ends_with(summary), "{}", human.stdout);
    let json = run(&["libx.so.1", "env/y.whl", "--format", "json"]);
    let paths: Vec<Value> = json
        .stdout
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect(line)["path"].clone())
        .collect();
    let expected = [
        "libx.so.1!2.sm_80.ptx",
        "libx.so.1!3.sm_90.ptx",
        "env/y.whl!a/liby.so!2.sm_80.ptx",
        "env/y.whl!a/liby.so!3.sm_90.ptx",
    ];
    assert_eq!(paths, expected);
    for format in ["sarif", "junit", "github", "gitlab"] {
        let report = run(&["libx.so.1", "--format", format]);
        assert_eq!(report.status, 1, "{format}");
        assert!(report.stdout.contains("3.sm_90.ptx"), "{format}: {}", report.stdout);
    }
}

#[test]
fn a_walk_reads_binaries_only_if_asked() {
    let folder = Folder::new("extract-walk");
    folder.write("a.ptx", TEXT);
    fs::write(folder.0.join("libx.so.1"), doubtful()).unwrap();
    fs::write(folder.0.join("text.so"), "no binary at all").unwrap();
    let run = |arguments: &[&str]| vptx_in(&folder.0, &[&["check"], arguments].concat(), b"");
    let plain = run(&[]);
    assert_eq!(
        (plain.status, plain.stdout.as_str()),
        (0, "nothing found in 0 video instructions of 1 file\n")
    );
    let listed = run(&["--binaries", "--show-files"]);
    assert_eq!(listed.stdout, "a.ptx\nlibx.so.1\n");
    let all = run(&["--binaries", "--format", "concise"]);
    assert_eq!(all.stdout.lines().count(), 2, "{}", all.stdout);
    assert_eq!(all.stderr, "");
}

#[test]
fn fixes_are_not_made_in_binaries() {
    let folder = Folder::new("extract-fix");
    fs::write(folder.0.join("libx.so"), doubtful()).unwrap();
    for option in ["--fix", "--diff", "--add-ignore", "--fix-only"] {
        let run = vptx_in(&folder.0, &["check", option, "libx.so"], b"");
        assert_eq!(run.status, 2, "{option}");
        assert_eq!(
            run.stderr.lines().next(),
            Some("vptx: `libx.so` is a binary: fixes are made in text only")
        );
    }
    assert!(fs::read(folder.0.join("libx.so")).unwrap() == doubtful());
    // The baseline knows findings by the name of their text.
    let baseline = ["check", "libx.so", "--baseline", "b.json"];
    let update = vptx_in(&folder.0, &[&baseline[..], &["--update-baseline"]].concat(), b"");
    assert_eq!(update.status, 0, "{}", update.stderr);
    let known = vptx_in(&folder.0, &baseline, b"");
    assert!(known.stdout.starts_with("nothing new found"), "{}", known.stdout);
}

/// A test whether a file is binary must not open a pipe, which can be read only once.
#[cfg(unix)]
#[test]
fn a_pipe_is_opened_once() {
    let folder = Folder::new("extract-pipe");
    let pipe = folder.0.join("pipe");
    let piped = |arguments: &[&str]| {
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let run = std::thread::scope(|scope| {
            let writer = scope.spawn(|| fs::write(&pipe, TEXT));
            let run = vptx_in(&folder.0, arguments, b"");
            writer.join().unwrap().expect("somebody reads all of it");
            run
        });
        fs::remove_file(&pipe).unwrap();
        run
    };
    for _ in 0..5 {
        let run = piped(&["check", "pipe"]);
        assert_eq!(run.stdout, "nothing found in 0 video instructions of 1 file\n");
    }
    // A pipe has an end. A device may have none.
    let run = piped(&["extract", "pipe", "-o", "out"]);
    assert_eq!(run.status, 0, "{}", run.stderr);
    let device = vptx_in(&folder.0, &["extract", "/dev/zero", "-o", "out"], b"");
    assert!(device.stderr.contains("a device"), "{}", device.stderr);
}

#[test]
fn lower_rewrites_the_texts_of_binaries() {
    let folder = Folder::new("lower-binary");
    let video = ".version 8.5\n.target sm_90\n.func f() {\n\t.reg .b32 a, b;\n\tvadd4.u32.u32.u32 a, a, b, a;\n}\n";
    let binary = library(&[fat_binary(&[plain(90, &text(1)), lz4(90, video)])]);
    fs::write(folder.0.join("libx.so.1"), &binary).unwrap();
    fs::write(folder.0.join("y.whl"), zip(&[("a/liby.so", &binary)])).unwrap();
    fs::write(folder.0.join("z.ptx"), video).unwrap();
    let lower = |arguments: &[&str]| vptx_in(&folder.0, &[&["rewrite"], arguments].concat(), b"");
    let run = lower(&["libx.so.1", "y.whl", "z.ptx", "-o", "out"]);
    assert_eq!((run.status, run.stdout.as_str()), (0, ""), "{}", run.stderr);
    assert!(
        run.stderr.contains("libx.so.1!2.sm_90.ptx: 1 of 1 video instruction rewritten")
            && run.stderr.contains("y.whl: 2 PTX texts written, 1 of them rewritten: "),
        "{}",
        run.stderr
    );
    let written = |name: &str| fs::read_to_string(folder.0.join("out").join(name)).unwrap();
    assert_eq!(written("libx.so.1.sm_90.ptx"), text(1));
    let alone = lower(&["z.ptx"]).stdout;
    assert!(!alone.contains("vadd4"), "{alone}");
    for name in ["libx.so.2.sm_90.ptx", "y.whl/a/liby.2.sm_90.ptx", "z.ptx"] {
        assert_eq!(written(name), alone, "{name}");
    }
    let quiet = lower(&["libx.so.1", "-o", "more", "-q"]);
    assert_eq!((quiet.status, quiet.stderr.as_str()), (0, ""));
    let wrong = [
        (&["libx.so.1"][..], "`libx.so.1` is a binary: write its PTX into a directory with -o DIR"),
        (&["libx.so.1", "-i"], "`libx.so.1` is a binary: write its PTX with `vptx extract -o DIR`"),
        (&["libx.so.1", "-o", "z.ptx"], "`z.ptx` is a file: the PTX of binaries needs a directory"),
        (&["libx.so.1", "libx.so.1", "-o", "b"], "`libx.so.1` is named twice"),
    ];
    for (arguments, message) in wrong {
        let run = lower(arguments);
        assert_eq!((run.status, run.stdout.as_str()), (2, ""), "{arguments:?}");
        assert!(run.stderr.contains(message), "{}", run.stderr);
    }
}

/// The listing is the output of `cuobjdump -ptx` of CUDA 13.5 for an archive of two objects, which
/// hold `size.fatbin` and `concat-speed.fatbin`. cuobjdump leaves out comments.
#[test]
fn a_listing_of_cuobjdump_is_read() {
    let folder = Folder::new("extract-listing");
    let fixtures = format!("{}/fixtures/fatbin", env!("CARGO_MANIFEST_DIR"));
    let listing = fs::read(format!("{fixtures}/libk.listing.txt")).unwrap();
    for name in ["list.txt", "list.ptx"] {
        fs::write(folder.0.join(name), &listing).unwrap();
    }
    let run = |arguments: &[&str], input: &[u8]| vptx_in(&folder.0, arguments, input);
    let listed = run(&["extract", "--list", "list.txt"], b"");
    let lines: Vec<&str> = listed.stdout.lines().collect();
    assert_eq!((listed.status, lines.len()), (0, 7), "{}", listed.stdout);
    let said = "6 PTX texts; 2 images of machine code skipped";
    assert!(listed.stderr.contains(said), "{}", listed.stderr);
    let code = |text: &str| -> Vec<String> {
        let lines = text.lines().map(|line| line.split("//").next().unwrap_or_default().trim());
        lines.filter(|line| !line.is_empty()).map(String::from).collect()
    };
    let texts = ["1.sm_75", "2.sm_90", "3.sm_100a", "1.sm_75", "2.sm_90", "3.sm_100a"];
    for (number, text) in (1..).zip(texts) {
        let (_, target) = text.split_once('.').unwrap();
        let image = format!("{number}.{target}.ptx");
        let expected = fs::read_to_string(format!("{fixtures}/{text}.ptx")).unwrap();
        for subject in ["list.txt", "list.ptx"] {
            let found = run(&["extract", subject, "--image", &image], b"");
            assert_eq!((found.status, code(&found.stdout)), (0, code(&expected)), "{image}");
        }
    }
    let counted = ["list.txt", "list.ptx"].map(|name| run(&["survey", name], b"").stdout);
    assert_eq!(counted[0].replace(".txt", ".ptx"), counted[1]);
    assert!(counted[0].contains("6 of 6 PTX texts"), "{}", counted[0]);
    // A listing with the ending of PTX is refused as a whole, and no command changes it.
    let heading = "list.ptx:2:1: error[V008]: this is a listing of cuobjdump, not PTX as a whole";
    for command in ["check", "fmt"] {
        let refused = run(&[command, "list.ptx"], b"");
        let all = format!("{}{}", refused.stdout, refused.stderr);
        assert!(all.contains("this is a listing of cuobjdump"), "{command}: {all}");
        assert!(all.contains("`vptx extract` takes the PTX out of it"), "{command}: {all}");
        assert!(!all.contains("V004"), "{all}");
    }
    let concise = run(&["check", "--format", "concise", "list.ptx"], b"");
    assert_eq!((concise.status, concise.stdout.trim_end()), (1, heading));
    assert_eq!(fs::read(folder.0.join("list.ptx")).unwrap(), listing);
    // With another ending, the texts of the listing are checked one by one.
    let checked = run(&["check", "--format", "concise", "list.txt"], b"");
    assert!(!checked.stdout.contains("V008"), "{}", checked.stdout);
    assert_ne!(checked.status, 2, "{}", checked.stderr);
}

/// A PTX text with a warning, as it stands uncompressed in files.
const DOUBTFUL: &str = ".version 8.5\n.target sm_90\n.func f() {\n\t.reg .b32 a;\n\
    vadd.sat.s32.s32.s32 a, a, a;\n}\n";

/// If a member of an archive is a PTX text, the text has the member's name. A text inside a program
/// has a number.
#[test]
fn texts_that_are_not_packed_are_read() {
    let folder = Folder::new("extract-plain");
    let program = [b"\x7fELF\0", DOUBTFUL.as_bytes(), b"\0code"].concat();
    let members: [(&str, &[u8]); 3] =
        [("a/k.ptx", DOUBTFUL.as_bytes()), ("b/x.so", &program), ("read.me", b"no .version 8.0")];
    fs::write(folder.0.join("x.whl"), zip(&members)).unwrap();
    fs::write(folder.0.join("libx.a"), ar(&[("k.o", DOUBTFUL.as_bytes())])).unwrap();
    let names = ["libx.a!k.o", "x.whl!a/k.ptx", "x.whl!b/x.so!1.sm_90.ptx"];
    let run = |arguments: &[&str]| vptx_in(&folder.0, arguments, b"");
    let check = run(&["check", "--binaries", "--format", "concise", "--ignore", "V9"]);
    let found: Vec<&str> = check
        .stdout
        .lines()
        .filter_map(|line| line.split_once(":5:"))
        .map(|(name, _)| name)
        .collect();
    assert_eq!(found, names, "{}", check.stdout);
    let survey = run(&["survey", "--format", "json"]);
    let paths = survey.stdout.lines().map(|line| serde_json::from_str::<Value>(line).expect(line));
    let paths: Vec<Value> = paths.map(|record| record["path"].clone()).collect();
    assert_eq!(paths[..3], names, "{}", survey.stdout);
    let one = run(&["extract", "libx.a", "x.whl", "--image", "a/k.ptx"]);
    assert_eq!((one.status, one.stdout.as_str()), (0, DOUBTFUL), "{}", one.stderr);
    let all = run(&["extract", "libx.a", "x.whl", "-o", "out"]);
    assert_eq!(all.status, 0, "{}", all.stderr);
    for file in ["libx.a/k.ptx", "x.whl/a/k.ptx", "x.whl/b/x.1.sm_90.ptx"] {
        let written = fs::read_to_string(folder.0.join("out").join(file)).expect(file);
        assert_eq!(written, DOUBTFUL, "{file}");
    }
}

#[test]
fn a_walk_finds_programs_without_an_ending() {
    let folder = Folder::new("extract-programs");
    for start in [&b"\x7fELF"[..], b"MZ", b"\xcf\xfa\xed\xfe"] {
        let program = [start, b"\0", DOUBTFUL.as_bytes(), b"\0"].concat();
        fs::write(folder.0.join("run"), &program).unwrap();
        fs::write(folder.0.join("run3.11"), &program).unwrap();
        fs::write(folder.0.join("run.txt"), &program).unwrap();
        folder.write("text", DOUBTFUL);
        let run = |arguments: &[&str]| vptx_in(&folder.0, arguments, b"");
        let listed = run(&["check", "--binaries", "--show-files"]);
        assert_eq!(listed.stdout, "run\nrun3.11\n", "{start:?}");
        let check = run(&["check", "--binaries", "--format", "concise"]);
        assert!(check.stdout.starts_with("run!1.sm_90.ptx:5:"), "{}", check.stdout);
        let survey = run(&["survey"]);
        assert!(survey.stdout.contains(" in 2 files: vadd 2\n"), "{}", survey.stdout);
    }
}

#[test]
fn a_walk_finds_packages() {
    let folder = Folder::new("extract-packages");
    for name in ["index.node", "x.crate", "x.deb", "x.egg", "x.jar", "x.nupkg", "x.other"] {
        fs::write(folder.0.join(name), zip(&[("a.ptx", TEXT.as_bytes())])).unwrap();
    }
    let run = vptx_in(&folder.0, &["check", "--binaries", "--show-files"], b"");
    assert_eq!(run.stdout, "index.node\nx.crate\nx.deb\nx.egg\nx.jar\nx.nupkg\n");
}

/// Such an archive is an error. Other files in this format are mostly tables for tests.
#[test]
fn archives_that_are_not_read_are_told() {
    let folder = Folder::new("extract-unread");
    for (by, start) in [("xz", &b"\xfd7zXZ\0\0"[..]), ("bzip2", b"BZh91AY&SY\0")] {
        let (name, table) = (format!("data.tar.{by}"), format!("table.csv.{by}"));
        fs::write(folder.0.join(&name), start).unwrap();
        let members: [(&str, &[u8]); 3] =
            [(&name, start), (&table, start), ("a.ptx", TEXT.as_bytes())];
        fs::write(folder.0.join("x.whl"), zip(&members)).unwrap();
        let why = format!("it is packed with {by}, which vptx cannot unpack");
        for command in ["check", "extract", "survey"] {
            let run = vptx_in(&folder.0, &[command, &name], b"");
            assert_eq!(run.status, 2, "{command}");
            assert!(run.stderr.contains(&why), "{command}: {}", run.stderr);
            let run = vptx_in(&folder.0, &[command, "x.whl"], b"");
            assert_eq!(run.status, 2, "{command}");
            assert_eq!(run.stderr.matches(&why).count(), 1, "{command}: {}", run.stderr);
            assert!(run.stderr.contains(&format!("x.whl!{name}")), "{command}: {}", run.stderr);
        }
    }
}

#[cfg(unix)]
#[test]
fn devices_are_not_read() {
    let folder = Folder::new("extract-device");
    std::os::unix::fs::symlink("/dev/zero", folder.0.join("zero")).unwrap();
    for arguments in [&["extract", "zero"][..], &["survey", "zero"], &["diff", "zero", "zero"]] {
        let run = vptx_in(&folder.0, arguments, b"");
        let why = "cannot read `zero`: it is a device, which may have no end";
        assert_eq!(run.status, 2, "{arguments:?}");
        assert!(run.stderr.contains(why), "{arguments:?}: {}", run.stderr);
    }
}

#[test]
fn nobody_is_misled_by_names() {
    let folder = Folder::new("extract-hidden");
    let binary = fat_binary(&[plain(75, &text(1))]);
    let hidden =
        ["\u{200b}", "\u{feff}", "\u{ad}", "\u{202e}", "\u{2028}", "\u{2029}", "\u{e0041}"];
    for hidden in hidden {
        let name = format!("a{hidden}b/c{hidden}d.so");
        let archive = zip(&[(&name, &binary)]);
        fs::write(folder.0.join("x.zip"), archive).unwrap();
        let listed = vptx_in(&folder.0, &["extract", "--list", "x.zip"], b"");
        assert!(!listed.stdout.contains(hidden), "{}", listed.stdout);
        let sign = hidden.escape_unicode().to_string();
        assert!(listed.stdout.contains(&format!("a{sign}b/c{sign}d.so!")), "{}", listed.stdout);
        let out = vptx_in(&folder.0, &["extract", "x.zip", "-o", "out"], b"");
        assert_eq!(out.status, 0, "{}", out.stderr);
        assert!(folder.0.join("out/x.zip/a_b/c_d.1.sm_75.ptx").is_file(), "{hidden:?}");
        fs::remove_dir_all(folder.0.join("out")).unwrap();
        // Reports show the text itself, with hidden characters escaped.
        let source = format!(".version 8.5\n.target sm_90\nvadd.s32.s32.s32 d, // {hidden}\n");
        folder.write("a.ptx", &source);
        for format in ["human", "json", "sarif", "github", "gitlab", "junit"] {
            let report = vptx_in(&folder.0, &["check", "a.ptx", "--format", format], b"");
            assert!(!report.stdout.contains(hidden), "{format}: {}", report.stdout);
        }
    }
}

#[test]
fn long_names_are_shortened() {
    let folder = Folder::new("extract-long");
    let binary = fat_binary(&vec![plain(75, &text(1)); 100]);
    let name = "a/".repeat(20_000) + "x.so";
    fs::write(folder.0.join("x.zip"), zip(&[(&name, &binary)])).unwrap();
    let run = vptx_in(&folder.0, &["extract", "--list", "x.zip"], b"");
    assert_eq!(run.status, 0, "{}", run.stderr);
    assert!(run.stdout.len() < 100_000, "{}", run.stdout.len());
    assert!(run.stdout.contains("…"));
    // A file name can have at most 255 bytes.
    let long = "n".repeat(300) + ".so";
    fs::write(folder.0.join("y.zip"), zip(&[(&long, &binary)])).unwrap();
    let out = vptx_in(&folder.0, &["extract", "y.zip", "-o", "out"], b"");
    assert_eq!(out.status, 0, "{}", out.stderr);
}
