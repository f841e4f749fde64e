//! Names of a text that is read as a whole or in parts.

use super::NormalOptions;
use crate::hash::{Map, Set};
use crate::names::{Names, SymbolKind, Use, Word, WordKind, read_words};
use crate::source::Span;

/// A text, or a part of one, with its names.
pub(super) struct Reading<'s> {
    pub(super) text: &'s str,
    pub(super) names: Names,
    /// Data of debuggers that is left out, in order.
    pub(super) dropped: Vec<Span>,
    /// What data of debuggers names, if that is kept: it sees all functions. `None` is something
    /// that another part may declare.
    debugged: Set<Option<u32>>,
    /// Names that stay.
    kept: Set<&'s str>,
    /// The variables that all functions see and whose names change, and the names that the part
    /// does not declare, in the order of their first use.
    shared: Vec<Shared<'s>>,
}

struct Shared<'s> {
    name: &'s str,
    /// Whether the part declares it.
    is_own: bool,
}

impl<'s> Reading<'s> {
    pub(super) fn new(text: &'s str, options: NormalOptions) -> Reading<'s> {
        let names = read_words(text, Span::new(0, text.len() as u32));
        let (mut dropped, mut debugged) = (Vec::new(), Set::default());
        if options.keep_debug {
            let debugging = names.uses.iter().filter(|it| it.span.is_in(&names.debug));
            debugged = debugging.map(Use::symbol).collect();
        } else {
            dropped.extend(&names.debug);
            dropped.extend(debug_options(text, &names.words));
            dropped.sort_unstable();
        }
        let (kept, shared) = (Set::default(), Vec::new());
        let mut reading = Reading { text, names, dropped, debugged, kept, shared };
        if !options.keep_names {
            reading.read_shared();
        }
        reading
    }

    fn read_shared(&mut self) {
        let names = &self.names;
        let mut shared = Vec::new();
        let mut seen = Set::default();
        let mut dropped = Within::new(&self.dropped);
        for use_ in &names.uses {
            if use_.symbol().is_some_and(|symbol| !self.is_shared(symbol)) {
                continue;
            }
            let name = use_.span.text(self.text);
            if dropped.has(use_.span) {
                if use_.symbol().is_none() {
                    self.kept.insert(name);
                }
            } else if seen.insert(name) && use_.symbol().is_none_or(|symbol| !self.stays(symbol)) {
                shared.push(Shared { name, is_own: use_.symbol().is_some() });
            }
        }
        let symbols = names.symbols.iter().zip(0..);
        let kept = symbols.filter(|(_, number)| self.stays(*number));
        let kept: Vec<&str> = kept.map(|(symbol, _)| symbol.name.text(self.text)).collect();
        self.kept.extend(kept);
        self.shared = shared;
    }

    /// Whether it means the same between other parts.
    #[cfg(feature = "cli")]
    pub(super) fn stands_alone(&self) -> bool {
        let names = &self.names;
        !names.is_doubtful && names.unended.is_none() && self.debugged.is_empty()
    }

    /// The uses of names that are not left out.
    pub(super) fn live(&self) -> impl Iterator<Item = &Use> {
        let mut dropped = Within::new(&self.dropped);
        self.names.uses.iter().filter(move |it| !dropped.has(it.span))
    }

    /// Whether all functions see a symbol.
    pub(super) fn is_shared(&self, number: u32) -> bool {
        let symbol = self.names.symbol(number);
        // Labels outside of functions belong to statements without one.
        symbol.is_global && symbol.kind != SymbolKind::Label
    }

    /// Whether others may know a symbol by its name, or the name cannot be changed.
    pub(super) fn stays(&self, number: u32) -> bool {
        if self.debugged.contains(&Some(number)) {
            return true;
        }
        let symbol = self.names.symbol(number);
        match symbol.kind {
            // ptxas puts tables of functions in an order of their names.
            SymbolKind::Function => true,
            SymbolKind::Variable => symbol.is_exported(self.text),
            // Vectors in ranges, and registers outside of functions, are rare.
            SymbolKind::Register => {
                symbol.is_global || symbol.ty.is_empty() && symbol.count.is_some()
            }
            SymbolKind::Label => symbol.is_global && !self.names.functions.is_empty(),
            SymbolKind::Parameter => false,
        }
    }
}

/// The options `debug` of `.target`, with their commas: ptxas refuses them without debug data.
fn debug_options(source: &str, words: &[Word]) -> impl Iterator<Item = Span> {
    let is_target =
        |word: &Word| word.kind == WordKind::Directive && word.span.text(source) == ".target";
    let targets = (0..words.len()).filter(move |at| is_target(&words[*at]));
    let options = targets.flat_map(|target| {
        words[target + 1..].iter().take_while(|it| it.kind == WordKind::Modifier)
    });
    options.filter(|word| word.span.text(source) == "debug").filter_map(|word| {
        let comma = source[..word.span.start as usize].rfind(',')?;
        Some(Span::new(comma as u32, word.span.end))
    })
}

/// The names that all parts of a text share.
#[derive(Default)]
pub(super) struct Globals<'s> {
    /// Names that stay.
    kept: Set<&'s str>,
    /// The new names of variables.
    pub(super) new: Map<&'s str, String>,
}

impl<'s> Globals<'s> {
    /// Names the variables of a text in the order of their use. `None` if a name may mean
    /// something else in a part than in the whole.
    pub(super) fn new(parts: &[Reading<'s>]) -> Option<Globals<'s>> {
        let mut globals = Globals::default();
        let mut declared: Map<&str, usize> = Map::default();
        for (part, at) in parts.iter().zip(0..) {
            globals.kept.extend(&part.kept);
            for own in part.shared.iter().filter(|it| it.is_own) {
                if declared.insert(own.name, at).is_some() {
                    return None;
                }
            }
        }
        // A name that is declared twice may be exported once.
        if declared.keys().any(|name| globals.kept.contains(name)) {
            return None;
        }
        let (mut used, mut foreign) = (Vec::new(), Set::default());
        for (part, at) in parts.iter().zip(0..) {
            for shared in &part.shared {
                match declared.get(shared.name) {
                    Some(declared) if *declared <= at => used.push(shared.name),
                    Some(_) => return None,
                    None => {
                        foreign.insert(shared.name);
                    }
                }
            }
        }
        // Of a name that is declared nowhere before, the first label, parameter or variable in a
        // function may be meant.
        let is_in_doubt = |part: &Reading| {
            part.names.symbols.iter().any(|symbol| {
                let name = symbol.name.text(part.text);
                let stays = symbol.is_global && part.kept.contains(name);
                !matches!(symbol.kind, SymbolKind::Register | SymbolKind::Function)
                    && foreign.contains(name)
                    && !stays
            })
        };
        if parts.len() > 1 && parts.iter().any(is_in_doubt) {
            return None;
        }
        globals.kept.extend(foreign);
        for name in used {
            let count = globals.new.len() as u64 + 1;
            if !globals.new.contains_key(name) {
                globals.new.insert(name, globals.free("global_", count));
            }
        }
        Some(globals)
    }

    /// A counted name that is none of those that stay.
    pub(super) fn free(&self, prefix: &str, count: u64) -> String {
        let mut name = format!("{prefix}{count}");
        while self.kept.contains(&*name) {
            name.push('_');
        }
        name
    }

    /// The name of a range of registers that are none of those that stay.
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

/// Tells for spans in order whether they lie in one of several sorted spans.
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
