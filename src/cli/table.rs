//! Tables for people.

use std::io::{self, Write};

/// Where a column puts its texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Align {
    Left,
    Right,
}

/// Prints rows in columns that are as wide as their texts need. Texts in the last column are not
/// padded.
pub(super) fn print<const N: usize>(
    rows: &[[String; N]],
    align: [Align; N],
    out: &mut impl Write,
) -> io::Result<()> {
    let width = |at: usize| rows.iter().map(|row| row[at].len()).max().unwrap_or_default();
    let widths: [usize; N] = std::array::from_fn(width);
    for row in rows {
        for (at, text) in row.iter().enumerate() {
            let width = widths[at];
            match align[at] {
                _ if at + 1 == N => writeln!(out, "{text}")?,
                Align::Left => write!(out, "{text:width$}  ")?,
                Align::Right => write!(out, "{text:>width$}  ")?,
            }
        }
    }
    Ok(())
}
