"""No planted value shows on any public page of a studio, in its errors, headers, output or files."""

import io
import json
import os
import shutil
import sqlite3
import subprocess
import zipfile
from dataclasses import dataclass

import pytest
from starlette.routing import Match

from helpers.canary_inputs import FILES
from helpers.planted_values import BYTES, SCHEMA, TEXT, table, traces_in, traces_in_files
from helpers.studio import running
from helpers.studio_walk import ODD, Visit, Walk
from lapwing.extras.evaluate.report.page import NOTICE
from lapwing.extras.studio.app import rooms
from lapwing.extras.studio.rooms import table as first_room
from lapwing.extras.studio.rooms.table import slug_of

pytestmark = pytest.mark.skipif(os.name != "posix", reason="a studio is ended by a signal here")
ROUTES = (*first_room.ROUTES, *rooms().routes)
JOB = "/job/people"
DESTRUCTIVE = ("/drop", "/forget", "/cancel", "/back")
"""Forms that end what the walk still looks at; each is sent once at its end."""
NOWHERE = {"{job}": "none", "{number:int}": "99", "{model}": "none", "{role}": "none"}
BROKEN = ("CSV ragged", "CSV of bytes", "gzip cut off", "Parquet cut off", "Parquet damaged 0")
"""Files that nobody can read to their ends: readers quote cells in what they say."""
LEAKY = """
import polars as pl
import lapwing.extras.studio.pages as pages
page = pages.page
def leaky(request, template, **values):
    said = ""
    try:
        pl.read_csv("people.csv", schema_overrides={"sex": pl.Int64})
    except Exception as error:
        said = str(error)
    return page(request, template, **{**values, "said": said})
pages.page = leaky
from lapwing.cli.main import run
run()
"""
"""A studio whose pages show what a reader says of a cell."""


@dataclass(frozen=True)
class Walked:
    """A walk through a studio, how many visits came before any door, what it printed, and where its files are."""

    visits: list[Visit]
    doors: int
    said: bytes
    folder: object
    given: set


def given_to(folder):
    """Write tables that are full of planted values, and a schema that they do not fit."""
    (folder / "temporary").mkdir()
    work = folder / "work"
    work.mkdir()
    table().write_csv(work / "people.csv")
    table().write_parquet(work / "typed.parquet")
    to_database(table(), work / "people.db")
    for number, name in enumerate(BROKEN):
        place = work / str(number)
        place.mkdir()
        made = FILES[name](place)
        made.rename(work / f"broken{number}{''.join(made.suffixes)}")
        place.rmdir()
    given = {path for path in work.iterdir() if path.is_file()}
    (work / "people.schema.json").write_text(json.dumps(SCHEMA))
    bought = [
        {"name": "age", "type": "integer", "provenance": "dp"} if each["name"] == "age" else each
        for each in SCHEMA["fields"]
    ]
    (work / "typed.schema.json").write_text(json.dumps({"fields": bought, "draft": True}))
    return work, given


def to_database(rows, place):
    with sqlite3.connect(place) as connection:
        connection.execute(f"create table people ({', '.join(rows.columns)})")
        marks = ", ".join("?" * rows.width)
        connection.executemany(
            f"insert into people values ({marks})", [[str(each) for each in row] for row in rows.rows()]
        )
    connection.close()


def prepare(walk):
    """Open the table."""
    walk.get("/")
    walk.post("/open", {"table": "people.csv"})
    walk.read_again()


def draft(walk, at):
    """Let a schema be drafted, by looking at the cells where nothing else tells their types."""
    walk.post(f"{at}/schema/draft", {})
    walk.get(f"{at}/schema/work")
    walk.visitor.wait(f"{at}/schema", lambda answer: "data-watch" not in answer.text)


def describe_and_release(walk):
    """Go the whole way to a release, by what forms say; pages that are parts are asked for too."""
    draft(walk, JOB)
    walk.read_again()
    walk.fill(f"{JOB}/column/7", "/column/7", {"role": "leave"})
    walk.fill(f"{JOB}/schema", "/schema/back", {})
    walk.post(f"{JOB}/schema/answered", {})
    walk.post(f"{JOB}/schema/drop", {})
    walk.post(f"{JOB}/schema/file", {"file": "people.schema.json", "table": ""})
    walk.post(f"{JOB}/schema/done", {})
    walk.post(f"{JOB}/check", {})
    walk.get(f"{JOB}/check/work")
    walk.visitor.wait(f"{JOB}/check", lambda answer: "data-watch" not in answer.text)
    walk.post(f"{JOB}/plan", {"epsilon": "1", "delta": "", "expected_rows": "40", "neighbours": "add-remove"})
    walk.post(f"{JOB}/budget/open", {"dataset": "people", "kind": "pure", "limit": "5", "file": "budget.db"})
    walk.post(f"{JOB}/budget/limit", {"limit": "6"})
    walk.post(f"{JOB}/budget", {"account": "budget.db/people"})
    walk.post(f"{JOB}/release/people", {"prepared_by": "Ada", "approved_by": "Ben"})
    walk.read_again()
    walk.post(f"{JOB}/release", {"number": "release-1", "rows": "", "prepared_by": "", "approved_by": ""})
    walk.get(f"{JOB}/release/work")
    walk.post(f"{JOB}/release/finish", {})
    walk.visitor.wait(f"{JOB}/release", lambda answer: "data-watch" not in answer.text)
    walk.read_again()


def look_at(walk, work):
    """Look at the release in every way: tables and rows, beside the real rows, its files, and as one that was given."""
    at = f"{JOB}/look/1"
    made = work / "lapwing-studio" / "people" / "release-1"
    for each in (*made.glob("*.lapwing"), *made.glob("*.certificate.json")):
        shutil.copy(each, work)
    for each in (at, f"/model/{slug_of('model.lapwing')}"):
        for path in ("ask", "ask/file"):
            walk.post(f"{each}/{path}", {"column": ["1", "2"], "groups": "5", "f0": "10", "u0": "20"})
        for path in ("rows", "rows/file"):
            walk.post(f"{each}/{path}", {"rows": "50", "format": "parquet", "seed": "1"})
    walk.post(f"{at}/compare", {})
    walk.get(f"{at}/compare/work")
    walk.visitor.wait(f"{at}/compare", lambda answer: "data-watch" not in answer.text)
    (made / "report.html").unlink(missing_ok=True)
    walk.post(f"{JOB}/hand-over/1/report", {})
    walk.post(f"{JOB}/hand-over/1/check", {})
    walk.post(f"/model/{slug_of('model.lapwing')}/check", {})
    if keygen := shutil.which("ssh-keygen"):
        subprocess.run([keygen, "-q", "-t", "ed25519", "-N", "", "-f", str(work / "own.key")], check=True)
        walk.post(f"{JOB}/hand-over/1/sign", {"signer": "own.key"})
    walk.read_again()


def open_broken(walk, work):
    """Open what cannot be read."""
    for file in sorted(work.glob("broken*")):
        walk.post("/open", {"table": file.name})
        at = f"/job/{file.name.partition('.')[0]}"
        draft(walk, at)
        walk.post(f"{at}/schema/file", {"file": "people.schema.json", "table": ""})
        walk.post(f"{at}/column/4/look", {})
        walk.post(f"{at}/check", {})
        walk.visitor.wait(f"{at}/check", lambda answer: "data-watch" not in answer.text)
        walk.post(f"{at}/release", {"number": "release-1", "rows": "", "prepared_by": "", "approved_by": ""})
        walk.visitor.wait(f"{at}/release", lambda answer: "data-watch" not in answer.text)
        walk.read_all(f"{at}/schema", f"{at}/check", f"{at}/release")


def open_others(walk):
    """Open what is bought, and the answers of a database."""
    walk.post("/open", {"table": "typed.parquet"})
    walk.post("/job/typed/schema/file", {"file": "typed.schema.json", "table": ""})
    walk.read_all("/job/typed/schema", "/job/typed/buy/work")
    walk.post("/job/typed/schema/bought", {})
    for sql in ("select * from people", "select abs(sex), no from people", f"select '{TEXT[:3]}"):
        walk.post("/query", {"sql": sql, "db": "sqlite:///people.db"})
    for name in ("query", "query-2", "query-3"):
        draft(walk, f"/job/{name}")
        walk.read_all(f"/job/{name}/schema")
        walk.post(f"/job/{name}/check", {})
        walk.read_all(f"/job/{name}/check")


def nowhere():
    """Yield each way of asking for a job, a column, a file or a model that is not there."""
    for route in ROUTES:
        path = route.path
        for name, value in NOWHERE.items():
            path = path.replace(name, value)
        yield from ((method, path) for method in sorted(route.methods - {"HEAD"}) if path != route.path)


def all_rooms(walk, work):
    """Go through all rooms, with good and bad input."""
    describe_and_release(walk)
    look_at(walk, work)
    open_others(walk)
    walk.upload("added.csv", b"a\n1\n")
    walk.upload("../added.csv", b"a\n1\n")
    for kind in ("", *ODD):
        walk.send_all(f"{JOB}/", "/open", "/query", "/model/", "/job/typed/buy", kind=kind)
    walk.read_again()
    for path in ("look/1/compare/forget", "check/forget", "release/cancel", "schema/back", "schema/drop"):
        walk.post(f"{JOB}/{path}", {})
    for method, path in nowhere():
        walk.get(path) if method == "GET" else walk.post(path, {})


@pytest.fixture(scope="module", params=[all_rooms, open_broken], ids=["all rooms", "broken files"])
def walked(request, tmp_path_factory):
    """Return a walk through a studio."""
    folder = tmp_path_factory.mktemp("canaries")
    work, given = given_to(folder)
    with running(work, settings={"TMPDIR": str(folder / "temporary")}) as studio:
        walk = Walk(studio.visitor, DESTRUCTIVE)
        prepare(walk)
        doors = len(walk.visits)
        request.param(walk, work)
        said = studio.stop()
    return Walked(walk.visits, doors, said, folder, given)


def is_internal(answer):
    """Return whether a page says of itself that it is internal."""
    return 'class="internal"' in answer.text or NOTICE in answer.text


def traces(visit):
    """Return the planted values in all that came back."""
    answer = visit.answer
    body = answer.body
    if body[:4] == b"PK\x03\x04":
        with zipfile.ZipFile(io.BytesIO(body)) as archive:
            body = b"\n".join([*map(str.encode, archive.namelist()), *map(archive.read, archive.namelist())])
    return [*traces_in(str(answer.headers)), *(repr(each) for each in BYTES if each in body)]


def leaks(visits):
    """Return where planted values show without a word that the page is internal; or in an address."""
    found = {
        (visit.method, visit.path): traces(visit)
        for visit in visits
        if traces_in(visit.path) or traces_in(visit.answer.at) or (not is_internal(visit.answer) and traces(visit))
    }
    return found


def test_no_planted_value_shows_on_a_public_page(walked):
    assert leaks(walked.visits) == {}


def test_internal_pages_come_after_a_door_and_are_kept_by_no_browser(walked):
    internal = [number for number, visit in enumerate(walked.visits) if is_internal(visit.answer)]

    assert min(internal) >= walked.doors
    for number in internal:
        visit = walked.visits[number]
        at = visit.path.removesuffix("/report").removesuffix("/work")
        assert visit.method == "POST" or any(
            each.method == "POST" and each.path == at for each in walked.visits[:number]
        ), visit.path
        assert visit.answer.header("cache-control") == "no-store"


def test_no_planted_value_is_printed_or_written(walked):
    assert traces_in(walked.said.decode()) == []
    assert traces_in_files(walked.folder, but=walked.given) == []


def test_no_request_of_the_walk_fails_and_no_error_tells_where_it_came_from(walked):
    odd = {
        (visit.method, visit.path, visit.answer.status, visit.answer.text[-300:])
        for visit in walked.visits
        if visit.answer.status >= 500 or "Traceback" in visit.answer.text or "nothing more is told" in visit.answer.text
    }

    assert odd == set()


def routes_of(visits, status):
    """Return the routes that answered with such a status, by place in the list and method."""
    found = set()
    for visit in visits:
        if status(visit.answer.status):
            scope = {"type": "http", "method": visit.method, "path": visit.path.partition("?")[0]}
            full = [place for place, route in enumerate(ROUTES) if route.matches(scope)[0] == Match.FULL]
            found |= {(place, visit.method) for place in full[:1]}
    return found


ALL_ROOMS = pytest.mark.parametrize("walked", [all_rooms], indirect=True, ids=["all rooms"])


@ALL_ROOMS
def test_internal_pages_hold_what_nobody_else_may_see(walked):
    assert any(traces(visit) for visit in walked.visits if is_internal(visit.answer))


@ALL_ROOMS
def test_every_route_was_visited_with_good_input_and_every_form_with_bad(walked):
    asked = {(place, method) for place, route in enumerate(ROUTES) for method in route.methods if method != "HEAD"}
    good, bad = (
        routes_of(walked.visits, lambda status: status < 400),
        routes_of(walked.visits, lambda status: status >= 400),
    )
    names = {(place, method): f"{method} {ROUTES[place].path}" for place, method in asked}

    assert len(asked) >= 60
    assert {names[each] for each in asked - good} == set()
    assert {names[each] for each in asked - bad} == {"GET /"}


def test_a_leak_that_is_planted_is_found(tmp_path):
    work, _ = given_to(tmp_path)
    with running(work, start=LEAKY) as studio:
        walk = Walk(studio.visitor, DESTRUCTIVE)
        prepare(walk)

    assert leaks(walk.visits)
