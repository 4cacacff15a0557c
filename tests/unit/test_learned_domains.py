"""Fields of several kinds learned together, from the budget to statements and notes."""

from fractions import Fraction

import polars as pl
import pytest

from helpers.bits import SeededBits
from helpers.learned_runs import TINY, learned
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.room.curator import ReplayCurator
from lapwing.release.runs.learned.bounds import LearnedBounds
from lapwing.release.runs.learned.domains import learned_fields, needs_selection, with_bounds
from lapwing.release.runs.learned.settings import opened_schema
from lapwing.rows.source import code_table
from lapwing.schema.fields import Field
from lapwing.schema.schemas import Schema

MIXED = {
    "fields": [
        {"name": "age", "type": "integer"},
        {"name": "income", "type": "number", "scale": "log"},
        {"name": "day", "type": "date", "resolution": "month"},
        {"name": "town", "type": "string"},
        {"name": "grade", "type": "string", "categories": ["a", "b", "c"]},
        {"name": "job", "type": "string"},
    ]
}
JOBS = {"job": ("baker", "clerk", "nurse")}
BUDGETS = {"pure": Budget.pure(4), "zcdp": Budget.zcdp("0.5")}
EITHER = pytest.mark.parametrize("budget", BUDGETS.values(), ids=BUDGETS.keys())


def mixed_table():
    return pl.DataFrame(
        {
            "age": [30, 44] * 500,
            "income": [1500.0, 23000.0] * 500,
            "day": ["2020-02-02", "2021-03-03"] * 500,
            "town": ["Uri", "Zug"] * 500,
            "grade": ["a", "b"] * 500,
            "job": ["clerk", "nurse"] * 500,
        }
    )


@EITHER
def test_every_field_gets_an_equal_share_and_all_is_spent(budget) -> None:
    found, room = learned(mixed_table(), MIXED, budget, SeededBits(1), dictionaries=JOBS)

    spent: dict[str, Fraction] = {}
    for answer in room.answers:
        (name,) = answer.question.columns
        spent[name] = spent.get(name, Fraction(0)) + answer.question.cost.amount
    assert set(spent.values()) == {budget.amount / 6}
    assert [field.name for field in found.fields] == [each["name"] for each in MIXED["fields"]]
    assert {field.provenance for field in found.fields} == {"dp"}
    assert not Schema(fields=found.fields).is_draft


@EITHER
def test_the_answers_alone_give_the_same_fields_statements_and_notes(budget) -> None:
    found, room = learned(mixed_table(), MIXED, budget, SeededBits(1), dictionaries=JOBS, quantile="0.01")
    original = Schema.load_draft({"draft": True} | MIXED)
    names = [field.name for field in original.fields]
    replay = ReplayCurator(room.terms, room.answers)

    again = learned_fields(
        replay,
        opened_schema(original, names, JOBS),
        original,
        names,
        budget,
        TINY,
        quantile=Fraction(1, 100),
        dictionaries=JOBS,
    )

    assert replay.is_exhausted
    assert again == found


@pytest.mark.parametrize(
    ("field", "needs"),
    [
        (Field(name="x", type="string"), True),
        (Field(name="x", type="string", categories=("a",)), False),
        (Field(name="job", type="string"), False),
        (Field(name="x", type="integer"), False),
    ],
    ids=["open texts", "a list", "a dictionary", "numbers"],
)
def test_only_open_texts_need_a_selection(field, needs) -> None:
    assert needs_selection(field, JOBS) is needs


ALIGNED = {
    "outwards": (Field(name="x", type="number", resolution=0.25), (1.1, 9.1), (1, 9.25)),
    "whole steps": (Field(name="x", type="integer", resolution=50), (-12, 99), (-50, 100)),
    "from a known minimum": (Field(name="x", type="integer", minimum=7, resolution=10), (12, 30), (7, 37)),
    "inside known bounds": (Field(name="x", type="integer", minimum=0, maximum=95, resolution=10), (12, 95), (10, 95)),
    "in decimals": (Field(name="x", type="number", resolution=0.1), (0.3, 0.72), (0.3, 0.8)),
}


@pytest.mark.parametrize(("field", "found", "bounds"), ALIGNED.values(), ids=ALIGNED.keys())
def test_bounds_lie_on_the_grid_of_the_resolution(field, found, bounds) -> None:
    made = with_bounds(field, LearnedBounds(minimum=found[0], maximum=found[1], is_found=True, unseen=0))

    assert (made.minimum, made.maximum) == bounds


@EITHER
def test_a_real_table_is_read_almost_whole_under_what_was_learned(adult_path, budget) -> None:
    data = pl.read_parquet(adult_path)
    kinds = {pl.String: "string", pl.Int64: "integer", pl.Float64: "number"}
    names = [name for name in data.columns if type(data[name].dtype) in kinds][:8]
    draft = {"fields": [{"name": name, "type": kinds[type(data[name].dtype)]} for name in names]}
    generous = Budget(budget.notion, budget.amount * 20)

    found, _ = learned(data, draft, generous, SeededBits(7))

    assert not any(field.blank for field in found.fields)
    (first, *_) = code_table(data, Schema(fields=found.fields)).chunks()
    for field in found.fields:
        assert (first[field.name] == field.domain.last).mean() < 0.01
