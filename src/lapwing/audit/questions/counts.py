"""Black-box cases of the questions that count rows in tables, and of the choice among tables."""

from collections.abc import Iterator
from fractions import Fraction
from typing import Any, Final

import numpy as np

from lapwing.audit.worst_case import (
    PRICED,
    PURE_TERMS,
    ZCDP_TERMS,
    QuestionCase,
    grouping_of,
    neighbours,
    people_schema,
    terms_of,
)
from lapwing.kernel.questions.marginal_counts.question import MarginalCounts
from lapwing.kernel.questions.select_worst import answer as select_worst
from lapwing.kernel.questions.select_worst.question import SelectWorst
from lapwing.kernel.questions.table_distances.question import TableDistances
from lapwing.kernel.questions.tree_counts.question import NoisyTree, TreeCounts
from lapwing.kernel.terms import Terms
from lapwing.rows.counting import ExactTables
from lapwing.schema.groupings.hierarchies import hierarchy

_EPSILON: Final = Fraction(2)
_SELDOM: Final = 3.2
"""Log-odds against a choice: so far out both tables choose it in a part of the runs whose logarithms differ by most."""


def count_cases() -> Iterator[QuestionCase]:
    """Yield the cases of `MarginalCounts`, `TreeCounts`, `SelectWorst` and `TableDistances`."""
    yield from _marginal_counts()
    yield from _tree_counts()
    yield from _select_worst()
    yield from _table_distances()


def _marginal_counts() -> Iterator[QuestionCase]:
    """Ask for one table: a replaced person leaves one cell for another."""
    for cost, relation, max_rows in PRICED:
        terms = terms_of(relation, max_rows)
        yield QuestionCase(
            asked=MarginalCounts(columns=("a",), groupings=(grouping_of("a"),), cost=cost),
            label="one table of two values",
            sources=neighbours(terms, (0, True, True), (0, False, False)),
            terms=terms,
            schema=people_schema(terms.max_rows),
            seen=lambda answer: answer.counts[:2].tolist(),
        )


def _tree_counts() -> Iterator[QuestionCase]:
    """Ask for a tree: a replaced person leaves all cells of a path below the root for those of another."""
    nested = hierarchy(people_schema(1).field("x").domain, 2)
    for cost, relation, max_rows in PRICED:
        terms = terms_of(relation, max_rows)
        root = (cost / 3,) if relation == "add-remove" else (None,)  # of replaced rows the number stays
        below = (cost / (2 if root == (None,) else 3),) * 2
        yield QuestionCase(
            asked=TreeCounts(columns=("x",), hierarchies=(nested,), schedule=(0, 0), costs=root + below),
            label="a tree of two levels" if root == (None,) else "a tree of two levels and its root",
            sources=neighbours(terms, (0, True, True), (31, False, False)),
            terms=terms,
            schema=people_schema(terms.max_rows),
            seen=_ends_of_levels,
        )


def _ends_of_levels(answer: NoisyTree) -> list[int]:
    """Return the first and the last cell of each level."""
    return [count for level in answer.levels if level is not None for count in level[[0, -1]].tolist()]


def _select_worst() -> Iterator[QuestionCase]:
    """Ask about two tables: what makes one worse makes the other better."""
    for (relation, max_rows), notion in [*((each, "pure") for each in PURE_TERMS), *((e, "zcdp") for e in ZCDP_TERMS)]:
        terms = terms_of(relation, max_rows)
        parts: dict[str, Any] = {
            "columns": ("a", "b"),
            "levels": ((grouping_of("a"),), (grouping_of("b"),)),
            "candidates": (((0, 0),), ((1, 0),)),
            "estimates": np.array([0, 1000, -1, 1000, 0, -1]),
            "epsilon": _EPSILON,
            "notion": notion,
        }
        sources = neighbours(terms, (0, True, True), (0, False, False))
        yield QuestionCase(
            asked=SelectWorst(**parts, penalties=_penalties(parts, sources[0], terms)),
            label="the worse of two tables",
            sources=sources,
            terms=terms,
            schema=people_schema(terms.max_rows),
            seen=lambda answer: [answer.choice],
        )


def _penalties(parts: dict[str, Any], source: Any, terms: Terms) -> np.ndarray:  # noqa: ANN401
    """Return penalties with which the first candidate is a rare choice on the first table; for rho one in four."""
    plain = SelectWorst(**parts, penalties=np.zeros(2, dtype=np.int64))
    scores = select_worst.misfit_scores(plain, select_worst.exact_cells([plain], ExactTables(source))[0])
    odds = _SELDOM if plain.notion == "pure" else float(_EPSILON) / 2
    ahead = round(odds * 2 * plain.sensitivity(terms.relation, terms.max_rows).l1 / float(_EPSILON))
    return np.array([ahead + scores[0] - scores[1], 0])


def _table_distances() -> Iterator[QuestionCase]:
    """Ask about two tables: the person is in a cell of each that is too full, the replaced one in one too empty."""
    listed, expected = np.array([0, 1]), np.array([100, 0])
    for cost, relation, max_rows in PRICED:
        terms = terms_of(relation, max_rows)
        yield QuestionCase(
            asked=TableDistances(
                columns=("a", "b"),
                groupings=(grouping_of("a"), grouping_of("b")),
                tables=((0,), (1,)),
                cells=(listed,) * 2,
                expected=(expected,) * 2,
                bits=1,
                cost=cost,
            ),
            label="the distance of two tables",
            sources=neighbours(terms, (0, True, True), (0, False, False)),
            terms=terms,
            schema=people_schema(terms.max_rows),
            seen=lambda answer: answer.values.tolist(),
        )
