//! Video instructions as views of a tree.

use super::{CheckOptions, Dialect, check_instruction, is_wanted};
use crate::diagnostic::{Diagnostic, Severity};
use crate::isa::Target;
use crate::module::{DeclaredTypes, StatementSpans};
use crate::source::Span;
use crate::syntax::{
    Context, DirectiveKind, Function, Statement, StatementKind, SymbolKind, Tree, WantedStatement,
    parse_instruction,
};
use crate::video::Instruction;

/// A legal video instruction of a [`Tree`], with the places of its parts.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CheckedInstruction {
    /// The instruction.
    pub instruction: Instruction,
    /// The declared types of its registers.
    pub declared: DeclaredTypes,
    /// The places of its parts, in bytes of the text.
    pub spans: StatementSpans,
}

impl Statement<'_> {
    /// The video instruction of this statement, or the errors that ptxas reports for the statement.
    /// `None` if the statement neither is nor was meant to be a video instruction.
    ///
    /// Earlier declarations decide what the names of the statement mean, so each call reads the
    /// declarations at the top of the text and in the function around the statement.
    /// [`Tree::video_instructions`] reads all declarations once.
    ///
    /// ```
    /// use vptx::syntax;
    /// use vptx::video::OperandName;
    ///
    /// let tree = syntax::parse(
    ///     ".func f(.reg .u32 d, .reg .u32 a) { vmin.u32.u32.u32 d, a.b2, 7; vmin.u32 d, a; }",
    /// );
    /// let function = tree.functions().next().unwrap();
    /// let statements: Vec<_> = function.statements().collect();
    /// let checked = statements[0].video().unwrap()?;
    /// assert_eq!(checked.instruction.to_string(), "vmin.u32.u32.u32 d, a.b2, 7;");
    /// let selector = checked.spans.operands[1].selector.unwrap();
    /// assert_eq!(selector.text(tree.source()), ".b2");
    /// assert_eq!(checked.declared.get(OperandName::B), None);
    ///
    /// let errors = statements[1].video().unwrap().unwrap_err();
    /// assert_eq!(errors[0].message, "`vmin` needs 3 types, found 1");
    /// # Ok::<(), Vec<vptx::Diagnostic>>(())
    /// ```
    pub fn video(self) -> Option<Result<CheckedInstruction, Vec<Diagnostic>>> {
        if !is_video(self) {
            return None;
        }
        let mut scopes = Scopes::default();
        scopes.read_up_to(self);
        Some(scopes.check(self))
    }
}

impl Tree<'_> {
    /// The statements that are, or were meant to be, video instructions, in the order of the text:
    /// each with the result of [`Statement::video`].
    pub fn video_instructions(
        &self,
    ) -> impl Iterator<Item = (Statement<'_>, Result<CheckedInstruction, Vec<Diagnostic>>)> {
        let mut scopes = Scopes::default();
        self.all_statements().filter_map(move |statement| {
            scopes.read(statement);
            is_video(statement).then(|| (statement, scopes.check(statement)))
        })
    }
}

/// Whether a statement is, or was meant to be, a video instruction.
fn is_video(statement: Statement<'_>) -> bool {
    let StatementKind::Instruction(instruction) = statement.kind() else { return false };
    let source = statement.tree().source();
    let mnemonic = instruction.mnemonic().text(source);
    is_wanted(mnemonic) || is_wanted(instruction.opcode().text(source))
}

/// The names that a statement of a tree sees, and the directives in force.
#[derive(Default)]
struct Scopes<'t> {
    context: Context<'t>,
    /// The blocks around the statement that is read.
    open: Vec<Statement<'t>>,
    /// The function whose body may follow.
    header: Option<Function<'t>>,
}

impl<'t> Scopes<'t> {
    /// Reads all statements before a statement, except inside functions that do not hold it.
    fn read_up_to(&mut self, last: Statement<'t>) {
        let mut around: Vec<Statement<'t>> =
            std::iter::successors(last.parent(), |it| it.parent()).collect();
        let mut statements = last.tree().statements();
        loop {
            let holder = around.pop();
            for statement in statements.take_while(|it| *it != last) {
                self.read(statement);
                if Some(statement) == holder {
                    break;
                }
            }
            let Some(holder) = holder else { break };
            statements = holder.children();
        }
        self.close_to(last.parent());
    }

    /// Closes the blocks that do not hold a statement with this parent.
    fn close_to(&mut self, parent: Option<Statement<'t>>) {
        while let Some(block) = self.open.last()
            && Some(*block) != parent
        {
            self.open.pop();
            self.context.close();
        }
    }

    /// Reads a statement without the statements inside it.
    fn read(&mut self, statement: Statement<'t>) {
        self.close_to(statement.parent());
        match statement.kind() {
            StatementKind::Directive(directive) => match directive.kind() {
                DirectiveKind::Version => {
                    self.context.is_module = true;
                    let span = directive.arguments().first().map(|number| number.span());
                    self.context.version = directive.version().zip(span);
                }
                DirectiveKind::Target => {
                    self.context.is_module = true;
                    let words = directive.arguments().iter().map(|word| word.span());
                    let source = statement.tree().source();
                    let target =
                        |span: Span| Some((span.text(source).parse::<Target>().ok()?, span));
                    self.context.target = words.rev().find_map(target).or(self.context.target);
                }
                _ => {}
            },
            StatementKind::Declaration(declaration) => {
                for name in declaration.names() {
                    let span = name.name();
                    let text = span.text(statement.tree().source());
                    match name.count() {
                        Some(count) => self.context.declare_range(text, count, name.kind(), span),
                        None => self.context.declare(text, name.kind(), span),
                    }
                }
            }
            StatementKind::Function(function) => {
                if let Some(name) = function.name() {
                    let text = name.text(statement.tree().source());
                    self.context.declare(text, SymbolKind::Function, name);
                }
                self.header = Some(function);
            }
            StatementKind::Block(_) => self.open(statement),
            StatementKind::Label(name) => {
                let text = name.text(statement.tree().source());
                self.context.declare(text, SymbolKind::Label, name);
            }
            StatementKind::Instruction(_) | StatementKind::Empty | StatementKind::Error => {}
        }
    }

    fn open(&mut self, block: Statement<'t>) {
        let start = block.span().start;
        self.open.push(block);
        match self.header.filter(|header| Some(header.statement()) == block.parent()) {
            None => self.context.open(start),
            Some(header) => {
                let of = header.statement().span().start;
                self.context.open_function(start, of, header.name());
                for parameter in header.results().chain(header.parameters()) {
                    let Some(name) = parameter.name() else { continue };
                    let text = name.name().text(block.tree().source());
                    self.context.declare(text, name.kind(), name.name());
                }
            }
        }
    }

    fn check(&mut self, statement: Statement<'t>) -> Result<CheckedInstruction, Vec<Diagnostic>> {
        let source = statement.tree().source();
        let tokens = statement.tokens();
        let wanted = WantedStatement { tokens, parsed: parse_instruction(source, tokens) };
        let options = CheckOptions::default().with_dialect(Dialect::Ptxas);
        let mut errors = Vec::new();
        self.context.settle();
        let (instruction, declared) =
            check_instruction(source, &wanted, &self.context, &options, &mut errors);
        if let (Some(instruction), Ok(raw)) = (instruction, &wanted.parsed) {
            let spans = StatementSpans::new(source, raw, Some(&instruction));
            return Ok(CheckedInstruction { instruction, declared, spans });
        }
        errors.retain(|error| error.severity == Severity::Error);
        Err(errors)
    }
}
