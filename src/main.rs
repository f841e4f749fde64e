//! The `vptx` command line program.

use std::process::ExitCode;

fn main() -> ExitCode {
    vptx::cli::main()
}
