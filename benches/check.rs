//! Throughput of `check` over size and over the share of video instructions.
//!
//! Equal figures for 1, 10 and 100 MB show that nothing is quadratic.

mod module;

use divan::Bencher;
use divan::counter::BytesCount;
use vptx::CheckOptions;

fn main() {
    divan::main();
}

fn run(bencher: Bencher<'_, '_>, bytes: usize, video_per_mille: u64) {
    let source = module::make(bytes, video_per_mille);
    let options = CheckOptions::default();
    // Some forms in the mix are doubtful, and said to be.
    assert!(vptx::check(&source, &options).iter().all(|found| found.code.text() >= "V5"));
    bencher
        .counter(BytesCount::of_str(&source))
        .bench_local(|| vptx::check(divan::black_box(&source), &options));
}

#[divan::bench(args = [1, 10, 100], sample_count = 5, sample_size = 1)]
fn plain(bencher: Bencher<'_, '_>, megabytes: usize) {
    run(bencher, megabytes * 1_000_000, 0);
}

#[divan::bench(args = [1, 10, 100], sample_count = 5, sample_size = 1)]
fn one_percent_video(bencher: Bencher<'_, '_>, megabytes: usize) {
    run(bencher, megabytes * 1_000_000, 10);
}

#[divan::bench(args = [1, 10], sample_count = 5, sample_size = 1)]
fn all_video(bencher: Bencher<'_, '_>, megabytes: usize) {
    run(bencher, megabytes * 1_000_000, 1000);
}
