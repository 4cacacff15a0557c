"""Iterative proportional fitting of weighted particles to noisy tables, block by block."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from lapwing.numerics.log_linear import Axis, Cloud, Factor, cells_of

RIDGE = 0.3
"""Ridge of each cell, in standard deviations of its noise: it keeps noise out of theta."""

LEAST_EFFECTIVE = 0.4
"""Steps are damped so that the effective number of particles stays above this share."""

_LARGEST_STEP = 2.0
_LARGEST_THETA = 15.0
_HALVINGS = 5
_OUTER, _INNER, _BISECTIONS = 30, 3, 100
_TOLERANCE = 1e-6


def raked(
    axes: Sequence[Axis],
    cloud: Cloud,
    factors: Sequence[Factor],
    total: float,
    *,
    sweeps: int,
    is_shrinking: bool = True,
) -> tuple[Cloud, tuple[Factor, ...], bool]:
    """Reweight particles, table by table, towards the noisy counts.

    Parameters
    ----------
    axes : sequence of Axis
        One per column.
    cloud : Cloud
        Particles.
    factors : sequence of Factor
        Measured tables.
    total : float
        Number of records, positive; every step keeps it.
    sweeps : int
        Rounds over all factors.
    is_shrinking : bool, default True
        As for `block_step`.

    Returns
    -------
    cloud : Cloud
        The same particles, new weights.
    factors : tuple of Factor
        With new theta.
    is_damped : bool
        Whether a step was shortened because too few particles would have carried the weight.

    Notes
    -----
    Post-processing of released numbers. Time ``O(sweeps (m + k))`` per table of k cells.
    """
    cells = [cells_of(axes, cloud.groups, factor.table).astype(np.int32) for factor in factors]
    thetas = [factor.theta for factor in factors]
    weights, is_damped = cloud.weights(total), False
    for _ in range(sweeps):
        for place, factor in enumerate(factors):
            model = np.bincount(cells[place], weights, factor.target.size)
            current = replace(factor, theta=thetas[place])
            step = block_step(current, model, total, 2 * total / cloud.size, is_shrinking=is_shrinking)
            share, weights = _damped(weights, cells[place], step, total)
            thetas[place] = thetas[place] + share * step
            is_damped |= share < 1.0
    fitted = tuple(replace(factor, theta=theta) for factor, theta in zip(factors, thetas, strict=True))
    return Cloud(cloud.groups, np.log(np.maximum(weights, np.finfo(np.float64).tiny))), fitted, is_damped


def block_step(
    factor: Factor, model: np.ndarray, total: float, particle: float, *, is_shrinking: bool = True
) -> np.ndarray:
    """Return the change t of one table's theta: ``M exp(t) + r (theta + t) = y + lam`` in each cell, with sum n.

    Parameters
    ----------
    factor : Factor
        Its target is y, its theta theta; the ridge r is `RIDGE` times its sd.
    model : ndarray of float64, shape (k,)
        Counts of the current model, M; they sum to ``total``.
    total : float
        Records, n.
    particle : float
        Pseudo-count of a cell beside a quarter of the noise: about the weight of two particles, so that no cell dies
        because no particle is in it.
    is_shrinking : bool, default True
        Whether the pseudo-count is taken from the target: mass that noise explains is then moved from small cells to
        large ones. Otherwise the target is the fixed point.

    Returns
    -------
    ndarray of float64, shape (k,)
        Each entry at most 2 in absolute value; ``theta + t`` stays within 15.
    """
    if factor.alive is not None:
        return _alive_step(factor, factor.alive, model, total, particle, is_shrinking=is_shrinking)
    pseudo = particle + factor.sd / 4
    mass, target, sum_to = model + pseudo, _with_total(factor, total), total
    if is_shrinking:
        # A small cell must earn its mass: what noise alone could have put there stays out.
        mass *= total / mass.sum()
    else:
        target, sum_to = target + pseudo, total + pseudo * mass.size
    ridge = RIDGE * factor.sd + 1e-9 * total
    low = np.maximum(-_LARGEST_STEP, -_LARGEST_THETA - factor.theta)
    high = np.minimum(_LARGEST_STEP, _LARGEST_THETA - factor.theta)
    pull = target - ridge * factor.theta
    step, lam = np.zeros_like(mass), 0.0
    for _ in range(_OUTER):
        step = _cell_steps(mass, ridge, pull + lam, (step, low, high), _INNER)
        grown = mass * np.exp(step)
        gap = float(grown.sum()) - sum_to
        if abs(gap) <= _TOLERANCE * sum_to:
            return step
        is_free = (step > low) & (step < high)
        slope = float((grown / (grown + ridge))[is_free].sum())
        if slope <= 0.0:
            break
        lam -= gap / slope
    return _bisected(mass, ridge, pull, (low, high), sum_to)


def _alive_step(
    factor: Factor, alive: np.ndarray, model: np.ndarray, total: float, particle: float, *, is_shrinking: bool
) -> np.ndarray:
    """Return the change of theta where no hard zero is, and 0 elsewhere."""
    inner = replace(factor, target=factor.target[alive], theta=factor.theta[alive], alive=None)
    step = np.zeros_like(model)
    step[alive] = block_step(inner, model[alive], total, particle, is_shrinking=is_shrinking)
    return step


def _cell_steps(
    mass: np.ndarray, ridge: float, pull: np.ndarray, bounds: tuple[np.ndarray, np.ndarray, np.ndarray], rounds: int
) -> np.ndarray:
    """Solve ``mass exp(t) + ridge t = pull`` in each cell by Newton steps; ``bounds`` is start, low and high."""
    step, low, high = bounds
    for _ in range(rounds):
        grown = mass * np.exp(step)
        step = np.clip(step - (grown + ridge * step - pull) / (grown + ridge), low, high)
    return step


def _bisected(
    mass: np.ndarray, ridge: float, pull: np.ndarray, bounds: tuple[np.ndarray, np.ndarray], total: float
) -> np.ndarray:
    """Find lambda by bisection, where every cell is at an end of its range and Newton steps know no slope."""
    low, high = bounds
    below = float((mass * np.exp(low) + ridge * low - pull).min())
    above = float((mass * np.exp(high) + ridge * high - pull).max())
    step = np.zeros_like(mass)
    for _ in range(_BISECTIONS):
        middle = (below + above) / 2
        step = _cell_steps(mass, ridge, pull + middle, (step, low, high), 2 * _INNER)
        gap = float((mass * np.exp(step)).sum()) - total
        if abs(gap) <= _TOLERANCE * total:
            break
        below, above = (below, middle) if gap > 0 else (middle, above)
    return step


def effective_share(log_weights: np.ndarray) -> float:
    """Return the effective number of particles, ``(sum w)**2 / sum w**2``, as a share of all."""
    weights: np.ndarray = np.exp(log_weights - log_weights.max())
    return float(weights.sum() ** 2 / np.square(weights).sum()) / weights.size


def _damped(weights: np.ndarray, cells: np.ndarray, step: np.ndarray, total: float) -> tuple[float, np.ndarray]:
    """Take as much of a step as leaves enough effective particles; nothing of it if even 1/32 is too much."""
    share = 1.0
    for _ in range(_HALVINGS + 1):
        moved = np.take(np.exp(share * step), cells)
        moved *= weights
        mass = float(moved.sum())
        if mass * mass >= LEAST_EFFECTIVE * weights.size * float(np.square(moved).sum()):
            moved *= total / mass
            return share, moved
        share /= 2
    return 0.0, weights


def _with_total(factor: Factor, total: float) -> np.ndarray:
    """Return the target, scaled to the total where noise alone does not explain the gap.

    Rows with misfits are not in the table, and the model stands for rows without.
    """
    found = float(factor.target.sum())
    if found > 0 and abs(total - found) > 4 * factor.sd * factor.target.size**0.5:
        return factor.target * (total / found)
    return factor.target
