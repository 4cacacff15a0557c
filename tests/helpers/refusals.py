"""What is drawn to hold that a paid run is refused for nothing, or makes all that was asked for."""

import datetime as dt
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
from hypothesis import strategies as st

ROWS = 40
NAMES = ["a", "b c", "d'e\"f", "é", "\ud800", "x\0y", "n" * 300, "../up", ""]
"""Of columns, categories and tables; halves of characters, and what some outputs have no place for."""

_NUMBERS = pl.Series(np.arange(ROWS) % 3)
_DAYS = pl.date_range(dt.date(2020, 1, 1), dt.date(2020, 3, 1), eager=True)[:ROWS]
FITTING: Mapping[str, tuple[dict[str, Any], pl.Series]] = {
    "integer": ({"constraints": {"minimum": 0, "maximum": 5}}, _NUMBERS),
    "number": ({"constraints": {"minimum": 0, "maximum": 5}}, _NUMBERS.cast(pl.Float64)),
    "string": ({"categories": ["p", "q"]}, pl.Series(["p", "q"] * (ROWS // 2))),
    "boolean": ({}, pl.Series([True, False] * (ROWS // 2))),
    "date": ({"constraints": {"minimum": "2020-01-01", "maximum": "2020-03-31"}}, _DAYS),
    "datetime": ({"constraints": {"minimum": "2020-01-01", "maximum": "2020-03-31"}}, _DAYS.cast(pl.Datetime("us"))),
}
"""By type a field, and a column that fits it."""

_PLAIN = [
    pl.Int8,
    pl.Int64,
    pl.Int128,
    pl.UInt64,
    pl.Float32,
    pl.Decimal(10, 2),
    pl.Boolean,
    pl.String,
    pl.Time,
    pl.Date,
]
ODD: Mapping[str, Callable[[], object]] = {
    **{str(dtype): (lambda dtype=dtype: _NUMBERS.cast(dtype)) for dtype in _PLAIN},
    **{f"duration {unit}": (lambda unit=unit: _NUMBERS.cast(pl.Duration(unit))) for unit in ("ms", "us", "ns")},
    "zoned": lambda: _DAYS.cast(pl.Datetime("ms")).dt.replace_time_zone("Europe/Berlin"),
    "list": lambda: pl.Series([[1]] * ROWS),
    "array": lambda: pl.Series([[1]] * ROWS, dtype=pl.Array(pl.Int64, 1)),
    "struct": lambda: pl.Series([{"a": 1}] * ROWS),
    "binary": lambda: pl.Series([b"p"] * ROWS),
    "object": lambda: pl.Series([object()] * ROWS, dtype=pl.Object),
    "null": lambda: pl.Series([None] * ROWS),
    "categorical": lambda: pl.Series(["p"] * ROWS, dtype=pl.Categorical),
    "enum": lambda: pl.Series(["p"] * ROWS, dtype=pl.Enum(["p"])),
    "period": lambda: pd.Series(pd.period_range("2020-01", periods=ROWS, freq="M")),
    "interval": lambda: pd.Series(pd.cut(np.arange(ROWS), 3)),
    "pandas duration": lambda: pd.Series(pd.to_timedelta(np.arange(ROWS), unit="h")),
    "complex": lambda: pd.Series(np.arange(ROWS) * 1j),
    "arrow time": lambda: (_NUMBERS * 1000).cast(pl.Time).to_pandas(use_pyarrow_extension_array=True),
}
"""Columns of other types, of which some fit some field."""

NEVER = {"period", "interval", "pandas duration", "complex", "arrow time", "duration ms", "duration us", "duration ns"}
NEVER_OF_OTHERS = {*NEVER, "Time", "list", "array", "struct"}  # pandas holds these as objects, which may be anything


@st.composite
def tables(draw: st.DrawFn) -> tuple[Any, dict[str, Any], bool]:
    """Draw a table of Polars, pandas or PyArrow, a schema of it, and whether it has a column that fits no field."""
    count = draw(st.integers(1, 3))
    names = (
        draw(st.lists(st.sampled_from(NAMES), min_size=count, max_size=count, unique=True))
        if draw(st.integers(0, 3)) == 0
        else list("uvw")[:count]
    )
    fields, columns, odd = [], {}, []
    for name in names:
        kind = draw(st.sampled_from(sorted(FITTING)))
        more, column = FITTING[kind]
        if draw(st.integers(0, 2)) == 0:
            odd.append(draw(st.sampled_from(sorted(ODD))))
            column = ODD[odd[-1]]()
        if draw(st.integers(0, 9)) == 0:
            more = {
                **more,
                draw(st.sampled_from(["description", "missingValues", "title"])): draw(st.sampled_from(NAMES)),
            }
        fields.append({"name": name, "type": kind, "provenance": "public", **more})
        columns[name] = column
    columns = {name.encode("utf-8", "replace").decode(): column for name, column in columns.items()}
    is_pandas = any("\0" in name for name in names) or any(isinstance(column, pd.Series) for column in columns.values())
    schema: dict[str, Any] = {"fields": fields}
    if draw(st.integers(0, 5)) == 0:
        schema["name"] = draw(st.sampled_from(NAMES))
    if draw(st.integers(0, 5)) == 0:
        total = draw(st.sampled_from([5, 2**40 + 1, 2**53, -1, 1.5]))
        schema["publicTables"] = [
            {
                "columns": [names[0]],
                "source": draw(st.sampled_from(["census", *NAMES])),
                "provenance": "public",
                "cells": [[_value(fields[0]), total]],
                "complete": True,
                **draw(st.sampled_from([{}, {"hold": "prior", "sd": 10}])),
            }
        ]
    if is_pandas:
        frame = pd.DataFrame({name: _of_pandas(column) for name, column in columns.items()})
        return frame, schema, bool(NEVER & set(odd))
    frame, makers = pl.DataFrame(columns), [lambda each: each, pl.DataFrame.lazy, pl.DataFrame.to_arrow]
    is_of_polars_alone = bool({pl.Object, pl.Int128} & set(frame.dtypes))
    made = frame if is_of_polars_alone else draw(st.sampled_from(makers))(frame)
    return made, schema, bool(NEVER_OF_OTHERS & set(odd))


def _of_pandas(column: Any) -> pd.Series:
    """Return a column as pandas holds it, where it can hold its type."""
    if isinstance(column, pd.Series):
        return column
    is_odd = column.dtype.is_nested() or column.dtype in (pl.Object, pl.Int128, pl.Binary, pl.Time)
    return pd.Series(column.to_list(), dtype=object) if is_odd else column.to_pandas()


def _value(field: dict[str, Any]) -> Any:
    return {"string": "p", "boolean": True, "integer": "0..5", "number": "0..5"}.get(
        field["type"], "2020-01-01..2020-03-31"
    )


def rarely(odd: list[Any], usual: list[Any]) -> st.SearchStrategy[Any]:
    """Draw a usual value, and one time in eight an odd one."""
    return st.integers(0, 7).flatmap(lambda place: st.sampled_from(odd if place == 7 else usual))


MECHANISMS = ["Adaptive", "Independent", "PMM", "PSMM", "Grid", "KDTree", "Microaggregation", "LinearStatistics"]
SETTINGS = st.fixed_dictionaries(
    {},
    optional={
        "delta": rarely([1, -1, 0.5], [0, "1e-9"]),
        "mechanism": rarely(["PrivateSampling", "none"], MECHANISMS),
        "neighbours": rarely(["both"], ["add-remove", "replace-one"]),
        "expected_rows": rarely([0, -1, 1.5, True, "10", 2**40 + 1], [30, np.int64(30)]),
        "misfits": rarely([2, float("nan"), -1], [0, 0.1, 1]),
        "seed": rarely([-1, 2**128, 1.5, True], [0, 7]),
        "dataset": rarely(["other", "\ud800"], ["d"]),
        "memory": rarely(["1 GB", -1, "much"], [None, "4 GB"]),
    },
)
BUDGETS = rarely(
    [{"epsilon": "1e-30"}, {"epsilon": 0}, {"epsilon": float("nan")}],
    [{"epsilon": 1}, {"epsilon": "0.05"}, {"epsilon": 50}, {"rho": "0.1"}],
)
NUMBERS_OF_ROWS = rarely([-1, 1.5, True, "10", float("nan"), 2**40 + 1], [None, 0, 1, 10, np.int64(3)])


# -- Commands, in a folder with a table of each kind, and with things that are in the way.

_IN_THE_WAY = [
    "missing/o{}",
    "file/o{}",
    "folder{}",
    "/proc/o{}",
    "/dev/full",
    "data.parquet",
    "s.json",
    "b.db",
    "o.xlsx",
]
_IN_THE_WAY += [
    "\udcff{}",
    "o\0{}",
    "n" * 300 + "{}",
    "same{}",
    "file",
    "folder/in{}",
    ".",
    "b.db.transcripts/o{}",
    "",
    "-",
]
_ENDINGS = (".csv", ".parquet", ".csv.gz", ".lapwing", ".json", ".croissant.json", ".jsonl", ".html")


def place(ending: str) -> st.SearchStrategy[str]:
    """Draw where an output goes."""
    return rarely([each.format(ending) for each in _IN_THE_WAY], [f"o{ending}", f"with blank's{ending}"])


_FILES = {"--model": ".lapwing", "--certificate": ".json", "--croissant": ".croissant.json", "--transcript": ".jsonl"}
_OTHERS: Mapping[str, tuple[str, list[str]]] = {
    "--rows": ("7", ["0", "-1", "1.5", "nan", str(2**40 + 1)]),
    "--seed": ("3", ["-1", str(2**128), "x"]),
    "--prepared-by": ("Ada", ["\udcff", "x\0y", "\x1b[31m"]),
    "--misfits": ("0.5", ["2", "-1", "x"]),
    "--delta": ("0", ["1", "-1", "x"]),
    "--expected-rows": ("40", ["0", "-1", "x", str(2**40 + 1)]),
    "--memory": ("4 GB", ["1 GB", "x"]),
}


@st.composite
def outputs(draw: st.DrawFn) -> dict[str, str]:
    """Draw options: usual ones, and most times one that is odd."""
    ending = draw(st.sampled_from([".csv", ".parquet", ".csv.gz", "/"]))
    files = {"-o": ending, **_FILES}
    usual = {
        **{key: f"{key[2:]}o{end}" for key, end in files.items()},
        **{key: each[0] for key, each in _OTHERS.items()},
    }
    chosen = {"-o", *draw(st.sets(st.sampled_from(sorted(usual)), max_size=4))}
    odd = draw(st.sampled_from(sorted(usual)))
    options = {key: usual[key] for key in sorted(chosen)}
    if draw(st.integers(0, 4)):
        others = [each.format(files[odd]) for each in _IN_THE_WAY] if odd in files else _OTHERS[odd][1]
        options[odd] = draw(st.sampled_from(others))
    return options


INTO = rarely([each.format("") for each in _IN_THE_WAY], ["o", "o/", "o.duckdb", "o.sqlite", "with blank's/"])
_WHO: dict[str, Any] = {"name": "home", "type": "integer", "role": "identifier"}
_FEW = {"minimum": 0, "maximum": 5}
_SCHEMAS: dict[str, dict[str, Any]] = {
    "s": {"fields": [{"name": "u", "type": "integer", "constraints": _FEW}, {"name": "v", "type": "boolean"}]},
    "d": {"draft": True, "fields": [{"name": "u", "type": "integer", "provenance": "dp"}]},
    "e": {
        "privacyUnit": {"field": "home", "maxRows": 3},
        "order": "u",
        "fields": [_WHO, {"name": "u", "type": "integer", "constraints": {**_FEW, "required": True}}],
    },
}


@dataclass(frozen=True)
class Command:
    """What a paid command is given: the words before its options, those that it takes, and where its outputs go."""

    words: tuple[str, ...]
    takes: tuple[str, ...]
    outputs: tuple[str, ...]
    unit: str = "row"


@st.composite
def commands(draw: st.DrawFn) -> tuple[Command, dict[str, str], dict[str, Any]]:
    """Draw a paid command, its options, and a schema of linked tables."""
    options, into = draw(outputs()), draw(INTO)
    page, found = draw(place(".html")), draw(place(".json"))
    release = ("-o", "--model", "--certificate", "--transcript", "--rows", "--seed")
    more = ("--croissant", "--prepared-by", "--delta")
    known = [
        Command(("synthesize", "data.parquet", "--schema", "s.json"), tuple(options), (options["-o"],)),
        Command(("synthesize", "data.parquet", "--schema", "e.json"), (*release, *more), (options["-o"],), "home:3"),
        Command(
            ("synthesize", "homes.parquet", "people.parquet", "--schema", "l.json", "--into", into),
            (*release[1:], *more),
            (into,),
            "home:3",
        ),
        Command(
            ("schema", "learn", "data.parquet", "--schema", "d.json", "-o", found),
            ("--certificate", "--transcript", "--delta"),
            (found,),
        ),
        Command(
            ("evaluate", "data.parquet", "made.parquet", "--schema", "s.json", "-o", page, "--json", found),
            ("--transcript", "--delta", "--seed", "--expected-rows"),
            (page, found),
        ),
    ]
    command = draw(st.sampled_from(known))
    name, column = draw(rarely(NAMES, ["people"])), draw(rarely(NAMES, ["a"]))
    rooms = {"name": column, "type": "integer", "constraints": _FEW}
    region = {"name": "r", "type": "string", "categories": ["x", "y"]}
    linked = {
        "homes": {"primaryKey": "home", "fields": [_WHO, region]},
        name: {"foreignKeys": {"home": "homes"}, "maxRows": 3, "fields": [_WHO, rooms]},
    }
    return command, {key: text for key, text in options.items() if key in command.takes}, {"tables": linked}


def furnished(linked: dict[str, Any]) -> None:
    """Put into this folder what commands read, and what is in their way."""
    rows = pl.DataFrame({"u": _NUMBERS, "v": FITTING["boolean"][1], "home": np.arange(ROWS) // 2})
    rows.write_parquet("data.parquet")
    rows.write_parquet("made.parquet")
    rows.select("home", pl.col("u").alias(_column_of(linked))).write_parquet("people.parquet")
    pl.DataFrame({"home": range(ROWS // 2), "r": ["x", "y"] * (ROWS // 4)}).write_parquet("homes.parquet")
    for name, schema in {**_SCHEMAS, "l": linked}.items():
        Path(f"{name}.json").write_text(json.dumps(schema))
    Path("file").write_text("x")
    for ending in ("", *_ENDINGS):
        Path(f"folder{ending}").mkdir()
        Path(f"folder{ending}", "x").write_text("")


def _column_of(linked: dict[str, Any]) -> str:
    """Return the name of the last table's column, as Polars takes it."""
    *_, table = linked["tables"].values()
    return table["fields"][-1]["name"].encode("utf-8", "replace").decode().replace("\0", "0")
