#!/usr/bin/env python3
"""Checks the rules that keep the headers readable; a reader can rely on each of them.

  path_check.py ROOT         checks ROOT/include/gesso against the data path in ROOT/docs/architecture.md
  path_check.py --self-test  breaks every rule once and sees that it is reported

The rules:
  path        every header stands on a line of the data path, every line is a header, and an #include never points
              to its own or a later line; a .hpp never includes a .cuh; transformer/ never uses optimizer/
  lines       at most 400 lines a header; only .hpp and .cuh files (no .inl); each starts with #pragma once
  macros      defined in config.hpp only, at most four, all with the prefix GESSO_
  reserved    no identifier that is reserved to the implementation, save those that compilers and CUDA provide
  literals    no 448 outside encoding/format.hpp: the maximum of E4M3 is a fact of the format
  names       nothing called fast_..., ...kernel2 or utils
"""
import re
import sys
import tempfile
from pathlib import Path

LINE_BUDGET = 400
MACRO_BUDGET = 4
FORMAT_FACTS = "encoding/format.hpp"

# Reserved names that the compilers and CUDA define, and that the headers may therefore use.
PROVIDED = re.compile(
    r"""__(?:
        cplusplus | has_include | asm__ | volatile__ | restrict(?:__)? | \w+_MATH__ | FMA__ | FINITE_MATH_ONLY__
      | GNUC\w* | clang\w* | NVCC__ | BYTE_ORDER__ | ORDER_\w+_ENDIAN__ | builtin_\w+ | attribute__
      | CUDA\w* | host__ | device__ | global__ | shared__ | constant__ | forceinline__ | noinline__ | launch_bounds__
      | grid_constant__ | align__ | cluster_dims__ | nv_\w+ | half\w* | bfloat16\w* | nanosleep | trap | brev | clz\w* | ffs\w*
      | popc\w* | byte_perm | funnelshift_\w+ | u?mulhi | u?mul64hi | ld\w\w | st\w\w | shfl\w+ | ballot_sync | any_sync
      | all_sync | match_\w+_sync | reduce_\w+_sync | activemask | syncwarp | syncthreads\w* | threadfence\w*
      | f\w+_r[nzud] | d\w+_r[nzud] | fmaf_ieee_r[nzud] | float\w*2\w+ | double\w*2\w+ | u?int\w*2\w+ | u?ll2\w+
      | cvta_\w+ | isGlobal | isShared | assume
    )$ | _MSC_VER$ | _M_\w+$ | _WIN32$ | _Pragma$""",
    re.VERBOSE,
)
RESERVED = re.compile(r"\b(?:_[A-Z]\w*|\w*__\w*)\b")
NAMES = re.compile(r"\b(?:fast_\w+|\w*kernel2\w*|\w*utils?)\b")


def without_comments(text, keep_strings=False):
    """The code of a file: comments, and strings unless kept, become blanks; line breaks stay for the line numbers."""

    def blank(match):
        token = match.group()
        if keep_strings and token[0] in "\"'":
            return token
        return re.sub(r"[^\n]", " ", token)

    # A digit separator (1'000) is no character literal, hence the look-behind.
    pattern = r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|(?<![0-9A-Fa-f])'(?:\\.|[^'\\\n])+'"
    return re.sub(pattern, blank, text, flags=re.DOTALL)


def data_path(architecture):
    """The headers in order: the first word of each line of the fenced block that is marked data-path."""
    block = re.search(r"```data-path\n(.*?)```", architecture.read_text(), re.DOTALL)
    if not block:
        sys.exit(f"{architecture}: no block marked ```data-path")
    return [line.split()[0] for line in block.group(1).splitlines() if line.strip()]


def check(root):
    """The violations, one sentence each."""
    include = root / "include" / "gesso"
    order = data_path(root / "docs" / "architecture.md")
    rank = {name: line for line, name in enumerate(order)}
    files = sorted(file for file in include.rglob("*") if file.is_file())
    found = []

    for name in order:
        if not (include / name).is_file():
            found.append(f"docs/architecture.md: {name} stands on the data path but is no header")
    for file in files:
        found += check_file(file, file.relative_to(include).as_posix(), rank)

    macros = [m for file in files for m in re.findall(r"^\s*#\s*define\s+(\w+)", without_comments(file.read_text()), re.M)]
    if len(set(macros)) > MACRO_BUDGET:
        found.append(f"{len(set(macros))} macros ({', '.join(sorted(set(macros)))}), at most {MACRO_BUDGET} are allowed")
    return found


def check_file(file, name, rank):
    found = []
    text = file.read_text()
    code = without_comments(text)
    lines = text.count("\n")

    def complain(position, what):
        found.append(f"{name}:{code.count(chr(10), 0, position) + 1}: {what}")

    if file.suffix not in (".hpp", ".cuh"):
        found.append(f"{name}: only .hpp and .cuh files belong here; define in place")
        return found
    if name not in rank:
        found.append(f"{name}: not on the data path; add its line to docs/architecture.md")
    if lines > LINE_BUDGET:
        found.append(f"{name}: {lines} lines, at most {LINE_BUDGET} are allowed; split it by meaning")
    if not re.match(r"\s*#pragma once\b", code):
        found.append(f"{name}: does not start with #pragma once")
    if NAMES.search(re.sub(r"[./]", " ", name)):
        found.append(f"{name}: a file name says what it holds, not that it is fast, second or useful")

    included_files = re.finditer(r"^\s*#\s*include\s*[<\"](?:gesso/)?([^>\"]+)[>\"]", without_comments(text, True), re.M)
    for match in included_files:
        included = match.group(1)
        quoted_or_own = '"' in match.group() or "<gesso/" in match.group()
        if not quoted_or_own:
            continue
        if included not in rank:
            complain(match.start(), f"includes {included}, which is not on the data path (write <gesso/folder/file>)")
        elif name in rank and rank[included] >= rank[name]:
            complain(match.start(), f"includes {included}, which is not earlier on the data path")
        if name.endswith(".hpp") and included.endswith(".cuh"):
            complain(match.start(), f"a .hpp compiles without CUDA and cannot include {included}")
        if name.startswith("transformer/") and included.startswith("optimizer/"):
            complain(match.start(), f"transformer/ never uses optimizer/, but this includes {included}")

    for match in re.finditer(r"^[ \t]*#[ \t]*define[ \t]+(\w+)", code, re.M):
        macro = match.group(1)
        if name != "config.hpp":
            complain(match.start(), f"defines the macro {macro}; macros belong into config.hpp")
        elif not macro.startswith("GESSO_"):
            complain(match.start(), f"the macro {macro} lacks the prefix GESSO_")
    for match in RESERVED.finditer(code):
        if not PROVIDED.match(match.group()):
            complain(match.start(), f"{match.group()} is reserved to the implementation")
    for match in NAMES.finditer(code):
        complain(match.start(), f"{match.group()}: a name says what it does, not that it is fast, second or useful")
    if name != FORMAT_FACTS:
        for match in re.finditer(r"(?<![\w.'])448(?:\.0*)?f?(?![\w.])", code):
            complain(match.start(), f"the literal 448; write e4m3::max() of {FORMAT_FACTS}")
    return found


def self_test():
    """Every rule must fire on a tree that breaks it, and stay silent on one that breaks none."""
    sound = {
        "docs/architecture.md": "```data-path\nconfig.hpp\nencoding/format.hpp  facts\nlevel/host.hpp\nlevel/warp.cuh\n"
        "optimizer/adamw.hpp\ntransformer/linear.hpp\n```\n",
        "include/gesso/config.hpp": "// Text.\n#pragma once\n#define GESSO_VERSION 100\n",
        "include/gesso/encoding/format.hpp": "#pragma once\n#include <gesso/config.hpp>\nconstexpr float top = 448.0f;\n",
        "include/gesso/level/host.hpp": "#pragma once\n#include <gesso/encoding/format.hpp>\n#include <cmath>\n// 448 __x\n",
        "include/gesso/level/warp.cuh": "#pragma once\n__device__ inline int f() { return __CUDA_ARCH__ + 1'448; }\n",
        "include/gesso/optimizer/adamw.hpp": "#pragma once\n",
        "include/gesso/transformer/linear.hpp": "#pragma once\n",
    }
    host = "include/gesso/level/host.hpp"
    config = "include/gesso/config.hpp"
    broken = [
        ("include/gesso/level/other.hpp", "#pragma once\n", "not on the data path"),
        ("docs/architecture.md", sound["docs/architecture.md"].replace("level/warp", "level/grid.cuh\nlevel/warp"), "is no header"),
        (config, "#pragma once\n#include <gesso/level/host.hpp>\n", "not earlier on the data path"),
        (config, '#pragma once\n#include "gesso/level/host.hpp"\n', "not earlier on the data path"),
        (host, "#pragma once\n#include <gesso/missing.hpp>\n", "which is not on the data path"),
        ("include/gesso/optimizer/adamw.hpp", "#pragma once\n#include <gesso/level/warp.cuh>\n", "cannot include"),
        ("include/gesso/transformer/linear.hpp", "#pragma once\n#include <gesso/optimizer/adamw.hpp>\n", "never uses optimizer/"),
        (host, "#pragma once\n" + "\n" * LINE_BUDGET, "401 lines"),
        ("include/gesso/level/host.inl", "\n", "only .hpp and .cuh"),
        (host, "#ifndef HOST\n#endif\n", "#pragma once"),
        (host, "#pragma once\n#  define GESSO_MORE\n", "macros belong into config.hpp"),
        (config, "#pragma once\n#define VERSION 1\n", "lacks the prefix"),
        (config, "#pragma once\n" + "".join(f"#define GESSO_{i}\n" for i in range(5)), "5 macros"),
        (host, "#pragma once\nint _Reserved;\n", "reserved"),
        (host, "#pragma once\nint my__name;\n", "reserved"),
        (host, "#pragma once\nint __my_function();\n", "reserved"),
        (host, "#pragma once\nfloat x = 448.0f;\n", "the literal 448"),
        (host, "#pragma once\nint x = 448;\n", "the literal 448"),
        (host, "#pragma once\nfloat fast_encode();\n", "not that it is fast"),
    ]
    failures = 0
    for path, content, expected in [("docs/architecture.md", sound["docs/architecture.md"], None)] + broken:
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            for file, text in {**sound, path: content}.items():
                (root / file).parent.mkdir(parents=True, exist_ok=True)
                (root / file).write_text(text)
            found = check(root)
        good = any(expected in sentence for sentence in found) if expected else not found
        if not good:
            failures += 1
            print(f"self-test: {path} = {content[:60]!r}: expected {expected!r}, got {found}")
    print(f"self-test: {len(broken)} broken trees and a sound one, {failures} wrong answers")
    return failures


def main():
    if sys.argv[1:] == ["--self-test"]:
        return 1 if self_test() else 0
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    found = check(Path(sys.argv[1]))
    for sentence in found:
        print(sentence)
    print(f"path check: {len(found)} violations")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
