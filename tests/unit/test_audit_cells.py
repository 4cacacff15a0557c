"""The audit of trees of cells: what it says of answers that are wrong, and that it follows batches of questions."""

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pytest

from helpers.bits import SeededBits
from helpers.cells import ADD_REMOVE, coded, counts_asked, splits_asked, tree_over, whole_numbers
from helpers.planted_audits import replay
from lapwing.extras.audit.checks.cells import cell_flags, cell_loss, loss_flags, recounted_cells
from lapwing.extras.audit.held import RecordingBits
from lapwing.kernel.noise_law import NoiseLaw
from lapwing.kernel.questions.answering import PrivateRows
from lapwing.kernel.questions.marginal_counts.question import MarginalCounts
from lapwing.kernel.questions.shared.cells import CellSplits
from lapwing.kernel.questions.sparse_counts.answer import answer_sparse_counts
from lapwing.kernel.questions.split_decisions.answer import answer_split_decisions
from lapwing.kernel.questions.split_decisions.question import Splits
from lapwing.mechanisms.shared.base import Mechanism
from lapwing.mechanisms.trees.kd_tree.cells import halving_tree
from lapwing.mechanisms.trees.kd_tree.mechanism import Grid

SCHEMA = whole_numbers(x=8)
TREE = tree_over(SCHEMA, 1)
SOURCE = coded(SCHEMA, [(0,), (0,), (0,), (6,)])
NEIGHBOUR = coded(SCHEMA, [(0,), (0,), (0,), (0,), (6,)])
SPLITS = splits_asked(TREE, epsilon=Fraction(2), threshold=1)
COUNTS = counts_asked(tree_over(SCHEMA, 3), threshold=1)


def recorded(question, seed=1):
    """Return an answer, and the words it was drawn with."""
    bits = RecordingBits(SeededBits(seed))
    answer = answer_split_decisions if question is SPLITS else answer_sparse_counts
    return answer([question], PrivateRows.of(SOURCE, SCHEMA), ADD_REMOVE, bits)[0], bits.playback()


def flags(answer, bits):
    return cell_flags(answer, recounted_cells(answer, SOURCE), ADD_REMOVE, bits)


@pytest.mark.parametrize("question", [SPLITS, COUNTS])
def test_an_honest_answer_has_no_flag(question):
    for seed in range(20):
        assert flags(*recorded(question, seed)) == []


def test_a_loss_above_the_epsilon_is_told():
    answer, _ = recorded(COUNTS, 2)
    small = replace(answer, noise=NoiseLaw("laplace", Fraction(1, 5)))

    (told,) = loss_flags(small, recounted_cells(small, SOURCE), recounted_cells(small, NEIGHBOUR))

    assert told.endswith("loses 5, at most 1 is paid for")


def test_a_loss_that_the_answer_tells_otherwise_is_told(monkeypatch):
    answer, _ = recorded(COUNTS, 2)
    exact, other = recounted_cells(answer, SOURCE), recounted_cells(answer, NEIGHBOUR)
    assert loss_flags(answer, exact, other) == []

    monkeypatch.setattr(type(answer), "privacy_loss", lambda self, one, two: Fraction(0))

    assert loss_flags(answer, exact, other) == ["the answer over ('x',) tells a loss of 0, it is 1"]


def test_the_loss_under_zcdp_is_half_the_square():
    pure, _ = recorded(COUNTS, 2)
    zcdp = replace(pure, question=replace(COUNTS, notion="zcdp"))
    exact, other = recounted_cells(pure, SOURCE), recounted_cells(pure, NEIGHBOUR)

    assert float(cell_loss(pure, exact, other)) == pytest.approx(1)
    assert float(cell_loss(zcdp, exact, other)) == pytest.approx(0.5)


@dataclass(frozen=True)
class Batches(Mechanism):
    """Ask many questions at once, several of each kind."""

    name = "Batches"
    summary = "asks trees of cells in batches"
    relations = ("add-remove", "replace-one")

    def run(self, curator, schema, budget, rng):
        tree = halving_tree(schema, 0.25, 1.0)
        epsilon = Fraction(1, 8)
        cost = budget / 8
        questions = [counts_asked(tree, threshold=2, epsilon=epsilon, notion=budget.notion)]
        if tree.first < tree.depth:
            for rule in ("paper", "privtree"):
                asked = splits_asked(tree, rule=rule, epsilon=epsilon, notion=budget.notion)
                questions += [asked, MarginalCounts(columns=(), groupings=(), cost=cost), asked]
        answers = curator.ask(*questions)
        grown = [answer.tree for answer in answers if isinstance(answer, Splits)]
        curator.ask(
            *(counts_asked(each, threshold=1, epsilon=Fraction(1, 100), notion=budget.notion) for each in grown)
        )
        return Grid(width=0.5, threshold=2, variant="paper").run(curator, schema, budget / 16, rng)


def test_batches_of_questions_are_followed_draw_by_draw():
    assert replay(Batches()).flags(8) == ()


@pytest.mark.parametrize(
    ("told", "question", "seed", "spoil"),
    [
        ("its epsilon needs NoiseLaw", COUNTS, 1, lambda a: replace(a, noise=NoiseLaw("laplace", Fraction(1, 2)))),
        ("noise decides on level 1", SPLITS, 1, lambda a: resplit(a, [[int(a.tree.split_cells.tolist() == [[0]])]])),
        ("noise decides on level 2", SPLITS, 3, lambda a: resplit(a, a.tree.split_cells, ~a.tree.decisions[0])),
        ("exact counts plus their noise", COUNTS, 2, lambda a: replace(a, counts=a.counts + 1)),
        ("exact counts plus their noise", COUNTS, 2, lambda a: replace(a, counts=np.maximum(1, a.counts - 1))),
        ("plus their noise", COUNTS, 2, lambda a: replace(a, first_cells=a.first_cells[1:], counts=a.counts[1:])),
    ],
)
def test_an_answer_that_its_noise_does_not_give_is_told(told, question, seed, spoil):
    answer, bits = recorded(question, seed)

    (flag,) = flags(spoil(answer), bits)

    assert told in flag


def resplit(answer, chosen, *decisions):
    """Return an answer with other splits."""
    return Splits(SPLITS, CellSplits(np.array(chosen), decisions or (np.zeros(2, dtype=bool),)), answer.noise)
