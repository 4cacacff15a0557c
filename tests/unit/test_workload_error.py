"""AIM's workload error: what the workload is, weights, and the error of a sample of its tables."""

import itertools

import numpy as np
import pytest

from lapwing.extras.evaluate.metrics.tables.variation import Variation, compare_tables
from lapwing.extras.evaluate.metrics.tables.workload import compare_workloads, workload_error
from lapwing.model.compared import choose_tables
from lapwing.schema.schemas import Schema

FLAGS = Schema.from_dict({"fields": [{"name": name, "type": "boolean"} for name in "abcd"]})
# Means of a few numbers of size 1.
ROUNDED = 1e-12


def variation(ways, distances, possible=None):
    """Return distances of as many tables of columns 0, 1, 2, ..."""
    names = map(str, range(12))
    tables = tuple(itertools.islice(itertools.combinations(names, ways), len(distances)))
    return Variation(
        ways=ways, possible=possible or len(tables), tables=tables, distances=np.array(distances, dtype=float)
    )


def compared(real, other):
    """Return what two lists of rows of four flags are found to be apart."""
    tables = choose_tables(FLAGS, rng=np.random.default_rng(0))
    codes = [dict(zip("abcd", np.array(rows).T, strict=True)) for rows in (real, other)]
    return compare_workloads({"synthetic": compare_tables(*codes, FLAGS, tables)})


def test_equal_tables_have_no_error_and_tables_without_a_common_cell_have_two() -> None:
    rows, opposite = [[0, 1, 0, 1], [0, 0, 0, 1]], [[1, 0, 1, 0]]

    equal, disjoint = compared(rows, rows[::-1]), compared(rows, opposite)

    assert equal is not None
    assert disjoint is not None
    assert equal.values["synthetic"].value == equal.metric.best == 0
    assert disjoint.values["synthetic"].value == 2
    assert (disjoint.columns, disjoint.rows) == (4, None)


def test_with_fewer_columns_the_widest_tables_are_the_workload() -> None:
    found = compare_workloads({"synthetic": [variation(1, [0.5, 0.5]), variation(2, [0.25])]})

    assert found is not None
    assert found.values["synthetic"].value == 0.5
    assert found.columns == 2


def test_the_error_is_twice_the_mean_distance() -> None:
    assert workload_error(variation(2, [0.1, 0.2, 0.6])).value == pytest.approx(0.6, abs=ROUNDED)


def test_the_standard_error_is_the_spread_of_means_over_samples_of_tables() -> None:
    rng = np.random.default_rng(1)
    everything = rng.beta(2, 5, size=200)
    drawn = [rng.choice(everything, 80, replace=False) for _ in range(3000)]

    found = [workload_error(variation(3, each, possible=200)) for each in drawn]

    # Both sides vary by 1.3 % over so many samples of 80.
    spread = np.std([each.value for each in found])
    assert np.mean([each.standard_error for each in found]) == pytest.approx(spread, rel=0.06)


def test_all_tables_have_no_standard_error_and_one_of_many_has_the_largest_there_is() -> None:
    assert workload_error(variation(3, [0.1, 0.9])).standard_error == 0
    assert workload_error(variation(3, [0.1], possible=100)).standard_error == pytest.approx(0.995, abs=1e-3)
