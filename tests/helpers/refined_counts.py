"""The counts that fit all stages of one column best, which the law of a column starts from."""

import numpy as np

from lapwing.mechanisms.adaptive.one_way import _normal_equations


def fitted_counts(stages):
    """Return the counts of the finest cells by inverse variances, and the covariance of their noise."""
    information, weighted = _normal_equations(stages)
    covariance = np.linalg.inv(information)
    return covariance @ weighted, covariance
