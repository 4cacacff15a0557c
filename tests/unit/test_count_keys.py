"""count_keys: distinct keys of rows and how many rows have each, whatever the chunks, the order and the words."""

from collections import Counter

import numpy as np
import polars as pl
import pytest

from lapwing.rows import cache, counting, source
from lapwing.rows.counting import KeyedColumn, count_keys
from lapwing.rows.source import code_table
from lapwing.schema.groupings.domains import Domain
from lapwing.schema.groupings.grouping import identity
from lapwing.schema.schemas import Schema

SMALL = Domain(5, 0, missing=False, ordered=True, continuous=False)  # codes 0 to 4, misfit 5


def column(name, words, *, seed=0, groups=5, low=0):
    """Return a column whose groups have random keys in some bits of their own."""
    rng = np.random.default_rng(seed)
    keys = np.zeros((groups, words), dtype=np.uint64)
    keys[:, low // 64] = rng.permutation(8)[:groups].astype(np.uint64) << np.uint64(low % 64)
    return KeyedColumn(name, identity(SMALL), keys)


def by_hand(chunks, columns):
    """Return a Counter of tuples of words, row by row."""
    found = Counter()
    for chunk in chunks:
        for row in range(len(next(iter(chunk.values())))):
            groups = [int(chunk[each.name][row]) for each in columns]
            if all(group < len(each.keys) for group, each in zip(groups, columns, strict=True)):
                parts = np.array([each.keys[group] for group, each in zip(groups, columns, strict=True)])
                found[tuple(np.bitwise_or.reduce(parts, axis=0).tolist())] += 1
    return found


def as_counter(keys, counts):
    return Counter(dict(zip(map(tuple, keys.T.tolist()), counts.tolist(), strict=True)))


def chunks_of(rng, sizes, names=("a", "b", "c")):
    return [{name: rng.integers(0, 6, size).astype(np.uint8) for name in names} for size in sizes]


COLUMNS = {
    1: [column("a", 1, low=61), column("b", 1, seed=1, low=30), column("c", 1, seed=2)],
    2: [column("a", 2, low=61), column("b", 2, seed=1, low=64), column("c", 2, seed=2, low=125)],
    3: [column("a", 3, low=0), column("b", 3, seed=1, low=70), column("c", 3, seed=2, low=189)],
}


@pytest.mark.parametrize("sizes", [[], [0], [1], [50], [7, 0, 13, 400, 1]])
@pytest.mark.parametrize("words", [1, 2, 3])
def test_keys_are_those_of_counting_row_by_row(words, sizes):
    chunks = chunks_of(np.random.default_rng(words), sizes)

    keys, counts = count_keys(iter(chunks), COLUMNS[words])

    assert as_counter(keys, counts) == by_hand(chunks, COLUMNS[words])
    assert keys.shape == (words, len(counts))
    assert (keys.dtype, counts.dtype) == (np.uint64, np.int64)


@pytest.mark.parametrize("words", [1, 2, 3])
@pytest.mark.parametrize("compact", [0, 1, 20, 10**6])
def test_merging_often_or_never_gives_the_same(words, compact, monkeypatch):
    chunks = chunks_of(np.random.default_rng(3), [30] * 20)
    expected = by_hand(chunks, COLUMNS[words])
    monkeypatch.setattr(counting, "_COMPACT_ROWS", compact)
    monkeypatch.setattr(counting, "_COUNT_ROWS", 8)

    keys, counts = count_keys(chunks, COLUMNS[words])

    assert as_counter(keys, counts) == expected
    assert keys.T.tolist() == sorted(keys.T.tolist())


SCHEMA = Schema.from_dict(
    {
        "fields": [
            {"name": name, "type": "integer", "constraints": {"minimum": 0, "maximum": 4, "required": True}}
            for name in "abc"
        ]
    }
)
RNG = np.random.default_rng(0)
FRAME = pl.DataFrame({name: [(0, 1, 2, 3, 4, None)[i] for i in RNG.integers(0, 6, 3000)] for name in "abc"})


@pytest.mark.parametrize("words", [1, 2])
def test_streamed_shuffled_and_kept_rows_have_the_same_keys(words, monkeypatch, tmp_path):
    kept = code_table(FRAME, SCHEMA).count_keys(COLUMNS[words])
    shuffled = code_table(FRAME.sample(fraction=1, shuffle=True, seed=4), SCHEMA).count_keys(COLUMNS[words])
    path = tmp_path / "rows.csv"
    FRAME.write_csv(path)
    monkeypatch.setattr(cache, "CACHE_BYTES", 0)
    monkeypatch.setattr(source, "MAX_CHUNK_ROWS", 100)
    monkeypatch.setattr(source, "_LEAST_CHUNK_ROWS", 100)
    again = code_table(path, SCHEMA)

    streamed = again.count_keys(COLUMNS[words])

    assert type(again).__name__ == "_Streamed"
    for keys, counts in (shuffled, streamed):
        assert (keys == kept[0]).all()
        assert (counts == kept[1]).all()
    assert kept[1].sum() == FRAME.drop_nulls().height
