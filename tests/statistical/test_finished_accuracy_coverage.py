"""Stated bounds miss as seldom as stated where rules and public tables moved much after the mechanism had run."""

from collections.abc import Callable

import numpy as np
import polars as pl
import pytest
from scipy.stats import binom, wasserstein_distance

import lapwing as lw
from lapwing.model.laws import Laws
from lapwing.model.model import Indexed, Spans

FALSE_ALARMS = 1e-9
REQUIRED = {"required": True}
KINDS = ["a", "b", "c"]
ROWS = 400
CODES = np.random.default_rng(5).integers(3, size=ROWS)
PAIRS = pl.DataFrame({"kind": np.array(KINDS)[CODES], "flag": (CODES + np.arange(ROWS)) % 2 == 1})
LINE = pl.DataFrame({"x": np.random.default_rng(5).beta(2, 5, 5000)})
NEVER = {"never": {"kind": "c", "flag": True}}
ELSEWHERE = {
    "columns": ["kind"],
    "cells": [["a", 200], ["b", 50], ["c", 50]],
    "source": "another town",
    "provenance": "public",
}
NOT_LOW = {"never": {"x": {"maximum": 0.1}}}
LEFT = {
    "columns": ["x"],
    "cells": [["..0.3", 4400], [{"minimum": 0.31}, 600]],
    "complete": True,
    "source": "another town",
    "provenance": "public",
}


def schema_of(table: pl.DataFrame, is_ruled: bool, is_total: bool) -> dict:
    """Return the schema of a table with a rule that its rows break, with totals that are others, or with both."""
    if table is PAIRS:
        fields = [
            {"name": "kind", "type": "string", "categories": KINDS, "constraints": REQUIRED},
            {"name": "flag", "type": "boolean", "constraints": REQUIRED},
        ]
        rule, total = NEVER, ELSEWHERE
    else:
        fields = [{"name": "x", "type": "number", "constraints": {"minimum": 0, "maximum": 1} | REQUIRED}]
        rule, total = NOT_LOW, LEFT
    return {"fields": fields, "rules": [rule] * is_ruled, "publicTables": [total] * is_total}


def released_counts(release: lw.Release) -> np.ndarray:
    """Return the released counts of kinds and flags."""
    return release.query(["kind", "flag"]).sort("kind", "flag")["count"].to_numpy()


CELLS = [(kind, flag) for kind in KINDS for flag in (False, True)]
TRUE = np.array([PAIRS.filter((pl.col("kind") == kind) & (pl.col("flag") == flag)).height for kind, flag in CELLS])


def certified_misses(schema: dict, seed: int) -> bool:
    """Tell whether a share of a kind and a flag is further off than is certified."""
    mechanism = lw.LinearStatistics(points=200)
    release = lw.synthesize(PAIRS, schema, epsilon=20, mechanism=mechanism, seed=seed)
    counts = released_counts(release)
    (bound,) = [each.value for each in release.certificate.accuracy if each.code == "certified_error"]
    return bool(np.abs(counts / counts.sum() - TRUE / ROWS).max() > bound + 1e-9)


def count_misses(schema: dict, seed: int) -> bool:
    """Tell whether a count of kinds is further off than is stated, or outside of its interval."""
    release = lw.synthesize(PAIRS, schema, epsilon=2, mechanism="Independent", seed=seed)
    counts = released_counts(release).reshape(3, 2).sum(axis=1)
    bound = release.accuracy("kind", confidence=0.95).largest_error
    return bool(np.abs(counts - TRUE.reshape(3, 2).sum(axis=1)).max() > bound + 1e-6)


def distance_misses(schema: dict, seed: int) -> bool:
    """Tell whether the released law is further off than is stated."""
    release = lw.synthesize(LINE, schema, epsilon=1, mechanism="PSMM", seed=seed)
    law, weights = release.model.laws["x"], release.model.weights / release.model.weights.sum()
    if isinstance(law, Indexed):
        weights = np.bincount(law.index, weights, law.laws.count)[law.laws.law_of_piece] * law.laws.probabilities
        law = law.laws
    assert isinstance(law, Laws | Spans)
    places = (law.starts.astype(np.float64) + law.stops) / 2 / release.schema.field("x").domain.values
    (bound,) = [each.value for each in release.certificate.accuracy if each.code == "distance"]
    return bool(wasserstein_distance(LINE["x"], places, v_weights=weights) > bound)


@pytest.mark.parametrize("runs", [20, pytest.param(300, marks=pytest.mark.full)])
@pytest.mark.parametrize(("is_ruled", "is_total"), [(True, False), (False, True)], ids=["rule", "total"])
@pytest.mark.parametrize(
    ("misses", "table"),
    [(certified_misses, PAIRS), (count_misses, PAIRS), (distance_misses, LINE)],
    ids=["LinearStatistics", "Independent", "PSMM"],
)
def test_bounds_hold_for_what_is_released_as_often_as_stated(
    misses: Callable[[dict, int], bool], table: pl.DataFrame, is_ruled: bool, is_total: bool, runs: int
) -> None:
    schema = schema_of(table, is_ruled, is_total)
    missed = sum(misses(schema, seed) for seed in range(runs))
    assert missed <= binom.isf(FALSE_ALARMS, runs, 0.05)
