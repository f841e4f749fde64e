#!/usr/bin/env python3
"""Test scan.py with two workers: one is killed half-way, then a whole run.

usage: python test_scan.py VPTX

Makes wheels of the fat binaries in fixtures/fatbin/. Whatever is killed, each wheel must
have exactly one part, and the sums must be those of the wheels.
"""

import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import zipfile

import pyarrow.parquet as pq

HERE = pathlib.Path(__file__).resolve().parent
FIXTURES = HERE.parent.parent / "fixtures" / "fatbin"
WHEELS = 24
# Each fixture has three texts, with two video instructions each.
TEXTS = 3 * WHEELS


def make(folder):
    """Makes the wheels, and a program that takes a moment for each."""
    mirror = folder / "mirror"
    mirror.mkdir()
    binaries = sorted(FIXTURES.glob("*.fatbin"))
    for number in range(WHEELS):
        name = f"made_{number % 5}-1.{number}-py3-none-any.whl"
        with zipfile.ZipFile(mirror / name, "w", zipfile.ZIP_DEFLATED) as wheel:
            wheel.write(binaries[number % len(binaries)], "made/lib.so")
    slow = folder / "vptx"
    slow.write_text(f'#!/bin/sh\nsleep 0.2\nexec {sys.argv[1]} "$@"\n')
    slow.chmod(0o755)
    return mirror


def start(folder, out, *options):
    return subprocess.Popen(
        [sys.executable, HERE / "scan.py", folder / "mirror", out, "--workers", "2", "--batch",
         "4", "--vptx", folder / "vptx", *options],
        stdout=subprocess.PIPE, text=True, start_new_session=True)


def parts(out):
    return [file for file in (out / "parts").glob("*.parquet")] if out.exists() else []


def wait_for(out, count, run):
    """Waits until there are so many parts, and more are to come."""
    deadline = time.monotonic() + 120
    while len(parts(out)) < count:
        assert time.monotonic() < deadline and run.poll() is None, "the run is stuck"
        time.sleep(0.05)
    assert len(parts(out)) < WHEELS, "nothing is left to interrupt"


def workers(session):
    """The processes of a session in which Ray does the work at hand."""
    found = []
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            command = (folder / "cmdline").read_bytes()
            if os.getsid(int(folder.name)) == session and b"ray::" in command \
                    and b"survey_batch" in command:
                found.append(int(folder.name))
        except OSError:
            continue
    return found


def end(run):
    """Kills all that a run started."""
    os.killpg(run.pid, signal.SIGKILL)
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if os.getsid(int(folder.name)) == run.pid:
                os.kill(int(folder.name), signal.SIGKILL)
        except OSError:
            continue
    run.communicate()


def checked(run, out, before):
    """Waits for the end of a run, and looks at all that is there then."""
    printed, _ = run.communicate(timeout=180)
    print(printed, end="")
    assert run.returncode == 0, run.returncode
    assert f"{WHEELS} files, {before} of them surveyed before" in printed
    assert f"{WHEELS} files, {TEXTS} PTX texts, 0 errors" in printed
    assert f"{2 * TEXTS} video instructions in {TEXTS} texts of 5 packages" in printed
    assert len(parts(out)) == WHEELS


def main():
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        mirror = make(folder)

        print("== a worker is killed")
        out = folder / "one"
        run = start(folder, out)
        wait_for(out, WHEELS // 4, run)
        victims = workers(run.pid)
        assert victims, "no worker was found"
        os.kill(victims[0], signal.SIGKILL)
        checked(run, out, 0)

        print("== nothing is new")
        checked(start(folder, out), out, WHEELS)

        print("== a run is killed, a file changes, and another run goes on")
        out = folder / "two"
        run = start(folder, out)
        wait_for(out, WHEELS // 4, run)
        end(run)
        kept = len(parts(out))
        changed = pq.read_table(parts(out)[0])["file"][0].as_py()
        os.utime(mirror / changed, (1, 1))
        checked(start(folder, out), out, kept - 1)
    print("scan: all is well")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main()
