"""Machine code of PTX, by ptxas 13.5 from scripts/cuda-tools."""

import os
import re
import struct
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TOOLS = Path(os.environ.get("VPTX_CUDA_DIR", ROOT / ".cuda")) / "bin"


def sections(cubin):
    """Name and bytes of the sections that hold code and constants."""
    offset, = struct.unpack_from("<Q", cubin, 0x28)
    size, count, names = struct.unpack_from("<HHH", cubin, 0x3A)
    headers = [struct.unpack_from("<IIQQQQ", cubin, offset + at * size) for at in range(count)]
    strings = headers[names][4]
    found = {}
    for name, kind, _, _, start, length in headers:
        end = cubin.index(b"\0", strings + name)
        text = cubin[strings + name:end].decode()
        if text.startswith((".text", ".nv.constant", ".nv.global.init")):
            # Sections without contents (8) only have a length.
            found[text] = length if kind == 8 else cubin[start:start + length]
    return found


def flags(text):
    """How to assemble a module, by its first target."""
    target = re.search(rb"\.target\s+(sm_\w+)([\w\s,]*)", text)
    arch = target.group(1).decode() if target else "sm_90"
    # The oldest target that ptxas 13.5 supports.
    if re.fullmatch(r"sm_[1-6]\d", arch) or arch in ("sm_70", "sm_72"):
        arch = "sm_75"
    return ["-arch", arch] + (["-g"] if target and b"debug" in target.group(2) else [])


def assemble(text, flags, folder, name):
    """The sections that ptxas makes of a text, if it takes it."""
    source, cubin = folder / f"{name}.ptx", folder / f"{name}.cubin"
    source.write_bytes(text)
    run = subprocess.run([TOOLS / "ptxas-13.5", *flags, source, "-o", cubin], capture_output=True)
    return None if run.returncode else sections(cubin.read_bytes())
