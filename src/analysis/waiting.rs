//! Statements that wait until it is known whether they belong to a region.

use crate::backend::ptx::{Gate, Regions};
use crate::diagnostic::{Code, Diagnostic};
use crate::isa::Target;
use crate::lint::on_region;
use crate::module::VideoStatement;

/// The last statements read: only a few, as a region has only a few.
pub(super) struct Waiting<'s> {
    regions: Regions<'s>,
    statements: Vec<VideoStatement>,
    /// The finding on the cost of each statement by itself.
    alone: Vec<Option<Diagnostic>>,
}

impl<'s> Waiting<'s> {
    pub(super) fn new(source: &'s str) -> Waiting<'s> {
        Waiting { regions: Regions::new(source), statements: Vec::new(), alone: Vec::new() }
    }

    /// The start of the first statement. Later findings are not before this offset.
    pub(super) fn start(&self) -> Option<u32> {
        Some(self.statements.first()?.span.start)
    }

    /// Takes the next statement, with the targets to check for and the gate of its text. If the
    /// last finding is on the cost of the statement, the finding waits, too.
    pub(super) fn take(
        &mut self,
        statement: &VideoStatement,
        targets: &[Target],
        gate: Option<Gate>,
        found: &mut Vec<Diagnostic>,
    ) {
        let is_own =
            |it: &mut Diagnostic| it.code == Code::EmulatedInstruction && it.span == statement.span;
        let alone = found.pop_if(is_own);
        if !self.regions.aims_at(targets, gate) {
            self.end(found);
            self.regions.aim(targets, gate);
        }
        self.statements.push(statement.clone());
        self.alone.push(alone);
        while !self.statements.is_empty() && !self.regions.may_go_on(&self.statements) {
            self.settle(found);
        }
    }

    /// Reports all waiting statements. No later statement belongs to their regions.
    pub(super) fn end(&mut self, found: &mut Vec<Diagnostic>) {
        while !self.statements.is_empty() {
            self.settle(found);
        }
    }

    /// Reports the first statement, alone or with the other statements of its region.
    fn settle(&mut self, found: &mut Vec<Diagnostic>) {
        let region = self.regions.starting(&self.statements);
        let count = region.as_ref().map_or(1, |region| region.outcomes.len());
        let statements: Vec<VideoStatement> = self.statements.drain(..count).collect();
        let alone = self.alone.drain(..count);
        match region {
            Some(region) => found.extend(on_region(&statements, region)),
            None => found.extend(alone.flatten()),
        }
    }
}
