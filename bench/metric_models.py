"""What the benches of the metric-space family share: data, the cells of a released model, distances on a grid."""

import argparse
import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pmm_distances as distances
import polars as pl

from lapwing.mechanisms.trees.psmm.box_cells import box_cells, cover_deficits
from lapwing.model.model import Indexed, Spans
from lapwing.release.release import Release
from lapwing.schema.schemas import Schema

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"
RESULTS = Path(__file__).resolve().parent / "results"

MASS = 2**24
"""Whole units into which the mass of a law is cut before it flows."""


def number_schema(d: int, low: float, high: float) -> Schema:
    """Return a schema of real columns with the same public bounds."""
    bounds = {"minimum": low, "maximum": high, "required": True}
    return Schema.from_dict(
        {"fields": [{"name": f"x{axis}", "type": "number", "constraints": bounds} for axis in range(d)]}
    )


def as_frame(points: np.ndarray) -> pl.DataFrame:
    """Return points as a table."""
    return pl.DataFrame({f"x{axis}": points[:, axis] for axis in range(points.shape[1])})


def mixture(d: int, rows: int = 100_000) -> np.ndarray:
    """Draw from ten Gaussians by the recipe and seed of Balog et al. (2018); equal to their files for d = 2 and d = 5.

    Weights 1/k, means N(100, 200²), standard deviation 30. For d = 2 balog-mog-d2 but for rounding;
    the mean kernel of d = 5 is the one that their file names (0.1672984963245975).
    """
    draw = np.random.RandomState(0)  # their generator
    means = draw.normal(loc=np.full(d, 100.0), scale=200.0, size=(10, d))
    weights = 1 / np.arange(1, 11)
    parts = draw.choice(10, size=rows, p=weights / weights.sum())
    return means[parts] + 30 * draw.standard_normal((rows, d))


def cells_of(release: Release) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return middles and half lengths of a model's cells, on columns of length 1, and their weights."""
    starts, stops = [], []
    for field in release.schema.columns:
        law = release.model.laws[field.name]
        size = field.domain.values
        if isinstance(law, Spans):
            first, last = law.starts, law.stops
        elif isinstance(law, Indexed) and law.laws.starts.size == law.laws.count:
            first, last = law.laws.starts[law.index], law.laws.stops[law.index]
        else:
            raise TypeError("only laws of one interval have a cell")
        starts.append(first / size)
        stops.append(last / size)
    low, high = np.stack(starts, axis=1), np.stack(stops, axis=1)
    weights = release.model.weights
    return (low + high) / 2, (high - low) / 2, weights / weights.sum()


def grid_w1(points: np.ndarray, release: Release, halvings: int) -> float:
    """Return W1 between rows on the unit cube and a release, both moved to the middles of a grid's cells.

    Exact on the grid, where steps to all neighbours have the length of a side; at most a side off the true distance.
    Mass is moved along ever longer paths: what is left when all below a length is moved costs one more step. For three
    columns; `pmm_distances.grid_distance` is faster where paths are long.
    """
    d = points.shape[1]
    cells = box_cells(release.schema, 2 ** (halvings * d), 2 ** (halvings * d))
    surplus = whole(distances.data_shares(points, [halvings] * d)) - whole(distances.shares(release, [halvings] * d))
    moved = 0
    for step in range(1, 2**halvings + 1):
        rest = cover_deficits(surplus.ravel(), cells.steps(), price=step)
        left = -int(rest[rest < 0].sum())
        moved += left
        if not left:
            break
    return moved / MASS / 2**halvings


def whole(shares: np.ndarray) -> np.ndarray:
    """Return shares as whole numbers that sum to `MASS`."""
    ends = np.rint(np.cumsum(shares.ravel()) * MASS).astype(np.int64)
    ends[-1] = MASS
    return np.diff(ends, prepend=0).reshape(shares.shape)


def theory(rows: np.ndarray, d: int, *, is_psmm: bool) -> np.ndarray:
    """Return the published rate in ``epsilon * rows``, without its constant."""
    if d == 1:
        return rows**-0.5 if is_psmm else np.log(rows) ** 2 / rows
    if d == 2 and is_psmm:
        return np.log(rows) * rows**-0.5
    return rows ** (-1 / d)


def slope(across: np.ndarray, values: np.ndarray) -> float:
    """Return the least-squares slope on two logarithmic axes."""
    return float(np.polyfit(np.log(across), np.log(values), 1)[0])


def mean_and_error(found: list[float]) -> tuple[float, float]:
    """Return the mean and its standard error; nan for one value."""
    spread = float(np.std(found, ddof=1)) / math.sqrt(len(found)) if len(found) > 1 else math.nan
    return float(np.mean(found)), spread


def arguments(about: str | None, parts: list[str] | None = None) -> argparse.Namespace:
    """Return the command line that these benches share."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    if parts:
        parser.add_argument("part", choices=parts)
    parser.add_argument("--quick", action="store_true", help="a small size, to see that it runs")
    parser.add_argument("--releases", type=int, default=None)
    parser.add_argument("-o", "--output", type=Path, default=RESULTS)
    return parser.parse_args()


def curves_of(lines: Iterator[dict[str, object]], name: str, across: str, up: str) -> dict[str, list[tuple]]:
    """Return for each name the points of a chart, those above 0."""
    curves: dict[str, list[tuple]] = {}
    for line in lines:
        if isinstance(line.get(up), float) and line[up] > 0:  # type: ignore[operator]
            curves.setdefault(str(line[name]), []).append((line[across], line[up]))
    return curves
