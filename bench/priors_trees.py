"""Pairs of tables of numbers for `priors.py`, and how far a tree's model is from one of them."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
from adaptive_worker import coded
from pmm_distances import king_flow

from lapwing.extras.evaluate.metrics.samples import mean_features, mmd_from_features, random_frequencies
from lapwing.model.model import ReleasedModel
from lapwing.model.rows import row_chunks
from lapwing.model.sampling.marginals import marginal
from lapwing.schema.groupings.grouping import evenly
from lapwing.schema.schemas import Schema

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"
Tables = tuple[Schema, pl.DataFrame, pl.DataFrame]

CELLS = {1: 1024, 2: 32}
"""To a column, of the grid on which distances are measured."""

FEATURES, DRAWN = 600, 60_000
TAXIS = 50_000


def _read(name: str) -> pl.DataFrame:
    return pl.read_parquet(SHARED / name / "data.parquet")


def _schema(kind: str = "number", **bounds: tuple[float, float]) -> Schema:
    fields = [
        {"name": name, "type": kind, "constraints": {"minimum": low, "maximum": high, "required": True}}
        for name, (low, high) in bounds.items()
    ]
    return Schema.from_dict({"fields": fields})


def _inside(frame: pl.DataFrame, schema: Schema) -> pl.DataFrame:
    bounds = [(field.name, field.minimum, field.maximum) for field in schema.fields]
    return frame.filter(pl.all_horizontal([pl.col(name).is_between(low, high) for name, low, high in bounds]))


def _halves(name: str, schema: Schema) -> Tables:
    frame = _inside(_read(name).select(schema.names), schema)
    order = np.random.default_rng(0).permutation(frame.height)
    private, other = np.array_split(order, 2)
    return schema, frame[private], frame[other]


def _parts(name: str, column: str, schema: Schema) -> Tables:
    """Return the rows of the two values of a column that are most frequent."""
    frame = _inside(_read(name), schema)
    first, second = frame[column].value_counts(sort=True)[column].head(2)
    private, other = (frame.filter(pl.col(column) == value).select(schema.names) for value in (first, second))
    return schema, private, other


def _taxis() -> Tables:
    schema, rng = _schema("integer", ix=(0, 255), iy=(0, 255)), np.random.default_rng(0)
    found = []
    for _, cells in sorted(_read("dpbench-2d").partition_by("dataset", as_dict=True).items())[:2]:
        counts = cells["count"].to_numpy()
        found.append(cells[rng.choice(len(counts), TAXIS, p=counts / counts.sum())].select(schema.names))
    return schema, *found


PLACES = {"longitude": (-74.3, -73.6), "latitude": (40.4, 41.0)}
PAIRS: dict[str, Callable[[], Tables]] = {
    "adult ages": lambda: _halves("adult", _schema("integer", age=(17, 90))),
    "balog halves": lambda: _halves("balog-mog-d2", _schema(x1=(-1000, 1000), x2=(-1000, 1000))),
    "houston months": lambda: _parts("houston-crime", "month", _schema(lon=(-95.8, -95.0), lat=(29.5, 30.1))),
    "taxi starts": _taxis,
    "airbnb rooms": lambda: _parts("nyc-airbnb", "room_type", _schema(**PLACES)),
    "magic halves": lambda: _halves("magic", _schema(fLength=(0, 500), fWidth=(0, 500), fSize=(0, 10), fConc=(0, 1))),
    "airbnb prices": lambda: _parts(
        "nyc-airbnb",
        "room_type",
        _schema(**PLACES, price=(0, 1000), availability_365=(0, 365), number_of_reviews=(0, 1000)),
    ),
}
"""Rows at random, two months, places where trips start and end, and rooms of two kinds."""


def distance(model: ReleasedModel, schema: Schema, real: dict[str, np.ndarray]) -> float:
    """Return W1 on a grid for up to two columns (each of length 1), and beyond the MMD of drawn rows."""
    columns = len(schema.columns)
    if columns not in CELLS:
        frequencies = random_frequencies(columns, FEATURES, np.random.default_rng(columns), gamma=100 / columns)
        frames = row_chunks(model, schema, DRAWN, np.random.default_rng(1)).frames()
        drawn = coded(pl.concat(list(frames)), schema)
        first, second = (mean_features(_points(codes, schema), frequencies) for codes in (real, drawn))
        return mmd_from_features(first, second).value
    groupings = [evenly(field.domain, CELLS[columns]) for field in schema.columns]
    regular = tuple(slice(min(CELLS[columns], field.domain.values)) for field in schema.columns)
    shares = marginal(model, schema.names, groupings)
    counts = np.zeros(shares.shape)
    np.add.at(counts, tuple(each.apply(real[name]) for name, each in zip(schema.names, groupings, strict=True)), 1)
    shares, counts = (each[regular] / each[regular].sum() for each in (shares, counts))
    if columns == 1:
        return float(np.abs(np.cumsum(shares - counts)).sum() / shares.size)
    return king_flow(counts - shares)


def _points(codes: dict[str, np.ndarray], schema: Schema) -> np.ndarray:
    return np.stack([(codes[field.name] + 0.5) / field.domain.values for field in schema.columns], axis=1)
