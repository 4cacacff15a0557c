"""What was spent on people who are in several data sets."""

import json
import random
import re
from fractions import Fraction

import pytest

from helpers.command import lapwing
from lapwing.errors import BudgetError, ParameterError
from lapwing.kernel.budget.accounts import Balance
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.budget.ledger import Ledger
from lapwing.release.runs import account_terms
from lapwing.release.runs.account_terms import together


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


# -- A population.

TERMS = ("--unit", "pure", "--limit", "9", "--neighbours", "add-remove", "--privacy-unit", "row")


def opened(book, name, population=None, **changes):
    """Open an account of one kind."""
    terms = {"unit": "pure", "limit": 100, "delta": None, "selection_delta": None}
    kind = {"relation": "add-remove", "privacy_unit": "row"} | changes
    account_terms.open_account(book, name, population=population, **terms, **kind)


def spent(book, name, epsilon):
    """Pay for a release."""
    held = Ledger.open(book)
    terms = {"relation": "add-remove", "privacy_unit": "row", "description": {}}
    held.debit(name, f"{name} {len(held.history(name))}", Budget.pure(epsilon), **terms)


def by_hand(book, population):
    """Return data sets of a population and what all their debits sum to, from the exported entries alone."""
    entries = Ledger.open(book).export()["entries"]
    names = {
        each["dataset"]
        for each in entries
        if each["kind"] == "init" and json.loads(each["details"]).get("population") == population
    }
    units = sum(each["units"] for each in entries if each["kind"] == "debit" and each["dataset"] in names)
    return names, Fraction(units, 10**9)


def sums_are_right(book):
    """Return whether `ledger show` says of each population of several accounts what a sum by hand gives."""
    out = lapwing("ledger", "show", "--ledger", book).out
    said = re.findall(r"^Population (.+?)\. Whoever is in all of (.+): epsilon ([0-9.]+)\.$", out, re.MULTILINE)
    wanted = {each: by_hand(book, each) for each in ("taxpayers", "patients")}
    found = {name: (set(names.split(", ")), Fraction(epsilon)) for name, names, epsilon in said}
    return found == {each: it for each, it in wanted.items() if len(it[0]) > 1}


@pytest.fixture
def book(tmp_path):
    """Return a ledger of random accounts, some of a population, with random releases."""
    draw, place = random.Random(6), tmp_path / "budget.db"
    for number in range(9):
        population = (None, "taxpayers", "patients")[number % 3]
        opened(place, f"d{number}", population)
        for _ in range(draw.randrange(3)):
            spent(place, f"d{number}", Fraction(draw.randrange(1, 2000), 1000))
    return place


def test_a_population_is_summed_over_all_its_accounts(book):
    assert by_hand(book, "taxpayers")[1] > 0
    assert sums_are_right(book)


def only_the_first_account(patch):
    honest = account_terms.together
    patch.setattr(account_terms, "together", lambda found: honest(found[:1]))


def one_account_is_left_out(patch):
    honest = account_terms._of_population
    patch.setattr(account_terms, "_of_population", lambda *given: honest(*given)[1:])


def the_population_is_forgotten(patch):
    patch.setattr(account_terms, "population_of", lambda _: None)


def all_populations_are_one(patch):
    honest = account_terms._of_population
    both = ("taxpayers", "patients")
    patch.setattr(
        account_terms, "_of_population", lambda book, _: [name for each in both for name in honest(book, each)]
    )


def the_largest_counts_alone(patch):
    patch.setattr(account_terms, "sum_text", lambda found: f"epsilon {float(max(each.amount for each in found)):g}")


@pytest.mark.parametrize(
    "plant",
    [
        only_the_first_account,
        one_account_is_left_out,
        the_population_is_forgotten,
        all_populations_are_one,
        the_largest_counts_alone,
    ],
    ids=lambda plant: plant.__name__,
)
def test_a_population_that_is_not_summed_is_seen(plant, book, monkeypatch):
    plant(monkeypatch)

    assert not sums_are_right(book)


def test_accounts_of_one_population_are_of_one_kind(tmp_path):
    opened(tmp_path / "b.db", "a", "taxpayers")

    with pytest.raises(BudgetError, match="name accounts of one kind"):
        opened(tmp_path / "b.db", "b", "taxpayers", relation="replace-one")
    opened(tmp_path / "b.db", "b", "others", relation="replace-one")
    assert Ledger.open(tmp_path / "b.db").datasets() == ("a", "b")


def test_a_population_without_a_plain_name_is_refused_before_there_is_a_ledger(tmp_path):
    with pytest.raises(ParameterError, match="the population must be 1 to 200 printable characters"):
        opened(tmp_path / "b.db", "a", " ")
    assert not (tmp_path / "b.db").exists()


def test_a_release_that_learns_from_another_one_says_what_both_come_to(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    fields = [{"name": name, "type": "boolean", "constraints": {"required": True}} for name in "xyz"]
    (tmp_path / "s.json").write_text(json.dumps({"fields": fields}))
    draw = random.Random(2)
    for year in ("2024", "2025"):
        lines = [",".join(draw.choices(["true", "false"], k=3)) for _ in range(500)]
        (tmp_path / f"{year}.csv").write_text("\n".join(["x,y,z", *lines]))
        assert lapwing("ledger", "init", year, *TERMS, "--population", "taxpayers").status == 0
    same = ("--schema", "s.json", "--ledger", "budget.db")

    first = lapwing(
        *("synthesize", "2024.csv", *same, "--dataset", "2024", "--epsilon", "1.5"),
        *("--model", "2024.lapwing", "-o", "a.csv"),
    )
    second = lapwing(
        *("synthesize", "2025.csv", *same, "--dataset", "2025", "--epsilon", "2", "--transcript", "t.jsonl"),
        *("--prior", "2024.lapwing", "-o", "b.csv", "--details"),
    )
    again = lapwing("resume", "t.jsonl", "2025.csv", "-o", "c.csv")

    assert "Population taxpayers. Whoever is in all of 2024, 2025: epsilon 1.5.\n" in first.err
    for said in (second, again):
        assert "Population taxpayers. Whoever is in all of 2024, 2025: epsilon 3.5.\n" in said.err
    assert "with the prior 2024.lapwing both budgets come to epsilon 3.5." in second.err
    assert "population    taxpayers" in lapwing("ledger", "show", "2024").out
