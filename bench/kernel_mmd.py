"""MMD of the metric-space mechanisms against epsilon. One CSV file and charts per part.

    python bench/kernel_mmd.py mixtures|even|figure4|widths [--quick] [--releases 5] [-o bench/results]

``mixtures``: the data of Balog et al. (2018) for d = 2 and 5, and by the same recipe for d = 10 and 20; 100,000 rows,
public bounds [-1000, 1000], kernel exp(-|x - y|^2 / (100^2 d)), beside their Algorithm 2 (delta 1e-6, replace-one; the
best of their numbers of points). From d = 10 on add-remove and two releases only. ``atoms`` has each cell's weight in
its middle, as the KD-tree paper measures it, and ``rows`` is 10,000 rows drawn from the release, as many as theirs. By
1,000 random features: a standard error near 3 %.

``even``: KDTree on rows drawn evenly from the same box, five columns, epsilon 1, by where in a cell its rows lie; the
MMD of 100,000 drawn rows. No chart.

``figure4``: the KD-tree paper's Figure 4. 100,000 rows of a standard Gaussian in [-8, 8]^d, kernel
exp(-|x - y|^2 / 2), Algorithm 1 on cells of 1/4 with the threshold of its Theorem 5 (delta 0.01), replace-one, beside
(epsilon n)^(-1/3), the bounds of Theorem 3, and the grid with our defaults.

``widths``: Grid() beside the best of a grid of its settings (widths that double, thresholds of 1, 3, 5 and 8 noise
scales, both variants; found with one release each), replace-one, on mixtures in one to three columns and on places;
kernel exp(-200 |x - y|^2) on places. No chart.
"""

import math
import sys
from collections.abc import Iterator
from functools import partial
from itertools import product
from pathlib import Path
from typing import get_args

import numpy as np
import polars as pl
from charts import log_log
from metric_models import arguments, as_frame, cells_of, mean_and_error, mixture, number_schema
from pmm import Line, write_lines
from png import write_png

from lapwing.api.synthesize import synthesize
from lapwing.errors import CapacityError, ParameterError
from lapwing.extras.evaluate.metrics.samples import mean_features, mmd_from_features, random_frequencies
from lapwing.mechanisms.registry import Mechanism
from lapwing.mechanisms.shared.settings import Variant
from lapwing.mechanisms.trees.kd_tree.mechanism import Grid, KDTree
from lapwing.mechanisms.trees.pmm.mechanism import PMM
from lapwing.mechanisms.trees.psmm.mechanism import PSMM
from lapwing.release.release import Release
from lapwing.schema.schemas import Schema
from lapwing.theorems.kd_tree import theorem_3, theorem_5_threshold

MECHANISMS: dict[str, Mechanism] = {
    "KDTree": KDTree(),
    "KDTree paper": KDTree(variant="paper"),
    "Grid": Grid(),
    "PMM": PMM(),
    "PSMM": PSMM(),
}
SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"
PUBLISHED = {(2, 0.01): 0.1333, (2, 0.1): 0.0184, (2, 1): 0.0025, (5, 0.01): 0.3573, (5, 0.1): 0.0678, (5, 1): 0.0341}
"""Least ``dists_alg2`` over their numbers of points: results/D2_alg2_random_M10000.json and D5, commit 2c5f9c8."""

SERIES = ("KDTree", "KDTree paper", "Grid", "PMM", "PSMM", "Balog et al")
FEATURES = 1000


def mixtures(*, is_quick: bool, releases: int) -> Iterator[Line]:
    """Yield the mean MMD of each mechanism."""
    rows, dimensions, epsilons = (5000, (2, 10), (1,)) if is_quick else (100_000, (2, 5, 10, 20), (0.01, 0.1, 1, 10))
    for d in dimensions:
        points = mixture(d, rows)
        scaled = (points + 1000) / 2000
        gamma = 2000**2 / (100**2 * d)
        frequencies = random_frequencies(d, FEATURES, np.random.default_rng(d), gamma=gamma)
        real = mean_features(scaled, frequencies)
        for relation, epsilon in product(("replace-one", "add-remove") if d < 10 else ("add-remove",), epsilons):
            if (d, epsilon) in PUBLISHED and relation == "replace-one":
                yield {"d": d, "relation": relation, "epsilon": epsilon, "mechanism": "Balog et al"} | {
                    "atoms": PUBLISHED[d, epsilon]
                }
            for name, mechanism in _able(d):
                line: Line = {"d": d, "relation": relation, "epsilon": epsilon, "mechanism": name}
                settings = {"epsilon": epsilon, "neighbours": relation, "mechanism": mechanism}
                seeds = range(releases if d < 10 else min(releases, 2))
                found = [_measured(points, settings, frequencies, real, seed) for seed in seeds]
                yield line | _summary([each for each in found if each is not None])


def _able(d: int) -> list[tuple[str, Mechanism]]:
    """Return the mechanisms that take so many columns."""
    return [(name, mechanism) for name, mechanism in MECHANISMS.items() if name != "PSMM" or d <= 3]


def _measured(
    points: np.ndarray, settings: dict, frequencies: np.ndarray, real: np.ndarray, seed: int
) -> tuple[float, float, int] | None:
    """Return the MMD of a release's atoms and of rows drawn from it, and its cells; None where it is refused."""
    d = points.shape[1]
    try:
        release = synthesize(
            as_frame(points), number_schema(d, -1000, 1000), expected_rows=len(points), seed=seed, **settings
        )
    except (CapacityError, ParameterError) as error:
        sys.stdout.write(f"# {settings['mechanism'].name} d={d} epsilon={settings['epsilon']}: {error}\n")
        return None
    drawn = (release.sample(10_000, seed=seed).to_numpy() + 1000) / 2000
    rows = mmd_from_features(real, mean_features(drawn, frequencies)).value
    return atoms_mmd(release, frequencies, real), rows, release.model.weights.size


def atoms_mmd(release: Release, frequencies: np.ndarray, real: np.ndarray) -> float:
    """Return the MMD of a release whose cells have their weight in the middle."""
    middles, _, weights = cells_of(release)
    return mmd_from_features(real, mean_features(middles, frequencies, weights)).value


def _summary(found: list[tuple[float, float, int]]) -> Line:
    """Return means and standard errors; nothing where all releases were refused."""
    if not found:
        return {"releases": 0}
    atoms, rows, cells = zip(*found, strict=True)
    line: Line = {"releases": len(found)}
    for name, values in (("atoms", atoms), ("rows", rows)):
        line[name], line[f"{name}_se"] = mean_and_error(list(values))
    return line | {"cells": round(float(np.mean(cells)))}


def even(*, is_quick: bool, releases: int) -> Iterator[Line]:
    """Yield the MMD of KDTree by placement on rows that have no clusters."""
    count = 5000 if is_quick else 100_000
    points = np.random.default_rng(5).uniform(-1000, 1000, (count, 5))
    frequencies = random_frequencies(5, FEATURES, np.random.default_rng(5), gamma=2000**2 / (100**2 * 5))
    real = mean_features((points + 1000) / 2000, frequencies)
    schema = number_schema(5, -1000, 1000)
    for placement in ("centre", "uniform"):
        found = []
        for seed in range(releases):
            mechanism = KDTree(placement=placement)
            release = synthesize(as_frame(points), schema, epsilon=1, mechanism=mechanism, expected_rows=count)
            drawn = release.sample(count, seed=seed).to_numpy()
            found.append(mmd_from_features(real, mean_features((drawn + 1000) / 2000, frequencies)).value)
        mean, error = mean_and_error(found)
        yield {"d": 5, "epsilon": 1, "placement": placement, "mmd": mean, "se": error}


def figure4(*, is_quick: bool, releases: int) -> Iterator[Line]:
    """Yield the MMD of Algorithm 1 on Gaussian rows against epsilon, and what its theory says."""
    rows = 2000 if is_quick else 100_000
    epsilons = [0.1, 1] if is_quick else [float(f"{10.0**power:.3g}") for power in np.arange(-3, 1.6, 0.5)]
    for d in (1, 2, 3):
        points = np.random.default_rng(d).standard_normal((rows, d))
        frequencies = random_frequencies(d, FEATURES, np.random.default_rng(d), gamma=16**2 / 2)
        real = mean_features((points + 8) / 16, frequencies)
        for epsilon in epsilons:
            threshold = theorem_5_threshold(2 / epsilon, 0.01)
            grids = {
                "paper": Grid(width=1 / 64, threshold=threshold, variant="paper"),
                "no threshold": Grid(width=1 / 64, threshold=1, variant="paper"),
                "default": Grid(variant="paper"),
            }
            settings = {"epsilon": epsilon, "neighbours": "replace-one", "expected_rows": rows}
            for name, grid in grids.items():
                found = [
                    atoms_mmd(
                        synthesize(as_frame(points), number_schema(d, -8, 8), mechanism=grid, seed=seed, **settings),
                        frequencies,
                        real,
                    )
                    for seed in range(releases)
                ]
                mean, error = mean_and_error(found)
                yield {"d": d, "epsilon": epsilon, "mechanism": f"Grid {name}", "mmd": mean, "se": error}
            yield {"d": d, "epsilon": epsilon, "mechanism": "(eps n)^(-1/3)", "mmd": (epsilon * rows) ** (-1 / 3)}
            yield {"d": d, "epsilon": epsilon, "mechanism": "Theorem 3"} | _theorem(d, epsilon, rows)


def widths(*, is_quick: bool, releases: int) -> Iterator[Line]:
    """Yield the MMD of the default grid and of the best of a grid of settings."""
    for (name, (points, gamma)), epsilon in product(_tables(is_quick=is_quick).items(), (0.1, 1)):
        d = points.shape[1]
        frequencies = random_frequencies(d, FEATURES, np.random.default_rng(d), gamma=gamma)
        real = mean_features(points, frequencies)

        errors = partial(_errors, points, epsilon, (frequencies, real))
        line: Line = {"table": name, "rows": len(points), "d": d, "epsilon": epsilon}
        tried = [
            Grid(width=2.0**-level, threshold=round(scales * 2 / epsilon), variant=variant)
            for level in range(1, min(12, 18 // d) + 1)
            for scales in (1, 3, 5, 8)
            for variant in get_args(Variant)
        ]
        best = min(tried, key=lambda grid: errors(grid, 1)[0])
        for label, grid in (("default", Grid()), ("best", best)):
            mean, error = mean_and_error(errors(grid, releases))
            line |= {label: mean, f"{label}_se": error}
        yield line | {"best_settings": repr(best)}


def _errors(
    points: np.ndarray, epsilon: float, features: tuple[np.ndarray, np.ndarray], grid: Grid, releases: int
) -> list[float]:
    """Return the MMD of releases of a grid; features: frequencies, and those of the points."""
    schema, settings = number_schema(points.shape[1], 0, 1), {"epsilon": epsilon, "neighbours": "replace-one"}
    made = (synthesize(as_frame(points), schema, mechanism=grid, seed=seed, **settings) for seed in range(releases))
    return [atoms_mmd(each, *features) for each in made]


def _tables(*, is_quick: bool) -> dict[str, tuple[np.ndarray, float]]:
    """Return tables of several kinds in a box of edge 1, and the kernel of each."""
    found = {f"mixture, d = {d}": ((mixture(d) + 1000) / 2000, 2000**2 / (100**2 * d)) for d in (1, 2, 3)}
    for name, columns in (("nyc-airbnb", ("latitude", "longitude")), ("houston-crime", ("lon", "lat"))):
        schema = Schema.load(SHARED / name / "schema.json")
        frame = pl.read_parquet(SHARED / name / "data.parquet", columns=list(columns)).drop_nulls()
        low, high = (np.array([getattr(schema.field(each), end) for each in columns]) for end in ("minimum", "maximum"))
        found[name] = ((frame.to_numpy() - low) / (high - low), 200.0)
    rows = 3000 if is_quick else None
    return {name: (np.clip(points, 0, 1)[:rows], gamma) for name, (points, gamma) in found.items()}


def _theorem(d: int, epsilon: float, rows: int) -> Line:
    """Return the bound of Theorem 3 on the kernel density distance; it bounds the square of the MMD over 2."""
    try:
        bound = theorem_3(scale=2 / epsilon, n=rows, J=64**d, delta=0.01, w=0.25, d=d, bandwidth=1.0)
    except ParameterError:
        return {}
    return {"kernel_density_bound": bound, "mmd_bound": math.sqrt(2 * bound)}


def draw(part: str, lines: list[Line], output: Path) -> None:
    """Write one chart for each number of columns."""
    for d in sorted({int(str(line["d"])) for line in lines}):
        here = [line for line in lines if line["d"] == d]
        if part == "figure4":
            names = ["Grid paper", "Grid no threshold", "Grid default", "(eps n)^(-1/3)"]
            title = f"standard Gaussian, {d} columns, 100000 rows, replace-one"
            curves = {name: _curve(here, name, "mmd") for name in names}
        else:
            relation = "replace-one" if d < 10 else "add-remove"
            title = f"mixture of 10 Gaussians, {d} columns, 100000 rows, {relation}"
            same = [line for line in here if line["relation"] == relation]
            curves = {name: _curve(same, name, "atoms") for name in SERIES}
        curves = {name: curve for name, curve in curves.items() if curve}
        write_png(output / f"kernel_{part}_d{d}.png", log_log(title, curves, ("epsilon", "MMD")))


def _curve(lines: list[Line], name: str, key: str) -> list[tuple[float, float]]:
    """Return the points of one series."""
    return [(line["epsilon"], line[key]) for line in lines if line["mechanism"] == name and line.get(key)]  # type: ignore[misc]


def main() -> None:
    """Measure, and draw."""
    chosen = arguments(__doc__, ["mixtures", "even", "figure4", "widths"])
    lines: list[Line] = []

    def kept() -> Iterator[Line]:
        part = {"mixtures": mixtures, "even": even, "figure4": figure4, "widths": widths}[chosen.part]
        for line in part(is_quick=chosen.quick, releases=chosen.releases or (1 if chosen.quick else 5)):
            lines.append(line)
            yield line

    write_lines(chosen.output / f"kernel_{chosen.part}.csv", kept())
    if chosen.part not in ("even", "widths"):
        draw(chosen.part, lines, chosen.output)


if __name__ == "__main__":
    main()
