//! Links to codes, deviations and mnemonics; pictures inside of pages.

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
    // Each is linked where it is first named, and not to its own page.
    let mut seen: BTreeSet<String> = BTreeSet::new();
    let mut out = String::new();
    let mut is_fenced = false;
    for line in text.split_inclusive('\n') {
        is_fenced ^= line.trim_start().starts_with("```");
        if let Some(picture) = picture(line) {
            let path = folder.join(page.parent().unwrap_or(Path::new(""))).join(picture);
            let name =
                path.file_stem().and_then(|it| it.to_str()).ok_or("a picture without a name")?;
            out.push_str(&inlined(name, &fs::read_to_string(&path)?)?);
            out.push('\n');
            continue;
        }
        let is_plain = is_fenced
            || ["```", "    ", "#", "<"].iter().any(|start| line.starts_with(start))
            || line.contains("](");
        if is_plain {
            out.push_str(line);
            continue;
        }
        for (at, piece) in line.split('`').enumerate() {
            if at % 2 == 1 {
                let code = format!("`{piece}`");
                match mnemonic(piece).filter(|it| !own.ends_with(it)) {
                    Some(target) if seen.insert(target.clone()) => {
                        out.push_str(&format!("[{code}]({up}{target}.md)"));
                    }
                    _ => out.push_str(&code),
                }
                continue;
            }
            for word in piece.split_inclusive(|it: char| !it.is_ascii_alphanumeric()) {
                let name = word.trim_end_matches(|it: char| !it.is_ascii_alphanumeric());
                match place(name).filter(|(target, _)| target != own) {
                    Some((target, anchor)) if seen.insert(name.to_string()) => {
                        let rest = &word[name.len()..];
                        out.push_str(&format!("[{name}]({up}{target}.md#{anchor}){rest}"));
                    }
                    _ => out.push_str(word),
                }
            }
        }
    }
    Ok(out)
}

/// The page of a mnemonic, without its ending.
fn mnemonic(word: &str) -> Option<String> {
    let known = Mnemonic::ALL.iter().find(|it| it.text() == word)?;
    Some(format!("instructions/{known}"))
}

/// The page, without its ending, and the anchor of a code or deviation.
fn place(word: &str) -> Option<(String, String)> {
    let anchor = word.to_lowercase();
    if Code::ALL.iter().any(|code| code.text() == word) {
        return Some((format!("rules/{}", &anchor[..2]), anchor));
    }
    let is_deviation = Deviation::ALL.iter().any(|it| it.text() == word);
    is_deviation.then(|| ("deviations".to_string(), anchor))
}

/// The file of a picture that stands alone on a line.
fn picture(line: &str) -> Option<&str> {
    let rest = line.trim_end().strip_prefix("![")?;
    let (_, file) = rest.split_once("](")?;
    file.strip_suffix(')').filter(|file| file.ends_with(".svg"))
}

/// A picture as a part of a page. Its colours follow the theme of the book, not of the system, and
/// its style holds for nothing else.
pub(crate) fn inlined(class: &str, svg: &str) -> Result<String> {
    let (head, rest) = svg.split_once("<style>").ok_or("a picture without a style")?;
    let (style, body) = rest.split_once("</style>").ok_or("a style without an end")?;
    let dark = "@media(prefers-color-scheme:dark){";
    let (light, dark) = style.split_once(dark).ok_or("a picture for light pages only")?;
    let dark = dark.strip_suffix('}').ok_or("a style without an end")?;
    let head = head.replacen("<svg ", &format!("<svg class=\"{class}\" "), 1);
    Ok(format!(
        "<div class=\"picture\" tabindex=\"0\">\n{head}<style>.{class}{{{light}}}\
         html:is(.coal,.navy,.ayu) .{class}{{{dark}}}</style>{body}</div>\n"
    ))
}
