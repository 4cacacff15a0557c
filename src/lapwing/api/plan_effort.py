"""How long a release takes and how much memory, from public numbers: a rule of thumb, not a promise.

Calibrated on releases of 10^3 to 10^6 rows and 1 to 15 columns, drawing as many rows as the table has, with one core of
a two-core AMD EPYC server (2026, Python 3.11). Expect to be within a factor of three on the same machine.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from lapwing.release.chosen_table import ChosenTable
from lapwing.release.questions import MarginalCounts
from lapwing.release.select_worst import SelectWorst
from lapwing.release.tree_counts import TreeCounts
from lapwing.schema.schemas import Schema
from lapwing.table.source import CACHE_BYTES

MACHINE: Final = "one core of a two-core AMD EPYC server"

_START_SECONDS: Final = 0.8
_CELL_SECONDS: Final = 3e-7
_COUNT_SECONDS: Final = 1e-6
_START_BYTES: Final = 100 * 10**6
_ROW_OUT_BYTES: Final = 8
_COUNT_BYTES: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """Estimate the work of a release on the calibration machine.

    Parameters
    ----------
    seconds : float
        ``0.8 + 3e-7 n d + 1e-6 k`` for n rows, d columns and k noisy counts: start, reading and drawing rows, noise
        and fit.
    memory_bytes : int
        ``10**8 + min(n w, 2**28) + 8 n d + 100 k``, with w bytes for the codes of a row, beside the table itself.
    """

    seconds: float
    memory_bytes: int


def effort_of(
    schema: Schema, questions: Sequence[MarginalCounts | TreeCounts | SelectWorst | ChosenTable], rows: int
) -> Effort:
    """Estimate the work of a release.

    Parameters
    ----------
    schema : Schema
        Gives columns and the width of a row.
    questions : sequence of MarginalCounts, TreeCounts or SelectWorst
        All that will be asked.
    rows : int
        Expected number of rows.
    """
    cells = rows * len(schema.columns)
    counts = sum(_noisy_counts(question) for question in questions)
    width = sum(column.domain.dtype.itemsize for column in schema.columns)
    return Effort(
        seconds=_START_SECONDS + _CELL_SECONDS * cells + _COUNT_SECONDS * counts,
        memory_bytes=_START_BYTES + min(rows * width, CACHE_BYTES) + _ROW_OUT_BYTES * cells + _COUNT_BYTES * counts,
    )


def _noisy_counts(question: MarginalCounts | TreeCounts | SelectWorst | ChosenTable) -> int:
    """Return how many noisy counts the answer has."""
    if isinstance(question, MarginalCounts):
        return math.prod(question.shape)
    if isinstance(question, SelectWorst | ChosenTable):
        return 0
    released = zip(question.shapes, question.costs, strict=True)
    return sum(math.prod(shape) for shape, cost in released if cost is not None)
