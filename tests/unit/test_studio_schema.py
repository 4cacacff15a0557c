"""The studio's room where a table is described: ways to a schema, cards, who is protected, rules, the file."""

import json
import re
from collections.abc import Mapping
from fractions import Fraction
from html import unescape
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from helpers.studio import Visitor, in_process
from lapwing.extras.studio.jobs import read_job
from lapwing.kernel.budget.ledger import Ledger
from lapwing.schema.schemas import Schema

SECRET = "Zwetschgenknödel"
ODD = "<script>alert(1)</script>"
HEAD = f"Name;Geboren;Gewicht;Code;{ODD}\n"
ROWS = [
    f"{SECRET} {number};{number % 28 + 1:02}.03.1980;{'N/A' if number % 7 == 0 else f'{60 + number % 40},5'};"
    f"{'ABC'[number % 3]};{'xy'[number % 2]}\n"
    for number in range(200)
]


@pytest.fixture
def messy(tmp_path: Path) -> Visitor:
    """Return a visitor of a CSV file with semicolons, decimal commas, German dates and a script for a name."""
    (tmp_path / "clinic.csv").write_text(HEAD + "".join(ROWS), encoding="utf-8")
    visitor = in_process(tmp_path)
    assert visitor.post("/open", {"table": "clinic.csv"}).at == "/job/clinic/schema"
    return visitor


@pytest.fixture
def typed(tmp_path: Path) -> Visitor:
    """Return a visitor who has opened a Parquet file and begun with its names and types."""
    rows = {"age": [20, 60, 41] * 100, "sex": ["f", "m", "f"] * 100, "who": list(range(150)) * 2, "ill": [True] * 300}
    pl.DataFrame(rows).write_parquet(tmp_path / "people.parquet")
    visitor = in_process(tmp_path)
    visitor.post("/open", {"table": "people.parquet"})
    drafted(visitor, "people")
    return visitor


def kept(folder: Path, job: str) -> Schema:
    return Schema.load_draft(folder / "lapwing-studio" / job / "schema.json")


def box(page: str, name: str) -> str:
    """Return what stands in a box of a page."""
    found = re.search(rf'<input id="{name}"[^>]* value="([^"]*)"', page)
    return unescape(found[1]) if found else ""


def column_key(page: str) -> str:
    """Return what stands for the column in the form of its page."""
    found = re.search(r'<input type="hidden" name="column" value="([^"]*)"', page)
    assert found is not None
    return found[1]


def drafted(visitor: Visitor, job: str) -> str:
    """Begin with names and types, and return the page that shows them."""
    assert visitor.post(f"/job/{job}/schema/draft").status == 303
    visitor.wait(f"/job/{job}/schema/work", lambda answer: "data-done" in answer.text)
    return visitor.get(f"/job/{job}/schema").text


def save(visitor: Visitor, number: int, form: Mapping[str, Any]) -> str:
    """Save a column as the form of its page sends it; return what refused it, if anything did."""
    page = visitor.get(f"/job/people/column/{number}").text
    answer = visitor.post(f"/job/people/column/{number}", {"column": column_key(page), **form})
    found = re.search(r'<p class="refusal" role="alert">(.*?)</p>', answer.text)
    assert (answer.status == 400) == (found is not None)
    return unescape(found[1]) if found else ""


def test_cells_are_looked_at_only_behind_the_door(messy, tmp_path):
    before = messy.get("/job/clinic/schema").text

    assert not (tmp_path / "lapwing-studio" / "clinic" / "schema.json").exists()
    assert 'class="door"' in before
    assert 'class="internal"' not in before

    page = drafted(messy, "clinic")
    found = kept(tmp_path, "clinic")

    assert found.is_draft
    assert found.dialect.delimiter == ";"
    assert found["Geboren"].reading.date_format == "%d.%m.%Y"
    assert found["Gewicht"].reading.decimal_char == ","
    assert "N/A" in found["Gewicht"].missing_values
    assert SECRET not in page
    assert ODD not in page
    assert "&lt;script&gt;alert(1)" in page
    assert "5 columns are still open" in page
    assert "were guessed from the cells" in page


def test_a_second_tab_does_not_begin_anew(typed, tmp_path):
    save(typed, 1, {"type": "integer", "minimum": "0", "maximum": "120", "provenance": "public"})
    (tmp_path / "mbi.json").write_text('{"age": 85, "sex": 2}')
    typed.post("/job/people/schema/draft")
    typed.post("/job/people/schema/file", {"file": "mbi.json"})

    assert kept(tmp_path, "people")["age"].maximum == 120


def test_a_typed_file_needs_no_door(tmp_path):
    pl.DataFrame({"age": [SECRET]}).write_parquet(tmp_path / "t.parquet")
    visitor = in_process(tmp_path)
    visitor.post("/open", {"table": "t.parquet"})

    assert 'class="door"' not in visitor.get("/job/t/schema").text


def test_a_schema_and_a_foreign_description_are_taken_as_they_are(typed, tmp_path):
    own = Schema.load({"fields": [{"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 9}}]})
    own.save(tmp_path / "own.json")
    (tmp_path / "mbi.json").write_text('{"age": 85, "sex": 2}')
    (tmp_path / "broken.json").write_text('{"fields": [{"name": "age", "type": "integr"}]}')
    (tmp_path / "up").mkdir()

    for name, top in (("own.json", 9), ("mbi.json", 84)):
        typed.post("/job/people/schema/drop")
        assert typed.post("/job/people/schema/file", {"file": name}).status == 303
        assert kept(tmp_path, "people")["age"].maximum == top
    typed.post("/job/people/schema/drop")
    refused = typed.post("/job/people/schema/file", {"file": "broken.json"})
    outside = typed.post("/job/people/schema/file", {"file": "../own.json"})

    assert refused.status == 400
    assert "integr" in refused.text
    assert outside.status == 400
    assert "no file of that name" in outside.text
    assert not (tmp_path / "lapwing-studio" / "people" / "schema.json").exists()


def test_all_is_said_column_by_column_and_the_schema_is_done(typed, tmp_path):
    assert save(typed, 1, {"type": "integer", "minimum": "0", "maximum": "120", "provenance": "public"}) == ""
    said = {"type": "string", "categories": "f\r\nm\r\n", "missing": "never", "provenance": "assumed"}
    assert save(typed, 2, said) == ""
    assert save(typed, 3, {"role": "leave"}) == ""
    early = typed.post("/job/people/schema/done")
    assert save(typed, 3, {"type": "boolean", "provenance": "public"}) == ""
    done = typed.post("/job/people/schema/done")
    found = Schema.load(tmp_path / "lapwing-studio" / "people" / "schema.json")

    assert early.status == 400
    assert "ill" in early.text
    assert done.at == "/job/people/check"
    assert not found.is_draft
    assert found.names == ("age", "sex", "ill")
    assert (found["age"].minimum, found["age"].maximum, found["age"].provenance) == (0, 120, "public")
    assert (found["sex"].categories, found["sex"].required, found["sex"].provenance) == (("f", "m"), True, "assumed")

    back = typed.get("/job/people/schema").text
    assert '<option value="2">who</option>' in back
    typed.post("/job/people/schema/back", {"column": "2"})
    assert kept(tmp_path, "people").names == ("age", "sex", "who", "ill")
    assert kept(tmp_path, "people").is_draft


def test_a_refused_column_keeps_what_was_typed_and_changes_nothing(typed, tmp_path):
    before = (tmp_path / "lapwing-studio" / "people" / "schema.json").read_bytes()
    key = column_key(typed.get("/job/people/column/1").text)
    form = {"column": key, "type": "integer", "minimum": "zero", "maximum": "7<b>", "description": "in years"}
    answer = typed.post("/job/people/column/1", form)

    assert answer.status == 400
    assert "minimum &#34;zero&#34; is not a whole number" in answer.text
    assert box(answer.text, "minimum") == "zero"
    assert box(answer.text, "maximum") == "7<b>"
    assert "<b>" not in answer.text
    assert box(answer.text, "description") == "in years"
    assert (tmp_path / "lapwing-studio" / "people" / "schema.json").read_bytes() == before


@pytest.mark.parametrize(
    ("form", "said"),
    [
        ({"minimum": "0", "maximum": "120"}, "0 to 120, may be missing"),
        ({"minimum": "0", "maximum": "120"}, "(121 values)"),
        ({"minimum": "0", "maximum": "120", "special": "-1\n-2"}, "0 to 120, special -1, -2, may be missing"),
        ({"minimum": "9", "maximum": "1"}, 'class="refusal"'),
        ({"minimum": "9"}, "its highest value"),
        ({"minimum": "0", "maximum": "1", "categories": "1\n2"}, "bounds and a list"),
        ({"minimum": "0", "maximum": "1", "provenance": "dp"}, 'class="refusal"'),
        ({"provenance": "dp"}, "To be learned"),
        ({"domain": "human-age", "minimum": "5"}, "0 to 120"),
        ({"domain": "nonsense"}, "not in the catalogue"),
        ({"type": "string", "minimum": "0", "categories": "a\nb"}, "2 categories"),
        ({"type": "date", "minimum": "1.1.2020"}, "is not a date"),
        ({"role": "identifier"}, "Names rows or people"),
        ({"role": "leave"}, "left out"),
    ],
)
def test_what_is_typed_is_judged_and_not_kept(typed, tmp_path, form, said):
    before = (tmp_path / "lapwing-studio" / "people" / "schema.json").read_bytes()
    answer = typed.post("/job/people/column/1/judged", {"type": "integer", **form})

    assert answer.status == 200
    assert said in answer.text
    assert "<html" not in answer.text
    assert (tmp_path / "lapwing-studio" / "people" / "schema.json").read_bytes() == before


def test_a_form_of_a_column_that_moved_is_refused(typed, tmp_path):
    key = column_key(typed.get("/job/people/column/1").text)
    save(typed, 1, {"role": "leave"})
    answer = typed.post("/job/people/column/1", {"column": key, "type": "integer", "minimum": "0", "maximum": "1"})

    assert answer.status == 400
    assert "have changed" in answer.text
    assert kept(tmp_path, "people").names == ("sex", "who", "ill")


def test_a_look_at_a_column_is_marked_and_leaves_no_trace(messy, tmp_path):
    drafted(messy, "clinic")
    folder = tmp_path / "lapwing-studio" / "clinic"
    before = {each.name: each.read_bytes() for each in folder.iterdir()}
    looked = messy.post("/job/clinic/column/1/look", {"type": "string", "description": "typed before"})
    after = messy.get("/job/clinic/column/1")

    assert 'class="internal"' in looked.text
    assert SECRET in looked.text
    assert "A list copied" in looked.text
    assert box(looked.text, "description") == "typed before"
    assert SECRET not in after.text
    assert 'class="internal"' not in after.text
    assert {each.name: each.read_bytes() for each in folder.iterdir()} == before
    assert messy.get("/job/clinic/column/1/look").status == 405


def test_rows_of_one_person_are_protected_together(typed, tmp_path):
    key = column_key(typed.get("/job/people/column/3").text)
    refused = typed.post("/job/people/schema/unit", {"who": "column", "unit": key, "most": "many"})
    nobody = typed.post("/job/people/schema/unit", {"who": "column", "unit": "", "most": "2"})
    both = typed.post("/job/people/schema/unit", {"who": "row", "unit": key, "most": "2"})
    typed.post("/job/people/schema/unit", {"who": "column", "unit": key, "most": "2"})
    found = kept(tmp_path, "people")

    assert refused.status == 400
    assert box(refused.text, "most") == "many"
    assert found.unit_label == "who:2"
    assert found["who"].identifier
    assert (nobody.status, both.status) == (400, 400)
    assert "identifies the person, and stays" in save(typed, 3, {"role": "leave"})

    typed.post("/job/people/schema/unit", {"who": "row", "unit": key, "most": "2"})
    assert kept(tmp_path, "people").privacy_unit is None


def test_rules_are_checked_and_a_broken_one_stays_in_its_box(typed, tmp_path):
    save(typed, 1, {"type": "integer", "minimum": "0", "maximum": "9", "provenance": "public"})
    save(typed, 2, {"type": "string", "categories": "f\nm\nx", "provenance": "public"})
    save(typed, 3, {"role": "identifier"})
    save(typed, 4, {"type": "boolean", "missing": "never", "provenance": "public"})
    good = '{"never": {"sex": "x"}}\n\n{"when": {"ill": true}, "then": {"age": {"minimum": 3}}}'
    bad = [
        '{"never": {"sax": "x"}}',
        '{"never"',
        '{"never": {"sex": "unknown"}}',
        '{"never": {"ill": true}}\n{"never": {"ill": false}}',
    ]

    assert typed.post("/job/people/schema/rules", {"rules": good}).status == 303
    page = typed.get("/job/people/schema").text
    assert "never sex is x" in page
    assert "sex: x" in page
    for text in bad:
        answer = typed.post("/job/people/schema/rules", {"rules": text})
        assert answer.status == 400
        assert text.splitlines()[0] in unescape(answer.text)
        assert len(kept(tmp_path, "people").rules) == 2


def test_the_file_is_given_away_compared_and_edited(typed, tmp_path):
    taken = typed.get("/job/people/schema.json")
    save(typed, 1, {"type": "integer", "minimum": "0", "maximum": "123", "provenance": "public"})
    page = typed.get("/job/people/schema/json").text
    text = typed.get("/job/people/schema.json").text

    assert taken.header("content-disposition") == 'attachment; filename="people.schema.json"'
    assert Schema.load_draft(json.loads(taken.text)).names == ("age", "sex", "who", "ill")
    assert re.search(r"<ins>[^<]*123", page)
    assert re.search(r"<del>[^<]*age", page)

    edited = text.replace("123", "99").replace("\n", "\r\n")
    assert typed.post("/job/people/schema/json", {"text": edited}).status == 303
    assert kept(tmp_path, "people")["age"].maximum == 99
    refused = typed.post("/job/people/schema/json", {"text": "{" + edited})
    assert refused.status == 400
    assert "is not JSON" in refused.text
    assert "&#34;maximum&#34;: 99" in refused.text
    assert kept(tmp_path, "people")["age"].maximum == 99


def test_questions_of_a_description_are_answered(typed, tmp_path):
    table = {**kept(tmp_path, "people").to_dict(), "questions": ["one?", "two?"]}
    typed.post("/job/people/schema/json", {"text": json.dumps(table)})

    assert "two?" in typed.get("/job/people/schema").text
    typed.post("/job/people/schema/answered", {"question": ["0", "1"]})
    assert kept(tmp_path, "people").questions == ()


def test_what_nobody_knows_is_bought_and_recorded(typed, tmp_path):
    for number in (3, 4):
        save(typed, number, {"role": "identifier", "type": "integer"} if number == 3 else {"role": "leave"})
    early = typed.get("/job/people/buy").text
    typed.post("/job/people/schema/bought")
    page = typed.get("/job/people/buy").text
    refused = typed.post("/job/people/buy", {"epsilon": "1000"})
    told = typed.post("/job/people/buy/outlook", {"epsilon": "1000", "delta": "0.01"})

    assert "Nothing to learn" in early
    assert "No ledger is chosen" in page
    assert refused.status == 400
    assert "delta" in refused.text
    assert told.status == 200
    assert "At this budget" in told.text
    assert not kept(tmp_path, "people").purchases

    assert typed.post("/job/people/buy", {"epsilon": "1000", "delta": "0.01"}).status == 303
    typed.wait("/job/people/buy/work", lambda answer: "data-done" in answer.text)
    found, folder = kept(tmp_path, "people"), tmp_path / "lapwing-studio" / "people"
    assert found["sex"].categories == ("f", "m", "(other)")
    assert (found["age"].minimum, found["age"].maximum) == (20, 60)
    assert len(found.purchases) == 1
    assert (folder / "bought-1.certificate.json").is_file()
    kept_anyway = typed.post("/job/people/schema/drop")
    assert kept_anyway.status == 400
    assert (folder / "schema.json").is_file()


def test_a_purchase_is_debited_in_the_ledger_that_was_chosen(typed, tmp_path):
    ledger = Ledger.create_or_open(tmp_path / "budget.db")
    ledger.init("people", unit="pure", limit=Fraction(1), relation="add-remove", privacy_unit="row")
    job = read_job(tmp_path, "people")
    assert job is not None
    job.chosen(ledger="budget.db", dataset="people")
    for number in (4, 3, 2):
        save(typed, number, {"role": "leave"})
    typed.post("/job/people/schema/bought")

    for epsilon, left in (("0.25", Fraction(3, 4)), ("0.8", Fraction(3, 4))):
        assert "budget.db, people" in typed.get("/job/people/buy").text
        typed.post("/job/people/buy", {"epsilon": epsilon})
        typed.wait("/job/people/buy/work", lambda answer: "data-done" in answer.text)
        assert ledger.balance("people").left == left
        text = typed.get("/job/people/schema.json").text
        blank = json.loads(text)["fields"][0] | {"constraints": {}, "provenance": "dp"}
        typed.post("/job/people/schema/json", {"text": json.dumps({**json.loads(text), "fields": [blank]})})

    page = typed.get("/job/people/buy").text
    assert 'class="refusal" role="alert"' in page
    assert "nothing is paid twice" not in page


def test_a_purchase_that_was_cut_off_goes_on_and_another_begins_anew(typed, tmp_path):
    """As after kill -9: what was asked for and the transcript are there, the certificate and the new schema are not."""
    for number in (4, 3):
        save(typed, number, {"role": "leave"})
    save(typed, 2, {"type": "string", "categories": "f\nm", "provenance": "public"})
    typed.post("/job/people/schema/bought")
    folder = tmp_path / "lapwing-studio" / "people"
    before = (folder / "schema.json").read_bytes()

    def buy(epsilon: str) -> Schema:
        typed.post("/job/people/buy", {"epsilon": epsilon})
        typed.wait("/job/people/buy/work", lambda answer: "data-done" in answer.text)
        return kept(tmp_path, "people")

    first = buy("0.5")
    transcript = (folder / "bought-1.lwt").read_bytes()
    (folder / "bought-1.certificate.json").unlink()
    (folder / "schema.json").write_bytes(before)
    page = typed.get("/job/people/buy").text

    assert "nothing is paid twice" in page
    assert box(page, "epsilon") == "0.5"
    assert buy("0.5") == first
    assert (folder / "bought-1.lwt").read_bytes() == transcript
    (folder / "schema.json").write_bytes(before)
    assert buy("2000")["age"].maximum == 60
    assert (folder / "bought-2.certificate.json").is_file()


def test_nothing_is_found_where_no_schema_is(messy):
    for path in ("column/1", "schema.json", "schema/json", "buy"):
        assert messy.get(f"/job/clinic/{path}").status == 404
    drafted(messy, "clinic")
    for number in ("0", "6", "x"):
        assert messy.get(f"/job/clinic/column/{number}").status == 404
