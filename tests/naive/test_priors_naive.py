"""Adaptive's steps with a prior against slow twins written from what they promise, cell by cell and row by row."""

import itertools

import numpy as np
import polars as pl
import pytest

from helpers.kept import Kept
from helpers.prior_twins import naive_guide, naive_noisy, naive_pairs, naive_question, naive_towards, naive_trust
from lapwing.engine.tables import Factor
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.noise.bits import SystemBits
from lapwing.kernel.room.room import Room
from lapwing.kernel.terms import Terms
from lapwing.mechanisms.adaptive.candidates import resolved_column
from lapwing.mechanisms.adaptive.fit import NO_PRIOR, AnsweredTable, Fit, PriorTables, _prior_factors
from lapwing.mechanisms.adaptive.one_way import OneWayTable, first_cells
from lapwing.mechanisms.adaptive.rounds import measure_prior_distances, shrink_towards_prior
from lapwing.mechanisms.shared.one_way import one_way_grouping
from lapwing.mechanisms.shared.priors import PublicRows
from lapwing.rows.source import code_table
from lapwing.schema.schemas import Schema

FIELDS = [
    {"name": "flag", "type": "boolean", "constraints": {"required": True}},
    {"name": "kind", "type": "string", "categories": list("vwxyz")},
    {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 60, "required": True}},
    {"name": "size", "type": "integer", "constraints": {"minimum": 0, "maximum": 500}, "special": [-1]},
    {"name": "ward", "type": "string", "categories": list("abc"), "constraints": {"required": True}},
    {"name": "rate", "type": "number", "constraints": {"minimum": 0, "maximum": 1}},
]
SCHEMA = Schema.from_dict({"fields": FIELDS})
SIZES = (32, 16, 8, 4)
TOTAL = 400.0
SEEDS = range(12)
# Sums of some hundred floats in another order; raking repeats them 30 times.
ROUNDING = 1e-9


# -- Random inputs: rows in which all columns hang together, noisy one-way tables, and priors with some of the columns.


def codes_of(rng, rows, turn=0.0):
    """Draw codes of all columns, misfits and missing ones among them; turn: by which part of a range each is moved."""
    hidden, found = rng.random(rows), {}
    for field in SCHEMA.columns:
        place = (hidden + turn + 0.15 * rng.normal(size=rows)) % 1.0
        regular = (place * field.domain.values).astype(np.int64)
        reserved = rng.integers(field.domain.values, field.domain.size, rows)
        found[field.name] = np.where(rng.random(rows) < 0.05, reserved, regular)
    return found


def one_way_tables(rng, codes, sd):
    """Return noisy one-way tables; every other one has its noise taken out already."""
    found = []
    for place, field in enumerate(SCHEMA.columns):
        grouping = first_cells(field) if field.domain.ordered else one_way_grouping(field, 64)
        counts = np.bincount(grouping.apply(codes[field.name]), minlength=grouping.groups).astype(np.float64)
        counts += rng.normal(0, sd, counts.size)
        kept = counts.size - field.required
        masses = np.maximum(counts[:kept], 0.0) + 0.01 if place % 2 else None
        found.append(OneWayTable(grouping, counts, sd, masses))
    return found


def private_rows(rng, rows):
    """Return rows of the same kind as a table."""
    hidden = rng.random(rows)
    places = [(hidden + 0.15 * rng.normal(size=rows)) % 1.0 for _ in FIELDS]
    size = np.where(rng.random(rows) < 0.1, -1, (places[3] * 501).astype(int))
    return pl.DataFrame(
        {
            "flag": places[0] > 0.5,
            "kind": np.array(list("vwxyz"))[(places[1] * 5).astype(int)],
            "age": (places[2] * 61).astype(int),
            "size": size,
            "ward": np.array(list("abc"))[(places[4] * 3).astype(int)],
            "rate": places[5],
        }
    )


def coded(rows):
    chunks = list(code_table(rows, SCHEMA).chunks())
    return {name: np.concatenate([chunk[name] for chunk in chunks]) for name in chunks[0]}


def given_priors(rng, rows):
    """Return priors, near and far, that lack at most two columns."""
    found = []
    for number in range(rng.integers(1, 5)):
        codes = codes_of(rng, int(rng.integers(20, rows)), turn=rng.choice([0.0, 0.02, 0.05, 0.4]))
        for name in rng.choice([*codes], rng.integers(0, 3), replace=False):
            del codes[name]
        found.append(PublicRows(codes, f"prior {number}", "made up"))
    return found


# -- Single columns.


@pytest.mark.parametrize("seed", SEEDS)
def test_single_columns_are_drawn_towards_the_nearest_prior_as_by_hand(seed):
    rng = np.random.default_rng(seed)
    tables = one_way_tables(rng, codes_of(rng, 400), sd=float(rng.choice([0.1, 3.0, 15.0])))
    priors, names = given_priors(rng, 600), [field.name for field in SCHEMA.columns]

    steadied = shrink_towards_prior(tables, names, priors, TOTAL)

    for table, before, (counts, sd) in zip(steadied, tables, naive_towards(tables, names, priors, TOTAL), strict=True):
        assert naive_noisy(table) == pytest.approx(counts, rel=ROUNDING, abs=ROUNDING)
        assert table.sd == pytest.approx(sd, rel=ROUNDING)
        assert table.counts.size == before.counts.size


# -- Pairs of columns.


def resolved(tables, total):
    return tuple(
        resolved_column(table, field, total, SIZES) for table, field in zip(tables, SCHEMA.columns, strict=True)
    )


def check_question(columns, by_hand, question):
    """Compare a question with tables by hand: columns, groups, and the sixteenths expected in every cell."""
    places, tables = by_hand
    assert question.columns == tuple(columns[at].name for at in places)
    assert question.bits == 4
    assert len(question.tables) == len(tables)
    for which, listed, expected, (table, counts) in zip(
        question.tables, question.cells, question.expected, tables, strict=True
    ):
        assert [places[each] for each in which] == [at for at, _ in table]
        groupings = [question.groupings[each] for each in which]
        assert groupings == [columns[at].groupings[level] for at, level in table]
        cells = list(itertools.product(*(range(grouping.groups) for grouping in groupings)))
        assert listed.tolist() == list(range(len(cells)))
        # A half of a sixteenth may be rounded either way, by the last digit of a sum.
        assert np.abs(expected - [16 * counts.get(cell, 0.0) for cell in cells]).max() <= 0.5 + ROUNDING


def check_guide(guide, by_hand):
    if by_hand is None:
        assert guide == NO_PRIOR
        return
    error, targets = by_hand
    assert guide.error == pytest.approx(error, rel=ROUNDING)
    assert [each.table for each in guide.factors] == [table for table, _, _ in targets]
    for factor, (_, counts, ridge) in zip(guide.factors, targets, strict=True):
        assert factor.target == pytest.approx([counts[cell] for cell in sorted(counts)], rel=1e-6, abs=ROUNDING)
        assert factor.ridge == pytest.approx(ridge, rel=1e-6)
        assert not factor.theta.any()


def guided(seed):
    """Return columns, what priors of theirs and a real room came to, and the answers of it."""
    rng = np.random.default_rng(seed)
    rows = private_rows(rng, 400)
    columns = resolved(one_way_tables(rng, coded(rows), sd=2.0), TOTAL)
    priors, kept = given_priors(rng, 600), Kept()
    cost = Budget.zcdp(int(rng.choice([1, 1000])))
    terms = Terms(relation="add-remove", max_rows=1)
    room = Room(code_table(rows, SCHEMA), SCHEMA, terms, cost, bits=SystemBits(), sink=kept)
    guide = measure_prior_distances(room, columns, priors, TOTAL, Budget.zcdp(cost.amount / len(priors)))
    return columns, priors, guide, kept.answers


@pytest.mark.parametrize("seed", SEEDS)
def test_the_question_and_the_pull_of_a_prior_are_those_by_hand(seed):
    columns, priors, guide, answers = guided(seed)

    asked = [pairs for pairs in (naive_pairs(columns, prior, TOTAL) for prior in priors) if pairs]
    assert len(asked) == len(answers)
    for pairs, answer in zip(asked, answers, strict=True):
        check_question(columns, naive_question(columns, pairs), answer.question)
    check_guide(guide, naive_guide(columns, priors, list(answers), TOTAL))


def test_some_of_these_priors_are_near_and_some_are_not():
    assert {guided(seed)[2] is NO_PRIOR for seed in SEEDS} == {True, False}


# -- What is believed of a prior beside measured tables.


@pytest.mark.parametrize("seed", SEEDS)
def test_a_table_that_disagrees_with_a_measured_one_gives_way_as_by_hand(seed):
    rng = np.random.default_rng(seed)
    columns = resolved(one_way_tables(rng, coded(private_rows(rng, 400)), sd=2.0), TOTAL)
    pairs = list(itertools.combinations(range(len(columns)), 2))
    guide = PriorTables(
        tuple(factor_of(rng, columns, pairs[place]) for place in rng.permutation(len(pairs))[:6]),
        float(rng.uniform(5, 100)),
    )
    tables = [*pairs, (0, 1, 2), (1, 2, 3)]
    measured = tuple(measured_of(rng, columns, tables[place]) for place in rng.permutation(len(tables))[:9])

    axes = tuple(column.axis for column in columns)
    trusted = _prior_factors(Fit(columns=columns, total=TOTAL, axes=axes, groups=None, measured=measured, prior=guide))

    ratios = naive_trust(columns, guide, measured)
    assert len({*ratios}) > 1
    for factor, before, ratio in zip(trusted, guide.factors, ratios, strict=True):
        assert factor.table == before.table
        assert factor.ridge == pytest.approx(before.ridge * ratio, rel=ROUNDING)


def levelled(rng, columns, places):
    """Return a table of columns at random levels, and random counts in its cells."""
    table = tuple((at, int(rng.integers(len(columns[at].groupings)))) for at in places)
    cells = int(np.prod([columns[at].axis.sizes[level] for at, level in table]))
    return table, rng.dirichlet(np.full(cells, 0.5)) * TOTAL


def factor_of(rng, columns, places):
    table, counts = levelled(rng, columns, places)
    return Factor(table=table, theta=np.zeros(counts.size), target=counts, ridge=float(rng.uniform(0.1, 10)))


def measured_of(rng, columns, places):
    table, counts = levelled(rng, columns, places)
    return AnsweredTable(table, counts, float(rng.choice([0.0, 1.0, 10.0])))
