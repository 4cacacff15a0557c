"""A small table with its schema in the working folder, and releases of it by the command line."""

import datetime as dt
from functools import cache
from pathlib import Path

import polars as pl

from helpers import make
from helpers.command import lapwing

SCHEMA = make.schema({name: make.field(name, holds, required=name != "day") for name, holds in make.PEOPLE.items()})


def write_people():
    """Write data.parquet, 400 rows, and s.json."""
    days = pl.date_range(dt.date(2020, 1, 1), dt.date(2020, 12, 31), eager=True)
    columns = {"age": [row % 90 for row in range(400)], "sex": ["f", "m"] * 200}
    table = pl.DataFrame(columns | {"day": days.gather([row % 366 for row in range(400)])})
    make.files(Path(), {"s.json": SCHEMA, "data.parquet": table})


def synthesize(*more, epsilon="2", out="out.csv"):
    """Release it, by the quickest mechanism where none is named."""
    quick = () if {"--mechanism", "--set"} & {*more} else ("--mechanism", "independent")
    return lapwing("synthesize", "data.parquet", "--schema", "s.json", "--epsilon", epsilon, "-o", out, *quick, *more)


@cache
def _model():
    """Return the bytes of a release at much budget, by the default mechanism."""
    said = synthesize("--model", "m.lapwing", "--seed", "1", "--quiet", "--mechanism", "adaptive", epsilon="50")
    assert said.status == 0, said.err
    return {name: Path(name).read_bytes() for name in ("m.lapwing", "out.csv", "out.csv.certificate.json")}


def made_model(folder):
    """Write the files of this release, made once; return its model's."""
    for name, content in _model().items():
        (folder / name).write_bytes(content)
    return folder / "m.lapwing"
