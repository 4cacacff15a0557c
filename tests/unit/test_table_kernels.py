"""MMD between coded tables: where cells lie, which columns count, exact and estimated."""

import math

import numpy as np
import pytest

from lapwing.judge import distances as table_kernels
from lapwing.judge.distances import compare_kernels
from lapwing.judge.samples import mmd
from lapwing.schema.schemas import Schema

AGE = {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 4}, "special": [-1]}
HEIGHT = {"name": "height", "type": "number", "constraints": {"minimum": 0, "maximum": 3, "required": True}}
SEX = {"name": "sex", "type": "string", "categories": ["f", "m", "x"]}


def distance(fields, real, other, seed=1):
    """Return what two tables, a list of codes for each column, are found to be apart."""
    names = [field["name"] for field in fields]
    tables = [{name: np.array(codes) for name, codes in zip(names, table, strict=True)} for table in (real, other)]
    rng = np.random.default_rng(seed)
    return compare_kernels(tables[0], {"other": tables[1]}, Schema.from_dict({"fields": fields}), rng=rng)


@pytest.mark.parametrize(
    ("code", "other", "squared"),
    [
        (0, 4, 1.0),
        (1, 2, 1 / 16),
        (0, 5, 1.25),  # a special value is one length from the middle
        (2, 6, 1.0),  # and so is missing
        (5, 6, 0.0),
    ],
)
def test_cells_lie_on_a_line_of_length_1_or_apart_from_it(code: int, other: int, squared: float) -> None:
    found = distance([AGE], [[code]], [[other]])

    assert found.columns == 1
    assert found.values["other"].value == pytest.approx(math.sqrt(2 - 2 * math.exp(-3 * squared)), abs=1e-9)
    assert found.values["other"].standard_error == 0


def test_real_columns_have_length_1_and_misfits_lie_apart() -> None:
    first, last, misfit = 0, 2**32 - 1, 2**32

    ends = distance([HEIGHT], [[first]], [[last]]).values["other"].value
    apart = distance([HEIGHT], [[first]], [[misfit]]).values["other"].value

    assert ends == pytest.approx(math.sqrt(2 - 2 * math.exp(-3)), abs=1e-9)
    assert apart == pytest.approx(math.sqrt(2 - 2 * math.exp(-3.75)), abs=1e-9)


def test_columns_are_compared_together_and_the_kernel_widens_with_their_number() -> None:
    found = distance([AGE, HEIGHT, SEX], [[0, 4], [0, 2**32 - 1], [0, 0]], [[0, 4], [2**32 - 1, 0], [0, 0]])

    square = [[0.0, 0.0], [1.0, 1.0]], [[0.0, 1.0], [1.0, 0.0]]
    assert found.columns == 2
    assert found.values["other"].value == pytest.approx(mmd(*square, gamma=1.5), abs=1e-9)


def test_a_table_without_order_has_no_distance() -> None:
    assert distance([SEX], [[0, 1]], [[1, 1]]) is None


def test_large_tables_are_estimated_near_the_exact_distance(monkeypatch) -> None:
    rng = np.random.default_rng(1)
    real, other = [rng.integers(0, 7, 300), rng.integers(0, 2**32, 300)], [rng.integers(2, 6, 400)] * 2
    exact = distance([AGE, HEIGHT], real, other).values["other"]

    monkeypatch.setattr(table_kernels, "EXACT", 399)
    found = distance([AGE, HEIGHT], real, other).values["other"]

    assert 0 < found.standard_error < 0.1 * exact.value
    # Four standard errors: one seed in ten thousand would fail.
    assert found.value == pytest.approx(exact.value, abs=4 * found.standard_error)
    assert found.value != exact.value


def test_of_very_large_tables_some_rows_are_compared(monkeypatch) -> None:
    rng = np.random.default_rng(2)
    real, other = [rng.integers(0, 7, 3000)], [rng.integers(0, 3, 3000)]
    whole = distance([AGE], real, other).values["other"].value

    monkeypatch.setattr(table_kernels, "MOST_ROWS", 1000)
    found = distance([AGE], real, other).values["other"].value

    assert found != whole
    assert found == pytest.approx(whole, rel=0.1)
