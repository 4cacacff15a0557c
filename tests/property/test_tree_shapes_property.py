"""Shapes of trees, planned from sizes alone, against their cells; columns with declared cuts among them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lapwing.mechanisms.shared.trees.shapes import tree_shape
from lapwing.schema.groupings.domains import Domain
from lapwing.schema.groupings.hierarchies import cut_places, diameters, hierarchy


@st.composite
def domains(draw):
    values = draw(st.sampled_from([1, 2, 3, 7, 16, 33, 100]))
    is_ordered, tiers = draw(st.booleans()), ()
    if values > 1 and draw(st.booleans()):
        places = draw(st.lists(st.integers(1, values - 1), unique=True, max_size=20))
        tiers = tuple(tuple(sorted(places[part::2])) for part in range(2) if places[part::2])
    is_continuous = is_ordered and draw(st.booleans())
    return Domain(values, draw(st.integers(0, 3)), draw(st.booleans()), is_ordered, is_continuous, tiers)


@given(st.lists(domains(), min_size=1, max_size=3), st.sampled_from(["longest", "cycle"]), st.integers(1, 2000))
@settings(max_examples=150)
def test_resolutions_are_the_largest_diameters_of_the_cells_themselves(columns, order, most: int) -> None:
    shape = tree_shape(columns, order, most)

    for level in range(len(shape.schedule) + 1):
        depths = [shape.schedule[:level].count(place) for place in range(len(columns))]
        sides = [
            diameters(hierarchy(domain, depth), domain, depth).max()
            for domain, depth in zip(columns, depths, strict=True)
        ]
        assert shape.resolutions[level] == pytest.approx(max(sides))
    full = [hierarchy(domain, 64).depth for domain in columns]
    depths = [shape.schedule.count(place) for place in range(len(columns))]
    assert shape.is_complete == (depths == full)


@given(domains(), st.integers(0, 10**6))
def test_a_run_is_cut_at_a_middle_cut_of_its_coarsest_tier_or_halved(domain, seed: int) -> None:
    rng = np.random.default_rng(seed)
    inner = np.unique(rng.integers(0, domain.values + 1, 6))
    edges = np.unique(np.concatenate(([0], inner, [domain.values])))
    starts, stops = edges[:-1].astype(np.int64), edges[1:].astype(np.int64)

    places = cut_places([np.array(tier, dtype=np.int64) for tier in domain.cuts], starts, stops)

    for start, stop, place in zip(starts.tolist(), stops.tolist(), places.tolist(), strict=True):
        inside = [[code for code in tier if start < code < stop] for tier in domain.cuts]
        tier = next((each for each in inside if each), None)
        if tier is None:
            assert place == start + (stop - start) // 2
        else:
            assert place in tier
            assert abs(sum(code < place for code in tier) - sum(code > place for code in tier)) <= 1
