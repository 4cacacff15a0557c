"""Noisy totals of the rows' vectors and their noisy covariance."""

import math
from dataclasses import dataclass

import numpy as np

from lapwing.budget.budget import Budget
from lapwing.mechanisms.steps.row_vectors import is_binary
from lapwing.release.cell_sums import CellSums, NoisySums
from lapwing.release.coordinates import Coordinates
from lapwing.release.second_moment import SecondMoment
from lapwing.release.terms import Terms


@dataclass(frozen=True, slots=True, eq=False)
class Totals:
    """Hold a number of rows and the sums of their vectors, in units, with the noise on them.

    Parameters
    ----------
    rows : float
        At least 1: public, or noisy.
    rows_sd : float
        Standard deviation of its noise; 0 where it is public.
    sums : ndarray of float64, shape (p,)
    sums_sd : float
        Standard deviation of the noise on each sum.
    """

    rows: float
    rows_sd: float
    sums: np.ndarray
    sums_sd: float

    @property
    def mean(self) -> np.ndarray:
        """The mean vector, in units: ndarray of float64, shape (p,)."""
        return np.clip(self.sums / self.rows, -1.0, 1.0)

    def pooled(self, other: "Totals") -> "Totals":
        """Return the inverse-variance mean with totals that were measured apart."""
        rows = float(_pooled(self.rows, self.rows_sd, other.rows, other.rows_sd))
        sums = np.asarray(_pooled(self.sums, self.sums_sd, other.sums, other.sums_sd))
        deviations = [
            one * two / math.hypot(one, two) if one and two else 0.0
            for one, two in ((self.rows_sd, other.rows_sd), (self.sums_sd, other.sums_sd))
        ]
        return Totals(max(1.0, rows), deviations[0], sums, deviations[1])


def _pooled(one: float | np.ndarray, one_sd: float, two: float | np.ndarray, two_sd: float) -> float | np.ndarray:
    """Return the inverse-variance mean of two measurements; an exact one alone."""
    if one_sd == 0.0:
        return one
    return (one * two_sd**2 + two * one_sd**2) / (one_sd**2 + two_sd**2)


def total_questions(coordinates: Coordinates, cost: Budget, terms: Terms) -> tuple[CellSums, ...]:
    """Return the questions for the number of rows, unless it is public, and for the sums of all coordinates.

    Parameters
    ----------
    coordinates : Coordinates
    cost : Budget
        Divided so that both carry about the same noise.
    terms : Terms
        Tell whether the number of rows is public.

    Returns
    -------
    tuple of CellSums
        One or two.
    """
    if terms.rows is not None:
        return (CellSums(coordinates=coordinates, projection=None, summed="vectors", cost=cost),)
    blocks = max(1, coordinates.row_norm // coordinates.unit)
    of_rows, of_sums = cost.split([1, blocks])
    return (
        CellSums(coordinates=coordinates, projection=None, summed="rows", cost=of_rows),
        CellSums(coordinates=coordinates, projection=None, summed="vectors", cost=of_sums),
    )


def totals_of(answers: tuple[NoisySums, ...], terms: Terms) -> Totals:
    """Return the totals that answers to `total_questions` give."""
    sums = answers[-1]
    assert isinstance(sums.question, CellSums)
    unit = sums.question.coordinates.unit
    rows = float(terms.rows) if terms.rows is not None else float(answers[0].values[0])
    rows_sd = 0.0 if terms.rows is not None else answers[0].noise.sd
    return Totals(max(1.0, rows), rows_sd, sums.values[0] / unit, sums.noise.sd / unit)


@dataclass(frozen=True, slots=True, eq=False)
class Covariance:
    """Hold a noisy covariance of the rows' vectors, in squared units.

    Parameters
    ----------
    between : ndarray of float64, shape (p, p)
        Entries between blocks; zero inside.
    inside : ndarray of float64, shape (p, p)
        Entries inside blocks; zero between.
    pairs : ndarray of bool, shape (p, p)
        Where entries are between blocks.
    sd : float
        Standard deviation of the noise on each entry between blocks.
    """

    between: np.ndarray
    inside: np.ndarray
    pairs: np.ndarray
    sd: float


def moment_question(coordinates: Coordinates, cost: Budget) -> SecondMoment:
    """Return the question for the products between blocks; inside blocks too where the totals do not tell them."""
    return SecondMoment(coordinates=coordinates, diagonal=not is_binary(coordinates), cost=cost)


def covariance_of(answer: NoisySums, totals: Totals) -> Covariance:
    """Return the covariance that an answer to `moment_question` gives, about the noisy mean.

    Parameters
    ----------
    answer : NoisySums
        To a `SecondMoment`.
    totals : Totals
        Give rows and mean.
    """
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
    return Covariance(np.where(pairs, covariance, 0.0), np.where(pairs, 0.0, covariance), pairs, sd)
