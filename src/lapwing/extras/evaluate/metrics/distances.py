"""How far coded tables are apart in all ordered columns at once: MMD, W1, bounded-Lipschitz, kernel densities.

Columns with two values count as ordered; each column has length 1, and being missing is one length away. What is
computed from private rows is private: no noise is added.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from lapwing.extras.evaluate.metrics.metric import (
    Estimate,
    Metric,
    MetricResult,
    height,
    jackknife_estimate,
    some_columns,
    some_rows,
    with_each_left_out,
)
from lapwing.extras.evaluate.metrics.samples import (
    Ground,
    kernel_densities,
    mean_features,
    mmd,
    mmd_from_features,
    random_frequencies,
    wasserstein_assignment,
    wasserstein_sliced,
    wasserstein_subsampled,
)
from lapwing.maths.arrays import Codes, Floats
from lapwing.schema.fields import Field
from lapwing.schema.schemas import Schema


def placed_columns(schema: Schema) -> list[Field]:
    """Return the columns whose regular codes have a place on a line: ordered ones, and any with just two.

    Two values are as far apart in one order as in the other, so that 0 and 1 may be categories as well as numbers.
    """
    return [
        column
        for column in schema.columns
        if column.domain.values == 2 or (column.domain.ordered and column.domain.values > 1)
    ]


def table_points(
    tables: Sequence[Codes], columns: Sequence[Field], *, rows: int, rng: np.random.Generator
) -> list[Floats]:
    """Return at most so many rows of each table as points: places on [0, 1], then whether each cell is not regular.

    A cell that is missing, special or a misfit lies in the middle, one length away in a direction of its own, so that
    the whole range and being missing weigh alike. Coordinates that are 0 in all rows of all tables are left out, but
    for one where all are. Memory 8 to 16 bytes a cell.
    """
    some = [some_rows(codes, [column.name for column in columns], rows, rng) for codes in tables]
    # A coordinate that is 0 everywhere costs time and changes no distance.
    is_used = np.array([[False, False]] * len(columns))
    for place, column in enumerate(columns):
        for codes in some:
            cells = codes[column.name]
            is_used[place] |= bool(cells.any()), bool((cells >= column.domain.values).any())
    places = [(place, kind) for kind in (0, 1) for place in np.flatnonzero(is_used[:, kind]).tolist()] or [(0, 0)]
    found = []
    for codes in some:
        points = np.empty((height(codes), len(places)))
        for coordinate, (place, is_gap) in enumerate(places):
            cells, values = codes[columns[place].name], columns[place].domain.values
            points[:, coordinate] = cells >= values if is_gap else np.where(cells >= values, 0.5, cells / (values - 1))
        found.append(points)
    return found


GAMMA: Final = 3.0
"""Gamma of the kernel, times the number of columns. The median heuristic without data: the mean squared distance of two
uniform rows is a sixth for each column of length 1, and gamma is one over twice that."""

EXACT: Final = 10_000  # most rows of every table for which distances are exact
FEATURES: Final = 256  # random frequencies where a table has more rows
MOST_ROWS: Final = 2**19  # rows of a table that are compared; of more, so many are drawn
_MOST_CELLS: Final = 2**25  # 256 MB a table: fewer rows where there are more than 256 columns


MMD: Final = Metric("mmd")


def compare_kernels(
    real_codes: Codes, others: Mapping[str, Codes], schema: Schema, *, rng: np.random.Generator
) -> MetricResult | None:
    """Return the MMD (not its square) between the real table and others; None where no column has a place.

    Exact up to 10,000 rows in every table, else by 256 random features, of at most 2**19 rows and 2**25 cells of a
    table. Time ``O(d n**2)`` up to there, then 3 microseconds a row and table.
    """
    columns = placed_columns(schema)
    if not columns:
        return None
    gamma, rows = GAMMA / len(columns), min(MOST_ROWS, _MOST_CELLS // len(columns))
    real, *rest = table_points([real_codes, *others.values()], columns, rows=rows, rng=rng)
    if max(map(len, (real, *rest))) <= EXACT:
        found = [Estimate(value=mmd(real, points, gamma=gamma)) for points in rest]
    else:
        frequencies = random_frequencies(real.shape[1], FEATURES, rng, gamma=gamma)
        features = mean_features(real, frequencies)
        found = [mmd_from_features(features, mean_features(points, frequencies)) for points in rest]
    is_all = max(map(height, (real_codes, *others.values()))) <= rows
    values = dict(zip(others, found, strict=True))
    return MetricResult(metric=MMD, values=values, rows=None if is_all else rows, columns=len(columns))


MOST_COLUMNS: Final = 64  # ordered columns that are compared; of more, so many are chosen
ASSIGNED: Final = 1000  # rows of each table that are assigned to each other at a time
REPEATS: Final = 5  # subsamples of so many rows, where a table has more
SLICED_ROWS: Final = 2**16  # rows of each table that are projected on random directions
DIRECTIONS: Final = 64  # random directions
DENSITY_ROWS: Final = 2**14  # rows of each table whose kernel density is compared
PLACES: Final = 512  # public places at which densities are compared
_BLOCKS: Final = 8

WASSERSTEIN_LINF: Final = Metric("wasserstein_linf")
WASSERSTEIN_L2: Final = Metric("wasserstein_l2")
SLICED: Final = Metric("wasserstein_sliced")
BOUNDED_LIPSCHITZ: Final = Metric("bounded_lipschitz")
KERNEL_DENSITY: Final = Metric("kernel_density")


def compare_wasserstein(
    real_codes: Codes, others: Mapping[str, Codes], schema: Schema, *, rng: np.random.Generator
) -> tuple[MetricResult, ...]:
    """Return W1 between the real table and others over all ordered columns: two ground metrics, and sliced.

    The first two are exact where all tables have the same number of rows, at most 1,000. Else they are the mean over 5
    pairs of subsamples of 1,000 rows (of as many as the smallest table has), which are of one size for all tables,
    because W1 between samples of one law shrinks with their size: read it beside the figure of the bootstrap, which
    repeats real rows, so that a fresh sample of few rows would lie farther away. The sliced distance uses up to 65,536
    rows and 64 directions. Time 0.2 s for each pair of subsamples at worst.
    """
    columns, tables = _points({"": real_codes, **others}, schema, SLICED_ROWS, rng)
    if not columns:
        return ()
    sliced = {name: wasserstein_sliced(tables[""], tables[name], rng, directions=DIRECTIONS) for name in others}
    is_sampled = max(map(height, (real_codes, *others.values()))) > SLICED_ROWS
    return (
        _assigned(WASSERSTEIN_LINF, tables, columns, rng, ground="linf"),
        _assigned(WASSERSTEIN_L2, tables, columns, rng, ground="l2"),
        MetricResult(metric=SLICED, values=sliced, rows=SLICED_ROWS if is_sampled else None, columns=columns),
    )


def compare_bounded_lipschitz(
    real_codes: Codes, others: Mapping[str, Codes], schema: Schema, *, rng: np.random.Generator
) -> MetricResult | None:
    """Return the bounded-Lipschitz distance between the real table and others over all ordered columns.

    Functions are bounded by 1 and the ground metric is Euclidean, so that it is W1 with no distance counted for more
    than 2: the same as the Euclidean W1 in up to four columns without missing cells. Exact or from subsamples as there.
    """
    columns, tables = _points({"": real_codes, **others}, schema, REPEATS * ASSIGNED, rng)
    return _assigned(BOUNDED_LIPSCHITZ, tables, columns, rng, ground="l2", farthest=2.0) if columns else None


def compare_densities(
    real_codes: Codes, others: Mapping[str, Codes], schema: Schema, *, rng: np.random.Generator
) -> MetricResult | None:
    """Return the largest difference of kernel densities at public places, over all ordered columns.

    Places are a regular grid of the box of up to three coordinates, with at most 512 points, and 512 uniform points of
    it beyond: a lower bound of the supremum over all places. Exact at them for tables of at most 16,384 rows; of more
    so many are drawn, and the error is that of a jackknife over 8 blocks. It does not show that the largest of many
    noisy differences comes out too large: the figure of the bootstrap does. Time ``O(rows * places * coordinates)``.
    """
    tall = {name for name, codes in {"": real_codes, **others}.items() if height(codes) > DENSITY_ROWS}
    columns, tables = _points({"": real_codes, **others}, schema, DENSITY_ROWS, rng)
    if not columns:
        return None
    at, gamma = _public_places(tables[""].shape[1], rng), GAMMA / columns
    found = {name: _block_densities(each, at, gamma, _BLOCKS if name in tall else 1) for name, each in tables.items()}
    # A table that was used whole has one row of densities, which holds whichever block of the other is left out.
    values = {name: jackknife_estimate(np.abs(found[""] - found[name]).max(axis=1)) for name in others}
    return MetricResult(metric=KERNEL_DENSITY, values=values, rows=DENSITY_ROWS if tall else None, columns=columns)


def _points(
    tables: Mapping[str, Codes], schema: Schema, rows: int, rng: np.random.Generator
) -> tuple[int, dict[str, Floats]]:
    """Return the number of ordered columns, and the points of some rows of each table in them; none without columns."""
    columns = some_columns(placed_columns(schema), MOST_COLUMNS, rng)
    if not columns:
        return 0, {}
    found = table_points(list(tables.values()), columns, rows=rows, rng=rng)
    return len(columns), dict(zip(tables, found, strict=True))


def _assigned(
    metric: Metric,
    tables: Mapping[str, Floats],
    columns: int,
    rng: np.random.Generator,
    *,
    ground: Ground,
    farthest: float = np.inf,
) -> MetricResult:
    """Return W1 by assignment: of all rows where the tables are small and equally large, else of subsamples."""
    sizes = [len(each) for each in tables.values()]
    size = min(*sizes, ASSIGNED)
    values = {}
    for name in [each for each in tables if each]:
        pair = tables[""], tables[name]
        if max(sizes) == size:
            values[name] = Estimate(value=wasserstein_assignment(*pair, ground=ground, farthest=farthest))
        else:
            values[name] = wasserstein_subsampled(
                *pair, rng, size=size, repeats=REPEATS, ground=ground, farthest=farthest
            )
    return MetricResult(metric=metric, values=values, rows=None if max(sizes) == size else size, columns=columns)


def _public_places(coordinates: int, rng: np.random.Generator) -> Floats:
    """Return a grid of the box [0, 1] in few coordinates, or random places in it."""
    if coordinates > 3:
        return rng.random((PLACES, coordinates))
    axis = np.linspace(0.0, 1.0, int(round(PLACES ** (1 / coordinates), 9)))
    return np.stack(np.meshgrid(*[axis] * coordinates, indexing="ij"), axis=-1).reshape(-1, coordinates)


def _block_densities(points: Floats, at: Floats, gamma: float, blocks: int) -> Floats:
    """Return the kernel density of all rows at each place, and of all but each block of rows."""
    parts = np.array_split(points, blocks)
    sums = np.array([len(part) * kernel_densities(part, at, gamma=gamma) for part in parts])
    rows = np.array([float(len(part)) for part in parts])
    return np.asarray(with_each_left_out(sums) / with_each_left_out(rows)[:, None])
