"""However a run ends after its first secret word, no other noise is drawn for the same budget, and it is told alike."""

import os
import signal
from collections import Counter
from fractions import Fraction
from functools import cache

import numpy as np
import polars as pl
import pytest

import lapwing as lw
from helpers.asked_questions import asked, terms_of
from helpers.bits import CountingBits, SeededBits
from lapwing.errors import CapacityError, DataError
from lapwing.extras.audit.pairs import cube_schema, frame_of, neighbour_pair
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.budget.ledger import Ledger
from lapwing.kernel.noise.bits import SystemBits
from lapwing.kernel.questions.registered import KINDS
from lapwing.kernel.room.drawing import Drawing
from lapwing.kernel.room.room import Room
from lapwing.kernel.room.transcript import NoTranscript, continue_transcript, create_transcript
from lapwing.rows.source import code_table


@cache
def one_question_of_each_kind():
    """Return a question of each kind, with the rows and the settings under which releases ask it."""
    people = neighbour_pair(np.random.default_rng(8), "add-remove", 3)
    flags = [(0, 1, 0), (1, 1, 1)] * 20
    tables = [(people.data, people.schema, "add-remove"), (frame_of(flags, 3), cube_schema(3), "replace-one")]
    return {
        type(question).__name__: (question, code_table(data, run.schema), run.settings)
        for data, schema, relation in tables
        for run in asked(data, schema, relation)
        for question in run.questions
    }


class Stop(Exception):
    """What a time-out of somebody's own raises."""


EXITS = (
    CapacityError("too large", code="LW520"),
    DataError("cannot be read", code="LW103"),
    MemoryError(),
    KeyboardInterrupt(),
    SystemExit(1),
    OSError(28, "no space"),
    RecursionError(),
    Stop(),
)


class EndingBits:
    """The words of `calls_of`, but a given call ends the run."""

    def __init__(self, call, error):
        self.left, self.error, self.bits = call, error, SeededBits(1)

    def words(self, count):
        if self.left == 0:
            raise self.error
        self.left -= 1
        return self.bits.words(count)


class EndingRecord:
    """A transcript whose disk fails when answers are written."""

    def __init__(self, transcript, error):
        self.begin, self.refuse, self.error = transcript.begin, transcript.refuse, error

    def record(self, _, part=""):
        raise self.error


def room_of(kind, bits, sink):
    question, source, settings = one_question_of_each_kind()[kind]
    budget = Budget(question.cost.notion, 10 * question.cost.amount)
    terms = terms_of(source, settings)
    return Room(source, settings.schema, terms, budget, bits=bits, sink=sink, delta=Fraction(1)), question


def calls_of(kind):
    """Return how often the answer to a question asks for secret words."""
    bits = CountingBits(SeededBits(1))
    room, question = room_of(kind, bits, NoTranscript())
    room.ask(question)
    return bits.calls


def ended(path):
    """Return what two attempts to go on from a transcript say."""
    said = []
    for _ in range(2):
        with pytest.raises(DataError) as refused:
            continue_transcript(path)
        said.append((str(refused.value), refused.value.code))
    return said


def test_every_question_is_among_those_that_are_ended():
    assert set(one_question_of_each_kind()) == set(KINDS)


def end_runs(kind, error, folder):
    """End runs by an error at calls for secret words after the first one, and at the record; yield each transcript."""
    calls = calls_of(kind)
    for call in (*sorted({1, 2, calls - 1} & set(range(1, calls))), calls):
        path = folder / f"{type(error).__name__}-{call}.jsonl"
        transcript = create_transcript(path, {"settings": {}})
        sink = EndingRecord(transcript, error) if call == calls else transcript
        room, question = room_of(kind, EndingBits(call, error), sink)
        with pytest.raises(type(error)):
            room.ask(question)
        with pytest.raises(DataError, match="ended while its noise was drawn"):
            room.ask(question)
        transcript.close()
        yield path, sink is transcript


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_a_run_that_ends_between_its_first_secret_word_and_its_record_is_over(kind, tmp_path):
    for error in EXITS:
        for path, is_drawing in end_runs(kind, error, tmp_path):
            first, second = ended(path)

            is_refusal = is_drawing and isinstance(error, lw.LapwingError)
            assert first == second
            assert first[1] == "LW615"
            assert ("refused by the rule" in first[0]) == is_refusal
            assert not is_refusal or f"`lapwing explain {error.code}`" in first[0]


def test_the_mark_comes_before_the_first_secret_word(tmp_path):
    for kind in KINDS:
        path = tmp_path / f"{kind}.jsonl"
        sink = create_transcript(path, {"settings": {}})
        room, question = room_of(kind, EndingBits(0, Stop()), sink)
        with pytest.raises(Stop):
            room.ask(question)
        sink.close()

        assert path.read_text().endswith("\n ")


def test_a_run_that_ends_before_it_wants_a_secret_word_goes_on(tmp_path, monkeypatch):
    for kind in KINDS:
        path = tmp_path / f"{kind}.jsonl"
        sink = create_transcript(path, {"settings": {}})
        room, question = room_of(kind, SystemBits(), sink)
        with monkeypatch.context() as patch:
            patch.setattr(Drawing, "words", lambda *_: (_ for _ in ()).throw(Stop()))
            with pytest.raises(Stop):
                room.ask(question)

        assert len(room.ask(question)) == 1
        sink.close()
        transcript, _, answers = continue_transcript(path)
        transcript.close()
        assert len(answers) == 1


def test_no_word_is_drawn_where_the_mark_cannot_be_written():
    class Full(NoTranscript):
        def begin(self):
            raise DataError("the disk is full", code="LW613")

    for kind in KINDS:
        bits = CountingBits(SeededBits(1))
        room, question = room_of(kind, bits, Full())

        with pytest.raises(DataError, match="the disk is full"):
            room.ask(question)

        assert bits.count == 0


# ------------------------------------------------------------------------------------------------------------- signals


class SignallingBits(CountingBits):
    """Words of another source; with each call a signal comes."""

    number = signal.SIGINT

    def words(self, count):
        os.kill(os.getpid(), self.number)
        return CountingBits.words(self, count)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGALRM, signal.SIGTERM])
def test_a_signal_waits_until_the_answers_are_recorded(number, tmp_path):
    def stop(*_):
        raise Stop

    before = signal.signal(number, stop)
    try:
        sink = create_transcript(tmp_path / "t.jsonl", {"settings": {}})
        bits = SignallingBits(SystemBits())
        bits.number = number
        room, question = room_of("MarginalCounts", bits, sink)
        with pytest.raises(Stop):
            room.ask(question)
        sink.close()

        _, _, answers = continue_transcript(tmp_path / "t.jsonl")

        assert len(answers) == 1
        assert signal.getsignal(number) is stop
    finally:
        signal.signal(number, before)


# -------------------------------------------------------------------------------------------------------- the attack

DATA = pl.DataFrame({"x": np.linspace(0, 1, 60)})
SCHEMA = {"fields": [{"name": "x", "type": "number", "constraints": {"minimum": 0, "maximum": 1, "required": True}}]}
TWO = {"fields": [*SCHEMA["fields"], {**SCHEMA["fields"][0], "name": "y"}]}


def test_a_release_refused_for_its_size_is_refused_alike_each_time_and_draws_no_noise_again(monkeypatch, tmp_path):
    """Failures in a row would tell 60 rows in a cell from 61, at a threshold between the two."""
    monkeypatch.setattr("lapwing.kernel.questions.shared.cells.MAX_CELLS", 1)
    book = tmp_path / "budget.db"
    Ledger.create_or_open(book).init("d", unit="pure", limit=2, relation="add-remove", privacy_unit="row")
    path = tmp_path / "t.jsonl"
    drawn = Counter()
    words = SystemBits.words
    monkeypatch.setattr(SystemBits, "words", lambda self, count: drawn.update(words=count) or words(self, count))
    grid = lw.Grid(width=1 / 16, threshold=1, variant="paper")

    with pytest.raises(CapacityError, match="the budget of this release is spent"):
        lw.synthesize(DATA, SCHEMA, epsilon=1, mechanism=grid, ledger=book, transcript=path)
    at_first = drawn["words"]
    said = []
    for _ in range(3):
        with pytest.raises(DataError, match="refused by the rule") as refused:
            lw.resume(path, DATA)
        said.append(str(refused.value))

    assert at_first > 0
    assert drawn["words"] == at_first
    assert len(set(said)) == 1
    assert Ledger.open(book).balance("d").spent == 1


def test_what_a_file_says_of_a_refusal_is_a_code_and_nothing_else(tmp_path):
    path = tmp_path / "t.jsonl"
    create_transcript(path, {"settings": {}}).close()
    whole = path.read_text()
    for line in (' {"refused": "LW520\\n"}', ' {"refused": "call 555"}', ' {"refused": null}', '{"refused": "LW503"}'):
        path.write_text(f"{whole}{line}\n")

        with pytest.raises(DataError, match="is not a Lapwing transcript"):
            continue_transcript(path)


def test_answers_that_were_drawn_together_are_recorded_together_or_the_run_is_over(tmp_path):
    path = tmp_path / "t.jsonl"
    lw.synthesize(DATA.with_columns(y="x"), TWO, epsilon=1, mechanism="Independent", transcript=path, misfits=1)
    whole = path.read_bytes()
    header = whole.index(b"\n") + 1
    assert whole.count(b"\n") == 3

    ends = (header, header + whole[header:].index(b"\n"), len(whole) - 1)
    for length in {each + step for each in ends for step in range(-3, 4)} & set(range(header + 1, len(whole))):
        (tmp_path / "torn.jsonl").write_bytes(whole[:length])

        with pytest.raises(DataError, match="after noise was drawn and before it was recorded"):
            continue_transcript(tmp_path / "torn.jsonl")

    (tmp_path / "torn.jsonl").write_bytes(whole[:header])
    transcript, _, answers = continue_transcript(tmp_path / "torn.jsonl")
    transcript.close()
    assert answers == ()
