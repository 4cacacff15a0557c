"""PMM: accuracy against the paper's variant, rate in n, certificate, speed, pictures. One CSV file per part.

    python bench/pmm.py accuracy|rates|certificate|speed|pictures [-o bench/results] [--releases 5]

``accuracy``, ``rates`` and ``certificate`` compare with simulated data; ``speed`` writes its own table unless
``--file`` gives one; ``pictures`` draws two public benchmark sets into docs/img.
"""

import argparse
import csv
import math
import sys
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path

import numpy as np
import pmm_distances as distances
import polars as pl
from pmm_pictures import draw_pictures
from pmm_speed import measure_speed
from scipy.stats import binom, wasserstein_distance

from lapwing.api.synthesize import synthesize
from lapwing.mechanisms.trees.pmm.mechanism import PMM, Variant
from lapwing.mechanisms.trees.psmm.mechanism import PSMM
from lapwing.release.release import Release

Line = dict[str, object]
BOUNDS = {"minimum": 0, "maximum": 1, "required": True}
SUBSAMPLE = 1500
ROUNDS = 3


def uniform(rows: int, d: int, rng: np.random.Generator) -> np.ndarray:
    """Draw uniform points."""
    return rng.random((rows, d))


def betas(rows: int, d: int, rng: np.random.Generator) -> np.ndarray:
    """Draw each coordinate from one of two Beta laws, the same for all coordinates of a row."""
    low = rng.random((rows, 1)) < 0.6
    return np.where(low, rng.beta(2, 8, (rows, d)), rng.beta(9, 3, (rows, d)))


def gaussians(rows: int, d: int, rng: np.random.Generator) -> np.ndarray:
    """Draw from ten Gaussian laws with standard deviation 0.04."""
    centres = rng.uniform(0.15, 0.85, (10, d))
    return np.clip(centres[rng.integers(10, size=rows)] + rng.normal(0, 0.04, (rows, d)), 0, 1)


def clusters(rows: int, d: int, rng: np.random.Generator) -> np.ndarray:
    """Draw from forty tight clusters of unequal weight with standard deviation 0.001."""
    centres, weights = rng.random((40, d)), rng.dirichlet(np.full(40, 0.5))
    return np.clip(centres[rng.choice(40, rows, p=weights)] + rng.normal(0, 0.001, (rows, d)), 0, 1)


LAWS: dict[str, Callable[[int, int, np.random.Generator], np.ndarray]] = {
    "uniform": uniform,
    "beta mixture": betas,
    "10 Gaussians": gaussians,
    "clustered": clusters,
}


def released(points: np.ndarray, variant: Variant, epsilon: float = 1) -> Release:
    """Release a table of points on the unit cube, no number of rows given."""
    frame = pl.DataFrame({f"x{axis}": points[:, axis] for axis in range(points.shape[1])})
    schema = {"fields": [{"name": name, "type": "number", "constraints": BOUNDS} for name in frame.columns]}
    return synthesize(frame, schema, epsilon=epsilon, mechanism=PMM(variant=variant))


def accuracy(releases: int) -> Iterator[Line]:
    """Yield one line per data set, dimension and number of rows: distances of both variants and their ratio."""
    ratios = []
    for d, rows, name in product((1, 2), (10**4, 10**5), LAWS):
        rng = np.random.default_rng([d, rows, len(name)])
        points = LAWS[name](rows, d, rng)
        floor = distances.assignment(*_subsamples(points, points, rng)) if d > 1 else math.nan
        line: Line = {"data": name, "d": d, "rows": rows, "releases": releases}
        for variant in ("paper", "default"):
            found = [_measured(points, released(points, variant), rng) for _ in range(releases)]
            means, spreads = np.mean(found, axis=0), np.std(found, axis=0, ddof=1) / math.sqrt(releases)
            line |= {f"{variant}_w1": means[0], f"{variant}_se": spreads[0], f"{variant}_assignment": means[1]}
        line |= {"ratio": line["default_w1"] / line["paper_w1"], "assignment_floor": floor}  # type: ignore[operator]
        ratios.append(line["ratio"])
        yield line
    for d, part in ((1, ratios[:8]), (2, ratios[8:]), ("1 and 2", ratios)):
        yield {"data": "geometric mean", "d": d, "ratio": math.exp(np.mean(np.log(part)))}


def _measured(points: np.ndarray, release: Release, rng: np.random.Generator) -> tuple[float, float]:
    """Return the distance by the better route, and by assignment of subsamples where there are two dimensions."""
    if points.shape[1] == 1:
        return distances.line_distance(points, release), math.nan
    rows = release.sample(SUBSAMPLE, seed=int(rng.integers(2**31))).to_numpy()
    halvings = 6 if len(points) < 10**5 else 7
    by_assignment = distances.assignment(_subsamples(points, rows, rng)[0], rows)
    return distances.grid_distance(points, release, halvings), by_assignment


def _subsamples(first: np.ndarray, second: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return some rows of each of two tables; disjoint where they are one."""
    chosen = rng.permutation(len(first))[: 2 * SUBSAMPLE]
    return first[chosen[:SUBSAMPLE]], second[chosen[SUBSAMPLE:]] if second is first else second


def rates(releases: int) -> Iterator[Line]:
    """Yield the paper variant's distances on uniform data, and the slope of their logarithms in log n."""
    sizes = (1000, 3162, 10_000, 31_623, 100_000)
    for d in (1, 2, 3):
        rng = np.random.default_rng(d)
        found = np.array([_paper_distances(rows, d, releases, rng) for rows in sizes])
        for rows, (w1, flow) in zip(sizes, found, strict=True):
            yield {"d": d, "rows": rows, "releases": releases, "w1": w1, "tree_flow": flow}
        # The theorem's own rate on these sizes: log(n)^2 / n bends the line of d = 1.
        theory = np.log(sizes) ** 2 / sizes if d == 1 else np.array(sizes) ** (-1 / d)
        slopes = [_slope(sizes, values) for values in (found[:, 0], found[:, 1], theory)]
        yield {"d": d, "rows": "slope", "w1": slopes[0], "tree_flow": slopes[1], "theory": slopes[2]}


def _slope(sizes: tuple[int, ...], values: np.ndarray) -> float:
    """Return the least-squares slope on two logarithmic axes."""
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0]) if np.isfinite(values).all() else math.nan


def _paper_distances(rows: int, d: int, releases: int, rng: np.random.Generator) -> tuple[float, float]:
    """Return mean distance (not for d = 3) and mean flow along the tree."""
    found = []
    for _ in range(releases):
        points = uniform(rows, d, rng)
        release = released(points, "paper")
        w1 = math.nan
        if d < 3:
            halvings = 5 if rows < 10**4 else 6
            is_line = d == 1
            w1 = (
                distances.line_distance(points, release)
                if is_line
                else distances.grid_distance(points, release, halvings)
            )
        found.append((w1, distances.tree_flow(points, release)))
    w1, flow = np.mean(found, axis=0)
    return float(w1), float(flow)


def certificate(releases: int) -> Iterator[Line]:
    """Yield, per mechanism, dimension, ε and law, what is stated and true of 500 rows, and how often it is passed."""
    ratios: dict[tuple[str, int, float], list[float]] = {}
    for d, epsilon, name in product((1, 2, 3), (0.1, 1.0, 10.0), LAWS):
        points = LAWS[name](500, d, np.random.default_rng([d, len(name)]))
        for mechanism in (PMM(), PMM(variant="paper"), PSMM()):
            runs = releases if d == 1 else max(releases // 20, 2)
            found = np.array([_stated(points, mechanism, epsilon, seed) for seed in range(runs)])
            each = found[:, 0] / found[:, 1]
            kind = "PMM, paper" if mechanism == PMM(variant="paper") else mechanism.name
            ratios.setdefault((kind, d, epsilon), []).extend(each.tolist())
            over = int((each < 1).sum())
            yield {
                "mechanism": kind,
                "d": d,
                "epsilon": epsilon,
                "data": name,
                "releases": runs,
                "stated": float(np.median(found[:, 0])),
                "true": float(np.median(found[:, 1])),
                "ratio": float(np.median(each)),
                "ratio_90": float(np.quantile(each, 0.9)),
                "over": over,
                # Probability of so many or more if the bound holds with 95 %.
                "p_value": float(binom.sf(over - 1, runs, 0.05)),
            }
    for (kind, d, epsilon), each in ratios.items():
        yield {"mechanism": kind, "d": d, "epsilon": epsilon, "data": "all", "ratio": float(np.median(each))}


def _stated(points: np.ndarray, mechanism: PMM | PSMM, epsilon: float, seed: int) -> tuple[float, float]:
    """Return the stated distance of one release, and the true one: for d > 1 to four model rows for each row."""
    frame = pl.DataFrame({f"x{axis}": points[:, axis] for axis in range(points.shape[1])})
    schema = {"fields": [{"name": name, "type": "number", "constraints": BOUNDS} for name in frame.columns]}
    rows = len(points)
    release = synthesize(frame, schema, epsilon=epsilon, mechanism=mechanism, expected_rows=rows, seed=seed)
    stated = next(each.value for each in release.certificate.accuracy if each.code == "distance")
    drawn = release.sample(20 * rows if points.shape[1] == 1 else 4 * rows, seed=seed).to_numpy()
    if points.shape[1] == 1:
        return stated or 0.0, float(wasserstein_distance(points[:, 0], drawn[:, 0]))
    return stated or 0.0, distances.assignment(np.repeat(points, 4, axis=0), drawn)


def write_lines(path: Path, lines: Iterator[Line]) -> None:
    """Write lines as CSV, and show each as soon as it is there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    kept: list[Line] = []
    for line in lines:
        kept.append({key: f"{value:.4g}" if isinstance(value, float) else value for key, value in line.items()})
        sys.stdout.write(" ".join(f"{key}={value}" for key, value in kept[-1].items()) + "\n")
        sys.stdout.flush()
        # Written again with every line: a long part that is stopped keeps what it has.
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, list(dict.fromkeys(key for entry in kept for key in entry)))
            writer.writeheader()
            writer.writerows(kept)


def main() -> None:
    """Run one part."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=["accuracy", "rates", "certificate", "speed", "pictures"])
    parser.add_argument("--releases", type=int)
    parser.add_argument("--file", type=Path)
    parser.add_argument("-o", "--output", type=Path, default=Path(__file__).parent / "results")
    chosen = parser.parse_args()
    parts: dict[str, Callable[[], Iterator[Line]]] = {
        "accuracy": lambda: accuracy(chosen.releases or 5),
        "rates": lambda: rates(chosen.releases or ROUNDS),
        "certificate": lambda: certificate(chosen.releases or 400),
        "speed": lambda: measure_speed(chosen.file),
        "pictures": draw_pictures,
    }
    write_lines(chosen.output / f"pmm_{chosen.part}.csv", parts[chosen.part]())


if __name__ == "__main__":
    main()
