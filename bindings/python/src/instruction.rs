//! Instructions, and what they compute.

use std::fmt::Write;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, OnceLock};

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use vptx::backend::ptx::FreshRegisters;
use vptx::ir::{self, Input};
use vptx::isa::Target;
use vptx::source::LineIndex;
use vptx::{Semantics, explain};

use crate::arguments::{Named, Text, Word};
use crate::columns;
use crate::finding::{Span, escaped, findings, ptx_error};

/// The machine instructions that ptxas 13.5 emits for an instruction, and for the cheapest
/// ordinary PTX in its place.
#[pyclass(frozen, eq, hash, get_all, from_py_object, module = "vptx")]
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Cost {
    ptxas: u32,
    rewritten: u32,
    ptxas_weight: u32,
    rewritten_weight: u32,
}

#[pymethods]
impl Cost {
    #[new]
    fn new(ptxas: u32, rewritten: u32, ptxas_weight: u32, rewritten_weight: u32) -> Cost {
        Cost { ptxas, rewritten, ptxas_weight, rewritten_weight }
    }

    fn __repr__(&self) -> String {
        format!("Cost(ptxas={}, rewritten={})", self.ptxas, self.rewritten)
    }

    fn __getnewargs__(&self) -> (u32, u32, u32, u32) {
        (self.ptxas, self.rewritten, self.ptxas_weight, self.rewritten_weight)
    }
}

impl From<vptx::backend::ptx::Cost> for Cost {
    fn from(cost: vptx::backend::ptx::Cost) -> Cost {
        Cost::new(cost.ptxas, cost.rewritten, cost.ptxas_weight, cost.rewritten_weight)
    }
}

/// An operand of an instruction.
#[pyclass(frozen, eq, hash, get_all, module = "vptx")]
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Operand {
    /// The name of its place: `d`, `a`, `b` or `c`.
    name: &'static str,
    /// All of it, with minus and selector, as the canonical text writes it.
    text: String,
    /// The register, if the operand is one.
    register: Option<String>,
    /// The constant as it is written, if the operand is one.
    constant: Option<String>,
    /// The selector or mask with its dot; `None` if it is left out.
    selector: Option<String>,
}

#[pymethods]
impl Operand {
    fn __repr__(&self) -> String {
        format!("<Operand {}: {}>", self.name, self.text)
    }

    fn __str__(&self) -> &str {
        &self.text
    }
}

/// The place of an instruction in a module.
#[derive(Clone)]
struct Place {
    span: Span,
    chars: Span,
    function: Option<String>,
}

/// A legal video instruction. Equality is about the instruction, not its place.
///
/// The closing `;` may be missing. Raises `PtxError` if the text is not one legal video
/// instruction. Methods take `semantics`: `manual` (the default), `ptxas-12` or `ptxas-13`.
#[pyclass(frozen, module = "vptx")]
pub(crate) struct Instruction {
    inner: vptx::Instruction,
    place: Option<Place>,
    programs: [OnceLock<Arc<ir::Program>>; 3],
}

impl Instruction {
    fn of(inner: vptx::Instruction, place: Option<Place>) -> Instruction {
        Instruction { inner, place, programs: Default::default() }
    }

    /// The legal instructions of a module.
    pub(crate) fn of_module(module: vptx::Module<'_>) -> Vec<Instruction> {
        let text = module.source();
        let index = LineIndex::new(text);
        let place = |statement: &vptx::VideoStatement| {
            let chars = [statement.span.start, statement.span.end];
            let [start, end] = chars.map(|offset| index.char_offset(text, offset));
            Place {
                span: statement.span.into(),
                chars: vptx::source::Span::new(start, end).into(),
                function: statement.function.map(|name| name.text(text).to_string()),
            }
        };
        let statements = module.into_statements().into_iter();
        statements
            .filter_map(|mut statement| {
                let place = place(&statement);
                Some(Instruction::of(statement.instruction.take()?, Some(place)))
            })
            .collect()
    }

    fn program(&self, semantics: Option<Named<Semantics>>) -> &Arc<ir::Program> {
        let semantics = chosen(semantics);
        let known = Semantics::ALL.iter().position(|it| *it == semantics).unwrap_or_default();
        self.programs[known].get_or_init(|| Arc::new(self.inner.lower(semantics)))
    }
}

fn chosen(semantics: Option<Named<Semantics>>) -> Semantics {
    semantics.map_or(Semantics::Manual, |it| it.0)
}

/// The words for the sources that a program reads.
fn words(program: &ir::Program, given: [Option<Word>; 3]) -> PyResult<[u32; 3]> {
    for (input, word) in Input::ALL.into_iter().zip(given) {
        if word.is_none() && program.reads(input) {
            return Err(missing(input));
        }
    }
    Ok(given.map(|word| word.map_or(0, |word| word.0)))
}

pub(crate) fn missing(input: Input) -> PyErr {
    PyTypeError::new_err(format!("the instruction reads {}, which is not given", input.text()))
}

#[pymethods]
impl Instruction {
    #[new]
    fn new(py: Python<'_>, text: Text) -> PyResult<Instruction> {
        match text.0.parse() {
            Ok(inner) => Ok(Instruction::of(inner, None)),
            Err(error) => {
                let error: vptx::ParseInstructionError = error;
                let found = findings(&text.0, None, error.diagnostics());
                let message = match error.diagnostics() {
                    [] => "the text is not one video instruction",
                    _ => "the text is not a legal video instruction",
                };
                Err(ptx_error(py, message, found))
            }
        }
    }

    /// The mnemonic, such as `vadd4`.
    #[getter]
    fn mnemonic(&self) -> &'static str {
        self.inner.mnemonic().text()
    }

    /// The modifiers with their dots, in the manual's order.
    #[getter]
    fn modifiers(&self) -> Vec<&'static str> {
        let slots = self.inner.form().slots;
        slots.iter().filter_map(|slot| Some(self.inner.modifier(slot.role)?.text())).collect()
    }

    /// The guard with `@`, such as `@!%p1`, if there is one.
    #[getter]
    fn guard(&self) -> Option<String> {
        let guard = self.inner.guard.as_ref()?;
        Some(format!("@{}{}", if guard.negated { "!" } else { "" }, guard.predicate))
    }

    /// The operands `d`, `a`, `b` and, if there is one, `c`.
    #[getter]
    fn operands(&self) -> Vec<Operand> {
        // These names are not reserved, so the text is legal by itself.
        let mut registers = Vec::new();
        let named = self.inner.map_registers(|register| {
            registers.push(register.name().to_string());
            let name = format!("%{}", registers.len() - 1);
            vptx::video::Register::new(&name).unwrap_or_else(|| register.clone())
        });
        let text = named.to_string();
        let (module, _) = vptx::parse(&text);
        let spans = module.statements().first().and_then(|statement| statement.spans(&text));
        let operand = |(name, spans): (&'static str, &vptx::OperandSpans)| {
            let value = spans.value.text(&text);
            let number = value.strip_prefix('%').and_then(|number| number.parse().ok());
            let register = number.and_then(|number: usize| registers.get(number)).cloned();
            Operand {
                name,
                text: match &register {
                    Some(register) => spans.whole.text(&text).replacen(value, register, 1),
                    None => spans.whole.text(&text).into(),
                },
                constant: register.is_none().then(|| value.into()),
                register,
                selector: spans.selector.map(|selector| selector.text(&text).into()),
            }
        };
        let operands = spans.iter().flat_map(|spans| &spans.operands);
        ["d", "a", "b", "c"].into_iter().zip(operands).map(operand).collect()
    }

    /// The bytes in the text of the module, from guard or mnemonic to `;`. `None` for an
    /// instruction that is not from a module.
    #[getter]
    fn span(&self) -> Option<Span> {
        self.place.as_ref().map(|place| place.span)
    }

    /// The characters in the text of the module.
    #[getter]
    fn chars(&self) -> Option<Span> {
        self.place.as_ref().map(|place| place.chars)
    }

    /// The name of the function that has it.
    #[getter]
    fn function(&self) -> Option<&str> {
        self.place.as_ref()?.function.as_deref()
    }

    /// The new value of `d` for source words: ints from -2147483648 to 4294967295. A word that
    /// the instruction does not read may be left out.
    #[pyo3(signature = (a = None, b = None, c = None, *, semantics = None))]
    fn eval(
        &self,
        a: Option<Word>,
        b: Option<Word>,
        c: Option<Word>,
        semantics: Option<Named<Semantics>>,
    ) -> PyResult<u32> {
        let program = self.program(semantics);
        let [a, b, c] = words(program, [a, b, c])?;
        Ok(program.eval(a, b, c))
    }

    /// The new values of `d` for columns of source words, which broadcast as in numpy.
    ///
    /// A column is an int, a numpy array of uint32, or another object with uint32 words in the
    /// memory of the CPU: by `__array_interface__`, DLPack or the buffer protocol. The result is
    /// written to `out`, which may be one of the sources. Without `out`, the result is a numpy
    /// array if a source is one, an int if all sources are ints, and otherwise a memoryview. Large
    /// columns are computed on all cores, and without the GIL: no other thread may change them
    /// meanwhile.
    #[pyo3(signature = (a = None, b = None, c = None, *, semantics = None, out = None))]
    fn eval_batch<'py>(
        &self,
        py: Python<'py>,
        a: Option<Bound<'py, PyAny>>,
        b: Option<Bound<'py, PyAny>>,
        c: Option<Bound<'py, PyAny>>,
        semantics: Option<Named<Semantics>>,
        out: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        columns::eval(py, self.program(semantics), [a, b, c], out)
    }

    /// The value of every step for source words, and the lanes of the result.
    #[pyo3(signature = (a = None, b = None, c = None, *, semantics = None))]
    fn trace(
        &self,
        a: Option<Word>,
        b: Option<Word>,
        c: Option<Word>,
        semantics: Option<Named<Semantics>>,
    ) -> PyResult<Trace> {
        let program = self.program(semantics);
        let [a, b, c] = words(program, [a, b, c])?;
        let steps = program.steps().iter().zip(program.trace(a, b, c)).map(|(step, value)| Step {
            stage: step.stage.text(),
            op: step.op.to_string(),
            value,
        });
        let steps: Vec<Step> = steps.collect();
        let result = program.eval(a, b, c);
        let lane = |it: vptx::video::ResultPart| {
            let bits = result >> it.part.shift() & (u32::MAX >> (32 - it.part.width()));
            let top = bits >> (it.part.width() - 1) == 1;
            let sign = i64::from(it.signed && top) << it.part.width();
            Lane {
                name: format!("{}{}", self.inner.destination(), it.part),
                bits,
                value: i64::from(bits) - sign,
                is_written: it.is_written,
            }
        };
        let lanes = self.inner.result_parts().into_iter().map(lane).collect();
        Ok(Trace { instruction: self.inner.to_string(), steps, lanes, result })
    }

    /// A picture of the lanes as SVG, with the values of source words if these are given. Without
    /// `semantics`, there is a drawing for each different meaning of the instruction.
    #[pyo3(signature = (a = None, b = None, c = None, *, semantics = None))]
    fn svg(
        &self,
        a: Option<Word>,
        b: Option<Word>,
        c: Option<Word>,
        semantics: Option<Named<Semantics>>,
    ) -> PyResult<String> {
        let one = semantics.map(|it| [it.0]);
        let semantics = one.as_ref().map_or(&Semantics::ALL[..], |one| one);
        let given = [a, b, c];
        let has_words = given.iter().any(Option::is_some);
        let words = has_words.then(|| words(self.program(one.map(|[it]| Named(it))), given));
        Ok(explain::svg(&self.inner, words.transpose()?, semantics))
    }

    /// The picture that a notebook shows.
    fn _repr_svg_(&self) -> String {
        explain::svg(&self.inner, None, &Semantics::ALL)
    }

    /// What the instruction computes, as a program over exact integers.
    #[pyo3(signature = (semantics = None))]
    fn lower(&self, semantics: Option<Named<Semantics>>) -> Program {
        Program { inner: Arc::clone(self.program(semantics)) }
    }

    /// Ordinary PTX of the same meaning: the cheapest on the target, with the declarations of its
    /// registers. Raises `ValueError` if there is none for the target.
    #[pyo3(signature = (target, semantics = None))]
    fn to_ptx(
        &self,
        target: Named<Target>,
        semantics: Option<Named<Semantics>>,
    ) -> PyResult<String> {
        let mut registers = FreshRegisters::avoiding(&self.inner.to_string());
        let text = self
            .inner
            .to_ptx(target.0, chosen(semantics), &mut registers)
            .map_err(|error| PyValueError::new_err(error.to_string()))?;
        let lines = registers.declarations().into_iter().chain([text]);
        Ok(lines.collect::<Vec<_>>().join("\n"))
    }

    /// The machine instructions on a target such as `sm_90`. `None` if they were not measured.
    fn cost(&self, target: Named<Target>) -> Option<Cost> {
        self.inner.cost(target.0).map(Cost::from)
    }

    fn __str__(&self) -> String {
        self.inner.to_string()
    }

    fn __repr__(&self) -> String {
        format!("Instruction({:?})", self.inner.to_string())
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Instruction>().is_ok_and(|other| other.get().inner == self.inner)
    }

    fn __hash__(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.inner.hash(&mut hasher);
        hasher.finish()
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, RestoreArguments)> {
        let restore = py.import("vptx._vptx")?.getattr("_restore")?;
        let place = self.place.clone().map(|it| (it.span, it.chars, it.function));
        Ok((restore, (self.inner.to_string(), place)))
    }
}

type RestoreArguments = (String, Option<(Span, Span, Option<String>)>);

/// An instruction from its pickle.
#[pyfunction]
#[pyo3(name = "_restore")]
pub(crate) fn restore(
    py: Python<'_>,
    text: Text,
    place: Option<(Span, Span, Option<String>)>,
) -> PyResult<Instruction> {
    let place = place.map(|(span, chars, function)| Place { span, chars, function });
    Ok(Instruction { place, ..Instruction::new(py, text)? })
}

/// A program over exact integers.
#[pyclass(frozen, eq, hash, module = "vptx")]
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Program {
    inner: Arc<ir::Program>,
}

#[pymethods]
impl Program {
    /// A program from its text.
    #[new]
    fn new(text: &str) -> PyResult<Program> {
        let inner = text
            .parse()
            .map_err(|error: ir::ParseProgramError| PyValueError::new_err(error.to_string()))?;
        Ok(Program { inner: Arc::new(inner) })
    }

    /// Like `Instruction.eval`.
    #[pyo3(signature = (a = None, b = None, c = None))]
    fn eval(&self, a: Option<Word>, b: Option<Word>, c: Option<Word>) -> PyResult<u32> {
        let [a, b, c] = words(&self.inner, [a, b, c])?;
        Ok(self.inner.eval(a, b, c))
    }

    /// Like `Instruction.eval_batch`.
    #[pyo3(signature = (a = None, b = None, c = None, *, out = None))]
    fn eval_batch<'py>(
        &self,
        py: Python<'py>,
        a: Option<Bound<'py, PyAny>>,
        b: Option<Bound<'py, PyAny>>,
        c: Option<Bound<'py, PyAny>>,
        out: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        columns::eval(py, &self.inner, [a, b, c], out)
    }

    fn __len__(&self) -> usize {
        self.inner.steps().len()
    }

    fn __str__(&self) -> String {
        self.inner.to_string()
    }

    fn __repr__(&self) -> String {
        format!("<Program: {} steps>", self.inner.steps().len())
    }

    fn __getnewargs__(&self) -> (String,) {
        (self.inner.to_string(),)
    }
}

/// A step of a trace.
#[pyclass(frozen, eq, hash, get_all, module = "vptx")]
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Step {
    /// The manual's stage, such as `saturate`.
    stage: &'static str,
    /// The operation; `%0` is the value of the first step.
    op: String,
    value: i128,
}

#[pymethods]
impl Step {
    fn __repr__(&self) -> String {
        format!("<Step {} = {}>", self.op, self.value)
    }
}

/// A lane of a result, or the part that a scalar instruction writes.
#[pyclass(frozen, eq, hash, get_all, module = "vptx")]
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Lane {
    /// The register with the selector of the lane, such as `d.b3`.
    name: String,
    /// Its bits.
    bits: u32,
    /// The number that its bits are in the destination type.
    value: i64,
    /// Whether the instruction writes it. If not, it comes from `c`.
    is_written: bool,
}

#[pymethods]
impl Lane {
    fn __repr__(&self) -> String {
        format!("<Lane {} = {:#x} ({})>", self.name, self.bits, self.value)
    }
}

/// The value of every step of an instruction, and the lanes of the result, from the highest
/// down.
#[pyclass(frozen, eq, hash, get_all, module = "vptx")]
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Trace {
    instruction: String,
    steps: Vec<Step>,
    /// Empty if the result is a whole word.
    lanes: Vec<Lane>,
    /// The new `d`.
    result: u32,
}

#[pymethods]
impl Trace {
    fn __repr__(&self) -> String {
        format!("<Trace of {} = {:#010x}>", self.instruction, self.result)
    }

    fn __str__(&self) -> String {
        let mut text = format!("{} = {:#010x}\n", self.instruction, self.result);
        // Writing to a string does not fail.
        for Lane { name, bits, value, is_written } in &self.lanes {
            let from = if *is_written { "" } else { "  from c" };
            let _ = writeln!(text, "  {name}  {bits:#x}  {value}{from}");
        }
        for (at, Step { stage, op, value }) in self.steps.iter().enumerate() {
            let _ = writeln!(text, "  %{at}  {op}  {value}  ({stage})");
        }
        text
    }

    fn _repr_html_(&self) -> String {
        let row = |cells: &[&str]| {
            let cells: String = cells
                .iter()
                .map(|cell| format!("<td style=\"text-align:left\">{}</td>", escaped(cell)))
                .collect();
            format!("<tr>{cells}</tr>")
        };
        let mut html = format!(
            "<div><code>{} = {:#010x}</code></div>",
            escaped(&self.instruction),
            self.result
        );
        if !self.lanes.is_empty() {
            html += "<table><thead><tr><th>lane</th><th>bits</th><th>value</th><th></th></tr>\
                     </thead><tbody>";
            for Lane { name, bits, value, is_written } in &self.lanes {
                let from = if *is_written { "" } else { "from c" };
                html += &row(&[name, &format!("{bits:#x}"), &value.to_string(), from]);
            }
            html += "</tbody></table>";
        }
        html += "<table><thead><tr><th>step</th><th>stage</th><th>operation</th>\
                 <th>value</th></tr></thead><tbody>";
        for (at, Step { stage, op, value }) in self.steps.iter().enumerate() {
            html += &row(&[&format!("%{at}"), stage, op, &value.to_string()]);
        }
        html + "</tbody></table>"
    }
}
