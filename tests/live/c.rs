//! Functions compiled by C compilers give the results of the programs. `cargo xtask emit-c` runs
//! it.

use std::collections::HashMap;
use std::env;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::calls::{Rows, driver, run};
use vptx::backend::c::Header;
use vptx::ir::Input;
use vptx::{Instruction, Semantics};

/// Functions, and the C expressions that call them.
#[derive(Default)]
struct Functions {
    headers: Vec<Header>,
    numbers: HashMap<String, usize>,
    calls: Vec<String>,
}

impl Functions {
    fn new() -> Functions {
        let headers = Semantics::ALL.map(Header::new).into();
        Functions { headers, ..Functions::default() }
    }

    /// The number of the function of an instruction under a semantics.
    fn number(&mut self, instruction: &Instruction, semantics: usize) -> usize {
        let header = &mut self.headers[semantics];
        let name = header.add(instruction);
        if let Some(number) = self.numbers.get(&name) {
            return *number;
        }
        let parameters: Vec<&str> =
            header.parameters(instruction).into_iter().map(Input::text).collect();
        self.calls.push(format!("{name}({})", parameters.join(", ")));
        self.numbers.insert(name, self.calls.len() - 1);
        self.calls.len() - 1
    }

    fn header(&self) -> String {
        self.headers.iter().map(Header::to_string).collect()
    }
}

/// Compiles a source and returns the results for the rows.
pub(crate) fn results(
    folder: &Path,
    compiler: &[&str],
    source: &str,
    rows: &[[u32; 4]],
) -> Vec<u32> {
    let language = if compiler[0].ends_with("++") { "test.cpp" } else { "test.c" };
    fs::write(folder.join(language), source).unwrap();
    let output = Command::new(compiler[0])
        .current_dir(folder)
        .args(&compiler[1..])
        .args(["-Wall", "-Wextra", "-Wconversion", "-Wsign-conversion", "-pedantic", "-Werror"])
        .args(["-fsanitize=undefined", "-fno-sanitize-recover=all", language, "-o", "test"])
        .output()
        .unwrap_or_else(|error| panic!("{compiler:?}: {error}"));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{compiler:?}: {}", said.get(..3000).unwrap_or(&said));
    run(&folder.join("test"), rows)
}

#[test]
#[ignore = "needs C compilers"]
fn functions_compute_what_programs_do() {
    let compilers = env::var("VPTX_C_COMPILERS").unwrap_or("gcc -std=c99 -O1".into());
    let mut functions = Functions::new();
    let rows = Rows::new("VPTX_C", |instruction, semantics| {
        Some(functions.number(instruction, semantics))
    });
    assert!(rows.recorded() > 100);
    let folder = env::temp_dir().join(format!("vptx-c-{}", std::process::id()));
    fs::create_dir(&folder).unwrap();
    // clang warns of unused functions outside of headers.
    let (header, path) = (functions.header(), folder.join("functions.h"));
    let source = format!("#include \"functions.h\"\n{}", driver(&functions.calls));
    fs::write(&path, &header).unwrap();
    for compiler in compilers.split(',') {
        let words: Vec<&str> = compiler.split_whitespace().collect();
        let found = results(&folder, &words, &source, &rows.given);
        println!("{compiler}: {}", rows.compare(&found, &functions.calls));
    }
    // The test notices a wrong function.
    let words: Vec<&str> = compilers.split(',').next().unwrap().split_whitespace().collect();
    let mutated = header.replace("? 1 : 0", "? 0 : 1");
    assert_ne!(header, mutated);
    fs::write(&path, &mutated).unwrap();
    assert_ne!(results(&folder, &words, &source, &rows.given), rows.expected);
    fs::remove_dir_all(&folder).unwrap();
}
