#!/usr/bin/env python3
# Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
"""Draws the error of m / sqrt(v) by group size: reads errors.csv of a folder, writes errors.png there."""
import argparse
import csv
import pathlib

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402 (the backend comes first: there may be no display)

# label: colour, and the settings of m and of v: format, bound, k_min, rounding, underflow. AUTOMATIC: what the library
# does at this beta2.
AUTOMATIC = "automatic"
CURVES = {
    "plain FP8": ("tab:red", ("E4M3", "none", "0", "nearest", "gradual"), ("E4M3", "none", "0", "nearest", "keep")),
    "the paper's rule": ("tab:orange", ("E4M3", "reference", "0.0625", "nearest", "gradual"),
                         ("E4M3", "reference", "0.0625", "nearest", "keep")),
    "full range, automatic rounding": ("tab:green", ("E4M3", "full_range", "0.5", "nearest", "gradual"),
                                       ("E4M3", "full_range", "0.5", AUTOMATIC, "keep")),
    "Gesso's default": ("tab:blue", ("E4M3", "min_normal", "0.5", "nearest", "flush"),
                        ("E4M3", "min_normal", "0.5", AUTOMATIC, "keep")),
    "default with v in unsigned E4M4": ("tab:purple", ("E4M3", "min_normal", "0.5", "nearest", "flush"),
                                        ("unsigned E4M4", "min_normal", "0.5", AUTOMATIC, "keep")),
}
SETTINGS = ("format", "bound", "k_min", "rounding", "underflow")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=pathlib.Path, help="the tool's output folder, as build/moment_error")
    folder = parser.parse_args().folder

    rows = {}  # (table, beta2, settings of m, settings of v): {group size: row}
    beta2s = set()
    with open(folder / "errors.csv", newline="") as file:
        for row in csv.DictReader(file):
            key = (row["table"], float(row["beta2"]), tuple(row["m_" + name] for name in SETTINGS),
                   tuple(row["v_" + name] for name in SETTINGS))
            rows.setdefault(key, {})[int(row["group_size"])] = row
            beta2s.add(float(row["beta2"]))

    figure, axes = plt.subplots(2, len(beta2s), figsize=(5.2 * len(beta2s), 7.5), squeeze=False, sharex=True,
                                sharey="row")
    for column, beta2 in enumerate(sorted(beta2s)):
        upper, lower = axes[:, column]
        for label, (colour, first, second) in CURVES.items():
            rounding = "stochastic" if beta2 > 0.98 else "nearest"
            second = tuple(rounding if setting == AUTOMATIC else setting for setting in second)
            for table, style in (("trajectory", "-"), ("one-shot", ":")):
                of_curve = rows.get((table, beta2, first, second), {})
                sizes = sorted(of_curve)
                errors = [float(of_curve[size]["mean_square"]) for size in sizes]
                upper.plot(sizes, errors, style, color=colour, marker=".", label=label if style == "-" else None)
                if table == "trajectory":
                    ratios = [float(of_curve[size]["v_ratio"]) for size in sizes]
                    lower.plot(sizes, ratios, style, color=colour, marker=".")
        upper.set_title(f"beta2 {beta2:g}")
        upper.set_yscale("log")
        lower.axhline(1, color="grey", linewidth=0.8)
        lower.set_xscale("log", base=2)
        lower.set_xlabel("group size")
    axes[0][0].set_ylabel("mean square error of m / sqrt(v)\nsolid: trajectory, dotted: one-shot")
    axes[1][0].set_ylabel("trajectory: geometric mean of v / fp32 v")
    axes[0][0].legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(folder / "errors.png", dpi=130)
    print(f"{folder / 'errors.png'} written")


if __name__ == "__main__":
    main()
