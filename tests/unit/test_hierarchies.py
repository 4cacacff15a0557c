"""Hierarchies: nested runs of codes that grow by halving, and survive a stranger's file."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lapwing.errors import ParameterError
from lapwing.schema.fields import Field
from lapwing.schema.groupings.domains import Domain
from lapwing.schema.groupings.hierarchies import hierarchy
from lapwing.schema.values import run_labels


@st.composite
def cuts_of(draw, values):
    """Return up to three tiers of distinct cuts within 1 to values - 1."""
    places = draw(st.lists(st.integers(1, max(1, values - 1)), unique=True, max_size=values - 1))
    tiers = [sorted(places[part::3]) for part in range(3)]
    return tuple(tuple(tier) for tier in tiers if tier)


@st.composite
def domains(draw):
    values = draw(st.integers(1, 40))
    rest = draw(st.integers(0, 5)), draw(st.booleans()), draw(st.booleans()), draw(st.booleans())
    return Domain(values, *rest, draw(cuts_of(values)) if values > 1 and draw(st.booleans()) else ())


DOMAINS = domains()


def covered(domain):
    return domain.size if domain.missing else domain.last


def halved(domain, depth):
    """Return the runs of every level as lists of codes, by the rule as it is written."""
    levels = [[list(range(covered(domain)))]]
    for level in range(1, depth + 1):
        runs = []
        for run in levels[-1]:
            middle = len(run) // 2
            inside = [[cut for cut in tier if run[0] < cut <= run[-1]] for tier in domain.cuts]
            for cuts in [each for each in inside if each][:1]:
                middle = cuts[len(cuts) // 2] - run[0]
            if level == 1 and len(run) > domain.values:
                middle = domain.values
            runs += [run[:middle], run[middle:]] if len(run) > 1 else [run]
        levels.append(runs)
    return levels


def full_depth(domain):
    """Return the levels after which every code is alone, by the rule as it is written."""
    return next(level for level, runs in enumerate(halved(domain, 64)) if all(len(run) == 1 for run in runs))


@given(DOMAINS, st.integers(0, 9))
def test_the_builder_halves_level_by_level_reserved_codes_first(domain, depth):
    nested = hierarchy(domain, depth)

    expected = halved(domain, nested.depth)
    assert nested.depth == min(depth, full_depth(domain))
    for level, runs in enumerate(expected):
        assert nested.starts(level).tolist() == [run[0] for run in runs]
        assert nested.stops(level).tolist() == [run[-1] + 1 for run in runs]
        assert nested.groups(level) == len(runs)


@given(DOMAINS)
def test_at_full_depth_every_code_but_the_misfit_is_alone(domain):
    nested = hierarchy(domain, 64)

    assert nested.starts(nested.depth).tolist() == list(range(covered(domain)))


@given(DOMAINS, st.integers(0, 9))
def test_the_counted_groups_gather_into_the_deepest_runs(domain, depth):
    nested = hierarchy(domain, depth)
    codes = np.arange(domain.size)

    firsts, parts = nested.alone(nested.depth)

    groups = nested.grouping.apply(codes)
    inside = groups < parts
    assert inside.tolist() == (codes < covered(domain)).tolist()
    runs = np.searchsorted(firsts, groups[inside], side="right") - 1
    expected = np.searchsorted(nested.starts(nested.depth), codes[inside], side="right") - 1
    assert runs.tolist() == expected.tolist()


@pytest.mark.parametrize("depth", [-1, 65, 1.5, True])
def test_a_depth_out_of_range_is_refused(depth):
    with pytest.raises(ParameterError, match="depth of a hierarchy"):
        hierarchy(Domain(8, 0, missing=True, ordered=True, continuous=False), depth)


def test_the_misfit_code_has_no_label_because_it_is_in_no_run():
    kind = Field(name="kind", type="string", categories=("a", "b"), required=True)

    assert run_labels(hierarchy(kind.domain, 1), 1, kind) == ["a", "b"]
