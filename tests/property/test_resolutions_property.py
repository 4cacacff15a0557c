"""What holds for groups at every resolution, and a slow search for the best runs."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from lapwing.mechanisms.adaptive.candidates import branch_runs, even_runs, leading_values, nested_groups

MASSES = arrays(np.float64, st.integers(1, 60), elements=st.floats(1e-3, 1e3))
WHOLE = st.lists(st.integers(1, 40), min_size=1, max_size=9).map(lambda listed: np.array(listed, dtype=np.float64))
COUNTS = arrays(np.int64, st.integers(1, 60), elements=st.integers(-50, 1000))


def is_without_gaps(group):
    return sorted(set(group.tolist())) == list(range(int(group.max()) + 1))


def are_runs(group):
    return group[0] == 0 and set(np.diff(group).tolist()) <= {0, 1}


def heavy_by_hand(masses, groups):
    """Return the places of cells that outweigh an equal share of what is left, until there are no more."""
    heavy = set()
    while len(heavy) < groups - 1:
        rest = [mass for place, mass in enumerate(masses) if place not in heavy]
        found = {
            place
            for place, mass in enumerate(masses)
            if place not in heavy and mass * (groups - len(heavy)) >= sum(rest)
        }
        if not found:
            return heavy
        heavy |= found
    return heavy


def all_runs(cells, groups):
    """Return every way to cut so many cells into at most so many runs, as lists of places."""
    for cuts in range(min(groups, cells)):
        for inner in itertools.combinations(range(1, cells), cuts):
            edges = (0, *inner, cells)
            yield [list(range(start, stop)) for start, stop in itertools.pairwise(edges)]


def lightest_heaviest(masses, groups, heavy):
    """Return the least possible mass of the heaviest run outside heavy cells; None where these cannot stand alone."""
    bests = [
        max((sum(masses[place] for place in run) for run in runs if not heavy & set(run)), default=0.0)
        for runs in all_runs(len(masses), groups)
        if all(len(run) == 1 or not heavy & set(run) for run in runs)
    ]
    return min(bests, default=None)


@given(MASSES, st.integers(1, 40))
def test_even_runs_are_contiguous_and_not_too_many(masses: np.ndarray, groups: int) -> None:
    run = even_runs(masses, groups)

    assert are_runs(run)
    assert run[-1] < groups
    assert masses.size > groups or run.tolist() == list(range(masses.size))


@given(WHOLE, st.integers(1, 6))
@settings(max_examples=200)
def test_no_other_runs_are_more_even(masses: np.ndarray, groups: int) -> None:
    run = even_runs(masses, groups)

    heavy = heavy_by_hand(masses.tolist(), groups) if masses.size > groups else set(range(masses.size))
    best = lightest_heaviest(masses.tolist(), groups, heavy)
    if best is None:
        heavy, best = set(), lightest_heaviest(masses.tolist(), groups, set())
    found = np.bincount(run, masses)
    assert all(np.count_nonzero(run == run[place]) == 1 for place in heavy)
    light = np.delete(found, [run[place] for place in heavy]).max(initial=0.0)
    assert light <= best


def test_the_slow_search_knows_an_uneven_cut() -> None:
    masses = [1.0, 1.0, 1.0, 1.0]

    assert lightest_heaviest(masses, 2, set()) == 2.0
    assert lightest_heaviest(masses, 2, {0}) == 3.0
    assert lightest_heaviest(masses, 2, {1}) is None


@given(MASSES, st.integers(2, 20))
def test_equal_cells_give_runs_of_equal_length(masses: np.ndarray, groups: int) -> None:
    run = even_runs(np.full(masses.size, masses[0]), groups)

    assert np.bincount(run).max() == -(-masses.size // groups)


@pytest.mark.parametrize("seed", range(10))
def test_one_run_takes_everything_however_sums_are_rounded(seed: int) -> None:
    masses = np.random.default_rng(seed).random(30)

    assert even_runs(masses, 1).tolist() == [0] * 30


@given(COUNTS, st.floats(0.0, 100.0), st.integers(1, 40))
def test_leading_values_are_the_largest_that_stand_out(counts: np.ndarray, sd: float, groups: int) -> None:
    group = leading_values(counts, sd, groups)

    assert is_without_gaps(group)
    assert group.max() < max(groups, 1)
    alone = min(groups - 1, int((counts > 3 * sd).sum()))
    leaders, others = np.flatnonzero(group < alone), np.flatnonzero(group >= alone)
    assert leaders.size == alone
    assert group.max() == alone - int(alone == counts.size)
    assert counts[leaders].min(initial=10**6) >= counts[others].max(initial=-(10**6))
    assert np.diff(counts[leaders[np.argsort(group[leaders])]]).max(initial=0) <= 0


@given(MASSES, st.lists(st.integers(1, 30), min_size=1, max_size=4, unique=True), st.booleans())
def test_every_level_merges_groups_of_the_level_before(masses: np.ndarray, sizes: list[int], ordered: bool) -> None:
    sizes.sort(reverse=True)
    finest = even_runs(masses, sizes[0]) if ordered else leading_values(masses, 0.0, sizes[0])

    levels = nested_groups(masses, finest, sizes[1:], is_ordered=ordered)

    assert levels[0] is finest
    assert levels[-1].max() < sizes[-1]
    for level in levels:
        assert is_without_gaps(level)
        assert not ordered or are_runs(level)
    for fine, coarse in itertools.pairwise(levels):
        assert coarse.max() < fine.max()
        assert len(set(zip(fine.tolist(), coarse.tolist(), strict=True))) == fine.max() + 1


def test_levels_that_merge_nothing_are_left_out() -> None:
    levels = nested_groups(np.ones(3), np.arange(3), (16, 8, 2), is_ordered=False)

    assert [int(level.max()) + 1 for level in levels] == [3, 2]


def test_unordered_levels_keep_the_heaviest_on_their_own() -> None:
    masses = np.array([1.0, 50.0, 2.0, 30.0, 3.0])

    levels = nested_groups(masses, np.arange(5), (3, 2), is_ordered=False)

    assert levels[1].tolist() == [2, 0, 2, 1, 2]
    assert levels[2].tolist() == [1, 0, 1, 1, 1]


# -- Runs of cells that end where branches end.


@st.composite
def trees(draw):
    """Return masses, ranks of the cut before each cell, and sizes of levels."""
    cells = draw(st.integers(1, 50))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    masses = rng.choice([1e-9, 0.3, 1.0, 50.0, 1e6], cells) * rng.uniform(0.5, 2.0, cells)
    ranks = rng.integers(0, draw(st.integers(1, 4)), cells)
    sizes = draw(st.lists(st.integers(1, 40), min_size=1, max_size=4, unique=True))
    return masses, ranks, tuple(sorted(sizes, reverse=True))


def starts_of(level):
    return [0, *(np.flatnonzero(np.diff(level)) + 1).tolist()]


@given(trees())
def test_levels_are_nested_runs_of_at_most_so_many(tree) -> None:
    masses, ranks, sizes = tree

    levels = branch_runs(masses, ranks, sizes)

    assert 1 <= len(levels) <= len(sizes)
    for level in levels:
        assert level.size == masses.size
        assert level[0] == 0
        assert set(np.diff(level).tolist()) <= {0, 1}
    assert levels[0][-1] + 1 == min(sizes[0], masses.size)
    assert levels[-1][-1] + 1 <= sizes[-1]
    for fine, coarse in itertools.pairwise(levels):
        assert coarse[-1] < fine[-1]
        assert set(starts_of(coarse)) < set(starts_of(fine))


@given(trees())
def test_no_run_is_cut_inside_a_branch_while_a_branch_ends_in_it(tree) -> None:
    masses, ranks, sizes = tree

    for level in branch_runs(masses, ranks, sizes):
        starts = [*starts_of(level), masses.size]
        for first, cut, last in zip(starts, starts[1:], starts[2:], strict=False):
            # The run that held both sides once was at least these two, and the cut the coarsest in it.
            assert ranks[cut] <= min(ranks[first + 1 : last])


@given(trees())
def test_the_heaviest_runs_are_cut_first(tree) -> None:
    masses, ranks, sizes = tree

    levels = branch_runs(masses, ranks, sizes)

    # Of two levels, what the coarser one leaves whole is no heavier than the lightest run that it did cut.
    for fine, coarse in itertools.pairwise(levels):
        heaviest = max(
            (masses[coarse == run].sum() for run in set(coarse.tolist()) if (coarse == run).sum() > 1), default=0
        )
        merged = [run for run in set(coarse.tolist()) if len(set(fine[coarse == run].tolist())) > 1]
        assert heaviest == pytest.approx(max(masses[coarse == run].sum() for run in merged))


def test_a_tree_of_places_is_cut_by_hand() -> None:
    # A1 A2 A3 | B1 B2 | C1: the branch A holds most rows and is cut again, between its own leaves.
    masses, ranks = np.array([40.0, 30.0, 10.0, 9.0, 1.0, 10.0]), np.array([0, 1, 1, 0, 1, 0])

    levels = branch_runs(masses, ranks, (4, 3, 2))

    assert [level.tolist() for level in levels] == [[0, 1, 2, 3, 3, 3], [0, 1, 1, 2, 2, 2], [0, 0, 0, 1, 1, 1]]
