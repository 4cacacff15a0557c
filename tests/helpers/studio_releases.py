"""A job of the studio with releases, made by the public calls, as the room that makes them leaves them behind."""

import os
from pathlib import Path
from typing import Any

import polars as pl

import lapwing as lw
from helpers import make
from lapwing.extras.studio.jobs import Job, new_job, next_release
from lapwing.release.files import write_files
from lapwing.release.targets import read_targets
from lapwing.rows.out.outputs import whole_files

TOWNS = [f"town {place}" for place in range(60)]
PEOPLE = make.schema({"age": (0, 99), "sex": ["Female", "Male"], "smokes": bool, "town": TOWNS}, name="people")
CANARY = "town 59"
"""A category that one row of the table alone has."""


def people(rows: int = 2000) -> pl.DataFrame:
    """Return rows in which old people smoke less, and one lives where nobody else does."""
    ages = [(7 * row) % 100 for row in range(rows)]
    return pl.DataFrame(
        {
            "age": ages,
            "sex": ["Female" if row % 3 else "Male" for row in range(rows)],
            "smokes": [age < 40 and row % 2 == 0 for row, age in enumerate(ages)],
            "town": [CANARY if not row else f"town {row % 5}" for row in range(rows)],
        }
    )


def job_with_table(folder: Path, rows: int = 2000, name: str = "people") -> Job:
    """Begin a job with a table of people, which has its schema."""
    table = folder / f"{name}.csv"
    people(rows).write_csv(table)
    job = new_job(folder, name, table=str(table))
    lw.Schema.from_dict(PEOPLE).save(job.file("schema.json"))
    return job


def add_release(job: Job, *, epsilon: float = 5.0, seed: int = 1, **settings: Any) -> Path:
    """Make the next release of a job, with all its files but the report; return its folder."""
    place = next_release(job)
    place.mkdir()
    release = lw.synthesize(
        job.data,
        job.file("schema.json"),
        epsilon=epsilon,
        seed=seed,
        transcript=place / "transcript.jsonl",
        **settings,
    )
    targets = read_targets(
        os.fspath(place / f"{job.name}-synthetic.csv"),
        place / "model.lapwing",
        None,
        no_certificate=False,
        croissant=place / "croissant.json",
        people=("Ada", "the board"),
    )
    with whole_files(targets.in_order) as places:
        write_files(
            release, targets, dict(zip(targets.in_order, places, strict=True)), rows=None, seed=seed, quiet=True
        )
    return place
