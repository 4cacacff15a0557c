"""Black box: how far answers about vectors tell two neighbours apart, as far as runs alone can certify it.

Only a second net: record and replay looks at exact losses. An event is a threshold on a likelihood ratio.
"""

import numpy as np
import pytest

import lapwing.curator.cell_sums as summing
import lapwing.curator.second_moment as moments
from helpers.black_box import certified_loss
from helpers.vectors import Rows, coordinates_of, cut_cells, exact, moment_asked, sums_asked
from lapwing.budget.budget import Budget
from lapwing.curator.cell_sums import answer_cell_sums
from lapwing.curator.second_moment import answer_second_moment
from lapwing.noise.bits import SystemBits
from lapwing.release.second_moment import SecondMoment
from lapwing.release.terms import Terms

EPSILON = 2
COST = Budget.pure(EPSILON)
FEW = 4_000
MANY = 100_000

TWO = coordinates_of(("line", "line"))
HALVES = cut_cells([[1], [0]], [0])
OTHERS = [[0, 0], [1, 1], [1, 0], [0, 1]]
QUESTIONS = {
    "products": moment_asked(TWO, cost=COST),
    "ones": moment_asked(coordinates_of(("line", "line"), coding="unit"), diagonal=True, cost=COST),
    "rows": sums_asked(TWO, HALVES, "rows", cost=COST),
    "totals": sums_asked(TWO, cost=COST),
    "means": sums_asked(TWO, None, "damped means", damping=6, cost=COST),
}
LEAST = {"means": 0.1}
"""What part of epsilon few runs certify: of means less, because one cell attains half of their bound."""


def neighbours(question, relation, max_rows):
    """Return two tables; one person has all rows that a person may have, and they say the same."""
    person = [[1, 1]] * max_rows
    other = [] if relation == "add-remove" else [[0, 1] if question is QUESTIONS["products"] else [0, 0]] * max_rows
    return [Rows(question.coordinates, OTHERS + rows) for rows in (person, other)]


def loss_of(name, relation, max_rows, runs):
    """Return the certified loss of the answer to a question."""
    question, bits = QUESTIONS[name], SystemBits()
    terms = Terms(relation=relation, max_rows=max_rows)
    sources = neighbours(question, relation, max_rows)
    one, two = (exact(question, source).reshape(-1) for source in sources)
    answer = answer_second_moment if isinstance(question, SecondMoment) else answer_cell_sums
    seen = []
    for source in sources:
        values = np.array([found.values.reshape(-1) for found in answer([question] * runs, source, terms, bits)])
        seen.append((np.abs(values - two) - np.abs(values - one)).sum(axis=1, keepdims=True))
    return certified_loss(*seen)


CASES = [("products", "replace-one", 1), ("rows", "replace-one", 3)]
MORE_CASES = [
    *CASES,
    ("products", "add-remove", 3),
    ("ones", "add-remove", 1),
    ("totals", "replace-one", 1),
    ("means", "add-remove", 1),
]


@pytest.mark.parametrize(("name", "relation", "max_rows"), CASES)
def test_answers_lose_no_more_than_they_claim(name, relation, max_rows):
    loss = loss_of(name, relation, max_rows, FEW)

    assert LEAST.get(name, 0.4) * EPSILON < loss <= EPSILON


@pytest.mark.full
@pytest.mark.parametrize(("name", "relation", "max_rows"), MORE_CASES)
def test_many_answers_lose_no_more_than_they_claim(name, relation, max_rows):
    loss = loss_of(name, relation, max_rows, MANY)

    assert LEAST.get(name, 0.7) * EPSILON < loss <= EPSILON


def draw_a_part(patch, numerator, denominator):
    """Let the room draw so much of its noise."""
    for place in (summing, moments):
        patch.setattr(
            place,
            "noise_of",
            lambda law, size, bits, honest=place.noise_of: honest(law, size, bits) * numerator // denominator,
        )


@pytest.mark.parametrize(("name", "relation"), [("products", "replace-one"), ("rows", "add-remove")])
def test_answers_at_half_the_scale_are_certified(name, relation, monkeypatch):
    draw_a_part(monkeypatch, 1, 2)

    assert loss_of(name, relation, 1, FEW) > EPSILON


@pytest.mark.full
def test_answers_a_fifth_short_of_their_scale_are_certified(monkeypatch):
    draw_a_part(monkeypatch, 4, 5)

    assert loss_of("rows", "add-remove", 20, MANY) > EPSILON
