"""How far the noisy, damped, projected block means of the private algorithm are from the rows, in moments.

Constants and changes are explained in `lapwing.maths.covariance_bounds`. Everything here is public: numbers of rows
and cells, and second moments of the noise.
"""

import math
from dataclasses import dataclass, fields

from lapwing.errors import ParameterError
from lapwing.maths.covariance_bounds import net_loss, tensorisation_bound, trivial_moment_loss
from lapwing.maths.lattice_net import NetChoice, net_size_bound, private_net


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseNoise:
    """Sizes of the noise of a release, for rows in the unit ball.

    second_moment: root-mean-square Frobenius norm of the symmetric noise R on the second moment; weights:
    root-mean-square L1 norm of the noise rho on the cells' shares of the rows; means: root mean square, over the noise,
    of the sum over cells of ``w_j * || r_j ||``: how far a mean is moved before it is projected, by the cell's share of
    the rows. By Minkowski's inequality at most the largest root-mean-square ``|| r_j ||``; damping: ``s * b / n`` for s
    cells, n rows, and means that are sums divided by the count or b if that is more.

    References
    ----------
    Boedihardjo, Strohmer, Vershynin, "Covariance's Loss is Privacy's Gain", Theorem 5.5.

    >>> ReleaseNoise(second_moment=0.01, weights=0.001, means=0.02, damping=0.0).means
    0.02
    """

    second_moment: float
    weights: float
    means: float
    damping: float

    def __post_init__(self) -> None:
        for field in fields(self):
            size = getattr(self, field.name)
            if not 0 <= size < math.inf:
                raise ParameterError(
                    f"the noise of {field.name} must be finite and at least 0, got {size}", code="LW390"
                )


def theorem_5_5(choice: NetChoice, noise: ReleaseNoise, columns: int, degree: int) -> float:
    """Return how far the d-th moment of a private release's weighted points is from that of the rows.

    choice: the net whose cells are averaged over, as for `lapwing.maths.covariance_bounds.net_loss`. Returns bound
    on the root-mean-square norm of the tensor ``E X^(d) - sum w_j y_j^(d)``, for weights projected on the simplex in L1
    (clip, then rescale) and means projected on a closed convex set in the unit ball that holds the rows: ``d (d - 1) /
    2 * (alpha^2 + 1 / (2 sqrt(t)) + 2 || R ||) + d * (means + damping / 4) + 2 || rho ||``.

    Boedihardjo, Strohmer, Vershynin, Theorem 5.5. What we changed, beside the first term: projecting on a convex set
    brings no two points farther apart, so that the means' noise counts once, not twice. A cell of c < b rows has the
    mean ``c / b * y_j``, off by at most ``1 - c / b``, which weighs at most ``c / n * (1 - c / b) <= b / (4 n)``: a
    quarter of ``s b / n`` in place of twice as much.

    With rows drawn from the points it is Theorem 5.10 (`lapwing.maths.covariance_bounds.with_drawn_rows`), for
    Boolean rows Theorem 5.11 (`marginal_error`, and `centred_marginal_error` for the coding by -1 and 1).

    >>> noise = ReleaseNoise(second_moment=0.01, weights=0.001, means=0.02, damping=0.04)
    >>> round(theorem_5_5(NetChoice(4, 0.5), noise, columns=20, degree=2), 3)
    0.582
    """
    lost = tensorisation_bound(net_loss(choice, columns, noise.second_moment), degree)
    means = min(2.0, noise.means + noise.damping / 4)
    weights = min(2.0, 2 * noise.weights)
    return min(lost + degree * means + weights, trivial_moment_loss(degree))


def theorem_5_9(rows: float, columns: int, epsilon: float, degree: int) -> float:
    """Return the bound of `theorem_5_5` for the paper's net and noise.

    Returns bound on the root-mean-square norm of the tensor ``E X^(d) - sum w_j y_j^(d)``.

    Boedihardjo, Strohmer, Vershynin, Theorem 5.9 (squared there): ``16^d (log log n / log n + p / (epsilon sqrt(n)))``.
    What we changed: no condition on n and epsilon is left.

    >>> round(theorem_5_9(10**12, 16, 1.0, degree=2), 3)
    0.576
    """
    return theorem_5_5(private_net(rows, columns), paper_noise(rows, columns, epsilon), columns, degree)


def paper_noise(rows: float, columns: int, epsilon: float) -> ReleaseNoise:
    """Return the sizes of the paper's noise.

    Returns laplace noise of scale ``6 p / (n epsilon)`` on each entry of the second moment, drawn once for two mirrored
    entries, ``6 / (n epsilon)`` on each weight and ``12 sqrt(p) / (b epsilon)`` on each coordinate of each mean, damped
    at ``b = sqrt(p sqrt(n) / epsilon)``.

    Boedihardjo, Strohmer, Vershynin, Theorem 5.8, Section 5.7 and (5.16). What we changed: the L1 norm of s Laplace
    variables has the mean square ``s (s + 1)`` times the squared scale, which is less than the paper's
    ``2 s^2``. Cells are counted by Proposition 3.7, at most ``sqrt(n)``.

    >>> noise = paper_noise(10**6, 16, 1.0)
    >>> round(noise.second_moment, 5), round(noise.means, 3)
    (0.00217, 2.147)
    """
    if not (1 <= rows < math.inf and 0 < epsilon < math.inf) or columns < 1:
        raise ParameterError(
            "the paper's noise needs at least 1 row, at least 1 column and a finite epsilon above 0, "
            f"got {rows}, {columns} and {epsilon}",
            code="LW390",
        )
    choice = private_net(rows, columns)
    cells = math.floor(net_size_bound(choice.dimensions, choice.alpha))
    level = math.sqrt(columns * math.sqrt(rows) / epsilon)
    return ReleaseNoise(
        second_moment=math.sqrt(2) * 6 * columns**2 / (rows * epsilon),
        weights=math.sqrt(cells * (cells + 1)) * 6 / (rows * epsilon),
        means=math.sqrt(2 * columns) * 12 * math.sqrt(columns) / (level * epsilon),
        damping=cells * level / rows,
    )


def noise_of_sums(
    *,
    rows: float,
    cells: int,
    level: float,
    second_moment: float,
    count_noise: float,
    count_noise_squared: float,
    sum_noise: float,
) -> ReleaseNoise:
    """Return the sizes of the noise where a mean is a noisy sum, divided by the noisy count or a level if that is more.

    count_noise: standard deviation of the noise eta on a cell's count, at least 0; count_noise_squared: root mean
    square of ``eta**2``: ``sqrt(6)`` times the variance for continuous Laplace noise, ``sqrt(3)`` times for Gaussian;
    sum_noise: root-mean-square Euclidean norm of the noise nu on a cell's sum, for rows in the unit ball; independent
    of eta.

    Boedihardjo, Strohmer, Vershynin, Theorem 5.5, for another estimate of the means than theirs.

    A cell of c rows with the mean y is given ``(c y + nu) / D``, ``D = max(c + eta, b)``. That is off by at most
    ``(|c - D| + || nu ||) / D``, and weighs ``c / n``. From ``c = b`` on ``|c - D| <= |eta|`` and
    ``c / D <= 1 + |eta| / b``. Below, ``c / D < 1`` and ``c (D - c) / D <= D / 4 <= (b + |eta|) / 4``. So no cell costs
    more than ``((1 + |eta| / b) (|eta| + || nu ||) + b / 4) / n``, and by Minkowski's inequality all together cost at
    most s times the root mean square of that. It falls as ``s / n``, where the paper's falls as ``1 / b``.

    >>> noise = noise_of_sums(
    ...     rows=10**5, cells=50, level=20, second_moment=0.0, count_noise=3, count_noise_squared=22, sum_noise=12
    ... )
    >>> noise.weights, round(noise.means + noise.damping / 4, 5)
    (0.0015, 0.01145)
    """
    if not (0 < rows < math.inf and 0 < level < math.inf) or cells < 1:
        raise ParameterError(
            f"noise of sums needs rows and a level above 0 and at least 1 cell, got {rows}, {level} and {cells}",
            code="LW390",
        )
    moved = count_noise + count_noise_squared / level + (1 + count_noise / level) * sum_noise
    return ReleaseNoise(
        second_moment=second_moment,
        weights=cells * count_noise / rows,
        means=cells * moved / rows,
        damping=cells * level / rows,
    )
