"""Distances of coded tables over all ordered columns: closed forms, samples of rows and columns, odd tables."""

import math

import numpy as np
import pytest

from lapwing.extras.evaluate.metrics import distances
from lapwing.extras.evaluate.metrics.distances import (
    compare_bounded_lipschitz,
    compare_densities,
    compare_kernels,
    compare_wasserstein,
)
from lapwing.extras.evaluate.metrics.samples import mmd
from lapwing.schema.schemas import Schema

AGE = {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 4}, "special": [-1]}
HEIGHT = {"name": "height", "type": "number", "constraints": {"minimum": 0, "maximum": 3, "required": True}}
SEX = {"name": "sex", "type": "string", "categories": ["f", "m", "x"]}
# Sums of a few floats of size 1.
ROUNDED = 1e-12


def schema_of(*fields):
    return Schema.from_dict({"fields": list(fields)})


def numbers(columns):
    field = {"type": "integer", "constraints": {"minimum": 0, "maximum": 100, "required": True}}
    return schema_of(*({"name": f"c{place}", **field} for place in range(columns)))


def codes(rows):
    return {f"c{place}": cells for place, cells in enumerate(np.array(rows).T)}


def compared(real, other, schema, seed=0):
    """Return every figure of one other table by key."""
    others, rng = {"other": other}, np.random.default_rng(seed)
    found = [compare(real, others, schema, rng=rng) for compare in (compare_bounded_lipschitz, compare_densities)]
    found += compare_wasserstein(real, others, schema, rng=rng)
    return {each.metric.key: each for each in found if each is not None}


def figures(real, other, schema, seed=0):
    return {key: each.values["other"].value for key, each in compared(real, other, schema, seed).items()}


def test_two_rows_are_as_far_apart_as_their_columns_say() -> None:
    found = figures(codes([[0, 0]]), codes([[30, 40]]), numbers(2))

    assert found["wasserstein_linf"] == pytest.approx(0.4, abs=ROUNDED)
    assert found["wasserstein_l2"] == found["bounded_lipschitz"] == pytest.approx(0.5, abs=ROUNDED)
    # The mean length of the projection of a vector of 0.5 on a direction of the plane is 0.5 * 2 / pi; 64 directions.
    assert found["wasserstein_sliced"] == pytest.approx(1 / math.pi, abs=4 * 0.16 / 8)


def test_the_densities_of_two_points_are_compared_on_a_grid() -> None:
    # 22 steps along each of two axes: both points lie on it, where the difference is largest.
    found = figures(codes([[0, 0]]), codes([[100, 100]]), numbers(2))

    assert found["kernel_density"] == pytest.approx(1 - math.exp(-1.5 * 2), abs=ROUNDED)


@pytest.mark.parametrize(
    ("code", "other", "length"),
    [
        (0, 4, 1.0),
        (1, 2, 0.25),
        (2, 6, 1.0),  # missing lies one length from the middle
        (0, 5, math.hypot(0.5, 1)),  # and so does a special value
        (5, 6, 0.0),
    ],
)
def test_missing_cells_lie_apart_as_for_the_other_kernel(code: int, other: int, length: float) -> None:
    found = figures({"age": np.array([code])}, {"age": np.array([other])}, schema_of(AGE))

    assert found["wasserstein_l2"] == pytest.approx(length, abs=ROUNDED)
    assert found["wasserstein_linf"] == pytest.approx(min(length, 1), abs=ROUNDED)
    kernel = distance([AGE], [[code]], [[other]]).values["other"].value
    assert kernel == pytest.approx(math.sqrt(2 - 2 * math.exp(-3 * length**2)), abs=1e-9)


def test_a_bounded_function_sees_far_rows_no_farther_than_2() -> None:
    found = figures(codes([[0] * 9, [0] * 9]), codes([[100] * 9, [0] * 9]), numbers(9))

    assert found["wasserstein_l2"] == pytest.approx(3 / 2, abs=ROUNDED)
    assert found["bounded_lipschitz"] == pytest.approx(2 / 2, abs=ROUNDED)


def test_equal_small_tables_are_at_distance_0_in_any_order() -> None:
    rows = np.random.default_rng(1).integers(0, 101, (300, 3))

    found = compared(codes(rows), codes(rows[::-1]), numbers(3))

    assert max(each.values["other"].value for each in found.values()) < ROUNDED
    assert {each.rows for each in found.values()} == {None}
    assert found["wasserstein_l2"].values["other"].standard_error == 0
    assert found["kernel_density"].values["other"].standard_error == 0


def test_large_tables_are_sampled_and_say_so(monkeypatch) -> None:
    monkeypatch.setattr(distances, "DENSITY_ROWS", 400)
    monkeypatch.setattr(distances, "SLICED_ROWS", 500)
    monkeypatch.setattr(distances, "ASSIGNED", 50)
    rng = np.random.default_rng(3)
    real, other = codes(rng.integers(0, 101, (3000, 2))), codes(rng.integers(0, 61, (3000, 2)))

    found = compared(real, other, numbers(2))

    assert {key: each.rows for key, each in found.items()} == {
        "bounded_lipschitz": 50,
        "kernel_density": 400,
        "wasserstein_linf": 50,
        "wasserstein_l2": 50,
        "wasserstein_sliced": 500,
    }
    assert all(each.values["other"].standard_error > 0 for each in found.values())


@pytest.mark.parametrize("is_other_small", [False, True])
def test_the_standard_error_of_densities_is_the_spread_over_samples(is_other_small: bool, monkeypatch) -> None:
    rng = np.random.default_rng(4)
    real, other = codes(rng.integers(0, 101, (20_000, 1))), codes(rng.integers(0, 61, (20_000, 1)))
    if is_other_small:
        other = {"c0": other["c0"][:300]}
    monkeypatch.setattr(distances, "DENSITY_ROWS", 400)

    found = [
        compare_densities(real, {"other": other}, numbers(1), rng=np.random.default_rng(seed)) for seed in range(150)
    ]

    estimates = [each.values["other"] for each in found]
    spread = np.std([each.value for each in estimates])
    assert np.mean([each.standard_error for each in estimates]) == pytest.approx(spread, rel=0.25)


def test_of_many_columns_some_are_compared() -> None:
    rng = np.random.default_rng(5)
    real, other = codes(rng.integers(0, 101, (40, 500))), codes(rng.integers(0, 61, (30, 500)))

    found = compared(real, other, numbers(500))

    assert {each.columns for each in found.values()} == {distances.MOST_COLUMNS}
    assert all(each.values["other"].value > 0 for each in found.values())


def test_a_table_without_order_has_no_distance() -> None:
    table = {"sex": np.array([0, 1])}

    assert compared(table, table, schema_of(SEX)) == {}
    assert compare_kernels(table, {"other": table}, schema_of(SEX), rng=np.random.default_rng(0)) is None


@pytest.mark.parametrize("code", [0, -2, -1])
@pytest.mark.parametrize(("rows", "others"), [(1, 1), (1, 4), (1200, 2)])
def test_constant_columns_are_at_distance_0(code: int, rows: int, others: int) -> None:
    schema = schema_of(AGE, HEIGHT, SEX)

    def table(size):
        return {
            column.name: np.full(size, range(column.domain.size)[code], dtype=column.domain.dtype)
            for column in schema.columns
        }

    found = figures(table(rows), table(others), schema)

    assert len(found) == 5
    assert max(found.values()) < ROUNDED


def distance(fields, real, other, seed=1):
    """Return what two tables, a list of codes for each column, are found to be apart."""
    names = [field["name"] for field in fields]
    tables = [{name: np.array(codes) for name, codes in zip(names, table, strict=True)} for table in (real, other)]
    rng = np.random.default_rng(seed)
    return compare_kernels(tables[0], {"other": tables[1]}, Schema.from_dict({"fields": fields}), rng=rng)


def test_columns_are_compared_together_and_the_kernel_widens_with_their_number() -> None:
    found = distance([AGE, HEIGHT, SEX], [[0, 4], [0, 2**32 - 1], [0, 0]], [[0, 4], [2**32 - 1, 0], [0, 0]])

    square = [[0.0, 0.0], [1.0, 1.0]], [[0.0, 1.0], [1.0, 0.0]]
    assert found.columns == 2
    assert found.values["other"].value == pytest.approx(mmd(*square, gamma=1.5), abs=1e-9)


def test_large_tables_are_estimated_near_the_exact_distance(monkeypatch) -> None:
    rng = np.random.default_rng(1)
    real, other = [rng.integers(0, 7, 300), rng.integers(0, 2**32, 300)], [rng.integers(2, 6, 400)] * 2
    exact = distance([AGE, HEIGHT], real, other).values["other"]

    monkeypatch.setattr(distances, "EXACT", 399)
    found = distance([AGE, HEIGHT], real, other).values["other"]

    assert 0 < found.standard_error < 0.1 * exact.value
    # Four standard errors: one seed in ten thousand would fail.
    assert found.value == pytest.approx(exact.value, abs=4 * found.standard_error)
    assert found.value != exact.value
