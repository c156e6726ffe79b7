#!/usr/bin/env python3
# Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
"""Draws errors against bytes for the schemes of the study: activation_error.csv to an SVG. Needs no package.

usage: plot_errors.py activation_error.csv activation_error.svg
"""
import csv
import math
import sys

WIDTH, HEIGHT, LEFT, TOP, BOTTOM = 430, 360, 70, 46, 56
SERIES = {"activation_error": ("#1f77b4", "activations"), "gradient_error": ("#d62728", "weight gradients")}


def panel(rows, step, loss, offset):
    """One training step: relative mean square errors over the bytes of a number."""
    low, high = -4.0, -1.6  # decades
    left, right = 0.95, 1.55  # bytes

    def x(size):
        return offset + LEFT + (float(size) - left) / (right - left) * (WIDTH - LEFT - 20)

    def y(error):
        return TOP + (high - math.log10(float(error))) / (high - low) * (HEIGHT - TOP - BOTTOM)

    parts = [f'<text x="{offset + LEFT}" y="{TOP - 24}" font-size="14">after {step} steps, loss {float(loss):.2f}</text>',
             f'<rect x="{offset + LEFT}" y="{TOP}" width="{WIDTH - LEFT - 20}" height="{HEIGHT - TOP - BOTTOM}" '
             'fill="none" stroke="#888"/>']
    for exponent in (-4, -3, -2):
        for factor in (1, 3):
            error = factor * 10.0 ** exponent
            if low <= math.log10(error) <= high:
                parts.append(f'<line x1="{offset + LEFT}" x2="{offset + WIDTH - 20}" y1="{y(error):.1f}" y2="{y(error):.1f}" '
                             'stroke="#ddd"/>')
                parts.append(f'<text x="{offset + LEFT - 6}" y="{y(error) + 4:.1f}" text-anchor="end">{error:.0e}</text>')
    for size in (1.0, 1.125, 1.25, 1.5):
        parts.append(f'<text x="{x(size):.1f}" y="{HEIGHT - BOTTOM + 16}" text-anchor="middle">{size:g}</text>')
    parts.append(f'<text x="{offset + (LEFT + WIDTH - 20) / 2}" y="{HEIGHT - BOTTOM + 34}" text-anchor="middle">'
                 "bytes a number</text>")
    for column, (colour, label) in SERIES.items():
        tiles = [row for row in rows if row["scheme"] == "per tensor" or
                 (row["scheme"].startswith("1x") and row["scheme"] != "1x128" and "products" not in row["scheme"])]
        tiles.sort(key=lambda row: float(row["bytes_per_number"]))
        line = " ".join(f"{x(row['bytes_per_number']):.1f},{y(row[column]):.1f}" for row in tiles)
        parts.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="1.5"/>')
        for row in tiles:
            at_x, at_y = x(row["bytes_per_number"]), y(row[column])
            parts.append(f'<circle cx="{at_x:.1f}" cy="{at_y:.1f}" r="3" fill="{colour}"/>')
            if column == "gradient_error" and row["scheme"] in ("1x4", "1x8", "1x16", "1x32", "per tensor"):
                parts.append(f'<text x="{at_x:.1f}" y="{at_y - 8:.1f}" font-size="10">{row["scheme"]}</text>')
        for row in rows:
            if "products" in row["scheme"]:
                at_x, at_y = x(row["bytes_per_number"]), y(row[column])
                parts.append(f'<path d="M{at_x - 4:.1f},{at_y:.1f} l4,-4 l4,4 l-4,4 z" fill="white" stroke="{colour}"/>')
    return parts


def main():
    with open(sys.argv[1], newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    steps = list(dict.fromkeys((row["step"], row["loss"]) for row in rows))
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH * len(steps)}" height="{HEIGHT}" '
             'font-family="sans-serif" font-size="11">',
             f'<rect width="{WIDTH * len(steps)}" height="{HEIGHT}" fill="white"/>']
    for i, (step, loss) in enumerate(steps):
        parts += panel([row for row in rows if row["step"] == step], step, loss, i * WIDTH)
    at = LEFT
    for colour, label in SERIES.values():
        parts.append(f'<circle cx="{at}" cy="{TOP - 9}" r="4" fill="{colour}"/>'
                     f'<text x="{at + 8}" y="{TOP - 5}">{label}</text>')
        at += 100
    parts.append(f'<text x="{at + 20}" y="{TOP - 5}">diamond: 1x16, products per tensor</text></svg>')
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        file.write("\n".join(parts) + "\n")


if __name__ == "__main__":
    main()
