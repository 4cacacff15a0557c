"""Rows as vectors; marginals and moments: closed forms, the bound of averages, samples of rows and columns."""

import numpy as np
import pytest

from lapwing.extras.evaluate.metrics import moments
from lapwing.extras.evaluate.metrics.moments import coded_rows, compare_moments, coordinates
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


@pytest.mark.parametrize("field", [FLAG, MAYBE, AGE, HEIGHT, SEX, SIDE, ONLY, MANY])
def test_every_column_adds_at_most_one_to_the_squared_length(field: dict) -> None:
    domain = Schema.from_dict({"fields": [field]}).columns[0].domain
    codes = np.unique(np.linspace(0, domain.size - 1, 300).astype(np.int64))

    found = np.array(vectors(field, codes))

    assert found.shape[1] == coordinates(domain)
    assert found.min() >= 0
    assert np.square(found).sum(axis=1).max() <= 1


# Sums of a few thousand numbers of size 1, divided by their number.
ROUNDED = 1e-12


def flags(columns):
    field = {"type": "boolean", "constraints": {"required": True}}
    return Schema.from_dict({"fields": [{"name": f"c{place}", **field} for place in range(columns)]})


def codes(rows):
    return {f"c{place}": cells for place, cells in enumerate(np.array(rows).T)}


def figures(real, other, schema, seed=0):
    """Return the figures of one other table by key."""
    found = compare_moments(real, {"other": other}, schema, rng=np.random.default_rng(seed))
    return {each.metric.key: each for each in found}


def values(real, other, schema):
    return {key: each.values["other"].value for key, each in figures(real, other, schema).items()}


def test_samples_of_rows_are_right_within_their_standard_error(monkeypatch) -> None:
    rng = np.random.default_rng(3)
    real = (rng.random((8000, 5)) < 0.3).astype(int)
    other = np.where(rng.random((8000, 1)) < 0.4, real[:, [0]], real) | (rng.random((8000, 5)) < 0.2)
    whole = figures(codes(real), codes(other), flags(5))

    monkeypatch.setattr(moments, "MOST_ROWS", 2000)
    some = figures(codes(real), codes(other), flags(5))

    for key, exact in whole.items():
        found, expected = some[key].values["other"], exact.values["other"]
        assert (exact.rows, expected.standard_error) == (None, 0)
        assert some[key].rows == 2000
        assert 0 < found.standard_error < 0.2 * expected.value
        # Four standard errors, which eight blocks know to a quarter.
        assert found.value == pytest.approx(expected.value, abs=5 * found.standard_error)
        assert found.value != expected.value


MIXED = Schema.from_dict(
    {
        "fields": [
            {"name": "real", "type": "number", "constraints": {"minimum": 0, "maximum": 1}},
            {"name": "flag", "type": "boolean"},
            {"name": "place", "type": "string", "categories": [f"p{n}" for n in range(400)]},
            {"name": "only", "type": "string", "categories": ["x"]},
        ]
    }
)


@pytest.mark.parametrize("code", ["first", "last regular", "last"])
@pytest.mark.parametrize(("rows", "others"), [(1, 1), (1, 3), (20_000, 2)])
def test_odd_tables_have_finite_figures(code: str, rows: int, others: int) -> None:
    def table(size):
        places = {"first": 0, "last regular": -2, "last": -1}
        return {
            column.name: np.full(size, range(column.domain.size)[places[code]], dtype=column.domain.dtype)
            for column in MIXED.columns
        }

    found = values(table(rows), table(others), MIXED)

    assert max(found.values()) < ROUNDED
    assert len(found) == 8
