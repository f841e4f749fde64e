//! The picture of a finding in the README equals the program's output.

use std::fs;
use std::path::Path;

use crate::support::program::{ROOT, output_in};
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
    let path = Path::new(ROOT).join("docs/pictures/finding.svg");
    if std::env::var_os("VPTX_PICTURES").is_some() {
        fs::write(&path, &picture).expect("a picture");
    }
    let drawn = fs::read_to_string(&path).expect("a picture");
    assert!(drawn == picture, "VPTX_PICTURES=1 draws docs/pictures/finding.svg again");
}
