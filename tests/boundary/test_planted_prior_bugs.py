"""Bugs of priors, planted one by one: record and replay flags each of them."""

import itertools
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import lapwing as lw
from helpers.peeking import rows_behind
from lapwing.errors import BudgetError
from lapwing.extras.audit.pairs import neighbour_pair
from lapwing.extras.audit.replay import audit_pair
from lapwing.mechanisms.adaptive import mechanism as adaptive
from lapwing.mechanisms.trees.kd_tree import mechanism as kd_tree
from lapwing.mechanisms.trees.pmm import mechanism as pmm
from mechanism_checks import settings_for

PAIRS = 8
TIMES = 1000
"""Times a budget of one: with less, noise drowns the generated tables."""


def first_flags(kind=adaptive.Adaptive, times=TIMES, pairs=PAIRS):
    """Return the flags of the first of some pairs that has any, for releases with a prior."""
    rng = np.random.default_rng(8)
    for _, relation, pure in itertools.product(range(pairs), ("add-remove", "replace-one"), (True, False)):
        pair = neighbour_pair(rng, relation, 1)
        (_, with_prior) = kind.audited(pair.schema)
        settings = settings_for(with_prior, pair.schema, relation, pure=pure, times=times)
        flags = audit_pair(pair.data, pair.neighbour, settings)
        if flags:
            return flags
    return ()


def the_prior_is_read_from_the_private_rows(patch):
    honest = adaptive.measure_prior_distances

    def peeking(curator, columns, given, *rest):
        chunks = list(rows_behind(curator).chunks())
        if not chunks:
            return honest(curator, columns, given, *rest)
        codes = {name: np.concatenate([chunk[name] for chunk in chunks]) for name in chunks[0]}
        return honest(curator, columns, [replace(given[0], codes=codes)], *rest)

    patch.setattr(adaptive, "measure_prior_distances", peeking)


def single_columns_are_steadied_by_the_private_rows(patch):
    honest, held = adaptive.shrink_towards_prior, []
    known = adaptive.known_rows
    patch.setattr(adaptive, "known_rows", lambda curator, budget: held.append(curator) or known(curator, budget))

    def peeking(tables, names, given, total):
        chunks = list(rows_behind(held[-1]).chunks())
        codes = (
            {name: np.concatenate([chunk[name] for chunk in chunks]) for name in names} if chunks else given[0].codes
        )
        return honest(tables, names, [replace(given[0], codes=codes)], total)

    patch.setattr(adaptive, "shrink_towards_prior", peeking)


def the_distance_of_the_prior_is_exact(patch):
    honest = adaptive.measure_prior_distances

    def exact(curator, *rest):
        class Without:
            terms = curator.terms

            def ask(self, *questions):
                answers = curator.ask(*questions)
                rows = rows_behind(curator)
                return tuple(replace(each, values=each.values * 0 + rows.rows % 2 * 10**9) for each in answers)

        return honest(Without(), *rest)

    patch.setattr(adaptive, "measure_prior_distances", exact)


def a_tree_reads_its_prior_from_the_private_rows(patch, module, kind):
    run, honest, held = kind.run, module.spread_codes, []

    def watched(self, curator, *rest):
        held.append(curator)
        return run(self, curator, *rest)

    def peeking(prior, *rest):
        chunks = list(rows_behind(held[-1]).chunks())
        if not chunks:
            return honest(prior, *rest)
        return {name: np.concatenate([chunk[name] for chunk in chunks]) for name in chunks[0]}

    patch.setattr(kind, "run", watched)
    patch.setattr(module, "spread_codes", peeking)


TREES = [(kd_tree, kd_tree.KDTree), (pmm, pmm.PMM)]
BUGS = [
    the_prior_is_read_from_the_private_rows,
    single_columns_are_steadied_by_the_private_rows,
    the_distance_of_the_prior_is_exact,
]


@pytest.mark.parametrize("plant", BUGS, ids=lambda plant: plant.__name__)
def test_a_bug_in_priors_is_flagged(plant, monkeypatch):
    plant(monkeypatch)

    assert first_flags()


@pytest.mark.parametrize(("module", "kind"), TREES)
def test_a_tree_that_reads_its_prior_from_the_private_rows_is_flagged(module, kind, monkeypatch):
    a_tree_reads_its_prior_from_the_private_rows(monkeypatch, module, kind)

    assert first_flags(kind, times=5)  # with more, no noise is left that a prior could explain


@pytest.mark.parametrize("kind", [adaptive.Adaptive, kd_tree.KDTree, pmm.PMM])
@pytest.mark.parametrize("pairs", [1, pytest.param(PAIRS, marks=pytest.mark.full)])
def test_honest_releases_with_a_prior_are_not_flagged_on_the_same_pairs(kind, pairs):
    assert first_flags(kind, pairs=pairs) == ()


def test_a_release_that_forgets_what_the_prior_cost_is_refused(monkeypatch):
    honest = adaptive.reserve_prior_budget
    monkeypatch.setattr(adaptive, "reserve_prior_budget", lambda budget, count: (honest(budget, count)[0], budget))
    rows = pl.DataFrame({name: list("aabb") * 200 for name in ("one", "two", "three")})
    fields = [{"name": name, "type": "string", "categories": ["a", "b"]} for name in rows.columns]

    with pytest.raises(BudgetError):
        lw.synthesize(rows, {"fields": fields}, epsilon=100, mechanism=lw.Adaptive(prior=rows[:100]))
