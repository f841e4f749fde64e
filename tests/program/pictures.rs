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

/// The picture is the output of a command in the book.
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

/// A word without lanes has its value inside, and only there.
#[test]
fn a_value_is_drawn_once() {
    let text = "vadd.u32.u32.u32 d, a, b;";
    let picture = vptx(&["eval", text, "a=0x12345678", "b=2", "--format", "svg"], "").stdout;
    assert_eq!(picture.matches("0x12345678").count(), 1, "{picture}");
}

/// The picture is the output of a command in the book.
#[test]
fn blocks_are_drawn_as_printed() {
    let page = fs::read_to_string(Path::new(ROOT).join("docs/library/flow.md")).expect("a page");
    let command = page.lines().find_map(|line| line.strip_suffix(" > blocks.svg"));
    let arguments: Vec<&str> = command.expect("a command").split_whitespace().skip(1).collect();
    assert_is_drawn("blocks.svg", &vptx(&arguments, "").stdout);
}

/// The picture has the same basic blocks and branches as the graph for Graphviz. Its blocks, the
/// lines and the texts beside them do not overlap.
#[test]
fn pictures_of_blocks_show_the_graph() {
    let folder = Path::new(ROOT).join("fixtures/kernels");
    let mut count = 0;
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.extension().is_none_or(|it| it != "ptx") {
            continue;
        }
        let path = path.to_str().expect("UTF-8");
        let dot = vptx(&["tree", "--flow", "dot", path], "").stdout;
        let svg = vptx(&["tree", "--flow", "svg", path], "").stdout;
        let document = roxmltree::Document::parse(&svg).expect("XML");
        // The functions come one after the other; the block numbers of each start at 0.
        let (mut function, mut edges, mut blocks) = (0, Vec::new(), 0);
        let mut bottom = 0;
        let mut ways: Vec<(usize, usize, usize)> = Vec::new();
        for node in document.descendants() {
            let number = |name| -> usize { node.attribute(name).unwrap().parse().unwrap() };
            if node.has_attribute("data-block") {
                if number("data-block") == 0 && blocks > 0 {
                    function += 1;
                    ways.clear();
                }
                blocks += 1;
                assert!(number("y") > bottom, "{path}: blocks overlap");
                bottom = number("y") + number("height");
            } else if node.has_attribute("data-from") {
                let (from, to) = (number("data-from"), number("data-to"));
                edges.push(format!("    f{function}_b{from} -> f{function}_b{to}"));
                // A branch to a distant block is a path `M right start H way V end H right`.
                let line: Vec<&str> =
                    node.attribute("d").unwrap().split(['M', 'H', 'V', ' ']).collect();
                if let [_, _, start, way, end, _] = line[..] {
                    let [start, way, end]: [usize; 3] =
                        [start, way, end].map(|it| it.parse().unwrap());
                    let (top, bottom) = (start.min(end), start.max(end));
                    let meets = |&(other, from, to): &(usize, usize, usize)| {
                        other == way && top <= to && from <= bottom
                    };
                    assert!(!ways.iter().any(meets), "{path}: branches overlap");
                    ways.push((way, top, bottom));
                }
            }
        }
        let nodes = dot.lines().filter(|line| line.contains("_b") && line.contains("[label"));
        assert_eq!(blocks, nodes.count(), "{path}");
        let wanted = dot.lines().filter(|line| line.contains(" -> "));
        let wanted = wanted.map(|line| line.trim_end_matches(';').replace(" [style=dashed]", ""));
        let mut wanted: Vec<String> = wanted.collect();
        wanted.sort_unstable();
        edges.sort_unstable();
        assert_eq!(edges, wanted, "{path}");
        count += edges.len();
    }
    assert!(count > 300, "{count}");
}

/// A branch takes the vertical line of one that has ended above it.
#[test]
fn pictures_of_many_branches_stay_narrow() {
    let width = |count: usize| {
        let branch =
            |at: usize| format!("@p bra L{at}; add.u32 a, a, 1; L{at}: add.u32 a, a, 2;\n");
        let branches: String = (0..count).map(branch).collect();
        let text = format!(".func f(.reg .b32 a, .reg .pred p) {{\n{branches}ret;\n}}\n");
        let svg = vptx(&["tree", "--flow", "svg", "-"], &text).stdout;
        let document = roxmltree::Document::parse(&svg).expect("XML");
        document.root_element().attribute("width").expect("a width").to_string()
    };
    assert_eq!(width(9), width(2));
}

/// The name of a function fits, too.
#[test]
fn pictures_of_long_names_are_wide() {
    let width = |name: &str| -> f64 {
        let text = format!(".func {name}() {{ ret; }}\n");
        let svg = vptx(&["tree", "--flow", "svg", "-"], &text).stdout;
        let document = roxmltree::Document::parse(&svg).expect("XML");
        document.root_element().attribute("width").and_then(|it| it.parse().ok()).expect("a width")
    };
    let growth = width(&"f".repeat(60)) - width(&"f".repeat(50));
    assert!((60.0..100.0).contains(&growth), "{growth}");
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
    for wrong in [
        &["--trace", "--format", "json"][..],
        &["--trace", "--format", "svg"],
        &["--batch", "-", "--format", "svg"],
    ] {
        let run = vptx(&[&["eval", text, "a=1", "b=2", "c=3"], wrong].concat(), "");
        assert_eq!((run.status, &*run.stdout), (2, ""), "{wrong:?}");
    }
    // Each semantics has its picture.
    let all = ["eval", "vset.u32.s32.le d.h1, a, b.b2, c", "a=3", "b=-1", "c=5"];
    let all = vptx(&[&all[..], &["--semantics", "all", "--format", "svg"]].concat(), "");
    assert_eq!(all.stdout.matches("data-box=\"d.h1\"").count(), 2, "{}", all.stdout);
}
