"""Atoms for public cells that have a count but no atom.

Each new atom is like one that the model has, in as many public columns as the cell lets it be and in all others; what
must differ is taken from other atoms, or spread evenly over the cell. Rules are kept.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from lapwing.model.laws import Laws, point_laws
from lapwing.model.model import Bernoulli, ColumnLaw, Indexed, ReleasedModel, Spans, narrow
from lapwing.model.rules.keeping import Component, kept_components
from lapwing.model.rules.repair import Pool, repaired
from lapwing.model.sampling.draws import AtomRows, Histogram, draw_column, row_ends
from lapwing.model.sampling.fixed import points
from lapwing.schema.groupings.grouping import Grouping
from lapwing.schema.public_tables.cells import CodedTable
from lapwing.schema.rules.search import completed
from lapwing.schema.schemas import Schema

Box = Mapping[str, np.ndarray]
"""Columns and the runs of codes that each must lie in: ndarray of int64, shape (runs, 2)."""

_MOST_DONORS: Final = 20_000
_COPIES: Final = 4
_MOST_JOINT: Final = 2**16
_MOST_BOXES: Final = 4096
_CODE_TYPES: Final = (np.uint8, np.uint16, np.uint32, np.int64)


def open_boxes(model: ReleasedModel, tables: Sequence[CodedTable], rng: np.random.Generator) -> list[Box]:
    """Return the combinations of public columns that all tables allow and no atom has.

    Returns empty where there are more than 2**16 combinations: too many to look at.
    """
    names = tuple(dict.fromkeys(name for table in tables for name in table.columns))
    parts = {name: _refined([_grouping(table, name) for table in tables if name in table.columns]) for name in names}
    shape = tuple(len(part[1]) for part in parts.values())
    if np.prod(np.array(shape, dtype=np.float64)) > _MOST_JOINT:
        return []
    is_open = np.ones(shape, dtype=bool)
    for table in tables:
        where = [np.zeros(1, dtype=np.intp)] * len(table.columns)
        for at, name in enumerate(table.columns):
            groups = _grouping(table, name).apply(np.array([runs[0, 0] for runs in parts[name][1]]))
            where[at] = groups.reshape([-1 if other == name else 1 for other in names])
        cell = table.cell[tuple(where)]
        is_open &= (cell >= 0) & (table.counts[cell] > 0)
    atoms = np.flatnonzero(model.weights)
    rows = AtomRows.of(atoms)
    seen = [
        parts[name][0][
            np.searchsorted(parts[name][2], draw_column(model.laws[name], None, rows, rng), side="right") - 1
        ]
        for name in names
    ]
    is_open[tuple(seen)] = False
    found = np.argwhere(is_open)
    if len(found) > _MOST_BOXES:
        found = found[rng.permutation(len(found))[:_MOST_BOXES]]
    return [{name: parts[name][1][at] for name, at in zip(names, place, strict=True)} for place in found.tolist()]


def _grouping(table: CodedTable, name: str) -> Grouping:
    return table.groupings[table.columns.index(name)]


def _refined(groupings: Sequence[Grouping]) -> tuple[np.ndarray, list[np.ndarray], np.ndarray]:
    """Return what several groupings of a column tell apart: the part of each run, the runs of each part, the starts."""
    pieces = [grouping.pieces() for grouping in groupings]
    starts = np.unique(np.concatenate([piece[0] for piece in pieces]))
    stops = np.append(starts[1:], pieces[0][1].max())
    groups = np.stack([piece[2][np.searchsorted(piece[0], starts, side="right") - 1] for piece in pieces])
    _, part = np.unique(groups, axis=1, return_inverse=True)
    part = part.reshape(-1)
    runs = [np.stack([starts[part == at], stops[part == at]], axis=1) for at in range(int(part.max()) + 1)]
    return part, runs, starts


# --------------------------------------------------------------------------------------------------- new atoms


@dataclass(frozen=True, slots=True, eq=False)
class _Donors:
    """Atoms to copy, evenly by weight, with one code of each column that may have to change."""

    atoms: np.ndarray
    codes: Mapping[str, np.ndarray]


def with_atoms_in(
    model: ReleasedModel, schema: Schema, boxes: Sequence[Box], weight: float, rng: np.random.Generator
) -> ReleasedModel:
    """Return a model with atoms in some boxes.

    model: k atoms; if it was ruled, it keeps the rules of the schema. Returns the same atoms, and behind them up to 4
    in each box: none where the rules leave it empty.
    """
    kept = kept_components(model, schema)
    public = tuple(dict.fromkeys(name for box in boxes for name in box))
    ruled = tuple(name for component in kept for name in component.columns)
    donors = _donors(model, tuple(dict.fromkeys((*public, *ruled))), rng)
    chosen = np.concatenate([_alike(donors, box, rng) for box in boxes])
    copies = chosen.size // len(boxes)
    own = np.repeat(np.arange(len(boxes)), copies)
    codes = {name: values[chosen] for name, values in donors.codes.items()}
    is_set = {name: np.zeros(chosen.size, dtype=bool) for name in codes}
    for number, box in enumerate(boxes):
        new = np.arange(number * copies, (number + 1) * copies)
        for name, runs in box.items():
            outside = new[~_inside(codes[name][new], runs)]
            codes[name][outside] = _drawn(donors.codes[name], runs, outside.size, rng)
            is_set[name][outside] = True
    is_good = np.ones(chosen.size, dtype=bool)
    for component in _with_new(kept, model, codes):
        is_good &= _ruled(component, codes, [boxes[at] for at in own.tolist()], schema, (donors, rng))
        for name in component.columns:
            is_set[name] = np.ones(chosen.size, dtype=bool)
    atoms = donors.atoms[chosen[is_good]]
    shares = np.bincount(own[is_good], minlength=len(boxes))[own[is_good]]
    laws = {
        name: _extended(law, atoms, codes[name][is_good], is_set[name][is_good])
        if name in codes
        else _extended(law, atoms, np.zeros(atoms.size, dtype=np.int64), np.zeros(atoms.size, dtype=bool))
        for name, law in model.laws.items()
    }
    weights = np.concatenate([model.weights, weight / shares])
    return ReleasedModel(weights=weights, rows=model.rows, laws=laws, log_linear=model.log_linear)


def _with_new(
    kept: Sequence[Component], model: ReleasedModel, codes: Mapping[str, np.ndarray]
) -> tuple[Component, ...]:
    """Let maps know the determinants that only new atoms have: of one value each, and of those that are known the same.

    Atoms without weight do not count where a determinant has others.
    """
    weights = np.concatenate([model.weights, np.zeros(len(next(iter(codes.values()))))])
    found = []
    for component in kept:
        old = points(model, component.columns)
        both = {name: np.concatenate([old[name], codes[name]]) for name in component.columns}
        found.append(component.fixed(both, weights, is_settled=True))
    return tuple(found)


def _donors(model: ReleasedModel, names: Sequence[str], rng: np.random.Generator) -> _Donors:
    """Choose atoms to copy by weight, and draw their codes."""
    if np.count_nonzero(model.weights) > _MOST_DONORS:
        ends = row_ends(model.weights, _MOST_DONORS, rng)
        atoms = np.searchsorted(ends, np.arange(_MOST_DONORS), side="right")
    else:
        atoms = np.flatnonzero(model.weights)
    rows = AtomRows.of(atoms)
    tables = {name: Histogram.of(law.laws) for name, law in model.laws.items() if isinstance(law, Indexed)}
    codes = {name: draw_column(model.laws[name], tables.get(name), rows, rng).astype(np.int64) for name in names}
    return _Donors(atoms, codes)


def _alike(donors: _Donors, box: Box, rng: np.random.Generator) -> np.ndarray:
    """Choose the donors of one box among those that lie in it in most columns."""
    matched = np.sum([_inside(donors.codes[name], runs) for name, runs in box.items()], axis=0)
    best = np.flatnonzero(matched == matched.max())
    return np.asarray(best[rng.integers(best.size, size=_COPIES)])


def _inside(codes: np.ndarray, runs: np.ndarray) -> np.ndarray:
    """Return which codes lie in sorted runs."""
    at = np.searchsorted(runs[:, 0], codes, side="right") - 1
    return np.asarray((at >= 0) & (codes < runs[np.maximum(at, 0), 1]))


def _drawn(known: np.ndarray, runs: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    """Draw codes in runs: such as donors have, or any if none has one."""
    inside = known[_inside(known, runs)]
    if inside.size:
        return np.asarray(inside[rng.integers(inside.size, size=count)])
    lengths = runs[:, 1] - runs[:, 0]
    place = rng.integers(int(lengths.sum()), size=count)
    run = np.searchsorted(np.cumsum(lengths), place, side="right")
    return np.asarray(runs[run, 0] + place - (np.cumsum(lengths) - lengths)[run])


def _ruled(
    component: Component,
    codes: dict[str, np.ndarray],
    boxes: Sequence[Box],
    schema: Schema,
    means: tuple[_Donors, np.random.Generator],
) -> np.ndarray:
    """Let new atoms keep the rules of a component, in their boxes; return which do."""
    donors, rng = means
    names = component.columns
    fixed = [name for name in names if name in boxes[0]]
    pool = Pool({name: donors.codes[name] for name in names}, np.ones(donors.atoms.size))
    _take_maps(component, codes, boxes)
    found, is_lost = repaired(component, {name: codes[name] for name in names}, pool, rng, fixed=fixed)
    codes.update(found)
    for at in np.flatnonzero(is_lost).tolist():
        witness = completed(schema, {name: runs for name, runs in boxes[at].items() if name in names}, names)
        for name, code in (witness or {}).items():
            codes[name][at] = code
    return ~component.broken({name: codes[name] for name in names})


def _take_maps(component: Component, codes: dict[str, np.ndarray], boxes: Sequence[Box]) -> None:
    """Give new atoms the values that maps have for their determinants, where these lie in their boxes."""
    for each in component.ordered_maps:
        value = each.value(codes)
        for at in np.flatnonzero((value >= 0) & (value != codes[each.column])).tolist():
            runs = boxes[at].get(each.column)
            if runs is not None and _inside(value[at : at + 1], runs)[0]:
                codes[each.column][at] = value[at]


def _extended(law: ColumnLaw, donors: np.ndarray, codes: np.ndarray, is_set: np.ndarray) -> ColumnLaw:
    """Return laws with those of new atoms behind them: a point where a code is set, else the donor's."""
    match law:
        case Indexed():
            laws, index = law.laws, law.index.astype(np.int64)
            new = np.unique(codes[is_set])
            if new.size:
                more = point_laws(new)
                laws = Laws(
                    np.concatenate([laws.offsets, laws.offsets[-1] + more.offsets[1:]]),
                    *(
                        np.concatenate([getattr(laws, key), getattr(more, key)])
                        for key in ("starts", "stops", "probabilities")
                    ),
                )
            own = np.where(is_set, law.laws.count + np.searchsorted(new, codes), index[donors])
            return Indexed(narrow(np.concatenate([index, own])), laws)
        case Spans():
            starts = np.concatenate([law.starts, np.where(is_set, codes, law.starts[donors])]).astype(np.int64)
            stops = np.concatenate([law.stops, np.where(is_set, codes + 1, law.stops[donors])]).astype(np.int64)
            dtype = next(each for each in _CODE_TYPES if int(stops.max()) <= np.iinfo(each).max)
            return Spans(starts.astype(dtype), stops.astype(dtype))
        case Bernoulli():
            return Bernoulli(np.concatenate([law.p, np.where(is_set, codes, law.p[donors]).astype(law.p.dtype)]))
