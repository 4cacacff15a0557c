"""What it costs to have no schema: ``python bench/no_schema.py tables`` and ``python bench/no_schema.py share``.

    python bench/no_schema.py tables [--only NAME ...] [--runs 2] [-o OUT.csv]
    python bench/no_schema.py share [--only NAME ...] [--runs 2] [--shares 0.1 0.2 0.3] [-o OUT.csv]
    python bench/no_schema.py summary FILE.csv

Each table is released at (1, 1e-9) twice: with its careful schema, and without any. Each row is a privacy unit in both.
Both are read under the careful schema and compared with the real rows: ``singles`` and ``pairs`` are the mean total
variations of all one-way and two-way tables. What that schema does not know, such as the category of unlisted texts,
counts as one more value, and a column that was left out as missing everywhere. ``left_out`` counts such columns.

``invented`` is the number of listed categories that are not in the data; ``beyond`` the part of the numbers and dates
that lie outside those of the data, and ``outside`` outside the bounds that were learned; ``broken`` the number of
columns of whole numbers that got others. The output is internal: it is computed from real rows.
"""

import argparse
import csv
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
from adaptive import commit

import lapwing as lw
from lapwing.api.schemaless import read_schemaless, release_schemaless
from lapwing.extras.evaluate.metrics.tables.variation import compare_tables
from lapwing.model.compared import choose_tables
from lapwing.release.release import Release
from lapwing.release.runs.learned.schemaless import SHARE
from lapwing.release.runs.records import RunRecords
from lapwing.rows.source import all_codes, code_table
from lapwing.schema.schemas import Schema

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"
RESULTS = Path(__file__).parent / "results"
CHOOSING = ("adult", "nyc-airbnb", "letter")
TABLES = (
    *("adult", "nyc-airbnb", "letter", "bank-marketing", "magic", "houston-crime", "salary-pgm"),
    *("nist-ma2019", "bn-alarm", "rhc-icu", "dpbench-2d", "icu-physionet2012", "nltcs"),
)
SCHEMA = "schema"

Line = dict[str, object]


def main() -> None:
    """Run one of the three."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("tables", "share", "summary"))
    parser.add_argument("file", nargs="?", type=Path)
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--shares", nargs="+", default=["0.1", "0.2", "0.3"])
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("-o", "--output", type=Path)
    chosen = parser.parse_args()
    if chosen.what == "summary":
        summarise(chosen.file)
    elif chosen.what == "tables":
        output = chosen.output or RESULTS / "no_schema.csv"
        write_lines(output, releases(chosen.only or TABLES, [SCHEMA, str(float(SHARE))], chosen.runs))
    else:
        output = chosen.output or RESULTS / "no_schema_share.csv"
        write_lines(output, releases(chosen.only or CHOOSING, [SCHEMA, *chosen.shares], chosen.runs))


def releases(tables: Iterable[str], shares: list[str], runs: int) -> Iterator[Line]:
    """Yield one line per release."""
    for name in tables:
        data = SHARED / name / "data.parquet"
        careful = replace(Schema.load(SHARED / name / "schema.json"), privacy_unit=None)
        real = all_codes(code_table(data, careful), careful)
        ways = choose_tables(careful, ways=(1, 2), rng=np.random.default_rng(0))
        for share in shares:
            for seed in range(1, runs + 1):
                began = time.monotonic()
                release = released(data, careful, share, seed)
                rows = pl.concat(list(release.frames()))
                seconds = time.monotonic() - began
                absent = [each.name for each in careful.columns if each.name not in rows.columns]
                filled = rows.with_columns(pl.lit(None, dtype=pl.String).alias(each) for each in absent)
                one, two = compare_tables(real, all_codes(code_table(filled, careful), careful), careful, ways)
                yield {
                    "table": name, "rows": len(rows), "columns": len(careful.columns), "share": share, "seed": seed,
                    "left_out": len(absent), "singles": one.mean, "pairs": two.mean,
                    **made_up(pl.read_parquet(data), rows, release.schema), "seconds": round(seconds),
                    "commit": commit(),
                }  # fmt: skip


def released(data: Path, careful: Schema, share: str, seed: int) -> Release:
    """Return a release under the careful schema, or without one, of which a share of the budget learns."""
    if share == SCHEMA:
        return lw.synthesize(data, careful, epsilon=1, delta="1e-9", seed=seed)
    settings = read_schemaless(
        data, epsilon=1, delta="1e-9", rho=None, neighbours="add-remove", expected_rows=None, seed=seed,
        transcript=None, share=Fraction(share),
    )  # fmt: skip
    return release_schemaless(data, settings, RunRecords())


def made_up(real: pl.DataFrame, rows: pl.DataFrame, schema: Schema) -> Line:
    """Return how much of the rows is not in the data, or is not what the schema allows."""
    invented = broken = 0
    beyond, outside = [], []
    for field in schema.columns:
        had, got = real[field.name].drop_nulls(), rows[field.name].drop_nulls()
        if field.is_categorical:
            listed = set(got.cast(pl.String).unique()) - {field.unlisted}
            known = set(had.cast(pl.String).unique())
            known |= {text.lower() for text in known if text.lower() in ("true", "false")}  # as they are read
            invented += len(listed - known)
            continue
        low, high = had.min(), had.max()
        beyond.append(float((~got.is_between(low, high)).mean() or 0.0) if len(got) else 0.0)
        if field.type in ("integer", "number"):
            outside.append(float((~got.is_between(field.minimum, field.maximum)).mean() or 0.0) if len(got) else 0.0)
            whole = had.cast(pl.Float64)
            broken += bool((whole == whole.round()).all() and not (got == got.round()).all())
    return {"invented": invented, "beyond": mean(beyond), "outside": mean(outside), "broken": broken}


def mean(found: list[float]) -> float:
    """Return a mean; 0 of nothing."""
    return sum(found) / len(found) if found else 0.0


def write_lines(path: Path, lines: Iterable[Line]) -> None:
    """Write lines as they come."""
    path.parent.mkdir(parents=True, exist_ok=True)
    writer = None
    with path.open("w", newline="") as file:
        for line in lines:
            if writer is None:
                writer = csv.DictWriter(file, list(line))
                writer.writeheader()
            writer.writerow({key: f"{value:.4g}" if isinstance(value, float) else value for key, value in line.items()})
            file.flush()


def summarise(path: Path) -> None:
    """Print means over runs, and the ratio of the pairs' error to that with the careful schema."""
    keys, figures = ["table", "share"], ["left_out", "singles", "pairs", "invented", "beyond", "outside", "broken"]
    found = pl.read_csv(path, schema_overrides={"share": pl.String}).group_by(keys, maintain_order=True)
    means = found.agg(pl.col("rows", "columns", "seconds", *figures).mean())
    careful = means.filter(pl.col("share") == SCHEMA).select("table", careful="pairs")
    shown = means.join(careful, on="table", how="left").with_columns(ratio=pl.col("pairs") / pl.col("careful"))
    with pl.Config(tbl_rows=-1, tbl_cols=-1, tbl_width_chars=200, float_precision=4):
        sys.stdout.write(f"{shown.drop('careful')}\n")


if __name__ == "__main__":
    main()
