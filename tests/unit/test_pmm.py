"""PMM: how it parts its budget over levels, what its trees measure, and what its releases keep."""

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from scipy import optimize

import lapwing as lw
from helpers.bits import SeededBits, ZeroNoiseBits
from helpers.pmm_runs import frame_of, run, unit_columns
from helpers.small_trees import cube_deltas
from lapwing.errors import CapacityError, ParameterError
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.noise_law import NoiseLaw
from lapwing.kernel.questions.tree_counts.question import NoisyTree, TreeCounts
from lapwing.kernel.terms import Terms
from lapwing.mechanisms.shared.trees import budget as share_search
from lapwing.mechanisms.shared.trees.budget import (
    bound_factor,
    chosen_depth,
    default_shares,
    optimal_shares,
    paper_scales,
)
from lapwing.mechanisms.shared.trees.model import fit_leaves, known_root
from lapwing.mechanisms.shared.trees.shapes import tree_shape
from lapwing.mechanisms.shared.trees.simulation import cell_diameters, tree_deltas
from lapwing.mechanisms.shared.trees.trees import AxisSplit
from lapwing.mechanisms.trees.pmm import mechanism as pmm
from lapwing.mechanisms.trees.pmm.mechanism import PMM
from lapwing.model.sampling.marginals import marginal
from lapwing.schema.groupings.domains import Domain
from lapwing.schema.groupings.grouping import evenly, identity
from lapwing.schema.groupings.hierarchies import diameters, hierarchy
from lapwing.schema.schemas import Schema

MIXED = Schema.from_dict(
    {
        "fields": [
            {"name": "size", "type": "integer", "constraints": {"minimum": 0, "maximum": 6}, "special": [99]},
            {"name": "kind", "type": "string", "categories": ["a", "b", "c"], "constraints": {"required": True}},
        ]
    }
)
ROWS = pl.DataFrame({"size": ["0", "6", "6", "99", None, "3"] * 50, "kind": ["a", "b", "c", "c", "a", "b"] * 50})


def shares(model, schema):
    """Return the model's table over all columns, code by code, as shares."""
    columns = [field.name for field in schema.columns]
    table = marginal(model, columns, [identity(schema.field(name).domain) for name in columns])
    return table / table.sum()


@pytest.mark.parametrize(("rows", "epsilon", "depth"), [(1000, 1, 10), (1024, 1, 10), (1025, 1, 11), (100, "0.001", 0)])
def test_the_papers_depth_is_the_logarithm_of_epsilon_times_rows(rows, epsilon, depth):
    data = frame_of(np.full((5, 1), 0.5))

    _, (answer,) = run(PMM(variant="paper"), data, unit_columns(1), budget=Budget.pure(epsilon), expected_rows=rows)

    assert len(answer.question.schedule) == depth


def test_a_depth_that_does_not_fit_is_refused_before_anything_is_asked():
    class NoRows:
        columns = ("x0",)
        terms = Terms(relation="add-remove")

    mechanism, asked = PMM(depth=12, max_nodes=1000), (unit_columns(1), Budget.pure(1))
    for refuse in (
        lambda: mechanism.questions(*asked, NoRows.terms, np.random.default_rng(1)),  # as before the debit
        lambda: mechanism.run(NoRows(), *asked, np.random.default_rng(1)),
    ):
        with pytest.raises(CapacityError, match=r"depth=12 .* max_nodes=1000 nodes; depth=8 fits"):
            refuse()


@pytest.mark.parametrize("mechanism", [PMM(depth=4), PMM(depth=4, variant="paper")], ids=str)
def test_a_noisy_total_of_nothing_gives_the_uniform_model(mechanism):
    for seed in range(60):
        model, _ = run(mechanism, ROWS.clear(), MIXED, bits=SeededBits(seed), expected_rows=300)
        if model.rows == 0:
            break

    assert model.rows == 0
    assert not marginal(model, ["kind"], [identity(MIXED.field("kind").domain)]).any()
    regular = shares(replace(model, rows=1), MIXED)[:7, :3]
    assert regular == pytest.approx(np.full((7, 3), 1 / 21))


@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
def test_rows_with_a_misfit_are_conditioned_away(relation):
    odd = pl.DataFrame({"size": ["0"] * 600, "kind": ["zzz"] * 600})

    model, _ = run(
        PMM(depth=5), pl.concat([ROWS, odd]), MIXED, relation=relation, bits=ZeroNoiseBits(), expected_rows=900
    )

    table = shares(model, MIXED)
    assert table[:, 3].sum() == 0
    assert table[0, 0] == pytest.approx(1 / 6)
    assert model.rows == (900 if relation == "replace-one" else 300)


def test_the_public_number_of_rows_is_the_exact_root_where_no_row_can_be_outside_the_tree():
    schema = Schema.from_dict({"fields": [{"name": "flag", "type": "boolean"}]})
    data = pl.DataFrame({"flag": [True, None, False, True] * 25})

    model, (answer,) = run(PMM(), data, schema, relation="replace-one", budget=Budget.pure("0.05"))

    assert answer.levels[0] is None
    assert model.weights.sum() == model.rows == 100


def test_columns_that_are_never_cut_are_counted_by_themselves():
    schema, data = unit_columns(4), frame_of(np.full((50, 4), 0.9))

    model, (tree, *tables) = run(PMM(depth=2), data, schema, expected_rows=50, budget=Budget.pure(1000))

    assert tree.question.columns == ("x0", "x1")
    assert [table.question.columns for table in tables] == [("x2",), ("x3",)]
    costs = [tree.question.cost.epsilon, *(table.question.cost.epsilon for table in tables)]
    assert costs == [950, 25, 25]
    quarter = [evenly(schema.field("x3").domain, 4)]
    assert marginal(model, ["x3"], quarter)[3] / model.rows == pytest.approx(1, abs=0.01)


@pytest.mark.parametrize("variant", ["default", "paper"])
def test_rows_outside_the_tree_do_not_shorten_the_stated_distance(variant):
    field = {"name": "x", "type": "number", "constraints": {"minimum": 0, "maximum": 1, "required": True}}
    rows = pl.DataFrame({"x": [0.2] * 400 + [None] * 600})

    release = lw.synthesize(
        rows,
        {"fields": [field]},
        epsilon=10,
        mechanism=lw.PMM(variant=variant),
        neighbours="replace-one",
        seed=1,
        misfits=1,
    )

    (stated,) = [each.value for each in release.certificate.accuracy if each.code == "distance"]
    assert stated >= (release.sample(4000)["x"] - 0.2).abs().mean() - 0.01  # what 4,000 draws leave open


def test_a_rare_label_does_not_become_common():
    fields = [
        *(
            {"name": name, "type": "number", "constraints": {"minimum": 0, "maximum": 1, "required": True}}
            for name in "xy"
        ),
        {"name": "label", "type": "boolean", "constraints": {"required": True}},
    ]
    rng = np.random.default_rng(4)
    rows = pl.DataFrame({"x": rng.random(20_000), "y": rng.random(20_000), "label": rng.random(20_000) < 0.0017})
    planned = lw.plan({"fields": fields}, expected_rows=20_000, epsilon=1, mechanism=lw.PMM(depth=2))

    release = lw.synthesize(rows, {"fields": fields}, epsilon=1, mechanism=lw.PMM(depth=2), expected_rows=20_000)

    assert planned.lines[-1].columns == ("label",)
    assert release.query("label").filter(label="true")["share"].item() < 0.02  # the noise on a count is of scale 20


@pytest.mark.parametrize("order", ["longest", "cycle"])
@pytest.mark.parametrize(
    "domains",
    [
        (Domain(2**32, 0, False, True, True), Domain(2**32, 1, True, True, True)),
        (Domain(7, 2, True, True, False), Domain(5, 0, False, False, False), Domain(2, 0, False, True, False)),
        (Domain(1, 0, False, True, True), Domain(3, 1, False, True, False)),
        (Domain(9, 1, True, False, False, ((4, 7), (1, 2, 8))), Domain(2, 0, True, False, False)),
        (Domain(2**32, 0, False, True, True, ((5, 6), tuple(5 + 2**bits for bits in range(1, 32)))),),
    ],
)
def test_the_shape_of_a_tree_agrees_with_its_cells(domains, order):
    shape = tree_shape(domains, order, 3000)

    nested = [hierarchy(domain, shape.schedule.count(place)) for place, domain in enumerate(domains)]
    question = TreeCounts(
        columns=tuple(f"c{place}" for place in range(len(domains))),
        hierarchies=tuple(nested),
        schedule=shape.schedule,
        notion="pure",
        amounts=(*[None] * len(shape.schedule), Fraction(1)),
    )
    sizes = [
        cell_diameters(
            [diameters(n, d, depth) for n, d, depth in zip(nested, domains, question.depths(level), strict=True)]
        )
        for level in range(len(question.costs))
    ]
    splits = [AxisSplit(*question.parents(level)) for level in range(1, len(question.costs))]
    assert list(shape.deltas) == pytest.approx(tree_deltas(splits, sizes))
    assert list(shape.resolutions) == pytest.approx([float(each.max()) for each in sizes])
    assert sum(np.prod(each) for each in question.shapes) <= 3000


def test_a_square_is_cut_in_turns_and_a_category_before_a_length():
    unit = Domain(2**32, 0, False, True, True)
    kind = Domain(4, 0, False, False, False)

    assert tree_shape([unit, unit], "longest", 200).schedule == (0, 1, 0, 1, 0, 1)
    assert tree_shape([unit, kind], "longest", 200).schedule[:5] == (0, 1, 1, 0, 0)
    assert tree_shape([kind], "longest", 200).is_complete


def optional(required):
    """Return a schema of one number that may be missing, or not."""
    constraints = {"minimum": 0, "maximum": 1, "required": required}
    return Schema.from_dict({"fields": [{"name": "x0", "type": "number", "constraints": constraints}]})


@pytest.mark.parametrize("required", [True, False])
def test_a_bought_number_of_rows_is_the_root_where_no_row_is_outside_the_tree(required):
    data = frame_of(np.full((200, 1), 0.3))
    _, (bought, noisy) = run(PMM(depth=2), data, optional(required), budget=Budget.pure("0.1"), bits=SeededBits(5))

    root = known_root(noisy.question, None, bought)

    # A row that must not be missing, and is, is in no cell.
    assert root == (None if required else (float(bought.counts), bought.noise.sd**2))
    assert known_root(noisy.question, None, None) is None


def test_a_bought_number_of_rows_makes_the_total_better():
    schema, data, errors = optional(False), frame_of(np.full((200, 1), 0.3)), {True: [], False: []}
    for seed in range(40):
        _, (bought, noisy) = run(PMM(depth=2), data, schema, bits=SeededBits(seed))
        sharp = replace(bought, noise=NoiseLaw("laplace", Fraction(1, 4)), whole=np.array(200))
        for is_used, errors_of in errors.items():
            root = known_root(noisy.question, None, sharp if is_used else None)
            total = fit_leaves(noisy, root, np.random.default_rng(seed)).sum()
            errors_of.append(abs(int(total) - 200))

    assert np.mean(errors[True]) < np.mean(errors[False]) / 2


@pytest.mark.parametrize(("epsilon", "is_single"), [(1, False), (3, False), (10, True)])
def test_one_level_alone_is_counted_where_most_noise_is_none(epsilon, is_single):
    terms = Terms(relation="add-remove", expected_rows=1000)
    for columns in (1, 2):
        planned = PMM().plan(unit_columns(columns), Budget.pure(epsilon), terms, np.random.default_rng(1))
        (question,) = planned.questions
        assert (sum(cost is not None for cost in question.costs) == 1) is is_single
        _, (answer,) = run(
            PMM(),
            frame_of(np.zeros((9, columns))),
            unit_columns(columns),
            budget=Budget.pure(epsilon),
            expected_rows=1000,
        )
        assert answer.question.to_dict() == question.to_dict()


def distance(model, schema, points):
    """Return the 1-Wasserstein distance of the model from points on [0, 1], by their distribution functions."""
    cells = evenly(schema.columns[0].domain, 2**14)
    mass = marginal(model, ["x0"], [cells])[: 2**14]
    real = np.histogram(points[:, 0], bins=2**14, range=(0, 1))[0]
    return float(np.abs(np.cumsum(mass / mass.sum() - real / real.sum())).mean())


def test_counts_clipped_before_the_fit_are_seen_in_the_accuracy(monkeypatch):
    schema, points = unit_columns(1), 0.01 + 1e-3 * np.random.default_rng(3).random((1000, 1))
    honest, errors = pmm.fit_leaves, {"raw": [], "clipped": []}

    def clipped(noisy, rows, rng, priors):
        levels = tuple(None if level is None else np.maximum(level, 0) for level in noisy.levels)
        return honest(NoisyTree(noisy.question, levels, noisy.noises), rows, rng, priors)

    for name, fit in (("raw", honest), ("clipped", clipped)):
        monkeypatch.setattr(pmm, "fit_leaves", fit)
        for seed in range(6):
            model, _ = run(
                PMM(depth=14),
                frame_of(points),
                schema,
                budget=Budget.pure("0.2"),
                bits=SeededBits(seed),
                expected_rows=1000,
            )
            errors[name].append(distance(model, schema, points))

    # Measured: 0.012 and 0.072, because every empty cell gains half its noise.
    assert np.mean(errors["raw"]) < 0.03
    assert np.mean(errors["clipped"]) > 2 * np.mean(errors["raw"])


NOTIONS = ("pure", "zcdp")
ROOTS = ("noisy", "exact")
cubes = pytest.mark.parametrize("dimension", [1, 2, 3])
notions = pytest.mark.parametrize("notion", NOTIONS)
roots = pytest.mark.parametrize("root", ROOTS)


def factor(deltas, shares, notion, root):
    """Return the bound's noise part; an exact root has no noise, so its level leaves the sum."""
    if root == "noisy":
        return bound_factor(deltas, shares, notion)
    # Level 1 as if it were a root without weight, and its own weight added by hand.
    power = 2 if notion == "pure" else 1
    spread, total = math.inf, 0.0
    for delta, share in zip(reversed(deltas[1:]), reversed(shares[1:]), strict=True):
        precision = float(share) ** power + (0 if math.isinf(spread) else 1 / (2 * spread))
        spread = 1 / precision
        total += delta * math.sqrt(spread / 2)
    return total


@roots
def test_the_papers_scales_spend_epsilon_and_no_more(root: str) -> None:
    deltas = cube_deltas(10, 2)
    first = 1 if root == "exact" else 0

    scales = paper_scales(deltas, "pure", 0.5, root)

    # Spec 01: Σ 1/σ_j, or Σ_{j>=1} 2/σ_j with an exact root.
    assert math.fsum((1 + first) / scale for scale in scales[first:]) == pytest.approx(0.5, rel=1e-12)
    total = math.fsum(math.sqrt(delta) for delta in deltas[first:])
    assert scales[first:] == pytest.approx(
        [(1 + first) * total / (0.5 * math.sqrt(delta)) for delta in deltas[first:]], rel=1e-12
    )
    assert scales[:first] == [0.0] * first


@roots
def test_the_papers_gaussian_scales_are_those_of_the_specification(root: str) -> None:
    deltas = cube_deltas(10, 3)
    first = 1 if root == "exact" else 0

    scales = paper_scales(deltas, "zcdp", 0.5, root)

    assert math.fsum((1 + first) / (2 * scale**2) for scale in scales[first:]) == pytest.approx(0.5, rel=1e-12)
    total = math.fsum(delta ** (2 / 3) for delta in deltas[first:])
    assert [scale**2 for scale in scales[first:]] == pytest.approx(
        [(1 + first) * delta ** (-2 / 3) * total / (2 * 0.5) for delta in deltas[first:]], rel=1e-12
    )


def best_over_subsets(deltas, notion, root):
    """Try every set of levels, each from equal shares, with a general-purpose minimiser."""
    first = 1 if root == "exact" else 0
    inner = range(first, len(deltas) - 1)
    best = math.inf
    for size in range(len(inner) + 1):
        for chosen in itertools.combinations(inner, size):
            levels = [*chosen, len(deltas) - 1]

            def bound(logits, levels=levels):
                shares = np.zeros(len(deltas))
                parts = np.exp(np.append(logits, 0.0))
                shares[levels] = parts / parts.sum()
                return factor(deltas, shares.tolist(), notion, root)

            result = optimize.minimize(bound, np.zeros(size), method="BFGS") if size else None
            best = min(best, bound(np.zeros(0)) if result is None else result.fun)
    return best


@notions
@roots
@pytest.mark.parametrize("deltas", [cube_deltas(5), cube_deltas(5, 2), [1.0, 3.0, 0.2, 5.0, 0.1, 2.0]], ids=str)
def test_the_optimum_is_that_of_a_search_over_all_subsets(deltas: list, notion: str, root: str) -> None:
    shares = optimal_shares(deltas, notion, root)

    best = best_over_subsets(deltas, notion, root)
    # Both stop within 10^-5 of the minimum; the next local minimum is usually some 10^-3 away.
    assert factor(deltas, shares, notion, root) == pytest.approx(best, rel=1e-5)


@notions
@roots
def test_the_depth_is_that_of_trying_every_depth(notion: str, root: str) -> None:
    deltas = cube_deltas(16, 2)
    resolutions = np.array([2.0 ** -(level // 2) for level in range(17)])
    spent = 0.9 if notion == "pure" else math.sqrt(0.9)
    noise_parts = np.array(
        [
            factor(deltas[: r + 1], optimal_shares(deltas[: r + 1], notion, root), notion, root) / spent
            if r or root == "noisy"
            else 0.0
            for r in range(17)
        ]
    )

    for noise in np.logspace(-7, 0, 60):
        tried = noise * noise_parts + resolutions

        # The rule reads the optimum off a grid, to within 0.1 %.
        assert tried[chosen_depth(deltas, resolutions.tolist(), noise, notion, root)] <= tried.min() * 1.001


@notions
@cubes
def test_the_dynamic_programme_finds_the_optimum_it_promises(notion: str, dimension: int) -> None:
    power = 2 if notion == "pure" else 1
    weights = np.array(cube_deltas(24, dimension))
    values = share_search.value_functions(tuple(weights.tolist()), power)

    start = share_search.backtrack(values, weights, power)
    reached = share_search.factors(start[None], weights, power)[0]
    refined = share_search.factors(share_search.improve_divisions(start[None], weights, power), weights, power)[0]

    # A grid of 129 states: half a percent from the promise, and so is the promise from the minimum.
    assert reached == pytest.approx(values[-1, 0], rel=5e-3)
    assert refined == pytest.approx(values[-1, 0], rel=5e-3)
    assert refined <= reached


@pytest.mark.parametrize("deltas", [[], [1.0, -1.0], [1.0, math.nan], [math.inf], [1.0] * 200], ids=len)
def test_impossible_deltas_are_refused(deltas: list) -> None:
    with pytest.raises(ParameterError, match="deltas must be"):
        optimal_shares(deltas, "pure")


@pytest.mark.parametrize("depth", [-1, 3])
def test_a_depth_outside_the_tree_is_refused(depth: int) -> None:
    with pytest.raises(ParameterError, match="from 0 to 2"):
        default_shares([1.0, 1.0, 1.0], depth, "pure")
