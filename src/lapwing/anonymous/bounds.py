"""How much covariance, and of higher moments, the anonymous partition loses at most.

Constants and changes are explained in `lapwing.maths.covariance_bounds`.
"""

import math

from lapwing.errors import ParameterError
from lapwing.maths.covariance_bounds import net_loss, tensorisation_bound
from lapwing.maths.lattice_net import NetChoice, anonymous_net, net_size_bound

_ROUNDING = 2.0**-22
"""What rounding rows and eigenvectors to 2^-24 adds to alpha, for each root of columns times dimensions: four of it."""


def theorem_1_2(cells: int, columns: int) -> float:
    """Return the bound on the covariance loss of the best partition into at most so many cells.

    Returns ``alpha^2 + 1 / (2 sqrt(t))``, at most 1, for the net of `anonymous_net`.

    References
    ----------
    Boedihardjo, Strohmer, Vershynin, Theorem 1.2: ``C sqrt(log log k / log k)``, by ``4 alpha^2 + 1 / sqrt(t)``.

    >>> round(theorem_1_2(1000, 20), 3)
    0.818
    """
    return net_loss(anonymous_net(cells, columns), columns)


def anonymous_covariance_loss(blocks: int, columns: int) -> float:
    """Return how much covariance the theorem's partition into blocks of equal size loses at most.

    Returns ``alpha^2 + 1 / (2 sqrt(t)) + s / k``, at most 1, where the net for ``floor(sqrt(k))`` cells has s points at
    most; for what `lapwing.anonymous.partition.theorem_partition` returns, its rounding included.

    References
    ----------
    Boedihardjo, Strohmer, Vershynin, Theorem 1.2 ("moreover") and Theorem 4.1, d = 2. Each of s cells leaves over at
    most a block, merging costs no more than the share of what is merged (Lemma 3.9), and cutting costs nothing (3.8).

    >>> round(anonymous_covariance_loss(10**6, 20), 3)
    0.818
    """
    if blocks < 1:
        raise ParameterError(f"a partition needs at least 1 block, got {blocks}", code="LW390")
    choice = anonymous_net(math.isqrt(blocks), columns)
    points = min(math.isqrt(blocks), math.floor(net_size_bound(choice.dimensions, choice.alpha)))
    rounded = NetChoice(choice.dimensions, choice.alpha + _ROUNDING * math.sqrt(columns * choice.dimensions))
    return min(1.0, net_loss(rounded, columns) + points / blocks)


def theorem_4_1(blocks: int, columns: int, degree: int) -> float:
    """Return how far the d-th moment of equal blocks' means is from that of the rows at most.

    Returns bound on the norm of the tensor ``E X^(d) - E Y^(d)``, weights being the shares of the blocks.

    References
    ----------
    Boedihardjo, Strohmer, Vershynin, Theorem 4.1: ``4^d sqrt(log log k / log k)``. What we changed: k need not divide
    n. Theorem 4.4 is `lapwing.maths.covariance_bounds.with_drawn_rows` of this, Theorem 4.6 `marginal_error`.

    >>> round(theorem_4_1(10**6, 20, 2), 3)
    0.818
    """
    return tensorisation_bound(anonymous_covariance_loss(blocks, columns), degree)
