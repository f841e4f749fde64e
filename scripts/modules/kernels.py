"""Machine instructions of statements, each in a kernel of its own.

They are counted as tests/live/costs.rs does: the kernel loads `a`, `b`, `c` and stores `d`,
and the instructions of one that does nothing else are not counted.
"""

import os
import struct
import subprocess
import tempfile
from pathlib import Path

from modules import assembled

HEAD = ".version {version}\n.target {target}\n.address_size 64\n"
KERNEL = """.visible .entry k{number}(.param .u64 input)
{{
.reg .b64 %pointer;
.reg .b32 a, b, c, d;
ld.param.u64 %pointer, [input];
ld.volatile.global.u32 a, [%pointer];
ld.volatile.global.u32 b, [%pointer+4];
ld.volatile.global.u32 c, [%pointer+8];
{{
{body}
}}
st.volatile.global.u32 [%pointer+12], d;
ret;
}}
"""
NOP = 0x918


def module(bodies, target):
    """A module with a kernel for each body; the first kernel only loads and stores."""
    bodies = ["mov.b32 d, c;", *bodies]
    kernels = (KERNEL.format(number=at, body=body) for at, body in enumerate(bodies))
    version = "{}.{}".format(*assembled.ASSEMBLERS[assembled.NEWEST])
    return HEAD.format(version=version, target=target) + "".join(kernels)


def counts(sections):
    """The numbers of machine instructions of the kernels k1, k2, ..., less that of k0."""
    found = {}
    for name, code in sections.items():
        if name.startswith(".text.k"):
            words = (struct.unpack_from("<H", code, at)[0] for at in range(0, len(code), 16))
            found[int(name[7:])] = sum(word & 0xFFF != NOP for word in words)
    return [max(found[at] - found[0], 0) for at in range(1, len(found))]


def assemble(text, target):
    """The counts of machine instructions for the kernels of a module."""
    with tempfile.TemporaryDirectory() as folder:
        source, cubin = Path(folder, "kernels.ptx"), Path(folder, "kernels.cubin")
        source.write_text(text)
        ptxas = assembled.TOOLS / f"ptxas-{assembled.NEWEST}"
        run = subprocess.run([ptxas, "-arch", target, source, "-o", cubin], capture_output=True,
                             text=True)
        if run.returncode:
            raise SystemExit(f"ptxas rejects a module for {target}:\n{run.stderr[:2000]}")
        return counts(assembled.sections(cubin.read_bytes()))


def count(bodies, target):
    return assemble(module(bodies, target), target)


def candidates(instructions, target):
    """For each instruction, the strategies and statements of its sequences."""
    command = ["cargo", "run", "--profile", "test", "--quiet", "--locked", "--example",
               "candidates", "--", target]
    run = subprocess.run([*command, *instructions], capture_output=True, text=True,
                         cwd=assembled.ROOT, env={**os.environ, "NO_COLOR": "1"})
    if run.returncode:
        raise SystemExit(run.stderr.strip())
    found = []
    for block in run.stdout.split("\n\n")[:-1]:
        title, *lines = block.splitlines()
        if title.startswith("# "):
            found.append([])
        else:
            found[-1].append((title, "\n".join(lines)))
    return found
