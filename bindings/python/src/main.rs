//! The program `vptx`, as the root package has it.

use std::process::ExitCode;

fn main() -> ExitCode {
    vptx::cli::main()
}
