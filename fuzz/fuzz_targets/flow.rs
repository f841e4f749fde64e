//! Any bytes: names must resolve to names in the text, flow must stay inside its function, the
//! parts of video instructions must lie inside their statements, and renaming a symbol must rename
//! all its uses.
#![no_main]

use libfuzzer_sys::fuzz_target;
use vptx::flow::Flow;
use vptx::names::Names;
use vptx::source;
use vptx::syntax::{Edits, parse};

fuzz_target!(|bytes: &[u8]| {
    let text = source::decode(bytes.to_vec());
    let tree = parse(&text);
    let names = Names::of(&tree);
    for it in names.uses() {
        assert!(text.get(it.span().range()).is_some());
        let Some(meaning) = it.meaning() else { continue };
        assert!(names.uses_of(meaning).any(|other| other.span() == it.span()));
    }
    for (statement, video) in tree.video_instructions() {
        let Ok(video) = video else { continue };
        let span = statement.span();
        assert!(span.start <= video.spans.mnemonic.start && video.spans.mnemonic.end <= span.end);
        assert!(!video.spans.operands.is_empty());
    }
    for function in tree.functions() {
        let Some(flow) = Flow::of(&function, &names) else { continue };
        let _ = (flow.loops().len(), flow.dot(0).to_string());
        for at in 0..flow.statements().len() {
            for it in flow.accesses(at) {
                let reaching = flow.definitions_reaching(at, it.meaning);
                for definition in reaching.instructions {
                    assert!(
                        flow.readers_of(definition, it.meaning).contains(&at) || !it.access.reads()
                    );
                }
            }
        }
    }
    if let Some((symbol, _)) = names.symbols().next() {
        let mut edits = Edits::new(&tree);
        if edits.rename_symbol(&names, symbol, "%fuzzed_name").is_ok()
            && let Ok(edited) = edits.finish()
        {
            let changed = parse(edited.text());
            assert_eq!(Names::of(&changed).uses().len(), names.uses().len());
        }
    }
});
