//! Edits of a text by way of its tree.

mod layout;
mod positions;
mod words;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::{Function, Instruction, Operand, Statement, StatementKind, Token, Tree, parse};
use crate::diagnostic::Edit;
use crate::source::{MAX_LEN, Span};
use layout::Inserted;
pub(crate) use layout::removed;
pub use positions::Edited;
pub(crate) use words::is_name;
use words::{Identifiers, NewNames};

/// Edits of a text, made by way of its [tree](super::parse).
///
/// ```
/// use vptx::syntax::{self, Edits};
///
/// let source = "\
/// .entry k() {
///     .reg .b32 %r<3>;
///     add.s32 %r1, %r2, 1; // next
///     ret;
/// }
/// ";
/// let tree = syntax::parse(source);
/// let function = tree.functions().next().unwrap();
/// let add = function.statements().nth(1).unwrap();
///
/// let mut edits = Edits::new(&tree);
/// let old = edits.fresh_register(&function, ".b32")?;
/// edits.insert_before(add, &format!("mov.b32 {old}, %r1;"))?;
/// let edited = edits.finish()?;
/// assert_eq!(
///     edited.text(),
///     "\
/// .entry k() {
///     .reg .b32 %r<3>;
///     .reg .b32 %vptx_0;
///     mov.b32 %vptx_0, %r1;
///     add.s32 %r1, %r2, 1; // next
///     ret;
/// }
/// "
/// );
/// assert_eq!(edited.to_new(add.span()).text(edited.text()), add.text());
/// # Ok::<(), syntax::EditsError>(())
/// ```
///
/// An edit is refused if it contradicts an earlier one, or if its text is of the wrong kind. A
/// refused edit changes nothing. Statements that are not edited stay the same, byte for byte. So do
/// comments, except those between the first and the last token of a removed or replaced part.
///
/// Inserted text takes the indentation of its neighbour and the line breaks of the text. Texts that
/// are inserted at one place stand in the order of the calls.
#[derive(Clone)]
pub struct Edits<'t> {
    tree: &'t Tree<'t>,
    changes: Vec<Change>,
    /// The parts that changes replace: the end of each, by its start. They do not overlap.
    claims: BTreeMap<u32, u32>,
    /// The parts that must stay, since text was inserted at them.
    anchors: BTreeSet<(u32, u32)>,
    /// New parameters and registers, by the start of their function.
    additions: BTreeMap<u32, Additions<'t>>,
    /// The words of the text, read at the first call that needs them.
    words: Option<Identifiers<'t>>,
    /// The number of fresh names so far.
    fresh: usize,
    /// The names that renaming wrote.
    renamed: NewNames,
    /// New registers, and the names that inserted text declares.
    added: NewNames,
}

impl fmt::Debug for Edits<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (changes, additions) = (&self.changes, self.additions.values());
        f.debug_struct("Edits")
            .field("changes", changes)
            .field("additions", &additions.collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}

#[derive(Clone, Debug)]
struct Change {
    span: Span,
    side: Side,
    text: String,
}

/// The order of texts that are inserted at one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Side {
    /// Text that belongs to the statement or instruction that ends in front of it.
    Part,
    After,
    Before,
}

#[derive(Clone, Debug)]
struct Additions<'t> {
    function: Function<'t>,
    /// The new parameters, with their names.
    parameters: Vec<(String, String)>,
    /// The names of the new registers, with their type.
    registers: Vec<(String, Vec<String>)>,
}

/// The reason why an edit is refused. The edits before it stay.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EditsError {
    /// A statement, an instruction, an operand or a function of another tree.
    #[error("this belongs to another tree than the one that is edited")]
    OtherTree,
    /// An earlier edit changes or removes the same part, or inserts text at a part that would be
    /// removed.
    #[error("an earlier edit changes this part of the text, too")]
    Conflict {
        /// The part that the earlier edit changes, or at which it inserts text.
        span: Span,
    },
    /// The text is of the wrong kind.
    #[error("`{text}` is not {wanted}")]
    Unfit {
        /// The kind that is wanted.
        wanted: EditedPart,
        /// The text.
        text: String,
    },
    /// There is no such part.
    #[error("{0} is missing")]
    Missing(EditedPart),
    /// A name that the text, or an earlier edit, has already.
    #[error("the text has the name `{0}` already")]
    Taken(String),
    /// Each edit is valid by itself. But the edits together, or one edit at its place, would change
    /// what another statement is.
    #[error("the edits would change how the text around them is read")]
    Disturbs {
        /// The statement of the old text that would change, or the new error.
        span: Span,
    },
    /// The new text would be longer than 4 GiB.
    #[error("the text would be longer than 4 GiB")]
    TooLong,
}

/// The parts of a text that can be edited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EditedPart {
    /// One statement or more.
    Statement,
    /// An operand.
    Operand,
    /// A modifier, with its dot.
    Modifier,
    /// A guard predicate, with its `@`.
    Guard,
    /// A name.
    Name,
    /// The type of a register, with its dot.
    Type,
    /// The parameter of a function.
    Parameter,
    /// The body of a function.
    Body,
}

impl fmt::Display for EditedPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            EditedPart::Statement => "a statement",
            EditedPart::Operand => "an operand",
            EditedPart::Modifier => "a modifier",
            EditedPart::Guard => "a guard",
            EditedPart::Name => "a name",
            EditedPart::Type => "a type of registers",
            EditedPart::Parameter => "a parameter",
            EditedPart::Body => "the body",
        })
    }
}

type Result<T> = std::result::Result<T, EditsError>;

impl<'t> Edits<'t> {
    /// No edits yet.
    pub fn new(tree: &'t Tree<'t>) -> Edits<'t> {
        Edits {
            tree,
            changes: Vec::new(),
            claims: BTreeMap::new(),
            anchors: BTreeSet::new(),
            additions: BTreeMap::new(),
            words: None,
            fresh: 0,
            renamed: NewNames::default(),
            added: NewNames::default(),
        }
    }

    /// Replaces a statement by one or more.
    ///
    /// # Errors
    /// If the text is not whole statements, or the statement is edited already.
    pub fn replace(&mut self, statement: Statement<'t>, text: &str) -> Result<()> {
        self.own(statement.tokens())?;
        let text = Inserted::new(text)?;
        let declared = self.declared(&text)?;
        self.claim(statement.span())?;
        self.added.extend(declared);
        let text = text.in_place_of(statement);
        self.change(statement.span(), Side::Part, text);
        Ok(())
    }

    /// Removes a statement, and its line if it has one to itself.
    ///
    /// Comments before and behind it stay.
    ///
    /// # Errors
    /// If the statement is edited already.
    pub fn remove(&mut self, statement: Statement<'t>) -> Result<()> {
        self.own(statement.tokens())?;
        self.claim(statement.span())?;
        let with_blanks = layout::removed(self.tree.source(), statement.span());
        self.change(with_blanks, Side::Part, String::new());
        Ok(())
    }

    /// Inserts statements before a given statement, and before the comments right above it.
    ///
    /// # Errors
    /// If the text is not whole statements, or the given statement is removed or replaced.
    pub fn insert_before(&mut self, statement: Statement<'t>, text: &str) -> Result<()> {
        let (place, text) = self.inserted(statement, text)?.before(statement);
        self.change(Span::at(place), Side::Before, text);
        Ok(())
    }

    /// Inserts statements after a given statement, and after the comments behind it on its line.
    ///
    /// # Errors
    /// If the text is not whole statements, or the given statement is removed or replaced.
    pub fn insert_after(&mut self, statement: Statement<'t>, text: &str) -> Result<()> {
        let (place, text) = self.inserted(statement, text)?.after(statement);
        self.change(Span::at(place), Side::After, text);
        Ok(())
    }

    /// Text to insert beside a statement.
    fn inserted<'i>(&mut self, statement: Statement<'t>, text: &'i str) -> Result<Inserted<'i>> {
        self.own(statement.tokens())?;
        let text = Inserted::new(text)?;
        let declared = self.declared(&text)?;
        self.anchor(statement.span())?;
        self.added.extend(declared);
        Ok(text)
    }

    /// The names that inserted text declares. Renaming must not have written them.
    fn declared(&self, text: &Inserted<'_>) -> Result<Vec<(String, bool)>> {
        let declared = text.declared();
        let is_taken = |(name, is_range): &&(String, bool)| match is_range {
            true => self.renamed.has_numbered(name),
            false => self.renamed.has(name),
        };
        match declared.iter().find(is_taken) {
            Some((name, _)) => Err(EditsError::Taken(name.clone())),
            None => Ok(declared),
        }
    }

    /// Replaces an operand, or an element of an operand, together with its sign and selector.
    ///
    /// # Errors
    /// If the text is not an operand, or the operand or its statement is edited already.
    pub fn replace_operand(&mut self, operand: &Operand<'t>, text: &str) -> Result<()> {
        self.own(operand.tokens())?;
        let is_list = operand.tokens().first().is_some_and(|token| token.is(b'('));
        let word = if is_list { "call" } else { "x" };
        let is_operand = is_instruction(&format!("{word} {text};"), |instruction| {
            let mut operands = instruction.operands();
            let only = operands.next().is_some_and(|it| it.text() == text);
            only && operands.next().is_none()
        });
        fit(is_operand, EditedPart::Operand, text)?;
        self.claim(operand.span())?;
        self.change(operand.span(), Side::Part, text.into());
        Ok(())
    }

    /// Inserts a modifier, such as `.sat`, before the modifier with index `at`. If `at` is the
    /// number of modifiers, inserts it behind the last one.
    ///
    /// # Errors
    /// If the text is not a modifier, `at` is greater than the number of modifiers, or the
    /// instruction is removed or replaced.
    pub fn insert_modifier(
        &mut self,
        instruction: &Instruction<'t>,
        at: usize,
        text: &str,
    ) -> Result<()> {
        self.own(instruction.tokens())?;
        is_modifier(text)?;
        let mut before = std::iter::once(instruction.mnemonic()).chain(instruction.modifiers());
        let before = before.nth(at).ok_or(EditsError::Missing(EditedPart::Modifier))?;
        self.anchor(whole(instruction.tokens()))?;
        self.change(Span::at(before.end), Side::Part, text.into());
        Ok(())
    }

    /// Replaces the modifier with index `at`.
    ///
    /// # Errors
    /// If the text is not a modifier, there is no such modifier, or the modifier or its instruction
    /// is edited already.
    pub fn replace_modifier(
        &mut self,
        instruction: &Instruction<'t>,
        at: usize,
        text: &str,
    ) -> Result<()> {
        is_modifier(text)?;
        let modifier = self.modifier(instruction, at)?;
        self.claim(modifier)?;
        self.change(modifier, Side::Part, text.into());
        Ok(())
    }

    /// Removes the modifier with index `at`.
    ///
    /// # Errors
    /// If there is no such modifier, or the modifier or its instruction is edited already.
    pub fn remove_modifier(&mut self, instruction: &Instruction<'t>, at: usize) -> Result<()> {
        let modifier = self.modifier(instruction, at)?;
        self.claim(modifier)?;
        let with_blanks = layout::removed_modifier(self.tree.source(), modifier);
        self.change(with_blanks, Side::Part, String::new());
        Ok(())
    }

    fn modifier(&self, instruction: &Instruction<'t>, at: usize) -> Result<Span> {
        self.own(instruction.tokens())?;
        instruction.modifiers().nth(at).ok_or(EditsError::Missing(EditedPart::Modifier))
    }

    /// Gives an instruction a guard, such as `@!%p1`. The new guard replaces an old one.
    ///
    /// # Errors
    /// If the text is not a guard, or the guard or its instruction is edited already.
    pub fn set_guard(&mut self, instruction: &Instruction<'t>, text: &str) -> Result<()> {
        self.own(instruction.tokens())?;
        let is_guard = is_instruction(&format!("{text} ret;"), |it| {
            it.guard().is_some_and(|guard| guard.span.range() == (0..text.len()))
        });
        fit(is_guard, EditedPart::Guard, text)?;
        let mnemonic = instruction.mnemonic();
        let (place, text) = match instruction.guard() {
            Some(guard) => (guard.span, text.to_string()),
            None => (mnemonic, format!("{text} {}", mnemonic.text(self.tree.source()))),
        };
        self.claim(place)?;
        self.change(place, Side::Part, text);
        Ok(())
    }

    /// Removes the guard of an instruction.
    ///
    /// # Errors
    /// If the instruction has no guard, or the guard or the instruction is edited already.
    pub fn remove_guard(&mut self, instruction: &Instruction<'t>) -> Result<()> {
        self.own(instruction.tokens())?;
        let guard = instruction.guard().ok_or(EditsError::Missing(EditedPart::Guard))?;
        self.claim(guard.span)?;
        let end = layout::blanks_end(self.tree.source(), guard.span.end);
        self.change(Span::new(guard.span.start, end), Side::Part, String::new());
        Ok(())
    }

    /// The tree that is edited.
    pub fn tree(&self) -> &'t Tree<'t> {
        self.tree
    }

    /// Writes another name at all given places.
    ///
    /// # Errors
    /// If `name` is not a name, the text that is edited or an earlier edit has it already, in any
    /// scope, a place holds no name, or a place is edited already.
    pub fn rename(&mut self, places: impl IntoIterator<Item = Span>, name: &str) -> Result<()> {
        fit(words::is_name(name), EditedPart::Name, name)?;
        if self.words().has(name) || self.renamed.has(name) || self.added.has(name) {
            return Err(EditsError::Taken(name.into()));
        }
        self.rename_each(places.into_iter().map(|place| (place, name.into())).collect())?;
        self.renamed.extend([(name.to_string(), false)]);
        Ok(())
    }

    /// Like [`Edits::rename`], for the registers of a range. `places` holds the span of each name
    /// with the number behind it; a name before a `<` has an empty number.
    pub(crate) fn rename_range(
        &mut self,
        places: impl IntoIterator<Item = (Span, String)>,
        name: &str,
    ) -> Result<()> {
        let is_start = !name.ends_with(|c: char| c.is_ascii_digit());
        fit(is_start && words::is_name(&format!("{name}0")), EditedPart::Name, name)?;
        let given = [&self.renamed, &self.added].iter().any(|names| names.has_numbered(name));
        if given || self.words().has_numbered(name) {
            return Err(EditsError::Taken(name.into()));
        }
        let named = |(place, number): (Span, String)| (place, format!("{name}{number}"));
        self.rename_each(places.into_iter().map(named).collect())?;
        self.renamed.extend([(name.to_string(), true)]);
        Ok(())
    }

    fn rename_each(&mut self, places: BTreeMap<Span, String>) -> Result<()> {
        for &place in places.keys() {
            if !words::is_word_of(self.tree, place) {
                return Err(EditsError::Missing(EditedPart::Name));
            }
            self.unclaimed(place)?;
        }
        for (place, name) in places {
            self.claim(place)?;
            self.change(place, Side::Part, name);
        }
        Ok(())
    }

    /// Declares a new register of a type such as `.b32`, and returns its name, which nothing else
    /// in the text has. The declaration goes to the start of the function's body, behind the
    /// declarations there.
    ///
    /// # Errors
    /// If the text is not a type, or the function's body is missing, removed or replaced.
    pub fn fresh_register(&mut self, function: &Function<'t>, ty: &str) -> Result<String> {
        self.own(function.head())?;
        fit(words::is_type(ty), EditedPart::Type, ty)?;
        let body = function.body().ok_or(EditsError::Missing(EditedPart::Body))?;
        self.anchor(body.span())?;
        let name = self.fresh("%vptx_");
        self.added.extend([(name.clone(), false)]);
        let registers = &mut self.additions(*function).registers;
        match registers.iter_mut().find(|(known, _)| known == ty) {
            Some((_, names)) => names.push(name.clone()),
            None => registers.push((ty.into(), vec![name.clone()])),
        }
        Ok(name)
    }

    /// A name that nothing else in the text has, for a new label, parameter or variable, or for
    /// [`Edits::rename`]. The caller inserts a label as `NAME:`.
    pub fn fresh_label(&mut self) -> String {
        self.fresh("$vptx_")
    }

    /// Adds a parameter, such as `.param .u64 counts`, behind the other parameters of a function.
    ///
    /// # Errors
    /// If the text is not a parameter, the function has a parameter with its name, or the function
    /// is removed or replaced or has no name.
    pub fn add_parameter(&mut self, function: &Function<'t>, text: &str) -> Result<()> {
        self.own(function.head())?;
        let unfit = || EditsError::Unfit { wanted: EditedPart::Parameter, text: text.into() };
        let name = words::parameter(text).ok_or_else(unfit)?;
        let added = self.additions.get(&function.statement().span().start);
        let mut added = added.into_iter().flat_map(|it| &it.parameters);
        let own = function.parameters().chain(function.results()).filter_map(|it| it.name());
        let mut own = own.map(|it| it.name().text(self.tree.source()));
        let is_taken = added.any(|(other, _)| *other == name) || own.any(|it| it == name);
        if is_taken || self.renamed.has(&name) {
            return Err(EditsError::Taken(name));
        }
        function.name().ok_or(EditsError::Missing(EditedPart::Name))?;
        self.anchor(function.statement().span())?;
        self.added.extend([(name.clone(), false)]);
        self.additions(*function).parameters.push((name, text.into()));
        Ok(())
    }

    /// The new text.
    ///
    /// # Errors
    /// If the edits together would cause an error of syntax or change what another statement is, or
    /// if the text would be too long.
    pub fn finish(mut self) -> Result<Edited> {
        for (_, additions) in std::mem::take(&mut self.additions) {
            self.add(&additions);
        }
        let mut changes = std::mem::take(&mut self.changes);
        changes.sort_by_key(|it| (it.span.start, !it.span.is_empty(), it.side));
        let source = self.tree.source();
        let mut edits: Vec<Edit> = Vec::with_capacity(changes.len());
        for Change { mut span, text, .. } in changes {
            // Statements that are removed side by side share the blanks between them.
            let end = edits.last().map_or(0, |edit| edit.span.end);
            span = Span::new(span.start.max(end), span.end.max(end));
            edits.push(Edit::replace(span, text));
        }
        words::separate(source, &mut edits);
        let removed: usize = edits.iter().map(|edit| edit.span.range().len()).sum();
        let added: usize = edits.iter().map(|edit| edit.replacement.len()).sum();
        if source.len() - removed + added > MAX_LEN {
            return Err(EditsError::TooLong);
        }
        let edited = Edited::new(source, edits);
        self.check(&edited)?;
        Ok(edited)
    }

    /// Inserts the new parameters and registers of a function.
    fn add(&mut self, additions: &Additions<'t>) {
        let Additions { function, parameters, registers } = additions;
        let parameters: Vec<&str> = parameters.iter().map(|(_, text)| &**text).collect();
        if let Some((place, text)) = layout::parameters(function, &parameters) {
            self.change(Span::at(place), Side::Part, text);
        }
        let Some(body) = function.body().filter(|_| !registers.is_empty()) else { return };
        // Registers must be declared before they are used. They follow the declarations at the
        // start of the body, up to the first one that is edited or has text inserted at it.
        let is_kept = |it: &Statement<'t>| {
            let Span { start, end } = it.span();
            matches!(it.kind(), StatementKind::Declaration(_))
                && self.claims.range(start..end).next().is_none()
                && !self.anchors.contains(&(start, end))
        };
        let last = body.children().take_while(is_kept).last();
        let lines = registers.iter().map(|(ty, names)| format!(".reg {ty} {};", names.join(", ")));
        let lines = lines.collect::<Vec<_>>().join("\n");
        let text = Inserted::new(&lines).expect("declarations of registers are statements");
        let (place, text) = match last {
            Some(declaration) => text.after(declaration),
            None => text.first_in(body),
        };
        self.change(Span::at(place), Side::Part, text);
    }

    /// Checks that the new text has no new error, and still has every statement that is not edited.
    fn check(&self, edited: &Edited) -> Result<()> {
        let new = parse(edited.text());
        let old = self.tree.errors();
        let mut is_found = vec![false; old.len()];
        for error in new.errors() {
            let span = edited.to_old(error.span);
            let first = old.partition_point(|it| it.span.start < span.start);
            let there = old[first..].iter().take_while(|it| it.span.start == span.start);
            let mut same = (first..).zip(there).filter(|(_, it)| it.kind == error.kind);
            match same.find(|(at, _)| !is_found[*at]) {
                Some((at, _)) => is_found[at] = true,
                None => return Err(EditsError::Disturbs { span }),
            }
        }
        let mut found = new.all_statements();
        let kept = self.tree.all_statements().filter(|it| !self.is_gone(it.span()));
        for statement in kept {
            let span = edited.to_new(statement.span());
            if !found.any(|it| it.span() == span && it.is_like(statement)) {
                return Err(EditsError::Disturbs { span: statement.span() });
            }
        }
        Ok(())
    }

    fn fresh(&mut self, start: &str) -> String {
        loop {
            let number = self.fresh;
            self.fresh += 1;
            let name = self.words().fresh(start, number);
            if !self.renamed.has(&name) && !self.added.has(&name) {
                return name;
            }
        }
    }

    fn words(&mut self) -> &Identifiers<'t> {
        self.words.get_or_insert_with(|| Identifiers::of(self.tree))
    }

    fn additions(&mut self, function: Function<'t>) -> &mut Additions<'t> {
        let start = function.statement().span().start;
        self.additions.entry(start).or_insert_with(|| Additions {
            function,
            parameters: Vec::new(),
            registers: Vec::new(),
        })
    }

    fn change(&mut self, span: Span, side: Side, text: String) {
        self.changes.push(Change { span, side, text });
    }

    /// Checks that tokens belong to the tree.
    fn own(&self, tokens: &[Token]) -> Result<()> {
        let all = self.tree.tokens().as_ptr_range();
        // A missing operand has no tokens, so that its empty slice may stand at the end of all.
        let is_own = all.contains(&tokens.as_ptr()) || tokens.as_ptr() == all.end;
        if is_own { Ok(()) } else { Err(EditsError::OtherTree) }
    }

    /// Whether a part of the text is removed or replaced.
    fn is_gone(&self, part: Span) -> bool {
        self.claim_at(part.start).is_some_and(|claim| part.end <= claim.end)
    }

    /// The last claim that starts at or before an offset.
    fn claim_at(&self, offset: u32) -> Option<Span> {
        let (&start, &end) = self.claims.range(..=offset).next_back()?;
        Some(Span::new(start, end))
    }

    /// Checks that no earlier edit touches a part of the text.
    fn unclaimed(&self, part: Span) -> Result<()> {
        let around = self.claim_at(part.start).filter(|it| it.end > part.start || *it == part);
        let inside = self.claims.range(part.start..part.end).next();
        let claimed = around.or_else(|| inside.map(|(&start, &end)| Span::new(start, end)));
        let mut anchors = self.anchors.range((part.start, 0)..(part.end, 0));
        let anchored = || {
            let (start, end) = anchors.find(|(_, end)| *end <= part.end)?;
            Some(Span::new(*start, *end))
        };
        match claimed.or_else(anchored) {
            Some(span) => Err(EditsError::Conflict { span }),
            None => Ok(()),
        }
    }

    /// Reserves a part of the text for one edit, which replaces it.
    fn claim(&mut self, part: Span) -> Result<()> {
        self.unclaimed(part)?;
        self.claims.insert(part.start, part.end);
        Ok(())
    }

    /// Protects a part of the text from removal, as another text is inserted at it.
    fn anchor(&mut self, part: Span) -> Result<()> {
        if let Some(span) = self.claim_at(part.start).filter(|claim| part.end <= claim.end) {
            return Err(EditsError::Conflict { span });
        }
        self.anchors.insert((part.start, part.end));
        Ok(())
    }
}

fn whole(tokens: &[Token]) -> Span {
    tokens[0].span().to(tokens[tokens.len() - 1].span())
}

/// Refuses a text unless it is of the wanted kind.
fn fit(is_fit: bool, wanted: EditedPart, text: &str) -> Result<()> {
    if is_fit { Ok(()) } else { Err(EditsError::Unfit { wanted, text: text.into() }) }
}

/// Whether a text is one instruction without errors that fulfils a condition.
fn is_instruction(text: &str, is_fit: impl FnOnce(&Instruction<'_>) -> bool) -> bool {
    if text.len() > MAX_LEN {
        return false;
    }
    let tree = parse(text);
    let mut statements = tree.statements();
    let is_fit = match statements.next().map(Statement::kind) {
        Some(StatementKind::Instruction(it)) => is_fit(&it),
        _ => false,
    };
    is_fit && tree.errors().is_empty() && statements.next().is_none()
}

fn is_modifier(text: &str) -> Result<()> {
    let is_modifier = is_instruction(&format!("x{text};"), |it| {
        let mut modifiers = it.modifiers();
        modifiers.len() == 1 && modifiers.next().is_some_and(|it| it.range().len() == text.len())
    });
    fit(is_modifier, EditedPart::Modifier, text)
}
