"""Whether synthetic rows copy the rows they were made from: exact copies, and distance to the closest record.

What is computed from private rows is private: nothing here adds noise.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from lapwing.evaluate.nearest_rows import Closest, closest_rows, row_keys
from lapwing.evaluate.proportions import Outcome, wilson
from lapwing.schema.fields import Field

Codes = Mapping[str, npt.NDArray[np.integer]]

PERCENTS: Final = (1, 5, 25, 50, 75, 95, 99)
"""Quantiles of the distances that are told, in percent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClosestDistances:
    """Hold quantiles of the distances from synthetic rows to the closest real ones.

    Parameters
    ----------
    percents : tuple of int
        Which quantiles, in percent.
    real : tuple of float
        Of the distances to rows that the synthetic table was made from: Gower's distance, 0 to 1.
    holdout : tuple of float or None
        Of the distances to as many holdout rows; None without a holdout.
    """

    percents: tuple[int, ...]
    real: tuple[float, ...]
    holdout: tuple[float, ...] | None


def closer_to_real(real: Closest, holdout: Closest) -> tuple[Outcome, int, int]:
    """Return how many synthetic rows are closer to the rows of the release than to as many holdout rows.

    Parameters
    ----------
    real, holdout : Closest
        Of the same synthetic rows, in as many real rows as holdout rows.

    Returns
    -------
    Outcome
        The share of synthetic rows that are closer to a real row, ties counted half; a half is expected where the real
        rows and the holdout are random parts of one table and nothing was copied.
    int, int
        Synthetic rows closer to a real row, and ties.

    Notes
    -----
    Many synthetic rows may have the same closest row, and then say the same thing as often: what is random where
    nothing was copied is on which side each closest row is. So a row's synthetic neighbours count as one trial, and the
    trials are as many as equally frequent closest rows would have the same variance (Kish's effective number). With
    one trial for each synthetic row, the interval would miss a half far too often.

    Examples
    --------
    >>> real = Closest(np.array([0.0, 0.1, 0.2, 0.2]), np.array([0, 1, 2, 3]))
    >>> holdout = Closest(np.array([0.1, 0.2, 0.1, 0.2]), np.array([0, 1, 2, 3]))
    >>> outcome, closer, ties = closer_to_real(real, holdout)
    >>> outcome.attack.rate, closer, ties
    (0.625, 2, 1)
    """
    is_closer, is_farther = real.distances < holdout.distances, real.distances > holdout.distances
    rows, closer = len(is_closer), int(is_closer.sum())
    ties = rows - closer - int(is_farther.sum())
    repeats = [
        np.unique(each.positions[chosen], return_counts=True)[1]
        for each, chosen in ((real, is_closer), (holdout, is_farther))
    ]
    effective = rows**2 / (sum(float(np.square(counts, dtype=np.float64).sum()) for counts in repeats) + ties)
    share = (closer + ties / 2) / rows
    return Outcome(attack=wilson(share * effective, effective)), closer, ties


def measure_distances(
    synthetic_codes: Codes,
    real_codes: Codes,
    columns: Sequence[Field],
    *,
    holdout_codes: Codes | None = None,
    rng: np.random.Generator,
) -> tuple[ClosestDistances, Closest, Closest | None]:
    """Return the distances from synthetic rows to the closest rows of the release and of a holdout.

    Parameters
    ----------
    synthetic_codes, real_codes : mapping of str to ndarray of integers, shape (m,) and (n,)
        Codes of the columns, at least one row each.
    columns : sequence of Field
        At least one.
    holdout_codes : mapping of str to ndarray of integers, shape (n,), optional
        As many rows as the real table.
    rng : Generator
        As for `closest_rows`.

    Returns
    -------
    ClosestDistances, Closest, Closest or None

    Raises
    ------
    LapwingError
        If scikit-learn is not installed.

    Examples
    --------
    >>> from lapwing.schema.schemas import Schema
    >>> columns = Schema.from_dict({"fields": [{"name": "a", "type": "boolean"}]}).columns
    >>> rows = {"a": np.array([0, 1])}
    >>> measure_distances(rows, rows, columns, rng=np.random.default_rng(0))[0].real
    (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    """
    others = [real_codes] if holdout_codes is None else [real_codes, holdout_codes]
    real, *rest = closest_rows(synthetic_codes, others, columns, rng=rng)
    holdout = rest[0] if rest else None
    found = ClosestDistances(
        percents=PERCENTS, real=_quantiles(real), holdout=None if holdout is None else _quantiles(holdout)
    )
    return found, real, holdout


def exact_copies(synthetic_codes: Codes, real_codes: Codes, columns: Sequence[Field]) -> Outcome:
    """Return how many synthetic rows agree with a real row in all columns.

    Parameters
    ----------
    synthetic_codes, real_codes : mapping of str to ndarray of integers, shape (m,) and (n,)
        Codes of the columns, at least one row each.
    columns : sequence of Field
        At least one.

    Returns
    -------
    Outcome
        Its baseline is the share of real rows that agree with another real row: what is expected of fresh rows of the
        same law, where no person is in the real table twice.

    Notes
    -----
    All rows are compared. Time ``O((m + n) (d + log(m + n)))``.

    Examples
    --------
    >>> from lapwing.schema.schemas import Schema
    >>> columns = Schema.from_dict({"fields": [{"name": "a", "type": "boolean"}]}).columns
    >>> found = exact_copies({"a": np.array([0, 0, 1, 2])}, {"a": np.array([0, 1, 1])}, columns)
    >>> found.attack.rate, round(found.baseline.rate, 3)
    (0.75, 0.667)
    """
    synthetic, real = row_keys(synthetic_codes, columns), row_keys(real_codes, columns)
    counts = np.unique(real, return_counts=True)[1]
    return Outcome(
        attack=wilson(int(np.isin(synthetic, real).sum()), len(synthetic)),
        baseline=wilson(int(counts[counts > 1].sum()), len(real)),
    )


def copies_beyond_chance(
    synthetic_codes: Codes, real_codes: Codes, holdout_codes: Codes, columns: Sequence[Field]
) -> Outcome:
    """Return how many different synthetic rows occur among real rows, and how many among as many holdout rows.

    Parameters
    ----------
    synthetic_codes, real_codes, holdout_codes : mapping of str to ndarray of integers, shape (m,), (n,) and (n,)
        Codes of the columns, at least one row each.
    columns : sequence of Field
        At least one.

    Returns
    -------
    Outcome
        Its control is the share that occurs in the holdout. Synthetic rows that agree in all columns are one row: they
        are found or not found together.

    Examples
    --------
    >>> from lapwing.schema.schemas import Schema
    >>> columns = Schema.from_dict({"fields": [{"name": "a", "type": "boolean"}]}).columns
    >>> real, holdout = {"a": np.array([0, 1])}, {"a": np.array([1, 1])}
    >>> found = copies_beyond_chance({"a": np.array([0, 0, 1])}, real, holdout, columns)
    >>> found.attack.rate, found.control.rate
    (1.0, 0.5)
    """
    synthetic = np.unique(row_keys(synthetic_codes, columns))
    shares = [
        wilson(int(np.isin(synthetic, row_keys(codes, columns)).sum()), len(synthetic))
        for codes in (real_codes, holdout_codes)
    ]
    return Outcome(attack=shares[0], control=shares[1])


def _quantiles(closest: Closest) -> tuple[float, ...]:
    """Return distances that occur, at least the given percents of all below or equal."""
    found = np.percentile(closest.distances, PERCENTS, method="inverted_cdf")
    return tuple(float(each) for each in found)
