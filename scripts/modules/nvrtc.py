"""Compile a CUDA source to PTX with NVRTC, which scripts/cuda-tools --nvrtc installs.

usage: python3 scripts/modules/nvrtc.py 12.9|13.5 SOURCE PTX [OPTION]...

One compilation per process: two releases of the library do not share one, and the library
can end the process. The headers of the release are found without options. Some headers of
the host are empty here, as NVRTC knows their functions and types anyway.
"""

import ctypes
import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CUDA = Path(os.environ.get("VPTX_CUDA_DIR", ROOT / ".cuda"))
BUILT_IN = [b"cstdio", b"cstdint"]


def compile(release, source, options):
    """Returns the PTX of a source, or None, and the messages of the compiler."""
    folder = CUDA / f"nvrtc-{release}"
    nvrtc = ctypes.CDLL(folder / "lib" / f"libnvrtc.so.{release.split('.')[0]}")
    include = folder / "include"
    options = [*options, f"-I{include}", f"-I{include / 'cccl'}"]
    program, size = ctypes.c_void_p(), ctypes.c_size_t()

    def strings(values):
        return (ctypes.c_char_p * len(values))(*values)

    def text(get, get_size):
        get_size(program, ctypes.byref(size))
        buffer = ctypes.create_string_buffer(size.value)
        get(program, buffer)
        return buffer.value

    nvrtc.nvrtcCreateProgram(
        ctypes.byref(program), Path(source).read_bytes(), os.fsencode(source), len(BUILT_IN),
        strings([b"\n"] * len(BUILT_IN)), strings(BUILT_IN))
    status = nvrtc.nvrtcCompileProgram(program, len(options),
                                       strings([os.fsencode(option) for option in options]))
    log = text(nvrtc.nvrtcGetProgramLog, nvrtc.nvrtcGetProgramLogSize).decode()
    return None if status else text(nvrtc.nvrtcGetPTX, nvrtc.nvrtcGetPTXSize), log


def main(arguments):
    if len(arguments) < 3:
        print(__doc__.strip())
        return 0 if arguments in (["-h"], ["--help"]) else 2
    release, source, target, *options = arguments
    ptx, log = compile(release, source, options)
    print(log, end="", file=sys.stderr)
    if ptx is None:
        return 1
    Path(target).write_bytes(ptx)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
