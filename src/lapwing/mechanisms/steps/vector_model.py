"""From weighted means of rows to a released model: one product atom per mean."""

import numpy as np

from lapwing.release.coordinates import Coordinates
from lapwing.release.laws import Laws, laws_from_probabilities
from lapwing.release.model import Bernoulli, ColumnLaw, Indexed, ReleasedModel, narrow
from lapwing.schema.groupings import Grouping
from lapwing.schema.schemas import Schema


def means_as_model(
    schema: Schema, coordinates: Coordinates, weights: np.ndarray, means: np.ndarray, rows: int
) -> ReleasedModel:
    """Return one atom per mean with a positive weight: randomised rounding, column by column.

    Parameters
    ----------
    schema : Schema
        Of the release.
    coordinates : Coordinates
        Of the means.
    weights : ndarray of float64, shape (s,)
        Non-negative, not all zero.
    means : ndarray of float64, shape (s, p)
        In units, inside their convex set.
    rows : int
        The released number of rows.

    Returns
    -------
    ReleasedModel
        A line of two values has the law with its mean, a list the law that it is (uniform inside a group), a line of
        numbers the nearest value to its mean.
    """
    full = np.flatnonzero(weights > 0)
    starts = np.cumsum([0, *coordinates.widths])
    laws = {
        name: _law(schema, coordinates, place, means[full, starts[place] : starts[place + 1]])
        for place, name in enumerate(coordinates.columns)
    }
    return ReleasedModel(weights=weights[full].astype(np.float64), rows=rows, laws=laws)


def _law(schema: Schema, coordinates: Coordinates, place: int, block: np.ndarray) -> ColumnLaw:
    """Return the law of one column in every atom."""
    grouping, listed = coordinates.groupings[place], coordinates.listed[place]
    if coordinates.kinds[place] == "list":
        return _indexed(_list_laws(grouping, listed, block))
    share = (block[:, 0] + 1.0) / 2.0 if coordinates.coding == "centred" else block[:, 0]
    values = schema.field(coordinates.columns[place]).domain.values
    if values == 2 and not listed:
        return Bernoulli(np.clip(share, 0.0, 1.0))
    return _indexed(_line_laws(values, block, coordinates.coding == "centred"))


def _indexed(laws: Laws) -> Indexed:
    """Give each atom the law of its own place."""
    return Indexed(narrow(np.arange(laws.count)), laws)


def _list_laws(grouping: Grouping, listed: int, block: np.ndarray) -> Laws:
    """Return the laws with these probabilities of groups, uniform inside each; even ones where all are zero."""
    mass = np.zeros((len(block), grouping.groups))
    mass[:, : grouping.regular + listed] = np.clip(block, 0.0, 1.0)
    mass[mass.sum(axis=1) <= 0.0, : grouping.regular] = 1.0
    starts, stops, group = grouping.pieces()
    lengths = (stops - starts).astype(np.float64)
    share = lengths / np.bincount(group, lengths, minlength=grouping.groups)[group]
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
