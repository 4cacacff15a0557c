"""Information loss and CPU seconds of k-anonymous partitions. A CSV file; parts already in it are kept.

    OMP_NUM_THREADS=1 python bench/anonymous_partitions.py tarragona|clustered|scale [--quick] [-o bench/results]

``tarragona``: MDAV and the practical partition of ../shared/data/tarragona, columns standardised, sizes 3, 4, 5, 10.
``clustered``: 3,000 rows of 100 tight Gaussians in 4 columns (centres of sd 1, every Gaussian of sd 0.1, shares from a
Dirichlet law). ``fixed``: the practical partition without dissolving groups, so that their number hardly changes.
``pairs`` (with ``tarragona``): an experiment, swaps that lower the largest lost covariance of two columns
(``pair_error``) instead of the squared errors.
``scale``: groups of 5 on a mixture of 50 Gaussians in 10 columns (centres of sd 3 in each column, every Gaussian of
sd 1), columns standardised. MDAV on 1,000 to 20,000 rows; the practical partition on 20,000 to 1,000,000, beside what
a straight line through MDAV's logarithms (loss against rows) gives there. Each line comes from a process of its own.
"""

import argparse
import csv
import json
import math
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
from adaptive import commit, machine

from lapwing.anonymous import microaggregation
from lapwing.anonymous.covariance_loss import block_means
from lapwing.anonymous.microaggregation import information_loss, mdav, practical_partition

Line = dict[str, object]
SWAPS = 200_000
DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "tarragona" / "data.parquet"
MDAV_ROWS = (1_000, 2_000, 5_000, 10_000, 20_000)
PRACTICAL_ROWS = (20_000, 100_000, 300_000, 1_000_000)
NAMES = (
    *("part", "method", "rows", "columns", "size", "loss_percent", "pair_error", "mdav_trend_percent", "cpu_s"),
    *("cpu_us_per_n_log2_n", "peak_mb", "commit", "machine"),
)


def standardised(x: np.ndarray) -> np.ndarray:
    """Return columns of mean 0 and standard deviation 1."""
    return (x - x.mean(axis=0)) / x.std(axis=0)


def mixture(rows: int) -> np.ndarray:
    """Draw from 50 Gaussian laws in 10 columns."""
    rng = np.random.default_rng(1)
    centres = 3 * rng.standard_normal((50, 10))
    return centres[rng.integers(50, size=rows)] + rng.standard_normal((rows, 10))


def clusters() -> np.ndarray:
    """Draw from 100 tight Gaussian laws in 4 columns."""
    rng = np.random.default_rng(2)
    own = rng.choice(100, 3000, p=rng.dirichlet(np.full(100, 2.0)))
    return rng.normal(size=(100, 4))[own] + 0.1 * rng.normal(size=(3000, 4))


def fixed_partition(x: np.ndarray, size: int) -> np.ndarray:
    """Return the practical partition without dissolving groups."""
    free, microaggregation._regrouped = microaggregation._regrouped, lambda _x, labels, _size: labels
    labels = practical_partition(x, size)
    microaggregation._regrouped = free
    return labels


def lost_pairs(x: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return the covariances that averaging over groups loses, 0 on the diagonal."""
    _, means = block_means(x, labels)
    rest = x - means[labels]
    lost = rest.T @ rest / len(x)
    np.fill_diagonal(lost, 0.0)
    return lost


def pair_partition(x: np.ndarray, size: int) -> np.ndarray:
    """Swap random points of the practical partition's groups where that lowers the largest lost covariance."""
    labels, rng = practical_partition(x, size), np.random.default_rng(0)
    counts, lost = np.bincount(labels), lost_pairs(x, labels)
    _, means = block_means(x, labels)
    for one, other in rng.integers(len(x), size=(SWAPS, 2)):
        a, b = labels[one], labels[other]
        if a == b:
            continue
        step, ends = x[other] - x[one], {a: x[one] - means[a], b: x[other] - means[b]}
        change = np.outer(step, ends[a] - ends[b])
        change += change.T + np.outer(step, step) * (2 - 1 / counts[a] - 1 / counts[b])
        np.fill_diagonal(change, 0.0)
        if np.abs(lost + change / len(x)).max() < np.abs(lost).max():
            lost += change / len(x)
            labels[one], labels[other] = b, a
            means[a] += step / counts[a]
            means[b] -= step / counts[b]
    return labels


METHODS = {"mdav": mdav, "fixed": fixed_partition, "practical": practical_partition, "pairs": pair_partition}


def measure(part: str, method: str, rows: int, size: int) -> Line:
    """Return loss, time and memory of one partition."""
    tables = {
        "scale": lambda: mixture(rows),
        "clustered": clusters,
        "tarragona": lambda: pl.read_parquet(DATA).to_numpy(),
    }
    x = standardised(tables[part]().astype(np.float64))
    start = time.process_time()
    labels = METHODS[method](x, size)
    taken = time.process_time() - start
    assert np.bincount(labels).min() >= size
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    line: Line = {"part": part, "method": method, "rows": len(x), "columns": x.shape[1], "size": size}
    line |= {"loss_percent": information_loss(x, labels), "cpu_s": taken, "peak_mb": peak}
    line["pair_error"] = float(np.abs(lost_pairs(x, labels)).max())
    return line | {"cpu_us_per_n_log2_n": 1e6 * taken / (len(x) * math.log2(len(x)))}


def measured(*task: object) -> Line:
    """Measure in a process of its own."""
    command = [sys.executable, __file__, "measure", *map(str, task)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def tarragona() -> Iterator[Line]:
    """Yield a line per method and size."""
    for size in (3, 4, 5, 10):
        for method in METHODS:
            yield measured("tarragona", method, 0, size)


def clustered() -> Iterator[Line]:
    """Yield a line per method and size."""
    for size in (3, 5, 10):
        for method in ("mdav", "fixed", "practical"):
            yield measured("clustered", method, 0, size)


def scale(*, is_quick: bool) -> Iterator[Line]:
    """Yield MDAV on few rows, then the practical partition on many beside MDAV's trend."""
    divisor = 100 if is_quick else 1
    trend = []
    for rows in MDAV_ROWS:
        line = measured("scale", "mdav", rows // divisor, 5)
        trend.append((math.log(rows // divisor), math.log(line["loss_percent"])))
        yield line
    slope, intercept = np.polyfit(*np.transpose(trend), 1)
    for rows in PRACTICAL_ROWS:
        straight = math.exp(intercept + slope * math.log(rows // divisor))
        yield measured("scale", "practical", rows // divisor, 5) | {"mdav_trend_percent": straight}


def write(path: Path, part: str, lines: Iterator[Line]) -> None:
    """Replace the lines of a part."""
    kept: list[dict[str, str]] = []
    if path.is_file():
        with path.open(newline="") as file:
            kept = [line for line in csv.DictReader(file) if line["part"] != part]
    found = []
    for line in lines:
        rounded = {name: f"{value:.4g}" if isinstance(value, float) else value for name, value in line.items()}
        found.append(rounded | {"commit": commit(), "machine": machine()})
        print(found[-1], flush=True)
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, NAMES, lineterminator="\n")
        writer.writeheader()
        writer.writerows([*kept, *found])


def main() -> None:
    """Measure one part, or one task of it."""
    if sys.argv[1:2] == ["measure"]:
        part, method, rows, size = sys.argv[2:]
        print(json.dumps(measure(part, method, int(rows), int(size))))
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=("tarragona", "clustered", "scale"))
    parser.add_argument("--quick", action="store_true", help="a hundredth of the rows")
    parser.add_argument("-o", "--output", type=Path, default=Path(__file__).parent / "results")
    chosen = parser.parse_args()
    parts = {"tarragona": tarragona, "clustered": clustered, "scale": lambda: scale(is_quick=chosen.quick)}
    write(chosen.output / "anonymous_partitions.csv", chosen.part, parts[chosen.part]())


if __name__ == "__main__":
    main()
