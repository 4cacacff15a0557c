"""The studio's room where a release is looked at: what it shows, what it answers, and what stays behind the door."""

import io
import re
from html import unescape

import polars as pl
import pytest

import lapwing as lw
from helpers.studio import in_process
from helpers.studio_releases import CANARY, add_release, job_with_table
from lapwing.extras.studio.jobs import new_job

AT = "/job/people/look/1"
FEW = "/job/few/look/1"
"""Of a table of few rows."""


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """Return a working folder with a job of two releases, the last one of columns apart."""
    folder = tmp_path_factory.mktemp("look")
    job = job_with_table(folder)
    add_release(job)
    add_release(job, epsilon=1.0, mechanism=lw.Independent())
    few = job_with_table(folder, rows=120, name="few")
    add_release(few, mechanism=lw.Independent())
    return folder


@pytest.fixture
def visitor(home):
    return in_process(home)


@pytest.fixture(scope="module")
def release(home):
    return lw.load(home / "lapwing-studio" / "people" / "release-1" / "model.lapwing")


def words(answer):
    """Return the text of a page."""
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", answer.text)).split())


def files(folder):
    return {each: each.stat().st_mtime_ns for each in folder.rglob("*")}


def test_the_verdict_stands_on_top_and_no_private_row_is_needed(home, visitor, release):
    (home / "people.csv").rename(home / "away.csv")
    try:
        answer = visitor.get(AT)
    finally:
        (home / "away.csv").rename(home / "people.csv")

    text = words(answer)
    assert answer.status == 200
    assert text.index("How good it is") < text.index("Accuracy in figures")
    for each in release.certificate.verdict.not_for:
        assert each.text in text
    assert 'class="internal"' not in answer.text


def test_the_last_release_is_shown_and_an_earlier_one_by_its_number(visitor):
    assert "Look at release 2" in words(visitor.get("/job/people/look"))
    assert "Look at release 1" in words(visitor.get(AT))
    assert visitor.get("/job/people/look/3").status == 404


def test_a_job_without_a_release_sends_to_the_room_that_makes_one(tmp_path):
    new_job(tmp_path, "empty", table=str(tmp_path / "empty.csv"))

    answer = in_process(tmp_path).get("/job/empty/look")

    assert answer.status == 200
    assert 'href="/job/empty/release"' in answer.text


def test_the_report_runs_nothing_and_is_the_one_of_the_release(visitor, release, tmp_path):
    answer = visitor.get(f"{AT}/report")

    release.to_html(tmp_path / "report.html")
    assert answer.header("content-security-policy").startswith("sandbox; default-src 'none'")
    assert answer.body == (tmp_path / "report.html").read_bytes()


def test_a_table_is_answered_with_counts_shares_and_error_bars(visitor, release):
    answer = visitor.post(f"{AT}/ask", {"column": ["1", "", ""]})

    assert answer.status == 200
    for label, count, share, lower, upper, _ in release.query("sex", 10).iter_rows():
        assert f"{label} {count:,.0f} {100 * share:.1f} % {lower:,} to {upper:,}" in words(answer)
    assert answer.text.count('class="interval"') == 3  # and what is missing
    assert "style=" not in answer.text


def test_conditions_narrow_a_table_and_alone_they_give_a_number(visitor, release):
    where = {"w2": "1", "f0": "10", "u0": "39"}
    told = release.accuracy(where={"smokes": True, "age": lw.between(10, 39)})

    table = visitor.post(f"{AT}/ask", {"column": ["1"], **where})
    number = visitor.post(f"{AT}/ask", {"column": [""], **where})

    assert f"About {told.count:,.0f} rows meet these conditions." in words(number)
    counts = re.findall(r"<td class=\"number\">([\d,]+)</td>", table.text)
    assert sum(int(each.replace(",", "")) for each in counts) == pytest.approx(told.count, abs=2)


@pytest.mark.parametrize(
    ("form", "said"),
    [
        ({"column": "1", "f0": "ten"}, 'got "ten"'),
        ({"column": "1", "f0": "50", "u0": "20"}, "20"),
        ({"column": "1", "t3": "town 77"}, "one of its categories"),
        ({"column": "77"}, "another release"),
        ({"column": "1", "w1": "9"}, "another release"),
        ({"column": "1", "groups": "1"}, "groups must be at least 2"),
        ({"column": ""}, "nothing is asked"),
    ],
)
def test_a_question_that_means_nothing_is_refused_in_words_and_kept(visitor, form, said):
    answer = visitor.post(f"{AT}/ask", form)

    assert answer.status == 400
    assert said in words(answer)
    for name, value in form.items():
        if name[0] in "fut":
            assert f'name="{name}" value="{value}"' in answer.text
    if form["column"] == "1":
        assert '<option value="1" selected>' in answer.text


def test_rows_under_conditions_are_shown_and_saved_and_nothing_is_stored(home, visitor):
    where = {"w1": "0", "f0": "20", "u0": "60"}
    before = files(home)

    shown = visitor.post(f"{AT}/rows", where)
    saved = visitor.post(f"{AT}/rows/file", {**where, "rows": "1,500", "seed": "7"})
    parquet = visitor.post(f"{AT}/rows/file", {**where, "rows": "1500", "seed": "7", "format": "parquet"})

    rows = pl.read_csv(io.BytesIO(saved.body))
    assert saved.header("content-disposition") == 'attachment; filename="synthetic-rows.csv"'
    assert rows.height == 1500
    assert rows["sex"].unique().to_list() == ["Female"]
    assert rows["age"].is_between(20, 60).all()
    assert pl.read_parquet(io.BytesIO(parquet.body))["age"].to_list() == rows["age"].to_list()
    assert shown.text.count("<td>Female</td>") == 20
    assert "of the model's rows are like this" in words(shown)
    assert files(home) == before


@pytest.mark.parametrize("rows", ["", "0", "-1", "1e9", "10000000"])
def test_a_number_of_rows_that_cannot_be_is_refused(visitor, rows):
    answer = visitor.post(f"{AT}/rows/file", {"rows": rows})

    assert answer.status == 400
    assert "1,000,000" in words(answer)


def test_the_real_rows_are_compared_behind_the_door_only_and_forgotten(home, visitor):
    before = files(home)
    assert visitor.get(f"{FEW}/compare").at == f"{FEW}#door"
    assert visitor.get(f"{FEW}/compare/report").status == 404
    assert visitor.get(f"{FEW}/compare/work").status == 404

    assert visitor.post(f"{FEW}/compare").at == f"{FEW}/compare"
    found = visitor.wait(f"{FEW}/compare", lambda answer: "data-watch" not in answer.text)

    assert 'class="internal"' in found.text
    assert "with 120 real ones" in words(found)
    assert "The pairs that differ most" in words(found)
    assert "data-done" in visitor.get(f"{FEW}/compare/work").text
    report = visitor.get(f"{FEW}/compare/report")
    assert report.header("content-security-policy").startswith("sandbox;")
    assert "do not publish" in report.text.lower()
    assert "Compared:" not in words(visitor.get(FEW))

    assert visitor.post(f"{FEW}/compare/forget").at == f"{FEW}#door"
    assert visitor.get(f"{FEW}/compare").status == 303
    assert visitor.get(f"{FEW}/compare/report").status == 404
    assert files(home) == before


def test_a_comparison_that_fails_says_why_and_shows_no_value(home, visitor):
    (home / "people.csv").rename(home / "away.csv")
    try:
        visitor.post("/job/people/look/2/compare")
        found = visitor.wait("/job/people/look/2/compare", lambda answer: "data-watch" not in answer.text)
    finally:
        (home / "away.csv").rename(home / "people.csv")

    assert 'class="refusal"' in found.text
    assert CANARY not in found.text
    visitor.post("/job/people/look/2/compare/forget")


@pytest.mark.filterwarnings("ignore:only 1.0 effective")
def test_names_and_values_cannot_write_into_a_page(tmp_path):
    name, value = '<script>"x', "</td><script>alert(1)</script>"
    table = pl.DataFrame({name: [value, "b"] * 50})
    table.write_csv(tmp_path / "odd.csv")
    job = new_job(tmp_path, "odd", table=str(tmp_path / "odd.csv"))
    schema = {"fields": [{"name": name, "type": "string", "categories": [value, "b"]}]}
    lw.Schema.from_dict(schema).save(job.file("schema.json"))
    add_release(job, epsilon=2.0)
    visitor = in_process(tmp_path)

    answers = [
        visitor.get("/job/odd/look"),
        visitor.post("/job/odd/look/1/ask", {"column": "0", "w0": "0"}),
        visitor.post("/job/odd/look/1/rows", {"w0": "0"}),
        visitor.get("/job/odd/hand-over"),
    ]

    for answer in answers:
        assert answer.status == 200
        assert re.findall(r"<script[^>]*>", answer.text) == ['<script src="/assets/studio.js" defer>']
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in answers[1].text
