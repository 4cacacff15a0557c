"""What it costs to move a measure along a tree: never below the cheapest way, and on a line just that."""

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.sparse import coo_array

from lapwing.mechanisms.shared.trees.flows import CutColumn, cell_metric, flow_costs, is_line, level_sums, spread_out
from lapwing.mechanisms.shared.trees.trees import AxisSplit
from lapwing.schema.groupings.domains import Domain
from lapwing.schema.groupings.hierarchies import hierarchy

REAL = Domain(2**16, 0, False, ordered=True, continuous=True)
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


def test_without_inner_distances_the_cost_of_a_pair_is_what_moves() -> None:
    metric, _ = tree_of([Domain(2, 0, False, ordered=False, continuous=False)], 1)

    assert flow_costs(level_sums(np.array([[3.0, -3.0]]), metric.splits), metric)[-1, 0] == 3.0


@pytest.mark.parametrize("seed", range(3))
def test_on_a_square_the_cost_is_a_little_above_the_distance(seed: int) -> None:
    metric, _ = tree_of([REAL, REAL], 4)
    surplus = surplus_of(np.random.default_rng(seed), (4, 4))

    cost = flow_costs(level_sums(surplus[None], metric.splits), metric)[-1, 0]

    # Even mass in a cell as 4 x 4 points, each of which is at most 1/32 from its mass.
    places = (np.stack(np.divmod(np.arange(256), 16)) + 0.5) / 16
    far = np.abs(places[:, :, None] - places[:, None, :]).max(axis=0)
    distance = cheapest(np.repeat(np.repeat(surplus, 4, 0), 4, 1).reshape(-1) / 16, far)
    assert distance - np.abs(surplus).sum() / 32 <= cost <= 2 * distance


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


def test_a_cost_is_that_of_the_surplus_over_an_even_mass() -> None:
    metric, _ = tree_of([REAL], 3)
    surplus = surplus_of(np.random.default_rng(1), (8,))

    costs = [flow_costs(level_sums((surplus + more)[None], metric.splits), metric)[-1, 0] for more in (0.0, 2.0)]

    assert costs[0] == pytest.approx(costs[1])
