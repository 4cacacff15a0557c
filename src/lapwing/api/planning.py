"""Ask a mechanism for its plan, under the terms of a release or under others to compare with."""

from collections.abc import Sequence
from typing import Final

from lapwing.api.generators import generator
from lapwing.api.settings import Settings
from lapwing.release.certificate import CostLine, Statement
from lapwing.release.planned import Planned
from lapwing.release.terms import Relation, Terms

_SEED: Final = 0
"""Every plan starts from the same public seed."""


def expected_terms(relation: Relation, max_rows: int, rows: int) -> Terms:
    """Return the terms of a release of that many rows, as `lapwing.curator.opening.public_terms` gives them."""
    is_public = relation == "replace-one" and max_rows == 1
    return Terms(relation=relation, max_rows=max_rows, rows=rows if is_public else None, expected_rows=rows)


def planned(settings: Settings, terms: Terms) -> Planned:
    """Ask the mechanism for its plan; the same one for the same settings and terms."""
    return settings.mechanism.plan(settings.schema, settings.request.budget, terms, generator(_SEED, "plan"))


def first_deviation(plan: Planned, terms: Terms) -> float:
    """Return the standard deviation of the noise on the first table, in records."""
    law = CostLine.planned(plan.questions[0], terms)[0].noise
    return 0.0 if law is None else law.sd


def common_figure(plans: Sequence[tuple[Planned, Terms]]) -> tuple[Statement, ...]:
    """Return the first figure that all plans state in the same words, one statement for each plan.

    Figures that are the same for all plans, such as an error at its largest, are passed over where another one differs.
    The noise on the first table is the last resort.
    """
    stated = [{(each.kind, each.text): each for each in _figures(*plan)} for plan in plans]
    common = [tuple(each[words] for each in stated) for words in stated[0] if all(words in each for each in stated)]
    different = [figures for figures in common if len({figure.value for figure in figures}) > 1]
    return (different or common)[0]


def _figures(plan: Planned, terms: Terms) -> tuple[Statement, ...]:
    """Return the statements that have a number, and the noise on the first table."""
    text = "standard deviation of each count of the first table, in records"
    noise = Statement(kind="expected noise", text=text, value=first_deviation(plan, terms))
    return (*(each for each in plan.accuracy if each.value is not None), noise)
