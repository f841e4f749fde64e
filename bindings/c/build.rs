//! Names the shared library after its ABI, as loaders of ELF want it.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|system| system == "linux") {
        // The number is `ABI_VERSION` in src/lib.rs.
        println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libvptx.so.1");
    }
}
