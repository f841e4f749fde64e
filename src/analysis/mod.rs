//! Whole texts, with the `asm` statements of CUDA sources, the comments that suppress findings, and
//! rounds of fixes.
//!
//! ```
//! use vptx::CheckOptions;
//! use vptx::analysis::fix;
//! use vptx::diagnostic::Applicability;
//!
//! let text = "vadd.sat.s32.s32.s32 d, a, b;";
//! let fixed = fix(text, &CheckOptions::default(), Applicability::Safe);
//! assert_eq!(fixed.text, "vadd.s32.s32.s32.sat d, a, b;");
//! assert!(fixed.left.is_empty());
//! ```

mod add;
mod embedded;
mod fix;
mod in_order;
mod notebook;
mod parse_instruction;
mod structure;
mod suppress;
mod waiting;

use thiserror::Error;

pub use add::add_ignores;
pub(crate) use add::add_new_ignores;
pub(crate) use add::ignoring;
pub(crate) use embedded::Machine;
pub use embedded::parse_asm;
pub use fix::{Fixed, choose_fix, fix};
pub(crate) use fix::{fix_new, offers};
pub(crate) use in_order::check_in_order;
pub use parse_instruction::ParseInstructionError;
use structure::Structure;
pub(crate) use suppress::Suppressions;
pub use suppress::unsuppressed;
use suppress::{MARK, suppress};
pub(crate) use suppress::{covered_lines, may_be_marked, split, turns_format};
use waiting::Waiting;

use crate::backend::ptx::gate;
use crate::check::{
    CheckOptions, Dialect, Language, check_instruction, is_wanted, problem_diagnostic,
    semicolon_after,
};
use crate::diagnostic::{Code, Diagnostic, Edit, Severity};
use crate::embed::{Host, may_have_ptx};
use crate::isa::{PtxVersion, Target};
use crate::lint::{self, KnownFacts, Memo, StatementContext, Subject};
use crate::module::{DeclaredTypes, Module, VideoStatement};
use crate::source::{MAX_LEN, Span, UNDECODABLE};
use crate::syntax::lexer::line_end;
use crate::syntax::listing::is_listing;
use crate::syntax::{
    Context, Handler, Problem, ProblemKind, Token, TokenKind, WantedStatement, lexer,
    parse_instruction, read, read_in, read_plainly, statement_tokens,
};
use crate::video::Instruction;

/// Checks a module, or a bare list of statements, and returns the findings in
/// the order of the text.
///
/// An instruction is checked against a version and a target only if the text or the options
/// name them. If the text names neither, undeclared names count as registers.
pub fn check(source: &str, options: &CheckOptions) -> Vec<Diagnostic> {
    check_counted(source, options).1
}

/// Like [`check`], with the number of statements that are, or were meant to be,
/// video instructions.
pub fn check_counted(source: &str, options: &CheckOptions) -> (usize, Vec<Diagnostic>) {
    // The number of findings is not limited.
    check_up_to(source, options, usize::MAX).unwrap_or_default()
}

/// Like [`check_counted`]. `None` if there are more findings than there is room for.
pub(crate) fn check_up_to(
    source: &str,
    options: &CheckOptions,
    room: usize,
) -> Option<(usize, Vec<Diagnostic>)> {
    let preview = Preview::of(source);
    let mut count = 0;
    let host = options.language.host();
    // Most files of these languages have no PTX, and are not judged.
    if host.is_some_and(|host| host != Host::C && !preview.is_marked && !may_have_ptx(source))
        && utf16(source).is_none()
    {
        return Some((0, Vec::new()));
    }
    if host == Some(Host::C) && is_wide_without_ptx(source) {
        return Some((0, Vec::new()));
    }
    if host == Some(Host::Notebook) && preview.unreadable.is_none() {
        return notebook::check(source, options, room);
    }
    let mut diagnostics = match (host, preview.unreadable) {
        (Some(host), None) => {
            let mut kept = Kept { found: Vec::new(), room, is_full: false };
            embedded::visit(source, host, options, || count += 1, &mut |found| kept.add(found));
            kept.all()?
        }
        (_, unreadable) => check_ptx(false, source, unreadable, options, room, &mut count)?,
    };
    select(source, preview.is_marked, options, &mut diagnostics);
    Some((count, diagnostics))
}

/// The findings in a text that is PTX. `None` if there are more than there is room for.
fn check_ptx(
    plainly: bool,
    source: &str,
    unreadable: Option<Diagnostic>,
    options: &CheckOptions,
    room: usize,
    count: &mut usize,
) -> Option<Vec<Diagnostic>> {
    let mut structure = Structure::new(source, options);
    let sink = &mut |statement| {
        *count += 1;
        structure.take(statement);
    };
    let (mut found, ..) = visit_by(plainly, source, unreadable, options, room, sink)?;
    let more = structure.end(&found);
    found.extend(more);
    sort(&mut found);
    (found.len() <= room).then_some(found)
}

/// Findings, as long as there is room for them.
struct Kept {
    found: Vec<Diagnostic>,
    room: usize,
    is_full: bool,
}

impl Kept {
    fn add(&mut self, mut found: Vec<Diagnostic>) {
        if self.is_full || self.found.len() + found.len() > self.room {
            self.is_full = true;
            self.found = Vec::new();
        } else {
            self.found.append(&mut found);
        }
    }

    fn all(self) -> Option<Vec<Diagnostic>> {
        (!self.is_full).then_some(self.found)
    }
}

/// Like [`check_counted`] for PTX, but reads the text with [`read_plainly`]. Tests compare the two.
#[doc(hidden)]
pub fn check_plainly(source: &str, options: &CheckOptions) -> (usize, Vec<Diagnostic>) {
    let mut count = 0;
    let unreadable = unreadable(source);
    let is_text = unreadable.is_none();
    let found = check_ptx(true, source, unreadable, options, usize::MAX, &mut count);
    let mut diagnostics = found.unwrap_or_default();
    select(source, is_text, options, &mut diagnostics);
    (count, diagnostics)
}

/// Reads a module with the `documented` dialect. Returns every legal video instruction, and every
/// finding in the order of the text.
pub fn parse(source: &str) -> (Module<'_>, Vec<Diagnostic>) {
    read_module(source, &CheckOptions::default())
}

/// Like [`parse`], with options.
///
/// # Errors
/// If the options are for a language other than PTX. [`embed`](crate::embed) reads the `asm`
/// statements of other languages.
pub fn parse_with<'s>(
    source: &'s str,
    options: &CheckOptions,
) -> Result<(Module<'s>, Vec<Diagnostic>), ParseError> {
    match options.language {
        Language::Ptx => Ok(read_module(source, options)),
        other => Err(ParseError::NotPtx(other)),
    }
}

/// The reason why a text is not read as a module.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ParseError {
    /// The options are for a source in another language.
    #[error("a module is PTX, and the options are for {0:?}; `vptx::embed` reads such sources")]
    NotPtx(Language),
}

/// Like [`parse_with`], for a text that is PTX whatever language the options are for.
pub(crate) fn read_module<'s>(
    source: &'s str,
    options: &CheckOptions,
) -> (Module<'s>, Vec<Diagnostic>) {
    let mut statements = Vec::new();
    let preview = Preview::of(source);
    let sink = &mut |statement| statements.push(statement);
    let found = visit_by(false, source, preview.unreadable, options, usize::MAX, sink);
    let (mut diagnostics, version, target) = found.unwrap_or_default();
    // ptxas accepts constants that nest deeper, so such a finding is no error of the module: only
    // its statement stays unchanged.
    let is_error = |it: &&Diagnostic| it.is_syntax_error() && it.code != Code::NestedTooDeeply;
    let errors = diagnostics.iter().filter(is_error).cloned().collect();
    select(source, preview.is_marked, options, &mut diagnostics);
    (Module { source, version, target, statements, errors }, diagnostics)
}

/// Texts of at least this many bytes are not read as a whole for one place.
const LARGE: usize = 1 << 20;

/// The usual end of a function.
const END: &[u8] = b"\n}";

/// The function around a place of a large text as a module, and the offset where it starts. All
/// others are assumed to have no errors, and no names that this one uses. A small text is read as a
/// whole.
pub(crate) fn parse_near<'s>(
    source: &'s str,
    place: Span,
    options: &CheckOptions,
) -> (u32, Module<'s>) {
    if source.len() < LARGE || unreadable(source).is_some() {
        return (0, read_module(source, options).0);
    }
    let bytes = source.as_bytes();
    let after = |from: usize| Some(from + memchr::memmem::find(&bytes[from..], END)? + END.len());
    let before = memchr::memmem::rfind(&bytes[..place.start as usize], END);
    let start = before.map_or(0, |at| at + END.len());
    let text = &source[start..after(place.end as usize).unwrap_or(source.len())];
    let mut context = Context::default();
    if start > 0 {
        let mut ignored = |_| {};
        let mut checker = Checker::new(source, options, KnownFacts::default(), &mut ignored);
        let head = read(&source[..after(0).unwrap_or(start)], &mut checker);
        (context.version, context.target) = (head.version, head.target);
    }
    let mut statements = Vec::new();
    let sink = &mut |statement| statements.push(statement);
    let mut checker = Checker::new(text, options, KnownFacts::default(), sink);
    let (version, target) = read_in(text, context, &mut checker).in_force();
    (start as u32, Module { source: text, version, target, statements, errors: Vec::new() })
}

/// Keeps the findings that the options ask for and no comment suppresses. Only a marked
/// text has such comments.
fn select(
    source: &str,
    may_be_marked: bool,
    options: &CheckOptions,
    diagnostics: &mut Vec<Diagnostic>,
) {
    diagnostics.retain(|diagnostic| options.rules.contains(diagnostic.code));
    if may_be_marked {
        suppress(source, options, diagnostics);
    }
}

/// Takes findings in the order of the text, within one call and from call to call.
pub(crate) type Take<'k> = &'k mut dyn FnMut(Vec<Diagnostic>);

/// Takes statements. It is a `dyn` type, so that the reader is compiled only once.
type Sink<'k> = &'k mut dyn FnMut(VideoStatement);

type ReadResult = (Vec<Diagnostic>, Option<PtxVersion>, Option<Target>);

/// Reads a text and hands over each statement that is, or was meant to be, a
/// video instruction.
pub(crate) fn visit(source: &str, options: &CheckOptions, sink: Sink<'_>) -> ReadResult {
    visit_by(false, source, unreadable(source), options, usize::MAX, sink).unwrap_or_default()
}

/// `None` if there are more findings than there is room for.
fn visit_by(
    plainly: bool,
    source: &str,
    unreadable: Option<Diagnostic>,
    options: &CheckOptions,
    room: usize,
    sink: Sink<'_>,
) -> Option<ReadResult> {
    if let Some(diagnostic) = unreadable {
        return Some((vec![diagnostic], None, None));
    }
    let mut checker = Checker::new(source, options, KnownFacts::default(), sink);
    checker.room = room;
    let context =
        if plainly { read_plainly(source, &mut checker) } else { read(source, &mut checker) };
    checker.end();
    let Checker { mut diagnostics, is_full, .. } = checker;
    sort(&mut diagnostics);
    let (version, target) = context.in_force();
    (!is_full).then_some((diagnostics, version, target))
}

/// Sorts findings by place: structural problems are detected after their start.
fn sort(diagnostics: &mut [Diagnostic]) {
    diagnostics.sort_by_key(|diagnostic| (diagnostic.span, diagnostic.code));
}

/// The result of searching a text before it is read.
struct Preview {
    unreadable: Option<Diagnostic>,
    /// Whether a comment may suppress findings.
    is_marked: bool,
}

impl Preview {
    /// Searches for NUL and for the end of the mark, a colon, in one pass: PTX has few colons.
    fn of(source: &str) -> Preview {
        let bytes = source.as_bytes();
        let mark = MARK.as_bytes();
        let mut is_marked = false;
        for at in memchr::memchr2_iter(0, mark[mark.len() - 1], bytes) {
            if bytes[at] == 0 {
                // Binary data has no comments.
                return Preview { unreadable: unreadable_at(source, Some(at)), is_marked: false };
            }
            is_marked = is_marked || bytes[..=at].ends_with(mark);
        }
        let unreadable = unreadable_at(source, None);
        Preview { is_marked: is_marked && unreadable.is_none(), unreadable }
    }
}

/// The error for a text that is no PTX at all. Other findings would only be noise.
pub(crate) fn unreadable(source: &str) -> Option<Diagnostic> {
    unreadable_at(source, memchr::memchr(0, source.as_bytes()))
}

fn unreadable_at(source: &str, nul: Option<usize>) -> Option<Diagnostic> {
    if source.len() > MAX_LEN {
        let message = "the input is larger than 4 GiB";
        return Some(Diagnostic::new(Code::BinaryFile, Span::at(0), message));
    }
    if is_listing(source.as_bytes()) {
        let start = source.len() - source.trim_ascii_start().len();
        let end = line_end(source.as_bytes(), start);
        let span = Span::new(start as u32, end as u32);
        let message = "this is a listing of cuobjdump, not PTX as a whole";
        let help = "`vptx extract` takes the PTX out of it";
        return Some(Diagnostic::new(Code::BinaryFile, span, message).label("no PTX").help(help));
    }
    let at = nul? as u32;
    if let Some(order) = utf16(source) {
        let message = format!("this is UTF-16 ({order}), not ASCII or UTF-8");
        let diagnostic = Diagnostic::new(Code::BinaryFile, Span::new(at, at + 1), message)
            .label("every second byte is NUL")
            .help(
                "convert it: `iconv -f UTF-16 -t UTF-8 in.ptx > out.ptx`; `>` of PowerShell 5 \
                 writes UTF-16, `| Out-File -Encoding ascii out.ptx` does not",
            );
        return Some(diagnostic);
    }
    let what = if source.starts_with("\u{7f}ELF") {
        "an ELF file, such as a cubin or an object file"
    } else {
        "binary data"
    };
    let message = format!("this is {what}, not PTX text");
    let diagnostic = Diagnostic::new(Code::BinaryFile, Span::new(at, at + 1), message)
        .label("a NUL byte")
        .help("PTX is text; `vptx extract` finds it in a library or an executable");
    Some(diagnostic)
}

/// The byte order, if a text seems to be UTF-16: most characters at its start are ASCII, with
/// NUL as one of their two bytes. A byte order mark is not UTF-8, and decoding has replaced its
/// bytes.
fn utf16(source: &str) -> Option<&'static str> {
    let mark = [UNDECODABLE as u8; 2];
    let bytes = source.as_bytes();
    let (pairs, _) = bytes.strip_prefix(&mark).unwrap_or(bytes).as_chunks::<2>();
    let pairs = &pairs[..pairs.len().min(64)];
    let most = |is: fn(&[u8; 2]) -> bool| {
        let ascii = pairs.iter().filter(|pair| is(pair)).count();
        ascii > 0 && 4 * ascii >= 3 * pairs.len()
    };
    if most(|pair| matches!(pair, [b'\t'..=b'~', 0])) {
        Some("little-endian")
    } else if most(|pair| matches!(pair, [0, b'\t'..=b'~'])) {
        Some("big-endian")
    } else {
        None
    }
}

/// Whether a source in C is UTF-16, as some that only Microsoft's tools read, and has no PTX.
pub(crate) fn is_wide_without_ptx(source: &str) -> bool {
    let has = |text: &[u8]| memchr::memmem::find(source.as_bytes(), text).is_some();
    utf16(source).is_some() && !has(b"a\0s\0m") && !has(b".\0v\0e\0r\0s\0i\0o\0n")
}

struct Checker<'s, 'o> {
    source: &'s str,
    options: &'o CheckOptions,
    diagnostics: Vec<Diagnostic>,
    memo: Memo<'s>,
    sink: Sink<'o>,
    version: Option<PtxVersion>,
    target: Option<Target>,
    /// The targets to check for.
    targets: Vec<Target>,
    /// Statements that may belong to a region, if the rule on regions is on.
    waiting: Option<Box<Waiting<'s>>>,
    /// How many findings are kept. If there are more, none is kept, and the search ends.
    room: usize,
    is_full: bool,
}

impl<'s, 'o> Checker<'s, 'o> {
    fn new(source: &'s str, options: &'o CheckOptions, known: KnownFacts, sink: Sink<'o>) -> Self {
        Checker {
            source,
            options,
            diagnostics: Vec::new(),
            memo: Memo::new(source, known),
            sink,
            version: None,
            target: None,
            targets: targets(options, None),
            waiting: options
                .rules
                .contains(Code::UnfusedInstructions)
                .then(|| Box::new(Waiting::new(source))),
            room: usize::MAX,
            is_full: false,
        }
    }

    /// Gives up if there are more findings than there is room for.
    fn bound(&mut self) {
        if self.diagnostics.len() > self.room {
            self.is_full = true;
            self.diagnostics = Vec::new();
        }
    }

    /// Notes the `.target` in force.
    fn aim(&mut self, target: Option<Target>) {
        if self.target != target {
            self.target = target;
            self.targets = targets(self.options, target);
        }
    }

    /// Checks a statement. Returns its span, the instruction if it is legal, and the declared
    /// types.
    fn check(
        &mut self,
        statement: &WantedStatement<'_>,
        context: &Context<'s>,
    ) -> (Span, Option<Instruction>, DeclaredTypes) {
        let (version, target) = context.in_force();
        self.version = version;
        self.aim(target);
        let first = statement.tokens[0].span();
        let last = statement.tokens[statement.tokens.len() - 1].span();
        let span = first.to(last);
        let before = self.diagnostics.len();
        let (instruction, declared) =
            check_instruction(self.source, statement, context, self.options, &mut self.diagnostics);
        if let (Some(instruction), Ok(raw)) = (&instruction, &statement.parsed) {
            let place = StatementContext {
                statement: span,
                own: self.target,
                version: self.options.ptx_version.or(self.version),
                registers: declared.registers(),
            };
            let documented = self.options.dialect == Dialect::Documented;
            let Checker { source, options, memo, diagnostics, targets, .. } = self;
            let subject = Subject { source, raw, instruction, targets, place };
            lint::run(options.rules, documented, &subject, memo, diagnostics);
        }
        for diagnostic in &mut self.diagnostics[before..] {
            diagnostic.statement = Some(span);
            // The fix of an emulated instruction replaces the whole statement, and already keeps
            // its comments.
            for fix in
                diagnostic.fixes.iter_mut().filter(|_| diagnostic.code != Code::EmulatedInstruction)
            {
                keep_comments(self.source, &mut fix.edits);
            }
        }
        (span, instruction, declared)
    }

    /// Lets a statement wait until it is known whether it belongs to a region.
    fn wait(&mut self, statement: &VideoStatement) {
        let Some(waiting) = &mut self.waiting else { return };
        let version = self.options.ptx_version.or(self.version);
        let targets = &self.targets;
        let gate = (!targets.is_empty()).then(|| gate(targets, self.target, version));
        waiting.take(statement, targets, gate, &mut self.diagnostics);
    }

    /// Ends the text: no statement waits any longer.
    fn end(&mut self) {
        if let Some(waiting) = &mut self.waiting {
            waiting.end(&mut self.diagnostics);
            self.bound();
        }
    }
}

/// The targets to check for, without duplicates: those of the options, or else the target of the
/// text.
fn targets(options: &CheckOptions, own: Option<Target>) -> Vec<Target> {
    let one = options.target.or(own);
    let named = if options.targets.is_empty() { one.as_slice() } else { &options.targets };
    let mut targets: Vec<Target> = Vec::new();
    for target in named.iter().map(|target| own.map_or(*target, |own| target.for_text(own))) {
        if !targets.contains(&target) {
            targets.push(target);
        }
    }
    targets
}

/// Changes edits so that they leave comments as they are.
fn keep_comments(source: &str, edits: &mut Vec<Edit>) {
    if !edits.iter().any(|edit| edit.span.text(source).contains('/')) {
        return;
    }
    let parts = edits.drain(..).flat_map(|edit| around_comments(source, edit)).collect();
    *edits = parts;
}

/// Splits an edit around the comments in its place. The first part has the replacement.
fn around_comments(source: &str, edit: Edit) -> Vec<Edit> {
    let text = edit.span.text(source);
    let comments = lexer::comments(text);
    let mut parts = Vec::new();
    let mut start = 0;
    for comment in &comments {
        // The white space before the comment stays.
        let before = &text[start.min(comment.start as usize)..comment.start as usize];
        parts.push((start, start + before.trim_end().len()));
        // The line break that ends a comment stays, too.
        start = comment.end as usize + usize::from(comment.text(text).starts_with("//"));
    }
    parts.push((start.min(text.len()), text.len()));
    parts.retain(|&(start, end)| start < end && !text[start..end].trim().is_empty());
    if comments.is_empty() || parts.is_empty() {
        return vec![edit];
    }
    let mut replacement = edit.replacement;
    let part = |(start, end): (usize, usize)| {
        let at = edit.span.start;
        let span = Span::new(at + start as u32, at + end as u32);
        Edit::replace(span, std::mem::take(&mut replacement))
    };
    parts.into_iter().map(part).collect()
}

impl<'s> Handler<'s> for Checker<'s, '_> {
    const INITIAL: u8 = b'v';

    fn wants(&self, opcode: &str) -> bool {
        !self.is_full && is_wanted(opcode)
    }

    fn statement(&mut self, statement: WantedStatement<'_>, context: &Context<'s>) {
        let (span, instruction, declared) = self.check(&statement, context);
        let (function, header) = (context.function, context.header);
        let statement = VideoStatement { span, function, header, instruction, declared };
        self.wait(&statement);
        (self.sink)(statement);
        self.bound();
    }

    fn problem(&mut self, problem: Problem) {
        if !self.is_full {
            self.diagnostics.push(problem_diagnostic(self.source, problem));
            self.bound();
        }
    }
}

/// The error in a token that the end of the text cuts off.
fn unclosed(token: Token) -> Option<Problem> {
    let (kind, length) = match token.kind() {
        TokenKind::UnclosedComment => (ProblemKind::UnclosedComment, 2),
        TokenKind::UnclosedString => (ProblemKind::UnclosedString, 1),
        _ => return None,
    };
    let start = token.span().start;
    Some(Problem { kind, span: Span::new(start, start + length) })
}

/// Checks a text that must be one instruction; the `;` may be missing.
pub(crate) fn single(text: &str, options: &CheckOptions) -> Result<Instruction, Vec<Diagnostic>> {
    if let Some(diagnostic) = unreadable(text) {
        return Err(vec![diagnostic]);
    }
    let mut tokens = statement_tokens(text);
    let mut diagnostics = Vec::new();
    // Nothing can follow a token without an end.
    if let Some(last) = tokens.last().copied()
        && let Some(problem) = unclosed(last)
    {
        diagnostics.push(problem_diagnostic(text, problem));
        tokens.pop();
    }
    if tokens.last().is_none_or(|last| !last.is(b';')) {
        tokens.push(semicolon_after(&tokens));
    }
    let statement = WantedStatement { tokens: &tokens, parsed: parse_instruction(text, &tokens) };
    // Every name counts as a register: a module may declare any name, and a printed instruction
    // must read back.
    let mut context = Context::default();
    context.names_registers = true;
    let (instruction, _) = check_instruction(text, &statement, &context, options, &mut diagnostics);
    diagnostics.retain(|diagnostic| diagnostic.severity == Severity::Error);
    match instruction {
        Some(instruction) if diagnostics.is_empty() => Ok(instruction),
        _ => Err(diagnostics),
    }
}
