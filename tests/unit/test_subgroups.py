"""Accuracy within groups of rows: which groups there are, what is compared in them, and which are too small."""

import numpy as np
import pytest

from lapwing.errors import ParameterError
from lapwing.extras.evaluate.metrics.prediction import subgroups
from lapwing.extras.evaluate.metrics.prediction.subgroups import FEWEST_ROWS, compare_subgroups
from lapwing.schema.schemas import Schema

AGE = {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 99}, "special": [-1]}
SEX = {"name": "sex", "type": "string", "categories": ["f", "m"]}
FLAG = {"name": "flag", "type": "boolean"}
WIDE = {"name": "wide", "type": "number", "constraints": {"minimum": 0, "maximum": 1}}
SCHEMA = Schema.from_dict({"fields": [AGE, SEX, FLAG, WIDE]})
SPECIAL, MISSING = 100, 101


def compared(schema, real, other, columns, **others):
    tables = {"synthetic": other, **others}
    return compare_subgroups(real, tables, schema, columns, rng=np.random.default_rng(0))


def rows(seed, count=4000):
    rng = np.random.default_rng(seed)
    return {column.name: rng.integers(column.domain.size, size=count) for column in SCHEMA.columns}


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


def test_wide_ordered_columns_are_crossed_in_five_parts_and_gaps_apart() -> None:
    real = rows(1) | {"age": np.arange(4000) % 102}

    found = compared(SCHEMA, real, real, ["age"])

    assert [group.labels for group in found] == [
        (each,) for each in ("0-19", "20-39", "40-59", "60-79", "80-99", "-1", "missing")
    ]
    assert sum(group.rows for group in found) == 4000


def test_a_group_that_one_table_lacks_is_wholly_wrong_and_too_small() -> None:
    real, other = two([0] * 100, [0, 1] * 50), two([1] * 100, [0, 1] * 50)

    lost, invented = compared(SEX_AND_FLAG, real, other, ["sex"])

    assert (lost.rows, lost.synthetic_rows, invented.rows, invented.synthetic_rows) == (100, 0, 0, 100)
    assert lost.variation.value == invented.variation.value == 1
    assert lost.is_too_small
    assert invented.is_too_small


@pytest.mark.parametrize(("count", "is_too_small"), [(FEWEST_ROWS - 1, True), (FEWEST_ROWS, False)])
@pytest.mark.parametrize("which", [0, 1])
def test_fewer_than_fifty_rows_in_either_table_are_too_few(count: int, which: int, is_too_small: bool) -> None:
    tables = [two([0] * 60, [0] * 60), two([0] * 60, [0] * 60)]
    tables[which] = two([0] * count, [0] * count)

    assert compared(SEX_AND_FLAG, *tables, ["sex"])[0].is_too_small == is_too_small


def test_a_group_in_which_chance_alone_is_large_is_too_small() -> None:
    schema = Schema.from_dict({"fields": [SEX, WIDE]})

    def few_and_many(seed, few, many):
        rng = np.random.default_rng(seed)
        return {"sex": np.repeat([0, 1], [few, many]), "wide": rng.integers(2**32, size=few + many)}

    few, many = compared(schema, few_and_many(1, 500, 9000), few_and_many(2, 500, 9000), ["sex"])

    # 64 even cells: sqrt(64 / (2 pi n)) is 0.143 for 500 rows, 0.034 for 9000; a run is off by a tenth.
    assert few.bootstrap.value == pytest.approx(0.143, abs=0.02)
    assert many.bootstrap.value == pytest.approx(0.034, abs=0.005)
    assert (few.is_too_small, many.is_too_small) == (True, False)
    # Fewer synthetic rows than real ones are noisier: 0.034 sqrt(1 + 9000 / 500) is 0.15.
    assert compared(schema, few_and_many(1, 500, 9000), few_and_many(2, 500, 500), ["sex"])[1].is_too_small


@pytest.mark.parametrize(("noisy", "is_too_small"), [(7, False), (8, True)])
def test_the_real_rows_are_a_sample_too(noisy: int, is_too_small: bool) -> None:
    real, bootstrap = two([0] * 100, [0] * 100), two([0] * 100, np.arange(100) < noisy)

    # Two samples are farther apart than one and its bootstrap, by the root of 2.
    assert compared(SEX_AND_FLAG, real, real, ["sex"], bootstrap=bootstrap)[0].is_too_small == is_too_small


def test_of_many_groups_those_with_the_most_real_rows_are_kept(monkeypatch) -> None:
    city = {"name": "city", "type": "string", "categories": [f"c{place}" for place in range(9)]}
    schema = Schema.from_dict({"fields": [city, FLAG]})
    real = {"city": np.repeat(np.arange(9), np.arange(1, 10)), "flag": np.zeros(45, dtype=int)}
    monkeypatch.setattr(subgroups, "MOST_GROUPS", 3)

    found = compared(schema, real, real, ["city"])

    assert [(group.labels[0], group.rows) for group in found] == [("c6", 7), ("c7", 8), ("c8", 9)]
    assert {group.variation.value for group in found} == {0.0}


def test_columns_of_many_codes_are_crossed_without_overflow() -> None:
    fields = [
        {"name": f"town{place}", "type": "string", "categories": [f"t{town}" for town in range(3000)]}
        for place in range(7)
    ]
    schema = Schema.from_dict({"fields": [*fields, FLAG]})
    table = {column.name: np.arange(300) for column in schema.columns} | {"flag": np.arange(300) % 2}

    # 3000**7 is above 2**63.
    found = compared(schema, table, table, [field["name"] for field in fields])

    assert len(found) == 200
    assert found[7].labels == ("t7",) * 7
    assert found[7].variation.value == 0


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
