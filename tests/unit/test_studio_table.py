"""The first room of the studio: files, folders, queries, jobs that were begun, and saved releases."""

import pytest

from helpers.studio import in_process
from helpers.studio_forms import form_to, submit
from lapwing.extras.studio.jobs import read_job


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


def test_a_file_that_is_added_is_there_under_its_name(folder):
    visitor = in_process(folder)

    answer = visitor.upload("%C3%A4rzte.csv", b"age\n31\n")

    assert answer.text == "added"
    assert (folder / "ärzte.csv").read_bytes() == b"age\n31\n"
    assert 'value="ärzte.csv"' in visitor.get("/").text
    assert [each.name for each in folder.iterdir() if each.name.startswith(".")] == []
