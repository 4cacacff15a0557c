"""The room where a release is looked at: how good it is, its report, tables and rows; and beside the real rows."""

from pathlib import Path
from typing import Any, Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from lapwing.extras.evaluate.internal.evaluation import Evaluation
from lapwing.extras.evaluate.metrics.glance import glance
from lapwing.extras.evaluate.metrics.metric import SYNTHETIC
from lapwing.extras.evaluate.metrics.standing import glance_lines
from lapwing.extras.evaluate.report.page import check_installed
from lapwing.extras.evaluate.verb import evaluate
from lapwing.extras.evaluate.words import say
from lapwing.extras.studio.jobs import Job, releases
from lapwing.extras.studio.pages import go, job_of, page, studio_of, texts
from lapwing.extras.studio.rooms.asking import routes, shown_report
from lapwing.extras.studio.rooms.handed import ReleaseFiles, files_in
from lapwing.extras.studio.rooms.opened import Subject, open_release
from lapwing.extras.studio.works import StudioWork
from lapwing.model.accuracy import Accuracy
from lapwing.model.certificate.certificate import Certificate
from lapwing.model.certificate.statements import ROWS_WITHIN
from lapwing.model.certificate.verdict import Verdict
from lapwing.present.certificates import headline_text, relations_text, shares_text
from lapwing.present.document import Table, cross_name, percent, sentence, warnings_of

_AT: Final = "/job/{job}/look/{number:int}"
_WORST: Final = 8
_UNCERTAIN: Final = 5
"""Measured tables that are listed, the most uncertain first."""


def release_of(request: Request, job: Job) -> ReleaseFiles:
    """Return the files of the release that an address names, or of the last one that is whole."""
    number = request.path_params.get("number")
    found = [files_in(each) for each in releases(job)]
    chosen = [each for each in found if number in (None, each.number)]
    if not chosen:
        raise HTTPException(404)
    return chosen[0]


def subject_of(request: Request) -> Subject:
    """Return what the pages of a job's release look at."""
    job = job_of(request)
    files = release_of(request, job)
    numbers = [files_in(each).number for each in releases(job)]
    return Subject(
        at=f"/job/{job.name}/look/{files.number}",
        title=job.title,
        opened=open_release(files.model, Path(job.title).stem),
        job=job,
        number=files.number,
        others=[(each, f"/job/{job.name}/look/{each}") for each in numbers],
        report=dict(files.public()).get("report"),
    )


def look(request: Request) -> Response:
    """Show a release of a job: the last one, or the one that is named."""
    job = job_of(request)
    if "number" not in request.path_params and not releases(job):
        return page(request, "look_none.html", room="look", job=job)
    subject = subject_of(request)
    return page(request, "look.html", room="look", job=job, subject=subject, **first_figures(subject))


def first_figures(subject: Subject) -> dict[str, Any]:
    """Return what is shown of a release first: its verdict and some figures, all of it released."""
    made = subject.release
    accuracy = subject.opened.accuracy
    first = (*ROWS_WITHIN, "public_number_of_rows", "other_number_of_rows", "every_measured_count")
    proved = [each.text for each in accuracy.statements if each.code in first]
    return {
        "verdict": made.certificate.verdict,
        **_graded(made.certificate.verdict),
        "rows": made.model.rows,
        "columns": len(made.schema.columns),
        "price": _price(made.certificate),
        "proved": proved,
        "uncertain": _uncertain(accuracy),
        "warnings": warnings_of(made.certificate.warnings),
    }


def _uncertain(accuracy: Accuracy) -> tuple[Table, ...]:
    """Return the tables whose counts may be off most, as a table; none where nothing was counted."""
    words = texts()["look"]
    lines = tuple(
        (cross_name(each.columns), f"{each.cells:,}", f"{each.largest_error:,.0f}")
        for each in sorted(accuracy.marginals, key=lambda each: -each.largest_error)[:_UNCERTAIN]
    )
    heading = (words["columns_of"], words["cells"], words["within"])
    return (Table(words["uncertain"], heading, lines, numbers=(1, 2)),) if lines else ()


def _graded(verdict: Verdict | None) -> dict[str, Any]:
    """Return the headline, and what is good, each with what it rests on."""
    if verdict is None:
        return {}
    lines = [(verdict.shares, f"{shares_text(verdict.share_error)}.")]
    if verdict.relations is not None:
        lines.append((verdict.relations, relations_text(verdict, verdict.relations).strip()))
    better = "" if verdict.better is None else sentence(verdict.better.text)
    score = texts()["look"]["score"].format(quality=headline_text(verdict))
    return {"score": score, "grades": lines, "better": better}


def _price(certificate: Certificate) -> str:
    """Return what the release cost, in ε and δ."""
    from lapwing.present.certificates import price_of  # noqa: PLC0415 - with the fractions of every pair

    return price_of(certificate)


# -- Behind the internal door: beside the real rows.


def _kind(number: int) -> str:
    return f"compare-{number}"


def _work(request: Request) -> tuple[Subject, StudioWork | None]:
    """Return the comparison of a release; not that of an earlier one of its number, whose files were taken away."""
    subject, works = subject_of(request), studio_of(request).works
    assert subject.job is not None
    work = works.get(subject.job.name, _kind(subject.number))
    if work is not None and work.found and work.found[2] != subject.release.certificate.to_json():
        works.forget(subject.job.name, _kind(subject.number))
        work = None
    return subject, work


def compare(request: Request) -> Response:
    """Open the door: compare the synthetic rows with the real ones."""
    job = job_of(request)
    files = release_of(request, job)
    subject = subject_of(request)

    def do(work: StudioWork) -> tuple[Evaluation, str, str]:
        found = evaluate(job.data, files.rows, subject.release.schema, model=subject.release, progress=work.tell)
        return found, found.html() if _can_report() else "", subject.release.certificate.to_json()

    studio_of(request).works.begin(job.name, _kind(files.number), do)
    return go(f"{subject.at}/compare")


def compared(request: Request) -> Response:
    """Show the comparison, or how far it is; go back where the door is closed."""
    subject, work = _work(request)
    if work is None:
        return go(f"{subject.at}#door")
    found = _found(work)
    return page(
        request,
        "look_compared.html",
        room="look",
        job=subject.job,
        internal=True,
        said=work.said if work.is_done else "",
        subject=subject,
        work=work,
        **(_figures(found[0]) if found else {"seen": None}),
        has_report=bool(found and found[1]),
    )


def comparing(request: Request) -> Response:
    """Return how far the comparison is, for the page that watches."""
    _, work = _work(request)
    if work is None:
        raise HTTPException(404)
    return page(request, "look_work.html", work=work)


def compared_report(request: Request) -> Response:
    """Return the internal report, from memory."""
    _, work = _work(request)
    found = None if work is None else _found(work)
    if not found or not found[1]:
        raise HTTPException(404)
    return shown_report(found[1])


def forget(request: Request) -> Response:
    """Close the door: end the comparison, or forget what it found."""
    subject = subject_of(request)
    assert subject.job is not None
    studio_of(request).works.forget(subject.job.name, _kind(subject.number))
    return go(f"{subject.at}#door")


def _found(work: StudioWork) -> tuple[Evaluation, str, str] | None:
    """Return the comparison, its report, and the certificate of its release; None where there is none."""
    found: tuple[Evaluation, str, str] | None = work.found
    return found if work.is_done else None


def _figures(found: Evaluation) -> dict[str, Any]:
    """Return what is shown of a comparison: internal."""
    glanced, words = glance(found.findings), texts()["look"]
    heading, lines = say.listed("summary.figures"), glance_lines(glanced.standings)
    worst = {
        each.ways: tuple((cross_name(columns), percent(distance)) for columns, distance in each.worst(_WORST))
        for each in found.findings.tables[SYNTHETIC][:2]
    }
    of = (words["columns_of"], words["differ"])
    return {
        "seen": glanced,
        "measures": Table(words["measures_note"], heading, lines, numbers=tuple(range(1, len(heading) - 1))),
        "worst": [(ways, Table(words["worst_note"], of, each, numbers=(1,))) for ways, each in worst.items() if each],
    }


def _can_report() -> bool:
    """Return whether reports can be drawn here."""
    from lapwing.errors import LapwingError  # noqa: PLC0415

    try:
        check_installed()
    except LapwingError:
        return False
    return True


ROUTES: Final[tuple[BaseRoute, ...]] = (
    Route("/job/{job}/look", look),
    Route(_AT, look),
    *routes(_AT, subject_of),
    Route(f"{_AT}/compare", compared),
    Route(f"{_AT}/compare", compare, methods=["POST"]),
    Route(f"{_AT}/compare/work", comparing),
    Route(f"{_AT}/compare/report", compared_report),
    Route(f"{_AT}/compare/forget", forget, methods=["POST"]),
)
