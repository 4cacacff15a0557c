"""AIM's workload error: what the workload is, weights, and the error of a sample of its tables."""

import numpy as np

from lapwing.extras.evaluate.metrics.tables.variation import compare_tables
from lapwing.extras.evaluate.metrics.tables.workload import compare_workloads
from lapwing.model.compared import choose_tables
from lapwing.schema.schemas import Schema

FLAGS = Schema.from_dict({"fields": [{"name": name, "type": "boolean"} for name in "abcd"]})


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
