"""Runs of cells that end where branches end."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lapwing.mechanisms.adaptive.cells import branch_runs


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
