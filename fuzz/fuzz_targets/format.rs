//! Any bytes: the formatter either refuses the text, or its result is unchanged when it is
//! formatted again, and has the same tokens outside of video instructions. The normal form is
//! formatted already, and is equal to its normal form.
#![no_main]

use libfuzzer_sys::fuzz_target;
use vptx::print::{FormatOptions, NormalOptions, format, format_edits, normalize};
use vptx::{source, syntax};

fn tokens(text: &str) -> Vec<&str> {
    let (module, _) = vptx::parse(text);
    let mut spans: Vec<_> = module.instructions().map(|(span, _)| span).collect();
    spans.sort();
    syntax::statement_tokens(text)
        .into_iter()
        .filter(|token| {
            let next = spans.partition_point(|span| span.end <= token.span().start);
            spans.get(next).is_none_or(|span| token.span().start < span.start)
        })
        .map(|token| token.span().text(text))
        .collect()
}

fuzz_target!(|bytes: &[u8]| {
    let text = source::decode(bytes.to_vec());
    let options = FormatOptions::default();
    let mut normal = NormalOptions::default();
    normal.keep_names = bytes.len() % 2 == 0;
    normal.keep_comments = bytes.len() % 3 == 0;
    normal.keep_debug = bytes.len() % 5 == 0;
    let form = normalize(&text, &normal);
    let Ok(once) = format(&text, &options) else {
        assert!(form.is_err());
        return;
    };
    assert_eq!(tokens(&text), tokens(&once));
    assert_eq!(format(&once, &options).expect("it was formatted before"), once);
    assert_eq!(format_edits(&once, &options), Ok(vec![]));
    // The normal form is refused for more texts, such as statements without `;`.
    let Ok(form) = form else {
        return;
    };
    assert_eq!(format(&form, &options).as_ref(), Ok(&form));
    assert_eq!(normalize(&form, &normal), Ok(form));
});
