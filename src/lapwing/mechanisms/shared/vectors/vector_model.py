"""From weighted means of rows to a released model: one product atom per mean."""

from collections.abc import Mapping

import numpy as np

from lapwing.kernel.questions.shared.coordinates import Coordinates
from lapwing.mechanisms.shared.vectors.means import Means
from lapwing.model.laws import Laws, laws_from_probabilities
from lapwing.model.model import Bernoulli, ColumnLaw, Indexed, ReleasedModel, narrow
from lapwing.schema.groupings.grouping import Grouping
from lapwing.schema.schemas import Schema

Detail = tuple[Grouping, np.ndarray]
Details = Mapping[str, Detail]


def means_as_model(
    schema: Schema, coordinates: Coordinates, found: Means, rows: int, details: Details
) -> ReleasedModel:
    """Return one atom per mean with a positive weight: randomised rounding, column by column.

    details: mapping of str to (Grouping, float64), finer groups of wide columns with their masses; columns without them
    are even inside a group. Returns a line of two values has the law with its mean, a list the law that it is, a line
    of numbers the nearest value to its mean.
    """
    full = np.flatnonzero(found.weights > 0)
    starts = np.cumsum([0, *coordinates.widths])
    laws: dict[str, ColumnLaw] = {}
    for place, name in enumerate(coordinates.columns):
        block = found.means[full, starts[place] : starts[place + 1]]
        if coordinates.kinds[place] == "list":
            laws[name] = _indexed(
                _list_laws(coordinates.groupings[place], coordinates.listed[place], block, details.get(name))
            )
        else:
            laws[name] = _line_law(schema, coordinates, place, block)
    return ReleasedModel(weights=found.weights[full].astype(np.float64), rows=rows, laws=laws)


def _line_law(schema: Schema, coordinates: Coordinates, place: int, block: np.ndarray) -> ColumnLaw:
    """Return the law of a column on a line, in every atom."""
    listed = coordinates.listed[place]
    share = (block[:, 0] + 1.0) / 2.0 if coordinates.coding == "centred" else block[:, 0]
    values = schema.field(coordinates.columns[place]).domain.values
    if values == 2 and not listed:
        return Bernoulli(np.clip(share, 0.0, 1.0))
    return _indexed(_line_laws(values, block, coordinates.coding == "centred"))


def _indexed(laws: Laws) -> Indexed:
    """Give each atom the law of its own place."""
    return Indexed(narrow(np.arange(laws.count)), laws)


def _list_laws(grouping: Grouping, listed: int, block: np.ndarray, detail: Detail | None) -> Laws:
    """Return the laws with these probabilities of groups, inside each as the details say or uniform.

    Even ones where all probabilities are zero.
    """
    mass = np.zeros((len(block), grouping.groups))
    mass[:, : grouping.regular + listed] = np.clip(block, 0.0, 1.0)
    mass[mass.sum(axis=1) <= 0.0, : grouping.regular] = 1.0
    starts, stops, group = grouping.pieces()
    inside = (stops - starts).astype(np.float64)
    if detail is not None:
        finer, masses = detail
        starts, stops, fine = finer.pieces()
        lengths = (stops - starts).astype(np.float64)
        group = grouping.apply(starts)
        even = lengths / np.bincount(group, lengths, minlength=grouping.groups)[group]
        known = np.append(masses, np.zeros(finer.reserved))[fine]
        known *= lengths / np.bincount(fine, lengths, minlength=finer.groups)[fine]
        is_known = np.bincount(group, known, minlength=grouping.groups)[group] > 0.0
        inside = np.where(is_known, known, even)
    share = inside / np.bincount(group, inside, minlength=grouping.groups)[group]
    return laws_from_probabilities(starts, stops, mass[:, group] * share)


def _line_laws(values: int, block: np.ndarray, is_centred: bool) -> Laws:
    """Return points at the nearest codes to means of regular values, and the listed codes with their shares.

    The line's coordinate sums the regular rows only, so their mean is it divided by their share.
    """
    listed = np.clip(block[:, 1:], 0.0, 1.0)
    listed /= np.maximum(listed.sum(axis=1, keepdims=True), 1.0)
    regular = np.maximum(1.0 - listed.sum(axis=1), 1e-9)
    place = np.clip(block[:, 0] / regular, -1.0 if is_centred else 0.0, 1.0)
    codes = np.rint((place + 1.0) / 2.0 * (values - 1) if is_centred else place * (values - 1)).astype(np.int64)
    pieces = np.concatenate(
        (codes[:, None], np.broadcast_to(values + np.arange(listed.shape[1]), listed.shape)), axis=1
    )
    masses = np.concatenate((regular[:, None], listed), axis=1)
    kept = masses > 1e-12
    masses = np.where(kept, masses, 0.0)
    masses /= masses.sum(axis=1, keepdims=True)
    offsets = np.concatenate(([0], np.cumsum(kept.sum(axis=1))))
    return Laws(offsets, pieces[kept], pieces[kept] + 1, masses[kept])
