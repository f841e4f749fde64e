//! The options that a client gives: `initializationOptions`, or its settings for `vptx`.

use std::fmt::Display;
use std::path::PathBuf;
use std::str::FromStr;

use serde::Deserialize;
use serde_json::{Value, json};
use thiserror::Error;

use crate::diagnostic::Docs;
use crate::workspace::settings::{Choices, Targets};

/// The options as the client writes them. They override `vptx.toml`, as the command line does.
/// `null` stands for an option that is not there.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase", expecting = "an object")]
struct Written {
    config: Option<PathBuf>,
    dialect: Option<String>,
    target: Option<OneOrMany>,
    ptx_version: Option<String>,
    select: Option<Vec<String>>,
    extend_select: Option<Vec<String>>,
    ignore: Option<Vec<String>>,
    costs: Option<bool>,
    hints: Option<bool>,
    lane_hints: Option<bool>,
    pages: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "target: expected a target such as \"sm_90\", or a list of targets")]
enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

/// The options after parsing.
#[derive(Debug, Default)]
pub(super) struct Options {
    /// A settings file to use instead of `vptx.toml` files near the texts.
    pub(super) config: Option<PathBuf>,
    pub(super) choices: Choices,
    /// Whether costs are shown beside instructions.
    pub(super) hints: bool,
    /// Whether the lanes that a selector chooses are shown after it.
    pub(super) lane_hints: bool,
    /// Where the pages of codes are. This overrides the settings.
    pub(super) docs: Option<Docs>,
}

impl Options {
    pub(super) fn read(value: Value) -> Result<Options, InvalidOptions> {
        let value = if value.is_null() { json!({}) } else { value };
        let written: Written = serde_json::from_value(value).map_err(InvalidOptions::new)?;
        let targets: Vec<String> = match written.target {
            None => Vec::new(),
            Some(OneOrMany::One(target)) => vec![target],
            Some(OneOrMany::Many(targets)) => targets,
        };
        let mut extend = all(&written.extend_select.unwrap_or_default())?;
        if written.costs == Some(true) {
            extend.push(one("V6")?);
        }

        let choices = Choices {
            dialect: written.dialect.as_deref().map(one).transpose()?,
            target: Targets::listed(&all(&targets)?),
            ptx_version: written.ptx_version.as_deref().map(one).transpose()?,
            select: written.select.as_deref().map(all).transpose()?,
            extend,
            ignore: all(&written.ignore.unwrap_or_default())?,
            deny: None,
        };
        Ok(Options {
            config: written.config,
            choices,
            hints: written.hints.unwrap_or(false),
            lane_hints: written.lane_hints.unwrap_or(true),
            docs: written.pages.map(Docs::Pages),
        })
    }
}

/// What is wrong with options, in the words of the parser of the value.
#[derive(Debug, Error)]
#[error("{0}")]
pub(super) struct InvalidOptions(String);

impl InvalidOptions {
    fn new(error: impl Display) -> InvalidOptions {
        InvalidOptions(error.to_string())
    }
}

fn one<T: FromStr<Err: Display>>(text: &str) -> Result<T, InvalidOptions> {
    text.parse().map_err(InvalidOptions::new)
}

fn all<T: FromStr<Err: Display>>(texts: &[String]) -> Result<Vec<T>, InvalidOptions> {
    texts.iter().map(|text| one(text)).collect()
}
