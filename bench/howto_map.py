"""The map of docs/gallery/map.ipynb: its picture, and how far four mechanisms are from its invented points.

    python bench/howto_map.py [-o docs/img]

The points and the schema are those that the page's own code makes. Distances are 1-Wasserstein, each side of the map
scaled to length 1 and the larger coordinate counting, with both tables moved to the centres of a grid of 64 x 64 cells.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from pmm_distances import data_shares, king_flow
from png import shades, side_by_side, write_png

import lapwing as lw

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "gallery" / "map.ipynb"
RESULTS = ROOT / "bench" / "results" / "howto_map.csv"
SIDES = np.array([20.0, 16.0])
STEP = 0.1
"""The resolution of the page's schema, in kilometres: one pixel each, with the step in its middle."""

RUNS = 3
GRID = [6, 6]
"""How often the sides are halved: cells of 0.3 km and 0.25 km."""


def page_table() -> tuple[pl.DataFrame, lw.Schema]:
    """Return the points and the schema that the first two cells of the notebook make."""
    names: dict[str, Any] = {}
    cells = [each for each in json.loads(PAGE.read_text())["cells"] if each["cell_type"] == "code"]
    for code in ("".join(each["source"]) for each in cells[:2]):
        exec(compile(code, PAGE.name, "exec"), names)
    return names["calls"], names["schema"]


def panel(points: pl.DataFrame) -> np.ndarray:
    """Return the shades of points in each pixel, north at the top."""
    edges = [np.arange(-STEP / 2, side + STEP, STEP) for side in SIDES]
    counts = np.histogram2d(points["east_km"].to_numpy(), points["north_km"].to_numpy(), edges)[0]
    return shades(counts.T[::-1], 60.0)


def on_grid(points: pl.DataFrame) -> np.ndarray:
    """Return the share of points in each cell of the grid."""
    return data_shares(points.to_numpy() / SIDES, GRID)


def main() -> None:
    """Release the points of the page with each mechanism, draw them and write the distances down."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-o", "--output", type=Path, default=ROOT / "docs" / "img")
    output = parser.parse_args().output
    calls, schema = page_table()
    panels, lines = [panel(calls)], []
    for mechanism in (lw.Adaptive(), lw.PMM(), lw.PSMM(), lw.KDTree()):
        for run in range(RUNS):
            release = lw.synthesize(calls, schema, epsilon=1, expected_rows=20_000, mechanism=mechanism, seed=run)
            bound = next((each.value for each in release.certificate.accuracy if each.code == "distance"), None)
            rows = release.sample()
            distance = king_flow(on_grid(calls) - on_grid(rows))
            lines.append({"mechanism": mechanism.name, "run": run, "distance": distance, "certified": bound})
            sys.stdout.write(f"{lines[-1]}\n")
        panels.append(panel(rows))
    write_png(output / "howto-map-points.png", side_by_side(panels))
    pl.DataFrame(lines).write_csv(RESULTS)


if __name__ == "__main__":
    main()
