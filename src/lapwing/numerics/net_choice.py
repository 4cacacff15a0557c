"""How fine a net of how many dimensions the covariance loss theorem asks for: a function of public numbers alone."""

import math
from dataclasses import dataclass

from lapwing.errors import ParameterError


@dataclass(frozen=True, slots=True)
class NetChoice:
    """A lattice in the unit ball of the space of a few leading eigenvectors.

    Parameters
    ----------
    dimensions : int
        Leading eigenvectors, t, at least 0; with 0 the net is one point.
    alpha : float
        Points of the ball are nearer than this to a point of the net; above 0. Without meaning for 0 dimensions.

    Raises
    ------
    ParameterError
        If a number is out of its range.

    Examples
    --------
    >>> choice = NetChoice(2, 0.5)
    >>> choice.spacing(2**20), choice.budget(2**20)
    (370728, 7)
    """

    dimensions: int
    alpha: float

    def __post_init__(self) -> None:
        if self.dimensions < 0 or not self.alpha > 0:
            raise ParameterError(
                f"a net needs dimensions of at least 0 and alpha above 0, got {self.dimensions} and {self.alpha}",
                code="LW390",
            )

    def spacing(self, radius: int) -> int:
        """Return the side of the lattice ``alpha / sqrt(t) * Z^t`` in units of which the ball's radius is a number.

        Parameters
        ----------
        radius : int
            At least 1; a large one, because the spacing is rounded up to a whole number.

        Returns
        -------
        int
            At least 1.
        """
        return max(1, math.ceil(radius * self.alpha / math.sqrt(self.dimensions))) if self.dimensions else radius

    def budget(self, radius: int) -> int:
        """Return the largest squared norm of lattice points in the ball, in units of `spacing`.

        Parameters
        ----------
        radius : int
            As for `spacing`.

        Returns
        -------
        int
            ``floor(t / alpha**2)``, or 1 less if the spacing was rounded up past a whole number; 0 for 0 dimensions.
        """
        return radius**2 // self.spacing(radius) ** 2 if self.dimensions else 0


def anonymous_net(cells: float, columns: int) -> NetChoice:
    """Return the net of the covariance loss theorem for a number of cells.

    Parameters
    ----------
    cells : float
        Most points of the net, at least 1.
    columns : int
        Of the rows, p, at least 0; no more dimensions than that.

    Returns
    -------
    NetChoice
        ``alpha = (log log k / log k)**(1/4)`` and ``t = floor(log k / log(7 / alpha))``; 0 dimensions below 3 cells.

    Raises
    ------
    ParameterError
        If a number is out of its range.

    References
    ----------
    Boedihardjo, Strohmer, Vershynin, "Covariance's Loss is Privacy's Gain", formula (3.5). What we changed: ``t <= p``.

    Examples
    --------
    >>> choice = anonymous_net(1000, columns=20)
    >>> choice.dimensions, round(choice.alpha, 3)
    (3, 0.727)
    """
    _check(cells, columns)
    if cells < 3:
        return NetChoice(0, 1.0)
    log_cells = math.log(cells)
    return _with_alpha(log_cells, (math.log(log_cells) / log_cells) ** 0.25, columns)


def private_net(rows: float, columns: int) -> NetChoice:
    """Return the net of the private covariance loss theorem for a number of rows.

    Parameters
    ----------
    rows : float
        Public or noisy number of rows, n; 0 dimensions up to 2.
    columns : int
        As for `anonymous_net`.

    Returns
    -------
    NetChoice
        ``alpha = log(n)**(-1/4)`` and ``t = floor(log(sqrt(n)) / log(7 / alpha))``, with at most ``sqrt(n)`` points.

    Raises
    ------
    ParameterError
        If ``columns`` is negative.

    References
    ----------
    Boedihardjo, Strohmer, Vershynin, formula (5.14). What we changed: ``t <= p``, and rounded down, as (5.15) needs.

    Examples
    --------
    >>> choice = private_net(10**6, columns=20)
    >>> choice.dimensions, round(choice.alpha, 3)
    (2, 0.519)
    """
    _check(max(rows, 1), columns)
    return NetChoice(0, 1.0) if rows <= 2 else _with_alpha(math.log(rows) / 2, math.log(rows) ** -0.25, columns)


def _with_alpha(log_points: float, alpha: float, columns: int) -> NetChoice:
    """Return a net with as many dimensions as (7 / alpha)^t points allow."""
    return NetChoice(min(columns, math.floor(log_points / math.log(7 / alpha))), alpha)


def _check(cells: float, columns: int) -> None:
    if not 1 <= cells < math.inf or columns < 0:
        raise ParameterError(f"a net needs at least 1 cell and 0 columns, got {cells} and {columns}", code="LW390")
