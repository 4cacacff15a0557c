"""Every mechanism, variant and relation is planned and run: refused alike, and every figure has a unit that it fits."""

import itertools
import math
import re

import numpy as np
import polars as pl
import pytest

import lapwing as lw
from helpers.variants import SCHEMAS, choices, variants
from lapwing.errors import ParameterError
from lapwing.mechanisms.registry import MECHANISMS
from lapwing.model.certificate.statements import UNITS, Statement
from lapwing.model.evidence import views

ROWS = 200
BUDGETS = ({"epsilon": 10**5}, {"rho": "0.01"})
SHARES = re.compile(r"share|total variation|distance between", re.IGNORECASE)
COUNTS = re.compile(r"in records|so many (rows|cells|columns)|number of rows that is told", re.IGNORECASE)


def table(name):
    rng = np.random.default_rng(3)
    flags = {each: rng.random(ROWS) < 0.3 for each in "abcdef"}
    made = flags | {
        "x": rng.random(ROWS) ** 3,
        "y": rng.random(ROWS),
        "kind": rng.choice(["a", "b", None], ROWS),
        "size": rng.choice([-0.5, 0.25, 99], ROWS),
        "age": rng.integers(0, 31, ROWS),
    }
    return pl.DataFrame(made, strict=False).select(field["name"] for field in SCHEMAS[name]["fields"])


def outcome(run):
    """Return what a call gave, or how it was refused."""
    try:
        return run(), None
    except ParameterError as refused:
        return None, refused.code


def check_figure(stated):
    """Check that a figure has a unit, that its words fit it, and that it lies where such figures can."""
    assert isinstance(stated, Statement)
    if stated.value is None:
        return
    assert stated.unit, stated
    assert 0 <= stated.value <= UNITS[stated.unit], stated
    assert math.isfinite(stated.value)
    if COUNTS.search(stated.text):
        assert stated.unit in ("rows", "cells", "columns"), stated
    elif SHARES.search(stated.text):
        assert UNITS[stated.unit] == 1, stated


def check_counts(release):
    """Check that every count lies in its own range, in tables and of conditions."""
    names = [column.name for column in release.schema.columns]
    for columns in (*((name,) for name in names), names[:2]):
        known = release.query(list(columns)).drop_nulls("lower")
        assert known.select(pl.col("count").is_between("lower", "upper").all()).item()
    found = release.accuracy(where={names[0]: {"a": True, "x": lw.between(None, 0.5), "kind": "a"}[names[0]]})
    assert found.lower is None or found.lower <= found.count <= found.upper


def check_rows(release):
    """Check that a noisy number of rows is stated about as near as the best of the sums that were released."""
    stated = release.certificate.rows_within
    sums = [
        (abs(float(table.whole.sum()) - release.model.rows), table.law.sd * math.sqrt(table.whole.size))
        for answer in release.noisy
        for table in views(answer)
        if table.threshold is None
    ]
    if stated is not None and sums:
        off, deviation = min(sums, key=lambda each: each[1])
        assert stated <= off + 4 * deviation + 1


@pytest.mark.parametrize("mechanism", list(variants()), ids=repr)
def test_every_variant_is_planned_and_run_under_every_relation(mechanism):
    met = set()
    for name, relation, budget in itertools.product(SCHEMAS, mechanism.relations, BUDGETS):
        if relation == "add-remove" and "epsilon" in budget:
            continue  # half of all pairs are enough
        settings = {"mechanism": mechanism, "neighbours": relation, **budget}

        planned, refused = outcome(lambda s=settings, n=name: lw.plan(SCHEMAS[n], expected_rows=ROWS, **s))
        release, also = outcome(lambda s=settings, n=name: lw.synthesize(table(n), SCHEMAS[n], seed=1, **s))

        assert refused == also, (name, settings)
        if planned is None or release is None:
            continue
        met.add((relation, "rho" in budget))
        assert planned.total.amount >= release.certificate.total.amount
        for stated in (*planned.accuracy, *release.certificate.accuracy):
            check_figure(stated)
        assert all(each.value is None or each.unit for each in release.accuracy().statements)
        check_counts(release)
        check_rows(release)
    assert met, "no schema and no relation takes this variant"


def test_a_choice_of_a_new_mechanism_is_tried_by_itself():
    tried = list(variants())

    for kind in MECHANISMS.values():
        own = [each for each in tried if type(each) is kind]
        for name, words in choices(kind).items():
            assert {getattr(each, name) for each in own} >= set(words)


def test_a_bound_of_a_share_is_at_most_all_there_is():
    assert Statement("share_kept", 2.2, {"cells": 3}).value == 1.0
    assert Statement("expected_cell_noise", 2.2).figure == "2.2 (rows)"
