"""Columns at several resolutions, built from their noisy one-way tables."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lapwing.numerics.denoising import denoised
from lapwing.numerics.log_linear import Axis
from lapwing.numerics.resolutions import even_runs, leading_values, nested
from lapwing.numerics.simplex import project_to_simplex
from lapwing.release.laws import Laws, laws_from_probabilities
from lapwing.release.questions import NoisyCounts
from lapwing.schema.domains import Domain
from lapwing.schema.fields import Field
from lapwing.schema.groupings import Grouping, cut, lookup

_FLOOR_RECORDS = 0.3
_FLOOR_SHARE = 0.01


@dataclass(frozen=True, slots=True, eq=False)
class OneWayTable:
    """What is known of one column.

    Parameters
    ----------
    grouping : Grouping
        The public map from codes to cells.
    counts : ndarray of float64, shape (cells,)
        Noisy counts.
    sd : float
        Standard deviation of their noise, at least 0.
    """

    grouping: Grouping
    counts: np.ndarray
    sd: float


def one_way_table(answers: Sequence[NoisyCounts]) -> OneWayTable:
    """Return the mean of answers to the same one-way question, each weighted by the inverse of its noise's variance."""
    first = answers[0]
    sds = np.array([answer.noise.sd for answer in answers])
    precisions = np.where(sds > 0, 1 / np.maximum(sds, 1e-6) ** 2, 1e12)
    weights = precisions / precisions.sum()
    counts = np.tensordot(weights, np.stack([answer.counts for answer in answers]).astype(np.float64), axes=1)
    return OneWayTable(first.question.groupings[0], counts, float(np.sqrt(np.square(weights * sds).sum())))


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ResolvedColumn:
    """One column as an adaptive mechanism sees it.

    Parameters
    ----------
    name : str
        The column.
    axis : Axis
        Its groups without the misfit code: base masses in records, and the coarser groups.
    groupings : tuple of Grouping
        Per level, the public map from codes to groups; where the column cannot be missing, the last group is misfit.
    base : Laws
        The law of the column, from its one-way table.
    within : Laws
        The law of the column inside each finest group.
    sd : float
        Standard deviation of the one-way table's noise, for a finest group of average size.
    """

    name: str
    axis: Axis
    groupings: tuple[Grouping, ...]
    base: Laws
    within: Laws
    sd: float

    @property
    def has_misfit(self) -> bool:
        """Whether the groupings have one group more than the axis, for misfits."""
        return self.groupings[0].groups > self.axis.base.size


def resolved_column(table: OneWayTable, field: Field, total: float, sizes: Sequence[int]) -> ResolvedColumn:
    """Group the values of a column, fine to coarse, by its noisy one-way table.

    Parameters
    ----------
    table : OneWayTable
        Of the column.
    field : Field
        The column.
    total : float
        Number of rows, positive.
    sizes : sequence of int
        Most groups of regular values at each level, decreasing.

    Returns
    -------
    ResolvedColumn
        A function of the answer and the schema. Groups of ordered columns are runs of about equal mass, of others the
        values that stand out of the noise and one for the rest; missing and special values stay on their own.

    Notes
    -----
    Noise is taken out of ordered columns by wavelet shrinkage. No value loses more than noise explains: each keeps at
    least 0.3 records, or less where that would be more than 1 % of all rows.
    """
    domain, counted, regular = field.domain, table.grouping, table.grouping.regular
    counts = table.counts if domain.missing else table.counts[:-1]
    if domain.ordered:
        counts = np.concatenate((denoised(counts[:regular], table.sd), counts[regular:]))
    floor = min(_FLOOR_RECORDS, _FLOOR_SHARE * total / counts.size)
    masses = np.maximum(project_to_simplex(counts, total), floor)

    values = masses[:regular]
    if domain.ordered:
        finest = even_runs(values, sizes[0])
    else:
        finest = leading_values(counts[:regular], table.sd, sizes[0])
    levels = nested(values, finest, sizes[1:], is_ordered=domain.ordered)
    codes = tuple(_with_reserved(level, counts.size - regular) for level in levels)
    mass = np.bincount(codes[0], masses)
    starts, stops, cell = counted.pieces()
    kept = cell < counts.size
    within = np.zeros((mass.size, int(np.count_nonzero(kept))))
    within[codes[0][cell[kept]], np.arange(within.shape[1])] = _piece_masses(masses, starts, stops, cell)[kept]
    return ResolvedColumn(
        name=field.name,
        axis=Axis(mass, tuple(_between(codes[0], level) for level in codes)),
        groupings=tuple(_grouping(domain, counted, level) for level in levels),
        base=laws_from_probabilities(starts[kept], stops[kept], within.sum(axis=0)),
        within=laws_from_probabilities(starts[kept], stops[kept], within),
        sd=table.sd * max(1.0, counts.size / mass.size) ** 0.5,
    )


def _with_reserved(level: np.ndarray, reserved: int) -> np.ndarray:
    """Append the reserved cells, each a group of its own."""
    return np.concatenate((level, level.max() + 1 + np.arange(reserved)))


def _between(finest: np.ndarray, level: np.ndarray) -> np.ndarray:
    """Return the group at a level of each finest group."""
    merged = np.zeros(int(finest.max()) + 1, dtype=np.intp)
    merged[finest] = level
    return merged


def _piece_masses(masses: np.ndarray, starts: np.ndarray, stops: np.ndarray, cell: np.ndarray) -> np.ndarray:
    """Spread the mass of each counted cell over its runs of codes, by length."""
    lengths = (stops - starts).astype(np.float64)
    shares = lengths / np.bincount(cell, lengths)[cell]
    return np.asarray(np.append(masses, 0.0)[np.minimum(cell, masses.size)] * shares)


def _grouping(domain: Domain, counted: Grouping, level: np.ndarray) -> Grouping:
    """Return the public map from codes to the groups of one level."""
    if not domain.ordered:
        return lookup(domain, level)
    starts, _, _ = counted.pieces()
    return cut(domain, starts[np.flatnonzero(np.diff(level)) + 1])
