#!/usr/bin/env python3
# Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
"""Prints the tables of docs/numerics.md that judge the defaults, from errors.csv of a folder."""
import argparse
import csv
import pathlib

SETTINGS = ("format", "bound", "k_min", "rounding", "underflow")
DEFAULT_SECOND_FORMAT = "unsigned E4M4"
ALTERNATIVE_SECOND_FORMAT = "E4M3"
NAMES = {"none": "plain", "min_normal": "max / min normal", "reference": "paper's", "full_range": "full range"}


def usual(moment, form, bound, rounding):
    """The setting that a bound is used with unless another is being tried, as in candidates.hpp."""
    limit = {"none": "0", "reference": "0.0625"}.get(bound, "0.5")
    underflow = "keep" if moment == "v" else ("flush" if bound == "min_normal" else "gradual")
    return form, bound, limit, rounding, underflow


def automatic(beta2):
    return "stochastic" if beta2 > 0.98 else "nearest"


class Errors:
    def __init__(self, path):
        self.rows = {}
        with open(path, newline="") as file:
            for row in csv.DictReader(file):
                settings = [tuple(row[moment + "_" + name] for name in SETTINGS) for moment in "mv"]
                self.rows[(row["table"], int(row["group_size"]), float(row["beta2"] or 0), *settings)] = row
        self.beta2s = sorted({key[2] for key in self.rows})
        self.group_sizes = sorted({key[1] for key in self.rows})

    def row(self, table, group_size, beta2, first, second):
        return self.rows.get((table, group_size, beta2, first, second))

    def value(self, column, table, group_size, beta2, first, second):
        row = self.row(table, group_size, beta2, first, second)
        return float(row[column]) if row else None


def number(value, form="{:.2e}"):
    return "-" if value is None else form.format(value)


def print_table(head, rows):
    print("| " + " | ".join(head) + " |")
    print("|" + "---|" * len(head))
    for row in rows:
        print("| " + " | ".join(row) + " |")
    print()


def pair_table(errors, table, beta2, rounding):
    columns = [("E4M3", bound) for bound in NAMES] + [("E5M2", "none"), ("E5M2", "min_normal")]
    rows = []
    for form in ("E4M3", "E5M2", "unsigned E4M4"):
        for bound in NAMES:
            second = usual("v", form, bound, rounding)
            cells = [number(errors.value("mean_square", table, 128, beta2, usual("m", *column, "nearest"), second))
                     for column in columns]
            rows.append([f"{form}, {NAMES[bound]}"] + cells)
    print_table(["v \\ m"] + [f"{form}, {NAMES[bound]}" for form, bound in columns], rows)


def default_pair(beta2, form=DEFAULT_SECOND_FORMAT):
    return usual("m", "E4M3", "min_normal", "nearest"), usual("v", form, "min_normal", automatic(beta2))


def changed(settings, **changes):
    return tuple(changes.get(name, value) for name, value in zip(SETTINGS, settings))


def variants(beta2):
    """(label, m, v): the default and what differs from it by one decision."""
    first, second = default_pair(beta2)
    other = "nearest" if automatic(beta2) == "stochastic" else "stochastic"
    yield "default", first, second
    for limit in ("0.0625", "0.25", "1"):
        yield f"k at least {limit} for m", changed(first, k_min=limit), second
        yield f"k at least {limit} for v", first, changed(second, k_min=limit)
    for bound in ("reference", "full_range"):
        name = NAMES[bound]
        of_first = usual("m", "E4M3", bound, "nearest")
        yield f"bound of m: {name}, flush", changed(of_first, underflow="flush"), second
        yield f"bound of m: {name}, gradual", of_first, second
        yield f"bound of v: {name}", first, usual("v", DEFAULT_SECOND_FORMAT, bound, automatic(beta2))
    yield "underflow of m: gradual", changed(first, underflow="gradual"), second
    yield "m stochastic", changed(first, rounding="stochastic"), second
    yield "v in the other rounding", first, changed(second, rounding=other)
    for form in (ALTERNATIVE_SECOND_FORMAT, "E5M2"):
        yield f"v in {form}", first, changed(second, format=form)
    yield (f"v in {ALTERNATIVE_SECOND_FORMAT}, the other rounding", first,
           changed(second, format=ALTERNATIVE_SECOND_FORMAT, rounding=other))
    yield "m in E5M2", changed(first, format="E5M2"), second
    plain = usual("m", "E4M3", "none", "nearest")
    yield "plain E4M3, nearest", plain, usual("v", "E4M3", "none", "nearest")
    yield "plain E4M3, v automatic", plain, usual("v", "E4M3", "none", automatic(beta2))
    yield ("paper's rule, E4M3, nearest", usual("m", "E4M3", "reference", "nearest"),
           usual("v", "E4M3", "reference", "nearest"))


def variant_table(errors):
    lines = {}
    for beta2 in errors.beta2s:
        base = errors.value("mean_square", "trajectory", 128, beta2, *default_pair(beta2))
        for label, *pair in variants(beta2):
            error = errors.value("mean_square", "trajectory", 128, beta2, *pair)
            lines.setdefault(label, {})[beta2] = [
                number(errors.value("mean_square", "one-shot", 128, beta2, *pair)), number(error),
                "-" if error is None else f"{error / base:.2f}x",
                number(errors.value("v_ratio", "trajectory", 128, beta2, *pair), "{:.3f}")]
    head = ["group 128"]
    for beta2 in errors.beta2s:
        head += [f"beta2 {beta2:g}: one-shot", "trajectory", "/ default", "v / fp32 v"]
    print_table(head, [[label] + sum((cells.get(beta2, ["-"] * 4) for beta2 in errors.beta2s), [])
                       for label, cells in lines.items()])


def best_table(errors, count=4):
    """The best pairs of all, and of those that need no other format than E4M3."""
    rows = []
    for beta2 in errors.beta2s:
        base = errors.value("mean_square", "trajectory", 128, beta2, *default_pair(beta2))
        found = sorted((float(row["mean_square"]), key[3], key[4]) for key, row in errors.rows.items()
                       if key[:3] == ("trajectory", 128, beta2))
        only = [entry for entry in found if entry[1][0] == entry[2][0] == "E4M3"]
        for error, first, second in found[:count] + only[:1]:
            rows.append([f"{beta2:g}", ", ".join(first), ", ".join(second), number(error), f"{error / base:.2f}x"])
    print_table(["beta2", "m: format, bound, least k, rounding, underflow", "v", "trajectory", "/ default"], rows)


def group_size_table(errors):
    rows = []
    for size in errors.group_sizes:
        cells = [str(size)]
        for beta2 in errors.beta2s:
            for form in (DEFAULT_SECOND_FORMAT, ALTERNATIVE_SECOND_FORMAT):
                cells.append(number(errors.value("mean_square", "trajectory", size, beta2,
                                                 *default_pair(beta2, form))))
        cells.append(number(errors.value("bytes_per_parameter", "trajectory", size, errors.beta2s[0],
                                         *default_pair(errors.beta2s[0])), "{:.4f}"))
        rows.append(cells)
    head = ["group size"]
    for beta2 in errors.beta2s:
        head += [f"beta2 {beta2:g}: default", f"v in {ALTERNATIVE_SECOND_FORMAT}"]
    print_table(head + ["bytes a parameter"], rows)


def freeze_table(errors):
    rows = []
    first = usual("m", "E4M3", "min_normal", "nearest")
    for form, bound in [("E4M3", "none"), ("E4M3", "reference"), ("E4M3", "min_normal"),
                        ("unsigned E4M4", "min_normal")]:
        for rounding in ("nearest", "stochastic"):
            cells = [f"{form}, {NAMES[bound]}, {rounding}"]
            for beta2 in errors.beta2s:
                key = ("trajectory", 128, beta2, first, usual("v", form, bound, rounding))
                cells.append(number(errors.value("v_unchanged_share", *key), "{:.1%}"))
                cells.append(number(errors.value("v_ratio", *key), "{:.3f}"))
                cells.append(number(errors.value("mean_square", *key)))
            rows.append(cells)
    head = ["v"]
    for beta2 in errors.beta2s:
        head += [f"{beta2:g}: codes unchanged a step", "v / fp32 v", "error"]
    print_table(head, rows)


TABLES = {
    "pairs": lambda errors: [
        (print(f"{table}, beta2 {beta2:g}, v rounded {rounding}:\n"), pair_table(errors, table, beta2, rounding))
        for beta2 in errors.beta2s for table in ("one-shot", "trajectory")
        for rounding in dict.fromkeys(["nearest", automatic(beta2) if table == "trajectory" else "nearest"])],
    "variants": variant_table,
    "best": best_table,
    "rounding": freeze_table,
    "group-sizes": group_size_table,
}


def write_variants(errors, path):
    """What docs/numerics.md quotes, as the small table that is kept with it (scripts/numerics_tables.py reads it)."""
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["variant", "beta2", "one_shot", "trajectory", "v_ratio"])
        for beta2 in errors.beta2s:
            for label, *pair in variants(beta2):
                figures = [errors.value(column, kind, 128, beta2, *pair)
                           for column, kind in (("mean_square", "one-shot"), ("mean_square", "trajectory"),
                                                ("v_ratio", "trajectory"))]
                if None not in figures:
                    writer.writerow([label, f"{beta2:g}"] + [f"{figure:.6g}" for figure in figures])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=pathlib.Path, help="the tool's output folder, as build/moment_error")
    parser.add_argument("tables", nargs="*", metavar="table", help=f"of {', '.join(TABLES)} (default: all)")
    parser.add_argument("--variants", type=pathlib.Path, help="write the default and its variants to this CSV and stop")
    arguments = parser.parse_args()
    for name in arguments.tables:
        if name not in TABLES:
            parser.error(f"no table {name}; there are {', '.join(TABLES)}")
    errors = Errors(arguments.folder / "errors.csv")
    if arguments.variants:
        write_variants(errors, arguments.variants)
        return
    for name in arguments.tables or TABLES:
        TABLES[name](errors)


if __name__ == "__main__":
    main()
