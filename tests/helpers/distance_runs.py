"""Bought evaluations for tests: small public tables under any schema, record and replay over generated neighbours."""

import itertools
from fractions import Fraction

import numpy as np

from lapwing.api.bought_settings import BoughtSettings
from lapwing.audit.pairs import neighbour_pair
from lapwing.audit.replay import audit_pair
from lapwing.budget.budget import read_request
from lapwing.evaluate.public_tables import public_tables
from lapwing.schema.schemas import Schema


def synthetic_codes(schema, rng, rows):
    """Return codes of random rows, missing, special and misfit ones among them."""
    return {
        column.name: rng.integers(0, column.domain.values + column.domain.reserved, rows) for column in schema.columns
    }


def bought_settings(schema, relation, *, pure=True, times=1, expected_rows=None, rows=6, ways=(1, 2, 3), seed=11):
    """Return settings at a budget of one, or several times that, against a few random public rows."""
    schema, rng = Schema.load(schema), np.random.default_rng(seed)
    return BoughtSettings(
        schema=schema,
        request=read_request(epsilon=times) if pure else read_request(rho=Fraction(times, 2)),
        relation=relation,
        expected_rows=expected_rows,
        seed=seed,
        compared=public_tables(synthetic_codes(schema, rng, rows), schema, ways=ways, rng=rng),
    )


def flags_of_evaluations(
    *, pairs, relations=("add-remove", "replace-one"), rows_per_unit=(1, 3), until_flagged=False, **settings
):
    """Return the flags over so many generated pairs of each relation, unit and notion."""
    rng, flagged = np.random.default_rng(pairs), []
    for number, relation, max_rows, pure in itertools.product(range(pairs), relations, rows_per_unit, (True, False)):
        pair = neighbour_pair(rng, relation, max_rows)
        given = {"times": int(rng.choice([1, 10, 1000])), "expected_rows": [None, 20][number % 2]} | settings
        asked = bought_settings(pair.schema, relation, pure=pure, seed=int(rng.integers(99)), **given)
        flagged += audit_pair(pair.data, pair.neighbour, asked)
        if flagged and until_flagged:
            break
    return flagged
