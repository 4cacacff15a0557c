"""What lies in the working folder of a studio: hostile names, links, and jobs that somebody edited lead nowhere."""

import json
import os
import re
import stat
import time
from pathlib import Path

import polars as pl
import pytest

from helpers.studio import in_process, is_strict, running, tree
from helpers.studio_walk import Walk
from lapwing.extras.studio.rooms import table

pytestmark = pytest.mark.skipif(os.name != "posix", reason="modes of files and links are those of POSIX")


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Return a working folder, with a secret beside it that a link leads to."""
    folder = tmp_path_factory.mktemp("folders") / "work"
    folder.mkdir()
    (folder / "people.csv").write_text("age,sex\n31,f\n42,m\n")
    return folder


@pytest.fixture(scope="module")
def studio(place):
    with running(place) as found:
        assert found.visitor.post("/open", {"table": "people.csv"}).status == 303
        yield found


def test_an_upload_that_is_cut_off_or_too_large_leaves_nothing(studio, place, monkeypatch):
    before = tree(place)
    visitor = studio.visitor
    request = (
        f"POST /upload HTTP/1.1\r\nHost: {visitor.host}\r\nCookie: {visitor.cookie}\r\nOrigin: http://{visitor.host}\r\n"
        f"X-Form-Key: {visitor.key}\r\nX-Name: cut.csv\r\nContent-Length: 1000\r\n\r\nage\n31\n"
    )
    assert studio.raw(request.encode()) == b""  # no answer, as nobody waits for it
    deadline = time.monotonic() + 10
    while tree(place) != before:
        assert time.monotonic() < deadline, set(tree(place)) ^ set(before)
        time.sleep(0.05)

    monkeypatch.setattr(table, "_MOST_UPLOAD", 1000)
    answer = in_process(place).upload("large.csv", b"x" * 1001)

    assert answer.status == 413
    assert tree(place) == before


def test_files_of_a_studio_are_for_its_owner_alone(studio, place):
    assert studio.visitor.upload("added%20caf%c3%a9.csv", b"age\n31\n").text == "added"
    modes = {
        path.name: stat.S_IMODE(path.stat().st_mode)
        for path in (place / "lapwing-studio", *(place / "lapwing-studio").rglob("*"), place / "added café.csv")
    }
    (place / "added café.csv").unlink()

    assert len(modes) >= 4
    assert {name: oct(mode) for name, mode in modes.items() if mode & 0o077} == {}


def test_a_studio_leaves_no_part_of_a_file_that_an_earlier_one_began(tmp_path):
    folder = tmp_path / "work"
    folder.mkdir()
    own, others = folder / f".{'a' * 16}.lapwing-part", folder / ".notes.lapwing-part"
    own.write_text("age\n31\n")
    others.write_text("mine")

    with running(folder):
        found = sorted(each.name for each in folder.iterdir())

    assert found == [others.name]


EDITED = {
    "a table elsewhere": {"table": "/etc/passwd"},
    "a table that is up": {"table": "../secret.csv"},
    "a table that is a link": {"table": "link.csv"},
    "a table that is the folder": {"table": "."},
    "a table that is a number": {"table": 3},
    "no table": {"table": ""},
    "both a table and a query": {"sql": "select 1", "db": "sqlite:///a.db"},
    "another place": {"place": "/etc"},
    "another name": {"name": "../../x"},
    "what nobody knows": {"run": "rm"},
    "a ledger elsewhere": {"choices": {"ledger": "../other.db"}},
    "a ledger at the root": {"choices": {"ledger": "/tmp/other.db"}},
    "choices of another kind": {"choices": []},
    "a choice that is a list": {"choices": {"ledger": ["a"]}},
    "a choice that nobody knows": {"choices": {"run": "rm"}},
}


def test_a_job_that_somebody_edited_is_refused_and_stops_no_other(tmp_path):
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "people.csv").write_text("age\n31\n")
    (folder.parent / "secret.csv").write_text("outside\n739173\n")
    (folder / "link.csv").symlink_to(folder.parent / "secret.csv")
    visitor = in_process(folder)
    visitor.post("/open", {"table": "people.csv"})
    file = folder / "lapwing-studio" / "people" / "job.json"
    whole = json.loads(file.read_text())
    texts = {name: json.dumps({**whole, **change}) for name, change in EDITED.items()}
    texts |= {"no JSON": "{", "deep JSON": "[" * 100_000, "a list": "[]", "no text": "\udcff"}
    found = {}
    for name, text in texts.items():
        file.write_text(text, errors="surrogateescape")
        first, room = visitor.get("/"), visitor.get("/job/people/schema")
        if first.status != 200 or "/job/people/" in first.text or room.status not in (400, 404):
            found[name] = first.status, room.status

    assert found == {}
    assert visitor.post("/open", {"table": "people.csv"}).at == "/job/people-2/schema"


def test_no_link_in_the_folder_of_a_studio_leads_its_files_elsewhere(tmp_path):
    folder, outside = tmp_path / "work", tmp_path / "outside"
    folder.mkdir()
    outside.mkdir()
    (folder / "people.csv").write_text("age\n31\n")
    (folder / "lapwing-studio").symlink_to(outside)
    assert in_process(folder).post("/open", {"table": "people.csv"}).status == 400
    (folder / "lapwing-studio").unlink()
    visitor = in_process(folder)
    visitor.post("/open", {"table": "people.csv"})
    job = folder / "lapwing-studio" / "people"
    assert "/job/people/" in visitor.get("/").text
    for name in ("schema.json", "release-1", ".job.json.part"):
        (job / name).symlink_to(outside / name)
        assert "/job/people/" not in visitor.get("/").text
        assert visitor.get("/job/people/schema").status in (400, 404)
        (job / name).unlink()
    job.rename(outside / "people")
    job.symlink_to(outside / "people")

    assert "/job/people/" not in visitor.get("/").text
    assert [each.name for each in outside.iterdir()] == ["people"]


def test_a_file_whose_name_is_no_text_or_no_word_of_one_line_hides_no_other(tmp_path):
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "people.csv").write_text("age\n31\n")
    for name in (b"\xff.csv", b"a\nb.csv", "turned \u202evsc.csv".encode()):
        Path(os.fsdecode(os.fsencode(folder) + b"/" + name)).write_text("age\n31\n")
    os.mkfifo(folder / "pipe.csv")
    (folder / "folder.csv").mkdir()

    answer = in_process(folder).get("/")

    assert re.findall(r'name="table" value="([^"]*)"', answer.text) == ["people.csv"]


def test_a_folder_of_files_is_one_table(tmp_path):
    folder, outside = tmp_path / "work", tmp_path / "outside"
    for place in (folder / "visits", folder / "notes", folder / ".hidden", outside):
        place.mkdir(parents=True)
    rows = pl.DataFrame({"age": [*range(50)], "sex": ["f", "m"] * 25})
    for place in (folder / "visits", folder / ".hidden", outside):
        rows.head(20).write_parquet(place / "a.parquet")
        rows.tail(30).write_csv(place / "b.csv")
    (folder / "link").symlink_to(outside)
    fields = [
        {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 99}},
        {"name": "sex", "type": "string", "categories": ["f", "m"]},
    ]
    (folder / "visits.schema.json").write_text(json.dumps({"fields": fields}))
    visitor = in_process(folder)

    listed = re.findall(r'name="table" value="([^"]*)"', visitor.get("/").text)
    refused = [visitor.post("/open", {"table": name}).status for name in (".hidden", "link", "notes", "../outside")]
    at = visitor.post("/open", {"table": "visits"}).at.removesuffix("/schema")
    visitor.post(f"{at}/schema/file", {"file": "visits.schema.json", "table": ""})
    visitor.post(f"{at}/check", {})
    check = visitor.wait(f"{at}/check", lambda answer: "data-watch" not in answer.text)
    visitor.post(f"{at}/plan", {"epsilon": "1", "expected_rows": "50", "neighbours": "add-remove"})
    visitor.post(f"{at}/release", {"number": "release-1", "rows": "40", "prepared_by": "", "approved_by": ""})
    made = visitor.wait(f"{at}/release", lambda answer: "data-watch" not in answer.text)

    assert listed == ["visits"]
    assert refused == [400] * 4
    assert '<td class="number">50</td>' in check.text
    assert "40 synthetic rows" in made.text


SCRIPT = "<script>alert(1)</script>"
IMAGE = "<img src=x onerror=alert(1)>"
BROKEN_OUT = "\"><svg onload=alert(1)>'"


def test_no_name_that_is_a_script_stands_in_a_page_as_one(tmp_path):
    folder = tmp_path / "work"
    folder.mkdir()
    names = [SCRIPT, IMAGE, BROKEN_OUT, "{{ 7 * 191 }}"]
    rows = pl.DataFrame({name: [SCRIPT, IMAGE, BROKEN_OUT, "plain"] * 10 for name in names})
    rows.write_parquet(folder / f"{IMAGE}.parquet")
    fields = [
        {"name": name, "type": "string", "categories": [SCRIPT, IMAGE, BROKEN_OUT], "description": SCRIPT}
        for name in names
    ]
    (folder / "schema.json").write_text(json.dumps({"name": SCRIPT, "title": IMAGE, "fields": fields}))
    walk = Walk(in_process(folder), ("/drop",))
    walk.get("/")
    at = walk.post("/open", {"table": f"{IMAGE}.parquet"}).at.removesuffix("/schema")
    walk.post(f"{at}/schema/file", {"file": "schema.json", "table": ""})
    walk.post(f"{at}/plan", {"epsilon": "1", "delta": "", "expected_rows": "40", "neighbours": "add-remove"})
    walk.post(f"{at}/budget/open", {"dataset": SCRIPT, "kind": "pure", "limit": "5", "file": "budget.db"})
    walk.post(f"{at}/release", {"number": "release-1", "rows": "", "prepared_by": SCRIPT, "approved_by": IMAGE})
    walk.visitor.wait(f"{at}/release", lambda answer: "data-watch" not in answer.text)
    walk.post(f"{at}/look/1/ask", {"column": ["0", "1"], "groups": "5"})
    walk.post(f"{at}/look/1/rows", {"rows": "50", "format": "csv", "seed": "1"})
    walk.post(f"{at}/look/1/compare", {})
    walk.read_again()
    walk.send_all()
    walk.read_again()

    pages = [each for each in walk.visits if each.answer.header("content-type").startswith("text/html")]
    found = {
        each.path
        for each in pages
        if any(raw in each.answer.text for raw in (SCRIPT, IMAGE, "<svg onload", "1337", "onerror=alert(1)>"))
    }
    assert found == set()
    assert {each.path for each in pages if not is_strict(each.answer)} == set()
    assert any("&lt;script&gt;alert(1)" in each.answer.text and "/look/1" in each.path for each in pages)
