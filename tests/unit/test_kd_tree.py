"""Grid and KDTree: what they ask, the fit of their leaves, the model of their cells, and what releases keep."""

import math
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

import lapwing as lw
from helpers.bits import SeededBits
from helpers.cells import answered, counts_asked, splits_asked
from helpers.kept import Kept
from helpers.leaf_trees import fitted_by_recursion, levels_of
from helpers.pmm_runs import frame_of, refused, run, unit_columns
from lapwing.errors import CapacityError, ParameterError
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.noise_law import NoiseLaw, log_tail
from lapwing.kernel.questions.sparse_counts.question import NoisyCells
from lapwing.kernel.room.room import Room
from lapwing.kernel.terms import Terms
from lapwing.mechanisms.shared.trees.flows import CutColumn, cell_metric, flow_costs, is_line, level_sums
from lapwing.mechanisms.shared.trees.trees import AxisSplit
from lapwing.mechanisms.trees.kd_tree.accuracy import counted_leaves
from lapwing.mechanisms.trees.kd_tree.cells import (
    check_listable,
    fitted_weights,
    halving_tree,
    leaf_least_squares,
    weighted_cells,
)
from lapwing.mechanisms.trees.kd_tree.mechanism import Grid, KDTree, default_threshold, default_width
from lapwing.rows.source import code_table
from lapwing.schema.schemas import Schema

SIZE = {"name": "size", "type": "integer", "constraints": {"minimum": 0, "maximum": 6}, "special": [99]}
KIND = {"name": "kind", "type": "string", "categories": ["a", "b", "c"], "constraints": {"required": True}}
MIXED = Schema.from_dict({"fields": [SIZE, KIND]})
ADD_REMOVE = Terms(relation="add-remove", expected_rows=300)


def planned(mechanism, schema=MIXED, budget=None, terms=ADD_REMOVE):
    return mechanism.plan(schema, budget or Budget.pure(1), terms, np.random.default_rng(1)).questions


def test_the_default_tau_is_the_scale_of_the_decisions_noise():
    (decisions, _) = planned(KDTree(coarse=1.0, fine=0.01), unit_columns(2), Budget.pure("0.7"))

    assert decisions.threshold == math.floor(decisions.noise("add-remove", 1).parameter)


def test_the_papers_30_free_and_60_levels_run_and_noise_alone_splits_and_keeps_hardly_a_cell():
    mechanism = KDTree(variant="paper", coarse=1 / 2, fine=1 / 4)
    points, schema = np.full((5000, 30), 0.3), unit_columns(30)

    (decisions, counts) = planned(mechanism, schema, terms=Terms(relation="add-remove", expected_rows=5000))
    model, (decided, kept) = run(mechanism, frame_of(points), schema, bits=SeededBits(1), expected_rows=5000)

    assert (counts.tree.first, counts.tree.depth, counts.tree.cells) == (30, 60, 2**30)
    for question, threshold, least, most in (
        (decisions, decisions.threshold + 1, 0, 1e-6),
        (counts, counts.threshold, 0.2, 1),
    ):
        tail = math.exp(log_tail(question.noise("add-remove", 1).parameter, threshold))
        assert least < 2**30 * tail < most
        assert 2**30 * tail * math.exp(35) > 2**22  # the usual thresholds would fill memory
    assert len(decided.tree.split_cells) <= 3
    assert len(kept.counts) <= 3
    assert kept.counts.max() == pytest.approx(5000, abs=50)
    assert model.rows < 5300


@pytest.mark.parametrize(("relation", "touched"), [("add-remove", 1), ("replace-one", 2)])
def test_lemma_10_is_the_papers_formula(relation, touched):
    rows = 1000 if relation == "replace-one" else None
    terms = Terms(relation=relation, rows=rows, expected_rows=1000)
    mechanism = KDTree(variant="paper", coarse=0.25, fine=1 / 32, split_share=0.5)

    (decisions, _) = planned(mechanism, unit_columns(2), Budget.pure(2), terms)

    h, deeper = 4, 6
    assert decisions.threshold == math.floor(touched * deeper * math.log((2**h + 1000 * deeper) / 1e-6))


def filtered(**settings):
    """Return settings under which small noisy counts are left out."""
    return Grid(variant="paper", placement="uniform", **settings)


@pytest.mark.parametrize(
    ("max_rows", "relation", "scale"),
    [(1, "add-remove", 2), (3, "add-remove", 6), (1, "replace-one", 4), (3, "replace-one", 12)],
)
def test_noise_covers_all_rows_of_a_unit(max_rows, relation, scale):
    terms = Terms(relation=relation, max_rows=max_rows, expected_rows=90)

    planned = filtered(width=0.5, threshold=2).plan(MIXED, Budget.pure("0.5"), terms, np.random.default_rng(1))

    assert planned.questions[0].noise(relation, max_rows) == NoiseLaw("laplace", Fraction(scale))
    assert [each.code for each in planned.accuracy] == ["expected_elsewhere", "cells_of_kept_grid"]


@pytest.mark.parametrize("columns", [1, 2, 3, 5, 12])
@pytest.mark.parametrize("per_noise", [0.1, 20, 1e3, 1e5, 1e9])
def test_the_default_width_is_where_noise_and_rounding_are_equal(columns, per_noise):
    width = default_width(columns, per_noise)

    cells = width**-columns
    assert math.log2(width).is_integer()
    assert width <= 1
    assert cells <= 2**18
    if 1 < cells < 2 ** (18 - columns) and width > 2**-16:
        noise = math.sqrt(cells / 2) / per_noise
        assert 2 ** -(1 + columns / 2) <= noise / (0.4 * width) <= 2 ** (1 + columns / 2)


@pytest.mark.parametrize("scale", [Fraction(1, 100), Fraction(1), Fraction(20), Fraction(300)])
@pytest.mark.parametrize(("cells", "rows"), [(4, 1000), (10**6, 1000), (2**400, 10**6), (16, 1)])
def test_the_default_threshold_is_the_least_with_which_empty_cells_bring_one_percent(scale, cells, rows):
    found = default_threshold(NoiseLaw("laplace", scale), cells, float(rows))

    assert brought(scale, cells, found) <= 0.01 * rows * (1 + 1e-9)
    assert found == 1 or brought(scale, cells, found - 1) > 0.01 * rows * (1 - 1e-9)


def brought(scale, cells, threshold):
    """Return the expected rows of all empty cells: P[Z >= t] times the mean of Z from t on, summed term by term."""
    q, total = math.exp(-1 / scale), 0.0
    first = math.exp(math.log(cells) - threshold / scale) * (1 - q) / (1 + q)
    for step in range(math.ceil(60 * scale) + 2):
        total += (threshold + step) * first * math.exp(-step / scale)
    return total


def test_few_kept_rows_are_a_warning_and_a_share_in_the_certificate():
    data = frame_of(np.random.default_rng(1).random((400, 6)))

    release = lw.synthesize(data, unit_columns(6), epsilon=1, mechanism=filtered(width=2**-6), seed=1)

    (share,) = [each.value for each in release.certificate.accuracy if each.code == "share_kept"]
    assert share < 0.5
    assert any("the cells that were kept hold" in str(warning) for warning in release.certificate.warnings)


def test_a_filtered_table_has_no_deviation_of_its_sum_and_says_that_it_is_biased():
    data = frame_of(np.random.default_rng(1).random((50, 2)))

    release = lw.synthesize(data, unit_columns(2), epsilon=1, mechanism=filtered(width=2**-10, threshold=1))

    listed = release.answers
    assert listed.height == 1
    assert listed["noise_sd"].to_list() == [None]
    assert any("too large on average" in each.text for each in release.certificate.accuracy)


def test_the_planned_error_bounds_the_mean_total_variation_of_the_cells():
    rng, schema, mechanism = np.random.default_rng(4), unit_columns(1), filtered(width=1 / 16)
    points = rng.beta(2, 5, (4000, 1))
    terms = Terms(relation="add-remove", expected_rows=4000)
    stated, _ = mechanism.plan(schema, Budget.pure("0.5"), terms, rng).accuracy
    real = np.histogram(points[:, 0], bins=16, range=(0, 1))[0] / 4000

    found = []
    for _ in range(20):
        model, _ = run(mechanism, frame_of(points), schema, budget=Budget.pure("0.5"), expected_rows=4000)
        kept = np.zeros(16)
        kept[model.laws["x0"].starts.astype(np.int64) >> 28] = model.weights / model.weights.sum()
        found.append(np.abs(kept - real).sum() / 2)

    assert 0 < np.mean(found) < stated.value < 0.3


@pytest.mark.parametrize("counts", [[1], [1, 2, 3], []])
def test_counts_that_are_not_one_per_leaf_are_refused(counts):
    levels, _ = levels_of((1, 2))

    with pytest.raises(ParameterError, match="one count per leaf and a total of at least 0; check them"):
        leaf_least_squares(levels, np.array(counts, dtype=np.int64), 3.0, 1.0)


MODEL_SIZE = {"name": "size", "type": "integer", "constraints": {"minimum": 0, "maximum": 6}, "special": [98, 99]}
TWO = Schema.from_dict({"fields": [MODEL_SIZE, KIND]})
MODEL_ROWS = pl.DataFrame(
    {"size": ["0", "6", "6", "99", None, "3", "x"] * 9, "kind": ["a", "b", "c", "c", "a", "b", "zz"] * 9}
)


def noisy_cells(schema, data, fine, coarse, *, seed=1, threshold=None, epsilon=Fraction(1)):
    """Return the noisy leaves of a tree that is split where rows are."""
    source, tree = code_table(data, schema), halving_tree(schema, fine, coarse)
    if tree.first < tree.depth:
        tree = answered(splits_asked(tree, threshold=2, epsilon=epsilon * 4), source, SeededBits(seed)).tree
    return answered(counts_asked(tree, threshold=threshold, epsilon=epsilon), source, SeededBits(seed + 1))


def weighted(schema, noisy, weights, rows, placement):
    return weighted_cells(schema, noisy.question.tree, noisy.leaves, weights, rows, placement=placement)


def codes_of(noisy, schema):
    """Return the regular codes of each leaf and column, or its reserved ones where it has no others."""
    tree = noisy.question.tree
    for level, cell in zip(*(each.tolist() for each in noisy.leaves), strict=True):
        runs = []
        for place, (nested, column) in enumerate(zip(tree.hierarchies, schema.columns, strict=True)):
            depth = tree.schedule[:level].count(place)
            start, stop = int(nested.starts(depth)[cell[place]]), int(nested.stops(depth)[cell[place]])
            values = column.domain.values
            runs.append((start, min(stop, values) if start < values else stop))
        yield tuple(runs)


@pytest.mark.parametrize(("fine", "coarse"), [(0.3, 0.3), (0.1, 1.0), (0.04, 0.5), (1.0, 1.0)])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_an_atom_lies_on_the_regular_codes_of_its_cell_or_on_reserved_ones(fine, coarse, seed):
    noisy = noisy_cells(TWO, MODEL_ROWS, fine, coarse, seed=seed)

    model = weighted(TWO, noisy, np.maximum(noisy.counts, 0).astype(float), 9, "uniform")

    expected = [codes for codes, count in zip(codes_of(noisy, TWO), noisy.counts, strict=True) if count > 0]
    found = [
        tuple((int(model.laws[name].starts[atom]), int(model.laws[name].stops[atom])) for name in ("size", "kind"))
        for atom in range(model.atoms)
    ]
    assert found == expected
    assert model.weights.tolist() == noisy.counts[noisy.counts > 0].tolist()
    assert model.laws["kind"].stops.max() <= 3  # the misfit code is 3
    model.validate(TWO)


@pytest.mark.parametrize(
    ("columns", "width", "codes"),
    [(1, 0.25, 2**30), (4, 0.25, 2**30), (5, 0.25, 1), (5, 0.5, 2**31), (6, 1.0, 2**32), (6, 0.125, 1)],
)
def test_rows_are_spread_up_to_four_columns_and_beyond_lie_in_the_middle_of_short_edges(columns, width, codes):
    schema, data = unit_columns(columns), frame_of(np.full((50, columns), 0.3))
    noisy = noisy_cells(schema, data, width, width, epsilon=Fraction(10))

    model = weighted(schema, noisy, np.maximum(noisy.counts, 0).astype(float), 50, None)

    widths = model.laws["x0"].stops.astype(np.int64) - model.laws["x0"].starts
    assert set(widths.tolist()) == {codes}


@pytest.mark.parametrize(("fine", "coarse"), [(0.3, 0.3), (0.1, 1.0), (0.04, 0.5), (1.0, 1.0), (0.04, 1.0)])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_weights_are_fitted_along_the_tree_of_codes(fine, coarse, seed):
    schema = Schema.from_dict({"fields": [KIND, MODEL_SIZE]})
    noisy = noisy_cells(schema, MODEL_ROWS.select("kind", "size"), fine, coarse, seed=seed)
    tree = noisy.question.tree

    weights = fitted_weights(noisy, 60.0, 2.0)

    leaves = [(level, tuple(cell)) for level, cell in zip(*(each.tolist() for each in noisy.leaves), strict=True)]
    counts, paths = dict(zip(leaves, noisy.counts.tolist(), strict=True)), {}
    nested = below(tree, counts, paths, 0, (0,) * len(tree.columns), ())
    expected = fitted_by_recursion(nested, 60, 2)
    assert weights == pytest.approx([float(expected[paths[leaf]]) for leaf in leaves])


def below(tree, counts, paths, level, cell, path):
    """Return the counts below a cell as nested tuples, and write down the path of each leaf."""
    if (level, cell) in counts:
        paths[level, cell] = path
        return counts[level, cell]
    children = tree.children(level, np.array([cell]))[0].tolist()
    return tuple(
        below(tree, counts, paths, level + 1, tuple(child), (*path, place)) for place, child in enumerate(children)
    )


def test_a_fit_of_more_cells_than_can_be_listed_is_refused():
    with pytest.raises(CapacityError, match=r"lists all 2\*\*21.0 cells .* use variant='paper' or longer edges"):
        check_listable(halving_tree(unit_columns(3), 2**-7, 2**-7))

    check_listable(halving_tree(unit_columns(2), 2**-10, 2**-10))


SCHEMA = Schema.from_dict(
    {
        "fields": [
            {"name": "x", "type": "number", "constraints": {"minimum": 0, "maximum": 1, "required": True}},
            {"name": "steps", "type": "integer", "constraints": {"minimum": 0, "maximum": 9}},
            {"name": "kind", "type": "string", "categories": ["a", "b", "c"], "constraints": {"required": True}},
        ]
    }
)


def leaves_of(mechanism: KDTree | Grid, seed: int = 1) -> NoisyCells:
    """Return the noisy leaves of a release of 3,000 rows in a corner of the table."""
    rng, kept = np.random.default_rng(seed), Kept()
    frame = pl.DataFrame(
        {
            "x": rng.beta(1, 9, 3000),
            "steps": np.where(rng.random(3000) < 0.9, rng.integers(0, 4, 3000), -1),
            "kind": rng.choice(["a", "b", "c"], 3000, p=[0.8, 0.1, 0.1]),
        }
    ).with_columns(pl.col("steps").replace(-1, None))
    terms, budget = Terms(relation="add-remove", expected_rows=3000), Budget.pure(8)
    room = Room(code_table(frame, SCHEMA), SCHEMA, terms, budget, bits=SeededBits(seed), sink=kept)
    mechanism.run(room, SCHEMA, budget, rng)
    return next(each for each in kept.answers if isinstance(each, NoisyCells))


@pytest.mark.parametrize("seed", range(3))
def test_every_leaf_is_there_once_with_its_count_and_its_sides(seed: int) -> None:
    noisy = leaves_of(KDTree(coarse=0.5), seed)
    counted = counted_leaves(noisy, SCHEMA)
    assert counted is not None
    tree, places = counted

    levels, runs = (each[places] for each in noisy.leaves)
    assert np.unique(levels).size > 2
    assert sorted(places.tolist()) == list(range(noisy.counts.size))
    assert np.array_equal(tree.levels[-1], noisy.counts[places])
    cells = noisy.question.tree
    for axis, (name, nested) in enumerate(zip(cells.columns, cells.hierarchies, strict=True)):
        domain = SCHEMA.field(name).domain
        column = CutColumn(nested, domain, is_line(domain))
        own = [
            column.lengths(int(cells.depths_of(axis)[at]))[1][run]
            for at, run in zip(levels, runs[:, axis], strict=True)
        ]
        assert np.array_equal(tree.metric.lengths[-1][axis], own)


@pytest.mark.parametrize("seed", range(3))
def test_a_list_of_all_cells_costs_what_their_table_costs(seed: int) -> None:
    noisy = leaves_of(Grid(width=0.25), seed)
    counted = counted_leaves(noisy, SCHEMA)
    assert counted is not None
    listed, places = counted
    cells = noisy.question.tree
    columns = [
        CutColumn(each, SCHEMA.field(n).domain, is_line(SCHEMA.field(n).domain))
        for n, each in zip(cells.columns, cells.hierarchies, strict=True)
    ]
    splits = [
        AxisSplit(axis, cells.hierarchies[axis].parents(cells.schedule[:level].count(axis) + 1))
        for level, axis in enumerate(cells.schedule)
    ]
    table = cell_metric(columns, splits)
    surplus = np.random.default_rng(seed).laplace(0, 3, noisy.counts.size)

    one = flow_costs(level_sums(surplus.reshape(1, *cells.shape), table.splits), table)
    other = flow_costs(level_sums(surplus[places][None], listed.metric.splits), listed.metric)

    assert other == pytest.approx(one)


@pytest.mark.parametrize(
    ("columns", "share"), [(1, Fraction(1, 3)), (2, Fraction(1, 2)), (4, Fraction(2, 3)), (9, Fraction(7, 10))]
)
def test_by_default_splits_get_the_more_of_the_budget_the_more_columns_there_are(columns, share):
    decisions, _ = planned(KDTree(), unit_columns(columns))

    assert decisions.cost.amount == pytest.approx(share)


@pytest.mark.parametrize(
    ("mechanism", "columns", "message"),
    [
        (
            filtered(width=2**-10, threshold=3),
            6,
            r"of 2\*\*60.0 cells about 2\*\*.* would .*; raise it or use wider",
        ),
        (Grid(width=2**-10), 6, "use variant='paper' or longer edges"),
        (KDTree(coarse=2**-10), 3, r"lists all 2\*\*30.0 cells that exist without any split, above 1048576"),
        (
            KDTree(variant="paper", coarse=2**-4, fine=2**-12, tau=-50),
            4,
            r"splits about 2\*\*.* empty cells; raise tau or use",
        ),
    ],
    ids=repr,
)
def test_more_cells_than_can_be_listed_are_refused_before_the_debit(tmp_path, mechanism, columns, message):
    refused(tmp_path, mechanism, unit_columns(columns), CapacityError, message)
