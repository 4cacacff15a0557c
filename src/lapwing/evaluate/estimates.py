"""Metrics that are estimated from random draws."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """Hold an estimate from repeated draws and how far it may be from its expectation.

    Parameters
    ----------
    value : float
        In the unit of the metric.
    standard_error : float
        Of the value, in the same unit: 0 where it is exact.
    """

    value: float
    standard_error: float
