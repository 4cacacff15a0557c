"""Which of several rows comes next in an order, so that all rows together keep the released table of its column.

Steps add up: what noise, wide groups or missing dependences do to one is multiplied by the number of rows, and rows
drift to an end of the range. So a few are drawn for each row, and one is chosen by how much its place is wanted.
"""

from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from lapwing.model.model import ReleasedModel
from lapwing.model.sampling.marginals import marginal
from lapwing.schema.fields import Field
from lapwing.schema.groupings.grouping import Grouping, evenly, interval_grouping
from lapwing.schema.linked.tables import RowOrder

CANDIDATES: Final = 4
"""Rows that are drawn for each, of which one is chosen."""

_CELLS: Final = 32  # of the order's range, with nearly equal shares of the rows
_FINEST: Final = 2**12


@dataclass(frozen=True, slots=True, eq=False)
class Pull:
    """How much each place in an order is wanted.

    shares: float64 (k,), of the rows with a place in each cell of the range, by the released model; weights: float64
    (k,), how much a row there is wanted, 1 at most; off: the largest difference between the shares of rows up to a
    place and those of the released model, as was measured.
    """

    order: RowOrder
    by: Field
    gap: Field
    cells: Grouping
    shares: np.ndarray
    weights: np.ndarray
    off: float = 1.0

    @classmethod
    def of(cls, model: ReleasedModel, order: RowOrder, by: Field, gap: Field) -> "Pull":
        """Return a pull that wants all places alike. by, gap: columns of the coded rows."""
        fine = evenly(by.domain, _FINEST)
        reached = np.cumsum(marginal(model, [by.name], [fine])[: fine.regular])
        ends = np.searchsorted(reached, reached[-1] * np.arange(1, _CELLS) / _CELLS)
        starts = fine.pieces()[0]
        cells = interval_grouping(by.domain, np.unique(starts[ends[ends > 0]]))
        return cls(order, by, gap, cells, _shares(model, by.name, cells), np.ones(cells.regular))

    def measured(self, codes: np.ndarray) -> "Pull":
        """Return this pull with what is off in rows that were drawn by it."""
        return replace(self, off=float(np.abs(np.cumsum(self._counted(codes) - self.shares)).max()))

    def corrected(self, codes: np.ndarray) -> "Pull":
        """Return a pull that wants places more of which these rows have too few."""
        weights = self.weights * self.shares / self._counted(codes)
        return replace(self, weights=weights / weights.max())

    def first(self, codes: np.ndarray, is_lost: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Choose one of several first rows for each. codes, is_lost: (n, c). Returns integers (n,)."""
        has_place = (codes < self.by.domain.values) & ~is_lost
        found, is_wanted = _chosen(np.where(has_place, self._wanted(codes), 0.0), rng)
        plain = np.argmin(is_lost, axis=1)  # the first that is possible tells whether the row has a place
        keeps = is_wanted & has_place[np.arange(plain.size), plain]
        return np.where(keeps, found, plain)

    def next(self, here: np.ndarray, gaps: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Choose where rows go from their places: codes of steps and of places, (n,).

        here: integers (n,), places in the order; gaps: codes of several steps for each, (n, c). Where all lead out of
        the range, the row stays.
        """
        by, steps = self.by.domain, self.gap.domain
        is_step, is_end = gaps < steps.values, (gaps == steps.last) & (steps.specials > 0)
        every, first = np.arange(here.size), np.argmax(is_step | is_end, axis=1)
        led = here[:, None] + np.where(is_step, gaps, 0)
        wanted = np.where(is_step & (led < by.values), self._wanted(self._codes(led)), 0.0)
        found, is_wanted = _chosen(wanted, rng)
        there = np.where(is_wanted, led[every, found], here)
        ends, none = is_end[every, first], by.last if by.missing else by.values
        return np.where(ends, steps.last, there - here), np.where(ends, none, self._codes(there))

    def _counted(self, codes: np.ndarray) -> np.ndarray:
        """Return the share of rows in each cell; a few more rows as released leave none without."""
        cells = self.cells.apply(codes[codes < self.by.domain.values])
        k = self.cells.regular
        found = np.bincount(cells, minlength=k)[:k] + k * self.shares
        return np.asarray(found / found.sum())

    def _codes(self, there: np.ndarray) -> np.ndarray:
        """Return the codes of places, those beyond the range as its last one."""
        values = self.by.domain.values
        return places(np.minimum(there, values - 1), values, self.order)

    def _wanted(self, codes: np.ndarray) -> np.ndarray:
        inside = np.minimum(codes, self.by.domain.values - 1)
        return self.weights[self.cells.apply(inside.reshape(-1))].reshape(codes.shape)


def places(codes: np.ndarray, values: int, order: RowOrder) -> np.ndarray:
    """Return the place of regular codes in an order, or the codes of places; others stay as they are."""
    found = codes.astype(np.int64)
    return np.where(found < values, values - 1 - found, found) if order.descending else found


def _shares(model: ReleasedModel, name: str, grouping: Grouping) -> np.ndarray:
    """Return the share of each group of regular codes among the rows that have one."""
    found = np.maximum(marginal(model, [name], [grouping])[: grouping.regular], np.finfo(float).tiny)
    return np.asarray(found / found.sum())


def _chosen(wanted: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Choose a column in each row of weights, in proportion to them; tell where one has any."""
    reached = np.cumsum(wanted, axis=1)
    drawn = rng.random(len(wanted)) * reached[:, -1]
    found = np.minimum((reached <= drawn[:, None]).sum(axis=1), wanted.shape[1] - 1)
    return found, reached[:, -1] > 0
