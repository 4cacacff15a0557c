"""Relations of four columns: found at the end, in two groups of each column, where noise allows it."""

import numpy as np
import polars as pl
import pytest

from helpers.bits import SeededBits
from helpers.pmm_runs import run
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.questions.marginal_counts.question import MarginalCounts
from lapwing.mechanisms.adaptive.mechanism import Adaptive
from lapwing.schema.schemas import Schema

ROWS = 6000
FLAG = {"type": "boolean", "constraints": {"required": True}}
NUMBER = {"type": "number", "constraints": {"minimum": -1, "maximum": 1, "required": True}}
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
