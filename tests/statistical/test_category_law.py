"""How often texts of one unit alone are listed: at most delta, nearly delta, and more often from one less on."""

import math
from fractions import Fraction

import pytest
from scipy.stats import binom

from helpers.category_runs import TextSource, failure, open_schema, tails
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.noise.bits import SystemBits
from lapwing.kernel.questions.answering import PrivateRows
from lapwing.kernel.questions.category_selection.answer import answer_category_selection
from lapwing.kernel.questions.category_selection.question import CategorySelection
from lapwing.kernel.terms import Terms

MANY = 400_000
FALSE_ALARM = 1e-9

SHAPES = {1: ((1,),), 3: ((1, 1, 1), (3,), (2, 1))}
"""Rows of each text of a unit."""

SCALES = {
    "laplace": {"many texts of one row are the worst": 2, "one text of all rows is the worst": 1},
    "gaussian": {"many texts of one row are the worst": 6, "one text of all rows is the worst": 1},
}
UNITS = {1: 10_000, 2: 15_000, 6: 40_000}
"""For each scale so many that a threshold lowered by one shows but for six standard deviations."""


def question_for(kind, scale, relation, max_rows):
    """Return a question whose delta, about 0.05, is a little above what its threshold attains."""
    moved = max_rows if relation == "add-remove" else 2 * max_rows
    if kind == "laplace":
        cost, parameter = Budget.pure(Fraction(moved, scale)), Fraction(scale)
    else:
        squared = max_rows**2 if relation == "add-remove" else 2 * max_rows**2
        cost, parameter = Budget.zcdp(Fraction(squared, 2 * scale**2)), Fraction(scale**2)
    least = next(each for each in range(max_rows + 1, 999) if failure(kind, parameter, max_rows, each) <= 0.05)
    attained = failure(kind, parameter, max_rows, least)
    delta = Fraction(math.ceil(attained * 1.01 * 10**9), 10**9)
    question = CategorySelection(column="town", prefix=None, cost=cost, delta=delta, most=10**6)
    law = question.noise(relation, max_rows)
    assert (law.kind, law.parameter, question.threshold(relation, max_rows)) == (kind, parameter, least)
    return question


def units_listed(question, shape, relation, max_rows, units):
    """Return of how many units any text is listed; each has texts of its own."""
    counts = {f"{unit}-{place}": rows for unit in range(units) for place, rows in enumerate(shape)}
    terms, schema = Terms(relation=relation, max_rows=max_rows), open_schema(max_rows)
    source = TextSource(counts)
    (answer,) = answer_category_selection([question], PrivateRows.of(source, schema), terms, SystemBits())
    return len({text.split("-")[0] for text in answer.texts})


def probability(law, threshold, shape):
    """Return how probable it is that any text of a unit is listed."""
    tail = tails(law.kind, law.parameter)
    return 1 - math.prod(1 - tail[threshold - rows] for rows in shape)


CASES = [
    pytest.param(kind, scale, relation, max_rows, id=f"{kind}, {relation}, {max_rows} rows, {name}")
    for kind in ("laplace", "gaussian")
    for name, scale in SCALES[kind].items()
    for relation, max_rows in (("add-remove", 1), ("add-remove", 3), ("replace-one", 3))
]


@pytest.mark.parametrize("units", [None, pytest.param(MANY, marks=pytest.mark.full)])
@pytest.mark.parametrize(("kind", "scale", "relation", "max_rows"), CASES)
def test_texts_of_one_unit_are_listed_with_a_probability_of_at_most_delta_and_nearly_delta(
    kind, scale, relation, max_rows, units
):
    question = question_for(kind, scale, relation, max_rows)
    law, least = question.noise(relation, max_rows), question.threshold(relation, max_rows)
    worst = max(SHAPES[max_rows], key=lambda shape: probability(law, least, shape))

    units = units or UNITS[scale]
    listed = units_listed(question, worst, relation, max_rows, units)

    exact = probability(law, least, worst)
    assert 0.98 * question.delta <= exact <= question.delta
    assert binom.ppf(FALSE_ALARM / 2, units, exact) <= listed <= binom.isf(FALSE_ALARM / 2, units, exact)
    assert listed <= binom.isf(FALSE_ALARM, units, float(question.delta))


@pytest.mark.parametrize(("kind", "scale", "relation", "max_rows"), CASES)
def test_a_threshold_lowered_by_one_fails_the_same_test(kind, scale, relation, max_rows, monkeypatch):
    question = question_for(kind, scale, relation, max_rows)
    law, least = question.noise(relation, max_rows), question.threshold(relation, max_rows)
    worst = max(SHAPES[max_rows], key=lambda shape: probability(law, least, shape))
    monkeypatch.setattr(CategorySelection, "threshold", lambda self, *terms: least - 1)

    listed = units_listed(question, worst, relation, max_rows, UNITS[scale])

    assert listed > binom.isf(FALSE_ALARM, UNITS[scale], float(question.delta))


@pytest.mark.parametrize("shape", [*SHAPES[3], (1,), (1, 1), (2,)], ids=str)
def test_units_of_any_shape_stay_below_delta(shape):
    for scale in SCALES["laplace"].values():
        question = question_for("laplace", scale, "add-remove", 3)

        listed = units_listed(question, shape, "add-remove", 3, UNITS[scale])

        assert listed <= binom.isf(FALSE_ALARM, UNITS[scale], float(question.delta))
