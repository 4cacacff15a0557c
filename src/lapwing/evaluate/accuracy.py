"""What may be said in public about the accuracy of a release: statements that touch no row."""

from dataclasses import dataclass
from typing import Literal

Basis = Literal["theorem", "certificate", "interval", "simulation", "model"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """Hold one sentence about accuracy, and its figure.

    Parameters
    ----------
    key : str
        Its name in files: lower case, with underscores.
    text : str
        The sentence, with its figure, unit and probability.
    value : float
        The figure.
    unit : str
        Of the figure.
    confidence : float or None
        With which probability over the noise it holds; None for an expectation or a property of the model.
    basis : {"theorem", "certificate", "interval", "simulation", "model"}
        Proved before the noise was drawn; proved from the noise's law and the answers for this release; a confidence
        interval; found by simulating releases; a property of the released model.
    source : str
        The theorem, or the page of the documentation.
    """

    key: str
    text: str
    value: float
    unit: str
    confidence: float | None
    basis: Basis
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MarginalAccuracy:
    """Hold how far the released table of some columns can be from the true one.

    Parameters
    ----------
    columns : tuple of str
        One or more.
    cells : int
        Of the table, in the groups in which it was measured.
    noise : float
        Standard deviation of the noise on one cell's count, in rows.
    largest_error : float
        A bound for the differences between the released and the true counts of all its cells at once, in rows.
    variation : float
        A bound for the total variation distance between the released and the true table, 0 to 1.
    confidence : float
        With which both bounds hold, each by itself.
    """

    columns: tuple[str, ...]
    cells: int
    noise: float
    largest_error: float
    variation: float
    confidence: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Accuracy:
    """Hold all that may be said in public about the accuracy of a release.

    Parameters
    ----------
    statements : tuple of Statement
        About the release as a whole.
    marginals : tuple of MarginalAccuracy
        About the tables that were measured, the most uncertain first.
    effective_rows : float
        Effective sample size of the model's weights: 1 over the sum of their squares.
    kappa : float or None
        The largest density of the released law against the law that it was fitted on, at least 1; None where the model
        has no such density.
    """

    statements: tuple[Statement, ...]
    marginals: tuple[MarginalAccuracy, ...]
    effective_rows: float
    kappa: float | None
