"""Without a ledger, every release of one table in a process but the first is told with what all of them cost."""

import itertools
import re
import warnings
from fractions import Fraction

import polars as pl
import pytest
from sklearn.model_selection import GridSearchCV

import lapwing as lw
from lapwing.errors import SpendingWarning
from lapwing.kernel.budget.budget import requested_budget
from lapwing.kernel.budget.conversions import epsilon_for
from lapwing.kernel.budget.ledger import Ledger

NUMBERS = itertools.count()


@pytest.fixture
def names():
    """Return columns that no other test has released."""
    number = next(NUMBERS)
    return [f"{letter}_unaccounted_{number}" for letter in "abc"]


def release(names, *, epsilon=1, rows=40, **settings):
    """Make a release; return what is told of spending."""
    fields = [{"name": name, "type": "boolean", "constraints": {"required": True}} for name in names]
    frame = pl.DataFrame({name: [True, False] * rows for name in names})
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        lw.synthesize(frame, {"fields": fields}, epsilon=epsilon, mechanism="Independent", **settings)
    own = [each for each in found if issubclass(each.category, SpendingWarning)]
    assert all((each.filename, each.message.code) == (__file__, "LW908") for each in own)
    return [str(each.message) for each in own]


def test_every_release_but_the_first_is_told_with_the_sum(names):
    assert release(names, epsilon="0.5") == []
    (second,), (third,) = release(names, epsilon=1), release(names, epsilon=2, rows=9)

    assert second.startswith("2 releases of these columns")
    assert "cost epsilon 1.5 together" in second
    assert "cost epsilon 3.5 together" in third


@pytest.mark.parametrize("epsilons", [("1", "1"), ("0.5", "2")])
def test_where_rho_adds_up_the_sum_is_in_epsilon_at_the_delta(names, epsilons):
    *_, last = (release(names, epsilon=each, delta="1e-6") for each in epsilons)

    rho = sum(requested_budget(epsilon=each, delta="1e-6").rho for each in epsilons)
    told = Fraction(re.search(r"epsilon ([0-9.]+) at delta 1e-06", last[0])[1])
    exact = epsilon_for(rho, Fraction(1, 10**6))
    assert exact <= told < exact + Fraction(1, 10**6)
    assert told < sum(map(Fraction, epsilons))


def test_fewer_columns_of_a_table_are_the_same_people_and_other_columns_or_terms_are_not(names):
    assert release(names) == []
    assert "2 releases" in release(names[:2])[0]
    assert "3 releases" in release(names)[0]
    assert release([f"other_{name}" for name in names]) == []
    assert release(names, neighbours="replace-one") == []


def test_what_a_ledger_knows_is_not_told(names, tmp_path):
    Ledger.create_or_open(tmp_path / "b.db").init("t", unit="pure", limit=9, relation="add-remove", privacy_unit="row")
    kept = {"ledger": tmp_path / "b.db", "dataset": "t"}

    assert release(names) == release(names, **kept) == release(names, **kept) == []


def test_a_resumed_release_counts_once(names, tmp_path):
    release(names, transcript=tmp_path / "t.lwt")
    frame = pl.DataFrame({name: [True, False] * 40 for name in names})
    with warnings.catch_warnings():
        warnings.simplefilter("error", SpendingWarning)
        lw.resume(tmp_path / "t.lwt", frame)

    assert "2 releases" in release(names)[0]


def test_a_search_over_settings_is_told_what_it_spends(names):
    fields = [{"name": name, "type": "integer", "constraints": {"minimum": 0, "maximum": 3}} for name in names]
    frame = pl.DataFrame({name: [0, 1, 2, 3] * 30 for name in names}).to_pandas()
    searched = GridSearchCV(
        lw.Synthesizer({"fields": fields}, mechanism="Independent"),
        {"epsilon": [0.5, 1]},
        cv=2,
        scoring=lambda fitted, _: fitted.release_.model.rows,
    )
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        searched.fit(frame)

    told = [str(each.message) for each in found if issubclass(each.category, SpendingWarning)]
    spent = 3 + searched.best_params_["epsilon"]
    assert len(told) == 4
    assert "5 releases of these columns were paid for in this process and none is in a ledger" in told[-1]
    assert f"epsilon {spent:g} together" in told[-1]
