"""Marginals of a model against the sum over atoms and cells written out."""

import itertools

import numpy as np
import pytest

import lapwing.model.sampling.marginals as module
from helpers.models import naive_marginal, random_grouping, random_model, small_schema
from lapwing.model.laws import uniform_law
from lapwing.model.model import Indexed, ReleasedModel, Spans
from lapwing.model.sampling.marginals import marginal
from lapwing.schema.groupings.domains import Domain
from lapwing.schema.groupings.grouping import evenly, interval_grouping

SCHEMA = small_schema()
NAMES = [field.name for field in SCHEMA.columns]
# Sums of at most a few hundred products of probabilities, times at most 1000 rows.
TOLERANCE = 1e-9


def _compare(atoms: int, seed: int, width: int) -> None:
    rng = np.random.default_rng(seed)
    model = random_model(SCHEMA, atoms, seed)
    columns = [str(name) for name in rng.permutation(NAMES)[:width]]
    groupings = [random_grouping(SCHEMA.field(name).domain, rng) for name in columns]

    fast = marginal(model, columns, groupings)

    naive = naive_marginal(model, SCHEMA, columns, groupings)
    assert fast.shape == naive.shape
    assert fast == pytest.approx(naive, abs=TOLERANCE)
    assert fast.sum() == pytest.approx(model.rows, rel=1e-12)


@pytest.mark.parametrize(
    ("atoms", "seed", "width"), [(1, 1, 4), (40, 2, 4), *itertools.product([1, 7, 40], [3, 4], [0, 1, 2, 3])]
)
def test_marginals_agree_with_the_sum_over_atoms(atoms: int, seed: int, width: int):
    _compare(atoms, seed, width)


@pytest.mark.parametrize("seed", range(10, 16))
@pytest.mark.parametrize("cost", [0, 10**9])
def test_counting_and_matrix_products_agree_with_the_sum_over_atoms(
    seed: int, cost: int, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(module, "_TERM_COST", cost)

    _compare(25, seed, 2 + seed % 3)


@pytest.mark.parametrize("cost", [0, 10**9])
def test_small_blocks_agree_with_the_sum_over_atoms(cost: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "_TERM_COST", cost)
    monkeypatch.setattr(module, "_BLOCK", 5)

    _compare(30, 20, 3)


def test_a_wrong_overlap_of_pieces_and_groups_would_be_seen():
    domain = Domain(8, 0, False, True, False)
    model = ReleasedModel(
        weights=np.ones(1), rows=8, laws={"x": Indexed(np.zeros(1, dtype=np.uint8), uniform_law(domain))}
    )

    found = marginal(model, ["x"], [interval_grouping(domain, [3])])

    assert found.tolist() == [3.0, 5.0, 0.0]
    assert found.tolist() != [4.0, 4.0, 0.0]


def test_half_a_million_spans_of_a_continuous_column_match_an_independent_count():
    domain = Domain(2**32, 0, False, True, True)
    rng = np.random.default_rng(5)
    starts = rng.integers(0, 2**32 - 2**22, 2**19)
    stops = starts + rng.integers(1, 2**22, 2**19)
    model = ReleasedModel(weights=rng.random(2**19), rows=10**6, laws={"x": Spans(starts, stops)})
    grouping = evenly(domain, 256)

    fast = marginal(model, ["x"], [grouping])

    # Distribution function at the edges, from each span's own: min(max(edge - start, 0) / length, 1).
    edges = np.arange(257) * 2**24
    reached = [np.clip((edge - starts) / (stops - starts), 0, 1) @ model.weights for edge in edges]
    expected = np.diff(reached) / model.weights.sum() * model.rows
    # Differences of sums of 2**19 terms: about 1e-10 of the whole.
    assert fast[:256] == pytest.approx(expected, abs=1e-3)
    assert fast[256] == 0
