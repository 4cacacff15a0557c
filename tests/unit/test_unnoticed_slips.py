"""Slips of the hand in the room, the noise and the budget that no fast test noticed (tools/mutants.py)."""

import itertools
import json
import math
import sqlite3
from contextlib import closing
from fractions import Fraction
from pathlib import PurePosixPath

import numpy as np
import polars as pl
import pytest

from helpers.bits import CountingBits, ScriptedBits, SeededBits
from lapwing.errors import BudgetError, ParameterError
from lapwing.kernel.budget import accounts as ledger_accounts
from lapwing.kernel.budget import chain as ledger_chain
from lapwing.kernel.budget import ledger_file
from lapwing.kernel.budget.budget import Budget, exact_number
from lapwing.kernel.budget.conversions import log_between, rho_for
from lapwing.kernel.budget.ledger import Ledger
from lapwing.kernel.noise import bernoulli, enclosures, gaussian, geometric, inverse_cdf, selection
from lapwing.kernel.noise.bernoulli import bernoulli_exp_multiples
from lapwing.kernel.noise.bits import SystemBits
from lapwing.kernel.noise.enclosures import Exponential, LaplaceTail, exp_minus
from lapwing.kernel.noise.gaussian import discrete_gaussian
from lapwing.kernel.noise.laplace import Sign, discrete_laplace, discrete_laplace_at_least
from lapwing.kernel.noise.weighted import weighted_draws
from lapwing.kernel.questions.linear_statistics.question import RowStatistic
from lapwing.kernel.questions.marginal_counts.question import MarginalCounts
from lapwing.kernel.questions.private_draw import answer as private_draw
from lapwing.kernel.room import checks as plain
from lapwing.kernel.room.opening import open_room, public_terms
from lapwing.kernel.room.transcript import NoTranscript
from lapwing.kernel.terms import Terms
from lapwing.release.runs.plan.planning import expected_terms
from lapwing.rows.source import code_table
from lapwing.schema.schemas import Schema

FLAG = {"name": "flag", "type": "boolean", "constraints": {"required": True}}
LAST_WORD = (1 << 64) - 1
GAPS = (0, 2, 1, 0, 0, 7, 3)


def test_gaps_go_on_right_behind_the_last_success_of_the_batch_before(monkeypatch):
    gaps = itertools.cycle(GAPS)
    monkeypatch.setattr(geometric, "geometric_chunk", lambda _, size, *rest: np.fromiter(gaps, np.int64, count=size))

    ranks = geometric.survivors(500, LaplaceTail(Fraction(1), 60), SeededBits(1))

    expected = np.cumsum([gap + 1 for gap, _ in zip(itertools.cycle(GAPS), range(500), strict=False)]) - 1
    assert ranks.tolist() == expected[expected < 500].tolist()
    assert len(ranks) > 5 * geometric.FEW


@pytest.mark.parametrize(
    ("multiple", "unit"),
    [(1, Fraction(1, 4)), (1, Fraction(3)), (1, Fraction(1, 1000)), (1 << 40, Fraction(1, 1 << 40))],
)
def test_a_word_beside_the_probability_is_decided_by_the_exact_value(multiple, unit):
    probability = exp_minus(multiple * unit, 64)[0]
    multiples = np.array([multiple, multiple], dtype=np.uint64)

    accepted = bernoulli_exp_multiples(multiples, unit, ScriptedBits([probability - 1, probability + 1]))

    assert accepted.tolist() == [True, False]


@pytest.mark.parametrize(("epsilon", "sensitivity"), [(Fraction(1), 1), (Fraction(2, 3), 3)])
def test_a_worse_candidate_is_accepted_with_exactly_the_probability_of_half_its_gap(epsilon, sensitivity):
    probability = exp_minus(epsilon * Fraction(7, 2 * sensitivity), 64)[0]
    turns = [1] + [0] * (selection.FIRST_BATCH - 1)
    scores = np.array([10, 3])

    chosen = [
        selection.exponential_mechanism(scores, epsilon, sensitivity, ScriptedBits([*turns, word, *turns[1:]]))
        for word in (probability - 1, probability + 1)
    ]

    assert chosen == [1, 0]


def test_a_gaussian_beyond_the_range_is_refused_even_where_nothing_is_drawn():
    with pytest.raises(ParameterError, match="at most 2"):
        discrete_gaussian(Fraction(1 << 112), 0, SeededBits(1))


@pytest.mark.parametrize("threshold", [-5, -1, 0, 1, 2, 7])
def test_a_tail_is_the_sum_of_the_law_from_its_threshold_on(threshold):
    lower, upper = LaplaceTail(Fraction(3), threshold).enclose(64)

    q = math.exp(-1 / 3)
    tail = math.fsum((1 - q) / (1 + q) * q ** abs(z) for z in range(threshold, 200))
    assert lower / 2**64 == pytest.approx(tail, rel=1e-12)
    assert upper / 2**64 == pytest.approx(tail, rel=1e-12)


def test_a_lower_digit_is_at_most_255():
    draws = geometric.geometric(Exponential(Fraction(1, 1000)), 1, ScriptedBits([0, LAST_WORD]))

    assert draws.tolist() == [255]


def test_noise_far_above_is_drawn_at_once():
    bits = CountingBits(SeededBits(1))

    assert discrete_laplace_at_least(1000, Fraction(3), 5, bits).min() >= 1000
    assert bits.count == 5


def test_a_second_draw_at_the_threshold_stays():
    minus_three, minus_one = [9 * (LAST_WORD // 10), LAST_WORD], [0, LAST_WORD]

    assert discrete_laplace(Fraction(1), 1, ScriptedBits(list(minus_three))).tolist() == [-3]
    values = discrete_laplace_at_least(-1, Fraction(1), 1, ScriptedBits([*minus_three, *minus_one]))

    assert values.tolist() == [-1]


def test_a_word_that_is_left_out_is_replaced_by_one():
    drawn = weighted_draws(np.array([1, 1, 1]), 2, ScriptedBits([LAST_WORD, 1, 2]))

    assert drawn.tolist() == [1, 2]


def test_noise_above_a_threshold_below_zero_is_redrawn_only_where_it_is_too_low():
    first = discrete_laplace(Fraction(3), 1000, SeededBits(5))

    values = discrete_laplace_at_least(-2, Fraction(3), 1000, SeededBits(5))

    assert values.min() == -2
    assert (values[first < -2] < 0).any()
    assert values[first >= -2].tolist() == first[first >= -2].tolist()


def test_a_digit_that_is_too_coarse_to_divide_by_is_enclosed_by_all_numbers():
    digit = geometric.Digit(Exponential(Fraction(1, 1 << 55)), 0, False)

    assert digit.cumulative(8) == ([0] * 255, 1 << 8)


def test_the_series_encloses_the_exponential_at_every_coarse_precision():
    for precision in range(1, 12):
        for numerator in range(1 << min(precision, 8)):
            y = Fraction(numerator, 1 << min(precision, 8))
            fine = exp_minus(y, precision + 100)
            lower, upper = enclosures._exp_minus_small(y.numerator, y.denominator, precision)
            assert lower << 100 <= fine[1]
            assert fine[0] <= upper << 100


@pytest.mark.parametrize("is_last", [False, True])
@pytest.mark.parametrize("scale", ["1/3", "7/2", "40", "1000"])
def test_digits_are_enclosed_at_every_coarse_precision(scale, is_last):
    digit = geometric.Digit(Exponential(1 / Fraction(scale)), 0, is_last)
    fine, fine_width = digit.cumulative(200)

    for precision in range(8, 60):
        lower, width = digit.cumulative(precision)
        drop = 200 - precision
        assert all(end << drop <= exact + fine_width for end, exact in zip(lower, fine, strict=True))
        assert all(exact <= (end + width) << drop for end, exact in zip(lower, fine, strict=True))


def test_one_share_below_zero_is_refused_beside_others():
    with pytest.raises(ParameterError, match="shares of a budget must be at least 0"):
        Budget.pure(1).split([2, -1])


@pytest.mark.parametrize("bits", [26, 28, 29, 40])
def test_exponents_of_proposals_are_close_at_scales_that_are_cut_short(bits):
    sigma_squared = Fraction(4) ** bits + Fraction(1, 3)
    proposal = gaussian.make_proposal(sigma_squared)
    magnitudes = np.array([0, 1 << bits, 3 << bits, 5 << bits], dtype=np.int64)

    exponents = gaussian.proposal_exponents(proposal, magnitudes)

    exact = [float(proposal.exponent(int(each))) for each in magnitudes]
    assert exponents / 2**40 == pytest.approx(exact, abs=2**-20)


@pytest.mark.parametrize("weights", [[], [3, -1], [[1]]])
def test_weights_that_are_none_are_refused(weights):
    with pytest.raises(ParameterError, match="none below 0"):
        weighted_draws(np.array(weights, dtype=np.int64), 1, SeededBits(1))


def test_weights_may_sum_to_one():
    assert weighted_draws(np.array([0, 1, 0]), 2, SeededBits(1)).tolist() == [1, 1]


def test_a_limit_of_one_is_the_least_that_draws_are_capped_at():
    half = Exponential(Fraction(1, 2))

    assert set(geometric.geometric(half, 100, SeededBits(2), limit=1).tolist()) == {0, 1}
    with pytest.raises(ParameterError, match="limit must be from 1"):
        geometric.geometric(half, 1, SeededBits(2), limit=0)


@pytest.mark.parametrize("number", [Fraction(10**2000), Fraction(1, 10**2000)])
def test_numbers_of_two_thousand_digits_have_a_logarithm_and_longer_ones_are_refused(number):
    lower, upper = log_between(number)

    assert float(lower) == pytest.approx(float(upper)) == pytest.approx(2000 * math.log(10) * (1 if number > 1 else -1))
    with pytest.raises(ParameterError, match="at most 2000 digits"):
        log_between(number * number)


def test_tables_that_all_draws_share_cannot_be_written():
    table = inverse_cdf.make_table(Sign(Exponential(Fraction(1, 3))))

    for shared in (table.words, inverse_cdf._guide(table), bernoulli._exp_table()):
        assert not shared.flags.writeable


def test_an_exponent_may_be_written_with_a_capital_letter():
    assert exact_number("epsilon", "1E-3") == Fraction(1, 1000)


def test_a_tiny_epsilon_at_a_tiny_delta_grants_no_rho_and_never_less():
    assert rho_for(Fraction(1, 10**9), Fraction(1, 10**300)) == 0


@pytest.mark.parametrize("value", ["\u0663", "1\uff10"])
def test_digits_of_other_scripts_are_no_number(value):
    with pytest.raises(ParameterError, match=r"^epsilon must be a finite number"):
        exact_number("epsilon", value)


def test_what_only_looks_like_a_number_when_it_is_printed_is_none():
    with pytest.raises(ParameterError, match=r"^epsilon must be a number, got a PurePosixPath"):
        exact_number("epsilon", PurePosixPath("0.5"))


@pytest.mark.parametrize(
    ("relation", "max_rows", "required", "terms"),
    [
        ("replace-one", 1, True, {"rows": 3, "expected_rows": 7}),
        ("replace-one", 1, False, {"expected_rows": 7}),
        ("replace-one", 2, True, {"max_rows": 2, "expected_rows": 7}),
        ("add-remove", 1, True, {"expected_rows": 7}),
    ],
)
def test_the_number_of_rows_is_public_beside_the_expected_one_only_where_neighbours_share_it(
    relation, max_rows, required, terms
):
    people = {"name": "person", "type": "string", "role": "identifier", "constraints": {"required": required}}
    schema = Schema.from_dict(
        {"fields": [people, FLAG], "privacyUnit": {"field": "person", "maxRows": max_rows}},
    )
    source = code_table(pl.DataFrame({"person": ["a", "b", "c"], "flag": ["true", "false", None]}), schema)

    assert public_terms(source, schema, relation, 7) == Terms(relation=relation, **terms)
    assert expected_terms(relation, schema, 7) == Terms(
        relation=relation, **{**terms, "rows": 7 if "rows" in terms else None}
    )


class Text(str):
    """Code of a stranger's, which looks like a text."""

    __slots__ = ()


def test_one_part_of_a_row_function_that_is_not_plain_makes_the_whole_not_plain():
    statistic = RowStatistic(text="f", columns=("flag",), lower=-1, upper=1)
    assert plain.is_plain(statistic)

    object.__setattr__(statistic, "text", Text("f"))

    assert not plain.is_plain(statistic)


def test_an_opened_room_gives_recorded_answers_again():
    schema = Schema.from_dict({"fields": [FLAG]})
    source = code_table(pl.DataFrame({"flag": ["true", "false", "true"]}), schema)
    question = MarginalCounts(columns=(), groupings=(), cost=Budget.pure(1))
    terms = Terms(relation="add-remove")

    def opened(recorded):
        return open_room(
            source,
            schema,
            terms,
            Budget.pure(1),
            debit=lambda: None,
            secret_bits=SystemBits,
            sink=NoTranscript(),
            recorded=recorded,
        )

    (answer,) = opened(()).ask(question)

    assert opened((answer,)).ask(question) == (answer,)


def test_a_private_draw_counts_each_row_once_and_nothing_else():
    schema = Schema.from_dict({"fields": [FLAG, {**FLAG, "name": "other"}]})
    table = pl.DataFrame({"flag": ["true", "true", "false"], "other": ["true", "false", "false"]})

    counts = private_draw._cube_counts(("flag", "other"), code_table(table, schema))

    assert sorted(counts.tolist()) == [0, 1, 1, 1]


TERMS = {"relation": "add-remove", "privacy_unit": "row"}


@pytest.fixture
def book(tmp_path):
    """Return a ledger with one data set that may spend rho 1, and delta 10^-6 on selections."""
    ledger = Ledger.create_or_open(tmp_path / "budget.db")
    ledger.init("adult", unit="zcdp", limit=1, selection_delta=1e-6, **TERMS)
    return ledger


def test_answers_of_a_release_that_nobody_paid_for_are_not_noted(book):
    with pytest.raises(BudgetError, match="'free' was not debited; debit it before any answer is drawn"):
        book.note_answers("adult", "free", ["0" * 64])


def test_what_is_left_names_both_currencies(book):
    assert book.balance("adult").describe_left() == "rho 1 left, and delta 1e-06 for selections"


SEALED = {"relation": "add-remove", "unit": "zcdp", "privacy_unit": "row"}


def entry(number, kind, units=0, **details):
    """Return an entry; account: the one that it seals, without its terms."""
    if "account" in details:
        details["account"] = [*(SEALED.get(name) for name in ledger_chain._TERMS), *details["account"]]
    return number, "", kind, "adult", None, units, json.dumps({**details, **SEALED}), ""


@pytest.mark.parametrize(("paid", "is_whole"), [(4, True), (5, True), (6, False)])
def test_entries_that_spend_more_on_selections_than_was_allowed_do_not_fit(paid, is_whole):
    entries = [
        entry(1, "init", selection_units=5, account=[0, 0, 5, 0]),
        entry(2, "debit", selection_units=paid, account=[0, 0, 5, paid]),
    ]

    if is_whole:
        assert ledger_chain._replay(entries)["adult"][-2:] == [5, paid]
    else:
        with pytest.raises(BudgetError, match="entry 2 does not fit"):
            ledger_chain._replay(entries)


def test_an_account_that_is_opened_twice_does_not_fit():
    entries = [entry(number, "init", 5, account=[5, 0, 0, 0]) for number in (1, 2)]

    assert ledger_chain._replay(entries[:1])["adult"][-4:] == [5, 0, 0, 0]
    with pytest.raises(BudgetError, match="entry 2 does not fit"):
        ledger_chain._replay(entries)


def test_a_seal_of_answers_that_is_no_seal_does_not_fit():
    with pytest.raises(BudgetError, match="the list of answers before entry 1 does not fit"):
        ledger_chain._check_answers([], [entry(1, "init", 5, noted="all")])


def test_units_of_selections_are_none_where_none_are_named_and_never_below_zero():
    assert ledger_chain._selection_units(1, {}) == 0
    with pytest.raises(BudgetError, match="entry 1 does not fit"):
        ledger_chain._selection_units(1, {"selection_units": -1})


def test_a_data_set_whose_name_would_write_on_the_terminal_does_not_fit():
    with closing(sqlite3.connect(":memory:")) as connection:
        for statement in ledger_file.STATEMENTS:
            connection.execute(statement)
        account = ("adult\x1b[2J", "pure", None, "add-remove", "row", 1, 0)
        connection.execute("INSERT INTO accounts VALUES (?, ?, ?, ?, ?, ?, ?)", account)

        with pytest.raises(BudgetError, match="the name of a data set does not fit"):
            ledger_accounts.names(ledger_file.FileSession(connection))


def test_an_entry_that_the_file_itself_refuses_is_one_sentence():
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("CREATE TABLE limits (units INTEGER CHECK (units > 0))")
        with pytest.raises(sqlite3.IntegrityError) as refused:
            connection.execute("INSERT INTO limits VALUES (0)")

    told = ledger_file._in_our_words(PurePosixPath("budget.db"), refused.value)

    assert isinstance(told, BudgetError)
    assert str(told) == "the ledger budget.db refused an entry that breaks its rules; nothing was recorded"
