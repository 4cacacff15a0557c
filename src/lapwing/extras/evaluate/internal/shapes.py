"""What all cells of one column look like together: the values that occur, and which of them may be codes."""

from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl

from lapwing.extras.evaluate.internal.written import markers_among
from lapwing.schema.fields import Field

NUMBERS: Final = ("integer", "number")
_RARE: Final = 0.002  # of the rows
_MOST_DECIMALS: Final = 6
_APART: Final = 2  # times as far from the others as any two of them

USUAL_CODES: Final = frozenset(
    [sign * int(digit * length) for digit in "789" for length in range(1, 7) for sign in (1, -1)]
    + [sign * int("9" * length + end) for end in "78" for length in (1, 2, 3) for sign in (1, -1)]
    + [-1, -2, -3, -6, -66, -666]
)
"""Numbers that many tables have where there is no number: public, and with the usual markers for missing the only
values of cells that are ever shown."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Shape:
    """How often each value of a column occurs: values, increasing unless they are texts, as many counts."""

    field: Field
    values: pl.Series
    counts: np.ndarray
    missing: int
    texts: pl.Series  # as they stand in the table

    @property
    def kind(self) -> str:
        """The type."""
        return self.field.type

    @property
    def rows(self) -> int:
        """How many cells have a value."""
        return int(self.counts.sum())

    @property
    def numbers(self) -> np.ndarray:
        """The values of numbers and dates; whole numbers beyond 2**53 are told apart as values only."""
        found = self.values.to_numpy()
        return found.astype(np.float64) if self.kind in NUMBERS else found

    @property
    def markers(self) -> tuple[str, ...]:
        """The usual markers for missing that are among texts."""
        return markers_among(self.values) if self.kind == "string" else ()

    @property
    def step(self) -> float | None:
        """The power of ten, at most one, of which all numbers are multiples; None where there is none."""
        for places in range(_MOST_DECIMALS + 1):
            scaled = np.abs(self.numbers) * 10.0**places
            if np.allclose(scaled, np.rint(scaled), rtol=1e-12, atol=1e-6 * min(1.0, scaled.max())):
                return float(10.0**-places)
        return None

    @property
    def codes(self) -> tuple[int, ...]:
        """Which usual codes are frequent numbers that stand apart from all others: below zero, or far above them."""
        if self.kind not in NUMBERS:
            return ()
        x, is_frequent = self.numbers, self.counts > max(1.0, _RARE * self.rows)
        may_be = [int(value) for value in x[is_frequent & np.isin(x, list(USUAL_CODES))]]
        others = x[~np.isin(x, may_be)]
        if len(others) < 2:
            return ()
        found = [code for code in may_be if code < 0 <= others[0]]
        widest, last = float(np.diff(others).max()), float(others[-1])
        for code in (each for each in may_be if each > 0):
            if code - last >= _APART * widest:
                found.append(code)
            else:
                last = max(last, code)
        return tuple(found)
