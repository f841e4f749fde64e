//! The rules for `asm` statements: on how instructions use the operands, and on the whole text.

use std::cell::OnceCell;

use super::structure::{CONSTANTS, ModuleSubject, run_on_function};
use super::{
    asm_input_written, asm_output_read, asm_output_unwritten, asm_undeclared, malformed_operand,
    malformed_statement, missing_asm_operand, unknown_word,
};
use crate::check::CheckOptions;
use crate::diagnostic::{Code, Diagnostic};
use crate::embed::{Asm, AsmOperand, Convention};
use crate::flow::{Flow, is_known};
use crate::hash::{Map, Set};
use crate::module::{VideoStatement, is_type};
use crate::names::Names;
use crate::source::Span;
use crate::syntax::lexer::word_end;
use crate::syntax::{self, Context, Function, RawInstruction, StatementKind, Token};
use crate::video::Instruction;

/// A video instruction in an `asm` statement.
pub(crate) struct AsmSubject<'a, 't> {
    /// The source around the `asm`.
    pub(crate) source: &'a str,
    pub(crate) operands: &'a AsmOperands<'t>,
    /// Whether the text of the `asm` declares registers.
    pub(crate) declares_registers: bool,
    /// The place of the instruction in the text of the `asm`.
    pub(crate) statement: Span,
    pub(crate) tokens: &'a [Token],
    /// The declarations that the instruction sees.
    pub(crate) context: &'a Context<'t>,
    /// Whether something outside of an `asm` may declare a register.
    pub(crate) may_declare: &'a dyn Fn(&str, Span) -> bool,
    /// The raw tree of the instruction, if it can be read.
    pub(crate) raw: Option<&'a RawInstruction>,
    /// The raw tree and the instruction, if the instruction is legal.
    pub(crate) legal: Option<(&'a RawInstruction, &'a Instruction)>,
}

impl<'t> AsmSubject<'_, 't> {
    pub(super) fn asm(&self) -> &'t Asm<'t> {
        self.operands.asm
    }

    /// The name of an operand as the template spells it.
    pub(super) fn spelled(&self, name: &str) -> String {
        self.asm().spelled(name)
    }

    /// Whether a word at a place is an operand, is declared, or refers to an operand that the `asm`
    /// lacks.
    pub(super) fn is_known(&self, word: &str, place: Span) -> bool {
        self.operands.get(word).is_some()
            || self.context.resolve(word).is_some()
            || self.asm().unknown_operands_in(place).next().is_some()
    }

    /// The place in the source for a place in the text of the `asm`.
    pub(super) fn place(&self, span: Span) -> Span {
        self.asm().source_span(span)
    }
}

/// Finds what breaks a rule, and places the findings in the source.
type Rule = fn(&AsmSubject<'_, '_>, &mut Vec<Diagnostic>);

const RULES: [Rule; 4] = [
    missing_asm_operand::find,
    asm_output_read::find,
    asm_input_written::find,
    asm_undeclared::find,
];

/// The findings on an instruction in an `asm`, placed in the source.
pub(crate) fn run_asm(subject: &AsmSubject<'_, '_>, found: &mut Vec<Diagnostic>) {
    let before = found.len();
    for rule in RULES {
        rule(subject, found);
    }
    for found in &mut found[before..] {
        found.statement = Some(subject.asm().span);
    }
}

/// The findings on the syntax of an `asm`. If it has no errors, the findings on its video
/// instructions, and on the paths through it. Each is placed in the text of the `asm`; one on an
/// operand, at `place_of_operand`.
pub(crate) fn run_asm_tree(
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
    let (Some(function), None) = (functions.next(), functions.next()) else {
        return Vec::new();
    };
    let start = head.len() as u32;
    let moved = |span: Span| span.shifted(start);
    let statements: Vec<VideoStatement> =
        statements.iter().map(|it| VideoStatement { span: moved(it.span), ..it.clone() }).collect();
    let in_asm = |mut found: Vec<Diagnostic>| {
        for found in &mut found {
            found.each_span(|span| Span::new(span.start - start, span.end - start));
        }
        found
    };
    if !tree.errors().is_empty() {
        if !rules.contains(Code::MalformedStatement) || !has_video && !is_ptx(&function) {
            return Vec::new();
        }
        let is_constant = |word: &str| operands.is_constant(word);
        let own = Span::new(start, start + asm.text.len() as u32);
        return in_asm(malformed_statement::find_in_asm(&tree, own, &statements, is_constant));
    }
    // A brace of the text may end the function.
    let is_whole = function.statement().descendants().next_back().is_some_and(|last| {
        matches!(last.kind(), StatementKind::Instruction(it) if it.mnemonic().text(&text) == "vptx_reads")
    });
    if !is_whole {
        return Vec::new();
    }
    let names = Names::of(&tree);
    let subject =
        ModuleSubject { tree: &tree, names: &names, statements: &statements, is_part: true };
    let mut found = Vec::new();
    if !has_video && !is_ptx(&function) {
        return found;
    }
    if rules.contains(Code::MalformedStatement) {
        malformed_statement::find_indexed(&subject, &mut found);
        malformed_operand::find(&subject, &mut found);
    }
    if CONSTANTS.iter().any(|code| rules.contains(*code)) {
        malformed_statement::find_constants(&subject, &mut found);
        found.retain(|it| rules.contains(it.code));
    }
    if rules.contains(Code::UnknownWord) {
        unknown_word::find(&subject, &mut found);
        // Not `vptx_reads`.
        found.retain(|it| it.span.end <= start + asm.text.len() as u32);
    }
    // The text does not show the intended data flow.
    if !found.is_empty() {
        return in_asm(found);
    }
    let Some(flow) = Flow::of(&function, &names) else { return found };
    run_on_function(rules, &subject, &flow, &statements, &mut found);
    let mut found = in_asm(found);
    if rules.contains(Code::AsmOutputUnwritten) && !flow.is_opaque() {
        found.extend(asm_output_unwritten::find(
            &function,
            &flow,
            &names,
            operands,
            place_of_operand,
        ));
    }
    found
}

/// Whether the text of an `asm` without video instructions is PTX. Other machines have `mov` and
/// `add`, too, but not with the types of PTX. The last instruction of `function` is not in the text.
fn is_ptx(function: &Function<'_>) -> bool {
    let statement = function.statement();
    let source = statement.tree().source();
    let instructions = statement.descendants().rev().filter_map(|it| match it.kind() {
        StatementKind::Instruction(it) => Some(it),
        _ => None,
    });
    let mut has_type = false;
    let all_known = instructions.skip(1).all(|it| {
        has_type |= it.modifiers().any(|it| is_type(it.text(source)));
        is_known(source, &it)
    });
    all_known && has_type
}

/// The operands of an `asm`, found by name.
pub(crate) struct AsmOperands<'t> {
    asm: &'t Asm<'t>,
    index: OnceCell<Index<'t>>,
}

/// Facts that all instructions of an `asm` need, found once.
struct Index<'t> {
    /// The number of the operand of each placeholder.
    operands: Map<&'t str, usize>,
    /// The constraints. A number among them ties an input to the output with this number.
    constraints: Set<&'t str>,
    /// Where each word that may be a placeholder stands first.
    mentioned: Map<&'t str, u32>,
}

impl<'t> AsmOperands<'t> {
    pub(crate) fn new(asm: &'t Asm<'t>) -> AsmOperands<'t> {
        AsmOperands { asm, index: OnceCell::new() }
    }

    pub(super) fn asm(&self) -> &'t Asm<'t> {
        self.asm
    }

    /// The operand of a placeholder, and its number.
    pub(crate) fn get(&self, placeholder: &str) -> Option<(usize, &AsmOperand<'t>)> {
        let number = *self.index().operands.get(placeholder)?;
        Some((number, &self.asm.operands[number]))
    }

    /// Whether a word stands for an operand that is a constant.
    pub(crate) fn is_constant(&self, word: &str) -> bool {
        self.get(word).is_some_and(|(_, operand)| operand.is_number())
    }

    /// Whether an input shares the register of an output.
    pub(super) fn is_tied(&self, output: usize) -> bool {
        self.index().constraints.contains(&*output.to_string())
    }

    /// Whether some input shares the register of an output, so that two names mean one register.
    pub(crate) fn has_ties(&self) -> bool {
        let names_output = |it: &&str| it.starts_with(|c: char| c == '[' || c.is_ascii_digit());
        self.index().constraints.iter().any(names_output)
    }

    /// Whether a placeholder stands in the text before an offset.
    pub(super) fn is_mentioned_before(&self, placeholder: &str, offset: u32) -> bool {
        self.index().mentioned.get(placeholder).is_some_and(|&at| at < offset)
    }

    fn index(&self) -> &Index<'t> {
        self.index.get_or_init(|| Index::new(self.asm))
    }
}

impl<'t> Index<'t> {
    fn new(asm: &'t Asm<'t>) -> Index<'t> {
        let mut operands = Map::default();
        for (at, operand) in asm.operands.iter().enumerate() {
            operands.entry(operand.placeholder.as_str()).or_insert(at);
        }
        let constraints = asm.operands.iter().map(|it| it.constraint.as_str()).collect();
        let mut mentioned = Map::default();
        let sigil = match asm.convention() {
            Convention::Llvm | Convention::Mlir => b'$',
            Convention::C | Convention::Rust => b'%',
        };
        for at in memchr::memchr_iter(sigil, asm.text.as_bytes()) {
            let word = &asm.text[at..word_end(asm.text.as_bytes(), at + 1)];
            mentioned.entry(word).or_insert(at as u32);
        }
        Index { operands, constraints, mentioned }
    }
}
