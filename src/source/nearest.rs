//! "Did you mean": finds the word that is most like another.

/// The candidate nearest to a word, if it is near. Upper and lower case are the same.
pub(crate) fn nearest<'a>(
    word: &str,
    candidates: impl Iterator<Item = &'a str>,
) -> Option<&'a str> {
    // Such a word is longer than every word of PTX and of vptx. For a longer name that a user
    // chose, nothing is suggested.
    if word.len() > 40 {
        return None;
    }
    // A single letter is one edit away from every other letter.
    let limit = match word.len() {
        0 | 1 => 0,
        2..=4 => 1,
        _ => 2,
    };
    candidates
        .filter_map(|candidate| Some((distance(word, candidate, limit)?, candidate)))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// The number of edits between two short texts, if it is `limit` at most. An edit inserts, deletes
/// or replaces a byte, or swaps neighbours. Upper and lower case are the same.
pub(crate) fn distance(left: &str, right: &str, limit: usize) -> Option<usize> {
    let (left, right) = (left.as_bytes(), right.as_bytes());
    // An edit changes the length by one byte at most, and the set of letters by two.
    let changed = (letters(left) ^ letters(right)).count_ones() as usize;
    if left.len().abs_diff(right.len()) > limit || changed > 2 * limit {
        return None;
    }
    let same = |i: usize, j: usize| left[i].eq_ignore_ascii_case(&right[j]);
    let mut before = vec![0; right.len() + 1];
    let mut last: Vec<usize> = (0..=right.len()).collect();
    let mut row = vec![0; right.len() + 1];
    for i in 1..=left.len() {
        row[0] = i;
        for j in 1..=right.len() {
            let replace = last[j - 1] + usize::from(!same(i - 1, j - 1));
            row[j] = replace.min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && same(i - 1, j - 2) && same(i - 2, j - 1) {
                row[j] = row[j].min(before[j - 2] + 1);
            }
        }
        std::mem::swap(&mut before, &mut last);
        std::mem::swap(&mut last, &mut row);
    }
    Some(last[right.len()]).filter(|edits| *edits <= limit)
}

/// The set of the letters of a text, one bit for each.
fn letters(text: &[u8]) -> u128 {
    text.iter().fold(0, |set, byte| set | 1 << (byte.to_ascii_lowercase() & 127))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of a longer word, more can be wrong.
    #[test]
    fn the_limit_depends_on_the_length() {
        let find = |word| nearest(word, ["a", "abcd", "abcde"].into_iter());
        assert_eq!([find("abxye"), find("abcx")], [Some("abcde"), Some("abcd")]);
        assert_eq!([find("abxyz"), find("xbdc"), find("b")], [None; 3]);
    }

    /// What is passed over early has too many edits.
    #[test]
    fn distances_within_the_limit_are_those_without_one() {
        let words =
            ["", "a", "B", "ab", "ba", "abc", "acb", "xyzab", "bazyx", "Loop_1", "lop_21", "é"];
        for (left, right) in words.iter().flat_map(|left| words.map(|right| (left, right))) {
            let all = distance(left, right, 100).unwrap();
            for limit in 0..8 {
                assert_eq!(distance(left, right, limit), Some(all).filter(|all| *all <= limit));
            }
        }
        assert_eq!(distance("ab", "BA", 1), Some(1), "swapped");
        assert_eq!(distance("abc", "aXc", 1), Some(1), "replaced");
        assert_eq!(distance("abc", "abxc", 1), Some(1), "inserted");
    }
}
