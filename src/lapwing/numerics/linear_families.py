"""Families of linear statistics: how many there are, and how much one unit changes all of them together."""

from dataclasses import dataclass
from typing import Literal, get_args

from lapwing.errors import ParameterError

Values = Literal["signed", "zero-one"]
Neighbours = Literal["add-remove", "replace-one"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """What is asked about a table.

    Parameters
    ----------
    statistics : int
        |F|, at least 1: statistics, every cell of a table counted, and the constant 1.
    values : {"signed", "zero-one"}, default "signed"
        Whether the functions go into [-1, 1], or take the values 0 and 1 alone.
    tables : int or None, default None
        Where all statistics are cells of so many tables (the constant aside): each record is in one cell of each. None
        for other statistics.

    Raises
    ------
    ParameterError
        If a number is out of its range, or tables have values that are not 0 and 1.

    Examples
    --------
    All two-way tables of 16 Boolean columns, and the constant:

    >>> Family(statistics=481, values="zero-one", tables=120).sensitivity("replace-one")
    240
    """

    statistics: int
    values: Values = "signed"
    tables: int | None = None

    def __post_init__(self) -> None:
        if self.statistics < 1:
            raise ParameterError(f"a family needs at least 1 statistic, got {self.statistics}", code="LW390")
        if self.values not in get_args(Values):
            raise ParameterError(
                f"values must be one of {', '.join(get_args(Values))}, got {self.values!r}", code="LW390"
            )
        if self.tables is not None and (self.tables < 1 or self.values != "zero-one"):
            raise ParameterError(
                f"tables must be at least 1 and have zero-one values, got {self.tables} with {self.values!r}",
                code="LW390",
            )

    def sensitivity(self, neighbours: Neighbours) -> int:
        """Return the L1 sensitivity of all sums together, in records.

        Parameters
        ----------
        neighbours : {"add-remove", "replace-one"}
            Relation of tables, one row per unit.

        Returns
        -------
        int
            Of the sums; of the means over a public number n of rows it is that divided by n.

        Raises
        ------
        ParameterError
            If there is no such relation.

        References
        ----------
        Boedihardjo, Strohmer, Vershynin, "Privacy of Synthetic Data: A Statistical Framework", (3.4) and (3.5).
        """
        if neighbours not in get_args(Neighbours):
            raise ParameterError(
                f"neighbours must be one of {', '.join(get_args(Neighbours))}, got {neighbours!r}", code="LW390"
            )
        is_twice = neighbours == "replace-one" and (self.tables is not None or self.values == "signed")
        return (self.tables or self.statistics) * (2 if is_twice else 1)
