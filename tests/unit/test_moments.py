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


def flags(columns):
    field = {"type": "boolean", "constraints": {"required": True}}
    return Schema.from_dict({"fields": [{"name": f"c{place}", **field} for place in range(columns)]})


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


def codes(rows):
    return {f"c{place}": cells for place, cells in enumerate(np.array(rows).T)}


def figures(real, other, schema, seed=0):
    """Return the figures of one other table by key."""
    found = compare_moments(real, {"other": other}, schema, rng=np.random.default_rng(seed))
    return {each.metric.key: each for each in found}


def values(real, other, schema):
    return {key: each.values["other"].value for key, each in figures(real, other, schema).items()}


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


def test_wide_tables_are_compared_on_some_columns(monkeypatch) -> None:
    monkeypatch.setattr(moments, "MOST_COORDINATES", 9)
    monkeypatch.setattr(moments, "MOST_BY_THREES", 4)
    rows = np.random.default_rng(5).integers(0, 2, (40, 12))

    found = figures(codes(rows), codes(rows[:30]), flags(12))

    assert [found[f"marginal_error_{way}"].columns for way in (1, 2, 3)] == [9, 9, 4]
    assert found["moment_bound_2"].columns == 9
    assert found["moment_bound_3"].columns == 4


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
