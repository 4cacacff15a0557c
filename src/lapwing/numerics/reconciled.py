"""Noisy tables that rules tie together, and that contradict each other: one law between them."""

from collections.abc import Sequence

import numpy as np

from lapwing.numerics.log_linear import Axis, Cloud, Factor, cells_of
from lapwing.numerics.quasi_newton import smallest

STIFFNESS = 0.1
"""How far the entropy may pull a count where theta is 1, in standard deviations of a typical table's noise."""

_LEAST_RIDGE = 1e-6
_PRECISION = 1e-5
_MOST_STEPS = 200


def reconciled(axes: Sequence[Axis], cloud: Cloud, factors: Sequence[Factor], total: float) -> Cloud:
    """Reweight particles so that each table is off by about as much as its noise explains.

    Parameters
    ----------
    axes : sequence of Axis
        One per column.
    cloud : Cloud
        Particles that keep the rules.
    factors : sequence of Factor
        Noisy tables; theta is not used.
    total : float
        Number of records, positive.

    Returns
    -------
    Cloud
        The same particles, new weights ``w``: the smallest ``s n KL(w | before) + sum (table(w) - target)**2 / (2
        sd**2)`` for a small s, found by its dual. Of tables that say the same thing differently, that is the mean
        weighted by precision. Raking would end at the last of them. A table none of whose positive counts is in a cell
        with particles says nothing that they can follow, and is left out.

    Notes
    -----
    Time ``O(m)`` per table and step; at most 200 steps.
    """
    followed, cells, targets = [], [], []
    for factor in factors:
        cell = cells_of(axes, cloud.groups, factor.table)
        reached = np.where(np.bincount(cell, minlength=factor.target.size) > 0, np.maximum(factor.target, 0.0), 0.0)
        if reached.any():
            followed.append(factor)
            cells.append(cell)
            targets.append(reached / reached.sum() * total)
    if not followed:
        return cloud
    factors = followed
    ends = np.cumsum([factor.target.size for factor in factors])
    start = cloud.weights(1.0)
    target = np.concatenate(targets)
    stiffness = STIFFNESS / max(1.0, float(np.median([factor.sd for factor in factors])))
    ridge = np.concatenate(
        [np.full(factor.target.size, stiffness * factor.sd**2 + _LEAST_RIDGE * total) for factor in factors]
    )

    def logs(theta: np.ndarray) -> np.ndarray:
        found: np.ndarray = np.zeros(cloud.size)
        for part, cell in zip(np.split(theta, ends[:-1]), cells, strict=True):
            found += part[cell]
        return found

    def dual(theta: np.ndarray) -> tuple[float, np.ndarray]:
        moved = logs(theta)
        largest = float(moved.max())
        weights = start * np.exp(moved - largest)
        mass = float(weights.sum())
        weights *= total / mass
        model = np.concatenate(
            [np.bincount(cell, weights, factor.target.size) for factor, cell in zip(factors, cells, strict=True)]
        )
        value = total * (np.log(mass) + largest) - float((theta * target).sum())
        return value + float((ridge * theta * theta).sum()) / 2, model - target + ridge * theta

    theta, _ = smallest(dual, np.zeros(target.size), _PRECISION * total, _MOST_STEPS)
    return Cloud(cloud.groups, cloud.log_weights + logs(theta))
