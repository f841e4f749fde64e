"""All commands of vptx on the files of a package."""

import collections
import hashlib
import json
import os
import re
import subprocess
import time

ELF, ARCHIVE = b"\x7fELF", b"!<arch>\n"
SUMMARY = re.compile(rb"in (\d+) video instructions? of (\d+) file")
TARGET = re.compile(rb"\.target\s+(sm_\w+)")


class Commands:
    """What the commands found, and how long they took."""

    def __init__(self, program, assembler):
        self.program, self.assembler = program, assembler
        self.failures = []
        self.counts, self.codes = collections.Counter(), collections.Counter()
        self.seconds = collections.Counter()
        self.seen = set()

    def run(self, *words, stdin=None, good=(0, 1)):
        """The status and the output of a command. Another status than a good one is a failure,
        unless there is nothing to read."""
        start = time.monotonic()
        ended = subprocess.run([self.program, *words], input=stdin, capture_output=True)
        self.seconds[words[0]] += time.monotonic() - start
        if ended.returncode not in good and b"no files to read" not in ended.stderr:
            last = ended.stderr.decode(errors="replace")[-300:]
            self.fail(f"{words} ends with {ended.returncode}: {last}")
        return ended

    def fail(self, message):
        print(f"failed: {message}", flush=True)
        self.failures.append(message)

    def note(self, findings):
        self.codes.update(json.loads(line)["code"] for line in findings.splitlines())

    def on(self, package):
        self.note(self.run("check", "--no-ignore", "--format", "json", package).stdout)
        said = self.run("check", "--no-ignore", "--statistics", package)
        for kind in SUMMARY.finditer(said.stdout):
            self.counts["instructions"] += int(kind[1])
            self.counts["sources"] += int(kind[2])
        self.run("survey", "--no-ignore", package)
        for language in ("hip", "cuda"):
            self.run("port", "--to", language, "--diff", package)
        files = [it for it in sorted(package.rglob("*")) if it.is_file() and not it.is_symlink()]
        for file in files:
            if file.suffix == ".ptx":
                self.text(file)
                continue
            with open(file, "rb") as opened:
                is_binary = opened.read(8).startswith((ELF, ARCHIVE))
            if is_binary or file.suffix in (".fatbin", ".cubin"):
                texts = package.parent / f"texts{self.counts['binaries']}"
                self.counts["binaries"] += 1
                self.run("extract", "--quiet", "-o", texts, file)
                for text in sorted(texts.rglob("*")) if texts.is_dir() else []:
                    if text.is_file():
                        self.note(self.run("check", "--format", "json", text).stdout)
                        self.text(text)

    def text(self, file):
        """Runs the commands on one PTX text, unless an equal one was seen before."""
        content = file.read_bytes()
        key = hashlib.sha256(content).digest()
        if key in self.seen:
            return
        self.seen.add(key)
        self.counts["texts"] += 1
        self.counts["bytes"] += len(content)
        for options in ([], ["--normalize"]):
            once = self.run("fmt", *options, "-", stdin=content)
            if once.returncode == 0:
                again = self.run("fmt", *options, "-", stdin=once.stdout)
                if again.stdout != once.stdout:
                    self.fail(f"fmt {options} changes its own text: {file}")
                if not options:
                    other = file.with_suffix(".formatted")
                    other.write_bytes(once.stdout)
                    self.run("diff", file, other, good=(0,))
        self.run("tree", "--format", "json", file)
        self.run("lower", "--emit", "c", file)
        rewritten = self.run("rewrite", file)
        if rewritten.returncode == 0 and rewritten.stdout != content:
            self.counts["rewritten"] += 1
            after = file.with_suffix(".rewritten")
            after.write_bytes(rewritten.stdout)
            if self.assembles(file) and not self.assembles(after):
                self.fail(f"ptxas refuses the rewritten {file}")

    def assembles(self, file):
        target = TARGET.search(file.read_bytes())
        if not target:
            return False
        target = target[1].decode()
        words = [self.assembler(target), "-arch", target, file, "-o", os.devnull]
        return subprocess.run(words, capture_output=True).returncode == 0

    def add(self, other):
        self.failures += other.failures
        self.counts.update(other.counts)
        self.codes.update(other.codes)
        self.seconds.update(other.seconds)

    def row(self, name):
        counts = self.counts
        found = " ".join(f"{code} {count}" for code, count in sorted(self.codes.items()))
        seconds = ", ".join(f"{command} {time:.1f}" for command, time in self.seconds.items())
        return (f"{name}: {counts['sources']} sources, {counts['instructions']} video instructions, "
                f"{counts['binaries']} binaries, {counts['texts']} PTX texts "
                f"({counts['bytes'] / 1e6:.1f} MB), {counts['rewritten']} rewritten, "
                f"{len(self.failures)} failures; {found or 'no findings'}; seconds: {seconds}")
