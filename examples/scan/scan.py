#!/usr/bin/env python3
"""Survey every binary, wheel and archive of a mirror with vptx, on one box or a cluster.

Each file becomes one Parquet part, which is complete or not there: a part is written
under another name first. So a worker that dies loses only the file at hand, which Ray
gives to another worker; a run that dies goes on where it stopped; and a file that has
not changed is not read again.
"""

import argparse
import hashlib
import json
import logging
import os
import shutil
import subprocess
import sys
import time
import uuid

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

ENDINGS = (".whl", ".conda", ".zip", ".tar", ".tgz", ".tar.gz", ".tar.zst", ".so", ".a", ".o",
           ".dll", ".exe", ".dylib", ".cubin", ".fatbin", ".ptx")

COUNTS = pa.map_(pa.string(), pa.int64())
SCHEMA = pa.schema([
    # "image" for a PTX text, "error" for one that cannot be read, "file" for each file.
    ("kind", pa.string()), ("path", pa.string()), ("file", pa.string()),
    ("member", pa.string()), ("image", pa.string()),
    ("package", pa.string()), ("version", pa.string()),
    ("arch", pa.string()), ("ptx", pa.string()), ("bytes", pa.int64()),
    ("instructions", pa.int64()), ("mnemonics", COUNTS),
    ("differ", pa.int64()), ("deviations", COUNTS),
    ("measured", pa.int64()), ("before", pa.int64()), ("after", pa.int64()),
    ("errors", pa.int64()), ("message", pa.string()),
])


def files(mirror):
    """The files of a mirror with their lengths, the longest first: they take longest."""
    found = []
    for folder, _, names in os.walk(mirror):
        for name in names:
            path = os.path.join(folder, name)
            if name.lower().endswith(ENDINGS) or ".so." in name:
                try:
                    data = os.stat(path)
                except OSError:
                    continue
                found.append((data.st_size, os.path.relpath(path, mirror), data.st_mtime_ns))
    return sorted(found, reverse=True)


def part_name(file, size, time_ns):
    """The name of a file's part: the second half is another one when the file changes."""
    digests = (file, f"{size} {time_ns}")
    one, two = (hashlib.sha256(text.encode(errors="surrogateescape")).hexdigest()[:24]
                for text in digests)
    return f"{one}-{two}.parquet"


def row(record):
    package = record.pop("package", None) or {}
    record |= {"package": package.get("name"), "version": package.get("version")}
    for name in ("mnemonics", "deviations"):
        record[name] = list(record.get(name, {}).items())
    return {name: record.get(name) for name in SCHEMA.names}


def survey(program, mirror, file):
    """The rows of a file."""
    run = subprocess.run([program, "survey", "--format", "json", "--jobs", "1", "--", file],
                         cwd=mirror, capture_output=True)
    records = [json.loads(line) for line in run.stdout.splitlines()]
    # 2 says that something could not be read: there are rows for it.
    if run.returncode not in (0, 2) or not records or records[-1]["kind"] != "total":
        reason = run.stderr.decode(errors="replace").strip() or "no output"
        raise RuntimeError(f"status {run.returncode}: {reason}")
    return [row(record | {"kind": "file", "path": file, "file": file}
                if record["kind"] == "total" else record) for record in records]


def survey_file(file, part, program, mirror, parts):
    """Writes the part of a file; returns why that was not possible."""
    try:
        rows = survey(program, mirror, file)
        new = os.path.join(parts, f".{uuid.uuid4().hex}")
        pq.write_table(pa.Table.from_pylist(rows, SCHEMA), new)
        os.replace(new, os.path.join(parts, part))
    except (OSError, RuntimeError, ValueError) as error:
        return str(error)
    return None


def survey_batch(batch, **places):
    """Ray calls this with some files; again, if the worker dies on the way."""
    files = zip(batch["file"].to_pylist(), batch["part"].to_pylist())
    messages = [survey_file(file, part, **places) for file, part in files]
    return pa.table({"file": batch["file"], "message": pa.array(messages, pa.string())})


def on_ray(todo, places, arguments):
    """Surveys files on all workers; returns those that failed, with the reason."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    import ray

    quiet = {"log_to_driver": False, "logging_level": logging.ERROR}
    if arguments.address:
        ray.init(address=arguments.address, **quiet)
    else:
        ray.init(num_cpus=arguments.workers, include_dashboard=False, **quiet)
    logging.getLogger("ray.data").setLevel(logging.ERROR)
    ray.data.DataContext.get_current().enable_progress_bars = False
    # Long files are spread over the batches.
    count = -(-len(todo) // arguments.batch)
    items = [item for start in range(count) for item in todo[start::count]]
    done = ray.data.from_items(items, override_num_blocks=count).map_batches(
        survey_batch, fn_kwargs=places, batch_size=None, batch_format="pyarrow", num_cpus=1,
        compute=ray.data.TaskPoolStrategy(size=arguments.workers))
    failed = [row for row in done.iter_rows() if row["message"] is not None]
    ray.shutdown()
    return failed


def is_abandoned(path):
    """Whether a part was begun an hour ago and is not complete."""
    is_begun = os.path.basename(path).startswith(".")
    return is_begun and time.time() - os.path.getmtime(path) > 3600


def scan(arguments):
    """Surveys what is not surveyed yet; returns the parts, and the failures."""
    mirror = os.path.abspath(arguments.mirror)
    parts = os.path.join(os.path.abspath(arguments.out), "parts")
    os.makedirs(parts, exist_ok=True)
    started = time.monotonic()
    found = [(size, file, part_name(file, size, ns)) for size, file, ns in files(mirror)]
    there = set(os.listdir(parts))
    current = {part.split("-")[0]: part for _, _, part in found}
    for name in there:
        # The parts of files that changed since, and what a killed worker left.
        path = os.path.join(parts, name)
        if current.get(name.split("-")[0], name) != name or is_abandoned(path):
            os.remove(path)
    todo = [(size, file, part) for size, file, part in found if part not in there]
    print(f"{len(found)} files, {len(found) - len(todo)} of them surveyed before", flush=True)
    failed = []
    if todo:
        places = {"program": arguments.vptx, "mirror": mirror, "parts": parts}
        items = [{"file": file, "part": part} for _, file, part in todo]
        failed = on_ray(items, places, arguments)
    seconds = time.monotonic() - started
    read = sum(size for size, _, _ in todo) / 1e6
    print(f"{len(todo)} files, {read:.1f} MB, in {seconds:.1f} s: {read / seconds:.0f} MB/s")
    written = [os.path.join(parts, part) for _, _, part in found]
    return [part for part in written if os.path.exists(part)], failed


def total(parts):
    """Prints the sums over parts."""
    table = pq.read_table(parts, schema=SCHEMA) if parts else SCHEMA.empty_table()
    kinds = {kind: table.filter(pc.equal(table["kind"], kind))
             for kind in ("file", "image", "error")}
    images = kinds["image"]
    video = images.filter(pc.greater(images["instructions"], 0))
    sums = {name: pc.sum(video[name]).as_py() or 0
            for name in ("instructions", "differ", "before", "after")}
    packages = pc.unique(pc.coalesce(video["package"], video["file"])).to_pylist()
    print(f"{len(kinds['file'])} files, {len(images)} PTX texts, {len(kinds['error'])} errors")
    print(f"{sums['instructions']} video instructions in {len(video)} texts of "
          f"{len(packages)} packages: {', '.join(sorted(packages))}")
    print(f"ptxas differs from the manual for {sums['differ']} of them")
    print(f"{sums['before']} machine instructions, {sums['after']} after rewriting")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("mirror", help="the directory with the files")
    parser.add_argument("out", help="the directory for the results, out/parts/*.parquet")
    parser.add_argument("--vptx", default="vptx", help="the program")
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    parser.add_argument("--batch", type=int, default=8, help="files that a task takes at once")
    parser.add_argument("--address", help="of a Ray cluster, such as auto; else Ray starts here")
    arguments = parser.parse_args()
    program = shutil.which(arguments.vptx)
    if program is None:
        parser.error(f"there is no program {arguments.vptx}")
    arguments.vptx = os.path.abspath(program)
    if not os.path.isdir(arguments.mirror):
        parser.error(f"there is no directory {arguments.mirror}")
    parts, failed = scan(arguments)
    total(parts)
    for row in failed:
        print(f"{row['file']}: {row['message']}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
