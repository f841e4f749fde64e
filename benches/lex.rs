//! Throughput of the lexer for several styles: it reads every token of a module.

mod module;

use divan::Bencher;
use divan::counter::BytesCount;
use module::{Recipe, Style};

fn main() {
    divan::main();
}

/// Modules of 10 MB with 1 % of video instructions.
#[divan::bench(args = Style::ALL.map(|(name, _)| name), sample_count = 5, sample_size = 1)]
fn tokens(bencher: Bencher<'_, '_>, name: &str) {
    let source = Recipe::new(Style::named(name), 10_000_000, 10).make();
    bencher
        .counter(BytesCount::of_str(&source))
        .bench_local(|| vptx::syntax::statement_tokens(divan::black_box(&source)).len());
}
