"""What six recorded releases say in all their documents is what a review has read."""

import json

import pytest

from helpers.recorded_results import fingerprint
from helpers.snapshots import (
    FOLDER,
    MACHINE,
    OTHERS,
    RELEASES,
    SESSIONS,
    differences,
    documents,
    read,
    session,
    without_figures,
)

IS_OF_THIS_MACHINE = json.loads(MACHINE.read_text(encoding="utf-8")) == fingerprint()


@pytest.mark.parametrize("name", [*RELEASES, *OTHERS])
def test_all_documents_of_a_release_say_what_was_read_in_review(name):
    found = documents(name)

    assert differences(name, found, exact=False) == []
    assert differences(name, found, exact=IS_OF_THIS_MACHINE) == []


@pytest.mark.parametrize("path", sorted(SESSIONS.glob("*.txt")), ids=lambda path: path.stem)
def test_commands_say_what_was_read_in_review(path):
    found, kept = session(path.stem), path.read_text(encoding="utf-8")

    assert without_figures(found) == without_figures(kept)
    assert found == kept or not IS_OF_THIS_MACHINE


def test_another_sentence_or_document_is_found():
    kept = {path.stem: path.read_text(encoding="utf-8") for path in (FOLDER / "pmm-prior").glob("*.txt")}
    changed = {**kept, "certificate": kept["certificate"].replace("protects", "guards")}

    assert differences("pmm-prior", kept, exact=True) == []
    assert any("guards" in line for line in differences("pmm-prior", changed, exact=True))
    assert differences("pmm-prior", {**kept, "other": ""}, exact=False) != []
    assert {path.name for path in FOLDER.iterdir()} == {*RELEASES, *OTHERS, MACHINE.name, SESSIONS.name}


def test_a_page_is_read_a_line_for_each_fact():
    page = "<head><title>x</title></head><h1>A</h1><svg>x<p>x</p></svg><tr><td>b</td><td>c &lt; d</td></tr><p>e\n f"
    page += "<div class='warning'> <p>g</p></div>"

    assert read(page) == "# A\nb | c < d\ne f\n! g\n"
