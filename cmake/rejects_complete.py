#!/usr/bin/env python3
"""Every sentence of a static_assert in the headers must be expected by a must-not-compile test.

  rejects_complete.py ROOT

A sentence to users begins with "gesso"; a static_assert without a sentence is the library's own affair. An expectation may be the beginning of the sentence, not a mere word of it.
"""
import re
import sys
from pathlib import Path

SHORTEST_EXPECTATION = 30  # characters: enough that one expectation does not cover two rules


def main():
    root = Path(sys.argv[1])
    sentences = {}
    for header in sorted((root / "include" / "gesso").rglob("*")):
        if not header.is_file():
            continue
        for assertion in re.finditer(r"static_assert\s*\((.*?)\)\s*;", header.read_text(), re.DOTALL):
            # Adjacent string literals are one sentence.
            sentence = "".join(re.findall(r'"((?:\\.|[^"\\])*)"', assertion.group(1)))
            if sentence.startswith("gesso"):
                sentences[sentence] = header.relative_to(root)
            elif sentence:
                sys.exit(f"{header}: a sentence to users begins with the name of the entity: {sentence}")

    expected = []
    for test in sorted((root / "tests" / "rejects").glob("*.c*")):
        expected += re.findall(r'^// expect: "(.*)"$', test.read_text(), re.MULTILINE)
    missing = [s for s in sentences if not any(len(e) >= SHORTEST_EXPECTATION and s.startswith(e) for e in expected)]
    stale = [e for e in expected if not any(s.startswith(e) for s in sentences)]
    for sentence in missing:
        print(f"{sentences[sentence]}: no file in tests/rejects/ expects: {sentence}")
    for expectation in stale:
        print(f"tests/rejects/: no header says: {expectation}")
    print(f"{len(sentences)} sentences, {len(expected)} expectations, {len(missing)} missing, {len(stale)} stale")
    return 1 if missing or stale or not sentences else 0


if __name__ == "__main__":
    sys.exit(main())
