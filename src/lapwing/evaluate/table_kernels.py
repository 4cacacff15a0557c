"""How far coded tables are from each other in all ordered columns at once: MMD with a Gaussian kernel.

What is computed from private rows is private: nothing here adds noise.
"""

from collections.abc import Mapping
from typing import Final

import numpy as np
import numpy.typing as npt

from lapwing.evaluate.estimates import Estimate
from lapwing.evaluate.kernel_distances import mean_features, mmd, mmd_from_features, random_frequencies
from lapwing.evaluate.metrics import Compared, Metric
from lapwing.evaluate.row_samples import height
from lapwing.evaluate.table_points import placed_columns, table_points
from lapwing.schema.schemas import Schema

Codes = Mapping[str, npt.NDArray[np.integer]]

GAMMA: Final = 3.0
"""Gamma of the kernel, times the number of columns. The median heuristic without data: the mean squared distance of two
uniform rows is a sixth for each column of length 1, and gamma is one over twice that."""

EXACT: Final = 10_000
"""Most rows of every table for which distances are exact."""

FEATURES: Final = 256
"""Random frequencies where a table has more rows."""

MOST_ROWS: Final = 2**19
"""Rows of a table that are compared; of more, so many are drawn."""

_MOST_CELLS: Final = 2**25  # 256 MB a table: fewer rows where there are more than 64 columns


MMD: Final = Metric(
    key="mmd",
    title="MMD, all ordered columns",
    unit="difference of means",
    meaning="The largest difference in mean that a smooth function of all ordered columns can have, 0 to 1.41.",
    best=0.0,
    reference="Gretton et al., A kernel two-sample test (2012); kernel exp(-3 distance**2 / columns), columns 1 long.",
)


def compare_kernels(
    real_codes: Codes, others: Mapping[str, Codes], schema: Schema, *, rng: np.random.Generator
) -> Compared | None:
    """Return the MMD between the real table and others, over all ordered columns and those of two values.

    Parameters
    ----------
    real_codes : mapping of str to ndarray of integers, shape (n,)
        Codes of every modelled column of the schema, at least one row.
    others : mapping of str to such mappings
        The other tables by name.
    schema : Schema
        Gives the columns and their public bounds.
    rng : Generator
        Draws frequencies, and rows of tables with more than 2**19, or with more than 2**25 cells.

    Returns
    -------
    Compared or None
        The MMD (not its square), 0 to sqrt(2); None where no column is ordered.

    Notes
    -----
    Rows are points as in `table_points`. Exact up to 10,000 rows in every table, else by 256 random features. Time
    ``O(d n**2)`` up to there, then 3 microseconds a row and table.

    Examples
    --------
    >>> schema = Schema.from_dict({"fields": [{"name": "a", "type": "boolean"}]})
    >>> real, other = {"a": np.array([0, 1])}, {"a": np.array([1, 1])}
    >>> found = compare_kernels(real, {"other": other}, schema, rng=np.random.default_rng(0))
    >>> round(found.values["other"].value, 4)
    0.6893
    """
    columns = placed_columns(schema)
    if not columns:
        return None
    gamma, rows = GAMMA / len(columns), min(MOST_ROWS, _MOST_CELLS // len(columns))
    real, *rest = table_points([real_codes, *others.values()], columns, rows=rows, rng=rng)
    if max(map(len, (real, *rest))) <= EXACT:
        found = [Estimate(value=mmd(real, points, gamma=gamma), standard_error=0.0) for points in rest]
    else:
        frequencies = random_frequencies(real.shape[1], FEATURES, rng, gamma=gamma)
        features = mean_features(real, frequencies)
        found = [mmd_from_features(features, mean_features(points, frequencies)) for points in rest]
    is_all = max(map(height, (real_codes, *others.values()))) <= rows
    return Compared(
        metric=MMD,
        values=dict(zip(others, found, strict=True)),
        rows=None if is_all else rows,
        columns=len(columns),
    )
