"""Rows of one atom that exchange codes, so that fewer of them break rules and their one-way laws stay as they are."""

import numpy as np

from lapwing.sample.rule_keeping import Codes, Component

_ROUNDS = 20


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
        codes where both together then break fewer rules.
    """
    found = {name: np.array(codes[name], dtype=np.int64) for name in component.columns}
    starts = np.flatnonzero(np.diff(atoms, prepend=-1))
    sizes = np.diff(starts, append=atoms.size)
    first, size = np.repeat(starts, sizes), np.repeat(sizes, sizes)
    count = _broken_rules(component, found)
    bound = {name for rule in component.rules for name in rule.columns}
    for _ in range(_ROUNDS):
        for name in reversed([name for name in component.columns if name in bound]):
            rows = np.flatnonzero((count > 0) & (size > 1))
            if not rows.size:
                return found
            rows, partners = _paired(rows, first, size, rng)
            before = count[rows] + count[partners]
            one, other = ({each: values[at] for each, values in found.items()} for at in (rows, partners))
            one[name], other[name] = other[name], one[name]
            after = _broken_rules(component, one), _broken_rules(component, other)
            better = np.flatnonzero(after[0] + after[1] < before)
            for at, codes_then, count_then in ((rows, one, after[0]), (partners, other, after[1])):
                found[name][at[better]] = codes_then[name][better]
                count[at[better]] = count_then[better]
    return found


def _paired(
    rows: np.ndarray, first: np.ndarray, size: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Return rows and a random other row of the same atom for each, so that no row is named twice."""
    steps = 1 + (rng.random(rows.size) * (size[rows] - 1)).astype(np.int64)
    partners = first[rows] + (rows - first[rows] + steps) % size[rows]
    order = rng.permutation(rows.size)
    named = np.stack((rows[order], partners[order]), axis=1).reshape(-1)
    # The first time that a row is named counts; a pair stays if that is so for both.
    is_first = np.zeros(named.size, dtype=bool)
    is_first[np.unique(named, return_index=True)[1]] = True
    kept = order[is_first.reshape(-1, 2).all(axis=1)]
    return rows[kept], partners[kept]


def _broken_rules(component: Component, codes: Codes) -> np.ndarray:
    """Return how many rules each row breaks."""
    count = np.zeros(len(codes[component.columns[0]]), dtype=np.int64)
    for rule in component.rules:
        count += rule.broken(codes)
    return count
