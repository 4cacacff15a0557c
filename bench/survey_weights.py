"""Survey weights: weighted totals of releases with and without the weight named in the schema.

    python bench/survey_weights.py [--runs 4] [--only TABLE ...] [--maximum TABLE=W ...] [-o bench/results]

For each table: a bootstrap of the real rows, independent columns, and rows of Adaptive at (1, 1e-9) by a schema that
does and one that does not name the weight. ``--maximum`` replaces the weight's maximum in the schema, to show what a
tighter public bound buys. It compares with real rows: its output is internal.
"""

import argparse
import csv
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import lapwing as lw
from lapwing.extras.evaluate.metrics.declared import compare_weighted, weighted_figures
from lapwing.extras.evaluate.metrics.metric import bootstrap_rows, independent_columns
from lapwing.extras.evaluate.metrics.tables.variation import compare_with_each
from lapwing.model.compared import choose_tables
from lapwing.rows.source import code_table
from lapwing.schema.schemas import Schema

DATA = Path("/work/shared/data")
WEIGHTS = {"nist-ma2019": "PWGTP", "census-kdd": "instance_weight", "eusilc": "rb050"}
EPSILON, DELTA = 1, 1e-9
COLUMNS = ["table", "maximum", "method", "run", "total", "totals", "shares", "means", "categories", "tv1", "tv2", "tv3"]
COLUMNS += ["seconds"]


def codes_of(data: object, schema: Schema) -> dict[str, np.ndarray]:
    """Return the codes of all modelled columns."""
    parts = list(code_table(data, schema).chunks())
    return {column.name: np.concatenate([part[column.name] for part in parts]) for column in schema.columns}


def with_maximum(schema: Schema, name: str, maximum: float | None) -> Schema:
    """Return a schema with another maximum of one field."""
    if maximum is None:
        return schema
    fields = tuple(replace(field, maximum=maximum) if field.name == name else field for field in schema.fields)
    return replace(schema, fields=fields)


def methods(table: str, schema: Schema, real: dict[str, np.ndarray], run: int) -> Iterator[tuple[str, Any, float]]:
    """Yield the name of each method, the codes of its rows, and the seconds of its release."""
    rng = np.random.default_rng(run)
    yield "bootstrap", bootstrap_rows(real, rng), 0.0
    yield "independent", independent_columns(real, rng), 0.0
    rows = len(next(iter(real.values())))
    for method, asked in (("named", schema), ("unnamed", replace(schema, weight=None))):
        start = time.perf_counter()
        release = lw.synthesize(
            DATA / table / "data.parquet", asked, epsilon=EPSILON, delta=DELTA, mechanism="Adaptive", seed=run
        )
        seconds = time.perf_counter() - start
        yield method, codes_of(release.sample(rows, seed=run), schema), seconds


def lines(table: str, maximum: float | None, runs: int) -> Iterator[dict[str, Any]]:
    """Yield one line of figures per method and run."""
    name = WEIGHTS[table]
    given = replace(Schema.load(DATA / table / "schema.json"), weight=name, privacy_unit=None)
    schema = with_maximum(given, name, maximum)
    real = codes_of(DATA / table / "data.parquet", schema)
    tables = choose_tables(schema, rng=np.random.default_rng(0))
    for run in range(runs):
        for method, codes, seconds in methods(table, schema, real, run):
            found = compare_weighted(real, {"it": codes}, schema)
            assert found is not None
            figures = {each.metric.key: each.values["it"].value for each in weighted_figures(found)}
            listed = [each for each in found.columns if schema.field(each.column).is_categorical]
            distances = compare_with_each(real, {"it": codes}, schema, tables)["it"]
            yield {
                "table": table,
                "maximum": schema.field(name).maximum,
                "method": method,
                "run": run,
                "total": found.totals["it"] / found.total - 1,
                "totals": figures["weighted_total_error"],
                "shares": figures["weighted_variation"],
                "means": figures["weighted_mean_error"],
                "categories": float(np.mean([each.total_error("it") for each in listed])),
                **{f"tv{each.ways}": each.mean for each in distances},
                "seconds": seconds,
            }


def main() -> None:
    """Run, and write one CSV file."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=4)
    parser.add_argument("--only", nargs="+", default=list(WEIGHTS))
    parser.add_argument("--maximum", nargs="*", default=[], metavar="TABLE=W")
    parser.add_argument("-o", "--output", type=Path, default=Path(__file__).parent / "results")
    options = parser.parse_args()
    tighter = {table: float(most) for table, _, most in (each.partition("=") for each in options.maximum)}
    with (options.output / "survey_weights.csv").open("a", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS)
        if not file.tell():
            writer.writeheader()
        for table in options.only:
            for line in lines(table, tighter.get(table), options.runs):
                shown = {key: f"{value:.4g}" if isinstance(value, float) else value for key, value in line.items()}
                writer.writerow(shown)
                file.flush()
                print(*shown.values(), file=sys.stderr)


if __name__ == "__main__":
    main()
