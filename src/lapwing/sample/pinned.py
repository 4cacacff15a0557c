"""Turn the laws of some columns into points: each atom then holds one value of each of them.

What ties columns together row by row (rules, public totals) can only be told of values. So an atom is split into
copies that share its weight, and each copy draws its codes of these columns from the atom's own laws.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from lapwing.release.model import Bernoulli, ColumnLaw, Indexed, ReleasedModel, Spans
from lapwing.sample.draws import AtomRows, Histogram, draw_column

_CODE_TYPES = (np.uint8, np.uint16, np.uint32, np.int64)


def pinned(model: ReleasedModel, names: Sequence[str], rng: np.random.Generator, *, least: int) -> ReleasedModel:
    """Return the same mixture with points in some columns.

    Parameters
    ----------
    model : ReleasedModel
        k atoms; not changed.
    names : sequence of str
        Columns of the model.
    rng : numpy.random.Generator
        Public randomness.
    least : int, at least 1
        Atoms are split into copies, in proportion to their weights, until there are about so many. Atoms whose columns
        ``names`` are points already are never split.

    Returns
    -------
    ReleasedModel
        At most ``max(k, least)`` atoms, the copies of one atom beside each other; those without weight are left out.
        Each column in ``names`` has spans of length 1. All other columns keep their laws exactly.

    Notes
    -----
    Post-processing of released numbers: costs no budget. Codes are drawn in strata as rows are (`draws`), so that
    one-way laws of the columns come out closer than by independent draws; their joint law in each atom has the
    sampling error of its copies. Time ``O(atoms * names)``.

    Examples
    --------
    >>> coin = Bernoulli(np.array([0.25]))
    >>> model = ReleasedModel(weights=np.ones(1), rows=10, laws={"flag": coin})
    >>> found = pinned(model, ["flag"], np.random.default_rng(1), least=8)
    >>> found.atoms, int(points(found, ["flag"])["flag"].sum())
    (8, 2)
    """
    if not names:
        return model
    rows = AtomRows.of(split(model, names, least))
    laws: dict[str, ColumnLaw] = {}
    for name, law in model.laws.items():
        if name in names:
            table = Histogram.of(law.laws) if isinstance(law, Indexed) else None
            laws[name] = point_spans(draw_column(law, table, rows, rng))
        else:
            laws[name] = taken(law, rows.atoms)
    weights = (model.weights / np.maximum(np.bincount(rows.atoms, minlength=model.atoms), 1))[rows.atoms]
    return ReleasedModel(weights=weights, rows=model.rows, laws=laws, log_linear=model.log_linear)


def split(model: ReleasedModel, names: Sequence[str], least: int) -> np.ndarray:
    """Return the atom that each atom of `pinned` is a copy of: ndarray of int64, increasing."""
    atoms = np.flatnonzero(model.weights)
    weights = model.weights[atoms]
    is_wide = ~np.logical_and.reduce([is_point(model.laws[name])[atoms] for name in names])
    copies = np.ones(atoms.size, dtype=np.int64)
    room = max(least - atoms.size, 0)
    copies[is_wide] += np.floor(weights[is_wide] / weights.sum() * room).astype(np.int64)
    return np.repeat(atoms, copies)


def points(model: ReleasedModel, names: Sequence[str]) -> dict[str, np.ndarray]:
    """Return the codes of columns that are pinned.

    Parameters
    ----------
    model : ReleasedModel
        k atoms, each certain of one code of these columns.
    names : sequence of str
        Columns of the model.

    Returns
    -------
    dict of str to ndarray of int64, shape (k,)
    """
    return {name: _point_codes(model.laws[name]) for name in names}


def _point_codes(law: ColumnLaw) -> np.ndarray:
    """Return the code that each atom is certain of."""
    match law:
        case Indexed():
            return np.asarray(law.laws.starts[law.laws.offsets[law.index]])
        case Spans():
            return law.starts.astype(np.int64)
        case Bernoulli():
            return law.p.astype(np.int64)


def with_points(model: ReleasedModel, codes: Mapping[str, np.ndarray]) -> ReleasedModel:
    """Return a model with these codes, atom by atom, in place of the laws of some columns.

    Parameters
    ----------
    model : ReleasedModel
        k atoms.
    codes : mapping of str to ndarray of integers, shape (k,)
        Of columns of the model.

    Returns
    -------
    ReleasedModel
    """
    laws = {name: point_spans(codes[name]) if name in codes else law for name, law in model.laws.items()}
    return ReleasedModel(weights=model.weights, rows=model.rows, laws=laws, log_linear=model.log_linear)


def point_spans(codes: np.ndarray) -> Spans:
    """Return spans of length 1 in the smallest dtype: one code per atom."""
    dtype = next(each for each in _CODE_TYPES if int(codes.max()) < np.iinfo(each).max)
    return Spans(codes.astype(dtype), (codes.astype(np.int64) + 1).astype(dtype))


def is_point(law: ColumnLaw) -> np.ndarray:
    """Return whether the law of each atom is certain of one code: ndarray of bool, shape (k,)."""
    match law:
        case Indexed():
            laws = law.laws
            is_single = (np.diff(laws.offsets) == 1) & ((laws.stops - laws.starts)[laws.offsets[:-1]] == 1)
            return np.asarray(is_single[law.index])
        case Spans():
            return np.asarray(law.stops - law.starts == 1)
        case Bernoulli():
            return np.asarray((law.p == 0) | (law.p == 1))


def taken(law: ColumnLaw, atoms: np.ndarray) -> ColumnLaw:
    """Return the laws of some atoms, which may be named again and again."""
    match law:
        case Indexed():
            return Indexed(law.index[atoms], law.laws)
        case Spans():
            return Spans(law.starts[atoms], law.stops[atoms])
        case Bernoulli():
            return Bernoulli(law.p[atoms])
