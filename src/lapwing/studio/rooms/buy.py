"""Buying bounds and lists that nobody knows, with budget: what is learned takes the place of the schema."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from lapwing.errors import LapwingError
from lapwing.kernel.terms import Terms
from lapwing.runs.learned.running import outlook
from lapwing.runs.learned.settings import LearnSettings, read_learn_settings
from lapwing.runs.records import Book
from lapwing.runs.watching import following
from lapwing.schema.scalars import visible
from lapwing.schema.schemas import Schema
from lapwing.studio.jobs import Job, write_whole
from lapwing.studio.pages import form_of, go, page, studio_of
from lapwing.studio.rooms.described import described, keep, still_open, to_buy
from lapwing.studio.rooms.fields import name_of
from lapwing.studio.works import Work
from lapwing.verbs.learn import learn_domain

_KIND: Final = "buy"
_EPSILON: Final = "0.1"
_DELTA: Final = "1e-6"


@dataclass(frozen=True, slots=True)
class _Typed:
    """What the form of a purchase holds."""

    epsilon: str = _EPSILON
    delta: str = ""


def _settings(schema: Schema, typed: _Typed, neighbours: str) -> LearnSettings:
    """Return what a purchase asks for, checked; nothing is read."""
    return read_learn_settings(
        schema,
        epsilon=typed.epsilon.strip(),
        delta=typed.delta.strip() or None,
        rho=None,
        fields=None,
        dictionaries=None,
        quantile=0,
        neighbours=neighbours,
    )


def _typed(request: Request) -> _Typed:
    form = form_of(request)
    return _Typed(form.get("epsilon", ""), form.get("delta", ""))


def _page(
    request: Request, job: Job, schema: Schema, typed: _Typed, *, said: str = "", noticed: tuple[str, ...] = ()
) -> Response:
    """Return the page of a purchase, with what is under way or came of the last one."""
    fields = to_buy(schema)
    work = studio_of(request).works.get(job.name, _KIND)
    is_over = work is not None and work.is_done
    return page(
        request,
        "schema_buy.html",
        status=400 if said else 200,
        said=said or (work.said if work is not None and is_over else ""),
        room="schema",
        job=job,
        fields=[(schema.names.index(field.name) + 1, name_of(field), field.type) for field in fields],
        has_texts=any(field.type == "string" for field in fields),
        left=still_open(schema),
        typed=typed,
        work=None if is_over else work,
        notes=work.found if work is not None and is_over and work.found else (),
        noticed=noticed,
    )


def shown(request: Request) -> Response:
    """Show what is to be bought."""
    job, schema = described(request)
    has_texts = any(field.type == "string" for field in to_buy(schema))
    return _page(request, job, schema, _Typed(delta=_DELTA if has_texts else ""))


def foretold(request: Request) -> Response:
    """Say what a purchase would notice: from settings alone."""
    (job, schema), typed = described(request), _typed(request)
    try:
        settings = _settings(schema, typed, job.choices.neighbours)
        found = outlook(settings, Terms(relation=settings.relation, max_rows=schema.max_rows))
    except LapwingError as error:
        return _page(request, job, schema, typed, said=str(error))
    return _page(request, job, schema, typed, noticed=tuple(map(visible, found)))


def bought(request: Request) -> Response:
    """Begin a purchase."""
    (job, schema), typed = described(request), _typed(request)
    try:
        settings = _settings(schema, typed, job.choices.neighbours)
    except LapwingError as error:
        return _page(request, job, schema, typed, said=str(error))
    studio_of(request).works.begin(job.name, _KIND, lambda work: _done(job, schema, settings, work))
    return go(f"/job/{job.name}/buy")


def _done(job: Job, schema: Schema, settings: LearnSettings, work: Work) -> tuple[str, ...]:
    """Buy, and put the schema with what was bought in the place of the other; return what was not found.

    The transcript keeps each answer before it is used: the same purchase, begun again, goes on with it.
    """
    number = len(schema.purchases) + 1
    ledger = _ledger(job)
    book = Book(
        ledger=ledger,
        dataset=(job.choices.dataset or None) if ledger is not None else None,
        transcript=job.file(f"bought-{number}.lwt"),
    )
    data: Any = job.data
    with following(work.tell):
        found = learn_domain(data, settings, book).value
    keep(job, found.schema)
    write_whole(job.file(f"bought-{number}.certificate.json"), found.certificate.to_json())
    return tuple(map(visible, found.notes))


def _ledger(job: Job) -> Path | None:
    """Return the ledger that was chosen, of the working folder; None where none was."""
    return job.place.parent.parent / job.choices.ledger if job.choices.ledger else None


def watched(request: Request) -> Response:
    """Show how far a purchase is: a part of the page."""
    job, _ = described(request)
    return page(
        request, "schema_buy_work.html", room="schema", job=job, work=studio_of(request).works.get(job.name, _KIND)
    )


ROUTES: Final = (
    Route("/job/{job}/buy", shown),
    Route("/job/{job}/buy", bought, methods=["POST"]),
    Route("/job/{job}/buy/outlook", foretold, methods=["POST"]),
    Route("/job/{job}/buy/work", watched),
)
