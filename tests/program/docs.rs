//! The links in findings, and pages that are shown in a browser.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use crate::support::program::Folder;

const V401: &str = "vadd.sat.s32.s32.s32 d, a, b;\n";
const LIBRARY: &str =
    "https://docs.rs/vptx/latest/vptx/diagnostic/enum.Code.html#variant.ModifierOrder";

/// Runs a program in a folder, with variables.
fn run(program: &Path, folder: &Path, arguments: &[&str], variables: &[(&str, &str)]) -> Output {
    Command::new(program)
        .args(arguments)
        .current_dir(folder)
        .env_remove("VPTX_DOCS_URL")
        .env_remove("BROWSER")
        .envs(variables.iter().copied())
        .output()
        .expect("a program")
}

/// The address to which the finding about `a.ptx` links.
fn link(program: &Path, folder: &Folder, variables: &[(&str, &str)]) -> String {
    let output = run(program, &folder.0, &["check", "--format", "json", "a.ptx"], variables);
    let line: serde_json::Value = serde_json::from_slice(&output.stdout).expect("one finding");
    line["url"].as_str().expect("an address").to_string()
}

fn program() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_vptx"))
}

#[test]
fn findings_link_where_the_user_says() {
    let folder = Folder::new("docs-links");
    folder.write("a.ptx", V401);
    assert_eq!(link(program(), &folder, &[]), LIBRARY);
    folder.write("vptx.toml", "[check]\ndocs-url = \"https://example.org/book/\"\n");
    assert_eq!(link(program(), &folder, &[]), "https://example.org/book/rules/v4.html#v401");
    for (address, expected) in [
        ("http://127.0.0.1:8000/x", "http://127.0.0.1:8000/x/rules/v4.html#v401"),
        ("file:///book", "file:///book/rules/v4.html#v401"),
        ("https://example.org/{code}?x={code}", "https://example.org/V401?x=V401"),
        ("", "https://example.org/book/rules/v4.html#v401"),
    ] {
        assert_eq!(link(program(), &folder, &[("VPTX_DOCS_URL", address)]), expected);
    }
    let variable = [("VPTX_DOCS_URL", "https://other.example")];
    let output = run(program(), &folder.0, &["check", "--format", "sarif", "a.ptx"], &variable);
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).expect("SARIF");
    let rule = &document["runs"][0]["tool"]["driver"]["rules"][0];
    assert_eq!(rule["helpUri"], "https://other.example/rules/v4.html#v401");
    // `--show-settings` shows the address from the environment.
    let shown = run(program(), &folder.0, &["check", "--show-settings"], &[]);
    let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
    assert!(shown.contains("docs-url = \"https://example.org/book\"\n"), "{shown}");
}

#[test]
fn only_addresses_of_pages_are_taken() {
    let folder = Folder::new("docs-wrong");
    folder.write("a.ptx", V401);
    for address in [
        "javascript:alert(1)",
        "file://server/x",
        "/book",
        "https://a b",
        "ftp://x",
        "file:///bin/{code}",
        "http://",
        "https:///",
        "file:///",
    ] {
        let output = run(program(), &folder.0, &["check", "a.ptx"], &[("VPTX_DOCS_URL", address)]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{address}");
        assert!(said.contains("VPTX_DOCS_URL") && said.contains(address), "{said}");
        folder.write("vptx.toml", format!("[check]\ndocs-url = \"{address}\"\n"));
        assert_eq!(run(program(), &folder.0, &["check", "a.ptx"], &[]).status.code(), Some(2));
        fs::remove_file(folder.0.join("vptx.toml")).expect("a file");
    }
}

#[test]
fn the_book_beside_the_program_is_found() {
    let folder = Folder::new("docs beside");
    folder.write("a.ptx", V401);
    for (own, book) in
        [("archive/vptx", "archive/book"), ("usr/bin/vptx", "usr/share/doc/vptx/book")]
    {
        let own = folder.0.join(format!("{own}{}", std::env::consts::EXE_SUFFIX));
        fs::create_dir_all(own.parent().expect("a folder")).expect("a folder");
        if fs::hard_link(program(), &own).is_err() {
            fs::copy(program(), &own).expect("a copy");
        }
        // A folder without `index.html` does not count as the book.
        fs::create_dir_all(folder.0.join(book)).expect("a folder");
        assert_eq!(link(&own, &folder, &[]), LIBRARY);
        folder.write(&format!("{book}/index.html"), "");
        let found = link(&own, &folder, &[]);
        let path = format!("docs%20beside/{book}/rules/v4.html#v401");
        assert!(found.starts_with("file:///") && found.ends_with(&path), "{found}");
        let chosen = [("VPTX_DOCS_URL", "https://x.example")];
        assert_eq!(link(&own, &folder, &chosen), "https://x.example/rules/v4.html#v401");
    }
}

/// A script takes the place of the browser.
#[cfg(unix)]
#[test]
fn pages_are_shown_in_the_browser() {
    use std::os::unix::fs::PermissionsExt;

    let folder = Folder::new("docs-open");
    for name in ["xdg-open", "open", "browser"] {
        folder.write(&format!("bin/{name}"), "#!/bin/sh\necho \"$0 $#\" \"$@\" >> asked\n");
        let path = folder.0.join("bin").join(name);
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("a program");
    }
    let path = format!("{}/bin:{}", folder.0.display(), std::env::var("PATH").expect("a PATH"));
    let open = |subjects: &[&str], variables: &[(&str, &str)]| {
        let variables = [&[("PATH", &*path)], variables].concat();
        let output =
            run(program(), &folder.0, &[&["explain", "--open"], subjects].concat(), &variables);
        let asked = fs::read_to_string(folder.0.join("asked")).unwrap_or_default();
        let _ = fs::remove_file(folder.0.join("asked"));
        let asked = asked.replace(&format!("{}/bin/", folder.0.display()), "");
        (output.status.code().expect("no signal"), asked)
    };
    let book = ("VPTX_DOCS_URL", "https://example.org/$(id)&x;\"y");
    let browser = ("BROWSER", "browser");
    let page = |path: &str| format!("browser 1 {}/{path}\n", book.1);
    let rule = page("rules/v5.html#v501");
    assert_eq!(open(&["V501"], &[book, browser]), (0, rule.clone()));
    assert_eq!(open(&["result-differs"], &[book, browser]), (0, rule));
    let both = page("instructions/vadd4.html") + &page("deviations.html#c3");
    assert_eq!(open(&["VADD4", "c3"], &[book, browser]), (0, both));
    // Without the book, only codes have a page.
    let system = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    assert_eq!(open(&["V401"], &[]), (0, format!("{system} 1 {LIBRARY}\n")));
    let none = (2, String::new());
    assert_eq!(open(&["vadd4"], &[browser]), none);
    assert_eq!(open(&["V999"], &[book, browser]), none);
    assert_eq!(open(&["V501"], &[("VPTX_DOCS_URL", "javascript:alert(1)"), browser]), none);
    assert_eq!(open(&["V501"], &[book, ("BROWSER", "no-such-program")]), none);
    assert_eq!(open(&["V501"], &[book, ("BROWSER", "false")]), none);
    assert_eq!(open(&[], &[book, browser]), none);
}
