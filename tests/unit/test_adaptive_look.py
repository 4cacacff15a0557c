"""The look at all pairs in halves, where tables would drown: how it is paid, and what it keeps."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import polars as pl
import pytest

from helpers.bits import SeededBits
from helpers.pmm_runs import run
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.questions.marginal_counts.question import MarginalCounts
from lapwing.kernel.questions.second_moment.question import SecondMoment
from lapwing.kernel.terms import Terms
from lapwing.mechanisms.adaptive.budget import LEAST_LOOK_COLUMNS, MOST_LOOK_COLUMNS, planned_look
from lapwing.mechanisms.adaptive.mechanism import Adaptive
from lapwing.release.runs.verdict.terms import led_pairs
from lapwing.schema.schemas import Schema

FLAG = {"type": "boolean", "constraints": {"required": True}}
GAPPY = {"type": "boolean"}
NUMBER = {"type": "integer", "constraints": {"minimum": 0, "maximum": 99}}
ROWS, COLUMNS = 4000, 12
LITTLE = Budget.pure("0.5")


def schema_of(*kinds):
    return Schema.from_dict({"fields": [{"name": f"x{place}", **kind} for place, kind in enumerate(kinds)]})


def alike(gaps=0.0, seed=1):
    """Return flags that mostly say the same, more or less often true."""
    rng = np.random.default_rng(seed)
    kind = rng.random(ROWS) < 0.4
    found = {}
    for place in range(COLUMNS):
        values = np.where(kind, rng.random(ROWS) < 0.85, rng.random(ROWS) < 0.05 + 0.02 * place).tolist()
        found[f"x{place}"] = [
            None if gone else each for each, gone in zip(values, rng.random(ROWS) < gaps, strict=True)
        ]
    return pl.DataFrame(found, schema=dict.fromkeys(found, pl.Boolean))


def pair_error(model, data):
    """Return the mean distance of tables of two flags from the real ones."""
    above = {}
    for name in data.columns:
        law = model.laws[name]
        starts, own = law.laws.starts, law.laws.law_of_piece
        above[name] = np.bincount(own, law.laws.probabilities * (starts == 1), law.laws.count)[law.index]
    gaps = []
    for one, two in combinations(data.columns, 2):
        both = float(np.average(above[one] * above[two], weights=model.weights))
        gaps.append(abs(both - float((data[one].fill_null(False) & data[two].fill_null(False)).mean())))
    return float(np.mean(gaps))


@pytest.mark.parametrize("gaps", [0.0, 0.1])
def test_flags_that_say_the_same_are_kept_where_tables_of_two_would_drown(gaps) -> None:
    data = alike(gaps)
    schema = schema_of(*[GAPPY if gaps else FLAG] * COLUMNS)

    model, answers = run(Adaptive(), data, schema, budget=LITTLE, bits=SeededBits(3), expected_rows=ROWS)

    asked = [answer.question for answer in answers]
    assert not [each for each in asked if isinstance(each, MarginalCounts) and len(each.columns) > 1]
    (look,) = [each for each in asked if isinstance(each, SecondMoment)]
    assert len(look.columns) >= LEAST_LOOK_COLUMNS
    assert sum((each.cost.amount for each in asked), Fraction(0)) == LITTLE.amount
    alone = {name: float(data[name].fill_null(False).mean()) for name in data.columns}
    independent = np.mean(
        [
            abs(float((data[a].fill_null(False) & data[b].fill_null(False)).mean()) - alone[a] * alone[b])
            for a, b in combinations(data.columns, 2)
        ]
    )
    assert pair_error(model, data) < 0.5 * independent
    assert led_pairs(answers, model) >= {frozenset(pair) for pair in combinations(look.columns, 2)}


@pytest.mark.parametrize(
    ("kinds", "budget", "has_look"),
    [
        ([FLAG] * COLUMNS, LITTLE, True),
        ([FLAG] * COLUMNS, Budget.zcdp("0.002"), True),
        ([FLAG] * COLUMNS, Budget.pure(20), False),  # tables do not drown
        ([FLAG] * COLUMNS, Budget.pure("0.001"), False),  # the look would
        ([FLAG] * (LEAST_LOOK_COLUMNS - 1), Budget.pure("0.02"), False),
        ([FLAG, NUMBER] * (COLUMNS // 2), LITTLE, False),  # halves are not all that columns have
    ],
)
def test_a_look_takes_the_place_of_tables_where_they_drown_and_it_does_not(kinds, budget, has_look) -> None:
    terms = Terms(relation="add-remove", expected_rows=ROWS)
    schema = schema_of(*kinds)

    found = Adaptive().costs_of(schema, budget, float(ROWS), terms)
    planned = Adaptive().plan(schema, budget, terms, np.random.default_rng(1))

    assert bool(found.look.amount) == has_look
    assert any(isinstance(each, SecondMoment) for each in planned.questions) == has_look
    if has_look:
        assert found.one_way + found.look == budget
        assert not found.table.amount
        assert not planned.notes
        spent = sum((each.cost.amount for each in planned.questions), Fraction(0))
        assert float(spent) == pytest.approx(float(budget.amount), rel=1e-5)


def test_fewer_columns_are_looked_at_where_the_noise_of_all_pairs_is_too_large() -> None:
    schema, terms = schema_of(*[FLAG] * 60), Terms(relation="add-remove", expected_rows=ROWS)

    counts = [len(planned_look(schema, Budget.pure(each), ROWS, terms)[0].columns) for each in ("0.3", "1", "100")]

    assert LEAST_LOOK_COLUMNS <= counts[0] < counts[1] < counts[2] == 60


def test_many_columns_of_few_rows_get_no_tables_that_single_columns_would_pay_for_dearly() -> None:
    terms = Terms(relation="add-remove", expected_rows=8000)
    shares = [
        float(found.one_way.amount / budget.amount)
        for columns, budget in ((110, Budget.pure(1)), (110, Budget.pure(100)), (40, Budget.pure(1)))
        for found in [Adaptive().costs_of(schema_of(*[NUMBER] * columns), budget, 8000.0, terms)]
    ]

    assert shares[0] == 1
    assert max(shares[1:]) < 1


@pytest.mark.parametrize("rows", [0, 1, 3, ROWS])
@pytest.mark.parametrize(("flags", "others", "epsilon"), [(LEAST_LOOK_COLUMNS, 0, "0.3"), (11, 1, "0.6")])
def test_a_look_that_was_paid_for_ends_well_whatever_rows_there_are(rows, flags, others, epsilon) -> None:
    data = alike()[:rows].select([f"x{place}" for place in range(flags)])
    schema = schema_of(*[FLAG] * flags, *[NUMBER] * others)
    data = data.with_columns(pl.lit(7).alias(f"x{flags}")) if others else data
    budget = Budget.pure(epsilon)

    model, answers = run(Adaptive(particles=64), data, schema, budget=budget, bits=SeededBits(1), expected_rows=ROWS)

    assert any(isinstance(answer.question, SecondMoment) for answer in answers)
    assert sum((answer.question.cost.amount for answer in answers), Fraction(0)) == budget.amount
    assert set(model.laws) == set(schema.names)


def test_settings_and_priors_keep_what_a_look_would_take_the_place_of() -> None:
    schema, terms = schema_of(*[FLAG] * COLUMNS), Terms(relation="add-remove", expected_rows=ROWS)
    asking = {"one_way_share": 0.5}, {"rounds": 3}, {"workload": (("x0", "x1"),)}, {"prior": alike(seed=2)}

    for setting in asking:
        assert not Adaptive(**setting).costs_of(schema, LITTLE, float(ROWS), terms).look.amount
    assert Adaptive(target="x3", particles=100).costs_of(schema, LITTLE, float(ROWS), terms).look.amount


def test_a_release_with_a_prior_spends_all_where_a_look_would_have_been() -> None:
    mechanism = Adaptive(particles=64, prior=alike(seed=2))

    _, answers = run(mechanism, alike(), schema_of(*[FLAG] * COLUMNS), budget=LITTLE, expected_rows=ROWS)

    assert sum((answer.question.cost.amount for answer in answers), Fraction(0)) == LITTLE.amount


def test_thousands_of_columns_are_not_refused_for_a_look() -> None:
    schema, terms = schema_of(*[FLAG] * 2100), Terms(relation="add-remove", expected_rows=10**6)

    (question, *_) = planned_look(schema, Budget.zcdp("0.1"), 1e6, terms)

    assert len(question.columns) == MOST_LOOK_COLUMNS
