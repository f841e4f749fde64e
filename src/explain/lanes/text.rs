//! The parts that lanes read, as a table for terminals.

use super::{Column, End, Part, Picture, Word};
use crate::ir::{Input, Program};
use crate::video::Instruction;

/// A row for each lane, which marks the parts that it reads, and a row with the values of all
/// parts. Empty if the sources are whole words: nothing is selected then.
pub(crate) fn parts(
    instruction: &Instruction,
    program: &Program,
    words: Option<[u32; 3]>,
    unicode: bool,
) -> Vec<String> {
    let picture = Picture::of(instruction, program, words);
    if picture.words.iter().all(|word| word.width == 32) {
        return Vec::new();
    }
    let [mark, none] = if unicode { ["●", "·"] } else { ["x", "."] };
    let of = |word: &Word| -> Vec<Part> {
        let width = word.width;
        (0..32).step_by(width.into()).rev().map(|low| Part { low, width }).collect()
    };
    let cells: Vec<(Input, Part, String)> = picture
        .words
        .iter()
        .flat_map(|word| {
            let name = |part: Part| format!("{}{}", word.name, part.selector());
            of(word).into_iter().map(move |part| (word.input, part, name(part)))
        })
        .collect();
    let room = cells.iter().map(|(_, _, name)| name.chars().count()).max().unwrap_or(0);
    let first = picture.columns.iter().map(|column| picture.label(column).chars().count()).max();
    let first = first.unwrap_or(0);
    let mut rows = vec![(String::new(), cells.iter().map(|(.., name)| name.clone()).collect())];
    if words.is_some() {
        let value = |(input, part, _): &(Input, Part, String)| {
            let word = picture.words.iter().find(|word| word.input == *input);
            let value = part.of(word.and_then(|word| word.value).unwrap_or_default());
            format!("{value:0digits$x}", digits = usize::from(part.width / 4))
        };
        rows.push((String::new(), cells.iter().map(value).collect()));
    }
    for column in &picture.columns {
        let Column::Lane(lane) = column else { continue };
        let reads = |(input, part, _): &(Input, Part, String)| {
            let covers =
                |read: Part| read.low <= part.low && part.low + part.width <= read.low + read.width;
            let is_read = lane.reads.iter().any(|it| it.input == *input && covers(it.part));
            (if is_read { mark } else { none }).to_string()
        };
        rows.push((picture.label(column), cells.iter().map(reads).collect::<Vec<String>>()));
    }
    let line = |(label, cells): (String, Vec<String>)| {
        let cells: Vec<String> = cells.iter().map(|cell| format!("{cell:>room$}")).collect();
        format!("{label:first$}  {}", cells.join("  ")).trim_end().to_string()
    };
    rows.into_iter().map(line).collect()
}

impl Picture {
    /// The part of `d` that a column leads to, or the name of its lane.
    pub(super) fn label(&self, column: &Column) -> String {
        match (column, &self.end) {
            (Column::Lane(lane), End::Parts) => format!("{}{}", self.d, lane.to.selector()),
            (Column::Kept(part), End::Parts) => format!("{}{}", self.d, part.selector()),
            (Column::Lane(_), End::Word) => self.d.clone(),
            (Column::Lane(lane), End::Joined(_)) => lane.name.clone(),
            (Column::Kept(_), _) => String::new(),
        }
    }
}
