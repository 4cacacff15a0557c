"""What was spent on people who are in several data sets."""

from fractions import Fraction

import pytest

from helpers.command import lapwing
from lapwing.errors import BudgetError
from lapwing.kernel.budget.accounts import Balance
from lapwing.runs.account_terms import together


def account(dataset, unit="pure", spent="1", **terms):
    return Balance(
        **{
            "dataset": dataset,
            "unit": unit,
            "delta": None,
            "relation": "add-remove",
            "privacy_unit": "id:3",
            "limit": Fraction(10),
            "spent": Fraction(spent),
            "selection_delta": Fraction(0),
            "selection_spent": Fraction(0),
        }
        | terms
    )


def test_pure_epsilons_add_up():
    assert together([account("a"), account("b", spent="1/2")]) == "Whoever is in all of a, b: epsilon 1.5."


def test_rho_adds_up_and_a_pure_epsilon_counts_as_half_its_square():
    said = together([account("a", "zcdp", "1/100"), account("b", spent="1/5")])

    # Bun and Steinke 2016: epsilon-DP is epsilon**2 / 2-zCDP, here 0.02, and rho adds up.
    assert said.startswith("Whoever is in all of a, b: rho 0.03 (epsilon ")
    assert "at delta 1e-09" in said


def test_chances_of_selections_add_up():
    parts = [account(each, selection_spent=Fraction(1, 10**9)) for each in "ab"]

    assert together(parts).endswith(", and except with probability 0.000000002.")


@pytest.mark.parametrize("other", [{"relation": "replace-one"}, {"privacy_unit": "row"}])
def test_what_does_not_add_up_is_refused(other):
    with pytest.raises(BudgetError, match="name accounts of one kind"):
        together([account("a"), account("b", **other)])


def test_the_command_sums_accounts_of_a_ledger(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text("flag\n" + "true\nfalse\n" * 50)
    (tmp_path / "s.json").write_text('{"fields": [{"name": "flag", "type": "boolean"}]}')
    for name in ("one", "two"):
        terms = ("--unit", "pure", "--limit", "2", "--neighbours", "add-remove", "--privacy-unit", "row")
        assert lapwing("ledger", "init", name, *terms).status == 0
        made = ("--ledger", "budget.db", "--dataset", name, "-o", f"{name}.csv")
        assert lapwing("synthesize", "t.csv", "--schema", "s.json", "--epsilon", "1", *made).status == 0

    said = lapwing("ledger", "show", "--together", "one", "--together", "two")

    assert said.out == "Whoever is in all of one, two: epsilon 2.\n"
