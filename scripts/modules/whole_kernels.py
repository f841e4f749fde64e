"""The kernels of fixtures/kernels, as modules for a target, and modules that are rewritten."""

import os
import re
import subprocess

from modules.assembled import ROOT, number

FOLDER = ROOT / "fixtures" / "kernels"
# For each target here, nvcc makes the same PTX as for all targets between it and the next one.
COMPILED = ["sm_75", "sm_90", "sm_100"]
SINGLE = ["--only", "single"]


def names():
    return sorted(path.stem for path in FOLDER.glob("*.cu"))


def committed(name, target):
    return FOLDER / f"{name}.{target}.ptx"


def module(target):
    """All files in one module, for any target. The kernels' names start with those of their
    files."""
    made_for = max((own for own in COMPILED if number(own) <= number(target)), key=number)
    bodies = []
    for name in names():
        text = committed(name, made_for).read_text()
        head, body = re.split(r"(?m)(?<=^\.address_size 64)$", text)
        bodies.append(re.sub(r"\b(video|intrinsic)(?=\(|_param_)", rf"{name}_\1", body))
    return head.replace(f".target {made_for}", f".target {target}") + "".join(bodies)


def rewritten(text, program, flags):
    run = subprocess.run([program, "rewrite", "--quiet", *flags, "-"], input=text,
                         capture_output=True, text=True)
    if run.returncode:
        raise SystemExit(f"{program} fails:\n{run.stderr}")
    return run.stdout


def built():
    """The program that cargo built for release or, without that, for tests."""
    folder = ROOT / os.environ.get("CARGO_TARGET_DIR", "target")
    programs = [folder / profile / "vptx" for profile in ("release", "debug")]
    for path in programs:
        if path.is_file():
            return path
    raise SystemExit(f"{programs[0]} is missing: run cargo build --release")
