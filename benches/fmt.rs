//! Throughput of `format` for several sizes, shares of video instructions, and styles.
//!
//! If the throughput is equal for 1, 10 and 50 MB, nothing is quadratic.

mod module;

use divan::Bencher;
use divan::counter::BytesCount;
use module::{Recipe, Style};
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

#[divan::bench(args = [1, 10], sample_count = 5, sample_size = 1)]
fn all_video(bencher: Bencher<'_, '_>, megabytes: usize) {
    run(bencher, &module::make(megabytes * 1_000_000, 1000));
}

/// Modules of 10 MB with 1 % of video instructions.
#[divan::bench(args = Style::ALL.map(|(name, _)| name), sample_count = 5, sample_size = 1)]
fn style(bencher: Bencher<'_, '_>, name: &str) {
    run(bencher, &Recipe::new(Style::named(name), 10_000_000, 10).make());
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
