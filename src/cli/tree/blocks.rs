//! Draws the basic blocks of functions as SVG: one below the other, in the order of the text. All
//! lengths are pixels.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fmt::Write;

use crate::explain::{document, escaped};
use crate::flow::{Flow, line};
use crate::report::visible;

/// The largest width of a character, and the height of a line of text.
const CHAR: usize = 8;
const LINE: usize = 16;
const MARGIN: usize = 16;
/// The distance between two blocks, and between two branches beside the blocks.
const GAP: usize = 24;
const WAY: usize = 16;
/// How far above the bottom of a block a branch leaves it, and how far below the top of a block a
/// branch enters it.
const PORT: usize = 10;
/// The most characters of an instruction.
const MOST: usize = 100;

const STYLE: &str = "\
text{font:12px ui-monospace,SFMono-Regular,Menlo,Consolas,'Liberation Mono',monospace;fill:#1f2328}\
.name{font-weight:600}rect{fill:#f6f8fa;stroke:#8c959f}.dashed{stroke-dasharray:4 3}\
path{fill:none;stroke-width:1.5;stroke:#8c959f}.ahead{stroke:#0969da}.back{stroke:#bc4c00}\
marker path{fill:#8c959f;stroke:none}\
@media(prefers-color-scheme:dark){text{fill:#e6edf3}rect{fill:#161b22;stroke:#6e7681}\
path{stroke:#6e7681}.ahead{stroke:#4493f8}.back{stroke:#f0883e}marker path{fill:#6e7681}}";

/// Draws functions.
pub(super) fn draw(flows: &[Flow<'_>]) -> String {
    let (mut body, mut width, mut y) = (String::new(), 2 * MARGIN, MARGIN);
    for flow in flows {
        let chart = Chart::of(flow);
        width = width.max(chart.width());
        chart.draw(flow, &mut body, &mut y);
    }
    document("basic blocks", [width, y], STYLE, &body)
}

/// A function, laid out.
struct Chart {
    name: String,
    /// The lines of each block.
    blocks: Vec<Vec<String>>,
    /// Forward branches, which are to the right of the blocks, and backward branches, to the left.
    ahead: Ways,
    back: Ways,
}

/// Branches between blocks, each with the number of the vertical line that it takes.
#[derive(Default)]
struct Ways {
    branches: Vec<(usize, usize, usize)>,
    count: usize,
}

impl Ways {
    /// Chooses different vertical lines for branches that pass the same block.
    fn of(mut branches: Vec<(usize, usize)>) -> Ways {
        branches.sort_unstable_by_key(|&(from, to)| (from.min(to), from.max(to)));
        let mut ways = Ways::default();
        let mut taken: BinaryHeap<Reverse<(usize, usize)>> = BinaryHeap::new();
        let mut free: BinaryHeap<Reverse<usize>> = BinaryHeap::new();
        for (from, to) in branches {
            while let Some(&Reverse((last, way))) = taken.peek()
                && last < from.min(to)
            {
                taken.pop();
                free.push(Reverse(way));
            }
            let way = free.pop().map_or(ways.count, |Reverse(way)| way);
            ways.count = ways.count.max(way + 1);
            taken.push(Reverse((from.max(to), way)));
            ways.branches.push((from, to, way));
        }
        ways
    }

    /// The width that the branches take beside the blocks.
    fn width(&self) -> usize {
        if self.count == 0 { 0 } else { (self.count + 1) * WAY }
    }
}

impl Chart {
    fn of(flow: &Flow<'_>) -> Chart {
        let function = flow.function();
        let source = function.statement().tree().source();
        let name = function.name().map_or("", |name| name.text(source));
        let blocks = flow.blocks().iter().enumerate().map(|(at, block)| {
            let statements = flow.statements()[block.instructions.clone()].iter();
            let mut lines: Vec<String> = statements.map(|it| short(&line(*it))).collect();
            if flow.between_guesses() == Some(at) {
                lines.push("any label".into());
            }
            lines
        });
        let edges = flow.blocks().iter().enumerate();
        let edges = edges.flat_map(|(at, block)| block.successors.iter().map(move |to| (at, *to)));
        let (ahead, back): (Vec<_>, Vec<_>) = edges.partition(|(from, to)| from < to);
        let far = ahead.into_iter().filter(|(from, to)| from + 1 < *to);
        Chart {
            name: short(name),
            blocks: blocks.collect(),
            ahead: Ways::of(far.collect()),
            back: Ways::of(back),
        }
    }

    fn block_width(&self) -> usize {
        let lines = self.blocks.iter().flatten();
        lines.map(|line| line.chars().count()).max().unwrap_or(0) * CHAR + MARGIN
    }

    fn width(&self) -> usize {
        let name = self.name.chars().count() * CHAR;
        let blocks = self.back.width() + self.block_width() + self.ahead.width();
        name.max(blocks) + 2 * MARGIN
    }

    fn draw(&self, flow: &Flow<'_>, body: &mut String, y: &mut usize) {
        let left = MARGIN + self.back.width();
        let (width, right) = (self.block_width(), left + self.block_width());
        // Writing to a string does not fail.
        let _ = writeln!(
            body,
            "<text class=\"name\" x=\"{left}\" y=\"{}\">{}</text>",
            *y + LINE - 4,
            escaped(&self.name)
        );
        *y += GAP;
        let mut rows = Vec::with_capacity(self.blocks.len());
        for (at, lines) in self.blocks.iter().enumerate() {
            let (top, height) = (*y, lines.len().max(1) * LINE + LINE);
            let is_dashed = !flow.is_reachable(at) || flow.between_guesses() == Some(at);
            let class = if is_dashed { " class=\"dashed\"" } else { "" };
            let _ = writeln!(
                body,
                "<rect{class} data-block=\"{at}\" x=\"{left}\" y=\"{top}\" width=\"{width}\" \
                 height=\"{height}\" rx=\"4\"/>"
            );
            for (line, text) in lines.iter().enumerate() {
                let base = top + (line + 1) * LINE + 4;
                let x = left + MARGIN / 2;
                let _ = writeln!(body, "<text x=\"{x}\" y=\"{base}\">{}</text>", escaped(text));
            }
            rows.push((top, top + height));
            *y = top + height + GAP;
        }
        for (from, block) in flow.blocks().iter().enumerate() {
            if block.successors.contains(&(from + 1)) {
                let (x, start, end) = (left + width / 2, rows[from].1, rows[from + 1].0);
                path(body, "next", [from, from + 1], &format!("M{x} {start}V{end}"));
            }
        }
        for &(from, to, way) in &self.ahead.branches {
            let (x, start, end) = (right + (way + 1) * WAY, rows[from].1 - PORT, rows[to].0 + PORT);
            path(body, "ahead", [from, to], &format!("M{right} {start}H{x}V{end}H{right}"));
        }
        for &(from, to, way) in &self.back.branches {
            let (x, start, end) = (left - (way + 1) * WAY, rows[from].1 - PORT, rows[to].0 + PORT);
            path(body, "back", [from, to], &format!("M{left} {start}H{x}V{end}H{left}"));
        }
    }
}

fn path(body: &mut String, class: &str, [from, to]: [usize; 2], line: &str) {
    // Writing to a string does not fail.
    let _ = writeln!(
        body,
        "<path class=\"{class}\" data-from=\"{from}\" data-to=\"{to}\" marker-end=\"url(#tip)\" \
         d=\"{line}\"/>"
    );
}

/// The start of a text, with control characters made visible.
fn short(text: &str) -> String {
    let start: String = text.chars().take(MOST).collect();
    let end = if start.len() < text.len() { "…" } else { "" };
    format!("{}{end}", visible(&start))
}

#[cfg(test)]
mod tests {
    use super::Ways;

    /// So their lines do not cross.
    #[test]
    fn of_branches_to_one_block_the_shortest_is_nearest() {
        let ways = Ways::of(vec![(9, 1), (3, 1), (6, 1)]);
        assert_eq!(ways.branches, [(3, 1, 0), (6, 1, 1), (9, 1, 2)]);
    }
}
