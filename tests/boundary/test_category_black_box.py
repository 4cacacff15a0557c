"""Black box: how far lists of texts tell two neighbours apart, as far as runs alone can certify.

Only a second net: record and replay looks at exact counts and words. The planted bugs say how much it catches.
"""

from fractions import Fraction

import numpy as np
import pytest

import lapwing.curator.category_selection as room
from helpers.black_box import certified_loss
from helpers.category_runs import TINY, TextSource, open_schema
from lapwing.budget.budget import Budget
from lapwing.noise.bits import SystemBits
from lapwing.release.category_selection import CategorySelection
from lapwing.release.noise_law import row_sensitivity
from lapwing.release.terms import Terms

EPSILON = Fraction(2)
FEW = 1_500
MANY = 30_000
BATCH = 500

CASES = [("add-remove", 1), ("replace-one", 3)]


def neighbours(relation, max_rows, *, alone):
    """Return two tables; one person holds all that a person may, among the texts of others or not."""
    own = "own" if alone else "x"
    first = {"x": 300, "y": 300} | {own: max_rows + (0 if alone else 300)}
    return first, {"x": 300, "y": 300 + (max_rows if relation == "replace-one" else 0)}


def seen(counts, relation, max_rows, runs):
    """Return what was seen of runs: noisy counts of the texts of all, whether the person's own was shown, how many."""
    question = CategorySelection(column="town", prefix=None, cost=Budget.pure(EPSILON), delta=TINY)
    terms, source = Terms(relation=relation, max_rows=max_rows), TextSource(counts)
    found = []
    for _ in range(runs // BATCH):
        answers = room.answer_category_selection(
            [question] * BATCH, source, terms, SystemBits(), schema=open_schema(max_rows)
        )
        for answer in answers:
            shown = dict(zip(answer.texts, answer.counts.tolist(), strict=True))
            found.append([shown.get("x", 0), shown.get("y", 0), shown.get("own", 0), len(shown)])
    return np.array(found)


def loss_of(relation, max_rows, *, alone, runs=FEW):
    tables = neighbours(relation, max_rows, alone=alone)
    return certified_loss(*(seen(counts, relation, max_rows, runs) for counts in tables))


@pytest.mark.parametrize("runs", [FEW, pytest.param(MANY, marks=pytest.mark.full)])
@pytest.mark.parametrize("alone", [False, True], ids=["among others", "alone"])
@pytest.mark.parametrize(("relation", "max_rows"), CASES)
def test_runs_certify_no_more_than_epsilon(relation, max_rows, alone, runs):
    assert loss_of(relation, max_rows, alone=alone, runs=runs) <= EPSILON


def the_noise_is_for_a_quarter_of_the_change(patch):
    honest = room.noise_of
    patch.setattr(room, "noise_of", lambda law, size, bits: np.sign(honest(law, size, bits)))


def a_unit_counts_as_one_row(patch):
    patch.setattr(CategorySelection, "sensitivity", lambda self, relation, rows: row_sensitivity("add-remove", 1))


def every_text_is_shown(patch):
    patch.setattr(CategorySelection, "threshold", lambda self, relation, rows: -(10**6))


def the_threshold_is_the_rows_of_a_unit(patch):
    patch.setattr(CategorySelection, "threshold", lambda self, relation, rows: rows)


@pytest.mark.parametrize(
    ("plant", "relation", "max_rows", "alone"),
    [
        (the_noise_is_for_a_quarter_of_the_change, "replace-one", 3, False),
        (a_unit_counts_as_one_row, "replace-one", 3, False),
        (every_text_is_shown, "add-remove", 1, True),
        (the_threshold_is_the_rows_of_a_unit, "replace-one", 3, True),
    ],
)
def test_runs_certify_a_planted_bug(plant, relation, max_rows, alone, monkeypatch):
    plant(monkeypatch)

    assert loss_of(relation, max_rows, alone=alone) > EPSILON
