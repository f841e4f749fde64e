//! Neighbouring scalar instructions that one sequence replaces: they fill a word part by part, or
//! add to a sum.

mod member;
mod simd;
mod sum;

use std::collections::VecDeque;

use super::emit::Operands;
use super::facts::Facts;
use super::straight::{Between, RegisterCopy};
use super::{Arg, Sequence};
use crate::hash::{Map, Set};
use crate::ir::Input;
use crate::module::{DeclaredTypes, VideoStatement};
use crate::source::Span;
use crate::video::{Instruction, OperandName, Operation, Register, Semantics};

use member::{Common, Member, Primary};
use simd::{is_exact, simd};
pub(super) use sum::result_range;
use sum::summand;

/// Scalar instructions that one sequence replaces.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fusion {
    /// The SIMD instruction that computes the same as all members. `None` for sums of products.
    pub instruction: Option<Instruction>,
    /// The number of scalar instructions, the last one included.
    pub members: usize,
    /// The register that the sequence writes.
    pub d: Register,
    /// The registers that are the sequence's inputs `a`, `b` and `c`.
    pub sources: [Register; 3],
    /// Ordinary PTX for all members.
    pub sequence: Sequence,
}

impl Fusion {
    /// The registers of the sequence.
    pub(super) fn operands(&self) -> Operands<'_> {
        Operands { guard: None, d: Some(&self.d), sources: self.sources.each_ref().map(Some) }
    }
}

/// Members, one right after the other, and the code that replaces them.
pub(super) struct Chain {
    pub(super) members: usize,
    pub(super) code: Code,
    pub(super) d: Register,
    pub(super) sources: [Register; 3],
    pub(super) shared: Shared,
    /// The declared types of the registers.
    pub(super) declared: DeclaredTypes,
}

/// The parts that members read and another instruction reads, too. ptxas extracts such parts once.
pub(super) enum Shared {
    /// How often members read a part that another member has read.
    Here(u32),
    /// Other instructions may read all parts.
    Anywhere,
}

impl Chain {
    /// The least that members may cost together, if `sum` is their cost one by one.
    pub(super) fn at_least(&self, sum: u32) -> u32 {
        let members = self.members as u32;
        match self.shared {
            Shared::Here(parts) => sum.saturating_sub(parts),
            // Each member adds, and does not only extract.
            Shared::Anywhere => sum.saturating_sub(2 * members).max(members),
        }
    }

    /// The facts that users see about a chain that becomes a sequence.
    pub(super) fn fusion(&self, sequence: Sequence) -> Fusion {
        let instruction = match &self.code {
            Code::Simd(instruction) => Some(instruction.clone()),
            Code::Products(_) => None,
        };
        let (d, sources) = (self.d.clone(), self.sources.clone());
        Fusion { instruction, members: self.members, d, sources, sequence }
    }
}

/// The code for a chain.
pub(super) enum Code {
    Simd(Instruction),
    Products(Sequence),
}

/// The most members of a sum of products: a word has this many bytes.
const PRODUCTS: usize = 4;

/// Finds chains in a text.
pub(super) struct Chains<'s> {
    source: &'s str,
    /// No chain starts before this offset: its instructions are cheaper alone.
    alone_to: u32,
    pub(super) facts: Facts<'s>,
    /// Whether a SIMD instruction computes the same as its members, one after the other.
    known: Map<(Operation, Operation), bool>,
    /// The last function that chains were asked for, and the sources of its last SIMD instructions.
    recent: (Option<Span>, VecDeque<[Register; 2]>),
}

/// This many instructions are remembered.
const RECENT: usize = 8;

impl<'s> Chains<'s> {
    pub(super) fn new(source: &'s str) -> Chains<'s> {
        Chains {
            source,
            alone_to: 0,
            facts: Facts::new(source),
            known: Map::default(),
            recent: (None, VecDeque::new()),
        }
    }

    /// The sources of SIMD instructions that stand before a statement of a function, and near it.
    pub(super) fn recent(&self, function: Option<Span>) -> impl Iterator<Item = &[Register; 2]> {
        let is_known = self.recent.0 == function;
        self.recent.1.iter().filter(move |_| is_known)
    }

    /// Remembers a statement. Statements come in order.
    pub(super) fn remember(&mut self, statement: &VideoStatement) {
        let Some(operands) = statement.instruction.as_ref().and_then(Instruction::simd) else {
            return;
        };
        let (function, recent) = &mut self.recent;
        if *function != statement.function {
            *function = statement.function;
            recent.clear();
        }
        recent.truncate(RECENT - 1);
        recent.push_front([operands.a.clone(), operands.b.clone()]);
    }

    /// The chains that start at the first of some statements, the longest first.
    pub(super) fn starting(
        &mut self,
        statements: &[VideoStatement],
        semantics: Semantics,
    ) -> Vec<Chain> {
        let members = self.members(statements);
        if members.len() > 1 && has_equal(&members) {
            // No chain starts within these members: ptxas would no longer see that two are equal.
            self.alone_to = statements[members.len() - 1].span.end;
        }
        if statements[0].span.start < self.alone_to {
            return Vec::new();
        }
        (2..=members.len())
            .rev()
            .filter_map(|count| self.chain(&statements[..count], &members[..count], semantics))
            .collect()
    }

    /// Whether some statements may be the start of a longer chain.
    pub(super) fn may_go_on(&mut self, statements: &[VideoStatement]) -> bool {
        self.members(statements).len() == statements.len()
    }

    /// The members from the first statement on.
    fn members<'m>(&mut self, statements: &'m [VideoStatement]) -> Vec<Member<'m>> {
        let mut members: Vec<Member<'m>> = Vec::new();
        for (at, statement) in statements.iter().enumerate() {
            let Some(mut member) = Member::of(statement) else { break };
            if let [first, ..] = &members[..]
                && let Some(before) = members.last()
            {
                if !member.is_alike(before) || is_full(&members, &member) {
                    break;
                }
                let (part, is_passed) = self.facts.between([&statements[at - 1], statement]);
                member.copy = match Between::of(self.source, part, is_passed) {
                    Between::Nothing => None,
                    Between::Copy(copy) => Some(copy),
                    Between::Other => break,
                };
                if !member.goes_on(before, first.c) {
                    break;
                }
            }
            members.push(member);
        }
        members
    }

    /// Whether nothing but the next member needs what a member writes.
    fn is_dead(
        &mut self,
        statement: &VideoStatement,
        member: &Member<'_>,
        next: &Member<'_>,
        end: &VideoStatement,
    ) -> bool {
        let mut has_reader = |start: u32, word: &Register, reader: u32| {
            let header = statement.header;
            let site = header.and_then(|header| self.facts.at_start(header, start));
            site.and_then(|site| site.readers(word)).is_some_and(|readers| readers == [reader])
        };
        match &next.copy {
            None => has_reader(statement.span.start, member.d, end.span.start),
            Some(RegisterCopy { start, d, .. }) => {
                has_reader(statement.span.start, member.d, *start)
                    && has_reader(*start, d, end.span.start)
            }
        }
    }

    fn chain(
        &mut self,
        statements: &[VideoStatement],
        members: &[Member<'_>],
        semantics: Semantics,
    ) -> Option<Chain> {
        let (first, (last, others)) = (members.first()?, members.split_last()?);
        for ((member, next), pair) in others.iter().zip(&members[1..]).zip(statements.windows(2)) {
            // Intermediate words are overwritten, or only the next member reads them.
            let is_overwritten = member.d == last.d && next.copy.is_none();
            if !is_overwritten && !self.is_dead(&pair[0], member, next, &pair[1]) {
                return None;
            }
        }
        let code = match first.common.primary {
            Primary::Product => Code::Products(products(members, semantics)?),
            Primary::Arithmetic { .. } | Primary::Set(_) => {
                let instruction = simd(members)?;
                let key = (instruction.anonymous(), first.instruction.anonymous());
                let known = self.known.entry(key);
                let is_exact = *known.or_insert_with(|| is_exact(members, semantics));
                Code::Simd(if is_exact { instruction } else { return None })
            }
        };
        let mut declared = first.declared;
        declared.set(OperandName::D, last.declared.get(OperandName::D));
        Some(Chain {
            members: members.len(),
            code,
            d: last.d.clone(),
            sources: [first.a, first.b, first.c].map(Clone::clone),
            shared: if first.common.adds {
                Shared::Anywhere
            } else {
                Shared::Here(repeated(members))
            },
            declared,
        })
    }
}

/// The SIMD instruction with one lane that computes the same as a scalar instruction on parts.
pub(super) fn alone(instruction: &Instruction, semantics: Semantics) -> Option<Instruction> {
    let member = [Member::new(instruction, DeclaredTypes::default())?];
    simd(&member).filter(|_| is_exact(&member, semantics))
}

/// Whether some members leave no place for a further member.
fn is_full(members: &[Member<'_>], next: &Member<'_>) -> bool {
    match next.common {
        Common { adds: false, .. } => members.iter().any(|member| member.to == next.to),
        Common { primary: Primary::Product, .. } => members.len() >= PRODUCTS,
        Common { widths, .. } => members.len() >= widths[0].lanes(),
    }
}

/// Whether two members read the same parts. ptxas computes the result of both once, which the cost
/// of a single member does not show.
fn has_equal(members: &[Member<'_>]) -> bool {
    let mut pairs = Set::default();
    !members.iter().all(|member| {
        let [a, b] = member.from;
        pairs.insert(if member.a == member.b { [a.min(b), a.max(b)] } else { [a, b] })
    })
}

/// How often members read a part again.
fn repeated(members: &[Member<'_>]) -> u32 {
    let mut parts = Set::default();
    for member in members {
        let [a, b] = member.from;
        parts.extend([(false, a), (member.a != member.b, b)]);
    }
    (2 * members.len() - parts.len()) as u32
}

/// The sum of products and `c`.
fn products(members: &[Member<'_>], semantics: Semantics) -> Option<Sequence> {
    let first = members.first()?;
    let summands: Option<Vec<_>> =
        members.iter().map(|member| summand(&member.instruction.lower(semantics))).collect();
    let b = if first.a == first.b { Input::A } else { Input::B };
    sum::dot_products(&summands?, [Input::A, b, Input::C].map(Arg::Input))
}
