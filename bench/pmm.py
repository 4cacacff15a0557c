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
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pmm_distances as distances
import polars as pl
from pmm_pictures import draw_pictures
from pmm_speed import measure_speed
from scipy.stats import binom

from lapwing.mechanisms.pmm.mechanism import PMM, Variant
from lapwing.mechanisms.shared.trees.simulation import NoiseTree, certificate_quantile
from lapwing.mechanisms.shared.trees.trees import node_variances, pooled_estimates
from lapwing.release.release import Release
from lapwing.verbs.synthesize import synthesize

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
    """Yield how often three distances pass the 95 % bound, as certified and with 20 % too little noise claimed."""
    for what, run in (("W1, 64 cells", _line_run), ("W1, 2 cells", _pair_run), ("A, 16 x 16 cells", _noise_run)):
        values, tree, scale = run(releases)
        for claimed in (1.0, 0.8):
            parameters = tuple(parameter * claimed for parameter in tree.parameters)
            claim = replace(tree, parameters=parameters)
            simulated = certificate_quantile(claim, gamma=0.05, simulations=1999, rng=np.random.default_rng(1))
            bound = simulated * scale + (tree.resolution if scale < 1 else 0)
            over = int(np.sum(values > bound))
            # Probability of so many or more if the bound holds with 95 %.
            chance = float(binom.sf(over - 1, releases, 0.05))
            yield {
                "what": what,
                "claimed_scale": claimed,
                "releases": releases,
                "bound": bound,
                "largest": float(values.max()),
                "mean": float(values.mean()),
                "over": over,
                "p_value": chance,
            }


def _line_run(releases: int) -> tuple[np.ndarray, NoiseTree, float]:
    """Return distances of releases of 5,000 rows in one dimension, 64 leaves."""
    points = np.random.default_rng(3).beta(2, 5, (5000, 1))
    frame = pl.DataFrame({"x0": points[:, 0]})
    schema = {"fields": [{"name": "x0", "type": "number", "constraints": BOUNDS}]}
    runs = [
        synthesize(frame, schema, epsilon=1, mechanism=PMM(depth=6), neighbours="replace-one") for _ in range(releases)
    ]
    tree = distances.noise_of(runs[0], is_root_exact=True)
    return np.array([distances.line_distance(points, run) for run in runs]), tree, 1 / 5000


def _pair_run(releases: int) -> tuple[np.ndarray, NoiseTree, float]:
    """Return distances of releases of a yes-or-no column, where |ζ_0 - ζ_1| / 2 rows must move: the bound is sharp."""
    rows, ones = 20_000, 9_000
    frame = pl.DataFrame({"flag": np.arange(rows) < ones})
    schema = {"fields": [{"name": "flag", "type": "boolean", "constraints": {"required": True}}]}
    runs = [
        synthesize(frame, schema, epsilon=0.05, mechanism=PMM(depth=1), neighbours="replace-one")
        for _ in range(releases)
    ]
    tree = distances.noise_of(runs[0], is_root_exact=True)
    found = [abs(float(run.query(["flag"])["count"][1]) - ones) / rows for run in runs]
    return np.array(found), tree, 1 / rows


def _noise_run(releases: int) -> tuple[np.ndarray, NoiseTree, float]:
    """Return the certificate's own variable A, from the noise of releases of an empty table."""
    frame = pl.DataFrame({"x0": [], "x1": []}, schema={"x0": pl.Float64, "x1": pl.Float64})
    schema = {"fields": [{"name": name, "type": "number", "constraints": BOUNDS} for name in frame.columns]}
    runs = [synthesize(frame, schema, epsilon=1, mechanism=PMM(depth=8), expected_rows=1000) for _ in range(releases)]
    tree = distances.noise_of(runs[0], is_root_exact=False)
    return np.array([transport(run, tree) for run in runs]), tree, 1.0


def transport(release: Release, tree: NoiseTree) -> float:
    """Return A of one release of an empty table, whose noisy counts are noise; every cell here has two halves."""
    _, weights = node_variances(tree.splits, tree.variances, 2)
    pooled = pooled_estimates(distances.tree_of(release).levels, tree.splits, weights)
    total = math.ceil(abs(pooled[0].item())) * tree.diameters[0].item()
    for split, below, sizes in zip(tree.splits, pooled[1:], tree.diameters[:-1], strict=True):
        halves = [np.take(below, np.arange(first, split.children, 2), axis=split.axis) for first in (0, 1)]
        total += sizes.max() * float(np.ceil(np.abs(halves[0] - halves[1]) / 2).sum())
    return float(total)


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
        "certificate": lambda: certificate(chosen.releases or 1000),
        "speed": lambda: measure_speed(chosen.file),
        "pictures": draw_pictures,
    }
    write_lines(chosen.output / f"pmm_{chosen.part}.csv", parts[chosen.part]())


if __name__ == "__main__":
    main()
