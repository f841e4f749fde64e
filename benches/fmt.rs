//! Throughput of `format` over size and over the share of video instructions.
//!
//! Equal figures for 1, 10 and 50 MB show that nothing is quadratic.

mod module;

use divan::Bencher;
use divan::counter::BytesCount;
use vptx::print::{FormatOptions, format};

fn main() {
    divan::main();
}

fn run(bencher: Bencher<'_, '_>, source: &str) {
    let options = FormatOptions::default();
    bencher
        .counter(BytesCount::of_str(source))
        .bench_local(|| format(divan::black_box(source), &options).expect("no errors"));
}

#[divan::bench(args = [1, 10, 50], sample_count = 5, sample_size = 1)]
fn plain(bencher: Bencher<'_, '_>, megabytes: usize) {
    run(bencher, &module::make(megabytes * 1_000_000, 0));
}

#[divan::bench(args = [1, 10, 50], sample_count = 5, sample_size = 1)]
fn one_percent_video(bencher: Bencher<'_, '_>, megabytes: usize) {
    run(bencher, &module::make(megabytes * 1_000_000, 10));
}

/// A table of constants: one statement of 10 MB.
#[divan::bench(sample_count = 5, sample_size = 1)]
fn initializer(bencher: Bencher<'_, '_>) {
    let numbers = "17, 0x2a, -3, 255, ".repeat(520_000);
    run(bencher, &format!(".global .b32 t[2080001] = {{{numbers}0}};"));
}

#[divan::bench(sample_count = 5, sample_size = 1)]
fn already_formatted(bencher: Bencher<'_, '_>) {
    let source = module::make(10_000_000, 10);
    run(bencher, &format(&source, &FormatOptions::default()).expect("no errors"));
}
