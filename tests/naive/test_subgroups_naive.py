"""Accuracy by subgroup against counting one group after another."""

from collections import Counter

import numpy as np
import pytest

from lapwing.extras.evaluate.metrics.prediction import subgroups
from lapwing.extras.evaluate.metrics.prediction.subgroups import compare_subgroups
from lapwing.schema.schemas import Schema

FIELDS = [
    {"name": "sex", "type": "string", "categories": ["f", "m"]},
    {"name": "grade", "type": "string", "categories": list("abcde"), "categoriesOrdered": True},
    {"name": "flag", "type": "boolean"},
    {"name": "city", "type": "string", "categories": [f"c{place}" for place in range(50)]},
    {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 30}, "special": [-1]},
]
SCHEMA = Schema.from_dict({"fields": FIELDS})


def table(seed, count):
    rng = np.random.default_rng(seed)
    return {
        column.name: np.minimum(rng.geometric(0.1, size=count) - 1, column.domain.last) for column in SCHEMA.columns
    }


@pytest.mark.parametrize("dense", [0, 1000])
def test_figures_are_those_of_each_group_by_itself(dense: int, monkeypatch) -> None:
    monkeypatch.setattr(subgroups, "_DENSE", dense)
    tables = [table(1, 600), table(2, 500), table(3, 600)]
    real, other, drawn = tables

    found = compare_subgroups(
        real, {"synthetic": other, "bootstrap": drawn}, SCHEMA, ["sex", "grade"], rng=np.random.default_rng(0)
    )

    keys = [list(zip(codes["sex"].tolist(), codes["grade"].tolist(), strict=True)) for codes in tables]
    groups = sorted(set(keys[0]) | set(keys[1]))
    assert len(found) == len(groups)
    for group, key in zip(found, groups, strict=True):
        parts = [
            [
                [code for code, own in zip(codes[name].tolist(), owners, strict=True) if own == key]
                for codes, owners in zip(tables, keys, strict=True)
            ]
            for name in ("flag", "city", "age")
        ]
        assert (group.rows, group.synthetic_rows) == (len(parts[0][0]), len(parts[0][1]))
        # Sums of a few dozen floats below 1, in another order.
        assert group.variation.value == pytest.approx(
            np.mean([variation(each[0], each[1]) for each in parts]), abs=1e-12
        )
        assert group.bootstrap.value == pytest.approx(
            np.mean([variation(each[0], each[2]) for each in parts]), abs=1e-12
        )


def variation(left, right):
    """Return the total variation of two lists of cells; 1 where one is empty."""
    if not left or not right:
        return 1.0
    first, second = Counter(left), Counter(right)
    return sum(abs(first[cell] / len(left) - second[cell] / len(right)) for cell in {*first, *second}) / 2
