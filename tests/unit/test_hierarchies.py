"""Hierarchies: nested runs of codes that grow by halving, and survive a stranger's file."""

import itertools
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lapwing.errors import ParameterError
from lapwing.kernel.questions.questions import RECORDS
from lapwing.schema.fields import Field
from lapwing.schema.groupings.domains import Domain
from lapwing.schema.groupings.hierarchies import Hierarchy, diameters, hierarchy
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
def test_parents_are_the_runs_above(domain, depth):
    nested = hierarchy(domain, depth)

    for level in range(1, nested.depth + 1):
        above, here = nested.starts(level - 1), nested.starts(level)
        assert nested.parents(level).tolist() == (np.searchsorted(above, here, side="right") - 1).tolist()
        assert np.bincount(nested.parents(level)).max() == 2


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


def pairwise_diameter(domain, run):
    """Return the largest distance of two codes of a run; a code of a continuous column is an interval."""
    if run[-1] >= domain.values:
        return 1.0 if len(run) > 1 else 0.0
    if domain.values == 1:
        return 0.0
    if domain.continuous:
        return len(run) / domain.values
    distances = [
        abs(a - b) / (domain.values - 1) if domain.ordered else float(a != b) for a, b in itertools.product(run, run)
    ]
    return max(distances)


@given(DOMAINS, st.integers(0, 6))
def test_diameters_are_the_largest_distances_inside_runs(domain, depth):
    if domain.continuous and not domain.ordered:
        return
    nested = hierarchy(domain, depth)

    for level, runs in enumerate(halved(domain, nested.depth)):
        expected = [pairwise_diameter(domain, run) for run in runs]
        assert diameters(nested, domain, level).tolist() == pytest.approx(expected)


def test_equal_halves_of_a_continuous_column_are_counted_by_shifting():
    unit = Domain(2**32, 0, missing=True, ordered=True, continuous=True)

    assert hierarchy(unit, 5).grouping.kind == "shift"
    assert hierarchy(Domain(7, 0, missing=True, ordered=True, continuous=False), 2).grouping.kind == "cuts"


@given(DOMAINS, st.integers(0, 9))
def test_a_hierarchy_survives_its_json_form(domain, depth):
    nested = hierarchy(domain, depth)

    read = RECORDS.read(Hierarchy, json.loads(json.dumps(RECORDS.write(nested))))

    assert RECORDS.write(read) == RECORDS.write(nested)
    assert read.grouping == nested.grouping
    assert not read.cuts.flags.writeable


GOOD = {"values": 8, "reserved": 2, "covered": 10, "cuts": [4, 8], "levels": [2, 1]}


@pytest.mark.parametrize("depth", [-1, 65, 1.5, True])
def test_a_depth_out_of_range_is_refused(depth):
    with pytest.raises(ParameterError, match="depth of a hierarchy"):
        hierarchy(Domain(8, 0, missing=True, ordered=True, continuous=False), depth)


def test_runs_are_labelled_with_what_they_hold():
    size = Field(name="size", type="integer", minimum=0, maximum=99, special=(-1, 777))
    nested = hierarchy(size.domain, 3)

    labels = [run_labels(nested, level, size) for level in range(4)]

    assert labels[0] == ["0-99, -1, 777, ... (4 parts)"]
    assert labels[1] == ["0-99", "-1, 777, missing"]
    assert labels[2] == ["0-49", "50-99", "-1", "777, missing"]
    assert labels[3] == ["0-24", "25-49", "50-74", "75-99", "-1", "777", "missing"]


def test_the_misfit_code_has_no_label_because_it_is_in_no_run():
    kind = Field(name="kind", type="string", categories=("a", "b"), required=True)

    assert run_labels(hierarchy(kind.domain, 1), 1, kind) == ["a", "b"]
