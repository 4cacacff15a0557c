"""The studio's room where cells that do not fit are counted: behind a door, in memory alone."""

import re
from pathlib import Path

import polars as pl
import pytest

from helpers.studio import Visitor, in_process
from lapwing.schema.schemas import Schema

FIELDS = [
    {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 99}, "provenance": "public"},
    {"name": "sex", "type": "string", "categories": ["f", "m"], "provenance": "public"},
    {"name": "ill", "type": "boolean", "constraints": {"required": True}, "provenance": "public"},
    {"name": "who", "type": "integer", "role": "identifier"},
]
SEEN = re.compile(r"\b313\b")
"""The number of misfits, where it is not part of a key."""

RULE = {"never": {"ill": True, "sex": "m"}}


@pytest.fixture
def visitor(tmp_path: Path) -> Visitor:
    """Return a visitor with a table of 907 rows: 313 misfit, 41 lie beyond the bounds and 200 break a rule."""
    rows = {
        "age": [150] * 41 + [30] * 866,
        "sex": ["F"] * 313 + ["m"] * 400 + ["f"] * 194,
        "ill": [True] * 513 + [False] * 394,
        "who": [7] * 601 + list(range(1000, 1306)),
    }
    pl.DataFrame(rows).write_parquet(tmp_path / "t.parquet")
    Schema.load({"fields": FIELDS, "rules": [RULE], "privacyUnit": {"field": "who", "maxRows": 2}}).save(
        tmp_path / "s.json"
    )
    found = in_process(tmp_path)
    found.post("/open", {"table": "t.parquet"})
    assert found.post("/job/t/schema/file", {"file": "s.json"}).status == 303
    return found


def look(visitor: Visitor) -> str:
    assert visitor.post("/job/t/check").at == "/job/t/check"
    visitor.wait("/job/t/check/work", lambda answer: "data-done" in answer.text)
    return visitor.get("/job/t/check").text


def test_nothing_is_counted_before_the_door_is_opened(visitor):
    page = visitor.get("/job/t/check").text

    assert "Look for invalid values" in page
    assert 'class="internal"' not in page
    assert "<table" not in page


def test_what_does_not_fit_is_shown_as_the_public_check_counts_it(visitor, tmp_path):
    page = look(visitor)
    counted = Schema.load(tmp_path / "s.json").check(tmp_path / "t.parquet").row(1, named=True)

    assert 'class="internal"' in page
    assert 'role="note"' in page
    assert counted["misfit"] == 313
    assert '<td class="number weak">313</td>' in page
    assert '<td class="number">41</td>' in page
    assert "200 of 907 rows break a rule" in page
    assert "invalid values: 1 of 3" in page
    assert page.index(">sex<") < page.index(">age<")
    assert '<a href="/job/t/column/2">sex</a>' in page
    assert ">307<" in page, "people"
    assert ">601<" in page, "the most rows of one"
    assert "nearest bound" in page


def test_what_was_seen_is_in_no_file_and_on_no_other_page(visitor, tmp_path):
    folder = tmp_path / "lapwing-studio" / "t"
    before = {each.name: each.read_bytes() for each in folder.iterdir()}
    look(visitor)

    assert {each.name: each.read_bytes() for each in folder.iterdir()} == before
    for path in ("/", "/job/t/schema", "/job/t/column/2", "/job/t/schema/json", "/job/t/check/work"):
        assert not SEEN.search(visitor.get(path).text)


def test_what_was_seen_is_forgotten(visitor):
    look(visitor)
    visitor.post("/job/t/check/forget")
    page = visitor.get("/job/t/check").text

    assert not SEEN.search(page)
    assert 'class="internal"' not in page


def test_a_look_is_old_once_the_schema_changes(visitor):
    assert "Look again." not in look(visitor)
    column = re.search(r'name="column" value="([^"]*)"', visitor.get("/job/t/column/1").text)
    assert column is not None
    form = {"column": column[1], "type": "integer", "minimum": "0", "maximum": "199", "provenance": "assumed"}
    assert visitor.post("/job/t/column/1", form).status == 303

    assert "has changed since this look. Look again." in visitor.get("/job/t/check").text
    fresh = look(visitor)
    assert "has changed since" not in fresh
    assert '<td class="number">41</td>' not in fresh


def test_a_table_that_lacks_a_column_is_refused_in_one_sentence(visitor, tmp_path):
    pl.DataFrame({"age": [1]}).write_parquet(tmp_path / "t.parquet")
    page = look(visitor)

    assert 'class="refusal" role="alert"' in page
    assert "sex" in page
    assert 'class="internal"' not in page
