//! "Did you mean": finds the word that is most like another.

/// The candidate nearest to a word, if it is near.
pub(crate) fn nearest<'a>(
    word: &str,
    candidates: impl Iterator<Item = &'a str>,
) -> Option<&'a str> {
    // Such a word is longer than every candidate: it is no misspelling, but something else.
    if word.len() > 40 {
        return None;
    }
    let lower = word.to_ascii_lowercase();
    // A single letter is one edit away from every other letter.
    let limit = match word.len() {
        0 | 1 => 0,
        2..=4 => 1,
        _ => 2,
    };
    candidates
        .map(|candidate| (distance(&lower, &candidate.to_ascii_lowercase()), candidate))
        .filter(|(distance, _)| *distance <= limit)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// The number of edits between two short texts. An edit inserts, deletes or replaces a byte, or
/// swaps neighbours.
pub(crate) fn distance(left: &str, right: &str) -> usize {
    let (left, right) = (left.as_bytes(), right.as_bytes());
    let mut before = vec![0; right.len() + 1];
    let mut last: Vec<usize> = (0..=right.len()).collect();
    let mut row = vec![0; right.len() + 1];
    for i in 1..=left.len() {
        row[0] = i;
        for j in 1..=right.len() {
            let replace = last[j - 1] + usize::from(left[i - 1] != right[j - 1]);
            row[j] = replace.min(last[j] + 1).min(row[j - 1] + 1);
            let swapped =
                i > 1 && j > 1 && left[i - 1] == right[j - 2] && left[i - 2] == right[j - 1];
            if swapped {
                row[j] = row[j].min(before[j - 2] + 1);
            }
        }
        std::mem::swap(&mut before, &mut last);
        std::mem::swap(&mut last, &mut row);
    }
    last[right.len()]
}
