"""How errors fall with rows, budget and cells: the slopes of the papers' rates, measured, beside the theory's.

    python bench/rates.py [distance] [covariance] [kernel] [marginals] [--quick] [--releases 5] [-o bench/results]

``distance``: 1-Wasserstein distance of PMM, its ``paper`` variant and PSMM against the rows n; uniform rows on the unit
cube, epsilon 1, add-remove, n expected. Exact for d = 1; for d = 2 and 3 that of both laws on the middles of 128 x 128
and 16 x 16 x 16 cells: what lies nearer is not seen, so that slopes come out too steep. ``covariance``: covariance loss
of Algorithm 1's partition, and of the default one, against the cells k; 20,000 uniform points of {0, 1}^p / sqrt(p), p
the least number of columns for which Proposition 3.14 states its floor. ``kernel``: maximum mean discrepancy of Grid of
256 cells, every count above 0 kept, against epsilon n; 100,000 rows of two Gaussians' mixture, kernel of bandwidth 1/4.
``marginals``: largest error of all cells of two-way tables of LinearStatistics, 10 Boolean columns, of the density
against n, and of k rows drawn from the density against k.

A slope is that of least squares on two logarithmic axes over all releases, with its 95 % interval; the theory's is that
of the published rate at the same places. What the theory bounds may fall faster.
"""

import argparse
import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pmm_distances as distances
from adaptive import commit
from metric_models import RESULTS, as_frame, cells_of, grid_w1, mean_and_error, number_schema, slope, theory
from microaggregation import as_frame as as_bits
from microaggregation import boolean_schema
from pmm import Line, write_lines
from scipy.stats import linregress, t

from lapwing.anonymous.covariance_loss import covariance_loss, theorem_partition
from lapwing.anonymous.microaggregation import mdav_in_blocks
from lapwing.api.synthesize import synthesize
from lapwing.mechanisms.registry import Mechanism
from lapwing.mechanisms.trees.kd_tree.mechanism import Grid
from lapwing.mechanisms.trees.pmm.mechanism import PMM
from lapwing.mechanisms.trees.psmm.mechanism import PSMM
from lapwing.mechanisms.vectors.linear_statistics.mechanism import LinearStatistics
from lapwing.release.release import Release
from lapwing.theorems.covariance_loss import proposition_3_14

SIZES = (1000, 3162, 10_000, 31_623, 100_000)
MECHANISMS: dict[str, Mechanism] = {"PMM": PMM(), "PMM paper": PMM(variant="paper"), "PSMM": PSMM()}
CELLS = (16, 64, 256, 1024, 4096)
EPSILONS = (0.01, 0.0316, 0.1, 0.316, 1.0)
DRAWN = (100, 316, 1000, 3162, 10_000, 31_623)
COLUMNS = 10


def series(
    name: Line, across: Sequence[float], error: Callable[[float], float], rate: np.ndarray, releases: int
) -> Iterator[Line]:
    """Yield mean errors at some places, and the slope of all of them beside that of a rate."""
    found = {place: [error(place) for _ in range(releases)] for place in across}
    for place, errors in found.items():
        mean, spread = mean_and_error(errors)
        yield name | {"at": place, "error": mean, "se": spread, "releases": releases, "commit": commit()}
    logs = np.log(np.repeat(np.array(across, dtype=np.float64), releases))
    fit = linregress(logs, np.log(np.concatenate(list(found.values()))))
    reach = fit.stderr * t.ppf(0.975, logs.size - 2) if logs.size > 2 else math.nan
    ends = {"low": fit.slope - reach, "high": fit.slope + reach}
    yield name | {
        "at": "slope",
        "error": fit.slope,
        **ends,
        "theory": slope(np.array(across), rate),
        "commit": commit(),
    }


def by_distance(releases: int, *, is_quick: bool) -> Iterator[Line]:
    """Yield distances against the rows."""
    sizes, halvings = ((300, 1000), {1: 0, 2: 6, 3: 3}) if is_quick else (SIZES, {1: 0, 2: 7, 3: 4})
    for d in (1, 2, 3):
        for name, mechanism in MECHANISMS.items():

            def error(rows: float, d: int = d, mechanism: Mechanism = mechanism) -> float:
                points = np.random.default_rng([d, int(rows)]).random((int(rows), d))
                return distance(points, mechanism, halvings[d])

            rate = theory(np.array(sizes, dtype=np.float64), d, is_psmm=name == "PSMM")
            yield from series({"part": "distance", "of": name, "d": d, "against": "n"}, sizes, error, rate, releases)


def by_cells(releases: int, *, is_quick: bool) -> Iterator[Line]:
    """Yield covariance losses against the cells, and the floor below which no partition comes for some rows."""
    rows, cells = (2000, CELLS[:2]) if is_quick else (20_000, CELLS)
    rng = np.random.default_rng(1)
    partitions = {
        "Algorithm 1": theorem_partition,
        "MDAV": lambda x, k: mdav_in_blocks(x, len(x) // k),
    }
    for name, partition in partitions.items():

        def error(k: float, partition: Callable[[np.ndarray, int], np.ndarray] = partition) -> float:
            columns = math.floor(16 * math.log(2 * k)) + 1
            points = rng.integers(0, 2, (rows, columns)) / math.sqrt(columns)
            return covariance_loss(points, partition(points, int(k)))

        logs = np.log(np.array(cells, dtype=np.float64))
        rate = np.sqrt(np.log(logs) / logs)
        for line in series({"part": "covariance", "of": name, "against": "k"}, cells, error, rate, releases):
            yield line if line["at"] == "slope" else line | {"floor": proposition_3_14(int(str(line["at"])))}


def by_kernel(releases: int, *, is_quick: bool) -> Iterator[Line]:
    """Yield the maximum mean discrepancy of a grid's counts, in closed form, against epsilon n."""
    rows, epsilons = (5000, EPSILONS[-2:]) if is_quick else (100_000, EPSILONS)
    rng = np.random.default_rng(2)
    points = np.clip(rng.normal(rng.choice([0.3, 0.7], (rows, 1)), 0.1, (rows, 2)), 0, 1 - 1e-9)
    counts = np.bincount((points * 16).astype(np.int64) @ [16, 1], minlength=256) / rows
    middles = (np.stack(np.divmod(np.arange(256), 16), axis=1) + 0.5) / 16
    kernel = np.exp(-((middles[:, None] - middles[None]) ** 2).sum(axis=2) / (2 * 0.25**2))
    schema, mechanism = number_schema(2, 0, 1), Grid(width=1 / 16, threshold=1, variant="paper")

    def error(n: float) -> float:
        release = synthesize(as_frame(points), schema, epsilon=n / rows, mechanism=mechanism, expected_rows=rows)
        places, _, weights = cells_of(release)
        released = np.bincount((places * 16).astype(np.int64) @ [16, 1], weights, minlength=256)
        return math.sqrt(float((released - counts) @ kernel @ (released - counts)))

    across = tuple(epsilon * rows for epsilon in epsilons)
    name: Line = {"part": "kernel", "of": "Grid", "d": 2, "against": "epsilon n"}
    yield from series(name, across, error, 1 / np.array(across), releases)


def by_marginals(releases: int, *, is_quick: bool) -> Iterator[Line]:
    """Yield the largest error of two-way tables, of the density against n, and of k rows of it against k."""
    sizes, drawn = ((1000, 3162), DRAWN[:2]) if is_quick else (SIZES, DRAWN)
    rng, schema = np.random.default_rng(3), boolean_schema(COLUMNS)
    chances = rng.uniform(0.2, 0.8, COLUMNS)
    mechanism = LinearStatistics()

    def bits(n: int) -> np.ndarray:
        return rng.random((n, COLUMNS)) < np.where(rng.random((n, 1)) < 0.5, chances, 1 - chances)

    def of_density(n: float) -> float:
        rows = bits(int(n))
        release = synthesize(as_bits(rows), schema, epsilon=1, mechanism=mechanism)
        return largest(rows, release.sample(2**20).to_numpy())

    name: Line = {"part": "marginals", "of": "LinearStatistics", "d": 2, "against": "n"}
    yield from series(name, sizes, of_density, 1 / np.array(sizes, dtype=np.float64), releases)
    release = synthesize(as_bits(bits(sizes[-1])), schema, epsilon=1, mechanism=mechanism)
    law = release.sample(2**20).to_numpy()
    rate = np.array(drawn, dtype=np.float64) ** -0.5
    name = {"part": "marginals", "of": "rows drawn", "d": 2, "against": "k"}
    yield from series(name, drawn, lambda k: largest(law, release.sample(int(k)).to_numpy()), rate, releases)


def largest(one: np.ndarray, other: np.ndarray) -> float:
    """Return the largest difference of the shares of the cells of all two-way tables of bits."""
    both = []
    for rows in (one, other):
        signs = np.concatenate((rows, ~rows.astype(bool)), axis=1).astype(np.float32)
        both.append(signs.T @ signs / len(rows))
    return float(np.abs(both[0] - both[1]).max())


def distance(points: np.ndarray, mechanism: Mechanism, halvings: int) -> float:
    """Return the distance of one release."""
    d = points.shape[1]
    schema = number_schema(d, 0, 1)
    release = synthesize(as_frame(points), schema, epsilon=1, mechanism=mechanism, expected_rows=len(points))
    if d == 1:
        return line_w1(points[:, 0], release)
    return distances.grid_distance(points, release, halvings) if d == 2 else grid_w1(points, release, halvings)


def line_w1(points: np.ndarray, release: Release) -> float:
    """Return the exact distance on a line, rows spread evenly in their cells."""
    middles, halves, weights = cells_of(release)
    order = np.argsort(middles[:, 0])
    ends = np.stack(((middles - halves)[order, 0], (middles + halves)[order, 0]), axis=1)
    after = np.cumsum(weights[order]) / weights.sum()
    breaks = np.unique(np.concatenate((points, ends.ravel())))
    law = np.interp(breaks, ends.ravel(), np.stack((np.concatenate(([0.0], after[:-1])), after), axis=1).ravel())
    rows = np.searchsorted(np.sort(points), breaks, side="right")[:-1] / len(points)
    start, stop = rows - law[:-1], rows - law[1:]
    whole = np.abs(start) + np.abs(stop)
    # A difference that changes its sign between two breaks leaves two triangles.
    crossing = (start**2 + stop**2) / (2 * np.where(whole > 0, whole, 1.0))
    return float(np.where(start * stop < 0, crossing, whole / 2) @ np.diff(breaks))


PARTS = {"distance": by_distance, "covariance": by_cells, "kernel": by_kernel, "marginals": by_marginals}


def main() -> None:
    """Measure some parts, or all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], metavar="PART")
    parser.add_argument("--quick", action="store_true", help="a small size, to see that it runs")
    parser.add_argument("--releases", type=int, default=None)
    parser.add_argument("-o", "--output", type=Path, default=RESULTS)
    chosen = parser.parse_args()
    releases = chosen.releases or (2 if chosen.quick else 5)
    for part in chosen.parts or PARTS:
        write_lines(chosen.output / f"rates_{part}.csv", PARTS[part](releases, is_quick=chosen.quick))


if __name__ == "__main__":
    main()
