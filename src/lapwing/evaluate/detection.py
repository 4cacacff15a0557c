"""Can boosted trees tell synthetic rows from real ones that they have not seen? A test by classification.

What is computed from private rows is private: nothing here adds noise.
"""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

import numpy as np
import numpy.typing as npt

from lapwing.evaluate.downstream import trained_auc
from lapwing.evaluate.estimates import Estimate
from lapwing.evaluate.metrics import Compared, Metric
from lapwing.evaluate.row_samples import height, some_rows
from lapwing.schema.fields import Field
from lapwing.schema.schemas import Schema

Codes = Mapping[str, npt.NDArray[np.integer]]

MOST_ROWS: Final = 2**14
"""Rows of each table: half of them train and half test. Of more, so many are drawn."""

MOST_COLUMNS: Final = 60
"""Columns that are used; of more, so many are drawn."""

DETECTION: Final = Metric(
    key="detection_auc",
    title="Telling rows apart (trees)",
    unit="AUC",
    meaning="How often boosted trees, shown a synthetic and a real row that they have not seen, call the right one "
    "synthetic: 0.5 by guessing, 1 always. Below 0.5 where rows are copies of real ones, as the bootstrap is.",
    best=0.5,
    reference="Lopez-Paz and Oquab, Revisiting classifier two-sample tests, ICLR 2017.",
)


def compare_detection(
    real_codes: Codes, others: Mapping[str, Codes], schema: Schema, *, rng: np.random.Generator
) -> Compared | None:
    """Return how well boosted trees tell each table from the real one, on rows that they were not trained on.

    Parameters
    ----------
    real_codes : mapping of str to ndarray of integers, shape (n,)
        Codes of every modelled column of the schema, at least one row.
    others : mapping of str to such mappings
        The other tables by name.
    schema : Schema
        Gives the columns.
    rng : Generator
        Splits and draws rows, chooses 60 columns where there are more, and seeds the trees.

    Returns
    -------
    Compared or None
        Of `DETECTION`; None where a table has one row only, which leaves none to test on.

    Raises
    ------
    LapwingError
        If scikit-learn is not installed.

    References
    ----------
    Lopez-Paz and Oquab (2017). Changed: the area under the ROC curve instead of the share of right answers, which
    depends on a threshold. Hanley and McNeil, Radiology 143 (1982): its standard error.

    Notes
    -----
    As many rows of each table as the smallest has, at most 2**14, half of them to train. The trees are those of
    `lapwing.evaluate.downstream.trained_auc`. A logistic regression sees main effects only (`compare_propensity`);
    trees see what columns have to do with each other.

    Examples
    --------
    >>> schema = Schema.from_dict({"fields": [{"name": "a", "type": "boolean"}, {"name": "b", "type": "boolean"}]})
    >>> real = {"a": np.arange(800) % 2, "b": np.arange(800) % 2}
    >>> other = {"a": np.arange(800) % 2, "b": np.arange(800) // 2 % 2}
    >>> found = compare_detection(real, {"x": other}, schema, rng=np.random.default_rng(0))
    >>> 0.7 < found.values["x"].value < 0.8
    True
    """
    heights = [height(codes) for codes in (real_codes, *others.values())]
    rows = min(*heights, MOST_ROWS)
    if rows < 2:
        return None
    columns = schema.columns
    if len(columns) > MOST_COLUMNS:
        drawn = np.sort(rng.choice(len(columns), MOST_COLUMNS, replace=False))
        columns = tuple(columns[place] for place in drawn.tolist())
    target = "is synthetic"
    while target in {column.name for column in columns}:
        target += "?"
    label = Field(name=target, type="boolean", required=True)
    told = replace(schema, fields=(*columns, label), privacy_unit=None)
    names = [column.name for column in columns]
    # In random order, so that the first half is a sample of a table however it was sorted.
    real = _shuffled(some_rows(real_codes, names, rows, rng), rng)
    found = {}
    for name, codes in others.items():
        other = _shuffled(some_rows(codes, names, rows, rng), rng)
        train, test = (_mixed(real, other, part, target) for part in (slice(rows // 2), slice(rows // 2, rows)))
        area = trained_auc(train, test, told, target, rng)
        found[name] = Estimate(value=area, standard_error=area_error(area, rows - rows // 2))
    return Compared(metric=DETECTION, values=found, rows=rows if rows < max(heights) else None, columns=len(columns))


def area_error(area: float, rows: int) -> float:
    """Return the standard error of an area under a ROC curve.

    Parameters
    ----------
    area : float
        0 to 1.
    rows : int
        Test rows of each of the two classes, at least 1.

    Returns
    -------
    float

    References
    ----------
    Hanley and McNeil, "The meaning and use of the area under a receiver operating characteristic (ROC) curve",
    Radiology 143 (1982), formula 2.

    Examples
    --------
    >>> round(area_error(0.5, 100), 4), area_error(1.0, 100)
    (0.0409, 0.0)
    """
    first, second = area / (2 - area), 2 * area**2 / (1 + area)
    variance = area * (1 - area) + (rows - 1) * (first + second - 2 * area**2)
    return math.sqrt(max(variance, 0.0)) / rows


def _shuffled(codes: Codes, rng: np.random.Generator) -> Codes:
    """Return the rows in random order."""
    order = rng.permutation(height(codes))
    return {name: column[order] for name, column in codes.items()}


def _mixed(real: Codes, other: Codes, part: slice, target: str) -> Codes:
    """Return a part of the rows of both tables, and which table each is of."""
    found = {name: np.concatenate((column[part], other[name][part])) for name, column in real.items()}
    sizes = [len(next(iter(codes.values()))[part]) for codes in (real, other)]
    return {**found, target: np.repeat([0, 1], sizes)}
