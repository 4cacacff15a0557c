"""Whether descriptions that fit one synthetic row fit one real row: singling out.

A description is a list of conditions on different columns, such as "age at least 90 and place p7". What is computed
from private rows is private: no noise is added.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
import numpy.typing as npt

from lapwing.extras.evaluate.metrics.metric import Outcome, Proportion, wilson
from lapwing.maths.arrays import Cells, Codes
from lapwing.schema.fields import Field
from lapwing.schema.groupings.domains import Domain
from lapwing.schema.schemas import Schema

Direction = Literal["equal", "at most", "at least"]

ATTACKS: Final = 1000  # descriptions of each kind that are tried on real rows
TRIES: Final = 2 * ATTACKS
"""Synthetic rows that are described by several columns to find descriptions that fit no other."""

CONDITIONS: Final = (3, 16)  # fewest columns of a description by several, where the table has them, and most
_GLANCE: Final = 1024  # rows that tell which condition fits few rows: it is looked at first, and the rest is fast


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """Say what a cell must be."""

    column: str
    direction: Direction
    code: int


Description = tuple[Condition, ...]


def count_matches(codes: Codes, description: Description, schema: Schema) -> int:
    """Return how many rows a description fits."""
    domains = {each: schema.field(each.column).domain for each in description}
    first, *rest = sorted(
        description, key=lambda each: int(_fits(codes[each.column][:_GLANCE], each, domains[each]).sum())
    )
    rows = np.flatnonzero(_fits(codes[first.column], first, domains[first]))
    for each in rest:
        rows = rows[_fits(codes[each.column][rows], each, domains[each])]
    return len(rows)


def single_conditions(synthetic_codes: Codes, schema: Schema, *, rng: np.random.Generator) -> tuple[Description, ...]:
    """Return conditions on one column that fit exactly one synthetic row, at most 1,000.

    Values that occur once, and in ordered columns what is at most the smallest and at least the largest value, where
    one row has it.
    """
    found: list[Condition] = []
    for column in schema.columns:
        codes, counts = np.unique(synthetic_codes[column.name], return_counts=True)
        once = codes[counts == 1]
        if len(once) > ATTACKS:
            once = rng.choice(once, ATTACKS, replace=False)
        found += [Condition(column=column.name, direction="equal", code=int(code)) for code in once]
        regular = np.flatnonzero(codes < column.domain.values)
        if column.domain.ordered and len(regular):
            ends: tuple[tuple[Direction, np.intp], ...] = (("at most", regular[0]), ("at least", regular[-1]))
            found += [
                Condition(column=column.name, direction=direction, code=int(codes[place]))
                for direction, place in ends
                if counts[place] == 1
            ]
    chosen = rng.permutation(len(found))[:ATTACKS]
    return tuple((found[place],) for place in chosen.tolist())


def joint_conditions(synthetic_codes: Codes, schema: Schema, *, rng: np.random.Generator) -> tuple[Description, ...]:
    """Return up to 1,000 different descriptions by several columns that fit exactly one synthetic row.

    Each is of a random synthetic row: three random columns (all, where there are fewer), then one more after the other,
    at most 16, until no other row fits. An ordered cell is described by "at least" where it is above the column's
    median, else "at most"; any other by equality.
    """
    medians = _medians(synthetic_codes, schema)
    rows = len(next(iter(synthetic_codes.values())))
    found: dict[Description, None] = {}
    for _ in range(TRIES):
        description = _description(synthetic_codes, int(rng.integers(rows)), _some_columns(schema, rng), medians)
        if description is not None:
            found[description] = None
        if len(found) == ATTACKS:
            break
    return tuple(found)


def single_out(
    descriptions: tuple[Description, ...],
    real_codes: Codes,
    holdout_codes: Codes | None,
    strangers: Proportion | None,
    schema: Schema,
) -> Outcome:
    """Return how many descriptions fit exactly one real row; the baseline: strangers, the control: holdout rows.

    strangers: the same share for rows of other people in the place of the synthetic ones, which is what a release shows
    that none of the real people is in: descriptions often fit one row of any table that is like theirs. As many holdout
    rows as real ones: how often a description fits exactly one row depends on how many there are. M. Giomi et al.,
    PoPETs 2023 (2), the singling-out attack; the notion: A. Cohen, K. Nissim, "Towards formalizing the GDPR's notion of
    singling out", PNAS 117 (2020). Changed: as many real rows as holdout rows, instead of a model of how success
    depends on their number; descriptions grow until they fit one synthetic row, instead of having a set number of
    columns; the baseline is other people's rows, not random descriptions.
    """
    return Outcome(
        attack=share_singled(descriptions, real_codes, schema),
        baseline=strangers,
        control=None if holdout_codes is None else share_singled(descriptions, holdout_codes, schema),
    )


def share_singled(descriptions: tuple[Description, ...], codes: Codes, schema: Schema) -> Proportion:
    """Return the share of descriptions that fit exactly one row."""
    return wilson(sum(count_matches(codes, each, schema) == 1 for each in descriptions), len(descriptions))


def _fits(codes: Cells, condition: Condition, domain: Domain) -> npt.NDArray[np.bool_]:
    """Return which cells a condition fits."""
    if condition.direction == "equal":
        return np.asarray(codes == condition.code)
    if condition.direction == "at most":
        return np.asarray(codes <= condition.code)
    return np.asarray((codes >= condition.code) & (codes < domain.values))


def _some_columns(schema: Schema, rng: np.random.Generator) -> list[Field]:
    """Return random different columns, in random order."""
    return [schema.columns[place] for place in rng.permutation(len(schema.columns))[: CONDITIONS[1]].tolist()]


def _description(codes: Codes, row: int, columns: Sequence[Field], medians: Mapping[str, int]) -> Description | None:
    """Describe a row by one column after the other until no other fits; None if some do to the end."""
    least = CONDITIONS[0]
    conditions = [_condition(codes[column.name][row], column, medians) for column in columns]
    fits = [
        _fits(codes[column.name], condition, column.domain)
        for column, condition in zip(columns[:least], conditions, strict=False)
    ]
    fitting = np.flatnonzero(np.logical_and.reduce(fits))
    used = len(fits)
    while len(fitting) > 1 and used < len(columns):
        column = columns[used]
        fitting = fitting[_fits(codes[column.name][fitting], conditions[used], column.domain)]
        used += 1
    # In one order, so that the same description is not found twice.
    return tuple(sorted(conditions[:used], key=lambda each: each.column)) if len(fitting) == 1 else None


def _medians(codes: Codes, schema: Schema) -> dict[str, int]:
    """Return the median of the regular codes of each ordered column that has any."""
    found = {}
    for column in schema.columns:
        regular = codes[column.name][codes[column.name] < column.domain.values]
        if column.domain.ordered and len(regular):
            found[column.name] = int(np.partition(regular, len(regular) // 2)[len(regular) // 2])
    return found


def _condition(code: np.integer, column: Field, medians: Mapping[str, int]) -> Condition:
    """Describe a cell: the more extreme it is, the fewer rows the description fits."""
    if not column.domain.ordered or code >= column.domain.values:
        return Condition(column=column.name, direction="equal", code=int(code))
    direction: Direction = "at least" if code > medians[column.name] else "at most"
    return Condition(column=column.name, direction=direction, code=int(code))
