"""What a rival is given of a table: codes of fixed public bins, codes of bought quantile bins, or native values."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from arena.codings import PARTS, Coding, coding_of, schema_of
from arena.tables import ArenaTable

from lapwing.kernel.budget.budget import requested_budget
from lapwing.kernel.budget.conversions import epsilon_for
from lapwing.rows.source import all_codes, code_table
from lapwing.schema.groupings.grouping import interval_grouping

SHARE = Fraction(1, 10)
"""Part of the budget that buys quantile bins."""
LEVELS = PARTS.bit_length() - 1
"""Medians of halves of halves: 2 ** LEVELS bins."""
CANDIDATES = 1024
"""Places, evenly spread between two public ends, of which one is drawn for a median."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """What the adapter is told, and how its rows become native values again.

    Parameters
    ----------
    job : dict
        Entries of job.json: the file of rows, what is public about the columns, and the budget left.
    native : callable
        From the rows out to native values.
    """

    job: dict[str, Any]
    native: Callable[[pl.DataFrame], pl.DataFrame]


def prepared(table: ArenaTable, form: str, epsilon: str, delta: str, *, run: int, scratch: Path) -> Prepared:
    """Return a table in a form.

    Parameters
    ----------
    table : ArenaTable
        What is to be fitted.
    form : {"codes", "quantiles", "native"}
        What the rival gets.
    epsilon, delta : str
        The whole budget; quantile bins are taken off it.
    run : int
        Seed of what is bought here. Noise with a known seed protects nobody: this is a benchmark of public tables.
    scratch : Path
        A folder for files.
    """
    budget = _budget(epsilon, delta)
    if form == "codes":
        return Prepared(budget | _coded(table.codes, table.domain, table.codes_schema, table.schema), table.decode)
    if form == "native":
        return Prepared(budget | {"train": str(table.train), "schema": table.schema}, lambda rows: rows)
    coding = _bought(table, budget, np.random.default_rng(run))
    coding.encode(table.train).write_parquet(scratch / "train.parquet")
    job = _coded(scratch / "train.parquet", coding.domain, coding.schema_of_codes, table.schema)
    return Prepared(_less(budget) | job, coding.decode)


def _budget(epsilon: str, delta: str) -> dict[str, Any]:
    """Return the entries of a budget, with rho where there is a delta."""
    entries: dict[str, Any] = {"epsilon": epsilon, "delta": delta}
    return entries | ({"rho": float(requested_budget(epsilon=epsilon, delta=delta).rho)} if float(delta) else {})


def _less(budget: dict[str, Any]) -> dict[str, Any]:
    """Return the budget after the bins: nine tenths of epsilon, or of rho with the epsilon that this implies."""
    if "rho" not in budget:
        return budget | {"epsilon": str(float(Fraction(budget["epsilon"]) * (1 - SHARE)))}
    rho = requested_budget(epsilon=budget["epsilon"], delta=budget["delta"]).rho * (1 - SHARE)
    return budget | {"epsilon": str(float(epsilon_for(rho, Fraction(budget["delta"])))), "rho": float(rho)}


def _coded(path: Path, domain: dict[str, int], codes_schema: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    """Return the entries of a table of codes."""
    columns = schema_of(schema).columns
    return {
        "train": str(path),
        "domain": domain,
        "schema": codes_schema,
        "is_number": [not field.is_categorical for field in columns],
        "has_missing": [bool(field.domain.missing) for field in columns],
    }


def has_numbers(table: ArenaTable) -> bool:
    """Say whether some column has more values than fixed bins, so that quantile bins are another form."""
    return bool(_wide_columns(table))


def _wide_columns(table: ArenaTable) -> list[str]:
    """Return the numbers and dates that fixed bins cut."""
    ordered = [field for field in schema_of(table.schema).columns if not field.is_categorical]
    return [field.name for field in ordered if field.domain.values > table.domain[field.name]]


def _bought(table: ArenaTable, budget: dict[str, Any], rng: np.random.Generator) -> Coding:
    """Return the codes whose numbers have quantile bins, bought with a tenth of the budget."""
    schema, fixed = schema_of(table.schema), coding_of(schema_of(table.schema))
    codes = all_codes(code_table(table.train, schema), schema)
    wide = _wide_columns(table)
    medians = LEVELS * len(wide)
    # The medians of one level are of disjoint rows: each level costs one. Exponential mechanism: epsilon^2 / 8 in zCDP.
    each = (
        math.sqrt(8 * float(SHARE) * budget["rho"] / medians)
        if "rho" in budget
        else float(SHARE * Fraction(budget["epsilon"])) / medians
    )
    groups, sizes = list(fixed.groups), list(fixed.sizes)
    for j, field in enumerate(schema.columns):
        if field.name in wide:
            regular = np.sort(codes[field.name][codes[field.name] < field.domain.values])
            groups[j] = interval_grouping(
                field.domain, np.array(_cuts(regular, (0, field.domain.values), LEVELS, each, rng))
            )
            sizes[j] = groups[j].groups - (not field.domain.missing)
    return Coding(schema, tuple(groups), tuple(sizes))


def _cuts(rows: np.ndarray, ends: tuple[int, int], levels: int, epsilon: float, rng: np.random.Generator) -> list[int]:
    """Return where sorted codes from one end up to the other are cut, by noisy medians of halves of halves."""
    low, high = ends
    if not levels or high - low < 2:
        return []
    places = np.unique(np.linspace(low + 1, high - 1, min(CANDIDATES, high - low - 1)).astype(np.int64))
    below = np.searchsorted(rows, places)
    # One row more changes the utility, half of the difference of the two sides, by a half.
    utility = -np.abs(2 * below - len(rows)) / 2
    place = int(places[np.argmax(epsilon * utility + rng.gumbel(size=len(places)))])
    split = int(np.searchsorted(rows, place))
    before = _cuts(rows[:split], (low, place), levels - 1, epsilon, rng)
    return [*before, place, *_cuts(rows[split:], (place, high), levels - 1, epsilon, rng)]
