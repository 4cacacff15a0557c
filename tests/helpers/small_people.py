"""A small table with its schema in the working folder, and releases of it by the command line."""

import datetime as dt
import json
from functools import cache
from pathlib import Path

import polars as pl

from helpers.command import lapwing

SCHEMA = {
    "fields": [
        {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 99, "required": True}},
        {"name": "sex", "type": "string", "categories": ["f", "m"], "constraints": {"required": True}},
        {"name": "day", "type": "date", "constraints": {"minimum": "2020-01-01", "maximum": "2020-12-31"}},
    ]
}


def write_people():
    """Write data.parquet, 400 rows, and s.json."""
    Path("s.json").write_text(json.dumps(SCHEMA))
    table = pl.DataFrame({"age": [value % 90 for value in range(400)], "sex": ["f", "m"] * 200})
    days = pl.date_range(dt.date(2020, 1, 1), dt.date(2020, 12, 31), eager=True).gather(
        [row % 366 for row in range(400)]
    )
    table.with_columns(day=days).write_parquet("data.parquet")


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
