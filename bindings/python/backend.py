"""Builds the program `vptx` before maturin packs the wheel, with the book if that is built.

maturin builds a module or programs, not both, and packs whatever is in `data`: programs are in
`data/scripts`, and `data/data` goes to the root of an environment.
"""

import os
import shutil
import subprocess
from pathlib import Path

import maturin
from maturin import (  # noqa: F401
    build_sdist,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
    prepare_metadata_for_build_wheel,
)

HERE = Path(__file__).resolve().parent
NAME = "vptx.exe" if os.name == "nt" else "vptx"
SCRIPTS = HERE / "data" / "scripts"
# Where the program looks for the book.
BOOK = HERE / "data" / "data" / "share" / "doc" / "vptx" / "book"
# All commands of maturin need the folder to exist.
SCRIPTS.mkdir(parents=True, exist_ok=True)


def build_program() -> None:
    profile = os.environ.get("VPTX_PROGRAM_PROFILE", "release")
    target = HERE / "target"
    command = ["cargo", "build", "--locked", "--no-default-features", "--features=cli,simd"]
    command += ["--bin=vptx", f"--profile={profile}", f"--target-dir={target}"]
    # With `CARGO_BUILD_TARGET`, cargo builds into a folder of that name.
    triple = os.environ.get("CARGO_BUILD_TARGET", "")
    subprocess.run([*command, f"--manifest-path={manifest()}"], check=True)
    shutil.copy2(target / triple / profile / NAME, SCRIPTS / NAME)


def take_book() -> None:
    """Copies the book of `scripts/book`. In a source distribution, `VPTX_BOOK` names its folder."""
    built = Path(os.environ.get("VPTX_BOOK", HERE.parents[1] / "target" / "book"))
    shutil.rmtree(BOOK, ignore_errors=True)
    if (built / "index.html").is_file():
        shutil.copytree(built, BOOK)


def manifest() -> Path:
    """In a source distribution, `Cargo.toml` stays where it was relative to the root."""
    inside = HERE / "bindings" / "python" / "Cargo.toml"
    return inside if inside.exists() else HERE / "Cargo.toml"


def build_wheel(directory, settings=None, metadata=None):
    build_program()
    take_book()
    return maturin.build_wheel(directory, settings, metadata)


def build_editable(directory, settings=None, metadata=None):
    build_program()
    return maturin.build_editable(directory, settings, metadata)


if __name__ == "__main__":
    build_program()
