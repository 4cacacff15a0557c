"""Lists of texts for tests: open columns of odd texts, and runs that ask about them as a learned domain does."""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import polars as pl

from lapwing.extras.audit.pairs import open_schema as open_schema
from lapwing.kernel.budget.budget import Budget, BudgetRequest, read_request
from lapwing.kernel.questions.category_selection.question import CategorySelection
from lapwing.kernel.questions.questions import Answer
from lapwing.model.certificate.certificate import Certificate, CostLine
from lapwing.model.certificate.cost_lines import RequestedBudget
from lapwing.schema.schemas import Schema
from lapwing.version import VERSION

TINY = Fraction(1, 10**9)
"""A delta so small that its event never happens in a test."""


@dataclass(frozen=True, kw_only=True)
class ListSettings:
    """What is asked: lists of prefixes and whole texts of the one column, at equal shares."""

    schema: Schema
    request: BudgetRequest
    relation: str
    prefixes: tuple = (1, None)
    most: tuple = (2, 100)
    delta: Fraction = TINY
    selection_delta: Fraction = 2 * TINY
    expected_rows: int | None = None
    name: str = "lists of texts"

    def to_dict(self):
        return {"prefixes": list(self.prefixes)}


@dataclass(frozen=True)
class Lists:
    """What a run shows."""

    answers: tuple[Answer, ...]
    certificate: Certificate

    def to_dict(self):
        return {"certificate": self.certificate.to_dict(), "answers": [each.to_dict() for each in self.answers]}


def asked_lists(source, settings, terms, run):
    """Ask for all lists, the second one only after the first."""
    room = run.curator(source, settings.schema, terms, settings.request.budget, delta=settings.selection_delta)
    cost = settings.request.budget / len(settings.prefixes)
    answers = []
    for prefix, most in zip(settings.prefixes, settings.most, strict=True):
        question = CategorySelection(column="town", prefix=prefix, cost=cost, delta=settings.delta, most=most)
        answers += room.ask(question)
    return Lists(tuple(answers), certified(settings, terms, answers))


def certified(settings, terms, answers):
    """Return the certificate of some lists."""
    lines = tuple(line for answer in answers for line in CostLine.of(answer, terms))
    total = Budget(settings.request.budget.notion, sum((line.cost.amount for line in lines), Fraction(0)))
    return Certificate(
        lapwing=VERSION,
        mechanism=settings.name,
        settings=settings.to_dict(),
        lines=lines,
        total=total,
        requested=RequestedBudget(epsilon=settings.request.epsilon, rho=settings.request.rho),
        epsilons=(),
        delta=sum((line.delta or Fraction(0) for line in lines), Fraction(0)),
        relation=terms.relation,
        privacy_unit=settings.schema.unit_label,
        max_rows=terms.max_rows,
        assumed_fields=(),
        dp_fields=(),
        public_rows=terms.rows,
        expected_rows=None,
        released_rows=0,
        ledger=None,
        accuracy=(),
        assumed=(),
        warnings=(),
    )


def list_settings(schema, relation, *, pure=True, times=1, **changes):
    """Return settings at a budget of one, or several times that."""
    request = read_request(epsilon=times) if pure else read_request(rho=Fraction(times, 2))
    return ListSettings(schema=schema, request=request, relation=relation, **changes)


# ---------------------------------------------------------------------------------------- how often a unit shows up


def tails(kind, parameter):
    """Return P[Z >= x] for x = 0, 1, ..., summed over the law from far out."""
    scale = float(parameter)
    reach = math.ceil(60 * max(scale if kind == "laplace" else math.sqrt(scale), 1))
    z = np.arange(reach + 1)
    weights = np.exp(-z / scale) if kind == "laplace" else np.exp(-(z**2) / (2 * scale))
    masses = weights / (weights[0] + 2 * weights[1:].sum())
    return np.append(np.cumsum(masses[::-1])[::-1], np.zeros(1000))


def spread(rows, largest):
    """Yield the ways to spread at most so many rows over texts."""
    yield ()
    for first in range(1, min(rows, largest) + 1):
        for rest in spread(rows - first, first):
            yield (first, *rest)


def failure(kind, parameter, max_rows, threshold):
    """Return how probable it is at most that a text of one unit shows up."""
    tail = tails(kind, parameter)
    return max(1 - math.prod(1 - tail[threshold - rows] for rows in way) for way in spread(max_rows, max_rows))


class TextSource:
    """A source that gives the same texts again and again."""

    def __init__(self, counts):
        texts = [text for text, rows in counts.items() for _ in range(rows)]
        self._texts = pl.Series(texts, dtype=pl.String)

    def texts(self, column):
        yield self._texts
