"""How far coded tables are from each other in all ordered columns at once: W1, bounded-Lipschitz, kernel densities.

Rows are points as `lapwing.judge.distances.table_points` makes them: each column has length 1, being missing is one
length
away. Columns with two values count as ordered. What is computed from private rows is private: nothing here adds noise.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
import numpy.typing as npt

from lapwing.judge.dependence.dependence import jackknife_error, with_each_left_out
from lapwing.judge.distances.kernels import box_grid, kernel_densities
from lapwing.judge.distances.table_points import GAMMA, placed_columns, table_points
from lapwing.judge.distances.wasserstein import wasserstein_assignment, wasserstein_sliced, wasserstein_subsampled
from lapwing.judge.metrics import Compared, Estimate, Floats, Metric, height
from lapwing.schema.schemas import Schema

Codes = Mapping[str, npt.NDArray[np.integer]]

MOST_COLUMNS: Final = 64
"""Ordered columns that are compared; of more, so many are chosen."""

ASSIGNED: Final = 1000
"""Rows of each table that are assigned to each other at a time."""

REPEATS: Final = 5
"""Subsamples of so many rows, where a table has more."""

SLICED_ROWS: Final = 2**16
"""Rows of each table that are projected on random directions."""

DIRECTIONS: Final = 64
"""Random directions."""

DENSITY_ROWS: Final = 2**14
"""Rows of each table whose kernel density is compared."""

PLACES: Final = 512
"""Public places at which densities are compared."""

_BLOCKS: Final = 8
_FARTHEST: Final = 2.0  # twice the bound 1 of the functions
_PAPER: Final = "He, Vershynin, Zhu, Algorithmically Effective Differentially Private Synthetic Data"

WASSERSTEIN_LINF: Final = Metric(
    key="wasserstein_linf",
    title="W1, largest difference",
    unit="share of a column's range",
    meaning=(
        "Mean distance by which rows have to be moved to become the real ones, where a row's distance is its largest "
        "difference in one column; from 0 to 1, and above 0 also between two samples of the same rows."
    ),
    best=0.0,
    reference=f"{_PAPER}, Section 1",
)

WASSERSTEIN_L2: Final = Metric(
    key="wasserstein_l2",
    title="W1, Euclidean",
    unit="range of a column",
    meaning=(
        "Mean Euclidean distance by which rows have to be moved to become the real ones, each column having length 1; "
        "from 0, and above 0 also between two samples of the same rows."
    ),
    best=0.0,
    reference="Villani (2009), Optimal Transport, Chapter 6",
)

SLICED: Final = Metric(
    key="wasserstein_sliced",
    title="W1, sliced",
    unit="range of a column",
    meaning=(
        "Mean distance by which rows have to be moved to become the real ones along one random direction, averaged "
        "over directions; from 0, at most the Euclidean W1."
    ),
    best=0.0,
    reference="Bonneel, Rabin, Peyré, Pfister (2015), Sliced and Radon Wasserstein barycenters of measures",
)

BOUNDED_LIPSCHITZ: Final = Metric(
    key="bounded_lipschitz",
    title="bounded-Lipschitz distance",
    unit="difference of means",
    meaning=(
        "Largest difference in mean of a function of the ordered columns that lies between -1 and 1 and changes at "
        "most as fast as the Euclidean distance; from 0 to 2, and above 0 also between two samples of the same rows."
    ),
    best=0.0,
    reference=f"{_PAPER}, Section 3",
)

KERNEL_DENSITY: Final = Metric(
    key="kernel_density",
    title="largest difference of kernel densities",
    unit="kernel, at most 1",
    meaning=(
        "Largest difference between the shares of rows near a place, over a public grid or random public places, where "
        "a row counts for exp(-gamma distance^2) with gamma = 3 / columns; from 0 to 1."
    ),
    best=0.0,
    reference="Kreačić et al., Differentially Private Synthetic Data Using KD-Trees, Section 1.3.1",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Points:
    """Hold the points of all tables, and of how many columns they are made."""

    real: Floats
    others: Mapping[str, Floats]
    columns: int

    @property
    def most(self) -> int:
        """Rows of the largest table."""
        return max(map(len, (self.real, *self.others.values())))

    @property
    def least(self) -> int:
        """Rows of the smallest table."""
        return min(map(len, (self.real, *self.others.values())))


def compare_wasserstein(
    real_codes: Codes, others: Mapping[str, Codes], schema: Schema, *, rng: np.random.Generator
) -> tuple[Compared, Compared, Compared] | None:
    """Return W1 between the real table and others over all ordered columns: two ground metrics, and sliced.

    real_codes: mapping of str to integers (n,), codes of every modelled column of the schema, at least one row; rng:
    draws rows, directions, and 64 columns where more are ordered. Returns `WASSERSTEIN_LINF`, `WASSERSTEIN_L2` and
    `SLICED`; None where no column is ordered or has two values.

    The first two are exact where all tables have the same number of rows, at most 1,000. Else they are the mean over 5
    pairs of subsamples of 1,000 rows (of as many as the smallest table has), which are of one size for all tables,
    because W1 between samples of one law shrinks with their size: it is to be read beside the figure of the bootstrap.
    (A bootstrap repeats real rows: where they are few, a fresh sample would lie farther away.)
    The sliced distance uses up to 65,536 rows and 64 directions. Time 0.2 s for each pair of subsamples at worst.

    >>> schema = Schema.from_dict({"fields": [{"name": "a", "type": "boolean"}]})
    >>> real, other = {"a": np.array([0, 1])}, {"a": np.array([1, 1])}
    >>> found = compare_wasserstein(real, {"other": other}, schema, rng=np.random.default_rng(0))
    >>> [each.values["other"].value for each in found]
    [0.5, 0.5, 0.5]
    """
    points = _table_points(real_codes, others, schema, SLICED_ROWS, rng)
    if points is None:
        return None
    sliced = {
        name: wasserstein_sliced(points.real, each, rng, directions=DIRECTIONS) for name, each in points.others.items()
    }
    tallest = max(height(codes) for codes in (real_codes, *others.values()))
    return (
        _assigned(WASSERSTEIN_LINF, points, rng, ground="linf"),
        _assigned(WASSERSTEIN_L2, points, rng, ground="l2"),
        Compared(
            metric=SLICED,
            values=sliced,
            rows=SLICED_ROWS if tallest > SLICED_ROWS else None,
            columns=points.columns,
        ),
    )


def compare_bounded_lipschitz(
    real_codes: Codes, others: Mapping[str, Codes], schema: Schema, *, rng: np.random.Generator
) -> Compared | None:
    """Return the bounded-Lipschitz distance between the real table and others over all ordered columns.

    Returns `BOUNDED_LIPSCHITZ`; None where no column is ordered or has two values.

    Functions are bounded by 1 and the ground metric is Euclidean, so that it is W1 with no distance counted for more
    than 2: the same as the Euclidean W1 in up to four columns without missing cells. Exact or from subsamples as there.

    >>> schema = Schema.from_dict({"fields": [{"name": name, "type": "boolean"} for name in "abcdefghi"]})
    >>> real, other = ({name: np.array([code]) for name in "abcdefghi"} for code in (0, 1))
    >>> found = compare_bounded_lipschitz(real, {"other": other}, schema, rng=np.random.default_rng(0))
    >>> found.values["other"].value  # where the Euclidean distance is 3
    2.0
    """
    points = _table_points(real_codes, others, schema, REPEATS * ASSIGNED, rng)
    if points is None:
        return None
    return _assigned(BOUNDED_LIPSCHITZ, points, rng, ground="l2", farthest=_FARTHEST)


def compare_densities(
    real_codes: Codes, others: Mapping[str, Codes], schema: Schema, *, rng: np.random.Generator
) -> Compared | None:
    """Return the largest difference of kernel densities at public places, over all ordered columns.

    Returns `KERNEL_DENSITY`; None where no column is ordered or has two values.

    The kernel is that of `lapwing.judge.distances.table_points`. Places are a regular grid of the box of up to three
    coordinates, with at most 512 points, and 512 uniform points of it beyond: the figure is a lower bound of the
    supremum over all places. Exact at them for tables of at most 16,384 rows; of more rows so many are drawn, and the
    standard error is that of a jackknife over 8 blocks. It does not show that the largest of many noisy differences
    comes out too large: the figure of the bootstrap does. Time ``O(rows * places * coordinates)``.

    >>> schema = Schema.from_dict({"fields": [{"name": "a", "type": "boolean"}]})
    >>> real, other = {"a": np.array([0, 0])}, {"a": np.array([1, 1])}
    >>> found = compare_densities(real, {"other": other}, schema, rng=np.random.default_rng(0))
    >>> round(found.values["other"].value, 6)  # 1 - exp(-3)
    0.950213
    """
    points = _table_points(real_codes, others, schema, DENSITY_ROWS, rng)
    if points is None:
        return None
    at, gamma = _public_places(points.real.shape[1], rng), GAMMA / points.columns
    real = _block_densities(points.real, at, gamma, _blocks(real_codes))
    values = {}
    for name, each in points.others.items():
        found = _block_densities(each, at, gamma, _blocks(others[name]))
        # A table that was used whole has one row of densities, which holds whichever block of the other is left out.
        differences = np.abs(real - found).max(axis=1)
        values[name] = Estimate(value=float(differences[0]), standard_error=jackknife_error(differences))
    is_sampled = any(_blocks(codes) > 1 for codes in (real_codes, *others.values()))
    return Compared(
        metric=KERNEL_DENSITY,
        values=values,
        rows=DENSITY_ROWS if is_sampled else None,
        columns=points.columns,
    )


def _table_points(
    real_codes: Codes, others: Mapping[str, Codes], schema: Schema, rows: int, rng: np.random.Generator
) -> _Points | None:
    """Return the points of some rows of each table in some ordered columns; None where there is none."""
    columns = placed_columns(schema)
    if not columns:
        return None
    if len(columns) > MOST_COLUMNS:
        chosen = np.sort(rng.choice(len(columns), MOST_COLUMNS, replace=False))
        columns = [columns[place] for place in chosen]
    real, *rest = table_points([real_codes, *others.values()], columns, rows=rows, rng=rng)
    return _Points(real=real, others=dict(zip(others, rest, strict=True)), columns=len(columns))


def _assigned(
    metric: Metric,
    points: _Points,
    rng: np.random.Generator,
    *,
    ground: Literal["linf", "l2"],
    farthest: float = np.inf,
) -> Compared:
    """Return W1 by assignment: of all rows where the tables are small and equally large, else of subsamples."""
    values: dict[str, Estimate] = {}
    size = min(points.least, ASSIGNED)
    for name, each in points.others.items():
        if points.most == size:
            exact = wasserstein_assignment(points.real, each, metric=ground, farthest=farthest)
            values[name] = Estimate(value=exact, standard_error=0.0)
        else:
            values[name] = wasserstein_subsampled(
                points.real, each, rng, size=size, repeats=REPEATS, metric=ground, farthest=farthest
            )
    rows = None if points.most == size else size
    return Compared(metric=metric, values=values, rows=rows, columns=points.columns)


def _public_places(coordinates: int, rng: np.random.Generator) -> Floats:
    """Return a grid of the box [0, 1] in few coordinates, or random places in it."""
    steps = round(PLACES ** (1 / coordinates), 9)
    if coordinates <= 3:
        return box_grid(np.zeros(coordinates), np.ones(coordinates), int(steps))
    return rng.random((PLACES, coordinates))


def _blocks(codes: Codes) -> int:
    """Return in how many blocks a table's rows are left out: in none where all rows are used."""
    return _BLOCKS if height(codes) > DENSITY_ROWS else 1


def _block_densities(points: Floats, at: Floats, gamma: float, blocks: int) -> Floats:
    """Return the kernel density of all rows at each place, and of all but each block of rows."""
    parts: Sequence[Floats] = np.array_split(points, blocks)
    sums = np.array([len(part) * kernel_densities(part, at, gamma=gamma) for part in parts])
    rows = np.array([float(len(part)) for part in parts])
    return np.asarray(with_each_left_out(sums) / with_each_left_out(rows)[:, None])
