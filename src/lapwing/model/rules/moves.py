"""Rows of one atom that exchange codes, so that fewer of them break rules and their one-way laws stay as they are."""

from collections.abc import Mapping, Sequence

import numpy as np

from lapwing.model.model import Indexed, ReleasedModel
from lapwing.model.rules.keeping import Codes, Component
from lapwing.model.sampling.draws import covered
from lapwing.schema.rules.codes import CombinationRule, ExactSum, coded_rules
from lapwing.schema.schemas import Schema

_ROUNDS = 20
_WORTH = 0.01
"""A round that helps fewer of the rows it tries is the last."""


def swapped(component: Component, codes: Codes, atoms: np.ndarray, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Let rows that break rules exchange single codes with rows of the same atom.

    codes: mapping of str to int64 (k,), of its columns; not changed; atoms: integers (k,), what rows are drawn from,
    increasing. Given the atom, columns are independent, so that an exchange within one is as likely as it was before.
    Returns dict of str to int64 (k,), the codes after at most 20 rounds; in each a row is offered one other row per
    column, and they exchange their codes where both together then break fewer rules. Sums are broken by nearly all
    pairs of rows, so that no row is offered another for their sake.
    """
    found = {name: np.array(codes[name], dtype=np.int64) for name in component.columns}
    starts = np.flatnonzero(np.diff(atoms, prepend=-1))
    sizes = np.diff(starts, append=atoms.size)
    first, size = np.repeat(starts, sizes), np.repeat(sizes, sizes)
    broken = [rule.broken(found) for rule in component.rules]
    if not broken:
        return found
    for _ in range(_ROUNDS):
        tried = helped = 0
        for name in reversed(component.columns):
            rows = np.flatnonzero(_breaks(component, name, broken) & (size > 1))
            tried += rows.size
            rows, partners = _paired(rows, first, size, rng)
            if rows.size:
                helped += _exchanged(component, name, found, broken, (rows, partners))
        if helped <= _WORTH * tried:
            break
    return found


def _breaks(component: Component, name: str, broken: list[np.ndarray]) -> np.ndarray:
    """Return which rows break a rule on a column, other than a sum."""
    found = np.zeros(broken[0].size, dtype=bool)
    for rule, is_broken in zip(component.rules, broken, strict=True):
        if name in rule.columns and not isinstance(rule, ExactSum):
            found |= is_broken
    return found


def _paired(
    rows: np.ndarray, first: np.ndarray, size: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Return rows and a random other row of the same atom for each, so that no row is named twice."""
    steps = 1 + (rng.random(rows.size) * (size[rows] - 1)).astype(np.int64)
    partners = first[rows] + (rows - first[rows] + steps) % size[rows]
    # The last pair that names a row has it; a pair stays if it has both of its rows.
    pair = np.arange(rows.size)
    holder = np.empty(size.size, dtype=np.int64)
    holder[rows] = pair
    holder[partners] = pair
    kept = (holder[rows] == pair) & (holder[partners] == pair)
    return rows[kept], partners[kept]


def _exchanged(
    component: Component,
    name: str,
    codes: dict[str, np.ndarray],
    broken: list[np.ndarray],
    pairs: tuple[np.ndarray, np.ndarray],
) -> int:
    """Exchange one column in the pairs of rows that are better off; changes codes and what is broken."""
    rules = {place: rule for place, rule in enumerate(component.rules) if name in rule.columns}
    names = {other for rule in rules.values() for other in rule.columns}
    one, two = ({other: codes[other][rows] for other in names} for rows in pairs)
    one[name], two[name] = two[name], one[name]
    after = {place: (rule.broken(one), rule.broken(two)) for place, rule in rules.items()}
    gain = np.zeros(pairs[0].size, dtype=np.int64)
    for place, then in after.items():
        for rows, is_broken in zip(pairs, then, strict=True):
            gain += broken[place][rows].astype(np.int64) - is_broken
    better = gain > 0
    for side, rows, exchanged in ((0, pairs[0], one), (1, pairs[1], two)):
        codes[name][rows[better]] = exchanged[name][better]
        for place, then in after.items():
            broken[place][rows[better]] = then[side][better]
    return int(np.count_nonzero(better))


# -- Codes that a rule about one column forbids move to codes beside them, inside the cell in which they were counted.


def moved_in_cells(
    model: ReleasedModel, schema: Schema, codes: Mapping[str, np.ndarray], rng: np.random.Generator
) -> dict[str, np.ndarray]:
    """Return codes drawn from a model, of which those forbidden by themselves stay in their cell, if it has others.

    model: from whose laws the codes were drawn: the ends of all pieces of a column's laws are the ends of its cells;
    codes: mapping of str to integers (n,), of some columns. Returns dict of str to (n,), a forbidden code is replaced
    by one of its cell's other codes, all with the same chance. Where a cell has none, and where a rule speaks of
    several columns, codes stay as they are.
    """
    own = [rule for rule in coded_rules(schema) if isinstance(rule, CombinationRule) and len(rule.columns) == 1]
    moved = dict(codes)
    for name in dict.fromkeys(rule.columns[0] for rule in own):
        law = model.laws[name]
        if name in codes and isinstance(law, Indexed):
            cells = np.unique(np.concatenate((law.laws.starts, law.laws.stops)).astype(np.int64))
            runs = _allowed_runs([rule for rule in own if rule.columns == (name,)])
            moved[name] = _moved(codes[name], cells, runs, rng)
    return moved


def _allowed_runs(rules: Sequence[CombinationRule]) -> np.ndarray:
    """Return the runs of codes that no rule of one column forbids: ndarray of int64, shape (runs, 2)."""
    parts = [rule.groupings[0].pieces() for rule in rules]
    starts = np.unique(np.concatenate([part[0] for part in parts]))
    stops = np.append(starts[1:], max(int(part[1][-1]) for part in parts))
    is_allowed = ~np.any([rule.broken({rule.columns[0]: starts}) for rule in rules], axis=0)
    return np.stack((starts[is_allowed], stops[is_allowed]), axis=1)


def _moved(codes: np.ndarray, cells: np.ndarray, runs: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return codes that lie in the runs wherever their cell has codes in them."""
    if not len(runs):
        return codes
    code = codes.astype(np.int64)
    wrong = np.flatnonzero(covered(code + 1, runs) == covered(code, runs))
    cell = np.searchsorted(cells, code[wrong], side="right") - 1
    first = covered(cells[cell], runs)
    room = covered(cells[cell + 1], runs) - first
    wrong, first, room = wrong[room > 0], first[room > 0], room[room > 0]
    place = first + np.minimum((rng.random(wrong.size) * room).astype(np.int64), room - 1)
    before = np.concatenate(([0], np.cumsum(runs[:, 1] - runs[:, 0])))
    run = np.searchsorted(before, place, side="right") - 1
    code[wrong] = runs[run, 0] + place - before[run]
    return code.astype(codes.dtype)
