"""People with an identifier in one table and none in its neighbour: what is shown, and what they can change."""

import numpy as np
import polars as pl
import pytest

from lapwing.kernel.room.opening import public_terms
from lapwing.rows.source import code_table
from lapwing.schema.groupings.grouping import identity
from lapwing.schema.schemas import Schema

ROUNDS = 200


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

    for one, other in pairs(max_rows)[:40]:
        terms = [public_terms(code_table(each, schema), schema, relation, None) for each in (one, other)]
        assert terms[0] == terms[1]


def test_where_the_schema_promises_identifiers_the_number_of_units_is_shown_and_would_tell_of_a_broken_promise():
    schema = schema_of(1, required=True)

    shown = [
        [public_terms(code_table(each, schema), schema, "replace-one", None).rows for each in two] for two in pairs(1)
    ]

    assert {abs(one - other) for one, other in shown} == {0, 1}


def most_change(max_rows, two_tables):
    """Return the largest L1 norm and squared L2 norm by which counts of used rows differ between two tables."""
    schema = schema_of(max_rows, required=False)
    table = (("x", identity(schema.field("x").domain)),)
    counts = [[code_table(each, schema).count([table])[0] for each in two] for two in two_tables]
    changes = np.array([one - other for one, other in counts])
    return int(np.abs(changes).sum(axis=1).max()), int((changes**2).sum(axis=1).max())


@pytest.mark.parametrize("max_rows", [1, 3])
def test_a_person_who_gains_or_loses_an_identifier_is_a_unit_that_goes_and_one_that_is_replaced(max_rows):
    most_l1, most_l2 = most_change(max_rows, pairs(max_rows))

    assert most_l1 == 3 * max_rows
    assert 2 * max_rows**2 < most_l2 <= 5 * max_rows**2


def losses(max_rows, keeps_some):
    """Return pairs of tables of the same rows, of which a person's have a name in the one and lose it in the other."""
    rng = np.random.default_rng(max_rows)
    for number in range(ROUNDS):
        own = [row for _ in range(2) for row in person(rng, f"p{number}", 2 * max_rows, 2)]
        others = person(rng, None, 2 * max_rows, 2)
        loses = rng.integers(2, size=len(own)) == 1 if keeps_some else np.ones(len(own), dtype=bool)
        lost = [(None if lost else name, x) for (name, x), lost in zip(own, loses, strict=True)]
        tables = [[*own, *others], [*lost, *others]]
        yield [pl.DataFrame(rows, schema={"who": pl.String, "x": pl.Int64}, orient="row") for rows in tables]


@pytest.mark.parametrize(("keeps_some", "l1", "l2"), [(False, 3, 5), (True, 4, 8)], ids=["all rows", "some rows"])
def test_the_same_rows_with_and_without_a_name_cost_what_the_proof_says_and_no_less(keeps_some, l1, l2):
    assert most_change(1, losses(1, keeps_some)) == (l1, l2)

    of_three = most_change(3, losses(3, keeps_some))
    assert of_three[0] <= l1 * 3
    assert of_three[1] <= l2 * 3**2
