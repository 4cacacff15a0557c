"""Which directions are cut into how many cells: public rules of the rows, the columns and the noise."""

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.questions.cell_sums.question import CellSums, NoisySums
from lapwing.kernel.questions.second_moment.question import SecondMoment
from lapwing.kernel.questions.shared.coordinates import Coordinates
from lapwing.kernel.questions.shared.projections import LARGEST_PROJECTION, MOST_DIRECTIONS, Projection
from lapwing.kernel.terms import Terms
from lapwing.maths.lattice_net import private_net
from lapwing.mechanisms.shared.vectors.row_vectors import is_binary

# -- Noisy totals of the rows' vectors and their noisy covariance.


@dataclass(frozen=True, slots=True, eq=False)
class Totals:
    """Hold a number of rows and the sums of their vectors, in units, with the noise on them.

    rows_sd: standard deviation of its noise; 0 where it is public; sums, sums_sd: float64 (p,).
    """

    rows: float
    rows_sd: float
    sums: np.ndarray
    sums_sd: np.ndarray

    @property
    def mean(self) -> np.ndarray:
        """The mean vector, in units: ndarray of float64, shape (p,)."""
        return np.clip(self.sums / self.rows, -1.0, 1.0)

    def pooled(self, other: "Totals") -> "Totals":
        """Return the inverse-variance mean with totals that were measured apart."""
        rows, rows_sd = _pooled(np.array(self.rows), self.rows_sd, np.array(other.rows), other.rows_sd)
        sums, sums_sd = _pooled(self.sums, self.sums_sd, other.sums, other.sums_sd)
        return Totals(max(1.0, float(rows)), float(rows_sd), sums, sums_sd)


def totals_of(answers: tuple[NoisySums, ...], terms: Terms) -> Totals:
    """Return the totals that answers to `total_questions` give."""
    sums = answers[-1]
    assert isinstance(sums.question, CellSums)
    unit = sums.question.coordinates.unit
    rows = float(terms.rows) if terms.rows is not None else float(answers[0].values[0])
    rows_sd = 0.0 if terms.rows is not None else answers[0].noise.sd
    deviations = np.full(sums.question.coordinates.size, sums.noise.sd / unit)
    return Totals(max(1.0, rows), rows_sd, sums.values[0] / unit, deviations)


def _pooled(
    one: np.ndarray, one_sd: float | np.ndarray, two: np.ndarray, two_sd: float | np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the inverse-variance mean of two measurements, and its standard deviation.

    An exact one stands alone; one that says nothing, with an infinite standard deviation, counts for nothing.
    """
    says = np.isfinite(two_sd)
    first, second = np.square(one_sd), np.square(np.where(says, two_sd, 1.0))
    share = np.where(says, first / np.maximum(first + second, np.finfo(np.float64).tiny), 0.0)
    return np.asarray(one + share * (two - one)), np.sqrt(np.where(says, share * second, first))


@dataclass(frozen=True, slots=True, eq=False)
class VectorCovariance:
    """Hold a noisy covariance of the rows' vectors, in squared units.

    between: float64 (p, p), entries between blocks; zero inside; inside: float64 (p, p), entries inside blocks; zero
    between; pairs: bool (p, p), where entries are between blocks; sd: standard deviation of the noise on each entry
    between blocks.
    """

    between: np.ndarray
    inside: np.ndarray
    pairs: np.ndarray
    sd: float


def moment_question(coordinates: Coordinates, cost: Budget) -> SecondMoment:
    """Return the question for the products between blocks; inside blocks too where the totals do not tell them."""
    return SecondMoment(coordinates=coordinates, diagonal=not is_binary(coordinates), cost=cost)


def covariance_of(answer: NoisySums, totals: Totals) -> VectorCovariance:
    """Return the covariance that an answer to `moment_question` gives, about the noisy mean."""
    question, mean = answer.question, totals.mean
    assert isinstance(question, SecondMoment)
    coordinates = question.coordinates
    size, owners = coordinates.size, coordinates.owners
    products = np.zeros((size, size))
    first, second = question.pairs
    products[first, second] = answer.values / question.scale / totals.rows
    products[second, first] = products[first, second]
    pairs = owners[:, None] != owners[None, :]
    if not question.diagonal:
        is_line = np.array([kind == "line" for kind in coordinates.kinds])[owners]
        products[np.arange(size), np.arange(size)] = np.where(is_line, 1.0, mean)
    covariance = products - np.outer(mean, mean)
    sd = answer.noise.sd / question.scale / totals.rows
    return VectorCovariance(np.where(pairs, covariance, 0.0), np.where(pairs, 0.0, covariance), pairs, sd)


DIRECTION_BITS: Final = 20
"""Directions are rounded to multiples of 2**-20, or coarser where projections would pass 2**40."""

CELL_ROWS: Final = 12  # A cell should hold so many times the noise on a cell's sum
MOST_CELLS: Final = 2**12

OUTER_CUTS: Final = 2.0  # the outer cells of a direction begin so many standard deviations from the mean
LEAST_VARIANCE: Final = 1e-3


def noise_edge(size: int, sd: float, sampling: float = 0.0) -> float:
    """Return about the largest eigenvalue that noise and chance alone give a covariance without diagonal.

    sampling: variance that drawing the rows adds to a row of entries: `sampling_variance`. Returns ``2 sqrt(p sd**2 +
    sampling)``, the edge of the semicircle law.
    """
    return 2.0 * math.sqrt(size * sd**2 + sampling)


def sampling_variance(covariance: VectorCovariance, rows: float) -> float:
    """Return what the draw of n independent rows of unrelated columns adds, at most, to a row of covariances.

    An entry then has variance ``v_i v_j / n``, for variances v of the coordinates.
    """
    variances = np.clip(np.diagonal(covariance.inside), 0.0, 1.0)
    return float(variances.max() * variances.sum()) / rows


def chosen_bins(
    eigenvalues: np.ndarray, edge: float, most: float, *, directions: int | None, bins: int | None
) -> tuple[int, ...]:
    """Return into how many bins each leading direction is cut.

    A direction of variance λ in k bins keeps about λ / k² inside them, which is what the cells lose of the covariance.
    The direction that loses most gets one more bin, while the product of all bins is at most ``most``.

    >>> chosen_bins(np.array([3.0, 1.0, 0.1]), 0.5, 20.0, directions=None, bins=None)
    (6, 3)
    """
    count = int(np.count_nonzero(eigenvalues > edge)) if directions is None else min(directions, eigenvalues.size)
    count = min(count, MOST_DIRECTIONS)
    if bins is not None:
        while bins**count > most and directions is None and count:
            count -= 1
        return (bins,) * count if bins > 1 else ()
    values = np.sqrt(np.maximum(eigenvalues[:count] ** 2 - edge**2, 0.0)) if directions is None else eigenvalues[:count]
    found = np.ones(count, dtype=np.int64)
    while count:
        place = int(np.argmax(np.maximum(values, LEAST_VARIANCE) / found**2))
        if math.prod(found.tolist()) // int(found[place]) * (int(found[place]) + 1) > most:
            break
        found[place] += 1
    return tuple(each for each in found.tolist() if each > 1)


def cut_directions(
    coordinates: Coordinates, covariance: VectorCovariance, mean: np.ndarray, bins: tuple[int, ...]
) -> Projection | None:
    """Return cells by even cuts of the leading directions, about the noisy mean; None for one cell."""
    if not bins:
        return None
    _, vectors = np.linalg.eigh(covariance.between)
    leading = _signed(vectors[:, ::-1][:, : len(bins)])
    variances = np.einsum("ir,ij,jr->r", leading, covariance.between + covariance.inside, leading)
    whole, per_unit = _whole_directions(coordinates, leading)
    cuts = []
    for place, count in enumerate(bins):
        spread = math.sqrt(max(LEAST_VARIANCE, float(variances[place])))
        middle = float((leading[:, place] * mean).sum())
        ends = middle + spread * np.linspace(-OUTER_CUTS, OUTER_CUTS, count + 1)[1:-1]
        cuts.append(np.unique(np.rint(ends * per_unit).astype(np.int64)))
    return Projection(directions=whole, cuts=tuple(cuts), origin=np.zeros(0, dtype=np.int64))


def _signed(vectors: np.ndarray) -> np.ndarray:
    """Return vectors with the sign that makes their largest entry positive: eigenvectors have none of their own."""
    largest = np.take_along_axis(vectors, np.abs(vectors).argmax(axis=0)[None], axis=0)
    return vectors * np.where(largest < 0, -1.0, 1.0)


def _whole_directions(coordinates: Coordinates, vectors: np.ndarray) -> tuple[np.ndarray, float]:
    """Return directions as whole numbers, and what 1 unit is along them."""
    room = (LARGEST_PROJECTION // (2 * max(1, coordinates.row_norm))).bit_length() - 1
    scale = 2 ** min(DIRECTION_BITS, room)
    return np.rint(vectors * scale).astype(np.int64), float(scale * coordinates.unit)


def net_cells(coordinates: Coordinates, moment: np.ndarray, rows: float) -> Projection | None:
    """Return the paper's cells: nearest points of a net in the ball of the leading eigenvectors.

    Algorithm 2, steps 3-7, with formula (5.14) rounded down.
    """
    choice = private_net(rows, coordinates.size)
    if not choice.dimensions:
        return None
    _, vectors = np.linalg.eigh(moment)
    whole, per_unit = _whole_directions(coordinates, _signed(vectors[:, ::-1][:, : choice.dimensions]))
    radius = round(math.sqrt(coordinates.row_norm / coordinates.unit) * per_unit)
    return Projection(
        directions=whole,
        origin=np.zeros(choice.dimensions, dtype=np.int64),
        spacing=choice.spacing(radius),
        norm=choice.budget(radius),
    )
