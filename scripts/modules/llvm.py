"""Newer LLVM, from the Python package llvmlite.

usage: PYTHONPATH=scripts python3 -m modules.llvm object IN.ll OUT.o
       PYTHONPATH=scripts python3 -m modules.llvm counts FOLDER

object verifies a module, optimises it, and compiles it for this machine.
counts prints how many machine instructions the functions of the modules in FOLDER become
on each target, and of FOLDER/any.ll; fails where those for its architecture are more.
cargo xtask emit-llvm calls it.
"""

import math
import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

from modules import wheels

sys.path.insert(0, str(wheels.unpacked("llvmlite==0.50.0")))
import llvmlite.binding as llvm

# Name: triple, processor, features.
TARGETS = {
    "gfx90a": ("amdgcn-amd-amdhsa", "gfx90a", ""),
    "gfx1100": ("amdgcn-amd-amdhsa", "gfx1100", ""),
    "sm_90": ("nvptx64-nvidia-cuda", "sm_90", "+ptx80"),
    "x86-64": ("x86_64-unknown-linux-gnu", "x86-64-v3", ""),
    "aarch64": ("aarch64-unknown-linux-gnu", "generic", ""),
}

# Instructions that every function has and that are not counted: the return, and on amdgcn the waits
# for memory accesses of the caller.
FRAME = re.compile(
    r"(ret|retq|s_setpc_b64|s_waitcnt|s_wait\w+|s_delay_alu|vzeroupper"
    r"|RET\S*|NOP|BRA|\.\S+)$"
)


def optimised(text, target):
    """A module after the passes of -O2, and the target machine of these passes."""
    triple, cpu, features = TARGETS[target] if target else (llvm.get_default_triple(), "", "")
    module = llvm.parse_assembly(text)
    module.verify()
    module.triple = triple
    machine = llvm.Target.from_triple(triple).create_target_machine(
        cpu=cpu, features=features, opt=2, reloc="pic"
    )
    module.data_layout = str(machine.target_data)
    options = llvm.create_pipeline_tuning_options(speed_level=2)
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
    return module, machine


def of_assembly(text):
    """The number of instructions of each function in an assembly listing."""
    counts, name = {}, None
    for line in text.splitlines():
        label = re.match(r"([A-Za-z]\w*):", line)
        if label:
            name = label[1]
            counts[name] = 0
        elif re.match(r"\.Lfunc_end", line):
            name = None
        elif name and (word := re.match(r"\s+([a-z]\S*)", line)):
            counts[name] += not FRAME.match(word[1])
    return counts


def of_ptx(text):
    """The number of machine instructions of each function, by ptxas."""
    with tempfile.TemporaryDirectory() as folder:
        source, cubin = Path(folder, "m.ptx"), Path(folder, "m.cubin")
        source.write_text(text.replace(".weak .func", ".visible .func"))
        ptxas = [wheels.CUDA / "bin/ptxas-13.5", "-c", "-arch=sm_90", source, "-o", cubin]
        subprocess.run(ptxas, check=True)
        command = [wheels.CUDA / "bin/nvdisasm", "-c", cubin]
        listing = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    counts, name = {}, None
    for line in listing.splitlines():
        if section := re.match(r"\s*\.section\s+\.text\.(\w+)", line):
            name = section[1]
            counts[name] = 0
        elif name and (found := re.match(r"\s+/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+\s+)?(\w+)", line)):
            counts[name] += not FRAME.match(found[1])
    return counts


def counts_on(target, text):
    module, machine = optimised(text, target)
    assembly = machine.emit_assembly(module)
    return of_ptx(assembly) if target == "sm_90" else of_assembly(assembly)


def mean(ratios):
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def counts(folder):
    # Name, family, and machine instructions after the PTX rewriter.
    rows = [line.split("\t") for line in (folder / "forms.tsv").read_text().splitlines()]
    found = {}
    for target in TARGETS:
        own = TARGETS[target][0].partition("-")[0]
        for kind, name in [("vectors", own), ("scalar", "any")]:
            found[kind, target] = counts_on(target, (folder / f"{name}.ll").read_text())
    worse, families = [], defaultdict(list)
    for name, family, rewritten in rows:
        pairs = {
            target: (found["vectors", target][name], found["scalar", target][name])
            for target in TARGETS
        }
        families[family].append((pairs, int(rewritten)))
        worse += [(name, target, *pair) for target, pair in pairs.items() if pair[0] > pair[1]]
    print("| family | forms |", *(f"{target} |" for target in TARGETS), "PTX rewriter on sm_90 |")
    print("|---|---|" + "---|" * (len(TARGETS) + 1))
    for family, forms in sorted(families.items()):
        cells = []
        for target in TARGETS:
            vectors, scalar = zip(*(pairs[target] for pairs, _ in forms))
            geometric = [mean([max(count, 1) for count in side]) for side in (vectors, scalar)]
            cells.append(f"{geometric[0]:.1f} / {geometric[1]:.1f} |")
        rewriter = mean([max(count, 1) for _, count in forms])
        print(f"| {family} | {len(forms)} |", *cells, f"{rewriter:.1f} |")
    for name, target, vectors, scalar in worse[:20]:
        print(f"worse on {target}: {name}: {vectors} with vectors, {scalar} without")
    print(f"{len(rows)} functions, {len(worse)} times worse with vectors")
    return 1 if worse else 0


def main():
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    match sys.argv[1:]:
        case ["object", source, output]:
            module, machine = optimised(Path(source).read_text(), None)
            Path(output).write_bytes(machine.emit_object(module))
        case ["counts", folder]:
            return counts(Path(folder))
        case _:
            print(__doc__)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
