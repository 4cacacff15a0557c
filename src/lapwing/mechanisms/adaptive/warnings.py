"""What a reader should know of the single columns of an Adaptive release, from its answers and its model alone."""

from collections.abc import Iterator, Sequence
from fractions import Fraction

import numpy as np

from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.questions.marginal_counts.question import NoisyCounts
from lapwing.kernel.questions.questions import Answer
from lapwing.kernel.room.curator import ReplayCurator
from lapwing.kernel.terms import Terms
from lapwing.mechanisms.adaptive.ask_columns import ask_columns
from lapwing.mechanisms.adaptive.columns import OneWayTable
from lapwing.mechanisms.shared.public_cells import is_refined, is_staged
from lapwing.model.certificate.certificate import Statement
from lapwing.model.model import Indexed, ReleasedModel
from lapwing.schema.fields import Field
from lapwing.schema.schemas import Schema

UNSEEN = "rows where none were seen"
UNDIVIDED = "values not told apart"

_MOST_UNSEEN = 0.01
_LEAST_HELD, _TINY = 0.05, 1e-3
"""A range that holds so many of the rows, in so small a part of the column's values, may be a single value."""


def warnings_of(schema: Schema, terms: Terms, answers: Sequence[Answer], model: ReleasedModel) -> tuple[Statement, ...]:
    """Return the statements of a certificate about single columns.

    Returns how many columns have a missing or special state that noise explained; of each column of numbers or dates,
    what share of the rows is where its own counts show none, if that is more than 1 %; and of each wide one the most
    that is in a tiny range of values that no count divides, if that is more than 5 %.
    """
    return (*_absent_states(schema, model), *_ordered_columns(schema, terms, answers, model))


def _absent_states(schema: Schema, model: ReleasedModel) -> Iterator[Statement]:
    """Say how many columns have a missing or special state that no row has."""
    base = {} if model.log_linear is None else model.log_linear.base
    states = {column.name: column.domain.specials + int(column.domain.missing) for column in schema.columns}
    present = {
        column.name: np.count_nonzero(base[column.name].starts >= column.domain.values)
        for column in schema.columns
        if column.name in base
    }
    absent = sum(states[name] > count for name, count in present.items())
    text = "so many columns have a missing or special state that no row has: noise explained what was counted there"
    if absent:
        yield Statement(kind="states without rows", text=text, value=float(absent))


def _ordered_columns(
    schema: Schema, terms: Terms, answers: Sequence[Answer], model: ReleasedModel
) -> Iterator[Statement]:
    """Compare each ordered column with its own counts alone."""
    own = [each for each in answers if isinstance(each, NoisyCounts) and len(each.question.columns) == 1]
    if not own or not any(is_staged(field) for field in schema.columns):
        return
    spent = dict.fromkeys((field.name for field in schema.columns), Fraction(0))
    for answer in own:
        spent[answer.question.columns[0]] += answer.question.cost.amount
    costs = [Budget(own[0].question.cost.notion, spent[field.name]) for field in schema.columns]
    tables, _ = ask_columns(ReplayCurator(terms, own), schema, costs)
    for field, table in zip(schema.columns, tables, strict=True):
        law = model.laws[field.name]
        if is_staged(field) and isinstance(law, Indexed):
            yield from _of_column(field, table, law, model.weights)


def _of_column(field: Field, table: OneWayTable, law: Indexed, weights: np.ndarray) -> Iterator[Statement]:
    """Say what is unseen or undivided in one column."""
    shares = np.bincount(law.index, weights, law.laws.count) / weights.sum()
    pieces = law.laws.probabilities * shares[law.laws.law_of_piece]
    starts, _, cell = table.grouping.pieces()
    assert table.masses is not None
    masses = np.bincount(cell[np.searchsorted(starts, law.laws.starts, "right") - 1], pieces, table.grouping.groups)
    regular, widths = table.grouping.regular, np.diff(np.append(starts, field.domain.values)[: starts.size + 1])
    unseen = float(masses[:regular][table.masses[:regular] <= 0].sum())
    if unseen > _MOST_UNSEEN:
        text = (
            f"this share of the rows has values of {field.name!r} where its own counts show none; "
            "only tables with other columns put them there"
        )
        yield Statement(kind=UNSEEN, text=text, value=unseen)
    is_tiny = (widths[:regular] > 1) & (widths[:regular] < _TINY * field.domain.values)
    held = float(np.max(masses[:regular] * is_tiny, initial=0.0))
    if is_refined(field) and held > _LEAST_HELD:
        text = (
            f"this share of the rows has values of {field.name!r} in one tiny range that no count divides; "
            "in the private table they may be a single value"
        )
        yield Statement(kind=UNDIVIDED, text=text, value=held)
