"""One release, said in a notebook, in a report, on paper and in the studio: the same facts in the same words."""

import json
from html.parser import HTMLParser
from pathlib import Path

import pytest

import lapwing as lw
from helpers.linked_homes import SCHEMA as HOMES
from helpers.linked_homes import tables
from helpers.shown_objects import BUDGET, people, schema_of_people
from helpers.studio import in_process
from lapwing.extras.office.paper.page import signing_page
from lapwing.extras.studio.rooms.table import slug_of
from lapwing.model.certificate.issued import Beside
from lapwing.present.cards import document_json
from lapwing.present.certificates import describe_certificate

EVERYWHERE = {"verdict", "release", "promise", "cost", "recorded_alone"}


class _Said(HTMLParser):
    """What a page says of each key, once for each time that it says something else."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.facts: dict[str, list[str]] = {}
        self._key, self._depth = "", 0
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        if self._key:
            self._depth += 1
        elif key := dict(attrs).get("data-fact"):
            self._key, self._depth = key, 1
            self.facts.setdefault(key, []).append("")

    def handle_endtag(self, tag):
        if self._key:
            self._depth -= 1
            self._key = self._key if self._depth else ""

    def handle_data(self, data):
        if self._key:
            self.facts[self._key][-1] += data


def said(page: str) -> dict[str, set[str]]:
    return {key: set(texts) for key, texts in _Said(page).facts.items()}


def pages_of(release, folder: Path) -> dict[str, str]:
    release.to_html(folder / "report.html")
    pages = {
        "card": release._repr_html_(),
        "report": (folder / "report.html").read_text(encoding="utf-8"),
        "paper": signing_page(release.certificate, Beside(Path("c.json"), 1, "ef" * 32)),
    }
    assert not [name for name, page in pages.items() if "<script" in page]  # which names of columns would like to be
    return pages


@pytest.fixture(scope="module")
def one(tmp_path_factory):
    folder = tmp_path_factory.mktemp("one")
    release = lw.synthesize(people(), schema_of_people(), **BUDGET, mechanism="Independent", seed=1)
    release.save(folder / "model.lapwing")
    visitor = in_process(folder)
    studio = visitor.follow(visitor.get(f"/model/{slug_of('model.lapwing')}")).text
    return {name: said(page) for name, page in {**pages_of(release, folder), "studio": studio}.items()}


def differences(pages: dict[str, dict[str, set[str]]]) -> list[tuple[str, dict[str, set[str]]]]:
    """Return the keys of which two pages say something else."""
    keys = {key for facts in pages.values() for key in facts} - {"warning"}  # as many as there is room for
    told = {key: {name: facts[key] for name, facts in pages.items() if key in facts} for key in sorted(keys)}
    return [(key, texts) for key, texts in told.items() if len({frozenset(each) for each in texts.values()}) > 1]


def test_card_report_page_to_sign_and_studio_of_one_release_say_the_same_facts(one):
    assert [name for name, facts in one.items() if not facts.keys() >= EVERYWHERE] == []
    assert all(len(facts[key]) == 1 for facts in one.values() for key in EVERYWHERE)
    assert {name for name, facts in one.items() if "attack" in facts} == {"report", "paper", "studio"}
    assert differences(one) == []


def test_a_page_that_says_another_figure_is_found_out(one):
    other = {key: {text.replace("epsilon", "rho") for text in texts} for key, texts in one["card"].items()}

    assert [key for key, _ in differences({**one, "card": other})] == ["cost", "promise"]


def test_linked_tables_are_told_alike(tmp_path):
    release = lw.synthesize(tables(60), HOMES, **BUDGET, mechanism={"parent": "Independent"})
    pages = {name: said(page) for name, page in pages_of(release, tmp_path).items()}

    assert all(facts.keys() >= {"release", "promise", "cost", "recorded_alone"} for facts in pages.values())
    assert {key for key, _ in differences(pages)} <= {"verdict"}  # of each table in a section of its own


def test_json_has_the_facts_of_the_document_with_their_figures():
    release = lw.synthesize(people(), schema_of_people(), seed=1, **BUDGET)
    paid = release.certificate
    told = json.loads(document_json(paid))
    facts = {fact["key"]: fact for fact in told["facts"]}

    assert [(fact["key"], fact["label"], fact["text"]) for fact in told["facts"]] == [
        (fact.key, fact.label, fact.text) for fact in describe_certificate(paid).facts
    ]
    assert (facts["rows"]["value"], facts["rows"]["unit"]) == (paid.released_rows, "rows")
    assert facts["cost"]["value"] == float(paid.total.amount)
    assert {"facts", "sections", "kind"} <= set(told)
    assert json.loads(document_json(release.accuracy()))["facts"][0]["value"] > 0
