//! V705: outputs of an `asm` that some path through the `asm` does not write.

use super::asm::AsmOperands;
use super::structure::{ModuleSubject, run_on_function};
use crate::check::CheckOptions;
use crate::diagnostic::{Code, Diagnostic};
use crate::embed::AsmOperand;
use crate::flow::{Flow, Written};
use crate::hash::Set;
use crate::module::{VideoStatement, is_type};
use crate::names::{Meaning, Names};
use crate::source::Span;
use crate::syntax::{self, Function};

/// The findings on the paths through an `asm` and on its video instructions, placed in the text of
/// the `asm`. Findings on operands are placed at `place_of_operand`.
pub(crate) fn run_asm_flow(
    options: &CheckOptions,
    operands: &AsmOperands<'_>,
    statements: &[VideoStatement],
    place_of_operand: impl Fn(usize) -> Span,
) -> Vec<Diagnostic> {
    let (asm, rules) = (operands.asm(), options.rules);
    let names_unknown = asm.unknown_operands_in(Span::new(0, asm.text.len() as u32)).next();
    let has_video = statements.iter().any(|it| it.instruction.is_some());
    if !has_video && !options.every_module || names_unknown.is_some() {
        return Vec::new();
    }
    // A function around the text declares the operands, and reads the outputs at its end.
    let list = |only: fn(&AsmOperand<'_>) -> bool, space: &str| {
        let all = asm.operands.iter().filter(|it| only(it));
        let all = all.map(|it| format!("{space}{}", it.placeholder));
        all.collect::<Vec<_>>().join(", ")
    };
    let head = format!(".func f({})\n{{\n", list(|_| true, ".reg .b32 "));
    let outputs = list(|it| it.output, "");
    let text = format!("{head}{}\nvptx_reads {outputs};\n}}", asm.text);
    let tree = syntax::parse(&text);
    let mut functions = tree.functions();
    let (Some(function), None, []) = (functions.next(), functions.next(), tree.errors()) else {
        return Vec::new();
    };
    let start = head.len() as u32;
    let moved = |span: Span| span.shifted(start);
    let statements: Vec<VideoStatement> =
        statements.iter().map(|it| VideoStatement { span: moved(it.span), ..it.clone() }).collect();
    let names = Names::of(&tree);
    let subject =
        ModuleSubject { tree: &tree, names: &names, statements: &statements, is_part: true };
    let mut found = Vec::new();
    let Some(flow) = Flow::of(&function, &names) else { return found };
    if !has_video && !is_ptx(&flow, &text) {
        return found;
    }
    run_on_function(rules, &subject, &flow, &statements, &mut found);
    for found in &mut found {
        found.each_span(|span| Span::new(span.start - start, span.end - start));
    }
    if rules.contains(Code::AsmOutputUnwritten) && !flow.is_opaque() {
        let unwritten = unwritten(&function, &flow, &names, operands);
        found.extend(unwritten.into_iter().map(|(number, written)| {
            finding(&asm.operands[number].placeholder, place_of_operand(number), written)
        }));
    }
    found
}

/// Whether the text of an `asm` without video instructions is PTX. Other machines have `mov` and
/// `add`, too, but not with the types of PTX.
fn is_ptx(flow: &Flow<'_>, source: &str) -> bool {
    let own = 0..flow.len() - 1;
    let has_type = |at| flow.instruction(at).modifiers().any(|it| is_type(it.text(source)));
    own.clone().all(|at| flow.is_known(at)) && own.clone().any(has_type)
}

/// The numbers of the outputs that have no value where the text ends, at least on some paths.
fn unwritten(
    function: &Function<'_>,
    flow: &Flow<'_>,
    names: &Names,
    operands: &AsmOperands<'_>,
) -> Vec<(usize, Written)> {
    let end = flow.statements().len() - 1;
    let declared = function.parameters().filter_map(|it| Some(it.name()?.name()));
    let meanings = declared.map(|name| names.use_of(name)?.meaning()).enumerate();
    let outputs: Vec<(usize, Meaning)> = meanings
        .filter(|(number, _)| {
            operands.asm().operands[*number].is_write_only() && !operands.is_tied(*number)
        })
        .filter_map(|(number, meaning)| Some((number, meaning?)))
        .collect();
    let places: Vec<_> = outputs.iter().map(|(_, meaning)| (end, *meaning)).collect();
    let written = flow.are_written_before(&places, |meaning| is_written_either_way(flow, meaning));
    let written = written.unwrap_or_default().into_iter().zip(outputs);
    let unwritten = written.filter(|(written, _)| *written != Written::Always);
    unwritten.map(|(written, (number, _))| (number, written)).collect()
}

/// Whether one guarded instruction writes a register if a predicate holds, and another one if the
/// predicate does not hold.
fn is_written_either_way(flow: &Flow<'_>, meaning: Meaning) -> bool {
    let mut guards: Set<(Meaning, bool)> = Set::default();
    flow.instructions_with(meaning).any(|at| {
        let accesses = flow.accesses(at);
        let writes = accesses.iter().any(|it| it.meaning == meaning && it.access.writes());
        let guard = flow.instruction(at).guard().filter(|_| writes);
        let predicate =
            guard.and_then(|guard| accesses.iter().find(|it| it.span == guard.name)).copied();
        guard.zip(predicate).is_some_and(|(guard, predicate)| {
            guards.insert((predicate.meaning, guard.negated));
            guards.contains(&(predicate.meaning, !guard.negated))
        })
    })
}

fn finding(name: &str, place: Span, written: Written) -> Diagnostic {
    let message = match written {
        Written::Never => format!("nothing writes the output `{name}`"),
        _ => format!("some path through the `asm` does not write the output `{name}`"),
    };
    Diagnostic::new(Code::AsmOutputUnwritten, place, message)
        .label("its value is arbitrary if nothing writes it")
        .help("`\"+r\"` declares an operand that keeps its value where nothing writes it")
}
