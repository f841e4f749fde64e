//! `vptx check` on a tree of 5,000 CUDA sources, compared with `grep -rn asm` on the same tree.
//! Prints the median times of some rounds, and the median of the ratios.
//!
//! The tree is made from a seed: classes, kernels, comments and strings as in any code base. One
//! file in four has an `asm`, and one in eight has a video instruction in an `asm`.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const FILES: usize = 5_000;
const ROUNDS: usize = 7;

/// A xorshift generator.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn pick<'a>(&mut self, choices: &[&'a str]) -> &'a str {
        choices[(self.next() % choices.len() as u64) as usize]
    }
}

/// Pieces of ordinary code; `#` stands for a number.
const CODE: &[&str] = &[
    "// Copies tile # of the input into shared memory; the caller's block has # threads.\n",
    "/* Rows are padded to # elements, so that\n * no two threads meet in one bank. */\n",
    "template <typename T, int N = #>\nstruct Tile# {\n    T values[N];\n    __device__ T& operator[](int i) { return values[i % N]; }\n};\n\n",
    "__global__ void kernel_#(const float* __restrict__ in, float* out, int n)\n{\n    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    if (i < n) {\n        out[i] = in[i] * #.0f + __ldg(&in[(i + #) % n]);\n    }\n}\n\n",
    "static const char* const messages_#[] = { \"launch %d failed: \\\"%s\\\"\\n\", \"out of memory\\t(#)\" };\n",
    "#define CHECK_#(call)                                     \\\n    do {                                                  \\\n        cudaError_t e = (call);                           \\\n        if (e != cudaSuccess) fail(e, __FILE__, __LINE__); \\\n    } while (0)\n\n",
    "    const int big = 1'000'000; char c = '\\''; // it's\n",
    "inline __host__ __device__ unsigned mix_#(unsigned h)\n{\n    h ^= h >> 16;\n    h *= 0x85ebca6bu;\n    return h ^ (h >> #);\n}\n\n",
];

const ASM: &[&str] = &[
    "    asm volatile(\"ld.global.nc.v4.u32 {%0, %1, %2, %3}, [%4];\"\n        : \"=r\"(x), \"=r\"(y), \"=r\"(z), \"=r\"(w) : \"l\"(ptr));\n",
    "    asm(\"mov.u32 %0, %%laneid;\" : \"=r\"(lane));\n",
    "    asm volatile(\"{\\n\\t.reg .pred p;\\n\\tsetp.ne.b32 p, %0, 0;\\n\\t@p bar.sync 0;\\n\\t}\" ::\"r\"(flag));\n",
];

const VIDEO: &[&str] = &[
    "    asm(\"vabsdiff4.u32.u32.u32.add %0, %1, %2, %3;\" : \"=r\"(d) : \"r\"(a), \"r\"(b), \"r\"(c));\n",
    "    asm(\"vmax.s32.s32.s32.max \"\n        \"%0, %1, %2, %3;\" : \"=r\"(d) : \"r\"(a), \"r\"(b), \"r\"(c));\n",
    "    asm(\"vset4.u32.u32.ne %0, %1, %2, %1;\" : \"=r\"(d) : \"r\"(a), \"r\"(b));\n",
];

fn source(random: &mut Random, number: usize) -> String {
    let length = 2_000 + random.next() as usize % 20_000;
    let mut text = String::new();
    while text.len() < length {
        let piece = random.pick(CODE);
        for part in piece.split_inclusive('#') {
            text.push_str(part.strip_suffix('#').unwrap_or(part));
            if part.ends_with('#') && !piece.starts_with("#define") {
                write!(text, "{}", random.next() % 1_000).expect("memory");
            } else if part.ends_with('#') {
                // At the start of a line, the `#` starts a directive and stays.
                text.push_str(if text.ends_with('\n') || text.is_empty() { "#" } else { "7" });
            }
        }
        if number.is_multiple_of(4) && random.next().is_multiple_of(8) {
            text.push_str(random.pick(ASM));
        }
        if number.is_multiple_of(8) && random.next().is_multiple_of(8) {
            text.push_str(random.pick(VIDEO));
        }
    }
    text
}

fn tree(root: &Path) -> usize {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut bytes = 0;
    for number in 0..FILES {
        let folder = root.join(format!("module{:02}", number % 50));
        fs::create_dir_all(&folder).expect("a folder");
        let ending = ["cu", "cuh", "h", "cpp"][number % 4];
        let text = source(&mut random, number);
        bytes += text.len();
        fs::write(folder.join(format!("file{number}.{ending}")), text).expect("a file");
    }
    bytes
}

fn time(command: &mut Command) -> Duration {
    let start = Instant::now();
    let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
    assert!(status.is_ok_and(|status| status.code().is_some()), "{command:?}");
    start.elapsed()
}

fn median<T: PartialOrd + Copy>(mut values: Vec<T>) -> T {
    values.sort_by(|left, right| left.partial_cmp(right).expect("numbers"));
    values[values.len() / 2]
}

fn main() {
    // `cargo test --benches` only builds the benchmark, so nothing is measured.
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
    let root: PathBuf = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cuda-tree");
    let _ = fs::remove_dir_all(&root);
    let bytes = tree(&root);
    println!("{FILES} files, {} MB", bytes / 1_000_000);
    let vptx = |threads: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_vptx"));
        command.env("RAYON_NUM_THREADS", threads).args(["check", "--isolated", "-q"]).arg(&root);
        command
    };
    let grep = || {
        let mut command = Command::new("grep");
        command.args(["-rn", "asm"]).arg(&root);
        command
    };
    let (mut one, mut all, mut greps) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        greps.push(time(&mut grep()));
        one.push(time(&mut vptx("1")));
        all.push(time(&mut vptx("0")));
    }
    let ratio = |times: &[Duration]| {
        let ratios = times.iter().zip(&greps).map(|(time, grep)| time.div_duration_f64(*grep));
        median(ratios.collect())
    };
    println!("grep -rn asm              {:7.1?}", median(greps.clone()));
    println!("vptx check, one thread    {:7.1?}  {:.2} x grep", median(one.clone()), ratio(&one));
    println!("vptx check, all threads   {:7.1?}  {:.2} x grep", median(all.clone()), ratio(&all));
}
