"""A job of the studio, on a small table or the bundled sample, and a browser that goes through its rooms."""

import asyncio
import json
import re
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import polars as pl

import lapwing
from lapwing.studio.app import make_app
from lapwing.studio.jobs import Job, new_job, read_job
from lapwing.studio.pages import Studio

EXAMPLES = Path(lapwing.__file__).parent / "examples"
PORT = 8791
PATIENCE_S = 60
SMALL = {
    "fields": [
        {"name": "flag", "type": "boolean", "constraints": {"required": True}},
        {"name": "kind", "type": "string", "categories": ["a", "b", "c"], "constraints": {"required": True}},
    ]
}


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


@dataclass(slots=True)
class Rooms:
    """The application in this process, as the browser of its owner sees the rooms of one job."""

    studio: Studio
    name: str

    @property
    def job(self) -> Job:
        found = read_job(self.studio.folder, self.name)
        assert found is not None
        return found

    def get(self, room: str) -> Shown:
        return self._ask("GET", room, b"")

    def post(self, room: str, **form: str) -> Shown:
        return self._ask("POST", room, urlencode({"key": self.studio.keys.form, **form}).encode())

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

    def plan(self, epsilon: str = "1", **form: str) -> Shown:
        usual = {"delta": "", "mechanism": "", "neighbours": "add-remove", "expected_rows": "1,000"}
        return self.post("plan", epsilon=epsilon, **{**usual, **form})

    def _ask(self, method: str, room: str, body: bytes) -> Shown:
        app = make_app(self.studio, PORT)
        path = f"/job/{self.name}/{room}"
        headers = [
            ("host", f"127.0.0.1:{PORT}"),
            ("cookie", f"lapwing-{PORT}={self.studio.keys.token}"),
            ("origin", f"http://127.0.0.1:{PORT}"),
            ("content-type", "application/x-www-form-urlencoded"),
        ]
        scope = {
            "type": "http",
            "method": method,
            "path": path,
            "raw_path": path.encode(),
            "root_path": "",
            "query_string": b"",
            "scheme": "http",
            "headers": [(name.encode(), value.encode()) for name, value in headers],
            "server": ("127.0.0.1", PORT),
        }
        sent: list[dict[str, Any]] = []

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message: dict[str, Any]) -> None:
            sent.append(message)

        asyncio.run(app(scope, receive, send))
        found = dict(sent[0]["headers"])
        html = b"".join(each.get("body", b"") for each in sent[1:]).decode()
        return Shown(sent[0]["status"], found.get(b"location", b"").decode(), html)


def small_rooms(folder: Path, schema: dict[str, Any] = SMALL) -> Rooms:
    """Return the rooms of a job with a small CSV file."""
    table = folder / "people.csv"
    pl.DataFrame({"flag": [True, False] * 300, "kind": ["a", "b", "c"] * 200, "size": range(600)}).with_columns(
        pl.col("size") % 10
    ).write_csv(table)
    job = new_job(folder, "people", table=str(table))
    job.file("schema.json").write_text(json.dumps(schema))
    return Rooms(Studio(folder), job.name)


def adult_rooms(folder: Path, columns: int = 15) -> Rooms:
    """Return the rooms of a job with the bundled sample, whose release takes a second or two."""
    table = folder / "adult.parquet"
    shutil.copy(EXAMPLES / "adult.parquet", table)
    job = new_job(folder, "adult", table=str(table))
    schema = json.loads((EXAMPLES / "adult.schema.json").read_text())
    job.file("schema.json").write_text(json.dumps({"fields": schema["fields"][:columns]}))
    return Rooms(Studio(folder), job.name)
