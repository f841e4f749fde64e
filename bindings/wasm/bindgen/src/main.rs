//! `bindgen MODULE FOLDER`: write the module, its JavaScript and its types for a bundler.

use std::env::args_os;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = args_os().skip(1);
    let (Some(module), Some(folder), None) = (arguments.next(), arguments.next(), arguments.next())
    else {
        return Err("usage: bindgen MODULE FOLDER".into());
    };
    let mut bindgen = wasm_bindgen_cli_support::Bindgen::new();
    bindgen.input_path(module).typescript(true).bundler(true)?;
    bindgen.generate(folder)?;
    Ok(())
}
