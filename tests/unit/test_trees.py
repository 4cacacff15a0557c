"""Trees of boxes: their splits, what flows between cells, how noise shrinks on them, and what is counted of them."""

import itertools
import math
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from scipy.optimize import linprog
from scipy.sparse import coo_array

from helpers.bits import SeededBits, ZeroNoiseBits
from helpers.small_trees import (
    cube_deltas,
    cube_diameters,
    cube_splits,
    is_consistent,
    noisy_levels,
    random_splits,
)
from lapwing.errors import CapacityError, ParameterError
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.questions.tree_counts.answer import exact_levels
from lapwing.kernel.questions.tree_counts.question import NoisyTree, TreeCounts
from lapwing.kernel.room.room import Room
from lapwing.kernel.room.transcript import NoTranscript
from lapwing.kernel.terms import Terms
from lapwing.mechanisms.shared.trees.budget import optimal_shares
from lapwing.mechanisms.shared.trees.flows import CutColumn, cell_metric, flow_costs, is_line, level_sums, spread_out
from lapwing.mechanisms.shared.trees.model import fair_rounding
from lapwing.mechanisms.shared.trees.shrinkage import shrunk_fit
from lapwing.mechanisms.shared.trees.simulation import (
    NoiseTree,
    cell_diameters,
    noise_variance,
    simulate_noise,
    simulated_bound,
    stopped_bound,
    tree_deltas,
)
from lapwing.mechanisms.shared.trees.trees import AxisSplit, level_shapes, tree_least_squares
from lapwing.mechanisms.trees.pmm.consistency import consistent_counts
from lapwing.rows.source import code_table
from lapwing.schema.groupings.domains import Domain
from lapwing.schema.groupings.hierarchies import hierarchy
from lapwing.schema.schemas import Schema
from lapwing.theorems.pmm import theorem_4_2, theorem_4_3


@pytest.mark.parametrize("parent", [[], [1, 1], [0, 2], [0, 0, 0], [0, 1, 0], [-1, 0], [[0, 0]]], ids=str)
def test_a_split_refuses_what_is_no_division(parent: list) -> None:
    with pytest.raises(ParameterError, match="one child or two"):
        AxisSplit(0, np.array(parent, dtype=np.int64))


def test_a_split_refuses_a_negative_axis() -> None:
    with pytest.raises(ParameterError, match="axis of a split"):
        AxisSplit(-1, np.array([0, 0]))


def test_splits_that_do_not_follow_each_other_are_refused() -> None:
    with pytest.raises(ParameterError, match="from the root downwards"):
        level_shapes(cube_splits(3)[::-1], 1)


def test_an_axis_beyond_the_table_is_refused() -> None:
    with pytest.raises(ParameterError, match="divides 1 groups of axis 1"):
        level_shapes([AxisSplit(1, np.array([0, 0]))], 1)


@pytest.mark.parametrize(
    ("levels", "variances", "message"),
    [
        ([[1], [1, 1]], [1.0], "2 levels and variances"),
        ([[1], None], [1.0, math.inf], "deepest level"),
        ([[1], [1, 1]], [1.0, -1.0], "at least 0"),
        ([[1], [1, 1]], [1.0, math.nan], "at least 0"),
        ([None, [1, 1]], [1.0, 1.0], "level 0 must have either"),
        ([[1], [1, 1]], [math.inf, 1.0], "level 0 must have either"),
        ([[1], [1, 1, 1]], [1.0, 1.0], "level 1 must have shape"),
        ([[1, 2], [1, 1]], [1.0, 1.0], "level 0 must have shape"),
    ],
)
def test_levels_that_are_no_tree_are_refused(levels: list, variances: list, message: str) -> None:
    arrays = [None if level is None else np.array(level) for level in levels]

    with pytest.raises(ParameterError, match=message):
        tree_least_squares(arrays, cube_splits(1), variances)


def test_an_unknown_consistency_is_refused() -> None:
    with pytest.raises(ParameterError, match="uniform or proportional"):
        consistent_counts([np.array([1])], [], "greedy")


def test_a_negative_noisy_root_gives_no_rows_anywhere() -> None:
    levels = [np.array([-50]), np.array([3, -2]), np.array([1, 0, 4, -9])]

    fit = tree_least_squares(levels, cube_splits(2), [1.0, 5.0, 5.0])
    greedy = consistent_counts(levels, cube_splits(2))

    assert all(not level.any() for level in [*fit, *greedy])


def test_sums_that_are_off_in_floats_never_make_a_count_negative() -> None:
    # A sum off by one stands for one that is off by an ulp and meets an unlikely coin.
    levels = [np.array([4.0]), np.array([5.0, 0.0]), np.array([0.0, 5.0, 1.0, 0.0])]

    rounded = fair_rounding(levels, cube_splits(2), np.random.default_rng(1))

    assert is_consistent(rounded, cube_splits(2))


STEPS = Domain(5, 0, False, ordered=True, continuous=False)
OPTIONAL = Domain(6, 1, True, ordered=True, continuous=False)
KINDS = Domain(3, 0, False, ordered=False, continuous=False)


def tree_of(domains, depth):
    """Return the metric of a tree that halves its columns in turn, as long as they can be, and its columns."""
    trees = [hierarchy(domain, 64) for domain in domains]
    schedule, done = [], [0] * len(domains)
    while len(schedule) < depth and any(done[axis] < tree.depth for axis, tree in enumerate(trees)):
        axis = min((done[axis], axis) for axis, tree in enumerate(trees) if done[axis] < tree.depth)[1]
        done[axis] += 1
        schedule.append(axis)
    columns = [
        CutColumn(hierarchy(domain, times), domain, is_line(domain))
        for domain, times in zip(domains, done, strict=True)
    ]
    splits = [
        AxisSplit(axis, columns[axis].nested.parents(schedule[:level].count(axis) + 1))
        for level, axis in enumerate(schedule)
    ]
    return cell_metric(columns, splits), columns


def code_places(domain):
    """Return where each code lies, and 1 for those of a kind that lie at distance 1 from all others."""
    inside = np.arange(domain.values) / max(1, domain.values - 1)
    codes = domain.values + (domain.specials + 1 if domain.missing else 0)
    apart = np.arange(codes) >= (domain.values if is_line(domain) else 0)
    return np.append(inside, np.zeros(codes - domain.values)), apart


def code_distances(domains):
    """Return the distances of all combinations of codes, in C order."""
    far = np.zeros((1, 1))
    for domain in domains:
        places, apart = code_places(domain)
        own = np.where(apart[:, None] | apart[None], 1.0, np.abs(places[:, None] - places[None]))
        np.fill_diagonal(own, 0.0)
        far = np.maximum(far[:, None, :, None], own[None, :, None, :]).reshape((far.shape[0] * own.shape[0],) * 2)
    return far


def cheapest(surplus, far):
    """Return the cost of moving a surplus of sum 0 to where it is missing: the 1-Wasserstein distance."""
    gives, takes = np.flatnonzero(surplus > 0), np.flatnonzero(surplus < 0)
    pairs = np.arange(gives.size * takes.size)
    rows = np.concatenate((pairs // takes.size, gives.size + pairs % takes.size))
    equal = coo_array((np.ones(rows.size), (rows, np.tile(pairs, 2)))).tocsr()
    amounts = np.concatenate((surplus[gives], -surplus[takes]))
    return linprog(far[np.ix_(gives, takes)].reshape(-1), A_eq=equal, b_eq=amounts, method="highs").fun


def surplus_of(rng, shape):
    noise = rng.laplace(0, 3, shape)
    return noise - noise.mean()


@pytest.mark.parametrize("seed", range(5))
def test_on_a_line_of_steps_the_cost_is_the_distance(seed: int) -> None:
    metric, _ = tree_of([STEPS], 9)
    surplus = surplus_of(np.random.default_rng(seed), (5,))

    cost = flow_costs(level_sums(surplus[None], metric.splits), metric)[-1, 0]

    assert cost == pytest.approx(np.abs(np.cumsum(surplus)).sum() / 4)
    assert cost == pytest.approx(cheapest(surplus, code_distances([STEPS])))


@pytest.mark.parametrize("domains", [[OPTIONAL, KINDS], [STEPS, OPTIONAL], [STEPS, STEPS, KINDS], [KINDS, KINDS]])
@pytest.mark.parametrize("depth", [2, 3, 5, 9])
def test_no_tree_costs_less_than_the_cheapest_way(domains: list[Domain], depth: int) -> None:
    metric, columns = tree_of(domains, 64)
    shape = tuple(column.nested.groups(column.nested.depth) for column in columns)
    far, rng, ratios = code_distances(domains), np.random.default_rng(depth), []

    for _ in range(4):
        levels = level_sums(surplus_of(rng, shape)[None], metric.splits)[: depth + 1]
        cost = flow_costs(levels, metric)[-1, 0]
        ratios.append(cost / cheapest(spread_out(levels, metric)[-1].reshape(-1), far))

    assert min(ratios) >= 1 - 1e-9
    assert np.mean(ratios) < 3


@pytest.mark.parametrize("domains", [[OPTIONAL, KINDS], [STEPS, STEPS], [STEPS], [OPTIONAL]])
def test_no_row_moves_further_than_the_inner_distance(domains: list[Domain]) -> None:
    metric, columns = tree_of(domains, 64)
    shape = tuple(column.nested.groups(column.nested.depth) for column in columns)
    far = code_distances(domains)

    for code in range(len(far)):
        row = np.zeros(shape)
        row.reshape(-1)[code] = 1.0
        levels = level_sums(row[None], metric.splits)
        for level in range(len(levels)):
            even = spread_out(levels[: level + 1], metric)[-1].reshape(-1)
            inner = float((levels[level][0] * metric.inner[level]).sum())

            assert float(even @ far[code]) <= inner + 1e-12


def even(splits):
    return [np.full(split.parents, 0.5) for split in splits]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("exact_root", [True, False])
def test_a_shrunk_tree_is_consistent(seed: int, exact_root: bool) -> None:
    rng = np.random.default_rng(seed)
    splits = random_splits(rng, axes=2, depth=5)
    _, levels, variances = noisy_levels(rng, splits, unasked=(1,), exact_root=exact_root)

    fit = shrunk_fit(levels, splits, variances, even(splits))

    assert is_consistent(fit, splits, tolerance=1e-9)


@pytest.mark.parametrize("counts", [[90, 10], [100, 0], [3, -40], [52, 48], [-5, -3]])
@pytest.mark.parametrize("variance", [1.0, 400.0])
def test_a_child_moves_by_one_standard_deviation_at_most(counts: list[int], variance: float) -> None:
    levels, splits = [None, np.array(counts)], [AxisSplit(0, np.array([0, 0]))]
    variances = [math.inf, variance]

    fit = shrunk_fit(levels, splits, variances, even(splits))
    plain = tree_least_squares(levels, splits, variances)

    assert fit[0] == plain[0]
    assert abs(fit[1][0] - plain[1][0]) <= math.sqrt(variance / 2) + 1e-9


def mean_errors(leaf: np.ndarray, rng: np.random.Generator) -> tuple[float, float]:
    """Return what must move along a line on average, after shrinking and by least squares."""
    splits = cube_splits(8)
    found = []
    for _ in range(40):
        noisy = leaf + np.rint(rng.laplace(0, 8, leaf.shape)).astype(np.int64)
        tree = [np.array([int(leaf.sum())]), *[None] * 7, noisy], splits, [0.0, *[math.inf] * 7, 128.0]
        fits = shrunk_fit(*tree, even(splits))[-1], tree_least_squares(*tree)[-1]
        found.append([np.abs(np.cumsum(fit - leaf)).sum() / leaf.sum() / leaf.size for fit in fits])
    shrunk, plain = np.mean(found, axis=0).tolist()
    return shrunk, plain


def test_even_rows_come_out_more_even_and_lumps_stay_lumps() -> None:
    rng, lumps = np.random.default_rng(1), np.zeros(256, dtype=np.int64)
    lumps[[3, 50, 51, 200]] = [800, 700, 300, 200]

    shrunk_even, plain_even = mean_errors(np.full(256, 8), rng)
    shrunk_lumps, plain_lumps = mean_errors(lumps, rng)

    assert shrunk_even < 0.7 * plain_even
    assert shrunk_lumps < 1.25 * plain_lumps


FIELDS = [
    {"name": "size", "type": "integer", "constraints": {"minimum": 0, "maximum": 6}, "special": [99]},
    {"name": "kind", "type": "string", "categories": ["a", "b", "c"], "constraints": {"required": True}},
]
SCHEMA = Schema.from_dict({"fields": FIELDS})
DATA = pl.DataFrame({"size": ["0", "6", "6", "99", None, "3", "3"], "kind": ["a", "b", "c", "c", "a", "zzz", "b"]})
TERMS = Terms(relation="add-remove")
HALF = Fraction(1, 2)


def tree(*, amounts=(None, HALF / 2, None, HALF / 2, HALF), depths=(2, 2), schedule=(0, 1, 0, 1), notion="pure"):
    nested = tuple(hierarchy(SCHEMA.field(n).domain, d) for n, d in zip(("size", "kind"), depths, strict=True))
    return TreeCounts(columns=("size", "kind"), hierarchies=nested, schedule=schedule, notion=notion, amounts=amounts)


def room(*, bits=None, data=DATA, schema=SCHEMA, terms=TERMS, recorded=(), budget=1):
    source = code_table(data, schema)
    return Room(
        source, schema, terms, Budget.pure(budget), bits=bits or ZeroNoiseBits(), sink=NoTranscript(), recorded=recorded
    )


def counted_by_hand(question, data, schema):
    """Count every level by looking up each row's code among the runs."""
    levels = [np.zeros(shape, dtype=np.int64) for shape in question.shapes]
    for chunk in code_table(data, schema).chunks():
        rows = zip(*(chunk[name].tolist() for name in question.columns), strict=True)
        for row, (level, counts) in itertools.product(rows, enumerate(levels)):
            cell = cell_of(question, level, row)
            if cell is not None:
                counts[cell] += 1
    return levels


def cell_of(question, level, row):
    """Return the cell of a row, None where one of its codes is in no run."""
    places = []
    for nested, depth, code in zip(question.hierarchies, question.depths(level), row, strict=True):
        runs = zip(nested.starts(depth).tolist(), nested.stops(depth).tolist(), strict=True)
        places += [place for place, (start, stop) in enumerate(runs) if start <= code < stop]
    return tuple(places) if len(places) == len(row) else None


def test_without_noise_the_released_levels_are_the_exact_tables():
    question = tree()

    (answer,) = room().ask(question)

    expected = counted_by_hand(question, DATA, SCHEMA)
    assert [table.level for table in answer.tables] == [1, 3, 4]
    for table in answer.tables:
        assert table.counts.tolist() == expected[table.level].tolist()
    # "zzz" is no category and kind is required: the row is outside the tree.
    assert answer.levels[4].sum() == 6


@pytest.mark.parametrize("depths", [(0, 0), (1, 0), (0, 2), (4, 1), (4, 2), (3, 2)])
def test_levels_above_the_deepest_are_sums_whatever_the_depths(depths):
    schedule = (0,) * depths[0] + (1,) * depths[1]
    question = tree(depths=depths, schedule=schedule, amounts=(*[None] * sum(depths), HALF))
    table = tuple(zip(question.columns, question.groupings, strict=True))
    (counted,) = code_table(DATA, SCHEMA).count([table])

    levels = exact_levels(question, counted)

    expected = counted_by_hand(question, DATA, SCHEMA)
    assert [level.tolist() for level in levels] == [level.tolist() for level in expected]


def unit_schema(max_rows):
    who = {"name": "who", "type": "integer", "role": "identifier"}
    return Schema.from_dict({"fields": [who, *FIELDS], "privacyUnit": {"field": "who", "maxRows": max_rows}})


def rows_of(who, cells):
    return [{"who": who, "size": size, "kind": kind} for size, kind in cells]


def changes(question, max_rows, relation):
    """Return the change of all levels over neighbours whose changed unit owns up to max_rows + 1 rows."""
    schema = unit_schema(max_rows)
    others = rows_of(1, [("0", "a")] * 2) + rows_of(2, [("6", "b"), (None, "c")])
    values = [("0", "a"), ("6", "c"), ("99", "b"), ("3", "zzz")]
    kinds = {"who": pl.Int64, "size": pl.String, "kind": pl.String}
    sets = [
        rows_of(9, cells)
        for size in range(max_rows + 2)
        for cells in itertools.combinations_with_replacement(values, size)
    ]
    table = tuple(zip(question.columns, question.groupings, strict=True))
    levels = [
        exact_levels(question, code_table(pl.DataFrame(others + extra, schema=kinds), schema).count([table])[0])
        for extra in sets
    ]
    pairs = (
        [(each, levels[0]) for each in levels] if relation == "add-remove" else itertools.product(levels[1:], repeat=2)
    )
    return [[one - two for one, two in zip(first, second, strict=True)] for first, second in pairs]


@pytest.mark.parametrize("max_rows", [1, 3])
@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
def test_brute_force_attains_the_sensitivity_of_every_level_and_never_passes_it(relation, max_rows):
    question = tree()
    claimed = question.sensitivity(relation, max_rows)

    moved = changes(question, max_rows, relation)

    for level in range(len(question.costs)):
        l1 = max(int(np.abs(change[level]).sum()) for change in moved)
        l2_squared = max(int((change[level] ** 2).sum()) for change in moved)
        if level == 0 and relation == "replace-one":
            # One cell, which a row can leave by becoming a misfit: half of what two cells can change.
            assert (l1, l2_squared) == (claimed.l1 // 2, claimed.l2_squared // 2)
        else:
            assert (l1, l2_squared) == (claimed.l1, claimed.l2_squared)


@pytest.mark.parametrize("max_rows", [1, 3])
@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
@pytest.mark.parametrize("notion", ["pure", "zcdp"])
def test_the_worst_neighbour_loses_exactly_the_sum_of_the_levels_costs(relation, max_rows, notion):
    question = tree(notion=notion)
    laws = question.noises(relation, max_rows)
    zeros = [np.zeros(shape, dtype=np.int64) for shape in question.shapes]
    levels = tuple(None if law is None else zero for law, zero in zip(laws, zeros, strict=True))
    answer = NoisyTree(question, levels, laws)

    losses = [answer.privacy_loss(change, zeros) for change in changes(question, max_rows, relation)]

    assert max(losses) == question.cost.amount == 1


def test_every_cell_of_every_released_level_gets_noise_also_the_empty_ones():
    question = tree()
    hits = [np.zeros(shape) for shape in question.shapes]

    for seed in range(120):
        (answer,) = room(bits=SeededBits(seed), data=DATA.clear()).ask(question)
        for table in answer.tables:
            hits[table.level] += table.counts != 0

    assert all((hits[level] > 0).all() for level in (1, 3, 4))


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"columns": ("size", "size")}, "name each column once"),
        ({"columns": ()}, "needs distinct columns"),
        ({"hierarchies": ()}, "give one each"),
        ({"schedule": (0, 1, 1, 1)}, "splits 'size' 1 times"),
        ({"schedule": (0, 1, 0, 1, 5), "amounts": (None,) * 5 + (HALF,)}, "positions of the 2 columns"),
        ({"amounts": (None, HALF)}, "needs as many costs"),
        ({"amounts": (None, HALF, None, HALF, None)}, "deepest level of a tree must have a cost"),
        ({"amounts": (Fraction(0), None, None, None, HALF)}, "above 0"),
    ],
)
def test_a_malformed_question_is_refused(parts, message):
    whole = tree()
    given = {key: getattr(whole, key) for key in ("columns", "hierarchies", "schedule", "notion", "amounts")} | parts

    with pytest.raises(ParameterError, match=message):
        TreeCounts(**given)


def test_a_tree_beyond_the_cell_limit_is_refused():
    wide = Domain(2**32, 0, missing=False, ordered=True, continuous=True)
    deep = hierarchy(wide, 14)

    with pytest.raises(CapacityError, match="use fewer levels"):
        TreeCounts(
            columns=("x", "y"),
            hierarchies=(deep, deep),
            schedule=(0, 1) * 14,
            notion="pure",
            amounts=(*[None] * 28, Fraction(1)),
        )


def line_tree(shares, epsilon=1.0, kind="laplace"):
    """Return the halved interval with Laplace noise of scale 1 / (share ε), or that number as a Gaussian's variance."""
    parameters = tuple(math.inf if share == 0 else 1 / (float(share) * epsilon) for share in shares)
    depth = len(shares) - 1
    return NoiseTree(
        splits=tuple(cube_splits(depth)), diameters=tuple(cube_diameters(depth)), kind=kind, parameters=parameters
    )


@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_deltas_of_a_cube_are_those_of_the_specification(dimension: int) -> None:
    sides = [
        [
            np.full(2 ** len(range(axis, level, dimension)), 0.5 ** len(range(axis, level, dimension)))
            for axis in range(dimension)
        ]
        for level in range(8)
    ]

    deltas = tree_deltas(cube_splits(7, dimension), [cell_diameters(lengths) for lengths in sides])

    assert deltas == cube_deltas(7, dimension)


@pytest.mark.parametrize("root", ["noisy", "exact"])
def test_theorem_4_3_is_theorem_4_2_at_the_optimal_scales(root: str) -> None:
    deltas = cube_deltas(8, 2)

    bound = theorem_4_3(deltas, 0.5, n=1000, resolution=0.1, root=root)

    first = 1 if root == "exact" else 0
    total = math.fsum(math.sqrt(delta) for delta in deltas[first:])
    assert bound == pytest.approx((1 + first) * 2 * math.sqrt(2) / (0.5 * 1000) * total**2 + 0.1)


@pytest.mark.parametrize(
    ("kind", "parameter"), [("laplace", 0.4), ("laplace", 7.0), ("gaussian", 0.3), ("gaussian", 40.0)]
)
def test_simulated_noise_has_the_discrete_law(kind: str, parameter: float) -> None:
    draws = simulate_noise(kind, parameter, (200_000,), np.random.default_rng(1))

    support = np.arange(-200, 201)
    weights = np.exp(-np.abs(support) / parameter if kind == "laplace" else -(support**2) / (2 * parameter))
    law = weights / weights.sum()
    observed = np.array([(draws == value).mean() for value in support])
    # Each frequency at 6.5 standard errors.
    assert (np.abs(observed - law) <= 6.5 * np.sqrt(np.maximum(law, 1e-9) / len(draws)) + 1e-5).all()
    true_variance = float((law * support**2).sum())
    assert noise_variance(kind, parameter) >= true_variance * (1 - 1e-9)
    assert kind == "gaussian" or noise_variance(kind, parameter) == pytest.approx(true_variance, rel=1e-9)


def test_chunks_do_not_change_what_is_simulated() -> None:
    tree = line_tree(optimal_shares(cube_deltas(13), "pure"))
    assert tree.nodes * 200 > 2**20

    mean = simulated_bound(tree, rows=1.0, simulations=200, rng=np.random.default_rng(1)) - tree.resolution
    again = simulated_bound(tree, rows=1.0, simulations=200, rng=np.random.default_rng(1)) - tree.resolution

    assert mean == again
    bound = stopped_bound(cube_deltas(13), tree.variances, [1e9] * 13 + [0.0], rows=1.0)
    assert 0.6 * bound < mean < bound


def test_a_bound_needs_a_simulation_and_rows() -> None:
    rng = np.random.default_rng(1)

    with pytest.raises(ParameterError, match="simulations must be"):
        simulated_bound(line_tree([1.0]), rows=1.0, simulations=0, rng=rng)
    with pytest.raises(ParameterError, match="rows must be"):
        simulated_bound(line_tree([1.0]), rows=0.0, simulations=1, rng=rng)
    with pytest.raises(ParameterError, match="rows must be"):
        stopped_bound([1.0], [1.0], [0.0], rows=-1)
    with pytest.raises(ParameterError, match="n must be"):
        theorem_4_2([1.0], [1.0], n=math.nan, resolution=0.0)
