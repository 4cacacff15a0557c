"""Ask a mechanism for its plan, under the terms of a release or under others to compare with."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from lapwing.kernel.terms import Relation, Terms
from lapwing.model.certificate.certificate import CostLine, Statement
from lapwing.model.planned import Planned
from lapwing.runs.generators import generator
from lapwing.runs.settings import Settings
from lapwing.schema.public_tables.cells import public_total
from lapwing.schema.schemas import Schema

_SEED: Final = 0  # every plan starts from the same public seed

NOISE: Final = "expected noise"  # kind of the figures of a plan that say how large the noise on a count is

_ERRORS: Final = ("expected error", "simulated bound", "published bound", "expected total variation")
"""Kinds of the figures of a plan that are about a model."""

_MUCH_THE_SAME: Final = 1.01


def expected_terms(relation: Relation, schema: Schema, rows: int, max_rows: int | None = None) -> Terms:
    """Return the terms of a release of that many rows, as `lapwing.kernel.room.opening.public_terms` gives them."""
    most = schema.max_rows if max_rows is None else max_rows
    is_public = relation == "replace-one" and most == 1 and schema.names_every_unit
    return Terms(relation=relation, max_rows=most, rows=rows if is_public else None, expected_rows=rows)


def planned(settings: Settings, terms: Terms) -> Planned:
    """Ask the mechanism for its plan; the same one for the same settings and terms."""
    schema = settings.schema
    found = settings.mechanism.plan(schema, settings.request.budget, terms, generator(_SEED, "plan"))
    if not schema.rules and public_total(schema) is None:
        return found
    return replace(found, accuracy=tuple(map(_of_mechanism, found.accuracy)))


def _of_mechanism(stated: Statement) -> Statement:
    """Say that an error is expected of the mechanism's model: what rules and public tables will move is unknown."""
    if stated.kind not in _ERRORS:
        return stated
    return replace(stated, text=f"{stated.text}; of the mechanism's model, before rules and public tables are kept")


def first_deviation(plan: Planned, terms: Terms) -> float:
    """Return the standard deviation of the noise on the first table, in records."""
    law = CostLine.planned(plan.questions[0], terms)[0].noise
    return 0.0 if law is None else law.sd


def noisy_tables(plan: Planned, terms: Terms) -> int:
    """Return how many tables get noise."""
    return sum(line.noise is not None for each in plan.questions for line in CostLine.planned(each, terms))


def common_figure(plans: Sequence[tuple[Planned, Terms]]) -> tuple[Statement, ...]:
    """Return the first figure that all plans state in the same words, one statement for each plan.

    An error that stays the same says little where the noise does not: a mechanism may measure more tables instead. Then
    it is a figure about the noise, or the noise on the first table where an error is the same because it is at its
    largest.
    """
    stated = [{(each.kind, each.text): each for each in plan.accuracy} for plan, _ in plans]
    common = [tuple(each[words] for each in stated) for words in stated[0] if all(words in each for each in stated)]
    noises = [figures for figures in common if figures[0].kind == NOISE]
    for figures in (*common[:1], *noises):
        values = [each.value or 0.0 for each in figures]
        if max(values) > _MUCH_THE_SAME * min(values):
            return figures
    if common and len({each.value for each in common[0]}) > 1:
        return common[0]
    text = "standard deviation of each count of the first table, in records"
    return tuple(Statement(kind=NOISE, text=text, value=first_deviation(*each)) for each in plans)
