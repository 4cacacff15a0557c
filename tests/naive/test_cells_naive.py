"""Counting in trees of cells against walking every row down the tree, on random trees over odd columns.

The audit's recount (`lapwing.extras.audit.checks.cells`) is the plain version: rows one by one, children looked up
among the cuts, empty cells numbered by counting up; fed with the recorded words, it must give the room's answers bit
for bit.
"""

from collections import Counter
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

from helpers.bits import SeededBits
from helpers.cells import coded, counts_asked, random_tree, splits_asked, tree_over, whole_numbers, wrong_with
from lapwing.extras.audit.checks.cells import _walk
from lapwing.kernel.questions.shared.cell_rows import CellRows, complement, path_bits
from lapwing.kernel.terms import Terms
from lapwing.rows import source as sources
from lapwing.rows.source import code_table
from lapwing.schema.schemas import Schema
from mechanism_checks import MIXED

VALUES = {
    "id": ["1"],
    "kind": ["a", "b", "c", "zzz", None],
    "flag": ["true", "false", "perhaps"],
    "age": ["0", "7", "30", "31", "x", None],
    "size": ["-1", "0.2", "1", "99", "nan", None],
    "day": ["2020-01-01", "2020-02-10", "2020-03-01", "never"],
}
SCHEMA = Schema.from_dict(MIXED)
TERMS = [Terms(relation=relation, max_rows=rows) for relation in ("add-remove", "replace-one") for rows in (1, 3)]


def frame(rng, rows):
    return pl.DataFrame(
        {
            name: pl.Series([values[i] for i in rng.integers(len(values), size=rows)], dtype=pl.String)
            for name, values in VALUES.items()
        }
    )


@pytest.mark.parametrize("rule", ["paper", "privtree"])
@pytest.mark.parametrize("rows", [0, 1, 30])
def test_answers_are_those_of_walking_each_row_down_the_tree(rule, rows):
    rng = np.random.default_rng(rows)
    source = code_table(frame(rng, rows), SCHEMA)
    seen = Counter()

    for trial in range(25):
        tree = random_tree(rng, SCHEMA, deepest=3)
        terms, bits = TERMS[trial % 4], SeededBits(trial)
        if tree.first < tree.depth:
            question = splits_asked(
                tree, rule=rule, threshold=int(rng.integers(-1, 20)), epsilon=Fraction(int(rng.integers(1, 30)), 3)
            )
            splits, flags = wrong_with(question, source, bits, terms)
            assert flags == []
            tree = splits.tree
            seen["split"] += tree.is_split
        for threshold in (None, -1, 2) if tree.cells < 5000 else (9,):
            epsilon = Fraction(int(rng.integers(1, 20)), 3)
            counts, flags = wrong_with(counts_asked(tree, threshold=threshold, epsilon=epsilon), source, bits, terms)
            assert flags == []
            seen["listed"] += counts.places
            seen["first"] += counts.firsts

    assert min(seen["split"], seen["listed"], seen["first"]) > 2


@pytest.mark.parametrize(("columns", "first"), [(9, 62), (9, 63), (9, 64), (9, 65), (17, 127), (17, 128), (17, 130)])
def test_paths_longer_than_a_word_are_walked_the_same_way(columns, first):
    schema = whole_numbers(**{f"x{i}": 2**8 for i in range(columns)})
    rng = np.random.default_rng(first)
    rows = [tuple(rng.integers(0, 2, columns) * 255) for _ in range(40)] + [(0,) * columns] * 50
    rows = [tuple(int(value) for value in row) for row in rows] + [(0,) * (columns - 1) + (None,)]
    source, tree = coded(schema, rows), tree_over(schema, first)
    likely = round(first * 0.7)  # about one of the 2**first empty cells is split

    question = splits_asked(tree, threshold=likely * tree.depth, epsilon=Fraction(1))
    rare, flags = wrong_with(question, source, SeededBits(1))
    often, more = wrong_with(splits_asked(tree, threshold=20, epsilon=Fraction(1000)), source, SeededBits(2))
    counts, last = wrong_with(counts_asked(often.tree, threshold=likely), source, SeededBits(3))

    assert flags + more + last == []
    assert often.tree.is_split
    assert len(counts.counts) > 0
    assert rare.tree.cells == 2**first


def rows_in(tree, source):
    """Return the codes of the rows that are in a tree."""
    columns = [np.concatenate([chunk[name] for chunk in source.chunks()]).tolist() for name in tree.columns]
    covered = [nested.covered for nested in tree.hierarchies]
    return [row for row in zip(*columns, strict=True) if all(map(int.__lt__, row, covered))]


def test_first_cells_and_their_ranges_are_those_of_single_rows():
    rng = np.random.default_rng(6)
    source = code_table(frame(rng, 60), SCHEMA)

    for _ in range(25):
        tree = random_tree(rng, SCHEMA)
        rows = CellRows.of(tree, source)
        cells, starts, stops = rows.first_cells()

        expected = Counter(_walk(tree).runs_of(row, tree.first) for row in rows_in(tree, source))
        assert list(map(tuple, cells.tolist())) == sorted(expected)
        assert rows.counts(starts, stops).tolist() == [expected[cell] for cell in sorted(expected)]


def way_down(tree, place, code):
    """Return, for each level, whether a code goes on in the second run below its own."""
    nested, way = tree.hierarchies[place], []
    for level in range(tree.depth):
        depth = tree.depths(level)[place]
        above = nested.starts(depth)
        start = above[above <= code][-1]
        below = nested.starts(depth + 1) if tree.schedule[level] == place else above
        way.append(int(below[below <= code][-1] > start))
    return way


def test_each_code_has_the_bits_of_its_way_down():
    rng = np.random.default_rng(7)

    for place in [0, 1, 2, 3, 4] * 4:
        tree = random_tree(rng, SCHEMA)
        nested, bits = tree.hierarchies[place], path_bits(tree, place)
        codes = np.unique(np.append(rng.integers(0, nested.covered, 40), np.arange(nested.values, nested.covered)))
        groups = nested.grouping.apply(codes)

        for code, group in zip(codes.tolist(), groups.tolist(), strict=True):
            found = [int(bits[group, level // 64]) >> (63 - level % 64) & 1 for level in range(tree.depth)]
            assert found == way_down(tree, place, code)


def test_pre_noise_paths_do_not_depend_on_order_or_chunks(monkeypatch):
    rng = np.random.default_rng(8)
    table = frame(rng, 500)
    tree = random_tree(rng, SCHEMA)
    one = CellRows.of(tree, code_table(table, SCHEMA))
    other = CellRows.of(tree, code_table(table.sample(fraction=1, shuffle=True, seed=2), SCHEMA))
    monkeypatch.setattr(sources, "MAX_CHUNK_ROWS", 50)
    monkeypatch.setattr(sources, "_LEAST_CHUNK_ROWS", 50)
    chunked = CellRows.of(tree, code_table(table, SCHEMA))

    for rows in (other, chunked):
        assert (rows.paths == one.paths).all()
        assert (rows.totals == one.totals).all()


@pytest.mark.parametrize("kind", [np.int64, np.object_])
def test_the_complement_is_counted_up_one_by_one(kind):
    rng = np.random.default_rng(1)

    for size in (0, 1, 5, 30):
        for _ in range(20):
            excluded = np.sort(rng.choice(60, size, replace=False)).astype(kind)
            left = [number for number in range(60) if number not in set(excluded.tolist())]
            ranks = np.sort(rng.choice(len(left), min(len(left), 12), replace=False)).astype(kind)

            assert complement(excluded, ranks).tolist() == [left[rank] for rank in ranks]


def test_the_complement_reaches_beyond_64_bits():
    excluded = np.array([0, 2**70, 2**70 + 1], dtype=object)

    assert complement(excluded, np.array([0, 2**70 - 2, 2**70 - 1, 2**90], dtype=object)).tolist() == [
        1,
        2**70 - 1,
        2**70 + 2,
        2**90 + 3,
    ]
