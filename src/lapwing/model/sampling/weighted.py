"""Weighted totals of a released model: model -> how much weight each cell of a table holds."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from lapwing.errors import ParameterError
from lapwing.model.model import Bernoulli, ColumnLaw, Indexed, ReleasedModel, Spans
from lapwing.model.sampling.marginals import marginal
from lapwing.schema.fields import Field, weights_at
from lapwing.schema.groupings.grouping import Grouping
from lapwing.schema.scalars import quote


def weighted_marginal(
    model: ReleasedModel, weight: Field, columns: Sequence[str], groupings: Sequence[Grouping]
) -> np.ndarray:
    """Return the expected weighted contingency table of a released model.

    columns: distinct columns of the model; none gives the total weight. Returns float64 (groups of the first grouping,
    groups of the second, ...), expected weighted totals under the mixture, for as many rows as the model stands for.
    Exact up to rounding: in an atom the weight is independent of the other columns, so that its mean there is all that
    counts.

    Post-processing of released numbers: costs no budget. Time ``O(k d + k log k)``.
    """
    if weight.name in columns:
        raise ParameterError(
            f"{quote(weight.name)} is the weight itself; ask for weighted totals of other columns", code="LW332"
        )
    means = mean_weights(model.laws[weight.name], weight)
    shares = model.weights / model.weights.sum()
    total = model.rows * float(shares @ means)
    if total <= 0:
        return np.zeros(tuple(grouping.groups for grouping in groupings))
    tilted = shares * means
    return marginal(replace(model, weights=tilted / tilted.max()), columns, groupings) * (total / model.rows)


def mean_weights(law: ColumnLaw, weight: Field) -> np.ndarray:
    """Return the mean weight of each atom: ndarray of float64, shape (k,)."""
    match law:
        case Indexed():
            pieces = law.laws.probabilities * _run_means(weight, law.laws.starts, law.laws.stops)
            return np.asarray(np.add.reduceat(pieces, law.laws.offsets[:-1])[law.index])
        case Spans():
            return _run_means(weight, law.starts, law.stops)
        case Bernoulli():
            low, high = weights_at(weight, [0, 1])
            return np.asarray(low + (high - low) * law.p.astype(np.float64))


def _run_means(weight: Field, starts: np.ndarray, stops: np.ndarray) -> np.ndarray:
    """Return the mean weight of a code drawn from each run; special and missing codes count 0."""
    first, last = starts.astype(np.int64), stops.astype(np.int64)
    inside = np.minimum(last, weight.domain.values)
    regular = np.maximum(inside - first, 0)
    # Weights are a straight line in the codes: their mean over a run is that of its middle.
    middle = np.where(regular > 0, (first + inside - 1) / 2, first)
    return np.asarray(weights_at(weight, middle) * regular / (last - first))
