"""The codes of one field."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

import numpy as np

from lapwing.errors import SchemaError

CONTINUOUS_VALUES: Final = 2**32
"""Cells into which a continuous number field is cut."""

MAX_VALUES: Final = 2**53
"""Most regular codes of one field: beyond, a float could not tell neighbouring values apart."""


@dataclass(frozen=True, slots=True)
class Domain:
    """The codes of one field: everything that a row can be in that column.

    Codes ``0 .. values-1`` are regular, ``values .. values+specials-1`` are the declared special values, and the one
    last code is *missing* where the field allows it, else *misfit* (a cell outside the schema; never in rows out).

    continuous: whether a regular code is an interval of real numbers; cuts: where a tree of the regular codes is cut
    before it is halved: first codes of runs, each tier increasing within 1 to ``values - 1``, coarse tiers before fine
    ones, no code twice. They come from a declared hierarchy of categories, whose runs are its branches, or from a
    logarithmic scale.

    >>> age = Domain(values=121, specials=1, missing=True, ordered=True, continuous=False)
    >>> age.size, age.last, age.dtype
    (123, 122, dtype('uint8'))
    """

    values: int
    specials: int
    missing: bool
    ordered: bool
    continuous: bool
    cuts: tuple[tuple[int, ...], ...] = ()

    def __post_init__(self) -> None:
        if not 1 <= self.values <= MAX_VALUES:
            raise SchemaError(f"a domain needs 1 to 2**53 values, got {self.values}; coarsen the field", code="LW280")
        if self.specials < 0:
            raise SchemaError(f"a domain cannot have {self.specials} special values; give at least 0", code="LW280")
        for tier in self.cuts:
            if not tier or tier[0] < 1 or tier[-1] >= self.values or any(a >= b for a, b in pairwise(tier)):
                raise SchemaError(
                    f"the cuts of a domain must increase within 1 to {self.values - 1}; sort them", code="LW280"
                )
        if len({code for tier in self.cuts for code in tier}) < sum(map(len, self.cuts)):
            raise SchemaError("the cuts of a domain name a code twice; list each in its coarsest tier", code="LW280")

    @property
    def reserved(self) -> int:
        """Codes beside the regular ones: the special values and the last code."""
        return self.specials + 1

    @property
    def size(self) -> int:
        """All codes, regular and reserved."""
        return self.values + self.reserved

    @property
    def last(self) -> int:
        """The code of missing (where allowed) or misfit."""
        return self.size - 1

    @property
    def dtype(self) -> np.dtype[Any]:
        """The smallest of uint8, uint16, uint32 and int64 that holds every code."""
        for kind in (np.uint8, np.uint16, np.uint32):
            if self.last <= np.iinfo(kind).max:
                return np.dtype(kind)
        return np.dtype(np.int64)
