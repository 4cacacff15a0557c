"""Means, standard deviations and medians of the numeric columns of rows that `all_tables.py` made.

    python bench/all_tables.py --epsilon 1 --delta 1e-9 --rows-to DIR
    python bench/number_errors.py NAME=DIR ... [--epsilon 1] [-o bench/results/number_errors.csv]

One CSV line per column of numbers: rows, whether the domain has more than 512 values, and for each NAME the error of
the mean in real standard deviations, the ratio of the standard deviations, and the error of the median in rank. Only
cells within the bounds of the schema are compared, special values left out; columns that the schema does not model,
and those with fewer than 50 such cells or a single value, are left out. Printed: for each NAME the mean error, the
share of columns whose ratio is outside 1/1.5 to 1.5, and the mean error in rank, of wide and of narrow columns. The
output is internal: it compares with real rows.
"""

import argparse
import csv
import sys
from pathlib import Path

import numpy as np
import polars as pl

from lapwing.rows.source import code_table
from lapwing.schema.schemas import Schema

HERE = Path(__file__).resolve().parent
SHARED = HERE.parents[1] / "shared" / "data"
NARROW, LEAST_CELLS, MOST_RATIO = 512, 50, 1.5
Line = dict[str, object]


def main() -> None:
    """Compare every table that all folders have."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", metavar="NAME=DIR")
    parser.add_argument("--epsilon", default="1")
    parser.add_argument("-o", "--output", type=Path, default=HERE / "results" / "number_errors.csv")
    chosen = parser.parse_args()
    folders = {
        name: Path(folder) / chosen.epsilon for name, _, folder in (each.partition("=") for each in chosen.folders)
    }
    tables = set.intersection(*({path.stem for path in folder.glob("*.parquet")} for folder in folders.values()))
    lines = [line for table in sorted(tables) for line in compared(table, folders)]
    with chosen.output.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(lines[0]))
        writer.writeheader()
        writer.writerows(lines)
    for kind in ("wide", "narrow"):
        own = [line for line in lines if line["kind"] == kind]
        for name in folders:
            means, ratios, ranks = (
                np.array([line[f"{name}_{key}"] for line in own]) for key in ("mean", "ratio", "rank")
            )
            outside = np.mean((ratios > MOST_RATIO) | (ratios < 1 / MOST_RATIO))
            sys.stdout.write(
                f"{kind} ({len(own)}) {name}: mean {np.abs(means).mean():.3f} sd, median column "
                f"{np.median(np.abs(means)):.3f}; ratio outside {outside:.3f}; rank {ranks.mean():.4f}\n"
            )


def compared(table: str, folders: dict[str, Path]) -> list[Line]:
    """Return a line for each column of numbers of one table."""
    schema = Schema.load(SHARED / table / "schema.json")
    numbers = [each for each in schema.columns if each.type in ("integer", "number") and not each.is_categorical]
    real = coded(SHARED / table / "data.parquet", schema)
    others = {name: coded(folder / f"{table}.parquet", schema) for name, folder in folders.items()}
    lines: list[Line] = []
    for column in numbers:
        values = column.domain.values
        cells = real[column.name][real[column.name] < values].astype(np.float64)
        if cells.size < LEAST_CELLS or cells.std() == 0:
            continue
        line: Line = {"table": table, "column": column.name, "rows": real[column.name].size}
        line["kind"] = "wide" if values > NARROW else "narrow"
        for name, other in others.items():
            drawn = other[column.name][other[column.name] < values].astype(np.float64)
            line |= {f"{name}_{key}": round(each, 5) for key, each in errors(cells, drawn).items()}
        lines.append(line)
    return lines


def errors(real: np.ndarray, drawn: np.ndarray) -> dict[str, float]:
    """Return the error of the mean, the ratio of the deviations, and the error of the median in rank."""
    if not drawn.size:
        return {"mean": float("inf"), "ratio": 0.0, "rank": 0.5}
    middle = np.median(drawn)
    below, reached = float((real < middle).mean()), float((real <= middle).mean())
    rank = 0.0 if below <= 0.5 <= reached else min(abs(below - 0.5), abs(reached - 0.5))
    mean = float((drawn.mean() - real.mean()) / real.std())
    return {"mean": mean, "ratio": float(drawn.std() / real.std()), "rank": rank}


def coded(path: Path, schema: Schema) -> dict[str, np.ndarray]:
    """Return all rows as codes."""
    chunks = list(code_table(pl.read_parquet(path), schema).chunks())
    return {name: np.concatenate([chunk[name] for chunk in chunks]) for name in chunks[0]}


if __name__ == "__main__":
    main()
