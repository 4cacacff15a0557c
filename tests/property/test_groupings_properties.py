"""What holds for every grouping."""

import json

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from lapwing.kernel.questions.questions import RECORDS
from lapwing.schema.groupings.domains import Domain
from lapwing.schema.groupings.grouping import (
    Grouping,
    apply_by_cuts,
    evenly,
    interval_grouping,
    lookup,
    prefix_grouping,
)

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
        return prefix_grouping(domain, draw(st.integers(0, 53)))
    return interval_grouping(domain, sorted(draw(st.sets(st.integers(1, domain.values - 1), max_size=60))))


@given(start=st.integers(1, 2**50), gaps=st.lists(st.integers(1, 4), min_size=1, max_size=300))
@settings(max_examples=50)
def test_crowded_cuts_far_from_zero_are_found(start: int, gaps: list[int]) -> None:
    cuts = start + np.cumsum(gaps, dtype=np.int64)
    codes = np.arange(start - 3, cuts[-1] + 3)

    assert np.array_equal(apply_by_cuts(codes, cuts), np.searchsorted(cuts, codes, side="right"))


@given(grouping=groupings())
@settings(max_examples=100)
def test_a_grouping_is_its_dict(grouping: Grouping) -> None:
    again = RECORDS.read(Grouping, json.loads(json.dumps(RECORDS.write(grouping))))

    assert again == grouping
    assert RECORDS.write(again) == RECORDS.write(grouping)
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
