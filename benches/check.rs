//! Throughput of `check` for several sizes, shares of video instructions, and styles.
//!
//! If the throughput is equal for 1, 10 and 100 MB, nothing is quadratic.

mod module;

use divan::Bencher;
use divan::counter::BytesCount;
use module::{Recipe, Style};
use vptx::CheckOptions;

fn main() {
    divan::main();
}

fn run(bencher: Bencher<'_, '_>, recipe: Recipe) {
    let source = recipe.make();
    let options = CheckOptions::default();
    let found = vptx::check(&source, &options);
    assert_eq!(found.is_empty(), !recipe.doubtful);
    assert!(found.iter().all(|found| found.code.text() >= "V5"));
    bencher
        .counter(BytesCount::of_str(&source))
        .bench_local(|| vptx::check(divan::black_box(&source), &options));
}

fn nvcc(megabytes: usize, video_per_mille: u64) -> Recipe {
    Recipe::new(Style::Nvcc, megabytes * 1_000_000, video_per_mille)
}

#[divan::bench(args = [1, 10, 100], sample_count = 5, sample_size = 1)]
fn plain(bencher: Bencher<'_, '_>, megabytes: usize) {
    run(bencher, nvcc(megabytes, 0));
}

#[divan::bench(args = [1, 10, 100], sample_count = 5, sample_size = 1)]
fn one_percent_video(bencher: Bencher<'_, '_>, megabytes: usize) {
    run(bencher, nvcc(megabytes, 10));
}

#[divan::bench(args = [1, 10], sample_count = 5, sample_size = 1)]
fn all_video(bencher: Bencher<'_, '_>, megabytes: usize) {
    run(bencher, nvcc(megabytes, 1000));
}

/// Modules in which most instructions get a finding.
#[divan::bench(args = [1, 10], sample_count = 5, sample_size = 1)]
fn all_doubtful(bencher: Bencher<'_, '_>, megabytes: usize) {
    run(bencher, Recipe { doubtful: true, ..nvcc(megabytes, 1000) });
}

/// Modules of 10 MB with 1 % of video instructions.
#[divan::bench(args = Style::ALL.map(|(name, _)| name), sample_count = 5, sample_size = 1)]
fn style(bencher: Bencher<'_, '_>, name: &str) {
    run(bencher, Recipe::new(Style::named(name), 10_000_000, 10));
}
