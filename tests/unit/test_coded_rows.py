"""Rows as vectors: Booleans as they are, places, indicators, gaps; all in the unit ball when scaled."""

import numpy as np
import pytest

from lapwing.judge.moments import MOST_CATEGORIES, coded_rows, coordinates
from lapwing.schema.schemas import Schema

FLAG = {"name": "c", "type": "boolean", "constraints": {"required": True}}
MAYBE = {"name": "c", "type": "boolean"}
AGE = {"name": "c", "type": "integer", "constraints": {"minimum": 10, "maximum": 14}, "special": [-1]}
HEIGHT = {"name": "c", "type": "number", "constraints": {"minimum": 0, "maximum": 3, "required": True}}
SEX = {"name": "c", "type": "string", "categories": ["f", "m"], "constraints": {"required": True}}
SIDE = {"name": "c", "type": "string", "categories": ["l", "m", "r"], "constraints": {"required": True}}
ONLY = {"name": "c", "type": "string", "categories": ["x"]}
MANY = {"name": "c", "type": "string", "categories": [f"v{n}" for n in range(100)]}


def vectors(field, codes):
    return coded_rows({"c": np.array(codes)}, Schema.from_dict({"fields": [field]}).columns).tolist()


@pytest.mark.parametrize(
    ("field", "codes", "expected"),
    [
        (FLAG, [0, 1], [[0], [1]]),
        (MAYBE, [0, 1, 2], [[0, 0], [1, 0], [0, 1]]),
        (SEX, [0, 1], [[0], [1]]),
        (SIDE, [0, 2, 3], [[1, 0, 0], [0, 0, 1], [0, 0, 0]]),  # the last is a misfit
        (AGE, [0, 1, 4, 5, 6], [[0, 0], [0.25, 0], [1, 0], [0, 1], [0, 1]]),
        (HEIGHT, [0, 2**32 - 1, 2**32], [[0], [1], [0]]),
        (ONLY, [0, 1], [[1, 0], [0, 1]]),
    ],
)
def test_a_column_has_the_coordinates_of_its_kind(field: dict, codes: list, expected: list) -> None:
    assert vectors(field, codes) == expected


def test_columns_of_many_categories_share_coordinates_in_runs() -> None:
    found = np.array(vectors(MANY, range(101)))

    assert found.shape == (101, MOST_CATEGORIES + 1)
    assert (found.sum(axis=1) == 1).all()
    assert set(found[:100].sum(axis=0).tolist()) == {0, 3, 4}
    assert (np.diff(found[:100].argmax(axis=1)) >= 0).all()
    assert found[100, -1] == 1


@pytest.mark.parametrize("field", [FLAG, MAYBE, AGE, HEIGHT, SEX, SIDE, ONLY, MANY])
def test_every_column_adds_at_most_one_to_the_squared_length(field: dict) -> None:
    domain = Schema.from_dict({"fields": [field]}).columns[0].domain
    codes = np.unique(np.linspace(0, domain.size - 1, 300).astype(np.int64))

    found = np.array(vectors(field, codes))

    assert found.shape[1] == coordinates(domain)
    assert found.min() >= 0
    assert np.square(found).sum(axis=1).max() <= 1


def test_columns_stand_side_by_side_in_their_order() -> None:
    fields = [dict(SIDE, name="a"), dict(FLAG, name="b"), dict(MAYBE, name="d")]
    codes = {"a": np.array([1], np.uint8), "b": np.array([1], np.uint8), "d": np.array([2], np.uint8)}

    found = coded_rows(codes, Schema.from_dict({"fields": fields}).columns)

    assert found.tolist() == [[0, 1, 0, 1, 0, 1]]
