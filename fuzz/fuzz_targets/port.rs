//! Any bytes as a CUDA source: each change of an `asm` to a call must fit the text. If all
//! statements were read, porting the result again must change nothing.
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
    // A malformed statement may contain another one.
    if !skipped_in(&text, Host::C).is_empty() {
        return;
    }
    let again = port(&once, "vptx_video.h", &mut Header::new(Semantics::Manual));
    assert_eq!(again.text(&once), once);
});
