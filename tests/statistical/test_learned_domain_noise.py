"""How often noise alone shows a domain, and how often what is said about unseen rows fails."""

from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from scipy.stats import binom

from helpers.bits import SeededBits
from helpers.learned_runs import TINY, learned, opened_room
from lapwing.kernel.budget.budget import Budget
from lapwing.release.runs.learned import bounds as learned_bounds
from lapwing.release.runs.learned import grids as learned_search
from lapwing.release.runs.learned.bounds import learn_bounds
from lapwing.release.runs.learned.categories import prune_dictionaries

FALSE_ALARMS = 1e-9
BUDGETS = {"pure": Budget.pure("0.2"), "zcdp": Budget.zcdp("0.01")}
EITHER = pytest.mark.parametrize("budget", BUDGETS.values(), ids=BUDGETS.keys())
RUNS = (400, pytest.param(4000, marks=pytest.mark.full))


def is_credible(misses, runs, rate):
    """Tell whether so many misses are credible at a rate."""
    return binom.sf(misses - 1, runs, rate) >= FALSE_ALARMS


@EITHER
@pytest.mark.parametrize("runs", RUNS)
def test_noise_alone_shows_no_bounds(budget, runs) -> None:
    names = [f"x{place}" for place in range(20)]
    draft = {"draft": True, "fields": [{"name": name, "type": "integer"} for name in names]}
    data = pl.DataFrame({name: pl.Series([], dtype=pl.Int64) for name in names})
    bits, found = SeededBits(3), 0

    for _ in range(runs // len(names)):
        _, opened, room = opened_room(data, draft, names, budget, bits)
        each = learn_bounds(room, opened, names, budget.split([1] * len(names)), quantile=Fraction(0), limits={})
        found += any(bounds.is_found for bounds in each)

    assert is_credible(found, runs // len(names), float(learned_bounds.FALSE_ALARM))


def far_bounds(runs):
    """Return in how many tables of 20 columns with values from 1 to 8 a bound lies powers of ten away from them."""
    names = [f"x{place}" for place in range(20)]
    draft = {"draft": True, "fields": [{"name": name, "type": "integer"} for name in names]}
    data = pl.DataFrame({name: np.arange(8000) % 8 + 1 for name in names})
    bits, far = SeededBits(5), 0
    for _ in range(runs):
        _, opened, room = opened_room(data, draft, names, BUDGETS["pure"], bits)
        costs = BUDGETS["pure"].split([1] * len(names))
        each = learn_bounds(room, opened, names, costs, quantile=Fraction(0), limits={})
        far += any(bounds.is_found and (bounds.minimum < -999 or bounds.maximum > 9999) for bounds in each)
    return far


@pytest.mark.parametrize("runs", [20, pytest.param(400, marks=pytest.mark.full)])
def test_noise_far_from_the_rows_hardly_ever_moves_a_bound(runs) -> None:
    assert is_credible(far_bounds(runs), runs, 2 * float(learned_bounds.FALSE_ALARM))


def test_a_low_level_far_from_the_rows_would_move_bounds_too_often(monkeypatch) -> None:
    monkeypatch.setattr(learned_bounds, "NEAR", 99)
    monkeypatch.setattr(learned_bounds, "NEAR_ALARM", Fraction(1, 10))

    assert not is_credible(far_bounds(20), 20, 0.002)


@EITHER
def test_noise_alone_keeps_no_entry_of_a_dictionary(budget) -> None:
    entries = tuple(f"entry {place}" for place in range(60))
    draft = {"draft": True, "fields": [{"name": "x", "type": "string"}]}
    bits, found, runs = SeededBits(4), 0, 400

    for _ in range(runs):
        data = pl.DataFrame({"x": pl.Series([], dtype=pl.String)})
        _, opened, room = opened_room(data, draft, ["x"], budget, bits, dictionaries={"x": entries})
        (kept,) = prune_dictionaries(room, opened, ["x"], [budget], prefixes={"x": (6, 7)})
        found += bool(kept.categories)

    assert is_credible(found, runs, 0.05)
    assert found > 0  # the level is not far above what is needed


def wide_tails(rng, rows):
    """Return a column whose ends thin out over cells and decades."""
    return np.concatenate((rng.lognormal(3, 2.0, rows), -rng.lognormal(0, 1.5, rows // 3)))


def unseen_misses(budget, runs):
    """Return how often more rows lie beyond a bound than is said."""
    rng, bits, misses = np.random.default_rng(6), SeededBits(6), 0
    draft = {"draft": True, "fields": [{"name": "x", "type": "number"}]}
    for _ in range(runs):
        values = wide_tails(rng, 900)
        _, opened, room = opened_room(pl.DataFrame({"x": values}), draft, ["x"], budget, bits)
        (found,) = learn_bounds(room, opened, ["x"], [budget], quantile=Fraction(0), limits={})
        low, high = (found.minimum, found.maximum) if found.is_found else (np.inf, np.inf)
        beyond = max((values < low).sum(), (values > high).sum())
        misses += beyond > found.unseen
    return misses


@EITHER
@pytest.mark.parametrize("runs", [150, pytest.param(3000, marks=pytest.mark.full)])
def test_no_more_rows_lie_beyond_a_bound_than_is_said(budget, runs) -> None:
    assert is_credible(unseen_misses(budget, runs), runs, 0.05)


@EITHER
def test_a_statement_without_the_tail_of_the_noise_would_fail_too_often(budget, monkeypatch) -> None:
    def without_tail(law, counts, failure):
        return max(0, int(np.sum(counts, dtype=np.int64)))

    monkeypatch.setattr(learned_bounds, "most_rows", without_tail)

    assert not is_credible(unseen_misses(budget, 150), 150, 0.05)


def test_a_level_for_one_place_alone_would_show_bounds_in_noise(monkeypatch) -> None:
    def for_one_place(law, cells, failure=None, widest=2**30):
        return ((1, learned_search.one_sided_tail(law, 1, learned_search.GAMMA)),)

    monkeypatch.setattr(learned_bounds, "noise_levels", for_one_place)
    draft = {"fields": [{"name": f"x{place}", "type": "integer"} for place in range(40)]}
    data = pl.DataFrame({f"x{place}": pl.Series([], dtype=pl.Int64) for place in range(40)})

    found, _ = learned(data, draft, BUDGETS["pure"], SeededBits(2), delta=TINY)

    assert not is_credible(sum(not field.blank for field in found.fields), 40, float(learned_bounds.FALSE_ALARM))


@EITHER
@pytest.mark.parametrize(
    "dictionaries", [{}, {"x": ("often", "never", "seldom")}], ids=["selected", "from a dictionary"]
)
def test_a_value_with_as_many_rows_as_is_said_is_listed(budget, dictionaries) -> None:
    draft = {"draft": True, "fields": [{"name": "x", "type": "string"}]}
    bits, misses, runs = SeededBits(9), 0, 120
    nothing = pl.DataFrame({"x": pl.Series([], dtype=pl.String)})
    first, _ = learned(nothing, draft, budget, bits, dictionaries=dictionaries)
    data = pl.DataFrame({"x": ["often"] * int(first.statements[0].value)})

    for _ in range(runs):
        found, _ = learned(data, draft, budget, bits, dictionaries=dictionaries)
        misses += "often" not in found.fields[0].categories

    assert is_credible(misses, runs, 0.05)
    assert misses > 0  # with so many rows and no more
