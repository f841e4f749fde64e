//! Names in whole texts: their meanings agree with the reader of `check` and with ptxas.

use std::collections::HashMap;
use std::fs;

use vptx::names::{Names, ScopeId, Symbol, SymbolKind, Use};
use vptx::source::{Span, decode};
use vptx::syntax::{
    Context, Handler, Problem, SymbolKind as Declared, TokenKind, WantedStatement, parse,
    read_plainly,
};

use crate::support::random::Random;
use crate::support::{ptx_files, samples};

/// The declarations that the reader finds for the names in operands, when it reads their
/// statements.
#[derive(Default)]
struct Asked<'s> {
    source: &'s str,
    /// For the position of a name, the kind and range of its declaration.
    known: HashMap<u32, Option<(Declared<'s>, Span)>>,
}

impl<'s> Handler<'s> for Asked<'s> {
    const INITIAL: u8 = b'a';

    fn wants(&self, _: &str) -> bool {
        true
    }

    fn statement(&mut self, statement: WantedStatement<'_>, context: &Context<'s>) {
        let words = statement.tokens.iter().filter(|token| token.kind() == TokenKind::Ident);
        for word in words {
            let name = word.span().text(self.source);
            let found = context.resolve(name).map(|symbol| (symbol.kind, symbol.span));
            self.known.insert(word.span().start, found);
        }
    }

    fn problem(&mut self, _: Problem) {}
}

/// The reader resolves names independently. It does not know a label before it has read the label.
#[test]
fn names_mean_what_the_reader_of_check_says() {
    let mut counts = HashMap::<_, u32>::new();
    for path in ptx_files("") {
        let text = decode(fs::read(&path).expect("a file"));
        let tree = parse(&text);
        let names = Names::of(&tree);
        if tree.errors().iter().any(|it| !it.to_string().starts_with("expected")) {
            // After such an error, the two readers may continue at different places.
            continue;
        }
        let mut asked = Asked { source: &text, known: HashMap::new() };
        read_plainly(&text, &mut asked);
        for use_ in names.uses().iter().filter(|it| !it.declares()) {
            let Some(expected) = asked.known.get(&use_.span().start) else { continue };
            let symbol = use_.symbol().map(|it| names.symbol(it));
            let place = format!("{}: {}", path.display(), use_.span().text(&text));
            let kind = symbol.map(|it| it.kind);
            match *expected {
                None | Some((Declared::Label, _)) => {
                    assert!(matches!(kind, None | Some(SymbolKind::Label)), "{place}: {symbol:?}");
                }
                Some((Declared::Function, span)) => {
                    // A function may have several declarations.
                    let name = symbol.expect(&place).name.text(&text);
                    assert_eq!((kind, name), (Some(SymbolKind::Function), span.text(&text)));
                }
                Some((_, span)) => assert_eq!(symbol.map(|it| it.name), Some(span), "{place}"),
            }
            *counts.entry(kind).or_default() += 1;
        }
    }
    for kind in [SymbolKind::Register, SymbolKind::Parameter, SymbolKind::Label] {
        assert!(counts[&Some(kind)] > 500, "{counts:?}");
    }
    assert!(counts[&Some(SymbolKind::Function)] > 10, "{counts:?}");
    assert!(counts[&Some(SymbolKind::Variable)] > 100, "{counts:?}");
}

const MODULE: &str = r#"
.version 8.5
.target sm_90
.global .surfref surface;
.global .samplerref sampler = { filter_mode = linear };
.visible .global .align 4 .b8 linear[N], second;
.extern .shared .b8 pool[];
.const .u64 pointers[2] = {generic(second)+4, 0xff(linear)};
.extern .func (.param .b32 r) callee (.param .b32 x);
.weak .func callee2 (.reg .v2 .b32 x, .reg .pred q)
{
    .func inner (.reg .b32 x);
    .reg .v4 .f32 quad;
    .reg .pred %p<WARP_SZ>, p;
    .reg .b32 one[2];
    { L: .branchtargets L, M; }
    M:
    @@DWARF .section .debug_info, "", @progbits
    .loc 1 2 3, function_name L + 4, inlined_at 1 2 3
    @p mov.b32 {_, x}, %p31;
    proto: .callprototype (.param .b32 r) _ (.param .b32 x);
}
.section .debug_str { L: .b8 1, 2 .b32 L-pool+4, callee2 }
"#;

/// The use of a name at the nth occurrence of a word, counted from 0.
fn at(names: &Names, source: &str, word: &str, number: usize) -> Use {
    let is_part = |c: char| c.is_ascii_alphanumeric() || "_$%".contains(c);
    let whole = source.match_indices(word).filter(|(at, _)| {
        !source[..*at].ends_with(is_part) && !source[at + word.len()..].starts_with(is_part)
    });
    let offset = whole.map(|(at, _)| at as u32).nth(number).expect(word);
    names
        .at(offset)
        .filter(|it| it.span().start == offset)
        .unwrap_or_else(|| panic!("no name {word}"))
}

#[test]
fn symbols_have_types_spaces_counts_and_scopes() {
    let tree = parse(MODULE);
    // ptxas takes no name as a size.
    let errors: Vec<&str> = tree.errors().iter().map(|it| it.span.text(MODULE)).collect();
    assert_eq!(errors, ["N"]);
    let names = Names::of(&tree);
    let text = |span: Option<Span>| span.map_or("-", |span| span.text(MODULE));
    let shown = |symbol: &Symbol| {
        let scope = names.scope(symbol.scope);
        let function = scope.function.map(|it| names.symbol(it).name);
        let around = match (symbol.scope, function) {
            (ScopeId::MODULE, _) => "module",
            (_, None) => "block",
            (_, function) => text(function),
        };
        let exported = if symbol.is_exported { "exported" } else { "own" };
        let count = symbol.count.map_or(String::new(), |count| format!(" of {count}"));
        let name = symbol.name.text(MODULE);
        let (kind, space, ty) = (symbol.kind, text(symbol.space), text(symbol.ty));
        format!("{kind:?} {name} {space} {ty}{count} {exported} in {around}")
    };
    let symbols: Vec<String> = names.symbols().map(|(_, symbol)| shown(symbol)).collect();
    let expected = [
        "Variable surface .global .surfref exported in module",
        "Variable sampler .global .samplerref exported in module",
        "Variable linear .global .b8 exported in module",
        "Variable second .global .b8 exported in module",
        "Variable pool .shared .b8 exported in module",
        "Variable pointers .const .u64 own in module",
        "Function callee - - exported in module",
        "Parameter r .param .b32 own in callee",
        "Parameter x .param .b32 own in callee",
        "Function callee2 - - exported in module",
        "Parameter x .reg .b32 own in callee2",
        "Parameter q .reg .pred own in callee2",
        "Function inner - - own in callee2",
        "Parameter x .reg .b32 own in inner",
        "Register quad .reg .f32 own in callee2",
        "Register %p .reg .pred of 32 own in callee2",
        "Register p .reg .pred own in callee2",
        "Register one .reg .b32 own in callee2",
        "Label L - - own in block",
        "Label M - - own in callee2",
        "Label proto - - own in callee2",
        "Label L - - own in module",
    ];
    assert_eq!(symbols, expected);
    let parents: Vec<_> = names.scopes().map(|(_, it)| it.parent.map(ScopeId::index)).collect();
    assert_eq!(parents, [None, Some(0), Some(0), Some(2), Some(2)]);
}

#[test]
fn uses_stand_where_names_stand() {
    let names = Names::of(&parse(MODULE));
    let declared = |word, number| {
        let symbol =
            at(&names, MODULE, word, number).symbol().map(|it| names.symbol(it).name.start);
        symbol.map(|start| MODULE[..start as usize].matches('\n').count() + 1)
    };
    // The expected numbers are the lines of the declarations.
    assert_eq!(declared("second", 1), Some(6));
    assert_eq!(declared("linear", 2), Some(6));
    assert_eq!(declared("N", 0), None);
    assert_eq!((declared("L", 0), declared("L", 1)), (Some(16), Some(16)));
    assert_eq!(declared("M", 0), Some(17));
    // Debug data may name labels of any scope.
    assert_eq!((declared("L", 2), declared("L", 4)), (Some(16), Some(23)));
    assert_eq!((declared("pool", 1), declared("callee2", 1)), (Some(7), Some(10)));
    assert_eq!((declared("x", 3), declared("%p31", 0)), (Some(10), Some(14)));
    // These words are not names.
    let words =
        ["filter_mode", "generic", "progbits", "function_name", "inlined_at", "_", "WARP_SZ"];
    let texts: Vec<&str> = names.uses().iter().map(|it| it.span().text(MODULE)).collect();
    assert!(words.iter().all(|word| !texts.contains(word)), "{texts:?}");
    assert_eq!(texts.iter().filter(|text| **text == "linear").count(), 2);
    assert_eq!(texts.iter().filter(|text| **text == "proto").count(), 1);
}

#[test]
fn the_places_of_a_name_are_all_its_uses() {
    let source = ".func f(.reg .b32 a) { .reg .b32 %r<4>; mov.b32 %r1, a; { .reg .b32 %r1; \
                  mov.b32 %r1, %r02; } mov.b32 %r01, %r2; mov.b32 %r9, %r1; }";
    let names = Names::of(&parse(source));
    let columns = |use_: Use| {
        let uses = names.uses_of(use_.meaning().unwrap());
        uses.map(|it| (it.span().start, it.span().text(source))).collect::<Vec<_>>()
    };
    let outer = at(&names, source, "%r1", 0);
    assert_eq!(columns(outer), [(48, "%r1"), (102, "%r01"), (126, "%r1")]);
    assert_eq!(names.register(outer.meaning().unwrap()), Some(1));
    let second = at(&names, source, "%r2", 0);
    assert_eq!(columns(second), [(86, "%r02"), (108, "%r2")]);
    let inner = at(&names, source, "%r1", 1);
    assert_eq!(columns(inner), [(68, "%r1"), (81, "%r1")]);
    assert_eq!(names.register(inner.meaning().unwrap()), None);
    assert_eq!(at(&names, source, "%r9", 0).meaning(), None);
    let range: Vec<u32> =
        names.uses_of_symbol(outer.symbol().unwrap()).map(|it| it.span().start).collect();
    assert_eq!(range, [33, 48, 102, 126, 86, 108]);
    let scope = names.scope_at(81);
    assert_eq!(names.symbol(inner.symbol().unwrap()).scope, scope);
    assert_eq!(names.scope(scope).span.text(source), "{ .reg .b32 %r1; mov.b32 %r1, %r02; }");
    assert_eq!(names.scope_at(0), names.scope_at(102));
    assert_eq!(names.scope_at(source.len() as u32), ScopeId::MODULE);
}

/// Ranges with more registers than the text can name, whose registers occur in no order.
#[test]
fn registers_of_long_ranges_have_all_their_uses() {
    let source = ".func f() { .reg .b32 %a<9000>, %b<9000>; mov.b32 %b2, %a1; mov.b32 %a1, %b1; }";
    let names = Names::of(&parse(source));
    let count = |word| {
        let range = at(&names, source, word, 0).symbol().unwrap();
        names.uses_of_symbol(range).filter(|it| !it.declares()).count()
    };
    assert_eq!(["%a1", "%b1", "%b2"].map(count), [2, 2, 2]);
    let count = |word| names.uses_of(at(&names, source, word, 0).meaning().unwrap()).count();
    assert_eq!(["%a1", "%b1", "%b2"].map(count), [2, 1, 1]);
}

const PIECES: &[&str] = &[
    "{ ",
    "} ",
    ".func f(.reg .b32 a)\n{ ",
    ".func g();\n",
    ".entry k(.param .b32 a) {\n",
    ".reg .b32 %r<4>;\n",
    ".reg .b32 %r<2>, a;\n",
    ".reg .b32 %r1, x7;\n",
    ".global .b32 a[2] = {x7, a};\n",
    "L:\n",
    "bra L;\n",
    "mov.b32 %r1, %r03;\n",
    "add.s32 a, x7, %r2;\n",
    ".loc 1 2 3, function_name L, inlined_at 1 2 3\n",
    ".section .s { L: .b32 a }\n",
    "a",
    "@p ",
    "\n",
];

/// For any text, the uses are sorted and complete, and scopes are nested.
#[test]
fn any_text_has_names() {
    let mut rng = Random(9);
    for _ in 0..samples(5000) {
        let mut pick = |below: usize| (rng.next() % below as u64) as usize;
        let count = pick(24);
        let source: String = (0..count).map(|_| PIECES[pick(PIECES.len())]).collect();
        let names = Names::of(&parse(&source));
        assert!(names.uses().is_sorted_by_key(|it| it.span().start), "{source}");
        let mut seen = 0;
        for (id, symbol) in names.symbols() {
            let uses: Vec<&Use> = names.uses_of_symbol(id).collect();
            assert!(uses.iter().all(|it| it.symbol() == Some(id)), "{source}");
            assert!(uses.iter().any(|it| it.declares()), "{source}");
            assert!(symbol.declaration.start <= symbol.name.start, "{source}");
            assert!(symbol.name.end <= symbol.declaration.end, "{source}");
            let same = names.uses().iter().filter(|it| it.symbol() == Some(id));
            assert_eq!(same.count(), uses.len(), "{source}");
            seen += uses.len();
        }
        assert_eq!(seen, names.uses().iter().filter(|it| it.meaning().is_some()).count());
        for use_ in names.uses().iter().filter(|it| it.meaning().is_some()) {
            let same: Vec<&Use> = names.uses_of(use_.meaning().unwrap()).collect();
            assert!(same.contains(&use_), "{source}");
            assert!(same.iter().all(|it| it.meaning() == use_.meaning()), "{source}");
            assert!(same.is_sorted_by_key(|it| it.span().start), "{source}");
        }
        for (id, scope) in names.scopes() {
            let Some(parent) = scope.parent else { continue };
            let around = names.scope(parent).span;
            assert!(around.start <= scope.span.start && scope.span.end <= around.end, "{source}");
            assert!(parent < id);
        }
    }
}
