//! Any bytes as a CUDA source: each change of `asm` to a call fits the text. If all statements were
//! read, nothing is left to change in what comes out.
#![no_main]

use libfuzzer_sys::fuzz_target;
use vptx::backend::c::Header;
use vptx::embed::{Host, skipped_in};
use vptx::port::port;
use vptx::{Semantics, source};

fuzz_target!(|bytes: &[u8]| {
    let text = source::decode(bytes.to_vec());
    let ported = port(&text, "vptx_video.h", &mut Header::new(Semantics::Manual));
    let once = ported.text(&text);
    // In a statement that is not well-formed, another one may be.
    if !skipped_in(&text, Host::C).is_empty() {
        return;
    }
    let again = port(&once, "vptx_video.h", &mut Header::new(Semantics::Manual));
    assert_eq!(again.text(&once), once);
});
