"""Evaluations of hostile tables and names: nothing private is quoted, nothing is run, nothing is paid in vain."""

import json
import re
import sys
from fractions import Fraction
from html.parser import HTMLParser

import numpy as np
import polars as pl
import pytest

import lapwing as lw
from helpers.command import lapwing
from lapwing.errors import LapwingError
from lapwing.extras.evaluate.report.page import NOTICE
from lapwing.kernel.budget.ledger import Ledger
from lapwing.version import install_command

SECRET = "planted-7f3a"
NASTY = {
    "markup": "</script><script>document.title = 'run'</script>",
    "attribute": '"><img src=x onerror="document.title = \'run\'">',
    "template": "{{7*7}}{% raw %}",
    "terminal": "\x1b[2J\x1b]0;owned\x07",
    "return": "internal\rreleasable",
    "turned": "a\u202eb",
    "comment": "<!--<script>",
    "prototype": "__proto__",
    "lines": "one\ntwo\u2028three",
}
RAW = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u202a-\u202e\u2066-\u2069]")
SCHEMA = {
    "fields": [
        {"name": "n", "type": "integer", "constraints": {"minimum": 0, "maximum": 9, "required": True}},
        {"name": "flag", "type": "boolean"},
        {"name": "kind", "type": "string", "categories": ["x", "y", "z"]},
    ]
}


def table(rows, seed=0):
    """Return a table that fits the schema."""
    rng = np.random.default_rng(seed)
    kinds = np.array(["x", "y", "z"])[rng.integers(0, 3, rows)].tolist()
    columns = {"n": rng.integers(0, 10, rows), "flag": rng.random(rows) < 0.3, "kind": kinds}
    return pl.DataFrame(columns, schema={"n": pl.Int64, "flag": pl.Boolean, "kind": pl.String})


def constant(rows, *values):
    """Return a table of one row again and again."""
    return pl.DataFrame(dict(zip(("n", "flag", "kind"), ([value] * rows for value in values), strict=True)))


def nasty_schema():
    """Return a schema whose names, labels and titles would like to be something else."""
    words = list(NASTY.values())
    kinds = ["boolean", "integer", "number"]
    fields = [{"name": word, "type": kinds[place % 3], "title": word} for place, word in enumerate(words)]
    for field in fields:
        if field["type"] != "boolean":
            field["constraints"] = {"minimum": 0, "maximum": 9}
    labels = {"name": "kind", "type": "string", "categories": words, "description": words[0]}
    return {"name": words[0], "title": words[1], "fields": [*fields, labels]}


def nasty_table(rows, seed):
    rng = np.random.default_rng(seed)
    columns = {name: rng.integers(0, 2, rows).astype(bool) for name in list(NASTY.values())[::3]}
    columns |= {name: rng.integers(0, 10, rows) for name in list(NASTY.values())[1::3]}
    columns |= {name: rng.random(rows) * 9 for name in list(NASTY.values())[2::3]}
    return pl.DataFrame(columns | {"kind": np.array(list(NASTY.values()), dtype=object)[rng.integers(0, 9, rows)]})


@pytest.fixture(scope="module")
def nasty():
    """Return an internal and a bought evaluation, and a release, of a table with hostile names."""
    schema, real, synthetic = nasty_schema(), nasty_table(60, 0), nasty_table(70, 1)
    release = lw.synthesize(real, schema, epsilon=1, mechanism=lw.Independent(), seed=1)
    return lw.evaluate(real, synthetic, schema), lw.evaluate(real, synthetic, schema, epsilon=1), release


class Elements(HTMLParser):
    """Collect what a browser would make of a page."""

    def __init__(self):
        super().__init__()
        self.names, self.attributes, self.text, self.inside = set(), set(), "", ""

    def handle_starttag(self, tag, attrs):
        self.names.add(tag)
        self.attributes |= {(name, value or "") for name, value in attrs}
        self.inside = tag

    def handle_data(self, data):
        if self.inside != "style":
            self.text += data.replace("\n", " ")

    def handle_endtag(self, _):
        self.inside = ""


def page_of(result, tmp_path):
    result.to_html(tmp_path / "page.html")
    return (tmp_path / "page.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("which", [0, 1, 2], ids=["internal", "bought", "release"])
def test_names_and_labels_stay_text_in_every_report(nasty, which, tmp_path):
    page = page_of(nasty[which], tmp_path)

    found = Elements()
    found.feed(page)

    assert found.names.isdisjoint({"img", "iframe", "object", "embed", "link", "base", "form", "script", "image", "b"})
    assert {name for name, _ in found.attributes if name.startswith("on")} == set()
    assert all(name != "src" and (name != "href" or value.startswith("#")) for name, value in found.attributes)
    assert NASTY["markup"] in found.text
    assert NASTY["template"] in found.text
    assert RAW.search(found.text) is None
    assert any(name == "content" and value.startswith("default-src 'none'") for name, value in found.attributes)


@pytest.mark.parametrize("which", [0, 1], ids=["internal", "bought"])
def test_no_name_reaches_a_terminal_as_it_is(nasty, which):
    assert RAW.search(nasty[which].summary(details=True)) is None
    assert RAW.search(repr(nasty[which])) is None


def test_a_certificate_of_hostile_names_has_no_control_character(nasty):
    assert RAW.search(nasty[2].certificate.text()) is None


def test_every_form_of_an_internal_result_says_that_it_is_internal_and_the_others_do_not(nasty, tmp_path):
    internal, bought, release = nasty

    assert internal.summary(details=True).startswith(NOTICE)
    assert internal.to_dict()["notice"] == NOTICE
    assert repr(internal) == f"Evaluation({NOTICE})"
    assert page_of(internal, tmp_path).count(NOTICE) > 10
    for public in (bought.summary(), json.dumps(bought.to_dict()), page_of(bought, tmp_path)):
        assert NOTICE not in public
    assert NOTICE not in page_of(release, tmp_path)


def odd_tables():
    """Yield tables that a reader may stumble over, with a secret in them."""
    yield "empty", table(0)
    yield "one row", table(1)
    yield "constant", constant(40, 3, True, "x")
    yield "all missing", constant(5, None, None, None)
    yield "text everywhere", constant(30, SECRET, SECRET, SECRET)
    yield "bytes", constant(9, SECRET.encode(), SECRET.encode(), SECRET.encode())
    yield "not finite", pl.DataFrame({"n": [np.inf, -np.inf, np.nan, 1e300] * 9, "flag": [2] * 36, "kind": [None] * 36})
    yield "nested", constant(5, [SECRET], {"q": SECRET}, [[SECRET]])
    yield "a column less", table(30).drop("flag").with_columns(pl.lit(SECRET).alias("other"))


ODD = dict(odd_tables())


def outcome(call, *arguments):
    """Return what a call returns, or our error."""
    try:
        return call(*arguments)
    except LapwingError as error:
        return error


@pytest.mark.parametrize("name", ODD)
def test_an_odd_real_table_is_compared_or_refused_in_one_sentence_without_its_values(name, recwarn):
    found = outcome(lw.evaluate, ODD[name], table(50), SCHEMA)

    if isinstance(found, LapwingError):
        texts = [str(found)]
        assert name in {"empty", "nested", "a column less"}
        assert (found.__context__, found.__cause__) == (None, None)
        assert "unexpected" not in texts[0]
        assert "\n" not in texts[0]
    else:
        texts = [found.summary(details=True), json.dumps(found.to_dict(), allow_nan=False), found.html()]
        assert re.search(r"\b(nan|inf|None)\b", texts[0]) is None
    assert not any(SECRET in text for text in texts)
    assert list(recwarn) == []


@pytest.mark.parametrize(
    "name", ["empty", "one row", "constant", "all missing", "text everywhere", "bytes", "not finite"]
)
def test_a_bought_evaluation_neither_refuses_nor_warns_of_what_rows_hold(name, recwarn):
    found = lw.evaluate(ODD[name], table(50), SCHEMA, epsilon=1)

    assert len(found.variations) == 3
    assert all(0 <= each.lower <= each.mean <= each.upper <= 1 for each in found.variations)
    assert SECRET not in found.summary(details=True) + json.dumps(found.to_dict(), allow_nan=False) + found.html()
    assert list(recwarn) == []


@pytest.mark.parametrize(("neighbours", "factor"), [("add-remove", 1), ("replace-one", 2)])
@pytest.mark.parametrize("max_rows", [1, 3])
def test_the_noise_of_each_answer_is_its_sensitivity_over_its_cost(neighbours, factor, max_rows):
    unit = {"privacyUnit": {"field": "id", "maxRows": max_rows}} if max_rows > 1 else {}
    extra = [{"name": "id", "type": "integer", "role": "identifier"}] if unit else []
    schema = SCHEMA | {"fields": [*SCHEMA["fields"], *extra]} | unit
    real = table(90).with_columns(pl.int_range(90).alias("id"))

    found = lw.evaluate(real, table(50), schema, epsilon=1, neighbours=neighbours)

    asked = [answer for answer in found.noisy if answer.question.kind == "TableDistances"]
    assert len(asked) == 3
    assert sum((answer.question.cost.amount for answer in found.noisy), Fraction(0)) == 1
    for answer in asked:
        change = factor * max_rows * len(answer.question.tables) * 2**answer.question.bits
        assert answer.noise.parameter == change / answer.question.cost.amount


def spent_of(ledger):
    return Ledger.open(ledger).balance("d").spent


@pytest.fixture
def bought_command(tmp_path):
    """Return the words of a command that buys, and its ledger."""
    table(40).write_csv(tmp_path / "real.csv")
    table(40, 1).write_csv(tmp_path / "synthetic.csv")
    (tmp_path / "s.json").write_text(json.dumps(SCHEMA))
    book = tmp_path / "budget.db"
    Ledger.create_or_open(book).init("d", unit="pure", limit=2, relation="add-remove", privacy_unit="row")
    files = [tmp_path / "real.csv", tmp_path / "synthetic.csv", "--schema", tmp_path / "s.json"]
    return ["evaluate", *files, "--epsilon", "1", "--ledger", book, "--dataset", "d"], book


def test_nothing_is_paid_for_a_report_that_cannot_be_made(bought_command, tmp_path, monkeypatch):
    words, book = bought_command
    monkeypatch.setitem(sys.modules, "altair", None)

    said = lapwing(*words, "-o", tmp_path / "report.html")

    assert f"a report needs altair; run {install_command('evaluate')}" == said.error
    assert spent_of(book) == 0
    assert not (tmp_path / "report.html").exists()


def test_nothing_is_paid_where_an_output_cannot_be_written(bought_command, tmp_path):
    words, book = bought_command

    for output in (tmp_path / "no-such-folder" / "report.html", tmp_path / "real.csv", book):
        assert lapwing(*words, "-o", output).status == 1

    assert spent_of(book) == 0


@pytest.mark.parametrize(
    "content", ["", "n,flag,kind\n", 'n,flag,kind\n1,true,"planted-7f3a\n2,true,x\n', "n,flag\n1,true\n"]
)
def test_odd_files_end_with_status_0_or_one_line_that_quotes_nothing(bought_command, tmp_path, content):
    words, _ = bought_command
    (tmp_path / "real.csv").write_text(content)

    said = lapwing(*words)

    assert SECRET not in said.out + said.err
    assert said.status == (0 if content.startswith("n,flag,kind") else 1)
    assert "unexpected" not in (said.error if said.status else "")
