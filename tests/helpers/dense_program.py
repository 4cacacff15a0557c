"""The paper's dense linear program for the nearest measure, and the distances of cells by loops."""

import itertools

import numpy as np
from scipy.optimize import linprog

from lapwing.mechanisms.trees.psmm.box_cells import box_cells
from lapwing.schema.schemas import Schema


def number(name, **more):
    return {"name": name, "type": "number", "constraints": {"minimum": 0, "maximum": 1, **more}}


def integer(name, largest, **more):
    return {"name": name, "type": "integer", "constraints": {"minimum": 0, "maximum": largest, **more}}


KIND = {"name": "kind", "type": "string", "categories": ["a", "b", "c"]}
NEEDED = {"required": True}

TABLES = {
    "line": ([number("x", **NEEDED)], 24),
    "line of whole numbers in uneven runs": ([integer("x", 30, **NEEDED)], 13),
    "line with a missing cell": ([number("x")], 17),
    "lines by category": ([KIND, number("x") | {"special": [99]}], 40),
    "square": ([number("x", **NEEDED), number("y", **NEEDED)], 49),
    "uneven sides": ([number("x", **NEEDED), integer("y", 4, **NEEDED)], 50),
    "uneven runs": ([integer("x", 30, **NEEDED), integer("y", 8, **NEEDED)], 42),
    "squares by category": ([KIND, number("x", **NEEDED), number("y") | {"special": [99]}], 60),
    "cube": ([number("x", **NEEDED), number("y", **NEEDED), number("z", **NEEDED)], 27),
    "cube with missing": ([number("x"), number("y", **NEEDED), number("z")], 60),
    "categories": ([KIND, {"name": "flag", "type": "boolean"}], 12),
}


def cells_of_table(name, wanted=None):
    fields, cells = TABLES[name]
    schema = Schema.from_dict({"fields": fields})
    return schema, box_cells(schema, wanted or cells, 10**4)


# ------------------------------------------------------------------------------------------------ distances by loops


def centre(domain, grouping, group):
    """Return where a group lies in its column: a place on [0, 1], or a category of its own."""
    starts, stops, groups = grouping.pieces()
    (piece,) = np.flatnonzero(groups == group)
    start, stop = int(starts[piece]), int(stops[piece])
    if not domain.ordered or start >= domain.values:
        return f"code {start}"
    if domain.continuous:
        return (start + stop) / 2 / domain.values
    return (start + stop - 1) / 2 / max(1, domain.values - 1)


def between(one, other):
    """Return the distance of two places in a column."""
    if isinstance(one, str) or isinstance(other, str):
        return float(one != other)
    return abs(one - other)


def distances(schema, cells):
    """Return the distance of every two cells: the largest of their columns, or along steps where sides are uneven."""
    groups = list(itertools.product(*map(range, cells.shape)))
    places = [
        tuple(centre(c.domain, g, i) for c, g, i in zip(schema.columns, cells.groupings, cell, strict=True))
        for cell in groups
    ]
    result = np.array([[max(map(between, one, other)) for other in places] for one in places])
    if cells.is_exact:
        return result
    for i, j in itertools.product(range(len(groups)), repeat=2):
        is_step = max(abs(a - b) for a, b in zip(groups[i], groups[j], strict=True)) <= 1
        unit = cells.unit
        result[i, j] = unit * np.ceil(result[i, j] / unit) if is_step and result[i, j] < 1 else 1.0 * (i != j)
    for middle in range(len(groups)):
        result = np.minimum(result, result[:, middle, None] + result[None, middle])
    return result


# --------------------------------------------------------------------------------------- the paper's linear program


def program(counts, far, *, total=None, measure=None):
    """Return the bounded-Lipschitz distance of counts to the nearest measure of this total, or to this measure.

    One variable per ordered pair of cells for what moves, two per cell for what is made and removed at the price 1, and
    one per cell for the measure.
    """
    size = counts.size
    out = np.kron(np.eye(size), np.ones(size)) - np.kron(np.ones(size), np.eye(size))
    equalities = np.hstack([out, -np.eye(size), np.eye(size), np.eye(size)])
    values = counts.astype(float)
    fixed = [(0, None)] * size if measure is None else [(each, each) for each in measure.reshape(-1)]
    if measure is None:
        equalities = np.vstack([equalities, np.concatenate((np.zeros(size**2 + 2 * size), np.ones(size)))])
        values = np.append(values, total)
    prices = np.concatenate((far.reshape(-1), np.ones(2 * size), np.zeros(size)))
    solved = linprog(prices, A_eq=equalities, b_eq=values, bounds=[(0, None)] * (size**2 + 2 * size) + fixed)
    assert solved.status == 0, solved.message
    return solved.fun
