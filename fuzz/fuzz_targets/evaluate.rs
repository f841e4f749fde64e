//! Any lines as instructions with three values, as `eval --batch` takes them. For a legal
//! instruction, the interpreter, its steps and the evaluation in columns must agree, its page and
//! record must be written, and nothing may panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use vptx::evaluation::{Evaluation, Record, Registers, words};
use vptx::{Instruction, Semantics};

fuzz_target!(|text: &str| {
    for line in text.lines().take(64) {
        let mut fields = line.split('\t');
        let Ok(instruction) = fields.next().unwrap_or_default().parse::<Instruction>() else {
            continue;
        };
        let programs = Semantics::ALL.map(|it| instruction.lower(it));
        let values: Vec<String> = fields.map(str::to_owned).collect();
        let _ = words(&Registers::of(&instruction), &programs, &values);
        let number = |at: usize| values.get(at).and_then(|it| it.parse().ok()).unwrap_or(0u32);
        let [a, b, c] = [number(0), number(1), number(2)];
        for (program, semantics) in programs.iter().zip(Semantics::ALL) {
            let one = program.eval(a, b, c);
            let mut column = [0; 9];
            program.eval_batch(&[a; 9], &[b; 9], &[c; 9], &mut column);
            assert_eq!(column, [one; 9], "{instruction}");
            let last = program.trace(a, b, c)[program.result().index()];
            assert_eq!(last as u32, one, "{instruction}");
            let page = Evaluation {
                instruction: &instruction,
                semantics: &[semantics],
                words: [a, b, c],
                trace: true,
                unicode: true,
            };
            page.write(&mut Vec::new()).expect("memory takes it");
            let record = Record::of_results(None, line, [(&semantics, one)].into_iter());
            record.write(&mut Vec::new()).expect("memory takes it");
        }
    }
});
