"""The cells of KDTree and Grid releases of two public tables, as pictures for the docs.

    python bench/partition_pictures.py [--quick] [-o docs/img]

Left the real rows, then KDTree and Grid, all at epsilon 1. Darker is denser, on a logarithmic scale; lines are the
borders of cells, where these are far enough apart to be seen.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl
from metric_models import RESULTS, SHARED, arguments, cells_of
from png import shades, side_by_side, write_png

from lapwing.api.synthesize import synthesize
from lapwing.mechanisms.trees.kd_tree.mechanism import Grid, KDTree
from lapwing.release.release import Release
from lapwing.schema.schemas import Schema

IMAGES = Path(__file__).resolve().parents[1] / "docs" / "img"
PIXELS = 320
BORDER = 200
"""Palette index of borders."""

NARROWEST = 5
"""Cells with fewer pixels to a side get no border."""

Window = Sequence[tuple[float, float]]


def picture(name: str, columns: Sequence[str], window: Window, rows: int, output: Path) -> None:
    """Draw one table, with a window in the units of its two columns; as whole numbers, a divisor of the pixels."""
    whole = Schema.load(SHARED / name / "schema.json")
    schema = Schema(fields=tuple(whole.field(column) for column in columns), name=f"{name}, two columns")
    frame = pl.read_parquet(SHARED / name / "data.parquet").select(columns).head(rows)
    shown = np.array([_unit(schema, place, np.array(ends), 0.0) for place, ends in enumerate(window)])
    points = np.stack(
        [_unit(schema, place, frame[column].to_numpy(), 0.5) for place, column in enumerate(columns)], axis=1
    )
    bins = [_bins(schema, place, ends) for place, ends in enumerate(window)]
    across, up = (PIXELS // each for each in bins)
    counts = np.histogram2d(points[:, 0], points[:, 1], bins, shown)[0].T / (across * up)
    panels = [shades(np.kron(counts, np.ones((up, across)))[::-1], 60.0)]
    for mechanism in (KDTree(placement="uniform"), Grid(placement="uniform")):
        release = synthesize(frame, schema, epsilon=1, mechanism=mechanism, seed=1)
        panels.append(_drawn(release, shown, len(frame)))
        counted = release.model.weights.size
        sys.stdout.write(f"{name} {mechanism.name}: {counted} cells, {len(frame)} rows\n")
    write_png(output / f"partitions-{name}.png", side_by_side(panels))


def _bins(schema: Schema, place: int, ends: tuple[float, float]) -> int:
    """Return into how many parts real values are counted: pixels, or whole numbers where these are fewer."""
    codes = round(ends[1] - ends[0])
    return codes if not schema.columns[place].domain.continuous and codes < PIXELS else PIXELS


def _unit(schema: Schema, place: int, values: np.ndarray, offset: float) -> np.ndarray:
    """Return values of a column on [0, 1]; the interval of a whole number begins at offset 0, and ends at 1."""
    field = schema.columns[place]
    low, high = float(field.minimum), float(field.maximum)  # type: ignore[arg-type]
    if field.domain.continuous:
        return (values - low) / (high - low)
    return (values - low + offset) / field.domain.values


def _drawn(release: Release, window: np.ndarray, rows: int) -> np.ndarray:
    """Return the shades of a release's expected rows in each pixel, and the borders of its cells."""
    middles, halves, weights = cells_of(release)
    scale = PIXELS / (window[:, 1] - window[:, 0])
    low, high = (middles - halves - window[:, 0]) * scale, (middles + halves - window[:, 0]) * scale
    density = np.zeros((PIXELS, PIXELS))
    edges = np.arange(PIXELS + 1)
    inside = np.flatnonzero(((high > 0) & (low < PIXELS)).all(axis=1))
    for cell in inside:
        parts = [
            np.diff(np.clip((edges - low[cell, axis]) / (high[cell, axis] - low[cell, axis]), 0, 1)) for axis in (0, 1)
        ]
        density += weights[cell] * rows * np.outer(parts[1], parts[0])
    pixels = shades(density, 60.0)
    for cell in inside:
        if (high[cell] - low[cell]).min() >= NARROWEST:
            _outline(pixels, *(np.clip(np.rint(ends[cell]).astype(int), 0, PIXELS - 1) for ends in (low, high)))
    return pixels[::-1]


def _outline(pixels: np.ndarray, low: np.ndarray, high: np.ndarray) -> None:
    """Draw the border of a cell."""
    for y in (low[1], high[1]):
        pixels[y, low[0] : high[0] + 1] = BORDER
    for x in (low[0], high[0]):
        pixels[low[1] : high[1] + 1, x] = BORDER


def main() -> None:
    """Draw both pictures."""
    chosen = arguments(__doc__)
    output = IMAGES if chosen.output == RESULTS else chosen.output
    rows = 3000 if chosen.quick else 10**6
    picture("balog-mog-d2", ("x1", "x2"), ((-300, 700), (-300, 700)), rows, output)
    picture("bank-marketing", ("age", "balance"), ((15, 95), (-3000, 13_000)), rows, output)


if __name__ == "__main__":
    main()
