"""What objects show of themselves: a card in a notebook, and a few lines as text."""

import subprocess
import sys
from html.parser import HTMLParser

import pytest

import lapwing as lw
from helpers.shown_objects import HOSTILE, PLANTED, people, wide_release, with_cards, without_cards
from lapwing.extras.evaluate.cards import card
from lapwing.extras.evaluate.cards.cards import CARDS
from lapwing.extras.evaluate.report.page import NOTICE
from lapwing.mechanisms.registry import REGISTRATIONS

ALONE = {"br", "hr", "img", "input", "link", "meta"}
KNOWN = {"div", "style", "p", "table", "caption", "thead", "tbody", "tr", "th", "td", "ul", "li", "code", "pre"}
KNOWN |= {"details", "summary"}
MOST_BYTES = 40 * 1024


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
            self.lines += tag in ("tr", "li", "p", "summary", "caption")
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
    return without_cards(objects["release"]) | {name: each.kind() for name, each in REGISTRATIONS.items()}


def parsed(value):
    return Parsed(value._repr_html_())


def test_every_kind_of_card_is_looked_at(objects):
    assert {type(each) for each in objects.values()} == set(CARDS)


def test_cards_are_whole_without_scripts_and_show_a_hostile_name_as_it_is(objects):
    named = []
    for name, value in objects.items():
        found = parsed(value)

        assert found.open == [], name
        assert found.tags <= KNOWN, (name, found.tags - KNOWN)
        assert found.attributes <= {"class"}, (name, found.attributes)
        assert found.lines <= 25, (name, found.lines)
        named += [name] * (HOSTILE in "".join(found.words))
    assert {"schema", "draft", "plan", "release", "table accuracy", "evaluation"} <= set(named)


def test_a_card_that_escapes_nothing_is_found_out(objects, monkeypatch):
    monkeypatch.setattr(card, "_text", lambda text: text)

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


def test_cards_of_a_hundred_columns_are_small():
    release = wide_release()

    plan = lw.plan(release.schema, expected_rows=60, epsilon=1, delta=1e-9)
    for value in (release.schema, plan, release, release.certificate, release.accuracy()):
        assert len(value._repr_html_().encode()) <= MOST_BYTES, type(value)
        assert parsed(value).lines <= 30, type(value)


def test_representations_have_one_to_five_lines_and_hide_no_address(objects, plain):
    for name, value in {**objects, **plain}.items():
        said = repr(value)

        assert 1 <= said.count("\n") + 1 <= 5, (name, said)
        assert 0 < len(said) <= 1300, (name, said)
        assert " at 0x" not in said, (name, said)


def test_settings_show_what_differs_from_the_default():
    assert repr(lw.Adaptive()) == "Adaptive()"
    assert repr(lw.Adaptive(rounds=3, workload=(("a", "b"),))) == "Adaptive(rounds=3, workload=(('a', 'b'),))"
    assert repr(lw.Trusted(lw.PMM(depth=3))) == "Trusted(mechanism=PMM(depth=3))"
    assert "None" not in repr(lw.Schema.load({"fields": [{"name": "a", "type": "boolean"}]}).field("a"))


def test_long_things_are_shortened():
    fields = [{"name": f"a{place}", "type": "string", "categories": list("abcdefghi")} for place in range(12)]
    schema = lw.Schema.load({"fields": fields})

    assert repr(schema).splitlines() == [
        "Schema(12 columns)",
        *(f"  a{place}: string, 9 categories" for place in range(3)),
        "  … 9 more",
    ]
    assert repr(schema.field("a1")).endswith("categories=('a', 'b', 'c', 'd', 'e', 'f', … 3 more))")


def test_a_draft_names_what_is_open():
    fields = [("a", "integer"), ("b", "string"), ("c", "boolean")]
    draft = lw.Schema.load_draft({"fields": [{"name": name, "type": kind} for name, kind in fields]})

    said = ["  a: integer, minimum and maximum open", "  b: string, categories open", "  c: boolean"]
    assert repr(draft).splitlines()[1:] == said
    assert repr(draft | {"a": {"minimum": 0}}).splitlines()[1] == "  a: integer, maximum open"


def test_a_synthesizer_shows_what_was_set(objects):
    card = objects["settings"]._repr_html_()

    assert [name for name in ("schema", "epsilon", "delta", "neighbours", "misfits") if name in card] == [
        "schema",
        "epsilon",
        "delta",
    ]


def test_both_forms_are_handed_over_at_once(objects):
    found = objects["release"]._repr_mimebundle_(include=None, exclude=None)

    assert found == {"text/plain": repr(objects["release"]), "text/html": objects["release"]._repr_html_()}


def test_a_card_needs_no_extra():
    program = """
import sys
sys.modules.update(dict.fromkeys(("altair", "jinja2", "vl_convert", "sklearn", "IPython", "pandas")))
import lapwing as lw
schema = lw.Schema.load({"fields": [{"name": "a", "type": "boolean"}]})
assert "lw-card" in schema._repr_html_()
assert "lw-card" in lw.plan(schema, expected_rows=9, epsilon=1)._repr_html_()
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)
