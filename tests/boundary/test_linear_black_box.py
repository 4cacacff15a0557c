"""Black box: how far noisy sums of statistics tell two neighbours apart, as far as runs alone can certify it."""

import numpy as np
import pytest

import lapwing.curator.linear_statistics as summing
from helpers.black_box import certified_loss
from helpers.linear_runs import SIGN, question_of
from helpers.vectors import Rows
from lapwing.budget.budget import Budget
from lapwing.curator.linear_statistics import answer_linear_statistics, exact_statistics
from lapwing.noise.bits import SystemBits
from lapwing.release.terms import Terms
from lapwing.schema.schemas import Schema

EPSILON = 2
FEW = 800
ENOUGH = 3_000
MANY = 20_000

SCHEMA = Schema.from_dict(
    {"fields": [{"name": "kind", "type": "string", "categories": ["1", "9"], "constraints": {"required": True}}]}
)
STATISTICS = {
    "truths": ["kind == '9'", "kind != '9'"],
    "numbers": ["(kind == '9') - (kind != '9')", "(kind == '9') / 2"],
    "function": [SIGN],
}
QUESTIONS = {name: question_of(texts, SCHEMA, Budget.pure(EPSILON)) for name, texts in STATISTICS.items()}


def loss_of(name, relation, max_rows, runs):
    """Return the certified loss of the answer to a question: one person has all rows that a person may have."""
    question, terms, bits = QUESTIONS[name], Terms(relation=relation, max_rows=max_rows), SystemBits()
    other = [] if relation == "add-remove" else [[0]] * max_rows
    sources = [Rows(question, [[0], [1], [1], *changed]) for changed in ([[1]] * max_rows, other)]
    one, two = (exact_statistics(question, source, SCHEMA) for source in sources)
    seen = []
    for source in sources:
        answers = answer_linear_statistics([question] * runs, source, terms, bits, schema=SCHEMA)
        values = np.array([answer.values for answer in answers])
        seen.append((np.abs(values - two) - np.abs(values - one)).sum(axis=1, keepdims=True))
    return certified_loss(*seen)


@pytest.mark.parametrize(("name", "relation", "max_rows"), [("numbers", "replace-one", 3)])
def test_sums_lose_no_more_than_they_claim(name, relation, max_rows):
    loss = loss_of(name, relation, max_rows, FEW)

    assert 0 < loss <= EPSILON


@pytest.mark.full
@pytest.mark.parametrize(
    ("name", "relation", "max_rows"),
    [
        ("truths", "replace-one", 1),
        ("truths", "replace-one", 3),
        ("numbers", "replace-one", 1),
        ("function", "add-remove", 1),
        ("function", "replace-one", 3),
    ],
)
def test_many_sums_lose_no_more_than_they_claim(name, relation, max_rows):
    loss = loss_of(name, relation, max_rows, MANY)

    assert 0.6 * EPSILON < loss <= EPSILON


def draw_a_part(patch, part):
    """Let the room draw so much of its noise."""
    honest = summing.noise_of
    patch.setattr(summing, "noise_of", lambda law, size, bits: honest(law, size, bits) // part)


def test_sums_at_a_quarter_of_the_scale_are_certified(monkeypatch):
    draw_a_part(monkeypatch, 4)

    assert loss_of("truths", "replace-one", 1, FEW) > EPSILON


@pytest.mark.full
@pytest.mark.parametrize(("name", "relation"), [("truths", "replace-one"), ("numbers", "add-remove")])
def test_sums_at_half_the_scale_are_certified(name, relation, monkeypatch):
    draw_a_part(monkeypatch, 2)

    assert loss_of(name, relation, 1, ENOUGH) > EPSILON
