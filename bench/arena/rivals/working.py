"""The rival's side of the contract: ``python rivals/NAME.py job.json``, started by run.py in the rival's environment.

job.json: ``mechanism``, ``form`` ("codes" or "native"), ``train`` (Parquet), ``domain`` (codes of every column; with
codes only), ``schema`` (Table Schema of the rows), ``is_number``, ``has_missing``, ``epsilon``, ``delta``, ``rho``
(where delta is above 0), ``run`` (also the seed), ``checkout`` (a folder, or empty). Beside it are written rows.parquet
and result.json: ``fit_cpu_s``, ``rows_cpu_s``, ``wall_s``, ``versions``, ``options``, or ``refused`` with a reason.
"""

import json
import sys
import time
from collections.abc import Callable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

Sampler = Callable[[], Any]
Fit = Callable[[Any, dict[str, Any]], Sampler]


class Refused(Exception):
    """The rival does not do what is asked; the message says why."""


def run(fits: Mapping[str, Fit], packages: tuple[str, ...], options: Mapping[str, object] | None = None) -> None:
    """Fit, draw the rows, and write them with what they cost.

    Parameters
    ----------
    fits : mapping of str to callable
        By mechanism: takes codes (int32, shape (n, d)) or, in native form, an Arrow table, and the job; returns what
        draws the rows, in the same form (a mapping of columns will do for native ones).
    packages : tuple of str
        Whose versions the result names.
    options : mapping, optional
        Settings of the rival that the result names.
    """
    path = Path(sys.argv[1])
    job = json.loads(path.read_text())
    table = pq.read_table(job["train"])
    rows = as_codes(table) if job["form"] == "codes" else table
    result: dict[str, Any] = {"versions": {name: version(name) for name in packages}, "options": dict(options or {})}
    wall, start = time.perf_counter(), time.process_time()
    try:
        sampler = fits[job["mechanism"]](rows, job)
        fitted = time.process_time()
        drawn = sampler()
    except Refused as refusal:
        result["refused"] = str(refusal)
    else:
        pq.write_table(as_table(drawn, job), path.parent / "rows.parquet")
        result |= {"fit_cpu_s": fitted - start, "rows_cpu_s": time.process_time() - fitted}
    result["wall_s"] = time.perf_counter() - wall
    (path.parent / "result.json").write_text(json.dumps(result))


def as_codes(table: pa.Table) -> np.ndarray:
    """Return the columns of a table of codes as int32, shape (n, d)."""
    return np.stack([table[name].to_numpy() for name in table.column_names], axis=1).astype(np.int32)


def as_table(drawn: Any, job: dict[str, Any]) -> pa.Table:
    """Return the rows out as a table; codes are checked against the domain."""
    if job["form"] == "native":
        return drawn if isinstance(drawn, pa.Table) else pa.table(dict(drawn))
    rows, sizes = np.asarray(drawn), list(job["domain"].values())
    if rows.ndim != 2 or rows.shape[1] != len(sizes) or (rows < 0).any() or (rows >= sizes).any():
        raise ValueError("the rival's rows are not codes of the columns")
    return pa.table({name: rows[:, j].astype(np.int32) for j, name in enumerate(job["domain"])})


def public_columns(job: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return what the schema says of each column of native values: ``categories``, or ``lower`` and ``upper``.

    Raises
    ------
    Refused
        Where a column is a date, or a number with special values: no rival here has a place for those.
    """
    found: dict[str, dict[str, Any]] = {}
    for field in job["schema"]["fields"]:
        limits = field.get("constraints", {})
        if field["type"] in ("date", "datetime") or field.get("special"):
            raise Refused(f"it has no place for {field['name']}, a date or a number with special values")
        if "categories" in field or field["type"] == "boolean":
            found[field["name"]] = {"categories": field.get("categories", [False, True])}
        else:
            found[field["name"]] = {"lower": limits["minimum"], "upper": limits["maximum"]}
    return found


def listed_as_text(public: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return for each column of categories what every text of one stands for: tools take integers for numbers."""
    listed = {name: told["categories"] for name, told in public.items() if "categories" in told}
    return {name: {str(value): value for value in values} for name, values in listed.items()}


def native_table(frame: Any, listed: dict[str, dict[str, Any]], schema: pa.Schema) -> pa.Table:
    """Return a pandas frame as the table that went in: its columns, its types, its categories."""
    columns = {}
    for field in schema:
        values = frame[field.name]
        if field.name in listed:
            values = values.map(listed[field.name])
        columns[field.name] = pa.array(values, from_pandas=True).cast(field.type, safe=False)
    return pa.table(columns)


def names_and_sizes(job: dict[str, Any]) -> tuple[list[str], list[int]]:
    """Return plain names for the columns, which no rival stumbles over, and how many codes they have."""
    sizes = list(job["domain"].values())
    return [f"c{j:03}" for j in range(len(sizes))], sizes
