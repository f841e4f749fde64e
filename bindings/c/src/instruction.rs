//! Instructions, and what they compute.
#![forbid(unsafe_code)]

use std::borrow::Cow;
use std::sync::OnceLock;

use library::ir::{Input, Program};
use library::{ParseInstructionError, Semantics};

use crate::error::Failure;

/// The number of words that are computed at once if a source is repeated: so many fit the L1 cache.
const CHUNK: usize = 1 << 12;

/// A legal video instruction.
pub struct Instruction {
    pub(crate) inner: library::Instruction,
    text: OnceLock<String>,
    programs: [OnceLock<Program>; 3],
}

impl Instruction {
    pub(crate) fn new(inner: library::Instruction) -> Instruction {
        Instruction { inner, text: OnceLock::new(), programs: Default::default() }
    }

    pub(crate) fn parse(text: &str) -> Result<Instruction, Failure> {
        text.parse().map(Instruction::new).map_err(|error: ParseInstructionError| {
            Failure::illegal(text, error.to_string(), error.diagnostics().to_vec())
        })
    }

    pub(crate) fn text(&self) -> &str {
        self.text.get_or_init(|| self.inner.to_string())
    }

    fn program(&self, semantics: Semantics) -> &Program {
        let place = Semantics::ALL.iter().position(|it| *it == semantics).unwrap_or_default();
        self.programs[place].get_or_init(|| self.inner.lower(semantics))
    }

    pub(crate) fn reads(&self, semantics: Semantics, input: Input) -> bool {
        self.program(semantics).reads(input)
    }

    pub(crate) fn eval(&self, semantics: Semantics, [a, b, c]: [u32; 3]) -> u32 {
        self.program(semantics).eval(a, b, c)
    }

    /// Computes all words of `out`. A column of one word is repeated, and one that is not read
    /// may be empty.
    pub(crate) fn eval_batch(
        &self,
        semantics: Semantics,
        columns: &[Cow<'_, [u32]>; 3],
        out: &mut [u32],
    ) -> Result<(), Failure> {
        let program = self.program(semantics);
        for (input, column) in Input::ALL.into_iter().zip(columns) {
            let name = input.text();
            let is_missing = column.is_empty() && program.reads(input) && !out.is_empty();
            if is_missing {
                return Err(Failure::invalid(format!("the instruction reads {name}: no words")));
            }
            if column.len() > 1 && column.len() != out.len() {
                return Err(Failure::invalid(format!(
                    "{name} has {} words, and out {}",
                    column.len(),
                    out.len()
                )));
            }
        }
        if columns.iter().all(|column| column.len() == out.len()) {
            program.eval_batch(&columns[0], &columns[1], &columns[2], out);
            return Ok(());
        }
        // A source of one word is repeated in a buffer.
        let buffers = columns.each_ref().map(|column| match column.len() {
            length if length == out.len() => Vec::new(),
            length => vec![if length == 1 { column[0] } else { 0 }; CHUNK.min(out.len())],
        });
        for (number, out) in out.chunks_mut(CHUNK).enumerate() {
            let [a, b, c] = [0, 1, 2].map(|at| match buffers[at].as_slice() {
                [] => &columns[at][number * CHUNK..][..out.len()],
                words => &words[..out.len()],
            });
            program.eval_batch(a, b, c, out);
        }
        Ok(())
    }
}
