//! `vptx survey` as a user calls it.

use std::fs;

use serde_json::{Value, json};

use super::fixtures;
use crate::support::fatbin::{
    Entry, OBFUSCATED, cubin, fat_binary, library, lz4, plain, tar, zip, zstd,
};
use crate::support::program::{Folder, Run, vptx_in};

/// Four video instructions. For two of them, ptxas computes other results than the manual says.
const VIDEO: &str = "\
.version 8.5
.target sm_90
.func f() {
    .reg .b32 a, b, c, d;
    vadd4.u32.u32.u32 d, a, b, c;
    vadd4.s32.s32.s32.sat d, a, b, c;
    vadd.u32.u32.u32.sat d, a, b;
    vsub.s32.s32.s32.sat d.b2, a.b2, b.b2, c;
}
";

const PLAIN: &str = ".version 8.5\n.target sm_75\n.func f() { ret; }\n";

fn sample() -> Vec<u8> {
    library(&[fat_binary(&[cubin(75), plain(75, PLAIN), lz4(90, VIDEO)])])
}

fn records(run: &Run) -> Vec<Value> {
    fixtures::records(run, "survey.schema.json")
}

#[test]
fn a_table_has_the_texts_with_video_instructions() {
    let folder = Folder::new("survey-table");
    fs::write(folder.0.join("libx.so.1"), sample()).unwrap();
    let run = vptx_in(&folder.0, &["survey"], b"");
    insta::assert_snapshot!(run.transcript(), @r"
    status: 0
    -- stdout --
    video  differ  before  after  arch   ptx  name
        4       2      65     18  sm_90  8.5  libx.so.1!2.sm_90.ptx
    4 video instructions in 1 of 2 PTX texts (0.3 kB) in 1 file: vadd4 2, vadd 1, vsub 1
    ptxas differs from the manual for 2: C2 1, C3 1
    65 machine instructions, 18 after rewriting
    -- stderr --
    ");
    let all = vptx_in(&folder.0, &["survey", "--all", "libx.so.1"], b"");
    assert_eq!(all.stdout.lines().count(), run.stdout.lines().count() + 1);
    let none = vptx_in(&folder.0, &["survey", "-"], PLAIN.as_bytes());
    let nothing = "0 video instructions in 0 of 1 PTX text (0.0 kB) in 1 file\n";
    assert_eq!((none.status, none.stdout.as_str()), (0, nothing));
    // What would be rounded to 1000.0 kB is a megabyte.
    for (length, size) in [(999_949, "999.9 kB"), (999_950, "1.0 MB")] {
        let blanks = " ".repeat(length - PLAIN.len());
        let long = vptx_in(&folder.0, &["survey", "-"], (PLAIN.to_owned() + &blanks).as_bytes());
        assert!(long.stdout.contains(&format!("({size})")), "{}", long.stdout);
    }
}

/// ptxas 13.5 makes 19 machine instructions of `vmin4`, but only one of `min.u8x4`.
#[test]
fn targets_with_instructions_on_bytes_have_costs_of_their_own() {
    let folder = Folder::new("survey-bytes");
    let text = |target: &str| {
        format!(
            ".version 9.2\n.target {target}\n.func f() {{\n.reg .b32 a, b, c, d;\n\
             vmin4.u32.u32.u32 d, a, b, c;\n}}\n"
        )
    };
    for (target, after) in [("sm_120", 5), ("sm_120a", 1), ("sm_121f", 1)] {
        let run = vptx_in(&folder.0, &["survey", "-"], text(target).as_bytes());
        let total = format!("19 machine instructions, {after} after rewriting\n");
        assert!(run.stdout.ends_with(&total), "{target}: {}", run.stdout);
    }
}

#[test]
fn json_follows_its_schema() {
    let folder = Folder::new("survey-json");
    let name = "a_b-1.2-py3-none-any.whl";
    let obfuscated = Entry { flags: 0x11 | OBFUSCATED, ..plain(80, "?") };
    let binary = fat_binary(&[zstd(90, VIDEO), obfuscated]);
    fs::write(folder.0.join(name), zip(&[("b/c.so", &binary)])).unwrap();
    fs::write(folder.0.join("d.ptx"), format!("{VIDEO}vadd d;\n")).unwrap();
    let run = vptx_in(&folder.0, &["survey", "--format", "json", "."], b"");
    assert_eq!(run.status, 2);
    assert!(run.stderr.contains("obfuscated"), "{}", run.stderr);
    let [image, error, file, total] = &records(&run)[..] else { panic!("{}", run.stdout) };
    let package = json!({ "name": "a-b", "version": "1.2" });
    for record in [image, error] {
        assert_eq!(record["package"], package);
        assert_eq!((&record["file"], &record["member"]), (&name.into(), &"b/c.so".into()));
    }
    assert_eq!(image["path"], format!("{name}!b/c.so!1.sm_90.ptx"));
    assert_eq!((&image["arch"], &image["ptx"]), (&"sm_90".into(), &"8.5".into()));
    assert_eq!(image["bytes"], VIDEO.len());
    for record in [image, file] {
        assert_eq!(record["instructions"], 4);
        assert_eq!(record["mnemonics"], json!({ "vadd": 1, "vadd4": 2, "vsub": 1 }));
        assert_eq!(record["deviations"], json!({ "C2": 1, "C3": 1 }));
        assert_eq!((&record["differ"], &record["measured"]), (&2.into(), &4.into()));
    }
    assert_eq!(image["errors"], 0);
    assert!(file["errors"].as_u64() > Some(0), "{file}");
    assert_eq!(
        (&file["package"], &file["member"], &file["image"]),
        (&Value::Null, &Value::Null, &Value::Null)
    );
    let sum = |name: &str| image[name].as_u64().unwrap() + file[name].as_u64().unwrap();
    for name in ["instructions", "differ", "measured", "before", "after", "bytes", "errors"] {
        assert_eq!(total[name].as_u64(), Some(sum(name)), "{name}");
    }
    assert_eq!((&total["files"], &total["images"]), (&2.into(), &2.into()));
    assert_eq!(total["images_with_video"], 2);
    assert_eq!(total["mnemonics"]["vadd4"], 4);
}

/// A fat binary names the target and the version of each text, and the text need not.
#[test]
fn texts_in_binaries_have_the_version_that_the_binary_names() {
    let folder = Folder::new("survey-version");
    let binary = library(&[fat_binary(&[plain(75, ".func f() { ret; }\n")])]);
    fs::write(folder.0.join("libx.so"), binary).unwrap();
    let run = vptx_in(&folder.0, &["survey", "--format", "json", "libx.so"], b"");
    let [image, _] = &records(&run)[..] else { panic!("{}", run.stdout) };
    // All entries of `fat_binary` have PTX 8.5.
    assert_eq!((&image["arch"], &image["ptx"]), (&"sm_75".into(), &"8.5".into()));
}

#[test]
fn one_video_instruction_counts() {
    let folder = Folder::new("survey-one");
    for (name, instructions) in [("none", ""), ("one", "vadd.u32.u32.u32 a, a, a;\n")] {
        let head = ".version 8.5\n.target sm_90\n.func f()\n{\n.reg .b32 a;\n";
        folder.write(&format!("{name}.ptx"), format!("{head}{instructions}ret;\n}}\n"));
    }
    let run = vptx_in(&folder.0, &["survey", "--format", "json", "."], b"");
    let total: Value = serde_json::from_str(run.stdout.lines().last().unwrap()).unwrap();
    assert_eq!((&total["images"], &total["images_with_video"]), (&2.into(), &1.into()));
}

/// The costs equal the costs that `rewrite` reports.
#[test]
fn costs_are_those_of_lower() {
    let folder = Folder::new("survey-costs");
    let text: String = VIDEO
        .lines()
        .filter(|line| !line.contains(".u32.u32.u32 "))
        .fold(String::new(), |text, line| text + line + "\n");
    fs::write(folder.0.join("a.ptx"), &text).unwrap();
    let run = vptx_in(&folder.0, &["survey", "--format", "json", "a.ptx"], b"");
    let record = &records(&run)[0];
    let lowered = vptx_in(&folder.0, &["rewrite", "a.ptx"], b"");
    let said = format!(
        "3 of 3 video instructions rewritten: {} → {} machine",
        record["before"], record["after"]
    );
    assert!(lowered.stderr.contains(&said), "{said}: {}", lowered.stderr);
}

#[test]
fn installed_files_have_their_package() {
    let folder = Folder::new("survey-site");
    let site = folder.0.join("venv/lib/python3.11/site-packages");
    fs::create_dir_all(site.join("nvidia/npp")).unwrap();
    fs::create_dir_all(site.join("Nvidia_NPP-12.4.1.dist-info")).unwrap();
    fs::write(site.join("nvidia/npp/libx.so"), sample()).unwrap();
    fs::write(site.join("nvidia/other.so"), sample()).unwrap();
    let record = "nvidia/__init__.py,,\nnvidia/npp/libx.so,sha256=x,1\n";
    fs::write(site.join("Nvidia_NPP-12.4.1.dist-info/RECORD"), record).unwrap();
    let run = vptx_in(&folder.0, &["survey", "--format", "json", "venv"], b"");
    let packages: Vec<Value> = records(&run)
        .into_iter()
        .filter(|record| record["kind"] == "image" && record["instructions"] == 4)
        .map(|record| record["package"].clone())
        .collect();
    assert_eq!(packages, [json!({ "name": "nvidia-npp", "version": "12.4.1" }), Value::Null]);
}

#[test]
fn many_files_come_in_order() {
    let folder = Folder::new("survey-order");
    for number in 0..60 {
        let text = if number % 7 == 0 { VIDEO.repeat(50) } else { PLAIN.into() };
        fs::write(folder.0.join(format!("{number:02}.ptx")), text).unwrap();
    }
    fs::write(folder.0.join("other.txt"), "not read").unwrap();
    let run = vptx_in(&folder.0, &["survey", "--format", "json", "--jobs", "4", "."], b"");
    let files: Vec<String> = records(&run)
        .iter()
        .filter(|record| record["kind"] == "image")
        .map(|record| record["file"].as_str().unwrap().to_string())
        .collect();
    let expected: Vec<String> = (0..60).map(|number| format!("{number:02}.ptx")).collect();
    assert_eq!(files, expected);
}

#[test]
fn unreadable_files_are_reported() {
    let folder = Folder::new("survey-errors");
    fs::write(folder.0.join("a.cu"), "int x;").unwrap();
    fs::write(folder.0.join("big.ptx"), PLAIN.repeat(9)).unwrap();
    folder.write("nul.ptx", format!("{PLAIN}\0"));
    let wide: Vec<u8> = PLAIN.encode_utf16().flat_map(u16::to_le_bytes).collect();
    fs::write(folder.0.join("wide.ptx"), wide).unwrap();
    fs::write(folder.0.join("cut.tar"), &tar(&[("x.so", &sample())])[..1800]).unwrap();
    let cases = [
        (&["none.so"][..], "cannot read `none.so`: no such file"),
        (&["a.cu"], "cannot read `a.cu`: it is neither PTX nor a binary or an archive"),
        (&["big.ptx", "--max-image", "100"], "`big.ptx`: it has more than 100 bytes"),
        (&["cut.tar"], "cannot read `cut.tar"),
        (&["nul.ptx"], "cannot read `nul.ptx`: this is binary data, not PTX text"),
        (&["wide.ptx"], "cannot read `wide.ptx`: this is UTF-16 (little-endian), not ASCII"),
    ];
    for (arguments, message) in cases {
        let run = vptx_in(&folder.0, &[&["survey"], arguments].concat(), b"");
        assert_eq!(run.status, 2, "{arguments:?}");
        assert!(run.stderr.contains(message), "{arguments:?}: {}", run.stderr);
        assert_eq!(run.stdout, "0 video instructions in 0 of 0 PTX texts (0.0 kB) in 0 files\n");
    }
    fs::write(folder.0.join("x.tar"), tar(&[("x.so", &sample())])).unwrap();
    assert_eq!(vptx_in(&folder.0, &["survey", "x.tar"], b"").status, 0);
    // Files that can be read do not hide one that cannot.
    folder.write("a.ptx", PLAIN);
    assert_eq!(vptx_in(&folder.0, &["survey", "a.ptx"], b"").status, 0);
    fs::create_dir(folder.0.join("empty")).unwrap();
    for unread in ["none.ptx", "empty"] {
        assert_eq!(vptx_in(&folder.0, &["survey", "a.ptx", unread], b"").status, 2, "{unread}");
    }
}

/// A text has no costs if nothing was measured for its target.
#[test]
fn costs_that_were_not_measured_are_no_zeros() {
    let folder = Folder::new("survey-unmeasured");
    folder.write("a.ptx", VIDEO.replace("8.5", "6.0").replace("sm_90", "sm_30"));
    let run = vptx_in(&folder.0, &["survey", "a.ptx"], b"");
    let row: Vec<&str> = run.stdout.lines().nth(1).unwrap().split_whitespace().collect();
    assert_eq!(row[2..], ["-", "-", "sm_30", "6.0", "a.ptx"], "{}", run.stdout);
}
