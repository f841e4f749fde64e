//! The pictures in the README are the program's output.

use std::fs;
use std::path::Path;

use crate::support::program::{ROOT, output_in, vptx};
use anstyle_svg::Term;

#[test]
fn the_finding_is_drawn_as_printed() {
    let folder = Path::new(ROOT).join("fixtures/readme");
    let output = output_in(&folder, &["check", "--color", "always", "rows.cu"], b"");
    let shown = String::from_utf8(output.stdout).expect("UTF-8");
    assert!(shown.contains("\u{1b}["), "colours");
    let text = format!("\u{1b}[1m$ vptx check rows.cu\u{1b}[0m\n\n{}", shown.trim_end());
    let picture =
        Term::new().palette(anstyle_svg::WIN10_CONSOLE).min_width_px(720).render_svg(&text);
    assert_is_drawn("finding.svg", &picture);
}

fn assert_is_drawn(name: &str, picture: &str) {
    let path = Path::new(ROOT).join("docs/pictures").join(name);
    if std::env::var_os("VPTX_PICTURES").is_some() {
        fs::write(&path, picture).expect("a picture");
    }
    let drawn = fs::read_to_string(&path).expect("a picture");
    assert!(drawn == picture, "VPTX_PICTURES=1 draws docs/pictures/{name} again");
}

/// The command in the book.
#[test]
fn lanes_are_drawn_as_printed() {
    let page = fs::read_to_string(Path::new(ROOT).join("docs/evaluating.md")).expect("a page");
    let command = page.lines().find(|line| line.ends_with("--format svg > lanes.svg"));
    let command = command.and_then(|it| it.strip_suffix(" > lanes.svg")).expect("a command");
    let mut parts = command.split('\'');
    let (Some("vptx eval "), Some(instruction)) = (parts.next(), parts.next()) else {
        panic!("{command}");
    };
    let rest = parts.next().expect(command).split_whitespace();
    let arguments: Vec<&str> = ["eval", instruction].into_iter().chain(rest).collect();
    assert_is_drawn("lanes.svg", &vptx(&arguments, "").stdout);
}

#[test]
fn only_instructions_are_drawn() {
    let text = "vmin4.s32.u32.s32 d, a, b, c";
    let picture = vptx(&["explain", text, "--format", "svg"], "");
    assert_eq!((picture.status, &*picture.stderr), (0, ""));
    assert!(picture.stdout.starts_with("<svg xmlns="), "{}", picture.stdout);
    let head = vptx(&["explain", "vmin4.s32.u32.s32", "--format", "svg"], "");
    assert_eq!(head.stdout, picture.stdout);
    for (subjects, status) in [
        (&["V112"][..], 2),
        (&["vmin4"], 2),
        (&["nothing"], 2),
        (&[text, text], 2),
        (&[], 2),
        (&["vmin4.s32.u32 d, a, b, c;"], 1),
    ] {
        let run = vptx(&[&["explain", "--format", "svg"], subjects].concat(), "");
        assert_eq!((run.status, run.stdout.is_empty()), (status, status == 2), "{subjects:?}");
        assert!(status == 1 || !run.stderr.is_empty(), "{subjects:?}");
    }
    for wrong in [&["--trace", "--format", "json"][..], &["--batch", "-", "--format", "svg"]] {
        let run = vptx(&[&["eval", text, "a=1", "b=2", "c=3"], wrong].concat(), "");
        assert_eq!((run.status, &*run.stdout), (2, ""), "{wrong:?}");
    }
    // Each meaning is drawn.
    let all = ["eval", "vset.u32.s32.le d.h1, a, b.b2, c", "a=3", "b=-1", "c=5"];
    let all = vptx(&[&all[..], &["--semantics", "all", "--trace", "--format", "svg"]].concat(), "");
    assert_eq!(all.stdout.matches("data-box=\"d.h1\"").count(), 2, "{}", all.stdout);
}
