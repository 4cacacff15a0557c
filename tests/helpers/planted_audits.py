"""Who must see a planted bug."""

import itertools
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import polars as pl

import lapwing as lw
from helpers import category_runs, misfit_tables
from helpers.planting import audit
from lapwing.errors import BudgetError
from lapwing.extras.audit.mechanism_pairs import bought_settings
from lapwing.extras.audit.pairs import FREQUENT, neighbour_pair, text_pair
from lapwing.extras.audit.replay import audit_pair
from lapwing.extras.audit.run import question_cases
from lapwing.extras.audit.worst_case import CRAMPED_TABLES, USUAL, certified_loss
from lapwing.mechanisms.adaptive.one_way import FOUND_ROWS
from lapwing.mechanisms.trees.pmm.mechanism import PMM
from mechanism_checks import settings_for

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


@audit
def replay_of_gaps(way):
    """Record and replay two tables, in one of which a value is missing, where only tables of gaps are affordable."""
    names = ("one", "two", "three")
    whole = pl.DataFrame({name: ["1"] * 30 for name in names})
    with_gap = pl.concat([whole, whole[:1].with_columns(one=pl.lit(None, dtype=pl.String))])
    fields = [{"name": name, "type": "integer", "constraints": {"minimum": 0, "maximum": 9}} for name in names]
    settings = settings_for(lw.Adaptive(particles=64), {"fields": fields}, "add-remove", pure=True, times=8)
    yield partial(audit_pair, *(whole, with_gap)[::way], settings)


@audit
def replay_of_single_values(way):
    """Record and replay two tables: a value has just enough rows to be found, or one row less."""
    rows = [str(value) for value in range(0, 10**7, 2 * 10**5)]
    more = pl.DataFrame({"one": ["1234567"] * (int(FOUND_ROWS) + 1) + rows})
    wide = {"fields": [{"name": "one", "type": "integer", "constraints": {"minimum": 0, "maximum": 10**7}}]}
    settings = settings_for(lw.Adaptive.small(), wide, "add-remove", pure=True, times=1000)
    yield partial(audit_pair, *(more, more[1:])[::way], settings)


@audit
def replay_of_files(mechanism):
    """Record and replay releases of tables whose rows lie in three files."""
    rng = np.random.default_rng(12)
    with TemporaryDirectory() as folder:
        for number, relation, max_rows, pure in terms_of_pairs():
            pair = neighbour_pair(rng, relation, max_rows, partial(as_files, Path(folder)))
            settings = settings_for(mechanism, pair.schema, relation, pure=pure)
            # Small files are one chunk together, unless chunks are smaller still.
            mode = CRAMPED_TABLES if number % 2 else USUAL
            yield partial(audit_pair, pair.data, pair.neighbour, settings, mode=mode)


def as_files(folder, frame):
    """Write a frame to three files; return their paths."""
    paths = [folder / f"{sum(1 for _ in folder.iterdir())}.{part}.parquet" for part in range(3)]
    for path, rows in zip(paths, np.array_split(np.arange(frame.height), 3), strict=True):
        frame[rows].write_parquet(path)
    return paths


@audit
def black_box():
    """Ask for two counts thousands of times on worst-case neighbours under pure epsilon; look for a loss above it."""
    wanted = ("MarginalCounts", "replace-one", 1, "pure")
    (case,) = [
        each for each in question_cases() if (each.question, each.relation, each.max_rows, each.cost.notion) == wanted
    ]

    def look():
        certified = certified_loss(*case.run(6_000), delta=case.at_delta)
        return (f"{certified} is lost",) if certified > case.claim else ()

    yield look


@audit
def checked(look, *given, **settings):
    """Look once, by a function that returns what is wrong."""
    yield partial(look, *given, **settings)
