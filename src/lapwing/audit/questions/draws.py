"""Black-box cases of the questions that draw rows, or show texts that are not known beforehand."""

from collections.abc import Iterator
from fractions import Fraction
from typing import Final

import polars as pl

from lapwing.audit.worst_case import (
    PRICED,
    PURE,
    PURE_TERMS,
    QuestionCase,
    neighbours,
    people_schema,
    terms_of,
)
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.questions.category_selection.question import CategorySelection, SelectedTexts
from lapwing.kernel.questions.private_draw.question import PrivateDraw
from lapwing.kernel.terms import Terms
from lapwing.rows.counting import CodedSource
from lapwing.rows.source import code_table
from lapwing.schema.fields import Field
from lapwing.schema.schemas import PrivacyUnit, Schema

_TINY: Final = Fraction(1, 10**9)
_PLAIN: Final = Fraction(1, 20)
"""A delta so large that a text which is shown more often is soon found out."""

_OFTEN: Final = 150
_OWN: Final = "its own"


def draw_cases() -> Iterator[QuestionCase]:
    """Yield the cases of `PrivateDraw` and `CategorySelection`."""
    yield from _private_draws()
    yield from _popular_texts()
    yield from _own_texts()


# ------------------------------------------------------------------------------------------------------------ draws


def _private_draws() -> Iterator[QuestionCase]:
    """Ask about tables of few rows at a high floor, found by trying all: a point leaves the floor."""
    two = [(0, False, True)] * 2 + [(0, True, True)] * 4
    yield _private_draw(
        PrivateDraw(columns=("a", "b"), degree=1, floor=Fraction(1, 7), rows=7, draws=1, notion="pure"), two
    )
    one = [(0, False, False), (0, True, True)]
    yield _private_draw(
        PrivateDraw(columns=("a",), degree=1, floor=Fraction(2, 3), rows=3, draws=2, notion="zcdp"), one
    )


def _private_draw(asked: PrivateDraw, others: list[tuple[int, bool, bool]]) -> QuestionCase:
    terms = Terms(relation="replace-one", rows=asked.rows)
    return QuestionCase(
        asked=asked,
        label="one row of two columns" if asked.draws == 1 else "two rows of one column",
        sources=neighbours(terms, (0, True, False), (0, False, True), others),
        terms=terms,
        schema=people_schema(terms.max_rows),
        seen=lambda answer: [int((answer.rows == 1).sum())],
    )


# ------------------------------------------------------------------------------------------------------------ texts


def _popular_texts() -> Iterator[QuestionCase]:
    """Ask for texts that many others have: a replaced person leaves one for another."""
    for cost, relation, max_rows in PRICED:
        yield _texts(cost, _TINY, "texts that many have", terms_of(relation, max_rows), own="x")


def _own_texts() -> Iterator[QuestionCase]:
    """Ask for a text that the person alone has: nothing but delta lets it be shown."""
    for relation, max_rows in (PURE_TERMS[0], PURE_TERMS[-1]):
        yield _texts(PURE, _PLAIN, "a text that one person alone has", terms_of(relation, max_rows), own=_OWN)


def _texts(cost: Budget, delta: Fraction, label: str, terms: Terms, *, own: str) -> QuestionCase:
    schema = _open_schema(terms.max_rows)
    second = ["y"] * terms.max_rows if terms.relation == "replace-one" else []
    return QuestionCase(
        asked=CategorySelection(column="town", prefix=None, cost=cost, delta=delta),
        label=label,
        sources=(_towns([own] * terms.max_rows, schema), _towns(second, schema)),
        terms=terms,
        schema=schema,
        seen=_shown,
    )


def _open_schema(max_rows: int) -> Schema:
    """Return the schema of people's towns, whose names are not known."""
    person, town = Field(name="person", type="string", identifier=True), Field(name="town", type="string", open=True)
    return Schema(fields=(person, town), privacy_unit=PrivacyUnit("person", max_rows))


def _towns(own: list[str], schema: Schema) -> CodedSource:
    """Return a table: two towns of many people each, and those of the person."""
    others = ["x", "y"] * _OFTEN
    people = [*(f"other {place}" for place in range(len(others))), *["the person"] * len(own)]
    return code_table(pl.DataFrame({"person": people, "town": [*others, *own]}), schema)


def _shown(answer: SelectedTexts) -> list[int]:
    """Return the counts of the three texts, 0 for one that is left out, and how many are shown."""
    counts = dict(zip(answer.texts, answer.counts.tolist(), strict=True))
    return [counts.get("x", 0), counts.get("y", 0), counts.get(_OWN, 0), len(counts)]
