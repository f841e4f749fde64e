//! Links the program so that it needs no shared library but the C library's.

use std::env;
use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=RUSTC_LINKER");
    if env::var_os("CARGO_FEATURE_CLI").is_some()
        && let Some(archive) = unwinder()
    {
        // As a whole: it comes after the shared one, which has all of its symbols.
        println!("cargo::rustc-link-arg-bins=-Wl,--whole-archive,{archive},--no-whole-archive");
    }
}

/// The compiler's archive of what walks the stack. Loading the shared library of it
/// takes a tenth of the time that `vptx --version` does.
fn unwinder() -> Option<String> {
    let target = env::var("TARGET").ok()?;
    let features = env::var("CARGO_CFG_TARGET_FEATURE").unwrap_or_default();
    if target != "x86_64-unknown-linux-gnu" || features.split(',').any(|it| it == "crt-static") {
        return None;
    }
    let linker = match env::var("RUSTC_LINKER") {
        Ok(linker) => linker,
        Err(_) if env::var("HOST") == Ok(target) => String::from("cc"),
        Err(_) => return None,
    };
    // What does not know the archive repeats its name, or knows no such option.
    let output = Command::new(linker).arg("-print-file-name=libgcc_eh.a").output().ok()?;
    let path = String::from_utf8(output.stdout).ok()?;
    let path = path.trim_end();
    let is_usable = output.status.success() && Path::new(path).is_absolute() && !path.contains(',');
    is_usable.then(|| path.to_string())
}
