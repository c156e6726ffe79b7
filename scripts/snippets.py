#!/usr/bin/env python3
# Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
"""Keeps the code in the documentation what the compiled examples say.

`<!-- snippet: FILE#REGION -->` before a code block names lines of FILE between two comments `// [REGION]`.
usage: snippets.py [--check]
"""
import pathlib
import re
import sys
import textwrap

root = pathlib.Path(__file__).resolve().parent.parent
block = re.compile(r"(<!-- snippet: (\S+)#(\S+) -->\n```\w*\n)(.*?)(```)", re.S)


def region(path, name):
    parts = re.split(rf"^ *// \[{re.escape(name)}\]\n", (root / path).read_text(encoding="utf-8"), flags=re.M)
    if len(parts) != 3:
        sys.exit(f"{path}: region {name} must begin and end once")
    return textwrap.dedent(parts[1])


stale = []
for page in [root / "README.md", *sorted((root / "docs").rglob("*.md"))]:
    text = page.read_text(encoding="utf-8")
    made = block.sub(lambda m: m.group(1) + region(m.group(2), m.group(3)) + m.group(5), text)
    if made != text:
        stale.append(str(page.relative_to(root)))
        if "--check" not in sys.argv[1:]:
            page.write_text(made, encoding="utf-8")
if stale and "--check" in sys.argv[1:]:
    sys.exit(f"not what the examples say: {', '.join(stale)}; run scripts/snippets.py")
