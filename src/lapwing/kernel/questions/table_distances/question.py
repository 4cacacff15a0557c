"""The question for the distances between tables of the rows and public tables, summed to one number."""

import hashlib
import math
import re
from dataclasses import dataclass, field
from typing import ClassVar, Final

import numpy as np

from lapwing.errors import CapacityError, ParameterError
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.noise_law import Sensitivity
from lapwing.kernel.plain import MAX_CELLS
from lapwing.kernel.questions.cell_sums.question import NoisySums
from lapwing.kernel.questions.questions import (
    WithoutDelta,
    check_cost,
    noise_for_cost,
    one_table,
)
from lapwing.kernel.terms import Relation, Terms
from lapwing.maths.arrays import read_only
from lapwing.schema.groupings.grouping import Grouping
from lapwing.schema.schemas import Schema

MOST_TABLES: Final = 2**12
"""Most tables of one question: with it, sums stay inside int64."""

LARGEST_TOTAL: Final = 2**47
"""The most that the expected counts of one table sum to: ``2**31`` rows at 16 bits."""

LARGEST_CELL: Final = 2**62
"""Cells of a table are numbered below this."""

MOST_BITS: Final = 16
_DIGEST = re.compile(r"([0-9a-f]{64})?", re.ASCII)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class TableDistances(WithoutDelta[NoisySums]):
    """Ask how far some tables of the rows are from public ones: ``sum over tables of |s * counts - expected|_1``.

    tables: 1 to 4096 tables, each the positions of its columns, increasing. A table over groups G_1 .. G_w has their
    product of cells, at most ``2**62``, numbered in C order; cells: tuple of int64, or None, for each table the numbers
    of the cells that are listed, at least one, increasing; of all tables together at most ``2**26``. Rows in a cell
    that is not listed count as a distance of s each, as of an expected count of 0. None for a question read back from a
    record: it has a cost and can be compared, but is not answered; expected: tuple of int64, or None, what is expected
    in each listed cell, in units of ``2**-bits`` rows: at least 0, of one table at most ``2**47`` in all. Public: made
    without the rows. None exactly where the cells are; digest: SHA-256 of cells and expected counts, computed where
    they are given.

    Guarantee: ε-DP with discrete Laplace, ρ-zCDP with discrete Gaussian noise on the one sum, under the relation and
    ``max_rows`` that `sensitivity` is given (proof: ``proof.md``). A record keeps the digest in
    place of cells and expected counts, which are many megabytes.
    """

    document: ClassVar = ("kind", "columns", "groupings", "tables", "bits", "digest", "cost")
    kind: ClassVar[str] = "TableDistances"
    called: ClassVar[str] = "noisy mean distance"
    purpose: ClassVar[str] = "checking the released rows against the private ones"

    columns: tuple[str, ...]
    groupings: tuple[Grouping, ...] = field(repr=False)
    tables: tuple[tuple[int, ...], ...] = field(repr=False)
    cells: tuple[np.ndarray, ...] | None = field(default=None, repr=False)
    expected: tuple[np.ndarray, ...] | None = field(default=None, repr=False)
    bits: int
    cost: Budget
    digest: str = ""

    def __post_init__(self) -> None:
        if len(self.columns) != len(self.groupings) or len(set(self.columns)) != len(self.columns):
            raise ParameterError(
                "TableDistances needs distinct columns with one grouping each; name each once", code="LW641"
            )
        check_cost(self.cost)
        if isinstance(self.bits, bool) or not 0 <= self.bits <= MOST_BITS:
            raise ParameterError(
                f"the scale of distances must be 2**0 to 2**{MOST_BITS}, got {self.bits} bits", code="LW641"
            )
        self._check_tables()
        if self.cells is not None and self.expected is not None:
            object.__setattr__(self, "digest", self._fixed(self.cells, self.expected))
            return
        if self.cells is not None or self.expected is not None:
            raise ParameterError(
                "TableDistances needs both cells and expected counts, or neither; give the other too", code="LW641"
            )
        if _DIGEST.fullmatch(self.digest) is None:
            raise ParameterError(
                "the digest of TableDistances must be 64 hexadecimal digits; the record is damaged", code="LW643"
            )

    def _check_tables(self) -> None:
        """Refuse tables that the columns do not have."""
        if not 1 <= len(self.tables) <= MOST_TABLES:
            raise CapacityError(
                f"TableDistances is about 1 to {MOST_TABLES} tables, got {len(self.tables)}; ask twice", code="LW504"
            )
        every = [place for table in self.tables for place in table]
        if (
            not all(self.tables)
            or set(map(type, every)) != {int}
            or not 0 <= min(every) <= max(every) < len(self.columns)
        ):
            raise ParameterError(
                "a table must name at least one of the columns by position; count them from 0", code="LW641"
            )
        if any(list(table) != sorted(set(table)) for table in self.tables):
            raise ParameterError("the positions of a table's columns must increase; sort them", code="LW641")
        if max(map(self.size_of, self.tables)) > LARGEST_CELL:
            raise CapacityError("a table has more than 2**62 cells; use coarser groupings", code="LW502")

    def _fixed(self, cells: tuple[np.ndarray, ...], expected: tuple[np.ndarray, ...]) -> str:
        """Check cells and expected counts, make them read-only, and return their digest."""
        if not len(cells) == len(expected) == len(self.tables):
            raise ParameterError(
                "TableDistances needs cells and expected counts of each of its tables; give all", code="LW641"
            )
        if sum(each.size for each in cells) > MAX_CELLS:
            raise CapacityError(
                f"TableDistances lists more than {MAX_CELLS} cells; ask about fewer or coarser tables", code="LW502"
            )
        digest = hashlib.sha256()
        for table, listed, counts in zip(self.tables, cells, expected, strict=True):
            _check_listed(listed, counts, self.size_of(table))
            for values in (listed, counts):
                digest.update(len(values).to_bytes(8, "little"))
                digest.update(np.ascontiguousarray(values, dtype="<i8").data)
        object.__setattr__(self, "cells", tuple(map(read_only, cells)))
        object.__setattr__(self, "expected", tuple(map(read_only, expected)))
        return digest.hexdigest()

    def size_of(self, table: tuple[int, ...]) -> int:
        """Return the number of cells of a table."""
        return math.prod(self.groupings[place].groups for place in table)

    @property
    def shape(self) -> tuple[int, ...]:
        """One number."""
        return (1,)

    @property
    def scale(self) -> int:
        """What stands for one row: ``2**bits`` times the number of tables, so that it is the mean over the tables."""
        return len(self.tables) << self.bits

    def sensitivity(self, relation: Relation, max_rows: int) -> Sensitivity:
        """Bound the change of the sum: a unit owns at most ``max_rows`` rows, and each lies in one cell of a table."""
        change = max_rows * self.scale * (1 if relation == "add-remove" else 2)
        return Sensitivity(change, change**2)

    noise = noise_for_cost
    parts = one_table

    def check(self, terms: Terms, schema: Schema) -> None:
        """Refuse a question that was read back from a record."""
        del terms, schema
        if self.cells is None:
            raise ParameterError("a TableDistances without cells is only a record; ask one that has them", code="LW641")


def _check_listed(cells: np.ndarray, expected: np.ndarray, size: int) -> None:
    """Refuse cells that a table does not have, and expected counts out of range."""
    if any(each.dtype != np.int64 or each.ndim != 1 for each in (cells, expected)) or cells.shape != expected.shape:
        raise ParameterError(
            "the cells and expected counts of a table must be int64, flat and as many; list them so", code="LW641"
        )
    if not cells.size or cells[0] < 0 or cells[-1] >= size or not (cells[1:] > cells[:-1]).all():
        raise ParameterError(
            "a table must list at least one of its cells, their numbers increasing; sort them", code="LW641"
        )
    # A sum of floats first: one of integers could leave int64.
    if expected.min() < 0 or expected.sum(dtype=np.float64) > LARGEST_TOTAL:
        raise ParameterError(
            "expected counts must be at least 0 and sum to at most 2**47 in a table; use fewer bits", code="LW641"
        )
