"""Two public benchmark sets beside their PMM releases, as pictures for the docs."""

import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
from png import shades, side_by_side, write_png

from lapwing.api.synthesize import synthesize
from lapwing.kernel.questions.tree_counts.question import NoisyTree
from lapwing.mechanisms.trees.pmm.mechanism import PMM
from lapwing.model.sampling.marginals import marginal
from lapwing.release.release import Release
from lapwing.schema.groupings.grouping import identity, interval_grouping
from lapwing.schema.schemas import Schema

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"
IMAGES = Path(__file__).resolve().parents[1] / "docs" / "img"
HOUSTON = ((29.5, 30.15), (-95.85, -94.95))
"""A window of latitudes and longitudes around the city; the release covers all of Texas."""


def draw_pictures() -> Iterator[dict[str, object]]:
    """Draw both pictures, and yield a line on each."""
    yield _houston(epsilon=1)
    yield _taxis(epsilon=0.1)


def _houston(epsilon: float, pixels: int = 240) -> dict[str, object]:
    """Draw offences of 2010 in Houston: real, released with Texas as domain, released with the city as domain."""
    frame = pl.read_parquet(SHARED / "houston-crime" / "data.parquet").select("lat", "lon")
    whole = Schema.load(SHARED / "houston-crime" / "schema.json")
    texas = Schema(fields=(whole.field("lat"), whole.field("lon")), name="houston-crime, two columns")
    city = Schema(
        fields=tuple(
            replace(field, minimum=low, maximum=high, required=True)
            for field, (low, high) in zip(texas.fields, HOUSTON, strict=True)
        )
    )
    window = [pl.col(name).is_between(*bounds) for name, bounds in zip(("lat", "lon"), HOUSTON, strict=True)]
    tables = [(frame, texas), (frame.filter(*window), city)]
    releases = [synthesize(table, schema, epsilon=epsilon, mechanism=PMM(), seed=1) for table, schema in tables]
    rows = tables[1][0].to_numpy()
    edges = [np.linspace(*bounds, pixels + 1) for bounds in HOUSTON]
    real = np.histogram2d(rows[:, 0], rows[:, 1], edges)[0]
    panels = [real, *(_window(release, edges) for release in releases)]
    return _drawn("houston-crime", panels, 60.0, releases) | {"rows": frame.height, "epsilon": epsilon}


def _window(release: Release, edges: list[np.ndarray]) -> np.ndarray:
    """Return the rows that a release expects in each pixel."""
    groupings, inside = [], []
    for field, lines in zip(release.schema.fields, edges, strict=True):
        low, high = float(field.minimum), float(field.maximum)  # type: ignore[arg-type]
        cuts = np.rint((lines - low) / (high - low) * field.domain.values).astype(np.int64)
        between = cuts[(cuts > 0) & (cuts < field.domain.values)]
        first = int(cuts[0] > 0)  # whether there is a group before the first pixel
        groupings.append(interval_grouping(field.domain, between))
        inside.append(slice(first, first + lines.size - 1))
    return marginal(release.model, ["lat", "lon"], groupings)[tuple(inside)]


def _taxis(epsilon: float) -> dict[str, object]:
    """Draw where taxi rides in Beijing start, on a grid of 256 x 256."""
    cells = pl.read_parquet(SHARED / "dpbench-2d" / "data.parquet").filter(pl.col("dataset") == "beijing-taxi-start")
    whole = Schema.load(SHARED / "dpbench-2d" / "schema.json")
    schema = Schema(fields=(whole.field("iy"), whole.field("ix")), name="dpbench-2d, two columns")
    frame = cells.select(pl.col("iy", "ix").repeat_by("count")).explode("iy", "ix").drop_nulls()
    release = synthesize(frame, schema, epsilon=epsilon, mechanism=PMM(), seed=1)
    real = np.zeros((256, 256))
    np.add.at(real, (cells["iy"].to_numpy(), cells["ix"].to_numpy()), cells["count"].to_numpy())
    groupings = [identity(schema.field(name).domain) for name in ("iy", "ix")]
    model = marginal(release.model, ["iy", "ix"], groupings)[:256, :256]
    return _drawn("dpbench-2d", [real, model], 20_000.0, [release]) | {"rows": frame.height, "epsilon": epsilon}


def _drawn(name: str, panels: list[np.ndarray], top: float, releases: list[Release]) -> dict[str, object]:
    """Write a picture, real rows on the left and north up, and return a line on it."""
    path = IMAGES / f"pmm-{name}.png"
    write_png(path, side_by_side([shades(panel[::-1], top) for panel in panels]))
    trees = [answer for release in releases for answer in release.noisy if isinstance(answer, NoisyTree)]
    real, *models = (panel / panel.sum() for panel in panels)
    return {
        "picture": path.name,
        "cells": " ".join(str(math.prod(tree.question.shapes[-1])) for tree in trees),
        "cells_with_rows": " ".join(str(release.model.weights.size) for release in releases),
        "total_variation_on_pixels": " ".join(f"{np.abs(real - model).sum() / 2:.3f}" for model in models),
        "bytes": path.stat().st_size,
    }
