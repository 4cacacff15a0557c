"""Releases recorded and played to a neighbour, their privacy loss composed by Google's dp-accounting.

See ``tests/helpers/recorded_play.py``. ``python tests/oracle/test_recorded_play.py`` in the environment of
requirements/oracle-dp-accounting.txt prints the log that stands in ``bench/results/recorded_play.csv``.
"""

import csv
import itertools
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from helpers.recorded_play import DivergenceError, played
from lapwing.kernel import noise_law
from lapwing.kernel.budget.budget import read_request
from lapwing.kernel.terms import Terms
from lapwing.mechanisms.adaptive import mechanism as adaptive
from lapwing.mechanisms.adaptive.mechanism import Adaptive
from lapwing.mechanisms.independent.mechanism import Independent
from lapwing.mechanisms.trees.kd_tree.mechanism import KDTree
from lapwing.mechanisms.trees.pmm.mechanism import PMM
from lapwing.mechanisms.vectors.microaggregation.mechanism import Microaggregation
from lapwing.rows.source import code_table
from lapwing.schema.schemas import Schema

pld = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")

pytestmark = pytest.mark.oracle

DELTA = 1e-9
ROUNDING = 2e-3  # their distributions live on a grid of steps of 1e-4 and are rounded up
SCHEMA = Schema.from_dict(
    {"fields": [{"name": name, "type": "boolean", "constraints": {"required": True}} for name in "abc"]}
)
MECHANISMS = (Independent.small(), PMM.small(), KDTree.small(), Microaggregation.small(), Adaptive.small())
RELATIONS = ("add-remove", "replace-one")
BUDGETS = ({"epsilon": 1}, {"epsilon": 1, "delta": DELTA})
CASES = list(itertools.product(MECHANISMS, RELATIONS, BUDGETS))


def neighbours(relation, rng):
    """Return two tables that have many rows in every cell, so that all cells are split, and differ in one row."""
    every = list(itertools.product([False, True], repeat=3))
    rows = [*every * 40, *(every[place] for place in rng.integers(8, size=12))]
    others = [*rows[:-1], *([tuple(not each for each in rows[-1])] if relation == "replace-one" else [])]
    return tuple(code_table(pl.DataFrame(each, schema=list("abc"), orient="row"), SCHEMA) for each in (rows, others))


def losses_of(call):
    """Return privacy loss distributions of one primitive between what went in on the two tables."""
    first, second = (np.asarray(each) for each in call.inputs)
    if call.kind == "selection":
        rate = float(call.parameters[0]) / (2 * call.parameters[1])
        logs = [rate * each - np.logaddexp.reduce(rate * each) for each in (first, second)]
        lower, upper = (dict(enumerate(each.tolist())) for each in logs)
        return (
            [pld.from_two_probability_mass_functions(lower, upper, symmetric=False)] if (first != second).any() else []
        )
    moves = np.abs(first - second)
    scale = float(call.parameters[0])
    if call.kind == "discrete_laplace":
        return [pld.from_discrete_laplace_mechanism(1 / scale, int(move)) for move in moves[moves > 0]]
    # Gaussian noise on several numbers is one Gaussian whose mean moves by the Euclidean distance.
    total = float((moves.astype(np.float64) ** 2).sum())
    return [pld.from_gaussian_mechanism((scale / total) ** 0.5)] if total else []


def epsilon_of(calls, delta):
    """Return the epsilon at a delta of all primitives together, and how many of them tell the tables apart."""
    losses = [loss for call in calls for loss in losses_of(call)]
    total = None
    for loss in losses:
        total = loss if total is None else total.compose(loss)
    return (0.0 if total is None else total.get_epsilon_for_delta(delta)), len(losses)


def audited(mechanism, relation, asked, seed, patch):
    """Return what one pair of tables shows."""
    sources = neighbours(relation, np.random.default_rng(seed))
    budget = read_request(**asked).budget
    terms = Terms(relation=relation, max_rows=1, rows=332 if relation == "replace-one" else None, expected_rows=1000)
    calls, is_same = played(mechanism, SCHEMA, budget, terms, sources, patch)
    epsilon, moved = epsilon_of(calls, asked.get("delta", 0))
    return {
        "mechanism": mechanism.name,
        "relation": relation,
        "delta": asked.get("delta", 0),
        "seed": seed,
        "primitives": len(calls),
        "moved": moved,
        "same release": is_same,
        "epsilon": f"{epsilon:.4f}",
        "claim": asked["epsilon"],
    }


@pytest.mark.parametrize(("mechanism", "relation", "asked"), CASES)
def test_what_was_recorded_keeps_the_claim_and_is_played_to_the_same_release(mechanism, relation, asked, monkeypatch):
    line = audited(mechanism, relation, asked, 1, monkeypatch)

    assert line["same release"]
    assert float(line["epsilon"]) <= 1 + ROUNDING
    # A tree whose noise splits no cell counts all rows together: that a row is replaced does not show.
    assert line["moved"] or (relation == "replace-one" and mechanism.name == "KDTree")


def test_noise_for_half_of_the_distance_is_above_the_claim(monkeypatch):
    honest = noise_law.calibrate_noise
    monkeypatch.setattr(noise_law, "calibrate_noise", lambda bound, cost: halved(honest(bound, cost)))
    monkeypatch.setattr("lapwing.kernel.questions.questions.calibrate_noise", noise_law.calibrate_noise)

    line = audited(Independent.small(), "add-remove", {"epsilon": 1}, 1, monkeypatch)

    assert float(line["epsilon"]) > 1.5


def halved(law):
    """Return a law of half the scale."""
    return noise_law.NoiseLaw(law.kind, law.parameter * Fraction(1, 2))


def test_a_cost_that_depends_on_rows_is_another_primitive(monkeypatch):
    sizes = iter([40.0, 4000.0])
    monkeypatch.setattr(adaptive, "public_or_noisy_rows", lambda curator, budget: (next(sizes), budget))

    with pytest.raises(DivergenceError, match="became"):
        audited(Adaptive.small(), "add-remove", {"epsilon": 1}, 1, monkeypatch)


def log(seeds=10):
    """Print a line for each mechanism, relation, budget and pair of tables."""
    writer = None
    for (mechanism, relation, asked), seed in itertools.product(CASES, range(seeds)):
        with pytest.MonkeyPatch.context() as patch:
            line = audited(mechanism, relation, asked, seed, patch)
        if writer is None:
            writer = csv.DictWriter(sys.stdout, line, lineterminator="\n")
            writer.writeheader()
        writer.writerow(line)


if __name__ == "__main__":
    log()
