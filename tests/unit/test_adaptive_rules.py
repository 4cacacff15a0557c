"""Rules of a schema in Adaptive: refined groups, hard zeros, candidates, and whole runs."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

import lapwing as lw
from helpers.cases import spread
from helpers.resolved import FIELDS, answer_of, column_of, dense_laws
from lapwing.engine.hard_zeros import alive_cells
from lapwing.engine.tables import DEAD, pack, table_shape, unpack
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.noise_law import NoiseLaw
from lapwing.kernel.questions.marginal_counts.question import NoisyCounts
from lapwing.kernel.room.curator import ReplayCurator
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


def columns_of(schema, seed=1):
    refining = class_groupings(schema)
    return tuple(
        resolved_column(
            one_way_table([answer_of(field, seed=seed)]), field, 5000.0, (16, 8, 4), refining.get(field.name, ())
        )
        for field in schema.columns
    )


def codes_of(columns, fit, rng):
    """Draw a code for each particle in its finest groups."""
    found = {}
    for column, groups in zip(columns, fit.groups, strict=True):
        laws = column.within
        mass = dense_laws(laws, np.unique(np.concatenate((laws.starts, laws.stops))))
        edges = np.unique(np.concatenate((laws.starts, laws.stops)))
        run = np.array([rng.choice(mass.shape[1], p=mass[group] / mass[group].sum()) for group in groups])
        found[column.name] = rng.integers(edges[run], edges[run + 1])
    return found


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


def test_particles_of_rules_and_one_way_tables_alone_keep_every_combination_rule() -> None:
    columns = columns_of(RULED)
    rng = np.random.default_rng(0)

    fit = finalize(initialize(columns, 5000.0, rng, size=4000, zeros=hard_zeros(RULED, columns)), rng, size=4000)

    codes = codes_of(columns, fit, rng)
    combinations, order = RULED.coded_rules[:-1], RULED.coded_rules[-1]
    assert not any(rule.broken(codes).any() for rule in combinations)
    # Ten values are groups of their own, so that the comparison is exact too.
    assert not order.broken(codes).any()


def test_a_cell_of_groups_is_dead_exactly_where_no_codes_keep_a_comparison() -> None:
    fields = [
        {"name": "low", "type": "integer", "constraints": {"minimum": 0, "maximum": 60, "required": True}},
        {"name": "high", "type": "integer", "constraints": {"minimum": 20, "maximum": 90}},
    ]
    schema = Schema.from_dict({"fields": fields, "rules": [{"order": ["high", "low"], "strict": True}]})
    columns = columns_of(schema)

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
    columns = columns_of(RULED)
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
    columns = columns_of(RULED)
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
    columns = columns_of(schema)
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
    columns = columns_of(RULED)
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


@pytest.mark.parametrize("delta", [None, 1e-9])
def test_a_release_keeps_the_rules_in_its_model(delta) -> None:
    budget = {"epsilon": 2.0} | ({} if delta is None else {"delta": delta})

    release = lw.synthesize(people(), RULED, seed=1, mechanism=Adaptive(rounds=5, particles=4000), **budget)

    part = release.model.log_linear
    assert part is not None
    assert ("kind", "job") in part.tables


def test_without_rules_nothing_of_them_is_reached(monkeypatch) -> None:
    def refused(*_args):
        raise AssertionError("no rule, no hard zero")

    monkeypatch.setattr(steps, "HardZeros", refused)
    monkeypatch.setattr(steps, "hard_factor", refused)
    schema = Schema.from_dict(PLAIN)

    columns = columns_of(schema)

    assert hard_zeros(schema, columns) is None
    assert all(not column.classes for column in columns)


AGES = {
    "columns": ["age"],
    "cells": [[{"maximum": 14}, 600], [{"minimum": 15, "maximum": 64}, 1900], [{"minimum": 65}, 500]],
    "source": "register of residents",
    "provenance": "public",
}
KINDS = {
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
    schema = Schema.from_dict(PLAIN | {"publicTables": [AGES | hold, KINDS | hold]})
    columns = columns_of(schema)
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

    columns = columns_of(schema)

    assert class_groupings(schema) == {}
    assert public_factors(columns, schema, 1000.0) == []


@pytest.mark.parametrize("rows", [0, 1, 30])
def test_few_rows_and_particles_with_rules_and_public_tables_make_a_model(rows) -> None:
    schema = Schema.from_dict(PLAIN | {"rules": RULES, "publicTables": [AGES | {"hold": "prior", "sd": 9.0}]})

    release = lw.synthesize(people(max(rows, 1)).head(rows), schema, epsilon=1.0, seed=1, mechanism=Adaptive.small())

    release.model.validate(schema)


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
    columns = columns_of(RULED)
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
