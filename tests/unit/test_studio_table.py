"""The first room of the studio: files, folders, queries, jobs that were begun, and saved releases."""

import re

import pytest

from helpers.studio import in_process
from helpers.studio_forms import form_to, submit
from lapwing.extras.studio.jobs import read_job
from lapwing.extras.studio.rooms.table import slug_of


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "people.csv").write_text("age\n31\n")
    (tmp_path / "visits.TSV").write_text("age\n31\n")
    (tmp_path / "notes.txt").write_text("hello")
    return tmp_path


def test_tables_are_listed_by_their_endings_and_one_is_opened(folder):
    visitor = in_process(folder)
    form = form_to(visitor.get("/"), "/open")

    answer = submit(visitor, form, {"table": "visits.TSV"})

    assert form.options["table"] == ["people.csv", "visits.TSV"]
    assert answer.at == "/job/visits/schema"
    assert read_job(folder, "visits").data == folder / "visits.TSV"
    assert 'href="/job/visits/schema"' in visitor.get("/").text


def test_a_table_that_was_opened_before_goes_on_with_its_job(folder):
    visitor = in_process(folder)

    found = [visitor.post("/open", {"table": name}).at for name in ("people.csv", "visits.TSV", "people.csv")]

    assert found == ["/job/people/schema", "/job/visits/schema", "/job/people/schema"]


def test_a_folder_that_was_moved_keeps_its_jobs(folder, tmp_path_factory):
    in_process(folder).post("/open", {"table": "people.csv"})
    moved = tmp_path_factory.mktemp("elsewhere") / "moved"
    folder.rename(moved)

    assert read_job(moved, "people").data == moved / "people.csv"


def test_a_query_that_is_refused_stays_as_it_was_typed_but_for_a_password(folder):
    visitor = in_process(folder)
    form = form_to(visitor.get("/"), "/query")

    kept = submit(visitor, form, {"db": "mysql://h/d", "sql": "select <1>"})
    dropped = submit(visitor, form, {"db": "postgresql://me:hush@h/d", "sql": "select 2"})
    taken = submit(visitor, form, {"db": "sqlite:///people.db", "sql": "select 3"})

    assert (kept.status, dropped.status, taken.at) == (400, 400, "/job/query/schema")
    assert form_to(kept, "/query").fields["db"] == ["mysql://h/d"]
    assert form_to(kept, "/query").fields["sql"] == ["select <1>"]
    assert form_to(dropped, "/query").fields["sql"] == ["select 2"]
    assert "hush" not in dropped.text
    assert "holds a password" in dropped.text


def test_a_file_that_is_added_is_there_under_its_name(folder):
    visitor = in_process(folder)

    answer = visitor.upload("%C3%A4rzte.csv", b"age\n31\n")

    assert answer.text == "added"
    assert (folder / "ärzte.csv").read_bytes() == b"age\n31\n"
    assert 'value="ärzte.csv"' in visitor.get("/").text
    assert [each.name for each in folder.iterdir() if each.name.startswith(".")] == []


def test_a_folder_without_tables_says_what_may_be_put_there(tmp_path):
    text = in_process(tmp_path).get("/").text

    assert "There is no table here" in text
    assert re.search(r'<form[^>]*action="/open"', text) is None


def test_a_saved_release_has_an_address_of_its_own(folder):
    (folder / "given.lapwing").write_bytes(b"")

    assert f'href="/model/{slug_of("given.lapwing")}"' in in_process(folder).get("/").text
    assert slug_of("given.lapwing") != slug_of("Given.lapwing")


def test_of_many_tables_the_one_that_the_studio_was_started_with_comes_first(tmp_path):
    for number in range(250):
        (tmp_path / f"{number:03}.csv").write_text("a\n1\n")
    visitor = in_process(tmp_path, "249.csv")

    page = visitor.get("/")
    form = form_to(page, "/open")

    assert form.options["table"] == ["249.csv", *(f"{number:03}.csv" for number in range(199))]
    assert form.fields["table"] == ["249.csv"]
    assert "50 more files are not listed" in page.text
    assert visitor.post("/open", {"table": "248.csv"}).at == "/job/248/schema"
