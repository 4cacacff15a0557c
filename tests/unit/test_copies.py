"""What `copy` and `pickle` (so joblib and multiprocessing) make of what users hold: the same again."""

import copy
import pickle

import polars as pl
import pytest

import lapwing as lw
from helpers.linked_homes import SCHEMA as HOMES
from helpers.linked_homes import tables

SCHEMA = lw.Schema.load(
    {
        "fields": [
            {"name": "a", "type": "boolean"},
            {"name": "b", "type": "string", "categories": ["x", "yy"], "hierarchy": {"prefixes": [1]}},
        ]
    }
)
DATA = pl.DataFrame({"a": [True, False] * 50, "b": ["x", "yy"] * 50})
QUICK = lw.Adaptive(particles=64, rounds=2)


@pytest.fixture(scope="module")
def release():
    return lw.synthesize(DATA, SCHEMA, epsilon=1, mechanism=QUICK, seed=1)


def again(value):
    return [copy.copy(value), copy.deepcopy(value), pickle.loads(pickle.dumps(value))]


def test_a_release_draws_the_same_rows_and_saves_the_same_file(release, tmp_path):
    release.save(tmp_path / "m.lapwing")

    for each in again(release):
        each.save(tmp_path / "again.lapwing")
        assert each.sample(40).equals(release.sample(40))
        assert each.certificate == release.certificate
        assert (tmp_path / "again.lapwing").read_bytes() == (tmp_path / "m.lapwing").read_bytes()
        with pytest.raises(TypeError):
            each.model.laws["a"] = None


def test_settings_plans_and_results_come_back_equal(release):
    mechanisms = [
        getattr(lw, name)() for name in lw.__all__ if hasattr(getattr(lw, name), "run") and name != "Mechanism"
    ]
    held = [SCHEMA, lw.plan(SCHEMA, expected_rows=100, epsilon=1), release.accuracy(), release.certificate, *mechanisms]
    held += [lw.between(1, 2), lw.Query("select 1", "sqlite:///x.db"), QUICK]

    assert len(mechanisms) >= 9
    for value in held:
        assert again(value) == [value] * 3


def test_linked_releases_draw_the_same_rows():
    made = lw.synthesize(tables(60), HOMES, epsilon=1, delta=1e-6, seed=1)

    for each in again(made):
        assert all(map(pl.DataFrame.equals, each.sample(), made.sample()))


def test_an_error_keeps_its_sentence_and_code():
    for each in again(lw.ParameterError("said", code="LW302")):
        assert (str(each), each.code) == ("said", "LW302")
