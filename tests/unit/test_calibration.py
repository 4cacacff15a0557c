"""The noise of every answer is that of the relation and the rows per unit, exactly, by constants written down anew."""

from fractions import Fraction

import numpy as np
import pytest

from helpers.asked_questions import asked, terms_of
from helpers.bits import SeededBits
from lapwing.extras.audit.pairs import neighbour_pair
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.room.room import Room
from lapwing.kernel.room.transcript import NoTranscript
from lapwing.rows.source import code_table

COUNTED_ONCE = ("MarginalCounts", "TreeCounts", "SparseCounts", "CategorySelection", "TableDistances")
"""A row changes one number of each table by one, or each of two tables' differences by one."""


def largest_changes(question, relation, max_rows):
    """Return the largest sum of changes and of their squares, as the proofs claim; None where other tests have it."""
    rows = max_rows * (2 if relation == "replace-one" else 1)
    if question.kind == "TableDistances":
        return rows * question.scale, (rows * question.scale) ** 2
    if question.kind in COUNTED_ONCE:
        return rows, max_rows * rows
    if question.kind == "SplitDecisions":
        counts = question.deciding if question.rule == "paper" else 2
        return rows * counts, None
    return None


def answers_of(relation, max_rows, *, pure):
    """Yield question and answer of every run about some rows."""
    pair = neighbour_pair(np.random.default_rng(8), relation, max_rows)
    for run in asked(pair.data, pair.schema, relation, pure=pure, times=Fraction(300, 7)):
        source = code_table(pair.data, run.schema)
        for question in run.questions:
            budget = Budget(question.cost.notion, question.cost.amount)
            terms = terms_of(source, run.settings)
            bits, sink = SeededBits(1), NoTranscript()
            room = Room(source, run.schema, terms, budget, bits=bits, sink=sink, delta=Fraction(1))
            yield question, room.ask(question)[0]


# Any two of the three meet in all ways.
@pytest.mark.parametrize(
    ("relation", "max_rows", "pure"),
    [("add-remove", 1, True), ("add-remove", 3, False), ("replace-one", 1, False), ("replace-one", 3, True)],
)
def test_noise_is_calibrated_for_relation_and_rows_per_unit(relation, max_rows, pure):
    seen = set()

    for question, answer in answers_of(relation, max_rows, pure=pure):
        changes = largest_changes(question, relation, max_rows)
        if changes is None:
            continue
        for table in answer.tables:
            if table.noise.kind == "laplace":
                epsilon = changes[0] / table.noise.parameter
                assert table.cost.amount == (epsilon if table.cost.notion == "pure" else epsilon**2 / 2), question.kind
            else:
                assert table.cost.amount == changes[1] / (2 * table.noise.parameter), question.kind
            seen.add(question.kind)

    assert seen >= {"MarginalCounts", "TreeCounts", "TableDistances"}
