"""Once the ledger is debited nothing raises or warns, whatever the rows and the noise are: a release comes out.

All registered mechanisms, on schemas, settings and tables of every kind. What can be refused is refused before. The
one exception is the rule that ends a release of misfits, `LW118`, which is an answer by design.
"""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

import lapwing.kernel.room.room as rooms
from helpers.invented_answers import Invented
from helpers.odd_schemas import described, odd_schema, odd_settings
from helpers.odd_tables import odd_table
from helpers.unrecorded import RUN
from helpers.used_releases import use
from lapwing.api.running import run_release
from lapwing.errors import LapwingError
from lapwing.kernel.room.opening import public_terms
from lapwing.mechanisms.adaptive.few_columns import are_few_columns
from lapwing.mechanisms.adaptive.mechanism import Adaptive
from lapwing.mechanisms.registry import MECHANISMS
from lapwing.release.runs.misfits import ENDED
from lapwing.rows.source import code_table

FEW, MANY = 16, 400
"""Cases of each mechanism in every run of the tests, and in the long one."""


def released(settings, table):
    """Return a release, None where it was refused before the debit or ended by the rule of misfits."""
    paid = []
    try:
        source = code_table(table, settings.schema)
        terms = public_terms(source, settings.schema, settings.relation, settings.expected_rows)
        return run_release(
            source,
            settings,
            terms,
            replace(RUN, debit=lambda: paid.append("all")),
        )
    except LapwingError as refusal:
        if paid and refusal.code != ENDED:
            raise
        return None


def cases(name, seed, *, usual=False):
    """Yield random settings of a mechanism with the generator that made them, those that are no settings left out."""
    known, rng = MECHANISMS[name], np.random.default_rng([seed, len(name), *name.encode()])
    while True:
        schema = odd_schema(rng, known)
        settings = odd_settings(rng, known, schema, usual=usual)
        if settings is not None:
            yield rng, settings


def few_columns(seed):
    """Yield random settings of the default mechanism for one or two ordered columns, whose cells it counts together."""
    rng = np.random.default_rng([seed, 2])
    while True:
        schema = odd_schema(rng, MECHANISMS["adaptive"], is_tied=False)
        settings = odd_settings(rng, MECHANISMS["adaptive"], schema) if are_few_columns(schema) else None
        if settings is not None:
            yield rng, replace(settings, mechanism=Adaptive())


def check_few_columns(monkeypatch, folder, seed, number):
    """Run it on odd tables and on answers that nobody counted; return how many releases there were."""
    found = 0
    for place, (rng, settings) in zip(range(number), few_columns(seed), strict=False):
        table = odd_table(rng, settings.schema)
        with monkeypatch.context() as patch:
            if place % 2:
                patch.setattr(rooms, "ANSWERS", Invented(rng))
            found += _used(replace(settings, most_misfits=Fraction(1)), table, folder)
    return found


def check_invented(monkeypatch, folder, name, seed, number):
    """Run a mechanism on answers that nobody counted, and use what comes out; return how many releases there were."""
    found = 0
    for _, (rng, settings) in zip(range(number), cases(name, seed), strict=False):
        empty = pl.DataFrame({field.name: [None] * 9 for field in settings.schema.fields})
        with monkeypatch.context() as patch:
            patch.setattr(rooms, "ANSWERS", Invented(rng))
            found += _used(settings, empty, folder)
    return found


def check_tables(folder, name, seed, number, *, usual=False):
    """Run a mechanism on tables that hardly hold anything, and use what comes out; return how many releases."""
    found = 0
    for _, (rng, settings) in zip(range(number), cases(name, seed, usual=usual), strict=False):
        most = Fraction(1, 10) if rng.integers(4) == 0 else Fraction(1)
        found += _used(replace(settings, most_misfits=most), odd_table(rng, settings.schema), folder)
    return found


def _used(settings, table, folder):
    try:
        release = released(settings, table)
        if release is not None:
            use(release, folder, shown=settings.seed % 8 == 0)
    except Exception as failure:
        failure.add_note(described(settings))
        raise
    return release is not None


@pytest.mark.parametrize("name", MECHANISMS)
def test_whatever_the_answers_are_a_release_comes_out(monkeypatch, tmp_path, name):
    assert check_invented(monkeypatch, tmp_path, name, 1, FEW) >= 2


@pytest.mark.parametrize("name", MECHANISMS)
def test_whatever_the_table_is_a_release_comes_out(tmp_path, name):
    assert check_tables(tmp_path, name, 2, FEW // 4) >= 1


@pytest.mark.parametrize("seed", [3, 4])
def test_of_few_columns_a_release_comes_out(monkeypatch, tmp_path, seed):
    assert check_few_columns(monkeypatch, tmp_path, seed, FEW // 2) >= FEW // 4


@pytest.mark.full
@pytest.mark.parametrize("seed", range(10, 14))
@pytest.mark.parametrize("name", MECHANISMS)
def test_of_many_answers_and_tables_none_raises(monkeypatch, tmp_path, name, seed):
    assert check_invented(monkeypatch, tmp_path, name, seed, MANY // 4)
    assert check_tables(tmp_path, name, seed, MANY // 8)
    check_tables(tmp_path, name, seed, MANY // 40, usual=True)
