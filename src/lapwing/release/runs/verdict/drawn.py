"""Rows drawn twice from a released model: such as are released, and such as stand for the real ones in a forecast."""

import math
from collections.abc import Sequence
from typing import Final

import numpy as np

from lapwing.errors import CapacityError
from lapwing.maths.arrays import Ints
from lapwing.model.model import ReleasedModel
from lapwing.model.rows import population_codes
from lapwing.schema.groupings.grouping import Grouping
from lapwing.schema.schemas import Schema

_MOST_CELLS: Final = 2**27
MOST_ROWS: Final = 50_000  # rows that are drawn from the model; the real ones are taken to be as many, at most


class ModelDraws:
    """Rows drawn twice from a released model; total: rows that it stands for, size: rows drawn each time."""

    def __init__(self, schema: Schema, model: ReleasedModel, rng: np.random.Generator) -> None:
        self.total = float(max(1, model.rows))
        self.size = max(1, min(model.rows, MOST_ROWS))
        self.codes, self.again = (population_codes(model, schema, self.size, rng) for _ in range(2))
        self._groups: dict[tuple[str, Grouping, bool], Ints] = {}

    def groups(self, name: str, grouping: Grouping, *, again: bool = False) -> Ints:
        """Return the group of a column that each row is in."""
        key = name, grouping, again
        if key not in self._groups:
            codes = (self.again if again else self.codes)[name]
            self._groups[key] = grouping.apply(codes).astype(np.int64)
        return self._groups[key]

    def cells(self, columns: Sequence[str], groupings: Sequence[Grouping], *, again: bool = False) -> Ints:
        """Return the cell of the contingency table that each row is in."""
        keys = np.zeros(self.size, dtype=np.int64)
        for name, grouping in zip(columns, groupings, strict=True):
            keys = keys * grouping.groups + self.groups(name, grouping, again=again)
        return keys

    def counts(self, columns: Sequence[str], groupings: Sequence[Grouping], *, again: bool = False) -> np.ndarray:
        """Return the model's contingency table, in rows of the release, on one axis."""
        cells = math.prod(each.groups for each in groupings)
        if cells > _MOST_CELLS:
            raise CapacityError("a table has more than 2**27 cells; merge categories", code="LW506")
        found = np.bincount(self.cells(columns, groupings, again=again), minlength=cells)
        return found * (self.total / self.size)
