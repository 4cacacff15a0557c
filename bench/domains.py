"""What learned domains cover: ``python bench/domains.py coverage``; bench/no_schema.py says what they cost.

    python bench/domains.py coverage [--only NAME ...] [--epsilon 0.05 0.1 0.3 1 3] [--rows 1000 3000 10000 30000]
        [--runs 3] [-o OUT.csv]
    python bench/domains.py summary FILE.csv

All bounds, lists and hierarchies of a table's own schema are removed (types, identifiers, special and missing values
and the privacy unit stay); the budget is (ε, 1e-9).

``coverage``: all of the budget learns, from so many rows drawn without replacement (0: all). One line per column:
``covered`` is the part of its rows with a value that lie inside the bounds or have a listed text, ``width`` the length
of the bounds over the range of the values; ``categories`` are listed of ``true`` that occur. The output is internal: it
is computed from real rows.
"""

import argparse
import csv
import itertools
import json
import sys
from collections.abc import Iterable, Iterator
from datetime import date, datetime
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl

import lapwing as lw
from lapwing.schema.fields import Field
from lapwing.schema.schemas import Schema

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"
RESULTS = Path(__file__).parent / "results"
TABLES = ("adult", "nyc-airbnb", "diabetes130", "nhanes")
DELTA = Fraction(1, 10**9)
REMOVED = ("categories", "categoriesOrdered", "hierarchy", "unlisted", "resolution", "scale")

COVERED = ("covered", "width", "minimum", "maximum", "categories", "true")

Line = dict[str, object]


def main() -> None:
    """Run one of the two."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("coverage", "summary"))
    parser.add_argument("file", nargs="?", type=Path)
    parser.add_argument("--only", nargs="*", default=TABLES)
    parser.add_argument("--epsilon", nargs="+")
    parser.add_argument("--rows", nargs="+", type=int, default=[0])
    parser.add_argument("--runs", type=int)
    parser.add_argument("-o", "--output", type=Path)
    chosen = parser.parse_args()
    if chosen.what == "summary":
        summarise(chosen.file)
        return
    output = chosen.output or RESULTS / "domains_coverage.csv"
    epsilons = chosen.epsilon or ["0.05", "0.1", "0.3", "1", "3"]
    lines = coverages(chosen.only, epsilons, chosen.rows, chosen.runs or 3)
    write_lines(output, lines)


def coverages(tables: Iterable[str], epsilons: list[str], sizes: list[int], runs: int) -> Iterator[Line]:
    """Yield one line per column, run, size and budget."""
    for name in tables:
        rows = pl.read_parquet(SHARED / name / "data.parquet")
        public = Schema.load(SHARED / name / "schema.json")
        for size, epsilon, run in itertools.product(sizes, epsilons, range(runs)):
            if size > len(rows):
                continue
            data = rows.sample(size, seed=run) if size else rows
            learned = lw.Schema.learn(data, blanked(public), epsilon=Fraction(epsilon), delta=DELTA)
            for field in learned.columns:
                head = {"table": name, "rows": len(data), "epsilon": epsilon, "run": run, "column": field.name}
                yield head | {"type": field.type} | coverage(data[field.name], field)


def coverage(values: pl.Series, field: Field) -> Line:
    """Return how much of a column a learned field covers."""
    values = values.drop_nulls()
    if field.blank:
        return {"found": 0, "covered": 0.0}
    if field.categories is not None:
        listed = [text for text in field.categories if text != field.unlisted]
        covered = values.cast(pl.String).is_in(listed).mean()
        return {"found": 1, "covered": covered, "categories": len(listed), "true": values.n_unique()}
    numbers = [number(value) for value in values if value not in field.special]
    low, high = number(field.minimum), number(field.maximum) + (86399 if field.type == "datetime" else 0)
    column = np.array(numbers, dtype=np.float64)
    column = column[np.isfinite(column)]
    span = float(np.ptp(column))
    width = (high - low) / span if span else None
    covered = float(((column >= low) & (column <= high)).mean())
    return {"found": 1, "covered": covered, "width": width, "minimum": field.minimum, "maximum": field.maximum}


def number(value: object) -> float:
    """Return a number or a moment, in seconds, as a float."""
    if isinstance(value, str):
        value = datetime.fromisoformat(value)
    if isinstance(value, date):
        day = value if isinstance(value, datetime) else datetime(value.year, value.month, value.day)
        return (day - datetime(1970, 1, 1)).total_seconds()
    return float(value)


def blanked(public: Schema) -> dict:
    """Return a draft without bounds, lists and hierarchies."""
    values = public.to_dict() | {"draft": True}
    values["fields"] = [dict(each) for each in values["fields"]]
    for each in values["fields"]:
        if each.get("role") == "identifier":
            continue
        kept = {"required": True} if each.get("constraints", {}).get("required") else {}
        for key in (*REMOVED, "constraints"):
            each.pop(key, None)
        each.update({"constraints": kept} if kept else {})
    return json.loads(json.dumps(values))


def write_lines(path: Path, lines: Iterable[Line]) -> None:
    """Write lines as they come."""
    path.parent.mkdir(parents=True, exist_ok=True)
    names = None
    with path.open("w", newline="") as file:
        for line in lines:
            if names is None:
                names = [*dict.fromkeys((*line, *COVERED))] if "column" in line else list(line)
                writer = csv.DictWriter(file, names)
                writer.writeheader()
            writer.writerow({key: f"{value:.4g}" if isinstance(value, float) else value for key, value in line.items()})
            file.flush()


def summarise(path: Path) -> None:
    """Print means over runs, by table, rows, ε and kind of column."""
    rows = pl.read_csv(path, infer_schema_length=None)
    kind = pl.when(pl.col("type") == "string").then(pl.lit("lists")).otherwise(pl.lit("bounds")).alias("kind")
    width = pl.col("width").median()
    found = rows.group_by("table", "rows", "epsilon", kind, maintain_order=True).agg(
        pl.col("found", "covered").mean(), width
    )
    with pl.Config(tbl_rows=-1, tbl_cols=-1, float_precision=4):
        sys.stdout.write(f"{found}\n")


if __name__ == "__main__":
    main()
