"""Can a classifier tell synthetic rows from real ones? A logistic regression (pMSE), and boosted trees on unseen rows.

What is computed from private rows is private: no noise is added.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

import numpy as np
import numpy.typing as npt

from lapwing.extras.evaluate.metrics.metric import Estimate, Metric, MetricResult, height, some_columns, some_rows
from lapwing.extras.evaluate.metrics.prediction.downstream import trained_auc
from lapwing.maths.arrays import Cells, Codes, Floats
from lapwing.schema.fields import Field
from lapwing.schema.groupings.domains import Domain
from lapwing.schema.schemas import Schema

MOST_PROPENSITY_ROWS: Final = 2**15  # rows of each table that are told apart; of more, so many are drawn
MOST_PARAMETERS: Final = 192
"""Parameters of the regression. Columns join in random order until there is no room for the next."""

CATEGORIES: Final = 16  # most common real categories of a column without order that have a parameter of their own
_ROWS_A_PARAMETER: Final = 10  # fewer make the null expectation wrong, and fits that tell rows by heart
_FEWEST: Final = 4
_QUARTERS: Final = 4
_RIDGE: Final = 1e-8  # only so that rows which a line separates have a finite fit
_NULL: Final = 1e-9

PMSE: Final = Metric("propensity_pmse")
RATIO: Final = Metric("propensity_ratio")


def compare_propensity(
    real_codes: Codes, others: Mapping[str, Codes], schema: Schema, *, rng: np.random.Generator
) -> tuple[MetricResult, ...]:
    """Return the pMSE of each table against the real one, and its ratio to what it is by chance.

    Snoke et al. (2018): a logistic regression of "is synthetic" on the columns' main effects, its fitted probabilities
    at the same rows (in-sample, which their closed form of the expectation needs), and ``pMSE = mean((p - c)**2)`` with
    c the share of synthetic rows. With k parameters, theorem 1 has ``(k - 1) (1 - c)**2 c / N`` for N rows, all real
    ones and synthetic ones from the law that the real ones show. Changed: as many rows of each table as the smallest
    has, so that c is 1/2 and figures of several tables are on one scale; where only a share f of the real rows is used,
    those vary too, and the expectation is ``2 - f`` times as large.

    Main effects: the code of an ordered column, whether a cell is special, whether it is missing (or a misfit), and the
    16 most common real categories of a column without order. k counts those that are not linear combinations of others:
    at most 192, and at most one for ten rows of a table. A difference that no main effect has is not seen: columns that
    are shuffled by themselves have a ratio near 1. Time ``O(N k**2)``, memory ``O(N k)``. Exact where all tables have
    the same number of rows and at most 2**15, else the standard error comes from fits of four quarters.
    """
    heights = [height(codes) for codes in (real_codes, *others.values())]
    rows = min(*heights, MOST_PROPENSITY_ROWS)
    tables = [
        some_rows(codes, [each.name for each in schema.columns], rows, rng) for codes in (real_codes, *others.values())
    ]
    points, columns = _points(tables, schema, rows, rng)
    if not columns:
        return ()
    expected_by_rank = (2 - rows / heights[0]) / (16 * rows)
    is_sampled = rows < max(heights)
    scores, ratios = {}, {}
    for name, other in zip(others, points[1:], strict=True):
        spread, rank = _whitened(np.concatenate((points[0], other)))
        found = _score(spread, rows, is_sampled)
        expected = max(rank, 1) * expected_by_rank
        scores[name] = found
        ratios[name] = Estimate(value=found.value / expected, standard_error=found.standard_error / expected)
    used = rows if is_sampled else None
    return (
        MetricResult(metric=PMSE, values=scores, rows=used, columns=columns),
        MetricResult(metric=RATIO, values=ratios, rows=used, columns=columns),
    )


def propensity_scores(points: npt.ArrayLike, is_other: npt.ArrayLike) -> Floats:
    """Return the fitted probabilities of a logistic regression with an intercept, by L-BFGS.

    Of the largest likelihood, but for a ridge of 1e-8 on the slopes. Columns of variance 1 without correlation are
    fastest.
    """
    # Imported when needed: SciPy's optimisers take a while to load.
    from scipy.optimize import minimize  # noqa: PLC0415
    from scipy.special import expit  # noqa: PLC0415

    design = np.asarray(points, dtype=np.float64)
    signs = np.where(is_other, 1.0, -1.0)

    def loss(weights: Floats) -> tuple[float, Floats]:
        margins = signs * (design @ weights[1:] + weights[0])
        pulls = -signs * expit(-margins) / len(signs)
        slopes = weights[1:]
        gradient = np.concatenate(([pulls.sum()], pulls @ design + _RIDGE * slopes))
        return float(np.logaddexp(0, -margins).mean() + _RIDGE / 2 * (slopes @ slopes)), gradient

    options = {"maxiter": 200, "ftol": 1e-13, "gtol": 1e-8}
    weights = minimize(loss, np.zeros(design.shape[1] + 1), jac=True, method="L-BFGS-B", options=options).x
    return np.asarray(expit(design @ weights[1:] + weights[0]))


def _score(points: Floats, rows: int, is_sampled: bool) -> Estimate:
    """Return the pMSE of points of which the first rows are real; its error from quarters where rows were drawn."""
    found = _pmse(points[:rows], points[rows:])
    if not is_sampled or rows < _QUARTERS:
        return Estimate(value=found)
    halves = (np.array_split(points[:rows], _QUARTERS), np.array_split(points[rows:], _QUARTERS))
    quarters = [_pmse(real, other) for real, other in zip(*halves, strict=True)]
    return Estimate(value=found, standard_error=float(np.std(quarters, ddof=1) / np.sqrt(_QUARTERS)))


def _pmse(real: Floats, other: Floats) -> float:
    """Return the mean squared difference of fitted probabilities from 1/2, for as many rows of each."""
    is_other = np.repeat([False, True], [len(real), len(other)])
    return float(np.square(propensity_scores(np.concatenate((real, other)), is_other) - 0.5).mean())


def _whitened(points: Floats) -> tuple[Floats, int]:
    """Return points with mean 0, variance 1 and no correlation that span the same, and how many columns they have."""
    centred = points - points.mean(axis=0)
    centred /= np.maximum(centred.std(axis=0), _NULL)
    values, directions = np.linalg.eigh(centred.T @ centred / len(centred))
    is_used = values > _NULL * max(float(values[-1]), 1.0)
    return centred @ (directions[:, is_used] / np.sqrt(values[is_used])), int(is_used.sum())


def _points(tables: Sequence[Codes], schema: Schema, rows: int, rng: np.random.Generator) -> tuple[list[Floats], int]:
    """Return the main effects of each table's rows, and of how many columns they are."""
    room = min(max(rows // _ROWS_A_PARAMETER, _FEWEST), MOST_PARAMETERS)
    columns = schema.columns
    most_effects = sum(min(column.domain.values, CATEGORIES) + 2 for column in columns)
    order = range(len(columns)) if most_effects <= room else rng.permutation(len(columns)).tolist()
    found: list[list[Floats]] = []
    used = 0
    for place in order:
        column = columns[place]
        blocks = _effects([codes[column.name] for codes in tables], column.domain, min(CATEGORIES, room - 2))
        width = blocks[0].shape[1]
        if used + width > room:
            break
        if width:
            found.append(blocks)
            used += width
    return [np.concatenate(blocks, axis=1) for blocks in zip(*found, strict=True)], len(found)


def _effects(tables: Sequence[Cells], domain: Domain, categories: int) -> list[Floats]:
    """Return the main effects of one column, of each table: none of those that are the same in all rows."""
    if domain.ordered:
        middle, length = (domain.values - 1) / 2, max(domain.values - 1, 1)
        regular = [np.where(codes < domain.values, (codes - middle) / length, 0.0)[:, None] for codes in tables]
    else:
        values, counts = np.unique(tables[0][tables[0] < domain.values], return_counts=True)
        common = values[np.argsort(-counts, kind="stable")[:categories]]
        regular = [(codes[:, None] == common).astype(np.float64) for codes in tables]
    found = []
    for codes, points in zip(tables, regular, strict=True):
        is_missing = codes == domain.last
        found.append(np.column_stack((points, (codes >= domain.values) & ~is_missing, is_missing)).astype(np.float64))
    lowest = np.min([points.min(axis=0) for points in found], axis=0)
    highest = np.max([points.max(axis=0) for points in found], axis=0)
    return [points[:, lowest < highest] for points in found]


# -- Can boosted trees tell synthetic rows from real ones that they have not seen? A test by classification.


MOST_ROWS: Final = 2**14  # rows of each table: half of them train and half test. Of more, so many are drawn
MOST_COLUMNS: Final = 60  # columns that are used; of more, so many are drawn
DETECTION: Final = Metric("detection_auc", best=0.5)


def compare_detection(
    real_codes: Codes, others: Mapping[str, Codes], schema: Schema, *, rng: np.random.Generator
) -> MetricResult | None:
    """Return how well boosted trees tell each table from the real one, on rows that they were not trained on.

    Lopez-Paz and Oquab (2017). Changed: the area under the ROC curve instead of the share of right answers, which
    depends on a threshold. As many rows of each table as the smallest has, at most 2**14, half of them to train
    `trained_auc`; None where a table has one row. A logistic regression sees main effects only; trees see what columns
    have to do with each other.
    """
    heights = [height(codes) for codes in (real_codes, *others.values())]
    rows = min(*heights, MOST_ROWS)
    if rows < 2:
        return None
    columns = some_columns(schema.columns, MOST_COLUMNS, rng)
    target = "is synthetic"
    while target in {column.name for column in columns}:
        target += "?"
    label = Field(name=target, type="boolean", required=True)
    told = replace(schema, fields=(*columns, label), privacy_unit=None)
    names = [column.name for column in columns]
    real = _shuffled(some_rows(real_codes, names, rows, rng), rng)
    found = {}
    for name, codes in others.items():
        other = _shuffled(some_rows(codes, names, rows, rng), rng)
        train, test = (_mixed(real, other, part, target) for part in (slice(rows // 2), slice(rows // 2, rows)))
        area = trained_auc(train, test, told, target, rng)
        found[name] = Estimate(value=area, standard_error=area_error(area, rows - rows // 2))
    return MetricResult(
        metric=DETECTION, values=found, rows=rows if rows < max(heights) else None, columns=len(columns)
    )


def area_error(area: float, rows: int) -> float:
    """Return the standard error of an area under a ROC curve, for so many test rows of each class.

    Hanley and McNeil, Radiology 143 (1982), formula 2.
    """
    first, second = area / (2 - area), 2 * area**2 / (1 + area)
    variance = area * (1 - area) + (rows - 1) * (first + second - 2 * area**2)
    return math.sqrt(max(variance, 0.0)) / rows


def _shuffled(codes: Codes, rng: np.random.Generator) -> Codes:
    """Return the rows in random order, so that the first half is a sample of a table however it was sorted."""
    order = rng.permutation(height(codes))
    return {name: column[order] for name, column in codes.items()}


def _mixed(real: Codes, other: Codes, part: slice, target: str) -> Codes:
    """Return a part of the rows of both tables, and which table each is of."""
    found = {name: np.concatenate((column[part], other[name][part])) for name, column in real.items()}
    sizes = [len(next(iter(codes.values()))[part]) for codes in (real, other)]
    return {**found, target: np.repeat([0, 1], sizes)}
