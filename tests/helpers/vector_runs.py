"""A mechanism for tests that asks questions about vectors: all forms of them, over any schema."""

import functools
from dataclasses import dataclass

import numpy as np

from helpers.vectors import cut_cells, lattice_cells, moment_asked, sums_asked
from lapwing.kernel.questions.shared.coordinates import Coordinates
from lapwing.mechanisms.shared.base import Mechanism
from lapwing.model.laws import uniform_law
from lapwing.model.model import Indexed, ReleasedModel
from lapwing.schema.groupings.grouping import evenly


def coordinates_of_schema(schema, convex_set="box", **settings):
    """Return coordinates of all columns: in a box, ordered ones as lines and others as lists; else all as lines."""
    box = convex_set == "box"
    return Coordinates(
        columns=tuple(column.name for column in schema.columns),
        groupings=tuple(evenly(column.domain, 3) for column in schema.columns),
        kinds=tuple("line" if column.domain.ordered or not box else "list" for column in schema.columns),
        listed=tuple(column.domain.specials + column.domain.missing if box else 0 for column in schema.columns),
        coding="unit" if convex_set == "simplex" else settings.pop("coding", "centred"),
        convex_set=convex_set,
        **settings,
    )


def cuts_of(coordinates):
    """Return four cells: two directions, cut in the middle."""
    signs = np.array([[1 + place % 3, (-1) ** place * 2] for place in range(coordinates.size)])
    return cut_cells(signs, [0], [0])


def lattice_of(coordinates):
    """Return the five cells of a lattice in two dimensions."""
    return lattice_cells(cuts_of(coordinates).directions, spacing=2 * coordinates.unit, norm=1)


def many_cells(coordinates):
    """Return more cells than there are rows."""
    return cut_cells(cuts_of(coordinates).directions, range(-2, 3), range(-2, 3))


def moment_of(diagonal, **settings):
    """Return a way to ask for a second moment of any schema."""

    def form(schema, cost):
        coordinates = coordinates_of_schema(schema, **settings)
        return moment_asked(coordinates, diagonal=diagonal or len(coordinates.columns) == 1, cost=cost)

    return form


def sums_of(cells, summed="vectors", damping=None, **settings):
    """Return a way to ask for sums over cells of any schema."""

    def form(schema, cost):
        coordinates = coordinates_of_schema(schema, **settings)
        return sums_asked(coordinates, cells and cells(coordinates), summed, damping=damping, cost=cost)

    return form


FORMS = {
    "products": moment_of(diagonal=False),
    "squares": moment_of(diagonal=True, bits=3),
    "ones": moment_of(diagonal=True, coding="unit"),
    "products in a ball": moment_of(diagonal=True, convex_set="ball", bits=4),
    "products in a simplex": moment_of(diagonal=True, convex_set="simplex", bits=4),
    "rows": sums_of(many_cells, "rows"),
    "rows of a lattice": sums_of(lattice_of, "rows", convex_set="ball", bits=4),
    "totals": sums_of(None),
    "sums": sums_of(many_cells, bits=3),
    "sums of a lattice": sums_of(lattice_of, coding="unit"),
    "sums in a ball": sums_of(cuts_of, convex_set="ball", bits=4),
    "sums in a simplex": sums_of(None, convex_set="simplex", bits=4),
    "means": sums_of(cuts_of, "damped means", damping=2),
    "means of a lattice": sums_of(lattice_of, "damped means", damping=5, coding="unit", bits=3),
    "means that are rounded": sums_of(None, "damped means", damping=2**31),
}


@dataclass(frozen=True, slots=True)
class AskingVectors(Mechanism):
    """Ask questions of some forms at once, then sums over cells along the leading directions of the first answer."""

    forms: tuple[str, ...] = tuple(FORMS)
    learns: bool = False

    name = "AskingVectors"
    summary = "asks for moments and sums of vectors"
    relations = ("add-remove", "replace-one")

    def run(self, curator, schema, budget, rng):
        costs = budget.split([1] * (len(self.forms) + self.learns))
        asked = [FORMS[form](schema, cost) for form, cost in zip(self.forms, costs, strict=False)]
        answers = list(curator.ask(*asked))
        if self.learns:
            answers += curator.ask(learned(answers[0], costs[-1]))
        rows = functools.reduce(lambda known, answer: 31 * known + int(answer.values.sum()), answers, 0)
        laws = {column.name: Indexed(np.zeros(1, np.uint8), uniform_law(column.domain)) for column in schema.columns}
        return ReleasedModel(weights=np.ones(1), rows=rows % 1009, laws=laws)


def learned(moment, cost):
    """Return a question for sums over cells along the leading eigenvectors of a noisy second moment."""
    return sums_asked(
        moment.question.coordinates, leading(moment.question, moment.values), "damped means", damping=3, cost=cost
    )


def leading(question, values):
    """Return cells along two leading eigenvectors, rounded to whole numbers."""
    coordinates = question.coordinates
    products = np.zeros((coordinates.size, coordinates.size))
    products[question.pairs] = values
    _, axes = np.linalg.eigh(products + np.triu(products, 1).T)
    return lattice_cells(np.rint(axes[:, ::-1][:, :2] * 2**20), spacing=2**19 * coordinates.unit, norm=4)
