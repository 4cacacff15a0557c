"""Rows drawn from a released model, and how far tables of them are from each other."""

import math
from collections.abc import Sequence
from typing import Final

import numpy as np

from lapwing.maths.arrays import Codes
from lapwing.model.compared import CellParts, count_distances, keys_of, side_by_side
from lapwing.model.model import ReleasedModel
from lapwing.model.rows import population_codes
from lapwing.schema.groupings.grouping import Grouping
from lapwing.schema.schemas import Schema

MOST_ROWS: Final = 50_000  # rows that are drawn from the model, twice; the real ones are taken to be as many, at most
SIZE: Final = math.sqrt(2 / math.pi)  # mean size of Gaussian noise of deviation 1


class DrawnTwice:
    """Rows drawn twice from a model, and the second time with every column shuffled by itself as well."""

    def __init__(self, schema: Schema, model: ReleasedModel, rng: np.random.Generator) -> None:
        self.total = float(max(1, model.rows))
        self.size = max(1, min(model.rows, MOST_ROWS))
        one, other = (population_codes(model, schema, self.size, rng) for _ in range(2))
        shuffled = {name: column[rng.permutation(self.size)] for name, column in other.items()}
        self.rows: tuple[Codes, ...] = (one, other, shuffled)
        self._parts: dict[tuple[str, Grouping], CellParts] = {}
        self._distances: dict[tuple[CellParts, ...], tuple[float, float]] = {}

    @property
    def as_whole(self) -> float:
        """How much nearer to the model rows would be if as many were drawn as it stands for."""
        return math.sqrt(self.size / max(self.total, self.size))

    def distances(self, columns: Sequence[str], groupings: Sequence[Grouping]) -> tuple[float, float]:
        """Return how far the first rows are from the second, and from the shuffled ones."""
        parts = tuple([self._part(name, each) for name, each in zip(columns, groupings, strict=True)])
        if parts not in self._distances:
            again, shuffled = count_distances(parts, [self.size] * len(self.rows))
            self._distances[parts] = float(again), float(shuffled)
        return self._distances[parts]

    def counts(self, columns: Sequence[str], groupings: Sequence[Grouping]) -> np.ndarray:
        """Return the model's contingency table, in rows of the release."""
        parts = [self._part(name, each) for name, each in zip(columns, groupings, strict=True)]
        seen = np.bincount(keys_of(parts, 0), minlength=math.prod(part.size for part in parts))
        counts = np.zeros([each.groups for each in groupings])
        counts[np.ix_(*(part.used for part in parts))] = seen.reshape([part.size for part in parts])
        return counts.reshape(-1) * (self.total / self.size)

    def _part(self, name: str, grouping: Grouping) -> CellParts:
        """Return the cells of a column in all rows, looked up once."""
        if (name, grouping) not in self._parts:
            self._parts[name, grouping] = side_by_side(grouping, [codes[name] for codes in self.rows])
        return self._parts[name, grouping]

    def noise(self, counts: np.ndarray, sd: float, kept: float) -> float:
        """Return the total variation that noise makes, which moves no cell by more than it holds.

        kept: share of its variance that a fit has left. It has taken signal with the rest: the error is between that of
        what is kept and that of all noise, and taken to be their geometric mean.
        """
        both = [float(np.minimum(SIZE * each, 2 * counts).sum()) for each in (sd, sd * math.sqrt(kept))]
        return math.sqrt(both[0] * both[1]) / 2 / self.total
