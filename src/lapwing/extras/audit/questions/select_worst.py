"""The choice among tables, scored cell by cell, drawn again, and seen from outside."""

import itertools
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any, Final

import numpy as np

from lapwing.extras.audit.held import PlaybackBits, Rows
from lapwing.extras.audit.worst_case import (
    PURE_TERMS,
    ZCDP_TERMS,
    QuestionCase,
    Recheck,
    grouping_of,
    loss_told,
    people_case,
)
from lapwing.kernel.noise.selection import exponential_mechanism
from lapwing.kernel.noise_law import row_sensitivity
from lapwing.kernel.questions.select_worst import answer as select_worst
from lapwing.kernel.questions.select_worst.question import Selection, SelectWorst
from lapwing.kernel.terms import Terms
from lapwing.rows.exact_tables import ExactTables

_EPSILON: Final = Fraction(2)
_SELDOM: Final = 3.2
"""Log-odds against a choice: so far out both tables choose it in a part of the runs whose logarithms differ by most."""


def rescored(question: SelectWorst, source: Rows) -> np.ndarray:
    """Score the candidates of a selection: each table counted by itself, each cell looked at in turn."""
    assert question.estimates is not None
    assert question.penalties is not None
    rows = _group_lists(question, source)
    estimates = iter(question.estimates.tolist())
    scores = []
    for candidate, penalty in zip(_tables(question), question.penalties.tolist(), strict=True):
        shape = tuple(question.levels[place][level].groups for place, level in candidate)
        counts = Counter(zip(*(rows[axis] for axis in candidate), strict=True))
        cells = [(counts[cell], next(estimates)) for cell in itertools.product(*map(range, shape))]
        scores.append(sum(abs(count - estimate) for count, estimate in cells if estimate != -1) - penalty)
    return np.array(scores, dtype=np.int64)


def _tables(question: SelectWorst) -> list[list[tuple[int, int]]]:
    """Return the position and the level of each axis of the candidates."""
    assert question.candidates is not None
    return [[(place, level) for place, level in each if place >= 0] for each in question.candidates.tolist()]


def _group_lists(question: SelectWorst, source: Rows) -> dict[tuple[int, int], list[int]]:
    """Return the group of every row, for each column and level that candidates use."""
    axes = sorted({axis for candidate in _tables(question) for axis in candidate})
    rows: dict[tuple[int, int], list[int]] = {axis: [] for axis in axes}
    for chunk in source.chunks():
        for place, level in axes:
            rows[place, level] += question.levels[place][level].apply(chunk[question.columns[place]]).tolist()
    return rows


def _selection_flags(answer: Selection, scores: np.ndarray, terms: Terms, bits: PlaybackBits) -> list[str]:
    """Draw one selection again from independent scores, and compare its price with its epsilon."""
    question, flags = answer.question, []
    where = f"the selection over {question.columns}"
    bound = row_sensitivity(terms.relation, terms.max_rows).l1
    price = question.epsilon if question.notion == "pure" else question.epsilon**2 / 8
    if question.cost.amount != price:
        flags.append(f"{where} is charged {question.cost.amount}, its epsilon costs {price}")
    if answer.sensitivity != bound:
        flags.append(f"{where} was drawn for scores that change by {answer.sensitivity}, they change by {bound}")
    if exponential_mechanism(scores, question.epsilon, bound, bits) != answer.choice:
        flags.append(f"{where} is not what the exponential mechanism draws on the exact scores")
    return flags


def _cases() -> Iterator[QuestionCase]:
    """Ask about two tables: what makes one worse makes the other better."""
    for terms, notion in [*((each, "pure") for each in PURE_TERMS), *((each, "zcdp") for each in ZCDP_TERMS)]:
        parts: dict[str, Any] = {
            "columns": ("a", "b"),
            "levels": ((grouping_of("a"),), (grouping_of("b"),)),
            "candidates": np.array([[[0, 0]], [[1, 0]]]),
            "estimates": np.array([0, 1000, -1, 1000, 0, -1]),
            "epsilon": _EPSILON,
            "notion": notion,
        }
        plain = SelectWorst(**parts, penalties=np.zeros(2, dtype=np.int64))
        case = people_case(plain, "the worse of two tables", terms, seen=lambda answer: [answer.choice])
        yield replace(case, asked=SelectWorst(**parts, penalties=_penalties(plain, case)))


def _penalties(plain: SelectWorst, case: QuestionCase) -> np.ndarray:
    """Return penalties with which the first candidate is a rare choice on the first table; for rho one in four."""
    (scores,) = select_worst.misfits([plain], ExactTables(case.sources[0]))
    odds = _SELDOM if plain.notion == "pure" else float(_EPSILON) / 2
    ahead = round(odds * 2 * plain.sensitivity(case.relation, case.max_rows).l1 / float(_EPSILON))
    return np.array([ahead + scores[0] - scores[1], 0])


CHECK: Final = Recheck(
    cases=_cases,
    recount=lambda answer, source, _: [rescored(answer.question, source)],
    flags=_selection_flags,
    loss=loss_told,
)
