"""A paid run that ends at any durable step is finished by the next one, or over: no second debit, no second noise."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from itertools import count
from typing import Any

import polars as pl
import pytest

import lapwing as lw
from lapwing.errors import DataError
from lapwing.kernel.budget import ledger as ledger_module
from lapwing.kernel.budget.ledger import Ledger
from lapwing.kernel.noise.bits import SystemBits
from lapwing.kernel.room import transcript as transcript_module

FIELDS = [
    {"name": "flag", "type": "boolean", "constraints": {"required": True}},
    {"name": "kind", "type": "string", "categories": ["a", "b"]},
    {"name": "size", "type": "string", "categories": ["x", "y", "z"]},
]
SCHEMA = {"fields": FIELDS}
DATA = pl.DataFrame({"flag": [True] * 70 + [False] * 30, "kind": ["a", "b"] * 50, "size": ["x", "y", "z", "x"] * 25})
DRAFT = {
    "draft": True,
    "fields": [
        {"name": "age", "type": "integer", "provenance": "dp", "constraints": {"required": True}},
        {"name": "town", "type": "string", "provenance": "dp"},
    ],
}
PEOPLE = pl.DataFrame({"age": [20 + each % 50 for each in range(600)], "town": ["Bern", "Uri", "Zug"] * 200})
HOME = {"name": "home", "type": "integer", "role": "identifier"}
LINKED = {
    "key": "home",
    "maxChildren": 3,
    "parent": {"fields": [HOME, {"name": "rented", "type": "boolean", "constraints": {"required": True}}]},
    "child": {"fields": [HOME, {"name": "adult", "type": "boolean", "constraints": {"required": True}}]},
}
HOMES = pl.DataFrame({"home": range(60), "rented": [True, False] * 30})
TENANTS = pl.DataFrame({"home": [*range(60), *range(60)], "adult": [True] * 60 + [False] * 60})


@dataclass(frozen=True)
class Steps:
    """End a run before its durable step number ``last``, or half way through it, where that is a line.

    An interrupt ends it where a kill would: no handler of Lapwing's takes it for an error.
    """

    last: int
    torn: bool
    seen: Iterator[int]

    def take(self, before: Callable[[], object] | None = None) -> None:
        if next(self.seen) == self.last:
            if self.torn and before is not None:
                before()
            raise KeyboardInterrupt


def synthesized(**places: Any) -> object:
    return lw.synthesize(DATA, SCHEMA, epsilon=1, mechanism="Independent", seed=1, **places)


def adapted(**places: Any) -> object:
    return lw.synthesize(DATA, SCHEMA, rho=1, mechanism="Adaptive", seed=1, **places)


def learned(**places: Any) -> object:
    return lw.Schema.learn(PEOPLE, DRAFT, epsilon=2, delta="1e-6", **places)


def bought(**places: Any) -> object:
    return lw.evaluate(DATA, DATA.head(50), SCHEMA, epsilon=1, **places)


def linked(**places: Any) -> object:
    return lw.synthesize((HOMES, TENANTS), LINKED, epsilon=1, seed=1, **places)


RUNS = {"synthesize": synthesized, "Adaptive": adapted, "learn": learned, "evaluate": bought, "linked": linked}
RESUMED = ("synthesize", "Adaptive")
"""Runs that `resume` finishes; the others are finished by the same call with the same transcript."""


def opened(folder, name, place=None):
    folder.mkdir()
    ledger = Ledger.create_or_open(place or folder / "budget.db")
    unit = "home:3" if name == "linked" else "row"
    ledger.init("d", unit="zcdp", limit=9, relation="add-remove", privacy_unit=unit, selection_delta="1e-5")
    return ledger


@contextmanager
def killed_at(step: int, *, torn: bool):
    """End what runs in the block at its durable step number ``step``; yields the count of steps."""
    steps = Steps(step, torn, count(1))
    transact, append, system_bits = ledger_module.transact, transcript_module._append, SystemBits.__init__

    def transacted(path, begin, work):
        if begin == "BEGIN":
            return transact(path, begin, work)
        steps.take()
        result = transact(path, begin, work)
        steps.take()
        return result

    def appended(path, text, mode):
        half = text[: len(text) // 2]
        steps.take(lambda: append(path, half, mode))
        append(path, text, mode)
        steps.take()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ledger_module, "transact", transacted)
        patch.setattr(transcript_module, "_append", appended)
        patch.setattr(SystemBits, "__init__", lambda bits, *more: (steps.take(), system_bits(bits, *more))[0])
        yield


def whole_lines(path):
    content = path.read_bytes() if path.exists() else b""
    return content[: content.rfind(b"\n") + 1].splitlines()


def is_begun(path):
    """Tell whether the last line was begun, or one of several answers, and all that were drawn are not there."""
    content = path.read_bytes() if path.exists() else b""
    return content.rpartition(b"\n")[2].startswith(b" ") or content.endswith(b" \n")


def finished_after_a_kill(folder, name, step, *, torn, place=None):
    """Run until killed at a step, finish or see that it is over, check; False where all was done before."""
    ledger = opened(folder, name, place)
    places = {"ledger": ledger.path, "transcript": folder / "t.jsonl"}
    with killed_at(step, torn=torn):
        try:
            RUNS[name](**places)
        except KeyboardInterrupt:
            pass
        else:
            return False
    lines, debits = whole_lines(places["transcript"]), len(ledger.history()) - 1
    assert debits == 1 or len(lines) <= 1, "answers without a debit"

    def go_on():
        return lw.resume(places["transcript"], DATA) if name in RESUMED else RUNS[name](**places)

    if is_begun(places["transcript"]):
        left = places["transcript"].read_bytes()
        for _ in range(2):
            with pytest.raises(DataError, match="after noise was drawn and before it was recorded"):
                go_on()
        assert places["transcript"].read_bytes() == left
        assert len(ledger.history()) == 2
        return True
    if not lines:
        # Nothing was paid or answered: what is left of the first line is no transcript, and the call is made again.
        places["transcript"].unlink(missing_ok=True)
        RUNS[name](**places)
    else:
        go_on()
    entries, after = ledger.history(), whole_lines(places["transcript"])
    assert [entry.kind for entry in entries] == ["init", "debit"], (name, step)
    assert after[: len(lines)] == lines, (name, step)
    assert len(after) > max(1, len(lines) - 1)
    assert ledger.verify() == 2
    assert ledger.balance().spent == sum((entry.amount for entry in entries[1:]), Fraction(0))
    return True


@pytest.mark.parametrize("stride", [12, pytest.param(1, marks=pytest.mark.full)], ids=["some", "all"])
@pytest.mark.parametrize("torn", [False, True], ids=["between steps", "within a line"])
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.full if name == "Adaptive" else ()) for name in RUNS]
)
def test_a_run_that_is_killed_at_any_durable_step_is_paid_once_and_finished(tmp_path, name, torn, stride):
    steps = count(1, stride)

    over = next(step for step in steps if not finished_after_a_kill(tmp_path / f"{step}", name, step, torn=torn))

    # Header, debit, note, bits, and for each batch of answers its line and its note; most are two steps.
    assert over > 8


@pytest.mark.needs("Postgres")
@pytest.mark.parametrize("stride", [5, pytest.param(1, marks=pytest.mark.full)], ids=["some", "all"])
def test_a_run_with_a_ledger_in_postgres_is_paid_once_and_finished(tmp_path, postgres, stride):
    steps = count(1, stride)

    over = next(
        step
        for step in steps
        if not finished_after_a_kill(tmp_path / f"{step}", "synthesize", step, torn=False, place=postgres("budget"))
    )

    assert over > 8


def test_a_resumed_run_that_pays_again_is_noticed(tmp_path, monkeypatch):
    debit, paid = Ledger.debit, count()
    monkeypatch.setattr(Ledger, "debit", lambda ledger, dataset, name, *more, **settings: debit(
        ledger, dataset, name if next(paid) == 0 else f"{name}-again", *more, **settings
    ))  # fmt: skip

    with pytest.raises(AssertionError):
        finished_after_a_kill(tmp_path / "run", "synthesize", 7, torn=False)


def test_a_finished_run_has_nothing_left_to_kill(tmp_path):
    places = {"ledger": opened(tmp_path / "l", "synthesize").path, "transcript": tmp_path / "t.jsonl"}
    first = RUNS["synthesize"](**places)

    with killed_at(10**6, torn=False):
        again = lw.resume(places["transcript"], DATA)

    assert again.sample(20).equals(first.sample(20))
