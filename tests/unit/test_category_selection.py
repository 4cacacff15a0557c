"""The question which texts occur: records come back, a stranger's is refused, the list is what it says."""

import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

from helpers.bits import CountingBits, ZeroNoiseBits
from helpers.category_runs import open_schema
from lapwing.errors import ParameterError
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.noise.bits import SystemBits
from lapwing.kernel.noise_law import NoiseLaw
from lapwing.kernel.questions.category_selection.question import CategorySelection, SelectedTexts
from lapwing.kernel.room.curator import Curator
from lapwing.kernel.room.room import Room
from lapwing.kernel.room.transcript import NoTranscript
from lapwing.kernel.terms import Terms
from lapwing.model.certificate.certificate import CERTIFICATES
from lapwing.model.certificate.cost_lines import CostLine, counted_lines
from lapwing.rows.source import code_table

TERMS = Terms(relation="add-remove")
LAW = NoiseLaw("laplace", Fraction(2))


def question(**changes):
    every = {"column": "town", "prefix": None, "cost": Budget.pure(2), "delta": Fraction(1, 100), "most": 5}
    return CategorySelection(**(every | changes))


def room(texts, bits=None) -> Curator:
    schema = open_schema(has_unit=False)
    source = code_table(pl.DataFrame({"town": pl.Series(texts, dtype=pl.String)}), schema)
    return Room(
        source,
        schema,
        TERMS,
        Budget.pure(1000),
        bits=ZeroNoiseBits() if bits is None else bits,
        sink=NoTranscript(),
        delta=Fraction(1, 2),
    )


def shown(texts, **changes):
    """Return what is shown of some texts without noise."""
    (answer,) = room(texts).ask(question(**changes))
    return dict(zip(answer.texts, answer.counts.tolist(), strict=True))


# ---------------------------------------------------------------------------------------------------- what is listed


def test_texts_from_the_threshold_on_are_listed_with_their_counts_by_code_point():
    least = question().threshold("add-remove", 1)

    found = shown(["é"] * least + ["b"] * (least + 2) + ["Y"] * (least + 1) + ["rare"] * (least - 1))

    assert list(found.items()) == [("Y", least + 1), ("b", least + 2), ("é", least)]


def test_prefixes_are_counted_over_all_texts_that_begin_with_them():
    texts = ["I2", "I20", "I20.1", "I21"] * 3 + ["I"] * 30

    assert shown(texts, prefix=3) == {"I": 30, "I20": 6}
    assert shown(texts, prefix=2) == {"I": 30, "I2": 12}
    assert shown(texts, prefix=1) == {"I": 42}
    assert shown(texts, prefix=200) == {"I": 30}


def test_of_more_than_the_most_those_with_the_largest_counts_are_shown_and_of_equal_ones_the_first():
    texts = [text for text, rows in {"d": 30, "a": 20, "e": 40, "b": 20, "c": 20}.items() for _ in range(rows)]

    assert shown(texts, most=4) == {"a": 20, "b": 20, "d": 30, "e": 40}
    assert shown(texts, most=1) == {"e": 40}
    many = [f"t{place}" for place in range(1000, 4000) for _ in range(5 + place % 3)]
    largest, next_largest = ([f"t{place}" for place in range(1000, 4000) if place % 3 == rest] for rest in (2, 1))
    assert list(shown(many, most=1200)) == sorted([*largest, *next_largest[:200]])


@pytest.mark.parametrize(
    "text", ["", None, "N/A", "two\nlines", "tab\t", "\u2028", "\x7f", "\xa0", "\ufeff", "x" * 201, "\U0010ffff"]
)
def test_some_texts_are_never_listed(text):
    assert shown([text] * 500 + ["here"] * 500) == {"here": 500}


@pytest.mark.parametrize("text", ["a", " ", "x" * 200, "007", "e\u0301", "日本", "🦆", "<b>"])
def test_any_printable_text_can_be_listed_as_it_is(text):
    assert shown([text] * 500) == {text: 500}


def test_a_prefix_that_reads_as_missing_is_never_listed():
    assert shown(["Zug", "Zürich"] * 100, prefix=1) == {}
    assert shown(["Zug", "Zürich"] * 100, prefix=2) == {"Zu": 100, "Zü": 100}


def test_the_same_letters_in_other_code_points_are_another_text():
    assert shown(["\xe9"] * 60 + ["e\u0301"] * 50) == {"\xe9": 60, "e\u0301": 50}


def test_a_table_without_rows_shows_nothing():
    assert shown([]) == {}


def test_questions_about_one_column_share_one_pass_over_the_rows(monkeypatch):
    passes = []
    inside = room(["Bern"] * 50)
    honest = inside._rows.source.texts
    monkeypatch.setattr(
        type(inside._rows.source), "texts", lambda self, column: passes.append(column) or honest(column)
    )

    inside.ask(question(prefix=1), question(prefix=2), question())

    assert passes == ["town"]


def test_rows_of_one_unit_beyond_its_limit_do_not_count():
    schema = open_schema(3)
    rows = [("one", "Bern")] * 500 + [(f"p{place}", "Chur") for place in range(60)]
    source = code_table(pl.DataFrame(rows, schema=["person", "town"], orient="row"), schema)
    terms = Terms(relation="add-remove", max_rows=3)
    parts = {"bits": ZeroNoiseBits(), "sink": NoTranscript(), "delta": Fraction(1, 2)}

    (answer,) = Room(source, schema, terms, Budget.pure(3), **parts).ask(question())

    assert answer.texts == ("Chur",)


def test_secret_words_are_drawn_for_every_text_that_occurs_once_in_one_call_per_question():
    bits = CountingBits(SystemBits())

    room([f"t{place}" for place in range(500)] * 3, bits).ask(question(), question(prefix=1))

    fewer = CountingBits(SystemBits())
    room([f"t{place}" for place in range(500)], fewer).ask(question(), question(prefix=1))
    assert bits.count == fewer.count  # of distinct texts, not of rows


# ------------------------------------------------------------------------------------------------ records, refusals


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"cost": Budget("pure", Fraction(0))}, "more than 0"),
        ({"delta": Fraction(0)}, "from 1e-300 to 0.5, got 0"),
        ({"delta": Fraction(51, 100)}, "from 1e-300 to 0.5, got 0.51"),
        ({"delta": Fraction(1, 10**301)}, "from 1e-300"),
        ({"delta": Fraction(10**400)}, "got far more"),
        ({"prefix": 0}, "from 1 to 200, got 0"),
        ({"prefix": 201}, "from 1 to 200, got 201"),
        ({"prefix": True}, "from 1 to 200, got True"),
        ({"most": 0}, "from 1 to 1000000, got 0"),
        ({"most": 10**6 + 1}, "got 1000001"),
    ],
)
def test_settings_outside_their_range_are_refused(changes, words):
    with pytest.raises(ParameterError, match=words):
        question(**changes)


def answered(texts=("a", "b"), counts=(5, 7), threshold=5, **changes):
    return SelectedTexts(question(**changes), tuple(texts), np.array(counts, dtype=np.int64), LAW, threshold)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"texts": ("b", "a")}, "distinct, sorted"),
        ({"texts": ("a", "a")}, "distinct, sorted"),
        ({"counts": (5,)}, "2 selected texts"),
        ({"counts": (5, 4)}, "reach the threshold 5"),
        ({"most": 1}, "no more or longer"),
        ({"texts": ("a", "bcd"), "prefix": 2}, "no more or longer"),
        ({"texts": ("", "a")}, "printable"),
        ({"texts": ("a", "b\n")}, "printable"),
        ({"texts": ("a", "x" * 201)}, "no more or longer"),
    ],
)
def test_an_answer_that_no_room_gives_is_refused(given, words):
    with pytest.raises(ParameterError, match=words):
        answered(**given)


# ------------------------------------------------------------------------------------------------ costs and figures


@pytest.mark.parametrize("cost", [Budget.pure("0.5"), Budget.zcdp("0.125")], ids=str)
def test_a_cost_line_tells_noise_and_delta_and_comes_back(cost):
    (line,) = CostLine.planned(question(cost=cost), TERMS)

    assert line.delta == Fraction(1, 100)
    assert line.cost == cost
    assert line.noise == question(cost=cost).noise("add-remove", 1)
    assert line.columns == ("town",)
    assert CERTIFICATES.read(CostLine, json.loads(json.dumps(CERTIFICATES.write(line)))) == line


def test_lines_that_cannot_fail_have_no_delta():
    (line,) = CostLine.planned(question(), TERMS)
    sure = replace(line, delta=None)

    assert "delta" not in CERTIFICATES.write(sure)
    assert CERTIFICATES.read(CostLine, CERTIFICATES.write(sure)) == sure


@pytest.mark.parametrize("delta", ["0.1", 0.1, {"decimal": "0.1"}, {"exact": "0"}, {"exact": "1"}])
def test_a_line_with_a_delta_that_is_none_is_refused(delta):
    (line,) = CostLine.planned(question(), TERMS)

    with pytest.raises(ParameterError):
        CERTIFICATES.read(CostLine, CERTIFICATES.write(line) | {"delta": delta})


def test_a_certificate_counts_lists_by_themselves():
    lines = CostLine.planned(question(), TERMS)

    assert counted_lines(lines) == "1 noisy category list"
    assert counted_lines(lines * 2) == "2 noisy category lists"


# ---------------------------------------------------------------------------------------------------- the loss told


def test_the_loss_is_of_shown_counts_and_of_what_is_hidden():
    answer = answered()

    assert answer.privacy_loss({"a": 4, "b": 1}, {"a": 3, "b": 1}) == Fraction(1, 2)
    hidden = answer.privacy_loss({"c": 4}, {"c": 3})
    q = np.exp(-0.5)
    below = [1 - q ** (5 - rows) / (1 + q) for rows in (4, 3)]
    assert abs(float(hidden) - abs(np.log(below[0] / below[1]))) < 1e-12  # floats of order one


def test_a_text_that_one_table_alone_has_adds_nothing_where_it_is_hidden():
    assert answered().privacy_loss({"c": 4, "a": 4}, {"a": 4}) == 0


@pytest.mark.parametrize(("text", "least"), [("A", 5), ("aa", 6), ("c", 6)])
def test_where_the_list_is_full_a_hidden_text_is_below_the_last_one(text, least):
    """Of equal counts the first by code point is shown: "A" would have been with 5, "aa" comes after "a"."""
    full = answered(most=2)

    q = np.exp(-0.5)
    below = [1 - q ** (least - rows) / (1 + q) for rows in (4, 2)]

    loss = full.privacy_loss({text: 4}, {text: 2})
    assert abs(float(loss) - abs(np.log(below[0] / below[1]))) < 1e-12  # floats of order one


def test_the_loss_of_gaussian_noise_is_that_of_the_shared_counts():
    answer = SelectedTexts(question(cost=Budget.zcdp(1)), ("a",), np.array([9]), NoiseLaw("gaussian", Fraction(8)), 5)

    assert answer.privacy_loss({"a": 4, "b": 1, "c": 9}, {"a": 2, "b": 4}) == Fraction(4 + 9, 16)
