"""The covariance of the coded columns, from a noisy second moment, with a certified Frobenius error."""

import math
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from lapwing.errors import ParameterError
from lapwing.kernel.terms import Terms
from lapwing.maths.arrays import read_only
from lapwing.mechanisms.shared.vectors.certified_pairs import noisy_covariance
from lapwing.release.release import Release
from lapwing.release.runs.generators import generator
from lapwing.release.shown import coordinate_labels
from lapwing.schema.short import short


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Covariance:
    """Hold a noisy covariance, and how far it is from that of the rows.

    Parameters
    ----------
    coordinates : tuple of str
        What each row and column of the matrix stands for: a column of two values as -1 and 1, or one of the values or
        intervals of another column as 0 and 1. A cell that fits no value counts as 0.
    matrix : ndarray of float64, shape (p, p)
        Symmetric; noise may leave it with eigenvalues below 0.
    largest_error : float
        A bound of the Frobenius norm of the error, over all entries that belong to two columns.
    confidence : float
        With which it holds.
    """

    coordinates: tuple[str, ...]
    matrix: np.ndarray = field(repr=False)
    largest_error: float
    confidence: float

    __repr__ = short


def covariance(release: Release, confidence: float = 0.95) -> Covariance:
    """Return the covariance of the columns that the answers of a release tell, and a bound on its error.

    Parameters
    ----------
    release : Release
        By `Microaggregation`, with enough budget that it asked for a second moment.
    confidence : float, default 0.95
        From 0.5 to 0.9999.

    Returns
    -------
    Covariance
        Of the noisy answers, not of the model: post-processing, which costs nothing.

    Raises
    ------
    ParameterError
        If no answer holds a second moment, or the confidence is out of range.

    References
    ----------
    Boedihardjo, Strohmer, Vershynin, "Covariance's Loss is Privacy's Gain", Section 5.2: the noisy second moment. What
    we changed: it is released by itself, about the noisy mean, with a bound from the noise's law.

    Examples
    --------
    >>> import polars as pl
    >>> schema = {"fields": [{"name": name, "type": "boolean", "constraints": {"required": True}} for name in "ab"]}
    >>> table = pl.DataFrame({"a": [True, False] * 500, "b": [True, False] * 500})
    >>> from lapwing.api.synthesize import synthesize
    >>> from lapwing.mechanisms.vectors.microaggregation.mechanism import Microaggregation
    >>> found = covariance(synthesize(table, schema, epsilon=10, mechanism=Microaggregation(directions=1), seed=1))
    >>> found.coordinates, found.matrix.shape, found.largest_error < 0.5
    (('a', 'b'), (2, 2), True)
    """
    if isinstance(confidence, bool) or not isinstance(confidence, float | int) or not 0.5 <= confidence <= 0.9999:
        raise ParameterError(
            f"confidence must lie from 0.5 to 0.9999, got {confidence!r}; 0.95 suits most uses", code="LW301"
        )
    noisy, made = release.noisy, release.certificate
    terms = Terms(relation=made.relation, max_rows=made.max_rows, rows=made.public_rows)
    found = noisy_covariance(noisy, terms, 1 - Fraction(str(confidence)), generator(made.seed or 0, "certificate"))
    if found is None or math.isinf(found.error):
        raise ParameterError(
            "a covariance needs a release that holds a second moment and tells its number of rows, this one by "
            f"{made.mechanism} does not; use Microaggregation with more budget",
            code="LW362",
        )
    return Covariance(
        coordinates=tuple(coordinate_labels(found.coordinates, release.schema)),
        matrix=read_only(found.matrix),
        largest_error=found.error,
        confidence=float(confidence),
    )
