"""Exact counts of coded rows: by keys, in narrow numbers, and in tables of any kind."""

import copy
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from typing import ClassVar

import numpy as np
import polars as pl
import pytest

from helpers.bits import SeededBits
from helpers.selections import (
    DATA,
    LEVELS,
    NAMES,
    PAIRS,
    SCHEMA,
    SOURCE,
    CountingSource,
    asked,
    exact_cells,
    question,
    room,
    rows_of,
    scores_by_hand,
    scores_of,
)
from lapwing.errors import ParameterError
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.questions.marginal_counts.question import MarginalCounts
from lapwing.kernel.questions.select_worst.answer import misfit_sums
from lapwing.mechanisms.adaptive.mechanism import Adaptive
from lapwing.rows import cache, counting, source
from lapwing.rows import exact_tables as counted
from lapwing.rows.counting import _MANY, KeyedColumn, count_keys, count_tables
from lapwing.rows.source import code_table
from lapwing.schema.groupings.domains import Domain
from lapwing.schema.groupings.grouping import Grouping, evenly, identity, prefix_grouping
from lapwing.schema.schemas import Schema


def test_each_set_of_columns_is_counted_once_and_not_again():
    source = CountingSource(SOURCE)
    open_room = room(source=source, budget=Budget.pure(5))

    open_room.ask(asked(), asked())
    open_room.ask(asked(penalties=np.arange(len(PAIRS))))

    assert source.passes == [[("kind", "age"), ("kind", "flag"), ("age", "flag")]]


def test_a_later_question_counts_only_what_is_new():
    source = CountingSource(SOURCE)
    open_room = room(source=source)

    open_room.ask(question(NAMES, LEVELS, PAIRS[:1]))
    open_room.ask(asked())

    assert source.passes[1] == [("kind", "age"), ("kind", "flag"), ("age", "flag")]
    assert len(source.passes[0]) == 1


def test_tables_beyond_the_limit_are_counted_anew_with_the_same_choice(monkeypatch):
    kept = room(bits=SeededBits(1)).ask(asked())[0].choice
    cells = asked().estimates.size
    monkeypatch.setattr(counted, "CACHE_CELLS", cells - 1)
    source = CountingSource(SOURCE)
    open_room = room(source=source, bits=SeededBits(1))

    choice = open_room.ask(asked())[0].choice
    open_room.ask(asked())

    assert choice == kept
    assert len(source.passes) == 2
    assert source.passes[0] == source.passes[1]


def scores_by_counting(each):
    """Return scores of a selection by plain loops."""
    return scores_by_hand(each, rows_of(SOURCE))


def test_scores_of_the_same_estimates_are_summed_once_and_are_those_of_plain_loops():
    rng = np.random.default_rng(3)
    tables, summed = counted.ExactTables(SOURCE), []
    first = asked(estimates=rng.integers(-1, 6, asked().estimates.size))

    def sums(each, cells):
        summed.append(each)
        return misfit_sums(each, cells)

    for _ in range(5):
        again = replace(first, penalties=rng.integers(-9, 9, len(PAIRS)), epsilon=Fraction(int(rng.integers(1, 9)), 9))
        (found,) = tables.sums([again], sums)
        assert (found - again.penalties).tolist() == scores_by_counting(again)
    assert len(summed) == 1


def test_no_kept_score_is_taken_for_that_of_other_estimates_or_candidates():
    rng = np.random.default_rng(4)
    tables, first = counted.ExactTables(SOURCE), asked()

    for _ in range(30):
        other = replace(first, estimates=rng.integers(-1, 6, first.estimates.size))
        assert scores_of(other, tables).tolist() == scores_by_counting(other)
        del other  # so that the next one may have its identity
    for _ in range(30):
        other = replace(first, candidates=first.candidates[rng.permutation(len(PAIRS))])
        assert other.estimates is first.estimates
        assert scores_of(other, tables).tolist() == scores_by_counting(other)
        del other
    renamed = question(("kind", "flag", "age"), (LEVELS[0], LEVELS[2], LEVELS[1]), PAIRS)
    assert scores_of(renamed, tables).tolist() == scores_by_counting(renamed)


def test_scores_of_several_choices_are_kept_side_by_side():
    rng = np.random.default_rng(5)
    source = CountingSource(SOURCE)
    tables = counted.ExactTables(source, most_cells=1)
    parts = [question(NAMES, LEVELS, PAIRS[part::3]) for part in range(3)]
    parts = [replace(each, estimates=rng.integers(-1, 6, each.estimates.size)) for each in parts]

    for asked_now in (parts, parts[1:], parts[::-1]):
        found = tables.sums(asked_now, misfit_sums)
        assert [each.tolist() for each in found] == [scores_by_counting(each) for each in asked_now]

    assert len(source.passes) == 1  # though no table is kept


def test_choices_of_many_cells_are_counted_in_several_passes_with_the_same_scores(monkeypatch):
    rng = np.random.default_rng(6)
    parts = [question(NAMES, LEVELS, PAIRS[part::6]) for part in range(6)]
    parts = [replace(each, estimates=rng.integers(-1, 6, each.estimates.size)) for each in parts]
    cells = np.cumsum([each.estimates.size for each in parts])
    monkeypatch.setattr(counted, "PASS_CELLS", int(cells[2]))
    source = CountingSource(SOURCE)
    tables = counted.ExactTables(source, most_cells=1)

    found = tables.sums(parts, misfit_sums)

    assert [each.tolist() for each in found] == [scores_by_counting(each) for each in parts]
    assert len(source.passes) == 1 + cells[-1] // cells[2]
    assert len(source.passes) > 1


def test_what_scores_are_kept_for_cannot_change():
    given = np.ones(asked().estimates.size, dtype=np.int64)
    whole = asked(estimates=given)
    digest, scores = whole.digest, scores_of(whole, counted.ExactTables(SOURCE)).tolist()

    given[:] = 5

    assert scores_of(whole, counted.ExactTables(SOURCE)).tolist() == scores
    assert replace(whole, epsilon=whole.epsilon).digest == digest != asked(estimates=given).digest
    for kept in (whole.estimates, whole.penalties, whole.candidates):
        with pytest.raises(ValueError, match="WRITEABLE"):
            kept.flags.writeable = True


class Spy(np.ndarray):
    """Numbers with an arithmetic of their own, which keeps what it meets."""

    met: ClassVar[list] = []

    def __array_ufunc__(self, ufunc, method, *inputs, **_):
        plain = [np.asarray(each) for each in inputs]
        self.met.append(plain[0].tolist())
        return getattr(ufunc, method)(*plain)


@pytest.mark.parametrize("part", ["candidates", "estimates", "penalties"])
def test_no_arithmetic_of_a_questions_maker_meets_exact_counts(part):
    """An array over bytes is taken as it is, so that it must be of no subclass."""
    given = getattr(asked(), part)
    spy = Spy.__new__(Spy, given.shape, given.dtype, given.tobytes())
    Spy.met.clear()

    with pytest.raises(ParameterError, match="must be int64"):
        scores_of(replace(asked(), **{part: spy}), counted.ExactTables(SOURCE))

    assert exact_cells(asked(), counted.ExactTables(SOURCE)).tolist() not in Spy.met


def test_levels_that_could_change_are_refused():
    """What is kept goes by their identity: with other levels the cells of two tables would be summed as one."""
    for levels in ([*LEVELS], tuple(map(list, LEVELS))):
        with pytest.raises(ParameterError, match="levels of a selection must be tuples"):
            replace(asked(), levels=levels)


def test_tables_of_the_same_columns_in_several_questions_are_counted_together():
    source = CountingSource(SOURCE)
    halves = [question(NAMES, LEVELS, half) for half in (PAIRS[::2], PAIRS[1::2])]

    found = counted.ExactTables(source).sums(halves, lambda _, cells: cells)

    assert source.passes == [[("kind", "age"), ("kind", "flag"), ("age", "flag")]]
    for half, cells in zip(halves, found, strict=True):
        assert np.array_equal(cells, exact_cells(half, counted.ExactTables(SOURCE)))


def test_when_old_and_new_tables_do_not_fit_together_the_new_ones_stay(monkeypatch):
    first, second = question(NAMES, LEVELS, PAIRS[:3]), question(NAMES, LEVELS, PAIRS[3:6])
    monkeypatch.setattr(counted, "CACHE_CELLS", max(first.estimates.size, second.estimates.size))
    source = CountingSource(SOURCE)
    open_room = room(source=source)

    for each in (first, second, second, first):
        open_room.ask(each)

    assert len(source.passes) == 3
    assert source.passes[0] == source.passes[2]


def table_of(candidate, cost=Fraction(1, 4)):
    columns, groupings = zip(*((NAMES[place], LEVELS[place][level]) for place, level in candidate), strict=True)
    return MarginalCounts(columns=columns, groupings=groupings, cost=Budget.pure(cost))


def test_a_table_that_competed_is_measured_without_another_pass():
    source = CountingSource(SOURCE)
    open_room = room(source=source, budget=Budget.pure(10))
    open_room.ask(asked())

    found = [open_room.ask(table_of(candidate))[0].counts for candidate in PAIRS]

    assert len(source.passes) == 1
    for candidate, counts in zip(PAIRS, found, strict=True):
        (fresh,) = room().ask(table_of(candidate))
        assert np.array_equal(counts, fresh.counts)
    assert found[0].sum() == DATA.height


def test_a_table_of_the_same_columns_and_other_groups_is_counted():
    source = CountingSource(SOURCE)
    open_room = room(source=source, budget=Budget.pure(10))
    open_room.ask(question(NAMES, LEVELS, (((0, 1), (1, 1)),)))

    (fine,) = open_room.ask(table_of(((0, 0), (1, 0))))

    assert len(source.passes) == 2
    assert fine.counts.shape == (LEVELS[0][0].groups, LEVELS[1][0].groups)


def test_kept_counts_cannot_be_written_into():
    tables = counted.ExactTables(SOURCE)
    exact_cells(asked(), tables)

    (kept,) = tables.count([((NAMES[0], LEVELS[0][0]), (NAMES[1], LEVELS[1][0]))])

    with pytest.raises(ValueError, match="read-only"):
        kept += 1


def test_exact_tables_show_no_counts_and_are_not_copied():
    tables = counted.ExactTables(SOURCE)
    exact_cells(asked(), tables)

    assert repr(tables) == "ExactTables(private)"
    with pytest.raises(ParameterError, match="neither pickled nor copied"):
        copy.copy(tables)


def test_adaptive_passes_over_the_rows_a_few_times_whatever_the_rounds():
    passes = []
    for rounds in (2, 12):
        source = CountingSource(SOURCE)
        curator = room(source=source, bits=SeededBits(5), budget=Budget.zcdp(1000))
        answers = Adaptive(particles=64, rounds=rounds, resolutions=(3, 2))
        answers.run(curator, SCHEMA, Budget.zcdp(1000), np.random.default_rng(5))
        passes.append(len(source.passes))

    # Tables of three columns compete from the third round on.
    assert passes[0] + 1 == passes[1] <= 6


def test_one_way_tables_of_few_codes_are_counted_once_at_every_resolution():
    source = CountingSource(SOURCE)
    tables = counted.ExactTables(source)
    wanted = [((name, each),) for name, levels in zip(NAMES, LEVELS, strict=True) for each in levels]
    domains = {name: SCHEMA.field(name).domain for name in NAMES}
    wanted += [(("age", prefix_grouping(domains["age"], 2)),), (("flag", identity(domains["flag"])),)]
    wanted += [(("flag", Grouping(domains["flag"].values, domains["flag"].reserved + 1, "shift")),)]  # misfits apart

    found = [tables.count(part) for part in (wanted[:3], wanted[2:], wanted)]

    assert sorted(name for each in source.passes for (name,) in each) == sorted([*NAMES, "flag"])
    direct = SOURCE.count(wanted)
    for part, expected in zip(found, (direct[:3], direct[2:], direct), strict=True):
        assert [each.tolist() for each in part] == [each.tolist() for each in expected]


def test_one_way_tables_beyond_the_limit_are_counted_as_they_are_asked():
    source = CountingSource(SOURCE)
    tables = counted.ExactTables(source, most_cells=4)
    wanted = [((name, levels[0]),) for name, levels in zip(NAMES, LEVELS, strict=True)]

    found = [tables.count(wanted) for _ in range(2)]

    assert [len(each) for each in source.passes] == [3, 2]
    for part in found:
        assert [each.tolist() for each in part] == [each.tolist() for each in SOURCE.count(wanted)]


def test_counts_by_code_take_room_from_tables():
    cells = asked().estimates.size
    passes = []
    for more in (0, 1000):
        source = CountingSource(SOURCE)
        tables = counted.ExactTables(source, most_cells=cells + more)
        tables.count([(("age", LEVELS[1][0]),)])
        scores_of(asked(), tables)
        scores_of(asked(estimates=np.ones(cells, dtype=np.int64)), tables)
        passes.append(len(source.passes))

    assert passes == [3, 2]


def column(size):
    return identity(Domain(size, 0, missing=False, ordered=True, continuous=False))


@pytest.mark.parametrize("sizes", [(127,), (128,), (129,), (255, 1), (1, 256), (181, 181), (182, 181), (256, 256)])
def test_every_cell_is_counted_once_whatever_the_width(sizes):
    # The misfit group of each column makes one more.
    groupings = [column(size) for size in sizes]
    shape = [grouping.groups for grouping in groupings]
    cells = np.indices(shape).reshape(len(sizes), -1)
    codes = {f"c{place}": each.astype(np.int32) for place, each in enumerate(cells)}

    table = tuple((f"c{place}", grouping) for place, grouping in enumerate(groupings))
    (found,) = count_tables([codes], [table])

    assert found.dtype == np.int64
    assert (found == 1).all()
    assert found.size == np.prod(shape)


@pytest.mark.parametrize("height", [1, 8191, 20_000])
def test_many_tables_at_once_are_those_of_a_loop_over_the_rows(height):
    rng = np.random.default_rng(height)
    sizes = (2, 3, 9, 100, 300, 70_000, 5, 2**20)
    domains = [Domain(size, 1, missing=True, ordered=True, continuous=False) for size in sizes]
    chunks = [
        {f"c{place}": rng.integers(0, each.last + 1, height).astype(each.dtype) for place, each in enumerate(domains)}
        for _ in range(5)
    ]
    axes = [
        (f"c{place}", each) for place, domain in enumerate(domains) for each in (evenly(domain, 4), identity(domain))
    ]
    few = [axis for axis in axes if axis[1].groups < 400]
    tables = [(), (axes[-1],), *combinations(few, 2), *combinations(few[:5], 3), *combinations(few[:5], 4)]
    assert sum(len(table) in (2, 3) for table in tables) > _MANY

    found = count_tables(chunks, tables)

    for table, counts in zip(tables, found, strict=True):
        groups = [
            np.concatenate([grouping.apply(chunk[name]) for chunk in chunks]).tolist() for name, grouping in table
        ]
        expected = Counter(zip(*groups, strict=True)) if table else {(): 5 * height}
        shape = [grouping.groups for _, grouping in table]
        assert counts.dtype == np.int64
        assert {cell: int(counts.reshape(shape)[cell]) for cell in expected} == expected
        assert counts.sum() == 5 * height


SMALL = Domain(5, 0, missing=False, ordered=True, continuous=False)  # codes 0 to 4, misfit 5


def keys_column(name, words, *, seed=0, groups=5, low=0):
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
    1: [keys_column("a", 1, low=61), keys_column("b", 1, seed=1, low=30), keys_column("c", 1, seed=2)],
    2: [keys_column("a", 2, low=61), keys_column("b", 2, seed=1, low=64), keys_column("c", 2, seed=2, low=125)],
    3: [keys_column("a", 3, low=0), keys_column("b", 3, seed=1, low=70), keys_column("c", 3, seed=2, low=189)],
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


KEYS_SCHEMA = Schema.from_dict(
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
    kept = code_table(FRAME, KEYS_SCHEMA).count_keys(COLUMNS[words])
    shuffled = code_table(FRAME.sample(fraction=1, shuffle=True, seed=4), KEYS_SCHEMA).count_keys(COLUMNS[words])
    path = tmp_path / "rows.csv"
    FRAME.write_csv(path)
    monkeypatch.setattr(cache, "CACHE_BYTES", 0)
    monkeypatch.setattr(source, "MAX_CHUNK_ROWS", 100)
    monkeypatch.setattr(source, "_LEAST_CHUNK_ROWS", 100)
    again = code_table(path, KEYS_SCHEMA)

    streamed = again.count_keys(COLUMNS[words])

    assert type(again).__name__ == "_Streamed"
    for keys, counts in (shuffled, streamed):
        assert (keys == kept[0]).all()
        assert (counts == kept[1]).all()
    assert kept[1].sum() == FRAME.drop_nulls().height
