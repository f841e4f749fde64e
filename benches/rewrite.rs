//! Throughput of the steps of `vptx rewrite`: reading a module, choosing ordinary PTX for its video
//! instructions, and writing the whole text.

mod module;

use divan::Bencher;
use divan::counter::BytesCount;
use vptx::RewriteOptions;

fn main() {
    divan::main();
}

fn run(bencher: Bencher<'_, '_>, megabytes: usize, video_per_mille: u64) {
    let source = module::make(megabytes * 1_000_000, video_per_mille);
    let options = RewriteOptions::default();
    bencher.counter(BytesCount::of_str(&source)).bench_local(|| {
        let (module, _) = vptx::parse(divan::black_box(&source));
        vptx::rewrite(&module, &options).expect("a known target").text()
    });
}

#[divan::bench(args = [1, 10, 50], sample_count = 5, sample_size = 1)]
fn plain(bencher: Bencher<'_, '_>, megabytes: usize) {
    run(bencher, megabytes, 0);
}

#[divan::bench(args = [1, 10, 50], sample_count = 5, sample_size = 1)]
fn one_percent_video(bencher: Bencher<'_, '_>, megabytes: usize) {
    run(bencher, megabytes, 10);
}

#[divan::bench(args = [1, 5], sample_count = 3, sample_size = 1)]
fn all_video(bencher: Bencher<'_, '_>, megabytes: usize) {
    run(bencher, megabytes, 1000);
}
