//! What an `asm` statement computes: variables, and the instructions that read and write them.

use super::Refusal;
use super::expression::is_part;
use crate::analysis::Machine;
use crate::backend::c::Header;
use crate::check::{CheckOptions, check_instruction, is_wanted};
use crate::diagnostic::{RuleSet, Severity};
use crate::embed::{self, Asm, Host, Piece};
use crate::hash::Map;
use crate::ir::Input;
use crate::source::Span;
use crate::syntax::{
    Context, Declaration, DirectiveKind, Error, ErrorKind, OperandClass, Statement, StatementKind,
    SymbolKind, Token, TokenKind, Tree, WantedStatement, parse, parse_instruction,
};
use crate::video::{Instruction, Register, numbered};

/// The largest number of operands, and of instructions, of a statement that is replaced. Compilers
/// accept at most 30 operands.
const MOST: usize = 256;

/// An `asm` statement and the tree of its PTX.
pub(super) struct Subject<'a> {
    asm: &'a Asm<'a>,
    machine: Machine<'a>,
    tree: Tree<'a>,
}

impl<'a> Subject<'a> {
    pub(super) fn new(asm: &'a Asm<'a>) -> Subject<'a> {
        Subject { asm, machine: Machine::new(asm), tree: parse(&asm.text) }
    }

    fn text(&self, span: Span) -> &'a str {
        span.text(&self.asm.text)
    }

    /// The statements of the PTX, with declarations and with the statements inside of blocks.
    fn statements(&self) -> impl Iterator<Item = Statement<'_>> {
        self.tree.all_statements().filter(|statement| {
            let is_structure =
                matches!(statement.kind(), StatementKind::Block(_) | StatementKind::Empty);
            !is_structure && !statement.tokens()[0].is(b'}')
        })
    }

    fn is_operand(&self, word: &str) -> bool {
        self.asm.operands.iter().take(MOST).any(|it| it.placeholder == word)
    }

    fn is_video(&self, statement: Statement<'_>) -> bool {
        opcode(statement).is_some_and(|opcode| is_wanted(self.text(opcode)))
            && self.machine.is_ptx(statement.tokens(), |word| self.is_operand(word))
    }

    /// Whether it has a video instruction.
    pub(super) fn has_video(&self) -> bool {
        self.statements().any(|statement| self.is_video(statement))
    }

    /// Whether it has a statement that looks like PTX: one with a `;`, and with a type or an opcode
    /// of PTX that no other assembler has, or a `.pragma`.
    pub(super) fn is_ptx(&self) -> bool {
        let is_type = |token: &Token| {
            token.kind() == TokenKind::Dot && {
                let text = self.text(token.span());
                let of_one = ["x2", "x4", "x8"].iter().find_map(|count| text.strip_suffix(count));
                of_one.unwrap_or(text).strip_prefix('.').is_some_and(|ty| TYPES.contains(&ty))
            }
        };
        self.statements().any(|statement| {
            let tokens = statement.tokens();
            let is_own = match statement.kind() {
                StatementKind::Instruction(it) => {
                    tokens.iter().any(is_type)
                        || self.is_of_ptx_only(it.mnemonic().to(statement.span()))
                }
                StatementKind::Declaration(_) => tokens.iter().any(is_type),
                StatementKind::Directive(it) => it.kind() == DirectiveKind::Pragma,
                _ => false,
            };
            is_own
                && tokens.last().is_some_and(|last| last.is(b';'))
                && !self.machine.is_foreign(tokens, |word| self.is_operand(word))
        })
    }

    /// Whether only PTX has the instruction, whose opcode is at the start of the span.
    fn is_of_ptx_only(&self, instruction: Span) -> bool {
        let text = self.text(instruction);
        let starts = |word: &str| {
            let rest = text.strip_prefix(word);
            rest.is_some_and(|rest| rest.starts_with(['.', ' ', '\t', ';']))
        };
        // `call (r), f, (a);` or `call f, (a);`
        let calls = |rest: &str| {
            let is_list = |it: &str| it.trim_start().starts_with('(');
            let of_one = rest.split_once(',').is_some_and(|(name, last)| {
                name.starts_with([' ', '\t'])
                    && name.split_whitespace().count() == 1
                    && is_list(last)
            });
            is_list(rest) || of_one
        };
        OF_PTX_ONLY.split(' ').any(starts) || text.strip_prefix("call").is_some_and(calls)
    }

    /// Whether each brace has a partner.
    fn has_pairs(&self) -> bool {
        let is_brace =
            |it: &Error| matches!(it.kind, ErrorKind::StrayBrace | ErrorKind::UnclosedBrace);
        !self.tree.errors().iter().any(is_brace)
    }

    /// Whether a statement has an error.
    fn has_error(&self, statement: Statement<'_>) -> bool {
        self.tree.errors().iter().any(|it| it.span.is_in(&[statement.span()]))
    }
}

/// Types of PTX; those of several values are `.f16x2` and the like.
const TYPES: [&str; 28] = [
    "b8", "b16", "b32", "b64", "b128", "u4", "u8", "u16", "u32", "u64", "s4", "s8", "s16", "s32",
    "s64", "f16", "f32", "f64", "bf16", "tf32", "e2m1", "e2m3", "e3m2", "e4m3", "e5m2", "ue4m3",
    "ue8m0", "pred",
];

/// The starts of opcodes of PTX that may stand without a type, and that other assemblers lack. Of
/// them, only that of PowerPC has `trap`.
const OF_PTX_ONLY: &str = "applypriority bar barrier.arrive barrier.cluster barrier.cta \
    barrier.red barrier.sync brkpt call.uni clusterlaunchcontrol cp.async cp.reduce discard elect \
    exit fence.acq_rel fence.acquire fence.mbarrier_init fence.proxy fence.release fence.sc \
    griddepcontrol isspacep mapa mbarrier membar.cta membar.gl membar.proxy membar.sys multimem \
    pmevent prefetch.L1 prefetch.L2 prefetch.global prefetch.local prefetch.tensormap prefetchu \
    setmaxnreg st.bulk tcgen05 tensormap trap wgmma wmma";

/// The opcode of an instruction.
fn opcode(statement: Statement<'_>) -> Option<Span> {
    match statement.kind() {
        StatementKind::Instruction(instruction) => Some(instruction.mnemonic()),
        _ => None,
    }
}

/// A variable: an operand, or a register that the PTX declares.
#[derive(Debug)]
pub(super) struct Variable {
    /// The name in the PTX, without the characters that C does not allow.
    pub(super) name: String,
    /// The number of the operand that gives it its first value.
    pub(super) initial: Option<usize>,
    /// The number of the output that takes its last value.
    pub(super) output: Option<usize>,
}

/// A call of a C function in the place of an instruction.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) instruction: Instruction,
    /// The number of the variable that it writes.
    pub(super) destination: usize,
    /// The numbers of the variables that its function takes.
    pub(super) arguments: Vec<usize>,
}

/// What a statement computes.
#[derive(Debug)]
pub(super) struct Block {
    pub(super) variables: Vec<Variable>,
    pub(super) calls: Vec<Call>,
    /// The number of the variable of each operand.
    pub(super) of_operand: Vec<usize>,
}

impl Block {
    /// Reads a statement. Refuses it if calls of functions cannot express all of it.
    pub(super) fn read(
        source: &str,
        asm: &Asm<'_>,
        subject: &Subject<'_>,
        header: &Header,
    ) -> Result<Block, Refusal> {
        only_video(asm, subject)?;
        only_words(source, asm)?;
        if asm.operands.is_empty() {
            return Err(Refusal::new("the `asm` has no operands"));
        }
        if asm.operands.len() > MOST || subject.statements().nth(MOST).is_some() {
            return Err(Refusal::new(format!(
                "the `asm` has more than {MOST} operands or instructions"
            )));
        }
        if let Some((name, span)) = asm.unknown_operands().next() {
            let reason = format!("the `asm` has no operand `{name}`");
            return Err(Refusal::at(asm.source_span(span), reason));
        }
        let (variables, of_operand) = operands(asm)?;
        let block = Block { variables, calls: Vec::new(), of_operand };
        let has_value = block.variables.iter().map(|it| it.initial.is_some()).collect();
        let mut reader = Reader { asm, header, block, locals: Map::default(), has_value };
        reader.run(subject)?;
        reader.outputs_have_values()?;
        reader.block.drop_unused_calls();
        Ok(reader.block)
    }

    /// Removes calls whose results nothing uses: compilers warn of them.
    fn drop_unused_calls(&mut self) {
        let mut is_used: Vec<bool> = self.variables.iter().map(|it| it.output.is_some()).collect();
        let mut kept = Vec::with_capacity(self.calls.len());
        for call in self.calls.drain(..).rev() {
            if std::mem::replace(&mut is_used[call.destination], false) {
                call.arguments.iter().for_each(|&argument| is_used[argument] = true);
                kept.push(call);
            }
        }
        kept.reverse();
        self.calls = kept;
    }
}

/// Refuses labels, guards, all instructions but video instructions, and a text without these.
fn only_video(asm: &Asm<'_>, subject: &Subject<'_>) -> Result<(), Refusal> {
    let refusal = |span: Span, reason: String| Err(Refusal::at(asm.source_span(span), reason));
    let mut has_video = false;
    for statement in subject.statements() {
        let is_video = subject.is_video(statement);
        has_video |= is_video;
        if let Some(other) = opcode(statement).filter(|_| !is_video) {
            let name = subject.text(other);
            return refusal(other, format!("`{name}` is not a video instruction"));
        }
        let is_cut = |kind| matches!(kind, TokenKind::UnclosedComment | TokenKind::UnclosedString);
        if let Some(cut) = statement.tokens().iter().find(|token| is_cut(token.kind())) {
            return refusal(cut.span(), "a string or comment in the PTX has no end".into());
        }
        match statement.kind() {
            StatementKind::Declaration(it) if it.space() == Some(".reg") => {}
            StatementKind::Label(_) => {}
            _ if is_video => {}
            _ => {
                let first = statement.tokens()[0].span();
                let name = subject.text(first);
                return refusal(first, format!("`{name}` is not a video instruction"));
            }
        }
    }
    // The instruction that sets a guard is no video instruction: the loop above refuses it first.
    for statement in subject.statements() {
        let what = match statement.kind() {
            StatementKind::Instruction(it) if it.guard().is_some() => {
                "the instruction has a guard predicate"
            }
            StatementKind::Label(_) => "the `asm` has a label",
            _ => continue,
        };
        return refusal(statement.tokens()[0].span(), what.into());
    }
    if has_video { Ok(()) } else { Err(Refusal::new("the `asm` has no video instruction")) }
}

/// Refuses `asm goto`, and clobbers other than `cc`.
fn only_words(source: &str, asm: &Asm<'_>) -> Result<(), Refusal> {
    let head = asm.span.text(source).split('(').next().unwrap_or_default();
    if head.contains("goto") {
        return Err(Refusal::new("`asm goto` can jump"));
    }
    // The call may stand in a block that is a loop itself.
    let leaves = |span: &Span| {
        embed::pieces(span.text(source)).any(|piece| {
            let Piece::Code(code) = piece else { return false };
            let mut words = code.split(|c: char| !is_part(c));
            words.any(|word| matches!(word, "break" | "continue"))
        })
    };
    if let Some(span) = asm.operands.iter().filter_map(|it| it.expression).find(leaves) {
        return Err(Refusal::at(span, "the operand may leave a loop"));
    }
    if let Some(span) = asm.clobbers {
        let (text, mut list, mut at) = (span.text(source), String::new(), 0);
        for comment in embed::comments(text, Host::C) {
            list.push_str(&text[at..comment.start as usize]);
            at = comment.end as usize;
        }
        list.push_str(&text[at..]);
        let names = list.split(',').map(str::trim);
        let mut others = names.filter(|name| !matches!(*name, "" | "\"cc\""));
        if let Some(name) = others.next() {
            let reason = match name {
                "\"memory\"" => "the clobber `\"memory\"` orders accesses to memory".to_string(),
                _ => format!("a function call cannot replace the clobber `{name}`"),
            };
            return Err(Refusal::at(span, reason));
        }
    }
    Ok(())
}

/// The variables of operands, and for each operand the number of its variable. Refuses operands
/// that are neither 32-bit registers nor constants.
fn operands(asm: &Asm<'_>) -> Result<(Vec<Variable>, Vec<usize>), Refusal> {
    let mut variables: Vec<Variable> = Vec::new();
    let mut of_operand: Vec<usize> = Vec::new();
    for (at, operand) in asm.operands.iter().enumerate() {
        let constraint = operand.constraint.as_str();
        let refusal = |reason: String| Err(Refusal::at(operand.span, reason));
        if operand.expression.is_none() {
            return refusal("the operand has no expression".into());
        }
        let class = constraint.trim_start_matches(['=', '+', '&', '%']);
        let prefix = &constraint[..constraint.len() - class.len()];
        let is_right = match (operand.output, class) {
            (true, "r") => prefix.starts_with(['=', '+']),
            (false, "r") => matches!(prefix, "" | "%"),
            (false, "n" | "i") => prefix.is_empty(),
            (false, _) => prefix.is_empty() && class.parse::<usize>().is_ok(),
            (true, _) => false,
        };
        if !is_right {
            return refusal(format!("`\"{constraint}\"` is not a 32-bit register or a constant"));
        }
        let name = operand.name.map_or_else(|| at.to_string(), plain);
        if let Ok(tied) = class.parse::<usize>() {
            let is_output = asm.operands.get(tied).is_some_and(|it| it.output);
            let of_tied = of_operand.get(tied).copied().filter(|_| is_output);
            let Some(variable) = of_tied.filter(|&it| variables[it].initial.is_none()) else {
                return refusal(format!(
                    "`\"{constraint}\"` must name an output that has no initial value yet"
                ));
            };
            variables[variable].initial = Some(at);
            of_operand.push(variable);
            continue;
        }
        let has_value = !operand.output || prefix.starts_with('+');
        of_operand.push(variables.len());
        variables.push(Variable {
            name,
            initial: has_value.then_some(at),
            output: operand.output.then_some(at),
        });
    }
    Ok((variables, of_operand))
}

/// The part of a name that C allows.
fn plain(name: &str) -> String {
    name.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '_').collect()
}

/// Reads the statements of the PTX in order.
struct Reader<'a> {
    asm: &'a Asm<'a>,
    header: &'a Header,
    block: Block,
    /// The variables of registers, by the place of their declaration and their names.
    locals: Map<(u32, String), usize>,
    /// Which variables have a value so far.
    has_value: Vec<bool>,
}

impl<'a> Reader<'a> {
    fn run(&mut self, subject: &Subject<'a>) -> Result<(), Refusal> {
        let asm = self.asm;
        let mut context = Context::default();
        for (at, operand) in asm.operands.iter().enumerate() {
            let constraint = operand.constraint.as_str();
            let kind = match constraint {
                "n" | "i" => SymbolKind::Operand(OperandClass::Constant(constraint)),
                _ => SymbolKind::Register(".b32"),
            };
            // The place of an operand lies after the text.
            let beyond = Span::at((asm.text.len() + at) as u32);
            context.declare(&operand.placeholder, kind, beyond);
        }
        if !subject.has_pairs() {
            return Err(Refusal::new("a brace of the PTX has no counterpart"));
        }
        let mut open = Vec::new();
        for statement in subject.tree.all_statements() {
            while open.last().is_some_and(|block| Some(*block) != statement.parent()) {
                open.pop();
                context.close();
            }
            match statement.kind() {
                StatementKind::Block(_) => {
                    context.open(statement.span().start);
                    open.push(statement);
                }
                StatementKind::Empty => {}
                StatementKind::Declaration(declaration) => {
                    self.declaration(subject, statement, &declaration, &mut context)?;
                }
                _ => self.instruction(statement.tokens(), &mut context)?,
            }
        }
        Ok(())
    }

    /// Declares registers: `.reg .u32 a, b<4>;`
    fn declaration(
        &self,
        subject: &Subject<'a>,
        statement: Statement<'_>,
        declaration: &Declaration<'_>,
        context: &mut Context<'a>,
    ) -> Result<(), Refusal> {
        let refusal =
            |span: Span, reason: &str| Err(Refusal::at(self.asm.source_span(span), reason));
        let tokens = statement.tokens();
        let last = tokens[tokens.len() - 1];
        if !last.is(b';') {
            return refusal(last.span(), "the declaration has no `;`");
        }
        let [_, ty, more @ ..] = declaration.words() else {
            return refusal(tokens[0].span(), "the declaration is not complete");
        };
        let ty = match subject.text(ty.span()) {
            known @ (".u32" | ".s32" | ".b32") => known,
            other => {
                return refusal(ty.span(), &format!("the register is `{other}`, not of 32 bits"));
            }
        };
        let form = "the declaration is not of the form `.reg .b32 a, b<4>;`";
        if !more.is_empty() || subject.has_error(statement) {
            return refusal(last.span(), form);
        }
        let kind = SymbolKind::Register(ty);
        for name in declaration.names() {
            let (span, text) = (name.name(), subject.text(name.name()));
            match (name.tokens().len(), name.count()) {
                (1, None) => context.declare(text, kind, span),
                (4, Some(count)) => context.declare_range(text, count, kind, span),
                _ => return refusal(last.span(), form),
            }
        }
        Ok(())
    }

    fn instruction(&mut self, tokens: &[Token], context: &mut Context<'a>) -> Result<(), Refusal> {
        let asm = self.asm;
        let whole = tokens[0].span().to(tokens[tokens.len() - 1].span());
        let place = asm.source_span(whole);
        let parsed = parse_instruction(&asm.text, tokens);
        let statement = WantedStatement { tokens, parsed };
        let options = CheckOptions::default().with_rules(RuleSet::ERRORS);
        let mut found = Vec::new();
        context.settle();
        let (read, _) = check_instruction(&asm.text, &statement, context, &options, &mut found);
        let error = found.into_iter().find(|it| it.severity == Severity::Error);
        let instruction = match (read, error) {
            (Some(instruction), None) => instruction,
            (_, Some(error)) => {
                let message = asm.spelled(&error.message);
                let place = asm.source_span(error.span);
                return Err(Refusal::at(place, format!("{}: {message}", error.code)));
            }
            (None, None) => {
                return Err(Refusal::at(place, "an operand is an expression of a constant"));
            }
        };
        let parameters = self.header.parameters(&instruction);
        let sources = instruction.sources();
        let mut arguments = Vec::with_capacity(parameters.len());
        for (input, register) in Input::ALL.into_iter().zip(sources) {
            let (true, Some(register)) = (parameters.contains(&input), register) else { continue };
            let variable = self.variable(register, context, place)?;
            if !self.has_value[variable] {
                let name = asm.spelled(register.name());
                return Err(Refusal::at(place, format!("`{name}` is read before it is written")));
            }
            arguments.push(variable);
        }
        let register = instruction.destination();
        let destination = self.variable(register, context, place)?;
        let Variable { initial, output, .. } = self.block.variables[destination];
        if initial.is_some() && output.is_none() {
            let name = asm.spelled(register.name());
            return Err(Refusal::at(place, format!("`{name}` is written, but declared as input")));
        }
        self.has_value[destination] = true;
        self.block.calls.push(Call { instruction, destination, arguments });
        Ok(())
    }

    /// The number of the variable of a register.
    fn variable(
        &mut self,
        register: &Register,
        context: &Context<'_>,
        place: Span,
    ) -> Result<usize, Refusal> {
        let name = register.name();
        let Some(symbol) = context.resolve(name) else {
            let reason = format!("the `asm` does not declare `{}`", self.asm.spelled(name));
            return Err(Refusal::at(place, reason));
        };
        let at = symbol.span.start as usize;
        if let Some(operand) = at.checked_sub(self.asm.text.len()) {
            return Ok(self.block.of_operand[operand]);
        }
        // In a range of registers, `%r07` is `%r7`.
        let (base, number) = numbered(name);
        let is_range = symbol.span.text(&self.asm.text) != name;
        let own = if is_range { format!("{base}{number}") } else { name.to_string() };
        let next = self.block.variables.len();
        let variable = *self.locals.entry((symbol.span.start, own)).or_insert(next);
        if variable == next {
            let variable = Variable { name: plain(name), initial: None, output: None };
            self.block.variables.push(variable);
            self.has_value.push(false);
        }
        Ok(variable)
    }

    fn outputs_have_values(&self) -> Result<(), Refusal> {
        for (variable, has_value) in self.block.variables.iter().zip(&self.has_value) {
            if let (Some(output), false) = (variable.output, has_value) {
                let operand = &self.asm.operands[output];
                let name = self.asm.spelled(&operand.placeholder);
                return Err(Refusal::at(operand.span, format!("`{name}` is never written")));
            }
        }
        Ok(())
    }
}
