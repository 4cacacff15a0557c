"""Rake a released model to the exact public tables of its schema: afterwards its margins are theirs.

Weights are scaled, table by table and again, until every table has its counts (iterative proportional fitting). This
keeps, inside each set of cells, all that the mechanism learned. A cell that has a count but no atom is given atoms that
are like others in everything else.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from lapwing.maths.runs import inside
from lapwing.model.laws import Laws, point_laws
from lapwing.model.model import Bernoulli, ColumnLaw, Indexed, ReleasedModel, Spans, narrow
from lapwing.model.sampling.draws import AtomRows, draw_column, row_ends
from lapwing.model.sampling.fixed import narrow_spans, pin_columns, points, take_laws
from lapwing.model.sampling.keeping import Component, kept_components
from lapwing.model.sampling.public_strata import MIXED, PublicTotals, atom_groups, stratum_rows
from lapwing.model.sampling.repair import Pool, repair_rows
from lapwing.schema.groupings.grouping import Grouping
from lapwing.schema.groupings.hierarchies import common_refinement
from lapwing.schema.public_tables.cells import CodedTable, cell_runs, coded_tables
from lapwing.schema.public_tables.tables import PublicTable
from lapwing.schema.rules.search import complete_row
from lapwing.schema.schemas import Schema

_MOST_ATOMS: Final = 400_000
_LEAST_ATOMS: Final = 20_000
_SWEEPS: Final = 2_000
_TOLERANCE: Final = 1e-10
_LOOKED_AT: Final = 10
"""So many sweeps at first, and then every so many, the gap is looked at."""

_STALLED: Final = 100
_STILL: Final = 0.01
"""Raking ends where in so many sweeps neither the gap fell nor any stratum grew by this part. The gap alone would not
do: while what starts with next to no weight grows, it stands still for hundreds of sweeps."""

_NEARING: Final = 0.75
"""Where no cell is contradicted, the second half of the sweeps brings the gap to this part of it, or lower."""

HELD: Final = 1e-9
"""How far a count of a raked model may be from the table's, as a share of all rows."""

_FEW_ROWS: Final = 0.01
"""Weight of atoms that are added, in rows: enough to grow from, too little to matter where they need not."""


@dataclass(frozen=True, slots=True, eq=False)
class HeldTable:
    """How a public table is held.

    before: share of the weight that had to move between its cells against the model before, from 0 to 1; after: the
    same of the model that is released: at most `HELD`, unless the tables contradict each other or raking ended too
    early.
    """

    table: PublicTable
    before: float
    after: float


@dataclass(frozen=True, slots=True, eq=False)
class RakedModel:
    """A released model whose margins are the public ones.

    tables: one for each exact public table, in the order of the schema; changed: share of the weight that was moved
    from atoms to others, from 0 to 1: the total variation distance from the model before, once each of its atoms lies
    in one cell of each table, is at most this. No share of `HeldTable` is larger; off: of as many synthetic rows as the
    tables count, how many would have to be elsewhere for the worst table; is_nearing: whether raking still came nearer
    to the tables when it ended.
    """

    model: ReleasedModel
    tables: tuple[HeldTable, ...]
    changed: float = 0.0
    off: int = 0
    is_nearing: bool = False


def rake_to_public(model: ReleasedModel, schema: Schema, rng: np.random.Generator) -> RakedModel:
    """Return a released model that holds the exact public tables of its schema.

    model: as the mechanism made it, or ruled; not changed; schema: with its public tables. Those that are priors are
    not looked at. Returns the model as it is, where no public table is exact. Otherwise every atom lies in one cell of
    each table; columns whose laws lay in several are pinned (`pin_columns`). Tables that contradict each other or a
    rule, unseen when the schema was read, are held one after another, as far as any atom is left.

    Guarantee: post-processing of released numbers, public tables and public randomness; costs no budget. Rows drawn
    from a ruled model still keep every rule. Time ``O(k (tables + columns))`` for k atoms, and for each of at most 2000
    sweeps the sets of cells that occur; sweeps end early where they change nothing any more.

    References
    ----------
    Deming and Stephan (1940), "On a least squares adjustment of a sampled frequency table when the expected marginal
    totals are known"; Ireland and Kullback (1968): the fit is the nearest in relative entropy that has the margins.
    """
    tables = coded_tables(schema)
    if not tables:
        return RakedModel(model, ())
    total = tables[0].table.total
    model = _unmixed(model, tables, rng)
    start = model.weights / model.weights.sum()
    totals = PublicTotals.of(model, tables)
    before = totals.gaps(model.weights, totals.own)
    boxes: list[Box] = [
        cell_runs(table, int(cell))
        for table, own in zip(tables, totals.cells, strict=True)
        for cell in np.setdiff1d(np.flatnonzero(table.counts), own)
    ]
    if boxes:
        model = with_atoms_in(model, schema, boxes, _FEW_ROWS / total * float(model.weights.sum()), rng)
        totals = PublicTotals.of(model, tables)
    weights, after, is_nearing = _raked(totals, model.weights)
    if max(after) > HELD and (boxes := open_boxes(model, tables, rng)):
        model = with_atoms_in(model, schema, boxes, _FEW_ROWS / total * float(model.weights.sum()), rng)
        totals = PublicTotals.of(model, tables)
        weights, after, is_nearing = _raked(totals, model.weights)
    held = tuple(HeldTable(table.table, *gaps) for table, *gaps in zip(tables, before, after, strict=True))
    atoms = np.flatnonzero(weights)
    laws = {name: take_laws(law, atoms) for name, law in model.laws.items()}
    raked = ReleasedModel(weights=weights[atoms], rows=total, laws=laws, log_linear=model.log_linear)
    gained = weights / weights.sum() - np.pad(start, (0, weights.size - start.size))
    off = _rows_off(raked, tables, max(after), rng) if max(after) > HELD else 0
    return RakedModel(raked, held, min(1.0, float(np.maximum(gained, 0.0).sum())), off, is_nearing)


def _rows_off(model: ReleasedModel, tables: Sequence[CodedTable], gap: float, rng: np.random.Generator) -> int:
    """Return how many of the synthetic rows miss the table that they miss most, by this share in the model."""
    totals = PublicTotals.of(model, tables)
    if (totals.cells < 0).any():  # rows come from strata only where all lie in cells
        return max(1, round(gap * model.rows))
    rows, _ = stratum_rows(totals, model.weights, model.rows, rng)
    return round(max(totals.gaps(rows)) * model.rows)


def _unmixed(model: ReleasedModel, tables: Sequence[CodedTable], rng: np.random.Generator) -> ReleasedModel:
    """Pin the columns in which an atom lies in several groups of a table."""
    mixed = {
        name
        for table in tables
        for name, grouping in zip(table.columns, table.groupings, strict=True)
        if (atom_groups(model.laws[name], grouping) == MIXED).any()
    }
    least = min(_MOST_ATOMS, max(2 * tables[0].table.total, _LEAST_ATOMS))
    return pin_columns(model, [name for name in model.laws if name in mixed], rng, least=least)


def _raked(totals: PublicTotals, weights: np.ndarray) -> tuple[np.ndarray, list[float], bool]:
    """Return weights with the counts of all tables, what is wrong in each, and whether that was still falling."""
    # Nobody is in cell -1: what lies there loses its weight, as in a cell that counts nobody.
    steps = [(own + 1, np.append(0.0, shares)) for own, shares in totals.targets]
    start = totals.masses(weights)
    masses = start / start.sum()
    halfway, earlier = np.inf, (np.inf, masses)
    for sweep in range(1, _SWEEPS + 1):
        for own, shares in steps:
            masses = _scaled(masses, own, shares)
        if sweep > _LOOKED_AT and sweep % _LOOKED_AT:
            continue
        gaps = totals.gaps(masses)
        if max(gaps) <= _TOLERANCE:
            break
        if sweep == _SWEEPS // 2:
            halfway = max(gaps)
        if sweep % _STALLED == 0:
            has_grown = bool((masses > (1 + _STILL) * earlier[1]).any())
            if max(gaps) > (1 - _STILL) * earlier[0] and not has_grown:
                halfway = 0.0
                break
            earlier = max(gaps), masses
    scale = np.divide(masses, start, out=np.zeros(start.size), where=start > 0)
    return weights * scale[totals.own], gaps, max(gaps) <= _NEARING * halfway


def _scaled(masses: np.ndarray, own: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Give the strata of each cell its share; leave all as they are where every cell with a share is empty.

    Tables can contradict each other, or what the rules made of the model, so that no stratum is counted by all: then
    those are held that can be, one after the other, and a release that is paid for is not lost.
    """
    sums = np.bincount(own, masses, shares.size)
    is_filled = sums > np.finfo(np.float64).tiny
    if not shares[is_filled].any():
        return masses
    return np.asarray(masses * np.divide(shares, sums, out=np.zeros(shares.size), where=is_filled)[own])


# -- Atoms for public cells that have a count but no atom.


Box = Mapping[str, np.ndarray]
"""Columns and the runs of codes that each must lie in: ndarray of int64, shape (runs, 2)."""

_MOST_DONORS: Final = 20_000
_COPIES: Final = 4
_MOST_JOINT: Final = 2**16
_MOST_BOXES: Final = 4096


def open_boxes(model: ReleasedModel, tables: Sequence[CodedTable], rng: np.random.Generator) -> list[Box]:
    """Return the combinations of public columns that all tables allow and no atom has."""
    names = tuple(dict.fromkeys(name for table in tables for name in table.columns))
    parts = {
        name: _refined([table.groupings[table.columns.index(name)] for table in tables if name in table.columns])
        for name in names
    }
    shape = tuple(len(part[1]) for part in parts.values())
    if np.prod(np.array(shape, dtype=np.float64)) > _MOST_JOINT:
        return []
    is_open = np.ones(shape, dtype=bool)
    for table in tables:
        where = [np.zeros(1, dtype=np.intp)] * len(table.columns)
        for at, (name, grouping) in enumerate(zip(table.columns, table.groupings, strict=True)):
            groups = grouping.apply(np.array([runs[0, 0] for runs in parts[name][1]]))
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


def _refined(groupings: Sequence[Grouping]) -> tuple[np.ndarray, list[np.ndarray], np.ndarray]:
    """Return what several groupings of a column tell apart: the part of each run, the runs of each part, the starts."""
    starts, groups = common_refinement(groupings)
    stops = np.append(starts[1:], groupings[0].values + groupings[0].reserved)
    _, part = np.unique(groups, axis=1, return_inverse=True)
    part = part.reshape(-1)
    runs = [np.stack([starts[part == at], stops[part == at]], axis=1) for at in range(int(part.max()) + 1)]
    return part, runs, starts


# --------------------------------------------------------------------------------------------------- new atoms


def with_atoms_in(
    model: ReleasedModel, schema: Schema, boxes: Sequence[Box], weight: float, rng: np.random.Generator
) -> ReleasedModel:
    """Return a model with atoms in some boxes."""
    kept = kept_components(model, schema)
    public = tuple(dict.fromkeys(name for box in boxes for name in box))
    ruled = tuple(name for component in kept for name in component.columns)
    atoms = np.flatnonzero(model.weights)
    if atoms.size > _MOST_DONORS:
        ends = row_ends(model.weights, _MOST_DONORS, rng)
        atoms = np.searchsorted(ends, np.arange(_MOST_DONORS), side="right")
    rows = AtomRows.of(atoms)
    names = dict.fromkeys((*public, *ruled))
    donors = {name: draw_column(model.laws[name], None, rows, rng).astype(np.int64) for name in names}
    copied = []
    for box in boxes:  # copied are some of those that lie in the box in most columns
        matched = np.sum([inside(donors[name], runs) for name, runs in box.items()], axis=0)
        best = np.flatnonzero(matched == matched.max())
        copied.append(best[rng.integers(best.size, size=_COPIES)])
    chosen = np.concatenate(copied)
    own = np.repeat(np.arange(len(boxes)), _COPIES)
    codes = {name: values[chosen] for name, values in donors.items()}
    is_set = {name: np.zeros(chosen.size, dtype=bool) for name in codes}
    for number, box in enumerate(boxes):
        new = np.arange(number * _COPIES, (number + 1) * _COPIES)
        for name, runs in box.items():
            outside = new[~inside(codes[name][new], runs)]
            codes[name][outside] = _drawn(donors[name], runs, outside.size, rng)
            is_set[name][outside] = True
    is_good = np.ones(chosen.size, dtype=bool)
    for component in _with_new(kept, model, codes):
        is_good &= _ruled(component, codes, [boxes[at] for at in own.tolist()], schema, (donors, rng))
        for name in component.columns:
            is_set[name] = np.ones(chosen.size, dtype=bool)
    atoms, nothing = atoms[chosen[is_good]], np.zeros(chosen.size, dtype=np.int64)
    shares = np.bincount(own[is_good], minlength=len(boxes))[own[is_good]]
    laws = {
        name: _extended(law, atoms, codes.get(name, nothing)[is_good], is_set.get(name, nothing > 0)[is_good])
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


def _drawn(known: np.ndarray, runs: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    """Draw codes in runs: such as donors have, or any if none has one."""
    fitting = known[inside(known, runs)]
    if fitting.size:
        return np.asarray(fitting[rng.integers(fitting.size, size=count)])
    lengths = runs[:, 1] - runs[:, 0]
    place = rng.integers(int(lengths.sum()), size=count)
    run = np.searchsorted(np.cumsum(lengths), place, side="right")
    return np.asarray(runs[run, 0] + place - (np.cumsum(lengths) - lengths)[run])


def _ruled(
    component: Component,
    codes: dict[str, np.ndarray],
    boxes: Sequence[Box],
    schema: Schema,
    means: tuple[dict[str, np.ndarray], np.random.Generator],
) -> np.ndarray:
    """Let new atoms keep the rules of a component, in their boxes; return which do."""
    donors, rng = means
    names = component.columns
    fixed = [name for name in names if name in boxes[0]]
    pool = Pool({name: donors[name] for name in names}, np.ones(donors[names[0]].size))
    _take_maps(component, codes, boxes)
    found, is_lost = repair_rows(component, {name: codes[name] for name in names}, pool, rng, fixed=fixed)
    codes.update(found)
    for at in np.flatnonzero(is_lost).tolist():
        witness = complete_row(schema, {name: runs for name, runs in boxes[at].items() if name in names}, names)
        for name, code in (witness or {}).items():
            codes[name][at] = code
    return ~component.broken({name: codes[name] for name in names})


def _take_maps(component: Component, codes: dict[str, np.ndarray], boxes: Sequence[Box]) -> None:
    """Give new atoms the values that maps have for their determinants, where these lie in their boxes."""
    for each in component.ordered_maps:
        value = each.value(codes)
        for at in np.flatnonzero((value >= 0) & (value != codes[each.column])).tolist():
            runs = boxes[at].get(each.column)
            if runs is not None and inside(value[at : at + 1], runs)[0]:
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
            return narrow_spans(starts, stops)
        case Bernoulli():
            return Bernoulli(np.concatenate([law.p, np.where(is_set, codes, law.p[donors]).astype(law.p.dtype)]))
