#!/usr/bin/env python3
# Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
"""Draws the loss curves of a demo run: from losses.csv and report.json of a folder to losses.png there."""
import argparse
import collections
import csv
import json
import pathlib

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402 (the backend comes first: there may be no display)

LABELS = {
    "fp32": "fp32",
    "fp8": "plain FP8",
    "fp8_paper": "the paper's rule",
    "fp8_expanded": "Gesso's default",
}
COLOURS = {"fp32": "black", "fp8": "tab:red", "fp8_paper": "tab:orange", "fp8_expanded": "tab:blue"}
AVERAGED_STEPS = 25  # single batches are too noisy for a picture


def read_curves(path):
    """{beta2: {moments: {step: [loss of each seed]}}}"""
    curves = collections.defaultdict(lambda: collections.defaultdict(lambda: collections.defaultdict(list)))
    with open(path, newline="") as file:
        for row in csv.DictReader(file):
            curves[float(row["beta2"])][row["moments"]][int(row["step"])].append(float(row["loss"]))
    return curves


def smoothed(losses_of_steps):
    """Mean over the seeds, then over blocks of steps. A step that not every seed reached ends the curve."""
    seeds = len(losses_of_steps[min(losses_of_steps)])
    means = []
    for step in sorted(losses_of_steps):
        if len(losses_of_steps[step]) < seeds:
            break
        means.append(sum(losses_of_steps[step]) / seeds)
    steps, losses = [], []
    for start in range(0, len(means) - AVERAGED_STEPS + 1, AVERAGED_STEPS):
        steps.append(start + (AVERAGED_STEPS + 1) / 2)
        losses.append(sum(means[start:start + AVERAGED_STEPS]) / AVERAGED_STEPS)
    return steps, losses


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=pathlib.Path, help="the demo's output folder, as build/demo")
    folder = parser.parse_args().folder
    curves = read_curves(folder / "losses.csv")
    entropy = json.loads((folder / "report.json").read_text())["unigram_entropy"]

    figure, axes = plt.subplots(2, len(curves), figsize=(6.5 * len(curves), 7), squeeze=False, sharex="col",
                                height_ratios=[2, 1])
    for column, beta2 in enumerate(sorted(curves)):
        upper, lower = axes[:, column]
        reference = dict(zip(*smoothed(curves[beta2]["fp32"])))
        for moments, losses_of_steps in curves[beta2].items():
            steps, losses = smoothed(losses_of_steps)
            style = {"color": COLOURS.get(moments), "label": LABELS.get(moments, moments), "linewidth": 1.4}
            upper.plot(steps, losses, **style)
            gaps = [100 * (loss / reference[step] - 1)
                    for step, loss in zip(steps, losses) if step in reference]
            lower.plot(steps[:len(gaps)], gaps, **style)
        upper.axhline(entropy, color="grey", linestyle=":", label="unigram entropy")
        upper.set_title(f"beta2 {beta2:g}")
        upper.set_ylabel("training loss, nats a byte")
        upper.legend()
        lower.set_ylabel("above fp32, %")
        lower.set_xlabel("step")
    figure.tight_layout()
    figure.savefig(folder / "losses.png", dpi=130)
    print(f"{folder / 'losses.png'} written")


if __name__ == "__main__":
    main()
