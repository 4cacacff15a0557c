"""The search behind `lapwing.numerics.tree_budget`: minimise the least-squares bound over divisions of a budget.

With shares x_j, precisions x_j^k (k the power: 2 for pure budgets, 1 for zCDP) and pooled precisions
``p_j = x_j^k + p_{j+1} / 2``, minimise ``Σ_j weight_j / sqrt(p_j)`` over ``Σ_j x_j = 1``.
"""

import functools
from typing import Final

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

CACHED_TREES: Final = 64
SMALL_SHARE: Final = 2.0**-9
LEAST_SHARE: Final = 2.0**-19
LEAST_WEIGHT: Final = 1e-300
GRID: Final = 129
ROUNDS: Final = 250


def _halvings(levels: int) -> Floats:
    """Return the matrix that turns precisions of levels into precisions of pooled estimates."""
    steps = np.arange(levels)
    apart = steps[None, :] - steps[:, None]
    halvings: Floats = np.where(apart >= 0, 0.5 ** np.maximum(apart, 0), 0.0)
    return halvings


def factors(shares: Floats, weights: Floats, power: int) -> Floats:
    """Return the bound's noise part for several divisions of the budget, shape (starts, levels)."""
    pooled = shares**power @ _halvings(len(weights)).T
    noise: Floats = pooled**-0.5 @ weights
    return noise


def refined(shares: Floats, weights: Floats, power: int) -> Floats:
    """Improve divisions of the budget; each round lowers the bound or leaves it.

    The bound is convex in the precisions, so Jensen's inequality majorises it by ``Σ_i A_i / sqrt(precision_i)``,
    whose minimum under the budget is explicit. Levels without budget stay without.
    """
    halvings = _halvings(len(weights))
    for _ in range(ROUNDS):
        pull = (weights * (shares**power @ halvings.T) ** -1.5) @ halvings
        shares = shares * (np.sqrt(shares * pull) if power == 2 else pull ** (2 / 3))
        # Only a deepest level that counts for nothing could lose its whole share, and it must keep one.
        shares[:, -1] = np.maximum(shares[:, -1], LEAST_SHARE)
        shares /= shares.sum(axis=1, keepdims=True)
    return shares


def pruned(shares: Floats, weights: Floats, power: int) -> Floats:
    """Leave out levels whose small share is worth nothing."""
    fewer = np.where(shares < SMALL_SHARE, 0.0, shares)
    fewer[-1] = max(shares[-1], LEAST_SHARE)
    fewer /= fewer.sum()
    before, after = factors(np.array([shares, fewer]), weights, power)
    return fewer if after <= before * (1 + 1e-6) else shares


# The dynamic programme. State below level j: the precision p that the deeper levels hand up, and the budget b left.
# The best factor V_j(p, b) is homogeneous, V_j(c^k p, c b) = c^(-k/2) V_j(p, b) with k the power, so it is kept for
# p^(1/k) + b = 1 only, as a function of t = p^(1/k).


def _grid() -> Floats:
    """Return the values of t, which also serve as the parts of b that a level may get; dense at both ends."""
    wave: Floats = np.sin(np.linspace(0.0, np.pi / 2, GRID)) ** 2
    return wave


def _moves(states: Floats, power: int) -> tuple[Floats, Floats, Floats]:
    """Return, per state and part spent: 1/sqrt of the level's pooled precision, the next state, and its factor."""
    parts = _grid()
    left = 1.0 - states[:, None]
    precision: Floats = (left * parts) ** power + states[:, None] ** power
    handed = (precision / 2) ** (1 / power)
    size = handed + left * (1.0 - parts)
    with np.errstate(divide="ignore"):
        return precision**-0.5, handed / size, size ** (-power / 2)


@functools.lru_cache(maxsize=2)
def _grid_moves(power: int) -> tuple[Floats, npt.NDArray[np.intp], Floats, Floats]:
    """Return the moves from every grid state, with the next state as a grid place and the way to the one after it."""
    grid = _grid()
    noise, after, factor = _moves(grid, power)
    place = np.clip(np.searchsorted(grid, after, side="right") - 1, 0, GRID - 2)
    return noise, place, (after - grid[place]) / (grid[place + 1] - grid[place]), factor


@functools.lru_cache(maxsize=CACHED_TREES)
def value_functions(weights: tuple[float, ...], power: int) -> Floats:
    """Return V_j on the grid: a row of zeros for no level, then one row per level; column 0 is the best factor."""
    noise, place, way, factor = _grid_moves(power)
    rows: list[Floats] = [np.zeros(GRID)]
    for weight in weights:
        following = rows[-1]
        ahead = factor * (following[place] + way * (following[place + 1] - following[place]))
        rows.append(((noise * weight if weight else 0.0) + ahead).min(axis=1))
    values = np.array(rows)
    values.setflags(write=False)
    return values


def traced(values: Floats, weights: Floats, power: int) -> Floats:
    """Follow the best moves of the dynamic programme from the deepest level to the top."""
    grid = parts = _grid()
    shares = np.zeros(len(weights))
    state, size = 0.0, 1.0
    for level in range(len(weights) - 1, -1, -1):
        noise, after, factor = (row[0] for row in _moves(np.array([state]), power))
        ahead = factor * np.interp(after, grid, values[level])
        # A weight of 0 must not let the deepest level go without: its noise stays infinite.
        here = noise * max(float(weights[level]), LEAST_WEIGHT)
        choice = int((here + ahead).argmin())
        shares[level] = parts[choice] * (1.0 - state) * size
        size *= float(factor[choice]) ** (-2 / power)
        state = float(after[choice])
    shares /= shares.sum()
    return shares
