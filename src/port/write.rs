//! The new text of a statement: a single assignment, or a block.

use std::fmt::Write;

use super::block::{Block, Call};
use super::expression::{Definitions, as_block, closed};
use crate::backend::c::Header;
use crate::embed::{self, Asm, Host};
use crate::hash::Set;
use crate::source::Span;
use crate::syntax::lexer;

/// An operand as an expression of C.
struct Operand {
    expression: String,
    /// Whether it matters when the expression is evaluated. A parameter of a macro may stand for
    /// any expression.
    has_effects: bool,
}

/// The text that takes the place of a statement. Adds the called functions to the header.
pub(super) fn text(
    source: &str,
    asm: &Asm<'_>,
    block: &Block,
    definitions: &Definitions<'_>,
    header: &mut Header,
) -> String {
    let inside = |span: &Span| embed::comments(span.text(source), Host::C);
    let expressions: Vec<Span> = asm.operands.iter().filter_map(|it| it.expression).collect();
    let operands: Vec<Operand> = expressions
        .iter()
        .zip(&asm.operands)
        .map(|(span, operand)| {
            let expression = closed(span.text(source), &inside(span));
            let is_unknown = asm.is_in_directive() || definitions.may_have_effects(&expression);
            Operand { expression, has_effects: is_unknown && !operand.is_number() }
        })
        .collect();
    let writer = Writer { source, asm, block, definitions, operands };
    let calls: Vec<String> = block.calls.iter().map(|it| header.add(&it.instruction)).collect();
    let text = writer.assignment(&calls).unwrap_or_else(|| writer.statements(&calls));
    // Comments of the statement, but for those of operands that the call takes over; then those of
    // the PTX.
    let mut comments: Vec<String> = Vec::new();
    let written = embed::comments(&text, Host::C);
    let written: Set<&str> = written.iter().map(|it| it.text(&text)).collect();
    for comment in inside(&asm.span) {
        let span = comment.shifted(asm.span.start);
        let comment = as_block(span.text(source));
        if !span.is_in(&expressions) || !written.contains(&*comment) {
            comments.push(comment);
        }
    }
    for span in lexer::comments(&asm.text) {
        let text = asm.spelled(span.text(&asm.text));
        comments.push(as_block(&text.replace(|c: char| c.is_control() && c != '\n', " ")));
    }
    comments.push(text);
    comments.join(" ")
}

struct Writer<'a> {
    source: &'a str,
    asm: &'a Asm<'a>,
    block: &'a Block,
    definitions: &'a Definitions<'a>,
    operands: Vec<Operand>,
}

impl Writer<'_> {
    /// An output as the left side of an assignment.
    fn place(&self, operand: usize) -> String {
        let expression = &self.operands[operand].expression;
        if self.definitions.is_plain(expression) {
            expression.clone()
        } else {
            format!("({expression})")
        }
    }

    /// An operand, converted to a 32-bit word.
    fn word(&self, operand: usize) -> String {
        format!("(vptx_u32)({})", self.operands[operand].expression)
    }

    /// A single assignment of a call's result. `None` if it would not evaluate each expression
    /// once, or if the order of evaluation matters.
    fn assignment(&self, names: &[String]) -> Option<String> {
        let ([call], [name]) = (self.block.calls.as_slice(), names) else { return None };
        let mut outputs = self.asm.operands.iter().enumerate().filter(|(_, it)| it.output);
        let (output, _) = outputs.next()?;
        let is_single = outputs.next().is_none()
            && self.block.variables[call.destination].output == Some(output);
        let has_effects = self.operands.iter().any(|operand| operand.has_effects);
        let mut seen = Vec::new();
        for argument in &call.arguments {
            if seen.contains(argument) {
                return None;
            }
            seen.push(*argument);
        }
        if !is_single || has_effects {
            return None;
        }
        let words = call.arguments.iter().map(|&argument| {
            let initial = self.block.variables[argument].initial;
            initial.map(|operand| self.word(operand))
        });
        let words: Vec<String> = words.collect::<Option<_>>()?;
        Some(assigned(&self.place(output), &format!("{name}({})", words.join(", "))))
    }

    /// A block that first evaluates all operands, in order.
    fn statements(&self, names: &[String]) -> String {
        let variables = self.names();
        let block = self.block;
        let mut lines: Vec<String> = Vec::new();
        let mut places: Vec<String> = Vec::new();
        let mut is_declared = vec![false; block.variables.len()];
        for (at, operand) in self.operands.iter().enumerate() {
            let variable = block.of_operand[at];
            let name = &variables[variable];
            let is_output = self.asm.operands[at].output;
            let has_pointer = is_output && self.needs_pointer(at);
            let mut place = self.place(at);
            if has_pointer {
                let expression = &operand.expression;
                lines.push(format!("__typeof__({expression}) *const {name}_at = &({expression});"));
                place = format!("*{name}_at");
            }
            places.push(place);
            if block.variables[variable].initial != Some(at) {
                continue;
            }
            if self.is_read_first(variable) {
                let word =
                    if has_pointer { format!("(vptx_u32)*{name}_at") } else { self.word(at) };
                let is_written = block.calls.iter().any(|call| call.destination == variable);
                let constant = if is_written { "" } else { "const " };
                lines.push(format!("{constant}vptx_u32 {name} = {word};"));
                is_declared[variable] = true;
            } else if operand.has_effects && !is_output {
                lines.push(format!("(void)({});", operand.expression));
            }
        }
        for (call, function) in block.calls.iter().zip(names) {
            let Call { destination, arguments, .. } = call;
            let words: Vec<&str> = arguments.iter().map(|&it| variables[it].as_str()).collect();
            let writes = block.calls.iter().filter(|it| it.destination == *destination).count();
            let declaration = match (is_declared[*destination], writes) {
                (true, _) => "",
                (false, 1) => "const vptx_u32 ",
                (false, _) => "vptx_u32 ",
            };
            is_declared[*destination] = true;
            let name = &variables[*destination];
            lines.push(format!("{declaration}{name} = {function}({});", words.join(", ")));
        }
        for (variable, name) in block.variables.iter().zip(&variables) {
            if let Some(output) = variable.output {
                lines.push(format!("{};", assigned(&places[output], name)));
            }
        }
        self.laid_out(&lines)
    }

    /// Whether the place that an output stands for has to be found before anything else: its
    /// expression has effects, or other operands may change it, like `v[i]` if they change `i`. A
    /// bit-field has no address, and that of a packed member may not be aligned.
    fn needs_pointer(&self, output: usize) -> bool {
        let Operand { expression, has_effects } = &self.operands[output];
        let outputs = self.asm.operands.iter().filter(|operand| operand.output).count();
        let has_others = self.operands.iter().any(|operand| operand.has_effects);
        // A word that is written is no pointer.
        let place = if has_others { expression.clone() } else { expression.replace("->", ".") };
        let may_move = (has_others || outputs > 1) && !self.definitions.is_member(&place);
        *has_effects || may_move
    }

    /// Whether a variable's first value is used.
    fn is_read_first(&self, variable: usize) -> bool {
        for call in &self.block.calls {
            if call.arguments.contains(&variable) {
                return true;
            }
            if call.destination == variable {
                return false;
            }
        }
        self.block.variables[variable].output.is_some()
    }

    /// A name for each variable. No two names are equal, and the statement contains none of them.
    fn names(&self) -> Vec<String> {
        let text = self.asm.span.text(self.source);
        let mut names: Vec<String> = Vec::new();
        // `x_at` is the pointer to the place of `x`.
        let is_taken = |names: &[String], name: &String| {
            names.iter().any(|it| {
                let of = |one: &str, other: &str| one.strip_suffix("_at") == Some(other);
                it == name || of(it, name) || of(name, it)
            })
        };
        for variable in &self.block.variables {
            let mut name = format!("vptx_r_{}", variable.name);
            while text.contains(&name) || is_taken(&names, &name) {
                name.push('_');
            }
            names.push(name);
        }
        names
    }

    /// A block that counts as one statement. Each of `lines` gets a line, except in a directive.
    fn laid_out(&self, lines: &[String]) -> String {
        if self.asm.is_in_directive() {
            return format!("do {{ {} }} while (0)", lines.join(" "));
        }
        let start = self.asm.span.start as usize;
        let before = &self.source[..start];
        let line = before.rfind('\n').map_or(0, |at| at + 1);
        let newline = if before[..line].ends_with("\r\n") { "\r\n" } else { "\n" };
        let indent: String =
            before[line..].chars().take_while(|c| matches!(c, ' ' | '\t')).take(INDENT).collect();
        let deeper = if indent.ends_with('\t') { "\t" } else { "    " };
        let mut text = String::from("do {");
        for line in lines {
            // Writing to a string never fails.
            let _ = write!(text, "{newline}{indent}{deeper}{line}");
        }
        let _ = write!(text, "{newline}{indent}}} while (0)");
        text
    }
}

/// The largest number of characters of an indentation that new lines repeat.
const INDENT: usize = 100;

/// Assigns a word to a place of any type.
fn assigned(place: &str, word: &str) -> String {
    format!("{place} = (__typeof__({place})){word}")
}
