#!/usr/bin/env python3
"""Compiles the default set of instantiations for every architecture; none may need a stack frame or spill.

  spill_check.py NVCC INCLUDE_FOLDER HEADER ARCHITECTURE...     such as: spill_check.py nvcc include h.hpp 90

Two compilers run at a time. Prints the kernels that fail, and a line for each architecture.
"""
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

LONGEST_NAME = 240  # characters of a kernel's name that are printed
LARGEST_SET = 24  # instantiations that the header may list

REPORT = re.compile(
    r"Compiling entry function '(\S+)' for '\w+'.*?"
    r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads.*?"
    r"Used (\d+) registers",
    re.DOTALL,
)


def compile_for(architecture, nvcc, include, header, folder):
    """(output, exit status) of ptxas, which says what each kernel takes."""
    source = folder / f"instances_{architecture}.cu"
    source.write_text(f'#include "{header.resolve()}"\n')
    command = [nvcc, "-std=c++17", "-O2", f"-arch=sm_{architecture}", f"-I{include}", "-Xptxas=-v"]
    command += ["-cubin", "-o", str(folder / f"instances_{architecture}.cubin"), str(source)]
    run = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return run.stdout, run.returncode


def readable(names):
    try:
        run = subprocess.run(["c++filt"], input="\n".join(names), stdout=subprocess.PIPE, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return names
    return [re.sub(r"gesso::|detail::", "", name) for name in run.stdout.splitlines()]


def main():
    nvcc, include, header, *architectures = sys.argv[1:]
    header = Path(header)
    instantiations = len(re.findall(r"^template cudaError_t", header.read_text(), re.MULTILINE))
    if instantiations == 0 or instantiations > LARGEST_SET:
        sys.exit(f"{header}: {instantiations} instantiations, 1 to {LARGEST_SET} are allowed")
    failures = 0
    with tempfile.TemporaryDirectory() as path, ThreadPoolExecutor(max_workers=2) as pool:
        folder = Path(path)
        runs = pool.map(lambda a: compile_for(a, nvcc, include, header, folder), architectures)
        for architecture, (output, status) in zip(architectures, runs):
            if status != 0:
                sys.exit(f"sm_{architecture} does not compile:\n{output}")
            kernels = REPORT.findall(output)
            # Functions may share a kernel, but there is no spill check without kernels.
            if not kernels:
                sys.exit(f"sm_{architecture}: ptxas reported no kernel:\n{output}")
            bad = 0
            names = readable([kernel[0] for kernel in kernels])
            for name, (_, stack, stores, loads, registers) in zip(names, kernels):
                if stack == stores == loads == "0":
                    continue
                bad += 1
                print(f"sm_{architecture}: {stack} bytes stack frame, {stores} bytes spilled, {loads} reloaded, "
                      f"{registers} registers: {name[:LONGEST_NAME]}")
            most = max(int(kernel[4]) for kernel in kernels)
            print(f"sm_{architecture}: {len(kernels)} kernels of {instantiations} instantiations, {bad} with a "
                  f"stack frame or spills, at most {most} registers")
            failures += bad
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
