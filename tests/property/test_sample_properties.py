"""Systematic sampling for all weights, numbers of rows and chunks."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from lapwing.model.laws import Laws
from lapwing.model.model import ReleasedModel, Spans
from lapwing.model.rows import row_ends, sample_codes
from lapwing.model.sampling.draws import Histogram, draw_indexed, even_out
from lapwing.schema.schemas import Schema

WEIGHTS = arrays(
    np.float64, st.integers(1, 60), elements=st.one_of(st.just(0.0), st.floats(1e-6, 1e3), st.just(1.0))
).filter(lambda weights: weights.max() > 0)


def _is_floor_or_ceil(counts: np.ndarray, expected: np.ndarray) -> bool:
    # A float's own rounding of n * w is about 1e-16 of it.
    slack = 1e-9 * np.maximum(expected, 1)
    return bool(((counts >= np.floor(expected - slack)) & (counts <= np.ceil(expected + slack))).all())


@given(WEIGHTS, st.integers(1, 10**7), st.integers(0, 2**32))
def test_every_atom_owns_floor_or_ceil_of_its_expected_rows(weights: np.ndarray, n: int, seed: int):
    owned = np.diff(row_ends(weights, n, np.random.default_rng(seed)), prepend=0)

    assert owned.sum() == n
    assert not owned[weights == 0].any()
    assert _is_floor_or_ceil(owned, n * (weights / weights.sum()))


@given(WEIGHTS, st.integers(1, 300), st.integers(1, 300), st.integers(0, 2**32))
@settings(max_examples=50)
def test_the_union_of_the_chunks_is_one_systematic_sample(weights: np.ndarray, n: int, chunk: int, seed: int):
    atoms = np.arange(weights.size)
    schema = Schema.from_dict(
        {"fields": [{"name": "x", "type": "integer", "constraints": {"minimum": 0, "maximum": 99}}]}
    )
    model = ReleasedModel(weights=weights, rows=1, laws={"x": Spans(atoms, atoms + 1)})

    drawn = np.concatenate(
        [codes["x"] for codes in sample_codes(model, schema, n, np.random.default_rng(seed), chunk=chunk)]
    )

    counts = np.bincount(drawn, minlength=weights.size)
    assert counts.sum() == n
    assert _is_floor_or_ceil(counts, n * (weights / weights.sum()))


@given(st.lists(st.integers(1, 6), min_size=1, max_size=8), st.integers(1, 400), st.integers(0, 2**32))
def test_evened_codes_give_each_piece_of_each_law_its_share_and_change_no_row_in_vain(
    pieces: list[int], n: int, seed: int
):
    rng = np.random.default_rng(seed)
    offsets = np.cumsum([0, *pieces])
    # Laws lie over each other; pieces of a law do not, and come in any order.
    starts = np.concatenate([rng.permutation(12)[:each] * 5 for each in pieces])
    shares = np.concatenate([rng.dirichlet(np.full(each, 2.0)) for each in pieces])
    laws = Laws(offsets, starts, starts + rng.integers(1, 6, starts.size), shares)
    index = rng.integers(0, laws.count, n)
    piece = offsets[index] + rng.integers(0, 10**6, n) % np.diff(offsets)[index]
    codes = rng.integers(laws.starts[piece], laws.stops[piece])

    found = even_out(Histogram.of(laws), index, codes, rng)

    changed = 0
    for law in range(laws.count):
        own, rows = range(offsets[law], offsets[law + 1]), index == law
        inside = [
            ((laws.starts[at] <= each[rows]) & (each[rows] < laws.stops[at])).sum()
            for each in (codes, found)
            for at in own
        ]
        before, after = np.array(inside).reshape(2, -1)
        assert after.sum() == rows.sum()
        assert _is_floor_or_ceil(after, rows.sum() * shares[list(own)])
        changed += np.maximum(before - after, 0).sum()
    assert (found != codes).sum() == changed


def test_rows_of_the_first_few_of_many_laws_are_drawn_from_theirs():
    count = 2**16 + 5
    starts = np.arange(0, 2 * count, 2)
    laws = Laws(np.arange(count + 1), starts, starts + 2, np.ones(count))

    for kind in (np.uint8, np.uint16, np.uint32, np.int64):
        index = np.array([3, 0, 3, 200], dtype=kind)
        assert (draw_indexed(Histogram.of(laws), index, np.random.default_rng(1)) // 2).tolist() == index.tolist()
