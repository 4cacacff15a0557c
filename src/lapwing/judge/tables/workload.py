"""The error of a workload of marginals, as AIM is judged by: their L1 distances, averaged.

It is computed from distances that are there already: nothing is counted twice. What is computed from private rows is
private: nothing here adds noise.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Final

import numpy.typing as npt

from lapwing.errors import ParameterError
from lapwing.judge.metrics import Compared, Estimate, Metric, finite_array
from lapwing.judge.tables.variation import Variation

WORKLOAD_ERROR: Final = Metric(
    key="workload_error",
    title="workload error, tables of 3 columns",
    unit="L1 distance of shares",
    meaning=(
        "Sum of the absolute differences in share over the cells of a table, averaged over tables of three columns "
        "(of all columns, where there are fewer); from 0 for equal shares to 2 for no cell in common."
    ),
    best=0.0,
    reference=(
        "McKenna, Mullins, Sheldon, Miklau (2022), AIM: An adaptive and iterative mechanism for differentially "
        "private synthetic data, PVLDB 15(11), Definition 2"
    ),
)

_WIDEST: Final = 3
_HALF: Final = 0.5  # largest standard deviation of numbers between 0 and 1


def compare_workloads(found: Mapping[str, Sequence[Variation]]) -> Compared | None:
    """Return the workload error of several tables, from total variation distances.

    found: by the name of the table, the distances from the real one, as `compare_tables` returns them. Returns none
    where there is no table of 3 or fewer columns.

    The workload is every table of three columns, each with weight 1 (the workload ALL-3WAY of the paper; of two columns
    or one where the schema has no more), on the public cells of `compared_cells`. Where only some of these tables were
    compared, they are a sample of the workload, and the standard error says how far their mean may be from that of all.

    >>> pair = Variation(ways=2, possible=1, tables=(("a", "b"),), distances=[0.25])
    >>> compare_workloads({"synthetic": [pair]}).values["synthetic"]
    Estimate(value=0.5, standard_error=0.0)
    """
    chosen = {name: _widest(variations) for name, variations in found.items()}
    widest = {name: each for name, each in chosen.items() if each is not None}
    if not widest:
        return None
    return Compared(
        metric=WORKLOAD_ERROR,
        values={name: workload_error(each) for name, each in widest.items()},
        rows=None,
        columns=max(map(compared_columns, widest.values())),
    )


def workload_error(variation: Variation, *, weights: npt.ArrayLike | None = None) -> Estimate:
    """Return the mean weighted L1 distance over a workload of tables.

    variation: the tables and their total variation distances, half the L1 distance of shares each; weights: of the
    tables, at least 0: how much each matters. They are not scaled, so that weights of mean 1 keep the range 0 to 2. All
    1 when left out. Returns the error, and its standard error as an estimate of the mean over all tables with so many
    columns: 0 where all were compared. With weights the given tables are the workload, and the standard error is 0.

    References
    ----------
    McKenna et al. (2022), Definition 2: ``1 / (k |D|)`` times the sum over k marginals of weight times L1 distance of
    *counts*. Changed: each table's counts are divided by its own number of rows, which is the same for tables of equal
    size. Public implementations of AIM print half of this, the mean total variation distance.

    >>> pairs = Variation(ways=2, possible=3, tables=(("a", "b"), ("a", "c")), distances=[0.125, 0.25])
    >>> workload_error(pairs, weights=[2, 0]).value, workload_error(pairs).value
    (0.25, 0.375)
    """
    if weights is None:
        return Estimate(value=2 * variation.mean, standard_error=2 * _sampling_error(variation))
    factors = finite_array("weights", weights, 1)
    if factors.size != len(variation.tables) or factors.min() < 0:
        raise ParameterError(
            "weights must be at least 0 and one for each table of the workload; check them", code="LW802"
        )
    return Estimate(value=float(2 * (factors * variation.distances).mean()), standard_error=0.0)


def compared_columns(variation: Variation) -> int:
    """Return how many columns take part in some table.

    >>> compared_columns(Variation(ways=2, possible=3, tables=(("a", "b"), ("a", "c")), distances=[0.1, 0.2]))
    3
    """
    return len({name for table in variation.tables for name in table})


def _widest(variations: Sequence[Variation]) -> Variation | None:
    """Return the tables with the most columns, at most three."""
    return max((each for each in variations if each.ways <= _WIDEST), key=lambda each: each.ways, default=None)


def _sampling_error(variation: Variation) -> float:
    """Return the standard error of the mean distance, as that of tables drawn without replacement."""
    drawn = len(variation.tables)
    if drawn >= variation.possible:
        return 0.0
    deviation = float(variation.distances.std(ddof=1)) if drawn > 1 else _HALF
    return deviation * math.sqrt((1 - drawn / variation.possible) / drawn)


# -- The k-marginal score of NIST's challenges and of its SDNist reports, 0 to 1000.


_BEST: Final = 1000.0


def _metric(ways: int) -> Metric:
    """Return the score of tables with so many columns."""
    return Metric(
        key=f"k_marginal_{ways}",
        title=f"NIST {ways}-marginal score",
        unit="points of 1000",
        meaning=(
            f"Share of rows that two tables of {ways} columns have in common, cell by cell, averaged over such tables "
            "and times 1000; 1000 for equal shares, 0 for no cell in common."
        ),
        best=_BEST,
        reference=(
            "Task, Bhagat, Howarth (2023), SDNist v2: Deidentified data report tool, NIST, "
            "https://doi.org/10.18434/mds2-2943"
        ),
    )


K_MARGINAL: Final = {2: _metric(2), 3: _metric(3)}
"""The metrics by their number of columns, k."""


def compare_k_marginals(found: Mapping[str, Sequence[Variation]]) -> tuple[Compared, ...]:
    """Return the k-marginal scores of several tables, from total variation distances.

    found: by the name of the table, the distances from the real one, as `compare_tables` returns them. Returns for k =
    2 and k = 3, as far as tables of so many columns were compared; empty for one column.

    >>> pair = Variation(ways=2, possible=1, tables=(("a", "b"),), distances=[0.25])
    >>> [(score.metric.title, score.values["synthetic"].value) for score in compare_k_marginals({"synthetic": [pair]})]
    [('NIST 2-marginal score', 750.0)]
    """
    scores = []
    for ways, metric in K_MARGINAL.items():
        tables = {name: each for name, variations in found.items() for each in variations if each.ways == ways}
        if tables:
            values = {name: k_marginal_score(each) for name, each in tables.items()}
            columns = max(map(compared_columns, tables.values()))
            scores.append(Compared(metric=metric, values=values, rows=None, columns=columns))
    return tuple(scores)


def k_marginal_score(variation: Variation) -> Estimate:
    """Return 1000 times one minus the mean total variation distance.

    Returns the score, 0 to 1000, and its standard error where the tables are a sample of those with so many columns.

    References
    ----------
    The k-marginal metric of SDNist: ``500 (2 - mean L1 distance of shares)``. SDNist takes all pairs of columns; where
    there is a column of places, that column makes each pair a table of three. Changed: all tables of k columns count,
    and the cells are Lapwing's public ones (`compared_cells`), where SDNist cuts numbers into 20 parts with equal
    shares of the *private* rows. Scores of one pair of tables are thus not those of its reports, on the same scale.

    On tables and parts as SDNist has them, subsamples of 10 to 90 % of NIST's Massachusetts excerpt score within 4
    points of the scores that NIST published for such subsamples (tests/unit/test_nist.py).

    >>> k_marginal_score(Variation(ways=2, possible=1, tables=(("a", "b"),), distances=[0.05]))
    Estimate(value=950.0, standard_error=0.0)
    """
    error = workload_error(variation)
    return Estimate(value=_BEST * (1 - error.value / 2), standard_error=_BEST / 2 * error.standard_error)
