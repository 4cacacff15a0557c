"""PSMM: distances beside PMM's for several numbers of cells, and CPU time of the fit. One CSV file per part.

python bench/psmm.py accuracy|speed [-o bench/results] [--releases 3]
"""

import argparse
import time
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path

import numpy as np
import pmm_distances as distances
import polars as pl
from pmm import BOUNDS, LAWS, Line, write_lines
from scipy.stats import wasserstein_distance

from lapwing.api.synthesize import synthesize
from lapwing.mechanisms.registry import Mechanism
from lapwing.mechanisms.shared.trees.simulation import simulate_noise
from lapwing.mechanisms.trees.pmm.mechanism import PMM
from lapwing.mechanisms.trees.psmm.box_cells import box_cells
from lapwing.mechanisms.trees.psmm.measures import nearest_measure
from lapwing.mechanisms.trees.psmm.mechanism import PSMM
from lapwing.schema.schemas import Schema

SAMPLE = 50_000
SIZES = {1: (10**3, 10**4, 10**5), 2: (10**3, 10**4)}


def accuracy(releases: int) -> Iterator[Line]:
    """Yield one line per data set, dimension and number of rows: mean distances at epsilon 1."""
    for d, rows, name in ((d, rows, name) for d, sizes in SIZES.items() for rows in sizes for name in LAWS):
        rng = np.random.default_rng([d, rows, len(name)])
        points = LAWS[name](rows, d, rng)
        mechanisms: dict[str, Mechanism] = {"pmm": PMM(), "psmm": PSMM()}
        mechanisms |= {f"n/{parts}": PSMM(cells=min(rows // parts, 65_536)) for parts in (64, 16, 4, 1)}
        line: Line = {"data": name, "d": d, "rows": rows, "releases": releases}
        for key, mechanism in mechanisms.items():
            line[key] = float(np.mean([_distance(points, mechanism) for _ in range(releases)]))
        yield line


def _distance(points: np.ndarray, mechanism: Mechanism) -> float:
    """Return the distance of one release; the number of rows is expected, so that both mechanisms have all budget."""
    frame = pl.DataFrame({f"x{axis}": points[:, axis] for axis in range(points.shape[1])})
    schema = _unit_schema(points.shape[1])
    release = synthesize(frame, schema, epsilon=1, mechanism=mechanism, expected_rows=len(points))
    if points.shape[1] == 1:
        return float(wasserstein_distance(points[:, 0], release.sample(SAMPLE, seed=1)["x0"].to_numpy()))
    return distances.grid_distance(points, release, 6)


def _unit_schema(d: int) -> Schema:
    """Return a schema of numbers from 0 to 1."""
    return Schema.from_dict(
        {"fields": [{"name": f"x{axis}", "type": "number", "constraints": BOUNDS} for axis in range(d)]}
    )


def speed(releases: int) -> Iterator[Line]:
    """Yield CPU seconds of the fit: four rows per cell, everywhere or in a lump that leaves most cells empty."""
    del releases
    for (d, wanted), law in product(((1, 65_536), (2, 16_384), (2, 65_536), (3, 65_536)), ("uniform", "one Gaussian")):
        cells = box_cells(_unit_schema(d), wanted, wanted)
        rng = np.random.default_rng(1)
        points = (
            rng.random((4 * wanted, d)) if law == "uniform" else np.clip(rng.normal(0.4, 0.07, (4 * wanted, d)), 0, 1)
        )
        index = np.minimum((points * cells.shape).astype(np.int64), np.array(cells.shape) - 1)
        counts = np.bincount(np.ravel_multi_index(tuple(index.T), cells.shape), minlength=cells.cells)
        noisy = counts.reshape(cells.shape) + simulate_noise("laplace", 1.0, cells.shape, rng).astype(np.int64)
        start = time.process_time()
        nearest_measure(noisy, cells, None)
        yield {"d": d, "cells": cells.cells, "data": law, "cpu_seconds": time.process_time() - start}


def main() -> None:
    """Run one part."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=["accuracy", "speed"])
    parser.add_argument("--releases", type=int, default=3)
    parser.add_argument("-o", "--output", type=Path, default=Path(__file__).parent / "results")
    chosen = parser.parse_args()
    parts: dict[str, Callable[[int], Iterator[Line]]] = {"accuracy": accuracy, "speed": speed}
    write_lines(chosen.output / f"psmm_{chosen.part}.csv", parts[chosen.part](chosen.releases))


if __name__ == "__main__":
    main()
