"""Which rows of a unit stay, and who is one unit, at every size: of a unit, of a table, of an identifier."""

import numpy as np
import polars as pl
import pytest

from helpers.grown_units import WHOLE, identifier_flags, lone_unit_flags, many_units_flags, names_of, staying
from helpers.naive_truncation import kept_of_unit
from lapwing.rows.cells import Numbers, Texts

SIZES = [1, 2, 10, 100, 1000, 4096, 4097, 16_385, 65_537]
LARGE = [pytest.param(rows, marks=pytest.mark.full) for rows in (2**18 + 1, 10**6)]
HELD = {"kept": {}, "read again": {"memory": 0}, "in chunks": {"chunk_rows": 5000}}


@pytest.mark.parametrize("max_rows", [1, 3, 700])
@pytest.mark.parametrize("rows", [*SIZES, *LARGE])
def test_of_a_unit_of_any_size_the_same_rows_stay_whoever_else_is_there(rows, max_rows):
    held = list(HELD.values())[(len(str(rows)) + max_rows) % 3]

    assert lone_unit_flags(rows, max_rows, **held) == []


@pytest.mark.parametrize("max_rows", [1, 3])
@pytest.mark.parametrize("rows", [*SIZES, *LARGE])
def test_of_any_number_of_units_each_is_cut_by_itself(rows, max_rows):
    held = list(HELD.values())[(len(str(rows)) + max_rows) % 3]

    assert many_units_flags(rows, max_rows, **held) == []


# ------------------------------------------------------------------------------------------------------- identifiers


def test_a_whole_number_is_one_unit_however_it_is_written_and_no_two_are_one():
    assert identifier_flags() == []


@pytest.mark.parametrize("kind", ["integer", "string"])
def test_a_whole_number_is_one_unit_in_every_type_of_column(kind):
    small = [each for each in WHOLE if -(2**63) <= each < 2**63]
    large = [each for each in WHOLE if 0 <= each < 2**64]
    exact = [each for each in WHOLE if int(float(each)) == each]
    of_texts = dict(zip(WHOLE, names_of(kind, Texts(pl.Series(list(map(str, WHOLE)))))[0], strict=True))

    for numbers, dtype in ((small, np.int64), (large, np.uint64), (exact, np.float64)):
        names, _ = names_of(kind, Numbers(np.array(numbers, dtype=dtype)))
        assert [of_texts[each] for each in numbers] == names, dtype


@pytest.mark.parametrize("rows", [5, 300, 5000])
def test_the_rows_that_stay_are_those_of_the_rule_in_plain_python(rows):
    x = np.random.default_rng(rows).integers(0, rows, rows)
    found, *_ = staying(np.full(rows, 12), x, rows, 4)

    assert sorted(found.tolist()) == sorted(row for (row,) in kept_of_unit(12, [(each,) for each in x.tolist()], 4))
