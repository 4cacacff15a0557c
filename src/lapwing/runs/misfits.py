"""Say from paid answers alone which columns do not fit the schema, and end a release where one is mostly misfits.

The rule is public and reads noisy answers only, so whether a release ends here reveals nothing that was not paid for.
The rest of its budget stays with it, for a mended schema. ``misfits.proof.md``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, Final

from lapwing.errors import DataError, ParameterError
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.plain import at_least
from lapwing.kernel.questions.marginal_counts.question import NoisyCounts
from lapwing.kernel.questions.questions import Answer
from lapwing.kernel.room.curator import Curator
from lapwing.kernel.terms import Terms
from lapwing.model.certificate.declared import FALSE_WARNING, sum_reach
from lapwing.runs.settings import Settings, usable_schema
from lapwing.schema.scalars import quote
from lapwing.schema.schemas import Schema

ENDED: Final = "LW118"
"""Code of a release that ended by the rule."""

_SAID, _NEARLY_ALL = 0.05, 0.95


def misfit_shares(schema: Schema, answers: Sequence[Answer]) -> dict[str, float]:
    """Return the share of each column's cells that surely fit nothing, by the noisy tables of that column alone.

    Returns shares that are all too large with a probability of 0.001 at most; of a column that may not be missing,
    missing cells count.
    """
    tables = _one_way(answers)
    counts = [
        answer.counts[-1] if schema.field(answer.question.columns[0]).required else answer.misfits for answer in tables
    ]
    return _surely(tables, {place: int(count) for place, count in enumerate(counts) if count is not None})


def misfit_warnings(schema: Schema, answers: Sequence[Answer]) -> tuple[str, ...]:
    """Say where the noisy counts show that cells do not fit the schema, or that nearly none are there."""
    tables = _one_way(answers)
    may_lack = {
        place: answer.counts[-1]
        for place, answer in enumerate(tables)
        if not schema.field(answer.question.columns[0]).required
    }
    found = {}
    for name, share in misfit_shares(schema, answers).items():
        if share > _SAID:
            stand = "stand for the others only" if schema.field(name).required else "have them as missing"
            found[name] = (
                f"column {name!r}: at least about {share:.0%} of its cells do not fit the schema, by the noisy counts, "
                f"and rows out {stand}; look with `lapwing schema check`"
            )
    for name, share in _surely(tables, may_lack).items():
        if share > _NEARLY_ALL:
            found[name] = (
                f"column {name!r}: at least about {share:.0%} of its cells are missing, by the noisy counts; look with "
                "`lapwing schema check`"
            )
    return tuple(found.values())


def _one_way(answers: Sequence[Answer]) -> list[NoisyCounts]:
    """Return the tables of one column."""
    return [answer for answer in answers if isinstance(answer, NoisyCounts) and len(answer.question.columns) == 1]


def _surely(tables: Sequence[NoisyCounts], counts: Mapping[int, int]) -> dict[str, float]:
    """Return the least share of the rows that noisy counts of some tables allow, the largest of each column."""
    failure = FALSE_WARNING / (2 * max(len(tables), 1))
    totals = [float(answer.whole.sum()) + sum_reach(((answer.noise, answer.whole.size),), failure) for answer in tables]
    rows = max(min(totals, default=1.0), 1.0)
    found: dict[str, float] = {}
    for place, count in counts.items():
        (name,) = tables[place].question.columns
        share = (float(count) - sum_reach(((tables[place].noise, 1),), failure)) / rows
        found[name] = max(found.get(name, 0.0), min(share, 1.0))
    return found


class Stopping:
    """A curator that ends the release once answers show a column of which too many cells fit nothing.

    most: of a column's cells, 0 to 1; ended: says how the release goes on, once it has ended.
    """

    __slots__ = ("_answers", "_curator", "_most", "_schema", "_way_out")

    def __init__(self, curator: Curator, schema: Schema, most: Fraction, way_out: str) -> None:
        self._curator = curator
        self._schema = schema
        self._most = most
        self._way_out = way_out
        self._answers: list[Answer] = []

    @property
    def terms(self) -> Terms:
        """The public terms of the release."""
        return self._curator.terms

    def ask(self, *questions: Any) -> Any:  # noqa: ANN401 - `Curator.ask` says what is answered by what
        """Answer a batch of questions, and look at what is known of misfits by now."""
        found = self._curator.ask(*questions)
        self._answers += found
        refuse_misfits(self._schema, self._answers, self._most, self._way_out)
        return found


def refuse_misfits(schema: Schema, answers: Sequence[Answer], most: Fraction, way_out: str) -> None:
    """Raise where the answers show more misfits in a column than there may be."""
    shares = misfit_shares(schema, answers)
    bad = {name: share for name, share in shares.items() if share > most}
    if not bad:
        return
    name = max(bad, key=lambda each: bad[each])
    more = f" (and {len(bad) - 1} more)" if len(bad) > 1 else ""
    spent = sum((answer.question.cost.amount for answer in answers), Fraction(0))
    unit = "epsilon" if answers[0].question.cost.notion == "pure" else "rho"
    raise DataError(
        f"column {quote(name)}{more}: at least about {bad[name]:.0%} of its cells fit nothing, by the noisy counts, "
        f"and misfits allows {float(most):.0%}; the release ended with {unit} {at_least(spent, 3)} spent: "
        f"`lapwing schema check` says, free, what to mend; {way_out}",
        code="LW118",
    )


def way_out_of(transcript: object) -> str:
    """Say how a release that ended goes on."""
    if transcript is None:
        return "it has no transcript, so a new release pays anew"
    return f"then `lapwing resume {transcript} DATA -o OUT --schema SCHEMA` goes on with the rest of its budget"


def mended(settings: Settings, schema: object, answers: Sequence[Answer]) -> Settings:
    """Return the settings of a release that goes on under a mended schema, if it ended, or has not begun under its own.

    answers: those that were given under the schema of ``settings``.
    """
    old, new = settings.schema, usable_schema(schema)
    if answers and max(misfit_shares(old, answers).values(), default=0.0) <= settings.most_misfits:
        raise ParameterError(
            "a schema is mended where a release ended by the rule LW118, and this one did not; resume it without a "
            "schema",
            code="LW611",
        )
    if (old.unit_label, old.names_every_unit) != (new.unit_label, new.names_every_unit):
        raise ParameterError(
            f"the mended schema has another privacy unit than the release was debited for, which is {old.unit_label}; "
            "keep privacyUnit as it was, or make a new release",
            code="LW611",
        )
    if not new.public_tables:
        new = replace(new, public_tables=old.public_tables)
    return Settings.from_dict({**settings.to_dict(), "schema": new.to_dict()})


def left_of(budget: Budget, answers: Sequence[Answer]) -> Budget:
    """Return what a budget has left once some answers were given."""
    return Budget(budget.notion, budget.amount - sum((each.question.cost.amount for each in answers), Fraction(0)))
