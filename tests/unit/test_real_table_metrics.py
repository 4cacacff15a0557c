"""Metrics of all columns on real tables: every figure is a number, and what ignores all relations is seen."""

import numpy as np
import polars as pl

from lapwing.extras.evaluate.metrics.distances import compare_bounded_lipschitz, compare_densities, compare_wasserstein
from lapwing.extras.evaluate.metrics.metric import bootstrap_rows, independent_columns
from lapwing.extras.evaluate.metrics.moments import compare_moments
from lapwing.rows.source import code_table
from lapwing.schema.schemas import Schema


def compared(path, schema_path, most_rows=None):
    """Return all figures of the reference rows of a table."""
    schema = Schema.load(schema_path)
    parts = list(code_table(pl.read_parquet(path, n_rows=most_rows), schema).chunks())
    real = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    rng = np.random.default_rng(1)
    others = {"bootstrap": bootstrap_rows(real, rng), "independent": independent_columns(real, rng)}
    found = list(compare_moments(real, others, schema, rng=rng))
    found += compare_wasserstein(real, others, schema, rng=rng)
    for compare in (compare_bounded_lipschitz, compare_densities):
        each = compare(real, others, schema, rng=rng)
        found += [each] if each else []
    return {each.metric.key: each for each in found}


def test_adult_rows_without_their_relations_are_farther_than_a_bootstrap(adult_path, adult_schema_path) -> None:
    found = compared(adult_path, adult_schema_path, most_rows=600)

    for key, each in found.items():
        # Shuffling keeps what single columns say, and a kernel as wide as the table hardly sees more.
        if key not in ("marginal_error_1", "kernel_density"):
            assert each.values["independent"].value > each.values["bootstrap"].value, key
    assert len(found) == 13
