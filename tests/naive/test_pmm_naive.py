"""PMM against a slow, obvious version of the whole mechanism: nodes are boxes of codes, counts are loops over rows."""

import itertools
import math
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

from helpers.bits import SeededBits, ZeroNoiseBits
from helpers.cases import spread
from helpers.pmm_runs import run
from lapwing.kernel.budget.budget import Budget
from lapwing.mechanisms.shared.trees import model as trees
from lapwing.mechanisms.shared.trees.trees import tree_least_squares
from lapwing.mechanisms.trees.pmm.mechanism import PMM
from lapwing.model.sampling.marginals import marginal
from lapwing.rows.source import code_table
from lapwing.schema.groupings.grouping import identity
from lapwing.schema.schemas import Schema

# Nine codes of size in the tree (0..6, special 99, missing), three of kind (its misfit code is outside).
SCHEMA = Schema.from_dict(
    {
        "fields": [
            {"name": "size", "type": "integer", "constraints": {"minimum": 0, "maximum": 6}, "special": [99]},
            {"name": "kind", "type": "string", "categories": ["a", "b", "c"], "constraints": {"required": True}},
        ]
    }
)
ROOT = (tuple(range(9)), tuple(range(3)))
DISTANCES = (
    lambda a, b: 0.0 if a == b else 1.0 if max(a, b) > 6 else abs(a - b) / 6,
    lambda a, b: 0.0 if a == b else 1.0,
)


def table(seed, rows=60):
    rng = np.random.default_rng(seed)
    size = rng.choice(np.array(["0", "1", "3", "6", "99", ""]), rows)
    kind = rng.choice(np.array(["a", "b", "c", "zzz"]), rows, p=[0.5, 0.3, 0.1, 0.1])
    return pl.DataFrame({"size": size, "kind": kind}).with_columns(pl.col("size").replace("", None))


def rows_of(data, question):
    """Return the codes of the rows that are in the tree: none has a misfit in a column that is cut."""
    chunks = code_table(data, SCHEMA).chunks()
    rows = [row for chunk in chunks for row in zip(chunk["size"].tolist(), chunk["kind"].tolist(), strict=True)]
    return [row for row in rows if row[1] < 3 or "kind" not in question.columns]


def length(axis, run_of_codes):
    """Return the largest distance of two codes."""
    return max(DISTANCES[axis](a, b) for a, b in itertools.product(run_of_codes, repeat=2))


def diameter(node):
    return max(length(axis, part) for axis, part in enumerate(node))


def halves(axis, part):
    """Cut a run of codes: reserved codes of size first, then in the middle; a single code stays as it is."""
    if len(part) == 1:
        return (part,)
    middle = 7 if axis == 0 and part[0] < 7 <= part[-1] else len(part) // 2
    if axis == 0 and part[0] < 7 <= part[-1]:
        return tuple(code for code in part if code < middle), tuple(code for code in part if code >= middle)
    return part[:middle], part[middle:]


def children(node, axis):
    return [(half, node[1]) if axis == 0 else (node[0], half) for half in halves(axis, node[axis])]


def longest_side_first(depth):
    """Return the tree of the paper: nodes level by level, the axis that splits each level, children of each node."""
    levels, axes, splits = [[ROOT]], [], [0, 0]
    for _ in range(depth):
        sides = [
            max((length(axis, node[axis]) for node in levels[-1] if len(node[axis]) > 1), default=-1.0)
            for axis in (0, 1)
        ]
        axis = min((0, 1), key=lambda place: (-sides[place], splits[place], place))
        splits[axis] += 1
        axes.append(axis)
        levels.append([child for node in levels[-1] for child in children(node, axis)])
    return levels, axes


def axes_of(question):
    """Return the axis that splits each level; columns that are never cut are not in the question."""
    return [("size", "kind").index(question.columns[place]) for place in question.schedule]


def tree_of(question):
    """Return the nodes of a question, level by level."""
    levels = [[ROOT]]
    for axis in axes_of(question):
        levels.append([child for node in levels[-1] for child in children(node, axis)])
    return levels


def noisy_by_node(answer):
    """Return the recorded noisy count of each node of each released level, by where its codes are."""
    found = {}
    for level, nodes in enumerate(tree_of(answer.question)):
        if answer.levels[level] is None:
            continue
        runs = [sorted({node[("size", "kind").index(name)] for node in nodes}) for name in answer.question.columns]
        for node in nodes:
            parts = [node[("size", "kind").index(name)] for name in answer.question.columns]
            place = tuple(each.index(part) for each, part in zip(runs, parts, strict=True))
            found[level, node] = int(answer.levels[level][place])
    return found


def counts(nodes, rows):
    """Count the rows of each node; a misfit of kind is there only where kind is not cut."""
    return {node: sum(row[0] in node[0] and (row[1] in node[1] or row[1] == 3) for row in rows) for node in nodes}


def released(model):
    """Return the model's mass of each pair of codes."""
    groupings = [identity(SCHEMA.field(name).domain) for name in ("size", "kind")]
    mass = marginal(model, ["size", "kind"], groupings) * model.weights.sum() / model.rows
    assert not mass[:, 3].any()
    return mass[:, :3]


def placed(leaves):
    """Return the mass of each pair of codes when the rows of a leaf are uniform in it."""
    mass = np.zeros((9, 3))
    for node, count in leaves.items():
        cells = list(itertools.product(*(regular_if_mixed(axis, part) for axis, part in enumerate(node))))
        for cell in cells:
            mass[cell] += count / len(cells)
    return mass


def regular_if_mixed(axis, part):
    return [code for code in part if code < 7] if axis == 0 and part[0] < 7 else part


@spread(("depth", [0, 1, 2, 3, 4, 5, 6]), ("variant", ["default", "paper"]), ("seed", [1, 2]))
def test_without_noise_each_leaf_has_its_rows(depth, variant, seed):
    data = table(seed)

    mechanism, budget = PMM(depth=depth, variant=variant), Budget.pure(10**6)  # so that no noise is expected either
    model, (answer, *alone) = run(mechanism, data, SCHEMA, budget=budget, bits=ZeroNoiseBits(), expected_rows=60)

    leaves = counts(tree_of(answer.question)[-1], rows_of(data, answer.question))
    # A column that is never cut is counted by itself, and the other one is as without it.
    axes = tuple(("size", "kind").index(table.question.columns[0]) for table in alone)
    assert released(model).sum(axis=axes) == pytest.approx(placed(leaves).sum(axis=axes))
    assert not alone or variant == "default"


@pytest.mark.parametrize("depth", [1, 3, 5, 6])
@pytest.mark.parametrize("notion", ["pure", "zcdp"])
@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
def test_the_paper_cuts_the_longest_side_with_the_noise_scales_of_its_theorem(depth, notion, relation):
    budget = Budget(notion, Fraction(1, 2))

    _, (answer,) = run(PMM(depth=depth, variant="paper"), table(3), SCHEMA, budget=budget, relation=relation)

    levels, axes = longest_side_first(depth)
    deltas = [diameter(ROOT)] + [
        sum(diameter(node) for node in level if len(children(node, axis)) == 2)
        for level, axis in zip(levels, axes, strict=False)
    ]
    first = 1 if relation == "replace-one" else 0
    if notion == "pure":
        total = sum(math.sqrt(delta) for delta in deltas[first:])
        expected = [(1 + first) * total / (0.5 * math.sqrt(delta)) for delta in deltas]
    else:
        total = sum(delta ** (2 / 3) for delta in deltas[first:])
        expected = [delta ** (-2 / 3) * total * (1 + first) / (2 * 0.5) for delta in deltas]
    assert axes_of(answer.question) == axes
    assert [law is None for law in answer.noises] == [relation == "replace-one"] + [False] * depth
    for law, parameter in zip(answer.noises[first:], expected[first:], strict=True):
        assert float(law.parameter) == pytest.approx(parameter, rel=1e-4)  # shares are multiples of 2^-20


def comparable_pairs(a, b, whole):
    """Return all pairs of whole numbers, at least 0, with the right sum, that are comparable with (a, b)."""
    pairs = [(left, whole - left) for left in range(whole + 1)]
    return [(u, v) for u, v in pairs if (u >= a and v >= b) or (u <= a and v <= b)]


def off_the_ray(a, b, u, v):
    """Return how far (u, v) is from the ray through (a, b), and from (a, b) where that is 0."""
    return abs(u - a) + abs(v - b) if a + b == 0 else abs(Fraction(u) - Fraction((u + v) * a, a + b))


@spread(("consistency", ["uniform", "proportional"]), ("relation", ["add-remove", "replace-one"]), ("seed", range(6)))
def test_the_papers_counts_are_nearest_comparable_pairs_top_down(consistency, relation, seed):
    data = table(seed, 200)
    mechanism = PMM(depth=6, variant="paper", consistency=consistency)

    model, (answer,) = run(mechanism, data, SCHEMA, bits=SeededBits(seed), relation=relation, budget=Budget.pure(2))

    noisy = {place: max(0, count) for place, count in noisy_by_node(answer).items()}
    mass = released(model)
    final = {node: inside(mass, node) for level in tree_of(answer.question) for node in level}
    assert final[ROOT] == (200 if relation == "replace-one" else noisy[0, ROOT])
    for (level, nodes), axis in zip(enumerate(tree_of(answer.question)), axes_of(answer.question), strict=False):
        for node in nodes:
            below = children(node, axis)
            if len(below) == 2:
                pair = tuple(noisy[level + 1, child] for child in below)
                check_pair(pair, tuple(final[child] for child in below), final[node], consistency)


def check_pair(noisy, final, whole, consistency):
    """Check that a final pair is among the nearest of all comparable ones."""
    pairs = comparable_pairs(*noisy, whole)
    assert final in pairs
    if consistency == "uniform":
        assert math.dist(final, noisy) == min(math.dist(pair, noisy) for pair in pairs)
    else:
        assert off_the_ray(*noisy, *final) == min(off_the_ray(*noisy, *pair) for pair in pairs)


def inside(mass, node):
    """Return the whole number of released rows in a node."""
    return round(float(mass[np.ix_(*(list(part) for part in node))].sum()))


@pytest.mark.parametrize("notion", ["pure", "zcdp"])
@pytest.mark.parametrize("seed", range(5))
def test_before_it_shrinks_the_default_is_generalised_least_squares_where_nothing_is_clipped(notion, seed, monkeypatch):
    monkeypatch.setattr(trees, "shrunk_fit", lambda *tree: tree_least_squares(*tree[:3]))
    rows = [row for cell in itertools.product(["0", "2", "3", "5", "6", "99", None], "abc") for row in [cell] * 300]
    data = pl.DataFrame(rows, schema=["size", "kind"], orient="row")
    mechanism, budget = PMM(depth=4), Budget(notion, Fraction(1))

    model, (answer,) = run(mechanism, data, SCHEMA, budget=budget, bits=SeededBits(seed), expected_rows=20)

    leaves = tree_of(answer.question)[-1]
    noisy, design, observed, sds = noisy_by_node(answer), [], [], []
    for level, nodes in enumerate(tree_of(answer.question)):
        if answer.levels[level] is None:
            continue
        for node in nodes:
            design.append([all(set(leaf[a]) <= set(node[a]) for a in (0, 1)) for leaf in leaves])
            observed.append(noisy[level, node])
            sds.append(answer.noises[level].sd)
    weights = 1 / np.array(sds)
    fit, *_ = np.linalg.lstsq(
        np.array(design, dtype=float) * weights[:, None], np.array(observed) * weights, rcond=None
    )
    mass = released(model)
    whole = [inside(mass, leaf) for leaf in leaves]
    assert min(fit) > 5
    assert sum(level is not None for level in answer.levels) >= 2
    # Fair rounding: each count is the whole number above or below the fit.
    assert np.abs(np.array(whole) - fit).max() < 1
