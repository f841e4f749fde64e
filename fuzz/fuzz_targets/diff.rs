//! Any two texts, separated by dashes. A text must not differ from itself, the lines of a
//! difference must lie in their texts, in order, and two exchanged texts must differ exactly if the
//! texts do.
#![no_main]

use libfuzzer_sys::fuzz_target;
use vptx::diff::{Change, DiffOptions, LineKind, diff, diff_with};
use vptx::source;

fn check(old: &str, new: &str) -> Option<Vec<Change>> {
    let changes = diff_with(old, new, DiffOptions::default().with_context(1)).ok()?;
    for change in &changes {
        let part = change.new.as_ref().or(change.old.as_ref()).expect("one of them");
        assert!(change.old.as_ref().is_none_or(|part| old.get(part.span.range()).is_some()));
        assert!(change.new.as_ref().is_none_or(|part| new.get(part.span.range()).is_some()));
        let (mut old_end, mut new_end) = (0, 0);
        for line in change.hunks.iter().flat_map(|hunk| &hunk.lines) {
            // Outside of functions, the order of the lines is not that of the text.
            if part.name.is_empty() {
                break;
            }
            if let Some(span) = line.old.filter(|_| line.kind != LineKind::MovedHere) {
                assert!(old_end <= span.start && old.get(span.range()).is_some(), "{line:?}");
                old_end = span.end;
            }
            if let Some(span) = line.new.filter(|_| line.kind != LineKind::MovedAway) {
                assert!(new_end <= span.start && new.get(span.range()).is_some(), "{line:?}");
                new_end = span.end;
            }
        }
        for hunk in &change.hunks {
            for same in &hunk.equivalences {
                assert!(same.first <= same.last && same.last < hunk.lines.len());
            }
        }
    }
    Some(changes)
}

fuzz_target!(|bytes: &[u8]| {
    let text = source::decode(bytes.to_vec());
    let (old, new) = text.split_once("----").unwrap_or((&text, &text));
    for same in [old, new] {
        assert!(diff(same, same).unwrap_or_default().is_empty());
    }
    let there = check(old, new);
    let back = check(new, old);
    assert_eq!(there.is_some(), back.is_some());
    assert_eq!(there.map(|it| it.is_empty()), back.map(|it| it.is_empty()));
});
