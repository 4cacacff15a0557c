"""Rows of which it is known whether a cell fits nothing."""

import numpy as np
import polars as pl

from lapwing.schema.schemas import Schema
from mechanism_checks import MIXED

SCHEMA = Schema.load(MIXED)
CELLS = {
    "kind": (["a", "c"], ["A", "zzz"], [None]),
    "flag": (["true", "false"], ["perhaps", None], []),
    "age": (["3", "77", "-5"], ["x", None], []),
    "size": (["0.5", "99", "-7"], ["1,5", "x"], [None, ""]),
    "day": (["2020-02-02", "1990-01-01"], ["2.2.2020"], [None]),
}
"""Cells that fit, cells that fit nothing, and missing cells of columns that may lack them."""


def table(rng, rows, *, fits=False):
    """Return rows, and how many of them hold a misfit, by the lists above."""
    columns, is_misfit = {}, np.zeros(rows, dtype=bool)
    for name, (fitting, odd, missing) in CELLS.items():
        pool = [(cell, False) for cell in fitting + missing] * 4 + [(cell, True) for cell in odd] * (not fits)
        picked = [pool[place] for place in rng.integers(len(pool), size=rows)]
        columns[name] = pl.Series([cell for cell, _ in picked], dtype=pl.String)
        is_misfit |= np.array([wrong for _, wrong in picked], dtype=bool)
    return pl.DataFrame({"id": ["1"] * rows, **columns}), int(is_misfit.sum())
