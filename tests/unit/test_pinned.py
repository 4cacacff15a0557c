"""Columns turned into points: the same mixture, one code of each column per atom."""

import numpy as np
import pytest

from lapwing.model.laws import laws_from_probabilities
from lapwing.model.model import Bernoulli, Indexed, ReleasedModel, Spans, narrow
from lapwing.model.sampling.fixed import pinned, points

FEW = laws_from_probabilities(
    np.array([0, 2, 3]), np.array([2, 3, 9]), np.array([[4.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 1.0, 2.0]])
)


def mixture() -> ReleasedModel:
    """Return three atoms with weight and one without."""
    return ReleasedModel(
        weights=np.array([0.5, 3.0, 0.0, 1.5]),
        rows=50,
        laws={
            "kind": Indexed(narrow(np.array([0, 1, 2, 2])), FEW),
            "age": Spans(np.array([0, 10, 20, 30], dtype=np.uint8), np.array([10, 20, 30, 31], dtype=np.uint8)),
            "flag": Bernoulli(np.array([0.0, 0.25, 1.0, 1.0])),
            "other": Bernoulli(np.array([0.1, 0.2, 0.3, 0.4])),
        },
    )


def test_each_atom_holds_one_code_and_weights_are_shared():
    found = pinned(mixture(), ["kind", "age", "flag"], np.random.default_rng(1), least=1000)

    codes = points(found, ["kind", "age", "flag"])
    tens = np.searchsorted([10, 30], codes["age"], side="right")
    assert 990 <= found.atoms <= 1000
    assert np.bincount(tens, found.weights) == pytest.approx([0.5, 3.0, 1.5])
    assert (found.laws["other"].p == np.array([0.1, 0.2, 0.4])[tens]).all()


def test_codes_follow_the_law_of_their_atom():
    found = pinned(mixture(), ["kind", "flag"], np.random.default_rng(2), least=5000)

    codes = points(found, ["kind", "flag"])
    kinds = np.bincount(codes["kind"], found.weights, minlength=9) / found.weights.sum()
    law = {0: [0.4, 0.4, 0.2, *[0.0] * 6], 1: [0.0] * 3 + [1 / 6] * 6, 2: [0.125, 0.125, 0.25, *[1 / 12] * 6]}
    expected = 0.1 * np.array(law[0]) + 0.6 * np.array(law[1]) + 0.3 * np.array(law[2])
    assert kinds == pytest.approx(expected, abs=0.002)  # strata: independent draws would be off by 0.02
    assert codes["flag"] @ found.weights == pytest.approx(3.0 * 0.25 + 1.5, abs=0.01)


def test_points_are_never_split():
    first = pinned(mixture(), ["kind", "age"], np.random.default_rng(3), least=100)

    again = pinned(first, ["age", "kind"], np.random.default_rng(4), least=10_000)

    assert again.atoms == first.atoms
    assert (again.weights == first.weights).all()
    for name, codes in points(first, ["kind", "age"]).items():
        assert (points(again, [name])[name] == codes).all()


def test_the_same_generator_gives_the_same_atoms():
    one, two = (pinned(mixture(), ["kind", "age"], np.random.default_rng(5), least=64) for _ in range(2))

    assert (one.laws["kind"].starts == two.laws["kind"].starts).all()
    assert (one.laws["age"].starts == two.laws["age"].starts).all()
