//! What ptxas shows about the registers that an instruction reads and writes. No code here depends
//! on the meaning of an opcode.
//!
//! `cargo xtask effects-agree` runs it.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::process::Command;
use std::sync::Mutex;

use crate::costs::{kernel_codes, on_two_threads, tool};
use crate::ptxas::Scratch;
use crate::support::effects::{
    FIRST_LINE, Row, declarations, kernel, module, registers, rows, type_of,
};
use crate::support::{fixture, forms, setting};
use vptx::analysis::check;
use vptx::check::CheckOptions;
use vptx::diagnostic::{Code, RuleSet};
use vptx::isa::{Form, Mnemonic, Sources};

/// The number of instructions that share a module.
const BATCH: usize = 60;

/// The address of a register's first value. The machine code of the load contains this address.
fn place(number: usize) -> u32 {
    0x5a_1000 + number as u32 * 0x240
}

fn loads(registers: &[&str]) -> String {
    let load = |(number, register): (usize, &&str)| {
        let from = format!("[%in+{}]", place(number));
        match type_of(register) {
            "pred" => format!(
                "{{ .reg .b32 %l; ld.global.b32 %l, {from}; setp.ne.b32 {register}, %l, 0; }} "
            ),
            own => format!("ld.global.{own} {register}, {from}; "),
        }
    };
    registers.iter().enumerate().map(load).collect()
}

fn store(number: usize, own: &str, register: &str) -> String {
    let to = format!("[%out+{}]", number * 64);
    match own {
        "pred" => {
            format!(" {{ .reg .b32 %s; selp.b32 %s, 1, 0, {register}; st.global.b32 {to}, %s; }}")
        }
        _ => format!(" st.global.{own} {to}, {register};"),
    }
}

/// Two bodies about one register: the first stores a copy made before the instruction, the second
/// stores the register after it. ptxas makes the same code of both if it knows that the instruction
/// does not write the register.
fn bodies_about_a_write(row: &Row, register: &str) -> [String; 2] {
    let registers = registers(&row.text);
    let own = type_of(register);
    let before = declarations(&registers) + &loads(&registers);
    ["%copy", register].map(|stored| {
        let text = &row.text;
        let store = store(0, own, stored);
        format!("{before} .reg .{own} %copy; mov.{own} %copy, {register}; {text} {store}")
    })
}

/// A body that stores the registers that the instruction writes. ptxas removes the load of a
/// register that the instruction does not read.
fn body_about_reads(row: &Row, is_written: &[bool]) -> String {
    let registers = registers(&row.text);
    let mut body = declarations(&registers) + &loads(&registers) + &row.text;
    let written = registers.iter().zip(is_written).filter(|(_, is_written)| **is_written);
    for (number, (register, _)) in written.enumerate() {
        body += &store(number, type_of(register), register);
    }
    body
}

/// What ptxas says about a module, and the codes of its kernels.
fn assemble(scratch: &Scratch, name: &str, target: &str, text: &str) -> (String, Vec<Vec<u8>>) {
    let (source, object) = (scratch.file(name), scratch.file(&format!("{name}-code")));
    fs::write(&source, text).expect("the scratch folder is writable");
    let run = Command::new(tool("ptxas-13.5"))
        .args(["-arch", target])
        .args([&source, &"-o".into(), &object])
        .output()
        .expect("ptxas starts");
    let messages = String::from_utf8_lossy(&run.stderr).into_owned();
    if !run.status.success() {
        return (messages, Vec::new());
    }
    let elf = fs::read(&object).expect("an object");
    let codes: BTreeMap<usize, Vec<u8>> =
        kernel_codes(&elf).into_iter().map(|(number, code)| (number, code.to_vec())).collect();
    (messages, codes.into_values().collect())
}

/// For each message about a line, the number of the kernel in that line and the text.
fn by_kernel(messages: &str) -> impl Iterator<Item = (usize, &str)> {
    messages.lines().filter_map(|line| {
        let (_, rest) = line.split_once(", line ")?;
        let (number, message) = rest.split_once(';')?;
        Some((number.parse::<usize>().ok()?.checked_sub(FIRST_LINE)?, message))
    })
}

fn refused(messages: &str, bodies: &[String]) -> String {
    let refused = by_kernel(messages);
    let lines = refused.map(|(number, message)| format!("{}\n   {message}", bodies[number]));
    lines.collect::<Vec<_>>().join("\n")
}

/// What ptxas shows about the rows of a batch, in the notation of `effects.tsv`.
fn shown(scratch: &Scratch, name: &str, rows: &[Row]) -> Vec<String> {
    let target = &rows[0].target;
    let module = |bodies: &[String]| {
        let kernels = bodies.iter().enumerate().map(|(number, body)| kernel(number, body));
        module(target, kernels)
    };
    let code = |bodies: &[String]| {
        let (messages, codes) = assemble(scratch, name, target, &module(bodies));
        assert_eq!(
            codes.len(),
            bodies.len(),
            "{target}: {}\n{messages}",
            refused(&messages, bodies)
        );
        codes
    };

    let written: Vec<[String; 2]> = rows
        .iter()
        .flat_map(|row| registers(&row.text).into_iter().map(|it| bodies_about_a_write(row, it)))
        .collect();
    let codes = code(written.as_flattened());
    let mut is_written = codes.chunks(2).map(|pair| pair[0] != pair[1]);
    let is_written: Vec<Vec<bool>> = rows
        .iter()
        .map(|row| is_written.by_ref().take(registers(&row.text).len()).collect())
        .collect();
    let bodies: Vec<String> =
        rows.iter().zip(&is_written).map(|(row, written)| body_about_reads(row, written)).collect();
    let codes = code(&bodies);
    let is_loaded = |code: &[u8], number: usize| {
        // The code may load only a part of the register.
        (0..16).step_by(4).any(|part| {
            let place = &(place(number) + part).to_le_bytes()[..3];
            code.chunks(16).any(|instruction| instruction[5..8] == *place)
        })
    };

    // Without declarations, ptxas names the registers that an instruction needs.
    let bodies: Vec<String> = rows.iter().map(|row| row.text.clone()).collect();
    let (messages, _) = assemble(scratch, name, target, &module(&bodies));
    let mut unknown = vec![Vec::new(); rows.len()];
    for (number, message) in by_kernel(&messages) {
        if let Some((_, name)) = message.split_once("Unknown symbol '") {
            unknown[number].push(name.trim_end_matches('\'').to_string());
        }
    }
    rows.iter()
        .enumerate()
        .map(|(at, row)| {
            let registers = registers(&row.text);
            let mut named = unknown[at].clone();
            named.sort();
            named.dedup();
            let mut expected: Vec<String> = registers.iter().map(ToString::to_string).collect();
            expected.sort();
            assert_eq!(named, expected, "{}", row.text);
            let show = |(number, register): (usize, &&str)| {
                let is_read = is_loaded(&codes[at], number);
                let sign = match (is_read, is_written[at][number]) {
                    (true, true) => "+",
                    (true, false) => "",
                    (false, true) => "=",
                    (false, false) => "-",
                };
                format!("{sign}{register}")
            };
            registers.iter().enumerate().map(show).collect::<Vec<_>>().join(" ")
        })
        .collect()
}

/// V512 reports exactly the instructions where ptxas loses a guard, among SIMD instructions with
/// default selectors.
#[test]
#[ignore = "needs ptxas"]
fn guards_are_lost_where_it_is_told() {
    let options = CheckOptions::default().with_rules(RuleSet::NONE.with(Code::LostGuard));
    let mut rows = Vec::new();
    let is_simd = |(form, _): &(&Form, Mnemonic)| form.sources != Sources::Scalar;
    for (form, mnemonic) in forms::rows().filter(is_simd) {
        for head in forms::heads(form, mnemonic) {
            let text = format!("@p1 {head} r1, r2, r3, r4;");
            rows.push(Row { target: "sm_80".into(), text, effects: String::new() });
        }
    }
    let scratch = Scratch::new();
    let mut lost = 0;
    for (number, batch) in rows.chunks(BATCH).enumerate() {
        for (row, shown) in batch.iter().zip(shown(&scratch, &format!("guards-{number}"), batch)) {
            let is_told = !check(&row.text, &options).is_empty();
            assert_eq!(shown.starts_with("-p1"), is_told, "{}: {shown}", row.text);
            lost += u32::from(is_told);
        }
    }
    assert_eq!(lost, 2);
}

#[test]
#[ignore = "needs ptxas"]
fn registers_are_read_and_written_as_recorded() {
    let count = setting("VPTX_LIVE_COUNT", u64::MAX) as usize;
    let part = setting("VPTX_LIVE_SEED", 0) as usize;
    let mut rows = rows();
    let is_whole = count >= rows.len();
    if !is_whole {
        let first = part * count % rows.len();
        rows.rotate_left(first);
        rows.truncate(count);
    }
    let is_same = |one: &Row, other: &Row| one.target == other.target;
    let batches: Vec<&[Row]> = rows.chunk_by(is_same).flat_map(|rows| rows.chunks(BATCH)).collect();
    let found = Mutex::new(vec![Vec::new(); batches.len()]);
    let scratch = Scratch::new();
    on_two_threads(batches.len(), |at| {
        let shown = shown(&scratch, &format!("effects-{at}"), batches[at]);
        found.lock().expect("no panic")[at] = shown;
    });
    let found: Vec<String> = found.into_inner().expect("no panic").into_iter().flatten().collect();
    println!("{} instructions", rows.len());
    let path = fixture("oracle/effects.tsv");
    if std::env::var_os("VPTX_RECORD").is_some() {
        assert!(is_whole, "only all are recorded");
        let old = fs::read_to_string(&path).expect("a file");
        let mut text: String = old
            .lines()
            .filter(|line| line.starts_with('#'))
            .map(|line| line.to_owned() + "\n")
            .collect();
        for (row, shown) in rows.iter().zip(&found) {
            writeln!(text, "{}\t{}\t{shown}", row.target, row.text).unwrap();
        }
        fs::write(path, text).expect("the file is writable");
        return;
    }
    for (row, shown) in rows.iter().zip(&found) {
        assert_eq!(*shown, row.effects, "{} {}", row.target, row.text);
    }
}
