"""The room where the budget is chosen: what a release would cost and show is worked out as the slider moves.

Nothing is read but the schema.
"""

import json
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from lapwing.api.plan import plan
from lapwing.errors import LapwingError
from lapwing.extras.office.policy import forbidden
from lapwing.extras.studio.asked import budget_words, number_in, settings_of, with_choices
from lapwing.extras.studio.jobs import Choices, Job
from lapwing.extras.studio.pages import form_of, go, job_of, page, texts
from lapwing.mechanisms.registry import MECHANISMS, WHY_DEFAULT, default_mechanism
from lapwing.model.certificate.attack import FALSE_ALARMS, most_found, up
from lapwing.model.certificate.cost_lines import counted_lines
from lapwing.model.certificate.notices import Notice
from lapwing.model.certificate.promise import together, unit_field
from lapwing.present.document import Table, sentence
from lapwing.present.plans import cost_table, error_facts, planned_grades
from lapwing.present.promises import purchase_facts
from lapwing.release.plans import Plan
from lapwing.release.runs.plan.effort import MACHINE
from lapwing.release.runs.plan.planning import Foreseen, expected_terms, plan_release
from lapwing.release.runs.reading import read_settings
from lapwing.release.runs.settings import Settings, spending_of

_ROOM: Final = "plan"
_ASKED: Final = ("epsilon", "delta", "mechanism", "neighbours")
_FIELDS: Final = (*_ASKED, "expected_rows")
_EPSILONS: Final = (
    *("0.01", "0.02", "0.03", "0.05", "0.07", "0.1", "0.15", "0.2", "0.3"),
    *("0.5", "0.7", "1", "1.5", "2", "3", "5", "7", "10"),
)
_DELTAS: Final = ("", "1e-6", "1e-9", "1e-12")
_SIZE: Final = 0.8  # mean size of noise of deviation 1, about
_CELL: Final = 100
"""The count whose noise is told."""
_WIDE, _MINUTES = 1000, 100
_KEPT: Final = 64
"""Plans that are kept, for a slider that goes back and forth."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shown:
    """A plan, and what is to be expected of it; notes: but what policies say, which may change."""

    settings: Settings
    notes: tuple[Notice, ...]
    plan: Plan
    asked: str


def shown(request: Request, *, choices: Choices | None = None, said: str = "", status: int = 200) -> Response:
    """Show the form, and the plan of what is in it."""
    job = job_of(request)
    held = job.choices if choices is None else choices
    near = next((place for place, each in enumerate(_EPSILONS) if float(each) >= _number(held.epsilon)), None)
    return page(
        request,
        "plan.html",
        room=_ROOM,
        job=job,
        said=said,
        status=status,
        choices=held,
        values=_EPSILONS,
        place=len(_EPSILONS) - 1 if near is None else near,
        deltas=tuple(dict.fromkeys((*_DELTAS, held.delta))),
        mechanisms=[(each.name, each.summary) for each in MECHANISMS.values()],
        default=default_mechanism().name,
        why=WHY_DEFAULT,
        found=_found(job, held),
    )


def answered(request: Request) -> Response:
    """Show the plan of what the form says: a part of the page."""
    job = job_of(request)
    return page(
        request,
        "plan_shown.html",
        room=_ROOM,
        job=job,
        found=_found(job, with_choices(job.choices, form_of(request), *_FIELDS)),
    )


def chosen(request: Request) -> Response:
    """Keep what was chosen, if it can be planned, and go on."""
    job = job_of(request)
    choices = with_choices(job.choices, form_of(request), *_FIELDS)
    try:
        settings_of(job, choices)
    except LapwingError as error:
        return shown(request, choices=choices, said=str(error), status=400)
    job.chosen(**{name: getattr(choices, name) for name in _FIELDS})
    return go(f"/job/{job.name}/budget")


def _found(job: Job, choices: Choices) -> dict[str, Any]:
    """Return what is shown of a plan, or why there is none."""
    schema = job.schema
    if schema is None:
        return {"refusal": texts()["plan"]["no_schema"]}
    try:
        rows = number_in(choices.expected_rows)
        if rows is None:
            return {"refusal": texts()["plan"]["no_rows"], "is_open": True}
        text = json.dumps(schema.to_dict())
        made = _planned(text, rows, tuple(getattr(choices, name) for name in _ASKED))
    except LapwingError as error:
        return {"refusal": str(error)}
    found = made.plan
    expected = found.foreseen
    assert expected is not None
    return {
        "refusal": "",
        "plan": found,
        "notes": [sentence(each.text) for each in (*made.notes, *forbidden(spending_of(made.settings)))],
        "asked": made.asked,
        "together": _together(made.settings),
        "grades": planned_grades(expected),
        "columns": _columns(expected),
        "statements": [fact.line for fact in error_facts(found.accuracy)],
        "seconds": _time(found.effort.seconds),
        "memory": round(found.effort.memory_bytes / 10**6),
        "machine": MACHINE,
        "counted": counted_lines(found.lines),
        **_noise(expected, rows),
        **_attack(found),
        "costs": cost_table(found.lines),
    }


def _together(settings: Settings) -> str:
    """Say what the release costs with what was bought before; empty where nothing was, under its terms."""
    request, terms = settings.request, (settings.relation, settings.schema.unit_label)
    bought = settings.schema.purchases
    whole = together(request.budget, settings.selection_delta, request.delta, terms, bought)
    return "" if whole is None else tuple(purchase_facts(bought, terms, whole))[-1].line


def _columns(expected: Foreseen) -> Table | None:
    """Return what noise does to each column, as a table; none where no column is counted."""
    words = texts()["plan"]
    known = expected.columns
    lines = tuple((each.name, str(each.cells), f"{each.sd:.3g}", f"{100 * each.share:.2g}") for each in known)
    heading = (words["column"], words["cells"], words["sd"], words["points"])
    return Table(words["columns_caption"], heading, lines, numbers=(1, 2, 3)) if lines else None


def _noise(expected: Foreseen, rows: int) -> dict[str, Any]:
    """Return what noise does to one count, in rows and as a share."""
    sds = sorted(each.sd for each in expected.columns)
    sd, pair = sds[len(sds) // 2] if sds else None, expected.pair_sd
    return {
        "sd": sd,
        "sd_text": f"{sd or 0:,.3g}" if (sd or 0) < _WIDE else f"{sd:,.0f}",
        "sd_points": f"{100 * _SIZE * (sd or 0) / rows:.2g}",
        "cell": _CELL,
        "low": f"{max(0, round(_CELL - 2 * (sd or 0))):,}",
        "high": f"{round(_CELL + 2 * (sd or 0)):,}",
        "pair_sd": pair,
        "pair_text": f"{pair or 0:,.3g}" if (pair or 0) < _WIDE else f"{pair:,.0f}",
        "pair_points": f"{100 * _SIZE * (pair or 0) / rows:.2g}",
    }


def _attack(found: Plan) -> dict[str, Any]:
    """Return what the best attack finds, and whom."""
    words = texts()["plan"]
    field = unit_field(found.privacy_unit)
    who = words["who_row"] if field is None else words["who_unit"].format(field=field)
    first, second = FALSE_ALARMS
    said = words["odds_add" if found.relation == "add-remove" else "odds_replace"].format(
        who=who,
        first=f"{100 * first:g} %",
        second=f"{100 * second:g} %",
        most_first=up(most_found(found.total, first)),
        most_second=up(most_found(found.total, second)),
    )
    return {"odds": said}


def _time(seconds: float) -> str:
    """Return a time as people say it."""
    return f"{seconds:.2g} s" if seconds < _MINUTES else f"{seconds / 60:.0f} min"


@lru_cache(maxsize=_KEPT)
def _planned(schema: str, rows: int, choices: tuple[str, ...]) -> _Shown:
    """Return a plan; a function of the schema, as JSON, and of choices alone."""
    asked: dict[str, Any] = {name: value or None for name, value in zip(_ASKED, choices, strict=True)}
    settings = read_settings(json.loads(schema), rho=None, expected_rows=rows, seed=0, **asked)
    table = settings.first
    terms = expected_terms(table.relation, table.schema, rows)
    found = plan_release(table, terms)
    return _Shown(
        settings=settings,
        notes=found.notes,
        plan=plan(table.schema, expected_rows=rows, **asked),
        asked=budget_words(settings),
    )


def _number(text: str) -> float:
    """Return about which number a text is; 1 where it is none."""
    try:
        return float(text)
    except ValueError:
        return 1.0


ROUTES: Final = (
    Route("/job/{job}/plan", shown),
    Route("/job/{job}/plan", chosen, methods=["POST"]),
    Route("/job/{job}/plan/shown", answered, methods=["POST"]),
)
