"""What an attacker sees of anonymous rows: which private cells stand behind each released figure."""

from collections.abc import Mapping

import numpy as np
import polars as pl


def weak_figures(
    cells: np.ndarray, units: np.ndarray, groups: np.ndarray, shown: Mapping[int, float], k: int
) -> list[int]:
    """Return the groups whose released number is no mean over at least ``k`` units.

    Groups that show the same number count together: an attacker cannot tell them apart by it.

    Parameters
    ----------
    cells : ndarray of float64, shape (n,)
        Private numbers; NaN where there is none.
    units : ndarray of int64, shape (n,)
        The unit of each row.
    groups : ndarray of int64, shape (n,)
        The group of each row.
    shown : mapping of int to float
        The number that each group shows; not there where it shows none.
    k : int
        Units behind a figure at least.
    """
    owners: dict[float, set[int]] = {}
    for group, number in shown.items():
        inside = (groups == group) & ~np.isnan(cells)
        owners.setdefault(number, set()).update(units[inside].tolist())
    return [
        group
        for group, number in shown.items()
        if len(owners[number]) < k or not _is_mean(cells, units, np.isin(units, list(owners[number])), number)
    ]


def _is_mean(cells: np.ndarray, units: np.ndarray, inside: np.ndarray, number: float) -> bool:
    """Return whether a number is the mean over units of their mean cell, rounded to a whole one."""
    of_units = [np.nanmean(cells[inside & (units == unit)]) for unit in np.unique(units[inside])]
    return bool(abs(np.mean(of_units) - number) <= 0.5 + 1e-9)


def rare_rows(rows: pl.DataFrame, columns: list[str], k: int) -> int:
    """Return how many rows out agree with fewer than ``k - 1`` others in some columns."""
    return int(rows.group_by(columns).len().filter(pl.col("len") < k)["len"].sum())
