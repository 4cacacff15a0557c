"""How far a table is from the real one within every group of people: the rows that agree in some named columns.

What is computed from private rows is private: nothing here adds noise.
"""

from dataclasses import dataclass

from lapwing.evaluate.estimates import Estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class SubgroupAccuracy:
    """Hold how far one group of rows is from the same group of the real table.

    Parameters
    ----------
    columns : tuple of str
        The columns that define the group.
    labels : tuple of str
        What the group has in each of them.
    rows, synthetic_rows : int
        Rows of the group in the real and in the synthetic table.
    variation : Estimate
        Mean over the other columns of the total variation distance of their 1-way tables, given the group: 0 to 1.
        It is 1 where the synthetic table has no row of the group.
    bootstrap : Estimate
        The same for as many real rows drawn with replacement: what chance alone makes.
    is_too_small : bool
        Whether the group is too small to trust either figure.
    """

    columns: tuple[str, ...]
    labels: tuple[str, ...]
    rows: int
    synthetic_rows: int
    variation: Estimate
    bootstrap: Estimate
    is_too_small: bool
