"""A job: one table on its way to a release, kept as files in a folder of its own, so that it outlives the process.

What it keeps is public (schema, settings) or was paid for (transcript, release); of the rows it keeps where they are.
"""

import contextlib
import json
import os
import re
import threading
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from lapwing.atomic import write_whole
from lapwing.errors import DataError, LapwingError
from lapwing.kernel.codec import KNOWN, PLAIN
from lapwing.release.runs.shares import USUAL_DELTA
from lapwing.rows.elsewhere import Query
from lapwing.schema.schemas import Schema
from lapwing.schema.typed import read_json

JOBS: Final = "lapwing-studio"
"""The folder of all jobs, within the working folder."""

_CHOOSING: Final = threading.Lock()
_NAME: Final = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,58}[a-z0-9])?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """What the owner chose for the release, as it was typed; empty where nothing was."""

    epsilon: str = "1"
    delta: str = USUAL_DELTA
    expected_rows: str = ""
    mechanism: str = ""
    neighbours: str = "add-remove"
    ledger: str = ""
    dataset: str = ""
    rows: str = ""
    prepared_by: str = ""
    approved_by: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One table on its way to a release.

    name: of its folder and in addresses; place: its folder; table: a path, right in the working folder; sql, db:
    instead of it, a query and the address of its database, without a password.
    """

    name: str = field(metadata=KNOWN)
    place: Path = field(metadata=KNOWN)
    table: str = ""
    sql: str = ""
    db: str = ""
    choices: Choices = field(default_factory=Choices)

    @property
    def data(self) -> Path | Query:
        """What the public calls take as data."""
        return Query(self.sql, self.db) if self.sql else Path(self.table)

    @property
    def title(self) -> str:
        """What the job is called on pages."""
        return Path(self.table).name if self.table else self.name

    def file(self, name: str) -> Path:
        """Return where one of its files is: schema.json, transcript.lwt, rows.csv and so on."""
        return self.place / name

    @property
    def schema(self) -> Schema | None:
        """Its schema, which may be a draft; None where there is none yet."""
        place = self.file("schema.json")
        return Schema.load_draft(place) if place.exists() else None

    def chosen(self, **changes: str) -> "Job":
        """Return the job with other choices, after writing them down; what another tab chose meanwhile stays so."""
        with _CHOOSING:
            now = read_job(self.place.parent.parent, self.name) or self
            changed = replace(now, choices=replace(now.choices, **changes))
            changed.save()
        return changed

    def save(self) -> None:
        """Write it down, whole or not at all."""
        self.place.mkdir(parents=True, exist_ok=True)
        kept = PLAIN.write(replace(self, table=Path(self.table).name))
        write_whole(self.file("job.json"), json.dumps(kept, indent=2) + "\n")


def read_job(folder: Path, name: str) -> Job | None:
    """Return the job of that name within a working folder, if there is one."""
    place = folder / JOBS / name
    if not _NAME.fullmatch(name):
        return None
    try:
        if not (place / "job.json").is_file():
            return None
        job = PLAIN.read(Job, read_json(place / "job.json"), name=name, place=place)
        if _is_sound(job, folder):
            return replace(job, table=str(folder / job.table)) if job.table else job
    except (OSError, ValueError, LapwingError):
        pass
    broken = place / "job.json"
    raise DataError(f"{broken} is no job of the studio; remove its folder, or put its file back", code="LW115")


def _is_sound(job: Job, folder: Path) -> bool:
    """Return whether a job is one that a studio wrote: its table lies in the working folder, and no link leads out."""
    table = folder / job.table
    return (
        bool(job.table) != bool(job.sql and job.db)
        and (not job.table or (table.parent == folder and table.resolve().parent == folder.resolve()))
        and job.place.resolve() == folder.resolve() / JOBS / job.name
        and job.choices.ledger == os.path.basename(job.choices.ledger)
        and not any(each.is_symlink() for each in (*job.place.iterdir(), *job.place.glob("release-*/*")))
    )


def all_jobs(folder: Path) -> list[Job]:
    """Return the jobs of a working folder, by name; not those that somebody broke."""
    found = []
    for name in _names(folder):
        with contextlib.suppress(DataError):
            found.append(read_job(folder, name))
    return [job for job in found if job is not None]


def _names(folder: Path) -> list[str]:
    try:
        return sorted(each.name for each in (folder / JOBS).iterdir()) if (folder / JOBS).is_dir() else []
    except PermissionError:
        said = f"{folder / JOBS} is another user's, and cannot be read; copy the table into a folder of your own"
    raise DataError(said, code="LW115")


def new_job(folder: Path, title: str, *, table: str = "", sql: str = "", db: str = "") -> Job:
    """Begin a job, in a folder named after its table; one for the same table is returned as it is."""
    for job in all_jobs(folder):
        if (job.table, job.sql, job.db) == (table, sql, db):
            return job
    stem = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")[:40] or "table"
    if (folder / JOBS).is_symlink():
        raise DataError(f"{folder / JOBS} is a link; the studio writes into a folder of its own there", code="LW115")
    taken = set(_names(folder))
    name = next(each for each in (stem, *(f"{stem}-{n}" for n in range(2, 10_000))) if each not in taken)
    job = Job(name=name, place=folder / JOBS / name, table=table, sql=sql, db=db)
    job.save()
    return job


def releases(job: Job) -> list[Path]:
    """Return the folders of its releases that are whole, the last one first: those with a certificate."""
    return [each for each in reversed(_numbered(job)) if list(each.glob("*.certificate.json"))]


def begun_release(job: Job) -> Path | None:
    """Return the folder of a release that was begun and not finished, if there is one."""
    last = _numbered(job)[-1:]
    return last[0] if last and not list(last[0].glob("*.certificate.json")) else None


def next_release(job: Job) -> Path:
    """Return the folder that the next release goes to, which is not there yet."""
    last = _numbered(job)[-1:]
    return job.place / f"release-{1 + _number(last[0]) if last else 1}"


def _numbered(job: Job) -> list[Path]:
    found = [each for each in job.place.glob("release-*") if each.name.removeprefix("release-").isdecimal()]
    return sorted(found, key=_number)


def _number(place: Path) -> int:
    return int(place.name.removeprefix("release-"))
