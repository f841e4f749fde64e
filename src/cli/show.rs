//! `vptx check --show-settings`

use std::fmt::{Display, Write};
use std::path::{Path, PathBuf};

use crate::check::{CheckOptions, Dialect};
use crate::diagnostic::{Code, Docs, RuleSet};
use crate::lint::wants_trees;
use crate::print::{FormatOptions, LineEnding};
use crate::workspace::settings::{Choices, Settings, Targets};

/// The choices made on the command line.
pub(super) struct Command<'a> {
    pub(super) choices: &'a Choices,
    /// Patterns that are relative to the current folder.
    pub(super) exclude: &'a [String],
    /// The folders with headers on the command line.
    pub(super) include: &'a [PathBuf],
    /// The baseline file, from the command line or the settings.
    pub(super) baseline: Option<&'a Path>,
}

/// Writes settings in the form of a settings file. With a path, these are the settings for that
/// file. Otherwise, they are the settings of the folder, including its choices for paths.
pub(super) fn settings(settings: &Settings, path: Option<&Path>, command: &Command<'_>) -> String {
    let Command { choices: command, exclude, include, baseline } = command;
    let mut text = String::new();
    let patterns = !settings.exclude_lines.is_empty() || !settings.per_path.is_empty();
    if let Some(folder) = settings.folder.as_ref().filter(|_| patterns) {
        let folder = folder.to_string_lossy();
        let _ = writeln!(text, "# patterns start from {}", folder.escape_debug());
    }
    if !settings.extensions.is_empty() {
        text.push_str("[extension]\n");
        for extension in &settings.extensions {
            let (ending, language) = extension.parts();
            entry(&mut text, &quoted(ending), quoted(&language));
        }
        text.push('\n');
    }
    format(&mut text, &settings.format);
    let options = settings.check(path, command);
    check(&mut text, &options);
    if let Some(denied) = settings.denied(path, command) {
        list(&mut text, "deny", denied);
    }
    let excluded: Vec<String> = settings
        .exclude_lines
        .iter()
        .cloned()
        .chain(exclude.iter().map(|line| rebased(line, settings)))
        .collect();
    list(&mut text, "exclude", &excluded);
    let include = include.iter().chain(&settings.include);
    let include: Vec<_> = include.map(|folder| folder.to_string_lossy()).collect();
    if !include.is_empty() {
        list(&mut text, "include", &include);
    }
    if let Some(baseline) = baseline {
        entry(&mut text, "baseline", quoted(&baseline.to_string_lossy()));
    }
    if let Some(address) = settings.docs.as_ref().and_then(Docs::address) {
        entry(&mut text, "docs-url", quoted(address));
    }
    if path.is_some() {
        return text;
    }
    for part in &settings.per_path {
        per_path(&mut text, &part.lines, &part.choices);
    }
    // The command line overrides the choices for paths.
    if !settings.per_path.is_empty() && **command != Choices::default() {
        per_path(&mut text, &["**".into()], command);
    }
    text
}

fn format(text: &mut String, options: &FormatOptions) {
    text.push_str("[format]\n");
    entry(text, "indent-width", options.indent_width);
    entry(text, "line-width", options.line_width);
    let ending = match options.line_ending {
        LineEnding::Lf => "lf",
        LineEnding::Crlf => "crlf",
        LineEnding::Keep => "keep",
    };
    entry(text, "line-ending", quoted(ending));
    let selectors = if options.explicit_defaults { "write" } else { "omit" };
    entry(text, "default-selectors", quoted(selectors));
}

fn check(text: &mut String, options: &CheckOptions) {
    text.push_str("\n[check]\n");
    entry(text, "dialect", quoted(dialect(options.dialect)));
    if !options.targets.is_empty() {
        list(text, "target", &options.targets);
    } else if let Some(target) = options.target {
        entry(text, "target", quoted(&target.to_string()));
    }
    if let Some(version) = options.ptx_version {
        entry(text, "ptx-version", quoted(&version.to_string()));
    }
    if wants_trees(options.rules) && !options.every_module {
        // If the codes of these rules were listed, the rules would judge every module.
        let off = Code::ALL.iter().filter(|code| !options.rules.contains(**code));
        let off = off.fold(RuleSet::NONE, |set, code| set.with(*code));
        list(text, "select", &["ALL"]);
        list(text, "ignore", &selectors(off));
    } else {
        list(text, "select", &selectors(options.rules));
    }
}

fn per_path(text: &mut String, lines: &[String], choices: &Choices) {
    text.push_str("\n[[check.per-path]]\n");
    list(text, "paths", lines);
    if let Some(chosen) = choices.dialect {
        entry(text, "dialect", quoted(dialect(chosen)));
    }
    match &choices.target {
        Some(Targets::One(target)) => entry(text, "target", quoted(&target.to_string())),
        Some(Targets::All(targets)) => list(text, "target", targets),
        None => {}
    }
    if let Some(version) = choices.ptx_version {
        entry(text, "ptx-version", quoted(&version.to_string()));
    }
    if let Some(select) = &choices.select {
        list(text, "select", select);
    }
    if !choices.extend.is_empty() {
        list(text, "extend-select", &choices.extend);
    }
    if !choices.ignore.is_empty() {
        list(text, "ignore", &choices.ignore);
    }
    if let Some(denied) = &choices.deny {
        list(text, "deny", denied);
    }
}

fn dialect(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Documented => "documented",
        Dialect::Ptxas => "ptxas",
    }
}

/// The fewest words that select exactly these rules by their codes and by groups such as `V5`.
fn selectors(rules: RuleSet) -> Vec<&'static str> {
    let mut words = Vec::new();
    for group in Code::ALL.chunk_by(|a, b| a.text()[..2] == b.text()[..2]) {
        if group.iter().all(|code| rules.contains(*code)) {
            words.push(&group[0].text()[..2]);
        } else {
            let on = group.iter().filter(|code| rules.contains(**code));
            words.extend(on.map(|code| code.text()));
        }
    }
    words
}

/// Turns a pattern relative to the current folder into a pattern relative to the folder of the
/// settings, if that folder is above.
fn rebased(line: &str, settings: &Settings) -> String {
    let below = std::fs::canonicalize(".").ok().and_then(|here| {
        let below = here.strip_prefix(settings.folder.as_ref()?).ok()?;
        Some(below.to_string_lossy().replace('\\', "/"))
    });
    let Some(below) = below.filter(|below| !below.is_empty()) else {
        return line.to_string();
    };
    let (not, pattern) = line.strip_prefix('!').map_or(("", line), |pattern| ("!", pattern));
    let anchored = pattern.trim_end_matches('/').contains('/');
    let between = if anchored { "" } else { "**/" };
    format!("{not}/{below}/{between}{}", pattern.trim_start_matches('/'))
}

fn entry(text: &mut String, key: &str, value: impl Display) {
    let _ = writeln!(text, "{key} = {value}");
}

fn list(text: &mut String, key: &str, values: &[impl Display]) {
    let values: Vec<String> = values.iter().map(|value| quoted(&value.to_string())).collect();
    entry(text, key, format_args!("[{}]", values.join(", ")));
}

/// A string in TOML's notation.
fn quoted(text: &str) -> String {
    // TOML has the escapes of JSON, but JSON does not escape this one character.
    serde_json::Value::from(text).to_string().replace('\u{7f}', "\\u007F")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::RuleSelector;

    #[test]
    fn words_select_the_same_rules() {
        let one = |code: &Code| RuleSet::NONE.with(*code);
        let but = |code: &Code| {
            let others = Code::ALL.iter().filter(|other| *other != code);
            others.fold(RuleSet::NONE, |set, code| set.with(*code))
        };
        let singles = Code::ALL.iter().map(one).chain(Code::ALL.iter().map(but));
        let sets = [RuleSet::NONE, RuleSet::DEFAULT, RuleSet::ERRORS, RuleSet::ALL];
        for set in sets.into_iter().chain(singles) {
            let words = selectors(set);
            let read: Vec<RuleSelector> = words.iter().map(|word| word.parse().unwrap()).collect();
            assert_eq!(RuleSet::DEFAULT.choose(Some(&read), &[], &[]), set, "{words:?}");
        }
        assert!(selectors(RuleSet::DEFAULT).contains(&"V1"));
    }

    #[test]
    fn strings_read_back() {
        for text in ["", "a b", "\"\\\n\t\u{0}\u{1b}\u{7f}", "ä\u{2028}𝄞"] {
            let read: toml::Table = toml::from_str(&format!("key = {}", quoted(text))).unwrap();
            assert_eq!(read["key"].as_str(), Some(text));
        }
    }
}
