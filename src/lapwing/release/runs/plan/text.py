"""The parts of a plan as lines of text."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

from lapwing.kernel.plain import at_least
from lapwing.kernel.questions.misfit_rows.question import MisfitRows
from lapwing.kernel.questions.private_draw.question import PrivateDraw
from lapwing.kernel.terms import Relation
from lapwing.model.certificate.certificate import CostLine, Statement
from lapwing.model.certificate.cost_lines import CHOSEN
from lapwing.model.certificate.promise import ROW, protection_lines
from lapwing.release.runs.plan.effort import MACHINE, Effort, MaxRowsEffect, MemoryNeed, effect_table

_SHOWN: Final = 40
_COLUMNS: Final = 4
_ONE_COLUMN: Final = "(one column each)"


def cost_table(lines: Sequence[CostLine]) -> list[str]:
    """Return the cost lines as an aligned table: equal ones once, and the first ones where many differ."""
    times = Counter(_cells(line, _what(line)) for line in lines)
    if len(times) > _SHOWN:
        times = Counter(_cells(line, _ONE_COLUMN if len(line.columns) == 1 else _what(line)) for line in lines)
    shown = _first(times)
    rows = [("question", "columns", "level", "noise", "sd (records)", "cost")]
    rows += [_times(cells, times[cells]) for cells in shown]
    return aligned(rows) + _more(len(times) - len(shown))


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return cells as lines of text with aligned columns."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


_Cells = tuple[str, str, str, str, str, str]


def _cells(line: CostLine, what: str) -> _Cells:
    """Return a line as the cells of a table."""
    law = line.noise
    return (
        line.question,
        what,
        "" if line.level is None else str(line.level),
        "" if law is None else f"discrete {law.kind}",
        "" if law is None else f"{law.sd:.4g}",
        f"{'epsilon' if line.cost.notion == 'pure' else 'rho'} {at_least(line.cost.amount, 4)}",
    )


def _first(times: Mapping[_Cells, int]) -> list[_Cells]:
    """Return the lines that are shown, in order: those that stand for several, and the first others."""
    single = [cells for cells, count in times.items() if count == 1]
    kept = set(single[: max(0, _SHOWN - len(times) + len(single))])
    return [cells for cells, count in times.items() if count > 1 or cells in kept]


def _times(cells: _Cells, count: int) -> _Cells:
    """Say how often a line occurs, where it is more than once."""
    first, what, level, noise, sd, cost = cells
    return (f"{count} x {first}", what, level, noise, sd, f"{cost} each") if count > 1 else cells


def _what(line: CostLine) -> str:
    """Say what a line is about."""
    if line.candidates is not None:
        return f"(selection among {line.candidates} candidates)"
    if line.question == PrivateDraw.kind:
        return f"(rows of {len(line.columns)} columns)"
    if line.question == MisfitRows.kind:
        return "(rows that do not fit the schema)"
    if line.question == CHOSEN:
        return "(a table of two to four columns)"
    more = len(line.columns) - _COLUMNS
    named = ", ".join(line.columns[:_COLUMNS]) + (f" and {more} more" if more > 0 else "")
    return named or "(number of rows)"


def error_lines(statements: Sequence[Statement]) -> list[str]:
    """Return the accuracy statements, the first ones where there are many."""
    lines = [
        f"{statement.kind[:1].upper()}{statement.kind[1:]}: "
        + (statement.text if statement.value is None else f"{statement.figure} - {statement.text}")
        for statement in statements[:_SHOWN]
    ]
    return [f"{line}." for line in lines] + _more(len(statements) - _SHOWN)


def unit_lines(relation: Relation, privacy_unit: str, max_rows: int) -> list[str]:
    """Say what is protected, and what it costs that one unit may own several rows."""
    lines = protection_lines(relation, privacy_unit)
    if privacy_unit == ROW:
        return [
            *lines,
            "If a person may own several rows, name a privacyUnit in the schema: it protects them together.",
        ]
    if max_rows == 1:
        return lines
    return [*lines, f"At the same cost, the noise on a count is {max_rows} times that for one row per unit."]


def max_rows_lines(effects: Sequence[MaxRowsEffect], own: int) -> list[str]:
    """Show what another ``maxRows`` would change, and say what it loses on the other side."""
    if not effects:
        return []
    figure = effects[0].what.partition(":")
    return [
        "If maxRows were another, all else equal (noise: on the first table):",
        *aligned(effect_table(effects, own)),
        f"{figure[0][:1].upper()}{figure[0][1:]} here:{figure[2]}.",
        "A smaller maxRows uses fewer rows: those of a unit beyond it are dropped. How many that are is private; "
        "`lapwing schema check S.json DATA` shows it to the owner of the table.",
        "",
    ]


def effort_text(effort: Effort, rows: int) -> str:
    """Say how long it takes and how much memory it needs."""
    return (
        f"Time and memory: about {effort.seconds:.2g} s and {effort.memory_bytes / 10**6:.0f} MB beside the table for "
        f"{rows} rows in and out, on {MACHINE}; within a factor of 3."
    )


def memory_lines(need: MemoryNeed) -> list[str]:
    """Say what is in memory while the release is made, part by part, and what a limit may take away."""
    parts = {
        "interpreter and libraries": need.start,
        "blocks of rows": need.reading,
        "rows of units": need.units,
        "counts, candidates and particles": need.model,
    }
    kept = {"codes of all rows": need.codes, "exact tables": need.tables}
    return [
        f"Memory of the release itself: at least {_megabytes(need.least)} ({_listed(parts)}). Kept where a limit "
        f"leaves room, else read or counted again: {_listed(kept) or 'nothing'}."
    ]


def _listed(parts: Mapping[str, int]) -> str:
    """Return the parts that are not empty."""
    return ", ".join(f"{name} {_megabytes(size)}" for name, size in parts.items() if size)


def _megabytes(size: int) -> str:
    return f"{max(1, round(size / 10**6))} MB"


def _more(count: int) -> list[str]:
    """Say how many lines are left out."""
    return [f"and {count} more"] if count > 0 else []
