//! Any bytes as a binary or an archive: nothing may panic, and texts must stay within the limit.
#![no_main]

use std::io::Cursor;

use libfuzzer_sys::fuzz_target;
use vptx::extract::{Limits, images, walk};

const LIMIT: u64 = 1 << 20;

fuzz_target!(|bytes: &[u8]| {
    for image in images(bytes).flatten() {
        assert!((image.offset as usize) < bytes.len());
        assert!(!image.bytes.contains(&0));
    }
    let limits = Limits::default().with_image(LIMIT);
    walk(&mut Cursor::new(bytes), limits, &mut |_, image| {
        assert!(image.is_err() || image.is_ok_and(|image| image.bytes.len() as u64 <= LIMIT));
    });
});
