"""The room where budget is spent: one release at a time, which can be watched, ended, and finished after a crash."""

import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from lapwing.api.synthesize import resume, synthesize
from lapwing.errors import DataError, LapwingError
from lapwing.extras.evaluate.report.page import check_installed
from lapwing.extras.office.policy import naming_people
from lapwing.extras.studio.asked import (
    MISFITS,
    budget_words,
    ledger_of,
    number_in,
    refusal_of,
    settings_of,
    stamp_of,
    with_choices,
)
from lapwing.extras.studio.jobs import Job, next_release, releases
from lapwing.extras.studio.pages import form_of, go, job_of, labelled_facts, page, studio_of, texts
from lapwing.extras.studio.unfinished import TRANSCRIPT, UnfinishedRelease, alone, clear_folder, unfinished_release
from lapwing.extras.studio.works import EndedError, StudioWork
from lapwing.kernel.room.begun import finished_by
from lapwing.model.certificate.certificate import certificate_in
from lapwing.model.certificate.promise import uncovered_warnings
from lapwing.present.certificates import own_warnings, short_facts
from lapwing.present.document import Facts, warnings_of
from lapwing.present.promises import protected_facts
from lapwing.release.files import write_files
from lapwing.release.release import Release
from lapwing.release.runs.settings import Settings
from lapwing.release.runs.watching import Progress, StoppedError
from lapwing.release.targets import Targets, read_targets
from lapwing.rows.out.outputs import whole_files
from lapwing.rows.out.staging import PREFIX, SUFFIX
from lapwing.schema.scalars import check_row_count
from lapwing.schema.schemas import Schema

_KIND: Final = "release"
_ENDED: Final = "ended"
_ROOM: Final = "release"
_ROWS: Final = "the number of synthetic rows"
_MOST_ROWS: Final = 10**9
"""Rows of one release: an end to what a digit too many would write."""
_STAGED: Final = f"{PREFIX}*{SUFFIX}"


def shown(request: Request, *, said: str = "", status: int = 200) -> Response:
    """Show the release that is being made, or was begun; else what the next one would do."""
    job = job_of(request)
    work = studio_of(request).works.get(job.name, _KIND)
    if work is not None and not work.is_done:
        return page(request, "release.html", room=_ROOM, job=job, said=said, work=work, begun=None, status=status)
    begun = unfinished_release(job)
    failed = "" if work is None or (begun is not None and begun.state != "open") else work.said
    return page(
        request,
        "release.html",
        room=_ROOM,
        job=job,
        said=said or failed,
        status=status,
        work=None,
        begun=begun,
        is_ended=work is not None and work.found == _ENDED,
        has_failed=bool(failed),
        done=_done(job),
        next=_next(job),
    )


def _next(job: Job) -> dict[str, Any]:
    """Return what the next release would do, or why it cannot be made."""
    try:
        settings = settings_of(job, job.choices)
    except LapwingError as error:
        return {"refusal": str(error)}
    rows = job.choices.rows
    return {
        "refusal": refusal_of(settings, job),
        "asked": budget_words(settings),
        "facts": _facts_of(settings, job),
        "uncovered": warnings_of(uncovered_warnings(settings.schema.columns)),
        "number": next_release(job).name,
        "stamp": stamp_of(settings, job),
        "rows": rows,
        "is_recorded": ledger_of(job) is not None,
    }


def _facts_of(settings: Settings, job: Job) -> Facts:
    """Return what the next release would do, each under its label."""
    account = ", ".join(filter(None, (job.choices.ledger, job.choices.dataset)))
    said = {
        "table": job.title,
        "spends": budget_words(settings),
        "mechanism": settings.name,
        "protects": " ".join(each.text for each in protected_facts(settings.relation, settings.schema.unit_label)),
        "ledger": texts()["release"]["no_ledger"] if ledger_of(job) is None else account,
        "files": ", ".join(each.name for each in _targets(job, next_release(job)).in_order),
    }
    return labelled_facts("release", said)


def _done(job: Job) -> dict[str, Any] | None:
    """Return what there is to say of the last release that is whole."""
    found = releases(job)
    if not found:
        return None
    paid, _ = certificate_in(next(found[0].glob("*.certificate.json")))
    warnings = warnings_of(own_warnings(paid))
    return {"place": found[0], "count": len(found), "facts": short_facts(paid), "warnings": warnings}


def watched(request: Request) -> Response:
    """Show how far the release is: a part of the page."""
    job = job_of(request)
    work = studio_of(request).works.get(job.name, _KIND)
    if work is None:
        raise HTTPException(404)
    return page(request, "release_work.html", room=_ROOM, job=job, work=work)


def begun(request: Request) -> Response:
    """Begin the release that the page showed; one that was begun or made since is left as it is."""
    job, form = job_of(request), form_of(request)
    works = studio_of(request).works
    work = works.get(job.name, _KIND)
    if work is not None and not work.is_done:
        return go(f"/job/{job.name}/release")
    place = next_release(job)
    if form.get("number") != place.name:
        return go(f"/job/{job.name}/release")  # a second tab, or the page of an earlier one
    left = unfinished_release(job)
    if left is not None and (form.get("leave") != "yes" or left.state == "held"):
        return shown(request, said=texts()["release"]["is_begun"], status=409)
    chosen = with_choices(job.choices, form, "rows", "prepared_by", "approved_by")
    job = job.chosen(rows=chosen.rows, prepared_by=chosen.prepared_by, approved_by=chosen.approved_by)
    try:
        _rows(chosen.rows)
        settings = settings_of(job, job.choices)
        refusal = refusal_of(settings, job)
    except LapwingError as error:
        return shown(request, said=str(error), status=400)
    seen = form.get("stamp", "")  # a page that refuses has none
    if seen != stamp_of(settings, job) and (seen or not refusal):
        return shown(request, said=texts()["release"]["has_changed"], status=409)
    if refusal:
        return shown(request, said=refusal, status=400)
    works.begin(job.name, _KIND, lambda work: _begin(job, settings.schema, place, work))
    return go(f"/job/{job.name}/release")


def _rows(text: str) -> int | None:
    """Read a number of synthetic rows; None where the release's own is wanted."""
    found = number_in(text)
    return None if found is None else check_row_count(_ROWS, found, 1, _MOST_ROWS)


def signed(request: Request) -> Response:
    """Keep the names for the certificate, which a policy may ask for."""
    job, form = job_of(request), form_of(request)
    chosen = with_choices(job.choices, form, "prepared_by", "approved_by")
    job.chosen(prepared_by=chosen.prepared_by, approved_by=chosen.approved_by)
    return go(f"/job/{job.name}/release")


def finished(request: Request) -> Response:
    """Finish a release that was begun, free of charge."""
    job, works = job_of(request), studio_of(request).works
    work = works.get(job.name, _KIND)
    if work is None or work.is_done:
        left = unfinished_release(job)
        if left is not None and left.state == "misfits" and not _is_mended(job, left):
            return shown(request, said=texts()["release"]["not_mended"], status=400)
        chosen = with_choices(job.choices, form_of(request), "rows")
        try:
            _rows(chosen.rows)
        except LapwingError as error:
            return shown(request, said=str(error), status=400)
        job = job.chosen(rows=chosen.rows)
        if left is not None and left.state in ("open", "misfits"):
            works.begin(job.name, _KIND, lambda work: _finish(job, left, work))
    return go(f"/job/{job.name}/release")


def _is_mended(job: Job, left: UnfinishedRelease) -> bool:
    """Return whether the schema is another one than that which did not fit, and whole."""
    schema = job.schema
    return schema is not None and not schema.is_draft and schema.fingerprint != left.schema


def ended(request: Request) -> Response:
    """End the work at its next step."""
    job = job_of(request)
    work = studio_of(request).works.get(job.name, _KIND)
    if work is not None:
        work.end()
    return go(f"/job/{job.name}/release")


# -- The work, in a thread of its own.


def _begin(job: Job, schema: Schema, place: Path, work: StudioWork) -> str:
    """Make a new release in a folder that is not there yet, under the schema that its page was about."""
    choices, ledger = job.choices, ledger_of(job)

    def make() -> Release:
        return synthesize(
            job.data,
            schema,
            epsilon=choices.epsilon.strip(),
            delta=choices.delta.strip() or None,
            mechanism=choices.mechanism or None,
            neighbours=choices.neighbours,  # type: ignore[arg-type]
            expected_rows=number_in(choices.expected_rows),
            ledger=ledger,
            dataset=(choices.dataset or None) if ledger is not None else None,
            transcript=place / TRANSCRIPT,
            misfits=MISFITS,
            progress=work.tell,
        )

    work.step = texts()["release"]["reading"]
    with alone(job):
        try:
            place.mkdir()
        except FileExistsError:
            raise DataError(texts()["release"]["is_begun"], code="LW113") from None
        try:
            return _made(job, place, work, make)
        finally:
            clear_folder(place)


def _finish(job: Job, left: UnfinishedRelease, work: StudioWork) -> str:
    """Finish a release; one that ended by the stop rule goes on with the schema as it is now."""
    schema = job.file("schema.json") if left.state == "misfits" else None
    work.step, work.share = texts()["release"]["reading"], left.share
    with alone(job):
        return _made(
            job,
            left.place,
            work,
            lambda: resume(left.transcript, job.data, schema=schema, progress=work.tell),
        )


def _made(job: Job, place: Path, work: StudioWork, make: Callable[[], Release]) -> str:
    """Make a release, and write its files as one set; ended by the owner, nothing is written."""
    choices, targets = job.choices, _targets(job, place)
    read = [Path(job.table)] if job.table else []
    read += [each for each in (job.file("schema.json"), ledger_of(job), place / TRANSCRIPT) if each is not None]
    rows = _rows(choices.rows)
    try:
        with (
            naming_people(preparedBy=choices.prepared_by, approvedBy=choices.approved_by),
            whole_files(targets.in_order, read) as places,
            finished_by(lambda *_: texts()["release"]["way_on"]),
        ):
            release = make()
            work.tell(Progress(step=texts()["release"]["writing"], share=1.0))
            write_files(
                release, targets, dict(zip(targets.in_order, places, strict=True)), rows=rows, seed=None, quiet=True
            )
    except (StoppedError, EndedError):
        return _ENDED
    except LapwingError as error:
        failure = DataError(str(error), code=error.code)
    else:
        _report(release, place)
        for each in place.glob(_STAGED):  # of a process that was killed: this one holds the job
            shutil.rmtree(each, ignore_errors=True)
        return "made"
    raise failure


def _report(release: Release, place: Path) -> None:
    """Write the report where its extra is installed: the release is whole without it."""
    with suppress(LapwingError):
        check_installed()
        release.to_html(place / "report.html")


def _targets(job: Job, place: Path) -> Targets:
    """Return the files of a release: rows as the table has them, model, certificate, Croissant."""
    is_parquet = not job.table or job.table.lower().endswith((".parquet", ".pq"))
    rows = place / f"{job.name}-synthetic.{'parquet' if is_parquet else 'csv'}"
    return read_targets(
        str(rows),
        place / "model.lapwing",
        None,
        no_certificate=False,
        croissant=place / "croissant.json",
        people=(job.choices.prepared_by, job.choices.approved_by),
    )


ROUTES: Final = (
    Route("/job/{job}/release", shown),
    Route("/job/{job}/release", begun, methods=["POST"]),
    Route("/job/{job}/release/people", signed, methods=["POST"]),
    Route("/job/{job}/release/finish", finished, methods=["POST"]),
    Route("/job/{job}/release/cancel", ended, methods=["POST"]),
    Route("/job/{job}/release/work", watched),
)
