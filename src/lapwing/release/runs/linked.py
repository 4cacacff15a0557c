"""What a release of several tables says of itself besides what each table says."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Final

from lapwing.errors import DataError
from lapwing.kernel.questions.misfit_rows.question import NoisyRows
from lapwing.kernel.questions.questions import Answer
from lapwing.model.bounds import rows_range
from lapwing.model.certificate.certificate import Certificate
from lapwing.model.certificate.cost_lines import RequestedBudget
from lapwing.model.certificate.declared import FALSE_WARNING
from lapwing.model.certificate.notices import Notice
from lapwing.release.runs.certify import promised_epsilons
from lapwing.release.runs.misfits import KEYS, row_shares, rows_limit
from lapwing.release.runs.settings import MOST_MISFITS, Settings
from lapwing.schema.scalars import quote

_FEW: Final = 0.05
_MOST_LOST: Final = 0.5
"""Share of a table's rows that hold a misfit, or have no parent, above which a release ends."""


def refuse_lost(settings: Settings, name: str, answer: NoisyRows) -> None:
    """End a release of which most rows of a table are lost, by a noisy count, before the rest of its budget is spent.

    A release of linked tables goes on under no mended schema: so fewer misfits than these end none, and are warned of.
    """
    if settings.linked is None:
        return
    table = settings.linked.table(name)
    said = {
        True: f"have a {quote(table.link)} that no row of {table.parent} has as its {quote(settings.linked.key)}: keys "
        "meet where they are written alike (00007 is not 7, nor is a text with a blank behind it), so write them alike "
        "in both tables",
        False: "hold a cell that fits nothing in the schema",
    }
    # Of many columns one in ten cells, here and there.
    several = rows_limit(float(MOST_MISFITS), len(answer.question.columns))
    for kind, share in row_shares(answer).items():
        if share > max(_MOST_LOST, 0 if kind == KEYS else several):
            raise DataError(
                f"{name}: at least about {share:.0%} of the rows, by noisy counts, {said[kind == KEYS]}; the release "
                "ended before the rest of its budget was spent, and a new one pays anew; `lapwing schema check` says, "
                "free, what to mend",
                code="LW118",
            )


def few_warnings(answers: Sequence[Answer], of_parent: Sequence[Answer]) -> tuple[Notice, ...]:
    """Say where noisy counts show that there is hardly a row for any row of the table above."""
    below, above = (rows_range(each, Fraction(FALSE_WARNING) / 2) for each in (answers, of_parent))
    if below is None or above is None or below[1] >= _FEW * above[0]:
        return ()
    return (Notice("few_rows", {"rows": round(1 / _FEW)}),)


def certificate_of(settings: Settings, parts: Mapping[str, Certificate]) -> Certificate:
    """Return the certificate of all parts, which may be one."""
    if settings.linked is None:
        return parts[""]
    request = settings.request
    first, *others = (part.total for part in parts.values())
    total = sum(others, first)
    assert total.amount <= request.budget.amount, "each part spends at most its own budget, and these sum to the whole"
    epsilons = promised_epsilons(request, total)
    return Certificate.of_tables(settings.linked, parts, requested=RequestedBudget.of(request), epsilons=epsilons)
