"""Tables of those rows of the released model that meet a condition, with intervals for the true counts."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Final

import numpy as np

from lapwing.kernel.questions.questions import Answer
from lapwing.maths.noise_tails import sum_tail
from lapwing.model.intervals import PUBLIC, CellIntervals, covering_views
from lapwing.model.sampling.marginals import marginal
from lapwing.release.asked_accuracy import AskedCells, Condition, asked_cells, first_codes
from lapwing.release.queries import framed, listed, listed_columns, public_counts, query_groupings
from lapwing.schema.groupings.grouping import Grouping, cut
from lapwing.schema.schemas import Schema

if TYPE_CHECKING:
    import polars as pl

    from lapwing.release.release import Release

_FAILURE: Final = Fraction(1, 20)
_WIDEST: Final = 2**61  # wider intervals say nothing, and would leave int64


def filtered_table(
    release: "Release", columns: str | Sequence[str], where: Condition, *, groups: int = 20
) -> "pl.DataFrame":
    """Return the table of `Release.query` of those rows that meet a condition, with intervals at 95 %.

    where: as for `Release.accuracy`; groups: as for `Release.query`. Returns no line for cells in which the condition
    is never true; groups of a column that it looks at end where it does; ``share`` is of the rows that meet it. Each
    interval is made from the earliest answer that covers all of the cell's part that meets it.
    """
    schema, model, public_rows = release.schema, release.model, release.certificate.public_rows
    names = listed_columns(columns)
    cells = asked_cells(where, schema)
    shown = [
        _split(schema, name, grouping, cells)
        for name, grouping in zip(names, query_groupings(schema, release.noisy, names, groups), strict=True)
    ]
    others = [name for name in cells.columns if name not in names]
    own = dict(zip(cells.columns, cells.groupings, strict=True))
    every, groupings = [*names, *others], [*shown, *(own[name] for name in others)]
    within = _Within(every, groupings, _asked(cells, every, groupings), tuple(range(len(names), len(every))))
    counts = within.summed(marginal(model, every, groupings))
    found = _intervals(release.noisy, within, _FAILURE)
    public, is_public = _public(schema, within)
    most = np.iinfo(np.int64).max if public_rows is None else public_rows
    lower, upper = (np.where(is_public, public, end.clip(0, most)) for end in (found.lower, found.upper))
    terms = np.where(is_public, PUBLIC, found.terms)
    known = CellIntervals(lower, upper, terms, found.misfits_out & ~is_public)
    return framed(*listed(schema, names, shown, counts, known, called="count", kept=within.is_met))


@dataclass(frozen=True, slots=True, eq=False)
class _Within:
    """A table over the shown columns and those of a condition: where it is true, and which axes are summed out."""

    columns: Sequence[str]
    groupings: Sequence[Grouping]
    asked: np.ndarray
    beyond: tuple[int, ...]

    @property
    def is_met(self) -> np.ndarray:
        """Where the condition can be true in the table of the shown columns."""
        return np.asarray(self.asked.any(axis=self.beyond))

    def summed(self, counts: np.ndarray) -> np.ndarray:
        """Return the table of the shown columns, of what meets the condition."""
        return np.asarray(np.where(self.asked, counts, 0).sum(axis=self.beyond))

    def everywhere(self, is_true: np.ndarray) -> np.ndarray:
        """Return where something is true of all that meets the condition."""
        return np.asarray((is_true | ~self.asked).all(axis=self.beyond))


def _split(schema: Schema, name: str, grouping: Grouping, cells: AskedCells) -> Grouping:
    """Return the groups of a shown column, which also end where the condition on it does."""
    field = schema.field(name)
    if name not in cells.columns or field.is_categorical or grouping.regular == field.domain.values:
        return grouping
    asked = cells.groupings[cells.columns.index(name)]
    starts = np.union1d(grouping.pieces()[0], asked.pieces()[0])
    return cut(field.domain, starts[(starts > 0) & (starts < field.domain.values)])


def _asked(cells: AskedCells, columns: Sequence[str], groupings: Sequence[Grouping]) -> np.ndarray:
    """Return where the condition is true in a table whose groups it does not cut: ndarray of bool, of its shape."""
    places = [columns.index(name) for name in cells.columns]
    met = [
        _group_at(asked, first_codes(groupings[place])) for asked, place in zip(cells.groupings, places, strict=True)
    ]
    inside = cells.asked[np.ix_(*met)].transpose(np.argsort(places))
    shape = [grouping.groups if axis in places else 1 for axis, grouping in enumerate(groupings)]
    return np.broadcast_to(inside.reshape(shape), tuple(grouping.groups for grouping in groupings))


def _group_at(grouping: Grouping, codes: np.ndarray) -> np.ndarray:
    """Return the group of each code."""
    starts, _, group = grouping.pieces()
    return np.asarray(group[np.searchsorted(starts, codes, side="right") - 1])


def _intervals(noisy: Sequence[Answer], within: _Within, failure: Fraction) -> CellIntervals:
    """Return intervals for what meets the condition, where a noisy answer covers all of it."""
    shape = within.is_met.shape
    lower, upper, terms = (np.zeros(shape, dtype=np.int64) for _ in range(3))
    misfits_out = np.zeros(shape, dtype=np.bool_)
    for answer in noisy:
        is_open, least = terms == 0, np.full(shape, math.inf)
        for view in covering_views(answer, within.columns, within.groupings):
            own, law = within.summed(view.terms), view.noise
            variance = np.where(within.everywhere(view.terms > 0) & (own > 0), own * law.sd**2, math.inf)
            better = is_open & (variance < least)
            if not better.any():
                continue
            sums = within.summed(view.sums())[better]
            kinds, places = np.unique(own[better], return_inverse=True)
            tails = [min(sum_tail(law.kind, law.parameter, each, failure), _WIDEST) for each in kinds.tolist()]
            half = np.array(tails, dtype=np.int64)[places.reshape(-1)]
            lower[better], upper[better] = sums - half, sums + half
            terms[better], misfits_out[better], least[better] = own[better], view.misfits_out, variance[better]
    return CellIntervals(lower, upper, terms, misfits_out)


def _public(schema: Schema, within: _Within) -> tuple[np.ndarray, np.ndarray]:
    """Return the counts that follow from exact public tables, and where they do."""
    counts, known = public_counts(schema, within.columns, within.groupings)
    return within.summed(counts), within.everywhere(known)
