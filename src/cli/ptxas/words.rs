//! The command line of ptxas.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::path::Path;

use thiserror::Error;

use crate::report::visible_path;
use crate::workspace::error::reason;
use crate::workspace::files::{Access, read_text};

/// The names of the options whose value is the next word or stands after `=`, as `--help` of ptxas
/// 11.8, 12.9 and 13.5 lists them.
const WITH_VALUE: &str = "\
--Ofast-compile -Ofc
--allow-expensive-optimizations -allow-expensive-optimizations
--apply-controls -apply-controls
--def-load-cache -dlcm
--def-store-cache -dscm
--device-function-maxrregcount -func-maxrregcount
--device-stack-protector -device-stack-protector
--enable-func-clone-sc -enable-func-clone-sc
--entry -e
--fmad -fmad
--force-load-cache -flcm
--force-store-cache -fscm
--gpu-name -arch
--input-as-string -ias
--machine -m
--maxntid -maxntid
--maxrregcount -maxrregcount
--minnctapersm -minnctapersm
--opt-level
--options-file -optf
--output-file -o
--position-independent-code -pic
--register-usage-level -regUsageLevel
--sanitize -sanitize
--split-compile -split-compile";

/// The names of the options without a value, except `-O`.
const FLAGS: &str = "\
--compile-as-tools-patch -astoolspatch
--compile-only -c
--compiler-annotations -annotate
--device-debug -g
--disable-optimizer-constants -disable-optimizer-consts
--disable-warnings -w
--dont-merge-basicblocks -no-bb-merge
--extensible-whole-program -ewp
--g-tensor-memory-access-check -g-tmem-access-check
--generate-line-info -lineinfo
--gno-fabric-access-check -gno-fabric-access-check
--gno-tensor-memory-access-check -gno-tmem-access-check
--help -h
--jobserver -jobserver
--legacy-bar-warp-wide-behavior -legacy-bar-warp-wide-behavior
--list-arch -arch-ls
--list-version -version-ls
--make-errors-visible-at-exit -make-errors-visible-at-exit
--optimize-float-atomics -opt-fp-atomics
--override-directive-values -override-directive-values
--preserve-relocs -preserve-relocs
--return-at-end -ret-end
--sp-bounds-check -sp-bounds-check
--suppress-async-bulk-multicast-advisory-warning -suppress-async-bulk-multicast-advisory-warning
--suppress-debug-info -suppress-debug-info
--suppress-double-demote-warning -suppress-double-demote-warning
--suppress-position-independent-code-warning -suppress-position-independent-code-warning
--suppress-sparse-mma-advisory-info -suppress-sparse-mma-advisory-info
--suppress-stack-size-warning -suppress-stack-size-warning
--verbose -v
--verbose2 -v2
--version -V
--warn-on-double-precision-use -warn-double-usage
--warn-on-local-memory-usage -warn-lmem-usage
--warn-on-spills -warn-spills
--warning-as-error -Werror";

/// The flags with which ptxas only prints an answer, without reading a module.
const QUESTIONS: &str = "\
--help -h
--list-arch -arch-ls
--list-version -version-ls
--version -V";

/// The most options files that are read: an options file may name itself.
const MANY: usize = 100;

/// A word that stands for a module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ModuleWord {
    /// The name of a file.
    File,
    /// `-`.
    Stdin,
    /// The text of the module itself, which starts at this byte of the word.
    Text(usize),
}

/// A command line of ptxas, with options files replaced by the words in them.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct CommandLine {
    pub(super) all: Vec<OsString>,
    /// The modules, each with the number of its word.
    pub(super) modules: Vec<(usize, ModuleWord)>,
    /// The last value of `--gpu-name`.
    pub(super) arch: Option<String>,
    /// Whether the code is for a debugger, which shows the text of the module.
    pub(super) for_debugger: bool,
    /// Whether ptxas prints help or a list, and reads no module.
    pub(super) is_question: bool,
}

impl CommandLine {
    /// Reads a command line.
    pub(super) fn of(words: &[OsString]) -> Result<CommandLine, OptionsFileError> {
        let mut found = CommandLine::default();
        let mut rest: VecDeque<OsString> = words.iter().cloned().collect();
        let mut files = 0;
        while let Some(word) = rest.pop_front() {
            let Some(Name { text: name, end }) = Name::of(&word) else {
                let place = if word == "-" { ModuleWord::Stdin } else { ModuleWord::File };
                found.modules.push((found.all.len(), place));
                found.all.push(word);
                continue;
            };
            found.is_question |= is_in(QUESTIONS, name);
            found.for_debugger |= matches!(name, "-g" | "--device-debug");
            let is_alone = end == word.len();
            let next = match rest.front() {
                Some(_) if is_alone && is_in(WITH_VALUE, name) => rest.pop_front(),
                // An option that is not listed may have a value. So the next word does not count as
                // a module.
                Some(next) if is_alone && !is_flag(name) && Name::of(next).is_none() => {
                    rest.pop_front()
                }
                _ => None,
            };
            // The word with the value of the option, and the offset where the value starts.
            let (holder, start) = match &next {
                Some(next) => (next, 0),
                None => (&word, (end + 1).min(word.len())),
            };
            match name {
                "-optf" | "--options-file" => {
                    let value = holder.to_str().and_then(|it| it.get(start..));
                    let inside = in_files(value.unwrap_or_default(), &mut files)?;
                    inside.into_iter().rev().for_each(|word| rest.push_front(word.into()));
                    continue;
                }
                "-arch" | "--gpu-name" => {
                    found.arch = holder.to_string_lossy().get(start..).map(str::to_string);
                }
                "-ias" | "--input-as-string" => {
                    let at = found.all.len() + usize::from(next.is_some());
                    found.modules.push((at, ModuleWord::Text(start)));
                }
                _ => {}
            }
            found.all.push(word);
            found.all.extend(next);
        }
        Ok(found)
    }
}

/// The name of an option.
struct Name<'w> {
    text: &'w str,
    /// Where the name ends in its word: at a `=`, or at the end of the word.
    end: usize,
}

impl Name<'_> {
    /// The name of the option in a word. `None` if the word is no option, such as a lone `-`.
    fn of(word: &OsStr) -> Option<Name<'_>> {
        let bytes = word.as_encoded_bytes();
        if bytes.len() < 2 || bytes[0] != b'-' {
            return None;
        }
        let end = memchr::memchr(b'=', bytes).unwrap_or(bytes.len());
        // A name that is not UTF-8 is not listed.
        Some(Name { text: std::str::from_utf8(&bytes[..end]).unwrap_or("-?"), end })
    }
}

/// Whether an option never takes the next word as its value: the option is a flag, or its value
/// follows its letter (`-O3`, `-m64`).
fn is_flag(name: &str) -> bool {
    is_in(FLAGS, name) || name.starts_with("-O") || name.starts_with("-m")
}

fn is_in(names: &str, name: &str) -> bool {
    names.split_whitespace().any(|it| it == name)
}

/// Why an options file is not read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("the options file `{name}`: {why}")]
pub(super) struct OptionsFileError {
    name: String,
    why: String,
}

/// The words of options files. `names` has the names of the files, separated by commas.
fn in_files(names: &str, files: &mut usize) -> Result<Vec<String>, OptionsFileError> {
    let mut words = Vec::new();
    for name in names.split(',') {
        *files += 1;
        let path = Path::new(name);
        let cannot = |why: &str| OptionsFileError { name: visible_path(path), why: why.into() };
        if *files > MANY {
            return Err(cannot("there are too many options files"));
        }
        // ptxas could not read the same text from a pipe again.
        let text = read_text(path, Access::Regular).map_err(|error| cannot(&reason(&error)))?.0;
        words.extend(split(&text).ok_or_else(|| {
            cannot("it has escapes, control characters or an open quotation mark")
        })?);
    }
    Ok(words)
}

/// The words of an options file. White space separates them. Quotation marks, which are left out,
/// may enclose any part of a word. `None` if the text has a backslash or a control character, or an
/// unpaired quotation mark.
fn split(text: &str) -> Option<Vec<String>> {
    let mut words: Vec<String> = Vec::new();
    let (mut is_quoted, mut is_inside) = (false, false);
    for c in text.chars() {
        match c {
            ' ' | '\t' | '\n' | '\r' if !is_quoted => is_inside = false,
            '\\' => return None,
            c if c.is_control() => return None,
            c => {
                if !is_inside {
                    words.push(String::new());
                    is_inside = true;
                }
                if c == '"' {
                    is_quoted = !is_quoted;
                } else if let Some(word) = words.last_mut() {
                    word.push(c);
                }
            }
        }
    }
    (!is_quoted).then_some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The modules of a command line, whose words stand between blanks.
    fn modules(line: &str) -> Vec<String> {
        let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        let found = CommandLine::of(&words).expect("no options files");
        assert_eq!(found.all, words, "{line}");
        let name = |&(at, place): &(usize, ModuleWord)| {
            let word = words[at].to_str().expect("text");
            match place {
                ModuleWord::File | ModuleWord::Stdin => word.to_string(),
                ModuleWord::Text(start) => format!("text:{}", &word[start..]),
            }
        };
        found.modules.iter().map(name).collect()
    }

    // Each line was tried with ptxas, whose messages tell which files it opens.
    #[test]
    fn values_are_no_modules() {
        assert_eq!(modules("-arch sm_90 a.ptx -o b.ptx"), ["a.ptx"]);
        assert_eq!(modules("--gpu-name=sm_90 a.ptx b.ptx -o=c"), ["a.ptx", "b.ptx"]);
        assert_eq!(modules("-O 3 a.ptx"), ["3", "a.ptx"]);
        assert_eq!(modules("-O3 a.ptx -m64 b.ptx -m 64"), ["a.ptx", "b.ptx"]);
        assert_eq!(modules("--opt-level 3 a.ptx"), ["a.ptx"]);
        assert_eq!(modules("-e -v a.ptx"), ["a.ptx"]);
        assert_eq!(modules("-o -v -"), ["-"]);
        assert_eq!(modules("--def-load-cache= ca a.ptx"), ["ca", "a.ptx"]);
        assert_eq!(modules("-lineinfo a.ptx -v -g b.ptx"), ["a.ptx", "b.ptx"]);
        assert_eq!(modules("-maxntid 32,1,1 a.ptx"), ["a.ptx"]);
        assert_eq!(modules("-ias x --input-as-string=y a=b"), ["text:x", "text:y", "a=b"]);
        // ptxas 13.5 knows this option, but does not list it.
        assert_eq!(modules("--regAllocOptLevel 2 a.ptx"), ["a.ptx"]);
        assert_eq!(modules("--regAllocOptLevel=2 a.ptx"), ["a.ptx"]);
        assert_eq!(modules("a.ptx -o"), ["a.ptx"]);
    }

    #[test]
    fn the_last_target_counts() {
        let words = ["-arch", "sm_80", "--gpu-name=sm_90a", "a"].map(OsString::from);
        assert_eq!(CommandLine::of(&words).unwrap().arch.as_deref(), Some("sm_90a"));
    }

    #[test]
    fn words_of_options_files() {
        let words = |text| split(text).map(|words| words.join("|"));
        assert_eq!(words("\ta.ptx\r\n-v\n").as_deref(), Some("a.ptx|-v"));
        assert_eq!(words("\"a b.ptx\" c\".p\"tx").as_deref(), Some("a b.ptx|c.ptx"));
        assert_eq!(words("\"\" 'a b'").as_deref(), Some("|'a|b'"));
        assert_eq!(words("\"a.ptx\"-v # x").as_deref(), Some("a.ptx-v|#|x"));
        assert_eq!(words("a\\ b"), None);
        assert_eq!(words("\"a"), None);
        assert_eq!(words("a\u{c}b"), None);
    }
}
