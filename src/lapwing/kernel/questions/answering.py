"""What the answers of all questions need: access to private rows, and noise of a given law."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from lapwing.kernel.noise.bits import BitSource
from lapwing.kernel.noise.gaussian import discrete_gaussian
from lapwing.kernel.noise.laplace import discrete_laplace
from lapwing.kernel.noise_law import NoiseLaw
from lapwing.rows.counting import CodedSource, Codes
from lapwing.rows.exact_tables import ExactTables
from lapwing.schema.schemas import Schema

_ROWS: Final = 2**12  # of one block: sums of so many products of numbers up to 2**16 are exact in floats


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PrivateRows:
    """Hold what a room answers from: the rows, at most ``max_rows`` of each unit, and tables counted of them before.

    schema: of the rows; decodes records, and names the texts for missing.
    """

    source: CodedSource
    tables: ExactTables
    schema: Schema

    @classmethod
    def of(cls, source: CodedSource, schema: Schema, most_cells: int | None = None) -> "PrivateRows":
        """Return rows of which no table is counted yet."""
        return cls(source, ExactTables(source, most_cells), schema)


def blocks(source: CodedSource) -> Iterator[Codes]:
    """Yield the rows in blocks whose sums of products are exact in floats.

    Guarantee: none, these are the rows themselves; for use inside the room.
    """
    for chunk in source.chunks():
        rows = len(next(iter(chunk.values())))
        for start in range(0, rows, _ROWS):
            yield {name: codes[start : start + _ROWS] for name, codes in chunk.items()}


def noise_of(law: NoiseLaw, size: int, bits: BitSource) -> np.ndarray:
    """Draw integer noise of a law: ndarray of int64, shape (size,).

    Guarantee: independent exact draws of the law, from secret bits alone.
    """
    if law.kind == "laplace":
        return discrete_laplace(law.parameter, size, bits)
    return discrete_gaussian(law.parameter, size, bits)
