"""In which cells a column is counted next, and how heavy cells are searched for single values."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lapwing.mechanisms.adaptive.one_way import (
    MOST_SEARCHED,
    SEARCH_CELLS,
    parts_that_stand_out,
    search_parts,
    search_steps,
)


def _placed(pairs):
    """Return first codes of cells of some widths, with gaps between them, and the codes after them."""
    widths, gaps = (np.array(each, dtype=np.int64) for each in zip(*pairs, strict=True))
    starts = np.cumsum(gaps + np.append(0, widths[:-1]))
    return starts, starts + widths


cells = st.lists(st.tuples(st.integers(1, 2**26), st.integers(0, 1000)), min_size=1, max_size=MOST_SEARCHED).map(
    _placed
)


@settings(max_examples=60)
@given(cells)
def test_every_code_ends_as_a_cell_of_its_own_in_the_announced_steps(found):
    starts, stops = found
    code = int(stops[-1]) - 1 - (int(stops[-1] - starts[-1]) // 3)

    steps = search_steps(stops - starts)
    for left in range(steps, 0, -1):
        firsts, lasts, cell = search_parts(starts, stops, left)
        assert firsts.size <= SEARCH_CELLS
        assert (firsts >= starts[cell]).all()
        assert (lasts <= stops[cell]).all()
        assert (np.diff(firsts)[np.diff(cell) == 0] > 0).all()
        assert np.bincount(cell, lasts - firsts).tolist() == (stops - starts).tolist()
        holds = np.flatnonzero((firsts <= code) & (code < lasts))
        assert holds.size == 1
        starts, stops = firsts[holds], lasts[holds]

    assert starts.tolist() == [code]
    assert stops.tolist() == [code + 1]


def outstanding_by_hand(counts, cell, least):
    """Return what `outstanding` finds, cell by cell."""
    excess = {}
    for place, (count, own) in enumerate(zip(counts, cell, strict=True)):
        others = [each for at, (each, one) in enumerate(zip(counts, cell, strict=True)) if one == own and at != place]
        excess[place] = count - (sum(others) / len(others) if others else 0.0)
    leaders = sorted(excess, key=lambda place: -excess[place])[:MOST_SEARCHED]
    return sorted(place for place in leaders if excess[place] > least)


@pytest.mark.parametrize("seed", range(4))
def test_parts_that_stand_out_are_those_of_the_definition(seed):
    rng = np.random.default_rng(seed)
    cell = np.sort(rng.integers(0, 7, 300))
    counts = rng.normal(0, 10, 300) + 60 * (rng.random(300) < 0.3 * (seed % 2)) + 20 * cell

    assert parts_that_stand_out(counts, cell, 30.0).tolist() == outstanding_by_hand(
        counts.tolist(), cell.tolist(), 30.0
    )


def test_no_more_cells_go_on_than_are_searched_at_once():
    counts = np.append(np.zeros(900), np.arange(100, 200.0))

    found = parts_that_stand_out(counts, np.zeros(1000, dtype=np.intp), 1.0)

    assert found.tolist() == list(range(1000 - MOST_SEARCHED, 1000))
