"""The same rows in every form that a table can have, and real tables of a few columns."""

import json

import narwhals as nw
import numpy as np
import polars as pl

from lapwing.schema.schemas import Schema

FORMS = (
    "pandas", "pandas with Arrow columns", "pandas with object columns", "PyArrow", "narwhals", "Polars lazy",
    "Parquet", "Parquet in small row groups", "Polars scan", "CSV", "several files", "the files in another order",
    "shuffled", "texts", "categories",
)  # fmt: skip
"""Names of what `same_rows` makes, beside the Polars frame."""


def same_rows(frame, form, folder):
    """Return the rows of a frame in one of the forms; files are written to an empty folder."""
    match form:
        case "several files" | "the files in another order":
            paths = _files(frame, folder)
            return paths if form == "several files" else paths[::-1]
        case "Parquet" | "Parquet in small row groups" | "Polars scan" | "CSV":
            return _file(frame, form, folder)
        case _:
            return _IN_MEMORY[form](frame)


_IN_MEMORY = {
    "pandas": lambda frame: frame.to_pandas(),
    "pandas with Arrow columns": lambda frame: frame.to_pandas(use_pyarrow_extension_array=True),
    "pandas with object columns": lambda frame: frame.to_pandas().astype(object),
    "PyArrow": lambda frame: frame.to_arrow(),
    "narwhals": nw.from_native,
    "Polars lazy": lambda frame: frame.lazy(),
    "shuffled": lambda frame: frame.sample(fraction=1, shuffle=True, seed=5),
    "texts": lambda frame: frame.with_columns(pl.all().cast(pl.String)),
    "categories": lambda frame: frame.with_columns(pl.col(pl.String).cast(pl.Categorical)),
}


def _file(frame, form, folder):
    if form == "CSV":
        frame.write_csv(folder / "table.csv")
        return folder / "table.csv"
    path = folder / "table.parquet"
    frame.write_parquet(path, row_group_size=97 if form == "Parquet in small row groups" else None)
    return pl.scan_parquet(path) if form == "Polars scan" else path


def _files(frame, folder):
    paths = []
    for number, rows in enumerate(np.array_split(np.arange(frame.height), 5)):
        paths.append(folder / f"{number}.{'csv' if number % 2 else 'parquet'}")
        (frame[rows].write_csv if number % 2 else frame[rows].write_parquet)(paths[-1])
    return paths


def real_columns(folder, rows, columns=5):
    """Return the first rows of a real table, and its schema of some columns and the privacy unit."""
    written = json.loads((folder / "schema.json").read_text())
    unit = written.get("privacyUnit", {}).get("field")
    modelled = [
        field["name"] for field in written["fields"] if field.get("role") != "identifier" and field["name"] != unit
    ]
    names = {*modelled[:columns], unit}
    kept = {key: written[key] for key in ("privacyUnit", "missingValues") if key in written}
    schema = Schema.from_dict(kept | {"fields": [field for field in written["fields"] if field["name"] in names]})
    frame = pl.read_parquet(folder / "data.parquet").head(rows)
    return frame.select(field.name for field in schema.fields), schema
