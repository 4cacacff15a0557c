"""Ratios after / before of every error and of time, from two tables of `all_tables.py`.

    python bench/compare_tables.py BEFORE.csv AFTER.csv [--only KEY ...] [--csv OUT.csv]

One line per table and ε with the ratio of each figure, then their geometric means for each ε: below 1 is better.
Figures below 0.0001 count as 0.0001, so that two errors of nothing have the ratio 1; a figure that one side lacks has
no ratio. Lines that are in one file only, or refused in one, are named at the end.
"""

import argparse
import csv
import math
import sys
from pathlib import Path

KEYS = ("cpu_s", "peak_mb", "tv1", "tv2", "tv3", "missing", "special", "together", "given", "mean", "deviation")
KEYS += ("median", "rank", "kolmogorov", "wasserstein")
LEAST = 1e-4

Lines = dict[tuple[str, str], dict[str, str]]


def main() -> None:
    """Print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    parser.add_argument("--only", nargs="*", default=KEYS, metavar="KEY")
    parser.add_argument("--csv", type=Path)
    chosen = parser.parse_args()
    before, after = read(chosen.before), read(chosen.after)
    found = [(*place, *ratios(before[place], after[place], chosen.only)) for place in before if place in after]
    for epsilon in dict.fromkeys(line[1] for line in found):
        own = [line for line in found if line[1] == epsilon]
        found.append(
            ("geometric mean", epsilon, *(geometric_mean(column) for column in list(zip(*own, strict=True))[2:]))
        )
    table = [("table", "epsilon", *chosen.only), *([shown(cell) for cell in line] for line in found)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for line in table:
        sys.stdout.write("  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)).rstrip() + "\n")
    for place in sorted({*before, *after}):
        if not comparable(before.get(place)) or not comparable(after.get(place)):
            sys.stdout.write(f"not compared: {' '.join(place)}\n")
    if chosen.csv:
        with chosen.csv.open("w", newline="") as file:
            csv.writer(file).writerows(table)


def read(path: Path) -> Lines:
    """Return the lines of a table by name and ε."""
    with path.open(newline="") as file:
        return {(line["table"], line["epsilon"]): line for line in csv.DictReader(file)}


def comparable(line: dict[str, str] | None) -> bool:
    """Return whether there is a line and rows were made."""
    return line is not None and not line["refused"]


def ratios(before: dict[str, str], after: dict[str, str], keys: list[str]) -> list[float | None]:
    """Return after / before of each figure; None where one side has none."""
    return [
        max(float(after[key]), LEAST) / max(float(before[key]), LEAST) if before.get(key) and after.get(key) else None
        for key in keys
    ]


def geometric_mean(values: tuple[float | None, ...]) -> float | None:
    """Return the geometric mean of the values that there are."""
    known = [math.log(value) for value in values if value is not None]
    return math.exp(sum(known) / len(known)) if known else None


def shown(cell: object) -> str:
    """Return a cell as text."""
    return "" if cell is None else f"{cell:.2f}" if isinstance(cell, float) else str(cell)


if __name__ == "__main__":
    main()
