#!/usr/bin/env python3
# Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
"""Rewrites the tables of docs/numerics.md from moment_error.csv, activation_error.csv and demo_report.json in docs/data.

usage: numerics_tables.py [--check]
"""
import csv
import json
import pathlib
import re
import statistics
import sys

root = pathlib.Path(__file__).resolve().parent.parent
page = root / "docs" / "numerics.md"


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def moment_error():
    with open(root / "docs" / "data" / "moment_error.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    betas = sorted({row["beta2"] for row in rows}, key=float)
    labels = list(dict.fromkeys(row["variant"] for row in rows))
    cell = {(row["variant"], row["beta2"]): row for row in rows}
    head = ["group 128"]
    for beta2 in betas:
        head += [f"beta2 {beta2}: one-shot", "trajectory", "/ default", "v / fp32 v"]
    body = []
    for label in labels:
        line = [label]
        for beta2 in betas:
            row = cell[label, beta2]
            ratio = float(row["trajectory"]) / float(cell["default", beta2]["trajectory"])
            line += [f"{float(row['one_shot']):.2e}", f"{float(row['trajectory']):.2e}", f"{ratio:.2f}x",
                     f"{float(row['v_ratio']):.3f}"]
        body.append(line)
    return table(head, body)


def activation_error():
    with open(root / "docs" / "data" / "activation_error.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    steps = list(dict.fromkeys(row["step"] for row in rows))
    cell = {(row["scheme"], row["step"]): row for row in rows}
    head = ["scales", "bytes a number", "over the codes"]
    for step in steps:
        head += [f"step {step}: activations", "weight gradients", "loss"]
    body = []
    for scheme in dict.fromkeys(row["scheme"] for row in rows):
        size = float(cell[scheme, steps[0]]["bytes_per_number"])
        line = [scheme.replace("1x", "1 x "), f"{size:.3f}", "-" if scheme == "bf16" else f"{100 * (size - 1):.1f} %"]
        for step in steps:
            row = cell[scheme, step]
            line += [f"{float(row['activation_error']):.2e}", f"{float(row['gradient_error']):.2e}",
                     f"{float(row['loss_difference']):+.1e}"]
        body.append(line)
    losses = ", ".join(f"{float(next(row['loss'] for row in rows if row['step'] == step)):.2f} at step {step}"
                       for step in steps)
    return table(head, body) + f"\n\nTraining loss: {losses}; the loss columns are differences on the held-out batches."


def demo():
    with open(root / "docs" / "data" / "demo_report.json", encoding="utf-8") as file:
        report = json.load(file)
    runs = report["runs"]
    body = []
    for beta2 in sorted({run["beta2"] for run in runs}):
        loss = {}
        for kind in dict.fromkeys(run["moments"] for run in runs):
            mine = [run for run in runs if run["moments"] == kind and run["beta2"] == beta2]
            if any(run["train_loss"] is None for run in mine):
                body.append([str(beta2), kind] + ["NaN"] * 6)
                continue
            mean = {name: statistics.mean(run[name] for run in mine)
                    for name in ("bytes_per_parameter", "train_loss", "heldout_loss", "moment_error", "v_ratio")}
            loss[kind] = mean["train_loss"]
            body.append([str(beta2), kind, f"{mean['bytes_per_parameter']:.3f}", f"{mean['train_loss']:.4f}",
                         f"{100 * (mean['train_loss'] / loss['fp32'] - 1):+.2f} %",
                         ", ".join(f"{run['train_loss']:.4f}" for run in mine), f"{mean['heldout_loss']:.4f}",
                         f"{mean['moment_error']:.2e}", f"{mean['v_ratio']:.3f}"])
    head = ["beta2", "moments", "bytes a parameter", "train loss", "against fp32", "by seed", "held-out loss",
            "m / sqrt(v) error", "v / fp32 v"]
    return table(head, body) + f"\n\nUnigram entropy of the held-out text: {report['unigram_entropy']:.4f} nats a byte."


text = page.read_text(encoding="utf-8")
for name, made in (("moment_error", moment_error()), ("activation_error", activation_error()), ("demo", demo())):
    text = re.sub(rf"(<!-- table: {name} -->\n).*?(<!-- end -->)", lambda m, made=made: m.group(1) + made + "\n" + m.group(2),
                  text, flags=re.S)
if "--check" in sys.argv[1:]:
    sys.exit(0 if text == page.read_text(encoding="utf-8") else "docs/numerics.md is not what docs/data says; run scripts/numerics_tables.py")
page.write_text(text, encoding="utf-8")
