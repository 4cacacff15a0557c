"""The look at all pairs: what it asks follows answers alone."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from helpers.peeking import peeking
from lapwing.extras.audit.replay import audit_pair
from lapwing.mechanisms.adaptive import rounds
from lapwing.mechanisms.adaptive.mechanism import Adaptive
from mechanism_checks import settings_for

FLAGS = {"fields": [{"name": f"f{place}", "type": "boolean"} for place in range(6)]}
LOOKS = [("add-remove", True, 20), ("replace-one", True, 60), ("add-remove", False, 16), ("replace-one", False, 32)]


def look_flags(relation, *, pure, times):
    """Return the flags of two tables of which one has another row more, or in place of one."""
    rng = np.random.default_rng(3)
    alike = rng.random(40) < 0.5
    columns = [np.where(rng.random(40) < 0.9, alike, ~alike) for _ in range(6)]
    rows = pl.DataFrame({f"f{place}": np.where(each, "true", "false") for place, each in enumerate(columns)})
    rows = rows.with_columns(f5=pl.Series(["", *rows["f5"][1:]]))
    more = pl.DataFrame({f"f{place}": ["true"] for place in range(6)})
    other = pl.concat([rows, more] if relation == "add-remove" else [rows[1:], more])
    settings = settings_for(Adaptive(particles=64), FLAGS, relation, pure=pure, times=times)
    return [audit_pair(*pair, settings) for pair in ((rows, other), (other, rows))]


@pytest.mark.parametrize(("relation", "pure", "times"), LOOKS)
def test_a_look_at_all_pairs_is_not_flagged(relation, pure, times, monkeypatch):
    asked, honest = [], rounds.choose_cells
    monkeypatch.setattr(rounds, "choose_cells", lambda *given: asked.append(1) or honest(*given))

    assert look_flags(relation, pure=pure, times=times) == [(), ()]
    assert asked


@pytest.mark.parametrize("pure", [True, False])
def test_a_look_that_cuts_cells_about_the_true_mean_is_flagged(pure, monkeypatch):
    source, honest = peeking(monkeypatch), rounds.choose_cells

    def chosen_cells(coordinates, moment, totals, *rest):
        vectors = [coordinates.vectors(chunk) for chunk in source().chunks()]
        exact = np.concatenate(vectors).sum(axis=0)
        return honest(coordinates, moment, replace(totals, sums=exact), *rest)

    monkeypatch.setattr(rounds, "choose_cells", chosen_cells)

    assert all(look_flags("add-remove", pure=pure, times=20 if pure else 16))
