"""The k-marginal score of NIST's challenges and of its SDNist reports, 0 to 1000.

It is computed from distances that are there already: nothing is counted twice. What is computed from private rows is
private: nothing here adds noise.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from lapwing.evaluate.estimates import Estimate
from lapwing.evaluate.metrics import Compared, Metric
from lapwing.evaluate.variation import Variation
from lapwing.evaluate.workload_error import compared_columns, workload_error

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

    Parameters
    ----------
    found : mapping of str to sequence of Variation
        By the name of the table, the distances from the real one, as `compare_tables` returns them.

    Returns
    -------
    tuple of Compared
        For k = 2 and k = 3, as far as tables of so many columns were compared; empty for one column.

    Examples
    --------
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

    Parameters
    ----------
    variation : Variation
        The tables of k columns and their distances.

    Returns
    -------
    Estimate
        The score, 0 to 1000, and its standard error where the tables are a sample of those with so many columns.

    References
    ----------
    The k-marginal metric of SDNist: ``500 (2 - mean L1 distance of shares)``. SDNist takes all pairs of columns; where
    there is a column of places, that column makes each pair a table of three. Changed: all tables of k columns count,
    and the cells are Lapwing's public ones (`compared_cells`), where SDNist cuts numbers into 20 parts with equal
    shares of the *private* rows. Scores of one pair of tables are thus not those of its reports, on the same scale.

    Notes
    -----
    On tables and parts as SDNist has them, subsamples of 10 to 90 % of NIST's Massachusetts excerpt score within 4
    points of the scores that NIST published for such subsamples (tests/unit/test_nist.py).

    Examples
    --------
    >>> k_marginal_score(Variation(ways=2, possible=1, tables=(("a", "b"),), distances=[0.05]))
    Estimate(value=950.0, standard_error=0.0)
    """
    error = workload_error(variation)
    return Estimate(value=_BEST * (1 - error.value / 2), standard_error=_BEST / 2 * error.standard_error)
