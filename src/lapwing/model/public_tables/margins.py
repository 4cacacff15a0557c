"""Rake a released model to the exact public tables of its schema: afterwards its margins are theirs.

Weights are scaled, table by table and again, until every table has its counts (iterative proportional fitting). This
keeps, inside each set of cells, all that the mechanism learned. A cell that has a count but no atom is given atoms that
are like others in everything else.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from lapwing.model.model import ReleasedModel
from lapwing.model.public_tables.atoms import open_boxes, with_atoms_in
from lapwing.model.public_tables.strata import MIXED, atom_cells, atom_groups, strata_of, stratum_rows
from lapwing.model.sampling.fixed import pinned, taken
from lapwing.schema.public_tables.cells import CodedTable, cell_runs, coded_tables
from lapwing.schema.public_tables.tables import PublicTable
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
class Raked:
    """A released model whose margins are the public ones.

    tables: one for each exact public table, in the order of the schema; changed: share of the weight that was moved
    from atoms to others, from 0 to 1: the total variation distance from the model before, once each of its atoms lies
    in one cell of each table, is at most this. No share of `HeldTable` is larger; off: of as many rows out as the
    tables count, how many would have to be elsewhere for the worst table; is_nearing: whether raking still came nearer
    to the tables when it ended.
    """

    model: ReleasedModel
    tables: tuple[HeldTable, ...]
    changed: float = 0.0
    off: int = 0
    is_nearing: bool = False


def raked_to_public(model: ReleasedModel, schema: Schema, rng: np.random.Generator) -> Raked:
    """Return a released model that holds the exact public tables of its schema.

    model: as the mechanism made it, or ruled; not changed; schema: with its public tables. Those that are priors are
    not looked at. Returns the model as it is, where no public table is exact. Otherwise every atom lies in one cell of
    each table; columns whose laws lay in several are pinned (`pinned`). Tables that contradict each other or a rule,
    unseen when the schema was read, are held one after another, as far as any atom is left.

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
        return Raked(model, ())
    total = tables[0].table.total
    model = _unmixed(model, tables, rng)
    start = model.weights / model.weights.sum()
    cells = [atom_cells(model, table) for table in tables]
    before = [_distance(own, model.weights, table) for own, table in zip(cells, tables, strict=True)]
    boxes = [
        cell_runs(table, int(cell))
        for table, own in zip(tables, cells, strict=True)
        for cell in np.flatnonzero((np.bincount(own[own >= 0], minlength=table.counts.size) == 0) & (table.counts > 0))
    ]
    if boxes:
        model = with_atoms_in(model, schema, boxes, _FEW_ROWS / total * float(model.weights.sum()), rng)
    weights, after, is_nearing = _raked(model, tables)
    if max(after) > HELD:
        joint = open_boxes(model, tables, rng)
        if joint:
            model = with_atoms_in(model, schema, joint, _FEW_ROWS / total * float(model.weights.sum()), rng)
            weights, after, is_nearing = _raked(model, tables)
    held = tuple(HeldTable(table.table, *gaps) for table, *gaps in zip(tables, before, after, strict=True))
    atoms = np.flatnonzero(weights)
    laws = {name: taken(law, atoms) for name, law in model.laws.items()}
    raked = ReleasedModel(weights=weights[atoms], rows=total, laws=laws, log_linear=model.log_linear)
    gained = weights / weights.sum() - np.pad(start, (0, weights.size - start.size))
    off = _rows_off(raked, tables, max(after), rng) if max(after) > HELD else 0
    return Raked(raked, held, min(1.0, float(np.maximum(gained, 0.0).sum())), off, is_nearing)


def _rows_off(model: ReleasedModel, tables: Sequence[CodedTable], gap: float, rng: np.random.Generator) -> int:
    """Return how many of the rows out miss the table that they miss most, by this share in the model."""
    strata = strata_of([atom_cells(model, table) for table in tables], tables)
    if (strata.cells < 0).any():  # rows come from strata only where all lie in cells
        return max(1, round(gap * model.rows))
    rows, _ = stratum_rows(strata, model.weights, model.rows, rng)
    gaps = [
        np.abs(np.bincount(own, rows, table.counts.size) - table.counts).sum() / 2
        for own, table in zip(strata.cells, tables, strict=True)
    ]
    return round(float(max(gaps)))


def _unmixed(model: ReleasedModel, tables: Sequence[CodedTable], rng: np.random.Generator) -> ReleasedModel:
    """Pin the columns in which an atom lies in several groups of a table."""
    mixed = {
        name
        for table in tables
        for name, grouping in zip(table.columns, table.groupings, strict=True)
        if (atom_groups(model.laws[name], grouping) == MIXED).any()
    }
    least = min(_MOST_ATOMS, max(2 * tables[0].table.total, _LEAST_ATOMS))
    return pinned(model, [name for name in model.laws if name in mixed], rng, least=least)


def _distance(cells: np.ndarray, weights: np.ndarray, table: CodedTable) -> float:
    """Return the share of the weight that is not where the table has it."""
    masses = np.bincount(cells + 1, weights, table.counts.size + 1) / weights.sum()
    wanted = np.concatenate(([0.0], table.counts / table.table.total))
    return min(1.0, float(np.abs(masses - wanted).sum() / 2))  # rounding can pass 1


def _raked(model: ReleasedModel, tables: Sequence[CodedTable]) -> tuple[np.ndarray, list[float], bool]:
    """Return weights with the counts of all tables, what is wrong in each, and whether that was still falling."""
    cells = [atom_cells(model, table) for table in tables]
    strata = strata_of(cells, tables)
    # Nobody is in cell -1: what lies there loses its weight, as in a cell that counts nobody.
    steps = [(own + 1, np.append(0.0, shares)) for own, shares in zip(strata.cells, strata.shares, strict=True)]
    start = strata.masses(model.weights)
    masses = start / start.sum()
    halfway, earlier = np.inf, (np.inf, masses)
    for sweep in range(1, _SWEEPS + 1):
        for own, shares in steps:
            masses = _scaled(masses, own, shares)
        if sweep > _LOOKED_AT and sweep % _LOOKED_AT:
            continue
        gaps = [_distance(own, masses, table) for own, table in zip(strata.cells, tables, strict=True)]
        if max(gaps) <= _TOLERANCE:
            break
        if sweep == _SWEEPS // 2:
            halfway = max(gaps)
        if sweep % _STALLED == 0:
            if _is_stalled(earlier, max(gaps), masses):
                halfway = 0.0
                break
            earlier = max(gaps), masses
    scale = np.divide(masses, start, out=np.zeros(start.size), where=start > 0)
    return model.weights * scale[strata.own], gaps, max(gaps) <= _NEARING * halfway


def _is_stalled(earlier: tuple[float, np.ndarray], gap: float, masses: np.ndarray) -> bool:
    """Return whether neither the gap fell nor any stratum grew since an earlier sweep."""
    return gap > (1 - _STILL) * earlier[0] and bool((masses <= (1 + _STILL) * earlier[1]).all())


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
