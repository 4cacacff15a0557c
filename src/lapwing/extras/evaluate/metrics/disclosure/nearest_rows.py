"""The closest row of another coded table, by Gower's distance, and whether synthetic rows are copies of real ones.

Gower's distance of two rows is the mean over columns of: the difference of two places on [0, 1] for regular codes of an
ordered column, else 0 for equal and 1 for different codes. A missing cell is a code like any other.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix

from lapwing.errors import LapwingError
from lapwing.extras.evaluate.metrics.metric import Outcome, wilson
from lapwing.maths.arrays import Cells, Codes, Floats, Ints
from lapwing.schema.fields import Field
from lapwing.version import install_command

EXACT: Final = 500_000_000  # pairs of rows, times columns, up to which all pairs are compared: about three seconds
CANDIDATES: Final = 64  # beyond, rows to which a row is compared: those closest to it in `DIRECTIONS` random directions
DIRECTIONS: Final = 8

_STEPS: Final = 2**20  # places on [0, 1] are multiples of 1/_STEPS: sums of them are exact, and ties are ties
_DRAWN: Final = 2**16  # random vectors for codes of one column; beyond, codes share them


@dataclass(frozen=True, slots=True, eq=False)
class Closest:
    """Hold, for each row, the distance to the closest one of another table and its position.

    One of them, where several are equally close. Rows that agree in all compared columns are one row, the first.
    """

    distances: Floats
    positions: Ints


def closest_rows(
    codes: Codes, others: Sequence[Codes], columns: Sequence[Field], *, rng: np.random.Generator, exact: int = EXACT
) -> list[Closest]:
    """Return the closest row of each of some other tables for each row of a table.

    Which of several equally close rows is found depends on their order: shuffle them. All are searched in the same way,
    so that distances to one table may be held against those to another. J. C. Gower, "A general coefficient of
    similarity and some of its properties", Biometrics 27 (1971), with the public bounds for the range, and missing as a
    value.

    Up to ``exact`` pairs of rows, times columns: all pairs, by Manhattan distance of sparse vectors that have Gower's
    distance exactly (places are rounded to 2**-20 of the range). Time ``O(m n d)``, 5 ns each. Beyond: the 64 rows that
    are closest in 8 random directions, by a KD-tree, and of those the closest by Gower's distance. A near copy is then
    found almost surely, while for other rows the distance may be somewhat too large. Time ``O((m + n) d + n log n)``.
    """
    firsts = [np.sort(np.unique(row_keys(each, columns), return_index=True)[1]) for each in others]
    distinct = [
        {column.name: each[column.name][first] for column in columns}
        for each, first in zip(others, firsts, strict=True)
    ]
    if len(codes[columns[0].name]) * max(map(len, firsts)) * len(columns) <= exact:
        found = _of_all(codes, distinct, columns)
    else:
        found = _of_candidates(codes, distinct, columns, rng)
    return [
        Closest(each.distances / len(columns), first[each.positions]) for each, first in zip(found, firsts, strict=True)
    ]


def row_keys(codes: Codes, columns: Sequence[Field]) -> npt.NDArray[np.uint64]:
    """Return a number for each row: the same for rows that agree in all columns, and different for others.

    A mixing function of 64 bits: among a million different rows, any two have the same number with probability about
    3e-8.
    """
    keys = np.zeros(len(codes[columns[0].name]), np.uint64)
    for column in columns:
        # The finalizer of SplitMix64, a bijection, after every column: else what one column adds, another may undo.
        keys += codes[column.name].astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
        keys = (keys ^ (keys >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        keys = (keys ^ (keys >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        keys ^= keys >> np.uint64(31)
    return keys


def _of_all(codes: Codes, others: Sequence[Codes], columns: Sequence[Field]) -> list[Closest]:
    """Compare all pairs; distances are sums over the columns."""
    neighbours, _, config, limited = _neighbours()
    rows, *references = _vectors((codes, *others), columns)
    found = []
    for reference in references:
        # 64 MiB of distances at a time, on one thread: threads that wait for each other take far longer.
        with limited(limits=1), config(working_memory=64):
            search = neighbours(n_neighbors=1, algorithm="brute", metric="manhattan").fit(reference)
            distances, positions = search.kneighbors(rows)
        found.append(Closest(distances[:, 0], positions[:, 0].astype(np.int64)))
    return found


def _vectors(tables: Sequence[Codes], columns: Sequence[Field]) -> list[Any]:
    """Return each table as sparse vectors whose Manhattan distance is the sum of the columns' distances.

    A code that is compared by equality is ½ at a coordinate of its own, and a place p is p/2 and (1-p)/2 at two more:
    two places are their difference apart, a place and a code of its own 1, as are two such codes.
    """
    width = 0
    indices: list[Ints] = []
    values: list[Floats] = []
    for column in columns:
        cells = np.concatenate([codes[column.name] for codes in tables])
        places = _places(cells, column)
        is_place = ~np.isnan(places)
        present, own = np.unique(np.where(is_place, 0, cells), return_inverse=True)
        indices.append(np.where(is_place, width + 1, width + 2 + own.ravel()))
        values.append(np.where(is_place, (1 - places) / 2, 0.5))
        if is_place.any():
            indices.insert(-1, np.full(len(cells), width))
            values.insert(-1, np.where(is_place, places / 2, 0.0))
        width += 2 + len(present)
    # scikit-learn reads 32-bit indices only.
    coordinates, entries = np.column_stack(indices).astype(np.int32), np.column_stack(values)
    ends = np.arange(len(entries) + 1, dtype=np.int32) * np.int32(len(indices))
    every = csr_matrix((entries.ravel(), coordinates.ravel(), ends), shape=(len(entries), width))
    heights = [len(codes[columns[0].name]) for codes in tables]
    return [every[stop - rows : stop] for stop, rows in zip(np.cumsum(heights), heights, strict=True)]


def _places(codes: Cells, column: Field) -> Floats:
    """Return where the regular codes of an ordered column lie on [0, 1], in steps; nan for all other codes."""
    domain = column.domain
    if not domain.ordered or domain.values == 1:
        return np.full(codes.shape, np.nan)
    places = np.rint(codes * (_STEPS / (domain.values - 1))) / _STEPS
    return np.where(codes < domain.values, places, np.nan)


def _of_candidates(
    codes: Codes, others: Sequence[Codes], columns: Sequence[Field], rng: np.random.Generator
) -> list[Closest]:
    """Compare each row to a few that are close to it in random directions; distances are sums over the columns."""
    _, tree, _, limited = _neighbours()
    # The same directions for all: some tell rows apart better than others.
    rows, *references = _projections((codes, *others), columns, rng)
    lines = np.arange(len(rows))
    found = []
    for each, reference in zip(others, references, strict=True):
        with limited(limits=1):
            candidates = tree(reference).query(rows, k=min(CANDIDATES, len(reference)), return_distance=False)
        sums = np.zeros(candidates.shape)
        for column in columns:
            own, cells = codes[column.name][:, None], each[column.name][candidates]
            apart = np.abs(_places(own, column) - _places(cells, column))
            sums += np.where(np.isnan(apart), own != cells, apart)
        best = sums.argmin(axis=1)
        found.append(Closest(sums[lines, best], candidates[lines, best].astype(np.int64)))
    return found


def _projections(tables: Sequence[Codes], columns: Sequence[Field], rng: np.random.Generator) -> list[Floats]:
    """Return the rows' vectors along random directions, without making the vectors."""
    found = [np.zeros((len(codes[columns[0].name]), DIRECTIONS)) for codes in tables]
    for column in columns:
        drawn = rng.normal(scale=0.5, size=(min(column.domain.size, _DRAWN), DIRECTIONS))
        along = rng.normal(size=DIRECTIONS)
        is_listed = column.domain.size <= _DRAWN
        listed = _along(np.arange(len(drawn)), column, drawn, along)
        for place, codes in enumerate(tables):
            cells = codes[column.name]
            found[place] += np.take(listed, cells, axis=0) if is_listed else _along(cells, column, drawn, along)
    return found


def _along(codes: Cells, column: Field, drawn: Floats, along: Floats) -> Floats:
    """Return what codes of a column add along the directions: their place, or what was drawn for them."""
    places = _places(codes, column)[:, None]
    return np.where(np.isnan(places), drawn[(codes % len(drawn)).astype(np.int64)], places * along)


def _neighbours() -> tuple[Any, Any, Any, Any]:
    """Return scikit-learn's neighbours and tree, its settings, and what limits its threads."""
    try:
        from sklearn import config_context  # noqa: PLC0415
        from sklearn.neighbors import KDTree, NearestNeighbors  # noqa: PLC0415
        from threadpoolctl import threadpool_limits  # noqa: PLC0415 - scikit-learn needs it
    except ImportError:
        raise LapwingError(
            f"the closest rows need scikit-learn; run {install_command('evaluate')}", code="LW701"
        ) from None
    return NearestNeighbors, KDTree, config_context, threadpool_limits


# -- Whether synthetic rows copy the rows they were made from: exact copies, and distance to the closest record.


PERCENTS: Final = (1, 5, 25, 50, 75, 95, 99)  # quantiles of the distances that are told, in percent


@dataclass(frozen=True, slots=True, kw_only=True)
class ClosestDistances:
    """Hold quantiles of the distances from synthetic rows to the closest real ones, and to as many holdout rows."""

    percents: tuple[int, ...]
    real: tuple[float, ...]
    holdout: tuple[float, ...] | None


def closer_to_real(real: Closest, holdout: Closest) -> tuple[Outcome, int, int]:
    """Return how many synthetic rows are closer to the rows of the release than to as many holdout rows; and ties.

    A half is expected where the real rows and the holdout are random parts of one table and nothing was copied. Many
    synthetic rows may have the same closest row, and then say the same thing as often: what is random where nothing was
    copied is on which side each closest row is. So a row's synthetic neighbours count as one trial, and the trials are
    as many as equally frequent closest rows would have the same variance (Kish's effective number). With one trial for
    each synthetic row, the interval would miss a half far too often.
    """
    is_closer, is_farther = real.distances < holdout.distances, real.distances > holdout.distances
    rows, closer = len(is_closer), int(is_closer.sum())
    ties = rows - closer - int(is_farther.sum())
    repeats = [
        np.unique(each.positions[chosen], return_counts=True)[1]
        for each, chosen in ((real, is_closer), (holdout, is_farther))
    ]
    effective = rows**2 / (sum(float(np.square(counts, dtype=np.float64).sum()) for counts in repeats) + ties)
    share = (closer + ties / 2) / rows
    return Outcome(attack=wilson(share * effective, effective)), closer, ties


def measure_distances(
    synthetic_codes: Codes,
    real_codes: Codes,
    columns: Sequence[Field],
    *,
    holdout_codes: Codes | None = None,
    rng: np.random.Generator,
) -> tuple[ClosestDistances, Closest, Closest | None]:
    """Return the distances from synthetic rows to the closest rows of the release and of a holdout of as many rows."""
    others = [real_codes] if holdout_codes is None else [real_codes, holdout_codes]
    real, *rest = closest_rows(synthetic_codes, others, columns, rng=rng)
    holdout = rest[0] if rest else None
    found = ClosestDistances(
        percents=PERCENTS, real=_quantiles(real), holdout=None if holdout is None else _quantiles(holdout)
    )
    return found, real, holdout


def exact_copies(synthetic_keys: npt.NDArray[np.uint64], real_keys: npt.NDArray[np.uint64]) -> Outcome:
    """Return how many synthetic rows agree with a real row in all columns, by the `row_keys` of both tables.

    The baseline is the share of real rows that agree with another real row: what is expected of fresh rows of the same
    law, where no person is in the real table twice. Time ``O((m + n) log(m + n))``.
    """
    synthetic, real = np.sort(synthetic_keys), np.sort(real_keys)
    is_again = real[1:] == real[:-1]
    repeated = np.count_nonzero(np.append(is_again, False) | np.append(False, is_again))
    found = real[np.minimum(np.searchsorted(real, synthetic), len(real) - 1)] == synthetic
    return Outcome(
        attack=wilson(int(np.count_nonzero(found)), len(synthetic)), baseline=wilson(int(repeated), len(real))
    )


def copies_beyond_chance(
    synthetic_codes: Codes, real_codes: Codes, holdout_codes: Codes, columns: Sequence[Field]
) -> Outcome:
    """Return how many different synthetic rows occur among real rows, and as the control, among as many holdout rows.

    Synthetic rows that agree in all columns are one row: they are found or not found together.
    """
    synthetic = np.unique(row_keys(synthetic_codes, columns))
    shares = [
        wilson(int(np.isin(synthetic, row_keys(codes, columns)).sum()), len(synthetic))
        for codes in (real_codes, holdout_codes)
    ]
    return Outcome(attack=shares[0], control=shares[1])


def _quantiles(closest: Closest) -> tuple[float, ...]:
    """Return distances that occur, at least the given percents of all below or equal."""
    found = np.percentile(closest.distances, PERCENTS, method="inverted_cdf")
    return tuple(float(each) for each in found)
