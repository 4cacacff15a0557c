"""The room takes questions of plain values only: a subclass could bring code of its own inside."""

from dataclasses import fields, replace
from fractions import Fraction

import numpy as np
import pytest

from lapwing.errors import ParameterError
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.noise.bits import SystemBits
from lapwing.kernel.questions.marginal_counts.question import MarginalCounts
from lapwing.kernel.questions.shared.cells import CellTree
from lapwing.kernel.questions.sparse_counts.question import SparseCounts
from lapwing.kernel.questions.split_decisions.question import SplitDecisions
from lapwing.kernel.room.room import Room
from lapwing.kernel.room.transcript import NoTranscript
from lapwing.kernel.terms import Terms
from lapwing.maths.arrays import read_only
from lapwing.rows.source import code_table
from lapwing.schema.groupings.grouping import Grouping, identity
from lapwing.schema.groupings.hierarchies import hierarchy
from lapwing.schema.schemas import Schema

SCHEMA = Schema.from_dict({"fields": [{"name": "flag", "type": "boolean"}]})
DOMAIN = SCHEMA.field("flag").domain


class Peeking(CellTree):
    """A tree that would see the exact cells."""


class Huge(Fraction):
    """A number that could lie about its quotients."""


class Word(str):
    """A text that could lie about what it equals."""

    __slots__ = ()


class Watching(Grouping):
    """A map that would see the codes."""


def tree(kind=CellTree):
    return kind(columns=("flag",), hierarchies=(hierarchy(DOMAIN, 2),), schedule=(0, 0), first=1)


def counts(**changes):
    return replace(SparseCounts(tree=tree(), threshold=2, epsilon=Fraction(1), notion="pure"), **changes)


def splits(**changes):
    asked = SplitDecisions(tree=tree(), rule="privtree", threshold=1, epsilon=Fraction(1), notion="pure")
    return replace(asked, **changes)


def watching():
    plain = identity(DOMAIN)
    return Watching(**{each.name: getattr(plain, each.name) for each in fields(plain) if each.init})


def marginal(grouping, cost):
    return MarginalCounts(columns=("flag",), groupings=(grouping,), cost=cost)


def room():
    import polars as pl

    source = code_table(pl.DataFrame({"flag": [True, None, False]}), SCHEMA)
    terms = Terms(relation="add-remove")
    return Room(source, SCHEMA, terms, Budget.pure(2), bits=SystemBits(), sink=NoTranscript())


@pytest.mark.parametrize(
    "question",
    [
        counts(tree=tree(Peeking)),
        counts(epsilon=Huge(1)),
        splits(rule=Word("privtree")),
        splits(tree=tree(Peeking)),
        marginal(watching(), Budget.pure(1)),
        marginal(identity(DOMAIN), Budget("pure", Huge(1))),
    ],
    ids=["tree", "epsilon", "rule", "split tree", "grouping", "cost"],
)
def test_a_subclass_inside_a_question_is_refused_before_any_charge(question):
    inside = room()

    with pytest.raises(ParameterError, match="must hold plain values only, no subclasses; build it from the schema"):
        inside.ask(question)

    answers = inside.ask(marginal(identity(DOMAIN), Budget.pure(2)))
    assert len(answers) == 1


@pytest.mark.parametrize("question", [counts(), splits(), counts(threshold=None)])
def test_plain_questions_are_answered(question):
    (answer,) = room().ask(question)

    assert answer.question is question


def test_a_read_only_view_of_an_array_that_can_be_written_to_is_copied():
    base = np.arange(4)
    view = base.view()
    view.flags.writeable = False

    kept = read_only(view)
    base[0] = 9

    assert kept.tolist() == [0, 1, 2, 3]
