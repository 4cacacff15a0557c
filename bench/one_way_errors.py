"""Errors of the one-way laws of Adaptive: of columns of numbers, before any table of two columns is asked.

    python bench/one_way_errors.py [--epsilon 1] [--delta 1e-9] [--runs 3] [--only NAME ...]
        [-o bench/results/one_way_errors.csv]

The one-way tables of each development table are asked with the budget that they have in a release, with fresh noise in
each run, and each column's law is compared with the real cells; nothing is fitted, so that all tables take a minute.
One CSV line per column of numbers with at least 50 regular cells of more than one value: means over the runs of the
error of the mean in real standard deviations, of the distance of the deviations' logarithms and whether it is beyond
that of 1.5, of the error of the median in rank, and of the Kolmogorov distance; and, of the single values that hold at
least 2 % of the rows, how many there are and how many are released within 20 % of their share. Printed: means over the
columns of tables of 5,000 rows or more. The output is internal: it compares with real rows.
"""

import argparse
import csv
import math
import sys
from pathlib import Path

import numpy as np
import polars as pl

from lapwing.kernel.budget.budget import Budget, exact_number
from lapwing.kernel.budget.conversions import rho_for
from lapwing.kernel.noise.bits import SystemBits
from lapwing.kernel.room.room import Room
from lapwing.kernel.room.transcript import NoTranscript
from lapwing.kernel.terms import Terms
from lapwing.mechanisms.adaptive.candidates import resolved_column
from lapwing.mechanisms.adaptive.mechanism import Adaptive
from lapwing.mechanisms.adaptive.one_way import ask_columns
from lapwing.model.laws import Laws
from lapwing.rows.source import code_table
from lapwing.schema.schemas import Schema

HERE = Path(__file__).resolve().parent
SHARED = HERE.parents[1] / "shared" / "data"
LEAST_ROWS, LEAST_CELLS, MOST_RATIO, ATOM, NEAR = 5000, 50, 1.5, 0.02, 0.2
ERRORS = ("mean", "deviation", "outside", "rank", "kolmogorov", "atoms", "atoms_near")
Line = dict[str, object]


def main() -> None:
    """Measure every table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epsilon", default="1")
    parser.add_argument("--delta")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--only", nargs="*")
    parser.add_argument("-o", "--output", type=Path, default=HERE / "results" / "one_way_errors.csv")
    chosen = parser.parse_args()
    budget = Budget.pure(chosen.epsilon)
    if chosen.delta:
        budget = Budget.zcdp(rho_for(budget.amount, exact_number("delta", chosen.delta)))
    tables = sorted(path.parent for path in SHARED.glob("*/schema.json"))
    lines = [
        line
        for folder in tables
        if not chosen.only or folder.name in chosen.only
        for line in measured(folder, budget, chosen.runs)
    ]
    with chosen.output.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(lines[0]))
        writer.writeheader()
        writer.writerows(lines)
    large = [line for line in lines if int(str(line["rows"])) >= LEAST_ROWS]
    for name in ERRORS:
        sys.stdout.write(
            f"{name}: {np.mean([float(str(line[name])) for line in large]):.4f} over {len(large)} columns\n"
        )


def measured(folder: Path, budget: Budget, runs: int) -> list[Line]:
    """Return a line for each column of numbers of one table."""
    schema, terms = Schema.load(folder / "schema.json"), Terms(relation="add-remove")
    source = code_table(pl.read_parquet(folder / "data.parquet"), schema)
    chunks = list(source.chunks())
    real = {column.name: np.concatenate([chunk[column.name] for chunk in chunks]) for column in schema.columns}
    rows, method, found = next(iter(real.values())).size, Adaptive(), {}
    for _ in range(runs):
        costs = method.costs_of(schema, budget, rows, terms)
        room = Room(source, schema, terms, budget, bits=SystemBits(), sink=NoTranscript())
        tables, total = ask_columns(room, schema, costs.one_way_costs)
        for column, table in zip(schema.columns, tables, strict=True):
            cells = np.sort(real[column.name][real[column.name] < column.domain.values]).astype(np.float64)
            is_number = column.type in ("integer", "number") and not column.is_categorical
            if is_number and cells.size >= LEAST_CELLS and cells[0] < cells[-1]:
                law = resolved_column(table, column, max(1.0, total), method.levels_of(schema)).base
                found.setdefault(column.name, []).append(errors(law, cells, column.domain.values, rows))
    return [
        {"table": folder.name, "column": name, "rows": rows, "values": schema.field(name).domain.values}
        | dict(zip(ERRORS, np.mean(own, axis=0).round(5).tolist(), strict=True))
        for name, own in found.items()
    ]


def errors(law: Laws, cells: np.ndarray, values: int, rows: int) -> tuple[float, ...]:
    """Return the errors of one law against the sorted regular cells of a column."""
    order = np.argsort(law.starts)
    is_regular = law.starts[order] < values
    starts, stops = (each[order][is_regular].astype(np.float64) for each in (law.starts, law.stops))
    masses = law.probabilities[order][is_regular]
    ends = np.column_stack((starts, stops)).reshape(-1)
    sums = np.column_stack((np.cumsum(masses) - masses, np.cumsum(masses))).reshape(-1)
    mean, second = (float(masses @ each) / masses.sum() for each in ((starts + stops - 1) / 2, moments(starts, stops)))
    ratio = math.log(max(math.sqrt(max(second - mean**2, 0.0)), 1e-9) / cells.std())
    places, counts = np.unique(cells, return_counts=True)
    below = np.cumsum(counts) / cells.size
    distance = np.abs(np.interp(places + 1, ends, sums) / masses.sum() - below).max()
    median = np.floor(np.interp(sums[-1] / 2, sums, ends))
    under, reached = (float(np.searchsorted(cells, median, side)) / cells.size for side in ("left", "right"))
    rank = 0.0 if under <= 0.5 <= reached else min(abs(under - 0.5), abs(reached - 0.5))
    heavy = counts >= ATOM * rows
    drawn = np.interp(places[heavy] + 1, ends, sums) - np.interp(places[heavy], ends, sums)
    near = np.abs(drawn / (counts[heavy] / rows) - 1) <= NEAR
    is_outside = abs(ratio) > math.log(MOST_RATIO)
    return abs(mean - cells.mean()) / cells.std(), abs(ratio), is_outside, rank, distance, heavy.sum(), near.sum()


def moments(starts: np.ndarray, stops: np.ndarray) -> np.ndarray:
    """Return the second moment of the uniform law on each run of codes."""
    return ((starts + stops - 1) / 2) ** 2 + ((stops - starts) ** 2 - 1) / 12


if __name__ == "__main__":
    main()
