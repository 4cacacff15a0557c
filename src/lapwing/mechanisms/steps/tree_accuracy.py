"""What is proved about the accuracy of a tree: from its question, its noise and the released model."""

import math
from typing import Final

import numpy as np

from lapwing.mechanisms.steps.tree_model import tree_splits
from lapwing.numerics.tree_bounds import cell_diameters, least_squares_bound, theorem_4_2, tree_deltas
from lapwing.numerics.tree_simulation import NoiseTree, certificate_quantile
from lapwing.release.certificate import Statement
from lapwing.release.model import ReleasedModel
from lapwing.release.tree_counts import NoisyTree
from lapwing.schema.hierarchies import diameters
from lapwing.schema.schemas import Schema

GAMMA: Final = 0.05
"""Failure probability of the simulated certificate."""

SIMULATED_NODES: Final = 2**22
SIMULATIONS: Final = (999, 199, 99, 39, 19)
"""The certificate uses the most of these that stay within so many simulated nodes, a fraction of a second."""


def noise_tree(noisy: NoisyTree, schema: Schema, *, is_root_exact: bool) -> NoiseTree:
    """Return a tree's cells and noise without its counts."""
    question = noisy.question
    domains = [schema.field(name).domain for name in question.columns]
    sizes = []
    for level in range(len(question.costs)):
        parts = zip(question.hierarchies, domains, question.depths(level), strict=True)
        sizes.append(cell_diameters([diameters(nested, domain, depth) for nested, domain, depth in parts]))
    kinds = [law.kind for law in noisy.noises if law is not None]
    parameters = [math.inf if law is None else float(law.parameter) for law in noisy.noises]
    if is_root_exact:
        parameters[0] = 0.0
    return NoiseTree(splits=tree_splits(question), diameters=tuple(sizes), kind=kinds[0], parameters=tuple(parameters))


def fitted_statements(
    noisy: NoisyTree, tree: NoiseTree, model: ReleasedModel, rng: np.random.Generator
) -> tuple[Statement, ...]:
    """State how far the model of a least-squares fit is from the table.

    Parameters
    ----------
    noisy : NoisyTree
        Gives the columns.
    tree : NoiseTree
        The same tree, without counts.
    model : ReleasedModel
        Its weights are the released counts.
    rng : numpy.random.Generator
        Simulates the noise.

    Returns
    -------
    tuple of Statement
        A bound that holds with 95 % probability where the tree is small enough to simulate, else one of the expected
        distance, to be divided by the number of rows; and the largest cell's diameter, which both add.
    """
    affordable = [count for count in SIMULATIONS if count * tree.nodes <= SIMULATED_NODES]
    if affordable:
        quantile = certificate_quantile(tree, gamma=GAMMA, simulations=affordable[0], rng=rng)
        bound = min(1.0, quantile / float(model.weights.sum()) + tree.resolution)
        text = f"with 95 % probability, {_distance(noisy)} is at most this"
        return Statement(kind="distance", text=text, value=bound), _cells(noisy, tree)
    bound = least_squares_bound(_deltas(tree), tree.variances, rows=1.0, resolution=0.0)
    return _expected(noisy, bound), _cells(noisy, tree)


def greedy_statements(noisy: NoisyTree, tree: NoiseTree) -> tuple[Statement, ...]:
    """State what Theorem 4.2 proves about the paper's greedy consistency; parameters as for `fitted_statements`."""
    scales = [math.sqrt(variance / 2) for variance in tree.variances]
    if tree.kind == "laplace":
        scales = list(tree.parameters)
    return _expected(noisy, theorem_4_2(_deltas(tree), scales, rows=1.0, resolution=0.0)), _cells(noisy, tree)


def _deltas(tree: NoiseTree) -> list[float]:
    """Return the diameters that each level divides."""
    return tree_deltas(tree.splits, tree.diameters)


def _expected(noisy: NoisyTree, bound: float) -> Statement:
    """State a bound of the expected distance whose divisor, the number of rows, may be private."""
    text = (
        f"in expectation over the noise, {_distance(noisy)} is at most this divided by the number of rows, plus the "
        "diameter of the largest cell"
    )
    return Statement(kind="expected distance", text=text, value=bound)


def _cells(noisy: NoisyTree, tree: NoiseTree) -> Statement:
    """State the resolution."""
    text = f"the largest cell of the {math.prod(noisy.question.shapes[-1])} has this diameter, if each column has 1"
    return Statement(kind="largest cell", text=text, value=tree.resolution)


def _distance(noisy: NoisyTree) -> str:
    """Name the distance that is bounded."""
    columns = ", ".join(noisy.question.columns)
    return (
        f"the 1-Wasserstein distance between the released model and the rows without misfits, over {columns}, each "
        "column scaled to length 1 and the largest difference counting,"
    )
