//! Manual pages.

use std::collections::BTreeSet;
use std::fs;

use crate::support::program::{Folder, vptx, vptx_in};

/// The commands that `vptx --help` lists, except `help` itself.
fn commands() -> Vec<String> {
    let help = vptx(&["--help"], "").stdout;
    let lists = ["Commands:\n", "other tools:\n"].map(|head| {
        let (_, list) = help.split_once(head).expect("a list");
        list.split("\n\n").next().expect("its end")
    });
    // Lines with more indentation continue a description.
    lists
        .into_iter()
        .flat_map(str::lines)
        .filter_map(|line| line.strip_prefix("  ")?.split(' ').next())
        .filter(|name| !name.is_empty() && *name != "help")
        .map(String::from)
        .collect()
}

/// Roughly the page that a reader sees.
fn plain(page: &str) -> String {
    page.replace("\\-", "-").replace("\\fB", "").replace("\\fI", "").replace("\\fR", "")
}

#[test]
fn every_command_has_a_page() {
    let folder = Folder::new("man");
    let run = vptx_in(&folder.0, &["man", "--out", "new/pages"], b"");
    assert_eq!((run.status, run.stdout.as_str(), run.stderr.as_str()), (0, "", ""));
    let commands = commands();
    assert!(commands.iter().any(|name| name == "check"), "{commands:?}");
    let mut expected = BTreeSet::from(["vptx.1".to_string()]);
    expected.extend(commands.iter().map(|name| format!("vptx-{name}.1")));
    let pages = fs::read_dir(folder.0.join("new/pages")).expect("the folder");
    let pages: BTreeSet<String> =
        pages.map(|page| page.unwrap().file_name().into_string().unwrap()).collect();
    assert_eq!(pages, expected);

    for name in &commands {
        let page = vptx(&["man", name], "");
        assert_eq!(page.status, 0);
        let file = folder.0.join(format!("new/pages/vptx-{name}.1"));
        assert_eq!(fs::read_to_string(file).unwrap(), page.stdout);
        let text = plain(&page.stdout);
        assert!(text.contains(&format!("\n.SH NAME\nvptx-{name} - ")), "{text}");
        assert!(text.contains(&format!("\n.SH SYNOPSIS\nvptx {name} ")), "{text}");
    }
    let program = vptx(&["man"], "").stdout;
    assert_eq!(folder.read("new/pages/vptx.1"), program);
    for name in &commands {
        assert!(plain(&program).contains(&format!("vptx-{name}(1)")), "{name}");
    }
}

/// The program's help has a hand-written list of some commands. It must describe them as their own
/// help does.
#[test]
fn commands_for_tools_say_what_they_do() {
    let help = vptx(&["--help"], "").stdout;
    for name in ["conformance", "completions", "man"] {
        let own = vptx(&[name, "--help"], "").stdout;
        let about = own.lines().next().expect("a line");
        assert!(help.contains(&format!("  {name:11}  {about}\n")), "{name}: {about}\n{help}");
    }
}

#[test]
fn pages_mention_each_option() {
    for name in commands() {
        let help = vptx(&[&name, "--help"], "").stdout;
        let page = plain(&vptx(&["man", &name], "").stdout);
        let options: BTreeSet<&str> = help
            .lines()
            .filter(|line| line.trim_start().starts_with('-'))
            .flat_map(str::split_whitespace)
            .filter(|word| word.starts_with("--") && word.len() > 2)
            .map(|word| word.trim_end_matches([',', '.']))
            .collect();
        assert!(options.contains("--help"), "{help}");
        for option in options {
            assert!(page.contains(option), "{option} in {name}");
        }
    }
    let check = plain(&vptx(&["man", "check"], "").stdout);
    for format in ["human", "concise", "json", "sarif", "github", "junit"] {
        assert!(check.contains(&format!("\n{format}: ")), "{format}");
    }
}

#[test]
fn troubles_are_told() {
    insta::assert_snapshot!(vptx(&["man", "chek"], "").transcript(), @r"
    status: 2
    -- stdout --
    -- stderr --
    vptx: there is no command `chek`: `vptx help` lists all
    ");
    let folder = Folder::new("man-troubles");
    folder.write("file", "");
    let run = vptx_in(&folder.0, &["man", "--out", "file/pages"], b"");
    insta::assert_snapshot!(run.transcript(), @r"
    status: 2
    -- stdout --
    -- stderr --
    vptx: cannot write pages to `file/pages`: not a directory
    ");
    assert_eq!(vptx(&["man", "check", "--out", "."], "").status, 2);
}
