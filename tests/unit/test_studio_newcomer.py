"""What a newcomer stumbles over in the studio: bounds as the table writes them, and what is bought in vain."""

import re
from html import unescape

import polars as pl
import pytest

from helpers.studio import in_process
from lapwing.errors import SchemaError
from lapwing.extras.studio.jobs import read_job
from lapwing.extras.studio.rooms.fields import field_of
from lapwing.kernel.budget.budget import requested_budget
from lapwing.kernel.budget.ledger import Ledger
from lapwing.release.runs.shares import USUAL_DELTA, selection_delta
from lapwing.schema.fields import Field
from lapwing.schema.files import field_from
from lapwing.schema.schemas import Schema


def typed(kind: str, **form: str) -> Field:
    old = field_from({"name": "x", "type": kind, "provenance": "drafted"})
    return field_of({"role": "value", "type": kind, "provenance": "public", **form}, old)


@pytest.mark.parametrize(("kind", "text"), [("integer", "1.000.000"), ("number", "much"), ("number", "2,5")])
def test_a_bound_that_is_no_number_is_refused_in_everyday_words(kind, text):
    with pytest.raises(SchemaError, match=r"write it as 1000 or 2\.5"):
        typed(kind, minimum="0", maximum=text)


@pytest.fixture
def visitor(tmp_path):
    pl.DataFrame({"age": [20, 60], "job": ["a", "b"]}).write_csv(tmp_path / "t.csv")
    visitor = in_process(tmp_path)
    visitor.post("/open", {"table": "t.csv"})
    visitor.post("/job/t/schema/draft")
    visitor.wait("/job/t/schema/work", lambda answer: "data-done" in answer.text)
    return visitor


def test_nobody_goes_on_without_saying_where_it_is_known_from(visitor, tmp_path):
    key = re.search(r'name="column" value="([^"]*)"', visitor.get("/job/t/column/1").text)[1]
    form = {"column": key, "type": "integer", "minimum": "0", "maximum": "99", "then": "next"}
    place = tmp_path / "lapwing-studio" / "t" / "schema.json"
    answer = visitor.post("/job/t/column/1", form)

    assert answer.status == 400
    assert "where you know this from" in answer.text
    assert 'value="99"' in answer.text
    assert Schema.load_draft(place)["age"].maximum is None

    assert visitor.post("/job/t/column/1", {**form, "provenance": "public"}).at == "/job/t/column/2"
    assert Schema.load_draft(place)["age"].maximum == 99


def box(page, name):
    return re.search(rf'<input id="{name}" name="{name}"[^>]* value="([^"]*)"', page)[1]


def bought_as_shown(visitor, tmp_path, unit, **more):
    """Buy what the page of a purchase proposes, from an account whose limit is the plan's budget."""
    (tmp_path / "t.csv").write_text("age,job\n" + "20,a\n60,b\n" * 200)
    book = Ledger.create_or_open(tmp_path / "budget.db")
    book.init("t", unit=unit, limit=1, relation="add-remove", privacy_unit="row", **more)
    visitor.post("/job/t/budget", {"account": "budget.db/t"})
    visitor.post("/job/t/schema/bought")
    page = visitor.get("/job/t/buy").text
    form = {name: box(page, name) for name in ("epsilon", "delta")}
    visitor.post("/job/t/buy", {**form, "stamp": re.search(r'name="stamp" value="([^"]*)"', page)[1]})
    visitor.wait("/job/t/buy/work", lambda answer: "data-done" in answer.text)
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


def test_what_a_file_leaves_to_ask_is_asked_and_a_look_counts_all_rows(tmp_path):
    wards = ["A"] * 30_000 + ["B "] * 29_999 + ["C"]
    lines = ["Report", "ward,n,dose", *(f"{ward},{row},{row}.5" for row, ward in enumerate(wards)), "Source"]
    (tmp_path / "t.csv").write_text("\n".join(lines))
    visitor = in_process(tmp_path)
    visitor.post("/open", {"table": "t.csv"})
    visitor.post("/job/t/schema/draft")
    visitor.wait("/job/t/schema/work", lambda answer: "data-done" in answer.text)

    page = unescape(visitor.get("/job/t/schema").text)
    looked = unescape(visitor.post("/job/t/column/1/look", {"type": "string"}).text)

    assert 'is the line of names the one below "skipRows" lines?' in page
    assert "why do some rows end before the last column?" in page
    assert "in all rows" in looked
    assert re.findall(r'<td class="number">([0-9]+)</td>', looked)[0] == "60001"
    assert '"B "' in looked
    assert all(count in looked for count in (">30000<", ">29999<"))
