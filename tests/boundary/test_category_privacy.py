"""Record and replay of lists of texts over generated neighbours; what the room refuses before it reads a row."""

from fractions import Fraction

import polars as pl
import pytest

import lapwing as lw
from helpers.category_runs import TINY, open_schema
from helpers.planted_audits import replay_of_lists
from lapwing.errors import BudgetError, ParameterError
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.noise.bits import SystemBits
from lapwing.kernel.questions.category_selection.question import CategorySelection
from lapwing.kernel.room.room import Room
from lapwing.kernel.room.transcript import NoTranscript
from lapwing.kernel.terms import Terms
from lapwing.rows.source import code_table
from lapwing.schema.fields import Field
from lapwing.schema.schemas import Schema


@pytest.mark.parametrize("pairs", [6, pytest.param(400, marks=pytest.mark.full)])
def test_no_pair_is_flagged(pairs):
    assert replay_of_lists().flags(8 * pairs) == ()


@pytest.mark.parametrize(("prefixes", "most"), [((None,), (1,)), ((2, 1, None, None), (3, 1, 1, 100))])
def test_no_pair_is_flagged_for_other_lists(prefixes, most):
    changes = {"prefixes": prefixes, "most": most, "selection_delta": len(prefixes) * TINY}

    assert replay_of_lists(**changes).flags(16) == ()


def test_whether_any_text_was_weighed_does_not_show_in_the_transcript(tmp_path):
    schema = {"draft": True, "fields": [{"name": "town", "type": "string", "provenance": "dp"}]}
    kept = {}
    for name, town in (("none", None), ("one", "York")):
        table = pl.DataFrame({"town": [None] * 49 + [town]}, schema={"town": pl.String})
        with pytest.warns(lw.LapwingWarning, match="no text of"):
            lw.Schema.learn(table, schema, epsilon=1, delta=1e-6, transcript=tmp_path / name)
        kept[name] = (tmp_path / name).read_bytes().splitlines()[1:]

    assert kept["none"] == kept["one"]
    assert kept["none"][0].startswith(b" {")


class Unreadable:
    """A source whose rows nobody may read."""

    columns = ("town",)

    def texts(self, column):
        raise AssertionError("rows were read")


def room(delta=Fraction(1, 10), budget=Budget.pure(10), source=None, recorded=()):  # noqa: B008 - a frozen value
    given = Unreadable() if source is None else source
    terms = Terms(relation="add-remove")
    return Room(
        given,
        open_schema(has_unit=False),
        terms,
        budget,
        bits=SystemBits(),
        sink=NoTranscript(),
        recorded=recorded,
        delta=delta,
    )


def asked(**changes):
    parts = {"column": "town", "prefix": None, "cost": Budget.pure(1), "delta": Fraction(1, 20)}
    return CategorySelection(**(parts | changes))


def towns():
    return code_table(pl.DataFrame({"town": ["Bern"] * 50}), open_schema(has_unit=False))


def test_deltas_beyond_the_room_s_are_refused_whole_before_any_row_is_read():
    with pytest.raises(BudgetError, match="selections of categories would take 1/20 more of delta"):
        room().ask(asked(), asked(), asked())


def test_a_room_without_a_delta_selects_nothing():
    with pytest.raises(BudgetError, match="give a larger delta, or public lists of categories"):
        room(Fraction(0)).ask(asked(delta=Fraction(1, 10**300)))


def test_a_batch_that_is_refused_takes_no_delta_and_no_budget():
    inside = room(budget=Budget.pure(2), source=towns())

    for batch in ([asked()] * 3, [asked(cost=Budget.pure(2)), asked()]):
        with pytest.raises(BudgetError):
            inside.ask(*batch)

    assert [answer.texts for answer in inside.ask(asked(), asked())] == [("Bern",), ("Bern",)]
    with pytest.raises(BudgetError):
        inside.ask(asked(cost=Budget.pure(1), delta=Fraction(1, 10**300)))


def test_recorded_answers_count_against_the_delta_too():
    recorded = room(source=towns()).ask(asked(), asked())
    again = room(recorded=recorded)

    assert again.ask(asked(), asked()) == recorded
    with pytest.raises(BudgetError, match="delta"):
        again.ask(asked(delta=Fraction(1, 10**300)))


def test_texts_are_selected_in_open_string_fields_only():
    fields = (
        Field(name="listed", type="string", categories=("Bern",)),
        Field(name="flag", type="boolean"),
        Field(name="size", type="number", open=True),
    )
    inside = Room(
        Unreadable(),
        Schema(fields=fields),
        Terms(relation="add-remove"),
        Budget.pure(10),
        bits=SystemBits(),
        sink=NoTranscript(),
        delta=Fraction(1, 2),
    )

    for field in fields:
        with pytest.raises(ParameterError, match=f'open string fields only, and "{field.name}" is none'):
            inside.ask(asked(column=field.name))
