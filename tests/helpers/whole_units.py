"""Neighbours made of a real table: they differ in one whole privacy unit, which owns more rows than are used."""

import json

import numpy as np
import polars as pl

from lapwing.extras.audit.pairs import NeighbourPair
from lapwing.schema.schemas import Schema

OTHERS = 25
"""Units in both tables, beside the one that differs."""


def real_table(folder, most_rows=20_000):
    """Return the first rows of a table and its schema as plain JSON values."""
    schema = json.loads((folder / "schema.json").read_text())
    return pl.read_parquet(folder / "data.parquet").head(most_rows), schema


def owned_schema(schema, max_rows, rng, columns):
    """Return the schema with so many rows per unit, of some columns; 0 has a meaning of its own in numbers."""
    unit = schema["privacyUnit"]["field"]
    modelled = [field["name"] for field in schema["fields"] if field.get("role") != "identifier"]
    names = {unit, *rng.choice(modelled, min(columns, len(modelled)), replace=False)}
    fields = [
        {**field, "special": [0]}
        if field["type"] in {"integer", "number"} and "minimum" in field["constraints"]
        else field
        for field in schema["fields"]
        if field["name"] in names
    ]
    return Schema.from_dict({**schema, "fields": fields, "privacyUnit": {"field": unit, "maxRows": max_rows}})


def unit_pair(rng, frame, schema, relation, form):
    """Make two tables that differ in one unit.

    Parameters
    ----------
    rng : numpy.random.Generator
        Public randomness.
    frame : polars.DataFrame
        The real rows.
    schema : Schema
        With a privacy unit.
    relation : {"add-remove", "replace-one"}
        Whether the unit is taken out, or its rows are replaced by those of another unit.
    form : callable
        Turns a frame into the table to read.
    """
    unit = schema.privacy_unit.field
    frame = frame.select(field.name for field in schema.fields)
    sizes = frame.group_by(unit).len().sort(unit)
    large = sizes.filter(pl.col("len") > schema.max_rows)[unit].to_list()
    ids = [each for each in sizes[unit].to_list() if each not in large]
    changed = rng.choice(large)
    chosen = [*rng.choice(ids, min(OTHERS, len(ids)), replace=False), *rng.choice(large, min(3, len(large)))]
    others = _messed_up(rng, frame.filter(pl.col(unit).is_in([each for each in chosen if each != changed])), schema)
    own = _messed_up(rng, frame.filter(pl.col(unit) == changed), schema)
    if rng.integers(2):  # rows that are all the same
        own = pl.concat([own.head(1)] * own.height)
    new = frame.filter(pl.col(unit) == rng.choice([each for each in sizes[unit] if each != changed]))
    new = _messed_up(rng, new, schema).with_columns(pl.lit(changed, dtype=frame.schema[unit]).alias(unit))
    nobody = pl.lit(None, dtype=frame.schema[unit]).alias(unit)
    if rng.integers(3):  # some rows of the others lack their identifier
        is_lost = pl.Series(rng.integers(4, size=others.height) == 0)
        others = others.with_columns(pl.when(is_lost).then(None).otherwise(pl.col(unit)).alias(unit))
    else:  # the unit that differs is that of all rows without identifier
        own, new = own.with_columns(nobody), new.with_columns(nobody)
    tables = [pl.concat([others, own]), others if relation == "add-remove" else pl.concat([others, new])]
    one, two = (form(table.sample(fraction=1, shuffle=True, seed=int(rng.integers(2**31)))) for table in tables)
    return NeighbourPair(schema, one, two) if rng.integers(2) else NeighbourPair(schema, two, one)


def _messed_up(rng, rows, schema):
    """Make all cells of some rows missing or special together."""
    is_hit = pl.Series(rng.integers(5, size=rows.height) == 0)
    names = [field.name for field in schema.columns]
    gaps = [pl.lit((*field.special, None)[0], dtype=rows.schema[field.name]) for field in schema.columns]
    return rows.with_columns(
        pl.when(is_hit).then(gap).otherwise(pl.col(name)).alias(name) for name, gap in zip(names, gaps, strict=True)
    )


def as_files(folder, rng):
    """Return a form: a list of Parquet files over which the rows of every unit are spread."""

    def form(frame):
        paths = []
        for part in np.array_split(np.arange(frame.height), 3):
            paths.append(folder / f"{len(list(folder.iterdir()))}.parquet")
            frame[part].write_parquet(paths[-1])
        return paths if rng.integers(2) else frame

    return form
