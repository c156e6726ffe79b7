#!/usr/bin/env python3
# Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
"""Holds report.json of a demo run with several seeds and beta2 0.95 and 0.999 against what the default moments promise.

usage: check_targets.py REPORT.JSON      Exit status 0: every line is met.
"""
import json
import statistics
import sys

report = json.load(open(sys.argv[1], encoding="utf-8"))
runs = {(run["moments"], run["beta2"], run["seed"]): run for run in report["runs"]}
seeds = sorted({run["seed"] for run in report["runs"]})
missed = 0


def expect(what, figure, is_met, target):
    global missed
    missed += not is_met
    print(f"{'met   ' if is_met else 'MISSED'} {what}: {figure:.4g}, target {target}")


def error(moments, beta2, seed):
    return runs[moments, beta2, seed]["moment_error"]


for beta2, least_over_plain in ((0.95, 2), (0.999, 5)):
    for seed in seeds:
        ratio = error("fp8", beta2, seed) / error("fp8_expanded", beta2, seed)
        expect(f"beta2 {beta2}, seed {seed}: plain FP8's error over the default's", ratio, ratio >= least_over_plain,
               f"at least {least_over_plain}")
        if beta2 == 0.999:
            ratio = error("fp8_paper", beta2, seed) / error("fp8_expanded", beta2, seed)
            expect(f"beta2 {beta2}, seed {seed}: the paper's error over the default's", ratio, ratio >= 4, "at least 4")
        by_layer = runs["fp8_expanded", beta2, seed]["v_ratio_by_layer"]
        ratios = by_layer.values() if isinstance(by_layer, dict) else [layer["v_ratio"] for layer in by_layer]
        for figure in (min(ratios), max(ratios)):
            expect(f"beta2 {beta2}, seed {seed}: v / fp32 v of the farthest layer", figure, 0.9 <= figure <= 1.1,
                   "0.9 to 1.1")
    exact, default = (
        statistics.mean(runs[moments, beta2, seed]["train_loss"] for seed in seeds) for moments in ("fp32", "fp8_expanded"))
    gap = 100 * (default / exact - 1)
    expect(f"beta2 {beta2}: gap of the mean training loss to fp32 in %", gap, gap <= 0.3, "at most 0.3")
    heldout = statistics.mean(runs["fp32", beta2, seed]["heldout_loss"] for seed in seeds)
    below = 100 * (1 - heldout / report["unigram_entropy"])
    expect(f"beta2 {beta2}: fp32's held-out loss below the unigram entropy in %", below, below >= 20, "at least 20")

sys.exit(missed != 0)
