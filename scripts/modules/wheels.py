"""Wheels from PyPI, unpacked into the ignored folder .cuda/wheels/."""

import os
import pathlib
import subprocess
import sys
import tempfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
CUDA = pathlib.Path(os.environ.get("VPTX_CUDA_DIR", ROOT / ".cuda"))

# Wheels with cuobjdump 13.5, and with cuobjdump 12.3, which still knows the targets of CUDA 11.
CUOBJDUMPS = ["nvidia-cuda-cuobjdump==13.5.37", "triton==2.2.0"]

# GPU libraries of CUDA 11, 12 and 13, 1 GB.
LIBRARIES = [
    "nvidia-npp-cu11==11.8.0.86",
    "nvidia-curand-cu11==10.3.0.86",
    "nvidia-npp-cu12==12.4.1.87",
    "nvidia-nvjpeg-cu12==12.4.0.76",
    "nvidia-nvjpeg==13.3.2.43",
    "nvidia-curand-cu12==10.3.10.19",
    "nvidia-curand==10.4.5.25",
    "nvidia-cusparselt-cu12==0.6.2",
]

# For packages that are not available for this machine's Python: the version to fetch them for.
PYTHONS = {"triton": "3.10", "ctranslate2": "3.10", "cupy-cuda11x": "3.10", "cupy-cuda92": "3.9",
           "faiss-gpu": "3.10"}


def download(folder, wheel):
    """Fetches the file of a wheel such as `numpy==2.0.0`; returns its path."""
    # If wheels of a package are for one version of Python each, any of them will do.
    name = wheel.partition("==")[0]
    python = ["--python-version", PYTHONS[name], "--platform", "manylinux_2_17_x86_64", "--platform",
              "manylinux2014_x86_64", "--platform", "manylinux1_x86_64"] if name in PYTHONS else []
    subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps",
                    "--only-binary=:all:", *python, "--dest", folder, wheel], check=True)
    return next(pathlib.Path(folder).glob("*.whl"))


def unpacked(wheel):
    """The folder with the files of a wheel, which is fetched once."""
    place = CUDA / "wheels" / wheel.replace("==", "-")
    if not (place / ".done").exists():
        place.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=place) as folder:
            zipfile.ZipFile(download(folder, wheel)).extractall(place)
        (place / ".done").touch()
    return place


def libraries(wheel):
    return sorted(unpacked(wheel).rglob("*.so*"))


def cuobjdump(wheel=CUOBJDUMPS[0]):
    tool = next(unpacked(wheel).rglob("cuobjdump"))
    tool.chmod(0o755)
    return tool


def program_and_names(arguments):
    """Reads `[--program VPTX] [PACKAGE==VERSION]...`; builds the program if none is named."""
    program = None
    if arguments[:1] == ["--program"] and len(arguments) > 1:
        program, arguments = pathlib.Path(arguments[1]).resolve(), arguments[2:]
    if any(argument.startswith("-") for argument in arguments):
        name = pathlib.Path(sys.argv[0]).name
        print(f"{name}: unknown option or missing value; see --help", file=sys.stderr)
        sys.exit(2)
    if not program:
        program = ROOT / os.environ.get("CARGO_TARGET_DIR", "target") / "release" / "vptx"
        subprocess.run(["cargo", "build", "--release", "--locked", "--quiet"], cwd=ROOT,
                       check=True)
    return program, arguments
