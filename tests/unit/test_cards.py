"""What objects show of themselves: a card in a notebook, and a few lines as text."""

from html.parser import HTMLParser

import pytest

from helpers.shown_objects import HOSTILE, PLANTED, people, with_cards, without_cards
from lapwing.extras.evaluate.report.page import NOTICE
from lapwing.mechanisms.registry import MECHANISMS
from lapwing.present import html
from lapwing.present.cards import DESCRIBED

ALONE = {"br", "hr", "img", "input", "link", "meta"}
KNOWN = {"div", "style", "p", "table", "caption", "thead", "tbody", "tr", "th", "td", "ul", "li", "code", "pre"}
KNOWN |= {"details", "summary", "dl", "dt", "dd"}
ATTRIBUTES = {"class", "dir", "data-fact", "role", "tabindex", "aria-label", "scope"}


class Parsed(HTMLParser):
    """The elements and texts of a piece of HTML; open: those that were not closed in turn."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.words, self.open, self.folds, self.lines = set(), set(), [], [], 0, 0
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        if "details" not in self.open:
            self.lines += tag in ("tr", "li", "p", "dt", "summary", "caption")
        if tag not in ALONE:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "style" not in self.open:
            self.words.append(data)


@pytest.fixture(scope="module")
def objects():
    return with_cards()


@pytest.fixture(scope="module")
def plain(objects):
    return without_cards(objects["release"]) | {name: each() for name, each in MECHANISMS.items()}


def parsed(value):
    return Parsed(value._repr_html_())


def test_every_kind_of_card_is_looked_at(objects):
    assert {type(each) for each in objects.values()} == set(DESCRIBED)


def test_cards_are_whole_without_scripts_and_show_a_hostile_name_as_it_is(objects):
    named = []
    for name, value in objects.items():
        found = parsed(value)

        assert found.open == [], name
        assert found.tags <= KNOWN, (name, found.tags - KNOWN)
        assert found.attributes <= ATTRIBUTES, (name, found.attributes)
        assert found.lines <= 25, (name, found.lines)
        named += [name] * (HOSTILE in "".join(found.words))
    assert {"schema", "draft", "plan", "release", "table accuracy", "evaluation"} <= set(named)


def test_a_card_that_escapes_nothing_is_found_out(objects, monkeypatch):
    monkeypatch.setattr(html, "escape", lambda text: text)

    with pytest.raises(AssertionError):
        assert "script" not in parsed(objects["schema"]).tags


def test_a_card_of_private_rows_says_so_first_and_no_other_does(objects):
    for name, value in objects.items():
        assert (NOTICE in "".join(parsed(value).words)) == (name in ("evaluation", "linked evaluation")), name
    assert "not differentially private" in "".join(parsed(objects["anonymous table"]).words)


def test_no_private_cell_reaches_a_card_or_a_representation(objects, plain):
    for name, value in {**objects, **plain}.items():
        shown = repr(value) + (value._repr_html_() if name in objects else "")

        assert [each for each in PLANTED if each in shown] == [], name


def test_the_planted_cells_are_in_the_table():
    written = people().write_csv()

    assert [each for each in PLANTED if each not in written] == []
