#!/usr/bin/env python3
# Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
"""Are the bytes that GPUs computed in exact mode those of the host? Compares the hashes in
RESULTS/<gpu>/exact_bytes.json, which scripts/gpu.sh wrote, with the host's list.

    compare_hashes.py EXPECTED.txt RESULTS
"""

import json
import pathlib
import sys


def main():
    lines = pathlib.Path(sys.argv[1]).read_text(encoding="utf-8").split("\n")
    expected = dict(line.split() for line in lines if line)
    wrong = 0
    compared = 0
    for path in sorted(pathlib.Path(sys.argv[2]).glob("*/exact_bytes.json")):
        found = json.loads(path.read_text(encoding="utf-8"))
        if not found:
            print(f"{path}: no hashes")
            wrong += 1
        for name, value in found.items():
            compared += 1
            if name not in expected:
                print(f"{path}: {name} is no case of the host: run scripts/gpu.sh again")
                wrong += 1
            elif value != expected[name]:
                print(f"{path}: {name} is {value} on the GPU, {expected[name]} on the host")
                wrong += 1
        # No fault: a new case waits for the next run on a GPU.
        for name in expected.keys() - found.keys():
            print(f"{path}: {name} was not run")
    print(f"{compared} hashes compared, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
