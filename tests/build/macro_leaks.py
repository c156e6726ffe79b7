#!/usr/bin/env python3
"""Fails if including the library defines a macro without the prefix GESSO_, or more than four with it.

  macro_leaks.py COMPILER PRELUDE INCLUDE_FOLDER

PRELUDE includes the same foreign headers as the library, so that their macros do not count.
"""
import subprocess
import sys
from pathlib import Path


def macros(compiler, include, source):
    command = [compiler, "-std=c++17", f"-I{include}", "-dM", "-E", "-x", "c++", "-"]
    output = subprocess.run(command, input=source, capture_output=True, text=True, check=True).stdout
    return {line.split()[1].split("(")[0] for line in output.splitlines() if line.startswith("#define")}


def main():
    compiler, prelude, include = sys.argv[1:]
    headers = sorted((Path(include) / "gesso").rglob("*.hpp"))
    foreign = f'#include "{prelude}"\n'
    own = "".join(f"#include <{header.relative_to(include).as_posix()}>\n" for header in headers)
    added = macros(compiler, include, foreign + own) - macros(compiler, include, foreign)
    leaks = sorted(name for name in added if not name.startswith("GESSO_"))
    print(f"{len(headers)} headers define {', '.join(sorted(added))}")
    if not headers or not added:
        sys.exit("no header or no macro was seen: this check looked at nothing")
    if leaks or len(added) > 4:
        sys.exit(f"macros that leak: {', '.join(leaks) or 'none'}; macros in all: {len(added)}, at most 4 are allowed")


if __name__ == "__main__":
    main()
