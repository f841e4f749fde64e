"""Large PTX modules of many producers, for scripts/fmt-same-code.

Of each library named here, the largest PTX text of at most 4 MB. Three more are made by
compilers, without a GPU: LLVM (libdevice), NVRTC (blocks of CUB) and Triton.
"""

import ctypes
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from modules import wheels

MOST = 4_000_000
NPP = "nvidia-npp-cu11==11.8.0.86", "nvidia-npp-cu12==12.4.1.87"
CUPY = "cupy-cuda11x==13.6.0"

# Wheels, and for each the prefixes of the names of libraries in it.
LIBRARIES = [
    # nvcc 9.2 and 10
    ("cupy-cuda92==9.6.0", ["_generator_api"]),
    ("faiss-gpu==1.7.2", ["_swigfaiss."]),
    # nvcc 11
    (NPP[0], ["libnppial", "libnppidei", "libnppif", "libnppig", "libnppist", "libnpps."]),
    ("nvidia-curand-cu11==10.3.0.86", ["libcurand"]),
    (CUPY, ["_generator_api"]),
    # nvcc 12
    (NPP[1], ["libnppicc", "libnppim", "libnppitc"]),
    ("nvidia-nvjpeg-cu12==12.4.0.76", ["libnvjpeg"]),
    ("nvidia-curand-cu12==10.3.10.19", ["libcurand"]),
    ("nvidia-cusparselt-cu12==0.6.2", ["libcusparseLt"]),
    ("ctranslate2==4.4.0", ["libctranslate2"]),
    # nvcc 13
    ("nvidia-nvjpeg==13.3.2.43", ["libnvjpeg"]),
    ("nvidia-curand==10.4.5.25", ["libcurand"]),
]


def write(program, folder):
    """Writes the modules to a folder; returns their paths."""
    for wheel, libraries in LIBRARIES:
        for name in libraries:
            library = next(path for path in wheels.libraries(wheel) if path.name.startswith(name))
            package = wheel.replace("==", "-")
            largest(program, library, folder / f"{package}-{name.strip('_.')}.ptx")
    by_llvm(folder / "llvm-15-libdevice.ptx")
    by_nvrtc(folder / "nvrtc-11.8-cub-blocks.ptx")
    by_triton(folder / "triton-3.9.0-blend-matmul.ptx")
    return sorted(folder.glob("*.ptx"))


def largest(program, library, to):
    """Extracts from a library the largest text that has at most `MOST` bytes."""
    with tempfile.TemporaryDirectory() as place:
        subprocess.run([program, "extract", "--quiet", "-o", place, library], check=True)
        texts = [path for path in pathlib.Path(place).iterdir() if path.stat().st_size <= MOST]
        # Some libraries have the same text for several targets.
        shutil.move(max(sorted(texts), key=lambda path: path.stat().st_size), to)


def by_llvm(to):
    """libdevice of CUDA 11.8, by the back end of LLVM 15 in llvmlite."""
    code = """
import sys
import llvmlite.binding as llvm
llvm.initialize_all_targets()
llvm.initialize_all_asmprinters()
module = llvm.parse_bitcode(open(sys.argv[1], "rb").read())
module.triple = "nvptx64-nvidia-cuda"
target = llvm.Target.from_triple(module.triple)
machine = target.create_target_machine(cpu="sm_75", opt=3)
open(sys.argv[2], "w").write(machine.emit_assembly(module))
"""
    bitcode = next((wheels.CUDA / "pkg").glob("nvidia-cuda-nvcc-cu11-*/**/libdevice.10.bc"))
    python(code, [wheels.unpacked("llvmlite==0.44.0")], bitcode, to)


def by_nvrtc(to):
    """The blocks of CUB in fixtures/cuda, and larger ones, by NVRTC 11.8 with CuPy's headers."""
    source = (wheels.ROOT / "fixtures" / "cuda" / "cub_blocks.cu").read_text()
    for key in ("unsigned", "unsigned long long", "float", "double"):
        for items in (9, 17):
            source += (f"template __global__ void pixels::block_sort<{key}, double, 128, {items}>"
                       f"({key} *, double *);\n")
    headers = wheels.unpacked(CUPY) / "cupy" / "_core" / "include" / "cupy"
    folders = ["_cccl/cub", "_cccl/thrust", "_cccl/libcudacxx", "_cccl/libcudacxx/include",
               "_cuda/cuda-11"]
    options = ["--gpu-architecture=compute_75", "-std=c++17",
               *(f"-I{headers / folder}" for folder in folders)]
    options = [option.encode() for option in options]
    place = next(wheels.unpacked("nvidia-cuda-nvrtc-cu11==11.8.89").rglob("libnvrtc.so*")).parent
    ctypes.CDLL(next(place.glob("libnvrtc-builtins.so*")))
    nvrtc = ctypes.CDLL(next(place.glob("libnvrtc.so*")))
    work, size = ctypes.c_void_p(), ctypes.c_size_t()
    nvrtc.nvrtcCreateProgram(ctypes.byref(work), source.encode(), b"cub_blocks.cu", 0, None, None)
    count = len(options)
    if nvrtc.nvrtcCompileProgram(work, count, (ctypes.c_char_p * count)(*options)):
        sys.exit("fmt-same-code: NVRTC does not compile the blocks of CUB")
    nvrtc.nvrtcGetPTXSize(work, ctypes.byref(size))
    text = ctypes.create_string_buffer(size.value)
    nvrtc.nvrtcGetPTX(work, text)
    to.write_bytes(text.value)


def by_triton(to):
    """A matrix product of fixtures/cuda in large blocks, if Triton is installed as for
    scripts/fixtures-ptx."""
    triton = wheels.CUDA / "triton-3.9.0"
    if not triton.is_dir():
        print("no triton 3.9.0 (see scripts/fixtures-ptx --help): a module less")
        return
    code = """
import sys
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from triton_kernels import blend_matmul
signature = {"c": "*fp16", "a": "*fp16", "b": "*fp16", "bias": "*fp32", "K": "i32"}
blocks = {"SIDE": 256, "STEP": 64}
source = ASTSource(fn=blend_matmul, signature=signature | dict.fromkeys(blocks, "constexpr"),
                   constexprs=blocks)
module = triton.compile(source, target=GPUTarget("cuda", 80, 32), options={"num_warps": 4})
open(sys.argv[1], "w").write(module.asm["ptx"])
"""
    python(code, [triton, wheels.ROOT / "fixtures" / "cuda"], to)


def python(code, path, *arguments):
    """Runs code in a Python process with the given packages."""
    with tempfile.TemporaryDirectory() as cache:
        subprocess.run([sys.executable, "-B", "-c", code, *arguments],
                       env={**os.environ, "PYTHONPATH": ":".join(map(str, path)),
                            "TRITON_CACHE_DIR": cache, "TRITON_DEFAULT_FP_FUSION": "1"}, check=True)
