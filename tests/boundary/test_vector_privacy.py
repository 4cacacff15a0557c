"""Record and replay of all questions about vectors, and of the mechanism that asks them."""

import itertools

import numpy as np
import pytest

from helpers.audits import under_one_relation_each
from helpers.vector_runs import FORMS, AskingVectors
from lapwing.extras.audit.pairs import neighbour_pair
from lapwing.extras.audit.replay import audit_pair
from lapwing.mechanisms.vectors.microaggregation.mechanism import Microaggregation
from mechanism_checks import run, settings_for

EVERY = AskingVectors()
LEARNING = AskingVectors(("products", "rows"), learns=True)

MECHANISMS = {
    "default": Microaggregation(),
    "one cell": Microaggregation(directions=0),
    "cells": Microaggregation(directions=2, bins=3, intervals=3, damping=2),
    "means of numbers": Microaggregation(numbers="means", directions=1, bins=4),
    "not calibrated": Microaggregation(directions=1, bins=2, intervals=2, calibrate=False, fit_moments=False),
}


INSIDE = {
    "ball": Microaggregation(convex_set="ball", directions=1, bins=3),
    "simplex": Microaggregation(convex_set="simplex", directions=1, bins=2),
    "convex set of one's own": Microaggregation(convex_set=lambda points: points.clip(-0.5, 0.5), directions=1, bins=2),
}


def is_any(schema):
    return True


def is_required(schema):
    """Tell whether no column has categories, missing or special values."""
    return {column.name for column in schema.columns} <= {"flag", "age", "day"}


def is_of_numbers(schema):
    """Tell whether all columns are numbers or dates that are never missing, as a ball needs them."""
    return {column.name for column in schema.columns} <= {"age", "day"}


def audited(mechanism, relation, max_rows, pairs, *, suits=is_any):
    """Return the broken promises over generated pairs of neighbours whose schema suits; the first must be released."""
    rng = np.random.default_rng([max_rows, len(relation), pairs])
    drawn = (neighbour_pair(rng, relation, max_rows) for _ in itertools.count())
    suiting = itertools.islice((pair for pair in drawn if suits(pair.schema)), pairs)
    flagged = []
    for number, pair in enumerate(suiting):
        times = int(rng.choice([1, 10, 1000]))
        settings = settings_for(mechanism, pair.schema, relation, pure=number % 2 == 0, times=times)
        if number == 0:
            run(settings, pair.data)
        flagged += audit_pair(pair.data, pair.neighbour, settings)
    return flagged


@pytest.mark.parametrize("max_rows", [1, 3])
@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
@pytest.mark.parametrize("mechanism", [EVERY, LEARNING], ids=["every form", "learned cells"])
def test_no_pair_is_flagged(mechanism, relation, max_rows):
    assert audited(mechanism, relation, max_rows, pairs=4) == []


@pytest.mark.full
@pytest.mark.parametrize("max_rows", [1, 3])
@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
@pytest.mark.parametrize("mechanism", [EVERY, LEARNING], ids=["every form", "learned cells"])
def test_none_of_many_pairs_is_flagged(mechanism, relation, max_rows):
    assert audited(mechanism, relation, max_rows, pairs=400) == []


@pytest.mark.full
@pytest.mark.parametrize("max_rows", [1, 3])
@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
@pytest.mark.parametrize("form", FORMS)
def test_no_pair_is_flagged_where_one_form_has_the_whole_budget(form, relation, max_rows):
    assert audited(AskingVectors((form,)), relation, max_rows, pairs=100) == []


@pytest.mark.parametrize(("mechanism", "relation"), under_one_relation_each(MECHANISMS))
def test_no_pair_is_flagged_under_other_settings(mechanism, relation):
    flagged = [flag for max_rows in (1, 3) for flag in audited(mechanism, relation, max_rows, pairs=2)]

    assert flagged == []


@pytest.mark.parametrize(("mechanism", "relation"), under_one_relation_each(INSIDE))
def test_no_pair_is_flagged_in_other_convex_sets(mechanism, relation):
    suits = is_of_numbers if mechanism.convex_set == "ball" else is_required

    flagged = [flag for rows in (1, 3) for flag in audited(mechanism, relation, rows, pairs=2, suits=suits)]

    assert flagged == []


@pytest.mark.parametrize("pairs", [6, pytest.param(400, marks=pytest.mark.full)])
@pytest.mark.parametrize(
    "mechanism",
    [Microaggregation(variant="paper"), Microaggregation(variant="paper", damping=1, numbers="means")],
    ids=["paper", "paper with means of numbers"],
)
def test_no_pair_is_flagged_with_the_paper_s_constants(mechanism, pairs):
    rng, flagged = np.random.default_rng(pairs), []

    for _ in range(pairs):
        pair = neighbour_pair(rng, "replace-one", 1)
        settings = settings_for(mechanism, pair.schema, "replace-one", pure=True, times=int(rng.choice([1, 1000])))
        flagged += audit_pair(pair.data, pair.neighbour, settings)

    assert flagged == []
