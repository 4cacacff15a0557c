"""Say from paid answers alone which columns, or how many rows, do not fit the schema, and end a release of too many.

Mechanisms that do not count the misfits of each column are told nothing of them: before one of these is run, a small
share of the budget says how many rows hold any.

The rule is public and reads noisy answers only, so whether a release ends here reveals nothing that was not paid for.
The rest of its budget stays with it, for a mended schema. ``misfits.proof.md``.
"""

import codecs
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, Final, TypeVar

import numpy as np

from lapwing.errors import DataError, ParameterError
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.plain import at_least
from lapwing.kernel.questions.misfit_rows.question import MisfitRows, NoisyRows
from lapwing.kernel.questions.questions import Answer
from lapwing.kernel.room.begun import finish_of
from lapwing.kernel.room.curator import Curator
from lapwing.kernel.terms import Terms
from lapwing.maths.noise_tails import sum_tail
from lapwing.model.certificate.declared import FALSE_WARNING, sum_reach
from lapwing.model.certificate.notices import Notice
from lapwing.model.evidence import MeasuredTable, plain_tables
from lapwing.release.runs.settings import SETTINGS, TableSettings, usable_schema
from lapwing.schema.scalars import quote
from lapwing.schema.schemas import Schema

ENDED: Final = "LW118"  # code of a release that ended by the rule

ROWS: Final = ""
"""Stands beside the names of columns for rows that hold a misfit in any of them."""

KEYS: Final = "\0"
"""Stands for rows of a linked table whose key no row of the table above has."""

_SAID, _NEARLY_ALL = 0.05, 0.95

_OF_ROWS: Final = {ROWS: "rows_invalid", KEYS: "keys_unmatched"}

T = TypeVar("T")


def first_question(settings: TableSettings, budget: Budget, terms: Terms) -> tuple[tuple[MisfitRows, ...], Budget]:
    """Return what is asked before the mechanism, if anything, and what is left for that; refuse too much noise."""
    if settings.misfit_share is None:
        return (), budget
    cost, left = budget.split([settings.misfit_share, 1 - settings.misfit_share])
    names = tuple(each.name for each in settings.schema.columns)
    found = MisfitRows(columns=names, cost=cost, rows=terms.rows, keys=settings.keys)
    found.noise(terms.relation, terms.max_rows)
    return (found,), left


def _of_each_column(asked: MisfitRows) -> list[MisfitRows]:
    """Return the same question about each of its columns alone, at the same cost together."""
    return [replace(asked, columns=(name,), cost=asked.cost / len(asked.columns)) for name in asked.columns]


def of_mechanism(asked: Sequence[T]) -> tuple[T, ...]:
    """Return questions or answers, without what is asked before the mechanism."""
    return tuple(each for each in asked if not isinstance(each, MisfitRows | NoisyRows))


def misfit_shares(schema: Schema, answers: Sequence[Answer]) -> dict[str, float]:
    """Return the share of each column's cells that surely fit nothing, by the noisy tables of that column alone.

    Returns shares that are all too large with a probability of 0.001 at most; of a column that may not be missing,
    missing cells count. Where rows were asked about, the share of those that hold such a cell is that of `ROWS`.
    """
    tables = plain_tables(answers, ways=1)
    counts = [table.counts[-1] if schema.field(table.columns[0]).required else table.misfits for table in tables]
    found = _surely(tables, {place: int(count) for place, count in enumerate(counts) if count is not None})
    for answer in answers:
        if isinstance(answer, NoisyRows):
            found |= {name: max(share, found.get(name, 0.0)) for name, share in row_shares(answer).items()}
    return found


def misfit_warnings(schema: Schema, answers: Sequence[Answer]) -> tuple[Notice, ...]:
    """Say where the noisy counts show that cells do not fit the schema, or that nearly none are there."""
    tables = plain_tables(answers, ways=1)
    told_apart = {table.columns for table in tables if table.misfits is not None}
    may_lack = {
        place: table.counts[-1]
        for place, table in enumerate(tables)
        if not schema.field(table.columns[0]).required
        and (table.misfits is not None or table.columns not in told_apart)
    }
    found = {}
    for name, share in _surely(tables, may_lack).items():
        if share > _NEARLY_ALL:
            code = "column_missing" if (name,) in told_apart else "column_missing_or_invalid"
            found[name] = Notice(code, {"column": name, "share": share})
    for name, share in misfit_shares(schema, answers).items():
        if share > _SAID and name in _OF_ROWS:
            found[name] = Notice(_OF_ROWS[name], {"share": share})
        elif share > _SAID:
            code = "column_invalid_required" if schema.field(name).required else "column_invalid"
            found[name] = Notice(code, {"column": name, "share": share})
    return tuple(found.values())


def _surely(tables: Sequence[MeasuredTable], counts: Mapping[int, int]) -> dict[str, float]:
    """Return the least share of the rows that noisy counts of some tables allow, the largest of each column."""
    failure = FALSE_WARNING / (2 * max(len(tables), 1))
    totals = [float(table.whole.sum()) + sum_reach(((table.law, table.whole.size),), failure) for table in tables]
    rows = max(min(totals, default=1.0), 1.0)
    found: dict[str, float] = {}
    for place, count in counts.items():
        (name,) = tables[place].columns
        share = (float(count) - sum_reach(((tables[place].law, 1),), failure)) / rows
        found[name] = max(found.get(name, 0.0), min(share, 1.0))
    return found


def row_shares(answer: NoisyRows) -> dict[str, float]:
    """Return the least share of rows with a misfit that noisy numbers allow, and that of rows whose key meets none.

    Of one column it is the share of its cells.
    """
    law, rows, counts = answer.noise, answer.question.rows, answer.counts.astype(np.float64)
    reach = [sum_tail(law.kind, law.parameter, terms, FALSE_WARNING / 4) for terms in (1, 2, 3)]
    most = counts[:2].sum() + reach[1] if rows is None else float(rows)
    columns = answer.question.columns
    found = {columns[0] if len(columns) == 1 else ROWS: (counts[0] - reach[0]) / max(most, 1.0)}
    if answer.question.keys:
        found[KEYS] = (counts[2] - reach[0]) / max(counts.sum() + reach[2], 1.0)
    return {name: min(float(share), 1.0) for name, share in found.items()}


@dataclass(slots=True, repr=False, eq=False)
class Stopping:
    """Asks a curator, and ends the release once answers show that too many cells of a column, or rows, fit nothing.

    earlier: answers under a schema that was mended since, whose cost is told; way_out: says how the release goes on.
    """

    _curator: Curator
    _settings: TableSettings
    _earlier: Sequence[Answer]
    _way_out: str
    _answers: list[Answer] = field(default_factory=list, init=False)

    def ask(self, *questions: Any) -> Any:  # noqa: ANN401 - `Curator.ask` says what is answered by what
        """Answer a batch of questions, and look at what is known of misfits by now."""
        found = self._curator.ask(*questions)
        self._answers += found
        is_told = plain_tables(found, ways=1) or any(isinstance(each, NoisyRows) for each in found)
        if is_told and (bad := misfit_columns(self._settings, self._answers)):
            if ROWS in bad:  # as much again says whose cells they are
                self._answers += self._curator.ask(*_of_each_column(found[-1].question))
                bad = misfit_columns(self._settings, self._answers)
            raise self._ended(bad)
        return found

    def _ended(self, bad: Mapping[str, float]) -> DataError:
        """Return the end of the release: its worst column, what it cost, and the way out."""
        name = max(bad, key=lambda each: bad[each])
        more = f" (and {len(bad) - 1} more)" if len(bad) > 1 else ""
        budget = self._settings.request.budget
        left = remaining_budget(budget, [*self._earlier, *self._answers]).amount
        unit = "epsilon" if budget.notion == "pure" else "rho"
        rest = self._way_out if left > 0 else "nothing of its budget is left, and a new release spends again"
        share, most = f"at least about {bad[name]:.0%} of", float(self._settings.most_misfits)
        what = f"{share} the rows hold an invalid value"
        if name != ROWS:
            what = f"column {quote(name)}{more}: {share} its values are invalid"
        allowed = rows_limit(most, len(self._settings.schema.columns)) if name == ROWS else most
        return DataError(
            f"{what}, by noisy counts, and misfits allows {allowed:.0%}; the release ended "
            f"with {unit} {at_least(budget.amount - left, 3)} spent: `lapwing schema check`, or `schema.check(data)`, "
            f"says, free, what to mend; {rest}",
            code="LW118",
        )


def misfit_columns(settings: TableSettings, answers: Sequence[Answer]) -> dict[str, float]:
    """Return the columns, or `ROWS`, of which answers show more misfits than there may be, with the least share."""
    shares, most = misfit_shares(settings.schema, answers), float(settings.most_misfits)
    limits = {ROWS: rows_limit(most, len(settings.schema.columns))}
    found = {name: share for name, share in shares.items() if share > limits.get(name, most)}
    return {name: share for name, share in found.items() if name != ROWS} or found


def rows_limit(most: float, columns: int) -> float:
    """Return the share of rows that hold a misfit where as many cells of each column are as may be, here and there.

    >>> [round(rows_limit(0.1, columns), 2) for columns in (1, 2, 20)]
    [0.1, 0.19, 0.88]
    """
    return 1 - (1 - most) ** columns


def way_out_of(transcript: Path | None) -> str:
    """Say how a release that ended goes on."""
    if transcript is None:
        return "it has no transcript, so a new release pays anew"
    return f"then {finish_of(transcript, is_mended=True)} goes on with the rest of its budget"


def mended_settings(settings: TableSettings, schema: object) -> TableSettings:
    """Return the settings of a release that goes on under a mended schema.

    settings: those that were debited. Units must stay what they were: a table is cut into rows by its dialect, and into
    units by the cells of one field. So of the dialect only the encoding may change, where each row is a unit.
    """
    old, new = settings.schema, usable_schema(schema)
    if new.privacy_unit != old.privacy_unit or _cut(old) != _cut(new):
        raise ParameterError(
            f"the mended schema cuts the table into other rows or units than the release was debited for, "
            f"{old.unit_label}; keep privacyUnit, its field and the dialect as they were (but for the encoding, where "
            "each row is a unit), or make a new release",
            code="LW611",
        )
    if not new.public_tables:
        new = replace(new, public_tables=old.public_tables)
    values = SETTINGS.write(settings)
    return TableSettings.from_dict({**values, "schema": new.to_dict()}).with_recorded_rows(values, is_mended=True)


def _cut(schema: Schema) -> tuple[object, ...]:
    """Return all that says where a row ends, and whose it is."""
    unit = schema.privacy_unit
    if unit is None and _keeps_ascii(schema.dialect.encoding):
        return (replace(schema.dialect, encoding=None),)
    return schema.dialect, None if unit is None else schema.field(unit.field)


def _keeps_ascii(encoding: str | None) -> bool:
    """Tell whether each byte below 128 is itself in an encoding, and is no part of another character."""
    name = "utf-8" if encoding is None else codecs.lookup(encoding).name
    return name in ("utf-8", "utf-8-sig", "ascii") or name.startswith(("iso8859-", "cp125", "koi8-"))


def refuse_going_on(settings: TableSettings, answers: Sequence[Answer], earlier: Sequence[Answer]) -> None:
    """Refuse to mend the schema of a release that did not end, or that has nothing left to go on with.

    answers: under the schema that is to be mended; without any there is nothing to go on from; earlier: those under
    schemas that were mended before.
    """
    if answers and not misfit_columns(settings, answers):
        raise ParameterError(
            "a schema is mended where a release ended by the rule LW118, and this one did not; resume it without a "
            "schema",
            code="LW611",
        )
    if not remaining_budget(settings.request.budget, [*earlier, *answers]).amount:
        raise ParameterError("the release spent all of its budget before it ended; make a new one", code="LW611")


def remaining_budget(budget: Budget, answers: Sequence[Answer]) -> Budget:
    """Return what a budget has left once some answers were given."""
    return Budget(budget.notion, budget.amount - sum((each.question.cost.amount for each in answers), Fraction(0)))
