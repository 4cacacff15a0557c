"""Accuracy within groups of rows: which groups there are, what is compared in them, and which are too small."""

import numpy as np
import pytest

from lapwing.errors import ParameterError
from lapwing.extras.evaluate.metrics.prediction.subgroups import compare_subgroups
from lapwing.schema.schemas import Schema

SEX = {"name": "sex", "type": "string", "categories": ["f", "m"]}
FLAG = {"name": "flag", "type": "boolean"}


def compared(schema, real, other, columns, **others):
    tables = {"synthetic": other, **others}
    return compare_subgroups(real, tables, schema, columns, rng=np.random.default_rng(0))


def two(sex, flag):
    """Return a table of two columns."""
    return {"sex": np.asarray(sex), "flag": np.asarray(flag)}


SEX_AND_FLAG = Schema.from_dict({"fields": [SEX, FLAG]})


def test_an_error_in_one_group_is_found_there_only() -> None:
    real = two(np.repeat([0, 1], 1000), np.arange(2000) % 2)
    other = two(np.repeat([0, 1], 500), np.repeat([0, 1, 0], [250, 250, 500]))

    first, second = compared(SEX_AND_FLAG, real, other, ["sex"])

    assert (first.columns, first.labels, first.rows, first.synthetic_rows) == (("sex",), ("f",), 1000, 500)
    assert (first.variation.value, second.variation.value) == (0.0, 0.5)
    assert (first.variation.standard_error, second.is_too_small) == (0.0, False)


@pytest.mark.parametrize(
    ("columns", "why"),
    [
        ([], "at least one column"),
        ("sex", "a list"),
        (["none"], '"none" is no modelled column'),
        (["sex", "sex"], "must be different"),
        (["sex", "flag"], "leave a column"),
    ],
)
def test_columns_that_make_no_groups_are_refused(columns, why: str) -> None:
    with pytest.raises(ParameterError, match=why):
        compared(SEX_AND_FLAG, two([0], [0]), two([0], [0]), columns)
