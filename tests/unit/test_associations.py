"""Strength of dependence of pairs of columns, and differences of correlations: what they say, and of what."""

import numpy as np
import pytest

from lapwing.extras.evaluate.metrics import associations
from lapwing.extras.evaluate.metrics.associations import compare_associations, compare_correlations
from lapwing.maths.associations import strength
from lapwing.schema.schemas import Schema

AGE = {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 99}, "special": [-1, -2]}
WIDE = {"name": "wide", "type": "number", "constraints": {"minimum": 0, "maximum": 1}}
CITY = {"name": "city", "type": "string", "categories": [f"c{place}" for place in range(40)]}
FLAG = {"name": "flag", "type": "boolean"}
SPECIAL, OTHER_SPECIAL, MISSING = 100, 101, 102


def schema_of(*fields):
    return Schema.from_dict({"fields": list(fields)})


def strength_of(fields, *columns):
    """Return the strength of dependence of the first two columns of one table."""
    codes = {field["name"]: np.asarray(column) for field, column in zip(fields, columns, strict=True)}
    found = compare_associations(codes, {}, schema_of(*fields), rng=np.random.default_rng(0))
    return found.matrices["real"][0, 1]


def differences(schema, real, other):
    found = compare_correlations(real, {"synthetic": other}, schema, rng=np.random.default_rng(0))
    return {each.metric.key: each.values["synthetic"].value for each in found}


def test_two_normal_columns_have_the_size_of_their_correlation() -> None:
    rng = np.random.default_rng(1)
    first, noise = rng.normal(size=(2, 100_000))

    for correlation in (0.0, -0.5, 0.9):
        second = correlation * first + np.sqrt(1 - correlation**2) * noise
        codes = [np.clip((each + 6) / 12 * 2**32, 0, 2**32 - 1).astype(np.int64) for each in (first, second)]
        # Sixteen parts of each lose at most 0.03 of a correlation of 0.9; chance makes 0.015 of none.
        assert strength_of([WIDE, WIDE | {"name": "more"}], *codes) == pytest.approx(abs(correlation), abs=0.04)


def test_a_column_that_another_tells_has_strength_1_whatever_their_types() -> None:
    city = np.random.default_rng(1).integers(16, size=4000)

    assert strength_of([CITY, AGE], city, 5 * city) == 1
    assert strength_of([CITY, FLAG], city, city // 3 % 2) == pytest.approx(1)
    assert strength_of([AGE, FLAG], 5 * city, city // 8) == pytest.approx(1)


def test_a_shape_that_no_correlation_sees_is_seen() -> None:
    age = np.random.default_rng(1).integers(100, size=20_000)
    table = {"age": age, "wide": (np.abs(age - 49.5) * 2**25).astype(np.int64)}

    correlations = differences(schema_of(AGE, WIDE), table, {"age": age, "wide": np.roll(table["wide"], 7)})

    assert correlations["correlation_difference"] < 0.02
    assert correlations["association_difference"] > 0.9


def test_missing_and_special_cells_are_values_like_any_other() -> None:
    flag = np.arange(10_000) % 2
    age = np.random.default_rng(1).integers(100, size=10_000)

    assert strength_of([AGE, FLAG], np.where(flag, MISSING, age), flag) == pytest.approx(1)
    assert strength_of([AGE, FLAG], np.where(flag, SPECIAL, OTHER_SPECIAL), flag) != 1  # special values share a cell
    assert strength_of([AGE, FLAG], np.where(flag, SPECIAL, MISSING), flag) == pytest.approx(1)


def test_a_constant_column_has_no_strength_and_counts_as_none_in_a_difference() -> None:
    flag = np.arange(100) % 2
    table, constant = {"flag": flag, "twin": flag}, {"flag": flag, "twin": np.zeros(100, dtype=int)}
    schema = schema_of(FLAG, FLAG | {"name": "twin"})

    found = compare_associations(table, {"synthetic": constant}, schema, rng=np.random.default_rng(0))

    assert np.isnan(found.matrices["synthetic"][0, 1])
    assert found.matrices["real"].tolist() == [[1, 1], [1, 1]]
    assert set(differences(schema, table, constant).values()) == {1.0}
    assert set(differences(schema, constant, constant).values()) == {0.0}


def test_equal_tables_are_at_0_and_reversed_columns_at_2() -> None:
    rng = np.random.default_rng(1)
    age = rng.integers(100, size=500)
    real = {"age": age, "more": age}

    schema = schema_of(AGE, AGE | {"name": "more"})
    found = differences(schema, real, {"age": age, "more": 99 - age})

    assert set(differences(schema, real, real).values()) == {0.0}
    assert found["correlation_difference"] == pytest.approx(2)
    assert found["rank_correlation_difference"] == pytest.approx(2)
    # Parts hold equal numbers of the real rows, and almost equal ones of the reversed rows.
    assert found["association_difference"] == pytest.approx(0, abs=0.01)


def test_one_column_has_no_pair() -> None:
    table = {"age": np.arange(9)}

    assert compare_associations(table, {"synthetic": table}, schema_of(AGE), rng=np.random.default_rng(0)) is None
    assert differences(schema_of(AGE), table, table) == {}


@pytest.mark.parametrize("rows", [1, 2, 7])
def test_few_rows_and_missing_columns_have_figures_in_range(rows: int) -> None:
    schema = schema_of(AGE, WIDE, CITY, FLAG)
    rng = np.random.default_rng(rows)
    real = {column.name: rng.integers(column.domain.size, size=rows) for column in schema.columns}
    other = {column.name: np.full(3, column.domain.last) for column in schema.columns}

    found = compare_correlations(real, {"synthetic": other, "bootstrap": real}, schema, rng=rng)

    for each in found:
        assert 0 <= each.values["synthetic"].value <= 1
        assert each.values["bootstrap"].value == 0


def test_sampled_rows_say_how_many_and_how_far_off(monkeypatch) -> None:
    rng = np.random.default_rng(1)
    age = rng.integers(100, size=40_000)
    real = {"age": age, "more": np.clip(age + rng.integers(-20, 20, size=40_000), 0, 99)}
    other = {"age": age, "more": rng.permutation(real["more"])}
    schema = schema_of(AGE, AGE | {"name": "more"})
    exact = differences(schema, real, other)
    monkeypatch.setattr(associations, "MOST_ROWS", 2000)

    found = compare_correlations(real, {"synthetic": other}, schema, rng=np.random.default_rng(0))

    for each in found:
        estimate = each.values["synthetic"]
        assert each.rows == 2000
        # A strength near 0 is the root of a corrected information that is near 0: 2000 rows leave it uncertain.
        assert 0 < estimate.standard_error < 0.1
        assert estimate.value == pytest.approx(exact[each.metric.key], abs=4 * estimate.standard_error + 0.01)


def test_two_values_each_have_the_closed_form() -> None:
    # Of 1000 rows, cells 0.4, 0.1, 0.1, 0.4: I = log 2 - H(0.2), less one cell's bias of 1/2000.
    information = np.log(2) + 0.2 * np.log(0.2) + 0.8 * np.log(0.8) - 1 / 2000

    found = strength(np.array([[400.0, 100.0], [100.0, 400.0]]))

    assert found == pytest.approx(np.sqrt((1 - np.exp(-2 * information)) / (1 - 0.25)), abs=1e-12)
