"""Rows chosen by swaps: tables come closer, and nothing else changes."""

import itertools

import numpy as np
import pytest

from lapwing.model.sampling.descent import PairTables, swap_downhill


def _tables(seed: int, candidates: int = 600, chosen: int = 250) -> tuple[PairTables, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    sizes = (3, 5, 2)
    cells = np.stack([np.minimum(rng.geometric(0.4, candidates) - 1, size - 1) for size in sizes]).astype(np.uint8)
    pairs = tuple(itertools.combinations(range(3), 2))
    every = PairTables(cells=cells, sizes=sizes, pairs=pairs, targets=np.zeros(31, dtype=np.float32))
    targets = every.counts(np.ones(candidates, dtype=bool)) * (chosen / candidates)
    start = np.zeros(candidates, dtype=bool)
    start[rng.permutation(candidates)[:chosen]] = True
    return PairTables(cells=cells, sizes=sizes, pairs=pairs, targets=targets), start, rng.random(candidates) < 0.9


def _misfit(tables: PairTables, chosen: np.ndarray) -> float:
    return float(np.abs(tables.counts(chosen) - tables.targets).sum())


@pytest.mark.parametrize("seed", range(3))
def test_swaps_take_most_of_the_misfit_away(seed: int):
    tables, start, free = _tables(seed)

    found = swap_downhill(tables, start, free, np.random.default_rng(seed))

    assert _misfit(tables, found) < 0.5 * _misfit(tables, start)
    assert found.sum() == start.sum()


@pytest.mark.parametrize("seed", range(3))
def test_candidates_that_are_not_free_stay_as_they_are(seed: int):
    tables, start, free = _tables(seed)

    found = swap_downhill(tables, start, free, np.random.default_rng(seed))

    assert np.array_equal(found[~free], start[~free])
    assert not np.array_equal(found[free], start[free])


def test_counts_are_those_of_a_loop_over_rows():
    tables, start, _ = _tables(3)

    found = tables.counts(start)

    naive = {}
    for place, (one, two) in enumerate(tables.pairs):
        for a, b in tables.cells[[one, two]][:, start].T:
            naive[place, int(a), int(b)] = naive.get((place, int(a), int(b)), 0) + 1
    keys = [
        (place, a, b)
        for place, (one, two) in enumerate(tables.pairs)
        for a in range(tables.sizes[one])
        for b in range(tables.sizes[two])
    ]
    assert found.tolist() == [naive.get(key, 0) for key in keys]


def test_the_start_is_not_modified_and_the_generator_decides():
    tables, start, free = _tables(1)
    before = start.copy()

    one, same, other = (swap_downhill(tables, start, free, np.random.default_rng(seed)) for seed in (5, 5, 6))

    assert np.array_equal(start, before)
    assert np.array_equal(one, same)
    assert not np.array_equal(one, other)


@pytest.mark.parametrize("which", ["nothing free", "all chosen", "none chosen"])
def test_without_anybody_to_swap_the_start_is_returned(which: str):
    tables, start, free = _tables(2)
    start = {"nothing free": start, "all chosen": np.ones_like(start), "none chosen": np.zeros_like(start)}[which]
    free = np.zeros_like(free) if which == "nothing free" else free

    assert np.array_equal(swap_downhill(tables, start, free, np.random.default_rng(0)), start)


def test_a_start_that_fits_is_not_made_worse():
    tables, start, free = _tables(4)
    fitting = PairTables(cells=tables.cells, sizes=tables.sizes, pairs=tables.pairs, targets=tables.counts(start))

    found = swap_downhill(fitting, start, free, np.random.default_rng(0))

    assert _misfit(fitting, found) == 0
