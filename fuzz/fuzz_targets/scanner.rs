//! Any bytes: the findings must be the same whether ordinary statements are skipped or read, and
//! the layout must be the same whether tokens are skipped or read.
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
