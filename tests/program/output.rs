//! The program's output: no text from a file can control a terminal or start a new line, and output
//! for programs is exact.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use super::fixtures::{BAD, LOOSE, ODD, schema};
use crate::support::program::{Folder, ROOT, start, vptx, vptx_in};
use serde_json::Value;

/// Characters that must not be shown unescaped.
const HIDDEN: &str = "\u{1}\u{7}\u{8}\u{b}\u{1b}[2J\u{7f}\u{80}\u{85}\u{9b}2J\u{9f}\u{61c}\u{200e}\
    \u{200f}\u{2028}\u{2029}\u{202a}\u{202e}\u{2066}\u{2069}";
const FORMATS: [&str; 7] = ["human", "concise", "json", "sarif", "github", "junit", "gitlab"];

fn hidden(c: char) -> bool {
    c.is_control()
        || "\u{61c}\u{200e}\u{200f}\u{2028}\u{2029}\u{fffe}\u{ffff}".contains(c)
        || ('\u{202a}'..='\u{202e}').contains(&c)
        || ('\u{2066}'..='\u{2069}').contains(&c)
}

/// The bytes that a run writes.
fn output(folder: &Path, arguments: &[&str], stdin: &[u8]) -> Output {
    let mut child = start(folder, arguments);
    child.stdin.take().expect("a pipe").write_all(stdin).expect("it reads");
    child.wait_with_output().expect("the program ends")
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(json).collect()
}

/// Fails if the text has hidden characters other than line ends.
fn assert_visible(text: &[u8], what: &str) -> String {
    let text = std::str::from_utf8(text).unwrap_or_else(|error| panic!("{what}: {error}"));
    if let Some(c) = text.chars().find(|c| hidden(*c) && *c != '\n') {
        panic!("{what}: {c:?} in {text:?}");
    }
    text.into()
}

/// A PTX text whose messages quote hidden characters, including line breaks.
fn hostile() -> String {
    let mut texts = vec![
        format!("vadd.u32.u32.u32 d, a, b; // vptx: ignore[{HIDDEN}]\n"),
        format!("vadd.u32.u32.u32 d, a \"{}\", b;\n", &HIDDEN[..8]),
        "vadd.u32.u32.u32 d, a \"\nbad.ptx:1:1: error[V104]: \", b;\n".into(),
        "vadd.u32.u32.u32 d, a \"\n::error file=x::y\", b;\n".into(),
    ];
    texts.extend(HIDDEN.chars().map(|c| format!("vadd.u32.u32.u32 d, {c}, b;\n")));
    texts.concat()
}

/// File names that must not reach a terminal unescaped.
#[cfg(target_os = "linux")]
fn hostile_names() -> Vec<std::ffi::OsString> {
    use std::os::unix::ffi::OsStringExt;
    let mut names: Vec<Vec<u8>> = vec![
        format!("{HIDDEN}.ptx").into_bytes(),
        b"a\nbad.ptx:1:1: error[V104]: x.ptx".to_vec(),
        b"a\n::error file=x::y.ptx".to_vec(),
        b"not\xffutf8\x9b.ptx".to_vec(),
        b"not\xfeutf8\x9b.ptx".to_vec(),
        b"\\u{1b}.ptx".to_vec(),
        b"\x1b.ptx".to_vec(),
        b"\\xff.ptx".to_vec(),
        "\u{fffe}\u{ffff}\u{fffd}.ptx".into(),
    ];
    names.sort();
    names.into_iter().map(std::ffi::OsString::from_vec).collect()
}

#[test]
#[cfg(target_os = "linux")]
fn nothing_controls_the_terminal() {
    use std::os::unix::ffi::OsStrExt;
    let folder = Folder::new("output-hostile");
    let names = hostile_names();
    for name in &names {
        fs::write(folder.0.join(name), hostile()).expect("a file");
    }
    let found = lines(&vptx_in(&folder.0, &["check", "--format", "json"], b"").stdout).len();
    assert!(found > names.len() * 15);
    for format in FORMATS {
        let output = output(&folder.0, &["check", "--format", format], b"");
        assert_eq!(output.status.code(), Some(1), "{format}");
        let text = assert_visible(&output.stdout, format);
        assert_visible(&output.stderr, format);
        let is_own = |line: &str| match format {
            "concise" => {
                line.starts_with(|c| "\\ane\u{fffd}".contains(c)) && line.contains(".ptx:")
            }
            "github" => line.starts_with("::error file=") || line.starts_with("::warning file="),
            _ => true,
        };
        assert!(text.lines().all(is_own), "{format}: {text}");
        if matches!(format, "concise" | "github") {
            assert_eq!(text.lines().count(), found, "{format}");
        }
    }
    // Colours are the only control sequences.
    let colored = output(&folder.0, &["check", "--color", "always"], b"");
    let text = std::str::from_utf8(&colored.stdout).expect("UTF-8");
    let mut pieces = text.split('\u{1b}');
    assert_visible(pieces.next().unwrap_or_default().as_bytes(), "colours");
    for piece in pieces {
        let end = piece.find(|c: char| !"[;0123456789".contains(c)).expect("an end");
        assert_eq!(piece.as_bytes()[end], b'm', "{piece:?}");
        assert_visible(piece.as_bytes(), "colours");
    }

    let all = |arguments: &[&str]| {
        let output = output(&folder.0, arguments, b"");
        assert_visible(&output.stdout, &format!("{arguments:?}"))
            + &assert_visible(&output.stderr, &format!("{arguments:?}"))
    };
    for name in &names {
        // Rust can pass only names in UTF-8 as arguments; the other names are found in the folder.
        let Ok(name) = std::str::from_utf8(name.as_bytes()) else { continue };
        let gone = format!("no{name}");
        assert_eq!(all(&["check", &gone]).lines().count(), 1, "{gone:?}");
        assert_eq!(all(&["fmt", &gone]).lines().count(), 1, "{gone:?}");
        assert_eq!(all(&["lower", "--emit", "ir", &gone]).lines().count(), 1, "{gone:?}");
        assert_eq!(all(&["eval", "--batch", &gone]).lines().count(), 1, "{gone:?}");
        all(&["lower", "--emit", "ir", name]);
        all(&["check", "--config", name]);
        all(&["check", "--baseline", name]);
        all(&["explain", name]);
        all(&["man", "--out", name]);
    }
    all(&["fmt"]);
    for name in &names {
        fs::write(folder.0.join(name), "vadd.u32.u32.u32  d, a, b;\n").expect("a file");
    }
    let told = all(&["fmt", "--check"]);
    let would = told.lines().filter(|line| line.starts_with("would format ")).count();
    assert_eq!(would, names.len(), "{told}");
    // The printed program has the name in a comment.
    for name in names.iter().filter_map(|name| name.to_str()) {
        let ir = all(&["lower", "--emit", "ir", name]);
        assert!(!ir.lines().any(|line| line.starts_with("::") || line.starts_with("bad")), "{ir}");
        fs::write(folder.0.join(name), format!("\u{1b}{HIDDEN}")).expect("a file");
        all(&["check", "--config", name]);
    }
}

#[test]
fn lines_of_a_batch_are_its_own() {
    let text = format!(
        "vadd.u32.u32.u32 d, a{HIDDEN}, b;\t1\t2\nvadd.u32.u32.u32 d, a, b;\t\u{2028}\u{1b}\t1\n"
    );
    let output = output(Path::new(ROOT), &["eval", "--batch", "-"], text.as_bytes());
    let text = assert_visible(&output.stdout, "batch");
    assert_eq!(text.lines().count(), 2, "{text}");
    assert!(text.lines().all(|line| line.starts_with("error: ")), "{text}");
}

/// The bytes of a name that is printed with escapes.
#[cfg(target_os = "linux")]
fn unescaped(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        bytes.extend_from_slice(&rest.as_bytes()[..at]);
        rest = &rest[at + 1..];
        if let Some(hex) = rest.strip_prefix("u{") {
            let (hex, after) = hex.split_once('}').expect("an end");
            let c =
                u32::from_str_radix(hex, 16).ok().and_then(char::from_u32).expect("a character");
            bytes.extend_from_slice(c.to_string().as_bytes());
            rest = after;
        } else if let Some(hex) = rest.strip_prefix('x') {
            bytes.push(u8::from_str_radix(&hex[..2], 16).expect("two digits"));
            rest = &hex[2..];
        } else {
            bytes.push(b'\\');
        }
    }
    bytes.extend_from_slice(rest.as_bytes());
    bytes
}

#[cfg(target_os = "linux")]
fn percent_decoded(text: &str) -> Vec<u8> {
    let mut parts = text.split('%');
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        bytes.push(u8::from_str_radix(&part[..2], 16).expect("two digits"));
        bytes.extend_from_slice(&part.as_bytes()[2..]);
    }
    bytes
}

#[test]
#[cfg(target_os = "linux")]
fn names_are_told_without_loss() {
    use std::os::unix::ffi::OsStrExt;
    let folder = Folder::new("output-names");
    let names = hostile_names();
    for name in &names {
        fs::write(folder.0.join(name), BAD).expect("a file");
    }
    let report = |format| vptx_in(&folder.0, &["check", "--format", format], b"").stdout;
    let bytes: Vec<&[u8]> = names.iter().map(|name| name.as_bytes()).collect();

    let records = lines(&report("json"));
    assert_eq!(records.len(), names.len());
    for (record, name) in records.iter().zip(&bytes) {
        if let Ok(text) = std::str::from_utf8(name) {
            assert_eq!(record["path"], text);
            assert!(record.get("uri").is_none());
        } else {
            let uri = record["uri"].as_str().expect("a URI");
            assert_eq!(percent_decoded(uri), *name);
            assert_eq!(record["path"], String::from_utf8_lossy(name).as_ref());
        }
    }
    let sarif = json(&report("sarif"));
    let results = sarif["runs"][0]["results"].as_array().expect("results");
    let uris: Vec<Vec<u8>> = results
        .iter()
        .map(|result| &result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"])
        .map(|uri| percent_decoded(uri.as_str().expect("a URI")))
        .collect();
    assert_eq!(uris, bytes);

    let xml = report("junit");
    let document = roxmltree::Document::parse(&xml).expect("XML");
    let suites = document.root_element().children().filter(roxmltree::Node::is_element);
    let told: Vec<Vec<u8>> =
        suites.map(|suite| unescaped(suite.attribute("name").expect("a name"))).collect();
    assert_eq!(told, bytes);

    // GitHub's format cannot express bytes, so names must only stay distinct.
    let github = report("github");
    let told: BTreeSet<&str> =
        github.lines().map(|line| line.split_once(',').expect("a comma").0).collect();
    assert!(told.len() >= names.len() - 1, "{told:?}");
}

#[test]
fn programs_read_exact_messages() {
    let text = hostile();
    let expected: Vec<String> = vptx::check(&text, &vptx::CheckOptions::default())
        .into_iter()
        .map(|diagnostic| diagnostic.message)
        .collect();
    assert!(expected.iter().any(|message| message.contains('\u{202e}')), "{expected:?}");
    assert!(expected.iter().any(|message| message.contains('\u{1b}')), "{expected:?}");
    let report = |format| vptx(&["check", "--format", format, "-"], &text).stdout;
    let told: Vec<Value> =
        lines(&report("json")).iter().map(|record| record["message"].clone()).collect();
    assert_eq!(told, expected);
    let array = json(&report("gitlab"));
    let told: Vec<&Value> =
        array.as_array().expect("an array").iter().map(|issue| &issue["description"]).collect();
    assert_eq!(told, expected.iter().collect::<Vec<_>>());
    let sarif = json(&report("sarif"));
    for (result, expected) in
        sarif["runs"][0]["results"].as_array().expect("results").iter().zip(&expected)
    {
        let told = result["message"]["text"].as_str().expect("text").replace("\\](", "](");
        let told = told.replace("{{", "{").replace("}}", "}");
        assert!(told.starts_with(expected.as_str()), "{told:?} {expected:?}");
    }
}

#[test]
fn labels_stand_under_their_token() {
    // The hidden characters have one, two or three bytes; each is shown one column wide.
    for hidden in
        ["", "\u{1b}", "\u{7f}\u{9b}", "\u{202e}\u{2066}", "\u{61c}\u{85}\u{200f}\u{fffe}"]
    {
        let run = vptx(&["check", "-"], &format!("vadd.u32.u32.u32 d, /*{hidden}*/ [a], b;\n"));
        let shown: Vec<&str> = run.stdout.lines().collect();
        let at = shown.iter().position(|line| line.contains("[a]")).expect("an excerpt");
        let column =
            |line: &str, what: &str| line[..line.find(what).expect("it is there")].chars().count();
        // The mark under `[a]` starts in the same column.
        assert_eq!(column(shown[at], "[a]"), column(shown[at + 1], "─┬─"), "{}", run.stdout);
        let marks = shown[at].chars().filter(|c| "?¿\u{fffd}".contains(*c)).count();
        assert_eq!(marks, hidden.chars().count());
    }
}

// Diffs.

/// Applies a unified diff of one file and returns the new text; `None` if the diff does not fit.
fn applied(diff: &[u8], old: &[u8]) -> Option<Vec<u8>> {
    let mut diff = diff.split_inclusive(|&b| b == b'\n').skip(2).peekable();
    let mut old = old.split_inclusive(|&b| b == b'\n');
    let (mut new, mut at) = (Vec::new(), 0);
    while let Some(line) = diff.next() {
        if let Some(range) = line.strip_prefix(b"@@ -") {
            let range = std::str::from_utf8(range).ok()?;
            let (start, count) = range.split(' ').next()?.split_once(',').map_or_else(
                || (range.split(' ').next().unwrap_or_default(), "1"),
                |(start, count)| (start, count),
            );
            let start: usize = start.parse().ok()?;
            let before = if count == "0" { start } else { start - 1 };
            while at < before {
                new.extend_from_slice(old.next()?);
                at += 1;
            }
            continue;
        }
        let (sign, mut text) = (line[0], &line[1..]);
        if diff.peek().is_some_and(|next| next.starts_with(b"\\ ")) {
            diff.next();
            text = text.strip_suffix(b"\n")?;
        }
        if sign != b'+' {
            if old.next()? != text {
                return None;
            }
            at += 1;
        }
        match sign {
            b'+' | b' ' => new.extend_from_slice(text),
            b'-' => {}
            _ => return None,
        }
    }
    new.extend(old.flatten());
    Some(new)
}

/// Whether the machine has a `patch` that preserves bytes.
fn has_patch() -> bool {
    let version = Command::new("patch").arg("--version").output();
    version.is_ok_and(|output| output.stdout.starts_with(b"GNU patch"))
}

/// Applies a diff with the real `patch`. The diff names the files.
fn patch(folder: &Path, arguments: &[&str], diff: &[u8]) {
    let mut child = Command::new("patch")
        .args(arguments)
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    child.stdin.take().expect("a pipe").write_all(diff).expect("it reads");
    let output = child.wait_with_output().expect("it ends");
    let told = String::from_utf8_lossy(&output.stdout).into_owned()
        + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{told}\n{}", String::from_utf8_lossy(diff));
}

#[test]
fn diffs_apply_byte_for_byte() {
    let texts: &[&[u8]] = &[
        b"vadd.sat.s32.s32.s32 d, a, b; // \x1b[1m \x7f \xe9 \x9b \xff\n",
        b"// \x1b]0;x\x07 \xe9\nvadd.sat.s32.s32.s32 d, a, b;\n// \x7f\n// \xff\r\n",
        b"vadd.sat.s32.s32.s32 d, a, b;",
        b"// no end\nvadd.sat.s32.s32.s32 d, a, b;\n\n\n\n\n\n// end",
        b"vadd.sat.s32.s32.s32 d, a, b;\r\n// CR\rin a line\r\nvadd.sat.s32.s32.s32 d, a, b;\r\n",
        b"// a\rb\x0cc\nvadd.sat.s32.s32.s32 d, a, b;\n\xe2\x80\xa8// \xc2\x85\n",
        b"// \xe2\x80\xae\nvadd.sat.s32.s32.s32 d, a, b; // \xc2\x9b\xe2\x80\xa8\n",
        b"-- a\n",
        b"\n\n\n",
        b" ",
    ];
    let commands: [[&[&str]; 2]; 3] = [
        [&["check", "--diff", "--quiet"], &["check", "--fix"]],
        [&["check", "--diff", "--unsafe-fixes", "-q"], &["check", "--fix", "--unsafe-fixes"]],
        [&["fmt", "--diff", "--quiet"], &["fmt"]],
    ];
    let mut changed = 0;
    for text in texts {
        // The text with many lines around it, so that line numbers in the diff are large.
        let far: Vec<u8> = [&b"// line\n".repeat(20)[..], text, &b"\n// line".repeat(9)].concat();
        for text in [text.to_vec(), far] {
            for [shows, makes] in commands {
                let folder = Folder::new("output-diff");
                folder.write("a.ptx", &text);
                let diff = output(&folder.0, &[shows, &["a.ptx"]].concat(), b"").stdout;
                assert_eq!(fs::read(folder.0.join("a.ptx")).expect("it is there"), text);
                output(&folder.0, &[makes, &["a.ptx"]].concat(), b"");
                let wanted = fs::read(folder.0.join("a.ptx")).expect("it is there");
                assert_eq!(diff.is_empty(), wanted == text);
                if diff.is_empty() {
                    continue;
                }
                changed += 1;
                let applied = applied(&diff, &text);
                assert_eq!(applied.as_deref(), Some(&*wanted), "{}", diff.escape_ascii());
                if has_patch() {
                    folder.write("a.ptx", &text);
                    patch(&folder.0, &[], &diff);
                    let patched = fs::read(folder.0.join("a.ptx")).unwrap_or_default();
                    assert_eq!(patched, wanted, "{}", diff.escape_ascii());
                }
            }
        }
    }
    assert!(changed > 30, "{changed}");
}

/// The file name in a diff.
fn told_name(diff: &[u8]) -> Vec<u8> {
    let line = diff.split(|&b| b == b'\n').next().and_then(|line| line.strip_prefix(b"--- "));
    let line = line.expect("a header");
    let Some(quoted) = line.strip_prefix(b"\"").and_then(|line| line.strip_suffix(b"\"")) else {
        return line.strip_suffix(b"\t").unwrap_or(line).to_vec();
    };
    let (mut name, mut at) = (Vec::new(), 0);
    while at < quoted.len() {
        let escape = quoted[at] == b'\\';
        let (byte, taken) = match quoted.get(at + 1) {
            Some(b't') if escape => (b'\t', 2),
            Some(b'n') if escape => (b'\n', 2),
            Some(b'r') if escape => (b'\r', 2),
            Some(&c @ (b'"' | b'\\')) if escape => (c, 2),
            Some(_) if escape => {
                let digits = std::str::from_utf8(&quoted[at + 1..at + 4]).expect("digits");
                (u8::from_str_radix(digits, 8).expect("octal"), 4)
            }
            _ => (quoted[at], 1),
        };
        name.push(byte);
        at += taken;
    }
    name
}

#[test]
#[cfg(target_os = "linux")]
fn diffs_name_files_as_patch_does() {
    use std::os::unix::ffi::OsStrExt;
    let mut names = hostile_names();
    let more =
        ["a b.ptx", "a\tb.ptx", " a.ptx", "a\"b.ptx", "\"a.ptx", "a\\b.ptx", "é→.ptx", "a\rb.ptx"];
    names.extend(more.map(Into::into));
    for name in &names {
        let folder = Folder::new("output-diff-names");
        let path = folder.0.join(name);
        fs::write(&path, ODD).expect("a file");
        let diff = output(&folder.0, &["check", "--diff", "--quiet"], b"").stdout;
        assert_eq!(told_name(&diff), name.as_bytes());
        let header = diff.split(|&b| b == b'\n').take(2);
        for line in header {
            let line = line.strip_suffix(b"\t").unwrap_or(line);
            assert_visible(line, "a header");
        }
        // `patch` accepts no name with a line break from a diff.
        if has_patch() && !name.as_bytes().contains(&b'\n') {
            patch(&folder.0, &[], &diff);
            assert_eq!(fs::read(&path).expect("it is there"), b"vadd.s32.s32.s32.sat d, a, b;\n");
            assert_eq!(fs::read_dir(&folder.0).expect("a folder").count(), 1);
        }
    }
    // git writes this name so, too.
    let folder = Folder::new("output-diff-quoted");
    folder.write("a\"é.ptx", ODD);
    let diff = output(&folder.0, &["check", "--diff", "--quiet"], b"").stdout;
    assert!(diff.starts_with(b"--- \"a\\\"\\303\\251.ptx\"\n"), "{}", diff.escape_ascii());
    let folder = Folder::new("output-diff-paths");
    folder.write("sub dir/a.ptx", ODD);
    folder.write("sub/b.ptx", ODD);
    let diff = output(&folder.0, &["check", "--diff", "--quiet"], b"").stdout;
    if has_patch() {
        patch(&folder.0, &["-p0"], &diff);
        assert!(output(&folder.0, &["check", "--diff", "--quiet"], b"").stdout.is_empty());
    }
}

#[test]
fn diffs_for_people_are_visible() {
    let folder = Folder::new("output-diff-shown");
    let text = b"// \x1b[2J\xe9\x7f\tx\xc2\x9b\r\nvadd.sat.s32.s32.s32 d, a, b;\n";
    folder.write("a.ptx", text);
    for command in [&["check", "--diff", "-q"][..], &["fmt", "--diff", "-q"]] {
        let arguments = [command, &["--color", "always", "a.ptx"]].concat();
        let run = vptx_in(&folder.0, &arguments, b"");
        assert!(run.stdout.contains("// \\u{1b}[2J\\xe9\\u{7f}\tx\\u{9b}"), "{}", run.stdout);
        let mut plain = run.stdout.clone();
        for code in ["0", "1", "31", "32", "36"] {
            plain = plain.replace(&format!("\u{1b}[{code}m"), "");
        }
        assert_visible(plain.replace('\t', "").as_bytes(), "a diff");
        assert!(plain.len() < run.stdout.len());
    }
}

// Formats.

/// The failed cases of a `JUnit` document, by code.
fn failures(xml: &str) -> Vec<String> {
    let document = roxmltree::Document::parse(xml).expect("XML");
    let failed: Vec<String> = document
        .descendants()
        .filter(|node| node.has_tag_name("failure"))
        .map(|node| {
            node.parent().and_then(|case| case.attribute("name")).unwrap_or_default()[..4].into()
        })
        .collect();
    let told: usize = document
        .descendants()
        .filter_map(|node| node.attribute("failures")?.parse::<usize>().ok())
        .sum();
    assert_eq!(told, failed.len());
    failed
}

#[test]
fn junit_fails_what_the_run_fails() {
    let noted = "vadd2.u32.u32.u32 d.h10, a, b, c;\n";
    let texts =
        [(BAD, true, false), (LOOSE, false, true), (ODD, false, true), (noted, false, false)];
    for deny in [&[][..], &["--deny", "warnings"]] {
        for (text, error, warning) in texts {
            let arguments = ["check", "--format", "junit", "--extend-select", "V408", "-"];
            let run = vptx(&[&arguments[..], deny].concat(), text);
            let fails = error || warning && !deny.is_empty();
            assert_eq!(run.status, i32::from(fails), "{text}");
            assert_eq!(failures(&run.stdout).is_empty(), !fails, "{}", run.stdout);
            // The report also has the findings that fail nothing.
            let told = run.stdout.matches("<testcase name=\"V").count();
            assert!(told > 0, "{}", run.stdout);
            let passed = run.stdout.matches("<system-out>").count();
            assert_eq!(passed + failures(&run.stdout).len(), told);
        }
    }
}

#[test]
fn gitlab_gets_what_it_documents() {
    let folder = Folder::new("output-gitlab");
    folder.write("sub/a.ptx", format!("{BAD}{BAD}{LOOSE}"));
    folder.write("b.ptx", format!("{BAD}vadd2.u32.u32.u32 d.h10, a, b, c;\n"));
    let issues = |arguments: &[&str]| -> Vec<Value> {
        let common = ["check", "--format", "gitlab", "--extend-select", "V408"];
        let run = vptx_in(&folder.0, &[&common[..], arguments].concat(), b"");
        json(&run.stdout).as_array().expect("an array").clone()
    };
    let found = issues(&[]);
    // The format is GitLab's Code Quality report, documented on docs.gitlab.com.
    for issue in &found {
        for field in ["description", "check_name", "fingerprint"] {
            assert!(issue[field].as_str().is_some_and(|text| !text.is_empty()), "{issue}");
        }
        let severity = issue["severity"].as_str().expect("a severity");
        assert!(["info", "minor", "major", "critical", "blocker"].contains(&severity), "{issue}");
        let path = issue["location"]["path"].as_str().expect("a path");
        assert!(!path.starts_with("./") && Path::new(path).is_relative(), "{issue}");
        assert!(issue["location"]["lines"]["begin"].as_u64().is_some_and(|line| line > 0));
    }
    let told: Vec<(&str, &str, &str, u64)> = found
        .iter()
        .map(|issue| {
            (
                issue["location"]["path"].as_str().unwrap_or_default(),
                issue["check_name"].as_str().unwrap_or_default(),
                issue["severity"].as_str().unwrap_or_default(),
                issue["location"]["lines"]["begin"].as_u64().unwrap_or_default(),
            )
        })
        .collect();
    assert_eq!(
        told,
        [
            ("b.ptx", "V104", "major", 1),
            ("b.ptx", "V408", "info", 2),
            ("sub/a.ptx", "V104", "major", 1),
            ("sub/a.ptx", "V104", "major", 2),
            ("sub/a.ptx", "V403", "minor", 3),
        ]
    );
    let prints = |issues: &[Value]| -> Vec<String> {
        issues.iter().map(|issue| issue["fingerprint"].to_string()).collect()
    };
    let unique = |prints: &[String]| prints.iter().collect::<BTreeSet<_>>().len() == prints.len();
    let before = prints(&found);
    assert!(unique(&before), "{before:?}");
    // A file under three names is one file, but its findings still have distinct
    // fingerprints.
    let absolute = folder.0.join("b.ptx");
    let thrice = issues(&["b.ptx", "./b.ptx", absolute.to_str().expect("UTF-8")]);
    assert_eq!(thrice.len(), 6);
    assert!(thrice.iter().all(|issue| issue["location"]["path"] == "b.ptx"), "{thrice:?}");
    assert!(unique(&prints(&thrice)));
    assert_eq!(prints(&thrice)[..2], before[..2]);
    // Moved lines keep their fingerprints.
    folder.write("sub/a.ptx", format!("// new\n\n  {BAD}\n{BAD}{LOOSE}"));
    assert_eq!(prints(&issues(&[])), before);
    folder.write("sub/a.ptx", format!("{BAD}{BAD}{}", LOOSE.replace(" c;", " e;")));
    assert_ne!(prints(&issues(&[])), before);
    // A report without findings is an array, too.
    folder.write("good.ptx", "");
    assert_eq!(issues(&["good.ptx"]), Vec::<Value>::new());
}

#[test]
fn json_names_rules_and_their_pages() {
    let run = vptx(&["check", "--format", "json", "fixtures/diagnostics"], "");
    let records = lines(&run.stdout);
    assert!(records.len() > 50);
    for record in records {
        let code = vptx::Code::find(record["code"].as_str().expect("a code")).expect("a code");
        assert_eq!(record["name"], code.name());
        // The address is the page of the code in the crate's documentation.
        let page =
            format!("https://docs.rs/vptx/latest/vptx/diagnostic/enum.Code.html#variant.{code:?}");
        assert_eq!(record["url"], page);
    }
}

#[test]
fn statistics_for_programs() {
    let folder = Folder::new("output-statistics");
    // Of three findings of one rule, the last has no safe fix.
    folder.write("a.ptx", format!("{BAD}{LOOSE}{LOOSE}vadd.u32.u32.u64 d, a, b;\n"));
    let run = vptx_in(&folder.0, &["check", "--statistics", "--format", "json"], b"");
    assert_eq!((run.status, run.stderr.as_str()), (1, ""));
    let mut schema = schema("diagnostic.schema.json");
    // Each line of the statistics is a count, not a finding.
    let finding = ["$ref", "unevaluatedProperties", "required", "description"];
    schema.as_object_mut().expect("an object").retain(|key, _| !finding.contains(&&**key));
    schema["$ref"] = "#/$defs/count".into();
    let validator = jsonschema::validator_for(&schema).expect("a valid schema");
    assert!(!validator.is_valid(&json(r#"{"code":"V403","name":"x","count":0,"fixable":0}"#)));
    let records = lines(&run.stdout);
    assert!(records.iter().all(|record| validator.is_valid(record)), "{}", run.stdout);
    assert_eq!(
        records,
        [
            json(r#"{"code":"V403","name":"ignored-third-operand","count":2,"fixable":2}"#),
            json(r#"{"code":"V104","name":"missing-type","count":1,"fixable":0}"#),
            json(r#"{"code":"V106","name":"wrong-type","count":1,"fixable":0}"#),
        ]
    );
    for format in ["concise", "sarif", "github", "junit", "gitlab"] {
        let run = vptx_in(&folder.0, &["check", "--statistics", "--format", format], b"");
        assert_eq!((run.status, run.stdout.as_str()), (2, ""), "{format}");
        assert!(run.stderr.contains("--statistics"), "{}", run.stderr);
    }
    let human = vptx_in(&folder.0, &["check", "--statistics", "--format", "human"], b"");
    assert!(human.stdout.starts_with("2  V403  ignored-third-operand\n"), "{}", human.stdout);
}

#[test]
fn reports_go_to_a_file() {
    let folder = Folder::new("output-file");
    folder.write("a.ptx", format!("{BAD}{LOOSE}"));
    let read = |name: &str| folder.read(name);
    for format in FORMATS {
        let direct = vptx_in(&folder.0, &["check", "--quiet", "--format", format], b"");
        folder.write("report", "what was there before");
        for option in ["-o", "--output-file"] {
            let arguments = ["check", "--color", "always", "--format", format, option, "report"];
            let run = vptx_in(&folder.0, &arguments, b"");
            assert_eq!((run.status, run.stderr.as_str()), (1, ""), "{format}");
            assert_eq!(read("report"), direct.stdout, "{format}");
            let summary =
                "1 error and 1 warning in 2 video instructions of 1 file\n1 fixable with --fix\n";
            assert_eq!(run.stdout, if format == "human" { summary } else { "" }, "{format}");
        }
    }
    // No other file stays in the folder.
    assert_eq!(fs::read_dir(&folder.0).expect("a folder").count(), 2);
    let run = vptx_in(&folder.0, &["check", "--statistics", "-o", "report", "-q"], b"");
    assert_eq!((run.stdout.as_str(), read("report").lines().count()), ("", 2));
    // The fixed text still goes to standard output.
    let run = vptx_in(&folder.0, &["check", "--fix", "-o", "report", "-"], LOOSE.as_bytes());
    assert_eq!(run.stdout, "vadd.s32.s32.s32 d, a, b;\n");
    assert_eq!(read("report"), "");
    // A report cannot replace an input, and its folder must exist.
    for name in ["a.ptx", "./a.ptx", "no/folder/report"] {
        let run = vptx_in(&folder.0, &["check", "-o", name], b"");
        assert_eq!(run.status, 2, "{name}");
        assert!(run.stderr.contains(name), "{}", run.stderr);
        assert_eq!(read("a.ptx"), format!("{BAD}{LOOSE}"));
    }
    let run = vptx_in(&folder.0, &["check", "-o", "report", "--diff"], b"");
    assert_eq!(run.status, 2);
}

#[test]
fn reports_of_many_findings_are_whole() {
    // Reports are written in batches.
    const COUNT: usize = 20_000;
    let folder = Folder::new("many-findings");
    folder.write("a.ptx", BAD.repeat(COUNT));
    folder.write("b.ptx", BAD);
    let report = |format: &str| {
        let direct = vptx_in(&folder.0, &["check", "--format", format], b"").stdout;
        vptx_in(&folder.0, &["check", "--format", format, "-o", "report"], b"");
        let file = folder.read("report");
        assert_eq!(direct.len(), file.len(), "{format}");
        assert!(direct == file, "{format}");
        direct
    };
    let different = |texts: Vec<&str>| texts.into_iter().collect::<BTreeSet<_>>().len();

    let sarif: Value = serde_json::from_str(&report("sarif")).expect("one document");
    let results = sarif["runs"][0]["results"].as_array().expect("results");
    let of_a = results
        .iter()
        .filter(|it| it["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "a.ptx");
    let prints = of_a.map(|it| it["partialFingerprints"]["vptx/v1"].as_str().expect("a text"));
    assert_eq!((results.len(), different(prints.collect())), (COUNT + 1, COUNT));

    let gitlab: Value = serde_json::from_str(&report("gitlab")).expect("one document");
    let issues = gitlab.as_array().expect("an array");
    let prints = issues.iter().map(|it| it["fingerprint"].as_str().expect("a text"));
    assert_eq!((issues.len(), different(prints.collect())), (COUNT + 1, COUNT + 1));

    let junit = report("junit");
    let document = roxmltree::Document::parse(&junit).expect("one document");
    let suites = || document.descendants().filter(|node| node.has_tag_name("testsuite"));
    let mut all = 0;
    for suite in suites() {
        let cases = suite.children().filter(|node| node.has_tag_name("testcase")).count();
        assert_eq!(suite.attribute("tests"), Some(&*cases.to_string()));
        assert_eq!(suite.attribute("failures"), Some(&*cases.to_string()));
        all += cases;
    }
    assert_eq!(all, COUNT + 1);
}

#[cfg(target_os = "linux")]
#[test]
fn reports_go_through_links_and_to_devices() {
    let folder = Folder::new("output-file-links");
    folder.write("a.ptx", BAD);
    folder.write("real/report", "");
    std::os::unix::fs::symlink("real/report", folder.0.join("link")).expect("a link");
    std::os::unix::fs::symlink("/dev/null", folder.0.join("null")).expect("a link");
    let check = |to| vptx_in(&folder.0, &["check", "--format", "concise", "-o", to, "a.ptx"], b"");
    assert_eq!(check("link").status, 1);
    let report = folder.read("real/report");
    assert!(report.starts_with("a.ptx:1:5: error[V104]"), "{report}");
    assert!(folder.0.join("link").is_symlink());
    assert_eq!(check("null").status, 1);
    assert!(folder.0.join("null").is_symlink());
    assert_eq!(check("/dev/stdout").stdout, report);
}

// Limits.

#[test]
fn long_tokens_are_quoted_in_part() {
    let long = "x".repeat(300_000);
    let digits = "9".repeat(300_000);
    let module = format!(
        ".version 8.0\n.target sm_90\n.func f() {{\n.reg .b64 {long};\n.reg .b32 r;\n\
         vadd.u32.u32.u32 r, {long}, r;\nvadd.u32.u32.u32 r, y{long}, r;\n\
         vadd.u32.u32.u32.{long} r, r, r;\nvadd.u32.u32.u32 r, {digits}, r;\n\
         vadd.u32.u32.u32 r, 0{digits}, r;\nvadd.u32.u32.u32 r, r.{long}, r;\n\
         @{long} vadd.u32.u32.u32 r, r, r;\nvadd4.u32.u32.u32.min.max r, r, r, {long};\n\
         vadd.u32.u32.u32 r, r, r; // vptx: ignore[{long}]\n\
         vadd.u32.u32.u32 r, r, r; // vptx: {long}\n\
         vadd.u32.u32.u32 r, r, (1 + {}r);\n}}\n",
        "1 + ".repeat(50_000)
    );
    let options = vptx::CheckOptions::default();
    let cuda = format!(
        "void f() {{ asm(\"vadd.u32.u32 %0, %1, %[{long}];\" : \"=r\"(d) : \"r\"(a), [{long}] \"r\"(b)); \
         asm(\"vadd.u32.u32.u32 %0, %1, %[z{long}];\" : \"=r\"(d) : \"r\"(a)); }}\n"
    );
    let found = [
        vptx::check(&module, &options),
        vptx::check(&cuda, &options.clone().with_language(vptx::check::Language::Cuda)),
    ]
    .concat();
    let codes: BTreeSet<&str> = found.iter().map(|diagnostic| diagnostic.code.text()).collect();
    for code in ["V009", "V102", "V112", "V206", "V215", "V216", "V217", "V802"] {
        assert!(codes.contains(code), "{code}: {codes:?}");
    }
    for diagnostic in found {
        let texts = [&diagnostic.message, &diagnostic.label].into_iter().chain(&diagnostic.help);
        let texts = texts.chain(diagnostic.labels.iter().map(|label| &label.text));
        for text in texts.chain(diagnostic.fixes.iter().map(|fix| &fix.title)) {
            assert!(text.chars().count() <= 1000, "{} {}", diagnostic.code, text.len());
            assert!(
                text.split('`').skip(1).step_by(2).all(|quoted| quoted.chars().count() <= 80),
                "{}: {text}",
                diagnostic.code
            );
        }
    }
    for format in ["human", "concise"] {
        let run = vptx(&["check", "--format", format, "-"], &module);
        assert!(run.stdout.lines().all(|line| line.chars().count() < 1200), "{format}");
    }
}

#[test]
fn excerpts_of_many_lines_stay_short() {
    let text = format!("vadd.u32.u32.u32 d, {{a,\n{} b}}, b;\n", "a,\n".repeat(100_000));
    let run = vptx(&["check", "-"], &text);
    assert_eq!(run.status, 1);
    assert!(run.stdout.len() < 10_000, "{}", run.stdout.len());
}

#[test]
fn modifiers_of_three_others_name_them() {
    let help = |text: &str| {
        let found = vptx::check(text, &vptx::CheckOptions::default());
        found
            .iter()
            .find(|it| it.code == vptx::Code::ModifierNotAllowed)
            .and_then(|it| it.help.clone())
    };
    for (text, why) in [
        ("vadd.u32.u32.u32.lt d, a, b;", "`.lt` belongs to `vset`, `vset2` and `vset4`"),
        ("vadd.u32.u32.u32.wrap d, a, b;", "`.wrap` belongs to `vshl` and `vshr`"),
        ("vadd.u32.u32.u32.shr7 d, a, b;", "`.shr7` belongs to `vmad`"),
    ] {
        let help = help(text).unwrap_or_else(|| panic!("{text}"));
        assert_eq!(help.split(';').next(), Some(why), "{text}");
    }
}
