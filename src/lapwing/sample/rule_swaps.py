"""Rows of one atom that exchange codes, so that fewer of them break rules and their one-way laws stay as they are."""

import numpy as np

from lapwing.sample.rule_keeping import Codes, Component
from lapwing.schema.rule_codes import ExactSum

_ROUNDS = 20
_WORTH = 0.01
"""A round that helps fewer of the rows it tries is the last."""


def swapped(component: Component, codes: Codes, atoms: np.ndarray, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Let rows that break rules exchange single codes with rows of the same atom.

    Parameters
    ----------
    component : Component
        Its maps do not count.
    codes : mapping of str to ndarray of int64, shape (k,)
        Of its columns; not changed.
    atoms : ndarray of integers, shape (k,)
        What rows are drawn from, increasing. Given the atom, columns are independent, so that an exchange within one
        is as likely as it was before.
    rng : numpy.random.Generator
        Public randomness.

    Returns
    -------
    dict of str to ndarray of int64, shape (k,)
        The codes after at most 20 rounds; in each a row is offered one other row per column, and they exchange their
        codes where both together then break fewer rules. Sums are broken by nearly all pairs of rows, so that no row is
        offered another for their sake.
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
