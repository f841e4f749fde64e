//! Runs the ignored tests of `tests/live`, which compare vptx with ptxas and a solver.

use std::fs;
use std::process::Command;

use crate::Task;
use crate::work::{Failure, Outcome, Scratch, cuda_tools, live, root, run, words};

pub const TASKS: &[Task] = &[
    Task {
        name: "ptxas-agree",
        arguments: "[COUNT] [SEED] [VERSION]",
        about: "Compare verdicts on fresh instructions with ptxas",
        details: "\
Makes COUNT video instructions (2000), half of them well-formed and half near misses, and asks
ptxas 11.8, 12.9 and 13.5 about each, or only VERSION. Fails if vptx has no error where one of them
rejects, or has one in dialect `ptxas` where one accepts. A few known accidents of ptxas are
counted, and do not fail the test. The same SEED, a number, makes the same instructions. Up to 64
instructions are asked about in one module, where that gives the same verdicts. Two cores do about
90 a second with all three, and 400 with 13.5 alone.",
        run: ptxas_agree,
    },
    Task {
        name: "names-agree",
        arguments: "[COUNT] [SEED]",
        about: "Compare names in random modules with ptxas",
        details: "\
Makes COUNT small modules (2000). In nine of ten, one declaration, label or parameter gets
another name, is left out, or is declared twice. ptxas 13.5 says which names are unknown or
declared twice; fails if vptx says otherwise, or finds something else. The same SEED, a number,
makes the same modules. Two cores do about 50 a second.",
        run: |arguments| agree("names::", arguments),
    },
    Task {
        name: "syntax-agree",
        arguments: "[COUNT] [SEED]",
        about: "Compare syntax errors with ptxas",
        details: "\
Asks ptxas 13.5 about the statements of fixtures/oracle/syntax.tsv and about COUNT others (2000), in
which one or two tokens are left out, added or changed. Half of these are instructions of all
opcodes. Fails if a recorded verdict is another one, if the tree or `check` has an error where ptxas
accepts, or if `check` misses more than one in twenty syntax errors. The same SEED, a number, makes
the same statements. Two cores do about 100 a second.",
        run: |arguments| agree("syntax::", arguments),
    },
    Task {
        name: "effects-agree",
        arguments: "[COUNT] [SEED] | --record",
        about: "Ask ptxas which registers instructions read and write",
        details: "\
Assembles the instructions of fixtures/oracle/effects.tsv with ptxas 13.5, each in several
kernels, and fails if their code shows other reads and writes than those recorded. Takes all
instructions, or COUNT of them, which SEED, a number, selects. Two cores do 732 in 20 seconds.

--record writes what ptxas shows into the file. A new row has a target, an instruction and an
empty column.",
        run: effects_agree,
    },
    Task {
        name: "rewrite-check",
        arguments: "[TEST]",
        about: "Assemble and run rewritten instructions with ptxas",
        details: "\
Asks ptxas 12.9 and 13.5 about ordinary PTX that took the place of video instructions: it must
assemble, for each measured target of docs/targets.md, and so must the modules below fixtures/
when they are rewritten. Every sequence must compute what its instruction does, and every
opcode that ptxas folds must give the result that vptx expects. TEST selects tests by a part of
their names; without it, all tests run. Two cores take about two minutes.",
        run: rewrite_check,
    },
    Task {
        name: "measure-costs",
        arguments: "[--guards | --one-register | --regions | --only PREFIX | --target TARGET] | --check [COUNT] [SEED]",
        about: "Count machine instructions, and choose strategies by them",
        details: "\
Assembles, with ptxas 13.5, instructions of every class of forms and every sequence that may be
the best one for them, each in a separate kernel, for each measured target of docs/targets.md;
counts the machine instructions beyond those of a kernel that only loads and stores; and writes
the counts and the best strategies to src/backend/ptx/costs.txt. Instructions that become a
little shorter are assembled again with a guard, because a guard can make them longer. Then it
prints the table of docs/rewriting/savings.md. Two cores need about fifteen minutes.

--guards measures only instructions with a guard again, in about six minutes; --one-register only
SIMD instructions that combine lanes of a register with themselves. --regions counts only
what regions of random kernels become, and writes fixtures/oracle/regions.tsv. --only measures
instructions whose mnemonic and modifiers begin with PREFIX, such as `vset4.u32`, and
instructions with a guard. --target measures all instructions for one target that the table has.

--check makes COUNT instructions (2000) with any selectors, masks and constants, rewrites them
as `vptx rewrite` does, and fails if one of them becomes longer on one of the targets. Then it
makes COUNT / 4 chains that fill a word or add to a sum, as many groups on bytes, comparisons of
the same words, instructions on known constants and ranges, differences with shared limits and
masks of flags, and fails if one is longer when it is rewritten as a region than when each
instruction is rewritten by itself. The same SEED, a number, makes the same instructions.",
        run: measure_costs,
    },
    Task {
        name: "prove-rewrites",
        arguments: "[--samples] [COUNT] [SEED]",
        about: "Prove with z3 that rewritten instructions compute the same",
        details: "\
Asks the solver z3 whether any words a, b, c make a sequence of ordinary PTX and the program of
its instruction differ, for every sequence of

  - every class of instructions: those that differ only in the places of parts and lanes count
    once,
  - every scalar form with a constant in each place,
  - every lane selector and every part, in one instruction or a few,
  - chains of scalar instructions that become one, of every mnemonic and modifiers,
  - instructions on results of others, whose range is known, at random,
  - COUNT random instructions (500); the same SEED, a number, makes the same.

Then asks the same about COUNT pairs of an instruction and a sequence, also of a sequence for
another instruction, and compares the answers with those of `vptx diff`. Fails if one is wrong, and
if z3 takes too long: 300 seconds for one question. About random instructions, it has 20 seconds,
and may fail at one in twenty. Two cores need about three quarters of an hour; --samples proves only
the random instructions.

Environment:
  VPTX_PROVE_ONLY      only instructions that begin with this text, such as `vadd4.u32`
  VPTX_PROVE_STRATEGY  only strategies whose name begins with this text, such as `native`
  VPTX_Z3              another z3 than the one that scripts/cuda-tools --z3 installs",
        run: prove_rewrites,
    },
];

/// Reads arguments `[COUNT] [SEED]`. A missing argument is empty; the tests have defaults for it.
fn count_and_seed(arguments: &[String]) -> Outcome<[&str; 2]> {
    if arguments.len() > 2 || arguments.iter().any(|argument| argument.starts_with('-')) {
        return Err(Failure::Usage);
    }
    let at = |place: usize| arguments.get(place).map_or("", String::as_str);
    Ok([at(0), at(1)])
}

fn agree(filter: &str, arguments: &[String]) -> Outcome {
    run(&mut agreeing(filter, arguments)?)
}

fn agreeing(filter: &str, arguments: &[String]) -> Outcome<Command> {
    let [count, seed] = count_and_seed(arguments)?;
    cuda_tools("")?;
    let mut tests = words("cargo test --locked --test live");
    // Some of these tests are not ignored, because they test the generator and need no ptxas.
    tests.args([filter, "--", "--include-ignored", "--nocapture"]);
    tests.env("VPTX_LIVE_COUNT", count).env("VPTX_LIVE_SEED", seed);
    Ok(tests)
}

fn ptxas_agree(arguments: &[String]) -> Outcome {
    let (most, version) = match arguments {
        [most @ .., version] if most.len() == 2 => (most, version.as_str()),
        _ => (arguments, ""),
    };
    run(agreeing("ptxas::", most)?.env("VPTX_LIVE_ONLY", version))
}

fn effects_agree(arguments: &[String]) -> Outcome {
    if arguments.first().is_none_or(|first| first != "--record") {
        return agree("effects::", arguments);
    }
    if arguments.len() > 1 {
        return Err(Failure::Usage);
    }
    cuda_tools("")?;
    run(live("effects::").env("VPTX_RECORD", "1"))
}

fn rewrite_check(arguments: &[String]) -> Outcome {
    let test = match arguments {
        [] => "",
        [test] if !test.starts_with('-') => test,
        _ => return Err(Failure::Usage),
    };
    cuda_tools("")?;
    run(&mut live(&format!("rewrite::{test}")))
}

fn measure_costs(arguments: &[String]) -> Outcome {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (measure, only, target) = match words[..] {
        ["--check", ..] => {
            let [count, seed] = count_and_seed(&arguments[1..])?;
            cuda_tools("")?;
            let tests = &mut live("never_worse");
            return run(tests.env("VPTX_COST_COUNT", count).env("VPTX_COST_SEED", seed));
        }
        [] => ("measure_costs", "", ""),
        ["--regions"] => {
            cuda_tools("")?;
            return run(&mut live("costs::measure_regions"));
        }
        ["--guards"] => ("measure_guards", "", ""),
        ["--one-register"] => ("measure_one_register", "", ""),
        ["--only", prefix] if !prefix.is_empty() => ("measure_costs", prefix, ""),
        ["--target", target] if !target.is_empty() => ("measure_costs", "", target),
        _ => return Err(Failure::Usage),
    };
    cuda_tools("")?;
    let folder = Scratch::new()?;
    let new = folder.path().join("costs.txt");
    let mut tests = live(&format!("costs::{measure}"));
    tests.env("VPTX_COST_ONLY", only).env("VPTX_COST_TARGET", target).env("VPTX_COSTS", &new);
    run(&mut tests)?;
    fs::copy(&new, root().join("src/backend/ptx/costs.txt"))?;
    // This builds with the new costs, and fails if the page has older ones.
    let test = "cargo test --locked --test library -- costs::the_documentation_has";
    run(&mut crate::work::words(test))
}

fn prove_rewrites(arguments: &[String]) -> Outcome {
    let (tests, rest) = match arguments.split_first() {
        Some((first, rest)) if first == "--samples" => ("proof::samples_are_proven", rest),
        _ => ("proof::", arguments),
    };
    let [count, seed] = count_and_seed(rest)?;
    if std::env::var_os("VPTX_Z3").is_none_or(|path| path.is_empty()) {
        cuda_tools("--z3")?;
    }
    // Tests run one after the other, because each uses two solvers.
    let mut command = live(tests);
    command.args(["values::", "--test-threads", "1"]);
    run(command.env("VPTX_PROVE_COUNT", count).env("VPTX_PROVE_SEED", seed))
}
