"""A job of the studio, on a small table or the bundled sample, and a browser that goes through its rooms."""

import contextlib
import json
import re
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from html import unescape
from pathlib import Path
from typing import Any

import polars as pl

import lapwing
from helpers import make
from helpers.studio import Answer, Visitor, in_process
from lapwing.extras.studio.jobs import Job, new_job, read_job
from lapwing.extras.studio.unfinished import TRANSCRIPT
from lapwing.kernel.budget.ledger import Ledger
from lapwing.release.runs.watching import Progress

EXAMPLES = Path(lapwing.__file__).parent / "examples"
PATIENCE_S = 60
SMALL = make.schema({"flag": bool, "kind": ["a", "b", "c"]}, required=True)


@dataclass(frozen=True, slots=True)
class Shown:
    """A page: its status, where it sends the browser on to, its HTML."""

    status: int
    at: str
    html: str

    @property
    def text(self) -> str:
        """What is read of it, in one line."""
        return " ".join(unescape(re.sub(r"<[^>]+>", " ", self.html.partition("<main")[2] or self.html)).split())

    @property
    def refusal(self) -> str:
        """The refusal on top."""
        found = re.search(r'role="alert">(.*?)</p>', self.html, re.DOTALL)
        return "" if found is None else unescape(found[1])


def _shown(answer: Answer) -> Shown:
    return Shown(answer.status, answer.at, answer.text)


@dataclass(slots=True)
class Rooms:
    """The application in this process, as the browser of its owner sees the rooms of one job."""

    visitor: Visitor
    folder: Path
    name: str

    @property
    def job(self) -> Job:
        found = read_job(self.folder, self.name)
        assert found is not None
        return found

    def get(self, room: str) -> Shown:
        return _shown(self.visitor.get(f"/job/{self.name}/{room}"))

    def post(self, room: str, **form: str) -> Shown:
        return _shown(self.visitor.post(f"/job/{self.name}/{room}", form))

    def wait(self, until: Callable[[str], object] = lambda html: "data-done" in html) -> str:
        """Look at the release that is being made until something is so."""
        deadline = time.monotonic() + PATIENCE_S
        while not until(html := self.get("release/work").html):
            assert time.monotonic() < deadline, html
            time.sleep(0.05)
        return html

    def begin(self, number: str = "release-1", **form: str) -> Shown:
        return self.post("release", number=number, **{"rows": "", "prepared_by": "", "approved_by": "", **form})

    def account(self, limit: str = "2", **form: str) -> Shown:
        usual = {"dataset": "people", "kind": "pure", "delta": "1e-9", "selection_delta": "", "file": "budget.db"}
        return self.post("budget/open", limit=limit, **{**usual, **form})

    @property
    def spent(self) -> Fraction:
        """What the account has spent."""
        return Ledger.open(self.folder / "budget.db").balance("people").spent

    def stamp(self, room: str = "release") -> str:
        """Return what a page carries of all that it says."""
        return re.search(r'name="stamp" value="([0-9a-f]+)"', self.get(room).html)[1]

    def halted(self, share: float = 1, ledger: Path | None = None) -> None:
        """Begin a release as the room does, and end it once so much of its budget is spent."""

        def halt(step: Progress) -> None:
            if step.share >= share:
                raise InterruptedError

        place = self.job.file("release-1")
        place.mkdir()
        with contextlib.suppress(lapwing.LapwingError):
            lapwing.synthesize(
                self.job.data,
                self.job.file("schema.json"),
                epsilon=1,
                ledger=ledger or self.folder / "budget.db",
                transcript=place / TRANSCRIPT,
                progress=halt,
            )
        assert not (place / "model.lapwing").exists()

    def plan(self, epsilon: str = "1", **form: str) -> Shown:
        usual = {"delta": "", "mechanism": "", "neighbours": "add-remove", "expected_rows": "1,000"}
        return self.post("plan", epsilon=epsilon, **{**usual, **form})


def small_rooms(folder: Path, schema: dict[str, Any] = SMALL) -> Rooms:
    """Return the rooms of a job with a small CSV file."""
    table = folder / "people.csv"
    pl.DataFrame({"flag": [True, False] * 300, "kind": ["a", "b", "c"] * 200, "size": range(600)}).with_columns(
        pl.col("size") % 10
    ).write_csv(table)
    job = new_job(folder, "people", table=str(table))
    job.file("schema.json").write_text(json.dumps(schema))
    return Rooms(in_process(folder), folder, job.name)


def adult_rooms(folder: Path, columns: int = 15) -> Rooms:
    """Return the rooms of a job with the bundled sample, whose release takes a second or two."""
    table = folder / "adult.parquet"
    shutil.copy(EXAMPLES / "adult.parquet", table)
    job = new_job(folder, "adult", table=str(table))
    schema = json.loads((EXAMPLES / "adult.schema.json").read_text())
    job.file("schema.json").write_text(json.dumps({"fields": schema["fields"][:columns]}))
    return Rooms(in_process(folder), folder, job.name)
