//! PTX in sources of other languages: the `asm` statements of C, C++, CUDA and `OpenCL`, and
//! the calls and statements of Python, Mojo, Rust, Julia and Zig that do the same.
//!
//! [`statements`] finds these statements and makes PTX of their string literals. In the PTX, words
//! such as `%0` stand for operands. Each byte of that text knows its place in the source, so
//! findings in the text are reported, and fixed, in the source.
//!
//! ```
//! use vptx::embed;
//!
//! let source = r#"asm("vabsdiff.u32.u32.u32 %0, %%r1,\n\t %[b];" : "=r"(d) : [b] "r"(b));"#;
//! let asm = &embed::statements(source)[0];
//! assert_eq!(asm.text, "vabsdiff.u32.u32.u32 %0, %r1,\n\t %b;");
//! assert_eq!(asm.operands[1].constraint, "r");
//! assert_eq!(asm.spelled("%r1, %b"), "%%r1, %[b]");
//! ```
//!
//! The preprocessor is not run. The text of a statement whose literals come from macros is
//! not known: such a statement is left out, and [`skipped`] lists it. A
//! [check](crate::analysis::check) expands macros of the same source.
//!
//! [`statements_in`] and [`skipped_in`] do the same for other languages: Triton's
//! `inline_asm_elementwise` in Python, `asm!` in Rust and so on, and CUDA sources inside string
//! literals. [`parse_asm`](crate::analysis::parse_asm) reads the video instructions of a statement.
//! [`Asm::source_span`] and [`Asm::source_edit`] take places and changes back to the source:
//!
//! ```
//! use vptx::embed::{self, Host};
//! use vptx::source::Span;
//!
//! let source = r#"tl.inline_asm_elementwise("vmin2.s32.s32.s32 $0, $1, $2, $1;", "=r,r,r", [a, b])"#;
//! let asm = &embed::statements_in(source, Host::Python)[0];
//! assert_eq!(asm.text, "vmin2.s32.s32.s32 $0, $1, $2, $1;");
//! assert_eq!(asm.source_span(Span::new(0, 5)).text(source), "vmin2");
//! let (place, new) = asm.source_edit(source, Span::new(0, 5), "vmax2").unwrap();
//! assert_eq!((place.text(source), new.as_str()), ("vmin2", "vmax2"));
//! ```

mod constants;
mod edit;
mod escape;
mod headers;
mod hosts;
mod machine;
mod macros;
mod notebook;
mod scan;
mod strings;
mod template;

use std::sync::Arc;

pub(crate) use edit::literal_edit;
pub(crate) use headers::Joined;
pub use headers::{Header, Headers, Include};
pub use hosts::Host;
use hosts::{Constraints, Found, Lexer};
use macros::{Expansion, Macros, Use};
pub(crate) use notebook::{Cells, cells};
use scan::{AsmStatement, Cursor, Form, Literal, ScannedOperand, Scanner, raw_strings};
pub(crate) use scan::{Directive, Piece, code_start, directives, pieces, splice};
pub use scan::{SkipReason, Skipped};
pub(crate) use strings::{StringModule, modules};
pub(crate) use template::Unique;
use template::{
    Expanded, Mapped, Mode, OperandNames, Roles, SourceMap, Spelling, Unknown, decode, expand,
};

use crate::hash::Set;
use crate::source::Span;
use crate::syntax::lexer;

/// How a template refers to its operands, and how these are declared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Convention {
    /// `%0` and `%[name]`, with constraints such as `"=r"(d)`.
    C,
    /// `$0`, with a constraint string such as `=r,r`.
    Llvm,
    /// `{0}` and `{name}`, with operands such as `in(reg32) a`.
    Rust,
    /// `$0`, or `{$w0}`, `{$rw0}` and `{$r0}`, with lists of operands.
    Mlir,
}

/// The rules for string literals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Quoting {
    Of(Host),
    /// Textual LLVM IR.
    Llvm,
    /// JSON.
    Json,
}

impl Quoting {
    /// The literals in a piece of source; `None` if the piece has other code.
    fn literals(self, source: &str) -> Option<Vec<Literal>> {
        match self {
            Quoting::Of(Host::C) => {
                let mut cursor = Cursor::new(source);
                let mut literals = Vec::new();
                cursor.literals(&mut literals);
                (cursor.pos == source.len()).then_some(literals)
            }
            Quoting::Of(host) => hosts::literals(source, host),
            Quoting::Json => notebook::literals(source),
            Quoting::Llvm => {
                let body = source.strip_prefix('"')?.strip_suffix('"')?;
                (!body.contains('"')).then(|| vec![llvm_literal(0, source.len())])
            }
        }
    }
}

/// The literal of LLVM IR between two quotes.
fn llvm_literal(start: usize, end: usize) -> Literal {
    Literal::new(start, start + 1..end - 1, end, Form::Llvm)
}

/// A text inside the string literals of a source.
#[derive(Debug)]
pub(crate) struct Layer {
    quoting: Quoting,
    mapped: Mapped,
    literals: Vec<Literal>,
}

impl Layer {
    fn new(quoting: Quoting, source: &str, literals: Vec<Literal>) -> Layer {
        Layer { quoting, mapped: decode(source, &literals), literals }
    }

    pub(crate) fn text(&self) -> &str {
        &self.mapped.text
    }

    /// The place of a span in the source around this layer.
    pub(crate) fn place(&self, span: Span) -> Span {
        edit::place(self.text(), &self.mapped.map, span)
    }
}

/// A text, other than the source itself, that holds an `asm` statement.
#[derive(Debug)]
enum Around {
    Literals(Layer),
    Macros(Expansion),
}

impl Around {
    fn text(&self) -> &str {
        match self {
            Around::Literals(layer) => layer.text(),
            Around::Macros(expansion) => &expansion.text,
        }
    }

    /// The place of a span in the source.
    fn place(&self, span: Span) -> Span {
        match self {
            Around::Literals(layer) => layer.place(span),
            Around::Macros(expansion) => expansion.place(span),
        }
    }
}

/// Each `asm` statement with a known text, in the order of the source.
///
/// Statements under `#if 0` are left out. So are statements whose template or operands are not
/// written out (macros, `#`, preprocessor conditions inside), statements with pasted
/// operands ([`SkipReason::Pasted`]), and statements for other machines: those with a constraint
/// that NVIDIA's GPUs lack, or with a register among their clobbers. An empty template gives an
/// empty text. The source has at most [`MAX_LEN`](crate::source::MAX_LEN) bytes.
pub fn statements(source: &str) -> Vec<Asm<'_>> {
    statements_in(source, Host::C)
}

/// The `asm` statements that [`statements`] leaves out, in order.
pub fn skipped(source: &str) -> Vec<Skipped> {
    skipped_in(source, Host::C)
}

/// Like [`statements`], for a source in any language that can be read: the calls that take PTX
/// as a text, and the `asm` statements of CUDA sources inside string literals.
///
/// A literal counts only if nothing computes with it: no f-string, `%`, `.format` and the like.
/// A Python string that stands alone as a statement is a comment. Strings of Rust, and raw
/// strings of C, count if they are plainly CUDA: with `__global__`, `__device__`, `__kernel` or
/// `extern`.
/// Inside string literals, a statement is left out if its template has a placeholder, such as
/// `{name}`, `%(name)s`, `${name}` or `@name@`, or if its operands are `%%0` and the like.
pub fn statements_in(source: &str, host: Host) -> Vec<Asm<'_>> {
    read(source, None, host, MacroUses::Ignored, &|_| true).0
}

/// The statements that [`statements_in`] leaves out, in order.
pub fn skipped_in(source: &str, host: Host) -> Vec<Skipped> {
    sorted(read(source, None, host, MacroUses::Counted, &|_| true).1)
}

/// The statements that a check leaves out, in order.
pub(crate) fn unread(source: &str, host: Host, headers: Option<&Headers>) -> Vec<Skipped> {
    if host == Host::Notebook {
        let (cells, _) = cells(source);
        let unread = |it: &Cells| {
            let skipped = unread(it.layer.text(), it.host, headers).into_iter();
            skipped
                .map(|Skipped { span, reason }| Skipped { span: it.layer.place(span), reason })
                .collect()
        };
        return sorted(cells.iter().flat_map::<Vec<_>, _>(unread).collect());
    }
    let joined = headers.and_then(|find| Joined::new(source, find));
    let mut skipped = read(source, joined.as_ref(), host, MacroUses::Read, &|_| true).1;
    skipped.append(&mut strings::read(source, host).1);
    sorted(skipped)
}

fn sorted(mut skipped: Vec<Skipped>) -> Vec<Skipped> {
    skipped.sort_by_key(|it| (it.span, it.reason));
    skipped
}

/// The statements of a source in which an opcode may start with the letter `initial`; all
/// statements if there is no `initial`. The letter is given in lower case and matches both cases.
/// Macros of the source and of its headers are expanded. If macros alone make the templates of
/// several equal statements, only the first statement is returned.
pub(crate) fn statements_with<'s>(
    source: &'s str,
    headers: Option<&'s Joined>,
    host: Host,
    initial: Option<u8>,
) -> Vec<Asm<'s>> {
    let may_start = |text: &str| initial.is_none_or(|letter| may_start(text.as_bytes(), letter));
    read(source, headers, host, MacroUses::Read, &may_start).0
}

/// The comments of a source, in order, with those of CUDA sources inside it.
pub(crate) fn comments(source: &str, host: Host) -> Vec<Span> {
    let mut comments = match host {
        Host::C => scan::comments(source),
        _ => hosts::comments(source, host),
    };
    let before = comments.len();
    if may_have_asm(source) {
        for layer in layers(source, host) {
            // A comment counts only if its bytes in the source are the same.
            let inside = scan::comments(layer.text()).into_iter();
            let shown = inside.filter_map(|span| {
                let place = layer.place(span);
                (place.text(source) == span.text(layer.text())).then_some(place)
            });
            comments.extend(shown);
        }
    }
    if comments.len() > before {
        comments.sort_unstable();
    }
    comments
}

/// The places of CUDA sources inside string literals, in order.
pub(crate) fn inner_sources(source: &str, host: Host) -> Vec<Span> {
    if !may_have_asm(source) {
        return Vec::new();
    }
    let body = |layer: &Layer| {
        let last = &layer.literals[layer.literals.len() - 1];
        layer.literals[0].body.to(last.body)
    };
    layers(source, host).iter().map(body).collect()
}

/// Whether a source may contain PTX.
pub(crate) fn may_have_ptx(source: &str) -> bool {
    may_have_asm(source) || strings::may_have_module(source)
}

/// Whether a source can have `asm` statements.
fn may_have_asm(source: &str) -> bool {
    let bytes = source.as_bytes();
    memchr::memmem::find(bytes, b"asm").is_some()
        || memchr::memmem::find(bytes, b"inlined_assembly").is_some()
        || memchr::memmem::find(bytes, b"InlineAsm").is_some()
        || memchr::memmem::find(bytes, b"inline_ptx").is_some()
}

/// The CUDA sources inside string literals.
fn layers(source: &str, host: Host) -> Vec<Layer> {
    let mut all = Vec::new();
    if host == Host::C {
        for literals in raw_strings(source) {
            all.extend(cuda_layer(source, host, literals));
        }
        return all;
    }
    let mut lexer = Lexer::new(source, host);
    while let Some(found) = lexer.next() {
        if let Found::Text(run) = found
            && !run.computed
        {
            all.extend(cuda_layer(source, host, run.literals));
        }
    }
    all
}

/// The text of literals, if it may be a CUDA source with `asm` statements.
fn cuda_layer(source: &str, host: Host, literals: Vec<Literal>) -> Option<Layer> {
    let has = |word: &[u8]| {
        let holds =
            |it: &Literal| memchr::memmem::find(it.body.text(source).as_bytes(), word).is_some();
        literals.iter().any(holds)
    };
    let has_parts = host != Host::C && hosts::has_parts_of_cuda(host);
    let is_plain =
        || [&b"__global__"[..], b"__device__", b"__kernel", b"extern"].into_iter().any(has);
    (has(b"asm") && (has_parts || is_plain()))
        .then(|| Layer::new(Quoting::Of(host), source, literals))
}

/// The statements whose template `wanted` accepts, and the statements that are left out.
fn read<'s>(
    source: &'s str,
    headers: Option<&'s Joined>,
    host: Host,
    uses: MacroUses,
    wanted: &dyn Fn(&str) -> bool,
) -> (Vec<Asm<'s>>, Vec<Skipped>) {
    let (found, skipped) = (Vec::new(), Vec::new());
    let part = Span::new(0, source.len() as u32);
    let source = headers.map_or(source, Joined::text);
    let mut reading = Reading { source, part, headers, host, uses, wanted, found, skipped };
    if !may_have_asm(source) {
        return (reading.found, reading.skipped);
    }
    match host {
        Host::C => reading.c(),
        Host::Notebook => {}
        _ => reading.host(),
    }
    reading.found.sort_by_key(|asm| (asm.span.start, asm.span.end));
    (reading.found, reading.skipped)
}

/// What becomes of `asm` statements that macros make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MacroUses {
    /// They are passed over: only the definitions of macros are read.
    Ignored,
    /// They are listed as left out.
    Counted,
    /// They are read.
    Read,
}

struct Reading<'s, 'w> {
    /// The source, followed by its headers.
    source: &'s str,
    /// The span of the source without its headers.
    part: Span,
    headers: Option<&'s Joined>,
    host: Host,
    uses: MacroUses,
    wanted: &'w dyn Fn(&str) -> bool,
    found: Vec<Asm<'s>>,
    skipped: Vec<Skipped>,
}

impl<'s> Reading<'s, '_> {
    fn skip(&mut self, span: Span, reason: SkipReason) {
        self.skipped.push(Skipped { span, reason });
    }

    /// Reads a source in C.
    fn c(&mut self) {
        let mut scanner = Scanner::within(self.source, self.part);
        let mut plain = Vec::new();
        for statement in scanner.by_ref() {
            plain.push(statement.span.start);
            self.statement(statement, None);
        }
        let mut by_macros = scanner.needs_macros();
        self.skipped.append(&mut scanner.skipped);
        for header in self.headers.into_iter().flat_map(Joined::headers) {
            let mut scanner = Scanner::within(self.source, header);
            plain.extend(scanner.by_ref().map(|statement| statement.span.start));
            by_macros |= scanner.needs_macros();
        }
        if self.uses != MacroUses::Ignored && by_macros {
            self.macros(&plain);
        }
        let mut strings = raw_strings(self.part.text(self.source));
        strings.retain(|literals| !literals[0].span.is_in(&scanner.disabled));
        for literals in strings {
            if let Some(layer) = cuda_layer(self.source, Host::C, literals) {
                self.layer(layer);
            }
        }
    }

    /// Reads the statements that macros make. `plain` has the starts of all other
    /// statements.
    fn macros(&mut self, plain: &[u32]) {
        let mut read = Set::default();
        let mut seen = Set::default();
        let counted: Set<u32> = self.skipped.iter().map(|it| it.span.start).collect();
        let mut macros = Macros::new(self.source, self.part, self.headers, plain.to_vec());
        while let Some(used) = macros.next() {
            let expansion = match used {
                Use::Expanded(expansion) => Arc::new(Around::Macros(expansion)),
                Use::Unknown(span) => {
                    if !counted.contains(&span.start) {
                        self.skip(span, SkipReason::Macro);
                    }
                    continue;
                }
            };
            let Around::Macros(inner) = &*expansion else { continue };
            let mut scanner = Scanner::of_expansion(&inner.text);
            for statement in scanner.by_ref() {
                let start = Span::new(statement.span.start, statement.span.start + 1);
                let written = inner.written(start).map(|it| it.start);
                if written.is_some_and(|it| plain.binary_search(&it).is_ok()) {
                    continue;
                }
                let is_counted = self.uses == MacroUses::Counted;
                // A statement in a definition counts once.
                if is_counted && written.is_some_and(|it| counted.contains(&it)) {
                    continue;
                }
                let mut literals = statement.template.iter().chain(&statement.constraints);
                if literals.any(|it| inner.is_doubtful(it.span)) {
                    self.skip(inner.span, SkipReason::Macro);
                    continue;
                }
                let is_shared = statement.template.iter().all(|it| inner.own(it.span).is_none());
                let before = self.found.len();
                self.statement(statement, Some(&expansion));
                if is_counted && self.found.len() > before {
                    self.found.truncate(before);
                    self.skip(inner.span, SkipReason::Macro);
                    continue;
                }
                read.extend(written);
                if let Some(asm) = self.found.get(before)
                    && is_shared
                    && !seen.insert(asm.meaning())
                {
                    self.found.truncate(before);
                }
            }
            if self.uses == MacroUses::Read {
                for Skipped { reason, .. } in std::mem::take(&mut scanner.skipped) {
                    self.skip(inner.span, reason);
                }
            }
        }
        let is_read = |it: &Skipped| read.contains(&it.span.start);
        self.skipped.retain(|it| it.reason != SkipReason::Macro || !is_read(it));
        self.skipped.sort_by_key(|it| (it.span.start, it.reason));
        self.skipped.dedup_by_key(|it| (it.span.start, it.reason));
    }

    /// Reads an `asm` statement of C, in the source or in another text.
    fn statement(&mut self, statement: AsmStatement, layer: Option<&Arc<Around>>) {
        let source = layer.map_or(self.source, |layer| layer.text());
        let place = |span: Span| layer.map_or(span, |layer| layer.place(span));
        let expansion = layer.and_then(|it| match &**it {
            Around::Macros(expansion) => Some(expansion),
            Around::Literals(_) => None,
        });
        // An operand's name is read where it is written, which may be in a macro's definition.
        let written =
            |span| expansion.and_then(|it| it.written(span)).unwrap_or_else(|| place(span));
        let whole = |span| expansion.map_or_else(|| place(span), |it| it.span);
        if !statement.template.iter().any(|it| (self.wanted)(it.body.text(source))) {
            return;
        }
        let constraint = |it: &ScannedOperand| {
            decode(source, &statement.constraints[it.constraint.clone()]).text
        };
        if statement.operands.iter().any(|it| machine::is_foreign_constraint(&constraint(it)))
            || statement.clobbers.is_some_and(|it| clobbers_register(source, it))
        {
            return;
        }
        let is_filled = |it: &Literal| is_template(it.body.text(source));
        if layer.is_some()
            && expansion.is_none()
            && (statement.template.iter().any(is_filled)
                || !statement.operands.is_empty()
                    && is_doubled(&decode(source, &statement.template).text))
        {
            return self.skip(place(statement.span), SkipReason::Computed);
        }
        let operands = statement.operands.iter().map(|operand| {
            let ScannedOperand { name, constraint: list, expression, output } = operand;
            let literals = &statement.constraints[list.clone()];
            let span = place(literals[0].span.to(literals[literals.len() - 1].span));
            let name = match *name {
                Some(name) => Some(self.name(name.text(source), written(name))?),
                None => None,
            };
            let constraint = constraint(operand);
            let placeholder = String::new();
            let expression = layer.is_none().then_some(*expression);
            Some(AsmOperand { name, constraint, span, expression, output: *output, placeholder })
        });
        let Some(mut operands) = operands.collect::<Option<Vec<_>>>() else {
            return self.skip(whole(statement.span), SkipReason::Malformed);
        };
        if statement.has_hidden {
            let text = decode(source, &statement.template).text;
            let is_named = |name: &str| operands.iter().any(|it| it.name == Some(name));
            let mut names = text.split("%[").skip(1).filter_map(|it| it.split(']').next());
            if !names.all(is_named) {
                return self.skip(whole(statement.span), SkipReason::Macro);
            }
            let hidden = unknown_operands(&text, '%', whole(statement.span));
            operands.extend(hidden.into_iter().skip(operands.len()));
        }
        let quoting = Quoting::Of(Host::C);
        let template = Template {
            span: whole(statement.span),
            literals: statement.template,
            quoting,
            mode: mode(statement.extended, !operands.is_empty()),
            in_directive: statement.in_directive,
            clobbers: statement.clobbers.map(place),
            layer: layer.cloned(),
        };
        self.push(source, template, operands);
    }

    fn push(&mut self, source: &str, template: Template, operands: Vec<AsmOperand<'s>>) {
        match Asm::new(source, template, operands) {
            Ok(asm) => self.found.push(asm),
            Err(Pasted(span)) => self.skip(span, SkipReason::Pasted),
        }
    }

    /// A name as a part of the source; `None` if the source spells it in another way.
    fn name(&self, name: &str, place: Span) -> Option<&'s str> {
        let shown = self.source.get(place.range())?;
        (shown == name).then_some(shown)
    }

    /// Reads a CUDA source inside literals.
    fn layer(&mut self, layer: Layer) {
        let layer = Arc::new(Around::Literals(layer));
        let mut scanner = Scanner::new(layer.text());
        for statement in scanner.by_ref() {
            self.statement(statement, Some(&layer));
        }
        for Skipped { span, reason } in scanner.skipped {
            self.skip(layer.place(span), reason);
        }
    }

    /// Reads a source in another language.
    fn host(&mut self) {
        let mut lexer = Lexer::new(self.source, self.host);
        while let Some(found) = lexer.next() {
            match found {
                Found::Call { span, text, constraints, convention } => {
                    self.call(span, text, constraints, convention);
                }
                Found::Llvm(literals) => self.llvm(literals),
                Found::Text(run) => {
                    let Some(layer) = cuda_layer(self.source, self.host, run.literals) else {
                        continue;
                    };
                    if run.computed {
                        let mut scanner = Scanner::new(layer.text());
                        let complete: Vec<Span> = scanner.by_ref().map(|it| it.span).collect();
                        let others = scanner.skipped.iter().map(|it| it.span);
                        for span in complete.into_iter().chain(others) {
                            self.skip(layer.place(span), SkipReason::Computed);
                        }
                    } else {
                        self.layer(layer);
                    }
                }
            }
        }
        self.skipped.append(&mut lexer.skipped);
    }

    /// Reads a call that takes PTX.
    fn call(
        &mut self,
        span: Span,
        text: Vec<Literal>,
        constraints: Constraints<'s>,
        convention: Convention,
    ) {
        let source = self.source;
        if !text.iter().any(|it| (self.wanted)(it.body.text(source))) {
            return;
        }
        let mut roles = Roles::default();
        let operands: Vec<AsmOperand<'s>> = match constraints {
            Constraints::Literals(literals) => {
                let Mapped { text, map } = decode(source, &literals);
                match llvm_operands(&text, |span| edit::place(&text, &map, span)) {
                    Some(operands) => operands,
                    None => return,
                }
            }
            Constraints::Unknown => {
                let text = decode(source, &text).text;
                roles = Roles::of(&text);
                let sigil = if convention == Convention::C { '%' } else { '$' };
                let mut operands = unknown_operands(&text, sigil, span);
                let Roles { read_write, write, read } = roles;
                let count = operands.len().max(read_write + write + read);
                operands.resize(count, unknown_operand(span));
                operands
            }
            Constraints::Operands(operands) => operands,
            Constraints::Roles(of, operands) => {
                roles = of;
                operands
            }
        };
        let mode = match convention {
            Convention::C => mode(true, !operands.is_empty()),
            Convention::Llvm => Mode::Llvm,
            Convention::Rust => Mode::Braces,
            Convention::Mlir => Mode::Roles(roles),
        };
        let template = Template {
            span,
            literals: text,
            quoting: Quoting::Of(self.host),
            mode,
            in_directive: false,
            clobbers: None,
            layer: None,
        };
        self.push(source, template, operands);
    }

    /// Reads the `asm` expressions of LLVM IR inside literals.
    fn llvm(&mut self, literals: Vec<Literal>) {
        let all = literals[0].span.to(literals[literals.len() - 1].span);
        let layer = Layer::new(Quoting::Of(self.host), self.source, literals);
        let layer = Arc::new(Around::Literals(layer));
        let text = layer.text();
        let mut at = 0;
        while let Some(n) = memchr::memmem::find(&text.as_bytes()[at..], b"asm ") {
            let start = at + n;
            at = start + "asm ".len();
            let Some((template, constraints, end)) = llvm_asm(text, at) else {
                continue;
            };
            at = end;
            if !(self.wanted)(template.body.text(text)) {
                continue;
            }
            let Mapped { text: list, map } = decode(text, &[constraints]);
            let place = |span| layer.place(edit::place(&list, &map, span));
            let Some(operands) = llvm_operands(&list, place) else {
                continue;
            };
            let template = Template {
                // Comments can only stand outside of the string.
                span: all,
                literals: vec![template],
                quoting: Quoting::Llvm,
                mode: Mode::Llvm,
                in_directive: false,
                clobbers: None,
                layer: Some(Arc::clone(&layer)),
            };
            self.push(text, template, operands);
        }
    }
}

/// Whether a list of clobbers, and perhaps labels, names a register.
fn clobbers_register(source: &str, list: Span) -> bool {
    let mut cursor = Cursor::within(source, list);
    loop {
        let mut literals = Vec::new();
        cursor.literals(&mut literals);
        if machine::is_register(&decode(source, &literals).text) {
            return true;
        }
        if !cursor.eat(b',') {
            return false;
        }
    }
}

/// The template and the constraints after the `asm` of LLVM IR, and their end.
fn llvm_asm(text: &str, mut at: usize) -> Option<(Literal, Literal, usize)> {
    for word in ["sideeffect ", "alignstack ", "inteldialect ", "unwind "] {
        at += if text[at..].starts_with(word) { word.len() } else { 0 };
    }
    let literal = |at: usize| {
        let length = text[at..].strip_prefix('"')?.find('"')?;
        Some(llvm_literal(at, at + length + 2))
    };
    let template = literal(at)?;
    let after = template.span.end as usize;
    let rest = text[after..].strip_prefix(',')?.trim_start_matches(' ');
    let constraints = literal(text.len() - rest.len())?;
    let end = constraints.span.end as usize;
    Some((template, constraints, end))
}

/// The operands of a constraint string of LLVM; `None` if the string has a
/// constraint of another machine.
fn llvm_operands<'s>(text: &str, place: impl Fn(Span) -> Span) -> Option<Vec<AsmOperand<'s>>> {
    let mut operands = Vec::new();
    let mut at = 0;
    for part in text.split(',') {
        let start = at + (part.len() - part.trim_start().len());
        at += part.len() + 1;
        let constraint = part.trim();
        let clobber = constraint.strip_prefix("~{").and_then(|it| it.strip_suffix('}'));
        // Clobbers and labels have no numbers.
        if constraint.is_empty() || constraint.starts_with(['~', '!']) {
            if clobber.is_some_and(machine::is_register) {
                return None;
            }
            continue;
        }
        if machine::is_foreign_constraint(constraint) {
            return None;
        }
        let span = Span::new(start as u32, (start + constraint.len()) as u32);
        let output = constraint.starts_with('=');
        operands.push(AsmOperand::new(None, constraint.to_owned(), place(span), output));
    }
    Some(operands)
}

/// The largest number of operands of a call whose constraints are not known.
const UNKNOWN: usize = 256;

/// Operands for all references of a text, for a call whose constraints are not known.
fn unknown_operands<'s>(text: &str, sigil: char, span: Span) -> Vec<AsmOperand<'s>> {
    let digits = |rest: &str| {
        let rest = rest.trim_start_matches('{');
        let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        rest[..end].parse::<usize>().ok()
    };
    let numbers = text.split(sigil).skip(1).filter_map(digits).filter(|&it| it < UNKNOWN);
    let count = numbers.max().map_or(0, |most| most + 1);
    vec![unknown_operand(span); count]
}

fn unknown_operand<'s>(span: Span) -> AsmOperand<'s> {
    AsmOperand::new(None, String::new(), span, true)
}

/// Whether a text in a literal of another language has a placeholder that a program fills in.
fn is_template(text: &str) -> bool {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let bytes = text.as_bytes();
    let word = |at: usize| bytes[at..].iter().take_while(|&&byte| is_word(byte)).count();
    memchr::memchr_iter(b'{', bytes).any(|at| {
        let end = at
            + 1
            + bytes[at + 1..].iter().take_while(|&&b| is_word(b) || b" .:!".contains(&b)).count();
        let inside = text[at + 1..end].trim();
        bytes.get(end) == Some(&b'}') && !inside.starts_with('.')
    }) || memchr::memchr_iter(b'%', bytes).any(|at| {
        let length = word(at + 1);
        bytes.get(at + 1) == Some(&b'(') || matches!(&bytes[at + 1..at + 1 + length], b"s" | b"d")
    }) || memchr::memchr_iter(b'$', bytes).any(|at| {
        let is_modifier = at > 0 && bytes[at - 1] == b'.' && word(at + 1) > 0;
        is_modifier || bytes.get(at + 1) == Some(&b'{')
    }) || memchr::memchr_iter(b'@', bytes).any(|at| {
        let length = word(at + 1);
        length > 0 && bytes.get(at + 1 + length) == Some(&b'@')
    }) || text.contains("<%")
        || text.contains("{{")
}

/// Whether each operand in a template is `%%0` or the like: a program formats the text, and `%%`
/// then becomes `%`.
fn is_doubled(template: &str) -> bool {
    let comments = lexer::comments(template);
    let is_operand = |at: usize| {
        let next = template.as_bytes().get(at);
        next.is_some_and(|next| next.is_ascii_digit() || *next == b'[')
    };
    let mut is_doubled = false;
    let mut after = 0;
    for at in memchr::memchr_iter(b'%', template.as_bytes()) {
        let is_code = || !Span::at(at as u32).is_in(&comments);
        if at < after || !is_code() {
            continue;
        }
        let has_two = template.as_bytes().get(at + 1) == Some(&b'%');
        after = at + 1 + usize::from(has_two);
        match (has_two, is_operand(after)) {
            (false, true) => return false,
            (doubled, operand) => is_doubled |= doubled && operand,
        }
    }
    is_doubled
}

/// Whether a word in the undecoded `body` of a literal, other than a modifier or a register, may
/// start with `letter`.
fn may_start(body: &[u8], letter: u8) -> bool {
    let at_start = |at: usize| match body[..at] {
        [.., b'\\' | b'%', _] | [] => true,
        [.., before] => !before.is_ascii_alphanumeric() && !b"_$.%".contains(&before),
    };
    // A numeric escape may be any letter, and a joined line may split an escape.
    let is_code = |at: usize| {
        matches!(
            body[at + 1..],
            [b'x' | b'u' | b'U' | b'0'..=b'7', ..] | [b'\\', b'\n' | b'\r' | b'\t' | b' ', ..]
        )
    };
    memchr::memchr2_iter(letter, letter.to_ascii_uppercase(), body).any(at_start)
        || memchr::memchr_iter(b'\\', body).any(is_code)
}

/// An `asm` statement.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Asm<'s> {
    /// From the keyword to the closing parenthesis.
    pub span: Span,
    /// The PTX, with a placeholder for each reference to an operand.
    ///
    /// In LLVM's templates, a placeholder is `$0`, and `$$` becomes `$`. In Rust's, it is `%0`
    /// or `%name`. In C and Zig, it is `%0`, or `%name` if the template has `%[name]`, or if all
    /// operands have names and the template has no number. If that placeholder has another
    /// meaning, one `$` or more follow it. `%%` becomes `%`, and `%=` a number that the template
    /// does not have. A byte that is not UTF-8 becomes U+007F. Without a `:` in C, every `%` stays.
    pub text: String,
    /// Whether a `:` follows the template.
    pub extended: bool,
    /// Outputs, then inputs, in the order in which they are numbered.
    pub operands: Vec<AsmOperand<'s>>,
    /// The text after the third `:` in sources of C: clobbers, and labels after another `:`.
    pub clobbers: Option<Span>,
    /// The inner source that the places of the text refer to; `None` if it is the whole source.
    layer: Option<Arc<Around>>,
    map: SourceMap,
    literals: Vec<Literal>,
    quoting: Quoting,
    mode: Mode,
    /// Whether it belongs to a preprocessor directive.
    in_directive: bool,
    spelling: Spelling,
    names: OperandNames<'s>,
    unknown: Vec<Unknown>,
    unknown_at: Vec<(usize, Span)>,
}

/// An operand of an `asm` statement.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AsmOperand<'s> {
    /// The name in brackets before the constraint.
    pub name: Option<&'s str>,
    /// The constraint without quotes, such as `=r`.
    pub constraint: String,
    /// The constraint's string literals, quotes included.
    pub span: Span,
    /// The text between its parentheses, in sources of C.
    pub expression: Option<Span>,
    /// Whether it is an output.
    pub output: bool,
    /// The word that stands for it in the text.
    pub placeholder: String,
}

impl<'s> AsmOperand<'s> {
    /// An operand without an expression, and without a placeholder so far.
    fn new(name: Option<&'s str>, constraint: String, span: Span, output: bool) -> AsmOperand<'s> {
        let (expression, placeholder) = (None, String::new());
        AsmOperand { name, constraint, span, expression, output, placeholder }
    }

    /// Whether it has no value before the statement writes to it.
    pub fn is_write_only(&self) -> bool {
        self.output
            && (self.constraint.starts_with('=')
                || self.constraint.contains("out(") && !self.constraint.starts_with("in"))
    }

    /// Whether the compiler puts a number in its place.
    pub(crate) fn is_number(&self) -> bool {
        matches!(&*self.constraint, "n" | "i") || self.constraint.starts_with("const")
    }
}

/// Whether a constraint is nvcc's `C`, which pastes text.
fn pastes(constraint: &str) -> bool {
    constraint.contains('C')
}

/// How a statement's `%` are read.
fn mode(extended: bool, has_operands: bool) -> Mode {
    match (extended, has_operands) {
        (false, _) => Mode::Basic,
        (true, false) => Mode::Bare,
        (true, true) => Mode::Full,
    }
}

/// The string literals of a statement, and how they are read.
struct Template {
    span: Span,
    literals: Vec<Literal>,
    quoting: Quoting,
    mode: Mode,
    in_directive: bool,
    clobbers: Option<Span>,
    layer: Option<Arc<Around>>,
}

/// The beginning of a template, as it is written.
pub(crate) struct Written {
    pub(crate) text: String,
    /// Whether the literal at its end has `\$` for `$`.
    pub(crate) escapes_dollar: bool,
}

/// Operands are a part of the text of an `asm`, at this place.
struct Pasted(Span);

/// The text of an `asm`, whether a `:` follows the template, and the name, constraint and direction
/// of each operand.
type Meaning<'s> = (String, bool, Vec<(Option<&'s str>, String, bool)>);

impl<'s> Asm<'s> {
    /// `source` is the text that the spans of the literals refer to.
    fn new(
        source: &str,
        template: Template,
        mut operands: Vec<AsmOperand<'s>>,
    ) -> Result<Asm<'s>, Pasted> {
        let Template { span, literals, quoting, mode, in_directive, clobbers, layer } = template;
        let Expanded { names, mapped, placeholders, unknown, unknown_at, joins_number, spelling } =
            expand(decode(source, &literals), mode, &operands);
        if joins_number || operands.iter().any(|it| pastes(&it.constraint)) {
            return Err(Pasted(span));
        }
        for (operand, placeholder) in operands.iter_mut().zip(placeholders) {
            operand.placeholder = placeholder;
        }
        Ok(Asm {
            span,
            text: mapped.text,
            extended: mode != Mode::Basic,
            operands,
            clobbers,
            layer,
            map: mapped.map,
            literals,
            quoting,
            mode,
            in_directive,
            spelling,
            names,
            unknown,
            unknown_at,
        })
    }

    /// Whether the `asm` is in a string literal literal or in an expansion of macros.
    pub(crate) fn is_in_string(&self) -> bool {
        self.layer.is_some()
    }

    /// Whether it belongs to a preprocessor directive, such as a `#define`.
    pub(crate) fn is_in_directive(&self) -> bool {
        self.in_directive
    }

    /// Whether a single `%` in front of a letter stands for itself beside operands. The compilers of
    /// C read the letter as a modifier of an operand.
    pub(crate) fn has_plain_percents(&self) -> bool {
        self.mode != Mode::Full || matches!(self.quoting, Quoting::Of(Host::Zig))
    }

    /// How the template refers to its operands.
    pub fn convention(&self) -> Convention {
        match self.mode {
            Mode::Basic | Mode::Bare | Mode::Full => Convention::C,
            Mode::Llvm => Convention::Llvm,
            Mode::Braces => Convention::Rust,
            Mode::Roles(_) => Convention::Mlir,
        }
    }

    /// The span of the source from the first to the last byte of a span of the text. An empty span
    /// becomes the point after the byte before it; at the start of the text, the point before the
    /// first byte.
    pub fn source_span(&self, span: Span) -> Span {
        let span = self.layer_span(span);
        self.layer.as_ref().map_or(span, |layer| layer.place(span))
    }

    /// Like [`Asm::source_span`], but in the text that the spans of the literals refer to.
    fn layer_span(&self, span: Span) -> Span {
        if self.text.is_empty() {
            Span::at(self.literals[0].body.start)
        } else {
            edit::place(&self.text, &self.map, span)
        }
    }

    /// The template up to an offset of the source, as it is written. `None` if no literal of the
    /// template is at the offset.
    pub(crate) fn written_before(&self, source: &str, offset: u32) -> Option<Written> {
        let mut text = String::new();
        for literal in &self.literals {
            let body = literal.body;
            let body = self.layer.as_ref().map_or(body, |layer| layer.place(body)).range();
            if literal.joined_by_line {
                text.push('\n');
            }
            let end = body.end.min(offset as usize);
            text.push_str(source.get(body.start..end)?);
            if offset as usize <= body.end {
                return Some(Written { text, escapes_dollar: literal.form == Form::Julia });
            }
        }
        None
    }

    /// The change of the source that replaces a span of the text.
    ///
    /// `None` if the source cannot express exactly that: the span cuts a placeholder or an
    /// escape, the span goes from the literal of one line into the next, or the replacement
    /// would run together with its neighbours.
    ///
    /// After the change, the text of the statement contains the replacement. Other placeholders
    /// of the text may change if the text then refers to fewer operands, or has new words.
    pub fn source_edit(
        &self,
        source: &str,
        span: Span,
        replacement: &str,
    ) -> Option<(Span, String)> {
        let Some(layer) = &self.layer else {
            return edit::source_edit(self, source, span, replacement);
        };
        let (span, replacement) = edit::source_edit(self, layer.text(), span, replacement)?;
        match &**layer {
            Around::Literals(layer) => edit::literal_edit(layer, source, span, &replacement),
            // The literal must stand outside of macros, and remain one literal.
            Around::Macros(expansion) if !replacement.contains('\n') => {
                Some((expansion.own(span)?, replacement))
            }
            Around::Macros(_) => None,
        }
    }

    /// Whether macros make a part of the statement.
    pub(crate) fn is_expanded(&self) -> bool {
        matches!(self.layer.as_deref(), Some(Around::Macros(_)))
    }

    /// The part of a macro's definition that a span of the text was made from, and the macro's
    /// name in that definition.
    pub(crate) fn definition(&self, span: Span) -> Option<(Span, Span)> {
        match self.layer.as_deref()? {
            Around::Macros(expansion) => expansion.definition(self.layer_span(span)),
            Around::Literals(_) => None,
        }
    }

    /// All that findings depend on, apart from places.
    fn meaning(&self) -> Meaning<'s> {
        let operand = |it: &AsmOperand<'s>| (it.name, it.constraint.clone(), it.output);
        (self.text.clone(), self.extended, self.operands.iter().map(operand).collect())
    }

    /// PTX as the statement writes it, for messages: a placeholder as `%[name]` or `%0`, and
    /// any other `%` doubled if the statement doubles it or must double it.
    pub fn spelled(&self, text: &str) -> String {
        self.spelling.spell(text)
    }

    /// The number that each copy of the `asm` has for itself, if the template has one.
    pub(crate) fn unique(&self) -> Option<&Unique> {
        self.spelling.unique()
    }

    /// References of an extended statement to operands that it does not have: their spelling
    /// in the source, and the places of their placeholders in the text.
    pub fn unknown_operands(&self) -> impl Iterator<Item = (&str, Span)> {
        self.unknown_at.iter().map(|&(index, span)| (self.unknown[index].spelling.as_str(), span))
    }

    /// The [`Asm::unknown_operands`] in a span of the text.
    pub(crate) fn unknown_operands_in(&self, span: Span) -> impl Iterator<Item = (&str, Span)> {
        let first = self.unknown_at.partition_point(|(_, at)| at.start < span.start);
        let inside = self.unknown_at[first..].iter().take_while(move |(_, at)| at.end <= span.end);
        inside.map(|&(index, at)| (self.unknown[index].spelling.as_str(), at))
    }
}

#[cfg(test)]
mod tests;
