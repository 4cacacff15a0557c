"""W1 of PMM and PSMM against the number of rows, d = 1, 2, 3, beside the published rates. A CSV file and three charts.

    python bench/metric_rates.py [--quick] [--releases 2] [-o bench/results]

Uniform rows on the unit cube, epsilon 1, add-remove, the number of rows expected. The distance is exact for d = 1. For
d = 2 and 3 it is that of both laws on the middles of 128 x 128 and 16 x 16 x 16 cells: what lies nearer is not seen,
so that slopes come out too steep.
"""

from collections.abc import Iterator

import numpy as np
import pmm_distances as distances
from charts import log_log
from metric_models import arguments, as_frame, cells_of, grid_w1, mean_and_error, number_schema, slope, theory
from pmm import Line, write_lines
from png import write_png

from lapwing.api.synthesize import synthesize
from lapwing.mechanisms.registry import Mechanism
from lapwing.mechanisms.trees.pmm.mechanism import PMM
from lapwing.mechanisms.trees.psmm.mechanism import PSMM
from lapwing.release.release import Release

SIZES = (1000, 3162, 10_000, 31_623, 100_000)
MECHANISMS: dict[str, Mechanism] = {"PMM": PMM(), "PMM paper": PMM(variant="paper"), "PSMM": PSMM()}


def rates(sizes: tuple[int, ...], halvings: dict[int, int], releases: int) -> Iterator[Line]:
    """Yield mean distances, and for each mechanism the slope of their logarithms beside the theory's."""
    for d in (1, 2, 3):
        found: dict[str, list[float]] = {name: [] for name in MECHANISMS}
        for rows in sizes:
            points = np.random.default_rng([d, rows]).random((rows, d))
            for name, mechanism in MECHANISMS.items():
                mean, error = mean_and_error([distance(points, mechanism, halvings[d]) for _ in range(releases)])
                found[name].append(mean)
                yield {"d": d, "rows": rows, "mechanism": name, "releases": releases, "w1": mean, "se": error}
        for name, means in found.items():
            across = np.array(sizes, dtype=np.float64)
            expected = theory(across, d, is_psmm=name == "PSMM")
            line: Line = {"d": d, "rows": "slope", "mechanism": name, "releases": releases}
            yield line | {"w1": slope(across, np.array(means)), "theory": slope(across, expected)}


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


def chart(lines: list[Line], d: int) -> np.ndarray:
    """Draw the distances of one dimension, and the rates through the first of them."""
    curves: dict[str, list[tuple]] = {}
    for name in MECHANISMS:
        curves[name] = [
            (each["rows"], each["w1"])
            for each in lines
            if each["d"] == d and each["mechanism"] == name and each["rows"] != "slope"
        ]
    for name, label in (("PMM paper", "rate of PMM"), ("PSMM", "rate of PSMM")):
        rows, sizes = zip(*curves[name], strict=True)
        expected = theory(np.array(rows, dtype=np.float64), d, is_psmm=name == "PSMM")
        curves[label] = list(zip(rows, expected * sizes[0] / expected[0], strict=True))
    return log_log(f"W1, {d} columns, epsilon 1", curves, ("rows", "W1"))


def main() -> None:
    """Measure, and draw."""
    chosen = arguments(__doc__)
    sizes, halvings = ((300, 1000), {1: 0, 2: 6, 3: 3}) if chosen.quick else (SIZES, {1: 0, 2: 7, 3: 4})
    lines: list[Line] = []

    def kept() -> Iterator[Line]:
        for line in rates(sizes, halvings, chosen.releases or (1 if chosen.quick else 2)):
            lines.append(line)
            yield line

    write_lines(chosen.output / "metric_rates.csv", kept())
    for d in (1, 2, 3):
        write_png(chosen.output / f"metric_rates_d{d}.png", chart(lines, d))


if __name__ == "__main__":
    main()
