"""The studio: a table is chosen and described, misfits are counted behind a door, and what is unknown is bought."""

import datetime as dt
import json
import re
from collections.abc import Mapping
from fractions import Fraction
from html import unescape
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from helpers import make
from helpers.studio import Visitor, in_process
from helpers.studio_forms import form_to, submit
from lapwing.errors import SchemaError
from lapwing.extras.studio.jobs import read_job
from lapwing.extras.studio.rooms.fields import field_of, is_poor, texts_of
from lapwing.extras.studio.rooms.table import slug_of
from lapwing.kernel.budget.budget import requested_budget
from lapwing.kernel.budget.ledger import Ledger
from lapwing.release.runs.shares import USUAL_DELTA, selection_delta
from lapwing.schema.fields import Field
from lapwing.schema.files import field_from
from lapwing.schema.schemas import Schema

# ----------------------------------- the first room: files, folders, queries, jobs that were begun, and saved releases


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


# ---------------------------------------------------------- ways to a schema, cards, who is protected, rules, the file


SECRET = "Zwetschgenknödel"
ODD = "<script>alert(1)</script>"
HEAD = f"Name;Geboren;Gewicht;Code;{ODD}\n"
ROWS = [
    f"{SECRET}{number};{number % 28 + 1:02}.03.1980;{'N/A' if number % 7 == 0 else f'{60 + number % 40},5'};"
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
    assert visitor.work(f"/job/{job}/schema/draft").status == 303
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
    assert found["Name"].identifier
    assert (found["Geboren"].maximum, found["Gewicht"].minimum) == (dt.datetime.now(dt.UTC).date().isoformat(), 0)
    assert "4 columns are still open" in page
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

    assert typed.work("/job/people/buy", {"epsilon": "1000", "delta": "0.01"}).status == 303
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
        typed.work("/job/people/buy", {"epsilon": epsilon})

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
        typed.work("/job/people/buy", {"epsilon": epsilon})

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


# ---------------------------------------------------- cells that do not fit are counted behind a door, in memory alone


KNOWN = make.fields({"age": (0, 99), "sex": ["f", "m"]}, provenance="public")
FIELDS = [*KNOWN, make.field("ill", bool, required=True, provenance="public"), make.field("who", "id")]
SEEN = re.compile(r"\b313\b")
"""The number of misfits, where it is not part of a key."""

RULE = {"never": {"ill": True, "sex": "m"}}


@pytest.fixture
def looker(tmp_path: Path) -> Visitor:
    """Return a looker with a table of 907 rows: 313 misfit, 41 lie beyond the bounds and 200 break a rule."""
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


def look(looker: Visitor) -> str:
    assert looker.work("/job/t/check").at == "/job/t/check"
    return looker.get("/job/t/check").text


def test_nothing_is_counted_before_the_door_is_opened(looker):
    page = looker.get("/job/t/check").text

    assert "Look for invalid values" in page
    assert 'class="internal"' not in page
    assert "<table" not in page


def test_what_does_not_fit_is_shown_as_the_public_check_counts_it(looker, tmp_path):
    page = look(looker)
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


def test_what_was_seen_is_in_no_file_and_on_no_other_page(looker, tmp_path):
    folder = tmp_path / "lapwing-studio" / "t"
    before = {each.name: each.read_bytes() for each in folder.iterdir()}
    look(looker)

    assert {each.name: each.read_bytes() for each in folder.iterdir()} == before
    for path in ("/", "/job/t/schema", "/job/t/column/2", "/job/t/schema/json", "/job/t/check/work"):
        assert not SEEN.search(looker.get(path).text)


def test_what_was_seen_is_forgotten(looker):
    look(looker)
    looker.post("/job/t/check/forget")
    page = looker.get("/job/t/check").text

    assert not SEEN.search(page)
    assert 'class="internal"' not in page


def test_a_look_is_old_once_the_schema_changes(looker):
    assert "Look again." not in look(looker)
    key = column_key(looker.get("/job/t/column/1").text)
    form = {"column": key, "type": "integer", "minimum": "0", "maximum": "199", "provenance": "assumed"}
    assert looker.post("/job/t/column/1", form).status == 303

    assert "has changed since this look. Look again." in looker.get("/job/t/check").text
    fresh = look(looker)
    assert "has changed since" not in fresh
    assert '<td class="number">41</td>' not in fresh


def test_a_table_that_lacks_a_column_is_refused_in_one_sentence(looker, tmp_path):
    pl.DataFrame({"age": [1]}).write_parquet(tmp_path / "t.parquet")
    page = look(looker)

    assert 'class="refusal" role="alert"' in page
    assert "sex" in page
    assert 'class="internal"' not in page


# -------------------------- what a newcomer stumbles over: bounds as the table writes them, and what is bought in vain


def as_typed(kind: str, **form: str) -> Field:
    old = field_from({"name": "x", "type": kind, "provenance": "drafted"})
    return field_of({"role": "value", "type": kind, "provenance": "public", **form}, old)


def test_bounds_may_be_written_as_the_table_writes_them():
    dates = as_typed("date", minimum="1.2.1920", maximum="2023-12-31", format="%d.%m.%Y")
    numbers = as_typed("number", minimum="2,5", maximum="10.5", decimalChar=",")

    assert (str(dates.minimum), str(dates.maximum)) == ("1920-02-01", "2023-12-31")
    assert (numbers.minimum, numbers.maximum) == (2.5, 10.5)


def test_a_date_as_the_format_writes_it_is_never_read_in_another_order():
    field = as_typed("date", minimum="2020-02-01", maximum="2021-02-01", format="%Y-%d-%m")

    assert (str(field.minimum), str(field.maximum)) == ("2020-02-01", "2021-02-01")


@pytest.mark.parametrize(("kind", "text"), [("integer", "1.000.000"), ("number", "much"), ("number", "2,5")])
def test_a_bound_that_is_no_number_is_refused_in_everyday_words(kind, text):
    with pytest.raises(SchemaError, match=r"write it as 1000 or 2\.5"):
        as_typed(kind, minimum="0", maximum=text)


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ({"type": "integer", "constraints": {"minimum": 0, "maximum": 0}, "provenance": "dp"}, True),
        ({"type": "string", "categories": ["(other)"], "unlisted": "(other)", "provenance": "dp"}, True),
        ({"type": "string", "categories": ["a", "b"], "provenance": "dp"}, False),
        ({"type": "string", "categories": ["a"], "provenance": "public"}, False),
        ({"type": "string", "provenance": "dp"}, False),
    ],
)
def test_what_was_bought_in_vain_is_told(keys, expected):
    assert is_poor(field_from({"name": "x", **keys})) is expected


@pytest.fixture
def visitor(tmp_path):
    pl.DataFrame({"weeks": [20, 60], "job": ["a", "b"]}).write_csv(tmp_path / "t.csv")
    visitor = in_process(tmp_path)
    visitor.post("/open", {"table": "t.csv"})
    visitor.work("/job/t/schema/draft")
    return visitor


def test_nobody_goes_on_without_saying_where_it_is_known_from(visitor, tmp_path):
    key = column_key(visitor.get("/job/t/column/1").text)
    form = {"column": key, "type": "integer", "minimum": "0", "maximum": "99", "then": "next"}
    place = tmp_path / "lapwing-studio" / "t" / "schema.json"
    answer = visitor.post("/job/t/column/1", form)

    assert answer.status == 400
    assert "where you know this from" in answer.text
    assert 'value="99"' in answer.text
    assert Schema.load_draft(place)["weeks"].maximum is None

    assert visitor.post("/job/t/column/1", {**form, "provenance": "public"}).at == "/job/t/column/2"
    assert Schema.load_draft(place)["weeks"].maximum == 99


def test_an_account_for_bought_lists_takes_a_delta(visitor, tmp_path):
    visitor.post("/job/t/schema/bought")
    page = visitor.get("/job/t/budget").text

    assert 'value="zcdp" checked' in page
    assert 'name="selection_delta" inputmode="decimal" autocomplete="off" value="5e-10"' in page
    assert "lapwing schema learn" not in page


def bought_as_shown(visitor, tmp_path, unit, **more):
    """Buy what the page of a purchase proposes, from an account whose limit is the plan's budget."""
    (tmp_path / "t.csv").write_text("weeks,job\n" + "20,a\n60,b\n" * 200)
    book = make.ledger(tmp_path / "budget.db", 1, dataset="t", unit=unit, **more)
    visitor.post("/job/t/budget", {"account": "budget.db/t"})
    visitor.post("/job/t/schema/bought")
    page = visitor.get("/job/t/buy").text
    form = {name: box(page, name) for name in ("epsilon", "delta")}
    visitor.work("/job/t/buy", form)
    assert book.balance("t").spent > 0, visitor.get("/job/t/buy").text
    return book


def test_a_purchase_and_the_release_after_it_share_one_budget(visitor, tmp_path):
    book = bought_as_shown(visitor, tmp_path, "zcdp", delta=USUAL_DELTA, selection_delta=selection_delta(USUAL_DELTA))
    before = book.balance("t")
    page = visitor.post(
        "/job/t/plan/shown",
        {"epsilon": box(visitor.get("/job/t/plan").text, "epsilon"), "delta": USUAL_DELTA, "expected_rows": "400"},
    ).text
    choices = read_job(tmp_path, "t").choices

    assert choices.delta == USUAL_DELTA
    assert 0.19 * before.limit < before.spent < 0.21 * before.limit
    release = requested_budget(epsilon=choices.epsilon, delta=choices.delta).amount
    assert 0.999 * before.limit < before.spent + release <= before.limit
    assert "Together with" in page


def test_an_account_of_plain_epsilon_pays_a_purchase_without_delta(visitor, tmp_path):
    key = column_key(visitor.get("/job/t/column/2").text)
    job = {"type": "string", "categories": "a\nb", "provenance": "public"}
    visitor.post("/job/t/column/2", {"column": key, **job, "then": "next"})

    book = bought_as_shown(visitor, tmp_path, "pure")

    assert float(book.balance("t").spent) == pytest.approx(0.2)


def test_a_folder_that_cannot_be_written_is_refused_in_a_sentence(tmp_path):
    (tmp_path / "t.csv").write_text("a\n1\n")
    (tmp_path / "lapwing-studio").write_text("in the way")
    answer = in_process(tmp_path).post("/open", {"table": "t.csv"})

    assert answer.status == 400
    assert "start the studio in a folder of your own" in answer.text


def test_what_a_file_leaves_to_ask_is_asked_and_a_look_counts_all_rows(tmp_path):
    wards = ["A"] * 30_000 + ["B "] * 29_999 + ["C"]
    lines = ["Report", "ward,n,dose", *(f"{ward},{row},{row}.5" for row, ward in enumerate(wards)), "Source"]
    (tmp_path / "t.csv").write_text("\n".join(lines))
    visitor = in_process(tmp_path)
    visitor.post("/open", {"table": "t.csv"})
    visitor.work("/job/t/schema/draft")

    page = unescape(visitor.get("/job/t/schema").text)
    looked = unescape(visitor.post("/job/t/column/1/look", {"type": "string"}).text)

    assert 'is the line of names the one below "skipRows" lines?' in page
    assert "is the end of the file (1 of its rows) totals or notes?" in page
    assert "in all rows" in looked
    assert re.findall(r'<td class="number">([0-9]+)</td>', looked)[0] == "60000"
    assert all(count in looked for count in (">30000<", ">29999<"))


# ------------------------------------------------------------------------------ a field as the form shows it, and back


@pytest.mark.parametrize(
    "keys",
    [
        {"type": "integer", "constraints": {"minimum": -5, "maximum": 5, "required": True}, "special": [-9, 99]},
        {"type": "integer", "categories": [1, 2, 30], "missingValues": ["", "NA", "?"]},
        {"type": "number", "constraints": {"minimum": 0.5, "maximum": 1e6}, "scale": "log", "decimalChar": ","},
        {"type": "number", "constraints": {"minimum": 0, "maximum": 10}, "resolution": 0.1, "groupChar": " "},
        {"type": "string", "categories": ["b", " a", "A "], "categoriesOrdered": True, "description": "d"},
        {"type": "string", "categories": ["", "x\ny"], "missingValues": []},
        {"type": "string", "categories": ["A01", "A02", "B"], "hierarchy": {"prefixes": [1]}, "unlisted": "B"},
        {"type": "string", "categories": [1, 2]},
        {"type": "boolean", "trueValues": ["ja"], "falseValues": ["nein", "no"]},
        {"type": "boolean", "categories": [True, False]},
        {"type": "date", "constraints": {"minimum": "1900-01-01", "maximum": "2020-12-31"}, "format": "%d.%m.%Y"},
        {"type": "datetime", "constraints": {"minimum": "2020-01-01", "maximum": "2020-12-31"}, "resolution": "hour"},
        {"type": "integer", "role": "identifier", "constraints": {"required": True}, "missingValues": ["", "-"]},
        {"type": "string", "role": "identifier", "madeUp": "e-mail"},
        {"type": "string", "categories": None, "provenance": "dp"},
        {"type": "integer", "provenance": "drafted"},
    ],
)
def test_a_form_that_is_sent_as_it_is_shown_changes_nothing(keys):
    field = Schema.load_draft({"draft": True, "fields": [{"name": "x", **keys}, {"name": "y", "type": "boolean"}]})["x"]
    sent = {key: text.replace("\n", "\r\n") for key, text in texts_of(field).items()}

    assert field_of(sent, field) == field


@pytest.mark.parametrize("count", [5_001, 600])
def test_a_list_that_no_box_can_show_stays_as_it_is(count):
    field = Field(name="x", type="string", categories=tuple(f"{number:0200}" for number in range(count)))
    sent = texts_of(field)

    assert sent["categories"] == ""
    assert field_of({**sent, "missing": "never"}, field).categories == field.categories


def test_another_type_leaves_behind_what_belonged_to_the_old_one():
    field = Field(name="x", type="number", minimum=0, maximum=1, special=(-1,), scale="log", provenance="public")
    found = field_of({**texts_of(field), "type": "string", "categories": "0\n1"}, field)

    assert (found.type, found.categories, found.special, found.minimum) == ("string", ("0", "1"), (), None)
