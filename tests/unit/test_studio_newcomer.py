"""What a newcomer stumbles over in the studio: bounds as the table writes them, and what is bought in vain."""

import re
from html import unescape

import polars as pl
import pytest

from helpers.studio import in_process
from lapwing.errors import SchemaError
from lapwing.extras.studio.jobs import read_job
from lapwing.extras.studio.rooms.fields import field_of, is_poor
from lapwing.kernel.budget.budget import requested_budget
from lapwing.kernel.budget.ledger import Ledger
from lapwing.release.runs.shares import USUAL_DELTA, selection_delta
from lapwing.schema.fields import Field
from lapwing.schema.files import field_from
from lapwing.schema.schemas import Schema


def typed(kind: str, **form: str) -> Field:
    old = field_from({"name": "x", "type": kind, "provenance": "drafted"})
    return field_of({"role": "value", "type": kind, "provenance": "public", **form}, old)


def test_bounds_may_be_written_as_the_table_writes_them():
    dates = typed("date", minimum="1.2.1920", maximum="2023-12-31", format="%d.%m.%Y")
    numbers = typed("number", minimum="2,5", maximum="10.5", decimalChar=",")

    assert (str(dates.minimum), str(dates.maximum)) == ("1920-02-01", "2023-12-31")
    assert (numbers.minimum, numbers.maximum) == (2.5, 10.5)


def test_a_date_as_the_format_writes_it_is_never_read_in_another_order():
    field = typed("date", minimum="2020-02-01", maximum="2021-02-01", format="%Y-%d-%m")

    assert (str(field.minimum), str(field.maximum)) == ("2020-02-01", "2021-02-01")


@pytest.mark.parametrize(("kind", "text"), [("integer", "1.000.000"), ("number", "much"), ("number", "2,5")])
def test_a_bound_that_is_no_number_is_refused_in_everyday_words(kind, text):
    with pytest.raises(SchemaError, match=r"write it as 1000 or 2\.5"):
        typed(kind, minimum="0", maximum=text)


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


def test_an_account_for_bought_lists_takes_a_delta(visitor, tmp_path):
    visitor.post("/job/t/schema/bought")
    page = visitor.get("/job/t/budget").text

    assert 'value="zcdp" checked' in page
    assert 'name="selection_delta" inputmode="decimal" autocomplete="off" value="5e-10"' in page
    assert "lapwing schema learn" not in page


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


def test_an_account_of_plain_epsilon_pays_a_purchase_without_delta(visitor, tmp_path):
    key = re.search(r'name="column" value="([^"]*)"', visitor.get("/job/t/column/2").text)[1]
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
