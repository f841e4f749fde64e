"""Compare programs that use the C library with the program vptx.

usage: compare.py outputs|llvm|bench OUT ROOT
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

LANGUAGES = {".ptx": 0, ".cu": 1, ".h": 1, ".cl": 1, ".py": 2, ".mojo": 3, ".rs": 4, ".jl": 5, ".zig": 6}


def run(*command, codes=(0,)):
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE)
    if done.returncode not in codes:
        sys.exit(f"exit status {done.returncode}: {' '.join(map(str, command))[:300]}")
    return done.stdout.decode()


def sources(root):
    folders = ["diagnostics", "asm", "cuda", "sources", "ptx", "format", "readme"]
    files = [path for folder in folders for path in (root / "fixtures" / folder).rglob("*")]
    return sorted(path for path in files if path.is_file() and path.suffix in LANGUAGES)


def findings(text):
    found = [json.loads(line) for line in text.splitlines()]
    for finding in found:
        finding.pop("url", None)
    return found


def outputs(out, root, program):
    total = 0
    files = sources(root)
    for language in sorted(set(LANGUAGES.values())):
        own = [path for path in files if LANGUAGES[path.suffix] == language]
        if not own:
            continue
        arguments = [program, "check", "--isolated", "--format", "json", *own]
        expected = findings(run(*arguments, codes=(0, 1)))
        found = findings(run(out / "tests/dump", "findings", language, *own))
        for one, other in zip(expected, found):
            assert one == other, f"the program:\n{one}\nthe library:\n{other}"
        assert len(expected) == len(found), (language, len(expected), len(found))
        lines = [
            f"{it['path']}:{it['start']['line']}:{it['start']['column']}: "
            f"{it['severity']}[{it['code']}] {it['message']}"
            for it in expected
        ]
        for check in (out / "check", out / "examples/check"):
            printed = run(check, "--language", language, *own, codes=(0, 1))
            assert printed.splitlines() == lines, f"{check}, language {language}"
        total += len(found)
    assert total > 300, total
    print(f"{total} findings of {len(files)} files are equal")

    instructions = 0
    for path in files:
        if path.suffix != ".ptx":
            continue
        expected = run(program, "lower", "--emit", "ir", path, codes=(0, 1, 2))
        expected = [line for line in expected.splitlines() if line.startswith("// ")]
        expected = [line for line in expected if not line.endswith(": no video instructions")]
        expected = [re.sub(r"^// (.*?:\d+:\d+: )?", "", line) for line in expected]
        walked = run(out / "examples/walk", path).splitlines()
        data = path.read_bytes()
        # A statement may have line breaks.
        names = [line for line in walked if line.startswith(("v", "@"))]
        for line in walked:
            words = line.split(" ")
            place = next((word for word in words if ".." in word), None)
            if line.startswith(" ") and place:
                start, end = map(int, place.split(".."))
                rest = line.split(place + " ", 1)[1]
                text = data[start:end].decode(errors="replace")
                assert text.split("\n")[0] == rest, (path, line)
        if expected:
            assert names == expected, (path, names[:3], expected[:3])
            instructions += len(names)
    assert instructions > 300, instructions
    print(f"{instructions} instructions are walked as the program lists them")

    fatbin = root / "fixtures/fatbin/size.fatbin"
    images = [json.loads(line) for line in run(out / "tests/dump", "images", fatbin).splitlines()]
    assert len(images) == 3, images
    for image in images:
        text = run(program, "extract", fatbin, "--image", image["name"])
        assert image["text"] == text, image["name"]

    with tempfile.TemporaryDirectory() as folder:
        for code in ("V401", "V404"):
            copy = Path(folder, f"{code}.ptx")
            copy.write_bytes((root / f"fixtures/diagnostics/{code}.ptx").read_bytes())
            fixed = run(out / "tests/dump", "fixed", 0, copy)
            run(program, "check", "--isolated", "--quiet", "--fix", copy, codes=(0, 1))
            assert fixed == copy.read_text() != (root / f"fixtures/diagnostics/{code}.ptx").read_text()
    print("images and fixed texts are equal")


def llvm(out, root, program):
    source = root / "bindings/c/tests/asm.ll"
    folder = out / "llvm"
    folder.mkdir(exist_ok=True)
    calls, header = folder / "calls.ll", folder / "functions.h"
    run(out / "examples/llvm_asm", source, calls, header)
    text = calls.read_text()
    left = [line for line in text.splitlines() if " asm " in line]
    assert len(left) == 3, left
    given = re.findall(r"= (?:tail )?call i32 @v\w+\((.*)\)$", text, re.MULTILINE)
    x, y, z = "i32 %x", "i32 %y", "i32 %z"
    # The first instruction writes all lanes, so it does not read `c`.
    expected = [[x, y], [x, y], [x, y, z], [y], [x, y, z]]
    assert given == [", ".join(words) for words in expected], given
    if not (shutil.which("clang") and shutil.which("lli")):
        print("not checked: what the calls compute, as there is no clang or lli")
        return
    run("clang", "-x", "c", "-O1", "-S", "-emit-llvm", "-Dstatic=", "-Dinline=", header,
        "-o", folder / "functions.ll")
    run("llvm-link", "-S", calls, folder / "functions.ll", "-o", folder / "linked.ll")
    # The function `stays` still has an `asm`, which is no code for this machine.
    linked = (folder / "linked.ll").read_text()
    start = linked.index("define i32 @stays")
    (folder / "linked.ll").write_text(linked[:start] + linked[linked.index("\n}\n", start) + 3:])
    printed = run("lli", folder / "linked.ll").split()
    x, y, z = -16715760 & 0xFFFFFFFF, 33497104, 2139062143
    cases = [
        ("vadd4.u32.u32.u32.sat d, a, b, c;", x, y, z),
        ("vadd.s32.s32.s32 d, a.b1, b.h0;", x, y),
        ("vmax2.s32.s32.s32.add d, a, b, c;", x, y, z),
        ("vsub.s32.u32.u32 d, a, 5;", y),
        ("vsub.s32.s32.s32.sat d.b2, a.b2, b.b2, c;", x, y, z),
    ]
    for (instruction, *words), line in zip(cases, printed, strict=True):
        given = [f"{name}={word}" for name, word in zip("abc", words)]
        record = run(program, "eval", "--semantics", "ptxas-13", instruction, *given)
        expected = next(line.split()[1] for line in record.splitlines() if line.startswith("  d "))
        assert int(line, 16) == int(expected, 16), (instruction, line, expected)
    print(f"{len(printed)} calls give what vptx computes, {len(left)} stay")


def bench(out, root):
    rows = (root / "fixtures/oracle/vectors.tsv").read_text().splitlines()
    instructions = dict.fromkeys(row.split("\t")[0] for row in rows if not row.startswith("#"))
    lines = out / "instructions.txt"
    lines.write_text("\n".join(list(instructions)[:1000]))
    programs = {
        "Rust": out / "library/cargo/release/examples/round_trips",
        "C": out / "tests/round_trips",
    }
    times = {name: [] for name in programs}
    texts = set()
    for _ in range(5):
        for name, path in programs.items():
            start = time.perf_counter()
            texts.add(run(path, 1_000_000, lines))
            times[name].append(time.perf_counter() - start)
    assert len(texts) == 1, texts
    rust, c = min(times["Rust"]), min(times["C"])
    print(f"1,000,000 round trips: Rust {rust:.3f} s, C {c:.3f} s, {c / rust:.2f} times")
    if c > 1.2 * rust:
        sys.exit("C takes more than 1.2 times as long")


def main():
    mode, out, root = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    if mode == "bench":
        return bench(out, root)
    program = os.environ.get("VPTX_PROGRAM", root / "target/debug/vptx")
    {"outputs": outputs, "llvm": llvm}[mode](out, root, program)


main()
