//! `vptx.toml`

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use serde::Deserialize;

use super::input::reason;
use crate::print::{FormatOptions, LineEnding};

/// The name of the file.
pub(super) const FILE: &str = "vptx.toml";

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Settings {
    format: Format,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
struct Format {
    indent_width: Option<usize>,
    line_width: Option<usize>,
    line_ending: Ending,
    default_selectors: Selectors,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Ending {
    #[default]
    Lf,
    Crlf,
    Keep,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Selectors {
    #[default]
    Omit,
    Write,
}

/// Options for a file, or a sentence that says what is wrong with them.
pub(super) type Options = Result<FormatOptions, String>;

/// Finds the settings that hold for files, each `vptx.toml` read once.
#[derive(Debug, Default)]
pub(super) struct Finder {
    /// By folder.
    known: Mutex<HashMap<PathBuf, Options>>,
}

impl Finder {
    /// The options of the nearest settings in the folder or above it.
    pub(super) fn options(&self, folder: &Path) -> Options {
        let mut known = self.known.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(options) = known.get(folder) {
            return options.clone();
        }
        let file = folder.ancestors().map(|above| above.join(FILE)).find(|file| file.is_file());
        let options = file.map_or_else(|| Ok(FormatOptions::default()), |file| read(&file));
        known.insert(folder.to_path_buf(), options.clone());
        options
    }
}

/// The options that a file sets.
pub(super) fn read(file: &Path) -> Options {
    let name = file.display();
    let text = fs::read_to_string(file)
        .map_err(|error: io::Error| format!("cannot read `{name}`: {}", reason(&error)))?;
    let wrong = |message: String| format!("`{name}`: {}", message.trim_end());
    let Settings { format } = toml::from_str(&text).map_err(|error| wrong(error.to_string()))?;
    let within = |key: &str, value: Option<usize>, default: usize, min: usize, max: usize| {
        let value = value.unwrap_or(default);
        if (min..=max).contains(&value) {
            Ok(value)
        } else {
            Err(wrong(format!("format.{key} = {value}: it must be from {min} to {max}")))
        }
    };
    let mut options = FormatOptions::default();
    options.indent_width =
        within("indent-width", format.indent_width, options.indent_width, 0, 16)?;
    options.line_width = within("line-width", format.line_width, options.line_width, 40, 10_000)?;
    options.line_ending = match format.line_ending {
        Ending::Lf => LineEnding::Lf,
        Ending::Crlf => LineEnding::Crlf,
        Ending::Keep => LineEnding::Keep,
    };
    options.explicit_defaults = format.default_selectors == Selectors::Write;
    Ok(options)
}
