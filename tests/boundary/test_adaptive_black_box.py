"""Black box: how far releases of Adaptive tell two neighbours apart, as far as runs alone can certify.

Only a second net: record and replay looks at exact losses, and single questions have a black box of their own. The
planted bugs say how much it catches; of a whole release at epsilon 2, noise for a row where a person has three (six
times too little) shows after 1500 runs, half the noise not.
"""

import itertools

import numpy as np
import polars as pl
import pytest

from helpers.peeking import rows_behind
from lapwing.audit.black_box import certified_loss
from lapwing.budget.budget import Budget
from lapwing.curator.room import Room
from lapwing.mechanisms import adaptive
from lapwing.mechanisms.adaptive import Adaptive
from lapwing.noise.bits import SystemBits
from lapwing.release.noise_law import Sensitivity
from lapwing.release.questions import MarginalCounts
from lapwing.release.select_worst import SelectWorst
from lapwing.release.terms import Terms
from lapwing.release.transcript import NoTranscript
from lapwing.sample.marginals import marginal
from lapwing.schema.groupings import identity
from lapwing.schema.schemas import Schema
from lapwing.table.source import code_table

FEW_RELEASES = 150
MANY_RELEASES = 4_000


def schema_of(max_rows):
    fields = [
        {"name": "person", "type": "string", "role": "identifier"},
        {"name": "a", "type": "boolean", "constraints": {"required": True}},
        {"name": "b", "type": "boolean", "constraints": {"required": True}},
    ]
    return Schema.from_dict({"fields": fields, "privacyUnit": {"field": "person", "maxRows": max_rows}})


def neighbours(relation, max_rows):
    """Return two tables; one person has all rows that a person may have, in the same cell."""
    others = [(f"p{i}", bool(i % 2), bool(i % 2)) for i in range(12)]
    other = [] if relation == "add-remove" else [("one", False, False)] * max_rows
    tables = ([*others, *[("one", True, True)] * max_rows], [*others, *other])
    return [
        code_table(pl.DataFrame(rows, schema=["person", "a", "b"], orient="row"), schema_of(max_rows))
        for rows in tables
    ]


def seen_of_release(source, terms, budget, number):
    """Return what a release shows: the number of rows, and counts of true values."""
    schema = schema_of(terms.max_rows)
    room = Room(source, schema, terms, budget, bits=SystemBits(), sink=NoTranscript())
    model = Adaptive.small().run(room, schema, budget, np.random.default_rng(number))
    one, other, both = (true_count(model, schema, names) for names in (("a",), ("b",), ("a", "b")))
    return [model.rows, one, other, both, one + other]


def true_count(model, schema, names):
    """Return in how many rows of a released model all of some booleans are true."""
    groupings = tuple(identity(schema.field(name).domain) for name in names)
    return float(marginal(model, names, groupings)[(1,) * len(names)])


def loss_of_releases(epsilon, runs, relation="replace-one", max_rows=3):
    """Return the certified loss of whole releases."""
    terms, sources = Terms(relation=relation, max_rows=max_rows), neighbours(relation, max_rows)
    budget, numbers = Budget.pure(epsilon), itertools.count()
    return certified_loss(
        *(np.array([seen_of_release(source, terms, budget, next(numbers)) for _ in range(runs)]) for source in sources)
    )


@pytest.mark.parametrize("epsilon", [2, 40])
def test_releases_lose_no_more_than_they_claim(epsilon):
    assert loss_of_releases(epsilon, FEW_RELEASES) <= epsilon


def test_releases_with_the_true_number_of_rows_are_certified(monkeypatch):
    honest = adaptive.ask_columns

    def ask(curator, *rest):
        tables, _ = honest(curator, *rest)
        return tables, float(rows_behind(curator).rows)

    monkeypatch.setattr(adaptive, "ask_columns", ask)

    assert loss_of_releases(1, FEW_RELEASES, "add-remove", 1) > 1


@pytest.mark.full
@pytest.mark.parametrize("epsilon", [2, 40])
def test_many_releases_lose_no_more_than_they_claim(epsilon):
    assert loss_of_releases(epsilon, MANY_RELEASES) <= epsilon


@pytest.mark.full
def test_releases_calibrated_to_a_row_and_not_a_person_are_certified(monkeypatch):
    for kind in (MarginalCounts, SelectWorst):
        monkeypatch.setattr(kind, "sensitivity", lambda self, relation, max_rows: Sensitivity(1, 1))

    assert loss_of_releases(2, MANY_RELEASES) > 2
