#!/usr/bin/env python3
# Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
"""Makes the tables of docs/benchmarks.md from the JSON under bench/results/<gpu>/, so that none is typed.

    scripts/benchmark_tables.py                      rewrites what lies between `<!-- table: NAME -->` and `<!-- end -->`
    scripts/benchmark_tables.py --check              fails where that is not what the JSON says
    scripts/benchmark_tables.py --merge OUT IN...    joins JSON files of Google Benchmark into one
"""

import argparse
import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "benchmarks.md"
RESULTS = ROOT / "bench" / "results"

NO_RESULTS = "No results yet."
# One key of a name: `elements:2^28`. What Google Benchmark appends has keys that no table asks for.
ATTRIBUTE = re.compile(r"([a-z_]+):([^/]+)")


class Result:
    """One benchmark: its attributes, from the name, and its figures."""

    def __init__(self, raw):
        self.raw = raw
        self.kind = raw["name"].split("/")[0]
        self.attributes = dict(ATTRIBUTE.findall(raw["name"]))

    def __getitem__(self, key):
        return self.attributes.get(key, "")

    def matches(self, wanted):
        return all(self[key] == value for key, value in wanted.items())

    @property
    def exponent(self):
        return int(self["elements"].removeprefix("2^") or 0)

    @property
    def milliseconds(self):
        to_milliseconds = {"ns": 1e-6, "us": 1e-3, "ms": 1.0, "s": 1e3}
        return self.raw["real_time"] * to_milliseconds[self.raw["time_unit"]]


class Machine:
    """All that was measured on one GPU."""

    def __init__(self, folder):
        self.name = folder.name
        self.contexts = []
        self.results = []
        for path in sorted(folder.glob("*.json")):
            content = json.loads(path.read_text(encoding="utf-8"))
            # Other JSON of a run (hashes, the summary) may lie there too.
            if not isinstance(content, dict) or "benchmarks" not in content:
                continue
            self.contexts.append((path.name, content.get("context", {})))
            for raw in content["benchmarks"]:
                if not raw.get("error_occurred"):
                    self.results.append(Result(raw))

    def find(self, kind, **wanted):
        return [result for result in self.results if result.kind == kind and result.matches(wanted)]


def table(header, rows):
    if not rows:
        return None
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines)


FIGURES = ["ms", "GB/s", "of copy"]


def figures(result):
    return [f"{result.milliseconds:.3f}", f"{result.raw['bytes_per_second'] / 1e9:.0f}",
            f"{100 * result.raw['copy_fraction']:.1f} %"]


def size(result):
    return f"2^{result.exponent}" if result["elements"] else result["model"]


def moments(result):
    expansion = "expanded" if result["expansion"] == "dynamic" else "plain"
    name = f"{result['first']}, {result['second']}"
    return name if result["first"] == "fp32" else f"{name} {expansion}"


def short(commit):
    """The first digits, and whether the tree had changes beside them."""
    digits, _, modified = commit.partition("-")
    return digits[:12] + ("-" + modified if modified else "")


def run_table(machine):
    rows = []
    for name, context in machine.contexts:
        driver = context.get("cuda_driver") or ("PyTorch " + context["pytorch"] if "pytorch" in context else "")
        rows.append([name, str(context.get("gpu", "")), str(driver), str(context.get("date", "")),
                     f"`{short(str(context.get('commit', 'unknown')))}`"])
    return table(["file", "GPU", "CUDA driver or peer", "date", "built from"], rows)


def adamw_codecs(machine):
    found = machine.find("adamw", parameters="bf16", gradients="bf16", elements="2^28")
    found = [r for r in found if r["group"] in ("128", "none")]
    rows = [[moments(r), r["second_rounding"], "half zeros" if r["nonzero_gradients"] else "normal"] + figures(r)
            for r in found]
    return table(["moments m, v", "rounding of v", "gradients"] + FIGURES, rows)


def adamw_types(machine):
    found = [r for r in machine.find("adamw", elements="2^28", group="128", second_rounding="nearest",
                                     expansion="dynamic", nonzero_gradients="") if r["second"] != "e5m2"]
    rows = [[moments(r), r["parameters"], r["gradients"]] + figures(r) for r in found]
    return table(["moments m, v", "parameters", "gradients"] + FIGURES, rows)


def adamw_sizes(machine):
    found = machine.find("adamw", parameters="bf16", gradients="bf16", group="128", second_rounding="nearest",
                         expansion="dynamic", nonzero_gradients="")
    found = [r for r in found if r["second"] != "e5m2"]
    rows = [[moments(r), size(r)] + figures(r) for r in sorted(found, key=lambda r: (r["second"], r.exponent))]
    return table(["moments m, v", "elements"] + FIGURES, rows)


def adamw_groups(machine):
    found = machine.find("adamw", parameters="bf16", gradients="bf16", elements="2^28", second_rounding="nearest",
                         expansion="dynamic", nonzero_gradients="")
    seconds = {r["second"] for r in found if r["group"] not in ("128", "none")}
    found = [r for r in found if r["second"] in seconds]
    rows = [[moments(r), r["group"]] + figures(r)
            for r in sorted(found, key=lambda r: (r["second"], int(r["group"])))]
    return table(["moments m, v", "group size"] + FIGURES, rows)


def stochastic_cost(machine):
    rows = []
    for kind in ("adamw", "adamw_list"):
        for slow in machine.find(kind, second_rounding="stochastic"):
            same = dict(slow.attributes, second_rounding="nearest")
            for fast in (r for r in machine.find(kind) if r.attributes == same):
                rows.append([moments(slow), size(slow), f"{fast.milliseconds:.3f}", f"{slow.milliseconds:.3f}",
                             f"{100 * (slow.milliseconds / fast.milliseconds - 1):+.1f} %"])
    return table(["moments m, v", "elements", "nearest, ms", "stochastic v, ms", "slower by"], rows)


def adamw_list(machine):
    rows = []
    for r in machine.find("adamw_list"):
        if r["only"]:
            what = "gradient norm and clip factor alone"
        elif r["launches"] == "one":
            what = f"Gesso, one launch, {moments(r)}, v {r['second_rounding']}"
        else:
            what = f"Gesso, a launch each in a graph, {moments(r)}, v {r['second_rounding']}"
        rows.append([what, size(r), f"{r.raw['bytes'] / 1e9:.1f}"] + figures(r))
    for r in machine.find("torch_adamw_list"):
        how = "captured in a graph" if r["call"] == "graph" else "as called"
        rows.append([f"PyTorch fused AdamW, all {r['types']}, {how}", size(r), f"{r.raw['bytes'] / 1e9:.1f}"]
                    + figures(r))
    for r in machine.find("torch_adamw"):
        rows.append([f"PyTorch fused AdamW, all {r['types']}, one tensor", size(r), f"{r.raw['bytes'] / 1e9:.1f}"]
                    + figures(r))
    return table(["what", "elements", "GB moved"] + FIGURES, rows)


def codec_formats(machine):
    found = machine.find("codec", elements="2^28", group="128")
    rows = [[r["operation"].replace("_", ", "), r["format"],
             "expanded" if r["expansion"] == "dynamic" else "plain", r["values"]] + figures(r) for r in found]
    return table(["operation", "format", "group", "values"] + FIGURES, rows)


def codec_sizes(machine):
    found = machine.find("codec", group="128", format="e4m3", values="bf16")
    found = [r for r in found if r["operation"] in ("compress", "decode")]
    rows = [[r["operation"], "expanded" if r["expansion"] == "dynamic" else "plain", size(r)] + figures(r)
            for r in sorted(found, key=lambda r: (r["operation"], r["expansion"], r.exponent))]
    return table(["operation", "group", "elements"] + FIGURES, rows)


def codec_groups(machine):
    found = machine.find("codec", elements="2^28", format="e4m3", values="bf16")
    found = [r for r in found if r["operation"] in ("compress", "decode")]
    rows = [[r["operation"], "expanded" if r["expansion"] == "dynamic" else "plain", r["group"]] + figures(r)
            for r in sorted(found, key=lambda r: (r["operation"], r["expansion"], int(r["group"])))]
    return table(["operation", "group", "group size"] + FIGURES, rows)


TUNING_KEYS = ("items", "tile_columns", "threads", "scan_blocks")


def shape(result):
    return f"{result['rows']} x {result['columns']}"


def tile(result):
    return {"allxall": "tensor", "1xall": "row"}.get(result["tile"], result["tile"].replace("x", " x "))


def matrix_results(machine, tuned):
    kinds = ("quantize", "quantize_one_launch", "encode", "dequantize", "transpose")
    found = [r for kind in kinds for r in machine.find(kind)]
    return [r for r in found if tuned == any(r[key] for key in TUNING_KEYS)]


def matrix_operations(machine):
    outputs = {"both": "plain, transposed"}
    rows = [[r.kind.replace("_", ", ", 1).replace("_", " "), tile(r), r["scale"], r["values"],
             outputs.get(r["output"], r["output"]), shape(r)] + figures(r) for r in matrix_results(machine, False)]
    return table(["operation", "scale for each", "scale", "values", "output", "matrix"] + FIGURES, rows)


def matrix_tuning(machine):
    keys = TUNING_KEYS + ("pieces", "scan_threads", "scan_pieces")
    rows = [[r.kind, tile(r), r["output"], ", ".join(f"{key.replace('_', ' ')} {r[key]}" for key in keys if r[key])]
            + figures(r) for r in matrix_results(machine, True)]
    return table(["operation", "scale for each", "output", "tuning"] + FIGURES, rows)


def group_scaling(machine):
    parts = ("producer", "producer_observing", "stage_two", "encode", "without_scaling")
    rows = [[r["unit"], r["output"], shape(r)] + [f"{1e6 * r.raw[part + '_seconds']:.1f}" for part in parts]
            + [f"{1e3 * r.milliseconds:.1f}", f"{r.raw['scaling_ratio']:.3f}"] for r in machine.find("group_scaling")]
    return table(["unit", "output", "matrix", "producer us", "with stage one us", "stage two us", "encode us",
                  "producer and encode us", "all three us", "ratio"], rows)


def operators(machine):
    """Operators name what they read and write: in:g16+bf16/out:tensor."""
    called = {"g16": "1 x 16", "tensor": "tensor"}
    operands = lambda names: ", ".join(called.get(name, name) for name in names.split("+"))
    rows = [[r.kind.replace("_", " "), operands(r["in"]), operands(r["out"]),
             "plain, transposed" if r["output"] == "both" else "plain", shape(r)] + figures(r)
            for r in machine.results if r["in"]]
    return table(["operator", "reads", "writes", "codes", "matrix"] + FIGURES, rows)


TABLES = {
    "runs": run_table, "adamw_codecs": adamw_codecs, "adamw_types": adamw_types, "adamw_sizes": adamw_sizes,
    "adamw_groups": adamw_groups, "stochastic_cost": stochastic_cost, "adamw_list": adamw_list,
    "codec_formats": codec_formats, "codec_sizes": codec_sizes, "codec_groups": codec_groups,
    "matrix_operations": matrix_operations, "operators": operators, "group_scaling": group_scaling, "matrix_tuning": matrix_tuning,
}


def content_of(name, machines):
    if name not in TABLES:
        raise SystemExit(f"docs/benchmarks.md asks for a table that nobody makes: {name}")
    parts = []
    for machine in machines:
        made = TABLES[name](machine)
        if made is not None:
            parts.append(f"{machine.name}:\n\n{made}")
    return "\n\n".join(parts) or NO_RESULTS


def rewritten(page, machines):
    marker = re.compile(r"<!-- table: (\w+) -->\n.*?<!-- end -->", re.DOTALL)
    if page.count("<!-- table: ") != len(marker.findall(page)):
        raise SystemExit("docs/benchmarks.md: a table has no <!-- end -->")
    return marker.sub(lambda m: f"<!-- table: {m[1]} -->\n{content_of(m[1], machines)}\n<!-- end -->", page)


def merge(output, inputs):
    """The first file's context stands for all: one machine and one build. Names of hosts and folders are left out."""
    merged = {"context": {}, "benchmarks": []}
    executables = []
    for path in inputs:
        content = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
        context = content["context"]
        executables.append(pathlib.PurePath(context.pop("executable", path)).name)
        context.pop("host_name", None)
        merged["context"] = merged["context"] or context
        merged["benchmarks"] += content["benchmarks"]
    merged["context"]["executables"] = executables
    pathlib.Path(output).write_text(json.dumps(merged, indent=1) + "\n", encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--merge", nargs="+", metavar="FILE")
    parser.add_argument("--results", type=pathlib.Path, default=RESULTS)
    parser.add_argument("--page", type=pathlib.Path, default=PAGE)
    arguments = parser.parse_args()
    if arguments.merge:
        merge(arguments.merge[0], arguments.merge[1:])
        return 0

    folders = sorted(path for path in arguments.results.glob("*") if path.is_dir())
    page = arguments.page.read_text(encoding="utf-8")
    expected = rewritten(page, [Machine(folder) for folder in folders])
    if not arguments.check:
        arguments.page.write_text(expected, encoding="utf-8")
    elif page != expected:
        print("The tables in docs/benchmarks.md are not what bench/results says: run scripts/benchmark_tables.py")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
