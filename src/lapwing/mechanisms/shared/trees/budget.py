"""How a tree's budget is divided between its levels, and how deep the tree goes; from public numbers only.

Every function takes ``deltas``: for each level ``j = 0 .. L`` the number that its noise is multiplied with in the
accuracy theorems, Δ_{j-1}: the sum of the diameters of the cells that level ``j`` divides, with Δ_{-1} the diameter
of the whole domain (`tree_deltas`). Only ratios of ``deltas`` matter for shares.
"""

import functools
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Final, Literal

import numpy as np
import numpy.typing as npt

from lapwing.errors import ParameterError
from lapwing.mechanisms.shared.trees.trees import pooled_variances

# -- The search behind `lapwing.mechanisms.shared.trees.budget`: minimise the least-squares bound over divisions of a
# budget.


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


def improve_divisions(shares: Floats, weights: Floats, power: int) -> Floats:
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


def drop_small_shares(shares: Floats, weights: Floats, power: int) -> Floats:
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


def backtrack(values: Floats, weights: Floats, power: int) -> Floats:
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


Notion = Literal["pure", "zcdp"]
Root = Literal["noisy", "exact"]

SHARE_UNITS: Final = 2**20
"""Shares are whole multiples of 1 / SHARE_UNITS, so that the costs of all levels sum to the budget exactly."""

DEEP_SHARE: Final = Fraction(1, 10)
DEEP_STEPS: Final = (2, 4)
"""This part of the budget goes, in equal parts, to the levels this far below the depth: it pays for clustered data."""

MAX_LEVELS: Final = 128


def unit_sd(notion: Notion, amount: Fraction | float, change: int) -> float:
    """Return the noise per count, in records, if one level had the whole budget (at most, for discrete Laplace).

    change: l1 sensitivity of one level (pure), or its squared L2 sensitivity (zcdp). Returns ``sqrt(2) * change /
    epsilon``, or ``sqrt(change / (2 rho))``.

    >>> unit_sd("zcdp", Fraction(1, 2), 1)
    1.0
    """
    return math.sqrt(2) * change / float(amount) if notion == "pure" else math.sqrt(change / (2 * float(amount)))


def paper_scales(deltas: Sequence[float], notion: Notion, amount: float, root: Root = "noisy") -> list[float]:
    """Return the noise scales of Theorem 4.3, which minimise the bound of Theorem 4.2.

    notion: discrete Laplace noise, or discrete Gaussian noise (not in the paper); root: ``noisy`` for add-remove
    neighbours; ``exact`` for replace-one neighbours with a public number of rows, where up to two counts change on each
    other level. Returns σ_j of each level, in records (Laplace: the scale; Gaussian: the parameter σ); 0 for an exact
    root.

    >>> [round(scale, 2) for scale in paper_scales([1, 1, 1, 1], "pure", 1.0)]
    [4.0, 4.0, 4.0, 4.0]
    """
    if min(_checked(deltas)) <= 0:
        raise ParameterError(
            "the paper's noise scales need every delta above 0; leave out levels that divide nothing", code="LW390"
        )
    shares = _paper_parts(deltas, notion, root)
    first = _first(root)
    if notion == "pure":
        noisy = [(1 + first) / (amount * share) for share in shares[first:].tolist()]
    else:
        noisy = [math.sqrt((1 + first) / (2 * amount * share)) for share in shares[first:].tolist()]
    return [0.0] * first + noisy


def paper_shares(deltas: Sequence[float], notion: Notion, root: Root = "noisy") -> tuple[Fraction, ...]:
    """Return which part of the budget each level gets in the paper's version.

    Returns one per level, multiples of 2^-20 that sum to 1; 0 for an exact root.

    >>> paper_shares([1, 1, 4], "pure")
    (Fraction(1, 4), Fraction(1, 4), Fraction(1, 2))
    """
    # A level that the greedy consistency needs must not round to nothing.
    least = np.full(len(deltas), 1.0 / SHARE_UNITS)
    least[: _first(root)] = 0.0
    return _exact(np.maximum(_paper_parts(deltas, notion, root), least))


def optimal_shares(deltas: Sequence[float], notion: Notion, root: Root = "noisy") -> tuple[Fraction, ...]:
    """Return the shares that minimise the error bound of weighted least squares.

    Returns one per level, multiples of 2^-20 that sum to 1; 0 on levels that are better not asked for. The deepest
    level always has a share.

    For pure budgets the bound has many local minima, most of them with levels left out. A dynamic programme over the
    levels, with the precision handed upwards and the budget left as its state (one number, as the bound is
    homogeneous), finds the right one on a grid; a monotone majorise-minimise iteration makes it exact. Starts also
    from the paper's shares, so the bound is never worse than with those. Deterministic; the last results are kept.

    >>> [float(round(share, 2)) for share in optimal_shares([1, 1, 1, 1, 1, 1], "pure")]
    [0.0, 0.0, 0.48, 0.0, 0.0, 0.52]
    """
    return _optimal(tuple(float(delta) for delta in deltas), notion, root)


def default_shares(deltas: Sequence[float], depth: int, notion: Notion, root: Root = "noisy") -> tuple[Fraction, ...]:
    """Return the shares of the better version: bound-optimal down to ``depth``, a tenth for deeper levels.

    deltas: δ_{j-1} of every level that the tree may have, at least ``depth + 1`` of them; depth: level down to which
    the bound is minimised (`chosen_depth`). Returns shares of levels 0 to the deepest one with budget, summing to 1.
    The levels ``depth + 2`` and ``+ 4`` share a tenth equally, as far as they exist.

    >>> [float(round(share, 2)) for share in default_shares([1] * 8, 2, "pure")]
    [0.0, 0.0, 0.9, 0.0, 0.05, 0.0, 0.05]
    """
    if not 0 <= depth < len(deltas):
        raise ParameterError(f"depth must be from 0 to {len(deltas) - 1}, got {depth}", code="LW390")
    main = optimal_shares(deltas[: depth + 1], notion, root)
    deep = [depth + step for step in DEEP_STEPS if depth + step < len(deltas)]
    if not deep or not sum(main):
        return main
    parts = [float(share * (1 - DEEP_SHARE)) for share in main] + [0.0] * (deep[-1] - depth)
    for level in deep:
        parts[level] = float(DEEP_SHARE) / len(deep)
    return _exact(np.array(parts))


def chosen_depth(
    deltas: Sequence[float], resolutions: Sequence[float], noise: float, notion: Notion, root: Root = "noisy"
) -> int:
    """Return the depth at which the sum of noise and resolution is smallest.

    deltas: δ_{j-1} of every level that the tree may have. Returns the depth ``r``, before deep levels; the lowest one
    where several are equal.

    >>> halves = [2.0**-level for level in range(25)]
    >>> chosen_depth([1.0] * 25, halves, unit_sd("pure", 1.0, 1) / 100_000, "pure")
    12
    """
    if len(deltas) != len(resolutions):
        raise ParameterError(
            f"there are {len(deltas)} deltas and {len(resolutions)} resolutions; give one per level", code="LW390"
        )
    spent = float(1 - DEEP_SHARE) if notion == "pure" else math.sqrt(1 - DEEP_SHARE)
    estimates = noise / spent * _least_factors(_checked(deltas), notion, root) + np.array(resolutions, dtype=np.float64)
    return int(estimates.argmin())


def bound_factor(deltas: Sequence[float], shares: Sequence[Fraction | float], notion: Notion) -> float:
    """Return the noise part of the least-squares bound, for one row and `unit_sd` 1.

    shares: part of the budget of each level; a first share of 0 before others means a root without budget; notion:
    noise falls with the share, or with its square root. Returns ``sqrt(s_0) Δ_0 + Σ_j Δ_{j-1} sqrt(s_j / 2)``; multiply
    by ``unit_sd / rows`` for the bound.

    >>> bound_factor([1.0], [1], "pure")
    1.0
    """
    power = 2 if notion == "pure" else 1
    variances = [float(share) ** -power if share else math.inf for share in shares]
    spreads = pooled_variances(variances)
    inner = sum(delta * math.sqrt(spread / 2) for delta, spread in zip(deltas[1:], spreads[1:], strict=True))
    return deltas[0] * math.sqrt(spreads[0]) + inner


def _first(root: Root) -> int:
    return 1 if root == "exact" else 0


def _checked(deltas: Sequence[float]) -> tuple[float, ...]:
    if not 1 <= len(deltas) <= MAX_LEVELS or not all(0 <= delta < math.inf for delta in deltas):
        raise ParameterError(
            f"deltas must be 1 to {MAX_LEVELS} finite numbers, at least 0; check the tree's sides", code="LW390"
        )
    return tuple(float(delta) for delta in deltas)


def _paper_parts(deltas: Sequence[float], notion: Notion, root: Root) -> Floats:
    parts: Floats = np.array(_checked(deltas)) ** (0.5 if notion == "pure" else 2 / 3)
    parts[: _first(root)] = 0.0
    parts /= max(float(parts.sum()), 1e-300)
    return parts


def _exact(parts: Floats) -> tuple[Fraction, ...]:
    """Turn shares into multiples of 1 / SHARE_UNITS; the largest takes what rounding leaves, the deepest gets some."""
    if not parts.any():
        return (Fraction(0),) * len(parts)
    units = [round(part * SHARE_UNITS) for part in (parts / parts.sum()).tolist()]
    units[-1] = max(units[-1], 1)
    units[units.index(max(units))] += SHARE_UNITS - sum(units)
    return tuple(Fraction(unit, SHARE_UNITS) for unit in units)


@functools.lru_cache(maxsize=CACHED_TREES)
def _optimal(deltas: tuple[float, ...], notion: Notion, root: Root) -> tuple[Fraction, ...]:
    first = _first(root)
    weights = _weights(_checked(deltas), root)
    shares = np.zeros(len(deltas))
    if not weights.size:
        return _exact(shares)
    if not weights.any() or weights.size == 1:
        shares[-1] = 1.0
        return _exact(shares)

    power = 2 if notion == "pure" else 1
    exponent = 0.5 if notion == "pure" else 2 / 3
    start = backtrack(value_functions(tuple(weights.tolist()), power), weights, power)
    # The paper's shares, kept away from 0, lie in the basin where every level is asked for.
    paper = np.maximum(np.array(deltas[first:]), max(deltas[first:]) * 1e-12) ** exponent
    improved = improve_divisions(np.array([start, paper / paper.sum()]), weights, power)
    best = improved[factors(improved, weights, power).argmin()]
    shares[first:] = drop_small_shares(best, weights, power)
    return _exact(shares)


def _weights(deltas: tuple[float, ...], root: Root) -> Floats:
    """Return what multiplies sqrt(s_j) in the bound, for the levels that have noise."""
    weights = np.array(deltas)
    weights[1:] /= math.sqrt(2)
    return weights[_first(root) :]


def _least_factors(deltas: tuple[float, ...], notion: Notion, root: Root) -> Floats:
    """Return the least noise part of the bound for trees that end on each level."""
    values = value_functions(tuple(_weights(deltas, root).tolist()), 2 if notion == "pure" else 1)
    return np.concatenate([np.zeros(_first(root)), values[1:, 0]])
