"""How a tree's budget is divided between its levels, and how deep the tree goes; from public numbers only.

Every function takes ``deltas``: for each level ``j = 0 .. L`` the number that its noise is multiplied with in the
accuracy theorems, Δ_{j-1}: the sum of the diameters of the cells that level ``j`` divides, with Δ_{-1} the diameter
of the whole domain (`lapwing.numerics.tree_bounds.tree_deltas`). Only ratios of ``deltas`` matter for shares.
"""

import functools
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Final, Literal

import numpy as np
import numpy.typing as npt

from lapwing.errors import ParameterError
from lapwing.numerics.share_search import factors, pruned, refined, traced, value_functions
from lapwing.numerics.trees import pooled_variances

Notion = Literal["pure", "zcdp"]
Root = Literal["noisy", "exact"]
Floats = npt.NDArray[np.float64]

SHARE_UNITS: Final = 2**20
"""Shares are whole multiples of 1 / SHARE_UNITS, so that the costs of all levels sum to the budget exactly."""

DEEP_SHARE: Final = Fraction(1, 10)
DEEP_STEPS: Final = (2, 4)
"""This part of the budget goes, in equal parts, to the levels this far below the depth: it pays for clustered data."""

CACHED_TREES: Final = 64
MAX_LEVELS: Final = 128


def unit_sd(notion: Notion, amount: Fraction | float, change: int) -> float:
    """Return the noise per count, in records, if one level had the whole budget (at most, for discrete Laplace).

    Parameters
    ----------
    notion : {"pure", "zcdp"}
        What ``amount`` measures.
    amount : Fraction or float
        The whole epsilon or rho, above 0.
    change : int
        L1 sensitivity of one level (pure), or its squared L2 sensitivity (zcdp).

    Returns
    -------
    float
        ``sqrt(2) * change / epsilon``, or ``sqrt(change / (2 rho))``.

    Examples
    --------
    >>> unit_sd("zcdp", Fraction(1, 2), 1)
    1.0
    """
    return math.sqrt(2) * change / float(amount) if notion == "pure" else math.sqrt(change / (2 * float(amount)))


def paper_scales(deltas: Sequence[float], notion: Notion, amount: float, root: Root = "noisy") -> list[float]:
    """Return the noise scales of Theorem 4.3, which minimise the bound of Theorem 4.2.

    Parameters
    ----------
    deltas : sequence of float
        Δ_{j-1} of each level, above 0.
    notion : {"pure", "zcdp"}
        Discrete Laplace noise, or discrete Gaussian noise (not in the paper).
    amount : float
        Epsilon or rho, above 0.
    root : {"noisy", "exact"}
        ``noisy`` for add-remove neighbours; ``exact`` for replace-one neighbours with a public number of rows, where
        up to two counts change on each other level.

    Returns
    -------
    list of float
        σ_j of each level, in records (Laplace: the scale; Gaussian: the parameter σ); 0 for an exact root.

    Raises
    ------
    ParameterError
        If a delta is not above 0.

    Examples
    --------
    >>> [round(scale, 2) for scale in paper_scales([1, 1, 1, 1], "pure", 1.0)]
    [4.0, 4.0, 4.0, 4.0]
    """
    shares = _paper_parts(deltas, notion, root)
    first = _first(root)
    if notion == "pure":
        noisy = [(1 + first) / (amount * share) for share in shares[first:].tolist()]
    else:
        noisy = [math.sqrt((1 + first) / (2 * amount * share)) for share in shares[first:].tolist()]
    return [0.0] * first + noisy


def paper_shares(deltas: Sequence[float], notion: Notion, root: Root = "noisy") -> tuple[Fraction, ...]:
    """Return which part of the budget each level gets in the paper's version.

    Parameters
    ----------
    deltas, notion, root
        As in `paper_scales`.

    Returns
    -------
    tuple of Fraction
        One per level, multiples of 2^-20 that sum to 1; 0 for an exact root.

    Raises
    ------
    ParameterError
        If a delta is not above 0.

    Examples
    --------
    >>> paper_shares([1, 1, 4], "pure")
    (Fraction(1, 4), Fraction(1, 4), Fraction(1, 2))
    """
    # A level that the greedy consistency needs must not round to nothing.
    return _exact(np.maximum(_paper_parts(deltas, notion, root), _smallest(len(deltas), root)))


def optimal_shares(deltas: Sequence[float], notion: Notion, root: Root = "noisy") -> tuple[Fraction, ...]:
    """Return the shares that minimise the error bound of weighted least squares (spec 01).

    Parameters
    ----------
    deltas, notion, root
        As in `paper_scales`; deltas may be 0.

    Returns
    -------
    tuple of Fraction
        One per level, multiples of 2^-20 that sum to 1; 0 on levels that are better not asked for. The deepest level
        always has a share.

    Raises
    ------
    ParameterError
        If a delta is negative or not finite, or there are more than 128 levels.

    Notes
    -----
    For pure budgets the bound has many local minima, most of them with levels left out. A dynamic programme over the
    levels, with the precision handed upwards and the budget left as its state (one number, as the bound is
    homogeneous), finds the right one on a grid; a monotone majorise-minimise iteration makes it exact. Starts also
    from the paper's shares, so the bound is never worse than with those. Deterministic; the last results are kept.

    Examples
    --------
    >>> [float(round(share, 2)) for share in optimal_shares([1, 1, 1, 1, 1, 1], "pure")]
    [0.0, 0.0, 0.48, 0.0, 0.0, 0.52]
    """
    return _optimal(tuple(float(delta) for delta in deltas), notion, root)


def default_shares(deltas: Sequence[float], depth: int, notion: Notion, root: Root = "noisy") -> tuple[Fraction, ...]:
    """Return the shares of the better version: bound-optimal down to ``depth``, a tenth for deeper levels.

    Parameters
    ----------
    deltas : sequence of float
        Δ_{j-1} of every level that the tree may have, at least ``depth + 1`` of them.
    depth : int
        Level down to which the bound is minimised (`chosen_depth`).
    notion, root
        As in `paper_scales`.

    Returns
    -------
    tuple of Fraction
        Shares of levels 0 to the deepest one with budget, summing to 1. The levels ``depth + 2`` and ``+ 4`` share a
        tenth equally, as far as they exist.

    Raises
    ------
    ParameterError
        If the depth is outside the tree.

    Examples
    --------
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

    Parameters
    ----------
    deltas : sequence of float
        Δ_{j-1} of every level that the tree may have.
    resolutions : sequence of float
        Largest cell diameter of the same levels.
    noise : float
        `unit_sd` divided by a public number of rows.
    notion, root
        As in `paper_scales`.

    Returns
    -------
    int
        The depth ``r``, before deep levels; the lowest one where several are equal.

    Raises
    ------
    ParameterError
        If the sequences differ in length.

    Examples
    --------
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

    Parameters
    ----------
    deltas : sequence of float
        Δ_{j-1} of each level.
    shares : sequence of Fraction or float
        Part of the budget of each level; a first share of 0 before others means a root without budget.
    notion : {"pure", "zcdp"}
        Noise falls with the share, or with its square root.

    Returns
    -------
    float
        ``sqrt(s_0) Δ_0 + Σ_j Δ_{j-1} sqrt(s_j / 2)``; multiply by ``unit_sd / rows`` for the bound.

    Examples
    --------
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


def _smallest(levels: int, root: Root) -> Floats:
    parts = np.full(levels, 1.0 / SHARE_UNITS)
    parts[: _first(root)] = 0.0
    return parts


def _paper_parts(deltas: Sequence[float], notion: Notion, root: Root) -> Floats:
    parts: Floats = np.array(_checked(deltas)) ** (0.5 if notion == "pure" else 2 / 3)
    if (parts <= 0).any():
        raise ParameterError(
            "the paper's noise scales need every delta above 0; leave out levels that divide nothing", code="LW390"
        )
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
    start = traced(value_functions(tuple(weights.tolist()), power), weights, power)
    # The paper's shares, kept away from 0, lie in the basin where every level is asked for.
    paper = np.maximum(np.array(deltas[first:]), max(deltas[first:]) * 1e-12) ** exponent
    improved = refined(np.array([start, paper / paper.sum()]), weights, power)
    best = improved[factors(improved, weights, power).argmin()]
    shares[first:] = pruned(best, weights, power)
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
