"""Every mechanism passes the contract checks, and each check bites."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from lapwing.errors import BudgetError
from lapwing.mechanisms.independent.mechanism import Independent
from lapwing.mechanisms.registry import MECHANISMS
from lapwing.mechanisms.shared.base import Mechanism
from lapwing.model.laws import point_laws
from lapwing.model.model import Indexed, ReleasedModel
from mechanism_checks import (
    MECHANISM_CHECKS,
    check_answers_alone_reproduce_the_release,
    check_record_and_replay_finds_nothing,
    check_rows_fit_the_schema,
    check_spends_at_most_its_budget,
    check_the_default_number_of_rows_is_valid,
)

ELSEWHERE = check_record_and_replay_finds_nothing
"""Is made of more pairs of each mechanism by boundary/test_record_and_replay and boundary/test_private_draw_replay."""


@pytest.mark.parametrize(
    "check",
    [pytest.param(check, marks=[pytest.mark.full] if check is ELSEWHERE else []) for check in MECHANISM_CHECKS],
    ids=lambda check: check.__name__,
)
@pytest.mark.parametrize("kind", MECHANISMS.values(), ids=lambda kind: kind.name)
def test_every_mechanism_keeps_the_contract(kind, check):
    check(kind.small)


def planted(spoil):
    """Return a mechanism that runs Independent, then spoils what it returns."""

    @dataclass(frozen=True)
    class Planted(Mechanism):
        name = "Planted"

        def run(self, curator, schema, budget, rng):
            return spoil(Independent.small(), curator, schema, budget, rng)

    return Planted()


def _overspends(honest, curator, schema, budget, rng):
    honest.run(curator, schema, budget, rng)
    return honest.run(curator, schema, budget, rng)


def _shows_the_last_code(honest, curator, schema, budget, rng):
    model = honest.run(curator, schema, budget, rng)
    laws = {c.name: Indexed(np.zeros(1, np.uint8), point_laws(np.array([c.domain.last]))) for c in schema.columns}
    return replace(model, laws=laws)


def _negative_rows(honest, curator, schema, budget, rng):
    model = honest.run(curator, schema, budget, rng)
    return ReleasedModel(weights=model.weights, rows=model.rows + 1, laws=model.laws)


def _private_random_numbers(honest, curator, schema, budget, rng):
    model = honest.run(curator, schema, budget, rng)
    return replace(model, rows=int(np.random.default_rng().integers(1, 10**6)))


@pytest.mark.parametrize(
    ("check", "spoil", "error"),
    [
        (check_spends_at_most_its_budget, _overspends, BudgetError),
        (check_rows_fit_the_schema, _shows_the_last_code, Exception),
        (check_the_default_number_of_rows_is_valid, _negative_rows, AssertionError),
        (check_answers_alone_reproduce_the_release, _private_random_numbers, AssertionError),
        (check_record_and_replay_finds_nothing, _private_random_numbers, AssertionError),
    ],
)
def test_a_mechanism_that_breaks_a_promise_fails_its_check(check, spoil, error):
    with pytest.raises(error):
        check(lambda: planted(spoil))
