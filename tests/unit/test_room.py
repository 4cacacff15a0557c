"""The audited room: charge first, then count, add noise, record, return."""

import copy
import pickle
import threading
import time
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

from helpers import make
from helpers.bits import CountingBits, SeededBits, ZeroNoiseBits
from helpers.kept import Kept
from lapwing.errors import BudgetError, ParameterError
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.noise.bits import SystemBits
from lapwing.kernel.questions.answering import PrivateRows
from lapwing.kernel.questions.marginal_counts.question import MarginalCounts
from lapwing.kernel.room.opening import open_room, public_terms
from lapwing.kernel.room.room import Room
from lapwing.kernel.room.transcript import NoTranscript
from lapwing.kernel.terms import Terms
from lapwing.rows.source import code_table
from lapwing.schema.groupings.grouping import identity, prefix_grouping
from lapwing.schema.schemas import Schema

COLUMNS = {"kind": ["a", "b"], "age": make.field("age", (0, 7), required=True)}
SCHEMA = Schema.from_dict(make.schema(COLUMNS))
DATA = pl.DataFrame({"kind": ["a", "b", "b", None, "zzz"], "age": [0, 7, 7, 3, 99]})
TERMS = Terms(relation="add-remove")


class Untouchable:
    """Rows that nobody may read."""

    columns = ("kind", "age")

    def __getattr__(self, name):
        raise AssertionError(f"the rows were touched: {name}")


def question(column="kind", cost=Fraction(1, 2)):
    return MarginalCounts(columns=(column,), groupings=(identity(SCHEMA.field(column).domain),), cost=Budget.pure(cost))


def room(*, source=None, bits=None, sink=None, budget=1, recorded=(), terms=TERMS):
    rows = code_table(DATA, SCHEMA) if source is None else source
    rest = {"bits": bits or ZeroNoiseBits(), "sink": sink or NoTranscript(), "recorded": recorded}
    return Room(rows, SCHEMA, terms, Budget.pure(budget), **rest)


def test_without_noise_the_answers_are_the_exact_tables():
    both = MarginalCounts(
        columns=("age", "kind"),
        groupings=(prefix_grouping(SCHEMA.field("age").domain, 2), identity(SCHEMA.field("kind").domain)),
        cost=Budget.pure(Fraction(1, 2)),
    )

    (joint, kinds) = room().ask(both, question())

    # Ages 0-3, 4-7 (99 is clamped to 7) and misfit, against a, b and missing (zzz is missing here).
    assert joint.counts.tolist() == [[1, 0, 1], [0, 2, 1], [0, 0, 0]]
    assert kinds.counts.tolist() == [1, 2, 2]


def test_the_empty_table_asks_for_the_number_of_rows():
    (rows,) = room().ask(MarginalCounts(columns=(), groupings=(), cost=Budget.pure(1)))

    assert rows.counts.tolist() == 5


def test_overspending_is_refused_before_any_row_is_read():
    closed = room(source=Untouchable())

    with pytest.raises(BudgetError, match="more than the budget 1"):
        closed.ask(question(), question(), question())


def test_a_refused_batch_spends_nothing():
    half = room()
    with pytest.raises(BudgetError):
        half.ask(question(), question(), question())

    answers = half.ask(question(), question())

    assert len(answers) == 2


def test_the_budget_is_used_up_over_several_calls():
    spent = room()
    spent.ask(question())
    spent.ask(question())

    with pytest.raises(BudgetError):
        spent.ask(question(cost=Fraction(1, 10**9)))


class SlowBudget(Budget):
    """A budget whose sum takes time, so that another thread can look before it is kept."""

    def __add__(self, other):
        found = super().__add__(other)
        time.sleep(0.01)
        return found


def test_threads_together_get_no_more_than_the_budget():
    shared, answers, refused, barrier = room(), [], [], threading.Barrier(4)
    shared._spent = SlowBudget("pure", Fraction(0))

    def work():
        barrier.wait()
        try:
            answers.append(shared.ask(question(cost=1)))
        except BudgetError as error:
            refused.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert (len(answers), len(refused)) == (1, 3)


def test_costs_of_another_notion_are_refused():
    zcdp = MarginalCounts(columns=(), groupings=(), cost=Budget.zcdp(1))

    with pytest.raises(BudgetError):
        room().ask(zcdp)


def test_a_grouping_of_another_domain_is_refused():
    foreign = MarginalCounts(columns=("age",), groupings=(identity(SCHEMA.field("kind").domain),), cost=Budget.pure(1))

    with pytest.raises(ParameterError, match="build it from the field's domain"):
        room(source=Untouchable()).ask(foreign)


def test_only_questions_of_the_closed_set_are_answered():
    class Everything:
        cost = Budget.pure(1)

    with pytest.raises(ParameterError, match="no question of the closed set"):
        room(source=Untouchable()).ask(Everything())


def test_answers_are_recorded_before_they_are_returned():
    class Full(NoTranscript):
        def record(self, answers, part=""):
            raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        room(sink=Full()).ask(question())


def test_recorded_answers_are_returned_without_a_new_draw():
    kept = Kept()
    room(bits=SeededBits(1), sink=kept).ask(question(), question("age"))
    bits = CountingBits(SeededBits(2))
    resumed = room(source=Untouchable(), bits=bits, recorded=kept.answers)

    class Rows:
        def count(self, tables):
            assert tables == []
            return []

    resumed._rows = PrivateRows.of(Rows(), SCHEMA)
    answers = resumed.ask(question(), question("age"))

    assert [a.counts.tolist() for a in answers] == [a.counts.tolist() for a in kept.answers]
    assert bits.count == 0


def test_recorded_answers_count_as_spent():
    kept = Kept()
    room(sink=kept).ask(question(), question("age"))
    resumed = room(recorded=kept.answers)
    resumed.ask(question(), question("age"))

    with pytest.raises(BudgetError):
        resumed.ask(question())


def test_a_run_that_asks_something_else_than_the_record_is_refused():
    kept = Kept()
    room(sink=kept).ask(question())

    with pytest.raises(ParameterError, match="another question"):
        room(recorded=kept.answers).ask(question("age"))


def test_a_half_recorded_batch_is_finished():
    kept = Kept()
    room(bits=SeededBits(1), sink=kept).ask(question())

    old, new = room(bits=ZeroNoiseBits(), recorded=kept.answers).ask(question(), question("age"))

    assert old is kept.answers[0]
    assert new.counts.sum() == 5


@pytest.mark.parametrize("take", [pickle.dumps, copy.copy, copy.deepcopy])
def test_the_room_cannot_be_copied_or_pickled(take):
    with pytest.raises(ParameterError, match="neither pickled nor copied"):
        take(room())


def test_the_room_shows_no_data():
    assert repr(room()) == "Room(private)"


def test_every_cell_gets_noise_also_the_empty_ones():
    empty = code_table(DATA.clear(), SCHEMA)
    hits = np.zeros(3)

    for seed in range(200):
        (answer,) = room(source=empty, bits=SeededBits(seed)).ask(question())
        hits += answer.counts != 0

    assert (hits > 0).all()


def test_no_secret_bit_is_made_before_the_debit():
    order = []

    def debit():
        order.append("debit")

    def secret_bits():
        order.append("bits")
        return SystemBits()

    opening = {"debit": debit, "secret_bits": secret_bits, "sink": NoTranscript()}
    open_room(code_table(DATA, SCHEMA), SCHEMA, TERMS, Budget.pure(1), **opening)

    assert order == ["debit", "bits"]


def test_a_refused_debit_opens_no_room():
    def debit():
        raise BudgetError("nothing left")

    with pytest.raises(BudgetError, match="nothing left"):
        open_room(
            Untouchable(), SCHEMA, TERMS, Budget.pure(1), debit=debit, secret_bits=Untouchable, sink=NoTranscript()
        )


UNITS = Schema.from_dict(make.schema({"who": "id", **COLUMNS}, privacyUnit={"field": "who", "maxRows": 3}))


@pytest.mark.parametrize(
    ("schema", "relation", "rows"),
    [
        (SCHEMA, "replace-one", 5),
        (SCHEMA, "add-remove", None),
        (UNITS, "replace-one", None),
        (UNITS, "add-remove", None),
    ],
)
def test_the_number_of_rows_is_public_only_where_neighbours_share_it(schema, relation, rows):
    source = code_table(DATA.with_columns(who=pl.lit(1)), schema)

    terms = public_terms(source, schema, relation, None)

    assert terms.rows == rows
    assert terms.max_rows == schema.max_rows
