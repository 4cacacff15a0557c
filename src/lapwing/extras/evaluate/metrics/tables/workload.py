"""Published scores of contingency tables, from distances that are there: AIM's workload error, NIST's k-marginals.

What is computed from private rows is private: no noise is added.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Final

from lapwing.extras.evaluate.metrics.metric import Estimate, Metric, MetricResult
from lapwing.extras.evaluate.metrics.tables.variation import Variation

WORKLOAD_ERROR: Final = Metric("workload_error")
_WIDEST: Final = 3
_HALF: Final = 0.5  # largest standard deviation of numbers between 0 and 1


def compare_workloads(found: Mapping[str, Sequence[Variation]]) -> MetricResult | None:
    """Return the workload error of several tables, from distances; None without tables of 3 or fewer columns.

    The workload is every table of three columns with weight 1 (ALL-3WAY of the paper; of two columns or one where the
    schema has no more), on the public cells of `compared_cells`. Where only some of them were compared, they are a
    sample of the workload, and the standard error says how far their mean may be from that of all.
    """
    few = {name: [each for each in variations if each.ways <= _WIDEST] for name, variations in found.items()}
    widest = {name: max(each, key=lambda tables: tables.ways) for name, each in few.items() if each}
    if not widest:
        return None
    return MetricResult(
        metric=WORKLOAD_ERROR,
        values={name: workload_error(each) for name, each in widest.items()},
        columns=max(map(compared_columns, widest.values())),
    )


def workload_error(variation: Variation) -> Estimate:
    """Return the mean L1 distance over a workload of tables, with its error as an estimate over all tables.

    McKenna et al. (2022), Definition 2: ``1 / (k |D|)`` times the sum over k marginals of L1 distance of *counts*, all
    of weight 1. Changed: each table's counts are divided by its own number of rows, which is the same for tables of
    equal size. Public implementations of AIM print half of this, the mean total variation distance.
    """
    return Estimate(value=2 * variation.mean, standard_error=2 * _sampling_error(variation))


def compared_columns(variation: Variation) -> int:
    """Return how many columns take part in some table."""
    return len({name for table in variation.tables for name in table})


def _sampling_error(variation: Variation) -> float:
    """Return the standard error of the mean distance, as that of tables drawn without replacement."""
    drawn = len(variation.tables)
    if drawn >= variation.possible:
        return 0.0
    deviation = float(variation.distances.std(ddof=1)) if drawn > 1 else _HALF
    return deviation * math.sqrt((1 - drawn / variation.possible) / drawn)


# -- The k-marginal score of NIST's challenges and of its SDNist reports, 0 to 1000.


_BEST: Final = 1000.0


K_MARGINAL: Final = {  # the metrics by their number of columns, k
    ways: Metric(f"k_marginal_{ways}", best=_BEST) for ways in (2, 3)
}


def compare_k_marginals(found: Mapping[str, Sequence[Variation]]) -> tuple[MetricResult, ...]:
    """Return the k-marginal scores of several tables for k = 2 and 3, as far as such tables were compared."""
    scores = []
    for ways, metric in K_MARGINAL.items():
        tables = {name: each for name, variations in found.items() for each in variations if each.ways == ways}
        if tables:
            values = {name: k_marginal_score(each) for name, each in tables.items()}
            columns = max(map(compared_columns, tables.values()))
            scores.append(MetricResult(metric=metric, values=values, columns=columns))
    return tuple(scores)


def k_marginal_score(variation: Variation) -> Estimate:
    """Return 1000 times one minus the mean total variation distance, with its standard error.

    The k-marginal metric of SDNist: ``500 (2 - mean L1 distance of shares)``. SDNist takes all pairs of columns; where
    there is a column of places, that column makes each pair a table of three. Changed: all tables of k columns count,
    and the cells are Lapwing's public ones (`compared_cells`), where SDNist cuts numbers into 20 parts with equal
    shares of the *private* rows: scores are on the same scale as those of its reports, but not the same.

    On tables and parts as SDNist has them, subsamples of 10 to 90 % of NIST's Massachusetts excerpt score within 4
    points of the scores that NIST published for such subsamples (tests/unit/test_nist.py).
    """
    error = workload_error(variation)
    return Estimate(value=_BEST * (1 - error.value / 2), standard_error=_BEST / 2 * error.standard_error)
