"""Groupings against their definition, one code at a time."""

from bisect import bisect_right

import numpy as np
import pytest

from helpers.cases import spread
from lapwing.schema.groupings.domains import Domain
from lapwing.schema.groupings.grouping import Grouping, evenly, identity, interval_grouping, lookup, prefix_grouping

VALUES = [1, 2, 7, 255, 256, 1000, 2**16 - 1, 2**16, 100_003, 2**20, 2**32, 2**32 + 12_345, 2**53]


def naive_group(grouping: Grouping, code: int) -> int:
    if code >= grouping.values:
        return grouping.regular + code - grouping.values
    if grouping.kind == "shift":
        return code >> grouping.shift
    if grouping.kind == "cuts":
        return bisect_right(grouping.cuts.tolist(), code)
    return int(grouping.table[code])


def some_codes(grouping: Grouping, rng: np.random.Generator) -> list[int]:
    """Return both ends, all reserved codes, random codes, and the codes around each cut."""
    size = grouping.values + grouping.reserved
    near = [code + step for code in grouping.cuts.tolist()[:40] for step in (-1, 0, 1)]
    ends = [0, 1, grouping.values - 1, *range(grouping.values, size)]
    return [min(max(code, 0), size - 1) for code in [*near, *ends, *rng.integers(0, size, 200).tolist()]]


def some_groupings(domain: Domain, rng: np.random.Generator) -> list[Grouping]:
    values = domain.values
    found = [
        identity(domain),
        *(prefix_grouping(domain, bits) for bits in (1, 5, 31, 53)),
        evenly(domain, 32),
        evenly(domain, 7),
    ]
    if values > 1:
        found += [interval_grouping(domain, np.unique(rng.integers(1, values, count))) for count in (1, 3, 50, 500)]
        clustered = np.unique(np.minimum(np.geomspace(1, values, 60).astype(np.int64), values - 1))
        found += [interval_grouping(domain, clustered), interval_grouping(domain, values - clustered[::-1])]
    if values <= 2**20:
        _, table = np.unique(rng.integers(0, 9, values), return_inverse=True)
        found.append(lookup(domain, table))
    return found


@spread(("values", VALUES), ("specials", [0, 3]))
def test_fast_and_naive_groups_are_the_same(values: int, specials: int) -> None:
    rng = np.random.default_rng(values + specials)
    domain = Domain(values, specials, missing=True, ordered=True, continuous=values == 2**32)

    for grouping in some_groupings(domain, rng):
        codes = some_codes(grouping, rng)

        expected = [naive_group(grouping, code) for code in codes]

        # A few rows and many rows take different ways through the code.
        for repeats in (1, 300):
            applied = grouping.apply(np.tile(np.array(codes, dtype=np.int64).astype(domain.dtype), repeats))
            assert applied.tolist() == expected * repeats


@pytest.mark.parametrize("values", [value for value in VALUES if value <= 1000])
def test_pieces_say_the_same_as_apply(values: int) -> None:
    rng = np.random.default_rng(values)
    domain = Domain(values, 2, missing=False, ordered=True, continuous=False)

    for grouping in some_groupings(domain, rng):
        starts, stops, group = grouping.pieces()

        spelled_out = [g for a, b, g in zip(starts, stops, group, strict=True) for _ in range(a, b)]

        assert spelled_out == grouping.apply(np.arange(domain.size)).tolist()
        assert (starts < stops).all()
        assert (group[1:] != group[:-1]).all()
