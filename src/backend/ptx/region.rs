//! Scalar instructions that fill a word part by part, as one SIMD instruction.

use super::Sequence;
use crate::hash::{Map, Set};
use crate::isa::{Compare, LaneWidth, Lanes, Mask, Part, Selector, Type};
use crate::module::{DeclaredTypes, VideoStatement};
use crate::source::Span;
use crate::syntax::TokenKind;
use crate::syntax::lexer::Lexer;
use crate::video::{
    Instruction, Operand, OperandName, Operation, Register, Semantics, SimdArithmetic, SimdOp,
    SimdOperands, SimdSet, SimdTail, Source, Tail, numbered,
};

/// Scalar instructions that together are one SIMD instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fusion {
    /// The SIMD instruction.
    pub instruction: Instruction,
    /// The number of scalar instructions, the last one included.
    pub members: usize,
    /// Ordinary PTX for the SIMD instruction.
    pub sequence: Sequence,
}

/// A scalar instruction that writes one part of a word. Everything that it reads of `a` and
/// `b` is a part of the same width.
struct Member<'m> {
    instruction: &'m Instruction,
    declared: DeclaredTypes,
    meaning: Meaning,
    width: LaneWidth,
    d: &'m Register,
    a: &'m Register,
    b: &'m Register,
    c: &'m Register,
    /// The lane of each part.
    to: usize,
    from: [usize; 2],
}

/// The facts that members of a chain have in common, next to registers and width.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Meaning {
    primary: Primary,
    types: [Type; 2],
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Primary {
    Arithmetic { op: SimdOp, dtype: Type, saturate: bool },
    Set(Compare),
}

impl<'m> Member<'m> {
    fn of(statement: &'m VideoStatement) -> Option<Member<'m>> {
        let instruction = statement.instruction.as_ref().filter(|it| it.guard.is_none())?;
        let (primary, types, d, sources, tail) = match &instruction.operation {
            Operation::Arithmetic(it) => {
                let op = it.op.on_lanes();
                let primary = Primary::Arithmetic { op, dtype: it.dtype, saturate: it.saturate };
                (primary, [it.atype, it.btype], &it.d, [&it.a, &it.b], &it.tail)
            }
            Operation::Set(it) => {
                let types = [it.atype, it.btype];
                (Primary::Set(it.compare), types, &it.d, [&it.a, &it.b], &it.tail)
            }
            _ => return None,
        };
        let Tail::Merge { part, c: Operand::Register(c) } = tail else { return None };
        let (width, to) = lane(*part);
        let of_width = |source: &'m Source| match source {
            Source::Register { register, part: Some(part) } => {
                let (own, lane) = lane(*part);
                (own == width).then_some((register, lane))
            }
            Source::Register { part: None, .. } | Source::Immediate(_) => None,
        };
        let [(a, from_a), (b, from_b)] = [of_width(sources[0])?, of_width(sources[1])?];
        Some(Member {
            instruction,
            declared: statement.declared,
            meaning: Meaning { primary, types },
            width,
            d,
            a,
            b,
            c,
            to,
            from: [from_a, from_b],
        })
    }

    /// Whether this member goes on where another one stops.
    fn follows(&self, before: &Member<'_>) -> bool {
        self.meaning == before.meaning
            && self.width == before.width
            && (self.a, self.b) == (before.a, before.b)
            && self.c == before.d
            // The operands are read after `d` is written.
            && !before.d.names_same(self.a)
            && !before.d.names_same(self.b)
    }
}

/// The layout that has such a part, and the part's lane.
fn lane(part: Part) -> (LaneWidth, usize) {
    let width = if part.width() == 8 { LaneWidth::Bytes } else { LaneWidth::Halves };
    let lane = (0..width.lanes()).find(|&lane| width.part(lane) == Some(part));
    (width, lane.unwrap_or_default())
}

/// The SIMD instruction that fills the parts of some members, from the first one's `c`.
fn simd(members: &[Member<'_>]) -> Option<Instruction> {
    let (first, last) = (members.first()?, members.last()?);
    let width = first.width;
    let [mut a, mut b] = [Selector::default_a(width), Selector::default_b(width)]
        .map(|selector| selector.lanes().to_vec());
    let mut mask = 0;
    for member in members {
        mask |= 1 << member.to;
        a[member.to] = member.from[0] as u8;
        b[member.to] = (width.lanes() + member.from[1]) as u8;
    }
    let (a, b) = (Selector::new(width, &a)?, Selector::new(width, &b)?);
    let operands = SimdOperands {
        atype: first.meaning.types[0],
        btype: first.meaning.types[1],
        d: last.d.clone(),
        a: first.a.clone(),
        b: first.b.clone(),
        c: first.c.clone(),
        lanes: Lanes::new(Mask::new(width, mask)?, a, b)?,
    };
    Some(Instruction::new(match first.meaning.primary {
        Primary::Arithmetic { op, dtype, saturate } => {
            let tail = SimdTail::Merge { saturate };
            Operation::SimdArithmetic(SimdArithmetic { op, dtype, operands, tail })
        }
        Primary::Set(compare) => {
            Operation::SimdSet(SimdSet { compare, operands, accumulate: false })
        }
    }))
}

/// Whether two members read the same parts. ptxas computes their result once, which no cost of
/// a single one shows.
fn has_equal(members: &[Member<'_>]) -> bool {
    let mut pairs = Set::default();
    !members.iter().all(|member| {
        let [a, b] = member.from;
        pairs.insert(if member.a == member.b { [a.min(b), a.max(b)] } else { [a, b] })
    })
}

/// How often members read a part that another one has read.
fn repeated(members: &[Member<'_>]) -> u32 {
    let mut parts = Set::default();
    for member in members {
        let [a, b] = member.from;
        parts.extend([(false, a), (member.a != member.b, b)]);
    }
    (2 * members.len() - parts.len()) as u32
}

/// Members, one right after the other, and the one SIMD instruction that they are.
pub(super) struct Chain {
    pub(super) members: usize,
    pub(super) instruction: Instruction,
    /// How often members read a part that another one has read. ptxas extracts it once.
    pub(super) repeated: u32,
    /// The declared types of the registers of the SIMD instruction.
    pub(super) declared: DeclaredTypes,
}

/// Finds chains in a text.
pub(super) struct Chains<'s> {
    source: &'s str,
    /// Where the last instructions end that should stay single.
    alone_to: u32,
    /// The names in the last function that was asked for.
    names: Option<(Span, Option<Names<'s>>)>,
    /// Whether a SIMD instruction is its members, one after the other.
    known: Map<Operation, bool>,
}

impl<'s> Chains<'s> {
    pub(super) fn new(source: &'s str) -> Chains<'s> {
        Chains { source, alone_to: 0, names: None, known: Map::default() }
    }

    /// The chains that start at the first of some statements, the longest first.
    pub(super) fn starting(
        &mut self,
        statements: &[VideoStatement],
        semantics: Semantics,
    ) -> Vec<Chain> {
        let members = self.members(statements);
        if members.len() > 1 && has_equal(&members) {
            // Nor parts of it: ptxas no longer saw that some are equal.
            self.alone_to = statements[members.len() - 1].span.end;
        }
        if statements[0].span.start < self.alone_to {
            return Vec::new();
        }
        (2..=members.len())
            .rev()
            .filter_map(|count| self.chain(&statements[0], &members[..count], semantics))
            .collect()
    }

    /// Whether some statements may be the start of a longer chain.
    pub(super) fn may_go_on(&self, statements: &[VideoStatement]) -> bool {
        self.members(statements).len() == statements.len()
    }

    /// The members from the first statement on.
    fn members<'m>(&self, statements: &'m [VideoStatement]) -> Vec<Member<'m>> {
        let mut members: Vec<Member<'m>> = Vec::new();
        let mut end = 0;
        for statement in statements {
            let Some(member) = Member::of(statement) else { break };
            if let Some(before) = members.last() {
                let is_filled = members.iter().any(|other| other.to == member.to);
                let start = statement.span.start as usize;
                // White space and comments are no tokens.
                let is_next = Lexer::new(&self.source[..start], end).token().is_none();
                if is_filled || !member.follows(before) || !is_next {
                    break;
                }
            }
            end = statement.span.end as usize;
            members.push(member);
        }
        members
    }

    fn chain(
        &mut self,
        statement: &VideoStatement,
        members: &[Member<'_>],
        semantics: Semantics,
    ) -> Option<Chain> {
        let (first, (last, others)) = (members.first()?, members.split_last()?);
        // Words on the way are overwritten, or nothing else reads them.
        let is_dead = |member: &Member<'_>| {
            member.d == last.d || self.is_only_between(statement.function, member.d)
        };
        if !others.iter().all(is_dead) {
            return None;
        }
        let instruction = simd(members)?;
        let repeated = repeated(members);
        let known = &mut self.known;
        let is_exact = *known.entry(instruction.anonymous()).or_insert_with(|| {
            // Lanes do not depend on each other. So it is enough that each member is the SIMD
            // instruction with its lane alone.
            members.chunks(1).all(|member| {
                let alone = simd(member).map(|alone| alone.lower(semantics));
                alone == Some(member[0].instruction.lower(semantics))
            })
        });
        let mut declared = first.declared;
        declared.set(OperandName::D, last.declared.get(OperandName::D));
        is_exact.then_some(Chain { members: members.len(), instruction, repeated, declared })
    }

    /// Whether a register of a function occurs there only as the `d` of one member and the
    /// `c` of the next.
    fn is_only_between(&mut self, function: Option<Span>, register: &Register) -> bool {
        let Some(function) = function else { return false };
        if self.names.as_ref().is_none_or(|(known, _)| *known != function) {
            self.names = Some((function, Names::of(self.source, function)));
        }
        let names = self.names.as_ref().and_then(|(_, names)| names.as_ref());
        names.is_some_and(|names| names.are_two(register))
    }
}

/// The names in a function.
struct Names<'s> {
    /// How often each one occurs, by its base and its number.
    counts: Map<(&'s str, &'s str), u32>,
    /// The names that declare a range.
    ranges: Set<&'s str>,
}

impl<'s> Names<'s> {
    /// The names after a function's own. `None` if registers may stand before it, or if
    /// the function's end is not found.
    fn of(source: &'s str, function: Span) -> Option<Names<'s>> {
        let mut head = source[..function.start as usize].trim_end();
        if let Some(results) = head.strip_suffix(')') {
            // A `;` bounds the search.
            let start = results.rfind(['(', ';'])?;
            let list = &results[start..];
            if !list.starts_with('(') || list.contains(".reg") {
                return None;
            }
            head = results[..start].trim_end();
        }
        let word = &head[head.rfind('.')?..];
        if word != ".func" && word != ".entry" {
            return None;
        }
        let mut names = Names { counts: Map::default(), ranges: Set::default() };
        let mut lexer = Lexer::new(source, function.end as usize);
        let (mut depth, mut before) = (0, "");
        loop {
            let token = lexer.token()?;
            let text = token.span.text(source);
            match token.kind {
                TokenKind::Ident => *names.counts.entry(numbered(text)).or_default() += 1,
                TokenKind::Punct(_) if token.is(b'{') => depth += 1,
                TokenKind::Punct(_) if token.is(b'}') && depth == 1 => return Some(names),
                TokenKind::Punct(_) if token.is(b'}') && depth == 0 => return None,
                TokenKind::Punct(_) if token.is(b'}') => depth -= 1,
                TokenKind::Punct(_) if token.is(b'<') => _ = names.ranges.insert(before),
                // Functions do not nest: this one has no end.
                TokenKind::Dot if matches!(text, ".func" | ".entry") => return None,
                _ => {}
            }
            before = text;
        }
    }

    /// Whether the function itself declares the register, by a range, and names it exactly twice.
    fn are_two(&self, register: &Register) -> bool {
        let (base, number) = numbered(register.name());
        !number.is_empty()
            && self.ranges.contains(base)
            && self.counts.get(&(base, number)) == Some(&2)
    }
}
