//! Pictures as SVG. All lengths are pixels at the natural size.

use std::fmt::Write;
use std::iter;

use super::super::instruction::wrapped;
use super::{Box, Column, End, Lane, Part, Picture, Read, Word};

/// The greatest width of a character.
const CHAR: u32 = 8;
/// The height of a line of text.
const LINE: u32 = 16;
const MARGIN: u32 = 16;
const WORD: u32 = 208;
const GAP: u32 = 40;
/// The room for arrows: from sources to lanes, and between the boxes of a lane.
const FAN: u32 = 72;
const ARROW: u32 = 24;
/// The width of a lane's boxes: of several lanes, and of a single lane.
const LANE: u32 = 192;
const ONLY_LANE: u32 = 400;
/// The room between the boxes of two lanes.
const BETWEEN: u32 = 16;

const STYLE: &str = "\
text{font:12px ui-monospace,SFMono-Regular,Menlo,Consolas,'Liberation Mono',monospace;fill:#1f2328;\
text-anchor:middle}\
.name,.value{font-weight:600}.stage{fill:#656d76}\
rect{fill:#f6f8fa;stroke:#8c959f}.kept{stroke-dasharray:4 3}\
path{fill:none;stroke-width:1.5;stroke:#8c959f}.a{stroke:#0969da}.b{stroke:#bc4c00}.c{stroke:#8250df}\
marker path{fill:#8c959f;stroke:none}\
@media(prefers-color-scheme:dark){text{fill:#e6edf3}.stage{fill:#9198a1}\
rect{fill:#161b22;stroke:#6e7681}path{stroke:#6e7681}.a{stroke:#4493f8}.b{stroke:#f0883e}\
.c{stroke:#ab7df8}marker path{fill:#6e7681}}";

/// Draws pictures one below the other, each under the names of its semantics.
pub(super) fn draw(title: &str, pictures: &[(String, Picture)]) -> String {
    let width = pictures.iter().map(|(_, picture)| picture.width()).max().unwrap_or(0);
    let width = width.max(title.chars().count() as u32 * CHAR) + 2 * MARGIN;
    let mut canvas = Canvas { body: String::new(), width, y: MARGIN };
    canvas.line("name", title);
    for (names, picture) in pictures {
        if pictures.len() > 1 {
            canvas.y += LINE / 2;
            canvas.line("stage", names);
        }
        canvas.picture(picture);
    }
    document(title, [width as usize, (canvas.y + MARGIN) as usize], STYLE, &canvas.body)
}

/// A picture of a width and a height. Its lines may end in the tip `#tip`.
pub(crate) fn document(
    title: &str,
    [width, height]: [usize; 2],
    style: &str,
    body: &str,
) -> String {
    let title = escaped(title);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
         width=\"{width}\" height=\"{height}\" role=\"img\">\n<title>{title}</title>\n\
         <style>{style}</style>\n<defs><marker id=\"tip\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" \
         markerWidth=\"7\" markerHeight=\"7\" orient=\"auto\"><path d=\"M0 0L8 4L0 8z\"/></marker>\
         </defs>\n{body}</svg>\n"
    )
}

impl Picture {
    /// The width of a column's boxes.
    fn lane_width(&self) -> u32 {
        if self.columns.len() == 1 { ONLY_LANE } else { LANE }
    }

    fn columns_width(&self) -> u32 {
        let count = self.columns.len() as u32;
        count * self.lane_width() + (count - 1) * BETWEEN
    }

    fn words_width(&self) -> u32 {
        let count = self.words.len() as u32;
        count * WORD + count.saturating_sub(1) * GAP
    }

    fn width(&self) -> u32 {
        self.columns_width().max(self.words_width())
    }
}

impl Word {
    fn letter(&self) -> &'static str {
        self.input.text()
    }
}

impl Box {
    /// The lines of the box: its stage, what it reads, what it computes (wrapped to `room`
    /// characters), and its value.
    fn lines(&self, reads: &[Read], class: &'static str, room: usize) -> Lines {
        let mut lines = vec![("stage", self.stage.text().to_string())];
        lines.extend(reads.iter().map(|read| ("", read.text())));
        lines.extend(wrapped(&self.text, room).into_iter().map(|line| (class, line)));
        lines.extend(self.value.map(|value| ("value", format!("= {value}"))));
        lines
    }
}

/// Lines of text, each in a class.
type Lines = Vec<(&'static str, String)>;

/// A name and, if it is known, a value of `bits` bits.
fn named(class: &'static str, name: String, value: Option<u32>, bits: u8) -> Lines {
    let digits = usize::from(bits / 4) + 2;
    let value = value.map(|value| ("value", format!("{value:#0digits$x}")));
    iter::once((class, name)).chain(value).collect()
}

/// The height of a rectangle with this many lines.
fn height_of(lines: usize) -> u32 {
    lines as u32 * LINE + 8
}

/// A place on a line.
#[derive(Clone, Copy)]
struct Point {
    x: u32,
    y: u32,
}

struct Canvas {
    body: String,
    width: u32,
    /// Where the next row starts.
    y: u32,
}

impl Canvas {
    /// Adds to the body. Writing to a string does not fail.
    fn add(&mut self, text: std::fmt::Arguments<'_>) {
        let _ = writeln!(self.body, "{text}");
    }

    fn text(&mut self, class: &str, at: Point, text: &str) {
        let Point { x, y } = at;
        self.add(format_args!(
            "<text class=\"{class}\" x=\"{x}\" y=\"{y}\">{}</text>",
            escaped(text)
        ));
    }

    /// A line of text in the middle.
    fn line(&mut self, class: &str, text: &str) {
        self.text(class, Point { x: self.width / 2, y: self.y + LINE - 4 }, text);
        self.y += LINE;
    }

    fn picture(&mut self, picture: &Picture) {
        self.y += LINE / 2;
        let sources = self.words(picture);
        let top = self.y + FAN;
        let bottoms = self.columns(picture, top, &sources);
        self.end(picture, &bottoms);
    }

    /// Draws the sources, and returns where the arrow from a part of them starts.
    fn words(&mut self, picture: &Picture) -> impl Fn(&Read) -> Option<Point> + use<> {
        let has_values = picture.words.iter().any(|word| word.value.is_some());
        let height = height_of(if has_values { 2 } else { 1 });
        let mut left = (self.width - picture.words_width()) / 2;
        let (name_y, top) = (self.y + LINE - 4, self.y + LINE + 4);
        let bottom = top + height;
        let mut starts = Vec::new();
        for word in &picture.words {
            // A short name fits above the word.
            let name = shortened(&word.name, 16);
            let name = match word.value {
                Some(value) if word.width < 32 => format!("{name} = {value:#010x}"),
                _ => name,
            };
            self.text("name", Point { x: left + WORD / 2, y: name_y }, &name);
            let width = WORD * u32::from(word.width) / 32;
            for low in (0..32).step_by(word.width.into()) {
                let part = Part { low, width: word.width };
                let x = left + WORD - width * (u32::from(low / word.width) + 1);
                let name = format!("{}{}", word.letter(), part.selector());
                let label = match word.width {
                    32 => "32 bits".into(),
                    _ => part.selector().trim_start_matches('.').to_string(),
                };
                let value = word.value.map(|value| part.of(value));
                let lines = named("stage", label, value, word.width);
                let shape = Shape { x, y: top, width, height, is_kept: false };
                self.block(shape, &name, value.map(i128::from), &lines);
                starts.push((word.input, part, Point { x: x + width / 2, y: bottom }));
            }
            left += WORD + GAP;
        }
        self.y = bottom;
        move |read: &Read| {
            let own = |it: &&(_, Part, Point)| it.0 == read.input && it.1 == read.part;
            starts.iter().find(own).map(|(.., point)| *point)
        }
    }

    /// Draws the lanes and the kept parts of `c`, and returns where each ends.
    fn columns(
        &mut self,
        picture: &Picture,
        top: u32,
        start: &impl Fn(&Read) -> Option<Point>,
    ) -> Vec<(Point, String)> {
        let width = picture.lane_width();
        let room = (width / CHAR - 2) as usize;
        let lines = |(number, it): (usize, &Box), reads: &[Read]| {
            it.lines(if number == 0 { reads } else { &[] }, "name", room)
        };
        let columns: Vec<Vec<Lines>> = picture
            .columns
            .iter()
            .map(|column| match column {
                Column::Lane(lane) => {
                    let boxes = lane.boxes.iter().enumerate();
                    boxes.map(|own| lines(own, &lane.reads)).collect()
                }
                Column::Kept(_) => Vec::new(),
            })
            .collect();
        let rows = columns.iter().map(Vec::len).max().unwrap_or(0);
        let height = |row: usize| {
            let lines = columns.iter().filter_map(|boxes| boxes.get(row)).map(Vec::len).max();
            height_of(lines.unwrap_or(0))
        };
        let mut ends = Vec::new();
        let left = (self.width - picture.columns_width()) / 2;
        for ((column, boxes), number) in picture.columns.iter().zip(&columns).zip(0..) {
            let x = left + number * (width + BETWEEN);
            let middle = x + width / 2;
            let mut y = top;
            let name = match column {
                Column::Kept(part) => {
                    let name = format!("c{}", part.selector());
                    let value = picture.third.map(|c| part.of(c));
                    let label = format!("{}{}", picture.c, part.selector());
                    let lines = named("", label, value, part.width);
                    let height = height_of(lines.len());
                    let shape = Shape { x, y, width, height, is_kept: true };
                    self.block(shape, &name, value.map(i128::from), &lines);
                    y += height;
                    name
                }
                Column::Lane(lane) => {
                    self.reads(lane, Point { x, y }, width, start);
                    for (row, (own, lines)) in lane.boxes.iter().zip(boxes).enumerate() {
                        if row > 0 {
                            let to = Point { x: middle, y: y + ARROW };
                            self.arrow("", [Point { x: middle, y }, to], [&lane.name, &lane.name]);
                            y += ARROW;
                        }
                        let shape = Shape { x, y, width, height: height(row), is_kept: false };
                        let name = format!("{}, {}", lane.name, own.stage.text());
                        self.block(shape, &name, own.value, lines);
                        y += height(row);
                    }
                    lane.name.clone()
                }
            };
            ends.push((Point { x: middle, y }, name));
        }
        // A kept part is never higher than the boxes of a lane.
        let all = (0..rows).map(height).sum::<u32>() + rows.saturating_sub(1) as u32 * ARROW;
        self.y = top + all;
        ends
    }

    /// The arrows from what a lane reads to its first box.
    fn reads(
        &mut self,
        lane: &Lane,
        at: Point,
        width: u32,
        start: &impl Fn(&Read) -> Option<Point>,
    ) {
        let count = lane.reads.len() as u32 + 1;
        for (read, number) in lane.reads.iter().zip(1..) {
            let Some(from) = start(read) else { continue };
            let to = Point { x: at.x + width * number / count, y: at.y };
            let letter = read.input.text();
            let name = format!("{letter}{}", read.part.selector());
            self.arrow(letter, [from, to], [&name, &lane.name]);
        }
    }

    /// Draws the last operation, if there is one, and the result.
    fn end(&mut self, picture: &Picture, columns: &[(Point, String)]) {
        let left = (self.width - picture.columns_width()) / 2;
        let (width, middle) = (picture.columns_width(), self.width / 2);
        let mut y = self.y + ARROW;
        match &picture.end {
            End::Parts => {
                for ((from, name), column) in columns.iter().zip(&picture.columns) {
                    let (Column::Lane(Lane { to: part, .. }) | Column::Kept(part)) = column;
                    let d = format!("d{}", part.selector());
                    self.arrow("", [*from, Point { x: from.x, y }], [name, &d]);
                    let value = picture.result.map(|result| part.of(result));
                    let label = format!("{}{}", picture.d, part.selector());
                    let lines = named("", label, value, part.width);
                    let lane = picture.lane_width();
                    let height = height_of(lines.len());
                    let shape =
                        Shape { x: from.x - lane / 2, y, width: lane, height, is_kept: false };
                    self.block(shape, &d, value.map(i128::from), &lines);
                }
                y += height_of(if picture.result.is_some() { 2 } else { 1 });
            }
            End::Joined(last) => {
                for (from, name) in columns {
                    self.arrow("", [*from, Point { x: from.x, y }], [name, "secondary"]);
                }
                let lines = last.lines(&[], "", (width / CHAR - 2) as usize);
                let height = height_of(lines.len());
                let shape = Shape { x: left, y, width, height, is_kept: false };
                self.block(shape, "secondary", last.value, &lines);
                y += height;
                y = self.word(picture, Point { x: middle, y }, "secondary");
            }
            End::Word => {
                if let [(from, name)] = columns {
                    y = self.word(picture, *from, name);
                }
            }
        }
        self.y = y;
        if let (Some(result), End::Parts) = (picture.result, &picture.end) {
            self.y += 4;
            self.line("name", &format!("{} = {result:#010x}", picture.d));
        }
    }

    /// Draws the whole result below a place.
    fn word(&mut self, picture: &Picture, from: Point, name: &str) -> u32 {
        let y = from.y + ARROW;
        self.arrow("", [from, Point { x: from.x, y }], [name, "d"]);
        let lines = named("", picture.d.clone(), picture.result, 32);
        let height = height_of(lines.len());
        let shape = Shape { x: from.x - WORD / 2, y, width: WORD, height, is_kept: false };
        self.block(shape, "d", picture.result.map(i128::from), &lines);
        y + height
    }

    fn arrow(&mut self, class: &str, [from, to]: [Point; 2], [source, target]: [&str; 2]) {
        let bend = to.y - (to.y - from.y) / 2;
        self.add(format_args!(
            "<path class=\"{class}\" marker-end=\"url(#tip)\" data-from=\"{source}\" \
             data-to=\"{target}\" d=\"M{} {}C{} {bend} {} {bend} {} {}\"/>",
            from.x, from.y, from.x, to.x, to.x, to.y
        ));
    }

    /// A rectangle with lines of text, each in a class.
    fn block(&mut self, shape: Shape, name: &str, value: Option<i128>, lines: &[(&str, String)]) {
        let Shape { x, y, width, height, is_kept } = shape;
        let value = value.map(|value| format!(" data-value=\"{value}\"")).unwrap_or_default();
        let class = if is_kept { " class=\"kept\"" } else { "" };
        self.add(format_args!(
            "<rect{class} data-box=\"{name}\"{value} x=\"{x}\" y=\"{y}\" width=\"{width}\" \
             height=\"{height}\" rx=\"4\"/>"
        ));
        let room = (width / CHAR).max(3) as usize;
        for ((class, text), number) in lines.iter().zip(1..) {
            let at = Point { x: x + width / 2, y: y + number * LINE };
            self.text(class, at, &shortened(text, room));
        }
    }
}

/// A rectangle, dashed for a part that is kept of `c`.
#[derive(Clone, Copy)]
struct Shape {
    x: u32,
    y: u32,
    width: u32,
    height: u32,
    is_kept: bool,
}

/// A text of at most `room` characters.
fn shortened(text: &str, room: usize) -> String {
    if text.chars().count() <= room {
        return text.into();
    }
    text.chars().take(room - 1).chain(['…']).collect()
}

/// A text as XML writes it.
pub(crate) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
