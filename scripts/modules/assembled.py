"""Machine code of PTX, by the assemblers of scripts/cuda-tools."""

import functools
import os
import re
import struct
import subprocess
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TOOLS = Path(os.environ.get("VPTX_CUDA_DIR", ROOT / ".cuda")) / "bin"

# The newest `.version` that each ptxas accepts.
ASSEMBLERS = {"11.8": (7, 8), "12.9": (8, 8), "13.5": (9, 5)}
NEWEST = "13.5"

CODE = (".text", ".nv.constant", ".nv.global.init")
LINKED = (".text", ".nv.constant", ".nv.global", ".nv.shared", ".nv.local")
SYMBOLS, RELA, REL = 2, 4, 9
# Types of sections without contents, which only have a length: any, .nv.global, .nv.local,
# .nv.shared.
NO_CONTENTS = (8, 0x70000007, 0x70000009, 0x7000000A)


def sections(cubin, linked=False):
    """Name and bytes of the sections that hold code and constants. With `linked`, also those of
    variables, the places that a linker fills in, and the symbols that it sees."""
    def text_at(start):
        return cubin[start:cubin.index(b"\0", start)].decode()

    offset, = struct.unpack_from("<Q", cubin, 0x28)
    size, count, names = struct.unpack_from("<HHH", cubin, 0x3A)
    headers = [struct.unpack_from("<IIQQQQII", cubin, offset + at * size) for at in range(count)]
    own = [text_at(headers[names][4] + header[0]) for header in headers]
    found = {}
    for name, (_, kind, _, _, start, length, _, _) in zip(own, headers):
        if name.startswith(LINKED if linked else CODE):
            found[name] = length if kind in NO_CONTENTS else cubin[start:start + length]
    if not linked:
        return found
    symbols, found["symbols"] = [], set()
    for _, kind, _, _, start, length, link, _ in headers:
        if kind != SYMBOLS:
            continue
        for at in range(start, start + length, 24):
            name, info, _, section, value, extent = struct.unpack_from("<IBBHQQ", cubin, at)
            name = text_at(headers[link][4] + name)
            # Names of internal symbols may differ. Symbols that another module defines are in no
            # section.
            place = own[section] if 0 < section < count else (section, name)
            symbols.append((place, value))
            if info >> 4:
                found["symbols"].add((name, place, value, extent))
    for name, (_, kind, _, _, start, length, _, _) in zip(own, headers):
        filled = name.removeprefix(".rela").removeprefix(".rel")
        if kind in (REL, RELA) and filled.startswith(LINKED):
            entries = struct.iter_unpack("<QQ" if kind == REL else "<QQq",
                                         cubin[start:start + length])
            found[name] = [(at, info & 0xFFFFFFFF, symbols[info >> 32], *addend)
                           for at, info, *addend in entries]
    return found


@functools.cache
def targets(version):
    """The targets that a ptxas builds for, such as sm_90."""
    run = subprocess.run([TOOLS / f"ptxas-{version}", "--help"], capture_output=True, text=True)
    return sorted(set(re.findall(r"'(sm_\w+)'", run.stdout)), key=number)


def number(target):
    return int(re.search(r"\d+", target)[0])


def flags(text, version=NEWEST):
    """The flags for assembling a module with a ptxas, by the first target of the module."""
    target = re.search(rb"\.target\s+(sm_\w+)([\w\s,]*)", text)
    arch = target.group(1).decode() if target else "sm_90"
    oldest = targets(version)[0]
    arch = oldest if number(arch) < number(oldest) else arch
    return ["-arch", arch] + (["-g"] if target and b"debug" in target.group(2) else [])


def older(text, version):
    """A text in which a module says that it is as old as a ptxas: a newer `.version` or an
    unknown target is replaced, and so are bytes that are not ASCII."""
    newest = ASSEMBLERS[version]

    def own_version(match):
        is_newer = (int(match[2]), int(match[3])) > newest
        return match[1] + (b"%d.%d" % newest if is_newer else match[0][len(match[1]):])

    def own_target(match):
        arch = match[2].decode()
        known = targets(version)
        is_known = arch in known or number(arch) < number(known[0])
        return match[1] + (match[2] if is_known else b"sm_90")

    text = re.sub(rb"(\.version\s+)(\d+)\.(\d+)", own_version, text)
    text = re.sub(rb"(\.target\s+)(sm_\w+)", own_target, text)
    return re.sub(rb"[\x80-\xff]", b"?", text)


def assemble(text, flags, folder, name, version=NEWEST, seconds=None, linked=False):
    """The sections that a ptxas makes of a text, if it takes it. Raises
    `subprocess.TimeoutExpired` if that takes longer than the seconds."""
    source, cubin = folder / f"{name}.ptx", folder / f"{name}.cubin"
    source.write_bytes(text)
    run = subprocess.run([TOOLS / f"ptxas-{version}", *flags, source, "-o", cubin],
                         capture_output=True, timeout=seconds)
    return None if run.returncode else sections(cubin.read_bytes(), linked)


def packed(texts, binary):
    """Packs texts for a version and a target, such as `8.8 sm_90`, as one fat binary. Each has one
    kernel, which is called by the number of its text: k1, k2, ..."""
    with tempfile.TemporaryDirectory() as folder:
        images = []
        for place, text in enumerate(texts, 1):
            version, target = text.split()
            file = Path(folder, f"{place}.ptx")
            file.write_text(f".version {version}\n.target {target}\n.address_size 64\n"
                            f".visible .entry k{place}()\n{{\n    ret;\n}}\n")
            images.append(f"--image3=kind=ptx,file={file},sm={target.removeprefix('sm_')}")
        fatbinary = TOOLS.parent / "nvcc-13.5" / "bin" / "fatbinary"
        subprocess.run([fatbinary, "-64", "--create", binary, *images], check=True)
