"""Record and replay of whole learning runs over generated neighbours, and runs that break a promise on purpose."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from helpers.learn_runs import draft_of, flags_of_learning, learn_settings
from lapwing.extras.audit.pairs import neighbour_pair
from lapwing.extras.audit.replay import audit_pair
from lapwing.model.certificate.notices import Notice
from lapwing.release.runs import records as front
from lapwing.release.runs.learned.running import run_learning


@pytest.mark.parametrize("max_rows", [1, 3])
@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
def test_no_pair_is_flagged(relation, max_rows):
    assert flags_of_learning(pairs=6, relations=(relation,), rows_per_unit=(max_rows,)) == ()


@pytest.mark.full
@pytest.mark.parametrize("max_rows", [1, 3])
@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
def test_none_of_many_pairs_is_flagged(relation, max_rows):
    assert flags_of_learning(pairs=200, relations=(relation,), rows_per_unit=(max_rows,)) == ()


def looking(source, settings, *places, **more):
    """Note in the certificate how many rows there are."""
    found = run_learning(source, settings, *places, **more)
    rows = sum(len(next(iter(part.values()))) for part in source.chunks())
    return replace(found, notes=(*found.notes, Notice("few_rows", {"rows": rows})))


def overspending(source, settings, *places, **more):
    """Spend twice what was asked for."""
    request = replace(settings.request, budget=settings.request.budget * 2, epsilon=None, rho=Fraction(10**6))
    return run_learning(source, replace(settings, request=request), *places, **more)


def with_more_delta(source, settings, *places, **more):
    """Take a thousand times the delta that was set aside."""
    return run_learning(source, replace(settings, selection_delta=settings.selection_delta * 1000), *places, **more)


@pytest.mark.parametrize(
    ("run", "words"),
    [(looking, "output differs"), (overspending, "the claim is"), (with_more_delta, "have a delta of")],
)
def test_a_run_that_breaks_a_promise_is_flagged(run, words):
    flags = flags_of_learning(pairs=8, relations=("add-remove",), run=run, times=(1,))

    assert any(words in flag for flag in flags), flags


def test_a_run_that_draws_before_it_pays_is_flagged(monkeypatch):
    honest = front.open_room

    def eager(*places, debit, secret_bits, **more):
        bits = secret_bits()
        return honest(*places, debit=debit, secret_bits=lambda: bits, **more)

    monkeypatch.setattr(front, "open_room", eager)

    assert "secret bits were made before the debit" in flags_of_learning(pairs=1)


def test_a_pair_that_is_audited_is_learned_and_not_refused():
    pair = neighbour_pair(np.random.default_rng(5), "add-remove", 1)
    settings = learn_settings(draft_of(pair.schema), budget={"epsilon": 1, "delta": 1e-9})

    assert {field.type for field in settings.schema.columns} >= {"integer", "number", "date", "string"}
    assert audit_pair(pair.data, pair.neighbour, settings, run_learning) == ()
