"""Cells of the arena and the file of results: one line for each cell, written at once, the last one counts."""

import csv
import itertools
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path

RESULTS = Path(__file__).resolve().parents[1] / "results" / "arena.csv"
COLUMNS = ["table", "form", "rival", "epsilon", "delta", "run", "status", "reason", "limit_s", "rows", "columns"]
COLUMNS += ["fit_cpu_s", "rows_cpu_s", "cpu_s", "wall_s", "peak_mb", "rows_out", "versions", "options", "checkout"]
COLUMNS += ["machine", "commit"]
"""Before the measures, whose names come from measures.py."""

Line = dict[str, str]


@dataclass(frozen=True, slots=True)
class Cell:
    """One fit: of a rival, on a table in a form, at a budget, repeated.

    Parameters
    ----------
    table, form, rival, epsilon, delta : str
        As in the results.
    run : str
        Number of the repetition, which is also the seed.
    """

    table: str
    form: str
    rival: str
    epsilon: str
    delta: str
    run: str


def planned(
    tables: Sequence[str],
    forms: Sequence[str],
    rivals: Sequence[str],
    budgets: Sequence[tuple[str, str]],
    runs: int,
) -> Iterator[Cell]:
    """Yield all cells: run by run, budget by budget, table by table, so that an early stop leaves whole ones."""
    for run, (epsilon, delta), table, form, rival in itertools.product(range(runs), budgets, tables, forms, rivals):
        yield Cell(table, form, rival, epsilon, delta, str(run))


def read_lines(path: Path) -> list[Line]:
    """Return the lines of a file of results; none where it is missing."""
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def cell_of(line: Mapping[str, str]) -> Cell:
    """Return the cell that a line answers."""
    return Cell(line["table"], line["form"], line["rival"], line["epsilon"], line["delta"], line["run"])


def answers(line: Line, limit_s: float) -> bool:
    """Say whether a line answers its cell: it ended, or was stopped at a limit at least as high."""
    stopped_sooner = line["status"] == "did not finish" and float(line["limit_s"]) < limit_s
    return not stopped_sooner and line["status"] != "not ready"


def record(path: Path, line: Mapping[str, object]) -> None:
    """Put a line in the place of its cell's earlier one, or at the end; the file is whole at any time."""
    new = {key: str(value) for key, value in line.items()}
    lines = [old for old in read_lines(path) if astuple(cell_of(old)) != astuple(cell_of(new))] + [new]
    measures = dict.fromkeys(key for each in lines for key in each if key not in COLUMNS)
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = path.with_suffix(".part")
    with scratch.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, [*COLUMNS, *measures], restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows(lines)
    os.replace(scratch, path)
