"""Budgets: amounts, conversions, and what a process and an account have spent together."""

import itertools
import json
import math
import random
import re
import time
import warnings
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from sklearn.model_selection import GridSearchCV

import lapwing as lw
from helpers.command import lapwing
from lapwing.errors import BudgetError, ParameterError, SpendingWarning
from lapwing.kernel.budget import conversions
from lapwing.kernel.budget.accounts import Balance
from lapwing.kernel.budget.budget import Budget, as_text, exact_number, read_request, requested_budget
from lapwing.kernel.budget.conversions import (
    CERTIFICATE_DELTAS,
    certificate_epsilons,
    epsilon_for,
    log_between,
    rho_for,
    rounded_up,
)
from lapwing.kernel.budget.ledger import Ledger
from lapwing.kernel.room.holds import transcripts_of
from lapwing.release.runs import account_terms
from lapwing.release.runs.account_terms import together
from lapwing.release.runs.records import unpaid_transcripts


@pytest.mark.parametrize(
    ("value", "exact"),
    [
        (0.1, Fraction(1, 10)),
        (1e-9, Fraction(1, 10**9)),
        ("1e-9", Fraction(1, 10**9)),
        (" 0.25 ", Fraction(1, 4)),
        ("2/3", Fraction(2, 3)),
        (Fraction(2, 3), Fraction(2, 3)),
        (3, Fraction(3)),
        (np.float64(0.1), Fraction(1, 10)),
        (np.float32(0.1), Fraction(1, 10)),
        (np.int64(2), Fraction(2)),
    ],
)
def test_a_number_is_read_as_it_is_written(value: object, exact: Fraction) -> None:
    read = exact_number("epsilon", value)

    assert read == exact


@pytest.mark.parametrize(
    "value",
    [math.nan, math.inf, -math.inf, "nan", "inf", "one", "", "1/0", "1e99999999", "9" * 1000, True, None, [1], 1j],
)
def test_anything_but_a_finite_number_is_refused_by_name(value: object) -> None:
    with pytest.raises(ParameterError, match=r"^epsilon must be a "):
        exact_number("epsilon", value)


@pytest.mark.parametrize(
    ("number", "text"),
    [("0", "0"), ("0.05", "0.05"), ("-1/8", "-0.125"), ("1/7", "1/7"), ("12.5", "12.5"), ("1e-9", "0.000000001")],
)
def test_numbers_are_written_exactly(number: str, text: str) -> None:
    written = as_text(Fraction(number))

    assert written == text
    assert Fraction(written) == Fraction(number)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"epsilon": 0}, "epsilon must be above 0, got 0"),
        ({"epsilon": -1.5}, "epsilon must be above 0, got -1.5"),
        ({"epsilon": math.nan}, "epsilon must be a finite number, got 'nan'"),
        ({"epsilon": math.inf}, "epsilon must be a finite number, got 'inf'"),
        ({"epsilon": True}, "epsilon must be a number, got the truth value True"),
        ({"epsilon": "much"}, "epsilon must be a finite number, got 'much'"),
        ({"epsilon": 1e10}, "epsilon must lie between 0.000000001 and 10^9, got 10000000000.0"),
        ({"epsilon": 1e-10}, "epsilon must lie between 0.000000001 and 10^9, got 1e-10"),
        ({"rho": 0}, "rho must be above 0, got 0"),
        ({"rho": "1e-13"}, "rho must lie between 0.000000000001 and 10^9, got 1e-13"),
        ({}, "exactly one of epsilon and rho must be given, got neither"),
        ({"delta": 1e-9}, "exactly one of epsilon and rho must be given, got neither"),
        ({"epsilon": 1, "rho": 1}, "exactly one of epsilon and rho must be given, got both"),
        ({"rho": 1, "delta": 1e-9}, "delta goes with epsilon, not with rho"),
        ({"epsilon": 1, "delta": 1}, "delta must be at least 0 and below 1, got 1"),
        ({"epsilon": 1, "delta": -1e-9}, "delta must be at least 0 and below 1, got -1e-09"),
        ({"epsilon": 1, "delta": math.nan}, "delta must be a finite number, got 'nan'"),
        ({"epsilon": 1, "delta": "1e-400"}, "delta must lie between 1e-300 and 1 to convert a budget, got 0"),
        ({"epsilon": "1e-9", "delta": "1e-300"}, "epsilon 1e-9 with delta 1e-300 is worth less than rho 1e-12"),
    ],
)
def test_a_bad_setting_is_refused_in_one_sentence(settings: dict[str, object], sentence: str) -> None:
    with pytest.raises(ParameterError) as caught:
        requested_budget(**settings)  # type: ignore[arg-type]

    message = str(caught.value)
    assert message.startswith(sentence)
    assert "; " in message
    assert "\n" not in message


def test_epsilon_alone_is_pure_and_zero_delta_changes_nothing() -> None:
    alone = read_request(epsilon=0.1)
    with_zero = read_request(epsilon=0.1, delta=0)

    assert alone.budget == Budget("pure", Fraction(1, 10))
    assert alone == with_zero
    assert alone.delta is None


def test_epsilon_with_delta_is_paid_in_rho_and_remembers_what_was_asked() -> None:
    request = read_request(epsilon=1, delta=1e-9)

    assert request.budget.notion == "zcdp"
    assert 0 < request.budget.rho < Fraction(1, 2)
    assert (request.epsilon, request.delta, request.rho) == (1, Fraction(1, 10**9), None)


@pytest.mark.parametrize("shares", [[], [0, 0], [1, -1]])
def test_shares_that_divide_nothing_are_refused(shares: list[int]) -> None:
    with pytest.raises(ParameterError, match="shares of a budget must be at least 0 and not all 0"):
        Budget.pure(1).split(shares)


def test_a_budget_never_gets_negative() -> None:
    with pytest.raises(BudgetError, match=r"epsilon 0\.1 cannot pay epsilon 0\.2"):
        _ = Budget.pure(0.1) - Budget.pure(0.2)
    with pytest.raises(BudgetError, match="cannot be negative"):
        Budget("pure", Fraction(-1))


def test_the_two_notions_do_not_mix() -> None:
    pure, zcdp = Budget.pure(1), Budget.zcdp(1)

    with pytest.raises(BudgetError, match="cannot be added"):
        _ = pure + zcdp
    with pytest.raises(ParameterError, match="no epsilon"):
        _ = zcdp.epsilon
    with pytest.raises(ParameterError, match="no rho"):
        _ = pure.rho
    assert pure.as_zcdp() == Budget.zcdp("1/2")
    assert zcdp.as_zcdp() == zcdp


def test_a_float_cannot_slip_in_as_an_amount() -> None:
    with pytest.raises(ParameterError, match="must be a Fraction, got a float"):
        Budget("pure", 0.1)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="must be 'pure' or 'zcdp'"):
        Budget("renyi", Fraction(1))  # type: ignore[arg-type]


NINE = Fraction(1, 10**9)
TWELVE = Fraction(1, 10**12)


@pytest.mark.parametrize("rho", ["1e-9", "1e-3", "0.5", "30", "1e3"])
@pytest.mark.parametrize("delta", ["1e-30", "1e-9", "1e-3", "0.5"])
def test_extreme_arguments_convert_and_come_back_within_one_step(rho: str, delta: str) -> None:
    exact_rho, exact_delta = Fraction(rho), Fraction(delta)

    epsilon = epsilon_for(exact_rho, exact_delta)

    assert (epsilon * 10**9).denominator == 1
    if epsilon > 0:
        back = rho_for(epsilon, exact_delta)
        assert (back * 10**12).denominator == 1
        # One step of epsilon is 1e-9; d rho / d epsilon = 1 / alpha is at most 1.
        assert exact_rho - TWELVE <= back <= exact_rho + NINE


def test_no_rho_costs_no_epsilon_and_a_tiny_grant_is_zero() -> None:
    assert epsilon_for(Fraction(0), Fraction(1, 10**6)) == 0
    assert rho_for(Fraction(1, 10**9), Fraction(1, 10**30)) == 0


def test_a_delta_that_covers_everything_leaves_epsilon_zero() -> None:
    assert epsilon_for(Fraction(1, 10**9), Fraction(1, 2)) == 0


@pytest.mark.parametrize("delta", [Fraction(0), Fraction(1), Fraction(-1), Fraction(2), Fraction(1, 10**301)])
def test_a_delta_that_converts_nothing_is_refused(delta: Fraction) -> None:
    for convert in (epsilon_for, rho_for):
        with pytest.raises(ParameterError, match="delta must lie between 1e-300 and 1"):
            convert(Fraction(1), delta)


@pytest.mark.parametrize("amount", [Fraction(-1), Fraction(10**9 + 1)])
def test_an_amount_outside_the_range_is_refused(amount: Fraction) -> None:
    with pytest.raises(ParameterError, match="rho must lie between 0 and"):
        epsilon_for(amount, NINE)
    with pytest.raises(ParameterError, match="epsilon must lie between 0 and"):
        rho_for(amount, NINE)
    with pytest.raises(ParameterError, match="epsilon must be above 0"):
        rho_for(Fraction(0), NINE)


def test_the_certificate_lists_three_deltas() -> None:
    listed = certificate_epsilons(Fraction(1, 2))

    assert tuple(delta for delta, _ in listed) == CERTIFICATE_DELTAS
    assert [epsilon for _, epsilon in listed] == sorted(epsilon for _, epsilon in listed)


def test_a_bad_search_costs_sharpness_and_never_safety(monkeypatch: pytest.MonkeyPatch) -> None:
    epsilon, rho = epsilon_for(Fraction(1, 2), NINE), rho_for(Fraction(1), NINE)

    for log_order in (-30.0, 0.0, 30.0):
        monkeypatch.setattr(conversions, "_LOG_ORDER", log_order)

        # With both ends equal or crossed the search returns exp(-log_order) whatever the arguments are.
        assert epsilon_for(Fraction(1, 2), NINE) >= epsilon
        assert rho_for(Fraction(1), NINE) <= rho


def test_a_conversion_takes_less_than_twenty_milliseconds() -> None:
    start = time.process_time()

    for _ in range(20):
        epsilon_for(Fraction(1, 2), NINE)
        rho_for(Fraction(1), NINE)

    # 40 conversions of at most 20 ms; measured: 0.3 ms each.
    assert time.process_time() - start < 0.8


NUMBERS = ["2", "1/2", "3/7", "1000000001/1000000000", "144/100001", "1e300", "1e-300", f"{10**80 + 1}/{10**80}"]


@pytest.mark.parametrize("text", NUMBERS)
def test_a_logarithm_of_more_digits_lies_between_the_bounds(text):
    number = Fraction(text)
    with localcontext(prec=200):
        closer = Fraction((Decimal(number.numerator) / Decimal(number.denominator)).ln())

    lower, upper = log_between(number)

    assert lower < closer < upper
    assert upper - lower <= Fraction(1, 10**50) * max(1, abs(closer))


def test_the_logarithm_of_one_is_zero():
    assert log_between(Fraction(1)) == (0, 0)


@pytest.mark.parametrize("number", [Fraction(0), Fraction(-1), Fraction(10**2001), Fraction(1, 10**2001)])
def test_numbers_out_of_range_are_refused(number):
    with pytest.raises(ParameterError, match="a logarithm needs a number above 0 of at most 2000 digits; scale it"):
        log_between(number)


@pytest.mark.parametrize("text", ["1/3", "2/3", "12345.678", "1e-20", "7"])
def test_numbers_are_rounded_up(text):
    number = Fraction(text)

    rounded = rounded_up(number, 3)

    assert number <= rounded < number * (1 + Fraction(1, 99))
    assert math.isclose(float(rounded), float(f"{float(rounded):.3g}"))


UNACCOUNTED_NUMBERS = itertools.count()


@pytest.fixture
def names():
    """Return columns that no other test has released."""
    number = next(UNACCOUNTED_NUMBERS)
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


UNPAID_TRANSCRIPTS_TERMS = {"relation": "add-remove", "privacy_unit": "row"}


@pytest.fixture
def ledger(tmp_path):
    book = Ledger.create_or_open(tmp_path / "budget.db")
    book.init("one", unit="pure", limit=2, **UNPAID_TRANSCRIPTS_TERMS)
    book.init("two", unit="pure", limit=2, **UNPAID_TRANSCRIPTS_TERMS)
    transcripts_of(book.path).mkdir()
    return book


def answered(ledger, name):
    path = transcripts_of(ledger.path) / f"{name}.jsonl"
    path.write_text('{"format": 1}\n{"answer": 1}\n')
    return path


def test_only_answers_that_nobody_paid_for_are_a_sign_of_an_older_copy(ledger):
    ledger.debit("two", "paid", Budget.pure(1), **UNPAID_TRANSCRIPTS_TERMS, description={})
    answered(ledger, "paid")
    unpaid = answered(ledger, "unpaid")
    (unpaid.parent / "begun.jsonl").write_text('{"format": 1}\n')

    assert unpaid_transcripts(ledger.path) == (unpaid,)


def test_what_is_paid_and_answered_while_others_look_is_no_sign(ledger, monkeypatch):
    honest = Ledger.unpaid

    def read(self, release_ids):
        found = honest(self, release_ids)
        answered(ledger, "meanwhile")  # by a process that has debited it after this reading
        return found

    monkeypatch.setattr(Ledger, "unpaid", read)

    assert unpaid_transcripts(ledger.path) == ()


def test_a_transcript_that_is_gone_or_cannot_be_read_says_nothing(ledger):
    folder = transcripts_of(ledger.path)
    (folder / "gone.jsonl").symlink_to(folder / "nowhere")
    (folder / "folder.jsonl").mkdir()

    assert unpaid_transcripts(ledger.path) == ()


def test_a_link_that_leads_to_itself_has_a_folder_all_the_same(tmp_path):
    loop = tmp_path / "budget.db"
    loop.symlink_to(loop)

    assert transcripts_of(loop).name == "budget.db.transcripts"
