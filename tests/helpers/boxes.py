"""Cells of the unit box as a paper sees them: corners in real coordinates, rows as points, loops and dicts only."""

import itertools

from helpers.leaf_trees import fitted_by_recursion

CODES = 2**32
"""Codes of a number from 0 to 1."""


def whole_box(d):
    return ((0.0, 1.0),) * d


def halves(box, axis):
    """Cut a box in the middle of one axis."""
    low, high = box[axis]
    middle = (low + high) / 2
    return [(*box[:axis], part, *box[axis + 1 :]) for part in ((low, middle), (middle, high))]


def longest_edge(box):
    return max(high - low for low, high in box)


def inside(point, box):
    return all(low <= x < high for x, (low, high) in zip(point, box, strict=True))


def grid_boxes(d, width):
    """Return the cells of a grid, the last column fastest."""
    steps = round(1 / width)
    sides = [(step / steps, (step + 1) / steps) for step in range(steps)]
    return list(itertools.product(sides, repeat=d))


def atoms(model, d):
    """Return the weight of each atom of a model by its box; a centre is the box of one code."""
    laws = [model.laws[f"x{place}"] for place in range(d)]
    boxes = [
        tuple((int(law.starts[atom]) / CODES, int(law.stops[atom]) / CODES) for law in laws)
        for atom in range(model.atoms)
    ]
    assert len(set(boxes)) == len(boxes)
    return dict(zip(boxes, model.weights.tolist(), strict=True))


def centre(box):
    """Return the code in the middle of a box."""
    middles = [(low + high) / 2 for low, high in box]
    return tuple((middle, middle + 1 / CODES) for middle in middles)


def fitted_boxes(root, leaves, children, total, threshold):
    """Return the fitted weights of leaves, given the noisy counts by box, by recursion.

    Parameters
    ----------
    root : box
    leaves : dict
        Noisy counts by box.
    children : callable
        From a box that is no leaf, and its depth, to its halves.
    total, threshold
        As for the fit.
    """
    boxes = {}

    def tree_below(box, path):
        if box in leaves:
            boxes[path] = box
            return leaves[box]
        return tuple(tree_below(child, (*path, place)) for place, child in enumerate(children(box, len(path))))

    tree = tree_below(root, ())
    masses = fitted_by_recursion(tree, total, threshold)
    return {boxes[path]: float(mass) for path, mass in masses.items() if mass > 0}
