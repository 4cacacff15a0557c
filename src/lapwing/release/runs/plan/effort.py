"""How long a release takes and how much memory, from public numbers: a rule of thumb, not a promise.

Time is calibrated on releases of 10^3 to 10^6 rows and 1 to 15 columns (Adaptive: 6,000 to 200,000 rows, 9 to 112
columns), drawing as many rows as the table has, with one core of a two-core AMD EPYC server (2026, Python 3.11). Expect
to be within a factor of three on the same machine. Memory is measured on releases of up to 200 columns
(`docs/engines.md`), and rounded up.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from lapwing.errors import CapacityError, ParameterError
from lapwing.kernel.questions.cell_sums.question import CellSums
from lapwing.kernel.questions.second_moment.question import SecondMoment
from lapwing.kernel.questions.tree_counts.question import TreeCounts
from lapwing.kernel.terms import Terms
from lapwing.mechanisms.shared.base import Work
from lapwing.model.certificate.cost_lines import PlannedQuestion, PlannedRelease
from lapwing.model.certificate.statements import Statement
from lapwing.release.runs.misfits import first_question, of_mechanism
from lapwing.release.runs.plan.planning import (
    common_figure,
    expected_terms,
    first_deviation,
    noisy_tables,
    plan_release,
)
from lapwing.release.runs.settings import TableSettings
from lapwing.rows.cache import CACHE_BYTES
from lapwing.rows.exact_tables import CACHE_CELLS
from lapwing.schema.scalars import safe_repr

Memory = int | str | None  # a limit: bytes, a text such as "4 GB", or none

START_BYTES: Final = 150 * 10**6  # the interpreter and the libraries

_FLIGHT_BYTES: Final = 700 * 10**6  # row groups of up to 2**18 rows that Polars reads ahead
_FLIGHT_COLUMN_BYTES: Final = 25 * 10**5
_LEAST_READ_BYTES: Final = 30 * 10**6
_READ_CELL_BYTES: Final = 24
_UNIT_BYTES: Final = 25
_COUNT_BYTES: Final = 100
_CELL_BYTES: Final = 8
_LEAST = 10**6
_MOST_ROWS: Final = 10**9

_TEXT: Final = re.compile(r"\s*(\d{1,15}(?:\.\d{1,9})?)\s*(|[kmgt]i?)b?\s*", re.ASCII | re.IGNORECASE)
_POWERS: Final = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryNeed:
    """Say what a release keeps in memory, in bytes, beside a table that is given in memory and rows drawn into it.

    reading: rows that are being read, coded and counted: of Parquet files with row groups of up to 2**18 rows; units:
    25 bytes for each expected row, where rows of privacy units are chosen; codes: what the codes of all rows would
    fill; beyond what is left for them, each pass reads the table again; tables: what exact tables would fill; beyond
    what is left for them, they are counted again.
    """

    start: int
    reading: int
    units: int
    model: int
    codes: int
    tables: int

    @property
    def least(self) -> int:
        """What cannot be done without: all but `codes` and `tables`."""
        return self.start + self.reading + self.units + self.model

    @property
    def total(self) -> int:
        """What is used where there is no limit."""
        return self.least + min(self.codes, CACHE_BYTES) + min(self.tables, CACHE_CELLS * _CELL_BYTES)


@dataclass(frozen=True, slots=True, kw_only=True)
class Caches:
    """What a release may keep; changes no result.

    codes: bytes for the codes of rows; None for the usual limit; table_cells: cells of exact tables; None for the usual
    limit.
    """

    codes: int | None = None
    table_cells: int | None = None


def read_memory(memory: Memory) -> int | None:
    """Return a limit in bytes.

    memory: bytes; or a number with B, kB, MB, GB, TB (powers of 1000) or KiB, MiB, GiB, TiB (powers of 1024).

    >>> read_memory("4 GB"), read_memory("1.5GiB"), read_memory(10**9)
    (4000000000, 1610612736, 1000000000)
    """
    if memory is None:
        return None
    found = _bytes_of(memory)
    if found < _LEAST:  # a number that lacks its unit
        raise ParameterError(
            f'memory must be at least 1 MB, in bytes or text such as "4 GB", got {safe_repr(memory)}; write one of '
            "them",
            code="LW304",
        )
    return found


def _bytes_of(memory: object) -> int:
    """Return the bytes that were asked for; 0 where that is no amount of memory."""
    if isinstance(memory, int) and not isinstance(memory, bool):
        return memory
    parts = _TEXT.fullmatch(memory) if isinstance(memory, str) else None
    if parts is None:
        return 0
    number, unit = parts[1], parts[2].lower()
    return int(Fraction(number) * (1024 if unit.endswith("i") else 1000) ** _POWERS[unit[:1]])


def caches_within(memory: Memory, settings: TableSettings) -> Caches:
    """Return what a release may keep under a limit, or refuse the limit, before any row is read."""
    limit = read_memory(memory)
    if limit is None:
        return Caches()
    rows = _MOST_ROWS if settings.expected_rows is None else settings.expected_rows
    terms = expected_terms(settings.relation, settings.schema, rows)
    need = memory_need(settings, plan_release(settings, terms).questions, terms, settings.expected_rows)
    check_fits(need, limit, settings.expected_rows)
    return caches_of(need, limit)


def check_fits(need: MemoryNeed, limit: int, rows: int | None) -> None:
    """Refuse a limit below what a release cannot do without.

    rows: expected number of rows; None where nobody said one, and the need is that of a very large table.
    """
    if need.least > limit:
        guess = "say expected_rows, a public guess, as without it a very large table is expected, or "
        raise CapacityError(
            f"the release needs {_bytes_text(need.least)} of memory by its plan, above the limit of "
            f"{_bytes_text(limit)}; {guess if rows is None else ''}"
            "give more memory, or a mechanism with fewer particles or tables (`lapwing plan` shows the parts)",
            code="LW501",
        )


def caches_of(need: MemoryNeed, limit: int) -> Caches:
    """Share what a limit leaves: exact tables get what they fill, at most half, the codes of rows get the rest."""
    spare = limit - need.least
    tables = min(need.tables, spare // 2)
    return Caches(codes=spare - tables, table_cells=tables // _CELL_BYTES)


def memory_need(
    settings: TableSettings, questions: Sequence[PlannedQuestion], terms: Terms, rows: int | None
) -> MemoryNeed:
    """Return what a release needs.

    settings: give mechanism, columns and the width of a row; rows: expected number of rows; None where nobody said one.
    """
    schema = settings.schema
    model, tables = _COUNT_BYTES * sum(map(noisy_counts, questions)), 0
    work = own_work(settings, questions, terms, _MOST_ROWS if rows is None else rows)
    if work is not None:
        model, tables = model + work.model_bytes, work.table_bytes
    return MemoryNeed(
        start=START_BYTES,
        reading=_reading(len(schema.columns), rows),
        units=0 if schema.privacy_unit is None else _UNIT_BYTES * (rows or 0),
        model=model,
        codes=sum(column.domain.dtype.itemsize for column in schema.columns) * (rows or 0),
        tables=tables,
    )


def _reading(columns: int, rows: int | None) -> int:
    """Return what rows that are read, coded and counted take: all of them, or as many as are in flight at once."""
    most = _FLIGHT_BYTES + _FLIGHT_COLUMN_BYTES * columns
    return most if rows is None else min(most, _LEAST_READ_BYTES + _READ_CELL_BYTES * rows * columns)


def own_work(settings: TableSettings, questions: Sequence[PlannedQuestion], terms: Terms, rows: int) -> Work | None:
    """Return what the mechanism itself needs; None where that is counting alone."""
    _, budget = first_question(settings, settings.request.budget, terms)
    return settings.mechanism.work(settings.schema, budget, terms, of_mechanism(questions), rows)


def noisy_counts(question: PlannedQuestion) -> int:
    """Return how many noisy counts the answer to a question has."""
    if isinstance(question, TreeCounts):
        released = zip(question.shapes, question.costs, strict=True)
        return sum(math.prod(shape) for shape, cost in released if cost is not None)
    return math.prod(getattr(question, "shape", (0,)))  # a choice, and what counts nothing unlisted, has no shape


def _bytes_text(size: int) -> str:
    """Return bytes as text.

    >>> _bytes_text(123_456_789)
    '124 MB'
    """
    return f"{math.ceil(size / 10**6)} MB"


# -- How long it takes.


MACHINE: Final = "one core of a two-core AMD EPYC server"

_START_SECONDS: Final = 0.8
_CELL_SECONDS: Final = 3e-7
_COUNT_SECONDS: Final = 1e-6
_VECTOR_SECONDS: Final = 4e-8
_PRODUCT_SECONDS: Final = 5e-10
_MOMENT_SECONDS: Final = 2.5e-5

_ROW_OUT_BYTES: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """Estimate the work of a release on the calibration machine.

    seconds: ``0.8 + 3e-7 n d + 1e-6 k`` for n rows, d columns and k noisy counts: start, reading and drawing rows,
    noise and fit. For Adaptive with m particles, a released atoms of one sweep, t tables beside the one-way ones, r
    rounds and s choices among c cells, also ``5e-8 (2 m r + 10 a) t + 5e-9 n d**2 / 2 + 3e-8 s c``. For sums of vectors
    of p coordinates also ``4e-8 n p`` each, and ``5e-10 n p**2 + 2.5e-5 p**2`` for a second moment; memory: what is in
    memory while the release is made; memory_bytes: ``memory.total + 8 n d``: with as many rows drawn into memory,
    beside a table that is given in memory.
    """

    seconds: float
    memory: MemoryNeed
    memory_bytes: int


def together(efforts: Sequence[Effort]) -> Effort:
    """Return the work of parts of one release, one after the other: the codes and rows of all are kept."""
    needs = [effort.memory for effort in efforts]
    at_once = ("start", "reading", "units", "model", "tables")
    largest = {part: max(getattr(need, part) for need in needs) for part in at_once}
    memory = MemoryNeed(**largest, codes=sum(need.codes for need in needs))
    rows_out = sum(effort.memory_bytes - effort.memory.total for effort in efforts)
    seconds = sum(effort.seconds for effort in efforts) - _START_SECONDS * (len(efforts) - 1)
    return Effort(seconds=seconds, memory=memory, memory_bytes=memory.total + rows_out)


Questions = Sequence[PlannedQuestion]


def effort_of(settings: TableSettings, questions: Questions, terms: Terms, rows: int) -> Effort:
    """Estimate the work of a release.

    settings: give mechanism, budget, columns and the width of a row.
    """
    schema = settings.schema
    cells = rows * len(schema.columns)
    counts = sum(map(noisy_counts, questions))
    seconds = _START_SECONDS + _CELL_SECONDS * cells + _COUNT_SECONDS * counts
    memory = memory_need(settings, questions, terms, rows)
    seconds += sum(_vector_seconds(question, rows) for question in questions)
    work = own_work(settings, questions, terms, rows)
    seconds += 0.0 if work is None else work.seconds
    return Effort(seconds=seconds, memory=memory, memory_bytes=memory.total + _ROW_OUT_BYTES * cells)


def _vector_seconds(question: PlannedQuestion, rows: int) -> float:
    """Return what making the rows' vectors, and multiplying them, takes."""
    if not isinstance(question, CellSums | SecondMoment):
        return 0.0
    size = question.coordinates.size
    products = (_PRODUCT_SECONDS * rows + _MOMENT_SECONDS) * size**2 if isinstance(question, SecondMoment) else 0.0
    return _VECTOR_SECONDS * rows * size + products


# -- What another ``maxRows`` would do to a plan: less noise, or more rows used.


@dataclass(frozen=True, slots=True, kw_only=True)
class MaxRowsEffect:
    """Say how exact the release would be with another number of rows used of each unit, all else equal.

    noise_sd: standard deviation of the noise on the first table, in records; noise_times: the same relative to the
    ``maxRows`` of the schema; stated: a figure about the accuracy that all plans state; error_times: the same relative
    to the ``maxRows`` of the schema.
    """

    max_rows: int
    tables: int
    noise_sd: float
    noise_times: float
    stated: Statement
    error_times: float


def max_rows_effects(
    settings: TableSettings, terms: Terms, plan: PlannedRelease, rows: int
) -> tuple[MaxRowsEffect, ...]:
    """Plan again with 1, 2, half and double the rows of each unit; nothing where a row is what is protected.

    terms: its terms, with the schema's own number of rows; rows: the number of rows that are used in all, the same for
    every plan. Returns in increasing order, the schema's own number among them.
    """
    if settings.schema.privacy_unit is None or settings.mechanism.one_row_per_unit:
        return ()
    own = terms.max_rows
    plans = {own: (plan, terms)}
    for max_rows in {1, 2, max(1, own // 2), 2 * own} - {own}:
        there = expected_terms(settings.relation, settings.schema, rows, max_rows)
        plans[max_rows] = (plan_release(settings, there), there)
    figures = dict(zip(plans, common_figure(list(plans.values())), strict=True))
    sds = {max_rows: first_deviation(*each) for max_rows, each in plans.items()}
    return tuple(
        MaxRowsEffect(
            max_rows=max_rows,
            tables=noisy_tables(*plans[max_rows]),
            noise_sd=sds[max_rows],
            noise_times=sds[max_rows] / sds[own],
            stated=figures[max_rows],
            error_times=(figures[max_rows].value or 0.0) / (figures[own].value or 1.0),
        )
        for max_rows in sorted(plans)
    )
