"""What holds for every grouping."""

import json

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from lapwing.schema.groupings.domains import Domain
from lapwing.schema.groupings.grouping import Grouping, apply_by_cuts, cut, evenly, lookup, shifted

CODES = st.integers(1, 2**53)


@st.composite
def domains(draw: st.DrawFn, most: int = 2**53) -> Domain:
    values = draw(st.one_of(st.integers(1, min(300, most)), st.integers(1, most)))
    return Domain(values, draw(st.integers(0, 3)), draw(st.booleans()), draw(st.booleans()), draw(st.booleans()))


@st.composite
def groupings(draw: st.DrawFn) -> Grouping:
    kind = draw(st.sampled_from(["shift", "cuts", "table", "evenly"]))
    if kind == "table":
        table = draw(st.lists(st.integers(0, 5), min_size=1, max_size=60))
        used = sorted(set(table))
        domain = Domain(len(table), draw(st.integers(0, 3)), missing=True, ordered=False, continuous=False)
        return lookup(domain, [used.index(group) for group in table])
    domain = draw(domains())
    if kind == "evenly":
        return evenly(domain, draw(st.integers(1, 500)))
    if kind == "shift" or domain.values == 1:
        return shifted(domain, draw(st.integers(0, 53)))
    return cut(domain, sorted(draw(st.sets(st.integers(1, domain.values - 1), max_size=60))))


def codes_of(grouping: Grouping, seed: int, rows: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    size = grouping.values + grouping.reserved
    near = np.add.outer(np.append(grouping.cuts, grouping.values), np.arange(-2, 3)).ravel()
    return np.concatenate((np.clip(near, 0, size - 1), rng.integers(0, size, rows)))


@given(cuts=st.sets(CODES, min_size=1, max_size=200), seed=st.integers(0, 99), rows=st.integers(0, 3000))
@settings(max_examples=150)
def test_looking_for_cuts_is_searchsorted(cuts: set[int], seed: int, rows: int) -> None:
    ordered = np.array(sorted(cuts), dtype=np.int64)
    rng = np.random.default_rng(seed)
    near = np.add.outer(ordered, [-1, 0, 1]).ravel()
    codes = np.concatenate((near, rng.integers(0, int(ordered[-1]) + 1, rows)))

    groups = apply_by_cuts(codes, ordered)

    assert np.array_equal(groups, np.searchsorted(ordered, codes, side="right"))


@given(start=st.integers(1, 2**50), gaps=st.lists(st.integers(1, 4), min_size=1, max_size=300))
@settings(max_examples=50)
def test_crowded_cuts_far_from_zero_are_found(start: int, gaps: list[int]) -> None:
    cuts = start + np.cumsum(gaps, dtype=np.int64)
    codes = np.arange(start - 3, cuts[-1] + 3)

    assert np.array_equal(apply_by_cuts(codes, cuts), np.searchsorted(cuts, codes, side="right"))


@given(grouping=groupings(), seed=st.integers(0, 99), rows=st.sampled_from([0, 10, 5000, 40_000]))
@settings(max_examples=150)
def test_groups_are_in_range_and_every_reserved_code_has_its_own(grouping: Grouping, seed: int, rows: int) -> None:
    codes = codes_of(grouping, seed, rows)

    groups = grouping.apply(codes)

    assert groups.dtype == np.intp
    assert groups.min(initial=0) >= 0
    assert groups.max(initial=0) < grouping.groups
    reserved = codes >= grouping.values
    assert np.array_equal(groups[reserved], grouping.regular + codes[reserved] - grouping.values)
    assert (groups[~reserved] < grouping.regular).all()


@given(grouping=groupings(), seed=st.integers(0, 99))
@settings(max_examples=100)
def test_one_row_at_a_time_gives_the_same_groups(grouping: Grouping, seed: int) -> None:
    codes = codes_of(grouping, seed, 20)

    together = grouping.apply(codes)

    assert together.tolist() == [int(grouping.apply(codes[i : i + 1])[0]) for i in range(len(codes))]


@given(grouping=groupings())
@settings(max_examples=100)
def test_a_grouping_is_its_dict(grouping: Grouping) -> None:
    again = Grouping.from_dict(json.loads(json.dumps(grouping.to_dict())))

    assert again == grouping
    assert again.to_dict() == grouping.to_dict()
    assert (again.regular, again.groups) == (grouping.regular, grouping.groups)


@given(domain=domains(), groups=st.integers(1, 4000))
@settings(max_examples=150)
def test_even_groups_are_nearly_equal_and_no_more_than_asked(domain: Domain, groups: int) -> None:
    grouping = evenly(domain, groups)

    assert 1 <= grouping.regular <= groups
    if not domain.continuous:
        starts, stops, _ = grouping.pieces()
        lengths = (stops - starts)[: grouping.regular]
        assert lengths.sum() == domain.values
        assert lengths.max() - lengths.min() <= 1
