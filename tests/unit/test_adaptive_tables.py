"""Tables that Adaptive chooses: candidates, rules within a fit, and hard zeros."""

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lapwing as lw
from helpers.cases import spread
from helpers.log_linear_twins import (
    cells_listed,
    exact_density,
    marginal_by_hand,
    random_factors,
    small_axes,
    state_counts,
    states_of,
)
from helpers.resolved import FIELDS, answer_of, column_of, dense_laws, named
from lapwing.engine import hard_zeros as zeros_hard_zeros
from lapwing.engine.hard_zeros import HardZeros, alive_cells, hard_factor
from lapwing.engine.particles import independent, sweep_particles
from lapwing.engine.tables import DEAD, Axis, pack, table_shape, unpack
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.noise_law import NoiseLaw
from lapwing.kernel.questions.marginal_counts.question import NoisyCounts
from lapwing.kernel.room.curator import ReplayCurator
from lapwing.mechanisms.adaptive import candidates as tables
from lapwing.mechanisms.adaptive import fit as steps
from lapwing.mechanisms.adaptive.candidates import candidates_of, measurement, pair_tables, resolved_column
from lapwing.mechanisms.adaptive.fit import (
    MOST_RULE_CLASSES,
    class_groupings,
    finalize,
    fit_as_model,
    hard_zeros,
    initialize,
    measured_table,
    modelled_rules,
    public_factors,
    refit,
)
from lapwing.mechanisms.adaptive.mechanism import Adaptive
from lapwing.mechanisms.adaptive.one_way import one_way_table
from lapwing.release.runs.generators import generator
from lapwing.schema.groupings.grouping import interval_grouping, lookup
from lapwing.schema.schemas import Schema
from mechanism_checks import run, settings_for

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


@pytest.mark.parametrize(
    ("kind", "parameter", "off"),
    [*(("laplace", scale, 1e-9) for scale in ("1/3", 2, 50)), ("gaussian", 4, 0.03), ("gaussian", 900, 0.03)],
)
def test_the_mean_of_absolute_noise_is_exact_for_laplace_and_close_for_gauss(kind, parameter, off) -> None:
    z, noise = np.arange(-5000, 5001), NoiseLaw(kind, Fraction(parameter))
    law = np.exp(-np.abs(z) / float(noise.parameter) if kind == "laplace" else -(z**2) / (2 * float(noise.parameter)))

    assert noise.mean_absolute == pytest.approx(float((np.abs(z) * law).sum() / law.sum()), rel=off)


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


RULES = [
    {"when": {"age": {"maximum": 14}}, "then": {"job": "none", "income": None}},
    {"when": {"age": {"minimum": 15}}, "then": {"income": {"minimum": 0}}},
    {"determines": ["job"], "column": "kind", "values": [["none", "x"], ["a", "y"], ["b", "y"], ["c", "z"]]},
    {"order": ["born", "moved"]},
]
PLAIN = {
    "fields": [
        {"name": "kind", "type": "string", "categories": ["z", "y", "x"], "constraints": {"required": True}},
        {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 99, "required": True}},
        {"name": "job", "type": "string", "categories": ["none", "a", "b", "c"], "constraints": {"required": True}},
        {"name": "income", "type": "integer", "constraints": {"minimum": 0, "maximum": 100_000}},
        {"name": "born", "type": "integer", "constraints": {"minimum": 0, "maximum": 9, "required": True}},
        {"name": "moved", "type": "integer", "constraints": {"minimum": 0, "maximum": 9}},
    ]
}
RULED = Schema.from_dict(PLAIN | {"rules": RULES})


def people(rows=3000, seed=1):
    """Return rows that keep the rules."""
    rng = np.random.default_rng(seed)
    age, born = rng.integers(0, 100, rows), rng.integers(0, 10, rows)
    job = np.where(age < 15, "none", rng.choice(["none", "a", "b", "c"], rows))
    kind = np.array([{"none": "x", "a": "y", "b": "y", "c": "z"}[each] for each in job])
    income = [None if years < 15 else int(money) for years, money in zip(age, rng.gamma(2, 9000, rows), strict=True)]
    moved = [None if rng.random() < 0.2 else int(rng.integers(year, 10)) for year in born]
    return pl.DataFrame({"kind": kind, "age": age, "job": job, "income": income, "born": born, "moved": moved})


def ruled_columns_of(schema, seed=1):
    refining = class_groupings(schema)
    return tuple(
        resolved_column(
            one_way_table([answer_of(field, seed=seed)]), field, 5000.0, (16, 8, 4), refining.get(field.name, ())
        )
        for field in schema.columns
    )


@spread(("kind", FIELDS), ("parts", [(0.3,), (0.1, 0.5, 0.9)]))
def test_groups_lie_inside_the_classes_that_refine_them_at_their_level(kind, parts) -> None:
    field = FIELDS[kind]
    domain = field.domain
    cuts = sorted({int(domain.values * part) for part in parts} - {0})
    if not cuts:
        pytest.skip("one value has no parts")
    classes = interval_grouping(domain, cuts)

    column = resolved_column(one_way_table([answer_of(field)]), field, 5000.0, (16, 8, 4), (classes,))

    probes = np.unique(np.concatenate([grouping.pieces()[0] for grouping in (*column.groupings, classes)]))
    probes = probes[probes < domain.size - (not domain.missing)]
    groups, level = column.groupings[0].apply(probes), column.level_of(classes)
    np.testing.assert_array_equal(column.axis.levels[level][groups], classes.apply(probes))
    for coarse, grouping in enumerate(column.groupings):
        np.testing.assert_array_equal(column.axis.levels[coarse][groups], grouping.apply(probes))
    assert column.within.count == column.axis.base.size
    assert column.grouping(level) == classes


def test_classes_that_are_no_runs_need_no_group_for_every_run() -> None:
    field = FIELDS["integer, special and missing"]
    odd = lookup(field.domain, np.arange(100) % 2)

    column = resolved_column(one_way_table([answer_of(field)]), field, 5000.0, (16, 8, 4), (odd,))

    assert column.groupings[0].regular <= 32
    assert set(odd.apply(np.arange(100))[column.groupings[0].apply(np.arange(100)) == 0].tolist()) in ({0}, {1})


def test_a_coarse_level_stays_as_it_is_where_classes_are_many() -> None:
    field = FIELDS["integer, wide"]
    many = interval_grouping(field.domain, np.arange(1, 40) * 10**6)

    plain = column_of(field)
    column = resolved_column(one_way_table([answer_of(field)]), field, 5000.0, (16, 8, 4), (many,))

    assert column.groupings[0].regular >= 40
    assert column.groupings[-2].regular == plain.groupings[-2].regular == 4


def test_cutting_cells_further_keeps_the_mass_of_the_column() -> None:
    field = FIELDS["number, continuous"]
    plain = column_of(field)
    classes = interval_grouping(field.domain, [field.domain.values // 3])

    column = resolved_column(one_way_table([answer_of(field)]), field, 5000.0, (16, 8, 4), (classes,))

    edges = np.unique(np.concatenate([plain.base.starts, plain.base.stops, column.base.starts, column.base.stops]))
    # A group that is cut may be lifted to the floor of 0.03 records of 5000.
    np.testing.assert_allclose(dense_laws(column.base, edges), dense_laws(plain.base, edges), atol=1e-3)


def test_a_cell_of_groups_is_dead_exactly_where_no_codes_keep_a_comparison() -> None:
    fields = [
        {"name": "low", "type": "integer", "constraints": {"minimum": 0, "maximum": 60, "required": True}},
        {"name": "high", "type": "integer", "constraints": {"minimum": 20, "maximum": 90}},
    ]
    schema = Schema.from_dict({"fields": fields, "rules": [{"order": ["high", "low"], "strict": True}]})
    columns = ruled_columns_of(schema)

    zeros = hard_zeros(schema, columns)

    assert zeros is not None
    alive = alive_cells(zeros, ((0, 0), (1, 0)))
    low, high = np.meshgrid(np.arange(61), np.arange(72), indexing="ij")
    keeps = (high == 71) | (high + 20 < low)
    cells = columns[0].groupings[0].apply(low.reshape(-1)) * columns[1].axis.base.size
    cells += columns[1].groupings[0].apply(high.reshape(-1))
    wanted = np.bincount(cells, keeps.reshape(-1), minlength=alive.size) > 0
    np.testing.assert_array_equal(alive, wanted)


def test_a_map_of_too_many_values_is_left_to_the_rows() -> None:
    codes = [f"c{place}" for place in range(MOST_RULE_CLASSES + 1)]
    fields = [
        {"name": name, "type": "string", "categories": codes, "constraints": {"required": True}} for name in ("a", "b")
    ]
    map_ = {"determines": ["a"], "column": "b", "values": [[code, code] for code in codes]}
    small = {"never": {"a": "c0", "b": "c1"}}

    schema = Schema.from_dict({"fields": fields, "rules": [map_, small]})

    assert [rule.rule.text for rule in modelled_rules(schema)] == [schema.coded_rules[1].rule.text]


def test_dead_cells_are_not_looked_at_and_cost_no_penalty() -> None:
    columns = ruled_columns_of(RULED)
    zeros = hard_zeros(RULED, columns)
    tables = pair_tables(columns)[:40]
    plain, ruled = candidates_of(columns, tables), candidates_of(columns, tables, zeros)
    counts = np.ones(plain.places.size)

    barred = np.zeros(len(tables), dtype=bool)
    one, two = (
        each.question(each.estimates(counts), 100.0, Budget.pure(Fraction(1, 2)), barred) for each in (plain, ruled)
    )

    every = [alive_cells(zeros, table) for table in unpack(tables)]
    dead = [0 if alive is None else int((~alive).sum()) for alive in every]
    assert sum(dead)
    assert int((two.estimates == -1).sum()) == int((one.estimates == -1).sum()) + sum(dead)
    np.testing.assert_array_equal(one.penalties > two.penalties, np.array(dead) > 0)
    assert (one.penalties >= two.penalties).all()


def test_particles_keep_the_rules_and_the_one_way_tables_to_the_end() -> None:
    columns = ruled_columns_of(RULED)
    rng = np.random.default_rng(0)
    zeros = hard_zeros(RULED, columns)

    fit = finalize(initialize(columns, 5000.0, rng, size=4000, zeros=zeros), rng, size=6000)

    assert zeros is not None
    assert not zeros.broken(fit.groups).any()
    for place, column in enumerate(columns):
        shares = fit.counts(pack([((place, 0),)])) / 5000.0
        # Noise of 6000 particles, and what the three noisy tables of one component contradict each other by.
        assert np.abs(shares - column.axis.base / column.axis.base.sum()).sum() / 2 < 0.25


def test_particles_pass_from_one_way_of_keeping_the_rules_to_another() -> None:
    values = ["p", "q", "r"]
    required = {"required": True}
    fields = [{"name": name, "type": "string", "categories": values, "constraints": required} for name in "abc"]
    rules = [{"determines": [one], "column": two, "values": [[v, v] for v in values]} for one, two in ("ab", "bc")]
    schema = Schema.from_dict({"fields": fields, "rules": rules})
    columns = ruled_columns_of(schema)
    rng = np.random.default_rng(0)
    zeros = hard_zeros(schema, columns)
    fit = initialize(columns, 5000.0, rng, size=4000, zeros=zeros)
    alike = fit.groups[:, np.zeros(4000, dtype=np.intp)]

    # No single draw leads on: a, b and c would have to change at once.
    fit = finalize(refit(replace(fit, groups=alike), rng, pulls=(1.0,) * 3), rng, size=4000)

    assert zeros is not None
    assert not zeros.broken(fit.groups).any()
    for column, groups in zip(columns, fit.groups, strict=True):
        wanted = column.axis.base / column.axis.base.sum()
        np.testing.assert_allclose(np.bincount(groups, minlength=3) / groups.size, wanted, atol=0.01)


def test_columns_that_follow_from_each_other_have_the_shares_that_were_counted() -> None:
    # No single draw leads from a row of a child to one of an adult: three columns would have to change at once.
    rows = people()
    child = (rows["age"] < 15).mean()

    for seed in range(3):
        made = pl.concat(list(lw.synthesize(rows, RULED, epsilon=20, mechanism=Adaptive(), seed=seed).frames()))

        # Noise of a count of a column is some ten of 3000 rows; without starts in these shares .06 to .10 were left.
        assert abs((made["age"] < 15).mean() - child) < 0.02
        assert abs((made["kind"] == "x").mean() - (rows["kind"] == "x").mean()) < 0.03


def test_the_released_part_holds_the_hard_zeros_and_is_finite() -> None:
    columns = ruled_columns_of(RULED)
    rng = np.random.default_rng(0)
    zeros = hard_zeros(RULED, columns)
    fit = finalize(initialize(columns, 5000.0, rng, size=500, zeros=zeros), rng, size=500)

    model = fit_as_model(fit, 5000)

    model.validate(RULED)
    part = model.log_linear
    assert part is not None
    assert zeros is not None
    assert len(part.tables) == len(columns) + len(zeros.factors)
    assert {float(theta.min()) for theta in part.thetas[len(columns) :]} == {DEAD}


def test_what_two_sets_of_bound_columns_have_to_do_with_each_other_is_learned() -> None:
    rows = people(4000)
    rng = np.random.default_rng(2)
    is_inside = rng.random(4000) < np.where(rows["age"] < 15, 0.8, 0.1)
    ward = np.where(is_inside, "inside", rng.choice(["a", "b"], 4000))
    hours, score = (
        [int(each) if inside else None for each, inside in zip(values, is_inside, strict=True)]
        for values in (rng.gamma(2, 100, 4000), rng.integers(0, 60, 4000))
    )
    inside = {"hours": {"minimum": 0}, "score": {"minimum": 0}}
    schema = Schema.from_dict({
        "fields": [
            *PLAIN["fields"],
            {"name": "ward", "type": "string", "categories": ["inside", "a", "b"], "constraints": {"required": True}},
            {"name": "hours", "type": "integer", "constraints": {"minimum": 0, "maximum": 2000}},
            {"name": "score", "type": "integer", "constraints": {"minimum": 0, "maximum": 59}},
        ],
        "rules": [
            *RULES,
            {"when": {"ward": "inside"}, "then": inside},
            {"when": {"ward": ["a", "b"]}, "then": dict.fromkeys(inside)},
        ],
    })  # fmt: skip

    rows = rows.with_columns(ward=pl.Series(ward), hours=pl.Series(hours), score=pl.Series(score))

    release = lw.synthesize(rows, schema, epsilon=20, seed=1)

    made = pl.concat(list(release.frames()))
    children = made.filter(pl.col("age") < 15)
    # Without exchanges of bound columns between particles both stay near .2, as if they were independent.
    assert abs((children["ward"] == "inside").mean() - 0.8) < 0.1
    assert abs((made.filter(pl.col("age") >= 15)["ward"] == "inside").mean() - 0.1) < 0.05


def test_without_rules_nothing_of_them_is_reached(monkeypatch) -> None:
    def refused(*_args):
        raise AssertionError("no rule, no hard zero")

    monkeypatch.setattr(steps, "HardZeros", refused)
    monkeypatch.setattr(steps, "hard_factor", refused)
    schema = Schema.from_dict(PLAIN)

    columns = ruled_columns_of(schema)

    assert hard_zeros(schema, columns) is None
    assert all(not column.classes for column in columns)


AGES = {
    "columns": ["age"],
    "cells": [[{"maximum": 14}, 600], [{"minimum": 15, "maximum": 64}, 1900], [{"minimum": 65}, 500]],
    "source": "register of residents",
    "provenance": "public",
}
RULED_KINDS = {
    "columns": ["kind", "age"],
    "cells": [
        [["z", "y"], {"maximum": 14}, 0],
        ["x", {"maximum": 14}, 600],
        [["z", "y", "x"], {"minimum": 15}, 2400],
    ],
    "source": "register of residents",
    "provenance": "public",
}


@pytest.mark.parametrize(("hold", "most"), [({}, 0.006), ({"hold": "prior", "sd": 0.5}, 0.02)])
def test_a_public_table_is_a_table_of_the_model_that_no_question_paid_for(hold, most) -> None:
    schema = Schema.from_dict(PLAIN | {"publicTables": [AGES | hold, RULED_KINDS | hold]})
    columns = ruled_columns_of(schema)
    rng = np.random.default_rng(0)

    public = public_factors(columns, schema, 3000.0)
    fit = finalize(initialize(columns, 3000.0, rng, size=4000, public=public), rng, size=8000)

    for factor in public:
        off = np.abs(fit.counts(pack([factor.table])) - factor.target).sum() / 3000
        assert off < most
    assert [factor.table[0][0] for factor in public] == [1, 0]
    assert public[0].target.tolist() == pytest.approx([600.0, 1900.0, 500.0])
    # Kinds that share a cell share its count.
    assert public[1].target.reshape(-1, 2)[:, 1].sum() == pytest.approx(2400.0)


def test_a_public_table_of_too_many_values_is_left_to_the_rows() -> None:
    years = {"columns": ["age"], "cells": [[year, 10] for year in range(100)]}
    schema = Schema.from_dict(PLAIN | {"publicTables": [AGES | years]})

    columns = ruled_columns_of(schema)

    assert class_groupings(schema) == {}
    assert public_factors(columns, schema, 1000.0) == []


@pytest.mark.parametrize("pure", [True, False])
def test_answers_alone_give_the_same_model_with_rules_and_public_tables(pure) -> None:
    schema = Schema.from_dict(PLAIN | {"rules": RULES, "publicTables": [AGES | {"hold": "prior", "sd": 9.0}]})
    settings = settings_for(Adaptive.small(), schema, "add-remove", pure=pure, times=1000)
    release, terms = run(settings, people(60))
    curator = ReplayCurator(terms, release.noisy)

    first, second = (
        settings.mechanism.run(each, schema, settings.request.budget, generator(settings.seed, "fit"))
        for each in (curator, ReplayCurator(terms, release.noisy))
    )

    assert curator.is_exhausted
    np.testing.assert_array_equal(first.weights, second.weights)
    assert len(first.log_linear.thetas) > len(schema.columns)


def test_what_noise_put_in_dead_cells_is_thrown_away_and_the_rest_kept() -> None:
    columns = ruled_columns_of(RULED)
    zeros = hard_zeros(RULED, columns)
    table = ((0, 0), (2, 0))
    question = measurement(columns, table, Budget.zcdp(Fraction(1, 2)))
    shape = tuple(grouping.groups for grouping in question.groupings)
    counts = np.arange(1, 1 + int(np.prod(shape))).reshape(shape)

    fit = initialize(columns, 5000.0, np.random.default_rng(0), size=100, zeros=zeros)

    found = measured_table(fit, table, NoisyCounts(question, counts, NoiseLaw("gaussian", Fraction(1))))

    alive = alive_cells(zeros, table)
    assert int(alive.sum()) == 4
    inner = counts[tuple(slice(size) for size in table_shape(fit.axes, table))].reshape(-1)
    np.testing.assert_array_equal(found.counts, np.where(alive, inner, 0.0))


SKIPPED = (60, 41, 7, 5)
"""Groups of an age, an income and a state, which children (ages below 9) have in their last and first group alone, and
of a column that no rule names."""
SIZES = (4, 5, 3)
STATES = int(np.prod(SIZES))


def setting(seed=0, share=0.6):
    """Return three columns, measured tables, and hard zeros on two pairs and one coarse pair; some states are left."""
    rng = np.random.default_rng(seed)
    axes = small_axes(rng, SIZES)
    factors = random_factors(rng, axes, [((0, 0), (1, 0)), ((1, 0), (2, 0)), ((0, 1), (2, 0))])
    hard = []
    for table in (((0, 0), (1, 0)), ((1, 1), (2, 0)), ((0, 0), (2, 1))):
        alive = rng.random(len(cells_listed(axes, table))) < share
        alive[0] = True
        hard.append(hard_factor(table, alive))
    return rng, axes, factors, HardZeros(tuple(axes), tuple(hard), ((0, 1, 2),))


def is_dead(axes, zeros):
    """Tell for every state, in C order, whether it breaks a rule: looked up state by state."""
    found = []
    for state in states_of(axes):
        broken = False
        for factor in zeros.factors:
            cell = tuple(int(axes[column].levels[level][state[column]]) for column, level in factor.table)
            broken |= bool(factor.theta[cells_listed(axes, factor.table).index(cell)] == DEAD)
        found.append(broken)
    return np.array(found)


def skipped(children):
    """Return columns in which children have given masses, and the rules that they follow from each other."""
    rng, axes = np.random.default_rng(1), []
    for size, own, share in zip(SKIPPED, (range(9), [40], [0], [1]), children, strict=True):
        base, is_own = rng.uniform(1, 2, size), np.isin(np.arange(size), list(own))
        base *= np.where(is_own, share / base[is_own].sum(), (1 - share) / base[~is_own].sum())
        axes.append(Axis(base, (np.arange(size),)))
    is_child = [np.arange(60) < 9, np.arange(41) == 40, np.arange(7) == 0]
    rules = [
        hard_factor(((one, 0), (two, 0)), is_child[one][:, None] == is_child[two]) for one, two in ((0, 1), (0, 2))
    ]
    return axes, HardZeros(tuple(axes), tuple(rules), ((0, 1, 2),))


def masses_of(axes):
    return [axis.base for axis in axes]


@pytest.mark.parametrize("seed", range(4))
def test_sweeps_with_hard_zeros_keep_the_exact_law_and_never_reach_a_dead_cell(seed) -> None:
    rng, axes, factors, zeros = setting(seed)
    law = exact_density(axes, [*factors, *zeros.factors])
    start = np.array(states_of(axes), dtype=np.uint16)[rng.choice(STATES, 60_000, p=law.reshape(-1))].T

    moved = sweep_particles(
        axes, sweep_particles(axes, start, (*factors, *zeros.factors), rng), (*factors, *zeros.factors), rng
    )

    counts, dead = state_counts(axes, moved), is_dead(axes, zeros)
    assert dead.any()
    assert not dead.all()
    assert not counts[dead].any()
    expected = 60_000 * law.reshape(-1)[~dead]
    # Chi-square of at most 60 states: beyond 2.5 times its freedom with chance below 1e-9.
    assert (np.square(counts[~dead] - expected) / expected).sum() < 2.5 * max(30, expected.size)


@pytest.mark.parametrize("seed", range(4))
def test_cells_are_alive_exactly_where_each_rule_leaves_some_finest_cell(seed) -> None:
    _, axes, _, zeros = setting(seed)
    single = replace(zeros, factors=zeros.factors[1:2])

    for table in [((1, 0), (2, 0)), ((1, 1), (2, 1)), ((0, 1), (1, 1), (2, 0)), ((1, 2), (2, 0))]:
        found = alive_cells(single, table)

        wanted = marginal_by_hand(axes, ~is_dead(axes, single), table) > 0
        np.testing.assert_array_equal(np.ones(wanted.size, dtype=bool) if found is None else found, wanted)


def test_columns_that_others_hold_come_before_those_that_are_free(monkeypatch) -> None:
    monkeypatch.setattr(zeros_hard_zeros, "MOST_STARTS", 2)
    axes, zeros = skipped((0.15, 0.15, 0.15, 0.5))
    # Children have one of five things, adults any: single draws give these their shares later.
    free = hard_factor(((0, 0), (3, 0)), (np.arange(60)[:, None] >= 9) | (np.arange(5) == 1))
    both = HardZeros(tuple(axes), (*zeros.factors, free), ((3, 0, 2, 1),))
    rng = np.random.default_rng(0)

    found = both.starts(independent(axes, 10_000, rng), masses_of(axes), rng)

    assert not both.broken(found).any()
    assert abs((found[0] < 9).mean() - 0.15) <= 1e-4  # .08 where what is free comes first
