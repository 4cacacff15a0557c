"""Calendar months and years as codes."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

_IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Calendar:
    """Calendar months or years, counted from that of a field's minimum.

    Parameters
    ----------
    unit : str
        ``month`` or ``year``.
    base : str
        What numbers count since 1970-01-01: ``D`` (days) or ``us`` (microseconds).
    minimum : int
        The field's first number.

    Examples
    --------
    >>> months = Calendar(unit="month", base="D", minimum=14)
    >>> months.codes(np.array([14, 30, 31])).tolist(), months.starts(np.array([0, 1])).tolist()
    ([0, 0, 1], [14, 31])
    """

    unit: Literal["month", "year"]
    base: Literal["D", "us"]
    minimum: int

    def codes(self, numbers: _IntArray) -> _IntArray:
        """Return the months or years from the minimum to each number, which lies in the years 1 to 9999."""
        return self._count(numbers) - self._count(np.array([self.minimum]))

    def starts(self, codes: _IntArray) -> _IntArray:
        """Return the first number of each month or year, but never one below the minimum."""
        count = codes + self._count(np.array([self.minimum]))
        first = count.astype(f"datetime64[{self.unit[0].upper()}]").astype(f"datetime64[{self.base}]")
        return np.maximum(first.astype(np.int64), self.minimum)

    def _count(self, numbers: _IntArray) -> _IntArray:
        """Return the months or years since 1970."""
        moments = numbers.astype(np.int64).astype(f"datetime64[{self.base}]")
        return moments.astype(f"datetime64[{self.unit[0].upper()}]").astype(np.int64)
