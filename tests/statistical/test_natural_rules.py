"""Rows out of five real tables never break their natural rules, as an independent checker reads them."""

import itertools
from functools import cache

import polars as pl
import pytest

import lapwing as lw
from helpers.natural_rules import TABLES, declared, fields_of, schema_of
from helpers.plain_rules import broken_rows

COLUMNS = {
    "nist-ma2019": ("PUMA", "DENSITY", "AGEP", "MSP", "NOC", "NPF", "HOUSING_TYPE", "OWN_RENT"),
    "eusilc": ("hsize", "eqSS", "age", "pl030", "db090", "rb050"),
    "mimic-demo-admissions": ("dob", "admittime", "dischtime", "deathtime", "hospital_expire_flag", "edregtime"),
    "nycflights13": ("month", "day", "hour", "minute", "sched_dep_time", "dep_time", "dep_delay"),
    "census-kdd": ("age", "education", "industry_code", "major_industry_code", "weeks_worked_in_year", "year"),
}
"""Few enough columns for every mechanism, with rules of every kind among them."""

WHERE = {
    "nist-ma2019": {"AGEP": lw.between(10, 20), "HOUSING_TYPE": ["1", "3"]},
    "eusilc": {"age": lw.between(0, 20), "hsize": [2, 3]},
    "mimic-demo-admissions": {"hospital_expire_flag": 1},
    "nycflights13": {"month": [2, 4], "day": lw.between(25, 31)},
    "census-kdd": {"age": lw.between(10, 20)},
}
GIVEN = {
    "nist-ma2019": ("AGEP", "MSP", "NOC"),
    "eusilc": ("age", "hsize"),
    "mimic-demo-admissions": ("admittime", "hospital_expire_flag"),
    "nycflights13": ("month", "day", "hour"),
    "census-kdd": ("age", "education"),
}
MECHANISMS = ("Adaptive", "Independent", "PMM", "Grid", "KDTree", "Microaggregation", "LinearStatistics")
QUICK = ("nist-ma2019", "eusilc", "mimic-demo-admissions", "census-kdd")
"""Tables of which Adaptive draws rows in seconds; its rows of the fifth take a minute, in the full suite."""

ALL = ("nist-ma2019", "mimic-demo-admissions")
"""Tables of which all mechanisms make releases in CI, each of one of them."""

FEW, MANY = 3, 30_000
"""Rows below and above the number of atoms of every model here."""


@cache
def released(shared_data, name, mechanism, *, columns=None, rows=1000, rules=True, epsilon=1):
    schema = schema_of(shared_data, name, columns)
    data = pl.read_parquet(shared_data / name / "data.parquet")
    if not rules:
        del schema["rules"]
    return lw.synthesize(
        data if rows is None else data.head(rows), schema, epsilon=epsilon, mechanism=mechanism, seed=1
    )


def broken(rows, shared_data, name):
    """Return how many rows break each rule whose columns they have."""
    fields = fields_of(shared_data, name)
    kept = schema_of(shared_data, name, rows.columns)["rules"]
    return {str(rule)[:100]: count for rule in kept if (count := broken_rows(rows, rule, fields))}


def fast_if(is_fast, *case):
    """Return a case that runs in the full set of tests only, unless it is fast."""
    return pytest.param(*case, marks=[] if is_fast else [pytest.mark.full])


def only(*fast):
    """Return all tables, of which all but some are slow."""
    return [fast_if(name in fast, name) for name in TABLES]


@pytest.mark.parametrize(
    ("name", "mechanism"),
    [
        fast_if(mechanism == "PMM" or name in (QUICK if mechanism == "Adaptive" else [turn]), name, mechanism)
        for name, (mechanism, turn) in itertools.product(TABLES, zip(MECHANISMS, itertools.cycle(ALL), strict=False))
    ],
)
def test_no_row_out_breaks_a_natural_rule(name, mechanism, shared_data):
    release = released(shared_data, name, mechanism, columns=COLUMNS[name])

    for rows in (None, FEW, MANY):
        assert broken(release.sample(rows), shared_data, name) == {}


@pytest.mark.parametrize("name", only(*QUICK))
def test_rows_that_match_a_condition_keep_the_rules(name, shared_data):
    release = released(shared_data, name, "Adaptive", columns=COLUMNS[name])

    rows = release.sample(2000, seed=2, where=WHERE[name])

    assert rows.height == 2000
    assert broken(rows, shared_data, name) == {}


@pytest.mark.parametrize("name", only("nist-ma2019"))
def test_rows_for_condition_rows_keep_the_rules(name, shared_data):
    release = released(shared_data, name, "Adaptive", columns=COLUMNS[name])
    given = pl.read_parquet(shared_data / name / "data.parquet").select(GIVEN[name]).tail(1500)

    rows = release.sample(where=given, seed=4)

    assert rows.select(given.columns).equals(given.cast(rows.select(given.columns).schema))
    assert broken(rows, shared_data, name) == {}


@pytest.mark.parametrize("name", only("eusilc"))
def test_rows_of_a_saved_release_keep_the_rules(name, shared_data, tmp_path):
    release = released(shared_data, name, "PMM", columns=COLUMNS[name])
    release.save(tmp_path / "saved.lapwing")

    again = lw.load(tmp_path / "saved.lapwing")

    assert broken(again.sample(2000, seed=3), shared_data, name) == {}
    assert again.sample(50, seed=3).equals(release.sample(50, seed=3))


@pytest.mark.parametrize("name", only("nist-ma2019", "eusilc"))
def test_without_rules_rows_break_them(name, shared_data):
    rows = released(shared_data, name, "Adaptive", columns=COLUMNS[name], rules=False).sample(2000)

    assert broken(rows, shared_data, name)


@pytest.mark.parametrize("name", only("eusilc"))
def test_replicates_keep_the_rules(name, shared_data):
    release = released(shared_data, name, "Adaptive", columns=COLUMNS[name])

    for rows in release.replicates(4, rows=500, seed=2).frames():
        assert broken(rows, shared_data, name) == {}


@pytest.mark.parametrize("name", only("nist-ma2019"))
def test_rows_hold_a_public_total_and_the_rules_at_once(name, shared_data):
    (public,) = declared(name)["publicTables"]
    columns = {*COLUMNS[name], *public["columns"]}
    schema = schema_of(shared_data, name, columns, publicTables=[public])
    data = pl.read_parquet(shared_data / name / "data.parquet").head(1000)
    release = lw.synthesize(data, schema, epsilon=1, seed=1)

    rows = release.sample(sum(cell[-1] for cell in public["cells"]))

    counts = {tuple(key): count for *key, count in rows.group_by(public["columns"]).len().rows()}
    assert counts == {tuple(key): count for *key, count in public["cells"] if count}
    assert broken(rows, shared_data, name) == {}


def test_small_whole_tables_keep_all_of_their_rules(shared_data):
    name = "mimic-demo-admissions"
    release = released(shared_data, name, "Adaptive", rows=None)

    rows = release.sample(5000)

    assert len(schema_of(shared_data, name, rows.columns)["rules"]) == len(declared(name)["rules"])
    assert broken(rows, shared_data, name) == {}


@pytest.mark.full
@pytest.mark.parametrize("mechanism", ["Adaptive", "Independent"])
@pytest.mark.parametrize("name", TABLES)
def test_no_row_out_of_a_whole_table_breaks_a_natural_rule(name, mechanism, shared_data):
    release = released(shared_data, name, mechanism, rows=None)

    for rows in (None, 1000, 500_000):
        assert broken(release.sample(rows), shared_data, name) == {}
