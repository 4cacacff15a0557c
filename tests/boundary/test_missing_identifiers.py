"""People with an identifier in one table and none in its neighbour: what is shown, and what they can change."""

import numpy as np
import polars as pl
import pytest

from lapwing.curator.opening import public_terms
from lapwing.schema.groupings import identity
from lapwing.schema.schemas import Schema
from lapwing.table.source import code_table

ROUNDS = 500


def schema_of(max_rows, required):
    fields = [
        {"name": "who", "type": "string", "role": "identifier", "constraints": {"required": required}},
        {"name": "x", "type": "integer", "constraints": {"minimum": 0, "maximum": 39}},
    ]
    return Schema.from_dict({"fields": fields, "privacyUnit": {"field": "who", "maxRows": max_rows}})


def person(rng, name, most, values):
    """Return the rows of a person, under a name or under none."""
    return [(name, int(rng.integers(values))) for _ in range(rng.integers((most + 1) // 2, most + 1))]


def pair(rng, most):
    """Return two tables of as many people, of which one is another person: with a name here, with none there."""
    values = int(rng.choice([2, 40]))  # few, so that rows meet in a cell, or many, so that they don't
    named = [row for number in range(rng.integers(4)) for row in person(rng, f"p{number}", most, values)]
    nameless = [row for _ in range(rng.integers(4)) for row in person(rng, None, most, values)]
    both = [[*named, *nameless, *person(rng, name, most, values)] for name in ("changed", None)]
    return [pl.DataFrame(rows, schema={"who": pl.String, "x": pl.Int64}, orient="row") for rows in both]


def pairs(max_rows):
    rng = np.random.default_rng(max_rows)
    return [pair(rng, 2 * max_rows) for _ in range(ROUNDS)]


@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
@pytest.mark.parametrize("max_rows", [1, 3])
def test_no_public_number_tells_whether_somebody_has_an_identifier(max_rows, relation):
    schema = schema_of(max_rows, required=False)

    for one, other in pairs(max_rows)[:80]:
        terms = [public_terms(code_table(each, schema), schema, relation, None) for each in (one, other)]
        assert terms[0] == terms[1]


def test_where_the_schema_promises_identifiers_the_number_of_units_is_shown_and_would_tell_of_a_broken_promise():
    schema = schema_of(1, required=True)

    shown = [
        [public_terms(code_table(each, schema), schema, "replace-one", None).rows for each in two] for two in pairs(1)
    ]

    assert {abs(one - other) for one, other in shown} == {0, 1}


@pytest.mark.parametrize("max_rows", [1, 3])
def test_a_person_who_gains_or_loses_an_identifier_is_at_most_two_replaced_units(max_rows):
    schema = schema_of(max_rows, required=False)
    table = (("x", identity(schema.field("x").domain)),)
    most_l1 = most_l2 = 0

    for two in pairs(max_rows):
        one, other = (code_table(each, schema).count([table])[0] for each in two)
        most_l1 = max(most_l1, int(np.abs(one - other).sum()))
        most_l2 = max(most_l2, int(((one - other) ** 2).sum()))

    assert most_l1 == 3 * max_rows
    assert 2 * max_rows**2 < most_l2 <= 5 * max_rows**2
