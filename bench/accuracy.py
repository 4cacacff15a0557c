"""Bounds of `release.accuracy` beside the true errors, and the time that they take.

    python bench/accuracy.py ../shared/data/adult/adult.parquet ../shared/data/adult/adult.schema.json --epsilon 1

Looks at the table itself, so what it prints is internal. Prints, over the measured tables of a few releases: how many
there are, the median bound and the median true error of counts (largest over the cells) and of distances, the mean
noise of a cell as predicted and the mean error of a released cell, and seconds.
"""

import argparse
import time

import numpy as np
import polars as pl

import lapwing as lw
from lapwing.mechanisms.registry import make_mechanism
from lapwing.model.model import ReleasedModel, Spans
from lapwing.release.accuracy import counts_of, measured_tables
from lapwing.rows.source import code_table
from lapwing.schema.schemas import Schema


def exact_model(data: pl.DataFrame, schema: Schema) -> ReleasedModel:
    """Return the model that is the table itself, but for misfits."""
    chunks = list(code_table(data, schema).chunks())
    codes = {field.name: np.concatenate([chunk[field.name] for chunk in chunks]) for field in schema.columns}
    codes = {name: each.astype(np.int64) for name, each in codes.items()}
    rows = next(iter(codes.values())).size
    laws = {name: Spans(each, each + 1) for name, each in codes.items()}
    return ReleasedModel(weights=np.ones(rows), rows=rows, laws=laws)


def settings() -> argparse.Namespace:
    """Return what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data")
    parser.add_argument("schema")
    parser.add_argument("--mechanism", default="Adaptive")
    parser.add_argument("--set", action="append", default=[], metavar="key=value")
    parser.add_argument("--columns", help="comma-separated; all by default")
    parser.add_argument("--epsilon", default="1")
    parser.add_argument("--releases", type=int, default=3)
    return parser.parse_args()


def main() -> None:
    """Run the bench."""
    asked = settings()
    mechanism = make_mechanism(asked.mechanism, dict(each.split("=", 1) for each in asked.set))
    schema = Schema.load(asked.schema)
    if asked.columns:
        kept = asked.columns.split(",")
        schema = Schema.from_dict({"fields": [each for each in schema.to_dict()["fields"] if each["name"] in kept]})
    data = pl.read_parquet(asked.data).select(field.name for field in schema.fields)
    exact, found, seconds = exact_model(data, schema), [], []

    for seed in range(asked.releases):
        release = lw.synthesize(data, schema, epsilon=asked.epsilon, mechanism=mechanism, seed=seed)
        start = time.perf_counter()
        stated = {(each.columns, each.level, each.cells): each for each in release.accuracy().marginals}
        seconds.append(time.perf_counter() - start)
        for table in measured_tables(release.noisy, schema):
            bound = stated.get((table.table.columns, table.table.level, table.sums.cells))
            counts, true = (counts_of(table.table, each, schema) for each in (release.model, exact))
            if bound is None or counts is None or true is None:
                continue
            shares = abs(counts / counts.sum() - true / true.sum()).sum() / 2
            errors, law = abs(counts - true), table.table.law
            found.append((bound.largest_error, errors.max(), bound.variation, shares, law.mean_absolute, errors.mean()))

    titles = (
        "bound of counts",
        "error of counts",
        "bound of distance",
        "distance",
        "noise of a cell",
        "error of a cell",
    )
    print(f"{len(found) / asked.releases:.0f} measured tables a release, {np.mean(seconds):.2f} s")
    for title, values in zip(titles, np.array(found).T, strict=True):
        print(f"{title:>18}: median {np.median(values):.4g}, mean {values.mean():.4g}, largest {values.max():.4g}")


if __name__ == "__main__":
    main()
