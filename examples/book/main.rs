//! Adds pages that are made from the program's sources to the book: rules, instructions, deviations
//! and modifiers. Also adds links to these pages, and puts pictures into pages.
//!
//! ```sh
//! cp -R docs target/book-pages
//! cargo run --example book -- target/book-pages
//! ```
//!
//! `scripts/book` runs these commands.

mod bars;
mod enrich;
mod instructions;

use std::error::Error;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use vptx::check::{CheckOptions, Language};
use vptx::diagnostic::{Code, RuleSet};
use vptx::explain;
use vptx::isa::{Mnemonic, Modifier, Target};
use vptx::source::LineIndex;
use vptx::video::Deviation;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn main() -> Result<()> {
    let mut arguments = std::env::args_os().skip(1);
    let folder = PathBuf::from(arguments.next().ok_or("usage: book FOLDER [--playground]")?);
    let has_playground = arguments.next().is_some_and(|it| it == "--playground");
    let summary = folder.join("SUMMARY.md");
    let mut chapters = fs::read_to_string(&summary)?;

    let rules = groups(&fs::read_to_string(folder.join("rules.md"))?)?;
    for (group, about) in &rules {
        let path = format!("rules/{}.md", group.to_lowercase());
        write_page(&folder.join(&path), &rules_of(group, about)?)?;
        add_chapter(&mut chapters, "rules.md", &format!("{group}: {about}"), &path)?;
    }
    let savings = fs::read_to_string(folder.join("rewriting/savings.md"))?;
    for &mnemonic in Mnemonic::ALL {
        let path = format!("instructions/{mnemonic}.md");
        write_page(&folder.join(&path), &instructions::page(mnemonic, &savings, has_playground)?)?;
        add_chapter(&mut chapters, "instructions.md", mnemonic.text(), &path)?;
    }
    write_page(&folder.join("modifiers.md"), &modifiers()?)?;
    let (before, after) = chapters.split_once("- [Deviations").ok_or("no chapter `Deviations`")?;
    chapters = format!("{before}- [Modifiers](modifiers.md)\n- [Deviations{after}");
    let deviations = folder.join("deviations.md");
    let mut text = fs::read_to_string(&deviations)?;
    for deviation in Deviation::ALL {
        write!(text, "\n{}", anchored(&deviation.page())?)?;
    }
    fs::write(&deviations, text)?;
    fs::write(&summary, chapters)?;
    enrich::all(&folder)
}

fn write_page(path: &Path, text: &str) -> Result<()> {
    fs::create_dir_all(path.parent().ok_or("a page without a folder")?)?;
    Ok(fs::write(path, text)?)
}

/// Adds a chapter as the last subchapter of another chapter.
fn add_chapter(chapters: &mut String, above: &str, title: &str, path: &str) -> Result<()> {
    let start = chapters.find(&format!("({above})\n")).ok_or("no such chapter")?;
    let lines = chapters[start..].split_inclusive('\n');
    let own = lines.enumerate().take_while(|(at, line)| *at == 0 || line.starts_with("  "));
    let end = start + own.map(|(_, line)| line.len()).sum::<usize>();
    chapters.insert_str(end, &format!("  - [{title}]({path})\n"));
    Ok(())
}

/// The groups of rules and their subjects, from the table on the page.
fn groups(page: &str) -> Result<Vec<(String, String)>> {
    let rows = page.lines().filter_map(|line| line.strip_prefix("| V"));
    let rows = rows.map(|row| row.split('|').map(str::trim).collect::<Vec<_>>());
    let groups: Vec<(String, String)> = rows
        .filter(|cells| cells[0].len() == 1)
        .map(|cells| (format!("V{}", cells[0]), cells[1].to_string()))
        .collect();
    let all = Code::ALL.iter().all(|code| groups.iter().any(|(it, _)| code.text().starts_with(it)));
    if all { Ok(groups) } else { Err("a group of rules is not in the table".into()) }
}

/// A page as a section of another page: its headings are one level lower, and its first word is the
/// anchor.
fn anchored(page: &str) -> Result<String> {
    let page = page.strip_prefix("# ").ok_or("a page without a heading")?;
    let (heading, rest) = page.split_once('\n').ok_or("a page without text")?;
    let word = heading.split([' ', ':']).next().ok_or("a page without a word")?;
    let anchor = word.trim_start_matches('.').to_lowercase();
    Ok(format!("## {heading} {{#{anchor}}}\n{}", rest.replace("\n## ", "\n### ")))
}

/// The page of a group of rules.
fn rules_of(group: &str, about: &str) -> Result<String> {
    let mut page = format!("# {group}: {about}\n\n`vptx explain {group}` lists these rules.\n");
    for &code in Code::ALL.iter().filter(|code| code.text().starts_with(group)) {
        let text = anchored(&code.page())?;
        let (text, fix) = text.split_once("\n### Fix\n").ok_or("a page without a fix")?;
        let default = if code.default() { "On" } else { "Off" };
        let (heading, text) = text.split_once('\n').ok_or("a page without text")?;
        write!(page, "\n{heading}\n\n{default} by default.\n{text}")?;
        page.push_str(&findings(code, text)?);
        write!(page, "\n### Fix\n{}\n", fix.trim_end())?;
    }
    Ok(page)
}

/// The findings of `check` on the example of a rule's page.
fn findings(code: Code, page: &str) -> Result<String> {
    let language = [("ptx", Language::Ptx), ("cuda", Language::Cuda)];
    let block = |(name, language)| {
        let (_, rest) = page.split_once(&format!("```{name}\n"))?;
        Some((rest.split_once("```")?.0, language))
    };
    // The example of a binary file is not text.
    let Some((example, language)) = language.into_iter().find_map(block) else {
        return Ok(String::new());
    };
    let options =
        CheckOptions::default().with_language(language).with_rules(RuleSet::DEFAULT.with(code));
    let found = vptx::check(example, &options);
    let index = LineIndex::new(example);
    let mut text = String::from("\n`vptx check` says:\n\n```text\n");
    let own = found.iter().filter(|found| found.code == code);
    let mut count = 0;
    for found in own {
        let at = index.position(example, found.span.start);
        writeln!(text, "{}:{}: {}[{code}]: {found}", at.line, at.column, found.severity)?;
        if let Some(help) = &found.help {
            writeln!(text, "  help: {}", help.replace('\n', "\n        "))?;
        }
        count += 1;
    }
    if count == 0 {
        return Err(format!("{code}: the example does not show it").into());
    }
    Ok(text + "```\n")
}

/// The page of all modifiers.
fn modifiers() -> Result<String> {
    let mut page = String::from(
        "# Modifiers\n\nEach modifier, what it does, and which instructions take it. \
         `vptx explain .sat` prints the same.\n",
    );
    for modifier in Modifier::ALL {
        let own = explain::page(modifier.text(), Target::sm(90))?;
        // A modifier may also be spelled like a selector; only the modifier's page is taken.
        let own = own.split("\n# ").next().ok_or("an empty page")?;
        write!(page, "\n{}", anchored(&format!("{}\n", own.trim_end()))?)?;
    }
    Ok(page)
}
