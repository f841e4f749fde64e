//! Visits the video instructions of a module, and writes what takes their place.

use std::fmt;
use std::sync::Arc;

use super::super::cost::{self, Aim, Context, Cost};
use super::super::emit::{Operands, Places, Surroundings, Template, Words};
use super::super::{FreshRegisters, Gate, Sequence};
use super::passes::{Hoisted, PASSES, Product, Reading, Replacement, exchange};
use super::{NoTarget, Outcome, RewriteOptions, choose, gate};
use crate::hash::Map;
use crate::isa::{Target, WordRegisters};
use crate::module::{DeclaredTypes, Module, VideoStatement};
use crate::source::Span;
use crate::video::{Instruction, Operation, Semantics};

/// The machine instructions before and after rewriting, for each video instruction of a module that
/// was measured on the module's target.
pub(crate) fn machine_instructions(module: &Module<'_>) -> Vec<(u32, u32)> {
    let options = RewriteOptions::default().with_regions(false);
    let (mut text, mut measured) = (String::new(), Vec::new());
    // Without a target there are no costs.
    let _ = Rewriter::new(&options).each(module, &mut text, |visited, text| {
        text.clear();
        let Visited::Instruction(decision) = visited else { return };
        measured.extend(decision.known.machine_instructions());
    });
    measured
}

/// Finds the outcome for instructions, most of which are like others.
pub(crate) struct Rewriter<'o> {
    pub(super) options: &'o RewriteOptions,
    /// The outcome of each form, for registers with these declared types.
    pub(super) forms: Map<(Operation, Standing, WordRegisters), Arc<Form>>,
    /// The outcome of each form for the same form with constants in the place of registers, in a
    /// context. `None` if that has no shorter sequence.
    pub(super) on_known: Map<(Operation, Operation, Context, WordRegisters), Option<Arc<Form>>>,
    registers: Option<FreshRegisters>,
    /// The hoisted words of a function.
    hoisted: (Option<Span>, Words),
}

/// The outcome for a form, and the text that replaces the form, if any.
pub(super) struct Form {
    pub(super) known: FormOutcome,
    pub(super) template: Option<Template>,
}

/// The part that an instruction plays.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Standing {
    Plain,
    Guarded,
    /// The instruction compares its sources in the other order, as a neighbour does.
    Exchanged,
    /// The instruction stands for several others, and not in the text. So it cannot stay.
    Fused,
    /// The instruction has constant sources, with which ptxas makes it as short as its sequence.
    /// So it stays.
    OnConstants,
}

impl Standing {
    pub(super) fn of(instruction: &Instruction) -> Standing {
        if instruction.guard.is_some() { Standing::Guarded } else { Standing::Plain }
    }
}

/// A statement of a module that changes or may change.
pub(crate) enum Visited<'r, 'm> {
    Instruction(Decision<'r, 'm>),
    /// An ordinary instruction whose replacement belongs to the video instruction before it, or an
    /// earlier place where ordinary instructions are inserted.
    Ordinary(Span),
}

/// The decision about one instruction of a module.
pub(crate) struct Decision<'r, 'm> {
    pub(crate) span: Span,
    pub(crate) instruction: &'m Instruction,
    pub(crate) target: Target,
    pub(crate) known: &'r FormOutcome,
}

impl<'o> Rewriter<'o> {
    pub(crate) fn new(options: &'o RewriteOptions) -> Rewriter<'o> {
        let (forms, on_known) = (Map::default(), Map::default());
        Rewriter { options, forms, on_known, registers: None, hoisted: (None, Words::default()) }
    }

    pub(crate) fn options(&self) -> &RewriteOptions {
        self.options
    }

    /// Calls `work` for each legal video instruction of a module, and for each other statement that
    /// is replaced. Before the call, the replacement, if any, is appended to the text.
    pub(crate) fn each<'m>(
        &mut self,
        module: &'m Module<'_>,
        text: &mut String,
        work: impl FnMut(Visited<'_, 'm>, &mut String),
    ) -> Result<(), NoTarget> {
        let (source, own, statements) = (module.source(), module.target(), module.statements());
        if module.instructions().next().is_none() {
            return Ok(());
        }
        let target = self.options.target.or(own).ok_or(NoTarget)?;
        let target = own.map_or(target, |own| target.for_text(own));
        let given = Given { source, target, gate: gate(&[target], own, module.version()) };
        self.hoisted = (None, Words::default());
        let mut reading = Reading::new(given, statements);
        let mut writer = Writer { given, places: Places::new(source), text, work };
        let mut at = 0;
        while let Some(statement) = statements.get(at) {
            let Some(instruction) = &statement.instruction else {
                at += 1;
                continue;
            };
            let passes = if self.options.regions { &PASSES[..] } else { &[] };
            let found = passes.iter().find_map(|pass| pass(self, &mut reading, at));
            let found = found.unwrap_or_else(|| {
                let standing = Standing::of(instruction);
                Replacement::Single(self.form(instruction, standing, statement.declared, given))
            });
            at += self.write(&found, &statements[at..], &mut writer);
        }
        Ok(())
    }

    /// Writes the replacement of the first statements, and returns how many statements it replaces.
    fn write<'m, W: FnMut(Visited<'_, 'm>, &mut String)>(
        &mut self,
        found: &Replacement,
        statements: &'m [VideoStatement],
        writer: &mut Writer<'_, '_, W>,
    ) -> usize {
        let forms = found.forms();
        let (members, others) = statements.split_at(forms.len());
        let mut flags = None;
        for (statement, (known, template)) in members.iter().zip(&forms) {
            let (span, Some(instruction)) = (statement.span, &statement.instruction) else {
                continue;
            };
            let operands = known.outcome.operands(instruction);
            if known.outcome.is_rewritten() {
                let new = template.map(|template| (template, operands));
                writer.replace((span, instruction), new, self.options);
            }
            let target = writer.given.target;
            let decision = Decision { span, instruction, target, known };
            (writer.work)(Visited::Instruction(decision), writer.text);
            flags = known.flags(instruction).map(|(of, sequence)| (span, of, operands, sequence));
        }
        for hoisted in found.hoisted() {
            writer.insert(hoisted, self.options);
        }
        if let Some((span, instruction, operands, sequence)) = flags
            && self.options.regions
        {
            let source = writer.given.source;
            let end = others.first().map_or(source.len() as u32, |next| next.span.start);
            let part = Span::new(span.end, end);
            if let Some(product) = Product::find(source, part, instruction, operands, sequence) {
                let template = self.block(&product.sequence, source);
                let new = Some((&template, product.operands(operands)));
                writer.replace((product.span, &product.text), new, self.options);
                (writer.work)(Visited::Ordinary(product.span), writer.text);
            }
        }
        forms.len()
    }

    /// The words that are hoisted in a function.
    pub(super) fn hoisted_in(&mut self, function: Option<Span>) -> &mut Words {
        if self.hoisted.0 != function {
            self.hoisted = (function, Words::default());
        }
        &mut self.hoisted.1
    }

    pub(super) fn fresh(&mut self, source: &str) -> &mut FreshRegisters {
        self.registers.get_or_insert_with(|| FreshRegisters::avoiding(source))
    }

    /// The form of an instruction.
    pub(super) fn form(
        &mut self,
        instruction: &Instruction,
        standing: Standing,
        declared: DeclaredTypes,
        Given { source, target, gate }: Given<'_>,
    ) -> Arc<Form> {
        let Rewriter { options, forms, registers: fresh, .. } = self;
        let registers = declared.registers();
        let key = (instruction.anonymous(), standing, registers);
        let form = forms.entry(key).or_insert_with(|| {
            let exchanged = (standing == Standing::Exchanged).then(|| exchange(instruction));
            let instruction = exchanged.as_ref().unwrap_or(instruction);
            let aim = Aim { target, semantics: options.semantics, gate };
            let mut outcome = choose(instruction, aim, options.all);
            if outcome == Outcome::Kept && standing == Standing::Fused {
                // The best sequence may be the SIMD instruction itself.
                let own = cost::measured_best(instruction, aim);
                outcome = own.map_or(Outcome::Kept, Outcome::Rewritten);
            }
            if standing == Standing::OnConstants {
                outcome = Outcome::Kept;
            }
            let mut known = FormOutcome::new(instruction, outcome, registers, target, options);
            let Outcome::Rewritten(sequence) = &mut known.outcome else {
                return Arc::new(Form { known, template: None });
            };
            if exchanged.is_some() {
                *sequence = sequence.exchanged();
            }
            let fresh = fresh.get_or_insert_with(|| FreshRegisters::avoiding(source));
            let template = Template::block(sequence, fresh);
            Arc::new(Form { known, template: Some(template) })
        });
        Arc::clone(form)
    }

    /// The outcome for a statement that is removed, and the cost that it would have alone: machine
    /// instructions and their weight. `None` if that was not measured.
    pub(super) fn absorbed(
        &mut self,
        statement: &VideoStatement,
        given: Given<'_>,
    ) -> Option<(FormOutcome, (u32, u32))> {
        let instruction = statement.instruction.as_ref()?;
        let form = self.form(instruction, Standing::Plain, statement.declared, given);
        let alone = &form.known;
        let cost = alone.cost?;
        let known = FormOutcome {
            outcome: Outcome::Absorbed,
            cost: Some(Cost { rewritten: 0, rewritten_weight: 0, ..cost }),
            differs: alone.differs.clone(),
        };
        let own = match alone.outcome {
            Outcome::Rewritten(_) => (cost.rewritten, cost.rewritten_weight),
            _ => (cost.ptxas, cost.ptxas_weight),
        };
        Some((known, own))
    }

    /// The template of the block for a sequence.
    pub(super) fn block(&mut self, sequence: &Sequence, source: &str) -> Template {
        Template::block(sequence, self.fresh(source))
    }
}

/// Appends replacements to a text.
struct Writer<'w, 's, W> {
    given: Given<'s>,
    places: Places,
    text: &'w mut String,
    /// Called for each video instruction, and for each other statement that is replaced.
    work: W,
}

impl<'m, W: FnMut(Visited<'_, 'm>, &mut String)> Writer<'_, '_, W> {
    fn replace(
        &mut self,
        old: (Span, &dyn fmt::Display),
        new: Option<(&Template, Operands<'_>)>,
        options: &RewriteOptions,
    ) {
        replace(old, new, self.given.source, options, &mut self.places, self.text);
    }

    fn insert(&mut self, hoisted: &Hoisted, options: &RewriteOptions) {
        hoisted.push(self.given.source, options, &mut self.places, self.text);
        (self.work)(Visited::Ordinary(Span::at(hoisted.end)), self.text);
    }
}

/// What is given to each pass.
#[derive(Clone, Copy)]
pub(super) struct Given<'s> {
    pub(super) source: &'s str,
    pub(super) target: Target,
    pub(super) gate: Gate,
}

/// Appends what takes the place of an instruction: the text of a template for an instruction,
/// or nothing but comments.
pub(super) fn replace(
    (span, old): (Span, &dyn fmt::Display),
    new: Option<(&Template, Operands<'_>)>,
    source: &str,
    options: &RewriteOptions,
    places: &mut Places,
    text: &mut String,
) {
    // Block comments, because more code may follow on the line.
    let comment = options.comments.then(|| format!(" /* {old} */"));
    let comment = comment.as_deref().unwrap_or_default();
    let fill = |place: &Surroundings<'_>, text: &mut String| match new {
        Some((template, operands)) => template.fill(operands, place, text),
        None => text.push_str(comment.trim_start()),
    };
    if options.keep_lines {
        fill(&Surroundings::of_one_line(comment), text);
        let breaks = memchr::memchr_iter(b'\n', span.text(source).as_bytes());
        text.extend(breaks.map(|_| '\n'));
    } else {
        let place = places.find(source, span.start, comment);
        place.push_comments(span.text(source), text);
        fill(&place, text);
    }
}

/// The facts about an instruction that do not depend on the names of its registers.
#[derive(Clone)]
pub(crate) struct FormOutcome {
    pub(crate) outcome: Outcome,
    pub(crate) cost: Option<Cost>,
    pub(crate) differs: Vec<Semantics>,
}

impl FormOutcome {
    /// Whether a text stands in the place of the instruction.
    pub(super) fn is_there(&self) -> bool {
        self.outcome != Outcome::Absorbed
    }

    /// The instruction whose flags the sequence may compute, and the sequence. For a chain, the
    /// SIMD instruction of the chain.
    fn flags<'k>(
        &'k self,
        instruction: &'k Instruction,
    ) -> Option<(&'k Instruction, &'k Sequence)> {
        match &self.outcome {
            Outcome::Rewritten(sequence) => Some((instruction, sequence)),
            Outcome::Fused(fusion) => Some((fusion.instruction.as_ref()?, &fusion.sequence)),
            _ => None,
        }
    }

    /// The machine instructions before and after rewriting, if they were measured.
    fn machine_instructions(&self) -> Option<(u32, u32)> {
        let Cost { ptxas, rewritten, .. } = self.cost?;
        Some((ptxas, if self.outcome.is_rewritten() { rewritten } else { ptxas }))
    }

    fn new(
        instruction: &Instruction,
        mut outcome: Outcome,
        registers: WordRegisters,
        target: Target,
        options: &RewriteOptions,
    ) -> FormOutcome {
        let cost = match &mut outcome {
            Outcome::Rewritten(sequence) => {
                let cost = cost::cost_of(instruction, sequence, target, options.semantics);
                *sequence = sequence.for_registers(registers);
                cost
            }
            _ => instruction.cost(target),
        };
        FormOutcome { outcome, cost, differs: instruction.differs(options.semantics) }
    }
}
