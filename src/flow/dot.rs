//! The blocks of a function as a graph for Graphviz.

use std::fmt;

use super::Flow;
use crate::syntax::Statement;

impl Flow<'_> {
    /// The function in the language of Graphviz: a cluster with one node for each block. The
    /// cluster belongs between `digraph {` and `}`. `number` tells the nodes of several functions
    /// apart.
    ///
    /// Each node shows the block's instructions, without comments and line breaks. Blocks that no
    /// path leads to are dashed. So are the block between branches with unknown targets and all
    /// labels, and its edges.
    pub fn dot(&self, number: usize) -> impl fmt::Display {
        Dot { flow: self, number }
    }
}

struct Dot<'f, 't> {
    flow: &'f Flow<'t>,
    number: usize,
}

impl fmt::Display for Dot<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Dot { flow, number } = *self;
        let function = flow.function();
        let source = function.statement().tree().source();
        let name = function.name().map_or("", |name| name.text(source));
        writeln!(f, "  subgraph cluster_{number} {{")?;
        writeln!(f, "    label=\"{}\";", Escaped(name))?;
        for (at, block) in flow.blocks().iter().enumerate() {
            write!(f, "    f{number}_b{at} [label=\"")?;
            for statement in &flow.statements()[block.instructions.clone()] {
                write!(f, "{}\\l", Escaped(&line(*statement)))?;
            }
            let is_guess = flow.between_guesses() == Some(at);
            if is_guess {
                f.write_str("any label")?;
            }
            let style = if flow.is_reachable(at) && !is_guess { "" } else { " style=dashed" };
            writeln!(f, "\"{style}];")?;
        }
        for (at, block) in flow.blocks().iter().enumerate() {
            for next in &block.successors {
                let is_guess = [at, *next].map(Some).contains(&flow.between_guesses());
                let style = if is_guess { " [style=dashed]" } else { "" };
                writeln!(f, "    f{number}_b{at} -> f{number}_b{next}{style};")?;
            }
        }
        writeln!(f, "  }}")
    }
}

/// A statement on one line, without comments.
pub(crate) fn line(statement: Statement<'_>) -> String {
    let source = statement.tree().source();
    let (mut line, mut end) = (String::new(), None);
    for token in statement.tokens() {
        let span = token.span();
        if end.is_some_and(|end| end < span.start) {
            line.push(' ');
        }
        end = Some(span.end);
        line.push_str(span.text(source));
    }
    line
}

/// A text inside of quotes.
struct Escaped<'s>(&'s str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.chars().try_for_each(|c| match c {
            '"' | '\\' => write!(f, "\\{c}"),
            c if c.is_control() => write!(f, "\\\\u{{{:x}}}", u32::from(c)),
            c => write!(f, "{c}"),
        })
    }
}
