"""The scores of a selection against counting row by row and cell by cell; the same bits in every order and chunking."""

import numpy as np
import polars as pl
import pytest

from helpers.selections import levels_of, question, random_question, rows_of, scores_by_hand, scores_of, tables_over
from lapwing.rows import cache
from lapwing.rows import source as sources
from lapwing.rows.exact_tables import ExactTables
from lapwing.rows.source import code_table
from lapwing.schema.groupings.grouping import identity, interval_grouping, lookup
from lapwing.schema.schemas import Schema
from mechanism_checks import MIXED

SCHEMA = Schema.from_dict(MIXED)
VALUES = {
    "id": ["1"],
    "kind": ["a", "b", "c", "zzz", None],
    "flag": ["true", "false", "perhaps"],
    "age": ["0", "7", "30", "31", "x", None],
    "size": ["-1", "0.2", "1", "99", "nan", None],
    "day": ["2020-01-01", "2020-02-10", "2020-03-01", "never"],
}


def frame(rng, rows):
    return pl.DataFrame(
        {
            name: pl.Series([values[i] for i in rng.integers(len(values), size=rows)], dtype=pl.String)
            for name, values in VALUES.items()
        }
    )


def scores(asked, source, tables=None):
    return scores_of(asked, tables or ExactTables(source)).tolist()


@pytest.mark.parametrize("rows", [0, 1, 30])
def test_scores_are_those_of_counting_by_hand(rows):
    rng = np.random.default_rng(rows)
    source = code_table(frame(rng, rows), SCHEMA)

    for _ in range(12):
        asked = random_question(rng, SCHEMA, candidates=40)
        assert scores(asked, source) == scores_by_hand(asked, rows_of(source))


def test_scores_do_not_depend_on_what_was_asked_before():
    rng = np.random.default_rng(5)
    source = code_table(frame(rng, 40), SCHEMA)
    known = ExactTables(source)

    for _ in range(12):
        asked = random_question(rng, SCHEMA, candidates=int(rng.integers(1, 200)), ways=(1, 2))
        assert scores(asked, source, known) == scores(asked, source)


def test_levels_that_are_not_nested_in_each_other_are_counted_by_themselves():
    rng = np.random.default_rng(6)
    source = code_table(frame(rng, 40), SCHEMA)
    age, kind = SCHEMA.field("age").domain, SCHEMA.field("kind").domain
    levels = (
        (identity(age), interval_grouping(age, [10, 20]), interval_grouping(age, [15])),
        (identity(kind), lookup(kind, [1, 0, 1]), lookup(kind, [0, 1, 1])),
    )
    for candidates in (tables_over(levels, (1, 2), same=False), (((0, 1), (1, 1)), ((0, 2), (1, 2)))):
        cells = question(("age", "kind"), levels, candidates).estimates.size
        asked = question(("age", "kind"), levels, candidates, estimates=rng.integers(-1, 9, cells))

        assert scores(asked, source) == scores_by_hand(asked, rows_of(source))


def test_a_finest_table_larger_than_those_asked_for_is_not_counted():
    rng = np.random.default_rng(7)
    inner = code_table(frame(rng, 40), SCHEMA)
    levels = tuple(levels_of(SCHEMA.field(name).domain) for name in ("age", "day"))
    asked = question(("age", "day"), levels, (((0, 0), (1, 2)), ((0, 2), (1, 0))))
    largest = []

    class Source:
        def count(self, tables):
            found = inner.count(tables)
            largest.append(max(map(len, found)))
            return found

    assert scores(asked, Source()) == scores_by_hand(asked, rows_of(inner))
    assert largest == [max(np.diff(asked.offsets))]


@pytest.mark.parametrize("seed", range(3))
def test_scores_are_bit_identical_under_shuffling_and_chunking(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    data = frame(rng, 500)
    asked = random_question(rng, SCHEMA, candidates=60)
    whole = scores(asked, code_table(data, SCHEMA))

    shuffled = scores(asked, code_table(data[rng.permutation(500).tolist()], SCHEMA))
    monkeypatch.setattr(cache, "CACHE_BYTES", 0)
    monkeypatch.setattr(sources, "MAX_CHUNK_ROWS", 7)
    streamed = scores(asked, code_table(data, SCHEMA))

    assert shuffled == whole == streamed


def test_scores_of_the_largest_estimates_do_not_wrap():
    source = code_table(frame(np.random.default_rng(8), 30), SCHEMA)
    levels = (levels_of(SCHEMA.field("flag").domain),)
    asked = question(
        ("flag",), levels, (((0, 0),), ((0, 0),)), estimates=[2**59, 2**59, -1, 0, 0, 0], penalties=[-(2**60), 2**60]
    )

    found = scores(asked, source)

    assert found == scores_by_hand(asked, rows_of(source))
    assert found[0] > 2**60
