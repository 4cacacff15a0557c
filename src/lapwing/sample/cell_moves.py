"""Codes that a rule about one column forbids move to codes beside them, inside the cell in which they were counted.

Of a column that was counted in cells of several codes, a model knows how many rows each cell has, and spreads them over
all its codes. Where some of them are forbidden, the rows of the cell belong on the others.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from lapwing.release.model import Indexed, ReleasedModel
from lapwing.sample.ragged import covered
from lapwing.schema.rule_codes import CombinationRule, coded_rules
from lapwing.schema.schemas import Schema


def moved_in_cells(
    model: ReleasedModel, schema: Schema, codes: Mapping[str, np.ndarray], rng: np.random.Generator
) -> dict[str, np.ndarray]:
    """Return codes drawn from a model, of which those forbidden by themselves stay in their cell, if it has others.

    Parameters
    ----------
    model : ReleasedModel
        From whose laws the codes were drawn: the ends of all pieces of a column's laws are the ends of its cells.
    schema : Schema
        With rules.
    codes : mapping of str to ndarray of integers, shape (n,)
        Of some columns.
    rng : numpy.random.Generator
        Public randomness.

    Returns
    -------
    dict of str to ndarray, shape (n,)
        A forbidden code is replaced by one of its cell's other codes, all with the same chance. Where a cell has none,
        and where a rule speaks of several columns, codes stay as they are.
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
