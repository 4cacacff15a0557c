"""What holds for every registered question: its record, its price, and that an answer is drawn once."""

import json
from dataclasses import replace
from fractions import Fraction
from functools import cache

import pytest

from helpers.bits import CountingBits, SeededBits
from helpers.kept import Kept
from lapwing.errors import BudgetError, ParameterError
from lapwing.extras.audit.rechecks import RECHECKS
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.questions.registered import KINDS, answer_from_dict, question_from_dict, same_question
from lapwing.kernel.room.curator import ReplayCurator
from lapwing.kernel.room.room import Room


@cache
def case_of(kind):
    """Return the first case that the audit has of a kind."""
    return next(iter(RECHECKS[kind].cases()))


@pytest.fixture(params=KINDS)
def case(request):
    return case_of(request.param)


def room_of(case, bits, *, times=1, recorded=(), sink=None, schema=None):
    """Return a room that so many of the case's questions may be asked."""
    budget = Budget(case.cost.notion, case.cost.amount * times)
    places = {"bits": bits, "sink": sink or Kept(), "recorded": recorded, "delta": Fraction(1, 2)}
    return Room(case.sources[0], schema or case.schema, case.terms, budget, **places)


def answered(case, seed=1):
    return room_of(case, SeededBits(seed)).ask(case.asked)[0]


def test_question_and_answer_come_back_from_their_record(case):
    answer = answered(case)
    record = json.loads(json.dumps(answer.to_dict()))

    back = answer_from_dict(record)

    assert back.to_dict() == record == answer_from_dict(back.to_dict()).to_dict()
    assert same_question(back.question, case.asked)
    assert type(back.question) is type(case.asked)
    assert back.question.cost == case.asked.cost
    assert [table.counts.tolist() for table in back.tables] == [table.counts.tolist() for table in answer.tables]
    assert not any(table.counts.flags.writeable for table in (*answer.tables, *back.tables))


def test_a_question_at_another_cost_is_another_question(case):
    record = case.asked.to_dict()
    other = {"cost": {**record.get("cost", {}), "amount": "1/77"}, "epsilon": "1/77", "draws": 77}
    other["costs"] = ["1/77"] * len(record.get("costs", ()))
    names = other.keys() & record

    assert names
    for name in names:
        changed = question_from_dict(record | {name: other[name]})
        assert not same_question(changed, case.asked)
        assert changed.cost != case.cost


def test_overspending_is_refused_before_any_row_is_read_and_any_word_is_drawn(case):
    bits = CountingBits(SeededBits(1))
    closed = room_of(case, bits)
    closed._rows = replace(closed._rows, source=None, tables=None)

    with pytest.raises(BudgetError, match="more than the budget"):
        closed.ask(case.asked, case.asked)
    assert bits.count == 0


def test_every_question_of_a_batch_is_charged_and_drawn_by_itself(case):
    bits = CountingBits(SeededBits(1))
    open_room = room_of(case, bits, times=2)

    open_room.ask(case.asked, case.asked)

    assert bits.count > 0
    with pytest.raises(BudgetError):
        open_room.ask(case.asked)


def test_a_recorded_answer_is_given_again_without_a_draw_or_a_look_at_the_rows(case):
    bits, sink = CountingBits(SeededBits(1)), Kept()
    answer = answered(case)
    resumed = room_of(case, bits, recorded=[answer], sink=sink)
    resumed._rows = replace(resumed._rows, source=None, tables=None)

    assert resumed.ask(case.asked) == (answer,)
    assert bits.count == 0
    assert sink.answers == []
    (replayed,) = ReplayCurator(case.terms, [answer_from_dict(answer.to_dict())]).ask(case.asked)
    assert replayed.to_dict() == answer.to_dict()


def test_a_record_of_another_question_is_refused(case):
    other = case_of("TreeCounts" if case.question == "MarginalCounts" else "MarginalCounts")

    with pytest.raises(ParameterError, match="the transcript holds another question"):
        room_of(case, SeededBits(1), recorded=[answered(other)]).ask(case.asked)
    with pytest.raises(ParameterError, match="the record holds another question"):
        ReplayCurator(case.terms, [answered(other)]).ask(case.asked)


def test_a_schema_with_other_domains_is_refused_before_any_word_is_drawn(case):
    if case.question == "MisfitRows":
        pytest.skip("it holds no domain: what fits is what the schema of the rows says")
    bits = CountingBits(SeededBits(1))
    fields = [field for field in case.schema.to_dict()["fields"] if field["name"] in {*case.asked.columns, "person"}]
    for field in fields:
        if field["name"] != "person":
            field.pop("open", None)
            field.update(type="integer", constraints={"minimum": 0, "maximum": 6})
    other = type(case.schema).from_dict(case.schema.to_dict() | {"fields": fields})

    with pytest.raises(ParameterError):
        room_of(case, bits, schema=other).ask(case.asked)
    assert bits.count == 0
