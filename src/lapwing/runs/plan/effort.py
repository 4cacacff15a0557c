"""How long a release takes and how much memory, from public numbers: a rule of thumb, not a promise.

Calibrated on releases of 10^3 to 10^6 rows and 1 to 15 columns (Adaptive: 6,000 to 200,000 rows, 9 to 112 columns),
drawing as many rows as the table has, with one core of a two-core AMD EPYC server (2026, Python 3.11). Expect to be
within a factor of three on the same machine.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from lapwing.kernel.questions.cell_sums.question import CellSums
from lapwing.kernel.questions.second_moment.question import SecondMoment
from lapwing.kernel.terms import Terms
from lapwing.mechanisms.registry import registration_of
from lapwing.model.certificate.cost_lines import Planned, PlannedQuestion
from lapwing.runs.plan.memory import MemoryNeed, memory_need, noisy_counts, own_work
from lapwing.runs.plan.planning import common_figure, expected_terms, first_deviation, noisy_tables, planned
from lapwing.runs.settings import Settings

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
    memory = MemoryNeed(
        start=max(need.start for need in needs),
        reading=max(need.reading for need in needs),
        units=max(need.units for need in needs),
        model=max(need.model for need in needs),
        codes=sum(need.codes for need in needs),
        tables=max(need.tables for need in needs),
    )
    rows_out = sum(effort.memory_bytes - effort.memory.total for effort in efforts)
    seconds = sum(effort.seconds for effort in efforts) - _START_SECONDS * (len(efforts) - 1)
    return Effort(seconds=seconds, memory=memory, memory_bytes=memory.total + rows_out)


Questions = Sequence[PlannedQuestion]


def effort_of(settings: Settings, questions: Questions, terms: Terms, rows: int) -> Effort:
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
    ``maxRows`` of the schema; what: a figure about the accuracy that all plans state, in its own words; error_times:
    the same relative to the ``maxRows`` of the schema.
    """

    max_rows: int
    tables: int
    noise_sd: float
    noise_times: float
    what: str
    error: float
    error_times: float


def max_rows_effects(settings: Settings, terms: Terms, plan: Planned, rows: int) -> tuple[MaxRowsEffect, ...]:
    """Plan again with 1, 2, half and double the rows of each unit; nothing where a row is what is protected.

    terms: its terms, with the schema's own number of rows; rows: the number of rows that are used in all, the same for
    every plan. Returns in increasing order, the schema's own number among them.
    """
    if settings.schema.privacy_unit is None or registration_of(settings.mechanism).one_row_per_unit:
        return ()
    own = terms.max_rows
    plans = {own: (plan, terms)}
    for max_rows in {1, 2, max(1, own // 2), 2 * own} - {own}:
        there = expected_terms(settings.relation, settings.schema, rows, max_rows)
        plans[max_rows] = (planned(settings, there), there)
    figures = dict(zip(plans, common_figure(list(plans.values())), strict=True))
    sds = {max_rows: first_deviation(*each) for max_rows, each in plans.items()}
    return tuple(
        MaxRowsEffect(
            max_rows=max_rows,
            tables=noisy_tables(*plans[max_rows]),
            noise_sd=sds[max_rows],
            noise_times=sds[max_rows] / sds[own],
            what=f"{figures[own].kind}: {figures[own].text}",
            error=figures[max_rows].value or 0.0,
            error_times=(figures[max_rows].value or 0.0) / (figures[own].value or 1.0),
        )
        for max_rows in sorted(plans)
    )


def effect_table(effects: Sequence[MaxRowsEffect], own: int) -> list[tuple[str, ...]]:
    """Return the effects as rows of text, the heading first."""
    heading = ("maxRows", "tables", "noise (sd)", "relative", effects[0].what.partition(":")[0], "relative")
    return [heading, *(_cells(effect, own) for effect in effects)]


def _cells(effect: MaxRowsEffect, own: int) -> tuple[str, ...]:
    """Return one line of the table."""
    return (
        f"{effect.max_rows} (the schema's)" if effect.max_rows == own else str(effect.max_rows),
        str(effect.tables),
        f"{effect.noise_sd:.4g}",
        f"{effect.noise_times:.2f}",
        f"{effect.error:.3g}",
        f"{effect.error_times:.2f}",
    )
