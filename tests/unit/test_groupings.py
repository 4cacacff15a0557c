"""Groupings: the builders, their checks, and hostile dicts."""

from typing import Any

import numpy as np
import pytest

from lapwing.errors import CapacityError, ParameterError
from lapwing.schema.groupings.domains import Domain
from lapwing.schema.groupings.grouping import Grouping, evenly, identity, interval_grouping, lookup, prefix_grouping

DAYS = Domain(10, 1, missing=True, ordered=True, continuous=False)
LINE = Domain(2**32, 0, missing=True, ordered=True, continuous=True)


@pytest.mark.parametrize(("groups", "regular"), [(1, 1), (2, 2), (3, 2), (10, 8), (2**20 + 5, 2**20), (2**24, 2**24)])
def test_a_continuous_domain_is_cut_into_the_largest_power_of_two(groups: int, regular: int) -> None:
    grouping = evenly(LINE, groups)

    assert (grouping.kind, grouping.regular) == ("shift", regular)


def test_runs_are_exact_on_the_largest_domain() -> None:
    grouping = evenly(Domain(2**53, 0, missing=True, ordered=True, continuous=False), 3 * 2**12)

    assert grouping.cuts.tolist() == [i * 2**53 // (3 * 2**12) for i in range(1, 3 * 2**12)]


@pytest.mark.parametrize("groups", [0, -1, 2**24 + 1, 1.5, True])
def test_an_impossible_number_of_groups_is_refused(groups: Any) -> None:
    with pytest.raises(ParameterError, match="number of groups must be a whole number"):
        evenly(DAYS, groups)


@pytest.mark.parametrize("cuts", [[0], [10], [3, 3], [5, 2], [-1, 4], [1.5], [[1, 2]], ["1"], [2**63], [True]])
def test_cuts_outside_the_domain_or_out_of_order_are_refused(cuts: Any) -> None:
    with pytest.raises(ParameterError, match="a grouping's cuts"):
        interval_grouping(DAYS, cuts)


@pytest.mark.parametrize(
    "table", [[0] * 9, [0] * 11, [1] * 10, [0] * 9 + [2], [-1] + [0] * 9, [0.0] * 10, [], [0] * 9 + [2**40]]
)
def test_tables_that_do_not_fit_the_domain_are_refused(table: Any) -> None:
    with pytest.raises(ParameterError, match="a grouping's table"):
        lookup(DAYS, table)


@pytest.mark.parametrize("bits", [-1, 54, 0.5, None])
def test_impossible_shifts_are_refused(bits: Any) -> None:
    with pytest.raises(ParameterError, match="a grouping's shift"):
        prefix_grouping(DAYS, bits)


def test_a_grouping_has_entries_of_its_own_kind_only() -> None:
    with pytest.raises(ParameterError, match="has no cuts"):
        Grouping(10, 1, "shift", 0, np.array([3]))
    with pytest.raises(ParameterError, match="shift must be a whole number from 0 to 0"):
        Grouping(10, 1, "cuts", 1, np.array([3]))


def test_arrays_are_read_only_and_not_shared() -> None:
    cuts = np.array([2, 5])
    grouping = interval_grouping(DAYS, cuts)

    cuts[0] = 4

    assert grouping.cuts.tolist() == [2, 5]
    for array in (grouping.cuts, lookup(DAYS, [0] * 10).table):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


def test_groupings_differ_where_their_dicts_do() -> None:
    different = [
        identity(DAYS),
        prefix_grouping(DAYS, 1),
        interval_grouping(DAYS, [2]),
        interval_grouping(DAYS, [3]),
        lookup(DAYS, [0] * 10),
        identity(LINE),
    ]

    assert len(set(different)) == len(different)
    assert identity(DAYS) != "identity"


def test_a_grouping_that_is_too_fine_has_no_list_of_pieces() -> None:
    with pytest.raises(CapacityError, match="too fine to list"):
        identity(LINE).pieces()


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.uint32, np.uint64, np.int64])
@pytest.mark.parametrize("rows", [0, 1, 50, 10**5])
def test_codes_of_any_width_are_grouped(dtype: type, rows: int) -> None:
    codes = np.resize(np.arange(12), rows).astype(dtype)

    groups = interval_grouping(DAYS, [3, 4]).apply(codes)

    assert groups.dtype == np.intp
    assert groups.tolist() == np.resize([0, 0, 0, 1, 2, 2, 2, 2, 2, 2, 3, 4], rows).tolist()
    assert interval_grouping(LINE, [3, 4]).apply(codes).tolist() == np.resize([0] * 3 + [1] + [2] * 8, rows).tolist()
