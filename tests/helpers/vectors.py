"""Vectors of rows for tests: small coordinates, all of their rows, and sources that hold just these."""

import itertools

import numpy as np

from lapwing.extras.audit.questions import cell_sums, second_moment
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.questions.cell_sums.answer import exact_sums
from lapwing.kernel.questions.cell_sums.question import CellSums
from lapwing.kernel.questions.second_moment.answer import exact_products
from lapwing.kernel.questions.second_moment.question import SecondMoment
from lapwing.kernel.questions.shared.coordinates import Coordinates
from lapwing.kernel.questions.shared.projections import Projection
from lapwing.schema.groupings.domains import Domain
from lapwing.schema.groupings.grouping import identity

ONE = Budget.pure(1)

BLOCKS = {
    "line": (Domain(2, 0, False, True, False), "line", 0),
    "line of 3": (Domain(3, 0, False, True, False), "line", 0),
    "line of 5": (Domain(5, 0, False, True, False), "line", 0),
    "line or missing": (Domain(2, 0, True, True, False), "line", 1),
    "list of 1": (Domain(1, 0, False, False, False), "list", 0),
    "list of 2": (Domain(2, 0, False, False, False), "list", 0),
    "list of 3": (Domain(3, 0, False, False, False), "list", 0),
    "list of 2 or missing": (Domain(2, 0, True, False, False), "list", 1),
}
"""Of each kind of column: its domain, whose last code is a misfit or missing, its kind, and its listed codes."""


def coordinates_of(blocks, **settings):
    """Return coordinates of columns of these kinds."""
    domains, kinds, listed = zip(*(BLOCKS[block] for block in blocks), strict=True)
    return Coordinates(
        columns=tuple(f"c{place}" for place in range(len(blocks))),
        groupings=tuple(identity(domain) for domain in domains),
        kinds=kinds,
        listed=listed,
        **settings,
    )


class Rows:
    """A source of coded rows, shape (n, columns), in chunks of a given size."""

    def __init__(self, coordinates, codes, chunk=2**18):
        self.columns, self.codes, self.chunk = coordinates.columns, np.asarray(codes, dtype=np.int64), chunk
        self.codes = self.codes.reshape(-1, len(self.columns))

    def chunks(self):
        for start in range(0, len(self.codes), self.chunk):
            yield dict(zip(self.columns, self.codes[start : start + self.chunk].T, strict=True))


def all_rows(coordinates):
    """Return every row that there can be, misfits and missing included: ndarray, shape (rows, columns)."""
    codes = (range(grouping.values + grouping.reserved) for grouping in coordinates.groupings)
    return np.array(list(itertools.product(*codes)), dtype=np.int64)


def random_rows(rng, coordinates, rows):
    """Return random rows of codes."""
    sizes = [grouping.values + grouping.reserved for grouping in coordinates.groupings]
    return rng.integers(0, sizes, (rows, len(sizes)))


def exact(question, source):
    """Return what the room finds before it adds noise."""
    if isinstance(question, SecondMoment):
        return exact_products(question.coordinates, source)[question.pairs]
    return exact_sums(question, source)


def statistics_of(question, codes):
    """Return what each row by itself adds to the answer: distinct rows of int64, each once."""
    coordinates = question.coordinates
    each = [exact(question, Rows(coordinates, [row])).reshape(-1) for row in codes]
    return np.unique(np.array(each), axis=0)


def moment_asked(coordinates, *, diagonal=False, cost=ONE, **settings):
    return SecondMoment(coordinates=coordinates, diagonal=diagonal, cost=cost, **settings)


def sums_asked(coordinates, projection=None, summed="vectors", *, damping=None, cost=ONE):
    return CellSums(coordinates=coordinates, projection=projection, summed=summed, damping=damping, cost=cost)


def cut_cells(directions, *cuts):
    """Return cells between cuts, one list of cuts for each direction."""
    return Projection(
        directions=np.asarray(directions, dtype=np.int64),
        cuts=tuple(np.array(each, dtype=np.int64) for each in cuts),
        origin=np.zeros(0, dtype=np.int64),
    )


def lattice_cells(directions, *, spacing, norm, origin=None):
    """Return cells around the points of a lattice in a ball."""
    directions = np.asarray(directions, dtype=np.int64)
    origin = np.zeros(directions.shape[1], dtype=np.int64) if origin is None else np.array(origin, dtype=np.int64)
    return Projection(directions=directions, origin=origin, spacing=spacing, norm=norm)


def random_cells(rng, width, *, directions=2, size=50):
    """Return random cells of vectors of this width: cuts one time in two, else a lattice."""
    axes = rng.integers(-size, size + 1, (width, directions))
    if rng.integers(2):
        cuts = (np.unique(rng.integers(-size, size + 1, rng.integers(0, 4))) for _ in range(directions))
        return cut_cells(axes, *cuts)
    origin = rng.integers(-size, size + 1, directions)
    return lattice_cells(axes, spacing=int(rng.integers(1, size)), norm=int(rng.integers(0, 9)), origin=origin)


def random_coordinates(rng, *, columns=3):
    """Return random coordinates of one of the convex sets."""
    convex_set = rng.choice(["box", "box", "ball", "simplex"])
    bits = int(rng.integers(0, 8))
    if convex_set == "box":
        blocks, coding = rng.choice(list(BLOCKS), columns), rng.choice(["centred", "unit"])
    else:
        blocks, coding = ["line of 5"] * columns, "centred" if convex_set == "ball" else "unit"
    return coordinates_of(blocks, coding=str(coding), convex_set=str(convex_set), bits=bits)


def both_ways(question, source):
    """Return the answer as the room finds it, and as the audit does."""
    return exact(question, source), resummed(question, source)


def resummed(question, source):
    """Return the answer as the audit finds it."""
    of_kind = {"SecondMoment": second_moment.resummed, "CellSums": cell_sums.resummed}
    return of_kind[question.kind](question, source)
