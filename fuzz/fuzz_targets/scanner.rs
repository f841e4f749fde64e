//! Any bytes: what is found must not depend on passing over ordinary statements,
//! nor the layout on passing over tokens.
#![no_main]

use libfuzzer_sys::fuzz_target;
use vptx::analysis::{check_counted, check_plainly};
use vptx::diagnostic::{Applicability, Fix};
use vptx::print::{FormatOptions, format, format_edits};
use vptx::{CheckOptions, source};

fuzz_target!(|bytes: &[u8]| {
    let text = source::decode(bytes.to_vec());
    let options = CheckOptions::default();
    assert_eq!(check_counted(&text, &options), check_plainly(&text, &options));
    let options = FormatOptions::default();
    let Ok(formatted) = format(&text, &options) else {
        return;
    };
    let edits = format_edits(&text, &options).expect("as before");
    let fix = Fix { title: String::new(), applicability: Applicability::Safe, edits };
    assert_eq!(fix.apply(&text), formatted);
});
