"""Who must see a planted bug."""

import itertools
from dataclasses import replace
from fractions import Fraction
from functools import partial

import numpy as np
import polars as pl

import lapwing as lw
from helpers import category_runs, misfit_tables
from lapwing.errors import BudgetError
from lapwing.extras.audit.mechanism_pairs import bought_settings
from lapwing.extras.audit.pairs import FREQUENT, neighbour_pair, text_pair
from lapwing.extras.audit.replay import audit_pair
from lapwing.extras.audit.worst_case import USUAL
from lapwing.mechanisms.trees.pmm.mechanism import PMM
from mechanism_checks import settings_for
from planted.bug import audit

BOTH = ("add-remove", "replace-one")


def terms_of_pairs(relations=BOTH, rows_per_unit=(1, 3)):
    """Yield a number, a relation, rows per unit and a notion, again and again."""
    for number in itertools.count():
        yield from itertools.product([number], relations, rows_per_unit, (True, False))


@audit
def replay(mechanism, *, relations=BOTH, rows_per_unit=(1, 3), times=1, mode=USUAL, **changes):
    """Record and replay releases on generated pairs, at so many times a budget of one."""
    rng = np.random.default_rng(8)
    for _, relation, max_rows, pure in terms_of_pairs(relations, rows_per_unit):
        pair = neighbour_pair(rng, relation, max_rows)
        settings = settings_for(mechanism, pair.schema, relation, pure=pure, times=times)
        yield partial(audit_pair, pair.data, pair.neighbour, replace(settings, **changes), mode=mode)


@audit
def replay_of_priors(kind, *, times=1000):
    """Record and replay releases with a prior; by default with so much budget that noise drowns no table."""
    rng = np.random.default_rng(8)
    for _, relation, max_rows, pure in terms_of_pairs(rows_per_unit=(1,)):
        pair = neighbour_pair(rng, relation, max_rows)
        _, with_prior = kind.audited(pair.schema)
        settings = settings_for(with_prior, pair.schema, relation, pure=pure, times=times)
        yield partial(audit_pair, pair.data, pair.neighbour, settings)


@audit
def replay_of_lists(*, relations=BOTH, rows_per_unit=(1, 3), times=None, frequent=FREQUENT, **changes):
    """Record and replay lists of texts, at budgets from small to large unless one is given."""
    rng = np.random.default_rng(60)
    for _, relation, max_rows, pure in terms_of_pairs(relations, rows_per_unit):
        pair = text_pair(rng, relation, max_rows, frequent)
        budget = int(rng.choice([1, 4, 1000])) if times is None else times
        settings = category_runs.list_settings(pair.schema, relation, pure=pure, times=budget, **changes)
        yield partial(audit_pair, pair.data, pair.neighbour, settings, category_runs.asked_lists)


@audit
def replay_of_evaluations(*, relations=BOTH, rows_per_unit=(1, 3), **settings):
    """Record and replay bought evaluations, at budgets from small to large unless one is given."""
    rng = np.random.default_rng(20)
    for number, relation, max_rows, pure in terms_of_pairs(relations, rows_per_unit):
        pair = neighbour_pair(rng, relation, max_rows)
        given = {"times": int(rng.choice([1, 10, 1000])), "expected_rows": [None, 20][number % 2]} | settings
        asked = bought_settings(pair.schema, relation, pure=pure, seed=int(rng.integers(99)), **given)
        yield partial(audit_pair, pair.data, pair.neighbour, asked)


@audit
def replay_of_misfits():
    """Record and replay releases that look for cells that do not fit: tables in which all fit, or some do not."""
    settings = settings_for(PMM.small(), misfit_tables.SCHEMA, "add-remove", pure=True)
    for seed in itertools.count():
        frame, _ = misfit_tables.table(np.random.default_rng(seed), 9, fits=seed % 2 == 1)
        yield partial(audit_pair, frame, frame[1:], replace(settings, misfit_share=Fraction(1, 4)))


@audit
def refused_with_a_prior():
    """Make a release with a prior that costs more than its budget, and is refused for that."""
    rows = pl.DataFrame({name: list("aabb") * 200 for name in ("one", "two", "three")})
    fields = [{"name": name, "type": "string", "categories": ["a", "b"]} for name in rows.columns]

    def refusal():
        try:
            lw.synthesize(rows, {"fields": fields}, epsilon=100, mechanism=lw.Adaptive(prior=rows[:100]))
        except BudgetError as error:
            return (str(error),)
        return ()

    yield refusal
