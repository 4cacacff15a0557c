"""The room where cells that do not fit the schema are counted, before any budget: behind a door, and kept nowhere."""

import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from lapwing.extras.evaluate.internal.looks import remarks
from lapwing.extras.evaluate.internal.schemas import FieldFit, UnitFit, check_declared, check_table, check_units
from lapwing.extras.evaluate.metrics.declared import DeclaredFit
from lapwing.extras.studio.jobs import Job
from lapwing.extras.studio.pages import go, job_of, page, studio_of
from lapwing.extras.studio.rooms.described import still_open
from lapwing.extras.studio.works import StudioWork
from lapwing.release.runs.watching import Progress
from lapwing.schema.scalars import visible
from lapwing.schema.schemas import Schema

_KIND: Final = "check"
_RULES_SHOWN: Final = 40
_AT_ONCE: Final = 1.0
"""Seconds that a look may take before a page is shown that waits for it."""


@dataclass(frozen=True, slots=True, repr=False)
class _Seen:
    """What a look at the rows found, in memory alone; of: the schema that it was looked at under, and which table."""

    of: tuple[object, ...]
    fits: tuple[FieldFit, ...]
    remarks: tuple[str, ...]
    declared: DeclaredFit | None
    units: UnitFit | None


def _looked(job: Job, schema: Schema, work: StudioWork) -> _Seen:
    """Count what does not fit; rules and rows of people are counted where nothing of the schema is open."""
    of = _of(job, schema)
    work.tell(Progress(step="cells", share=0.0))
    fits = check_table(job.data, schema).value
    said = remarks(fits, schema, job.data)
    declared, units = None, None
    if not any(field.blank for field in schema.columns):
        work.tell(Progress(step="rules", share=0.6))
        declared = check_declared(job.data, schema).value
        work.tell(Progress(step="people", share=0.8))
        units = None if schema.privacy_unit is None else check_units(job.data, schema).value
    return _Seen(of, fits, tuple(map(visible, said)), declared, units)


def _of(job: Job, schema: Schema) -> tuple[object, ...]:
    """Return what tells a schema and a table from others: of a table, its files as they are now."""
    table, found = Path(job.table), []
    with suppress(OSError):
        for file in (table, *(sorted(table.iterdir()) if table.is_dir() else ())):
            seen = os.stat(file)
            found.append((file.name, seen.st_ino, seen.st_size, seen.st_mtime_ns))
    return schema.fingerprint, job.sql, job.db, *found


def shown(request: Request) -> Response:
    """Show the door, the work behind it, or what it found."""
    job = job_of(request)
    schema, work = job.schema, studio_of(request).works.get(job.name, _KIND)
    seen = work.found if work is not None and work.is_done and not work.said else None
    values = {} if seen is None or schema is None else _page_findings(seen, job, schema)
    return page(
        request,
        "check.html",
        status=200,
        said=work.said if work is not None and work.is_done else "",
        room="check",
        job=job,
        internal=bool(values),
        has_schema=schema is not None,
        is_open=schema is not None and bool(still_open(schema)),
        is_draft=schema is not None and schema.is_draft,
        work=None if work is None or work.is_done else work,
        seen=values,
    )


def begun(request: Request) -> Response:
    """Begin to look: the owner has opened the door."""
    job = job_of(request)
    schema = job.schema
    if schema is None:
        raise HTTPException(404)
    studio_of(request).works.begin(job.name, _KIND, lambda work: _looked(job, schema, work)).join(_AT_ONCE)
    return go(f"/job/{job.name}/check")


def watched(request: Request) -> Response:
    """Show how far the look is: a part of the page."""
    job = job_of(request)
    return page(request, "check_work.html", room="check", job=job, work=studio_of(request).works.get(job.name, _KIND))


def forgotten(request: Request) -> Response:
    """Forget what was seen."""
    job = job_of(request)
    studio_of(request).works.forget(job.name, _KIND)
    return go(f"/job/{job.name}/check")


def _page_findings(seen: _Seen, job: Job, schema: Schema) -> dict[str, object]:
    """Return what was seen as the page shows it; columns that have most to mend come first."""
    places = {name: place for place, name in enumerate(schema.names, start=1)}
    order = sorted(seen.fits, key=lambda fit: (-fit.share, -(fit.clamped + fit.unlisted) / max(1, fit.cells)))
    return {
        "is_old": seen.of != _of(job, schema),
        "columns": [(visible(fit.name), places.get(fit.name), fit) for fit in order],
        "bad": sum(1 for fit in seen.fits if fit.misfit),
        "outside": sum(1 for fit in seen.fits if fit.clamped),
        "unlisted": sum(1 for fit in seen.fits if fit.unlisted),
        "folds": any(fit.folded or fit.unlisted for fit in seen.fits),
        "cures": any(fit.cure for fit in seen.fits),
        "remarks": seen.remarks,
        **_of_rules(seen.declared),
        "units": seen.units,
        "unit": "" if seen.units is None else visible(seen.units.field),
    }


def _of_rules(found: DeclaredFit | None) -> dict[str, object]:
    """Return how many rows break each rule, and how far the table is from public ones."""
    if found is None:
        return {"rules": [], "more_rules": 0, "broken": 0, "rows": 0, "totals": []}
    order = sorted(found.rules, key=lambda fit: -fit.broken["real"])
    return {
        "rules": [(fit.rule, fit.broken["real"]) for fit in order[:_RULES_SHOWN]],
        "more_rules": max(0, len(order) - _RULES_SHOWN),
        "broken": found.broken["real"],
        "rows": found.rows["real"],
        "totals": [(" x ".join(map(visible, fit.columns)), fit.total, fit.gaps["real"]) for fit in found.totals],
    }


_AT: Final = "/job/{job}/check"
ROUTES: Final = (
    Route(_AT, shown),
    Route(_AT, begun, methods=["POST"]),
    Route(f"{_AT}/work", watched),
    Route(f"{_AT}/forget", forgotten, methods=["POST"]),
)
