"""The tables that compete, and what choosing and measuring them may cost."""

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.resolved import FIELDS, column_of, named
from lapwing.engine.tables import pack, table_shape, unpack
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.noise_law import NoiseLaw
from lapwing.mechanisms.adaptive import candidates as tables

KINDS = ("integer, wide", "few categories", "boolean, required", "date", "integer, special and missing")
AMOUNTS = st.fractions(min_value=Fraction(1, 10**12), max_value=10**9, max_denominator=10**15)
PURE = st.fractions(min_value=Fraction(1, 10**9), max_value=10**9, max_denominator=10**12)


def columns_of(kinds=KINDS):
    return tuple(column_of(named(FIELDS[kind], f"x{place}"), seed=place) for place, kind in enumerate(kinds))


def pairs_of(*given, **more):
    return unpack(tables.pair_tables(*given, **more))


def triples_of(*given):
    return unpack(tables.triple_tables(*given))


@given(AMOUNTS)
def test_amounts_are_rounded_down_and_by_little(amount: Fraction) -> None:
    rounded = tables.rounded_down(amount)

    assert amount * (1 - Fraction(1, 2**18)) < rounded <= amount
    assert rounded.numerator < 2**21 or rounded.denominator == 1
    assert rounded.denominator & (rounded.denominator - 1) == 0
    assert tables.rounded_down(rounded) == rounded


def test_sums_of_many_rounded_amounts_stay_short() -> None:
    rng = np.random.default_rng(1)
    amounts = [Fraction(int(over), int(under)) for over, under in rng.integers(1, 10**9, (1000, 2))]

    total = sum(tables.rounded_down(amount) for amount in amounts)

    # The smallest amount is 2^-30, with 20 bits behind its first.
    assert total.denominator <= 2**50
    assert sum(amounts).denominator > 2**5000


@given(AMOUNTS)
def test_a_selection_never_costs_more_rho_than_it_may(amount: Fraction) -> None:
    epsilon = tables.selection_epsilon(Budget("zcdp", amount))

    assert epsilon**2 / 8 <= amount
    assert epsilon**2 / 8 > amount * (1 - Fraction(1, 2**16))
    assert epsilon == tables.rounded_down(epsilon)


@given(PURE)
def test_a_selection_never_costs_more_epsilon_than_it_may(amount: Fraction) -> None:
    epsilon = tables.selection_epsilon(Budget("pure", amount))

    assert amount * (1 - Fraction(1, 2**18)) < epsilon <= amount


@pytest.mark.parametrize("cost", [Budget.zcdp("0.00037"), Budget.zcdp(3), Budget.pure("0.013"), Budget.pure(7)])
def test_a_question_costs_at_most_what_it_may(cost: Budget) -> None:
    columns = columns_of()
    candidates = tables.candidates_of(columns, tables.pair_tables(columns))

    asked = candidates.question(
        candidates.estimates(np.zeros(candidates.places.size)), 1.0, cost, np.zeros(len(candidates.tables), bool)
    )

    assert asked.notion == cost.notion
    assert cost.amount * Fraction(999, 1000) < asked.cost.amount <= cost.amount


def test_a_question_looks_at_every_cell_but_misfits() -> None:
    columns = columns_of()
    candidates = tables.candidates_of(columns, tables.pair_tables(columns))
    counts = np.arange(candidates.places.size) + 0.4

    barred = np.arange(len(candidates.tables)) == 2
    asked = candidates.question(candidates.estimates(counts), 2.6, Budget.pure(1), barred)

    wanted, written = iter(range(counts.size)), []
    for table in unpack(candidates.tables):
        sizes = [columns[column].groupings[level].groups for column, level in table]
        for cell in np.ndindex(*sizes):
            misfits = [
                columns[c].has_misfit and at == size - 1 for (c, _), at, size in zip(table, cell, sizes, strict=True)
            ]
            written.append(-1 if any(misfits) else next(wanted))
    assert asked.estimates.tolist() == written
    assert next(wanted, None) is None
    assert asked.penalties[2] == 2**60
    sizes = [table_shape([column.axis for column in columns], table) for table in unpack(candidates.tables)]
    kept = [1.2 * (sum(sides) * math.prod(sides) * 2 / math.pi) ** 0.5 for sides in sizes]
    wanted = [round(2.6 * min(0.8 * math.prod(sides), each)) for sides, each in zip(sizes, kept, strict=True)]
    assert np.delete(asked.penalties, 2).tolist() == np.delete(wanted, 2).tolist()
    assert asked.columns == tuple(column.name for column in columns)
    assert asked.candidates is candidates.tables


def test_every_pair_competes_at_every_resolution_once_the_finest_first() -> None:
    columns = columns_of()

    found = pairs_of(columns)

    assert len(set(found)) == len(found)
    for one, two in itertools.combinations(range(len(columns)), 2):
        levels = [tuple(level for _, level in table) for table in found if tuple(c for c, _ in table) == (one, two)]
        last = [len(columns[column].groupings) - 1 for column in (one, two)]
        assert levels == [(min(at, last[0]), min(at, last[1])) for at in range(max(last) + 1)]


def categories_and_numbers(columns):
    """Return columns of which the first has more categories than groups of a common level."""
    kinds = ["integer categories", *["number, resolution"] * (columns - 1)]
    return tuple(column_of(replace(FIELDS[kind], name=f"x{at}"), sd=1.0, seed=at) for at, kind in enumerate(kinds))


def test_mixed_pairs_tell_one_column_finely_and_the_other_coarsely_the_finest_first() -> None:
    columns = categories_and_numbers(2)

    common, mixed = pairs_of(columns), pairs_of(columns, is_mixed=True)
    small = pairs_of(columns, 200, is_mixed=True)

    regular = [[columns[at].groupings[level].regular for at, level in table] for table in mixed]
    assert [[columns[at].groupings[level].regular for at, level in table] for table in common] == [
        [16, 16],
        [8, 8],
        [4, 4],
    ]
    assert sorted(regular) == sorted(map(list, itertools.product((columns[0].axis.sizes[0], 16, 8, 4), (16, 8, 4))))
    assert mixed[0] == ((0, 0), (1, 0))
    assert [sum(level for _, level in table) for table in mixed] == sorted(
        sum(level for _, level in table) for table in mixed
    )
    assert small == [
        table for table in mixed if math.prod(columns[at].groupings[level].groups for at, level in table) <= 200
    ]


def test_many_columns_are_mixed_only_at_the_level_that_others_lack() -> None:
    columns = categories_and_numbers(tables.MOST_TRIPLE_COLUMNS + 1)

    found = set(pairs_of(columns, is_mixed=True)) - set(pairs_of(columns))

    assert found == {((0, 0), (at, level)) for at in range(1, len(columns)) for level in range(3)}


def wide_fields(specials):
    """Return columns whose special values are groups of their own at every level."""
    field = FIELDS["integer, special"]
    special = tuple(range(1000, 1000 + specials))
    return tuple(column_of(replace(field, special=special, name=f"x{place}"), seed=place) for place in range(2))


@pytest.mark.parametrize(
    ("specials", "levels"),
    [(47, [0, 1, 2, 3]), (48, [1, 2, 3]), (55, [1, 2, 3]), (56, [2, 3]), (60, [3]), (62, [3]), (63, [])],
)
def test_tables_of_more_than_4096_cells_do_not_compete(specials: int, levels: list[int]) -> None:
    columns = wide_fields(specials)

    found = pairs_of(columns)

    sizes = [math.prod(columns[c].groupings[level].groups for c, level in table) for table in found]
    assert [table[0][1] for table in found] == levels
    assert all(size <= tables.MOST_CELLS for size in sizes)


def test_triples_compete_at_their_coarsest_level_that_tells_regular_values_apart_and_one_finer() -> None:
    columns = columns_of()

    found = triples_of(columns, tables.competing_triples(len(columns), ()))

    coarsest = [max(at for at, each in enumerate(column.groupings) if each.regular > 1) for column in columns]
    for chosen in itertools.combinations(range(5), 3):
        finer = tuple((column, max(0, coarsest[column] - 1)) for column in chosen)
        of_these = [table for table in found if tuple(column for column, _ in table) == chosen]
        assert of_these == list(dict.fromkeys((finer, tuple((column, coarsest[column]) for column in chosen))))
    assert any(column.has_presence for column in columns)
    assert not all(column.has_presence for column in columns)


def test_many_triples_compete_at_one_level_only(monkeypatch: pytest.MonkeyPatch) -> None:
    columns = columns_of()
    sets = tables.competing_triples(len(columns), ())
    monkeypatch.setattr(tables, "MOST_FINE_TRIPLES", len(sets) - 1)

    found = triples_of(columns, sets)

    assert [tuple(column for column, _ in table) for table in found] == sets


def test_fewer_cells_may_be_asked_for_than_compete_by_default() -> None:
    columns = columns_of()

    found = pairs_of(columns, 9)

    sizes = [math.prod(columns[column].groupings[level].groups for column, level in table) for table in found]
    assert 0 < len(found) < len(pairs_of(columns))
    assert max(sizes) <= 9
    assert {frozenset(table) for table in found} == {
        frozenset(table)
        for table in pairs_of(columns)
        if math.prod(columns[column].groupings[level].groups for column, level in table) <= 9
    }
    assert triples_of(columns, [(0, 1, 2)], 9) == []


def test_the_smallest_pair_of_columns_with_gaps_tells_only_where_they_are() -> None:
    columns = columns_of(("integer, wide", "date"))

    (table,) = pairs_of(columns, 4)

    question = tables.measurement(columns, table, Budget.pure(1))
    codes = [
        np.array([0, domain.values // 2, domain.values])
        for domain in (FIELDS["integer, wide"].domain, FIELDS["date"].domain)
    ]
    assert question.shape == (2, 2)
    assert [grouping.apply(each).tolist() for grouping, each in zip(question.groupings, codes, strict=True)] == [
        [0, 0, 1]
    ] * 2


@pytest.mark.parametrize("columns", [2, 3, 30])
def test_all_triples_compete_up_to_thirty_columns(columns: int) -> None:
    found = tables.competing_triples(columns, [(0, 1)])

    assert found == list(itertools.combinations(range(columns), 3))


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)).filter(lambda pair: pair[0] < pair[1]), max_size=15))
def test_beyond_thirty_columns_triples_grow_from_two_pairs(pairs: list[tuple[int, int]]) -> None:
    grown = tables.competing_triples(31, pairs)

    wanted = {
        triple
        for triple in itertools.combinations(range(10), 3)
        if len(set(pairs) & set(itertools.combinations(triple, 2))) >= 2
    }
    assert set(grown) == wanted
    assert len(grown) == len(wanted)


def test_later_pairs_do_not_reorder_the_triples_of_earlier_ones() -> None:
    rng = np.random.default_rng(1)
    pairs = [tuple(sorted(rng.choice(60, 2, replace=False).tolist())) for _ in range(400)]

    found = [tables.competing_triples(60, pairs[:count]) for count in (50, 100, 400)]

    assert found[1][: len(found[0])] == found[0]
    assert found[2][: len(found[1])] == found[1]
    assert len(found[2]) == tables.MOST_GROWN


def test_tables_that_touch_a_column_or_lie_within_a_table_have_the_largest_of_their_weights() -> None:
    columns = columns_of()
    listed = [*pairs_of(columns), *triples_of(columns, [(0, 1, 2), (1, 2, 3)])]

    column = tables.Priority(frozenset({4}), is_table=False, weight=2)
    table = tables.Priority(frozenset({0, 1, 2}), is_table=True, weight=7)
    heavier = tables.Priority(frozenset({0, 1}), is_table=True, weight=9)

    found = tables.table_weights(pack(listed), [column, heavier, table])

    sets = {frozenset(column for column, _ in listed[number]) for number in np.flatnonzero(found > 1)}
    assert sets == {frozenset(each) for each in [(0, 1), (0, 2), (1, 2), (0, 1, 2), (0, 4), (1, 4), (2, 4), (3, 4)]}
    assert all(found[number] > 1 for number, table in enumerate(listed) if frozenset(c for c, _ in table) in sets)
    weights = {frozenset(c for c, _ in each): weight for each, weight in zip(listed, found.tolist(), strict=True)}
    assert [weights[frozenset(each)] for each in ((0, 4), (0, 1), (1, 2), (2, 3))] == [2, 9, 7, 1]
    assert (tables.table_weights(pack(listed), []) == 1).all()


@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(2), Fraction(50)])
def test_the_mean_of_absolute_laplace_noise_is_exact(scale: Fraction) -> None:
    z = np.arange(-5000, 5001)
    law = np.exp(-np.abs(z) / float(scale))

    found = NoiseLaw("laplace", scale).mean_absolute

    assert found == pytest.approx(float((np.abs(z) * law).sum() / law.sum()), rel=1e-9)


@pytest.mark.parametrize("variance", [Fraction(4), Fraction(900)])
def test_the_mean_of_absolute_gaussian_noise_is_close(variance: Fraction) -> None:
    z = np.arange(-1000, 1001)
    law = np.exp(-(z**2) / (2 * float(variance)))

    found = NoiseLaw("gaussian", variance).mean_absolute

    assert found == pytest.approx(float((np.abs(z) * law).sum() / law.sum()), rel=0.03)


@pytest.mark.parametrize("epsilon", [700, 701, 720, 745, 1500, 10**9])
def test_noise_that_is_never_seen_has_a_mean_of_nothing(epsilon: int) -> None:
    assert NoiseLaw("laplace", Fraction(1, epsilon)).mean_absolute == pytest.approx(0.0, abs=1e-300)


def noise_by_hand(columns, table):
    """Return `expected_noise` of one table, factor by factor."""
    sides = [columns[at].axis.sizes[level] for at, level in table]
    cells = math.prod(sides)
    return min(0.8 * cells, 1.2 * math.sqrt((max(sides) + cells / max(sides)) * cells * 2 / math.pi))


def pairs_by_hand(columns, most_cells):
    """Return all pairs of columns at all levels that are small enough, the finest of each first."""
    found = []
    for one, two in itertools.combinations(range(len(columns)), 2):
        depths = itertools.product(*(range(len(columns[at].groupings)) for at in (one, two)))
        for fine, coarse in sorted(depths, key=lambda each: (sum(each), each)):
            groups = [columns[one].groupings[fine].groups, columns[two].groupings[coarse].groups]
            found += [((one, fine), (two, coarse))] if math.prod(groups) <= most_cells else []
    return found


@pytest.mark.parametrize("most_cells", [4096, 90])
def test_mixed_pairs_and_their_noise_are_those_of_going_through_them_one_by_one(most_cells: int) -> None:
    columns = columns_of()

    found = pairs_of(columns, most_cells, is_mixed=True)
    mixed = [*found, ((0, 0), (1, 0), (2, 0)), ((3, 1),)]

    assert found == pairs_by_hand(columns, most_cells)
    assert tables.expected_noise(columns, pack(mixed), None) == pytest.approx(
        [noise_by_hand(columns, table) for table in mixed], rel=1e-12
    )
