"""Lapwing from this tree: its default, and every column on its own as the floor under all rivals."""

import warnings
from functools import partial
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import working

import lapwing as lw


def fit(rows: Any, job: dict[str, Any], *, mechanism: object) -> working.Sampler:
    """Release the rows by their schema, that of the codes or their own; with delta 0 the promise is pure."""
    budget = {"epsilon": job["epsilon"]} | ({"delta": job["delta"]} if float(job["delta"]) else {})
    is_coded = job["form"] == "codes"
    frame = (
        pl.DataFrame({name: rows[:, j] for j, name in enumerate(job["domain"])}) if is_coded else pl.from_arrow(rows)
    )
    # Advice to users of the library, such as that a default was chosen.
    warnings.simplefilter("ignore", lw.LapwingWarning)
    schema = {key: value for key, value in job["schema"].items() if key not in ("target", "parity")}
    release = lw.synthesize(frame, schema, mechanism=mechanism, seed=job["run"], **budget)
    return partial(drawn, release, list(job["domain"]) if is_coded else None)


def drawn(release: Any, names: list[str] | None) -> np.ndarray | pa.Table:
    """Return the rows of a release: codes where their columns are named."""
    frame = pl.concat(list(release.frames()))
    return frame.to_arrow() if names is None else frame.select(names).to_numpy().astype(np.int32)


if __name__ == "__main__":
    working.run(
        {"adaptive": partial(fit, mechanism=None), "independent": partial(fit, mechanism=lw.Independent())},
        ("lapwing",),
    )
