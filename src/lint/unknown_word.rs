//! V911: opcodes, modifiers, types, directives and attributes that do not exist.

use super::structure::{COMPARED, ModuleSubject, is_in_video};
use crate::diagnostic::{Code, Diagnostic};
use crate::flow::{is_modifier, is_opcode, modifiers, opcodes};
use crate::hash::Set;
use crate::isa::PtxVersion;
use crate::module::is_type;
use crate::source::{Span, nearest};
use crate::syntax::{DirectiveKind, StatementKind, Token, TokenKind, attributes, types};

const ATTRIBUTES_OF_VARIABLES: [&str; 2] = [".managed", ".unified"];

pub(super) fn find(subject: &ModuleSubject<'_>, found: &mut Vec<Diagnostic>) {
    let source = subject.source();
    let mut statements = subject.tree.statements();
    let is_newer = statements.any(|it| match it.kind() {
        StatementKind::Directive(it) => it.version().is_some_and(|it| it > PtxVersion::NEWEST),
        _ => false,
    });
    // A newer version may have more instructions.
    if is_newer {
        return;
    }
    let mut compared = 0;
    let mut near = |word: &str, known: &mut dyn Iterator<Item = &'static str>| {
        compared += 1;
        (compared <= COMPARED).then(|| nearest(word, known)).flatten()
    };
    // A module has many instructions, and few opcodes.
    let mut known = Set::default();
    for statement in subject.tree.all_statements() {
        let mut push = |word: Span, what: &str, label: &str, near: Option<&str>| {
            let message = format!("{what} `{}`", word.text(source));
            let diagnostic = Diagnostic::new(Code::UnknownWord, word, message).label(label);
            let diagnostic = match near {
                Some(near) => diagnostic.help(format!("did you mean `{near}`?")),
                None => diagnostic,
            };
            found.push(diagnostic.statement(statement.head_span()));
        };
        let mut declares = |ty: Option<&str>, words: &[Token]| {
            let Some(ty) = ty.filter(|ty| types().all(|it| it != *ty)) else { return };
            let word = words.iter().map(|it| it.span()).find(|it| it.text(source) == ty);
            if let Some(word) = word {
                push(word, "no variable has the type", "unknown type", near(ty, &mut types()));
            }
        };
        match statement.kind() {
            StatementKind::Instruction(it) if known.contains(it.opcode().text(source)) => {}
            StatementKind::Instruction(it) if is_in_video(subject.statements, it.mnemonic()) => {}
            StatementKind::Instruction(it) if !is_opcode(source, &it) => {
                let near = near(it.mnemonic().text(source), &mut opcodes());
                push(it.mnemonic(), "there is no instruction", "unknown instruction", near);
            }
            StatementKind::Instruction(it) => {
                let mut unknown =
                    it.modifiers().filter(|it| !is_modifier(it.text(source))).peekable();
                if unknown.peek().is_none() {
                    known.insert(it.opcode().text(source));
                }
                for word in unknown {
                    // A modifier like no other one is no misspelling: ptxas may know it.
                    if let Some(near) = near(word.text(source), &mut modifiers()) {
                        push(word, "there is no modifier", "unknown modifier", Some(near));
                    }
                }
            }
            StatementKind::Directive(it) if it.kind() == DirectiveKind::Unknown => {
                let first = statement.tokens()[0].span();
                // A type alone, `.b32;`, declares nothing, and is legal.
                if !is_type(first.text(source)) {
                    push(first, "no statement starts with", "no opcode, no directive", None);
                }
            }
            StatementKind::Declaration(it) => {
                declares(it.ty(), it.words());
                let inside = it.words().iter().skip_while(|it| !it.is(b'('));
                for word in inside.filter(|it| it.kind() == TokenKind::Dot).map(|it| it.span()) {
                    let text = word.text(source);
                    if !ATTRIBUTES_OF_VARIABLES.contains(&text)
                        && let Some(near) = near(text, &mut ATTRIBUTES_OF_VARIABLES.into_iter())
                    {
                        push(word, "variables have no", "unknown attribute", Some(near));
                    }
                }
            }
            StatementKind::Function(it) => {
                for parameter in it.results().chain(it.parameters()) {
                    declares(parameter.ty(), parameter.tokens());
                }
                for directive in it.directives() {
                    let word = directive[0].span();
                    let text = word.text(source);
                    // ptxas may know others, as with modifiers.
                    if attributes().all(|it| it != text)
                        && let Some(near) = near(text, &mut attributes())
                    {
                        push(word, "functions have no", "unknown attribute", Some(near));
                    }
                }
            }
            _ => {}
        }
    }
}
