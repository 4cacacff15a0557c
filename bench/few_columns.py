"""W1 of mechanisms on six maps and six single columns at epsilon 0.1, 1 and 10, and what stays of single values.

    python bench/few_columns.py [--quick] [--releases 3] [-o bench/results]

Pure epsilon, add-remove, the number of rows expected, each column of length 1, the larger coordinate counting. The
distance is that of the drawn rows: exact for one column; for two, after both tables are moved to the middles of a
grid which is fine where rows are and coarser and coarser outside, along the moves of a chess king.
"""

import json
import math
import zlib
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import polars as pl
from metric_models import SHARED, arguments, mixture
from pmm import Line, write_lines
from scipy.optimize import linprog
from scipy.sparse import coo_matrix, hstack

import lapwing as lw
from lapwing.extras.evaluate.metrics.samples import wasserstein_line

EPSILONS = (0.1, 1.0, 10.0)
SIDE = 48
"""Cells along each side of the window in which 99.8 % of the rows are, the same length for both columns."""

MOST_ROWS = 50_000
MECHANISMS = ("PMM", "PSMM", "KDTree", "default")


def _shared(name: str, *columns: str) -> tuple[pl.DataFrame, list[dict]]:
    """Return columns of a shared table without empty cells, and their fields."""
    schema = json.loads((SHARED / name / "schema.json").read_text())
    table = pl.read_parquet(SHARED / name / "data.parquet").select(columns).drop_nulls()
    fields = {field["name"]: field for field in schema["fields"]}
    whole = [
        {**fields[column], "constraints": {**(fields[column].get("constraints") or {}), "required": True}}
        for column in columns
    ]
    return table, whole


def _benchmark(which: str) -> tuple[pl.DataFrame, list[dict]]:
    """Return cells of a published map of counts as rows."""
    table, fields = _shared("dpbench-2d", "ix", "iy", "count", "dataset")
    table = table.filter(pl.col("dataset") == which)
    counts = table["count"].to_numpy()
    drawn = np.random.default_rng(1).choice(table.height, MOST_ROWS, p=counts / counts.sum())
    return table[drawn].select("ix", "iy"), fields[:2]


def _numbers(columns: dict[str, np.ndarray], low: float, high: float) -> tuple[pl.DataFrame, list[dict]]:
    """Return drawn numbers and their fields."""
    bounds = {"minimum": low, "maximum": high, "required": True}
    return pl.DataFrame(columns), [{"name": name, "type": "number", "constraints": bounds} for name in columns]


def _clusters() -> tuple[pl.DataFrame, list[dict]]:
    """Return 5,000 rows, most of them in four narrow clusters."""
    rng = np.random.default_rng(4)
    middles, widths = rng.random((5, 2)), np.array([0.001, 0.004, 0.01, 0.02, 0.3])
    part = rng.choice(5, 20_000, p=[0.2, 0.2, 0.2, 0.3, 0.1])
    points = middles[part] + widths[part, None] * rng.standard_normal((20_000, 2))
    points = points[((points >= 0) & (points <= 1)).all(axis=1)][:5_000]
    return _numbers({"x": points[:, 0], "y": points[:, 1]}, 0, 1)


def _zeros() -> tuple[pl.DataFrame, list[dict]]:
    """Return a column with 70 % zeros, the rest costs."""
    rng = np.random.default_rng(5)
    cost = np.clip(rng.lognormal(7, 1.2, 10_000), 0, 100_000)
    return _numbers({"cost": np.where(rng.random(10_000) < 0.7, 0.0, cost)}, 0, 100_000)


def _mixture() -> tuple[pl.DataFrame, list[dict]]:
    """Return rows of ten Gaussians."""
    points = mixture(2)[:20_000]
    return _numbers({"x": points[:, 0], "y": points[:, 1]}, -1000, 1000)


TABLES: dict[str, Callable[[], tuple[pl.DataFrame, list[dict]]]] = {
    "houston-crime": lambda: _shared("houston-crime", "lat", "lon"),
    "nyc-airbnb": lambda: _shared("nyc-airbnb", "latitude", "longitude"),
    "ten Gaussians": _mixture,
    "beijing-taxi-start": lambda: _benchmark("beijing-taxi-start"),
    "twitter": lambda: _benchmark("twitter"),
    "narrow clusters": _clusters,
    "adult age": lambda: _shared("adult", "age"),
    "adult fnlwgt": lambda: _shared("adult", "fnlwgt"),
    "adult capital_gain": lambda: _shared("adult", "capital_gain"),
    "nyc-airbnb price": lambda: _shared("nyc-airbnb", "price"),
    "nycflights13 dep_time": lambda: _shared("nycflights13", "dep_time"),
    "zeros and costs": _zeros,
}


def unit(table: pl.DataFrame, fields: Sequence[dict]) -> np.ndarray:
    """Return rows on the unit cube."""
    ends = np.array([[field["constraints"]["minimum"], field["constraints"]["maximum"]] for field in fields], float)
    return (table.to_numpy().astype(np.float64) - ends[:, 0]) / (ends[:, 1] - ends[:, 0])


def edges(points: np.ndarray) -> list[np.ndarray]:
    """Return the ends of the grid's cells of each column: even inside the window, doubling outside."""
    low, high = np.quantile(points, [0.001, 0.999], axis=0)
    side = float((high - low).max())
    found = []
    for middle in (low + high) / 2:
        first = min(max(0.0, middle - side / 2), 1 - side)
        inside = np.linspace(first, first + side, SIDE + 1)
        steps = np.cumsum(side / SIDE * 2.0 ** np.arange(1, 30))
        below, above = first - steps[::-1], first + side + steps
        found.append(np.concatenate((below[below > 0], inside, above[above < 1])))
        found[-1] = np.unique(np.concatenate(([0.0], found[-1][(found[-1] > 0) & (found[-1] < 1)], [1.0])))
    return found


def grid_distance(points: np.ndarray, others: np.ndarray) -> float:
    """Return the cost of the cheapest flow between two tables on a grid, each move as long as its longer side."""
    ends = edges(points)
    shares = [np.histogram2d(each[:, 0], each[:, 1], bins=ends)[0] / len(each) for each in (points, others)]
    surplus = shares[0] - shares[1]
    x, y = np.meshgrid(*[(each[1:] + each[:-1]) / 2 for each in ends], indexing="ij")
    cells = np.arange(surplus.size).reshape(surplus.shape)
    pairs = [(cells[:, :-1], cells[:, 1:]), (cells[:-1], cells[1:])]
    pairs += [(cells[:-1, :-1], cells[1:, 1:]), (cells[:-1, 1:], cells[1:, :-1])]
    start, stop = (np.concatenate([pair[at].ravel() for pair in pairs]) for at in (0, 1))
    lengths = np.maximum(np.abs(x.ravel()[start] - x.ravel()[stop]), np.abs(y.ravel()[start] - y.ravel()[stop]))
    index = np.arange(start.size)
    where = (np.concatenate([start, stop]), np.concatenate([index, index]))
    flow = coo_matrix((np.repeat([1.0, -1.0], start.size), where), shape=(cells.size, start.size)).tocsc()
    both = hstack([flow, -flow]).tocsc()
    solved = linprog(np.tile(lengths, 2), A_eq=both, b_eq=surplus.ravel(), method="highs-ipm")
    return float(solved.fun)


def measured(name: str, mechanism: str, epsilon: float, releases: int) -> Line:
    """Return the mean distance of some releases."""
    table, fields = TABLES[name]()
    if table.height > MOST_ROWS:
        table = table.sample(MOST_ROWS, seed=0)
    points = unit(table, fields)
    found, stated = [], []
    for run in range(releases):
        seed = zlib.crc32(f"{name} {run}".encode())
        kind = None if mechanism == "default" else mechanism
        release = lw.synthesize(
            table, {"fields": fields}, epsilon=epsilon, mechanism=kind, expected_rows=table.height, seed=seed
        )
        rows = unit(release.sample(), fields)
        found.append(wasserstein_line(points[:, 0], rows[:, 0]) if len(fields) == 1 else grid_distance(points, rows))
        stated += [each.value for each in release.certificate.accuracy if each.code == "distance"]
    spread = float(np.std(found, ddof=1)) / math.sqrt(releases) if releases > 1 else math.nan
    line: Line = {"table": name, "rows": table.height, "columns": len(fields), "mechanism": mechanism}
    line |= {"epsilon": epsilon, "releases": releases, "w1": float(np.mean(found)), "se": spread}
    return line | {"certified": float(np.mean(stated)) if stated else math.nan}


def lines(releases: int, wanted: Sequence[str], names: Sequence[str]) -> Iterator[Line]:
    """Yield one line for each table, mechanism and budget."""
    for name in names:
        for epsilon in EPSILONS:
            for mechanism in wanted:
                yield measured(name, mechanism, epsilon, releases)


def main() -> None:
    """Measure."""
    chosen = arguments(__doc__)
    names = list(TABLES)[::6] if chosen.quick else list(TABLES)
    write_lines(
        chosen.output / "few_columns.csv", lines(chosen.releases or (1 if chosen.quick else 3), MECHANISMS, names)
    )


if __name__ == "__main__":
    main()
