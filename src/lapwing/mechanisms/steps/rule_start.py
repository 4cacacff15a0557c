"""What an adaptive mechanism knows of its columns before it measures pairs: one-way and public tables, and rules."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from lapwing.mechanisms.steps.particle_fit import Fit, refitted, tree_fit
from lapwing.mechanisms.steps.resolved_columns import ResolvedColumn, with_masses
from lapwing.numerics.hard_zeros import HardZeros, alive_cells, links
from lapwing.numerics.log_linear import Cells, Factor
from lapwing.numerics.reconciled import reconciled
from lapwing.numerics.tree_start import tree_factors

_LEAST_MASS = 0.3
_REFRESHES = 3


def rule_fit(
    columns: tuple[ResolvedColumn, ...],
    total: float,
    rng: np.random.Generator,
    *,
    size: int,
    zeros: HardZeros | None,
    public: Sequence[Factor] = (),
) -> Fit | None:
    """Return what one-way tables, public tables and rules say together; None without rules and public tables.

    Parameters
    ----------
    columns, total, rng, size, zeros, public
        As for `tree_fit`.

    Returns
    -------
    Fit, optional
        Its columns have one-way tables that agree with each other: where rules or public tables say that counts of two
        of them are the same, their mean weighted by precision.
    """
    if zeros is None and not public:
        return None
    fit = tree_fit(columns, (), total, rng, size=size, zeros=zeros, public=public)
    for _ in range(_REFRESHES):  # so that enough particles carry the weight
        fit = refitted(fit, rng, is_due=True)
    cloud, axes, changed = fit.cloud, fit.axes, list(columns)
    for bound in bound_sets(fit):
        known = [factor for factor in fit.factors if {column for column, _ in factor.table} <= set(bound)]
        cloud = reconciled(axes, cloud, known, total)
        weights = cloud.weights(total)
        for place in bound:
            mass = np.bincount(cloud.groups[place], weights, axes[place].base.size)
            least = np.minimum(axes[place].base, _LEAST_MASS)
            changed[place] = with_masses(columns[place], np.maximum(mass, least))
    agreed = tuple(column.axis for column in changed)
    zeros = None if zeros is None else replace(zeros, axes=agreed)
    return replace(fit, columns=tuple(changed), cloud=cloud, zeros=zeros)


def bound_sets(fit: Fit) -> list[tuple[int, ...]]:
    """Return the sets of columns that rules and public tables tie together."""
    first = len(fit.columns)
    tied = [] if fit.zeros is None else list(fit.zeros.orders)
    tied += [tuple(column for column, _ in factor.table) for factor in fit.factors[first : first + fit.public]]
    found: list[set[int]] = []
    for each in tied:
        joined = set(each).union(*(other for other in found if other & set(each)))
        found = [other for other in found if not other & joined] + [joined]
    return [tuple(sorted(each)) for each in found]


def linked(start: Fit | None) -> tuple[HardZeros | None, list[Factor]]:
    """Return pairs of which a rule makes one column a function of the other as edges of a tree that cost nothing.

    Parameters
    ----------
    start : Fit or None
        Of one-way tables, public tables and rules; None without rules and public tables.

    Returns
    -------
    zeros : HardZeros, optional
        Of the fit, with the theta of these edges, so that a sweep under them keeps one-way tables.
    edges : list of Factor
        A forest.
    """
    if start is None or start.zeros is None:
        return None, []
    zeros, axes = start.zeros, start.axes
    edges: list[Factor] = []
    group = list(range(len(axes)))
    for table in links(zeros):
        one, two = (group[column] for column, _ in table)
        if one != two:
            target = start.counts([table])
            alive = alive_cells(zeros, table)
            edges.append(Factor(table=table, target=target, sd=0.0, theta=np.zeros(target.size), alive=alive))
            group = [one if each == two else each for each in group]
    free = tuple(replace(edge, alive=None) for edge in tree_factors(axes, edges, start.total))
    return replace(zeros, factors=(*zeros.factors, *free)), edges


def bound_counts(start: Fit | None, pairs: Sequence[Cells]) -> dict[Cells, np.ndarray]:
    """Return what one-way and public tables and rules say of the pairs of columns that these tie together.

    Parameters
    ----------
    start : Fit or None
        Of one-way tables, public tables and rules; None without rules and public tables.
    pairs : sequence of tuple of (int, int)
        Tables.

    Returns
    -------
    dict of tuple to ndarray of float64, shape (cells,)
        Other pairs are left out.
    """
    if start is None:
        return {}
    together = {frozenset(two) for each in bound_sets(start) for two in combinations(each, 2)}
    return {table: start.counts([table]) for table in pairs if frozenset(column for column, _ in table) in together}
