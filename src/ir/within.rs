//! Programs for sources that lie in known ranges.

use super::{Builder, Op, Program, Range, Value, renumber};

impl Program {
    /// The same program for sources `a`, `b` and `c` in these ranges of signed or unsigned words.
    /// Ranges of steps may be narrower, and steps that change nothing are left out.
    pub(crate) fn within(&self, ranges: [Option<Range>; 3]) -> Program {
        let mut builder = Builder::new();
        let mut moved: Vec<Value> = Vec::with_capacity(self.steps().len());
        for step in self.steps() {
            builder.stage(step.stage);
            let op = renumber(step.op, |old| moved[old.index()]);
            moved.push(builder.push_within(op, ranges));
        }
        builder.finish(moved[self.result().index()])
    }
}

impl Builder {
    fn push_within(&mut self, op: Op, ranges: [Option<Range>; 3]) -> Value {
        match op {
            Op::Input(input) => {
                let range = ranges[input as usize].and_then(unsigned);
                self.push_in(op, |_| range.unwrap_or(Range::bits(32, false)))
            }
            Op::Extract { value, low: 0, width, signed: true } => {
                let known = match self.steps[value.index()].op {
                    Op::Input(input) => ranges[input as usize].and_then(signed),
                    _ => None,
                };
                match known.filter(|range| Range::bits(width, true).contains_range(*range)) {
                    Some(range) => {
                        let whole = Op::Extract { value, low: 0, width: 32, signed: true };
                        self.push_in(whole, |_| range)
                    }
                    None => self.extract(value, 0, width, true),
                }
            }
            Op::Extract { value, low, width, signed } => self.extract(value, low, width, signed),
            Op::Min(x, y) => self.min(x, y),
            Op::Max(x, y) => self.max(x, y),
            Op::Compare(compare, x, y) => self.compare(compare, x, y),
            Op::Clamp(value, range) => self.clamp(value, range),
            _ => self.push(op),
        }
    }
}

/// The range of the same words, read as unsigned. `None` if these words form no single range.
fn unsigned(range: Range) -> Option<Range> {
    let moved = Range::new(range.min + (1 << 32), range.max + (1 << 32));
    [range, moved].into_iter().find(|range| Range::bits(32, false).contains_range(*range))
}

/// The range of the same words, read as signed.
fn signed(range: Range) -> Option<Range> {
    let moved = Range::new(range.min - (1 << 32), range.max - (1 << 32));
    [range, moved].into_iter().find(|range| Range::bits(32, true).contains_range(*range))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::Input;

    /// The half of a word that lies in a range of signed halves is the whole word, with its sign.
    #[test]
    fn a_word_in_a_signed_range_keeps_its_sign() {
        let mut builder = Builder::new();
        let word = builder.input(Input::A);
        let half = builder.extract(word, 0, 16, true);
        let zero = builder.constant(0);
        let most = builder.max(half, zero);
        let program = builder.finish(most).within([Some(Range::new(-8, 5)), None, None]);
        let words = [u32::MAX - 7, u32::MAX, 0, 5];
        assert_eq!(words.map(|word| program.eval(word, 0, 0)), [0, 0, 0, 5]);
    }

    #[test]
    fn words_of_one_sign_have_a_range_in_the_other_sign() {
        let (top, end) = (1 << 31, 1 << 32);
        let small = Range::new(0, 5);
        let (negative, high) = (Range::new(-8, -2), Range::new(end - 8, end - 2));
        for given in [negative, high] {
            assert_eq!((unsigned(given), signed(given)), (Some(high), Some(negative)));
        }
        assert_eq!((unsigned(small), signed(small)), (Some(small), Some(small)));
        // These words form no single range in the other sign.
        let (around_zero, around_top) = (Range::new(-1, 1), Range::new(top - 1, top));
        assert_eq!((unsigned(around_zero), signed(around_zero)), (None, Some(around_zero)));
        assert_eq!((unsigned(around_top), signed(around_top)), (Some(around_top), None));
    }
}
