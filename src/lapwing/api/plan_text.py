"""The parts of a plan as lines of text."""

from collections.abc import Sequence
from typing import Final

from lapwing.api.plan_effort import MACHINE, Effort
from lapwing.release.certificate import CostLine, Statement
from lapwing.release.cost_lines import CHOSEN

_SHOWN: Final = 40


def cost_table(lines: Sequence[CostLine]) -> list[str]:
    """Return the cost lines as an aligned table, the first ones where there are many."""
    rows = [("question", "columns", "level", "noise", "sd (records)", "cost")]
    for line in lines[:_SHOWN]:
        law = line.noise
        rows.append(
            (
                line.question,
                _what(line),
                "" if line.level is None else str(line.level),
                "" if law is None else f"discrete {law.kind}",
                "" if law is None else f"{law.sd:.4g}",
                f"{'epsilon' if line.cost.notion == 'pure' else 'rho'} {float(line.cost.amount):.4g}",
            )
        )
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    text = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return text + _more(len(lines))


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
    return [f"{line}." for line in lines] + _more(len(statements))


def effort_text(effort: Effort, rows: int) -> str:
    """Say how long it takes and how much memory it needs."""
    return (
        f"Time and memory: about {effort.seconds:.2g} s and {effort.memory_bytes / 10**6:.0f} MB beside the table for "
        f"{rows} rows in and out, on {MACHINE}; within a factor of 3."
    )


def _more(count: int) -> list[str]:
    """Say how many lines are left out."""
    return [f"and {count - _SHOWN} more"] if count > _SHOWN else []
