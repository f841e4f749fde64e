//! The PTX in the `asm` statements of another language.

use std::iter;

use super::notebook::outside;
use super::{CheckOptions, Checker, Sink, Take, check_counted, is_wanted, sort};
use crate::check::Language;
use crate::diagnostic::{Applicability, Code, Diagnostic, Edit, Fix, Label, Severity, bounded};
use crate::embed::{
    self, Asm, AsmOperand, Convention, Host, Joined, SkipReason, Skipped, StringModule,
};
use crate::isa::Mnemonic;
use crate::lint::{AsmOperands, AsmSubject, DeclaredWords, KnownFacts, run_asm, run_asm_tree};
use crate::module::{Module, VideoStatement};
use crate::source::Span;
use crate::syntax::{
    Context, Handler, OperandClass, Problem, SymbolKind, Token, TokenKind, WantedStatement, read_in,
};

/// Checks the video instructions in a source of another language, except in notebooks. Calls
/// `count` for each instruction, and `take` with the findings of each `asm`, and of each module in
/// a string, in the order of the text.
pub(super) fn visit(
    source: &str,
    host: Host,
    options: &CheckOptions,
    mut count: impl FnMut(),
    take: Take<'_>,
) {
    let modules = embed::modules(source, host);
    let mut modules = modules.iter().peekable();
    let stated;
    let mut options = options;
    if options.ptx_version.is_none() {
        // Code that compiles for all targets has the PTX version that came with the newest target.
        let version = options.targets.iter().map(|target| target.since()).max();
        stated = options.clone().with_ptx_version(version);
        options = &stated;
    }
    let mut unread = unread(source, host, options).into_iter().peekable();
    let mut known = KnownFacts::default();
    let joined = options.headers.as_ref().filter(|_| host == Host::C);
    let joined = joined.and_then(|find| Joined::new(source, find));
    let registers = DeclaredWords::new(joined.as_ref().map_or(source, Joined::text));
    // Hands over findings. Findings on unread statements that stand before them go first.
    let mut hand = |found: Vec<Diagnostic>| {
        let first = found.first().map(|it| it.span);
        let before = iter::from_fn(|| unread.next_if(|it| Some(it.span) < first));
        let all = before.collect::<Vec<_>>().into_iter().chain(found).collect();
        take(all);
    };
    // Only the rules on the tree of an `asm` need those without video instructions.
    let on_tree = [Code::AsmOutputUnwritten, Code::MalformedStatement];
    let every = options.every_module && on_tree.iter().any(|it| options.rules.contains(*it));
    let initial = if every { None } else { Some(b'v') };
    for asm in embed::statements_with(source, joined.as_ref(), host, initial) {
        while let Some(module) = modules.next_if(|it| it.span.start < asm.span.start) {
            hand(check_module(module, source, options, &mut count));
        }
        let sink = &mut |_| count();
        hand(one(&asm, source, joined.as_ref(), &registers, options, &mut known, sink));
    }
    for module in modules {
        hand(check_module(module, source, options, &mut count));
    }
    take(unread.collect());
}

/// Reads the video instructions of an `asm` statement. Returns a module of the statement's text,
/// and the findings of [`check`](super::check) on the statement, placed in the source. Comments do
/// not suppress these findings; see [`unsuppressed`](super::unsuppressed).
///
/// ```
/// use vptx::analysis::parse_asm;
/// use vptx::check::Language;
/// use vptx::diagnostic::{Edit, apply};
/// use vptx::{CheckOptions, embed, rewrite};
///
/// let source = r#"asm("vmin2.s32.s32.s32 %0, %1, %2, %1;\n" : "=r"(d) : "r"(a), "r"(b));"#;
/// let asm = &embed::statements(source)[0];
/// let options = CheckOptions::default().with_language(Language::Cuda);
/// let (module, found) = parse_asm(asm, source, &options);
/// assert_eq!(found, []);
/// let (span, instruction) = module.instructions().next().unwrap();
/// assert_eq!(instruction.to_string(), "vmin2.s32.s32.s32 %0, %1, %2, %1;");
/// // Its place in the source, and a change of it there.
/// assert_eq!(asm.source_span(span).text(source), span.text(&asm.text));
/// let (place, new) = asm.source_edit(source, span, "min.s16x2 %0, %1, %2;").unwrap();
/// let changed = apply(source, &[Edit::replace(place, new)])?;
/// assert!(changed.starts_with(r#"asm("min.s16x2 %0, %1, %2;\n" : "=r""#));
/// # Ok::<(), vptx::diagnostic::EditError>(())
/// ```
pub fn parse_asm<'a>(
    asm: &'a Asm<'_>,
    source: &str,
    options: &CheckOptions,
) -> (Module<'a>, Vec<Diagnostic>) {
    let mut statements = Vec::new();
    let mut known = KnownFacts::default();
    let registers = DeclaredWords::new(source);
    let mut found =
        one(asm, source, None, &registers, options, &mut known, &mut |it| statements.push(it));
    found.retain(|found| options.rules.contains(found.code));
    let module =
        Module { source: &asm.text, version: None, target: None, statements, errors: Vec::new() };
    (module, found)
}

/// Checks the video instructions of one `asm` statement. The findings are placed in the source.
fn one(
    asm: &Asm<'_>,
    source: &str,
    headers: Option<&Joined>,
    registers: &DeclaredWords<'_>,
    options: &CheckOptions,
    known: &mut KnownFacts,
    sink: Sink<'_>,
) -> Vec<Diagnostic> {
    let mut context = Context::default();
    for (at, operand) in asm.operands.iter().enumerate() {
        context.declare(&operand.placeholder, kind(asm, operand), beyond(asm, at));
    }
    let checker = Checker::new(&asm.text, options, std::mem::take(known), sink);
    let (machine, operands) = (Machine::new(asm), AsmOperands::new(asm));
    let may_declare = &|name: &str, asm: Span| registers.may_declare(name, asm);
    let found = Vec::new();
    let statements = Vec::new();
    let mut checker =
        EmbeddedChecker { asm, machine, operands, may_declare, source, checker, found, statements };
    read_in(&asm.text, context, &mut checker);
    checker.checker.end();
    for found in checker.checker.diagnostics.iter_mut().filter(|it| it.code.is_cost()) {
        let limit = if options.targets.is_empty() {
            // The source may be built for targets that lack the replacement.
            Applicability::DisplayOnly
        } else if found.code == Code::UnfusedInstructions && may_share_register(asm) {
            Applicability::Unsafe
        } else {
            continue;
        };
        found.fixes.iter_mut().for_each(|fix| fix.applicability = limit);
    }
    let EmbeddedChecker { operands, statements, found, .. } = &checker;
    // If the `asm` misuses its operands, its text does not show the intended data flow.
    if found.is_empty()
        && checker.checker.diagnostics.iter().all(|it| it.severity < Severity::Error)
    {
        let of_tree = run_asm_tree(options, operands, statements, |at| beyond(asm, at));
        checker.checker.diagnostics.extend(of_tree);
    }
    let mut diagnostics = checker.found;
    if asm.is_expanded() {
        let all = Span::new(0, asm.text.len() as u32);
        for found in &mut diagnostics {
            found.fixes.clear();
            found.labels.extend(defined(asm, source, headers, all));
        }
    }
    let Checker { diagnostics: found, memo, .. } = checker.checker;
    *known = memo.into_known();
    diagnostics.extend(found.into_iter().map(|found| in_source(asm, source, headers, found)));
    sort(&mut diagnostics);
    if asm.is_expanded() {
        // A macro may use an argument several times, with the same finding each time.
        let what = |it: &Diagnostic| (it.span, it.code, it.message.clone());
        diagnostics.dedup_by_key(|it| what(it));
    }
    diagnostics
}

/// Checks a module in a string: its findings are placed in the source. Calls `count` for each
/// statement.
fn check_module(
    module: &StringModule,
    source: &str,
    options: &CheckOptions,
    count: &mut impl FnMut(),
) -> Vec<Diagnostic> {
    let options = options.clone().with_language(Language::Ptx);
    let (statements, found) = check_counted(module.layer.text(), &options);
    (0..statements).for_each(|_| count());
    let moved = found.into_iter().map(|found| outside(&module.layer, source, found));
    let mut found: Vec<Diagnostic> = moved.collect();
    sort(&mut found);
    found
}

/// A span that stands for the declaration of an operand. It lies after the end of the text.
fn beyond(asm: &Asm<'_>, operand: usize) -> Span {
    let at = (asm.text.len() + operand) as u32;
    Span::new(at, at + 1)
}

/// Whether an output and an input with one value at the start may have one register. An early clobber
/// (`&`) excludes that. Otherwise, the order of reading and writing matters.
fn may_share_register(asm: &Asm<'_>) -> bool {
    let is_late = |constraint: &str| match asm.convention() {
        Convention::Rust => constraint.contains("late"),
        Convention::C | Convention::Llvm | Convention::Mlir => !constraint.contains('&'),
    };
    asm.operands.iter().any(|it| it.output && is_late(&it.constraint))
}

/// The kind of symbol that an operand is, by its constraint.
fn kind<'a>(asm: &'a Asm<'_>, operand: &'a AsmOperand<'_>) -> SymbolKind<'a> {
    let constraint = operand.constraint.as_str();
    if operand.is_number() {
        return SymbolKind::Operand(OperandClass::Constant(constraint));
    }
    let register = |ty| SymbolKind::Operand(OperandClass::Register(ty, constraint));
    if asm.convention() == Convention::Rust {
        return match constraint.split(['(', ')']).nth(1) {
            Some("reg16") => register(".b16"),
            Some("reg64") => register(".b64"),
            Some("reg128") => register(".b128"),
            _ => SymbolKind::Register(".b32"),
        };
    }
    let class = constraint.trim_start_matches(['=', '+', '&', '%']);
    // A number as the constraint: the operand shares the register of the operand with this number.
    if let Some(other) = class.parse::<usize>().ok().and_then(|at| asm.operands.get(at))
        && !other.constraint.ends_with(|c: char| c.is_ascii_digit())
    {
        return kind(asm, other);
    }
    match class {
        "h" => register(".b16"),
        "l" => register(".b64"),
        "q" => register(".b128"),
        "f" => register(".f32"),
        "d" => register(".f64"),
        // A 32-bit word, or an unknown constraint.
        _ => SymbolKind::Register(".b32"),
    }
}

/// The findings on `asm` statements and strings that are not read, in order. None if the rule is
/// off.
fn unread(source: &str, host: Host, options: &CheckOptions) -> Vec<Diagnostic> {
    if !options.rules.contains(Code::UnreadAsm) {
        return Vec::new();
    }
    let skipped = embed::unread(source, host, options.headers.as_ref()).into_iter();
    let found = skipped.map(|Skipped { span, reason }| {
        let what = if reason == SkipReason::Module { "a string" } else { "an `asm` statement" };
        let message = format!("not read: {what} {}", reason.text());
        let mut found = Diagnostic::new(Code::UnreadAsm, span, message);
        found.statement = Some(span);
        found
    });
    found.collect()
}

struct EmbeddedChecker<'t, 'o> {
    asm: &'t Asm<'t>,
    machine: Machine<'t>,
    operands: AsmOperands<'t>,
    /// See [`AsmSubject`].
    may_declare: &'o dyn Fn(&str, Span) -> bool,
    source: &'t str,
    checker: Checker<'t, 'o>,
    /// The findings on operands, placed in the source.
    found: Vec<Diagnostic>,
    statements: Vec<VideoStatement>,
}

impl<'t> Handler<'t> for EmbeddedChecker<'t, '_> {
    const INITIAL: u8 = b'v';

    fn wants(&self, opcode: &str) -> bool {
        is_wanted(opcode)
    }

    fn statement(&mut self, statement: WantedStatement<'_>, context: &Context<'t>) {
        if !self.machine.is_ptx(statement.tokens, |word| self.operands.get(word).is_some()) {
            return;
        }
        let before = self.checker.diagnostics.len();
        let (span, instruction, declared) = self.checker.check(&statement, context);
        let is_unknown = self.asm.unknown_operands_in(span).next().is_some();
        if is_unknown {
            // A statement with unknown operands has an error, so its cost does not matter.
            let found = self.checker.diagnostics.split_off(before);
            let found =
                found.into_iter().filter(|diagnostic| diagnostic.code != Code::EmulatedInstruction);
            self.checker.diagnostics.extend(found);
        }
        let subject = AsmSubject {
            source: self.source,
            operands: &self.operands,
            declares_registers: self.machine.declares_registers,
            statement: span,
            tokens: statement.tokens,
            context,
            may_declare: self.may_declare,
            raw: statement.parsed.as_ref().ok(),
            legal: statement.parsed.as_ref().ok().zip(instruction.as_ref()),
        };
        run_asm(&subject, &mut self.found);
        // Regions are of registers, and tell them apart by their names.
        let is_constant =
            |token: &Token| self.operands.is_constant(token.span().text(&self.asm.text));
        let is_alone =
            is_unknown || self.operands.has_ties() || statement.tokens.iter().any(is_constant);
        let (function, header) = (context.function, context.header);
        let statement = VideoStatement { span, function, header, instruction, declared };
        if is_alone {
            self.checker.end();
        } else {
            self.checker.wait(&statement);
        }
        self.statements.push(statement.clone());
        (self.checker.sink)(statement);
    }

    // Such problems are not reported: blocks may be opened in one `asm` and closed in another, and
    // other instructions are not judged.
    fn problem(&mut self, _: Problem) {}
}

/// The label at the definition of the macro that a part of an `asm` text comes from. If a header
/// defines the macro, the label is at the statement and names the header.
fn defined(asm: &Asm<'_>, source: &str, headers: Option<&Joined>, span: Span) -> Option<Label> {
    let (span, name) = asm.definition(span)?;
    let name_text = name.text(headers.map_or(source, Joined::text));
    Some(match headers.and_then(|it| it.place(name.start)) {
        None => {
            Label { span, text: bounded(format!("made from this, in the macro `{name_text}`")) }
        }
        Some((path, line)) => {
            let path = path.display();
            let text = format!("made by the macro `{name_text}` of {path}:{line}");
            Label { span: asm.span, text: bounded(text) }
        }
    })
}

/// Tells the PTX in the text of an `asm` from instructions of another machine.
pub(crate) struct Machine<'a> {
    asm: &'a Asm<'a>,
    /// A text that declares registers is PTX, whatever their names.
    declares_registers: bool,
}

impl<'a> Machine<'a> {
    pub(crate) fn new(asm: &'a Asm<'a>) -> Machine<'a> {
        Machine { asm, declares_registers: asm.text.contains(".reg") }
    }

    /// Whether a statement that may be a video instruction is PTX. Other machines have
    /// instructions with such names: NEON has `vmin.u32 q0, q0, q1`, AVX has `vaddps`.
    pub(crate) fn is_ptx(&self, tokens: &[Token], is_operand: impl Fn(&str) -> bool) -> bool {
        let text = |token: &Token| token.span().text(&self.asm.text);
        let words = tokens.iter().skip_while(|token| !is_wanted(text(token)));
        let Some(opcode) = words.clone().next().map(text) else {
            // The reader wants this statement for its types, not for its opcode.
            return true;
        };
        let modifiers = words.skip(1).take_while(|token| token.kind() == TokenKind::Dot);
        let types = modifiers
            .filter(|token| {
                let ty =
                    text(token).trim_start_matches(['.', 'u', 's', 'b', 'f', 'U', 'S', 'B', 'F']);
                matches!(ty, "8" | "16" | "32" | "64")
            })
            .count();
        if types > 1 {
            return true;
        }
        // With fewer types, it must name an operand of the `asm`, and end as PTX does.
        let complete = tokens.last().is_some_and(|last| last.is(b';'));
        let names_operand = |token: &Token| {
            is_operand(text(token))
                || self.asm.unknown_operands_in(token.span()).any(|(_, span)| span == token.span())
        };
        complete
            && Mnemonic::from_text(&opcode.to_ascii_lowercase()).is_some()
            && tokens.iter().any(names_operand)
            && !self.is_foreign(tokens, is_operand)
    }

    /// Whether a statement has something of another machine: a register such as `q0` or `%xmm1`,
    /// a modifier such as `.vx` of RISC-V, or a `#` before a number.
    pub(crate) fn is_foreign(&self, tokens: &[Token], is_operand: impl Fn(&str) -> bool) -> bool {
        const MODIFIERS: [&str; 8] = [".vv", ".vx", ".vi", ".vvm", ".vxm", ".vim", ".wv", ".wx"];
        const REGISTERS: [&str; 8] = ["q", "d", "s", "v", "vr", "xmm", "ymm", "zmm"];
        let is_register = |word: &str| {
            let name = word.trim_start_matches(['%', '$']);
            let kind = name.trim_end_matches(|c: char| c.is_ascii_digit());
            REGISTERS.contains(&kind) && name[kind.len()..].parse().is_ok_and(|it: u8| it < 64)
        };
        let text = |token: &Token| token.span().text(&self.asm.text);
        let mut before = "";
        let foreign = |token: &Token| {
            let (word, dot) = (text(token), std::mem::replace(&mut before, text(token)) == ".");
            match token.kind() {
                TokenKind::Dot => MODIFIERS.contains(&word),
                // In `. s32`, the word is a modifier.
                TokenKind::Ident => !dot && is_register(word) && !is_operand(word),
                _ => word == "#",
            }
        };
        !self.declares_registers && tokens.iter().any(foreign)
    }
}

/// Moves a finding from the text of an `asm` to the source.
fn in_source(
    asm: &Asm<'_>,
    source: &str,
    headers: Option<&Joined>,
    found: Diagnostic,
) -> Diagnostic {
    let place = |span: Span| match (span.start as usize).checked_sub(asm.text.len()) {
        Some(operand) if !span.is_empty() => asm.operands[operand].span,
        _ => asm.source_span(span),
    };
    // An operand's name in the source can be longer than its number, so the length is limited
    // again.
    let spelled = |text: &str| bounded(asm.spelled(text));
    let fix = |fix: Fix| {
        let edits = fix.edits.iter().map(|edit| {
            let in_literals = |span: Span| asm.source_edit(source, span, &edit.replacement);
            let (span, replacement) = in_literals(edit.span).or_else(|| {
                // Blanks around what is removed may stand in other literals.
                let removed = edit.span.start as usize..edit.span.end as usize;
                let removed = asm.text.get(removed).filter(|_| edit.replacement.is_empty())?;
                let word = removed.trim();
                let start = edit.span.end - removed.trim_start().len() as u32;
                in_literals(Span::new(start, start + word.len() as u32))
                    .filter(|_| !word.is_empty())
            })?;
            Some(Edit::replace(span, replacement))
        });
        let title = spelled(&fix.title);
        Some(Fix { title, applicability: fix.applicability, edits: edits.collect::<Option<_>>()? })
    };
    let label = |label: Label| Label { span: place(label.span), text: spelled(&label.text) };
    let is_text = (found.span.start as usize) < asm.text.len();
    let definition = is_text.then(|| defined(asm, source, headers, found.span)).flatten();
    Diagnostic {
        code: found.code,
        severity: found.severity,
        span: place(found.span),
        message: spelled(&found.message),
        label: spelled(&found.label),
        help: found.help.map(|help| spelled(&help)),
        labels: found.labels.into_iter().map(label).chain(definition).collect(),
        fixes: found.fixes.into_iter().filter_map(fix).collect(),
        statement: Some(asm.span),
    }
}
