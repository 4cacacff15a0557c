"""Hold a released model to the rules of its schema: afterwards no atom, and so no row, breaks one.

The columns that rules name are pinned: each atom holds one code of each of them (`pin_columns`). Codes that are
forbidden by themselves move inside the cells in which they were counted (`moved_in_cells`). Of rows that still break a
rule as few columns as can be are changed (`repair_rows`). Last, what a dependency without a public map leaves open is
fixed (`fixed_map`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from lapwing.maths.runs import count_covered, inside
from lapwing.model.model import Indexed, ReleasedModel
from lapwing.model.sampling.fixed import pin_columns, points, with_points
from lapwing.model.sampling.keeping import Codes, Component, rule_components
from lapwing.model.sampling.repair import Pool, repair_rows
from lapwing.schema.rules.codes import CombinationRule
from lapwing.schema.rules.rules import Rule
from lapwing.schema.rules.search import complete_row
from lapwing.schema.schemas import Schema

_MOST_ATOMS = 400_000
_LEAST_ATOMS = 20_000


@dataclass(frozen=True, slots=True, eq=False)
class RuledModel:
    """A released model that keeps the rules.

    model: each column that a rule names is a point in each atom; moved: share of the weight whose codes had to change
    against the mechanism's model, from 0 to 1; ``endless`` columns are left out; by_rule: per rule of the schema the
    share of the weight that broke it before; for a dependency, what was not of the commonest value of its determinants;
    changed: the same with the ``endless`` columns, from 0 to 1: at most this is the total variation distance from the
    mechanism's model, once each of its atoms holds one code of each of these columns; endless: columns without
    resolution that others determine, without a public map: hardly two of their values were equal before, so that nearly
    all had to change.
    """

    model: ReleasedModel
    moved: float
    by_rule: tuple[float, ...]
    changed: float = 0.0
    endless: tuple[str, ...] = ()


def enforce_rules(model: ReleasedModel, schema: Schema, rng: np.random.Generator) -> RuledModel:
    """Return a released model of which no row breaks a rule of the schema.

    Returns the model as it is, where the schema has no rules. Otherwise of about ``2 * rows`` atoms, 20,000 at least
    and 400,000 at most, or as many as it had. Columns that no rule names keep their laws and their weights.

    Guarantee: post-processing of released numbers, public rules and public randomness; costs no budget. Rows drawn from
    the model keep every rule, one by one and, for dependencies, all together, in one sample or several: what an atom
    holds in these columns is fixed. Time as `repair_rows`.
    """
    found = rule_components(schema)
    if not found:
        return RuledModel(model, 0.0, ())
    names = [name for component in found for name in component.columns]
    wide = pin_columns(model, names, rng, least=min(_MOST_ATOMS, max(2 * model.rows, _LEAST_ATOMS)))
    start = points(wide, names)
    weights = wide.weights
    # Rules on codes are made once for all equal schemas: they are found by what they say, and equal ones together.
    broken: dict[Rule, np.ndarray] = {}
    for each in schema.coded_rules:
        broken[each.rule] = broken.get(each.rule, np.zeros(weights.size, dtype=bool)) | each.broken(start)
    by_rule = tuple(float(weights[broken[rule]].sum() / weights.sum()) for rule in schema.rules)
    inside = moved_in_cells(model, schema, start, rng)
    codes: dict[str, np.ndarray] = {}
    for component in found:
        own = {name: inside[name] for name in component.columns}
        codes |= _kept(component, own, weights, schema, rng)
    endless = tuple(
        dict.fromkeys(
            rule.column
            for component in found
            for rule in component.dependencies
            if schema.field(rule.column).domain.continuous
        )
    )
    moved = _changed_share([name for name in names if name not in endless], start, codes, weights)
    return RuledModel(with_points(wide, codes), moved, by_rule, _changed_share(names, start, codes, weights), endless)


def _changed_share(names: Sequence[str], before: Codes, after: Codes, weights: np.ndarray) -> float:
    """Return the share of the weight with another code in some column."""
    is_changed = np.zeros(weights.size, dtype=bool)
    for name in names:
        is_changed |= after[name] != before[name]
    return float(weights[is_changed].sum() / weights.sum())


def _kept(
    component: Component, codes: Codes, weights: np.ndarray, schema: Schema, rng: np.random.Generator
) -> dict[str, np.ndarray]:
    """Return codes of the columns of a component that keep its rules."""
    found = _repaired(component, codes, weights, schema, rng)
    if not component.dependencies:
        return found
    return _repaired(component.fixed(found, weights), found, weights, schema, rng)


def _repaired(
    component: Component, codes: Codes, weights: np.ndarray, schema: Schema, rng: np.random.Generator
) -> dict[str, np.ndarray]:
    """Change what still breaks a rule; what cannot be changed takes whole rows of others, or the witness."""
    found, is_lost = repair_rows(component, codes, _pool(codes, weights, ~component.broken(codes)), rng)
    if is_lost.any() and not is_lost.all():
        found, is_lost = repair_rows(component, found, _pool(found, weights, ~is_lost), rng)
    if is_lost.any():
        row = complete_row(schema, {}, component.columns)
        assert row is not None, "a schema whose rules leave no row that is found is refused when it is read"
        found = {name: np.full(weights.size, row[name], dtype=np.int64) for name in component.columns}
    return found


def _pool(codes: Codes, weights: np.ndarray, is_kept: np.ndarray) -> Pool:
    """Return the rows that keep all rules."""
    return Pool({name: values[is_kept] for name, values in codes.items()}, weights[is_kept])


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
    own = [rule for rule in schema.coded_rules if isinstance(rule, CombinationRule) and len(rule.columns) == 1]
    moved = dict(codes)
    for name in dict.fromkeys(rule.columns[0] for rule in own):
        law = model.laws[name]
        if name in codes and isinstance(law, Indexed):
            cells = np.unique(np.concatenate((law.laws.starts, law.laws.stops)).astype(np.int64))
            runs = _allowed_runs([rule for rule in own if rule.columns == (name,)])
            moved[name] = _moved_codes(codes[name], cells, runs, rng)
    return moved


def _allowed_runs(rules: Sequence[CombinationRule]) -> np.ndarray:
    """Return the runs of codes that no rule of one column forbids: ndarray of int64, shape (runs, 2)."""
    parts = [rule.groupings[0].pieces() for rule in rules]
    starts = np.unique(np.concatenate([part[0] for part in parts]))
    stops = np.append(starts[1:], max(int(part[1][-1]) for part in parts))
    is_allowed = ~np.any([rule.broken({rule.columns[0]: starts}) for rule in rules], axis=0)
    return np.stack((starts[is_allowed], stops[is_allowed]), axis=1)


def _moved_codes(codes: np.ndarray, cells: np.ndarray, runs: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return codes that lie in the runs wherever their cell has codes in them."""
    if not len(runs):
        return codes
    code = codes.astype(np.int64)
    wrong = np.flatnonzero(~inside(code, runs))
    cell = np.searchsorted(cells, code[wrong], side="right") - 1
    first = count_covered(cells[cell], runs)
    room = count_covered(cells[cell + 1], runs) - first
    wrong, first, room = wrong[room > 0], first[room > 0], room[room > 0]
    place = first + np.minimum((rng.random(wrong.size) * room).astype(np.int64), room - 1)
    before = np.concatenate(([0], np.cumsum(runs[:, 1] - runs[:, 0])))
    run = np.searchsorted(before, place, side="right") - 1
    code[wrong] = runs[run, 0] + place - before[run]
    return code.astype(codes.dtype)
