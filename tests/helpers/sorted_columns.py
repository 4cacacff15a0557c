"""A table of every sort of column, its schema, and the types that pandas gives it."""

import datetime as dt

import pandas as pd
import polars as pl
import pyarrow as pa

import lapwing as lw

REQUIRED = {"required": True}
SCHEMA = lw.Schema.from_dict(
    {
        "fields": [
            {"name": "id", "type": "integer", "role": "identifier"},
            {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 1000, **REQUIRED}},
            {"name": "hours", "type": "integer", "constraints": {"minimum": 0, "maximum": 100}},
            {"name": "share", "type": "number", "constraints": {"minimum": 0, "maximum": 1}},
            {"name": "flag", "type": "boolean"},
            {"name": "sure", "type": "boolean", "constraints": REQUIRED},
            {"name": "town", "type": "string", "categories": ["Ystad", "Ales", "Borg"]},
            {
                "name": "rank",
                "type": "string",
                "categories": ["low", "high"],
                "categoriesOrdered": True,
                "constraints": REQUIRED,
            },
            {"name": "day", "type": "date", "constraints": {"minimum": "1500-01-01", "maximum": "2020-12-31"}},
            {"name": "seen", "type": "datetime", "constraints": {"minimum": "2000-01-01", "maximum": "2020-12-31"}},
        ]
    }
)
NAMES = [field.name for field in SCHEMA.fields]


def cells(n=210, every=7):
    """Return cells of each column; each `every`-th is missing where the schema allows it."""

    def some(values):
        return [None if every and place % every == 0 else value for place, value in enumerate(values)]

    days = [dt.date(1990, 1, 1) + dt.timedelta(place) for place in range(n)]
    return {
        "id": list(range(n)),
        "age": [place % 100 for place in range(n)],
        "hours": some(place % 101 for place in range(n)),
        "share": some(place / n for place in range(n)),
        "flag": some(place % 2 == 0 for place in range(n)),
        "sure": [place % 3 == 0 for place in range(n)],
        "town": some(["Ystad", "Ales", "Borg"][place % 3] for place in range(n)),
        "rank": [["low", "high"][place % 2] for place in range(n)],
        "day": some(days),
        "seen": some(dt.datetime(2001, 1, 1) + dt.timedelta(hours=place) for place in range(n)),
    }


TABLE = pl.DataFrame(cells(), schema_overrides={"seen": pl.Datetime("us")})
PANDAS = pd.DataFrame(cells()).astype(dict.fromkeys(["day", "seen"], "datetime64[us]"))


def types(frame):
    """Return the types of a frame's columns by name, as its library writes them."""
    if isinstance(frame, pa.Table):
        return {each.name: str(each.type) for each in frame.schema}
    return {str(name): str(dtype) for name, dtype in zip(frame.columns, frame.dtypes, strict=True)}


TEXT = str(pd.Series([""]).dtype)
NUMPY = {
    "id": "int64", "age": "int64", "hours": "float64", "share": "float64", "flag": "object", "sure": "bool",
    "town": TEXT, "rank": TEXT, "day": "datetime64[us]", "seen": "datetime64[us]",
}  # fmt: skip
