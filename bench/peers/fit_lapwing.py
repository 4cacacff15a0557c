"""Lapwing from this tree: its default, and every column on its own as the floor under all peers."""

import warnings
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import polars as pl

import lapwing as lw


def fit(codes: np.ndarray, sizes: Sequence[int], job: dict, *, mechanism: object) -> Callable[[], np.ndarray]:
    """Release the rows as the schema of codes describes them; with delta 0 the promise is pure."""
    names = [field["name"] for field in job["schema"]["fields"]][: len(sizes)]
    budget = {"epsilon": job["epsilon"]} | ({"delta": job["delta"]} if float(job["delta"]) else {})
    rows = pl.DataFrame({name: codes[:, j] for j, name in enumerate(names)})
    # Advice to users of the library, such as that a default was chosen.
    warnings.simplefilter("ignore", lw.LapwingWarning)
    release = lw.synthesize(rows, job["schema"], mechanism=mechanism, seed=job["run"], **budget)
    return lambda: pl.concat(list(release.frames())).select(names).to_numpy().astype(np.int32)


FITS = {"adaptive": partial(fit, mechanism=None), "independent": partial(fit, mechanism=lw.Independent())}
