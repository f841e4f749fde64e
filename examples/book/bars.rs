//! Draws bars for the machine instructions before and after rewriting.

use std::fmt::Write;

/// Two bars with a name.
pub(crate) struct Bar {
    pub(crate) name: String,
    pub(crate) before: f64,
    pub(crate) after: f64,
}

const STYLE: &str = "\
text{font:12px sans-serif;fill:#1f2328}.name{font-family:monospace}.number{font-size:10px}\
.note{fill:#656d76}.before{fill:#9aa5b1}.after{fill:#2f7d32}\
@media(prefers-color-scheme:dark){text{fill:#e6edf3}.note{fill:#9198a1}.before{fill:#6e7681}\
.after{fill:#57ab5a}}";

/// The bars for a column of the table of average costs.
pub(crate) fn costs(table: &str, column: usize) -> Vec<Bar> {
    let rows = table.lines().filter(|row| row.starts_with("| `v"));
    let cells = rows.map(|row| row.split('|').map(str::trim).collect::<Vec<_>>());
    let bars = cells.filter_map(|cells| {
        let (before, rest) = cells.get(2 + column)?.split_once(" → ")?;
        let (after, _) = rest.split_once(',')?;
        let name = cells[1].trim_matches('`').to_string();
        Some(Bar { name, before: before.parse().ok()?, after: after.parse().ok()? })
    });
    bars.collect()
}

/// Draws two bars for each name. All lengths are pixels.
pub(crate) fn chart(title: &str, place: &str, bars: &[Bar]) -> String {
    // `scale` is the width of one machine instruction.
    let (left, top, row, scale) = (96.0, 56.0, 26.0, 14.0);
    let rows: f64 = bars.iter().map(|_| row).sum();
    let height = top + rows + 12.0;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"680\" height=\"{height}\" \
         viewBox=\"0 0 680 {height}\" role=\"img\">\n<title>{title}</title>\n<style>{STYLE}</style>\n\
         <rect class=\"before\" x=\"{left}\" y=\"14\" width=\"12\" height=\"12\"/>\n\
         <text x=\"{}\" y=\"24\">as ptxas emulates it{place}</text>\n\
         <rect class=\"after\" x=\"{}\" y=\"14\" width=\"12\" height=\"12\"/>\n\
         <text x=\"{}\" y=\"24\">as vptx rewrites it</text>\n\
         <text class=\"note\" x=\"{left}\" y=\"44\">machine instructions, on average over all \
         forms</text>\n",
        left + 18.0,
        left + 280.0,
        left + 298.0,
    );
    let mut y = top;
    for Bar { name, before, after } in bars {
        // Writing to a string does not fail.
        let _ = writeln!(svg, "<text class=\"name\" x=\"8\" y=\"{}\">{name}</text>", y + 14.0);
        for (offset, length, class) in [(0.0, before, "before"), (10.0, after, "after")] {
            let (width, base) = (length * scale, y + offset + 9.0);
            let _ = writeln!(
                svg,
                "<rect class=\"{class}\" x=\"{left}\" y=\"{}\" width=\"{width:.1}\" height=\"9\"/>\n\
                 <text class=\"number\" x=\"{:.1}\" y=\"{base}\">{length:.1}</text>",
                y + offset,
                left + width + 4.0,
            );
        }
        y += row;
    }
    svg + "</svg>\n"
}
