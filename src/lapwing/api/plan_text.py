"""The parts of a plan as lines of text."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

from lapwing.api.plan_effort import MACHINE, Effort
from lapwing.release.certificate import CostLine, Statement
from lapwing.release.cost_lines import CHOSEN

_SHOWN: Final = 40
_ONE_COLUMN: Final = "(one column each)"


def cost_table(lines: Sequence[CostLine]) -> list[str]:
    """Return the cost lines as an aligned table: equal ones once, and the first ones where many differ."""
    times = Counter(_cells(line, _what(line)) for line in lines)
    if len(times) > _SHOWN:
        times = Counter(_cells(line, _ONE_COLUMN if len(line.columns) == 1 else _what(line)) for line in lines)
    shown = _first(times)
    rows = [("question", "columns", "level", "noise", "sd (records)", "cost")]
    rows += [_times(cells, times[cells]) for cells in shown]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    text = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return text + _more(len(times) - len(shown))


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
        f"{'epsilon' if line.cost.notion == 'pure' else 'rho'} {float(line.cost.amount):.4g}",
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
    if line.question == CHOSEN:
        return "(the table that the selection chooses)"
    return ", ".join(line.columns) or "(number of rows)"


def error_lines(statements: Sequence[Statement]) -> list[str]:
    """Return the accuracy statements, the first ones where there are many."""
    lines = [
        f"{statement.kind[:1].upper()}{statement.kind[1:]}: "
        + (statement.text if statement.value is None else f"{statement.value:.3g} - {statement.text}")
        for statement in statements[:_SHOWN]
    ]
    return [f"{line}." for line in lines] + _more(len(statements) - _SHOWN)


def effort_text(effort: Effort, rows: int) -> str:
    """Say how long it takes and how much memory it needs."""
    return (
        f"Time and memory: about {effort.seconds:.2g} s and {effort.memory_bytes / 10**6:.0f} MB beside the table for "
        f"{rows} rows in and out, on {MACHINE}; within a factor of 3."
    )


def _more(count: int) -> list[str]:
    """Say how many lines are left out."""
    return [f"and {count} more"] if count > 0 else []
