"""Rows that were published before, as a mechanism is given them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from lapwing.maths.arrays import read_only

MOST_PRIORS: Final = 8


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


def priors_of(mechanism: object) -> tuple[PriorRows, ...]:
    """Return what a mechanism's ``prior`` is once it has been read: rows in code, none, one or several."""
    given = getattr(mechanism, "prior", None)
    return tuple(each for each in (given if isinstance(given, tuple) else (given,)) if isinstance(each, PriorRows))


def priors_assumed(mechanism: object) -> tuple[str, ...]:
    """Say what each prior of a mechanism is, and that it is taken to be what it says."""
    return tuple(each.origin for each in priors_of(mechanism))
