//! A text with the meanings of its names.

use super::NormalOptions;
use crate::hash::{Map, Set};
use crate::names::{Names, SymbolId, SymbolKind, Use, labels_of_pragmas};
use crate::source::Span;
use crate::syntax::{self, DirectiveKind, StatementKind, Token, Tree};

/// A text with its names.
pub(super) struct Reading<'s> {
    pub(super) tree: Tree<'s>,
    pub(super) names: Names,
    pub(super) functions: Vec<FunctionSpans>,
    /// Labels with their colons, without the labels that a directive needs.
    pub(super) labels: Vec<Span>,
    /// Debug data that is left out, in order.
    pub(super) dropped: Vec<Span>,
    /// The symbols that debug data names, if debug data is kept. Debug data can name what any
    /// function declares.
    debugged: Set<SymbolId>,
    /// Names that do not change.
    kept: Set<&'s str>,
    /// The variables of the module whose names change, and the names that the text does not
    /// declare, in the order of their first use.
    shared: Vec<Shared<'s>>,
}

struct Shared<'s> {
    name: &'s str,
    /// Whether the text declares the name.
    is_own: bool,
}

impl<'s> Reading<'s> {
    pub(super) fn new(text: &'s str, options: NormalOptions) -> Reading<'s> {
        let tree = syntax::parse(text);
        let names = Names::of(&tree);
        let (mut dropped, mut debugged) = (Vec::new(), Set::default());
        if options.keep_debug {
            let debugging = names.uses().iter().filter(|it| it.span().is_in(&names.debug));
            debugged = debugging.filter_map(Use::symbol).collect();
        } else {
            dropped.extend(&names.debug);
            dropped.extend(debug_options(&tree));
            dropped.sort_unstable();
        }
        let (kept, shared) = (Set::default(), Vec::new());
        let functions = functions(&tree);
        let labels = labels(&tree);
        let mut reading =
            Reading { tree, names, functions, labels, dropped, debugged, kept, shared };
        if !options.keep_names {
            reading.read_shared();
        }
        reading
    }

    pub(super) fn text(&self) -> &'s str {
        self.tree.source()
    }

    fn read_shared(&mut self) {
        let names = &self.names;
        let mut shared = Vec::new();
        let mut seen = Set::default();
        let mut dropped = Within::new(&self.dropped);
        for use_ in names.uses() {
            if use_.symbol().is_some_and(|symbol| !self.is_shared(symbol)) {
                continue;
            }
            let name = use_.span().text(self.text());
            if dropped.has(use_.span()) {
                if use_.symbol().is_none() {
                    self.kept.insert(name);
                }
            } else if seen.insert(name) && use_.symbol().is_none_or(|symbol| !self.stays(symbol)) {
                shared.push(Shared { name, is_own: use_.symbol().is_some() });
            }
        }
        let kept = names.symbols().filter(|(id, _)| self.stays(*id));
        let kept: Vec<&str> = kept.map(|(_, symbol)| symbol.name.text(self.text())).collect();
        self.kept.extend(kept);
        self.shared = shared;
    }

    /// The uses of names outside of the parts that are left out.
    pub(super) fn live(&self) -> impl Iterator<Item = &Use> {
        let mut dropped = Within::new(&self.dropped);
        self.names.uses().iter().filter(move |it| !dropped.has(it.span()))
    }

    /// Whether all functions can see a symbol.
    pub(super) fn is_shared(&self, id: SymbolId) -> bool {
        let symbol = self.names.symbol(id);
        // A label outside of functions belongs to the statements there.
        symbol.is_global() && symbol.kind != SymbolKind::Label
    }

    /// Whether a symbol keeps its name: others may know the symbol by its name, or the name cannot
    /// be changed.
    pub(super) fn stays(&self, id: SymbolId) -> bool {
        if self.debugged.contains(&id) {
            return true;
        }
        let symbol = self.names.symbol(id);
        match symbol.kind {
            // ptxas sorts tables of functions by name.
            SymbolKind::Function => true,
            SymbolKind::Variable | SymbolKind::Parameter => symbol.is_exported,
            // Ranges of vectors, and registers outside of functions, are rare.
            SymbolKind::Register => {
                symbol.is_global() || symbol.plain_ty.is_none() && symbol.count.is_some()
            }
            SymbolKind::Label => symbol.is_global() && !self.functions.is_empty(),
        }
    }
}

/// The places of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FunctionSpans {
    pub(super) start: u32,
    /// From `{` to `}`; empty if the function has no body.
    pub(super) body: Span,
}

fn functions(tree: &Tree<'_>) -> Vec<FunctionSpans> {
    let spans = |function: syntax::Function<'_>| {
        let whole = function.statement().span();
        let body = function.body().map_or(Span::at(whole.end), syntax::Statement::span);
        FunctionSpans { start: whole.start, body }
    };
    tree.functions().map(spans).collect()
}

fn labels(tree: &Tree<'_>) -> Vec<Span> {
    let tokens = tree.tokens();
    let mut labels = Vec::new();
    let pragmas = labels_of_pragmas(tree);
    for statement in tree.all_statements() {
        match statement.kind() {
            StatementKind::Label(name) => {
                let at = statement.first_token();
                let next = tokens.get(at + 2).map_or("", |next| next.span().text(tree.source()));
                let is_needed =
                    matches!(next, ".branchtargets" | ".calltargets" | ".callprototype")
                        || pragmas.binary_search(&name.start).is_ok();
                if !is_needed {
                    labels.push(name.to(tokens[at + 1].span()));
                }
            }
            StatementKind::Directive(directive) => {
                let words = directive.arguments();
                labels.extend(directive.labels().map(|name| {
                    let colon = words.partition_point(|word| word.span().start <= name.start);
                    name.to(words[colon].span())
                }));
            }
            _ => {}
        }
    }
    labels
}

/// The options `debug` of `.target`, each with the comma before it: ptxas refuses them without
/// debug data.
fn debug_options(tree: &Tree<'_>) -> impl Iterator<Item = Span> {
    let targets = tree.all_statements().filter_map(|statement| match statement.kind() {
        StatementKind::Directive(it) if it.kind() == DirectiveKind::Target => Some(it.arguments()),
        _ => None,
    });
    let is_debug = |word: &Token| word.span().text(tree.source()) == "debug";
    let pairs = targets.flat_map(|arguments| arguments.windows(2));
    pairs
        .filter(move |pair| pair[0].is(b',') && is_debug(&pair[1]))
        .map(|pair| pair[0].span().to(pair[1].span()))
}

/// The names that all functions of a text share.
pub(super) struct Globals<'s> {
    /// Names that do not change.
    kept: Set<&'s str>,
    /// The new names of variables.
    pub(super) new: Map<&'s str, String>,
}

impl<'s> Globals<'s> {
    /// Names the variables of a text in the order of their use. `None` if a name has two meanings.
    pub(super) fn new(reading: &Reading<'s>) -> Option<Globals<'s>> {
        let Reading { kept, shared, .. } = reading;
        let (own, foreign): (Vec<_>, Vec<_>) = shared.iter().partition(|it| it.is_own);
        // Of two declarations of a name, one may be exported.
        if own.iter().any(|it| kept.contains(it.name)) {
            return None;
        }
        let mut globals = Globals { kept: kept.clone(), new: Map::default() };
        globals.kept.extend(foreign.iter().map(|it| it.name));
        for (own, count) in own.iter().zip(1..) {
            globals.new.insert(own.name, globals.free("global_", count));
        }
        Some(globals)
    }

    /// A name with a number that is different from all names that stay.
    pub(super) fn free(&self, prefix: &str, count: u64) -> String {
        let mut name = format!("{prefix}{count}");
        while self.kept.contains(&*name) {
            name.push('_');
        }
        name
    }

    /// A name for a range whose registers have none of the names that stay.
    pub(super) fn free_range(&self, prefix: &str) -> String {
        let collides = |prefix: &str| {
            let rests = self.kept.iter().filter_map(|kept| kept.strip_prefix(prefix));
            rests.into_iter().any(|rest| rest.bytes().all(|byte| byte.is_ascii_digit()))
        };
        let mut prefix = prefix.to_string();
        while collides(&prefix) {
            prefix.push('_');
        }
        prefix
    }
}

/// Tells whether spans lie in one of several sorted spans. The spans must come in order.
pub(super) struct Within<'w> {
    spans: &'w [Span],
    next: usize,
}

impl Within<'_> {
    pub(super) fn new(spans: &[Span]) -> Within<'_> {
        Within { spans, next: 0 }
    }

    pub(super) fn has(&mut self, span: Span) -> bool {
        while self.spans.get(self.next).is_some_and(|other| other.end < span.end) {
            self.next += 1;
        }
        self.spans.get(self.next).is_some_and(|other| other.start <= span.start)
    }
}
