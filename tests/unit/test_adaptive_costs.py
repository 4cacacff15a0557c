"""How Adaptive divides its budget: from the schema, the settings and a public or noisy number of rows."""

from fractions import Fraction

import numpy as np
import pytest

from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.terms import Terms
from lapwing.mechanisms.adaptive.candidates import MOST_CELLS
from lapwing.mechanisms.adaptive.mechanism import Adaptive
from lapwing.mechanisms.shared.one_way import COUNT_SHARE, known_rows
from lapwing.schema.schemas import Schema

ADD = Terms(relation="add-remove")
BUDGETS = [Budget.pure(1), Budget.zcdp("0.1")]
EVERY_BUDGET = pytest.mark.parametrize("budget", BUDGETS, ids=str)
ROWS = [round(10 ** (place / 8)) for place in range(0, 65)]


def whole(name, **more):
    """Return a column of whole numbers that can be missing."""
    return {"name": name, "type": "integer", "constraints": {"minimum": 0, "maximum": 99}, **more}


def schema_of(fields, max_rows=1):
    person = {"name": "person", "type": "string", "role": "identifier"}
    return Schema.from_dict({"fields": [person, *fields], "privacyUnit": {"field": "person", "maxRows": max_rows}})


GAPS = [whole("a"), whole("b"), whole("c")]


def costs(fields, budget, rows, terms=ADD, **given_as):
    return Adaptive(**given_as).costs_of(schema_of(fields), budget, float(rows), terms)


def regime(found):
    """Return what a division pays for beside one-way tables: nothing, tables of gaps, or tables of all kinds."""
    return (2 if found.most_cells == MOST_CELLS else 1) if found.table.amount else 0


# ----------------------------------------------------------------------------------------------------- which tables


@EVERY_BUDGET
def test_more_rows_pay_for_nothing_then_for_gaps_then_for_pairs(budget) -> None:
    regimes = [regime(costs(GAPS, budget, rows)) for rows in ROWS]

    assert regimes == sorted(regimes)
    assert set(regimes) == {0, 1, 2}


@EVERY_BUDGET
@pytest.mark.parametrize(
    ("relation", "max_rows", "times"), [("add-remove", 1, 1), ("add-remove", 5, 5), ("replace-one", 5, 10)]
)
def test_the_noise_decides_with_the_rows_not_the_rows_alone(budget, relation, max_rows, times) -> None:
    terms = Terms(relation=relation, max_rows=max_rows)

    # Five rows per unit need five times the rows; replace-one twice that under pure epsilon, 2**0.5 under zCDP.
    times = times if budget.notion == "pure" or relation == "add-remove" else 5 * 2**0.5
    for rows in (3, 30, 300, 3000, 30_000):
        plain, other = costs(GAPS, budget, rows), costs(GAPS, budget, rows * times, terms)
        assert regime(plain) == regime(other)
        assert float(plain.one_way.amount) == pytest.approx(float(other.one_way.amount), rel=0.03)


# ------------------------------------------------------------------------------------------------- explicit settings


@EVERY_BUDGET
@pytest.mark.parametrize("share", [0.05, 0.4, 0.8, 0.95])
def test_a_share_for_one_way_tables_is_the_least_they_get(budget, share) -> None:
    found = [costs(GAPS, budget, rows, one_way_share=share).one_way.amount / budget.amount for rows in ROWS]

    assert min(found) == found[-1] == Fraction(str(share))
    assert found[0] == 1


@EVERY_BUDGET
@pytest.mark.parametrize("share", [0.07, 0.6])
def test_a_share_for_selections_holds_for_every_choice(budget, share) -> None:
    found = {costs(GAPS, budget, rows, selection_share=share).selection for rows in ROWS}

    assert found == {Fraction(str(share))}


# ------------------------------------------------------------------------------------------------- number of rows


@EVERY_BUDGET
def test_a_number_of_rows_is_bought_only_where_none_is_known(budget) -> None:
    class Fixed:
        def __init__(self, terms, count=None):
            self.terms, self.count, self.asked = terms, count, []

        def ask(self, *questions):
            self.asked += questions
            return tuple(type("Answer", (), {"counts": np.array(self.count)})() for _ in questions)

    for terms in (Terms(relation="replace-one", rows=0), Terms(relation="add-remove", expected_rows=70)):
        curator = Fixed(terms)
        assert known_rows(curator, budget) == (max(1.0, terms.rows or terms.expected_rows or 0), budget)
        assert curator.asked == []
    for count, known in ((-50, 1.0), (0, 1.0), (123, 123.0)):
        curator = Fixed(ADD, count)
        rows, left = known_rows(curator, budget)
        (question,) = curator.asked
        assert rows == known
        assert (question.columns, question.cost) == ((), budget * COUNT_SHARE)
        assert question.cost.amount + left.amount == budget.amount


# --------------------------------------------------------------------------------------------------------- releases
