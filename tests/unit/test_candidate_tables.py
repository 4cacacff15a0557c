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
from lapwing.engine.tables import packed, table_shape, unpacked
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.noise_law import NoiseLaw
from lapwing.mechanisms.adaptive import candidates as tables

KINDS = ("integer, wide", "few categories", "boolean, required", "date", "integer, special and missing")
AMOUNTS = st.fractions(min_value=Fraction(1, 10**12), max_value=10**9, max_denominator=10**15)
PURE = st.fractions(min_value=Fraction(1, 10**9), max_value=10**9, max_denominator=10**12)


def columns_of(kinds=KINDS):
    return tuple(column_of(named(FIELDS[kind], f"x{place}"), seed=place) for place, kind in enumerate(kinds))


def pairs_of(*given, **more):
    return unpacked(tables.pair_tables(*given, **more))


def triples_of(*given):
    return unpacked(tables.triple_tables(*given))


@given(AMOUNTS)
def test_amounts_are_rounded_down_and_by_little(amount: Fraction) -> None:
    rounded = tables.rounded_down(amount)

    assert amount * (1 - Fraction(1, 2**18)) < rounded <= amount
    assert rounded.numerator < 2**21 or rounded.denominator == 1
    assert rounded.denominator & (rounded.denominator - 1) == 0
    assert tables.rounded_down(rounded) == rounded


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
    for table in unpacked(candidates.tables):
        sizes = [columns[column].groupings[level].groups for column, level in table]
        for cell in np.ndindex(*sizes):
            misfits = [
                columns[c].has_misfit and at == size - 1 for (c, _), at, size in zip(table, cell, sizes, strict=True)
            ]
            written.append(-1 if any(misfits) else next(wanted))
    assert asked.estimates.tolist() == written
    assert next(wanted, None) is None
    assert asked.penalties[2] == 2**60
    sizes = [table_shape([column.axis for column in columns], table) for table in unpacked(candidates.tables)]
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


def test_preferred_tables_touch_a_column_or_lie_within_a_table() -> None:
    columns = columns_of()
    listed = [*pairs_of(columns), *triples_of(columns, [(0, 1, 2), (1, 2, 3)])]

    found = tables.preferred_tables(packed(listed), frozenset({4}), [frozenset({0, 1, 2})])

    sets = {frozenset(column for column, _ in listed[number]) for number in np.flatnonzero(found)}
    assert sets == {frozenset(each) for each in [(0, 1), (0, 2), (1, 2), (0, 1, 2), (0, 4), (1, 4), (2, 4), (3, 4)]}
    assert all(found[number] for number, table in enumerate(listed) if frozenset(c for c, _ in table) in sets)
    assert not tables.preferred_tables(packed(listed), frozenset(), []).any()


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
    assert tables.expected_noise(columns, packed(mixed), None) == pytest.approx(
        [noise_by_hand(columns, table) for table in mixed], rel=1e-12
    )
