"""How far a released model is from the rows over the cells of all pairs of columns, from noisy sums: no budget.

Write x for the true means of some statistics over N rows, each times the root of a weight; y for those of the released
model; Nx + Z for the noisy sums, u = 1 / N. Two bounds of ``|| y - x ||``, of which the smaller is stated:

1. By the triangle inequality ``|| y - (Nx + Z) u || + || Z || u``, whatever the model was fitted to. It is convex in u:
   where N is only known to lie in a range, it is largest at one of its ends.
2. Let p be means that were fixed before Z was drawn: those of independent columns with the noisy totals. With
   ``D = p - (Nx + Z) u``, ``e = || p - x ||`` solves ``e^2 = || D ||^2 - u^2 || Z ||^2 + 2 u <p - x, Z>``. As p - x
   does not depend on Z, the last term is at most ``2 u e t``, t being how far noise goes along one direction; and
   ``|| Z ||`` is at least its lower quantile l. So ``e <= u t + sqrt(u^2 t^2 + || D ||^2 - u^2 l^2)``, and
   ``|| y - x || <= || y - p || + e``. Noise is paid along one direction, not along all: far better where it is large.

Quantiles of ``|| Z ||`` are simulated: its true value and M simulated ones are exchangeable, so it passes the k-th
largest with probability at most ``k / (M + 1)``, Monte Carlo error included. Of very many numbers Cantelli's inequality
is taken, and below, for independent ``X >= 0``, ``P(sum X <= E - s) <= exp(-s^2 / (2 sum E X^2))``. Along a direction
Laplace noise of scale b has a moment generating function of at most ``1 / (1 - b^2 h^2)``, as
``(cosh h - 1) / (cosh(1 / b) - 1) <= b^2 h^2`` and ``(1 - v) (1 - w) >= 1 - v - w``; Gaussian noise is sub-Gaussian
with its sigma.

Which statistics: columns have the coordinate ``s = -1`` or 1 (two values), or one k of 0 and 1 for each value. Cells of
pairs have the shares ``(1 + a s + b s' + a b s s') / 4``, ``(k + a s k) / 2`` or ``k k'`` in the mean, for signs a, b.
As these are orthogonal, squared errors of cells sum to a quarter of those of s, s' and s s', to a half of those of k
and s k, and to those of k k'. Boedihardjo, Strohmer, Vershynin, "Covariance's Loss is Privacy's Gain", Theorem 5.11,
bound the same error of Booleans in advance, by constants; this is of the release at hand.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np

from lapwing.kernel.noise_law import NoiseLaw
from lapwing.kernel.questions.cell_sums.question import CellSums, NoisySums
from lapwing.kernel.questions.questions import Answer
from lapwing.kernel.questions.second_moment.question import SecondMoment
from lapwing.kernel.questions.shared.coordinates import Coordinates
from lapwing.kernel.terms import Terms
from lapwing.mechanisms.shared.trees.simulation import simulate_noise
from lapwing.mechanisms.shared.vectors.row_vectors import is_binary
from lapwing.mechanisms.shared.vectors.vector_cells import Totals, covariance_of, totals_of
from lapwing.model.bounds import rows_range
from lapwing.model.certificate.cost_lines import PlannedQuestion
from lapwing.model.certificate.statements import Statement
from lapwing.model.model import ReleasedModel
from lapwing.model.sampling.marginals import collapse_laws

MOST_PRODUCT: Final = 2.0
FAILURE: Final = Fraction(1, 20)
OF_ROWS: Final = Fraction(1, 10)  # part of the failure that a noisy number of rows gets
MOST_COPIES: Final = 399
MOST_DRAWN: Final = 2 * 10**6  # noise values of a simulation
BLOCK: Final = 2**20
WIDE: Final = 16.0
LEAST: Final = 1e-6  # narrower noise is 0


@dataclass(frozen=True, slots=True, eq=False)
class MeasuredPairs:
    """Hold what is known of statistics of a row whose sums were released with noise of one law.

    released: float64 (q,), their means under the released model; noisy: float64 (q,), their noisy sums over the rows;
    weights: float64 (q,), above 0, what a squared error counts; scale: what stands for 1 in the noise; proxy: float64
    (q,), means that do not depend on this noise; none where none are known.
    """

    released: np.ndarray
    noisy: np.ndarray
    weights: np.ndarray
    noise: NoiseLaw
    scale: int = 1
    proxy: np.ndarray | None = None

    def norm(self, means: np.ndarray) -> float:
        """Return the weighted Euclidean norm."""
        return math.sqrt(float(self.weights @ (means * means)))

    def squares(self) -> tuple[float, float, float]:
        """Return mean and variance of the noise's squared norm, and the sum of the mean squares of its terms."""
        second, fourth = _moments(self.noise)
        second, fourth = second / self.scale**2, fourth / self.scale**4
        squared = float(self.weights @ self.weights)
        return float(self.weights.sum()) * second, squared * (fourth - second**2), squared * fourth


def error_bound(
    parts: Sequence[MeasuredPairs], rows: tuple[float, float], failure: Fraction, rng: np.random.Generator
) -> float:
    """Return a bound of the weighted Euclidean norm of all errors that holds but with the failure probability."""
    if rows[0] <= 0:
        return math.inf
    if all(part.proxy is None for part in parts):
        return _by_triangle(parts, rows, failure, rng)
    by_part = failure / 2 / len(parts)
    apart = [
        _by_triangle([part], rows, by_part, rng)
        if part.proxy is None
        else _by_proxy(part, part.proxy, rows, by_part, rng)
        for part in parts
    ]
    return min(math.hypot(*apart), _by_triangle(parts, rows, failure / 2, rng))


def _by_triangle(
    parts: Sequence[MeasuredPairs], rows: tuple[float, float], failure: Fraction, rng: np.random.Generator
) -> float:
    """Return the first bound of the module."""
    noise = noise_quantile(parts, failure, rng)
    return max(
        math.hypot(*(part.norm(part.released - part.noisy / end) for part in parts)) + noise / end for end in rows
    )


def _by_proxy(
    part: MeasuredPairs, proxy: np.ndarray, rows: tuple[float, float], failure: Fraction, rng: np.random.Generator
) -> float:
    """Return the second bound of the module: half of the failure is for the noise's norm, half for one direction."""
    least = least_square(part, failure / 2, rng)
    along = _along(part.noise, failure / 2) / part.scale * math.sqrt(part.weights.max())
    # || proxy - noisy u ||^2 - least u^2, largest over the range of u at an end or where it turns
    inner, square = float(part.weights @ (proxy * part.noisy)), part.norm(part.noisy) ** 2 - least
    near, far = 1 / rows[1], 1 / rows[0]
    turn = min(max(inner / square, near), far) if square < 0 else near
    own = part.norm(proxy) ** 2
    most = max(0.0, *(own - 2 * inner * u + square * u * u for u in (near, turn, far)))
    return part.norm(part.released - proxy) + along * far + math.sqrt((along * far) ** 2 + most)


def noise_quantile(parts: Sequence[MeasuredPairs], failure: Fraction, rng: np.random.Generator) -> float:
    """Return what the weighted Euclidean norm of the noise passes with at most the failure probability."""
    found = _simulated(parts, failure, rng)
    if found is not None:
        return math.sqrt(found[-math.floor(failure * (found.size + 1))])
    squared = [part.squares() for part in parts]
    mean, variance = (sum(each[place] for each in squared) for place in (0, 1))
    return math.sqrt(mean + math.sqrt(variance * (1 / failure - 1)))


def least_square(part: MeasuredPairs, failure: Fraction, rng: np.random.Generator) -> float:
    """Return what the squared norm of the noise of a part is below with at most the failure probability."""
    found = _simulated([part], failure, rng)
    if found is not None:
        return float(found[math.floor(failure * (found.size + 1)) - 1])
    mean, _, squares = part.squares()
    return max(0.0, mean - math.sqrt(2 * squares * math.log(1 / failure)))


def _simulated(parts: Sequence[MeasuredPairs], failure: Fraction, rng: np.random.Generator) -> np.ndarray | None:
    """Return simulated squares of the noise's norm, sorted, ``1 / failure - 1`` or more; None if these are too many."""
    copies = min(MOST_COPIES, MOST_DRAWN // sum(part.weights.size for part in parts))
    if failure * (copies + 1) < 1:
        return None
    squares = np.zeros(copies)
    for part in parts:
        for weight, count in zip(*np.unique(part.weights, return_counts=True), strict=True):
            block = max(1, BLOCK // int(count))
            for start in range(0, copies, block):
                shape = (min(copies - start, block), int(count))
                drawn = simulate_noise(part.noise.kind, float(part.noise.parameter), shape, rng) / part.scale
                squares[start : start + block] += weight * np.einsum("ij,ij->i", drawn, drawn)
    return np.sort(squares)


def _along(noise: NoiseLaw, failure: Fraction) -> float:
    """Return what a sum of independent noise with coefficients of unit norm passes with at most this probability."""
    if noise.kind == "gaussian":
        return noise.sd * math.sqrt(2 * math.log(1 / failure))
    steps = np.linspace(0.01, 0.99, 99)
    return float(noise.parameter) * float(((math.log(1 / failure) - np.log1p(-(steps**2))) / steps).min())


def _moments(noise: NoiseLaw) -> tuple[float, float]:
    """Return the second and the fourth moment of one noise value; of wide Gaussian noise those of the real one."""
    parameter = max(float(noise.parameter), LEAST)
    if noise.kind == "laplace":
        q, rest = math.exp(-1 / parameter), -math.expm1(-1 / parameter)
        return 2 * q / rest**2, 2 * q * (1 + 10 * q + q * q) / rest**4
    if parameter > WIDE:  # they differ by less than exp(-19 sigma^2), by Poisson summation
        return parameter, 3 * parameter**2
    values = np.arange(-100.0, 101.0)
    masses = np.exp(-(values**2) / (2 * parameter))
    second, fourth = (float((masses * values**power).sum() / masses.sum()) for power in (2, 4))
    return second, fourth


def known_range(answers: Sequence[Answer], terms: Terms, failure: Fraction) -> tuple[float, float]:
    """Return ends of a range that holds the number of rows but with the failure probability."""
    if terms.rows is not None:
        return float(terms.rows), float(terms.rows)
    found = rows_range(answers, failure)
    low, high = (0.0, math.inf) if found is None else (max(1.0, found[0]), found[1])
    return (low, high) if low <= high else (0.0, math.inf)


# -- Of models whose release asked for the second moment of coordinates.


def atom_means(model: ReleasedModel, coordinates: Coordinates) -> np.ndarray:
    """Return the mean vector of a row of each atom, in units: ndarray of float64, shape (k, p)."""
    firsts = {}
    most = max(grouping.groups for grouping in coordinates.groupings)
    for name, grouping in zip(coordinates.columns, coordinates.groupings, strict=True):
        starts, _, group = grouping.pieces()
        first = np.zeros(most, dtype=np.int64)
        first[group[::-1]] = starts[::-1]
        firsts[name] = first
    table = coordinates.vectors(firsts) / coordinates.unit
    ends = np.cumsum((0, *coordinates.widths))
    found = np.empty((model.atoms, coordinates.size))
    for place, (name, grouping) in enumerate(zip(coordinates.columns, coordinates.groupings, strict=True)):
        column = collapse_laws(name, model.laws[name], grouping)
        for coordinate in range(ends[place], ends[place + 1]):  # one by one: pieces are many
            means = np.add.reduceat(column.probabilities * table[column.groups, coordinate], column.offsets[:-1])
            found[:, coordinate] = means[column.index]
    return found


def has_cells(coordinates: Coordinates) -> bool:
    """Tell whether the products between columns, and the coordinates, say all of the pairs' cells."""
    return is_binary(coordinates) and coordinates.coding == "centred"


def pair_weights(coordinates: Coordinates) -> tuple[np.ndarray, np.ndarray, float]:
    """Return what squared errors of products and of coordinates count, and how many cells all pairs have.

    Returns products: float64 (p, p), zero inside a column's block; coordinates: float64 (p,); see the module. Where
    columns are lines of numbers, and no cells: 1 for each product, nothing for each coordinate, and their number.
    """
    owners = coordinates.owners
    between = owners[:, None] != owners[None, :]
    if not has_cells(coordinates):
        return np.where(between, 1.0, 0.0), np.zeros(owners.size), float(between.sum()) / 2
    is_line = np.array([kind == "line" for kind in coordinates.kinds])
    halves = np.where(is_line, 0.5, 1.0)[owners]
    other_lines = is_line.sum() - is_line[owners]
    cells = np.array(coordinates.widths) + is_line
    pairs = float(cells.sum() ** 2 - (cells**2).sum()) / 2
    return np.where(between, np.outer(halves, halves), 0.0), other_lines * halves / 2, pairs


def measured_moments(answers: Sequence[Answer], terms: Terms, model: ReleasedModel) -> tuple[MeasuredPairs, ...]:
    """Return the products between columns and, where cells hang on them, the coordinates; nothing without answers."""
    sums = [answer for answer in answers if isinstance(answer, NoisySums)]
    moment = next((answer for answer in sums if isinstance(answer.question, SecondMoment)), None)
    if moment is None:
        return ()
    question = moment.question
    assert isinstance(question, SecondMoment)
    coordinates, (first, second) = question.coordinates, question.pairs
    products, singles, _ = pair_weights(coordinates)
    between = products[first, second] > 0
    first, second = first[between], second[between]
    weights = model.weights / model.weights.sum()
    means = atom_means(model, coordinates)
    released = ((means * weights[:, None]).T @ means)[first, second]
    noisy, worth = moment.values[between] / question.scale, products[first, second]
    totals = tuple(itertools.takewhile(lambda answer: answer is not moment, sums))
    if not totals:
        return (MeasuredPairs(released, noisy, worth, moment.noise, question.scale),)
    found = totals_of(totals, terms)
    proxy = found.mean[first] * found.mean[second]
    parts = [MeasuredPairs(released, noisy, worth, moment.noise, question.scale, proxy)]
    if singles.any():
        counts = singles > 0
        one_way = MeasuredPairs(
            (weights @ means)[counts], found.sums[counts], singles[counts], totals[-1].noise, coordinates.unit
        )
        parts.append(one_way)
    return tuple(parts)


def pair_statements(
    answers: Sequence[Answer], terms: Terms, model: ReleasedModel, rng: np.random.Generator
) -> tuple[Statement, ...]:
    """Return how far a model is from the rows over all pairs of columns; nothing where no answer tells it."""
    moment = next((answer.question for answer in answers if isinstance(answer.question, SecondMoment)), None)
    if moment is None or not _has_pairs(moment.coordinates):
        return ()
    coordinates = moment.coordinates
    parts, (_, _, cells) = measured_moments(answers, terms, model), pair_weights(coordinates)
    of_rows = FAILURE * OF_ROWS if terms.rows is None else Fraction(0)
    bound = error_bound(parts, known_range(answers, terms, of_rows), FAILURE - of_rows, rng) / math.sqrt(cells)
    columns = len(coordinates.columns)
    if has_cells(coordinates):
        if bound >= math.sqrt(columns * (columns - 1) / cells):
            return ()
        return (Statement("error_of_all_halved_pairs" if "line" in coordinates.kinds else "error_of_all_pairs", bound),)
    if bound >= MOST_PRODUCT:
        return ()
    return (Statement("error_of_all_products", bound),)


def _has_pairs(coordinates: Coordinates) -> bool:
    """Tell whether there are pairs of columns, and something is proved about them."""
    return coordinates.convex_set == "box" and len(coordinates.columns) > 1


def planned_noise(questions: Sequence[PlannedQuestion], terms: Terms, rows: float) -> tuple[Statement, ...]:
    """Return what noise makes of the error that `pair_statements` bounds, before any answer: its root mean square."""
    moment = next((each for each in questions if isinstance(each, SecondMoment)), None)
    if moment is None or not _has_pairs(moment.coordinates):
        return ()
    products, singles, cells = pair_weights(moment.coordinates)
    totals = next((each for each in questions if isinstance(each, CellSums) and each.summed == "vectors"), None)
    if totals is None:  # the published algorithm fits nothing to the second moment
        return ()
    square = products.sum() / 2 * _variance(moment, terms) + singles.sum() * _variance(totals, terms)
    code = "noise_over_all_pairs" if has_cells(moment.coordinates) else "noise_over_all_products"
    return (Statement(code, math.sqrt(square / cells) / rows),)


def _variance(question: SecondMoment | CellSums, terms: Terms) -> float:
    """Return the variance of the noise on each number of an answer, in rows."""
    return (question.noise(terms.relation, terms.max_rows).sd / question.scale) ** 2


# -- The noisy covariance itself.


@dataclass(frozen=True, slots=True, eq=False)
class NoisyCovariance:
    """Hold a noisy covariance in squared units, and a bound of its Frobenius error over entries between columns."""

    coordinates: Coordinates
    matrix: np.ndarray
    error: float


def noisy_covariance(
    answers: Sequence[Answer], terms: Terms, failure: Fraction, rng: np.random.Generator
) -> NoisyCovariance | None:
    """Return the covariance that answers tell; None where they hold no second moment in a box.

    With the noisy second moment S and mean m, off by at most a (each pair once) and b: ``S - m m^T`` is off by at most
    ``sqrt(2) a + b (2 || m || + b)`` between columns. Each has its part of the failure probability.
    """
    sums = [answer for answer in answers if isinstance(answer, NoisySums)]
    moment = next((answer for answer in sums if isinstance(answer.question, SecondMoment)), None)
    totals = tuple(itertools.takewhile(lambda answer: answer is not moment, sums))
    if moment is None or not totals:
        return None
    question, part = moment.question, failure * OF_ROWS
    assert isinstance(question, SecondMoment)
    coordinates, (first, second) = question.coordinates, question.pairs
    rows = known_range(answers, terms, part)
    if coordinates.convex_set != "box" or rows[0] <= 0:
        return None
    count, found = 2 / (1 / rows[0] + 1 / rows[1]), totals_of(totals, terms)
    centred = covariance_of(moment, Totals(count, found.rows_sd, found.sums, found.sums_sd))
    mean = np.clip(found.sums / count, -1.0, 1.0)
    between = coordinates.owners[first] != coordinates.owners[second]
    products, ones = moment.values[between] / question.scale, np.ones(int(between.sum()))
    of_products = MeasuredPairs(products / count, products, ones, moment.noise, question.scale)
    of_mean = MeasuredPairs(mean, found.sums, np.ones(mean.size), totals[-1].noise, coordinates.unit)
    a = error_bound([of_products], rows, 6 * part, rng)
    b = error_bound([of_mean], rows, 3 * part, rng)
    error = math.sqrt(2) * a + b * (2 * float(np.linalg.norm(mean)) + b)
    return NoisyCovariance(coordinates, centred.between + centred.inside, error)
