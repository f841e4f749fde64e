//! The place of an `#include`.

use crate::diagnostic::Edit;
use crate::embed::{Directive, code_start};
use crate::source::{Span, mark_len};

/// The change that includes a header before an offset; `None` if the source already includes the
/// header before that offset. `all` has the directives of the source.
pub(super) fn edit(source: &str, all: &[Directive<'_>], before: u32, header: &str) -> Option<Edit> {
    let line = format!("#include \"{header}\"");
    let earlier = all.partition_point(|directive| directive.span.end <= before);
    let earlier = &all[..earlier];
    let quoted = format!("\"{header}\"");
    // The guard counts only if the call stands inside of it.
    let guard = guard(source, all).filter(|_| earlier.len() < all.len());
    let conditions = usize::from(guard.is_some());
    let is_include = |it: &&Directive<'_>| it.name == "include" && it.conditions == conditions;
    if earlier.iter().filter(is_include).any(|it| argument(source, it) == quoted) {
        return None;
    }
    let last = earlier.iter().filter(is_include).rfind(|it| it.is_between);
    // `#pragma once` and the guard stand before everything else.
    let is_once = |it: &&Directive<'_>| it.name == "pragma" && argument(source, it) == "once";
    let top = || {
        let top = guard.or_else(|| earlier.first().filter(is_once));
        feature(source, earlier, top.map_or(0, |it| it.span.end)).or(top)
    };
    let newline = if source.contains("\r\n") { "\r\n" } else { "\n" };
    if let Some(directive) = last.or_else(top).filter(|it| it.span.end < source.len() as u32) {
        // The span of a directive ends before the `\n`, and includes a `\r` before that.
        let at = directive.span.end + 1;
        return Some(Edit::replace(Span::at(at), format!("{line}{newline}")));
    }
    let at = start(source).min(before as usize) as u32;
    Some(Edit::replace(Span::at(at), format!("{line}{newline}{newline}")))
}

/// The last macro such as `_GNU_SOURCE`, which the headers of C want to be defined before them,
/// among the macros that are defined at an offset, before any code.
fn feature<'d>(source: &str, all: &'d [Directive<'d>], mut at: u32) -> Option<&'d Directive<'d>> {
    let mut last = None;
    let first = all.partition_point(|it| it.span.start < at);
    for it in &all[first..] {
        let code = at as usize + code_start(&source[at as usize..it.span.end as usize]);
        if code != it.span.start as usize || it.name != "define" {
            break;
        }
        if argument(source, it).starts_with('_') {
            last = Some(it);
        }
        at = it.span.end;
    }
    last
}

/// What follows the name of a directive, up to white space.
fn argument<'s>(source: &'s str, directive: &Directive<'_>) -> &'s str {
    let text = directive.span.text(source);
    let rest = text.split_once(directive.name).map_or("", |(_, rest)| rest);
    rest.split_whitespace().next().unwrap_or_default()
}

/// The `#define` of the guard around the whole source, if it has one.
fn guard<'d>(source: &str, all: &'d [Directive<'d>]) -> Option<&'d Directive<'d>> {
    let [first, define, .., last] = all else { return None };
    let name = argument(source, define);
    let is_guard = define.name == "define"
        && last.name == "endif"
        && match first.name {
            "ifndef" => argument(source, first) == name,
            "if" => first.span.text(source).contains(name),
            _ => false,
        };
    let has_else = all.iter().any(|it| it.conditions == 1 && it.name.starts_with("el"));
    let closes = all.iter().position(|it| it.name == "endif" && it.conditions == 1);
    (is_guard && !has_else && closes == Some(all.len() - 1)).then_some(define)
}

/// Where the source starts: after comments at its top that a blank line follows.
fn start(source: &str) -> usize {
    let mark = mark_len(source.as_bytes());
    let line = source[..code_start(source)].rfind('\n').map_or(mark, |at| at + 1);
    let comments = source[..line].trim_end_matches([' ', '\t', '\r', '\n']);
    let blank = &source[comments.len()..line];
    if blank.matches('\n').count() > 1 { line } else { mark }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::embed::directives;

    /// The source with the `#include`; `@` marks the first call.
    fn included(source: &str) -> String {
        let before = source.find('@').unwrap_or(source.len());
        match edit(source, &directives(source), before as u32, "v.h") {
            Some(edit) => {
                let at = edit.span.start as usize;
                format!("{}{}{}", &source[..at], edit.replacement, &source[at..])
            }
            None => "none".into(),
        }
    }

    #[test]
    fn places() {
        let line = "#include \"v.h\"\n";
        for (before, after) in [
            // After the last include before the first call.
            ("#include <a>\n#include <b>\n", "int x;\n@\n#include <c>\n"),
            // Not inside of conditions, braces or comments.
            (
                "#include <a>\n",
                "#ifdef B\n#include <b>\n#endif\nextern \"C\" {\n#include <c>\n}\n@",
            ),
            ("#include <a> /* one\n#include <b>\n*/\n", "// #include <c>\n@"),
            ("#ifndef A\n#define A\n#include <a>\n", "@\n#endif\n"),
            ("#ifndef A\n#define A\n", "@\n#endif\n"),
            ("#ifndef A\n#define A\n", "#ifdef B\n#endif\n@\n#endif\n"),
            ("#pragma once\n", "@"),
            // After what other headers want to be defined.
            ("#define _A 1\n", "#ifdef B\n#include <b>\n#endif\n@"),
            ("\u{feff}#define _A 1\n", "@"),
            ("\u{feff}#define _A 1\n#include <a>\n", "@"),
            ("#pragma once\n// one\n#define b 2\n#define _A 1\n", "#define c 3\n@"),
            ("#ifndef A\n#define A\n#define _A\n", "int x;\n#define _B\n@\n#endif\n"),
            ("#pragma once\n", "#define A 1\n@"),
            ("void f() {}\n#include <a>\n", "@"),
            ("#define L \\\n  1\n#include \\\n  <a>\n", "@"),
            // Not inside of a declaration.
            ("#include <a>\n", "char *k =\n#include \"k.inc\"\n;\n@"),
            ("#include <a>\n", "int t[] = { 1,\n#include \"t.inc\"\n};\nf(\n#include <b>\n);\n@"),
            ("int x; // one\n#define A\n/* two */\n#include <a>\n", "@"),
            // Branches of a condition have the same braces.
            ("#include <a>\n", "#if A\nvoid f() {\n#else\nvoid g() {\n#endif\n#include <b>\n@}"),
            ("#if A\nvoid f() {\n#else\nvoid g() {\n#endif\n}\n#include <a>\n", "@"),
            // Under a condition, the header may be missing.
            ("#include <a>\n", "#ifdef T\n#include \"v.h\"\n#endif\n@"),
        ] {
            assert_eq!(included(&format!("{before}{after}")), format!("{before}{line}{after}"));
        }
        // `#ifndef` that is no guard.
        let source = "#ifndef N\n#define N 4\n#endif\n@";
        assert_eq!(included(source), format!("{line}\n{source}"));
        let source = "#ifdef A\n#define B\n@\n#endif\n";
        assert_eq!(included(source), format!("{line}\n{source}"));
        let source = "#ifndef A\n#define A\n#else\n@\n#endif\n";
        assert_eq!(included(source), format!("{line}\n{source}"));
        assert_eq!(included("// Licence\n\n@"), format!("// Licence\n\n{line}\n@"));
        assert_eq!(included("// About f\n@"), format!("{line}\n// About f\n@"));
        assert_eq!(included("#include \"v.h\" // ours\n@"), "none");
        assert_eq!(included("#include <a>\r\n@"), "#include <a>\r\n#include \"v.h\"\r\n@");
    }
}
