"""Rows that were published before, as a mechanism is given them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from lapwing.maths.arrays import read_only
from lapwing.schema.schemas import Schema

MOST_PRIORS: Final = 8
_MADE_UP: Final = 60
"""Rows of a prior that stands for another one."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PriorRows:
    """Rows that were published before, in the codes of this schema.

    codes: mapping of str to integers (rows,), of the columns that they have; at least one column and row; name: a path,
    or what they are; origin: what they were published under, a sentence for the certificate.
    """

    codes: Mapping[str, np.ndarray]
    name: str
    origin: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "codes", {name: read_only(codes) for name, codes in self.codes.items()})

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(next(iter(self.codes.values())))

    def __repr__(self) -> str:
        return self.name


def made_up(schema: Schema) -> PriorRows:
    """Return a prior of no relation to any table, for audits, and for plans of releases whose prior is yet to come."""
    codes = {
        column.name: np.arange(_MADE_UP) * (place + 1) % column.domain.values
        for place, column in enumerate(schema.columns)
    }
    return PriorRows(codes, "made up", "the prior is made up")
