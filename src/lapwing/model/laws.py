"""Simple laws on the codes of one column: the bricks of every released model.

A law is a list of runs of codes with their probabilities, uniform inside each run: a point, a category distribution, a
uniform interval, a histogram. Laws are kept in a table, so that many atoms can share one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from lapwing.errors import ParameterError
from lapwing.maths.arrays import floats, integers
from lapwing.schema.groupings.domains import Domain

_refused = partial(ParameterError, code="LW640")

SUM_TOLERANCE = 1e-9
"""How far the probabilities of a law may be from summing to 1: rounding, and nothing else."""
_EXACT = 2.0**53
_BLOCK_CELLS = 2**20
"""Masses of groups that are added at once."""


@dataclass(frozen=True, slots=True, eq=False)
class Laws:
    """Hold a table of piecewise uniform laws on the codes of one column.

    offsets: int64 (laws + 1,), law i owns the pieces ``offsets[i]`` to ``offsets[i + 1] - 1``, at least one; starts,
    stops: int64 (pieces,), each piece is the run of codes from start to stop - 1. Pieces of a law may come in any
    order; probabilities: float64 (pieces,), positive; they sum to 1 within each law.

    32 bytes a piece. Checked in time ``O(pieces)``.

    >>> law = Laws(np.array([0, 2]), np.array([0, 4]), np.array([4, 5]), np.array([0.75, 0.25]))
    >>> law.count
    1
    """

    offsets: np.ndarray
    starts: np.ndarray
    stops: np.ndarray
    probabilities: np.ndarray

    def __post_init__(self) -> None:
        for name in ("offsets", "starts", "stops"):
            object.__setattr__(self, name, integers(f"{name} of laws", getattr(self, name)))
        object.__setattr__(self, "probabilities", floats("probabilities of laws", self.probabilities))
        pieces = self.starts.size
        if pieces == 0 or self.stops.size != pieces or self.probabilities.size != pieces or self.offsets.size < 2:
            raise _refused(
                f"a table of laws needs offsets and equally many starts, stops and probabilities, got "
                f"{self.offsets.size}, {pieces}, {self.stops.size} and {self.probabilities.size}"
            )
        if self.offsets[0] != 0 or self.offsets[-1] != pieces or (self.offsets[1:] <= self.offsets[:-1]).any():
            raise _refused(f"offsets of laws must increase from 0 to the number of pieces, {pieces}; check them")
        if self.starts.min() < 0 or (self.stops <= self.starts).any():
            raise _refused("a piece of a law must be a run of codes with 0 <= start < stop; check its ends")
        self._check_probabilities()

    def _check_probabilities(self) -> None:
        """Refuse probabilities that are not positive or do not sum to 1."""
        if not ((self.probabilities > 0) & (self.probabilities <= 1 + SUM_TOLERANCE)).all():  # catches NaN as well
            raise _refused("probabilities of laws must lie above 0 and up to 1; leave pieces without mass out")
        sums = np.add.reduceat(self.probabilities, self.offsets[:-1])
        if not (np.abs(sums - 1.0) <= SUM_TOLERANCE).all():
            raise _refused("the probabilities of each law must sum to 1; use laws_from_probabilities")

    @property
    def count(self) -> int:
        """Number of laws."""
        return self.offsets.size - 1

    @property
    def law_of_piece(self) -> np.ndarray:
        """The law that owns each piece: ndarray of int64, shape (pieces,)."""
        return np.repeat(np.arange(self.count), np.diff(self.offsets))


def laws_from_probabilities(starts: np.ndarray, stops: np.ndarray, probabilities: np.ndarray) -> Laws:
    """Return laws on common runs of codes; runs without mass are dropped.

    >>> laws_from_probabilities(np.arange(3), np.arange(1, 4), np.array([3.0, 0.0, 1.0])).probabilities
    array([0.75, 0.25])
    """
    masses = np.atleast_2d(np.asarray(probabilities, dtype=np.float64))
    if masses.ndim != 2 or masses.shape[1] != np.size(starts) or np.size(starts) != np.size(stops):
        raise _refused(
            f"laws need one mass per run of codes, got {np.size(starts)} starts, {np.size(stops)} stops and masses of "
            f"shape {masses.shape}"
        )
    if not np.isfinite(masses).all() or masses.min(initial=0.0) < 0:
        raise _refused("masses of laws must be finite and at least 0; project noisy counts on the simplex first")
    peaks = masses.max(axis=1, keepdims=True, initial=0.0)
    if masses.size == 0 or not (peaks > 0).all():
        raise _refused("a law needs mass somewhere; use uniform_law for a law that nothing is known about")
    relative = masses / peaks  # so that sums cannot overflow
    scaled = relative / relative.sum(axis=1, keepdims=True)  # a mass that underflows to 0 is dropped too
    law, piece = np.nonzero(scaled)
    offsets = np.concatenate(([0], np.cumsum(np.bincount(law, minlength=len(scaled)))))
    return Laws(offsets, np.asarray(starts)[piece], np.asarray(stops)[piece], scaled[law, piece])


def laws_of_groups(groups: np.ndarray, starts: np.ndarray, stops: np.ndarray, masses: np.ndarray) -> Laws:
    """Return one law per group, on the runs of codes that are its own; runs without mass are dropped.

    groups: of each run, from 0 on, each with some mass. The laws are those that ``laws_from_probabilities`` makes of a
    row of all runs for each group, bit by bit, without the memory of such rows.

    >>> laws_of_groups(np.array([1, 0, 1]), np.arange(3), np.arange(1, 4), np.array([3.0, 5.0, 1.0])).probabilities
    array([1.  , 0.75, 0.25])
    """
    peaks = np.zeros(int(groups.max()) + 1)
    np.maximum.at(peaks, groups, masses)
    relative = masses / peaks[groups]
    scaled = relative / group_sums(groups, relative)[groups]
    order = np.argsort(groups, kind="stable")
    order = order[scaled[order] > 0]
    offsets = np.concatenate(([0], np.cumsum(np.bincount(groups[order], minlength=peaks.size))))
    return Laws(offsets, starts[order], stops[order], scaled[order])


def group_sums(groups: np.ndarray, masses: np.ndarray) -> np.ndarray:
    """Return the sum of masses of each group, added in the order of a row that holds 0 for all others.

    Recorded releases hang on the last bit of these sums.
    """
    if masses.sum() < _EXACT and (masses == np.rint(masses)).all():
        return np.bincount(groups, masses)  # sums of whole numbers are exact in any order
    count, rows = int(groups.max()) + 1, max(1, _BLOCK_CELLS // groups.size)
    blocks = [np.arange(first, min(first + rows, count))[:, None] for first in range(0, count, rows)]
    return np.concatenate([np.where(groups == block, masses, 0.0).sum(axis=1) for block in blocks])


def point_laws(codes: np.ndarray | Sequence[int]) -> Laws:
    """Return one law per code, each certain of it.

    >>> point_laws([4, 2]).stops
    array([5, 3])
    """
    starts = np.asarray(codes, dtype=np.int64)
    return Laws(np.arange(starts.size + 1), starts, starts + 1, np.ones(starts.size))


def uniform_law(domain: Domain) -> Laws:
    """Return the law that says nothing: uniform on the regular codes of a column."""
    return Laws(np.array([0, 1]), np.array([0]), np.array([domain.values]), np.ones(1))
