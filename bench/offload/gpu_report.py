#!/usr/bin/env python3
"""What the build says of each GPU kernel: registers, spills, shared memory, and the occupancy that follows.

    bench/offload/gpu_report.py [sm_90 …]      Markdown; default: sm_75 sm_80 sm_90. NVCC names the compiler
    bench/offload/gpu_report.py --self-test

nvcc alone, no GPU. Occupancy is of warps, by the limits of NVIDIA's CUDA C++ Programming Guide, table of compute
capabilities; a kernel that waits for memory wants much of it, one that computes in registers does not.
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ("gpu_offload/cuda/kernels.cu", "gpu_offload/crypto/esp_kernels.cu")
WARP, REGISTERS, REGISTER_UNIT = 32, 65536, 256
# By architecture: warps and blocks of an SM, its shared memory, what each block takes of it besides, and the unit.
LIMITS = {"sm_75": (32, 16, 64 << 10, 0, 256), "sm_80": (64, 32, 164 << 10, 1024, 128),
          "sm_86": (48, 16, 100 << 10, 1024, 128), "sm_89": (48, 24, 100 << 10, 1024, 128),
          "sm_90": (64, 32, 228 << 10, 1024, 128)}
ENTRY = re.compile(r"Compiling entry function '(\S+)' for '(sm_\d+)'")
SPILLS = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
USED = re.compile(r"Used (\d+) registers(?:.*?, (\d+) bytes smem)?")
THREADS = re.compile(r"\.entry (\w+)\((?:(?!\.entry).)*?\)\s*(?:\.maxntid (\d+))?", re.S)


def up(value, unit):
    return -(-value // unit) * unit


def occupancy(arch, threads, registers, shared):
    """Warps of an SM that run at once, as a share of those that could, and what binds."""
    most_warps, most_blocks, memory, reserved, unit = LIMITS[arch]
    warps = up(threads, WARP) // WARP
    of_registers = REGISTERS // up(registers * WARP, REGISTER_UNIT) // warps
    bounds = {"warps": most_warps // warps, "blocks": most_blocks, "registers": of_registers}
    if shared:
        bounds["shared memory"] = memory // up(shared + reserved, unit)
    binds = min(bounds, key=bounds.get)
    return bounds[binds] * warps / most_warps, binds


def parse(said):
    """Of ptxas -v: {mangled name: (registers, spilled bytes, shared bytes)}."""
    found, entry, spilled = {}, None, 0
    for line in said.splitlines():
        if match := ENTRY.search(line):
            entry, spilled = match[1], 0
        elif match := SPILLS.search(line):
            spilled = int(match[2]) + int(match[3])
        elif entry and (match := USED.search(line)):
            found[entry] = (int(match[1]), spilled, int(match[2] or 0))
            entry = None
    return found


def plain(mangled):
    name = subprocess.run(["c++filt", mangled], stdout=subprocess.PIPE, text=True, check=True).stdout
    return re.sub(r"\(unsigned int\)|\(anonymous namespace\)::|hecto::gpu_offload::(crypto::)?|\(.*\)$|^void ", "",
                  name.strip())


def compile_kernels(nvcc, source, arch):
    number = arch.removeprefix("sm_")
    common = [nvcc, "-std=c++20", "-O3", "-I", ROOT, ROOT / source]
    with tempfile.TemporaryDirectory() as folder:
        ptx = Path(folder) / "kernels.ptx"
        subprocess.run([*common, "-ptx", f"-arch=compute_{number}", "-o", ptx], check=True)
        said = subprocess.run([nvcc, "-cubin", f"-arch={arch}", "-Xptxas", "-v", "-o", Path(folder) / "kernels.cubin",
                               ptx], check=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True).stdout
        return parse(said), {name: int(threads or 1) for name, threads in THREADS.findall(ptx.read_text())}


def report(nvcc, archs):
    print("| kernel | for | threads a block | registers | spilled bytes | shared memory | occupancy | bound by |\n"
          "|---|---|---|---|---|---|---|---|")
    spilled_any = False
    for source in SOURCES:
        for arch in archs:
            kernels, threads = compile_kernels(nvcc, source, arch)
            for mangled, (registers, spilled, shared) in sorted(kernels.items(), key=lambda item: plain(item[0])):
                share, binds = occupancy(arch, threads[mangled], registers, shared)
                spilled_any |= spilled > 0
                print(f"| {plain(mangled)} | {arch} | {threads[mangled]} | {registers} | {spilled} | {shared:,} "
                      f"| {share:.0%} | {binds} |", flush=True)
    return spilled_any


def self_test():
    said = ("ptxas info    : Compiling entry function '_Z1av' for 'sm_90'\n"
            "ptxas info    : Function properties for _Z1av\n"
            "    8 bytes stack frame, 4 bytes spill stores, 12 bytes spill loads\n"
            "ptxas info    : Used 64 registers, used 1 barriers, 32768 bytes smem, 400 bytes cmem[0]\n"
            "ptxas info    : Compiling entry function '_Z1bv' for 'sm_90'\n"
            "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
            "ptxas info    : Used 24 registers, 400 bytes cmem[0]\n")
    assert parse(said) == {"_Z1av": (64, 16, 32768), "_Z1bv": (24, 0, 0)}, parse(said)
    assert occupancy("sm_90", 256, 32, 0) == (1, "warps")
    assert occupancy("sm_90", 512, 64, 32768) == (0.5, "registers")
    assert occupancy("sm_75", 512, 64, 32768) == (1, "warps") or occupancy("sm_75", 512, 64, 32768)[0] == 1
    assert occupancy("sm_75", 128, 40, 33000)[1] == "shared memory"
    ptx = ".visible .entry _Z1av(\n\t.param .u64 p\n)\n.maxntid 256\n{\n}\n.visible .entry _Z1bv(\n\t.param .u32 q\n)\n{\n}\n"
    assert {n: int(t or 1) for n, t in THREADS.findall(ptx)} == {"_Z1av": 256, "_Z1bv": 1}


def main(arguments):
    if arguments == ["--self-test"]:
        return self_test()
    archs = arguments or ["sm_75", "sm_80", "sm_90"]
    for arch in archs:
        if arch not in LIMITS:
            sys.exit(f"gpu_report.py: {arch}: known are {', '.join(LIMITS)}")
    nvcc = os.environ.get("NVCC", "nvcc")
    try:
        report(nvcc, archs)
    except FileNotFoundError:
        sys.exit(f"gpu_report.py: {nvcc}: no such compiler; NVCC names another")
    except subprocess.CalledProcessError as error:
        sys.exit(f"gpu_report.py: {error}")


if __name__ == "__main__":
    main(sys.argv[1:])
