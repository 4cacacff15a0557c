"""Relations of four columns: found at the end, in two groups of each column, where noise allows it."""

from fractions import Fraction

import numpy as np
import polars as pl
import pytest

from helpers.bits import SeededBits
from helpers.cases import spread
from helpers.pmm_runs import run
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.questions.marginal_counts.question import MarginalCounts
from lapwing.kernel.terms import Terms
from lapwing.mechanisms.adaptive.budget import FOURS, FOURS_SHARE, MOST_FOUR_COLUMNS
from lapwing.mechanisms.adaptive.mechanism import Adaptive
from lapwing.schema.schemas import Schema

ROWS = 6000
FLAG = {"type": "boolean", "constraints": {"required": True}}
NUMBER = {"type": "number", "constraints": {"minimum": -1, "maximum": 1, "required": True}}
KIND = {"type": "string", "categories": ["a", "b", "c", "d", "e"]}
TERMS = Terms(relation="add-remove", expected_rows=ROWS)
GENEROUS = [Budget.zcdp("0.5"), Budget.pure(5)]


def schema_of(*kinds):
    return Schema.from_dict({"fields": [{"name": f"x{place}", **kind} for place, kind in enumerate(kinds)]})


def parity(number, seed=2):
    """Return flags and numbers, of which the sign of the last says whether the first three are odd in number."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, (ROWS, number))
    x[:, -1] = np.abs(x[:, -1]) * np.where((x[:, :3] > 0).sum(axis=1) % 2 == 1, 1, -1)
    return pl.DataFrame({f"x{place}": x[:, place] > 0 if place < 2 else x[:, place] for place in range(number)})


def tables(answers):
    """Return the questions for tables of four columns, in their order."""
    asked = [answer.question for answer in answers if isinstance(answer.question, MarginalCounts)]
    return [each for each in asked if len(each.columns) == 4]


@pytest.mark.parametrize("budget", GENEROUS, ids=str)
def test_what_three_columns_say_of_a_fourth_together_is_found_and_kept(budget) -> None:
    schema = schema_of(FLAG, FLAG, NUMBER, NUMBER, NUMBER)
    mechanism = Adaptive(particles=2000, rounds=3)

    model, answers = run(mechanism, parity(5), schema, budget=budget, bits=SeededBits(1), expected_rows=ROWS)

    found = tables(answers)
    assert ("x0", "x1", "x2", "x4") in {each.columns for each in found}
    assert {grouping.regular for each in found for grouping in each.groupings} == {2}
    signs = []
    for place in (0, 1, 2, 4):
        domain, law = schema.columns[place].domain, model.laws[f"x{place}"]
        middles = (law.laws.starts + law.laws.stops - 1) / 2
        inside = np.bincount(law.laws.law_of_piece, law.laws.probabilities * (middles >= domain.values / 2))
        signs.append(inside[law.index])
    is_odd = (np.rint(signs[0]) + np.rint(signs[1]) + np.rint(signs[2])) % 2
    assert np.average(np.where(is_odd == 1, signs[3], 1 - signs[3]), weights=model.weights) > 0.9


@spread(
    ("kinds", [(FLAG,) * 4, (KIND,) * 5, (NUMBER, KIND, FLAG, NUMBER), (FLAG,) * 3, (FLAG,) * (MOST_FOUR_COLUMNS + 1)]),
    ("budget", GENEROUS),
    ("rows", [ROWS, 200, 10]),
    at_least=15,
)
def test_tables_of_four_columns_get_their_part_where_one_way_tables_get_their_least(kinds, budget, rows) -> None:
    found = Adaptive().costs_of(schema_of(*kinds), budget, float(rows), TERMS)

    is_least = found.one_way == budget * Fraction("0.25" if budget.notion == "zcdp" else "0.3")
    has_fours = is_least and 4 <= len(kinds) <= MOST_FOUR_COLUMNS
    rest = budget - found.one_way
    assert found.fours == rest * (FOURS_SHARE if has_fours else 0)
    assert found.table * (found.rounds * found.tables) + found.fours == rest


@pytest.mark.parametrize("target", ["x1", "x4"])
def test_with_a_target_every_table_of_four_columns_has_it(target) -> None:
    mechanism = Adaptive(particles=400, rounds=2, resolutions=(8, 4), target=target)

    _, answers = run(mechanism, parity(6), schema_of(FLAG, FLAG, *[NUMBER] * 4), budget=GENEROUS[0], expected_rows=ROWS)

    assert [target in each.columns for each in tables(answers)] == [True] * FOURS


def test_a_plan_counts_tables_of_four_columns_and_their_choices() -> None:
    schema, mechanism = schema_of(*[KIND] * 6), Adaptive()
    planned = mechanism.plan(schema, GENEROUS[0], TERMS, np.random.default_rng(1))
    costs = mechanism.costs_of(schema, GENEROUS[0], float(ROWS), TERMS)

    *_, choice, _, table, _ = planned.questions[-2 * FOURS - 1 :]
    assert (table.cost + choice.cost) * FOURS == costs.fours
    assert choice.candidate_count == 15
    spent = sum((each.cost.amount for each in planned.questions), Fraction(0))
    assert float(spent) == pytest.approx(float(GENEROUS[0].amount), rel=1e-5)
