//! Tests in which compilers compile the functions of C and LLVM, and ported sources.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use crate::Task;
use crate::work::{
    Failure, Outcome, Scratch, command, cuda_tools, exists, files, live, output, root, run, tools,
    words,
};

pub const TASKS: &[Task] = &[
    Task {
        name: "emit-c",
        arguments: "[--quick] [SEED]",
        about: "Compile the functions of lower --emit c, and compare results",
        details: "\
Compiles functions of every scalar form, of a sample of SIMD forms, and of the recorded
instructions, under all semantics; without warnings and with a sanitizer for undefined
behaviour. They must give what vptx computes, and the recorded results. Uses gcc, and clang
if it is installed: C99 and C++11, with and without optimisation. If clang is installed, it must
also accept the functions as OpenCL C and HIP. --quick takes gcc and a small sample. SEED is 1.

Environment:
  VPTX_SAMPLES  multiplies the 24 calls of each function",
        run: emit_c,
    },
    Task {
        name: "emit-llvm",
        arguments: "[--quick | --counts | --proofs] [SEED]",
        about: "Compile, count or prove the functions of lower --emit llvm",
        details: "\
Compiles functions of every scalar form, of a sample of SIMD forms, and of the recorded
instructions, under all semantics and for each architecture. They must give what vptx computes,
and the recorded results. Uses opt and llc of LLVM 14, with and without optimisation, and
LLVM 22 from the Python package llvmlite, which is fetched. --quick takes llc and a small sample.
SEED is 1.

--counts prints how many machine instructions LLVM 22 makes of functions of all combinations of
modifiers, for each architecture, and of functions that compute lane by lane, for comparison.
ptxas compiles the functions for NVIDIA. Fails if a function needs more machine instructions than
the one that computes lane by lane.

--proofs asks the solver z3 whether functions of 300 forms differ from what the instructions
mean for some inputs.

Environment:
  LLVM_SUFFIX   the end of the names of opt and llc (-14)
  VPTX_SAMPLES  multiplies the 24 calls of each function",
        run: emit_llvm,
    },
    Task {
        name: "port-check",
        arguments: "[--quick] [SEED]",
        about: "Compile sources ported by vptx port, and compare results",
        details: "\
Ports the sources of fixtures/port/ported, and random asm statements, and compiles them as C
and C++, without warnings and with a sanitizer for undefined behaviour. Each must compute what
its instructions do. Uses gcc, and clang if it is installed; --quick takes gcc and few
statements. If clang is installed, it must also accept the ported sources as HIP for a GPU, and as
SYCL (for the host, with the headers of Intel's package on PyPI, 114 MB). nvcc, which
scripts/cuda-tools installs, must accept them, too, and its PTX must have no video instruction.
SEED is 1.",
        run: port_check,
    },
];

/// Reads arguments `[OPTION] [SEED]`, where the option is one of `options`.
fn option_and_seed<'a>(arguments: &'a [String], options: &[&str]) -> Outcome<(&'a str, &'a str)> {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (option, rest) = match words[..] {
        [first, ref rest @ ..] if options.contains(&first) => (first, rest),
        ref rest => ("", rest),
    };
    match rest {
        [] => Ok((option, "1")),
        [seed] if !seed.starts_with('-') => Ok((option, seed)),
        _ => Err(Failure::Usage),
    }
}

fn emit_c(arguments: &[String]) -> Outcome {
    let (option, seed) = option_and_seed(arguments, &["--quick"])?;
    let (is_quick, has_clang) = (option == "--quick", exists("clang"));
    let mut tests = live("c::functions");
    tests.env("VPTX_C_SEED", seed);
    if is_quick {
        tests.env("VPTX_C_LANES", "200").env("VPTX_C_COMPILERS", "gcc -std=c99 -O0");
        return run(&mut tests);
    }
    let mut compilers =
        "gcc -std=c99 -O0,gcc -std=c99 -O2,g++ -std=c++11 -O0,g++ -std=c++11 -O2".to_owned();
    if has_clang {
        compilers += ",clang -std=c99 -O0,clang -std=c99 -O2,clang++ -std=c++11 -O2";
    }
    tests.env("VPTX_C_LANES", "5000").env("VPTX_C_STEP", "1").env("VPTX_C_COMPILERS", compilers);
    run(&mut tests)?;
    if !has_clang {
        return Ok(());
    }
    let folder = Scratch::new()?;
    let header = folder.path().join("functions.h");
    let modules = files(&root().join("fixtures/ptx/nvcc"), |name| {
        name.starts_with("video_") && name.ends_with(".sm_90.ptx")
    })?;
    let contents = modules.iter().map(fs::read).collect::<Result<Vec<_>, _>>()?;
    let module = folder.path().join("all.ptx");
    fs::write(&module, contents.concat())?;
    fs::write(&header, output(program("lower --emit c").arg(module))?)?;
    run(words(
        "clang -x cl -cl-std=CL1.2 -Xclang -finclude-default-header -Wall -Wextra -Werror \
         -Wno-unused-function -fsyntax-only",
    )
    .arg(&header))?;
    run(hip().arg("-fsyntax-only").arg(&header))?;
    println!("clang: accepted as OpenCL C and as HIP");
    Ok(())
}

/// The program that the tests run, which most often is built already.
fn program(arguments: &str) -> std::process::Command {
    words(&format!("cargo run --profile test --quiet --locked -- {arguments}"))
}

/// Clang as a compiler for HIP; HIP itself need not be installed.
fn hip() -> std::process::Command {
    words(
        "clang -x hip --cuda-device-only --offload-arch=gfx90a -nogpuinc -nogpulib \
         -D__host__=__attribute__((host)) -D__device__=__attribute__((device))",
    )
}

fn emit_llvm(arguments: &[String]) -> Outcome {
    let (option, seed) = option_and_seed(arguments, &["--quick", "--counts", "--proofs"])?;
    let python = "python3 -m modules.llvm";
    let scripts = root().join("scripts");
    match option {
        "--counts" => {
            cuda_tools("")?;
            let folder = Scratch::new()?;
            output(
                live("llvm::forms_to_count")
                    .env("VPTX_LLVM_SEED", seed)
                    .env("VPTX_LLVM_FOLDER", folder.path()),
            )?;
            run(words(python).arg("counts").arg(folder.path()).env("PYTHONPATH", scripts))
        }
        "--proofs" => {
            cuda_tools("--z3")?;
            run(live("llvm::functions_are_programs").env("VPTX_LLVM_SEED", seed))
        }
        _ => {
            let suffix = std::env::var("LLVM_SUFFIX").unwrap_or_else(|_| "-14".into());
            let llc = format!("llc{suffix} -relocation-model=pic -filetype=obj IN -o OUT");
            let opt = format!("opt{suffix} -passes=verify,default<O2>,verify IN -o OUT");
            let mut tests = live("llvm::functions_compute_what_programs_do");
            tests.env("VPTX_LLVM_SEED", seed).env("PYTHONPATH", scripts);
            if option == "--quick" {
                tests.env("VPTX_LLVM_LANES", "150").env("VPTX_LLVM_STEP", "100");
                tests.env("VPTX_LLVM_ARCHITECTURES", "any,x86_64");
                tests.env("VPTX_LLVM_WAYS", format!("{llc} -O0"));
            } else {
                tests.env("VPTX_LLVM_LANES", "5000").env("VPTX_LLVM_STEP", "1");
                let ways = format!("{llc} -O0;{opt}|{llc} -O2;{python} object IN OUT");
                tests.env("VPTX_LLVM_WAYS", ways);
            }
            run(&mut tests)
        }
    }
}

fn port_check(arguments: &[String]) -> Outcome {
    let (option, seed) = option_and_seed(arguments, &["--quick"])?;
    let (is_quick, has_clang) = (option == "--quick", exists("clang"));
    let mut tests = live("port::");
    tests.env("VPTX_C_SEED", seed);
    if is_quick {
        tests.env("VPTX_PORT_STATEMENTS", "200");
        tests.env("VPTX_C_COMPILERS", "g++ -std=c++14 -O1,gcc -std=c99 -O0");
        return run(&mut tests);
    }
    let mut compilers =
        "g++ -std=c++14 -O0,g++ -std=c++17 -O2,gcc -std=c99 -O0,gcc -std=c99 -O2".to_owned();
    if has_clang {
        compilers += ",clang++ -std=c++14 -O2,clang -std=c99 -O2";
    }
    tests.env("VPTX_PORT_STATEMENTS", "2000").env("VPTX_C_COMPILERS", compilers);
    run(&mut tests)?;

    let folder = Scratch::new()?;
    let folder = folder.path();
    for source in files(&root().join("fixtures/port/ported"), |_| true)? {
        fs::copy(&source, folder.join(source.file_name().expect("a name")))?;
    }
    run(program("port --to hip").arg(folder))?;
    let is_source = |name: &str| [".cu", ".cuh", ".hpp"].iter().any(|end| name.ends_with(end));
    let (mut includes, mut calls) = (String::new(), String::new());
    for path in files(folder, |_| true)? {
        let text = fs::read_to_string(&path)?;
        let mut names = text.split(|c: char| !c.is_alphanumeric() && c != '_');
        if names.any(|name| matches!(name, "asm" | "__asm" | "__asm__")) {
            let message = format!("a statement was not ported: {}", path.display());
            return Err(Failure::Message(message));
        }
        let name = path.file_name().expect("a name").to_string_lossy();
        if is_source(&name) {
            _ = writeln!(includes, "#include \"{name}\"");
            for test in text.lines().filter_map(|line| line.split_once("// test ")) {
                let function = test.1.split_once(": ").map_or(test.1, |(function, _)| function);
                _ = writeln!(calls, "    p[0] ^= {function}(p[1], p[2], p[3]);");
            }
        }
    }
    // A kernel, or a task of SYCL, that calls every function.
    let (kernel, task) = (folder.join("kernel.cu"), folder.join("task.cpp"));
    let start = "extern \"C\" __global__ void all_functions(unsigned *p)\n{\n";
    fs::write(&kernel, format!("{includes}{start}{calls}}}\n"))?;
    let names = "#include <sycl/sycl.hpp>\n#define __device__\n#define __inline__ inline\n\
                 #define __forceinline__ inline\n";
    let start =
        "void all_functions(sycl::queue &queue, unsigned *p)\n{\n    queue.single_task([=] {\n";
    fs::write(&task, format!("{names}{includes}{start}{calls}    }});\n}}\n"))?;
    if has_clang {
        accepted_by_clang(&kernel, &task, folder)?;
    }
    accepted_by_nvcc(&kernel, folder)
}

fn accepted_by_clang(kernel: &Path, task: &Path, folder: &Path) -> Outcome {
    let assembly = folder.join("kernel.ll");
    let mut clang = hip();
    clang.args(
        "-D__global__=__attribute__((global)) -D__forceinline__=inline -D__inline__=inline -Wall \
         -Wextra -Werror -Wno-unused-parameter -Wno-unused-function \
         -Wno-pragma-once-outside-header -S -emit-llvm -o"
            .split_whitespace(),
    );
    run(clang.arg(&assembly).arg(kernel))?;
    let text = fs::read_to_string(&assembly)?;
    let mut lines = text.lines().filter(|line| line.starts_with("define "));
    if !lines.any(|line| line.contains("amdgpu_kernel void @all_functions")) {
        return Err(Failure::Message("clang: there is no kernel".into()));
    }
    println!("clang: accepted as HIP for gfx90a");

    let script = "from modules import wheels\n\
                  package = wheels.unpacked('intel-sycl-rt==2025.3.3')\n\
                  print(next(package.rglob('sycl/sycl.hpp')).parent.parent)";
    let mut python = command(["python3", "-c", script]);
    let headers = output(python.env("PYTHONPATH", root().join("scripts")))?;
    let mut clang = words("clang++ -std=c++17 -isystem");
    clang.arg(headers.trim_end()).args(
        "-Wall -Wextra -Wconversion -Werror -Wno-unused-parameter -Wno-unused-function \
         -fsyntax-only"
            .split_whitespace(),
    );
    run(clang.arg(task))?;
    println!("clang: accepted for the host, with the SYCL headers of Intel");
    Ok(())
}

fn accepted_by_nvcc(kernel: &Path, folder: &Path) -> Outcome {
    cuda_tools("--nvcc")?;
    let ptx = folder.join("kernel.ptx");
    let mut nvcc = command([tools().join("bin/nvcc")]);
    run(nvcc.args(["-ptx", "-arch=sm_90", "-o"]).arg(&ptx).arg(kernel))?;
    let survey = output(program("survey --format json").arg(&ptx))?;
    if !survey.contains("\"images_with_video\":0,") {
        return Err(Failure::Message("nvcc: a video instruction is left".into()));
    }
    if !fs::read_to_string(&ptx)?.contains("all_functions") {
        return Err(Failure::Message("nvcc: there is no kernel".into()));
    }
    println!("nvcc: accepted as CUDA, without video instructions");
    Ok(())
}
