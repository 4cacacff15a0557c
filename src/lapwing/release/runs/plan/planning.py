"""Ask a mechanism for its plan, under the terms of a release or under others to compare with, and what to expect of it.

The certificate's own verdict rests on noisy answers. These are not there yet: a forecast from planned noise alone.
"""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from lapwing.kernel.questions.marginal_counts.question import MarginalCounts
from lapwing.kernel.terms import Relation, Terms
from lapwing.model.certificate.cost_lines import ChosenTable, CostLine, PlannedQuestion, PlannedRelease
from lapwing.model.certificate.statements import Statement
from lapwing.model.compared import compared_cells
from lapwing.release.runs.generators import generator
from lapwing.release.runs.misfits import first_question, of_mechanism
from lapwing.release.runs.settings import TableSettings
from lapwing.release.runs.verdict.counted import varying
from lapwing.schema.public_tables.cells import public_total
from lapwing.schema.schemas import Schema

_SEED: Final = 0  # every plan starts from the same public seed

_NOISES: Final = ("noise_on_chosen_table", "noise_on_one_way_table")

_MUCH_THE_SAME: Final = 1.01


def expected_terms(relation: Relation, schema: Schema, rows: int, max_rows: int | None = None) -> Terms:
    """Return the terms of a release of that many rows, as `lapwing.kernel.room.opening.public_terms` gives them."""
    most = schema.max_rows if max_rows is None else max_rows
    is_public = relation == "replace-one" and most == 1 and schema.names_every_unit
    return Terms(relation=relation, max_rows=most, rows=rows if is_public else None, expected_rows=rows)


def planned_questions(settings: TableSettings, terms: Terms) -> Sequence[PlannedQuestion]:
    """Return what the mechanism would ask by its plan, without what would be expected of it."""
    _, budget = first_question(settings, settings.request.budget, terms)
    return settings.mechanism.questions(settings.schema, budget, terms, generator(_SEED, "plan"))


def plan_release(settings: TableSettings, terms: Terms) -> PlannedRelease:
    """Ask the mechanism for its plan; the same one for the same settings and terms."""
    schema = settings.schema
    first, budget = first_question(settings, settings.request.budget, terms)
    found = settings.mechanism.plan(schema, budget, terms, generator(_SEED, "plan"))
    found = replace(found, questions=(*first, *found.questions))
    if not schema.rules and public_total(schema) is None:
        return found
    # Of the mechanism's model: what rules and public tables will move is unknown.
    own = (replace(each, moved=0.0) if each.form.is_expected else each for each in found.accuracy)
    return replace(found, accuracy=tuple(own))


def first_deviation(plan: PlannedRelease, terms: Terms) -> float:
    """Return the standard deviation of the noise on the first table, in records."""
    law = CostLine.planned(of_mechanism(plan.questions)[0], terms)[0].noise
    return 0.0 if law is None else law.sd


def noisy_tables(plan: PlannedRelease, terms: Terms) -> int:
    """Return how many tables get noise."""
    asked = of_mechanism(plan.questions)
    return sum(line.noise is not None for each in asked for line in CostLine.planned(each, terms))


def common_figure(plans: Sequence[tuple[PlannedRelease, Terms]]) -> tuple[Statement, ...]:
    """Return the first figure that all plans state in the same words, one statement for each plan.

    An error that stays the same says little where the noise does not: a mechanism may measure more tables instead. Then
    it is a figure about the noise, or the noise on the first table where an error is the same because it is at its
    largest.
    """
    stated = [{(each.code, json.dumps(dict(each.fields))): each for each in plan.accuracy} for plan, _ in plans]
    common = [tuple(each[words] for each in stated) for words in stated[0] if all(words in each for each in stated)]
    noises = [figures for figures in common if figures[0].code in _NOISES]
    for figures in (*common[:1], *noises):
        values = [each.value or 0.0 for each in figures]
        if max(values) > _MUCH_THE_SAME * min(values):
            return figures
    if common and len({each.value for each in common[0]}) > 1:
        return common[0]
    return tuple(Statement("noise_on_first_table", first_deviation(*each)) for each in plans)


# -- What to expect of a release before a row is read: noise on each column, and on relations.


_SIZE: Final = math.sqrt(2 / math.pi)  # mean size of Gaussian noise of deviation 1
_TOLD: Final = 14.0  # times the noise on a cell as a share of rows: Cramér's V that it hides in a table of 4 x 4 groups


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnNoise:
    """Say how far one column is off by noise.

    sd: of the noise on the number of rows in one cell, all tables of the column taken together; cells: in which it is
    compared; share: mean size of that noise, as a share of all rows.
    """

    name: str
    sd: float
    cells: int
    share: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Foreseen:
    """Say what to expect of a release.

    columns: those that are counted by themselves; pair_sd: noise on a cell of two columns, None where no two are
    counted together; are_several: whether relations are possible; share_error, weakest: as in a verdict, None where a
    column is not counted by itself or where no two are counted together.
    """

    columns: tuple[ColumnNoise, ...]
    pair_sd: float | None
    are_several: bool
    share_error: float | None
    weakest: float | None


def foreseen(settings: TableSettings, terms: Terms, questions: Sequence[PlannedQuestion], rows: int) -> Foreseen:
    """Return what to expect of a release of so many rows, by the questions of its plan."""
    columns = tuple(filter(None, (_column(settings, terms, questions, name, rows) for name in _names(settings))))
    pair_sd = min(
        (
            line.noise.sd
            for question in dict.fromkeys(questions)
            if isinstance(question, ChosenTable) or (isinstance(question, MarginalCounts) and len(question.columns) > 1)
            for line in CostLine.planned(question, terms)
            if line.noise is not None
        ),
        default=None,
    )
    is_whole = bool(columns) and len(columns) == len(_names(settings))
    return Foreseen(
        columns=columns,
        pair_sd=pair_sd,
        are_several=len(varying(settings.schema)) > 1,
        share_error=math.fsum(each.share for each in columns) / len(columns) if is_whole else None,
        weakest=None if pair_sd is None else min(1.0, _TOLD * pair_sd / rows),
    )


def _names(settings: TableSettings) -> list[str]:
    return [column.name for column in settings.schema.columns]


def _column(
    settings: TableSettings, terms: Terms, questions: Sequence[PlannedQuestion], name: str, rows: int
) -> ColumnNoise | None:
    """Return the noise on one column; None where it has no table of its own."""
    cells = compared_cells(settings.schema.field(name).domain).groups
    own = [each for each in questions if isinstance(each, MarginalCounts) and each.columns == (name,)]
    found = [
        (math.prod(each.shape), line.noise.sd) for each in own for line in CostLine.planned(each, terms) if line.noise
    ]
    if not found:
        return None
    least = min(cells, max(size for size, _ in found))
    fine = [(size, sd) for size, sd in found if size >= least]
    finer = max(1.0, min(size for size, _ in fine) / cells)
    sd = math.sqrt(finer / sum(1 / max(sd, 1e-9) ** 2 for _, sd in fine))
    return ColumnNoise(name=name, sd=sd, cells=cells, share=min(1.0, _SIZE * sd / rows))
