//! Adds links to codes, deviations and mnemonics, and puts pictures into pages.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use vptx::diagnostic::Code;
use vptx::isa::Mnemonic;
use vptx::video::Deviation;

use crate::Result;

/// Adds links and pictures to all pages in a folder.
pub(crate) fn all(folder: &Path) -> Result<()> {
    let mut pages = Vec::new();
    walk(folder, &mut pages)?;
    for path in pages {
        let page = path.strip_prefix(folder)?;
        if page != Path::new("SUMMARY.md") {
            let text = fs::read_to_string(&path)?;
            fs::write(&path, enriched(folder, page, &text)?)?;
        }
    }
    Ok(())
}

fn walk(folder: &Path, found: &mut Vec<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            walk(&path, found)?;
        } else if path.extension().is_some_and(|it| it == "md") {
            found.push(path);
        }
    }
    Ok(())
}

fn enriched(folder: &Path, page: &Path, text: &str) -> Result<String> {
    let up = "../".repeat(page.components().count() - 1);
    let own = page.with_extension("");
    let own = own.to_str().ok_or("a page with an odd name")?;
    let mut links = Links { up, own, seen: BTreeSet::new(), out: String::new() };
    // Lines to which links may be added, collected because a piece of code may continue in the next
    // line.
    let mut prose = String::new();
    let mut is_fenced = false;
    for line in text.split_inclusive('\n') {
        let fence = line.trim_start().strip_prefix("```");
        is_fenced ^= fence.is_some();
        let is_code = is_fenced || fence.is_some() || line.starts_with("    ");
        if !is_code && !line.starts_with(['#', '<', '!']) && line != "\n" {
            prose.push_str(&numbers(line));
            continue;
        }
        links.add(&prose);
        prose.clear();
        if let Some(picture) = picture(line) {
            let path = folder.join(page.parent().unwrap_or(Path::new(""))).join(picture);
            let name =
                path.file_stem().and_then(|it| it.to_str()).ok_or("a picture without a name")?;
            links.out.push_str(&inlined(name, &fs::read_to_string(&path)?)?);
            continue;
        }
        // mdBook has no highlighting for these languages.
        links.out.push_str(match fence.map(str::trim_end) {
            Some("ptx" | "llvm" | "cmake" | "elisp") => "```text\n",
            Some("cuda") => "```cpp\n",
            _ => line,
        });
    }
    links.add(&prose);
    Ok(links.out)
}

/// Adds links to the text of a page.
struct Links<'a> {
    /// The relative path from the page to the folder of all pages.
    up: String,
    /// The path of the page, without its ending.
    own: &'a str,
    /// The words that have a link already: only the first mention gets one.
    seen: BTreeSet<String>,
    out: String,
}

impl Links<'_> {
    fn add(&mut self, prose: &str) {
        let mut rest = prose;
        while let Some(first) = rest.chars().next() {
            // Existing links and pieces of code are taken as a whole.
            let length = match first {
                '`' => rest[1..].find('`').map(|end| end + 2),
                '[' => rest.find("](").and_then(|at| Some(at + rest[at..].find(')')? + 1)),
                _ => rest.find(|it: char| !it.is_ascii_alphanumeric()).filter(|it| *it > 0),
            };
            let (piece, after) = rest.split_at(length.unwrap_or(match first {
                '`' | '[' => 1,
                _ if first.is_ascii_alphanumeric() => rest.len(),
                _ => first.len_utf8(),
            }));
            rest = after;
            match place(piece).filter(|(page, _)| page != self.own) {
                Some((page, anchor)) if self.seen.insert(piece.to_string()) => {
                    let link = format!("[{piece}]({}{page}.md{anchor})", self.up);
                    self.out.push_str(&link);
                }
                _ => self.out.push_str(piece),
            }
        }
    }
}

/// A row of a table, whose numbers are kept from breaking across lines.
fn numbers(line: &str) -> Cow<'_, str> {
    if !line.starts_with('|') {
        return line.into();
    }
    let is_number =
        |cell: &str| cell.chars().all(|it| it.is_ascii_digit() || " .,→/()".contains(it));
    let cells = line.split('|').map(|cell| {
        let inner = cell.trim_matches(' ');
        if is_number(inner) {
            cell.replacen(inner, &inner.replace(' ', "\u{a0}"), 1)
        } else {
            cell.into()
        }
    });
    cells.collect::<Vec<_>>().join("|").into()
}

/// For a code, a deviation, or a mnemonic in backquotes: its page without ending, and its anchor.
fn place(piece: &str) -> Option<(String, String)> {
    let anchor = piece.to_lowercase();
    if Code::ALL.iter().any(|code| code.text() == piece) {
        return Some((format!("rules/{}", &anchor[..2]), format!("#{anchor}")));
    }
    if Deviation::ALL.iter().any(|it| it.text() == piece) {
        return Some(("deviations".to_string(), format!("#{anchor}")));
    }
    let mnemonic = Mnemonic::ALL.iter().find(|it| format!("`{it}`") == piece)?;
    Some((format!("instructions/{mnemonic}"), String::new()))
}

/// The file of a picture, if the line is only a picture.
fn picture(line: &str) -> Option<&str> {
    let rest = line.trim_end().strip_prefix("![")?;
    let (_, file) = rest.split_once("](")?;
    let file = file.strip_suffix(')')?;
    Path::new(file).extension().is_some_and(|it| it == "svg").then_some(file)
}

/// A picture that is inserted into a page. Its colours follow the theme of the book instead of the
/// system, and its style applies to nothing else.
pub(crate) fn inlined(class: &str, svg: &str) -> Result<String> {
    let (head, rest) = svg.split_once("<style>").ok_or("a picture without a style")?;
    let (style, body) = rest.split_once("</style>").ok_or("a style without an end")?;
    let dark = "@media(prefers-color-scheme:dark){";
    let (light, dark) = style.split_once(dark).ok_or("a picture for light pages only")?;
    let dark = dark.strip_suffix('}').ok_or("a style without an end")?;
    // A picture little wider than a page shrinks; a wider one can be scrolled in its frame.
    let width = head.split("width=\"").nth(1).and_then(|rest| rest.split_once('"'));
    let width: u32 = width.ok_or("a picture without a width")?.0.parse()?;
    let frame = if width > 640 { "picture wide" } else { "picture" };
    let head = head.replacen("<svg ", &format!("<svg class=\"{class}\" "), 1);
    Ok(format!(
        "<div class=\"{frame}\" tabindex=\"0\">\n{head}<style>.{class}{{{light}}}\
         html:is(.coal,.navy,.ayu) .{class}{{{dark}}}</style>{body}</div>\n"
    ))
}
