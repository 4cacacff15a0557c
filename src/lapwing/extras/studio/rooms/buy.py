"""Buying bounds and lists that nobody knows, with budget: what is learned takes the place of the schema."""

import hashlib
import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from lapwing.api.learn import learn_domain
from lapwing.atomic import write_whole
from lapwing.errors import LapwingError
from lapwing.extras.studio.asked import ledger_of
from lapwing.extras.studio.jobs import Choices, Job, read_job
from lapwing.extras.studio.pages import form_of, go, page, studio_of, texts
from lapwing.extras.studio.rooms.described import job_and_schema, protects, still_open, to_buy
from lapwing.extras.studio.rooms.fields import name_of
from lapwing.extras.studio.works import StudioWork
from lapwing.kernel.budget.ledger import Ledger
from lapwing.kernel.terms import Terms
from lapwing.release.runs.learned.running import LearnedDomain, outlook
from lapwing.release.runs.learned.settings import LearnSettings, read_learn_settings
from lapwing.release.runs.records import RunRecords
from lapwing.release.runs.shares import USUAL_DELTA, bought_share, left_for_release
from lapwing.release.runs.watching import following
from lapwing.schema.purchases import Purchase
from lapwing.schema.scalars import visible
from lapwing.schema.schemas import Schema

_KIND: Final = "buy"


@dataclass(frozen=True, slots=True)
class _Typed:
    """What the form of a purchase holds."""

    epsilon: str
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
        left=still_open(schema),
        protects=protects(schema),
        typed=typed,
        stamp=_stamp(job, schema),
        work=None if is_over else work,
        is_bought=work is not None and is_over and not work.said,
        is_begun=any(asked["schema"] == schema.fingerprint and kept.exists() for kept, asked in _begun(job)),
        notes=work.found if work is not None and is_over and work.found else (),
        noticed=noticed,
    )


def shown(request: Request) -> Response:
    """Show what is to be bought."""
    job, schema = job_and_schema(request)
    typed = _usual(job, schema)
    for _, asked in _begun(job):
        typed = _Typed(asked["epsilon"], asked["delta"]) if asked["schema"] == schema.fingerprint else typed
    try:
        noticed = _noticed(job, schema, typed) if to_buy(schema) and not still_open(schema) else ()
    except LapwingError:
        noticed = ()  # the purchase is refused in the same words, once it is asked for
    return _page(request, job, schema, typed, noticed=noticed)


def _usual(job: Job, schema: Schema) -> _Typed:
    """Return a fifth of the plan's budget, of which the release then gets the rest."""
    lists = any(field.type == "string" for field in to_buy(schema))
    delta = job.choices.delta or (USUAL_DELTA if lists else None)
    place = ledger_of(job)
    try:
        if place is not None and Ledger.open(place).balance(job.choices.dataset or None).unit == "pure":
            delta = None
        epsilon, own = bought_share(job.choices.epsilon, delta, lists=lists)
    except LapwingError:  # what is typed in the room Plan is no budget, or the ledger is gone
        epsilon, own = bought_share(Choices().epsilon, USUAL_DELTA, lists=lists)
    return _Typed(epsilon, own or "")


def _noticed(job: Job, schema: Schema, typed: _Typed) -> tuple[str, ...]:
    """Return what a purchase would notice."""
    settings = _settings(schema, typed, job.choices.neighbours)
    found = outlook(settings, Terms(relation=settings.relation, max_rows=schema.max_rows))
    return tuple(visible(each.text) for each in found)


def foretold(request: Request) -> Response:
    """Say what a purchase would notice: from settings alone."""
    (job, schema), typed = job_and_schema(request), _typed(request)
    try:
        noticed = _noticed(job, schema, typed)
    except LapwingError as error:
        return _page(request, job, schema, typed, said=str(error))
    return _page(request, job, schema, typed, noticed=noticed)


def bought(request: Request) -> Response:
    """Begin a purchase."""
    (job, schema), typed = job_and_schema(request), _typed(request)
    try:
        settings = _settings(schema, typed, job.choices.neighbours)
    except LapwingError as error:
        return _page(request, job, schema, typed, said=str(error))
    stamp = _stamp(job, schema)
    if form_of(request).get("stamp") != stamp:
        return _page(request, job, schema, typed, said=texts()["release"]["has_changed"])
    transcript = _transcript(job, _asked(schema, typed))
    studio_of(request).works.begin(job.name, _KIND, lambda work: _done(job, transcript, settings, work))
    return go(f"/job/{job.name}/buy")


def _stamp(job: Job, schema: Schema) -> str:
    """Return what stands for all that a page says of a purchase; another one once that changes."""
    said = (schema.fingerprint, job.choices.ledger, job.choices.dataset, job.choices.neighbours)
    return hashlib.sha256(json.dumps(said).encode()).hexdigest()[:16]


def _asked(schema: Schema, typed: _Typed) -> dict[str, str]:
    """Return what tells one purchase from another."""
    return {"schema": schema.fingerprint, **asdict(typed)}


def _begun(job: Job) -> list[tuple[Path, dict[str, str]]]:
    """Return the purchases that were begun and are not finished: their transcripts, and what was asked for."""
    places = [each for each in sorted(job.place.glob("bought-*.json")) if not _certificate(each).exists()]
    found = [(each.with_suffix(".lwt"), _asked_in(each)) for each in places if each.stem[len("bought-") :].isdigit()]
    return [(kept, asked) for kept, asked in found if asked is not None]


def _asked_in(place: Path) -> dict[str, str] | None:
    """Return what a purchase asked for; None where its file is broken."""
    try:
        asked = json.loads(place.read_text(encoding="utf-8"))
        return {key: str(asked[key]) for key in ("schema", "epsilon", "delta")}
    except (OSError, ValueError, TypeError, LookupError, RecursionError):
        return None


def _certificate(place: Path) -> Path:
    return place.with_suffix(".certificate.json")


def _transcript(job: Job, asked: dict[str, str]) -> Path:
    """Return the transcript of a purchase: that of the same one, where it was begun, or a new one."""
    for place, other in _begun(job):
        if other == asked:
            return place
    place = next(place for n in range(1, 10_000) if not (place := job.file(f"bought-{n}.json")).exists())
    write_whole(place, json.dumps(asked) + "\n")
    return place.with_suffix(".lwt")


def _done(job: Job, transcript: Path, settings: LearnSettings, work: StudioWork) -> tuple[str, ...]:
    """Buy, and put the schema with what was bought in the place of the other; return what was not found.

    The transcript keeps each answer before it is used: the same purchase, begun again, goes on with it.
    """
    ledger = ledger_of(job)
    book = RunRecords(
        ledger=ledger,
        dataset=(job.choices.dataset or None) if ledger is not None else None,
        transcript=transcript,
    )
    data: Any = job.data
    with following(work.tell):
        found = learn_domain(data, settings, book).value
    _merged(found, settings.original, job.schema).save(job.file("schema.json"))  # even if rules of it now contradict
    _leave(job, found.schema.purchases[-1:])
    write_whole(_certificate(transcript), found.certificate.to_json())
    return tuple(visible(note.text) for note in found.notes)


def _leave(job: Job, bought: Sequence[Purchase]) -> None:
    """Plan the release with what a purchase leaves of the budget that was planned, if it leaves any."""
    now = read_job(job.place.parent.parent, job.name) or job
    with suppress(LapwingError):
        job.chosen(epsilon=left_for_release(now.choices.epsilon, now.choices.delta or None, bought))


def _merged(found: LearnedDomain, asked: Schema, now: Schema | None) -> Schema:
    """Return the schema with what was bought; what else was changed in the meantime stays so."""
    if now is None or now.fingerprint == asked.fingerprint:
        return found.schema
    fields = tuple(found.schema[each.name] if each.name in found.names else each for each in now.fields)
    return replace(now, fields=fields, purchases=found.schema.purchases, is_draft=True)


def watched(request: Request) -> Response:
    """Show how far a purchase is: a part of the page."""
    job, _ = job_and_schema(request)
    return page(
        request, "schema_buy_work.html", room="schema", job=job, work=studio_of(request).works.get(job.name, _KIND)
    )


ROUTES: Final = (
    Route("/job/{job}/buy", shown),
    Route("/job/{job}/buy", bought, methods=["POST"]),
    Route("/job/{job}/buy/outlook", foretold, methods=["POST"]),
    Route("/job/{job}/buy/work", watched),
)
